"""Noun phrases that name equations, taken from sentences and titles."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from eqemb.facade.library import Library
from eqemb.search.phrases import named_by, titled


def names(context: str) -> list[str]:
    """Return the phrases by which a context names its equation."""
    return [" ".join(words) for words, _ in named_by(context)]


@pytest.mark.parametrize(
    ("context", "phrase"),
    [
        ("The evidence lower bound (ELBO) is given by [equation].", "evidence lower bound"),
        ("The attention weight $a_{ij}$ is defined as follows: [equation]", "attention weight"),
        ("The cosine of the angle between $x$ and $y$ is [equation].", "cosine of the angle"),
        ("To mix, we define the transition matrix $P$ of the chain as [equation].",
         "transition matrix of the chain"),
        ("We normalise the scores with a softmax function: [equation]", "softmax function"),
        ("We have [equation], which is called the triangle inequality.", "triangle inequality"),
        ("This gives [equation] known as the chain rule of probability.",
         "chain rule of probability"),
        ("Hence [equation]. This is the negative log likelihood of $x$.",
         "negative log likelihood"),
        ("Angles and lengths The inner product is then [equation].", "inner product"),
    ],
)  # fmt: skip
def test_sentences_that_name_an_equation(context: str, phrase: str) -> None:
    """As subject, as object, before a colon, as what it is called, and after a heading."""
    assert names(context) == [phrase]


@pytest.mark.parametrize(
    "context",
    [
        "",
        "[equation]",
        "Thus [equation].",
        "It follows that [equation] holds.",
        "This can be written in the following form: [equation]",
        "We obtain the result [equation].",
        "For convenience, often an alternative notation is used: [equation]",
        "The sum of $x$ and $y$ is [equation].",
        "Clearly the terms vanish, and we get [equation].",
        "The pump pushes [equation] litres.",
        "Each time the pressure drops by [equation].",
        "There are positive constants such that [equation].",
        "No mark of an equation is called a phrase.",
    ],
)
def test_other_sentences_name_nothing(context: str) -> None:
    """No phrase is better than a fragment, or than a noun that fits every equation."""
    assert names(context) == []


@pytest.mark.parametrize(
    ("title", "phrase"),
    [
        ("Bernoulli Distribution", ["Bernoulli Distribution"]),
        ("Proof of the triangle inequality", ["triangle inequality"]),
        ("2.1 Automatic Differentiation", ["Automatic Differentiation"]),
        ("Mean of the normal distribution", ["Mean of the normal distribution"]),
        ("Introduction", []),
        ("Experiments and results", []),
        ("Why attention is all that you need", []),
        ("Kernel details", []),
        ("", []),
    ],
)
def test_titles_that_are_names(title: str, phrase: list[str]) -> None:
    """Without numbers and words such as "proof of"; whole, or not at all."""
    assert [" ".join(words) for words, _ in titled(title, 1.0)] == phrase


PAPERS = {
    "one": r"""\title{On chances} \maketitle
The \emph{Shannon Entropy} of a source is a number. The Shannon entropy is defined as
\[ H = -\sum_i p_i \log p_i \] and measured in bits.""",
    "two": r"""For a coin, the Shannon entropy $H$ is given by
\[ H = -\sum_j q_j \log q_j \] in nats, and it is largest for a fair coin.""",
    "three": r"""The hot water flows quickly and the pump pushes \[ V = \frac{4}{3} \pi r^3 \]
litres through the pipes of a large house.""",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """Two papers that name one equation, and one that names none."""
    folder = tmp_path_factory.mktemp("named")
    (folder / "papers").mkdir()
    for name, text in PAPERS.items():
        document = rf"\documentclass{{article}}\begin{{document}}{text}\end{{document}}"
        (folder / "papers" / f"{name}.tex").write_text(document)
    with Library.read([folder / "papers"], folder / "library", jobs=1, index=True) as made:
        yield made


@pytest.mark.parametrize("equation", ["one#1", "two#1", r"H = -\sum_i p_i \log p_i"])
def test_equations_are_named(library: Library, equation: str) -> None:
    """Named or pasted, by what the papers say of them, with the names of people as written."""
    found = library.describe(equation)
    assert found.phrase is not None
    assert found.phrase.text == "Shannon entropy"
    assert found.phrase.score == pytest.approx(1.0)
    assert found.to_json()["phrase"] == {
        "text": "Shannon entropy", "score": 1.0, "article": found.phrase.article
    }  # fmt: skip
    assert f"about: Shannon entropy · {found.phrase.article}" in found.to_text().splitlines()
    assert "<strong>Shannon entropy</strong>" in found._repr_html_()


def test_an_equation_without_a_name_has_no_phrase(library: Library) -> None:
    """Its words are shown all the same."""
    found = library.describe("three#1")
    assert found.phrase is None
    assert found.words
    assert "about:" not in found.to_text()
    assert found.to_json()["phrase"] is None


def test_a_masked_article_says_nothing(library: Library) -> None:
    """Evaluations leave out the article of the query."""
    engine = library.engine
    query = engine.read_equation(r"V = \frac{4}{3} \pi r^3")
    allowed = engine.articles != engine.articles[engine.rows()["three#1"]]
    found = library._describer.describe_equation(query, allowed=allowed)
    assert "three#1" not in found.similar
    assert all(said.article != "three" for said in found)


def test_sentences_are_shown_once_and_headings_never(tmp_path: Path) -> None:
    """A word has another sentence if there is one as good, else none is printed again."""
    text = r"""\section{Gravity And Large Apples Of Newton}
The gravity of apples is \[ F = \frac{G m M}{r^2} \] near Earth. Apples fall by gravity, too."""
    document = rf"\documentclass{{article}}\begin{{document}}{text}\end{{document}}"
    (tmp_path / "fall.tex").write_text(document)
    with Library.read([tmp_path / "fall.tex"], tmp_path / "library", jobs=1, index=True) as made:
        found = made.describe("fall#1", 10)
    sentences = [said.sentence for said in found]
    assert len(set(sentences[:2])) == 2
    assert not any("Newton" in (sentence or "") for sentence in sentences)
    printed = found.to_text()
    assert printed.count("near Earth") <= 1
    assert printed.count("too.") <= 1
