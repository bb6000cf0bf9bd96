"""gensim's CBOW and PV-DM as eqemb's models: the baselines of the paper's table.

The extra `baselines` installs gensim. Its context vectors (syn0, and those of paragraphs) are
stored as alpha, its word vectors (syn1neg) as rho. A word held out everywhere has zeros.

- gensim runs with one worker, because its workers write into each other's rows: a second run then
  gives the same bytes. `threads` is ignored.
- gensim's learning rate decays linearly over all iterations, so all `iterations` are run, and the
  last one is kept. Runs are short: `resume` trains again from the start, to the same bytes.
- gensim silently ignores what follows the first 10,000 words of a text. Longer texts are split
  there; windows end at a split, as at the end of an article.
- Texts are passed as lists, because gensim's reader of files (`corpus_file`) overfills its batches
  of 10,000 words and drops the rest.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from time import perf_counter
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.checks import check_flag
from eqemb.corpus.corpus import Corpus, Ids, Pointers
from eqemb.corpus.split import VALIDATION, Split, TrainingStream, contexts, training_stream
from eqemb.errors import UsageError
from eqemb.kernels.arrays import Floats
from eqemb.models import features, likelihood
from eqemb.models.base import PROGRAM_MEMORY, Model, TrainingEstimate, TrainingJob, context_sum
from eqemb.models.checkpoint import EarlyStopping
from eqemb.models.glove import context_mean

LONGEST_TEXT = 10_000  # words of a text that gensim reads
LAST_RATE = 0.0001  # gensim's min_alpha
PROBED = 100_000  # words
EACH_WORD = 500  # bytes of a word in gensim's vocabulary, by its own estimate


class TaggedParagraph(NamedTuple):
    """A document as gensim expects it."""

    words: list[str]
    tags: list[int]


class Tags(NamedTuple):
    """The tags of each paragraph, flat."""

    starts: Pointers
    ids: Pointers


NO_TAGS = Tags(np.zeros(1, np.int64), np.empty(0, np.int64))


class Texts:
    """The texts of a stream as gensim reads them: lists of words, once for each iteration."""

    def __init__(self, tokens: Ids, edges: Pointers, tags: Tags = NO_TAGS) -> None:
        """`edges` are the starts of texts and the end of the last; `tags` belong to paragraphs."""
        self.tokens, self.edges, self.tags = tokens, edges, tags
        parts = -(-np.diff(edges) // LONGEST_TEXT)  # none for a text without words
        self._text = np.repeat(np.arange(len(parts)), parts)
        nth = np.arange(len(self._text)) - np.repeat(np.cumsum(parts) - parts, parts)
        self._starts = edges[self._text] + LONGEST_TEXT * nth
        self._ends = np.minimum(self._starts + LONGEST_TEXT, edges[self._text + 1])
        # one object for each word, however often it occurs
        size = int(tokens.max(initial=-1)) + 1
        self.names = np.array([str(token) for token in range(size)], object)

    def __len__(self) -> int:
        return len(self._text)

    def __iter__(self) -> Iterator[Any]:
        for text, start, end in zip(self._text, self._starts, self._ends, strict=True):
            words = self.names[self.tokens[start:end]].tolist()
            if len(self.tags.ids):
                own = slice(*self.tags.starts[text : text + 2])
                yield TaggedParagraph(words, self.tags.ids[own].tolist())
            else:
                yield words

    def first(self, words: int) -> "Texts":
        """The first texts, with at least so many words."""
        last = int(np.searchsorted(self.edges, min(words, int(self.edges[-1]))))
        return Texts(self.tokens, self.edges[: last + 1], self.tags)


@dataclass(kw_only=True)
class Gensim(Model):
    """What both baselines share: settings, training, scores.

    Args:
        negatives: Words drawn as negatives for each word.
        mean: Whether a context is the mean of its vectors (gensim's default) or their sum.

    """

    monitored: ClassVar[str] = "words"
    patience: ClassVar[int] = 1  # type: ignore[misc]  # nothing stops early, so it is no setting

    negatives: int = 10
    mean: bool = True

    def _check(self) -> None:
        super()._check()
        check_flag("mean", self.mean)
        if find_spec("gensim") is None:
            raise UsageError(f"{self.name} needs gensim: pip install 'eqemb[baselines]'")

    def estimate(self, corpus: Corpus, *, threads: int = 1, probe: bool = True) -> TrainingEstimate:
        """What training will need; `probe` times an iteration over the first 100,000 words."""
        del threads
        texts = self._texts(corpus, training_stream(corpus))
        words, numbers = len(texts.tokens), self.dim * self._rows(corpus, texts)
        seconds = None
        if probe:
            some, made = texts.first(PROBED), self._made(0)
            made.build_vocab(some)
            start = perf_counter()
            made.train(some, total_examples=len(some), epochs=1)
            each = (perf_counter() - start) / int(some.edges[-1])
            seconds = self.iterations * each * words
        memory = PROGRAM_MEMORY + 3 * texts.tokens.nbytes + EACH_WORD * len(texts.names)
        memory += 2 * 4 * numbers  # in gensim and here
        return TrainingEstimate(words, numbers, memory, seconds)

    def _train(self, job: TrainingJob) -> dict[str, NDArray[Any]]:
        from gensim.models.callbacks import CallbackAny2Vec

        texts = self._texts(job.corpus, job.stream)
        made = self._made(job.seed)
        made.build_vocab(texts)
        watch = job.run.watches[self.monitored] = EarlyStopping([])
        start = perf_counter()

        def after(_: object, made: Any) -> None:
            nonlocal start
            watch.iteration += 1
            score = self._validate(job, self._arrays(made, job.corpus, texts))
            watch.best = -math.inf if score is None else score
            seconds = perf_counter() - start
            job.run.history.append({
                "stage": "words", "iteration": watch.iteration, "loss": {},
                "positions": len(texts.tokens), "best": {self.monitored: watch.iteration},
                "validation": {self.monitored: score},
                "seconds": round(seconds, 4),
            })  # fmt: skip
            if job.callback is not None:
                job.callback(watch.iteration, seconds, math.nan, score)
            start = perf_counter()

        callback = type("AfterIteration", (CallbackAny2Vec,), {"on_epoch_end": after})()
        made.train(texts, total_examples=len(texts), epochs=self.iterations, callbacks=[callback])
        return self._arrays(made, job.corpus, texts)

    def _validate(self, job: TrainingJob, arrays: dict[str, NDArray[Any]]) -> float | None:
        """The validation score of arrays."""
        if job.split is None or not job.split.of(VALIDATION).any():
            return None
        return self._mean(self._score(arrays, job.corpus, job.split, VALIDATION))

    def score(
        self, corpus: Corpus, split: Split, part: int, *, words: int | None = None
    ) -> likelihood.HeldOutScores:
        """Score held-out words, given W - 1 words and the equation, or `words` words alone."""
        self.check_data(corpus, split)
        return self._score(self._fitted().arrays, corpus, split, part, words)

    def _score(
        self,
        arrays: dict[str, NDArray[Any]],
        corpus: Corpus,
        split: Split,
        part: int,
        words: int | None = None,
    ) -> likelihood.HeldOutScores:
        chosen, alpha = split.of(part), arrays["alpha_words"]
        found = contexts(corpus, split, self.window - 1 if words is None else words)[chosen]
        if words is None and "alpha_equations" in arrays:
            found = np.c_[found, len(alpha) + split.types[chosen]]
            alpha = np.r_[alpha, arrays["alpha_equations"]]
        context = (context_mean if self.mean else context_sum)(alpha, found)
        rho = arrays["rho_words"]
        return likelihood.score(rho, split.words[chosen], split.negatives[chosen], context)

    def _shared(self, seed: int) -> dict[str, Any]:
        """The settings by gensim's names."""
        return {
            "vector_size": self.dim,
            "window": self.window // 2,  # on each side
            "shrink_windows": False,
            "min_count": 1,
            "sample": 0,
            "negative": self.negatives,
            "ns_exponent": 0.75,
            "alpha": self.rate,
            "min_alpha": min(LAST_RATE, self.rate),
            "workers": 1,
            "seed": seed % 2**32,
        }

    def _made(self, seed: int) -> Any:
        """An untrained gensim model."""
        raise NotImplementedError

    def _texts(self, corpus: Corpus, stream: TrainingStream) -> Texts:
        """The texts that it reads."""
        raise NotImplementedError

    def _rows(self, corpus: Corpus, texts: Texts) -> int:
        """The number of vectors that are learned."""
        raise NotImplementedError

    def _arrays(self, made: Any, corpus: Corpus, texts: Texts) -> dict[str, NDArray[Any]]:
        """Vectors in the order of the corpus; gensim orders words by frequency."""
        raise NotImplementedError


@dataclass(kw_only=True)
class Cbow(Gensim):
    """CBOW (word2vec), with every equation as a word of the text, as in the paper's table.

    The score of a word is the dot product of its syn1neg and the mean (or sum) of syn0 over its
    context.

    Example:
        Cbow(dim=50, negatives=5).fit(corpus, split)

    """

    name: ClassVar[str] = "cbow"

    rate: float = 0.025
    equations: str = "tokens"

    def _made(self, seed: int) -> Any:
        from gensim.models import Word2Vec

        return Word2Vec(**self._shared(seed), sg=0, cbow_mean=int(self.mean))

    def _texts(self, corpus: Corpus, stream: TrainingStream) -> Texts:
        if self.equations == "tokens":
            stream = features.with_tokens(stream, len(corpus.words), len(corpus.forms))
        return Texts(stream.tokens, stream.starts)

    def _types(self, corpus: Corpus) -> int:
        return len(corpus.forms) if self.equations == "tokens" else 0

    def _rows(self, corpus: Corpus, texts: Texts) -> int:
        del texts
        return 2 * (len(corpus.words) + self._types(corpus))

    def _arrays(self, made: Any, corpus: Corpus, texts: Texts) -> dict[str, NDArray[Any]]:
        del texts
        words, types = len(corpus.words), self._types(corpus)
        sides = _sides(made, words + types)
        arrays = {f"{side}_words": array[:words] for side, array in sides.items()}
        if self.equations == "tokens":
            arrays |= {f"{side}_equations": array[words:] for side, array in sides.items()}
        return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


@dataclass(kw_only=True)
class ParagraphVectors(Gensim):
    """PV-DM: each equation and the words around it are a paragraph, as is the text between.

    A word belongs to its nearest equation (the earlier of two) if that is within E/2 words.
    Equations without a word between them share a paragraph, which then has several vectors.
    Occurrences of a type share its vector; an equation that is nearest to no word has zeros. The
    vectors of the text between equations are discarded. In training windows end with the
    paragraph. A held-out word is scored by syn1neg . the mean (or sum) of the W - 1 words around it
    and of its equation.

    Args:
        equation_window: E, the number of context words of an equation.

    Example:
        ParagraphVectors(equation_window=8).fit(corpus, split)

    """

    name: ClassVar[str] = "pv-dm"
    equations: ClassVar[str] = "ignored"  # type: ignore[misc]  # they are paragraphs, so it is no setting

    equation_window: int = 16

    def check(self, corpus: Corpus) -> None:
        """Refuse a corpus without equations."""
        super().check(corpus)
        if not len(corpus.forms):
            raise UsageError("the corpus has no equations: train cbow, or read other articles")

    def _made(self, seed: int) -> Any:
        from gensim.models import Doc2Vec

        return Doc2Vec(**self._shared(seed), dm=1, dm_mean=int(self.mean))

    def _texts(self, corpus: Corpus, stream: TrainingStream) -> Texts:
        return Texts(stream.tokens, *paragraphs(stream, len(corpus.forms), self.equation_window))

    def _rows(self, corpus: Corpus, texts: Texts) -> int:
        return 2 * len(corpus.words) + int(texts.tags.ids.max(initial=len(corpus.forms) - 1)) + 1

    def _arrays(self, made: Any, corpus: Corpus, texts: Texts) -> dict[str, NDArray[Any]]:
        arrays = {f"{side}_words": a for side, a in _sides(made, len(corpus.words)).items()}
        vectors = np.zeros((len(corpus.forms), self.dim), np.float32)
        own = np.intersect1d(texts.tags.ids, np.arange(len(vectors)))
        vectors[own] = made.dv.vectors[own]
        return arrays | {"alpha_equations": vectors}


def paragraphs(stream: TrainingStream, types: int, window: int) -> tuple[Pointers, Tags]:
    """The starts of paragraphs and their tags: types of equations, or numbers after all types."""
    owner = _nearest(stream, window // 2)
    edges = np.unique(np.r_[stream.starts, np.flatnonzero(np.diff(owner)) + 1])
    return edges, _tags(stream, types, owner[edges[:-1]])


def _nearest(stream: TrainingStream, half: int) -> Pointers:
    """The occurrence of each word, the first at its place; -1 if all are too far away."""
    article = np.repeat(np.arange(len(stream.starts) - 1), np.diff(stream.starts))
    word = (
        np.arange(len(article)) + article
    )  # so that the end of an article differs from the start of the next
    owners = np.r_[-1, stream.equation_articles, -1]
    place = stream.equation_positions + stream.equation_articles
    place = np.r_[-1, place, len(article) + len(stream.starts)]
    after = np.searchsorted(place, word, side="right")
    before = np.searchsorted(place, place[after - 1])
    back = np.where(owners[before] == article, word - place[before] + 1, half + 1)
    ahead = np.where(owners[after] == article, place[after] - word, half + 1)
    nearest = np.where(back <= ahead, before, after) - 1
    return np.where(np.minimum(back, ahead) <= half, nearest, -1)


def _tags(stream: TrainingStream, types: int, owner: Pointers) -> Tags:
    """The types at the place of the first equation of each paragraph; owner -1 has none."""
    places = np.c_[stream.equation_articles, stream.equation_positions]
    _, first, together = np.unique(places, axis=0, return_index=True, return_counts=True)
    sizes = np.zeros(len(places), np.int64)
    sizes[first] = together
    own, others = np.flatnonzero(owner >= 0), np.flatnonzero(owner < 0)
    sizes = sizes[owner[own]]
    nth = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    found = stream.equation_types[np.repeat(owner[own], sizes) + nth]
    pairs = np.r_[
        np.c_[np.repeat(own, sizes), found], np.c_[others, types + np.arange(len(others))]
    ]
    pairs = np.unique(pairs, axis=0)  # a type that occurs twice at one place counts once
    return Tags(np.searchsorted(pairs[:, 0], np.arange(len(owner) + 1)), pairs[:, 1])


def _sides(made: Any, size: int) -> dict[str, Floats]:
    """Both matrices of a gensim model, in the row order of the corpus."""
    rows = [int(key) for key in made.wv.index_to_key]
    found = {}
    for side, array in (("rho", made.syn1neg), ("alpha", made.wv.vectors)):
        found[side] = np.zeros((size, array.shape[1]), np.float32)
        found[side][rows] = array
    return found
