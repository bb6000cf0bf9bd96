"""Fail each call of the file system once, and cut the power: the old or the new library is left."""

import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from campaigns import FULL, sample
from eqemb.facade import model
from eqemb.library import engines
from faults import Result, count_calls, fail_calls
from library_changes import CHANGES, make_change
from power_loss import cut_power
from synthetic import read_inline

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/fd").is_dir(), reason="finds the paths of open files in /proc"
)
_Record = Callable[[str, object], None]


def chosen(*names: str) -> tuple[str, ...]:
    """Return all changes, or in `make test` the named ones."""
    return CHANGES if FULL else names


def some(calls: Sequence[int], few: int, many: int) -> list[int]:
    """Return the numbers of a few calls, or of many others in each full run."""
    if not FULL:
        return sample(calls, few)
    return sorted(random.SystemRandom().sample(calls, min(many, len(calls))))


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read in this process, commit every paper, and learn from little."""
    read_inline(monkeypatch)
    monkeypatch.setattr(engines, "_COMMIT_EVERY", 0.0)
    monkeypatch.setattr(model, "LEAST_WORDS", 100)


def check(result: Result, record: _Record) -> None:
    """Note how many cases there were, and fail if there is a problem."""
    record("cases", sum(result.failed.values()))
    record("calls", dict(result.failed))
    record("outcomes", dict(result.outcomes))
    assert not result.problems, "\n".join(result.problems[:20])


@needs_proc
@pytest.mark.filterwarnings("ignore")  # of files that could not be closed
@pytest.mark.parametrize("name", chosen("remove", "train"))
def test_failing_call_leaves_the_old_or_the_new_library(
    name: str, tmp_path: Path, record_property: _Record
) -> None:
    """With one sentence, and the same command succeeds when it is run again."""
    change, library = make_change(tmp_path, name), tmp_path / "at" / "library"
    numbers = range(1, count_calls(change, library) + 1)
    result = fail_calls(change, library, some(numbers, 5, 250))
    check(result, record_property)
    assert any("error" in outcome for outcome in result.outcomes)


@needs_proc
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", chosen("add"))
def test_full_disk_leaves_the_old_or_the_new_library(
    name: str, tmp_path: Path, record_property: _Record
) -> None:
    """All calls that need space fail from one of them on, until the command is run again."""
    change, library = make_change(tmp_path, name), tmp_path / "at" / "library"
    numbers = range(1, count_calls(change, library) + 1)
    result = fail_calls(change, library, some(numbers, 2, 50), rest=True)
    check(result, record_property)


def refuse(*_: object, **__: object) -> None:
    """Refuse hard links, as some file systems do: files are copied."""
    raise PermissionError(1, "no links here")


@needs_proc
@pytest.mark.parametrize("links", ["links", "copies"])
@pytest.mark.parametrize("name", chosen("remove"))
def test_power_loss_leaves_the_old_or_the_new_library(
    name: str,
    links: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: _Record,
) -> None:
    """Whatever was not synced is lost; what a finished command made is not."""
    if links == "copies":
        if name not in {"add", "update", "remove", "use"}:
            pytest.skip("makes no links")
        monkeypatch.setattr(os, "link", refuse)
    change, library = make_change(tmp_path, name), tmp_path / "at" / "library"
    calls = range(1, count_calls(change, library) + 1)
    check(cut_power(change, library, some(calls, 2, 25)), record_property)
