"""Qualitative tables: the paper's pairings on handmade vectors, and a page of the demo library.

A hostile paper is added to the demo articles, to check that all text is escaped.
"""

import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from eqemb import cli
from eqemb.errors import UsageError
from eqemb.evaluation import qualitative
from eqemb.evaluation.qualitative import CollectionEquations, ModelNeighbours, Queries, read_queries
from eqemb.facade.library import Library
from eqemb.models import baselines, workspace
from eqemb.models.embeddings import Embeddings
from few_articles import copy_articles

HOSTILE = r"""
\documentclass{article}
\title{Ranks <script>alert(1)</script> \& scores}
\begin{document}
The ranking of documents by similarity weights every vector of the query terms.
\begin{equation}
  r < s \text{<img src=x onerror=alert(2)>} + \beta
\end{equation}
The ranking of documents by similarity weights every vector of the query terms.
\end{document}
"""
QUERIES = Queries(
    ("bm25#4", r"\mathrm{idf}(t) = \log \frac{N}{n_t}", r"\zeta \gg \Xi", "hostile#1"),
    ("cosine similarity <b>", "forget gate zebra", "zebra"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a library of eight demo articles and a hostile one."""
    made = tmp_path_factory.mktemp("qualitative")
    papers = copy_articles(made / "papers")
    (papers / "hostile.tex").write_text(HOSTILE, encoding="utf-8")
    Library.read([papers], made / "lib").close()
    return made


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    """Return the page of the library."""
    with Library.open(folder / "lib") as library:
        return qualitative.page(library, QUERIES, folder / "out", count=3)


def vectors(model: str) -> ModelNeighbours:
    """Make two words and four equations in the plane; the last equation has no vector."""
    rows = {
        "rho_words": [[1, 0], [0, 1]],
        "alpha_words": [[0, 1], [1, 0]],
        "rho_equations": [[2, 1], [1, 3], [-1, 0], [0, 0]],
        "alpha_equations": [[5, 1], [4, 1], [5, 3], [0, 0]],
    }
    arrays = {name: np.array(values, np.float32) for name, values in rows.items()}
    return ModelNeighbours(Embeddings({"model": model}, arrays, {}))


def test_pairings_of_eqemb() -> None:
    """Words use rho of the equation and alpha of the word, equations the distance of alpha."""
    near = vectors("eqemb")
    cosines = [pytest.approx((1, 2 / 5**0.5)), pytest.approx((0, 1 / 5**0.5))]
    assert near.words_of(0, 5) == cosines
    assert near.equations_of(0, 5) == [(1, 1.0), (2, 2.0)]
    assert [row for row, _ in near.equations_for([0], 2)] == [1, 0]
    assert near.equations_for([0, 1], 1) == [pytest.approx((0, 3 / 10**0.5))]


def test_pairings_of_eqemb_u_and_pv_dm_are_reversed() -> None:
    """They use alpha of the equation and rho of the word, which were trained together."""
    near = vectors("eqemb-u")
    assert [row for row, _ in near.words_of(0, 5)] == [0, 1]
    assert [row for row, _ in near.equations_for([1], 1)] == [2]
    paragraphs = vectors("pv-dm")
    del paragraphs.made.arrays["rho_equations"]
    assert paragraphs.words_of(0, 5) == near.words_of(0, 5)


def test_equations_without_a_vector_have_no_neighbours() -> None:
    """Rows of zeros have no neighbours and are no neighbours."""
    for model in ("eqemb", "pv-dm"):
        near = vectors(model)
        assert near.equations_of(3, 5) == []
        assert near.words_of(3, 5) == []
        assert 3 not in [row for row, _ in near.equations_of(0, 5) + near.equations_for([0], 5)]


def test_queries_are_read(tmp_path: Path) -> None:
    """A file may have both lists or one of them."""
    file = tmp_path / "queries.toml"
    file.write_text("words = ['a b']\nequations = ['x#1', '''\\frac{a}{b}''']\n", encoding="utf-8")
    assert read_queries(file) == Queries(("x#1", r"\frac{a}{b}"), ("a b",))
    file.write_text("words = ['a b']\n", encoding="utf-8")
    assert read_queries(file) == Queries((), ("a b",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("words = [", "TOML"),
        ("word = ['a']", "equations"),
        ("words = 'a'", "list of strings"),
        ("words = [1]", "list of strings"),
        ("", "has no queries"),
    ],
)
def test_malformed_queries_are_reported(tmp_path: Path, text: str, message: str) -> None:
    """The error says what is wrong."""
    file = tmp_path / "queries.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        read_queries(file)


def test_a_query_is_found_in_the_corpus(folder: Path) -> None:
    """Queries are found by name or LaTeX, or replaced by the most similar equation, if any."""
    with Library.open(folder / "lib") as library:
        equations = CollectionEquations(library, workspace.corpus(library))
        named = equations.resolve("bm25:eq:idf")
        assert named.row is not None
        assert named.share is None
        equation, title, _ = equations.equation(named.row)
        assert equation.id == "bm25#3"
        assert title == "Term Weighting from tf-idf to BM25"
        assert equations.resolve(equation.expanded.replace(" ", "  ")).row == named.row
        like = equations.resolve(r"\log \frac{N - n_t + 1}{n_t + 1}")
        assert like.row == named.row
        assert like.share == pytest.approx(2 * 9 / (11 + 15))  # units shared, and of both
        assert equations.resolve(r"\zeta \gg \Xi").row is None
        with pytest.raises(UsageError, match="did you mean"):
            equations.resolve("bm52#3")


class Tags(HTMLParser):
    """Collects elements, attributes and text, as a browser sees them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record an element."""
        self.found.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        """Record text between elements."""
        self.text += data


def test_every_model_has_a_column(page: str) -> None:
    """There is a column for each model and answerable query; equations are MathML."""
    tags = Tags(page)
    columns = 7 if find_spec("gensim") else 5
    answered = 2 * 3 + 2  # equations and words of three equations, equations of two words
    assert tags.found.count("h4") == answered * columns
    assert tags.found.count("math") >= 3 * columns * (answered - 3)
    for title in ("EqEmb", "EqEmb-U", "EqEmb-H", "b-emb", "GloVe"):
        assert f"<h4>{title}</h4>" in page
    assert "Term Weighting from tf-idf to BM25" in tags.text
    assert "zero vectors-3.045" in tags.text


def test_unanswerable_queries_are_reported(page: str) -> None:
    """The page mentions replaced equations, unknown words, and queries without neighbours."""
    text = Tags(page).text
    assert text.count("This equation is not in the collection") == 1
    assert text.count("No equation of the collection shares a unit with it") == 1
    assert text.count("Not in the vocabulary: zebra.") == 2


def test_papers_and_queries_are_escaped(page: str) -> None:
    """Titles, text in formulas and queries stay text; no scripts or external resources."""
    tags = Tags(page)
    assert not {"script", "img", "b", "link", "iframe"} & set(tags.found)
    assert not [name for name in tags.attributes if name.startswith("on") or name == "src"]
    assert "cosine similarity <b>" in tags.text
    assert "<script>alert(1)</script>" in tags.text


def test_a_second_page_trains_nothing(
    page: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Models and bytes are the same, also with a GPU; without gensim the other models remain."""
    monkeypatch.setattr("eqemb.models.bernoulli.gpu_problem", lambda: None)
    models = folder / "out" / "models"
    before = {path.name: path.stat().st_mtime_ns for path in models.iterdir()}
    with Library.open(folder / "lib") as library:
        assert qualitative.page(library, QUERIES, folder / "out", count=3) == page
        monkeypatch.setattr(baselines, "find_spec", lambda _: None)
        alone = qualitative.page(library, QUERIES, folder / "out", count=3)
    assert {path.name: path.stat().st_mtime_ns for path in models.iterdir()} == before
    assert "<h4>CBOW</h4>" not in alone
    assert "CBOW is missing: cbow needs gensim: pip install" in alone
    assert not (folder / "lib" / "models").exists()


def test_the_command_writes_the_page(
    page: str,
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`eqemb compare --queries` writes queries.html for one collection."""
    del page  # its models exist

    def run(*more: object) -> int:
        command = ["eqemb", "compare", folder / "lib", "-o", folder / "out", *more]
        monkeypatch.setattr(sys, "argv", [*map(str, command)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0)

    file = tmp_path / "queries.toml"
    file.write_text("words = ['cosine similarity']", encoding="utf-8")
    assert run("--queries", file) == 0
    assert "cosine similarity" in (folder / "out" / "queries.html").read_text("utf-8")
    assert run("--queries", file, "--collection", "a", "--collection", "b") == 2
    assert "one --collection" in capsys.readouterr().err
    assert run("--queries", tmp_path / "none.toml") == 2
