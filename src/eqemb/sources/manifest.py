"""The manifest of arXiv's bulk archive: which month tars there are, their sizes and checksums.

    arXiv_src_manifest.xml     one entry for each tar
    arXiv_src_2301_001.tar     papers of a month, each a .gz, or a .pdf without source

A tar is checked while it is read, so that it is read only once.
"""

import hashlib
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple
from xml.etree import ElementTree as ET

from eqemb.sources.files import absolute_path, exists, file_size, leads_outside, open_file
from eqemb.sources.found import BROKEN_MANIFEST, TARS_MISSING
from eqemb.sources.remote import is_remote
from eqemb.sources.streams import CHUNK_BYTES

MANIFEST_NAME = "arXiv_src_manifest.xml"
_MD5 = re.compile(r"[0-9a-f]{32}")
_WHOLE_NUMBER = re.compile("[0-9]{1,15}")
_MOST_BYTES = 64 << 20  # that of all of arXiv has some 5 MB
_NAMED_TARS = 3  # in a message


class ManifestEntry(NamedTuple):
    """A tar as the manifest describes it."""

    size: int
    md5: str
    items: int
    """Number of papers; -1 if it is not said."""

    @property
    def digest(self) -> str:
        """What stands for the content of the tar, which is not hashed twice."""
        return f"md5 {self.md5}"


class TarManifest(NamedTuple):
    """The entries of a manifest by the names of the tars, and what is wrong with it."""

    entries: dict[str, ManifestEntry]
    fault: str = ""
    is_there: bool = True
    """False if it is not even known whether there is one."""


def is_manifest(path: str) -> bool:
    """Whether a file is a manifest, by its name."""
    return posixpath.basename(path) == MANIFEST_NAME


def read_manifest(path: str) -> TarManifest:
    """Read a manifest; up to a fault, its entries count."""
    found: dict[str, ManifestEntry] = {}
    incomplete = 0
    try:
        if file_size(path) > _MOST_BYTES:
            return TarManifest(found, f"it has more than {_MOST_BYTES:,} bytes")
        with open_file(path) as file:
            for _, element in ET.iterparse(file):  # noqa: S314 - expat limits growth of entities
                if element.tag == "file":
                    name, entry = _entry(element)
                    if entry is None:
                        incomplete += 1
                    else:
                        found[name] = entry
                    element.clear()
    except (ET.ParseError, LookupError, ValueError) as error:  # the latter two of encodings
        return TarManifest(found, f"not valid XML ({error})")
    except OSError as error:
        return TarManifest(found, error.strerror or str(error))
    if incomplete:
        entries = "1 entry has" if incomplete == 1 else f"{incomplete:,} entries have"
        return TarManifest(found, f"{entries} no name, size or md5sum")
    return TarManifest(found, "" if found else "it lists no tar")


def _entry(element: ET.Element) -> tuple[str, ManifestEntry | None]:
    name = posixpath.basename((element.findtext("filename") or "").strip())
    size, items = ((element.findtext(tag) or "").strip() for tag in ("size", "num_items"))
    md5 = (element.findtext("md5sum") or "").strip().lower()
    if not name or not _WHOLE_NUMBER.fullmatch(size) or not _MD5.fullmatch(md5):
        return name, None
    return name, ManifestEntry(int(size), md5, int(items) if _WHOLE_NUMBER.fullmatch(items) else -1)


def _find_manifest(path: str) -> TarManifest | None:
    try:
        return read_manifest(path) if exists(path) else None
    except OSError as error:  # a folder without permission, or a store without access
        return TarManifest({}, error.strerror or str(error), is_there=False)


def _split(path: str) -> tuple[str, str]:
    """Return the absolute path of a file's folder, and its name."""
    return posixpath.split(absolute_path(path).replace("\\", "/"))


class Manifests:
    """The manifests that were found; one holds for the tars in its folder and one level below."""

    def __init__(self, root: str | Path) -> None:
        """`root` is the folder of the papers: manifests outside are not read."""
        self._root = root
        self._by_folder: dict[str, TarManifest | None] = {}
        self._judged: set[str] = set()

    def entry(self, path: str) -> ManifestEntry | None:
        """Return what the nearest manifest says of a file."""
        if not path.endswith(".tar"):
            return None
        folder, name = _split(path)
        above = posixpath.dirname(folder)
        # what is above a bucket is no folder
        for place in [folder] if is_remote(path) and "/" not in above else [folder, above]:
            if place not in self._by_folder:
                manifest = f"{place}/{MANIFEST_NAME}"
                is_outside = leads_outside(manifest, self._root)
                self._by_folder[place] = None if is_outside else _find_manifest(manifest)
            known = self._by_folder[place]
            if known is not None and known.is_there:
                return known.entries.get(name)
        return None

    def unreported(self) -> Iterator[tuple[str, str]]:
        """Yield the manifests with a fault that were not judged, each with its fault."""
        for folder, found in self._by_folder.items():
            if found is not None and found.fault and folder not in self._judged:
                yield f"{folder}/{MANIFEST_NAME}", found.fault

    def judge(self, manifest: str, names: set[str]) -> Iterator[tuple[str, str]]:
        """Yield what is to be reported of a manifest: cause and detail.

        `names` are the files of its folder and of those below.
        """
        folder = _split(manifest)[0]
        self._judged.add(folder)
        found = self._by_folder.get(folder) or read_manifest(manifest)
        self._by_folder[folder] = found
        if found.fault:
            yield BROKEN_MANIFEST, found.fault
        if missing := [name for name in found.entries if name not in names]:
            shown = ", ".join(missing[:_NAMED_TARS]) + (", ..." if missing[_NAMED_TARS:] else "")
            yield TARS_MISSING, f"{len(missing):,} of {len(found.entries):,} tars: {shown}"


def size_fault(path: str, entry: ManifestEntry) -> str:
    """Return how the size of a tar differs from the manifest's; '' if it does not."""
    size = file_size(path)
    if size == entry.size:
        return ""
    return f"it has {size:,} bytes, the manifest says {entry.size:,}: download it again"


class CheckedFile:
    """A file that is hashed while it is read; parts that are read again are hashed once."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._md5 = hashlib.md5(usedforsecurity=False)
        self._at = self._hashed = 0

    def read(self, size: int) -> bytes:
        """Read some bytes."""
        data = self._file.read(size)
        first, self._at = self._at, self._at + len(data)
        if first <= self._hashed < self._at:
            self._md5.update(data[self._hashed - first :])
            self._hashed = self._at
        return data

    def seek(self, place: int) -> int:
        """Go to a place."""
        self._at = self._file.seek(place)
        return self._at

    def fault(self, entry: ManifestEntry, items: int) -> str:
        """Read to the end, and return how the file differs from the manifest; '' if it does not."""
        self.seek(self._hashed)
        while self.read(CHUNK_BYTES):
            pass
        told = self._md5.hexdigest()
        if told != entry.md5:
            return (
                f"its md5sum is {told}, the manifest says {entry.md5}: its papers"
                f" ({items:,} found) may be damaged; download it again"
            )
        if entry.items not in {-1, items}:
            return f"it holds {items:,} papers, the manifest says {entry.items:,}"
        return ""
