"""What a library answers, as dictionaries: the same for the API and for its pages.

Nothing here knows of HTTP. No answer holds a path of this machine, and none shows more of a paper
than `snippets` allows. A thing that is not there is a `MissingError`.
"""

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb import __version__
from eqemb.article import Article, Equation, read_tokens
from eqemb.corpus.vocabulary import STOP_WORDS
from eqemb.errors import UnknownKeyError, UsageError
from eqemb.facade.equation_map import has_map, map_place
from eqemb.facade.library import Library
from eqemb.formula import layout
from eqemb.formula.tree import Node, children
from eqemb.index.postings import load_array
from eqemb.search.names import looks_like_name
from eqemb.search.query import Ranking, parse_query, reads_as_words
from eqemb.search.results import Hit
from eqemb.server.views import article_text as reading
from eqemb.server.views.snippets import (
    REACH,
    Piece,
    around,
    in_unicode,
    marker,
    mathml,
    near,
    pieces,
    shown,
)
from eqemb.sources.names import arxiv_id

#: Letters of a query, brackets or roots within each other, and hits on all pages together.
LONGEST, DEEPEST, FURTHEST = 2_000, 40, 1_000
#: Pieces of LaTeX that an equation may be asked to have.
MOST_PIECES = 5
#: Words around an equation, where the library has no model that says how many.
WINDOW = 16

Json = dict[str, Any]

#: "loss + penalty" is words, "a + b" and "\\log x" are LaTeX.
_WORD, _SCRIPT = re.compile(r"(?<![\\a-zA-Z])[a-zA-Z]{4,}"), re.compile(r"[\\^_{}]")
_OPEN, _CLOSE = frozenset("{(["), frozenset("})]")


class MissingError(UsageError):
    """There is nothing by this name."""


class Page(NamedTuple):
    """Which part of an answer is wanted."""

    number: int = 1
    size: int = 10

    @property
    def last(self) -> int:
        """How many are needed in all."""
        return self.number * self.size


def checked(query: str) -> str:
    """A query that may be asked: not empty, not too long, not too deep."""
    if not query.strip():
        raise UsageError("there is nothing to look for: give words, or LaTeX between dollars")
    if len(query) > LONGEST:
        raise UsageError(f"a query of {len(query):,} letters: {LONGEST:,} are the most")
    depth = deepest = 0
    for char in query:
        depth = max(0, depth + (char in _OPEN) - (char in _CLOSE))
        deepest = max(deepest, depth)
    if deepest > DEEPEST:
        raise UsageError(f"brackets {deepest} deep: {DEEPEST} are the most")
    # much nests without brackets: roots, \left, \over; a % hides a formula from the whole alone
    for latex in (query, *parse_query(query).formulas):
        shape = layout(latex)
        is_cut = any(problem.cause == "nested too deep" for problem in shape.problems)
        if is_cut or _depth(shape.root) > DEEPEST:
            raise UsageError(f"LaTeX that nests too deep: {DEEPEST} levels are the most")
    return query


def _depth(root: Node | None) -> int:
    """How deep a tree nests; neighbours, and the cells of a table, lie beside each other."""
    deepest, waiting = 0, [(root, 0)] if root is not None else []
    while waiting:
        node, depth = waiting.pop()
        deepest = max(deepest, depth)
        waiting += [(child, depth + (edge not in "ne")) for edge, child in children(node)]
    return deepest


def formula_alone(query: str) -> str | None:
    """The LaTeX of a query that is one formula and no words, with dollars or without."""
    text = query.strip()
    if looks_like_name(text):
        return None
    question = parse_query(text)
    if "$" not in text:
        in_words = _WORD.search(text) and not _SCRIPT.search(text)
        return None if in_words or reads_as_words(text) else text
    alone = len(question.formulas) == 1 and not (question.words or question.excluded)
    return question.formulas[0] if alone else None


class Desk:
    """Answers about one library, for one thread."""

    def __init__(self, library: Library, snippets: str = "full") -> None:
        if snippets not in REACH:
            raise UsageError(f"snippets={snippets!r}: there are {', '.join(REACH)}")
        self.library, self.snippets = library, snippets
        self._reach, self._is_full = REACH[snippets], snippets == "full"

    # ------------------------------------------------------------ equations

    def search(self, query: str, page: Page, *, by: Ranking = "all", **limits: Any) -> Json:
        """Equations for a query; one that is a formula alone is answered as by `similar`."""
        self._check(query, page, limits)
        alone = formula_alone(query)
        if alone is not None:
            return self.similar(alone, page, by=by, **limits) | self._read(query)
        answer = self.library.search(query, page.last + 1, by=by, **limits)
        words = parse_query(query).words
        return self._answer(answer, page, words) | {"kind": "words"} | self._read(query)

    def similar(self, equation: str, page: Page, *, by: Ranking = "all", **limits: Any) -> Json:
        """Equations like one that is named, or given as LaTeX."""
        self._check(equation, page, limits)
        answer = self.library.similar(equation, page.last + 1, by=by, **limits)
        about: Json = {"kind": "equation", "asked": self._asked(equation)}
        return self._answer(answer, page) | about

    @staticmethod
    def _check(query: str, page: Page, limits: Mapping[str, Any]) -> None:
        """Refuse what asks for too much, before anything is looked for."""
        for latex in (query, *limits.get("has", ())):
            checked(latex)
        if page.last > FURTHEST:
            raise UsageError(f"hit {page.last:,} was asked for: {FURTHEST:,} are the most")

    def _answer(self, answer: Any, page: Page, words: Iterable[str] = ()) -> Json:
        hits = answer.hits[page.last - page.size : page.last]
        return {
            "page": page.number,
            "size": page.size,
            "more": len(answer.hits) > page.last and page.last + page.size <= FURTHEST,
            "hits": [self.hit(hit, words) for hit in hits],
            "unknown": answer.unknown,
            "near": answer.near,
            "notes": answer.notes,
        }

    def _read(self, query: str) -> Json:
        """How a query was understood."""
        read = self.render(query)
        words = [each["word"] for each in read["words"]]
        return {"query": query, "words": words, "formulas": read["formulas"]}

    def hit(self, hit: Hit, words: Iterable[str] = ()) -> Json:
        """A hit, with the words of the query marked in its context."""
        text = around(hit.equation.context, self._reach)
        return {
            "score": round(hit.score, 6),
            "parts": {part: round(value, 6) for part, value in hit.parts.items()},
            **self._equation(hit.equation, hit.title),
            "context": pieces(text, marker(words)),
            "family": hit.family[:100],
            "papers": hit.papers,
        }

    def _equation(self, equation: Equation, title: str) -> Json:
        """What can be told of an equation wherever it is shown."""
        return {
            "id": equation.id,
            "ordinal": equation.ordinal,
            "number": equation.number,
            "label": equation.label,
            "latex": equation.latex,
            "text": in_unicode(equation.expanded),
            "mathml": mathml(equation.expanded, display=True),
            "article": equation.article,
            "title": title,
            "section": equation.section,
            "url": _url(equation.article),
            "reference": _reference(equation, title),
        }

    def _asked(self, text: str) -> Json:
        """The equation that was asked for."""
        found = self.library.equation(text)
        if found is not None:
            return self._equation(found, self.library.article(found.article).title)
        shape = layout(text)  # what people ask is not kept, as what papers say is
        return {"latex": text, "text": shape.to_text(), "mathml": shown(shape.to_mathml())}

    def equation(self, name: str) -> Json:
        """One equation with all that is known of it."""
        try:
            found = self.library.equation(checked(name))
        except UsageError as error:
            raise MissingError(str(error)) from None
        if found is None:
            raise MissingError(f"{name!r} names no equation: write ARTICLE#4")
        article = self.library.article(found.article)
        questions = self.library.engine
        kind = int(questions.types[questions.row(found)])
        family = questions.family(int(questions.structure.families[kind]), excluded=found.id)
        around_it = self._windows(article).words.get(found.ordinal, [])
        references = found.references[:20] if self._is_full else []
        return self._equation(found, article.title) | {
            "context": pieces(around(found.context, self._reach)),
            "references": [pieces(text) for text in references],
            "words": around_it if self._is_full else [],
            "family": family[:100],
            "papers": len({found.article, *(name.rpartition("#")[0] for name in family)}),
            "of": len(article.equations),
        }

    # ------------------------------------------------------------ words

    def describe(self, equation: str, count: int = 10) -> Json:
        """The words that say best what an equation is about."""
        checked(equation)
        found = self.library.describe(equation, count)
        return {
            "asked": self._asked(equation),
            "words": [
                {
                    "word": said.word,
                    "score": round(said.score, 6),
                    "sentence": self._sentence(said.sentence, said.word),
                    "article": said.article,
                }
                for said in found.words
            ],
            "kin": found.similar[:20],
            "notes": found.notes,
        }

    def _sentence(self, sentence: str | None, word: str) -> list[Piece]:
        if sentence is None or not self._is_full:
            return []
        return pieces(near(sentence, word, self._reach), marker([word]))

    def words(self, word: str, count: int = 10) -> Json:
        """The words nearest to a word."""
        try:
            return self.library.words(checked(word).strip(), count).to_json()
        except UnknownKeyError as error:
            raise MissingError(str(error)) from None

    def suggest(self, start: str, count: int = 8) -> Json:
        """Words of the library that begin so, those near most equations first."""
        return {"words": self._words.beginning(start.lower(), count)}

    def why(self, query: str, equation: str) -> Json:
        """Why an equation answers a query."""
        alone = formula_alone(checked(query))
        found = self.library.why(query if alone is None else alone, checked(equation)).to_json()
        for side in (found["query"], found["other"]):
            if side["mathml"] is not None:
                side["mathml"] = shown(side["mathml"])
        return found

    def render(self, query: str) -> Json:
        """A query taken apart, its formulas set: for a preview while it is typed."""
        question, alone = parse_query(query), None
        if query.strip():
            alone = formula_alone(checked(query))
        formulas = [alone] if alone is not None else question.formulas
        text = self.library.engine.text
        return {
            "words": [
                {"word": word, "known": bool(text.spellings((word,)))}
                for word in dict.fromkeys(question.words if alone is None else ())
            ],
            "formulas": [
                {
                    "latex": latex,
                    "mathml": shown(shape.to_mathml()),
                    "problems": [
                        " ".join(part for part in problem if part) for problem in shape.problems
                    ],
                }
                for latex, shape in zip(formulas, map(layout, formulas), strict=True)
            ],
            "open": query.count("$") % 2 == 1,
        }

    # ------------------------------------------------------------ articles

    def articles(self, page: Page, *, words: str = "", collection: str | None = None) -> Json:
        """Articles in order; `words` stand in their titles or names."""
        query = (
            "SELECT name, collection, title,"
            " (SELECT COUNT(*) FROM equations e WHERE e.article = s.id)"
            " FROM sources s JOIN articles a ON a.id = s.id ORDER BY s.id"
        )
        wanted = words.lower().split()
        listed = [
            {"name": name, "collection": group, "title": title, "equations": count}
            for name, group, title, count in self.library.records.rows(query)
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

    def article(self, name: str, part: int | None = None, equation: int | None = None) -> Json:
        """An article as it is read; of a long one the part that is named, or has an equation."""
        try:
            article = self.library.article(checked(name))
        except UsageError as error:
            raise MissingError(str(error)) from None
        if equation is not None and not 1 <= equation <= len(article.equations):
            raise MissingError(f"{article.name} has {len(article.equations)} equations")
        windows = self._windows(article)
        parts = reading.parts_of(list(reading.paragraphs(article, windows.near)))
        if part is None:
            part = 1 if equation is None else reading.part_with(parts, equation)
        if not 1 <= part <= len(parts):
            raise MissingError(f"{article.name} has {len(parts)} parts")

        def shown_equation(found: Equation) -> Json:
            words = windows.words.get(found.ordinal, []) if self._is_full else []
            made = self._equation(found, article.title)
            return {"kind": "equation", "equation": made, "words": words}

        reach = None if self._is_full else self._reach
        return {
            "name": article.name,
            "title": article.title,
            "collection": article.collection,
            "url": _url(article.name),
            "part": part,
            "parts": len(parts),
            "equations": len(article.equations),
            "window": self._window,
            "blocks": list(reading.blocks(parts[part - 1], article, shown_equation, reach)),
        }

    def _windows(self, article: Article) -> reading.Windows:
        return reading.windows(article, self._window, self._is_known)

    @cached_property
    def _window(self) -> int:
        model = self.library.model
        settings: Json = {} if model is None else model.config.get("settings", {})
        return int(settings.get("equation_window", WINDOW))

    def _is_known(self, word: str) -> bool:
        """Whether the model learns from a word; without one, whether it says anything."""
        model = self.library.model
        if model is None or "words" not in model.keys:
            return word not in STOP_WORDS and len(word) > 1
        return word in model.view("words").key_to_index

    # ------------------------------------------------------------ the library itself

    @property
    def stats(self) -> Json:
        """What there is: counts, collections, the model, and whether there is a map by now."""
        return self._stats | {"map": has_map(self.library.generation)}

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

    def _model(self, told: Json) -> Json | None:
        """What the model has, and how good it is where that was measured."""
        made = self.library.model
        if made is None:
            return None
        counts = {kind: len(made.keys.get(kind, ())) for kind in ("words", "units")}
        return counts | {name: told.get(name) for name in ("validation", "chance")}

    def map(self) -> bytes:
        """The map of the equations: JSON that is served as it is."""
        if not has_map(self.library.generation):
            raise MissingError("this library has no map: `eqemb map` makes one")
        return map_place(self.library.generation).read_bytes()

    def on_map(self, query: str, count: int = 200) -> Json:
        """The points of the map that answer a query, best first; `scores` are of the best's."""
        checked(query)
        alone = formula_alone(query)
        library, questions = self.library, self.library.engine
        found = library.search(query, count) if alone is None else library.similar(alone, count)
        best: dict[int, float] = {}
        for hit in found.hits:
            best.setdefault(int(questions.types[questions.row(hit.equation)]), hit.score)
        most = max([*best.values(), 1e-9])
        scores = [round(score / most, 3) for score in best.values()]
        return {"query": query, "points": list(best), "scores": scores}

    @property
    def _words(self) -> "KnownWords":
        index = self.library.generation / "index"
        return known_words(index, (index / "words.txt").stat().st_mtime_ns)

    def examples(self) -> Json:
        """Words to begin with, and an equation that several papers have."""
        titles = self.library.records.rows("SELECT title FROM articles")
        words = (word.lower() for (title,) in titles for word in set(read_tokens(title or "")[0]))
        telling = self._words.telling(Counter(words), 12)
        return {"words": telling, "equation": self._common()}

    def _common(self) -> Json | None:
        """A readable equation of the family that stands in most places."""
        questions = self.library.engine
        families = questions.structure.families[questions.types]
        counts = np.bincount(families) if len(families) else np.zeros(0, np.int64)
        for family in np.argsort(-counts, kind="stable")[:200].tolist():
            number = int(np.flatnonzero(families == family)[0])
            equation, title = questions.equation(number)
            if 10 <= len(layout(equation.expanded).nodes()) <= 30:
                return self._equation(equation, title)
        return None


# ------------------------------------------------------------ words that are known


class KnownWords:
    """The words of a library in order, with how many equations each is near."""

    def __init__(self, index: Path) -> None:
        words = (index / "words.txt").read_text("utf-8").split("\n")
        stems, pointers = load_array(index, "stems"), load_array(index, "wording.pointers")
        counts = np.diff(pointers)[stems] if len(stems) else np.zeros(0, np.int64)
        said = [
            (word, int(count), int(root))
            for word, count, root in zip(words, counts.tolist(), stems.tolist(), strict=False)
            if count and len(word) > 2 and word[0].isalpha() and word not in STOP_WORDS
        ]
        said.sort()
        self._words = [word for word, _, _ in said]
        self._counts: NDArray[np.int64] = np.array([count for _, count, _ in said], np.int64)
        self._stems = [root for _, _, root in said]

    def beginning(self, start: str, count: int) -> list[str]:
        """Words that begin so, those near most equations first, one of each stem."""
        low, high = (bisect_left(self._words, end) for end in (start, start + "\U0010ffff"))
        order = low + np.argsort(-self._counts[low:high], kind="stable")
        return self._apart(order.tolist(), count)

    def telling(self, titles: Mapping[str, int], count: int) -> list[str]:
        """Words of titles, by how many have them and how many equations they are near."""
        worth = [
            titles.get(word, 0) * float(near) if _PLAIN.fullmatch(word) else 0.0
            for word, near in zip(self._words, self._counts, strict=True)
        ]
        order = np.argsort(-np.array(worth), kind="stable")
        return self._apart([at for at in order.tolist() if worth[at]], count)

    def _apart(self, order: list[int], count: int) -> list[str]:
        chosen: dict[int, str] = {}
        for at in order:
            chosen.setdefault(self._stems[at], self._words[at])
            if len(chosen) == count:
                break
        return list(chosen.values())


_PLAIN = re.compile("[a-z]{6,}")


@lru_cache(maxsize=2)
def known_words(index: Path, _changed: int) -> KnownWords:
    """Read once for all threads."""
    return KnownWords(index)


# ------------------------------------------------------------ references


def _url(article: str) -> str | None:
    """Where arXiv has the paper, if its name is an arXiv id."""
    found, version = arxiv_id(article)
    return f"https://arxiv.org/abs/{found}{version}" if found else None


def _reference(equation: Equation, title: str) -> str:
    """An equation in the manner of BibTeX."""
    found, version = arxiv_id(equation.article)
    which = f"({equation.number})" if equation.number else f"no. {equation.ordinal}"
    lines = {
        "title": re.sub(r"[{}\\]", "", title) or equation.article,
        "note": f"Equation {which}",
        **({"eprint": found + version, "archivePrefix": "arXiv"} if found else {}),
    }
    body = ",\n".join(f"  {name} = {{{value}}}" for name, value in lines.items())
    key = re.sub(r"[^\w.:/-]", "-", f"{equation.article}-{equation.ordinal}")
    return f"@misc{{{key},\n{body}\n}}"


def encoded(answer: Json | bytes) -> bytes:
    """An answer as it goes over the wire."""
    if isinstance(answer, bytes):
        return answer
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "backslashreplace"
    )
