"""The tools for agents: functions of a `Service` and of arguments, which return typed results.

Nothing here depends on the protocol. Each function bounds what it reads and what it returns, quotes
no more text of a paper than the service allows, and removes control characters from it.
"""

import re
from collections.abc import Iterable
from itertools import islice

from eqemb import __version__
from eqemb.article import Article, Equation
from eqemb.errors import UsageError, quoted
from eqemb.facade.indexed import undelimited
from eqemb.formula.running_text import plain_text, printed_text
from eqemb.search.citations import Citation, equation_bibtex
from eqemb.search.notation import is_sure
from eqemb.search.query import parse_query
from eqemb.search.results import (
    Answer,
    Hit,
    arxiv_url,
    place_in_file,
    reading_lines,
)
from eqemb.search.snippets import around_equation, around_word
from eqemb.server.agents.results import (
    CollectionEntry,
    EquationEntry,
    EquationHit,
    EquationsOfArticle,
    EvidenceWord,
    Hits,
    LibraryInfo,
    Origin,
    Origins,
    SymbolEntry,
    WholeEquation,
    WordsOfEquation,
)
from eqemb.server.queries import MissingError, check_query
from eqemb.server.service import Service
from eqemb.server.snippets import WORDS_SHOWN
from eqemb.sources.names import arxiv_year

#: Most hits of a search, words of a description, equations of an article in one answer.
MOST_HITS, MOST_WORDS, MOST_EQUATIONS = 20, 20, 50
#: Hits that are looked through for different papers.
_MOST_RANKED = 200
#: Most characters of LaTeX in a list and alone, of a title, of text in a list and alone.
_LISTED_LATEX, _WHOLE_LATEX, _TITLE, _SNIPPET, _CONTEXT = 600, 6_000, 200, 500, 2_000
#: Words on each side of an equation in a list, and alone.
_SNIPPET_REACH, _CONTEXT_REACH = 25, 60
_MOST_MENTIONS, _MOST_SAME, _MOST_SIMILAR, _MOST_COLLECTIONS = 5, 20, 10, 30
_MOST_NOTES = 5
#: Symbols of an equation, other meanings of one, and characters of a meaning.
_MOST_SYMBOLS, _MOST_MEANINGS, _MEANING = 30, 2, 120
#: Papers whose titles an error lists.
_MOST_TITLES = 5
#: Less like an equation than this, none is listed as its origin.
_LEAST_LIKENESS = 0.3
#: Control characters, and those that change the direction or hide text.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)


# ------------------------------------------------------------ tools


def search_equations(
    service: Service, query: str, k: int, *, one_per_article: bool, filters: dict[str, object]
) -> Hits:
    """Find equations for words, LaTeX or both."""
    _check(query, filters)
    count = _MOST_RANKED if one_per_article else k
    answer = service.library.search(query, count, **filters)  # type: ignore[arg-type]
    return _hits(service, answer, k, one_per_article=one_per_article)


def similar_equations(
    service: Service, equation: str, k: int, *, one_per_article: bool, filters: dict[str, object]
) -> Hits:
    """Find equations that look like an equation, or are about the same."""
    _check(equation, filters)
    count = _MOST_RANKED if one_per_article else k
    answer = service.library.similar(equation, count, **filters)  # type: ignore[arg-type]
    return _hits(service, answer, k, one_per_article=one_per_article)


def describe_equation(service: Service, equation: str, k: int) -> WordsOfEquation:
    """Return the words that describe an equation."""
    found = service.library.describe(check_query(equation), k)
    named = found.equation
    latex = "".join(parse_query(equation).formulas) if named is None else named.expanded
    return WordsOfEquation(
        latex=_clip(latex, _LISTED_LATEX),
        id="" if named is None else named.id,
        words=[
            EvidenceWord(
                word=each.word,
                score=round(each.score, 3),
                sentence=_sentence(service, each.sentence or "", each.word),
                article=each.article or "",
            )
            for each in found
        ],
        similar=found.similar[:_MOST_SIMILAR],
        notes=_notes([*reading_lines(found.reading), *found.notes]),
    )


def get_equation(service: Service, name: str) -> WholeEquation:
    """Return an equation by its name."""
    equation = _named(service, name)
    library = service.library
    article = library.article(equation.article)
    family = library.engine.hits.family(library.engine.row(equation))
    entry = _entry(equation, _WHOLE_LATEX)
    mentions = equation.references if service.snippets == "full" else []
    paper = library.records.paper(equation.article)
    cited = Citation.of(equation.article, _clip(article.title, _TITLE), paper)
    return WholeEquation(
        **dict(entry),
        label=equation.label or "",
        source=_source(equation),
        article=equation.article,
        title=_clip(article.title, _TITLE),
        collection=article.collection,
        url=arxiv_url(equation.article) or "",
        context=_context(service, equation, _CONTEXT_REACH, _CONTEXT),
        mentions=[_clip(printed_text(text), _SNIPPET) for text in mentions[:_MOST_MENTIONS]],
        symbols=_symbols(service, equation),
        citation=equation_bibtex(equation, cited),
        same=family[:_MOST_SAME],
        papers=len({equation.article, *(other.rpartition("#")[0] for other in family)}),
        place=place_in_file(equation),
        previous=_neighbour(article, equation.ordinal - 1),
        next=_neighbour(article, equation.ordinal + 1),
    )


def get_article_equations(
    service: Service, article: str, start: int, count: int, *, numbered: bool
) -> EquationsOfArticle:
    """Return the equations of an article, in order."""
    found = _article(service, article)
    wanted = (
        equation for equation in found.equations[start - 1 :] if equation.numbered or not numbered
    )
    some = list(islice(wanted, count + 1))
    return EquationsOfArticle(
        article=found.name,
        title=_clip(found.title, _TITLE),
        collection=found.collection,
        url=arxiv_url(found.name) or "",
        total=len(found.equations),
        equations=[_entry(equation) for equation in some[:count]],
        next_start=some[count].ordinal if len(some) > count else None,
    )


def which_paper_has(service: Service, equation: str, k: int) -> Origins:
    """Return the papers that have an equation, or equations like it."""
    check_query(equation)
    library = service.library
    named = library.equation(equation)
    query = library.engine.read_equation(equation)
    same = {library.engine.name(row) for row in library.engine.same_equations(query.layout)}
    answer = library.similar(equation, _MOST_RANKED, by="structure")
    found: dict[str, Origin] = {}
    own = [] if named is None else [(1.0, named.id)]
    ranked = [(hit.score, name) for hit in answer for name in (hit.equation.id, *hit.family)]
    for score, name in [*own, *((1.0, each) for each in sorted(same)), *ranked]:
        if score < _LEAST_LIKENESS:
            break
        paper = name.rpartition("#")[0]
        if paper not in found:
            found[paper] = _origin(service, name, score, is_same=name in same)
        if len(found) >= _MOST_RANKED:
            break
    kinds = ("same", "nearly the same", "similar")
    papers = sorted(
        found.values(), key=lambda one: (kinds.index(one.match), -one.likeness, one.year or 9999)
    )
    latex = "".join(parse_query(equation).formulas) if named is None else named.expanded
    notes = [*reading_lines(query.reading), *answer.notes]
    return Origins(
        answer=_origin_answer(papers),
        latex=_clip(latex, _LISTED_LATEX),
        papers=papers[:k],
        notes=_notes(notes),
    )


def library_info(service: Service) -> LibraryInfo:
    """Return what the library contains."""
    stats = service.stats
    counts = {
        name: (entry["articles"], entry["equations"])
        for name, entry in stats["collections"].items()
        if name
    }
    order = sorted(counts, key=lambda name: (-counts[name][1], name))
    first = next((name for name, count, _ in service.library.contents() if count), None)
    return LibraryInfo(
        articles=stats["articles"],
        equations=stats["equations"],
        words=stats["words"],
        collections=[
            CollectionEntry(name=name, articles=counts[name][0], equations=counts[name][1])
            for name in order[:_MOST_COLLECTIONS]
        ],
        more_collections=max(0, len(order) - _MOST_COLLECTIONS),
        has_model=stats["model"] is not None,
        quoted=stats["snippets"],
        example="" if first is None else f"{first}#1",
        version=__version__,
        content=stats["content"][:12],
    )


# ------------------------------------------------------------ parts of results


def _hits(service: Service, answer: Answer, k: int, *, one_per_article: bool) -> Hits:
    hits = list(answer)
    if one_per_article:
        hits = list({hit.article: hit for hit in reversed(hits)}.values())
        hits.sort(key=lambda hit: -hit.score)
    spelt = [f"{word}: did you mean {' or '.join(near)}?" for word, near in answer.near.items()]
    return Hits(
        hits=[_hit(service, hit) for hit in hits[:k]],
        unknown=[_clip(word, _TITLE) for word in answer.unknown[:_MOST_NOTES]],
        notes=_notes([*reading_lines(answer.reading), *answer.notes, *spelt]),
    )


def _hit(service: Service, hit: Hit) -> EquationHit:
    return EquationHit(
        **dict(_entry(hit.equation)),
        title=_clip(hit.title, _TITLE),
        context=_context(service, hit.equation, _SNIPPET_REACH, _SNIPPET),
        score=round(hit.score, 3),
        strength=None if hit.strength is None else round(hit.strength, 4),
        level=hit.level,
        papers=hit.papers,
    )


def _entry(equation: Equation, most: int = _LISTED_LATEX) -> EquationEntry:
    return EquationEntry(
        id=equation.id,
        latex=_clip(undelimited(equation.expanded), most),
        number=equation.number or "",
        section=_clip(plain_text(equation.section), _TITLE),
    )


def _source(equation: Equation) -> str:
    """Return the LaTeX as written, if more than labels and spaces differ from the expanded one."""
    if _bare(equation.latex) == _bare(equation.expanded):
        return ""
    return _clip(equation.latex, _WHOLE_LATEX)


def _bare(latex: str) -> str:
    return re.sub(r"\\label\{[^{}]*\}|\s+", "", latex)


def _context(service: Service, equation: Equation, reach: int, most: int) -> str:
    reach = min(reach, WORDS_SHOWN[service.snippets])
    return _clip(printed_text(around_equation(equation.context, reach)), most)


def _sentence(service: Service, sentence: str, word: str) -> str:
    if service.snippets != "full":
        return ""
    return _clip(printed_text(around_word(sentence, word, _SNIPPET_REACH)), _SNIPPET)


def _origin(service: Service, name: str, likeness: float, *, is_same: bool) -> Origin:
    equation = _named(service, name)
    title = service.library.article(equation.article).title
    return Origin(
        **dict(_entry(equation)),
        article=equation.article,
        title=_clip(title, _TITLE),
        year=arxiv_year(equation.article) or None,
        match="same" if is_same else "nearly the same" if likeness >= 0.9 else "similar",
        likeness=round(min(1.0, likeness), 3),
    )


def _origin_answer(papers: list[Origin]) -> str:
    if not papers:
        return "No paper of this library has this equation or a similar one."
    for kind, verb in (("same", "this equation"), ("nearly the same", "nearly this equation")):
        having = [paper for paper in papers if paper.match == kind]
        if having:
            first = f"{having[0].article} (equation {having[0].id})"
            if len(having) == 1:
                return f"One paper has {verb}: {first}."
            return f"{len(having)} papers have {verb}, such as {first}."
    return f"No paper has exactly this equation; the most similar one is {papers[0].id}."


def _symbols(service: Service, equation: Equation) -> list[SymbolEntry]:
    if not WORDS_SHOWN[service.snippets]:
        return []
    return [
        SymbolEntry(
            symbol=_clip(meaning.symbol.latex, _MEANING),
            meaning=_clip(printed_text(meaning.definition.text), _MEANING)
            if meaning.definition
            else "",
            unsure=meaning.definition is not None and not is_sure(meaning),
            elsewhere=[
                _clip(printed_text(other.text), _MEANING)
                for other in meaning.conflicts[:_MOST_MEANINGS]
            ],
        )
        for meaning in islice(service.library.symbols(equation), _MOST_SYMBOLS)
    ]


def _neighbour(article: Article, ordinal: int) -> str:
    return f"{article.name}#{ordinal}" if 1 <= ordinal <= len(article.equations) else ""


# ------------------------------------------------------------ names and limits


def _check(query: str, filters: dict[str, object]) -> None:
    """Refuse queries that are too long or too deep."""
    pieces = filters.get("has", ())
    for latex in (query, *(pieces if isinstance(pieces, list) else ())):
        check_query(latex)


def _named(service: Service, name: str) -> Equation:
    found = service.library.equation(check_query(name))
    if found is None:
        raise MissingError(
            f"{quoted(name)} is not the id of an equation: ids look like ARTICLE#4; for LaTeX, ask"
            " similar_equations or which_paper_has"
        )
    return found


def _article(service: Service, name: str) -> Article:
    """Return an article by its name, or by words of its title if only one has them."""
    library = service.library
    wanted = check_query(name).strip().lower()
    try:
        return library.article(name.strip().partition("#")[0])
    except UsageError as error:
        words = wanted.split()
        titled = [
            (other, title)
            for other, _, title in library.contents()
            if all(word in f"{other} {title}".lower() for word in words)
        ]
        if len(titled) == 1:
            return library.article(titled[0][0])
        if not titled:
            raise MissingError(str(error)) from None
    listed = "; ".join(f"{other} ({_clip(title, 60)})" for other, title in titled[:_MOST_TITLES])
    raise MissingError(f"{len(titled)} articles have these words, such as {listed}: give a name")


def _notes(notes: Iterable[str]) -> list[str]:
    return [_clip(note, _SNIPPET) for note in dict.fromkeys(notes)][:_MOST_NOTES]


def _clip(text: str, most: int) -> str:
    """Remove what cannot be seen from a text, and cut it to a length."""
    text = _INVISIBLE.sub(" ", text).strip()
    return text if len(text) <= most else text[: most - 2].rstrip() + " …"
