"""Get the sources of papers from arXiv by its manners, into a folder that `eqemb build` reads.

    plan       which papers are asked for, and which of them are in the folder already
    fetch      the sources, then the licences: those are a call of their own for each paper

`metadata.jsonl` in the folder is the account: a line for every paper that was tried, written after
its file has its place, so that an interrupted run goes on where it was. What a download is, and
whether it can be read, `sources` decides, as it will when the paper is read.

Which identifiers a list, a bibliography or a folder of PDFs holds is left to `identifiers`.
"""

import calendar
import gzip
import hashlib
import io
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode
from xml.etree import ElementTree as ET

from eqemb.arxiv.client import Courier, NoAnswer, Reply, Unavailable, duration
from eqemb.errors import EqembError, SourceError, UsageError
from eqemb.sources import Found, Limits, load
from eqemb.sources.content import identify, open_content
from eqemb.sources.found import NO_PAPER, OTHER_FORMS
from eqemb.sources.names import METADATA_FILE, arxiv_id
from eqemb.sources.streams import (
    CHUNK_BYTES,
    COMPRESSED_BYTES,
    ByteStream,
    Meter,
    inflate,
    stream_from,
)
from eqemb.storage.atomic import new_file
from eqemb.storage.locks import locked

#: The categories of the paper's four collections, primary or secondary.
PRESETS = {
    "nlp": ("cs.CL",),
    "ir": ("cs.IR",),
    "ai": ("cs.AI",),
    "ml": ("stat.ML", "stat.CO", "stat.ME", "cs.LG"),
}
_PAGE = 100
_DEEPEST = 2_000  # papers into a list, where pages begin to fail
_TRIES = 4  # of a page that is empty
_STREAK = 3  # failures in a row that end a run: the fault is not the papers' then
_CALL = 1.0  # seconds that a call itself takes, for the estimate
_NO_LICENCE = "none stated"
#: With any HTTP status: downloads that are tried a second time, and again by the next run.
_DOUBTFUL = frozenset(("broken archive", "no paper", "no answer"))

Watch = Callable[[str, str], None]


class Site(NamedTuple):
    """Where arXiv answers: questions, sources, and records with licences."""

    api: str = "https://export.arxiv.org/api/query"
    source: str = "https://export.arxiv.org/src/"
    records: str = "https://oaipmh.arxiv.org/oai"


# -- which papers


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper as arXiv lists it."""

    id: str
    version: str
    title: str
    authors: tuple[str, ...]
    categories: tuple[str, ...]
    date: str
    """Of its first version."""


def category_names(given: Iterable[str]) -> list[str]:
    """Categories as arXiv spells them, a preset's in its place."""
    names: dict[str, None] = {}
    for name in given:
        if not re.fullmatch(r"[A-Za-z-]{2,}(\.[A-Za-z-]{2,})?", name):
            raise UsageError(
                f"{name!r} is no category: give one of {', '.join(PRESETS)} or arXiv's own, cs.CL"
            )
        archive, dot, subject = name.lower().partition(".")
        own = f"{archive}{dot}{subject.upper() if len(subject) == 2 else subject}"
        names |= dict.fromkeys(PRESETS.get(own, (own,)))
    return list(names)


def question(categories: Sequence[str], since: str | None = None, until: str | None = None) -> str:
    """The query for papers of any of the categories, first submitted in a time (2015-01)."""
    text = " OR ".join(f"cat:{name}" for name in categories)
    first, last = _day(since or "1991", last=False), _day(until or "2099", last=True)
    if first > last:
        raise UsageError(f"--from {since} is after --to {until}")
    return f"({text}) AND submittedDate:[{first}0000 TO {last}2359]"


def _day(text: str, *, last: bool) -> str:
    """The first or last day of a year, a month or a day, as 20150131."""
    match = re.fullmatch(r"((?:19|20)\d\d)(?:-(0[1-9]|1[0-2])(?:-(\d\d))?)?", text)
    year, month, day = map(int, match.groups("0")) if match else (0, 0, 99)
    month = month or (12 if last else 1)
    longest = calendar.monthrange(year, month)[1]
    if day > longest:
        raise UsageError(f"{text!r} is no time: give 2015, 2015-01 or 2015-01-31")
    return f"{year}{month:02}{day or (longest if last else 1):02}"


@dataclass(slots=True)
class Plan:
    """What is to be done, and what is not."""

    papers: list[Paper]
    """To be fetched."""
    there: int
    """In the folder already."""
    sourceless: int
    """Known from an earlier run to have no source."""
    matching: int
    """Of the categories and time, of which the newest are taken."""
    unlisted: int
    """Those that arXiv counts but did not list, though asked again."""
    unknown: list[str]
    """Identifiers that arXiv does not list."""
    licences: int
    """Papers whose licence is to be asked for."""

    @property
    def calls(self) -> int:
        """Calls to come."""
        return len(self.papers) + self.licences

    def seconds(self, delay: float) -> float:
        """About how long they take."""
        return self.calls * (delay + _CALL)


@contextmanager
def _alone() -> Iterator[None]:
    """Let no other run of this user ask meanwhile: arXiv allows one connection."""
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "eqemb")
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError) as error:
        raise UsageError(
            f"no place for a lock ({error}): set XDG_CACHE_HOME to a folder of yours"
        ) from None
    with locked(folder / "fetch.lock", "arXiv is being asked"):
        yield


@_alone()
def plan(
    folder: Path,
    courier: Courier,
    site: Site,
    *,
    query: str = "",
    most: int = 300,
    ids: Sequence[str] = (),
    watch: Watch = lambda *_: None,
) -> Plan:
    """List the papers of a query, newest first, and those of identifiers; writes nothing."""
    account = Account(folder)
    listed: dict[str, Paper] = {}
    matching = unlisted = 0
    if query:
        listed, matching = _listed(courier, site, query, most, watch)
        unlisted = min(most, matching) - len(listed)
    for start in range(0, len(ids), _PAGE):
        watch("listing", f"{start:,} of {len(ids):,} identifiers")
        listed |= _named(courier, site, ids[start : start + _PAGE])
    todo = [paper for paper in listed.values() if not account.has(paper)]
    todo.sort(key=lambda paper: paper.id in account.records)  # what failed before comes last
    known = account.records.keys() - {paper.id for paper in todo}
    there = sum(account.has_file(name) for name in listed.keys() & known)
    return Plan(
        papers=todo,
        there=there,
        sourceless=len(listed) - len(todo) - there,
        matching=matching,
        unlisted=unlisted,
        unknown=[name for name in ids if arxiv_id(name)[0] not in listed],
        licences=len(todo) + sum(map(account.lacks_licence, known)),
    )


def _listed(
    courier: Courier, site: Site, query: str, most: int, watch: Watch
) -> tuple[dict[str, Paper], int]:
    """The newest papers of a query, and how many arXiv says there are.

    Deep in a long list pages fail: there it is begun again, at the day that it has reached.
    """
    papers: dict[str, Paper] = {}
    total, reached = _list(courier, site, query, most, papers, watch), 0
    while reached < len(papers) < min(most, total):
        reached = len(papers)
        day = list(papers.values())[-1].date.replace("-", "")
        _list(courier, site, re.sub(r"(?<= TO )\d{8}", day, query), most, papers, watch)
    return dict(list(papers.items())[:most]), total


def _list(
    courier: Courier, site: Site, query: str, most: int, papers: dict[str, Paper], watch: Watch
) -> int:
    """Add the papers of a list, as far as its pages go; returns how many arXiv says there are.

    Now and then arXiv sends an empty page though there are more papers: it is asked again.
    """
    asked = {"search_query": query, "sortBy": "submittedDate", "sortOrder": "descending"}
    start = failures = total = 0
    while len(papers) < most and start < min(total or 1, _DEEPEST) and failures < _TRIES:
        try:
            found, said = _page(courier, site, asked, start, min(_PAGE, most))
        except NoAnswer:
            if papers:
                break
            raise
        total = max(total, said or 0)
        papers |= {paper.id: paper for paper in found if paper.id}
        start += len(found)
        if found:
            failures = 0
        elif said == 0 and not papers:
            break
        else:
            failures += 1
            courier.wait(failures)
        watch("listing", f"{len(papers):,} papers")
    if failures and not papers:
        raise Unavailable("arXiv sends empty pages")
    return total


def _named(courier: Courier, site: Site, ids: Sequence[str]) -> dict[str, Paper]:
    """The papers of a page of identifiers; those that are not listed are asked for once more."""
    papers: dict[str, Paper] = {}
    for _ in range(2):
        missing = [name for name in ids if arxiv_id(name)[0] not in papers]
        if missing:
            found, _ = _page(courier, site, {"id_list": ",".join(missing)}, 0, len(missing))
            papers |= {paper.id: paper for paper in found if paper.id}
    return papers


def _page(
    courier: Courier, site: Site, asked: dict[str, str], start: int, size: int
) -> tuple[list[Paper], int | None]:
    """The papers of one page, and the number of all; one that is no feed has neither."""
    page = {**asked, "start": start, "max_results": size}
    entries, total = _entries(courier.get(f"{site.api}?{urlencode(page)}"))
    return list(map(_paper, entries)), total


_ATOM = "{http://www.w3.org/2005/Atom}"
_TOTAL = "{http://a9.com/-/spec/opensearch/1.1/}totalResults"


def _entries(reply: Reply) -> tuple[list[ET.Element], int | None]:
    """The entries of a page, and the number of all; a page that is no feed has neither."""
    try:
        feed = ET.fromstring(reply.body)  # noqa: S314 - expat bounds what entities may grow to
    except ET.ParseError:
        if reply.status != 200:
            raise EqembError(f"arXiv answers HTTP {reply.status} to a question") from None
        return [], None
    entries = feed.findall(f"{_ATOM}entry")
    for entry in entries:
        if "/api/errors" in entry.findtext(f"{_ATOM}id", ""):
            said = _one_line(entry.findtext(f"{_ATOM}summary", ""))
            raise EqembError(f"arXiv cannot answer: {said}")
    total = feed.findtext(_TOTAL, "")
    return entries, int(total) if total.isdecimal() else None


def _paper(entry: ET.Element) -> Paper:
    name, version = arxiv_id(entry.findtext(f"{_ATOM}id", "").partition("/abs/")[2])
    authors = entry.findall(f"{_ATOM}author/{_ATOM}name")
    return Paper(
        name,
        version,
        _one_line(entry.findtext(f"{_ATOM}title", "")),
        tuple(_one_line(author.text or "") for author in authors),
        tuple(tag.get("term", "") for tag in entry.findall(f"{_ATOM}category")),
        entry.findtext(f"{_ATOM}published", "")[:10],
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())


# -- the folder


class Account:
    """`metadata.jsonl`: the last line of a paper counts; a line that a kill cut off does not."""

    def __init__(self, folder: Path) -> None:
        if folder.is_file():
            raise UsageError(f"{folder} is a file: give a folder for the papers")
        self.folder = folder
        self.path = folder / METADATA_FILE
        self.records = {record["id"]: record for record in self._read()}

    def _read(self) -> Iterator[dict[str, Any]]:
        if not self.path.exists():
            return
        for number, line in enumerate(self.path.read_bytes().split(b"\n"), 1):
            try:
                record = json.loads(line or b"null")
                if record:
                    yield {"id": record["id"], **record}
            except (ValueError, TypeError, KeyError):
                if not line.endswith(b"}"):  # cut off
                    continue
                raise UsageError(
                    f"{self.path}:{number} is no record of a paper: mend or remove the line"
                ) from None

    def has(self, paper: Paper) -> bool:
        """Whether this version is in the folder, or known not to be had."""
        record = self.records.get(paper.id)
        if record is None or record.get("version") != paper.version:
            return False
        cause = record.get("cause")
        return self.has_file(paper.id) if cause is None else not _is_doubtful(str(cause))

    def has_file(self, name: str) -> bool:
        """Whether a paper's source lies in the folder."""
        file = self.records[name].get("file")
        return file is not None and Path(self.folder, file).is_file()

    def lacks_licence(self, name: str) -> bool:
        """Whether there is a paper whose licence is not known yet."""
        record = self.records.get(name, {})
        return bool(record.get("file") and record.get("licence") is None)

    def keep(self, record: dict[str, Any]) -> None:
        """Take down what is known of a paper now."""
        self.records[record["id"]] = record
        with self.path.open("a", encoding="utf-8") as file:
            file.write(_line(record))
            file.flush()
            os.fsync(file.fileno())

    def tidy(self) -> None:
        """One line for each paper."""
        if self.records:
            with new_file(self.path) as new:
                new.write_text("".join(map(_line, self.records.values())), "utf-8")


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


# -- sources and licences


@dataclass(slots=True)
class Outcome:
    """What a run did."""

    fetched: int = 0
    bytes: int = 0
    missed: Counter[str] = field(default_factory=Counter)
    """Papers without a source, by cause."""
    held: int = 0
    """Papers in the folder at the end."""
    unlicensed: int = 0
    """Papers whose licence is not known yet."""
    left: int = 0
    """Papers that were not tried, because arXiv stopped answering."""
    stopped: str = ""


@_alone()
def fetch(
    made: Plan, folder: Path, courier: Courier, site: Site, watch: Watch = lambda *_: None
) -> Outcome:
    """Carry out a plan; where arXiv stops answering, the same again goes on later."""
    folder.mkdir(parents=True, exist_ok=True)
    outcome = Outcome()
    with locked(folder / ".lock", f"{folder} is being filled"):
        account = Account(folder)
        account.tidy()
        try:
            _fetch_sources(made, account, courier, site, watch, outcome)
            _fetch_licences(account, courier, site, watch)
        except Unavailable as error:
            outcome.stopped = str(error)
        account.tidy()
    outcome.left = len(made.papers) - outcome.fetched - outcome.missed.total()
    outcome.held = sum(map(account.has_file, account.records))
    outcome.unlicensed = sum(map(account.lacks_licence, account.records))
    return outcome


def _fetch_sources(
    made: Plan, account: Account, courier: Courier, site: Site, watch: Watch, outcome: Outcome
) -> None:
    streak = 0
    for number, paper in enumerate(made.papers):
        left = duration((made.calls - number) * (courier.delay + _CALL))
        watch("sources", f"{number:,} of {len(made.papers):,}, {left} left in all; {paper.id}")
        data, cause = _source(courier, f"{site.source}{paper.id}{paper.version}")
        old = account.records.get(paper.id)
        if cause:
            outcome.missed[cause] += 1
            # an earlier version stays, and so does what is known of it
            kept = {key: (old or {}).get(key) for key in ("licence", "file", "sha256")}
            account.keep({**asdict(paper), **kept, "cause": cause})
            # what failed before may be the paper's own fault, and is no sign
            streak = streak + (old is None) if _is_doubtful(cause) else 0
            if streak == _STREAK:
                raise Unavailable(f"{_STREAK} papers in a row could not be had ({cause})")
            continue
        streak = 0
        name = f"{paper.id.replace('/', '')}.gz"
        with new_file(account.folder / name) as new:
            new.write_bytes(data)
        held = {"licence": None, "file": name, "sha256": hashlib.sha256(data).hexdigest()}
        account.keep({**asdict(paper), **held})
        outcome.fetched += 1
        outcome.bytes += len(data)


def _source(courier: Courier, url: str) -> tuple[bytes, str]:
    """A paper's source and '', or why there is none; a damaged one is asked for twice."""
    for _ in range(2):
        try:
            reply = courier.get(url)
        except NoAnswer:
            return b"", "no answer"
        cause = _judged(reply)
        if not _is_doubtful(cause):
            break
    packed = (
        reply.body if reply.body.startswith(b"\x1f\x8b") else gzip.compress(reply.body, mtime=0)
    )
    return packed, cause


def _is_doubtful(cause: str) -> bool:
    """Whether a paper that was not had may be had another time."""
    return cause in _DOUBTFUL or cause.startswith("HTTP ")


def _judged(reply: Reply) -> str:
    """Why a reply is no paper that can be read; '' where it is one."""
    what = identify(reply.body[:CHUNK_BYTES])
    if (what == "html only" or reply.status == 404) and b"withdrawn" in reply.body.lower():
        return "withdrawn"
    if reply.status != 200:
        return "not found" if reply.status in {404, 410, 451} else f"HTTP {reply.status}"
    if what in NO_PAPER:  # a paper that is HTML comes packed: this is something else
        return "no paper"
    try:
        if reply.body.startswith(b"\x1f\x8b"):
            packed = stream_from(io.BytesIO(reply.body))
            stream = ByteStream(inflate(packed, "gzip", Meter(Limits())))
            while stream.read(CHUNK_BYTES):
                pass
            if stream.fault:
                return "broken archive"
        source = load(Found("paper", "paper", "", "data", "", data=reply.body))
    except SourceError as error:
        return _other_form(reply.body) if error.cause == "no TeX" else error.cause
    kinds = {identify(text) for text in source.files.values()}
    return "withdrawn" if kinds - {"no TeX"} == {"withdrawn"} else ""


def _other_form(body: bytes) -> str:
    """What a paper without TeX is: the other form that its archive holds, if there is one."""
    content = open_content(io.BytesIO(body), Meter(Limits()))
    members = content.members() if content.is_archive else ()
    files = (member for member in members if member.kind == "file")
    kinds = {identify(member.stream.peek(COMPRESSED_BYTES)) for member in files}
    forms = kinds & {*OTHER_FORMS, "html only"}
    return forms.pop() if len(forms) == 1 else "no TeX"


def _fetch_licences(account: Account, courier: Courier, site: Site, watch: Watch) -> None:
    """Ask for the licence of each paper in the folder that has none yet."""
    todo = [name for name in account.records if account.lacks_licence(name)]
    streak = 0
    for number, name in enumerate(todo):
        left = duration((len(todo) - number) * (courier.delay + _CALL))
        watch("licences", f"{number:,} of {len(todo):,}, {left} left; {name}")
        asked = f"verb=GetRecord&metadataPrefix=arXiv&identifier={quote(f'oai:arXiv.org:{name}')}"
        try:
            licence = _licence(courier.get(f"{site.records}?{asked}"))
        except NoAnswer:
            streak += 1
            if streak == _STREAK:
                raise
            continue
        streak = 0
        if licence:
            account.keep(account.records[name] | {"licence": licence})


def _licence(reply: Reply) -> str:
    """The licence in a record; '' where there is no record."""
    try:
        record = ET.fromstring(reply.body)  # noqa: S314 - as above
    except ET.ParseError:
        return ""
    if reply.status != 200 or record.find(".//{*}metadata") is None:
        return ""
    return _one_line(record.findtext(".//{*}license", "")) or _NO_LICENCE
