r"""Write the layout tree as LaTeX that `layout` reads as the same tree.

So an equation that came as MathML has LaTeX as every other one: to store, to search, to copy.
Two symbols that LaTeX would join are kept apart, and fences that are not a pair are written such
that they cannot become one: `\mid` for a single bar, `\left.\right)` for a single bracket. The
only trees that do not read back are those that no formula has, or with errors in them (`E!`).
Nothing here recurses: a row that is to be written inside another one waits on a stack.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from eqemb.formula.commands import BIG, LIMITS, unescape
from eqemb.formula.rows import FENCE_CLOSERS, FENCE_OPENERS, FENCES, is_name, script_edge
from eqemb.formula.tree import Node, baseline, is_operator
from eqemb.formula.write_symbol import ACCENT_COMMANDS, ARROW_COMMANDS, operator, symbol


class Row(NamedTuple):
    """A baseline that is still to be written."""

    head: Node | None
    tight: bool = False
    """Without spaces for the eye, as in scripts."""


Parts = list[str | Row]

_GROUP = re.compile(r"M!((?:&\w+;|\D)?)((?:&\w+;|\D)?)(\d+)x(\d+)\Z")
_TABLES = {
    "": "matrix", "()": "pmatrix", "[]": "bmatrix", "{}": "Bmatrix", "||": "vmatrix",
    "‖‖": "Vmatrix",
}  # fmt: skip
_SIDES = {"|": (r"\lvert", r"\rvert"), "‖": (r"\lVert", r"\rVert")}
_SIZE_COMMAND = re.compile(r"(\\[bB]igg?)[lrm]?\Z")
_COMMAND_END = re.compile(r"\\[a-zA-Z]+\Z")
#: A bracket or star after these would be their option.
_TAKES_OPTION = re.compile(r"(?:\\\\|\\begin\{\w+\}|\\substack\{) *\Z")
_ONE_SIGN = re.compile(r"[a-zA-Z0-9]\Z")
#: Operators that are written without spaces around them.
_UNSPACED = frozenset("!′/∂∇¬∀∃.%&@\\*†") | BIG | {"′′", "′′′"}
_SIGNS = frozenset("+−±∓")
_NOTED_BRACES = frozenset("⏞⏟⎴⎵")


def to_latex(root: Node | None) -> str:
    """The tree as LaTeX; '' for no tree."""
    out: list[str] = []
    stack = _lines(root)[::-1]
    while stack:
        part = stack.pop()
        if isinstance(part, Row):
            stack.extend(reversed(_row(list(baseline(part.head)), tight=part.tight)))
        elif part:
            out.append(part)
    return _joined(out)


def _joined(pieces: list[str]) -> str:
    """Join pieces; a blank where they would read as one command or number."""
    out: list[str] = []
    last = ""
    for piece in pieces:
        first = piece[0]
        if (first.isascii() and first.isalpha() and _COMMAND_END.search(last)) or (
            first in "0123456789." and last[-1:] in tuple("0123456789.")
        ):
            out.append(" ")
        elif first in "[*" and _TAKES_OPTION.search(last):
            out.append("{}")
        # Blanks around two neighbours would add up.
        out.append(piece[1:] if first == " " and last[-1:] == " " else piece)
        last = piece
    return "".join(out).strip()


def _lines(root: Node | None) -> Parts:
    """The whole formula; rows that the source broke are an `aligned` environment."""
    nodes = list(baseline(root))
    if not any("row" in (node.look or {}) for node in nodes[1:]):
        return _row(nodes, tight=False)
    cells: list[list[Node]] = [[]]
    marks: list[str] = [""]
    for place, node in enumerate(nodes):
        look = node.look or {}
        steps = [r" \\ "] * (place > 0 and "row" in look) + [" & "] * look.get("cell", 0)
        for step in steps:
            cells.append([])
            marks.append(step)
        cells[-1].append(node)
    parts: Parts = [r"\begin{aligned} "]
    last: Node | None = None
    for mark, cell in zip(marks, cells, strict=True):
        parts.append(mark)
        parts += _row(cell, tight=False, before=last)
        last = cell[-1] if cell else last
    return [*parts, r" \end{aligned}"]


def _row(nodes: list[Node], *, tight: bool, before: Node | None = None) -> Parts:
    """The symbols of a row; `before` is the last one of the cell before it."""
    parts: Parts = []
    previous: Node | None = None
    for place, node in enumerate(nodes):
        following = nodes[place + 1] if place + 1 < len(nodes) else None
        parts.append(_space(node))
        if _begins_cases(node, following):
            pass  # the brace is part of `cases`
        elif node.tag in FENCES:
            near = _is_empty_pair(previous, node) or _is_empty_pair(node, following)
            core: Parts = [operator(node.tag) if near else _loose(node, previous or before)]
            parts += _with_scripts(node, core, previous)
        else:
            is_cases = previous is not None and _begins_cases(previous, node)
            core = _core(node, tight=tight, is_cases=is_cases)
            made = _with_scripts(node, core, previous or before)
            is_sign = node.tag in _SIGNS and (previous is None or _is_infix(previous))
            if _is_infix(node) and not is_sign and not tight:
                made = [" " if previous else "", *made, " "]
            parts += made
            parts.append(" " if node.tag == "&comma;" and not tight else "")
        previous = node
    return parts


def _space(node: Node) -> str:
    width = (node.look or {}).get("space", 0.0)
    for least, command in ((1.5, r"\qquad"), (0.5, r"\quad"), (0.2, r"\;"), (0.1, r"\,")):
        if width >= least:
            return command
    return ""


def _is_infix(node: Node) -> bool:
    return is_operator(node.tag) and node.tag not in _UNSPACED and node.tag != "&comma;"


def _begins_cases(node: Node, following: Node | None) -> bool:
    """Whether a brace and a table without fences are a `cases` environment."""
    if node.tag != "{" or node.kids or following is None:
        return False
    return following.tag[2:3].isdigit() and _is_table(following)


def _is_empty_pair(first: Node | None, second: Node | None) -> bool:
    """Whether two fences are a pair with nothing between them, which is no group."""
    if first is None or second is None:
        return False
    kind = FENCE_OPENERS.get(first.tag)
    return kind is not None and kind == FENCE_CLOSERS.get(second.tag)


def _loose(node: Node, previous: Node | None) -> str:
    """A fence without a partner, so that it finds none."""
    look = node.look or {}
    sign = operator(node.tag)
    size = _SIZE_COMMAND.match(str(look.get("size", "")))
    if node.tag == "|" and previous is not None and previous.tag == "|":
        size = None  # two large bars are a norm
    if size or (node.tag == "‖" and not node.kids):
        return (size[1] if size else r"\big") + "m" + sign
    if node.tag == "|" and not node.kids:
        return r" \mid "
    return rf"\left{sign}\right." if node.tag in FENCE_OPENERS else rf"\left.\right{sign}"


# Symbols


def _core(node: Node, *, tight: bool = False, is_cases: bool = False) -> Parts:
    """A symbol without its scripts."""
    kids = node.kids or {}
    if node.tag == "O!divide":
        parts: Parts = [r"\frac{", Row(kids.get("o")), "}{", Row(kids.get("u")), "}"]
        return ["{", *parts, "}"] if kids.keys() & set("ab") else parts
    if node.tag == "O!atop":
        over, under = Row(kids.get("o")), Row(kids.get("u"))
        return [r"{\genfrac{}{}{0pt}{}{", over, "}{", under, "}}"]
    if node.tag == "O!root":
        index: Parts = ["[{", Row(kids["c"]), "}]"] if "c" in kids else []
        return [r"\sqrt", *index, "{", Row(kids.get("w")), "}"]
    if node.tag[:2] == "M!":
        return _group(node, tight=tight, is_cases=is_cases)
    takes_limits = bool(kids.keys() & set("ou")) and not kids.keys() & set("ab")
    return [symbol(node, takes_limits=takes_limits)]


def _with_scripts(node: Node, core: Parts, previous: Node | None) -> Parts:
    """A symbol with everything over, under and beside it."""
    kids = node.kids
    if kids is None:
        return core
    if node.tag == "M!1x1" and kids.keys() - set("we"):
        return _invisible(node)
    own = {"O!divide": "ou", "O!atop": "ou", "O!root": "cw"}.get(node.tag, "w")
    edges = {edge: child for edge, child in kids.items() if edge not in own and edge != "e"}
    if script_edge(node, "a") == "o" or (node.tag[:2] == "V!" and _is_starred(core)):
        return _operator_scripts(node, core, edges)
    parts = _stacked(core, edges)
    parts += _scripts(edges.get("b"), edges.get("a"))
    parts = _outer(parts, edges)
    if "c" not in edges and "d" not in edges:
        return parts
    before = Row(edges.get("c"), tight=True), Row(edges.get("d"), tight=True)
    if node.tag[:2] in ("V!", "N!") and (previous is None or is_operator(previous.tag)):
        return ["{}", *_scripts(edges.get("d"), edges.get("c"), primes=False), *parts]
    return [r"\prescript{", before[0], "}{", before[1], "}{", *parts, "}"]


def _is_starred(core: Parts) -> bool:
    return isinstance(core[0], str) and core[0].startswith(r"\operatorname*")


def _operator_scripts(node: Node, core: Parts, edges: dict[str, Node]) -> Parts:
    """The scripts of a symbol whose `^` and `_` are over and under it."""
    look = node.look or {}
    accents = {edge: edges[edge] for edge in "ou" if _accent(edges.get(edge), edge)}
    if "stack" in look and node.tag not in LIMITS and "limits" not in look:
        arrow = _labelled_arrow(node, edges) if not accents else []
        parts = arrow or _stacked(core, edges)
    else:
        parts = _stacked(core, accents)
        limits = {edge: child for edge, child in edges.items() if edge not in accents}
        parts += _scripts(limits.get("u"), limits.get("o"))
    parts = _outer(parts, edges)
    if not edges.keys() & set("abcd"):
        return parts
    before = _scripts(edges.get("d"), edges.get("c"))
    after = _scripts(edges.get("b"), edges.get("a"))
    return [r"\sideset{", *before, "}{", *after, "}{", *parts, "}"]


def _labelled_arrow(node: Node, edges: dict[str, Node]) -> Parts:
    command = ARROW_COMMANDS.get(node.tag)
    if command is None or edges.keys() - set("ou") or "stretch" not in (node.look or {}):
        return []
    under: Parts = ["[{", Row(edges["u"], tight=True), "}]"] if "u" in edges else []
    return [command, *under, "{", Row(edges.get("o"), tight=True), "}"]


def _accent(child: Node | None, edge: str, *, wide: bool = False) -> str:
    """The command of an accent; '' if the child is not one."""
    if child is None or child.kids is not None or child.n is not None:
        return ""
    narrow, broad = ACCENT_COMMANDS.get((edge, child.tag), ("", ""))
    look = child.look or {}
    if "accent" not in look and child.tag not in "^~¯˙¨ˇ⏞⏟":
        return ""
    is_wide = wide or "outer" in look or look.get("accent") == "wide"
    return (broad or narrow) if is_wide else (narrow or broad)


def _stacked(core: Parts, edges: dict[str, Node], *, wide: bool = False) -> Parts:
    """What is over and under a symbol, except accents over its scripts as well."""
    parts = core
    for edge, command in (("o", r"\overset"), ("u", r"\underset")):
        child = edges.get(edge)
        if child is None or _is_outer(child, edge):
            continue
        if accent := _accent(child, edge, wide=wide):
            parts = [accent + "{", *parts, "}"]
        else:
            parts = [command + "{", Row(child, tight=True), "}{", *parts, "}"]
    return list(parts)


def _outer(parts: Parts, edges: dict[str, Node]) -> Parts:
    for edge in "ou":
        child = edges.get(edge)
        if child is not None and _is_outer(child, edge):
            parts = [_accent(child, edge) + "{", *parts, "}"]
    return parts


def _is_outer(child: Node, edge: str) -> bool:
    """Whether an accent is over the scripts as well; a script of a brace would be its note."""
    is_over_all = "outer" in (child.look or {}) or child.tag in _NOTED_BRACES
    return is_over_all and _accent(child, edge) != ""


def _scripts(
    low: Node | None, high: Node | None, *, primes: bool = True, high_first: bool = False
) -> Parts:
    """`_` and `^`; primes before both."""
    parts: Parts = []
    if primes and high is not None and high.tag.strip("′") == "" and high.kids is None:
        parts.append("'" * len(high.tag))
        high, high_first = high.n, True
    below = ["_", *_braced(low)] if low is not None else []
    above = ["^", *_braced(high)] if high is not None else []
    return [*parts, *above, *below] if high_first else [*parts, *below, *above]


def _braced(head: Node) -> Parts:
    if head.n is None and head.kids is None and _ONE_SIGN.fullmatch(head.tag[2:]):
        made = symbol(head)
        if _ONE_SIGN.fullmatch(made):
            return [made]
    return ["{", Row(head, tight=True), "}"]


# Groups


def _invisible(node: Node) -> Parts:
    """A group without fences: it exists only for the scripts of several symbols.

    Around a single symbol it exists if that symbol has such a script already. That script must
    come first, since any other one would be taken for one of the symbol.
    """
    edges = {edge: child for edge, child in (node.kids or {}).items() if edge not in "we"}
    inside = node.get("w")
    content: Parts = [Row(inside)]
    single = inside is not None and inside.n is None
    taken = [edge for edge in "ouab" if edge in edges and _is_taken(inside, edge)]
    first = min(taken, key=lambda edge: _is_outer(edges[edge], edge), default="")
    is_named = all(map(is_name, baseline(inside)))
    if (single and not first) or (is_named and not edges.keys() & set("ab")):
        content = [r"\begin{matrix}", *content, r"\end{matrix}"]
        single = False
    if single and inside is not None and first in "ou":
        if _ends_with_brace(inside, first):
            sign = "^" if first == "o" else "_"
            content += [sign, *_braced(edges.pop(first))]
        else:
            over = {first: edges.pop(first)}
            content = _outer(_stacked(content, over, wide=True), over)
    elif edges.keys() & set("ab"):
        high_first = single and first == "a"
        content = ["{", *content, "}"]
        content += _scripts(edges.pop("b", None), edges.pop("a", None), high_first=high_first)
    parts = _stacked(content, edges, wide=True)
    parts = _outer([*parts, *_scripts(edges.get("b"), edges.get("a"))], edges)
    if "c" in edges or "d" in edges:
        before = Row(edges.get("c"), tight=True), Row(edges.get("d"), tight=True)
        parts = [r"\prescript{", before[0], "}{", before[1], "}{", *parts, "}"]
    return parts


def _ends_with_brace(node: Node, edge: str) -> bool:
    """Whether the last thing written of a symbol is a brace over or under it."""
    mark = node.get(edge)
    if mark is None or mark.tag not in _NOTED_BRACES or not _accent(mark, edge):
        return False
    return not (node.kids or {}).keys() & {"c", "d"}


def _is_taken(node: Node | None, edge: str) -> bool:
    if node is None:
        return False
    return node.get(script_edge(node, edge) if edge in "ab" else edge) is not None


def _group(node: Node, *, tight: bool, is_cases: bool) -> Parts:
    """A fenced group or a table."""
    found = _GROUP.match(node.tag)
    opener, closer = (found[1], found[2]) if found else ("", "")
    cells = list(_cells(node))
    if _is_table(node) or not opener or not closer or not _is_list(cells):
        return _table(node, cells, (opener, closer), tight=tight, is_cases=is_cases)
    head = cells[0] if cells else None
    if opener == "(" and closer == ")" and head is not None and _is_pure_atop(head):
        over, under = Row(head.get("o")), Row(head.get("u"))
        return [r"\binom{", over, "}{", under, "}"]
    ends = _ends(node, opener, closer, cells)
    return [ends[0], *(Row(cell, tight=tight) for cell in cells), ends[1]]


def _cells(node: Node) -> Iterator[Node]:
    head = node.get("w")
    while head is not None:
        yield head
        head = head.get("e")


def _is_table(node: Node) -> bool:
    """Whether a node is a table."""
    found = _GROUP.match(node.tag) if node.tag[:2] == "M!" else None
    if found is None:
        return False
    return "widths" in (node.look or {}) or int(found[3]) > 1


def _is_list(cells: list[Node]) -> bool:
    """Whether the cells are those of a row split after its commas."""
    for place, cell in enumerate(cells):
        *inside, last = baseline(cell)
        if any(node.tag == "&comma;" for node in inside):
            return False
        if last.tag != "&comma;" and place + 1 < len(cells):
            return False
    return True


def _is_pure_atop(head: Node) -> bool:
    return head.tag == "O!atop" and head.n is None and not (head.kids or {}).keys() - set("ou")


def _ends(node: Node, opener: str, closer: str, cells: list[Node]) -> tuple[str, str]:
    """The two fences as people write them: plain, large, or stretched."""
    look = node.look or {}
    first, last = operator(opener), operator(closer)
    size = _SIZE_COMMAND.match(str(look.get("size", "")))
    is_bar = opener == closer and opener in _SIDES
    if not cells or not (is_bar or _is_pair(opener, closer)):
        return rf"\left{first}", rf"\right{last}"
    nested = is_bar and any(
        node.tag.startswith("M!" + opener) for cell in cells for node in baseline(cell)
    )
    if size and not nested:  # two large bars side by side would be a norm
        return f"{size[1]}l{first}", f"{size[1]}r{last}"
    if "stretch" in look or any(map(_is_tall, cells)):
        return rf"\left{first}", rf"\right{last}"
    return _SIDES[opener] if is_bar else (first, last)


def _is_pair(opener: str, closer: str) -> bool:
    kind = FENCE_OPENERS.get(opener)
    return kind is not None and kind == FENCE_CLOSERS.get(closer)


def _is_tall(cell: Node) -> bool:
    return any(
        node.tag in ("O!divide", "O!atop")
        or _is_table(node)
        or (node.tag in BIG and node.kids is not None)
        for node in baseline(cell)
    )


def _table(
    node: Node, cells: list[Node], ends: tuple[str, str], *, tight: bool, is_cases: bool
) -> Parts:
    opener, closer = (unescape(end) for end in ends)
    name = "cases" if is_cases and not opener + closer else _TABLES.get(opener + closer)
    parts: Parts = []
    widths = _widths(node, cells)
    at = 0
    for width in widths:
        parts.append(r" \\ " if at else "")
        for place, cell in enumerate(cells[at : at + width]):
            parts.append(" & " if place else "")
            parts.append(Row(cell, tight=tight))
        at += width
    if tight and name == "matrix" and set(widths) == {1} and len(widths) > 1:
        return [r"\substack{", *parts, "}"]
    parts = [rf"\begin{{{name or 'matrix'}}} ", *parts, rf" \end{{{name or 'matrix'}}}"]
    return parts if name else [rf"\left{operator(ends[0])}", *parts, rf"\right{operator(ends[1])}"]


def _widths(node: Node, cells: list[Node]) -> list[int]:
    """The numbers of cells in the rows of a table."""
    widths = (node.look or {}).get("widths")
    if isinstance(widths, list) and sum(widths) == len(cells) and 0 not in widths:
        return widths
    found = _GROUP.match(node.tag)
    rows, columns = (int(found[3]), int(found[4])) if found else (1, 1)
    first = max(1, min(columns, len(cells)))
    rest, rows = len(cells) - first, rows - 1
    if rows < 1 or rest < rows:
        return [len(cells)]
    return [first, *(rest // rows + (row < rest % rows) for row in range(rows))]
