"""Arrays that are read page by page: which pages are asked for, and that values stay the same."""

import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqemb.index.postings import Keys, load_array
from eqemb.storage import mapped
from eqemb.storage.mapped import ScatteredFolder, read_scattered, will_read, will_read_all

PAGE, ROW = mmap.PAGESIZE, 400
needs_advice = pytest.mark.skipif(
    not hasattr(mmap, "MADV_RANDOM"), reason="the system takes no advice"
)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a mapped array whose rows are a little smaller than a page has room for."""
    monkeypatch.setattr(mapped, "_LEAST_BYTES", 0)
    values = np.arange(1000 * ROW // 4, dtype=np.float32).reshape(1000, -1)
    np.save(tmp_path / "table.npy", values)
    return load_array(ScatteredFolder(tmp_path), "table")


@pytest.fixture
def asked(table: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Return what will be asked for: where each range begins in the file, and its size."""
    begin = mapped._scattered[mapped._mapping(table)]  # type: ignore[index]
    found: list[tuple[int, int]] = []

    def note(ranges: Any) -> bool:
        found.extend((int(at) - begin, int(size)) for at, size in ranges)
        return True

    monkeypatch.setattr(mapped, "_advised", note)
    return found


@needs_advice
def test_rows_are_asked_for_with_no_pages_around(table: Any, asked: list[tuple[int, int]]) -> None:
    """Each page once, in order, and with those in between where there are few."""
    offset = table.__array_interface__["data"][0] - mapped._scattered[mapped._mapping(table)]  # type: ignore[index]
    rows = np.array([900, 3, 4, 500])
    will_read(table, rows)
    pages = {
        page
        for row in rows.tolist()
        for page in range((offset + row * ROW) // PAGE, (offset + row * ROW + ROW - 1) // PAGE + 1)
    }
    covered = {page for at, size in asked for page in range(at // PAGE, (at + size) // PAGE)}
    assert covered == pages
    assert asked == sorted(asked)
    assert len(asked) == 3


@needs_advice
def test_long_ranges_are_cut(table: Any, asked: list[tuple[int, int]]) -> None:
    """The system would read the beginning alone."""
    for is_whole in (True, False):
        asked.clear()
        if is_whole:
            will_read_all(table)
        else:
            will_read(table, np.array([0]), np.array([len(table)]))
        assert len(asked) > 3
        assert max(size for _, size in asked) == 128 << 10
        assert sum(size for _, size in asked) == -(-(128 + table.nbytes) // PAGE) * PAGE


@needs_advice
def test_empty_ranges_and_other_arrays_are_left_alone(
    table: Any, asked: list[tuple[int, int]], tmp_path: Path
) -> None:
    """Arrays in memory, and those that are not read page by page."""
    plain = load_array(tmp_path, "table")
    will_read(table, np.array([5, 700]), np.array([5, 700]))
    will_read(table, np.empty(0, np.int64))
    will_read_all(plain, np.zeros(5), table[:0])
    read_scattered(np.zeros(9))
    assert not asked


@pytest.mark.parametrize("many", [True, False])
def test_values_are_the_same(table: Any, monkeypatch: pytest.MonkeyPatch, *, many: bool) -> None:
    """Whether many ranges are asked for at once, or one by one where the system refuses that."""
    if not many:
        monkeypatch.setattr(mapped, "_advised", lambda _: False)
    rows = np.array([999, 0, 17])
    will_read(table, rows)
    will_read_all(table, table[5:9], table[:, 1])
    assert table[rows, 0].tolist() == [row * ROW // 4 for row in rows.tolist()]


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=80),
    st.lists(st.integers(0, 41), min_size=1, max_size=9),
)
@settings(max_examples=40, deadline=None)
def test_keys_are_found_by_blocks(tmp_path_factory: Any, keys: list[int], asked: list[int]) -> None:
    """Rows are those of a plain search; equal keys may fill several blocks."""
    folder = tmp_path_factory.mktemp("keys")
    Keys.write(folder, "some", np.array(keys, np.uint64))
    plain = Keys(folder, "some")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("eqemb.index.postings.BLOCK_KEYS", 4)
        patch.setattr("eqemb.index.postings._LEAST_BLOCKS", 0)
        patch.setattr("eqemb.index.postings._FEW_KEYS", 4)
        blocks = Keys(ScatteredFolder(folder), "some")
        wanted = np.array(asked, np.uint64)
        blocks.will_find(wanted)
        assert blocks._tops is not None
        assert plain._tops is None
        assert blocks.find_all(wanted).tolist() == plain.find_all(wanted).tolist()
        assert blocks.rows_of_any(wanted) == plain.rows_of_any(wanted)
        for number in asked:
            assert blocks.find_key(number) == plain.find_key(number)
            assert blocks.rows(number).tolist() == plain.rows(number).tolist()
        assert blocks.by_row().tolist() == plain.by_row().tolist()
