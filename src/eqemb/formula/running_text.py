"""Running text for people: inline mathematics in Unicode, references and dollar signs as printed.

In an article's text a dollar delimits mathematics. A reference to an equation is written there as
`$2.3$`, so that its number is not a word, and a dollar sign as `eqemb.article.DOLLAR`. People
should see neither.
"""

import re

from eqemb.article import DOLLAR
from eqemb.formula.layout import layout

_INLINE_FORMULA = re.compile(r"\$([^$]*)\$")
_BARE_NUMBER = re.compile(r"\$((?:[A-Z]\.)?\d[\d.]*[a-z]?)\$")
#: `$2.73$` may be a reference or a value. It is a reference in parentheses, after *Eq.* or *see*,
#: and at the start of a sentence after *In*.
_REFERENCE_NUMBER = r"\$((?:[1-9]\d*|[A-Z]\.\d+)(?:\.\d+[a-z]?)*)\$"
_BEFORE = r"((?:^|(?<=[.:;] ))(?:In|From|By|Using) |\b(?:[Ee]q(?:ns?|s|uations?)?|[Ss]ee)\.?[ ~]?)"
_REFERENCE = re.compile(rf"\({_REFERENCE_NUMBER}\)|{_BEFORE}{_REFERENCE_NUMBER}", re.MULTILINE)


def plain_text(text: str) -> str:
    """A text without markup: formulas in Unicode, references and dollar signs as printed."""
    if "$" not in text:  # neither formulas nor references
        return text.replace(DOLLAR, "$")
    text = _INLINE_FORMULA.sub(lambda found: layout(found[1]).to_text(), _printed_references(text))
    return text.replace(DOLLAR, "$")


def printed_text(text: str) -> str:
    """A text whose formulas stay LaTeX; references, numbers and dollar signs are as printed."""
    return _BARE_NUMBER.sub(r"\1", _printed_references(text)).replace(DOLLAR, "$")


def _printed_references(text: str) -> str:
    return _REFERENCE.sub(
        lambda found: f"({found[1]})" if found[1] else f"{found[2]}({found[3]})", text
    )
