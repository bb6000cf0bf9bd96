"""The report is the same however documents are split into segments."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqemb.article import Problem
from eqemb.library import report, summary
from eqemb.library.database import Records
from eqemb.library.report import every_problem, merge_summaries
from eqemb.library.rows import Record, from_article, is_loss, skipped
from eqemb.library.summary import combine_summaries, summarise
from synthetic import article, equation

SETTINGS = {"version": "0.0", "sha256": "0" * 64}
CAUSES = ("lost: unclosed", "lost: é", "missing input", "missing figure", "note")
SKIPS = ("pdf only", "empty", "broken archive")
COUNTS = st.integers(0, 3)


@pytest.fixture(scope="module", autouse=True)
def short_lists() -> Iterator[None]:
    """Shorten the lists of the report, so that a few documents fill them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summary, "MOST_LISTED", 3)
        patch.setattr(summary, "EXAMPLES", 2)
        patch.setattr(summary, "LOST_EXAMPLES", 4)
        patch.setattr(report, "_MOST_MACROS", 2)
        yield


@st.composite
def sources(draw: st.DrawFn, name: str) -> Record:
    """Return the record of an article or of a skipped source."""
    collection = draw(st.sampled_from(["", "b", "a"]))
    if draw(st.integers(0, 3)) == 0:
        cause = draw(st.sampled_from(SKIPS))
        return skipped(name, f"{name}.gz", collection, cause, "")
    numbering = draw(st.lists(st.sampled_from([True, False, None]), max_size=3))
    causes = draw(st.lists(st.sampled_from(CAUSES), max_size=6))
    made = article(
        name,
        *(equation(n, numbered=one, name=name) for n, one in enumerate(numbering, 1)),
        collection=collection,
        problems=[Problem(cause, f"{name}.tex", line) for line, cause in enumerate(causes, 1)],
        unknown_macros=draw(st.dictionaries(st.sampled_from("zyxé"), st.integers(1, 3))),
        displays_opened=draw(st.integers(0, 5)),
        displays_lost=draw(COUNTS),
        source_bytes=draw(COUNTS),
    )
    return from_article(made, draw(COUNTS), b"")


@st.composite
def documents(draw: st.DrawFn) -> list[Record]:
    """Return records whose names differ and are not sorted."""
    names = draw(st.permutations(list("abcdefghijkl")))
    return [draw(sources(name)) for name in names[: draw(st.integers(0, len(names)))]]


@st.composite
def splits(draw: st.DrawFn) -> list[list[Record]]:
    """Return records in segments, some of which may be empty."""
    given_records = draw(documents())
    places = sorted(draw(st.lists(st.integers(0, len(given_records)), max_size=5)))
    edges = [0, *places, len(given_records)]
    return [given_records[low:high] for low, high in pairwise(edges)]


@contextmanager
def written(records: list[Record]) -> Iterator[Records]:
    """Write records into a database in memory."""
    with closing(Records(Path(":memory:"), write=True)) as file:
        for record in records:
            file.add(record)
        file.commit()
        yield file


def summarised(records: list[Record]) -> dict[str, Any]:
    """Return the summary of these records, read back from JSON."""
    with written(records) as file:
        found: dict[str, Any] = json.loads(json.dumps(summarise(file)))
    return found


def hide(file: Records, removed: set[int]) -> None:
    """Hide removed documents from all queries."""
    ids = ", ".join(map(str, removed))
    for table, columns, key in [
        *(("sources", "*", "id"), ("articles", "*", "id"), ("equations", "*", "article")),
        *(("problems", "rowid, *", "article"), ("unknown_macros", "rowid, *", "article")),
    ]:
        file._db.execute(
            f"CREATE TEMP VIEW {table} AS SELECT {columns} FROM main.{table}"  # noqa: S608
            f" WHERE {key} NOT IN ({ids})"
        )


@given(splits())
def test_report_does_not_depend_on_segments(segments: list[list[Record]]) -> None:
    """Neither does the combined summary, whichever summaries are combined first."""
    with written([record for segment in segments for record in segment]) as file:
        whole = summarise(file)
    expected = merge_summaries([whole], SETTINGS, [])
    summaries = [summarised(segment) for segment in segments]
    found = merge_summaries(iter(summaries), SETTINGS, [])
    assert found == expected
    assert list(found["collections"]) == list(expected["collections"])
    assert list(found["skipped"]["causes"]) == list(expected["skipped"]["causes"])
    first, *rest = summaries
    for order in (summaries, [first, combine_summaries(rest)]):
        assert json.dumps(combine_summaries(order)) == json.dumps(whole)


@given(splits())
def test_examples_follow_their_rules(segments: list[list[Record]]) -> None:
    """They are found again by sorting all problems and macros of all documents."""
    found = merge_summaries(map(summarised, segments), SETTINGS, [])
    records = [record for segment in segments for record in segment]
    ranked: dict[str, list[tuple[int, str, int]]] = {}
    macros: dict[str, list[tuple[int, str]]] = {}
    for record in records:
        ranks: Counter[str] = Counter()
        for cause, _, line, _ in record.problems:
            ranks[cause] += 1
            ranked.setdefault(cause, []).append((ranks[cause], record.name, line))
        for macro, count in record.unknown:
            macros.setdefault(macro, []).append((count, record.name))
    for problem in found["problems"]:
        rows = sorted(ranked.pop(problem["cause"]), key=lambda row: row[0])
        most = 4 if problem["cause"].startswith("lost:") else 2
        assert problem["count"] == len(rows)
        assert problem["articles"] == len({name for _, name, _ in rows})
        shown = [(one["article"], one["line"]) for one in problem["examples"]]
        assert shown == [row[1:] for row in rows[:most]]
    assert not ranked
    frequent = sorted(macros, key=lambda macro: (-sum(n for n, _ in macros[macro]), macro))
    assert [one["macro"] for one in found["unknown_macros"]] == [f"\\{m}" for m in frequent[:2]]
    for macro, one in zip(frequent, found["unknown_macros"], strict=False):
        assert one["example"] == max(macros[macro], key=lambda use: use[0])[1]
    partial = [r.name for r in records if any(is_loss(cause) for cause, *_ in r.problems)]
    assert [one["article"] for one in found["partial_articles"]] == partial[:3]


@given(splits())
def test_least_complete_articles_follow_their_rules(segments: list[list[Record]]) -> None:
    """By the share of missing displays, then by their number, then in order."""
    found = merge_summaries(map(summarised, segments), SETTINGS, [])
    rows = []
    for record in (record for segment in segments for record in segment if record.article):
        *_, displays, opened, _, _, _ = record.article or ()
        if displays < opened:
            rows.append((1 - displays / opened, opened - displays, record.name))
    rows.sort(key=lambda row: row[:2], reverse=True)  # equal rows keep their order
    assert [one["article"] for one in found["coverage"]["worst"]] == [row[2] for row in rows[:3]]


@given(documents(), st.sets(st.integers(0, 11)))
def test_hidden_documents_are_not_summarised(records: list[Record], removed: set[int]) -> None:
    """Views hide removed documents; the rest are summarised and listed as without them."""
    with written([r for n, r in enumerate(records) if n not in removed]) as file:
        expected = summarise(file), list(every_problem(file, {}))
    with written(records) as file:
        hide(file, removed)
        assert (summarise(file), list(every_problem(file, {}))) == expected


def test_library_without_segments_has_a_report() -> None:
    """All counts are zero."""
    found = merge_summaries([], SETTINGS, [])
    assert found == merge_summaries([summarised([])], SETTINGS, [])
    assert (found["sources"], found["coverage"]["papers"]) == (0, 1.0)


def test_clusters_are_those_given() -> None:
    """A summary does not know them: they may connect documents of two segments."""
    assert merge_summaries([], SETTINGS, [["a", "b"]])["clusters"] == [["a", "b"]]


def test_summary_contains_no_times() -> None:
    """Documents that took another time to read have the same summary."""
    slow = from_article(article("a"), 3, b"")
    expected = summarised([slow])
    slow.seconds = 7.25
    assert summarised([slow]) == expected
