"""What the letters of an equation mean: its symbols, and definitions in the article's text."""

from eqemb.symbols.definitions import find_definitions
from eqemb.symbols.glossary import SURE_FROM, Glossary, equation_meanings, probability
from eqemb.symbols.identifiers import symbols_of
from eqemb.symbols.model import Definition, Meaning, Symbol

__all__ = [
    "SURE_FROM",
    "Definition",
    "Glossary",
    "Meaning",
    "Symbol",
    "equation_meanings",
    "find_definitions",
    "probability",
    "symbols_of",
]
