"""Measure how much heavy clients slow down others, and the memory of the server meanwhile.

    python benchmarks/serving_load.py LIBRARY [--seconds 300] [--light 4] [--heavy 16]
        [--pause 0.25] [--workers N] [--seed 0] [--out benchmarks/results/serving_load.md]

Starts `eqemb serve LIBRARY`. For so many seconds, light clients ask alone: searches, pages, similar
equations, descriptions, articles, drawn as in `serving.py`, each client with a pause between two
requests, as people and programs make. Then they go on for as long, while heavy clients ask without
a pause for what costs most: wildcards, LaTeX of 1,900 characters, descriptions and explanations of
such LaTeX, exports of 500 hits, lists of 200 equations, 1,000 hits by pages, whole articles, calls
of agents. The two kinds of clients come from two addresses, 127.0.0.3 and 127.0.0.2 (on macOS, add
them first: `ifconfig lo0 alias 127.0.0.2`). The clients share the machine with the server.

Prints requests per second, p50 and p99 of both kinds, all responses by status, the cores that other
programs used, how much slower the light clients became, and the resident memory of the front
process and of the workers over time. Exits with 1 if a light request was not answered with 200, if
a heavy one got a status from 500 other than 503 and 504, or if p50 or p99 of the light clients more
than doubled.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import multiprocessing
import os
import platform
import re
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import numpy as np
from serving import (
    SHARES,
    QueryGenerator,
    cpu_seconds,
    free_port,
    machine_seconds,
    process_tree,
    served,
)

from eqemb.facade.library import Library

LIGHT_ADDRESS, HEAVY_ADDRESS = "127.0.0.3", "127.0.0.2"
#: Light requests that are drawn, in proportion to those that fit between the pauses; rounds of the
#: kinds of heavy requests. Both are repeated when they run out.
LIGHT_SHARE, HEAVY_ROUNDS = 1.2, 12
#: In a URL, stands for a number that changes with every request: answers in the cache are cheap.
NUMBER = "NUMBER"
#: Seconds for one answer, for opening a connection again, and between the samples of memory.
ANSWER_TIMEOUT, RECONNECT_PAUSE, SAMPLE_PAUSE = 30.0, 0.05, 5.0
#: Characters of long queries; equations of a list; times of which memory is shown.
LONG_QUERY, LISTED, MEMORY_ROWS = 1_900, 200, 10
#: How many times p50 and p99 of the light clients may grow.
MAX_SLOWDOWN = 2.0
COLUMNS = "requests | per second | p50, ms | p99, ms | status | server, cores | others, cores"
WILDCARDS = (
    "?a = ?b + ?c", r"\sum ?x ?y = ?z", r"\frac{?a ?b}{?b ?a} = ?c", "?a ?b ?a ?b = ?b ?a",
    "p(?x|?y) = ?z", "?a, ?b, ?c, ?d", r"\frac{?x}{?y}" * 60, "f = " + "?x " * 400,
)  # fmt: skip


class Load(NamedTuple):
    """What one kind of clients got."""

    seconds: float
    milliseconds: list[float]
    statuses: dict[str, int]

    @property
    def per_second(self) -> float:
        """Answers in a second."""
        return len(self.milliseconds) / self.seconds

    def percentile(self, percent: int) -> float:
        """A percentile of the latency in milliseconds."""
        if len(self.milliseconds) < 2:
            return 0.0
        return statistics.quantiles(self.milliseconds, n=100, method="inclusive")[percent - 1]

    def cells(self) -> str:
        """The cells of a table row."""
        counts = sorted(self.statuses.items())
        statuses = ", ".join(f"{count:,} x {status}" for status, count in counts)
        return (
            f"{len(self.milliseconds):,} | {self.per_second:.1f} | {self.percentile(50):.0f} |"
            f" {self.percentile(99):.0f} | {statuses or 'none'}"
        )


# ------------------------------------------------------------ requests


def get_request(address: str) -> bytes:
    """A GET request."""
    return f"GET {address} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def call_request(tool: str, **arguments: Any) -> bytes:
    """A call of a tool at /mcp."""
    call = {"name": tool, "arguments": arguments}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode()
    return (
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body


def light_requests(draw: QueryGenerator, options: argparse.Namespace) -> list[bytes]:
    """What light clients ask."""
    count = LIGHT_SHARE * options.light * options.seconds / max(options.pause, 0.01)
    return [get_request(draw.address()) for _ in range(max(options.light, int(count)))]


def heavy_requests(library: Library, draw: QueryGenerator, seed: int) -> list[bytes]:
    """What heavy clients ask: each kind in turn, with other equations and words every time."""
    random = np.random.default_rng(seed)
    names = library.records.equation_names()
    longest = sorted(library.contents(), key=lambda each: -each[1])[:20]

    def listed() -> list[tuple[str, str]]:
        chosen = random.choice(len(names), min(LISTED, len(names)), replace=False)
        return [("id", names[int(number)]) for number in chosen]

    def at(path: str, values: dict[str, Any]) -> bytes:
        asked = {
            name: f"{value} {NUMBER}" if name in ("q", "equation") else value
            for name, value in values.items()
        }
        return get_request(f"{path}?{urlencode(asked)}")

    def page(path: str, values: Any = ()) -> bytes:
        return get_request(f"{path}?{urlencode(values)}&n={NUMBER}")

    kinds = [
        lambda: at("/v1/similar", {"equation": random.choice(WILDCARDS), "size": 50}),
        lambda: at("/v1/similar", {"equation": long_latex(draw)}),
        lambda: at("/v1/search", {"q": f"{draw.words()} ${long_latex(draw)}$", "size": 50}),
        lambda: at("/v1/describe", {"equation": long_latex(draw), "count": 50}),
        lambda: at("/v1/why", {"query": long_latex(draw), "equation": long_latex(draw)}),
        lambda: at("/v1/export.json", {"q": draw.words(), "count": 500}),
        lambda: at("/v1/export.bib", {"q": f"${draw.latex()}$", "count": 500}),
        lambda: page("/saved", listed()),
        lambda: at("/v1/search", {"q": draw.words(), "page": 20, "size": 50}),
        lambda: page(f"/articles/{quote(longest[int(random.integers(len(longest)))][0])}"),
        lambda: call_request("describe_equation", equation=long_latex(draw), k=20),
    ]
    return [kind() for _ in range(HEAVY_ROUNDS) for kind in kinds]


def long_latex(draw: QueryGenerator) -> str:
    """Equations of the library one after the other, as many as a query may have."""
    made: list[str] = []
    while sum(map(len, made)) + len(made) < LONG_QUERY:
        made.append(draw.latex())
    return " ".join(made[:-1])


# ------------------------------------------------------------ clients


class Clients:
    """Some connections from one address, each with one request at a time, until a given time."""

    def __init__(self, port: int, address: str, pause: float, seed: int) -> None:
        self._port, self._address, self._pause = port, address, pause
        self._random, self._numbers = np.random.default_rng(seed), itertools.count()
        self.milliseconds: list[float] = []
        self.statuses: Counter[str] = Counter()

    async def run(self, requests: list[bytes], connections: int, seconds: float) -> Load:
        """Send requests over so many connections."""
        start = time.monotonic()
        parts = [requests[number::connections] for number in range(connections)]
        await asyncio.gather(*(self._client(part, start + seconds) for part in parts))
        return Load(time.monotonic() - start, self.milliseconds, dict(self.statuses))

    async def _client(self, requests: list[bytes], end: float) -> None:
        """One connection, opened again when it breaks."""
        endless = itertools.cycle(requests)
        marker = NUMBER.encode()
        while time.monotonic() < end:
            try:
                reader, writer = await asyncio.open_connection(
                    "127.0.0.1", self._port, local_addr=(self._address, 0)
                )
            except OSError as error:
                if not self.milliseconds:
                    sys.exit(f"cannot connect from {self._address}: {error}")
                await asyncio.sleep(RECONNECT_PAUSE)
                continue
            try:
                while time.monotonic() < end:
                    number = str(next(self._numbers)).encode()
                    await self._ask(reader, writer, next(endless).replace(marker, number))
                    if self._pause:
                        await asyncio.sleep(self._random.exponential(self._pause))
            except (OSError, asyncio.IncompleteReadError, TimeoutError):
                self.statuses["no answer"] += 1
                await asyncio.sleep(RECONNECT_PAUSE)
            finally:
                writer.close()

    async def _ask(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes
    ) -> None:
        start = time.perf_counter()
        async with asyncio.timeout(ANSWER_TIMEOUT):
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
            await reader.readexactly(int(length[1]) if length else 0)
        self.milliseconds.append(1e3 * (time.perf_counter() - start))
        self.statuses[head.split(b" ", 2)[1].decode()] += 1


def run_heavy(
    port: int, requests: list[bytes], connections: int, seconds: float, results: Any
) -> None:
    """Run the heavy clients, in a process of their own."""
    clients = Clients(port, HEAVY_ADDRESS, 0.0, 0)
    results.put(asyncio.run(clients.run(requests, connections, seconds)))


# ------------------------------------------------------------ memory


class Residence(threading.Thread):
    """Samples the resident memory of a server: of its front process, and of each worker."""

    def __init__(self, process: int, seconds: float) -> None:
        super().__init__(daemon=True)
        self._process, self._pause = process, min(SAMPLE_PAUSE, seconds / MEMORY_ROWS)
        self._ended, self._start = threading.Event(), time.monotonic()
        self.found: list[tuple[float, float, list[float]]] = []

    def run(self) -> None:
        """Sample until `end`."""
        while not self._ended.wait(self._pause):
            front, *workers = process_tree(self._process)
            now = time.monotonic() - self._start
            sizes = [size for worker in workers if (size := resident_mb(worker))]
            self.found.append((now, resident_mb(front), sizes))

    def end(self) -> None:
        """Stop."""
        self._ended.set()
        self.join()

    def rows(self) -> Iterator[str]:
        """A table of some samples, and of the highest values."""
        yield "| seconds | front process, MB | workers, MB |\n|---:|---:|---|"
        step = max(1, len(self.found) // MEMORY_ROWS)
        for seconds, front, workers in self.found[::step]:
            shown = ", ".join(f"{size:.0f}" for size in sorted(workers))
            yield f"| {seconds:.0f} | {front:.0f} | {shown} |"
        highest = max((max(workers, default=0.0) for *_, workers in self.found), default=0.0)
        front = max((front for _, front, _ in self.found), default=0.0)
        yield f"| highest | {front:.0f} | {highest:.0f} |"


def resident_mb(process: int) -> float:
    """The resident memory of a process; 0 if it has ended."""
    with contextlib.suppress(OSError):
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
        return int(found[1]) / 1024 if found else 0.0
    return 0.0


# ------------------------------------------------------------ the report


class Phase(NamedTuple):
    """Both kinds of clients for some time."""

    light: Load
    heavy: Load | None
    server: float
    """Cores that the server used."""
    others: float
    """Cores that everything else used, the clients included."""


def measure_phase(
    port: int, process: int, light: list[bytes], heavy: list[bytes] | None, options: Any
) -> Phase:
    """Let the clients ask."""
    context = multiprocessing.get_context("spawn")
    results, other = context.Queue(), None
    if heavy is not None:
        arguments = (port, heavy, options.heavy, options.seconds, results)
        other = context.Process(target=run_heavy, args=arguments)
        other.start()
    before, machine = cpu_seconds(process), machine_seconds()[0]
    clients = Clients(port, LIGHT_ADDRESS, options.pause, options.seed)
    found = asyncio.run(clients.run(light, options.light, options.seconds))
    used = (cpu_seconds(process) - before) / found.seconds
    busy = (machine_seconds()[0] - machine) / found.seconds
    done = None
    if other is not None:
        done = results.get(timeout=2 * ANSWER_TIMEOUT)
        other.join()
    return Phase(found, done, used, max(0.0, busy - used))


def report(options: argparse.Namespace, faults: list[str]) -> Iterator[str]:
    """The report in Markdown, line by line; failures are added to `faults`."""
    with Library.open(options.library) as library:
        draw = QueryGenerator(library, options.seed)
        light = [light_requests(draw, options) for _ in range(2)]
        heavy = heavy_requests(library, draw, options.seed)
        equations = len(library.engine.types)
    port = free_port()
    with served(options.library, port, options.workers) as process:
        memory = Residence(process, 2 * options.seconds)
        memory.start()
        yield (
            f"{equations:,} equations; {options.light} light connections with a pause of"
            f" {options.pause:g} s on average, {options.heavy} heavy ones without,"
            f" {options.seconds:g} s each; Python {platform.python_version()},"
            f" {os.cpu_count()} cores."
        )
        yield ", ".join(f"{kind} {share} %" for kind, share in SHARES.items()) + ".\n"
        yield f"| clients | {COLUMNS} |"
        yield "|---|---:|---:|---:|---:|---|---:|---:|"
        alone = measure_phase(port, process, light[0], None, options)
        yield f"| light alone | {alone.light.cells()} | {alone.server:.2f} | {alone.others:.2f} |"
        beside = measure_phase(port, process, light[1], heavy, options)
        cores = f"{beside.server:.2f} | {beside.others:.2f}"
        yield f"| light beside heavy | {beside.light.cells()} | {cores} |"
        assert beside.heavy is not None  # noqa: S101
        yield f"| heavy | {beside.heavy.cells()} | | |"
        memory.end()
    yield "\n| light clients | alone | beside heavy | ratio |\n|---|---:|---:|---:|"
    for percent in (50, 99):
        old, new = (phase.light.percentile(percent) for phase in (alone, beside))
        yield f"| p{percent}, ms | {old:.0f} | {new:.0f} | {new / max(old, 1):.2f} |"
        if new > MAX_SLOWDOWN * max(old, 1):
            faults.append(f"p{percent} of the light clients grew to {new / max(old, 1):.2f} times")
    yield ""
    yield from memory.rows()
    faults += wrong_statuses(alone.light, beside.light, beside.heavy)


def wrong_statuses(alone: Load, beside: Load, heavy: Load) -> Iterator[str]:
    """What should not have been answered so."""
    for name, load in (("alone", alone), ("beside heavy ones", beside)):
        wrong = {status: count for status, count in load.statuses.items() if status != "200"}
        if wrong or not load.statuses:
            yield f"light clients {name} got {wrong or 'no answer'}"
    bad = [each for each in heavy.statuses if not re.fullmatch(r"[234]\d\d|503|504", each)]
    if bad:
        yield f"heavy clients got {', '.join(bad)}"


def main() -> None:
    """Measure, print, and optionally write the report to a file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("--seconds", type=float, default=300, help="of each of the two parts")
    parser.add_argument("--light", type=int, default=4, help="connections of light clients")
    parser.add_argument("--heavy", type=int, default=16, help="connections of heavy clients")
    parser.add_argument("--pause", type=float, default=0.25, help="seconds, of light clients")
    parser.add_argument("--workers", type=int, help="processes that answer; as `eqemb serve`")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, metavar="FILE.md")
    options = parser.parse_args()
    lines: list[str] = []
    faults: list[str] = []
    for line in report(options, faults):
        print(line, flush=True)
        lines.append(line)
    if options.out is not None:
        options.out.write_text("\n".join(lines) + "\n", "utf-8")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
