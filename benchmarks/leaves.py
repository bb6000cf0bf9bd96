r"""Check that the leaves of a tree are the visible characters of its source, by independent means.

`visible` scans the tokens and never builds a tree: the tables say what a command shows and hides.
`leaves` counts the characters of a tree. Text (`\text{...}`) is taken from the tree in both.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable

from eqemb.formula import Layout, commands, layout
from eqemb.formula.tables import direction
from eqemb.formula.tokens import tokens
from eqemb.formula.tree import walk

_SILENT = frozenset().union(
    commands.SILENT, commands.ENTRIES,
    commands.STACKS, commands.STACKS_ON, commands.SIZES, commands.ROW_STACKS,
    ("\\" + name for name in commands.TEXT), "{}^_&",
    (r"\sqrt", r"\left", r"\right", r"\middle", r"\mathop", r"\operatorname", r"\genfrac",
     r"\operatornamewithlimits", r"\xymatrix", r"\limits", r"\nolimits", r"\buildrel", r"\root",
     r"\of", r"\sideset", r"\prescript", r"\overunderset", r"\underoverset", r"\sp", r"\sb"),
)  # fmt: skip
_DELIMITED = {r"\left", r"\right", r"\middle", *commands.SIZES}
_WITH_OPTION = {r"\sqrt", *commands.ARROWS, *commands.DERIVATIVES}
_STARRED = {r"\operatorname", *commands.ENTRIES}


def leaves(made: Layout) -> Counter[str]:
    """Return the characters of a tree."""
    seen: Counter[str] = Counter(made.punctuation)
    for node in walk(made.root):
        tag = node.tag
        if tag[:2] == "M!":
            tag = re.sub(r"\d+x\d+\Z", "", tag[2:])
        elif tag[:2] in ("O!", "W!"):
            tag = ""
        seen.update(_letters(tag))
    return seen


def visible(latex: str) -> Counter[str]:
    """Return the visible characters of the source, by the tables alone."""
    return _Reading(tokens(latex)).run()


def _letters(tag: str) -> str:
    """Return the plain characters of a tag, without mathematical alphabets."""
    tag = re.sub(r"^[VNTEM]!|(?<=.)[VNT]!|1x\d+\Z|\d+x\d+\Z|O!\w+|W!", "", tag)
    tag = commands.unescape(tag).replace("‖", "||").replace("-", "−").replace("≔", ":=")
    return "".join(unicodedata.normalize("NFKD", tag).split())


class _Reading:
    def __init__(self, source: list[str]) -> None:
        self.source = [*source, ""]
        self.at = 0
        self.seen: Counter[str] = Counter()

    def run(self) -> Counter[str]:
        while token := self.source[self.at]:
            self.at += 1
            self.arguments(token)
            self.seen.update(_shown(token))
        return self.seen

    def arguments(self, token: str) -> None:
        """Skip what a command hides, and take unparsed parts literally."""
        if token in _DELIMITED:
            self.delimiter()
        elif token == r"\genfrac":
            self.general_fraction()
        elif token in _WITH_OPTION and self.source[self.at] == "[":
            # The order of a derivative appears above and below.
            self.option(times=2 if token in commands.DERIVATIVES else 1)
        elif token in commands.STACKS_ON and self.source[self.at] == "[":
            self.option()
        elif token in (r"\ar", r"\xymatrix"):
            self.diagram(token)
        elif token in commands.LENGTHS and self.source[self.at] != "{":
            self.length()
        elif token in _STARRED:
            self.at += self.source[self.at] in ("*", "+")
            if token in commands.ENTRIES:
                self.entry()
        if token in commands.OPTIONAL or token in commands.DROPPED or token in commands.TRANSPARENT:
            self.hidden(commands.DROPPED.get(token, commands.TRANSPARENT.get(token, 0)), token)
        elif token[:7] == "\\begin{":
            self.hidden(commands.ENVIRONMENTS.get(token[7:-1], ("", "", 0, ""))[2], token)

    def entry(self) -> None:
        """Return the key of a glossary entry and its additions."""
        start = self.at
        self.group()
        self.seen.update(_Reading(self.source[start : self.at]).run())
        if self.source[self.at] == "[":
            self.option(times=1)

    def delimiter(self) -> None:
        token = self.source[self.at]
        if token[:1] == "." and len(token) > 1:
            self.source[self.at] = token[1:]
            return
        self.at += token != ""
        self.seen.update(_letters(commands.delimiter(token)))

    def general_fraction(self) -> None:
        for shown in (True, True, False, False):
            start = self.at
            self.group()
            if shown:
                for token in self.source[start + 1 : self.at - 1]:
                    self.seen.update(_letters(commands.delimiter(token)))

    def option(self, *, times: int = 0) -> None:
        end = self.source.index("]", self.at) if "]" in self.source[self.at :] else 0
        if not end:
            return
        for _ in range(times):
            self.seen.update(_Reading(self.source[self.at + 1 : end]).run())
        self.at = end + 1

    def diagram(self, token: str) -> None:
        """Return arrows by direction; their options are not text."""
        if token == r"\xymatrix":
            self.skip(lambda: self.source[self.at] == "{")
            return
        heading = None
        while (token := self.source[self.at]) and token in "@'[^_|":
            if token == "[" and heading is not None:
                break
            self.at += 1
            if token == "@":
                self.style()
            elif token == "'":
                self.option()
            elif token == "[":
                start = self.at
                self.skip(lambda: self.source[self.at - 1] == "]")
                heading = "".join(self.source[start : self.at - 1])
            else:
                while self.source[self.at] in ("-", "<", ">"):
                    self.at += 1
                start = self.at
                self.group()
                self.seen.update(_Reading(self.source[start : self.at]).run())
        self.seen.update(direction(heading or ""))

    def style(self) -> None:
        closer = {"<": ">", "/": "/", "(": ")"}.get(self.source[self.at])
        self.group()
        if closer:
            self.at += 1
            self.skip(lambda: self.source[self.at - 1] == closer)

    def skip(self, until: Callable[[], bool]) -> None:
        while self.source[self.at] and not until():
            self.at += 1

    def length(self) -> None:
        r"""Skip `-3pt` or `-\thickmuskip`."""
        while self.source[self.at] in ("-", "+"):
            self.at += 1
        self.at = min(
            self.at + (1 if self.source[self.at][:1] == "\\" else 3), len(self.source) - 1
        )

    def hidden(self, count: int, token: str) -> None:
        """Skip a star, an option and arguments."""
        if token in commands.LENGTHS:
            return
        if not count and token in commands.DROPPED and token not in commands.OPTIONAL:
            return
        self.at += bool(count) and self.source[self.at] == "*"
        if self.source[self.at] == "[" and "]" in self.source[self.at : self.at + 20]:
            self.option()
        for _ in range(count):
            self.group()

    def group(self) -> None:
        """Skip one argument."""
        level = 0
        while token := self.source[self.at]:
            level += (token == "{") - (token == "}")
            self.at += 1
            if level == 0:
                break


def _shown(token: str) -> str:
    """Return the characters that a token itself shows."""
    if token in _SILENT or token[:2] == "\\\\" or token[:4] == "\\end" or token == r"\ar":
        return ""
    if token == r"\not":
        return "\u0338"
    if token in commands.ARROWS:
        return commands.ARROWS[token]
    if token in commands.VARIANTS:
        return _letters(commands.VARIANTS[token][0])
    if token in commands.DERIVATIVES:
        return _letters(commands.DERIVATIVES[token]) * 2
    for table in (commands.ACCENTS, commands.FRACTIONS, commands.INFIX, commands.PAIRED):
        if token in table:
            shape = [part for part in table[token] if isinstance(part, str) and part not in "ou"]
            return _letters("".join(shape))
    if token[:6] == "\\begin" or token in commands.PLAIN_TABLES:
        name = commands.PLAIN_TABLES.get(token, token[7:-1])
        opener, closer, *_ = commands.ENVIRONMENTS.get(name, ("", "", 0, ""))
        return opener + closer
    if re.match(r"\\\w+\s*\{", token):
        return "".join(leaves(layout(token)).elements())
    tag = commands.SYMBOLS.get(token) or commands.DELIMITERS.get(token, "")
    tag = tag or {"||": "‖"}.get(token, token.lstrip("\\"))
    return _letters(tag.replace("'", "′"))
