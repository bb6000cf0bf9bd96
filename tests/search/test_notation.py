"""What the symbols of an equation mean, and how a library denotes things."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from eqemb.article import Equation
from eqemb.errors import UsageError
from eqemb.facade.build import build_library
from eqemb.facade.library import Library
from eqemb.facade.update import remove_articles
from eqemb.search.notation import EquationSymbols, Notation
from eqemb.symbols import Definition, Meaning, Symbol

DESCENT = r"""\documentclass{article}\title{Descent}\begin{document}
\section{Method}
Gradient descent moves the weights by
\begin{equation} w_{t+1} = w_t - \eta \nabla L(w_t), \end{equation}
where $\eta$ is the learning rate and $L$ denotes the loss function.
\end{document}"""
MOMENTUM = r"""\documentclass{article}\title{Momentum}\begin{document}
\section{Update}
Let $\eta$ be the learning rate. Then
\begin{equation} v = \mu v - \eta g, \end{equation}
where $g$ is the gradient.
\end{document}"""
AVERAGING = r"""\documentclass{article}\title{Averaging}\begin{document}
\section{Update}
\begin{equation} u = \alpha u + \lambda x, \end{equation}
where $\alpha$ is the learning rate and $\lambda$ is an eigenvalue of the matrix.
\end{document}"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """Three papers, two of which write the learning rate as eta."""
    folder = tmp_path_factory.mktemp("notation")
    made = write_library(folder)
    with Library.open(made) as opened:
        yield opened


def write_library(folder: Path) -> Path:
    """Build the library of the three papers."""
    papers = folder / "papers"
    papers.mkdir()
    for name, text in (("descent", DESCENT), ("momentum", MOMENTUM), ("averaging", AVERAGING)):
        (papers / f"{name}.tex").write_text(text, "utf-8")
    build_library([papers], folder / "library", model=False)
    return folder / "library"


def shares(found: Notation) -> dict[str, float]:
    """Return the share of each line by symbol or by meaning."""
    return {
        (line.meaning if found.is_symbol else line.symbol): round(line.share, 3) for line in found
    }


def test_symbols_have_the_definitions_of_their_article(library: Library) -> None:
    """In reading order; a symbol without a definition says so."""
    found = library.symbols("descent#1")
    said = {one.symbol.latex: one.definition.text for one in found if one.definition is not None}
    assert said[r"\eta"] == "learning rate"
    assert said["L"] == "loss function"
    assert {symbol.latex for symbol in found.undefined} == {"w_t", "w_{t+1}"}
    assert "learning rate" in found.to_text()
    assert "(no definition found)" in library.symbols("averaging#1").to_text()


def test_symbols_as_json_have_their_evidence(library: Library) -> None:
    """The sentence, its kind and the confidence."""
    found = library.symbols("momentum#1").to_json()
    assert found["equation"] == "momentum#1"
    rate = next(one for one in found["symbols"] if one["symbol"] == r"\eta")
    assert rate["definition"] == "learning rate"
    assert rate["sentence"].startswith("Let")
    assert 0 < rate["confidence"] <= 1
    speed = next(one for one in found["symbols"] if one["symbol"] == r"\mu")
    assert speed["definition"] is None
    assert speed["sentence"] is None


def test_words_find_the_symbols_that_denote_them(library: Library) -> None:
    """With the share of articles that use each."""
    found = library.notation("learning rate")
    assert found.articles == 3
    assert shares(found) == {r"\eta": 0.667, r"\alpha": 0.333}
    assert {one.article for one in found.lines[0].examples} == {"descent", "momentum"}
    assert "67%" in found.to_text()


@pytest.mark.parametrize("query", [r"\lambda", r"$\lambda$", "λ"])
def test_a_symbol_finds_its_meanings(library: Library, query: str) -> None:
    """However it is typed."""
    found = library.notation(query)
    assert found.is_symbol
    assert [line.articles for line in found] == [1]
    assert found.lines[0].meaning.startswith("eigenvalue")


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """One paper with several symbols for hidden states, and two that have the word."""
    folder = tmp_path_factory.mktemp("states")
    papers = folder / "papers"
    papers.mkdir()
    text = r"""\documentclass{article}\title{States}\begin{document}\section{Network}
    \begin{equation} h = f(p, H, n, a), \end{equation}
    where $h$ is the hidden state, $p$ is the previous hidden state, $H$ is the sequence of hidden
    states, $n$ is the number of hidden states and $a$ denotes the hidden state average.
    \begin{equation} g = h + s, \end{equation} where $s$ is the sum of the hidden states.
    \end{document}"""
    (papers / "states.tex").write_text(text, "utf-8")
    build_library([papers], folder / "library", model=False)
    with Library.open(folder / "library") as opened:
        yield opened


def test_words_before_a_phrase_make_it_a_kind_of_it(states: Library) -> None:
    """And several of them are still that; their number and other things are not."""
    found = states.notation("hidden state")
    assert set(shares(found)) == {"h", "p", "H"}
    (note,) = found.notes
    assert (
        note
        == "shares add up to more than 100 %, because an article may use several symbols for it"
    )
    assert note in found.to_text()
    assert found.to_json()["notes"] == [note]


def test_a_misspelt_word_is_repaired(states: Library) -> None:
    """As in a search, with a note; a word that finds something is not touched."""
    found = states.notation("hiden state")
    assert set(shares(found)) == {"h", "p", "H"}
    assert "hidden instead of hiden" in found.notes[0]
    assert "hidden instead of hiden" in found.to_text()
    assert "instead of" not in states.notation("hidden state").to_text()


def test_shares_of_one_symbol_each_need_no_note(library: Library) -> None:
    """They add up to 100 % at most."""
    assert library.notation("learning rate").notes == []


def test_a_longer_phrase_is_another_thing(library: Library) -> None:
    """A rate alone is no learning rate."""
    assert library.notation("rate").lines == []


@pytest.mark.parametrize("query", ["a + b", "the", ""])
def test_notation_of_nothing_is_refused(library: Library, query: str) -> None:
    """It takes words, or one symbol."""
    with pytest.raises(UsageError, match=r"notation takes|empty"):
        library.notation(query)


def test_symbols_of_a_formula_are_refused(library: Library) -> None:
    """Only an equation of the library has an article that defines them."""
    with pytest.raises(UsageError, match="not the name of an equation"):
        library.symbols("a = b")


def test_a_removed_article_defines_nothing(tmp_path: Path) -> None:
    """Its definitions are skipped, though the segment still has them."""
    made = write_library(tmp_path)
    remove_articles(made, ["momentum"])
    with Library.open(made) as opened:
        assert shares(opened.notation("learning rate")) == {r"\eta": 0.5, r"\alpha": 0.5}


def test_doubt_is_said_with_the_symbols_of_an_equation() -> None:
    """As text and in notebooks, a meaning that is not sure has a word of doubt."""
    symbol = Symbol("x", "x", "x", "x")
    made = Definition(symbol, "input", "", "x.", 0, 1, 0, 0, -1, 0, "section", "verb", 0.5)
    equation = Equation("a", 1, None, None, [], "equation", 1, "x", "x", "", 0, 0)
    sure, unsure = (
        EquationSymbols(equation, [Meaning(symbol, made, confidence)]) for confidence in (0.6, 0.59)
    )
    assert "perhaps" not in sure.to_text() + sure._repr_html_()
    assert "perhaps input  (59% sure)" in unsure.to_text()
    assert "perhaps input" in unsure._repr_html_()
