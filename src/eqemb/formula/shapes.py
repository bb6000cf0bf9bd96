"""Features of an equation that do not depend on the names of its letters: shapes and forms.

A shape is two or three adjacent symbols of the tree with the edges between them, in which letters
are known only as the first, second or third letter of the shape. Renaming letters one to one does
not change shapes, and part of an equation has the shapes of that part. A form is the whole
equation with its letters numbered: equations of the same form are renamings of each other.
"""

from collections import Counter
from hashlib import blake2b

from eqemb.formula import tree
from eqemb.formula.layout import Layout
from eqemb.formula.likeness import bare_tag, is_letter
from eqemb.formula.tree import Node

Shape = tuple[str, ...]


def shapes(made: Layout) -> Counter[Shape]:
    """The shapes of an equation, and how often each occurs."""
    found: Counter[Shape] = Counter()
    if made.root is None:
        return found
    stack: list[tuple[Node, tuple[str, ...]]] = [(made.root, ())]
    while stack:
        node, above = stack.pop()
        line = (*above, _plain(node.tag))
        if len(line) == 5:
            found[_numbered(line)] += 1
            line = line[2:]
        if len(line) == 3:
            found[_numbered(line)] += 1
        stack.extend((child, (*line, edge)) for edge, child in tree.children(node))
    return found


def _plain(tag: str) -> str:
    return tag if is_letter(tag) else tree.plain_tag(bare_tag(tag))


def _numbered(line: Shape) -> Shape:
    """Number the letters of a shape by appearance; edges are at odd positions."""
    names: dict[str, str] = {}
    return tuple(
        names.setdefault(part, f"V!#{len(names)}") if place % 2 == 0 and is_letter(part) else part
        for place, part in enumerate(line)
    )


def form(made: Layout) -> str:
    """The canonical form with letters numbered by appearance, without their alphabets."""
    names: dict[str, str] = {}

    def rename(tag: str) -> str:
        if is_letter(tag):
            return names.setdefault(tag, f"V!#{len(names)}")
        return tree.plain_tag(tag)

    return made.canonical(rename)


def key(text: str) -> int:
    """A 64-bit hash of a text, the same on every machine."""
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big")
