"""Keyed vectors in the manner of gensim, and the folder of a model."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqemb.errors import EqembError, UsageError
from eqemb.models.embeddings import Embeddings, KeyedVectors

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
    assert repr(VECTORS) == "KeyedVectors<alpha, vector_size=2, 4 keys>"
    assert list(VECTORS) == ["east", "far", "north", "west"]


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
    with pytest.raises(UsageError, match="shape"):
        VECTORS.similar_by_vector(np.ones(3))
    with pytest.raises(KeyError) as seen:
        VECTORS["south"]
    assert str(seen.value).startswith("no vector for 'south'"), "a sentence without quotes"


RANDOM = np.random.default_rng(3).standard_normal((30, 6)).astype(np.float32)
NAMES = [f"key{number}" for number in range(30)]
OURS = KeyedVectors(NAMES, RANDOM, "alpha")


@pytest.fixture(scope="module")
def theirs() -> Any:
    """The same vectors in gensim's own class."""
    gensim = pytest.importorskip("gensim.models")
    vectors = gensim.KeyedVectors(6)
    vectors.add_vectors(NAMES, RANDOM)
    return vectors


@pytest.mark.parametrize(
    "call",
    [
        lambda v: v.most_similar("key1"),
        lambda v: v.most_similar(1, topn=3),
        lambda v: v.most_similar(positive=["key1", "key2"], negative=["key3"], topn=29),
        lambda v: v.most_similar(negative=["key3"], topn=100),
        lambda v: v.most_similar(RANDOM[4]),
        lambda v: v.most_similar(["key1", 3 * RANDOM[4]], [RANDOM[5]]),
        lambda v: v.most_similar(RANDOM[4:6]),
        lambda v: v.most_similar([("key1", 0.2), ("key2", -1.5), (RANDOM[7], 0.1)], "key9"),
        lambda v: v.most_similar("key1", topn=5, restrict_vocab=8),
        lambda v: v.most_similar("key20", topn=5, restrict_vocab=8),
        lambda v: v.most_similar("key1", topn=0),
        lambda v: v.similar_by_key("key2", topn=4),
        lambda v: v.similar_by_word("key2", topn=4),
        lambda v: v.similar_by_vector(RANDOM[9], topn=4),
        lambda v: v.similar_by_vector(RANDOM[9].astype(np.float64), 4),
    ],
)
def test_neighbours_are_those_of_gensim(call: Callable[[Any], Any], theirs: Any) -> None:
    """Keys, vectors, weights, all of them mixed: the same keys with the same cosines."""
    ours, expected = call(OURS), call(theirs)
    assert [key for key, _ in ours] == [key for key, _ in expected]
    np.testing.assert_allclose([c for _, c in ours], [c for _, c in expected], atol=1e-6)
    assert all(type(cosine) is float for _, cosine in ours)


@pytest.mark.parametrize(
    "call",
    [
        lambda v: v["key3"],
        lambda v: v[["key3", "key4"]],
        lambda v: v[3],
        lambda v: v.get_vector("key3"),
        lambda v: v.get_vector("key3", norm=True),
        lambda v: v.get_normed_vectors(),
        lambda v: v.similarity("key1", "key2"),
        lambda v: v.distance("key1", 2),
        lambda v: v.most_similar("key1", topn=None),
        lambda v: v.most_similar(["key1"], ["key2"], topn=None, restrict_vocab=5),
        lambda v: v.vectors,
        lambda v: [v.key_to_index[key] for key in v.index_to_key],
        lambda v: [v.get_index("key7"), v.get_index(7), v.get_index("none", -1), len(v)],
        lambda v: [key in v for key in ("key7", "none", 7, 30, -1)],
        lambda v: [v.vector_size, v.get_vector("key1").flags.writeable],
    ],
)
def test_numbers_are_those_of_gensim(call: Callable[[Any], Any], theirs: Any) -> None:
    """Vectors, cosines, rows."""
    np.testing.assert_allclose(call(OURS), call(theirs), atol=1e-6)
    assert np.shape(call(OURS)) == np.shape(call(theirs))


def test_unknown_keys_raise_what_gensim_raises(theirs: Any) -> None:
    """So that the same except clause serves."""
    for vectors in (OURS, theirs):
        for call in (vectors.get_vector, vectors.get_index, vectors.most_similar):
            with pytest.raises(KeyError):
                call("none")


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


def test_a_view_is_made_once() -> None:
    """Its table of keys is not made again at every question, unless the vectors are others."""
    model = make()
    assert model.words is model.words
    model.arrays["alpha_words"] = -ROWS
    assert model.words["east"].tolist() == [-1, 0]


def test_the_card_tells_people_what_it_is(tmp_path: Path) -> None:
    """What on, how, how well; its example runs; neither times nor threads are in it."""
    model = make()
    model.config |= {
        "corpus": "c0ffee", "split": "5eed", "validation": -2.5,
        "settings": {"dim": 2, "rate": 0.05, "words": None}, "best": {"words": 2},
    }  # fmt: skip
    model.history = [
        {"stage": "words", "iteration": at, "loss": {"b_w": 1 / at}, "seconds": 123.456,
         "validation": {"words": -3.0 + at / 4}, "positions": 7}
        for at in (1, 2)
    ]  # fmt: skip
    model.run = {"collection": "a|b", "threads": 77, "words_missing": {"words": 3}}
    model.save(tmp_path / "m")
    card = (tmp_path / "m" / "README.md").read_text()
    for line in (
        "# b-emb", "| collection | a\\|b |", "| corpus | c0ffee |", "| held-out split | 5eed |",
        "| validation score (log-likelihood of held-out words) | -2.5000 |",
        "| best iteration | words 2 |", "| rate | 0.05 |",
        "| words | 2 | b_w 0.5000 | words -2.5000 |", "| alpha_words | 4 x 2 |",
        "| words without a given vector | words 3 |", f"| sha256 | {model.sha256} |",
    ):  # fmt: skip
        assert line in card.split("\n")
    assert "belong to their authors" in card
    assert not any(secret in card for secret in ("123.456", "77", "None", str(tmp_path)))
    code = card.split("```python\n")[1].split("```")[0]
    code = code.replace("path/to/this/folder", str(tmp_path / "m"))
    exec(code.replace("words.txt", str(tmp_path / "words.txt")))  # noqa: S102
    assert (tmp_path / "words.txt").read_text().startswith("4 2\neast 1 0\n")


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
