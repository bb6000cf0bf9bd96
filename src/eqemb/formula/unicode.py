"""The layout tree for a terminal: one line of Unicode, and a picture of its edges."""

import re

from eqemb.formula.commands import FUNCTIONS, unescape
from eqemb.formula.tree import EDGES, Node, baseline

#: What nests deeper is shown as an ellipsis.
DEPTH = 80

#: A picture stops where it runs further to the right.
WIDTH = 300

_SUPERSCRIPTS = str.maketrans(
    "0123456789+−=()niTkabcdefghjlmoprstuvwxyz′*",
    "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱᵀᵏᵃᵇᶜᵈᵉᶠᵍʰʲˡᵐᵒᵖʳˢᵗᵘᵛʷˣʸᶻ′*",
)
_SUBSCRIPTS = str.maketrans("0123456789+−=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")
_COMBINING = {
    "^": "\u0302", "~": "\u0303", "¯": "\u0304", "→": "\u20d7", "˙": "\u0307", "¨": "\u0308",
    "ˇ": "\u030c", "´": "\u0301", "`": "\u0300", "˘": "\u0306", "˚": "\u030a",
}  # fmt: skip
_TIGHT = frozenset("!′/|‖()[]{}⟨⟩⌊⌋⌈⌉∂∇¬∀∃.%#&@:;\\") | {"′′", "′′′"}
_FENCES = re.compile(r"M!((?:&\w+;|\D)?)((?:&\w+;|\D)?)(\d+)x(\d+)\Z")


def to_text(root: Node | None) -> str:
    """One line, with scripts as Unicode has them and brackets where it has none."""
    return _row(root, 0)


def _row(node: Node | None, depth: int) -> str:
    if depth > DEPTH:
        return "…"
    out: list[str] = []
    previous: Node | None = None
    for item in baseline(node):
        text = _symbol(item, depth)
        if item.tag == "O!divide" and (_touches(previous) or _touches(item.n)):
            text = f"({text})"
        if _is_infix(item):
            text = f" {text} " if previous is not None and not _is_infix(previous) else text
        elif item.tag == "&comma;":
            text = ", "
        elif previous is not None and (_is_word(item) or _is_word(previous)):
            text = text if text[:1] in "([{" else " " + text
        out.append(text)
        previous = item
    return re.sub(r" {2,}", " ", "".join(out)).strip()


def _touches(neighbour: Node | None) -> bool:
    """Whether a fraction must be bracketed: `a(b/c)` is not `ab/c`."""
    if neighbour is None or neighbour.tag == "&comma;":
        return False
    return not _is_infix(neighbour)


def _is_infix(node: Node) -> bool:
    tag = node.tag
    return tag[1:2] != "!" and tag[:1] not in "?&∑∏∫" and tag not in _TIGHT


def _is_word(node: Node) -> bool:
    tag = node.tag
    return tag[:2] == "T!" or tag in FUNCTIONS or (tag[:2] == "V!" and len(tag) > len("V!x"))


def _symbol(node: Node, depth: int) -> str:
    text = _core(node, depth)
    kids = node.kids
    if kids is None or node.tag[:2] == "O!":
        return text
    over = kids.get("o")
    if over is not None and over.tag in _COMBINING and over.kids is None:
        text = (text if len(text) == 1 else f"({text})") + _COMBINING[over.tag]
        over = None
    for child, mark, table in (
        (kids.get("d"), "_", _SUBSCRIPTS),
        (kids.get("c"), "^", _SUPERSCRIPTS),
    ):
        if child is not None:
            text = _script(_row(child, depth + 1), mark, table) + text
    for child, mark, table in (
        (kids.get("b"), "_", _SUBSCRIPTS),
        (kids.get("u"), "_", _SUBSCRIPTS),
        (kids.get("a"), "^", _SUPERSCRIPTS),
        (over, "^", _SUPERSCRIPTS),
    ):
        if child is not None:
            text += _script(_row(child, depth + 1), mark, table)
    return text


def _script(text: str, mark: str, table: dict[int, int]) -> str:
    tight = text.replace(" ", "")
    if tight and all(ord(char) in table for char in tight):
        return tight.translate(table)
    return mark + (text if len(text) == 1 else f"({text})")


def _core(node: Node, depth: int) -> str:
    tag = node.tag
    kind = tag[:2]
    if kind == "M!":
        return _group(node, depth)
    if tag == "O!root":
        return f"√{_bracketed(node.get('w'), depth)}"
    if tag == "O!divide":
        return f"{_bracketed(node.get('o'), depth)}/{_bracketed(node.get('u'), depth)}"
    if kind == "W!":
        return ""
    if node.look and "glyph" in node.look:
        return str(node.look["glyph"])
    return unescape(tag[2:] if kind[1:] == "!" else tag)


def _bracketed(node: Node | None, depth: int) -> str:
    text = _row(node, depth + 1)
    return text if node is not None and node.n is None and len(text) <= 2 else f"({text})"


def _group(node: Node, depth: int) -> str:
    found = _FENCES.match(node.tag)
    opener, closer, columns = (found[1], found[2], int(found[4])) if found else ("", "", 1)
    cells: list[str] = []
    head = node.get("w")
    while head is not None:
        cells.append(_row(head, depth + 1))
        head = head.get("e")
    if found and found[3] != "1":
        rows = [cells[i : i + columns] for i in range(0, len(cells), max(1, columns))]
        inside = "; ".join(", ".join(row) for row in rows)
        opener, closer = opener or "[", closer or "]"
    else:
        inside = " ".join(cells)
        if not opener and node.kids and node.kids.keys() - {"w"}:
            opener, closer = "(", ")"
    return unescape(opener) + inside + unescape(closer)


def picture(root: Node | None) -> str:
    """The tree line by line: a baseline goes down, everything else hangs to the right."""
    lines: list[str] = []
    stack: list[tuple[Node, str, str, str]] = [(root, "", "", "")] if root is not None else []
    while stack:
        node, prefix, lead, rest = stack.pop()
        start = prefix
        lines.append(prefix + lead + node.tag)
        prefix += rest
        if len(prefix) > WIDTH:
            lines[-1] += " …"
            continue
        if node.n is not None:
            stack.append((node.n, prefix, "", ""))
        kids = [edge for edge in EDGES if edge in (node.kids or {}) and edge != "e"]
        cell = node.get("e")
        if cell is not None:
            # Cells stand below each other: a large matrix would run off to the right.
            stack.append((cell, start if lead == "e─ " else prefix, "e─ ", "   "))
        for place, edge in reversed(list(enumerate(kids))):
            last = place == len(kids) - 1
            corner, bar = ("└", " ") if last else ("├", "│")
            child = (node.kids or {})[edge]
            stack.append((child, prefix, f"  {corner}{edge}─ ", f"  {bar}   "))
    return "\n".join(lines)
