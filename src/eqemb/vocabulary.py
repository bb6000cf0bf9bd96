"""Which words count: the paper's rules, all adjustable, with an account of what each removed.

plain   no tagger: words with a letter, minus stop words, the most frequent, rare and short
        ones, plus frequent abbreviations of three capitals
paper   the same after a first rule that keeps words tagged noun or adjective in at least a
        fifth of their first ten occurrences (NLTK's tokenizer and HanTa: the extra `paper`)
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.errors import UsageError

Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]

OCCURRENCES = 10  # of a word that are tagged
SHARE = 0.2  # of them that must be nouns or adjectives
_NOUNS_AND_ADJECTIVES = ("NN", "NP", "AJ", "JJ")  # HanTa speaks BNC's tags, NLTK Penn's
_CHUNK = 40  # words tagged together

#: Function words and the scaffolding of scientific prose; written by us.
STOP_WORDS = frozenset(
    """
    a able about above according across actually after again against ago ahead all almost alone
    along already also although altogether always am amid among amongst an and another any anybody
    anyhow anyone anything anyway anywhere apart are aren't around as aside at away be became
    because become becomes been before beforehand behind being below beneath beside besides between
    beyond both but by came can can't cannot certain certainly come comes consequently could
    couldn't did didn't do does doesn't doing don't done down due during each either else elsewhere
    enough especially etc even ever every everybody everyone everything everywhere except far few
    first firstly following follows for former formerly forth from further furthermore gave get
    gets getting give given gives giving go goes going gone got had hadn't hardly has hasn't have
    haven't having he hence her here hereafter hereby herein hers herself him himself his hither
    how however i i.e ie if in indeed inside instead into is isn't it it's its itself just keep
    keeps kept last lastly later latter least less let let's lets like likely made mainly make
    makes making many may maybe me mean means meanwhile might mine more moreover most mostly much
    must my myself namely near nearly neither never nevertheless next no nobody none nonetheless
    nor not nothing now nowhere of off often on once one ones only onto or other others otherwise
    ought our ours ourselves out outside over overall own particular particularly per perhaps
    please put quite rather re really regarding respectively said same saw say says second secondly
    see seem seemed seems seen several shall she should shouldn't since so some somebody somehow
    someone something sometimes somewhat somewhere soon still such take taken takes taking than
    that that's the their theirs them themselves then thence there there's thereafter thereby
    therefore therein thereof these they thing things third this those though three through
    throughout thus till to together too took toward towards tried try two under unless unlike
    until unto up upon us use used uses using usually various versus very via viz was wasn't way we
    well went were weren't what whatever when whence whenever where whereas whereby wherein
    wherever whether which whichever while who whoever whole whom whose why will with within
    without won't would wouldn't yes yet you your yours yourself yourselves zero
    e.g eg et al cf resp vs fig figs eq eqs sec ref refs i.i.d w.r.t s.t
    """.split()
)


@dataclass(frozen=True)
class Rules:
    """How a vocabulary is chosen; checked when made."""

    kind: str = "plain"
    min_count: int | str = "auto"
    """Least frequency; "auto" = min(10, max(2, round(10 T / 300,000))) for T words."""
    top: int | str = "auto"
    """How many most frequent words are stop words too; "auto" = 2.5 times min_count."""
    min_length: int = 4
    abbreviations: int = 50
    stop_words: bool = True

    def __post_init__(self) -> None:
        if self.kind not in ("plain", "paper"):
            raise UsageError(f"vocabulary {self.kind!r}: say 'plain' or 'paper'")
        for name in ("min_count", "top"):
            value = getattr(self, name)
            if value != "auto" and (not isinstance(value, int) or value < 0):
                raise UsageError(f"{name}={value!r}: say 'auto' or a whole number")
        if self.min_length < 1 or self.abbreviations < 0:
            raise UsageError("min_length must be at least 1 and abbreviations at least 0")

    def as_dict(self) -> dict[str, Any]:
        """The settings, as they are saved."""
        return asdict(self)


class Removed(NamedTuple):
    """One line of the account: what a rule took away (or, for "kept", what is left)."""

    rule: str
    words: int
    occurrences: int


class Choice(NamedTuple):
    """The words that count, as indices, and the account."""

    kept: NDArray[np.int64]  # most frequent first, then by spelling
    table: list[Removed]
    min_count: int
    top: int


def choose(
    words: Sequence[str], counts: Counts, capitals: Counts, rules: Rules, nouns: Mask | None = None
) -> Choice:
    """Apply the rules in order; `capitals` counts occurrences written in capitals."""
    table: list[Removed] = []
    kept = np.ones(len(words), bool)

    def keep(rule: str, mask: Mask) -> None:
        gone = kept & ~mask
        table.append(Removed(rule, int(gone.sum()), int(counts[gone].sum())))
        kept[gone] = False

    keep("no letter", np.array([any(map(str.isalpha, word)) for word in words], bool))
    if nouns is not None:
        keep("no noun or adjective", nouns)
    if rules.stop_words:
        keep("stop word", np.array([word not in STOP_WORDS for word in words], bool))
    min_count = _scaled(rules.min_count, int(counts[kept].sum()))
    top = round(2.5 * min_count) if rules.top == "auto" else int(rules.top)
    order = _by_frequency(words, counts, kept)
    frequent = np.zeros(len(words), bool)
    frequent[order[:top]] = True
    keep(f"{top} most frequent", ~frequent)
    short = np.array([len(word) < rules.min_length for word in words], bool)
    chosen = _abbreviations(words, counts, capitals, kept & short, rules.abbreviations)
    keep(f"shorter than {rules.min_length}", ~short | chosen)
    keep(f"fewer than {min_count} times", (counts >= min_count) | chosen)
    table.append(Removed("kept", int(kept.sum()), int(counts[kept].sum())))
    return Choice(_by_frequency(words, counts, kept), table, min_count, top)


def _scaled(min_count: int | str, total: int) -> int:
    if min_count != "auto":
        return int(min_count)
    return min(10, max(2, round(10 * total / 300_000)))


def _by_frequency(words: Sequence[str], counts: Counts, mask: Mask) -> NDArray[np.int64]:
    found = sorted(np.flatnonzero(mask).tolist(), key=lambda i: (-int(counts[i]), words[i]))
    return np.array(found, np.int64)


def _abbreviations(
    words: Sequence[str], counts: Counts, capitals: Counts, mask: Mask, most: int
) -> Mask:
    """The most frequent three-letter words that stand mostly in capitals."""
    three = np.array([len(word) == 3 and word.isalpha() for word in words], bool)
    order = _by_frequency(words, capitals, mask & three & (2 * capitals > counts))
    chosen = np.zeros(len(words), bool)
    chosen[order[:most]] = True
    return chosen


def paper_tokenizer() -> Callable[[str], list[str]]:
    """NLTK's tokenizer class, which needs no data."""
    try:
        from nltk.tokenize import NLTKWordTokenizer
    except ImportError:
        raise UsageError("vocabulary 'paper' needs NLTK: pip install 'eqemb[paper]'") from None
    tokenize: Callable[[str], list[str]] = NLTKWordTokenizer().tokenize
    return tokenize


def paper_tagger() -> Callable[[list[str]], list[str]]:
    """HanTa's tags of a run of words."""
    try:
        from HanTa.HanoverTagger import HanoverTagger
    except ImportError:
        raise UsageError("vocabulary 'paper' needs HanTa: pip install 'eqemb[paper]'") from None
    tagger = HanoverTagger("morphmodel_en.pgz")
    return lambda words: [tag for _, _, tag in tagger.tag_sent(words)]


def nouns_and_adjectives(
    runs: Iterable[tuple[list[str], NDArray[np.integer[Any]]]],
    wanted: Mask,
    tag: Callable[[list[str]], list[str]],
) -> Mask:
    """Words tagged noun or adjective often enough, and those not `wanted`: other rules' work.

    `runs` are stretches of text, words as written and their indices. Only chunks that hold a
    word still in need of a tag are tagged: tagging all would cost more than everything else.
    """
    seen, good = np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.int64)
    for written, ids in runs:
        for at in range(0, len(written), _CHUNK):
            chunk = ids[at : at + _CHUNK]
            if not (wanted[chunk] & (seen[chunk] < OCCURRENCES)).any():
                continue
            for word, label in zip(chunk, tag(written[at : at + _CHUNK]), strict=True):
                if seen[word] < OCCURRENCES:
                    seen[word] += 1
                    good[word] += label.startswith(_NOUNS_AND_ADJECTIVES)
    return ~wanted | ((good >= SHARE * seen) & (seen > 0))
