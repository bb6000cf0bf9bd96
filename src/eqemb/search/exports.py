"""Hits as files: CSV, JSON, BibTeX and LaTeX, the same from the command line and the server.

All are written from the JSON of hits or of equations (`results.equation_json`), so that they show
no more text of a paper than that does.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from eqemb.search.citations import Citation, bibtex_keys
from eqemb.storage.marks import TEX_MARK

#: The columns of a file, in order. A row of an equation that is not a hit has no score.
HIT_COLUMNS = (
    "rank", "id", "number", "latex", "latex_as_written", "text", "strength", "level", "score",
    "title", "authors", "year", "arxiv", "url", "article", "section", "context", "citation",
)  # fmt: skip
#: What makes a spreadsheet run the text of a cell as a formula.
_FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")

Json = dict[str, Any]


def hit_rows(hits: Iterable[Json]) -> list[Json]:
    """Return a flat row for each hit, with the columns of `HIT_COLUMNS`."""
    rows = []
    for rank, hit in enumerate(hits, 1):
        row = hit | {
            "rank": rank,
            "latex": hit["clean_latex"],
            "latex_as_written": hit["latex"],
            "context": hit.get("context_text", ""),
        }
        rows.append({name: row.get(name) for name in HIT_COLUMNS})
    return rows


def to_csv(hits: Iterable[Json]) -> str:
    """Return hits as CSV with a header.

    A text that a spreadsheet would run as a formula, such as `=f(x)` or `-x`, gets an apostrophe
    before it, which spreadsheets do not show.
    """
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\r\n")
    writer.writerow(HIT_COLUMNS)
    for row in hit_rows(hits):
        writer.writerow([_cell(value) for value in row.values()])
    return made.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        value = "; ".join(value)
    if isinstance(value, str) and value.startswith(_FORMULA_SIGNS):
        return f"'{value}"
    return value


def to_json(hits: Iterable[Json]) -> str:
    """Return hits as a JSON list of objects with the columns of the CSV."""
    return json.dumps(hit_rows(hits), ensure_ascii=False, indent=1) + "\n"


def to_bibtex(hits: Iterable[Json]) -> str:
    """Return a BibTeX entry for each paper, in order; its note lists the equations.

    Papers have different keys.
    """
    papers: dict[str, tuple[Citation, list[str]]] = {}
    for hit in hits:
        authors, article = tuple(hit["authors"]), hit["article"]
        cited = Citation(article, hit["title"], authors, hit["year"], hit["arxiv"] or "")
        papers.setdefault(article, (cited, []))[1].append(_number(hit))
    entries = [
        cited.bibtex(key, f"Equation{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}")
        for key, (cited, numbers) in zip(bibtex_keys(papers), papers.values(), strict=True)
    ]
    return "\n\n".join(entries) + ("\n" if entries else "")


def _number(hit: Json) -> str:
    return f"({hit['number']})" if hit["number"] else f"no. {hit['ordinal']}"


def to_latex(hits: Iterable[Json]) -> str:
    """Return each equation as a display, with its citation as a comment."""
    displays = (
        f"% {_line(hit['id'])}, {_number(hit)}: {_line(hit['citation'])}\n"
        f"\\begin{{equation*}}\n{_rows(hit['clean_latex'])}\n\\end{{equation*}}\n"
        for hit in hits
    )
    made = "\n".join(displays)
    return f"{TEX_MARK}{made}" if made else ""


def _line(text: str) -> str:
    """Return a text that ends with its comment."""
    return " ".join(text.split())


def _rows(latex: str) -> str:
    is_aligned = "&" in latex or r"\\" in latex
    return f"\\begin{{aligned}}\n{latex}\n\\end{{aligned}}" if is_aligned else latex


#: The formats by the ends of file names.
EXPORT_FORMATS: Mapping[str, Callable[[Iterable[Json]], str]] = {
    "csv": to_csv,
    "json": to_json,
    "bib": to_bibtex,
    "tex": to_latex,
}
