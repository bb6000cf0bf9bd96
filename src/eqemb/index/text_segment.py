"""The text of one segment, opened for reading: words, stems, postings and positions.

`text` writes it, and `text_index` reads all segments as one. NumPy only.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eqemb.corpus.vocabulary import STOP_WORDS
from eqemb.index.acronym_table import AcronymTable
from eqemb.index.acronyms import COMPOUND, Phrase
from eqemb.index.postings import (
    Array,
    ForwardIndex,
    Keys,
    Postings,
    TextList,
    expand_ranges,
    hash_texts,
    load_array,
)
from eqemb.index.segments import IndexSegment
from eqemb.index.text import CONTEXT_REACH
from eqemb.storage.mapped import ScatteredFolder, will_read, will_read_all

#: Similarity of words that are suggested for a misspelling.
MIN_SPELLING_RATIO = 0.75
_MOST_POSITIONS = 1024  # that are read for one position of the text: as many as a page has
_MANY_PLACES = 100  # positions that are looked up one by one, each on pages of their own
_MAX_INITIALS = 64  # first letters whose words are kept apart

Mask = NDArray[np.bool_]


class TextSegment:
    """The text of one segment; equations, words and stems are numbered as in the segment."""

    def __init__(self, segment: IndexSegment, folder: Path) -> None:
        self.segment, self.folder = segment, folder
        self._by_letter: dict[str, str] = {}
        self._postings, self._stems = Postings(folder, "terms"), Keys(folder, "stems")
        self.stem_of, self.tokens, self.places = (
            load_array(folder, name) for name in ("stems", "tokens", "places")
        )

    @cached_property
    def words(self) -> TextList:
        """The words of the segment, in lower case."""
        return TextList(self.folder, "words")

    @cached_property
    def stems(self) -> TextList:
        """The stems of the segment."""
        return TextList(self.folder, "stems")

    @cached_property
    def stem_keys(self) -> Array:
        """The key of each stem."""
        return load_array(self.folder, "stems.ids")

    @cached_property
    def word_keys(self) -> Array:
        """The key of each word."""
        return load_array(self.folder, "words.ids")

    @cached_property
    def forward(self) -> ForwardIndex:
        """The stems of each equation."""
        return ForwardIndex(self.folder, "terms")

    def find_stems(self, keys: Array) -> Array:
        """Return the stems with these keys, -1 where the segment has none."""
        return self._stems.find_all(keys)

    def count(self, number: int) -> int:
        """Return how many equations have the stem with a key."""
        row = self._stems.find_key(number)
        if row < 0:
            return 0
        removed = 0 if self._removed_counts is None else int(self._removed_counts[row])
        return self._postings.count(row) - removed

    def counts(self, rows: Array) -> Array:
        """Return how many equations have each stem; 0 for the row -1."""
        if not len(self.stem_of):
            return np.zeros(len(rows), np.int64)
        counts = np.where(rows < 0, 0, self._postings.counts(rows))
        if self._removed_counts is not None:
            counts -= np.where(rows < 0, 0, self._removed_counts[rows])
        found: Array = counts
        return found

    @cached_property
    def _removed_counts(self) -> Array | None:
        """For each stem the number of removed equations that have it; None if there are none."""
        if self.segment.live is None:
            return None
        removed = np.flatnonzero(~self.segment.live).tolist()
        rows = [np.empty(0, np.int32), *(self.forward.of(row)[0] for row in removed)]
        return np.bincount(np.concatenate(rows), minlength=len(self.stem_keys))

    def postings(self, row: int) -> tuple[Array, Array]:
        """Return the equations that have a stem and its impacts; none for the row -1."""
        if row < 0:
            return np.empty(0, np.int32), np.empty(0, np.float32)
        owners, impacts = self._postings.of(row)
        if self.segment.live is not None:
            live = self.segment.live[owners]
            owners, impacts = owners[live], impacts[live]
        return owners, impacts

    def impact(self, row: int, equation: int) -> float:
        """Return the impact of a stem on one equation."""
        return 0.0 if row < 0 else self._postings.weight(row, equation)

    def match_phrase(self, rows: Sequence[int]) -> tuple[Array, Array]:
        """Return the equations with a phrase near them; its impact is the least of its words'."""
        if min(rows) < 0:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        return self._least_impacts(rows, self._with_phrase(rows))

    def match_phrase_within(self, rows: Sequence[int], equations: Array) -> tuple[Array, Array]:
        """Return what `match_phrase` does, of some equations: it reads only their contexts."""
        if min(rows) < 0:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        equations, least = self._least_impacts(rows, equations)
        will_read(self.places, equations)
        low, place, high = self.places[equations].T
        pointers, positions = self._positions
        rarest = min(rows, key=lambda row: int(pointers[row + 1] - pointers[row]))
        shift = rows.index(rarest)
        own = positions[pointers[rarest] : pointers[rarest + 1]]
        will_read_all(own)
        # where the phrase may begin
        first = np.searchsorted(own, np.maximum(low, place - CONTEXT_REACH) + shift)
        ends = np.minimum(high, place + CONTEXT_REACH) - len(rows) + 1
        sizes = np.maximum(np.searchsorted(own, ends + shift) - first, 0)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        at = own[expand_ranges(first, sizes)] - shift
        will_read(self.tokens, at, at + len(rows))
        for step, row in enumerate(rows):
            here = self.stem_of[self.tokens[at + step]] == row
            at, owner = at[here], owner[here]
        has = owner[np.diff(owner, prepend=-1) > 0]  # each once
        return equations[has], least[has]

    def _least_impacts(self, rows: Sequence[int], equations: Array) -> tuple[Array, Array]:
        """Return those of some equations that have all stems, and the least impact on each."""
        least = np.full(len(equations), np.inf, np.float32)
        for row in rows:
            owners, weights = self.postings(row)
            if len(owners) <= _MOST_POSITIONS * len(equations):
                will_read_all(owners)
            wanted = equations.astype(owners.dtype)  # else the owners would be converted
            at = np.minimum(np.searchsorted(owners, wanted), max(len(owners) - 1, 0))
            have = owners[at] == equations if len(owners) else np.zeros(len(equations), bool)
            equations, at = equations[have], at[have]
            will_read(weights, at)
            least = np.minimum(least[have], weights[at])
        return equations, least

    def acronym_counts(self, row: int) -> Mapping[Phrase, int] | None:
        """Return how many articles say that a stem stands for a phrase; None without a table."""
        if self._acronyms is None:
            return None
        live = self.segment.live
        return self._acronyms.counts(row, None if live is None else live[self._first_equations])

    @cached_property
    def _acronyms(self) -> AcronymTable | None:
        return AcronymTable(self.folder) if AcronymTable.exists(self.folder) else None

    @cached_property
    def _first_equations(self) -> Array:
        """The first equation of each article that has equations."""
        found = np.flatnonzero(np.r_[True, np.diff(self.segment.equations[:, 0]) != 0])
        return found[: len(self.segment.equations)]

    @cached_property
    def article_bounds(self) -> Array:
        """The bounds of each article that is not removed among the positions, in order."""
        first = self._first_equations
        if self.segment.live is not None:
            first = first[self.segment.live[first]]
        found: Array = self.places[first][:, [0, 2]]
        return found

    @cached_property
    def initials(self) -> Array:
        """The code of the first letter of each word; COMPOUND for compounds."""
        words = self.words.lines().split("\n")
        return np.array([COMPOUND if "-" in word else ord(word[:1] or " ") for word in words])

    @cached_property
    def is_stop_word(self) -> Mask:
        """Which words are stop words."""
        return np.array([word in STOP_WORDS for word in self.words.lines().split("\n")], bool)

    def positions(self, row: int) -> Array:
        """Return the positions of a stem in the text."""
        pointers, positions = self._positions
        found: Array = positions[pointers[row] : pointers[row + 1]]
        return found

    @cached_property
    def _positions(self) -> tuple[Array, Array]:
        """For each stem, where its positions start; and all positions."""
        return load_array(self.folder, "positions.pointers"), load_array(
            self.folder, "positions.owners"
        )

    def _with_phrase(self, phrase: Sequence[int]) -> Array:
        """Return the equations with consecutive stems in their context, in order."""
        pointers, positions = self._positions
        rarest = min(phrase, key=lambda row: int(pointers[row + 1] - pointers[row]))
        own = positions[pointers[rarest] : pointers[rarest + 1]]
        will_read_all(own)
        at = own - phrase.index(rarest)
        at = at[(at >= 0) & (at + len(phrase) <= len(self.tokens))]
        for step, row in enumerate(phrase):
            at = at[self._have_stem(at + step, row)]
        if len(at) > _MANY_PLACES:
            will_read_all(self.places)
        low, place, high = self.places.T
        # The equations of its article with the whole phrase in reach: the first, and the one after
        # the last. Both ascend as `places` do.
        last = at + len(phrase) - 1
        first = np.maximum(
            np.searchsorted(place, last - CONTEXT_REACH, "right"),
            np.searchsorted(high, last, "right"),
        )
        after = np.minimum(
            np.searchsorted(place, at + CONTEXT_REACH, "right"), np.searchsorted(low, at, "right")
        )
        # both ascend: what an earlier range has is left out of the later ones
        first[1:] = np.maximum(first[1:], np.maximum.accumulate(after)[:-1])
        return expand_ranges(first, np.maximum(after - first, 0))

    def _have_stem(self, at: Array, row: int) -> Mask:
        """Return which positions, in order, have a stem."""
        own = self.positions(row)
        if not isinstance(self.folder, ScatteredFolder) or len(own) > _MOST_POSITIONS * len(at):
            will_read(self.tokens, at)
            found: Mask = self.stem_of[self.tokens[at]] == row
            return found
        # the positions of the stem are fewer pages than those of the text
        will_read_all(own)
        place = np.minimum(own.searchsorted(at.astype(own.dtype)), max(len(own) - 1, 0))
        return own[place] == at if len(own) else np.zeros(len(at), bool)

    def spelt_like(self, word: str) -> dict[str, int]:
        """Return words of about this length with the same first letter, and most of its letters.

        Each with the key of its stem.
        """
        least, most = max(len(word) - 3, 0), len(word) + 1  # letters after the first
        pattern = rf"\n({re.escape(word[:1])}.{{{least},{most}}})(?=\n)"
        candidates = re.findall(pattern, self._words_from(word[:1]))
        if not candidates:
            return {}
        longest = len(word) + 2
        words = np.array(candidates, f"U{longest}")
        # A cheap upper bound of the ratio for all words at once: the letters that both have.
        letters = words.view(np.uint32).reshape(len(words), longest)
        shared = sum(
            np.minimum((letters == ord(letter)).sum(axis=1), word.count(letter))
            for letter in set(word)
        )
        likely = 2 * shared >= MIN_SPELLING_RATIO * (len(word) + (letters > 0).sum(axis=1))
        found: list[str] = words[likely].tolist()
        rows = self._word_rows.find_all(hash_texts(found))
        stems = self.stem_keys[self.stem_of[rows]].tolist()
        live = self.live_words[rows].tolist()
        return {each: key for each, key, is_live in zip(found, stems, live, strict=True) if is_live}

    def _words_from(self, letter: str) -> str:
        """Return the words with a first letter, each between line breaks; cached."""
        found = self._by_letter.get(letter)
        if found is None:
            text = f"\n{self.words.lines()}"
            found = "".join(re.findall(rf"\n{re.escape(letter)}.*", text)) + "\n"
            if len(self._by_letter) < _MAX_INITIALS:
                self._by_letter[letter] = found
        return found

    @cached_property
    def _word_rows(self) -> Keys:
        return Keys(self.folder, "words")

    def words_of(self, row: int) -> list[str]:
        """Return the words that have a stem."""
        rows = np.flatnonzero((self.stem_of == row) & self.live_words)
        return [self.words[at] for at in rows.tolist()]

    @cached_property
    def live_words(self) -> Mask:
        """Which words an article has that is not removed."""
        if self.segment.live is None:
            return np.ones(len(self.stem_of), bool)
        found = np.zeros(len(self.stem_of), bool)
        pointers, words = (
            load_array(self.folder, f"fields.{part}") for part in ("pointers", "owners")
        )
        _, firsts = np.unique(self.segment.equations[:, 0], return_index=True)
        for article, first in enumerate(firsts.tolist()):
            if self.segment.live[first]:
                low, _, high = self.places[first].tolist()
                found[self.tokens[low:high]] = True
                found[words[pointers[article] : pointers[article + 1]]] = True
        return found

    def words_around(self, equation: int, reach: int) -> tuple[Array, Array]:
        """Return the ids of the words within reach of an equation, in order, and the distances."""
        low, place, high = self.places[equation].tolist()
        start, end = max(low, place - reach), min(high, place + reach)
        at = np.arange(start, end)
        return self.tokens[start:end], np.where(at < place, place - at, at - place + 1)
