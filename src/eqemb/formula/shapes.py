"""Features of an equation that do not depend on the names of its letters: shapes and forms.

A shape is two or three adjacent symbols of the tree with the edges between them, in which letters
are known only as the first, second or third letter of the shape. Renaming letters one to one does
not change shapes, and part of an equation has the shapes of that part. A form is the whole
equation with its letters numbered: equations of the same form are renamings of each other.
"""

from collections import Counter
from functools import lru_cache
from hashlib import blake2b

from eqemb.formula import tree
from eqemb.formula.layout import Layout
from eqemb.formula.likeness import bare_tag, is_letter
from eqemb.formula.tree import Node

Shape = tuple[str, ...]


def shapes(made: Layout) -> Counter[Shape]:
    """The shapes of an equation, and how often each occurs."""
    found: list[Shape] = []
    if made.root is None:
        return Counter()
    stack: list[tuple[Node, tuple[str, ...]]] = [(made.root, ())]
    while stack:
        node, above = stack.pop()
        line = (*above, _plain(node.tag))
        if len(line) == 5:
            found.append(_numbered(line))
            line = line[2:]
        if len(line) == 3:
            found.append(_numbered(line))
        for edge, child in tree.children(node):
            stack.append((child, (*line, edge)))
    return Counter(found)


# The same few symbols stand beside each other in most equations: with both caches, half as long.
@lru_cache(maxsize=1 << 12)
def _plain(tag: str) -> str:
    return tag if is_letter(tag) else tree.plain_tag(bare_tag(tag))


@lru_cache(maxsize=1 << 15)
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
