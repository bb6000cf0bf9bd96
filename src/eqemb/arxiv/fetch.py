"""Download the sources of papers from arXiv into a folder that `eqemb build` reads.

    plan       which papers are requested, and which of them are in the folder already
    fetch      download the sources, then the licences, which take one request for each paper

`eqemb.sources` decides whether a download is a readable paper, with the same rules as `eqemb read`.
"""

import gzip
import hashlib
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from eqemb.arxiv.client import (
    Client,
    RequestFailedError,
    Response,
    ResponseTooLargeError,
    Site,
    UnavailableError,
)
from eqemb.arxiv.harvest import Harvest, harvest
from eqemb.arxiv.listing import (
    PAGE_SIZE,
    ArxivPaper,
    ProgressCallback,
    has_category,
    newest_papers,
    papers_by_id,
)
from eqemb.arxiv.metadata import MetadataFile, is_temporary, paper_record
from eqemb.arxiv.text import format_duration, one_line, parse_xml
from eqemb.errors import SourceError, UsageError
from eqemb.sources import Found, Limits, load
from eqemb.sources.content import identify, open_content
from eqemb.sources.found import NO_DOCUMENT, NO_PAPER, OTHER_FORMS
from eqemb.sources.names import arxiv_id
from eqemb.sources.streams import (
    CHUNK_BYTES,
    COMPRESSED_BYTES,
    ByteStream,
    Meter,
    inflate,
    stream_from,
)
from eqemb.storage.atomic import new_file
from eqemb.storage.cache import user_cache
from eqemb.storage.locks import locked

_MAX_FAILURES = 3  # in a row: the cause is then not a single paper, and the run stops
_REQUEST_SECONDS = 1.0  # how long a request itself takes, for the estimate
_NO_LICENCE = "none stated"
_GZIP = b"\x1f\x8b"


class News(NamedTuple):
    """A request for what is new or changed."""

    since: str
    """A day, a month or a year; or "last"."""
    sets: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    """Only papers of one of these (`cs` is every category of an archive); all without any."""

    def takes(self, paper: ArxivPaper) -> bool:
        """Whether a paper is of the categories."""
        return not self.categories or has_category(paper.categories, self.categories)


@dataclass(slots=True)
class FetchPlan:
    """What to download."""

    papers: list[ArxivPaper]
    """Papers to download."""
    present: int
    """Papers that are in the folder already."""
    without_source: int
    """Papers that are known from an earlier run to have no source."""
    matching: int
    """Papers that match the categories and dates; the newest are taken."""
    unlisted: int
    """Papers that arXiv counts but did not list."""
    unknown: list[str]
    """Identifiers that arXiv does not know."""
    licences: int
    """Papers whose licence has to be requested."""
    harvest: Harvest | None = None
    """What arXiv lists as new or changed, if that was asked for."""

    @property
    def requests(self) -> int:
        """The number of requests that it takes."""
        return len(self.papers) + self.licences

    def seconds(self, delay: float) -> float:
        """An estimate of the time that it takes."""
        return self.requests * (delay + _REQUEST_SECONDS)


@contextmanager
def _one_run_per_user() -> Iterator[None]:
    """Hold a lock: arXiv allows one connection at a time."""
    try:
        folder = user_cache()
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError) as error:
        raise UsageError(
            f"cannot make a lock file ({error}):"
            " set XDG_CACHE_HOME to a folder that you can write to"
        ) from None
    with locked(folder / "fetch.lock", "arXiv is being asked"):
        yield


@_one_run_per_user()
def plan(
    folder: Path,
    client: Client,
    site: Site,
    *,
    query: str = "",
    most: int = 300,
    ids: Sequence[str] = (),
    news: News | None = None,
    progress: ProgressCallback = lambda *_: None,
) -> FetchPlan:
    """List the newest papers of a query, those with the given identifiers, and what is new.

    Nothing is written, except for notes about what is new.
    """
    metadata = MetadataFile(folder)
    listed: dict[str, ArxivPaper] = {}
    matching = unlisted = 0
    found = None
    if news is not None:
        found = harvest(
            folder, client, site, news.since, news.sets, news.categories, progress=progress
        )
        listed = {name: paper for name, paper in found.papers.items() if news.takes(paper)}
        matching = len(listed)
    if query:
        newest, matching = newest_papers(client, site, query, most, progress)
        listed |= newest
        unlisted = min(most, matching) - len(newest)
    for start in range(0, len(ids), PAGE_SIZE):
        progress("listing", f"{start:,} of {len(ids):,} identifiers")
        listed |= papers_by_id(client, site, ids[start : start + PAGE_SIZE])
    missing = [paper for paper in listed.values() if not metadata.has(paper)]
    missing.sort(key=lambda paper: paper.id in metadata.records)  # earlier failures come last
    known = metadata.records.keys() - {paper.id for paper in missing}
    present = sum(metadata.has_file(name) for name in listed.keys() & known)
    return FetchPlan(
        papers=missing,
        present=present,
        without_source=len(listed) - len(missing) - present,
        matching=matching,
        unlisted=unlisted,
        unknown=[name for name in ids if arxiv_id(name)[0] not in listed],
        licences=sum(not paper.licence for paper in missing)
        + sum(map(metadata.lacks_licence, known)),
        harvest=found,
    )


# -- sources


@dataclass(slots=True)
class FetchResult:
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
    """Why the run ended early."""


@_one_run_per_user()
def fetch(
    made: FetchPlan,
    folder: Path,
    client: Client,
    site: Site,
    progress: ProgressCallback = lambda *_: None,
) -> FetchResult:
    """Carry out a plan; if arXiv stops answering, the same call continues later."""
    folder.mkdir(parents=True, exist_ok=True)
    result = FetchResult()
    with locked(folder / ".lock", f"{folder} is being filled"):
        metadata = MetadataFile(folder)
        metadata.compact()
        try:
            _fetch_sources(made, metadata, client, site, progress, result)
            _fetch_licences(metadata, client, site, progress)
        except UnavailableError as error:
            result.stopped = str(error)
        metadata.compact()
        if made.harvest is not None and not result.stopped:
            made.harvest.finish()
    result.left = len(made.papers) - result.fetched - result.missed.total()
    result.held = sum(map(metadata.has_file, metadata.records))
    result.unlicensed = sum(map(metadata.lacks_licence, metadata.records))
    return result


def _fetch_sources(
    made: FetchPlan,
    metadata: MetadataFile,
    client: Client,
    site: Site,
    progress: ProgressCallback,
    result: FetchResult,
) -> None:
    failures = 0
    for number, paper in enumerate(made.papers):
        left = format_duration((made.requests - number) * (client.delay + _REQUEST_SECONDS))
        progress("sources", f"{number:,} of {len(made.papers):,}, {left} left in all; {paper.id}")
        data, cause = _download(client, f"{site.source}{paper.id}{paper.version}")
        old = metadata.records.get(paper.id)
        if cause:
            result.missed[cause] += 1
            # the file of an earlier version stays, with what is known about it
            kept = {key: (old or {}).get(key) for key in ("licence", "file", "sha256")}
            kept["licence"] = kept["licence"] or paper.licence or None
            metadata.append({**paper_record(paper), **kept, "cause": cause})
            # a paper that failed before may itself be at fault
            failures = failures + (old is None) if is_temporary(cause) else 0
            if failures == _MAX_FAILURES:
                raise UnavailableError(f"{_MAX_FAILURES} papers in a row failed ({cause})")
            continue
        failures = 0
        name = f"{paper.id.replace('/', '')}.gz"
        with new_file(metadata.folder / name) as new:
            new.write_bytes(data)
        file = {"file": name, "sha256": hashlib.sha256(data).hexdigest()}
        metadata.append({**paper_record(paper), "licence": paper.licence or None, **file})
        result.fetched += 1
        result.bytes += len(data)


def _download(client: Client, url: str) -> tuple[bytes, str]:
    """A paper's source and "", or why there is none; a damaged one is requested twice."""
    for _ in range(2):
        try:
            response = client.get(url)
        except RequestFailedError:
            return b"", "no answer"
        except ResponseTooLargeError:
            return b"", "too large"
        cause = _check_source(response)
        if not is_temporary(cause):
            break
    body = response.body
    return body if body.startswith(_GZIP) else gzip.compress(body, mtime=0), cause


def _check_source(response: Response) -> str:
    """Why a response is not a paper that can be read; "" if it is one."""
    what = identify(response.body[:CHUNK_BYTES])
    if (what == "html only" or response.status == 404) and b"withdrawn" in response.body.lower():
        return "withdrawn"
    if response.status != 200:
        return "not found" if response.status in {404, 410, 451} else f"HTTP {response.status}"
    if what in NO_PAPER:  # a paper in HTML comes compressed: this is something else
        return "no paper"
    try:
        if response.body.startswith(_GZIP):
            packed = stream_from(io.BytesIO(response.body))
            stream = ByteStream(inflate(packed, "gzip", Meter(Limits())))
            while stream.read(CHUNK_BYTES):
                pass
            if stream.fault:
                return "broken archive"
        source = load(Found("paper", "paper", "", "data", "", data=response.body))
    except SourceError as error:
        return _other_format(response.body) if error.cause == NO_DOCUMENT else error.cause
    kinds = {identify(text) for text in source.files.values()}
    return "withdrawn" if kinds - {NO_DOCUMENT} == {"withdrawn"} else ""


def _other_format(body: bytes) -> str:
    """The format of a paper without TeX: that of its archive's members, if they agree."""
    content = open_content(io.BytesIO(body), Meter(Limits()))
    members = content.members() if content.is_archive else ()
    files = (member for member in members if member.kind == "file")
    kinds = {identify(member.stream.peek(COMPRESSED_BYTES)) for member in files}
    formats = kinds & {*OTHER_FORMS, "html only"}
    return formats.pop() if len(formats) == 1 else "no TeX"


# -- licences


def _fetch_licences(
    metadata: MetadataFile, client: Client, site: Site, progress: ProgressCallback
) -> None:
    """Request the licence of each paper in the folder that has none yet."""
    missing = [name for name in metadata.records if metadata.lacks_licence(name)]
    failures = 0
    for number, name in enumerate(missing):
        left = format_duration((len(missing) - number) * (client.delay + _REQUEST_SECONDS))
        progress("licences", f"{number:,} of {len(missing):,}, {left} left; {name}")
        record = quote(f"oai:arXiv.org:{name}")
        url = f"{site.records}?verb=GetRecord&metadataPrefix=arXiv&identifier={record}"
        try:
            licence = _parse_licence(client.get(url))
        except RequestFailedError:
            failures += 1
            if failures == _MAX_FAILURES:
                raise
            continue
        failures = 0
        if licence:
            metadata.append(metadata.records[name] | {"licence": licence})


def _parse_licence(response: Response) -> str:
    """The licence in an OAI record; "" if the response is not a record."""
    record = parse_xml(response.body)
    if record is None or response.status != 200 or record.find(".//{*}metadata") is None:
        return ""
    return one_line(record.findtext(".//{*}license", "")) or _NO_LICENCE
