"""Vectors of a sentence encoder are stored as long as the encoder stays the same."""

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
    """Return an encoder that counts letters and records its texts."""

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
    """Return the library without stored vectors."""
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
    """Return the hits of the encoder."""
    with Library.open(folder) as library:
        answer = library.search("harmonic mean", by="encoder", encoder="spoken:encode")
        return [(hit.equation.id, round(hit.score, 6)) for hit in answer]


def files(folder: Path) -> list[str]:
    """Return the stored files."""
    return sorted(path.name for path in (folder / "encoded").iterdir())


def test_texts_are_encoded_once(folder: Path, use: Callable[[Counter], None]) -> None:
    """Later queries encode the probe and the query only."""
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
    """Even if its vectors have the same length: the probe differs."""
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


def test_vectors_of_earlier_libraries_are_removed(
    folder: Path, use: Callable[[Counter], None]
) -> None:
    """Only those of the same encoder."""
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


def test_vectors_of_different_lengths_are_refused(
    folder: Path, use: Callable[[Counter], None]
) -> None:
    """The error gives both lengths."""
    use(lambda texts: np.ones((len(texts), 1 + len(texts[0]) % 7)))
    with pytest.raises(UsageError, match=r"returned vectors of \d and of \d numbers"):
        ask(folder)
