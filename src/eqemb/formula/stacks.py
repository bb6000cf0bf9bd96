"""Commands that put one thing over, under or beside another: fractions, roots, accents."""

from typing import Any

from eqemb.formula import commands
from eqemb.formula.rows import (
    attach,
    base_for,
    baseline_of,
    fraction,
    is_name,
    prescripts,
    script_edge,
)
from eqemb.formula.tables import Tables
from eqemb.formula.token_reader import Items
from eqemb.formula.tree import Node


class Stacks(Tables):
    """Methods of commands that build upwards or downwards."""

    __slots__ = ()

    def fraction(self, token: str, items: Items, shape: Any) -> None:
        """A fraction of two arguments."""
        if token in commands.OPTIONAL:
            self.skip_option()
        above, below = self.argument(), self.argument()
        node = fraction(above, below, shape)
        if token in ("\\dfrac", "\\cfrac", "\\dbinom"):
            node.hint("display")
        self.append(node, items)

    def general_fraction(self, _token: str, items: Items, _: Any) -> None:
        r"""`\genfrac{(}{)}{0pt}{}{a}{b}`."""
        opener = commands.delimiter(self.raw_argument() or ".")
        closer = commands.delimiter(self.raw_argument() or ".")
        bar = self.raw_argument().strip("0. ") not in ("pt", "em", "mm", "cm")
        self.raw_argument()
        above, below = self.argument(), self.argument()
        items.append(fraction(above, below, (opener, closer, bar)))

    def derivative(self, _token: str, items: Items, sign: Any) -> None:
        r"""`\pdv[2]{f}{x}`, or `\pdv{x}` for the operator alone."""
        self.skip_star()
        order = self.option() or []
        above, below = [Node(sign)], [Node(sign)]
        argument = self.argument()
        if self.tokens[self.pos] == "{":
            above += argument
            argument = self.argument()
        if order and argument:
            attach(above[0], script_edge(above[0], "a"), order)
            attach(argument[-1], script_edge(argument[-1], "a"), [Node(n.tag) for n in order])
        self.append(fraction(above, below + argument, ("", "", True)), items)

    def root(self, _token: str, items: Items, _: Any) -> None:
        """A radicand, and an index in brackets before it."""
        index = self.option()
        node = Node("O!root")
        if index:
            node.put("c", baseline_of(index))
        node.put("w", baseline_of(self.argument()))
        self.append(node, items)

    def accent(self, token: str, items: Items, shape: Any) -> None:
        """An accent over or under its argument."""
        if token in commands.OPTIONAL:
            self.skip_option()
        edge, char, wide = shape
        base = base_for(self.argument(), edge)
        mark = Node(char, {"accent": "wide" if wide else "narrow"})
        if base.kids and base.kids.keys() & set("ab"):
            mark.hint("outer")
        base.put(edge, mark)
        base.hint("stack")
        self.append(self.noted(base, edge) if char in "⏞⏟⎴⎵" else base, items)

    def noted(self, base: Node, edge: str) -> Node:
        """The script of a brace over or under is a note beyond the brace."""
        if self.tokens[self.pos] == "\\limits":
            self.pos += 1
        if self.tokens[self.pos] != ("_" if edge == "u" else "^"):
            return base
        self.pos += 1
        note = self.argument()
        outer = base_for([base], edge)
        attach(outer, edge, note)
        return outer.hint("stack")

    def stack(self, _token: str, items: Items, edge: Any) -> None:
        """Put the first argument over or under the second."""
        self.stacked(self.argument(), self.argument(), edge, items)

    def stack_on(self, _token: str, items: Items, edge: Any) -> None:
        """Put the second argument over or under the first."""
        self.skip_option()
        inner = self.argument()
        self.stacked(self.argument(), inner, edge, items)

    def stacked(self, script: Items, inner: Items, edge: str, items: Items) -> None:
        """Put a row over or under another."""
        if len(inner) > 1 and all(map(is_name, inner)):
            # `\underset{x}{\arg\max}` means the same as `\arg\max_x`.
            items.extend(inner[:-1])
            inner = inner[-1:]
        base = base_for(inner, edge)
        attach(base, edge, script)
        self.append(base.hint("stack"), items)

    def arrow(self, _token: str, items: Items, char: Any) -> None:
        """An arrow with labels over and under it."""
        under, over = self.option(), self.argument()
        node = Node(char, {"stack": True, "stretch": True})
        attach(node, "o", over)
        if under:
            attach(node, "u", under)
        self.append(node, items)

    def both_stacks(self, _token: str, items: Items, edges: Any) -> None:
        """Put the first two arguments over and under the third."""
        first, second, inner = self.argument(), self.argument(), self.argument()
        base = base_for(inner, edges[0])
        attach(base, edges[0], first)
        self.stacked(second, [base], edges[1], items)

    def plain_stack(self, _token: str, items: Items, _: Any) -> None:
        r"""`\buildrel a \over =` of plain TeX."""
        script = self.row([])
        self.pos += self.tokens[self.pos] == "\\over"
        self.stacked(script, self.argument(), "o", items)

    def plain_root(self, _token: str, items: Items, _: Any) -> None:
        r"""`\root 3 \of x` of plain TeX."""
        node = Node("O!root")
        node.put("c", baseline_of(self.argument()))
        self.pos += self.tokens[self.pos] == "\\of"
        node.put("w", baseline_of(self.argument()))
        self.append(node, items)

    def beside(self, _token: str, items: Items, _: Any) -> None:
        r"""`\sideset{_a^b}{'}\sum`: scripts at the corners of an operator with limits."""
        before, after = self.argument(), self.argument()
        base = base_for(self.argument(), "a")
        for empty in before[:1]:
            prescripts(base, empty)
        for empty in after[:1]:
            base.put("a", empty.get("a"))
            base.put("b", empty.get("b"))
        self.append(base, items)

    def before(self, _token: str, items: Items, _: Any) -> None:
        r"""`\prescript{above}{below}{X}`."""
        above, below = self.argument(), self.argument()
        base = base_for(self.argument(), "c")
        attach(base, "c", above)
        attach(base, "d", below)
        self.append(base, items)
