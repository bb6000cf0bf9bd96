"""The command about papers that are not here yet: fetch."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eqemb.cli.console import Json, Stages, app, print_json, say
from eqemb.errors import EqembError, UsageError

if TYPE_CHECKING:
    from eqemb.arxiv.fetch import Outcome, Plan

_SHOWN = 5  # names in a line
_Several = list[Path] | None


def _hidden(name: str) -> Any:
    """An address of arXiv's, which only tests and mirrors change."""
    return typer.Option(name, hidden=True, metavar="URL")


@app.command()
def fetch(
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", help="Where the papers go.")
    ],
    category: Annotated[
        list[str] | None,
        typer.Option(
            "--category", help="nlp, ir, ai, ml, or arXiv's own (cs.CL); repeat for more."
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--from", metavar="TIME", help="First submitted then or later: 2015-01."),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option("--to", metavar="TIME", help="First submitted then or earlier: 2016-12."),
    ] = None,
    most: Annotated[
        int,
        typer.Option("--max", min=1, max=30_000, help="The newest so many of the categories."),
    ] = 300,
    ids: Annotated[
        _Several, typer.Option("--ids", metavar="FILE", help="A list, one arXiv id a line.")
    ] = None,
    from_pdfs: Annotated[
        _Several,
        typer.Option("--from-pdfs", metavar="DIR", help="PDFs, by name or by arXiv's stamp."),
    ] = None,
    bib: Annotated[
        _Several,
        typer.Option("--bib", metavar="FILE", help="BibTeX, or Zotero's BibTeX, CSV or JSON."),
    ] = None,
    manifest: Annotated[
        _Several,
        typer.Option(
            "--manifest",
            metavar="FILE",
            help="As --ids: arxiv_ml_ids.txt of benchmarks/collections.",
        ),
    ] = None,
    delay: Annotated[
        float, typer.Option("--delay", help="Seconds between two calls; no less than 3.")
    ] = 3.0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many and how long, and fetch nothing.")
    ] = False,
    as_json: Json = False,
    api: Annotated[str | None, _hidden("--api")] = None,
    source: Annotated[str | None, _hidden("--source")] = None,
    records: Annotated[str | None, _hidden("--records")] = None,
) -> None:
    """Get the LaTeX sources of papers from arXiv, slowly, as it asks; run again to go on."""
    from eqemb.arxiv.client import Courier, duration
    from eqemb.arxiv.fetch import Site, category_names, plan, question
    from eqemb.arxiv.fetch import fetch as carry_out

    if (since or until) and not category:
        raise UsageError("--from and --to go with --category: identifiers name papers of any time")
    query = question(category_names(category), since, until) if category else ""
    wanted = _identifiers([*(ids or []), *(manifest or [])], bib or [], from_pdfs or [])
    if not query and not wanted:
        raise UsageError(
            "say which papers: --category nlp, or --ids, --bib, --from-pdfs or --manifest with some"
        )
    own = {"api": api, "source": source, "records": records}
    site = Site()._replace(**{name: value for name, value in own.items() if value})
    outcome = None
    with closing(Courier(delay)) as courier:
        with Stages() as stages:
            made = plan(
                output, courier, site, query=query, most=most, ids=wanted, watch=stages.watch
            )
        _check(made, category or [])
        _say_missing(made, most)
        if made.calls and not dry_run:
            about = duration(made.seconds(delay))
            say(f"{made.calls:,} calls, about {about}; Ctrl-C loses nothing")
        if not dry_run:
            with Stages() as stages:
                outcome = carry_out(made, output, courier, site, stages.watch)
    if as_json:
        print_json(_summary(made, outcome, delay))
    elif outcome is None:
        _print_plan(made, delay)
    else:
        _print_outcome(made, outcome, output)
    if outcome is not None and outcome.stopped:
        raise EqembError(outcome.stopped)
    if outcome is not None and not outcome.held:
        raise EqembError(
            f"none of these papers has a source in TeX: {output} has nothing to build from"
        )
    if not dry_run and not as_json:
        say(f"next: eqemb build {output} -o library/")


def _identifiers(lists: list[Path], bibs: list[Path], folders: list[Path]) -> list[str]:
    """All identifiers that files and folders hold; what has none is said."""
    from eqemb.arxiv import ids as identifiers

    found: dict[str, None] = {}
    for read, paths in (
        (identifiers.in_list, lists),
        (identifiers.in_bibliography, bibs),
        (identifiers.in_pdfs, folders),
    ):
        for path in paths:
            some = read(path)
            found |= dict.fromkeys(some.found)
            if some.missed:
                _say_names(f"{path}: no arXiv identifier in", some.missed)
    return list(found)


def _say_names(what: str, names: list[str]) -> None:
    from eqemb.search.results import cut

    more = ", ..." if len(names) > _SHOWN else ""
    say(f"{what} {len(names):,}: {', '.join(cut(name, 60) for name in names[:_SHOWN])}{more}")


def _check(made: "Plan", categories: list[str]) -> None:
    """Nothing at all is a mistake, most likely in a category or an identifier."""
    if not made.papers and not made.there and not made.sourceless:
        asked = (
            f"arXiv lists no paper of {', '.join(categories)} in that time" if categories else ""
        )
        unknown = f"arXiv lists none of {', '.join(made.unknown[:_SHOWN])}" if made.unknown else ""
        raise EqembError(f"{' and '.join(filter(None, (asked, unknown)))}: nothing to fetch")


def _print_plan(made: "Plan", delay: float) -> None:
    from eqemb.arxiv.client import duration

    known = f", {made.sourceless:,} known to have no source" if made.sourceless else ""
    print(f"{len(made.papers):,} papers to fetch, {made.there:,} there already{known}")
    print(f"{made.calls:,} calls ({len(made.papers):,} sources, {made.licences:,} licences),")
    print(f"about {duration(made.seconds(delay))} with {delay:g} s between two calls")


def _print_outcome(made: "Plan", outcome: "Outcome", output: Path) -> None:
    rows = [("fetched", outcome.fetched, f"{outcome.bytes / 1e6:.1f} MB in {output}")]
    rows += [("there already", made.there, "")] if made.there else []
    rows += [("no source", made.sourceless, "as before")] if made.sourceless else []
    rows += [(cause, count, "not fetched") for cause, count in outcome.missed.most_common()]
    rows += [("not tried yet", outcome.left, "")] if outcome.left else []
    rows += [("licence unknown", outcome.unlicensed, "")] if outcome.unlicensed else []
    for name, count, note in rows:
        print(f"{name:20}{count:>8,}  {note}".rstrip())


def _say_missing(made: "Plan", most: int) -> None:
    if made.matching > most:
        say(f"{made.matching:,} papers match; the newest {most:,} are taken (--max)")
    if made.unknown:
        _say_names("not listed by arXiv:", made.unknown)
    if made.unlisted > 0:
        say(f"counted by arXiv, but not listed: {made.unlisted:,}; run again later")


def _summary(made: "Plan", outcome: "Outcome | None", delay: float) -> dict[str, Any]:
    """The same for programs."""
    found = {
        "matching": made.matching,
        "to_fetch": len(made.papers),
        "there": made.there,
        "sourceless": made.sourceless,
        "calls": made.calls,
        "seconds": made.seconds(delay),
        "unknown": made.unknown,
        "unlisted": made.unlisted,
    }
    if outcome is None:
        return found
    keys = ("fetched", "bytes", "held", "unlicensed", "left", "stopped")
    return found | {"missed": dict(outcome.missed)} | {key: getattr(outcome, key) for key in keys}
