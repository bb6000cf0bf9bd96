"""A sentence as tokens with kinds: words, formulas, equations, punctuation."""

import re
from collections.abc import Iterable
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
        tokens.append(
            make_token(
                match[0], match[1], glued=bool(match[2]), start=start + offset, end=end + offset
            )
        )
    return tokens


def make_token(
    text: str, latex: str | None, start: int, end: int, *, glued: bool = False
) -> SentenceToken:
    """One token; `latex` is None for words, and `glued` says that a formula is part of a word."""
    if latex is not None:
        if glued:
            kind = lexicon.ADJECTIVE
        elif _NOT_A_SYMBOL.fullmatch(latex):
            kind = lexicon.NUMBER
        else:
            kind = lexicon.FORMULA
        return SentenceToken(text, "", kind, start, end, latex)
    if text == EQUATION_MARK:
        return SentenceToken(text, "", lexicon.EQUATION, start, end)
    if not text[0].isalnum():
        return SentenceToken(text, text, "," if text in {"\u2013", "\u2014"} else text, start, end)
    lower = text.lower()
    return SentenceToken(text, lower, lexicon.kind_of(lower), start, end)


def join_words(tokens: Iterable[SentenceToken]) -> str:
    """The text of tokens, spaced as in print; used where a phrase has gaps."""
    out = ""
    for token in tokens:
        glue = not out or token.text in {",", ".", ";", ":", ")", "%"} or out.endswith("(")
        out += token.text if glue else " " + token.text
    return out
