"""Commands about papers: build, read, info, show."""

import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from eqemb.cli.console import Json, LibraryPath, Stages, Talk, app, harmless, print_json, say
from eqemb.errors import EqembError, ThresholdError


def _place(text: str) -> Path:
    """A path; an empty one, of a variable that is not set, would be the whole folder here."""
    if not text:
        raise typer.BadParameter("it is empty: give a file or a folder")
    return Path(text)


Papers = Annotated[
    list[Path],
    typer.Argument(
        parser=_place,
        metavar="PATHS...",
        help="Folders, .tex, .gz, .tar, .tar.gz, .zip, arXiv month tars, unarXive JSONL.",
    ),
]
Output = Annotated[
    Path, typer.Option("-o", "--output", metavar="LIBRARY", help="The folder to write.")
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", min=1, max=256, help="Processes; any number gives the same bytes."),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with what was interrupted.")]
Strict = Annotated[
    float | None,
    typer.Option(
        "--strict",
        metavar="SHARE",
        min=0.0,
        max=1.0,
        help="Exit 3 if less than this share of displays, or of LaTeX papers, was read.",
    ),
]
_CAUSES = 6  # that the summary of a reading names


@app.command()
def build(
    paths: Papers,
    output: Output,
    model: Annotated[
        bool,
        typer.Option("--model/--no-model", help="Learn from them, or search without meaning."),
    ] = True,
    base: Annotated[
        Path | None,
        typer.Option(
            "--base", metavar="LIBRARY", help="Take word vectors from a larger library's model."
        ),
    ] = None,
    device: Annotated[
        str,
        typer.Option("--device", help="What learns: cpu; cuda, a GPU; auto, one where there is."),
    ] = "cpu",
    draws: Annotated[
        bool, typer.Option("--map/--no-map", help="Lay out a map of them for the page.")
    ] = True,
    jobs: Jobs = None,
    resume: Resume = False,
    strict: Strict = None,
    as_json: Json = False,
) -> None:
    """Read papers into a library, learn from them and index them for questions."""
    from eqemb.facade.equation_map import map_of
    from eqemb.facade.library import Library

    started = time.perf_counter()
    if not resume:
        _say_replaced(output, paths)
    # a library that is made again has the same bytes, on a GPU too
    learns = {} if device == "cpu" else {"device": device, "deterministic": True}
    with Stages() as stages:
        library = Library.build(
            paths,
            output,
            model=learns if model else False,
            base=base,
            jobs=jobs,
            resume=resume,
            watch=stages.watch,
        )
        first = next((name for name, count, _ in library.contents() if count), None)
        if draws and first is not None:
            stages.watch("mapping", "")
            map_of(library)
    with library:
        report = library.report
    seconds = time.perf_counter() - started
    if as_json:
        print_json(_read_summary(report, seconds) | {"model": report.get("model")})
    else:
        _print_summary(report, output, seconds)
        _say_model(report.get("model"))
        say(f"next: eqemb search {output} WORDS")
        if first is not None:
            say(f"      eqemb similar {output} '{first}#1'")
    _check_strict(report["coverage"], strict)


def _say_replaced(output: Path, paths: list[Path]) -> None:
    """A library that is there already is not replaced in silence, where there is what to read."""
    from eqemb.facade.library import Library
    from eqemb.library.report import counted
    from eqemb.sources import discover

    discover(paths)  # refuses what does not exist
    if (output / "library.json").exists():
        with suppress(EqembError), Library.open(output) as old:
            if old.report["articles"]:
                papers = counted(old.report["articles"], "paper")
                say(f"{output} is a library of {papers}: it is replaced when this is done")


def _say_model(model: dict[str, Any] | None) -> None:
    """What people should know of a library's model, beside its score."""
    if model is None:
        return
    if "base" in model:
        base = model["base"]
        say(
            f"{base['taken']:,} words have the vectors of {base['path']},"
            f" {base['missing']:,} are not there"
        )
    if "why" in model:
        none = "" if model["sha256"] else "no model; words and structure alone are searched: "
        say(f"{none}{model['why']}")


@app.command()
def read(
    paths: Papers,
    output: Output,
    jobs: Jobs = None,
    resume: Resume = False,
    strict: Strict = None,
    as_json: Json = False,
) -> None:
    """Read papers into a library: words and equations in order, and a report of what was lost."""
    from eqemb.facade.library import Library

    started = time.perf_counter()
    if not resume:
        _say_replaced(output, paths)
    with Talk() as talk:
        library = Library.read(paths, output, progress=talk.progress, jobs=jobs, resume=resume)
    with library:
        report = library.report
    seconds = time.perf_counter() - started
    if as_json:
        print_json(_read_summary(report, seconds))
    else:
        _print_summary(report, output, seconds)
        say(f"next: eqemb info {output}")
    _check_strict(report["coverage"], strict)


def _read_summary(report: dict[str, Any], seconds: float) -> dict[str, Any]:
    return {
        "articles": report["articles"],
        "partial": report["partial"],
        "skipped": report["skipped"]["total"],
        "equations": report["equations"],
        "words": report["words"],
        "seconds": round(seconds, 3),
        "sha256": report["sha256"],
    }


def _check_strict(coverage: dict[str, Any], strict: float | None) -> None:
    from eqemb.library.report import percent

    if strict is None:
        return
    for what in ("displays", "papers"):
        if coverage[what] < strict:
            raise ThresholdError(
                f"{percent(coverage[what])} of {what} read, {percent(strict)} asked for; "
                "the report says why"
            )


def _print_summary(report: dict[str, Any], output: Path, seconds: float) -> None:
    from eqemb.library.report import counted, percent

    equations, coverage = report["equations"], report["coverage"]
    unknown, silent = equations.get("numbering_unknown"), coverage["displays_unaccounted"]
    partial, alike = report["partial"], len(report["clusters"])
    not_read = f", {silent:,} empty or within another" if silent else ""
    rows = [
        (
            "papers read",
            f"{report['articles']:,}",
            f"{partial:,} of them in part" if partial else "",
        ),
        ("skipped", f"{report['skipped']['total']:,}", _causes(report["skipped"]["causes"])),
        ("numbered equations", f"{equations['numbered']:,}", ""),
        ("unnumbered displays", f"{equations['unnumbered']:,}", ""),
        *([("numbering unknown", f"{unknown:,}", "the source does not say")] if unknown else []),
        (
            "displays lost",
            f"{equations['lost']:,}",
            percent(coverage["displays"]) + " read" + not_read,
        ),
        ("words", f"{report['words']:,}", ""),
        (
            "near-duplicates",
            f"{alike:,}",
            "group of documents" if alike == 1 else "groups of documents",
        ),
    ]
    if model := report.get("model"):
        rows.append(model_row(model))
    for name, value, note in rows:
        print(f"{name:20}{value:>12}  {note}".rstrip())
    if problems := report["problems"]:
        print("\nnot read, or not surely:")
    for problem in problems[:_CAUSES]:
        papers = counted(problem["articles"], "paper")
        print(f"  {problem['cause']:28}{problem['count']:>6,}  in {papers}")
    if len(problems) > _CAUSES:
        print(f"  and {counted(len(problems) - _CAUSES, 'more cause')}")
    size = report["source_bytes"] / 1e6
    say(f"{size:.1f} MB of LaTeX in {seconds:.1f} s; the whole account: {output / 'report.html'}")


def model_row(model: dict[str, Any]) -> tuple[str, str, str]:
    """A library's model in a line: what it is, and how good."""
    if model["sha256"] is None:
        return "words learned", "none", ""
    score = model["validation"]
    shown = "none" if score is None else f"{score:.3f} (chance {model['chance']:.3f}, best 0)"
    on = " on the base's papers" if "why" in model else ""
    note = f"{model['units']:,} units of equations, validation{on} {shown}"
    return "words learned", f"{model['words']:,}", note


def _causes(causes: dict[str, int]) -> str:
    shown = ", ".join(f"{count} {cause}" for cause, count in list(causes.items())[:4])
    return shown + (", ..." if len(causes) > 4 else "")


@app.command()
def info(
    library: LibraryPath,
    problems: Annotated[
        bool,
        typer.Option("--problems", help="List all that was skipped, not read or not known."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Print the counts of a library, or every problem that reading it met."""
    from eqemb.facade.library import Library
    from eqemb.library.report import counted, percent

    if problems:
        _print_problems(library, as_json=as_json)
        return
    with Library.open(library) as opened:
        report, models, steps = opened.report, _models(opened), opened.steps
    keys = ("articles", "partial", "skipped", "equations", "words", "coverage", "collections",
            "clusters", "sha256", "version", "format")  # fmt: skip
    if as_json:
        more = {"model": report.get("model"), "models": models, "steps": steps}
        print_json({key: report[key] for key in keys} | more)
        return
    print(f"{'collection':20}{'articles':>10}{'words':>12}{'equations':>11}{'numbered':>10}")
    for name, counts in report["collections"].items():
        print(
            f"{harmless(name) or '(none)':20}{counts['articles']:>10,}{counts['words']:>12,}"
            f"{counts['equations']:>11,}{counts['numbered']:>10,}"
        )
    in_part = f" ({report['partial']:,} in part)" if report["partial"] else ""
    print(
        f"\n{counted(report['articles'], 'article')}{in_part}, "
        f"{counted(report['skipped']['total'], 'source')} skipped, "
        f"{percent(report['coverage']['displays'])} of displays read"
    )
    print(f"content {report['sha256']}")
    if model := report.get("model"):
        _print_own(model)
    for name, made in models.items():
        print(
            f"model   {name}: {made['model']}, {made['settings']['dim']} numbers, validation"
            f" {'none' if made['validation'] is None else format(made['validation'], '.3f')}"
            f"{'' if made['current'] else '; older than the library'}"
        )
    for step in steps:
        print(f"made    {harmless(_step_text(step))}")
    say(f"the whole account: {library / 'report.html'}")


def _print_problems(library: Path, *, as_json: bool) -> None:
    """Cause, article or source, place and detail, between tabs; in the order of reading."""
    from eqemb.facade.library import Library
    from eqemb.library.report import every_problem, place

    with Library.open(library) as opened:
        found = every_problem(opened.records)
        if as_json:
            print_json({"problems": list(found)})
            return
        count = 0
        for count, one in enumerate(found, 1):  # noqa: B007 - it is asked for below
            where = place(one["file"], one["line"])
            line = "\t".join((one["cause"], one["article"], where, one["detail"]))
            print(" ".join(harmless(line).split("\n")).rstrip())
        if not count:
            say("nothing was skipped, and everything was read")


def _models(library: Any) -> dict[str, dict[str, Any]]:
    """Trained models, each with whether it knows the library as it is."""
    models: dict[str, dict[str, Any]] = library.models()
    if models:
        from eqemb.models.workspace import is_current

        for made in models.values():
            made["current"] = is_current(library, made)
    return models


def _print_own(model: dict[str, Any]) -> None:
    """The library's own model: what it learned, from where, and what it does not know."""
    if model["sha256"] is None:
        print(f"learned nothing: {model['why']}")
        return
    _, words, note = model_row(model)
    print(f"learned {words} words, {note}")
    if "chosen" in model:
        print(f"        by the model {model['chosen']}, chosen with `eqemb use`")
    if "base" in model:
        base = model["base"]
        print(f"        {base['taken']:,} words from {base['path']}, {base['missing']:,} not there")
    if "why" in model:
        print(f"        {model['why']}")
    lacks = model["lacks"]
    for kind in ("words", "units"):
        if lacks[kind]:
            share = lacks[f"{kind}_occurrences"] / max(1, lacks[f"all_{kind}_occurrences"])
            print(f"        without {lacks[kind]:,} {kind} of the library, {share:.1%} of all")


def _step_text(step: dict[str, Any]) -> str:
    """One step of a library's making, in a line."""
    given = step.get("articles") or step.get("paths") or [step["model"]]
    more = f" and {len(given) - 5:,} more" if len(given) > 5 else ""
    return f"{step['step']} {' '.join(given[:5])}{more}"


@app.command()
def show(
    library: LibraryPath,
    article: Annotated[
        str | None, typer.Argument(metavar="ARTICLE", help="Its name; without, all are listed.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print an article as it was read: its text, and its equations where they stand."""
    from eqemb.facade.library import Library
    from eqemb.library.report import counted, place

    with Library.open(library) as opened:
        if article is None:
            listed = list(opened.contents())
            if as_json:
                names = ("article", "equations", "title")
                print_json({"articles": [dict(zip(names, row, strict=True)) for row in listed]})
                return
            for name, count, title in listed:
                print(f"{name}  ({counted(count, 'equation')})  {harmless(title)}".rstrip())
            return
        found = opened.article(article)
    if as_json:
        print_json(_article_json(found))
        return
    print(f"{harmless(found.title) or '(no title)'}")
    print(f"{found.name} · {found.origin} · {found.main_file}\n")
    print(harmless(_article_text(found)))
    for problem in found.problems:
        say(f"{problem.cause}: {place(problem.file, problem.line)} {problem.detail}".rstrip())


def _article_json(article: Any) -> dict[str, Any]:
    keys = ("id", "number", "label", "latex", "expanded", "file", "line", "numbered", "section",
            "context", "references")  # fmt: skip
    return {
        "article": article.name,
        "title": article.title,
        "equations": [{key: getattr(e, key) for key in keys} for e in article.equations],
    }


def _article_text(article: Any) -> str:
    """The text with each equation on a line of its own."""
    from eqemb.article import EQUATION_MARK

    pieces = article.text.rstrip().split(EQUATION_MARK)
    shown = [pieces[0]]
    for equation, piece in zip(article.equations, pieces[1:], strict=True):
        number = f"({equation.number})" if equation.number is not None else f"#{equation.ordinal}"
        place = f"{equation.file}:{equation.line}"
        label = f"  {equation.label}" if equation.label else ""
        shown.append(f"\n    {number:8} {equation.expanded}\n             {place}{label}\n")
        shown.append(piece.lstrip(" "))
    return "".join(shown)
