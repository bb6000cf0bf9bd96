"""Rankers of equations: baselines, models and the product's search behind one interface.

A ranker scores every equation of a corpus for a query, which is either words or an equation;
`answers` lists the kinds that it supports. Scores of different rankers are comparable only as ranks
or as z-scores (`Combination`).

A query equation is usually not in the library. Models with units compute its vector from its units
(fold-in). Other models use the mean of the most similar equations, weighted by unit overlap.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from eqemb.article import read_tokens
from eqemb.corpus.corpus import Corpus
from eqemb.corpus.split import TrainingStream
from eqemb.errors import UsageError
from eqemb.formula import Layout, layout
from eqemb.formula.likeness import likeness, outline
from eqemb.index.encoder import EncoderIndex
from eqemb.index.text import context_stems, sum_duplicates
from eqemb.models import features, fold_in
from eqemb.models.embeddings import Embeddings
from eqemb.models.registry import sides, titled
from eqemb.search.combination import EQUATION_PARTS, WORD_PARTS, apply_weights
from eqemb.search.engine import Search
from eqemb.search.query import WordQuery
from eqemb.search.typed_equation import EquationQuery

WORD_QUERY, EQUATION_QUERY = "words", "equation"
#: Weights of the parts of the library's own search, for each kind of query.
PARTS = {WORD_QUERY: WORD_PARTS, EQUATION_QUERY: EQUATION_PARTS}
SEARCH = "eqemb search"
WITH_ENCODER = f"{SEARCH} + encoder"
#: Parts of the search -> name of the ranker that uses this part alone.
SEARCH_PARTS = {
    "words": f"{SEARCH}, words only",
    "meaning": f"{SEARCH}, vectors only",
    "structure": f"{SEARCH}, structure only",
}
#: Names of the rankers without equation vectors.
BASELINE_RANKERS = (
    "BM25",
    "BM25F",
    "context means",
    "unit overlap",
    "row alignment",
    "sentence encoder",
    "sentence encoder, LaTeX",
)
#: BM25's term saturation and length normalisation; a context's length is the sum of its weights.
PLAIN_K1, PLAIN_B = 1.2, 0.75
NEAREST_COUNT = 10
"""Number of equations that represent one that is not in the library, in models without units."""

Scores = NDArray[np.float64]


class Query(NamedTuple):
    """A query: words, or an equation."""

    kind: str
    text: str
    """As typed."""
    words: tuple[str, ...] = ()
    form: str = ""
    units: tuple[str, ...] = ()
    occurrence: int | None = None
    """Index in the corpus, if the query is one of its equations."""


def word_query(text: str) -> Query:
    """Make a query from words."""
    return Query(WORD_QUERY, text, words=tuple(word.lower() for word in read_tokens(text)[0]))


def equation_query(latex: str, occurrence: int | None = None) -> Query:
    """Make a query from the LaTeX of an equation."""
    shape = layout(latex)
    units = tuple("\t".join(unit) for unit in shape.units())
    if not units:
        raise UsageError(f"{latex!r} contains no symbol to search for: give LaTeX")
    return Query(EQUATION_QUERY, latex, form=shape.canonical(), units=units, occurrence=occurrence)


class Ranker(Protocol):
    """Scores every equation of a corpus."""

    name: str
    answers: frozenset[str]
    """Supported kinds of queries."""

    def scores(self, query: Query) -> Scores:
        """Return a score for each occurrence; higher is better."""


# ------------------------------------------------------------ baselines


class Bm25:
    """BM25 over the words around an equation, each weighted by 1 / sqrt(distance)."""

    name = "BM25"
    answers = frozenset({WORD_QUERY})

    def __init__(self, words: Sequence[str], stream: TrainingStream) -> None:
        from scipy.sparse import coo_array

        self._rows = {word: row for row, word in enumerate(words)}
        parts = [np.empty((3, 0))]
        lengths = [np.empty(0)]
        for article, first in enumerate(stream.equation_starts[:-1].tolist()):
            own = slice(first, int(stream.equation_starts[article + 1]))
            start, end = stream.starts[article : article + 2].tolist()
            places = (stream.equation_positions[own] - start).tolist()
            if places:
                found = contexts(stream.tokens[start:end].astype(np.int64), places)
                parts.append(np.stack([found[0], found[1] + first, found[2]]))
                lengths.append(found[3])
        columns, owners, weights = np.concatenate(parts, axis=1)
        length = np.concatenate(lengths)
        norm = (
            PLAIN_K1 * (1 - PLAIN_B + PLAIN_B * length / max(length.mean(), 1e-12))
            if len(length)
            else length
        )
        owners = owners.astype(np.int64)
        impacts = weights * (PLAIN_K1 + 1) / (weights + norm[owners])
        shape = (len(stream.equation_types), len(words))
        self._impacts = coo_array((impacts, (owners, columns.astype(np.int64))), shape).tocsc()

    def scores(self, query: Query) -> Scores:
        """Sum idf times impact over the words of the query."""
        total = np.zeros(self._impacts.shape[0])
        for word in query.words:
            row = self._rows.get(word)
            if row is None:
                continue
            part = slice(*self._impacts.indptr[row : row + 2])
            count = part.stop - part.start
            idf = np.log1p((len(total) - count + 0.5) / (count + 0.5))
            total[self._impacts.indices[part]] += idf * self._impacts.data[part]
        return total


def contexts(
    ids: NDArray[np.int64], places: list[int]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the words around each equation of an article, weighted by 1 / sqrt(distance)."""
    (rows,), (owners,), (values,) = context_stems(ids, np.array(places))
    length = np.bincount(owners, values, minlength=len(places))
    return (*sum_duplicates(rows, owners, values), length)


class UnitOverlap:
    """Dice coefficient of the units of two equations, as multisets."""

    name = "unit overlap"
    answers = frozenset({EQUATION_QUERY})

    def __init__(self, corpus: Corpus) -> None:
        from scipy.sparse import coo_array

        self._types = corpus.equation_types
        self._rows = {unit: row for row, unit in enumerate(corpus.units)}
        self._sizes = np.diff(corpus.unit_starts)
        ones, owners = (
            np.ones(len(corpus.unit_ids)),
            np.repeat(np.arange(len(self._sizes)), self._sizes),
        )
        shape = (len(corpus.forms), len(corpus.units))
        self._counts = coo_array((ones, (owners, corpus.unit_ids)), shape).tocsc()  # summed

    def of_types(self, query: Query) -> Scores:
        """Return a score for each equation type."""
        overlap = np.zeros(len(self._sizes))
        for unit, times in Counter(query.units).items():
            row = self._rows.get(unit)
            if row is not None:
                part = slice(*self._counts.indptr[row : row + 2])
                shared = np.minimum(self._counts.data[part], times)
                overlap[self._counts.indices[part]] += shared
        found: Scores = 2 * overlap / (self._sizes + len(query.units))
        return found

    def scores(self, query: Query) -> Scores:
        """Return the score of each occurrence's type."""
        return self.of_types(query)[self._types]

    def nearest(self, query: Query) -> tuple[NDArray[np.int64], Scores]:
        """Return the types most similar to the query (itself included) and their scores."""
        dice = self.of_types(query)
        best = np.argsort(-dice, kind="stable")[:NEAREST_COUNT]
        best = best[dice[best] > 0]
        return best, dice[best]


class RowAlignment:
    """Aligns the rows of two equations, renaming letters; reranks the best by unit overlap."""

    name = "row alignment"
    answers = frozenset({EQUATION_QUERY})

    def __init__(self, corpus: Corpus, overlap: UnitOverlap, count: int = 500) -> None:
        self._corpus, self._overlap, self._count = corpus, overlap, count

    def scores(self, query: Query) -> Scores:
        """Score the best candidates by likeness; all others follow, by overlap."""
        dice = self._overlap.of_types(query)
        asked = outline(layout(query.text))
        found = 1e-3 * dice
        best = np.argsort(-dice, kind="stable")[: self._count]
        for kind in best[dice[best] > 0].tolist():
            other = outline(Layout.from_slt(self._corpus.forms[kind]))
            found[kind] += likeness(asked, other).score
        return found[self._corpus.equation_types]


class ContextMeans:
    """Represents an equation by the mean of the vectors of the words around it."""

    name = "context means"
    answers = frozenset({WORD_QUERY, EQUATION_QUERY})

    def __init__(
        self,
        model: Embeddings,
        corpus: Corpus,
        stream: TrainingStream,
        overlap: UnitOverlap,
        *,
        window: int = 16,
        idf: bool = True,
    ) -> None:
        vectors = np.array(model.arrays["alpha_words"])
        if idf:
            rare = np.log(max(1, stream.counts.sum()) / np.maximum(stream.counts, 1))
            vectors *= rare[:, None].astype(np.float32)
        self._rows, self._vectors = model.view("words").key_to_index, vectors
        self._overlap, self._corpus = overlap, corpus
        self._contexts = UnitMatrix(features.context_sums(vectors, stream, window))

    def scores(self, query: Query) -> Scores:
        """Return cosines with the words of the query, or with the words around it."""
        if query.kind == WORD_QUERY:
            rows = [self._rows[word] for word in query.words if word in self._rows]
            return self._contexts.cosines(self._vectors[rows].sum(axis=0))
        if query.occurrence is not None:
            return self._contexts.cosines(self._contexts.unit[query.occurrence])
        near, weights = self._overlap.nearest(query)
        of_type = np.zeros(len(self._corpus.forms))
        of_type[near] = weights
        return self._contexts.cosines(of_type[self._corpus.equation_types] @ self._contexts.unit)


# ------------------------------------------------------------ models


class ModelRanker:
    """A trained model, with the paper's pairing of matrices or with the other one.

    Paper's pairing: word queries use the cosine of the mean word vector and the equation vector, in
    matrices that were trained together; equation queries use the Euclidean distance of alpha.
    Other pairing: word queries use the other two matrices (alpha of words if the model has no rho
    of equations); equation queries use the cosine of alpha. Equations without a vector rank last.
    """

    answers = frozenset({WORD_QUERY, EQUATION_QUERY})

    def __init__(
        self,
        name: str,
        model: Embeddings,
        corpus: Corpus,
        overlap: UnitOverlap,
        *,
        other: bool = False,
    ) -> None:
        if model.config["corpus"] != corpus.sha256:
            raise UsageError(f"model {name!r} was trained on another corpus: train it again")
        self.name = titled(name) + (" (other pairing)" if other else "")
        self._model, self._overlap, self._other = model, overlap, other
        self._types = corpus.equation_types
        word, equation = sides(name)
        if other:
            swapped = {"alpha": "rho", "rho": "alpha"}
            word, equation = swapped[word], swapped[equation]
        if f"{equation}_equations" not in model.arrays:
            word = equation = "alpha"
        self._words = model.view("words", word)
        self._equations = UnitMatrix(model.arrays[f"{equation}_equations"])
        self._alpha = np.asarray(model.arrays["alpha_equations"])

    @cached_property
    def _forms(self) -> Mapping[str, int]:
        return self._model.view("equations").key_to_index

    @cached_property
    def _units(self) -> fold_in.Units:
        return fold_in.Units(self._model)

    def scores(self, query: Query) -> Scores:
        """Return the score of each occurrence's type."""
        if query.kind == WORD_QUERY:
            rows = [
                self._words.key_to_index[word]
                for word in query.words
                if word in self._words.key_to_index
            ]
            mean = self._words.vectors[rows].sum(axis=0)
            return self._equations.cosines(mean)[self._types]
        vector = self._vector(query)
        if self._other:
            return UnitMatrix(self._alpha).cosines(vector)[self._types]
        away = -np.linalg.norm(self._alpha - vector, axis=1)
        return _rank_last(away, np.logical_not(self._alpha.any(axis=1)))[self._types]

    def _vector(self, query: Query) -> NDArray[np.float64]:
        row = self._forms.get(query.form)
        if row is not None:
            return np.asarray(self._alpha[row], np.float64)
        if "alpha_units" in self._model.arrays:
            return np.asarray(self._units.fold([query.units]).alpha[0], np.float64)
        near, weights = self._overlap.nearest(query)
        mean: NDArray[np.float64] = weights @ self._alpha[near] / max(float(weights.sum()), 1e-12)
        return mean


class ArticleRanker:
    """Ranks by article vectors alone (the control), or by article plus equation vectors."""

    answers = frozenset({WORD_QUERY})

    def __init__(
        self, name: str, model: Embeddings, corpus: Corpus, *, equations: bool = False
    ) -> None:
        self.name = name
        self._words = model.view("words", "rho")
        vectors = np.asarray(model.arrays["alpha_articles"])[corpus.equation_articles]
        if equations:
            vectors = vectors + model.arrays["alpha_equations"][corpus.equation_types]
        self._vectors = UnitMatrix(vectors)

    def scores(self, query: Query) -> Scores:
        """Return cosines of the mean rho of the words and alpha."""
        rows = self._words.key_to_index
        known = [rows[word] for word in query.words if word in rows]
        return self._vectors.cosines(self._words.vectors[known].sum(axis=0))


# ------------------------------------------------------------ the product's search


class SearchRanker:
    """The library's own search, with all of its parts or with one of them."""

    answers = frozenset({WORD_QUERY, EQUATION_QUERY})

    def __init__(
        self,
        name: str,
        search: Search,
        corpus: Corpus,
        weights: Mapping[str, Mapping[str, float]] = PARTS,
        encoder: EncoderIndex | None = None,
    ) -> None:
        """`weights` maps each kind of query to the weights of the parts."""
        self.name, self._search, self._weights = name, search, weights
        self._encoder = encoder
        self.answers = frozenset(weights)
        self._rows = corpus_rows(search, corpus)
        self._allowed = search.segments.live

    def scores(self, query: Query) -> Scores:
        """Return the weighted sum of the parts."""
        weights = self._weights[query.kind]
        if query.kind == WORD_QUERY:
            asked = WordQuery(query.words)
            parts = self._search.parts_for_words(asked, self._allowed, weights)
        else:
            equation = EquationQuery(layout(query.text), None, encoder=self._encoder)
            parts = self._search.parts_for_equation(equation, self._allowed, weights)
            if weights == EQUATION_PARTS:
                weights = self._search.equation_weights
        if self._encoder is not None and query.kind == WORD_QUERY:
            parts["encoder"] = self._encoder.scores(" ".join(query.words))
        weighted = apply_weights(parts, weights)
        if query.kind == WORD_QUERY and weights == WORD_PARTS:
            weighted = self._search.weigh_words(asked, parts, self._allowed)
        total = np.zeros(len(self._rows))
        for scores in weighted.values():
            total += scores[self._rows]
        return total


def corpus_rows(search: Search, corpus: Corpus) -> NDArray[np.int64]:
    """Return the row of each equation of a corpus in the library's index."""
    rows = search.rows()
    return np.array([rows[equation] for equation in corpus.equation_names], np.int64)


def search_rankers(
    search: Search, corpus: Corpus, encoder: EncoderIndex | None = None
) -> list[Ranker]:
    """Return the whole search, with and without the encoder, and each of its parts."""
    whole = [SearchRanker(SEARCH, search, corpus)]
    if encoder is not None:
        whole.append(SearchRanker(WITH_ENCODER, search, corpus, encoder=encoder))
    alone: dict[str, dict[str, dict[str, float]]] = {
        "words": {WORD_QUERY: {"words": 1.0}, EQUATION_QUERY: {"words": 1.0}},
        "meaning": {WORD_QUERY: {"meaning": 1.0}, EQUATION_QUERY: {"meaning": 1.0}},
        "structure": {EQUATION_QUERY: {"structure": 1.0}},
    }
    if search.vectors is None:
        del alone["meaning"]
    return [
        *whole,
        *(SearchRanker(SEARCH_PARTS[part], search, corpus, each) for part, each in alone.items()),
    ]


# ------------------------------------------------------------ combinations


class Combination:
    """Weighted sum of the z-scores of the rankers that support the kind of query."""

    def __init__(self, rankers: Mapping[Ranker, float], name: str = "combination") -> None:
        self.name, self._rankers = name, dict(rankers)
        self.answers = frozenset().union(*(ranker.answers for ranker in rankers))

    def scores(self, query: Query) -> Scores:
        """Return the weighted sum of z-scores."""
        parts = [
            weight * z_scores(ranker.scores(query))
            for ranker, weight in self._rankers.items()
            if query.kind in ranker.answers
        ]
        total: Scores = np.sum(parts, axis=0)
        return total


def z_scores(scores: Scores) -> Scores:
    """Return the number of standard deviations above the mean of all equations."""
    deviation = scores.std()
    return (scores - scores.mean()) / deviation if deviation else np.zeros_like(scores)


class UnitMatrix:
    """Normalised rows of a matrix, for cosine similarity."""

    def __init__(self, vectors: NDArray[np.floating]) -> None:
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        self.unit = (vectors / np.maximum(norms, 1e-12)).astype(np.float32)
        self._missing = norms[:, 0] == 0

    def cosines(self, query: NDArray[np.floating]) -> Scores:
        """Return the cosine of each row with a vector; rows of zeros rank last."""
        unit = (query / max(float(np.linalg.norm(query)), 1e-12)).astype(np.float32)
        return _rank_last((self.unit @ unit).astype(np.float64), self._missing)


def _rank_last(scores: Scores, missing: NDArray[np.bool_]) -> Scores:
    """Give missing items a score below all others."""
    if missing.any() and not missing.all():
        scores[missing] = scores[~missing].min() - 1e-6
    return scores
