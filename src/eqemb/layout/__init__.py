"""What an equation is: its symbol layout tree, its units, and how to show it.

The package can be called: `eqemb.layout(latex)` is `eqemb.layout.layout(latex)`.
"""

import sys
from types import ModuleType

from eqemb.layout.layout import Layout, layout, picture

__all__ = ["Layout", "layout", "picture"]


class _Callable(ModuleType):
    """A module that stands for its function, since both want the name `eqemb.layout`."""

    def __call__(self, latex: str, *, tangent_exact: bool = False) -> Layout:
        return layout(latex, tangent_exact=tangent_exact)


sys.modules[__name__].__class__ = _Callable
