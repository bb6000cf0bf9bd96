"""Segments: the records and index of a bounded number of documents, written once.

    segments/NAME/    records.sqlite, sketches of near_duplicates, summary.json, index/ and
                      checksums.json

A segment is a pure function of its documents; its name is the start of a digest of them and of the
version of the index. Documents are numbered from 0 in each segment, in the order in which they were
found. `manifest` lists the segments of a library.
"""

import contextlib
import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, Self

import numpy as np

from eqemb.errors import EqembError
from eqemb.library.database import LibraryRecords, Records, open_records
from eqemb.library.manifest import Segment, document_mask, segment_folder
from eqemb.library.near_duplicates import (
    Sketches,
    followers,
    merge_sketches,
    near_pairs,
    write_sketches,
)
from eqemb.library.rows import Record
from eqemb.library.summary import summarise
from eqemb.storage.atomic import (
    load_json,
    make_folders,
    sync_tree,
    to_json,
    write_atomically,
)
from eqemb.storage.checksums import seal
from eqemb.storage.removal import hide_and_remove, remove_folder
from eqemb.storage.syncing import sync_folder

#: Documents of a segment that is read. Memory for building grows with this, not with the library.
SEGMENT_DOCUMENTS = 1_000
#: Documents of a segment that others are merged into. A query looks into every segment, so that it
#: takes longer the more there are: 300,000 papers are ten of this size. One of them is merged in
#: minutes, which an addition may have to wait for, and with less than 2 GB of memory.
LARGE_SEGMENT_DOCUMENTS = 32_000
#: This many neighbouring segments of about one size are merged when papers are added.
MERGED_AT_ONCE = 8
_NAME_LENGTH = 16


def open_segments(home: Path, segments: tuple[Segment, ...]) -> LibraryRecords:
    """Open the records of segments, without removed documents."""
    parts: list[Records] = []
    try:
        for part in segments:
            path = segment_folder(home, part.name) / "records.sqlite"
            parts.append(open_records(path, part.removed))
    except EqembError:
        for records in parts:
            records.close()
        raise
    return LibraryRecords(parts)


def update_near_pairs(
    home: Path,
    near: Iterable[tuple[str, str]],
    segments: tuple[Segment, ...],
    first_new: int,
    gone: Mapping[int, Iterable[int]],
) -> tuple[tuple[str, str], ...]:
    """Return the pairs of near-duplicates after a change: names, the earlier document first.

    Args:
        home: The library.
        near: The pairs before.
        segments: The segments after the change.
        first_new: The place of the first new segment.
        gone: The documents that were just removed, by the place of their segment.
    """
    folders = [segment_folder(home, part.name) for part in segments]
    sketches = [
        Sketches(folder, part.live_mask) for folder, part in zip(folders, segments, strict=True)
    ]
    removed = [
        document_mask(part.documents, gone[place]) if place in gone else None
        for place, part in enumerate(segments)
    ]
    again = followers(sketches, removed) if gone else [None] * len(segments)
    found: list[tuple[str, str]] = []
    compared: set[str] = set()
    with contextlib.closing(open_segments(home, segments)) as records:
        for place, only in enumerate(again):
            if place >= first_new:
                only = None  # noqa: PLW2901 - all documents of a new segment are compared
                compared.update(records.parts[place].names())
            elif only is None or not only.any():
                continue
            else:
                names = map(records.parts[place].name, np.flatnonzero(only).tolist())
                compared.update(names)
            for number, document, own in near_pairs(sketches[place], sketches[:place], only):
                found.append((records.parts[number].name(document), records.parts[place].name(own)))
        kept = [
            pair
            for pair in near
            if pair[1] not in compared and all(records.key(name) is not None for name in pair)
        ]
    return (*kept, *found)


# ---------------------------------------------------------------- writing


class SegmentIndex(NamedTuple):
    """The index of a segment that is merged with others."""

    folder: Path
    documents: int
    """The number of documents, including removed ones."""
    removed: tuple[int, ...] = ()
    """The numbers of the removed documents."""


class Indexer(NamedTuple):
    """Computes the index of a segment."""

    version: str
    """Equal for the same records where the index is the same; part of the name of a segment."""
    build: Callable[[Records, Path], None]
    """Given the records of the segment, and the folder for its index."""
    merge: Callable[[Sequence[SegmentIndex], Records, Path], None] | None = None
    """The same, given the indexes of the segments that the documents are from."""
    can_merge: Callable[[Path], bool] = lambda _folder: False
    """Whether an index is of this version, so that it can be merged."""


#: What a `SegmentWriter` is called: for papers that are read, and for segments that are merged.
READ, MERGED = "read", "merged"


def written_segments(generation: Path) -> Iterator[str]:
    """Yield the names of the segments that were written for a generation that is being made."""
    for name in (READ, MERGED):
        path = generation / f"{name}.json"
        if path.exists():
            yield from (entry[0] for entry in load_json(path) if entry is not None)


def remove_unlisted(generation: Path) -> None:
    """Remove what a finished generation does not need: lists and unfinished segments."""
    for name in (READ, MERGED):
        (generation / f"{name}.json").unlink(missing_ok=True)
        hide_and_remove(generation / name)
        hide_and_remove(generation / f"{name}-parts")


class SegmentPart(NamedTuple):
    """A segment whose documents are merged with those of others."""

    folder: Path
    segment: Segment

    @classmethod
    def of(cls, home: Path, segment: Segment) -> Self:
        """Return a segment of the library at `home`."""
        return cls(segment_folder(home, segment.name), segment)

    @property
    def own_index(self) -> SegmentIndex:
        """Its index."""
        return SegmentIndex(self.folder / "index", self.segment.documents, self.segment.removed)


def complete_segment(
    folder: Path, indexer: Indexer | None, merged: Sequence[SegmentPart] = ()
) -> Segment:
    """Write what a segment has besides its records, and make it durable; return the segment.

    `merged` are the segments that its documents are from, if what was computed for them is merged.
    """
    with contextlib.closing(Records(folder / "records.sqlite")) as records:
        segment = Segment(_segment_name(records, indexer), records.documents)
        if merged:
            merge_sketches(
                folder, [Sketches(part.folder, part.segment.live_mask) for part in merged]
            )
        else:
            write_sketches(folder, (np.frombuffer(data, np.uint64) for data in records.sketches()))
        write_atomically(folder / "summary.json", json.dumps(summarise(records)))
        if indexer is not None:
            remove_folder(folder / "index")
            _write_index(folder / "index", indexer, records, [part.own_index for part in merged])
    seal(folder)
    sync_tree(folder)
    return segment


def _write_index(
    folder: Path, indexer: Indexer, records: Records, parts: Sequence[SegmentIndex]
) -> None:
    """Write the index of a segment: from those of its parts if that is possible."""
    if parts and indexer.merge is not None and all(indexer.can_merge(p.folder) for p in parts):
        indexer.merge(parts, records, folder)
    else:
        indexer.build(records, folder)


def _segment_name(records: Records, indexer: Indexer | None) -> str:
    version = "none" if indexer is None else indexer.version
    text = f"{records.sha256()} index {version}"
    return hashlib.sha256(text.encode()).hexdigest()[:_NAME_LENGTH]


class Completer(Protocol):
    """Completes segments while the next ones are written."""

    def start(self, number: int, folder: Path) -> None:
        """Begin to complete the segment in a folder."""

    def completed(self, *, wait: bool) -> Iterator[tuple[int, Path, Segment]]:
        """Yield the segments that are complete; with `wait`, all that were begun."""


class SegmentWriter:
    """Writes records into new segments of a library, and continues after an interruption.

    In the folder of the generation that is being made:

        NAME.json     the finished segments, in order; null for one that is not finished
        NAME/         the records of the segment that is being written
        NAME-parts/   segments whose records are complete, by number; workers write theirs here
    """

    def __init__(
        self,
        generation: Path,
        indexer: Indexer | None,
        name: str = READ,
        *,
        announce: Callable[[int], object] = lambda _number: None,
    ) -> None:
        """Without an indexer, segments have no index. Those that are merged may be large.

        `announce` is called with the number of a segment, from 1, when its documents are complete
        and the caller has to wait for its index.
        """
        self.home, self.indexer, self._announce = generation.parents[1], indexer, announce
        self._work, self._list = generation / name, generation / f"{name}.json"
        self.parts = generation / f"{name}-parts"
        """The folder for segments that others write."""
        self.completer: Completer | None = None
        """Completes full segments; without one, this process does."""
        self.repairs = False
        """Whether files of an index may be damaged where the segment exists already."""
        self._listed = dict(self._read_list())
        self._pending = set(self._find_pending())
        self._limit = LARGE_SEGMENT_DOCUMENTS if name == MERGED else SEGMENT_DOCUMENTS
        self._records: Records | None = None

    def _read_list(self) -> Iterator[tuple[int, Segment]]:
        for number, entry in enumerate(load_json(self._list) if self._list.exists() else ()):
            if entry is not None:
                yield number, Segment(*entry)

    def _find_pending(self) -> Iterator[int]:
        for folder in self.parts.iterdir() if self.parts.is_dir() else ():
            if folder.name.isdigit() and int(folder.name) not in self._listed:
                yield int(folder.name)

    @property
    def segments(self) -> list[Segment]:
        """The finished segments."""
        return [segment for _, segment in sorted(self._listed.items())]

    @property
    def _number(self) -> int:
        """The number of the segment that is written next."""
        return next(number for number in itertools.count() if not self.is_full(number))

    def written(self) -> dict[int, list[str]]:
        """Return the origins of all documents written before, by the number of their segment."""
        found = {}
        for number, records in self._opened():
            with contextlib.closing(records):
                found[number] = [origin for _, origin in records.origins()]
        if here := [origin for _, origin in self._open().origins()]:
            found[self._number] = here
        return found

    def is_full(self, number: int) -> bool:
        """Return whether all documents of a segment are written."""
        return number in self._listed or number in self._pending

    def counts(self) -> tuple[int, int, int]:
        """Return the numbers of documents, equations and skipped sources written so far."""
        totals = [_counts(self._open())]
        for _, records in self._opened():
            with contextlib.closing(records):
                totals.append(_counts(records))
        documents, equations, skipped = map(sum, zip(*totals, strict=True))
        return documents, equations, skipped

    def _opened(self) -> Iterator[tuple[int, Records]]:
        """Yield the records of segments whose documents are complete, opened."""
        for number, segment in sorted(self._listed.items()):
            yield number, open_records(segment_folder(self.home, segment.name) / "records.sqlite")
        for number in sorted(self._pending):
            yield number, open_records(self.parts / str(number) / "records.sqlite")

    def _open(self) -> Records:
        if self._records is None:
            self._work.mkdir(exist_ok=True)
            self._records = Records(self._work / "records.sqlite", write=True)
        return self._records

    def add(self, record: Record) -> None:
        """Write the next record; a segment that is full is finished."""
        if self._open().documents >= self._limit:
            if self.completer is None:
                self.finish()
            else:
                self._hand_over(self.completer)
        self._open().add(record)

    def commit(self) -> None:
        """Make the records so far durable."""
        if self._records is not None:
            self._records.commit()

    def finish(self, merged: Sequence[Segment] = ()) -> None:
        """Finish the segment that is being written, if it has any document, and all others.

        `merged` are the segments that its documents are from: what was computed for them is merged.
        """
        if self._open().documents:
            self._announce(self._number + 1)
            self._close_records()
            parts = [SegmentPart.of(self.home, part) for part in merged]
            segment = complete_segment(self._work, self.indexer, parts)
            self.adopt(self._number, self._work, segment)
        else:
            self.discard()
        if self.completer is not None:
            self._adopt_completed(self.completer, wait=True)

    def _close_records(self) -> None:
        """Close the records of a segment whose documents are complete."""
        self._open().finish()
        self._records = None

    def _hand_over(self, completer: Completer) -> None:
        """Let the completer finish the segment that is full."""
        number = self._number
        self._close_records()
        sync_tree(self._work)
        self.parts.mkdir(exist_ok=True)
        self._work.rename(self.parts / str(number))
        self._pending.add(number)
        completer.start(number, self.parts / str(number))
        self._adopt_completed(completer, wait=False)

    def _adopt_completed(self, completer: Completer, *, wait: bool) -> None:
        for number, folder, segment in completer.completed(wait=wait):
            self.adopt(number, folder, segment)

    def complete_pending(self) -> None:
        """Complete the segments whose documents were complete before an interruption."""
        for number in sorted(self._pending):
            folder = self.parts / str(number)
            if self.completer is not None:
                self.completer.start(number, folder)
            else:
                self.adopt(number, folder, complete_segment(folder, self.indexer))

    def adopt(self, number: int, folder: Path, segment: Segment) -> None:
        """Move a complete segment to the segments of the library, and list it."""
        place = segment_folder(self.home, segment.name)
        make_folders(place.parent)
        if place.exists():  # the same documents were added before
            if self.repairs:
                _replace_files(folder / "index", place / "index")
            hide_and_remove(folder)
        else:
            folder.rename(place)
            sync_folder(place.parent)
        self._pending.discard(number)
        self._listed[number] = segment
        listed: list[tuple[str, int] | None] = [None] * (max(self._listed) + 1)
        for key, part in self._listed.items():
            listed[key] = (part.name, part.documents)
        write_atomically(self._list, to_json(listed))

    def discard(self) -> None:
        """Remove the records of an unfinished segment."""
        self.close()
        remove_folder(self._work)

    def discard_parts(self) -> None:
        """Remove the segments that are not finished."""
        self.discard()
        remove_folder(self.parts)
        self._pending.clear()

    def close(self) -> None:
        """Close the records of an unfinished segment; those that are committed are kept."""
        if self._records is not None:
            self._records.close()
            self._records = None


def _replace_files(folder: Path, place: Path) -> None:
    """Move files over others of the same content, one at a time: none is missing at any time."""
    for path in sorted(folder.iterdir()):
        path.replace(place / path.name)
    sync_folder(place)


def _counts(records: Records) -> tuple[int, int, int]:
    """Return the numbers of documents, equations and skipped sources."""
    equations = sum(records.numbering_counts().values())
    return records.count(), equations, records.status_counts().get("skipped", 0)
