"""Helper: run a program, watch it, and measure time and memory of all its processes (Linux).

Memory is PSS, summed over the process and its children: a page that several processes share counts
once. It is sampled ten times a second. PSS includes mapped pages of files, which the system can
take back; the anonymous part is what the program allocated.
"""

import math
import resource
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_EVERY = 0.1  # seconds


@dataclass
class Usage:
    """What a program needed, in seconds and megabytes."""

    seconds: float
    cpu_seconds: float
    peak_megabytes: float
    peak_anonymous_megabytes: float
    output: str


def run_measured(command: list[str]) -> Usage:
    """Run a program to its end; exit if it fails."""
    started, cpu = time.perf_counter(), _children_cpu()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    peaks = [0.0, 0.0]
    watcher = threading.Thread(target=_watch, args=(process, peaks))
    watcher.start()
    output, _ = process.communicate()
    seconds = time.perf_counter() - started
    watcher.join()
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed with exit status {process.returncode}")
    return Usage(seconds, _children_cpu() - cpu, peaks[0], peaks[1], output)


def memory(pid: int | str = "self") -> tuple[float, float]:
    """Return the PSS of a process and its anonymous part, in megabytes; zeros if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()[1:]
    except OSError:
        return 0.0, 0.0
    sizes = {line.split()[0]: int(line.split()[1]) for line in lines}
    return sizes.get("Pss:", 0) * 1024 / 1e6, sizes.get("Pss_Anon:", 0) * 1024 / 1e6


def family(pid: int) -> list[int]:
    """Return a process and its children."""
    try:
        tasks = Path(f"/proc/{pid}/task").iterdir()
        children = {child for task in tasks for child in (task / "children").read_text().split()}
    except OSError:
        return []
    return [pid, *map(int, sorted(children))]


def is_alive(pid: int) -> bool:
    """Return whether a process runs; one whose exit status nobody has collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def count_changes(
    process: "subprocess.Popen[str]", look: Callable[[], object], most: float = math.inf
) -> int:
    """Count changes of what `look` returns, until the process ends or there are enough."""
    seen, count = look(), 0
    while count < most and process.poll() is None:
        time.sleep(0.0005)
        now = look()
        count += now != seen
        seen = now
    return count


def _watch(process: "subprocess.Popen[str]", peaks: list[float]) -> None:
    while process.poll() is None:
        now = [sum(sizes) for sizes in zip(*map(memory, family(process.pid)), strict=True)]
        peaks[:] = map(max, peaks, now or peaks)
        time.sleep(_EVERY)


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
