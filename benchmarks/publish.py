"""Figures for the documents, made from kept results and put where the documents mark them.

    python benchmarks/publish.py [--check] [--contest RESULTS.JSON] [--product RESULTS.JSON]

`results/contest.json` is what `eqemb compare` wrote over the whole grid, `results/product.json` the
same with the product's defaults, where it is there. The blocks made of them are kept beside them
as Markdown; blocks that other benchmarks print are there already. Every block of `docs/*.md`
between `<!-- results/NAME -->` and `<!-- /results -->` is filled with the file of that name.
`--check` says which would change, and changes nothing.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from eqemb import tables
from eqemb.library import write_atomically
from eqemb.tables import Results, Table

RESULTS = Path(__file__).parent / "results"
DOCS = Path(__file__).parents[1] / "docs"
MARK = re.compile(r"(<!-- (results/\S+) -->\n)(.*?)(<!-- /results -->)", re.DOTALL)
OURS = ("EqEmb", "EqEmb-U", "EqEmb-H")
COMPARED = ("tempered", "accuracy")


def collections(results: Results, product: Results | None) -> Iterator[Table]:
    """What was held out of what."""
    yield tables.statistics(results)._replace(caption="The paper's vocabulary, numbered equations")
    if product is not None:
        yield tables.statistics(product)._replace(caption="The product's defaults: every display")


def pooled(results: Results, product: Results | None) -> Iterator[Table]:
    """All cells together, and what beats what."""
    del product
    for reading in tables.readings(results):
        yield tables.pooled(results, reading)
        for measure in COMPARED:
            yield tables.gains(results, reading, measure)


def cells(results: Results, product: Results | None) -> Iterator[Table]:
    """Every cell, the product's beside them."""
    for reading in tables.readings(results):
        for measure in ("tempered", "accuracy", "raw", "predictive"):
            if measure != "predictive" or reading == "softmax":
                yield from tables.scores_of(results, reading, measure, beside=product)
        yield from tables.scores_of(results, reading, "tempered", "validation", beside=product)


def by_collection(results: Results, product: Results | None) -> Iterator[Table]:
    """Where the paper's models and ours beat the controls."""
    del product
    for model in OURS:
        for reading in tables.readings(results):
            for measure in COMPARED:
                yield tables.gains_by_collection(results, model, reading, measure)


def kinds(results: Results, product: Results | None) -> Iterator[Table]:
    """Singletons and repeated types apart."""
    del product
    for reading in tables.readings(results):
        yield tables.by_kind(results, reading)


def verdicts(results: Results) -> str:
    """What beats what, in words."""
    lines = [f"- {line}" for model in OURS for line in tables.verdicts(results, model)]
    return "\n".join([*lines, ""])


def seconds(results: Results, product: Results | None) -> str:
    """How long it took."""
    lines = []
    for name, found in (("grid", results), ("product's defaults", product)):
        if found is None:
            continue
        spent = ", ".join(f"{told / 60:.0f} ({reading})" for reading, told in
                          found["process_seconds"].items())  # fmt: skip
        lines.append(
            f"- {name}: {found['seconds'] / 60:.0f} minutes by the clock; {spent} minutes of its"
            " processes, added up"
        )
    return "\n".join([*lines, ""])


TABLES: dict[str, Callable[[Results, Results | None], Iterator[Table]]] = {
    "collections.md": collections,
    "pooled.md": pooled,
    "cells.md": cells,
    "by_collection.md": by_collection,
    "kinds.md": kinds,
}


def made() -> dict[str, str]:
    """The blocks that are made of the contest's results, by file; none where they are not kept."""
    results, product = (_read(name) for name in ("contest.json", "product.json"))
    if results is None:
        return {}
    blocks = {
        name: "\n".join(map(tables.markdown, tables_of(results, product)))
        for name, tables_of in TABLES.items()
    }
    return blocks | {"verdicts.md": verdicts(results), "seconds.md": seconds(results, product)}


def _read(name: str) -> Any:
    path = RESULTS / name
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def filled(text: str) -> str:
    """A document with its blocks as they are kept."""

    def block(match: re.Match[str]) -> str:
        kept = (RESULTS.parent / match[2]).read_text("utf-8").strip("\n")
        return f"{match[1]}{kept}\n{match[4]}"

    return MARK.sub(block, text)


def outdated() -> Iterator[tuple[Path, str]]:
    """Files that are not as the results say, and their text; documents come after their blocks."""
    for name, text in made().items():
        path = RESULTS / name
        if not path.exists() or path.read_text("utf-8") != text:
            yield path, text
    for path in sorted(DOCS.glob("*.md")):
        text = path.read_text("utf-8")
        if filled(text) != text:
            yield path, filled(text)


def main() -> None:
    """Write what changed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true")
    for name in ("contest", "product"):
        parser.add_argument(f"--{name}", type=Path, help="keep what compare wrote")
    given = vars(parser.parse_args())
    check = given["check"]
    for name in ("contest", "product"):
        if given[name]:
            kept = json.loads(given[name].read_text("utf-8"))
            text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
            write_atomically(RESULTS / f"{name}.json", text + "\n")
    changed = []
    for path, text in outdated():
        changed.append(path.name)
        if not check:
            write_atomically(path, text)
    print(f"{'stale' if check else 'written'}: {', '.join(changed) or 'nothing'}")
    sys.exit(1 if check and changed else 0)


if __name__ == "__main__":
    main()
