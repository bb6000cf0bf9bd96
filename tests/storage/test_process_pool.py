"""Pools of processes: a dead one is an error, and none outlives its parent."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from eqemb.errors import EqembError
from eqemb.storage.process_pool import spawned_pool
from synthetic import wait_for

ORPHANS = """
import os, time
from eqemb.storage.process_pool import spawned_pool

if __name__ == "__main__":
    with spawned_pool(1, "") as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        pool.submit(time.sleep, 60).result()
"""


def test_work_is_done_in_another_process() -> None:
    """Its results come back."""
    with spawned_pool(1, "") as pool:
        assert pool.submit(os.getpid).result() != os.getpid()


def test_errors_of_the_work_are_raised() -> None:
    """They are not taken for a dead process."""
    with pytest.raises(FileNotFoundError), spawned_pool(1, "") as pool:
        pool.submit(os.stat, "/nothing/here").result()


def test_dead_process_is_an_error_with_a_remedy() -> None:
    """A process that is killed for its memory gives no result."""
    remedy = "or use fewer --jobs"
    expected = r"^a worker process ended .* out of memory\): free memory, or use fewer --jobs$"
    with pytest.raises(EqembError, match=expected), spawned_pool(1, remedy) as pool:
        pool.submit(os._exit, 9).result()


@pytest.mark.skipif(os.name != "posix", reason="looks for a process by signal 0")
def test_no_process_outlives_its_parent(tmp_path: Path) -> None:
    """A process notices at once that its parent was killed, whatever it is doing."""
    script = tmp_path / "work.py"
    script.write_text(ORPHANS, "utf-8")
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.kill()

    def is_gone() -> bool:
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return True
        return False

    assert wait_for(is_gone), "the worker is still running"
