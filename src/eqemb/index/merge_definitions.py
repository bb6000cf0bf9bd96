"""Merge the definitions of symbols of several segments; `definitions` describes the files.

Definitions are numbered in the order of the articles. The meanings of an equation name definitions
of its own article by number, so that all of them move by the same distance.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from eqemb.index.definitions import text_stems
from eqemb.index.merge_arrays import (
    CannotMergeError,
    PartPostings,
    copy_lines,
    first_rows,
    keys_of_rows,
    merge_postings,
    merge_rows,
    open_array,
    read_lines,
)
from eqemb.index.merge_parts import MergedPart
from eqemb.index.postings import Array, Keys, TextList, hash_texts


class _PartDefinitions:
    """The definitions of a part, and their numbers after merging."""

    def __init__(self, part: MergedPart, before: int) -> None:
        """`before` is the number of definitions of the parts before it."""
        self.part, self.folder = part, part.folder
        self._places = np.array(open_array(part.folder, "definitions.places"))
        live = part.documents[self._places[:, 0]] >= 0
        self.left = np.flatnonzero(live)
        self.rows = np.where(live, before + np.cumsum(live) - 1, -1)
        """The merged number of each definition, -1 for those of removed articles."""
        if len(open_array(part.folder, "meanings.starts")) != len(part.equations) + 1:
            raise CannotMergeError(f"{part.folder} has meanings of other equations")

    @property
    def places(self) -> Array:
        """The article and the ordinal of each definition that is left."""
        found = self._places[self.left]
        found[:, 0] = self.part.documents[found[:, 0]]
        return found

    def meanings(self) -> Iterator[bytes]:
        """Yield the lines of the equations that are left, with new numbers of definitions."""
        articles = np.array(open_array(self.folder, "equations")[self.part.live, 0])
        first = np.searchsorted(self._places[:, 0], articles)
        known = np.minimum(first, max(0, len(self.rows) - 1))
        shifts = self.rows[known] - known if len(self.rows) else np.zeros(len(first), np.int64)
        lines = read_lines(self.folder, "meanings", self.part.live)
        for shift, line in zip(shifts.tolist(), lines, strict=True):
            yield _shifted(line, shift) if shift else line

    def postings(self, rows: Array) -> PartPostings:
        """Return postings whose owners are definitions."""
        return PartPostings(
            self.folder, rows, lambda old: self.rows[old], len(self.left) == len(self.rows)
        )

    def equation_postings(self) -> PartPostings:
        """Return postings whose rows are definitions, and whose owners are equations."""
        equations = self.part.equations
        return PartPostings(
            self.folder, self.rows, lambda old: equations[old], not self.part.has_removed
        )

    def order(
        self, name: str, keys: Array, texts: Callable[[list[object]], Sequence[str]]
    ) -> Array | None:
        """Return the rows of postings that are left, in order of first occurrence."""
        if not self.part.has_removed:
            return None
        lines = TextList(self.folder, "definitions", kept=0)
        before = int(self.rows[self.left[0]]) if len(self.left) else 0

        def read(definition: int) -> Array:
            return hash_texts(texts(json.loads(lines[int(self.left[definition - before])])))

        return first_rows(self.folder, name, self.rows, keys, read)


def _shifted(line: bytes, shift: int) -> bytes:
    """Return the meanings of an equation with other numbers of definitions."""
    found = json.loads(line)
    for meaning in found:
        if meaning[1] >= 0:
            meaning[1] += shift
        meaning[3] = [row + shift for row in meaning[3]]
    return f"{json.dumps(found)}\n".encode()


def merge_definitions(parts: Sequence[MergedPart], folder: Path) -> None:
    """Write the definitions of the merged segment."""
    found: list[_PartDefinitions] = []
    count = 0
    for part in parts:
        found.append(_PartDefinitions(part, count))
        count += len(found[-1].left)
    places = [np.empty((0, 2), np.int32), *(part.places for part in found)]
    np.save(folder / "definitions.places.npy", np.concatenate(places))
    sizes = [open_array(part.folder, "definitions.sizes")[part.left] for part in found]
    np.save(folder / "definitions.sizes.npy", np.concatenate([np.empty(0, np.float32), *sizes]))
    lines = (line for part in found for line in read_lines(part.folder, "definitions", part.left))
    copy_lines(lines, folder, "definitions")
    copy_lines((line for part in found for line in part.meanings()), folder, "meanings")
    for name, texts in (("defined_words", _words), ("defined_symbols", _symbols)):
        keys = [keys_of_rows(part.folder, name) for part in found]
        orders = [part.order(name, own, texts) for part, own in zip(found, keys, strict=True)]
        rows = merge_rows(list(zip(keys, orders, strict=True)))
        postings = [part.postings(own) for part, own in zip(found, rows.of_part, strict=True)]
        merge_postings(postings, folder, name, len(rows.keys))
        Keys.write(folder, name, rows.keys)
    merge_postings([part.equation_postings() for part in found], folder, "defined_equations", count)


def _words(line: list[object]) -> list[str]:
    """Return the stems of the definition of a line."""
    return text_stems(str(line[3]))


def _symbols(line: list[object]) -> list[str]:
    """Return the keys of the symbol of a line."""
    return [str(line[0]), str(line[1])]
