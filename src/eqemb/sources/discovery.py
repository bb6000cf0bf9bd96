"""List the papers under the given paths in a fixed order, opening as little as possible.

`folders` decides which loose files belong together; `loading` opens papers.
"""

import itertools
import json
import os
import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from eqemb.errors import SourceError, UsageError
from eqemb.sources import names
from eqemb.sources.archives import Member, tar_members
from eqemb.sources.content import Content, identify, open_content
from eqemb.sources.folders import Folder, LooseText, read_text
from eqemb.sources.formats import format_of
from eqemb.sources.found import (
    DEFAULTS,
    NO_PAPER,
    OTHER_FORMS,
    OUTSIDE,
    SOURCE_CAUSES,
    Found,
    Limits,
)
from eqemb.sources.streams import CHUNK_BYTES, ENGINES, ByteStream, Meter

_NEARBY = 5_000  # files examined around a TeX file that is given by itself
_CARRIERS = frozenset((*ENGINES, "tar", "zip", *OTHER_FORMS))
_NOTE = re.compile(r"(?i)readme|licen[cs]e|copying|.*\.(?:md|rst|txt|html|json|csv|tsv|xml)$")
_PAPER_ID = re.compile(rb'\s*\{\s*"paper_id"\s*:\s*"([0-9A-Za-z./-]+)"\s*,')


def discover(paths: Iterable[str | Path], limits: Limits = DEFAULTS) -> Iterator[Found]:
    """List the papers under `paths`: in the order given, sorted by path within each.

    The first folder below a path names the collection. If several folders are given, papers
    directly in one of them get its name as their collection.
    A path that does not exist raises a `UsageError` at once, before anything is listed.
    """
    given: dict[str, Path] = {}
    for path in map(Path, paths):
        try:
            is_there = path.is_dir() or path.is_file()
        except OSError:  # in a folder without permission
            is_there = False
        if not is_there:
            raise UsageError(f"nothing to read at {path}: there is no such file or folder")
        given.setdefault(os.path.realpath(path), path)
    finder, folders = _Finder(limits), [path for path in given.values() if path.is_dir()]
    return (
        # with several folders, each is a collection, beside the collections inside it
        replace(found, collection=path.resolve().name)
        if len(folders) > 1 and path in folders and not found.collection
        else found
        for path in given.values()
        for found in finder.given(path)
    )


class _Finder:
    """One run of `discover`; until `_named`, a paper's name is the path it is made from."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._names = names.Names()
        self._folders: dict[str, Folder] = {}

    def given(self, path: Path) -> Iterator[Found]:
        """The papers under one given path."""
        found = Found(path.name, names.encodable(path.as_posix()), "", "file", str(path))
        if path.is_dir():
            yield from self._in_folder(Folder(str(path), self._limits), path.resolve().name)
        elif names.is_paper(path.name) and (text := read_text(str(path), self._limits)):
            yield _skipped(found, text.cause) if text.cause else self._given_text(path, text, found)
        else:
            yield from self._in_file(found)

    def _given_text(self, path: Path, text: LooseText, found: Found) -> Found:
        """A TeX file given by itself is a paper, together with the files it includes."""
        top, root = str(path.parent), path.name
        if any(use.startswith("../") for use in text.uses):
            top, root = f"{top}/..", f"{path.parent.resolve().name}/{root}"
        if top not in self._folders:
            self._folders[top] = Folder(top, self._limits, most=_NEARBY)
        folder = self._folders[top]
        folder.add_root(root)
        whole = replace(folder.find(root), name=found.name, origin=found.origin, collection="")
        return self._named(whole)

    def _named(self, found: Found) -> Found:
        return replace(found, name=self._names.claim(found.name))

    def _in_folder(self, folder: Folder, name: str) -> Iterator[Found]:
        """The papers of a folder, sorted by path."""
        is_one = len(folder.roots) == 1 and not any(map(names.is_archive, folder.files))
        for path in folder.files:
            if path in folder.roots:
                found = folder.find(path)
                yield self._named(replace(found, name=name, collection="") if is_one else found)
            elif path in folder.bad:
                yield _skipped(folder.find(path), folder.bad[path])
            elif path not in folder.texts and not names.is_never_paper(path):
                is_beside = folder.has_text_above(path)
                for found in self._in_file(folder.find(path)):
                    if _is_worth(found, path, is_beside=is_beside):
                        yield found
        for path, reason in folder.failed:
            yield _skipped(folder.find(path), "unreadable", reason)
        for path in folder.outside:
            if not names.is_never_paper(path):
                target = names.encodable(os.path.realpath(f"{folder.top}/{path}"))
                yield _skipped(folder.find(path), OUTSIDE, f"it leads to {target}")

    def _in_file(self, found: Found, depth: int = 0) -> Iterator[Found]:
        """The papers in one file: one, several in a container, or a skipped source."""
        if found.cause:
            yield _skipped(found, found.cause, found.detail)
            return
        if form := format_of(found.origin):
            yield self._named(replace(found, form=form))
            return
        try:
            with found.open() as file:
                yield from self._in_content(file, found, depth)
        except SourceError as error:
            yield _skipped(found, error.cause, error.detail)
        except OSError as error:
            yield _skipped(found, "unreadable", error.strerror or str(error))

    def _in_content(self, file: BinaryIO, found: Found, depth: int) -> Iterator[Found]:
        content = self._look(file)
        if content.what == "unarxive":
            yield from self._records(content.stream, found)
        elif content.is_archive and self._is_container(content):
            yield from self._in_container(self._look(file), found, depth)
        elif content.is_archive or content.what == "tex":
            yield self._named(found)
        else:
            yield _skipped(found, content.what, content.stream.fault)

    def _look(self, file: BinaryIO) -> Content:
        return open_content(file, Meter(self._limits, is_container=True))

    def _is_container(self, content: Content) -> bool:
        """Whether an archive contains papers, by its first bytes or else by all its names."""
        if content.what == "tar":
            ahead = ByteStream(iter([content.stream.peek(CHUNK_BYTES)]))
            paths = [path for path, _ in _files(tar_members(ahead))]
            if any(map(names.is_text_name, paths)) or not any(map(names.is_packed, paths)):
                return False
            if any(names.is_archive(path) and any(names.arxiv_id(path)) for path in paths):
                return True
        return _holds_papers(content.members(), self._limits)

    def _in_container(self, content: Content, found: Found, depth: int) -> Iterator[Found]:
        """The papers of a container; if it holds a single file, that file gets the outer name."""
        if depth >= self._limits.depth:
            raise SourceError("archive bomb", f"archives nested over {self._limits.depth} deep")
        held, is_one = None, True
        for child in self._children(content, found):
            if held:
                yield from self._in_file(held, depth + 1)
                is_one = False
            held = child
        if held:
            held = replace(held, name=found.name) if is_one else held
            yield from self._in_file(held, depth + 1)

    def _children(self, content: Content, found: Found) -> Iterator[Found]:
        """The files of a container that may be papers, with their bytes; damage comes last."""
        most = self._limits.paper_bytes
        try:
            for path, member in _files(content.members()):
                if (
                    not names.looks_like_paper(path)
                    and identify(member.stream.peek(512)) not in _CARRIERS
                ):
                    continue
                name, origin = f"{found.name}/{path}", f"{found.origin}!{names.encodable(path)}"
                cause = SOURCE_CAUSES.get(member.trouble, "too large" if member.size > most else "")
                data = b"" if cause else member.stream.read(most + 1)
                cause = "too large" if len(data) > most else cause
                yield replace(found, name=name, origin=origin, kind="data", data=data, cause=cause)
            if content.stream.fault:
                yield replace(found, cause="broken archive", detail=content.stream.fault)
        except SourceError as error:
            yield replace(found, cause=error.cause, detail=error.detail)

    def _records(self, stream: ByteStream, found: Found) -> Iterator[Found]:
        """The papers of unarXive's format, one per line."""
        number, most = 0, self._limits.file_bytes
        while line := stream.line(most):
            number += 1
            here = replace(found, origin=f"{found.origin}!{number}", kind="data", data=line)
            if len(line) > most:
                yield _skipped(here, "too large", f"a line of more than {most:,} bytes")
            elif name := _paper_id(line):
                yield self._named(replace(here, name=name, form="unarxive"))
            elif line.strip():
                yield _skipped(here, "broken record", f"line {number} is not a paper")
        if stream.fault:
            raise SourceError("broken archive", stream.fault)


def _skipped(found: Found, cause: str, detail: str = "") -> Found:
    """A skipped source; its name stays free for articles."""
    name, _ = names.plain_name(found.name)
    return replace(found, name=name, data=None, cause=cause, detail=detail)


def _files(members: Iterable[Member]) -> Iterator[tuple[str, Member]]:
    """The regular, visible files of an archive, with their paths."""
    for member in members:
        path = names.safe_path(member.name)
        if member.kind == "file" and path and not names.is_hidden(path):
            yield path, member


def _holds_papers(members: Iterable[Member], limits: Limits) -> bool:
    """Whether an archive is a container of papers: more packed papers than other files, no TeX."""
    packed = others = 0
    for path, _ in _files(itertools.islice(members, limits.members)):
        if names.is_text_name(path):
            return False
        packed += names.is_packed(path)
        others += not (names.looks_like_paper(path) or _NOTE.match(posixpath.basename(path)))
        if packed > 50 + others:
            break
    return packed > others


def _is_worth(found: Found, path: str, *, is_beside: bool) -> bool:
    """Whether to report a source found in a folder.

    A file of unknown content counts as a paper only if its name says so. A PDF, or any file
    without TeX, is treated as a figure or output of the TeX in the same folder.
    """
    if not found.cause or names.is_archive(path) or names.is_paper(path):
        return True
    if found.cause in NO_PAPER:
        return names.looks_like_paper(path) and not is_beside
    return not (is_beside and found.cause in OTHER_FORMS)


def _paper_id(line: bytes) -> str:
    """The identifier in a line of unarXive; '' if the record is incomplete."""
    if match := _PAPER_ID.match(line):
        return match[1].decode() if line.rstrip().endswith(b"}") else ""
    try:
        name = json.loads(line)["paper_id"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
    return name if isinstance(name, str) else ""
