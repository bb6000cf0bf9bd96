"""unarXive records become articles: formulas alone on their line are displays."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqemb.article import EQUATION_MARK, Article, Problem
from eqemb.errors import SourceError
from eqemb.library.ingest import read_articles
from eqemb.readers.unarxive import read_unarxive
from eqemb.sources import Source


def record(*texts: str, **fields: Any) -> dict[str, Any]:
    """A record with these paragraphs, in which `{{formula:x}}` is "x = 1"; likewise y and z."""
    return {
        "paper_id": "2212.00001",
        "metadata": {"title": "On  nothing\nat all"},
        "abstract": {"section": "Abstract", "text": "A short abstract."},
        "body_text": [{"section": "Introduction", "text": text} for text in texts],
        "ref_entries": {key: {"latex": f"{key} = 1", "type": "formula"} for key in "xyz"},
    } | fields


def opened(name: str, line: bytes) -> Source:
    """A line as `load` returns it."""
    return Source(name, "a.jsonl!1", "", "unarxive", {f"{name}.json": line})


def read(*texts: str, **fields: Any) -> Article:
    """The article of a record."""
    line = json.dumps(record(*texts, **fields)).encode()
    return read_unarxive(opened("2212.00001", line))


# -- text


def test_title_abstract_and_sections_are_text() -> None:
    """In order, each section title once."""
    article = read("First.", "Second one.", body_text=[
        {"section": "Introduction", "text": "First."},
        {"section": "Introduction", "text": "Second one. Third."},
        {"section": "Method", "text": "Fourth."},
    ])  # fmt: skip
    assert article.text == (
        "On nothing at all\n\nAbstract\n\nA short abstract.\n\nIntroduction\n\nFirst.\n\n"
        "Second one.\nThird.\n\nMethod\n\nFourth.\n\n"
    )
    assert article.title == "On nothing at all"
    assert article.sections == ["Abstract", "Introduction", "Method"]


def test_citations_figures_and_tables_give_no_words() -> None:
    """And leave no empty brackets."""
    article = read("As in ({{cite:a}}, {{cite:b}}) and {{figure:c}} we say {{table:d}}.")
    assert article.text.endswith("As in and we say.\n\n")
    assert article.problems == []


def test_a_formula_in_a_line_is_inline_mathematics() -> None:
    """It is shown and is not a word."""
    article = read("Where {{formula:x}} is small.")
    assert article.text.endswith("Where $x = 1$ is small.\n\n")
    assert article.words()[-3:] == ["Where", "is", "small"]
    assert article.equations == []


def test_a_formula_in_a_section_s_title_is_inline_mathematics() -> None:
    """Its key gives no words."""
    article = read(body_text=[{"section": "Choosing {{formula:x}} well", "text": "Words."}])
    assert article.sections[-1] == "Choosing $x = 1$ well"
    assert article.words()[-3:] == ["Choosing", "well", "Words"]


def test_mathematics_of_titles_and_abstracts_stands_between_dollars() -> None:
    """As their authors typed it, displays too."""
    article = read(
        metadata={"title": "The $k$-th word"},
        abstract={"section": "Abstract", "text": "Let $a$ and\n$$ b = c $$ and $d$. End."},
    )
    assert article.words() == ["The", "th", "word", "Abstract", "Let", "and", "and", "End"]
    assert article.title == "The k-th word"


def test_money_is_no_mathematics() -> None:
    """A dollar sign in the text hides neither words nor equations."""
    article = read("It costs $5 at first.\n{{formula:x}}\nThen it costs $6.")
    assert len(article.equations) == 1
    assert [token for token in article.stream() if not isinstance(token, str)] == article.equations
    expected = ["It", "costs", "5", "at", "first", "Then", "it", "costs", "6"]
    assert article.words()[-len(expected) :] == expected


# -- equations


@pytest.mark.parametrize("end", ["", ".", ",", " ;", "  "])
def test_a_formula_alone_on_its_line_is_a_display(end: str) -> None:
    """Its numbering is unknown; its context is the sentences around it."""
    article = read("Intro.", f"Before it.\n {{{{formula:x}}}}{end}\nAfter it. Later. Much later.")
    (found,) = article.equations
    assert (found.id, found.numbered, found.number) == ("2212.00001#1", None, None)
    assert (found.latex, found.environment, found.section) == ("x = 1", "formula", "Introduction")
    assert "Before it." in found.context
    assert "[equation]" in found.context
    assert EQUATION_MARK not in found.context
    assert "Much later" not in found.context
    assert article.displays_opened == 1


def test_displays_are_counted_through_the_article() -> None:
    """Each is a separate display, and its line number is that of its paragraph."""
    article = read("{{formula:x}}\n{{formula:y}}", "Words.", "{{formula:z}}")
    assert [(e.ordinal, e.display, e.line) for e in article.equations] == [
        *((1, 1, 2), (2, 2, 2), (3, 3, 4))
    ]
    assert [e.latex for e in article.stream() if not isinstance(e, str)] == [
        *("x = 1", "y = 1", "z = 1")
    ]


def test_a_formula_that_is_missing_is_a_problem() -> None:
    """If it is alone on its line, a display is lost."""
    article = read("See {{formula:none}} here.\n{{formula:gone}}\n{{formula:x}}")
    causes = [Problem("formula missing", "2212.00001.json", 0, key) for key in ("none", "gone")]
    assert article.problems == causes
    assert (article.displays_opened, article.displays_lost) == (2, 1)
    assert len(article.equations) == 1


@pytest.mark.parametrize("entry", [None, 5, "x", {}, {"latex": None}, {"latex": "  "}])
def test_a_formula_without_latex_is_missing(entry: Any) -> None:
    """Whatever is in its place."""
    article = read("{{formula:x}}", ref_entries={"x": entry})
    assert [problem.cause for problem in article.problems] == ["formula missing"]


def test_our_own_mark_in_a_record_is_not_taken_for_an_equation() -> None:
    """In any field of the record."""
    mark = EQUATION_MARK
    article = read(
        f"Text {mark} and {{{{formula:x}}}}.\n{{{{formula:y}}}}",
        metadata={"title": f"T{mark}"},
        abstract={"section": f"S{mark}", "text": mark},
        ref_entries={"x": {"latex": f"a{mark}b"}, "y": {"latex": f"c{mark}d"}},
    )
    assert article.text.count(mark) == len(article.equations) == 1
    assert mark not in article.title + "".join(article.sections) + article.equations[0].expanded


# -- the schema of 2024


def sections(**texts: str) -> dict[str, Any]:
    """A record with these sections."""
    paper = record(abstract="A short abstract.")
    del paper["body_text"]
    return paper | {"sections": {name: {"text": text} for name, text in texts.items()}}


def read_sections(**texts: str) -> Article:
    """The article of a record with these sections."""
    return read_unarxive(opened("2212.00001", json.dumps(sections(**texts)).encode()))


def test_sections_are_read_as_paragraphs_are() -> None:
    """The schema of 2024; unverified: made from the documented markup."""
    article = read_sections(
        Introduction="First. We get\n{{formula:x}} \nand {{formula:y}}.", Method="Last."
    )
    assert article.sections == ["Abstract", "Introduction", "Method"]
    assert article.text == (
        "On nothing at all\n\nAbstract\n\nA short abstract.\n\nIntroduction\n\nFirst.\n"
        "We get \ufffc and $y = 1$.\n\nMethod\n\nLast.\n\n"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("So\n{{formula:x}}Next one.", ["So \ufffc", "Next one."]),
        ("So\n{{formula:x}} .Next one.", ["So \ufffc.", "Next one."]),
        ("So\n{{formula:x}}(i) Next.", ["So \ufffc", "(i) Next."]),
        ("So.{{formula:x}} \nthen.", ["So.", "\ufffc then."]),
        ("One ends.Next one.", ["One ends.", "Next one."]),
        ("Let {{formula:x}}, {{formula:y}}-th.", ["Let $x = 1$, $y = 1$-th."]),
        ("See e.g.\nthe U.S. case 1.5", ["See e.g. the U.S. case 1.5"]),
    ],
)
def test_paragraphs_of_a_section_have_nothing_between_them(text: str, expected: list[str]) -> None:
    """They are separated again, so that displays at their ends stay displays; unverified."""
    lines = read_sections(Part=text).text.split("Part\n\n")[1].split("\n")
    assert [line for line in lines if line] == expected


def test_records_of_2024_are_found(tmp_path: Path) -> None:
    """By their content, as those of 2022."""
    lines = [sections(Part="\n{{formula:x}}\n"), record("{{formula:x}}") | {"paper_id": "2212.2"}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    found = {article.name: len(article.equations) for article in read_articles(tmp_path)}
    assert list(found.values()) == [1, 1]
    assert "2212.00001" in found


# -- records that are none


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b'{"paper_id": "1"}',
        b"[]",
        b"null",
        b'"text"',
        b"\xff\xfe",
        b'{"paper_id": "1", "metadata": {"title": "\xe9"}}',
        json.dumps(record(metadata=None)).encode(),
        json.dumps(record(metadata={})).encode(),
        json.dumps(record(ref_entries=None)).encode(),
        json.dumps(record(ref_entries=[1])).encode(),
        json.dumps(record(body_text=None)).encode(),
        json.dumps(record(body_text=["no paragraph"])).encode(),
        json.dumps(record(sections=["no section"])).encode(),
        json.dumps(record(sections={"a": "no section"})).encode(),
        json.dumps(record(abstract=["no paragraph"])).encode(),
        b"[" * 100_000,
    ],
    ids=lambda line: str(line[:40]),
)
def test_a_broken_record_is_reported(line: bytes) -> None:
    """As a SourceError with a cause, never another exception."""
    with pytest.raises(SourceError, match="broken record: not an unarXive paper"):
        read_unarxive(opened("a", line))


@pytest.mark.parametrize("fields", [{"abstract": None}, {"body_text": []}, {"abstract": {}}])
def test_optional_fields_may_be_missing(fields: dict[str, Any]) -> None:
    """A paper without an abstract or without text is still a paper."""
    assert read(**fields).title == "On nothing at all"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
texts = st.lists(
    st.sampled_from(["{{formula:x}}", "{{formula:gone}}", "{{cite:a}}", "\n", "$", "$$", " a. ",
                     EQUATION_MARK, "\x1e", "{{", "}}", "é", "\ud800", "\U00100000",
                     ".", "Word", "{{formula:y}}"]),
    max_size=12,
).map("".join)  # fmt: skip


@given(
    st.lists(texts, max_size=4),
    st.dictionaries(
        st.sampled_from(["metadata", "abstract", "body_text", "sections", "ref_entries"]),
        json_values,
    ),
)
def test_any_record_is_read_or_refused(paragraphs: list[str], fields: dict[str, Any]) -> None:
    """If it is read, every equation is in the text."""
    try:
        article = read(*paragraphs, **fields)
    except SourceError as error:
        assert error.cause == "broken record"  # noqa: PT017
        return
    tokens = list(article.stream())
    assert [token for token in tokens if not isinstance(token, str)] == article.equations
    assert article.displays_opened == len(article.equations) + article.displays_lost


# -- real records

BENCH = os.environ.get("EQEMB_BENCH")


@pytest.mark.skipif(not BENCH, reason="EQEMB_BENCH names no folder with unarXive records")
def test_every_real_record_is_read() -> None:
    """None is skipped, no key is among the words, and all numbering is unknown."""
    skips: list[str] = []
    articles = list(
        read_articles(
            Path(str(BENCH)) / "unarxive", on_skip=lambda found, _: skips.append(found.origin)
        )
    )
    assert (len(articles), skips) == (49, [])
    assert {e.numbered for article in articles for e in article.equations} == {None}
    assert not [article.name for article in articles if "{{formula:" in article.text]


def test_unresolved_references_are_no_words() -> None:
    """A record has REF where the target of a reference is not known."""
    article = read("By (REF ) and {{formula:f}}, figure REF shows it.")
    assert "REF" not in article.text
