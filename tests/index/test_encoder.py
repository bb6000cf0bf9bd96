"""Vectors of a sentence encoder, by words and by LaTeX, are computed once and stored."""

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
from eqemb.facade.update import add_papers
from eqemb.facade.verify import verify
from eqemb.index import encoder
from eqemb.index.encoder import MAX_LATEX, PROBE, formula_text
from synthetic import papers

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
    return sorted(
        path.name for path in (folder / "encoded").iterdir() if path.name != "checksums.json"
    )


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


# ------------------------------------------------------------ LaTeX

FORMULA_QUERY = r"H = \frac{2PR}{P+R}"


def test_similar_uses_the_encoder_on_latex(folder: Path, use: Callable[[Counter], None]) -> None:
    """LaTeX has vectors of its own; an equal equation scores 1; the parts add up."""
    asked: list[str] = []
    use(counting(LETTERS, asked))
    with Library.open(folder) as library:
        latex = library.records.expanded_latex()
        name = library.records.equation_names()[0]
        alone = library.similar(name, by="encoder", encoder="spoken:encode")
        assert set(asked) == {PROBE, *map(formula_text, latex)}
        assert [set(hit.parts) for hit in alone] == [{"encoder"}] * len(alone)
        assert name not in [hit.equation.id for hit in alone]
        plain = library.similar(latex[0])
        both = library.similar(latex[0], encoder="spoken:encode")
        assert both[0].equation.id == plain[0].equation.id == name
        assert both[0].parts.keys() - plain[0].parts.keys() == {"encoder"}
        assert both[0].score == pytest.approx(plain[0].score)
        found = library.search(f"${latex[0]}$", by="encoder", encoder="spoken:encode")
        assert found[0].equation.id == name
    (kept,) = files(folder)
    assert kept.startswith("spoken.encode-latex-")


def test_words_and_latex_are_stored_apart(folder: Path, use: Callable[[Counter], None]) -> None:
    """Either is encoded when it is needed, and stays when the other is written."""
    asked: list[str] = []
    use(counting(LETTERS, asked))
    first = ask(folder)
    with Library.open(folder) as library:
        library.similar(FORMULA_QUERY, encoder="spoken:encode")
    assert len(files(folder)) == 2
    asked.clear()
    assert ask(folder) == first
    with Library.open(folder) as library:
        library.similar(FORMULA_QUERY, encoder="spoken:encode")
    assert asked == [PROBE, "harmonic mean", PROBE, FORMULA_QUERY]


def test_only_new_segments_are_encoded(tmp_path: Path, use: Callable[[Counter], None]) -> None:
    """When a paper is added, equations of others keep their vectors; progress counts new ones."""
    make_library(tmp_path, model=False).close()
    folder, asked, seen = tmp_path / "library", list[str](), list[tuple[int, int]]()
    use(counting(LETTERS, asked))
    with Library.open(folder) as library:
        before = len(library.records.equation_names())
        library.encoder("spoken:encode", lambda done, total: seen.append((done, total)))
        library.similar(FORMULA_QUERY, encoder="spoken:encode")
    assert seen == [(0, before)]
    new = papers(tmp_path / "new", waves=r"A wave is \[ u_{tt} = c^2 u_{xx} \] and no other.")
    add_papers(folder, new, root=new)
    asked.clear()
    with Library.open(folder) as library:
        assert len(library.records.equation_names()) == before + 1
        found = library.similar("u_{tt} = c^2 u_{xx}", by="encoder", encoder="spoken:encode")
        assert found[0].article.endswith("waves")
    assert asked == [PROBE, "u_{tt} = c^2 u_{xx}", "u_{tt} = c^2 u_{xx}"]
    assert len(files(folder)) == 2


def test_interrupted_encoding_is_no_damage(
    folder: Path, use: Callable[[Counter], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are kept, and the next search adds their checksums."""
    asked: list[str] = []
    use(counting(LETTERS, asked))

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(encoder.EncoderIndex, "_remove_others", stop)
        with pytest.raises(KeyboardInterrupt):
            ask(folder)
    found = verify(folder)
    assert found.damage == []
    assert f"encoded/{files(folder)[0]} has no checksum" in found.notes[0]
    asked.clear()
    ask(folder)
    assert asked == [PROBE, "harmonic mean"]
    assert (verify(folder).damage, verify(folder).notes) == ([], [])


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"x \label{eq:a} \tag{3} = \left( y \right.\,", "x = ( y"),
        (r"a &= \bigl[ b \bigr] \\[2pt] c~d \nonumber", "a = [ b ] c d"),
        (r"\leftarrow \bigcup \, \& \rightarrow", r"\leftarrow \bigcup \& \rightarrow"),
        ("x" * 900, "x" * MAX_LATEX),
    ],
)
def test_formula_text(latex: str, text: str) -> None:
    """Labels, sizes, spacing and line breaks are cut; commands that begin alike are kept."""
    assert formula_text(latex) == text
