"""The arrays that kernels read in the second pass, and initial vectors.

`near` and `contexts` turn a stream and the ids of its equations into what kernels read.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.corpus.corpus import Ids, Pointers
from eqemb.corpus.split import TrainingStream
from eqemb.kernels import draws
from eqemb.kernels.arrays import Contexts, Floats, Near, Offsets, TextArrays
from eqemb.models.pooling import Bags, pool_bags


class Members(NamedTuple):
    """What an equation adds to the context of the words near it."""

    bags: Bags
    ids: Ids  # [O, m], the bags of each occurrence
    articles: Ids | None = (
        None  # [articles], the bag of each article, in the context of all its words
    )
    owners: Pointers | None = None  # [O], the article of each occurrence, if articles have bags


def shuffled(starts: Pointers, ids: Ids, seed: int) -> tuple[Pointers, Ids]:
    """Units permuted over equations: each equation gets the bag of another one."""
    drawn = draws.bits(draws.key(seed, 201, 0), np.arange(len(starts) - 1), 1)[:, 0]
    order = np.argsort(drawn, kind="stable")
    sizes = np.diff(starts)[order]
    pieces = [ids[starts[bag] : starts[bag + 1]] for bag in order]
    return (
        np.cumsum(np.r_[0, sizes]).astype(np.int64),
        np.concatenate([np.empty(0, np.int32), *pieces]),
    )


def offsets(vectors: Floats, near: Near, span: tuple[int, int]) -> Offsets:
    """What equations add to the contexts of a span of words, given the vector of every id."""
    first, last = np.searchsorted(near.positions, span)
    starts = near.starts[first : last + 1]
    ids = near.types[starts[0] : starts[-1]]
    entries = (np.ones(len(ids), np.float32), ids, starts - starts[0])
    from scipy.sparse import csr_array  # building without a model does without SciPy

    which = csr_array(entries, shape=(last - first, len(vectors)))
    return Offsets(near.positions[first:last], which @ vectors)


class Added:
    """What some occurrences of equations add to the context of a word, given any rows.

    Only their bags are pooled: there are far fewer of them than in the corpus.
    """

    def __init__(self, members: Members, occurrences: Pointers) -> None:
        ids = members.ids[occurrences]
        if members.articles is not None and members.owners is not None:
            ids = np.c_[ids, members.articles[members.owners[occurrences]]]
        used, self._ids = np.unique(ids, return_inverse=True)
        self._ids = self._ids.reshape(ids.shape)
        self._equations = members.ids.shape[1]
        self._bags, self._rows = members.bags.take(used)

    def of(self, rows: Floats) -> Floats:
        """The sum of the bags of each occurrence; [H, K]."""
        vectors = pool_bags(rows[self._rows], self._bags)
        total: Floats = vectors[self._ids[:, : self._equations]].sum(axis=1)
        for column in self._ids[:, self._equations :].T:
            total = total + vectors[column]
        return total


def _reach(stream: TrainingStream, window: int) -> tuple[Pointers, NDArray[np.bool_]]:
    """The positions of the window around each occurrence, and which of them exist; [O, E]."""
    half = window // 2
    found = stream.equation_positions[:, None] + np.arange(-half, half)[None, :]
    article = stream.equation_articles
    low, high = stream.starts[article][:, None], stream.starts[article + 1][:, None]
    return found, (found >= low) & (found < high)


def near(stream: TrainingStream, members: Members, window: int) -> Near:
    """The positions within E/2 words of an equation, and those equations.

    If articles have bags, every word also has that of its own article.
    """
    bags = members.bags
    found, inside = _reach(stream, window)
    occurrence, slot = np.nonzero(inside)
    where, which = found[occurrence, slot], members.ids[occurrence]
    where, which = np.repeat(where, which.shape[1]), which.reshape(-1)
    if members.articles is not None:
        own = np.repeat(members.articles, np.diff(stream.starts))
        where, which = np.r_[where, np.arange(len(own))], np.r_[which, own]
    order = np.argsort(where, kind="stable")  # keeps occurrences in order
    positions, counts = np.unique(where, return_counts=True)
    starts = np.cumsum(np.r_[0, counts]).astype(np.int64)
    types = which[order].astype(np.int32)
    return Near(positions, starts, types, bags.starts, bags.ids, bags.scale)


def context_sums(alpha: Floats, stream: TrainingStream, window: int) -> Floats:
    """Sum over c_m of alpha, for every occurrence; [O, K]."""
    found, inside = _reach(stream, window)
    total = np.zeros((len(found), alpha.shape[1]), np.float32)
    for slot in range(found.shape[1]):
        rows = np.flatnonzero(inside[:, slot])
        total[rows] += alpha[stream.tokens[found[rows, slot]]]
    return total


def context_zeros(ids: Ids, count: int, seed: int) -> Pointers:
    """For each occurrence `count` random occurrences of other ids; none if there is one id."""
    size = len(ids)
    order = np.argsort(ids, kind="stable")
    first = np.searchsorted(ids[order], ids, side="left")
    own = np.searchsorted(ids[order], ids, side="right") - first
    if size == 0 or own.max() == size:
        return np.empty((size, 0), np.int64)
    drawn = draws.bits(draws.key(seed, 202, 0), np.arange(size), count)
    rank = draws.below(drawn, (size - own)[:, None])
    return order[np.where(rank < first[:, None], rank, rank + own[:, None])]


def contexts(sums: Floats, ids: Ids, types: int, zeros: Pointers) -> Contexts:
    """What b_e reads: occurrences sorted by type, with their negatives."""
    order = np.argsort(ids, kind="stable")
    starts = np.searchsorted(ids[order], np.arange(types + 1))
    return Contexts(sums, starts.astype(np.int64), order, zeros)


def unit_texts(
    stream: TrainingStream, bags: Bags, seed: int, *, hold_out: bool
) -> tuple[TextArrays, TextArrays]:
    """The units of all occurrences as a text for b_u, and a twentieth of types held out of it."""
    sizes = np.diff(bags.starts)
    apart = np.zeros(len(sizes), bool)
    if hold_out:
        drawn = draws.bits(draws.key(seed, 203, 0), np.arange(len(sizes)), 1)[:, 0]
        apart = draws.below(drawn, np.full(len(sizes), 20)) == 0
    made = []
    for wanted in (~apart, apart):
        types = stream.equation_types[wanted[stream.equation_types]]
        starts = np.cumsum(np.r_[0, sizes[types]]).astype(np.int64)
        at = np.arange(starts[-1]) - np.repeat(starts[:-1], sizes[types])
        made.append((bags.ids[np.repeat(bags.starts[types], sizes[types]) + at], starts))
    counts = np.bincount(made[0][0], minlength=bags.rows)
    noise = draws.noise_table(np.maximum(counts, 1))
    return TextArrays(*made[0], noise), TextArrays(*made[1], noise)


def with_tokens(stream: TrainingStream, words: int, types: int) -> TrainingStream:
    """The stream with every equation as a word, numbered after the words."""
    tokens = np.insert(
        stream.tokens, stream.equation_positions, words + stream.equation_types
    ).astype(np.int32)
    return stream._replace(
        tokens=tokens,
        starts=stream.starts + stream.equation_starts,
        counts=np.bincount(tokens, minlength=words + types).astype(np.int64),
    )


def initial(seed: int, which: int, size: int, dim: int, scale: float) -> Floats:
    """Normal numbers times scale / K; depends only on (seed, which)."""
    random = np.random.default_rng([seed % 2**63, which])
    return (random.standard_normal((size, dim)) * (scale / dim)).astype(np.float32)
