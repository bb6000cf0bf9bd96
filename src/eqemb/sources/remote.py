"""Files in object stores and on other servers, through fsspec (extra `remote`).

A remote path is a URL such as `s3://bucket/papers`. As a `Path` it is `s3:/bucket/papers`; both
forms are accepted everywhere. Small files are downloaded into the user's cache, which is bounded;
large ones, such as the month archives of arXiv, are streamed.
"""

import errno
import hashlib
import os
import posixpath
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from eqemb.errors import EqembError, UsageError
from eqemb.storage.cache import cache_folder

#: A scheme has two letters at least, so that `C:/papers` is a path on Windows.
_REMOTE_PATH = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(.*)", re.DOTALL)
_LOCAL_SCHEMES = frozenset(("file", "local"))
_WHOLE_BYTES = 64 << 20  # files up to this size are downloaded, larger ones are streamed
_BLOCK_BYTES = 4 << 20  # of a file that is streamed
_MOST_CACHED_BYTES = 1 << 30
_TRIM_EVERY = 64  # downloads
#: What stores say about the version of a file, the best first.
_VERSION_FIELDS = (
    *("ETag", "etag", "md5Hash", "content_md5", "checksum", "mtime", "LastModified"),
    *("last_modified", "updated", "modified", "created"),
)
_STORE_KINDS = {"directory": "folder", "file": "file", "link": "link"}
_downloads = 0


def is_remote(path: str | Path) -> bool:
    """Whether a path is a URL."""
    return _REMOTE_PATH.fullmatch(str(path)) is not None


def url_of(path: str | Path) -> str:
    """Return the URL of a remote path."""
    match = _REMOTE_PATH.fullmatch(str(path).replace("\\", "/"))
    if match is None:
        raise UsageError(f"{path} is no URL: write it as s3://bucket/folder")
    scheme, rest = match[1].lower(), posixpath.normpath(f"/{match[2]}").strip("/")
    return f"{scheme}:///{rest}" if scheme in _LOCAL_SCHEMES else f"{scheme}://{rest}"


@contextmanager
def _as_os_error(path: str | Path) -> Iterator[None]:
    """Turn the errors of a store's own library into `OSError`."""
    try:
        yield
    except (OSError, EqembError):
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"[:300]
        raise OSError(errno.EIO, " ".join(reason.split()), url_of(path)) from error


def _open_store(path: str | Path) -> tuple[Any, str]:
    """Return the file system of a remote path, and the path in it."""
    url = url_of(path)
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise UsageError(
            f"{url} is read through fsspec, which is not installed: pip install 'eqemb[remote]'"
        ) from None
    try:
        with _as_os_error(path):
            store, inner = url_to_fs(url)
    except OSError as error:
        cause = error.__cause__
        if not isinstance(cause, ImportError | ValueError):
            raise
        raise UsageError(
            f"{url} cannot be opened ({cause}): install the package for this kind of URL, such as"
            " s3fs for s3:// or gcsfs for gs://"
        ) from None
    return store, str(inner)


def _about(path: str | Path) -> dict[str, Any]:
    store, inner = _open_store(path)
    with _as_os_error(path):
        return dict(store.info(inner))


def kind_of(path: str | Path) -> str:
    """Return 'file', 'folder' or, for anything else, ''; raise `OSError` without access."""
    try:
        return _STORE_KINDS.get(_about(path)["type"], "")
    except FileNotFoundError:
        return ""


def list_folder(path: str | Path) -> list[tuple[str, str]]:
    """Return the names in a folder, each with 'file', 'folder', 'link' or '' for anything else."""
    store, inner = _open_store(path)
    with _as_os_error(path):
        entries = store.ls(inner, detail=True)
    found = {
        posixpath.basename(entry["name"].rstrip("/")): (
            "link" if entry.get("islink") else _STORE_KINDS.get(entry["type"], "")
        )
        for entry in entries
        if entry["name"].strip("/") != inner.strip("/")  # stores may list a folder in itself
    }
    return sorted(found.items())


def file_version(path: str | Path) -> tuple[int, str]:
    """Return the size of a file and what the store says of its version; '' if it says nothing."""
    about = _about(path)
    if about["type"] == "directory":
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), url_of(path))
    known = next((field for field in _VERSION_FIELDS if about.get(field)), "")
    return int(about.get("size") or 0), f"{known} {about[known]}" if known else ""


def open_remote(path: str | Path) -> BinaryIO:
    """Open a file for reading, with random access."""
    store, inner = _open_store(path)
    size, version = file_version(path)
    folder = cache_folder("remote") if version and size <= _WHOLE_BYTES else None
    with _as_os_error(path):
        if folder is None:
            return cast("BinaryIO", store.open(inner, "rb", block_size=_BLOCK_BYTES))
        key = f"{url_of(path)}\0{size}\0{version}".encode("utf-8", "surrogateescape")
        place = folder / hashlib.sha256(key).hexdigest()
        with suppress(OSError):
            os.utime(place)
            return place.open("rb")
        return _download(store, inner, place)


def _download(store: Any, inner: str, place: Path) -> BinaryIO:
    """Download a file into the cache, and open it; another process may remove it meanwhile."""
    global _downloads  # noqa: PLW0603 - how often the cache is trimmed
    handle, name = tempfile.mkstemp(dir=place.parent, prefix=".")
    os.close(handle)
    try:
        store.get_file(inner, name)
        opened = Path(name).open("rb")  # noqa: SIM115 - the caller closes it
        Path(name).replace(place)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _downloads += 1
    if _downloads % _TRIM_EVERY == 1:
        trim_cache(place.parent, _MOST_CACHED_BYTES)
    return opened


def trim_cache(folder: Path, most: int) -> None:
    """Remove the files that were used least recently, until the others fit."""
    files = []
    for path in folder.iterdir():
        with suppress(OSError):  # another process may have removed it
            state = path.stat()
            files.append((state.st_mtime_ns, state.st_size, path))
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= most:
            break
        path.unlink(missing_ok=True)
        total -= size
