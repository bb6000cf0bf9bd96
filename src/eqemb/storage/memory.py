"""How much memory this process and its children may take."""

import os
from pathlib import Path

_MEMORY_INFO = Path("/proc/meminfo")
_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")


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
