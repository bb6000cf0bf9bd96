"""Fold in: vectors for equations that were not in the training data of a model.

The model does not change. A bare equation is pooled from its units (EqEmb-U); a unit that the model
does not have backs off to its type, V!x to any variable. An equation among words (EqEmb) takes the
same steps as in training, on its own context words and against negatives of the same kind. The
result is deterministic and an approximation, because in training the neighbours of an equation
change as well. `benchmarks/foldin.py` measures the difference.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from eqemb.corpus.corpus import Corpus
from eqemb.corpus.split import Split, TrainingStream, training_stream
from eqemb.errors import UsageError
from eqemb.kernels import cpu, draws
from eqemb.kernels.arrays import Contexts, Floats, Rows
from eqemb.models import features
from eqemb.models.bernoulli import EQUATION_PASS, fixed
from eqemb.models.embeddings import Embeddings
from eqemb.models.eqemb import EqEmb
from eqemb.models.eqemb_h import EqEmbH
from eqemb.models.pooling import UnitVectors, equation_pooling, pooling_scale, singleton_bags


class Folded(NamedTuple):
    """Vectors of new equations, in order, and how many of their units the model has."""

    forms: list[str]
    alpha: Floats  # [N, K]
    rho: Floats  # [N, K]
    known: int = 0
    backed_off: int = 0
    unknown: int = 0
    """Units that the model has, that backed off to their type, and whose type it does not have."""


def _joined(unit: str | tuple[str, ...]) -> str:
    """A unit as a key: `layout(latex).units()` gives its parts."""
    return unit if isinstance(unit, str) else "\t".join(unit)


class Units:
    """The units of a model, for equations that were not in its training data."""

    def __init__(self, model: Embeddings) -> None:
        self._alpha, self._rho = UnitVectors(model), UnitVectors(model, "rho")
        self._pooling = equation_pooling(model.config)

    def fold(self, equations: Sequence[Sequence[Any]]) -> Folded:
        """The vector of each equation, pooled from its units; zero where none is known."""
        equations = [list(map(_joined, units)) for units in equations]
        alpha, rho = np.zeros((2, len(equations), self._alpha.own.shape[1]))
        known = unknown = 0
        for index, units in enumerate(equations):
            found = [self._alpha.find(unit) for unit in units]
            pairs = [(row, kind) for row, kind in found if kind is not None]
            for row, kind in pairs:
                for total, vectors in ((alpha, self._alpha), (rho, self._rho)):
                    total[index] += vectors.type_means[kind] if row is None else vectors.own[row]
            scale = float(pooling_scale(len(pairs), self._pooling))
            kinds = self._alpha.type_vectors[[kind for _, kind in pairs]]
            alpha[index] = alpha[index] * scale + kinds.sum(axis=0) * scale
            rho[index] *= scale
            known += sum(row is not None for row, _ in pairs)
            unknown += len(units) - len(pairs)
        backed_off = sum(map(len, equations)) - known - unknown
        made = alpha.astype(np.float32), rho.astype(np.float32)
        return Folded([], *made, known, backed_off, unknown)


def bare(model: Embeddings, equations: Sequence[Sequence[Any]]) -> Folded:
    """Fold in equations given by their units: a list of `layout(latex).units()`."""
    return Units(model).fold(equations)


def among_words(
    model: Embeddings,
    corpus: Corpus,
    new: Corpus,
    *,
    split: Split | None = None,
    new_split: Split | None = None,
    threads: int = 1,
) -> Folded:
    """Fold in the new types of `new`, which is `corpus.encode(articles)`, by the words around.

    `split` was held out of the corpus in training, `new_split` is held out of `new`.
    """
    first = len(corpus.forms)
    forms = new.forms[first:]
    if model.config["corpus"] != corpus.sha256 or new.forms[:first] != corpus.forms:
        raise UsageError(
            "the model was trained on another corpus: pass that one, and corpus.encode(articles)"
        )
    if "alpha_units" in model.arrays:
        bags = [
            [new.units[unit] for unit in new.unit_ids[new.unit_starts[t] : new.unit_starts[t + 1]]]
            for t in range(first, len(new.forms))
        ]
        found = bare(model, bags)._replace(forms=forms)
        if model.config["model"] != EqEmbH.name:
            return found
        old, stream = training_stream(corpus, split), training_stream(new, new_split)
        return found._replace(rho=_rho(model, old, stream, first, len(new.forms), threads))
    if "alpha_equations" not in model.arrays or model.config["model"] != EqEmb.name:
        raise UsageError(
            f"{model.config['model']} cannot fold in equations: use eqemb, eqemb-u or eqemb-h"
        )
    old, stream = training_stream(corpus, split), training_stream(new, new_split)
    return Folded(
        forms,
        _alpha(model, old, stream, first, len(new.forms), threads),
        _rho(model, old, stream, first, len(new.forms), threads),
    )


def _settings(model: Embeddings) -> EqEmb:
    known: dict[str, Any] = {**model.config["settings"], "words": None, "preset": ""}
    return EqEmbH(**known) if model.config["model"] == EqEmbH.name else EqEmb(**known)


def _alpha(
    model: Embeddings,
    old: TrainingStream,
    stream: TrainingStream,
    first: int,
    types: int,
    threads: int,
) -> Floats:
    """As many steps as in training; known types stay fixed."""
    settings, arrays = _settings(model), model.arrays
    rows = np.zeros((types, settings.dim), np.float32)
    rows[:first] = arrays["alpha_equations"]
    learned = Rows(rows, np.zeros_like(rows))
    members = features.Members(singleton_bags(types), stream.equation_types[:, None])
    near = features.near(stream, members, settings.equation_window)
    text = stream.text._replace(noise=draws.noise_table(old.counts))
    words = fixed(np.array(arrays["rho_words"]), np.array(arrays["alpha_words"]))
    for iteration in range(1, model.config["best"]["alpha_e"] + 1):
        key = draws.key(model.config["seed"], EQUATION_PASS, iteration)
        rule = settings.rule(key, settings.equation_rate, len(old.tokens))
        cpu.bags_update(learned, words, text, near, rule, whole=True, threads=threads)
        rows[:first] = arrays["alpha_equations"]
    return rows[first:]


def _rho(
    model: Embeddings,
    old: TrainingStream,
    stream: TrainingStream,
    first: int,
    types: int,
    threads: int,
) -> Floats:
    """Steps against the contexts of known equations."""
    settings, alpha = _settings(model), np.array(model.arrays["alpha_words"])
    window = settings.equation_window
    sums = np.concatenate([features.context_sums(alpha, part, window) for part in (old, stream)])
    before = len(old.equation_types)
    fresh = np.flatnonzero(stream.equation_types >= first)
    ids = stream.equation_types[fresh] - first
    order = np.argsort(ids, kind="stable")
    zeros = np.zeros((len(sums), settings.negatives), np.int64)
    drawn = draws.bits(draws.key(model.config["seed"], 204, 0), fresh, settings.negatives)
    zeros[before + fresh] = draws.below(drawn, np.full((len(fresh), 1), before))
    starts = np.searchsorted(ids[order], np.arange(types - first + 1)).astype(np.int64)
    contexts = Contexts(sums, starts, before + fresh[order], zeros)
    made = np.zeros((types - first, settings.dim), np.float32)
    learned = Rows(made, np.zeros_like(made))
    for iteration in range(1, model.config["best"]["rho_e"] + 1):
        key = draws.key(model.config["seed"], EQUATION_PASS, iteration)
        rule = settings.rule(key, settings.rho_rate, len(old.tokens))
        cpu.contexts_update(learned, contexts, rule, threads)
    return made
