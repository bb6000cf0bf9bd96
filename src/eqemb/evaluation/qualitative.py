"""HTML page with the nearest neighbours of queries in every model: the paper's qualitative tables.

For an equation the page lists the nearest equations and words; for words, the nearest equations. It
uses the paper's pairings of matrices (`ModelNeighbours`). Models are trained with default settings
and cached in FOLDER/models under a hash of everything that determines them, so no model is trained
twice, even after an interruption, and a changed library never gets an outdated model. They are kept
outside the library, which only contains models that its user trained and named.

Queries are read from TOML: `equations` and `words`, lists of strings. An equation is a name
(ARTICLE#4) or LaTeX. Most models have no vector for an equation that is not in the collection, so
it is replaced by the equation that shares most units with it, and the page says so.
"""

import html
import math
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.article import Equation, read_tokens
from eqemb.corpus.corpus import Corpus
from eqemb.corpus.split import VALIDATION, Split
from eqemb.errors import UsageError
from eqemb.evaluation.rankers import UnitOverlap, equation_query
from eqemb.facade.library import Library
from eqemb.formula import layout
from eqemb.formula.html import equation_html, math_frame
from eqemb.library.database import ALL
from eqemb.models import registry, workspace
from eqemb.models.embeddings import Embeddings
from eqemb.storage.marks import HTML_MARK

#: Columns of the page.
MODEL_COLUMNS = (*registry.OURS, *registry.BASELINES)
Near = list[tuple[int, float]]
"""Rows with their cosine or distance, nearest first."""


class Queries(NamedTuple):
    """Queries of a page."""

    equations: tuple[str, ...] = ()
    """Names or LaTeX."""
    words: tuple[str, ...] = ()


def read_queries(path: Path) -> Queries:
    """Read queries from a TOML file."""
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read as TOML: {error}") from None
    for name, values in found.items():
        if name not in Queries._fields:
            raise UsageError(f"{path}: unknown key {name!r}; use `equations` or `words`")
        if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
            raise UsageError(f"{path}: {name} must be a list of strings")
    made = Queries(*(tuple(found.get(name, ())) for name in Queries._fields))
    if not any(made):
        raise UsageError(f"{path} has no queries: give `equations` or `words`, lists of strings")
    return made


# ---------------------------------------------------------------- nearest neighbours


class ModelNeighbours:
    """Nearest neighbours in a trained model, with the paper's pairings of matrices.

    equation -> words       cosine, in the matrices named by `registry.sides`
    equation -> equations   Euclidean distance of alpha_e
    words -> equations      cosine of the mean word vector and the equation, same matrices as above

    Rows of zeros were never trained and are never returned as neighbours.
    """

    def __init__(self, made: Embeddings) -> None:
        self.made = made
        self._other, self._own = registry.sides(made.config["model"])

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Mask of the equations that have a vector."""
        return np.asarray(self._array("alpha", "equations").any(axis=1))

    def words_of(self, equation: int, count: int) -> Near:
        """Return the nearest words of an equation."""
        query = self._array(self._own, "equations")[equation]
        return _by_cosine(query, self._array(self._other, "words"), count)

    def equations_of(self, equation: int, count: int) -> Near:
        """Return the nearest equations of an equation, without itself."""
        vectors = self._array("alpha", "equations")
        distance = np.linalg.norm(vectors - vectors[equation], axis=1)
        distance[~self.known] = np.inf
        distance[equation] = np.inf
        return _first(distance, distance, count) if self.known[equation] else []

    def equations_for(self, words: list[int], count: int) -> Near:
        """Return the nearest equations of words."""
        query = self._array(self._other, "words")[words].mean(axis=0)
        return _by_cosine(query, self._array(self._own, "equations"), count)

    def _array(self, side: str, kind: str) -> NDArray[np.float64]:
        return self.made.arrays[f"{side}_{kind}"].astype(np.float64)


def _by_cosine(query: NDArray[np.float64], vectors: NDArray[np.float64], count: int) -> Near:
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
    cosine = np.divide(vectors @ query, lengths, where=lengths > 0, out=np.zeros(len(vectors)))
    return _first(np.where(lengths > 0, -cosine, np.inf), cosine, count)


def _first(order: NDArray[np.float64], values: NDArray[np.float64], count: int) -> Near:
    """Return the `count` smallest finite values of `order`, ties by row."""
    best = np.argsort(order, kind="stable")[:count]
    return [(int(row), float(values[row])) for row in best if np.isfinite(order[row])]


# ---------------------------------------------------------------- models


class Trained(NamedTuple):
    """Trained models by title, and reasons why others are missing."""

    models: dict[str, ModelNeighbours]
    missing: dict[str, str]
    split: Split
    """The held-out words, the same for all models."""


def train(
    library: Library,
    folder: Path,
    corpus: Corpus,
    collection: str = ALL,
    *,
    names: Iterable[str] = MODEL_COLUMNS,
    threads: int = 1,
    progress: Callable[[str], object] = lambda _: None,
) -> Trained:
    """Load or train every model with default settings, as `eqemb train --device cpu` does."""
    folder.mkdir(parents=True, exist_ok=True)
    split = workspace.split(library, collection, corpus)
    found = Trained({}, {}, split)
    for name in names:
        on_cpu = {"device": "cpu"} if hasattr(registry.find(name).kind, "device") else {}
        try:
            model = registry.create(name, on_cpu)
        except UsageError as error:  # with defaults, only gensim can be missing
            found.missing[registry.titled(name)] = str(error)
            continue
        progress(registry.titled(name))
        found.models[registry.titled(name)] = ModelNeighbours(
            workspace.train_or_load(
                model, corpus, split, folder, name, threads=threads, collection=collection
            )
        )
    return found


# ---------------------------------------------------------------- queries and equations


@dataclass(frozen=True)
class ResolvedQuery:
    """An equation query, matched with an equation type of the corpus."""

    query: str
    latex: str
    row: int | None
    """Its type in the corpus, or the most similar one; None if nothing is similar."""
    share: float | None = None
    """Dice coefficient with the most similar type; None if the query itself is in the corpus."""


class CollectionEquations:
    """Equations of a library by their rows in a corpus."""

    def __init__(self, library: Library, corpus: Corpus) -> None:
        self.library, self.corpus = library, corpus
        self._rows = {form: row for row, form in enumerate(corpus.forms)}
        self._shown: dict[int, tuple[Equation, str, str]] = {}
        types, first, often = np.unique(
            corpus.equation_types, return_index=True, return_counts=True
        )
        self._first = dict(zip(types.tolist(), first.tolist(), strict=True))
        self.often: dict[int, int] = dict(zip(types.tolist(), often.tolist(), strict=True))

    def resolve(self, query: str) -> ResolvedQuery:
        """Find a query, or the most similar equation, in the corpus."""
        named = self.library.equation(query)
        latex = named.expanded if named else query
        shape = layout(latex)
        row = self._rows.get(shape.canonical())
        if row is not None:
            return ResolvedQuery(query, latex, row)
        return ResolvedQuery(query, latex, *self._most_like(latex))

    def _most_like(self, latex: str) -> tuple[int | None, float]:
        """Return the type with the highest Dice coefficient of units."""
        if not layout(latex).units() or not self.corpus.forms:
            return None, 0.0
        dice = self._overlap.of_types(equation_query(latex))
        best = int(dice.argmax())
        return (best, float(dice[best])) if dice[best] > 0 else (None, 0.0)

    @cached_property
    def _overlap(self) -> UnitOverlap:
        return UnitOverlap(self.corpus)

    def equation(self, row: int) -> tuple[Equation, str, str]:
        """Return the first equation of a type, the title of its article, and its MathML."""
        if row not in self._shown:
            name, _, ordinal = self.corpus.equation_names[self._first[row]].rpartition("#")
            records = self.library.records
            key = records.key(name)
            if key is None:
                raise UsageError(f"the library has no article {name}: it changed since the corpus")
            equation, title = records.equation(key, int(ordinal))
            self._shown[row] = equation, title, layout(equation.expanded).to_mathml()
        return self._shown[row]

    def articles(self, row: int) -> set[int]:
        """Return the articles that contain a type."""
        same = self.corpus.equation_types == row
        return set(self.corpus.equation_articles[same].tolist())

    def words(self, query: str) -> tuple[list[int], list[str]]:
        """Return the rows of the words of a query, and the unknown words."""
        known = {word: row for row, word in enumerate(self.corpus.words)}
        asked = list(dict.fromkeys(word.lower() for word in read_tokens(query)[0]))
        return [known[word] for word in asked if word in known], [
            word for word in asked if word not in known
        ]


# ---------------------------------------------------------------- the page


def page(
    library: Library,
    queries: Queries,
    folder: Path,
    *,
    collection: str = ALL,
    count: int = 5,
    threads: int = 1,
    progress: Callable[[str], object] = lambda _: None,
) -> str:
    """Return an HTML page without scripts; models are cached in FOLDER."""
    corpus = workspace.corpus(library, workspace.CorpusChoice(collection))
    collected = CollectionEquations(library, corpus)
    equations = [
        collected.resolve(query) for query in queries.equations
    ]  # wrong names before training
    trained = train(library, folder, corpus, collection, threads=threads, progress=progress)
    writer = _PageWriter(collected, trained, count)
    sections = [writer.equation(f"e{at}", asked) for at, asked in enumerate(equations, 1)]
    sections += [writer.words(f"w{at}", query) for at, query in enumerate(queries.words, 1)]
    links = "".join(
        f'<li><a href="#{kind}{at}">{_escape(query)}</a>'
        for kind, asked in (("e", queries.equations), ("w", queries.words))
        for at, query in enumerate(asked, 1)
    )
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8">{HTML_MARK}'
        '<meta name="viewport" content="width=device-width">'
        f"<title>Nearest equations and words</title><style>{_PAGE_STYLE}</style>\n"
        f"<h1>Nearest equations and words, by model</h1>\n{writer.head(collection)}\n"
        f"<nav><ol>{links}</ol></nav>\n" + "\n".join(sections) + "\n</html>\n"
    )


_PAGE_STYLE = """
:root { color-scheme: light dark; --line: #8884; --dim: #6b6b6b; --back: #8881; }
@media (prefers-color-scheme: dark) { :root { --dim: #a0a0a0; } }
body { font: 16px/1.45 system-ui, sans-serif; margin: 1.5rem auto; padding: 0 1.2rem;
  max-width: 120rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin: 2.6rem 0 .4rem; }
h2 code { font: .95rem ui-monospace, monospace; overflow-wrap: anywhere; }
h3 { font-size: .95rem; margin: 1.2rem 0 .3rem; }
h4 { font-size: .9rem; margin: 0 0 .3rem; } p { max-width: 50rem; margin: .4rem 0; }
nav ol, .side ol { padding: 0; margin: 0; list-style: none; }
nav ol { columns: 26rem; font: 13px/1.6 ui-monospace, monospace; overflow-wrap: anywhere; }
table { border-collapse: collapse; margin: 1rem 0; font-size: .9rem; }
td, th { padding: .15rem .9rem .15rem 0; text-align: left; border-bottom: 1px solid var(--line); }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
.query { background: var(--back); padding: .5rem 1rem; overflow-x: auto; width: fit-content;
  max-width: 100%; box-sizing: border-box; }
.query math { font-size: 1.1rem; }
.side { display: grid; grid-auto-flow: column; grid-auto-columns: minmax(14.5rem, 1fr);
  overflow-x: auto; border-top: 1px solid var(--line); }
.side > div { padding: .4rem .7rem; border-right: 1px solid var(--line); min-width: 0; }
.side > div:last-child { border-right: 0; }
.side li { padding: .35rem 0; line-height: 1.2; border-top: 1px solid var(--line); }
.words .side { grid-auto-columns: minmax(8rem, 1fr); } .words li { border: 0; padding: .1rem 0; }
.formula { overflow: auto hidden; padding: .2rem 0; scrollbar-width: thin; }
.formula math { font-size: .85rem; width: fit-content; margin: 0; }
small, .dim { color: var(--dim); font-size: .78rem; overflow-wrap: anywhere; line-height: 1.3; }
.score { float: right; margin-left: .6rem; font-variant-numeric: tabular-nums; }
"""


class _PageWriter:
    """Renders the parts of a page."""

    def __init__(self, equations: CollectionEquations, trained: Trained, count: int) -> None:
        self._equations, self._trained, self._count = equations, trained, count

    def head(self, collection: str) -> str:
        """Render the introduction and the table of models."""
        corpus = self._equations.corpus
        rows = "".join(
            f"<tr><td>{_escape(title)}{self._settings(near.made.config)}"
            f'<td class="n">{int(near.known.sum()):,}'
            for title, near in self._trained.models.items()
        )
        split = self._trained.split
        held, negatives = int(split.of(VALIDATION).sum()), split.settings.negatives
        missing = "".join(
            f"<p>{_escape(title)} is missing: {_escape(why)}</p>"
            for title, why in self._trained.missing.items()
        )
        return (
            f"<p>Collection {_escape(collection)}: {len(corpus.articles):,} articles,"
            f" {len(corpus.equation_types):,} equations of {len(corpus.forms):,} types,"
            f" {len(corpus.words):,} words. These are examples to be read by eye, not scores."
            "</p><p>Equation to words: cosine of rho of the equation and alpha of the word (EqEmb-U"
            " and PV-DM: of alpha and rho). Equation to equations: Euclidean distance of alpha,"
            " smallest first. Words to equations: cosine of the mean word vector and the equation."
            " An equation represents all that look the same; ×n is their number. ◆ marks an"
            " equation from an article that contains the query. Validation is the mean"
            f" log-likelihood of {held:,} held-out words, each against {negatives} others.</p>\n"
            '<table><tr><th>model<th class="n">K<th class="n">W<th class="n">E'
            '<th class="n">validation'
            f'<th class="n">equations with a vector{rows}'
            f'<tr><td>zero vectors<td><td><td><td class="n">{-math.log(negatives + 1):.3f}<td>'
            f"</table>{missing}"
        )

    def _settings(self, config: dict[str, Any]) -> str:
        settings, score = config["settings"], config["validation"]
        shown = [settings.get(name, "") for name in ("dim", "window", "equation_window")]
        shown.append("" if score is None else f"{score:.3f}")
        return "".join(f'<td class="n">{_escape(value)}' for value in shown)

    def equation(self, anchor: str, asked: ResolvedQuery) -> str:
        """Render the neighbours of an equation."""
        row = asked.row
        parts = [
            f'<section><h2 id="{anchor}">Equation {anchor[1:]}:',
            f"<code>{_escape(asked.query)}</code></h2>",
            f'<div class="query">{math_frame(layout(asked.latex).to_mathml())}</div>',
        ]
        if row is None:
            parts.append("<p>No equation of the collection shares a unit with it.</p></section>")
            return "\n".join(parts)
        equation, title, mathml = self._equations.equation(row)
        place = ", ".join(filter(None, [_escape(equation.id) + self._often(row), _escape(title)]))
        if asked.share is not None:
            parts.append(
                "<p>This equation is not in the collection. The neighbours are those of the"
                f" equation that shares most units with it (Dice {asked.share:.2f}):</p>"
                f'<div class="query">{math_frame(mathml)}</div>'
            )
        parts.append(f'<p class="dim">{place}</p><h3>Nearest equations</h3>')
        home = self._equations.articles(row)
        parts.append(self._side(lambda near: self._hits(near.equations_of(row, self._count), home)))
        parts.append('<h3>Nearest words</h3><div class="words">')
        parts.append(self._side(lambda near: self._words(near.words_of(row, self._count))))
        return "\n".join([*parts, "</div></section>"])

    def words(self, anchor: str, query: str) -> str:
        """Render the neighbours of words."""
        rows, unknown = self._equations.words(query)
        head = f'<section><h2 id="{anchor}">Words {anchor[1:]}: {_escape(query)}</h2>'
        if unknown:
            head += f"<p>Not in the vocabulary: {_escape(', '.join(unknown))}.</p>"
        if not rows:
            return head + "</section>"
        return (
            f"{head}<h3>Nearest equations</h3>"
            + self._side(lambda near: self._hits(near.equations_for(rows, self._count), set()))
            + "</section>"
        )

    def _side(self, answer: Callable[[ModelNeighbours], str]) -> str:
        """Render the neighbours in every model, in columns."""
        nothing = '<p class="dim">This model has no vector for the query.</p>'
        cells = (
            f"<div><h4>{_escape(title)}</h4>{answer(near) or nothing}</div>"
            for title, near in self._trained.models.items()
        )
        return '<div class="side">' + "\n".join(cells) + "</div>"

    def _words(self, found: Near) -> str:
        words = self._equations.corpus.words
        lines = "".join(
            f'<li><small class="score">{score:.2f}</small>{_escape(words[row])}'
            for row, score in found
        )
        return lines and f"<ol>{lines}</ol>"

    def _hits(self, found: Near, home: set[int]) -> str:
        lines = []
        for row, score in found:
            equation, title, mathml = self._equations.equation(row)
            mark = "◆ " if home & self._equations.articles(row) else ""
            lines.append(
                f'<li>{equation_html(mathml)}<small class="score">{score:.2f}</small>'
                f"<small>{mark}{_escape(equation.id)}{self._often(row)}<br>{_escape(title)}</small>"
            )
        return "".join(lines) and f"<ol>{''.join(lines)}</ol>"

    def _often(self, row: int) -> str:
        often = self._equations.often[row]
        return f" ×{often}" if often > 1 else ""


def _escape(value: object) -> str:
    return html.escape(str(value))
