"""Decide which loose TeX files of a folder are papers, and which are parts of papers.

`discovery` handles packed papers in the folder.
"""

import os
import posixpath
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from eqemb.errors import SourceError
from eqemb.sources.content import (
    has_document_head,
    holds_display,
    identify,
    is_text,
    uncommented_matches,
)
from eqemb.sources.files import file_size, leads_outside, open_file
from eqemb.sources.found import BROKEN_LINK, NO_DOCUMENT, OUTSIDE, SPECIAL, Found, Limits
from eqemb.sources.inclusions import Inclusions, has_macro, upward
from eqemb.sources.looks import Looks
from eqemb.sources.names import (
    arxiv_id,
    collection_of,
    decode_name,
    encodable,
    is_hidden,
    is_paper,
    is_text_name,
    suffix,
)
from eqemb.sources.remote import is_remote, list_folder
from eqemb.sources.streams import CHUNK_BYTES
from eqemb.storage.regular_file import is_special

_USE = re.compile(
    rb"\\(input|include|subfile|subfileinclude|includestandalone|InputIfFileExists|usepackage"
    rb"|RequirePackage|documentclass|LoadClass|(?:sub)?(?:import|inputfrom|includefrom))\b\s*+"
    rb"(?:\[[^]]{0,500}\]\s*+)?(?:\{([^{}]{0,300})\}(?:\s*\{([^{}]{0,300})\})?|([^][\s{}\\%]{1,300}))"
)
_USE_SUFFIXES = {
    **dict.fromkeys((b"usepackage", b"RequirePackage"), ".sty"),
    **dict.fromkeys((b"documentclass", b"LoadClass"), ".cls"),
}
_JUDGED_BY_NAME = frozenset((NO_DOCUMENT, "empty", "withdrawn"))
#: The main files of a folder times its parts, from which parts no longer belong to all main files,
#: but to those that include them or have their name (`a.bbl` to `a.tex`).
_MOST_SHARED = 100_000


class LooseText(NamedTuple):
    """What was learned from one loose file."""

    has_head: bool
    """Whether a document begins in it."""
    uses: tuple[str, ...]
    """The files it includes, as written."""
    cause: str = ""
    """Why it cannot be a paper."""


def read_text(path: str, limits: Limits, looks: Looks | None = None) -> LooseText | None:
    """Read one loose file, unless `looks` knows it; None if it is not plain TeX."""
    if looks is None:
        return _read_text(path, limits)
    try:
        look = looks.at(path)
    except OSError:
        return _read_text(path, limits)
    if look.text is None:
        look.text = _read_text(path, limits) or False
    if not look.text:
        return None
    has_head, uses, cause = look.text
    return LooseText(has_head, tuple(uses), cause)


def _read_text(path: str, limits: Limits) -> LooseText | None:
    try:
        with open_file(path) as file:
            head = file.read(CHUNK_BYTES)
            what = identify(head)
            is_named = is_text_name(path) and what in _JUDGED_BY_NAME and is_text(head)
            if what != "tex" and not is_named:
                return None
            data = head + file.read(limits.file_bytes - len(head))
    except OSError:
        return LooseText(has_head=False, uses=(), cause="unreadable") if is_paper(path) else None
    is_main = is_paper(path) or not suffix(path) or any(arxiv_id(path))
    cause = "" if data.strip() else "empty"
    return LooseText(is_main and has_document_head(data), tuple(dict.fromkeys(_uses(data))), cause)


def _uses(text: bytes) -> Iterator[str]:
    r"""The files that `\input` and similar commands name."""
    for match in uncommented_matches(_USE, text):
        name = decode_name(match[2] or match[4] or b"")
        if match[3] and match[1].endswith((b"import", b"from")):
            name = f"{name}/{decode_name(match[3])}"
        end = _USE_SUFFIXES.get(match[1], "")
        yield from (part.strip('" \t\r\n') + end for part in name.split(","))


def is_bare(text: LooseText, path: str) -> bool:
    """Whether a loose file has neither a head nor a display."""
    return not text.has_head and not holds_display(path)


def _entry_kind(entry: "os.DirEntry[str]", top: str) -> str:
    """'file', 'folder', the cause why something is not read, or '' for anything ignored."""
    try:
        is_folder = entry.is_dir()
        if entry.is_symlink():
            if leads_outside(entry.path, top):
                return OUTSIDE
            if is_folder:
                return ""  # the target is walked anyway, and links may form loops
        if not is_folder:
            return "file" if entry.is_file() else _no_file(entry.path)
        return SPECIAL if is_special(entry.stat()) else "folder"
    except (OSError, RuntimeError):  # a link to itself
        # or a folder whose path is too long for the system: listing it fails with the reason
        return BROKEN_LINK if entry.is_symlink() else "folder"


def _no_file(path: str) -> str:
    return SPECIAL if Path(path).exists() else BROKEN_LINK


def _entries(folder: str, top: str) -> list[tuple[str, str]]:
    """The visible names in a folder, each with what `_entry_kind` says of it."""
    if is_remote(folder):
        # a store does not say where a link leads
        kinds = {"link": OUTSIDE}
        listed = list_folder(folder)
        return [(name, kinds.get(kind, kind)) for name, kind in listed if not is_hidden(name)]
    with os.scandir(folder) as entries:
        visible = (entry for entry in entries if not is_hidden(entry.name))
        return [(entry.name, _entry_kind(entry, top)) for entry in visible]


class FolderListing(NamedTuple):
    """The content of a folder at any depth."""

    files: list[str]
    """Sorted by path."""
    failed: list[tuple[str, str]]
    """Folders that could not be listed, each with the reason."""
    refused: list[tuple[str, str]]
    """What is not opened, each with the cause: links that leave the folder or lead nowhere, pipes,
    devices."""


def walk(top: str, most: int) -> FolderListing:
    """List everything below a folder, breadth first; `most` bounds the number of files."""
    files: list[str] = []
    failed: list[tuple[str, str]] = []
    refused: list[tuple[str, str]] = []
    folders = [""]
    for here in folders:  # grows while it is read
        if len(files) >= most:
            break
        try:
            listed = sorted((here + name, kind) for name, kind in _entries(f"{top}/{here}", top))
        except OSError as error:
            failed.append((here.rstrip("/") or ".", error.strerror or str(error)))
            continue
        if _is_library({path.rpartition("/")[2] for path, _ in listed}):
            continue
        files += [path for path, kind in listed if kind == "file"]
        folders += [f"{path}/" for path, kind in listed if kind == "folder"]
        refused += [entry for entry in listed if entry[1] not in {"file", "folder", ""}]
    return FolderListing(sorted(files, key=lambda path: path.split("/")), failed, refused)


def _is_library(names: set[str]) -> bool:
    """Whether a folder with these entries is a library of ours, whose report is not a paper."""
    return {"library.json", "report.html", "segments"} <= names


class Folder:
    """The loose TeX of a folder: which file includes which, and so which files are papers."""

    def __init__(
        self,
        top: str,
        limits: Limits,
        *,
        below: str = "",
        most: int = sys.maxsize,
        looks: Looks | None = None,
    ) -> None:
        """`below` is the path of the folder below the root, '' or with a slash at its end."""
        self.top = top
        self.below = below
        self._limits = limits
        self._looks = looks
        self.files, self.failed, self.refused = walk(top, most)
        self.texts: dict[str, LooseText] = {}
        self.bad: dict[str, str] = {}
        self._included: set[str] | None = None
        self._inclusions = Inclusions()
        self._sizes: dict[str, int] = {}
        self._size_of_all = self._bytes = 0
        for path in self.files:
            self._add(path)
        heads = {path: text for path, text in self.texts.items() if text.has_head}
        self._inclusions.heads = heads
        self.roots = self._inclusions.tops(list(heads))
        self._settle()
        self._find_more_roots()
        self._settle()

    def _add(self, path: str) -> None:
        """Read a file if it may be TeX."""
        if is_text_name(path) is not False:
            self._inclusions.add(path)
            if text := read_text(f"{self.top}/{path}", self._limits, self._looks):
                self.texts[path] = text
                self._inclusions.note(path, text.uses)
                self._note_size(path)

    def _note_size(self, path: str) -> None:
        if not is_remote(self.top):
            with suppress(OSError):
                self._sizes[path] = file_size(f"{self.top}/{path}")
                self._size_of_all += self._sizes[path]

    def add_root(self, path: str) -> None:
        """Treat a file as a paper because the user named it."""
        if path not in self.roots:
            if path not in self.texts:
                self._add(path)
            self.roots.add(path)
            self._settle()

    def _find_more_roots(self) -> None:
        """Find papers among texts that belong to no paper yet, and texts that cannot be read.

        If no document begins in a folder or above it, every file there that no other file includes
        is a paper.
        """
        asked_for = self._inclusions.reach_all(self.roots)
        starts = {home: list(self._own.get(home, ())) for home in self._here}
        for root in self.roots:
            starts[posixpath.dirname(root)].append(root)
        parts = set().union(*(self._inclusions.reach(starts[home], home) for home in starts))
        others = []
        for path, text in self.texts.items():
            folder = posixpath.dirname(path)
            if not is_paper(path) or path in asked_for:
                continue
            if text.cause:
                is_unused_part = path in parts and self._here[folder] <= 1
                if text.cause != "empty" or not is_unused_part:
                    self.bad[path] = text.cause
            elif path not in parts:
                others.append(path)
        self.roots |= self._inclusions.tops(others)

    def _settle(self) -> None:
        """Count the main files of each folder, and assign every part to the nearest above it."""
        self._here = Counter(map(posixpath.dirname, self.roots))
        self._text_folders = {
            posixpath.dirname(path)
            for path, text in self.texts.items()
            if is_paper(path) and not text.cause
        }
        self._own: dict[str, list[str]] = {}
        self._namesakes: dict[str, list[str]] = {}
        for path in self.files:
            if path not in self.roots and (is_text_name(path) or path in self.texts):
                owner = next((folder for folder in upward(path) if folder in self._here), None)
                if owner is not None:
                    self._own.setdefault(owner, []).append(path)
                    self._namesakes.setdefault(posixpath.splitext(path)[0], []).append(path)

    def files_of(self, root: str) -> tuple[str, ...]:
        """The files of a paper: those in its folder and below, and all files these include.

        Beside other papers, a file that cannot be read is a part of those that include it, and of
        the one of its name: all others are whole without it.

        Raise a `SourceError` if the papers of the folder share so many that reading all would cost
        more than the size of the folder deserves.
        """
        home = posixpath.dirname(root)
        own = self._own.get(home, [])
        if self._here[home] * len(own) > _MOST_SHARED:
            own = self._namesakes.get(posixpath.splitext(root)[0], [])
        reached, is_whole = self._inclusions.reach_some([root, *own], home)
        if not is_whole or not self._count_bytes(root, reached):
            raise SourceError("too large", "papers of this folder share too many or large files")
        if self._here[home] > 1 and (bad := set(filter(self._is_bad, reached))):
            used = self._inclusions.reach([root], home)
            used.update(self._namesakes.get(posixpath.splitext(root)[0], ()))
            reached -= bad - used
        return tuple(sorted(reached, key=lambda path: path.split("/")))

    def _is_bad(self, path: str) -> bool:
        """Whether `load` cannot read a file: it is no text, or too large, or not accessible."""
        is_read = path in self.texts and self.texts[path].cause != "unreadable"
        return not is_read or self._sizes.get(path, 0) > self._limits.file_bytes

    def _count_bytes(self, root: str, files: Iterable[str]) -> bool:
        """Whether a paper may be read: all may share files, up to a multiple of their size."""
        most = max(self._limits.paper_bytes, self._size_of_all * self._limits.ratio)
        size = sum(self._sizes.get(path, 0) for path in files)
        self._bytes += size
        return self._bytes <= most or size <= self._sizes.get(root, 0) * self._limits.ratio

    def is_fragment(self, path: str) -> bool:
        """Whether TeX belongs to no paper, or is one without a head and without displays."""
        if self._included is None:
            self._included = self._inclusions.reach_all(self.roots)
        if path not in self._included:
            return True
        return path in self.roots and is_bare(self.texts[path], f"{self.top}/{path}")

    def find(self, path: str) -> Found:
        """A file as a `Found`, a paper with all its files; its name is still a path."""
        place = posixpath.normpath(self.below + path)
        home, file = collection_of(place), f"{self.top}/{path}"
        found = Found(place, encodable(place), home, "file", file, top=self.top)
        if path not in self.roots:
            return found
        try:
            files = self.files_of(path)
        except SourceError as error:
            return replace(found, cause=error.cause, detail=error.detail)
        return replace(found, kind="folder", path=self.top, root=path, files=files)

    def above(self, files: Iterable[str]) -> Iterator[str]:
        """What these files ask for outside the folder, also through links: the names as written."""
        links = {path for path, cause in self.refused if cause == OUTSIDE}
        for path in files:
            for use in self.texts[path].uses if path in self.texts else ():
                place = posixpath.normpath(posixpath.join(posixpath.dirname(path), use))
                is_above = place.startswith(("../", "/")) and not has_macro(use)
                if is_above or not links.isdisjoint(
                    (place, f"{place}.tex", f"{place}.ltx", *upward(place))
                ):
                    yield encodable(use)

    def has_text_above(self, path: str) -> bool:
        """Whether there is TeX beside a file or in a folder above it."""
        return not self._text_folders.isdisjoint(upward(path))
