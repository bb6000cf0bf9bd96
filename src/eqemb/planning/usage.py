"""CPU time and memory of this process, as far as the system tells: /proc, getrusage, or times."""

import os
import sys
from pathlib import Path

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_STATUS = Path("/proc/self/status")


def cpu_seconds() -> float:
    """CPU seconds of this process and of its children that have ended."""
    if resource is None:
        return sum(os.times()[:4])
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(part.ru_utime + part.ru_stime for part in used)


def peak_bytes() -> int:
    """The most memory that this process had; 0 where the system does not say."""
    return _status("VmHWM") or _most_resident(children=False)


def child_peak_bytes() -> int:
    """The most memory that one of the children had that have ended; 0 where it is not known."""
    return _most_resident(children=True)


def memory_now() -> tuple[int, int]:
    """Memory of this process: all, and without mapped files; zeros without /proc."""
    return _status("VmRSS"), _status("RssAnon")


def _most_resident(*, children: bool) -> int:
    if resource is None:
        return 0
    who = resource.RUSAGE_CHILDREN if children else resource.RUSAGE_SELF
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(who).ru_maxrss * unit


def _status(name: str) -> int:
    try:
        lines = _STATUS.read_text("ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name)), 0)
