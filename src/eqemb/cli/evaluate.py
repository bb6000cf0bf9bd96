"""Commands that judge: evaluate, compare."""

import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from eqemb.cli.console import Json, LibraryPath, app, print_json, say
from eqemb.errors import UsageError

Reading = Annotated[str, typer.Option("--reading", help="softmax, logistic or both.")]


def _readings(reading: str) -> tuple[str, ...]:
    named = {"softmax": ("softmax",), "logistic": ("logistic",), "both": ("softmax", "logistic")}
    if reading not in named:
        raise UsageError(f"--reading {reading}: say softmax, logistic or both")
    return named[reading]


@app.command()
def evaluate(
    library: LibraryPath,
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Its name, as `info` lists it.")],
    as_json: Json = False,
) -> None:
    """Score a trained model on the words held out of its training, beside chance."""
    from eqemb.evaluation import heldout
    from eqemb.facade.library import Library
    from eqemb.models import workspace
    from eqemb.models.embeddings import Embeddings

    with Library.open(library) as opened:
        place = workspace.find_model(opened, model)
        made = Embeddings.load(place)
        corpus, split = workspace.training_data(opened, made)
        current = workspace.is_current(opened, made.config)
    found = heldout.judged(workspace.restore_model(made), corpus, split)
    if place.name != model:
        say(f"{model} is {place}")
    if not current:
        say(f"{model} is older than the library: papers that were read since are not in its corpus")
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


def _error(value: dict[str, float | None]) -> str:
    return "-".rjust(5) if value["se"] is None else f"{value['se']:.3f}"


@app.command()
def compare(
    library: LibraryPath,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", help="Where results are written.")
    ],
    collection: Annotated[
        list[str] | None, typer.Option("--collection", help="Repeat for several; else each.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="One cell, K=50, W=4, E=16, and two seeds.")
    ] = False,
    dims: Annotated[
        list[int] | None, typer.Option("--dim", min=1, help="K; repeat: else 25, 50, 75, 100.")
    ] = None,
    windows: Annotated[
        list[int] | None, typer.Option("--window", min=2, help="W; repeat: else 4, 8, 16.")
    ] = None,
    equation_windows: Annotated[
        list[int] | None, typer.Option("--equation-window", min=2, help="E; repeat: else 8, 16.")
    ] = None,
    reading: Reading = "softmax",
    seeds: Annotated[
        int | None, typer.Option("--seeds", min=1, help="How many; else 5, or 2 with --quick.")
    ] = None,
    vocabulary: Annotated[str, typer.Option("--vocabulary", help="paper or plain.")] = "paper",
    numbering: Annotated[
        str, typer.Option("--numbering", help="numbered or display.")
    ] = "numbered",
    jobs: Annotated[int, typer.Option("--jobs", min=1, max=256, help="Processes.")] = 2,
    queries: Annotated[
        Path | None,
        typer.Option("--queries", metavar="FILE", help="Only write queries.html: their answers."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Train and score every model and control over the grid, and write the tables.

    After an interruption the same command goes on: a collection is done with a K and a reading as
    one task, and of tasks that were under way nothing is kept.
    """
    if queries is not None:
        if quick or dims or windows or equation_windows or seeds or as_json:
            raise UsageError("--queries goes with -o, --collection and --jobs alone")
        _answer(library, output, queries, collection or ["all"], jobs)
        return
    grid: dict[str, Any] = (
        {"dims": (50,), "windows": (4,), "equation_windows": (16,)} if quick else {}
    )
    given = {"dims": dims, "windows": windows, "equation_windows": equation_windows}
    grid |= {name: tuple(dict.fromkeys(values)) for name, values in given.items() if values}
    plan = _plan(
        _collections(library, collection),
        vocabulary,
        numbering=numbering,
        readings=_readings(reading),
        seeds=tuple(range(seeds or (2 if quick else 5))),
        **grid,
    )
    found = _contested(library, output, plan, jobs)
    _write(found, output)
    if as_json:
        print_json(found)
        return
    print((output / "results.md").read_text("utf-8"))
    say(f"{found['seconds']} s; {output / 'results.html'}, .md, .tex, .json")


def _collections(library: Path, named: list[str] | None) -> tuple[str, ...]:
    """Those that are compared: each one that the library has, where none is named."""
    from eqemb.facade.library import Library
    from eqemb.library.database import ALL
    from eqemb.models import workspace

    with Library.open(library) as opened:
        known = [name for name in workspace.collections(opened) if name != ALL]
    chosen = tuple(dict.fromkeys(named or known or [ALL]))
    if ALL in chosen and len(chosen) > 1:
        raise UsageError("--collection all holds the papers of every other: compare it alone")
    return chosen


def _plan(collections: tuple[str, ...], vocabulary: str, **settings: Any) -> Any:
    """Every row that is installed; with the paper's vocabulary, its thresholds too."""
    from eqemb.corpus.vocabulary import Rules
    from eqemb.evaluation import grid as contest
    from eqemb.evaluation import heldout

    rules = Rules("paper", 10, 25) if vocabulary == "paper" else Rules(vocabulary)
    rows = heldout.installed()
    if len(rows) < len(heldout.ROWS):
        say("CBOW and PV-DM are left out, they need gensim: pip install 'eqemb[baselines]'")
    return contest.Plan(collections, rules=rules, rows=rows, **settings)


def _contested(library: Path, output: Path, plan: Any, jobs: int) -> dict[str, Any]:
    """What the contest found, and how long it took by the clock."""
    from eqemb.evaluation import grid as contest

    output.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()

    def progress(done: int, total: int, name: str) -> None:
        if sys.stderr.isatty():
            left = (time.perf_counter() - started) / done * (total - done) if done else 0
            say(f"{done} of {total} {name}" + (f", about {left / 60:.0f} min left" if done else ""))

    found = contest.run(library, output, plan, jobs=jobs, progress=progress)
    return found | {"seconds": round(time.perf_counter() - started, 1), "jobs": jobs}


def _write(found: dict[str, Any], output: Path) -> None:
    """What was found as JSON, and for people: pictures, and tables in three formats."""
    from eqemb.evaluation import plots, tables
    from eqemb.storage.atomic import to_json, write_atomically

    write_atomically(output / "results.json", to_json(found))
    pictures = []
    if plots.is_installed():
        pictures = [path.name for path in plots.draw(found, output) if path.suffix == ".svg"]
    else:
        say("there are no pictures, they need matplotlib: pip install 'eqemb[plot]'")
    made, notes = tables.report(found), tables.notes(found)
    as_text = [notes.replace("\n", "\n\n") + "\n", *map(tables.markdown, made)]
    write_atomically(output / "results.md", "\n".join(as_text))
    as_tex = ["% tables for a document of yours: \\input{results}\n", *map(tables.latex, made)]
    write_atomically(output / "results.tex", "\n".join(as_tex))
    as_page = tables.page("Comparison of models", made, notes, pictures)
    write_atomically(output / "results.html", as_page)


def _answer(
    library: Path, output: Path, queries: Path, collections: list[str], threads: int
) -> None:
    """What every model, with its defaults, finds near each query."""
    from eqemb.evaluation import qualitative
    from eqemb.facade.library import Library
    from eqemb.storage.atomic import write_atomically

    if len(collections) > 1:
        raise UsageError("--queries takes one --collection; leave it out for all papers")
    asked = qualitative.read_queries(queries)
    with Library.open(library) as opened:
        made = qualitative.page(
            opened, asked, output, collection=collections[0], threads=threads,
            progress=lambda title: say(title) if sys.stderr.isatty() else None,
        )  # fmt: skip
    write_atomically(output / "queries.html", made)
    say(str(output / "queries.html"))


@app.command()
def retrieval(
    library: LibraryPath,
    topics: Annotated[
        Path | None, typer.Option("--topics", metavar="FILE", help="Topics that were judged.")
    ] = None,
    qrels: Annotated[
        Path | None, typer.Option("--qrels", metavar="FILE", help="The grades of their answers.")
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder", metavar="MODULE:FUNCTION", help="From texts to vectors, a rival."
        ),
    ] = None,
    threads: Annotated[int, typer.Option("--threads", min=1, max=256, help="For training.")] = 1,
    as_json: Json = False,
) -> None:
    """Compare rankers of equations: plain rivals, every model, and what they are together.

    Labels, references and held-out words say what is right; judged topics do where they are given.
    Models that the library does not have are trained and kept.
    """
    from eqemb.evaluation import retrieval as ranked
    from eqemb.evaluation import retrieval_tables, tables
    from eqemb.facade.library import Library
    from eqemb.index.encoder import find_encoder

    if (topics is None) != (qrels is None):
        raise UsageError("give both --topics and --qrels, or neither")
    asked = ranked.read_topics(topics) if topics else []
    judgements = ranked.read_judgements(qrels) if qrels else {}
    encode = find_encoder(encoder) if encoder else None
    with Library.open(library) as opened:
        work = ranked.Evaluation(opened, encode, threads=threads, progress=say)
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
    say(f"the models are kept in {library / 'models'}: eqemb evaluate {library} eqemb-u")
