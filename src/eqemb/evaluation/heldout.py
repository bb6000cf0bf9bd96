"""Held-out evaluation: every model on one frozen split, next to chance and controls.

A `ModelRow` is a model with its own context and matrices. Each model is trained on the split's
training stream for every seed. It is scored on the held-out words in one reading of the objective,
raw and with one temperature fitted on validation words. The values of each word, averaged over
seeds, are kept: they allow a paired bootstrap over articles, and separate scores for equations that
occur once.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.checks import did_you_mean
from eqemb.corpus.corpus import Corpus
from eqemb.corpus.split import TEST, VALIDATION, Split
from eqemb.errors import UsageError
from eqemb.evaluation.groups import Clusters
from eqemb.evaluation.metrics import MIN_CLUSTERS, mean_and_error
from eqemb.models import likelihood, registry
from eqemb.models.base import Model
from eqemb.models.bernoulli import BernoulliEmbeddings
from eqemb.models.embeddings import Embeddings
from eqemb.models.eqemb import EqEmb
from eqemb.models.likelihood import LIKELIHOODS, HeldOutScores, chance

Values = dict[str, NDArray[np.float64]]
Settings = dict[str, Any]
DRAWS = 2000
"""Samples of a bootstrap."""
HALF = "half"
"""A learning rate: half of the default for the width of the window."""


@dataclass(frozen=True, order=True)
class Cell:
    """A cell of the grid: dimension K, word window W and equation window E."""

    dim: int = 50
    window: int = 4
    equation_window: int = 16


class System(NamedTuple):
    """A model of the grid search: its class, its settings, and tuned settings."""

    kind: type[Model]
    settings: Settings = {}  # noqa: RUF012  (never changed)
    tuned: dict[str, Settings] = {}  # noqa: RUF012
    """Settings chosen on validation words, for each reading."""
    is_everywhere: bool = False
    """Whether its extra vector is in the context of every word, not only near equations."""

    @property
    def has_window(self) -> bool:
        """Whether its scores depend on an equation window."""
        return hasattr(self.kind, "equation_window") and not self.is_everywhere

    @property
    def takes_words(self) -> bool:
        """Whether it uses the word vectors of a first pass, which several models share."""
        return issubclass(self.kind, EqEmb) and self.kind(**self.settings).passes == "two"

    def make(self, cell: Cell, reading: str, words: Embeddings | None = None) -> Any:
        """Return an untrained model for a cell; always on the CPU, so that results are portable."""
        given: Settings = {"dim": cell.dim, "window": cell.window, "reading": reading}
        if hasattr(self.kind, "device"):
            given["device"] = "cpu"
        given |= self.settings | self.tuned.get(reading, {})
        if given.get("rate") == HALF:
            given["rate"] = 0.5 * BernoulliEmbeddings(window=cell.window).learning_rate
        if self.has_window:
            given["equation_window"] = cell.equation_window
        if self.takes_words:
            given["words"] = words
        return self.kind(**given)


def _logistic(**settings: Any) -> dict[str, Settings]:
    """Settings of our models in the logistic reading: mean of zeros, half the learning rate."""
    return {"logistic": {"zero_weight": "mean", "rate": HALF} | settings}


def _system(
    name: str,
    settings: Settings | None = None,
    tuned: dict[str, Settings] | None = None,
    *,
    is_everywhere: bool = False,
) -> System:
    """Return a model of the registry with other settings."""
    entry = registry.find(name)
    return System(entry.kind, {**entry.settings, **(settings or {})}, tuned or {}, is_everywhere)


_DOCUMENT_ONLY = {"unit_weight": 0.0, "type_weight": 0.0, "own_weight": 0.0}
#: Best settings on validation words, found by `benchmarks/settings.py` and `baselines.py`.
SYSTEMS: dict[str, System] = {
    "words": _system("words", {}, _logistic()),
    "b-emb": _system("b-emb", {}, _logistic()),
    "one": _system("eqemb", {"control": "one", "equation_rate": 0.4}, _logistic(equation_rate=0.2)),
    "article": _system("eqemb", {"control": "article", "equation_rate": 0.4}, _logistic()),
    "document": _system(
        "eqemb-h", _DOCUMENT_ONLY, _logistic(equation_rate=0.1), is_everywhere=True
    ),
    "shuffled": _system("eqemb-u", {"control": "shuffled"}, _logistic(equation_rate=0.5)),
    "document-one": _system("eqemb-h", {"control": "one"}, _logistic(equation_rate=0.1)),
    "document-shuffled": _system("eqemb-h", {"control": "shuffled"}, _logistic(equation_rate=0.1)),
    "units-joint": _system("eqemb-u", {"passes": "joint"}, _logistic(equation_rate=0.5)),
    "eqemb": _system("eqemb", {}, _logistic(equation_rate=0.1)),
    "eqemb-u": _system("eqemb-u", {}, _logistic(equation_rate=0.5)),
    "eqemb-h": _system("eqemb-h", {}, _logistic(equation_rate=0.1)),
    "cbow": _system(
        "cbow", {"mean": False}, {"logistic": {"rate": 0.05, "negatives": 1, "mean": True}}
    ),
    "pv-dm": _system(
        "pv-dm", {"rate": 0.05}, {"logistic": {"rate": 0.025, "iterations": 40, "negatives": 1}}
    ),
    "glove": _system(
        "glove", {"iterations": 50}, {"softmax": {"rate": 0.025}, "logistic": {"x_max": 3.0}}
    ),
}
#: A model of the registry that is not tuned here takes part with its defaults.
SYSTEMS |= {name: _system(name) for name in registry.MODELS if name not in SYSTEMS}


class ModelRow(NamedTuple):
    """A row of the results: a model, and how much of the context it sees."""

    name: str
    system: str
    words: int | None = None
    """Number of context words relative to W (0 or -1); None: W - 1 words and the equation."""
    is_control: bool = False
    as_wide: bool = False
    """Whether its word window is as wide as the equation window of other models, W = E."""
    scoring: Settings = {}  # noqa: RUF012
    """Further arguments of `score`."""

    def cells(
        self, dim: int, windows: Iterable[int], equation_windows: Iterable[int]
    ) -> list[Cell]:
        """Return the cells of the grid from which it selects."""
        if self.as_wide:
            return [Cell(dim, around, 0) for around in equation_windows]
        arounds = tuple(equation_windows) if SYSTEMS[self.system].has_window else (0,)
        return [Cell(dim, window, around) for window in windows for around in arounds]


ROWS = (
    ModelRow("words only, W-1", "words", -1, is_control=True),
    ModelRow("words only, W", "words", 0, is_control=True),
    ModelRow("one vector", "one", is_control=True),
    ModelRow("article vector", "article", is_control=True),
    ModelRow("document vector", "document", is_control=True),
    ModelRow("shuffled units", "shuffled", is_control=True),
    ModelRow("document + one vector", "document-one", is_control=True),
    ModelRow("document + shuffled units", "document-shuffled", is_control=True),
    ModelRow("EqEmb-U, joint", "units-joint", is_control=True),
    ModelRow("b-emb", "b-emb"),
    ModelRow("b-emb, W-1 words", "b-emb", -1),
    ModelRow("b-emb, W=E", "b-emb", as_wide=True),
    ModelRow(registry.titled("cbow"), "cbow"),
    ModelRow(registry.titled("pv-dm"), "pv-dm"),
    ModelRow("GloVe", "glove", scoring={"bias": False}),
    ModelRow("GloVe, with bias", "glove", scoring={"bias": True}),
    *(ModelRow(registry.titled(name), name) for name in registry.OURS),
)


def named_rows(names: Iterable[str]) -> tuple[ModelRow, ...]:
    """Return the rows with these names, in the order of the tables; case does not matter."""
    known = {row.name.lower(): row for row in ROWS}
    wanted = list(dict.fromkeys(name.strip().lower() for name in names))
    for name in wanted:
        if name not in known:
            choose = f"choose from {'; '.join(row.name for row in ROWS)}"
            raise UsageError(f"no row {name!r}: {did_you_mean(name, known, choose, count=1)}")
    return tuple(row for name, row in known.items() if name in wanted)


def installed_rows(rows: Iterable[ModelRow] = ROWS) -> tuple[ModelRow, ...]:
    """Return the rows whose packages are installed: CBOW and PV-DM need gensim."""
    missing = {name for name, entry in registry.MODELS.items() if not entry.is_installed}
    return tuple(row for row in rows if row.system not in missing)


@dataclass
class Result:
    """Result of one row in one cell and reading, over all seeds."""

    row: str
    cell: Cell
    reading: str
    seeds: list[int] = field(default_factory=list)
    means: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    """Measure -> "validation" and "test" -> mean for each seed."""
    temperature: list[float] = field(default_factory=list)
    """Temperature fitted on validation words, for each seed."""
    test: Values = field(default_factory=dict)
    """Measure -> value of each test word, averaged over seeds."""

    def add(self, seed: int, validation: HeldOutScores, test: HeldOutScores) -> None:
        """Add the scores of one seed."""
        factor = likelihood.fit_temperature(validation, LIKELIHOODS[self.reading])
        done = len(self.seeds)
        self.seeds.append(seed)
        self.temperature.append(1.0 / factor)
        for part, scored in (("validation", validation), ("test", test)):
            for name, values in word_values(scored, factor, self.reading).items():
                parts = self.means.setdefault(name, {"validation": [], "test": []})
                parts[part].append(float(values.mean()))
                if part == "test":
                    before = self.test.get(name, np.zeros_like(values))
                    self.test[name] = (done * before + values) / (done + 1)

    def summary(self) -> dict[str, Any]:
        """Return means and standard errors over seeds."""
        return {
            "window": self.cell.window,
            "equation_window": self.cell.equation_window,
            "seeds": self.seeds,
            "temperature": mean_and_error(self.temperature),
            "measures": {
                measure: {part: mean_and_error(values) for part, values in parts.items()}
                for measure, parts in self.means.items()
            },
        }


def word_values(scored: HeldOutScores, factor: float, reading: str) -> Values:
    """Return the value of each word by measure."""
    read = LIKELIHOODS[reading]
    found = {
        "raw": read(scored),
        "tempered": read(scored.scaled(factor)),
        "accuracy": likelihood.accuracy(scored),
    }
    if reading == "softmax":
        found["predictive"] = likelihood.predictive(scored)
    return found


class Trainer:
    """Trains models on one split; shared word vectors are trained once."""

    def __init__(self, corpus: Corpus, split: Split, reading: str, threads: int = 1) -> None:
        self.corpus, self.split, self.reading, self.threads = corpus, split, reading, threads
        self._models: dict[tuple[str, Cell, int], Model] = {}

    def scored(self, row: ModelRow, cell: Cell, seed: int) -> tuple[HeldOutScores, HeldOutScores]:
        """Return the scores of a row on validation and test words."""
        model = self.trained(row, cell, seed)
        count = None if row.words is None else cell.window + row.words
        validation, test = (
            model.score(self.corpus, self.split, part, words=count, **row.scoring)
            for part in (VALIDATION, TEST)
        )
        return validation, test

    def trained(self, row: ModelRow, cell: Cell, seed: int) -> Model:
        """Return the trained model of a row."""
        return self._trained(row.system, cell, seed)

    def _trained(self, name: str, cell: Cell, seed: int) -> Model:
        system = SYSTEMS[name]
        if not system.has_window:
            cell = Cell(cell.dim, cell.window, 0)
        key = (name, cell, seed)
        if key not in self._models:
            words = None
            if system.takes_words:
                words = self._trained("words", cell, seed).embeddings_
            model = system.make(cell, self.reading, words)
            self._models[key] = model.fit(self.corpus, self.split, seed=seed, threads=self.threads)
        return self._models[key]

    def clear(self) -> None:
        """Free the trained models."""
        self._models.clear()


def compare(
    corpus: Corpus,
    split: Split,
    cell: Cell,
    reading: str = "softmax",
    *,
    rows: Iterable[ModelRow] = ROWS,
    seeds: Iterable[int] = range(5),
    threads: int = 1,
    progress: Callable[[str], object] = lambda _: None,
) -> list[Result]:
    """Train and score rows in one cell; the word vectors of a seed are trained once."""
    windows = [cell.window], [cell.equation_window]
    made = [(row, Result(row.name, row.cells(cell.dim, *windows)[0], reading)) for row in rows]
    trainer = Trainer(corpus, split, reading, threads)
    for seed in seeds:
        for row, result in made:
            progress(f"{row.name}, seed {seed}")
            result.add(seed, *trainer.scored(row, result.cell, seed))
        trainer.clear()
    return [result for _, result in made]


class Difference(NamedTuple):
    """Difference between two rows, with a bootstrap over articles or groups of them."""

    mean: float
    low: float
    high: float
    """95 % interval of the bootstrap."""
    better: float
    """Share of bootstrap samples in which the first is better."""
    verdict: str
    """One of "better", "worse", "tie" (the interval contains 0) and "too few" (clusters)."""


def bootstrap_p(better: float, draws: int = DRAWS) -> float:
    """Return the two-sided p-value of a share of bootstrap samples in which the first is better."""
    return min(1.0, 2 * max(min(better, 1 - better), 1 / (draws + 1)))


def difference(
    pairs: Iterable[tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]],
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> Difference:
    """Compare two rows with a paired bootstrap, clustered and pooled over cells.

    Each pair holds the values of two rows on the same words, and the cluster of each word: its
    article, or the group of its article. Numbers of different clusters must be distinct across
    collections. A sampled cluster contributes all its words, from every cell.
    """
    pairs = list(pairs)
    size = 1 + max(int(articles.max()) for _, _, articles in pairs)
    total, count = np.zeros(size), np.zeros(size)
    for one, other, articles in pairs:
        total += np.bincount(articles, one - other, minlength=size)
        count += np.bincount(articles, minlength=size)
    total, count = total[count > 0], count[count > 0]
    random = np.random.default_rng(seed)
    means = np.empty(draws)
    step = max(1, 1_000_000 // len(total))  # in batches, to bound memory
    for first in range(0, draws, step):
        part = means[first : first + step]
        drawn = random.integers(0, len(total), (len(part), len(total)))
        part[:] = total[drawn].sum(axis=1) / count[drawn].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    mean = float(total.sum() / count.sum())
    verdict = "better" if low > 0 else "worse" if high < 0 else "tie"
    return Difference(
        mean, float(low), float(high), float((means > 0).mean()),
        verdict if len(total) >= MIN_CLUSTERS else "too few",
    )  # fmt: skip


def tested_articles(corpus: Corpus, split: Split) -> NDArray[np.int64]:
    """Return the article of each test word."""
    found: NDArray[np.int64] = corpus.equation_articles[split.occurrences[split.of(TEST)]]
    return found


def evaluate_model(
    model: Model, corpus: Corpus, split: Split, clusters: Clusters | None = None
) -> dict[str, Any]:
    """Score a trained model in both readings, next to chance; errors are clustered."""
    config = model.embeddings_.config
    names = {VALIDATION: "validation", TEST: "test"}
    found = {part: model.score(corpus, split, part) for part in names}
    clusters = clusters or Clusters()
    homes = clusters.of(corpus.articles)[corpus.equation_articles]
    articles = {part: homes[split.occurrences[split.of(part)]] for part in names}

    def both(
        read: Callable[[HeldOutScores], NDArray[np.float64]], factor: float = 1.0
    ) -> dict[str, Any]:
        return {
            name: mean_and_error(read(found[part].scaled(factor)), articles[part])
            for part, name in names.items()
        }

    made: dict[str, Any] = {
        "model": config["model"],
        "split": split.sha256,
        "n": len(found[TEST].word),
        "negatives": split.settings.negatives,
        "clusters": clusters.kind,
        "seeds": [config["seed"]],
    }
    factors = {
        name: likelihood.fit_temperature(found[VALIDATION], read)
        for name, read in LIKELIHOODS.items()
    }
    for name, read in LIKELIHOODS.items():
        made[name] = both(read) | {"tempered": both(read, factors[name])}
    made["softmax"]["predictive"] = both(likelihood.predictive)
    made["accuracy"] = both(likelihood.accuracy)
    made["temperature"] = {name: 1.0 / factor for name, factor in factors.items()}
    return made | {"chance": chance(corpus, split)}
