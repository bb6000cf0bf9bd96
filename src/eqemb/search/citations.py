"""Citations of papers: one line for people, and BibTeX. They say only what is known.

Authors and dates come from the `metadata.jsonl` of `eqemb fetch` (`library.papers`), or else from
the document; of other papers, only title and name are known, and the arXiv id if its name is one.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import count, product
from string import ascii_lowercase
from typing import Any, NamedTuple, Self

from eqemb.article import Equation
from eqemb.arxiv.papers import PaperMetadata
from eqemb.sources.names import arxiv_id, arxiv_year

#: A citation of so many authors names all of them.
_ALL_AUTHORS = 3
_SUFFIXES = frozenset({"jr", "sr", "ii", "iii", "iv"})
_YEAR = re.compile("[0-9]{4}")
_BIBTEX_ESCAPES = str.maketrans(
    {char: rf"\{char}" for char in "%&#_$"}
    | {"^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
)
#: Words that BibTeX does not read as part of a name, unless in braces.
_NAME_SEPARATORS = frozenset({"and", "others"})


class Citation(NamedTuple):
    """What is known of a paper."""

    article: str
    """Its name in the library."""
    title: str
    authors: tuple[str, ...] = ()
    year: int | None = None
    arxiv: str = ""
    """Its arXiv id with the version, if known."""

    @classmethod
    def of(cls, article: str, title: str, paper: PaperMetadata | None) -> Self:
        """Return the citation of an article; `paper` is its metadata."""
        found, version = arxiv_id(article)
        if paper is None:
            return cls(article, title, (), arxiv_year(article) or None, found + version)
        dated = _YEAR.match(paper.date)
        year = int(dated[0]) if dated else arxiv_year(article) or None
        own = f"{paper.id}{paper.version}" if paper.id else found + version
        return cls(article, title or paper.title, paper.authors, year, own)

    @property
    def line(self) -> str:
        """The citation in one line; without a title, the name of the article stands for it."""
        parts = [
            self.byline,
            self.title or self.article,
            f"arXiv:{self.arxiv}" if self.arxiv else "",
        ]
        return ". ".join(part.rstrip(".") for part in parts if part) + "."

    @property
    def byline(self) -> str:
        """Authors and year, as far as they are known: `Anna Berg and Jan Vos (2014)`."""
        known = [self._names, f"({self.year})" if self.year else ""]
        return " ".join(filter(None, known))

    @property
    def _names(self) -> str:
        names = list(self.authors)
        if len(names) > _ALL_AUTHORS:
            return f"{names[0]} et al."
        return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)

    def bibtex(self, key: str, note: str = "") -> str:
        """Return a BibTeX entry with a key, which is written as it is (see `bibtex_key`)."""
        eprint = re.sub("[^A-Za-z0-9./-]", "", self.arxiv)
        fields = {
            "author": " and ".join(
                _bibtex_name(_plain(name)) for name in self.authors if _plain(name)
            ),
            "title": _plain(self.title) or _plain(self.article),
            "year": str(self.year or ""),
            "note": _plain(note),
            "eprint": eprint,
            "archivePrefix": "arXiv" if eprint else "",
        }
        body = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items() if value)
        return f"@misc{{{key},\n{body}\n}}"

    def to_json(self) -> dict[str, Any]:
        """Return `authors`, `year`, `arxiv` and `citation`, the line for people."""
        return {
            "authors": list(self.authors),
            "year": self.year,
            "arxiv": self.arxiv or None,
            "citation": self.line,
        }


def _plain(text: str) -> str:
    """Return text that BibTeX and LaTeX read as it is."""
    return " ".join(re.sub(r"[{}\\]", "", text).translate(_BIBTEX_ESCAPES).split())


def _bibtex_name(name: str) -> str:
    """Return a name as BibTeX reads it: "Daumé, III, Hal", since III is not the family name."""
    if not _NAME_SEPARATORS.isdisjoint(name.lower().split()):
        return f"{{{name}}}"  # one author, whatever the name: "Smith and Sons"
    *given, last = name.split()
    if len(given) < 2 or last.rstrip(".").lower() not in _SUFFIXES:
        return name
    return f"{given[-1]}, {last}, {' '.join(given[:-1])}"


def bibtex_key(name: str) -> str:
    """Return the name of an article as a BibTeX key; `paper` if no letter or digit is left."""
    key = re.sub("[^A-Za-z0-9.:/-]", "-", name)
    return key if re.search("[A-Za-z0-9]", key) else "paper"


def bibtex_keys(names: Iterable[str]) -> list[str]:
    """Return a key for each name; a key that was used before gets a letter: `a-b`, `a-ba`.

    Keys that differ in case only are the same to BibTeX.

    >>> bibtex_keys(["a_b", "a-b", "A b", "c"])
    ['a-b', 'a-ba', 'A-bb', 'c']
    """
    keys = [bibtex_key(name) for name in names]
    taken, used = {key.lower() for key in keys}, set[str]()
    endings: dict[str, Iterator[str]] = defaultdict(_endings)  # each goes on where it was left
    for place, key in enumerate(keys):
        if key.lower() in used:
            free = (f"{key}{end}" for end in endings[key.lower()])
            keys[place] = next(each for each in free if each.lower() not in taken)
        used.add(keys[place].lower())
        taken.add(keys[place].lower())
    return keys


def _endings() -> Iterator[str]:
    """Yield a, b, ..., z, aa, ab, ..."""
    for length in count(1):
        yield from map("".join, product(ascii_lowercase, repeat=length))


def equation_bibtex(equation: Equation, citation: Citation) -> str:
    """Return a BibTeX entry for one equation."""
    return citation.bibtex(
        f"{bibtex_key(equation.article)}-{equation.ordinal}",
        f"Equation {equation_number(equation)}",
    )


def equation_number(equation: Equation) -> str:
    """Return the printed number of an equation, or its position."""
    return f"({equation.number})" if equation.number else f"no. {equation.ordinal}"
