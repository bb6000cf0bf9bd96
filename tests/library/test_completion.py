"""Full segments are indexed by processes of their own while the next ones are read."""

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eqemb.facade.library import Library
from eqemb.library import segments
from eqemb.library.completion import ProcessCompleter
from eqemb.library.progress import Progress
from synthetic import corpus, read_inline

COUNT, SIZE = 11, 4


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments of a few documents."""
    monkeypatch.setattr(segments, "SEGMENT_DOCUMENTS", SIZE)
    monkeypatch.setattr(os, "fsync", lambda _file: None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Papers in `papers`, and in `inline` the library that is indexed in one process."""
    corpus(tmp_path / "papers", COUNT)
    with pytest.MonkeyPatch.context() as patch:
        read_inline(patch)
        read(tmp_path, "inline")
    return tmp_path


def read(folder: Path, name: str, **options: Any) -> None:
    """Read the papers with two processes."""
    Library.read(folder / "papers", folder / name, jobs=2, index=True, **options).close()


#: Files with times, and their checksums.
_TIMED = {"records.sqlite", "run.json", "sources.json", "checksums.json"}


def content(library: Path) -> dict[str, bytes]:
    """Return manifest, report and segments of a library, without times."""
    found = [*library.glob("segments/*/**/*"), *library.glob("generations/1/*.json")]
    return {
        path.relative_to(library).as_posix(): path.read_bytes()
        for path in found
        if path.is_file() and path.name not in _TIMED
        if path.name != "settings.json"  # it names the folder of the papers
    }


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the segments that were handed to processes."""
    numbers: list[int] = []
    start = ProcessCompleter.start

    def note(self: ProcessCompleter, number: int, place: Path) -> None:
        numbers.append(number)
        start(self, number, place)

    monkeypatch.setattr(ProcessCompleter, "start", note)
    return numbers


def test_other_processes_write_the_same_segments(folder: Path, started: list[int]) -> None:
    """Full ones; the last one is completed by the parent, which has nothing else to do."""
    read(folder, "lib")
    assert started == [0, 1]
    assert content(folder / "lib") == content(folder / "inline")
    assert not list((folder / "lib").rglob("*-parts"))


def kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process before it has done anything."""
    os.kill(process.pid, signal.SIGKILL)


def test_segment_of_a_killed_process_is_completed_by_the_parent(
    folder: Path, started: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is lost."""
    popen = subprocess.Popen

    def killed(command: list[str], **options: Any) -> Any:
        process = popen(command, **options)
        if "eqemb.library.completion" in command:
            kill(process)
        return process

    monkeypatch.setattr(subprocess, "Popen", killed)
    read(folder, "lib")
    assert started == [0, 1]
    assert content(folder / "lib") == content(folder / "inline")


def test_errors_of_the_indexer_are_raised_by_the_parent(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A process that fails says nothing, and the parent meets the same error."""
    completer = ProcessCompleter(None, 1)
    (tmp_path / "0").mkdir()
    (tmp_path / "0/records.sqlite").write_bytes(b"not a database" * 99)
    completer.start(0, tmp_path / "0")
    with pytest.raises(Exception, match="not a database"):
        list(completer.completed(wait=True))
    assert capfd.readouterr().err == ""


def interrupt_after(number: int) -> Callable[[Progress], None]:
    """Return a callback that raises KeyboardInterrupt after a number of papers."""

    def tell(state: Progress) -> None:
        if state.done == number:
            raise KeyboardInterrupt

    return tell


@pytest.mark.parametrize("jobs", [1, 2])
def test_resume_completes_full_segments_without_reading_them_again(
    folder: Path, started: list[int], monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    """With any number of processes."""
    with monkeypatch.context() as patch:
        patch.setattr(ProcessCompleter, "completed", lambda _self, *, wait: iter(()))  # noqa: ARG005
        with pytest.raises(KeyboardInterrupt):
            read(folder, "lib", progress=interrupt_after(10))
    generation = folder / "lib/generations/1"
    assert sorted(path.name for path in (generation / "read-parts").iterdir()) == ["0", "1"]
    assert not (generation / "read.json").exists()
    papers = folder / "papers"
    Library.read(papers, folder / "lib", jobs=jobs, index=True, resume=True).close()
    assert started == [0, 1] * jobs
    assert content(folder / "lib") == content(folder / "inline")
    run = json.loads((generation / "run.json").read_text("utf-8"))
    assert run["resumed_after"] >= 2 * SIZE
