r"""Patterns: equations with wildcards, and matching them.

`?x` matches one or more consecutive symbols of a row, with everything attached to them; a repeated
name must match the same each time. Every other symbol must be present: `x^?n` matches in
`e^{x^2}`, but not in `x_1^2`. Only operators and function names may have more attached than the
pattern says: `\sum ?x` matches `\sum_{i=1}^n x_i`. Attached rows are matched completely; the
pattern itself may match anywhere in a row. Letters may be renamed consistently, one to one.

The matcher keeps what is left to match as a list of goals, and a stack of alternatives. It does
not recurse, and gives up after a given number of steps.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from eqemb.formula.layout import Layout, layout
from eqemb.formula.likeness import (
    MAX_SYMBOLS,
    QUERY,
    RENAMED,
    Outline,
    OutlineRow,
    is_letter,
    outline,
)

#: Steps allowed for one equation.
MATCH_STEPS = 5_000

_WILDCARD = re.compile(r"(?<!\\)\?([A-Za-z][A-Za-z0-9]*)")


class Match(NamedTuple):
    """How well a pattern fits, from 0 to 1, and what its names stand for."""

    score: float
    bound: dict[str, "Run"]
    names: dict[str, str]
    """Which letter of the equation each letter of the pattern stands for."""
    places: list[int]
    """The symbols of the equation that the pattern covers, as indices in its `nodes()`."""


class Run(NamedTuple):
    """Symbols `start` to `stop` of a row, without what is on the edges `but` of the last one."""

    row: int
    start: int
    stop: int
    but: frozenset[str] = frozenset()


class OutOfStepsError(Exception):
    """There were more ways to match than steps allowed."""


def read_pattern(latex: str) -> Layout:
    """The layout of LaTeX in which `?x` is a wildcard."""
    return layout(_WILDCARD.sub(r"\\qvar{\1}", latex))


def is_wildcard(tag: str) -> bool:
    """Whether a symbol of a pattern is a wildcard."""
    return tag[:1] == "?"


def is_pattern(made: Layout) -> bool:
    """Whether an equation has wildcards."""
    return any(is_wildcard(node.tag) for node in made.nodes())


class Pattern:
    """A pattern, ready to be matched; raises ValueError if it has only wildcards."""

    def __init__(self, made: Layout) -> None:
        self.outline = outline(made)
        tags = [tag for row in self.outline.rows for tag in row.tags]
        self.symbols = [tag for tag in tags if not is_wildcard(tag)]
        if not self.symbols:
            raise ValueError(
                f"{made.to_text()!r} would match everything: a pattern needs at least one symbol"
                " besides its wildcards"
            )
        if self.outline.size > MAX_SYMBOLS:
            raise ValueError(
                f"a pattern may have up to {MAX_SYMBOLS} symbols, not {self.outline.size}"
            )
        self.size = len(tags)
        self._wildcards = self.size - len(self.symbols)
        self._once = {tag for tag in tags if is_wildcard(tag) and tags.count(tag) == 1}
        self.spent = 0
        """Steps used for matching so far."""

    def match(self, other: Outline, steps: int = MATCH_STEPS) -> Match | None:
        """Match the pattern in an equation; raises OutOfStepsError if that cannot be decided."""
        trial = _Trial(self.outline, other, steps)
        try:
            for rename in (False, True) if any(map(is_letter, self.symbols)) else (False,):
                for place in self._places(other, rename=rename):
                    found = trial.solve(place, rename=rename)
                    if found is not None:
                        return self._weighed(found, trial, other)
        finally:
            self.spent += steps - trial.left
        return None

    def _places(self, other: Outline, *, rename: bool) -> Iterator["_Goal"]:
        """Where a pattern may start: whole rows first, beginning with the outermost."""
        mine = self.outline.rows[0]
        rows = [n for n, row in enumerate(other.rows) if len(row.tags) >= len(mine.tags)]
        yield from (_Goal(0, 0, number, 0, ends=True) for number in rows)
        first, edges = mine.tags[0], mine.hanging[0].keys()
        anything = is_wildcard(first) or (rename and is_letter(first))
        for number in rows:
            row = other.rows[number]
            # a wildcard that occurs once also matches what is before it
            last = 0 if first in self._once else len(row.tags) - len(mine.tags)
            for start in range(last + 1):
                if anything or (row.tags[start] == first and edges <= row.hanging[start].keys()):
                    yield _Goal(0, 0, number, start, ends=False)

    def _weighed(self, found: "_State", trial: "_Trial", other: Outline) -> Match:
        """The score: symbols of the equation that the pattern does not mention reduce it a little.

        A wildcard scores like a symbol, whatever it matches, and a renamed letter less.
        """
        renamed = sum(found.names.get(tag, tag) != tag for tag in self.symbols)
        met, swallowed = trial.taken(found)
        rest = max(other.size - len(swallowed) + self._wildcards, self.size)
        score = (self.size - (1 - RENAMED) * renamed) / (QUERY * self.size + (1 - QUERY) * rest)
        return Match(score, found.bound, found.names, sorted({*met, *swallowed}))


class _Goal(NamedTuple):
    """Match the pattern's row from symbol `at` in the other row from symbol `start`."""

    row: int
    at: int
    other: int
    start: int
    ends: bool
    """Whether both rows must end together."""


#: A goal, and the goals after it.
_Goals = tuple[_Goal, "_Goals"] | None


class _State(NamedTuple):
    """The state of a partial match."""

    goals: _Goals
    bound: dict[str, Run]
    names: dict[str, str]
    runs: "_Runs"
    """Everything that wildcards matched, each time."""
    met: "_Runs"
    """The symbols that matched those of the pattern, each a run of one."""


_Runs = tuple[Run, "_Runs"] | None


class _Trial:
    """The search for one pattern in one equation."""

    def __init__(self, pattern: Outline, other: Outline, steps: int) -> None:
        self._pattern, self._other, self.left = pattern.rows, other.rows, steps
        self._rename = False

    def solve(self, goal: _Goal, *, rename: bool) -> _State | None:
        """The first match for a goal."""
        self._rename = rename
        stack = [_State((goal, None), {}, {}, None, None)]
        while stack:
            self.left -= 1
            if self.left < 0:
                raise OutOfStepsError
            state = stack.pop()
            if state.goals is None:
                return state
            (goal, rest), mine = state.goals, self._pattern[state.goals[0].row]
            if goal.at < len(mine.tags):
                wild = is_wildcard(mine.tags[goal.at])
                # the last is tried first
                stack.extend(self._swallow(state) if wild else self._meet(state))
            elif not goal.ends or goal.start == len(self._other[goal.other].tags):
                stack.append(state._replace(goals=rest))
        return None

    def _meet(self, state: _State) -> Iterator[_State]:
        """Match a symbol of the pattern with the next one of the other row."""
        goal, mine, row = self._rows(state)
        if goal.start == len(row.tags):
            return
        tag, other = mine.tags[goal.at], row.tags[goal.start]
        names = state.names
        if is_letter(tag) and is_letter(other):
            if names.get(tag, other) != other or (tag != other and not self._rename):
                return
            if tag not in names:
                if other in names.values():
                    return
                names = {**names, tag: other}
        elif tag != other:
            return
        hanging, there = mine.hanging[goal.at], row.hanging[goal.start]
        if hanging.keys() - there.keys() or (there.keys() - hanging.keys() and not _bare(tag)):
            return
        goals = self._after(state, goal.start + 1, hanging, there)
        met = (Run(goal.other, goal.start, goal.start + 1), state.met)
        yield state._replace(goals=goals, names=names, met=met)

    def _swallow(self, state: _State) -> Iterator[_State]:
        """Match a wildcard with one or more symbols; the shortest run is tried first."""
        goal, mine, row = self._rows(state)
        name, hanging = mine.tags[goal.at], mine.hanging[goal.at]
        most = len(row.tags) - (len(mine.tags) - goal.at - 1)
        known = state.bound.get(name)
        stops = range(most, goal.start, -1)
        if known is not None:
            stop = goal.start + known.stop - known.start
            stops = range(stop, stop - 1, -1) if stop <= most else range(0)
        following = mine.tags[goal.at + 1] if goal.at + 1 < len(mine.tags) else "?"
        anything = is_wildcard(following) or is_letter(following)
        for stop in stops:
            there = row.hanging[stop - 1]
            if hanging.keys() - there.keys() or not (anything or row.tags[stop] == following):
                continue
            run = Run(goal.other, goal.start, stop, frozenset(hanging))
            if known is not None and not self._same(known, run):
                continue
            yield _State(
                self._after(state, stop, hanging, there),
                {**state.bound, name: run} if known is None else state.bound,
                state.names,
                (run, state.runs),
                state.met,
            )

    def _rows(self, state: _State) -> tuple[_Goal, OutlineRow, OutlineRow]:
        goal = state.goals[0] if state.goals else _Goal(0, 0, 0, 0, ends=True)
        return goal, self._pattern[goal.row], self._other[goal.other]

    @staticmethod
    def _after(state: _State, stop: int, hanging: dict[str, int], there: dict[str, int]) -> _Goals:
        """The goals after a symbol matched: the rows attached to it, then the rest of its row."""
        if state.goals is None:
            return None
        goal, rest = state.goals
        goals: _Goals = (goal._replace(at=goal.at + 1, start=stop), rest)
        for edge, below in hanging.items():
            goals = (_Goal(below, 0, there[edge], 0, ends=True), goals)
        return goals

    def _walk(self, run: Run) -> Iterator[tuple[str, str]]:
        """The symbols of a run and of everything attached to it, each row preceded by its edge."""
        waiting = [("", run)]
        for edge, part in waiting:  # grows while it is read
            row = self._other[part.row]
            for place in range(part.start, part.stop):
                yield edge if place == part.start else "n", row.tags[place]
                but = part.but if place == part.stop - 1 else ()
                for below, number in sorted(row.hanging[place].items()):
                    if below not in but:
                        mark = f"{len(waiting)}{below}"
                        waiting.append((mark, Run(number, 0, len(self._other[number].tags))))
                        yield "(", mark

    def _same(self, one: Run, two: Run) -> bool:
        steps = list(self._walk(one))
        self.left -= len(steps)
        return steps == list(self._walk(two))

    def taken(self, found: _State) -> tuple[list[int], list[int]]:
        """The indices of the symbols that matched, and of those that wildcards matched."""
        met = [self._other[run.row].places[run.start] for run in _listed(found.met)]
        waiting, swallowed = [*_listed(found.runs)], list[int]()
        for part in waiting:  # grows while it is read
            row = self._other[part.row]
            for place in range(part.start, part.stop):
                swallowed.append(row.places[place])
                but = part.but if place == part.stop - 1 else ()
                below = (row.hanging[place][edge] for edge in row.hanging[place] if edge not in but)
                waiting += [Run(number, 0, len(self._other[number].tags)) for number in below]
        return met, swallowed


def _listed(runs: _Runs) -> Iterator[Run]:
    while runs is not None:
        run, runs = runs
        yield run


def _bare(tag: str) -> bool:
    """Whether a symbol may have more attached than the pattern says: no letter, number or fence."""
    return tag[1:2] != "!" or (tag[:2] == "V!" and not is_letter(tag))
