"""Commands that evaluate models and rankings: evaluate, compare, retrieval."""

import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from eqemb.cli.app import app
from eqemb.cli.console import print_json, print_message
from eqemb.cli.options import (
    ALL_COLLECTIONS,
    Encoder,
    Groups,
    Jobs,
    Json,
    LibraryPath,
    Numbering,
    Option,
    Threads,
    Vocabulary,
)
from eqemb.errors import UsageError

_JOBS = 2


def _readings(reading: str) -> tuple[str, ...]:
    named = {"softmax": ("softmax",), "logistic": ("logistic",), "both": ("softmax", "logistic")}
    if reading not in named:
        raise UsageError(f"--reading must be softmax, logistic or both, not {reading}")
    return named[reading]


@app.command()
def evaluate(
    library: LibraryPath,
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="Model name, as listed by `eqemb info`.")
    ],
    groups: Groups = None,
    as_json: Json = False,
) -> None:
    """Score a trained model on its held-out words."""
    from eqemb.evaluation import conclusions, heldout
    from eqemb.evaluation.groups import Clusters
    from eqemb.facade.library import Library
    from eqemb.models import workspace
    from eqemb.models.embeddings import Embeddings

    with Library.open(library) as opened:
        place = workspace.find_model(opened, model)
        made = Embeddings.load(place)
        corpus, split = workspace.training_data(opened, made)
        current = workspace.is_current(opened, made.config)
        clusters = Clusters(_read_groups(opened, groups))
    found = heldout.evaluate_model(workspace.restore_model(made), corpus, split, clusters)
    if place.name != model:
        print_message(f"{model} is {place}")
    if not current:
        print_message(
            f"{model} is older than the library: its corpus lacks papers that were added since"
        )
    if as_json:
        print_json(found | {"current": current})
        return
    print(f"{found['model']}, seed {found['seeds'][0]}: {found['n']:,} test words,")
    print(f"{found['negatives']} negatives each, split {found['split'][:12]}\n")
    print(f"{'':24}{'validation':>18}{'test':>18}{'zero':>9}{'unigram':>9}")
    lines = {
        "softmax": found["softmax"],
        "softmax, tempered": found["softmax"]["tempered"],
        "predictive": found["softmax"]["predictive"],
        "logistic": found["logistic"],
        "logistic, tempered": found["logistic"]["tempered"],
        "accuracy": found["accuracy"],
    }
    for name, parts in lines.items():
        values = [parts[part] for part in ("validation", "test")]
        shown = "".join(f"{value['mean']:10.3f} ± {_error(value)}" for value in values)
        chance = [found["chance"][line][name.partition(",")[0]] for line in ("zero", "unigram")]
        print(f"{name:24}{shown}" + "".join(f"{line:9.3f}" for line in chance))
    print(f"\n{conclusions.of_model(found)}")


def _read_groups(library: Any, path: Path | None) -> dict[str, str]:
    """The groups of a library's articles; none without a file."""
    from eqemb.evaluation.groups import read_groups

    return read_groups(path, library.records.names()) if path is not None else {}


def _error(value: dict[str, float | None]) -> str:
    return "-".rjust(5) if value["se"] is None else f"{value['se']:.3f}"


_Several = list[int] | None
_Rows = Annotated[
    list[str] | None,
    Option(
        "--model",
        metavar="ROW",
        help="Only these rows of the tables, such as EqEmb-H or 'document vector'; repeatable.",
    ),
]


@app.command()
def compare(
    library: LibraryPath,
    output: Annotated[
        Path, Option("-o", "--output", metavar="FOLDER", help="Write the results here.")
    ],
    collection: Annotated[
        list[str] | None,
        Option(
            "--collection",
            help="A collection, repeatable; all: every one together; default: each on its own.",
        ),
    ] = None,
    quick: Annotated[bool, Option("--quick", help="Only K=50, W=4, E=16, and two seeds.")] = False,
    dims: Annotated[
        _Several, Option("--dim", min=1, help="K, repeatable; default: 25, 50, 75, 100.")
    ] = None,
    windows: Annotated[
        _Several, Option("--window", min=2, help="W, repeatable; default: 4, 8, 16.")
    ] = None,
    equation_windows: Annotated[
        _Several, Option("--equation-window", min=2, help="E, repeatable; default: 8, 16.")
    ] = None,
    reading: Annotated[
        str, Option("--reading", help="The likelihood: softmax, logistic or both.")
    ] = "softmax",
    seeds: Annotated[
        int | None, Option("--seeds", min=1, help="How many; default: 5, or 2 with --quick.")
    ] = None,
    models: _Rows = None,
    vocabulary: Vocabulary = "paper",
    numbering: Numbering = "numbered",
    groups: Groups = None,
    jobs: Jobs = _JOBS,
    queries: Annotated[
        Path | None,
        Option("--queries", metavar="FILE", help="Write only queries.html, the answers to these."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Train and score every model over a grid of settings.

    Writes tables and plots. To continue after an interruption, run the same command: a task is one
    collection, K and reading; unfinished tasks start again.
    """
    jobs = jobs or _JOBS
    if queries is not None:
        if any((quick, dims, windows, equation_windows, seeds, models, groups, as_json)):
            raise UsageError("--queries can only be combined with -o, --collection and --jobs")
        _write_answers(library, output, queries, collection or [ALL_COLLECTIONS], jobs)
        return
    grid: dict[str, Any] = (
        {"dims": (50,), "windows": (4,), "equation_windows": (16,)} if quick else {}
    )
    given = {"dims": dims, "windows": windows, "equation_windows": equation_windows}
    grid |= {name: tuple(dict.fromkeys(values)) for name, values in given.items() if values}
    chosen, grouped = _collections(library, collection, groups)
    plan = _plan(
        chosen,
        vocabulary,
        models,
        groups=grouped,
        numbering=numbering,
        readings=_readings(reading),
        seeds=tuple(range(seeds or (2 if quick else 5))),
        **grid,
    )
    found = _run_grid(library, output, plan, jobs)
    _report_comparison(found, output, as_json=as_json)


def _report_comparison(found: dict[str, Any], output: Path, *, as_json: bool) -> None:
    """Write the results of a comparison, and print them with who won."""
    from eqemb.evaluation import conclusions
    from eqemb.evaluation.result_files import write_results
    from eqemb.storage.marks import MARKDOWN_MARK

    if not write_results(found, output):
        print_message("plots are left out: they need pip install 'eqemb[plot]'")
    if as_json:
        print_json(found)
        return
    print((output / "results.md").read_text("utf-8").removeprefix(MARKDOWN_MARK))
    print(conclusions.of_comparison(found))
    print_message(f"{found['seconds']} s; {output / 'results.html'}, .md, .tex, .json")


def _collections(
    library: Path, named: list[str] | None, groups: Path | None
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The collections to compare, those named or each one of the library; and the groups."""
    from eqemb.facade.library import Library
    from eqemb.library.database import ALL
    from eqemb.models import workspace

    with Library.open(library) as opened:
        known = [name for name in workspace.collections(opened) if name != ALL]
        grouped = _read_groups(opened, groups)
    chosen = tuple(dict.fromkeys(named or known or [ALL]))
    if ALL in chosen and len(chosen) > 1:
        raise UsageError("--collection all contains every other collection: compare it alone")
    return chosen, grouped


def _plan(
    collections: tuple[str, ...], vocabulary: str, models: list[str] | None, **settings: Any
) -> Any:
    """What to compare: every installed model; the paper's vocabulary has its own thresholds."""
    from eqemb.corpus.vocabulary import Rules
    from eqemb.evaluation import grid, heldout

    rules = Rules("paper", 10, 25) if vocabulary == "paper" else Rules(vocabulary)
    wanted = heldout.named_rows(models) if models else heldout.ROWS
    rows = heldout.installed_rows(wanted)
    if len(rows) < len(wanted):
        print_message("CBOW and PV-DM are left out: they need pip install 'eqemb[baselines]'")
    return grid.GridPlan(collections, rules=rules, rows=rows, **settings)


def _run_grid(library: Path, output: Path, plan: Any, jobs: int) -> dict[str, Any]:
    """Run the grid search; return the results, and how long it took by the clock."""
    from eqemb.evaluation import grid

    output.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()

    def progress(done: int, total: int, name: str) -> None:
        if sys.stderr.isatty():
            left = (time.perf_counter() - started) / done * (total - done) if done else 0
            more = f", about {left / 60:.0f} min left" if done else ""
            print_message(f"{done} of {total} {name}{more}")

    found = grid.run(library, output, plan, jobs=jobs, progress=progress)
    return found | {"seconds": round(time.perf_counter() - started, 1), "jobs": jobs}


def _write_answers(
    library: Path, output: Path, queries: Path, collections: list[str], threads: int
) -> None:
    """Write what every model, with its default settings, finds for each query."""
    from eqemb.evaluation import qualitative
    from eqemb.facade.library import Library
    from eqemb.storage.atomic import write_atomically

    if len(collections) > 1:
        raise UsageError("--queries takes one --collection; the default is all papers")
    asked = qualitative.read_queries(queries)
    with Library.open(library) as opened:
        made = qualitative.page(
            opened, asked, output, collection=collections[0], threads=threads,
            progress=lambda title: print_message(title) if sys.stderr.isatty() else None,
        )  # fmt: skip
    write_atomically(output / "queries.html", made)
    print_message(str(output / "queries.html"))


@app.command()
def retrieval(
    library: LibraryPath,
    topics: Annotated[
        Path | None, Option("--topics", metavar="FILE", help="Queries with relevance judgements.")
    ] = None,
    qrels: Annotated[
        Path | None, Option("--qrels", metavar="FILE", help="The relevance judgements.")
    ] = None,
    encoder: Encoder = None,
    groups: Groups = None,
    threads: Threads = 1,
    as_json: Json = False,
) -> None:
    """Compare rankings: baselines, every model, and combinations.

    Relevance is derived from labels, references and held-out words, and taken from judgements if
    they are given. Models that are missing from the library are trained and saved.
    """
    from eqemb.evaluation import conclusions, judged_topics, retrieval_tables, tables
    from eqemb.evaluation import retrieval as ranked
    from eqemb.facade.library import Library

    if (topics is None) != (qrels is None):
        raise UsageError("--topics and --qrels must be given together")
    asked = judged_topics.read_topics(topics) if topics else []
    judgements = judged_topics.read_judgements(qrels) if qrels else {}
    with Library.open(library) as opened:
        work = ranked.Evaluation(
            opened,
            encoder,
            threads=threads or 1,
            groups=_read_groups(opened, groups),
            progress=print_message,
        )
        found = {"data": work.described()}
        if judgements:
            found["judged"] = work.judged(asked, judgements)
        found |= work.found()
    if as_json:
        print_json(found)
        return
    for note in retrieval_tables.notes(found):
        print(note)
    print("\n" + "\n".join(map(tables.markdown, retrieval_tables.report(found))))
    print(f"\n{conclusions.of_retrieval(found)}")
    print_message(f"models are in {library / 'models'}; next: eqemb evaluate {library} eqemb-u")
