"""Turn the stored results into tables and insert them into the documentation.

    python benchmarks/publish.py [--check] [--grid RESULTS.JSON] [--product RESULTS.JSON]
                                 [--document RESULTS.JSON]

`results/grid.json` holds the output of `eqemb compare` over the whole grid,
`results/product.json` (optional) the output with the product's default settings, and
`results/document.json` (optional) that of the controls of EqEmb-H. All omit the parts that no
document shows. This script renders them as Markdown files next to the JSON; other
benchmarks write their own Markdown files there. Every block of `README.md` and of a page in `docs`
between `<!-- results/NAME -->` and `<!-- /results -->` is replaced by the file of that name. With
`--grid` the plots are drawn again as well. `--check` lists the files that would change and changes
nothing.
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

from eqemb.evaluation import plots, retrieval_tables, tables
from eqemb.evaluation.grid import POOL
from eqemb.evaluation.tables import Results, Table
from eqemb.models.likelihood import LIKELIHOODS
from eqemb.storage.atomic import write_atomically

RESULTS = Path(__file__).parent / "results"
DOCS = Path(__file__).parents[1] / "docs"
README = DOCS.with_name("README.md")
MARK = re.compile(r"(<!-- (results/\S+) -->\n)(.*?)(<!-- /results -->)", re.DOTALL)
OURS = ("EqEmb", "EqEmb-U", "EqEmb-H")
#: Outputs of `eqemb compare` that are stored.
STORED = ("grid", "product", "document")
COMPARED = ("tempered", "accuracy")
HELD_BACK = "test and later"  # topics on which no setting was chosen
#: Rankers in the README's table -> the names it gives them.
RANKERS = {
    "chance": "chance",
    "BM25": "BM25 over the words around an equation",
    "unit overlap": "shared units of the layout tree",
    "BM25F": "BM25F over all fields, tuned",
    "sentence encoder": "sentence encoder (all-MiniLM-L6-v2)",
    "sentence encoder, LaTeX": "sentence encoder on LaTeX (all-MiniLM-L6-v2)",
    "eqemb search": "**eqemb**",
}
#: Rows of the short table of held-out words; `pooled.md` has all.
HELDOUT_ROWS = (
    "unigram", "words only, W", "document vector", "b-emb", "CBOW", "PV-DM", "GloVe", *OURS,
)  # fmt: skip
#: Measures in the short table of formula retrieval -> their names in ml_categories.json.
FORMULA_ROWS = {
    "Dice, window 1": "Dice, window 1",
    "Tangent-S, layout trees": "",
    "overlap of units": "overlap of units",
    "vectors of units": "vectors of units, ARQMath",
    "row alignment": "row alignment",
    "row alignment + overlap + vectors": "row alignment + overlap + vectors",
}
PICTURES = ("score_by_window", "score_by_dim")
_VERBS = {"better": "beats", "tie": "ties with", "worse": "loses to"}


# ------------------------------------------------------------ stored results


def trimmed(results: Results, *, is_product: bool = False) -> Results:
    """Return the results without training curves and without comparisons that no page shows."""
    entries = [
        {
            key: {name: part for name, part in value.items() if name != "curve"}
            if key in LIKELIHOODS
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


def store(name: str, given: Path) -> Results:
    """Copy the output of `eqemb compare` into RESULTS, trimmed, with all digits."""
    read: Results = json.loads(given.read_text("utf-8"))
    kept = trimmed(read, is_product=name == "product")
    text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
    write_atomically(RESULTS / f"{name}.json", text + "\n")
    return read


def draw(results: Results) -> None:
    """Draw the plots that the documents show, for every reading."""
    with TemporaryDirectory() as folder:
        for path in plots.draw(results, Path(folder)):
            if path.suffix == ".svg" and path.stem.partition("-")[0] in PICTURES:
                write_atomically(DOCS / "pictures" / path.name, path.read_text("utf-8"))


# ------------------------------------------------------------ tables


def collections(results: Results, product: Results | None) -> Iterator[Table]:
    """Sizes of the collections and of the held-out sets."""
    yield tables.statistics(results)._replace(caption="The paper's vocabulary, numbered equations")
    if product is not None:
        yield tables.statistics(product)._replace(caption="The product's defaults: every display")


def pooled(results: Results, product: Results | None, reading: str) -> Iterator[Table]:
    """All cells pooled, and the differences between models."""
    del product
    yield tables.pooled(results, reading)
    for measure in COMPARED:
        yield tables.gains(results, reading, measure)


def cells(results: Results, product: Results | None, reading: str) -> Iterator[Table]:
    """Every cell, with a column for the product's defaults."""
    for measure in ("tempered", "accuracy", "raw", "predictive"):
        if measure != "predictive" or reading == "softmax":
            yield from tables.scores_of(results, reading, measure, beside=product)
    yield from tables.scores_of(results, reading, "tempered", "validation", beside=product)


def by_collection(results: Results, product: Results | None, reading: str) -> Iterator[Table]:
    """Gains of the paper's models and of ours over the controls, by collection."""
    del product
    for model in OURS:
        for measure in COMPARED:
            yield tables.gains_by_collection(results, model, reading, measure)


def kinds(results: Results, product: Results | None, reading: str) -> Iterator[Table]:
    """Equations that occur once, and equations that repeat."""
    del product
    yield tables.by_kind(results, reading)


TABLES: dict[str, Callable[[Results, Results | None, str], Iterator[Table]]] = {
    "pooled.md": pooled,
    "cells.md": cells,
    "by_collection.md": by_collection,
    "kinds.md": kinds,
}


def heldout_summary(results: Results) -> Table:
    """A few models, all cells pooled, in every reading: log-likelihood and accuracy."""
    head, columns = ["model"], []
    for reading in tables.readings(results):
        table = tables.pooled(results, reading)
        by_name = {row[0]: row for row in table.rows}
        for title in ("with temperature", "accuracy"):
            at = table.head.index(title)
            head.append(f"{reading}: {'log-likelihood' if at == 2 else title}")
            columns.append([by_name[name][at] for name in HELDOUT_ROWS])
    rows = [list(row) for row in zip(HELDOUT_ROWS, *columns, strict=True)]
    best = {(len(rows) - 1, column) for column in range(1, len(head))} if _is_best(rows) else set()
    return Table("Held-out words, all cells pooled; ± standard error over seeds", head, rows, best)


def _is_best(rows: list[list[str]]) -> bool:
    """Whether the last row has the highest figure of every column."""
    figures = [[float(cell.split()[0]) for cell in row[1:]] for row in rows]
    return all(max(column) == column[-1] for column in zip(*figures, strict=True))


def control_gains(results: Results) -> Table:
    """Gain in accuracy of each of our models over each control, all cells pooled."""
    head = ["control"]
    controls = list(dict.fromkeys(e["model"] for e in results["results"] if e["control"]))
    columns = []
    for reading in tables.readings(results):
        table = tables.gains(results, reading, "accuracy")
        for row in (row for row in table.rows if row[0] in OURS):
            head.append(f"{row[0]}, {reading}")
            columns.append([row[table.head.index(control)] for control in controls])
    rows = [list(row) for row in zip(controls, *columns, strict=True)]
    caption = (
        "Gain in accuracy over each control (▲ better, ▼ worse, = tie: by a bootstrap over"
        f" {tables.clustered(results)} at 5 %, with Holm's correction for all rivals of a model)"
    )
    return Table(caption, head, rows)


def retrieval_summary(found: Results) -> Table:
    """NDCG of the product's search and of baselines, on topics that no setting was chosen on."""
    judged, data = found["judged"], found["data"]
    rows = []
    for ranker, name in RANKERS.items():
        row = [name]
        for kind in ("words", "equation"):
            score = judged[kind]["rankers"].get(ranker, {}).get(HELD_BACK, {}).get("ndcg")
            row.append(f"{score['mean']:.2f} ± {score['se']:.2f}" if score else "-")
        if set(row[1:]) != {"-"}:
            rows.append(row)
    counts = {judged[kind]["topics"][HELD_BACK] for kind in ("words", "equation")}
    topics = " and ".join(str(count) for count in sorted(counts))
    caption = (
        f"nDCG@10 on {topics} judged topics of each kind that no setting was chosen on;"
        f" {data['equations']:,} equations of {data['articles']:,} papers; ± one standard error"
    )
    return Table(caption, ["", "words → equations", "equation → equations"], rows)


def retrieval_page(found: Results) -> str:
    """All tables of `judged.py score`."""
    text = [f"{note}\n" for note in retrieval_tables.notes(found)]
    text += map(tables.markdown, retrieval_tables.report(found))
    return "\n".join(text)


def document_controls(results: Results) -> Iterator[Table]:
    """The controls of EqEmb-H that have a document vector, on a few collections."""
    for reading in tables.readings(results):
        yield tables.pooled(results, reading)
        for measure in COMPARED:
            yield tables.gains_by_collection(results, "EqEmb-H", reading, measure)


def formula_summary(arqmath: Results, categories: Results) -> Table:
    """Formula retrieval on ARQMath-1, and nearest neighbours among classified formulas."""
    rows = []
    for name, category in FORMULA_ROWS.items():
        pool, own = arqmath["(a)"][name], arqmath["(b)"][name]
        # two decimals: the JSON has four, and rounding to three would contradict arqmath.md
        row = [f"{pool['ndcg']:.2f}", f"{pool['ap']:.2f}", f"{pool['p10']:.2f}", f"{own['ap']:.2f}"]
        found = categories["accuracy"].get(category)
        rows.append([name, *row, "-" if found is None else f"{found:.2f}"])
    head = ["measure", "nDCG'", "MAP'", "P'@10", "MAP', Tangent-S's list", "same class"]
    caption = (
        f"ARQMath-1, {len(arqmath['topics'])} official topics; last column: share of"
        f" {categories['n']} formulas whose nearest neighbour is of the same class"
    )
    return Table(caption, head, rows)


# ------------------------------------------------------------ sentences


def conclusions(grid: Results, found: Results, arqmath: Results) -> str:
    """The conclusions of docs/results.md, in one paragraph, with figures from the results."""
    by_name: dict[str, list[float]] = {}
    for reading in tables.readings(grid):
        table = tables.pooled(grid, reading)
        for row in table.rows:
            figure = float(row[table.head.index("accuracy")].split()[0])
            by_name.setdefault(row[0], []).append(figure)
    controls = {entry["model"] for entry in grid["results"] if entry["control"]}
    control = max(controls, key=lambda name: by_name[name][0])
    best, other = (" and ".join(f"{x:.3f}" for x in by_name[n]) for n in ("EqEmb-H", control))
    readings = " and ".join(tables.readings(grid))

    def ndcg(ranker: str, kind: str) -> str:
        return f"{found['judged'][kind]['rankers'][ranker][HELD_BACK]['ndcg']['mean']:.2f}"

    scores = {name: f"{arqmath['(a)'][name]['ap']:.2f}" for name in arqmath["(a)"]}
    return (
        f"**Conclusions.** EqEmb-H predicts the held-out words near equations best: its accuracy is"
        f" {best} ({readings} reading) and {_outcome(grid, 'EqEmb-H', control)} the best control,"
        f" *{control}* ({other}). Most of what equations add to the surrounding words is knowledge"
        f" of the article: EqEmb-U {_outcome(grid, 'EqEmb-U', 'article vector')} one vector per"
        f" article, and the paper's EqEmb {_outcome(grid, 'EqEmb', 'one vector')} a single vector"
        f" shared by all equations. In retrieval, the product's search, which combines words,"
        f" vectors and structure, reaches an nDCG@10 of {ndcg('eqemb search', 'words')} for queries"
        f" in words (BM25: {ndcg('BM25', 'words')}) and {ndcg('eqemb search', 'equation')} for"
        f" equations (unit overlap: {ndcg('unit overlap', 'equation')}); its vectors alone reach"
        f" only {ndcg('eqemb search, vectors only', 'words')} and"
        f" {ndcg('eqemb search, vectors only', 'equation')}."
        f" For formulas without text, row alignment reaches a MAP' of"
        f" {scores['row alignment']} on ARQMath-1 (Tangent-S:"
        f" {scores['Tangent-S, layout trees']}); vectors of units add nothing to it.\n"
    )


def _outcome(results: Results, model: str, control: str) -> str:
    """How the accuracies of two rows compare, in the first reading."""
    (entry,) = (
        entry
        for entry in results["differences"]
        if entry["collection"] == POOL
        and entry["measure"] == "accuracy"
        and entry["reading"] == tables.readings(results)[0]
        and (entry["model"], entry["against"]) == (model, control)
    )
    return _VERBS[entry["verdict"]]


def commands(results: Results, product: Results | None) -> str:
    """The commands that were run, and their readings."""
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
        (other,) = set(LIKELIHOODS) - set(run)
        return (
            f"The tables show the {run[0]} reading. The {other} reading (`--reading {other}`) has"
            " not been run over the grid yet."
        )
    text = (
        "There is a table for each reading, softmax and logistic. Models were trained, stopped and"
        " selected separately for each."
    )
    if product is not None and len(tables.readings(product)) == 1:
        text += f" The product's column shows the {tables.readings(product)[0]} reading only."
    return text


def comparisons(results: Results, reading: str) -> str:
    """Which controls each of our models beats, in sentences."""
    lines = [f"- {line}" for model in OURS for line in tables.comparisons(results, model, reading)]
    return "\n".join([*lines, ""])


def seconds(results: Results, product: Results | None) -> str:
    """Time summed over processes, and wall-clock time where a single run did all the work."""
    lines = []
    for name, found in (("grid", results), ("product's defaults", product)):
        if found is None:
            continue
        spent = found["process_seconds"]
        listed = ", ".join(f"{value / 60:.0f} ({reading})" for reading, value in spent.items())
        text = f"{listed} minutes, summed over processes"
        if found["seconds"] * found.get("jobs", 2) >= sum(spent.values()):
            text = f"{found['seconds'] / 60:.0f} minutes wall-clock; {text}"
        lines.append(f"- {name}: {text}")
    return "\n".join([*lines, ""])


# ------------------------------------------------------------ blocks and documents


def blocks(results: Results, product: Results | None) -> dict[str, str]:
    """Render the results of a grid search: file name -> Markdown."""

    def parts(text_of: Callable[[str], str]) -> str:
        """One part per reading, with headings if there are several."""
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
        "heldout.md": tables.markdown(heldout_summary(results)),
        "controls.md": tables.markdown(control_gains(results)),
        **{name: parts(partial(shown, name)) for name in TABLES},
        "comparisons.md": parts(lambda reading: comparisons(results, reading)),
        "seconds.md": seconds(results, product),
    }


def rendered() -> dict[str, str]:
    """All blocks that can be made from the stored results."""
    grid, product, document, found, arqmath, categories = (
        _read(f"{name}.json") for name in (*STORED, "retrieval", "arqmath", "ml_categories")
    )
    made: dict[str, str] = {}
    if found is not None:
        made["standing.md"] = tables.markdown(retrieval_summary(found))
        made["retrieval.md"] = retrieval_page(found)
    if arqmath is not None and categories is not None:
        made["formulas.md"] = tables.markdown(formula_summary(arqmath, categories))
    if grid is not None:
        made |= blocks(grid, product)
    if document is not None:
        made["document_controls.md"] = "\n".join(map(tables.markdown, document_controls(document)))
    if grid is not None and found is not None and arqmath is not None:
        made["conclusions.md"] = conclusions(grid, found, arqmath)
    return made


def _read(name: str) -> Any:
    path = RESULTS / name
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def filled(text: str) -> str:
    """Return a document with its blocks replaced by the stored files."""

    def block(match: re.Match[str]) -> str:
        kept = (RESULTS.parent / match[2]).read_text("utf-8").strip("\n")
        return f"{match[1]}{kept}\n{match[4]}"

    return MARK.sub(block, text)


def outdated() -> Iterator[tuple[Path, str]]:
    """Yield the files that differ from the results, with their new text; blocks come first."""
    for name, text in rendered().items():
        path = RESULTS / name
        if not path.exists() or path.read_text("utf-8") != text:
            yield path, text
    for path in (README, *sorted(DOCS.rglob("*.md"))):
        text = path.read_text("utf-8")
        if filled(text) != text:
            yield path, filled(text)


def main() -> None:
    """Write the files that changed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="list stale files, change nothing")
    for name in STORED:
        parser.add_argument(f"--{name}", type=Path, help="store this output of eqemb compare")
    options = vars(parser.parse_args())
    given = {name: options[name] for name in STORED if options[name]}
    if options["check"] and given:
        parser.error(f"--check stores nothing: omit --{' and --'.join(given)}")
    for name, path in given.items():
        stored = store(name, path)
        if name == "grid":
            draw(stored)
    changed = []
    for path, text in outdated():
        changed.append(path.name)
        if not options["check"]:
            write_atomically(path, text)
    print(f"{'stale' if options['check'] else 'written'}: {', '.join(changed) or 'nothing'}")
    sys.exit(1 if options["check"] and changed else 0)


if __name__ == "__main__":
    main()
