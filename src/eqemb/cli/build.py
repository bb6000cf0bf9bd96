"""Commands that make a library: build, read."""

import itertools
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from eqemb.cli.app import app
from eqemb.cli.console import print_json, print_message
from eqemb.cli.options import (
    SELECTION,
    Device,
    Engine,
    Jobs,
    Json,
    Map,
    Option,
    OutputLibrary,
    Papers,
    Resume,
    Root,
    selection_of,
    with_options,
)
from eqemb.cli.progress import StageProgress
from eqemb.errors import EqembError, ThresholdError

if TYPE_CHECKING:
    from eqemb.facade.library import Library

Strict = Annotated[
    float | None,
    Option(
        "--strict",
        metavar="SHARE",
        min=0.0,
        max=1.0,
        help="Exit with 3 if less than this share of displays, or of papers, was read.",
    ),
]
_LISTED_CAUSES = 6  # in the summary
_NAMED_CAUSES = 4  # in one line of it
_MOST_EXAMPLES = 5  # equations, for an example


@app.command()
@with_options(SELECTION)
def build(
    paths: Papers,
    output: OutputLibrary,
    root: Root = None,
    model: Annotated[
        bool, Option("--model/--no-model", help="Train a model, or search without one.")
    ] = True,
    base: Annotated[
        Path | None,
        Option("--base", metavar="LIBRARY", help="Take word vectors from this larger library."),
    ] = None,
    device: Device = "cpu",
    draws: Map = True,
    jobs: Jobs = None,
    engine: Engine = "local",
    resume: Resume = False,
    strict: Strict = None,
    as_json: Json = False,
    **options: Any,
) -> None:
    """Read papers, train a model on them and index them.

    An existing library at that path is replaced once the build succeeds.
    """
    from eqemb.facade.equation_map import map_of
    from eqemb.facade.library import Library

    started, selection = time.perf_counter(), selection_of(options)
    if not resume:
        _announce_replacement(output, paths, root)
    # rebuilding a library gives the same bytes, on a GPU too
    settings = {} if device == "cpu" else {"device": device, "deterministic": True}
    with StageProgress() as progress:
        library = Library.build(
            paths,
            output,
            root=root,
            model=settings if model else False,
            base=base,
            jobs=jobs,
            engine=engine,
            resume=resume,
            watch=progress.update,
            selection=selection,
        )
        has_equations = any(count for _, count, _ in library.contents())
        if draws and has_equations:
            progress.update("mapping", "")
            map_of(library)
    with library:
        report = library.report
        example = None if as_json else _example_equation(library)
    seconds = time.perf_counter() - started
    if as_json:
        print_json(_summary(report, seconds) | {"model": report.get("model")})
    else:
        _print_summary(report, output, seconds)
        _print_model_notes(report.get("model"))
        print_message(f"next: eqemb search {output} WORDS")
        if example is not None:
            print_message(f"      eqemb similar {output} '{example}'")
        print_message(f"      eqemb serve {output}")
    _check_coverage(report["coverage"], strict)


def _example_equation(library: "Library") -> str | None:
    """Return an equation to ask for, if possible one that others look like; None without any."""
    firsts = (f"{name}#1" for name, count, _ in library.contents() if count)
    names = list(itertools.islice(firsts, _MOST_EXAMPLES))
    answers = ((name, library.similar(name, 1).hits) for name in names)
    good = (name for name, hits in answers if hits and hits[0].level == "strong")
    return next(good, names[0] if names else None)


@app.command()
@with_options(SELECTION)
def read(
    paths: Papers,
    output: OutputLibrary,
    root: Root = None,
    jobs: Jobs = None,
    engine: Engine = "local",
    resume: Resume = False,
    strict: Strict = None,
    as_json: Json = False,
    **options: Any,
) -> None:
    """Read papers into a library without a model or an index.

    An existing library at that path is replaced once reading succeeds.
    """
    from eqemb.facade.library import Library

    started, selection = time.perf_counter(), selection_of(options)
    if not resume:
        _announce_replacement(output, paths, root)
    with StageProgress() as progress:
        library = Library.read(
            paths,
            output,
            root=root,
            jobs=jobs,
            engine=engine,
            resume=resume,
            progress=progress.update_papers,
            selection=selection,
        )
    with library:
        report = library.report
    seconds = time.perf_counter() - started
    if as_json:
        print_json(_summary(report, seconds))
    else:
        _print_summary(report, output, seconds)
        print_message(f"next: eqemb info {output}")
    _check_coverage(report["coverage"], strict)


def _announce_replacement(output: Path, paths: list[Path], root: Path | None) -> None:
    """Say that an existing library will be replaced, if there is something to read."""
    from eqemb.facade.library import Library
    from eqemb.library.report import counted
    from eqemb.sources import discover

    discover(paths, root=root)  # raises if a path does not exist
    if (output / "library.json").exists():
        with suppress(EqembError), Library.open(output) as old:
            if old.report["articles"]:
                papers = counted(old.report["articles"], "paper")
                print_message(
                    f"{output} is a library of {papers}: it is replaced once this succeeds"
                )


def _print_model_notes(model: dict[str, Any] | None) -> None:
    """Print what users should know about the library's model besides its score."""
    if model is None:
        return
    if "base" in model:
        base = model["base"]
        print_message(
            f"{base['taken']:,} words use the vectors of {base['path']};"
            f" {base['missing']:,} words are not in it"
        )
    if "why" in model:
        none = (
            ""
            if model["sha256"]
            else "no model of its own, search uses words, structure and the base model: "
        )
        print_message(f"{none}{model['why']}")


def _summary(report: dict[str, Any], seconds: float) -> dict[str, Any]:
    """The counts of a reading as JSON."""
    return {
        "articles": report["articles"],
        "partial": report["partial"],
        "skipped": report["skipped"]["total"],
        "left_out": report.get("left_out", {}).get("causes", {}),
        "equations": report["equations"],
        "words": report["words"],
        "seconds": round(seconds, 3),
        "sha256": report["sha256"],
    }


def _check_coverage(coverage: dict[str, Any], strict: float | None) -> None:
    """Fail if a smaller share was read than --strict requires."""
    from eqemb.library.report import percent

    if strict is None:
        return
    for what in ("displays", "papers"):
        if coverage[what] < strict:
            raise ThresholdError(
                f"only {percent(coverage[what])} of {what} were read, --strict requires"
                f" {percent(strict)}; report.html lists the causes"
            )


def _print_summary(report: dict[str, Any], output: Path, seconds: float) -> None:
    """Print the counts of a reading as a table."""
    from eqemb.library.report import advise, cause_counts, counted, displays_read

    equations, coverage = report["equations"], report["coverage"]
    unknown, empty = equations.get("numbering_unknown"), coverage["displays_unaccounted"]
    partial, groups = report["partial"], len(report["clusters"])
    doubtful, left = report.get("doubtful", 0), report.get("left_out", {}).get("causes", {})
    doubts = ", ".join(
        f"{count:,} {what}"
        for count, what in (
            (partial, "in part"),
            (report.get("cut_off", 0), "cut off by a limit"),
            (doubtful, "with doubts"),
        )
        if count
    )
    not_read = f", {empty:,} empty or inside another" if empty else ""
    if dropped := coverage.get("dropped"):
        not_read += f"; {counted(dropped, 'source')} or parts exceed a limit"
    rows = [
        ("papers read", f"{report['articles']:,}", doubts),
        (
            "skipped",
            f"{report['skipped']['total']:,}",
            cause_counts(report["skipped"]["causes"], _NAMED_CAUSES),
        ),
        *(
            [("left out", f"{sum(left.values()):,}", cause_counts(left, _NAMED_CAUSES))]
            if left
            else []
        ),
        ("numbered equations", f"{equations['numbered']:,}", ""),
        ("unnumbered displays", f"{equations['unnumbered']:,}", ""),
        *([("numbering unknown", f"{unknown:,}", "the source does not say")] if unknown else []),
        (
            "displays lost",
            f"{equations['lost']:,}",
            displays_read(coverage) + " read" + not_read,
        ),
        ("words", f"{report['words']:,}", ""),
        (
            "near-duplicates",
            f"{groups:,}",
            "group of documents" if groups == 1 else "groups of documents",
        ),
    ]
    if model := report.get("model"):
        rows.append(model_row(model))
    for name, value, note in rows:
        print(f"{name:20}{value:>12}  {note}".rstrip())
    print_formats(report)
    if problems := report["problems"]:
        print("\nproblems:")
    for problem in problems[:_LISTED_CAUSES]:
        papers = counted(problem["articles"], "paper")
        print(f"  {problem['cause']:28}{problem['count']:>6,}  in {papers}")
    if len(problems) > _LISTED_CAUSES:
        print(f"  and {counted(len(problems) - _LISTED_CAUSES, 'other cause')}")
    size = report["source_bytes"] / 1e6
    print_message(
        f"{size:.1f} MB of sources in {seconds:.1f} s; full report: {output / 'report.html'}"
    )
    for advice in advise(report["skipped"]["causes"]):
        print_message(advice)


def print_formats(report: dict[str, Any]) -> None:
    """Print the counts of each format, if there are several."""
    from eqemb.library.report import format_rows

    if rows := format_rows(report):
        print(f"\n{'format':20}{'articles':>10}{'equations':>12}{'lost':>11}{'skipped':>10}")
        for form, articles, equations, _, lost, skipped in rows:
            print(f"{form:20}{articles:>10,}{equations:>12,}{lost:>11,}{skipped:>10,}")


def model_row(model: dict[str, Any]) -> tuple[str, str, str]:
    """A row about the library's model: name, number of words, and its score."""
    if model["sha256"] is None:
        return "words in the model", "none", ""
    score = model["validation"]
    shown = "none" if score is None else f"{score:.3f} (chance {model['chance']:.3f}, best 0)"
    where = " on the base library" if "why" in model else ""
    note = f"{model['units']:,} equation units, validation score{where} {shown}"
    return "words in the model", f"{model['words']:,}", note
