r"""Tables in mathematics: environments, `\substack`, and the diagrams of `\xymatrix`."""

import re
from typing import Any

from eqemb.formula import commands
from eqemb.formula.rows import attach, joined, matrix
from eqemb.formula.token_reader import GROUP_DEPTH, OPTION, Items, TokenReader
from eqemb.formula.tree import Node


class Tables(TokenReader):
    """Methods of commands with cells and rows."""

    __slots__ = ()

    def environment(self, token: str, items: Items) -> None:
        r"""`\begin{...}` up to its end: a table, or rows that only break lines."""
        name = token[7:-1].strip()
        shape = commands.ENVIRONMENTS.get(name)
        if shape is None:
            self.unknown.append(token)
            shape = ("", "", 0, "rows")
        arguments = shape[2]
        if self.depth >= GROUP_DEPTH:
            self.problem("nested too deep", token)
            return
        self.skip_place()
        columns = "".join(self.raw_argument() for _ in range(arguments))
        self.tabulate(self.table(name), shape, columns or ("ll" if "cases" in name else ""), items)

    def tabulate(
        self,
        rows: list[list[Items]],
        shape: tuple[str, str, int, str],
        columns: str,
        items: Items,
    ) -> None:
        """Append what was read of an environment, according to its kind."""
        opener, closer, _, kind = shape
        if kind == "rows":
            items.extend(joined(rows))
        elif rows:
            ends = commands.delimiter(opener or "."), commands.delimiter(closer or ".")
            self.append_table(rows, ends, items).hint("columns", _columns(columns))

    def append_table(self, rows: list[list[Items]], ends: tuple[str, str], items: Items) -> Node:
        """A table between its delimiters; a single delimiter is a symbol beside it."""
        opener, closer = ends
        both = bool(opener and closer)
        table = matrix(rows, opener if both else "", closer if both else "").hint("stretch")
        if opener and not both:
            items.append(Node(opener, {"side": "none", "stretch": True}))
        self.append(table, items)
        if closer and not both:
            items.append(Node(closer, {"side": "none", "stretch": True}))
        return table

    def table(self, name: str) -> list[list[Items]]:
        r"""Rows of cells up to `\end`, or to the brace that closes a `\substack`."""
        self.depth += 1
        self.environments += name != ""
        fonts = self.fonts
        rows: list[list[Items]] = [[[]]]
        while True:
            rows[-1][-1] = self.expression(rows[-1][-1])
            self.fonts = fonts
            token = self.tokens[self.pos]
            if token == "" or token[:5] == "\\end{" or (token == "}" and not name):
                break
            if token == "\\right" and self.lefts:
                break
            self.pos += 1
            if token == "&":
                rows[-1].append([])
            elif token[:2] == "\\\\":
                rows.append([[]])
            else:
                self.stray(token, rows[-1][-1])
        self.depth -= 1
        self.environments -= name != ""
        self.end_table(name)
        while rows and rows[-1] == [[]]:
            rows.pop()
        return rows

    def end_table(self, name: str) -> None:
        """Skip the end of a table."""
        token = self.tokens[self.pos]
        if token == "}" or token[:5] == "\\end{":
            self.pos += 1
            if name and token[5:-1].strip() != name:
                self.problem("environment closed by another", token)
        else:
            self.problem("unclosed environment", name)

    def braced_table(self, items: Items) -> list[list[Items]]:
        """Rows of cells between braces; another kind of argument is one row."""
        if self.tokens[self.pos] != "{" or self.depth >= GROUP_DEPTH:
            items.extend(self.argument())
            return []
        self.pos += 1
        return self.table("")

    def row_stack(self, _token: str, items: Items, _: Any) -> None:
        r"""`\substack{a \\ b}`."""
        self.skip_option()
        rows = self.braced_table(items)
        if len(rows) == 1 and len(rows[0]) == 1:
            items.extend(rows[0][0])
        elif rows:
            self.append(matrix(rows), items)

    def plain_table(self, _token: str, items: Items, name: Any) -> None:
        r"""`\matrix{a & b \cr c & d}` of plain TeX: the environment of that name."""
        columns = "ll" if name == "cases" else ""
        self.tabulate(self.braced_table(items), commands.ENVIRONMENTS[name], columns, items)

    def diagram(self, _token: str, items: Items, _: Any) -> None:
        r"""`\xymatrix@C=1pc{A \ar[r]^f & B}`: a table with arrows in its cells."""
        end = self.pos
        while self.tokens[end] not in ("{", "") and end - self.pos < OPTION:
            end += 1
        if self.tokens[end] == "{" and self.tokens[self.pos] in ("{", "@"):
            self.pos = end
        rows = self.braced_table(items)
        if rows:
            self.append(matrix(rows), items)

    def arrow_to(self, _token: str, items: Items, _: Any) -> None:
        r"""`\ar@{-->}[rd]^f_g`: an arrow in a direction, with its labels."""
        heading: str | None = None
        labels: list[tuple[str, Items]] = []
        while (token := self.tokens[self.pos]) in _OF_ARROWS:
            if token == "[" and heading is not None:
                break
            self.pos += 1
            if token == "@":
                self.skip_style()
            elif token == "'":
                # The arrow passes under the cell at the place in brackets.
                self.skip_to("]")
            elif token == "[":
                start = self.pos
                self.skip_to("]")
                heading = "".join(self.tokens[start : self.pos - 1])
            else:
                while self.tokens[self.pos] in ("-", "<", ">"):
                    self.pos += 1
                labels.append(("u" if token == "_" else "o", self.argument()))
        node = Node(direction(heading or ""), {"arrow": True})
        for edge, label in labels:
            attach(node, edge, label)
        if node.tag in "→←":
            node.hint("stack").hint("stretch")
        self.append(node, items)

    def skip_style(self) -> None:
        """Skip the style of an arrow: `{-->}`, `<1ex>`, `/^1pc/`, `(u)`."""
        closer = {"<": ">", "/": "/", "(": ")"}.get(self.tokens[self.pos])
        if self.tokens[self.pos] == "{":
            self.skip_group()
        else:
            self.pos += self.tokens[self.pos] != ""
        if closer:
            self.skip_to(closer)

    def skip_to(self, closer: str) -> None:
        """Skip tokens up to and including a closing one, if it is near."""
        end = self.pos
        while self.tokens[end] not in (closer, "") and end - self.pos < OPTION:
            end += 1
        if self.tokens[end] == closer:
            self.pos = end + 1


#: What may follow the name of an arrow.
_OF_ARROWS = frozenset("@'[^_|")
_DIRECTIONS = {
    (1, 0): "→", (-1, 0): "←", (0, 1): "↓", (0, -1): "↑",
    (1, 1): "↘", (1, -1): "↗", (-1, 1): "↙", (-1, -1): "↖",
}  # fmt: skip


def direction(heading: str) -> str:
    """The arrow for a direction such as `rrd`: two to the right, one down."""
    across = heading.count("r") - heading.count("l")
    down = heading.count("d") - heading.count("u")
    return _DIRECTIONS.get(((across > 0) - (across < 0), (down > 0) - (down < 0)), "→")


def _columns(spec: str) -> str:
    """The alignment of columns, from the argument of `array`: letters l, c and r."""
    return "".join(char for char in re.sub(r"[@!>p]\{[^{}]*\}", "", spec) if char in "lcr")
