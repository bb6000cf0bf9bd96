"""Split LaTeX mathematics into tokens with one compiled pattern, in linear time.

White space is dropped; text and names of environments, which need it, are single tokens.
"""

import re

from eqemb.formula.commands import TEXT

# Braces in a text argument may nest eight deep: deeper text is read as mathematics.
_FLAT = r"(?:[^{}\\]|\\.)*+"
_BRACED = rf"\{{{_FLAT}\}}"
for _ in range(7):
    _BRACED = rf"\{{(?:{_FLAT}{_BRACED})*+{_FLAT}\}}"
# Possessive quantifiers: a run of blanks can be split in one way only.
_BREAK_LENGTH = r"\[\s*+(?:-\s*+)?+[0-9.]*+\s*+(?:pt|em|ex|cm|mm|in|mu|bp|\\[a-zA-Z]+)\s*+\]"

_FORMULA_TOKEN = re.compile(
    rf"""
      [a-zA-Z{{}}_^=+()&,]
    | \\(?: (?:begin|end)\{{[^{{}}]*\}}
          | (?:{"|".join(TEXT)})\s*{_BRACED}
          | (?:xymatrix|ar)(?=@)
          | [a-zA-Z@]+
          | \\\*?(?:\s*+{_BREAK_LENGTH})?
          | . )
    | [0-9]+(?:\.[0-9]+)? | \.[0-9]+
    | '+ | \.\.\. | \|\|
    | \S
    """,
    re.VERBOSE | re.DOTALL,
)
# Not allowed in documents: surrogates and control characters.
_UNPRINTABLE = re.compile("[\\x00-\\x08\\x0b\\x0e-\\x1f\\x7f\\ud800-\\udfff\\ufffe\\uffff]")
_SPACED_ENVIRONMENT = re.compile(r"\\(begin|end)\s+(?=\{)")
_FORMULA_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%[^\n]*\n?")


def tokens(latex: str) -> list[str]:
    """The tokens of a formula, without comments and unprintable characters."""
    if _UNPRINTABLE.search(latex):
        latex = _UNPRINTABLE.sub("", latex)
    if "%" in latex:
        latex = _FORMULA_COMMENT.sub(r"\1", latex)
    if "\\end" in latex and _SPACED_ENVIRONMENT.search(latex):
        latex = _SPACED_ENVIRONMENT.sub(r"\\\1", latex)
    found = _FORMULA_TOKEN.findall(latex)
    if "\\cr" in latex:
        # \cr of plain TeX ends a row, too.
        found = ["\\\\" if token in ("\\cr", "\\crcr") else token for token in found]
    return found
