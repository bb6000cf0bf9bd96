"""The vocabulary: the paper's rules, all configurable, and how many words each of them removed.

plain   no tagger: words with a letter, without stop words, the most frequent, rare and short
        ones, plus frequent abbreviations of three capital letters
paper   the same after a first rule that keeps words tagged as noun or adjective in at least a
        fifth of their first ten occurrences (NLTK's tokenizer and HanTa: extra `paper`)

With `phrases`, frequent pairs of words that pass the rules on letters, tags and stop words are
joined before the other rules are applied (`phrases.py`).
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.checks import check_choice, check_flag, check_integer, check_number
from eqemb.errors import UsageError

Counts = NDArray[np.int64]
Mask = NDArray[np.bool_]

_NOUNS_AND_ADJECTIVES = (
    "NN",
    "NP",
    "AJ",
    "JJ",
)  # HanTa uses the tags of the BNC, NLTK those of the Penn Treebank
_CHUNK = 40  # words tagged at a time

#: Words of titles that are about the paper or the way of writing, not about its subject.
PAPER_WORDS = frozenset(
    """
    work works results result setup settings setting details experiment experiments experimental
    evaluation empirical problem problems statement definition definitions formulation additional
    main chapter thesis outline summary conclusion conclusions introduction background appendix
    overview discussion future source code implementation supplementary material proof proofs
    notation ablation study studies analysis dataset datasets data example examples exercise
    exercises methodology method methods approach approaches related preliminaries theorem lemma
    proposition corollary remark section paper review motivation contribution contributions
    general simple basic practical theoretical different various using towards based case part
    technical note notes lecture properties derivation algorithm algorithms
    """.split()
)

#: Function words and common words of scientific prose.
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
    """How a vocabulary is chosen; checked on construction.

    Args:
        kind: "plain", or "paper" with a tagger.
        min_count: The least frequency of a word; "auto" = min(10, max(2, round(10 T / 300,000)))
            for T words.
        top: How many of the most frequent words are removed; "auto" = 2.5 times min_count.
        min_length: The least length of a word.
        abbreviations: How many words of three capital letters are kept.
        stop_words: True for the built-in list, False for none, or a collection of words
            (`read_stop_words` reads a file).
        tagger: Of the kind "paper": "hanta", or "nltk" with the user's own nltk_data.
        tag_occurrences: How many of the first occurrences of a word are tagged.
        tag_share: The least share of them that must be nouns or adjectives.
        phrases: Whether frequent pairs of words are joined.
        phrase_threshold: How many times more frequent than by chance a pair must be.

    Example:
        Rules(min_count=5, top=0, phrases=True)

    """

    kind: str = "plain"
    min_count: int | str = "auto"
    top: int | str = "auto"
    min_length: int = 4
    abbreviations: int = 50
    stop_words: bool | tuple[str, ...] = True
    tagger: str = "hanta"
    tag_occurrences: int = 10
    tag_share: float = 0.2
    phrases: bool = False
    phrase_threshold: float = 10.0

    def __post_init__(self) -> None:
        if not isinstance(self.stop_words, bool):
            object.__setattr__(self, "stop_words", _word_list(self.stop_words))
        check_choice("kind", self.kind, ("plain", "paper"))
        check_integer("min_count", self.min_count, 0, auto=True)
        check_integer("top", self.top, 0, auto=True)
        check_integer("min_length", self.min_length)
        check_integer("abbreviations", self.abbreviations, 0)
        check_choice("tagger", self.tagger, ("hanta", "nltk"))
        check_integer("tag_occurrences", self.tag_occurrences)
        check_number("tag_share", self.tag_share, 0, 1)
        check_flag("phrases", self.phrases)
        check_number("phrase_threshold", self.phrase_threshold, above=True)

    def as_dict(self) -> dict[str, Any]:
        """The settings as they are saved; a list of stop words by its hash."""
        made = asdict(self)
        if isinstance(self.stop_words, tuple):
            digest = hashlib.sha256("\n".join(self.stop_words).encode()).hexdigest()
            made["stop_words"] = {"words": len(self.stop_words), "sha256": digest}
        return made

    @property
    def stopped(self) -> frozenset[str]:
        """The stop words."""
        if isinstance(self.stop_words, tuple):
            return frozenset(self.stop_words)
        return STOP_WORDS if self.stop_words else frozenset()

    def least(self, total: int) -> int:
        """The least frequency in a text of which the first rules leave `total` words."""
        if self.min_count != "auto":
            return int(self.min_count)
        return min(10, max(2, round(10 * total / 300_000)))


def _word_list(words: Any) -> tuple[str, ...]:
    """Stop words in lower case, sorted: the same list has one spelling."""
    listed: list[Any] = (
        [None] if isinstance(words, str) or not isinstance(words, Iterable) else [*words]
    )
    if not all(isinstance(word, str) for word in listed):
        raise UsageError(
            "stop_words must be True, False or a collection of words, not"
            f" {words!r}: read_stop_words(path) reads a file"
        )
    return tuple(sorted({word.lower() for word in listed}))


def read_stop_words(path: Path) -> tuple[str, ...]:
    """The words of a file for `Rules(stop_words=...)`; # starts a comment."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"cannot read stop words from {path} ({why}): give a text file") from None
    return tuple(word for line in lines for word in line.split("#")[0].split())


class Removed(NamedTuple):
    """What a rule removed or, for "kept", what is left."""

    rule: str
    words: int
    occurrences: int


class VocabularyChoice(NamedTuple):
    """The words that were chosen, as indices, and what each rule removed."""

    kept: NDArray[np.int64]  # most frequent first, then by spelling
    table: list[Removed]
    min_count: int
    top: int


def choose(
    words: Sequence[str], counts: Counts, capitals: Counts, rules: Rules, nouns: Mask | None = None
) -> VocabularyChoice:
    """Apply the rules in order; `capitals` counts occurrences in capital letters."""
    table: list[Removed] = []
    kept = np.ones(len(words), bool)

    def keep(rule: str, mask: Mask) -> None:
        gone = kept & ~mask
        table.append(Removed(rule, int(gone.sum()), int(counts[gone].sum())))
        kept[gone] = False

    keep("no letter", lettered(words))
    if nouns is not None:
        keep("no noun or adjective", nouns)
    if rules.stop_words:
        keep("stop word", ~stopped(words, rules))
    min_count = rules.least(int(counts[kept].sum()))
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
    return VocabularyChoice(_by_frequency(words, counts, kept), table, min_count, top)


def lettered(words: Sequence[str]) -> Mask:
    """Which words have a letter."""
    return np.array([any(map(str.isalpha, word)) for word in words], bool)


def stopped(words: Sequence[str], rules: Rules) -> Mask:
    """Which words are stop words."""
    listed = rules.stopped
    return np.array([word in listed for word in words], bool)


def _by_frequency(words: Sequence[str], counts: Counts, mask: Mask) -> NDArray[np.int64]:
    found = sorted(np.flatnonzero(mask).tolist(), key=lambda i: (-int(counts[i]), words[i]))
    return np.array(found, np.int64)


def _abbreviations(
    words: Sequence[str], counts: Counts, capitals: Counts, mask: Mask, most: int
) -> Mask:
    """The most frequent three-letter words that are mostly written in capitals."""
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


def paper_tagger(name: str = "hanta") -> Callable[[list[str]], list[str]]:
    """A function that tags a sequence of words, by HanTa or by NLTK with the user's data."""
    return _nltk_tagger() if name == "nltk" else _hanta_tagger()


def _hanta_tagger() -> Callable[[list[str]], list[str]]:
    try:
        from HanTa.HanoverTagger import HanoverTagger
    except ImportError:
        raise UsageError("vocabulary 'paper' needs HanTa: pip install 'eqemb[paper]'") from None
    tagger = HanoverTagger("morphmodel_en.pgz")
    return lambda words: [tag for _, _, tag in tagger.tag_sent(words)]


def _nltk_tagger() -> Callable[[list[str]], list[str]]:
    try:
        from nltk.tag import pos_tag
    except ImportError:
        raise UsageError("tagger 'nltk' needs NLTK: pip install 'eqemb[paper]'") from None
    try:
        pos_tag(["word"])
    except LookupError:
        raise UsageError(
            "tagger 'nltk' needs data that is not in your nltk_data: run"
            " python -m nltk.downloader averaged_perceptron_tagger_eng"
        ) from None
    return lambda words: [tag for _, tag in pos_tag(words)]


def nouns_and_adjectives(
    runs: Iterable[tuple[list[str], NDArray[np.integer[Any]]]],
    wanted: Mask,
    tag: Callable[[list[str]], list[str]],
    rules: Rules,
) -> Mask:
    """Words tagged as noun or adjective often enough, and those that are not `wanted`.

    `runs` are pieces of text: words as written and their indices. Only chunks with a word that
    still needs a tag are tagged, since tagging takes longer than everything else.
    """
    most = rules.tag_occurrences
    seen, good = np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.int64)
    for written, ids in runs:
        for at in range(0, len(written), _CHUNK):
            chunk = ids[at : at + _CHUNK]
            if not (wanted[chunk] & (seen[chunk] < most)).any():
                continue
            for word, label in zip(chunk, tag(written[at : at + _CHUNK]), strict=True):
                if seen[word] < most:
                    seen[word] += 1
                    good[word] += label.startswith(_NOUNS_AND_ADJECTIVES)
    enough = good >= rules.tag_share * seen - 1e-9  # 11 of 20 are 0.55, despite rounding
    return ~wanted | (enough & (seen > 0))
