"""Read the LaTeX source of one paper into an `Article`: words and equations in reading order.

    files      decode files, choose the main file, find inputs
    macros     parse definitions: argument specifications and bodies
    frames     the stack of texts being read
    scanner    read the arguments of commands
    gullet     expand macros within budgets; its commands are in definitions, counters,
               conditionals, branches, inputs
    packages   commands of packages, defined in LaTeX
    sourcemap  map positions of the expanded text back to files and lines
    expand     all of the above: join inputs, expand macros, decide conditionals
    classes    how document classes number equations
    printing   what the printed form of a counter prints
    numbering  LaTeX's counters
    displays   the rows, labels and tags of one display; the independent count of displays
    text_walk, display_walk
               walk over the expanded source: text and references; displays and their numbers
    structure  what each command does on that walk
    found      the result of the walk
    read       all of this, for one source
    commands   tables of commands and environments

Nothing here runs programs, touches the disk or raises on bad LaTeX: what cannot be read becomes a
`Problem` with its cause, file and line.
"""

from eqemb.readers.latex.read import read_latex

__all__ = ["read_latex"]
