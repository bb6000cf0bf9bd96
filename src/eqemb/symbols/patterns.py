"""Ways in which a sentence says what a symbol means.

`find_mentions` looks at every formula of a sentence and at the words around it. A mention is a
formula, a phrase that says what it means, the kind of pattern and a confidence. The confidences
are round numbers that order the patterns: from definitions in so many words down to phrases that
stand next to a formula. `benchmarks/symdef.py --kinds` counts how often each is right.
"""

from collections.abc import Iterator

from eqemb.symbols.appositions import by_apposition, by_count, by_list, by_parenthesis
from eqemb.symbols.lexicon import EQUATION, FORMULA
from eqemb.symbols.mentions import Group, Mention, groups
from eqemb.symbols.phrases import Sentence
from eqemb.symbols.verbs import by_denoting, by_display, by_gap, by_verb


def find_mentions(sentence: Sentence) -> list[Mention]:
    """The best mention of each formula that the sentence defines, in the order of the formulas."""
    best: dict[int, Mention] = {}
    for group in groups(sentence):
        for mention in _of_group(sentence, group):
            known = best.get(mention.term)
            if known is None or mention.confidence > known.confidence:
                best[mention.term] = mention
    for at in range(sentence.size):
        if sentence.kinds[at] in {EQUATION, FORMULA} and at not in best:
            shown = by_display(sentence, at)
            if shown is not None:
                best[at] = shown
    return [best[term] for term in sorted(best)]


def _of_group(sentence: Sentence, group: Group) -> Iterator[Mention]:
    yield from by_verb(sentence, group)
    yield from by_denoting(sentence, group)
    yield from by_apposition(sentence, group)
    yield from by_parenthesis(sentence, group)
    yield from by_count(sentence, group)
    yield from by_gap(sentence, group)
    yield from by_list(sentence, group)
