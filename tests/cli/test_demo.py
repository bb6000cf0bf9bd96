"""The demo articles are original, no two alike, and read exactly as LaTeX prints them.

The expected numbers, in `demo_numbers.toml`, are what pdflatex wrote into its .aux files.
"""

import re
import tomllib
import zipfile
from pathlib import Path

import pytest

import eqemb
from eqemb.article import Article
from few_articles import DEMO

FIELDS = ("nlp", "ir", "ai", "ml")

#: Printed number and label of each numbered equation, by article.
NUMBERED: dict[str, dict[str, str]] = {
    f"{field}/{name}": equations
    for field, articles in tomllib.loads(
        (Path(__file__).parents[1] / "demo_numbers.toml").read_text("utf-8")
    ).items()
    for name, equations in articles.items()
}

#: How unnumbered displays begin in the sources.
UNNUMBERED = re.compile(r"(?<!\\)\\\[|\\begin\{\w+\*\}|^\$\$\n  ", re.MULTILINE)


@pytest.fixture(scope="module")
def articles() -> dict[str, Article]:
    """The demo articles by name."""
    return {article.name: article for article in eqemb.read_articles(DEMO)}


def body_of(name: str) -> str:
    """The source of an article after the preamble."""
    folder = DEMO / name
    files = sorted(folder.rglob("*.tex")) if folder.is_dir() else [DEMO / f"{name}.tex"]
    return "".join(file.read_text("utf-8").split(r"\begin{document}")[-1] for file in files)


def words_of(name: str) -> list[str]:
    """The words of an article's source, with formulas, without macros."""
    found = re.findall(r"\\?[a-z]+", body_of(name).lower())
    return [word for word in found if not word.startswith("\\")]


def test_no_two_articles_share_a_run_of_eight_words() -> None:
    """Every article is body_of separately."""
    owner: dict[tuple[str, ...], str] = {}
    shared = []
    for article in NUMBERED:
        words = words_of(article)
        for start in range(len(words) - 7):
            run = tuple(words[start : start + 8])
            if owner.setdefault(run, article) != article:
                shared.append((owner[run], article, " ".join(run)))
    assert len(set(owner.values())) == len(NUMBERED)
    assert not shared


def test_every_field_has_enough_articles() -> None:
    """At least fifteen each, with three to eight numbered equations."""
    for field in FIELDS:
        assert len([name for name in NUMBERED if name.startswith(f"{field}/")]) >= 15
    assert not {name: len(found) for name, found in NUMBERED.items() if not 3 <= len(found) <= 8}


@pytest.mark.parametrize("name", NUMBERED)
def test_articles_are_short(articles: dict[str, Article], name: str) -> None:
    """Two hundred to four hundred words, without formulas and bibliography."""
    assert 200 <= len(articles[name].words()) <= 400


def test_articles_are_small(tmp_path: Path) -> None:
    """Compressed as in a wheel, they take less than 400 kB."""
    packed = tmp_path / "demo.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(DEMO.rglob("*")):
            file.write(path, path.relative_to(DEMO))
    assert packed.stat().st_size < 400_000


def test_every_article_is_found(articles: dict[str, Article]) -> None:
    """Single files and folders, each under its own name."""
    assert sorted(articles) == sorted(NUMBERED)


@pytest.mark.parametrize("name", NUMBERED)
def test_numbers_and_labels_are_those_latex_prints(articles: dict[str, Article], name: str) -> None:
    """Macros, rows, sub-equations, tags and sections count as in LaTeX."""
    numbered = [equation for equation in articles[name].equations if equation.numbered]
    found = [(equation.number, equation.label) for equation in numbered]
    assert found == list(NUMBERED[name].items())


@pytest.mark.parametrize("name", NUMBERED)
def test_nothing_is_lost(articles: dict[str, Article], name: str) -> None:
    """There are no problems, and unnumbered displays are read too."""
    article = articles[name]
    assert article.problems == []
    assert article.displays_lost == 0
    unnumbered = [equation for equation in article.equations if not equation.numbered]
    assert len(unnumbered) == len(UNNUMBERED.findall(body_of(name)))


@pytest.mark.parametrize(
    ("name", "phrase"),
    [
        ("ir/bm25", "Not every matching word tells us equally much"),
        ("ir/bm25", "Typical settings are"),
        ("ir/cosine", "Negative coordinates are usually set to zero"),
        ("ml/mixtures", "inequality bounds the log likelihood"),
        ("ai/q-learning", "Reasonable settings for a first experiment in a small maze"),
    ],
    ids=["abstract", "footnote", "input in a folder", "input", "caption"],
)
def test_running_text_is_read(articles: dict[str, Article], name: str, phrase: str) -> None:
    """Abstracts, footnotes, captions and included files are text."""
    assert phrase in " ".join(articles[name].text.split())


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("ir/bm25", "multinomial"),
        ("ir/f-measure", "arithmetic"),
        ("nlp/topics", "Steyvers"),
        ("nlp/lstm", "authors"),
        ("nlp/lstm", "demonstration"),
    ],
    ids=["iffalse", "comment environment", "bibliography", "author", "comment"],
)
def test_other_text_is_left_out(articles: dict[str, Article], name: str, word: str) -> None:
    """Text that LaTeX does not print, and the bibliography, give no words."""
    assert word not in articles[name].words()


DEFINED = re.compile(
    r"\\(?:re)?(?:newcommand|def|DeclareMathOperator\*?|DeclarePairedDelimiter)\{?\\([A-Za-z]+)"
)


@pytest.mark.parametrize("name", NUMBERED)
def test_authors_macros_are_expanded(articles: dict[str, Article], name: str) -> None:
    """Expanded equations have no macro that the article defines."""
    folder = DEMO / name
    files = [path for path in folder.rglob("*.*") if path.is_file()] or [DEMO / f"{name}.tex"]
    own = {macro for file in files for macro in DEFINED.findall(file.read_text("utf-8"))}
    assert own
    left = {
        equation.id: found
        for equation in articles[name].equations
        if (found := own & set(re.findall(r"\\([A-Za-z]+)", equation.expanded)))
    }
    assert not left


def test_references_are_found(articles: dict[str, Article]) -> None:
    r"""`\eqref` in an included file, `\cref` and `(\ref{...})` all lead to their equation."""
    references = {
        equation.label: " ".join(equation.references)
        for article in articles.values()
        for equation in article.equations
    }
    assert "sorting them yields the ranking" in references["eq:cosine-similarity"]
    assert "multiplied by the forget gate" in references["eq:cell-state"]
    assert "which has to be approximated" in references["eq:lda-likelihood"]
