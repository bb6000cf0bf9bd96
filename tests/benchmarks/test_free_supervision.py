"""Tests without judges: queries and answers from titles, and documents that are left out."""

import sys
from collections.abc import Iterator

import free_supervision
import pytest
from free_supervision import WithoutDocument, concept, page_title, pair_items, title_items

from eqemb.corpus.corpus import Corpus
from eqemb.corpus.vocabulary import Rules
from eqemb.facade.library import Library
from eqemb.formula import layout
from eqemb.models import workspace
from eqemb.search.typed_equation import EquationQuery

SOURCES = {
    "proofs/normal": ("Gaussian Density", r"f(x) = a e^{-b x^2}", "bell curve of errors"),
    "notes/gauss": ("The Gaussian density (proof)", r"g(y) = c e^{-d y^2}", "bell shape"),
    "notes/mean": ("Arithmetic average", r"m = \frac{1}{n} \sum_i x_i", "average of numbers"),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """Make a library of two sources, which have one title in common."""
    folder = tmp_path_factory.mktemp("sources")
    for name, (title, latex, words) in SOURCES.items():
        path = folder / "texts" / f"{name}.tex"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            rf"\documentclass{{article}}\title{{{title}}}\begin{{document}}\maketitle "
            rf"A {words} is \begin{{equation}} {latex} \end{{equation}} as {words}."
            r"\end{document}",
            "utf-8",
        )
    with Library.build([folder / "texts"], folder / "library") as made:
        yield made


def corpus_of(library: Library) -> Corpus:
    """Return the corpus with all words."""
    return workspace.corpus(library, workspace.CorpusChoice(rules=Rules(min_count=1, top=0)))


def test_titles_that_differ_in_form_are_one_concept() -> None:
    """Articles, plurals, asides, hyphens and the word "proof" do not matter; other words do."""
    assert concept("Proof of the chi-squared distributions (discrete)") == concept(
        "Chi squared distribution"
    )
    assert concept("Chi squared test") != concept("Chi squared distribution")


def test_pages_without_a_title_are_named_by_their_file() -> None:
    """The numbers in front are left out; a title comes before the name."""
    assert page_title("pm/54A05-ClosedSet", "") == "Closed Set"
    assert page_title("pm/54A05-ClosedSet", "Sets") == "Sets"


def test_a_title_asks_for_the_equations_of_its_page(library: Library) -> None:
    """Every page has a query, whose targets are its own."""
    corpus = corpus_of(library)
    for name, item in title_items(library, corpus):
        assert {corpus.articles[a] for a in corpus.equation_articles[item.targets]} == {name}
        assert "proof" not in item.query.text  # it is an aside


def test_pairs_are_equations_of_another_source_with_the_same_title(library: Library) -> None:
    """Only the two pages on one concept are paired, each with the other."""
    corpus = corpus_of(library)
    found = {
        corpus.articles[item.article]: [corpus.equation_names[at] for at in item.targets]
        for _, item in pair_items(library, corpus, "collection")
    }
    assert sorted(found) == ["notes/gauss", "proofs/normal"]
    assert found["notes/gauss"] == ["proofs/normal#1"]
    assert found["proofs/normal"] == ["notes/gauss#1"]


def test_a_document_that_is_left_out_gives_no_words(library: Library) -> None:
    """Neither its equations nor its words are there; those of others are."""
    search = library.engine
    row = search.rows()["proofs/normal#1"]
    without = WithoutDocument(search, int(search.articles[row]))
    kind = int(search.types[row])
    assert search.equations_of_type(kind) == [row]
    assert without.equations_of_type(kind) == []
    query = EquationQuery(layout(SOURCES["proofs/normal"][1]), None)
    found = without.similar_types(query.layout, without.present)
    assert kind in search.similar_types(query.layout, search.segments.live).types
    assert kind not in found.types
    assert int(search.types[search.rows()["notes/gauss#1"]]) in found.types
    assert "error" not in without.topic(query)


def test_the_command_prints_a_table(
    library: Library,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Every system has a line; a half with too few queries says so."""
    monkeypatch.setattr(free_supervision, "half_of", lambda _: "dev")
    monkeypatch.setattr(sys, "argv", ["x", str(library.folder), "--task", "titles", "pairs"])
    free_supervision.main()
    printed = capsys.readouterr().out
    assert "titles, dev: 3 queries of 3 documents" in printed
    assert "| BM25 |" in printed
    assert "pairs: too few queries in this library" in printed
