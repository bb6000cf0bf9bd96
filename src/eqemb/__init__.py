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
    "build_library": "eqemb.building",
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
    "build_library",
    "layout",
    "read_articles",
    "read_library",
]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        from importlib import import_module

        found = getattr(import_module(_PUBLIC[name]), name)
        if name == "Library":
            found.build = staticmethod(_build)
        return found
    raise AttributeError(f"module 'eqemb' has no attribute {name!r}")


def _build(*papers_and_folder: Any, **settings: Any) -> Any:
    """Read papers, learn from them and index them: `eqemb.build_library` by another name."""
    from eqemb.building import build_library

    return build_library(*papers_and_folder, **settings)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
