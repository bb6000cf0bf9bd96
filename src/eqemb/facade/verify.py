"""Verify a library or a model: read every file, and compare it with its checksums.

Damage is a file that is missing, that differs, or that does not belong where it is, and what SQLite
finds in the records. What is only unusual, such as an interrupted change, is a note.
"""

import contextlib
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eqemb.errors import EqembError, UsageError
from eqemb.index.build import damaged_file
from eqemb.library.database import open_records
from eqemb.library.generations import hold_current, next_generation, read_state
from eqemb.library.integrity import ENCODED, MAP, others_in, part_names, separate_folders
from eqemb.library.links import LIBRARY_NAMES, find_links
from eqemb.library.manifest import Manifest
from eqemb.library.source_record import SOURCES, is_intact
from eqemb.models.embeddings import Embeddings
from eqemb.storage.atomic import to_json
from eqemb.storage.checksums import (
    CHECKSUMS,
    NOT_LISTED,
    Damage,
    find_damage,
    is_sealed,
    read_checksums,
    stamp_of,
)
from eqemb.storage.regular_file import NOT_REGULAR, is_special

#: Called with the bytes that were read so far, and with those of all files.
VerifyWatch = Callable[[int, int], object]
#: How often a folder is read that another process replaces meanwhile.
_READINGS = 3
_LINK = "is a link, which does not belong in a library"
_REPORTS = ("report.json", "report.html")
#: Folders with nothing but folders, each of a generation, a segment, vectors or a model.
_PLACES = ("generations", "segments", "vectors", "models", "corpus", "splits")
#: Most files that are not part of the library and named.
_MOST_OTHERS = 5


@dataclass
class Verification:
    """What was read of a library or a model, and what is wrong with it."""

    folder: Path
    files: int = 0
    bytes: int = 0
    sha256: str = ""
    """The hash that stands for the whole library; empty if an older version made it."""
    damage: list[Damage] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def is_intact(self) -> bool:
        """Whether no damage was found."""
        return not self.damage

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON values; files are named by their paths below the folder."""
        found = [{"file": self.name(one.path), "what": one.what} for one in self.damage]
        return {
            "folder": str(self.folder),
            "files": self.files,
            "bytes": self.bytes,
            "sha256": self.sha256,
            "damage": found,
            "notes": self.notes,
        }

    def name(self, path: Path) -> str:
        """Return the path of a file below the folder."""
        return path.relative_to(self.folder).as_posix()


def verify(folder: str | Path, watch: VerifyWatch = lambda _done, _all: None) -> Verification:
    """Read every file of a library, or of a model's folder, and return what is wrong.

    Args:
        folder: The library, or the folder of a model.
        watch: Called with the bytes that were read so far, and with those of all files.

    """
    folder = Path(folder)
    damage = [Damage(path, f"is {NOT_REGULAR}") for path in _special_files(folder)]
    damage += [Damage(path, _LINK) for path in find_links(folder)]
    if damage:  # reading what is there might never end
        return Verification(folder, damage=damage)
    is_library = (folder / "library.json").exists() or not (folder / "config.json").is_file()
    reader = _FileReader(folder, watch)
    if is_library:
        _LibraryVerifier(reader).run()
    else:
        reader.read_model(folder)
    return reader.found


def _special_files(folder: Path) -> Iterator[Path]:
    """Yield the pipes, devices and similar files below a folder, and links to such files."""
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            with contextlib.suppress(OSError):  # it was removed meanwhile, or is a broken link
                if is_special(Path(place, name).stat()):
                    yield Path(place, name)


class _FileReader:
    """Reads folders with checksums, and collects what is wrong with them."""

    def __init__(self, folder: Path, watch: VerifyWatch) -> None:
        self.found = Verification(folder)
        self._watch, self._total = watch, _size(folder)

    def read(self, folder: Path, sha256: str | None = None, apart: Collection[str] = ()) -> None:
        """Read a folder; `apart` are folders in it that do not belong to it."""
        self.found.damage += find_damage(folder, sha256, apart, self.count)

    def read_replaceable(self, folder: Path) -> None:
        """Read a folder that another process may replace or remove meanwhile: then again."""
        checksums = str(folder / CHECKSUMS)
        for _ in range(_READINGS):
            before, damage = stamp_of(checksums), list[Damage]()
            try:
                if is_sealed(folder) or any(folder.iterdir()):
                    damage = list(find_damage(folder, watch=self.count))
            except (FileNotFoundError, NotADirectoryError):
                damage = [Damage(folder, "was removed while it was read")]
            if not damage or (before == stamp_of(checksums) and folder.exists()):
                break
        if folder.exists():
            self.found.damage += damage

    def count(self, size: int) -> None:
        """Count a file that was read."""
        self.found.files += 1
        self.found.bytes += size
        self._watch(self.found.bytes, self._total)

    def note(self, path: Path, what: str) -> None:
        """Add damage, unless the file is known to be damaged."""
        if all(path != one.path for one in self.found.damage):
            self.found.damage.append(Damage(path, what))

    def read_model(self, folder: Path) -> None:
        """Read the folder of a model; older versions wrote a hash of its vectors alone."""
        if is_sealed(folder):
            self.read(folder)
            return
        try:
            Embeddings.verified(folder)
        except EqembError as error:
            self.note(folder, str(error))


def _size(folder: Path) -> int:
    """Return the bytes of the files below a folder; those that are removed meanwhile have none."""
    stamps = (
        stamp_of(os.path.join(place, name))  # noqa: PTH118 - as os.walk has it
        for place, _, names in os.walk(folder)
        for name in names
    )
    return sum(stamp[1] for stamp in stamps if stamp is not None)


class _LibraryVerifier:
    """Verifies the current state of a library, which is held meanwhile."""

    def __init__(self, reader: _FileReader) -> None:
        self._reader, self._home = reader, reader.found.folder

    def run(self) -> None:
        """Read everything."""
        try:
            state, generation, held = hold_current(self._home)
        except UsageError:
            raise
        except EqembError as error:
            self._reader.note(self._home / "library.json", f"is damaged ({error})")
            return
        try:
            self._check_state(state)
            if not generation.is_dir() and read_state(self._home) == state:
                self._reader.note(generation, "is missing, although library.json names it")
                return
            manifest = self._manifest(generation)
            if "checksums" in state:
                self._reader.found.sha256 = state["checksums"]
                self._read_parts(generation, state["checksums"], manifest)
            else:
                self._read_older(generation, manifest)
            self._check_sources(generation)
            self._check_records(manifest)
            self._check_copies(generation, state)
            self._reader.found.notes += self._notes()
            is_gone = not generation.exists()  # it could not be locked
            if is_gone and not self._reader.found.is_intact:
                raise EqembError(f"{self._home} was changed while it was verified: try again")
        finally:
            if held is not None:
                os.close(held)

    def _check_state(self, state: Mapping[str, Any]) -> None:
        """Compare library.json with what it says: every byte of it."""
        path = self._home / "library.json"
        if path.read_bytes() != to_json(state).encode():
            self._reader.note(path, "was changed")
        self._reader.count(path.stat().st_size)

    def _manifest(self, generation: Path) -> Manifest | None:
        try:
            return Manifest.load(generation)
        except EqembError as error:
            self._reader.note(generation / "manifest.json", f"is damaged ({error})")
            return None

    def _read_parts(self, generation: Path, sha256: str, manifest: Manifest | None) -> None:
        """Read all folders with checksums."""
        self._reader.read(generation, sha256, [MAP])
        parts: Mapping[str, str | None] = {}
        try:
            parts = read_checksums(generation, sha256).parts
        except EqembError:  # which was found; what it covers is known from the manifest
            if manifest is not None:
                parts = dict.fromkeys(part_names(manifest))
        for name, digest in parts.items():
            self._reader.read(self._home / name, digest, others_in(self._home / name))
        if manifest is None:
            return
        for folder in separate_folders(self._home, generation, manifest):
            self._reader.read_replaceable(folder)
        self._excuse_encoded()

    def _excuse_encoded(self) -> None:
        """Take new files of an encoder for notes: their checksums are written after all of them."""
        found = self._reader.found
        is_new = {
            one.path
            for one in found.damage
            if one.path.parent == self._home / ENCODED and one.what == NOT_LISTED
        }
        found.damage = [one for one in found.damage if one.path not in is_new]
        found.notes += (
            f"{found.name(path)} has no checksum: encoding equations was interrupted, or is in"
            " progress; the next search with this encoder adds it"
            for path in sorted(is_new)
        )

    def _read_older(self, generation: Path, manifest: Manifest | None) -> None:
        """Read what has hashes in a library that an older version made: index, vectors, models."""
        self._reader.found.notes.append(
            "an older version of eqemb made this library, with hashes of the index and of models"
            " alone: its next change adds checksums of all files, `eqemb compact` if there is none"
        )
        for name in () if manifest is None else part_names(manifest):
            folder = self._home / name
            folder = folder / "index" if name.startswith("segments/") else folder
            if folder.is_dir() and (path := damaged_file(folder)) is not None:
                self._reader.note(path, "is missing or was changed")
        for folder in (generation / "model", *sorted((self._home / "models").glob("[!.]*"))):
            if folder.is_dir():
                self._reader.read_model(folder)

    def _check_sources(self, generation: Path) -> None:
        """Check the record of sources, which is replaced without a new generation."""
        path = generation / SOURCES
        if path.exists() and not is_intact(generation):
            self._reader.note(path, "was changed")

    def _check_records(self, manifest: Manifest | None) -> None:
        """Let SQLite check the records of each segment."""
        for part in () if manifest is None else manifest.segments:
            path = self._home / "segments" / part.name / "records.sqlite"
            try:
                with contextlib.closing(open_records(path, part.removed)) as records:
                    problems = records.find_damage()
            except EqembError as error:
                problems = str(error)
            if problems:
                self._reader.note(path, f"is damaged ({problems})")

    def _check_copies(self, generation: Path, state: Mapping[str, Any]) -> None:
        """Compare the copies of the report with those of the generation, if it is still current."""
        for name in _REPORTS:
            copy, own = self._home / name, generation / name
            what = ""
            if not copy.is_file():
                what = "is missing"
            elif own.is_file() and copy.read_bytes() != own.read_bytes():
                what = f"differs from generations/{generation.name}/{name}"
                if self._is_older(copy):
                    self._reader.found.notes.append(
                        f"{name} is that of an older state, as a change was interrupted at its end:"
                        " the next change replaces it"
                    )
                    continue
            if read_state(self._home) != state:  # the copies are of a newer one by now
                return
            if what:
                self._reader.note(copy, what)
            else:
                self._reader.count(copy.stat().st_size)

    def _is_older(self, copy: Path) -> bool:
        """Whether the copy of a report is that of a generation that was current before."""
        others = self._home.glob(f"generations/[0-9]*/{copy.name}")
        return any(copy.read_bytes() == other.read_bytes() for other in others)

    def _notes(self) -> Iterator[str]:
        """Yield what is unusual, but does not change answers."""
        if next_generation(self._home).exists():
            yield "a change was interrupted, or is in progress: --resume continues it"
        others = sorted(self._others())
        if others:
            more = f" and {len(others) - _MOST_OTHERS:,} more" if len(others) > _MOST_OTHERS else ""
            yield f"not part of the library: {', '.join(others[:_MOST_OTHERS])}{more}"

    def _others(self) -> Iterator[str]:
        """Yield the paths of files that are not part of the library, where they do no harm.

        A folder of parts that no generation lists may be of a change in progress.
        """
        for path in self._home.iterdir():
            if path.name not in LIBRARY_NAMES and not path.name.startswith("."):
                yield path.name
        for place in _PLACES:
            for path in (self._home / place).glob("[!.]*"):
                if not path.is_dir():
                    yield f"{place}/{path.name}"
