"""Counts of a whole library for a process that has a part of it."""

from pathlib import Path

import numpy as np
import pytest

from eqemb.facade.library import Library
from eqemb.facade.parts import LocalParts
from eqemb.facade.update import remove_articles
from eqemb.formula.shapes import key
from eqemb.index.statistics import library_statistics
from parts_library import make_segmented


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library in several segments, of which an article was removed."""
    made = make_segmented(tmp_path_factory.mktemp("statistics"))
    with Library.open(made) as library:
        name = library.records.names()[3]
    remove_articles(made, [name])
    return made


def test_a_part_counts_as_the_library_does(folder: Path) -> None:
    """Stems and equations, removed ones left out."""
    with Library.open(folder) as library:
        parts = LocalParts(library, 2)
        whole = library.engine
        for part in parts.parts:
            own = part.part_engine
            assert own.segments.live_count == whole.segments.live_count
            for word in ("similar", "cosin", "loss", "zzzz"):
                assert own.text.count(word) == whole.text.count(word)
                assert own.text.idf(word) == whole.text.idf(word)
        parts.close()


def test_unknown_keys_have_no_equations(folder: Path) -> None:
    """Also those beyond all known ones."""
    with Library.open(folder) as library:
        statistics = library_statistics(library.engine.segments)
    keys = np.array([0, key("cosin"), 2**64 - 1], np.uint64)
    assert statistics.sizes("stems", keys)[1] > 0
    assert statistics.sizes("stems", keys)[[0, 2]].tolist() == [0, 0]
    assert set(statistics.tables) == {"stems", "units", "shapes", "normal"}
