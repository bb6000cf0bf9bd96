"""Merge segments of a library: the small ones after an addition, all that fit when it is built.

Indexes and vectors of segments are merged without computing them again. A segment whose index is
of another version is indexed again first, a bounded number of documents at a time.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from eqemb.facade.model import INDEXING, Watch
from eqemb.library.ingest import rewrite_segments
from eqemb.library.segments import (
    MERGED,
    MERGED_AT_ONCE,
    Indexer,
    Manifest,
    Segment,
    SegmentWriter,
    bounded_parts,
    can_merge,
    segments_to_compact,
    segments_to_merge,
)


class SegmentMerger:
    """Writes segments of a library again as others, and continues after an interruption."""

    def __init__(self, generation: Path, indexer: Indexer | None, watch: Watch) -> None:
        self._indexer, self._watch = indexer, watch
        self._writer = SegmentWriter(generation, indexer, MERGED)
        self._known = list(self._writer.segments)  # written before an interruption
        self._done = 0

    def rewrite(self, ranges: Sequence[range], manifest: Manifest) -> Manifest:
        """Return the manifest with each range of segments written as one.

        If they have to be indexed again, they are written as several of a bounded size.
        """
        segments: list[Segment] = []
        at = 0
        for number, places in enumerate(ranges, 1):
            segments += manifest.segments[at : places.start]
            at = places.stop
            report = self._report(f"merging segments {number:,} of {len(ranges):,}")
            for parts in self._groups(manifest.segments[places.start : places.stop]):
                segments += self._write(parts, report)
        segments += manifest.segments[at:]
        return manifest.with_segments(tuple(segments))

    def _report(self, what: str) -> Callable[[int], object]:
        def report(count: int) -> None:
            self._watch(INDEXING, f"{what}: {count:,} documents copied")

        return report

    def _groups(self, parts: tuple[Segment, ...]) -> Iterator[tuple[Segment, ...]]:
        if can_merge(self._writer.home, parts, self._indexer):
            yield parts
        else:
            yield from bounded_parts(parts)

    def _write(
        self, parts: tuple[Segment, ...], report: Callable[[int], object]
    ) -> Sequence[Segment]:
        self._done += 1
        if self._done <= len(self._known):
            return self._known[self._done - 1 : self._done]
        self._writer.discard()
        return rewrite_segments(parts, self._writer, report)


def merge_small(
    generation: Path, manifest: Manifest, indexer: Indexer | None, watch: Watch
) -> Manifest:
    """Merge the last segments if there are many small ones."""
    merger = SegmentMerger(generation, indexer, watch)
    while (places := segments_to_merge(manifest.segments)) is not None:
        manifest = merger.rewrite([places], manifest)
    return manifest


def merge_new(
    generation: Path, manifest: Manifest, indexer: Indexer | None, watch: Watch
) -> Manifest:
    """Merge the segments of a new library if there are many: each paper is copied once."""
    if len(manifest.segments) < MERGED_AT_ONCE:
        return manifest
    ranges = list(segments_to_compact(manifest.segments))
    return SegmentMerger(generation, indexer, watch).rewrite(ranges, manifest)
