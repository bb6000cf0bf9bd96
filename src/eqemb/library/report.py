"""The ingest report: what was read, what was not, why and where.

`merge_summaries` makes it from the summaries of a library's segments. `render_report` shows the
same numbers as a self-contained HTML page.
"""

import heapq
import html
import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from eqemb.library.database import LibraryRecords, Records
from eqemb.library.rows import CUT_OFF
from eqemb.library.summary import EXAMPLES, combine_summaries
from eqemb.sources.formats import supported_formats
from eqemb.sources.found import (
    ACCOMPANYING,
    NO_DOCUMENT,
    OTHER_FORM,
    OTHER_FORMS,
    OWN_EXPORT,
    TARS_MISSING,
    UNSAFE,
)
from eqemb.storage.marks import HTML_MARK

#: Sources that are no documents to be read, which do not count against coverage.
NOT_DOCUMENTS = frozenset(
    (
        *OTHER_FORMS,
        "html only",
        "withdrawn",
        "no mathematics",
        OTHER_FORM,
        ACCOMPANYING,
        OWN_EXPORT,
        TARS_MISSING,
    )
)
_FORMAT_COUNTS = ("articles", "equations", "displays", "lost", "skipped")
#: Skips and problems by which a limit has dropped a source or a part of one, of unknown content.
_LIMITS = CUT_OFF | {"archive bomb", "too large", "time limit", "out of memory", "reader died"}
#: A share that is shown as 99.99 %: where a limit has dropped something, not everything was read.
_NOT_ALL = 0.999_999
#: What to do about formats that are not read: a sentence for each group of causes.
_ADVICE = {
    ("pdf only", "postscript only", "dvi only"): (
        "eqemb does not read PDF, PostScript or DVI: `eqemb fetch --from-pdfs FOLDER -o PAPERS`"
        " gets the LaTeX of arXiv papers, which is best; marker, MinerU, docling, Nougat or Mathpix"
        " turn other PDFs into Markdown, which eqemb reads."
    ),
    ("word processor file", "epub only"): (
        "eqemb does not read files of word processors or EPUB: `pandoc FILE -t markdown -o FILE.md`"
        " turns them into Markdown, which eqemb reads."
    ),
}
_MOST_MACROS = 100
_PROBLEM_FIELDS = ("article", "file", "line", "detail")
#: What a skipped source is, by cause, for a message about a single file.
_SKIP_PHRASES = {
    "empty": "empty",
    "withdrawn": "withdrawn",
    "unreadable": "unreadable",
    "encrypted": "encrypted",
    "too large": "too large",
    NO_DOCUMENT: "not a document of a known format",
    "no mathematics": "a document without any mathematics",
    "pdf only": "a PDF",
    "postscript only": "PostScript",
    "dvi only": "a DVI file",
    "word processor file": "a word processor file",
    "epub only": "an EPUB",
    "html only": "a web page where TeX was expected",
    "broken archive": "a damaged archive",
    "broken record": "a damaged record",
    "unsupported archive": "an archive of an unsupported kind",
    "archive bomb": "an archive that expands to too much data",
    OWN_EXPORT: "a file that eqemb has written",
    UNSAFE: "an archive whose TeX files lead out of it, or are links",
}


def merge_summaries(
    summaries: Iterable[dict[str, Any]], settings: dict[str, Any], clusters: list[list[str]]
) -> dict[str, Any]:
    """Return the report of a library: every count, with examples.

    Args:
        summaries: The summaries of its segments, in order.
        settings: Added to the report.
        clusters: The names of near-duplicate articles, cluster by cluster.
    """
    found = combine_summaries(summaries)
    total: Counter[str] = Counter(found["totals"])  # of no articles, every total is 0
    skips = dict(sorted(found["skips"].items(), key=lambda item: (-item[1], item[0])))
    articles, skipped = total["read"] + total["partial"], sum(skips.values())
    unread = sum(count for cause, count in skips.items() if cause not in NOT_DOCUMENTS)
    dropped = sum(count for cause, count in skips.items() if cause in _LIMITS)
    dropped += sum(row[1] for cause, row in found["problems"].items() if cause in _LIMITS)
    displays = _share(total["displays_found"], total["displays_opened"])
    return settings | {
        "sources": articles + skipped,
        "articles": articles,
        "partial": total["partial"],
        "cut_off": total["cut_off"],
        "doubtful": total["doubtful"],
        "skipped": {"total": skipped, "causes": skips},
        "equations": _equations(total),
        "words": total["words"],
        "source_bytes": total["source_bytes"],
        "coverage": {
            "displays": min(displays, _NOT_ALL) if dropped else displays,
            "papers": _share(articles, articles + unread),
            **({"dropped": dropped} if dropped else {}),
            "displays_opened": total["displays_opened"],
            "displays_lost": total["displays_lost"],
            "displays_unaccounted": total["displays_unaccounted"],
            "worst": [_worst(*row) for row in found["worst"]],
        },
        "problems": _problems(found["problems"]),
        "partial_articles": [_problem(*row) for row in found["partial"]],
        "doubtful_articles": [
            {"article": name, "doubts": doubts} for name, doubts in found["doubtful"]
        ],
        "skipped_sources": [
            {"source": origin, "cause": cause, "detail": detail}
            for origin, cause, detail in found["skipped"]
        ],
        "unknown_macros": _unknown(found["unknown"]),
        "clusters": clusters,
        "collections": found["collections"],
        "formats": {
            form: {name: counts.get(name, 0) for name in _FORMAT_COUNTS}
            for form, counts in found["formats"].items()
        },
    }


def _share(part: int, whole: int) -> float:
    """Return a share, rounded down to six digits."""
    return part * 1_000_000 // whole / 1_000_000 if whole else 1.0


def displays_read(coverage: dict[str, Any]) -> str:
    """Format the share of displays that were read, which is a bound if limits dropped files."""
    share = percent(coverage["displays"])
    return f"at most {share}" if coverage.get("dropped") else share


def percent(share: float) -> str:
    """Format a share as a percentage, rounded down."""
    return f"{math.floor(round(share * 10_000, 4)) / 100:.2f} %"


def counted(number: int, what: str, several: str = "") -> str:
    """Format a count with its noun: "1 paper", "2,000 papers", "2 indexes"."""
    return f"{number:,} {what if number == 1 else several or what + 's'}"


def cause_counts(causes: Mapping[str, int], most: int = sys.maxsize) -> str:
    """Format the first causes: "2 pdf only, tars missing", which is one entry for all tars."""
    shown = [
        cause if cause == TARS_MISSING else f"{count:,} {cause}" for cause, count in causes.items()
    ]
    return ", ".join(shown[:most]) + (", ..." if len(shown) > most else "")


def place(file: str, line: int) -> str:
    """Format a file and line the way editors accept them."""
    return f"{file}:{line}" if line else file


def _by_count(item: tuple[str, list[Any]]) -> tuple[int, str]:
    """Sort key: the most frequent first, then by name."""
    name, (count, *_) = item
    return -count, name


def _equations(total: Counter[str]) -> dict[str, int]:
    found = {"numbered": total["numbered"], "unnumbered": total["unnumbered"]}
    if total["numbering_unknown"]:
        found["numbering_unknown"] = total["numbering_unknown"]
    return found | {"lost": total["displays_lost"]}


def _worst(name: str, opened: int, missing: int) -> dict[str, Any]:
    coverage = _share(opened - missing, opened)
    return {"article": name, "coverage": coverage, "opened": opened, "lost": missing}


def _problem(cause: str, *where: Any) -> dict[str, Any]:
    return {"cause": cause} | dict(zip(_PROBLEM_FIELDS, where, strict=True))


def _problems(found: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [
        {
            "cause": cause,
            "count": count,
            "articles": articles,
            "examples": [dict(zip(_PROBLEM_FIELDS, row, strict=True)) for _, *row in examples],
        }
        for cause, (count, articles, examples) in sorted(found.items(), key=_by_count)
    ]


def _unknown(found: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Return the most frequent unknown commands, each with the paper that uses it most."""
    return [
        {"macro": "\\" + macro, "count": count, "articles": articles, "example": name}
        for macro, (count, articles, name, _) in heapq.nsmallest(
            _MOST_MACROS, found.items(), key=_by_count
        )
    ]


def format_rows(report: dict[str, Any]) -> list[list[Any]]:
    """The counts of each format, its name first; none if there is only one format."""
    formats: dict[str, dict[str, int]] = report.get("formats", {})  # not in older reports
    rows = [[form, *(counts[name] for name in _FORMAT_COUNTS)] for form, counts in formats.items()]
    return rows if len(rows) > 1 else []


def every_problem(
    records: Records | LibraryRecords, left_out: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield every skipped source, every problem, and every unknown command of every paper.

    Of the papers that were left out, those that the report lists come after the skipped sources.
    """
    for origin, cause, detail in records.skipped_sources():
        yield _problem(cause, origin, "", 0, detail)
    for origin, cause, detail in left_out.get("papers", ()):
        yield _problem(f"left out: {cause}", origin, "", 0, detail)
    for row in records.problems():
        yield _problem(*row)
    for name, macro, count in records.unknown_macros():
        yield _problem("unknown command", name, "", 0, f"\\{macro}, {counted(count, 'time')}")


def unlisted(left_out: dict[str, Any]) -> int:
    """Return how many papers were left out that the report does not list."""
    causes: dict[str, int] = left_out.get("causes", {})
    return sum(causes.values()) - len(left_out.get("papers", ()))


def advise(causes: Iterable[str]) -> list[str]:
    """Say what to do about skipped sources in formats that are not read: a sentence for each."""
    there = set(causes)
    return [advice for group, advice in _ADVICE.items() if not there.isdisjoint(group)]


def explain_no_articles(report: dict[str, Any], found: str) -> str:
    """Explain why no article could be read, and what to do; `found` describes the files."""
    causes: dict[str, int] = report["skipped"]["causes"]
    if left := report.get("left_out", {}).get("causes", {}):
        counts = cause_counts(left)
        others = sum(causes.values())
        rest = f"; {counted(others, 'other source')} cannot be read" if others else ""
        remedy = "Choose other categories, licences or years"
        if "no metadata" in left:
            remedy += ", or give a file that describes these papers (--metadata)"
        return f"{counted(sum(left.values()), 'paper')} left out ({counts}){rest}. {remedy}."
    if not causes:
        verb = "is" if found.startswith("1 ") and "," not in found else "are"
        return f"No documents found: there {verb} {found}. Supported: {supported_formats()}."
    if sum(causes.values()) == 1:
        (cause,) = causes
        is_what = f"it is {_SKIP_PHRASES[cause]}" if cause in _SKIP_PHRASES else ""
        first = f"Found 1 file, but {is_what or f'could not read it: {cause}'}"
    else:
        counts = cause_counts(causes)
        first = f"Found {sum(causes.values()):,} files, but could not read any: {counts}"
    names = [source["source"] for source in report["skipped_sources"][:EXAMPLES]]
    more = ", ..." if len(names) < sum(causes.values()) else ""
    remedy = " ".join(advise(causes)) or f"Supported: {supported_formats()}."
    return f"{first} ({', '.join(names)}{more}). {remedy}"


# ---------------------------------------------------------------- as a page

_REPORT_STYLE = """
:root { color-scheme: light dark; --line: #8884; --dim: #777; --bad: #b3261e; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
table { border-collapse: collapse; width: 100%; } td, th { padding: .25rem .7rem .25rem 0;
  border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
code, .where { font: 13px/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
.where { color: var(--dim); } .figures { display: flex; flex-wrap: wrap; gap: 1.2rem 2.4rem; }
.figures b { display: block; font-size: 1.6rem; } footer { margin: 3rem 0; color: var(--dim); }
"""
_LONG_TABLES = ("problems", "skipped_sources", "unknown_macros")
_REPORT_NOTE = """<p>Long tables show only the first papers or a few examples. To list every skipped
source, problem and unknown command, run <code>eqemb info LIBRARY --problems</code>."""


def render_report(report: dict[str, Any], slowest: Iterable[tuple[Any, ...]] = ()) -> str:
    """Return the report as an HTML page; `slowest` holds names and seconds."""
    equations, coverage = report["equations"], report["coverage"]
    figures = [
        ("papers read", f"{report['articles']:,}"),
        ("partially read", f"{report['partial']:,}"),
        ("read with doubts", f"{report.get('doubtful', 0):,}"),
        ("sources skipped", f"{report['skipped']['total']:,}"),
        ("numbered equations", f"{equations['numbered']:,}"),
        ("unnumbered", f"{equations['unnumbered']:,}"),
        ("displays lost", f"{equations['lost']:,}"),
        ("words", f"{report['words']:,}"),
        ("displays read", displays_read(coverage)),
    ]
    if cut_off := report.get("cut_off"):
        figures.insert(2, ("cut off by a limit", f"{cut_off:,}"))
    if "numbering_unknown" in equations:
        figures.insert(-4, ("numbering unknown", f"{equations['numbering_unknown']:,}"))
    if unaccounted := coverage["displays_unaccounted"]:
        figures.insert(-2, ("displays empty or nested", f"{unaccounted:,}"))
    if dropped := coverage.get("dropped"):
        figures.append(("sources or parts that exceed a limit", f"{dropped:,}"))
    skips = report["skipped"]["causes"].items()
    left = report.get("left_out", {"causes": {}, "papers": []})
    parts = [
        "<div class=figures>",
        *(f"<div><b>{_e(value)}</b>{_e(name)}</div>" for name, value in figures),
        "</div>",
        _REPORT_NOTE if any(map(report.get, _LONG_TABLES)) else "",
        _table("Collections", ["collection", "#articles", "#words", "#equations", "#numbered"], [
            [name or "(none)", c["articles"], c["words"], c["equations"], c["numbered"]]
            for name, c in report["collections"].items()]),
        _table("Formats", ["format", "#documents", "#equations", "#displays", "#lost", "#skipped"],
            format_rows(report)),
        _table("Causes for which papers were left out", ["cause", "#papers"], [
            [cause, n] for cause, n in left["causes"].items()]),
        _table("Papers left out", ["source", "cause", "detail"], left["papers"], unlisted(left)),
        _table("Causes of skips", ["cause", "#sources"], [[cause, n] for cause, n in skips]),
        _table("Skipped sources", ["source", "cause", "detail"], [
            [s["source"], s["cause"], s["detail"]] for s in report["skipped_sources"]],
            report["skipped"]["total"] - len(report["skipped_sources"])),
        _table("Partially read papers", ["article", "cause", "where"], [
            [p["article"], p["cause"], _examples([p | {"article": ""}])]
            for p in report["partial_articles"]],
            report["partial"] - len(report["partial_articles"])),
        _table("Papers that TeX may read differently", ["article", "doubts"], [
            [d["article"], d["doubts"]] for d in report.get("doubtful_articles", [])],
            report.get("doubtful", 0) - len(report.get("doubtful_articles", []))),
        _table("Problems", ["cause", "#times", "#papers", "examples"], [
            [p["cause"], p["count"], p["articles"], _examples(p["examples"], p["count"])]
            for p in report["problems"]]),
        _table("Papers with missing displays",
               ["article", "#displays", "#missing", "#coverage"], [
            [w["article"], w["opened"], w["lost"], percent(w["coverage"])]
            for w in coverage["worst"]]),
        _table("Unknown commands", ["command", "#times", "#papers", "most used in"], [
            [u["macro"], u["count"], u["articles"], u["example"]]
            for u in report["unknown_macros"]]),
        _table("Near-duplicates (sharing over a fifth of 8-word sequences)", ["documents"], [
            [", ".join(names)] for names in report["clusters"]]),
        _table("Slowest papers", ["article", "#seconds"], [
            [name, f"{seconds:.2f}"] for name, seconds in slowest]),
    ]  # fmt: skip
    body = "\n".join(part for part in parts if part)
    return (
        f"<!doctype html>\n<html lang=en><meta charset=utf-8>{HTML_MARK}"
        "<meta name=viewport content='width=device-width'><title>Ingest report</title>"
        f"<style>{_REPORT_STYLE}</style>\n<h1>Ingest report</h1>\n{body}\n"
        f"<footer>eqemb {_e(report['version'])} · content {_e(report['sha256'][:16])}</footer>\n"
    )


def _e(value: object) -> str:
    return html.escape(str(value))


def _examples(examples: list[dict[str, Any]], count: int = 0) -> list[str]:
    """Format examples and their places; of `count` in all, say how many more there are."""
    parts = ((e["article"], place(e["file"], e["line"]), e["detail"]) for e in examples)
    more = count - len(examples)
    shown = [" ".join(part for part in found if part) for found in parts]
    return shown + ([f"and {more:,} more"] if more > 0 else [])


def _table(title: str, heads: list[str], rows: list[list[Any]], more: int = 0) -> str:
    """Return a table, or "" if it has no rows; "#" marks the head of a numeric column.

    `more` is the number of rows that are not listed.
    """
    if not rows:
        return ""
    numeric = [head.startswith("#") for head in heads]
    head = "".join(
        f"<th{' class=n' if n else ''}>{_e(text.lstrip('#'))}"
        for text, n in zip(heads, numeric, strict=True)
    )
    lines = ("<tr>" + "".join(map(_cell, row, numeric)) for row in rows)
    rest = f"\n<p>and {more:,} more" if more > 0 else ""
    return f"<h2>{_e(title)}</h2>\n<table><tr>{head}\n" + "\n".join(lines) + f"\n</table>{rest}"


def _cell(value: Any, numeric: bool) -> str:  # noqa: FBT001
    if isinstance(value, list):
        return "<td class=where>" + "<br>".join(map(_e, value))
    shown = f"{value:,}" if isinstance(value, int) else str(value)
    return f"<td{' class=n' if numeric else ''}>{_e(shown)}"
