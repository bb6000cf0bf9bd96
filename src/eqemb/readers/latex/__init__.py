"""From the LaTeX source of one paper to an `Article`: words and equations in reading order.

    files      decode, choose the main file, find inputs
    macros     what a definition says: argument specifications and bodies
    frames     the texts being read, one within another
    scanner    read the arguments of commands
    gullet     the machine that runs the source, within budgets; its commands stand in
               definitions, conditionals and inputs
    sourcemap  from the expanded text back to files and lines
    expand     all of that: inputs joined, macros expanded, conditionals decided
    prose      running text: sentences, accents, characters
    numbering  counters as LaTeX counts them
    displays   one display: its rows, labels, tags; the independent count of displays
    text_walk, display_walk
               walk the expanded source: text, references; displays and their numbers
    structure  what single commands do on that walk
    found      what the walk finds
    read       all of it, for one source
    commands   what is known about commands and environments, as tables

Nothing here executes anything, touches the disk or raises on bad LaTeX: what cannot be read
becomes a `Problem` with its cause, file and line.
"""

from eqemb.readers.latex.read import read_latex

__all__ = ["read_latex"]
