"""A library on disk: a folder whose library.json names the current generation.

    library.json          format, current generation and the hash of its checksums; a change
                          replaces this file atomically
    generations/N/        manifest.json, which lists segments; settings.json, report.json,
                          report.html and run.json; model/ if the library has one; checksums.json
    segments/NAME/        records and index of some documents; see `segments`
    vectors/NAME/         the vectors that a model gives to segments
    report.json, .html    copies of the current report, for people

The generation after the current one is being made, or was interrupted. It becomes current by an
atomic write of library.json, so that after a kill at any moment the library is the old one or the
new one. Segments and vectors are written once and shared by generations. An open library holds its
generation: it can still be read while another process changes the library. The first change after
it was closed removes the old generation, and the segments and vectors that no generation lists.
"""

import contextlib
import json
import os
import sqlite3
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from eqemb.article import Article
from eqemb.checks import did_you_mean
from eqemb.errors import DamageError, EqembError, UsageError
from eqemb.library.article_names import resolve_article
from eqemb.library.database import RECORDS_FORMAT, RESTORE_LIBRARY, LibraryRecords, is_damage
from eqemb.library.integrity import APPROXIMATE, library_files, seal_generation
from eqemb.library.manifest import Manifest
from eqemb.library.papers import PaperRecords
from eqemb.library.segments import open_segments, written_segments
from eqemb.storage.atomic import make_folders, to_json, write_atomically
from eqemb.storage.checksums import OpenedFiles
from eqemb.storage.locks import hold, remove_unheld
from eqemb.storage.regular_file import open_regular
from eqemb.storage.removal import remove_folder
from eqemb.storage.syncing import sync_folder

#: The end of the names of folders that are being removed.
_GONE = ".gone"
REBUILD = "rebuild the library in another folder"


class OpenLibrary:
    """An existing library, opened for reading: its records, report and steps."""

    _uses_index = False
    """Whether the files of the index and of vectors are checked when a library is opened."""

    def __init__(
        self,
        folder: Path,
        generation: Path,
        held: int | None = None,
        manifest: Manifest | None = None,
    ) -> None:
        """`held` is a lock on the generation, which `close` releases.

        `manifest` replaces that of the generation, to open a part of the library.
        """
        self._release = weakref.finalize(self, _close, held)
        self.folder = folder
        self.generation = generation
        self.home = generation.parents[1]
        """Where the segments are: `folder`, except while a library is being made."""
        self.manifest = manifest or Manifest.load(generation)
        self.records: LibraryRecords = open_segments(self.home, self.manifest.segments)
        self.records.near_pairs = self.manifest.near
        self.records.papers = PaperRecords(generation)
        self._files = OpenedFiles(())
        self._is_intact = False
        """Whether all files were read, and are as their checksums say."""

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Open the library in a folder; raise an error that names a file with damage.

        Sizes are compared with the checksums, and the content of small files.
        """
        folder = Path(folder)
        state, generation, held = hold_current(folder)
        digest, files = state.get("checksums"), OpenedFiles(())
        if digest is not None:  # otherwise an older version made the library
            with _closed_on_error(held):
                files = cls._open_files(generation, digest)
        library = cls(folder, generation, held)
        library._files = files
        return library

    @classmethod
    def _open_files(
        cls, generation: Path, digest: str | None, manifest: Manifest | None = None
    ) -> OpenedFiles:
        """Check the files of a library, or of the segments of a manifest.

        `digest` is the hash of its checksums, if it is known.
        """
        indexed = cls._uses_index
        listed = library_files(generation, digest, manifest, RESTORE_LIBRARY, indexed=indexed)
        return OpenedFiles(listed, RESTORE_LIBRARY)

    @property
    def has_checksums(self) -> bool:
        """Whether its files were compared with checksums; older versions wrote none."""
        return len(self._files) > 0

    def changed_file(self, *, or_removed: bool = False) -> str | None:
        """Return a file that was changed since the library was opened; None if none was.

        With `or_removed`, also one that was removed.

        No change of a library changes a file: they are replaced as a whole, and those of the old
        state are removed when nobody has it open. Another program may have copied files over them.
        """
        return self._files.changed(or_removed=or_removed)

    @property
    def report(self) -> dict[str, Any]:
        """The ingest report, as in report.json."""
        return self._read_json("report", "articles")

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The steps that made the library, in order; empty if it is too old to record them."""
        found: list[dict[str, Any]] = self._read_json("settings", "format").get("steps", [])
        return found

    def _read_json(self, name: str, key: str) -> dict[str, Any]:
        """Read a JSON file of the generation; without this key, it is damaged."""
        try:
            found = json.loads((self.generation / f"{name}.json").read_text("utf-8"))
            if isinstance(found, dict) and key in found:
                return found
            why = "it is damaged"
        except (OSError, ValueError) as error:
            why = str(error)
        raise EqembError(f"{self.folder} has no readable {name} ({why}): {REBUILD}")

    def models(self) -> dict[str, dict[str, Any]]:
        """Return the configuration of each trained model, by name; unreadable ones are left out."""
        found = {}
        for path in sorted((self.folder / "models").glob("[!.]*/config.json")):
            with contextlib.suppress(OSError, ValueError):
                config = json.loads(path.read_text("utf-8"))
                if isinstance(config, dict) and "settings" in config:
                    found[path.parent.name] = config
        return found

    def articles(self) -> Iterator[Article]:
        """Yield every article, in order."""
        for name in self.records.names():
            article = self.records.article(name)
            if article is not None:
                yield article

    def contents(self) -> Iterator[tuple[str, int, str]]:
        """Yield name, number of equations and title of every article, in order."""
        return self.records.contents()

    def article(self, name: str) -> Article:
        """Return an article by its name; the last parts are enough where they are unique."""
        whole = resolve_article(self.records, name)
        found = None if whole is None else self.records.article(whole)
        if found is None:
            raise self._no_article(name)
        return found

    def article_name(self, name: str) -> str:
        """Return the whole name of an article, given that name or its last parts."""
        whole = resolve_article(self.records, name)
        if whole is None:
            raise self._no_article(name)
        return whole

    def _no_article(self, name: str) -> UsageError:
        """Return the error for an unknown name; it suggests similar names."""
        names = self.records.names()
        within = [other for other in names if name and f"/{name}" in f"/{other}"]
        hint = did_you_mean(name, names, "`eqemb show LIBRARY` lists them", first=within)
        return UsageError(f"no article {name!r} in {self.folder}: {hint}")

    def close(self) -> None:
        """Close the files."""
        self.records.close()
        self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        changed = self.changed_file() if self._release.alive else None
        self.close()
        if isinstance(error, Exception) and not self.generation.exists():  # it could not be locked
            raise EqembError(f"{self.folder} was changed since it was opened: try again") from None
        if changed is not None and (error is None or isinstance(error, Exception)):
            raise DamageError(
                f"{changed} was changed by another program while the library was open, so that"
                " answers may be wrong: try again"
            ) from None
        self.check_damage(error)

    def check_damage(self, error: object) -> None:
        """Raise an error that names a damaged file, if such a file may have caused `error`.

        This reads all files, but only once if they are intact.
        """
        is_odd = isinstance(error, Exception) and not isinstance(error, EqembError | OSError)
        if is_odd or isinstance(error, FileNotFoundError):
            if not self._is_intact or self.changed_file(or_removed=True) is not None:
                self._read_files()
            self._is_intact = True
        if _is_of_damage(error) or (type(error) is LookupError and not self.has_checksums):
            raise DamageError(
                f"{self.folder} is damaged ({' '.join(str(error).split())}): {RESTORE_LIBRARY}"
            ) from None

    def _read_files(self) -> None:
        """Read all files; raise an error that names one with damage."""
        self._files.check_all()


def _is_of_damage(error: object) -> bool:
    """Whether only reading a damaged file raises an error."""
    return isinstance(error, json.JSONDecodeError | UnicodeDecodeError) or (
        isinstance(error, sqlite3.Error) and is_damage(error)
    )


def _close(handle: int | None) -> None:
    if handle is not None:
        os.close(handle)


@contextlib.contextmanager
def _closed_on_error(handle: int | None) -> Iterator[None]:
    try:
        yield
    except BaseException:
        _close(handle)
        raise


def hold_current(folder: Path) -> tuple[dict[str, Any], Path, int | None]:
    """Return the content of library.json, the current generation, and a lock on it.

    Raise an error if there is no library.
    """
    while (state := read_state(folder)) is not None:
        generation = folder / "generations" / str(state["generation"])
        held = hold(generation)
        with _closed_on_error(held):
            is_same = read_state(folder) == state
        if is_same:  # otherwise it was changed before we locked it
            return state, generation, held
        _close(held)
    hint = (
        "it was not finished: run its `eqemb build` again, with --resume"
        if (folder / "generations").is_dir()
        else "create one with `eqemb build PAPERS -o LIBRARY`"
    )
    raise UsageError(f"no library at {folder}: {hint}")


def read_state(folder: Path) -> dict[str, Any] | None:
    """Return the content of library.json, or None if there is none.

    It has the hash of the checksums if this version, or a later one, wrote it.
    """
    try:
        with open_regular(folder / "library.json") as file:  # reading a pipe would never end
            state = json.loads(file.read().decode("utf-8"))
        number = state["format"]
        if number == RECORDS_FORMAT:
            found = {"format": number, "generation": int(state["generation"])}
            return found | {key: str(state[key]) for key in ("checksums",) if key in state}
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        raise UsageError(
            f"{folder} is a file, not a library folder: create a library with"
            " `eqemb build PAPERS -o LIBRARY`"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise EqembError(
            f"{folder / 'library.json'} does not describe a library: {REBUILD}"
        ) from None
    what = "a newer" if isinstance(number, int) and number > RECORDS_FORMAT else "another"
    raise EqembError(
        f"{folder} has library format {number}, but this version of eqemb reads {RECORDS_FORMAT}: "
        f"it was made by {what} version; rebuild it, or use that version"
    )


def require_library(folder: Path) -> None:
    """Raise an error if there is no library at a folder, before a lock file is made there."""
    OpenLibrary.open(folder).close()


def make_folder(folder: Path) -> bool:
    """Create the folder of a library; raise an error if it contains anything else.

    Returns:
        Whether the folder is new.
    """
    is_new = not os.path.lexists(folder)
    try:
        make_folders(folder)
    except FileExistsError:
        raise UsageError(f"{folder} is a file: choose a folder for the library") from None
    except OSError as error:
        raise EqembError(
            f"cannot create the folder {folder} ({error.strerror}): choose another path"
        ) from None
    names = {path.name for path in folder.iterdir()}
    if read_state(folder) is None and not _is_unfinished(names):
        raise UsageError(f"{folder} contains other files: choose a new or empty folder")
    return is_new


def _is_unfinished(names: set[str]) -> bool:
    """Return whether a folder with these entries is empty, or a library without a generation."""
    others = {name for name in names if not name.startswith(".library.json.")}
    return not names or (
        ".lock" in names and others <= {".lock", "generations", "segments", "vectors"}
    )


def next_generation(folder: Path) -> Path:
    """Return the folder of the generation after the current one, which may be in progress."""
    state = read_state(folder)
    return folder / "generations" / str(state["generation"] + 1 if state else 1)


def switch(folder: Path, generation: Path) -> None:
    """Make a finished generation current, and remove older ones that no process holds."""
    before, number = read_state(folder), int(generation.name)
    if before is None or before["generation"] != number:  # otherwise a kill followed the write
        is_first = before is None or "checksums" not in before
        for left in list(generation.rglob(".*")):
            if left.is_dir():  # in which a file was written when the process was killed
                remove_folder(left)
        digest = seal_generation(generation, is_first=is_first)
        sync_folder(generation)
        sync_folder(generation.parent)
        _write_state(folder, number, digest)
    _copy_report(folder, generation)
    remove_leftovers(folder)


def seal_again(folder: Path) -> None:
    """Write the checksums of the current generation again, after its parts were given new ones.

    A kill between the writes of checksums.json and of library.json leaves a library that counts as
    damaged: only for libraries that are thrown away, such as those that `planning` measures.
    """
    state = read_state(folder)
    if state is not None:
        generation = folder / "generations" / str(state["generation"])
        _write_state(folder, state["generation"], seal_generation(generation, is_first=False))


def _write_state(folder: Path, number: int, digest: str) -> None:
    state = {"format": RECORDS_FORMAT, "generation": number, "checksums": digest}
    write_atomically(folder / "library.json", to_json(state))


def finish_switch(folder: Path) -> None:
    """Do what a kill after the write of library.json left undone."""
    state = read_state(folder)
    if state is not None:
        generation = folder / "generations" / str(state["generation"])
        with contextlib.suppress(FileNotFoundError):  # a library without a report can be read
            _copy_report(folder, generation)
        remove_leftovers(folder)


def _copy_report(folder: Path, generation: Path) -> None:
    """Copy the report of the current generation to the library's folder, if it is another one."""
    for name in ("report.json", "report.html"):
        text, place = (generation / name).read_text("utf-8"), folder / name
        if not place.exists() or place.read_text("utf-8") != text:
            write_atomically(place, text)


def remove_leftovers(folder: Path) -> None:
    """Remove older generations that no process holds, and what no generation lists any more.

    The segments that the next generation has written so far are kept.
    """
    state, place = read_state(folder), folder / "generations"
    generations = (
        [path for path in place.iterdir() if path.name.isdecimal()]
        if _is_own(folder, "generations")
        else []
    )
    for old in generations:
        if state is not None and int(old.name) < state["generation"]:
            remove_unheld(old)
    segments: set[str] = set()
    vectors: set[str] = set()
    for generation in filter(Path.exists, generations):
        segments.update(written_segments(generation))
        is_current = state is not None and int(generation.name) == state["generation"]
        if is_current or (generation / "manifest.json").exists():  # otherwise it is being made
            try:
                manifest = Manifest.load(generation)
            except EqembError:  # what it lists is unknown: remove nothing
                return
            segments.update(part.name for part in manifest.segments)
            vectors.add(manifest.vectors)
    _remove_others(folder, "segments", segments)
    _remove_others(folder, "vectors", vectors)
    for name in vectors - {""}:
        _remove_others(folder, f"vectors/{name}", segments | {APPROXIMATE})


def _remove_others(library: Path, place: str, names: set[str]) -> None:
    """Remove the folders at a place in a library that have other names.

    Nothing is removed through links, which may lead out of a library that somebody else made.
    Folders are renamed first: one that is half removed must not be taken for a whole one.
    """
    folder = library / place
    if _is_own(library, place):
        for path in folder.iterdir():
            if path.is_dir() and path.name not in names:
                gone = path
                if not path.name.endswith(_GONE):
                    gone = path.with_name(f".{path.name}{_GONE}")
                    try:
                        path.replace(gone)
                    except OSError:  # Windows, while a file of it is open: the next change tries
                        continue
                remove_folder(gone)


def _is_own(library: Path, place: str) -> bool:
    """Whether a place in a library is a folder, and no link to a folder elsewhere."""
    folder = library / place
    return folder.is_dir() and folder.resolve() == library.resolve() / place
