"""Unicode and ASCII mathematics to LaTeX: `∑ᵢ xᵢ²`, `√(a + b)`, `exp(-x)/2`.

Reads what people type without LaTeX, and what `Layout.to_text` prints, so that an equation can be
copied from a terminal. Raised and lowered characters become scripts, `/` a fraction, `√` a root,
combining accents commands. Some of it has more than one reading: `a/b` may have been a solidus.
Time is linear in the length, and nothing raises.
"""

import re
import unicodedata

from eqemb.formula.commands import BIG, INTEGRALS
from eqemb.formula.unicode_rows import BLANK, RowPiece, joined, matrix_of
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
SENTENCE_WORDS = frozenset(
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

_DIFFERENTIAL = re.compile(r"d[a-zA-Z]")
_INTEGRAL_COMMANDS = tuple(map(latex_of, sorted(INTEGRALS)))


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


_OPERANDS = frozenset({"atom", "word", "fraction"})
_BAR_SIGNS = frozenset({"|", r"\|"})
_SCRIPT_KINDS = frozenset({"raised", "lowered", "primes", "accent"})
_ALL_SCRIPTS = _SCRIPT_KINDS | {"script", "mark"}
_INDEXED = frozenset({"raised", "lowered"})
_ENDS_DENOMINATOR = frozenset("=+-−<>/*·⋅×≤≥≈∼~≠∈")
#: ∑ and similar signs, which what follows belongs to.
_BIG_SIGN = re.compile(rf"(?:{'|'.join(map(re.escape, map(latex_of, sorted(BIG))))})(?![a-zA-Z])")
_TIGHT_SIGNS = frozenset("|‖∂∇¬∀∃!′/")


class _SignReader:
    """One reading; every sign is read once."""

    def __init__(self, text: str) -> None:
        self.signs = [(match.lastgroup or "", match[0]) for match in _SIGN.finditer(text)]
        self.at = 0
        self.depth = 0
        self.in_script = 0
        self.has_integral = False

    def read(self) -> str:
        items: list[RowPiece] = []
        while self.at < len(self.signs):
            items += self.row()
            if self.at < len(self.signs):  # a closing bracket without an opening one
                items.append(RowPiece(latex_of(self.signs[self.at][1]), "sign"))
                self.at += 1
        return joined(items)

    def row(self) -> list[RowPiece]:
        """Read up to a closing bracket, which is not consumed."""
        items: list[RowPiece] = []
        while self.at < len(self.signs):
            kind, text = self.signs[self.at]
            if kind == "other" and text in CLOSE_SIGNS:
                break
            self.at += 1
            self.sign(kind, text, items)
        return items

    def sign(self, kind: str, text: str, items: list[RowPiece]) -> None:
        """Read one sign, with what belongs to it."""
        if kind == "blank":
            items.append(BLANK)
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
            items.append(RowPiece(f"\\{MARK_COMMANDS[text]}{{{base.operand}}}", "atom"))
        elif kind == "script" or text == "**":
            self.script(text if kind == "script" else "^", items)
        elif kind == "word":
            items.append(self.word(text, items))
        elif kind in ("number", "wild"):
            items.append(RowPiece(text, "atom"))
        else:
            self.other(text, items)

    def other(self, text: str, items: list[RowPiece]) -> None:
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
            items.append(RowPiece(",", "comma"))
        elif text == ";":
            items.append(RowPiece(";", "row" if self.peek_kind("blank") else "sign"))
        else:
            self.has_integral |= text in INTEGRALS
            name = unicodedata.category(text[0])[0]
            latex = latex_of(text)
            if name in "LN":
                items.append(RowPiece(latex, "atom"))
            else:
                items.append(RowPiece(latex, "sign" if text in _TIGHT_SIGNS else "infix"))

    def peek(self, text: str) -> bool:
        return self.at < len(self.signs) and self.signs[self.at][1] == text

    def peek_kind(self, kind: str) -> bool:
        return self.at < len(self.signs) and self.signs[self.at][0] == kind

    def peek_kinds(self, kinds: frozenset[str]) -> bool:
        return self.at < len(self.signs) and self.signs[self.at][0] in kinds

    # ------------------------------------------------------------ pieces

    def word(self, text: str, items: list[RowPiece]) -> RowPiece:
        """Letters: the name of a function, a word, or a product of variables."""
        if text == "sqrt" and self.peek("("):
            return self.root("")
        if self.has_integral and _DIFFERENTIAL.fullmatch(text):
            return RowPiece(text, "atom")
        if text in SPELT_NAMES:
            self.has_integral |= SPELT_NAMES[text] == "int"
            return RowPiece(f"\\{SPELT_NAMES[text]}", "atom" if text in GREEK_NAMES else "word")
        if text == "mod":
            return RowPiece(r"\bmod", "infix")
        if text == "choose":
            return RowPiece(r"\choose", "infix")
        if len(text) == 1:
            return RowPiece(text, "atom")
        is_spaced = bool(items) and items[-1] is BLANK and len(items) > 1
        beside = (is_spaced and items[-2].kind in _OPERANDS) or self.precedes_operand()
        if text in SENTENCE_WORDS and (len(text) > 2 or beside or text in _SHORT_TEXT):
            return RowPiece(f"\\text{{{text}}}", "word")
        if (
            (len(text) > 3 and _has_vowel(text))
            or beside
            or (len(text) > 2 and (self.in_script or self.peek("(")))
            or (text.isupper() and (len(text) > 2 or self.in_script or self.peek("(")))
        ):
            font = "text" if self.in_script and not text.isupper() else "mathrm"
            return RowPiece(f"\\{font}{{{text}}}", "word")
        return RowPiece(text, "atom")

    def precedes_operand(self) -> bool:
        """Whether a blank and then a letter or a number follow: products have no blanks."""
        following = self.signs[self.at : self.at + 2]
        return len(following) == 2 and following[0][0] == "blank" and following[1][1][:1].isalnum()

    def group(self, opener: str, items: list[RowPiece]) -> RowPiece:
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
            matrix = matrix_of(opener, closer, inner)
            if matrix is not None:
                return RowPiece(matrix, "atom")
        inner = [each._replace(kind="sign") if each.kind == "row" else each for each in inner]
        inside = joined(inner)
        if any(item.latex == r"\choose" for item in inner):
            return RowPiece(f"{{{inside}}}", "atom")
        ends = (RowPiece(latex_of(each), "sign") for each in (opener, closer) if each)
        first, *last = ends
        latex = joined([first, RowPiece(inside, "atom"), *last])
        if opener != "(" or closer != ")":
            return RowPiece(latex, "atom")
        is_fraction = len(inner) == 1 and inner[0].kind == "fraction"
        return RowPiece(latex, "fraction" if is_fraction else "atom", inside)

    def cases(self) -> RowPiece:
        """A brace before a table, which `to_text` does not close."""
        self.at += 1
        table = self.group("[", [])
        if self.peek("}"):
            self.at += 1
            return RowPiece(f"\\{{{table.latex}\\}}", "atom")
        return table._replace(latex=table.latex.replace("{bmatrix}", "{cases}"))

    def argument(self, mark: str = "") -> str:
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
            inner = joined(self.row()) if self.depth < DEPTH else ""
            self.depth -= 1
            self.at += self.peek("}")
            return inner
        if kind == "word" and len(text) > 1 and text not in SPELT_NAMES:
            is_name = len(text) > 2 and text.islower() and _has_vowel(text)
            # in A_HZ_k, Z has an index of its own
            is_label = text.isupper() and not (self.peek("_") or self.peek_kind("lowered"))
            if _INDICES.fullmatch(text) or is_name or (mark == "_" and is_label):
                return _script_text(text)  # x_ij, d_model, D_KL; `to_text` would print brackets
            self.at -= 1
            self.signs[self.at] = (kind, text[1:])
            text = text[0]
        made: list[RowPiece] = []
        self.depth += 1
        if kind == "other" and text in "+-−":  # x^-1
            made = [RowPiece(latex_of(text) + self.argument(mark), "atom")]
        else:
            self.sign(kind, text, made)
            if mark and text.isalpha() and text != "T" and self.peek_kind("lowered"):
                while self.peek_kinds(_INDEXED):  # e^xᵢ: x has the index
                    self.at += 1
                    self.sign(*self.signs[self.at - 1], made)
        self.depth -= 1
        return joined(made) if len(made) != 1 else made[0].operand

    def script(self, mark: str, items: list[RowPiece]) -> None:
        self.in_script += 1
        inside = self.argument(mark)
        self.in_script -= 1
        if mark == "^" and self.peek("√"):
            self.at += 1
            items.append(self.root(f"[{inside}]"))
        elif inside:
            _attach(items, f"{mark}{{{inside}}}")

    def root(self, index: str) -> RowPiece:
        is_bare = not self.peek("(")
        made = [RowPiece(self.argument(), "atom")]
        while is_bare and (self.peek("_") or self.peek_kinds(_SCRIPT_KINDS)):
            self.at += 1
            self.sign(*self.signs[self.at - 1], made)
        return RowPiece(f"\\sqrt{index}{{{joined(made)}}}", "atom")

    def star(self, items: list[RowPiece]) -> None:
        """A star after a symbol is a script, between two symbols a product."""
        following = self.signs[self.at] if self.at < len(self.signs) else ("blank", "")
        touches = bool(items) and items[-1].kind in _OPERANDS
        ends = following[0] in ("blank", "raised", "lowered") or (
            following[0] == "other" and following[1] not in OPEN_SIGNS
        )
        if touches and ends:
            _attach(items, "^{*}")
        elif not touches:
            items.append(RowPiece("*", "infix"))

    def solidus(self, items: list[RowPiece]) -> None:
        """A fraction, if both sides are clear; in a script, only if brackets are below it."""
        while items and items[-1] is BLANK:
            items.pop()
        above = _above(items) if not self.in_script or self.peek("(") else []
        below = self.below() if above else None
        if below is None:
            items += [*above, RowPiece("/", "sign")]
            return
        top = above[0].operand if len(above) == 1 else joined(above)
        items.append(RowPiece(f"\\frac{{{top}}}{{{below}}}", "fraction"))

    def below(self) -> str | None:
        """The denominator after a solidus; None if there is none."""
        while self.peek_kind("blank"):
            self.at += 1
        start, made, bars = self.at, list[RowPiece](), 0
        self.depth += 1
        while self.at < len(self.signs) and self.depth < DEPTH:
            kind, text = self.signs[self.at]
            is_sign = made and _takes_operand(made[-1])
            if kind == "blank" and is_sign:
                self.at += 1
                continue
            is_called = text == "(" and made and made[-1].inside is None
            belongs = is_sign or is_called or text == "∂" or kind in _ALL_SCRIPTS or bars == 1
            is_end = text in ",;" or (
                kind == "other" and (text in CLOSE_SIGNS or text in _ENDS_DENOMINATOR)
            )
            if (made and not belongs) or (is_end and bars != 1):
                break
            bars += text in "|‖"
            self.at += 1
            self.sign(kind, text, made)
        self.depth -= 1
        following = self.signs[self.at : self.at + 2]
        if made and made[0].latex.startswith(_INTEGRAL_COMMANDS) and len(following) == 2:
            (kind, _), (_, text) = following
            if kind == "blank" and _DIFFERENTIAL.fullmatch(text):  # 1/∫ f(x) dx
                self.at += 2
                made += [BLANK, RowPiece(text, "atom")]
        if not made or all(item is BLANK for item in made):
            self.at = start
            return None
        return made[0].operand if len(made) == 1 else joined(made)


def _above(items: list[RowPiece]) -> list[RowPiece]:
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


def _is_differential(item: RowPiece) -> bool:
    return item.latex.startswith((r"\partial", "d^", r"\nabla")) or item.latex == "d"


def _takes_operand(item: RowPiece) -> bool:
    is_big = _BIG_SIGN.match(item.latex) is not None
    return is_big or _is_differential(item) or item.kind == "word"


def _script_text(plain: str) -> str:
    """A raised or lowered text: `max` is a name, `ij` two letters."""
    if plain in SPELT_NAMES:
        return f"\\{SPELT_NAMES[plain]}"
    is_word = len(plain) > 2 and plain.isascii() and plain.isalpha()
    if is_word and _has_vowel(plain):
        return f"\\text{{{plain}}}"
    return joined([RowPiece(latex_of(char), "atom") for char in plain.replace("′", "'")])


def _last(items: list[RowPiece]) -> RowPiece:
    """Remove and return the piece that a script or an accent belongs to."""
    while items and items[-1] is BLANK:
        items.pop()
    return items.pop() if items else RowPiece("{}", "atom")


def _attach(items: list[RowPiece], script: str) -> None:
    base = _last(items)
    items.append(RowPiece(f"{base.latex}{script}", base.kind))


def _accent(items: list[RowPiece], accents: str) -> None:
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
    items.append(RowPiece(start + made, "atom" if base.kind != "infix" else "infix"))
