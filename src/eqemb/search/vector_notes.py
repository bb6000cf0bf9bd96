"""Say which words of a query the model has no vector for."""

from collections.abc import Iterable

from eqemb.checks import did_you_mean
from eqemb.errors import quoted
from eqemb.index.vectors import VectorSpace
from eqemb.models.embeddings import Embeddings


def no_vector(word: str, model: Embeddings) -> str:
    """Return why a word cannot be compared, and what to do."""
    rare = "rare and short words have none, try another"
    return f"the model has no vector for {quoted(word)}: {_similar_words(word, model) or rare}"


def vector_notes(
    words: Iterable[str],
    unknown: Iterable[str],
    space: VectorSpace | None,
    model: Embeddings | None,
) -> list[str]:
    """Return a note on words that are near equations, but have no vector.

    Similar words are suggested for one word alone, as that takes a while.
    """
    if space is None or model is None:
        return []
    skipped = set(unknown)
    lacking = [word for word in dict.fromkeys(words) if word not in skipped]
    lacking = [word for word in lacking if not any(map(space.has_word, [word, *word.split("-")]))]
    if not lacking:
        return []
    similar = _similar_words(lacking[0], model) if len(lacking) == 1 else ""
    named = ", ".join(map(repr, lacking))
    return [f"the model has no vector for {named}" + (f" ({similar})" if similar else "")]


def _similar_words(word: str, model: Embeddings) -> str:
    known = model.view("words").index_to_key
    return did_you_mean(word.lower(), known, "", cutoff=0.75)
