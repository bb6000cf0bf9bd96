"""List what is new or changed on arXiv through OAI-PMH, page by page.

Each page is noted in `.harvest.jsonl` of the folder of downloads, with the token for the next one,
so that an interrupted run continues. When the papers are downloaded, the notes are removed and
`harvest.json` keeps the day from which the next run has to look (`--since last`), for each set and
the categories that were taken of it: a run takes nothing of other categories.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from xml.etree import ElementTree as ET

from eqemb.arxiv.client import Client, Response, Site, UnavailableError
from eqemb.arxiv.listing import ArxivPaper, ProgressCallback, first_day
from eqemb.arxiv.text import one_line, parse_xml, without_tex
from eqemb.errors import EqembError, UsageError
from eqemb.sources.names import arxiv_id
from eqemb.storage.atomic import to_json, write_atomically

LAST = "last"
_NOTES, _STATE = ".harvest.jsonl", "harvest.json"
_SET = re.compile(r"[A-Za-z0-9_.!~*'():-]+")
_FIELDS = frozenset(each.name for each in fields(ArxivPaper))
_LISTS = frozenset(("authors", "categories"))
_MAX_DAMAGED = 3  # pages in a row that are not OAI-PMH
_MOST_PAPERS = 100_000  # at one request each, these take some four days


@dataclass(slots=True)
class Harvest:
    """What arXiv lists as new or changed."""

    folder: Path
    since: str
    sets: tuple[str, ...]
    categories: tuple[str, ...] = ()
    """Those of the papers that the caller downloads; all are listed."""
    papers: dict[str, ArxivPaper] = field(default_factory=dict)
    deleted: dict[str, None] = field(default_factory=dict)
    """Identifiers of records that arXiv has deleted, in order."""
    damaged: int = 0
    """Records that could not be read."""
    day: str = ""
    """When the listing began, by arXiv's clock."""

    def add(self, page: dict[str, Any]) -> None:
        """Add what a page lists."""
        self.day = min(filter(None, (self.day, page["day"])), default="")
        self.damaged += page["damaged"]
        self.deleted |= dict.fromkeys(page["deleted"])
        for record in page["papers"]:
            lists = {key: tuple(record[key]) for key in _LISTS}
            self.papers[record["id"]] = ArxivPaper(**record | lists)

    def clear(self) -> None:
        """Forget what was added."""
        self.papers.clear()
        self.deleted.clear()
        self.damaged, self.day = 0, ""

    def finish(self) -> None:
        """Note that the papers were downloaded: the next run looks from the day of this one."""
        known = _read_state(self.folder)
        known |= dict.fromkeys(_state_keys(self.sets, self.categories), self.day or self.since)
        write_atomically(self.folder / _STATE, to_json(known))
        (self.folder / _NOTES).unlink(missing_ok=True)


class _BadTokenError(Exception):
    """The server does not know a token any more."""


def harvest(
    folder: Path,
    client: Client,
    site: Site,
    since: str,
    sets: Sequence[str] = (),
    categories: Sequence[str] = (),
    progress: ProgressCallback = lambda *_: None,
) -> Harvest:
    """List the papers that are new or changed since a day, in some sets or in all.

    `since` may be "last": the day of the last run on this folder that took the same categories.
    """
    for name in sets:
        if not _SET.fullmatch(name):
            raise UsageError(f"{name!r} is not a set of arXiv: use cs, math or physics:hep-th")
    day = _first_day(folder, since, _state_keys(sets, categories))
    found = Harvest(folder, day, tuple(dict.fromkeys(sets)), tuple(categories))
    folder.mkdir(parents=True, exist_ok=True)
    notes = _Notes(folder / _NOTES, {"since": found.since, "sets": list(found.sets)})
    for page in notes.pages:
        found.add(page)
    for name in found.sets or ("",):
        if not notes.is_complete(name):
            _list(found, notes, name, client, site, progress)
    return found


def _state_keys(sets: Sequence[str], categories: Sequence[str]) -> list[str]:
    """What the days of runs are recorded by: a set, and the categories or `*` for all."""
    taken = " ".join(sorted(categories)) or "*"
    return [f"{name} {taken}" for name in sets or ("",)]


def _first_day(folder: Path, since: str, keys: Sequence[str]) -> str:
    if since != LAST:
        return first_day(since)
    known = _read_state(folder)
    days = [known.get(key) for key in keys]
    if not all(days):
        raise UsageError(
            f"{folder} does not record when arXiv was last asked for these sets and categories:"
            " give a day, such as --since 2026-11-01"
        )
    return min(map(str, days))


def _read_state(folder: Path) -> dict[str, Any]:
    try:
        known = json.loads((folder / _STATE).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _list(
    found: Harvest,
    notes: "_Notes",
    name: str,
    client: Client,
    site: Site,
    progress: ProgressCallback,
) -> None:
    """Request the pages of a set; if a token has expired, the listing starts again once."""
    is_second = False
    while (token := notes.token(name)) or not notes.is_complete(name):
        try:
            page = _request(client, site, found.since, name, token)
        except _BadTokenError:
            if is_second:
                raise UnavailableError("arXiv does not accept its own token") from None
            is_second = True
            notes.restart(name)
            found.clear()
            for kept in notes.pages:
                found.add(kept)
            continue
        if page["token"] and page["token"] == token:
            raise UnavailableError("arXiv sends the same page again and again")
        page["set"] = name
        notes.append(page)
        found.add(page)
        progress("listing", f"{len(found.papers):,} papers")
        if len(found.papers) > _MOST_PAPERS:
            raise UsageError(
                f"more than {_MOST_PAPERS:,} papers are new since {found.since}: take arXiv's bulk"
                " archive for them, or give a later day"
            )


class _Notes:
    """The pages so far; those of another request are dropped, and a line that is cut off is too."""

    def __init__(self, path: Path, asked: dict[str, Any]) -> None:
        self._path, self._asked = path, asked
        self.pages: list[dict[str, Any]] = []
        lines = list(self._read())
        if lines[:1] == [asked] and all(map(_is_page, lines[1:])):
            self.pages = lines[1:]
        self._write()  # without a line that is cut off

    def _read(self) -> Iterator[dict[str, Any]]:
        try:
            lines = self._path.read_bytes().splitlines()
        except OSError:
            return
        for line in lines:
            try:
                yield json.loads(line)
            except ValueError:
                return

    def _write(self) -> None:
        write_atomically(self._path, "".join(map(_line, [self._asked, *self.pages])))

    def append(self, page: dict[str, Any]) -> None:
        """Note a page."""
        self.pages.append(page)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(_line(page))

    def restart(self, name: str) -> None:
        """Forget the pages of a set."""
        self.pages = [page for page in self.pages if page["set"] != name]
        self._write()

    def token(self, name: str) -> str:
        """Return the token for the next page of a set; '' before the first, and after the last."""
        return next(
            (str(page["token"]) for page in reversed(self.pages) if page["set"] == name), ""
        )

    def is_complete(self, name: str) -> bool:
        """Return whether all pages of a set are noted."""
        return any(page["set"] == name for page in self.pages) and not self.token(name)


def _is_page(value: Any) -> bool:
    kinds = {"day": str, "set": str, "token": str, "papers": list, "deleted": list, "damaged": int}
    return (
        isinstance(value, dict)
        and all(isinstance(value.get(name), kind) for name, kind in kinds.items())
        and all(isinstance(name, str) for name in value["deleted"])
        and all(map(_is_record, value["papers"]))
    )


def _is_record(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == _FIELDS
        and all(isinstance(value[key], list) for key in _LISTS)
        and all(isinstance(name, str) for key in _LISTS for name in value[key])
        and all(isinstance(value[key], str) for key in _FIELDS - _LISTS)
    )


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


# -- pages


def _request(client: Client, site: Site, since: str, name: str, token: str) -> dict[str, Any]:
    """Return one page; what is not OAI-PMH is requested again."""
    asked = {"verb": "ListRecords"}
    if token:
        asked |= {"resumptionToken": token}
    else:
        asked |= {"metadataPrefix": "arXiv", "from": since} | ({"set": name} if name else {})
    for attempt in range(1, _MAX_DAMAGED + 1):
        page = _parse_page(client.get(f"{site.records}?{urlencode(asked)}"))
        if page is not None:
            return page
        client.back_off(attempt)
    raise UnavailableError("arXiv sends pages that are not OAI-PMH")


def _parse_page(response: Response) -> dict[str, Any] | None:
    """Return the records of a page and the token for the next; None if it is not OAI-PMH."""
    root = parse_xml(response.body)
    if root is None or response.status != 200 or not root.tag.endswith("OAI-PMH"):
        return None
    day = root.findtext("{*}responseDate", "")[:10]
    page: dict[str, Any] = {"day": day, "papers": [], "deleted": [], "damaged": 0, "token": ""}
    error = root.find("{*}error")
    if error is not None:
        code = error.get("code", "")
        if code == "noRecordsMatch":
            return page
        if code == "badResumptionToken":
            raise _BadTokenError
        raise EqembError(f"arXiv rejected the request: {one_line(error.text or '') or code}")
    listed = root.find("{*}ListRecords")
    if listed is None:
        return None
    for record in listed.findall("{*}record"):
        name = arxiv_id(record.findtext("{*}header/{*}identifier", "").rpartition(":")[2])[0]
        header = record.find("{*}header")
        if header is not None and header.get("status") == "deleted" and name:
            page["deleted"].append(name)
        elif (paper := _parse_record(record)) is not None:
            page["papers"].append(asdict(paper))
        else:
            page["damaged"] += 1
    page["token"] = one_line(listed.findtext("{*}resumptionToken", ""))
    return page


def _parse_record(record: ET.Element) -> ArxivPaper | None:
    about = record.find("{*}metadata/{*}arXiv")
    name = "" if about is None else arxiv_id(about.findtext("{*}id", "").strip())[0]
    if about is None or not name:
        return None

    def text(tag: str) -> str:
        return one_line(about.findtext(f"{{*}}{tag}", ""))

    authors = (
        " ".join(author.findtext(f"{{*}}{tag}", "") for tag in ("forenames", "keyname", "suffix"))
        for author in about.findall("{*}authors/{*}author")
    )
    return ArxivPaper(
        name,
        "",  # OAI records name no version: the latest is downloaded
        text("title"),
        tuple(without_tex(one_line(author)) for author in authors),
        tuple(text("categories").split()),
        text("created"),
        licence=text("license") or "none stated",
        updated=text("updated"),
    )
