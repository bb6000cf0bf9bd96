"""Tune the weights of the search on development queries, one at a time.

    python benchmarks/weights.py LIBRARY [--from-neutral]

*Words*: the weights of fields and BM25's saturation, then the weight of vectors. The objective is
the sum of nDCG@10 over development topics in words (odd numbers) and of MRR over the development
halves of labels and references (articles with even numbers); the index has no labels in the label
task and no referring sentences in the reference task. *Equations*: the number of similar equations
that describe a query, the number of their words, the power of their likeness, and the weights of
words and vectors, by nDCG@10 over development topics that are equations. Starting from the current
values, or from NEUTRAL ones, each setting is tried at several values in turn; a value that gains
LEAST or more is taken, until a round changes nothing or after ROUNDS. Test topics and the other
halves are never used.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from judged import QRELS, TOPICS
from numpy.typing import NDArray
from scipy.sparse import csc_array

from eqemb.evaluation import judged_topics, tasks
from eqemb.evaluation.bm25f import AROUND, FieldCounts
from eqemb.evaluation.rankers import EQUATION_QUERY, WORD_QUERY, Query
from eqemb.evaluation.tasks import Displays, Item
from eqemb.facade.library import Library
from eqemb.formula import layout
from eqemb.index import text
from eqemb.models import workspace
from eqemb.search import combination, scoring
from eqemb.search.engine import Search
from eqemb.search.typed_equation import EquationQuery

LEAST = 0.003
ROUNDS = 10
Settings = dict[str, float]
FIELD_VALUES = (0.0, 0.15, 0.3, 0.6, 1.0, 2.0, 3.0, 5.0)
WORD_VALUES: dict[str, tuple[float, ...]] = {
    **dict.fromkeys(text.FIELDS, FIELD_VALUES),
    "k1": (0.3, 0.6, 1.2, 2.0),
    "b": (0.0, 0.25, 0.5, 0.75, 1.0),
    "meaning": (0.0, 0.05, 0.1, 0.2, 0.3, 0.5),
}
EQUATION_VALUES: dict[str, tuple[float, ...]] = {
    "kin": (5, 10, 20, 40),
    "topic": (5, 8, 10, 12, 20),
    "trust": (4, 8, 16),
    "words": (0.0, 0.4, 0.7, 1.0, 1.5, 2.0, 3.0),
    "meaning": (0.0, 0.05, 0.1, 0.2, 0.4),
}
#: All fields and parts have the same weight; k1 and b are the textbook values.
NEUTRAL_WORDS: Settings = {
    **dict.fromkeys(text.FIELDS, 1.0),
    "k1": 1.2,
    "b": 0.75,
    "meaning": 1.0,
}
NEUTRAL_EQUATION: Settings = {"kin": 10, "topic": 10, "trust": 1, "words": 1.0, "meaning": 1.0}


def ascend(
    start: Settings, values: dict[str, tuple[float, ...]], judge: Callable[[Settings], float]
) -> Settings:
    """Change one setting at a time, as long as the objective improves."""
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


class Fields(FieldCounts):
    """Counts of every stem in every field of every equation, scored as the product does."""

    def scorer(self, settings: Settings, without: str = "") -> Callable[[Query], Any]:
        """Return the scores of `TextIndex.score_terms`, computed from the counts of fields."""
        total = self.matrices[AROUND]
        for name in text.FIELDS:
            if name != without and settings[name]:
                total = total + settings[name] * self.matrices[name]
        lengths = np.asarray(self.matrices[AROUND].sum(axis=1)).ravel()
        share = 1 - settings["b"] + settings["b"] * lengths / text.FULL_CONTEXT
        total = csc_array(total)
        total.data = total.data / (total.data + settings["k1"] * share[total.indices])
        counts = np.diff(total.indptr)
        idfs = np.log1p((self.size - counts + 0.5) / (counts + 0.5))

        def scores(query: Query) -> NDArray[np.float64]:
            rows = [row for row in self.rows(query) if counts[row]]
            made = np.zeros(self.size)
            for row in rows:
                part = slice(total.indptr[row], total.indptr[row + 1])
                made[total.indices[part]] += idfs[row] * total.data[part]
            return np.asarray(made / max(idfs[rows].sum(), 1e-9))

        return scores


def mean(values: list[float]) -> float:
    """Return the mean of figures."""
    return float(np.mean(values))


class Development:
    """The development queries."""

    def __init__(self, library: Library) -> None:
        self.search: Search = library.engine
        self.corpus = workspace.corpus(library)
        grades = judged_topics.mean_grades(judged_topics.read_judgements(QRELS))
        self._table = judged_topics.JudgedTopics(
            self.corpus, judged_topics.read_topics(TOPICS), grades
        )
        self._displays = Displays.read(library, self.corpus)
        self.items = {
            "label": [i for i in tasks.labels(library, self.corpus) if i.is_development],
            "references": [i for i in tasks.references(library, self.corpus) if i.is_development],
        }
        place = self.search.rows()
        self.rows = np.array([place[name] for name in self.corpus.equation_names])

    def topics(self, kind: str) -> list[judged_topics.Topic]:
        """Return the topics with odd numbers."""
        return [topic for topic in self._table.of_kind(kind) if topic.is_development]

    def judged(self, kind: str, scores: Callable[[Query], Any]) -> float:
        """Return the mean nDCG@10."""
        return mean([self._table.measured(t, scores(t.query))["ndcg"] for t in self.topics(kind)])

    def found(self, items: list[Item], scores: Callable[[Query], Any]) -> float:
        """Return the mean reciprocal rank."""
        return mean([tasks.measure(self._displays, i, scores(i.query))["mrr"] for i in items])


def choose_words(library: Library, data: Development, start: Settings) -> None:
    """Tune the weights of fields and of vectors."""
    fields, meaning = Fields(library, data.corpus), data.search.vectors
    if meaning is None:
        raise SystemExit("this library has no model: rebuild it with one")
    contexts = meaning.contexts.rows(data.rows.tolist())
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
                data.found(data.items[without], scores)
                if without
                else data.judged(WORD_QUERY, scores)
            )
        print("         ", " ".join(f"{figure:.3f}" for figure in figures), flush=True)
        return sum(figures)

    ascend(start, WORD_VALUES, judge)


def choose_equations(data: Development, start: Settings) -> None:
    """Tune the description of a query equation and the weights of parts."""
    asker = data.search
    whole = np.ones(len(asker.types), bool)
    kept: dict[str, tuple[EquationQuery, Any, dict[str, Any]]] = {}
    for topic in data.topics(EQUATION_QUERY):
        asked = EquationQuery(layout(topic.query.text), None)
        found = asker.similar_types(asked.layout, whole)
        parts = asker.parts_for_equation(asked, whole, ("structure", "meaning"))
        kept[topic.query.text] = asked, found, {p: s[data.rows] for p, s in parts.items()}

    def judge(settings: Settings) -> float:
        scoring.TOPIC_TYPES = int(settings["kin"])
        scoring.TOPIC_TRUST = int(settings["trust"])

        def scores(query: Query) -> Any:
            asked, found, parts = kept[query.text]
            total = parts["structure"] + settings["meaning"] * parts.get("meaning", 0.0)
            words = asker.topic(asked, found, int(settings["topic"]))
            return total + settings["words"] * asker.text.score_stems(words)[data.rows]

        return data.judged(EQUATION_QUERY, scores)

    ascend(start, EQUATION_VALUES, judge)


def standing() -> tuple[Settings, Settings]:
    """Return the current values."""
    words = {
        **text.FIELDS,
        "k1": text.BM25_K1,
        "b": text.BM25_B,
        "meaning": combination.WORD_PARTS["meaning"],
    }
    equation: Settings = {
        "kin": scoring.TOPIC_TYPES,
        "topic": scoring.TOPIC_WORDS,
        "trust": scoring.TOPIC_TRUST,
    }
    return words, equation | {
        part: combination.EQUATION_PARTS[part] for part in ("words", "meaning")
    }


def main() -> None:
    """Tune the weights and print them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("--from-neutral", action="store_true", help="start from neutral values")
    given = parser.parse_args()
    words, equation = (NEUTRAL_WORDS, NEUTRAL_EQUATION) if given.from_neutral else standing()
    with Library.open(given.library) as library:
        data = Development(library)
        counts = {name: len(items) for name, items in data.items.items()}
        print(f"{len(data.topics(WORD_QUERY))} topics in words, {counts}; the sum of three figures")
        choose_words(library, data, words)
        print(f"{len(data.topics(EQUATION_QUERY))} topics that are equations; nDCG@10")
        choose_equations(data, equation)


if __name__ == "__main__":
    main()
