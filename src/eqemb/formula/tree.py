"""The symbol layout tree: nodes, traversal, units, and Tangent's bracket strings.

A node has a tag, a right neighbour `n`, and at most one child on each other edge: a above,
b below, o over, u under, c and d before (above, below), w within, e next element.
Nothing here recurses: untrusted trees may be 100,000 deep.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

#: The order in which Tangent visits children.
EDGES = "aocnbude" + "w"
#: Edges that come before the right neighbour in it.
_BEFORE_NEXT = "aoc"
#: The order in which it lists nodes further inside the window of a node.
_WINDOW_EDGES = "wedubcoan"

Unit = tuple[str, str, str]


class Node:
    """One symbol; `look` holds hints for output and does not affect units."""

    __slots__ = ("kids", "look", "n", "tag")

    def __init__(self, tag: str, look: dict[str, Any] | None = None) -> None:
        self.tag = tag
        self.n: Node | None = None
        self.kids: dict[str, Node] | None = None
        self.look = look

    def get(self, edge: str) -> "Node | None":
        """The child on an edge, or None."""
        if edge == "n":
            return self.n
        return self.kids.get(edge) if self.kids else None

    def put(self, edge: str, child: "Node | None") -> None:
        """Attach a child to an edge; nothing happens without a child."""
        if child is None:
            return
        if edge == "n":
            self.n = child
        elif self.kids is None:
            self.kids = {edge: child}
        else:
            self.kids[edge] = child

    def hint(self, name: str, value: object = 1) -> "Node":
        """Set a hint for output, and return the node."""
        if self.look is None:
            self.look = {}
        self.look[name] = value
        return self

    def __repr__(self) -> str:
        return f"Node({self.tag!r})"


def is_operator(tag: str) -> bool:
    """Whether a tag is an operator: neither typed (`V!x`) nor a wildcard (`?x`)."""
    return tag[1:2] != "!" and tag[:1] != "?"


def walk(root: Node | None) -> list[Node]:
    """All nodes in the order of units."""
    found: list[Node] = []
    stack = [root] if root is not None else []
    while stack:
        node: Node | None = stack.pop()
        while node is not None:  # a run of symbols without scripts needs no stack: a third as long
            found.append(node)
            if node.kids is not None:
                stack.extend([child for _, child in reversed(children(node))])
                break
            node = node.n
    return found


def children(node: Node) -> list[tuple[str, Node]]:
    """A node's edges and children in the order of units."""
    kids, follower = node.kids, node.n
    if kids is None:
        return [("n", follower)] if follower is not None else []
    if len(kids) == 1:  # most nodes with children have one: half as long as to try all edges
        found = list(kids.items())
        if follower is not None:
            found.insert(found[0][0] in _BEFORE_NEXT, ("n", follower))
        return found
    found = []
    for edge in EDGES:
        child = node.n if edge == "n" else kids.get(edge)
        if child is not None:
            found.append((edge, child))
    return found


def baseline(node: Node | None) -> Iterator[Node]:
    """A node and its right neighbours."""
    while node is not None:
        yield node
        node = node.n


def adjacent_units(root: Node | None, *, ends: bool = False) -> list[Unit]:
    """The units of window 1: every edge of the tree; with `ends`, ends of baselines too."""
    units: list[Unit] = []
    add = units.append
    # The stack: nodes to visit, and units that come after a whole subtree.
    stack: list[Node | Unit] = [root] if root is not None else []
    while stack:
        item = stack.pop()
        if isinstance(item, tuple):
            add(item)
            continue
        node = item
        while True:
            kids, tag, follower = node.kids, node.tag, node.n
            if follower is None and ends:
                stack.append((tag, "0!", "n"))
            if kids is not None:
                # The unit of an edge comes just before everything below it.
                for edge in _REVERSED:
                    child = follower if edge == "n" else kids.get(edge)
                    if child is not None:
                        stack.append(child)
                        stack.append((tag, child.tag, edge))
                break
            if follower is None:
                break
            add((tag, follower.tag, "n"))
            node = follower
    return units


_REVERSED = EDGES[::-1]


def window_units(root: Node | None, window: int, *, ends: bool = False) -> list[Unit]:
    """Units of every node with each descendant up to `window` edges away (0 for all)."""
    units: list[Unit] = []
    stack: list[Node | Unit | tuple[Node, str, Node]] = [root] if root is not None else []
    while stack:
        item = stack.pop()
        if isinstance(item, Node):
            if ends and item.n is None:
                stack.append((item.tag, "0!", "n"))
            for edge, child in reversed(children(item)):
                stack.append(child)
                stack.append((item, edge, child))
        elif isinstance(item[0], Node):
            node, edge, child = item
            units.extend(_reach(node, edge, child, window))
        else:
            units.append(item)
    return units


def _reach(node: Node, edge: str, child: Node, window: int) -> Iterator[Unit]:
    stack = [(child, edge)]
    while stack:
        target, path = stack.pop()
        yield (node.tag, target.tag, _shorten(path))
        if window == 0 or len(path) < window:
            for step in reversed(_WINDOW_EDGES):
                below = target.get(step)
                if below is not None:
                    stack.append((below, path + step))


def _shorten(path: str) -> str:
    """Run-length encode paths of more than five edges, as Tangent does."""
    if len(path) <= 5:
        return path
    return "".join(f"{len(m[0])}{m[1]}" for m in re.finditer(r"(.)\1*", path))


def type_tag(tag: str) -> str:
    """A tag up to its `!`: the kind of the symbol."""
    if tag[1:2] == "!":
        return tag[:2]
    return "?" if tag[:1] == "?" else tag


_GENERAL = ("V!", "N!", "T!", "W!")  # symbols whose kind matters more than their name


def unit_type(unit: str) -> str:
    """A unit as a key, without the names of its variables, numbers and texts."""
    *symbols, path = unit.split("\t")
    kinds = [symbol[:2] if symbol.startswith(_GENERAL) else symbol for symbol in symbols]
    return "\t".join([*kinds, path])


@lru_cache(maxsize=1 << 12)
def plain_tag(tag: str) -> str:
    """A tag without its alphabet: bold, script and double-struck letters become plain."""
    if tag[1:2] != "!" or tag[0] not in "VN" or tag.isascii():
        return tag
    return tag[:2] + "".join(map(_plain, tag[2:]))


def _plain(char: str) -> str:
    if "\U0001d400" <= char <= "\U0001d7ff" or char in _LETTERLIKE:
        char = unicodedata.normalize("NFKC", char)
    return {"ε": "ϵ", "φ": "ϕ"}.get(char, char)


_LETTERLIKE = frozenset("ℂℍℕℙℚℝℤℬℰℱℋℐℒℳℛℭℌℑℜℨℯℊℴ𝕜")


def rename(tags: Iterable[str], fixed: frozenset[str]) -> dict[str, str]:
    """New tags for one-letter variables, by appearance; names and `fixed` tags are kept."""
    names: dict[str, str] = {}
    for tag in tags:
        if tag in names or tag in fixed or tag[:2] != "V!" or len(tag) != 3:
            continue
        if tag[2].isalpha():
            names[tag] = f"V!#{len(names) + 1}"
    return names


#: The order of children in a bracket string, after the right neighbour.
_SLT_ORDER = "abcdouwe"


def to_slt(root: Node | None, end: Node | None = None) -> str:
    """The tree as Tangent's bracket string; the root's baseline stops before `end`."""
    if root is None or root is end:
        return ""
    out: list[str] = []
    stack: list[Node | str] = [root]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            out.append(item)
            continue
        node: Node | None = item
        opened = 0
        while node is not None and node is not end:  # along the baseline without the stack
            out.append("[" + node.tag)
            opened += 1
            if node.kids:
                stack.append("]" * opened)
                opened = 0
                for edge in sorted(node.kids, key=_SLT_ORDER.index, reverse=True):
                    stack.append(node.kids[edge])
                    stack.append("," + edge)
            node = node.n
        out.append("]" * opened)
    return "".join(out)


#: The tags of a bracket string.
_SLT_TAG = re.compile(r"(?<=\[)([^\[\],]*)")


def rename_slt(text: str, rename: Callable[[str], str]) -> str:
    """A bracket string with other tags: a third of the time of writing it from the tree."""
    parts = _SLT_TAG.split(text)
    parts[1::2] = map(rename, parts[1::2])
    return "".join(parts)


#: A node of a bracket string: its tag, how many nodes end after it, and the edge of the next one.
_SLT_NODE = re.compile(r"\[([^\[\],]*)(\]*)(?:,([nabcdeouw])(?=\[))?")


def from_slt(text: str) -> Node:
    """Read a bracket string; raises ValueError with the position if it is malformed."""
    root: Node | None = None
    open_nodes: list[Node] = []
    edge, at, text = "n", 0, text.strip()
    for match in _SLT_NODE.finditer(text):
        if match.start() != at or (root is not None and not open_nodes):
            break
        tag, ended, following = match.groups()
        node = Node(tag)
        if root is None:
            root = node
        elif open_nodes[-1].get(edge) is not None:
            raise ValueError(f"two children on edge {edge!r} at character {at}")
        else:
            open_nodes[-1].put(edge, node)
        open_nodes.append(node)
        if len(ended) > len(open_nodes):
            at = match.end(1) + len(open_nodes)
            break
        if ended:
            del open_nodes[-len(ended) :]
        edge, at = following or "n", match.end()
    if at < len(text):
        raise ValueError(f"malformed tree string at character {at}: {text[at : at + 20]!r}")
    if root is None or open_nodes:
        raise ValueError(f"tree string ends prematurely: {text[-20:]!r}")
    return root
