"""Deal out segments to the workers of a cluster.

The parent finds sources and deals them out in batches of one segment. A worker reads its batch and
writes the complete segment, with its index, into a folder of its own below the library. The parent
then moves it to the segments of the library. A worker may die at any time: its segment is dealt out
again, and what it left is removed. So the library must be on storage that all machines share.

`Cluster` is what this needs of a cluster; `RayCluster` is one.
"""

import contextlib
import functools
import hashlib
import itertools
import json
import logging
import os
import socket
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from eqemb import __version__
from eqemb.errors import EqembError, describe_os_error
from eqemb.library import segments
from eqemb.library.database import Records
from eqemb.library.executor import LocalProcesses, Reading
from eqemb.library.manifest import Segment
from eqemb.library.progress import ProgressMeter
from eqemb.library.rows import ReadCounts
from eqemb.library.segments import Indexer, SegmentWriter, complete_segment
from eqemb.sources import Found
from eqemb.sources.files import exists
from eqemb.sources.remote import is_remote
from eqemb.storage.atomic import write_atomically
from eqemb.storage.removal import remove_folder

_log = logging.getLogger("eqemb")
#: How often a segment is dealt out before we give up.
MOST_ATTEMPTS = 5
#: Bytes of members of archives that are dealt out at a time, unless one segment alone has more.
MOST_BYTES = 512 << 20
_LOOK_EVERY = 0.5  # seconds, also between two notes of a worker
_PACKAGE = Path(__file__).resolve().parents[1]


class WorkerLostError(Exception):
    """The worker that made a segment is gone; another one has to."""


class Cluster(Protocol):
    """Runs jobs on workers."""

    def check(self, probe: Path) -> None:
        """Raise an error if a machine does not see a file, or has another version of eqemb."""

    def slots(self) -> int:
        """Return how many jobs can run at a time; this may change."""

    def submit(self, job: "SegmentJob", folder: Path) -> Any:
        """Start a job that writes into a folder, and return a handle."""

    def wait(self, handles: Sequence[Any], seconds: float) -> list[Any]:
        """Return handles of jobs that have ended, after at most some seconds."""

    def result(self, handle: Any) -> "Made | str":
        """Return the result of a job; raise `WorkerLostError` if its worker is gone."""

    def cancel(self, handle: Any) -> None:
        """Stop a job."""

    def close(self) -> None:
        """Leave the cluster."""


@functools.cache
def code_version() -> str:
    """Return the version of eqemb and a digest of its code: the same segments need the same."""
    total = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        total.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return f"{__version__} ({total.hexdigest()[:8]})"


# ---------------------------------------------------------------- what a worker does


class Made(NamedTuple):
    """A segment that a worker has made, and what it has read for it."""

    segment: Segment
    counts: ReadCounts


@dataclass(frozen=True, slots=True)
class SegmentJob:
    """Reads sources into one segment."""

    sources: tuple[Found, ...]
    reading: Reading
    indexer: Indexer | None
    version: str
    """Of the eqemb that deals out the job."""

    @property
    def size(self) -> int:
        """The bytes of the members of archives in it; other papers are opened by the worker."""
        return sum(len(found.data) for found in self.sources if found.data is not None)

    def run(self, folder: Path) -> Made | str:
        """Write the segment into a new folder; an error that the user can act on is returned."""
        try:
            self._check_machine(folder)
            folder.mkdir()
            counts = self._read(folder)
            return Made(complete_segment(folder, self.indexer), counts)
        except EqembError as error:
            return str(error)
        except OSError as error:
            return f"{describe_os_error(error)} (on {socket.gethostname()})"
        except sqlite3.Error as error:
            return f"cannot write {folder} on {socket.gethostname()}: {error}; free space there"

    def _check_machine(self, folder: Path) -> None:
        host = socket.gethostname()
        if not folder.parent.is_dir():
            raise EqembError(not_shared(folder.parent, host))
        if code_version() != self.version:
            raise EqembError(other_version(code_version(), self.version, host))
        opened = [one for one in self.sources if one.path and one.data is None and not one.cause]
        _check_stores([one.path for one in opened if is_remote(one.path)], host)
        places = {
            Path(found.path) if found.kind == "folder" else Path(found.path).parent
            for found in opened
            if not is_remote(found.path)
        }
        for place in sorted(places):
            if not place.is_dir():
                raise EqembError(
                    f"{host} does not see the papers in {place}: put them on storage that all"
                    " machines of the cluster share, at the same path"
                )

    def _read(self, folder: Path) -> ReadCounts:
        """Read the sources one at a time, by a process with limits, and note how far it is."""
        note, reading = _Note(folder), self.reading
        workers = LocalProcesses(reading.limits, reading.worker_limits, 1, reading.folders)
        records = Records(folder / "records.sqlite", write=True, resumable=False)
        with (
            contextlib.closing(records),
            contextlib.closing(workers.map(iter(self.sources))) as results,
        ):
            for record in results:
                records.add(record)
                note.add(record.counts, record.name)
            records.finish()
        return note.counts


def _check_stores(paths: Sequence[str], host: str) -> None:
    """Raise an error if a machine cannot ask the stores of remote papers, one paper of each."""
    for path in {Path(path).parts[:2]: path for path in reversed(paths)}.values():
        try:
            exists(path)
        except EqembError as error:
            raise EqembError(f"{host} cannot open papers: {error}") from None


def not_shared(folder: Path, host: str) -> str:
    """Return the message for a machine that does not see the library."""
    return (
        f"{host} does not see the library at {folder.parents[2]}: put it on storage that all"
        " machines of the cluster share, at the same path"
    )


def other_version(found: str, wanted: str, host: str) -> str:
    """Return the message for a machine with another version."""
    return f"{host} has eqemb {found}, not {wanted}: install the same version on all machines"


class _Note:
    """A file beside the folder of a segment that says how far its worker is."""

    def __init__(self, folder: Path) -> None:
        self._path = _note_path(folder)
        self.counts = ReadCounts()
        self._about = {"host": socket.gethostname(), "pid": os.getpid()}
        self._next = 0.0

    def add(self, counts: ReadCounts, name: str) -> None:
        """Count a source; write the file about twice a second."""
        self.counts = self.counts.plus(counts)
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _LOOK_EVERY
            noted = self._about | {"counts": self.counts, "name": name}
            write_atomically(self._path, json.dumps(noted))


def _note_path(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.json")


# ---------------------------------------------------------------- what the parent does


@dataclass(slots=True)
class _Attempt:
    """A segment that a worker makes."""

    number: int
    job: SegmentJob
    folder: Path
    count: int = 1
    """How often this segment was dealt out."""
    read: ReadCounts = field(default_factory=ReadCounts)
    name: str = ""

    def look(self) -> None:
        """Read the note of the worker, if there is one."""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            noted = json.loads(_note_path(self.folder).read_text("utf-8"))
            self.read, self.name = ReadCounts(*noted["counts"]), noted["name"]

    def remove(self) -> None:
        """Remove what the worker has written, except for a segment that was moved."""
        _note_path(self.folder).unlink(missing_ok=True)
        remove_folder(self.folder)


class ClusterEngine:
    """Makes segments on the workers of a cluster."""

    def __init__(self, reading: Reading, connect: Callable[[], Cluster]) -> None:
        self._reading, self._connect = reading, connect
        self._cluster: Cluster | None = None
        self._running: dict[Any, _Attempt] = {}
        self._parts = Path()

    def begin(self, writer: SegmentWriter) -> None:
        """Connect, and check that all machines see the library; drop an unfinished segment."""
        self._parts = writer.parts.absolute()
        self._cluster = self._connect()
        writer.discard_parts()
        self._parts.mkdir()
        probe = self._parts / f"probe-{uuid.uuid4().hex}"
        probe.touch()
        self._cluster.check(probe)
        probe.unlink()

    def read(self, tasks: Iterator[Found], writer: SegmentWriter, meter: ProgressMeter) -> None:
        """Deal out sources by segments, and move finished segments to the library."""
        if self._cluster is None:
            raise RuntimeError("call begin before read")
        cluster, done = self._cluster, ReadCounts()
        attempts = self._attempts(tasks, writer)
        attempt = next(attempts, None)
        while attempt is not None or self._running:
            while attempt is not None and self._has_room(attempt.job, cluster):
                self._running[cluster.submit(attempt.job, attempt.folder)] = attempt
                attempt = next(attempts, None)
            for handle in cluster.wait(list(self._running), _LOOK_EVERY):
                ended = self._running.pop(handle)
                made = _result(cluster, handle, ended)
                if made is None:
                    again = self._again(ended)
                    self._running[cluster.submit(again.job, again.folder)] = again
                else:
                    done = done.plus(made.counts)
                    writer.adopt(ended.number, ended.folder, made.segment)
                    ended.remove()
            self._show(meter, done)

    def _has_room(self, job: SegmentJob, cluster: Cluster) -> bool:
        """Whether a job can be dealt out besides those that run."""
        if not self._running:
            return True
        # one more than there are slots, so that no worker waits for its next segment
        if len(self._running) > cluster.slots():
            return False
        running = sum(attempt.job.size for attempt in self._running.values())
        return not job.size or running + job.size <= MOST_BYTES

    def _attempts(self, tasks: Iterator[Found], writer: SegmentWriter) -> Iterator[_Attempt]:
        """Yield the first attempt at each segment that is not full."""
        numbers = (number for number in itertools.count() if not writer.is_full(number))
        while sources := tuple(map(_absolute, itertools.islice(tasks, segments.SEGMENT_DOCUMENTS))):
            job = SegmentJob(sources, self._reading, writer.indexer, code_version())
            number = next(numbers)
            yield _Attempt(number, job, self._new_folder(number))

    def _new_folder(self, number: int) -> Path:
        return self._parts / f"{number}-{uuid.uuid4().hex[:12]}"

    def _again(self, lost: _Attempt) -> _Attempt:
        """Return another attempt at a segment whose worker is gone."""
        lost.remove()
        if lost.count >= MOST_ATTEMPTS:
            first, last = lost.job.sources[0].origin, lost.job.sources[-1].origin
            raise EqembError(
                f"{MOST_ATTEMPTS} workers died in turn while they read the papers from {first} to"
                f" {last}: see why on their machines (memory, for example), then continue with"
                " --resume"
            )
        _log.info("the worker of segment %d is gone: another one makes it", lost.number + 1)
        return _Attempt(lost.number, lost.job, self._new_folder(lost.number), lost.count + 1)

    def _show(self, meter: ProgressMeter, done: ReadCounts) -> None:
        """Report what is finished, and what workers have noted."""
        name = ""
        for attempt in self._running.values():
            attempt.look()
            done, name = done.plus(attempt.read), name or attempt.name
        meter.show(done, name)

    def close(self) -> None:
        """Stop the workers, and remove what they have not finished."""
        if self._cluster is not None:
            for handle in self._running:
                self._cluster.cancel(handle)
            self._cluster.close()
            remove_folder(self._parts)


def _result(cluster: Cluster, handle: Any, attempt: _Attempt) -> Made | None:
    """Return what a worker has made; None if it is gone."""
    try:
        made = cluster.result(handle)
    except WorkerLostError:
        return None
    if isinstance(made, str):
        attempt.remove()
        raise EqembError(f"{made}; continue with --resume")
    return made


def _absolute(found: Found) -> Found:
    """Return a source whose paths do not depend on the current folder."""
    if not found.path or is_remote(found.path):
        return found
    top = found.top and str(Path(found.top).absolute())
    return replace(found, path=str(Path(found.path).absolute()), top=top)
