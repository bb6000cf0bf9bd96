"""Everything that ranks equations, plain rivals and models alike, behind one small face.

A ranker gives a score to every equation of a corpus, for a query in words or for one that is an
equation; `answers` says which kinds of query it can take. Scores of different rankers compare only
as orders, or as z-scores (`Combination`).

A typed equation is mostly not in the library. A model with units folds it in by them. To the others
it is the mean of the equations most like it by their units, weighted by the overlap.
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
from eqemb.index.encoder import Encode
from eqemb.index.text import around, summed
from eqemb.models import features, fold_in
from eqemb.models.embeddings import Embeddings
from eqemb.models.registry import sides, titled
from eqemb.search.engine import EQUATION_PARTS, WORD_PARTS, Asked, Search, weighed
from eqemb.search.query import Question

WORDS, EQUATION = "words", "equation"
#: What the parts of the library's own search weigh, for each kind of query.
PARTS = {WORDS: WORD_PARTS, EQUATION: EQUATION_PARTS}
#: The names of rivals that know nothing of equation vectors.
PRODUCT, ITS_PARTS = "eqemb search", ("its words", "its meaning", "its structure")
PLAIN = ("BM25", "context means", "unit overlap", "side by side", "sentence encoder")
#: BM25's saturation and length norm; the length of a context is the sum of its weights.
K1, B = 1.2, 0.75
NEAR = 10
"""How many equations stand for one that is not in the library, in a model without units."""

Scores = NDArray[np.float64]


class Query(NamedTuple):
    """What is asked: words, or an equation."""

    kind: str
    text: str
    """As it was typed."""
    words: tuple[str, ...] = ()
    form: str = ""
    units: tuple[str, ...] = ()
    occurrence: int | None = None
    """Of an equation that stands in the corpus: which one it is."""


def in_words(text: str) -> Query:
    """A query in words."""
    return Query(WORDS, text, words=tuple(word.lower() for word in read_tokens(text)[0]))


def like(latex: str, occurrence: int | None = None) -> Query:
    """A query that is an equation."""
    shape = layout(latex)
    units = tuple("\t".join(unit) for unit in shape.units())
    if not units:
        raise UsageError(f"there is no symbol to look for in {latex!r}: give LaTeX")
    return Query(EQUATION, latex, form=shape.canonical(), units=units, occurrence=occurrence)


class Ranker(Protocol):
    """Scores for every equation of a corpus."""

    name: str
    answers: frozenset[str]
    """The kinds of query that it takes."""

    def scores(self, query: Query) -> Scores:
        """One for each occurrence, higher is better."""


# ------------------------------------------------------------ plain rivals


class Bm25:
    """Words around an equation, each weighted by 1 / sqrt(distance)."""

    name = "BM25"
    answers = frozenset({WORDS})

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
        norm = K1 * (1 - B + B * length / max(length.mean(), 1e-12)) if len(length) else length
        owners = owners.astype(np.int64)
        impacts = weights * (K1 + 1) / (weights + norm[owners])
        shape = (len(stream.equation_types), len(words))
        self._impacts = coo_array((impacts, (owners, columns.astype(np.int64))), shape).tocsc()

    def scores(self, query: Query) -> Scores:
        """The sum over the query's words of idf times impact."""
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
    """Words around each equation of an article, with the sum of 1 / sqrt(distance) of each."""
    (rows,), (owners,), (values,) = around(ids, np.array(places))
    length = np.bincount(owners, values, minlength=len(places))
    return (*summed(rows, owners, values), length)


class UnitOverlap:
    """Units that two equations share, as multisets: Dice."""

    name = "unit overlap"
    answers = frozenset({EQUATION})

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
        """One for each type."""
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
        """Of the type of each occurrence."""
        return self.of_types(query)[self._types]

    def nearest(self, query: Query) -> tuple[NDArray[np.int64], Scores]:
        """The types most like the query, and how like they are; itself where it is there."""
        dice = self.of_types(query)
        best = np.argsort(-dice, kind="stable")[:NEAR]
        best = best[dice[best] > 0]
        return best, dice[best]


class SideBySide:
    """Rows of two equations laid side by side, letters renamed: the best by overlap ranked anew."""

    name = "side by side"
    answers = frozenset({EQUATION})

    def __init__(self, corpus: Corpus, overlap: UnitOverlap, count: int = 500) -> None:
        self._corpus, self._overlap, self._count = corpus, overlap, count

    def scores(self, query: Query) -> Scores:
        """How alike the best are; what is not among them comes after them, by overlap."""
        dice = self._overlap.of_types(query)
        asked = outline(layout(query.text))
        found = 1e-3 * dice
        best = np.argsort(-dice, kind="stable")[: self._count]
        for kind in best[dice[best] > 0].tolist():
            other = outline(Layout.from_slt(self._corpus.forms[kind]))
            found[kind] += likeness(asked, other).score
        return found[self._corpus.equation_types]


class ContextMeans:
    """The mean of the vectors of the words around an equation: no equation has a vector."""

    name = "context means"
    answers = frozenset({WORDS, EQUATION})

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
        self._contexts = Directions(features.context_sums(vectors, stream, window))

    def scores(self, query: Query) -> Scores:
        """Cosines with the query's words, or with the words around the query."""
        if query.kind == WORDS:
            rows = [self._rows[word] for word in query.words if word in self._rows]
            return self._contexts.cosines(self._vectors[rows].sum(axis=0))
        if query.occurrence is not None:
            return self._contexts.cosines(self._contexts.unit[query.occurrence])
        near, weights = self._overlap.nearest(query)
        of_type = np.zeros(len(self._corpus.forms))
        of_type[near] = weights
        return self._contexts.cosines(of_type[self._corpus.equation_types] @ self._contexts.unit)


class SentenceEncoder:
    """Any encoder of texts: of the text around an equation for words, of LaTeX for LaTeX."""

    name = "sentence encoder"
    answers = frozenset({WORDS, EQUATION})

    def __init__(self, encode: Encode, passages: list[str], formulas: list[str]) -> None:
        self._encode = encode
        self._texts = {WORDS: passages, EQUATION: formulas}
        self._encoded: dict[str, Directions] = {}

    def scores(self, query: Query) -> Scores:
        """Cosines."""
        if query.kind not in self._encoded:  # each text once: equations repeat
            texts = list(dict.fromkeys(self._texts[query.kind]))
            place = {text: at for at, text in enumerate(texts)}
            rows = [place[text] for text in self._texts[query.kind]]
            self._encoded[query.kind] = Directions(self._encode(texts)[rows])
        return self._encoded[query.kind].cosines(self._encode([query.text])[0])


# ------------------------------------------------------------ models


class ModelRanker:
    """A trained model, by the paper's pairing or by the other.

    Paper: the mean of the words' vectors and the equation's, by cosine, in matrices that were
    trained together; equations by the Euclidean distance of their alpha. Other: words in the other
    pair of matrices (alpha of words where the model has no rho of equations); equations by the
    cosine of their alpha. An equation that has no vector comes last.
    """

    answers = frozenset({WORDS, EQUATION})

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
        self.name = titled(name) + (" (other)" if other else "")
        self._model, self._overlap, self._other = model, overlap, other
        self._types = corpus.equation_types
        word, equation = sides(name)
        if other:
            swapped = {"alpha": "rho", "rho": "alpha"}
            word, equation = swapped[word], swapped[equation]
        if f"{equation}_equations" not in model.arrays:
            word = equation = "alpha"
        self._words = model.view("words", word)
        self._equations = Directions(model.arrays[f"{equation}_equations"])
        self._alpha = np.asarray(model.arrays["alpha_equations"])

    @cached_property
    def _forms(self) -> Mapping[str, int]:
        return self._model.view("equations").key_to_index

    @cached_property
    def _units(self) -> fold_in.Units:
        return fold_in.Units(self._model)

    def scores(self, query: Query) -> Scores:
        """Of the type of each occurrence."""
        if query.kind == WORDS:
            rows = [
                self._words.key_to_index[word]
                for word in query.words
                if word in self._words.key_to_index
            ]
            mean = self._words.vectors[rows].sum(axis=0)
            return self._equations.cosines(mean)[self._types]
        vector = self._vector(query)
        if self._other:
            return Directions(self._alpha).cosines(vector)[self._types]
        away = -np.linalg.norm(self._alpha - vector, axis=1)
        return _last(away, np.logical_not(self._alpha.any(axis=1)))[self._types]

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
    """A model's article vectors: alone, the control, or with the equations' added to them."""

    answers = frozenset({WORDS})

    def __init__(
        self, name: str, model: Embeddings, corpus: Corpus, *, equations: bool = False
    ) -> None:
        self.name = name
        self._words = model.view("words", "rho")
        vectors = np.asarray(model.arrays["alpha_articles"])[corpus.equation_articles]
        if equations:
            vectors = vectors + model.arrays["alpha_equations"][corpus.equation_types]
        self._vectors = Directions(vectors)

    def scores(self, query: Query) -> Scores:
        """Cosines of the mean of the words' rho and alpha."""
        rows = self._words.key_to_index
        known = [rows[word] for word in query.words if word in rows]
        return self._vectors.cosines(self._words.vectors[known].sum(axis=0))


# ------------------------------------------------------------ the product


class Product:
    """The library's own search: all of its parts as it weighs them, or one alone."""

    answers = frozenset({WORDS, EQUATION})

    def __init__(
        self,
        name: str,
        search: Search,
        corpus: Corpus,
        weights: Mapping[str, Mapping[str, float]] = PARTS,
        encoder: "SentenceEncoder | None" = None,
    ) -> None:
        """`weights` has those of the parts for each kind of query."""
        self.name, self._search, self._weights = name, search, weights
        self._encoder = encoder
        self.answers = frozenset(weights)
        place = {equation: at for at, equation in enumerate(search.names())}
        self._rows = np.array([place[equation] for equation in corpus.equation_names], np.int64)
        self._allowed = np.ones(len(search.types), bool)

    def scores(self, query: Query) -> Scores:
        """The weighted sum of its parts."""
        weights = self._weights[query.kind]
        if query.kind == WORDS:
            asked = Question(query.words)
            parts = self._search.parts_for_words(asked, self._allowed, weights)
        else:
            equation = Asked(layout(query.text), None)
            parts = self._search.parts_for_equation(equation, self._allowed, weights)
        parts = {part: scores[self._rows] for part, scores in parts.items()}
        if self._encoder is not None and query.kind == WORDS:
            parts["encoder"] = np.maximum(self._encoder.scores(query), 0).astype(np.float32)
        total = np.zeros(len(self._rows))
        for scores in weighed(parts, weights).values():
            total += scores
        return total


def product_rankers(
    search: Search, corpus: Corpus, encoder: SentenceEncoder | None = None
) -> list[Ranker]:
    """The whole search, with an encoder too where there is one, and each of its parts."""
    whole = [Product(PRODUCT, search, corpus)]
    if encoder is not None:
        only_words = {WORDS: WORD_PARTS}
        whole.append(Product(f"{PRODUCT} + encoder", search, corpus, only_words, encoder))
    alone: dict[str, dict[str, dict[str, float]]] = {
        "its words": {WORDS: {"words": 1.0}, EQUATION: {"words": 1.0}},
        "its meaning": {WORDS: {"meaning": 1.0}, EQUATION: {"meaning": 1.0}},
        "its structure": {EQUATION: {"structure": 1.0}},
    }
    if search.meaning is None:
        del alone["its meaning"]
    return [*whole, *(Product(name, search, corpus, each) for name, each in alone.items())]


# ------------------------------------------------------------ together


class Combination:
    """A weighted sum of z-scores, those of rankers that take the kind of query."""

    def __init__(self, rankers: Mapping[Ranker, float], name: str = "combination") -> None:
        self.name, self._rankers = name, dict(rankers)
        self.answers = frozenset().union(*(ranker.answers for ranker in rankers))

    def scores(self, query: Query) -> Scores:
        """Higher where most of them, by their weights, say so."""
        parts = [
            weight * z_scores(ranker.scores(query))
            for ranker, weight in self._rankers.items()
            if query.kind in ranker.answers
        ]
        total: Scores = np.sum(parts, axis=0)
        return total


def z_scores(scores: Scores) -> Scores:
    """How many standard deviations above the mean of all equations."""
    deviation = scores.std()
    return (scores - scores.mean()) / deviation if deviation else np.zeros_like(scores)


class Directions:
    """Rows made ready for cosines."""

    def __init__(self, vectors: NDArray[np.floating]) -> None:
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        self.unit = (vectors / np.maximum(norms, 1e-12)).astype(np.float32)
        self._missing = norms[:, 0] == 0

    def cosines(self, query: NDArray[np.floating]) -> Scores:
        """Of every row with a vector; rows of zeros come last."""
        unit = (query / max(float(np.linalg.norm(query)), 1e-12)).astype(np.float32)
        return _last((self.unit @ unit).astype(np.float64), self._missing)


def _last(scores: Scores, missing: NDArray[np.bool_]) -> Scores:
    """Scores with those that are missing behind all others."""
    if missing.any() and not missing.all():
        scores[missing] = scores[~missing].min() - 1e-6
    return scores
