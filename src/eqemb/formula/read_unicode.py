"""Unicode and ASCII mathematics to LaTeX: `∑ᵢ xᵢ²`, `√(a + b)`, `exp(-x)/2`.

Reads what people type without LaTeX, and what `Layout.to_text` prints, so that an equation can be
copied from a terminal. Raised and lowered characters become scripts, `/` a fraction, `√` a root,
combining accents commands. Some of it has more than one reading: `a/b` may have been a solidus.
Time is linear in the length, and nothing raises.
"""

import re
import unicodedata
from typing import NamedTuple

from eqemb.formula.unicode_signs import (
    CLOSE_SIGNS,
    COMBINING_ACCENTS,
    GREEK_NAMES,
    LOWERED,
    MARK_COMMANDS,
    OPEN_SIGNS,
    PRIME_SIGNS,
    RAISED,
    ROOT_SIGNS,
    SPELT_NAMES,
    latex_of,
)

#: Brackets may nest this deep; deeper ones are kept as characters.
DEPTH = 60

#: Words of sentences: text rather than the name of a function.
_TEXT_WORDS = frozenset(
    "if for and or otherwise where with is in of then else when all such that subject to while the"
    " on by from not has at as are be any some each every else only since otherwise".split()
)
#: Those that are hardly ever products of two letters.
_SHORT_TEXT = frozenset({"if", "or", "is", "of", "to"})
_SCRIPTED = "".join(map(re.escape, RAISED)), "".join(map(re.escape, LOWERED))
_SIGN = re.compile(
    rf"""
      (?P<blank>\s+)
    | (?P<wild>\?[A-Za-z][A-Za-z0-9]*)
    | (?P<word>[A-Za-z]+)
    | (?P<number>[0-9]+(?:\.[0-9]+)?|\.[0-9]+)
    | (?P<raised>[{_SCRIPTED[0]}]+(?:[*{PRIME_SIGNS}]++[{_SCRIPTED[0]}]+)*+[*{PRIME_SIGNS}]*+)
    | (?P<lowered>[{_SCRIPTED[1]}]+)
    | (?P<primes>[{PRIME_SIGNS}]+)
    | (?P<accent>[\u0300-\u036f\u20d7]+)
    | (?P<mark>_[¯⏟~]|\^[⏞←↔])
    | (?P<script>[_^])
    | (?P<other><=|>=|!=|=>|->|==|<-|\.\.\.|\*\*|\|\||.)
    """,
    re.VERBOSE | re.DOTALL,
)
#: Letters that are indices together: `x_ij`.
_INDICES = re.compile(r"[i-nst]{2,3}")
_ENDS_IN_COMMAND = re.compile(r"\\[a-zA-Z]+\Z")


def read_unicode(text: str) -> str:
    r"""Return Unicode or ASCII mathematics, which has no LaTeX commands, as LaTeX.

    >>> read_unicode("∑ᵢ₌₁ⁿ xᵢ²")
    '\\sum_{i=1}^{n} x_{i}^{2}'
    >>> read_unicode("exp(-x)/√(2π)")
    '\\frac{\\exp(-x)}{\\sqrt{2\\pi}}'
    """
    return _SignReader(decomposed(text)).read()


def decomposed(text: str) -> str:
    """Return a text with accents apart from their letters; ≠ and similar signs stay whole."""
    text = unicodedata.normalize("NFC", text)
    if text.isascii():
        return text
    return "".join(unicodedata.normalize("NFD", char) if char.isalpha() else char for char in text)


# ------------------------------------------------------------ the reader


class _Item(NamedTuple):
    """A piece of a row."""

    latex: str
    kind: str
    """"atom", "word", "infix", "comma", "row" (the end of one), "sign" or "blank"."""
    inside: str | None = None
    """What is between its brackets."""

    @property
    def operand(self) -> str:
        """The piece without its brackets."""
        return self.latex if self.inside is None else self.inside


_OPERANDS = frozenset({"atom", "word", "fraction"})
_BLANK = _Item("", "blank")
_BAR_SIGNS = frozenset({"|", r"\|"})
_SCRIPT_KINDS = frozenset({"raised", "lowered", "primes", "accent"})
_ALL_SCRIPTS = _SCRIPT_KINDS | {"script", "mark"}
_TIGHT_SIGNS = frozenset("|‖∂∇¬∀∃!′/")


class _SignReader:
    """One reading; every sign is read once."""

    def __init__(self, text: str) -> None:
        self.signs = [(match.lastgroup or "", match[0]) for match in _SIGN.finditer(text)]
        self.at = 0
        self.depth = 0
        self.in_script = 0

    def read(self) -> str:
        items: list[_Item] = []
        while self.at < len(self.signs):
            items += self.row()
            if self.at < len(self.signs):  # a closing bracket without an opening one
                items.append(_Item(latex_of(self.signs[self.at][1]), "sign"))
                self.at += 1
        return _joined(items)

    def row(self) -> list[_Item]:
        """Read up to a closing bracket, which is not consumed."""
        items: list[_Item] = []
        while self.at < len(self.signs):
            kind, text = self.signs[self.at]
            if kind == "other" and text in CLOSE_SIGNS:
                break
            self.at += 1
            self.sign(kind, text, items)
        return items

    def sign(self, kind: str, text: str, items: list[_Item]) -> None:
        """Read one sign, with what belongs to it."""
        if kind == "blank":
            items.append(_BLANK)
        elif kind in ("raised", "lowered"):
            table, mark = (RAISED, "^") if kind == "raised" else (LOWERED, "_")
            plain = "".join(table.get(char, char) for char in text)
            if kind == "raised" and self.peek("√"):
                self.at += 1
                items.append(self.root(f"[{_script_text(plain)}]"))
            else:
                _attach(items, f"{mark}{{{_script_text(plain)}}}")
        elif kind == "primes":
            _attach(items, "'" * sum({"″": 2, "‴": 3}.get(char, 1) for char in text))
        elif kind == "accent":
            _accent(items, text)
        elif kind == "mark":
            base = _last(items)
            items.append(_Item(f"\\{MARK_COMMANDS[text]}{{{base.operand}}}", "atom"))
        elif kind == "script" or text == "**":
            self.script(text if kind == "script" else "^", items)
        elif kind == "word":
            items.append(self.word(text, items))
        elif kind in ("number", "wild"):
            items.append(_Item(text, "atom"))
        else:
            self.other(text, items)

    def other(self, text: str, items: list[_Item]) -> None:
        if text == "{" and self.peek("[") and self.depth < DEPTH:
            items.append(self.cases())
        elif text in OPEN_SIGNS and self.depth < DEPTH:
            items.append(self.group(text, items))
        elif text in ROOT_SIGNS:
            items.append(self.root(ROOT_SIGNS[text]))
        elif text == "/":
            self.solidus(items)
        elif text == "*":
            self.star(items)
        elif text == ",":
            items.append(_Item(",", "comma"))
        elif text == ";":
            items.append(_Item(";", "row" if self.peek_kind("blank") else "sign"))
        else:
            name = unicodedata.category(text[0])[0]
            latex = latex_of(text)
            if name in "LN":
                items.append(_Item(latex, "atom"))
            else:
                items.append(_Item(latex, "sign" if text in _TIGHT_SIGNS else "infix"))

    def peek(self, text: str) -> bool:
        return self.at < len(self.signs) and self.signs[self.at][1] == text

    def peek_kind(self, kind: str) -> bool:
        return self.at < len(self.signs) and self.signs[self.at][0] == kind

    def peek_kinds(self, kinds: frozenset[str]) -> bool:
        return self.at < len(self.signs) and self.signs[self.at][0] in kinds

    # ------------------------------------------------------------ pieces

    def word(self, text: str, items: list[_Item]) -> _Item:
        """Letters: the name of a function, a word, or a product of variables."""
        if text == "sqrt" and self.peek("("):
            return self.root("")
        if text in SPELT_NAMES:
            return _Item(f"\\{SPELT_NAMES[text]}", "atom" if text in GREEK_NAMES else "word")
        if text == "mod":
            return _Item(r"\bmod", "infix")
        if text == "choose":
            return _Item(r"\choose", "infix")
        if len(text) == 1:
            return _Item(text, "atom")
        is_spaced = bool(items) and items[-1] is _BLANK and len(items) > 1
        beside = (is_spaced and items[-2].kind in _OPERANDS) or self.precedes_operand()
        if text in _TEXT_WORDS and (len(text) > 2 or beside or text in _SHORT_TEXT):
            return _Item(f"\\text{{{text}}}", "word")
        if (
            (len(text) > 3 and _has_vowel(text))
            or beside
            or (len(text) > 2 and (self.in_script or self.peek("(")))
            or (text.isupper() and (len(text) > 2 or self.in_script or self.peek("(")))
        ):
            font = "text" if self.in_script and not text.isupper() else "mathrm"
            return _Item(f"\\{font}{{{text}}}", "word")
        return _Item(text, "atom")

    def precedes_operand(self) -> bool:
        """Whether a blank and then a letter or a number follow: products have no blanks."""
        following = self.signs[self.at : self.at + 2]
        return len(following) == 2 and following[0][0] == "blank" and following[1][1][:1].isalnum()

    def group(self, opener: str, items: list[_Item]) -> _Item:
        """What is between brackets: a group, a matrix or a binomial coefficient."""
        is_called = bool(items) and items[-1].kind in _OPERANDS and opener == "("
        self.depth += 1
        inner = self.row()
        self.depth -= 1
        closer = ""
        if self.at < len(self.signs):
            closer = self.signs[self.at][1]
            self.at += 1
        if any(item.kind == "row" for item in inner) and closer and not is_called:
            matrix = _matrix(opener, closer, inner)
            if matrix is not None:
                return _Item(matrix, "atom")
        inner = [each._replace(kind="sign") if each.kind == "row" else each for each in inner]
        inside = _joined(inner)
        if any(item.latex == r"\choose" for item in inner):
            return _Item(f"{{{inside}}}", "atom")
        ends = (_Item(latex_of(each), "sign") for each in (opener, closer) if each)
        first, *last = ends
        latex = _joined([first, _Item(inside, "atom"), *last])
        if opener != "(" or closer != ")":
            return _Item(latex, "atom")
        is_fraction = len(inner) == 1 and inner[0].kind == "fraction"
        return _Item(latex, "fraction" if is_fraction else "atom", inside)

    def cases(self) -> _Item:
        """A brace before a table, which `to_text` does not close."""
        self.at += 1
        table = self.group("[", [])
        if self.peek("}"):
            self.at += 1
            return _Item(f"\\{{{table.latex}\\}}", "atom")
        return table._replace(latex=table.latex.replace("{bmatrix}", "{cases}"))

    def argument(self) -> str:
        """What follows a script sign or a root, without brackets."""
        while self.peek_kind("blank"):
            self.at += 1
        if self.at == len(self.signs) or self.depth >= DEPTH:
            return ""
        kind, text = self.signs[self.at]
        if kind == "other" and text in CLOSE_SIGNS:
            return ""
        self.at += 1
        if kind == "other" and text == "{":  # here, braces only group
            self.depth += 1
            inner = _joined(self.row()) if self.depth < DEPTH else ""
            self.depth -= 1
            self.at += self.peek("}")
            return inner
        if kind == "word" and len(text) > 1 and text not in SPELT_NAMES:
            if _INDICES.fullmatch(text) or (len(text) > 2 and text.islower() and _has_vowel(text)):
                return _script_text(text)  # x_ij and d_model; `to_text` would print brackets
            self.at -= 1
            self.signs[self.at] = (kind, text[1:])
            text = text[0]
        made: list[_Item] = []
        self.depth += 1
        if kind == "other" and text in "+-−":  # x^-1
            made = [_Item(latex_of(text) + self.argument(), "atom")]
        else:
            self.sign(kind, text, made)
        self.depth -= 1
        return _joined(made) if len(made) != 1 else made[0].operand

    def script(self, mark: str, items: list[_Item]) -> None:
        self.in_script += 1
        inside = self.argument()
        self.in_script -= 1
        if mark == "^" and self.peek("√"):
            self.at += 1
            items.append(self.root(f"[{inside}]"))
        elif inside:
            _attach(items, f"{mark}{{{inside}}}")

    def root(self, index: str) -> _Item:
        is_bare = not self.peek("(")
        made = [_Item(self.argument(), "atom")]
        while is_bare and (self.peek("_") or self.peek_kinds(_SCRIPT_KINDS)):
            self.at += 1
            self.sign(*self.signs[self.at - 1], made)
        return _Item(f"\\sqrt{index}{{{_joined(made)}}}", "atom")

    def star(self, items: list[_Item]) -> None:
        """A star after a symbol is a script, between two symbols a product."""
        following = self.signs[self.at] if self.at < len(self.signs) else ("blank", "")
        touches = bool(items) and items[-1].kind in _OPERANDS
        ends = following[0] in ("blank", "raised", "lowered") or (
            following[0] == "other" and following[1] not in OPEN_SIGNS
        )
        if touches and ends:
            _attach(items, "^{*}")
        elif not touches:
            items.append(_Item("*", "infix"))

    def solidus(self, items: list[_Item]) -> None:
        """A fraction, if both sides are clear; in a script, only if brackets are below it."""
        while items and items[-1] is _BLANK:
            items.pop()
        above = _above(items) if not self.in_script or self.peek("(") else []
        below = self.below() if above else None
        if below is None:
            items += [*above, _Item("/", "sign")]
            return
        top = above[0].operand if len(above) == 1 else _joined(above)
        items.append(_Item(f"\\frac{{{top}}}{{{below}}}", "fraction"))

    def below(self) -> str | None:
        """The denominator after a solidus; None if there is none."""
        while self.peek_kind("blank"):
            self.at += 1
        start, made, bars = self.at, list[_Item](), 0
        self.depth += 1
        while self.at < len(self.signs) and self.depth < DEPTH:
            kind, text = self.signs[self.at]
            is_sign = made and (_is_differential(made[-1]) or made[-1].kind == "word")
            if kind == "blank" and is_sign:
                self.at += 1
                continue
            is_called = text == "(" and made and made[-1].inside is None
            belongs = is_sign or is_called or text == "∂" or kind in _ALL_SCRIPTS or bars == 1
            is_end = text in ",;" or (kind == "other" and (text in CLOSE_SIGNS or text in "=+<>/*"))
            if (made and not belongs) or (is_end and bars != 1):
                break
            bars += text in "|‖"
            self.at += 1
            self.sign(kind, text, made)
        self.depth -= 1
        if not made or all(item is _BLANK for item in made):
            self.at = start
            return None
        return made[0].operand if len(made) == 1 else _joined(made)


def _above(items: list[_Item]) -> list[_Item]:
    """Remove and return what touches a solidus: ∂L/∂w, 2PR/(P+R), p(x)/q(x), exp(x)/2, |x|/2."""
    if items and (bar := items[-1].latex.partition("^")[0]) in _BAR_SIGNS:
        before = range(len(items) - 2, -1, -1)
        start = next((at for at in before if items[at].latex == bar), len(items))
        made = items[start:]
        del items[start:]
        return made
    made = []
    while items and (items[-1].kind in ("atom", "fraction") or _is_differential(items[-1])):
        made.append(items.pop())
    if made and items and items[-1].kind == "word" and made[-1].inside is not None:
        made.append(items.pop())
    return made[::-1]


def _has_vowel(text: str) -> bool:
    return any(char in "aeiouAEIOU" for char in text)


def _is_differential(item: _Item) -> bool:
    return item.latex.startswith((r"\partial", "d^", r"\nabla")) or item.latex == "d"


def _script_text(plain: str) -> str:
    """A raised or lowered text: `max` is a name, `ij` two letters."""
    if plain in SPELT_NAMES:
        return f"\\{SPELT_NAMES[plain]}"
    is_word = len(plain) > 2 and plain.isascii() and plain.isalpha()
    if is_word and _has_vowel(plain):
        return f"\\text{{{plain}}}"
    return _joined([_Item(latex_of(char), "atom") for char in plain.replace("′", "'")])


def _last(items: list[_Item]) -> _Item:
    """Remove and return the piece that a script or an accent belongs to."""
    while items and items[-1] is _BLANK:
        items.pop()
    return items.pop() if items else _Item("{}", "atom")


def _attach(items: list[_Item], script: str) -> None:
    base = _last(items)
    items.append(_Item(f"{base.latex}{script}", base.kind))


def _accent(items: list[_Item], accents: str) -> None:
    base = _last(items)
    letters = base.operand
    while letters[:1] == "(" and letters[-1:] == ")" and letters.count("(") == 1:
        letters = letters[1:-1]
    # in `xy` with an accent, only y has it
    start = letters[:-1] if base.inside is None and letters.isalpha() else ""
    made = letters[len(start) :]
    for char in accents:
        if name := COMBINING_ACCENTS.get(char):
            made = f"\\{name}{{{made}}}"
        elif char == "\u0338":
            made = f"\\not{made}"
    items.append(_Item(start + made, "atom" if base.kind != "infix" else "infix"))


def _matrix(opener: str, closer: str, inner: list[_Item]) -> str | None:
    """The LaTeX of a table; None if its rows are not equally long, as in `p(x, y; z)`."""
    rows: list[list[list[_Item]]] = [[[]]]
    for item in inner:
        if item.kind == "row":
            rows.append([[]])
        elif item.kind == "comma":
            rows[-1].append([])
        else:
            rows[-1][-1].append(item)
    if len({len(row) for row in rows}) > 1:
        return None
    names = {"()": "pmatrix", "[]": "bmatrix", "{}": "Bmatrix", "{]": "cases"}
    name = names.get(opener + closer)
    if name is None:
        return None
    body = r" \\ ".join(" & ".join(_joined(cell) for cell in row) for row in rows)
    return f"\\begin{{{name}}}{body}\\end{{{name}}}"


def _joined(items: list[_Item]) -> str:
    """The LaTeX of a row."""
    items = _merge_texts(_without_brackets(items))
    out: list[str] = []
    for at, item in enumerate(items):
        latex = item.latex
        if item is _BLANK:
            latex = " " if out and not out[-1].endswith(" ") and at < len(items) - 1 else ""
        elif item.kind == "row":
            latex = " "
        elif out and latex[:1].isalpha() and _ENDS_IN_COMMAND.search(out[-1]):
            latex = " " + latex
        if latex:
            out.append(latex)
    return "".join(out).strip()


def _without_brackets(items: list[_Item]) -> list[_Item]:
    """Drop the brackets that `to_text` prints around a fraction beside other symbols."""
    out: list[_Item] = []
    for at, item in enumerate(items):
        if item.kind == "fraction" and item.inside is not None:
            before = items[at - 1] if at else _BLANK
            if before.kind != "word" or before.latex in (r"\log", r"\ln"):
                out.append(_Item(item.inside, "atom"))
                continue
        out.append(item)
    return out


def _merge_texts(items: list[_Item]) -> list[_Item]:
    """Join consecutive words of a sentence into one text."""
    out: list[_Item] = []
    for item in items:
        is_next = len(out) > 1 and out[-1] is _BLANK and _PHRASED.match(out[-2].latex)
        if is_next and _PHRASED.match(item.latex):
            before = out[-2].latex.partition("{")[2]
            out[-2:] = [_Item(f"\\text{{{before[:-1]} {item.latex.partition('{')[2]}", "word")]
        else:
            out.append(item)
    return out


_PHRASED = re.compile(r"\\(?:text|mathrm)\{[^{}]*\}\Z")
