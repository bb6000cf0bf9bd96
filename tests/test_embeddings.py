"""Keyed vectors in the manner of gensim, and the folder of a model."""

from pathlib import Path

import numpy as np
import pytest

from eqemb.embeddings import Embeddings, KeyedVectors
from eqemb.errors import EqembError, UsageError

ROWS = np.array([[1, 0], [2, 0], [0, 3], [-1, 0]], np.float32)
VECTORS = KeyedVectors(["east", "far", "north", "west"], ROWS, "alpha")


def test_keys_and_rows() -> None:
    """Both directions, length and membership."""
    assert VECTORS.key_to_index["north"] == 2
    assert VECTORS.index_to_key[2] == "north"
    assert VECTORS["north"].tolist() == [0, 3]
    assert (len(VECTORS), VECTORS.vector_size) == (4, 2)
    assert "north" in VECTORS
    assert "south" not in VECTORS
    assert "alpha" in repr(VECTORS)


def test_similarity_is_the_cosine() -> None:
    """Length does not matter."""
    assert VECTORS.similarity("east", "far") == pytest.approx(1)
    assert VECTORS.similarity("east", "north") == pytest.approx(0)
    assert VECTORS.similarity("east", "west") == pytest.approx(-1)


def test_most_similar_leaves_out_what_was_asked() -> None:
    """By cosine, largest first; positive and negative keys together."""
    assert [key for key, _ in VECTORS.most_similar("east")] == ["far", "north", "west"]
    assert VECTORS.most_similar(["north"], ["east"], topn=1)[0][0] == "west"
    assert VECTORS.most_similar(["east", "far"], topn=1)[0][0] == "north"


def test_unknown_and_missing_keys_are_named() -> None:
    """An error says which key, or that one is needed."""
    with pytest.raises(UsageError, match="'south'"):
        VECTORS.similarity("east", "south")
    with pytest.raises(UsageError, match="at least one"):
        VECTORS.most_similar([])


def test_a_row_of_zeros_is_near_nothing() -> None:
    """No division by zero."""
    vectors = KeyedVectors(["zero", "one"], np.array([[0, 0], [1, 0]], np.float32), "rho")
    assert vectors.similarity("zero", "one") == 0


def make() -> Embeddings:
    """A model of four words."""
    arrays = {"alpha_words": ROWS, "rho_words": -ROWS}
    return Embeddings({"model": "b-emb", "seed": 1}, dict(arrays), {"words": VECTORS.index_to_key})


def test_views_say_which_side_they_hold() -> None:
    """Words are alpha unless rho is asked for; what is missing is named."""
    model = make()
    assert model.words.kind == "alpha"
    assert model.view("words", "rho")["east"].tolist() == [-1, 0]
    with pytest.raises(UsageError, match="no alpha_units"):
        _ = model.units


def test_the_hash_forgets_times_and_threads(tmp_path: Path) -> None:
    """Only what was learned, from what and how."""
    one, other = make(), make()
    other.run = {"threads": 8}
    assert one.sha256 == other.sha256
    other.arrays["rho_words"] = other.arrays["rho_words"] * np.float32(2)
    assert one.sha256 != other.sha256
    one.save(tmp_path / "m")
    assert Embeddings.load(tmp_path / "m").sha256 == one.sha256


def test_broken_numbers_are_not_saved(tmp_path: Path) -> None:
    """NaN is refused, and no folder is left."""
    model = make()
    model.arrays["rho_words"] = np.full((4, 2), np.nan, np.float32)
    with pytest.raises(EqembError, match="rho_words"):
        model.save(tmp_path / "m")
    assert not list(tmp_path.iterdir())
