"""Strength: a fitted number that means the same for every query, and what weak answers do."""

import json
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from axes import make_library
from eqemb.facade.library import Library
from eqemb.search import strength
from eqemb.search.results import NO_GOOD_MATCH, WEAK_MATCHES
from synthetic import Run

COSINE = r"\cos(u, v) = \frac{u \cdot v}{\|u\| \|v\|}"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """A library of four short papers."""
    return make_library(tmp_path_factory.mktemp("strength"))


def test_more_evidence_never_makes_an_answer_weaker() -> None:
    """All fitted weights are positive, and terms and constants are numbers."""
    numbers = json.loads(files("eqemb.search").joinpath(strength.NUMBERS_FILE).read_text())
    assert 0 < numbers["weak_below"] < min(strength.STRENGTH_LEVELS.values())
    for fitted in numbers["kinds"].values():
        assert fitted["constant"] < 0
        assert min(fitted["weights"].values()) > 0


def test_the_logistic_function() -> None:
    """The constant alone gives the strength of no evidence; each term adds to it."""
    evidence = {"words": np.array([0.0, 1.0], np.float32)}
    found = strength.logistic(-2.0, {"words": 4.0}, evidence)
    assert found == pytest.approx([1 / (1 + np.exp(2)), 1 / (1 + np.exp(-2))])


def test_levels() -> None:
    """From strong to weak; the bounds belong to the better level."""
    weak = strength.weak_below()
    assert [strength.level(value) for value in (1.0, 0.75, 0.5, weak, weak - 0.001)] == [
        *("strong", "strong", "good", "fair", "weak"),
    ]


def test_a_long_formula_is_not_stronger_than_forty_symbols() -> None:
    """The size of a query is bounded."""
    one = np.ones(1, np.float32)
    sizes = [float(strength.structure_evidence(one, n)["size"][0]) for n in (1, 20, 40, 4000)]
    assert sizes[0] == 0 < sizes[1] < sizes[2] == sizes[3] == 1


def test_the_largest_similarity_is_that_of_another_equation() -> None:
    """Without it, the words of a topic tell nothing."""
    structure = np.array([1.0, 0.3, 0.2], np.float32)
    assert strength.most_similar(structure, np.array([False, True, True])) == pytest.approx(0.3)
    assert strength.most_similar(structure, np.ones(3, bool)) == 1
    words = np.ones(3, np.float32)
    assert not strength.equation_evidence(structure, words, 9, 0.0)["topic"].any()


def test_an_unknown_word_makes_answers_weaker(library: Library) -> None:
    """The score ignores it, the strength does not."""
    plain, other = library.search("cosine"), library.search("cosine photosynthesis")
    assert other[0].equation.id == plain[0].equation.id
    assert other[0].parts["words"] == pytest.approx(plain[0].parts["words"])
    one, two = plain[0].strength, other[0].strength
    assert one is not None
    assert two is not None
    assert two < strength.weak_below() < one


def test_words_around_the_query_itself_are_no_evidence(run: Run, tmp_path: Path) -> None:
    """Equations of one sentence share its words; that does not make them alike."""
    sentence = "The harmonic precision of retrieval is "
    page = (
        r"\documentclass{article}\begin{document}"
        rf"{sentence}$$ \sum_{{i=1}}^{{n}} \binom{{n}}{{i}} p^i (1-p)^{{n-i}} $$"
        rf"{sentence}$$ \nabla \times E $$\end{{document}}"
    )
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "a.tex").write_text(page)
    assert run("build", tmp_path / "papers", "-o", tmp_path / "lib", "--no-model").code == 0
    with Library.open(tmp_path / "lib") as library:
        found = library.similar("a#1")
        assert [hit.equation.ordinal for hit in found] == [2]
        assert found[0].parts["structure"] < 0.1
        assert found[0].level == "weak"


def test_an_equal_equation_has_strength_one(library: Library) -> None:
    """However short it is, and by structure alone."""
    assert library.similar(r"P = \frac{a}{a + b}")[0].strength == 1
    assert library.similar(r"P = \frac{a}{a + b}", by="structure")[0].strength == 1
    assert library.search("angles#1")[0].strength == 1


def test_rankings_without_a_fitted_function_have_no_strength(library: Library) -> None:
    """Their hits show the score, and none is weak."""
    answer = library.search("cosine", by="meaning")
    assert {(hit.strength, hit.level) for hit in answer} == {(None, None)}
    assert answer.match == "good"
    assert f"{answer[0].score:.3f}" in str(answer)


def test_answers_say_where_weak_hits_begin(library: Library) -> None:
    """After the others, or from the start."""
    answer = library.similar(COSINE)
    assert answer.match == "good"
    assert f"\n\n{WEAK_MATCHES}\n\n" in str(answer)
    assert len(answer.without_weak()) < len(answer)
    weak = library.search("harmonic photosynthesis of leaves")
    assert weak.match == "weak"
    assert weak.without_weak().match == "none"
    assert weak.to_text().startswith(f"{NO_GOOD_MATCH}\n\n")


@pytest.mark.parametrize("query", ["5", "7 a", "the of"])
def test_numbers_letters_and_stop_words_tell_nothing(library: Library, query: str) -> None:
    """They are refused as too common, or not known."""
    assert not library.search(query).hits


def test_the_command_lists_weak_matches_on_request_only(run: Run, library: Library) -> None:
    """Otherwise it exits with 1, and the JSON has no hits."""
    call = ("search", library.folder, "harmonic photosynthesis of leaves")
    done = run(*call)
    assert (done.code, done.out) == (1, "")
    assert "no good match" in done.err
    assert "--weak" in done.err
    listed = run(*call, "--weak")
    assert listed.code == 0
    assert listed.out.startswith(NO_GOOD_MATCH)
    found = json.loads(run(*call, "--json").out)
    assert (found["hits"], found["match"]) == ([], "weak")
    assert json.loads(run(*call, "--json", "--weak").out)["hits"]


def test_a_single_symbol_has_no_good_match(run: Run, library: Library) -> None:
    """The message says what to do instead."""
    done = run("similar", library.folder, "P")
    assert done.code == 1
    assert "single symbol" in done.err


def test_strength_does_not_depend_on_the_other_papers(tmp_path: Path) -> None:
    """An equation answers a formula as well in a library of one paper as among others."""
    (tmp_path / "few").mkdir()
    (tmp_path / "many").mkdir()
    text = rf"The cosine is \begin{{equation}} {COSINE} \end{{equation}} here."
    for folder, count in (("few", 1), ("many", 5)):
        for number in range(count):
            body = text if not number else rf"Then \[ z_{number} = \int f_{number} \] follows."
            document = rf"\documentclass{{article}}\begin{{document}}{body}\end{{document}}"
            (tmp_path / folder / f"p{number}.tex").write_text(document)
    found = []
    for folder in ("few", "many"):
        place = tmp_path / f"{folder}.library"
        with Library.read([tmp_path / folder], place, jobs=1, index=True) as made:
            found.append(made.similar(r"\cos(a, b) = \frac{a \cdot b}{\|a\| \|b\|}")[0].strength)
    assert found[0] == pytest.approx(found[1], abs=0.1)
