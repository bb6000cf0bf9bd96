"""The health check says whether requests are refused because the library cannot be read."""

import asyncio
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from axes import make_library
from eqemb.server.health import HealthCheck
from eqemb.server.schemas import HealthSchema
from server.clients import make_client
from synthetic import read_inline, wait_for

URL, SEARCH = "/v1/healthz", "/v1/search?q=cosine&size={}"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with a model."""
    with pytest.MonkeyPatch.context() as patch:
        read_inline(patch)
        with make_library(tmp_path_factory.mktemp("health")) as library:
            return library.folder


@pytest.fixture
def library(made: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(made, tmp_path / "library"))


@pytest.fixture(params=[0, 1], ids=["threads", "a worker process"])
def client(request: pytest.FixtureRequest, library: Path) -> Iterator[TestClient]:
    """A server of that library."""
    with make_client(library, workers=request.param, seconds=60) as client:
        yield client


def status(client: TestClient) -> tuple[int, str]:
    """Return the HTTP status of the health check, and what it says."""
    answer = client.get(URL)
    HealthSchema.model_validate(answer.json())
    return answer.status_code, answer.json()["status"]


def test_a_server_of_a_damaged_library_is_not_healthy(client: TestClient, library: Path) -> None:
    """As long as searches are refused; with the file, it is healthy again."""
    assert client.get(SEARCH.format(1)).status_code == 200
    assert status(client) == (200, "ok")
    (path,) = library.glob("segments/*/index/tokens.npy")
    path.rename(path.with_name(".away"))
    assert client.get(SEARCH.format(2)).status_code == 503
    assert wait_for(lambda: status(client) == (503, "damaged"))
    assert client.get(URL).headers["retry-after"] == "1"
    path.write_bytes(b"other")
    assert client.get(SEARCH.format(3)).status_code == 503
    assert status(client) == (503, "damaged")
    path.with_name(".away").replace(path)
    assert wait_for(lambda: status(client) == (200, "ok"))
    assert client.get(SEARCH.format(4)).status_code == 200


def test_damage_is_noticed_without_requests(client: TestClient, library: Path) -> None:
    """The health check itself looks at the library."""
    assert wait_for(lambda: status(client) == (200, "ok"))
    (library / "library.json").unlink()
    assert wait_for(lambda: status(client) == (503, "damaged"))


def test_health_is_probed_once_and_nobody_waits_long() -> None:
    """Workers that are busy are healthy, and probing often is no attack."""
    probes: list[int] = []

    async def slow() -> bool:
        probes.append(1)
        await asyncio.sleep(1.5)
        return False

    async def ask() -> None:
        health = HealthCheck(slow, pause=60)
        start = time.monotonic()
        found = await asyncio.gather(*(health.is_readable() for _ in range(20)))
        assert time.monotonic() - start < 1.4
        assert found == [True] * 20
        await asyncio.sleep(1.5)
        assert [await health.is_readable() for _ in range(20)] == [False] * 20

    asyncio.run(ask())
    assert len(probes) == 1
