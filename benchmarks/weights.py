"""What the weights of search rest on: chosen on development queries, one at a time.

    python benchmarks/weights.py LIBRARY [--from-neutral]

*Words*: the weights of fields and BM25's saturation, then the weight of meaning. The figure is the
sum of nDCG@10 over development topics in words (odd numbers), and of MRR over the development half
of labels and of references (articles with even numbers); the label is left out of the index where
labels are asked, and referring sentences where references are. *Equations*: how many kin make a
topic, of how many words, by which power of their likeness they are trusted, and the weights of
words and meaning, by nDCG@10 over development topics that are equations. From where `wording` and
`search` stand, or from NEUTRAL values, which nobody chose, each is tried at several values in turn;
one that adds LEAST or more is taken, until a round changes nothing (after ROUNDS it ends anyway).
Test topics and the other halves are never looked at.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from judged import QRELS, TOPICS
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array

from eqemb.article import read_tokens
from eqemb.corpus.corpus import Corpus
from eqemb.evaluation import retrieval, tasks
from eqemb.evaluation.rankers import EQUATION, WORDS, Query
from eqemb.evaluation.tasks import Displays, Item
from eqemb.facade.library import Library
from eqemb.formula import layout
from eqemb.index import text
from eqemb.index.stemming import stem
from eqemb.models import workspace
from eqemb.search import engine
from eqemb.search.engine import EquationQuery, Search

LEAST = 0.003
ROUNDS = 10
Settings = dict[str, float]
FIELD_VALUES = (0.0, 0.15, 0.3, 0.6, 1.0, 2.0, 3.0, 5.0)
WORD_VALUES: dict[str, tuple[float, ...]] = {
    **dict.fromkeys(text.FIELDS, FIELD_VALUES),
    "k1": (0.3, 0.6, 1.2, 2.0),
    "meaning": (0.0, 0.05, 0.1, 0.2, 0.3, 0.5),
}
EQUATION_VALUES: dict[str, tuple[float, ...]] = {
    "kin": (5, 10, 20, 40),
    "topic": (5, 8, 10, 12, 20),
    "trust": (4, 8, 16),
    "words": (0.0, 0.4, 0.7, 1.0, 1.5, 2.0, 3.0),
    "meaning": (0.0, 0.05, 0.1, 0.2, 0.4),
}
#: Every field and part counts alike, kin are trusted by their likeness; k1 is the textbook's.
NEUTRAL_WORDS: Settings = {**dict.fromkeys(text.FIELDS, 1.0), "k1": 1.2, "meaning": 1.0}
NEUTRAL_EQUATION: Settings = {"kin": 10, "topic": 10, "trust": 1, "words": 1.0, "meaning": 1.0}


def ascend(
    start: Settings, values: dict[str, tuple[float, ...]], judge: Callable[[Settings], float]
) -> Settings:
    """One setting changed at a time, for as long as that adds something."""
    now, best = start, judge(start)
    print(f"{best:.4f}  {now}", flush=True)
    for _ in range(ROUNDS):
        before = now
        for name, tried in values.items():
            for value in tried:
                other = now | {name: value}
                figure = judge(other) if value != now[name] else -1.0
                if figure >= best + LEAST:
                    now, best = other, figure
                    print(f"{best:.4f}  {name} {value:g}", flush=True)
        if now == before:
            break
    print(f"{best:.4f}  {now}", flush=True)
    return now


class Fields:
    """How often every stem stands in every field of every equation."""

    def __init__(self, library: Library, corpus: Corpus) -> None:
        self._stems: dict[str, int] = {}
        row = {name: at for at, name in enumerate(corpus.equation_names)}
        names = iter(library.engine.names())
        parts: dict[str, list[Any]] = {name: [] for name in ("around", *text.FIELDS)}
        for title, prose, equations in text.articles_with_equations(library.records):
            words, marks = read_tokens(prose)
            places = np.array(marks, np.int64)
            rows, owners, weights = (
                part[0] for part in text.context_stems(self._numbers(words), places)
            )
            own = [row.get(next(names), -1) for _ in equations]
            parts["around"].append((np.array(own)[owners], rows, weights))
            for at, equation in zip(own, equations, strict=True):
                for name, said in text.field_words(title, equation).items():
                    found = self._numbers(said)
                    parts[name].append((np.full(len(found), at), found, np.ones(len(found))))
        self.size = len(corpus.equation_names)
        self._counts = {name: self._matrix(found) for name, found in parts.items()}

    def _numbers(self, words: list[str]) -> NDArray[np.int64]:
        found = [self._stems.setdefault(stem(word), len(self._stems)) for word in words]
        return np.array(found, np.int64)

    def _matrix(self, found: list[Any]) -> Any:
        at, rows, weights = (np.concatenate(part) for part in zip(*found, strict=True))
        here = at >= 0  # near-duplicates are left out of the corpus
        shape = (self.size, len(self._stems))
        return coo_array((weights[here], (at[here], rows[here])), shape).tocsr()

    def scorer(self, settings: Settings, without: str = "") -> Callable[[Query], Any]:
        """As `TextIndex.score_terms` scores, by the fields' counts."""
        total = self._counts["around"]
        for name in text.FIELDS:
            if name != without and settings[name]:
                total = total + settings[name] * self._counts[name]
        total = csc_array(total)
        total.data = total.data / (total.data + settings["k1"])
        counts = np.diff(total.indptr)
        idfs = np.log1p((self.size - counts + 0.5) / (counts + 0.5))

        def scores(query: Query) -> NDArray[np.float64]:
            found = {self._stems.get(stem(word)) for word in query.words}
            rows = [row for row in found if row is not None and counts[row]]
            made = np.zeros(self.size)
            for row in rows:
                part = slice(total.indptr[row], total.indptr[row + 1])
                made[total.indices[part]] += idfs[row] * total.data[part]
            return np.asarray(made / max(idfs[rows].sum(), 1e-9))

        return scores


def mean(values: list[float]) -> float:
    """Of figures."""
    return float(np.mean(values))


class Development:
    """The queries that may choose."""

    def __init__(self, library: Library) -> None:
        self.search: Search = library.engine
        self.corpus = workspace.corpus(library)
        grades = retrieval.mean_grades(retrieval.read_judgements(QRELS))
        self._table = retrieval.Table(self.corpus, retrieval.read_topics(TOPICS), grades)
        self._displays = Displays.read(library, self.corpus)
        self.items = {
            "label": [i for i in tasks.labels(library, self.corpus) if i.is_development],
            "references": [i for i in tasks.references(library, self.corpus) if i.is_development],
        }
        place = {name: at for at, name in enumerate(self.search.names())}
        self.rows = np.array([place[name] for name in self.corpus.equation_names])

    def topics(self, kind: str) -> list[retrieval.Topic]:
        """Those with odd numbers."""
        return [topic for topic in self._table.of_kind(kind) if topic.is_development]

    def judged(self, kind: str, scores: Callable[[Query], Any]) -> float:
        """nDCG@10."""
        return mean([self._table.measured(t, scores(t.query))["ndcg"] for t in self.topics(kind)])

    def found(self, items: list[Item], scores: Callable[[Query], Any]) -> float:
        """MRR."""
        return mean([tasks.measure(self._displays, i, scores(i.query))["mrr"] for i in items])


def choose_words(library: Library, data: Development, start: Settings) -> None:
    """Weights of fields and of meaning."""
    fields, meaning = Fields(library, data.corpus), data.search.vectors
    if meaning is None:
        raise SystemExit("this library has no model: build it with one")
    contexts = meaning.contexts.matrix[data.rows]
    vectors: dict[tuple[str, ...], Any] = {}

    def cosines(query: Query) -> Any:
        if query.words not in vectors:
            vectors[query.words] = np.maximum(contexts @ meaning.words_vector(query.words), 0)
        return vectors[query.words]

    def judge(settings: Settings) -> float:
        figures = []
        for without in ("", *data.items):
            words = fields.scorer(settings, without)

            def scores(query: Query, words: Callable[[Query], Any] = words) -> Any:
                return words(query) + settings["meaning"] * cosines(query)

            figures.append(
                data.found(data.items[without], scores) if without else data.judged(WORDS, scores)
            )
        print("         ", " ".join(f"{figure:.3f}" for figure in figures), flush=True)
        return sum(figures)

    ascend(start, WORD_VALUES, judge)


def choose_equations(data: Development, start: Settings) -> None:
    """What an equation's topic is, and weights of parts."""
    asker = data.search
    whole = np.ones(len(asker.types), bool)
    kept: dict[str, tuple[EquationQuery, Any, dict[str, Any]]] = {}
    for topic in data.topics(EQUATION):
        asked = EquationQuery(layout(topic.query.text), None)
        found = asker.similar_types(asked.layout, whole)
        parts = asker.parts_for_equation(asked, whole, ("structure", "meaning"))
        kept[topic.query.text] = asked, found, {p: s[data.rows] for p, s in parts.items()}

    def judge(settings: Settings) -> float:
        engine.TOPIC_TYPES = int(settings["kin"])
        engine.TOPIC_TRUST = int(settings["trust"])

        def scores(query: Query) -> Any:
            asked, found, parts = kept[query.text]
            total = parts["structure"] + settings["meaning"] * parts.get("meaning", 0.0)
            words = asker.topic(asked, found, int(settings["topic"]))
            return total + settings["words"] * asker.text.score_stems(words)[data.rows]

        return data.judged(EQUATION, scores)

    ascend(start, EQUATION_VALUES, judge)


def standing() -> tuple[Settings, Settings]:
    """The values that `wording` and `search` have."""
    words = {**text.FIELDS, "k1": text.BM25_K1, "meaning": engine.WORD_PARTS["meaning"]}
    equation: Settings = {
        "kin": engine.TOPIC_TYPES,
        "topic": engine.TOPIC_WORDS,
        "trust": engine.TOPIC_TRUST,
    }
    return words, equation | {part: engine.EQUATION_PARTS[part] for part in ("words", "meaning")}


def main() -> None:
    """Choose and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("--from-neutral", action="store_true", help="not from where they stand")
    given = parser.parse_args()
    words, equation = (NEUTRAL_WORDS, NEUTRAL_EQUATION) if given.from_neutral else standing()
    with Library.open(given.library) as library:
        data = Development(library)
        counts = {name: len(items) for name, items in data.items.items()}
        print(f"{len(data.topics(WORDS))} topics in words, {counts}; the sum of three figures")
        choose_words(library, data, words)
        print(f"{len(data.topics(EQUATION))} topics that are equations; nDCG@10")
        choose_equations(data, equation)


if __name__ == "__main__":
    main()
