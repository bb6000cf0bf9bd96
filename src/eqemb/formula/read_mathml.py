"""Read presentation MathML (of LaTeXML, ar5iv, JATS articles) into the layout tree.

Characters use the same tables as LaTeX, and rows the same rules for fences, so that one formula
gives one tree, whichever tool converted it. Content MathML and annotations are ignored.
"""

import re
import unicodedata
from collections.abc import Callable
from html import unescape
from xml.etree import ElementTree as ET

from eqemb.formula.alphabets import styled
from eqemb.formula.commands import SYMBOLS, character, escape
from eqemb.formula.rows import (
    attach,
    base_for,
    baseline_of,
    fence,
    fences,
    is_name,
    joined,
    matrix,
    script_edge,
    wrap,
)
from eqemb.formula.token_reader import FormulaProblem
from eqemb.formula.tree import Node

Items = list[Node]

#: Maximum nesting of elements; converters make about two rows for every group.
ELEMENT_DEPTH = 120

_MATH = re.compile(r"<(?:\w+:)?math\b")
_MATH_END = re.compile(r"</(?:\w+:)?math\s*>")
_DECLARATION = re.compile("<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_PREFIX = re.compile(r"(</?)\w+:")
_PREFIXED_ATTRIBUTE = re.compile(r"(\s\w+):(\w+\s*=)")
_ENTITY = re.compile(r"&(?!(?:lt|gt|amp|quot|apos|#\d+|#x[0-9a-fA-F]+);)(\w+);")
_INVISIBLE = dict.fromkeys(map(ord, "\u2061\u2062\u2063\u2064\u200b\ufe00\ufe01\ufeff"))
_SPACES = re.compile(r"[\s\u00a0\u2002-\u200a\u202f\u205f]+")

_STYLES = {
    "bold": "bf", "bold-italic": "bi", "double-struck": "bb", "script": "scr", "fraktur": "frak",
    "sans-serif": "sf", "monospace": "tt", "bold-script": "bcal",
}  # fmt: skip
_ACCENT_SIGNS = {
    "ˆ": "^", "\u0302": "^", "˜": "~", "\u0303": "~", "‾": "¯", "\u0304": "¯", "\u0305": "¯",
    "ˉ": "¯", "\u0332": "¯", "_": "¯", "⃗": "→", "\u0307": "˙", "\u0308": "¨", "\u030c": "ˇ",
    "ˇ": "ˇ",
    "\u0301": "´", "\u0300": "`", "\u0306": "˘", "\u030a": "˚", "︷": "⏞", "︸": "⏟", "−": "¯",
}  # fmt: skip
#: Classes under which our own writer draws a bar as a border.
_BAR_CLASSES = {"eqemb-over": "o", "eqemb-under": "u"}
#: Letters of these alphabets are separate symbols, even if a converter joins them.
_SINGLE = re.compile("[\U0001d49c-\U0001d4cf\U0001d504-\U0001d56bℂℍℕℙℚℝℤℬℰℱℋℐℒℳℛℭℌℑℜℨ]")

#: Italic letters are plain letters.
_ITALIC = re.compile("[\U0001d434-\U0001d467\U0001d6e2-\U0001d71bℎ]+")

#: A character or name in MathML -> its tag, from the LaTeX tables.
_TAGS = {(tag[2:] if tag[1:2] == "!" else tag): tag for tag in SYMBOLS.values()}
_TAGS.update({"ε": "V!ϵ", "φ": "V!ϕ", "*": "*", "∗": "*", "-": "−", "∥": "‖", "·": "⋅"})


def read_mathml(text: str) -> tuple[Items, list[FormulaProblem]]:
    """The items of a formula's row, and the problems; never raises."""
    start = _MATH.search(text)
    ends = [match.end() for match in _MATH_END.finditer(text, start.end())] if start else []
    if start is None or not ends:
        return [], [FormulaProblem("no math element")]
    element = text[start.start() : ends[-1]]
    if _DECLARATION.search(element):
        return [], [FormulaProblem("a document type inside")]
    source = _PREFIXED_ATTRIBUTE.sub(r"\1_\2", _PREFIX.sub(r"\1", element))
    source = _ENTITY.sub(lambda match: _entity(match[0]), source)
    try:
        root = ET.fromstring(source)  # noqa: S314 - it declares no entities, see above
    except (ET.ParseError, RecursionError, ValueError) as error:
        return [], [FormulaProblem("not well-formed XML", str(error))]
    reader = _Reader()
    return reader.row(root), reader.problems


def _entity(entity: str) -> str:
    char = unescape(entity)
    return "" if char == entity else char.replace("&", "&amp;").replace("<", "&lt;")


class _Reader:
    """One reading; every method takes an element and returns the items of a row."""

    def __init__(self) -> None:
        self.problems: list[FormulaProblem] = []
        self.depth = 0

    def read(self, element: ET.Element) -> Items:
        """The items of one element."""
        name = _name(element)
        handler = _HANDLERS.get(name)
        if handler is None:
            self.problems.append(FormulaProblem("unknown element", name))
            return self.row(element)
        if self.depth >= ELEMENT_DEPTH:
            self.problems.append(FormulaProblem("nested too deep", name))
            return [Node("E!deep")]
        self.depth += 1
        items = handler(self, element)
        self.depth -= 1
        return items

    def row(self, element: ET.Element) -> Items:
        items: Items = []
        for child in element:
            items.extend(self.read(child))
        return _join(items)

    def group(self, element: ET.Element) -> Items:
        """A row that begins and ends with matching fences is one node."""
        items = self.row(element)
        bar = _BAR_CLASSES.get(element.get("class", "").partition(" ")[0])
        if bar:
            base = base_for(items, bar)
            base.put(bar, Node("¯", {"accent": "wide"}))
            return [base.hint("stack")]
        if len(items) > 2 and _paired(items):
            return [fence(items[0], fences(items[1:-1]), items[-1])]
        for node in (items[:1] + items[-1:]) if _one_sided(element) else []:
            node.hint("side", "none")
        return items

    def arguments(self, element: ET.Element, count: int) -> list[Items]:
        """The children, each as a row; missing ones are `E!`."""
        rows = [self.read(child) for child in element]
        if len(rows) != count:
            self.problems.append(FormulaProblem("wrong number of children", str(element.tag)))
            rows += [[Node("E!missing")]] * (count - len(rows))
        return rows

    def first(self, element: ET.Element) -> Items:
        for child in element:
            if child.get("encoding") == "MathML-Presentation":
                return self.row(child)
        return self.read(element[0]) if len(element) else []

    def nothing(self, _: ET.Element) -> Items:
        return []

    def identifier(self, element: ET.Element) -> Items:
        text = _text(element)
        variant = element.get("mathvariant", "")
        if _SINGLE.search(text) and len(text) > 1:
            return [Node("V!" + char) for char in text]
        items: Items = []
        for word in [text] if text in _TAGS else text.split(" "):
            tag = _tag(word, "V!") if word else "W!"
            if tag != "W!":
                items.append(Node(styled(tag, _STYLES.get(variant, ""))))
        if variant == "normal" and len(text) == 1:
            items[0].hint("upright")
        return items

    def number(self, element: ET.Element) -> Items:
        text = _text(element).replace(" ", "")
        return [Node("N!" + escape(text))] if text else []

    def operator(self, element: ET.Element) -> Items:
        text = _text(element)
        if not text:
            return []
        if text == "∣":
            return [Node("|", {"side": "none", "mid": True})]
        if len(text) > 1 and text[0].isalpha() and text not in _TAGS:
            return self.identifier(element)
        node = Node(_tag(text, ""))
        if node.tag in ("|", "‖"):
            side = {"prefix": "open", "postfix": "close"}.get(element.get("form", ""))
            if side:
                node.hint("side", side)
        return [node]

    def text(self, element: ET.Element) -> Items:
        text = _SPACES.sub(" ", "".join(element.itertext()))
        text = text.replace("‘‘", "“").replace("’’", "”").replace("’", "'")
        if len(text) == 1 and text.isalpha():
            return [Node(_tag(text, "V!"), {"text": text})]
        return [Node("T!" + escape(text.strip()), {"text": text})] if text.strip() else []

    def error(self, element: ET.Element) -> Items:
        text = "".join(element.itertext()).strip()
        self.problems.append(FormulaProblem("error in the source", text))
        return [Node("E!" + escape(text))]

    def fraction(self, element: ET.Element) -> Items:
        above, below = self.arguments(element, 2)[:2]
        bar = (
            element.get("linethickness", "1").strip("0.pxtemd ")
            or element.get("linethickness") is None
        )
        node = Node("O!divide" if bar else "O!atop")
        node.put("o", baseline_of(above))
        node.put("u", baseline_of(below))
        return [node]

    def square_root(self, element: ET.Element) -> Items:
        node = Node("O!root")
        node.put("w", baseline_of(self.row(element)))
        return [node]

    def root(self, element: ET.Element) -> Items:
        radicand, index = self.arguments(element, 2)[:2]
        node = Node("O!root")
        node.put("w", baseline_of(radicand))
        node.put("c", baseline_of(index))
        return [node]

    def scripts(self, element: ET.Element) -> Items:
        """msub, msup, msubsup."""
        edges = {"msub": "b", "msup": "a"}.get(_name(element), "ba")
        base, *scripts = self.arguments(element, len(edges) + 1)
        if not base:
            node = Node("W!")
            for edge, script in zip(edges, scripts, strict=False):
                attach(node, edge, script)
            return [node] if node.kids else []
        *before, node = _base(base)
        for edge, script in zip(edges, scripts, strict=False):
            target = script_edge(node, edge)
            if node.get(target) is not None:
                node = base_for([node], target)
                target = script_edge(node, edge)
            attach(node, target, _primes(script))
        return [*before, node]

    def limits(self, element: ET.Element) -> Items:
        """munder, mover, munderover."""
        edges = {"munder": "u", "mover": "o"}.get(_name(element), "uo")
        base, *scripts = self.arguments(element, len(edges) + 1)
        if base and not any(scripts):
            return base
        before = base[:-1] if len(base) > 1 and all(map(is_name, base)) else []
        node = wrap(base[len(before) :]) if base else Node("W!")
        for edge, script in zip(edges, scripts, strict=False):
            if script:
                node = base_for([node], edge)
                attach(node, edge, [_accent(script[0])] if len(script) == 1 else script)
        return [*before, node.hint("stack")]

    def multiscripts(self, element: ET.Element) -> Items:
        rows: list[Items] = []
        labels: list[str] = []
        edges = "ba"
        for child in list(element)[1:]:
            if _name(child) == "mprescripts":
                edges = "dc"
                labels += [""] * (len(labels) % 2)
                continue
            labels.append(edges[len(labels) % 2])
            rows.append(self.read(child))
        base = self.read(element[0]) if len(element) else []
        *before, node = _base(base) if base else [Node("W!")]
        for edge, script in zip([label for label in labels if label], rows, strict=False):
            if script:
                attach(node, script_edge(node, edge) if edge in "ab" else edge, _primes(script))
        return [*before, node]

    def fenced(self, element: ET.Element) -> Items:
        """`mfenced` with its fences and separators."""
        separators = element.get("separators", ",").replace(" ", "")
        content: Items = []
        for index, child in enumerate(element):
            if index and separators:
                char = separators[min(index - 1, len(separators) - 1)]
                content.append(Node(character(char)))
            content.extend(self.read(child))
        opener, closer = element.get("open", "("), element.get("close", ")")
        ends = [
            Node(_tag(char.strip(), "")) if char.strip() else Node("") for char in (opener, closer)
        ]
        if content and ends[0].tag and ends[1].tag:
            return [fence(ends[0], fences(content), ends[1])]
        return [node for node in (ends[0], *content, ends[1]) if node.tag]

    def table(self, element: ET.Element) -> Items:
        rows = []
        for row in element:
            cells = list(row)[1:] if _name(row) == "mlabeledtr" else list(row)
            rows.append([self.row(cell) for cell in cells])
        while rows and not any(rows[-1]):
            rows.pop()
        if not rows:
            return []
        if element.get("displaystyle") == "true" or "right left" in element.get("columnalign", ""):
            return joined(rows)
        return [matrix(rows)]


def _name(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _text(element: ET.Element) -> str:
    text = "".join(element.itertext()).translate(_INVISIBLE)
    return _SPACES.sub(" ", text).strip()


def _tag(text: str, prefix: str) -> str:
    """The tag of a token: from the table of characters and names, else by its element."""
    if len(text) == 1:
        if _ITALIC.match(text):
            text = unicodedata.normalize("NFKC", text)
        return _TAGS.get(text) or character(text)
    if prefix and _ITALIC.fullmatch(text):
        text = unicodedata.normalize("NFKC", text)
    return _TAGS.get(text) or prefix + escape(text)


def _join(items: Items) -> Items:
    """Join tokens that converters split: `||`, three dots, the point of `.5`."""
    out: Items = []
    for node in items:
        last = out[-1] if out else None
        if last is not None and last.kids is None and not last.n:
            if last.tag == "." and node.tag[:2] == "N!" and node.tag[2:].isdigit():
                last.tag, last.kids = "N!." + node.tag[2:], node.kids
                continue
            if node.tag == "|" and last.tag == "|" and not (node.look or last.look):
                last.tag, last.kids, last.look = "‖", node.kids, {"twin": True}
                continue
            if (
                node.tag in (".", "⋅")
                and last.tag == node.tag
                and len(out) > 1
                and out[-2].tag == node.tag
            ):
                out.pop()
                out[-1].tag, out[-1].kids = "V!…", node.kids
                continue
        out.append(node)
    return out


_OPENERS = frozenset("({|‖⟨⌊⌈⟦") | {"&lsqb;"}
_CLOSERS = frozenset(")}|‖⟩⌋⌉⟧") | {"&rsqb;"}


def _paired(items: Items) -> bool:
    """Whether the ends of a row are matching fences."""
    first, last = items[0], items[-1]
    if first.tag not in _OPENERS or last.tag not in _CLOSERS or first.kids or last.kids:
        return False
    if any((end.look or {}).get("side") == "none" for end in (first, last)):
        return False
    if first.tag in "|‖":
        return first.tag == last.tag and all(node.tag != first.tag for node in items[1:-1])
    level = 0
    for node in items[1:-1]:
        level += (node.tag in _OPENERS) - (node.tag in _CLOSERS)
        if level < 0 and node.tag not in "|‖":
            return False
    return True


def _one_sided(element: ET.Element) -> bool:
    r"""Whether one end of a row is an invisible delimiter, as for `\right.`."""
    ends = [element[0], element[-1]] if len(element) else []
    return any(_name(end) == "mo" and (end.text or "") == "\u2063" for end in ends)


def _base(base: Items) -> Items:
    """A base for scripts, after the symbols before it if the row has one invisible delimiter."""
    if len(base) > 1 and (base[-1].look or {}).get("side") == "none":
        return base
    return [wrap(base)]


def _primes(script: Items) -> Items:
    if len(script) > 1 and all(node.tag == "′" for node in script):
        return [Node("′" * len(script))]
    return script


def _accent(node: Node) -> Node:
    char = node.tag.removeprefix("V!")
    if node.kids is None and char in _ACCENT_SIGNS:
        node.tag = _ACCENT_SIGNS[char]
    if node.tag in "^~¯→˙¨ˇ´`˘˚⏞⏟":
        node.hint("accent", "narrow")
    return node


Handler = Callable[[_Reader, ET.Element], Items]
_HANDLERS: dict[str, Handler] = {
    "math": _Reader.row, "mrow": _Reader.group, "mstyle": _Reader.row, "mpadded": _Reader.group,
    "semantics": _Reader.first, "maction": _Reader.first, "menclose": _Reader.row,
    "mi": _Reader.identifier, "mn": _Reader.number, "mo": _Reader.operator,
    "mtext": _Reader.text, "ms": _Reader.text, "merror": _Reader.error,
    "mspace": _Reader.nothing, "mphantom": _Reader.nothing, "none": _Reader.nothing,
    "annotation": _Reader.nothing, "annotation-xml": _Reader.nothing,
    "maligngroup": _Reader.nothing, "malignmark": _Reader.nothing,
    "mfrac": _Reader.fraction, "msqrt": _Reader.square_root, "mroot": _Reader.root,
    "msub": _Reader.scripts, "msup": _Reader.scripts, "msubsup": _Reader.scripts,
    "munder": _Reader.limits, "mover": _Reader.limits, "munderover": _Reader.limits,
    "mmultiscripts": _Reader.multiscripts, "mfenced": _Reader.fenced, "mtable": _Reader.table,
    "mtr": _Reader.row, "mtd": _Reader.row, "mprescripts": _Reader.nothing,
}  # fmt: skip
