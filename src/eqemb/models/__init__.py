"""Models that learn vectors for words, equations and units.

Each class is imported when it is first used; `registry` lists them all.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from eqemb.models import registry

if TYPE_CHECKING:
    from eqemb.models.baselines import Cbow, ParagraphVectors
    from eqemb.models.bernoulli import BernoulliEmbeddings
    from eqemb.models.eqemb import EqEmb
    from eqemb.models.eqemb_h import EqEmbH
    from eqemb.models.eqemb_u import EqEmbU
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

#: Class -> the module of this package that has it.
_CLASS_MODULES = {entry.class_name: entry.module for entry in registry.MODELS.values()}


if not TYPE_CHECKING:  # type checkers would accept any misspelt name

    def __getattr__(name: str) -> Any:
        if name in _CLASS_MODULES:
            return getattr(import_module(f"eqemb.models.{_CLASS_MODULES[name]}"), name)
        raise AttributeError(f"module 'eqemb.models' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
