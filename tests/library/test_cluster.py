"""Segments are dealt out to workers that may die, and the library is that of one machine.

The cluster is a fake one in this process: it ends jobs in any order and loses some of them.
`test_ray_cluster.py` does the same with Ray.
"""

import contextlib
import dataclasses
import gzip
import json
import os
import random
import shutil
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from eqemb.errors import EqembError, UsageError
from eqemb.facade.library import Library
from eqemb.facade.sync import update_library
from eqemb.facade.update import add_papers
from eqemb.library import cluster, engines, segments
from eqemb.library.cluster import MOST_ATTEMPTS, Made, SegmentJob, WorkerLostError, code_version
from eqemb.library.executor import Reading, WorkerLimits
from eqemb.library.manifest import Segment
from eqemb.library.progress import Progress
from eqemb.library.segments import Indexer
from eqemb.sources import Found, Limits, discover, remote
from packing import tar
from synthetic import InlineExecutor, corpus, paper, papers, read_inline

COUNT, SIZE = 23, 4  # six segments, the last one of three
BODY = r"Some words. \begin{equation} x = 1 \end{equation} More words."


class FakeCluster:
    """Makes segments in this process: those that are begun end in any order, and some are lost."""

    def __init__(self, seed: int = 0, losses: int = 0, slots: int = 3) -> None:
        self.dice, self.losses, self._slots = random.Random(seed), losses, slots
        self.jobs: dict[int, tuple[SegmentJob, Path]] = {}
        self.ended: list[str] = []
        """The first source of each job that was run, in order."""
        self.cancelled: list[int] = []
        self.closed = False
        self.is_stack = False
        """Whether the job that was begun last ends first."""

    def __call__(self, _address: str | None, _jobs: int | None) -> "FakeCluster":
        """Return itself, as if it was connected to."""
        return self

    def check(self, probe: Path) -> None:
        """Look for the file."""
        assert probe.exists()

    def slots(self) -> int:
        """Return the number of workers."""
        return self._slots

    def submit(self, job: SegmentJob, folder: Path) -> int:
        """Begin a job."""
        handle = self.dice.randrange(1 << 40)
        self.jobs[handle] = (job, folder)
        return handle

    def wait(self, handles: Sequence[int], seconds: float) -> list[int]:
        """End one of the jobs."""
        del seconds
        return [handles[-1] if self.is_stack else self.dice.choice(handles)]

    def result(self, handle: int) -> Made | str:
        """Run a job, or lose it in the middle of writing."""
        job, folder = self.jobs.pop(handle)
        if self.losses:
            self.losses -= 1
            folder.mkdir()
            (folder / "records.sqlite").write_bytes(b"half")
            folder.with_name(f"{folder.name}.json").write_text("{}")
            raise WorkerLostError
        self.ended.append(job.sources[0].origin)
        return job.run(folder)

    def cancel(self, handle: int) -> None:
        """Note that a job was stopped."""
        self.cancelled.append(handle)

    def close(self) -> None:
        """Note that the cluster was left."""
        self.closed = True


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments of a few documents, read in this process; Ray is not needed."""
    read_inline(monkeypatch)
    monkeypatch.setattr(cluster, "LocalProcesses", InlineExecutor)
    monkeypatch.setattr(engines, "require_ray", lambda: None)
    monkeypatch.setattr(segments, "SEGMENT_DOCUMENTS", SIZE)
    monkeypatch.setattr(os, "fsync", lambda _file: None)  # only power cuts need it


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[FakeCluster], FakeCluster]:
    """A function that makes a fake cluster the one of the engine `ray`."""

    def use(fake: FakeCluster) -> FakeCluster:
        monkeypatch.setattr(engines, "RayCluster", fake)
        return fake

    return use


Use = Callable[[FakeCluster], FakeCluster]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Papers in `papers`, and in `local` the library that the local engine makes of them."""
    corpus(tmp_path / "papers", COUNT)
    Library.read(tmp_path / "papers", tmp_path / "local").close()
    return tmp_path


def files(library: Path) -> dict[str, bytes]:
    """Return the files of a library that have no times in them, by path."""
    timed = {"records.sqlite", "report.html", "run.json", "sources.json"}
    timed |= {"checksums.json", "library.json"}  # of these
    return {
        path.relative_to(library).as_posix(): path.read_bytes()
        for path in sorted(library.rglob("*"))
        if path.is_file() and path.name not in timed
    }


def read(folder: Path, name: str = "ray", **options: Any) -> dict[str, bytes]:
    """Read the papers with the engine ray, or another one; return the files of the library."""
    options.setdefault("engine", "ray")
    Library.read(folder / "papers", folder / name, **options).close()
    return files(folder / name)


def interrupt_after(number: int) -> Callable[[Progress], None]:
    """Return a callback that raises KeyboardInterrupt once some papers are done."""

    def tell(state: Progress) -> None:
        if state.done >= number:
            raise KeyboardInterrupt

    return tell


# -- the same library


@pytest.mark.parametrize("seed", range(4))
def test_any_order_of_workers_gives_the_same_files(folder: Path, use: Use, seed: int) -> None:
    """Names, manifest and report are those of the local engine."""
    fake = use(FakeCluster(seed))
    assert read(folder) == files(folder / "local")
    assert len(fake.ended) == 6
    assert fake.closed


def test_workers_write_the_same_index(folder: Path, use: Use) -> None:
    """Every file of it."""
    use(FakeCluster(3, losses=2))
    made = read(folder, index=True)
    assert made == read(folder, "local index", engine="local", index=True)
    assert sum(path.endswith("index/index.json") for path in made) == 6


def test_lost_workers_change_nothing(folder: Path, use: Use) -> None:
    """Their segments are made again, once each, and what they left is removed."""
    fake = use(FakeCluster(1, losses=4))
    assert read(folder) == files(folder / "local")
    assert len(fake.ended) == len(set(fake.ended)) == 6
    assert not list((folder / "ray").rglob("*-parts"))


def test_segment_that_always_kills_its_worker_is_an_error(folder: Path, use: Use) -> None:
    """After a few attempts; the message names the papers."""
    use(FakeCluster(losses=99, slots=0))
    with pytest.raises(EqembError, match=rf"{MOST_ATTEMPTS} workers died .* from \S+ to \S+"):
        read(folder)


def test_no_more_segments_are_begun_than_needed(folder: Path, use: Use) -> None:
    """One more than there are slots, so that memory does not grow with the number of papers."""
    fake = use(FakeCluster(slots=2))
    most = 0

    def tell(_state: Progress) -> None:
        nonlocal most
        most = max(most, len(fake.jobs))

    read(folder, progress=tell)
    assert most <= 3


@pytest.mark.parametrize(("segments_at_once", "most"), [(0, 1), (2, 2), (99, 4)])
def test_bytes_of_members_that_are_dealt_out_are_bounded(
    tmp_path: Path, use: Use, monkeypatch: pytest.MonkeyPatch, segments_at_once: int, most: int
) -> None:
    """The command holds them in memory; one segment is always dealt out, and nothing changes."""
    bodies = {f"{n:02}.gz": gzip.compress(paper(BODY, f"Paper {n}").encode()) for n in range(COUNT)}
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers/all.tar").write_bytes(tar(bodies))
    size = max(map(len, bodies.values())) * SIZE
    monkeypatch.setattr(cluster, "MOST_BYTES", size * segments_at_once)
    fake = use(FakeCluster(slots=3))
    begun: list[list[int]] = []
    submit = fake.submit

    def note(job: SegmentJob, at: Path) -> int:
        handle = submit(job, at)
        begun.append([job.size for job, _ in fake.jobs.values()])
        return handle

    monkeypatch.setattr(fake, "submit", note)
    assert read(tmp_path) == read(tmp_path, "local", engine="local")
    assert len(begun) == 6
    assert max(map(len, begun)) == most
    assert all(0 < sum(one) <= max(size * segments_at_once, size) for one in begun)


def test_progress_ends_at_the_counts_of_the_report(folder: Path, use: Use) -> None:
    """Papers, equations and skipped sources."""
    use(FakeCluster(losses=1))
    told: list[Progress] = []
    read(folder, progress=told.append)
    report = json.loads((folder / "ray/report.json").read_text("utf-8"))
    last = told[-1]
    assert (last.done, last.found, last.is_complete) == (COUNT, COUNT, True)
    equations = report["equations"]["numbered"] + report["equations"]["unnumbered"]
    assert (last.equations, last.skipped) == (equations, report["skipped"]["total"])


def test_progress_counts_what_workers_have_noted(tmp_path: Path) -> None:
    """A worker writes a note beside its segment, which the parent reads."""
    found = tuple(discover([papers(tmp_path / "papers", a=BODY, b=BODY)]))
    job = SegmentJob(found, Reading(Limits(), WorkerLimits(), 1), None, code_version())
    parts = tmp_path / "lib/generations/1/read-parts"
    parts.mkdir(parents=True)
    attempt = cluster._Attempt(0, job, parts / "0-x")
    attempt.look()
    assert attempt.read.documents == 0
    made = job.run(attempt.folder)
    assert isinstance(made, Made)
    assert tuple(made.counts) == (2, 2, 0)
    attempt.look()
    assert attempt.read.documents == 1  # it was noted at once, and not again within half a second
    assert attempt.name == "a"


@pytest.mark.parametrize("change", ["add", "update", "build"])
def test_every_change_can_use_a_cluster(folder: Path, use: Use, change: str) -> None:
    """The library is that of the local engine."""
    use(FakeCluster(2, losses=2))
    for engine in ("local", "ray"):
        at = folder / f"{engine}-{change}"
        more = papers(folder / "more", a=BODY, b=BODY)
        if change == "build":
            Library.build(folder / "papers", at, model=False, engine=engine).close()
            continue
        shutil.copytree(folder / "local", at)
        if change == "add":
            add_papers(at, more, root=more, engine=engine)
        else:
            papers(folder / "papers/set0", paper000=BODY)
            update_library(at, engine=engine)
    assert files(folder / f"ray-{change}") == files(folder / f"local-{change}")


# -- cancel and resume


def test_interruption_stops_the_workers(folder: Path, use: Use) -> None:
    """And removes what they have not finished; the library can be resumed."""
    fake = use(FakeCluster())
    with pytest.raises(KeyboardInterrupt):
        read(folder, progress=interrupt_after(8))
    assert fake.closed
    assert set(fake.cancelled) == set(fake.jobs)
    assert not (folder / "ray/generations/1/read-parts").exists()
    assert len(list((folder / "ray/segments").iterdir())) == len(fake.ended) == 2


@pytest.mark.parametrize("engine", ["ray", "local"])
@pytest.mark.parametrize("seed", range(3))
def test_resume_keeps_finished_segments(folder: Path, use: Use, seed: int, engine: str) -> None:
    """Also those that come after unfinished ones, with either engine."""
    first = use(FakeCluster(seed))
    with pytest.raises(KeyboardInterrupt):
        read(folder, progress=interrupt_after(9))
    second = use(FakeCluster(seed))
    told: list[Progress] = []
    assert read(folder, engine=engine, resume=True, progress=told.append) == files(folder / "local")
    run = json.loads((folder / "ray/generations/1/run.json").read_text("utf-8"))
    assert run["resumed_after"] >= 9
    assert told[0].done > run["resumed_after"] - 1
    assert not set(first.ended) & set(second.ended)
    assert len(first.ended) + len(second.ended) == (6 if engine == "ray" else len(first.ended))


def test_gaps_are_listed(folder: Path, use: Use) -> None:
    """A finished segment is kept at its place while one before it is missing."""
    fake = use(FakeCluster())
    fake.is_stack = True
    with pytest.raises(KeyboardInterrupt):
        read(folder, progress=interrupt_after(8))
    listed = json.loads((folder / "ray/generations/1/read.json").read_text("utf-8"))
    assert [entry is None for entry in listed] == [True, True, True, False, False]


def test_cluster_drops_what_the_local_engine_has_half_done(folder: Path, use: Use) -> None:
    """Finished segments stay; the papers of the next one are read again."""
    with pytest.raises(KeyboardInterrupt):
        read(folder, engine="local", progress=interrupt_after(10))
    fake = use(FakeCluster())
    assert read(folder, resume=True) == files(folder / "local")
    assert len(fake.ended) == 4


@pytest.mark.parametrize("engine", ["ray", "local"])
@pytest.mark.parametrize("gone", ["all", "one"])
def test_resume_with_fewer_papers_is_refused(
    folder: Path, use: Use, engine: str, gone: str
) -> None:
    """Whether papers of a finished segment are gone, or papers before it."""
    fake = use(FakeCluster())
    fake.is_stack = True
    with pytest.raises(KeyboardInterrupt):
        read(folder, progress=interrupt_after(8))
    found = [folder / "papers" / one.origin for one in discover([folder / "papers"])]
    for path in found[SIZE:] if gone == "all" else found[:1]:
        path.unlink()
    use(FakeCluster())
    with pytest.raises(UsageError, match=r"cannot resume .*: the papers have changed"):
        read(folder, engine=engine, resume=True)


def test_digests_of_papers_read_before_are_forgotten(folder: Path, use: Use) -> None:
    """Wherever they are: their files may have changed since."""
    fake = use(FakeCluster())
    fake.is_stack = True
    with pytest.raises(KeyboardInterrupt):
        read(folder, progress=interrupt_after(4))
    read(folder, resume=True)
    stored = json.loads((folder / "ray/generations/1/sources.json").read_text("utf-8"))
    order = [one.origin for one in discover([folder / "papers"])]
    known = [bool(stored["sources"][origin]) for origin in order]
    assert known == [not 3 * SIZE <= place < 4 * SIZE for place in range(COUNT)]


# -- what a worker refuses


def found_in(folder: Path) -> tuple[Found, ...]:
    """Return the sources of a folder, with paths that any machine understands."""
    return tuple(map(cluster._absolute, discover([folder])))


def job_of(sources: tuple[Found, ...], **fields: Any) -> SegmentJob:
    """Return a job for sources."""
    job = SegmentJob(sources, Reading(Limits(), WorkerLimits(), 1), None, code_version())
    return dataclasses.replace(job, **fields)


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """The folder that workers write to."""
    made = tmp_path / "lib/generations/1/read-parts"
    made.mkdir(parents=True)
    return made


def test_machine_that_does_not_see_the_papers_refuses(tmp_path: Path, parts: Path) -> None:
    """Otherwise every paper would be skipped as unreadable."""
    sources = found_in(papers(tmp_path / "papers", a=BODY))
    shutil.rmtree(tmp_path / "papers")
    said = job_of(sources).run(parts / "0-x")
    assert isinstance(said, str)
    assert f"does not see the papers in {tmp_path / 'papers'}: put them on storage" in said


def test_machine_that_does_not_see_the_library_refuses(tmp_path: Path) -> None:
    """The message names the library, not a folder in it."""
    said = job_of(()).run(tmp_path / "lib/generations/1/read-parts/0-x")
    assert f"does not see the library at {tmp_path / 'lib'}: put it on storage" in str(said)


def test_machine_with_other_code_refuses(tmp_path: Path, parts: Path) -> None:
    """The same segments need the same code."""
    sources = found_in(papers(tmp_path / "papers", a=BODY))
    said = job_of(sources, version="9.9 (abc)").run(parts / "0-x")
    assert "not 9.9 (abc): install the same version on all machines" in str(said)


def test_error_of_a_worker_is_a_sentence(
    folder: Path, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says how to continue, and finished segments stay."""
    use(FakeCluster())
    calls = 0

    def full(_folder: Path, _indexer: Indexer | None) -> Segment:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise OSError(28, "No space left on device", "/x")
        return segments.complete_segment(_folder, _indexer)

    monkeypatch.setattr(cluster, "complete_segment", full)
    with pytest.raises(EqembError, match=r"/x: No space left .* \(on .*\); continue with --resume"):
        read(folder)
    assert len(list((folder / "ray/segments").iterdir())) == 2
    assert read(folder, resume=True) == files(folder / "local")


def test_workers_have_another_current_folder(
    tmp_path: Path, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Papers of every form are read there that are given by relative paths."""
    fake = use(FakeCluster())
    papers(tmp_path / "papers", loose=BODY)
    packed = tar({"main.tex": paper(BODY).encode()})
    (tmp_path / "papers/packed.tar.gz").write_bytes(gzip.compress(packed))
    (tmp_path / "papers/one.gz").write_bytes(gzip.compress(paper(BODY).encode()))
    (tmp_path / "papers/note.md").write_text("Some words. $$x = 1$$ More words.", "utf-8")
    run = SegmentJob.run

    def run_elsewhere(job: SegmentJob, at: Path) -> Made | str:
        with contextlib.chdir("/"):
            return run(job, at)

    monkeypatch.setattr(SegmentJob, "run", run_elsewhere)
    monkeypatch.chdir(tmp_path)
    with Library.read("papers", "lib", engine="ray") as library:
        names = sorted(name for name, _, _ in library.contents())
    assert fake.ended
    assert names == ["loose", "note", "one", "packed"]


# -- papers at URLs


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a folder of papers."""
    pytest.importorskip("fsspec", reason="fsspec is not installed (extra `remote`)")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    corpus(tmp_path / "papers", COUNT)
    return f"file://{tmp_path / 'papers'}"


def test_papers_at_a_url_are_read(
    tmp_path: Path, use: Use, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the local engine does: a URL does not depend on the current folder."""
    fake = use(FakeCluster())
    monkeypatch.chdir(tmp_path)
    for engine in ("local", "ray"):
        Library.read([url], tmp_path / engine, engine=engine).close()
    assert files(tmp_path / "ray") == files(tmp_path / "local")
    assert len(fake.ended) == 6
    report = json.loads((tmp_path / "ray/report.json").read_text("utf-8"))
    assert report["skipped"]["total"] == 2  # the two PDFs


def test_machine_without_access_to_a_store_refuses(
    tmp_path: Path, url: str, parts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise every paper would be skipped as unreadable."""
    sources = tuple(map(cluster._absolute, discover([url])))

    def refuse(path: str | Path) -> str:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(remote, "kind_of", refuse)
    said = str(job_of(sources).run(parts / "0-x"))
    assert "Permission denied" in said
    assert f"{tmp_path / 'papers'}" in said
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    said = str(job_of(sources).run(parts / "0-x"))
    assert f"{socket.gethostname()} cannot open papers: file:///" in said
    assert "pip install 'eqemb[remote]'" in said


# -- the choice of an engine


@pytest.mark.parametrize(
    "name", ["", "Ray", "slurm", "ray://", "ray://a b", "ray:/host", "http://x"]
)
def test_unknown_engine_is_refused(tmp_path: Path, name: str) -> None:
    """Before anything is created."""
    papers(tmp_path / "papers", a=BODY)
    with pytest.raises(UsageError, match=r"engine must be local, ray or ray://HOST:PORT, not"):
        Library.read(tmp_path / "papers", tmp_path / "lib", engine=name)
    assert not (tmp_path / "lib").exists()


@pytest.mark.parametrize("port", ["0", "65536", "99999", "1" * 30])
def test_port_that_does_not_exist_is_refused(port: str) -> None:
    """In one sentence, before anything is created."""
    with pytest.raises(UsageError, match=rf"port of ray://head:{port} must be from 1 to 65535\Z"):
        engines.EngineChoice(f"ray://head:{port}")


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("ray", None),
        ("ray://head:65535", "ray://head:65535"),
        ("ray://head", "ray://head:10001"),
        ("ray://head:7", "ray://head:7"),
    ],
)
def test_address_of_a_cluster(name: str, address: str | None) -> None:
    """The port of Ray's clients is the default."""
    assert engines.EngineChoice(name).address == address
