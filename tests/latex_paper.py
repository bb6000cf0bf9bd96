r"""Helpers for the tests of `eqemb.readers.latex`: from a few lines of LaTeX to an `Article`.

`read(body)` reads a document with a body; `read_files` reads a source of several files;
`expanded(r"\x")` returns the expansion of one formula.
"""

from collections.abc import Mapping

from eqemb.article import Article, Equation
from eqemb.readers.latex import read_latex
from eqemb.sources import Source


def opened(files: dict[str, bytes], main: str | None = None) -> Source:
    """A source of these files, as `load` gives it."""
    return Source("paper", "here", "tests", "tex", files, main)


def read_files(files: Mapping[str, str | bytes], main: str | None = None) -> Article:
    """Read a source of several files."""
    data = {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}
    return read_latex(opened(data, main))


def document(body: str, preamble: str = "", document_class: str = "article") -> str:
    """A main file; the body starts on its fourth line."""
    return (
        f"\\documentclass{{{document_class}}}\n{preamble}\n\\begin{{document}}\n"
        f"{body}\n\\end{{document}}\n"
    )


def read(
    body: str,
    preamble: str = "",
    document_class: str = "article",
    files: Mapping[str, str | bytes] | None = None,
) -> Article:
    """Read a document with this body, and further files beside it."""
    return read_files({"main.tex": document(body, preamble, document_class), **(files or {})})


def expanded(formula: str, preamble: str = "") -> str:
    """The expansion of one formula under the definitions of a preamble."""
    article = read(f"\\[{formula}\\]", preamble)
    assert article.problems == []
    (equation,) = article.equations
    return equation.expanded


def text(body: str, preamble: str = "") -> str:
    """The running text of a body, without the newlines at its end."""
    return read(body, preamble).text.strip()


def numbers(article: Article) -> list[str | None]:
    """The printed numbers in order, None for a display without one."""
    return [equation.number for equation in article.equations]


def by_label(article: Article) -> dict[str, Equation]:
    """Equations by their first label."""
    return {equation.label: equation for equation in article.equations if equation.label}


def causes(article: Article) -> list[str]:
    """The causes of all problems, in order."""
    return [problem.cause for problem in article.problems]
