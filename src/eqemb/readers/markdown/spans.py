r"""The text of one block: mathematics, references, and words without their markup.

`Spans.read` goes through the text once, from one token that may matter to the next. Mathematics
comes first, so `_` and `*` in a formula are never emphasis. What stands in brackets is kept as
pieces until the bracket closes: then it is known whether it was a link, an image or a citation.
"""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from eqemb.readers.markdown import maths
from eqemb.readers.markdown.dialect import Dialect
from eqemb.readers.markdown.pieces import Pieces, Place, Sink

#: The characters with which tokens begin: far faster to search for than the tokens.
_TOKEN_START = re.compile(r"[`$\\\[\]{<:@(^*_~=%|!]")
_TOKEN = re.compile(
    r"(?P<code>`+)"
    r"|(?P<dollars>\$\$|\$)"
    r"|(?P<delimiter>\\\\?[\[(])"
    r"|(?P<environment>\\(?:begin|end)\s?\{[A-Za-z]+\*?\})"
    r"|(?P<command>\\@?[A-Za-z]+\*?|\\\\(?:eq)?ref(?=\{))"
    r"|(?P<escape>\\.)"
    r"|(?P<wiki>!?\[\[[^\[\]\n]*\]\])"
    r"|(?P<bracket>[!^]?\[|\])"
    r"|(?P<liquid>\{%|\{\{)"
    r"|(?P<role>\{[\w:.-]+\}(?=`)|:[A-Za-z]+:(?=`))"
    r"|(?P<attributes>\{\s*(?:[#.:][^{}\n]*|[\w-]+=[^{}\n]*|-)\})"
    r"|(?P<tag><!--|<(?:https?|mailto):[^<>\s]*>|</?[A-Za-z][\w-]*(?:[\s/:][^<>]{0,4000})?>)"
    r"|(?P<url>://(?:[^\s<>\[\]()]|\([^\s()]*\))+)"
    r"|(?P<citation>(?<![\w@.])@(?:[A-Za-z][\w:/-]*|\{[^{}\n]*\}))"
    r"|(?P<target>\(\\?#[\w:.-]+\)|\(ref:[\w-]+\)|(?<=\s)\^[\w-]+[ \t]*(?=\n|$))"
    r"|(?P<emphasis>\*+|_+|~+|==)"
    r"|(?P<comment>%%)"
    r"|(?P<pipe>\|)",
    re.DOTALL,
)
_LINK_TARGET = re.compile(r"\(((?:[^()]|\([^()]*\)){0,2000}+)\)")
_LINK_LABEL = re.compile(r"\[[^\[\]\n]*\]")
_MATH_CODE = re.compile(r"\$(`+)([^`]+)\1\$")
_EQUATION_CITATION = re.compile(r"@\{?((?:eq|Eq)[-:][^\s{}]+)")
_ROLE_TEXT = re.compile(r"(.*?)(?<!\s)\s*+<([^<>]*)>\s*$", re.DOTALL)
_DISPLAY_LABEL = re.compile(
    r"[ \t]*+(?:\(([\w:.\-]+)\)(?=[ \t]*(?:\n|$))|\{\s*+#([\w:.\-]++)[^{}\n]*+\}"
    r"|\n?[ \t]*:eqlabel:`([^`\n]*)`|\n[ \t]*\^([\w-]+)[ \t]*(?=\n|$))"
)
_BOOKDOWN_LABEL = re.compile(r"\(\\#(eq:[^()\s]*)\)")
_BOOKDOWN_REFERENCE = re.compile(r"\(([^()\s]*)\)")
_ARGUMENT = re.compile(r"\s?(?:\[[^\[\]\n]*\])*\{([^{}]*)\}")
_PRINTED_NUMBER = re.compile(r"\d+(?:\.\d+)*[a-z]?'*")
_LAST_NUMBER = re.compile(r"\\q?quad\s*\((\d+(?:\.\d+)*[a-z]?)\)\s*$")
_TAG_NAME = re.compile(r"</?([A-Za-z][\w-]*)")

#: Roles that print a number, a name of something else, or nothing.
_SILENT_ROLES = frozenset(
    "ref numref doc label width cite citet citep cite:p cite:t cite:ps cite:ts cite:alp footcite "
    "footcite:p footcite:t prf:ref download code python bdg index class func meth mod obj py:func "
    "py:class py:meth py:mod py:obj c:func file command glue glue:text glue:figure image icon "
    "octicon fa bib begin_tab end_tab".split()
)
_EQUATION_ROLES = frozenset(("eq", "eqref", "math:numref"))
_RAW_TAGS = frozenset(
    "script style pre code svg math d-code d-bibliography d-cite iframe video textarea".split()
)
_BREAKING_TAGS = frozenset(
    "p div br li ul ol td th tr table h1 h2 h3 h4 h5 h6 center blockquote figure figcaption "
    "caption details summary hr dt dd section aside".split()
)
#: Commands of LaTeX in running text whose argument is not text.
_SILENT_COMMANDS = frozenset(
    "cite citep citet citeauthor citeyear ref pageref autoref cref label includegraphics vspace "
    "hspace url input include bibliography bibliographystyle pagestyle thispagestyle color "
    "setcounter addtocounter captionsetup index usepackage documentclass setlength href".split()
)
_REFERENCES = frozenset(("eqref", "ref", "cref", "Cref", "autoref"))


class _Bracket(NamedTuple):
    start: int
    piece: int
    mark: str


@dataclass(slots=True)
class Spans:
    """Reads one text."""

    source: str
    place: Place
    dialect: Dialect
    in_table: bool = False
    labels: tuple[str, ...] = ()
    """Labels of the first display, if nothing comes before it."""
    _at: int = 0
    _pieces: Pieces = field(default_factory=Pieces)
    _brackets: list[_Bracket] = field(default_factory=list)
    _missing: set[str] = field(default_factory=set)
    _pairs: dict[str, dict[int, tuple[int, int]]] = field(default_factory=dict)
    _no_ticks: dict[int, int] = field(default_factory=dict)
    _note: int = 0
    _counted: tuple[int, int] = (0, 0)

    def read(self, sink: Sink) -> bool:
        """Give everything in the text to a sink, in order; return whether a display is last."""
        at = 0
        while special := _TOKEN_START.search(self.source, at):
            match = _TOKEN.match(self.source, special.start())
            if match is None:
                at = special.end()
                continue
            self._pieces.text(self.source[self._at : match.start()])
            self._at = match.end()
            getattr(self, f"_on_{match.lastgroup}")(match)
            at = self._at
        self._pieces.text(self.source[self._at :])
        return self._pieces.give(sink)

    def _line(self, position: int) -> int:
        before, lines = self._counted
        lines += self.source.count("\n", before, position)
        self._counted = position, lines
        return self.place.at(lines)

    def _display(self, latex: str, start: int, end: int, environment: str) -> None:
        """A display between two positions, with the label that follows it."""
        labels = [] if self._pieces.items else list(self.labels)
        while match := _DISPLAY_LABEL.match(self.source, self._at):
            self._at = match.end()
            labels += [label.strip() for label in match.groups() if label]
        number = labels[-1] if labels and _PRINTED_NUMBER.fullmatch(labels[-1]) else None
        written = latex = maths.unescape_entities(latex)
        if "\\#" in latex:
            labels += _BOOKDOWN_LABEL.findall(latex)
            latex = _BOOKDOWN_LABEL.sub("", latex)
        if last := _LAST_NUMBER.search(latex[-40:]):
            number = number or last[1]
            latex = latex[: len(latex) - len(last[0])]
        self._pieces.add(
            "display", latex, line=self._line(start), end_line=self._line(end),
            environment=environment, labels=tuple(labels), number=number, written=written,
        )  # fmt: skip

    def _lost(self, cause: str, start: int, detail: str) -> None:
        self._pieces.add("lost", cause, self._line(start), self.place.detail(detail))

    def _find(self, closing: str) -> int:
        """Where a closing string comes next, or -1; a missing one is searched for once."""
        if closing in self._missing:
            return -1
        found = self.source.find(closing, self._at)
        if found < 0:
            self._missing.add(closing)
        return found

    def _closing(self, opening: str, name: str = "") -> tuple[int, int]:
        if name:
            if name not in self._pairs:
                self._pairs[name] = maths.environment_pairs(name, self.source)
            return self._pairs[name].get(self._at, (-1, -1))
        if opening in self._missing:
            return -1, -1
        found = maths.find_closing(opening, "", self.source, self._at)
        if found[0] == -1:
            self._missing.add(opening)
        return found

    # -- mathematics

    def _on_dollars(self, match: re.Match[str]) -> None:
        if match[0] == "$$":
            self._double_dollars(match.start())
        elif code := _MATH_CODE.match(self.source, match.start()):
            self._at = code.end()
            self._pieces.inline(code[2])
        else:
            self._single_dollar()

    def _double_dollars(self, start: int) -> None:
        close, end = self._closing("$$")
        if close < 0 or maths.is_prose(self.source[self._at : close]):
            self._lost("display not closed", start, "$$")
            return
        latex = self.source[self._at : close]
        self._at = end
        if self.dialect.is_kramdown and not self._is_block(start, end):
            self._pieces.inline(latex)
        else:
            self._display(latex, start, end, "$$")

    def _is_block(self, start: int, end: int) -> bool:
        """Whether kramdown's `$$` stand on lines of their own.

        Between the lines of a paragraph kramdown sets them inline, but authors mean displays.
        """
        return not self.in_table and self._is_alone(start, end)

    def _single_dollar(self) -> None:
        text, start = self.source, self._at
        close = self._find_dollar()
        if close < 0 or maths.is_money(text[start:close], text[close + 1 : close + 2]):
            self._pieces.text("$")
            return
        self._at = close + 1
        self._pieces.inline(text[start:close])

    def _find_dollar(self) -> int:
        """The dollar that closes inline mathematics, within its paragraph.

        Two of them close it only if they touch it, as in `$a$$b$`; otherwise a dollar too many
        would hide the display that they open.
        """
        if "$" in self._missing:
            return -1
        at = self._at
        while match := _DOLLAR.search(self.source, at):
            if match[0][0] != "\\":
                is_display = len(match[0]) > 1 and self.source[match.start() - 1].isspace()
                return match.start() if match[0][0] == "$" and not is_display else -1
            at = match.end()
        self._missing.add("$")
        return -1

    def _on_delimiter(self, match: re.Match[str]) -> None:
        opening = match[0]
        close, end = self._closing(opening)
        is_display = opening[-1] == "["
        latex = self.source[self._at : close] if close >= 0 else ""
        is_alone = is_display and self._is_alone(match.start(), match.end() if close < 0 else end)
        if close < 0 or not maths.is_formula(latex, is_inner=is_display and not is_alone):
            if close < 0 and is_alone:
                self._lost("display not closed", match.start(), opening)
            self._pieces.text(opening[-1])
            return
        self._at = end
        if len(opening) == 3:
            latex = maths.unescape(latex)
        if is_display:
            self._display(latex, match.start(), end, "\\[")
        else:
            self._pieces.inline(latex)

    def _is_alone(self, start: int, end: int) -> bool:
        """Whether nothing else stands on the lines between two positions."""
        before = self.source[max(0, start - _WINDOW) : start].rpartition("\n")[2]
        after = self.source[end : end + _WINDOW].partition("\n")[0]
        return not before.strip() and not after.strip(" \t.,;:")

    def _on_environment(self, match: re.Match[str]) -> None:
        name = match[0][match[0].index("{") + 1 : -1]
        if match[0].startswith("\\end") or name not in maths.MATH_ENVIRONMENTS | maths.SKIPPED:
            self._pieces.add("break_sentence")
            return
        close, end = self._closing(match[0], name)
        is_display = name in maths.MATH_ENVIRONMENTS
        if close < 0:
            if is_display:
                self._lost("display not closed", match.start(), match[0])
            return
        self._at = end
        if is_display:
            self._display(self.source[match.start() : end], match.start(), end, name)

    def _on_liquid(self, match: re.Match[str]) -> None:
        opening = maths.OPENING.match(self.source, match.start())
        if opening:
            self._at = opening.end()
            close, end = self._closing("{%")
            if close < 0:
                self._lost("display not closed", match.start(), opening[0])
                return
            latex = self.source[self._at : close]
            self._at = end
            self._display(latex, match.start(), end, "{% math %}")
            return
        close = self.source.find("%}" if match[0] == "{%" else "}}", self._at, self._at + 2_000)
        if close >= 0:
            self._at = close + 2

    # -- references

    def _on_command(self, match: re.Match[str]) -> None:
        r"""A command of LaTeX in running text; `\@ref(eq:x)` is bookdown's."""
        name = match[0].lstrip("\\@").rstrip("*")
        if match[0].startswith("\\@"):
            if target := _BOOKDOWN_REFERENCE.match(self.source, self._at):
                self._at = target.end()
                self._pieces.add("reference", target[1])
            return
        argument = _ARGUMENT.match(self.source, self._at)
        if argument and name in _REFERENCES:
            self._at = argument.end()
            for label in argument[1].split(","):
                self._pieces.add("reference", label.strip())
        elif argument and name in _SILENT_COMMANDS:
            self._at = argument.end()
        elif name == "item":
            self._pieces.add("break_sentence")

    def _on_citation(self, match: re.Match[str]) -> None:
        if found := _EQUATION_CITATION.match(match[0]):
            self._pieces.add("reference", found[1].rstrip(":/-"))

    def _on_role(self, match: re.Match[str]) -> None:
        r"""A role of MyST, {eq}`x`, or of d2lbook, :eqref:`x`."""
        name = match[0].strip("{}:").lower()
        ticks = _TICKS.match(self.source, self._at)
        marker = ticks[0] if ticks else "`"
        self._at += len(marker)
        close = self._find_ticks(len(marker))
        if close < 0:
            return
        content = self.source[self._at : close]
        self._at = close + len(marker)
        if name == "math":
            self._pieces.inline(content)
            return
        found = _ROLE_TEXT.match(content)
        text, target = (found[1], found[2]) if found else ("", content)
        if name in _EQUATION_ROLES or name in ("ref", "numref"):
            self._pieces.text(text.replace("%s", "").replace("{number}", ""))
            self._pieces.add("reference", target.strip())
        elif text or name not in _SILENT_ROLES:
            self._pieces.text(text or content)

    # -- brackets

    def _on_wiki(self, match: re.Match[str]) -> None:
        if match[0][0] == "!":
            return  # an embedded note or image
        target, _, text = match[0][2:-2].partition("|")
        page, _, part = target.partition("#")
        if part.startswith("^"):
            self._pieces.text(text)
            self._pieces.add("reference", part[1:].strip())
        else:
            self._pieces.text(text or (f"{page}: {part}" if page and part else page or part))

    def _on_bracket(self, match: re.Match[str]) -> None:
        if match[0] != "]":
            if len(self._brackets) >= _BRACKET_DEPTH:
                self._brackets.clear()
            self._brackets.append(_Bracket(match.end(), len(self._pieces.items), match[0][0]))
            self._pieces.text(match[0])
            return
        if not self._brackets:
            self._pieces.text("]")
            return
        opened = self._brackets.pop()
        first = self.source[opened.start]
        target = _LINK_TARGET.match(self.source, self._at)
        if opened.mark == "^":
            self._pieces.items[opened.piece] = None
            self._pieces.move_note(opened.piece)
        elif target:
            self._at = target.end()
            self._pieces.items[opened.piece] = None
            if opened.mark == "!":
                self._pieces.drop(opened.piece)
            elif target[1] == "@cite":
                self._pieces.drop(opened.piece, "reference")
            elif target[1][:1] == "#" or first == "]":
                self._pieces.add("reference", target[1].lstrip("#").split("?")[0].strip())
        elif first == "^" or _CITATION.match(self.source, opened.start, match.start()):
            self._pieces.drop(opened.piece, "reference")
        elif label := _LINK_LABEL.match(self.source, self._at):
            self._at = label.end()
            self._pieces.items[opened.piece] = None
        else:
            self._pieces.text("]")

    # -- other markup

    def _on_code(self, match: re.Match[str]) -> None:
        marker = match[0]
        close = self._find_ticks(len(marker))
        if close < 0:
            return
        content = self.source[self._at : close]
        self._at = close + len(marker)
        if len(marker) == 2 and self.dialect.is_documenter:
            self._pieces.inline(content)

    def _find_ticks(self, length: int) -> int:
        """Where a run of so many backticks comes next, in the same paragraph."""
        if self._at < self._no_ticks.get(length, 0):
            return -1
        at = self._at
        for match in _TICKS_OR_BLANK_LINE.finditer(self.source, self._at):
            at = match.end()
            if match[0][0] == "\n":
                break
            if len(match[0]) == length:
                return match.start()
        else:
            at = len(self.source)
        self._no_ticks[length] = at
        return -1

    def _on_tag(self, match: re.Match[str]) -> None:
        if match[0] == "<!--":
            close = self._find("-->")
            self._at = close + 3 if close >= 0 else self._at
            return
        tag = _TAG_NAME.match(match[0])
        name = tag[1].lower() if tag else ""
        if name in _RAW_TAGS and match[0][1] != "/" and not match[0].endswith("/>"):
            close = self._find(f"</{name}")
            self._at = close if close >= 0 else self._at
        elif name == "d-footnote" and match[0][1] != "/":
            self._note = len(self._pieces.items)
        elif name == "d-footnote":
            self._pieces.move_note(self._note)
            self._brackets = [opened for opened in self._brackets if opened.piece < self._note]
        elif name in _BREAKING_TAGS:
            self._pieces.add("break_sentence")

    def _on_emphasis(self, match: re.Match[str]) -> None:
        before = self.source[match.start() - 1 : match.start()] if match.start() else " "
        after = self.source[match.end() : match.end() + 1] or " "
        is_free = before.isspace() and after.isspace() and len(match[0]) == 1
        is_inner = before.isalnum() and after.isalnum()
        if match[0][0] == "*":
            is_inner = before.isdigit() and after.isdigit()
        if is_free or is_inner:
            self._pieces.text(match[0])

    def _on_escape(self, match: re.Match[str]) -> None:
        self._pieces.text(" " if match[0][1] in "\n\\ " else match[0][1])

    def _on_comment(self, _match: re.Match[str]) -> None:
        close = self._find("%%")
        if close >= 0:
            self._at = close + 2

    def _on_pipe(self, _match: re.Match[str]) -> None:
        if self.in_table:
            self._pieces.add("break_sentence")
        else:
            self._pieces.text("|")

    def _on_url(self, _match: re.Match[str]) -> None:
        self._pieces.cut_scheme()

    def _on_attributes(self, _match: re.Match[str]) -> None:
        """Classes and names are not text."""

    _on_target = _on_attributes


_WINDOW = 400  # characters around a token in which its line is looked at
_BRACKET_DEPTH = 100  # brackets within brackets
_DOLLAR = re.compile(r"\\.|\$+|\n[ \t]*\n", re.DOTALL)
_TICKS = re.compile(r"`+")
_TICKS_OR_BLANK_LINE = re.compile(r"`+|\n[ \t>]*\n")
_CITATION = re.compile(r"\s*(?:[\w .,]{0,40}\s)?-?@[\w{]")
