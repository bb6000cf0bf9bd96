"""Similarity of two equations: align their rows, renaming letters consistently.

A row is everything on one baseline: the equation itself, an exponent, the inside of a fence. Two
rows are aligned in order, like two spellings of a word. Where two symbols are aligned, the rows
attached to them on the same edge are aligned too. Then letters of one equation are matched with
letters of the other, one to one. The score counts aligned symbols that are equal, and how many of
them have equal neighbours.
"""

from collections import Counter
from functools import cache
from typing import NamedTuple

from eqemb.formula.layout import CONSTANTS, Layout
from eqemb.formula.tree import Node

RENAMED = 0.8
"""Score of a letter that consistently stands for another one; the same letter scores 1."""
QUERY = 0.95
"""The query's share in the size that matches are divided by; the rest is the other equation's.

At 1, an equation that contains the whole query scores like the query itself. At 1/2, extra
symbols count the same in either equation.
"""
MAX_SYMBOLS = 300
"""Symbols of an equation that are aligned; further ones count in its size but match nothing."""

# Scores during alignment: of two symbols that are the same, of the same kind (two letters, two
# numbers) or different (so that rows attached to them can still match), and of neighbours.
# Integers, so that ties are exact.
SAME, KIND, UNLIKE, NEIGHBOURS = 10, 6, 2, 5


class OutlineRow(NamedTuple):
    """Symbols on one baseline; all elements of a fence or matrix form one row."""

    edge: str
    tags: list[str]
    places: list[int]
    """Indices of the symbols in `Layout.nodes()`."""
    hanging: list[dict[str, int]]
    """For each symbol, the rows attached to it, by edge."""


class Outline(NamedTuple):
    """An equation as rows, each before the rows attached to it; made once, compared often."""

    rows: list[OutlineRow]
    size: int
    """The number of all symbols."""


class Likeness(NamedTuple):
    """The similarity, from 0 to 1, and what it is based on."""

    score: float
    pairs: list[tuple[int, int]]
    """Pairs of equal symbols, as indices in `nodes()` of both equations."""
    names: dict[str, str]
    """Which letter of the other equation each letter stands for."""


#: An aligned pair: the pair before it in its row, the indices of its symbols, whether it follows
#: that pair without a gap, and the pairs in rows attached to it.
_Link = tuple["_Link | None", int, int, bool, tuple["_Link | None", ...]]
_Laid = tuple[int, "_Link | None"]
_NOTHING: _Laid = (0, None)
_NO_ALIGNMENT: _Laid = (-(10**9), None)


def outline(made: Layout) -> Outline:
    """The rows of an equation, ready to be compared."""
    places = {id(node): place for place, node in enumerate(made.nodes())}
    waiting = [("", made.root)] if made.root is not None else []
    rows: list[OutlineRow] = []
    room = MAX_SYMBOLS
    for edge, first in waiting:  # grows while it is read
        row = OutlineRow(edge, [], [], [])
        rows.append(row)
        for node in _symbols(first)[:room]:
            row.tags.append(bare_tag(node.tag))
            row.places.append(places[id(node)])
            hanging: dict[str, int] = {}
            row.hanging.append(hanging)
            if node.kids is None:
                continue
            for below, child in node.kids.items():
                if below != "e":
                    hanging[below] = len(waiting)
                    waiting.append((below, child))
        room -= len(row.tags)
    return Outline(rows, len(places))


def _symbols(first: Node) -> list[Node]:
    """The symbols of a baseline, and of the elements after it."""
    found: list[Node] = []
    elements = [first]
    for element in elements:  # grows while it is read
        node: Node | None = element
        while node is not None:
            found.append(node)
            if node.kids is not None and "e" in node.kids:
                elements.append(node.kids["e"])
            node = node.n
    return found


def bare_tag(tag: str) -> str:
    """A tag without its numbers of rows and columns: `M!()1x2` is the same fence as `M!()1x1`."""
    if tag[:2] != "M!":
        return tag
    return tag.rstrip("0123456789").removesuffix("x").rstrip("0123456789")


def likeness(
    query: Outline,
    other: Outline,
    *,
    renamed: float = RENAMED,
    share: float = QUERY,
    inside: bool = False,
) -> Likeness:
    """Compare an equation with a query; 1 if they are the same.

    With `inside`, the query may be in any row of the other: in a fraction, an exponent, a fence.
    """
    if not query.rows or not other.rows:
        return Likeness(0.0, [], {})
    # Attached rows come after the rows they are attached to, so the last are aligned first.
    laid: dict[tuple[int, int], _Laid] = {}
    by_edge: dict[str, list[int]] = {}
    for index, row in enumerate(other.rows):
        by_edge.setdefault(row.edge, []).append(index)
    for index in range(len(query.rows) - 1, -1, -1):
        row = query.rows[index]
        anywhere = inside and index == 0
        for against in range(len(other.rows)) if anywhere else by_edge.get(row.edge, ()):
            laid[index, against] = _lay(row, other.rows[against], laid)
    # Where it fits best; of equally good rows, the first.
    place = max(range(len(other.rows)), key=lambda row: laid[0, row][0]) if inside else 0
    tags = [
        {place: tag for row in side.rows for place, tag in zip(row.places, row.tags, strict=True)}
        for side in (query, other)
    ]
    met = [
        (tags[0][one], tags[1][two], one, two, joins) for one, two, joins in _pairs(laid[0, place])
    ]
    names = match_letters(Counter((one, two) for one, two, *_ in met))
    total, pairs = 0.0, []
    for one, two, place, against, joins in met:
        worth = 1.0 if one == two else renamed if names.get(one) == two else 0.0
        total += worth * (1 + joins)
        if worth:
            pairs.append((place, against))
    size = 2 * (share * query.size + (1 - share) * other.size)
    return Likeness(total / size, sorted(pairs), names)


def _lay(row: OutlineRow, other: OutlineRow, laid: dict[tuple[int, int], _Laid]) -> _Laid:
    """The best alignment of two rows, in order, given the alignments of attached rows.

    `best[j]` is the best score so far that ends before symbol j of the other row; `meeting[j]` is
    the best in which the two symbols before that are aligned. The starts of both rows count as
    neighbours: both follow the symbol that the row is attached to.
    """
    best, meeting = [_NOTHING] * (len(other.tags) + 1), [_NO_ALIGNMENT] * (len(other.tags) + 1)
    meeting[0] = _NOTHING
    for tag, place, hanging in zip(row.tags, row.places, row.hanging, strict=True):
        before, met = best, meeting
        best, meeting = [_NOTHING], [_NO_ALIGNMENT]
        for j, against in enumerate(other.tags):
            worth = SAME if tag == against else KIND if _alike(tag, against) else UNLIKE
            inner: tuple[_Link | None, ...] = ()
            if hanging and other.hanging[j]:
                for edge, below in hanging.items():
                    if edge in other.hanging[j]:
                        gained, link = laid[below, other.hanging[j][edge]]
                        worth += gained
                        inner += (link,)
            joined = met[j][0] + NEIGHBOURS
            joins = joined > before[j][0]
            start, link = met[j] if joins else before[j]
            value = worth + (joined if joins else start)
            here: _Laid = (value, (link, place, other.places[j], joins, inner))
            meeting.append(here)
            skipped = best[j] if best[j][0] >= before[j + 1][0] else before[j + 1]
            best.append(here if value > skipped[0] else skipped)
    return best[-1]


def _alike(tag: str, other: str) -> bool:
    return tag[1:2] == "!" and tag[:2] == other[:2] and tag[0] in "VN"


def _pairs(laid: _Laid) -> list[tuple[int, int, bool]]:
    """The aligned pairs of symbols, and whether each has the same left neighbour."""
    found: list[tuple[int, int, bool]] = []
    stack = [laid[1]]
    while stack:
        link = stack.pop()
        while link is not None:
            link, place, against, joins, inner = link
            found.append((place, against, joins))
            stack.extend(inner)
    return found


def match_letters(met: Counter[tuple[str, str]]) -> dict[str, str]:
    """Match letters one to one, those that are aligned most often first."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    letters = (item for item in met.items() if is_letter(item[0][0]) and is_letter(item[0][1]))
    ranked = sorted(letters, key=lambda item: (-item[1], item[0][0] != item[0][1], item[0]))
    for (one, two), _ in ranked:
        if one not in names and two not in taken:
            names[one] = two
            taken.add(two)
    return names


@cache
def is_letter(tag: str) -> bool:
    """Whether a tag is a variable that could have another name."""
    return tag[:2] == "V!" and len(tag) == 3 and tag[2].isalpha() and tag not in CONSTANTS
