"""Models that learn vectors for words, equations and units.

Each name is loaded when it is first used: importing one model costs nothing for the others.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eqemb.models.baselines import Cbow, ParagraphVectors
    from eqemb.models.bernoulli import BernoulliEmbeddings
    from eqemb.models.eqemb import EqEmb, EqEmbH, EqEmbU
    from eqemb.models.glove import GloVe

__all__ = [
    "BernoulliEmbeddings",
    "Cbow",
    "EqEmb",
    "EqEmbH",
    "EqEmbU",
    "GloVe",
    "ParagraphVectors",
]

_MODULES = {
    "BernoulliEmbeddings": "bernoulli",
    "Cbow": "baselines",
    "EqEmb": "eqemb",
    "EqEmbH": "eqemb",
    "EqEmbU": "eqemb",
    "GloVe": "glove",
    "ParagraphVectors": "baselines",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"eqemb.models.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'eqemb.models' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
