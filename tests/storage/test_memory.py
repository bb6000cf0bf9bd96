"""The memory that is free, by what Linux says and by control groups."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from eqemb.library import executor
from eqemb.library.executor import memory_share
from eqemb.storage import memory
from eqemb.storage.memory import available_memory, rare_collections

GB = 1 << 30


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with 8 GB of free memory and no control groups."""
    (tmp_path / "meminfo").write_text(f"MemTotal: 1 kB\nMemAvailable: {8 << 20} kB\n")
    for name, file in (
        ("_MEMORY_INFO", "meminfo"),
        ("_GROUPS", "groups"),
        ("_OWN_GROUPS", "cgroup"),
    ):
        monkeypatch.setattr(memory, name, tmp_path / file)
    return tmp_path


def set_group(folder: Path, **values: object) -> None:
    """Write the files of a control group."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in values.items():
        (folder / name.replace("__", ".")).write_text(f"{value}\n")


def test_free_memory_is_what_linux_says(machine: Path) -> None:
    """Without control groups."""
    assert machine.exists()
    assert available_memory() == 8 * GB


def test_a_control_group_above_limits_memory(machine: Path) -> None:
    """Version 2, as in containers: the least of all groups above counts."""
    (machine / "cgroup").write_text("0::/a/b\n")
    set_group(machine / "groups/a", memory__max=3 * GB, memory__current=1 * GB)
    set_group(machine / "groups/a/b", memory__max="max", memory__current=1)
    assert available_memory() == 2 * GB


def test_a_control_group_of_version_1_limits_memory(machine: Path) -> None:
    """Each controller has a tree of its own."""
    (machine / "cgroup").write_text("5:cpu,cpuacct:/x\n4:memory:/c\n")
    names = {"memory__limit_in_bytes": 4 * GB, "memory__usage_in_bytes": 3 * GB}
    set_group(machine / "groups/memory/c", **names)
    assert available_memory() == GB


def test_a_machine_that_does_not_say_has_half_its_memory(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on macOS; on Windows nothing is known."""
    (machine / "meminfo").unlink()
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": 100, "SC_PAGE_SIZE": 4096}.get)
    assert available_memory() == 204_800
    monkeypatch.delattr(os, "sysconf")
    assert available_memory() is None


@pytest.mark.parametrize(
    ("free", "jobs", "share"),
    [(100 * GB, 4, 6 * GB), (10 * GB, 3, 3 * GB), (GB, 8, GB), (None, 8, 6 * GB)],
)
def test_workers_share_the_free_memory(
    monkeypatch: pytest.MonkeyPatch, free: int | None, jobs: int, share: int
) -> None:
    """Nine tenths of it; at least 1 GB each, and at most what is given."""
    monkeypatch.setattr(executor, "available_memory", lambda: free)
    assert memory_share(6 * GB, jobs) == pytest.approx(share, abs=8)


@pytest.fixture
def threshold() -> Iterator[None]:
    """Restore how often cyclic garbage is collected."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("threshold")
@pytest.mark.parametrize(("before", "meanwhile"), [(700, 100_000), (200_000, 200_000), (0, 0)])
def test_collections_are_rare_meanwhile(before: int, meanwhile: int) -> None:
    """They are as before afterwards; where there are none, there are still none."""
    gc.set_threshold(before, 10, 10)
    with rare_collections():
        assert gc.get_threshold() == (meanwhile, 10, 10)
    assert gc.get_threshold() == (before, 10, 10)
