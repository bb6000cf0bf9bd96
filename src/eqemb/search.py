"""Ask a library: equations for words, and equations like an equation.

BM25 over the words around each equation, and the structure of the equation itself. A query
touches the postings of its own words, units and shapes and nothing else. NumPy only, so that an
answer comes at once from a cold start.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqemb.article import Equation, read_tokens
from eqemb.errors import UsageError
from eqemb.formula import layout
from eqemb.records import Records
from eqemb.structure import Structure

#: ARTICLE#4, ARTICLE(2.3) and ARTICLE:eq:loss; an article's name holds none of these marks.
_NAME = re.compile(r"([^#():]+)(?:#(\d{1,9})|\(([^()]+)\)|:(.+))")
#: What names do not hold and formulas do.
_FORMULA = re.compile(r"[\\\\^_{}=+<>|&$,\s]")
Scores = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Hit:
    """An equation that answers, with its score."""

    score: float
    equation: Equation
    title: str
    occurrences: int
    """How many equations of the library are the same."""

    @property
    def latex(self) -> str:
        """The equation as its author wrote it."""
        return self.equation.latex

    @property
    def article(self) -> str:
        """The article that it stands in."""
        return self.equation.article

    @property
    def text(self) -> str:
        """The equation in Unicode, for terminals."""
        return layout(self.equation.expanded).to_text()

    def to_dict(self) -> dict[str, Any]:
        """As `--json` prints it."""
        equation = self.equation
        return {
            "id": equation.id,
            "score": round(self.score, 6),
            "latex": equation.latex,
            "article": equation.article,
            "title": self.title,
            "number": equation.number,
            "label": equation.label,
            "file": equation.file,
            "line": equation.line,
            "context": equation.context,
        }


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query found, best first, and what of it the library does not know."""

    hits: list[Hit]
    unknown: list[str]

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def to_dict(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {"hits": [hit.to_dict() for hit in self.hits], "unknown": self.unknown}


def looks_like_name(query: str) -> str:
    """The article that a query names, '' where it reads as a formula."""
    match = _NAME.fullmatch(query.strip())
    if match is None:
        return ""
    is_name = match[2] is not None or not (_FORMULA.search(query) or len(match[1]) < 3)
    return match[1] if is_name else ""


def find(records: Records, name: str) -> Equation | None:
    """The equation that a name means; None where the text is no name but LaTeX."""
    match = _NAME.fullmatch(name.strip())
    article = records.article(match[1]) if match else None
    if match is None or article is None:
        return None
    for equation in article.equations:
        if (
            (match[2] and equation.ordinal == int(match[2]))
            or (match[3] and equation.number == match[3])
            or (match[4] and match[4] in equation.labels)
        ):
            return equation
    raise UsageError(
        f"{match[1]} has no equation {name[len(match[1]) :]}: `eqemb show` lists its equations"
    )


class Search:
    """The index of a library, opened for questions."""

    def __init__(self, records: Records, folder: Path) -> None:
        self._records, self._folder = records, folder
        self._equations = self._load("equations")  # article, ordinal, type

    def _load(self, name: str) -> NDArray[Any]:
        loaded: NDArray[Any] = np.load(self._folder / f"{name}.npy", mmap_mode="r")
        return loaded

    @cached_property
    def _vocabulary(self) -> dict[str, int]:
        words = (self._folder / "words.txt").read_text("utf-8").split("\n")
        return {word: row for row, word in enumerate(words)}

    @cached_property
    def structure(self) -> Structure:
        """What the equations look like."""
        return Structure(self._records, self._folder)

    # ------------------------------------------------------------ words -> equations

    def words(self, query: str, k: int = 10) -> Answer:
        """Equations for words: BM25 over their contexts."""
        asked = [word.lower() for word in read_tokens(query)[0]]
        pointers = self._load("words.pointers")
        rows = ((word, self._vocabulary.get(word)) for word in asked)
        known = [
            word for word, row in rows if row is not None and pointers[row] < pointers[row + 1]
        ]
        unknown = [word for word in dict.fromkeys(asked) if word not in known]
        scores = np.zeros(len(self._equations), np.float32)
        owners, impacts = self._load("words.owners"), self._load("words.weights")
        for word in known:
            row = self._vocabulary[word]
            start, stop = pointers[row], pointers[row + 1]
            count = stop - start
            idf = np.log1p((len(scores) - count + 0.5) / (count + 0.5))
            scores[owners[start:stop]] += np.float32(idf) * impacts[start:stop]
        return Answer(self._best(scores, k), unknown)

    # ------------------------------------------------------------ equation -> equations

    def like(self, query: str, k: int = 10) -> Answer:
        """Equations like the one named, or like the LaTeX given, or that hold it."""
        named = find(self._records, query)
        asked = layout(named.expanded) if named else query
        found = self.structure.find(asked, count=k + 1)
        scores = np.zeros(len(self.structure), np.float32)
        scores[found.types] = found.scores
        return Answer(self._best(scores[self._equations[:, 2]], k, besides=named), found.unknown)

    # ------------------------------------------------------------ hits

    def _best(self, scores: Scores, k: int, besides: Equation | None = None) -> list[Hit]:
        """The best equations, one for each type, ties in the order of the library."""
        hits: list[Hit] = []
        seen: set[int] = set()
        take = min(len(scores), 4 * k + 20)
        while True:
            order = self._top(scores, take)
            for index in order:
                kind = int(self._equations[index, 2])
                if kind in seen or scores[index] <= 0 or len(hits) >= k:
                    continue
                equation, title = self._equation(index)
                if besides is not None and equation.id == besides.id:
                    continue
                seen.add(kind)
                same = int(np.count_nonzero(self._equations[:, 2] == kind))
                hits.append(Hit(float(scores[index]), equation, title, same))
            if len(hits) >= k or take == len(scores):
                return hits
            hits, seen, take = [], set(), min(len(scores), 8 * take)

    @staticmethod
    def _top(scores: Scores, count: int) -> NDArray[np.int64]:
        if count == 0:
            return np.empty(0, np.int64)
        least = np.partition(scores, len(scores) - count)[len(scores) - count]
        best = np.flatnonzero(scores >= least)  # with all that tie with the last
        return best[np.lexsort((best, -scores[best]))][:count]

    def _equation(self, index: int) -> tuple[Equation, str]:
        article, ordinal, _ = (int(value) for value in self._equations[index])
        return self._records.equation(article, ordinal)
