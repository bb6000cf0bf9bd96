"""The public `Library`: build one, open it, search it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from eqemb.article import Equation
from eqemb.errors import UsageError, quoted
from eqemb.facade.damage import names_damage
from eqemb.facade.filters import check_count, make_filters
from eqemb.facade.indexed import Asked, IndexedLibrary, check_text
from eqemb.index.encoder import EncoderIndex
from eqemb.search.article_glossary import ArticleGlossary, article_glossary
from eqemb.search.defined import meaning_weights
from eqemb.search.describe import Describer, Description
from eqemb.search.explain import Why, explain
from eqemb.search.neighbours import Member, Neighbours, VectorQuery, nearest_words
from eqemb.search.notation import EquationSymbols, Notation, find_notation
from eqemb.search.query import Ranking, parse_query
from eqemb.search.results import Answer, Hit

if TYPE_CHECKING:
    from eqemb.arxiv.selection import Selection
    from eqemb.facade.model import Watch
    from eqemb.library.executor import WorkerLimits
    from eqemb.library.ingest import Paths
    from eqemb.library.progress import Progress
    from eqemb.sources import Limits


class Library(IndexedLibrary):
    """A finished library of papers, opened for reading and search.

    Use it as a context manager, or call `close`.
    """

    # ------------------------------------------------------------ build

    @classmethod
    def build(  # noqa: PLR0913
        cls,
        paths: "Paths",
        folder: str | Path,
        *,
        model: bool | Mapping[str, Any] = True,
        base: str | Path | None = None,
        root: str | Path | None = None,
        jobs: int | None = None,
        engine: str = "local",
        resume: bool = False,
        limits: "Limits | None" = None,
        watch: "Watch | None" = None,
        selection: "Selection | None" = None,
    ) -> Self:
        """Read papers, train a model on them, index them, and open the library.

        Args:
            paths: Files, folders and URLs of papers, in any format that is read, and archives.
            folder: Where the library is stored. A library that exists there is replaced at the end.
            model: False for a library without a model, or settings of `eqemb.models.EqEmbH`.
            base: A library, or a model's folder, whose word vectors are used unchanged.
            root: Names of articles are relative to it; by default the folder that paths share.
            jobs: Processes that read papers, and threads that train; None for one per processor.
            engine: Where papers are read and indexed: "local", "ray" or "ray://HOST:PORT".
            resume: Continue an interrupted build of the same papers.
            limits: Limits for the size of sources.
            watch: Called with the stage, such as "reading", and its progress as text.
            selection: Which papers to read (`eqemb.arxiv.selection`); None for all.

        Returns:
            The new library, opened.

        Examples:
            >>> with Library.build(papers, folder, model=False) as small:
            ...     len(small.records.names())
            2

        """
        from eqemb.facade.build import build_library

        build_library(
            paths,
            folder,
            model=model,
            base=base,
            root=root,
            jobs=jobs,
            engine=engine,
            resume=resume,
            limits=limits,
            watch=watch,
            selection=selection,
        )
        return cls.open(folder)

    @classmethod
    def read(  # noqa: PLR0913
        cls,
        paths: "Paths",
        folder: str | Path,
        *,
        root: str | Path | None = None,
        jobs: int | None = None,
        engine: str = "local",
        resume: bool = False,
        limits: "Limits | None" = None,
        worker_limits: "WorkerLimits | None" = None,
        progress: "Callable[[Progress], None] | None" = None,
        index: bool = False,
        selection: "Selection | None" = None,
    ) -> Self:
        """Read papers into a library without training a model, and open it.

        Args:
            paths: Files and folders of papers.
            folder: Where the library is stored.
            root: Names of articles are relative to it; by default the folder that paths share.
            jobs: Processes that read papers; None for one per processor.
            engine: Where papers are read: "local", "ray" or "ray://HOST:PORT".
            resume: Continue an interrupted reading of the same papers.
            limits: Limits for the size of sources.
            worker_limits: Limits for the time and memory that one paper may take.
            progress: Called after each paper.
            index: Whether to index the papers, so that the library can be searched.
            selection: Which papers to read (`eqemb.arxiv.selection`); None for all.

        Returns:
            The new library, opened.

        Examples:
            >>> with Library.read(papers, folder) as small:
            ...     [article.name for article in small.articles()]
            ['bm25', 'f-measure']

        """
        from eqemb.facade.build import read_library

        read_library(
            paths,
            folder,
            root=root,
            jobs=jobs,
            engine=engine,
            resume=resume,
            limits=limits,
            worker_limits=worker_limits,
            progress=progress,
            index=index,
            selection=selection,
        )
        return cls.open(folder)

    # ------------------------------------------------------------ search

    @names_damage
    def search(  # noqa: PLR0913
        self,
        words: Asked,
        k: int = 10,
        *,
        by: Ranking = "all",
        encoder: str | None = None,
        collection: str | None = None,
        article: str | None = None,
        year: str | int | None = None,
        section: str | None = None,
        has: str | Iterable[str] = (),
        numbered: bool = False,
        without: str | Iterable[str] = (),
        kind: str | None = None,
    ) -> Answer:
        """Find equations for words.

        Args:
            words: Words, "phrases", -excluded words and formulas; or an equation: its name, a hit
                of an answer, an `Equation`.
            k: The number of hits.
            by: "all" for the weighted sum of all parts, or one part: "words" (BM25), "meaning"
                (vectors), "structure" (of the LaTeX in the query), "encoder", or "paper" (as the
                paper ranks).
            encoder: A sentence encoder that takes part in the ranking: the folder of a model of
                sentence-transformers or model2vec, or MODULE:FUNCTION.
            collection: Only equations of this collection; None or "all" for every collection.
            article: Only equations of this article.
            year: Only papers of these years by arXiv id: 2015, "2015-2018", "2015-" or "-2018".
            section: Only equations in sections with these words in the title.
            has: Only equations that contain these symbols or pieces of LaTeX.
            numbered: Only numbered equations.
            without: Articles whose equations are left out.
            kind: Only one kind of match: "all words", "some words"; "words and formula", "words
                only", "formula only"; "same equation", "written differently", "similar equation".

        Returns:
            The hits, best first, with unknown words, notes, and how the query was read (`reading`).

        Examples:
            >>> answer = library.search("cosine similarity of two vectors", k=3)
            >>> answer[0].equation.id
            'ir/cosine#1'
            >>> library.search("cosine similarity", collection="nlp", numbered=True)[0].article
            'nlp/sentence-contrastive'

        """
        text = self.query_text(words)
        self.check_name(text)
        filters = make_filters(
            *(self, collection, article, year, section, has),
            numbered=numbered,
            without=without,
            kind=kind,
        )
        return self.engine.search_words(
            text,
            check_count(k),
            by=by,
            filters=filters,
            encoder=self._encoder(encoder, by),
        )

    @cached_property
    def _encoders(self) -> dict[str, EncoderIndex]:
        """The encoders that were used, by name."""
        return {}

    @names_damage
    def encoder(
        self, name: str, progress: Callable[[int, int], object] = lambda _done, _all: None
    ) -> EncoderIndex:
        """Return the encoded equations of the library; they are encoded on first use and stored.

        Args:
            name: The folder of a model of sentence-transformers or model2vec, or MODULE:FUNCTION.
            progress: Called while equations are encoded, with how many are done and how many
                there are.

        """
        if str(name) not in self._encoders:  # `EncoderIndex` refuses what is not a string
            self._encoders[name] = EncoderIndex(
                self.engine.segments, self.folder, name, progress=progress
            )
        return self._encoders[name]

    def _encoder(self, name: str | None, by: str) -> EncoderIndex | None:
        if by == "encoder" and name is None:
            raise UsageError(
                "ranking by an encoder needs one: name a model's folder or MODULE:FUNCTION as"
                " encoder (--encoder)"
            )
        return None if name is None else self.encoder(name)

    @names_damage
    def similar(  # noqa: PLR0913
        self,
        equation: Asked,
        k: int = 10,
        *,
        by: Ranking = "all",
        encoder: str | None = None,
        collection: str | None = None,
        article: str | None = None,
        year: str | int | None = None,
        section: str | None = None,
        has: str | Iterable[str] = (),
        numbered: bool = False,
        without: str | Iterable[str] = (),
        kind: str | None = None,
        meanings: bool = False,
    ) -> Answer:
        r"""Find equations similar to an equation; the filters are those of `search`.

        Args:
            equation: A formula, in which `?x` is a wildcard; a name: ARTICLE#4, ARTICLE(2.3),
                ARTICLE:label; a hit of an answer, or an `Equation`. Words are searched as `search`
                does.
            k: The number of hits.
            by: As for `search`.
            encoder: As for `search`; it compares the LaTeX of equations.
            meanings: Whether it counts that symbols mean the same, whatever their letters. Only
                for an equation of the library, whose article defines its symbols.

        Returns:
            The hits, best first, without the named equation itself.

        Examples:
            >>> answer = library.similar(r"p_i = \frac{e^{x_i}}{\sum_j e^{x_j}}", k=2)
            >>> [hit.equation.id for hit in answer]
            ['nlp/seq2seq-beam#2', 'ml/roc-calibration#7']
            >>> library.similar(answer[0], k=1)[0].article
            'nlp/seq2seq-beam'

        """
        text = self.query_text(equation)
        self.equation(text)
        filters = make_filters(
            *(self, collection, article, year, section, has),
            numbered=numbered,
            without=without,
            kind=kind,
        )
        used = self._encoder(encoder, by)
        if meanings:
            query = self.engine.read_equation(text, used)
            if query.equation is None:
                raise UsageError("meanings need an equation of the library: give its name")
            known = meaning_weights(self.symbols(query.equation.id), self.engine.text)
            query = query._replace(meanings=known)
            return self.engine.search_equation(query, check_count(k), by=by, filters=filters)
        return self.engine.search_similar(
            text, check_count(k), by=by, filters=filters, encoder=used
        )

    @names_damage
    def describe(
        self, equation: Asked, k: int = 10, *, by: Literal["all", "paper"] = "all"
    ) -> Description:
        """Describe an equation in words.

        Args:
            equation: LaTeX, a name (ARTICLE#4, ARTICLE(2.3), ARTICLE:label), a hit of an answer, or
                an `Equation`.
            k: The number of words.
            by: "all", or "paper" for the words that the paper's ranking gives.

        Returns:
            The words, best first, each with a sentence that uses it; for an equation of the
            library, `symbols`, too.

        Examples:
            >>> [word.word for word in library.describe("ir/cosine#1", k=3)]
            ['cosine', 'angle', 'similarity']

        """
        text = self.query_text(equation)
        self.equation(text)
        found = self._describer.describe(text, check_count(k), by=by)
        named = found.equation
        return found if named is None else replace(found, symbols=self.symbol_reader.of(named))

    @names_damage
    def symbols(self, equation: Asked) -> EquationSymbols:
        """Find what the symbols of an equation of the library mean.

        Args:
            equation: A name: ARTICLE#4, ARTICLE(2.3), ARTICLE:label; or a hit of an answer.

        Returns:
            The symbols in reading order, each with its definition in the article, if there is one.

        """
        name = self.query_text(equation)
        found = self.equation(name)
        if found is None:
            raise UsageError(f"{quoted(name)} is not the name of an equation: write ARTICLE#4")
        return self.symbol_reader.of(found)

    @names_damage
    def glossary(self, article: str) -> ArticleGlossary:
        """Find all symbols that an article defines.

        Args:
            article: The name of an article.

        Returns:
            Symbols in alphabetical order, with their meanings, the sentence of each definition,
            its section and the equation nearest to it.

        """
        return article_glossary(self.symbol_reader.glossary(self.article_name(article)))

    @names_damage
    def notation(self, query: str, k: int = 10) -> Notation:
        """Find how the articles denote a thing, or what they mean by a symbol.

        Args:
            query: Words, or one symbol as LaTeX.
            k: The number of lines.

        Returns:
            Symbols or meanings with their shares of articles, the most frequent first.

        """
        check_text(query)
        engine, count = self.engine, check_count(k)
        found = find_notation(engine.definitions, query, parse_query(query), count)
        if found.lines:
            return found
        return find_notation(engine.definitions, query, engine.read_query(query), count)

    @names_damage
    def words(self, word: str, k: int = 10) -> Neighbours:
        """Find the words nearest to a word, by the library's model.

        Args:
            word: A word of the papers.
            k: The number of words.

        Returns:
            Words and cosines, the nearest first.

        Examples:
            >>> [word for word, _ in library.words("cosine", k=3)]
            ['similarity', 'neighbour', 'angle']

        """
        check_text(word)
        return nearest_words(self.engine.model, word, check_count(k))

    @names_damage
    def query(  # noqa: PLR0913
        self,
        positive: Asked | Sequence[Member | Hit | Equation] = (),
        negative: Asked | Sequence[Member | Hit | Equation] = (),
        k: int = 10,
        *,
        collection: str | None = None,
        article: str | None = None,
        year: str | int | None = None,
        section: str | None = None,
        has: str | Iterable[str] = (),
        numbered: bool = False,
    ) -> Answer:
        """Find equations near a sum of words, equations and units; filters as for `search`.

        Args:
            positive: What is added: words, names of equations, hits, LaTeX as $...$, units as three
                symbols.
            negative: What is subtracted.
            k: The number of hits.

        Returns:
            The hits, best first.

        Examples:
            >>> library.query(["precision", "recall"], ["loss"], k=3)[0].article
            'ir/f-measure'

        """
        plus, minus = (self._members(side) for side in (positive, negative))
        for member in (*plus, *minus):
            if isinstance(member, str) and not member.startswith("$"):
                self.check_name(member)
        filters = make_filters(self, collection, article, year, section, has, numbered=numbered)
        return self._vector_query.find(plus, minus, check_count(k), filters)

    def _members(self, side: Asked | Sequence[Member | Hit | Equation]) -> list[Member]:
        some = [side] if isinstance(side, str | Hit | Equation) else side
        return [
            self.query_text(member) if isinstance(member, Hit | Equation) else member
            for member in some
        ]

    @names_damage
    def why(self, query: Asked, other: Asked) -> Why:
        """Explain why an equation answers a query.

        Args:
            query: Words, or an equation: a name, LaTeX, or a hit of an answer.
            other: An equation.

        Returns:
            The symbols and words that both share, and what each part adds to the score.

        Examples:
            >>> sorted(library.why("cosine similarity", "ir/cosine#1").words)
            ['"cosine similarity"', 'cosine', 'similarity']

        """
        left, right = self.query_text(query), self.query_text(other)
        self.check_name(left)
        self.equation(right)
        return explain(self.engine, left, right)

    # ------------------------------------------------------------ internals

    @cached_property
    def _describer(self) -> Describer:
        return Describer(self.engine)

    @cached_property
    def _vector_query(self) -> VectorQuery:
        return VectorQuery(self.engine, self._describer)
