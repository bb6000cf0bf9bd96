"""Held-out words: one split of a collection, used by every model.

For each evaluated equation type (all that occur more than once, and a sample of those that occur
once) two test and two validation words are sampled from the windows around its occurrences. They
are removed from the training stream, so that windows reach across them. Their negatives are drawn
once and saved. A split is a function of (corpus, settings), and is identified by its hash.
"""

import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from eqemb.checks import check_even, check_integer
from eqemb.corpus.corpus import Corpus, Ids, Pointers
from eqemb.errors import UsageError, name_path
from eqemb.kernels import draws
from eqemb.kernels.arrays import TextArrays
from eqemb.storage import array_file, atomic
from eqemb.storage.checksums import seal

SPLIT_FORMAT = "split"
SPLIT_VERSION = 1
WORDS_PER_PART = 2  # for each type
VALIDATION, TEST = 0, 1
_ORDER_DRAW, _CHOICE_DRAW, _NEGATIVE_DRAW = (
    101,
    102,
    103,
)  # passes of the draws, apart from training's
_IN_MEMORY = 1 << 25  # words: a longer stream is mapped from a file
_TOKENS_AT_A_TIME = 1 << 22  # words processed at a time


class TrainingStream(NamedTuple):
    """What a model is trained on: words and equations without the held-out words."""

    tokens: Ids
    starts: Pointers
    equation_positions: Pointers
    equation_types: Ids
    equation_starts: Pointers
    counts: Pointers  # of words in this stream

    @property
    def text(self) -> TextArrays:
        """The words as kernels read them."""
        return TextArrays(self.tokens, self.starts, draws.noise_table(self.counts))

    @property
    def equation_articles(self) -> Pointers:
        """The article of each occurrence."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.equation_starts))


@dataclass(frozen=True)
class SplitSettings:
    """How a split is made; checked on construction.

    Args:
        seed: Another seed gives another split.
        singletons: How many types that occur once are evaluated.
        window: Words around an equation that may be held out: half before, half after.
        negatives: Negatives for each held-out word.

    """

    seed: int = 0
    singletons: int = 2000
    window: int = 8
    negatives: int = 20

    def __post_init__(self) -> None:
        check_integer("seed", self.seed, 0)
        check_integer("singletons", self.singletons, 0)
        check_even("window", self.window, 1000)
        check_integer("negatives", self.negatives)


@dataclass(frozen=True)
class Split:
    """Held-out positions with their equations and negatives."""

    positions: Pointers  # [H], into the tokens of the corpus
    occurrences: Pointers  # [H], the occurrence each was sampled with
    parts: NDArray[np.uint8]  # [H], VALIDATION or TEST
    words: Ids  # [H]
    types: Ids  # [H]
    negatives: Ids  # [H, n]
    settings: SplitSettings
    corpus: str
    """The sha256 of the corpus it belongs to."""
    skipped: int
    """Types with too few free positions."""

    @classmethod
    def make(cls, corpus: Corpus, settings: SplitSettings | None = None) -> Self:
        """Sample a split; the same corpus and settings give the same split."""
        settings = settings or SplitSettings()
        found, skipped = _sample(corpus, settings)
        rows = np.array(found, np.int64).reshape(-1, 3)
        positions, occurrences = rows[:, 0].copy(), rows[:, 1].copy()
        words = corpus.tokens[positions]
        return cls(
            positions,
            occurrences,
            rows[:, 2].astype(np.uint8),
            words,
            corpus.equation_types[occurrences],
            _negatives(corpus, positions, words, settings),
            settings,
            corpus.sha256,
            skipped,
        )

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that are saved."""
        return {
            "positions": self.positions,
            "occurrences": self.occurrences,
            "parts": self.parts,
            "words": self.words,
            "types": self.types,
            "negatives": self.negatives,
        }

    @property
    def sha256(self) -> str:
        """The hash of positions, negatives, settings and corpus, which tables quote."""
        return array_file.content_hash(
            {**asdict(self.settings), "corpus": self.corpus}, self.arrays
        )

    def of(self, part: int) -> NDArray[np.bool_]:
        """Which held-out positions belong to a part, VALIDATION or TEST."""
        found: NDArray[np.bool_] = self.parts == part
        return found

    def save(self, path: Path, *, replace: bool = False) -> None:
        """Write the folder atomically."""
        with atomic.new_folder(path, replace=replace) as folder:
            array_file.write_arrays(folder / "arrays.safetensors", self.arrays)
            described = {
                "format": f"eqemb {SPLIT_FORMAT}",
                "version": SPLIT_VERSION,
                "settings": asdict(self.settings),
                "corpus": self.corpus,
                "skipped": self.skipped,
                "sha256": self.sha256,
            }
            atomic.write_json(folder / "split.json", described)
            seal(folder)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Open a folder and check that it is what its hash says."""
        path = atomic.find_folder(path)
        described = atomic.read_json(path / "split.json", SPLIT_FORMAT, SPLIT_VERSION)
        made = cls(
            **array_file.map_arrays(path / "arrays.safetensors"),
            settings=SplitSettings(**described["settings"]),
            corpus=described["corpus"],
            skipped=described["skipped"],
        )
        if made.sha256 != described["sha256"]:
            raise UsageError(
                f"{path} was changed after it was saved: remove it, and the split is made again"
            )
        return made

    def check(self, corpus: Corpus) -> None:
        """Refuse a corpus that this split was not made from."""
        if corpus.sha256 != self.corpus:
            raise UsageError(
                f"this split belongs to corpus {self.corpus[:12]}, not to {corpus.sha256[:12]}:"
                f" make a split of the corpus you train on"
            )


def training_stream(corpus: Corpus, split: Split | None = None) -> TrainingStream:
    """The corpus without held-out positions.

    Memory grows with the vocabulary and the equations, not with the text: a long stream is in a
    temporary file (in TMPDIR).
    """
    counts = training_counts(corpus, split)
    out = np.empty(0, np.int64) if split is None else split.positions
    return TrainingStream(
        _without(corpus.tokens, out) if len(out) else corpus.tokens,
        _closed_up(corpus.starts, out),
        _closed_up(corpus.equation_positions, out),
        corpus.equation_types,
        corpus.equation_starts,
        counts,
    )


def training_counts(corpus: Corpus, split: Split | None = None) -> Pointers:
    """How often each word occurs in the training stream."""
    total = corpus.counts
    if split is not None:
        split.check(corpus)
        total -= np.bincount(corpus.tokens[split.positions], minlength=len(total))
    return total


def _without(tokens: Ids, out: Pointers) -> Ids:
    """The tokens without those at `out`, which is sorted."""
    if len(tokens) <= _IN_MEMORY:
        return np.delete(tokens, out)
    with (
        name_path(Path(tempfile.gettempdir())),  # it may be another disk than the library's
        tempfile.TemporaryFile() as file,  # it is gone once nothing maps it
    ):
        for low in range(0, len(tokens), _TOKENS_AT_A_TIME):
            first, last = np.searchsorted(out, (low, low + _TOKENS_AT_A_TIME))
            file.write(np.delete(tokens[low : low + _TOKENS_AT_A_TIME], out[first:last] - low).data)
        file.flush()
        return np.memmap(file, tokens.dtype, "r+").view(np.ndarray)


def _closed_up(places: Pointers, out: Pointers) -> Pointers:
    """Positions of the corpus as positions of the stream without `out`, which is sorted."""
    moved: Pointers = places - np.searchsorted(out, places)
    return moved


def _opened(places: Pointers, out: Pointers) -> Pointers:
    """Positions of the stream without `out`, which is sorted, as positions of the corpus."""
    moved: Pointers = places + np.searchsorted(out - np.arange(len(out)), places, side="right")
    return moved


def contexts(corpus: Corpus, split: Split, count: int) -> Ids:
    """The `count` words of the training stream nearest to each held-out word, -1 for none.

    Of two equally near ones the one nearer to the equation comes first, then the earlier one;
    [H, count]. For a window of W, `count` is W - 1, because the equation takes one place.
    """
    split.check(corpus)
    out = split.positions
    at = _closed_up(out, out)[:, None]  # a held-out word is between at - 1 and at
    article = corpus.equation_articles[split.occurrences]
    starts = _closed_up(corpus.starts, out)
    low, high = starts[article][:, None], starts[article + 1][:, None]
    equation = _closed_up(corpus.equation_positions[split.occurrences], out)[:, None]
    reach = np.arange(1, count + 1)
    found = np.concatenate([at - reach, at + reach - 1], axis=1)
    distance = np.concatenate([reach, reach])[None, :]
    from_equation = np.where(found < equation, equation - found, found - equation + 1)
    size = 2 * (int(from_equation.max(initial=0)) + 1)
    key = distance * size + 2 * from_equation + (found >= at)
    key = np.where((found >= low) & (found < high), key, np.iinfo(np.int64).max)
    order = np.argsort(key, axis=1, kind="stable")[:, :count]
    nearest = np.take_along_axis(found, order, axis=1)
    inside = (nearest >= low) & (nearest < high)
    found = np.full(nearest.shape, -1, np.int32)
    found[inside] = corpus.tokens[_opened(nearest[inside], out)]
    return found


def _sample(corpus: Corpus, settings: SplitSettings) -> tuple[list[tuple[int, int, int]], int]:
    """The (position, occurrence, part) of every held-out word, and how many types were skipped."""
    by_type = np.argsort(corpus.equation_types, kind="stable")
    edges = np.searchsorted(corpus.equation_types[by_type], np.arange(len(corpus.forms) + 1))
    articles = corpus.equation_articles
    taken: set[int] = set()
    found: list[tuple[int, int, int]] = []
    skipped = 0
    for type_ in _evaluated(np.diff(edges), settings):
        occurrences = by_type[edges[type_] : edges[type_ + 1]]
        near = _window(corpus, occurrences, articles, settings.window // 2)
        free = np.array([place for place in near if place not in taken], np.int64)
        if len(free) < 2 * WORDS_PER_PART:
            skipped += 1
            continue
        drawn = draws.bits(draws.key(settings.seed, _CHOICE_DRAW, type_), free, 1)[:, 0]
        chosen = free[np.argsort(drawn, kind="stable")[: 2 * WORDS_PER_PART]].tolist()
        taken.update(chosen)
        parts = [TEST] * WORDS_PER_PART + [VALIDATION] * WORDS_PER_PART
        found += [(place, near[place], part) for place, part in zip(chosen, parts, strict=True)]
    return sorted(found), skipped


def _evaluated(often: Pointers, settings: SplitSettings) -> list[int]:
    """The types to evaluate, in random order: repeated ones and a sample of singletons."""
    drawn = draws.bits(draws.key(settings.seed, _ORDER_DRAW, 0), np.arange(len(often)), 1)[:, 0]
    order = np.argsort(drawn, kind="stable")
    single = order[often[order] == 1][: settings.singletons]
    wanted = (often > 1) | np.isin(np.arange(len(often)), single)
    return [int(type_) for type_ in order[wanted[order]]]


def _window(corpus: Corpus, occurrences: Pointers, articles: Pointers, half: int) -> dict[int, int]:
    """Positions around the occurrences of a type -> the nearest occurrence, the first of two."""
    near: dict[int, tuple[int, int]] = {}
    for occurrence in occurrences.tolist():
        place, article = int(corpus.equation_positions[occurrence]), articles[occurrence]
        low = max(int(corpus.starts[article]), place - half)
        high = min(int(corpus.starts[article + 1]), place + half)
        for position in range(low, high):
            distance = place - position if position < place else position - place + 1
            best = (distance, occurrence)
            near[position] = min(near.get(position, best), best)
    return {position: occurrence for position, (_, occurrence) in near.items()}


def _negatives(corpus: Corpus, positions: Pointers, words: Ids, settings: SplitSettings) -> Ids:
    """Draws from unigram^0.75, without the held-out word itself."""
    if len(corpus.words) < 2 or not len(positions):
        return np.empty((len(positions), 0 if len(positions) else settings.negatives), np.int32)
    noise = draws.noise_table(corpus.counts)
    key = draws.key(settings.seed, _NEGATIVE_DRAW, 0)
    size = 2 * settings.negatives + 16
    while True:
        drawn = draws.zeros(key, positions, size, noise)
        other = drawn != words[:, None]
        if (other.sum(1) >= settings.negatives).all():
            break
        size *= 2
        if size > 1 << 20:
            raise UsageError(
                "no negatives can be drawn, since one word makes up nearly all of the text: read"
                " more articles"
            )
    first = np.argsort(~other, axis=1, kind="stable")[:, : settings.negatives]
    return np.take_along_axis(drawn, first, axis=1)
