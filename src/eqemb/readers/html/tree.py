"""Parse HTML into a tree, as leniently as browsers and in linear time.

`html.parser` is not used: on supported versions of Python it takes quadratic time on unclosed
comments and tags (5 s for 80 kB), and its results differ between their patch releases.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from html import unescape
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr


class Text(NamedTuple):
    """Characters between two tags, with entities decoded."""

    data: str
    start: int
    """Its position in the source."""


@dataclass(slots=True, eq=False)
class Element:
    """One element; `math` elements keep their content as source, not as children."""

    name: str
    attributes: dict[str, str]
    start: int
    end: int = 0
    """The position after its end tag."""
    parent: "Element | None" = None
    children: list["Element | Text"] = field(default_factory=list)
    classes: frozenset[str] = frozenset()

    def get(self, attribute: str) -> str:
        """The value of an attribute, or ''."""
        return self.attributes.get(attribute, "")


#: Content is not markup, up to the end tag.
_RAW_ELEMENTS = frozenset("script style textarea title xmp iframe noembed noframes".split())
#: The names of the root of MathML; a page in XML may give it a prefix.
MATH = frozenset({"math", "m:math", "mml:math"})
#: Raw elements in which entities are decoded.
_DECODED = frozenset({"textarea", "title"})
_EMPTY_ELEMENTS = frozenset(
    "area base br col embed hr img input link meta param source track wbr keygen".split()
)
_TABLE_PARTS = frozenset("table thead tbody tfoot tr td th caption".split())
HEADING_ELEMENTS = frozenset("h1 h2 h3 h4 h5 h6".split())
#: Elements that end an open paragraph.
_ENDS_PARAGRAPH = HEADING_ELEMENTS | frozenset(
    "address article aside blockquote center details dialog dir div dl dd dt fieldset figcaption "
    "figure footer form header hgroup hr li main menu nav ol p pre section summary table ul".split()
)
#: Elements that begin a new line.
BLOCK_ELEMENTS = _ENDS_PARAGRAPH | _TABLE_PARTS | {"body", "html"}
#: End tags inside these do not close elements around them.
_SCOPE_ELEMENTS = frozenset("table td th caption template object".split())
#: A start tag ends open elements of these names, up to the nearest of the container elements.
_IMPLIED_ENDS = {
    "li": (("li",), ("ul", "ol", "menu", "dir")),
    "dt": (("dt", "dd"), ("dl",)),
    "dd": (("dt", "dd"), ("dl",)),
    "tr": (("tr",), ("table",)),
    "td": (("td", "th"), ("table", "tr")),
    "th": (("td", "th"), ("table", "tr")),
    **dict.fromkeys(("thead", "tbody", "tfoot"), (("thead", "tbody", "tfoot"), ("table",))),
}
_IN_HEAD = frozenset("meta title link script style base noscript template head".split())

# A "<" starts a tag only if a name, then space, "/" or ">" follow, and no other "<" comes before
# the first quote: "x <y" in a formula is text.
_TAG_START = re.compile(
    r"<(?:(/?)([A-Za-z][\w:.-]*)(?=[\s/>])(?![^<>\"']*<)|(!--)|(!\[CDATA\[)|[!?])"
)
_TAG_ATTRIBUTE = re.compile(
    r"[\s/]*([^\s/>=]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"'][^\s>]*)))?"
)
_TAG_END = re.compile(r"[\s/=]*(>?)")


def parse(source: str, *, is_xml: bool = False) -> Element:
    """The tree of a page.

    Args:
        source: The page.
        is_xml: Whether `<a/>` is a whole element, as in XHTML.
    """
    return _Parser(source, is_xml=is_xml).parse()


def descendants(element: Element, most: int | None = None) -> Iterator[Element | Text]:
    """What is inside an element, in reading order, up to a number of nodes."""
    stack: list[Element | Text] = element.children[::-1]
    while stack and most != 0:
        node = stack.pop()
        yield node
        if isinstance(node, Element):
            stack += reversed(node.children)
        most = None if most is None else most - 1


def text_content(element: Element) -> str:
    """The text inside an element."""
    return "".join(node.data for node in descendants(element) if isinstance(node, Text))


def as_xml(markup: str) -> str:
    """One element of HTML as XML: values in quotes, all elements closed, empty ones left out."""
    name = re.match(r"\s*<([\w:.-]++)[^<>]*+>", markup)
    if name is None:
        return ""
    end = markup.rfind("</")
    root = parse(markup[name.end() : end if end >= name.end() else len(markup)], is_xml=True)
    pieces = ["<math>"]
    stack: list[Element | Text | str] = ["</math>", *reversed(root.children)]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            pieces.append(node)
        elif isinstance(node, Text):
            pieces.append(escape(node.data))
        elif node.name not in _EMPTY_ELEMENTS and (tag := node.name.rpartition(":")[2]):
            values = "".join(
                f" {key}={quoteattr(value)}"
                for key, value in node.attributes.items()
                if key.isalpha()
            )
            pieces.append(f"<{tag}{values}>")
            stack += [f"</{tag}>", *reversed(node.children)]
    return "".join(pieces)


def decode_entities(text: str) -> str:
    """Text with its entities decoded."""
    if "&" not in text:
        return text
    try:
        return unescape(text)
    except ValueError:  # a number of more digits than int() accepts
        return text


@cache
def _raw_end_pattern(name: str) -> re.Pattern[str]:
    """What ends a raw element: its end tag; a formula also ends before a block, as in browsers."""
    block = rf"|<(?:{'|'.join(sorted(BLOCK_ELEMENTS))})(?=[\s>])" if name in MATH else ""
    return re.compile(rf"</{re.escape(name)}\s*>{block}", re.IGNORECASE)


class _Parser:
    """Elements are opened and closed as in the HTML standard, for what matters to reading.

    The stack is indexed by name, so that no tag needs a search of it.
    """

    def __init__(self, source: str, *, is_xml: bool) -> None:
        self.source = source
        self.is_xml = is_xml
        self.root = Element("", {}, 0, len(source))
        self.open: list[Element] = [self.root]
        self.places: dict[str, list[int]] = {}
        self.scopes: list[int] = []
        self.blocks: list[int] = []
        self.never_closed: set[str] = set()

    def parse(self) -> Element:
        source, at = self.source, 0
        while (match := _TAG_START.search(source, at)) is not None:
            self.text(at, match.start())
            at = self.markup(match)
        self.text(at, len(source))
        self.pop(1, len(source))
        return self.root

    def markup(self, match: re.Match[str]) -> int:
        """Handle one tag, comment or declaration; return the position after it."""
        is_end, name, is_comment, is_cdata = match.groups()
        if name:
            attributes, at, is_whole = self.attributes(match.end())
            if is_end:
                self.close(name.lower(), at)
                return at
            return self.start(name.lower(), attributes, match.start(), at, is_whole=is_whole)
        closing = "-->" if is_comment else "]]>" if is_cdata else ">"
        end = self.source.find(closing, match.end())
        end = len(self.source) if end < 0 else end
        if is_cdata and end > match.end():
            data = self.source[match.end() : end]
            self.open[-1].children.append(Text(data, match.end()))
        return end + len(closing)

    def attributes(self, at: int) -> tuple[dict[str, str], int, bool]:
        """The attributes of a tag, the position after the tag, and whether it ends with "/>"."""
        found: dict[str, str] = {}
        if self.source.startswith(">", at):
            return found, at + 1, False
        while (match := _TAG_ATTRIBUTE.match(self.source, at)) is not None:
            value = match[2] or match[3] or match[4] or ""
            found.setdefault(match[1].lower(), decode_entities(value))
            at = match.end()
        end = _TAG_END.match(self.source, at).end()  # type: ignore[union-attr]
        return found, end, self.source[at:end].rstrip(">").endswith("/")

    def start(
        self, name: str, attributes: dict[str, str], start: int, at: int, *, is_whole: bool
    ) -> int:
        """Open an element; return the position after its tag or, if it is raw, after its end."""
        self.end_implied(name, start)
        classes = frozenset(attributes["class"].split()) if "class" in attributes else frozenset()
        if "ltx_eqn_table" in classes and "ltx_eqn_table" in self.open[self.last("table")].classes:
            self.pop(self.last("table"), start)  # displays of LaTeXML are not nested
        element = Element(name, attributes, start, at, self.open[-1], classes=classes)
        self.open[-1].children.append(element)
        is_math = name in MATH
        if name in _EMPTY_ELEMENTS or (is_whole and (self.is_xml or is_math)):
            return at
        if name in _RAW_ELEMENTS or is_math:
            end = self.raw_end(name, at)
            if end is not None:
                return self.raw(element, at, *end, is_math=is_math)
        self.places.setdefault(name, []).append(len(self.open))
        if name in _SCOPE_ELEMENTS:
            self.scopes.append(len(self.open))
        if name in BLOCK_ELEMENTS:
            self.blocks.append(len(self.open))
        self.open.append(element)
        return at

    def raw_end(self, name: str, at: int) -> tuple[int, int] | None:
        """Where the content and the end tag of a raw element end; None for unclosed formulas."""
        if name in self.never_closed:
            return None
        match = _raw_end_pattern(name).search(self.source, at)
        if match is None and name in _RAW_ELEMENTS:
            return len(self.source), len(self.source)
        if match is None:
            self.never_closed.add(name)
            return None
        return match.span() if match[0][1] == "/" else (match.start(), match.start())

    def raw(self, element: Element, at: int, end: int, after: int, *, is_math: bool) -> int:
        element.end = after
        if not is_math and end > at:
            data = self.source[at:end]
            data = decode_entities(data) if element.name in _DECODED else data
            element.children.append(Text(data, at))
        return after

    def text(self, start: int, end: int) -> None:
        if end > start:
            data = decode_entities(self.source[start:end])
            self.open[-1].children.append(Text(data, start))

    def last(self, name: str) -> int:
        """The index of the innermost open element of a name, or 0."""
        places = self.places.get(name)
        return places[-1] if places else 0

    def end_implied(self, name: str, at: int) -> None:
        """Close what a start tag ends: paragraphs, list items, cells, the head."""
        if (head := self.last("head")) and name not in _IN_HEAD:
            self.pop(head, at)
        if name in _ENDS_PARAGRAPH and (p := self.last("p")) > (self.scopes or [0])[-1]:
            self.pop(p, at)
        if name in HEADING_ELEMENTS and self.open[-1].name in HEADING_ELEMENTS:
            self.pop(len(self.open) - 1, at)
        if name in _IMPLIED_ENDS:
            ended, containers = _IMPLIED_ENDS[name]
            index = max(map(self.last, ended))
            if index > max(map(self.last, containers)):
                self.pop(index, at)

    def close(self, name: str, at: int) -> None:
        """Close the innermost open element of a name, unless it is outside of this part."""
        index = self.last(name)
        if name in _TABLE_PARTS:
            limit = self.last("table") if name != "table" else 0
        elif name in BLOCK_ELEMENTS or "-" in name:
            limit = (self.scopes or [0])[-1]
        else:  # a stray </b> does not end a paragraph
            limit = (self.blocks or [0])[-1]
        if index > limit:
            self.pop(index, at)

    def pop(self, index: int, at: int) -> None:
        """Close the open elements from an index of the stack on."""
        while len(self.open) > index:
            element = self.open.pop()
            element.end = at
            self.places[element.name].pop()
            if self.scopes and self.scopes[-1] == len(self.open):
                self.scopes.pop()
            if self.blocks and self.blocks[-1] == len(self.open):
                self.blocks.pop()
