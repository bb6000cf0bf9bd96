"""Name an equation: a short noun phrase from the text around it and around similar equations.

Candidates come from sentences that name an equation ("the softmax weights are given by
[equation]", "[equation], which is called the evidence lower bound"), and from the titles of its
section and of its article. Similar equations vote for them, one vote an article, and the phrase
with the most votes wins whose words also describe the equation well. There is no tagger: a phrase
is a run of words between a determiner and a verb, and lists of verbs and of empty nouns keep
fragments out. No phrase is better than a bad one.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from eqemb.corpus.vocabulary import STOP_WORDS
from eqemb.index.stemming import stem, stem_start
from eqemb.search.engine import Search

#: Votes of the ways to name an equation.
CALLED_VOTE, NAMED_VOTE, TITLE_VOTE, SECTION_VOTE, NEARBY_VOTE = 1.2, 1.0, 0.8, 0.5, 0.25
END_VOTE = 0.6  # of the vote for a longer phrase with this end
#: An article with more equations than this is not about one of them.
EQUATIONS_OF_TITLE = 8
#: The fewest votes of a phrase of one article and of several ones.
MIN_VOTES, MIN_AGREED = 0.45, 0.3
#: Equations that are asked, and the power of the trust by which they vote: articles that agree on a
#: phrase are rarely wrong, so that those with other letters count more than for single words.
MAX_ASKED, VOTE_POWER = 48, 0.67
#: The best words, of which a phrase has one, and of which a phrase of a single word is one.
FITTING_WORDS, FITTING_SINGLE = 8, 2
_PHRASE_WORDS, _PHRASE_LETTERS = 5, 60

_PHRASE_TOKEN = re.compile(
    r"\[equation\]|\[…\]|\$[^$]*\$|[^\W_]+(?:[-'\u2019\u2010\u2011.][^\W_]+)*|[^\w\s]"
)
_FULL_STOP = re.compile(
    r"(?<=[.!?])(?<!i\.e\.)(?<!e\.g\.)(?<! al\.)(?<!Fig\.)(?<!Eq\.)(?<!cf\.)\s+"
)
#: An acronym in brackets between the words of a phrase: evidence lower bound (ELBO).
_ACRONYM = re.compile(r"\s\([A-Z][\w-]{1,8}\)")
_PLACE = "[equation]"
#: A word, or a part of a compound, with a large initial: Dot-Product, but not KL.
_CAPITALISED = re.compile(r"(?<![^\W_])[A-Z](?=[a-z]+(?![^\W_]))")
_JOINTS = frozenset("of the a an".split())
_NAME_DETERMINERS = frozenset("the a an our its their this".split())
#: Words of phrases although they are stop words: mean squared error, least squares.
_ALLOWED = frozenset("mean means least second first third".split())
_LINKS = frozenset(
    """
    is are was were be been being becomes become reads equals equal can could may might must will
    would should then thus therefore hence now simply just also often usually commonly
    given defined written expressed computed calculated formulated formalized formalised obtained
    represented estimated described stated specified denoted modeled modelled derived determined
    by as to follows follow the following form equation formula expression have has : , = ; that
    """.split()
)
_IS_OR_ARE = frozenset("is are was were be becomes become can may : defined given".split())
_VERB_LINKS = _LINKS - frozenset(": , = ; the following form equation formula expression".split())
_FINITE_VERBS = frozenset(
    """
    define defines defined denote denotes denoted obtain obtains obtained yield yields yielded write
    writes written compute computes computed calculate calculates calculated express expresses
    expressed becomes become reads read equals holds hold satisfies satisfy satisfied consider
    considers considered assume assumes assumed suppose recall note notice show shows showed shown
    follow follows minimize minimizes minimized minimise minimises maximize maximizes maximized
    maximise optimize optimizes optimized apply applies applied derive derives derived introduce
    introduces introduced propose proposes proposed represent represents represented corresponds
    correspond corresponding depends depend leads lead gives implies imply states stated want need
    know known call calls called termed named referred train trained learn learns learned predict
    predicts predicted replace replaces replaced rewrite rewritten rearranging substituting solving
    plugging replacing summing dividing multiplying combining contains contain consists consist
    find finds found choose chosen chooses produce produces produced generate generates provide
    provides provided prove proves proved exists exist describes describe described ensures allow
    allows require requires required adopt employ employs employed evaluate evaluates turns simplify
    simplifies simplified reduces become remains arrive arrives expand expands expanding satisfying
    containing consisting representing denoting following belongs lies converges converge tends
    socalled so-called acquires acquire takes attains attain factoring noting remembering observing
    comparing tend differentiate differentiating integrate integrating letting say says
    """.split()
)
#: Words that end the clause before them.
_CLAUSES = frozenset(
    """that where which if when then so thus hence because since while whether who we i you
    one they it there let""".split()
)
_ENDS_OF_CLAUSES = _LINKS | _FINITE_VERBS | {"$"}
_VERBS_BEFORE, _CLAUSE_BREAKS = _VERB_LINKS | _FINITE_VERBS, _CLAUSES | _FINITE_VERBS
_NAME_PREPOSITIONS = frozenset(
    "of for in on with by from to at over under between among into as via per using".split()
)
#: Nouns that name nothing by themselves, and adjectives that only point.
_EMPTY_WORDS = frozenset(
    """
    equation equations formula formulas formulae expression expressions form forms relation
    relations relationship result results case cases definition definitions way ways example
    examples fact facts notation notations statement statements property properties step steps
    term terms quantity quantities function functions problem problems condition conditions
    assumption assumptions identity inequality inequalities theorem lemma proof value values set
    sets system number numbers variable variables model models method methods approach
    introduction experiments experiment background conclusion conclusions overview appendix
    preliminaries review summary discussion setup details analysis work paper section chapter
    figure table exercise solution solutions remark remarks note notes question answer motivation
    evaluation implementation algorithm algorithms data training main derivation part parts
    following previous above new simple general basic specific different same similar equivalent
    alternative last next final right left hand side sides two three particular corresponding
    respective standard usual well-known obvious original special important useful main
    resulting desired required entire whole full real good better best lecture topic topics
    line lines reader author authors literature time point points equality aforementioned
    follow element elements object objects space map mapping symbol letter first second third
    """.split()
)
#: Nouns that end no phrase.
_POINTERS = frozenset(
    """notation form case way fact example examples definition definitions step steps result
    results proof details detail remarks exercises perspectives""".split()
)
_ADJECTIVE_END = re.compile(r".{3,}(?:ed|ous|less|ful|ical|able|ible)$")
#: Single words that are no names: short ones, gerunds, adjectives.
_NO_NAME = re.compile(r".{1,4}$|.*(?:ing|ive|ic|ant|ory|ary|ine|ian)$")
#: Before an equation, this end may be that of a verb: the pump pushes [equation].
_VERB_END = re.compile(r"\w+[^su']s$")
_NOUNS = frozenset("variable table seed feed speed need embed".split())
_LEADS = re.compile(
    r"^(?:[\dIVX.]+\s+)?(?:(?:alternative |second |first |another )?"
    r"(?:proof|sketch|derivation|definition|example|examples|introduction|proofs|properties|relation)"
    r" (?:of|to|for|that)\s+)?(?:(?:the|an?)\s+)?(?=\S)",
    re.IGNORECASE,
)


class EquationName(NamedTuple):
    """A noun phrase that names an equation."""

    text: str
    score: float
    """Its share of the votes for all phrases."""
    article: str
    """The article that says it of the most similar equation."""

    def to_json(self) -> dict[str, object]:
        """Return `text`, `score` and `article`."""
        return {**self._asdict(), "score": round(self.score, 6)}


class _Candidate(NamedTuple):
    words: tuple[str, ...]
    weight: float


class _Voter:
    """An equation whose text may have the phrase."""

    def __init__(self, context: str, group: int, trust: float) -> None:
        self.tokens = _PHRASE_TOKEN.findall(context)
        self.group, self.trust, self._lowered = group, trust, context.lower()

    def has(self, key: Sequence[str], starts: Iterable[str]) -> bool:
        """Whether the text has consecutive stems, given the starts of their words."""
        return (
            all(start in self._lowered for start in starts) and f" {' '.join(key)} " in self._stems
        )

    @cached_property
    def _stems(self) -> str:
        return f" {' '.join(stem(word.lower()) for word in self.tokens)} "


def name_equation(
    search: Search,
    rows: Sequence[int],
    trust: Sequence[float],
    groups: Sequence[int],
    topic: Mapping[str, float],
) -> EquationName | None:
    """Return the phrase that most similar equations agree on; None if no phrase is good enough.

    Args:
        search: The library.
        rows: Equations that speak for the one asked for, the most trusted first.
        trust: How much each is trusted, from 0 to 1.
        groups: The article, or the group of near-duplicate articles, of each.
        topic: Stems that describe the equation, with weights. A phrase has one of the best.
    """
    votes: dict[tuple[str, ...], dict[int, float]] = {}
    forms: dict[tuple[str, ...], Counter[tuple[str, ...]]] = {}
    first: dict[tuple[str, ...], str] = {}
    voters: list[_Voter] = []
    cases = Counter[str]()
    worths = [each**VOTE_POWER for each in trust]
    for row, worth, group in list(zip(rows, worths, groups, strict=True))[:MAX_ASKED]:
        equation, title = search.equation(row)
        context = " ".join([equation.context, *equation.references[:3]])
        voters.append(_Voter(context, group, worth))
        cases.update(voters[-1].tokens)
        size = search.segments.article_size(row)
        found = [
            *named_by(equation.context),
            *titled(title, TITLE_VOTE * min(1.0, EQUATIONS_OF_TITLE / size)),
            *titled(equation.section, SECTION_VOTE),
        ]
        for words, weight in _with_ends(found):
            key = _key(words)
            of_group = votes.setdefault(key, {})
            of_group[group] = max(of_group.get(group, 0.0), weight * worth)
            forms.setdefault(key, Counter())[words] += 1
            first.setdefault(key, equation.article)
    if not votes:
        return None
    _count_nearby(votes, voters)
    ranked = sorted(topic, key=lambda root: (-topic[root], root))
    top, fitting = max(topic.values(), default=1.0), ranked[:FITTING_WORDS]
    scores: dict[tuple[str, ...], float] = {}
    for key, of_group in votes.items():
        roots = [root for root in dict.fromkeys(key) if root not in _JOINTS]
        fit = sum(topic.get(root, 0.0) for root in roots) / top / len(roots) ** 0.5
        total = sum(of_group.values())
        likely = fitting if len(roots) > 1 else fitting[:FITTING_SINGLE]
        if set(likely) & set(key) and total >= (MIN_VOTES if len(of_group) == 1 else MIN_AGREED):
            scores[key] = total * float(np.sqrt(fit))
    if not scores:
        return None
    best = min(scores, key=lambda key: (-scores[key], key))
    words = min(forms[best], key=lambda form: (-forms[best][form], form))
    return EquationName(_spell(words, cases), scores[best] / sum(scores.values()), first[best])


def _with_ends(found: Iterable[_Candidate]) -> Iterator[_Candidate]:
    """Yield candidates and, with fewer votes, their last words: gradient descent of many kinds."""
    for words, weight in found:
        yield _Candidate(words, weight)
        if "of" not in words:
            for start in range(1, len(words) - 1):
                if _is_good(words[start:]):
                    yield _Candidate(words[start:], END_VOTE * weight)


def _count_nearby(votes: dict[tuple[str, ...], dict[int, float]], voters: list[_Voter]) -> None:
    """Add the votes of articles whose text near a similar equation has a phrase."""
    for key, of_group in votes.items():
        starts = [stem_start(root) for root in key]
        for voter in voters if len(key) > 1 else ():
            if voter.has(key, starts):
                worth = NEARBY_VOTE * voter.trust
                of_group[voter.group] = max(of_group.get(voter.group, 0.0), worth)


# ------------------------------------------------------------ sentences


def named_by(context: str) -> Iterator[_Candidate]:
    """Yield the phrases by which the sentences around `[equation]` name it."""
    before, mark, after = _ACRONYM.sub("", context).partition(_PLACE)
    if not mark:
        return
    own = _PHRASE_TOKEN.findall(_FULL_STOP.split(before)[-1])
    yield from _before(own)
    rest = _PHRASE_TOKEN.findall(_FULL_STOP.split(after)[0] if after else "")
    for tokens in (own, rest):
        yield from _called(tokens)
    yield from _after(_PHRASE_TOKEN.findall(after)[:24])


def _before(tokens: list[str]) -> Iterator[_Candidate]:
    """Yield the subject or object of the clause that ends in the equation."""
    end = len(tokens)
    while end and tokens[end - 1].lower() in _ENDS_OF_CLAUSES:
        end -= 1
    links = {token.lower() for token in tokens[end:]}
    body = tokens[:end]
    while body and body[-1].startswith(("$", "[…", ")", "(")):
        body = body[:-1]
    if not body or body[-1].lower() == "such":
        return
    if not links & _IS_OR_ARE and _VERB_END.match(body[-1]):
        return
    if links & _VERBS_BEFORE:
        for start in _clause_starts(body):
            words = _noun_phrase(body, start)
            if words:
                yield _Candidate(words, NAMED_VOTE)
                return
    else:
        at = len(body)
        while at and _is_part(body[at - 1]) and len(body) - at < _PHRASE_WORDS + 1:
            at -= 1
        if at and body[at - 1].lower() in _NAME_DETERMINERS:
            words = _noun_phrase(body, at - 1)
            if words and at + len(words) >= len(body):
                yield _Candidate(words, NAMED_VOTE)


def _clause_starts(body: list[str]) -> Iterator[int]:
    """Yield where clauses may start with their noun, the last first."""
    for at in range(len(body) - 1, -1, -1):
        here = body[at].lower()
        previous = body[at - 1].lower() if at else ""
        begins = not at or previous in _CLAUSE_BREAKS or not previous[:1].isalnum()
        begins = begins or (previous.endswith("ly") and at == 1)
        # a heading without a full stop may precede the sentence
        begins = begins or (here in _NAME_DETERMINERS and body[at][0].isupper())
        if (
            begins
            and not previous.startswith(("$", "["))
            and (
                here in _NAME_DETERMINERS
                or (_is_part(here) and (not at or previous in _FINITE_VERBS))
            )
        ):
            yield at


def _called(tokens: list[str]) -> Iterator[_Candidate]:
    """Yield what a sentence says something is called."""
    lowered = [token.lower() for token in tokens]
    for at, word in enumerate(lowered):
        start = 0
        if word in ("called", "termed", "named", "so-called"):
            start = at + 1
        elif word in ("known", "referred") and "as" in lowered[at + 1 : at + 3]:
            start = lowered.index("as", at) + 1
        if start and start < len(tokens) and (words := _noun_phrase(tokens, start)):
            yield _Candidate(words, CALLED_VOTE)


def _after(tokens: list[str]) -> Iterator[_Candidate]:
    """Yield what the words after the equation say that it is: `[equation] is the X`."""
    at = 0
    while at < len(tokens) and tokens[at].lower() in (".", ",", "which", "this", "that", "it"):
        at += 1
    if at < len(tokens) - 1 and tokens[at].lower() in ("is", "are"):
        at += 1
        while at < len(tokens) and tokens[at].lower() in ("just", "simply", "exactly", "also"):
            at += 1
        if at < len(tokens) and tokens[at].lower() in _NAME_DETERMINERS:
            words = _noun_phrase(tokens, at)
            if words:
                yield _Candidate(words, NAMED_VOTE)


# ------------------------------------------------------------ noun phrases


def _is_part(word: str) -> bool:
    """Whether a word can be part of a noun phrase."""
    small = word.lower()
    return (
        word[:1].isalpha()
        and (len(word) > 2 or word.isupper())
        and (small not in STOP_WORDS or small in _ALLOWED)
        and small not in _FINITE_VERBS
        and not (small.endswith("ly") and len(small) > 5)
    )


def _noun_phrase(tokens: Sequence[str], start: int) -> tuple[str, ...]:
    """Return the noun phrase that starts here, without its determiner; empty if there is none."""
    at = start
    if tokens[at].lower() in _NAME_DETERMINERS:
        at += 1
    head, at = _run(tokens, at)
    if not head:
        return ()
    while at < len(tokens) and tokens[at].startswith("$"):
        at += 1
    if at + 1 < len(tokens) and tokens[at].lower() == "of":
        has_article = tokens[at + 1].lower() in ("the", "a", "an")
        tail, end = _run(tokens, at + 1 + has_article)
        follows = tokens[end] if end < len(tokens) else ""
        if tail and not follows.startswith("$") and len(head) + len(tail) <= _PHRASE_WORDS:
            joint = ("of", tokens[at + 1].lower()) if has_article else ("of",)
            if _is_good(head + joint + tail):
                return head + joint + tail
        if len(head) == 1:
            return ()  # the mean of something that has no short name
    return head if _is_good(head) else ()


def _run(tokens: Sequence[str], at: int) -> tuple[tuple[str, ...], int]:
    """Return the words of a run that may be a phrase, and where it ends."""
    words: list[str] = []
    while at < len(tokens) and _is_part(tokens[at]):
        words.append(tokens[at])
        at += 1
    while words and (words[0].lower() in ("first", "second", "third") and len(words) == 1):
        words.pop()
    return tuple(words), at


def _is_good(words: Sequence[str]) -> bool:
    """Whether words are a phrase that names something."""
    own = [word.lower() for word in words if word not in _JOINTS]
    last = own[-1] if own else ""
    if not own or len(own) > _PHRASE_WORDS or sum(map(len, words)) > _PHRASE_LETTERS:
        return False
    if last in _POINTERS or (_ADJECTIVE_END.match(last) and last not in _NOUNS):
        return False
    if last in _ALLOWED and last not in ("mean", "means"):
        return False
    telling = [word for word in own if word not in _EMPTY_WORDS]
    return bool(telling) and (len(own) > 1 or not _NO_NAME.match(last))


def titled(title: str, weight: float) -> Iterator[_Candidate]:
    """Yield the phrase that a title is, if it is one."""
    text = _LEADS.sub("", title.strip().rstrip(".:"), count=1)
    tokens = _PHRASE_TOKEN.findall(text)
    if not tokens or not all(token[:1].isalnum() for token in tokens):
        return
    words = _noun_phrase(tokens, 0)
    if len(words) == len(tokens):
        yield _Candidate(words, weight)


def _key(words: Sequence[str]) -> tuple[str, ...]:
    """Return the stems of a phrase, by which its spellings are one."""
    return tuple(stem(word.lower()) for word in words)


def _spell(words: Sequence[str], cases: Mapping[str, int]) -> str:
    """Return a phrase in small letters, except names and acronyms."""
    titled = sum(word[:1].isupper() for word in words if len(word) > 3) > 1
    spelt = []
    for at, word in enumerate(words):
        small = _CAPITALISED.sub(lambda found: found[0].lower(), word)
        if small == word:
            spelt.append(word)  # an acronym, or small already
        elif cases.get(small, 0) or cases.get(word, 0):
            spelt.append(small if cases.get(small, 0) else word)
        else:
            spelt.append(small if titled or not at else word)
    return " ".join(spelt)
