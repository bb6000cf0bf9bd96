"""The command line: parse, call one function of the library, print.

Data goes to stdout, talk to stderr. Exit codes: 0 done, 1 failed, 2 usage, 3 a threshold that
was asked for was missed. Commands import what they need, so that --help starts at once.
"""

import json
import os
import re
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, Self

import typer
from typer.core import TyperGroup

from eqemb import __version__
from eqemb.errors import EqembError, ThresholdError


class _Commands(TyperGroup):
    """The commands; every failure of one is a sentence on stderr and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()  # what cannot be written shows here, not when all is over
        except EqembError as error:
            _fail(str(error), error.exit_code)
        except KeyboardInterrupt:
            kept = "; what was read is kept, go on with --resume"
            _fail(f"interrupted{kept if ctx.invoked_subcommand in ('read', 'build') else ''}", 130)
        except BrokenPipeError:
            # the reader of our output has gone (| head): no more to say
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(0)
        except OSError as error:
            if error.filename is None:
                _fail(error.strerror or str(error), 1)
            _fail(f"{error.filename}: {error.strerror}", 1)
        return result


app = typer.Typer(
    cls=_Commands,
    help="Learn what equations mean from the text around them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
LibraryPath = Annotated[Path, typer.Argument(metavar="LIBRARY", help="A library folder.")]


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(f"eqemb {__version__}")
        raise typer.Exit


Papers = Annotated[
    list[Path],
    typer.Argument(
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
Resume = Annotated[bool, typer.Option("--resume", help="Go on with an interrupted reading.")]
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


@app.command()
def build(
    paths: Papers,
    output: Output,
    jobs: Jobs = None,
    resume: Resume = False,
    strict: Strict = None,
    as_json: Json = False,
) -> None:
    """Read papers into a library and index it for questions."""
    _read(paths, output, strict, as_json=as_json, jobs=jobs, resume=resume, index=True)


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
    _read(paths, output, strict, as_json=as_json, jobs=jobs, resume=resume)


def _read(
    paths: list[Path], output: Path, strict: float | None, *, as_json: bool, **settings: Any
) -> None:
    import time

    from eqemb.reading import read_library
    from eqemb.report import why_none

    started = time.perf_counter()
    with _Talk() as talk:
        library = read_library(paths, output, progress=talk.progress, **settings)
    with library:
        report = library.report
    seconds = time.perf_counter() - started
    if as_json:
        _print_json(_read_summary(report, seconds))
    else:
        _print_summary(report, output, seconds)
    if report["articles"] == 0:
        raise EqembError(
            f"no article could be read from {', '.join(map(str, paths))}: {why_none(report)}"
        )
    if not as_json:
        asked = "search" if "index" in settings else "info"
        _say(f"next: eqemb {asked} {output}{' WORDS' if asked == 'search' else ''}")
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
    from eqemb.report import percent

    if strict is None:
        return
    for what in ("displays", "papers"):
        if coverage[what] < strict:
            raise ThresholdError(
                f"{percent(coverage[what])} of {what} read, {percent(strict)} asked for; "
                "the report says why"
            )


def _print_summary(report: dict[str, Any], output: Path, seconds: float) -> None:
    from eqemb.report import percent

    equations, coverage = report["equations"], report["coverage"]
    unknown = equations.get("numbering_unknown")
    rows = [
        ("papers read", f"{report['articles']:,}", f"{report['partial']:,} of them in part"),
        ("skipped", f"{report['skipped']['total']:,}", _causes(report["skipped"]["causes"])),
        ("numbered equations", f"{equations['numbered']:,}", ""),
        ("unnumbered displays", f"{equations['unnumbered']:,}", ""),
        *([("numbering unknown", f"{unknown:,}", "the source does not say")] if unknown else []),
        ("displays lost", f"{equations['lost']:,}", f"{percent(coverage['displays'])} read"),
        ("words", f"{report['words']:,}", ""),
        ("near-duplicates", f"{len(report['clusters']):,}", "groups of documents"),
    ]
    for name, value, note in rows:
        print(f"{name:20}{value:>12}  {note}".rstrip())
    worst = [p for p in report["problems"] if p["cause"] != "file not used"][:5]
    if worst:
        print("\nnot read, or not surely:")
        for problem in worst:
            print(
                f"  {problem['cause']:28}{problem['count']:>6,}  in {problem['articles']:,} papers"
            )
    size = report["source_bytes"] / 1e6
    _say(f"{size:.1f} MB of LaTeX in {seconds:.1f} s; the whole account: {output / 'report.html'}")


def _causes(causes: dict[str, int]) -> str:
    shown = ", ".join(f"{count} {cause}" for cause, count in list(causes.items())[:4])
    return shown + (", ..." if len(causes) > 4 else "")


@app.command()
def info(library: LibraryPath, as_json: Json = False) -> None:
    """Print the counts of a library."""
    from eqemb.library import Library
    from eqemb.report import percent

    with Library.open(library) as opened:
        report = opened.report
    keys = ("articles", "partial", "skipped", "equations", "words", "coverage", "collections",
            "clusters", "sha256", "version", "format")  # fmt: skip
    if as_json:
        _print_json({key: report[key] for key in keys})
        return
    print(f"{'collection':20}{'articles':>10}{'words':>12}{'equations':>11}{'numbered':>10}")
    for name, counts in report["collections"].items():
        print(
            f"{_harmless(name) or '(none)':20}{counts['articles']:>10,}{counts['words']:>12,}"
            f"{counts['equations']:>11,}{counts['numbered']:>10,}"
        )
    print(
        f"\n{report['articles']:,} articles ({report['partial']:,} in part), "
        f"{report['skipped']['total']:,} sources skipped, "
        f"{percent(report['coverage']['displays'])} of displays read"
    )
    print(f"content {report['sha256']}")
    _say(f"the whole account: {library / 'report.html'}")


@app.command()
def show(
    library: LibraryPath,
    article: Annotated[
        str | None, typer.Argument(metavar="ARTICLE", help="Its name; without, all are listed.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print an article as it was read: its text, and its equations where they stand."""
    from eqemb.library import Library
    from eqemb.report import place

    with Library.open(library) as opened:
        if article is None:
            for name, count, title in opened.contents():
                line = {"article": name, "equations": count, "title": title}
                if as_json:
                    _print_json(line)
                else:
                    print(f"{name}  ({count} equations)  {_harmless(title)}".rstrip())
            return
        found = opened.article(article)
    if as_json:
        _print_json(_article_json(found))
        return
    print(f"{_harmless(found.title) or '(no title)'}")
    print(f"{found.name} · {found.origin} · {found.main_file}\n")
    print(_harmless(_article_text(found)))
    for problem in found.problems:
        _say(f"{problem.cause}: {place(problem.file, problem.line)} {problem.detail}".rstrip())


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


@app.command()
def demo(
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="LIBRARY", help="Keep it here.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Read the articles that come with eqemb, print their equations and ask two questions."""
    import tempfile

    from eqemb.reading import read_library

    papers = Path(__file__).parent / "demo"
    with tempfile.TemporaryDirectory() as scratch:
        folder = output or Path(scratch) / "library"
        with _Talk() as talk:
            library = read_library([papers], folder, progress=talk.progress, index=True)
        with library:
            articles, report = list(library.articles()), library.report
            found = [library.search(_DEMO_WORDS, 3), library.similar(_DEMO_EQUATION, 3)]
    if as_json:
        for article in articles:
            _print_json(_article_json(article))
        return
    for article in articles:
        print(f"{article.title}  ({article.name})")
        for equation in article.equations:
            number = f"({equation.number})" if equation.number is not None else "-"
            print(f"  {number:>7}  {_short(equation.expanded, 86)}")
        print()
    equations = report["equations"]
    print(
        f"{report['articles']} articles, {report['words']:,} words, {equations['numbered']} "
        f"numbered and {equations['unnumbered']} unnumbered equations, {equations['lost']} lost"
    )
    for asked, answer in zip((_DEMO_WORDS, _DEMO_EQUATION), found, strict=True):
        print(f"\n{'search' if asked == _DEMO_WORDS else 'similar'}: {asked}\n")
        for rank, hit in enumerate(answer, 1):
            print(_hit_text(rank, hit))
    _say("next, your own papers: eqemb build PAPERS -o library")


Count = Annotated[int, typer.Option("-k", "--count", min=1, max=1000, help="How many hits.")]


@app.command()
def search(
    library: LibraryPath,
    words: Annotated[list[str], typer.Argument(metavar="WORDS...", help="What to look for.")],
    count: Count = 10,
    as_json: Json = False,
) -> None:
    """Find equations by the words around them."""
    from eqemb.library import Library

    with Library.open(library) as opened:
        answer = opened.search(" ".join(words), count)
        if answer.unknown:
            _say(f"near no equation: {', '.join(answer.unknown)}")
        _print_answer(answer, "none of these words stands near an equation", as_json=as_json)


@app.command()
def similar(
    library: LibraryPath,
    equation: Annotated[
        str,
        typer.Argument(
            metavar="EQUATION", help="LaTeX, or a name: ARTICLE#4, ARTICLE(2.3), ARTICLE:label."
        ),
    ],
    count: Count = 10,
    as_json: Json = False,
) -> None:
    """Find equations like a given one, by the symbols they share."""
    from eqemb.library import Library

    with Library.open(library) as opened:
        answer = opened.similar(equation, count)
        nothing = "no equation has two of these symbols side by side as here"
        _print_answer(answer, nothing, as_json=as_json)


def _print_answer(answer: Any, nothing: str, *, as_json: bool) -> None:
    """Hits for people or programs; where there are none, why, and exit 1."""
    if as_json:
        _print_json(answer.to_dict())
    else:
        for rank, hit in enumerate(answer, 1):
            print(_hit_text(rank, hit))
    if not answer.hits:
        raise EqembError(f"nothing found: {nothing}")


def _hit_text(rank: int, hit: Any) -> str:
    equation = hit.equation
    number = f" ({equation.number})" if equation.number is not None else ""
    same = f", {hit.occurrences} times" if hit.occurrences > 1 else ""
    return _harmless(
        f"{rank:3}  {hit.score:6.3f}  {_short(hit.text, 100)}\n"
        f"             {equation.id}{number}{same} · {_short(hit.title, 60)}"
        f" · {equation.file}:{equation.line}\n"
        f"             {_around(equation.context, 86)}\n"
    )


def _around(context: str, width: int) -> str:
    """The words on both sides of the equation."""
    before, mark, after = context.partition("[equation]")
    if not mark:
        return _short(context, width)
    left = before if len(before) <= width // 2 else "…" + before[-width // 2 :].partition(" ")[2]
    return _short(left + mark + after, width)


@app.command()
def units(
    formula: Annotated[
        str, typer.Argument(metavar="LATEX", help="A formula; - reads one a line from stdin.")
    ],
    window: Annotated[
        int, typer.Option("--window", min=0, max=99, help="Edges between two symbols; 0: any.")
    ] = 1,
    end_of_baseline: Annotated[
        bool | None,
        typer.Option(help="Units for ends of baselines: all, none, or where there is no other."),
    ] = None,
    tangent_exact: Annotated[
        bool, typer.Option("--tangent-exact", help="Group fences as Tangent does.")
    ] = False,
    mathml: Annotated[bool, typer.Option("--mathml", help="Print MathML instead.")] = False,
    as_json: Json = False,
) -> None:
    """Show what an equation is made of: its layout tree and its units."""
    from eqemb.formula import layout, picture

    ends: Literal["needed", "all", "none"] = "needed"
    if end_of_baseline is not None:
        ends = "all" if end_of_baseline else "none"
    for line in sys.stdin if formula == "-" else [formula]:
        if not line.strip() and not as_json:
            continue
        shape = layout(line.rstrip("\n"), tangent_exact=tangent_exact)
        found = shape.units(window=window, end_of_baseline=ends)
        if mathml:
            print(shape.to_mathml())
        elif as_json:
            problems = [" ".join(filter(None, problem)) for problem in shape.problems]
            _print_json({"units": found, "slt": shape.to_slt(), "problems": problems})
        else:
            print(picture(shape) + "\n")
            print("\n".join(f"({', '.join(unit)})" for unit in found))
            for cause, command in shape.problems:
                _say(f"not read: {cause} {command}".rstrip())


_DEMO_WORDS = "cosine similarity of documents"
_DEMO_EQUATION = r"F = \frac{2 P R}{P + R}"


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


# ---------------------------------------------------------------- talk


def _say(text: str) -> None:
    print(_harmless(text), file=sys.stderr)


def _fail(sentence: str, code: int) -> NoReturn:
    _say(f"eqemb: {sentence}")
    sys.exit(code)


def _harmless(text: str) -> str:
    """Text of papers as a terminal may have it: no control characters."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", " ", text)


def _print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=sys.stdout.encoding.lower() != "utf-8"))


class _Talk:
    """A progress line on stderr, only where somebody watches."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

            self._bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.completed:,.0f} papers, {task.fields[rate]:.0f}/s,"),
                TextColumn(
                    "{task.fields[equations]:,} equations, {task.fields[skipped]:,} skipped"
                ),
                TimeElapsedColumn(),
                TextColumn("{task.fields[name]}", markup=False),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task(
                "", total=None, rate=0.0, equations=0, skipped=0, name=""
            )
        return self

    def progress(self, state: Any) -> None:
        """Show the state of a reading."""
        if self._bar is not None:
            elapsed = self._bar.tasks[0].elapsed or 1e-9
            self._bar.update(
                self._task,
                completed=state.done,
                rate=state.done / elapsed,
                equations=state.equations,
                skipped=state.skipped,
                name=_short(state.name, 40),
            )

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def main() -> None:
    """Run the command line."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started us
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - to the end
        else:
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="eqemb")
