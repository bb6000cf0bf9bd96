"""A Ray cluster whose workers make segments.

Ray is an extra and is imported only when a Ray engine is asked for.
"""

import contextlib
import importlib
import importlib.util
import os
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from eqemb.errors import EqembError, UsageError
from eqemb.library.cluster import (
    Made,
    SegmentJob,
    WorkerLostError,
    code_version,
    not_shared,
    other_version,
)
from eqemb.library.ray_connection import connect, reason

#: Bytes of a local cluster's object store: only lists of papers, and archive members, pass it.
_OBJECT_STORE = 512 << 20
_PROBE_SECONDS = 120.0


def require_ray() -> None:
    """Raise an error if Ray is not installed."""
    found = importlib.util.find_spec("ray")
    if found is None or found.origin is None:  # a folder of this name is no package
        raise UsageError("the engine ray needs Ray: pip install 'eqemb[ray]'")


class RayCluster:
    """The workers of a Ray cluster."""

    def __init__(self, address: str | None, jobs: int | None) -> None:
        """Connect; `jobs` limits how many segments are made at a time."""
        import ray

        self._ray: Any = ray
        self._jobs = jobs
        self._is_ours = not ray.is_initialized()
        if self._is_ours:
            connect(ray, address, num_cpus=jobs, object_store_memory=_OBJECT_STORE)
        self._run = ray.remote(num_cpus=1, max_retries=0)(_run_job)

    def check(self, probe: Path) -> None:
        """Raise an error if a machine does not see a file, or has another version of eqemb."""
        with _connected(self._ray):
            self._check_machines(probe)

    def _check_machines(self, probe: Path) -> None:
        strategy = importlib.import_module("ray.util.scheduling_strategies")
        look = self._ray.remote(num_cpus=0, max_retries=0)(_make_probe())
        asked = [
            look.options(
                scheduling_strategy=strategy.NodeAffinitySchedulingStrategy(
                    node["NodeID"], soft=False
                )
            ).remote(str(probe))
            for node in self._machines()
        ]
        if not asked:
            raise EqembError(
                "the Ray cluster has no machine with a processor: add one with"
                " `ray start --address HOST:PORT`"
            )
        for answer in asked:
            try:
                host, version, sees = self._ray.get(answer, timeout=_PROBE_SECONDS)
            except self._ray.exceptions.GetTimeoutError:
                raise EqembError(
                    f"a machine of the Ray cluster did not answer within {_PROBE_SECONDS:g} s:"
                    " see `ray status`"
                ) from None
            except self._ray.exceptions.RaySystemError:  # the whole cluster is gone
                raise
            except self._ray.exceptions.RayError:  # it is gone meanwhile
                continue
            if version != code_version():
                raise EqembError(other_version(version, code_version(), host))
            if not sees:
                raise EqembError(not_shared(probe.parent, host))

    def _machines(self) -> list[dict[str, Any]]:
        return [
            node
            for node in self._ray.nodes()
            if node["Alive"] and node["Resources"].get("CPU", 0) >= 1
        ]

    def slots(self) -> int:
        """Return how many segments can be made at a time: one on each processor."""
        with _connected(self._ray):
            processors = sum(int(node["Resources"]["CPU"]) for node in self._machines())
        return processors if self._jobs is None else min(processors, self._jobs)

    def submit(self, job: SegmentJob, folder: Path) -> Any:
        """Start to make a segment."""
        with _connected(self._ray):
            return self._run.remote(job, str(folder))

    def wait(self, handles: Sequence[Any], seconds: float) -> list[Any]:
        """Return handles of segments that have ended, after at most some seconds."""
        with _connected(self._ray):
            ready: list[Any] = self._ray.wait(list(handles), timeout=seconds)[0]
        return ready

    def result(self, handle: Any) -> Made | str:
        """Return a segment; raise `WorkerLostError` if its worker is gone."""
        errors = self._ray.exceptions
        try:
            with _connected(self._ray):
                made: Made | str = self._ray.get(handle)
        except errors.RayTaskError:  # a defect of ours: its traceback is in the message
            raise
        except errors.RayError as error:
            raise WorkerLostError(str(error)) from None
        return made

    def cancel(self, handle: Any) -> None:
        """Stop the worker of a segment."""
        with contextlib.suppress(Exception):  # it has ended, or the cluster is gone
            self._ray.cancel(handle, force=True)

    def close(self) -> None:
        """Disconnect; a cluster that was started here ends."""
        if self._is_ours:
            self._ray.shutdown()


@contextlib.contextmanager
def _connected(ray: Any) -> Iterator[None]:
    """Turn the loss of the whole cluster into a sentence."""
    try:
        yield
    except (ConnectionError, ray.exceptions.RaySystemError) as error:
        raise EqembError(
            f"the connection to the Ray cluster is lost ({reason(error)}): continue with --resume"
        ) from None


def _run_job(job: SegmentJob, folder: str) -> Made | str:
    """Make a segment; this runs on a worker."""
    return job.run(Path(folder))


def _make_probe() -> Any:
    """Return a function that is sent to workers as code: they may not have eqemb at all."""

    def probe(path: str) -> tuple[str, str, bool]:
        try:
            found = importlib.import_module("eqemb.library.cluster").code_version()
        except (ImportError, AttributeError):
            found = "of another version, or none"
        return socket.gethostname(), found, os.path.exists(path)  # noqa: PTH110

    return probe
