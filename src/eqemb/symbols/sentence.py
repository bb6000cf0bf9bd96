"""A sentence as tokens with kinds: words, formulas, equations, punctuation."""

import re
from bisect import bisect_right
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

from eqemb.article import EQUATION_MARK
from eqemb.symbols import lexicon

_ABBREVIATED = r"i\.e\.|e\.g\.|w\.r\.t\.|i\.i\.d\.|resp\.|cf\.|a\.k\.a\.|et al\."
#: A word or a mark.
_WORD_OR_MARK = re.compile(
    rf"{EQUATION_MARK}|(?:{_ABBREVIATED})|[^\W_]+(?:[-'\u2019\u2010\u2011.][^\W_]+)*|:=|\S"
)
#: Letters attached to a formula: "$n$-gram", "$k$th".
_ATTACHED = re.compile(r"[-\u2010\u2011]?[^\W\d_][^\W_]*(?:[-'\u2019\u2010\u2011][^\W_]+)*")
_HYPHENS = "-\u2010\u2011"
#: Numbers, references and lone operators read like words.
_NOT_A_SYMBOL = re.compile(
    r"[\d\s.,+\-*/<>=%:;()~^]*+(?:\\(?:times|to|rightarrow|pm|cdot|sim|approx|geq?|leq?|ll|gg|%"
    r"|downarrow|uparrow|checkmark|dots|ldots|cdots|quad|infty|star|ast|dagger|circ|bullet|in"
    r"|Rightarrow|leftarrow|implies|iff|forall|exists|neq?|rm|[,;!: ]))?[\d\s.,+\-*/<>=%:;()^{}]*"
    r"|[A-Z]\.\d+[a-z]?"
)
#: Longer texts are rare, and not kept.
_MAX_CACHED, _MAX_CHUNKS = 64, 65536


class _WordChunk(NamedTuple):
    """The tokens of a piece of text; between spaces, most are one word."""

    kinds: tuple[str, ...]
    lowers: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]


class _WordChunkCache(dict[str, _WordChunk]):
    """Reads a chunk that is not known; keeps short ones, up to a number of them."""

    def __missing__(self, text: str) -> _WordChunk:
        found = list(_WORD_OR_MARK.finditer(text))
        words = [_word(match[0]) for match in found]
        chunk = _WordChunk(
            tuple(kind for _, kind in words),
            tuple(lower for lower, _ in words),
            tuple(match.span() for match in found),
        )
        if len(text) < _MAX_CACHED:
            if len(self) >= _MAX_CHUNKS:
                self.clear()
            self[text] = chunk
        return chunk


_CHUNKS = _WordChunkCache()
#: Between two formulas there are often a few words and a space: "is a", "and let".
_PIECES = _WordChunkCache()
_MAX_PIECE = 20
_CHUNK_KINDS, _CHUNK_LOWERS = itemgetter(0), itemgetter(1)


class SentenceTokens:
    """The tokens of a sentence as parallel lists: cheaper by half than a list of objects."""

    __slots__ = ("_chunks", "_firsts", "_offsets", "_size", "formulas", "kinds", "latex", "lowers")

    def __init__(self) -> None:
        self.kinds: list[str] = []
        """One of the kinds of `lexicon`; a punctuation mark is its own kind."""
        self.lowers: list[str] = []
        """Words in lower case; '' for formulas."""
        self.latex: dict[int, str] = {}
        """The LaTeX of formulas, by token."""
        self.formulas: list[int] = []
        """The tokens of kind `FORMULA` and `EQUATION`, in order."""
        # Few places are asked for, so they are computed from pieces of the sentence when they are:
        # the first token of each piece, where it starts, and its end or its words.
        self._size = -1
        self._firsts: list[int] = []
        self._offsets: list[int] = []
        self._chunks: list[int | _WordChunk | list[str]] = []

    def add(
        self, text: str, latex: str | None, start: int, end: int, *, glued: bool = False,
    ) -> None:  # fmt: skip
        """Add a token; `latex` is None for words.

        `glued` says that a formula is part of a word, the rest of which is `text`.
        """
        lower = ""
        if latex is None:
            lower, kind = _word(text)
        elif glued:
            kind = _attached_kind(text)
        else:
            kind = _formula_kind(latex)
        at = len(self.kinds)
        if latex is not None:
            self.latex[at] = latex
        if kind in {lexicon.FORMULA, lexicon.EQUATION}:
            self.formulas.append(at)
        self.kinds.append(kind)
        self.lowers.append(lower)
        self._add_piece(at, start, end)

    def _add_piece(self, first: int, start: int, what: int | _WordChunk | list[str]) -> None:
        self._firsts.append(first)
        self._offsets.append(start)
        self._chunks.append(what)

    def add_words(self, text: str, start: int) -> None:
        """Add the tokens of a text without formulas."""
        if len(text) < _MAX_PIECE and EQUATION_MARK not in text:
            piece = _PIECES[text]
            self._add_piece(len(self.kinds), start, piece)
            self.kinds += piece.kinds
            self.lowers += piece.lowers
            return
        # Only "et al." has a space in it.
        chunks = text.split(" ") if "et al." not in text else [text]
        found = list(map(_CHUNKS.__getitem__, chunks))
        kinds, first = self.kinds, len(self.kinds)
        kinds.extend(chain.from_iterable(map(_CHUNK_KINDS, found)))
        self.lowers.extend(chain.from_iterable(map(_CHUNK_LOWERS, found)))
        if EQUATION_MARK in text:
            added = range(first, len(kinds))
            self.formulas.extend(at for at in added if kinds[at] == lexicon.EQUATION)
        self._add_piece(first, start, chunks)

    def close(self, outside: list[str]) -> int:
        """Add what is outside the sentence to kinds and words; return the number of tokens."""
        if self._size < 0:
            self._size = len(self.kinds)
            self.kinds += outside
            self.lowers += outside
        return self._size

    def span(self, at: int) -> tuple[int, int]:
        """Where a token starts and ends in the article's text."""
        piece = bisect_right(self._firsts, at) - 1
        start, chunks = self._offsets[piece], self._chunks[piece]
        if isinstance(chunks, int):
            return start, chunks
        at -= self._firsts[piece]
        if isinstance(chunks, _WordChunk):
            first, last = chunks.spans[at]
            return start + first, start + last
        for chunk in chunks:
            spans = _CHUNKS[chunk].spans
            if at < len(spans):
                first, last = spans[at]
                return start + first, start + last
            at -= len(spans)
            start += len(chunk) + 1
        raise IndexError(at)


def read_sentence(text: str, offset: int = 0) -> SentenceTokens:
    """The tokens of a sentence; `offset` is where it starts in the article's text."""
    tokens = SentenceTokens()
    pieces = text.split("$")
    if len(pieces) % 2 == 0:  # the last dollar opens nothing
        pieces[-2:] = ["$".join(pieces[-2:])]
    place = offset
    for number, piece in enumerate(pieces):
        if number % 2 == 0:
            if piece:
                tokens.add_words(piece, place)
            place += len(piece)
            continue
        start, place = place, place + len(piece) + 2
        following = pieces[number + 1]
        attached = (
            _ATTACHED.match(following)
            if following and (following[0].isalpha() or following[0] in _HYPHENS)
            else None
        )
        if attached is not None:
            pieces[number + 1] = pieces[number + 1][attached.end() :]
            place += attached.end()
        tokens.add(attached[0] if attached else "", piece, start, place, glued=bool(attached))
    return tokens


@lru_cache(maxsize=16384)
def _formula_kind(latex: str) -> str:
    return lexicon.NUMBER if _NOT_A_SYMBOL.fullmatch(latex) else lexicon.FORMULA


@lru_cache(maxsize=4096)
def _attached_kind(text: str) -> str:
    """The kind of a word that starts with a formula: "$k$th", "$n$-gram", "$d$-dimensional"."""
    word = text.lstrip(_HYPHENS).lower()
    is_noun = len(word) > 2 and lexicon.kind_of(word) == lexicon.NOMINAL
    return lexicon.NOMINAL if is_noun else lexicon.ADJECTIVE


@lru_cache(maxsize=65536)
def _word(text: str) -> tuple[str, str]:
    """A word or mark in lower case, and its kind."""
    if text == EQUATION_MARK:
        return "", lexicon.EQUATION
    if not text[0].isalnum():
        return text, "," if text in {"\u2013", "\u2014"} else text
    lower = text.lower()
    return lower, lexicon.kind_of(lower)
