"""Measure how often equations are found again: renamed, by a fragment, by name, label and LaTeX.

    python benchmarks/variants.py LIBRARY [--seed 1] [-n 500] [--by-name 200]

Equations with at least four units are drawn at random, one per type. Queries are
  renamed    every letter replaced by another one, consistently, from the Latin and Greek letters;
  fragment   a part with at least three units, drawn from the sides of its relations, the terms
             of its rows, and the arguments of fractions, roots and fences;
  both       the same fragment, renamed;
  name, label, LaTeX  as `ARTICLE#4`, as `ARTICLE:label` and as its LaTeX, macros expanded.

An equation is found if its type is among the ten best types (strict), or its family among the ten
best families (family), which is what users see: by structure alone, and by `similar` (all). In
`search`, a name or label must return that equation first; in `similar`, LaTeX must return its type
first. Renaming and cutting work on the layout tree. Chance is ten random types. Times are
wall-clock times of one process, each query once, after a warm-up.
"""

import argparse
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from eqemb import Library
from eqemb.formula import Layout, layout, tree
from eqemb.formula.likeness import is_letter
from eqemb.formula.tree import Node
from eqemb.search.engine import Search
from eqemb.search.typed_equation import EquationQuery

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZαβγδζηθκλμνξρστχψωΓΔΘΛΞΦΨΩ"
RELATIONS = frozenset("=<>≤≥∼≈≡∝:→∈≠≪≫⇒⟹") | {":="}
SIGNS = RELATIONS | frozenset("+−±") | {"&comma;", ";"}
LEAST = 4  # minimum units of an equation
PART = 3  # minimum units of a fragment


def copy(node: Node, *, stop: Node | None = None) -> Node:
    """Copy a row of nodes up to `stop`, with their children."""
    made = Node(node.tag)
    stack = [(node, made)]
    while stack:
        old, new = stack.pop()
        for edge, child in tree.children(old):
            if child is stop:
                continue
            below = Node(child.tag)
            new.put(edge, below)
            stack.append((child, below))
    return made


def renamed(made: Layout, draw: random.Random) -> Layout:
    """Return the equation with every letter consistently replaced by another one."""
    root = copy(made.root) if made.root is not None else None
    nodes = list(tree.walk(root))
    old = sorted({node.tag for node in nodes if is_letter(node.tag)})
    while True:
        new = draw.sample(LETTERS, len(old))
        if all(tag != f"V!{letter}" for tag, letter in zip(old, new, strict=True)):
            break
    names = {tag: f"V!{letter}" for tag, letter in zip(old, new, strict=True)}
    for node in nodes:
        node.tag = names.get(node.tag, node.tag)
    return Layout(root)


def rows(made: Layout) -> Iterator[tuple[str, Node]]:
    """Yield the first node of every row, with its edge."""
    if made.root is not None:
        yield "", made.root
        for node in tree.walk(made.root):
            yield from (node.kids or {}).items()


def runs(row: Node, marks: frozenset[str]) -> Iterator[tuple[Node, Node | None]]:
    """Yield the parts of a row between marks: the first node, and the one after the last."""
    start: Node | None = None
    for node in tree.baseline(row):
        if node.tag in marks and node.kids is None:
            if start is not None:
                yield start, node
            start = None
        elif start is None:
            start = node
    if start is not None:
        yield start, None


def fragments(made: Layout) -> list[Layout]:
    """Return all fragments of an equation."""
    whole, found = made.canonical(), {}
    for edge, row in rows(made):
        parts = list(runs(row, SIGNS))
        parts += runs(row, RELATIONS) if not edge else ()
        parts += [(row, None)] if edge in ("o", "u", "w", "e") else ()
        for start, stop in parts:
            part = Layout(copy(start, stop=stop))
            if len(part.units()) >= PART and part.canonical() != whole:
                found[part.canonical()] = part
    return list(found.values())


def by_structure(search: Search, query: Layout) -> list[int]:
    """Return the types found by structure alone, best first."""
    found: list[int] = search.structure.find(query, count=100).types.tolist()
    return found


def by_all(search: Search, query: Layout) -> list[int]:
    """Return the types of the ten hits of `eqemb similar`."""
    hits = search.search_equation(EquationQuery(query, None), 10)
    return [int(search.types[search.row(hit.equation)]) for hit in hits]


class Tally:
    """Counts of found equations, and times."""

    def __init__(self, search: Search, rank: Callable[[Search, Layout], list[int]]) -> None:
        self._search, self._rank = search, rank
        self.strict = self.family = self.asked = 0
        self.seconds: list[float] = []
        self.missed: list[tuple[int, Layout]] = []

    def ask(self, query: Layout, kind: int) -> None:
        """Search for a type by one of its variants."""
        start = time.perf_counter()
        found = self._rank(self._search, query)
        self.seconds.append(time.perf_counter() - start)
        keys = self._search.segments.type_keys
        self.asked += 1
        self.strict += int(keys[kind]) in keys[found[:10]].tolist()
        if self._has_family(found, kind):
            self.family += 1
        else:
            self.missed.append((kind, query))

    def _has_family(self, found: list[int], kind: int) -> bool:
        """Whether the family of a type is among the ten best families."""
        members = self._search.structure.families.members
        seen: set[int] = set()
        chosen = 0
        for other in found:
            if other in seen:
                continue
            seen.update(members(other))
            chosen += 1
            if kind in seen or chosen == 10:
                break
        return kind in seen

    def line(self, name: str) -> str:
        """Format the figures, with the standard error of the share of families."""
        n = max(self.asked, 1)
        share = self.family / n
        error = (share * (1 - share) / n) ** 0.5
        times = np.percentile(1000 * np.array(self.seconds or [0.0]), [50, 95])
        return (
            f"{name:20}{self.asked:6}{self.strict / n:9.3f}{share:9.3f} +- {error:.3f}"
            f"{times[0]:9.1f}{times[1]:9.1f}"
        )


def share(items: list[str], right: Callable[[str], bool]) -> str:
    """Format how many items are right."""
    count = sum(map(right, items))
    return f"{count}/{len(items)}" + (f" = {count / len(items):.3f}" if items else "")


def unit_counts(search: Search) -> dict[int, int]:
    """Return the number of units of every type, each once where several segments have it."""
    every = [len(blob) // 4 for part in search.segments for *_, blob in part.records.types()]
    return {kind: every[kind] for kind in search.segments.distinct_types.tolist()}


def main() -> None:
    """Draw equations, search for them and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-n", type=int, default=500)
    parser.add_argument("--by-name", type=int, default=200)
    parser.add_argument("--missed", type=int, default=0, help="number of missed equations to show")
    options = parser.parse_args()
    library = Library.open(options.library)
    search = library.engine
    structure = search.structure
    draw = random.Random(options.seed)
    sizes = unit_counts(search)
    enough = sorted(kind for kind, size in sizes.items() if size >= LEAST)
    print(
        f"{len(sizes)} types, {len(sizes) - len(enough)} with fewer than {LEAST} units not drawn;"
        f" seed {options.seed}; chance {10 / len(sizes):.4f}"
    )
    by_all(search, structure.layout(enough[0]))  # warm
    tallies = {
        f"{name}, {rank.__name__[3:]}": Tally(search, rank)
        for name in ("renamed", "fragment", "both")
        for rank in (by_structure, by_all)
    }

    def ask(name: str, query: Layout, kind: int) -> None:
        for rank in (by_structure, by_all):
            tallies[f"{name}, {rank.__name__[3:]}"].ask(query, kind)

    for drawn in draw.sample(enough, min(options.n, len(enough))):
        ask("renamed", renamed(structure.layout(drawn), draw), drawn)
    whole = 0
    waiting = iter(draw.sample(enough, len(enough)))
    while tallies["fragment, all"].asked < options.n and (kind := next(waiting, None)) is not None:
        parts = fragments(structure.layout(kind))
        if not parts:
            whole += 1
            continue
        part = draw.choice(parts)
        ask("fragment", part, kind)
        ask("both", renamed(part, draw), kind)
    print(f"{whole} equations had no fragment")
    print(f"{'':20}{'n':>6}{'strict':>9}{'family':>18}{'ms':>9}{'ms 95%':>9}")
    for name, tally in tallies.items():
        print(tally.line(name))
    for name, tally in tallies.items():
        for kind, query in tally.missed[: options.missed]:
            print(f"{name}: {query.to_text()}   of   {structure.layout(kind).to_text()}")
    by_name(library, search, draw, options.by_name)


def by_name(library: Library, search: Search, draw: random.Random, count: int) -> None:
    """Search for equations by name, by label and by LaTeX."""
    equations = {
        equation.id: equation for article in library.articles() for equation in article.equations
    }
    drawn = draw.sample(sorted(equations), min(count, len(equations)))
    places = [(equation.article, equation.label) for equation in equations.values()]
    often = Counter(places)
    labelled = sorted(
        name
        for name, equation in equations.items()
        if equation.label and often[equation.article, equation.label] == 1
    )
    twice = sum(1 for place, times in often.items() if place[1] and times > 1)
    labels = draw.sample(labelled, min(count, len(labelled)))
    print(f"{twice} labels that occur twice in an article were skipped")

    def resolves(name: str, asked: str) -> bool:
        return bool(library.search(asked, 1)[0].equation.id == name)

    def is_first(latex: str) -> bool:
        hit = library.similar(latex, 1)[0]
        return search.row(hit.equation) in search.same_equations(layout(latex))

    print("name  ", share(drawn, lambda name: resolves(name, name)))
    print(
        "label ",
        share(
            labels,
            lambda name: resolves(name, f"{equations[name].article}:{equations[name].label}"),
        ),
    )
    symbols = [name for name in drawn if layout(equations[name].expanded).root is not None]
    print("LaTeX ", share(symbols, lambda name: is_first(equations[name].expanded)))


if __name__ == "__main__":
    main()
