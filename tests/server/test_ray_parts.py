"""Parts of a library in Ray Serve: the answers of one process, and a killed replica."""

import asyncio
import importlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi.testclient import TestClient

from eqemb.errors import UsageError
from eqemb.facade.parts import PartPlace, PartsLibrary
from eqemb.facade.update import remove_articles
from eqemb.library import ray_connection
from eqemb.server import ray_parts
from eqemb.server.app import make_app
from eqemb.server.ray_parts import GenerationParts, PartStatus, RayParts, check_engine
from eqemb.server.schemas import HealthSchema
from eqemb.storage.process import python_command
from local_ray import OBJECT_STORE, PATIENCE, require_local_ray
from parts_library import make_segmented
from synthetic import Run, wait_for

needs_ray = pytest.mark.skipif(  # Ray alone does not need the second one
    find_spec("ray") is None or find_spec("aiohttp_cors") is None,
    reason="Ray Serve is not installed (extra `ray-serve`)",
)
URLS = [
    "/v1/search?q=cosine+similarity",
    "/v1/search?q=cosine+similarity&numbered=true&size=20",
    "/v1/similar?equation=F%3D%5Cfrac%7B2PR%7D%7BP%2BR%7D",
    "/v1/describe?equation=ir/cosine%231",
    "/v1/articles/ir/cosine",
    "/v1/equations/ir/cosine%231",
    "/?q=recall",
]


def test_an_engine_that_does_not_exist_is_refused() -> None:
    """In one sentence."""
    for engine in ("local", "ray", "ray://head", "ray://head:6380"):
        check_engine(engine)
    with pytest.raises(UsageError, match="must be local, ray or ray://HOST, not 'spark'"):
        check_engine("spark")
    with pytest.raises(UsageError, match="port of ray://head:99999 must be from 1 to 65535"):
        check_engine("ray://head:99999")
    for engine in ("ray://", "ray://:6379", "ray://head:port"):
        with pytest.raises(UsageError, match=f"ray://HOST:PORT, not '{engine}'"):
            check_engine(engine)


def test_parts_without_ray_are_refused(segmented: Path, run: Run) -> None:
    """Options that would have no effect; one sentence says what to add."""
    for option in ("--parts", "--replicas"):
        done = run("serve", segmented, "--port", 0, option, 2)
        assert done.code == UsageError.exit_code
        assert done.err == (
            "eqemb: --parts and --replicas need Ray: add --engine ray, or leave them out\n"
        )


def test_the_address_of_a_cluster_has_a_port() -> None:
    """That of the head, unless another one is given."""
    assert ray_parts._address("ray://head") == "head:6379"
    assert ray_parts._address("ray://head:7000/") == "head:7000"


def test_without_ray_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a traceback."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=r"needs Ray Serve .*: pip install 'eqemb\[ray-serve\]'"):
        ray_parts.connect("ray")


class PartialParts(RayParts):
    """Parts of which one does not answer."""

    def __init__(self) -> None:
        """Nothing is started."""

    def open_library(self, folder: Path) -> PartsLibrary:
        """Open the library; nothing is asked of its parts."""
        return PartsLibrary.open(folder)

    def status(self) -> list[PartStatus]:
        """Return how they are doing."""
        return [PartStatus(1, 2, 1, 1, True), PartStatus(2, 1, 0, 1, False)]  # noqa: FBT003


def test_the_health_check_lists_the_parts(folder: Path) -> None:
    """With the number of replicas, and whether each answers."""
    parts = PartialParts()
    with TestClient(make_app(folder, parts=parts), base_url="http://localhost") as client:
        found = client.get("/v1/healthz").json()
    HealthSchema.model_validate(found)
    assert found["status"] == "partial"
    assert found["parts"][1] == {
        "part": 2, "segments": 1, "replicas": 0, "wanted": 1, "answers": False,
    }  # fmt: skip


class FakeHandle:
    """The handle of a part that answers after some seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.ask = self.pid = self
        self.is_closed = False

    async def remote(self, *_: object) -> str:
        """Answer."""
        await asyncio.sleep(self.seconds)
        return "answer"

    async def shutdown_async(self) -> None:
        """Close it."""
        self.is_closed = True


class FakeParts(RayParts):
    """Parts without Ray; an answer may take half a second."""

    def __init__(self, *handles: FakeHandle) -> None:
        """Only what questions need."""
        self._deadline = 0.5 * ray_parts.PART_SHARE
        self._handles, self._names = list(handles), [f"part-{at}" for at in range(len(handles))]
        self._down, self._probes = set(), set()
        self._ray = SimpleNamespace(
            exceptions=SimpleNamespace(RayTaskError=OSError, RayError=OSError)
        )
        self.apps: dict[str, Any] = {}
        self._serve = SimpleNamespace(status=lambda: SimpleNamespace(applications=self.apps))
        self._lock, self._replicas = threading.Lock(), 1
        self._replica_counts, self._counted_at = dict[str, int](), float("-inf")
        places = [PartPlace("library", 1, at, at + 1, 0) for at in range(len(handles))]
        self._generations = {1: GenerationParts(self, places, [])}

    async def ask_within(self, seconds: float) -> list[Any]:
        """Return the answers of all parts."""
        self._loop = asyncio.get_running_loop()
        places = self._generations[1].places
        question: Any = "question"
        try:
            async with asyncio.timeout(seconds):
                return list(await self._ask_all(places, [], question))
        finally:
            for probe in self._probes:
                probe.cancel()


def test_a_part_that_hangs_is_given_up_before_the_time_limit_of_the_answer() -> None:
    """Otherwise the answers of the other parts would be lost, and the client would get 504."""
    parts = FakeParts(FakeHandle(0), FakeHandle(600))
    assert asyncio.run(parts.ask_within(0.5)) == ["answer", None]
    assert asyncio.run(parts.ask_within(0.1)) == ["answer", None]  # it is not asked again


def test_parts_of_our_own_ray_end_with_it() -> None:
    """Ray Serve is not asked to end: it would take 20 seconds until we give that up."""
    handles = FakeHandle(0), FakeHandle(0)
    parts = FakeParts(*handles)
    parts._is_ours = True
    asyncio.run(parts._shut_down())
    assert all(handle.is_closed for handle in handles)


def test_a_part_without_a_replica_does_not_answer() -> None:
    """The health check says so, also before a question has found out."""
    parts = FakeParts(FakeHandle(0), FakeHandle(0))
    running = SimpleNamespace(replica_states={"RUNNING": 1})
    ended = SimpleNamespace(replica_states={"STARTING": 1})
    for name, state in zip(parts._names, (running, ended), strict=True):
        parts.apps[name] = SimpleNamespace(deployments={"PartReplica": state})
    assert [(part.replicas, part.answers) for part in parts.status()] == [(1, True), (0, False)]


# ------------------------------------------------------------ with Ray


@pytest.fixture(scope="module")
def segmented(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library in several segments."""
    return make_segmented(tmp_path_factory.mktemp("ray"))


@pytest.fixture(scope="module")
def deployed(segmented: Path) -> Iterator[RayParts]:
    """Its parts: two, with a replica each."""
    require_local_ray()
    with pytest.MonkeyPatch.context() as patch:
        ray = importlib.import_module("ray")
        patch.setattr(ray, "init", partial(ray.init, object_store_memory=OBJECT_STORE))
        patch.setattr(ray_parts, "DEPLOY_TIMEOUT", PATIENCE)
        patch.setattr(ray_parts, "CLOSE_TIMEOUT", PATIENCE / 4)
        patch.setitem(ray_parts._HEALTH, "health_check_timeout_s", PATIENCE / 4)
        made = RayParts.deploy(segmented, "ray", parts=2, seconds=PATIENCE / 2)
        yield made
        made.close()


@pytest.fixture(scope="module")
def in_parts(segmented: Path, deployed: RayParts) -> Iterator[TestClient]:
    """A server that asks the parts."""
    app = make_app(segmented, parts=deployed, seconds=PATIENCE)
    with TestClient(app, base_url="http://localhost") as client:
        yield client


def replica_of(parts: RayParts, number: int) -> int:
    """The process id of the replica of a part."""

    async def ask() -> int:
        return int(await parts._handles[number].pid.remote())

    return parts._call(ask(), PATIENCE)


@needs_ray
@pytest.mark.filterwarnings("ignore")
def test_parts_answer_as_one_process_does(segmented: Path, in_parts: TestClient) -> None:
    """The same JSON; pages of the same status."""
    with TestClient(make_app(segmented), base_url="http://localhost") as client:
        for url in URLS:
            expected, found = client.get(url), in_parts.get(url)
            assert found.status_code == expected.status_code == 200
            assert "x-eqemb-parts" not in found.headers
            if url.startswith("/v1"):
                assert found.json() == expected.json()


@needs_ray
@pytest.mark.filterwarnings("ignore")
def test_a_killed_replica_is_restarted(
    in_parts: TestClient, deployed: RayParts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile answers are those of the other part, say so, and are not cached."""
    monkeypatch.setattr(ray_parts, "RETRY_DEADLINE", 0.01)
    url = "/v1/search?q=document+frequency"
    os.kill(replica_of(deployed, 0), signal.SIGKILL)
    found = in_parts.get(url)
    assert found.status_code == 200
    if found.headers.get("x-eqemb-parts"):  # unless it was restarted before the question came
        assert found.headers["x-eqemb-parts"] == "1 of 2 parts answered"
        assert found.json()["notes"][-1] == "1 of 2 parts answered"
        assert found.headers["cache-control"] == "no-store"
        assert "etag" not in found.headers
    assert wait_for(lambda: "x-eqemb-parts" not in in_parts.get(url).headers, PATIENCE)
    assert in_parts.get(url).headers["etag"]
    assert wait_for(lambda: in_parts.get("/v1/healthz").json()["status"] == "ok", PATIENCE)


@needs_ray
def test_the_command_refuses_a_cluster_that_is_not_there(segmented: Path) -> None:
    """One sentence, and no traceback."""
    command = [*python_command("eqemb", "serve", str(segmented)), "--port", "0"]
    done = subprocess.run(
        [*command, "--engine", "ray://127.0.0.1:1"],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert "cannot connect to the Ray cluster at 127.0.0.1:1 (Connection refused)" in done.stderr


def test_serve_that_does_not_start_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray has an error of the class `Exception` itself for a busy machine."""

    class BusyServe:
        def start(self, **_: Any) -> None:
            raise Exception("The controller timed out during startup.")  # noqa: TRY002

    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(serve=BusyServe()))
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setattr(ray_connection, "connect", lambda *_, **__: True)
    with pytest.raises(UsageError, match=r"Ray Serve does not start \(The controller timed out"):
        ray_parts.connect("ray")


@needs_ray
@pytest.mark.filterwarnings("ignore")
def test_a_changed_library_is_searched_as_it_is_now(
    segmented: Path, in_parts: TestClient, deployed: RayParts
) -> None:
    """The last test, as it changes the library."""
    assert in_parts.get("/v1/search?q=cosine").json()["hits"]
    remove_articles(segmented, ["ir/cosine"])
    found = in_parts.get("/v1/search?q=cosine&size=50")
    assert found.status_code == 200
    assert "x-eqemb-parts" not in found.headers
    assert all(hit["article"] != "ir/cosine" for hit in found.json()["hits"])
    assert len(deployed.status()) == 2
