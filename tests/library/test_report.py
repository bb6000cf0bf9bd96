"""The report agrees with the records, lists losses, and escapes hostile text."""

import json
import re
from collections import Counter
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from eqemb.article import Problem
from eqemb.facade.library import Library
from eqemb.library.database import Records
from eqemb.library.report import (
    NOT_DOCUMENTS,
    advise,
    cause_counts,
    counted,
    displays_read,
    every_problem,
    explain_no_articles,
    format_rows,
    merge_summaries,
    percent,
    place,
    render_report,
)
from eqemb.library.rows import Record, from_article, skipped
from eqemb.library.summary import summarise
from eqemb.sources import CAUSES, formats
from synthetic import article, corpus, equation, papers, read_inline

SCRIPT = "<script>alert('\"&')</script>"
SETTINGS = {"version": "0.0", "sha256": "0" * 64}


def report(
    tmp_path: Path, *records: Record, clusters: list[list[str]] | None = None
) -> dict[str, Any]:
    """Return the report of these records."""
    with closing(Records(tmp_path / "r.sqlite", write=True)) as file:
        for record in records:
            file.add(record)
        file.commit()
        return merge_summaries([summarise(file)], SETTINGS, clusters or [])


def read(name: str = "a", *equations: Any, words: int = 0, **parts: Any) -> Record:
    """Return the record of an article."""
    return from_article(article(name, *equations, **parts), words, b"")


def lost(name: str, opened: int, displays: int, told: int | None = None) -> Record:
    """Return the record of an article with lost displays."""
    record = read(name)
    *first, _, _, _, size, sketch = record.article or ()
    told = displays if told is None else told
    record.article = (*first, opened - displays, opened, told, size, sketch)
    return record


class Page(HTMLParser):
    """A parsed page: its tags, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record a tag, and check that it is harmless."""
        assert not [name for name, _ in attrs if name.startswith("on") or name in ("src", "href")]
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        """Record the text."""
        self.text += data


# -- counts


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """A library of sixty small sources."""
    folder = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as patch:
        read_inline(patch)
        return Library.read([corpus(folder / "papers", 60)], folder / "lib")


def test_counts_agree_with_the_records(library: Library) -> None:
    """Articles, equations, words and problems are counted again one by one."""
    found, articles = library.report, list(library.articles())
    equations = Counter(e.numbered for one in articles for e in one.equations)
    problems = Counter(problem.cause for one in articles for problem in one.problems)
    assert found["articles"] == len(articles)
    assert found["words"] == sum(len(one.words()) for one in articles)
    assert found["equations"] == {
        "numbered": equations[True],
        "unnumbered": equations[False],
        "lost": 0,
    }
    assert {p["cause"]: p["count"] for p in found["problems"]} == dict(problems)
    assert found["source_bytes"] == sum(one.source_bytes for one in articles)
    assert found["coverage"]["displays_opened"] == sum(one.displays_opened for one in articles)


def test_drawings_do_not_lower_the_coverage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A display that holds only a drawing has no equation to read."""
    read_inline(monkeypatch)
    papers(tmp_path / "papers", a=r"Words \[\includegraphics{x}\] and \[ x \] end. " * 4)
    with Library.read([tmp_path / "papers"], tmp_path / "lib") as library:
        coverage = library.report["coverage"]
    assert (coverage["displays"], coverage["displays_opened"]) == (1.0, 4)
    assert (coverage["displays_unaccounted"], coverage["worst"]) == (0, [])


def test_every_display_is_read_or_lost(library: Library) -> None:
    """The count of an independent scan agrees with the articles."""
    for one in library.articles():
        assert one.displays_opened == len({e.display for e in one.equations}) + one.displays_lost


def test_articles_and_skipped_are_the_sources(library: Library) -> None:
    """Partially read articles count as articles."""
    found = library.report
    assert found["articles"] + found["skipped"]["total"] == found["sources"] == 60
    assert sum(found["skipped"]["causes"].values()) == found["skipped"]["total"]
    assert 0 < found["partial"] < found["articles"]


def test_collections_add_up(library: Library) -> None:
    """Their sums are the counts of the library."""
    found = library.report
    collections = found["collections"].values()
    assert sorted(found["collections"]) == ["set0", "set1", "set2"]
    assert sum(c["articles"] for c in collections) == found["articles"]
    assert sum(c["words"] for c in collections) == found["words"]
    assert sum(c["numbered"] for c in collections) == found["equations"]["numbered"]
    assert sum(c["equations"] for c in collections) == (
        found["equations"]["numbered"] + found["equations"]["unnumbered"]
    )


def test_empty_records_have_a_report(tmp_path: Path) -> None:
    """All counts are zero, and the page can be rendered."""
    found = report(tmp_path)
    assert (found["sources"], found["articles"], found["words"]) == (0, 0, 0)
    assert (found["coverage"]["displays"], found["coverage"]["papers"]) == (1.0, 1.0)
    assert "Ingest report" in render_report(found)


def test_unknown_numbering_is_counted_apart(tmp_path: Path) -> None:
    """The key is missing if every source tells its numbering."""
    found = report(
        tmp_path, read("a", equation(1, numbered=None), equation(2), equation(3, numbered=False))
    )
    assert found["equations"] == {"numbered": 1, "unnumbered": 1, "numbering_unknown": 1, "lost": 0}
    assert "numbering unknown" in render_report(found)


# -- losses


def test_skipped_sources_are_named_with_their_cause(tmp_path: Path) -> None:
    """The most frequent cause comes first."""
    found = report(
        tmp_path,
        skipped("a", "x.tar!a.gz", "", "broken archive", "not gzip"),
        skipped("b", "b.pdf", "", "pdf only", ""),
        skipped("c", "c.pdf", "", "pdf only", ""),
    )
    assert list(found["skipped"]["causes"].items()) == [("pdf only", 2), ("broken archive", 1)]
    assert found["skipped_sources"][0] == {
        "source": "x.tar!a.gz",
        "cause": "broken archive",
        "detail": "not gzip",
    }


def test_sources_without_latex_do_not_count_against_coverage(tmp_path: Path) -> None:
    """A PDF is not a paper that we failed to read; a damaged archive is."""
    found = report(
        tmp_path,
        *(read(name) for name in "abc"),
        *(skipped(cause, cause, "", cause, "") for cause in sorted(NOT_DOCUMENTS)),
        skipped("d", "d.gz", "", "broken archive", ""),
    )
    assert found["coverage"]["papers"] == 0.75


def test_causes_of_what_is_no_document_exist() -> None:
    """A misspelt cause would count against coverage; one of them is given by readers."""
    assert {*CAUSES, "no mathematics"} >= NOT_DOCUMENTS


def test_lost_displays_are_listed_with_file_and_line(tmp_path: Path) -> None:
    """All of them are listed; other problems have a few examples."""
    problems = [
        *(Problem("lost: unclosed", "a.tex", line, "align") for line in range(1, 51)),
        *(Problem("missing input", "a.tex", line) for line in range(1, 51)),
    ]
    found = report(tmp_path, read(problems=problems, displays_opened=60, displays_lost=50))
    by_cause = {problem["cause"]: problem for problem in found["problems"]}
    assert by_cause["lost: unclosed"]["count"] == by_cause["missing input"]["count"] == 50
    assert [e["line"] for e in by_cause["lost: unclosed"]["examples"]] == list(range(1, 51))
    assert len(by_cause["missing input"]["examples"]) == 5
    assert found["equations"]["lost"] == found["coverage"]["displays_lost"] == 50


def test_examples_come_from_many_papers(tmp_path: Path) -> None:
    """The first of each paper comes before the second of any; the page counts the rest."""
    found = report(
        tmp_path,
        read("a", problems=[Problem("missing figure", "a.tex", line) for line in range(1, 8)]),
        read("b", problems=[Problem("missing figure", "b.tex", 9)]),
    )
    (figures,) = found["problems"]
    assert [(e["article"], e["line"]) for e in figures["examples"]] == [
        *(("a", 1), ("b", 9), ("a", 2), ("a", 3), ("a", 4))
    ]
    assert "and 3 more" in render_report(found)


def test_every_lost_display_is_on_the_page(tmp_path: Path) -> None:
    """Not only the first five."""
    problems = [Problem("lost: unclosed", "a.tex", line) for line in range(1, 21)]
    found = report(tmp_path, read(problems=problems, displays_opened=20, displays_lost=20))
    text = Page(render_report(found)).text
    assert all(f"a.tex:{line}" in text for line in range(1, 21))


def test_partially_read_papers_are_named(tmp_path: Path) -> None:
    """With their first loss; other problems do not count."""
    found = report(
        tmp_path,
        read("a", problems=[Problem("missing figure", "a.tex", 1)]),
        read("b", problems=[Problem("missing figure", "b.tex", 1),
                            Problem("missing input", "b.tex", 7, "c"),
                            Problem("missing input", "b.tex", 8, "d")]),
        read("e", problems=[Problem("lost: unclosed", "e.tex", 2)]),
    )  # fmt: skip
    assert found["partial"] == 2
    assert found["partial_articles"] == [
        {"cause": "missing input", "article": "b", "file": "b.tex", "line": 7, "detail": "c"},
        {"cause": "lost: unclosed", "article": "e", "file": "e.tex", "line": 2, "detail": ""},
    ]
    assert "bmissing inputb.tex:7 c" in Page(render_report(found)).text


def test_papers_that_tex_may_read_differently_are_named(tmp_path: Path) -> None:
    """With everything that leaves it open; a missing figure does not."""
    found = report(
        tmp_path,
        read("a", problems=[Problem("missing figure", "a.tex", 1)]),
        read("b", problems=[Problem("missing input", "b.tex", 7, "c"),
                            Problem("class unknown", "b.tex", 1, "own"),
                            Problem("missing input", "b.tex", 8, "d")]),
    )  # fmt: skip
    assert found["doubtful"] == 1
    assert found["doubtful_articles"] == [
        {"article": "b", "doubts": "class unknown, 2 inputs missing"}
    ]
    assert "bclass unknown, 2 inputs missing" in Page(render_report(found)).text


def test_every_problem_is_listed_once(tmp_path: Path) -> None:
    """Skipped sources, papers left out, problems and unknown commands; the page says how."""
    problems = [Problem("missing figure", "a.tex", line) for line in range(1, 301)]
    macros = {"foo": 1, "bar": 1_000}
    records = [
        read("a", problems=problems, unknown_macros=macros),
        skipped("b", "x/b.pdf", "", "pdf only", ""),
    ]
    found = report(tmp_path, *records)
    with closing(Records(tmp_path / "r.sqlite")) as file:
        left_out = {"causes": {"other year": 9}, "papers": [["y/c.gz", "other year", "1999"]]}
        first, second, *rest, bar, foo = every_problem(file, left_out)
    nowhere = {"file": "", "line": 0}
    assert first == {"cause": "pdf only", "article": "x/b.pdf", "detail": ""} | nowhere
    assert (
        second == {"cause": "left out: other year", "article": "y/c.gz", "detail": "1999"} | nowhere
    )
    assert [(one["article"], one["line"]) for one in rest] == [("a", n) for n in range(1, 301)]
    unknown = {"cause": "unknown command", "article": "a", "file": "", "line": 0}
    assert bar == unknown | {"detail": "\\bar, 1,000 times"}
    assert foo == unknown | {"detail": "\\foo, 1 time"}
    assert "eqemb info LIBRARY --problems" in render_report(found)


def test_page_says_how_many_more_there_are(tmp_path: Path) -> None:
    """Below each list that stops at a limit, and nowhere else."""
    records = [skipped(f"b{n}", f"b{n}.pdf", "", "pdf only", "") for n in range(203)]
    left_out = {"causes": {"other year": 1_300}, "papers": [["c.gz", "other year", "1999"]]}
    page = render_report(report(tmp_path, *records) | {"left_out": left_out})
    assert re.findall(r"</table>\n<p>and (.*) more", page) == ["1,299", "3"]
    assert "<h2>Papers left out</h2>" in page


def test_least_complete_papers_come_first(tmp_path: Path) -> None:
    """By the share of lost displays; complete papers are not listed."""
    found = report(tmp_path, lost("a", 10, 1), lost("b", 2, 2), lost("c", 9, 0), lost("d", 4, 2))
    assert [(w["article"], w["coverage"]) for w in found["coverage"]["worst"]] == [
        *(("b", 0.0), ("d", 0.5), ("a", 0.9))
    ]
    assert found["coverage"]["displays"] == 0.8


def test_list_of_least_complete_papers_is_limited(tmp_path: Path) -> None:
    """To two hundred, as documented."""
    found = report(tmp_path, *(lost(f"a{n:03}", 10, 1) for n in range(201)))
    assert [w["article"] for w in found["coverage"]["worst"]] == [f"a{n:03}" for n in range(200)]


def test_causes_are_counted_in_one_line() -> None:
    """The tars of a manifest that are missing are one entry, whatever their number."""
    causes = {"no document": 1_200, "tars missing": 1, "pdf only": 1}
    assert cause_counts(causes) == "1,200 no document, tars missing, 1 pdf only"
    assert cause_counts(causes, 2) == "1,200 no document, tars missing, ..."


def test_unaccounted_display_lowers_coverage(tmp_path: Path) -> None:
    """It was opened, but neither read nor reported as lost."""
    coverage = report(tmp_path, lost("a", 10, 3, told=1), lost("b", 10, 0))["coverage"]
    assert (coverage["displays"], coverage["displays_unaccounted"]) == (0.85, 2)
    assert coverage["worst"] == [{"article": "a", "coverage": 0.7, "opened": 10, "lost": 3}]


def test_missing_displays_are_counted_and_their_paper_named(tmp_path: Path) -> None:
    """Also if none is known to be lost, so that the page explains its coverage."""
    found = report(tmp_path, lost("a", 10, 0), lost("b", 10, 1, told=0))
    assert (found["equations"]["lost"], found["coverage"]["displays"]) == (0, 0.95)
    assert [w["article"] for w in found["coverage"]["worst"]] == ["b"]
    text = Page(render_report(found)).text
    assert "1displays empty or nested" in text


def test_surplus_displays_do_not_hide_losses(tmp_path: Path) -> None:
    """The surplus of one paper does not compensate the loss of another."""
    coverage = report(tmp_path, lost("a", 10, -5, told=0), lost("b", 10, 5))["coverage"]
    assert (coverage["displays"], coverage["displays_unaccounted"]) == (0.75, 0)


def test_unknown_macros_are_listed_by_frequency(tmp_path: Path) -> None:
    """With the number of papers that use them, and the paper that uses them most."""
    found = report(
        tmp_path,
        read("a", unknown_macros={"foo": 2, "bar": 5}),
        read("b", unknown_macros={"foo": 4}),
    )
    assert found["unknown_macros"] == [
        {"macro": "\\foo", "count": 6, "articles": 2, "example": "b"},
        {"macro": "\\bar", "count": 5, "articles": 1, "example": "a"},
    ]


def test_first_paper_is_named_among_equals(tmp_path: Path) -> None:
    """So that the same papers give the same report."""
    macros = {"foo": 2}
    found = report(tmp_path, *(read(name, unknown_macros=macros) for name in "cab"))
    assert found["unknown_macros"][0]["example"] == "c"


def test_clusters_are_listed_by_name(tmp_path: Path) -> None:
    """In order."""
    found = report(tmp_path, *(read(name) for name in "abcde"), clusters=[["a", "c"], ["b", "e"]])
    assert found["clusters"] == [["a", "c"], ["b", "e"]]


def test_message_explains_why_there_is_no_article(tmp_path: Path) -> None:
    """It names the files, the reason and the remedy."""
    message = explain_no_articles(report(tmp_path), "2 .png files")
    assert message.startswith("No documents found: there are 2 .png files. Supported: .tex, ")


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        (
            [("a.zip", "no document")],
            "Found 1 file, but it is not a document of a known format (a.zip). Supported: ",
        ),
        (
            [("b.pdf", "pdf only")],
            "Found 1 file, but it is a PDF (b.pdf). eqemb does not read PDF, PostScript or DVI: `e",
        ),
        (
            [("b.docx", "word processor file"), ("c.epub", "epub only")],
            "Found 2 files, but could not read any: 1 epub only, 1 word processor file (b.docx, ",
        ),
        ([("a", "time limit")], "Found 1 file, but could not read it: time limit (a). Supported: "),
        (
            [("a", "empty"), ("b", "empty"), ("c", "encrypted")],
            "Found 3 files, but could not read any: 2 empty, 1 encrypted (a, b, c). Supported: ",
        ),
        (
            [(name, "empty") for name in "abcdefg"],
            "Found 7 files, but could not read any: 7 empty (a, b, c, d, e, ...). Supported: ",
        ),
    ],
)
def test_message_names_skipped_files(
    tmp_path: Path, sources: list[tuple[str, str]], message: str
) -> None:
    """Up to five of them."""
    records = [skipped(name, name, "", cause, "") for name, cause in sources]
    assert explain_no_articles(report(tmp_path, *records), "").startswith(message)


def test_advice_is_a_sentence_for_each_format_that_is_not_read() -> None:
    """None for other causes."""
    assert advise(["empty", "other form"]) == []
    assert len(advise(["pdf only", "dvi only"])) == 1
    assert len(advise(["pdf only", "epub only", "word processor file"])) == 2


def test_formats_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the suffix of the origin; what is never read counts only as skipped."""
    monkeypatch.setitem(formats._FORMATS, ".md", "markdown")
    numbered = [equation(1), equation(2)]
    found = report(
        tmp_path,
        read("a", origin="a.tar.gz", displays_opened=3, displays_lost=1, equations=numbered),
        read("b", origin="v.zip!b.md"),
        read("c", origin="u.jsonl!c"),
        skipped("d", "d.md", "", "no mathematics", ""),
        skipped("e", "e.pdf", "", "pdf only", ""),
    )
    none = dict.fromkeys(("equations", "displays", "lost", "skipped"), 0)
    assert found["formats"] == {
        "markdown": none | {"articles": 1, "skipped": 1},
        "tex": {"articles": 1, "equations": 2, "displays": 3, "lost": 1, "skipped": 0},
        "unarxive": none | {"articles": 1},
    }
    assert "<h2>Formats</h2>" in render_report(found)
    del found["formats"]["markdown"], found["formats"]["unarxive"]
    assert "<h2>Formats</h2>" not in render_report(found)
    assert format_rows({}) == []


# -- text and page


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        *((1.0, "100.00 %"), (0.999999, "99.99 %"), (0.57, "57.00 %"), (0.98, "98.00 %")),
        *((0.29, "29.00 %"), (0.12345, "12.34 %"), (0.0, "0.00 %")),
    ],
)
def test_percentage_is_rounded_down(share: float, shown: str) -> None:
    """Exact percentages are shown exactly, despite floating-point error."""
    assert percent(share) == shown


def test_tiny_loss_lowers_coverage(tmp_path: Path) -> None:
    """Coverage is 1 only if nothing was lost."""
    assert report(tmp_path, lost("a", 10_000_000, 1))["coverage"]["displays"] < 1


def test_one_is_singular() -> None:
    """All other numbers are plural."""
    assert [counted(number, "paper") for number in (0, 1, 2000)] == [
        *("0 papers", "1 paper", "2,000 papers")
    ]


def test_place_is_file_and_line() -> None:
    """Or the file alone, without a line."""
    assert (place("a.tex", 3), place("a.tex", 0), place("", 0)) == ("a.tex:3", "a.tex", "")


def test_page_shows_the_counts(library: Library) -> None:
    """The same numbers as report.json."""
    text = Page((library.folder / "report.html").read_text("utf-8")).text
    found = library.report
    for number in (found["articles"], found["words"], found["equations"]["numbered"]):
        assert f"{number:,}" in text
    assert "Slowest papers" in text
    assert found["sha256"][:16] in text


def test_page_escapes_text_of_papers(tmp_path: Path) -> None:
    """Names, origins, macros and details of hostile papers are plain text."""
    found = report(
        tmp_path,
        read(
            SCRIPT,
            equation(name=SCRIPT),
            title=SCRIPT,
            collection=SCRIPT,
            problems=[Problem(SCRIPT, SCRIPT, 1, SCRIPT), Problem("lost: " + SCRIPT, SCRIPT, 2)],
            unknown_macros={SCRIPT: 1},
            displays_opened=2,
            displays_lost=1,
        ),
        read("b"),
        skipped(SCRIPT, SCRIPT, "", SCRIPT, SCRIPT),
        clusters=[[SCRIPT, "b"]],
    )
    html = render_report(found, [(SCRIPT, 1.0)])
    page = Page(html)
    assert not {"script", "img", "a", "iframe", "link"} & set(page.tags)
    assert page.text.count(SCRIPT) >= 10
    assert "<script" not in html


def test_page_is_self_contained(library: Library) -> None:
    """It links to nothing."""
    page = (library.folder / "report.html").read_text("utf-8")
    assert not re.findall(r"https?:|url\(|@import|src=|href=", page)


def test_report_is_reproducible_json(library: Library) -> None:
    """Without times: the same papers give the same report."""
    found = json.loads((library.folder / "report.json").read_text("utf-8"))
    assert found == library.report
    assert not [key for key in found if "second" in key or "time" in key or "path" in key]


@pytest.mark.parametrize("cause", ["input budget", "file too large"])
def test_coverage_is_not_complete_if_a_limit_dropped_a_part(tmp_path: Path, cause: str) -> None:
    """The displays of what was dropped are unknown, so that 100 % would be wrong."""
    found = report(tmp_path, read("a", problems=[Problem(cause, "b.tex")]), read("b"))
    assert found["coverage"]["dropped"] == 1
    assert found["coverage"]["displays"] < 1
    assert displays_read(found["coverage"]) == "at most 99.99 %"
    assert "at most 99.99 %" in render_report(found)


@pytest.mark.parametrize("cause", ["archive bomb", "too large", "time limit", "out of memory"])
def test_coverage_is_not_complete_if_a_limit_dropped_a_source(tmp_path: Path, cause: str) -> None:
    """It may have held any number of papers."""
    found = report(tmp_path, read("a"), skipped("./b", "b", "", cause, ""))
    assert displays_read(found["coverage"]) == "at most 99.99 %"
