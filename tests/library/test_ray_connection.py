"""Which Ray cluster is used, and what is said if it does not answer; without Ray."""

import logging
import os
import signal
import socket
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from eqemb.errors import EqembError
from eqemb.library import ray_connection

CONSTANTS = "ray._private.ray_constants"
needs_posix = pytest.mark.skipif(os.name == "nt", reason="signals differ")


class RayError(Exception):
    """What the errors of Ray have in common."""


class FakeRay:
    """Ray that starts or connects, or fails with some errors, one after the other."""

    exceptions = SimpleNamespace(RayError=RayError)

    def __init__(self, *errors: Exception, logged: str = "") -> None:
        self.errors, self.logged = list(errors), logged
        self.calls: list[dict[str, Any]] = []
        self.uses_network: list[object] = []

    def init(self, **options: Any) -> None:
        """Note how it is called."""
        self.calls.append(options)
        self.uses_network.append(sys.modules[CONSTANTS].ENABLE_RAY_CLUSTER)
        os.write(2, self.logged.encode())
        if self.errors:
            raise self.errors.pop(0)


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files of Ray, without a record of a cluster."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.setitem(sys.modules, CONSTANTS, SimpleNamespace(ENABLE_RAY_CLUSTER=True))
    return tmp_path


@pytest.fixture
def listening() -> Iterator[str]:
    """The address of something that accepts connections."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def closed_address() -> str:
    """An address at which nothing listens any more."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def record(folder: Path, address: str) -> None:
    """Record a cluster as `ray start` does."""
    (folder / "ray").mkdir()
    (folder / "ray/ray_current_cluster").write_text(address, "utf-8")


def message(ray: FakeRay, address: str | None = None) -> str:
    """Return what is said if Ray fails."""
    with pytest.raises(EqembError) as caught:
        ray_connection.connect(ray, address)
    assert not ray.errors
    return str(caught.value)


def test_without_a_cluster_one_is_started() -> None:
    """Without a message: there was none."""
    ray = FakeRay()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ray_connection.connect(ray, None, num_cpus=3)
    assert ray.calls[0]["address"] == "local"
    assert ray.calls[0]["num_cpus"] == 3
    assert ray.calls[0]["include_dashboard"] is False


def test_a_cluster_that_is_started_listens_on_this_machine_alone() -> None:
    """Settings of Ray that say so are restored: the next cluster may have other machines."""
    ray = FakeRay()
    ray_connection.connect(ray, "local")
    assert ray.calls[0]["_node_ip_address"] == "127.0.0.1"
    assert ray.uses_network == [False]
    assert sys.modules[CONSTANTS].ENABLE_RAY_CLUSTER is True
    assert "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER" not in os.environ


def test_a_cluster_that_crashed_is_replaced(temporary: Path) -> None:
    """Its record is still there, and Ray would try to connect for minutes; a note says so."""
    address = closed_address()
    record(temporary, address)
    ray = FakeRay()
    with pytest.warns(RuntimeWarning, match=f"at {address}, does not answer .*: starting another"):
        assert ray_connection.connect(ray, None)
    assert [call["address"] for call in ray.calls] == ["local"]


def test_a_cluster_that_runs_is_used(temporary: Path, listening: str) -> None:
    """The one that is recorded, and it keeps its settings."""
    record(temporary, listening)
    ray = FakeRay()
    assert not ray_connection.connect(ray, None, num_cpus=3, namespace="eqemb")
    assert ray.calls == [
        {
            "address": None, "namespace": "eqemb",
            "logging_level": logging.ERROR, "log_to_driver": False,
        },
    ]  # fmt: skip
    assert ray.uses_network == [True]


@pytest.mark.parametrize("kind", ["variable", "argument", "client"])
def test_an_address_that_does_not_answer_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Ray is not asked, and no other cluster is started."""
    address = ("ray://" if kind == "client" else "") + closed_address()
    if kind == "variable":
        monkeypatch.setenv("RAY_ADDRESS", address)
    ray = FakeRay()
    assert message(ray, None if kind == "variable" else address) == (
        f"cannot connect to the Ray cluster at {address} (Connection refused):"
        " start one with `ray start --head`, or check the address"
    )
    assert not ray.calls


def test_ray_that_does_not_start_is_one_sentence() -> None:
    """Ray gives up if the machine is busy, with an error of any class."""
    said = message(FakeRay(Exception("The node timed out:\nsee\nthe logs.")))
    assert said.startswith("Ray does not start on this machine (The node timed out: the logs): try")


def test_a_cluster_that_refuses_is_not_replaced(temporary: Path, listening: str) -> None:
    """Another version of Ray, for example."""
    record(temporary, listening)
    said = message(FakeRay(ConnectionError(f"Failed to connect to Ray cluster at {listening}")))
    assert said == (
        f"cannot connect to the Ray cluster of this machine (Failed to connect to Ray cluster at"
        f" {listening}): set RAY_AUTH_MODE and RAY_AUTH_TOKEN as on its machines, and use the same"
        " version of Ray; if it does not run any more, `ray stop` removes its record"
    )


def test_a_missing_token_is_one_sentence(temporary: Path, listening: str) -> None:
    """Ray refuses to connect without one if RAY_AUTH_MODE asks for it, with an error of its own."""
    record(temporary, listening)
    said = message(FakeRay(RayError("no authentication token was found. Ensure that it is.")))
    assert said.startswith(
        "cannot connect to the Ray cluster of this machine (no authentication token was found):"
    )


def test_a_wrong_token_is_one_sentence(
    temporary: Path, listening: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """The cause is only in what Ray logs, once for each of many attempts: that is not shown."""
    record(temporary, listening)
    line = "[x W] gcs_client.cc: RPC error: InvalidAuthToken: Authentication token is incorrect\n"
    ray = FakeRay(ConnectionError("Failed to connect"), logged=line * 20)
    assert message(ray) == (
        "cannot connect to the Ray cluster of this machine (Authentication token is incorrect):"
        " set RAY_AUTH_MODE and RAY_AUTH_TOKEN as on its machines"
    )
    os.write(2, b"shown again")
    assert capfd.readouterr().err == "shown again"


def test_the_handler_of_sigterm_is_restored(temporary: Path, listening: str) -> None:
    """Ray replaces it by one that hides what was interrupted."""
    record(temporary, listening)

    class ReplacingRay(FakeRay):
        def init(self, **options: Any) -> None:
            super().init(**options)
            signal.signal(signal.SIGTERM, lambda *_: None)

    before = signal.getsignal(signal.SIGTERM)
    ray_connection.connect(ReplacingRay(), None)
    assert signal.getsignal(signal.SIGTERM) is before


WAITING = """
import signal, sys, time, types
from eqemb.library import ray_connection

def init(**_):
    # a wait in which Python handles no signals, as in code of Ray
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    print("waiting", flush=True)
    time.sleep(600)

error = types.SimpleNamespace(RayError=OSError)
ray_connection.connect(types.SimpleNamespace(init=init, exceptions=error), sys.argv[1])
"""


@needs_posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_process_while_ray_waits(listening: str, number: int) -> None:
    """Ray may wait for minutes, in code that does not notice signals."""
    command = [sys.executable, "-c", WAITING, listening]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "waiting\n"
            process.send_signal(number)
            assert process.wait(60) == 130
        finally:
            process.kill()


def test_an_interruption_that_ray_notices_is_an_exception(temporary: Path, listening: str) -> None:
    """The process lives on."""
    record(temporary, listening)
    fail: Callable[..., None] = FakeRay(KeyboardInterrupt()).init  # type: ignore[arg-type]
    ray = SimpleNamespace(init=fail, exceptions=FakeRay.exceptions)
    with pytest.raises(KeyboardInterrupt):
        ray_connection.connect(ray, None)
