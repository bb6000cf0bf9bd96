"""The registry of models: adding a model to eqemb is one entry here.

An entry has the model's name on the command line and in config.json, its class, its title in
tables, the settings that the name implies, and which of its vectors are compared with each other.
Classes are imported on first use, so that `eqemb --help` can list the models without NumPy.

    find("eqemb-u").kind        the class EqEmbU
    create("b-emb", dim=50)     BernoulliEmbeddings(equations="tokens", dim=50)
    titled("pv-dm")             "PV-DM"
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from eqemb.checks import did_you_mean
from eqemb.errors import UsageError

if TYPE_CHECKING:
    from eqemb.models.base import Model


@dataclass(frozen=True)
class ModelEntry:
    """One model."""

    name: str
    """On the command line, and under "model" in config.json."""
    title: str
    """In tables and figures."""
    module: str
    """The module of `eqemb.models` that has its class."""
    class_name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings that the name implies, in addition to the defaults of the class."""
    word_side: str = "alpha"
    """"rho" or "alpha": the vectors of words that are compared with vectors of equations ..."""
    equation_side: str = "rho"
    """... and the vectors of equations they are compared with: those trained together."""
    is_baseline: bool = False
    """Whether it is one of the baselines in the tables."""
    has_equations: bool = True
    """Whether equations have vectors, so that it can be listed in tables of equations."""
    requires: str = ""
    """The package it needs, in addition to those of eqemb itself."""
    extra: str = ""
    """The extra of eqemb that installs the package."""

    @cached_property
    def kind(self) -> "type[Model]":
        """The class."""
        found: type[Model] = getattr(import_module(f"eqemb.models.{self.module}"), self.class_name)
        return found

    @property
    def is_installed(self) -> bool:
        """Whether the package that it needs is there."""
        return not self.requires or find_spec(self.requires) is not None


_TOKENS = {"equations": "tokens"}
_GENSIM: dict[str, Any] = {"is_baseline": True, "requires": "gensim", "extra": "baselines"}
_ENTRIES = (
    ModelEntry("words", "words", "bernoulli", "BernoulliEmbeddings", has_equations=False),
    ModelEntry("b-emb", "b-emb", "bernoulli", "BernoulliEmbeddings", _TOKENS, is_baseline=True),
    ModelEntry("cbow", "CBOW", "baselines", "Cbow", **_GENSIM),
    ModelEntry("glove", "GloVe", "glove", "GloVe", _TOKENS, is_baseline=True),
    # PV-DM and EqEmb-U learn no rho of equations, or not from words
    ModelEntry("pv-dm", "PV-DM", "baselines", "ParagraphVectors", {}, "rho", "alpha", **_GENSIM),
    ModelEntry("eqemb", "EqEmb", "eqemb", "EqEmb"),
    ModelEntry("eqemb-u", "EqEmb-U", "eqemb_u", "EqEmbU", {}, "rho", "alpha"),
    ModelEntry("eqemb-h", "EqEmb-H", "eqemb_h", "EqEmbH"),
)
#: Every model by name, baselines before ours.
MODELS: dict[str, ModelEntry] = {entry.name: entry for entry in _ENTRIES}
#: Names of the models with vectors of equations.
BASELINES = tuple(e.name for e in _ENTRIES if e.has_equations and e.is_baseline)
OURS = tuple(e.name for e in _ENTRIES if e.has_equations and not e.is_baseline)


def find(name: str) -> ModelEntry:
    """The entry of a model; an unknown name is refused with a similar one."""
    if name not in MODELS:
        choose = f"choose one of {', '.join(MODELS)}"
        hint = did_you_mean(name, MODELS, choose, count=1, cutoff=0.6)
        raise UsageError(f"no model {name!r}: {hint}")
    return MODELS[name]


def create(name: str, settings: Mapping[str, Any]) -> "Model":
    """An untrained model; settings that it does not have are refused."""
    entry = find(name)
    known = entry.kind().get_params()
    for setting in settings:
        if setting not in known:
            option = setting.replace("_", "-")
            raise UsageError(f"{name} has no --{option}: leave it out or choose another model")
    return entry.kind(**{**entry.settings, **settings})


def titled(name: str) -> str:
    """A model's title in tables; a name that is not in the registry is its own title."""
    return MODELS[name].title if name in MODELS else name


def sides(name: str) -> tuple[str, str]:
    """Which vectors of words and of equations are compared: "rho" or "alpha" of each."""
    entry = MODELS.get(name)
    return (entry.word_side, entry.equation_side) if entry else ("alpha", "rho")


def listed() -> str:
    """The names of all models for `--help`, with the extra that some need."""
    names = [
        f"{entry.name} (extra `{entry.extra}`)" if entry.extra else entry.name for entry in _ENTRIES
    ]
    return f"{', '.join(names[:-1])} or {names[-1]}"
