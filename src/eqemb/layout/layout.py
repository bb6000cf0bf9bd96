"""`layout(latex)`: the tree of an equation with everything that can be asked of it."""

from eqemb.layout import tree
from eqemb.layout.parse import Parser, Problem
from eqemb.layout.rows import baseline_of
from eqemb.layout.tree import Node, Unit


class Layout:
    """An equation as a tree."""

    def __init__(self, root: Node | None) -> None:
        self.root = root

    def units(self, window=1, end_of_baseline="needed"):
        ends = end_of_baseline == "all"
        if window == 1:
            return tree.adjacent_units(self.root, ends=ends)
        return tree.window_units(self.root, window, ends=ends)

    def to_slt(self):
        return tree.to_slt(self.root)


def layout(latex, tangent_exact=False):
    p = Parser(latex)
    items = p.formula()
    return Layout(baseline_of(items))
