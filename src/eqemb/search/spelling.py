"""Repair misspelt words of a query by the words of the library.

Only words that no equation has near it are repaired, and only if one word of the library is clearly
meant: otherwise spellings are suggested, and people decide.
"""

from eqemb.corpus.vocabulary import STOP_WORDS
from eqemb.index.stemming import stem
from eqemb.index.text_index import TextIndex
from eqemb.search.query import WordQuery

#: Shorter words are not repaired: too many words are one letter away.
MIN_LETTERS = 5
#: From this length on, two letters may differ.
LONG_WORD = 9
#: A repair is near this many equations, and near so many times more of them than the next one.
MIN_EQUATIONS, CLEARLY = 2, 3
#: Longer words and more words are not worth the time.
_LONGEST, _MAX_WORDS = 30, 10


def repair_spelling(question: WordQuery, text: TextIndex) -> WordQuery:
    """Return a query with its misspelt words repaired."""
    unknown = [word for word in dict.fromkeys(question.words) if not is_known(word, text)]
    for word in unknown[:_MAX_WORDS]:
        better = _joined_compound(word, text) or _nearest_word(word, text)
        if better is not None:
            question = question.with_repair(word, (better,))
    return question


def is_known(word: str, text: TextIndex) -> bool:
    """Whether a word or compound is near an equation, in any spelling."""
    return bool(text.spellings((word,)))


def _joined_compound(word: str, text: TextIndex) -> str | None:
    """Return the compound that was written as one word: *tf-idf* for *tfidf*."""
    if not 5 <= len(word) <= _LONGEST or not word.isalpha():
        return None
    found: dict[str, int] = {}
    for at in range(2, len(word) - 1):
        compound = f"{word[:at]}-{word[at:]}"
        if {word[:at], word[at:]} & STOP_WORDS or not is_known(compound, text):
            continue
        terms = text.terms((compound,))
        found[compound] = len(terms[0]) if terms else 0
    return _clear_best(found)


def _nearest_word(word: str, text: TextIndex) -> str | None:
    """Return the word of the library that was meant: *similarity* for *similarty*."""
    if not MIN_LETTERS <= len(word) <= _LONGEST:
        return None
    most = 2 if len(word) >= LONG_WORD else 1
    near = [other for other in text.suggest_spellings(word, 8) if _is_topic(other)]
    distances = {other: edit_distance(word, other, most) for other in near}
    for distance in range(1, most + 1):
        counts: dict[str, int] = {}
        by_stem: dict[str, str] = {}
        for other in near:
            if distances[other] == distance:  # one word for each stem: the most similar
                first = by_stem.setdefault(stem(other), other)
                counts[first] = text.count(stem(other))
        if counts:
            return _clear_best(counts)
    return None


def _is_topic(word: str) -> bool:
    """Whether people search for a word: not for *similarly*."""
    return word not in STOP_WORDS and not word.endswith("ly")


def _clear_best(counts: dict[str, int]) -> str | None:
    """Return the key with the largest count, if it is large and well ahead of the second."""
    if not counts:
        return None
    best, *others = sorted(counts, key=lambda key: (-counts[key], key))
    second = counts[others[0]] if others else 0
    is_clear = counts[best] >= MIN_EQUATIONS and counts[best] >= CLEARLY * second
    return best if is_clear else None


def edit_distance(one: str, two: str, most: int) -> int:
    """Return how many letters to insert, drop, replace or swap; `most` + 1 if there are more."""
    if abs(len(one) - len(two)) > most:
        return most + 1
    before, row = list[int](), list(range(len(two) + 1))
    for i, left in enumerate(one, 1):
        new = [i]
        for j, right in enumerate(two, 1):
            cost = min(row[j] + 1, new[j - 1] + 1, row[j - 1] + (left != right))
            if i > 1 and j > 1 and left == two[j - 2] and one[i - 2] == right:
                cost = min(cost, before[j - 2] + 1)
            new.append(cost)
        before, row = row, new
    return min(row[-1], most + 1)
