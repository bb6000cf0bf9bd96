"""Ways in which a sentence says what a symbol means.

`find_mentions` looks at every formula of a sentence and at the words around it. A mention is a
formula, a phrase that says what it means, the kind of pattern and a confidence. The confidences
are shares of right phrases by kind, rounded, as `benchmarks/symdef.py --kinds` prints them for the
tuning half of its data, and lower where a text of another field showed more errors.
"""

from collections.abc import Iterator
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
    NOMINAL,
    PARTICIPLE,
    PREPOSITION,
    PRONOUN,
    SUBORDINATOR,
    VERB,
)
from eqemb.symbols.model import Kind
from eqemb.symbols.phrases import Phrase, Sentence

_DENOTING = frozenset("denote denotes represent represents designate designates symbolize".split())
_NAMING = _DENOTING | frozenset(
    "indicate indicates describes describe mean means specifies specify signifies signify counts"
    " count".split()
)
_LINKED = {
    "stands": "for", "stand": "for", "refers": "to", "refer": "to", "corresponds": "to",
    "correspond": "to",
}  # fmt: skip
#: What a symbol does says what it is: the verb stays in the definition.
_ACTING = frozenset(
    "controls control determines determine measures measure quantifies quantify governs govern"
    " parameterizes parametrizes parameterises parametrises balances weighs weights regulates"
    " captures encodes indexes maps contains scales".split()
)
_CALLED = frozenset("called termed named known".split())
_DENOTED = frozenset("denoted represented written symbolized designated indicated".split())
_DEFINED = frozenset("defined given computed calculated expressed obtained formulated".split())
_SETTING = frozenset(
    "denote define represent write express call name introduce model treat denoting defining"
    " describe".split()
)
_CLAUSE_WORDS = frozenset(
    "where here let and that if then while whereas with when for which suppose assume say but"
    " namely i.e. also so since because".split()
)
_BOUND_BY = frozenset("each every any some all".split())
_WEAK_BE = frozenset({"same", "only", "case", "one", "result", "least", "most", "first", "last"})


class Mention(NamedTuple):
    """A formula of a sentence, and the phrase that says what it means."""

    term: int
    phrase: Phrase
    kind: Kind
    confidence: float
    counts: bool = False
    """"K classes": the symbol is the number of them."""
    tail: Phrase | None = None
    """What belongs to all members of a coordination: "of the prior" in "mean and variance of..."."""


class _Group(NamedTuple):
    """Formulas in a list: "a, b and c"."""

    terms: list[int]
    start: int
    end: int


def find_mentions(sentence: Sentence) -> list[Mention]:
    """The best mention of each formula that the sentence defines, in the order of the formulas."""
    best: dict[int, Mention] = {}
    for group in _groups(sentence):
        for mention in _of_group(sentence, group):
            known = best.get(mention.term)
            if known is None or mention.confidence > known.confidence:
                best[mention.term] = mention
    for at in range(sentence.size):
        if sentence.kinds[at] == EQUATION or sentence.kinds[at] == FORMULA:
            mention = _display(sentence, at)
            if mention is not None and at not in best:
                best[at] = mention
    return [best[term] for term in sorted(best)]


def _groups(sentence: Sentence) -> Iterator[_Group]:
    at = 0
    while at < sentence.size:
        if sentence.kinds[at] != FORMULA:
            at += 1
            continue
        terms, end = [at], at + 1
        while True:
            place = end
            if sentence.kind(place) == ",":
                place += 1
            joined = sentence.kind(place) == CONJUNCTION
            place += joined
            if place == end or sentence.kind(place) != FORMULA:
                break
            if joined and _counts_nouns(sentence, place + 1):
                break  # "an instance I and K classes"
            terms.append(place)
            end = place + 1
        yield _Group(terms, at, end)
        at = end


def _of_group(sentence: Sentence, group: _Group) -> Iterator[Mention]:
    yield from _by_verb(sentence, group)
    yield from _by_denoting(sentence, group)
    yield from _by_apposition(sentence, group)
    yield from _by_parenthesis(sentence, group)
    yield from _by_count(sentence, group)
    yield from _by_gap(sentence, group)
    yield from _by_list(sentence, group)


# ---------------------------------------------------------------- x is the input


def _by_verb(sentence: Sentence, group: _Group) -> Iterator[Mention]:
    """ "where x is the input", "let x be a point", "x and y denote the input and the output"."""
    at = group.end
    together = sentence.word(at) == "respectively"
    while sentence.kind(at) == ADVERB or (
        sentence.kind(at) == "," and sentence.word(at + 1) == "respectively"
    ):
        together = together or sentence.word(at) == "respectively"
        at += 1
    if sentence.kind(at) == VERB and sentence.word(at) in {"will", "can", "may", "shall", "should"}:
        at += 1
    word = sentence.word(at)
    starts = _starts_clause(sentence, group.start)
    if sentence.kind(at) == BE:
        found = _copula(sentence, at, starts=starts)
        if found is None:
            return
        at, confidence = found
    elif word in _NAMING and sentence.word(at + 1) == "that":
        end = sentence.clause_end(at + 2)
        yield from _shared(group, Phrase(at, end), "verb", 0.6)
        return
    elif word in _NAMING:
        at += 1
        confidence = 0.9 if word in _DENOTING else 0.75
    elif word in _LINKED and sentence.word(at + 1) == _LINKED[word]:
        at += 2
        confidence = 0.8
    elif word in _ACTING and starts:
        phrase = sentence.after(at + 1)
        if phrase is not None:
            yield from _shared(group, Phrase(at, phrase.end), "verb", 0.6)
        return
    else:
        return
    if sentence.word(at) == "respectively":
        together, at = True, at + 1
    kind: Kind = "let" if sentence.word(group.start - 1) in {"let", "suppose", "assume"} else "verb"
    yield from _assigned(sentence, group, at, (kind, confidence), together=together)


def _copula(sentence: Sentence, at: int, *, starts: bool) -> tuple[int, float] | None:
    """Where the phrase after a form of "be" starts, and how sure it is that it defines."""
    be = sentence.word(at)
    at += 1
    while sentence.kind(at) == ADVERB and sentence.word(at) != "not":
        at += 1
    word, following = sentence.word(at), sentence.word(at + 1)
    if word in _CALLED:
        return at + (2 if following == "as" else 1), 0.85
    if word == "defined" and following in {"as", "to"}:
        return at + (3 if sentence.word(at + 2) == "be" else 2), 0.8
    if word in {"referred"} and following == "to":
        return at + 3, 0.85
    if word == "used" and following == "to" and sentence.word(at + 2) in _NAMING:
        return at + 3, 0.85
    if word == "used" and following == "for":
        return at + 2, 0.6
    kind = sentence.kind(at)
    if kind == DETERMINER and word not in {"this", "no", "all", "each", "every", "either"}:
        if following in _WEAK_BE:
            return None
        return at, 0.85 if starts or be == "be" else 0.45
    bare = kind in {NOMINAL, ADJECTIVE, PARTICIPLE} and _is_noun_phrase(sentence, at)
    if bare and starts:
        return at, 0.7 if kind == NOMINAL else 0.6
    return None


def _is_noun_phrase(sentence: Sentence, at: int) -> bool:
    """Whether a phrase without an article is one of nouns: "is gaussian noise", not "is small"."""
    start = at
    while sentence.kind(at) in {NOMINAL, ADJECTIVE, PARTICIPLE}:
        at += 1
    last = sentence.word(at - 1)
    if sentence.kind(at - 1) != NOMINAL or at == start or sentence.kind(start) == PARTICIPLE:
        return False
    return lexicon.is_plural(last) or at - start > 1 or sentence.word(at) == "of"


def _starts_clause(sentence: Sentence, at: int) -> bool:
    """Whether a symbol is the subject of its clause, and not in apposition."""
    before = sentence.kind(at - 1)
    return (
        before in {"", ",", ";", ":", "(", EQUATION, ".", "["}
        or sentence.word(at - 1) in _CLAUSE_WORDS
        or (before == PREPOSITION and sentence.word(at - 1) == "with")
    )


def _assigned(
    sentence: Sentence, group: _Group, at: int, how: tuple[Kind, float], *, together: bool
) -> Iterator[Mention]:
    """Give each formula of a list its phrase, or all of them the same one."""
    kind, confidence = how
    count = len(group.terms)
    if count > 1:
        phrase = sentence.after(at, lists=True)
        if phrase is not None:
            together = together or _respectively(sentence, phrase.end)
            yield from _distributed(sentence, group, phrase, how, together=together)
            if together or sentence.parts(phrase, count):
                return
    phrase = sentence.after(at)
    if phrase is not None:
        yield from _shared(group, phrase, kind, confidence)


def _distributed(
    sentence: Sentence, group: _Group, phrase: Phrase, how: tuple[Kind, float], *, together: bool
) -> Iterator[Mention]:
    kind, confidence = how
    parts = sentence.parts(phrase, len(group.terms))
    if parts is not None and (together or all(part.determiner for part in parts)):
        tail = _tail(sentence, parts)
        for term, part in zip(group.terms, parts, strict=True):
            own = tail if part is not parts[-1] else None
            yield Mention(term, part, kind, confidence if together else confidence - 0.1, tail=own)
    elif together:
        yield from _shared(group, phrase, kind, confidence - 0.15)


def _tail(sentence: Sentence, parts: list[Phrase]) -> Phrase | None:
    """ "of the prior" in "mean and variance of the prior", which belongs to both."""
    if any(part.end - part.start > 3 for part in parts[:-1]):
        return None
    last = parts[-1]
    if sentence.kind(last.start - 1) == DETERMINER:
        return None  # "the mean and the variance of the prior" may be two things
    for at in range(last.start, last.end):
        if sentence.word(at) == "of":
            return Phrase(at, last.end)
    return None


def _respectively(sentence: Sentence, at: int) -> bool:
    return "respectively" in (sentence.word(at), sentence.word(at + 1))


def _shared(group: _Group, phrase: Phrase, kind: Kind, confidence: float) -> Iterator[Mention]:
    return (Mention(term, phrase, kind, confidence) for term in group.terms)


# ---------------------------------------------------------------- denote the input by x


def _by_denoting(sentence: Sentence, group: _Group) -> Iterator[Mention]:
    word, before = sentence.word(group.start - 1), sentence.word(group.start - 2)
    if word == "by" and before in _SETTING:  # denote by x the input
        phrase = sentence.after(group.end)
        if phrase is not None:
            yield from _shared(group, phrase, "denote", 0.9)
    elif word == "by" and sentence.kind(group.end) == PRONOUN:  # by x we denote the input
        if sentence.word(group.end + 1) in {"denote", "mean"}:
            yield from _assigned(sentence, group, group.end + 2, ("denote", 0.9), together=False)
    elif word in {"by", "as", "with", "be", "is", "are"} or word in _DENOTED:
        yield from _passive(sentence, group)
        yield from _active(sentence, group)
    elif word in {"use", "write", "using", "writing", "let"} | _SETTING:
        yield from _purpose(sentence, group)
    elif word == "to" and before == "refer" and sentence.word(group.end) == "as":
        yield from _assigned(sentence, group, group.end + 1, ("denote", 0.85), together=False)


def _purpose(sentence: Sentence, group: _Group) -> Iterator[Mention]:
    """ "we use x to denote the input", "write x for the input", "define x as the input"."""
    at = group.end
    word, following = sentence.word(at), sentence.word(at + 1)
    if word == "to" and following in _NAMING | {"refer", "be"}:
        at += 3 if following == "refer" else 2
    elif word in {"for", "as"} or (sentence.word(group.start - 1) in {"call", "name"}):
        at += word in {"for", "as"}
        if word == "for" and sentence.word(group.start - 1) not in {"write", "use", "writing"}:
            return
        if sentence.kind(at) not in {DETERMINER, NOMINAL}:
            return
        if sentence.word(at) in _BOUND_BY:
            return
    else:
        return
    yield from _assigned(sentence, group, at, ("denote", 0.85), together=False)


def _passive(sentence: Sentence, group: _Group) -> Iterator[Mention]:
    """ "the input is denoted by x", "the input, denoted by x", "let the input be x"."""
    at = group.start - 1
    confidence = 0.85
    if sentence.word(at) in {"by", "as", "with"}:
        at -= 1
        if sentence.word(at) in _DEFINED:
            confidence = 0.6
        elif sentence.word(at) not in _DENOTED:
            return
    elif sentence.word(at) not in _DENOTED:
        confidence = 0.5
        if not _ends_clause(sentence, group.end):
            return
    else:
        pass
    if sentence.word(at) in _DENOTED | _DEFINED:
        at -= 1
    while sentence.kind(at) in {BE, ADVERB} or sentence.word(at) in {"can", "will", "which"}:
        at -= 1
    if sentence.kind(at) == ",":
        at -= 1
    phrase = sentence.long_before(at + 1)
    if phrase is None:
        return
    parts = sentence.parts(phrase, len(group.terms)) if len(group.terms) > 1 else None
    if parts is not None and _respectively(sentence, group.end):
        for term, part in zip(group.terms, parts, strict=True):
            yield Mention(term, part, "denote", confidence)
    else:
        yield from _shared(group, phrase, "denote", confidence)


def _active(sentence: Sentence, group: _Group) -> Iterator[Mention]:
    """ "we denote the input by x", "we define its loss and its error as L and E, respectively"."""
    link = group.start - 1
    if sentence.word(link) not in {"by", "as", "with", "be"}:
        return
    end = link - 1 if sentence.word(link - 1) == "to" else link
    phrase = sentence.long_before(end)
    if phrase is None:
        return
    at = phrase.start - 1 - bool(phrase.determiner)
    while sentence.kind(at) in {ADVERB, CONJUNCTION, ","}:
        at -= 1
    if sentence.word(at) not in _SETTING and not (
        sentence.word(at) == "let" and sentence.word(link) == "be"
    ):
        return
    confidence = 0.85 if sentence.word(at) in {"denote", "let", "denoting"} else 0.65
    parts = sentence.parts(phrase, len(group.terms)) if len(group.terms) > 1 else None
    if parts is None:
        yield from _shared(group, phrase, "denote", confidence)
        return
    for term, part in zip(group.terms, parts, strict=True):
        core_end = part.end
        for place in range(part.start, part.end):
            if part is parts[-1] and sentence.word(place) == "on":
                core_end = place  # what belongs to both
                break
        yield Mention(term, Phrase(part.start, core_end, part.determiner), "denote", confidence)


def _ends_clause(sentence: Sentence, at: int) -> bool:
    return sentence.kind(at) in {"", ".", ",", ";", ")", CONJUNCTION, SUBORDINATOR}


# ---------------------------------------------------------------- the input x


def _by_apposition(sentence: Sentence, group: _Group) -> Iterator[Mention]:
    """ "the learning rate η", "a matrix A", "word vectors u and v"."""
    end = group.start
    soft = 0.0
    if sentence.kind(end - 1) == "," and _ends_clause(sentence, group.end):
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
    for term in terms:
        yield Mention(term, phrase, "apposition", max(confidence, 0.05))


def _apposition_confidence(sentence: Sentence, phrase: Phrase) -> float:
    head = sentence.word(phrase.end - 1)
    if phrase.determiner in lexicon.INDEFINITE:
        confidence = 0.8
    elif phrase.determiner in _BOUND_BY:
        confidence = 0.65
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


def _by_parenthesis(sentence: Sentence, group: _Group) -> Iterator[Mention]:
    """ "the learning rate (η)" and "η (the learning rate)"."""
    opener, closer = sentence.kind(group.start - 1), sentence.kind(group.end)
    if opener == "(" and closer == ")":
        phrase = sentence.before(group.start - 1)
        if phrase is not None:
            yield from _shared(group, phrase, "parenthesis", 0.7 if phrase.determiner else 0.55)
    if closer != "(":
        return
    at = group.end + 1
    if sentence.word(at) in {"i.e.", "i.e"}:
        at += 1 + (sentence.kind(at + 1) == ",")
    phrase = sentence.after(at)
    if phrase is None or sentence.kind(phrase.end) not in {")", ","}:
        return
    if phrase.determiner or _is_noun_phrase(sentence, phrase.start):
        yield Mention(group.terms[-1], phrase, "parenthesis", 0.7 if phrase.determiner else 0.5)


# ---------------------------------------------------------------- K classes


def _by_count(sentence: Sentence, group: _Group) -> Iterator[Mention]:
    """ "each of the K classes": K is the number of classes; "W, U weight matrices" are matrices."""
    last = group.terms[-1]
    end = _counts_nouns(sentence, last + 1)
    before = sentence.kind(group.start - 1)
    if (
        end is None
        or before in {NOMINAL, ADJECTIVE, PARTICIPLE}
        or sentence.word(group.start - 1) in {"where", "since"}
    ):
        return
    phrase = Phrase(last + 1, end)
    if len(group.terms) > 1:
        yield from _shared(group, phrase, "count", 0.55)
    else:
        yield Mention(last, phrase, "count", 0.6, counts=True)


def _counts_nouns(sentence: Sentence, at: int) -> int | None:
    """The end of a plural noun phrase that starts at a token."""
    start = at
    while at - start < 5 and sentence.kind(at) in {NOMINAL, ADJECTIVE, PARTICIPLE}:
        at += 1
        if sentence.kind(at - 1) == NOMINAL and lexicon.is_plural(sentence.word(at - 1)):
            break
    last = sentence.word(at - 1)
    if at == start or sentence.kind(at - 1) != NOMINAL or not lexicon.is_plural(last):
        return None
    if last in _NOT_COUNTED or (at - start == 1 and last in _ACTING | _NAMING):
        return None
    return at


_NOT_COUNTED = frozenset("values times maps bits mins secs ms denotes outputs inputs s".split())


# ---------------------------------------------------------------- lists and gaps


def _by_gap(sentence: Sentence, group: _Group) -> Iterator[Mention]:
    """ "with x the input", "where x is the input and y the output"."""
    if sentence.kind(group.end) != DETERMINER or sentence.word(group.end) not in {"the", "a", "an"}:
        return
    before = sentence.word(group.start - 1)
    if before == "with" or (before in {"and", ","} and _verb_before(sentence, group.start)):
        yield from _assigned(sentence, group, group.end, ("verb", 0.65), together=False)
    elif sentence.word(group.end - 1) == "being":
        yield from _assigned(sentence, group, group.end, ("verb", 0.75), together=False)


def _verb_before(sentence: Sentence, at: int) -> bool:
    """Whether a symbol was defined by a verb earlier in the sentence."""
    for place in range(at - 1, max(0, at - 24), -1):
        if sentence.kinds[place] == BE or sentence.lowers[place] in _DENOTING:
            return sentence.kinds[place - 1] in {FORMULA, ADVERB}
    return False


def _by_list(sentence: Sentence, group: _Group) -> Iterator[Mention]:
    """ "x: the input" as in a list of notation, "K = number of classes"."""
    mark = sentence.word(group.end)
    if mark not in {":", ":=", "=", "-", "\u2013", "\u2014"} or not _starts_item(sentence, group):
        return
    if sentence.kind(group.end + 1) not in {DETERMINER, NOMINAL, ADJECTIVE}:
        return
    phrase = sentence.after(group.end + 1)
    if phrase is not None:
        yield from _shared(group, phrase, "list", 0.75 if mark == ":" else 0.65)


def _starts_item(sentence: Sentence, group: _Group) -> bool:
    return sentence.kind(group.start - 1) in {"", ";", ",", "\u2022", "."} or group.start == 0


# ---------------------------------------------------------------- the loss is: EQUATION


def _display(sentence: Sentence, at: int) -> Mention | None:
    """ "The expected loss is given by EQUATION", "the following loss: EQUATION"."""
    place = at - 1
    colon = sentence.kind(place) == ":"
    if colon:
        place -= 1
    elif sentence.kinds[at] != EQUATION:
        return None
    if sentence.word(place) == "follows" and sentence.word(place - 1) == "as":
        place -= 2
    elif sentence.word(place) in {"by", "as"}:
        place -= 1
        if sentence.word(place) not in _DEFINED and sentence.word(place + 1) == "by":
            return None
    verbal = False
    while sentence.word(place) in _DEFINED | {
        "then",
        "thus",
        "therefore",
        "simply",
    } or sentence.kind(place) in {BE, ADVERB}:
        verbal = verbal or sentence.kind(place) == BE
        place -= 1
    if sentence.kinds[at] == FORMULA and not colon:
        return None
    phrase = sentence.long_before(place + 1)
    if phrase is None:
        return None
    before = sentence.word(phrase.start - 1 - bool(phrase.determiner))
    sure = verbal or before in _SETTING
    if not sure and not phrase.determiner:
        return None
    return Mention(at, phrase, "equation", 0.65 if sure else 0.5)
