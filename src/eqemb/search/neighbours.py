"""Nearest words of a word, and equations near a sum of words, equations and units."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from eqemb.article import read_tokens
from eqemb.errors import UnknownKeyError, UsageError, quoted
from eqemb.index.vector_index import normalise
from eqemb.models.embeddings import Embeddings
from eqemb.search.describe import Describer
from eqemb.search.engine import Search
from eqemb.search.paper import NO_MODEL
from eqemb.search.query import Filters
from eqemb.search.results import Answer, Json, rows
from eqemb.search.vector_notes import no_vector

#: A unit as `eqemb units` prints it.
_PRINTED_UNIT = re.compile(r"\(([^\s,]+), ([^\s,]+), (\w+)\)")

Floats = NDArray[np.float32]
Unit = tuple[str, str, str]
#: A word, the name of an equation, $LaTeX$, or a unit.
Member = str | Unit


# ------------------------------------------------------------ words


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The words nearest to a word."""

    word: str
    words: list[tuple[str, float]]

    def __iter__(self) -> Iterator[tuple[str, float]]:
        return iter(self.words)

    def __len__(self) -> int:
        return len(self.words)

    def to_json(self) -> Json:
        """Return `word`, and `words` with the `word` and `score` of each neighbour."""
        near = [{"word": word, "score": round(score, 6)} for word, score in self.words]
        return {"word": self.word, "words": near}

    def __str__(self) -> str:
        ranked = enumerate(self.words, 1)
        return "\n".join(f"{rank:3}  {score:6.3f}  {word}" for rank, (word, score) in ranked)

    def _repr_html_(self) -> str:
        return rows(("word", "score"), ((escape(word), f"{s:.3f}") for word, s in self.words))


def nearest_words(model: Embeddings | None, word: str, k: int = 10) -> Neighbours:
    """Return the words nearest to a word, by the cosine of the sum of rho and alpha.

    By rho or alpha alone, words are near that can replace each other (cosine: jaccard). By one
    against the other, words are near that occur together (cosine: similarity). The cosine of the
    sums has both, and reads best.
    """
    if model is None or "alpha_words" not in model.arrays:
        raise UsageError(NO_MODEL)
    if not word.strip():
        raise UsageError("the word is empty: give a word of the papers")
    view = model.view("words")
    row = view.key_to_index.get(word.lower())
    if row is None:
        raise UnknownKeyError(no_vector(word, model))
    vectors = _word_directions.get(model)
    if vectors is None:
        vectors = _word_directions[model] = _directions(model)
    cosines = vectors @ vectors[row]
    order = [at for at in np.argsort(-cosines, kind="stable")[: k + 1].tolist() if at != row]
    found = [(view.index_to_key[at], float(cosines[at])) for at in order[:k]]
    return Neighbours(view.index_to_key[row], found)


#: The directions of the words of open models.
_word_directions: WeakKeyDictionary[Embeddings, Floats] = WeakKeyDictionary()


def _directions(model: Embeddings) -> Floats:
    vectors = normalise(np.asarray(model.arrays["alpha_words"]))
    if "rho_words" in model.arrays:
        vectors = normalise(vectors + normalise(np.asarray(model.arrays["rho_words"])))
    return vectors


# ------------------------------------------------------------ sums


class VectorQuery:
    """Finds equations near a sum of words, equations and units."""

    def __init__(self, search: Search, describer: Describer) -> None:
        self._search, self._describer = search, describer

    def find(
        self,
        positive: Sequence[Member] = (),
        negative: Sequence[Member] = (),
        k: int = 10,
        filters: Filters | None = None,
    ) -> Answer:
        """Return the equations near the sum of positive members less the negative ones.

        An equation has two vectors, of the words around it and of its units, each with the mean of
        all subtracted; so has each member of the sum. A word has its own vector in both: words
        predict words and units predict words, so that its cosine with either is meaningful (with
        both, `recall` finds the F-measure, with either alone it does not). So has a unit. The score
        is the mean of the two cosines.
        """
        contexts, types = self._describer.contexts, self._describer.types
        space = self._search.vectors
        if contexts is None or space is None:
            raise UsageError(NO_MODEL)
        if not positive and not negative:
            raise UsageError("query needs at least one word, equation or unit")
        answer = Answer([])
        total = np.zeros((2, space.dim), np.float32)
        excluded: list[int] = []
        for sign, members in ((1, positive), (-1, negative)):
            for member in members:
                total += sign * self._member(member, answer, excluded)
        if not total.any():
            return answer
        scores = contexts.scores(normalise(total[0]))
        if types is not None:
            scores += types.scores(normalise(total[1]))[self._search.types]
            scores /= 2
        hits = self._search.rank_scores(np.maximum(scores, 0), k, filters, excluded=excluded)
        answer.hits.extend(hits)
        return answer

    def _member(self, member: object, answer: Answer, excluded: list[int]) -> Floats:
        """Return the direction of a member among contexts, and among types."""
        space = self._search.vectors
        if space is None:
            raise UsageError(NO_MODEL)
        unit = _parse_unit(member)
        if unit is not None:
            if not space.has_units:
                raise UsageError("the library's model has no unit vectors: leave out units")
            vector = space.units_vector(["\t".join(unit)])
            if not vector.any():
                answer.notes.append(f"the model has no unit like {unit}")
            return np.stack([vector, vector])
        if not isinstance(member, str):
            raise UsageError(
                f"{quoted(member)} is not a word, equation or unit: give a string, or three symbols"
            )
        text = member.strip()
        if text.startswith("$") or self._search.find_named(text) is not None:
            return self._equation(text, answer, excluded)
        words = [word.lower() for word in read_tokens(text)[0]]
        for word in words:
            if not space.has_word(word):
                answer.unknown.append(word)
                near = self._search.text.suggest_spellings(word)
                if near := [w for w in near if space.has_word(w)]:
                    answer.near[word] = near
        vector = space.words_vector(words)
        return np.stack([vector, vector])

    def _equation(self, text: str, answer: Answer, excluded: list[int]) -> Floats:
        parsed = self._search.read_equation(text)
        contexts = self._describer.contexts
        if parsed.equation is not None and contexts is not None:
            row = self._search.row(parsed.equation)
            excluded.append(row)
            context = contexts.rows([row])[0]
        else:
            similar = self._describer.similar_equations(parsed)
            if not similar.rows:
                answer.notes.append(f"no equation of the library is similar to {text}")
            context = normalise(self._describer.mean_context(similar))
        if self._describer.types is None:
            return np.stack([context, np.zeros_like(context)])
        return np.stack([context, self._describer.equation_direction(parsed.layout)])


def _parse_unit(member: object) -> Unit | None:
    """Return a unit given as three symbols or as `eqemb units` prints it; None for the rest."""
    if isinstance(member, str):
        found = _PRINTED_UNIT.fullmatch(member.strip())
        return (found[1], found[2], found[3]) if found else None
    if isinstance(member, tuple | list) and len(member) == 3:
        one, two, path = member
        if isinstance(one, str) and isinstance(two, str) and isinstance(path, str):
            return one, two, path
    return None
