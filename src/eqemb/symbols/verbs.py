"""Definitions by a verb: "x is the input", "we denote the input by x", "the loss is: EQUATION"."""

from collections.abc import Iterator

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
    NUMBER,
    PARTICIPLE,
    PREPOSITION,
    PRONOUN,
    VERB,
)
from eqemb.symbols.mentions import (
    ACTING,
    DENOTING,
    NAMING,
    Group,
    Mention,
    assigned,
    ends_clause,
    is_noun_phrase,
    is_respective,
    shared,
)
from eqemb.symbols.model import Kind
from eqemb.symbols.phrases import Phrase, Sentence

_LINKED = {
    "stands": "for", "stand": "for", "refers": "to", "refer": "to", "corresponds": "to",
    "correspond": "to", "serves": "as", "serve": "as", "acts": "as", "act": "as",
    "amounts": "to", "amount": "to",
}  # fmt: skip
#: Words between a symbol and its name that say less than "denotes".
_GIVING = frozenset("gives give defines define equals equal expresses express".split())
#: After "where x", other verbs say what the symbol does; these only say what holds for it.
_STATING = frozenset(
    "satisfies satisfy holds hold depends depend follows follow belongs belong takes take exists"
    " exist lies lie vanishes vanish becomes become remains remain varies vary increases increase"
    " decreases decrease converges converge appears appear occurs occur arises arise coincides"
    " coincide differs differ consists consist requires require suffices suffice implies imply"
    " tends tend seems seem has have had does do did can could may might must shall should will"
    " would cannot".split()
)
_MODAL = frozenset("will can may shall should".split())
_CLAUSE_OPENERS = frozenset("that whether how if what which when where".split())
_INDICATED = frozenset("one zero true false".split())
_SHORTHANDS = frozenset("short shorthand abbreviation notation".split())
_CALLED = frozenset("called termed named known".split())
_DENOTED = frozenset("denoted represented written symbolized designated indicated noted".split())
_GIVEN = frozenset("defined given computed calculated expressed obtained formulated".split())
_THEN = frozenset({"then", "thus", "therefore", "simply"})
_SETTING = frozenset(
    "denote define represent write express call name introduce model treat denoting defining"
    " describe".split()
)
#: Verbs whose object an equation shows: "we minimise the following loss: EQUATION".
_MAKING = frozenset(
    "obtain obtains obtaining compute computes computing calculate calculating derive deriving"
    " produce produces producing minimize minimizes minimizing minimise minimising maximize"
    " maximizes maximizing maximise maximising optimize optimizing optimise optimising form forming"
    " consider considering use uses using give gives giving get gets getting have".split()
)
_CLAUSE_WORDS = frozenset(
    "where here let and that if then while whereas with when for which suppose assume say but"
    " namely i.e. also so since because".split()
)
#: What a condition says of a symbol need not be its meaning.
_IN_CONDITIONS = {"if": 0.25, "since": 0.3, "because": 0.3, "when": 0.25, "so": 0.2, "that": 0.2}
_DENOTE_THE = frozenset({"denote", "denoting"})
_DENOTE_AS = frozenset("denote let denoting refer referring".split())
_WEAK_BE = frozenset({"same", "only", "case", "one", "result"})
#: Words after a symbol that may say what it is; forms of "be" apart.
PREDICATES = NAMING | ACTING | _GIVING | frozenset(_LINKED)
#: Words before a symbol that may link it to its name.
LINKS = (
    _SETTING | _DENOTED
    | frozenset("by as with be is are use write using writing let to".split())
)  # fmt: skip


def by_verb(sentence: Sentence, group: Group) -> Iterator[Mention]:
    """As in "where x is the input", "let x be a point", "x and y denote points"."""
    at = _after_aside(sentence, group.end)
    together = sentence.lowers[at] == "respectively"
    while sentence.kinds[at] == ADVERB or (
        sentence.kinds[at] == "," and sentence.lowers[at + 1] == "respectively"
    ):
        together = together or sentence.lowers[at] == "respectively"
        at += 1
    starts = _starts_clause(sentence, group.start)
    if not starts and sentence.kinds[group.start - 1] == PREPOSITION:
        return  # "an element of B is"
    yield from by_predicate(sentence, group, at, starts=starts, together=together)


def _after_aside(sentence: Sentence, at: int) -> int:
    """Where a sentence goes on after "x's" or "x (resp. y)"; another parenthesis may define x."""
    if sentence.kinds[at] in {"'", "\u2019"} and sentence.lowers[at + 1] == "s":
        return at + 2
    if sentence.kinds[at] == "(" and sentence.lowers[at + 1] in {"resp", "resp."}:
        for place in range(at + 2, at + 7):
            if sentence.kinds[place] == ")":
                return place + 1
    return at


def by_predicate(
    sentence: Sentence, group: Group, at: int, *, starts: bool, together: bool = False
) -> Iterator[Mention]:
    """What the verb at a token says that the symbols are."""
    if sentence.kinds[at] == VERB and sentence.lowers[at] in _MODAL:
        at += 1
    word = sentence.lowers[at]
    if sentence.kinds[at] == BE:
        if word == "is" and len(group.terms) > 1:
            return  # "the distance between x and y is"
        found = _copula(sentence, at, starts=starts)
        if found is None:
            if starts:
                yield from _use(sentence, group, at + 1)
            return
        at, confidence = found
        confidence -= _IN_CONDITIONS.get(sentence.lowers[group.start - 1], 0.0)
    elif word in NAMING and sentence.lowers[at + 1] in _CLAUSE_OPENERS:
        end = sentence.clause_end(at + 2)
        yield from shared(group, Phrase(at, end), "verb", 0.6)
        return
    elif word in NAMING:
        at += 1
        confidence = 0.9 if word in DENOTING else 0.75
    elif word in _LINKED and sentence.lowers[at + 1] == _LINKED[word]:
        at += 2
        confidence = 0.8
    elif word in _GIVING and starts and sentence.lowers[at + 1] in {"the", "a", "an"}:
        at += 1
        confidence = 0.65
    elif starts:
        yield from _action(sentence, group, at)
        return
    else:
        return
    together = together or "respectively" in (sentence.lowers[at - 1], sentence.lowers[at])
    at += sentence.lowers[at] == "respectively"
    kind: Kind = (
        "let" if sentence.lowers[group.start - 1] in {"let", "suppose", "assume"} else "verb"
    )
    yield from assigned(sentence, group, at, (kind, confidence), together=together)


def is_any_verb(sentence: Sentence, at: int) -> bool:
    """Whether a word after a symbol is a verb, as "scores" in "x scores the answers"."""
    if sentence.kinds[at] == NOMINAL:
        return sentence.kinds[at + 1] == DETERMINER and lexicon.is_plural(sentence.lowers[at])
    return sentence.kinds[at] == VERB


def _action(sentence: Sentence, group: Group, at: int) -> Iterator[Mention]:
    """As in "where λ controls how much", "where f scores the answers": what a symbol does."""
    word, before = sentence.lowers[at], group.start - 1
    if word in ACTING:
        confidence = 0.6
    elif (
        is_any_verb(sentence, at)
        and word not in _STATING
        and (sentence.lowers[before] in {"where", "here"} or sentence.kinds[before] == EQUATION)
    ):
        confidence = 0.5
    else:
        return
    if sentence.lowers[at + 1] in _CLAUSE_OPENERS:
        yield from shared(group, Phrase(at, sentence.clause_end(at + 2)), "verb", confidence)
        return
    phrase = sentence.after(at + 1 + (sentence.kinds[at + 1] == PREPOSITION))
    if phrase is not None:
        yield from shared(group, Phrase(at, phrase.end), "verb", confidence)


def _use(sentence: Sentence, group: Group, at: int) -> Iterator[Mention]:
    """As in "λ is used to balance the two terms", "y is 1 if the road is open"."""
    while sentence.kinds[at] == ADVERB:
        at += 1
    value = sentence.kinds[at] == NUMBER or sentence.lowers[at] in _INDICATED
    if value and sentence.lowers[at + 1] in {"if", "iff", "when", "whenever"}:
        yield from shared(group, Phrase(at, sentence.clause_end(at + 2)), "verb", 0.5)
    if sentence.lowers[at] == "used" and sentence.lowers[at + 1] == "to":
        end = sentence.clause_end(at + 2)
        if end > at + 3:
            yield from shared(group, Phrase(at, end), "verb", 0.5)


def _copula(sentence: Sentence, at: int, *, starts: bool) -> tuple[int, float] | None:
    """Where the phrase after a form of "be" starts, and how sure it is that it defines."""
    be = sentence.lowers[at]
    at += 1
    while sentence.kinds[at] == ADVERB and sentence.lowers[at] != "not":
        at += 1
    word, following = sentence.lowers[at], sentence.lowers[at + 1]
    if word in _CALLED:
        return at + (2 if following == "as" else 1), 0.85
    if word == "defined" and following in {"as", "to"}:
        return at + (3 if sentence.lowers[at + 2] == "be" else 2), 0.8
    if word == "referred" and following == "to":
        return at + 3, 0.85
    if word == "used" and following == "to" and sentence.lowers[at + 2] in NAMING:
        return at + 3, 0.85
    if word == "used" and following == "for":
        return at + 2, 0.6
    kind = sentence.kinds[at]
    role = _in_role(sentence, at)
    if role is not None and starts:
        return role, 0.65
    if kind == DETERMINER and word not in {"this", "no", "all", "each", "every", "either"}:
        if following in _WEAK_BE:
            return None
        return at, 0.85 if starts or be == "be" else 0.45
    bare = kind in {NOMINAL, ADJECTIVE, PARTICIPLE} and is_noun_phrase(sentence, at)
    if bare and starts:
        return at, 0.7 if kind == NOMINAL else 0.6
    return None


def _in_role(sentence: Sentence, at: int) -> int | None:
    """Where the name starts in "chosen to be the", "interpreted as the", "shorthand for the"."""
    first = at + (sentence.kinds[at] == DETERMINER)
    if sentence.lowers[first] in _SHORTHANDS:
        return first + 2 if sentence.lowers[first + 1] in {"for", "of"} else None
    if sentence.kinds[at] != PARTICIPLE:
        return None
    at += 1 + (sentence.lowers[at + 1] == "of")
    if sentence.lowers[at] == "as":
        at += 1
    elif sentence.lowers[at] == "to" and sentence.lowers[at + 1] == "be":
        at += 2
    else:
        return None
    return at if sentence.lowers[at] in {"the", "a", "an"} else None


def _starts_clause(sentence: Sentence, at: int) -> bool:
    """Whether a symbol is the subject of its clause, and not in apposition."""
    if sentence.lowers[at - 1] == "the":  # "where the x are the observed variables"
        at -= 1
    before = sentence.kinds[at - 1]
    return (
        before in {"", ",", ";", ":", "(", EQUATION, ".", "["}
        or sentence.lowers[at - 1] in _CLAUSE_WORDS
        or (before == PREPOSITION and sentence.lowers[at - 1] == "with")
    )


def by_denoting(sentence: Sentence, group: Group) -> Iterator[Mention]:
    """As in "denote by x the input", "the input is denoted by x", "we write x for the input"."""
    word, before = sentence.lowers[group.start - 1], sentence.lowers[group.start - 2]
    if word == "by" and before in _SETTING:  # denote by x the input
        phrase = sentence.after(group.end)
        if phrase is not None:
            yield from shared(group, phrase, "denote", 0.9)
    elif word == "by" and sentence.kinds[group.end] == PRONOUN:  # by x we denote the input
        if sentence.lowers[group.end + 1] in {"denote", "mean"}:
            yield from assigned(sentence, group, group.end + 2, ("denote", 0.9), together=False)
    elif word in {"by", "as", "with", "be", "is", "are"} or word in _DENOTED:
        yield from _passive(sentence, group)
        yield from _active(sentence, group)
        yield from _which_we(sentence, group, group.start - 2)
    elif word in {"use", "write", "using", "writing", "let"} | _SETTING:
        yield from _purpose(sentence, group)
        yield from _which_we(sentence, group, group.start - 1)
    elif word == "to" and before == "refer" and sentence.lowers[group.end] == "as":
        yield from assigned(sentence, group, group.end + 1, ("denote", 0.85), together=False)


def _which_we(sentence: Sentence, group: Group, verb: int) -> Iterator[Mention]:
    """As in "the input, which we denote x", "the input, which we write as x"."""
    if sentence.lowers[verb] not in _SETTING or sentence.kinds[verb - 1] != PRONOUN:
        return
    if sentence.lowers[verb - 2] != "which" or not ends_clause(sentence, group.end):
        return
    phrase = sentence.long_before(verb - 2 - (sentence.kinds[verb - 3] == ","))
    if phrase is not None:
        yield from shared(group, phrase, "denote", 0.8)


def _purpose(sentence: Sentence, group: Group) -> Iterator[Mention]:
    """As in "we use x to denote the input", "write x for the input", "define x as the input"."""
    at = group.end
    word, following = sentence.lowers[at], sentence.lowers[at + 1]
    if word == "to" and following in NAMING | {"refer", "be"}:
        at += 3 if following == "refer" else 2
    elif word in {"for", "as"} or (sentence.lowers[group.start - 1] in {"call", "name"}):
        at += word in {"for", "as"}
        if word == "for" and sentence.lowers[group.start - 1] not in {"write", "use", "writing"}:
            return
        if sentence.kinds[at] not in {DETERMINER, NOMINAL}:
            return
        if sentence.lowers[at] in lexicon.QUANTIFIERS:
            return
    elif sentence.lowers[group.start - 1] not in _DENOTE_THE or word not in {"the", "a", "an"}:
        return
    yield from assigned(sentence, group, at, ("denote", 0.85), together=False)


def _passive(sentence: Sentence, group: Group) -> Iterator[Mention]:
    """As in "the input is denoted by x", "the input, denoted by x", "let the input be x"."""
    at = group.start - 1
    confidence = 0.85
    if sentence.lowers[at] in {"by", "as", "with"}:
        at -= 1
        if sentence.lowers[at] in _GIVEN:
            confidence = 0.6
        elif sentence.lowers[at] not in _DENOTED:
            return
    elif sentence.lowers[at] not in _DENOTED:
        confidence = 0.5
        if not ends_clause(sentence, group.end):
            return
    else:
        pass
    if sentence.lowers[at] in _DENOTED | _GIVEN:
        at -= 1
    while sentence.kinds[at] in {BE, ADVERB} or sentence.lowers[at] in {"can", "will", "which"}:
        at -= 1
    if sentence.kinds[at] == ",":
        at = sentence.skip_aside(at) - 1
    respective = len(group.terms) > 1 and is_respective(sentence, group.end)
    phrase = sentence.long_before(at + 1, lists=respective and len(group.terms) > 2)
    if phrase is None:
        return
    parts = sentence.parts(phrase, len(group.terms)) if respective else None
    if parts is not None:
        for term, part in zip(group.terms, parts, strict=True):
            yield Mention(term, part, "denote", confidence)
    else:
        yield from shared(group, phrase, "denote", confidence)


def _active(sentence: Sentence, group: Group) -> Iterator[Mention]:
    """As in "we denote the input by x", "we define its loss and error as L and E"."""
    link = group.start - 1
    if sentence.lowers[link] not in {"by", "as", "with", "be"}:
        return
    end = link - 1 if sentence.lowers[link - 1] == "to" else link
    phrase = sentence.long_before(end)
    if phrase is None:
        return
    at = phrase.start - 1 - bool(phrase.determiner)
    while sentence.kinds[at] in {ADVERB, CONJUNCTION, ","}:
        at -= 1
    if sentence.lowers[at] == "to":
        at -= 1  # "we refer to the input as x"
    again = (
        sentence.kinds[at] == FORMULA and sentence.lowers[at - 1] == sentence.lowers[link] != "be"
    )
    if not (sentence.lowers[at] in _SETTING | {"refer", "referring"} or again) and not (
        sentence.lowers[at] == "let" and sentence.lowers[link] == "be"
    ):
        return
    confidence = 0.85 if again or sentence.lowers[at] in _DENOTE_AS else 0.65
    parts = sentence.parts(phrase, len(group.terms)) if len(group.terms) > 1 else None
    if parts is None:
        yield from shared(group, phrase, "denote", confidence)
        return
    for term, part in zip(group.terms, parts, strict=True):
        core_end = part.end
        for place in range(part.start, part.end):
            if part is parts[-1] and sentence.lowers[place] == "on":
                core_end = place  # what belongs to both
                break
        yield Mention(term, Phrase(part.start, core_end, part.determiner), "denote", confidence)


def by_gap(sentence: Sentence, group: Group) -> Iterator[Mention]:
    """As in "with x the input", "where x is the input and y the output"."""
    if sentence.kinds[group.end] != DETERMINER or sentence.lowers[group.end] not in {
        "the",
        "a",
        "an",
    }:
        return
    before = sentence.lowers[group.start - 1]
    if before == "with" or (before in {"and", ","} and _verb_before(sentence, group.start)):
        yield from assigned(sentence, group, group.end, ("verb", 0.65), together=False)


def _verb_before(sentence: Sentence, at: int) -> bool:
    """Whether a symbol was defined by a verb earlier in the sentence."""
    for place in range(at - 1, max(0, at - 24), -1):
        if sentence.kinds[place] == BE or sentence.lowers[place] in DENOTING:
            return sentence.kinds[place - 1] in {FORMULA, ADVERB}
    return False


def by_display(sentence: Sentence, term: int) -> Mention | None:
    """As in "The expected loss is given by EQUATION", "the following loss: EQUATION"."""
    place = term - 1
    if sentence.kinds[place] == ":":
        place -= 1
    elif sentence.kinds[term] != EQUATION:
        return None
    if sentence.lowers[place] == "follows" and sentence.lowers[place - 1] == "as":
        place -= 2
    elif sentence.lowers[place] in {"by", "as"}:
        place -= 1
        if sentence.lowers[place] not in _GIVEN and sentence.lowers[place + 1] == "by":
            return None
    verbal = False
    while sentence.lowers[place] in _GIVEN | _THEN or sentence.kinds[place] in {BE, ADVERB}:
        verbal = verbal or sentence.kinds[place] == BE
        place -= 1
    phrase = sentence.long_before(place + 1)
    if phrase is None or sentence.lowers[place] in lexicon.EMPTY_HEADS:
        return None
    head = sentence.head(phrase.start, phrase.end)
    if head is not None and head < place and _only_formulas(sentence, head + 1, place):
        return None  # "the matrices C and D: EQUATION"
    before = phrase.start - 1 - bool(phrase.determiner)
    if verbal or sentence.lowers[before] in _SETTING | _MAKING:
        return Mention(term, phrase, "equation", 0.65)
    if not phrase.determiner:
        return None
    doubtful = sentence.kinds[before] == PREPOSITION
    return Mention(term, phrase, "equation", 0.3 if doubtful else 0.45)


def _only_formulas(sentence: Sentence, start: int, last: int) -> bool:
    return all(sentence.kinds[at] in {FORMULA, CONJUNCTION, ","} for at in range(start, last + 1))
