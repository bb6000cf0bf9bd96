"""What a library answers, as JSON-ready dictionaries: shared by the API and the pages.

This module does not depend on HTTP. No answer contains a path of this machine, and none shows more
text of a paper than `snippets` allows. A name that does not exist raises `MissingError`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb import __version__
from eqemb.article import Equation
from eqemb.corpus.vocabulary import STOP_WORDS
from eqemb.errors import UnknownKeyError, UsageError, quoted
from eqemb.facade.equation_map import MapSummary, map_place, map_summary, points
from eqemb.facade.library import Library
from eqemb.formula import layout
from eqemb.formula.html import page_mathml
from eqemb.formula.running_text import printed_text
from eqemb.index.renderings import RenderingIndex
from eqemb.search.citations import Citation
from eqemb.search.facets import Facets, shown_facets
from eqemb.search.match_kinds import CountedMatches
from eqemb.search.names import check_collection
from eqemb.search.query import Ranking, parse_query
from eqemb.search.results import Answer, arxiv_url, equation_json, reading_json
from eqemb.search.snippets import Piece, WordMatcher, around_equation, around_word, pieces
from eqemb.server import article_text
from eqemb.server.examples import example_equation, example_words
from eqemb.server.queries import MissingError, check_query, single_formula
from eqemb.server.snippets import WORDS_SHOWN, PageRenderer, TextRenderer
from eqemb.server.suggestions import word_list
from eqemb.server.symbols import SymbolService

#: Hits that paging can reach.
MAX_HITS = 1_000
#: LaTeX fragments that a search may require of an equation (`has`).
MAX_FRAGMENTS = 5
#: Most names in the `family` of an equation, in `kin`, and most sentences in `references`.
_MAX_FAMILY, _MAX_KIN, _MAX_REFERENCES = 100, 20, 20
#: Least strength of an equation that the map highlights.
_MAP_STRENGTH = 0.5
#: Words around an equation if the library has no model that defines its window.
_DEFAULT_WINDOW = 16

Json = dict[str, Any]


class Page(NamedTuple):
    """Which page of an answer is requested."""

    number: int = 1
    size: int = 10

    @property
    def last(self) -> int:
        """The rank of the last item on the page."""
        return self.number * self.size


class Service:
    """Answers questions about one open library; used by one thread."""

    def __init__(self, library: Library, snippets: str = "full") -> None:
        if snippets not in WORDS_SHOWN:
            raise UsageError(
                f"snippets must be one of {', '.join(WORDS_SHOWN)}, not {quoted(snippets)}"
            )
        self.library, self.snippets = library, snippets
        self._reach, self._is_full = WORDS_SHOWN[snippets], snippets == "full"

    # ------------------------------------------------------------ equations

    def search(
        self, query: str, page: Page, *, by: Ranking = "all", for_page: bool = False, **limits: Any
    ) -> Json:
        """Equations for a query; a query that is a single formula is answered by `similar`.

        `for_page` cuts long contexts for a web page; without it, hits are those of Python.
        """
        self._check_request(query, page, limits)
        formula = single_formula(query)
        if formula is not None:
            found = self.similar(query, page, by=by, for_page=for_page, **limits)
            return found | self._parsed(query)
        answer = self.library.search(query, page.last + 1, by=by, **limits)
        found = self._page_of(answer, page, for_page=for_page)
        return found | {"kind": "words"} | self._parsed(query)

    def similar(
        self,
        equation: str,
        page: Page,
        *,
        by: Ranking = "all",
        for_page: bool = False,
        **limits: Any,
    ) -> Json:
        """Equations similar to one given by name or as LaTeX; `for_page` as in `search`."""
        self._check_request(equation, page, limits)
        answer = self.library.similar(equation, page.last + 1, by=by, **limits)
        found = self._page_of(answer, page, for_page=for_page)
        if answer.reading is not None and answer.reading.formula is None:
            return found | {"kind": "words"} | self._parsed(equation)
        return found | {"kind": "equation", "asked": self.asked(equation)}

    @staticmethod
    def _check_request(query: str, page: Page, limits: Mapping[str, Any]) -> None:
        """Reject requests that are too expensive before searching."""
        for latex in (query, *limits.get("has", ())):
            check_query(latex)
        if page.last > MAX_HITS:
            raise UsageError(
                f"the page ends at hit {page.last:,}, but only {MAX_HITS:,} hits can be listed"
            )

    def _page_of(self, answer: Answer, page: Page, *, for_page: bool) -> Json:
        shown = replace(answer, hits=answer.hits[page.last - page.size : page.last])
        reach = None if self._is_full and not for_page else self._reach
        return shown.to_json(reach=reach, renderer=self._renderer) | {
            "match": answer.match,
            "matches": self._matches(answer),
            "page": page.number,
            "size": page.size,
            "more": len(answer.hits) > page.last and page.last + page.size <= MAX_HITS,
        }

    def _matches(self, answer: Answer) -> Json | None:
        """How many equations match, and how they are distributed; None if there is no cut."""
        if answer.matches is None:
            return None
        if isinstance(answer.matches, CountedMatches):
            facets = shown_facets(answer.matches.counts)
        else:
            facets = self._facets.count(answer.matches)
        return {
            "equations": len(answer.matches),
            "complete": answer.matches.is_complete,
            "facets": {
                name: [each._asdict() for each in values] for name, values in facets.items()
            },
        }

    @cached_property
    def _facets(self) -> Facets:
        return Facets(self.library.records, self.library.engine.segments)

    def _parsed(self, query: str) -> Json:
        """How a query was understood."""
        parsed = self.render(query)
        words = [each["word"] for each in parsed["words"]]
        return {"query": query, "words": words, "formulas": parsed["formulas"]}

    @cached_property
    def _renderer(self) -> PageRenderer:
        return PageRenderer(RenderingIndex(self.library.engine.segments).find)

    @cached_property
    def symbols(self) -> SymbolService:
        """Answers questions about symbols."""
        return SymbolService(self.library, self._renderer, self._reach, is_full=self._is_full)

    @cached_property
    def text_renderer(self) -> TextRenderer:
        """Renders formulas of papers as text alone."""
        return TextRenderer(self._renderer)

    def _equation(self, equation: Equation, title: str) -> Json:
        """The data of an equation, wherever it is shown."""
        paper = self.library.records.paper(equation.article)
        return equation_json(equation, title, self._renderer, paper)

    def asked(self, text: str) -> Json:
        """The equation of a query, given by name or as LaTeX."""
        found = self.library.equation(check_query(text))
        if found is not None:
            return self._equation(found, self._title(found))
        latex = "".join(parse_query(text).formulas)
        shape = layout(latex)  # not cached: only formulas of papers are
        return {"latex": latex, "text": shape.to_text(), "mathml": page_mathml(shape.to_mathml())}

    def _find(self, name: str) -> Equation:
        """The equation of a name."""
        try:
            found = self.library.equation(check_query(name))
        except UsageError as error:
            raise MissingError(str(error)) from None
        if found is None:
            raise MissingError(f"{quoted(name)} is not the name of an equation: write ARTICLE#4")
        return found

    def brief(self, name: str) -> Json:
        """One equation with its context, as in a list."""
        found = self._find(name)
        context = around_equation(found.context, self._reach)
        return self._equation(found, self._title(found)) | {
            "context": pieces(context, renderer=self._renderer),
            "context_text": printed_text(context),
        }

    def equation(self, name: str) -> Json:
        """One equation with everything that is known about it."""
        found = self._find(name)
        questions = self.library.engine
        row = questions.row(found)
        family = questions.hits.family(row)
        text = self.library.records.article_text(int(questions.articles[row]))
        window, count = article_text.window_of(text, found.ordinal, self._window, self._is_known)
        references = found.references[:_MAX_REFERENCES] if self._is_full else []
        return self._equation(found, self._title(found)) | {
            "context": pieces(around_equation(found.context, self._reach), renderer=self._renderer),
            "references": [pieces(text, renderer=self._renderer) for text in references],
            "symbols": self.symbols.of(found),
            "words": window if self._is_full else [],
            "family": family[:_MAX_FAMILY],
            "papers": len({found.article, *(name.rpartition("#")[0] for name in family)}),
            "of": count,
        }

    # ------------------------------------------------------------ words

    def describe(self, equation: str, count: int = 10) -> Json:
        """The words that best describe an equation."""
        check_query(equation)
        found = self.library.describe(equation, count)
        return {
            "asked": self.asked(equation),
            "phrase": found.phrase.to_json() if found.phrase and self._is_full else None,
            "words": [
                {
                    "word": each.word,
                    "score": round(each.score, 6),
                    "sentence": self._sentence(each.sentence, each.word),
                    "article": each.article,
                }
                for each in found.words
            ],
            "symbols": self.symbols.listed(found.symbols or ()),
            "kin": found.similar[:_MAX_KIN],
            "notes": found.notes,
            "reading": reading_json(found.reading),
        }

    def _sentence(self, sentence: str | None, word: str) -> list[Piece]:
        if sentence is None or not self._is_full:
            return []
        return pieces(around_word(sentence, word, self._reach), WordMatcher([word]), self._renderer)

    def words(self, word: str, count: int = 10) -> Json:
        """The words nearest to a word."""
        try:
            return self.library.words(check_query(word).strip(), count).to_json()
        except UnknownKeyError as error:
            raise MissingError(str(error)) from None

    def suggest(self, start: str, count: int = 8) -> Json:
        """Words of the library with a prefix, those near most equations first."""
        words = word_list(self.library)
        return {"words": words.complete(start.lower(), count)}

    def why(self, query: str, equation: str) -> Json:
        """Why an equation matches a query."""
        found = self.library.why(check_query(query), check_query(equation)).to_json()
        for side in (found["query"], found["other"]):
            if side["mathml"] is not None:
                side["mathml"] = page_mathml(side["mathml"])
        return found

    def render(self, query: str) -> Json:
        """The parts of a query, its formulas rendered: for a preview while it is typed."""
        if query.strip():
            check_query(query)
        question, text = parse_query(query), self.library.engine.text
        return {
            "words": [
                {"word": word, "known": bool(text.spellings((word,)))}
                for word in dict.fromkeys(question.words)
            ],
            "formulas": [
                {
                    "latex": latex,
                    "mathml": page_mathml(shape.to_mathml()),
                    "problems": [
                        " ".join(part for part in problem if part) for problem in shape.problems
                    ],
                }
                for latex, shape in ((each, layout(each)) for each in question.formulas)
            ],
            "open": query.count("$") % 2 == 1,
        }

    # ------------------------------------------------------------ articles

    def articles(self, page: Page, *, words: str = "", collection: str | None = None) -> Json:
        """Articles in order; `words` must all occur in the title or the name."""
        wanted = words.lower().split()
        if collection is not None:
            check_collection(self.library.records, self.library.folder, collection)
        listed = [
            {"name": name, "collection": group, "title": title, "equations": count}
            for name, group, title, count in self._article_list
            if (collection is None or group == collection)
            and all(word in f"{name} {title}".lower() for word in wanted)
        ]
        return {
            "page": page.number,
            "size": page.size,
            "more": len(listed) > page.last,
            "total": len(listed),
            "articles": listed[page.last - page.size : page.last],
        }

    @cached_property
    def _article_list(self) -> list[tuple[str, str, str, int]]:
        return list(self.library.records.list_articles())

    def article(self, name: str, part: int | None = None, equation: int | None = None) -> Json:
        """The text of an article; of a long one, the given part or the part with `equation`."""
        try:
            article = self.library.article(check_query(name))
        except UsageError as error:
            raise MissingError(str(error)) from None
        if equation is not None and not 1 <= equation <= len(article.equations):
            raise MissingError(
                f"article {article.name} has {len(article.equations)} equations, not {equation}"
            )
        windows = self._windows(article.text)
        blocks = list(article_text.paragraphs(article, windows.near))
        parts = article_text.split_into_parts(blocks)
        if part is None:
            part = 1 if equation is None else article_text.part_of_equation(parts, equation)
        if not 1 <= part <= len(parts):
            raise MissingError(f"article {article.name} has {len(parts)} parts, not {part}")

        def show_equation(found: Equation) -> Json:
            words = windows.words.get(found.ordinal, []) if self._is_full else []
            made = self._equation(found, article.title)
            return {"kind": "equation", "equation": made, "words": words}

        cited = Citation.of(article.name, article.title, self.library.records.paper(article.name))
        reach = None if self._is_full else self._reach
        shown = article_text.display_blocks(
            parts[part - 1], article, show_equation, reach, self._renderer
        )
        return {
            "name": article.name,
            "title": article.title,
            "collection": article.collection,
            "authors": list(cited.authors),
            "year": cited.year,
            "url": arxiv_url(article.name),
            "part": part,
            "parts": len(parts),
            "equations": len(article.equations),
            "window": self._window,
            "contents": article_text.contents(parts, article, self._renderer),
            "blocks": list(shown),
        }

    def _windows(self, text: str) -> article_text.Windows:
        return article_text.windows(text, self._window, self._is_known)

    def _title(self, equation: Equation) -> str:
        """The title of the article of an equation."""
        engine = self.library.engine
        return engine.equation(engine.row(equation))[1]

    @cached_property
    def _window(self) -> int:
        model = self.library.model
        settings: Json = {} if model is None else model.config.get("settings", {})
        return int(settings.get("equation_window", _DEFAULT_WINDOW))

    @cached_property
    def _is_known(self) -> Callable[[str], bool]:
        """Whether the model learns from a word; without a model, whether it is a content word."""
        model = self.library.model
        if model is None or "words" not in model.keys:
            return lambda word: word not in STOP_WORDS and len(word) > 1
        return model.view("words").key_to_index.__contains__

    # ------------------------------------------------------------ the library itself

    @property
    def stats(self) -> Json:
        """Counts, collections, the model, and whether the map exists by now."""
        return self._stats | {"map": map_summary(self.library.generation) is not None}

    @cached_property
    def _stats(self) -> Json:
        report = self.library.report
        return {
            "version": __version__,
            "content": report["sha256"],
            "articles": report["articles"],
            "partial": report["partial"],
            "skipped": report["skipped"]["total"],
            "equations": sum(n for kind, n in report["equations"].items() if kind != "lost"),
            "words": report["words"],
            "collections": report["collections"],
            "coverage": report["coverage"]["displays"],
            "model": self._model(report.get("model") or {}),
            "snippets": self.snippets,
        }

    def _model(self, report: Json) -> Json | None:
        """The size of the model, and its quality if that was measured."""
        model = self.library.model
        if model is None:
            return None
        counts = {kind: len(model.keys.get(kind, ())) for kind in ("words", "units")}
        return counts | {name: report.get(name) for name in ("validation", "chance")}

    def map(self) -> bytes:
        """The map of the equations: JSON that is served as stored."""
        self.map_summary()
        return map_place(self.library.generation).read_bytes()

    def map_summary(self) -> MapSummary:
        """The map without its points."""
        found = map_summary(self.library.generation)
        if found is None:
            raise MissingError("this library has no map: create one with `eqemb map`")
        return found

    def map_hits(self, query: str, count: int = 60) -> Json:
        """The points of the map that match a query best; scores relative to the best.

        Those of which fewer than half of such answers are good are left out: they are spread over
        the whole map. The first page of results is always shown.
        """
        check_query(query)
        library = self.library
        found = library.search(query, count)
        best: dict[int, float] = {}
        for rank, hit in enumerate(found.hits, 1):
            if rank > Page().size and (hit.strength or 0.0) < _MAP_STRENGTH:
                break
            best.setdefault(int(self._point_of[library.engine.row(hit.equation)]), hit.score)
        highest = max([*best.values(), 1e-9])
        scores = [round(score / highest, 3) for score in best.values()]
        return {"query": query, "points": list(best), "scores": scores}

    @cached_property
    def _point_of(self) -> NDArray[np.int64]:
        """The point of each equation; it depends on the library alone, not on the layout."""
        return points(self.library.engine)[1]

    def examples(self) -> list[Json]:
        """For the home page: three questions with good answers, one of them LaTeX."""
        found: list[Json] = [{"q": words} for words in example_words(self.library, 2)]
        equation = example_equation(self.library)
        if equation is not None:
            latex = equation.expanded.rstrip(" .,;")
            found.append({"q": f"${latex}$", "mathml": self._renderer.mathml(latex, display=True)})
        return found


def encode_json(answer: Json | bytes) -> bytes:
    """An answer as the bytes of a response; lone surrogates are escaped."""
    if isinstance(answer, bytes):
        return answer
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "backslashreplace"
    )
