"""Ray makes the same library as one machine, also when its workers are killed.

Without Ray, only the message that names the extra is tested.
"""

import contextlib
import importlib.util
import json
import os
import signal
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

from eqemb.errors import EqembError, UsageError
from eqemb.facade.library import Library
from eqemb.library import ray_cluster, segments
from eqemb.library.progress import Progress
from eqemb.library.ray_cluster import RayCluster
from local_ray import OBJECT_STORE, PATIENCE, require_local_ray
from synthetic import HAS_PROC, Run, corpus, hostile_modules, papers, wait_for

COUNT, SIZE = 23, 5
needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed (extra `ray`)"
)
BODY = r"Some words. \begin{equation} x = 1 \end{equation} More words."


@pytest.fixture(scope="module", autouse=True)
def own_cluster() -> Iterator[None]:
    """Start a cluster for each test that needs one, whatever else runs on this machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_ADDRESS", "local")
        yield


@pytest.fixture(scope="module")
def starts() -> Iterator[None]:
    """Skip a test if Ray itself cannot start here; otherwise, clusters are small and patient."""
    require_local_ray()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ray_cluster, "_OBJECT_STORE", OBJECT_STORE)
        patch.setattr(ray_cluster, "_PROBE_SECONDS", PATIENCE)
        yield


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments of a few documents."""
    monkeypatch.setattr(segments, "SEGMENT_DOCUMENTS", SIZE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Papers in `papers`, and in `local` the library that the local engine makes of them."""
    folder = tmp_path_factory.mktemp("cluster")
    corpus(folder / "papers", COUNT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "SEGMENT_DOCUMENTS", SIZE)
        read(folder, "local", engine="local")
    return folder


def read(folder: Path, name: str, **options: Any) -> dict[str, bytes]:
    """Read and index the papers with Ray; return files of the library that have no times."""
    options.setdefault("engine", "ray")
    options.setdefault("jobs", 2)
    Library.read(folder / "papers", folder / name, index=True, **options).close()
    return content(folder / name)


def content(library: Path) -> dict[str, bytes]:
    """Return the files of a library that have no times in them, by path."""
    timed = {"records.sqlite", "report.html", "run.json", "sources.json"}
    timed |= {"checksums.json", "library.json"}  # of these
    return {
        path.relative_to(library).as_posix(): path.read_bytes()
        for path in sorted(library.rglob("*"))
        if path.is_file() and path.name not in timed
    }


@needs_ray
@pytest.mark.usefixtures("starts")
def test_ray_makes_the_library_of_the_local_engine(folder: Path) -> None:
    """Every file is the same, and nothing is left of the workers."""
    assert read(folder, "ray") == content(folder / "local")
    assert len(list((folder / "ray/segments").iterdir())) == 5


def kill_one(library: Path, killed: list[int]) -> Callable[[Progress], None]:
    """Return a callback that kills one worker in the middle of its segment."""

    def tell(_state: Progress) -> None:
        for note in library.glob("generations/1/read-parts/*.json"):
            if not killed and note.with_suffix("").is_dir():
                killed.append(json.loads(note.read_text("utf-8"))["pid"])
                os.kill(killed[0], signal.SIGKILL)

    return tell


@needs_ray
@pytest.mark.usefixtures("starts")
def test_killed_worker_changes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its segment is made again by another one."""
    attempts: list[Path] = []
    submit = RayCluster.submit

    def note(self: RayCluster, job: Any, place: Path) -> Any:
        attempts.append(place)
        return submit(self, job, place)

    monkeypatch.setattr(RayCluster, "submit", note)
    killed: list[int] = []
    made = read(folder, "killed", progress=kill_one(folder / "killed", killed))
    assert len(killed) == 1
    assert len(attempts) == 6
    assert made == content(folder / "local")


@needs_ray
@pytest.mark.usefixtures("starts")
def test_interrupted_reading_is_resumed_by_either_engine(folder: Path) -> None:
    """Finished segments are kept, and no worker outlives the interruption."""
    workers: set[int] = set()

    def interrupt(state: Progress) -> None:
        for note in (folder / "stopped").glob("generations/1/read-parts/*.json"):
            workers.add(json.loads(note.read_text("utf-8"))["pid"])
        if state.done > SIZE and list((folder / "stopped").glob("segments/*")):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read(folder, "stopped", progress=interrupt)
    if HAS_PROC:
        assert wait_for(
            lambda: not any(Path(f"/proc/{pid}/fd").exists() for pid in workers), PATIENCE
        )
    assert not (folder / "stopped/generations/1/read-parts").exists()
    assert read(folder, "stopped", engine="local", resume=True) == content(folder / "local")
    run = json.loads((folder / "stopped/generations/1/run.json").read_text("utf-8"))
    assert run["resumed_after"] >= SIZE


@needs_ray
@pytest.mark.usefixtures("starts")
def test_workers_import_nothing_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have papers with modules beside them."""
    papers(tmp_path / "papers", a=BODY)
    hostile_modules(tmp_path)
    monkeypatch.chdir(tmp_path)
    Library.read("papers", "lib", engine="ray", jobs=1).close()
    assert not (tmp_path / "executed").exists()
    assert Path.cwd() == tmp_path


@needs_ray
@pytest.mark.usefixtures("starts")
def test_machine_that_does_not_see_the_library_is_refused(tmp_path: Path) -> None:
    """Before papers are dealt out."""
    cluster = RayCluster(None, 1)
    try:
        with pytest.raises(EqembError, match=r"does not see the library at .*/lib: put it on stor"):
            cluster.check(tmp_path / "lib/generations/1/read-parts/probe")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ray_cluster, "code_version", lambda: "9.9 (abc)")
            with pytest.raises(EqembError, match=r"has eqemb .*, not 9\.9 \(abc\): install"):
                cluster.check(tmp_path)
    finally:
        cluster.close()


@needs_ray
@pytest.mark.parametrize(
    ("engine", "address"),
    [("ray", "127.0.0.1:1"), ("ray://127.0.0.1:1", "")],
)
def test_cluster_that_does_not_answer_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, address: str
) -> None:
    """It names the address and what to do; Ray itself would try for minutes."""
    papers(tmp_path / "papers", a=BODY)
    monkeypatch.setenv("RAY_ADDRESS", address)
    why = rf"cannot connect to the Ray cluster at {address or engine} \(.*\): start one with"
    with pytest.raises(EqembError, match=why):
        read(tmp_path, "lib", engine=engine)


@needs_ray
@pytest.mark.usefixtures("starts")
def test_cluster_of_our_own_is_reached_from_this_machine_alone() -> None:
    """Its processes listen on 127.0.0.1, not on all interfaces."""
    cluster = RayCluster(None, 1)
    try:
        cluster._ray.get(cluster._ray.remote(lambda: None).remote(), timeout=PATIENCE)
        assert [node["NodeManagerAddress"] for node in cluster._ray.nodes()] == ["127.0.0.1"]
        if HAS_PROC:
            hosts = set(listening_hosts())
            assert hosts
            assert all(host.endswith("0100007F") for host in hosts)
    finally:
        cluster.close()


def listening_hosts() -> Iterator[str]:
    """The addresses, in hexadecimal, on which this process and those below it listen."""
    sockets = {}
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text("ascii").splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A":  # listening
                sockets[f"socket:[{fields[9]}]"] = fields[1].partition(":")[0]
    for pid in descendants(os.getpid()):
        with contextlib.suppress(OSError):  # it has ended
            for file in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    if (name := str(file.readlink())) in sockets:
                        yield sockets[name]


def descendants(pid: int) -> list[int]:
    """A process and those that it and they have started."""
    found = [pid]
    for one in found:
        with contextlib.suppress(OSError):
            for children in Path(f"/proc/{one}/task").glob("*/children"):
                found += map(int, children.read_text("ascii").split())
    return found


@needs_ray
@pytest.mark.parametrize("error", ["ConnectionError", "RaySystemError"])
@pytest.mark.parametrize("use", ["check", "answers", "slots", "submit", "wait", "result"])
def test_lost_cluster_is_one_sentence(tmp_path: Path, use: str, error: str) -> None:
    """It says how to continue."""
    exceptions = importlib.import_module("ray.exceptions")
    lost = LostRay(exceptions, getattr(exceptions, error, ConnectionError)("gone\nand more"))
    cluster = RayCluster.__new__(RayCluster)  # without one that runs
    cluster._ray, cluster._run, cluster._jobs = lost, lost, None
    job: Any = None
    uses: dict[str, Callable[[], object]] = {
        "check": lambda: cluster.check(tmp_path),
        "answers": lambda: cluster.check(tmp_path),
        "slots": cluster.slots,
        "submit": lambda: cluster.submit(job, tmp_path),
        "wait": lambda: cluster.wait([], 1),
        "result": lambda: cluster.result("handle"),
    }
    if use == "answers":  # the machines are listed, and then their answers do not come
        lost.machines = [{"Alive": True, "Resources": {"CPU": 1}, "NodeID": "0" * 56}]
    with pytest.raises(EqembError, match=r"Ray cluster is lost \(.*gone\): continue with --resume"):
        uses[use]()


class LostRay:
    """Ray after its cluster has ended: every call fails."""

    def __init__(self, exceptions: Any, error: Exception) -> None:
        self.exceptions, self._error = exceptions, error
        self.machines: list[dict[str, Any]] = []

    def nodes(self) -> list[dict[str, Any]]:
        """Return the machines, or fail."""
        if not self.machines:
            raise self._error
        return self.machines

    def remote(self, *_: Any, **__: Any) -> Any:
        """Return something that can be called, or fail."""
        if not self.machines:
            raise self._error
        return lambda _function: AnyTask()

    def get(self, *_: Any, **__: Any) -> Any:
        """Fail."""
        raise self._error

    wait = get


class AnyTask:
    """A task of Ray that can be started."""

    def options(self, **_: Any) -> "AnyTask":
        """Return itself."""
        return self

    def remote(self, *_: Any) -> str:
        """Return its handle."""
        return "handle"


@pytest.mark.parametrize("spec", [None, ModuleSpec("ray", None)], ids=["nothing", "a folder"])
def test_without_ray_the_extra_is_named(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, spec: ModuleSpec | None
) -> None:
    """One sentence, and nothing is created; a folder of that name on the path is not Ray."""
    papers(tmp_path / "papers", a=BODY)
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: spec if name == "ray" else find(name)
    )
    done = run("read", tmp_path / "papers", "-o", tmp_path / "lib", "--engine", "ray")
    assert done.code == UsageError.exit_code
    assert done.err == "eqemb: the engine ray needs Ray: pip install 'eqemb[ray]'\n"
    assert not (tmp_path / "lib").exists()
