"""A library in parts: groups of neighbouring segments that other processes search.

`deal` divides a library into parts; `LibraryPart` is one of them, opened in a process of its own.
`PartsLibrary` is the whole library for a front end: it asks the parts, and reads articles and hits
itself. `LocalParts` has all parts in this process, for tests and measurements.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple, Self

from eqemb.errors import EqembError
from eqemb.facade.indexed import Asked, IndexedLibrary
from eqemb.facade.library import Library
from eqemb.index.segments import IndexSegments, open_index
from eqemb.index.statistics import LibraryStatistics, library_statistics
from eqemb.library.manifest import Manifest, Segment
from eqemb.search.describe import Description
from eqemb.search.engine import Search
from eqemb.search.merging import MergedSearch, Parts, PartsAsker
from eqemb.search.parts import PartAnswer, PartQuestion, PartSearch
from eqemb.storage.checksums import is_sealed
from eqemb.storage.locks import hold


class PartPlace(NamedTuple):
    """Where a part of a library is, as a process on another machine can open it."""

    folder: str
    generation: int
    first_segment: int
    end_segment: int
    first_row: int
    """The row in the library of the first equation."""

    @property
    def segments(self) -> int:
        """The number of segments."""
        return self.end_segment - self.first_segment


def deal(segments: Sequence[Segment], count: int) -> list[range]:
    """Divide segments into at most `count` groups of neighbours, of about as many documents each.

    >>> deal([Segment("a", 40), Segment("b", 40), Segment("c", 40), Segment("d", 9)], 2)
    [range(0, 2), range(2, 4)]
    """
    if not segments:
        return []
    count = min(count, len(segments))
    total = sum(part.documents for part in segments)
    groups: list[range] = []
    first, before = 0, 0
    for at, part in enumerate(segments):
        before += part.documents
        left = count - len(groups) - 1
        is_full = before * count >= total * (len(groups) + 1)
        if left and (is_full or len(segments) - at - 1 == left):
            groups.append(range(first, at + 1))
            first = at + 1
    return [*groups, range(first, len(segments))]


def part_places(library: IndexedLibrary, index: IndexSegments, count: int) -> list[PartPlace]:
    """Return the places of at most `count` parts of an open library, given its index."""
    return [
        PartPlace(
            str(library.folder.absolute()),
            int(library.generation.name),
            group.start,
            group.stop,
            index[group.start].first_equation,
        )
        for group in deal(library.manifest.segments, count)
    ]


class LibraryPart(IndexedLibrary):
    """A part of a library, opened to answer the questions of a front end."""

    first_row: int
    statistics: LibraryStatistics

    @classmethod
    def open_at(cls, place: PartPlace, statistics: LibraryStatistics) -> Self:
        """Open a part; `statistics` are those of the whole library."""
        folder = Path(place.folder)
        generation = folder / "generations" / str(place.generation)
        if not generation.is_dir():
            raise EqembError(f"{folder} has no generation {place.generation} any more")
        held = hold(generation)
        whole = Manifest.load(generation)
        some = whole.segments[place.first_segment : place.end_segment]
        own = replace(whole, segments=some, near=())
        part = cls(folder, generation, held, own)
        if is_sealed(generation):
            part._files = cls._open_files(generation, None, own)
        part.first_row, part.statistics = place.first_row, statistics
        return part

    @cached_property
    def engine(self) -> Search:
        """The search engine over the part's index."""
        return self.part_engine

    @cached_property
    def part_engine(self) -> PartSearch:
        """The search engine, which answers questions of a front end."""
        segments = open_index(self, self.statistics)
        return PartSearch(self.records, segments, self._vectors_folder, self.first_row)

    def answer(self, question: PartQuestion) -> PartAnswer:
        """Return the answer of this part to a question."""
        return self.part_engine.answer(question)


class LocalParts:
    """All parts of a library in this process."""

    def __init__(self, library: IndexedLibrary, count: int) -> None:
        index = open_index(library)
        statistics, places = library_statistics(index), part_places(library, index, count)
        self.parts = [LibraryPart.open_at(place, statistics) for place in places]

    def __len__(self) -> int:
        return len(self.parts)

    def ask(self, question: PartQuestion) -> list[PartAnswer | None]:
        """Return the answer of every part."""
        return [part.answer(question) for part in self.parts]

    def close(self) -> None:
        """Close all parts."""
        for part in self.parts:
            part.close()


class PartsLibrary(Library):
    """A library whose parts answer `search`, `similar` and `describe`."""

    parts: Parts

    @classmethod
    def open_with(cls, folder: str | Path, parts: Parts) -> Self:
        """Open a library whose parts are elsewhere."""
        library = cls.open(folder)
        library.parts = parts
        return library

    @cached_property
    def engine(self) -> Search:
        """The search engine that asks the parts."""
        return MergedSearch(
            self.records, self.whole_index, self._vectors_folder, lambda: self.model, self.asker
        )

    @cached_property
    def whole_index(self) -> IndexSegments:
        """The index of the whole library."""
        return self.open_segments()

    @cached_property
    def asker(self) -> PartsAsker:
        """Asks the parts, and knows whether all answered."""
        return PartsAsker(self.parts)

    def begin_request(self) -> None:
        """Forget which parts were missing in earlier answers."""
        self.asker.reset()

    @property
    def parts_note(self) -> str:
        """How many parts answered since `begin_request`; empty if all did."""
        return "".join(self.asker.notes)

    def describe(
        self, equation: Asked, k: int = 10, *, by: Literal["all", "paper"] = "all"
    ) -> Description:
        """Describe an equation in words; a note says if parts are missing."""
        found = super().describe(equation, k, by=by)
        return replace(found, notes=[*found.notes, *self.asker.notes])
