"""Equations: symbol layout trees, their units, comparison and output.

    commands, alphabets    tables of LaTeX mathematics
    tokens, token_reader   LaTeX mathematics as tokens; rows, groups and arguments of them
    tables, stacks, text, rows, parse
                           from tokens to trees
    read_mathml, mathml_tokens
                           trees from presentation MathML
    tree                   nodes, units, Tangent's bracket strings
    layout                 `Layout`, the object that users work with
    likeness, shapes, pattern
                           comparison: alignment, renaming of letters, wildcards
    mathml, unicode        output for browsers and terminals
    write_latex, write_symbol
                           output as LaTeX, for equations that came as MathML
    running_text           inline mathematics in sentences
    words                  the words of an equation: its texts, names and runs of letters
    tangent                conversion to Tangent's trees, for comparison with it

Only the standard library is needed, and the data model of articles.
"""

from eqemb.formula.commands import INFIX, SYMBOLS
from eqemb.formula.layout import Layout, layout, mathml_to_latex, picture
from eqemb.formula.parse import HANDLERS

#: The names of all known commands.
MATHEMATICS = frozenset(name[1:] for name in (*SYMBOLS, *HANDLERS, *INFIX, "\\right", "\\cr"))

__all__ = ["MATHEMATICS", "Layout", "layout", "mathml_to_latex", "picture"]
