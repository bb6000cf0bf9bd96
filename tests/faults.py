"""Fail a call of the file system while a library is changed, as SQLite is tested.

`fail_calls` makes a change again and again. The first time, its first call below the folder fails;
then its second; and so on. Each time it checks that

    the library is the old one or the new one, by all files and by what it answers
    the failure is one sentence that names a path
    the same command succeeds when it is run again, resumed or not
    then the library is the new one
    after another change, there is no file that is not there without the failure
"""

import errno
import os
import sqlite3
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from eqemb.errors import EqembError, describe_os_error
from eqemb.facade import update
from library_changes import Change, copy_library, state
from system_calls import Watcher, watched

#: The errors of a call, by its kind. They are taken in turn.
_ERRORS = {
    "open": (errno.ENOSPC, errno.EACCES, errno.EMFILE, errno.EIO),
    "read": (errno.EIO, errno.EACCES, errno.EMFILE),
    "write": (errno.ENOSPC, errno.EIO, errno.EDQUOT),
    "sync": (errno.EIO, errno.ENOSPC),
    "rename": (errno.EACCES, errno.ENOSPC, errno.EIO),
    "mkdir": (errno.ENOSPC, errno.EACCES, errno.EIO),
    "remove": (errno.EACCES, errno.EIO),
    "link": (errno.EPERM, errno.ENOSPC, errno.EMLINK),
    "chmod": (errno.EPERM,),
    "mmap": (errno.ENOMEM,),
}
_SQL_ERRORS = ("database or disk is full", "disk I/O error", "unable to open database file")
#: Calls that need space; on a full disk, all of them fail from the first one on.
_NEED_SPACE = frozenset(("open", "write", "mkdir", "link", "sync", "sql"))


class _Failing(Watcher):
    """Lets the call of a number fail; with `rest`, also those after it that need space."""

    def __init__(self, number: int, *, rest: bool = False) -> None:
        self._number, self._rest = number, rest
        self.calls = 0
        self.failed = ""
        """The kind of the call that failed."""
        self.path: Path | None = None

    def before(self, kind: str, path: Path) -> None:
        self.calls += 1
        again = self._rest and self.failed and kind in _NEED_SPACE
        if self.calls != self._number and not again:
            return
        self.failed, self.path = self.failed or kind, self.path or path
        if kind == "sql":
            raise sqlite3.OperationalError(_SQL_ERRORS[self._number % len(_SQL_ERRORS)])
        code = _ERRORS[kind][self._number % len(_ERRORS[kind])]
        if self._rest and kind in _NEED_SPACE:
            code = errno.ENOSPC
        has_path = kind not in {"write", "sync", "mmap"}
        raise OSError(code, os.strerror(code), *([str(path)] if has_path else []))


@dataclass
class Result:
    """What became of a change whose calls failed."""

    failed: Counter[str] = field(default_factory=Counter)
    """The number of calls that failed, by kind."""
    outcomes: Counter[str] = field(default_factory=Counter)
    """How often the old or the new library was found, after an error or without one."""
    problems: list[str] = field(default_factory=list)


def count_calls(change: Change, library: Path) -> int:
    """Return the number of calls of a change."""
    copy_library(change, library)
    watcher = _Failing(0)
    with watched(library.parent, watcher):
        change.run(library, False)  # noqa: FBT003
    return watcher.calls


def fail_calls(
    change: Change, library: Path, numbers: Iterable[int], *, rest: bool = False
) -> Result:
    """Let calls fail, one in each run of a change; with `rest`, the disk then stays full."""
    copy_library(change, library)
    old = state(library)
    change.run(library, False)  # noqa: FBT003
    new, wanted, result = state(library), files_later(library), Result()
    assert old != new
    for number in numbers:
        copy_library(change, library)
        watcher = _Failing(number, rest=rest)
        with watched(library.parent, watcher):
            said = _message(change, library, resume=False)
        found = state(library)
        result.failed[watcher.failed] += 1
        kept = {old: "old", new: "new"}.get(found, "other")
        result.outcomes[f"{kept}, {'no ' * (not said)}error"] += 1
        problems = [f"the library is neither old nor new: {found[:60]}"] * (kept == "other")
        problems += _bad_message(said, library)
        if not said and kept != "new":
            problems.append("no error, and not the new library")
        resume = kept == "new" or number % 2 == 0
        problems += run_again(change, library, new, wanted, resume=resume)
        result.problems += [
            f"call {number}, {watcher.failed} {watcher.path}: {problem}" for problem in problems
        ]
    return result


def run_again(
    change: Change, library: Path, new: str, wanted: set[str], *, resume: bool
) -> list[str]:
    """Make a change that failed again, as its message says; return what is wrong afterwards."""
    said = _message(change, library, resume=resume)
    if "continue with --resume" in said or "without --resume" in said:
        said = _message(change, library, resume=not resume)
    if said:
        return [f"again: {said}"]
    if state(library) != new:
        return ["again: not the new library"]
    left = files_later(library) ^ wanted
    return [f"left: {sorted(left)}"] if left else []


def _message(change: Change, library: Path, *, resume: bool) -> str:
    """Make a change; return the line by which the command line reports its failure."""
    try:
        change.run(library, resume)
    except EqembError as error:
        return str(error)
    except OSError as error:
        return describe_os_error(error)
    except Exception as error:  # noqa: BLE001
        return f"Traceback: {error!r}"
    return ""


def files_later(library: Path) -> set[str]:
    """Return the files of a library after another change, which removes what others left."""
    update.remove_articles(library, "set3/paper003")
    return {path.relative_to(library).as_posix() for path in library.rglob("*")}


def _bad_message(said: str, library: Path) -> list[str]:
    """Return what is wrong with the report of a failure."""
    if said and (said.startswith("Traceback") or "\n" in said or str(library.parent) not in said):
        return [f"not a sentence: {said}"]
    return []
