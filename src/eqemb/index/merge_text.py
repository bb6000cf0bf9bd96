"""Merge the text of segments: words, stems, postings, positions; `text` describes the files.

The words of a segment are numbered by first occurrence. Where documents were removed, that order
is found again from the tokens that are left and, where these do not tell, from the records.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from eqemb.index.merge_arrays import (
    CannotMergeError,
    MergedRows,
    PartLists,
    PartPostings,
    copy_lines,
    in_key_order,
    merge_lists,
    merge_postings,
    merge_rows,
    open_array,
    read_lines,
)
from eqemb.index.merge_parts import MergedPart
from eqemb.index.postings import BATCH, Array, ArrayWriter, Keys, hash_texts
from eqemb.index.text import field_words
from eqemb.library.database import Records
from eqemb.storage.array_file import release


class _PartText:
    """The text of a part, and where it is after merging."""

    def __init__(self, part: MergedPart, start: int, merged: Array, records: Records) -> None:
        """`start` is the number of tokens before the part."""
        self.part, self.folder = part, part.folder
        self.word_keys, self.stem_keys, self.stem_of, self._places = (
            np.array(open_array(part.folder, name))
            for name in ("words.ids", "stems.ids", "stems", "places")
        )
        if len(self._places) != len(part.equations):
            raise CannotMergeError(f"{part.folder} has places of other equations")
        self.lows, self.highs = self._places[part.articles][:, [0, 2]].T
        sizes = np.where(part.live_articles, self.highs - self.lows, 0)
        self._shifts = start + np.cumsum(sizes) - sizes - self.lows
        self.tokens = int(sizes.sum())
        """The number of tokens that are left."""
        self.order = self._word_order(merged, records) if part.has_removed else None

    def positions(self, old: Array) -> Array:
        """Return the merged positions of tokens, -1 for those of removed articles."""
        if not self.part.has_removed:
            shift = self._shifts[0] if len(self._shifts) else 0
            return old + shift
        article = np.searchsorted(self.lows, old, "right") - 1
        live = self.part.live_articles[article]
        return np.where(live, old + self._shifts[article], -1)

    @property
    def places(self) -> Array:
        """The places of the equations that are left."""
        live = self.part.live
        found: Array = (
            self._places[live] + self._shifts[self.part.article_of_equation[live]][:, None]
        )
        return found

    @property
    def stem_order(self) -> Array | None:
        """The stems that are left, in order of first occurrence; None for all, in their order."""
        if self.order is None:
            return None
        stems = self.stem_of[self.order]
        _, first = np.unique(stems, return_index=True)
        found: Array = stems[np.sort(first)]
        return found

    def _word_order(self, merged: Array, records: Records) -> Array:
        """Return the words of the articles that are left, in order of first occurrence."""
        tokens, fields = (open_array(self.folder, name) for name in ("tokens", "fields.owners"))
        pointers = np.array(open_array(self.folder, "fields.pointers"))
        first = np.full(len(self.word_keys), -1)  # the article of the first occurrence
        seen = np.zeros(len(self.word_keys), bool)
        order: list[Array] = [np.empty(0, np.int64)]
        for article, is_live in enumerate(self.part.live_articles.tolist()):
            words, at = np.unique(
                tokens[self.lows[article] : self.highs[article]], return_index=True
            )
            others = np.array(fields[pointers[article] : pointers[article + 1]])
            for some in (words, others):
                first[some[first[some] < 0]] = article
            if not is_live:
                continue
            is_new = ~seen[words]
            order.append(words[is_new][np.argsort(at[is_new])])
            others = others[~seen[others]]
            if (first[others] != article).any():
                row = merged[self.part.equations[self.part.articles[article]]]
                wanted = _field_keys(records, int(row[0]), int(row[1]))
                others = in_key_order(others, self.word_keys, wanted)
            order.append(others)
            seen[words] = seen[others] = True
        release(tokens, fields)
        return np.concatenate(order)


def _field_keys(records: Records, article: int, ordinal: int) -> Array:
    """Return the keys of the words of the fields of an article, in order."""
    title = records.equation(article, ordinal)[1] or ""
    return hash_texts(
        word.lower()
        for equation in records.equation_words(article)
        for words in field_words(title, equation).values()
        for word in words
    )


def merge_text(parts: Sequence[MergedPart], merged: Array, records: Records, folder: Path) -> None:
    """Write the text of the merged segment; `merged` are its equations."""
    texts: list[_PartText] = []
    start = 0
    for part in parts:
        texts.append(_PartText(part, start, merged, records))
        start += texts[-1].tokens
    words = merge_rows([(text.word_keys, text.order) for text in texts])
    stems = merge_rows([(text.stem_keys, text.stem_order) for text in texts])
    _write_vocabulary(texts, words, stems, folder)
    _write_tokens(texts, words, folder)
    places = [np.empty((0, 3), np.int64), *(text.places for text in texts)]
    np.save(folder / "places.npy", np.concatenate(places))
    count = len(stems.keys)
    merge_postings(
        [_positions(text, rows) for text, rows in zip(texts, stems.of_part, strict=True)],
        folder,
        "positions",
        count,
        weighted=False,
    )
    merge_postings(
        [_terms(text, rows) for text, rows in zip(texts, stems.of_part, strict=True)],
        folder,
        "terms",
        count,
    )
    lists = [
        PartLists(text.folder, text.part.live, rows)
        for text, rows in zip(texts, stems.of_part, strict=True)
    ]
    names = ("terms.profiles", "terms.profiles.rows", "terms.profiles.weights")
    merge_lists(lists, folder, names, is_sorted=True)
    fields = [
        PartLists(text.folder, np.flatnonzero(text.part.live_articles), rows)
        for text, rows in zip(texts, words.of_part, strict=True)
    ]
    merge_lists(fields, folder, ("fields.pointers", "fields.owners"), is_sorted=True)


def _terms(text: _PartText, rows: Array) -> PartPostings:
    owners = text.part.equations
    return PartPostings(text.folder, rows, lambda old: owners[old], not text.part.has_removed)


def _positions(text: _PartText, rows: Array) -> PartPostings:
    owners: Callable[[Array], Array] = text.positions
    return PartPostings(text.folder, rows, owners, not text.part.has_removed)


def _write_vocabulary(
    texts: Sequence[_PartText], words: MergedRows, stems: MergedRows, folder: Path
) -> None:
    """Write words, stems, their keys and the stem of each word."""
    stem_of = np.zeros(len(words.keys), np.int32)
    for name, merged in (("words", words), ("stems", stems)):
        chosen: list[Array] = []
        count = 0
        for rows in merged.of_part:
            old = np.flatnonzero(rows >= count)
            old = old[np.argsort(rows[old])]
            chosen.append(old)
            count += len(old)
        lines = (
            line
            for text, old in zip(texts, chosen, strict=True)
            for line in read_lines(text.folder, name, old)
        )
        copy_lines(lines, folder, name)
        Keys.write(folder, name, merged.keys)
        np.save(folder / f"{name}.ids.npy", merged.keys)
    for text, of_words, of_stems in zip(texts, words.of_part, stems.of_part, strict=True):
        left = np.flatnonzero(of_words >= 0)
        stem_of[of_words[left]] = of_stems[text.stem_of[left]]
    np.save(folder / "stems.npy", stem_of)


def _write_tokens(texts: Sequence[_PartText], words: MergedRows, folder: Path) -> None:
    out = ArrayWriter(folder / "tokens.npy", np.int32)
    for text, rows in zip(texts, words.of_part, strict=True):
        tokens = open_array(text.folder, "tokens")
        for at in range(0, len(tokens), BATCH):
            some = np.array(tokens[at : at + BATCH])
            if text.part.has_removed:
                some = some[text.positions(np.arange(at, at + len(some))) >= 0]
            out.add(rows[some])
            release(tokens)
    out.close()
