"""The transformer for scikit-learn: its estimator checks, and its use in pipelines."""

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed: pip install 'eqemb[sklearn]'")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

from axes import make_library
from eqemb.errors import UsageError
from eqemb.facade.library import Library
from eqemb.sklearn import EquationVectorizer
from synthetic import read_inline

TEXTS = [r"F = \frac{2PR}{P+R}", "cosine similarity", r"\cos(x, y)", "harmonic mean of precision"]
TOPICS = ["mean", "angle", "angle", "mean"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A library whose vectors have three dimensions."""
    with pytest.MonkeyPatch.context() as patch:
        read_inline(patch)
        with make_library(tmp_path_factory.mktemp("vectorizer")) as made:
            yield made.folder


@pytest.mark.filterwarnings("ignore:Can't test estimator")
def test_the_check_of_scikit_learn(folder: Path) -> None:
    """`check_estimator` leaves out its checks with numbers, because the tags say: texts."""
    results = estimator_checks.check_estimator(EquationVectorizer(folder))
    assert results
    assert {result["status"] for result in results} == {"passed"}


#: The checks that need no numbers; `check_estimator` leaves them out, too.
CHECKS = [
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
]


@pytest.mark.parametrize("name", CHECKS)
def test_checks_without_data(folder: Path, name: str) -> None:
    """Parameters, cloning, tags and repr are as scikit-learn expects."""
    getattr(estimator_checks, name)("EquationVectorizer", EquationVectorizer(folder))


def test_checks_with_texts(folder: Path) -> None:
    """What scikit-learn checks with numbers, on texts: order, subsets, repetition, parameters."""
    made = EquationVectorizer(folder)
    assert made.fit(TEXTS) is made
    before = made.get_params()
    vectors = made.transform(TEXTS)
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(made.transform(TEXTS[::-1]), vectors[::-1])
    np.testing.assert_array_equal(np.vstack([made.transform([text]) for text in TEXTS]), vectors)
    np.testing.assert_array_equal(made.fit_transform(TEXTS, TOPICS), vectors)
    assert made.get_params() == before
    assert [name for name in vars(made) if not name.endswith("_")] == ["library"]


def test_it_says_what_it_takes(folder: Path) -> None:
    """Tags tell scikit-learn that a sample is a text."""
    tags = EquationVectorizer(folder).__sklearn_tags__()
    assert tags.input_tags.string
    assert tags.input_tags.one_d_array
    assert not tags.input_tags.two_d_array


def test_a_pipeline_learns(folder: Path) -> None:
    """Words and formulas of a topic are near each other, so that a classifier tells topics."""
    pipeline = make_pipeline(EquationVectorizer(folder), LogisticRegression())
    assert pipeline.fit(TEXTS, TOPICS).predict(["recall", "angle"]).tolist() == ["mean", "angle"]
    assert cross_val_score(pipeline, TEXTS * 3, TOPICS * 3, cv=2).mean() == 1
    again = pickle.loads(pickle.dumps(pipeline))  # noqa: S301
    assert again.predict(["recall"]).tolist() == ["mean"]


def test_vectors_are_those_of_the_library(folder: Path) -> None:
    """For any sequence of texts; columns have names."""
    made = EquationVectorizer(folder).fit(TEXTS)
    with Library.open(folder) as library:
        expected = library.encode(TEXTS)
    for given in (TEXTS, np.array(TEXTS), np.array(TEXTS, object), iter(TEXTS)):
        np.testing.assert_array_equal(made.transform(given), expected)
    assert made.get_feature_names_out().tolist() == [f"equationvectorizer{n}" for n in range(3)]
    assert clone(made).get_params() == {"library": folder}


@pytest.mark.parametrize("wrong", [r"\frac{a}{b}", 3, [3], [["x"]], np.zeros((2, 2)), [None]])
def test_other_input_is_refused(folder: Path, wrong: Any) -> None:
    """In one sentence."""
    with pytest.raises(UsageError, match="X must be a sequence of strings"):
        EquationVectorizer(folder).fit(wrong)


def test_use_before_fit_is_refused(folder: Path) -> None:
    """As scikit-learn expects; and so is a missing library."""
    with pytest.raises(NotFittedError):
        EquationVectorizer(folder).transform(TEXTS)
    with pytest.raises(UsageError, match="needs a library"):
        EquationVectorizer().fit(TEXTS)
