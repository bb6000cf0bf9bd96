"""Merge segments of a library: the small ones after an addition, all that fit when it is built.

Indexes and vectors of segments are merged without computing them again. A segment whose index is
of another version, or damaged, is indexed again first, a bounded number of documents at a time.
"""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from eqemb.facade.model import INDEXING, Watch
from eqemb.index.merge_arrays import CannotMergeError
from eqemb.library.ingest import rewrite_segments
from eqemb.library.manifest import Manifest, Segment, segment_folder
from eqemb.library.merge_rules import (
    bounded_parts,
    can_merge,
    segments_to_compact,
    segments_to_merge,
)
from eqemb.library.segments import MERGED, MERGED_AT_ONCE, Indexer, SegmentIndex, SegmentWriter
from eqemb.storage.atomic import load_json, to_json, write_atomically

_log = logging.getLogger("eqemb")
#: Lists what the segments of a generation that is being made were merged from.
_ORIGINS = "merged_from.json"
#: An addition stops to merge after so many failures; segments that were indexed again do not fail.
_MOST_CUTS = 2


class SegmentMerger:
    """Writes segments of a library again as others, and continues after an interruption."""

    def __init__(self, generation: Path, indexer: Indexer | None, watch: Watch) -> None:
        self._indexer, self._watch, self._generation = indexer, watch, generation
        self._writer = SegmentWriter(generation, indexer, MERGED)
        self._known = list(self._writer.segments)  # written before an interruption
        self._done = 0
        self.cuts = 0
        """How often segments were not merged, because files of their indexes are damaged."""

    def compact(self, manifest: Manifest) -> Manifest:
        """Return the manifest with all neighbours merged that fit into one segment."""
        cuts = self.cuts
        manifest = self.rewrite(list(segments_to_compact(manifest.segments)), manifest)
        if self.cuts > cuts:  # what was damaged is now intact
            manifest = self.rewrite(list(segments_to_compact(manifest.segments)), manifest)
        return manifest

    def rewrite(self, ranges: Sequence[range], manifest: Manifest) -> Manifest:
        """Return the manifest with each range of segments written as one.

        If they have to be indexed again, they are written as several of a bounded size.
        """
        segments: list[Segment] = []
        at = 0
        for number, places in enumerate(ranges, 1):
            segments += manifest.segments[at : places.start]
            at = places.stop
            what = f"merging segments {number:,} of {len(ranges):,}"
            self._watch(INDEXING, what)
            parts = manifest.segments[places.start : places.stop]
            segments += self._rewrite(parts, self._report(what))
        segments += manifest.segments[at:]
        return manifest.with_segments(tuple(segments))

    def _report(self, what: str) -> Callable[[int], object]:
        def report(count: int) -> None:
            self._watch(INDEXING, f"{what}: {count:,} documents copied")

        return report

    def _rewrite(
        self, parts: tuple[Segment, ...], report: Callable[[int], object]
    ) -> list[Segment]:
        """Write segments as one, or as several of a bounded size if they have to be indexed."""
        is_current = can_merge(self._writer.home, parts, self._indexer)
        if is_current:
            try:
                if not self._was_cut(parts):
                    return [*self._write(parts, report)]
            except CannotMergeError as error:
                _log.warning("%s: papers are indexed again, some at a time", error)
                self._done -= 1
            self.cuts += 1
        self._writer.repairs = is_current
        try:
            return [made for group in bounded_parts(parts) for made in self._write(group, report)]
        finally:
            self._writer.repairs = False

    def _was_cut(self, parts: tuple[Segment, ...]) -> bool:
        """Whether segments could not be merged before an interruption: the next one is smaller."""
        documents = sum(part.live for part in parts)
        return self._done < len(self._known) and self._known[self._done].documents < documents

    def _write(
        self, parts: tuple[Segment, ...], report: Callable[[int], object]
    ) -> Sequence[Segment]:
        self._done += 1
        if self._done <= len(self._known):
            return self._known[self._done - 1 : self._done]
        self._writer.discard()
        made = rewrite_segments(parts, self._writer, report)
        self._note_origin(made[0], parts)
        return made

    def _note_origin(self, made: Segment, parts: tuple[Segment, ...]) -> None:
        """Write down what a segment was merged from; parts that were merged before are replaced."""
        path = self._generation / _ORIGINS
        known = load_json(path) if path.exists() else {}
        found: list[Any] = []
        for part in parts:
            is_whole = part.name in known and not part.removed
            own = [part.name, part.documents, part.removed]
            found += known[part.name] if is_whole else [own]
        write_atomically(path, to_json(known | {made.name: found}))


def merged_parts(generation: Path) -> dict[str, list[SegmentIndex]]:
    """Return the indexes that segments of a generation that is being made were merged from."""
    path, home = generation / _ORIGINS, generation.parents[1]
    if not path.exists():
        return {}
    return {
        name: [
            SegmentIndex(segment_folder(home, part) / "index", documents, tuple(removed))
            for part, documents, removed in parts
        ]
        for name, parts in load_json(path).items()
    }


def forget_origins(generation: Path) -> None:
    """Remove the list of what segments were merged from."""
    (generation / _ORIGINS).unlink(missing_ok=True)


def merge_small(
    generation: Path, manifest: Manifest, indexer: Indexer | None, watch: Watch
) -> Manifest:
    """Merge the last segments if there are many small ones."""
    merger = SegmentMerger(generation, indexer, watch)
    while (places := segments_to_merge(manifest.segments)) is not None:
        manifest = merger.rewrite([places], manifest)
        if merger.cuts >= _MOST_CUTS:  # they are merged when papers are added next
            break
    return manifest


def merge_new(
    generation: Path, manifest: Manifest, indexer: Indexer | None, watch: Watch
) -> Manifest:
    """Merge the segments of a new library if there are many: each paper is copied once."""
    if len(manifest.segments) < MERGED_AT_ONCE:
        return manifest
    return SegmentMerger(generation, indexer, watch).compact(manifest)
