"""Agreement: the equations that answer words vote for the equations that look like them.

Equations that answer the same words in several papers look alike, and equations that only stand
near such words do not. So each of the best equations for a query gains by what it shares with the
best ones of other articles. NumPy only.
"""

import numpy as np
from numpy.typing import NDArray

from eqemb.index.postings import Array, top_k
from eqemb.index.scope import Scope
from eqemb.index.segments import IndexSegments
from eqemb.index.structure import StructureIndex
from eqemb.library.database import LibraryRecords

#: Equations that can gain, those that vote on each, and the fewest that can.
POOL_SIZE, VOTERS, MIN_VOTERS = 40, 20, 5
#: The share of its score that an equation gains if it is equal to all that vote on it.
WEIGHT = 0.5

Scores = NDArray[np.float32]


def agreement(
    scores: Scores, scope: Scope, structure: StructureIndex, records: LibraryRecords
) -> Scores:
    """Return what the best equations gain, 0 for the others; no score becomes more than 1.

    `scores` are those without filters, so that filters do not change what an equation gains.
    """
    gained = np.zeros_like(scores)
    places = top_k(scores, POOL_SIZE)
    gained[places] = gains(scope.rows_at(places), scores[places], structure, records)
    return gained


def gains(
    rows: Array, scores: Scores, structure: StructureIndex, records: LibraryRecords
) -> Scores:
    """Return what each of the best equations gains, given their rows and scores, best first."""
    segments = structure.segments
    groups = article_groups(segments, records, rows)
    others = groups[:, None] != groups
    voting = others & (np.cumsum(others, axis=1) <= VOTERS)
    count = voting.sum(axis=1)
    if not len(rows) or count.max() < MIN_VOTERS:
        return np.zeros_like(scores)
    shared = structure.shared_pairs(segments.types[rows].tolist())
    mean = np.where(voting, shared, 0).sum(axis=1) / np.maximum(count, 1)
    gain = np.where(count >= MIN_VOTERS, WEIGHT * mean, 0) * scores
    found: Scores = np.minimum(gain, np.maximum(1 - scores, 0)).astype(np.float32)
    return found


def article_groups(segments: IndexSegments, records: LibraryRecords, rows: Array) -> Array:
    """Return the article of each equation; near-duplicate articles count as one."""
    articles = segments.articles[rows].astype(np.int64)
    if not records.group_of:
        return articles
    own = {key: records.group_of.get(records.name(key)) for key in set(articles.tolist())}
    numbers = {key: key if group is None else -group for key, group in own.items()}
    return np.array([numbers[key] for key in articles.tolist()], np.int64)
