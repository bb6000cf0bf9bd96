"""How much memory this process and its children may take, and how often it is looked through."""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_MEMORY_INFO = Path("/proc/meminfo")
_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")
_RARELY = 100_000  # new objects between two collections; Python's default is 700


def available_memory() -> int | None:
    """Return the bytes that are free, within the limits of control groups; None if unknown."""
    known = [value for value in (_free_memory(), _group_memory()) if value is not None]
    return min(known, default=None)


def _free_memory() -> int | None:
    """Return what Linux says is available; elsewhere, half of all memory."""
    try:
        for line in _MEMORY_INFO.read_text("ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, ValueError, OSError):  # Windows
        return None


def _group_memory() -> int | None:
    """Return what the control groups of this process leave, as in a container; None if no limit."""
    try:
        lines = _OWN_GROUPS.read_text("utf-8").splitlines()
    except OSError:
        return None
    left = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        top = _GROUPS / "memory" if controllers else _GROUPS
        names = ("memory.max", "memory.current") if not controllers else (
            "memory.limit_in_bytes", "memory.usage_in_bytes"
        )  # fmt: skip
        folder = top / path.strip("/")
        for group in (folder, *folder.parents):
            if group.is_relative_to(top):
                most, used = (_number(group / name) for name in names)
                if most is not None:
                    left.append(max(0, most - (used or 0)))
    return min(left, default=None)


def _number(path: Path) -> int | None:
    """Return the number in a file; None if there is none ("max"), or no such file."""
    try:
        return int(path.read_text("ascii"))
    except (OSError, ValueError):
        return None


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect cyclic garbage rarely meanwhile: for work that keeps many objects, and few cycles."""
    before = gc.get_threshold()
    if before[0]:  # else the caller has switched it off
        gc.set_threshold(max(_RARELY, before[0]), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
