"""List papers on arXiv, by category and date or by identifier, through its Atom API."""

import calendar
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode
from xml.etree import ElementTree as ET

from eqemb.arxiv.client import Client, RequestFailedError, Response, Site, UnavailableError
from eqemb.arxiv.text import one_line, parse_xml
from eqemb.errors import EqembError, UsageError
from eqemb.sources.names import arxiv_id

#: The categories of the four collections of the EqEmb paper, primary or secondary.
PRESETS = {
    "nlp": ("cs.CL",),
    "ir": ("cs.IR",),
    "ai": ("cs.AI",),
    "ml": ("stat.ML", "stat.CO", "stat.ME", "cs.LG"),
}
PAGE_SIZE = 100
_MAX_START = 2_000  # offset in a list beyond which pages begin to fail
_MAX_EMPTY_PAGES = 4  # in a row
_WHOLE_NUMBER = re.compile("[0-9]{1,15}")
_ATOM = "{http://www.w3.org/2005/Atom}"
_TOTAL_RESULTS = "{http://a9.com/-/spec/opensearch/1.1/}totalResults"

#: Called with a stage and how far it is.
ProgressCallback = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class ArxivPaper:
    """A paper as arXiv lists it."""

    id: str
    version: str
    title: str
    authors: tuple[str, ...]
    categories: tuple[str, ...]
    date: str
    """Of the first version."""
    licence: str = ""
    """Its address, where the listing has it."""
    updated: str = ""
    """The date of the latest version, where the listing has it and no version."""


# -- queries


def category_names(given: Iterable[str]) -> list[str]:
    """Categories as arXiv spells them; a preset becomes its categories."""
    names: dict[str, None] = {}
    for name in given:
        if not re.fullmatch(r"[A-Za-z-]{2,}(\.[A-Za-z-]{2,})?", name):
            raise UsageError(
                f"{name!r} is not a category: use {', '.join(PRESETS)} or an arXiv one like cs.CL"
            )
        archive, dot, subject = name.lower().partition(".")
        own = f"{archive}{dot}{subject.upper() if len(subject) == 2 else subject}"
        names |= dict.fromkeys(PRESETS.get(own, (own,)))
    return list(names)


def category_filter(given: Iterable[str]) -> list[str]:
    """Categories to choose papers by: `cs.*`, like `cs`, is every category of an archive."""
    return category_names(name.removesuffix(".*") for name in given)


def has_category(own: Iterable[str], wanted: Sequence[str]) -> bool:
    """Whether one of a paper's own categories is wanted, by itself or with its archive."""
    return any(
        name == category or name.startswith(f"{category}.") for name in own for category in wanted
    )


def search_query(
    categories: Sequence[str], since: str | None = None, until: str | None = None
) -> str:
    """The query for papers of any of the categories, first submitted in a period (2015-01)."""
    text = " OR ".join(f"cat:{name}" for name in categories)
    first, last = _day(since or "1991", last=False), _day(until or "2099", last=True)
    if first > last:
        raise UsageError(f"--from {since} is after --to {until}")
    return f"({text}) AND submittedDate:[{first}0000 TO {last}2359]"


def first_day(text: str) -> str:
    """The first day of a year, a month or a day, as 2015-01-31."""
    day = _day(text, last=False)
    return f"{day[:4]}-{day[4:6]}-{day[6:]}"


def _day(text: str, *, last: bool) -> str:
    """The first or last day of a year, a month or a day, as 20150131."""
    match = re.fullmatch(r"((?:19|20)\d\d)(?:-(0[1-9]|1[0-2])(?:-(\d\d))?)?", text)
    year, month, day = map(int, match.groups("0")) if match else (0, 0, 99)
    month = month or (12 if last else 1)
    longest = calendar.monthrange(year, month)[1]
    if day > longest:
        raise UsageError(f"{text!r} is not a date: use 2015, 2015-01 or 2015-01-31")
    return f"{year}{month:02}{day or (longest if last else 1):02}"


# -- pages


def newest_papers(
    client: Client, site: Site, query: str, most: int, progress: ProgressCallback
) -> tuple[dict[str, ArxivPaper], int]:
    """The newest papers of a query by identifier, and how many arXiv says there are.

    Pages deep in a long list fail. From there, the list is requested again up to the day that was
    reached.
    """
    papers: dict[str, ArxivPaper] = {}
    total, reached = _read_pages(client, site, query, most, papers, progress), 0
    while reached < len(papers) < min(most, total):
        reached = len(papers)
        day = list(papers.values())[-1].date.replace("-", "")
        older = re.sub(r"(?<= TO )\d{8}", day, query)
        _read_pages(client, site, older, most, papers, progress)
    return dict(list(papers.items())[:most]), total


def _read_pages(
    client: Client,
    site: Site,
    query: str,
    most: int,
    papers: dict[str, ArxivPaper],
    progress: ProgressCallback,
) -> int:
    """Add the papers of a list until a page fails; returns how many arXiv says there are.

    arXiv sometimes sends an empty page although there are more papers. It is requested again.
    """
    parameters = {"search_query": query, "sortBy": "submittedDate", "sortOrder": "descending"}
    start = failures = total = 0
    while (
        len(papers) < most and start < min(total or 1, _MAX_START) and failures < _MAX_EMPTY_PAGES
    ):
        try:
            found, count = _read_page(client, site, parameters, start, min(PAGE_SIZE, most))
        except RequestFailedError:
            if papers:
                break
            raise
        total = max(total, count or 0)
        papers |= {paper.id: paper for paper in found if paper.id}
        start += len(found)
        if found:
            failures = 0
        elif count == 0 and not papers:
            break
        else:
            failures += 1
            client.back_off(failures)
        progress("listing", f"{len(papers):,} papers")
    if failures and not papers:
        raise UnavailableError("arXiv sends empty pages")
    return total


def papers_by_id(client: Client, site: Site, ids: Sequence[str]) -> dict[str, ArxivPaper]:
    """The papers with these identifiers, one page at most; missing ones are requested twice."""
    papers: dict[str, ArxivPaper] = {}
    for _ in range(2):
        missing = [name for name in ids if arxiv_id(name)[0] not in papers]
        if missing:
            parameters = {"id_list": ",".join(missing)}
            found, _ = _read_page(client, site, parameters, 0, len(missing))
            papers |= {paper.id: paper for paper in found if paper.id}
    return papers


def _read_page(
    client: Client, site: Site, parameters: dict[str, str], start: int, size: int
) -> tuple[list[ArxivPaper], int | None]:
    """The papers of one page, and how many there are in all; None if the page is not a feed."""
    page = {**parameters, "start": start, "max_results": size}
    entries, total = _parse_feed(client.get(f"{site.api}?{urlencode(page)}"))
    return list(map(_parse_entry, entries)), total


def _parse_feed(response: Response) -> tuple[list[ET.Element], int | None]:
    """The entries of a page, and the total; no entries and None if the page is not a feed."""
    feed = parse_xml(response.body)
    if feed is None:
        if response.status != 200:
            raise EqembError(f"arXiv answered a query with HTTP {response.status}")
        return [], None
    entries = feed.findall(f"{_ATOM}entry")
    for entry in entries:
        if "/api/errors" in entry.findtext(f"{_ATOM}id", ""):
            message = one_line(entry.findtext(f"{_ATOM}summary", ""))
            raise EqembError(f"arXiv rejected the query: {message}")
    total = feed.findtext(_TOTAL_RESULTS, "")
    return entries, int(total) if _WHOLE_NUMBER.fullmatch(total) else None


def _parse_entry(entry: ET.Element) -> ArxivPaper:
    name, version = arxiv_id(entry.findtext(f"{_ATOM}id", "").partition("/abs/")[2])
    authors = entry.findall(f"{_ATOM}author/{_ATOM}name")
    return ArxivPaper(
        name,
        version,
        one_line(entry.findtext(f"{_ATOM}title", "")),
        tuple(one_line(author.text or "") for author in authors),
        tuple(tag.get("term", "") for tag in entry.findall(f"{_ATOM}category")),
        entry.findtext(f"{_ATOM}published", "")[:10],
    )
