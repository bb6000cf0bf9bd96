"""The paper's rankings: pairs of matrices, distances, and equations added after training."""

from collections.abc import Iterator

import numpy as np
import pytest

from axes import make_library
from eqemb.errors import UsageError
from eqemb.facade.library import Library
from eqemb.formula import layout
from eqemb.search.results import Answer


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A library with a model made by hand, which lacks one equation."""
    with make_library(tmp_path_factory.mktemp("paper")) as made:
        yield made


def ids(answer: Answer) -> list[str]:
    """Return the names of the hits, in order."""
    return [hit.equation.id for hit in answer]


def test_words_are_compared_with_rho_of_equations(library: Library) -> None:
    """The score is the cosine of the words' mean alpha with it."""
    answer = library.search("cosine angle", by="paper")
    assert ids(answer)[0] in ("angles#1", "documents#1")
    assert library.model is not None
    words = library.model.view("words")[["cosine", "angle"]].mean(axis=0)
    rho = library.model.view("equations", "rho")
    own = rho.get_vector(layout(answer[0].equation.expanded).canonical(), norm=True)
    assert answer[0].score == pytest.approx(float(own @ words / np.linalg.norm(words)))


def test_equations_are_compared_by_the_distance_of_alpha(library: Library) -> None:
    """One with no distance has score 1; the score falls with the distance."""
    answer = library.similar(r"F = \frac{2PR}{P+R}", by="paper")
    assert ids(answer)[0] in ("harmonic#1", "again#1")
    assert answer[0].score == pytest.approx(1.0)
    assert library.model is not None
    alpha = library.model.view("equations")
    one, two = (alpha[layout(hit.equation.expanded).canonical()] for hit in answer.hits[:2])
    assert answer[1].score == pytest.approx(1 / (1 + float(np.linalg.norm(one - two))))


def test_equations_without_vector_are_counted(library: Library) -> None:
    """They are not ranked; notes give their number, and words without a vector."""
    answer = library.search("harmonic zebra", by="paper")
    assert "again#2" not in ids(answer)
    assert answer.notes == [
        "the model has no vector for zebra",
        "equations not ranked, for lack of a vector in the model: 1",
    ]


def test_an_unseen_equation_is_folded_in_by_its_units(library: Library) -> None:
    """It gets the mean of their vectors."""
    assert ids(library.similar(r"F = \frac{2 P R R}{P + R}", by="paper"))[0] in (
        *("harmonic#1", "again#1"),
    )
    paper, known = library.engine.paper, library.engine.read_equation("angles#1").layout
    kind = int(library.engine.types[library.engine.same_equations(known)[0]])
    units = ["\t".join(unit) for unit in known.units()]
    np.testing.assert_allclose(paper.alpha(None, units), paper.alpha(kind, units), atol=1e-6)


def test_the_paper_ranking_needs_a_model(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """The error says how to get one."""
    with (
        make_library(tmp_path_factory.mktemp("bare"), model=False) as bare,
        pytest.raises(UsageError, match="eqemb build"),
    ):
        bare.search("cosine", by="paper")
