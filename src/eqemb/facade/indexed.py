"""A library with its index and its model, opened: equations by name, and vectors.

`Library` adds the questions. An equation may be given to any of them as its name, as LaTeX, as a
hit of an answer, or as an `Equation`: `query_text` turns all of these into the text of a query.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eqemb.article import Article, Equation
from eqemb.errors import DamageError, UnknownKeyError, UsageError, quoted
from eqemb.facade.damage import names_damage
from eqemb.facade.verify import Verification, verify
from eqemb.formula import Layout, layout
from eqemb.formula.write_latex import to_latex
from eqemb.index.build import check_version, damaged_file
from eqemb.index.segments import IndexSegments, has_index, open_index
from eqemb.index.vector_index import normalise
from eqemb.index.vectors import VectorSpace
from eqemb.library.database import LibraryRecords
from eqemb.library.generations import REBUILD, OpenLibrary
from eqemb.library.manifest import segment_folder
from eqemb.models.embeddings import Embeddings, own_model
from eqemb.search.engine import Search
from eqemb.search.names import check_not_article, find_equation, looks_like_name
from eqemb.search.notation import EquationSymbols
from eqemb.search.paper import NO_MODEL
from eqemb.search.query import parse_query
from eqemb.search.results import Hit
from eqemb.search.where import SymbolReader

Floats = NDArray[np.float32]
#: What a question takes: words or a formula, the name of an equation, a hit, or an equation.
Asked = str | Hit | Equation


class IndexedLibrary(OpenLibrary):
    """A library as a collection of equations, each with a name, a record and a vector.

    `len(library)` counts equations, iterating yields them in order, `library[name]` returns one.
    """

    _uses_index = True

    def __len__(self) -> int:
        return sum(count for _, count, _ in self.contents())

    def __iter__(self) -> Iterator[Equation]:
        for article in self.articles():
            yield from article.equations

    @names_damage
    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and find_equation(self.records, name) is not None
        except UsageError:
            return False

    def __getitem__(self, name: str) -> Equation:
        """Return the equation of a name.

        Args:
            name: ARTICLE#4, ARTICLE(2.3) or ARTICLE:label.

        Returns:
            The equation; a `KeyError` says if there is none.

        Examples:
            >>> library["ir/cosine#1"].number
            '1'
            >>> "ir/cosine#99" in library
            False

        """
        try:
            found = self.equation(name)
        except UsageError as error:
            raise UnknownKeyError(str(error)) from None
        if found is None:
            raise UnknownKeyError(f"{quoted(name)} is not the name of an equation: write ARTICLE#4")
        return found

    def __repr__(self) -> str:
        names = [name for name in self.records.collection_names() if name]
        groups = f", {len(names):,} collections" if len(names) > 1 else ""
        model = "no model" if self.model is None else self.model.config.get("model", "a model")
        articles = sum(1 for _ in self.contents())
        return (
            f"<Library {self.folder.name}: {articles:,} articles, {len(self):,} equations{groups},"
            f" {model}>"
        )

    @names_damage
    def equation(self, name: str) -> Equation | None:
        """Return the equation of a name; None if the text is LaTeX and no name."""
        self.check_name(name)
        found = find_equation(self.records, name)
        if found is None:
            check_not_article(self.records, name)
            return None
        found.read_symbols = self._read_symbols
        return found

    def articles(self) -> Iterator[Article]:
        """Yield every article, in order."""
        return map(self._with_symbols, super().articles())

    @names_damage
    def article(self, name: str) -> Article:
        """Return an article by its name; the last parts are enough where they are unique."""
        return self._with_symbols(super().article(name))

    def _with_symbols(self, article: Article) -> Article:
        for equation in article.equations:
            equation.read_symbols = self._read_symbols
        return article

    @cached_property
    def symbol_reader(self) -> SymbolReader:
        """What finds the definitions of articles; the latest are kept."""
        return self.engine.hits.symbols if has_index(self) else SymbolReader(self.records.article)

    @names_damage
    def _read_symbols(self, equation: Equation) -> EquationSymbols:
        """Return the symbols of an equation; nothing is opened before."""
        return self.symbol_reader.of(equation)

    def query_text(self, asked: Asked) -> str:
        """Return the query for a hit or an equation: its name, or its LaTeX if it is not here."""
        if isinstance(asked, Hit):
            asked = asked.equation
        if not isinstance(asked, Equation):
            return asked
        if asked.id in self and self[asked.id].expanded == asked.expanded:
            return asked.id
        return f"${undelimited(asked.expanded)}$"

    def check_name(self, text: str) -> None:
        """Refuse a misspelt name, which is neither words nor a formula; suggest similar names."""
        check_text(text)
        article = looks_like_name(text)
        if article:
            self.article_name(article)

    def verify(self) -> Verification:
        """Read every file of the library, and compare it with its checksums.

        Returns:
            What was read, and the files with damage (`damage`), which is empty for an intact one.

        Examples:
            >>> library.verify().damage
            []

        """
        return verify(self.folder)

    # ------------------------------------------------------------ vectors

    @cached_property
    def model(self) -> Embeddings | None:
        """The library's own model; None if it has none.

        `model.equations` takes the names of equations, too: `model.equations["ir/cosine#1"]`.
        """
        found = own_model(self.generation)
        if found is not None:
            found.equation_key = partial(_canonical_form, self.records)
        return found

    @names_damage
    def vector(self, equation: Asked) -> Floats:
        """Return the vector of an equation, as the library's model computes it from its symbols.

        Args:
            equation: A name, a hit, an `Equation`, or LaTeX.

        Returns:
            A vector of length one, the same as `encode` returns for its LaTeX. A `KeyError` says if
            the model knows none of its symbols.

        Examples:
            >>> library.vector("ir/cosine#1").shape
            (100,)
            >>> bool(library.vector("ir/cosine#1") @ library.vector("ir/bm25#1") < 1)
            True

        """
        text = self.query_text(equation)
        self.check_name(text)
        found = self._equation_vector(self.engine.read_equation(text).layout)
        if not found.any():
            raise UnknownKeyError(
                f"no vector for {quoted(text)}: the model knows none of its symbols"
            )
        return found

    @names_damage
    def encode(self, texts: str | Iterable[Asked]) -> Floats:
        r"""Return vectors of words and equations, in one space: their cosines can be compared.

        Args:
            texts: Several queries, or one: words, LaTeX, both, names of equations, hits,
                equations. What is LaTeX is decided as in `search`.

        Returns:
            An array with a row of length one for each text, zeros where the model knows nothing of
            it; for a single text, one such vector. The mean of the library's words is subtracted
            from words, that of its equations from equations.

        Examples:
            >>> vectors = library.encode([r"\frac{a}{b}", "cosine similarity", "ir/cosine#1"])
            >>> vectors.shape
            (3, 100)
            >>> bool(vectors[1] @ vectors[2] > vectors[1] @ vectors[0])
            True

        """
        if isinstance(texts, str | Hit | Equation):
            return self._encode(texts)
        made = [self._encode(text) for text in texts]
        return np.stack(made) if made else np.empty((0, self._space.dim), np.float32)

    def _encode(self, asked: Asked) -> Floats:
        text = self.query_text(asked)
        self.check_name(text)
        named = self.engine.find_named(text)
        if named is not None:
            return self._equation_vector(layout(named.expanded))
        query, space = parse_query(text), self._space
        parts = [self._equation_vector(layout(latex)) for latex in query.formulas]
        if query.words:
            parts.append(_centred(space.words_vector(query.words), space.means[0]))
        return normalise(np.sum(parts, axis=0)) if parts else np.zeros(space.dim, np.float32)

    def _equation_vector(self, shape: Layout) -> Floats:
        return _centred(self._space.equation_vector(shape), self._space.means[1])

    @property
    def _space(self) -> VectorSpace:
        if self.engine.vectors is None:
            raise UsageError(NO_MODEL)
        return self.engine.vectors

    # ------------------------------------------------------------ libraries in parts

    def begin_request(self) -> None:
        """Prepare for the questions of another request (see `facade.parts`)."""

    @property
    def parts_note(self) -> str:
        """What is missing in the answers since `begin_request`; empty if nothing is."""
        return ""

    # ------------------------------------------------------------ the index

    @cached_property
    def engine(self) -> Search:
        """The search engine over the library's index."""
        segments = self.open_segments()
        return Search(self.records, segments, self._vectors_folder, lambda: self.model)

    def open_segments(self) -> IndexSegments:
        """Open the index; an error says if there is none, or one of another version."""
        if not has_index(self):
            raise UsageError(f"{self.folder} has no index: build the library with `eqemb build`")
        segments = open_index(self)
        for segment in segments:
            check_version(segment.folder, self.folder)
        return segments

    @property
    def _vectors_folder(self) -> Path | None:
        name = self.manifest.vectors
        return self.home / "vectors" / name if name else None

    def _read_files(self) -> None:
        """Read all files; older versions wrote hashes of the index and of vectors alone."""
        super()._read_files()
        for folder in () if self.has_checksums else self._index_folders():
            file = damaged_file(folder)
            if file is not None:
                raise DamageError(f"{file} is damaged or missing: {REBUILD}")

    def _index_folders(self) -> Iterator[Path]:
        """Yield the folders with files of the index and of vectors."""
        if not has_index(self):
            return
        vectors = self._vectors_folder
        if vectors is not None:
            yield vectors
        for part in self.manifest.segments:
            yield segment_folder(self.home, part.name) / "index"
            if vectors is not None:
                yield vectors / part.name


def _centred(vector: Floats, mean: Floats) -> Floats:
    """Subtract what all vectors of a kind share, so that words and equations can be compared."""
    return normalise(vector - mean) if vector.any() else vector


def undelimited(latex: str) -> str:
    r"""Return LaTeX without dollars inside (as in `\mbox{$a$}`), where they can be left out.

    In a query, a dollar would end the formula.
    """
    return to_latex(layout(latex).root) if "$" in latex else latex


def check_text(text: object) -> None:
    """Refuse a query that is not text."""
    if not isinstance(text, str):
        raise UsageError(f"a query must be a string, not {quoted(text)}")


def _canonical_form(records: LibraryRecords, name: str) -> str | None:
    """Return the type of a named equation, as models name it; None if there is no such name."""
    try:
        found = find_equation(records, name)
    except UsageError:
        return None
    return None if found is None else layout(found.expanded).canonical()
