"""The demo articles: ours, no two alike, and read exactly as LaTeX prints them.

The expected numbers are what pdflatex wrote into its .aux files (with stand-ins for the packages
cleveref, comment and mathtools, which were not at hand).
"""

import re
from pathlib import Path

import pytest

import eqemb
from eqemb.article import Article

DEMO = Path(eqemb.__file__).parent / "demo"

#: Printed number and label of each numbered equation.
NUMBERED = {
    "bm25": {
        "1": "eq:tf-idf",
        "2": "eq:log-tf",
        "3": "eq:idf",
        "4": "eq:bm25",
        "5": "eq:saturation",
    },
    "cosine": {
        "1": "eq:cosine-similarity",
        "2": "eq:euclidean-distance",
        "3": "eq:angular-distance",
        "4": "eq:ranking-scores",
        "5": "eq:relevance-feedback",
    },
    "f-measure": {
        "1": "eq:precision",
        "2": "eq:recall",
        "3": "eq:f-measure",
        "F": "eq:f1",
        "4": "eq:average-precision",
    },
    "lstm": {
        "1a": "eq:input-gate",
        "1b": "eq:forget-gate",
        "1c": "eq:output-gate",
        "2": "eq:candidate",
        "3": "eq:cell-state",
        "4": "eq:hidden-state",
    },
    "mixtures": {
        "1.1": "eq:mixture-density",
        "1.2": "eq:log-likelihood",
        "2.1": "eq:responsibility",
        "2.2": "eq:mean-update",
        "2.3": "eq:covariance-update",
        "2.4": "eq:weight-update",
    },
    "q-learning": {
        "1": "eq:bellman-expectation",
        "2": "eq:bellman-optimality",
        "3": "eq:temporal-difference",
        "4": "eq:q-learning-update",
        "5": "eq:learning-rates",
    },
    "skip-gram": {
        "1": "eq:skip-gram-objective",
        "2": "eq:softmax",
        "3": "eq:negative-sampling",
        "4": "eq:noise-distribution",
        "5": "eq:input-gradient",
    },
    "topics": {
        "1": "eq:dirichlet",
        "2": "eq:lda-joint",
        "3": "eq:lda-likelihood",
        "4": "eq:gibbs",
        "5": "eq:perplexity",
    },
}

#: Displays without a number: `\[`, `equation*` and `$$`, one each.
UNNUMBERED = {"lstm": 1, "q-learning": 1, "mixtures": 1}


@pytest.fixture(scope="module")
def articles() -> dict[str, Article]:
    """The demo articles by name."""
    return {article.name: article for article in eqemb.read_articles(DEMO)}


def written_words(article: Path) -> list[str]:
    """The words of an article's files after the preamble, formulas included, macros not."""
    files = sorted(article.rglob("*.tex")) if article.is_dir() else [article]
    bodies = [file.read_text("utf-8").split(r"\begin{document}")[-1] for file in files]
    found = re.findall(r"\\?[a-z]+", " ".join(bodies).lower())
    return [word for word in found if not word.startswith("\\")]


def test_no_two_articles_share_a_run_of_eight_words() -> None:
    """Every article is written for itself."""
    owner: dict[tuple[str, ...], Path] = {}
    shared = []
    for article in sorted(DEMO.iterdir()):
        words = written_words(article)
        for start in range(len(words) - 7):
            run = tuple(words[start : start + 8])
            if owner.setdefault(run, article) != article:
                shared.append((owner[run].name, article.name, " ".join(run)))
    assert len(set(owner.values())) == len(NUMBERED)
    assert not shared


def test_every_article_is_found(articles: dict[str, Article]) -> None:
    """Single files and folders alike, each under its own name."""
    assert sorted(articles) == sorted(NUMBERED)


@pytest.mark.parametrize("name", NUMBERED)
def test_numbers_and_labels_are_those_latex_prints(articles: dict[str, Article], name: str) -> None:
    """Macros, rows, sub-equations, tags and sections count as in LaTeX."""
    numbered = [equation for equation in articles[name].equations if equation.numbered]
    found = [(equation.number, equation.label) for equation in numbered]
    assert found == list(NUMBERED[name].items())


@pytest.mark.parametrize("name", NUMBERED)
def test_nothing_is_lost(articles: dict[str, Article], name: str) -> None:
    """No problem to report, and displays without a number are read too."""
    article = articles[name]
    assert article.problems == []
    assert article.displays_lost == 0
    unnumbered = [equation for equation in article.equations if not equation.numbered]
    assert len(unnumbered) == UNNUMBERED.get(name, 0)


@pytest.mark.parametrize(
    ("name", "phrase"),
    [
        ("bm25", "Not every matching word tells us equally much"),
        ("bm25", "Typical settings are"),
        ("cosine", "Negative coordinates are usually set to zero"),
        ("mixtures", "inequality bounds the log likelihood"),
        ("q-learning", "Reasonable settings for a first experiment in a small maze"),
    ],
    ids=["abstract", "footnote", "input in a folder", "input", "caption"],
)
def test_running_text_is_read(articles: dict[str, Article], name: str, phrase: str) -> None:
    """Abstracts, footnotes, captions and joined files are text."""
    assert phrase in " ".join(articles[name].text.split())


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("bm25", "multinomial"),
        ("f-measure", "arithmetic"),
        ("topics", "Steyvers"),
        ("lstm", "authors"),
        ("lstm", "demonstration"),
    ],
    ids=["iffalse", "comment environment", "bibliography", "author", "comment"],
)
def test_what_is_not_running_text_is_left_out(
    articles: dict[str, Article], name: str, word: str
) -> None:
    """What LaTeX does not print as text, and the bibliography, give no words."""
    assert word not in articles[name].words()


def test_authors_macros_are_expanded(articles: dict[str, Article]) -> None:
    """No macro of an author is left in an expanded equation."""
    names = """vect norm unit inner tf idf avglen inp out score noise affine had minus TP FP FN
        E Qstar supnorm Normal resp be ee bea eea"""
    own = rf"\\(?:{'|'.join(names.split())})(?![a-zA-Z])"
    left = {
        equation.id: found
        for article in articles.values()
        for equation in article.equations
        if (found := re.findall(own, equation.expanded))
    }
    assert not left


def test_sentences_that_refer_are_kept(articles: dict[str, Article]) -> None:
    r"""`\eqref` in an input, `\cref` and `(\ref{...})` all lead to their equation."""
    references = {
        equation.label: " ".join(equation.references)
        for article in articles.values()
        for equation in article.equations
    }
    assert "sorting them yields the ranking" in references["eq:cosine-similarity"]
    assert "multiplied by the forget gate" in references["eq:cell-state"]
    assert "which has to be approximated" in references["eq:lda-likelihood"]
