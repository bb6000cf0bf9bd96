"""BM25F over the fields of the text index, with settings tuned on development topics.

The frequency of a stem in an equation is a weighted sum over fields: the words around it, each by
1 / sqrt(distance), those of its sentence, section, title and label, of sentences that refer to it,
and those in it. In each field it is divided by 1 - b + b * length / mean length; the sum is
saturated by k1. It differs from the words of the product's search by the length of every field and
by knowing no compounds, and its settings are chosen for judged topics alone.
"""

from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqemb.article import read_tokens
from eqemb.corpus.corpus import Corpus
from eqemb.evaluation.judged_topics import JudgedTopics
from eqemb.evaluation.rankers import WORD_QUERY, Query, Scores
from eqemb.facade.library import Library
from eqemb.index import text
from eqemb.index.stemming import stem

Settings = dict[str, float]
#: The field of the words around an equation; its weight is 1.
AROUND = "around"
#: Values that are tried, and where the search starts: equal weights, k1 and b of textbooks.
BM25F_GRID: dict[str, tuple[float, ...]] = {
    "k1": (0.3, 0.6, 1.2, 2.0, 4.0),
    "b": (0.0, 0.25, 0.5, 0.75, 1.0),
    **dict.fromkeys(text.FIELDS, (0.0, 0.15, 0.3, 0.6, 1.0, 2.0, 4.0)),
}
START: Settings = {"k1": 1.2, "b": 0.75, **dict.fromkeys(text.FIELDS, 1.0)}
_ROUNDS = 5


class FieldCounts:
    """Counts of every stem in every field of every equation of a corpus."""

    def __init__(self, library: Library, corpus: Corpus) -> None:
        self._stems: dict[str, int] = {}
        row = {name: at for at, name in enumerate(corpus.equation_names)}
        names = iter(library.engine.rows())
        parts: dict[str, list[Any]] = {name: [] for name in (AROUND, *text.FIELDS)}
        parts_of = map(text.articles_with_equations, library.records.parts)
        for title, prose, equations in chain.from_iterable(parts_of):
            words, marks = read_tokens(prose)
            places = np.array(marks, np.int64)
            rows, owners, weights = (
                part[0] for part in text.context_stems(self._numbers(words), places)
            )
            own = [row.get(next(names), -1) for _ in equations]
            parts[AROUND].append((np.array(own)[owners], rows, weights))
            for at, equation in zip(own, equations, strict=True):
                for name, said in text.field_words(title, equation).items():
                    found = self._numbers(said)
                    parts[name].append((np.full(len(found), at), found, np.ones(len(found))))
        self.size = len(corpus.equation_names)
        self.matrices = {name: self._matrix(found) for name, found in parts.items()}
        """Field -> counts, equations by stems."""

    def _numbers(self, words: list[str]) -> NDArray[np.int64]:
        found = [self._stems.setdefault(stem(word), len(self._stems)) for word in words]
        return np.array(found, np.int64)

    def _matrix(self, found: list[Any]) -> Any:
        from scipy.sparse import coo_array

        at, rows, weights = (np.concatenate(part) for part in zip(*found, strict=True))
        here = at >= 0  # near-duplicates are not in the corpus
        shape = (self.size, len(self._stems))
        return coo_array((weights[here], (at[here], rows[here])), shape).tocsr()

    def rows(self, query: Query) -> list[int]:
        """Return the stems of a query that the corpus has, each once."""
        found = dict.fromkeys(self._stems.get(stem(word)) for word in query.words)
        return [row for row in found if row is not None]


class Bm25F:
    """BM25F with given settings; a task may leave out the field that has its answers."""

    name = "BM25F"
    answers = frozenset({WORD_QUERY})

    def __init__(
        self, counts: FieldCounts, settings: Mapping[str, float] = START, without: str = ""
    ) -> None:
        from scipy.sparse import csc_array

        self._counts = counts
        total = None
        for name, matrix in counts.matrices.items():
            weight = settings.get(name, 1.0)
            if not weight or name == without:
                continue
            length = np.asarray(matrix.sum(axis=1)).ravel()
            norm = 1 - settings["b"] + settings["b"] * length / max(length.mean(), 1e-12)
            part = matrix.copy()
            part.data = (
                weight * part.data / np.repeat(np.maximum(norm, 1e-12), np.diff(part.indptr))
            )
            total = part if total is None else total + part
        self._impacts = csc_array(total)
        self._impacts.data /= self._impacts.data + settings["k1"]
        having = np.diff(self._impacts.indptr)
        self._idf = np.log1p((counts.size - having + 0.5) / (having + 0.5))

    def scores(self, query: Query) -> Scores:
        """Sum idf times saturated frequency over the stems of the query."""
        total = np.zeros(self._counts.size)
        for row in self._counts.rows(query):
            part = slice(*self._impacts.indptr[row : row + 2])
            total[self._impacts.indices[part]] += self._idf[row] * self._impacts.data[part]
        return total


def tune(
    table: JudgedTopics,
    counts: FieldCounts,
    progress: Callable[[str], object] = lambda _: None,
) -> Settings:
    """Choose settings by nDCG@10 on development topics in words, one at a time.

    Each setting is tried at all values of `BM25F_GRID` in turn; a value that is better is taken,
    until a round changes nothing.
    """
    topics = [topic for topic in table.of_kind(WORD_QUERY) if topic.is_development]

    def judge(settings: Settings) -> float:
        ranker = Bm25F(counts, settings)
        scores = (table.measured(topic, ranker.scores(topic.query)) for topic in topics)
        return float(np.mean([each["ndcg"] for each in scores]))

    now, best = dict(START), judge(START)
    for _ in range(_ROUNDS):
        before = dict(now)
        for name, values in BM25F_GRID.items():
            for value in values:
                tried = now | {name: value}
                found = judge(tried) if value != now[name] else best
                if found > best + 1e-9:
                    now, best = tried, found
        progress(f"BM25F: nDCG@10 of {best:.3f} on {len(topics)} development topics")
        if now == before:
            break
    return now
