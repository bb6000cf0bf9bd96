"""Which segments of a library are merged: small ones after an addition, all that fit at once."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from eqemb.library import segments as limits
from eqemb.library.manifest import Segment, segment_folder
from eqemb.library.segments import Indexer


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
    room = limits.SEGMENT_DOCUMENTS
    for part in parts:
        live = sorted({*range(part.documents)} - {*part.removed})
        while live:
            own, live = live[:room], live[room:]
            gone = tuple(sorted({*range(part.documents)} - {*own}))
            group.append(replace(part, removed=gone))
            room -= len(own)
            if not room:
                yield tuple(group)
                group, room = [], limits.SEGMENT_DOCUMENTS
    if group:
        yield tuple(group)


def segments_to_merge(segments: tuple[Segment, ...]) -> range | None:
    """Return the places of the segments that an addition should merge; None for none.

    Of the last segments, those of one size class are merged when there are `MERGED_AT_ONCE` of
    them, so that a document is copied a few times at most, however often papers are added. If they
    do not fit into one segment, the first ones that do are merged.
    """
    size = 1
    while size < limits.LARGE_SEGMENT_DOCUMENTS:
        size = min(size * limits.MERGED_AT_ONCE, limits.LARGE_SEGMENT_DOCUMENTS)
        first = len(segments)
        while first and segments[first - 1].live < size:
            first -= 1
        last = [part.live for part in segments[first:]]
        of_class = sum(live * limits.MERGED_AT_ONCE >= size for live in last)
        if of_class >= limits.MERGED_AT_ONCE and (places := _first_that_fit(last)) is not None:
            return range(first + places.start, first + places.stop)
    return None


def _first_that_fit(sizes: list[int]) -> range | None:
    """Return the places of the first neighbours that fit into a segment; None if no two do."""
    for start in range(len(sizes) - 1):
        stop, total = start, 0
        while stop < len(sizes) and total + sizes[stop] <= limits.LARGE_SEGMENT_DOCUMENTS:
            total += sizes[stop]
            stop += 1
        if stop - start > 1:
            return range(start, stop)
    return None


def segments_to_compact(segments: tuple[Segment, ...]) -> Iterator[range]:
    """Yield neighbours that fit into one segment, and segments with removed documents."""
    first, total = 0, 0
    for place, part in enumerate((*segments, Segment("", limits.LARGE_SEGMENT_DOCUMENTS + 1))):
        if place > first and total + part.live > limits.LARGE_SEGMENT_DOCUMENTS:
            if place - first > 1 or segments[first].removed:
                yield range(first, place)
            first, total = place, 0
        total += part.live
