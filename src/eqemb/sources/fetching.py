"""Copy a remote paper to disk, so that the process that reads it needs no network."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from eqemb.errors import SourceError
from eqemb.sources.files import file_size, open_file
from eqemb.sources.found import Found, Limits
from eqemb.sources.names import safe_path
from eqemb.sources.streams import stream_from, take_bytes


@contextmanager
def fetched(found: Found, home: Path, limits: Limits) -> Iterator[Found]:
    """Yield a remote paper whose files are in a new folder of `home`, which is removed afterwards.

    A file that cannot be fetched is missing there; if it is the main one, `SourceError` is raised.
    """
    folder = Path(tempfile.mkdtemp(dir=home))
    try:
        if found.kind == "folder":
            _fetch_folder(found, folder, limits)
            yield replace(found, path=str(folder), top="")
        else:
            place = folder / "paper"
            try:
                _fetch(found.path, place, limits.paper_bytes)
            except (OSError, EOFError) as error:
                raise _unreadable(error) from error
            yield replace(found, path=str(place), top="")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fetch_folder(found: Found, folder: Path, limits: Limits) -> None:
    if len(found.files) > limits.members:
        raise SourceError("too large", f"more than {limits.members:,} files")
    left = limits.paper_bytes
    for path in found.files:
        if safe_path(path) != path:
            continue
        place = folder / path
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            left -= _fetch(f"{found.path}/{path}", place, left)
        except (OSError, EOFError) as error:
            if path == found.root:
                raise _unreadable(error) from error


def _fetch(path: str, place: Path, most: int) -> int:
    """Copy a file and return its size."""
    size = file_size(path)
    if size > most:
        raise SourceError("too large", f"more than {most:,} bytes")
    with open_file(path) as source, place.open("wb") as copy:
        # the store may have told another size
        for piece in take_bytes(stream_from(source), size):
            copy.write(piece)
    return size


def _unreadable(error: OSError | EOFError) -> SourceError:
    return SourceError("unreadable", getattr(error, "strerror", None) or str(error))
