"""Measure whether descriptions say what a page is about, by its title.

    python benchmarks/describing.py LIBRARY [--pages planetmath/ statproofbook/] [--half held-out]
                                    [-n 400] [--seed 1] [--show 20]
    python benchmarks/describing.py LIBRARY --want

Pages with a title and few equations are about one concept, which the title names. The first
equation of a page, and its longest one, are described twice: *out*, where the page and its
copies are masked, so that only other documents can name the concept; and *in*, as users
ask, where the page is part of the library. Pages are split into halves by the hash of their names:
settings are chosen on `development`, figures are those of `held-out`.

  title word      share of equations with a word of the title among the first five words
  P@5             share of the first five words that are near an equation of the page: its title,
                  section or the 64 words on each side
  phrase          share of equations that get a phrase
  phrase, title   share of the phrases whose words are all in the title, or the title's in it
  phrase, word    share of the phrases that have a word of the title

The rival is a vote: the 20 nearest equations by the Dice coefficient of their units, and the words
around them, and in their titles and sections, ranked by tf-idf; tf is the frequency that the text
index stores. Words are compared by stems. Intervals are of the difference, by a paired bootstrap
over pages.

With `--want`, the equations of the judged topics are described instead, and P@5 is the share of the
first five words that the text of the topic has.
"""

import argparse
import hashlib
import random
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from eqemb import Library
from eqemb.article import read_tokens
from eqemb.corpus.vocabulary import STOP_WORDS
from eqemb.evaluation.metrics import gain
from eqemb.formula import Layout, layout
from eqemb.index.postings import hash_texts
from eqemb.index.stemming import stem
from eqemb.search.describe import Describer, Mask
from eqemb.search.engine import Search
from eqemb.search.typed_equation import EquationQuery

#: Words of titles that are no concepts.
NO_CONCEPTS = frozenset(
    "proof derivation definition example examples theorem lemma relation property properties "
    "topic entry introduction basic list first second third another alternative some two".split()
)
MAX_EQUATIONS, MIN_UNITS, NEAREST, FIRST, REACH = 30, 6, 20, 5, 64


class Case(NamedTuple):
    """An equation of a page, and the stems of its title."""

    row: int
    name: str
    page: str
    title: str
    wanted: frozenset[str]


class Said(NamedTuple):
    """What a system says about an equation."""

    stems: list[str]
    phrase: str
    show: str


System = Callable[[EquationQuery, Mask | None], Said]


def half(name: str) -> str:
    """Return the half that a page belongs to."""
    return "development" if hashlib.sha256(name.encode()).digest()[0] % 2 else "held-out"


def title_of_name(page: str) -> str:
    """Return the title in a name such as `13C99-ArtinReesTheorem`.

    The command of PlanetMath for titles is not read.
    """
    last = page.rpartition("/")[2].partition("-")[2]
    return " ".join(re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", last))


def telling(words: Sequence[str]) -> frozenset[str]:
    """Return the stems of the words that name something."""
    kept = (word.lower() for word in words)
    return frozenset(
        stem(word)
        for word in kept
        if len(word) > 2
        and word not in STOP_WORDS
        and word not in NO_CONCEPTS
        and not word[0].isdigit()
    )


def draw(search: Search, options: argparse.Namespace) -> list[Case]:
    """Return the equations of titled pages of one half, drawn by page."""
    pages: dict[str, list[tuple[int, str]]] = {}
    for name, row in search.rows().items():
        page = name.rpartition("#")[0]
        if page.startswith(tuple(options.pages)) and half(page) == options.half:
            pages.setdefault(page, []).append((row, name))
    names = sorted(page for page, own in pages.items() if len(own) <= MAX_EQUATIONS)
    random.Random(options.seed).shuffle(names)
    cases: list[Case] = []
    for page in names:
        if len({case.page for case in cases}) == options.n:
            break
        title = search.equation(pages[page][0][0])[1] or title_of_name(page)
        wanted = telling(read_tokens(title)[0])
        sizes = [
            (len(layout(search.equation(row)[0].expanded).units()), row, name)
            for row, name in pages[page]
        ]
        sizes = [size for size in sizes if size[0] >= MIN_UNITS]
        if not wanted or not sizes:
            continue
        chosen = dict.fromkeys([sizes[0], max(sizes, key=lambda size: size[0])])
        cases += [Case(row, name, page, title, wanted) for _, row, name in chosen]
    return cases


class DiceVote:
    """The rival: tf-idf of the words around the nearest equations by the Dice of units."""

    def __init__(self, search: Search) -> None:
        self._search, self._sizes = search, list[int]()
        self._owners: dict[int, list[tuple[int, int]]] = {}
        for segment in search.segments:
            keys = hash_texts(segment.records.unit_names()).tolist()
            for number, _, blob in segment.records.types():
                units = Counter(keys[row] for row in np.frombuffer(blob, np.int32).tolist())
                for unit, count in units.items():
                    self._owners.setdefault(unit, []).append((segment.first_type + number, count))
                self._sizes.append(units.total())

    def _nearest(self, made: Layout, allowed: Mask | None) -> list[int]:
        units = Counter("\t".join(unit) for unit in made.units())
        keys = hash_texts(units).tolist()
        shared = np.zeros(len(self._sizes))
        for unit, wanted in zip(keys, units.values(), strict=True):
            for kind, count in self._owners.get(unit, []):
                shared[kind] += min(count, wanted)
        dice = 2 * shared / (np.array(self._sizes) + units.total())
        scores = dice[self._search.types]
        scores[~self._search.segments.live] = -1
        if allowed is not None:
            scores[~allowed] = -1
        return np.argsort(-scores, kind="stable")[:NEAREST].tolist()

    def __call__(self, query: EquationQuery, allowed: Mask | None) -> Said:
        """Return the words with the largest sums."""
        text = self._search.text
        totals: dict[str, float] = {}
        for row in self._nearest(query.layout, allowed):
            for root in text.topic([row], [1.0], 1_000):
                totals[root] = totals.get(root, 0.0) + text.stem_score(root, row) * text.idf(root)
        ranked = sorted(totals, key=lambda root: (-totals[root], root))
        return Said(ranked[:FIRST], "", " ".join(ranked[:FIRST]))


def describer(search: Search) -> System:
    """Return what `describe` says."""
    made = Describer(search)

    def say(query: EquationQuery, allowed: Mask | None) -> Said:
        found = made.describe_equation(query, FIRST, allowed=allowed)
        words = [said.word for said in found]
        text = "" if found.phrase is None else found.phrase.text
        return Said([stem(word) for word in words], text, f"[{text}] {' '.join(words)}")

    return say


def main() -> None:
    """Describe the equations and print the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", type=Path)
    parser.add_argument("--pages", nargs="+", default=["planetmath/", "statproofbook/"])
    parser.add_argument("--half", choices=["development", "held-out"], default="held-out")
    parser.add_argument("-n", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--want", action="store_true", help="the judged topics instead of pages")
    options = parser.parse_args()
    with Library.open(options.library) as library:
        search = library.engine
        if options.want:
            measure_topics(search)
            return
        cases = draw(search, options)
        pages = sorted({case.page for case in cases})
        print(f"{len(cases)} equations of {len(pages)} pages, {options.half} half")
        systems: dict[str, System] = {"vote": DiceVote(search), "describe": describer(search)}
        for setting in ("out", "in"):
            measure(search, cases, systems, setting, options.show)


class Copies:
    """The copies of each page: near-duplicates, and pages whose names end alike."""

    def __init__(self, search: Search) -> None:
        self._groups: dict[str, set[int]] = {}
        group_of = search.records.group_of
        for key, name, _ in search.records.article_ids():
            for copied in (str(group_of.get(name, name)), last_part(name)):
                self._groups.setdefault(copied, set()).add(key)
        self._search, self._group_of = search, group_of

    def mask(self, page: str) -> Mask:
        """Return a mask of the equations that are neither of a page nor of its copies."""
        own = self._groups[last_part(page)] | self._groups[str(self._group_of.get(page, page))]
        found: Mask = self._search.segments.live & ~np.isin(self._search.articles, list(own))
        return found


def last_part(page: str) -> str:
    """Return the last part of a name, in small letters."""
    return page.rpartition("/")[2].lower()


def measure(
    search: Search, cases: list[Case], systems: dict[str, System], setting: str, show: int
) -> None:
    """Print the figures of every system, with the page masked or not."""
    copies = Copies(search)
    found: dict[str, dict[str, list[float]]] = {name: {} for name in systems}
    pages = [case.page for case in cases]
    for number, case in enumerate(cases):
        equation, _ = search.equation(case.row)
        allowed, query = None, EquationQuery(layout(equation.expanded), equation)
        if setting == "out":
            query = EquationQuery(query.layout, None)
            allowed = copies.mask(case.page)
        near = {root for _, root, _ in search.text.words_around(case.row, REACH)}
        near |= case.wanted | telling(read_tokens(equation.section)[0])
        if number < show:
            print(f"\n{case.name}: {case.title}")
        for name, system in systems.items():
            said = system(query, allowed)
            of_phrase = telling(read_tokens(said.phrase)[0])
            row = {
                "title word": float(bool(case.wanted & set(said.stems))),
                "P@5": sum(root in near for root in said.stems) / FIRST,
                "phrase": float(bool(said.phrase)),
            }
            if said.phrase:
                row["phrase, title"] = float(of_phrase <= case.wanted or case.wanted <= of_phrase)
                row["phrase, word"] = float(bool(of_phrase & case.wanted))
            for measure_name, value in row.items():
                found[name].setdefault(measure_name, []).append(value)
            if number < show:
                print(f"  {name:9} {said.show}")
    print(f"\nown page {setting}")
    for name, measures in found.items():
        values = "  ".join(
            f"{key} {np.mean(row):.3f} (n={len(row)})" for key, row in measures.items()
        )
        print(f"  {name:9} {values}")
    for key in ("title word", "P@5"):
        one, other = (by_page(pages, found[name][key]) for name in ("describe", "vote"))
        won = gain(one, other)
        print(
            f"  describe - vote, {key}: {won.mean:+.3f} [{won.low:+.3f}, {won.high:+.3f}],"
            f" p = {won.p:.4f}"
        )


def measure_topics(search: Search) -> None:
    """Print how many words of descriptions the texts of the judged topics have."""
    topics = tomllib.loads((Path(__file__).parent / "judged" / "topics.toml").read_text("utf-8"))
    asked = [topic for topic in topics["topic"] if topic["kind"] != "words"]
    systems: dict[str, System] = {"vote": DiceVote(search), "describe": describer(search)}
    found: dict[str, list[float]] = {name: [] for name in systems}
    for topic in asked:
        query = EquationQuery(layout(topic["query"]), None)
        wanted = telling(read_tokens(topic["want"])[0])
        for name, system in systems.items():
            stems = system(query, None).stems
            found[name].append(sum(root in wanted for root in stems) / FIRST)
    for name, values in found.items():
        print(f"  {name:9} P@5 {np.mean(values):.3f} (n={len(values)})")
    won = gain(np.array(found["describe"]), np.array(found["vote"]))
    print(f"  describe - vote: {won.mean:+.3f} [{won.low:+.3f}, {won.high:+.3f}], p = {won.p:.4f}")


def by_page(pages: list[str], values: list[float]) -> np.ndarray:
    """Return the mean of each page, in order."""
    found: dict[str, list[float]] = {}
    for page, value in zip(pages, values, strict=True):
        found.setdefault(page, []).append(value)
    return np.array([np.mean(row) for row in found.values()])


if __name__ == "__main__":
    main()
