r"""Convert our tree to Tangent's (made with LaTeXML), for comparison with Tangent.

We group norms, floors and angles like other fences. Tangent leaves them flat, and wraps them if
they have a script; only `\lVert` is grouped. In LaTeXML, `\mathop{...}` is an operator and a
single letter in `\textbf` is text. In Tangent, a fraction without a bar is a division.
"""

import re

from eqemb.formula.tree import Node, children

_FOREIGN = re.compile(r"M!([‖⌊⌈⟨⟦|])([‖⌋⌉⟩⟧|])1x\d+\Z")


def tangent_exact(root: Node | None) -> None:
    """Convert our tree to Tangent's, in place."""
    stack = [root] if root is not None else []
    while stack:
        node = stack.pop()
        look = node.look or {}
        found = _FOREIGN.match(node.tag)
        if found and found[0][2:4] != "||" and not (found[1] == "‖" and "vert" in look):
            _flatten(node, found[1], found[2])
        elif "twin" in look and node.tag == "‖":
            second, node.tag = Node("|"), "|"
            second.kids, second.n = node.kids, node.n
            node.kids, node.n = None, second
        elif node.tag == "O!atop":
            node.tag = "O!divide"
        elif "mid" in look:
            node.tag = "∣"
        elif "mathop" in look and node.tag[:2] == "V!":
            node.tag = node.tag[2:]
        elif "text" in look and node.tag[:2] == "V!":
            node.tag = "T!" + node.tag[2:]
        stack.extend(child for _, child in children(node))


def _flatten(node: Node, opener: str, closer: str) -> None:
    """Put fences and their content on one baseline, within `M!1x1` if there are scripts."""
    kids = node.kids or {}
    inside = kids.pop("w", None)
    last, end = inside, Node(closer)
    while last is not None:
        following = last.kids.pop("e", None) if last.kids else None
        while last.n is not None:
            last = last.n
        last.n = following or end
        last = following
    scripts = {("o" if edge in "ao" else "u"): kids.pop(edge) for edge in "aoub" if edge in kids}
    if scripts:
        start = Node(opener)
        start.n = inside or end
        node.tag = "M!1x1"
        node.kids = {**kids, **scripts, "w": start}
        return
    node.tag, node.kids, end.n, node.n = opener, kids or None, node.n, inside or end
