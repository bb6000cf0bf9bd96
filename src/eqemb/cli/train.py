"""Commands that learn: split, train, use."""

import math
import os
import sys
from pathlib import Path
from typing import Annotated, Any, Self

import typer

from eqemb.cli.console import Json, LibraryPath, Stages, app, busy, print_json, say
from eqemb.errors import UsageError
from eqemb.models import registry

Collection = Annotated[
    str, typer.Option("--collection", help="A sub-folder of the papers, or all of them.")
]
Vocabulary = Annotated[
    str, typer.Option("--vocabulary", help="plain, or paper: nouns and adjectives (extra `paper`).")
]
Numbering = Annotated[
    str, typer.Option("--numbering", help="display: all equations; numbered: those with a number.")
]
Threshold = Annotated[str, typer.Option("--min-count", help="Least frequency of a word, or auto.")]
Top = Annotated[str, typer.Option("--top", help="Most frequent words left out, or auto.")]
Phrases = Annotated[bool, typer.Option("--phrases", help="Join frequent pairs of words.")]
Tagger = Annotated[
    str, typer.Option("--tagger", help="Of the paper's vocabulary: hanta, or nltk with its data.")
]
StopWords = Annotated[
    Path | None,
    typer.Option("--stop-words", metavar="FILE", help="Your own list, in place of ours."),
]
Duplicates = Annotated[
    bool, typer.Option("--duplicates/--no-duplicates", help="Keep near-duplicate documents.")
]


def _choice(
    collection: str, vocabulary: str, numbering: str, min_count: str, top: str, **more: Any
) -> Any:
    from eqemb.corpus.vocabulary import Rules, read_stop_words
    from eqemb.models.workspace import CorpusChoice

    rules = Rules(
        vocabulary,
        _number(min_count),
        _number(top),
        phrases=more["phrases"],
        tagger=more["tagger"],
        stop_words=read_stop_words(more["stop_words"]) if more["stop_words"] else True,
    )
    return CorpusChoice(collection, rules, numbering, duplicates=more["duplicates"])


def _number(value: str) -> int | str:
    return int(value) if value.isdecimal() else value


@app.command()
def split(
    library: LibraryPath,
    collection: Collection = "all",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Another seed, another split.")] = 0,
    vocabulary: Vocabulary = "plain",
    numbering: Numbering = "display",
    min_count: Threshold = "auto",
    top: Top = "auto",
    phrases: Phrases = False,
    tagger: Tagger = "hanta",
    stop_words: StopWords = None,
    duplicates: Duplicates = False,
    singletons: Annotated[
        int, typer.Option("--singletons", min=0, help="Equations met once that are scored.")
    ] = 2000,
    negatives: Annotated[int, typer.Option("--negatives", min=1, help="Per held-out word.")] = 20,
    as_json: Json = False,
) -> None:
    """Hold words out of a collection, frozen with their negatives, and print chance lines."""
    from eqemb.corpus.split import SplitSettings
    from eqemb.facade.library import Library
    from eqemb.models import workspace

    with Library.open(library) as opened:
        choice = _choice(
            collection, vocabulary, numbering, min_count, top, phrases=phrases,
            tagger=tagger, stop_words=stop_words, duplicates=duplicates,
        )  # fmt: skip
        corpus = workspace.corpus(opened, choice)
        settings = SplitSettings(seed=seed, singletons=singletons, negatives=negatives)
        made = workspace.split(opened, collection, corpus, settings)
    found = workspace.split_summary(corpus, made)
    if as_json:
        print_json(found)
        return
    _print_corpus(collection, corpus)
    print(
        f"\nheld out     {found['validation']:>10,} words to choose by, {found['test']:,} to report"
    )
    print(
        f"equations    {found['types']:>10,} types scored, {found['skipped']:,} with too few words"
    )
    print(f"negatives    {found['negatives']:>10,} for each word, frozen")
    kinds = ("predictive", "softmax", "logistic", "accuracy")
    print("\nchance on the test words    " + "  ".join(f"{kind:>10}" for kind in kinds))
    for name, means in found["chance"].items():
        scores = "  ".join(f"{means[kind]:10.3f}" for kind in kinds)
        print(f"  {name:24}  {scores}")
    print(f"\nsplit {found['sha256']}")
    if not found["types"]:
        say("nothing is held out: no equation has four vocabulary words around it")


def _print_corpus(collection: str, corpus: Any) -> None:
    """How the vocabulary came about, and what is in the corpus."""
    print(f"{'rule':28}{'words':>10}{'occurrences':>14}")
    for rule, words, occurrences in corpus.table:
        print(f"{rule:28}{words:>10,}{occurrences:>14,}")
    left = f", {corpus.left_out} near-duplicates left out" if corpus.left_out else ""
    print(
        f"\n{collection}: {len(corpus.articles):,} articles{left}, "
        f"{len(corpus.equation_types):,} equations of {len(corpus.forms):,} types, "
        f"{len(corpus.units):,} different units"
    )


Setting = typer.Option


@app.command()
def train(
    library: LibraryPath,
    model: Annotated[str, Setting("--model", help=registry.listed() + ".")] = "eqemb-u",
    collection: Collection = "all",
    dim: Annotated[int, Setting("--dim", help="K, numbers in a vector.")] = 100,
    window: Annotated[int, Setting("--window", help="W, context words of a word.")] = 4,
    equation_window: Annotated[
        int | None, Setting("--equation-window", help="E, context words of an equation.")
    ] = None,
    unit_window: Annotated[int | None, Setting("--unit-window", help="For units.")] = None,
    negatives: Annotated[int | None, Setting("--negatives", help="Zeros for each word.")] = None,
    iterations: Annotated[
        int | None, Setting("--iterations", min=1, help="At most, in each pass.")
    ] = None,
    rate: Annotated[float | None, Setting("--rate", help="Adagrad's, for words.")] = None,
    equation_rate: Annotated[
        float | None, Setting("--equation-rate", help="Adagrad's, for equations and units.")
    ] = None,
    zero_weight: Annotated[
        str | None, Setting("--zero-weight", help="sum, mean or a number.")
    ] = None,
    unit_pooling: Annotated[
        str | None, Setting("--unit-pooling", help="sum, mean or root.")
    ] = None,
    control: Annotated[
        str | None, Setting("--control", help="one, article or shuffled, in place of equations.")
    ] = None,
    passes: Annotated[
        str | None, Setting("--passes", help="two, or joint: words and equations together.")
    ] = None,
    preset: Annotated[str | None, Setting("--preset", help="paper: the paper's letter.")] = None,
    words: Annotated[
        Path | None,
        Setting("--words", metavar="FILE-or-MODEL", help="Word vectors from elsewhere."),
    ] = None,
    seed: Annotated[int, Setting("--seed", min=0)] = 0,
    threads: Annotated[
        int | None, Setting("--threads", min=1, max=256, help="Any number gives the same bytes.")
    ] = None,
    device: Annotated[
        str | None, Setting("--device", help="cpu, cuda, or auto: a GPU where there is one.")
    ] = None,
    deterministic: Annotated[
        bool, Setting("--deterministic", help="A GPU gives the same bytes each time, more slowly.")
    ] = False,
    memory: Annotated[
        float | None,
        Setting("--memory", metavar="GB", help="Of a GPU's memory for texts; else half of it."),
    ] = None,
    hold_out: Annotated[
        bool, Setting("--split/--no-split", help="Hold words out to stop early by.")
    ] = True,
    split_seed: Annotated[int, Setting("--split-seed", min=0)] = 0,
    vocabulary: Vocabulary = "plain",
    numbering: Numbering = "display",
    min_count: Threshold = "auto",
    top: Top = "auto",
    phrases: Phrases = False,
    tagger: Tagger = "hanta",
    stop_words: StopWords = None,
    duplicates: Duplicates = False,
    name: Annotated[str | None, Setting("--name", help="Kept as LIBRARY/models/NAME.")] = None,
    dry_run: Annotated[bool, Setting("--dry-run", help="Say what it needs, and stop.")] = False,
    resume: Annotated[bool, Setting("--resume", help="Go on after an interruption.")] = False,
    plot: Annotated[
        Path | None, Setting("--plot", metavar="FILE", help="Draw the curve (extra `plot`).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Train a model on a library: vectors for words, equations and units."""
    from eqemb.corpus.split import SplitSettings
    from eqemb.evaluation import plots
    from eqemb.facade.library import Library
    from eqemb.library.database import ALL
    from eqemb.models import workspace

    given = {
        "dim": dim, "window": window, "equation_window": equation_window,
        "unit_window": unit_window, "negatives": negatives, "iterations": iterations,
        "rate": rate, "equation_rate": equation_rate, "zero_weight": _weight(zero_weight),
        "unit_pooling": unit_pooling, "control": control, "passes": passes, "preset": preset,
        "words": words, "device": device, "deterministic": deterministic or None,
        "memory": _bytes(memory),
    }  # fmt: skip
    made = registry.create(model, {key: v for key, v in given.items() if v is not None})
    if plot is not None:
        plots.check(plot)
    name = name or (model if collection == ALL else f"{model}-{collection}")
    choice = _choice(
        collection,
        vocabulary,
        numbering,
        min_count,
        top,
        phrases=phrases,
        tagger=tagger,
        stop_words=stop_words,
        duplicates=duplicates,
    )
    with Library.open(library) as opened, busy("words are counted, and loops compiled (once)"):
        corpus = workspace.corpus(opened, choice)
        held = None
        if hold_out:
            held = workspace.split(opened, collection, corpus, SplitSettings(seed=split_seed))
        training = workspace.Training(
            made, corpus, held, library, name, seed, threads or _cores(), collection
        )
        if dry_run:  # a name that is taken changes nothing about what it needs
            made.check(corpus)
        else:
            training.check(resume=resume)
        expected = training.estimate()
    if dry_run and as_json:
        print_json(expected._asdict())
        return
    if not as_json:
        _print_plan(training, expected, sys.stdout if dry_run else sys.stderr)
    if dry_run:
        return
    with _Curve(made.iterations) as curve:
        trained = training.run(lambda *row: curve.show(made.history_[-1], *row), resume=resume)
    found = training.summary(trained)
    if plot is not None:
        plots.draw_curve(trained, plot)
    if as_json:
        print_json(found)
        return
    _print_trained(found, trained)
    for sentence in training.remarks(trained):
        say(sentence)


@app.command()
def use(
    library: LibraryPath,
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="Its name in LIBRARY/models, or its folder.")
    ],
    resume: Annotated[bool, Setting("--resume", help="Continue after an interruption.")] = False,
    as_json: Json = False,
) -> None:
    """Make a trained model the library's own: search, similar and describe use its vectors."""
    from eqemb.facade.use import use_model

    with Stages() as stages:
        about = use_model(library, model, resume=resume, watch=stages.watch)
    if as_json:
        print_json(about)
        return
    units = f" and {about['units']:,} units" if about["units"] else ""
    print(f"{library} now uses {model}: vectors of {about['words']:,} words{units}")
    if not about["units"]:
        say("the model has no vectors of units: similar compares structure and words alone")


def _weight(value: str | None) -> float | str | None:
    try:
        return float(value) if value is not None else None
    except ValueError:
        return value


def _bytes(gigabytes: float | None) -> int | None:
    if gigabytes is not None and not 0 < gigabytes < math.inf:
        raise UsageError(f"--memory {gigabytes}: must be some gigabytes")
    return None if gigabytes is None else max(1, int(1e9 * gigabytes))


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _print_plan(training: Any, expected: Any, file: Any) -> None:
    corpus, settings = training.corpus, training.model.get_params()
    left = f" ({corpus.left_out} near-duplicates left out)" if corpus.left_out else ""
    kept = corpus.table[-1]
    rows = [
        ("corpus", f"{training.collection}: {len(corpus.articles):,} articles{left}"),
        ("words", f"{kept.occurrences:,} of {kept.words:,} different ones"),
        ("equations", f"{len(corpus.equation_types):,} of {len(corpus.forms):,} types"),
        ("units", f"{len(corpus.unit_ids):,} of {len(corpus.units):,} different ones"),
        ("model", f"{training.model.registry_name}, " + _settings(settings)),
        ("device", expected.device),
        ("parameters", f"{expected.parameters:,}"),
        ("memory", f"about {expected.memory / 1e6:,.0f} MB"),
        ("time", f"about {_duration(expected.seconds)}, {training.threads} threads, to the end"),
    ]
    for name, value in rows:
        print(f"{name:12}{value}", file=file)
    for sentence in training.warnings():
        say(sentence)


def _settings(settings: dict[str, Any]) -> str:
    names = ("dim", "window", "equation_window", "negatives", "rate", "zero_weight", "control")
    return ", ".join(f"{n} {settings[n]}" for n in names if settings.get(n) not in (None, ""))


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _print_trained(found: dict[str, Any], trained: Any) -> None:
    from eqemb.models.embeddings import sparkline

    print()
    for stage in dict.fromkeys(row["stage"] for row in trained.history):
        rows = [row for row in trained.history if row["stage"] == stage]
        for what in rows[0]["validation"]:
            values = [row["validation"][what] for row in rows if what in row["validation"]]
            seen = [value for value in values if value is not None]
            shown = "not judged"
            if seen:
                best = trained.config["best"][what]
                shown = f"{seen[0]:.3f} {sparkline(seen)} {values[best - 1]:.3f}, kept: {best}"
            print(f"{what:12}{len(rows):3} iterations  validation {shown}")
    print(
        f"\n{found['words_per_second']:,.0f} words/s, {found['seconds']:.1f} s, {found['device']}"
    )
    print(f"model {found['sha256']}\n{found['path']}")


class _Curve:
    """What training says while it runs: a line for each iteration, where somebody watches."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._bar: Any = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

            self._bar = Progress(
                SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(),
                console=Console(stderr=True), transient=True,
            )  # fmt: skip
            self._bar.start()
            self._bar.add_task("first iteration (loops are compiled once)", total=None)
        return self

    def show(
        self, row: dict[str, Any], iteration: int, seconds: float, loss: float, score: float | None
    ) -> None:
        """One iteration is over."""
        if self._bar is None:
            return
        lost = "" if math.isnan(loss) else f"  loss {loss:.4f}"
        validation = "" if score is None else f"  validation {score:.4f}"
        best = next(iter(row["best"].values()))
        if score is not None and best < iteration:  # vectors go on where others still improve
            validation += f", kept: {best}"
        rate = row["positions"] / max(seconds, 1e-9) / 1e6
        self._bar.console.print(
            f"{row['stage']:10}{iteration:3}/{self._limit}  {rate:6.2f} M words/s"
            f"{lost}{validation}",
            highlight=False,
        )
        self._bar.update(self._bar.tasks[0].id, description=f"{row['stage']}, next iteration")

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
