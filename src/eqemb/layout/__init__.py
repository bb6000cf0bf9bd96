"""What an equation is: its symbol layout tree, its units, and how to show it."""

from eqemb.layout.layout import Layout, layout, picture

__all__ = ["Layout", "layout", "picture"]
