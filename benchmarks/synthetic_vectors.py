"""Make vectors like the contexts of a real library, as many as are wanted.

Contexts of one paper are near each other, and some are equal. So a made paper has the centre of a
real one, drawn by its number of equations, and the differences from the centre of another real one:
both are moved at random, by normal distributions with the covariances of centres and of
differences, and shrunk so that these covariances stay. Equal contexts stay equal. How far they are
moved was set by hand, so that made vectors are no easier than real ones: `large_vectors.py` prints
both side by side.
"""

from pathlib import Path

import numpy as np

from eqemb.facade.library import Library
from eqemb.index.postings import create_array
from eqemb.index.vector_index import Floats, normalise

CENTRE_SHARE, DIFFERENCE_SHARE = 0.5, 0.2  # of the standard deviations that are random
PAPERS_AT_ONCE = 4_096


class VectorMaker:
    """Draws vectors like those of a library."""

    def __init__(self, library: Path) -> None:
        with Library.open(library) as opened:
            space, segments = opened.engine.vectors, opened.engine.segments
            if space is None:
                raise SystemExit(f"{library} has no model, and so no vectors: build it with one")
            self.real: Floats = np.concatenate(space.contexts.parts)
            self.words: Floats = np.array(space.word_vectors)
            papers = np.split(self.real, np.flatnonzero(np.diff(segments.articles)) + 1)
        self.sizes = np.array([len(paper) for paper in papers])
        self.centres = np.array([paper.mean(axis=0) for paper in papers])
        distinct = [
            np.unique(paper - centre, axis=0, return_inverse=True)
            for paper, centre in zip(papers, self.centres, strict=True)
        ]
        self.differences = [found.astype(np.float32) for found, _ in distinct]
        self.which = [which.ravel() for _, which in distinct]
        every = [paper - centre for paper, centre in zip(papers, self.centres, strict=True)]
        self.centre_root = _root(self.centres)
        self.difference_root = _root(np.concatenate(every))

    def write(self, path: Path, count: int, seed: int) -> None:
        """Write so many vectors into a file."""
        random, at = np.random.default_rng(seed), 0
        out = create_array(path, np.float32, (count, self.real.shape[1]))
        while at < count:
            made = self._some(random)[: count - at]
            out[at : at + len(made)] = made
            at += len(made)
        out.flush()

    def _some(self, random: np.random.Generator) -> Floats:
        """Return the vectors of some papers."""
        count = PAPERS_AT_ONCE
        share = self.sizes / self.sizes.sum()
        place = random.choice(len(self.sizes), count, p=share)
        shape = random.integers(len(self.sizes), size=count)
        mean = self.centres.mean(axis=0)
        centres = mean + _moved(self.centres[place] - mean, self.centre_root, CENTRE_SHARE, random)
        lengths = [len(self.differences[each]) for each in shape]
        moved = _moved(
            np.concatenate([self.differences[each] for each in shape]),
            self.difference_root,
            DIFFERENCE_SHARE,
            random,
        )
        starts = np.cumsum([0, *lengths[:-1]])
        rows = np.concatenate(
            [self.which[each] + start for each, start in zip(shape, starts, strict=True)]
        )
        return normalise(np.repeat(centres, self.sizes[shape], axis=0) + moved[rows])


def _root(vectors: Floats) -> Floats:
    """Return a root of the covariance of vectors."""
    values, axes = np.linalg.eigh(np.cov(vectors.T))
    made: Floats = (axes * np.sqrt(np.maximum(values, 0))).astype(np.float32)
    return made


def _moved(vectors: Floats, root: Floats, share: float, random: np.random.Generator) -> Floats:
    noise = random.standard_normal(vectors.shape, np.float32) @ root.T
    made: Floats = np.sqrt(1 - share**2) * vectors + share * noise
    return made
