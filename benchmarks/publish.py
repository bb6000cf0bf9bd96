"""Figures for the documents, made from kept results and put where the documents mark them.

    python benchmarks/publish.py [--check] [--contest RESULTS.JSON] [--product RESULTS.JSON]

`results/contest.json` is what `eqemb compare` wrote over the whole grid, `results/product.json` the
same with the product's defaults, where it is there; both without what no document shows. The
blocks made of them are kept beside them as Markdown; blocks that other benchmarks print are there
already. `results/retrieval.json`, which `judged.py` writes, gives the README its table. Every block
of `README.md` and `docs/*.md` between `<!-- results/NAME -->` and `<!-- /results -->` is filled
with the file of that name. Where `--contest` is given its pictures are drawn anew.
`--check` says which files would change, and changes nothing.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from eqemb.evaluation import plots, tables
from eqemb.evaluation.grid import POOL
from eqemb.evaluation.tables import Results, Table
from eqemb.storage.atomic import write_atomically

RESULTS = Path(__file__).parent / "results"
DOCS = Path(__file__).parents[1] / "docs"
README = DOCS.with_name("README.md")
MARK = re.compile(r"(<!-- (results/\S+) -->\n)(.*?)(<!-- /results -->)", re.DOTALL)
OURS = ("EqEmb", "EqEmb-U", "EqEmb-H")
COMPARED = ("tempered", "accuracy")
HELD_BACK = "test and later"  # topics that no setting was chosen on
#: Rankers in the README's table, as the README calls them.
STANDING = {
    "chance": "chance",
    "BM25": "BM25 over the words around an equation",
    "unit overlap": "shared units of the layout tree",
    "sentence encoder": "sentence encoder (all-MiniLM-L6-v2)",
    "eqemb search": "**eqemb**",
}
PICTURES = {"score_by_window": "validation scores by W", "score_by_dim": "test scores by K"}


# ------------------------------------------------------------ what is kept


def trimmed(results: Results, *, is_product: bool = False) -> Results:
    """Results without training curves and without differences that no document shows."""
    entries = [
        {
            key: {name: part for name, part in value.items() if name != "curve"}
            if key in plots.READINGS
            else value
            for key, value in entry.items()
        }
        for entry in results["results"]
    ]
    shown = [
        entry
        for entry in results["differences"]
        if not is_product and (entry["collection"] == POOL or entry["model"] in OURS)
    ]
    return results | {"results": entries, "differences": shown}


def keep(name: str, given: Path) -> Results:
    """Take over what a contest wrote; figures stay as they are, to the last digit."""
    read: Results = json.loads(given.read_text("utf-8"))
    kept = trimmed(read, is_product=name == "product")
    text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
    write_atomically(RESULTS / f"{name}.json", text + "\n")
    return read


def draw(results: Results) -> None:
    """The pictures that documents show, of every reading."""
    with TemporaryDirectory() as folder:
        for path in plots.draw(results, Path(folder)):
            if path.suffix == ".svg" and path.stem.partition("-")[0] in PICTURES:
                write_atomically(DOCS / "pictures" / path.name, path.read_text("utf-8"))


# ------------------------------------------------------------ tables


def collections(results: Results, product: Results | None) -> Iterator[Table]:
    """What was held out of what."""
    yield tables.statistics(results)._replace(caption="The paper's vocabulary, numbered equations")
    if product is not None:
        yield tables.statistics(product)._replace(caption="The product's defaults: every display")


def pooled(results: Results, product: Results | None, reading: str) -> Iterator[Table]:
    """All cells together, and what beats what."""
    del product
    yield tables.pooled(results, reading)
    for measure in COMPARED:
        yield tables.gains(results, reading, measure)


def cells(results: Results, product: Results | None, reading: str) -> Iterator[Table]:
    """Every cell, the product's beside them."""
    for measure in ("tempered", "accuracy", "raw", "predictive"):
        if measure != "predictive" or reading == "softmax":
            yield from tables.scores_of(results, reading, measure, beside=product)
    yield from tables.scores_of(results, reading, "tempered", "validation", beside=product)


def by_collection(results: Results, product: Results | None, reading: str) -> Iterator[Table]:
    """Where the paper's models and ours beat the controls."""
    del product
    for model in OURS:
        for measure in COMPARED:
            yield tables.gains_by_collection(results, model, reading, measure)


def kinds(results: Results, product: Results | None, reading: str) -> Iterator[Table]:
    """Singletons and repeated types apart."""
    del product
    yield tables.by_kind(results, reading)


TABLES: dict[str, Callable[[Results, Results | None, str], Iterator[Table]]] = {
    "pooled.md": pooled,
    "cells.md": cells,
    "by_collection.md": by_collection,
    "kinds.md": kinds,
}


# ------------------------------------------------------------ sentences


def commands(results: Results, product: Results | None) -> str:
    """What was run, and in which readings."""
    defaults = "--vocabulary plain --numbering display --dim 100 --window 4 --equation-window 16"
    lines = ["```console", "$ eqemb build nlp ir ai ml -o library/"]
    lines.append(f"$ eqemb compare library/ -o results/{_option(results)}")
    if product is not None:
        lines.append(f"$ eqemb compare library/ -o product/ {defaults}{_option(product)}")
    return "\n".join([*lines, "```", "", _readings(results, product), ""])


def _option(results: Results) -> str:
    run = tables.readings(results)
    return "" if run == ["softmax"] else f" --reading {'both' if len(run) > 1 else run[0]}"


def _readings(results: Results, product: Results | None) -> str:
    run = tables.readings(results)
    if len(run) == 1:
        (other,) = set(plots.READINGS) - set(run)
        return (
            f"The tables are of the {run[0]} reading. The {other} one (`--reading {other}`) has not"
            " been run over the grid yet."
        )
    said = (
        "Every table is there in both readings, softmax and logistic: models were trained, stopped"
        " and chosen for each apart."
    )
    if product is not None and len(tables.readings(product)) == 1:
        said += f" The product's column is of the {tables.readings(product)[0]} reading alone."
    return said


def verdicts(results: Results, reading: str) -> str:
    """What beats what, in words."""
    lines = [f"- {line}" for model in OURS for line in tables.verdicts(results, model, reading)]
    return "\n".join([*lines, ""])


def pictures(reading: str) -> str:
    """Those that were drawn."""
    shown = [
        f"![{title}, {reading} reading](pictures/{name}-{reading}.svg)\n"
        for name, title in PICTURES.items()
        if (DOCS / "pictures" / f"{name}-{reading}.svg").exists()
    ]
    return "\n".join(shown)


def seconds(results: Results, product: Results | None) -> str:
    """How long it took; by the clock only where all of it was done in one run."""
    lines = []
    for name, found in (("grid", results), ("product's defaults", product)):
        if found is None:
            continue
        spent = found["process_seconds"]
        listed = ", ".join(f"{told / 60:.0f} ({reading})" for reading, told in spent.items())
        said = f"{listed} minutes of its processes, added up"
        if found["seconds"] * found.get("jobs", 2) >= sum(spent.values()):
            said = f"{found['seconds'] / 60:.0f} minutes by the clock; {said}"
        lines.append(f"- {name}: {said}")
    return "\n".join([*lines, ""])


def standing(found: Results) -> str:
    """How well the product finds equations beside plain rivals, on topics held back from it."""
    judged, data = found["judged"], found["data"]
    rows = []
    for ranker, name in STANDING.items():
        row = [name]
        for kind in ("words", "equation"):
            score = judged[kind]["rankers"].get(ranker, {}).get(HELD_BACK, {}).get("ndcg")
            row.append(f"{score['mean']:.2f} ± {score['se']:.2f}" if score else "-")
        rows.append(row)
    counts = {judged[kind]["topics"][HELD_BACK] for kind in ("words", "equation")}
    topics = " and ".join(str(count) for count in sorted(counts))
    caption = (
        f"nDCG@10 on {topics} judged topics of each kind that no setting was chosen on;"
        f" {data['equations']:,} equations of {data['articles']:,} papers; ± one standard error"
    )
    return tables.markdown(Table(caption, ["", "words → equations", "equation → equations"], rows))


# ------------------------------------------------------------ blocks and documents


def blocks(results: Results, product: Results | None) -> dict[str, str]:
    """What is made of the results of a contest, by file."""

    def parts(text_of: Callable[[str], str]) -> str:
        """One for each reading; several have headings."""
        made = {reading: text_of(reading) for reading in tables.readings(results)}
        if len(made) == 1:
            return "".join(made.values())
        return "\n".join(
            f"#### {reading.capitalize()} reading\n\n{text}" for reading, text in made.items()
        )

    def shown(name: str, reading: str) -> str:
        return "\n".join(map(tables.markdown, TABLES[name](results, product, reading)))

    return {
        "commands.md": commands(results, product),
        "collections.md": "\n".join(map(tables.markdown, collections(results, product))),
        **{name: parts(partial(shown, name)) for name in TABLES},
        "verdicts.md": parts(lambda reading: verdicts(results, reading)),
        "pictures.md": parts(pictures),
        "seconds.md": seconds(results, product),
    }


def made() -> dict[str, str]:
    """The blocks of the kept results; none where there are none."""
    names = ("contest.json", "product.json", "retrieval.json")
    results, product, found = (_read(name) for name in names)
    beside = {"standing.md": standing(found)} if found is not None else {}
    return beside | (blocks(results, product) if results is not None else {})


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
    for path in (README, *sorted(DOCS.glob("*.md"))):
        text = path.read_text("utf-8")
        if filled(text) != text:
            yield path, filled(text)


def main() -> None:
    """Write what changed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="change nothing, say what would")
    for name in ("contest", "product"):
        parser.add_argument(f"--{name}", type=Path, help="keep what compare wrote")
    options = parser.parse_args()
    if options.check and (options.contest or options.product):
        parser.error("--check keeps nothing: leave out --contest and --product")
    if options.product:
        keep("product", options.product)
    if options.contest:
        draw(keep("contest", options.contest))
    changed = []
    for path, text in outdated():
        changed.append(path.name)
        if not options.check:
            write_atomically(path, text)
    print(f"{'stale' if options.check else 'written'}: {', '.join(changed) or 'nothing'}")
    sys.exit(1 if options.check and changed else 0)


if __name__ == "__main__":
    main()
