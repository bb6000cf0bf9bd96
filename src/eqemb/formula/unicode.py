"""Write the layout tree for terminals: one line of Unicode, or a drawing of its edges."""

import re
from collections.abc import Iterable
from functools import lru_cache

from eqemb.formula.commands import FUNCTIONS, unescape
from eqemb.formula.tree import EDGES, Node, baseline, walk

#: Deeper nesting is shown as an ellipsis.
TEXT_DEPTH = 80

#: A drawing stops where it would be wider.
PICTURE_WIDTH = 300

_SUPERSCRIPTS = str.maketrans(
    "0123456789+−=()niTkabcdefghjlmoprstuvwxyz′*",
    "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱᵀᵏᵃᵇᶜᵈᵉᶠᵍʰʲˡᵐᵒᵖʳˢᵗᵘᵛʷˣʸᶻ′*",
)
_SUBSCRIPTS = str.maketrans("0123456789+−=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")
_ROOTS = {"": "√", "2": "√", "3": "∛", "4": "∜"}
_COMBINING = {
    "^": "\u0302", "~": "\u0303", "¯": "\u0304", "→": "\u20d7", "˙": "\u0307", "¨": "\u0308",
    "ˇ": "\u030c", "´": "\u0301", "`": "\u0300", "˘": "\u0306", "˚": "\u030a",
}  # fmt: skip
_TIGHT = frozenset("!′/|‖()[]{}⟨⟩⌊⌋⌈⌉∂∇¬∀∃.%#&@:;\\") | {"′′", "′′′"}
_STOPS = frozenset({"&comma;", ".", ";"})
#: Precedes each marked character while a line is made; from the private use area.
_MARKED = "\ue000"
#: Marked characters with their accents, and the blanks between them.
_RUN = re.compile(f"{_MARKED}.[\u0300-\u036f\u20d7]*(?: *{_MARKED}.[\u0300-\u036f\u20d7]*)*")
_RUN_OF_BLANKS = re.compile(r" {2,}")
_AROUND = ("⟦", "⟧")
_GROUP_TAG = re.compile(r"M!((?:&\w+;|\D)?)((?:&\w+;|\D)?)(\d+)x(\d+)\Z")


def superscripts() -> dict[int, str]:
    """The raised form of each character that has one."""
    return {plain: chr(made) for plain, made in _SUPERSCRIPTS.items() if plain != made}


def subscripts() -> dict[int, str]:
    """The lowered form of each character that has one."""
    return {plain: chr(made) for plain, made in _SUBSCRIPTS.items()}


def to_text(root: Node | None, mark: Iterable[int] = (), around: tuple[str, str] = _AROUND) -> str:
    """One line, with Unicode scripts where they exist and brackets elsewhere.

    Nodes whose index is in `mark` are put between the two texts of `around`.
    """
    places = set(mark)
    if not places:
        return _TextWriter(frozenset()).row(root, 0)
    marked = frozenset(id(node) for place, node in enumerate(walk(root)) if place in places)
    text = _TextWriter(marked).row(root, 0)
    return _RUN.sub(lambda found: f"{around[0]}{_bare(found[0])}{around[1]}", text)


def _bare(text: str) -> str:
    return text.replace(_MARKED, "")


class _TextWriter:
    """Writes rows; each character of a marked node is preceded by a mark, removed at the end."""

    def __init__(self, marked: frozenset[int]) -> None:
        self._marked = marked

    def mark(self, node: Node, text: str) -> str:
        if id(node) not in self._marked:
            return text
        return "".join(char if char == " " else _MARKED + char for char in text)

    def row(self, node: Node | None, depth: int) -> str:
        if depth > TEXT_DEPTH:
            return "…"
        out: list[str] = []
        previous: Node | None = None
        for item in baseline(node):
            text = self.symbol(item, depth)
            if item.tag == "O!divide" and (_touches(previous) or _touches(item.n)):
                text = f"({text})"
            if _is_infix(item):
                text = f" {text} " if previous is not None and not _is_infix(previous) else text
            elif item.tag == "&comma;":
                text = self.mark(item, ",") + " "
            elif previous is not None and item.tag == "O!root" and _bare(text)[0] not in "√∛∜":
                text = " " + text  # `a ⁿ√b` is not `aⁿ√b`
            elif previous is not None and (_is_word(item) or _is_word(previous)):
                text = text if _bare(text)[:1] in "([{" else " " + text
            if previous is not None and item.look and "row" in item.look:
                text = _row_gap(previous, item) + text
            out.append(text)
            previous = item
        return _RUN_OF_BLANKS.sub(" ", "".join(out)).strip()

    def symbol(self, node: Node, depth: int) -> str:
        text = self.core(node, depth)
        kids = node.kids
        if kids is None or node.tag[:2] == "O!":
            return text
        over = kids.get("o")
        if over is not None and over.tag in _COMBINING and over.kids is None:
            text = (text if len(_bare(text)) == 1 else f"({text})") + _COMBINING[over.tag]
            over = None
        for child, mark, table in (
            (kids.get("d"), "_", _SUBSCRIPTS),
            (kids.get("c"), "^", _SUPERSCRIPTS),
        ):
            if child is not None:
                text = _script(self.row(child, depth + 1), mark, table) + text
        for child, mark, table in (
            (kids.get("b"), "_", _SUBSCRIPTS),
            (kids.get("u"), "_", _SUBSCRIPTS),
            (kids.get("a"), "^", _SUPERSCRIPTS),
            (over, "^", _SUPERSCRIPTS),
        ):
            if child is not None:
                text += _script(self.row(child, depth + 1), mark, table)
        return text

    def core(self, node: Node, depth: int) -> str:
        tag = node.tag
        kind = tag[:2]
        if kind == "M!":
            return self.group(node, depth)
        if tag == "O!root":
            return self.root_sign(node, depth) + self.bracketed(node.get("w"), depth)
        if tag == "O!divide":
            over, under = (self.bracketed(node.get(edge), depth) for edge in "ou")
            return f"{over}{self.mark(node, '/')}{under}"
        if tag == "O!atop":
            return self.pair(node, ", ", depth)
        if kind == "W!":
            return ""
        if node.look and "glyph" in node.look:
            return self.mark(node, str(node.look["glyph"]))
        return self.mark(node, _symbol(tag))

    def pair(self, node: Node, between: str, depth: int) -> str:
        """What is over and under, without a bar, on one line."""
        over, under = (self.row(node.get(edge), depth + 1) for edge in "ou")
        return f"{over}{self.mark(node, between)}{under}"

    def root_sign(self, node: Node, depth: int) -> str:
        """A radical sign with its index: `∛`, or `ⁿ√` if Unicode has no such sign."""
        index = self.row(node.get("c"), depth + 1)
        sign = _ROOTS.get(_bare(index))
        if sign is None:
            return _script(index, "^", _SUPERSCRIPTS) + self.mark(node, "√")
        return _MARKED + sign if _MARKED in index else self.mark(node, sign)

    def bracketed(self, node: Node | None, depth: int) -> str:
        text = self.row(node, depth + 1)
        is_short = node is not None and node.n is None and len(_bare(text)) <= 2
        return text if is_short else f"({text})"

    def group(self, node: Node, depth: int) -> str:
        found = _GROUP_TAG.match(node.tag)
        opener, closer, columns = (found[1], found[2], int(found[4])) if found else ("", "", 1)
        cells: list[str] = []
        head = node.get("w")
        if opener == "(" and head is not None and head.tag == "O!atop" and head.n is None:
            cells.append(self.pair(head, " choose ", depth + 1))
            head = None
        while head is not None:
            cells.append(self.row(head, depth + 1))
            head = head.get("e")
        if found and found[3] != "1":
            rows = [cells[i : i + columns] for i in range(0, len(cells), max(1, columns))]
            inside = "; ".join(", ".join(row) for row in rows)
            opener, closer = opener or "[", closer or "]"
        else:
            inside = " ".join(cells)
            if not opener and node.kids and node.kids.keys() - {"w"}:
                opener, closer = "(", ")"
        return self.mark(node, unescape(opener)) + inside + self.mark(node, unescape(closer))


@lru_cache(maxsize=1 << 12)
def _symbol(tag: str) -> str:
    return _bare(unescape(tag[2:] if tag[1:2] == "!" else tag))


def _touches(neighbour: Node | None) -> bool:
    """Whether a fraction needs brackets: `a(b/c)` is not `ab/c`."""
    if neighbour is None or neighbour.tag == "&comma;":
        return False
    return not _is_infix(neighbour)


def _row_gap(previous: Node, first: Node) -> str:
    """The separator of two rows of a display, unless one continues the other."""
    if _is_infix(previous) or _is_infix(first) or first.tag in _STOPS:
        return ""
    # a row that begins with a bracket is a factor of the previous row
    return " " if previous.tag in _STOPS or first.tag[:2] == "M!" else "; "


def _is_infix(node: Node) -> bool:
    return _is_infix_tag(node.tag)


@lru_cache(maxsize=1 << 12)
def _is_infix_tag(tag: str) -> bool:
    return tag[1:2] != "!" and tag[:1] not in "?&∑∏∫" and tag not in _TIGHT


def _is_word(node: Node) -> bool:
    tag = node.tag
    return tag[:2] == "T!" or tag in FUNCTIONS or (tag[:2] == "V!" and len(tag) > len("V!x"))


def _script(text: str, mark: str, table: dict[int, int]) -> str:
    tight = text.replace(" ", "")
    bare = _bare(tight)
    if bare and all(ord(char) in table for char in bare):
        return tight.translate(table)
    return mark + (text if len(_bare(text)) == 1 else f"({text})")


def picture(root: Node | None) -> str:
    """Draw the tree: a baseline runs downwards, everything else is to the right of it."""
    lines: list[str] = []
    stack: list[tuple[Node, str, str, str]] = [(root, "", "", "")] if root is not None else []
    while stack:
        node, prefix, lead, rest = stack.pop()
        start = prefix
        lines.append(prefix + lead + node.tag)
        prefix += rest
        if len(prefix) > PICTURE_WIDTH:
            lines[-1] += " …"
            continue
        if node.n is not None:
            stack.append((node.n, prefix, "", ""))
        kids = [edge for edge in EDGES if edge in (node.kids or {}) and edge != "e"]
        cell = node.get("e")
        if cell is not None:
            # Cells are below each other: a large matrix would be too wide.
            stack.append((cell, start if lead == "e─ " else prefix, "e─ ", "   "))
        for place, edge in reversed(list(enumerate(kids))):
            last = place == len(kids) - 1
            corner, bar = ("└", " ") if last else ("├", "│")
            child = (node.kids or {})[edge]
            stack.append((child, prefix, f"  {corner}{edge}─ ", f"  {bar}   "))
    return "\n".join(lines)
