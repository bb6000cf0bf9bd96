r"""What a formula in a sentence is about: `x \in X` is about `x`, and `x + y` about nothing.

`read_whole` says so from the layout of the whole formula. `read_term` says the same for less: most
formulas are a short left side, a relation and a right side that does not matter or that is seen
often, so it reads the sides apart and keeps them.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from eqemb.formula import layout
from eqemb.formula.tree import Node, baseline
from eqemb.formula.write_latex import to_latex
from eqemb.symbols.identifiers import (
    DOTS,
    INDEX_DASH,
    NAMED_FUNCTIONS,
    RELATION_TAGS,
    first_nodes,
    is_identifier,
    make_symbol,
)
from eqemb.symbols.model import Symbol
from eqemb.symbols.words import is_word, name_of, word_run

_MEMBER = frozenset("∈⊂⊆")
_BOUND_SIGNS = frozenset("<≤⩽>≥⩾")
_ARROWS = frozenset("→↦⟶⟼")
_EQUALS = frozenset("=≡≜≝≐≈∝") | {":="}

_LETTER = (
    r"\\(?:alpha|beta|gamma|delta|epsilon|varepsilon|zeta|eta|theta|vartheta|iota|kappa|lambda|mu|nu"
    r"|xi|pi|rho|sigma|tau|upsilon|phi|varphi|chi|psi|omega|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma"
    r"|Upsilon|Phi|Psi|Omega|ell)(?![a-zA-Z])"
)
_PLAIN = (
    r"[^(){}\[\]\\&$|]|\\[,;:! ]|\\(?!left|right|over|atop|choose|begin|end|middle|[bB]ig|not|verb"
    r"|cr|rm|bf|it|cal|hbox|mbox|math(?:strut|choice)|limits|nolimits)[a-zA-Z]++"
)
_NESTED = rf"(?:{_PLAIN}|\{{(?:{_PLAIN})*+\}}|\((?:{_PLAIN})*+\))*+"
_STYLED_LETTER = (
    r"\\(?:mathbf|mathcal|mathrm|mathbb|mathit|mathsf|mathfrak|mathscr|boldsymbol|bm|hat|bar|tilde"
    rf"|vec|widehat|widetilde|overline)\{{(?:[a-zA-Z]+|{_LETTER})\}}"
)
_SCRIPT = rf"'|[_^](?:[a-zA-Z0-9*]|{_LETTER}|{_STYLED_LETTER}|\{{{_NESTED}\}})"
_ARGUMENTS = rf"\({_NESTED}\)"
#: A function with its arguments.
_APPLIED = re.compile(rf"((?:[a-zA-Z]|{_LETTER}|{_STYLED_LETTER})(?:{_SCRIPT})*+){_ARGUMENTS}")
#: A letter with scripts.
_SCRIPTED_LETTER = re.compile(rf"([a-df-zA-Z]|{_LETTER}|{_STYLED_LETTER})((?:{_SCRIPT})++)")
#: Signs that no name starts with, and something after them.
_OPENING_SIGN = re.compile(
    r"\\(?:xymatrix|sum|prod|coprod|int|iint|oint|bigcup|bigcap|bigoplus|bigotimes|bigvee|bigwedge"
    r"|bigsqcup|partial|nabla|frac)(?![a-zA-Z]).*\w",
    re.DOTALL,
)
#: Letters with scripts and arguments, perhaps several.
_TERM_HEAD = rf"(?:[a-zA-Z0-9, ]|{_LETTER}|{_STYLED_LETTER}|{_SCRIPT}|{_ARGUMENTS})++"
#: They, and the relation after them.
_TERM_SIDES = re.compile(
    rf"({_TERM_HEAD})(:?=|:|&\s*=|\\in(?![a-zA-Z])|\\subset(?:eq)?(?![a-zA-Z])|\\colon(?![a-zA-Z])|∈)"
)
#: A sum, a product or an arrow names nothing.
_NO_TERM = re.compile(
    rf"{_TERM_HEAD}(?:[-+/]|\\(?:to|rightarrow|longrightarrow|mapsto|times|otimes|oplus|circ|cdot|cup|cap"
    rf"|wedge|vee|setminus)(?![a-zA-Z])(?:{_SCRIPT})*+)\s*(?=[a-zA-Z0-9(\\])"
)
_RELATION_TAG = {
    "&": "=", "=": "=", ":=": ":=", ":": ":", "\\colon": ":", "\\in": "∈", "∈": "∈",
    "\\subset": "⊂", "\\subseteq": "⊆",
}  # fmt: skip
#: A right side with one of these is not read apart: they reach out of it.
_REACHES = re.compile(r"&|\\(?:\\|right|middle|begin|end|cr)(?![a-zA-Z])")
_INFIX_COMMAND = re.compile(r"\\(?:over|atop|choose|above|brack|brace)(?![a-zA-Z])")
_AFTER_SIGN = re.compile(r"\s*(?:[_^'=:]|\\(?:limits|nolimits|not)|\{\})")


class FormulaTerm(NamedTuple):
    """What a formula in a sentence is about."""

    symbols: tuple[Symbol, ...]
    """What the formula names: one, the members of a list, or nothing for an expression."""
    type: str = ""
    relation: str = ""
    """The sign after the symbol, such as `=` or `∈`; empty if it stands alone."""
    is_tuple: bool = False
    """The symbols are members of a tuple, which a phrase may mean as a whole."""
    is_word: bool = False
    """A number or an operator: reads like a word of the sentence."""


@lru_cache(maxsize=32768)
def read_term(latex: str) -> FormulaTerm:
    r"""What a formula in a sentence is about.

    >>> [symbol.latex for symbol in read_term(r"x, y \in X").symbols]
    ['x', 'y']
    """
    return _read_sides(latex) or read_whole(latex)


def _read_sides(latex: str) -> FormulaTerm | None:
    """The same as `read_whole` for a formula whose sides can be read apart; None for others."""
    stripped = latex.strip()
    if stripped != latex and stripped[-1:] != "\\":
        return read_term(stripped)
    applied = _APPLIED.fullmatch(latex)
    if applied is not None:
        return read_term(applied[1])
    scripted = _SCRIPTED_LETTER.fullmatch(latex)
    if scripted is not None:
        return _read_scripted(scripted[1], scripted[2])
    if _OPENING_SIGN.match(latex) and not _INFIX_COMMAND.search(latex):
        return FormulaTerm(())
    sides = _TERM_SIDES.match(latex)
    if sides is None:
        found = _NO_TERM.match(latex)
        return (
            None
            if found is None or _INFIX_COMMAND.search(latex) or _REACHES.search(latex)
            else FormulaTerm(())
        )
    head, rest = sides[1], latex[sides.end() :]
    if _AFTER_SIGN.match(rest) or _INFIX_COMMAND.search(rest):
        return None
    sign = _RELATION_TAG[sides[2] if sides[2][0] != "&" else "&"]
    kind = ""
    if sign in _MEMBER or (sign == ":" and ("to" in rest or "arrow" in rest or "→" in rest)):
        if rest.count("{") != rest.count("}") or _REACHES.search(rest):
            return None
        kind = _read_type(sign, rest)
    term = read_term(head)
    if term.is_word or term.relation:
        return None
    return FormulaTerm(term.symbols, kind, sign, term.is_tuple) if term.symbols else FormulaTerm(())


def _read_scripted(letter: str, scripts: str) -> FormulaTerm | None:
    """A letter and its scripts, which are the same for every letter."""
    heads, models = read_term(letter).symbols, _read_scripts(scripts).symbols
    if len(heads) != 1 or len(models) != 1:
        return None
    (head,), (model,) = heads, models
    return FormulaTerm((
        Symbol(
            head.key + model.key[1:], head.latex + model.latex[1:],
            head.general + model.general[1:], head.base,
        ),
    ))  # fmt: skip


@lru_cache(maxsize=8192)
def _read_scripts(scripts: str) -> FormulaTerm:
    """The letter a with scripts."""
    return read_whole("a" + scripts)


@lru_cache(maxsize=4096)
def _read_type(sign: str, latex: str) -> str:
    return _type(sign, _row(latex))


def _row(latex: str) -> list[Node]:
    made = layout(latex)
    return [node for node, _ in zip(baseline(made.root), range(400), strict=False)]


def read_whole(latex: str) -> FormulaTerm:
    """What a formula is about, from the layout of all of it."""
    row = _row(latex)
    if not row:
        return FormulaTerm((), is_word=True)
    if all(node.tag[:2] in {"N!", "M!"} and node.tag[2:3].isdigit() for node in row):
        return FormulaTerm((), is_word=True)
    if len(row) == 1 and row[0].tag[1:2] != "!" and row[0].kids is None:
        return FormulaTerm((), is_word=True)
    head, sign, rest = _split(row)
    if sign in _ARROWS:
        return FormulaTerm(())
    symbols: list[Symbol] = []
    for part in _parts(head):
        named = _named(part)
        if named is None:
            return FormulaTerm(())
        symbols.extend(named)
    if any(node.tag in DOTS for node in head):
        symbols = [_enumerated(symbol, symbols[0]) for symbol in symbols]
    if not symbols:
        return FormulaTerm(())
    is_tuple = len(head) == 1 and head[0].tag[:3] in {"M!(", "M!⟨"}
    return FormulaTerm(tuple(dict.fromkeys(symbols)), _type(sign, rest), sign, is_tuple)


def _enumerated(symbol: Symbol, first: Symbol) -> Symbol:
    r"""In `x_1, \dots, x_N` the capital is an index."""
    if symbol.base != first.base or INDEX_DASH not in first.general:
        return symbol
    return Symbol(symbol.key, symbol.latex, first.general, symbol.base)


def _split(row: list[Node]) -> tuple[list[Node], str, list[Node]]:
    for place, node in enumerate(row):
        if node.tag in RELATION_TAGS and place:
            if node.tag in _BOUND_SIGNS and all(part.tag[:2] == "N!" for part in row[:place]):
                head, _, rest = _split(row[place + 1 :])
                if all(part.tag[:2] == "N!" for part in rest):
                    return head, node.tag, []  # `0 < x < 1` is about x, and `1 < i < n` is not
            return row[:place], node.tag, row[place + 1 :]
    return row, "", []


def _parts(row: list[Node]) -> Iterator[list[Node]]:
    part: list[Node] = []
    for node in row:
        if node.tag == "&comma;":
            if part:
                yield part
            part = []
        else:
            part.append(node)
    if part:
        yield part


def _named(part: list[Node]) -> list[Symbol] | None:
    """The symbols that a member of a list names, or None for an expression."""
    first, rest = part[0], part[1:]
    if first.tag in DOTS:
        return []
    if first.tag[:3] in {"M!(", "M!{", "M!⟨"} and not rest:
        return _members(first)
    if first.tag[:3] == "M!|" and not rest:
        inside = list(first_nodes(baseline(first.get("w"))))
        if len(inside) == 1 and is_identifier(inside[0]):
            one = make_symbol(inside[0])
            return [Symbol(f"|{one.key}|", _latex_of(first), f"|{one.general}|", f"|{one.base}|")]
        return None
    if not is_identifier(first):
        return None
    if not rest:
        return [make_symbol(first)]
    if rest[0].tag[:3] in {"M!(", "M!&", "M!{"} and len(rest) == 1:
        return [make_symbol(first)]
    if part[-1].tag[:3] == "M!(" and len(part) > 2:  # `loss(x)`
        word = word_run(first)
        if len(word) == len(part) - 1 and "V!" + name_of(word) not in NAMED_FUNCTIONS:
            return [make_symbol(word[-1], word)]
        return None
    if all(node.tag[:2] == "V!" and len(node.tag) == 3 for node in part) and len(part) > 1:
        return _word(part)
    return None


def _word(part: list[Node]) -> list[Symbol] | None:
    """Letters in a row without scripts are a name, such as `spec`, if they are small or alike."""
    if any(node.kids for node in part[:-1]) or len(part) > 12:
        return None
    name = "".join(node.tag[2:] for node in part)
    if not name.isascii() or (
        len(name) == 2 and name[0] != name[1] and not is_word(name, called=False)
    ):
        return None
    if "V!" + name in NAMED_FUNCTIONS:
        return None
    return [make_symbol(part[-1], part)]


def _members(fence: Node) -> list[Symbol] | None:
    """The members of a tuple or a set, if each is a symbol."""
    found: list[Symbol] = []
    element = fence.get("w")
    while element is not None:
        row = [node for node in first_nodes(baseline(element)) if node.tag != "&comma;"]
        if len(row) != 1:
            return None
        if is_identifier(row[0]):
            found.append(make_symbol(row[0]))
        elif row[0].tag not in DOTS:
            return None
        element = element.get("e")
    return found


def _latex_of(node: Node) -> str:
    alone = Node(node.tag, node.look)
    alone.kids = node.kids
    return to_latex(alone)


def _type(sign: str, rest: list[Node]) -> str:
    """What a symbol is a member of, or the type of a function; up to the next relation."""
    if not rest or (sign not in _MEMBER and sign != ":"):
        return ""
    if sign == ":" and not any(node.tag in _ARROWS for node in rest):
        return ""
    stops = _EQUALS | {"&comma;", ";", "|"}
    end = next((at for at, node in enumerate(rest) if node.tag in stops), len(rest))
    if not end:
        return ""
    follower, rest[end - 1].n = rest[end - 1].n, None
    text = to_latex(rest[0])
    rest[end - 1].n = follower
    return text
