"""Worker processes: the same answers as in one process, deaths, time limits, and no orphans."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest
from fastapi.testclient import TestClient

from eqemb.server import fair_queue, processes
from eqemb.server.processes import default_workers
from eqemb.storage.process import python_command
from server.clients import ENDPOINTS, PAGES, make_client
from synthetic import start, wait_for

#: URLs that fail, each with another status or message.
FAILURES = [
    "/nope",
    "/v1/nope",
    "/v1/search",
    "/v1/search?q=",
    "/?q=" + "x%5E%7B" * 600,
    "/v1/search?q=" + "x%5E%7B" * 600,
    "/v1/search?q=cosine&collection=none",
    "/v1/equations/angles%2399",
    "/v1/words?word=unheardof",
    "/v1/map",
    "/map",
    "/articles/none",
    "/v1/articles/angles?part=99",
    "/v1/search?q=cosine&size=0",
]
PS = shutil.which("ps") or ""
OTHERS = ["/v1/healthz", "/static/style.css", "/openapi.json"]


def pids(client: TestClient) -> list[int]:
    """Return the ids of the workers of a server."""
    found: list[int] = client.app.state.processes.pids  # type: ignore[attr-defined]
    return found


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[TestClient]:
    """A server with two worker processes."""
    with make_client(folder, workers=2, seconds=60) as made:
        assert wait_for(lambda: len(pids(made)) == 2)
        yield made


@pytest.mark.parametrize("url", [*ENDPOINTS, *PAGES, *FAILURES, *OTHERS])
def test_workers_respond_as_one_process_does(
    client: TestClient, served: TestClient, url: str
) -> None:
    """Status, headers and bytes; from the cache, too."""
    expected = client.get(url)
    for _ in range(2):
        found = served.get(url)
        assert (found.status_code, found.content) == (expected.status_code, expected.content)
        assert dict(found.headers) == dict(expected.headers)
    if "etag" in expected.headers:
        again = served.get(url, headers={"If-None-Match": expected.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


def test_a_head_request_is_answered_without_a_body(served: TestClient) -> None:
    """By the same worker code as GET."""
    assert served.head("/v1/search?q=recall").status_code == 200


def test_a_killed_worker_is_replaced(served: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    """The log says so, and requests meanwhile are answered by the other one."""
    before = pids(served)
    os.kill(before[0], signal.SIGTERM)
    assert served.get("/v1/search?q=cosine&size=7").status_code == 200
    assert wait_for(lambda: len(pids(served)) == 2 and before[0] not in pids(served))
    assert before[1] in pids(served)
    assert any(str(before[0]) in record.getMessage() for record in caplog.records)


def test_killing_workers_under_load_fails_no_request(served: TestClient) -> None:
    """A request whose worker was killed is answered by another one."""
    statuses: list[int] = []
    stop = threading.Event()

    def ask(name: int) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            url = f"/v1/search?q=cosine+word{name}x{number}"
            statuses.append(served.get(url).status_code)

    threads = [threading.Thread(target=ask, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(3):
        assert wait_for(lambda: len(pids(served)) == 2)
        victim = pids(served)[0]
        count = len(statuses)
        assert wait_for(lambda count=count: len(statuses) > count + 4)  # type: ignore[misc]
        os.kill(victim, signal.SIGTERM)
        assert wait_for(lambda victim=victim: victim not in pids(served))  # type: ignore[misc]
    stop.set()
    for thread in threads:
        thread.join()
    assert set(statuses) == {200}


def worker_that(folder: Path, body: str) -> Callable[..., list[str]]:
    """Return a replacement of `python_command` whose worker runs `body` for each request."""
    program = folder / "stand_in.py"
    program.write_text(
        "import os, sys, time\n"
        "import eqemb.server.processes\n"  # the type of requests
        "from eqemb.storage.messages import receive, send\n"
        "source, target = sys.stdin.buffer, sys.stdout.buffer\n"
        "receive(source)\n"
        "send(target, 'ready')\n"
        "while True:\n"
        f"    request = receive(source)\n    {body}\n"
    )
    return lambda _module: [sys.executable, str(program)]


def test_a_query_that_kills_workers_is_answered_503(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After two workers; one sentence, and the server stays up."""
    monkeypatch.setattr(processes, "python_command", worker_that(tmp_path, "os._exit(3)"))
    with make_client(folder, workers=2, seconds=60) as client:
        assert wait_for(lambda: len(pids(client)) == 2)
        answer = client.get("/v1/search?q=cosine")
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
        assert re.fullmatch(r"the worker processes ended [^.]*", answer.json()["error"])
        assert client.get("/?q=cosine").status_code == 503
        assert client.get("/v1/healthz").status_code == 200
        assert wait_for(lambda: len(pids(client)) == 2)


def test_a_worker_over_the_time_limit_is_killed(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Its request gets 504 and is not repeated; another worker takes its place, as is logged."""
    note = tmp_path / "asked"
    body = f"open({str(note)!r}, 'a').write('x'); time.sleep(600)"
    monkeypatch.setattr(processes, "python_command", worker_that(tmp_path, body))
    with make_client(folder, workers=1, seconds=1.0) as client:
        assert wait_for(lambda: len(pids(client)) == 1)
        (before,) = pids(client)
        answer = client.get("/v1/search?q=cosine")
        assert (answer.status_code, "1 seconds" in answer.json()["error"]) == (504, True)
        assert wait_for(lambda: pids(client) not in ([], [before]))
        assert note.read_text() == "x"
    assert [record.getMessage() for record in caplog.records] == [
        f"worker process {before} was replaced: an answer took longer than the limit of 1 s"
    ]


def test_requests_that_find_too_many_waiting_are_rejected(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once, with 503."""
    monkeypatch.setattr(fair_queue, "MAX_WAITING", 0)
    with make_client(folder, workers=1) as client:
        assert client.get("/v1/stats").status_code == 503


def test_workers_that_do_not_start_are_tried_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests get 503 until one starts."""
    original = python_command
    missing = tmp_path / "none.py"
    monkeypatch.setattr(processes, "python_command", lambda _module: [sys.executable, str(missing)])
    monkeypatch.setattr(processes, "FIRST_PAUSE", 0.1)
    monkeypatch.setattr(processes, "MAX_WAIT", 0.5)
    with make_client(folder, workers=1, seconds=0.5) as client:
        assert client.get("/v1/stats").status_code == 503
        monkeypatch.setattr(processes, "python_command", original)
        assert wait_for(lambda: len(pids(client)) == 1)


def test_a_changed_library_is_opened_by_workers(folder: Path, tmp_path: Path) -> None:
    """One that is away gets 503; it is found again when it is back."""
    place = tmp_path / "library"
    shutil.copytree(folder, place)
    with make_client(place, workers=1, seconds=60) as client:
        assert client.get("/v1/search?q=cosine").status_code == 200
        place.rename(tmp_path / "away")
        gone = client.get("/v1/search?q=angle")
        assert (gone.status_code, str(tmp_path) in gone.text) == (503, False)
        (tmp_path / "away").rename(place)
        assert client.get("/v1/search?q=angle").status_code == 200


def is_running(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    done = subprocess.run(
        [PS, "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return bool(done.stdout.strip()) and not done.stdout.startswith("Z")


def children(pid: int) -> list[int]:
    """Return the processes whose parent is a process."""
    done = subprocess.run([PS, "-eo", "pid=,ppid="], capture_output=True, text=True, check=True)
    pairs = (line.split() for line in done.stdout.splitlines())
    return [int(own) for own, parent in pairs if int(parent) == pid]


@pytest.mark.skipif(os.name == "nt" or not PS, reason="needs ps")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_workers_end_with_the_server(folder: Path, number: int) -> None:
    """However it ends."""
    arguments = ("--port", "0", "--no-map", "--workers", "2")
    with start("-m", "eqemb", "serve", folder, *arguments) as process:
        assert process.stderr is not None
        url = process.stderr.readline().split()[0]
        for _ in range(300):
            with contextlib.suppress(URLError, HTTPError), urlopen(f"{url}v1/stats") as answer:  # noqa: S310
                assert answer.status == 200
                break
            time.sleep(0.1)
        assert wait_for(lambda: len(children(process.pid)) >= 2)
        workers = children(process.pid)
        process.send_signal(number)
        process.communicate(timeout=30)
    assert wait_for(lambda: not any(map(is_running, workers)))


def test_the_default_is_one_worker_for_each_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """At least two; not more than eight, since each needs memory of its own."""
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    for cores, workers in ((None, 2), (1, 2), (4, 4), (96, 8)):
        monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
        assert default_workers() == workers
