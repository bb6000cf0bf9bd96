"""Vectors of the index, against fold-in and the formula."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from eqemb.facade.library import Library
from eqemb.index.build import build_vectors
from eqemb.index.stemming import stem
from eqemb.index.text_index import TextIndex
from eqemb.index.vector_index import normalise
from eqemb.index.vectors import VECTOR_REACH, VectorSpace
from eqemb.models import EqEmbH, EqEmbU, fold_in, workspace
from eqemb.models.base import Model
from eqemb.models.embeddings import Embeddings
from synthetic import papers

SMALL: dict[str, Any] = {"dim": 8, "batch": 1024, "iterations": 3, "negatives": 5}
ANGLE = "The cosine of the angle of two vectors measures how similar they are"
MEAN = "The harmonic mean of precision and recall measures how good retrieval is"
UNSEEN = ["V!q\tV!q\tn", "V!zebra\tN!7\ta", "never\tmet\tn"]

Made = tuple[Library, Embeddings, VectorSpace]


@pytest.fixture(scope="module", params=[EqEmbU, EqEmbH], ids=["eqemb-u", "eqemb-h"])
def made(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Made]:
    """Return a library, a model of it, and the vectors of its index."""
    folder = tmp_path_factory.mktemp("meaning")
    papers(
        folder / "papers",
        one=rf"{ANGLE} \[ \cos(x, y) = \frac{{x \cdot y}}{{\|x\| \|y\|}} \] {MEAN} \[ F = a_1 \]",
        two=rf"{MEAN} \[ F = \frac{{2 P R}}{{P + R}} \] {ANGLE} \[ \] {ANGLE}",
        # the kinds of its units are those of others, so that kinds learn something else than units
        three=rf"{ANGLE} \[ G = \frac{{3 A B}}{{A + C}} + \cos(s, t) \] {MEAN}",
    )
    with Library.read([folder / "papers"], folder / "lib", jobs=1, index=True) as library:
        corpus = workspace.corpus(library)
        model: Model = request.param(**SMALL)
        found = model.fit(corpus, seed=0).embeddings_
        build_vectors(folder / "vectors", found, library.engine.segments)
        yield library, found, VectorSpace(library.engine.segments, folder / "vectors")


def units_of(library: Library) -> list[list[str]]:
    """Return the units of every type, in order."""
    (records,) = library.records.parts
    names = list(records.unit_names())
    blobs = (blob for *_, blob in records.types())
    return [[names[unit] for unit in np.frombuffer(blob, np.int32)] for blob in blobs]


def test_types_have_the_vectors_of_fold_in(made: Made) -> None:
    """In bulk, and for single equations."""
    library, model, space = made
    types = units_of(library)
    expected = normalise(fold_in.bare(model, types).alpha)
    assert space.types is not None
    assert np.abs(expected).sum() > 1
    assert np.concatenate(space.types.parts) == pytest.approx(expected, abs=1e-5)
    for units, vector in zip(types, expected, strict=True):
        assert space.units_vector(units) == pytest.approx(vector, abs=1e-5)


def test_unseen_units_back_off_as_in_fold_in(made: Made) -> None:
    """To their kind, or to zeros."""
    _, model, space = made
    for units in (UNSEEN[:1], UNSEEN[:2], UNSEEN[2:]):
        expected = normalise(fold_in.bare(model, [units]).alpha)[0]
        assert space.units_vector(units) == pytest.approx(expected, abs=1e-5)


def test_contexts_follow_the_formula(made: Made) -> None:
    """The directions of words, weighted by idf / sqrt(distance)."""
    library, model, space = made
    text = TextIndex(library.engine.segments)
    (words,) = text.parts
    rows, rho = model.view("words").key_to_index, normalise(model.arrays["rho_words"])
    for equation, (low, place, high) in enumerate(words.places.tolist()):
        total = np.zeros(SMALL["dim"])
        for at in range(low, high):
            word = words.words[words.tokens[at]]
            away = place - at if at < place else at - place + 1
            if away <= VECTOR_REACH and word in rows:
                total += text.idf(stem(word)) / away**0.5 * rho[rows[word]]
        (found,) = space.contexts.rows([equation])
        assert found == pytest.approx(normalise(total), abs=1e-5)
    assert len(words.places) == len(library.records.equation_names()) == 4
