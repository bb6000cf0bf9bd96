r"""Rows of tables of notation: a cell that is one symbol, and the cell beside it.

Words of tables are not running text. A table of notation is one in a section about notation, with
such a caption, or with a header such as "Symbol | Meaning"; its rows are kept apart from the text.
So are the entries of `\nomenclature`.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from eqemb.readers.latex.display_walk import DisplayWalk
from eqemb.readers.latex.found import FoundNotation

#: Environments with cells.
TABULARS = frozenset(
    "tabular tabular* tabularx tabulary tabu longtable longtable* supertabular xtabular longtabu"
    " NiceTabular NiceTabular* NiceTabularX tblr longtblr talltblr xltabular mpsupertabular".split()
)
_FLOATS = frozenset("table table* sidewaystable wraptable margintable".split())
#: Longer tables and cells are data.
_MAX_TABLE, _MAX_CELL, _MAX_FLOAT = 60_000, 600, 6_000

_ABOUT_NOTATION = re.compile(
    r"\b(?:notations?|nomenclature|list of (?:symbols|variables)|symbols|glossary)\b", re.IGNORECASE
)
_CAPTION = re.compile(
    r"\\(?:caption\w*+|tabcaption|topcaption)\s*+(?:\[[^\]]{0,600}+\]\s*+)?\{([^{}]{0,200})"
)
_NAMES_SYMBOLS = re.compile(r"(?:math\w*\s+)?(?:symbols?|notations?)", re.IGNORECASE)
_NAMES_LETTERS = re.compile(
    r"(?:symbols?|notations?|variables?|parameters?|terms?|quantit(?:y|ies)|names?|letters?)",
    re.IGNORECASE,
)
_NAMES_MEANINGS = re.compile(
    r"(?:meanings?|descriptions?|definitions?|explanations?|interpretations?|denotes|represents)",
    re.IGNORECASE,
)
_CELL_TOKEN = re.compile(
    r"(\\\\|\\tabularnewline(?![a-zA-Z]))|\\(begin|end)\s*\{|\\.|([{}&])", re.DOTALL
)
_RULES = re.compile(
    r"(?:\s|\[[-\d.]+\s*[a-z]{2}\]|\\(?:hline|toprule|midrule|bottomrule|endhead|endfirsthead|endfoot"
    r"|endlastfoot|addlinespace|noalign|centering|raggedright|small|footnotesize)(?![a-zA-Z])"
    r"(?:\[[^\]]{0,200}\])?|\\(?:cline|rowcolor|cellcolor)\s*(?:\[[^\]]{0,200}\])?\{[^{}]*\}"
    r"|\\cmidrule(?:\([^)]*\))?\{[^{}]*\})+"
)
_FORMULA = r"\$[^$]+\$|\\\((?:(?!\\[()]).)+\\\)|\\ensuremath\s*\{(?:[^{}]|\{[^{}]*\})*\}"
#: A cell of symbols alone, with single blanks: "$x$", "$x$, $y$".
_SYMBOL_CELL = re.compile(
    rf"\{{? ?((?:{_FORMULA})(?: ?(?:,|/|;|and) ?(?:{_FORMULA}))*) ?[:=]? ?\}}? ?[:=]?"
)
_ONE_FORMULA = re.compile(_FORMULA, re.DOTALL)
_MATH_EDGE = re.compile(r"\\ensuremath\s*\{|\\[()]|[${}]\Z|\A\$")
#: A cell with one of these is not a phrase, or would be counted twice.
_NOT_PLAIN = re.compile(
    r"\\(?:begin|end|\[|foot\w*|label|input|include\w*|caption|write|item)(?![a-zA-Z])|\$\$"
)
_CELL_WORD = re.compile(r"[^\W\d_]{3}")

Cell = tuple[int, int]


def read_table(walk: DisplayWalk, name: str, pos: int, end: int) -> None:
    """Keep the rows of a table of notation that starts at a position; other tables have none."""
    close = walk.search.find(f"\\end{{{name}}}", pos, min(end, pos + _MAX_TABLE))
    if close < 0 or walk.in_preamble:
        return
    if not walk.tables.allows(pos, close):
        walk.problem("table budget", pos)
        return
    rows = list(_rows(walk.text, pos, close))
    if not (walk.is_under(_ABOUT_NOTATION) or _is_captioned(walk, pos) or _has_header(walk, rows)):
        return
    kinds = [[_kind(walk.text[slice(*cell)]) for cell in row] for row in rows]
    step = _direction(kinds)
    for row, kind in zip(rows, kinds, strict=True):
        cells, before = list(zip(row, kind, strict=True))[::step], ""
        for at, (cell, here) in enumerate(cells):
            if here == "symbol" != before:  # of "symbol | type | meaning", the first one
                meaning = next((one for one, what in cells[at:] if what != "symbol"), None)
                if meaning is not None:
                    add_notation(walk, cell, meaning)
            before = here


def add_notation(walk: DisplayWalk, symbol: Cell, meaning: Cell) -> None:
    """Keep a symbol and its meaning, given where they stand, if they are a symbol and a phrase."""
    text = walk.text
    alone = _symbols_alone(text[slice(*symbol)])
    words = text[slice(*meaning)]
    if alone is None or len(words) > _MAX_CELL or not _CELL_WORD.search(words):
        return
    if _NOT_PLAIN.search(words) or _symbols_alone(words):
        return
    found = walk.found
    problems, references = len(found.problems), len(found.references)
    told = walk.plain(*meaning)
    # what is wrong in a cell is reported, and its references are counted, in the walk of the table
    del found.problems[problems:], found.references[references:]
    for formula in _ONE_FORMULA.findall(alone[1]):
        latex = " ".join(_MATH_EDGE.sub("", formula).split())
        if latex and told:
            found.notation.append(FoundNotation(latex, told, len(found.sections) - 1))


def _is_captioned(walk: DisplayWalk, pos: int) -> bool:
    """Whether the float around a table has a caption about notation."""
    name = walk.innermost(_FLOATS)
    if not name:
        return False
    start = walk.text.rfind(f"\\begin{{{name}}}", max(0, pos - _MAX_FLOAT), pos)
    stop = walk.text.find(f"\\end{{{name}}}", pos, pos + _MAX_TABLE)
    if start < 0 or stop < 0:
        return False
    if (start, stop) not in walk.captioned:  # it may have many tables
        captions = _CAPTION.finditer(walk.text, start, stop)
        about = any(_ABOUT_NOTATION.search(caption[1]) for caption in captions)
        walk.captioned[start, stop] = about
    return walk.captioned[start, stop]


def _has_header(walk: DisplayWalk, rows: list[list[Cell]]) -> bool:
    """Whether the first row with words is a header such as "Symbol | Meaning"."""
    for row in rows[:3]:
        cells = [_bare(walk.text[slice(*cell)]) for cell in row]
        if not any(cells):
            continue
        if any(_NAMES_SYMBOLS.fullmatch(cell) for cell in cells):
            return len(cells) > 1
        return any(map(_NAMES_LETTERS.fullmatch, cells)) and any(
            map(_NAMES_MEANINGS.fullmatch, cells)
        )
    return False


def _bare(cell: str) -> str:
    """The words of a cell of a header."""
    words = re.sub(r"\\multicolumn\s*\{[^{}]*\}\s*\{[^{}]*\}|\\[A-Za-z]+\s*|[{}]", " ", cell)
    return " ".join(words.split()).strip(".:")


def _direction(kinds: list[list[str]]) -> int:
    """1 if meanings stand to the right of symbols, -1 if to the left."""
    neighbours = [pair for row in kinds for pair in pairwise(row)]
    left = neighbours.count(("words", "symbol"))
    return -1 if left > neighbours.count(("symbol", "words")) else 1


def _kind(cell: str) -> str:
    if _symbols_alone(cell):
        return "symbol"
    return "words" if _CELL_WORD.search(cell) else ""


def _symbols_alone(cell: str) -> re.Match[str] | None:
    """The match of a cell that has symbols and nothing else."""
    cell = " ".join(cell.split())
    return _SYMBOL_CELL.fullmatch(cell) if len(cell) <= _MAX_CELL else None


def _rows(text: str, pos: int, end: int) -> Iterator[list[Cell]]:
    """The cells of each row of a table, without rules."""
    row: list[Cell] = []
    start, depth, inside = pos, 0, 0
    for match in _CELL_TOKEN.finditer(text, pos, end):
        sign = match[3]
        if match[2]:
            inside += 1 if match[2] == "begin" else -1
            depth += 1  # the brace of the name, which the token has
        elif sign in {"{", "}"}:
            depth += 1 if sign == "{" else -1
        elif depth <= 0 and inside <= 0 and (sign == "&" or match[1]):
            row.append(_trimmed(text, start, match.start()))
            start = match.end()
            if match[1]:
                yield row
                row = []
    row.append(_trimmed(text, start, end))
    yield row


def _trimmed(text: str, start: int, end: int) -> Cell:
    rules = _RULES.match(text, start, end)
    return (rules.end() if rules else start), end
