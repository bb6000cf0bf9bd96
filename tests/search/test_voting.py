"""Agreement: equations that answer words in several papers vote for those that look like them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from eqemb.facade.library import Library
from eqemb.search import voting

WORDS = "The cosine similarity of two vectors is"
COSINES = [
    r"\cos(x, y) = \frac{x \cdot y}{\|x\| \|y\|}",
    r"c(u, v) = \frac{u \cdot v}{\|u\| \|v\|}",
    r"s(a, b) = \frac{a \cdot b}{\|a\| \|b\|}",
    r"\cos(d, q) = \frac{d \cdot q}{\|d\| \|q\| + 1}",
    r"r(x, z) = \frac{x \cdot z}{\|x\| \|z\|} + 1",
    r"\cos(p, q) = \frac{p \cdot q}{\|p\| \|q\| + \epsilon}",
]


def write(folder: Path, name: str, text: str, latex: str) -> None:
    """Write a paper with one equation."""
    body = rf"{text} \begin{{equation}} {latex} \end{{equation}} as usual."
    document = rf"\documentclass{{article}}\begin{{document}}{body}\end{{document}}"
    (folder / f"{name}.tex").write_text(document)


def build(folder: Path, cosines: int) -> Library:
    """A library with cosines in papers of their own, and an equation that only stands there."""
    papers = folder / "papers"
    papers.mkdir()
    for number, latex in enumerate(COSINES[:cosines]):
        write(papers, f"cosine{number}", WORDS, latex)
    write(papers, "aside", WORDS, r"t \leftarrow t + 1")
    return Library.read([papers], folder / "library", jobs=1, index=True)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A library in which six papers agree."""
    with build(tmp_path_factory.mktemp("agreement"), 6) as made:
        yield made


def test_equations_that_look_alike_win(library: Library) -> None:
    """All stand near the same words; the one that looks like no other comes last."""
    answer = library.search("cosine similarity")
    assert answer.hits[-1].equation.id == "aside#1"
    gained = {hit.article: hit.parts["agreement"] for hit in answer}
    assert min(gained.values()) == gained["aside"] < 0.1 * max(gained.values())
    assert len({round(hit.parts["words"], 6) for hit in answer}) == 1


def test_parts_sum_to_the_score_which_is_at_most_one(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much the equations agree."""
    monkeypatch.setattr(voting, "WEIGHT", 50.0)
    for hit in library.search("cosine similarity"):
        assert sum(hit.parts.values()) == pytest.approx(hit.score)
        assert hit.score <= 1 + 1e-6
    assert library.search("cosine similarity")[0].score == pytest.approx(1)


def test_filters_do_not_change_it(library: Library) -> None:
    """All equations for the words vote, not only those that pass the filters."""
    every = {hit.article: hit.parts for hit in library.search("cosine similarity")}
    first = next(name for name in every if name.startswith("cosine"))
    found = library.search("cosine similarity", article=first)
    assert found[0].parts == every[first]


def test_it_is_explained(library: Library) -> None:
    """`why` has the same parts, also for a phrase, which limits those that vote."""
    for query in ("cosine similarity", '"cosine similarity" -river'):
        hit = library.search(query)[0]
        found = library.why(query, hit)
        assert found.parts == pytest.approx(hit.parts)
        assert f"agreement {hit.parts['agreement']:.3f}" in str(found)


def test_only_words_alone_are_voted_on(library: Library) -> None:
    """Not a query with a formula, and not a ranking by one part."""
    assert "agreement" in library.search("cosine similarity")[0].parts
    assert "agreement" not in library.search(r"cosine $\frac{x}{y}$")[0].parts
    assert list(library.search("cosine similarity", by="words")[0].parts) == ["words"]


def test_a_few_do_not_decide(tmp_path: Path) -> None:
    """With fewer than five others nothing is gained."""
    with build(tmp_path, 4) as small:
        assert {hit.parts["agreement"] for hit in small.search("cosine similarity")} == {0.0}


def test_an_article_does_not_vote_for_itself(tmp_path: Path) -> None:
    """Many equations of one article do not agree with each other."""
    body = " ".join(rf"{WORDS} \[ {latex} \]" for latex in COSINES)
    document = rf"\documentclass{{article}}\begin{{document}}{body}\end{{document}}"
    (tmp_path / "all.tex").write_text(document)
    with Library.read([tmp_path], tmp_path / "library", jobs=1, index=True) as alone:
        assert {hit.parts["agreement"] for hit in alone.search("cosine similarity")} == {0.0}
