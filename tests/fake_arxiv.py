"""A local server that behaves like arXiv, with its failures, and a clock that only jumps.

It answers queries with pages of an Atom feed, and sends sources and licences. `refuse` makes it
fail as arXiv does; `calls` records each request, with its time and connection.
"""

import os
import re
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from unittest import mock
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from eqemb.arxiv.client import Client, Site

FREE = "http://creativecommons.org/licenses/by/4.0/"


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 1000.0

    def sleep(self, seconds: float) -> None:
        """Advance the time."""
        self.now += seconds

    def client(self, delay: float = 3.0) -> Client:
        """A client that uses this clock."""
        return Client(delay, clock=lambda: self.now, sleep=self.sleep)


class Call(NamedTuple):
    """One request, as the server saw it."""

    kind: str
    target: str
    agent: str
    host: str
    connection: int
    time: float


@dataclass
class Entry:
    """A paper on the server."""

    id: str
    source: bytes
    categories: tuple[str, ...] = ("cs.CL",)
    date: str = "2015-06-01"
    version: str = "v1"
    licence: str = FREE
    title: str = "On\n  Words & Numbers"
    status: int = 200
    changed: str = ""
    """The day of the last change, if it is not the date."""
    updated: str = ""
    """The day of the latest version, if it is not the first."""
    is_deleted: bool = False


class Answer(NamedTuple):
    """A response; `cut` bytes of its body are announced and not sent."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    cut: int = 0


@dataclass
class FakeArxiv:
    """The papers, the failures to come, and the requests so far."""

    clock: Clock
    papers: list[Entry] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    failures: dict[str, list[Answer]] = field(default_factory=lambda: defaultdict(list))
    base: str = ""
    page_size: int = 2
    """Of OAI-PMH."""
    expired: set[str] = field(default_factory=set)
    """Tokens that are no longer valid."""

    @property
    def site(self) -> Site:
        """The addresses of the server."""
        return Site(*(self.base + urlsplit(url).path for url in Site()))

    @property
    def options(self) -> list[str]:
        """The addresses as options of the command line."""
        api, source, records = self.site
        return ["--api", api, "--source", source, "--records", records]

    def add(self, name: str, source: bytes, **more: str | bool | tuple[str, ...]) -> Entry:
        """Add a paper."""
        entry = Entry(name, source, **more)  # type: ignore[arg-type]
        self.papers.append(entry)
        return entry

    def refuse(self, kind: str, *answers: Answer) -> None:
        """Set the next responses to requests of a kind: "api", "src" or "oai"."""
        self.failures[kind] += answers

    def requested(self, kind: str) -> list[str]:
        """The targets of the requests of a kind."""
        return [call.target for call in self.calls if call.kind == kind]

    def answer(self, target: str) -> Answer:
        """The response to a request."""
        parts = urlsplit(target)
        kind = parts.path.split("/")[1]
        if self.failures[kind]:
            return self.failures[kind].pop(0)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        if kind == "api":
            return self._feed(query)
        if kind == "oai" and query["verb"] == "ListRecords":
            return self._records(query)
        if kind == "oai":
            return self._record(query["identifier"].removeprefix("oai:arXiv.org:"))
        if kind == "e-print":  # the former name
            return Answer(301, headers=(("location", parts.path.replace("e-print", "src")),))
        name = unquote(parts.path).removeprefix("/src/")
        for paper in self.papers:
            if name in {paper.id + paper.version, paper.id}:
                return Answer(paper.status, paper.source)
        return Answer(404, b"<html>None</html>")

    def _feed(self, query: dict[str, str]) -> Answer:
        if "id_list" in query:
            names = [re.sub(r"v\d+$", "", name) for name in query["id_list"].split(",")]
            found = [paper for paper in self.papers if paper.id in names]
        else:
            found = [paper for paper in self.papers if _matches(paper, query["search_query"])]
            found.sort(key=lambda paper: paper.date, reverse=query["sortOrder"] == "descending")
        first = int(query["start"])
        page = found[first : first + int(query["max_results"])]
        return Answer(body=feed(page, len(found)))

    def _records(self, query: dict[str, str]) -> Answer:
        """A page of ListRecords; a token holds the set, the day and the place of the next page."""
        token = query.get("resumptionToken", "")
        if token in self.expired:
            return oai('<error code="badResumptionToken">expired</error>')
        first = query.get("set", ""), query.get("from", ""), "0"
        name, since, start = token.split("|") if token else first
        found = [
            paper
            for paper in self.papers
            if (paper.changed or paper.date) >= since
            and (not name or any(of.startswith(f"{name}.") for of in paper.categories))
        ]
        if not found:
            return oai('<error code="noRecordsMatch">none</error>')
        end = int(start) + self.page_size
        more = f"{name}|{since}|{end}" if end < len(found) else ""
        records = "".join(map(oai_record, found[int(start) : end]))
        return oai(f"<ListRecords>{records}<resumptionToken>{more}</resumptionToken></ListRecords>")

    def _record(self, name: str) -> Answer:
        known = {paper.id: paper.licence for paper in self.papers}
        licence = f"<license>{known[name]}</license>" if known.get(name) else ""
        inner = f'<arXiv xmlns="http://arxiv.org/OAI/arXiv/"><id>{name}</id>{licence}</arXiv>'
        record = f"<GetRecord><record><metadata>{inner}</metadata></record></GetRecord>"
        return Answer(
            body=f'<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/">{record}</OAI-PMH>'.encode()
        )


def oai(inner: str, day: str = "2026-11-18") -> Answer:
    """An answer of OAI-PMH."""
    name = "http://www.openarchives.org/OAI/2.0/"
    date = f"<responseDate>{day}T10:00:00Z</responseDate>"
    return Answer(body=f'<OAI-PMH xmlns="{name}">{date}{inner}</OAI-PMH>'.encode())


def oai_record(paper: Entry) -> str:
    """A paper in the format arXiv of OAI-PMH."""
    day = paper.changed or paper.date
    identifier = f"<identifier>oai:arXiv.org:{paper.id}</identifier><datestamp>{day}</datestamp>"
    if paper.is_deleted:
        return f'<record><header status="deleted">{identifier}</header></record>'
    updated = f"<updated>{paper.updated}</updated>" if paper.updated else ""
    licence = f"<license>{paper.licence}</license>" if paper.licence else ""
    authors = (
        "<author><keyname>Author</keyname><forenames>A.</forenames></author>"
        '<author><keyname>G\\"odel</keyname><forenames>B.</forenames><suffix>Jr</suffix></author>'
    )
    about = (
        f'<arXiv xmlns="http://arxiv.org/OAI/arXiv/"><id>{paper.id}</id>'
        f"<created>{paper.date}</created>{updated}<authors>{authors}</authors>"
        f"<title>{escape(paper.title)}</title><categories>{' '.join(paper.categories)}</categories>"
        f"{licence}</arXiv>"
    )
    return f"<record><header>{identifier}</header><metadata>{about}</metadata></record>"


def _matches(paper: Entry, query: str) -> bool:
    in_time = re.search(r"submittedDate:\[(\d{8})0000 TO (\d{8})2359\]", query)
    day = paper.date.replace("-", "")
    names = set(re.findall(r"cat:([\w.-]+)", query))
    return bool(names & set(paper.categories)) and (
        in_time is None or in_time[1] <= day <= in_time[2]
    )


def feed(papers: list[Entry], total: int) -> bytes:
    """A page of the Atom feed."""
    entries = "".join(
        f"<entry><id>http://arxiv.org/abs/{paper.id}{paper.version}</id>"
        f"<published>{paper.date}T12:00:00Z</published><title>{escape(paper.title)}</title>"
        "<author><name>A. Author</name></author><author><name>B. Other</name></author>"
        + "".join(f'<category term="{name}"/>' for name in paper.categories)
        + "</entry>"
        for paper in papers
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom"'
        ' xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">'
        f"<opensearch:totalResults>{total}</opensearch:totalResults>{entries}</feed>"
    ).encode()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # send head and body together: in two pieces, each request takes 40 ms
    arxiv: FakeArxiv
    connections = 0

    def setup(self) -> None:
        super().setup()
        type(self).connections += 1
        self.number = type(self).connections

    def do_GET(self) -> None:
        """Record the request and answer it."""
        target = re.sub(r"^http://[^/]*", "", self.path)  # a proxy gets whole URLs
        kind = target.split("/")[1].split("?")[0]
        agent, host = self.headers.get("User-Agent", ""), self.headers.get("Host", "")
        now = self.arxiv.clock.now
        self.arxiv.calls.append(Call(kind, target, agent, host, self.number, now))
        answer = self.arxiv.answer(target)
        self.send_response(answer.status)
        for name, value in answer.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body) + answer.cut))
        self.end_headers()
        self.wfile.write(answer.body)
        self.close_connection = self.close_connection or bool(answer.cut)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def serving(clock: Clock) -> Iterator[FakeArxiv]:
    """Run a server; locks go to a temporary folder."""
    arxiv = FakeArxiv(clock)
    handler = type("Handler", (_Handler,), {"arxiv": arxiv, "connections": 0})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=lambda: server.serve_forever(0.01))
    thread.start()
    arxiv.base = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        with (
            tempfile.TemporaryDirectory() as cache,
            mock.patch.dict(os.environ, XDG_CACHE_HOME=cache, NO_PROXY="127.0.0.1"),
        ):
            yield arxiv
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
