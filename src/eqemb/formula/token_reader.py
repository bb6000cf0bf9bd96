"""Read the tokens of a formula: rows, groups and arguments, with problems recorded.

Each token is read once. Groups may nest `GROUP_DEPTH` deep; a deeper one is skipped and becomes
`E!`. `parse` builds on this class and defines what commands do.
"""

import re
from abc import ABC, abstractmethod
from typing import NamedTuple

from eqemb.formula import commands
from eqemb.formula.commands import SYMBOLS, escape
from eqemb.formula.rows import fraction
from eqemb.formula.tokens import tokens
from eqemb.formula.tree import Node

#: Maximum nesting of groups; Python's stack allows no more when called from deep code.
GROUP_DEPTH = 80
#: Maximum number of tokens in an option.
OPTION = 100
#: Longer input is cut: no equation is longer, and time and memory stay bounded.
LENGTH = 200_000

Items = list[Node]


class FormulaProblem(NamedTuple):
    """What could not be read, and the token."""

    cause: str
    command: str = ""


class TokenReader(ABC):
    """The state of one reading; the `items` of a row are nodes that are not linked yet."""

    __slots__ = ("depth", "environments", "fonts", "lefts", "pos", "problems", "space", "tokens",
                 "unknown", "word")  # fmt: skip

    def __init__(self, latex: str, depth: int = 0) -> None:
        self.problems: list[FormulaProblem] = []
        if len(latex) > LENGTH:
            self.problems.append(FormulaProblem("too long"))
            latex = latex[:LENGTH]
        self.tokens = tokens(latex)
        self.tokens.append("")
        self.pos = 0
        self.depth = depth
        self.fonts = ""
        self.space = 0.0
        self.word = -1
        self.lefts = self.environments = 0
        self.unknown: list[str] = []

    def problem(self, cause: str, command: str = "") -> None:
        """Record what could not be read."""
        self.problems.append(FormulaProblem(cause, command))

    def append(self, node: Node, items: Items) -> None:
        """Add to a row, after the accumulated space."""
        if self.space:
            node.hint("space", self.space)
            self.space = 0.0
        items.append(node)

    # Rows and groups

    def formula(self) -> Items:
        """Read the whole input; alignment marks and line breaks join rows."""
        items: Items = []
        while True:
            items = self.expression(items)
            token = self.tokens[self.pos]
            if token == "":
                return items
            self.pos += 1
            if token == "&":
                items.append(Node("", {"cell": 1}))
            elif token[:2] == "\\\\":
                items.append(Node("", {"row": True}))
            else:
                self.stray(token, items)

    def stray(self, token: str, items: Items) -> None:
        """Record a closing token without an opening one."""
        self.problem("nothing to close", token)
        items.append(Node("E!" + escape(token)))

    def expression(self, items: Items) -> Items:
        r"""A row up to a closing token, with `\over` and similar."""
        items = self.row(items)
        token = self.tokens[self.pos]
        while token in commands.INFIX:
            self.pos += 1
            if token == "\\above":
                self.length()
            below = self.row([])
            items = [fraction(items, below, commands.INFIX[token])]
            token = self.tokens[self.pos]
        return items

    def row(self, items: Items) -> Items:
        """Symbols up to a closing token, which is not consumed."""
        source = self.tokens
        symbols = SYMBOLS
        while True:
            token = source[self.pos]
            tag = symbols.get(token)
            if tag is not None and not self.fonts and not self.space:
                self.pos += 1
                items.append(Node(tag))
            elif token in CLOSERS or token[:2] == "\\\\" or token[:5] == "\\end{":
                return items
            else:
                self.pos += 1
                self.read(token, items)

    @abstractmethod
    def read(self, token: str, items: Items) -> None:
        """Read one token with its arguments, and append the result."""

    def group(self) -> Items:
        """The content of braces, the opening one of which has been read."""
        if self.depth >= GROUP_DEPTH:
            return self.too_deep()
        self.depth += 1
        fonts = self.fonts
        items: Items = []
        while True:
            items = self.expression(items)
            token = self.tokens[self.pos]
            if token == "}":
                self.pos += 1
                break
            if self.ends(token):
                self.problem("unclosed {")
                break
            self.pos += 1
            if token != "&" and token[:2] != "\\\\":
                self.stray(token, items)
        self.fonts = fonts
        self.depth -= 1
        return items

    def ends(self, token: str) -> bool:
        """Whether a token closes an outer group."""
        if token[:4] == "\\end":
            return self.environments > 0
        return token == "" or (token == "\\right" and self.lefts > 0)

    def too_deep(self) -> Items:
        """Skip a group that is nested too deeply."""
        self.problem("nested too deep")
        self.pos -= 1
        self.skip_group()
        return [Node("E!deep")]

    def skip_group(self) -> None:
        """Skip a braced group, if one is next."""
        source, pos, level = self.tokens, self.pos, 0
        while source[pos] != "":
            level += (source[pos] == "{") - (source[pos] == "}")
            if level == 0 and source[pos] not in "{}":
                break
            pos += 1
            if level == 0:
                break
        self.pos = pos

    def argument(self) -> Items:
        """A braced group or a single token."""
        token = self.tokens[self.pos]
        while token in commands.SPACES:
            self.pos += 1
            token = self.tokens[self.pos]
        if token == "{":
            self.pos += 1
            return self.group()
        if (
            token in CLOSERS
            or token[:2] == "\\\\"
            or token[:5] == "\\end{"
            or self.depth >= GROUP_DEPTH
        ):
            self.problem("missing argument", token)
            return [Node("E!missing")]
        self.pos += 1
        if len(token) > 1 and token[0] in "0123456789.":
            # TeX takes one digit: put the others back.
            self.pos -= 1
            self.tokens[self.pos] = token[1:]
            return [Node("N!" + token[0])]
        self.depth += 1
        items: Items = []
        self.read(token, items)
        self.depth -= 1
        return items

    def option(self) -> Items | None:
        """The content of square brackets, if they are next."""
        if self.tokens[self.pos] != "[" or self.depth >= GROUP_DEPTH:
            return None
        self.pos += 1
        self.depth += 1
        items: Items = []
        while self.tokens[self.pos] != "]":
            token = self.tokens[self.pos]
            if token in CLOSERS or token[:5] == "\\end{" or token[:2] == "\\\\":
                self.problem("unclosed [")
                break
            self.pos += 1
            self.read(token, items)
        else:
            self.pos += 1
        self.depth -= 1
        return items

    def skip_star(self) -> bool:
        """Skip a star, if it is next."""
        if self.tokens[self.pos] != "*":
            return False
        self.pos += 1
        return True

    def skip_place(self) -> None:
        """Skip the `[t]` or `[]` of an environment; a longer bracket is in its first cell."""
        place = self.tokens[self.pos : self.pos + 3]
        if place[:2] == ["[", "]"]:
            self.pos += 2
        elif place[:1] == ["["] and place[2:] == ["]"] and place[1] in "tbclr":
            self.pos += 3

    def skip_option(self) -> None:
        """Skip bracketed options, if they are next."""
        while self.tokens[self.pos] == "[":
            end = self.pos
            # No option is long, and an unlimited search would take quadratic time.
            while self.tokens[end] not in _OPTION_ENDS and end - self.pos < OPTION:
                end += 1
            if self.tokens[end] != "]":
                return
            self.pos = end + 1

    def length(self) -> None:
        """Skip a bare length such as `-3.5pt plus 1em`."""
        while self.tokens[self.pos] in ("-", "+", "="):
            self.pos += 1
        if self.tokens[self.pos][:1] in tuple("0123456789."):
            self.pos += 1
        unit = self.tokens[self.pos] + self.tokens[min(self.pos + 1, len(self.tokens) - 1)]
        if unit in ("pt", "em", "ex", "mu", "cm", "mm", "in", "bp"):
            self.pos += 2
        elif self.tokens[self.pos][:1] == "\\":
            self.pos += 1

    def raw_argument(self) -> str:
        """The next argument as text, with its tokens joined."""
        start = self.pos
        if self.tokens[start] != "{":
            self.pos += self.tokens[start] != ""
            return self.tokens[start]
        self.skip_group()
        inside = self.tokens[start + 1 : self.pos - 1]
        return "".join(token + " " if _CONTROL_WORD.match(token) else token for token in inside)


#: A letter after a command's name would be read as part of the name.
_CONTROL_WORD = re.compile(r"\\[a-zA-Z@]+\Z")
_OPTION_ENDS = frozenset({"]", "", "{", "}"})
CLOSERS = frozenset({"", "}", "&", "\\right", "\\end"}) | frozenset(commands.INFIX)
