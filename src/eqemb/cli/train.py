"""Commands that prepare, train and choose models: split, train, use."""

import math
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from eqemb.cli.app import app
from eqemb.cli.console import print_json, print_message
from eqemb.cli.options import (
    ALL_COLLECTIONS,
    CORPUS,
    Collection,
    Device,
    Json,
    LibraryPath,
    Option,
    Options,
    Resume,
    Seed,
    Threads,
    with_options,
)
from eqemb.cli.progress import StageProgress, TrainingProgress, spinner
from eqemb.errors import UsageError
from eqemb.models import registry

#: The settings of models, by their names in Python. None leaves the model's own default.
MODEL_SETTINGS: Options = {
    "dim": (Annotated[int, Option("--dim", help="K, the dimension of the vectors.")], 100),
    "window": (
        Annotated[int, Option("--window", help="W, context words around a word.")],
        4,
    ),
    "equation_window": (
        Annotated[
            int | None, Option("--equation-window", help="E, context words around an equation.")
        ],
        None,
    ),
    "unit_window": (
        Annotated[int | None, Option("--unit-window", help="Context units around a unit.")],
        None,
    ),
    "negatives": (
        Annotated[int | None, Option("--negatives", help="Negative samples for each word.")],
        None,
    ),
    "iterations": (
        Annotated[int | None, Option("--iterations", min=1, help="Most iterations of each pass.")],
        None,
    ),
    "rate": (
        Annotated[float | None, Option("--rate", help="Adagrad's learning rate for words.")],
        None,
    ),
    "equation_rate": (
        Annotated[
            float | None,
            Option("--equation-rate", help="Adagrad's learning rate for equations and units."),
        ],
        None,
    ),
    "zero_weight": (
        Annotated[
            str | None,
            Option("--zero-weight", help="Weight of negative samples: sum, mean or a number."),
        ],
        None,
    ),
    "unit_pooling": (
        Annotated[
            str | None,
            Option("--unit-pooling", help="How units make an equation: sum, mean or root."),
        ],
        None,
    ),
    "control": (
        Annotated[
            str | None,
            Option("--control", help="Replace equations for a control: one, article or shuffled."),
        ],
        None,
    ),
    "passes": (
        Annotated[
            str | None,
            Option("--passes", help="two: words first; joint: words and equations together."),
        ],
        None,
    ),
    "preset": (
        Annotated[str | None, Option("--preset", help="paper: the settings of the paper.")],
        None,
    ),
    "words": (
        Annotated[
            Path | None,
            Option("--words", metavar="FILE-or-MODEL", help="Use these word vectors."),
        ],
        None,
    ),
    "device": (Device, None),
    "deterministic": (
        Annotated[
            bool, Option("--deterministic", help="Same bytes from every run on a GPU; slower.")
        ],
        False,
    ),
    "memory": (
        Annotated[
            float | None,
            Option("--memory", metavar="GB", help="GPU memory for texts; default: half of it."),
        ],
        None,
    ),
}


def _corpus_choice(collection: str, options: dict[str, Any]) -> Any:
    """The corpus that the options describe."""
    from eqemb.corpus.vocabulary import Rules, read_stop_words
    from eqemb.models.workspace import CorpusChoice

    rules = Rules(
        options["vocabulary"],
        _number(options["min_count"]),
        _number(options["top"]),
        phrases=options["phrases"],
        tagger=options["tagger"],
        stop_words=read_stop_words(options["stop_words"]) if options["stop_words"] else True,
    )
    return CorpusChoice(collection, rules, options["numbering"], duplicates=options["duplicates"])


def _number(value: str) -> int | str:
    return int(value) if value.isdecimal() else value


@app.command()
@with_options(CORPUS)
def split(
    library: LibraryPath,
    collection: Collection = ALL_COLLECTIONS,
    seed: Seed = 0,
    singletons: Annotated[
        int,
        Option("--singletons", min=0, help="Number of equations to score that occur only once."),
    ] = 2000,
    negatives: Annotated[
        int, Option("--negatives", min=1, help="Negative samples for each held-out word.")
    ] = 20,
    as_json: Json = False,
    **options: Any,
) -> None:
    """Hold out words for evaluation and print chance-level scores.

    The held-out words and their negative samples are frozen: models trained with the same options
    are scored on the same words.
    """
    from eqemb.corpus.split import SplitSettings
    from eqemb.facade.library import Library
    from eqemb.models import workspace

    with Library.open(library) as opened:
        corpus = workspace.corpus(opened, _corpus_choice(collection, options))
        settings = SplitSettings(seed=seed, singletons=singletons, negatives=negatives)
        made = workspace.split(opened, collection, corpus, settings)
    found = workspace.split_summary(corpus, made)
    if as_json:
        print_json(found)
        return
    _print_corpus(collection, corpus)
    print(
        f"\nheld out     {found['validation']:>10,} words for validation,"
        f" {found['test']:,} for the test"
    )
    print(
        f"equations    {found['types']:>10,} types scored,"
        f" {found['skipped']:,} with too few words around them"
    )
    print(f"negatives    {found['negatives']:>10,} for each held-out word")
    kinds = ("predictive", "softmax", "logistic", "accuracy")
    print("\nchance on the test words    " + "  ".join(f"{kind:>10}" for kind in kinds))
    for name, means in found["chance"].items():
        scores = "  ".join(f"{means[kind]:10.3f}" for kind in kinds)
        print(f"  {name:24}  {scores}")
    print(f"\nsplit {found['sha256']}")
    if not found["types"]:
        print_message("nothing is held out: no equation has four vocabulary words around it")


def _print_corpus(collection: str, corpus: Any) -> None:
    """Print how each rule changed the vocabulary, and the size of the corpus."""
    print(f"{'rule':28}{'words':>10}{'occurrences':>14}")
    for rule, words, occurrences in corpus.table:
        print(f"{rule:28}{words:>10,}{occurrences:>14,}")
    left = f", {corpus.left_out} near-duplicates left out" if corpus.left_out else ""
    print(
        f"\n{collection}: {len(corpus.articles):,} articles{left}, "
        f"{len(corpus.equation_types):,} equations of {len(corpus.forms):,} types, "
        f"{len(corpus.units):,} distinct units"
    )


@app.command()
@with_options({**MODEL_SETTINGS, **CORPUS})
def train(
    library: LibraryPath,
    model: Annotated[
        str,
        Option(
            "--model",
            help=registry.listed() + ".",
        ),
    ] = "eqemb-u",
    collection: Collection = ALL_COLLECTIONS,
    seed: Seed = 0,
    threads: Threads = None,
    hold_out: Annotated[
        bool, Option("--split/--no-split", help="Hold words out, to stop early and to evaluate.")
    ] = True,
    split_seed: Annotated[
        int, Option("--split-seed", min=0, help="Random seed of the held-out words.")
    ] = 0,
    name: Annotated[
        str | None, Option("--name", help="Save as LIBRARY/models/NAME; default: the model's.")
    ] = None,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Print the memory and time that it needs, and exit.")
    ] = False,
    resume: Resume = False,
    plot: Annotated[
        Path | None,
        Option("--plot", metavar="FILE", help="Draw the learning curve (needs eqemb[plot])."),
    ] = None,
    as_json: Json = False,
    **options: Any,
) -> None:
    """Train a model: vectors for words, equations and units."""
    from eqemb.corpus.split import SplitSettings
    from eqemb.evaluation import plots
    from eqemb.facade.library import Library
    from eqemb.models import workspace

    made = registry.create(model, _model_settings(options))
    if plot is not None:
        plots.check(plot)
    name = name or (model if collection == ALL_COLLECTIONS else f"{model}-{collection}")
    choice = _corpus_choice(collection, options)
    with Library.open(library) as opened, spinner("counting words and compiling (once)"):
        corpus = workspace.corpus(opened, choice)
        held = None
        if hold_out:
            held = workspace.split(opened, collection, corpus, SplitSettings(seed=split_seed))
        training = workspace.Training(
            made, corpus, held, library, name, seed, threads or _cores(), collection
        )
        if dry_run:  # an existing model of that name does not matter
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
    with TrainingProgress(made.iterations) as progress:
        trained = training.run(lambda *row: progress.update(made.history_[-1], *row), resume=resume)
    found = training.summary(trained)
    if plot is not None:
        plots.draw_curve(trained, plot)
    if as_json:
        print_json(found)
        return
    _print_trained(found, trained)
    for remark in training.remarks(trained):
        print_message(remark)


def _model_settings(options: dict[str, Any]) -> dict[str, Any]:
    """The settings that were given, as models take them."""
    given = {name: options[name] for name in MODEL_SETTINGS}
    given["zero_weight"] = _weight(given["zero_weight"])
    given["memory"] = _bytes(given["memory"])
    given["deterministic"] = given["deterministic"] or None
    return {name: value for name, value in given.items() if value is not None}


@app.command()
def use(
    library: LibraryPath,
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="Model name (see `eqemb info`) or folder.")
    ],
    resume: Resume = False,
    as_json: Json = False,
) -> None:
    """Use a trained model for search, similar, describe."""
    from eqemb.facade.use import use_model

    with StageProgress() as stages:
        about = use_model(library, model, resume=resume, watch=stages.update)
    if as_json:
        print_json(about)
        return
    units = f" and {about['units']:,} units" if about["units"] else ""
    print(f"{library} now uses {model}: vectors of {about['words']:,} words{units}")
    if about["units"]:
        return
    if about.get("equations"):
        print_message(
            "the model has no unit vectors: equations given as LaTeX that are not in the library"
            " have no vector"
        )
    else:
        print_message(
            "the model has no equation vectors: similar compares structure and words only"
        )


def _weight(value: str | None) -> float | str | None:
    try:
        return float(value) if value is not None else None
    except ValueError:
        return value


def _bytes(gigabytes: float | None) -> int | None:
    if gigabytes is not None and not 0 < gigabytes < math.inf:
        raise UsageError(f"--memory must be a positive number of gigabytes, not {gigabytes:g}")
    return None if gigabytes is None else max(1, int(1e9 * gigabytes))


def _cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _print_plan(training: Any, expected: Any, file: Any) -> None:
    """Print what will be trained, and the memory and time that it needs."""
    from eqemb.arxiv.text import format_duration

    corpus, settings = training.corpus, training.model.get_params()
    left = f" ({corpus.left_out} near-duplicates left out)" if corpus.left_out else ""
    kept = corpus.table[-1]
    time = format_duration(expected.seconds)
    rows = [
        ("corpus", f"{training.collection}: {len(corpus.articles):,} articles{left}"),
        ("words", f"{kept.occurrences:,}, {kept.words:,} distinct"),
        ("equations", f"{len(corpus.equation_types):,} of {len(corpus.forms):,} types"),
        ("units", f"{len(corpus.unit_ids):,}, {len(corpus.units):,} distinct"),
        ("model", f"{training.model.registry_name}, " + _settings_text(settings)),
        ("device", expected.device),
        ("parameters", f"{expected.parameters:,}"),
        ("memory", f"about {expected.memory / 1e6:,.0f} MB"),
        ("time", f"about {time} with {training.threads} threads, after compiling once"),
    ]
    for name, value in rows:
        print(f"{name:12}{value}", file=file)
    for warning in training.warnings():
        print_message(warning)


def _settings_text(settings: dict[str, Any]) -> str:
    names = ("dim", "window", "equation_window", "negatives", "rate", "zero_weight", "control")
    return ", ".join(f"{n} {settings[n]}" for n in names if settings.get(n) not in (None, ""))


def _print_trained(found: dict[str, Any], trained: Any) -> None:
    """Print how the validation score of each kind of vector went, and where the model is."""
    from eqemb.models.embeddings import sparkline

    print()
    for stage in dict.fromkeys(row["stage"] for row in trained.history):
        rows = [row for row in trained.history if row["stage"] == stage]
        for what in rows[0]["validation"]:
            values = [row["validation"][what] for row in rows if what in row["validation"]]
            scores = [value for value in values if value is not None]
            shown = "not scored"
            if scores:
                best = trained.config["best"][what]
                curve = f"{scores[0]:.3f} {sparkline(scores)} {values[best - 1]:.3f}"
                shown = f"{curve} (best: iteration {best})"
            print(f"{what:12}{len(rows):3} iterations  validation {shown}")
    print(
        f"\n{found['words_per_second']:,.0f} words/s, {found['seconds']:.1f} s, {found['device']}"
    )
    print(f"model {found['sha256']}\n{found['path']}")
