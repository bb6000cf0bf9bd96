"""What an encoder made of a library is kept for as long as it is the same encoder."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from axes import make_library
from eqemb.errors import UsageError
from eqemb.facade.library import Library
from eqemb.index.encoder import PROBE

LETTERS = "abcdefghijklmnopqrstuvwxyz"
Counter = Callable[[list[str]], Any]


def counting(letters: str, asked: list[str]) -> Counter:
    """An encoder: how often letters stand in a text; what it is asked is noted."""

    def encode(texts: list[str]) -> Any:
        asked.extend(texts)
        return np.array([[text.count(letter) for letter in letters] for text in texts], float)

    return encode


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small library."""
    folder = tmp_path_factory.mktemp("encoding")
    make_library(folder, model=False).close()
    return folder / "library"


@pytest.fixture
def folder(made: Path) -> Iterator[Path]:
    """The same, with nothing encoded."""
    yield made
    for path in (made / "encoded").glob("*"):
        path.unlink()


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[Counter], None]:
    """Put an encoder behind the name `spoken:encode`."""
    module = ModuleType("spoken")
    monkeypatch.setitem(sys.modules, "spoken", module)
    return lambda encode: setattr(module, "encode", encode)


def ask(folder: Path) -> list[tuple[str, float]]:
    """What the encoder finds."""
    with Library.open(folder) as library:
        answer = library.search("harmonic mean", by="encoder", encoder="spoken:encode")
        return [(hit.equation.id, round(hit.score, 6)) for hit in answer]


def files(folder: Path) -> list[str]:
    """What is kept."""
    return sorted(path.name for path in (folder / "encoded").iterdir())


def test_texts_are_encoded_once(folder: Path, use: Callable[[Counter], None]) -> None:
    """Later on the encoder is asked for the probe and the query alone."""
    asked: list[str] = []
    use(counting(LETTERS, asked))
    first = ask(folder)
    assert len(asked) > 2
    asked.clear()
    assert ask(folder) == first
    assert asked == [PROBE, "harmonic mean"]


@pytest.mark.parametrize("other", [LETTERS[::-1], LETTERS[:10]], ids=["turned", "shorter"])
def test_another_encoder_behind_the_same_name_is_noticed(
    folder: Path, use: Callable[[Counter], None], other: str
) -> None:
    """Its vectors may even be as long: what it makes of the probe tells."""
    asked: list[str] = []
    use(counting(other, asked))
    expected = ask(folder)
    (kept,) = files(folder)
    (folder / "encoded" / kept).unlink()
    use(counting(LETTERS, []))
    ask(folder)
    asked.clear()
    use(counting(other, asked))
    assert ask(folder) == expected
    assert len(asked) > 2
    assert files(folder) == [kept]


def test_vectors_of_older_papers_are_removed(folder: Path, use: Callable[[Counter], None]) -> None:
    """Those of the same encoder, and no others."""
    (folder / "encoded").mkdir(exist_ok=True)
    old = ["spoken.encode-0123456789ab.npy", "spoken.encode-0123456789ab.safetensors"]
    others = ["spoken.encode.more-0123456789ab.safetensors", "spoken.other-0123456789ab.npy"]
    for name in (*old, *others):
        (folder / "encoded" / name).touch()
    use(counting(LETTERS, []))
    ask(folder)
    left = files(folder)
    assert len(left) == 3
    assert set(left) >= set(others)


def test_an_encoder_that_cannot_decide_gets_one_sentence(
    folder: Path, use: Callable[[Counter], None]
) -> None:
    """Vectors of one length are needed."""
    use(lambda texts: np.ones((len(texts), 1 + len(texts[0]) % 7)))
    with pytest.raises(UsageError, match=r"returned vectors of \d and of \d numbers"):
        ask(folder)
