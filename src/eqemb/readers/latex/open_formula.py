"""Tell whether LaTeX ends within a formula, while it is being written."""

import re
from collections.abc import Sequence

from eqemb.readers.latex.commands import DISPLAYS

#: Formulas open, close, open or close (dollars), or cannot go on (blank line).
FORMULA_EDGE = re.compile(
    r"(\\begin\{(?:" + "|".join(map(re.escape, sorted(DISPLAYS))) + r")\}|(?<!\\)\\[(\[])"
    r"|(\\end\{(?:" + "|".join(map(re.escape, sorted(DISPLAYS))) + r")\}|(?<!\\)\\[)\]])"
    r"|((?<!\\)\$\$?)|(\n[ \t]*\n)"
)
#: No edge but a blank line is longer: so much of the end of a text may be the beginning of an edge.
_LONGEST_EDGE = len(r"\begin{}") + max(map(len, DISPLAYS))


class OpenFormula:
    """Whether pieces of LaTeX, to which others are added, end within a formula.

    Each piece is read once, however often this is asked: authors test it in macros.
    """

    def __init__(self) -> None:
        self._pieces = 0
        """Those that were read."""
        self._rest, self._start = "", 0
        """The end of what was read, and from where on in it there may be an edge."""
        self._is_open = False
        """Whether a formula is open there."""

    def is_open_after(self, pieces: Sequence[str]) -> bool:
        """Whether a formula is open after the pieces: those of the last call, and maybe more."""
        text = self._rest + "".join(pieces[self._pieces :])
        self._pieces = len(pieces)
        is_open, settled = self._is_open, max(self._start, len(text) - _LONGEST_EDGE)
        for match in FORMULA_EDGE.finditer(text, self._start):
            opening, closing, dollars, _ = match.groups()
            is_open = bool(opening) or (not closing and bool(dollars) and not is_open)
            if match.start() < settled:
                self._is_open, settled = is_open, max(settled, match.end())
        kept = max(settled - 1, 0)  # edges depend on the character before them
        self._rest, self._start = text[kept:], settled - kept
        return is_open
