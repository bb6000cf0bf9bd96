"""Features of an equation for the base model: what a small linear encoder can learn from.

The features are symbols, units (two adjacent symbols and the edge between them), chains of three
symbols, shapes (which do not depend on the names of letters), and the symbols that the equation
begins with. All are read from the tree without alphabets, so that bold and plain letters agree.
"""

from collections import Counter
from functools import lru_cache

from eqemb.formula import tree
from eqemb.formula.layout import Layout
from eqemb.formula.likeness import bare_tag
from eqemb.formula.shapes import Shape, shapes
from eqemb.formula.tree import Node

#: Symbols of an equation that features are read from; of longer ones, the first.
MAX_FEATURE_SYMBOLS = 400


def equation_features(made: Layout, known: Counter[Shape] | None = None) -> Counter[str]:
    """Return the features of an equation, and how often each occurs; `known` are its shapes."""
    found: Counter[str] = Counter()
    if made.root is None:
        return found
    for shape, often in (shapes(made) if known is None else known).items():
        found["r " + " ".join(shape)] = often
    others = ["h " + _plain(made.root.tag)]  # counted at once, in half the time of one by one
    stack: list[tuple[Node, str, str]] = [(made.root, "", "")]
    seen = 0
    while stack and seen < MAX_FEATURE_SYMBOLS:
        node, before, above = stack.pop()
        tag = _plain(node.tag)
        seen += 1
        others.append("s " + tag)
        if above:
            others.append(f"u {above}{tag}")
        if before:
            others.append(f"t {before}{above}{tag}")
        for edge, child in tree.children(node):
            if edge != "n":
                others.append(f"e {tag} {edge}")
            stack.append((child, above, f"{tag} {edge} "))
    found.update(others)
    return found


@lru_cache(maxsize=1 << 12)
def _plain(tag: str) -> str:
    return bare_tag(tree.plain_tag(tag))
