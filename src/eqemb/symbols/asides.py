"""Definitions beside the main clause: "x, which is the input, ...", "a rate of η", "with x as the".

They are weaker than a clause of their own: the aside may be about the noun before the symbol.
"""

import re
from collections.abc import Iterator

from eqemb.symbols import lexicon
from eqemb.symbols.lexicon import (
    BE,
    CONJUNCTION,
    DETERMINER,
    FORMULA,
    NOMINAL,
    PREPOSITION,
    SUBORDINATOR,
)
from eqemb.symbols.mentions import DENOTING, Group, Mention, assigned, is_noun_phrase, shared
from eqemb.symbols.phrases import Phrase, Sentence
from eqemb.symbols.verbs import by_predicate

#: Words after a symbol that open an aside.
ASIDE_OPENERS = frozenset({",", "which", "that", "as"})
_THAT_IS = frozenset({"i.e.", "i.e", "namely"})
_TAKEN = frozenset(
    "with take taking consider considering treat treating choose have having".split()
)
#: "a learning rate of η": the symbol is the rate, and not what has it.
_QUANTITIES = lexicon.EXTENTS - {"number", "amount"} | frozenset(
    "decay temperature threshold budget margin weight ratio radius width depth height"
    " horizon tolerance coefficient strength resolution period".split()
)
_ANY_RELATION = re.compile(r"[=<>\u2208]|\\(?:in|leq?|geq?|sim|to|subset)(?![a-zA-Z])")
_RELATION_BUT_TYPE = re.compile(r"[=<>]|\\(?:leq?|geq?|sim|to)(?![a-zA-Z])")
_LESS_SURE = 0.25
_JUDGEMENTS = frozenset("contradiction consequence surprise problem result assumption".split())


def by_aside(sentence: Sentence, group: Group) -> Iterator[Mention]:
    """As in "x, which denotes the input", "x, i.e. the input", "x, the input, ..."."""
    comma = sentence.kinds[group.end] == ","
    at = group.end + comma
    word = sentence.lowers[at]
    if word == "which" or (word == "that" and not comma):
        yield from _relative(sentence, group, at + 1)
    elif word in _THAT_IS:
        at += 1 + (sentence.kinds[at + 1] == ",")
        phrase = sentence.after(at)
        if phrase is None or not _stands_alone(sentence, phrase) or _relates(sentence, group):
            return
        if phrase.determiner in {"the", "a", "an"} or is_noun_phrase(sentence, phrase.start):
            inner = sentence.kinds[group.start - 1] == PREPOSITION
            yield from shared(group, phrase, "parenthesis", 0.5 if inner else 0.6)
    elif word == "as" and sentence.lowers[group.start - 1] in _TAKEN:
        if sentence.kinds[at + 1] == DETERMINER and sentence.lowers[at + 1] in {"the", "a", "an"}:
            yield from assigned(sentence, group, at + 1, ("denote", 0.7), together=False)
    elif comma and word in {"the", "a", "an"} and not _opens_clause(sentence, group):
        phrase = sentence.after(at)
        if phrase is not None and _stands_alone(sentence, phrase):
            yield Mention(group.terms[-1], phrase, "parenthesis", 0.5)


def _relative(sentence: Sentence, group: Group, at: int) -> Iterator[Mention]:
    """As in "x, which is the input"; "x = 1, which is a surprise" is about something else."""
    be = sentence.kinds[at] == BE
    if _relates(sentence, group) or not (be or sentence.lowers[at] in DENOTING):
        return
    before = sentence.lowers[group.start - 1]
    if sentence.kinds[group.start - 1] == PREPOSITION or (
        lexicon.is_plural(before) and sentence.lowers[at] == "is"
    ):
        return  # "the divisor of b which is", "a network with parameters x, which is"
    for mention in by_predicate(sentence, group, at, starts=True):
        start = mention.phrase.start
        if not _JUDGEMENTS.isdisjoint(sentence.lowers[start : start + 3]):
            continue
        yield mention._replace(confidence=mention.confidence - (_LESS_SURE if be else 0.1))


def _relates(sentence: Sentence, group: Group) -> bool:
    return any(_ANY_RELATION.search(sentence.latex[term]) for term in group.terms)


def _opens_clause(sentence: Sentence, group: Group) -> bool:
    """Whether a comma ends an introduction: "For x, the input ...", "if x = 1, the ..."."""
    if any(_RELATION_BUT_TYPE.search(sentence.latex[term]) for term in group.terms):
        return True
    for at in range(group.start - 1, max(-1, group.start - 12), -1):
        if at == 0 or sentence.kinds[at - 1] in {",", ";", ":", "."}:
            opens = sentence.kinds[at] in {PREPOSITION, SUBORDINATOR}
            return opens and sentence.lowers[at] not in {"where", "given"}
    return False


def _stands_alone(sentence: Sentence, phrase: Phrase) -> bool:
    """Whether an aside ends with a mark and names no other symbol."""
    mark = sentence.kinds[phrase.end]
    if mark not in {",", ".", ";", ":", ")"}:
        return False
    if mark == "," and sentence.kinds[phrase.end + 1] == CONJUNCTION:
        return False  # "a prior for x, a prior for y, and"
    return not any(
        sentence.kinds[at] == FORMULA and sentence.kinds[at - 1] == NOMINAL
        for at in range(phrase.start, phrase.end)
    )


def by_quantity(sentence: Sentence, group: Group) -> Iterator[Mention]:
    """As in "with a learning rate of η", "weight decay of λ"; "the size of B" is no definition."""
    of = group.start - 1
    if sentence.lowers[of] != "of" or sentence.lowers[of - 1] not in _QUANTITIES:
        return
    if sentence.kinds[group.end] == NOMINAL or len(group.terms) > 1:
        return
    phrase = sentence.before(of)
    if phrase is None or phrase.determiner not in {"", "a", "an"}:
        return
    if phrase.determiner or phrase.end - phrase.start > 1:
        yield Mention(group.terms[0], phrase, "apposition", 0.6)
