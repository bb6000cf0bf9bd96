"""eqemb: learn what equations mean from the text around them."""

from typing import Any

__version__ = "0.1.0"

#: Public name -> module that holds it. Loaded when first asked for: `import eqemb` is instant.
_PUBLIC = {
    "Article": "eqemb.article",
    "BernoulliEmbeddings": "eqemb.models",
    "Cbow": "eqemb.baselines",
    "Corpus": "eqemb.corpus",
    "Embeddings": "eqemb.embeddings",
    "EqEmb": "eqemb.models",
    "EqEmbH": "eqemb.models",
    "EqEmbU": "eqemb.models",
    "Equation": "eqemb.article",
    "EqembError": "eqemb.errors",
    "GloVe": "eqemb.glove",
    "Library": "eqemb.library",
    "ParagraphVectors": "eqemb.baselines",
    "Split": "eqemb.split",
    "layout": "eqemb.formula",
    "read_articles": "eqemb.reading",
    "read_library": "eqemb.reading",
}
__all__ = [
    "Article",
    "BernoulliEmbeddings",
    "Cbow",
    "Corpus",
    "Embeddings",
    "EqEmb",
    "EqEmbH",
    "EqEmbU",
    "EqembError",
    "Equation",
    "GloVe",
    "Library",
    "ParagraphVectors",
    "Split",
    "layout",
    "read_articles",
    "read_library",
]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        from importlib import import_module

        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'eqemb' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
