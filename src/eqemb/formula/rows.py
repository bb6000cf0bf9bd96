"""From the symbols of one row to a baseline: fences, scripts, matrices.

Used for both LaTeX and MathML, so that both give the same tree. The rules are those of Tangent,
with our decisions (norms, floors and angles are fences).
"""

from typing import Any

from eqemb.formula.commands import FUNCTIONS, LIMITS
from eqemb.formula.tree import Node, is_operator

FENCE_OPENERS = {"(": "(", "&lsqb;": "(", "{": "{", "⟨": "⟨", "⌊": "⌊", "⌈": "⌊", "⟦": "⟦"}
FENCE_CLOSERS = {")": "(", "&rsqb;": "(", "}": "{", "⟩": "⟨", "⌋": "⌊", "⌉": "⌊", "⟧": "⟦"}
_BARS = frozenset("|‖")
FENCES = frozenset(FENCE_OPENERS) | frozenset(FENCE_CLOSERS) | _BARS
_UNTIDY = frozenset({"", "W!", ":"})
#: Never between a pair of unmarked bars: `p(a|b) = p(c|d)`.
_SEPARATORS = frozenset("=<>≤≥∼≈≡∝:;→∈≠≪≫⇒⟹") | {"&comma;", ":="}
_POSTFIX = frozenset({"!", "′", "′′", "⊤", "*", "†", "⋆"})


def chain(items: list[Node]) -> Node | None:
    """Link the nodes of a row from left to right, and return the first."""
    if not items:
        return None
    previous = items[0]
    for node in items[1:]:
        while previous.n is not None:
            previous = previous.n
        previous.n = node
        previous = node
    return items[0]


def baseline_of(items: list[Node]) -> Node | None:
    """Group the fences of a row and link it."""
    return chain(fences(items))


def fences(items: list[Node]) -> list[Node]:
    """Replace every pair of fences by one node that contains what is between them."""
    tags = {node.tag for node in items}
    if not tags.isdisjoint(_UNTIDY):
        items = tidy(items)
    return items if tags.isdisjoint(FENCES) else _Pairing().run(items)


def tidy(items: list[Node]) -> list[Node]:
    """Turn marks of alignment into hints, and attach scripts that precede their base."""
    out: list[Node] = []
    marks: dict[str, Any] = {}
    for node in items:
        if not node.tag:
            _mark(marks, node.look or {})
            continue
        if marks:
            node.look = {**(node.look or {}), **marks}
            marks = {}
        if node.tag == "W!" and node.kids is None:
            continue
        before = out[-1] if out else None
        if node.tag == "=" and before is not None and before.tag == ":" and before.kids is None:
            before.tag, before.kids = ":=", node.kids
        elif node.tag == "W!" and before is not None and _takes_more(before):
            _more_scripts(before, node)
        elif before is not None and before.tag == "W!" and not is_operator(node.tag):
            prescripts(node, out.pop())
            out.append(node)
        else:
            _settle(out)
            out.append(node)
    _settle(out)
    return out


def _mark(marks: dict[str, Any], look: dict[str, Any]) -> None:
    """Record a line break, which starts a new row, or a step to the next column."""
    if "row" in look:
        marks.clear()
        marks["row"] = True
    if "cell" in look:
        marks["cell"] = marks.get("cell", 0) + look["cell"]


def _settle(out: list[Node]) -> None:
    r"""`{}^2` at the end is a script of the symbol before it: `\ell{}^2(x)`."""
    if len(out) > 1 and out[-1].tag == "W!" and out[-2].tag[:2] == "V!":
        _more_scripts(out[-2], out.pop())


def _takes_more(node: Node) -> bool:
    """Whether `{}_j` after a node is another index of it: `T^i{}_j`, but not `x {}_j Y`."""
    return node.kids is not None and node.tag[:2] == "V!" and not node.kids.keys() - set("ab")


def _more_scripts(base: Node, empty: Node) -> None:
    for edge, child in (empty.kids or {}).items():
        attach(base, edge, [child])


def prescripts(base: Node, empty: Node) -> None:
    """Attach the scripts of an empty group before a base to the base's left."""
    for edge, before in (("a", "c"), ("b", "d")):
        base.put(before, empty.get(edge))
    base.look = {**(empty.look or {}), **(base.look or {})} or None


class _Pairing:
    """One pass over a row; every symbol is moved at most once per level of nesting."""

    def __init__(self) -> None:
        self.out: list[Node] = []
        self.open: list[tuple[str, int]] = []
        """Kinds and positions of open fences; a bar is a kind of its own."""
        self.count: dict[str, int] = {}
        self.loose = False

    def run(self, items: list[Node]) -> list[Node]:
        for node in items:
            tag = node.tag
            if tag not in FENCES:
                self.out.append(node)
                continue
            side = node.look.get("side") if node.look else None
            if side == "none":
                self.out.append(node)
            elif tag in _BARS:
                self.bar(node, side)
            elif tag in FENCE_OPENERS:
                self.push(FENCE_OPENERS[tag], node)
            else:
                self.close(FENCE_CLOSERS[tag], node)
        return pair_bars(self.out) if self.loose else self.out

    def push(self, kind: str, node: Node) -> None:
        self.open.append((kind, len(self.out)))
        self.count[kind] = self.count.get(kind, 0) + 1
        self.out.append(node)

    def close(self, kind: str, node: Node) -> None:
        if not self.count.get(kind):
            self.out.append(node)
            return
        while True:
            found, place = self.open.pop()
            self.count[found] -= 1
            if found == kind:
                break
            self.loose = self.loose or found in _BARS
        content = self.out[place + 1 :]
        if content:
            opener = self.out[place]
            del self.out[place:]
            # Bars between angles are the middle of a bra-ket.
            pairs = self.loose and kind != "⟨"
            self.out.append(fence(opener, pair_bars(content) if pairs else content, node))
        else:
            self.out.append(node)

    def bar(self, node: Node, side: object) -> None:
        kind = node.tag
        if node.look and "twin" in node.look and self.splits(node):
            return
        after_operand = bool(self.out) and _is_operand(self.out[-1])
        inside = bool(self.open) and self.open[-1][0] == kind
        # After a single symbol a bar closes, whatever the symbol: `|\cdot|`, `\|\nabla\|`.
        single = inside and self.open[-1][1] == len(self.out) - 2
        ends = after_operand or single or (bool(self.out) and _may_end(self.out[-1]))
        if inside and side != "open" and (ends or side == "close"):
            self.close(kind, node)
        elif side == "open" or (side is None and not after_operand and node.kids is None):
            self.push(kind, node)
        else:
            self.loose = True
            self.out.append(node)

    def splits(self, node: Node) -> bool:
        """Whether `||` is two bars: the end of `|x|`, and perhaps the start of another."""
        if not self.open or self.open[-1][0] != "|" or not _is_operand(self.out[-1]):
            return False
        self.close("|", Node("|"))
        last = Node("|")
        last.kids = node.kids
        self.bar(last, "open" if node.kids is None else None)
        return True


def _is_operand(node: Node) -> bool:
    tag = node.tag
    if is_operator(tag):
        return tag in _POSTFIX or tag in FENCE_CLOSERS or (tag in _BARS and node.kids is not None)
    # After a name (log, max) a bar opens.
    return not (tag[0] == "V" and len(tag) > 3 and tag.isascii())


def _may_end(node: Node) -> bool:
    return node.tag[:2] == "V!" and node.tag not in FUNCTIONS


def pair_bars(items: list[Node]) -> list[Node]:
    """Pair the bars that position alone does not decide: `2|x|y`, but not `p(a|b)`."""
    places = [i for i, node in enumerate(items) if node.tag in _BARS and _free(node)]
    if len(places) < 2:
        return items
    out: list[Node] = []
    done = at = 0
    while at + 1 < len(places):
        first, second = places[at], places[at + 1]
        if items[first].tag == items[second].tag and _embraces(items, first, second):
            out.extend(items[done:first])
            out.append(fence(items[first], items[first + 1 : second], items[second]))
            done = second + 1
            at += 1
        at += 1
    out.extend(items[done:])
    return out


def _free(node: Node) -> bool:
    return not (node.look and node.look.get("side") == "none")


def _embraces(items: list[Node], first: int, second: int) -> bool:
    if second - first < 2 or items[first].kids is not None:
        return False
    if not _is_operand(items[second - 1]) and items[second - 1].tag[:2] != "V!":
        return False
    return all(node.tag not in _SEPARATORS for node in items[first + 1 : second])


def fence(opener: Node, content: list[Node], closer: Node) -> Node:
    """The node of a fenced group; scripts of the closing fence become those of the group."""
    only = content[0] if len(content) == 1 else None
    if only is not None and only.tag[:2] == "M!" and only.tag[2:3].isdigit() and _bare(only):
        group = only
        group.tag = f"M!{opener.tag}{closer.tag}{only.tag[2:]}"
    else:
        parts = _split(content)
        group = Node(f"M!{opener.tag}{closer.tag}1x{len(parts)}")
        group.put("w", elements(parts))
    if closer.kids:
        for edge, label in (("o", "a"), ("u", "b"), ("a", "a"), ("b", "b")):
            group.put(label, closer.kids.get(edge))
    for edge, child in (opener.kids or {}).items():
        if group.get(edge) is None:
            group.put(edge, child)
    if opener.look:
        group.look = {**(group.look or {}), **opener.look}
        group.look.pop("side", None)
    return group


def _bare(matrix: Node) -> bool:
    table = matrix.tag != "M!1x1" or (matrix.look is not None and "widths" in matrix.look)
    return table and (matrix.kids is None or matrix.kids.keys() <= {"w"})


def _split(content: list[Node]) -> list[list[Node]]:
    parts: list[list[Node]] = [[]]
    for node in content:
        parts[-1].append(node)
        if node.tag == "&comma;":
            parts.append([])
    if not parts[-1]:
        parts.pop()
    return parts


def elements(cells: list[list[Node]]) -> Node | None:
    """Link cells by `e`, first symbol to first symbol; an empty cell is `W!`."""
    first = previous = None
    for cell in cells:
        head = chain(cell) or Node("W!")
        if previous is None:
            first = head
        else:
            previous.put("e", head)
        previous = head
    return first


def matrix(rows: list[list[list[Node]]], opener: str = "", closer: str = "") -> Node:
    """A table of cells, each a list of items; columns are counted in the first row."""
    columns = len(rows[0]) if rows else 0
    node = Node(f"M!{opener}{closer}{len(rows)}x{columns}")
    node.put("w", elements([fences(cell) for row in rows for cell in row]))
    node.hint("widths", [len(row) for row in rows])
    return node


def wrap(items: list[Node]) -> Node:
    """One node for a row: its only symbol, or else an invisible group."""
    items = fences(items)
    if len(items) == 1 and items[0].n is None:
        return items[0]
    group = Node("M!1x1")
    group.put("w", chain(items))
    return group


def base_for(items: list[Node], edge: str) -> Node:
    """The node that a script on `edge` of a row is attached to; wrapped if the edge is taken."""
    if not items:
        return Node("W!")
    node = wrap(items)
    if node.get(edge) is not None:
        group = Node("M!1x1")
        group.put("w", node)
        return group
    return node


def script_edge(node: Node, edge: str) -> str:
    """The edge of a script: over and under for operators with limits and plain operators."""
    limits = node.look is not None and "limits" in node.look
    if limits or node.tag in LIMITS or is_operator(node.tag):
        return "o" if edge == "a" else "u"
    return edge


def attach(base: Node, edge: str, script: list[Node]) -> bool:
    """Attach a script; False if there was one already, which is then continued."""
    head = baseline_of(script)
    if head is None:
        return True
    there = base.get(edge)
    if there is None:
        base.put(edge, head)
        return True
    # The end of a continued script is cached: `x_a_b_c...` may be long.
    last: Node = (there.look or {}).get("last", there)
    while last.n is not None:
        last = last.n
    last.n = head
    there.hint("last", head)
    return last.tag[:1] == "′"


def fraction(above: list[Node], below: list[Node], shape: tuple[str, str, bool]) -> Node:
    """A fraction from its two rows; `shape` is (open, close, whether there is a bar).

    Without a bar it is not a quotient: the node of a binomial coefficient is `O!atop`.
    """
    opener, closer, bar = shape
    node = Node("O!divide" if bar else "O!atop")
    node.put("o", baseline_of(above))
    node.put("u", baseline_of(below))
    if opener and closer:
        return fence(Node(opener, {"stretch": True}), [node], Node(closer))
    return node


def joined(rows: list[list[list[Node]]]) -> list[Node]:
    """Join the rows of an alignment into one row, with marks for line breaks."""
    items: list[Node] = []
    for index, row in enumerate(rows):
        if index:
            items.append(Node("", {"row": True}))
        for column, cell in enumerate(row):
            if column:
                items.append(Node("", {"cell": 1}))
            items.extend(cell)
    return items


def is_name(node: Node) -> bool:
    """Whether a node is a word, such as each of `arg max`, that may take limits."""
    return node.tag[:2] == "V!" and len(node.tag) > 3 and node.kids is None
