"""Copies of papers differ in words and symbols, and are read like the originals."""

import gzip
from pathlib import Path

import pytest
from large_corpus import LargeCorpus, find_papers

from eqemb.article import Article
from eqemb.formula import layout
from eqemb.library.ingest import read_articles
from packing import tar

WORDS = (
    "gradient descent learning function minimum network gaussian posterior variance estimate"
    " sample expected training language sentence translation attention encoder vector matrix"
).split()
MAIN = r"""\documentclass{article}
\newcommand{\loss}{\mathcal{L}}
\begin{document}
\section{Some training}
\input{chapters/language}
%s where $loss$ follows~\eqref{eq:gradient}.
\begin{equation}\label{eq:gradient}
x_i' = x_i - \alpha\,\loss(y) + 37 \quad\text{for every sample}
\end{equation}
Finally \[ a + b_{c} = \frac{d}{e} \begin{array}{lc} f & g \\[2pt] h & k \end{array} \]
\end{document}
"""
CHAPTER = (
    r"The network \emph{estimate} of a matrix: $$ \sum_{n=3}^{N} w_n = q $$ caf" "" + "\xe9 word"
)


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    """Make two packed papers in two collections."""
    for place, name in enumerate(("ai/one", "ml/two")):
        text = " ".join(WORDS[place::2] * 6)
        files = {"main.tex": MAIN % text, "chapters/language.tex": CHAPTER, "a.sty": "% nothing"}
        path = tmp_path / "corpora" / f"{name}.tar.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        packed = tar({name: text.encode("latin-1") for name, text in files.items()})
        path.write_bytes(gzip.compress(packed, mtime=0))
    return tmp_path / "corpora"


def read(folder: Path) -> dict[str, Article]:
    """Read all papers of a folder."""
    return {article.name: article for article in read_articles(folder)}


def test_first_papers_are_the_originals(corpora: Path, tmp_path: Path) -> None:
    """A corpus contains every smaller one, and is the same each time."""
    papers = find_papers(corpora, ("ai", "ml"))
    for name, count in (("few", 2), ("many", 5), ("again", 5)):
        LargeCorpus(papers).write(tmp_path / name, count)
    few, many, again = (
        {path.relative_to(tmp_path / name): path.read_bytes()
         for path in (tmp_path / name).rglob("*.tar.gz")}
        for name in ("few", "many", "again")
    )  # fmt: skip
    assert sorted(few.values()) == sorted(paper.read_bytes() for paper in papers)
    assert few.items() <= many.items() == again.items()
    assert len(set(many.values())) == 5


def test_copies_have_the_same_equations_of_other_types(corpora: Path, tmp_path: Path) -> None:
    """Letters change; labels, text, layout and commands of the author stay."""
    corpus = LargeCorpus(find_papers(corpora, ("ai", "ml")))
    corpus.write(tmp_path / "papers", 30)
    articles = read(tmp_path / "papers")
    assert len(articles) == 30
    types = set()
    for article in articles.values():
        chapter, labelled, last = article.equations
        assert labelled.label == "eq:gradient"
        assert r"\loss" in labelled.latex
        assert r"\text{for every sample}" in labelled.latex
        assert r"\begin{array}{lc}" in last.latex
        assert r"\\[2pt]" in last.latex
        assert not article.problems
        assert "café" in article.text
        for equation in (chapter, labelled, last):
            formula = layout(equation.expanded)
            assert not formula.problems
            types.add(formula.to_slt())
    assert len(types) > 0.95 * 3 * 15


def test_copies_are_no_near_duplicates(corpora: Path, tmp_path: Path) -> None:
    """Half of the words differ, those of arguments stay."""
    corpus = LargeCorpus(find_papers(corpora, ("ai", "ml")))
    corpus.write(tmp_path / "papers", 4)
    articles = read(tmp_path / "papers")
    for name in ("ai/{}-one", "ml/{}-two"):
        first, second = (articles[name.format(number)].text.split() for number in ("000", "001"))
        assert len(first) == len(second)
        changed = sum(a != b for a, b in zip(first, second, strict=True))
        assert 0.2 < changed / len(first) < 0.7


def test_new_papers_are_in_no_corpus(corpora: Path, tmp_path: Path) -> None:
    """They can be added to any library made of a corpus."""
    corpus = LargeCorpus(find_papers(corpora, ("ai", "ml")))
    corpus.write(tmp_path / "papers", 20)
    corpus.write_new(tmp_path / "new", 2)
    new = read(tmp_path / "new")
    assert len(new) == 2
    assert not new.keys() & read(tmp_path / "papers").keys()


def test_processes_write_the_same_bytes(corpora: Path, tmp_path: Path) -> None:
    """However many there are."""
    papers = find_papers(corpora, ("ai", "ml"))
    for jobs in (1, 2):
        LargeCorpus(papers, jobs).write(tmp_path / str(jobs), 7)
    one, two = (
        {path.relative_to(tmp_path / jobs): path.read_bytes() for path in files}
        for jobs in ("1", "2")
        for files in [sorted((tmp_path / jobs).rglob("*.tar.gz"))]
    )
    assert len(one) == 7
    assert one == two
