"""The public `Library`: build one, open it, ask it."""

import difflib
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from eqemb.article import Equation
from eqemb.errors import EqembError, UsageError
from eqemb.index.build import check_version, damaged_file
from eqemb.index.encoder import Encoding
from eqemb.library.generations import REBUILD, OpenLibrary
from eqemb.models.embeddings import Embeddings, own_model
from eqemb.search.describe import Describer, Description, Neighbours
from eqemb.search.engine import Search, check_no_article, find, looks_like_name
from eqemb.search.explain import Why, explain
from eqemb.search.query import Where
from eqemb.search.results import Answer, Hit


class Library(OpenLibrary):
    """A finished library, opened for reading."""

    def __init__(self, folder: Path, generation: Path, held: int | None = None) -> None:
        """`held` keeps the generation from being removed until the library is closed."""
        super().__init__(folder, generation, held)
        self._encodings: dict[str, Encoding] = {}

    @classmethod
    def build(
        cls, paths: str | Path | Iterable[str | Path], folder: str | Path, **settings: Any
    ) -> Self:
        """Read papers, learn from them and index them, and open the library: see `build.build`."""
        from eqemb.facade.build import build_library

        build_library(paths, folder, **settings)
        return cls.open(folder)

    @classmethod
    def read(
        cls, paths: str | Path | Iterable[str | Path], folder: str | Path, **settings: Any
    ) -> Self:
        """Read papers into a library without learning from them, and open it."""
        from eqemb.facade.build import read_library

        read_library(paths, folder, **settings)
        return cls.open(folder)

    @cached_property
    def model(self) -> Embeddings | None:
        """The library's own model, None where it has none."""
        return own_model(self.generation)

    def search(
        self,
        words: str,
        k: int = 10,
        *,
        by: str = "all",
        encoder: str | None = None,
        **limits: Any,
    ) -> Answer:
        """Equations for words, "phrases", -words and $LaTeX$; `limits` as `question.Where` has.

        `encoder` names a sentence encoder, MODULE:FUNCTION, that has a say too.
        """
        if by == "encoder" and encoder is None:
            raise UsageError("a ranking by an encoder needs one: say MODULE:FUNCTION")
        encoding = None if encoder is None else self.encoding(encoder)
        where = self._where(limits)
        return self.questions.words(words, _count(k), by=by, where=where, encoding=encoding)

    def encoding(
        self, encoder: str, progress: Callable[[int, int], object] = lambda _done, _all: None
    ) -> Encoding:
        """The library as a sentence encoder sees it; encoded when first asked, and kept."""
        if encoder not in self._encodings:
            self._encodings[encoder] = Encoding(
                self.records, self.folder, encoder, progress=progress
            )
        return self._encodings[encoder]

    def similar(self, equation: str, k: int = 10, *, by: str = "all", **limits: Any) -> Answer:
        """Equations like one that is named (`ARTICLE#4`) or given as LaTeX."""
        self.equation(equation)
        return self.questions.like(equation, _count(k), by=by, where=self._where(limits))

    def describe(self, equation: str, k: int = 10, *, by: str = "all") -> Description:
        """The words that say best what an equation is about; it is named, or given as LaTeX."""
        self.equation(equation)
        return self._describer.describe(equation, _count(k), by=by)

    def words(self, word: str, k: int = 10) -> Neighbours:
        """The words nearest to a word, by the library's model."""
        return self._describer.neighbours(word, _count(k))

    def query(
        self,
        positive: str | Sequence[Any] = (),
        negative: str | Sequence[Any] = (),
        k: int = 10,
        **limits: Any,
    ) -> Answer:
        """Equations near a sum of words, equations (names, or LaTeX as $...$) and units (tuples).

        What is negative is taken off; `limits` as `question.Where` has.
        """
        plus, minus = ([side] if isinstance(side, str) else side for side in (positive, negative))
        for member in (*plus, *minus):
            if isinstance(member, str) and not member.startswith("$"):
                self._check_name(member)
        return self._describer.query(plus, minus, _count(k), self._where(limits))

    def why(self, query: str | Hit | Equation, other: str | Hit | Equation) -> Why:
        """Why an equation answers: `query` is words or an equation, `other` an equation.

        Equations are named, given as LaTeX, or taken from an answer.
        """
        asked, answer = _text(query), _text(other)
        self._check_name(asked)
        self.equation(answer)
        return explain(self.questions, asked, answer)

    @cached_property
    def _describer(self) -> Describer:
        return Describer(self.questions)

    def _where(self, limits: dict[str, Any]) -> Where:
        """What an answer is limited to; a misspelt article or collection is answered with near."""
        has = limits.pop("has", ())
        try:
            where = Where(**limits, has=(has,) if isinstance(has, str) else tuple(has))
        except TypeError as error:
            raise UsageError(f"cannot limit an answer so: {error}") from None
        if where.article is not None:
            self.article(where.article)
        if where.collection is not None:
            query = "SELECT DISTINCT collection FROM sources WHERE status != 'skipped'"
            known = sorted(str(name) for (name,) in self.records.rows(query))
            if where.collection not in known:
                near = difflib.get_close_matches(where.collection, known, n=3, cutoff=0.5)
                hint = f"did you mean {', '.join(near)}?" if near else "`eqemb info` counts them"
                raise UsageError(f"no collection {where.collection!r} in {self.folder}: {hint}")
        return where

    def equation(self, name: str) -> Equation | None:
        """The equation that is named; None where the text is no name but LaTeX."""
        self._check_name(name)
        found = find(self.records, name)
        if found is None:
            check_no_article(self.records, name)
        return found

    def _check_name(self, text: str) -> None:
        """A misspelt name is neither words nor a formula: it is answered with near ones."""
        article = looks_like_name(text)
        if article and self.records.key(article) is None:
            self.article(article)

    @cached_property
    def questions(self) -> Search:
        """The index, opened."""
        if not (self.generation / "index").is_dir():
            raise UsageError(f"{self.folder} has no index: make the library with `eqemb build`")
        check_version(self.generation / "index", self.folder)
        return Search(self.records, self.generation / "index", lambda: self.model)

    def _check_damage(self, error: object) -> None:
        if isinstance(error, FileNotFoundError) or (
            isinstance(error, Exception) and not isinstance(error, EqembError | OSError)
        ):
            index = self.generation / "index"
            file = damaged_file(index) if index.is_dir() else None
            if file is not None:  # else the fault is ours, or the system's
                raise EqembError(f"{file} is damaged or gone: {REBUILD}") from None


def _count(k: Any) -> int:
    """How many are asked for."""
    if not isinstance(k, int) or k < 1:
        raise UsageError(f"an answer of {k!r} is none: k is a whole number from 1")
    return k


def _text(thing: str | Hit | Equation) -> str:
    """What a thing is asked for by."""
    if isinstance(thing, Hit):
        return thing.equation.id
    return thing.id if isinstance(thing, Equation) else thing
