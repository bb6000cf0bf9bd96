"""Parse LaTeX mathematics into the layout tree: what each kind of command does.

The tables in `commands` say which command is of which kind. Nothing raises: what cannot be parsed
is recorded as a problem, and an unknown command becomes a symbol under its name.
"""

import unicodedata
from collections.abc import Callable
from typing import Any

from eqemb.formula import commands, text
from eqemb.formula.alphabets import styled
from eqemb.formula.commands import SYMBOLS, escape
from eqemb.formula.rows import attach, base_for, fence, fences, script_edge, wrap
from eqemb.formula.stacks import Stacks
from eqemb.formula.token_reader import GROUP_DEPTH, Items
from eqemb.formula.tree import Node


class Parser(Stacks):
    """One parse; the method of a command takes `(token, items, data of its table)`."""

    __slots__ = ()

    def read(self, token: str, items: Items) -> None:
        """Read one token with its arguments."""
        tag = SYMBOLS.get(token)
        if tag is not None:
            self.symbol(tag, items)
            return
        entry = HANDLERS.get(token)
        if entry is not None and not self.space:
            entry[0](self, token, items, entry[1])
        elif entry is not None:
            # A space before a fraction does not belong to its numerator.
            held, self.space, start = self.space, 0.0, len(items)
            entry[0](self, token, items, entry[1])
            if len(items) > start:
                items[start].hint("space", held)
            else:
                self.space += held
        elif token[0] == "\\":
            self.command(token, items)
        elif token[0] == "'":
            self.primes(token, items)
        elif token[0] in "0123456789.":
            self.symbol("N!" + token, items)
        else:
            self.symbol(commands.character(token), items)

    def symbol(self, tag: str, items: Items) -> None:
        """Append a symbol in the current style; letters of a word style join."""
        style = self.fonts
        letter = tag[:2] == "V!" and len(tag) == 3 and tag.isascii()
        if style and (len(tag) == 3 or tag[0] == "N"):
            joins = self.word == self.pos - 1 and bool(items) and items[-1].kids is None
            if style in commands.WORD_STYLES and (letter or (joins and tag[2:].isdigit())):
                self.word = self.pos
                if joins:
                    self.lengthen(items[-1], styled(tag, style)[2:])
                    return
            tag = styled(tag, style)
        if tag == "|" and self.space < 0 and items and items[-1].tag == "|":
            # `|\!|` is a handmade norm bar.
            self.space = 0.0
            items[-1].tag, items[-1].look = "‖", {"twin": True}
            return
        node = Node(tag)
        if letter and style == "rm":
            node.hint("upright")
        self.append(node, items)

    def variant(self, token: str, items: Items, tags: Any) -> None:
        """A variant of a letter: the same symbol, shown differently."""
        tag, look = (styled(made, self.fonts) for made in tags)
        self.append(Node(tag, {"glyph": look[2:]}), items)

    def limits(self, token: str, items: Items, name: Any) -> None:
        """Set where the limits of the last operator are drawn."""
        if items and items[-1].tag:
            items[-1].hint(name)

    def lengthen(self, word: Node, letters: str) -> None:
        r"""Append letters to a word; a complete `\mathrm{sup}` equals `\sup`."""
        word.tag += letters
        following = self.tokens[self.pos]
        if word.tag in commands.NAMED and not (len(following) == 1 and following.isalnum()):
            word.tag = commands.NAMED[word.tag]

    def braced(self, token: str, items: Items, _: Any = None) -> None:
        """A group in a row: its symbols join the row, unless a script applies to the group."""
        inner = self.group()
        following = self.tokens[self.pos]
        if following in ("^", "_") or following[:1] == "'":
            items.append(wrap(inner).hint("whole") if inner else Node("W!"))
        else:
            items.extend(inner)

    def script(self, token: str, items: Items, edge: Any) -> None:
        """A superscript or subscript of the last symbol."""
        before = self.pos - 2
        script = self.argument()
        if len(script) > 1 and all(node.tag == "′" for node in script):
            script = [Node("′" * len(script))]
        self.hang(items, edge, script, before)

    def hang(self, items: Items, edge: str, script: Items, before: int = 0) -> None:
        """Attach a script to the last item; a braced base that already has one is wrapped.

        Not if the token `before` is a prime, which the script continues: `{x_i}'^2`.
        """
        if not items or not items[-1].tag:
            items.append(Node("W!"))
        base = items[-1]
        edge = script_edge(base, edge)
        look = base.look
        group = look and ("whole" in look or "stack" in look)
        if group and base.get(edge) and self.tokens[before][:1] != "'":
            base = items[-1] = base_for([base], edge)
            edge = script_edge(base, "a" if edge in "ao" else "b")
        if not attach(base, edge, script):
            self.problem("double script", "^" if edge in "ao" else "_")

    def primes(self, token: str, items: Items) -> None:
        """A superscript of primes."""
        self.hang(items, "a", [Node("′" * len(token))])

    def spacing(self, token: str, items: Items, width: Any) -> None:
        """Spaces add up, and belong to the symbol after them."""
        self.space += width

    def drop(self, token: str, items: Items, count: Any) -> None:
        """Drop a command without output, and its arguments."""
        if not count and token not in commands.OPTIONAL:
            return
        if token in commands.LENGTHS and self.tokens[self.pos] != "{":
            self.length()
            return
        self.skip_star()
        self.skip_option()
        for _ in range(count):
            self.raw_argument()

    def transparent(self, token: str, items: Items, count: Any) -> None:
        """A command that shows only its last argument; in a box, `$x$` is mathematics."""
        if count:
            self.skip_star()
        self.skip_option()
        for _ in range(count):
            self.raw_argument()
            self.skip_option()
        if token in commands.TEXT_BOXES and self.tokens[self.pos] == "{":
            start = self.pos
            content = self.raw_argument()
            if "$" in content and text.is_mathematics(content):
                self.text("mbox", content, items)
                return
            self.pos = start
        items.extend(self.argument())

    def alphabet(self, token: str, items: Items, style: Any) -> None:
        """An argument in another alphabet."""
        outer, self.fonts = self.fonts, style
        inner = self.argument()
        self.fonts = outer
        items.extend(inner)

    def switch(self, token: str, items: Items, style: Any) -> None:
        """Another alphabet up to the end of the group."""
        self.fonts = style

    def negated(self, token: str, items: Items, _: Any) -> None:
        r"""`\not` strikes the next symbol through; before several symbols it is a slash."""
        inner = self.argument()
        tag = inner[0].tag if inner else ""
        if len(tag) == 1 or (len(tag) == 3 and tag[:2] == "V!"):
            inner[0].tag = unicodedata.normalize("NFC", tag + "\u0338")
        else:
            items.append(Node("/"))
        items.extend(inner)

    def operator_name(self, token: str, items: Items, _: Any) -> None:
        r"""`\operatorname{arg\,max}`: one or more words, the last of which takes limits."""
        limits = self.skip_star() or token != "\\operatorname"
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
            node.tag = commands.NAMED.get(node.tag, node.tag)
            node.hint("name")
        items.extend(inner)

    def operator(self, token: str, items: Items, _: Any) -> None:
        r"""`\mathop{...}`: the scripts of its argument are limits."""
        inner = fences(self.argument())
        following = self.tokens[self.pos]
        if len(inner) > 1 and following not in ("^", "_", "\\limits"):
            items.extend(inner)
        elif inner:
            items.append(wrap(inner).hint("limits").hint("mathop"))

    def modulus(self, token: str, items: Items, _: Any) -> None:
        """`mod n`, in parentheses or not."""
        inner = [Node("mod"), *self.argument()]
        if token == "\\pmod":
            self.append(fence(Node("("), fences(inner), Node(")")), items)
        else:
            items.extend(inner)

    def left(self, token: str, items: Items, _: Any) -> None:
        r"""`\left ... \right` form a pair, whatever the delimiters."""
        if self.depth >= GROUP_DEPTH:
            self.problem("nested too deep", token)
            return
        opener = Node("", {"stretch": True})
        if self.tokens[self.pos] == "\\lVert":
            opener.hint("vert")
        opener.tag = self.delimiter()
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
        r"""Everything up to the matching `\right`, across line breaks."""
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
        """The next delimiter."""
        token = self.tokens[self.pos]
        if token[:1] == "." and len(token) > 1:
            # The point of `\left.5` is an empty delimiter, not a decimal point.
            self.tokens[self.pos] = token[1:]
            return ""
        if token in ("", "}", "{") or token[:2] == "\\\\":
            self.problem("missing delimiter")
            return ""
        self.pos += 1
        return commands.delimiter(token)

    def middle(self, token: str, items: Items, side: Any) -> None:
        r"""`\big(` and similar, `\middle|`: a delimiter whose side is known."""
        char = self.delimiter()
        if char == "|" and items and _same_bar(items[-1], token):
            items[-1].tag, items[-1].look = "‖", {"size": token}
            if side:
                items[-1].hint("side", side)
        elif char:
            look = {"side": side, "size": token} if side else {"size": token}
            self.append(Node(char, dict(look)), items)

    def sided(self, token: str, items: Items, shape: Any) -> None:
        """A bar that is marked as opening or closing."""
        char, side = shape
        self.append(Node(char, {"side": side, "vert": True}), items)

    def mid(self, token: str, items: Items, _: Any) -> None:
        """A bar that separates: never a fence."""
        self.append(Node("|", {"side": "none", "mid": True}), items)

    def twin(self, token: str, items: Items, _: Any) -> None:
        """`||`: a norm bar, or the end of one absolute value and the start of the next."""
        self.append(Node("‖", {"twin": True}), items)

    def paired(self, token: str, items: Items, pair: Any) -> None:
        r"""`\norm{x}`, `\bra{x}`: one command for both fences."""
        self.skip_star()
        self.skip_option()
        opener, closer = pair
        inner = self.argument()
        if inner:
            self.append(fence(Node(opener), fences(inner), Node(closer)), items)

    def entry(self, token: str, items: Items, _: Any) -> None:
        r"""`\gls{key}[more]`: the glossary is unknown, so the key is the symbol."""
        self.pos += self.tokens[self.pos] in ("*", "+")
        self.skip_option()
        self.unknown.append(token)
        self.append(Node("V!" + escape(self.raw_argument()), {"unknown": True}), items)
        more = self.option() or []
        if more and more[0].tag == "W!":
            for edge, script in (more.pop(0).kids or {}).items():
                self.hang(items, edge, [script])
        items.extend(more)

    def wildcard(self, token: str, items: Items, _: Any) -> None:
        """A wildcard of a query."""
        items.append(Node("?" + escape(self.raw_argument())))

    # Environments and text

    def command(self, token: str, items: Items) -> None:
        """A token that includes its argument, or an unknown command."""
        if token[:7] == "\\begin{":
            self.environment(token, items)
        elif found := text.TEXT_TOKEN.match(token):
            self.text(found[1], found[2], items)
        elif len(token) > 1:
            self.unknown.append(token)
            word = token[1:].strip("@")
            tag = commands.character(word) if len(word) == 1 else "V!" + word
            self.append(Node(tag, {"unknown": True}), items)
        else:
            self.problem("a lone backslash")

    def bare_text(self, token: str, items: Items, _: Any) -> None:
        r"""`\text x`, or text with braces nested deeper than a token may have."""
        self.text(token[1:], self.raw_argument(), items)

    def text(self, command: str, content: str, items: Items) -> None:
        r"""Text, in which mathematics between dollars is parsed; `\textbf{x}` is a letter."""
        for piece, is_math in text.parts(content):
            if is_math and self.depth < GROUP_DEPTH:
                inner = Parser(piece, self.depth + 1)
                items.extend(inner.formula())
                self.problems += inner.problems
                self.unknown += inner.unknown
                continue
            shown = text.shown(piece, self.unknown)
            if len(shown) == 1 and shown.isalpha():
                tag = styled("V!" + shown, commands.TEXT[command])
                self.append(Node(tag, {"text": shown, "upright": True}), items)
            elif shown.strip():
                self.append(Node("T!" + escape(shown.strip()), {"text": shown}), items)
            elif shown:
                self.space += 0.25


def _same_bar(node: Node, token: str) -> bool:
    r"""Whether two equal `\big|` follow each other: together they are a norm bar."""
    return node.tag == "|" and node.kids is None and (node.look or {}).get("size") == token


def _spaced(items: Items) -> bool:
    return any(node.look and "space" in node.look for node in items[1:])


Handler = Callable[[Parser, str, Items, Any], None]


def _handlers() -> dict[str, tuple[Handler, Any]]:
    """The method and data of every command, from the tables."""
    table: dict[str, tuple[Handler, Any]] = {"{": (Parser.braced, None)}
    tables: list[tuple[Handler, dict[str, Any]]] = [
        (Parser.script, {"^": "a", "_": "b", "\\sp": "a", "\\sb": "b"}),
        (Parser.variant, dict(commands.VARIANTS)),
        (Parser.limits, {"\\limits": "limits", "\\nolimits": "nolimits"}),
        (Parser.spacing, dict(commands.SPACES)),
        (Parser.drop, dict(commands.DROPPED)),
        (Parser.transparent, dict(commands.TRANSPARENT)),
        (Parser.alphabet, dict(commands.FONTS)),
        (Parser.switch, dict(commands.SWITCHES)),
        (Parser.fraction, dict(commands.FRACTIONS)),
        (Parser.accent, dict(commands.ACCENTS)),
        (Parser.stack, dict(commands.STACKS)),
        (Parser.stack_on, dict(commands.STACKS_ON)),
        (Parser.both_stacks, {"\\overunderset": "ou", "\\underoverset": "uo"}),
        (Parser.plain_stack, {"\\buildrel": None}),
        (Parser.plain_root, {"\\root": None}),
        (Parser.beside, {"\\sideset": None}),
        (Parser.before, {"\\prescript": None}),
        (Parser.derivative, dict(commands.DERIVATIVES)),
        (Parser.arrow, dict(commands.ARROWS)),
        (Parser.middle, {**commands.SIZES, "\\middle": "none"}),
        (Parser.paired, dict(commands.PAIRED)),
        (Parser.row_stack, dict.fromkeys(commands.ROW_STACKS)),
        (Parser.plain_table, dict(commands.PLAIN_TABLES)),
        (Parser.diagram, {"\\xymatrix": None}),
        (Parser.arrow_to, {"\\ar": None}),
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
        (Parser.entry, dict.fromkeys(commands.ENTRIES)),
        (Parser.bare_text, {"\\" + name: None for name in commands.TEXT}),
    ]  # fmt: skip
    for handler, data in tables:
        table.update({command: (handler, value) for command, value in data.items()})
    return table


HANDLERS = _handlers()
