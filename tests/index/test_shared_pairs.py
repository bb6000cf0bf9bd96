"""What equation types share: the Dice coefficients of units and of shapes, all at once."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqemb.formula import layout
from eqemb.formula.likeness import outline
from eqemb.formula.shapes import shapes
from eqemb.index.alignment import AlignmentIndex, AlignmentWriter
from eqemb.index.segments import IndexSegments
from eqemb.index.shared_pairs import shared_pairs

#: Formulas without fences: the elements of a fence are joined in another way by units.
FORMULAS = st.recursive(
    st.sampled_from([*"abxyz", "1", "2", r"\alpha", r"\mathbf{x}", "+", "="]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(" ".join),
        st.tuples(inner, inner).map(lambda two: rf"\frac{{{two[0]}}}{{{two[1]}}}"),
        st.tuples(inner, inner).map(lambda two: rf"{{{two[0]}}}_{{{two[1]}}}"),
        inner.map(lambda one: rf"\sqrt{{{one}}}"),
    ),
    max_leaves=12,
)


def opened(folder: Path, *segments: Iterable[str]) -> AlignmentIndex:
    """Write the outlines of formulas, one segment after the other, and open them."""
    parts, first = [], 0
    for number, formulas in enumerate(segments):
        place = folder / str(number)
        place.mkdir(exist_ok=True)
        writer = AlignmentWriter(place)
        found = [outline(layout(latex)) for latex in formulas]
        for one in found:
            writer.add(one)
        writer.close()
        keys = np.arange(len(found), dtype=np.uint64)
        parts.append(SimpleNamespace(folder=place, number=number, first_type=first, type_keys=keys))
        first += len(found)

    class _Segments(list):  # type: ignore[type-arg]
        def of_type(self, kind: int) -> tuple[SimpleNamespace, int]:
            part = [part for part in parts if part.first_type <= kind][-1]
            return part, kind - part.first_type

        _parts = parts
        of_each = IndexSegments.of_each

    return AlignmentIndex(cast(IndexSegments, _Segments(parts)))


def dice(one: Counter[Any], two: Counter[Any]) -> float:
    """The share of two bags that both have."""
    total = one.total() + two.total()
    return 2 * (one & two).total() / total if total else 0.0


@given(st.lists(FORMULAS, min_size=1, max_size=5))
def test_it_is_the_mean_of_two_dice_coefficients(
    tmp_path_factory: pytest.TempPathFactory, formulas: list[str]
) -> None:
    """Of pairs with the names of letters, and of shapes without them."""
    made = [layout(latex) for latex in formulas]
    units = [Counter(one.units() if len(one.nodes()) > 1 else ()) for one in made]
    forms = [shapes(one) for one in made]
    found = shared_pairs(opened(tmp_path_factory.mktemp("types"), formulas), range(len(formulas)))
    for one in range(len(formulas)):
        for two in range(len(formulas)):
            wanted = (dice(units[one], units[two]) + dice(forms[one], forms[two])) / 2
            assert found[one, two] == pytest.approx(wanted)


def test_segments_do_not_matter(tmp_path: Path) -> None:
    """Symbols that segments number differently are the same symbols."""
    formulas = [r"x = \frac{a}{b}", r"\sum_{i=1}^{n} x_i", r"y = \frac{a}{c}", r"x_i + b"]
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    whole = shared_pairs(opened(tmp_path / "one", formulas), range(4))
    parts = shared_pairs(opened(tmp_path / "two", formulas[:1], formulas[1:]), range(4))
    assert np.array_equal(whole, parts)
    assert whole[0, 2] > whole[0, 1] > 0


def test_no_types_share_nothing(tmp_path: Path) -> None:
    """An empty matrix."""
    assert shared_pairs(opened(tmp_path, ["x = y"]), []).shape == (0, 0)
