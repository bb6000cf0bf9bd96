"""The worker pool: time limits, a full queue, and libraries that change on disk."""

import asyncio
import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from axes import make_library
from eqemb.errors import UsageError
from eqemb.facade.library import Library
from eqemb.facade.update import add_papers, compact_library, remove_articles
from eqemb.server import responses
from eqemb.server.app import make_app
from eqemb.server.service import Page, Service
from eqemb.server.workers import BusyError, WorkerPool
from server.clients import make_client
from synthetic import paper
from timing import assert_quick


def test_a_message_does_not_repeat_a_long_query(folder: Path) -> None:
    """Its start and its end remain."""
    with make_client(folder) as client:
        answer = client.get("/v1/articles/" + "😀" * 1_000)
        assert answer.status_code == 404
        said = answer.json()["error"]
        assert said.startswith("no article '😀😀")
        assert said.endswith("in this library")
        assert " … " in said
        assert len(said) < 650


def test_a_slow_request_does_not_block_others(folder: Path) -> None:
    """It fails with 504 after the time limit."""
    with make_client(folder, threads=2, seconds=0.3) as busy:
        pool: WorkerPool = busy.app.state.pool  # type: ignore[attr-defined]
        started, finish, statuses = threading.Event(), threading.Event(), list[int]()
        original = pool._answer

        def slow(request: Callable[[Service], Any]) -> Any:
            if not started.is_set():
                started.set()
                finish.wait(30)
            return original(request)

        pool._answer = slow  # type: ignore[method-assign]
        thread = threading.Thread(
            target=lambda: statuses.append(busy.get("/v1/search?q=cosine").status_code)
        )
        thread.start()
        assert started.wait(5)
        assert busy.get("/v1/healthz").status_code == 200
        assert any(busy.get("/v1/search?q=recall").status_code == 200 for _ in range(10))
        thread.join()
        finish.set()
        assert statuses == [504]


def test_a_full_queue_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, with 503; the health check still works."""
    monkeypatch.setattr("eqemb.server.workers.QUEUE_PER_THREAD", -1)
    with make_client(folder, threads=1) as full:
        answer = full.get("/v1/stats")
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
        assert full.get("/v1/healthz").status_code == 200


def test_concurrent_requests_get_the_same_answer(client: TestClient) -> None:
    """Each thread has its own library."""
    answers: list[bytes] = []

    def ask() -> None:
        answers.extend(client.get(f"/v1/search?q=cosine&size={n}").content for n in (1, 2, 3))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 24
    assert len(set(answers)) == 3


def test_a_changed_library_is_reopened(tmp_path: Path) -> None:
    """New papers are found, and the ETags of old answers are no longer valid."""
    with make_library(tmp_path, model=False) as made:
        place = made.folder
    with make_client(place) as client:
        before = client.get("/v1/stats")
        new = tmp_path / "papers" / "new.tex"
        new.write_text(paper(r"An eigenvalue \[ Ax = \lambda x \] is real."))
        add_papers(place, [new], jobs=1)
        tag = {"If-None-Match": before.headers["etag"]}
        after = client.get("/v1/stats", headers=tag)
        assert after.status_code == 200
        assert after.json()["articles"] == before.json()["articles"] + 1
        assert client.get("/v1/search?q=eigenvalue").json()["hits"][0]["article"] == "new"


@pytest.mark.parametrize("name", ["units.npy", "types.npy"])
def test_no_answer_lacks_a_file_that_was_removed(tmp_path: Path, name: str) -> None:
    """While a folder is being removed, a file that was not opened yet would be taken for none."""
    with make_library(tmp_path) as made:
        place = made.folder
    pool = WorkerPool(place, threads=0)
    pool._answer(lambda service: service.stats)
    next(place.glob(f"vectors/**/{name}")).unlink()
    with pytest.raises(BusyError, match="cannot be read at the moment"):
        pool._answer(lambda service: service.similar("x = y", Page()))
    pool.close()


def test_a_request_that_runs_keeps_the_library_it_opened(tmp_path: Path) -> None:
    """While papers are added, removed and merged; later requests of the thread see the changes."""
    with make_library(tmp_path, model=False) as made:
        place = made.folder
    new = tmp_path / "papers" / "new.tex"
    new.write_text(paper(r"An eigenvalue \[ Ax = \lambda x \] is real."))
    pool = WorkerPool(place, threads=2)

    def answers(service: Service) -> list[Any]:
        found = [service.search(query, Page()) for query in ("eigenvalue", "cosine")]
        return [*found, service.suggest("eig"), service.article("angles"), service.examples()]

    def change(service: Service) -> tuple[list[Any], list[Any]]:
        before = answers(Service(Library.open(place)))  # nothing of `service` is open yet
        add_papers(place, [new], jobs=1)
        remove_articles(place, "angles")
        compact_library(place)
        return before, answers(service)

    before, meanwhile = asyncio.run(pool.run(change))
    assert meanwhile == before
    assert meanwhile[0]["unknown"] == ["eigenvalue"]
    for _ in range(8):  # in both threads
        found = asyncio.run(pool.run(lambda service: service.search("eigenvalue", Page())))
        assert [hit["article"] for hit in found["hits"]] == ["new"]
        names = asyncio.run(pool.run(lambda service: service.articles(Page())["articles"]))
        assert "angles" not in [article["name"] for article in names]
        assert asyncio.run(pool.run(lambda service: service.suggest("eig")["words"]))
    pool.close()


def test_a_missing_library_is_reopened_when_it_returns(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Until then requests get 503, and the log has one message with its path."""
    place = tmp_path / "library"
    shutil.copytree(folder, place)
    with make_client(place, threads=1) as client:
        assert client.get("/v1/search?q=cosine").status_code == 200
        place.rename(tmp_path / "away")
        gone = client.get("/v1/search?q=angle")
        assert gone.status_code == 503
        assert str(tmp_path) not in gone.text
        assert client.get("/v1/search?q=lengths").status_code == 503
        assert [str(place) in record.message for record in caplog.records] == [True]
        (tmp_path / "away").rename(place)
        assert client.get("/v1/search?q=angle").status_code == 200
        assert client.get("/v1/search?q=recall").status_code == 200


def test_a_rebuilt_library_shares_no_answers_with_the_old_one(tmp_path: Path) -> None:
    """Even if its generation has the same number."""
    source, place = tmp_path / "one.tex", tmp_path / "library"
    source.write_text(paper(r"The entropy of a source \[ H = -p \log p \] is finite."))
    Library.read([source], place, jobs=1, index=True).close()
    with make_client(place, threads=1) as client:
        before = client.get("/v1/suggest?start=e")
        assert before.json()["words"] == ["entropy"]
        shutil.rmtree(place)
        source.write_text(paper(r"The eigenvalue of a matrix \[ Ax = \lambda x \] is real."))
        Library.read([source], place, jobs=1, index=True).close()
        tag = {"If-None-Match": before.headers["etag"]}
        after = client.get("/v1/suggest?start=e", headers=tag)
        assert (after.status_code, after.json()["words"]) == (200, ["eigenvalue"])
        assert client.get("/v1/search?q=entropy").json()["unknown"] == ["entropy"]


def test_the_version_depends_on_the_snippets_setting(folder: Path, tmp_path: Path) -> None:
    """And on the generation, even before a request for it."""
    place = tmp_path / "library"
    shutil.copytree(folder, place)
    full, again, short = (WorkerPool(place, snippets=kind) for kind in ("full", "full", "short"))
    before = full.version
    shutil.copytree(place / "generations" / "1", place / "generations" / "2")
    state = json.loads((place / "library.json").read_text())
    (place / "library.json").write_text(json.dumps(state | {"generation": 2}))
    assert before != full.version == again.version != short.version


def test_etags_depend_on_all_code_of_the_server() -> None:
    """A new version of any view or file invalidates the answers that clients have cached."""
    package = Path(responses.__file__).parent
    digested = {str(path.relative_to(package)) for path in responses.code_files()}
    assert {"service.py", "views/results.py", "views/layout.py", "web/page.js"} <= digested


@pytest.mark.parametrize(
    ("message", "public"),
    [
        ("no map: `eqemb map` makes one", "no map"),
        ("no `x`, or say `eqemb y`; else", "no `x`; else"),
        ("say `eqemb y`", ""),
        ("nothing to type", "nothing to type"),
        ("x" * 200_000, "x" * 300 + " … " + "x" * 300),
        ("x" * 200_000 + "`eqemb ", "x" * 300 + " … " + "x" * 293 + "`eqemb "),
    ],
    ids=range(6),
)
def test_commands_are_removed_from_messages(folder: Path, message: str, public: str) -> None:
    """In linear time."""
    pool = WorkerPool(folder)
    assert_quick(lambda: pool.public_message(message), 1)
    assert pool.public_message(message) == public


def test_a_library_without_an_index_is_rejected(tmp_path: Path) -> None:
    """Before the server starts."""
    (tmp_path / "a.tex").write_text(r"\documentclass{article}\begin{document}x\end{document}")
    Library.read([tmp_path / "a.tex"], tmp_path / "library", jobs=1).close()
    with pytest.raises(UsageError, match="no index"):
        make_app(tmp_path / "library")
