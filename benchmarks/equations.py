"""Equations for benchmarks: from papers, from a file of JSON lines, or textbook formulas."""

import argparse
import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path

TEXTBOOK = [
    r"x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}",
    r"\int_{-\infty}^{\infty} e^{-x^2} \, dx = \sqrt{\pi}",
    r"e^{x} = \sum_{n=0}^{\infty} \frac{x^n}{n!}, \quad x \in \mathbb{R}",
    r"f(x) = \frac{1}{\sqrt{2\pi\sigma^2}} \exp\left(-\frac{(x-\mu)^2}{2\sigma^2}\right)",
    r"\hat{\theta} = \operatorname*{arg\,max}_{\theta} \sum_{i=1}^{N} \log p(x_i \mid \theta)",
    r"\binom{n}{k} = \frac{n!}{k!\,(n-k)!}",
    r"\nabla \times \mathbf{E} = -\frac{\partial \mathbf{B}}{\partial t}",
    r"P(A \mid B) &= \frac{P(B \mid A)\, P(A)}{P(B)} \\ &\propto P(B \mid A)\, P(A)",
    r"|x| = \begin{cases} x & \text{if } x \ge 0, \\ -x & \text{otherwise.} \end{cases}",
    r"\det \begin{pmatrix} a & b \\ c & d \end{pmatrix} = ad - bc",
    r"\| u + v \|_2 \le \| u \|_2 + \| v \|_2",
    r"\lim_{h \to 0} \frac{f(x+h) - f(x)}{h} = f'(x)",
    r"\left\langle \psi \middle| \phi \right\rangle = \overline{\langle \phi | \psi \rangle}",
    r"\zeta(s) = \prod_{p \text{ prime}} \frac{1}{1 - p^{-s}}",
    r"\underbrace{1 + 2 + \cdots + n}_{n \text{ terms}} = \frac{n(n+1)}{2}",
    r"\oint_{\partial S} \mathbf{F} \cdot d\mathbf{r} = \iint_S \nabla \times \mathbf{F} \, dS",
]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that select the source of the equations."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--papers", help="a folder of papers, or a library made by `eqemb read`")
    where.add_argument("--equations", help="JSON lines with `expanded` or `latex`")


def load(path: str | None = None, papers: str | None = None) -> tuple[str, list[str]]:
    """Return the source of the equations, and the equations.

    From `papers`, the numbered ones; `path` has JSON lines with `expanded` or `latex`. Without
    either, the real equations under EQEMB_BENCH, or else textbook formulas.
    """
    if papers is not None:
        return papers, list(numbered(Path(papers)))
    if path is None and "EQEMB_BENCH" in os.environ:
        path = str(Path(os.environ["EQEMB_BENCH"]) / "slt" / "tangent_real.jsonl.gz")
    if path is None:
        return "textbook formulas", TEXTBOOK * 50
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf8") as file:
        records = [json.loads(line) for line in file]
    return path, [record.get("expanded") or record["latex"] for record in records]


def numbered(folder: Path) -> Iterator[str]:
    """Return the numbered equations of a library or of a folder of papers, macros expanded."""
    from eqemb import read_articles
    from eqemb.facade.library import Library
    from eqemb.library.generations import read_state

    articles = Library.open(folder).articles() if read_state(folder) else read_articles(folder)
    for article in articles:
        yield from (item.expanded for item in article.equations if item.numbered)
