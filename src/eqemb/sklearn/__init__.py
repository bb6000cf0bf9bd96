"""A transformer for scikit-learn: equations in LaTeX to vectors (extra `sklearn`)."""

from eqemb.sklearn.vectorizer import EquationVectorizer

__all__ = ["EquationVectorizer"]
