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
from eqemb.formula.commands import character, escape
from eqemb.formula.mathml_tokens import (
    ALPHABET_LETTERS,
    BLANKS,
    INVISIBLE,
    SYMBOL_NAME,
    TOKEN_TAGS,
    Items,
    delimiter_tag,
    join_tokens,
    pieces,
    shown_text,
    space_width,
    tag_of,
    with_glyph,
)
from eqemb.formula.rows import (
    FENCES,
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
from eqemb.formula.tree import Node, is_operator

#: Maximum nesting of elements; converters make about two rows for every group.
ELEMENT_DEPTH = 120

_MATH = re.compile(r"<(?:\w+:)?math\b")
_MATH_END = re.compile(r"</(?:\w+:)?math\s*>")
_DECLARATION = re.compile("<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_COMMAND = re.compile(r"\\[a-zA-Z]{2,}")
_PREFIX = re.compile(r"(</?)\w+:")
_PREFIXED_ATTRIBUTE = re.compile(r"(\s\w+):(\w+\s*=)")
_ENTITY = re.compile(r"&(?!(?:lt|gt|amp|quot|apos|#\d+|#x[0-9a-fA-F]+);)(\w+);")
_STYLES = {
    "bold": "bf", "bold-italic": "bi", "double-struck": "bb", "script": "scr", "fraktur": "frak",
    "sans-serif": "sf", "monospace": "tt", "bold-script": "bcal", "bold-fraktur": "frak",
    "bold-sans-serif": "sf", "sans-serif-italic": "sf", "sans-serif-bold-italic": "sf",
}  # fmt: skip
#: Class by which LaTeXML names an alphabet that its `mathvariant` does not.
_CALLIGRAPHIC = "ltx_font_mathcaligraphic"
_ACCENT_SIGNS = {
    "ˆ": "^", "\u0302": "^", "˜": "~", "\u0303": "~", "‾": "¯", "\u0304": "¯", "\u0305": "¯",
    "ˉ": "¯", "\u0332": "¯", "_": "¯", "⃗": "→", "\u0307": "˙", "\u0308": "¨", "\u030c": "ˇ",
    "ˇ": "ˇ",
    "\u0301": "´", "\u0300": "`", "\u0306": "˘", "\u030a": "˚", "︷": "⏞", "︸": "⏟", "−": "¯",
    "′": "´",
}  # fmt: skip
#: Classes under which our own writer draws a bar as a border.
_BAR_CLASSES = {"eqemb-over": "o", "eqemb-under": "u"}
#: Letters of these alphabets are separate symbols, even if a converter joins them.
_SINGLE = re.compile("[\U0001d49c-\U0001d4cf\U0001d504-\U0001d56bℂℍℕℙℚℝℤℬℰℱℋℐℒℳℛℭℌℑℜℨ]")

#: Binary operators that are big operators if they are drawn large.
_DRAWN_LARGE = dict(zip("⊕⊗⊙∪∩∨∧⊎⊔", "⨁⨂⨀⋃⋂⋁⋀⨄⨆", strict=True))


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
        self.variant = ""
        """The `mathvariant` of the elements around."""

    def read(self, element: ET.Element) -> Items:
        """The items of one element."""
        name = _name(element)
        handler = _HANDLERS.get(name)
        if handler is None:
            self.problems.append(FormulaProblem("unknown element", name))
            handler = _Reader.row
        if self.depth >= ELEMENT_DEPTH:
            return self.too_deep(name)
        self.depth += 1
        items = handler(self, element)
        self.depth -= 1
        return items

    def too_deep(self, name: str) -> Items:
        """In place of an element that is not read."""
        self.problems.append(FormulaProblem("nested too deep", name))
        return [Node("E!deep")]

    def row(self, element: ET.Element) -> Items:
        items: Items = []
        space = 0.0
        children = list(element)
        for place, child in enumerate(children):
            if _name(child) == "mspace":
                space += space_width(child.get("width", ""))
                continue
            if _name(child) == "mtable":
                around = children[max(0, place - 1) : place + 2 : 2 if place else 1]
                made = self.table(child, fenced=any(map(_is_fence, around)))
            else:
                made = self.read(child)
            if made and space:
                made[0].hint("space", space)
                space = 0.0
            items.extend(made)
        return join_tokens(items)

    def style(self, element: ET.Element) -> Items:
        """A row in another alphabet."""
        outer, self.variant = self.variant, element.get("mathvariant", self.variant)
        items = self.row(element)
        self.variant = outer
        return items

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
        variant = element.get("mathvariant", self.variant)
        style = _STYLES.get(variant, "")
        if _CALLIGRAPHIC in element.get("class", ""):
            style = "cal"
        if _SINGLE.search(text) and len(text) > 1:
            return [Node("V!" + char) for char in text]
        items: Items = []
        for word in [text] if text in TOKEN_TAGS else text.split(" "):
            if len(word) > 1 and word not in TOKEN_TAGS and not SYMBOL_NAME.fullmatch(word):
                items += pieces(word)
            elif word:
                items.append(with_glyph(word, Node(tag_of(word, "V!"))))
        for node in items:
            node.tag = styled(node.tag, style)
        if variant == "normal" and len(text) == 1:
            items[0].hint("upright")
        return items

    def number(self, element: ET.Element) -> Items:
        style = _STYLES.get(element.get("mathvariant", self.variant), "")
        items = pieces(_text(element).replace(" ", ""))
        for node in items:
            node.tag = styled(node.tag, style)
        return items

    def operator(self, element: ET.Element) -> Items:
        text = _text(element)
        if not text:
            return []
        if text == "∣":
            return [Node("|", {"side": "none", "mid": True})]
        if text == "~":
            return [Node("∼", {"tilde": True})]
        if len(text) > 1 and text not in TOKEN_TAGS:
            return self.identifier(element) if text[0].isalpha() else pieces(text)
        node = Node(tag_of(text, ""))
        if element.get("largeop") == "true":
            node.tag = _DRAWN_LARGE.get(node.tag, node.tag)
        if node.tag in ("|", "‖"):
            side = {"prefix": "open", "postfix": "close"}.get(element.get("form", ""))
            if side:
                node.hint("side", side)
        return [node]

    def text(self, element: ET.Element) -> Items:
        text = BLANKS.sub(" ", "".join(element.itertext()))
        text = text.replace("‘‘", "“").replace("’’", "”").replace("’", "'").translate(INVISIBLE)
        text = ALPHABET_LETTERS.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text)
        if len(text) == 1 and text.isalpha():
            return [Node(tag_of(text, "V!"), {"text": text})]
        return [Node("T!" + escape(text.strip()), {"text": text})] if text.strip() else []

    def error(self, element: ET.Element) -> Items:
        text = "".join(element.itertext()).strip()
        self.problems.append(FormulaProblem("error in the source", text))
        if _COMMAND.fullmatch(text):
            return [Node("V!" + text[1:], {"unknown": True})]
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
                node = base_for([node], edge) if node.kids else node
                if (
                    len(script) == 1
                    and "accent" in (_accent(script[0]).look or {})
                    and _scripted(node)
                ):
                    script[0].hint("outer")
                attach(node, edge, script)
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
        if len(base) == 1 and is_operator(base[0].tag) and edges == "dc":
            # LaTeXML's `R^i{}_j = 0`: the scripts are those of the symbol before.
            return self.prescripts_only(labels, rows) + base
        *before, node = _base(base) if base else [Node("W!")]
        taken = [
            label for label in labels if label and label in "cd" and node.get(label) is not None
        ]
        node = base_for([node], taken[0]) if taken else node
        for edge, script in zip([label for label in labels if label], rows, strict=False):
            if script:
                attach(node, script_edge(node, edge) if edge in "ab" else edge, _primes(script))
        return [*before, node]

    def prescripts_only(self, labels: list[str], rows: list[Items]) -> Items:
        empty = Node("W!")
        for label, row in zip([label for label in labels if label], rows, strict=False):
            attach(empty, {"d": "b", "c": "a"}.get(label, label), row)
        return [empty] if empty.kids else []

    def fenced(self, element: ET.Element) -> Items:
        """`mfenced` with its fences and separators."""
        separators = element.get("separators", ",").replace(" ", "")
        content: Items = []
        for index, child in enumerate(element):
            if index and separators:
                char = separators[min(index - 1, len(separators) - 1)]
                content.append(Node(character(char)))
            is_table = _name(child) == "mtable"
            content.extend(self.table(child, fenced=True) if is_table else self.read(child))
        opener, closer = element.get("open", "("), element.get("close", ")")
        ends = [Node(delimiter_tag(shown_text(char))) for char in (opener, closer)]
        if content and ends[0].tag and ends[1].tag:
            return [fence(ends[0], fences(content), ends[1])]
        return [node for node in (ends[0], *content, ends[1]) if node.tag]

    def table(self, element: ET.Element, *, fenced: bool = False) -> Items:
        """A table; rows that are only aligned, which no fence is beside, are joined."""
        if self.depth >= ELEMENT_DEPTH:
            return self.too_deep("mtable")
        self.depth += 1
        rows = []
        for row in element:
            cells = list(row)[1:] if _name(row) == "mlabeledtr" else list(row)
            rows.append([self.row(cell) for cell in cells])
        self.depth -= 1
        while rows and not any(rows[-1]):
            rows.pop()
        if not rows:
            return []
        while len(rows[0]) > 1 and all(len(cells) > 1 and not cells[-1] for cells in rows):
            rows = [cells[:-1] for cells in rows]
        if not fenced and len(rows) == 1 and len(rows[0]) == 1:
            return rows[0][0]
        is_aligned = "right left" in element.get("columnalign", "")
        if not fenced and (is_aligned or element.get("displaystyle") == "true"):
            return joined(rows)
        return [matrix(rows)]


def _name(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _text(element: ET.Element) -> str:
    return shown_text("".join(element.itertext()))


def _is_fence(element: ET.Element) -> bool:
    return _name(element) == "mo" and tag_of(_text(element), "") in FENCES


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
    if len(base) > 1 and base[-1].tag in ("|", "‖"):
        # LaTeXML's `f|_{x=0}`, unless the bar has a partner.
        made = fences(base)
        if len(made) > 1 and made[-1] is base[-1]:
            return made
        base = made
    return [wrap(base)]


def _primes(script: Items) -> Items:
    if len(script) > 1 and all(node.tag == "′" for node in script):
        return [Node("′" * len(script))]
    return script


def _scripted(node: Node) -> bool:
    return node.kids is not None and not node.kids.keys().isdisjoint("ab")


def _accent(node: Node) -> Node:
    char = "~" if "tilde" in (node.look or {}) else node.tag.removeprefix("V!")
    if char == "~":
        node.tag = char
    if node.kids is None and char in _ACCENT_SIGNS:
        node.tag = _ACCENT_SIGNS[char]
    if node.tag in "^~¯→˙¨ˇ´`˘˚⏞⏟":
        node.hint("accent", "narrow")
    return node


Handler = Callable[[_Reader, ET.Element], Items]
_HANDLERS: dict[str, Handler] = {
    "math": _Reader.row, "mrow": _Reader.group, "mstyle": _Reader.style, "mpadded": _Reader.group,
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
