r"""Hostile queries: each of any length, and must cost no more than its length deserves.

`QUERIES` has them by name: functions from a length to a text of about that length. `WORDS` has
those that consist of words; they need the words of a library.
"""

from collections.abc import Callable, Sequence
from itertools import cycle, pairwise
from string import ascii_lowercase, ascii_uppercase

Make = Callable[[int], str]
#: A depth that queries may have, with and without what is around it.
DEPTH = 38


def repeated(piece: str, start: str = "", end: str = "") -> Make:
    """A piece, as often as fits."""
    return lambda size: start + piece * max(1, (size - len(start + end)) // len(piece)) + end


def nested(opening: str, closing: str, core: str = "x") -> Make:
    """Something that nests as deep as queries may, and then again beside it."""
    return repeated(opening * DEPTH + core + closing * DEPTH + " ")


def numbered(piece: str, start: str = "") -> Make:
    """A piece with another name, of letters alone, for each `@`."""
    return lambda size: _cut(start, (piece.replace("@", _name(n)) for n in range(size)), size)


def listed(words: Sequence[str], piece: str = "@ ", start: str = "") -> Make:
    """Words one after the other, each in a piece."""
    return lambda size: _cut(start, (piece.replace("@", word) for word in cycle(words)), size)


def _cut(text: str, pieces: object, size: int) -> str:
    assert hasattr(pieces, "__iter__")
    for piece in pieces:
        if len(text) + len(piece) > size:
            break
        text += piece
    return text


def _name(number: int) -> str:
    return "".join(ascii_lowercase[int(digit)] for digit in str(number))


QUERIES: dict[str, Make] = {
    # blanks and signs
    "blanks": repeated(" ", "x=", "y"),
    "blanks between words": repeated(" ", "loss", "rate"),
    "line ends": repeated("\n\t", "loss", "rate"),
    "dollars": repeated("$"),
    "formulas": repeated("$x$ "),
    "formulas and words": repeated("$x$ loss "),
    "open formulas": repeated("$x loss "),
    "displays": repeated(r"\[x\]"),
    "other formulas": numbered("$x_{@}$ "),
    "backslashes": repeated("\\", "x="),
    "percent signs": repeated("%\n", "x="),
    "hash signs": repeated("#", "x="),
    "equals signs": repeated("a=b="),
    "operators": repeated("=+-<>"),
    "primes": repeated("'", "f", "=x"),
    "carets": repeated("^", "x", "=y"),
    "underscores": repeated("_", "x", "=y"),
    "indices of indices": repeated("_a", "x", "=y"),
    "bars": repeated("|x|"),
    "commas": repeated("x,y,"),
    "dots": repeated(".", "x="),
    "digits": repeated("7", "x="),
    "decimals": repeated("7.", "x="),
    "factorials": repeated("!", "x=", "n"),
    "quotes": repeated('"'),
    "quotes and blanks": repeated('" '),
    "dashes": repeated("- ", "loss "),
    "tags": repeated("<", "", "x"),
    "entities": repeated("&amp;", "", "x="),
    # brackets
    "braces": repeated("{}"),
    "closing braces": repeated("}", "x="),
    "deep braces": nested("{", "}"),
    "deep parentheses": nested("(", ")"),
    "deep brackets": nested("[", "]"),
    "deep calls": nested("f(", ")"),
    "deep indices": nested("x_{", "}"),
    "deep fractions": nested(r"\frac{x}{", "}"),
    "deep numerators": nested(r"\frac{", "}{y}"),
    "deep roots": nested(r"\sqrt{", "}"),
    "deep fences": nested(r"\left(", r"\right)"),
    "deep hats": nested(r"\hat{", "}"),
    "parentheses": repeated("(x)"),
    "calls": repeated("f(x)"),
    "right fences": repeated(r"\right) ", "x="),
    # wildcards
    "wildcards": repeated("?x ", "f="),
    "other wildcards": numbered("?a@ ", "f="),
    "wildcards with signs": repeated("?x+", "f="),
    "wildcards with indices": repeated("?x_{?y}", "f="),
    "wildcards in fractions": repeated(r"\frac{?x}{?y}"),
    "wildcards in sums": repeated(r"\sum ?x"),
    "wildcards and letters": repeated("?x a ?y b "),
    "wildcards in calls": repeated("p(?x|?y)"),
    "deep wildcards": nested(r"\frac{?x}{", "}"),
    # commands
    "commands": repeated(r"\alpha"),
    "unknown commands": repeated(r"\fooo"),
    "other commands": numbered(r"\foo@ "),
    "a long command": repeated("a", "\\"),
    "misspelt commands": repeated(r"\fraq{a}{b}"),
    "sums": repeated(r"\sum_{i=1}^n x_i+"),
    "letters in a formula": repeated("xyzabc", "$", "$"),
    "one letter": repeated("x", "$", "$"),
    "exponents": repeated("x^2"),
    "indices and exponents": repeated("x_i^2"),
    "fonts": repeated(r"\mathbf{x}"),
    "open environments": repeated(r"\begin{matrix}"),
    "matrices": repeated(r"\begin{matrix}a\end{matrix}"),
    "columns": repeated("&", r"\begin{matrix}", r"\end{matrix}"),
    "rows": repeated(r"a&b\\", r"\begin{cases}", r"\end{cases}"),
    "lines": repeated(r"a&=b\\", r"\begin{align}", r"\end{align}"),
    "text": repeated("loss ", r"x=\text{", "}"),
    "macros": repeated(r"\x ", r"\newcommand{\x}{\x\x}"),
    # Unicode and MathML
    "Greek": repeated("αβγ", "", "="),
    "raised and lowered": repeated("x₁²"),
    "bold letters": repeated("𝒙𝜶"),
    "accents": repeated("\u0302", "x"),
    "letters with accents": repeated("x\u0302"),
    "Chinese": repeated("学习率"),
    "emoji": repeated("😀"),
    "joiners": repeated("\u200d", "loss"),
    "directions": repeated("\u202eab"),
    "vulgar fractions": repeated("½⅓"),
    "Unicode sums": repeated("∑ᵢ₌₁ⁿxᵢ"),
    "ligatures": repeated("ﷺ"),
    "MathML": repeated("<mi>x</mi>", "<math>", "</math>"),
    "MathML formulas": repeated("<math><mi>x</mi></math> "),
    "open MathML": repeated("<math><mi>x"),
    "deep MathML": lambda size: "<math>" + "<mrow>" * (size // 13) + "x" + "</mrow>" * (size // 13),
    "unclosed MathML": repeated("<mrow>", "<math>"),
    "MathML scripts": repeated("<msup><mi>x</mi>", "<math>"),
    "MathML entities": repeated("&alpha;", "<math><mi>", "</mi></math>"),
    # names and words
    "names": repeated("angles#1 "),
    "a long name": repeated("a", "", "#12"),
    "a number of a name": repeated("1.", "angles(", ")"),
    "a label": repeated("a:", "angles:"),
    "slashes": repeated("/", "", "#1"),
    "one long word": repeated("a"),
    "words with dashes": repeated("a-"),
    "words with apostrophes": repeated("a'"),
    "one word": repeated("cosine "),
    "stop words": repeated("the of a and is "),
    "letters": repeated("a b c "),
    "unknown words": numbered("qqx@ "),
    "acronyms": listed([a + b + c for a, b, c in zip(
        ascii_uppercase, ascii_uppercase[3:], ascii_uppercase[7:], strict=False)]),
    "excluded words": numbered("-qqx@ ", "cosine "),
    "phrases": repeated('"cosine similarity" '),
    "a phrase": repeated("cosine ", '"', '"'),
    "excluded phrases": repeated('-"cosine similarity" ', "angle "),
}  # fmt: skip
#: Queries of words of a library.
WORDS: dict[str, Callable[[Sequence[str]], Make]] = {
    "words": listed,
    "rare words": lambda words: listed(words[::-1]),
    "misspelt words": lambda words: listed([f"{word[:2]}q{word[3:]}" for word in words]),
    "words without blanks": lambda words: listed([*map("".join, pairwise(words))]),
    "phrases of words": lambda words: listed([*map(" ".join, pairwise(words))], '"@" '),
    "words to exclude": lambda words: listed(words, "-@ ", "cosine "),
}
