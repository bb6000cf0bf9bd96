"""Vectors of the base model in an index, and what search does with them."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from eqemb.facade.library import Library
from eqemb.facade.update import add_papers
from eqemb.formula import layout
from eqemb.formula.layout import read_canonical
from eqemb.index.base_vectors import BaseVectors
from eqemb.models.base_model import BaseModel
from eqemb.search.combination import (
    BASE_HALF,
    EQUATION_PARTS,
    WORD_PARTS,
    equation_weights,
    word_weights,
)
from synthetic import papers

TEXTS = {
    "one": r"The uncertainty is the mean of surprise \[ H(X) = -\sum_x p(x) \log p(x) \] of words",
    "two": r"The motion of the state follows \[ \dot{x} = A x + B u \] for all times \[ x = 0 \]",
    "three": r"The area is \[ A = \pi r^2 \] and this equation has nothing \[ \]",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A library without a model of its own."""
    folder = tmp_path_factory.mktemp("base")
    papers(folder / "papers", **TEXTS)
    with Library.read([folder / "papers"], folder / "lib", jobs=1, index=True) as made:
        yield made


def test_every_type_has_its_vector(library: Library) -> None:
    """In the order of the types; as the model computes it for the equation alone."""
    (segment,) = library.engine.segments
    (records,) = library.records.parts
    stored = np.load(segment.folder / "base.types.npy").reshape(len(segment.type_keys), -1)
    for row, (_, canonical, _) in zip(stored, records.types(), strict=True):
        assert row.tobytes() == BaseModel().equation_vector(read_canonical(canonical)).tobytes()


def test_segments_do_not_change_vectors(library: Library, tmp_path: Path) -> None:
    """An equation has the same scores in a library that was built in two steps."""
    papers(tmp_path / "papers" / "a", one=TEXTS["one"])
    papers(tmp_path / "papers" / "b", two=TEXTS["two"], three=TEXTS["three"])
    first, second = tmp_path / "papers" / "a", tmp_path / "papers" / "b"
    with Library.read([first], tmp_path / "lib", root=tmp_path / "papers", jobs=1, index=True):
        pass
    add_papers(tmp_path / "lib", [second], jobs=1)
    asked = layout(r"H = -\sum p \log p")
    with Library.open(tmp_path / "lib") as grown:
        assert len(grown.engine.segments) == 2
        found = [
            dict(
                zip(
                    each.records.equation_names(),
                    BaseVectors(each.engine.segments)
                    .like_equation(asked)
                    .take(each.engine.types)
                    .tolist(),
                    strict=True,
                )
            )
            for each in (library, grown)
        ]
    by_end = [{name.rpartition("/")[2]: score for name, score in one.items()} for one in found]
    assert by_end[0] == by_end[1]


def test_ranking_by_meaning_needs_no_own_model(library: Library) -> None:
    """The base model answers words that do not stand in the paper."""
    first = library.search("entropy information", by="meaning").hits[0]
    assert "one" in first.equation.id
    assert set(first.parts) == {"base"}
    similar = library.similar(r"\dot{y} = F y + G w", by="meaning").hits[0]
    assert "two" in similar.equation.id


def test_the_base_model_adds_to_words(library: Library) -> None:
    """Its part is shown beside the others."""
    hit = library.search("uncertainty surprise").hits[0]
    assert "one" in hit.equation.id
    assert hit.parts["base"] > 0
    assert hit.score == pytest.approx(sum(hit.parts.values()))


def test_words_that_no_paper_has_find_nothing(library: Library) -> None:
    """Whatever the base model knows of them."""
    assert not library.search("entropy").hits


def test_only_equations_with_the_words_are_found(library: Library) -> None:
    """The base model ranks them, and adds no others."""
    found = library.search("surprise entropy").hits
    assert ["one" in hit.equation.id for hit in found] == [True]


def test_words_that_the_model_does_not_know_have_no_base_part(library: Library) -> None:
    """The vector would be zeros."""
    assert library.engine.base.like_words(["qqzzxy"]) is None


def test_the_base_model_counts_less_in_a_large_library() -> None:
    """Half at `BASE_HALF` equations; the other weights stay."""
    assert word_weights(0) == WORD_PARTS
    assert word_weights(BASE_HALF) == WORD_PARTS | {"base": WORD_PARTS["base"] / 2}
    assert equation_weights(0) == EQUATION_PARTS
    assert equation_weights(BASE_HALF) == EQUATION_PARTS | {"base": EQUATION_PARTS["base"] / 2}
