"""What an equation is: its symbol layout tree, its units, and how to show it.

Reading: `source` and `tokens` (LaTeX mathematics as tokens), `commands` (what is known about them,
as tables) and `alphabets`, `parse` with `tables`, `text` and `rows` (tokens to trees), and
`read_mathml` (trees made elsewhere). The tree and its units: `tree`; `layout` is the object people
hold. Comparing: `likeness`. Showing: `mathml` and `unicode`. `tangent` does as Tangent does, for
comparison with it.
"""

from eqemb.formula.commands import INFIX, SYMBOLS
from eqemb.formula.layout import Layout, layout, picture
from eqemb.formula.parse import HANDLERS

#: The names of all commands that are understood.
MATHEMATICS = frozenset(name[1:] for name in (*SYMBOLS, *HANDLERS, *INFIX, "\\right", "\\cr"))

__all__ = ["MATHEMATICS", "Layout", "layout", "picture"]
