"""What an equation is: its symbol layout tree, its units, and how to show it.

    source, tokens   LaTeX mathematics as tokens
    commands         what is known about commands, as tables; alphabets of letters
    parse, rows      tokens to trees; a row's fences, scripts and operators
    tree             nodes, units, Tangent's bracket strings
    layout           a tree with what was not understood: the object people hold
    mathml, unicode  to show it; read_mathml to take trees made elsewhere
    tangent          Tangent's own behaviour, for comparison
"""

from eqemb.formula.layout import Layout, layout, picture

__all__ = ["Layout", "layout", "picture"]
