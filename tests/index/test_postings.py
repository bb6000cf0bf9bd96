"""Postings on disk: gathered in batches, sorted by row, the same as in memory."""

import mmap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqemb.index import postings
from eqemb.index.postings import (
    ArrayWriter,
    ForwardIndex,
    Keys,
    Postings,
    PostingsWriter,
    TextList,
    hash_texts,
    load_array,
    top_k,
)


@given(
    triples=st.lists(st.tuples(st.integers(0, 6), st.integers(1, 9)), max_size=60),
    batch=st.integers(1, 20),
)
def test_postings_are_sorted_by_row(
    tmp_path_factory: pytest.TempPathFactory, triples: list[tuple[int, int]], batch: int
) -> None:
    """For any order of arrival and any batch size."""
    folder = tmp_path_factory.mktemp("postings")
    rows = np.array([row for row, _ in triples], np.int64)
    weights = np.array([weight for _, weight in triples], np.float64)
    owners = np.arange(len(triples))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postings, "BATCH", batch)
        gatherer = PostingsWriter(folder, "x")
        gatherer.add(rows[: len(rows) // 2], owners[: len(rows) // 2], weights[: len(rows) // 2])
        gatherer.add(rows[len(rows) // 2 :], owners[len(rows) // 2 :], weights[len(rows) // 2 :])
        gatherer.write(7, owners=len(triples))
    pointers, order = np.load(folder / "x.pointers.npy"), np.argsort(rows, kind="stable")
    assert pointers.tolist() == [int((rows < row).sum()) for row in range(8)]
    assert np.load(folder / "x.owners.npy").tolist() == owners[order].tolist()
    assert np.load(folder / "x.weights.npy").tolist() == weights[order].tolist()
    assert not list(folder.glob("*.part"))
    opened, profiles = Postings(folder, "x"), ForwardIndex(folder, "x")
    for owner, (row, weight) in enumerate(triples):
        assert opened.weight(row, owner) == weight
        assert [part.tolist() for part in profiles.of(owner)] == [[row], [weight]]
    assert opened.weight(0, len(triples)) == 0


def test_arrays_grow(tmp_path: Path) -> None:
    """An array written in parts is read as one."""
    column = ArrayWriter(tmp_path / "numbers.npy", np.int32)
    for start in range(0, 3000, 1000):
        column.add(np.arange(start, start + 1000))
    column.close()
    assert np.array_equal(load_array(tmp_path, "numbers"), np.arange(3000))


def test_keys_find_the_rows_of_texts(tmp_path: Path) -> None:
    """Every text has its own row, and another text none."""
    texts = [f"word{number}" for number in range(500)]
    Keys.write(tmp_path, "texts", hash_texts(texts))
    keys = Keys(tmp_path, "texts")
    assert [keys.find(text) for text in texts] == list(range(500))
    assert keys.find("word500") is None
    assert keys.find_all(hash_texts(["word7", "word500", "word3"])).tolist() == [7, -1, 3]
    Keys.write(tmp_path, "nothing", hash_texts([]))
    nothing = Keys(tmp_path, "nothing")
    assert nothing.find("word1") is None
    assert nothing.find_all(hash_texts(["a", "b"])).tolist() == [-1, -1]
    assert nothing.rows(7).tolist() == []


UINT64 = st.sampled_from([0, 1, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1])


@given(pairs=st.lists(st.tuples(UINT64, st.integers(0, 9)), max_size=20), asked=st.lists(UINT64))
def test_keys_have_all_their_rows(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[int, int]], asked: list[int]
) -> None:
    """Several rows may have one key: they come in the order in which they were written."""
    folder = tmp_path_factory.mktemp("keys")
    numbers = np.array([number for number, _ in pairs], np.uint64)
    Keys.write(folder, "x", numbers, np.array([row for _, row in pairs], np.int64))
    keys = Keys(folder, "x")
    rows = {number: [row for other, row in pairs if other == number] for number in asked}
    assert {number: keys.rows(number).tolist() for number in asked} == rows
    firsts = [(rows[number] or [-1])[0] for number in asked]
    assert keys.find_all(np.array(asked, np.uint64)).tolist() == firsts


@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]))))
def test_texts_are_a_list(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    """Of any letters, empty or not, read one by one, in a slice, or all at once."""
    folder = tmp_path_factory.mktemp("texts")
    TextList.write(folder, "x", texts)
    found = TextList(folder, "x")
    assert len(found) == len(texts)
    assert list(found) == texts
    assert found[1:-1] == texts[1:-1]
    assert [found[at] for at in range(-len(texts), len(texts))] == texts * 2
    assert found.lines() == "".join(f"{text}\n" for text in texts)
    for outside in (len(texts), -len(texts) - 1):
        with pytest.raises(IndexError):
            found[outside]


def test_texts_that_cannot_be_mapped_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the path, nobody would know what the system refused."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(12, "Cannot allocate memory")

    TextList.write(tmp_path, "x", ["a", "b"])
    texts = TextList(tmp_path, "x")
    monkeypatch.setattr(mmap, "mmap", refuse)
    with pytest.raises(OSError, match=r"Cannot allocate memory.*x\.txt"):
        texts[0]


@given(
    scores=st.lists(st.sampled_from([0.0, -1.0, 0.25, 0.5, 1.0]), max_size=40),
    stretch=st.integers(1, 60),
    count=st.integers(1, 30),
)
def test_top_k_equals_a_full_sort(scores: list[float], stretch: int, count: int) -> None:
    """With ties across blocks; only positive scores are returned."""
    values = np.array(scores * stretch, np.float32)
    ranked = sorted((-value, place) for place, value in enumerate(values.tolist()) if value > 0)
    assert top_k(values, count).tolist() == [place for _, place in ranked[:count]]


def test_rows_of_several_keys(tmp_path: Path) -> None:
    """All rows of each key, none for an unknown one."""
    keys = np.array([7, 3, 7, 9], np.uint64)
    Keys.write(tmp_path, "k", keys)
    found = Keys(tmp_path, "k").rows_of_any(np.array([9, 4, 7], np.uint64))
    assert found == [3, 0, 2]
    assert not Keys(tmp_path, "k").rows_of_any(np.empty(0, np.uint64))
