"""Ways in which a sentence says what a symbol means.

`find_mentions` looks at every formula of a sentence and at the words around it. A mention is a
formula, a phrase that says what it means, the kind of pattern and a confidence. The confidences
are round numbers that order the patterns: from definitions in so many words down to phrases that
stand next to a formula. `benchmarks/symdef.py --kinds` counts how often each is right.
"""

from collections.abc import Iterator

from eqemb.symbols.appositions import (
    APPOSING,
    LIST_MARKS,
    by_apposition,
    by_count,
    by_list,
    by_parenthesis,
)
from eqemb.symbols.asides import ASIDE_OPENERS, by_aside, by_quantity
from eqemb.symbols.lexicon import (
    ADJECTIVE,
    ADVERB,
    BE,
    DETERMINER,
    EQUATION,
    FORMULA,
    GERUND,
    NOMINAL,
    PARTICIPLE,
    VERB,
)
from eqemb.symbols.mentions import Group, Mention, groups
from eqemb.symbols.phrases import Phrase, Sentence
from eqemb.symbols.verbs import (
    LINKS,
    PREDICATES,
    by_denoting,
    by_display,
    by_gap,
    by_verb,
    is_any_verb,
)

_BEFORE_VERB = frozenset({ADVERB, VERB, BE, ",", "(", "'", "\u2019"})
_ENDS_NAME = frozenset({NOMINAL, GERUND, ")", ","})
_COUNTED = frozenset({NOMINAL, ADJECTIVE, PARTICIPLE})


def find_mentions(sentence: Sentence) -> list[Mention]:
    """The best mention of each formula that the sentence defines, in the order of the formulas."""
    best: dict[int, Mention] = {}
    for group in groups(sentence):
        for mention in _of_group(sentence, group):
            if not _has_word(sentence, mention.phrase):
                continue
            known = best.get(mention.term)
            if known is None or mention.confidence > known.confidence:
                best[mention.term] = mention
    kinds = sentence.kinds
    for at in sentence.tokens.formulas:
        if at not in best and (kinds[at] == EQUATION or kinds[at - 1] == ":"):
            shown = by_display(sentence, at)
            if shown is not None and _has_word(sentence, shown.phrase):
                best[at] = shown
    return [best[term] for term in sorted(best)]


def _has_word(sentence: Sentence, phrase: Phrase) -> bool:
    """Whether a phrase has a word, and not only a letter: the "s" of "$h_j$'s" says nothing."""
    return any(
        len(sentence.lowers[at]) > 1 or (at in sentence.latex and sentence.kinds[at] != FORMULA)
        for at in range(phrase.start, phrase.end)
    )  # a word with a formula in it, as "$k$-means", has no letters of its own


def _of_group(sentence: Sentence, group: Group) -> Iterator[Mention]:
    """Try the patterns that the tokens next to the group allow."""
    kinds, lowers = sentence.kinds, sentence.lowers
    before, after = kinds[group.start - 1], kinds[group.end]
    first, last = lowers[group.start - 1], lowers[group.end]
    if after in _BEFORE_VERB or last in PREDICATES or is_any_verb(sentence, group.end):
        yield from by_verb(sentence, group)
    if first in LINKS:
        yield from by_denoting(sentence, group)
    if before in _ENDS_NAME or first in APPOSING:
        yield from by_apposition(sentence, group)
    if before == "(" or after == "(":
        yield from by_parenthesis(sentence, group)
    if after in _COUNTED:
        yield from by_count(sentence, group)
    if after == DETERMINER:
        yield from by_gap(sentence, group)
    if last in ASIDE_OPENERS:
        yield from by_aside(sentence, group)
    if first == "of":
        yield from by_quantity(sentence, group)
    if last in LIST_MARKS:
        yield from by_list(sentence, group)
