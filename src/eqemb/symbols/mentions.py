"""Mentions of symbols, and lists of formulas: "a, b and c" as one group that shares a phrase."""

from collections.abc import Iterator
from typing import NamedTuple

from eqemb.symbols import lexicon
from eqemb.symbols.lexicon import (
    ADJECTIVE,
    CONJUNCTION,
    DETERMINER,
    FORMULA,
    NOMINAL,
    PARTICIPLE,
    PREPOSITION,
    SUBORDINATOR,
)
from eqemb.symbols.model import Kind
from eqemb.symbols.phrases import Phrase, Sentence

DENOTING = frozenset("denote denotes represent represents designate designates symbolize".split())
NAMING = DENOTING | frozenset(
    "indicate indicates describes describe mean means specifies specify signifies signify counts"
    " count".split()
)
#: What a symbol does says what it is: the verb stays in the definition.
ACTING = frozenset(
    "controls control determines determine measures measure quantifies quantify governs govern"
    " parameterizes parametrizes parameterises parametrises balances weighs weights regulates"
    " captures encodes indexes maps contains scales ranges runs".split()
)
_NOT_COUNTED = frozenset("values times maps bits mins secs ms denotes outputs inputs s".split())


class Mention(NamedTuple):
    """A formula of a sentence, and the phrase that says what it means."""

    term: int
    phrase: Phrase
    kind: Kind
    confidence: float
    counts: bool = False
    """"K classes": the symbol is the number of them."""
    tail: Phrase | None = None
    """What belongs to the phrase and stands elsewhere: "of the prior" in "mean and variance of"."""


class Group(NamedTuple):
    """Formulas in a list: "a, b and c"."""

    terms: list[int]
    start: int
    end: int


def groups(sentence: Sentence) -> Iterator[Group]:
    """The formulas of a sentence in groups, in order."""
    kinds, passed = sentence.kinds, 0
    for at in sentence.tokens.formulas:
        if at < passed or kinds[at] != FORMULA:
            continue
        terms, end = [at], at + 1
        while True:
            place = end
            if sentence.kinds[place] == ",":
                place += 1
            joined = sentence.kinds[place] == CONJUNCTION
            place += joined
            if place == end or sentence.kinds[place] != FORMULA:
                break
            if joined and place == end + 2 and len(terms) == 1:
                break  # a comma before the "and" of two starts a new clause
            named = sentence.kinds[at - 1] == NOMINAL
            if joined and named and counted_nouns(sentence, place + 1):
                break  # "an instance I and K classes"
            terms.append(place)
            end = place + 1
        yield Group(terms, at, end)
        passed = end


def counted_nouns(sentence: Sentence, at: int) -> int | None:
    """The end of a plural noun phrase that starts at a token."""
    start = at
    while at - start < 5 and sentence.kinds[at] in {NOMINAL, ADJECTIVE, PARTICIPLE}:
        at += 1
    last = sentence.lowers[at - 1]
    if at == start or sentence.kinds[at - 1] != NOMINAL or not lexicon.is_plural(last):
        return None
    if last in _NOT_COUNTED or (at - start == 1 and last in ACTING | NAMING):
        return None
    return at


def shared(group: Group, phrase: Phrase, kind: Kind, confidence: float) -> Iterator[Mention]:
    """Mentions that give every formula of a group the same phrase."""
    return (Mention(term, phrase, kind, confidence) for term in group.terms)


def assigned(
    sentence: Sentence, group: Group, at: int, how: tuple[Kind, float], *, together: bool
) -> Iterator[Mention]:
    """Give each formula of a list its phrase, or all of them the same one."""
    kind, confidence = how
    count = len(group.terms)
    if count > 1:
        phrase = sentence.after(at, lists=True)
        if phrase is not None:
            together = together or is_respective(sentence, phrase.end)
            found = list(_distributed(sentence, group, phrase, how, together=together))
            yield from found
            if found:
                return
    phrase = sentence.after(at)
    if phrase is not None:
        yield from shared(group, phrase, kind, confidence)


def _distributed(
    sentence: Sentence, group: Group, phrase: Phrase, how: tuple[Kind, float], *, together: bool
) -> Iterator[Mention]:
    kind, confidence = how
    parts = sentence.parts(phrase, len(group.terms))
    if parts is not None and (together or _are_apart(sentence, parts)):
        tail = _tail(sentence, parts)
        for term, part in zip(group.terms, parts, strict=True):
            own = tail if part is not parts[-1] else None
            yield Mention(term, part, kind, confidence if together else confidence - 0.1, tail=own)
    elif together:
        yield from shared(group, phrase, kind, confidence - 0.15)


def _are_apart(sentence: Sentence, parts: list[Phrase]) -> bool:
    """Whether phrases are names of their own, and not parts of one: "the source and target words".

    Each has its own article, or they are short, and their heads are all singular or all plural.
    """
    if all(sentence.kinds[part.start - 1] == DETERMINER for part in parts):
        return True
    heads = [sentence.head(part.start, part.end) for part in parts]
    plural = {head is not None and lexicon.is_plural(sentence.lowers[head]) for head in heads}
    return len(plural) == 1 and all(
        sentence.kinds[at] != PREPOSITION
        for part in parts[:-1]
        for at in range(part.start, part.end)
    )


def _tail(sentence: Sentence, parts: list[Phrase]) -> Phrase | None:
    """As in "of the prior" in "mean and variance of the prior", which belongs to both."""
    if any(part.end - part.start > 3 for part in parts[:-1]):
        return None
    last = parts[-1]
    if sentence.kinds[last.start - 1] == DETERMINER:
        return None  # "the mean and the variance of the prior" may be two things
    for at in range(last.start, last.end):
        if sentence.lowers[at] == "of":
            return Phrase(at, last.end)
    return None


def is_respective(sentence: Sentence, at: int) -> bool:
    """Whether "respectively" follows, perhaps after a comma."""
    return "respectively" in (sentence.lowers[at], sentence.lowers[at + 1])


def is_noun_phrase(sentence: Sentence, at: int) -> bool:
    """Whether a phrase without an article is one of nouns: "is gaussian noise", not "is small"."""
    start = at
    while sentence.kinds[at] in {NOMINAL, ADJECTIVE, PARTICIPLE}:
        at += 1
    last = sentence.lowers[at - 1]
    if sentence.kinds[at - 1] != NOMINAL or at == start or sentence.kinds[start] == PARTICIPLE:
        return False
    return lexicon.is_plural(last) or at - start > 1 or sentence.lowers[at] == "of"


def ends_clause(sentence: Sentence, at: int) -> bool:
    """Whether a clause ends before a token."""
    if sentence.lowers[at] == "respectively":
        return True
    return sentence.kinds[at] in {"", ".", ",", ";", ")", CONJUNCTION, SUBORDINATOR}
