"""Candidates of large libraries: the rows and types with the largest sums, and the scope."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqemb.index import candidates, windows
from eqemb.index.candidates import Best, WantedFeature, WordCandidates, best_types
from eqemb.index.postings import Array, Postings, PostingsWriter
from eqemb.index.scope import Scope, SegmentMatches
from eqemb.index.segments import IndexSegments
from eqemb.index.terms import Term
from eqemb.index.text_index import TextIndex
from eqemb.index.windows import MOST_LEVEL, to_levels, write_windows
from eqemb.kernels import posting_loops

LARGEST = 1.6


class Corpus:
    """Random postings of several segments, written as an index has them."""

    def __init__(self, folder: Path, sizes: list[int], words: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.lists: list[list[tuple[Array, Array]]] = []
        parts = []
        first = 0
        for number, size in enumerate(sizes):
            place = folder / str(number)
            place.mkdir(parents=True)
            lists = []
            for _ in range(words):
                share = random.choice([0.0, 0.01, 0.5])
                owners = np.flatnonzero(random.random(size) < share).astype(np.int32)
                lists.append((owners, random.uniform(0.01, LARGEST, len(owners)).astype("f4")))
            writer = PostingsWriter(place, "terms")
            rows = np.repeat(np.arange(words), [len(owners) for owners, _ in lists])
            owners = np.concatenate([owners for owners, _ in lists])
            weights = np.concatenate([weights for _, weights in lists])
            order = np.argsort(owners, kind="stable")  # owners ascend
            writer.add(rows[order], owners[order], weights[order])
            writer.write(words)
            segment = SimpleNamespace(number=number, first_equation=first, rows=size)
            parts.append((place, segment))
            self.lists.append(lists)
            first += size
        self.count, self._parts = first, parts

    def finder(self) -> WordCandidates:
        """Return what finds candidates in it."""
        segments = [segment for _, segment in self._parts]
        texts = [
            SimpleNamespace(folder=place, segment=range(segment.rows))
            for place, segment in self._parts
        ]
        text = cast("TextIndex", SimpleNamespace(parts=texts))
        return WordCandidates(cast("IndexSegments", segments), text)

    def terms(self, weights: list[float]) -> list[Term]:
        """Return the words as terms of a query."""
        found = []
        for row, weight in enumerate(weights):
            parts = []
            for place, segment in self._parts:
                parts.append(
                    SegmentMatches(segment.first_equation, *Postings(place, "terms").of(row), row)
                )
            found.append(Term(str(row), weight, [parts]))
        return found

    def sums(self, weights: list[float]) -> Array:
        """Return the sum of the levels of every equation, by definition."""
        total = np.zeros(self.count)
        first = 0
        for (_, segment), lists in zip(self._parts, self.lists, strict=True):
            for (owners, impacts), weight in zip(lists, weights, strict=True):
                total[owners + first] += weight * to_levels(impacts, LARGEST)
            first += segment.rows
        return total


@pytest.mark.parametrize("on_disk", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_candidates_are_those_with_the_largest_sums(
    tmp_path: Path, *, on_disk: bool, seed: int
) -> None:
    """Whether windows are read from disk or found; in several segments, one of them small."""
    corpus = Corpus(tmp_path, [70_000, 10, 33_000], words=5, seed=seed)
    if on_disk:
        for place, segment in corpus._parts:
            write_windows(place, "terms", segment.rows, LARGEST)
    weights = [0.4, 0.3, 0.15, 0.1, 0.05]
    sums, finder = corpus.sums(weights), corpus.finder()
    for count in (1, 50, 2_000):
        found = finder.best(corpus.terms(weights), count)
        assert found.tolist() == sorted(set(found.tolist()))
        wanted = np.sort(sums[sums > 0])[::-1][:count]
        np.testing.assert_allclose(np.sort(sums[found])[::-1], wanted, rtol=1e-5)
    allowed = np.zeros(corpus.count, bool)
    allowed[::7] = True
    found = finder.best(corpus.terms(weights), 100, allowed)
    assert allowed[found].all()
    wanted = np.sort(np.where(allowed, sums, 0))[::-1][:100]
    np.testing.assert_allclose(np.sort(sums[found])[::-1], wanted[wanted > 0], rtol=1e-5)


def test_windows_without_better_rows_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rare word with a large impact ends the search early."""
    corpus = Corpus(tmp_path, [400_000], words=1, seed=3)
    _, segment = corpus._parts[0]
    owners = np.arange(segment.rows, dtype=np.int32)
    impacts = np.where(owners % 50_000 == 7, LARGEST, 0.01).astype(np.float32)
    term = Term("x", 1.0, [[SegmentMatches(0, owners, impacts)]])
    added: list[int] = []
    real = posting_loops.add_windows

    def count(*given: object) -> None:
        added.append(len(cast("Array", given[5])))
        real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(candidates, "add_windows", count)
    found = corpus.finder().best([term], 8)
    assert found.tolist() == [7 + 50_000 * at for at in range(8)]
    assert sum(added) <= candidates.FIRST_WINDOWS < windows.window_count(segment.rows) / 40


def test_levels_keep_the_order_and_are_never_zero() -> None:
    """So that a word with a small impact is still found."""
    weights = np.linspace(1e-6, LARGEST, 1000, dtype=np.float32)
    levels = to_levels(weights, LARGEST).astype(int)
    assert levels[0] == 1
    assert levels[-1] == MOST_LEVEL
    assert (np.diff(levels) >= 0).all()


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_types_are_those_with_the_largest_shares(data: st.DataObject) -> None:
    """In any order of features; renamings gain and are always there."""
    count = data.draw(st.integers(1, 40))
    sizes = np.array(data.draw(st.lists(st.integers(1, 30), min_size=count, max_size=count)), "f4")
    features = []
    for _ in range(data.draw(st.integers(0, 5))):
        owners = sorted(data.draw(st.sets(st.integers(0, count - 1))))
        counts = data.draw(st.lists(st.integers(1, 4), min_size=len(owners), max_size=len(owners)))
        wanted, weight = data.draw(st.integers(1, 3)), data.draw(st.floats(0.125, 5, width=32))
        features.append(
            WantedFeature(
                np.array(owners, "i4"), np.array(counts, "f4"), wanted, np.float32(weight)
            )
        )
    features.sort(key=lambda feature: -feature.weight)
    bonus = np.array(data.draw(st.lists(st.integers(0, count - 1), max_size=3)), np.int64)
    constant, slope = np.float32(0.9), np.float32(0.02)
    expected = np.zeros(count)
    for each in features:
        expected[each.owners] += float(each.weight) * np.minimum(each.counts, each.wanted)
    expected /= constant + slope * sizes
    np.add.at(expected, bonus, 1)
    most = data.draw(st.integers(1, 12))
    best = Best(most, None)
    best_types(features, sizes, (constant, slope), bonus, 100, best)
    found = dict(zip((best.rows - 100).tolist(), best.scores.tolist(), strict=True))
    wanted_scores = np.sort(expected[expected > 0])[::-1][:most]
    np.testing.assert_allclose(sorted(found.values(), reverse=True), wanted_scores, rtol=1e-4)
    for kind, score in found.items():
        assert score == pytest.approx(expected[kind], rel=1e-4)


@given(st.sets(st.integers(0, 60)), st.sets(st.integers(0, 20)), st.integers(0, 30))
def test_a_scope_finds_what_is_in_it(rows: set[int], owners: set[int], first: int) -> None:
    """Matches as places; rows that are not in it are left out."""
    scope = Scope(100, np.array(sorted(rows), np.int64))
    has = np.array(sorted(owners), np.int32)
    places, impacts = scope.find(SegmentMatches(first, has, has.astype(np.float32)))
    expected = [row for row in sorted(rows) if row - first in owners]
    assert scope.rows_at(places).tolist() == expected
    assert (impacts + first).tolist() == expected
    asked = np.array([0, 5, 60, 5], np.int64)
    at, there = scope.places_among(asked)
    assert scope.rows_at(at).tolist() == [row for row in asked.tolist() if row in rows]
    assert asked[there].tolist() == scope.rows_at(at).tolist()
    every = Scope(100)
    assert every.find(SegmentMatches(first, has, has))[0].tolist() == (has + first).tolist()
    assert every.places_of(asked).tolist() == asked.tolist()
