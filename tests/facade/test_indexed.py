"""A library as a collection: names, vectors, what a question may be given as, reprs, frames."""

import weakref
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from axes import make_library
from eqemb.errors import UnknownKeyError, UsageError
from eqemb.facade.library import Library
from eqemb.formula import layout
from synthetic import read_inline

HARMONIC = r"F = \frac{2PR}{P+R}"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A library with a hand-made model of three dimensions."""
    with pytest.MonkeyPatch.context() as patch:
        read_inline(patch)
        with make_library(tmp_path_factory.mktemp("indexed")) as made:
            yield made


# ------------------------------------------------------------ a collection of equations


def test_a_library_is_a_collection_of_equations(library: Library) -> None:
    """Length, iteration, membership and lookup agree."""
    names = [equation.id for equation in library]
    assert len(library) == len(names) == 5
    assert all(name in library for name in names)
    assert [library[name].id for name in names] == names
    assert library["documents(2.3)"] == library["documents#1"]
    assert "angles#2" not in library
    assert "angles" not in library
    assert 3 not in library


@pytest.mark.parametrize("name", ["angles#9", "nowhere#1", "angles", "x = y"])
def test_a_missing_name_is_a_key_error(library: Library, name: str) -> None:
    """Which is a usage error, too, and says what to write."""
    with pytest.raises(KeyError) as raised:
        library[name]
    assert isinstance(raised.value, UsageError)
    assert str(raised.value) == str(raised.value.args[0])  # KeyError would put it in quotes


def test_reprs_are_short(library: Library) -> None:
    """One line that says what it is."""
    answer = library.search("harmonic mean", k=2)
    assert repr(library) == "<Library library: 4 articles, 5 equations, eqemb-h>"
    assert repr(library["documents#1"]).startswith(r"<Equation documents#1 (2.3): \cos(a, b) =")
    assert repr(library.article("again")) == "<Article again: 2 equations, 9 words>"
    assert repr(answer).startswith(f"<Answer: 2 hits, best {answer[0].equation.id} (")
    assert repr(answer[0]).startswith(f"<Hit {answer[0].score:.3f} <Equation ")
    assert repr(library.search("unheardof")) == "<Answer: 0 hits, 1 unknown words>"
    long = replace(library["angles#1"], expanded="x + " * 1_000)
    assert len(repr(long)) < 100
    assert "\n" not in repr(replace(long, expanded="x\n+ y"))


# ------------------------------------------------------------ vectors


def test_vectors_by_any_name(library: Library) -> None:
    """A name, a hit, an equation and its LaTeX have the same vector."""
    equation = library["harmonic#1"]
    hit = library.search("harmonic#1")[0]
    expected = library.vector("harmonic#1")
    assert expected.dtype == np.float32
    assert np.linalg.norm(expected) == pytest.approx(1)
    for asked in (hit, equation, "harmonic(F)", equation.expanded):
        np.testing.assert_array_equal(library.vector(asked), expected)


def test_encode_tells_latex_from_words(library: Library) -> None:
    """As the query parser does; both are in one space."""
    texts = ["harmonic mean", HARMONIC, "cosine", r"harmonic $F = \frac{2PR}{P+R}$", "angles#1", ""]
    vectors = library.encode(texts)
    assert vectors.shape == (6, 3)
    np.testing.assert_allclose(np.argmax(vectors[:5], axis=1), [1, 1, 0, 1, 0])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 1, 1, 1, 1, 0], atol=1e-6)
    np.testing.assert_array_equal(library.encode(HARMONIC), vectors[1])
    np.testing.assert_array_equal(library.encode(iter(texts)), vectors)
    np.testing.assert_array_equal(library.encode([library["angles#1"]])[0], vectors[4])
    assert library.encode([]).shape == (0, 3)


def test_what_has_no_vector(library: Library, tmp_path: Path) -> None:
    """Unknown words are zeros; an unknown name, or a library without a model, is an error."""
    assert not library.encode("unheardof").any()
    with pytest.raises(UsageError, match="no article"):
        library.encode(["nowhere#1"])
    with pytest.raises(UsageError, match="must be a string"):
        library.encode([3])  # type: ignore[list-item]
    (tmp_path / "bare").mkdir()
    with make_library(tmp_path / "bare", model=False) as bare:
        for ask in (bare.encode, bare.vector):
            with pytest.raises(UsageError, match="no model"):
                ask("angles#1")
        assert repr(bare).endswith("no model>")


def test_model_equations_by_name_and_type(library: Library) -> None:
    """Both give one row; what the model has not learned is a key error."""
    model = library.model
    assert model is not None
    canonical = layout(library["angles#1"].expanded).canonical()
    np.testing.assert_array_equal(model.equations["angles#1"], model.equations[canonical])
    assert "angles#1" in model.equations
    assert model.equations[["angles#1", "harmonic#1"]].shape == (2, 3)
    assert model.equations.similarity("angles#1", "documents#1") == pytest.approx(1)
    for missing in ("angles#9", "nowhere#1", "again#2"):
        assert missing not in model.equations
        with pytest.raises(UnknownKeyError):
            model.equations[missing]


def test_the_model_does_not_keep_the_library(library: Library) -> None:
    """A library that nobody uses is closed at once, with its lock."""
    opened = Library.open(library.folder)
    assert opened.model is not None
    assert "angles#1" in opened.model.equations
    gone = weakref.ref(opened)
    opened.records.close()
    del opened
    assert gone() is None


# ------------------------------------------------------------ one question, asked in several ways


def test_every_question_takes_a_hit_an_equation_a_name_or_latex(library: Library) -> None:
    """The answers are the same."""
    hit, name = library.search("harmonic mean", k=1)[0], library.search("harmonic mean", k=1)[0]
    given = (hit, name.equation, name.equation.id)
    for ask in (library.search, library.similar, library.describe, library.query):
        first, *others = (ask(asked).to_json() for asked in given)
        assert all(other == first for other in others)
    first, *others = (library.why("cosine", asked).to_json() for asked in given)
    assert all(other == first for other in others)


def test_an_equation_of_elsewhere_is_asked_by_its_latex(library: Library) -> None:
    """An equation that was read without a library, or belongs to another one."""
    foreign = replace(library["harmonic#1"], article="elsewhere")
    other = replace(library["harmonic#1"], article="angles")  # the name of another equation here
    expected = library.similar(HARMONIC)
    for equation in (foreign, other):
        found = library.similar(equation)
        assert [hit.equation.id for hit in found] == [hit.equation.id for hit in expected]


def test_scores_do_not_depend_on_how_an_equation_is_given(library: Library) -> None:
    """Structure and vectors add the same; by name, the words around it are known, too."""
    for name in ("angles#1", "harmonic#1", "again#2"):
        latex = library[name].expanded
        by_name = {hit.equation.id: hit.parts for hit in library.similar(name)}
        by_latex = {hit.equation.id: hit.parts for hit in library.similar(latex)}
        assert {hit.equation.id: hit.parts for hit in library.search(latex)} == by_latex
        shared = by_name.keys() & by_latex.keys()
        assert shared
        for other in shared:
            for part in ("structure", "meaning"):
                assert by_name[other][part] == pytest.approx(by_latex[other][part], abs=1e-6)


def test_an_equation_with_dollars_inside(library: Library) -> None:
    """They do not end the formula of the query."""
    inside = replace(
        library["harmonic#1"], article="elsewhere", expanded=r"\mbox{\boldmath{$F$}} = 2\mbox{$P$}"
    )
    text = library.query_text(inside)
    assert text.count("$") == 2
    assert library.engine.read_equation(text).layout == layout(inside.expanded)


# ------------------------------------------------------------ data frames


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames(library: Library, kind: str) -> None:
    """A row for each hit, in order, with columns of plain values."""
    pytest.importorskip(kind)
    answer = library.search("harmonic mean", k=3)
    frame = answer.to_frame(kind)
    assert type(frame).__module__.partition(".")[0] == kind
    assert list(frame["id"]) == [hit.equation.id for hit in answer]
    assert list(frame["score"]) == [round(hit.score, 6) for hit in answer]
    assert isinstance(frame["context"][0], str)
    assert len(library.search("unheardof").to_frame(kind)) == 0


def test_frames_need_a_library_for_frames(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any, the error says what to install."""
    import sys

    answer = library.search("harmonic")
    with pytest.raises(UsageError, match="'pandas' or 'polars'"):
        answer.to_frame("excel")
    for name in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match="needs pandas or polars: `pip install pandas`"):
        answer.to_frame()
    with pytest.raises(UsageError, match="needs polars: `pip install polars`"):
        answer.to_frame("polars")
