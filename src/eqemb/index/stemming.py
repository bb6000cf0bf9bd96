"""Stems of English words: *distances* and *distance* are one word to a search.

Stems are those of the Porter stemmer in snowballstemmer (which uses the C library of PyStemmer if
that is installed). Porter's algorithm is frozen, so that an index stays valid when the package is
upgraded; Snowball's newer English stemmer changes between versions and ranks no better on the
judged topics. British verbs in -ise are stemmed like American ones in -ize, and the possessive
ending is left out: *Newton's method* and *Newton method* are the same.
"""

import re
from functools import lru_cache
from threading import Lock

import snowballstemmer  # type: ignore[import-untyped]

from eqemb.corpus.vocabulary import STOP_WORDS

#: Other words (short, with digits or accents) are their own stems.
_STEMMABLE = re.compile("[a-z]{3,}")
#: British -ise where it is the ending of a verb: normalise, not supervise.
_BRITISH = re.compile(
    "(al|am|an|ar|at|en|er|et|gn|il|im|nt|om|on|or|rd)is(?=(?:e[ds]?|ing|ations?)$)"
)
#: Last letters of a stem that its words may not have: *realiz* is the stem of *realised*.
_CHANGED_LETTERS = 3
_POSSESSIVE = re.compile("['\u2019]s?$")
_porter = snowballstemmer.stemmer("porter")
_stemming = Lock()  # a stemmer keeps its word in attributes: threads would stem each other's


def stem_start(root: str) -> str:
    """Return letters that every word with a stem starts with, in lower case; perhaps none.

    A stem differs from its words in the last letters only: of a compound, of each of its parts.

    >>> stem_start("gradient"), stem_start("happi"), stem_start("f-measur")
    ('gradi', 'ha', '')
    """
    return root.partition("-")[0][:-_CHANGED_LETTERS] if root.isascii() else ""


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return the stem of a word; each part of a compound is stemmed.

    >>> stem("Distances"), stem("normalised"), stem("f-measures"), stem("Newton\u2019s")
    ('distanc', 'normal', 'f-measur', 'newton')
    """
    word = _POSSESSIVE.sub("", word.lower())
    if "-" in word:
        return "-".join(stem(part) for part in word.split("-"))
    if not _STEMMABLE.fullmatch(word):
        return word
    with _stemming:
        return str(_porter.stemWord(_BRITISH.sub(r"\1iz", word)))


#: The stems of function words and common words: *thi* is that of *this*.
STOP_STEMS = frozenset(map(stem, STOP_WORDS))
