"""Noun phrases before and after a place of a sentence.

A phrase is a pair of token numbers. Every search looks at `MAX_PHRASE` tokens at most, so the
whole extraction is linear in the text.
"""

from typing import NamedTuple

from eqemb.symbols import lexicon
from eqemb.symbols.lexicon import (
    ADJECTIVE,
    ADVERB,
    BE,
    CONJUNCTION,
    DETERMINER,
    EQUATION,
    FORMULA,
    GERUND,
    NOMINAL,
    NUMBER,
    PARTICIPLE,
    PREPOSITION,
    PRONOUN,
    SUBORDINATOR,
    VERB,
)
from eqemb.symbols.sentence import SentenceTokens

MAX_PHRASE = 32

_MODIFIERS = frozenset({NOMINAL, ADJECTIVE, PARTICIPLE, GERUND})
_OPENER_OF = {")": "(", "]": "["}


class Phrase(NamedTuple):
    """The tokens `start` to `end` of a sentence, without an article before them."""

    start: int
    end: int
    determiner: str = ""
    """The article or other determiner before the phrase, in lower case."""


#: After the last token, and before the first one by negative indices.
_OUTSIDE = [""] * (MAX_PHRASE + 8)


class Sentence:
    """The tokens of a sentence, and the phrases in it."""

    def __init__(self, tokens: SentenceTokens) -> None:
        self.tokens = tokens
        self.size = tokens.close(_OUTSIDE)
        self.kinds = tokens.kinds
        """The kind of each token; '' outside the sentence, which ends every search."""
        self.lowers = tokens.lowers
        """Each word in lower case; '' for formulas and outside the sentence."""
        self.latex = tokens.latex

    # ------------------------------------------------------------ before a place

    def before(self, end: int) -> Phrase | None:
        """The noun phrase that ends before a token: "the learning rate" in "the learning rate η".

        It goes on to the left of "of" where the head there is what a symbol names: "a set of
        programs P".
        """
        core = self._core(end)
        if core is None:
            return None
        return self._whole(core) or core

    def _core(self, end: int) -> Phrase | None:
        """The nouns and their modifiers before a token."""
        at = end - 1
        if self.kinds[at] == ")":  # "the kernel density estimate (KDE) f"
            opener = self._opener(at)
            if opener is None or at - opener > 4:
                return None
            at = end = opener
            at -= 1
        if not self.is_head(at):
            return None
        while at > 0 and end - at < 9:
            if self._continues(at - 1):
                at -= 1
            elif (
                self.kinds[at - 1] == ")" and (aside := self._adjectives_aside(at - 1)) is not None
            ):
                at = aside  # "a binary (sparse) vector y"
            else:
                break
        determiner = ""
        place = at - 1
        if self.kinds[place] == NUMBER and self.kinds[place - 1] == DETERMINER:
            place -= 1
        if self.kinds[place] == DETERMINER:
            determiner = self.lowers[place]
        while at < end - 1 and self.kinds[at] in {ADVERB, CONJUNCTION}:
            at += 1
        if not determiner and self._is_verb(at, end):
            if end - at < 2 or not self._is_infinitive(at):
                return None
            at += 1  # "we fix penalty p", "to train classifier f"
        if self._disagrees(determiner, end - 1):
            return None
        return Phrase(at, end, determiner)

    def _is_verb(self, start: int, end: int) -> bool:
        """Whether a phrase without an article is a verb: "we set x", "to train f", "f models x"."""
        if self._is_infinitive(start):
            return True
        word = self.lowers[end - 1]
        if end - start > 1:
            return False
        if word.endswith("ing") and word not in _NAMES_IN_ING:
            return True
        before = self.lowers[start - 1]
        if before in {"which", "who", "instead", "first", "then"}:
            return True  # "towns which cover x", "we first differentiate f"
        if self.kinds[start - 1] == ADVERB and self.kinds[start - 2] == PRONOUN:
            return True  # "we often set x"
        after_subject = self.kinds[start - 1] in {FORMULA, ADVERB} or before == "that"
        return after_subject and lexicon.is_plural(word)

    def _is_infinitive(self, start: int) -> bool:
        """Whether a pronoun or an auxiliary before a word makes it a verb; "to" may not."""
        if self.kinds[start - 1] == PRONOUN or self.lowers[start - 1] in _BEFORE_VERBS:
            return True
        if start == 0:  # "Draw rate r"
            return self.lowers[start] in _VERBS_TOO
        return self.lowers[start - 1] == "to" and (
            self.lowers[start] in _VERBS_TOO or self.kinds[start + 1] == FORMULA
        )

    def _disagrees(self, determiner: str, head: int) -> bool:
        """Whether a noun is a verb by its number: "this covers X", "these cover X"."""
        if determiner == "this":
            return lexicon.is_plural(self.lowers[head])
        return determiner in {"these", "those"} and not lexicon.is_plural(self.lowers[head])

    def _adjectives_aside(self, at: int) -> int | None:
        opener = self._opener(at)
        if opener is None or at - opener > 3 or self.kinds[opener - 1] != ADJECTIVE:
            return None
        return opener - 1

    def _continues(self, at: int) -> bool:
        """Whether a token on the left belongs to the noun phrase that begins after it."""
        kind, before = self.kinds[at], self.kinds[at - 1]
        if kind in {NOMINAL, ADJECTIVE}:
            return True
        if kind == PARTICIPLE:
            return before in {DETERMINER, ADJECTIVE, ADVERB, PREPOSITION, CONJUNCTION}
        if kind == GERUND:
            return before in {DETERMINER, ADJECTIVE}
        if kind == ADVERB:
            return before == DETERMINER and self.lowers[at] != "respectively"
        if kind == FORMULA:  # "the n × m matrix A"
            return before == DETERMINER
        if kind == CONJUNCTION:  # "the upper and lower bounds"
            if before == NOMINAL and self.kinds[at + 1] == self.kinds[at + 2] == NOMINAL:
                return self.kinds[at - 2] == DETERMINER  # "the base and target classes"
            return self.kinds[at + 1] == ADJECTIVE and before == ADJECTIVE
        return False

    def is_head(self, at: int) -> bool:
        """Whether a token can be the last noun of a phrase."""
        kind = self.kinds[at]
        if kind == GERUND:
            return self.kinds[at - 1] in {DETERMINER, ADJECTIVE}
        return kind == NOMINAL and self.lowers[at] not in lexicon.EMPTY_HEADS

    def _whole(self, core: Phrase) -> Phrase | None:
        """The phrase with what is before "of", if that is what the symbol names."""
        of = core.start - 1
        if core.determiner in {"the", "a", "an", "this", "each", "every", "our", "its", "their"}:
            return None
        if core.determiner:
            of -= 1
        link = self.lowers[of]
        if link not in {"of", "over"}:
            return None
        heads = lexicon.CONTAINERS if link == "of" else lexicon.DISTRIBUTIONS
        if self.lowers[of - 1] not in heads or not self.is_head(of - 1):
            return None
        inner = self.lowers[core.end - 1]
        if not lexicon.is_plural(inner) and self.lowers[of - 1] not in lexicon.EXTENTS:
            return None  # "the probability of label j": j is the label
        left = self._core(of)
        return None if left is None else Phrase(left.start, core.end, left.determiner)

    def with_owner(self, phrase: Phrase) -> Phrase:
        """The phrase with what is before "of the": "the error of the predictor" in brackets."""
        of = phrase.start - 2
        if phrase.determiner != "the" or self.lowers[of] != "of":
            return phrase
        left = self._core(of)
        if left is None or left.determiner != "the":
            return phrase
        return Phrase(left.start, phrase.end, left.determiner)

    def long_before(self, end: int, *, lists: bool = False) -> Phrase | None:
        """The phrase with its prepositions: "the regret of h with respect to the loss".

        With `lists` it goes on over the commas of an enumeration.
        """
        at = end
        while (
            at > 0
            and end - at < MAX_PHRASE
            and (self._inside_long(at - 1) or (lists and self._is_list_comma(at - 1)))
        ):
            at -= 1
        return self._trimmed(at, end)

    def _is_list_comma(self, at: int) -> bool:
        after = self.kinds[at + 1]
        return self.kinds[at] == "," and after in {NOMINAL, ADJECTIVE, DETERMINER, CONJUNCTION}

    def skip_aside(self, comma: int) -> int:
        """The comma before an aside that ends with a comma: "a node, inner or leaf, is"."""
        for at in range(comma - 1, max(-1, comma - 8), -1):
            if self.kinds[at] == ",":
                return at
            if self.kinds[at] in {DETERMINER, VERB, BE, "."} and self.lowers[at] != "either":
                break
        return comma

    def _inside_long(self, at: int) -> bool:
        kind, following = self.kinds[at], self.kinds[at + 1]
        if kind == NOMINAL and following == DETERMINER:
            return False  # a verb that looks like a noun, or the end of a clause
        if kind == CONJUNCTION and following == DETERMINER and self.kinds[at - 1] in {FORMULA, ","}:
            return False
        if kind in {NOMINAL, ADJECTIVE, DETERMINER, PREPOSITION, FORMULA, NUMBER}:
            return True
        if kind == GERUND and following == DETERMINER:
            return False  # "using the rule": a verb
        if kind in {PARTICIPLE, GERUND}:
            return self.kinds[at - 1] not in {PRONOUN, BE, VERB, ""}
        if kind == CONJUNCTION:
            return self.kinds[at + 1] in {NOMINAL, ADJECTIVE, FORMULA, DETERMINER}
        return kind == ADVERB and self.lowers[at] not in {"respectively", "then", "also"}

    def _trimmed(self, start: int, end: int) -> Phrase | None:
        """A phrase that starts with its own noun phrase."""
        while start < end and self.kinds[start] in {CONJUNCTION, ADVERB, PREPOSITION, FORMULA}:
            start += 1
        while start < end and self.kinds[start] == GERUND and self.kinds[start + 1] == DETERMINER:
            start += 1
        determiner = ""
        if start < end and self.kinds[start] == DETERMINER:
            determiner = self.lowers[start]
            start += 1
        head = self.head(start, end)
        if head is None or self.lowers[head] in lexicon.EMPTY_HEADS:
            return None
        return Phrase(start, end, determiner)

    def head(self, start: int, end: int) -> int | None:
        """The head of a phrase: the last nominal before its first preposition."""
        found = None
        closer: int | None = start
        for at in range(start, end):
            kind = self.kinds[at]
            if closer is not None and at < closer:
                continue
            if kind == "(" and self.lowers[at + 1] in {"resp", "resp."}:
                closer = self._closer(at)  # "the upper (resp. lower) bound"
            elif kind == ")" and at == closer:
                pass
            elif kind in {NOMINAL, GERUND}:
                found = at
            elif kind not in _MODIFIERS and kind not in {ADVERB, NUMBER, FORMULA, CONJUNCTION}:
                break
        return found

    def _opener(self, at: int) -> int | None:
        opener = _OPENER_OF[self.kinds[at]]
        for place in range(at - 1, max(-1, at - MAX_PHRASE), -1):
            if self.kinds[place] == opener:
                return place
        return None

    def _closer(self, at: int) -> int | None:
        """Where a short parenthesis closes; a long one is an aside that ends the phrase."""
        for place in range(at + 1, min(self.size, at + 6)):
            if self.kinds[place] == ")":
                return place
            if self.lowers[place] in {"resp", "resp."}:
                continue
            if self.kinds[place] in {SUBORDINATOR, VERB} or self.lowers[place] == "see":
                return None
        return None

    # ------------------------------------------------------------ after a place

    def after(self, start: int, *, lists: bool = False) -> Phrase | None:
        """The noun phrase that starts at a token, with its prepositions and relative clauses.

        With `lists` it goes on over the commas of an enumeration.
        """
        while self.kinds[start] == ADVERB:
            start += 1
        first = self.kinds[start]
        determiner = ""
        at = start
        if first == DETERMINER:
            if self.lowers[start] in _PREDETERMINERS and self.kinds[start + 1] == DETERMINER:
                start += 1  # "all the words"
            determiner = self.lowers[start]
            at = start = start + 1
        elif first not in {NOMINAL, ADJECTIVE, PARTICIPLE, GERUND, NUMBER, FORMULA}:
            return None
        end = self._end(at, lists=lists)
        while end > start and self._hangs(end - 1):
            end -= 1
        head = self.head(start, end)
        if head is None or self.lowers[head] in lexicon.EMPTY_HEADS:
            return None
        return Phrase(start, end, determiner)

    def _hangs(self, at: int) -> bool:
        """Whether a token cannot be the last of a phrase."""
        kind = self.kinds[at]
        if kind in {PREPOSITION, DETERMINER, CONJUNCTION, SUBORDINATOR, PRONOUN, BE, VERB}:
            return True
        return kind in {",", "(", "["} or (kind == ADVERB and self.lowers[at] in _LOOSE_PHRASE)

    def _end(self, start: int, *, lists: bool) -> int:
        depth, relative = 0, False
        at = start
        limit = min(self.size, start + MAX_PHRASE)
        while at < limit:
            kind = self.kinds[at]
            if kind == "(":
                if self._closer(at) is None:
                    return at
                depth += 1
            elif kind == ")":
                if not depth:
                    return at
                depth -= 1
            elif depth:
                pass
            elif kind in {".", ";", ":", "!", "?", "[", "]", EQUATION}:
                return at
            elif self._restricts(at, start):
                relative = True
            elif kind == SUBORDINATOR:
                if not relative or self.lowers[at] not in _INSIDE_RELATIVE:
                    return at
            elif kind in {BE, VERB, PRONOUN}:
                if not relative:
                    return at
            elif self._separates(at, lists=lists) or self.lowers[at] == "respectively":
                return at
            at += 1
        return at

    def _separates(self, at: int, *, lists: bool) -> bool:
        """Whether a comma or an "and" ends a phrase."""
        kind = self.kinds[at]
        if kind == "," and not lists and not self._enumerates(at):
            return True
        return kind in {",", CONJUNCTION} and self.starts_clause(at + 1)

    def _restricts(self, at: int, start: int) -> bool:
        """Whether a clause that belongs to the noun before it starts at a token."""
        word = self.lowers[at]
        before = self.kinds[at - 1]
        if word in _RELATIVES:
            return before != ","
        if word == "to":  # "the weights to be learned"
            return self.kinds[at + 1] in {BE, VERB} and before in _MODIFIERS
        if word in {"whether", "how", "what"}:  # "an indicator of whether the road is open"
            return before == PREPOSITION
        if word == "such":  # "the least integer such that", but not "a group such that"
            return self.lowers[at + 1] == "that" and self.lowers[start - 1] == "the"
        return False

    def starts_clause(self, at: int) -> bool:
        """Whether a new clause or a new definition starts at a token."""
        if self.kinds[at] in {CONJUNCTION, ADVERB}:
            at += 1
        kind = self.kinds[at]
        if kind in {SUBORDINATOR, VERB, BE, PRONOUN, EQUATION, ""}:
            return True
        place = at
        for place in range(at, min(self.size, at + 8)):
            if self.kinds[place] not in {
                DETERMINER,
                NOMINAL,
                ADJECTIVE,
                PARTICIPLE,
                GERUND,
                NUMBER,
            }:
                break
        if self.kinds[place] != FORMULA:
            return kind == PREPOSITION
        following = self.kinds[place + 1]
        return following in {BE, VERB, DETERMINER} or (
            following in {",", CONJUNCTION} and self._verb_follows(place + 1)
        )

    def _verb_follows(self, at: int) -> bool:
        """Whether more formulas and then a verb follow: "a, b and c are"."""
        for place in range(at, min(self.size, at + 12)):
            if self.kinds[place] not in {FORMULA, ",", CONJUNCTION, ADVERB}:
                return self.kinds[place] in {BE, VERB}
        return False

    def _enumerates(self, comma: int) -> bool:
        """Whether a comma is one of "top, left, bottom and right boundaries"."""
        length = 0
        if self.kinds[comma + 1] == CONJUNCTION:
            return False
        for at in range(comma + 1, min(self.size, comma + 16)):
            kind = self.kinds[at]
            if kind == CONJUNCTION:
                return self.kinds[at + 1] in {
                    NOMINAL,
                    ADJECTIVE,
                    PARTICIPLE,
                    DETERMINER,
                    GERUND,
                } and (not self.starts_clause(at + 1))
            if kind == ",":
                length = 0
            elif kind in {NOMINAL, ADJECTIVE, GERUND, PARTICIPLE} and length < 3:
                length += 1
            else:
                return False
        return False

    def clause_end(self, start: int) -> int:
        """Where a clause that starts at a token ends: at the next mark."""
        for at in range(start, min(self.size, start + MAX_PHRASE)):
            if self.kinds[at] in {".", ";", ":", ",", ")", EQUATION}:
                return at
        return min(self.size, start + MAX_PHRASE)

    def parts(self, phrase: Phrase, count: int) -> list[Phrase] | None:
        """A coordination as `count` phrases, or None if it has another number of members."""
        cuts: list[tuple[int, int]] = []
        depth = 0
        for at in range(phrase.start, phrase.end):
            kind = self.kinds[at]
            depth += (kind == "(") - (kind == ")")
            if depth == 0 and kind in {",", CONJUNCTION} and self.lowers[at] != "or":
                if cuts and cuts[-1][1] == at:
                    cuts[-1] = (cuts[-1][0], at + 1)
                else:
                    cuts.append((at, at + 1))
        if len(cuts) + 1 > count:
            cuts = [cut for cut in cuts if self.kinds[cut[1]] == DETERMINER]
        if len(cuts) + 1 != count:
            return None
        starts = [phrase.start, *(after for _, after in cuts)]
        ends = [*(at for at, _ in cuts), phrase.end]
        found: list[Phrase] = []
        for start, end in zip(starts, ends, strict=True):
            determiner = phrase.determiner
            if self.kinds[start] == DETERMINER:
                determiner = self.lowers[start]
                start += 1  # noqa: PLW2901
            if self.head(start, end) is None:
                return None
            found.append(Phrase(start, end, determiner))
        return found


_PREDETERMINERS = frozenset({"all", "both", "half"})
_RELATIVES = frozenset({"that", "which", "who", "whom", "whose"})
_INSIDE_RELATIVE = frozenset({"not", "how", "whether", "what"})
#: Nouns that are verbs after "to": "to fix penalty p".
_VERBS_TOO = frozenset(
    "set fix sample update estimate model process test train map transform fine-tune finetune score"
    " rank label cluster search access balance control weight scale plot query record sort use"
    " draw".split()
)
_NAMES_IN_ING = frozenset({"embedding", "mapping", "string", "ring", "spring"})
_BEFORE_VERBS = frozenset({"will", "can", "may", "must", "should", "cannot", "could", "would"})
_LOOSE_PHRASE = frozenset({"respectively", "here", "then", "also", "now", "again"})
