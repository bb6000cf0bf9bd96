"""Measure a server under load, with and without a hostile client, and the latency of a page.

    python benchmarks/serving.py LIBRARY [--seconds 60] [--connections 32] [--workers N]
        [--before PYTHON LIBRARY] [--rounds 3] [--out FILE.md]

Starts `eqemb serve LIBRARY` and sends requests with `wrk` on loopback, with two threads: search by
words, pages of results, similar by LaTeX and by name, describe, words, equations, articles and hits
on the map, drawn from the library with a fixed seed. Then it repeats this with another seed while a
hostile client, in a separate process, sends URLs and bodies of a megabyte and deeply nested
queries, and counts the responses.

Reports requests per second, the server's CPU time for each request, the share of distinct URLs
(repeated ones may be cached), latency as measured by `wrk`, every status other than 200, the cores
that other programs used and those that were idle, and the memory of the server and its workers
every five seconds (PSS: pages that they share count once): a leak would still grow in the second
half. Finally, without other load: the latency of the first page of results for 50 queries with a
third seed, and the bytes of a page without results. The server, `wrk` and the hostile client share
the machine and its cores.

`--before` names the interpreter of another version of eqemb, and a library that it made of the same
papers. Both versions then answer the same requests, in turn: `--rounds` times `--seconds` each,
every time with another seed and a new server. Then each kind of request is sent alone. The tables
have both versions and their ratios. Compare CPU times: requests per second and latency depend on
what else the machine does.

Exits with 1 if a normal request was not answered with 200, or a hostile one not with a status from
400 to 499. The last lines of the server's log go to standard error.
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import platform
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import numpy as np

from eqemb.corpus.vocabulary import STOP_WORDS
from eqemb.errors import UsageError
from eqemb.facade.library import Library
from eqemb.formula import layout
from eqemb.server.queries import check_query

DRAWN, TIMED, NOT_COUNTED = 40_000, 50, 10
#: Requests of each kind whose CPU time is compared.
PER_KIND = 100
THREADS = 2
#: Seconds until the server must be ready, and lines of its log that are shown.
START_TIMEOUT, TAIL = 30, 20
#: Requests of each kind, in percent.
SHARES = {"search": 30, "page": 15, "similar by LaTeX": 10, "similar by name": 10, "describe": 10,
          "words": 5, "equations": 8, "articles": 3, "one article": 4, "map/hits": 5}  # fmt: skip
MEGABYTE = 1 << 20
#: Hostile requests: head and body.
HOSTILE = {
    "URL of 1 MB": (f"GET /v1/search?q={'x' * MEGABYTE}", b""),
    "GET with a body of 1 MB": ("GET /v1/search?q=x", b"x" * MEGABYTE),
    "POST with a body of 1 MB": ("POST /v1/search?q=x", b"x" * MEGABYTE),
    "braces 600 deep": (f"GET /v1/search?q={quote('x^{' * 600)}", b""),
    "roots 380 deep": (f"GET /v1/similar?equation={quote(chr(92) + 'sqrt') * 380}", b""),
    "opening after closing brackets": (f"GET /?q={quote(')' * 900 + '(' * 900)}", b""),
}
SCRIPT = """
local lines = {}
for line in io.lines("%s") do lines[#lines + 1] = line end
local threads = {}
function setup(thread)
  thread:set("at", math.floor(#threads * #lines / %d))
  threads[#threads + 1] = thread
end
function init() wrong, sent = {}, 0 end
function request()
  sent = sent + 1
  at = at %% #lines + 1
  return wrk.format("GET", lines[at])
end
function response(status)
  if status ~= 200 then wrong[tostring(status)] = (wrong[tostring(status)] or 0) + 1 end
end
function done(summary, latency)
  local errors, sent = {}, {}
  for _, thread in ipairs(threads) do
    sent[#sent + 1] = thread:get("sent")
    for status, count in pairs(thread:get("wrong")) do
      errors[status] = (errors[status] or 0) + count
    end
  end
  for _, name in ipairs({"connect", "read", "write", "timeout"}) do
    if summary.errors[name] > 0 then errors[name] = summary.errors[name] end
  end
  local parts = {}
  for name, count in pairs(errors) do
    parts[#parts + 1] = string.format('"%%s": %%d', name, count)
  end
  print(string.format(
    '{"requests": %%d, "seconds": %%f, "p50": %%f, "p99": %%f, "sent": [%%s], "wrong": {%%s}}',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3,
    latency:percentile(99) / 1e3, table.concat(sent, ", "), table.concat(parts, ", ")))
end
"""


# ------------------------------------------------------------ queries


class QueryGenerator:
    """Random queries to a library, the same for the same seed."""

    def __init__(self, library: Library, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        wording, model = library.engine.text, library.model
        if model is None:
            sys.exit("the library has no model: make one with `eqemb build`")
        known = set(model.keys["words"])
        self._words = [
            word
            for word, _, _ in wording.vocabulary()
            if len(word) > 3 and word.isalpha() and word not in STOP_WORDS and word in known
        ]
        latex = library.records.expanded_latex()
        self._names = [
            name
            for name, source in zip(library.records.equation_names(), latex, strict=True)
            if layout(source).root is not None  # an image has no symbols
        ]
        self._articles = [name for name, count, _ in library.contents() if count]
        self._latex = [
            source for source in latex if 12 <= len(source) <= 300 and _is_valid_query(source)
        ]

    @property
    def state(self) -> Any:
        """What the next queries depend on."""
        return self._random.bit_generator.state

    @state.setter
    def state(self, state: Any) -> None:
        self._random.bit_generator.state = state

    def keep_names(self, names: set[str]) -> None:
        """Ask only for these equations, and for articles that have one of them."""
        self._names = [name for name in self._names if name in names]
        articles = {name.rpartition("#")[0] for name in names}
        self._articles = [name for name in self._articles if name in articles]

    def _one(self, things: list[str]) -> str:
        return things[int(self._random.integers(len(things)))]

    def words(self) -> str:
        """One to three words."""
        return " ".join(self._one(self._words) for _ in range(self._random.integers(1, 4)))

    def latex(self) -> str:
        """An equation of the library."""
        return self._one(self._latex)

    def address(self, kind: str | None = None) -> str:
        """The URL of a random query of a kind, which is drawn by `SHARES` if it is not given."""
        if kind is None:
            kind = self._random.choice(list(SHARES), p=np.array(list(SHARES.values())) / 100)
        name = self._one(self._names)
        return {
            "search": lambda: _at("/v1/search", q=self.words()),
            "page": lambda: _at("/", q=self.words()),
            "similar by LaTeX": lambda: _at("/v1/similar", equation=self.latex()),
            "similar by name": lambda: _at("/v1/similar", equation=name),
            "describe": lambda: _at("/v1/describe", equation=name),
            "words": lambda: _at("/v1/words", word=self._one(self._words)),
            "equations": lambda: f"/v1/equations/{quote(name)}",
            "articles": lambda: _at("/v1/articles", page=self._random.integers(1, 9)),
            "one article": lambda: f"/v1/articles/{quote(self._one(self._articles))}",
            "map/hits": lambda: _at("/v1/map/hits", q=self.words()),
        }[str(kind)]()


def _at(path: str, **values: Any) -> str:
    return f"{path}?{urlencode(values)}"


def _is_valid_query(latex: str) -> bool:
    if "$" in latex:  # it is also sent between dollar signs
        return False
    try:
        return layout(check_query(latex)).root is not None
    except UsageError:
        return False


# ------------------------------------------------------------ a server


@contextlib.contextmanager
def served(
    library: Path, port: int, workers: int | None = None, python: str = sys.executable
) -> Iterator[int]:
    """Run `eqemb serve`; yields its process id and prints the end of its log."""
    command = [python, "-m", "eqemb", "serve", str(library), "--port", str(port)]
    command += [] if workers is None else ["--workers", str(workers)]
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen([*command, "--no-map"], stderr=log) as process,
    ):
        try:
            for _ in range(10 * START_TIMEOUT):
                if process.poll() is not None:
                    sys.exit("the server ended before the first request")
                with contextlib.suppress(OSError):
                    get(HTTPConnection("127.0.0.1", port, timeout=START_TIMEOUT), "/v1/stats")
                    break
                time.sleep(0.1)
            else:
                sys.exit(f"the server did not start within {START_TIMEOUT} seconds")
            yield process.pid
        finally:
            process.terminate()
            process.wait()
            log.seek(0)
            print(*log.readlines()[-TAIL:], sep="", end="", file=sys.stderr)


def get(line: HTTPConnection, address: str) -> bytes:
    """The body of a response, whose status must be 200."""
    line.request("GET", address)
    answer = line.getresponse()
    body = answer.read()
    if answer.status != 200:
        sys.exit(f"{address} returned {answer.status}: {body[:200]!r}")
    return body


def free_port() -> int:
    """A free port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def process_tree(process: int) -> list[int]:
    """A process and its descendants."""
    found = [process]
    for file in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [
                other for child in file.read_text().split() for other in process_tree(int(child))
            ]
    return found


def memory_of(process: int) -> float:
    """The memory of a process and its descendants in MB; pages that they share count once."""
    total = 0
    for one in process_tree(process):
        with contextlib.suppress(OSError):
            match = re.search(
                r"^Pss:\s*(\d+) kB", Path(f"/proc/{one}/smaps_rollup").read_text(), re.MULTILINE
            )
            total += int(match[1]) if match else 0
    return total / 1024


def cpu_seconds(process: int) -> float:
    """The CPU time of a process and its descendants."""
    ticks = 0
    for one in process_tree(process):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def machine_seconds() -> tuple[float, float]:
    """Seconds that the cores of this machine were busy, and that they were idle."""
    first = Path("/proc/stat").read_text().partition("\n")[0]
    user, nice, system, idle, waiting, *rest = map(int, first.split()[1:9])
    ticks = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + sum(rest)) / ticks, (idle + waiting) / ticks


class Memory(threading.Thread):
    """Samples the memory of a server every five seconds, more often in a short run."""

    def __init__(self, process: int, seconds: float) -> None:
        super().__init__(daemon=True)
        self._process, self._pause = process, min(5.0, seconds / 4)
        self._end = threading.Event()
        self.found: list[float] = []

    def run(self) -> None:
        """Sample until `end`."""
        while not self._end.wait(self._pause if self.found else 0):
            self.found.append(memory_of(self._process))

    def end(self) -> str:
        """Stop; the samples in MB, and the growth in the second half."""
        self._end.set()
        self.join()
        half, last = self.found[len(self.found) // 2], self.found[-1]
        grown = 100 * (last / half - 1)
        return f"{', '.join(f'{mb:.0f}' for mb in self.found)} ({grown:+.1f} % in the second half)"


# ------------------------------------------------------------ load


def hostile(port: int, seconds: float, results: Any) -> None:
    """Send hostile requests one after another, and count the statuses."""
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in HOSTILE}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for kind, (start, body) in HOSTILE.items():
            length = f"Content-Length: {len(body)}\r\n" if body else ""
            head = f"{start} HTTP/1.1\r\nHost: localhost\r\n{length}Connection: close\r\n\r\n"
            counts[kind][_status(port, head.encode() + body)] += 1
    results.put({kind: dict(count) for kind, count in counts.items()})


def _status(port: int, request: bytes) -> str:
    """The status of a response, which may come before the whole request is sent."""
    start = b""
    with (
        contextlib.suppress(OSError),
        socket.create_connection(("127.0.0.1", port), timeout=30) as line,
    ):
        with contextlib.suppress(ConnectionError):
            line.sendall(request)
        start = line.recv(64)
    found = re.match(rb"HTTP/1.1 (\d+)", start)
    return found[1].decode() if found else "no answer"


def script_in(folder: Path, addresses: list[str]) -> Path:
    """A script for `wrk` that requests these URLs."""
    lines, script = folder / "addresses", folder / "ask.lua"
    lines.write_text("".join(f"{address}\n" for address in addresses))
    script.write_text(SCRIPT % (lines, THREADS))
    return script


class LoadResult(NamedTuple):
    """What a load gave."""

    requests: int
    distinct: float
    per_second: float
    server_ms: float
    """CPU time of the server and its workers for each request."""
    client_ms: float
    """CPU time of `wrk` for each request."""
    p50: float
    p99: float
    wrong: str
    """Every status other than 200, with its count."""
    others: float
    """Cores that other programs used."""
    idle: float
    """Cores that nobody used."""
    memory: str

    @property
    def is_well(self) -> bool:
        """Whether all responses had the status 200."""
        return not self.wrong and self.requests > 0

    def cells(self) -> str:
        """The cells of a table row."""
        return (
            f"{self.requests:,} | {self.distinct:.0%} | {self.per_second:.0f} |"
            f" {self.server_ms:.1f} | {self.client_ms:.1f} | {self.p50:.0f} | {self.p99:.0f} |"
            f" {self.wrong or 'none'} | {self.others:.1f} | {self.idle:.1f} | {self.memory}"
        )


def load(
    port: int, process: int, draw: "QueryGenerator", options: argparse.Namespace
) -> LoadResult:
    """Send requests to a server."""
    addresses = [draw.address() for _ in range(DRAWN)]
    memory = Memory(process, options.seconds)
    memory.start()
    before, clients_before, machine_before = cpu_seconds(process), os.times(), machine_seconds()
    command = ["wrk", f"-t{THREADS}", f"-c{options.connections}", f"-d{options.seconds}s"]
    with tempfile.TemporaryDirectory() as folder:
        script = script_in(Path(folder), addresses)
        done = subprocess.run(
            [*command, "--timeout", "15s", "-s", str(script), f"http://127.0.0.1:{port}"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    clients, machine = os.times(), machine_seconds()
    used = clients.children_user + clients.children_system
    used -= clients_before.children_user + clients_before.children_system
    summary = json.loads(done.stdout.strip().rpartition("\n")[2])
    count, served_for = max(1, summary["requests"]), cpu_seconds(process) - before
    busy, idle = (now - then for now, then in zip(machine, machine_before, strict=True))
    return LoadResult(
        requests=summary["requests"],
        distinct=distinct(addresses, summary["sent"]),
        per_second=summary["requests"] / summary["seconds"],
        server_ms=1e3 * served_for / count,
        client_ms=1e3 * used / count,
        p50=summary["p50"],
        p99=summary["p99"],
        wrong=", ".join(f"{count} x {name}" for name, count in sorted(summary["wrong"].items())),
        others=max(0.0, busy - served_for - used) / summary["seconds"],
        idle=idle / summary["seconds"],
        memory=memory.end(),
    )


def distinct(addresses: list[str], sent: list[int]) -> float:
    """The share of distinct URLs among those that the threads of `wrk` sent."""
    starts = [len(addresses) * thread // len(sent) for thread in range(len(sent))]
    found = {
        addresses[at % len(addresses)]
        for start, count in zip(starts, sent, strict=True)
        for at in range(start, start + count)
    }
    return len(found) / max(1, sum(sent))


# ------------------------------------------------------------ single requests


def first_pages(port: int, draw: QueryGenerator) -> Iterator[str]:
    """The latency of the first page of results."""
    line = HTTPConnection("127.0.0.1", port)
    yield "| first page of results, ms | median | p90 | maximum |\n|---|---:|---:|---:|"
    for kind, question in (("words", draw.words), ("LaTeX", lambda: f"${draw.latex()}$")):
        drawn = list(dict.fromkeys(question() for _ in range(20 * TIMED)))[: TIMED + NOT_COUNTED]
        times = []
        for query in drawn:
            start = time.perf_counter()
            get(line, _at("/", q=query))
            times.append(1e3 * (time.perf_counter() - start))
        times = times[NOT_COUNTED:]
        p90 = statistics.quantiles(times, n=10)[-1]
        yield (
            f"| {kind}, {len(times)} queries | {statistics.median(times):.0f} | {p90:.0f} |"
            f" {max(times):.0f} |"
        )


def weights(port: int) -> Iterator[str]:
    """The bytes of a page without results, and of the files it loads."""
    line = HTTPConnection("127.0.0.1", port)
    yield "| page without results | HTML | other files | total bytes |\n|---|---:|---|---:|"
    for address in ("/", "/?q=qqqqqq"):
        page = get(line, address)
        files = sorted(set(re.findall(r'(?:src|href)="(/static/[^"]+)"', page.decode())))
        sizes = {Path(file).name: len(get(line, file)) for file in files}
        parts = ", ".join(f"{name} {size:,}" for name, size in sizes.items())
        yield f"| `{address}` | {len(page):,} | {parts} | {len(page) + sum(sizes.values()):,} |"


COLUMNS = (
    "requests | distinct | per second | server CPU, ms | wrk CPU, ms | p50, ms | p99, ms | not 200"
    " | others, cores | idle, cores"
)


def setting(options: argparse.Namespace, equations: int) -> Iterator[str]:
    """The lines before a table."""
    yield (
        f"{equations:,} equations; {options.connections} connections, {options.seconds} s;"
        f" Python {platform.python_version()}, {os.cpu_count()} cores."
    )
    yield ", ".join(f"{kind} {share} %" for kind, share in SHARES.items()) + ".\n"


def measured(options: argparse.Namespace, faults: list[str]) -> Iterator[str]:
    """The report in Markdown, line by line; failures are added to `faults`."""
    with Library.open(options.library) as library:
        many, beside, alone = (QueryGenerator(library, seed) for seed in range(3))
        equations = len(library.engine.types)
    port = options.port or free_port()
    with served(options.library, port, options.workers) as process:
        yield from setting(options, equations)
        yield f"| clients | {COLUMNS} | memory, MB |"
        yield "|---|---:|---:|---:|---:|---:|---:|---:|---|---:|---:|---|"
        usual = load(port, process, many, options)
        yield f"| normal | {usual.cells()} |"
        results = multiprocessing.get_context("spawn").Queue()
        other = multiprocessing.get_context("spawn").Process(
            target=hostile, args=(port, options.seconds, results)
        )
        other.start()
        attacked = load(port, process, beside, options)
        yield f"| normal and hostile | {attacked.cells()} |"
        if not (usual.is_well and attacked.is_well):
            faults.append("some normal requests were not answered with 200")
        yield "\n| hostile request | response |\n|---|---|"
        for kind, counts in results.get(timeout=120).items():
            statuses = ", ".join(f"{count:,} x {status}" for status, count in counts.items())
            yield f"| {kind} | {statuses} |"
            if not counts or any(not re.fullmatch(r"4\d\d", status) for status in counts):
                faults.append(f"not always rejected: {kind}")
        other.join()
        yield ""
        yield from first_pages(port, alone)
        yield ""
        yield from weights(port)


def compared(options: argparse.Namespace, faults: list[str]) -> Iterator[str]:
    """Another version of eqemb and this one under the same load, in turn."""
    python, before = options.before
    with Library.open(options.library) as library:
        draws = [QueryGenerator(library, seed) for seed in range(options.rounds)]
        equations = len(library.engine.types)
    for draw in draws:
        draw.keep_names(names_in(python, before))
    yield from setting(options, equations)
    yield f"| round | version | {COLUMNS} | memory, MB |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|---:|---|---:|---:|---|"
    found: dict[str, list[LoadResult]] = {"before": [], "now": []}
    kinds: dict[str, dict[str, float]] = {}
    versions = {"before": (Path(before), None, python)}
    versions["now"] = (options.library, options.workers, sys.executable)
    for number, draw in enumerate(draws, 1):
        state = draw.state
        for version, (library_path, workers, interpreter) in versions.items():
            draw.state = state  # the same requests
            port = free_port()
            with served(library_path, port, workers, interpreter) as process:
                found[version].append(load(port, process, draw, options))
                if number == options.rounds:
                    kinds[version] = cpu_by_kind(port, process, draw)
            yield f"| {number} | {version} | {found[version][-1].cells()} |"
    if not all(each.is_well for results in found.values() for each in results):
        faults.append("some requests were not answered with 200")
    yield "\n| median of all rounds | before | now | ratio |\n|---|---:|---:|---:|"
    for name, field in (
        ("requests per second", "per_second"),
        ("server CPU, ms a request", "server_ms"),
        ("p50, ms", "p50"),
        ("p99, ms", "p99"),
    ):
        old, new = (
            statistics.median(getattr(each, field) for each in results)
            for results in found.values()
        )
        yield f"| {name} | {old:.1f} | {new:.1f} | {new / old:.2f} |"
    yield f"\n| server CPU, ms; {PER_KIND} requests of a kind | before | now | ratio |"
    yield "|---|---:|---:|---:|"
    for kind, old in kinds["before"].items():
        new = kinds["now"][kind]
        yield f"| {kind} | {old:.1f} | {new:.1f} | {new / max(old, 0.1):.2f} |"


def cpu_by_kind(port: int, process: int, draw: QueryGenerator) -> dict[str, float]:
    """The CPU time of the server for requests of each kind, one after the other, in ms."""
    line = HTTPConnection("127.0.0.1", port)
    found = {}
    for kind in SHARES:
        addresses = [draw.address(kind) for _ in range(PER_KIND)]
        before = cpu_seconds(process)
        for address in addresses:
            get(line, address)
        found[kind] = 1e3 * (cpu_seconds(process) - before) / PER_KIND
    return found


def names_in(python: str, library: str) -> set[str]:
    """The names of the equations of a library that another version of eqemb made."""
    code = (
        "import json, sys; from eqemb.facade.library import Library;"
        " print(json.dumps(Library.open(sys.argv[1]).records.equation_names()))"
    )
    done = subprocess.run([python, "-c", code, library], capture_output=True, check=True)
    return set(json.loads(done.stdout))


def main() -> None:
    """Measure, print, and optionally write the report to a file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--workers", type=int, help="processes that answer; as `eqemb serve`")
    parser.add_argument("--before", nargs=2, metavar=("PYTHON", "LIBRARY"))
    parser.add_argument("--rounds", type=int, default=3, help="with --before")
    parser.add_argument("--port", type=int, default=0, help="0 selects a free port")
    parser.add_argument("--out", type=Path, metavar="FILE.md")
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("wrk is not installed")
    lines: list[str] = []
    faults: list[str] = []
    for line in (compared if options.before else measured)(options, faults):
        print(line, flush=True)
        lines.append(line)
    if options.out is not None:
        options.out.write_text("\n".join(lines) + "\n", "utf-8")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
