"""eqemb: learn what equations mean from the text around them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eqemb import models as models
    from eqemb.errors import EqembError
    from eqemb.facade.library import Library
    from eqemb.formula.layout import layout
    from eqemb.library.ingest import read_articles
    from eqemb.models.embeddings import Embeddings

__version__ = "0.1.0"
__all__ = ["Embeddings", "EqembError", "Library", "layout", "read_articles"]

#: Public name -> module that defines it. Loaded on first use, so that `import eqemb` is fast.
_PUBLIC_NAMES = {
    "Embeddings": "eqemb.models.embeddings",
    "EqembError": "eqemb.errors",
    "Library": "eqemb.facade.library",
    "layout": "eqemb.formula.layout",
    "read_articles": "eqemb.library.ingest",
}


if not TYPE_CHECKING:  # type checkers would accept any misspelt name

    def __getattr__(name: str) -> Any:
        if name == "models":  # `eqemb.models.EqEmb` works without an import of eqemb.models
            return import_module("eqemb.models")
        if name in _PUBLIC_NAMES:
            return getattr(import_module(_PUBLIC_NAMES[name]), name)
        raise AttributeError(f"module 'eqemb' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
