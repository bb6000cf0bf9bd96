"""LaTeX mathematics straight to the layout tree.

Recursive descent over a list of tokens, each read once. Groups may nest `DEPTH` deep; what lies
deeper is passed over and stands as `E!`. Nothing raises: what cannot be read is a problem with
its cause, and what is not known is a symbol by its name.
"""

import re
import unicodedata
from collections.abc import Callable
from typing import NamedTuple

from eqemb.layout import commands
from eqemb.layout.alphabets import styled
from eqemb.layout.commands import SYMBOLS, escape
from eqemb.layout.rows import (
    attach,
    base_for,
    baseline_of,
    fence,
    fences,
    matrix,
    script_edge,
    wrap,
)
from eqemb.layout.tokens import tokens
from eqemb.layout.tree import Node

#: How deep groups may nest; the frames of Python allow no more when called from deep code.
DEPTH = 100
#: Longer input is cut here: no equation is, and time and memory stay bounded.
LENGTH = 200_000

Items = list[Node]


class Problem(NamedTuple):
    """What was not read, and the token at which."""

    cause: str
    command: str = ""


class Parser:
    """The state of one reading; `items` of a row are nodes not yet linked."""

    __slots__ = ("depth", "environments", "fonts", "lefts", "pos", "problems", "space", "tokens",
                 "unknown", "word")  # fmt: skip

    def __init__(self, latex: str, depth: int = 0) -> None:
        self.problems: list[Problem] = []
        if len(latex) > LENGTH:
            self.problems.append(Problem("too long"))
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
        self.problems.append(Problem(cause, command))

    # Rows and groups

    def formula(self) -> Items:
        """The whole input; alignment marks and line breaks join, stray closers are noted."""
        items: Items = []
        while True:
            items = self.expression(items)
            token = self.tokens[self.pos]
            if token == "":
                return items
            self.pos += 1
            if token == "&":
                items.append(Node("", {"cell": True}))
            elif token[:2] == "\\\\":
                items.append(Node("", {"row": True}))
            else:
                self.stray(token, items)

    def stray(self, token: str, items: Items) -> None:
        self.problem("nothing to close", token)
        items.append(Node("E!" + escape(token)))

    def expression(self, items: Items) -> Items:
        """A row up to a closing token, with `\\over` and its kin."""
        items = self.row(items)
        token = self.tokens[self.pos]
        while token in commands.INFIX:
            self.pos += 1
            if token == "\\above":
                self.length()
            below = self.row([])
            items = [_fraction(items, below, commands.INFIX[token])]
            token = self.tokens[self.pos]
        return items

    def row(self, items: Items) -> Items:
        """Symbols up to a closing token, which is left unread."""
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

    def read(self, token: str, items: Items) -> None:
        """One token with its arguments."""
        tag = SYMBOLS.get(token)
        if tag is not None:
            self.symbol(tag, items)
            return
        entry = HANDLERS.get(token)
        if entry is not None:
            entry[0](self, token, items, entry[1])
        elif token[0] == "\\":
            self.command(token, items)
        elif token[0] == "'":
            self.primes(token, items)
        elif token[0] in "0123456789.":
            self.symbol("N!" + token, items)
        else:
            self.symbol(commands.character(token), items)

    def symbol(self, tag: str, items: Items) -> None:
        """Append a symbol in the style of the moment; letters of a word style join."""
        style = self.fonts
        letter = tag[:2] == "V!" and len(tag) == 3 and tag.isascii()  # noqa: PLR2004
        if style and (len(tag) == 3 or tag[0] == "N"):  # noqa: PLR2004
            tag = styled(tag, style)
            if letter and style in commands.WORD_STYLES:
                joins = self.word == self.pos - 1 and items and items[-1].kids is None
                self.word = self.pos
                if joins:
                    items[-1].tag += tag[2:]
                    return
        if tag == "|" and self.space < 0 and items and items[-1].tag == "|":
            # `|\!|` is a norm bar made by hand.
            self.space = 0.0
            items[-1].tag, items[-1].look = "‖", {"twin": True}
            return
        node = Node(tag)
        if letter and style == "rm":
            node.hint("upright")
        self.append(node, items)

    def append(self, node: Node, items: Items) -> None:
        if self.space:
            node.hint("space", self.space)
            self.space = 0.0
        items.append(node)

    def group(self) -> Items:
        """What stands between braces; the opening one has been read."""
        if self.depth >= DEPTH:
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
        """Whether a token closes something that was opened further out."""
        if token[:4] == "\\end":
            return self.environments > 0
        return token == "" or (token == "\\right" and self.lefts > 0)

    def too_deep(self) -> Items:
        self.problem("nested too deep")
        self.pos -= 1
        self.skip_group()
        return [Node("E!deep")]

    def skip_group(self) -> None:
        """Pass over a braced group, if one is next."""
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
        if token in CLOSERS or token[:2] == "\\\\" or token[:5] == "\\end{" or self.depth >= DEPTH:
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
        """What stands between square brackets, if they are next."""
        if self.tokens[self.pos] != "[" or self.depth >= DEPTH:
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

    def skip_option(self) -> None:
        """Pass over `*` and a bracketed option, if they are next."""
        if self.tokens[self.pos] == "*":
            self.pos += 1
        while self.tokens[self.pos] == "[":
            end = self.pos
            while self.tokens[end] not in ("]", "", "{", "}"):
                end += 1
            if self.tokens[end] != "]":
                return
            self.pos = end + 1

    def length(self) -> None:
        """Pass over a bare length such as `-3.5pt plus 1em`."""
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
        """The next argument as text, its tokens joined."""
        start = self.pos
        if self.tokens[start] != "{":
            self.pos += self.tokens[start] != ""
            return self.tokens[start]
        self.skip_group()
        return "".join(self.tokens[start + 1 : self.pos - 1])

    # What commands do; each is (parser, token, items, data of its table)

    def braced(self, token: str, items: Items, _: object = None) -> None:
        """A group in a row: its symbols join the row unless a script makes it one thing."""
        inner = self.group()
        following = self.tokens[self.pos]
        if following in ("^", "_") or following[:1] == "'":
            items.append(wrap(inner).hint("whole") if inner else Node("W!"))
        else:
            items.extend(inner)

    def script(self, token: str, items: Items, edge: object) -> None:
        """A superscript or subscript of what came last."""
        script = self.argument()
        if len(script) > 1 and all(node.tag == "′" for node in script):
            script = [Node("′" * len(script))]
        self.hang(items, str(edge), script)

    def hang(self, items: Items, edge: str, script: Items) -> None:
        if not items or not items[-1].tag:
            items.append(Node("W!"))
        base = items[-1]
        edge = script_edge(base, edge)
        if base.get(edge) is not None and base.look and ("whole" in base.look or "stack" in base.look):
            base = items[-1] = base_for([base], edge)
            edge = script_edge(base, "a" if edge in "ao" else "b")
        if not attach(base, edge, script):
            self.problem("double script", "^" if edge in "ao" else "_")

    def primes(self, token: str, items: Items) -> None:
        self.hang(items, "a", [Node("′" * len(token))])

    def spacing(self, token: str, items: Items, width: object) -> None:
        self.space += float(width)  # type: ignore[arg-type]

    def drop(self, token: str, items: Items, count: object) -> None:
        """A command that shows nothing goes with its arguments."""
        if not count:
            return
        if token in commands.LENGTHS and self.tokens[self.pos] != "{":
            self.length()
            return
        self.skip_option()
        for _ in range(int(count)):  # type: ignore[call-overload]
            self.raw_argument()

    def transparent(self, token: str, items: Items, count: object) -> None:
        """A command of which only the last argument is seen."""
        self.skip_option()
        for _ in range(int(count)):  # type: ignore[call-overload]
            self.raw_argument()
            self.skip_option()
        items.extend(self.argument())

    def alphabet(self, token: str, items: Items, style: object) -> None:
        outer, self.fonts = self.fonts, str(style)
        inner = self.argument()
        self.fonts = outer
        items.extend(inner)

    def switch(self, token: str, items: Items, style: object) -> None:
        self.fonts = str(style)

    def fraction(self, token: str, items: Items, shape: object) -> None:
        self.skip_option()
        above, below = self.argument(), self.argument()
        node = _fraction(above, below, shape)  # type: ignore[arg-type]
        if token in ("\\dfrac", "\\cfrac", "\\dbinom"):
            node.hint("display")
        self.append(node, items)

    def general_fraction(self, token: str, items: Items, _: object) -> None:
        """`\\genfrac{(}{)}{0pt}{}{a}{b}`."""
        opener = _delimiter(self.raw_argument() or ".")
        closer = _delimiter(self.raw_argument() or ".")
        bar = self.raw_argument().strip("0. ") not in ("pt", "em", "mm", "cm")
        self.raw_argument()
        above, below = self.argument(), self.argument()
        items.append(_fraction(above, below, (opener, closer, bar)))

    def root(self, token: str, items: Items, _: object) -> None:
        index = self.option()
        node = Node("O!root")
        if index:
            node.put("c", baseline_of(index))
        node.put("w", baseline_of(self.argument()))
        self.append(node, items)

    def accent(self, token: str, items: Items, shape: object) -> None:
        edge, char, wide = shape  # type: ignore[misc]
        base = base_for(self.argument(), edge)
        mark = Node(char, {"accent": "wide" if wide else "narrow"})
        if base.kids and base.kids.keys() & set("ab"):
            mark.hint("outer")
        base.put(edge, mark)
        base.hint("stack")
        self.append(self.noted(base, edge) if char in "⏞⏟⎴⎵" else base, items)

    def noted(self, base: Node, edge: str) -> Node:
        """A brace under or over takes its script as a note beyond the brace."""
        if self.tokens[self.pos] == "\\limits":
            self.pos += 1
        if self.tokens[self.pos] != ("_" if edge == "u" else "^"):
            return base
        self.pos += 1
        note = self.argument()
        outer = base_for([base], edge)
        attach(outer, edge, note)
        return outer.hint("stack")

    def stack(self, token: str, items: Items, edge: object) -> None:
        script = self.argument()
        base = base_for(self.argument(), str(edge))
        attach(base, str(edge), script)
        self.append(base.hint("stack"), items)

    def arrow(self, token: str, items: Items, char: object) -> None:
        under, over = self.option(), self.argument()
        node = Node(str(char), {"stack": True, "stretch": True})
        attach(node, "o", over)
        if under:
            attach(node, "u", under)
        self.append(node, items)

    def negated(self, token: str, items: Items, _: object) -> None:
        """`\\not` strikes the next symbol through."""
        inner = self.argument()
        if inner and is_plain(inner[0].tag):
            inner[0].tag = unicodedata.normalize("NFC", inner[0].tag[:1] + "\u0338")
        items.extend(inner)

    def operator_name(self, token: str, items: Items, _: object) -> None:
        """`\\operatorname{arg\\,max}`: a word, or words, of which the last takes limits."""
        limits = self.tokens[self.pos] == "*" or token != "\\operatorname"
        if self.tokens[self.pos] == "*":
            self.pos += 1
        outer, self.fonts = self.fonts, "rm"
        inner = self.argument()
        self.fonts = outer
        for node in inner:
            if node.tag == "−":
                node.tag = "-"
        name = "".join(node.tag[2:] if node.tag[1:2] == "!" else node.tag for node in inner)
        if all(node.kids is None for node in inner) and not _spaced(inner):
            inner = [Node("V!" + name)] if name else []
        if inner and limits:
            inner[-1].hint("limits")
        for node in inner:
            node.tag = SYMBOLS.get("\\" + node.tag[2:], node.tag) if node.tag[:2] == "V!" else node.tag
            node.hint("name")
        items.extend(inner)

    def operator(self, token: str, items: Items, _: object) -> None:
        """`\\mathop{...}`: scripts of its argument are limits."""
        inner = self.argument()
        following = self.tokens[self.pos]
        if len(fences(inner)) > 1 and following not in ("^", "_", "\\limits"):
            items.extend(inner)
        elif inner:
            items.append(wrap(inner).hint("limits").hint("mathop"))

    def modulus(self, token: str, items: Items, _: object) -> None:
        inner = [Node("mod"), *self.argument()]
        if token == "\\pmod":
            self.append(fence(Node("("), fences(inner), Node(")")), items)
        else:
            items.extend(inner)

    def left(self, token: str, items: Items, _: object) -> None:
        """`\\left ... \\right` pair with each other, whatever they are."""
        if self.depth >= DEPTH:
            self.problem("nested too deep", token)
            return
        opener = Node(self.delimiter(), {"stretch": True})
        self.depth += 1
        self.lefts += 1
        fonts, inner = self.fonts, self.inside_left()
        self.fonts = fonts
        self.depth -= 1
        self.lefts -= 1
        closer = Node("", {"stretch": True})
        if self.tokens[self.pos] == "\\right":
            self.pos += 1
            closer.tag = self.delimiter()
        else:
            self.problem("unclosed \\left")
        inner = fences(inner)
        if opener.tag and closer.tag and inner:
            self.append(fence(opener, inner, closer), items)
            return
        ends = [node.hint("side", "none") for node in (opener, closer)]
        items.extend(node for node in (ends[0], *inner, ends[1]) if node.tag)

    def inside_left(self) -> Items:
        items: Items = []
        while True:
            items = self.expression(items)
            token = self.tokens[self.pos]
            if token in ("\\right", "", "}") or self.ends(token):
                return items
            self.pos += 1
            if token != "&" and token[:2] != "\\\\":
                self.stray(token, items)

    def delimiter(self) -> str:
        token = self.tokens[self.pos]
        if token in ("", "}", "{") or token[:2] == "\\\\":
            self.problem("missing delimiter")
            return ""
        self.pos += 1
        return _delimiter(token)

    def middle(self, token: str, items: Items, side: object) -> None:
        """`\\big(` and its kin, `\\middle|`: a delimiter that knows its side."""
        char = self.delimiter()
        if char == "|" and items and _same_bar(items[-1], token):
            items[-1].tag, items[-1].look = "‖", {"size": token}
            if side:
                items[-1].hint("side", side)
        elif char:
            look = {"side": side, "size": token} if side else {"size": token}
            self.append(Node(char, dict(look)), items)

    def sided(self, token: str, items: Items, shape: object) -> None:
        char, side = shape  # type: ignore[misc]
        self.append(Node(char, {"side": side, "vert": True}), items)

    def mid(self, token: str, items: Items, _: object) -> None:
        """The bar that stands between: never a fence."""
        self.append(Node("|", {"side": "none", "mid": True}), items)

    def twin(self, token: str, items: Items, _: object) -> None:
        """`||`: a norm bar, or the end of one absolute value and the start of the next."""
        self.append(Node("‖", {"twin": True}), items)

    def paired(self, token: str, items: Items, pair: object) -> None:
        """`\\norm{x}`, `\\bra{x}`: both fences by one command."""
        self.skip_option()
        opener, closer = pair  # type: ignore[misc]
        inner = self.argument()
        if inner:
            self.append(fence(Node(opener), fences(inner), Node(closer)), items)

    def wildcard(self, token: str, items: Items, _: object) -> None:
        items.append(Node("?" + escape(self.raw_argument())))

    # Environments and text

    def command(self, token: str, items: Items) -> None:
        """Tokens that carry their argument with them, and commands nobody told us of."""
        if token[:7] == "\\begin{" or token[:6] == "\\begin":
            self.environment(token, items)
            return
        text = _TEXT_TOKEN.match(token)
        if text:
            self.text(text[1], text[2], items)
        elif len(token) > 1 and token[1].isalpha():
            self.unknown.append(token)
            self.append(Node("V!" + token[1:], {"unknown": True}), items)
        else:
            self.unknown.append(token)

    def bare_text(self, token: str, items: Items, _: object) -> None:
        """`\\text x`, or text with braces nested deeper than a token holds."""
        self.text(token[1:], self.raw_argument(), items)

    def text(self, command: str, content: str, items: Items) -> None:
        """Text, with the mathematics between dollars read as such; `\\textbf{x}` is a letter."""
        for index, piece in enumerate(content.split("$")):
            if index % 2 and self.depth < DEPTH:
                inner = Parser(piece, self.depth + 1)
                items.extend(inner.formula())
                self.problems += inner.problems
                self.unknown += inner.unknown
                continue
            shown = _SPACE.sub(" ", _TEXT_COMMAND.sub(_text_command, piece))
            if len(shown) == 1 and shown.isalpha():
                tag = styled("V!" + shown, commands.TEXT[command])
                self.append(Node(tag, {"text": shown, "upright": True}), items)
            elif shown.strip():
                self.append(Node("T!" + escape(shown.strip()), {"text": shown}), items)
            elif shown:
                self.space += 0.25

    def environment(self, token: str, items: Items) -> None:
        name = token[token.find("{") + 1 : -1].strip()
        shape = commands.ENVIRONMENTS.get(name)
        if shape is None:
            self.unknown.append(token)
            shape = ("", "", 0, "rows")
        opener, closer, arguments, kind = shape
        if self.depth >= DEPTH:
            self.problem("nested too deep", token)
            return
        self.skip_option()
        columns = "".join(self.raw_argument() for _ in range(arguments))
        rows = self.table(name)
        if kind == "rows":
            items.extend(_joined(rows))
        elif rows:
            ends = (_delimiter(opener or "."), _delimiter(closer or "."))
            table = self.append_table(rows, ends, items)
            table.hint("columns", _columns(columns) or ("ll" if "cases" in name else ""))

    def append_table(
        self, rows: list[list[Items]], ends: tuple[str, str], items: Items
    ) -> Node:
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
        """Rows of cells up to `\\end`, or to the brace that closes a `\\substack`."""
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
        token = self.tokens[self.pos]
        if token == "}" or token[:5] == "\\end{":
            self.pos += 1
            if name and token[5:-1].strip() != name:
                self.problem("environment closed by another", token)
        else:
            self.problem("unclosed environment", name)

    def row_stack(self, token: str, items: Items, _: object) -> None:
        """`\\substack{a \\\\ b}`."""
        self.skip_option()
        if self.tokens[self.pos] != "{" or self.depth >= DEPTH:
            items.extend(self.argument())
            return
        self.pos += 1
        rows = self.table("")
        if len(rows) == 1 and len(rows[0]) == 1:
            items.extend(rows[0][0])
        elif rows:
            self.append(matrix(rows), items)


def is_plain(tag: str) -> bool:
    """Whether a tag is one operator character."""
    return len(tag) == 1


def _same_bar(node: Node, token: str) -> bool:
    """Whether `\\big|` follows `\\big|`: together a norm bar."""
    return node.tag == "|" and node.kids is None and (node.look or {}).get("size") == token


def _columns(spec: str) -> str:
    """How columns are set, from the argument of `array`: letters of l, c and r."""
    return "".join(char for char in re.sub(r"[@!>p]\{[^{}]*\}", "", spec) if char in "lcr")


def _spaced(items: Items) -> bool:
    return any(node.look and "space" in node.look for node in items[1:])


def _joined(rows: list[list[Items]]) -> Items:
    """Rows of an alignment as one row, with the breaks as marks for print."""
    items: Items = []
    for index, row in enumerate(rows):
        if index:
            items.append(Node("", {"row": True}))
        for column, cell in enumerate(row):
            if column:
                items.append(Node("", {"cell": True}))
            items.extend(cell)
    return items


def _fraction(above: Items, below: Items, shape: tuple[str, str, bool]) -> Node:
    opener, closer, bar = shape
    node = Node("O!divide", None if bar else {"nobar": True})
    node.put("o", baseline_of(above))
    node.put("u", baseline_of(below))
    if opener and closer:
        return fence(Node(opener, {"stretch": True}), [node], Node(closer))
    return node


def _delimiter(token: str) -> str:
    found = commands.DELIMITERS.get(token)
    if found is not None:
        return found
    return SYMBOLS.get(token) or escape(token.lstrip("\\"))


_TEXT_TOKEN = re.compile(rf"\\({'|'.join(commands.TEXT)})\s*\{{(.*)\}}\Z", re.DOTALL)
_TEXT_COMMAND = re.compile(r"\\(?:text)?color\s*\{[^{}]*\}|\\([a-zA-Z]+)\s*|\\(.)|[{}]|~|``|''", re.DOTALL)
_SPACE = re.compile(r"\s+")


def _text_command(match: re.Match[str]) -> str:
    """What a command inside text shows: a character it stands for, or nothing."""
    if match[2]:
        return " " if match[2] in " ,;:\\\n" else match[2]
    if match[1]:
        tag = SYMBOLS.get("\\" + match[1], "")
        return " " if match[1] in ("quad", "qquad") else (tag[2:] if tag[1:2] == "!" else tag)
    return {"~": " ", "``": "\u201c", "''": "\u201d"}.get(match[0], "")


Handler = Callable[[Parser, str, Items, object], None]


def _handlers() -> dict[str, tuple[Handler, object]]:
    """Every command's method and data, from the tables."""
    table: dict[str, tuple[Handler, object]] = {"{": (Parser.braced, None)}
    tables: list[tuple[Handler, dict[str, object]]] = [
        (Parser.script, {"^": "a", "_": "b"}),
        (Parser.spacing, dict(commands.SPACES)),
        (Parser.drop, dict(commands.DROPPED)),
        (Parser.transparent, dict(commands.TRANSPARENT)),
        (Parser.alphabet, dict(commands.FONTS)),
        (Parser.switch, dict(commands.SWITCHES)),
        (Parser.fraction, dict(commands.FRACTIONS)),
        (Parser.accent, dict(commands.ACCENTS)),
        (Parser.stack, dict(commands.STACKS)),
        (Parser.arrow, dict(commands.ARROWS)),
        (Parser.middle, {**commands.SIZES, "\\middle": "none"}),
        (Parser.paired, dict(commands.PAIRED)),
        (Parser.row_stack, dict.fromkeys(commands.ROW_STACKS)),
        (Parser.sided, {"\\lvert": ("|", "open"), "\\rvert": ("|", "close"),
                        "\\lVert": ("‖", "open"), "\\rVert": ("‖", "close")}),
        (Parser.mid, dict.fromkeys(("\\mid", "\\shortmid", "∣"))),
        (Parser.twin, {"||": None}),
        (Parser.operator_name, {"\\operatorname": None, "\\operatornamewithlimits": None}),
        (Parser.modulus, {"\\pmod": None, "\\mod": None}),
        (Parser.root, {"\\sqrt": None}),
        (Parser.general_fraction, {"\\genfrac": None}),
        (Parser.negated, {"\\not": None}),
        (Parser.operator, {"\\mathop": None}),
        (Parser.left, {"\\left": None}),
        (Parser.wildcard, {"\\qvar": None}),
        (Parser.bare_text, {"\\" + name: None for name in commands.TEXT}),
    ]  # fmt: skip
    for handler, data in tables:
        table.update({command: (handler, value) for command, value in data.items()})
    return table


HANDLERS = _handlers()
CLOSERS = frozenset({"", "}", "&", "\\right", "\\end"}) | frozenset(commands.INFIX)
