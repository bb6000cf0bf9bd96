r"""Normal form of an equation: one layout for what authors write in different ways.

`e^x` and `\exp(x)`, roman and italic names, `\frac{a}{b}` and `a/b`, `\cdot` and juxtaposition, the
order of sums and products, the sides of an equation, `\partial_t u` and
`\frac{\partial u}{\partial t}`, bold and plain letters become the same. The rules look at the
layout alone and know nothing of meaning: equal normal forms are evidence that two equations are
one, not a proof. Every layout has a normal form, and that of a normal form is the same: the rules
are applied until they change nothing. Nothing here recurses.
"""

from collections.abc import Iterable, Sequence

from eqemb.formula import tree
from eqemb.formula.layout import Layout
from eqemb.formula.normal_items import (
    ALIASES,
    TEXT_WORDS,
    Cell,
    NormalItem,
    Row,
    item,
    only,
    row_text,
)
from eqemb.formula.normal_rows import normal_cell, normal_item
from eqemb.formula.tree import Node

#: Longer equations are their own normal form, so that no formula takes long.
MAX_NORMAL_SYMBOLS = 2_000
#: Passes over an equation. The second one hardly ever changes anything.
MAX_PASSES = 12
_VECTOR_ARROWS = frozenset({"→", "⃗"})


class _Source:
    """A row before a pass: its edge, its cells, and for each symbol the rows attached to it."""

    __slots__ = ("cells", "edge", "kids")

    def __init__(self, edge: str, cells: Sequence[Sequence[Node | NormalItem]]) -> None:
        self.edge, self.cells = edge, cells
        self.kids: list[list[dict[str, int] | None]] = []


def normal_form(made: Layout) -> Layout:
    """The normal form of an equation."""
    nodes = made.nodes()
    if made.root is None or len(nodes) > MAX_NORMAL_SYMBOLS:
        return Layout(made.root)
    if any(node.n is not None and node.n.get("e") is not None for node in nodes):
        return Layout(made.root)  # no tree of a formula: only the first symbol of a cell has it
    row = _normalise(_cells(made.root))
    seen: dict[str, Row] = {}
    text = row_text(row)
    while text not in seen and len(seen) < MAX_PASSES:
        seen[text] = row
        again = _normalise(row)
        if again != row:  # hardly ever: the text is that of the row before
            text = row_text(again)
        row = again
    if text in seen:  # of forms that turn into each other, one
        every = list(seen)
        row = seen[min(every[every.index(text) :])]
    return Layout(_write(row))


def _cells(head: Node) -> list[list[Node]]:
    """The cells of the row that starts with a node."""
    found = []
    cell: Node | None = head
    while cell is not None:
        found.append(list(tree.baseline(cell)))
        cell = cell.get("e")
    return found


def _attached(
    one: Node | NormalItem,
) -> Iterable[tuple[str, Sequence[Sequence[Node | NormalItem]]]]:
    """The rows that are attached to a symbol, by edge."""
    if isinstance(one, NormalItem):
        return one.kids.items()
    kids = one.kids or {}
    return [(edge, _cells(child)) for edge, child in kids.items() if edge != "e"]


def _normalise(row: Sequence[Sequence[Node | NormalItem]]) -> Row:
    """Apply every rule once, from the innermost rows outwards."""
    sources = [_Source("", row)]
    tags: set[str] = set()  # of symbols with nothing attached: most symbols, read once for each tag
    letters: list[tuple[str, bool]] = []  # other letters, and whether an arrow is above
    for source in sources:  # grows while it is read
        for cell in source.cells:
            rows: list[dict[str, int] | None] = []
            source.kids.append(rows)
            for one in cell:
                kids: dict[str, int] | None = None
                if one.kids:
                    kids = {}
                    for edge, below in _attached(one):
                        kids[edge] = len(sources)
                        sources.append(_Source(edge, below))
                if kids:
                    rows.append(kids)
                    letters.append((one.tag, "o" in kids and _is_arrow(sources[kids["o"]])))
                else:
                    rows.append(None)
                    tags.add(one.tag)
    plain = _in_one_alphabet([*((tag, False) for tag in tags), *letters])
    leaves = {tag: _read(tag, {}, plain) for tag in tags}
    done: list[Row] = [()] * len(sources)
    for number in range(len(sources) - 1, -1, -1):  # a row comes before those attached to it
        source = sources[number]
        made: list[Cell] = []
        for cell, rows in zip(source.cells, source.kids, strict=True):
            items = tuple([
                leaves[one.tag]
                if kids is None
                else _read(one.tag, {edge: done[row] for edge, row in kids.items()}, plain)
                for one, kids in zip(cell, rows, strict=True)
            ])  # fmt: skip
            made.append(normal_cell(items, source.edge))
        done[number] = tuple(made)
    return done[0]


def _in_one_alphabet(tags: Iterable[tuple[str, bool]]) -> frozenset[str]:
    """The letters that are written in one way only, given the tags of all symbols."""
    ways: dict[str, set[tuple[str, bool]]] = {}
    for tag, arrow in tags:
        if tag[:2] == "V!" and len(tag) == 3:
            ways.setdefault(tree.plain_tag(tag), set()).add((tag, arrow))
    return frozenset(letter for letter, found in ways.items() if len(found) == 1)


def _is_arrow(source: _Source) -> bool:
    cells = source.cells
    if len(cells) != 1 or len(cells[0]) != 1:
        return False
    return cells[0][0].tag in _VECTOR_ARROWS and not cells[0][0].kids


def _read(tag: str, kids: dict[str, Row], letters: frozenset[str]) -> NormalItem:
    """A symbol in one of the ways of writing it; `letters` are written in one alphabet only."""
    tag = ALIASES.get(tag, tag)
    if tag[:2] == "T!":
        word = tag[2:].strip()
        if len(word) > 1 and word.isalpha() and word.lower() not in TEXT_WORDS:
            tag = f"V!{word}"
    elif tag[:2] == "V!" and len(tag) == 3:
        plain = tree.plain_tag(tag)
        if plain in letters:
            tag = plain
            accent = only(kids.get("o"))
            if accent is not None and accent.tag in _VECTOR_ARROWS and not accent.kids:
                kids = {edge: row for edge, row in kids.items() if edge != "o"}
    elif tag[:3] == "N!.":
        tag = f"N!0{tag[2:]}"
    return normal_item(item(tag, kids))


def _write(row: Row) -> Node | None:
    """The nodes of a row."""
    head = Node("")
    stack: list[tuple[Node, str, Row]] = [(head, "w", row)]
    while stack:
        owner, edge, cells = stack.pop()
        above, on = owner, edge
        for cell in cells:
            first: Node | None = None
            last: Node | None = None
            for one in cell or (item("W!"),):
                node = Node(one.tag)
                if one.kids:
                    stack.extend([(node, below, kid) for below, kid in one.kids.items()])
                if last is None:
                    first = node
                else:
                    last.n = node
                last = node
            above.put(on, first)
            if first is not None:
                above, on = first, "e"
    return head.get("w")
