"""Vectors of equations and words as a step of a pipeline of scikit-learn."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from eqemb.errors import UsageError
from eqemb.facade.library import Library


class EquationVectorizer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Turns LaTeX, words or names of equations into vectors of a library's model.

    The model was trained when the library was built; `fit` only opens the library and checks it.
    The folder is opened again by copies in other processes.

    Args:
        library: The folder of a library with a model.

    Examples:
        >>> vectorizer = EquationVectorizer(library.folder)
        >>> vectorizer.fit_transform([r"\frac{a}{b}", "cosine similarity"]).shape
        (2, 100)

    """

    def __init__(self, library: str | Path | None = None) -> None:
        self.library = library

    def fit(self, X: Iterable[str], y: object = None) -> Self:  # noqa: ARG002
        """Open the library; equations and labels are only checked.

        Args:
            X: Equations, as `transform` takes them.
            y: Ignored.

        Returns:
            The transformer itself.

        """
        _texts(X)
        with self._open() as opened:
            self.n_features_out_ = int(opened.encode([]).shape[1])
        return self

    def transform(self, X: Iterable[str]) -> NDArray[np.float32]:
        """Return the vectors of equations.

        Args:
            X: A sequence of LaTeX, words or names of equations, read as `Library.encode` does.

        Returns:
            An array with a row for each; zeros where the model knows nothing of it.

        """
        check_is_fitted(self)
        texts = _texts(X)
        with self._open() as opened:
            return opened.encode(texts)

    def _open(self) -> Library:
        if self.library is None:
            raise UsageError("EquationVectorizer needs a library: EquationVectorizer('library/')")
        return Library.open(self.library)

    @property
    def _n_features_out(self) -> int:
        """The number of columns, from which scikit-learn makes their names."""
        return self.n_features_out_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.transformer_tags.preserves_dtype = []  # vectors have the type of the model
        return tags


def _texts(X: Any) -> list[str]:
    """Return the texts of a sequence, an array or a column of a data frame."""
    if isinstance(X, str) or not isinstance(X, Iterable):
        raise UsageError("X must be a sequence of strings")
    found = list(X)
    for text in found:
        if not isinstance(text, str):
            raise UsageError(f"X must be a sequence of strings, but has {text!r}")
    return [str(text) for text in found]
