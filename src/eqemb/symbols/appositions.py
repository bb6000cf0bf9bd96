"""Definitions without a verb: "the input x", "the input (x)", "K classes", "x: the input"."""

import re
from collections.abc import Iterator

from eqemb.symbols import lexicon
from eqemb.symbols.lexicon import (
    ADJECTIVE,
    CONJUNCTION,
    DETERMINER,
    NOMINAL,
    PARTICIPLE,
    PREPOSITION,
    VERB,
)
from eqemb.symbols.mentions import (
    Group,
    Mention,
    counted_nouns,
    ends_clause,
    is_noun_phrase,
    shared,
)
from eqemb.symbols.phrases import Phrase, Sentence

_RELATION_SIGN = re.compile(r"[=<>\u2208]|\\(?:in|leq?|geq?|sim|ll|gg|subset)(?![a-zA-Z])")
_MEMBERSHIP = re.compile(r"\u2208|\\(?:in|subset|subseteq)(?![a-zA-Z])")
#: Letters that count things: "K classes", "n samples".
_COUNTING = re.compile(r"\s*(?:[A-Zb-dhk-nqrt]|\\lvert|\||\\ell)(?![a-zA-Z])")
_BOUNDS = re.compile(r"[<>]|\\(?:leq?|geq?|ll|gg|neq?)(?![a-zA-Z])")
_NORM = re.compile(r"\\ell(?![a-zA-Z])|[lL]_")


def by_apposition(sentence: Sentence, group: Group) -> Iterator[Mention]:
    """As in "the learning rate η", "a matrix A", "word vectors u and v"."""
    end = group.start
    soft = 0.0
    if sentence.kind(end - 1) == "," and ends_clause(sentence, group.end):
        end, soft = end - 1, 0.25  # "the true posterior, p, ..."
        if sentence.kind(group.end) != ",":
            return
    elif sentence.word(end - 1) == "as" and sentence.word(end - 2) == "such":
        end, soft = end - 2 - (sentence.kind(end - 3) == ","), 0.2
    elif sentence.kind(end - 1) in {":", "="} or sentence.word(end - 1) in {"say", "namely"}:
        end, soft = end - 1 - (sentence.kind(end - 2) == ","), 0.15
        if sentence.kind(group.start - 1) == ":":
            return
    phrase = sentence.before(end)
    if phrase is None:
        return
    confidence = _apposition_confidence(sentence, phrase) - soft
    if sentence.kind(group.end) == NOMINAL and not soft:
        confidence -= 0.15
    head = sentence.word(phrase.end - 1)
    several = lexicon.is_plural(head) or phrase.determiner in {"both", "two", "three"}
    terms = group.terms if several or phrase.determiner == "" else group.terms[:1]
    tail = _complement(sentence, group.end)
    for term in terms:
        if term == terms[0] or not _RELATION_SIGN.search(sentence.tokens[term].latex):
            yield Mention(term, phrase, "apposition", max(confidence, 0.05), tail=tail)


def _complement(sentence: Sentence, at: int) -> Phrase | None:
    """As in "of the feature pyramid" in "the level P of the feature pyramid"."""
    if sentence.word(at) != "of":
        return None
    inner = sentence.after(at + 1)
    return None if inner is None else Phrase(at, inner.end)


def _apposition_confidence(sentence: Sentence, phrase: Phrase) -> float:
    head = sentence.word(phrase.end - 1)
    if phrase.determiner in lexicon.INDEFINITE:
        confidence = 0.8
    elif phrase.determiner in lexicon.QUANTIFIERS:
        confidence = 0.55
    elif phrase.determiner:
        confidence = 0.75
    else:
        confidence = 0.6
        before = sentence.kind(phrase.start - 1)
        if before not in {PREPOSITION, CONJUNCTION, "", ",", "(", VERB, NOMINAL, DETERMINER}:
            confidence = 0.5
    if head in lexicon.VAGUE_HEADS and phrase.end - phrase.start == 1:
        confidence -= 0.25
    return confidence


def by_parenthesis(sentence: Sentence, group: Group) -> Iterator[Mention]:
    """As in "the learning rate (η)" and "η (the learning rate)"."""
    opener, closer = sentence.kind(group.start - 1), sentence.kind(group.end)
    if opener == "(" and closer == ")":
        phrase = sentence.before(group.start - 1)
        if phrase is not None and not _BOUNDS.search(sentence.tokens[group.start].latex):
            yield from shared(group, phrase, "parenthesis", 0.7 if phrase.determiner else 0.55)
    if closer != "(" or opener == ADJECTIVE:
        return
    at = group.end + 1
    if sentence.word(at) in {"i.e.", "i.e"}:
        at += 1 + (sentence.kind(at + 1) == ",")
    phrase = sentence.after(at)
    if phrase is None or sentence.kind(phrase.end) not in {")", ","}:
        return
    if phrase.determiner or is_noun_phrase(sentence, phrase.start):
        yield Mention(group.terms[-1], phrase, "parenthesis", 0.7 if phrase.determiner else 0.5)


def by_count(sentence: Sentence, group: Group) -> Iterator[Mention]:
    """As in "each of the K classes": K is the number of them. "U, V matrices" are matrices."""
    last = group.terms[-1]
    end = counted_nouns(sentence, last + 1)
    before = sentence.kind(group.start - 1)
    if (
        end is None
        or before in {NOMINAL, ADJECTIVE, PARTICIPLE}
        or sentence.word(group.start - 1) in {"where", "since"}
    ):
        return
    latex = sentence.tokens[last].latex
    if before in {"@", "/", "-"} or _MEMBERSHIP.search(latex) or _NORM.match(latex):
        return
    phrase = Phrase(last + 1, end)
    if len(group.terms) > 1:
        yield from shared(group, phrase, "count", 0.55)
    elif _COUNTING.match(latex):
        yield Mention(last, phrase, "count", 0.6, counts=True)
    else:
        yield Mention(last, phrase, "count", 0.45)  # "the z variables" are variables


def by_list(sentence: Sentence, group: Group) -> Iterator[Mention]:
    """As in "x: the input" as in a list of notation, "K = number of classes"."""
    mark = sentence.word(group.end)
    if mark not in {":", ":=", "=", "-", "\u2013", "\u2014"} or not _starts_item(sentence, group):
        return
    if sentence.kind(group.end + 1) not in {DETERMINER, NOMINAL, ADJECTIVE}:
        return
    phrase = sentence.after(group.end + 1)
    if phrase is not None:
        yield from shared(group, phrase, "list", 0.75 if mark == ":" else 0.65)


def _starts_item(sentence: Sentence, group: Group) -> bool:
    return sentence.kind(group.start - 1) in {"", ";", ",", "\u2022", "."} or group.start == 0
