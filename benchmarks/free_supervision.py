"""Retrieval tests whose answers need no judge: titles, the same concept in two sources, and more.

    python benchmarks/free_supervision.py LIBRARY [--half dev|test] [--task pairs ...]
        [--queries 1000] [--encoder MODEL] [-o FILE]

*titles*: the title of a page (at most MAX_EQUATIONS equations) is the query, and its equations are
relevant. The title's own field is left out of the index, so the text has to answer.
*pairs*: pages or sections of two sources that have the same title. An equation of one is the query,
as LaTeX; the equations of the others are relevant. The query's document is left out: its equations
are not ranked, and its text gives no words. Vectors of a model were trained on it, though.
*labels*, *references*: as `evaluation.tasks` defines them, each without the field that has the
answer.

Rows of a display count once. Queries are halved by a hash of their document, pairs by one of their
concept; choose settings on `dev` and report `test`. Errors and intervals are by document (concept).
"""

import argparse
import copy
import hashlib
import re
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqemb.article import read_tokens
from eqemb.corpus.corpus import Corpus
from eqemb.corpus.split import training_stream
from eqemb.corpus.vocabulary import STOP_WORDS
from eqemb.evaluation import heldout, metrics, tasks
from eqemb.evaluation.encoder_rankers import LibraryEncoder
from eqemb.evaluation.rankers import (
    EQUATION_QUERY,
    SEARCH,
    SEARCH_PARTS,
    WITH_ENCODER,
    WORD_QUERY,
    Bm25,
    Query,
    Ranker,
    Scores,
    SearchRanker,
    UnitOverlap,
    equation_query,
    word_query,
)
from eqemb.evaluation.retrieval import EVERY_WORD, index_fields
from eqemb.evaluation.tasks import Displays, Item
from eqemb.facade.library import Library
from eqemb.formula import layout
from eqemb.index.stemming import stem
from eqemb.index.structure import StructureMatches
from eqemb.index.text import FIELDS
from eqemb.models import workspace
from eqemb.search.engine import Search
from eqemb.search.scoring import TOPIC_TYPES, TOPIC_WORDS
from eqemb.search.typed_equation import EquationQuery
from eqemb.storage.atomic import to_json, write_atomically

#: Larger pages and sections are about more than their title says.
MAX_EQUATIONS = 30
#: Equations of a page or section that are queries, and symbols that each needs.
QUERIES_EACH, MIN_SYMBOLS = 2, 6
#: A title that more documents of one source have is a heading, such as "exercises".
MAX_DOCUMENTS, MAX_SOURCES = 3, 8
#: Words that do not make two titles different.
UNIMPORTANT = STOP_WORDS | set("proof proofs derivation definition introduction overview".split())
TASKS = ("titles", "pairs", "labels", "references")
#: Each task with the fields of the index that would give the answer away.
LEFT_OUT = {"titles": ("title",), "labels": ("label",), "references": ("references",), "pairs": ()}
_ASIDE = re.compile(r"\([^)]*\)|\$[^$]*\$")
_NAME_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_NUMBERED = re.compile(r"^\w*\d\w*-")  # 54A05-ClosedSet
_SPACES = re.compile(r"[-\u2010-\u2015_/]")


# ------------------------------------------------------------ queries


def half_of(text: str) -> str:
    """Return the half that a document or a concept belongs to."""
    return ("dev", "test")[hashlib.sha256(text.encode()).digest()[0] % 2]


def concept(title: str) -> str:
    """Return the stems of a title that make it what it is."""
    words = read_tokens(_SPACES.sub(" ", _ASIDE.sub(" ", title)))[0]
    return " ".join(
        stem(word.lower()) for word in words if len(word) > 1 and word.lower() not in UNIMPORTANT
    )


def page_title(name: str, title: str) -> str:
    """Return the title of a page or, where it has none, the words of its file's name."""
    return title or " ".join(_NAME_WORD.findall(_NUMBERED.sub("", name.rsplit("/", 1)[-1])))


def title_items(library: Library, corpus: Corpus) -> Iterator[tuple[str, Item]]:
    """Yield the titles of pages, with the equations of the page."""
    row = {name: at for at, name in enumerate(corpus.equation_names)}
    for own, name in enumerate(corpus.articles):
        article = library.article(name)
        rows = [row[each.id] for each in article.equations if each.id in row]
        title = page_title(name, article.title)
        if 0 < len(rows) <= MAX_EQUATIONS and len(concept(title).split()) > 1:
            yield name, Item(word_query(_ASIDE.sub(" ", title)), np.array(rows), own)


def pair_items(library: Library, corpus: Corpus, by: str) -> Iterator[tuple[str, Item]]:
    """Yield equations of pages and sections whose title another source has too."""
    row = {name: at for at, name in enumerate(corpus.equation_names)}
    latex = library.records.equation_latex()
    found: dict[str, dict[int, dict[int, None]]] = defaultdict(dict)
    pages: Counter[str] = Counter()  # sources in which a page has the title
    for own, name in enumerate(corpus.articles):
        article = library.article(name)
        parts: dict[str, list[int]] = defaultdict(list)
        for each in article.equations:
            if each.id in row:
                parts[each.section].append(row[each.id])
        if len(article.equations) <= MAX_EQUATIONS:
            title = page_title(name, article.title)
            pages[concept(title)] += 1
            parts[title] = [at for rows in parts.values() for at in rows]
        for title, rows in parts.items():
            if 0 < len(rows) <= MAX_EQUATIONS:
                found[concept(title)].setdefault(own, {}).update(dict.fromkeys(rows))
    for what, having in sorted(found.items()):
        sources = Counter(_source(corpus.articles[own], by) for own in having)
        is_heading = sources.most_common(1)[0][1] > MAX_DOCUMENTS or len(sources) > MAX_SOURCES
        is_vague = " " not in what and pages[what] < 2
        if not what or len(sources) < 2 or is_heading or is_vague:
            continue
        for own, members in having.items():
            home = _source(corpus.articles[own], by)
            others = [
                at
                for other, more in having.items()
                if _source(corpus.articles[other], by) != home
                for at in more
            ]
            asked = [
                at for at in members if _symbols(latex[corpus.equation_names[at]]) >= MIN_SYMBOLS
            ]
            for at in asked[:QUERIES_EACH]:
                query = equation_query(latex[corpus.equation_names[at]], at)
                yield what, Item(query, np.array(sorted(others)), own, elsewhere=True)


def _source(name: str, by: str) -> str:
    """Return where a document is from: itself, or the first word of its collection."""
    return name if by == "article" else re.split(r"[-/]", name, maxsplit=1)[0]


def _symbols(latex: str) -> int:
    return len(layout(latex).nodes())


def queries(task: str, library: Library, corpus: Corpus, by: str) -> list[tuple[str, Item]]:
    """Return the queries of a task, each with what it is halved by."""
    if task == "pairs":
        made = list(pair_items(library, corpus, by))
    elif task == "titles":
        made = list(title_items(library, corpus))
    else:
        every = tasks.labels if task == "labels" else tasks.references
        made = [(corpus.articles[item.article], item) for item in every(library, corpus)]
    return made


def sampled(items: list[tuple[str, Item]], count: int) -> list[tuple[str, Item]]:
    """Return all items or, if there are too many, those with the smallest hashes."""
    key = [hashlib.sha256(f"{what}\0{item.query.text}".encode()).digest() for what, item in items]
    order = sorted(range(len(items)), key=lambda at: key[at])
    return [items[at] for at in sorted(order[:count])]


# ------------------------------------------------------------ systems


class WithoutDocument(Search):
    """A search that sees no equation and no word of one document."""

    def __init__(self, search: Search, absent: int | None = None) -> None:
        self.__dict__.update(search.__dict__)
        live = self.segments.live
        self.present = live if absent is None else live & (self.articles != absent)

    def topic(
        self,
        query: EquationQuery,
        found: StructureMatches | None = None,
        count: int = TOPIC_WORDS,
    ) -> dict[str, float]:
        """Return the words of similar equations of other documents."""
        found = self.similar_types(query.layout, self.present, TOPIC_TYPES)
        return super().topic(query, found, count)

    def equations_of_type(self, kind: int) -> list[int]:
        """Return the rows of a type in other documents."""
        return [row for row in super().equations_of_type(kind) if self.present[row]]


class HeldOut:
    """The search, or a part of it, without the document of the query."""

    answers = frozenset({EQUATION_QUERY})

    def __init__(
        self, name: str, search: Search, corpus: Corpus, weights: Mapping[str, float] | None
    ) -> None:
        self.name, self._search, self._corpus, self._weights = name, search, corpus, weights
        rows = search.rows()
        self._rows = np.array([rows[equation] for equation in corpus.equation_names], np.int64)

    def scores(self, query: Query) -> Scores:
        """Return the scores of every equation, the query's own document included as 0."""
        own = int(self._search.articles[self._rows[query.occurrence or 0]])
        search = WithoutDocument(self._search, own)
        asked = EquationQuery(layout(query.text), None)
        if self._weights is None:
            found = search.similar_types(asked.layout, search.present)
            of_type = np.zeros(len(search.structure))
            types, places = search.segments.copies(search.segments.type_keys[found.types])
            of_type[types] = found.likeness[places]
            total = of_type[search.types]
        else:
            parts = search.weigh_equation(asked, search.present, self._weights)
            total = np.sum(list(parts.values()), axis=0)
        return np.asarray(total, np.float64)[self._rows]


def systems(
    library: Library, corpus: Corpus, search: Search, task: str, encoder: str | None
) -> list[Ranker]:
    """Return the rankers of a task, ours first."""
    found: list[Ranker] = []
    parts = ["words", "meaning"] if search.vectors is not None else ["words"]
    if task == "pairs":
        found.append(HeldOut(SEARCH, search, corpus, search.equation_weights))
        found += [
            HeldOut(SEARCH_PARTS[part], search, corpus, {part: 1.0})
            for part in ("structure", *parts)
        ]
        found += [HeldOut("likeness", search, corpus, None), UnitOverlap(corpus)]
    else:
        found.append(SearchRanker(SEARCH, search, corpus))
        found += [
            SearchRanker(SEARCH_PARTS[part], search, corpus, {WORD_QUERY: {part: 1.0}})
            for part in parts
        ]
        everything = workspace.corpus(library, workspace.CorpusChoice(rules=EVERY_WORD))
        found.append(Bm25(everything.words, training_stream(everything)))
    if encoder is not None:
        rows = search.rows()
        own = np.array([rows[name] for name in corpus.equation_names], np.int64)
        vectors = library.encoder(encoder)
        if task != "pairs":
            found.insert(1, SearchRanker(WITH_ENCODER, search, corpus, encoder=vectors))
        found += [LibraryEncoder(vectors, own, latex=latex) for latex in (False, True)]
    return found


# ------------------------------------------------------------ measures


def measure(
    rankers: Iterable[Ranker],
    asked: list[tuple[str, Item]],
    displays: Displays,
    progress: Callable[[str], object] = print,
) -> dict[str, Any]:
    """Return MRR and recall at 10 of every ranker, and the differences from ours."""
    names = sorted({what for what, _ in asked})
    place = {what: at for at, what in enumerate(names)}
    clusters = np.array([place[what] for what, _ in asked], np.int64)
    lines: dict[str, dict[str, NDArray[np.float64]]] = {}
    nothing = np.zeros(len(displays.of))
    lines["chance"] = _values(displays, asked, (nothing for _ in asked))
    for ranker in rankers:
        start = time.perf_counter()
        lines[ranker.name] = _values(
            displays, asked, (ranker.scores(item.query) for _, item in asked)
        )
        spent = (time.perf_counter() - start) / len(asked)
        progress(f"{ranker.name}: {1000 * spent:.0f} ms a query")
    return {
        "n": len(asked),
        "clusters": len(names),
        "displays": len(displays.starts),
        "systems": {
            name: {key: metrics.mean_and_error(line[key], clusters) for key in ("mrr", "ten")}
            | {
                f"{key}_to_ours": heldout.difference(
                    [(line[key], lines[SEARCH][key], clusters)]
                )._asdict()
                for key in ("mrr", "ten")
            }
            for name, line in lines.items()
        },
    }


def _values(
    displays: Displays, asked: list[tuple[str, Item]], scores: Iterable[Scores]
) -> dict[str, NDArray[np.float64]]:
    """Return the measures of each query."""
    found = [
        tasks.measure(displays, item, each) for (_, item), each in zip(asked, scores, strict=True)
    ]
    return {key: np.array([each[key] for each in found]) for key in ("mrr", "ten")}


def table(task: str, half: str, found: dict[str, Any]) -> str:
    """Return the results of a task as a table."""
    what = "concepts" if task == "pairs" else "documents"
    lines = [
        f"{task}, {half}: {found['n']:,} queries of {found['clusters']:,} {what}",
        "",
        "| system | MRR | recall@10 | MRR - ours | recall@10 - ours |",
        "|---|---|---|---|---|",
    ]
    for name, line in found["systems"].items():
        means = [f"{line[key]['mean']:.3f} ± {line[key]['se'] or 0:.3f}" for key in ("mrr", "ten")]
        gains = [
            ""
            if name == SEARCH
            else f"{line[key]['mean']:+.3f} [{line[key]['low']:+.3f}, {line[key]['high']:+.3f}]"
            for key in ("mrr_to_ours", "ten_to_ours")
        ]
        lines.append("| " + " | ".join([name, *means, *gains]) + " |")
    return "\n".join([*lines, ""])


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("--half", choices=("dev", "test"), default="dev")
    parser.add_argument("--task", choices=TASKS, nargs="+", default=TASKS)
    parser.add_argument("--source", choices=("collection", "article"), default="collection")
    parser.add_argument("--queries", type=int, default=1000, help="at most so many of each task")
    parser.add_argument("--encoder", help="a model's folder, or MODULE:FUNCTION")
    parser.add_argument("-o", "--output", type=Path, help="for .json and .md")
    options = parser.parse_args()
    made: dict[str, Any] = {}
    with Library.open(options.library) as library, tempfile.TemporaryDirectory() as place:
        corpus = workspace.corpus(library)
        displays = Displays.read(library, corpus)
        for task in options.task:
            every = queries(task, library, corpus, options.source)
            mine = [each for each in every if half_of(each[0]) == options.half]
            asked = sampled(mine, options.queries)
            if len({what for what, _ in asked}) < 2:
                print(f"{task}: too few queries in this library\n")
                continue
            search = copy.copy(library.engine)
            if LEFT_OUT[task]:
                fields = [name for name in FIELDS if name not in LEFT_OUT[task]]
                folder = Path(place) / task
                folder.mkdir()
                search.text = index_fields(search.segments, folder, fields)
            rankers = systems(library, corpus, search, task, options.encoder)
            made[task] = measure(rankers, asked, displays, lambda text: print(text, flush=True))
            print(table(task, options.half, made[task]), flush=True)
    if options.output:
        text = [table(task, options.half, found) for task, found in made.items()]
        write_atomically(options.output.with_suffix(".md"), "\n".join(text))
        write_atomically(options.output.with_suffix(".json"), to_json(made))


if __name__ == "__main__":
    main()
