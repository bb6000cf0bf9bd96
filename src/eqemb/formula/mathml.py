"""Write the layout tree as MathML that browsers show without scripts or special fonts.

Any node can be marked: it gets the class `eqemb-mark` and a background; or a number, which becomes
the attribute `data-symbol`. Hints of the tree (spaces,
stretching fences, line breaks) are used if the source gave them; a tree read from a bracket
string has none.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from html import escape
from itertools import chain
from typing import Any

from eqemb.formula.commands import BIG, FUNCTIONS, INTEGRALS, LIMITS, unescape
from eqemb.formula.tree import Node, baseline, walk

#: Deeper nesting is shown as an ellipsis.
MATHML_DEPTH = 80

_MATRIX = re.compile(r"M!((?:&\w+;|.)??)((?:&\w+;|.)??)(\d+)x(\d+)\Z", re.DOTALL)
_MARK_ATTRIBUTES = ' class="eqemb-mark" mathbackground="#ffe08a"'
_SIZES = {"big": 1.2, "Big": 1.8, "bigg": 2.4, "Bigg": 3.0}
_BRACKETS = frozenset("()[]{}|‖⟨⟩⌊⌋⌈⌉⟦⟧")
_UPRIGHT_CAPITALS = frozenset("ΓΔΘΛΞΠΣΥΦΨΩ")
_ALIGN_LEFT = "text-align:left"
#: Browsers align a MathML cell to the right only with their own prefixed values.
_ALIGN_RIGHT = "text-align:right;text-align:-moz-right;text-align:-webkit-right"
_ALIGN = {"l": f' style="{_ALIGN_LEFT}"', "r": f' style="{_ALIGN_RIGHT}"'}
_ACCENT_GLYPHS = {"^": "ˆ", "~": "˜"}
#: Signs after which a plus or minus is a binary operator.
_AFTER_OPERAND = frozenset(")]}|‖⟩⌋⌉!′")
_PLUS_MINUS = frozenset("+−±∓")
_THIN = '<mspace width="0.1667em"/>'


def to_mathml(
    root: Node | None,
    tail: str = "",
    *,
    display: bool = True,
    mark: Iterable[int] = (),
    symbols: Mapping[int, int] | None = None,
) -> str:
    """A `math` element; `tail` is punctuation after it, `mark` are indices of nodes.

    `symbols` maps indices of nodes to the numbers of symbols.
    """
    writer = _MathmlWriter(root, mark, symbols or {})
    body = writer.lines(root, tail)
    style = ' display="block"' if display else ""
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML"{style}>{body}</math>'


class _MathmlWriter:
    def __init__(self, root: Node | None, mark: Iterable[int], symbols: Mapping[int, int]) -> None:
        places = set(mark)
        self.added: dict[int, str] = {}  # by the id of a node
        if places or symbols:
            for i, node in enumerate(walk(root)):
                marked = _MARK_ATTRIBUTES if i in places else ""
                number = f' data-symbol="{symbols[i]}"' if i in symbols else ""
                if marked or number:
                    self.added[id(node)] = marked + number
        self.depth = 0

    def attributes(self, node: Node) -> str:
        return self.added.get(id(node), "")

    def lines(self, root: Node | None, tail: str) -> str:
        """The whole formula; rows that the source broke and aligned become a table."""
        rows: list[list[list[Node]]] = [[[]]]
        for node in baseline(root):
            look = node.look or {}
            if "row" in look and any(rows[0]):
                rows.append([[]])
            rows[-1].extend([] for _ in range(look.get("cell", 0)))
            rows[-1][-1].append(node)
        end = f'<mo lspace="0">{escape(tail)}</mo>' if tail else ""
        rows = _relations_joined(rows)
        if len(rows) == 1:
            return "".join(self.columns(rows[0])) + end
        one = max(map(len, rows)) == 1
        out = []
        for row in rows:
            cells = []
            for column, cell in enumerate(row):
                align = _ALIGN_LEFT if column % 2 or one else _ALIGN_RIGHT
                gap = "2em" if column and not column % 2 else "0"
                style = f"{align};padding:0.2em 0 0.2em {gap}"
                cells.append(f'<mtd style="{style}">{self.aligned(cell)}</mtd>')
            out.append("<mtr>" + "".join(cells) + "</mtr>")
        if end:
            out[-1] = out[-1].removesuffix("</mtd></mtr>") + end + "</mtd></mtr>"
        return '<mtable displaystyle="true">' + "".join(out) + "</mtable>"

    def columns(self, cells: list[list[Node]]) -> Iterator[str]:
        """The columns of a single line, with a gap before each new pair of columns."""
        pair = None
        for column, cell in enumerate(cells):
            if cell:
                if pair is not None and pair != column // 2:
                    yield '<mspace width="2em"/>'
                pair = column // 2
                yield from self.cells(cell)

    def aligned(self, cell: list[Node]) -> str:
        """A cell of aligned lines; empty rows at its ends keep the space around operators."""
        start = "<mrow></mrow>" if cell and cell[0].tag[1:2] != "!" else ""
        end = "<mrow></mrow>" if cell and cell[-1].tag[1:2] != "!" else ""
        return start + "".join(self.cells(cell)) + end

    def row(self, node: Node | None) -> str:
        """A baseline as one element."""
        parts = self.cells(list(baseline(node)))
        return parts[0] if len(parts) == 1 else "<mrow>" + "".join(parts) + "</mrow>"

    def cells(self, nodes: list[Node]) -> list[str]:
        """The elements of a baseline, with the spaces between them."""
        if self.depth >= MATHML_DEPTH:
            return ["<mi>…</mi>"]
        self.depth += 1
        parts: list[str] = []
        for i, node in enumerate(nodes):
            space = (node.look or {}).get("space")
            if isinstance(space, float) and abs(space) > 0.1:
                parts.append(f'<mspace width="{space:.3g}em"/>')
            elif _is_function(node) and i and _wants_gap(nodes[i - 1]):
                parts.append(_THIN)
            previous = nodes[i - 1] if i else None
            if (
                node.tag in _PLUS_MINUS
                and node.kids is None
                and (
                    previous is None or (_is_mark(previous) and previous.tag not in _AFTER_OPERAND)
                )
            ):
                parts.append(f'<mo form="prefix"{self.attributes(node)}>{node.tag}</mo>')
                continue
            parts.append(self.scripted(node))
            if _is_function(node) and i + 1 < len(nodes) and _wants_space(nodes[i + 1]):
                parts.append(_THIN)
        self.depth -= 1
        return parts

    def scripted(self, node: Node) -> str:
        """A symbol with its scripts."""
        kids = node.kids
        if kids is None or node.tag[:2] == "O!":
            return self.core(node)
        if "c" in kids or "d" in kids:
            return self.with_prescripts(node)
        below, above = kids.get("u"), kids.get("o")
        if not (below or above) or not _stacks(node):
            return self.scripts(node, kids.get("b", below), kids.get("a", above))
        if any("outer" in (child.look or {}) for child in (below, above) if child):
            return self.stacked(self.scripts(node, kids.get("b"), kids.get("a")), below, above)
        core = self.stacked(self.core(node), below, above)
        return _with_scripts(core, self.optional(kids.get("b")), self.optional(kids.get("a")))

    def optional(self, node: Node | None) -> str:
        return self.row(node) if node is not None else ""

    def scripts(self, node: Node, below: Node | None, above: Node | None) -> str:
        """Scripts at the side; as in TeX, on the closing fence unless the fences stretch."""
        low, high = self.optional(below), self.optional(above)
        if node.tag[:2] == "M!":
            return self.matrix(node, low, high)
        return _with_scripts(self.core(node), low, high)

    def stacked(self, core: str, below: Node | None, above: Node | None) -> str:
        if below and above and not _is_accent(below) and not _is_accent(above):
            return f"<munderover>{core}{self.row(below)}{self.row(above)}</munderover>"
        for node, name, side in ((above, "over", "top"), (below, "under", "bottom")):
            if node is None:
                continue
            if node.tag == "¯" and node.kids is None and node.n is None:
                # Common math fonts do not stretch a bar well: a border is as wide as its base.
                mark = self.attributes(node).replace('class="', f'class="eqemb-{name} ')
                mark = mark or f' class="eqemb-{name}"'
                style = f"border-{side}:0.06em solid;padding-{side}:0.12em"
                core = f'<mrow{mark} style="{style}">{core}</mrow>'
                continue
            flag = f' accent{"" if name == "over" else "under"}="true"' if _is_accent(node) else ""
            core = f"<m{name}{flag}>{core}{self.row(node)}</m{name}>"
        return core

    def with_prescripts(self, node: Node) -> str:
        def part(edge: str) -> str:
            child = node.get(edge)
            return self.row(child) if child else "<mrow></mrow>"

        core = self.core(node)
        return (
            f"<mmultiscripts>{core}{part('b')}{part('a')}<mprescripts/>{part('d')}{part('c')}"
            "</mmultiscripts>"
        )

    def core(self, node: Node) -> str:
        """A symbol without its scripts."""
        kind = node.tag[:2]
        if kind == "M!":
            return self.matrix(node)
        if kind == "O!":
            return self.built(node)
        if not node.look and not self.added:
            return _plain_symbol(node.tag)
        return _symbol(node.tag, self.attributes(node), node.look or {})

    def built(self, node: Node) -> str:
        """Fractions and roots."""
        mark = self.attributes(node)
        if node.tag == "O!root":
            inside = "".join(self.cells(list(baseline(node.get("w")))))
            index = node.get("c")
            if index is None:
                made = f"<msqrt{mark}>{inside}</msqrt>"
            else:
                made = f"<mroot{mark}><mrow>{inside}</mrow>{self.row(index)}</mroot>"
        else:
            look = node.look or {}
            bar = ' linethickness="0"' if node.tag == "O!atop" else ""
            style = ' displaystyle="true"' if "display" in look else ""
            above, below = self.row(node.get("o")), self.row(node.get("u"))
            made = f"<mfrac{bar}{style}{mark}>{above}{below}</mfrac>"
        return _with_scripts(made, self.optional(node.get("b")), self.optional(node.get("a")))

    def matrix(self, node: Node, low: str = "", high: str = "") -> str:
        """A fenced group, a matrix, or an invisible group."""
        found = _MATRIX.match(node.tag)
        opener, closer = (found[1], found[2]) if found else ("", "")
        if found and opener and not closer:
            opener, closer = "", opener
        parts, head = [], node.get("w")
        while head is not None:
            parts.append(head)
            head = head.get("e")
        look, mark = node.look or {}, self.attributes(node)
        inside = self.table(parts, node, mark) if _is_table(node, found) else None
        if inside is None:
            made = [cell for part in parts for cell in self.cells(list(baseline(part)))]
            # A row of its own, so that a sign at its start is a prefix operator.
            inside = made[0] if len(made) == 1 else "<mrow>" + "".join(made) + "</mrow>"
        size = look.get("size")
        hints: dict[str, Any] = {"stretch": True} if "stretch" in look else {"size": size or ""}
        ends = [
            _operator(unescape(char), mark + form, hints) if char else ""
            for char, form in ((opener, ' form="prefix"'), (closer, ' form="postfix"'))
        ]
        if ends[1] and "stretch" not in look and not size:
            return f"<mrow>{ends[0]}{inside}{_with_scripts(ends[1], low, high)}</mrow>"
        return _with_scripts(f"<mrow>{ends[0]}{inside}{ends[1]}</mrow>", low, high)

    def table(self, cells: list[Node], node: Node, mark: str) -> str:
        widths = (node.look or {}).get("widths")
        if not isinstance(widths, list) or sum(widths) != len(cells):
            found = _MATRIX.match(node.tag)
            count = max(1, int(found[4])) if found else 1
            widths = [count] * (len(cells) // count + 1)
        columns = (node.look or {}).get("columns", "")
        out, at = [], 0
        for width in widths:
            row = cells[at : at + width]
            at += width
            made = "".join(
                f"<mtd{_ALIGN.get(str(columns)[k : k + 1], '')}>{self.row(cell)}</mtd>"
                for k, cell in enumerate(row)
            )
            out.append(f"<mtr>{made}</mtr>" if row else "")
        return f"<mtable{mark}>" + "".join(out) + "</mtable>"


def _relations_joined(rows: list[list[list[Node]]]) -> list[list[list[Node]]]:
    """Join a column of relations (`&=&`) with the column after it."""
    relations = any(len(row) > 2 and len(row[1]) == 1 and row[1][0].tag[1:2] != "!" for row in rows)
    if not relations:
        return rows
    return [[*row[:1], [*chain(*row[1:3])], *row[3:]] for row in rows]


def _is_table(node: Node, found: "re.Match[str] | None") -> bool:
    if node.look and "widths" in node.look:
        return True
    return found is not None and int(found[3]) > 1


def _with_scripts(core: str, low: str, high: str) -> str:
    if low and high:
        return f"<msubsup>{core}{low}{high}</msubsup>"
    if low:
        return f"<msub>{core}{low}</msub>"
    return f"<msup>{core}{high}</msup>" if high else core


def _is_accent(node: Node) -> bool:
    return "accent" in (node.look or {}) or (node.tag in "^~¯˙¨ˇ⏞⏟" and node.n is None)


def _stacks(node: Node) -> bool:
    """Whether limits are drawn over and under, rather than as scripts at the side."""
    look = node.look or {}
    if "nolimits" in look:
        return False
    if "stack" in look or "limits" in look:
        return True
    if node.tag in INTEGRALS:
        return False
    if node.tag in LIMITS:
        return True
    accents = any(_is_accent(child) for edge, child in (node.kids or {}).items() if edge in "ou")
    return accents or (node.tag[1:2] == "!" and node.tag[:2] != "M!")


def _is_function(node: Node) -> bool:
    return node.tag in FUNCTIONS or (node.look is not None and "name" in node.look)


def _is_mark(node: Node) -> bool:
    """Whether a symbol has its own spacing, or no space after it."""
    return node.tag[1:2] != "!" or _is_function(node)


def _wants_gap(node: Node) -> bool:
    """Whether to separate a function name from the symbol before it."""
    return not _is_mark(node) or node.tag in BIG


def _wants_space(node: Node) -> bool:
    if _is_function(node) or node.tag in BIG or node.tag in ("∂", "∇"):
        return True
    return not (node.tag[:2] == "M!" or node.tag in _BRACKETS or _is_mark(node))


@lru_cache(maxsize=1 << 12)
def _plain_symbol(tag: str) -> str:
    """A symbol without hints: most symbols, and the same few."""
    return _symbol(tag, "", {})


def _symbol(tag: str, mark: str, look: dict[str, Any]) -> str:
    kind = tag[:2]
    text = str(look.get("glyph", "")) or unescape(tag[2:])
    if kind == "V!":
        return _identifier(tag, text, mark, look)
    if kind == "N!":
        return f"<mn{mark}>{escape(text)}</mn>"
    if kind == "T!":
        return f"<mtext{mark}>{_text(str(look.get('text', text)))}</mtext>"
    if kind == "E!":
        return f"<merror{mark}><mtext>{escape(text)}</mtext></merror>"
    if kind == "W!":
        return f"<mrow{mark}></mrow>"
    return _operator(unescape(tag), mark, look)


def _identifier(tag: str, text: str, mark: str, look: dict[str, Any]) -> str:
    if tag in LIMITS or "limits" in look:
        return f'<mo lspace="0" rspace="0" movablelimits="true"{mark}>{escape(text)}</mo>'
    upright = "upright" in look or text in _UPRIGHT_CAPITALS
    normal = ' mathvariant="normal"' if upright and len(text) == 1 else ""
    return f"<mi{normal}{mark}>{escape(text)}</mi>"


def _operator(char: str, mark: str, look: dict[str, Any]) -> str:
    extra = ""
    if "mid" in look:
        extra = ' stretchy="false" lspace="0.2778em" rspace="0.2778em"'
    elif "stretch" in look:
        extra = ' stretchy="true"'
    elif look.get("size"):
        size = _SIZES.get(re.sub(r"\\|(?<=g)[lrm]\Z", "", str(look["size"])), 1.0)
        extra = f' stretchy="true" symmetric="true" minsize="{size}em" maxsize="{size}em"'
    elif char in _BRACKETS:
        extra = ' stretchy="false"' + (' lspace="0" rspace="0"' if char in "|‖" else "")
    elif look.get("accent") == "narrow":
        extra, char = ' stretchy="false"', _ACCENT_GLYPHS.get(char, char)
        extra += ' mathsize="70%"' if char == "→" else ""
    elif char in "/∂∇.":
        extra = ' lspace="0" rspace="0"'
    elif char in BIG:
        extra = ' largeop="true"' + (' movablelimits="false"' if "limits" in look else "")
    elif char.isalpha() and len(char) > 1:
        return f'<mo lspace="0.1667em" rspace="0.1667em" movablelimits="true"{mark}>{char}</mo>'
    return f"<mo{extra}{mark}>{escape(char)}</mo>"


def _text(text: str) -> str:
    """Text with the spaces at its ends preserved."""
    inner = text.strip()
    before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    return ("\u00a0" if before else "") + escape(inner) + ("\u00a0" if after else "")
