"""The benchmark of engines notices a difference, and kills one worker."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cluster import Killer, digest, measure

from eqemb.library import segments
from eqemb.library.progress import Progress
from synthetic import corpus, forget_checksums, read_inline


def test_digest_covers_the_index_and_not_the_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two libraries of the same papers are equal until a file of one is changed."""
    read_inline(monkeypatch)
    monkeypatch.setattr(segments, "SEGMENT_DOCUMENTS", 4)
    papers = corpus(tmp_path / "papers", 6)
    one, other = (
        measure(papers, tmp_path / name, "local", 1, index=True) for name in ("one", "other")
    )
    assert one.digest == other.digest
    assert (one.segments, one.note) == (2, "")
    changed = next((forget_checksums(tmp_path / "one") / "segments").glob("*/index/equations.npy"))
    changed.write_bytes(changed.read_bytes() + b" ")
    assert digest(tmp_path / "one") != other.digest


def test_worker_that_is_furthest_is_killed_once_half_is_read(tmp_path: Path) -> None:
    """Only one, and not before."""
    parts = tmp_path / "generations/1/read-parts"
    sleep = [sys.executable, "-c", "import time; time.sleep(99)"]
    with subprocess.Popen(sleep) as near, subprocess.Popen(sleep) as far:
        try:
            for name, worker, count in (("0-a", near, 3), ("1-b", far, 5)):
                (parts / name).mkdir(parents=True)
                noted = {"pid": worker.pid, "counts": [count, 0, 0]}
                (parts / f"{name}.json").write_text(json.dumps(noted), "utf-8")
            kill = Killer(tmp_path)
            kill(Progress(9, 0, 0, "x", 20, is_complete=True))
            assert far.poll() is None
            kill(Progress(10, 0, 0, "x", 20, is_complete=True))
            assert far.wait(30) == -signal.SIGKILL
            kill(Progress(11, 0, 0, "x", 20, is_complete=True))
            assert near.poll() is None
            assert kill.note == "killed at 10 of 20 papers, 5 papers into a segment"
        finally:
            near.kill()
            far.kill()
