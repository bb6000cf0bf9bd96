"""The command that downloads papers: fetch."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from eqemb.cli.app import app
from eqemb.cli.console import first_names, print_json, print_message
from eqemb.cli.options import Json, Option, Options, with_options
from eqemb.cli.progress import StageProgress
from eqemb.errors import EqembError, UsageError

if TYPE_CHECKING:
    from eqemb.arxiv.fetch import FetchPlan, FetchResult, News

_NAMED_PAPERS = 5  # in a line
_Paths = list[Path] | None

#: Which papers to download.
_SELECTION: Options = {
    "category": (
        Annotated[
            list[str] | None,
            Option("--category", help="nlp, ir, ai, ml, or an arXiv category (cs.CL); repeatable."),
        ],
        None,
    ),
    "since": (
        Annotated[
            str | None,
            Option("--from", metavar="TIME", help="First submitted then or later: 2015-01."),
        ],
        None,
    ),
    "until": (
        Annotated[
            str | None,
            Option("--to", metavar="TIME", help="First submitted then or earlier: 2016-12."),
        ],
        None,
    ),
    "changed_since": (
        Annotated[
            str | None,
            Option(
                "--since",
                metavar="TIME",
                help="New or changed on arXiv since then (2026-11-01), or since the last run on"
                " this folder: last.",
            ),
        ],
        None,
    ),
    "sets": (
        Annotated[
            list[str] | None,
            Option("--set", help="With --since: only of cs, math or another set; repeatable."),
        ],
        None,
    ),
    "most": (
        Annotated[
            int,
            Option(
                "--max",
                min=1,
                max=30_000,
                help="At most this many of the categories, newest first.",
            ),
        ],
        300,
    ),
    "ids": (
        Annotated[
            _Paths,
            Option("--ids", metavar="FILE", help="A list with one arXiv identifier per line."),
        ],
        None,
    ),
    "from_pdfs": (
        Annotated[
            _Paths,
            Option(
                "--from-pdfs",
                metavar="DIR",
                help="PDFs, identified by file name or by arXiv's stamp on the first page.",
            ),
        ],
        None,
    ),
    "bib": (
        Annotated[
            _Paths,
            Option(
                "--bib", metavar="FILE", help="BibTeX, or Zotero's export as BibTeX, CSV or JSON."
            ),
        ],
        None,
    ),
    "manifest": (
        Annotated[
            _Paths,
            Option(
                "--manifest",
                metavar="FILE",
                help="Same as --ids, for arxiv_ml_ids.txt of benchmarks/collections.",
            ),
        ],
        None,
    ),
}
#: The addresses of arXiv, which only tests and mirrors change.
_SITE: Options = {
    name: (Annotated[str | None, Option(f"--{name}", hidden=True, metavar="URL")], None)
    for name in ("api", "source", "records")
}


@app.command()
@with_options({**_SELECTION, **_SITE})
def fetch(
    output: Annotated[
        Path, Option("-o", "--output", metavar="FOLDER", help="Save the papers here.")
    ],
    delay: Annotated[
        float, Option("--delay", help="Seconds between two requests, at least 3.")
    ] = 3.0,
    dry_run: Annotated[
        bool,
        Option("--dry-run", help="Print how many papers it is and how long it takes, and exit."),
    ] = False,
    as_json: Json = False,
    **options: Any,
) -> None:
    """Download the LaTeX sources of papers from arXiv.

    arXiv allows one request every three seconds. Run the same command again to continue.
    """
    from eqemb.arxiv.client import Client, Site
    from eqemb.arxiv.fetch import fetch as download
    from eqemb.arxiv.fetch import plan
    from eqemb.arxiv.text import format_duration

    news = _news(options)
    query, ids = "" if news else _query(options), _identifiers(options)
    if not query and not ids and not news:
        raise UsageError(
            "no papers given: use --category nlp, --since 2026-11-01, or --ids, --bib, --from-pdfs"
            " or --manifest"
        )
    site = Site()._replace(**{name: options[name] for name in _SITE if options[name]})
    most, result = options["most"], None
    with closing(Client(delay)) as client:
        with StageProgress(lines=False) as progress:
            asked = {"query": query, "most": most, "ids": ids, "news": news}
            made = plan(output, client, site, **asked, progress=progress.update)
        if news is None:
            _check_not_empty(made, options["category"] or [])
        _print_missing(made, most)
        if made.requests and not dry_run:
            time = format_duration(made.seconds(delay))
            print_message(f"{made.requests:,} requests, about {time}; it is safe to press Ctrl-C")
        if not dry_run:
            with StageProgress(lines=False) as progress:
                result = download(made, output, client, site, progress.update)
    if as_json:
        print_json(_summary(made, result, delay))
    elif result is None:
        _print_plan(made, delay)
    else:
        _print_result(made, result, output)
    if result is not None and result.stopped:
        raise EqembError(result.stopped)
    if result is not None and not result.held and not news:
        raise EqembError(
            f"none of these papers has a LaTeX source: there is nothing to build in {output}"
        )
    if not dry_run and not as_json:
        step = f"add LIBRARY {output}" if news else f"build {output} -o library/"
        print_message(f"next: eqemb {step}")


def _news(options: dict[str, Any]) -> "News | None":
    """The request for what is new or changed; None without --since."""
    from eqemb.arxiv.fetch import News
    from eqemb.arxiv.listing import category_filter

    since, sets = options["changed_since"], options["sets"] or []
    if since is None:
        if sets:
            raise UsageError("--set can only be used with --since")
        return None
    if options["since"] or options["until"]:
        raise UsageError("--from and --to are days of submission: use them without --since")
    return News(since, tuple(sets), tuple(category_filter(options["category"] or [])))


def _query(options: dict[str, Any]) -> str:
    """The query for categories and dates; "" without a category."""
    from eqemb.arxiv.listing import category_names, search_query

    since, until = options["since"], options["until"]
    if options["category"]:
        return search_query(category_names(options["category"]), since, until)
    if since or until:
        raise UsageError("--from and --to can only be used with --category")
    return ""


def _identifiers(options: dict[str, Any]) -> list[str]:
    """The identifiers in files and folders; entries without one are reported."""
    from eqemb.arxiv import ids

    found: dict[str, None] = {}
    for option, read in (
        ("ids", ids.in_list),
        ("manifest", ids.in_list),
        ("bib", ids.in_bibliography),
        ("from_pdfs", ids.in_pdfs),
    ):
        for path in options[option] or []:
            some = read(path)
            found |= dict.fromkeys(some.found)
            if some.missed:
                _print_names(f"{path}: entries without an arXiv identifier", some.missed)
    return list(found)


def _print_names(what: str, names: list[str]) -> None:
    from eqemb.search.results import cut

    shown = first_names([cut(name, 60) for name in names], _NAMED_PAPERS)
    print_message(f"{what}: {len(names):,} ({shown})")


def _check_not_empty(made: "FetchPlan", categories: list[str]) -> None:
    """Fail if nothing was found: most likely a category or an identifier is wrong."""
    if not made.papers and not made.present and not made.without_source:
        reasons = []
        if categories:
            reasons.append(f"arXiv has no paper of {', '.join(categories)} at that time")
        if made.unknown:
            reasons.append(f"arXiv has none of {', '.join(made.unknown[:_NAMED_PAPERS])}")
        raise EqembError(f"nothing to fetch: {', and '.join(reasons)}")


def _print_plan(made: "FetchPlan", delay: float) -> None:
    from eqemb.arxiv.text import format_duration

    known = f", {made.without_source:,} known to have no source" if made.without_source else ""
    print(f"{len(made.papers):,} papers to fetch, {made.present:,} already there{known}")
    print(f"{made.requests:,} requests ({len(made.papers):,} sources, {made.licences:,} licences),")
    print(f"about {format_duration(made.seconds(delay))} with {delay:g} s between two requests")


def _print_result(made: "FetchPlan", result: "FetchResult", output: Path) -> None:
    rows = [("fetched", result.fetched, f"{result.bytes / 1e6:.1f} MB in {output}")]
    rows += [("already there", made.present, "")] if made.present else []
    rows += [("no source", made.without_source, "known from before")] if made.without_source else []
    rows += [(cause, count, "not fetched") for cause, count in result.missed.most_common()]
    rows += [("not tried yet", result.left, "")] if result.left else []
    rows += [("licence unknown", result.unlicensed, "")] if result.unlicensed else []
    for name, count, note in rows:
        print(f"{name:20}{count:>8,}  {note}".rstrip())


def _print_missing(made: "FetchPlan", most: int) -> None:
    """Say which of the requested papers are left out."""
    if (found := made.harvest) is not None:
        print_message(f"new or changed since {found.since}: {made.matching:,} papers")
        if found.deleted:
            _print_names("deleted at arXiv, their files are kept", list(found.deleted))
        if found.damaged:
            print_message(f"{found.damaged:,} records of arXiv could not be read")
    elif made.matching > most:
        print_message(f"{made.matching:,} papers match; --max takes the newest {most:,}")
    if made.unknown:
        _print_names("not on arXiv", made.unknown)
    if made.unlisted > 0:
        print_message(
            f"arXiv did not list {made.unlisted:,} of the papers that it counts; try again later"
        )


def _summary(made: "FetchPlan", result: "FetchResult | None", delay: float) -> dict[str, Any]:
    """The plan and the result as JSON."""
    found = {
        "matching": made.matching,
        "to_fetch": len(made.papers),
        "there": made.present,
        "sourceless": made.without_source,
        "calls": made.requests,
        "seconds": made.seconds(delay),
        "unknown": made.unknown,
        "unlisted": made.unlisted,
    }
    if made.harvest is not None:
        found |= {"since": made.harvest.since, "deleted": list(made.harvest.deleted)}
        found |= {"damaged": made.harvest.damaged}
    if result is None:
        return found
    keys = ("fetched", "bytes", "held", "unlicensed", "left", "stopped")
    return found | {"missed": dict(result.missed)} | {key: getattr(result, key) for key in keys}
