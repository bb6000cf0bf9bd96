"""Engines: where papers are read and segments are indexed.

`local` is this machine: processes read papers one at a time, this process writes their records,
and processes of their own index the segments that are full. `ray` and `ray://HOST:PORT` deal out
whole segments to the workers of a Ray cluster. All give the same segments.
"""

import contextlib
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from eqemb.checks import check_integer
from eqemb.errors import UsageError
from eqemb.library import executor
from eqemb.library.cluster import ClusterEngine
from eqemb.library.completion import ProcessCompleter
from eqemb.library.executor import LocalProcesses, Reading
from eqemb.library.progress import ProgressMeter
from eqemb.library.ray_cluster import RayCluster, require_ray
from eqemb.library.rows import ReadCounts
from eqemb.library.segments import SegmentWriter
from eqemb.sources import Found

LOCAL, RAY = "local", "ray"
_COMMIT_EVERY = 1.0  # seconds of work that a kill may cost
_CLUSTER_ADDRESS = re.compile(r"ray://[^\s/:]+(?::([0-9]{1,100}))?")
_LAST_PORT = 65535
_CLIENT_PORT = 10001  # that Ray's own documentation uses


class Engine(Protocol):
    """Reads sources into segments."""

    def begin(self, writer: SegmentWriter) -> None:
        """Prepare for the segments of a writer, and drop what this engine cannot continue."""

    def read(self, tasks: Iterator[Found], writer: SegmentWriter, meter: ProgressMeter) -> None:
        """Read sources, in order, into the segments that are not full."""

    def close(self) -> None:
        """Stop the work. What is finished stays."""


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """An engine by name: local, ray, or the address of a Ray cluster."""

    name: str = LOCAL
    jobs: int | None = None
    """The number of segments that a cluster makes at a time; None for one per processor."""

    def __post_init__(self) -> None:
        if self.jobs is not None:
            check_integer("jobs", self.jobs)
        if self.name == LOCAL:
            return
        if self.name != RAY:
            _check_address(self.name)
        require_ray()

    @property
    def address(self) -> str | None:
        """The address of the cluster; None for the one on this machine."""
        if self.name == RAY:
            return None
        return self.name if ":" in self.name[6:] else f"{self.name}:{_CLIENT_PORT}"


def _check_address(address: str) -> None:
    match = _CLUSTER_ADDRESS.fullmatch(address)
    if match is None:
        raise UsageError(f"engine must be local, ray or ray://HOST:PORT, not {address!r}")
    if match[1]:
        check_port(address, int(match[1]))


def check_port(address: str, port: int) -> None:
    """Refuse the address of a cluster whose port cannot exist."""
    if not 1 <= port <= _LAST_PORT:
        raise UsageError(f"the port of {address} must be from 1 to {_LAST_PORT}")


def make_engine(choice: EngineChoice, reading: Reading) -> Engine:
    """Return an engine that is ready to work."""
    if choice.name == LOCAL:
        return LocalEngine(reading)
    return ClusterEngine(reading, lambda: RayCluster(choice.address, choice.jobs))


class LocalEngine:
    """Processes on this machine."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._completer: ProcessCompleter | None = None

    def begin(self, writer: SegmentWriter) -> None:
        """Complete what an interruption left."""
        # tests that read in their own process index there, too
        if self._reading.jobs > 1 and executor.make_executor is LocalProcesses:
            self._completer = ProcessCompleter(writer.indexer, self._reading.jobs)
            writer.completer = self._completer
        writer.complete_pending()

    def read(self, tasks: Iterator[Found], writer: SegmentWriter, meter: ProgressMeter) -> None:
        """Write records as they arrive, and commit about once a second."""
        how = self._reading
        workers = executor.make_executor(how.limits, how.worker_limits, how.jobs, how.folders)
        committed, counts = time.monotonic(), ReadCounts()
        with contextlib.closing(workers.map(tasks)) as results:
            for record in results:
                writer.add(record)
                counts = counts.plus(record.counts)
                now = time.monotonic()
                if now - committed > _COMMIT_EVERY:
                    writer.commit()
                    committed = now
                meter.show(counts, record.name)
        writer.commit()

    def close(self) -> None:
        """Stop indexing."""
        if self._completer is not None:
            self._completer.close()
