"""Scores that can be trusted: every row on one frozen split, beside chance and controls.

A `Row` of the table is a model with its own context function and matrices. Each is trained on the
split's training stream for every seed and scored on the held-out words, in both readings of the
score, raw and with one temperature fitted on validation words. Per-word values are kept, averaged
over seeds, so that differences can be judged by a paired bootstrap over articles.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb import scores
from eqemb.bernoulli import BernoulliEmbeddings
from eqemb.corpus import Corpus
from eqemb.models import EqEmb, EqEmbU
from eqemb.scores import Scored
from eqemb.split import TEST, VALIDATION, Split, training_stream

Values = dict[str, NDArray[np.float64]]
READINGS: dict[str, Callable[[Scored], NDArray[np.float64]]] = {
    "softmax": scores.softmax,
    "logistic": scores.logistic,
}
#: What validation chose for each reading (`benchmarks/settings.py` prints what was tried).
TUNED: dict[str, dict[str, Any]] = {
    "softmax": {},
    "logistic": {"zero_weight": "mean"},
}


@dataclass(frozen=True, order=True)
class Cell:
    """One setting of the grid."""

    dim: int = 50
    window: int = 4
    equation_window: int = 16


class Row(NamedTuple):
    """A line of the table: a model, and how much of the context it sees."""

    name: str
    model: str
    words: int | None = None
    """Words only: so many fewer than W (0 or -1); None: W - 1 words and the equation."""


ROWS = (
    Row("words only, W-1", "words", -1),
    Row("words only, W", "words", 0),
    Row("one vector", "one"),
    Row("article vector", "article"),
    Row("shuffled units", "shuffled"),
    Row("b-emb", "b-emb"),
    Row("EqEmb", "eqemb"),
    Row("EqEmb-U", "eqemb-u"),
)
CONTROLS = ("words only, W-1", "words only, W", "one vector", "article vector", "shuffled units")


def make(model: str, cell: Cell, reading: str, words: Any = None) -> BernoulliEmbeddings:
    """An untrained model of a row."""
    shared: dict[str, Any] = {"dim": cell.dim, "window": cell.window, "reading": reading}
    shared |= TUNED[reading]
    if model in ("words", "b-emb"):
        return BernoulliEmbeddings(**shared, equations="tokens" if model == "b-emb" else "ignored")
    shared |= {"equation_window": cell.equation_window, "words": words}
    if model in ("eqemb-u", "shuffled"):
        return EqEmbU(**shared, control="shuffled" if model == "shuffled" else "")
    return EqEmb(**shared, control="" if model == "eqemb" else model)


@dataclass
class Result:
    """One row in one cell: per-word values averaged over seeds, and the seeds' means."""

    row: str
    cell: Cell
    reading: str
    seeds: list[int]
    split: str
    negatives: int
    means: dict[str, dict[str, list[float]]]
    """"validation" and "test" -> measure -> one number for each seed."""
    temperature: list[float]
    """The factor on the scores that validation chose, for each seed."""
    test: Values = field(default_factory=dict)
    """Measure -> value of each test word, averaged over seeds."""

    def summary(self) -> dict[str, Any]:
        """What is printed and kept: means and standard errors over seeds."""
        parts = {
            part: {name: _spread(values) for name, values in measures.items()}
            for part, measures in self.means.items()
        }
        return {
            "model": self.row,
            "cell": asdict(self.cell),
            "reading": self.reading,
            "split": self.split,
            "n": len(next(iter(self.test.values()))),
            "negatives": self.negatives,
            "seeds": self.seeds,
            **parts,
            "temperature": _spread(self.temperature),
        }


def _spread(values: list[float]) -> dict[str, float]:
    """Mean and standard error over seeds."""
    error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    return {"mean": float(np.mean(values)), "se": error}


def measures(scored: Scored, temperature: float, reading: str) -> Values:
    """The values of each word in a reading: raw, with the temperature, and without a scale."""
    read = READINGS[reading]
    return {
        "raw": read(scored),
        "tempered": read(scored.scaled(temperature)),
        "accuracy": scores.accuracy(scored),
    }


class Judge:
    """Gathers the scores of one row over seeds."""

    def __init__(self, row: str, cell: Cell, reading: str, split: Split) -> None:
        self._result = Result(
            row, cell, reading, [], split.sha256, split.settings.negatives,
            {"validation": {}, "test": {}}, [],
        )  # fmt: skip

    def add(self, seed: int, validation: Scored, test: Scored) -> None:
        """Take in what one seed's model scores."""
        made = self._result
        factor = scores.fit_temperature(validation, READINGS[made.reading])
        made.seeds.append(seed)
        made.temperature.append(factor)
        for part, scored in (("validation", validation), ("test", test)):
            for name, values in measures(scored, factor, made.reading).items():
                made.means[part].setdefault(name, []).append(float(values.mean()))
                if part == "test":
                    made.test[name] = made.test.get(name, 0.0) + values

    def result(self) -> Result:
        """All seeds together."""
        made = self._result
        made.test = {name: values / len(made.seeds) for name, values in made.test.items()}
        return made


def compare(
    corpus: Corpus,
    split: Split,
    cell: Cell,
    reading: str = "softmax",
    *,
    rows: Iterable[Row] = ROWS,
    seeds: Iterable[int] = range(5),
    threads: int = 1,
    progress: Callable[[str], object] = lambda _: None,
) -> list[Result]:
    """Train and score rows in one cell; the words of a seed are trained once and shared."""
    rows = list(rows)
    judges = {row.name: Judge(row.name, cell, reading, split) for row in rows}
    for seed in seeds:
        trained: dict[str, BernoulliEmbeddings] = {}
        for row in rows:
            progress(f"{row.name}, seed {seed}")
            for name in ("words", row.model):
                if name not in trained:
                    words = trained["words"].embeddings_ if "words" in trained else None
                    model = make(name, cell, reading, words)
                    trained[name] = model.fit(corpus, split, seed=seed, threads=threads)
            count = None if row.words is None else cell.window + row.words
            found = [
                trained[row.model].score(corpus, split, part, words=count)
                for part in (VALIDATION, TEST)
            ]
            judges[row.name].add(seed, *found)
    return [judge.result() for judge in judges.values()]


def chance(corpus: Corpus, split: Split, reading: str) -> list[Result]:
    """The lines that need no model: zero vectors and word frequencies."""
    counts = training_stream(corpus, split).counts
    made = []
    for name in ("zero vectors", "unigram"):
        judge = Judge(name, Cell(0, 0, 0), reading, split)
        found = []
        for part in (VALIDATION, TEST):
            words, negatives = split.words[split.of(part)], split.negatives[split.of(part)]
            if name == "unigram":
                found.append(scores.unigram(counts, words, negatives))
            else:
                found.append(scores.zero(len(words), split.settings.negatives))
        if name == "unigram" and reading == "logistic":
            constant = scores.fit_constant(found[0])
            found = [scored.scaled(1.0, constant) for scored in found]
        judge.add(0, *found)
        made.append(judge.result())
    return made


class Difference(NamedTuple):
    """How much better one row is than another, by articles drawn again and again."""

    mean: float
    low: float
    high: float
    """The middle 95 % of the bootstrap."""
    better: float
    """The share of draws in which the first is better."""

    @property
    def verdict(self) -> str:
        """Whether the interval leaves zero out: "better", "worse" or "tie"."""
        return "better" if self.low > 0 else "worse" if self.high < 0 else "tie"


def difference(
    pairs: Iterable[tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]],
    *,
    draws: int = 2000,
    seed: int = 0,
) -> Difference:
    """The paired bootstrap, clustered by article and pooled over cells.

    Each pair is the values of two rows on the same words and the article of each word, numbered
    apart between collections: all words of a drawn article come along, from every cell.
    """
    pairs = list(pairs)
    size = 1 + max(int(articles.max()) for _, _, articles in pairs)
    total, count = np.zeros(size), np.zeros(size)
    for one, other, articles in pairs:
        total += np.bincount(articles, one - other, minlength=size)
        count += np.bincount(articles, minlength=size)
    total, count = total[count > 0], count[count > 0]
    random = np.random.default_rng(seed)
    drawn = random.integers(0, len(total), (draws, len(total)))
    means = total[drawn].sum(1) / count[drawn].sum(1)
    low, high = np.quantile(means, [0.025, 0.975])
    mean = float(total.sum() / count.sum())
    return Difference(mean, float(low), float(high), float((means > 0).mean()))


def tested_articles(corpus: Corpus, split: Split) -> NDArray[np.int64]:
    """The article of each test word."""
    found: NDArray[np.int64] = corpus.equation_articles[split.occurrences[split.of(TEST)]]
    return found


def of_rows(results: Iterable[Result]) -> Mapping[str, Result]:
    """Results of one cell by row."""
    return {result.row: result for result in results}
