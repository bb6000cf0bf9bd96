"""Definitions of symbols as a part of the score, and equations that state numbers."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from eqemb.errors import UsageError
from eqemb.facade.build import build_library
from eqemb.facade.library import Library
from eqemb.facade.update import remove_articles
from eqemb.formula import layout
from eqemb.index.definitions import best_fits
from eqemb.index.worked_numbers import states_numbers
from eqemb.search.defined import defined_equations, meaning_weights, named_symbol
from eqemb.search.query import parse_query

#: Far enough from an equation that a word is not in its context.
_FILLER = " ".join(["Something else entirely is said in this place of the paper."] * 30)
PAPERS = {
    "boltzmann": rf"""\section{{Notation}}
Throughout the paper, $\beta$ denotes the inverse temperature and $Z$ the partition function.

{_FILLER}

\section{{States}}
A state has the probability
\begin{{equation}} p_i = \frac{{e^{{-\beta E_i}}}}{{Z}} \end{{equation}}
in equilibrium. {_FILLER}""",
    "penalty": r"""\section{Loss}
The objective is
\begin{equation} J = L + \beta R, \end{equation}
where $\beta$ is the weight of the penalty and $L$ is the cross entropy.""",
    "example": r"""\section{Decoding}
Beam search keeps the best prefixes. In the example of beam search it finds
\begin{equation} p(a, b) = 0.18, \end{equation}
and beam search ends.""",
    "decoder": r"""\section{Decoding}
In general, beam search extends the prefixes by the score
\begin{equation} s(y, w) = s(y) + \log p(w \mid y) \end{equation}
of a word.""",
}


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the papers."""
    folder = tmp_path_factory.mktemp("defined") / "papers"
    folder.mkdir()
    for name, text in PAPERS.items():
        document = rf"\documentclass{{article}}\begin{{document}}{text}\end{{document}}"
        (folder / f"{name}.tex").write_text(document, "utf-8")
    return folder


@pytest.fixture(scope="module")
def library(papers: Path) -> Iterator[Library]:
    """Return the library of the papers."""
    build_library([papers], papers.with_name("library"), model=False)
    with Library.open(papers.with_name("library")) as opened:
        yield opened


def defined(library: Library, query: str) -> dict[str, float]:
    """Return the equations with a score by definitions."""
    engine = library.engine
    found = defined_equations(engine.definitions, engine.text, parse_query(query))
    names = list(library.records.equation_names())
    if found is None:
        return {}
    fits = best_fits(*found, engine.every)
    return {names[at]: float(fits[at]) for at in np.flatnonzero(fits)}


def test_words_find_an_equation_by_the_meaning_of_its_symbol(library: Library) -> None:
    """Though the words stand far from the equation."""
    assert set(defined(library, "inverse temperature")) == {"boltzmann#1"}
    hits = library.search("inverse temperature")
    assert hits[0].equation.id == "boltzmann#1"
    assert hits[0].parts["definitions"] > 0
    assert "words" not in hits[0].parts or hits[0].parts["words"] == 0


@pytest.mark.parametrize(
    "query",
    [
        "equations in which β is the inverse temperature",
        r"$\beta$ inverse temperature",
        "β: inverse temperature",
    ],
)
def test_a_symbol_with_its_meaning_finds_where_it_means_that(library: Library, query: str) -> None:
    """The other paper that has the letter means something else by it."""
    answer = library.search(query)
    assert answer[0].equation.id == "boltzmann#1"
    assert answer[0].strength is not None
    assert answer[0].strength > 0.5
    assert "penalty#1" not in defined(library, query)


def test_the_wrong_letter_finds_no_definition(library: Library) -> None:
    """Words alone would."""
    assert defined(library, "γ inverse temperature") == {}
    assert set(defined(library, "cross entropy")) == {"penalty#1"}


def test_half_of_the_words_count_a_quarter(library: Library) -> None:
    """One word of two says little."""
    whole = defined(library, "cross entropy")["penalty#1"]
    half = defined(library, "cross validation").get("penalty#1", 0.0)
    assert 0 < half < 0.5 * whole


@pytest.mark.parametrize(
    ("query", "symbol"),
    [
        ("β inverse temperature", r"\beta"),
        (r"weights $\mathbf{W}_{hh}$", r"\mathbf{W}_{hh}"),
        (r"$x + y$ sum", None),
        (r"$\beta$", None),
        ("inverse temperature", None),
        (r"$a$ and $b$", None),
    ],
)
def test_a_query_names_one_symbol_or_none(query: str, symbol: str | None) -> None:
    """With words beside it."""
    found = named_symbol(parse_query(query))
    assert (None if found is None else layout(found.latex).canonical()) == (
        None if symbol is None else layout(symbol).canonical()
    )


def test_removed_articles_have_no_definitions(papers: Path, tmp_path: Path) -> None:
    """Nor do their equations answer."""
    build_library([papers], tmp_path / "library", model=False)
    remove_articles(tmp_path / "library", ["boltzmann"])
    with Library.open(tmp_path / "library") as opened:
        assert all(hit.equation.article != "boltzmann" for hit in opened.search("temperature"))


def test_definitions_of_removed_articles_do_not_change_scores(tmp_path: Path) -> None:
    """A part that no equation of the library has would take its weight from the others."""
    (tmp_path / "papers").mkdir()
    texts = {
        "defines": r"Let $\beta$ denote the inverse temperature. \[ E = \beta x \]",
        "mentions": r"If the inverse temperature is high, \[ F = \beta y + \gamma \] holds.",
        "other": r"The loss is \[ L = a b \] in general.",
    }
    for name, text in texts.items():
        document = rf"\documentclass{{article}}\begin{{document}}{text}\end{{document}}"
        (tmp_path / "papers" / f"{name}.tex").write_text(document, "utf-8")
    build_library([tmp_path / "papers"], tmp_path / "library", model=False)
    with Library.open(tmp_path / "library") as opened:
        assert "definitions" in opened.search("β the inverse temperature")[0].parts
    remove_articles(tmp_path / "library", ["defines"])
    with Library.open(tmp_path / "library") as opened:
        for query in ("β the inverse temperature", "inverse temperature"):
            (first, *_) = opened.search(query)
            assert first.equation.id == "mentions#1"
            assert "definitions" not in first.parts


def test_meanings_of_symbols_can_take_part_in_similar(library: Library) -> None:
    """Only for an equation of the library, and only if asked for."""
    plain = library.similar("boltzmann#1")
    meant = library.similar("boltzmann#1", meanings=True)
    assert all("definitions" not in hit.parts for hit in plain)
    assert any("definitions" in hit.parts for hit in meant)
    with pytest.raises(UsageError, match="give its name"):
        library.similar("x^2", meanings=True)


def test_the_stems_of_sure_meanings_are_compared(library: Library) -> None:
    """Without stop words; symbols without a definition have none."""
    found = meaning_weights(library.symbols("boltzmann#1"), library.engine.text)
    assert {"invers", "temperatur"} in [set(weights) for weights in found]
    assert all("the" not in weights for weights in found)


def test_worked_numbers_come_after_general_forms(library: Library) -> None:
    """Even if the example has the words more often."""
    found = [hit.equation.id for hit in library.search("beam search")]
    assert found.index("decoder#1") < found.index("example#1")


@pytest.mark.parametrize(
    ("latex", "stated"),
    [
        ("p(a, b) = 0.18", True),
        ("= 1024 + 27", True),
        (r"\frac{1}{2} x^2", False),
        ("", False),
        (r"\sum_{i=1}^{100} x_i y_i z_i a_i b_i c_i d_i e_i f_i g_i h_i", False),
    ],
)
def test_which_equations_state_numbers(latex: str, *, stated: bool) -> None:
    """Decimals or large numbers, among few other symbols."""
    assert states_numbers(layout(latex)) is stated
