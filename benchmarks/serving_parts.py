"""Serve a library in parts with Ray Serve, kill a replica under load, and compare with one process.

    python benchmarks/serving_parts.py LIBRARY [--parts 3] [--replicas 1] [--seconds 40]

LIBRARY has several segments and a model. The same requests, drawn as in `serving.py`, are sent over
some connections to `eqemb serve` and to `eqemb serve --engine ray`; one replica of the latter is
killed (SIGKILL) in the middle. Prints for each server requests by status, requests per second and
latencies; of the requests around the kill, how many failed or had an incomplete answer, and when
answers were complete again. First, the answers of both servers to the queries of `queries.toml` and
to the judged topics are compared. Exits with 1 if a request failed that was sent after the kill.
"""

import argparse
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from serving import QueryGenerator, cpu_seconds, free_port, get, memory_of, process_tree

from eqemb.facade.library import Library
from eqemb.library.report import counted

HERE = Path(__file__).parent
START_TIMEOUT = 300
#: Requests of each connection that are drawn in advance; they are repeated when they run out.
DRAWN = 400
#: Seconds for everything to be as before the kill.
RECOVERY_TIMEOUT = 120


class Request(NamedTuple):
    """A request that was sent."""

    start: float
    end: float
    status: str
    parts: str
    """How many parts answered, if not all did."""


# ------------------------------------------------------------ servers


@contextmanager
def served(library: Path, port: int, *options: str) -> Iterator[int]:
    """Run `eqemb serve`; yields its process id."""
    command = [sys.executable, "-m", "eqemb", "serve", str(library), "--port", str(port)]
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen([*command, "--no-map", *options], stderr=log, stdout=log) as process,
    ):
        try:
            end = time.monotonic() + START_TIMEOUT
            while True:
                if process.poll() is not None or time.monotonic() > end:
                    log.seek(0)
                    sys.exit(f"the server did not start: {log.read()[-2000:]}")
                with suppress(OSError):
                    get(HTTPConnection("127.0.0.1", port, timeout=60), "/v1/stats")
                    break
                time.sleep(0.2)
            yield process.pid
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
            log.seek(0)
            print(log.read()[-1500:], file=sys.stderr)


def replicas_of(process: int) -> list[int]:
    """The ids of the replicas of a server that started Ray itself."""
    found = []
    for one in process_tree(process):
        with suppress(OSError):
            if Path(f"/proc/{one}/cmdline").read_bytes().startswith(b"ray::ServeReplica:"):
                found.append(one)
    return found


# ------------------------------------------------------------ load


def send(port: int, addresses: list[str], end: float, done: list[Request]) -> None:
    """Send requests over one connection until a time."""
    line = HTTPConnection("127.0.0.1", port, timeout=30)
    number = 0
    while (start := time.monotonic()) < end:
        address = addresses[number % len(addresses)]
        number += 1
        parts = ""
        try:
            line.request("GET", address)
            answer = line.getresponse()
            answer.read()
            status, parts = str(answer.status), answer.getheader("X-Eqemb-Parts") or ""
        except (OSError, HTTPException) as error:
            status = type(error).__name__
            line.close()
        done.append(Request(start, time.monotonic(), status, parts))


def load(
    port: int,
    addresses: list[list[str]],
    seconds: float,
    middle: Callable[[], None] = lambda: None,
) -> list[Request]:
    """Send requests over several connections at once; `middle` is called halfway."""
    done: list[list[Request]] = [[] for _ in addresses]
    end = time.monotonic() + seconds
    threads = [
        threading.Thread(target=send, args=(port, own, end, found))
        for own, found in zip(addresses, done, strict=True)
    ]
    for thread in threads:
        thread.start()
    time.sleep(seconds / 2)
    middle()
    for thread in threads:
        thread.join()
    return sorted(request for found in done for request in found)


def row(
    name: str, requests: list[Request], cpu: float | None = None, memory: float | None = None
) -> str:
    """A row of the table: what a load gave; CPU time and memory only of a whole load."""
    times = [1e3 * (each.end - each.start) for each in requests]
    span = max(each.end for each in requests) - min(each.start for each in requests)
    statuses = ", ".join(
        f"{n} x {s}" for s, n in sorted(Counter(r.status for r in requests).items())
    )
    p99 = statistics.quantiles(times, n=100)[98]
    return (
        f"| {name} | {len(requests):,} | {len(requests) / span:.1f} |"
        f" {statistics.median(times):.0f} | {p99:.0f} |"
        f" {'' if cpu is None else f'{1e3 * cpu / len(requests):.1f}'} |"
        f" {'' if memory is None else f'{memory:.0f}'} | {statuses} |"
    )


# ------------------------------------------------------------ agreement


def questions() -> list[str]:
    """URLs of the queries whose answers are compared."""
    plain = tomllib.loads((HERE / "queries.toml").read_text("utf-8"))
    topics = tomllib.loads((HERE / "judged" / "topics.toml").read_text("utf-8"))["topic"]
    words = plain["words"] + [each["query"] for each in topics if each["kind"] == "words"]
    equations = plain["equations"] + [each["query"] for each in topics if each["kind"] != "words"]
    return [f"/v1/search?{urlencode({'q': query})}" for query in words] + [
        f"/v1/similar?{urlencode({'equation': query})}" for query in equations
    ]


def first_ten(port: int) -> list[list[tuple[str, float]]]:
    """The first ten answers to every query, with their scores."""
    line = HTTPConnection("127.0.0.1", port, timeout=120)
    answers = [json.loads(get(line, address)) for address in questions()]
    return [[(hit["id"], hit["score"]) for hit in answer["hits"]] for answer in answers]


def agreement(one: list[list[tuple[str, float]]], many: list[list[tuple[str, float]]]) -> str:
    """How well two servers agree."""
    shares = [
        len({name for name, _ in a} & {name for name, _ in b}) / max(1, len(a), len(b))
        for a, b in zip(one, many, strict=True)
        if a or b
    ]
    order = sum(
        [name for name, _ in a] == [name for name, _ in b] for a, b in zip(one, many, strict=True)
    )
    same = sum(a == b for a, b in zip(one, many, strict=True))
    return (
        f"first ten of {len(one)} queries: {statistics.mean(shares):.4f} shared, same order"
        f" {order}, same scores as well {same}"
    )


# ------------------------------------------------------------ the kill


class Kill:
    """Kills a replica, and waits until the server is whole again."""

    def __init__(self, port: int, process: int) -> None:
        self._port, self._process = port, process
        self.at = 0.0
        self.restored = float("nan")
        self._watch = threading.Thread(target=self._wait)

    def __call__(self) -> None:
        """Kill the replica that was started first."""
        os.kill(replicas_of(self._process)[0], signal.SIGKILL)
        self.at = time.monotonic()
        self._watch.start()

    def _wait(self) -> None:
        line = HTTPConnection("127.0.0.1", self._port, timeout=30)
        has_missed = False
        while time.monotonic() < self.at + RECOVERY_TIMEOUT:
            parts = json.loads(get(line, "/v1/healthz"))["parts"]
            is_whole = all(each["replicas"] == each["wanted"] for each in parts)
            has_missed |= not is_whole
            if has_missed and is_whole:
                self.restored = time.monotonic() - self.at
                return
            time.sleep(0.2)

    def report(self, requests: list[Request]) -> tuple[list[str], int]:
        """Lines on the requests around the kill, and how many that came after it failed."""
        self._watch.join()
        flying = [each for each in requests if each.start <= self.at < each.end]
        later = [each for each in requests if each.start > self.at]
        failed = [each for each in later if each.status != "200"]
        partial = [each for each in requests if each.parts]
        notes = ", ".join(f"{n} x {s!r}" for s, n in Counter(e.parts for e in partial).items())
        last = max((each.end for each in partial), default=self.at) - self.at
        slowest = max((each.end - each.start for each in [*flying, *later]), default=0.0)
        return [
            (
                f"in flight at the kill: {len(flying)}, of which failed"
                f" {sum(each.status != '200' for each in flying)}"
            ),
            f"sent after the kill: {len(later)}, of which failed {len(failed)}",
            f"incomplete answers: {notes or 'none'}; complete again after {last:.1f} s",
            (
                f"all replicas running again after {self.restored:.1f} s; slowest request since the"
                f" kill {slowest:.1f} s"
            ),
        ], len(failed)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("--parts", type=int, default=3)
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--connections", type=int, default=8)
    options = parser.parse_args()
    with Library.open(options.library) as library:
        segments, equations = len(library.manifest.segments), len(library)
        draw = QueryGenerator(library, 0)
        addresses = [[draw.address() for _ in range(DRAWN)] for _ in range(options.connections)]
    print(
        f"{equations:,} equations in {counted(segments, 'segment')};"
        f" {counted(options.parts, 'part')}, {counted(options.replicas, 'replica')} each;"
        f" {options.connections} connections, {options.seconds:g} s;"
        f" Python {platform.python_version()}, {os.cpu_count()} cores.\n"
    )
    port = free_port()
    rows = []
    with served(options.library, port) as process:
        one = first_ten(port)
        before = cpu_seconds(process)
        requests = load(port, addresses, options.seconds)
        cpu, memory = cpu_seconds(process) - before, memory_of(process)
        rows.append(row("eqemb serve", requests, cpu, memory))
    port = free_port()
    ray = ("--engine", "ray", "--parts", str(options.parts), "--replicas", str(options.replicas))
    with served(options.library, port, *ray) as process:
        agreed = agreement(one, first_ten(port))
        kill = Kill(port, process)
        before = cpu_seconds(process)
        requests = load(port, addresses, options.seconds, kill)
        lines, failed = kill.report(requests)
        cpu, memory = cpu_seconds(process) - before, memory_of(process)
        first = [each for each in requests if each.end <= kill.at]
        rows.append(row("--engine ray", requests, cpu, memory))
        rows.append(row("before the kill", first))
        rest = [each for each in requests if each.end > kill.at]
        rows.append(row("after the kill", rest))
    print("| server | requests | per second | p50, ms | p99, ms | CPU, ms | memory, MB | status |")
    print("|---|---:|---:|---:|---:|---:|---:|---|")
    print("\n".join([*rows, "", *(f"* {line}" for line in (agreed, *lines))]))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
