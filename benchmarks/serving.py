"""What a server bears: many who ask at once, one of them hostile; and how soon a page is there.

    python benchmarks/serving.py LIBRARY [--seconds 60] [--connections 32] [--out FILE.md]

Starts `eqemb serve LIBRARY` and lets `wrk` ask it on loopback, with two threads: search by words,
pages of first results, similar by LaTeX and by name, describe, words, equations, articles and hits
on the map, drawn from the library with a fixed seed. Then the same, drawn with another seed, beside
one client, in a process of its own, that sends addresses and bodies of a megabyte and queries that
nest deep, one after the other, and counts what it is told.

Requests a second, how many of the addresses were distinct (what is asked twice may be answered from
memory), latency by the clock of `wrk`, every status that is not 200, and the server's resident
memory every five seconds: what grows without end has grown since half time too. At last, with
nobody else asking: the page of first results for 50 questions of a third seed, and the bytes of a
page without results. The server, `wrk` and the hostile client share the machine: where they have
two cores, they take them from each other.

Ends with 1 where anything was not answered 200, or anything hostile not with a status of 400 to
499; what the server wrote to its log at the end goes to standard error.
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
from typing import Any
from urllib.parse import quote, urlencode

import numpy as np

from eqemb.corpus.vocabulary import STOP_WORDS
from eqemb.errors import UsageError
from eqemb.facade.library import Library
from eqemb.formula import layout
from eqemb.server.queries import check_query

DRAWN, TIMED, NOT_COUNTED = 40_000, 50, 10
THREADS = 2
#: Seconds in which a server must be there, and lines of its log that are shown.
PATIENCE, TAIL = 30, 20
#: Of a hundred requests.
SHARES = {"search": 30, "page": 15, "similar by LaTeX": 10, "similar by name": 10, "describe": 10,
          "words": 5, "equations": 8, "articles": 3, "one article": 4, "map/hits": 5}  # fmt: skip
MEGABYTE = 1 << 20
#: A request of every hostile kind: head and body.
HOSTILE = {
    "address of 1 MB": (f"GET /v1/search?q={'x' * MEGABYTE}", b""),
    "GET with a body of 1 MB": ("GET /v1/search?q=x", b"x" * MEGABYTE),
    "POST with a body of 1 MB": ("POST /v1/search?q=x", b"x" * MEGABYTE),
    "braces 600 deep": (f"GET /v1/search?q={quote('x^{' * 600)}", b""),
    "roots 380 deep": (f"GET /v1/similar?equation={quote(chr(92) + 'sqrt') * 380}", b""),
    "brackets after closing ones": (f"GET /?q={quote(')' * 900 + '(' * 900)}", b""),
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
  local told, sent = {}, {}
  for _, thread in ipairs(threads) do
    sent[#sent + 1] = thread:get("sent")
    for status, count in pairs(thread:get("wrong")) do
      told[status] = (told[status] or 0) + count
    end
  end
  for _, name in ipairs({"connect", "read", "write", "timeout"}) do
    if summary.errors[name] > 0 then told[name] = summary.errors[name] end
  end
  local parts = {}
  for name, count in pairs(told) do parts[#parts + 1] = string.format('"%%s": %%d', name, count) end
  print(string.format(
    '{"requests": %%d, "seconds": %%f, "p50": %%f, "p99": %%f, "sent": [%%s], "wrong": {%%s}}',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3,
    latency:percentile(99) / 1e3, table.concat(sent, ", "), table.concat(parts, ", ")))
end
"""


# ------------------------------------------------------------ questions


class Draw:
    """Questions to a library, the same for the same seed."""

    def __init__(self, library: Library, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        wording, model = library.questions.wording, library.model
        if model is None:
            sys.exit("there is no model to ask for words: make the library with `eqemb build`")
        known = set(model.keys["words"])
        self._words = [
            word
            for word in wording.words
            if len(word) > 3 and word.isalpha() and word not in STOP_WORDS and word in known
        ]
        shapes = library.records.rows("SELECT expanded FROM equations ORDER BY article, ordinal")
        self._names = [
            name
            for name, (latex,) in zip(library.questions.names(), shapes, strict=True)
            if layout(latex).root is not None  # a picture has no symbol to look for
        ]
        self._articles = [name for name, count, _ in library.contents() if count]
        self._latex = [
            latex
            for (latex,) in library.records.rows("SELECT expanded FROM equations")
            if 12 <= len(latex) <= 300 and _may_be_asked(latex)
        ]

    def _one(self, things: list[str]) -> str:
        return things[int(self._random.integers(len(things)))]

    def words(self) -> str:
        """One to three words."""
        return " ".join(self._one(self._words) for _ in range(self._random.integers(1, 4)))

    def latex(self) -> str:
        """An equation of the library."""
        return self._one(self._latex)

    def address(self) -> str:
        """A question of any kind, by its share."""
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


def _may_be_asked(latex: str) -> bool:
    if "$" in latex:  # it is asked between dollars too
        return False
    try:
        return layout(check_query(latex)).root is not None
    except UsageError:
        return False


# ------------------------------------------------------------ a server


@contextlib.contextmanager
def served(library: Path, port: int) -> Iterator[int]:
    """`eqemb serve`, until its questions are asked; gives its process, and shows its last words."""
    command = [sys.executable, "-m", "eqemb", "serve", str(library), "--port", str(port)]
    with (
        tempfile.TemporaryFile("w+") as said,
        subprocess.Popen([*command, "--no-map"], stderr=said) as process,
    ):
        try:
            for _ in range(10 * PATIENCE):
                if process.poll() is not None:
                    sys.exit("the server has ended before it was asked")
                with contextlib.suppress(OSError):
                    asked(HTTPConnection("127.0.0.1", port, timeout=PATIENCE), "/v1/healthz")
                    break
                time.sleep(0.1)
            else:
                sys.exit(f"the server is not there after {PATIENCE} seconds")
            yield process.pid
        finally:
            process.terminate()
            process.wait()
            said.seek(0)
            print(*said.readlines()[-TAIL:], sep="", end="", file=sys.stderr)


def asked(line: HTTPConnection, address: str) -> bytes:
    """An answer, which must be one."""
    line.request("GET", address)
    answer = line.getresponse()
    body = answer.read()
    if answer.status != 200:
        sys.exit(f"{address} was answered {answer.status}: {body[:200]!r}")
    return body


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        return int(door.getsockname()[1])


class Memory(threading.Thread):
    """Megabytes that a process has in memory, every five seconds (often, in a short run)."""

    def __init__(self, process: int, seconds: float) -> None:
        super().__init__(daemon=True)
        self._file, self._pause = Path(f"/proc/{process}/status"), min(5.0, seconds / 4)
        self._end = threading.Event()
        self.found: list[float] = []

    def run(self) -> None:
        """Look until the end."""
        while not self._end.wait(self._pause if self.found else 0):
            told = re.search(r"VmRSS:\s*(\d+) kB", self._file.read_text())
            self.found.append(int(told[1]) / 1024 if told else 0.0)

    def end(self) -> str:
        """What was seen, and whether it grew in the second half."""
        self._end.set()
        self.join()
        half, last = self.found[len(self.found) // 2], self.found[-1]
        grown = 100 * (last / half - 1)
        return f"{', '.join(f'{mb:.0f}' for mb in self.found)} ({grown:+.1f} % since half time)"


# ------------------------------------------------------------ who asks


def hostile(port: int, seconds: float, told: Any) -> None:
    """Send what no server wants, one after the other, and count the answers."""
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in HOSTILE}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for kind, (start, body) in HOSTILE.items():
            length = f"Content-Length: {len(body)}\r\n" if body else ""
            head = f"{start} HTTP/1.1\r\nHost: localhost\r\n{length}Connection: close\r\n\r\n"
            counts[kind][_status(port, head.encode() + body)] += 1
    told.put({kind: dict(count) for kind, count in counts.items()})


def _status(port: int, request: bytes) -> str:
    """The status of an answer; it may come before all was sent."""
    said = b""
    with (
        contextlib.suppress(OSError),
        socket.create_connection(("127.0.0.1", port), timeout=30) as line,
    ):
        with contextlib.suppress(ConnectionError):
            line.sendall(request)
        said = line.recv(64)
    found = re.match(rb"HTTP/1.1 (\d+)", said)
    return found[1].decode() if found else "no answer"


def script_in(folder: Path, addresses: list[str]) -> Path:
    """A program for `wrk`, which asks for these addresses."""
    lines, script = folder / "addresses", folder / "ask.lua"
    lines.write_text("".join(f"{address}\n" for address in addresses))
    script.write_text(SCRIPT % (lines, THREADS))
    return script


def load(port: int, process: int, draw: Draw, asked: argparse.Namespace) -> tuple[list[str], bool]:
    """Cells of the table: what many who ask were told; and whether it was always an answer."""
    addresses = [draw.address() for _ in range(DRAWN)]
    memory = Memory(process, asked.seconds)
    memory.start()
    command = ["wrk", f"-t{THREADS}", f"-c{asked.connections}", f"-d{asked.seconds}s"]
    with tempfile.TemporaryDirectory() as folder:
        script = script_in(Path(folder), addresses)
        done = subprocess.run(
            [*command, "--timeout", "15s", "-s", str(script), f"http://127.0.0.1:{port}"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    told = json.loads(done.stdout.strip().rpartition("\n")[2])
    wrong = ", ".join(f"{count} x {name}" for name, count in sorted(told["wrong"].items()))
    cells = [
        f"{told['requests']:,}",
        f"{distinct(addresses, told['sent']):.0%}",
        f"{told['requests'] / told['seconds']:.0f}",
        f"{told['p50']:.0f}",
        f"{told['p99']:.0f}",
        wrong or "none",
        memory.end(),
    ]
    return cells, not wrong and told["requests"] > 0


def distinct(addresses: list[str], sent: list[int]) -> float:
    """The share of distinct addresses among those that the threads of `wrk` have sent."""
    starts = [len(addresses) * thread // len(sent) for thread in range(len(sent))]
    found = {
        addresses[at % len(addresses)]
        for start, count in zip(starts, sent, strict=True)
        for at in range(start, start + count)
    }
    return len(found) / max(1, sum(sent))


# ------------------------------------------------------------ one who asks


def first_pages(port: int, draw: Draw) -> Iterator[str]:
    """How soon the page of first results is there."""
    line = HTTPConnection("127.0.0.1", port)
    yield "| page of first results, ms | median | p90 | largest |\n|---|---:|---:|---:|"
    for kind, question in (("words", draw.words), ("LaTeX", lambda: f"${draw.latex()}$")):
        drawn = list(dict.fromkeys(question() for _ in range(20 * TIMED)))[: TIMED + NOT_COUNTED]
        times = []
        for query in drawn:
            start = time.perf_counter()
            asked(line, _at("/", q=query))
            times.append(1e3 * (time.perf_counter() - start))
        times = times[NOT_COUNTED:]
        p90 = statistics.quantiles(times, n=10)[-1]
        yield (
            f"| {kind}, {len(times)} questions | {statistics.median(times):.0f} | {p90:.0f} |"
            f" {max(times):.0f} |"
        )


def weights(port: int) -> Iterator[str]:
    """Bytes of a page without results, and of all that it loads."""
    line = HTTPConnection("127.0.0.1", port)
    yield "| page without results | HTML | what it loads | bytes |\n|---|---:|---|---:|"
    for address in ("/", "/?q=qqqqqq"):
        page = asked(line, address)
        files = sorted(set(re.findall(r'(?:src|href)="(/static/[^"]+)"', page.decode())))
        sizes = {Path(file).name: len(asked(line, file)) for file in files}
        parts = ", ".join(f"{name} {size:,}" for name, size in sizes.items())
        yield f"| `{address}` | {len(page):,} | {parts} | {len(page) + sum(sizes.values()):,} |"


def measured(options: argparse.Namespace, faults: list[str]) -> Iterator[str]:
    """The whole report in Markdown, line by line; `faults` gets what should not have been."""
    with Library.open(options.library) as library:
        many, beside, alone = (Draw(library, seed) for seed in range(3))
        equations = len(library.questions.types)
    port = options.port or free_port()
    with served(options.library, port) as process:
        yield (
            f"{equations:,} equations; {options.connections} connections, {options.seconds} s;"
            f" Python {platform.python_version()}, {os.cpu_count()} cores."
        )
        yield ", ".join(f"{kind} {share} %" for kind, share in SHARES.items()) + ".\n"
        yield "| | requests | distinct | a second | p50, ms | p99, ms | not 200 | memory, MB |"
        yield "|---|---:|---:|---:|---:|---:|---|---|"
        cells, is_well = load(port, process, many, options)
        yield f"| many | {' | '.join(cells)} |"
        told = multiprocessing.get_context("spawn").Queue()
        other = multiprocessing.get_context("spawn").Process(
            target=hostile, args=(port, options.seconds, told)
        )
        other.start()
        cells, is_still_well = load(port, process, beside, options)
        yield f"| and a hostile one | {' | '.join(cells)} |"
        if not (is_well and is_still_well):
            faults.append("not everything was answered 200")
        yield "\n| the hostile one sent | was told |\n|---|---|"
        for kind, counts in told.get(timeout=120).items():
            said = ", ".join(f"{count:,} x {status}" for status, count in counts.items())
            yield f"| {kind} | {said} |"
            if not counts or any(not re.fullmatch(r"4\d\d", status) for status in counts):
                faults.append(f"not always refused: {kind}")
        other.join()
        yield ""
        yield from first_pages(port, alone)
        yield ""
        yield from weights(port)


def main() -> None:
    """Measure, print, and keep."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--port", type=int, default=0, help="0: any that is free")
    parser.add_argument("--out", type=Path, metavar="FILE.md")
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("there is no wrk on this machine")
    lines: list[str] = []
    faults: list[str] = []
    for line in measured(options, faults):
        print(line, flush=True)
        lines.append(line)
    if options.out is not None:
        options.out.write_text("\n".join(lines) + "\n", "utf-8")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
