"""Compare the sources that are on disk with those of a library: what is new, changed or gone."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from eqemb.arxiv.selection import Selection
from eqemb.library.database import LibraryRecords
from eqemb.library.source_record import SourceRecord
from eqemb.sources import Found
from eqemb.sources.files import exists, is_folder
from eqemb.sources.looks import UNCHANGED, digest, files_of

#: Why a paper cannot be read for now, whatever its content: the library keeps what it has of it.
TRANSIENT = frozenset(("unreadable", "out of memory", "time limit", "reader died"))
#: The cause of an archive that ends too early: perhaps it is being copied.
DAMAGED = "broken archive"


class StoredSource(NamedTuple):
    """A source as the library has it."""

    segment: int
    key: int
    name: str
    origin: str
    is_article: bool
    digest: bytes


class SourcePlace(NamedTuple):
    """A file or folder whose sources are in the library."""

    root: Path
    path: Path
    below: str
    """Its path below the root, as origins have it; '' for the root."""
    selection: Selection = Selection()
    """Which of its papers are read."""

    def contains(self, origin: str) -> bool:
        """Return whether a source lies in it."""
        return is_below(origin, self.below)


def is_below(origin: str, place: str) -> bool:
    """Return whether an origin is a place, or lies in that folder or archive."""
    return not place or origin == place or origin.startswith((f"{place}/", f"{place}!"))


def sources_of(records: LibraryRecords) -> Iterator[StoredSource]:
    """Yield every source of a library, in order."""
    for number, part in enumerate(records.parts):
        rows = zip(part.statuses(), part.digests(), strict=True)
        for (key, name, origin, status, _), (_, content) in rows:
            yield StoredSource(number, key, name, origin, status != "skipped", content)


class Comparison:
    """One look at all sources; also what `discover` needs to know of the library's articles."""

    def __init__(
        self,
        records: LibraryRecords,
        record: SourceRecord,
        places: Iterable[SourcePlace],
        settle: float = 0.0,
    ) -> None:
        """A source that was changed less than `settle` seconds ago is left as it is."""
        self._record, self._places, self._settle = record, tuple(places), settle
        self.by_origin: dict[str, list[StoredSource]] = {}
        self.by_name: dict[str, StoredSource] = {}
        for source in sources_of(records):
            self.by_origin.setdefault(source.origin, []).append(source)
            if source.is_article:
                self.by_name[source.name] = source
        self.unchanged: set[str] = set()
        """Origins whose sources stay."""
        self.pending: set[str] = set()
        """Origins that are being changed at the moment."""
        self.damaged: set[str] = set()
        """Origins of archives that are damaged now, and of which the library has articles."""
        self.compared = 0
        """Number of sources of which it was not recorded what was read."""
        self._digests: dict[str, str] = {}
        self._read: dict[str, Found] = {}
        self._seen: set[str] = set()
        self._kept_files: set[str] = set()
        self._blind: list[str] = []
        self._new_names: dict[str, str] = {}

    @property
    def paths(self) -> list[Path]:
        """The files and folders that are looked at."""
        return [place.path for place in self._places]

    # ------------------------------------------------------------ as `KnownArticles`

    def has_article(self, name: str) -> bool:
        """Return whether a name is taken; that of an article whose file is gone is free."""
        source = self.by_name.get(name)
        if source is None:
            return name in self._new_names
        file = source.origin.partition("!")[0]
        roots = [place.root for place in self._places if place.contains(source.origin)]
        is_mangled = "\N{REPLACEMENT CHARACTER}" in file
        return not roots or is_mangled or any(exists(root / file) for root in roots)

    def articles_from(self, origin: str) -> list[str]:
        """Return the names of the articles with an origin, in order."""
        return [source.name for source in self.by_origin.get(origin, ()) if source.is_article]

    def origin_of(self, name: str) -> str:
        """Return the origin of the article with this name, '' if the name is free."""
        if not self.has_article(name):
            return ""
        source = self.by_name.get(name)
        return source.origin if source else self._new_names.get(name, "")

    # ------------------------------------------------------------ what has changed

    def changed(self, groups: Iterable[Iterable[Found]]) -> Iterator[Found]:
        """Yield the sources to read: new ones, and those whose content differs.

        There is a group for each root; of several sources with one origin, the first group counts.
        """
        for group in groups:
            earlier = set(self._seen)
            for found in group:
                if found.kind == UNCHANGED:
                    self._kept_files.add(found.origin)
                elif found.origin not in earlier and self._is_changed(found):
                    self._new_names[found.name] = found.origin
                    self._read[found.origin] = replace(found, data=None)
                    yield found

    def _is_changed(self, found: Found) -> bool:
        origin, old = found.origin, self.by_origin.get(found.origin, [])
        is_second = origin in self._seen
        self._seen.add(origin)
        if found.cause == "unreadable":
            self._blind.append("" if origin == "." else origin)
            if any(source.is_article for source in old):
                self.unchanged.add(origin)
                return False
        if found.cause == DAMAGED and any(
            is_below(source.origin, origin) for source in self.by_name.values()
        ):
            self.damaged.add(origin)
            self._blind.append(origin)
            return False
        if self._is_pending(found):
            self._wait_for(found)
            return False
        content = "" if is_second else digest(found, self._record.looks)
        before = self._record.digests.get(origin, "")
        if old and content and content == before:
            self.unchanged.add(origin)
            return False
        self.compared += bool(old) and not before
        self._digests[origin] = content
        return True

    def _is_pending(self, found: Found) -> bool:
        age = time.time_ns() - self._record.looks.newest(files_of(found))
        return 0 <= age < self._settle * 1e9

    def _wait_for(self, found: Found) -> None:
        """Leave a source as it is, and everything else in the same file."""
        self.pending.add(found.origin)
        self._kept_files.add(found.origin.partition("!")[0])
        if found.kind == "data":
            self._record.looks.at(found.path).found = None  # its container is opened again

    def count_unchanged(self) -> int:
        """Return how many sources stay, once `changed` has ended, also in unopened archives."""
        inside = {name for name in self.by_origin if name.partition("!")[0] in self._kept_files}
        return len(self.unchanged | (inside - self.pending))

    def changed_meanwhile(self, origin: str) -> bool:
        """Return whether a source has changed between the look at it and now, after reading."""
        found = self._read[origin]
        if not any(map(self._record.looks.has_changed, files_of(found))):
            return False
        self._wait_for(found)
        return True

    def is_damaged(self, origin: str) -> bool:
        """Return whether a source lies in a damaged archive, once `changed` has ended."""
        return any(is_below(origin, archive) for archive in self.damaged)

    def in_damaged(self) -> list[str]:
        """Return the names of the articles in damaged archives."""
        return [name for name, source in self.by_name.items() if self.is_damaged(source.origin)]

    def is_recorded(self, origin: str) -> bool:
        """Return whether it is known of which content a source was read."""
        return bool(self._record.digests.get(origin))

    def gone(self) -> Iterator[StoredSource]:
        """Yield the sources of the library that no longer exist, once `changed` has ended.

        What lies in a folder that cannot be listed is not gone.
        """
        for origin, sources in self.by_origin.items():
            if (
                origin not in self._seen
                and origin.partition("!")[0] not in self._kept_files
                and any(place.contains(origin) for place in self._places)
                and not any(is_below(origin, place) for place in self._blind)
            ):
                yield from sources

    def emptied(self) -> Iterator[tuple[SourcePlace, int]]:
        """Yield the places without any source left, with the number of those that they had."""
        there = self._seen | self._kept_files
        for place in self._places:
            if place.below in there or any(map(place.contains, there)):
                continue
            had = sum(map(place.contains, self.by_origin))
            # a single file may be removed
            if had and not (place.below in self._files() and is_folder(place.path.parent)):
                yield place, had

    def _files(self) -> set[str]:
        return {origin.partition("!")[0] for origin in self.by_origin}

    def note(self, gone: Iterable[StoredSource], kept: Iterable[str]) -> None:
        """Bring the record of sources up to date; `kept` are origins that were not replaced."""
        for source in gone:
            self._record.digests.pop(source.origin, None)
        for origin in {*kept, *self.pending}:
            self._digests.pop(origin, None)
        self._record.digests |= self._digests
