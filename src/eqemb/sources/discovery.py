"""List the papers under the given paths in a fixed order, opening as little as possible.

`folders` decides which loose files belong together; `loading` opens papers.
"""

import posixpath
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast

from eqemb.errors import SourceError, UsageError
from eqemb.sources import names
from eqemb.sources.content import (
    HEAD_BYTES,
    Content,
    check_document,
    holds_display,
    identify,
    is_record_file,
    open_content,
)
from eqemb.sources.documents import (
    Listing,
    is_child,
    is_document,
    is_refused,
    is_worth,
    left_out,
    list_archive,
    unsafe_detail,
    visible_files,
)
from eqemb.sources.files import (
    file_size,
    is_file,
    is_folder,
    is_special_file,
    real_path,
    shown_path,
)
from eqemb.sources.folders import Folder, LooseText, is_bare, read_text
from eqemb.sources.formats import format_of
from eqemb.sources.forms import arxiv_keys, claims, identity, is_better_form
from eqemb.sources.found import (
    ACCOMPANYING,
    BROKEN_MANIFEST,
    CHECKSUM_DIFFERS,
    DEFAULTS,
    NO_DOCUMENT,
    OTHER_FORM,
    OTHER_FORMS,
    SOURCE_CAUSES,
    SPECIAL,
    UNSAFE,
    Found,
    Limits,
)
from eqemb.sources.inclusions import upward
from eqemb.sources.looks import UNCHANGED, Looks, SeenFile
from eqemb.sources.manifest import CheckedFile, ManifestEntry, Manifests, is_manifest, size_fault
from eqemb.sources.naming import KnownArticles, Names, NoArticles
from eqemb.sources.records import list_records, skipped
from eqemb.sources.remote import is_remote
from eqemb.sources.roots import common_root, path_below, resolve_root, split_given
from eqemb.sources.streams import ByteStream, Meter, UnfoldBudget, UnfoldError

_NEARBY = 5_000  # files examined around a TeX file that is given by itself
_NO_ARTICLES = NoArticles()


def discover(
    paths: Iterable[str | Path],
    limits: Limits = DEFAULTS,
    *,
    root: str | Path | None = None,
    known: KnownArticles = _NO_ARTICLES,
    looks: Looks | None = None,
) -> Iterator[Found]:
    """List the papers under `paths`: LaTeX, then other formats, each sorted by path below the root.

    Args:
        paths: Files and folders. What is given twice is listed once.
        limits: Size limits of a paper.
        root: The folder below which articles are named; by default `common_root(paths)`.
        known: The articles that the library has. A paper of the same origin keeps its name, and no
            other paper takes it.
        looks: What was learned before from files; one that has not changed is not opened. If it is
            a container, its papers are not listed: it is a `Found` of the kind `UNCHANGED`.

    Returns:
        The papers, and the sources that are skipped. A path that does not exist or is outside the
        root raises a `UsageError` at once, before anything is listed.
    """
    given = [Path(path) for path in paths]
    for path in given:
        reason = "there is no such file or folder"
        try:
            is_there = is_folder(path) or is_file(path)
        except OSError as error:  # in a folder without permission, or a store without access
            is_there = False
            reason = (error.strerror or str(error)) if is_remote(path) else reason
        if is_special_file(path):
            is_there, reason = False, "pipes, sockets, devices and files of the kernel are not read"
        if not is_there:
            raise UsageError(f"nothing to read at {shown_path(path)}: {reason}")
    if not given:
        return iter(())
    base = common_root(given) if root is None else resolve_root(root)
    places: dict[str, Path] = {}
    for path in given:
        places.setdefault(path_below(path, base), path)
    finder = _Finder(base, limits, known, looks)
    return finder.find(dict(sorted(places.items(), key=lambda item: item[0].split("/"))))


class _Finder:
    """One run of `discover`; until `_named`, a paper's name is its path below the root."""

    def __init__(
        self, root: Path, limits: Limits, known: KnownArticles, looks: Looks | None
    ) -> None:
        self._limits = limits
        self._looks = looks
        self._names = Names(root.name, known)
        self._claimed: dict[str, str] = {}
        self._nearby: dict[str, Folder] = {}
        self._listed: set[str] = set()
        self._read: set[str] = set()  # the identities of documents that are read
        self._fragments: set[str] = set()  # origins of TeX that is no form of a document
        self._papers: dict[str, str] = {}  # arXiv identity -> origin of the form that is read
        self._manifests = Manifests(root)
        self._records_later: dict[str, Found] | None = {}

    def find(self, given: dict[str, Path]) -> Iterator[Found]:
        """The papers under the given paths; the keys are their paths below the root, sorted."""
        folders, files = split_given(given)
        walked = {place: self._walk(place, path) for place, path in folders.items()}
        texts = {
            place: text
            for place, path in files.items()
            if not format_of(place)
            and not self._manifests.entry(str(path))
            and (text := read_text(str(path), self._limits, self._looks))
            and (text.has_head or names.is_paper(place))
        }
        documents = self._documents(walked.values(), files, texts)
        self._claim_loose(walked.values(), texts, documents)
        for place in given:
            if place in walked:
                yield from self._in_folder(walked[place])
            elif place in files and place not in self._listed and place not in documents:
                yield from self._in_given(place, files[place], texts.get(place))
        for place in sorted(documents, key=lambda place: place.split("/")):
            found = documents[place]
            yield found if found.cause else self._named(found)
        yield from self._late_records()
        for path, fault in self._manifests.unreported():  # they are not in a given folder
            found = Found("", names.encodable(shown_path(path)), "", "file", path)
            yield skipped(found, BROKEN_MANIFEST, fault)

    def _late_records(self) -> Iterator[Found]:
        """The records of unarXive, last: of a paper that is there in another form, none is read."""
        waiting, self._records_later = self._records_later or {}, None
        for found in waiting.values():
            yield from self._in_file(found)

    def _walk(self, place: str, path: Path) -> Folder:
        below = f"{place}/" if place else ""
        return Folder(str(path), self._limits, below=below, looks=self._looks)

    def _documents(
        self, folders: Iterable[Folder], files: dict[str, Path], texts: dict[str, LooseText]
    ) -> dict[str, Found]:
        """The loose documents of formats other than LaTeX, by place, and those that are skipped."""
        found: dict[str, Found] = {}
        # TeX by place, each with the question whether it is a mere fragment
        tex: dict[str, Callable[[], bool]] = {
            place: partial(is_bare, text, str(files[place]))
            for place, text in texts.items()
            if not text.cause
        }
        packed = set(filter(names.is_archive, files))
        for folder in folders:
            for path in filter(is_document, folder.files):
                if one := self._confirmed(folder.find(path)):
                    found[folder.below + path] = one
            tex |= {
                folder.below + path: partial(folder.is_fragment, path)
                for path, text in folder.texts.items()
                if names.is_paper(path) and not text.cause
            }
            packed |= {folder.below + path for path in filter(names.is_archive, folder.files)}
        for place, given in files.items():
            if format_of(place) and place not in found and not is_manifest(place):
                one = _given(place, given)
                found[place] = self._confirmed(one) or skipped(
                    one, NO_DOCUMENT, "XML, but no article"
                )
        readable = [place for place, one in found.items() if not one.cause]
        stems = set(map(identity, readable))
        weak = {place for place, ask in tex.items() if identity(place) in stems and ask()}
        self._fragments = set(map(names.encodable, weak))
        homes = {folder for path in (*tex, *packed) for folder in upward(path)}
        for place, better in left_out(readable, tex.keys() - weak, packed | weak).items():
            if better and place in found:
                found[place] = skipped(found[place], OTHER_FORM, f"of {names.encodable(better)}")
            elif place in files:
                found[place] = skipped(found[place], ACCOMPANYING)
            elif not holds_display(found[place].path):
                found.pop(place, None)
            elif posixpath.dirname(place) in homes:
                found[place] = skipped(found[place], ACCOMPANYING, "it holds display equations")
        self._read = {identity(place) for place, one in found.items() if not one.cause}
        return found

    def _claim_loose(
        self,
        folders: Iterable[Folder],
        texts: dict[str, LooseText],
        documents: dict[str, Found],
    ) -> None:
        """Name loose files before packed papers: the shortest paths first, then generic names.

        A document of an arXiv paper waits: its LaTeX may be found in an archive.
        """
        loose = {folder.below + path for folder in folders for path in folder.roots}
        loose |= {place for place, text in texts.items() if not text.cause}
        loose |= {
            place for place, one in documents.items() if not one.cause and not arxiv_keys(place)
        }
        for path in sorted(loose, key=_rank):
            self._claimed[path] = self._names.claim(path, names.encodable(path))

    def _named(self, found: Found) -> Found:
        """An article with its name; a skipped source for a fault, or if a better form is read."""
        if found.cause:
            return skipped(found, found.cause, found.detail)
        if found.form != "tex":
            better = next(filter(None, map(self._papers.get, arxiv_keys(found.origin))), "")
            if not better or not is_better_form(better, found.origin):
                better = self._names.better_form(found.name, found.origin)
            if better and better not in self._fragments:
                return skipped(found, OTHER_FORM, f"of {better}")
        for key in claims(found.origin):
            if key.startswith("arXiv:"):
                self._papers.setdefault(key, found.origin)
        name = self._claimed.get(found.name) or self._names.claim(found.name, found.origin)
        return replace(found, name=name)

    def _in_given(self, place: str, path: Path, text: LooseText | None) -> Iterator[Found]:
        """The papers in a file that is given by itself."""
        found = _given(place, path)
        if text is None:
            yield from self._on_disk(found)
        elif text.cause:
            yield skipped(found, text.cause)
        else:
            yield self._named(self._with_parts(found, path))

    def _with_parts(self, found: Found, path: Path) -> Found:
        """A TeX file given by itself is a paper, together with the files it includes."""
        top, root = str(path.parent), path.name
        if top not in self._nearby:
            self._nearby[top] = Folder(top, self._limits, most=_NEARBY, looks=self._looks)
        folder = self._nearby[top]
        folder.add_root(root)
        try:
            files = folder.files_of(root)
        except SourceError as error:
            return replace(found, cause=error.cause, detail=error.detail)
        above = tuple(dict.fromkeys(folder.above(files)))
        return replace(found, kind="folder", path=top, root=root, files=files, above=above)

    def _in_folder(self, folder: Folder) -> Iterator[Found]:
        """The papers of a folder, sorted by path."""
        for path in folder.files:
            for found in self._at(folder, path):
                self._listed.add(folder.below + path)
                yield found
        for path in filter(is_manifest, folder.files):
            inside = {posixpath.basename(file) for file in folder.files}
            for cause, detail in self._manifests.judge(f"{folder.top}/{path}", inside):
                yield skipped(folder.find(path), cause, detail)
        for path, reason in folder.failed:
            yield skipped(folder.find(path), "unreadable", reason)
        for path, cause in folder.refused:
            if is_refused(path, cause):
                detail = f"it leads to {names.encodable(real_path(f'{folder.top}/{path}'))}"
                yield skipped(folder.find(path), cause, "" if cause == SPECIAL else detail)

    def _at(self, folder: Folder, path: str) -> Iterator[Found]:
        """The papers in a file of a folder."""
        if path in folder.roots:
            yield self._named(folder.find(path))
        elif path in folder.bad:
            yield skipped(folder.find(path), folder.bad[path])
        elif not (path in folder.texts or format_of(path) or names.is_never_paper(path)):
            is_beside = folder.has_text_above(path) or identity(folder.below + path) in self._read
            for found in self._on_disk(folder.find(path)):
                if is_worth(found, path, is_beside=is_beside):
                    yield found

    def _seen(self, file: Found) -> SeenFile | None:
        """What is known of a file on disk; None if nothing is remembered."""
        if self._looks is None or file.data is not None:
            return None
        try:
            entry = self._manifests.entry(file.path)
            return self._looks.at(file.path, entry.digest if entry else "")
        except OSError:
            return None

    def _confirmed(self, file: Found) -> Found | None:
        """A document with its format, skipped if its content is something else; None of other XML.

        Its head is read only if it is new or has changed.
        """
        look = self._seen(file)
        if look is not None and look.found:
            form, cause = look.found["form"], look.found["cause"]
        else:
            try:
                with file.open() as opened:
                    judged = check_document(file.origin, opened.read(HEAD_BYTES))
            except OSError as error:
                return skipped(file, "unreadable", error.strerror or str(error))
            form, cause = ("", "") if judged is None else (format_of(file.origin), judged)
            if look is not None:
                look.found = {"form": form, "cause": cause, "detail": ""}
        if cause:
            return skipped(file, cause)
        return replace(file, form=form) if form else None

    def _on_disk(self, file: Found) -> Iterator[Found]:
        """The papers in a file on disk, which is opened only if it is new or has changed."""
        look = self._seen(file)
        if look is None:
            yield from self._in_file(file)
        elif look.found is None:
            every = self._in_file(file)
            first, second = next(every, None), next(every, None)
            if first is None or second is not None or first.origin != file.origin:
                look.found = {}  # a container
            elif first.cause != "unreadable":
                look.found = {"form": first.form, "cause": first.cause, "detail": first.detail}
            yield from (found for found in (first, second) if found is not None)
            yield from every
        elif not look.found:
            yield replace(file, kind=UNCHANGED)
        elif look.found["cause"]:
            yield skipped(file, look.found["cause"], look.found["detail"])
        else:
            yield self._named(replace(file, form=look.found["form"]))

    def _in_file(
        self, found: Found, depth: int = 0, budget: UnfoldBudget | None = None
    ) -> Iterator[Found]:
        """The papers in one file: one, several in a container, or a skipped source.

        `budget` is that of the file on disk that contains it.
        """
        if found.cause:
            yield skipped(found, found.cause, found.detail)
            return
        if format_of(found.origin):
            if one := self._confirmed(found):
                yield one if one.cause else self._named(one)
            return
        try:
            budget = budget or UnfoldBudget(self._limits, file_size(found.path))
            if depth == 0 and (entry := self._manifests.entry(found.path)):
                yield from self._in_month(found, entry, budget)
                return
            with found.open() as file:
                yield from self._in_content(file, found, depth, budget)
        except SourceError as error:
            if depth and isinstance(error, UnfoldError):
                raise
            yield skipped(found, error.cause, error.detail)
        except OSError as error:
            yield skipped(found, "unreadable", error.strerror or str(error))

    def _in_month(
        self, found: Found, entry: ManifestEntry, budget: UnfoldBudget
    ) -> Iterator[Found]:
        """The papers in a tar of arXiv's bulk archive, which is checked while it is read."""
        if fault := size_fault(found.path, entry):
            yield skipped(found, "broken archive", fault)
            return
        items: set[str] = set()
        with found.open() as file:
            checked = CheckedFile(file)
            content = self._look(cast("BinaryIO", checked), budget)
            for one in self._in_container(content, found, 0, Listing({})):
                if one.origin != found.origin:
                    items.add(one.origin.split("!")[found.origin.count("!") + 1])
                yield one
            fault = checked.fault(entry, len(items))
        if fault:
            yield skipped(found, CHECKSUM_DIFFERS, fault)

    def _in_content(
        self, file: BinaryIO, found: Found, depth: int, budget: UnfoldBudget
    ) -> Iterator[Found]:
        content = self._look(file, budget)
        if content.what == "unarxive":
            if depth == 0 and self._records_later is not None:
                self._records_later[found.origin] = found
            else:
                yield from self._records(content.stream, found, content.meter)
        elif content.is_archive and (listing := list_archive(content, found, self._limits)):
            yield from self._in_container(self._look(file, budget), found, depth, listing)
        elif content.is_archive or content.what == "tex":
            yield self._named(found)
        else:
            yield skipped(found, content.what, content.stream.fault)

    def _look(self, file: BinaryIO, budget: UnfoldBudget) -> Content:
        return open_content(file, Meter(self._limits, budget))

    def _in_container(
        self, content: Content, found: Found, depth: int, listing: Listing
    ) -> Iterator[Found]:
        """The papers of a container."""
        if depth >= self._limits.depth:
            raise SourceError("archive bomb", f"archives nested over {self._limits.depth} deep")
        for child, records in self._children(content, found, listing):
            if records is None:
                yield from self._in_file(child, depth + 1, content.meter.budget)
                continue
            try:
                yield from self._records(records, child, content.meter)
            except UnfoldError:
                raise
            except SourceError as error:
                yield skipped(child, error.cause, error.detail)

    def _children(
        self, content: Content, found: Found, listing: Listing
    ) -> Iterator[tuple[Found, ByteStream | None]]:
        """The files of a container that may be papers, with their bytes; damage comes last.

        Records of unarXive are not held in memory: they come as a stream.
        """
        most = self._limits.paper_bytes
        try:
            for member in content.members():
                if detail := unsafe_detail(member):
                    origin = f"{found.origin}!{names.encodable(member.name)}"
                    yield replace(found, origin=origin, cause=UNSAFE, detail=detail), None
                path = next((path for path, _ in visible_files([member])), "")
                if not path or not is_child(path, member, listing):
                    continue
                name, origin = f"{found.name}/{path}", f"{found.origin}!{names.encodable(path)}"
                if better := listing.left.get(path):
                    detail = f"of {found.origin}!{names.encodable(better)}"
                    yield replace(found, origin=origin, cause=OTHER_FORM, detail=detail), None
                    continue
                child = replace(found, name=name, origin=origin, kind="data")
                cause = SOURCE_CAUSES.get(member.trouble, "")
                if not cause and is_record_file(path, member.stream, self._limits.file_bytes):
                    yield child, member.stream
                    continue
                what = "" if cause else identify(member.stream.peek(512))
                cause = what if what in OTHER_FORMS else cause  # a PDF is not held in memory
                cause = cause or ("too large" if member.size > most else "")
                data = b"" if cause else member.stream.read(most + 1)
                cause = "too large" if len(data) > most else cause
                yield replace(child, data=data, cause=cause), None
            if content.stream.fault:
                yield replace(found, cause="broken archive", detail=content.stream.fault), None
        except UnfoldError:
            raise
        except SourceError as error:
            yield replace(found, cause=error.cause, detail=error.detail), None

    def _records(self, stream: ByteStream, found: Found, meter: Meter) -> Iterator[Found]:
        for one in list_records(stream, found, meter):
            yield one if one.cause else self._named(one)


def _rank(path: str) -> tuple[int, bool, list[str]]:
    """The order in which loose papers are named."""
    return path.count("/"), not names.is_generic_name(path), path.split("/")


def _given(place: str, path: Path) -> Found:
    """A file that is given by itself."""
    return Found(place, names.encodable(place), names.collection_of(place), "file", str(path))
