"""Segments: the records and index of a bounded number of documents, written once.

    segments/NAME/    records.sqlite, sketches of near_duplicates, summary.json and index/

A segment is a pure function of its documents; its name is the start of a digest of them and of the
version of the index. Documents are numbered from 0 in each segment, in the order in which they were
found. A library is a list of segments, and for each the numbers of the documents that were removed
since (`Manifest`).
"""

import contextlib
import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from eqemb.errors import EqembError
from eqemb.library.database import LibraryRecords, Records, open_records
from eqemb.library.near_duplicates import (
    Sketches,
    followers,
    merge_sketches,
    near_pairs,
    write_sketches,
)
from eqemb.library.rows import Record
from eqemb.library.summary import summarise
from eqemb.storage.atomic import load_json, sync_folder, sync_tree, to_json, write_atomically

#: Documents of a segment that is read. Memory for building grows with this, not with the library.
SEGMENT_DOCUMENTS = 1_000
#: Documents of a segment that others are merged into. A query looks into every segment, so that it
#: takes longer the more there are: 300,000 papers are ten of this size. One of them is merged in
#: minutes, which an addition may have to wait for, and with less than 2 GB of memory.
LARGE_SEGMENT_DOCUMENTS = 32_000
#: This many neighbouring segments of about one size are merged when papers are added.
MERGED_AT_ONCE = 8
_NAME_LENGTH = 16


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment as a library lists it."""

    name: str
    documents: int
    """The number of documents, including removed ones."""
    removed: tuple[int, ...] = ()
    """The numbers of the removed documents, ascending."""

    @property
    def live(self) -> int:
        """The number of documents that are not removed."""
        return self.documents - len(self.removed)

    @property
    def live_mask(self) -> NDArray[np.bool_] | None:
        """Which documents are not removed; None if none is."""
        if not self.removed:
            return None
        return ~_mask(self.documents, self.removed)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a generation of a library consists of: manifest.json."""

    segments: tuple[Segment, ...]
    root: str
    """The folder that names of articles are relative to."""
    vectors: str = ""
    """The name of the folder of vectors; '' where the library has no model."""
    near: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Pairs of articles that are near-duplicates, by name."""

    @classmethod
    def load(cls, generation: Path) -> Self:
        """Read the manifest of a generation."""
        try:
            found = json.loads((generation / "manifest.json").read_text("utf-8"))
            segments = (
                Segment(part["name"], part["documents"], tuple(part["removed"]))
                for part in found["segments"]
            )
            near = tuple((one, other) for one, other in found["near"])
            return cls(tuple(segments), found["root"], found["vectors"], near)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise EqembError(
                f"{generation.parents[1]} has no readable manifest ({error}): rebuild the library"
                " in another folder"
            ) from None

    def save(self, generation: Path) -> None:
        """Write the manifest of a generation."""
        write_atomically(generation / "manifest.json", to_json(asdict(self)))

    def with_segments(self, segments: Iterator[Segment] | tuple[Segment, ...]) -> "Manifest":
        """Return the manifest with other segments; those without documents are left out."""
        return replace(self, segments=tuple(part for part in segments if part.live))


def segment_folder(home: Path, name: str) -> Path:
    """Return the folder of a segment of the library at `home`."""
    return home / "segments" / name


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
        _mask(part.documents, gone[place]) if place in gone else None
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


def _mask(count: int, members: Iterable[int]) -> NDArray[np.bool_]:
    mask = np.zeros(count, bool)
    mask[list(members)] = True
    return mask


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
            yield from (part for part, _ in load_json(path))


class SegmentWriter:
    """Writes records into new segments of a library, and continues after an interruption.

    The segments that are finished are listed in NAME.json of the generation that is being made;
    the records of the next one are in its folder NAME.
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

        `announce` is called with the number of a segment, from 1, when its documents are complete.
        """
        self.home, self._indexer, self._announce = generation.parents[1], indexer, announce
        self._work, self._list = generation / name, generation / f"{name}.json"
        self._limit = LARGE_SEGMENT_DOCUMENTS if name == MERGED else SEGMENT_DOCUMENTS
        self.segments = [Segment(*entry) for entry in self._read_list()]
        """The finished segments."""
        self._records: Records | None = None

    def _read_list(self) -> list[tuple[str, int]]:
        if not self._list.exists():
            return []
        return [(name, documents) for name, documents in load_json(self._list)]

    def written(self) -> Iterator[tuple[str, str]]:
        """Yield name and origin of every document that was written before an interruption."""
        with contextlib.closing(open_segments(self.home, tuple(self.segments))) as records:
            yield from records.origins()
        yield from list(self._open().origins())

    def counts(self) -> tuple[int, int, int]:
        """Return the numbers of documents, equations and skipped sources written so far."""
        with contextlib.closing(open_segments(self.home, tuple(self.segments))) as finished:
            every = [*finished.parts, self._open()]
            return (
                sum(records.count() for records in every),
                sum(sum(records.numbering_counts().values()) for records in every),
                sum(records.status_counts().get("skipped", 0) for records in every),
            )

    def _open(self) -> Records:
        if self._records is None:
            self._work.mkdir(exist_ok=True)
            self._records = Records(self._work / "records.sqlite", write=True)
        return self._records

    def add(self, record: Record) -> None:
        """Write the next record; a segment that is full is finished."""
        if self._open().documents >= self._limit:
            self.finish()
        self._open().add(record)

    def commit(self) -> None:
        """Make the records so far durable."""
        if self._records is not None:
            self._records.commit()

    def finish(self, parts: Sequence[Segment] = ()) -> None:
        """Finish the segment that is being written, if it has any document.

        `parts` are the segments that its documents are from: what was computed for them is merged.
        """
        records = self._open()
        documents = records.documents
        if not documents:
            self.discard()
            return
        self._announce(len(self.segments) + 1)
        records.finish()
        self._records = None
        with contextlib.closing(Records(self._work / "records.sqlite")) as done:
            name = self._name(done)
            self._write_sketches(done, parts)
            write_atomically(self._work / "summary.json", json.dumps(summarise(done)))
            if self._indexer is not None:
                shutil.rmtree(self._work / "index", ignore_errors=True)
                self._write_index(self._indexer, done, parts)
        self._keep(name)
        self.segments.append(Segment(name, documents))
        listed = [(part.name, part.documents) for part in self.segments]
        write_atomically(self._list, to_json(listed))

    def _write_sketches(self, records: Records, parts: Sequence[Segment]) -> None:
        if parts:
            folders = (segment_folder(self.home, part.name) for part in parts)
            merge_sketches(
                self._work,
                [Sketches(at, part.live_mask) for at, part in zip(folders, parts, strict=True)],
            )
        else:
            found = (np.frombuffer(data, np.uint64) for data in records.sketches())
            write_sketches(self._work, found)

    def _write_index(self, indexer: Indexer, records: Records, parts: Sequence[Segment]) -> None:
        folder = self._work / "index"
        if parts and indexer.merge is not None and can_merge(self.home, parts, indexer):
            indexer.merge(
                [
                    SegmentIndex(index_folder(self.home, part), part.documents, part.removed)
                    for part in parts
                ],
                records,
                folder,
            )
        else:
            indexer.build(records, folder)

    def _name(self, records: Records) -> str:
        version = "none" if self._indexer is None else self._indexer.version
        text = f"{records.sha256()} index {version}"
        return hashlib.sha256(text.encode()).hexdigest()[:_NAME_LENGTH]

    def _keep(self, name: str) -> None:
        """Move the finished segment to the segments of the library."""
        place = segment_folder(self.home, name)
        place.parent.mkdir(exist_ok=True)
        sync_tree(self._work)
        if place.exists():  # the same documents were added before
            shutil.rmtree(self._work)
        else:
            self._work.rename(place)
            sync_folder(place.parent)

    def discard(self) -> None:
        """Remove the records of an unfinished segment."""
        self.close()
        shutil.rmtree(self._work, ignore_errors=True)

    def close(self) -> None:
        """Close the records of an unfinished segment; those that are committed are kept."""
        if self._records is not None:
            self._records.close()
            self._records = None


# ---------------------------------------------------------------- which segments to merge


def index_folder(home: Path, part: Segment) -> Path:
    """Return the folder of the index of a segment."""
    return segment_folder(home, part.name) / "index"


def can_merge(home: Path, parts: Iterable[Segment], indexer: Indexer | None) -> bool:
    """Whether the indexes of segments, if they have any, are merged without indexing again."""
    if indexer is None:
        return True
    return all(indexer.can_merge(index_folder(home, part)) for part in parts)


def bounded_parts(parts: Sequence[Segment]) -> Iterator[tuple[Segment, ...]]:
    """Yield groups of segments with at most `SEGMENT_DOCUMENTS` documents together, in order.

    A segment that does not fit is cut: in each piece, the documents of the others are removed.
    """
    group: list[Segment] = []
    room = SEGMENT_DOCUMENTS
    for part in parts:
        live = sorted({*range(part.documents)} - {*part.removed})
        while live:
            own, live = live[:room], live[room:]
            gone = tuple(sorted({*range(part.documents)} - {*own}))
            group.append(replace(part, removed=gone))
            room -= len(own)
            if not room:
                yield tuple(group)
                group, room = [], SEGMENT_DOCUMENTS
    if group:
        yield tuple(group)


def segments_to_merge(segments: tuple[Segment, ...]) -> range | None:
    """Return the places of the segments that an addition should merge; None for none.

    Of the last segments, those of one size class are merged when there are `MERGED_AT_ONCE` of
    them, so that a document is copied a few times at most, however often papers are added. If they
    do not fit into one segment, the first ones that do are merged.
    """
    size = 1
    while size < LARGE_SEGMENT_DOCUMENTS:
        size = min(size * MERGED_AT_ONCE, LARGE_SEGMENT_DOCUMENTS)
        first = len(segments)
        while first and segments[first - 1].live < size:
            first -= 1
        last = [part.live for part in segments[first:]]
        of_class = sum(live * MERGED_AT_ONCE >= size for live in last)
        if of_class >= MERGED_AT_ONCE and (places := _first_that_fit(last)) is not None:
            return range(first + places.start, first + places.stop)
    return None


def _first_that_fit(sizes: list[int]) -> range | None:
    """Return the places of the first neighbours that fit into a segment; None if no two do."""
    for start in range(len(sizes) - 1):
        stop, total = start, 0
        while stop < len(sizes) and total + sizes[stop] <= LARGE_SEGMENT_DOCUMENTS:
            total += sizes[stop]
            stop += 1
        if stop - start > 1:
            return range(start, stop)
    return None


def segments_to_compact(segments: tuple[Segment, ...]) -> Iterator[range]:
    """Yield neighbours that fit into one segment, and segments with removed documents."""
    first, total = 0, 0
    for place, part in enumerate((*segments, Segment("", LARGE_SEGMENT_DOCUMENTS + 1))):
        if place > first and total + part.live > LARGE_SEGMENT_DOCUMENTS:
            if place - first > 1 or segments[first].removed:
                yield range(first, place)
            first, total = place, 0
        total += part.live
