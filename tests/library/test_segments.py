"""Segments are written once, continue after an interruption, and are merged by fixed rules."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqemb.errors import EqembError
from eqemb.library import segments
from eqemb.library.database import Records
from eqemb.library.manifest import Manifest, Segment
from eqemb.library.merge_rules import bounded_parts, segments_to_compact, segments_to_merge
from eqemb.library.rows import Record, from_article
from eqemb.library.segments import (
    LARGE_SEGMENT_DOCUMENTS,
    MERGED,
    MERGED_AT_ONCE,
    SEGMENT_DOCUMENTS,
    Indexer,
    SegmentWriter,
    open_segments,
    update_near_pairs,
)
from synthetic import article, equation

counts = st.lists(st.integers(1, SEGMENT_DOCUMENTS), max_size=30)


def record(name: str) -> Record:
    """Return the record of an article with one equation."""
    return from_article(article(name, equation(name=name)), words=3, sketch=b"")


def generation(tmp_path: Path, number: int = 1) -> Path:
    """Make the folder of a generation."""
    place = tmp_path / "generations" / str(number)
    place.mkdir(parents=True, exist_ok=True)
    return place


def write(place: Path, names: str, limit: int, patch: pytest.MonkeyPatch) -> list[Segment]:
    """Write records with these names into segments."""
    patch.setattr(segments, "SEGMENT_DOCUMENTS", limit)
    writer = SegmentWriter(place, None)
    for name in names:
        writer.add(record(name))
    writer.finish()
    return writer.segments


def names_of(home: Path, parts: list[Segment]) -> list[str]:
    """Return the names of all articles of segments."""
    records = open_segments(home, tuple(parts))
    try:
        return records.names()
    finally:
        records.close()


# -- writing


def test_documents_fill_segments_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has as many as allowed, the last one the rest."""
    found = write(generation(tmp_path), "abcdefg", 3, monkeypatch)
    assert [part.documents for part in found] == [3, 3, 1]
    assert names_of(tmp_path, found) == list("abcdefg")


def test_name_follows_from_the_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same documents in the same order are the same segment, others are not."""
    first, second, third = (
        write(generation(tmp_path, number), names, 9, monkeypatch)
        for number, names in enumerate(("abc", "abc", "acb"), 1)
    )
    assert first == second
    assert first[0].name != third[0].name
    assert len(list((tmp_path / "segments").iterdir())) == 2


def test_name_depends_on_the_version_of_the_index(tmp_path: Path) -> None:
    """A segment with an index of another version, or with none, is not taken for it."""

    def build(_records: Records, folder: Path) -> None:
        folder.mkdir()

    names = set()
    for number, indexer in enumerate((None, Indexer("1", build), Indexer("2", build)), 1):
        writer = SegmentWriter(generation(tmp_path, number), indexer)
        writer.add(record("a"))
        writer.finish()
        names.add(writer.segments[0].name)
    assert len(names) == 3


@pytest.mark.parametrize("written", range(8))
def test_writing_continues_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    """Whatever was committed is not written again, and the segments are the same."""
    wanted = write(generation(tmp_path / "whole"), "abcdefg", 3, monkeypatch)
    place = generation(tmp_path / "parts")
    writer = SegmentWriter(place, None)
    for name in "abcdefg"[:written]:
        writer.add(record(name))
    writer.commit()
    writer.close()
    again = SegmentWriter(place, None)
    before = again.written()
    assert [origin for number in sorted(before) for origin in before[number]] == [
        f"{name}.tex" for name in "abcdefg"[:written]
    ]
    assert again.counts() == (written, written, 0)
    for name in "abcdefg"[written:]:
        again.add(record(name))
    again.finish()
    assert again.segments == wanted
    assert not (place / "read").exists()


def test_segment_moved_but_not_listed_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a kill between the two; the second one is the same folder."""
    place = generation(tmp_path)
    wanted = write(place, "ab", 9, monkeypatch)
    (place / "read.json").unlink()
    assert write(place, "ab", 9, monkeypatch) == wanted
    assert [path.name for path in (tmp_path / "segments").iterdir()] == [wanted[0].name]


def test_nothing_written_is_no_segment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And leaves no folder behind."""
    place = generation(tmp_path)
    assert write(place, "", 9, monkeypatch) == []
    assert list(place.iterdir()) == []


# -- reading


def test_removed_documents_are_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From names, equations and digests; other ids stay."""
    (part,) = write(generation(tmp_path), "abcd", 9, monkeypatch)
    records = open_segments(tmp_path, (Segment(part.name, 4, (1, 2)), part))
    try:
        assert records.names() == ["a", "d", "a", "b", "c", "d"]
        assert [key for key, _, _ in records.article_ids()] == [0, 3, 4, 5, 6, 7]
        assert records.equation_names() == ["a#1", "d#1", "a#1", "b#1", "c#1", "d#1"]
        assert records.key("b") == 5
        assert records.equation(3, 1)[0].article == "d"
        assert len(list(records.digests())) == 6
    finally:
        records.close()


def test_digest_does_not_depend_on_segments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor on documents that were removed."""
    digests = set()
    for number, (names, limit, removed) in enumerate(
        (("abcd", 9, ()), ("abcd", 1, ()), ("abcd", 3, ()), ("axbcd", 9, (1,))), 1
    ):
        parts = write(generation(tmp_path, number), names, limit, monkeypatch)
        first = Segment(parts[0].name, parts[0].documents, removed)
        records = open_segments(tmp_path, (first, *parts[1:]))
        digests.add(records.sha256())
        records.close()
    assert len(digests) == 1


def test_manifest_is_read_back(tmp_path: Path) -> None:
    """With removed documents, root, vectors and near-duplicates."""
    made = Manifest(
        (Segment("aa", 3), Segment("bb", 5, (0, 4))), "/papers", "cc-1", (("x", "y"), ("y", "z"))
    )
    made.save(generation(tmp_path))
    assert Manifest.load(generation(tmp_path)) == made


@pytest.mark.parametrize("damage", ["", "[]", '{"segments": [{}]}', '{"segments": 3, "root": ""}'])
def test_damaged_manifest_is_one_sentence(tmp_path: Path, damage: str) -> None:
    """It names the library and what to do."""
    (generation(tmp_path) / "manifest.json").write_text(damage)
    with pytest.raises(EqembError, match=r"has no readable manifest .*: rebuild the library"):
        Manifest.load(generation(tmp_path))


def test_segments_without_documents_are_left_out() -> None:
    """All their documents were removed."""
    made = Manifest((), "/").with_segments((Segment("a", 2, (0, 1)), Segment("b", 2, (1,))))
    assert [part.name for part in made.segments] == ["b"]


# -- near-duplicates


def test_near_pairs_follow_additions_and_removals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copies in several segments are paired; pairs of a removed document disappear."""
    sketch = b"".join((4 * n).to_bytes(8, "little") for n in range(40))

    def copy(name: str) -> Record:
        return from_article(article(name), words=400, sketch=sketch)

    monkeypatch.setattr(segments, "SEGMENT_DOCUMENTS", 2)
    writer = SegmentWriter(generation(tmp_path), None)
    for name in "abc":
        writer.add(copy(name))
    writer.finish()
    parts = tuple(writer.segments)
    first = update_near_pairs(tmp_path, (), parts[:1], 0, {})
    assert first == (("a", "b"),)
    both = update_near_pairs(tmp_path, first, parts, 1, {})
    assert set(both) == {("a", "b"), ("a", "c"), ("b", "c")}
    assert set(both) == set(update_near_pairs(tmp_path, (), parts, 0, {}))
    left = (Segment(parts[0].name, 2, (0,)), parts[1])
    assert update_near_pairs(tmp_path, both, left, 2, {0: [0]}) == (("b", "c"),)


def test_a_replaced_document_loses_its_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name stays, its text does not."""
    copied, other = (
        b"".join((4 * (n + first)).to_bytes(8, "little") for n in range(40)) for first in (0, 99)
    )
    monkeypatch.setattr(segments, "SEGMENT_DOCUMENTS", 2)
    writer = SegmentWriter(generation(tmp_path), None)
    for name, sketch in (("a", copied), ("b", copied), ("b", other)):
        writer.add(from_article(article(name), words=400, sketch=sketch))
    writer.finish()
    old, new = writer.segments
    near = update_near_pairs(tmp_path, (), (old,), 0, {})
    assert near == (("a", "b"),)
    replaced = (Segment(old.name, 2, (1,)), new)
    assert update_near_pairs(tmp_path, near, replaced, 1, {0: [1]}) == ()


# -- merging


def test_a_merged_segment_may_be_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is read ends earlier, so that memory for its index is bounded."""
    monkeypatch.setattr(segments, "LARGE_SEGMENT_DOCUMENTS", 4)
    parts = write(generation(tmp_path), "abcdef", 2, monkeypatch)
    assert [part.documents for part in parts] == [2, 2, 2]
    writer = SegmentWriter(generation(tmp_path), None, MERGED)
    for name in "abcdef":
        writer.add(record(name))
    writer.finish()
    assert [part.documents for part in writer.segments] == [4, 2]


@given(counts)
def test_additions_leave_few_small_segments(sizes: list[int]) -> None:
    """Whatever is added, there are at most seven of each size class, and none is too large."""
    parts: tuple[Segment, ...] = ()
    for size in sizes:
        parts = (*parts, Segment("x", size))
        while (places := segments_to_merge(parts)) is not None:
            total = sum(part.live for part in parts[places.start : places.stop])
            parts = (*parts[: places.start], Segment("x", total), *parts[places.stop :])
    assert sum(part.live for part in parts) == sum(sizes)
    assert all(part.live <= LARGE_SEGMENT_DOCUMENTS for part in parts)
    smallest = [part for part in parts[-MERGED_AT_ONCE:] if part.live < MERGED_AT_ONCE]
    assert len(smallest) < MERGED_AT_ONCE


def test_daily_additions_copy_a_document_few_times() -> None:
    """Ten papers every day for a year: about log8 copies of each, and few segments."""
    parts: tuple[Segment, ...] = ()
    copied = most = 0
    for _ in range(365):
        parts = (*parts, Segment("x", 10))
        while (places := segments_to_merge(parts)) is not None:
            total = sum(part.live for part in parts[places.start :])
            copied += total
            parts = (*parts[: places.start], Segment("x", total))
        most = max(most, len(parts))
    assert copied <= 2 * 3650
    assert most <= 20


@given(st.integers(1, SEGMENT_DOCUMENTS - 1), st.integers(1, 200))
def test_equal_additions_leave_few_segments(size: int, times: int) -> None:
    """Of any size: full ones, and at most seven of each of six classes."""
    parts: tuple[Segment, ...] = ()
    for _ in range(times):
        parts = (*parts, Segment("x", size))
        while (places := segments_to_merge(parts)) is not None:
            total = sum(part.live for part in parts[places.start : places.stop])
            parts = (*parts[: places.start], Segment("x", total), *parts[places.stop :])
    assert len(parts) <= 2 * size * times / LARGE_SEGMENT_DOCUMENTS + 42


def test_full_segments_are_merged_into_large_ones() -> None:
    """300,000 papers in additions of 1,000: each is copied twice, and few segments are left."""
    parts: tuple[Segment, ...] = ()
    copied = 0
    for _ in range(300):
        parts = (*parts, Segment("x", SEGMENT_DOCUMENTS))
        while (places := segments_to_merge(parts)) is not None:
            total = sum(part.live for part in parts[places.start : places.stop])
            copied += total
            parts = (*parts[: places.start], Segment("x", total), *parts[places.stop :])
    assert copied <= 2 * 300 * SEGMENT_DOCUMENTS
    assert len(parts) <= 22
    whole = tuple(Segment("x", SEGMENT_DOCUMENTS) for _ in range(300))
    assert len(list(segments_to_compact(whole))) == 10


def test_pieces_of_bounded_size_have_every_live_document_once() -> None:
    """Segments that have to be indexed again are cut, in order."""
    parts = (Segment("a", 700, (3,)), Segment("b", 2500, (0, 1)), Segment("c", 2, (0, 1)))
    groups = list(bounded_parts(parts))
    sizes = [sum(part.live for part in group) for group in groups]
    assert sizes == [SEGMENT_DOCUMENTS] * 3 + [197]
    found = [
        (part.name, number)
        for group in groups
        for part in group
        for number in range(part.documents)
        if number not in set(part.removed)
    ]
    wanted = [
        (part.name, number)
        for part in parts
        for number in range(part.documents)
        if number not in part.removed
    ]
    assert found == wanted


@given(counts, st.data())
def test_compaction_packs_neighbours(sizes: list[int], data: st.DataObject) -> None:
    """Ranges do not overlap, fit into a segment, and leave nothing to compact."""
    parts = tuple(
        Segment("x", size, tuple(sorted(data.draw(st.sets(st.integers(0, size - 1), max_size=3)))))
        for size in sizes
    )
    parts = Manifest((), "/").with_segments(parts).segments
    ranges = list(segments_to_compact(parts))
    flat = [place for places in ranges for place in places]
    assert flat == sorted(set(flat))
    merged: list[Segment] = []
    at = 0
    for places in ranges:
        merged += parts[at : places.start]
        total = sum(part.live for part in parts[places.start : places.stop])
        assert total <= LARGE_SEGMENT_DOCUMENTS
        merged.append(Segment("x", total))
        at = places.stop
    merged += parts[at:]
    assert not any(part.removed for part in merged)
    assert not list(segments_to_compact(tuple(merged)))
