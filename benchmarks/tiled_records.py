"""Open an index that `tiling` made: records of the base answer for all of its copies.

    search = Search(*open_tiled(Path("FOLDER")))

A copy of an article has the name of the original and the numbers of part and copy after a tilde.
Only what a search needs is there.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from tiled_copies import Base, rename

from eqemb.article import Article, Equation
from eqemb.index.postings import load_array
from eqemb.index.segments import IndexSegments, SegmentSource
from eqemb.library.database import LibraryRecords, Records


class TiledRecords(Records):
    """The records of one part: those of the base, once for each copy."""

    def __init__(self, base: Path, index: Path, part: int, copies: int) -> None:
        super().__init__(base)
        self._part, self._copies = part, copies
        self._documents, self._type_count = self.documents, super().type_count()
        self.documents *= copies
        self._units_of_copy = load_array(index, "units.copies")
        self._letters = json.loads((index / "letters.json").read_text("utf-8"))

    def _ending(self, copy: int) -> str:
        return f"~{self._part}.{copy}" if self._part or copy else ""

    def _copy_of(self, name: str) -> tuple[str, int] | None:
        """Return the original name of an article and its copy; None if the part has no such."""
        original, _, rest = name.partition("~")
        part, _, copy = rest.partition(".")
        if not rest:
            return None if self._part else (name, 0)
        found = original, int(copy) if copy.isdecimal() else -1
        return (
            found if part == str(self._part) and name == found[0] + self._ending(found[1]) else None
        )

    def name(self, key: int) -> str:
        """Return the name of a source."""
        copy, own = divmod(key, self._documents)
        return super().name(own) + self._ending(copy)

    def key(self, name: str) -> int | None:
        """Return the id of the article with this name, or None."""
        if (found := self._copy_of(name)) is None or not 0 <= found[1] < self._copies:
            return None
        own = super().key(found[0])
        return None if own is None else own + found[1] * self._documents

    def names_ending(self, part: str) -> list[str]:
        """Return the names of the articles that end with `/` and this part, in order."""
        if (found := self._copy_of(part)) is None:
            return []
        return [name + self._ending(found[1]) for name in super().names_ending(found[0])]

    def article_ids(self) -> Iterator[tuple[int, str, str]]:
        """Yield id, name and collection of every article, in order."""
        for copy in range(self._copies):
            for key, name, group in super().article_ids():
                yield key + copy * self._documents, name + self._ending(copy), group

    def article(self, name: str) -> Article | None:
        """Return the article with this name, or None."""
        found = self._copy_of(name)
        return None if found is None else super().article(found[0])

    def publication(self, key: int) -> tuple[list[str], str]:
        """Return what an article says about its authors and its date."""
        return super().publication(key % self._documents)

    def article_text(self, key: int) -> str:
        """Return the text of an article."""
        return super().article_text(key % self._documents)

    def section(self, key: int, ordinal: int) -> str:
        """Return the section of an equation."""
        return super().section(key % self._documents, ordinal)

    def equation_labels(self, key: int) -> Iterator[tuple[int, str | None, list[str]]]:
        """Yield ordinal, printed number and labels of every equation of an article."""
        return super().equation_labels(key % self._documents)

    def find_equation(self, key: int, ordinal: int) -> tuple[Equation, str] | None:
        """Return an equation, with the letters of the original, and its article's title."""
        copy, own = divmod(key, self._documents)
        found = super().find_equation(own, ordinal)
        if found is None:
            return None
        return replace(found[0], article=found[0].article + self._ending(copy)), found[1]

    def canonical(self, kind: int) -> str:
        """Return the canonical form of an equation type, with the letters of its copy."""
        copy, own = divmod(kind, self._type_count)
        return rename(super().canonical(own), self._letters[copy])

    def type_units(self, kinds: Sequence[int]) -> dict[int, bytes]:
        """Return the unit ids (as int32) of equation types."""
        own = super().type_units([kind % self._type_count for kind in kinds])
        found = {}
        for kind in kinds:
            copy, original = divmod(kind, self._type_count)
            units = np.frombuffer(own[original], np.int32)
            found[kind] = self._units_of_copy[copy][units].tobytes()
        return found

    def type_count(self) -> int:
        """Return the number of equation types."""
        return self._type_count * self._copies


def open_tiled(
    folder: Path, parts: int | None = None
) -> tuple[LibraryRecords, IndexSegments, Path]:
    """Open an index, or its first parts: what `Search` takes."""
    made = json.loads((folder / "made.json").read_text("utf-8"))
    base = Base(Path(made["base"])).folder / "records.sqlite"
    sources = []
    for part in range(parts or made["parts"]):
        index = folder / "parts" / str(part)
        sources.append(
            SegmentSource(str(part), index, TiledRecords(base, index, part, made["copies"]))
        )
    records = LibraryRecords([source.records for source in sources])
    return records, IndexSegments(sources), folder / "vectors"
