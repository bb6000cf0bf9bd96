"""A sentence as tokens with kinds: words, formulas, equations, punctuation."""

import re
from functools import lru_cache
from typing import NamedTuple

from eqemb.article import EQUATION_MARK
from eqemb.symbols import lexicon

_ABBREVIATED = r"i\.e\.|e\.g\.|w\.r\.t\.|i\.i\.d\.|resp\.|cf\.|a\.k\.a\.|et al\."
#: A formula (group 1) with letters attached to it (group 2); an equation; a word.
_SENTENCE_TOKEN = re.compile(
    rf"\$([^$]*)\$([-\u2010\u2011]?[^\W\d_][^\W_]*(?:[-'\u2019\u2010\u2011][^\W_]+)*)?"
    rf"|{EQUATION_MARK}|(?:{_ABBREVIATED})|[^\W_]+(?:[-'\u2019\u2010\u2011.][^\W_]+)*|:=|\S"
)
#: Numbers, references and lone operators read like words.
_NOT_A_SYMBOL = re.compile(
    r"[\d\s.,+\-*/<>=%:;()~^]*(?:\\(?:times|to|rightarrow|pm|cdot|sim|approx|geq?|leq?|ll|gg|%"
    r"|downarrow|uparrow|checkmark|dots|ldots|cdots|quad|infty|star|ast|dagger|circ|bullet|in"
    r"|Rightarrow|leftarrow|implies|iff|forall|exists|neq?|rm|[,;!: ]))?[\d\s.,+\-*/<>=%:;()^{}]*"
    r"|[A-Z]\.\d+[a-z]?"
)


class SentenceToken(NamedTuple):
    """A token of a sentence."""

    text: str
    lower: str
    kind: str
    """One of the kinds of `lexicon`; a punctuation mark is its own kind."""
    start: int
    end: int
    latex: str = ""
    """Of a formula."""


def read_sentence(text: str, offset: int = 0) -> list[SentenceToken]:
    """The tokens of a sentence; `offset` is where it starts in the article's text."""
    tokens: list[SentenceToken] = []
    for match in _SENTENCE_TOKEN.finditer(text):
        start, end = match.span()
        latex = match[1]
        if latex is None:
            word = match[0]
            tokens.append(SentenceToken(word, *_word(word), start + offset, end + offset))
        else:
            glued = match[2] is not None
            tokens.append(make_token(match[0], latex, start + offset, end + offset, glued=glued))
    return tokens


def make_token(
    text: str, latex: str | None, start: int, end: int, *, glued: bool = False
) -> SentenceToken:
    """One token; `latex` is None for words, and `glued` says that a formula is part of a word."""
    if latex is None:
        return SentenceToken(text, *_word(text), start, end)
    if glued:
        kind = lexicon.ADJECTIVE
    elif _NOT_A_SYMBOL.fullmatch(latex):
        kind = lexicon.NUMBER
    else:
        kind = lexicon.FORMULA
    return SentenceToken(text, "", kind, start, end, latex)


@lru_cache(maxsize=65536)
def _word(text: str) -> tuple[str, str]:
    """A word or mark in lower case, and its kind."""
    if text == EQUATION_MARK:
        return "", lexicon.EQUATION
    if not text[0].isalnum():
        return text, "," if text in {"\u2013", "\u2014"} else text
    lower = text.lower()
    return lower, lexicon.kind_of(lower)
