"""Results as HTML, LaTeX, text and data frames."""

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from axes import make_library
from eqemb.article import DOLLAR
from eqemb.arxiv.papers import PaperMetadata
from eqemb.errors import UsageError
from eqemb.facade.library import Library
from eqemb.search.results import cut, excerpt, paragraphs, readable, rows

QUESTIONS = {
    "search": lambda library: library.search("cosine unheard-of angles"),
    "hit": lambda library: library.search("cosine")[0],
    "describe": lambda library: library.describe("angles#1"),
    "words": lambda library: library.words("cosine"),
    "query": lambda library: library.query(["cosine"]),
    "why": lambda library: library.why("angles#1", "documents#1"),
    "why words": lambda library: library.why("cosine <b>", "angles#1"),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A library with a hostile title."""
    with make_library(tmp_path_factory.mktemp("hits")) as made:
        yield made


@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_are_valid_html(library: Library, question: str) -> None:
    """An XML parser reads them, and they contain no script."""
    answer: Any = QUESTIONS[question](library)
    tree = ET.fromstring(f"<div>{answer._repr_html_()}</div>")  # noqa: S314 - ours
    tags = {node.tag.rpartition("}")[2] for node in tree.iter()}
    assert "table" in tags
    assert not tags & {"script", "b"}


def test_titles_are_escaped(library: Library) -> None:
    """Text that looks like a tag stays text."""
    shown = library.search("cosine", article="angles")._repr_html_()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    text = "".join(ET.fromstring(f"<div>{shown}</div>").itertext())  # noqa: S314 - ours
    assert "<script>alert(1)</script> & angles" in text


def test_texts_in_json_are_as_printed(library: Library) -> None:
    """Without the placeholders of dollar signs and references."""
    hit = library.search("cosine")[0]
    equation = replace(
        hit.equation,
        section=f"Costs of $x_1$ in {DOLLAR}",
        context=f"It costs {DOLLAR}5. [equation] By Eq. $2.3$ the value $x_1$ is low.",
    )
    found = replace(hit, equation=equation).to_json()
    assert found["section"] == "Costs of x₁ in $"
    assert found["context_text"] == ("It costs $5. [equation] By Eq. (2.3) the value $x_1$ is low.")


def test_invalid_characters_are_replaced() -> None:
    """A paper may contain any byte."""
    shown = paragraphs("a\x00b\x1b[31m") + rows(["x"], [["\x08"]])
    assert "".join(ET.fromstring(f"<div>{shown}</div>").itertext()) == "a b [31mx "  # noqa: S314 - ours


def test_equations_are_shown_as_latex(library: Library) -> None:
    """Rows and alignment are put into an aligned environment."""
    hit = library.search("cosine", article="angles")[0]
    assert hit._repr_latex_().startswith(r"$\displaystyle \cos(x, y)")
    hit.equation.expanded = r"a &= b \\ &= c"
    assert hit._repr_latex_() == r"$\displaystyle \begin{aligned}a &= b \\ &= c\end{aligned}$"


def test_a_frame_has_a_row_for_each_hit(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pandas, the error says how to install it."""
    pandas = pytest.importorskip("pandas")
    frame = library.search("cosine").to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["id"][:1]) == [library.search("cosine")[0].equation.id]
    assert list(library.describe("angles#1").to_pandas().columns) == [
        *("word", "score", "sentence", "article"),
    ]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match="pip install pandas"):
        library.search("cosine").to_pandas()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (r"In $2.73$, as in $5$ folds with $x_i^2$", "In (2.73), as in 5 folds with xᵢ²"),
        ("a score of $93.8$ on the order of $1$", "a score of 93.8 on the order of 1"),
        ("(see Eq. $10$) and ($7$)", "(see Eq. (10)) and (7)"),
        (
            "set to $1$, between $0$ and $1$; it is $3$ of $0.5$",
            "set to 1, between 0 and 1; it is 3 of 0.5",
        ),
        ("as follows:[equation]Here", "as follows: [equation] Here"),
        ("so […] […] […][equation].", "so […] [equation]."),
    ],
)
def test_sentences_are_shown_without_latex(text: str, shown: str) -> None:
    """Formulas in Unicode, references in parentheses, blanks around placeholders."""
    assert readable(text) == shown


def test_texts_are_cut_between_words() -> None:
    """Only a very long word is cut."""
    assert cut("a short text", 12) == "a short text"
    assert cut("a rather longer text", 18) == "a rather longer…"
    assert cut("a rather longer text", 17) == "a rather longer…"
    assert cut("x" * 30, 10) == "x" * 9 + "…"
    assert excerpt("found", "far " * 20 + "and found here", 30) == "…far far and found here"


@pytest.mark.parametrize("width", [60, 80, 113])
def test_a_hit_fits_the_width(library: Library, width: int) -> None:
    """The title is shortened first; name and place are never cut."""
    found = library.search("cosine", article="angles")[0]
    hit = replace(found, title="A title of words " * 9)
    stands = f"{hit.equation.file}:{hit.equation.line}"
    shown = hit.to_text(width, 1)
    assert max(map(len, shown.splitlines())) <= width
    assert (" · A title of" in shown) == (width > 60)
    assert f" · {stands}\n" in shown
    far = replace(hit, equation=replace(hit.equation, file="chapters/" * 4 + "angles.tex"))
    below = far.to_text(60, 1).splitlines()
    assert below[1].strip().startswith("angles#1 (1)")
    assert below[2].strip() == "chapters/" * 4 + stands


def test_a_hit_names_authors_and_year(library: Library) -> None:
    """As far as they are known, on the line of the place if there is no room beside the title."""
    found = library.search("cosine", article="angles")[0]
    paper = PaperMetadata(authors=("Anna Berg", "Jan Vos"), date="2014-02-01")
    hit, stands = replace(found, title="Angles", paper=paper), found.equation.file
    assert f" · Angles · Anna Berg and Jan Vos (2014) · {stands}:" in hit.to_text(113)
    title, place = replace(hit, title="A title of words " * 9).to_text(100).splitlines()[1:3]
    assert title.endswith("…")
    assert place.strip().startswith(f"Anna Berg and Jan Vos (2014) · {stands}:")
    assert f" · (2014) · {stands}" in replace(hit, paper=replace(paper, authors=())).to_text(113)


def test_a_hit_without_words_shows_a_reference_to_it(library: Library) -> None:
    """Or nothing, if nothing refers to it."""
    hit = library.search("cosine", article="angles")[0]
    bare = replace(hit.equation, context="[…] [equation].", references=["See $1$ for it."])
    assert replace(hit, equation=bare).to_text().splitlines()[-1].strip() == "See (1) for it."
    bare.references.clear()
    assert len(replace(hit, equation=bare).to_text().splitlines()) == 2


@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_print_as_text(library: Library, question: str) -> None:
    """Lines for people, not a Python expression."""
    shown = str(QUESTIONS[question](library))
    assert not re.search(r"\b(?:Answer|Hit|Description|Said|Neighbours|Why|Side|Equation)\(", shown)
    assert re.search(r"^ *\S+ +\S", shown)
    assert "cos" in shown or "angle" in shown
