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
    PRONOUN,
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
#: What may stand between a name and its symbol.
APPOSING = frozenset({"as", ":", "=", "say", "namely"})
LIST_MARKS = frozenset({"]", ":", ":=", "=", "-", "\u2013", "\u2014"})


def by_apposition(sentence: Sentence, group: Group) -> Iterator[Mention]:
    """As in "the learning rate η", "a matrix A", "word vectors u and v"."""
    end = group.start
    soft = 0.0
    if sentence.kinds[end - 1] == "," and ends_clause(sentence, group.end):
        end, soft = end - 1, 0.15  # "the true posterior, p, ..."
        if sentence.kinds[group.end] != "," and (
            sentence.kinds[group.end] not in {".", ")"}
            or _RELATION_SIGN.search(sentence.latex[group.start])
        ):
            return
    elif sentence.lowers[end - 1] == "as" and sentence.lowers[end - 2] == "such":
        end, soft = end - 2 - (sentence.kinds[end - 3] == ","), 0.1
    elif sentence.kinds[end - 1] in {":", "="} or sentence.lowers[end - 1] in {"say", "namely"}:
        end, soft = end - 1 - (sentence.kinds[end - 2] == ","), 0.1
        if sentence.kinds[group.start - 1] == ":":
            return
    phrase = sentence.before(end)
    if phrase is None:
        return
    confidence = _apposition_confidence(sentence, phrase) - soft
    if sentence.kinds[group.end] == NOMINAL and not soft:
        confidence -= 0.1
    head = sentence.lowers[phrase.end - 1]
    several = lexicon.is_plural(head) or phrase.determiner in {"both", "two", "three"}
    terms = group.terms if several or phrase.determiner == "" else group.terms[:1]
    tail = _complement(sentence, group.end)
    for term in terms:
        if term == terms[0] or not _RELATION_SIGN.search(sentence.latex[term]):
            yield Mention(term, phrase, "apposition", max(confidence, 0.05), tail=tail)


def _complement(sentence: Sentence, at: int) -> Phrase | None:
    """As in "of the feature pyramid" in "the level P of the feature pyramid"."""
    if sentence.lowers[at] != "of":
        return None
    inner = sentence.after(at + 1)
    return None if inner is None else Phrase(at, inner.end)


def _apposition_confidence(sentence: Sentence, phrase: Phrase) -> float:
    head = sentence.lowers[phrase.end - 1]
    if phrase.determiner in lexicon.QUANTIFIERS:
        confidence = 0.55
    elif phrase.determiner:
        confidence = 0.7
    else:
        confidence = 0.6
        before = sentence.kinds[phrase.start - 1]
        if before not in {PREPOSITION, CONJUNCTION, "", ",", "(", VERB, NOMINAL, DETERMINER}:
            confidence = 0.5
        elif (
            sentence.lowers[phrase.start - 1] == "to" or sentence.kinds[phrase.start - 2] == PRONOUN
        ):
            confidence = 0.5  # "we prove claim c": the verb may not be one
    if head in lexicon.VAGUE_HEADS and phrase.end - phrase.start == 1:
        confidence -= 0.25
    return confidence


def by_parenthesis(sentence: Sentence, group: Group) -> Iterator[Mention]:
    """As in "the learning rate (η)" and "η (the learning rate)"."""
    opener, closer = sentence.kinds[group.start - 1], sentence.kinds[group.end]
    if opener == "(" and closer == ")":
        phrase = sentence.before(group.start - 1)
        if phrase is not None and not _BOUNDS.search(sentence.latex[group.start]):
            phrase = sentence.with_owner(phrase)
            yield from shared(group, phrase, "parenthesis", 0.7 if phrase.determiner else 0.55)
    if closer != "(" or opener == ADJECTIVE:
        return
    at = group.end + 1
    if sentence.lowers[at] in {"i.e.", "i.e"}:
        at += 1 + (sentence.kinds[at + 1] == ",")
    phrase = sentence.after(at)
    if phrase is None or sentence.kinds[phrase.end] not in {")", ","}:
        return
    if sentence.lowers[phrase.end + 1] in {"i.e.", "i.e"}:  # "(the slope, i.e. the tangent)"
        end = sentence.clause_end(phrase.end + 2)
        if sentence.kinds[end] == ")":
            phrase = Phrase(phrase.start, end, phrase.determiner)
    if phrase.determiner or is_noun_phrase(sentence, phrase.start):
        yield Mention(group.terms[-1], phrase, "parenthesis", 0.7 if phrase.determiner else 0.5)


def by_count(sentence: Sentence, group: Group) -> Iterator[Mention]:
    """As in "each of the K classes": K is the number of them. "U, V matrices" are matrices."""
    last = group.terms[-1]
    end = counted_nouns(sentence, last + 1)
    before = sentence.kinds[group.start - 1]
    if (
        end is None
        or before in {NOMINAL, ADJECTIVE, PARTICIPLE}
        or sentence.lowers[group.start - 1] in {"where", "since"}
    ):
        return
    latex = sentence.latex[last]
    if before in {"@", "/", "-"} or _MEMBERSHIP.search(latex) or _NORM.match(latex):
        return
    phrase = Phrase(last + 1, end)
    if len(group.terms) > 1:
        yield from shared(group, phrase, "count", 0.5)
    elif _COUNTING.match(latex):
        yield Mention(last, phrase, "count", 0.6, counts=True)
    else:
        yield Mention(last, phrase, "count", 0.45)  # "the z variables" are variables


def by_list(sentence: Sentence, group: Group) -> Iterator[Mention]:
    """As in "x: the input" as in a list of notation, "K = number of classes"."""
    mark = sentence.lowers[group.end]
    if mark == "]" and group.start == 1 and sentence.kinds[0] == "[":  # the name of a list's item
        phrase = sentence.after(group.end + 1)
        if phrase is not None:
            yield from shared(group, phrase, "list", 0.75)
        return
    if mark not in LIST_MARKS or not _starts_item(sentence, group):
        return
    if sentence.kinds[group.end + 1] not in {DETERMINER, NOMINAL, ADJECTIVE}:
        return
    phrase = sentence.after(group.end + 1)
    if phrase is not None:
        yield from shared(group, phrase, "list", 0.75 if mark == ":" else 0.65)


def _starts_item(sentence: Sentence, group: Group) -> bool:
    return sentence.kinds[group.start - 1] in {"", ";", ",", "\u2022", "."} or group.start == 0
