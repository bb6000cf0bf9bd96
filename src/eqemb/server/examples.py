"""Example questions for the start page: words and an equation of the library with good answers.

Words come from titles of sections and articles, which name what a text is about. A title is asked
like any query, and the titles whose first answers are the strongest are shown. The same library
always gives the same examples.
"""

from collections import Counter
from collections.abc import Iterable

import numpy as np

from eqemb.article import Equation, read_tokens
from eqemb.corpus.vocabulary import PAPER_WORDS, STOP_WORDS
from eqemb.facade.library import Library
from eqemb.formula import layout

_MAX_ASKED, _FIRST_HITS = 12, 3
_TITLE_WORDS, _LETTERS_OF_WORD = range(2, 4), 4
#: Shape of an example equation: symbols, and characters of LaTeX.
_EXAMPLE_NODES, _EXAMPLE_LENGTH = range(8, 31), 70


def example_words(library: Library, count: int) -> list[str]:
    """Titles that are good questions: those with the strongest first answers."""
    records = library.records
    titles = Counter[str]()
    for each in records.section_titles():
        titles.update(_usable(each))
    titles.update(_usable(records.titles()))
    asked = sorted(titles, key=lambda title: (-titles[title], title))[:_MAX_ASKED]
    worth = {title: _strength(library, title) for title in asked}
    chosen: list[str] = []
    for title in sorted(asked, key=lambda title: (-worth[title], -titles[title], title)):
        said = {word for other in chosen for word in other.split()}
        if worth[title] and not said & set(title.split()) and len(chosen) < count:
            chosen.append(title)
    return chosen


def _usable(titles: Iterable[str]) -> set[str]:
    """The titles of two or three plain words, in lower case."""
    found = set()
    for title in titles:
        words = [] if "$" in title else [word.lower() for word in read_tokens(title)[0]]
        if len(words) in _TITLE_WORDS and all(
            word.isalpha()
            and len(word) >= _LETTERS_OF_WORD
            and word not in STOP_WORDS
            and word not in PAPER_WORDS
            for word in words
        ):
            found.add(" ".join(words))
    return found


def _strength(library: Library, query: str) -> float:
    """The strength of the weakest of the first answers; 0 without a good match."""
    answer = library.search(query, _FIRST_HITS)
    if answer.match != "good" or answer.unknown:
        return 0.0
    # a library without calibrated strengths can only tell that the match is good
    return min((1.0 if hit.strength is None else hit.strength for hit in answer.hits), default=0.0)


def example_equation(library: Library) -> Equation | None:
    """A short, readable equation of the largest family."""
    questions = library.engine
    segments, found = questions.segments, list[tuple[int, int]]()
    keys, counts = np.unique(segments.type_keys[questions.types[segments.live]], return_counts=True)
    for at in np.lexsort((keys, -counts))[:200].tolist():
        rows = segments.equations_of_key(int(keys[at]))
        members = questions.structure.families.members(int(questions.types[rows[0]]))
        found.append((len(segments.equations_of(members)), int(rows[0])))
    for _, row in sorted(found, key=lambda item: (-item[0], item[1])):
        equation, _ = questions.equation(row)
        is_line = len(equation.expanded) <= _EXAMPLE_LENGTH and not set("&\n") & set(
            equation.expanded
        )
        if is_line and len(layout(equation.expanded).nodes()) in _EXAMPLE_NODES:
            return equation
    return None
