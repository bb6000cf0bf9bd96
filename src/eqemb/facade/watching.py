"""Follow the files of a library, and update it whenever they change: `watch_library`."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from eqemb.checks import check_number
from eqemb.errors import EqembError, UsageError, describe_os_error
from eqemb.facade.sync import Update, places_of, update_library
from eqemb.library.generations import OpenLibrary
from eqemb.library.ingest import Paths, path_list
from eqemb.sources import resolve_root
from eqemb.sources.files import shown_path
from eqemb.sources.names import is_hidden
from eqemb.sources.remote import is_remote

#: A file counts as written when it has not changed for so many seconds.
SETTLE = 1.0
#: Changes are collected until none came for this time, and no longer than the second, in ms.
_QUIET, _LONGEST_WAIT = 300, 5_000
_RETRY = 5.0  # seconds after an update that failed


def watch_library(
    folder: str | Path,
    paths: Paths = (),
    *,
    poll: float | None = None,
    report: Callable[[Update], object],
    complain: Callable[[str], object],
    **options: Any,
) -> None:
    """Update a library now, and after every change of its files, until `KeyboardInterrupt`.

    Args:
        folder: The library.
        paths: As in `update_library`.
        poll: Look every so many seconds, instead of being told by the system, which network disks
            do not do.
        report: Called with every update that changed the library.
        complain: Called with a sentence when an update fails, once with each. It is tried again.
        options: More arguments of `update_library`.
    """
    folder, given = Path(folder), path_list(paths)
    if poll is not None:
        check_number("poll", poll, above=True)
    changes = _events(folder, given, options.get("root")) if poll is None else _ticks(poll)
    next(changes)  # what changes from now on is noticed
    update = update_library(folder, given, settle=SETTLE, **options)
    said, due = set[str](), _after(update)
    if not update.is_empty:
        report(update)
    for is_changed in changes:
        if not is_changed and time.monotonic() < due:
            continue
        try:
            update = update_library(folder, given, settle=SETTLE, **options)
        except (EqembError, OSError) as error:
            due = time.monotonic() + _RETRY
            message = describe_os_error(error) if isinstance(error, OSError) else str(error)
            if message not in said:
                complain(message)
            said.add(message)
        else:
            said, due = set(), _after(update)
            if not update.is_empty:
                report(update)


def _after(update: Update) -> float:
    """Return when to look again, even if nothing changes: what is being written must settle."""
    return time.monotonic() + SETTLE if update.pending else float("inf")


def _ticks(seconds: float) -> Iterator[bool]:
    while True:
        yield True
        time.sleep(seconds)


def _events(
    folder: Path, given: list[str | Path], root: str | Path | None = None
) -> Iterator[bool]:
    """Yield about once a second whether files have changed.

    A folder that is deleted, or replaced by another, is followed again when it is there.
    """
    try:
        import watchfiles  # noqa: F401 - used by `_follow`
    except ImportError:
        raise UsageError(
            "--watch needs watchfiles: pip install 'eqemb[watch]', or look every minute with"
            " --poll 60"
        ) from None
    with OpenLibrary.open(folder) as library:
        top = None if root is None else resolve_root(root)
        paths = [place.path for place in places_of(library, given, top)]
    if remote := [path for path in paths if is_remote(path)]:
        raise UsageError(
            f"{shown_path(remote[0])} cannot be followed: look every ten minutes with --poll 600"
        )
    is_new = False
    while True:
        followed = _identities(paths)
        there = [path for path in paths if followed[path] is not None]
        ticks = _follow(there, _Visible(folder, paths)) if there else _pauses()
        try:
            for changes in ticks:
                yield bool(changes) or is_new
                is_new = _identities(paths) != followed
                if is_new:
                    break
        except FileNotFoundError:  # it was deleted just now
            is_new = True
        except OSError:  # the system cannot tell
            time.sleep(1)
            yield True


def _follow(paths: list[Path], counts: "_Visible") -> Iterator[set[Any]]:
    import watchfiles

    yield from watchfiles.watch(
        *paths,
        watch_filter=counts,
        debounce=_LONGEST_WAIT,
        step=_QUIET,
        rust_timeout=1_000,
        yield_on_timeout=True,
        ignore_permission_denied=True,
    )


def _pauses() -> Iterator[set[Any]]:
    while True:
        time.sleep(1)
        yield set()


def _identities(paths: list[Path]) -> dict[Path, tuple[int, int] | None]:
    """Return which file or folder each path leads to."""
    found: dict[Path, tuple[int, int] | None] = {}
    for path in paths:
        try:
            state = path.stat()
            found[path] = state.st_dev, state.st_ino
        except OSError:
            found[path] = None
    return found


class _Visible:
    """Tells which changes concern papers: not those of hidden files, or of the library itself."""

    def __init__(self, folder: Path, paths: list[Path]) -> None:
        self._library = str(folder.resolve()) + os.sep
        self._tops = [f"{form}{os.sep}" for path in paths for form in {path, path.resolve()}]

    def __call__(self, _change: object, path: str) -> bool:
        if path.startswith(self._library):
            return False
        below = next((path[len(top) :] for top in self._tops if path.startswith(top)), "")
        return not is_hidden(below.replace(os.sep, "/"))
