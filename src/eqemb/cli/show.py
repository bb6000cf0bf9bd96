"""Commands that print what is in a library: info, show."""

from pathlib import Path
from typing import Annotated, Any

import typer

from eqemb.cli.app import app
from eqemb.cli.build import model_row, print_formats
from eqemb.cli.console import print_json, print_message, without_controls
from eqemb.cli.options import Json, LibraryPath, Option

_REPORT_KEYS = (
    *("articles", "partial", "doubtful", "skipped", "equations", "words", "coverage"),
    *("collections", "clusters", "sha256", "version", "format"),
)
_EQUATION_KEYS = (
    *("id", "number", "label", "latex", "expanded", "file", "line", "numbered", "section"),
    *("context", "references"),
)


@app.command()
def info(
    library: LibraryPath,
    problems: Annotated[
        bool,
        Option(
            "--problems", help="List everything that was skipped, left out or could not be read."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Print the counts, models and history of a library."""
    from eqemb.facade.equation_map import map_summary
    from eqemb.facade.library import Library
    from eqemb.library.report import counted, displays_read

    if problems:
        _print_problems(library, as_json=as_json)
        return
    with Library.open(library) as opened:
        report, models, steps = opened.report, _models(opened), opened.steps
        manifest, drawn = opened.manifest, map_summary(opened.generation)
    segments: dict[str, Any] = {
        "segments": len(manifest.segments),
        "removed": sum(len(part.removed) for part in manifest.segments),
    }
    if as_json:
        more = {"model": report.get("model"), "models": models, "steps": steps, "map": None}
        more |= segments | {"root": manifest.root}
        if drawn is not None:
            more["map"] = drawn._asdict() | {"labels": len(drawn.labels)}
        more["formats"] = report.get("formats", {})  # not in older reports
        print_json({key: report[key] for key in _REPORT_KEYS if key in report} | more)
        return
    print(f"{'collection':20}{'articles':>10}{'words':>12}{'equations':>11}{'numbered':>10}")
    for name, counts in report["collections"].items():
        print(
            f"{without_controls(name) or '(none)':20}{counts['articles']:>10,}"
            f"{counts['words']:>12,}{counts['equations']:>11,}{counts['numbered']:>10,}"
        )
    print_formats(report)
    counts = ((report["partial"], "in part"), (report.get("doubtful", 0), "with doubts"))
    kinds = ", ".join(f"{count:,} {what}" for count, what in counts if count)
    in_part = f" ({kinds})" if kinds else ""
    print(
        f"\n{counted(report['articles'], 'article')}{in_part}, "
        f"{counted(report['skipped']['total'], 'source')} skipped, "
        f"{displays_read(report['coverage'])} of displays read"
    )
    print(f"sha256   {report['sha256']}")
    print(f"root     {without_controls(manifest.root)}")
    removed = f", {segments['removed']:,} removed documents in them" if segments["removed"] else ""
    print(f"segments {segments['segments']:,}{removed}")
    if model := report.get("model"):
        _print_own_model(model)
    for name, made in models.items():
        print(
            f"trained  {name}: {made['model']}, dimension {made['settings']['dim']}, validation"
            f" {'none' if made['validation'] is None else format(made['validation'], '.3f')}"
            f"{'' if made['current'] else '; older than the library'}"
        )
    if drawn is not None:
        placed = f", {drawn.placed:,} of them placed since the layout" if drawn.placed else ""
        print(f"map      {drawn.points:,} distinct equations{placed}")
    for step in steps:
        print(f"history  {without_controls(_step_text(step))}")
    print_message(f"full report: {library / 'report.html'}")


def _print_problems(library: Path, *, as_json: bool) -> None:
    """Print cause, article or source, place and detail, separated by tabs, in reading order."""
    from eqemb.facade.library import Library
    from eqemb.library.report import counted, every_problem, place, unlisted

    with Library.open(library) as opened:
        left_out = opened.report.get("left_out", {})
        found = every_problem(opened.records, left_out)
        more = unlisted(left_out)
        if as_json:
            print_json({"problems": list(found), "left_out_unlisted": more})
            return
        count = 0
        for count, one in enumerate(found, 1):  # noqa: B007 - used below
            where = place(one["file"], one["line"])
            line = "\t".join((one["cause"], one["article"], where, one["detail"]))
            print(" ".join(without_controls(line).split("\n")).rstrip())
        if not count:
            print_message("no problems: nothing was skipped, and everything was read")
    if more:
        print_message(
            f"{counted(more, 'more paper')} {'was' if more == 1 else 'were'} left out and"
            " cannot be listed: a library keeps the names of the first ones only"
        )


def _models(library: Any) -> dict[str, dict[str, Any]]:
    """The trained models, each with whether it matches the library's present content."""
    models: dict[str, dict[str, Any]] = library.models()
    if models:
        from eqemb.models.workspace import is_current

        for made in models.values():
            made["current"] = is_current(library, made)
    return models


def _print_own_model(model: dict[str, Any]) -> None:
    """Print what the library's own model knows and lacks."""
    if model["sha256"] is None:
        print(f"model    none: {model['why']}")
        return
    _, words, note = model_row(model)
    print(f"model    {words} words, {note}")
    if "chosen" in model:
        print(f"         chosen with `eqemb use`: {model['chosen']}")
    if "base" in model:
        base = model["base"]
        print(
            f"         {base['taken']:,} words use the vectors of {base['path']};"
            f" {base['missing']:,} words are not in it"
        )
    if "why" in model:
        print(f"         {model['why']}")
    lacks = model["lacks"]
    for kind in ("words", "units"):
        if lacks.get(kind):
            share = lacks[f"{kind}_occurrences"] / max(1, lacks[f"all_{kind}_occurrences"])
            print(f"         lacks {lacks[kind]:,} {kind}, {share:.1%} of their occurrences")


def _step_text(step: dict[str, Any]) -> str:
    """One step of a library's history."""
    given = step.get("articles") or step.get("paths") or []
    if step["step"] == "use":
        given = [step["model"]]
    more = f" and {len(given) - 5:,} more" if len(given) > 5 else ""
    more += " --replace" if step.get("replace") else ""
    for name, value in step.get("selection", {}).items():
        option = {"categories": "category", "licences": "license", "years": "year"}.get(name, name)
        each = value if isinstance(value, list) else [value]
        more += "".join(f" --{option} {one}" for one in each)
    return f"{step['step']} {' '.join(given[:5])}{more}".rstrip()


@app.command()
def show(
    library: LibraryPath,
    article: Annotated[
        str | None,
        typer.Argument(metavar="ARTICLE", help="Article name; default: list all."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print an article as it was read, or list all articles."""
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
                print(f"{name}  ({counted(count, 'equation')})  {without_controls(title)}".rstrip())
            return
        found = opened.article(article)
    if as_json:
        equations = [_equation_json(equation) for equation in found.equations]
        print_json({"article": found.name, "title": found.title, "equations": equations})
        return
    print(f"{without_controls(found.title) or '(no title)'}")
    print(f"{found.name} · {found.origin} · {found.main_file}\n")
    print(without_controls(_article_text(found)))
    for problem in found.problems:
        where = place(problem.file, problem.line)
        print_message(f"{problem.cause}: {where} {problem.detail}".rstrip())


def _equation_json(equation: Any) -> dict[str, Any]:
    """An equation as it was read, its texts as printed."""
    from eqemb.formula.running_text import plain_text, printed_text

    return {key: getattr(equation, key) for key in _EQUATION_KEYS} | {
        "section": plain_text(equation.section),
        "context": printed_text(equation.context),
        "references": [printed_text(sentence) for sentence in equation.references],
    }


def _article_text(article: Any) -> str:
    """The text of an article, with each equation on a line of its own."""
    from eqemb.article import EQUATION_MARK
    from eqemb.formula.running_text import printed_text
    from eqemb.search.results import place_in_file

    pieces = article.text.rstrip().split(EQUATION_MARK)
    shown = [printed_text(pieces[0])]
    for equation, piece in zip(article.equations, pieces[1:], strict=True):
        number = f"({equation.number})" if equation.number is not None else f"#{equation.ordinal}"
        place = place_in_file(equation)
        label = f"  {equation.label}" if equation.label else ""
        shown.append(f"\n    {number:8} {equation.expanded}\n             {place}{label}\n")
        shown.append(printed_text(piece.lstrip(" ")))
    return "".join(shown)
