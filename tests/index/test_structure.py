"""The structure of a library: renamed equations, parts of them, patterns, families."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqemb.article import Article, Equation
from eqemb.errors import UsageError
from eqemb.formula import layout
from eqemb.formula.likeness import likeness, outline
from eqemb.formula.shapes import form, shapes
from eqemb.index import families
from eqemb.index.alignment import Outlines, OutlinesWriter
from eqemb.index.structure import Found, Structure, index_structure
from eqemb.library.database import Records, from_article

EQUATIONS = [
    r"F = \frac{2 P R}{P + R}",
    r"\cos(x, y) = \frac{x \cdot y}{\|x\| \|y\|}",
    r"\sigma(x) = \frac{1}{1 + e^{-x}}",
    r"p(a|b) = \frac{p(b|a) p(a)}{p(b)}",
    r"p(\theta|D) = \frac{p(D|\theta) p(\theta)}{p(D)}",
    r"L = \sum_{i=1}^{n} (y_i - w^T x_i)^2",
    r"y = f(z)",
    r"\mathbf{y} = f(\mathbf{z})",
    r"x = g(h)",
    r"\theta_{t+1} = \theta_t - \eta \nabla L(\theta_t)",
    "",
]


def indexed(folder: Path, equations: list[str]) -> Structure:
    """Equations as the types of a library, indexed."""
    records = Records(folder / "records.sqlite", write=True)
    article = Article("a", "a.tex", "")
    forms = []
    for ordinal, latex in enumerate(equations, 1):
        made = layout(latex)
        article.equations.append(
            Equation("a", ordinal, None, None, [], "equation", ordinal, latex, latex, "a.tex", 1, 1)
        )
        forms.append((made.canonical(), tuple("\t".join(unit) for unit in made.units())))
    records.add(from_article(article, 0, b"", forms))
    records.finish()
    records = Records(folder / "records.sqlite")
    index_structure(records, folder)
    return Structure(records, folder)


@pytest.fixture(scope="module")
def structure(tmp_path_factory: pytest.TempPathFactory) -> Structure:
    """A small library of formulas."""
    return indexed(tmp_path_factory.mktemp("library"), EQUATIONS)


def first(found: Found) -> str:
    """The best type."""
    return EQUATIONS[int(found.types[0])]


@pytest.mark.parametrize("latex", EQUATIONS[:-1])
def test_an_equation_finds_itself_first(structure: Structure, latex: str) -> None:
    """With score 1, before its renamings."""
    found = structure.find(latex)
    assert first(found) == latex
    assert found.scores[0] == pytest.approx(1.0)
    assert (np.diff(found.scores) <= 0).all()


@pytest.mark.parametrize(
    ("query", "equation"),
    [
        (r"G = \frac{2 A B}{A + B}", 0),
        (r"\rho(u) = \frac{1}{1 + e^{-u}}", 2),
        (r"J = \sum_{k=1}^{m} (t_k - a^T z_k)^2", 5),
    ],
)
def test_renamed_equations_are_found(structure: Structure, query: str, equation: int) -> None:
    """Their letters share nothing with the query's."""
    assert first(structure.find(query)) == EQUATIONS[equation]


@pytest.mark.parametrize(
    ("part", "equation"),
    [(r"\|x\| \|y\|", 1), ("1 + e^{-x}", 2), ("y_i - w^T x_i", 5), (r"\nabla L(\theta_t)", 9)],
)
def test_parts_are_found_in_the_whole(structure: Structure, part: str, equation: int) -> None:
    """Arguments of fractions and fences, terms, sides."""
    found = structure.find(part)
    assert first(found) == EQUATIONS[equation]
    assert found.scores[0] > 0.6


def test_only_what_is_allowed_is_found(structure: Structure) -> None:
    """Filters come before the ranking."""
    allowed = np.ones(len(structure), bool)
    allowed[0] = False
    assert 0 not in structure.find(EQUATIONS[0], allowed).types
    assert 0 not in structure.find(r"F = \frac{2 ?p ?r}{?s}", allowed).types
    assert len(structure.find(EQUATIONS[0], ~np.ones(len(structure), bool)).types) == 0


def test_scores_are_likenesses(structure: Structure) -> None:
    """Every score is what the definition says."""
    query = r"p(x|y) = \frac{p(x, y)}{p(y)}"
    found = structure.find(query, count=len(EQUATIONS))
    for kind, score in zip(found.types, found.scores, strict=True):
        assert score == pytest.approx(structure.alike(layout(query), layout(EQUATIONS[kind])).score)


def test_as_many_as_asked_for(structure: Structure) -> None:
    """Whatever of it the library does not know."""
    found = structure.find(r"p(a|b) = \Xi", count=3)
    assert len(found.types) == len(found.scores) == 3


@pytest.mark.parametrize("query", ["", r"\quad"])
def test_nothing_is_no_query(structure: Structure, query: str) -> None:
    """There is no symbol to look for."""
    with pytest.raises(UsageError, match="no symbol"):
        structure.find(query)


def test_patterns_are_matched(structure: Structure) -> None:
    """All that match, and nothing else; the same name is the same thing."""
    found = structure.find(r"p(?x|?y) = \frac{p(?y|?x) p(?x)}{p(?y)}")
    assert sorted(found.types) == [3, 4]
    assert found.note == ""
    assert sorted(structure.find(r"\frac{?x}{?y}").types) == [0, 1, 2, 3, 4]
    assert list(structure.find(r"\|?x\| \|?x\|").types) == []
    assert list(structure.find(r"\zeta(?x)^{77}").types) == []


def test_a_limit_comes_before_any_end(tmp_path: Path) -> None:
    """A pattern without a shape is in nearly everything; what is allowed is found all the same."""
    many = indexed(tmp_path, [f"x = {number}" for number in range(600)])
    allowed = np.zeros(len(many), bool)
    allowed[-1] = True
    found = many.find("?x = ?y", allowed)
    assert list(found.types) == [599]
    assert found.note == ""
    assert "500 of 600 equations" in many.find("?x = ?y", count=501).note


def test_a_piece_is_had_in_one_place(tmp_path: Path) -> None:
    """Its symbols joined as they are in it; its units here and there are not enough."""
    some = indexed(
        tmp_path,
        [
            "a + b + c",  # the piece goes on
            "a + c - d + b",  # a + and + b, but not a + b
            "x_i^2 + y",
            "x_j + y_i",
            r"\frac{a}{b}",
            r"\frac{a + 1}{b}",
            r"\frac{a}{c} \frac{1}{b}",
            "f(x, y)",
            "f(y) g(x)",
            "",
            "z" * 310 + "+ a + b",
        ],
    )
    for piece, expected in {
        "a + b": [0],
        "x_i": [2],
        r"\frac{a}{b}": [4, 5],
        "f(x)": [7],
        r"\frac": [4, 5, 6],
        r"\frac{?}{q}": [],
        "q": [],
        "z": [10],
    }.items():
        assert np.flatnonzero(some.having(layout(piece))).tolist() == expected, piece


def test_patterns_without_symbols_are_refused(structure: Structure) -> None:
    """They would match everything."""
    with pytest.raises(UsageError, match="at least one symbol"):
        structure.find("?x ?y")


def test_what_was_left_out_is_said(tmp_path: Path) -> None:
    """A pattern that has too many ways to match is given up, in a sentence."""
    long = indexed(tmp_path, ["x" * 150 + "=y" + "+z" * n for n in range(3)])
    found = long.find(" ".join(f"?w{n}" for n in range(10)) + "=?w3?w2")
    assert list(found.types) == []
    assert "3 were given up" in found.note


def test_an_empty_library_answers(tmp_path: Path) -> None:
    """There is nothing in it."""
    empty = indexed(tmp_path, [])
    assert len(empty.find("x+y").types) == len(empty.find("?x+y").types) == 0
    assert len(empty.families) == 0


# ------------------------------------------------------------ families


def test_renamings_are_a_family_where_they_are_long_enough(structure: Structure) -> None:
    """Bayes is Bayes; short equations are one only where alphabets alone differ."""
    expected = list(range(len(EQUATIONS)))
    expected[4] = 3
    expected[7] = 6
    assert structure.families.tolist() == expected


def test_alphabets_make_no_other_family_however_long(tmp_path: Path) -> None:
    """One for one or not: x and a bold x may be the same letter elsewhere."""
    made = indexed(
        tmp_path,
        [
            r"y = a x + b \mathbf{x} + c",
            r"z = a x + b \mathbf{x} + d",  # a renaming of the first
            r"\mathbf{z} = a \mathbf{x} + b \mathbf{x} + d",  # but for alphabets the second
            r"y = a x + b x - c",
        ],
    )
    assert made.families.tolist() == [0, 0, 0, 3]


LONG = (
    r"L(\theta) = \frac{1}{N} \sum_{i=1}^{N} \log p(x_i | \theta)"
    r" + \lambda \| \theta \|^2 + \mu \sum_{j} \frac{|\theta_j|}{1 + |\theta_j|}"
)


def test_near_equations_are_a_family_where_they_are_long(tmp_path: Path) -> None:
    """A symbol more in a long one is the same equation, another term is not."""
    others = [
        LONG + "_1",
        LONG.replace("x_i", "z_k").replace("i=1", "k=1"),
        LONG + r" - \frac{a}{b + c} \exp(-d)",
        "x+y=1",
        "x-y=1",
    ]
    made = indexed(tmp_path, [LONG, *others])
    assert made.families.tolist() == [0, 0, 0, 3, 4, 5]


def test_families_do_not_drift(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is near the one before it, but not the first: the first decides."""
    chain = [LONG + "".join(f" + a_{{{n}}}" for n in range(more)) for more in range(6)]
    monkeypatch.setattr(families, "NEAR", 0.93)
    found = indexed(tmp_path, chain).families.tolist()
    assert found[0] == found[1] == 0
    assert found[-1] != 0
    assert all(kind == found[kind] for kind in found)


# ------------------------------------------------------------ what it is made of


def test_shapes_and_forms_do_not_change_when_letters_do() -> None:
    """One for one; another pattern of letters is another form."""
    one, two, other = (layout(latex) for latex in ("x_i+x_j=y", "a_b+a_c=d", "a_b+c_b=d"))
    assert shapes(one) == shapes(two)
    assert form(one) == form(two)
    assert form(one) != form(other)
    assert form(layout(r"\sin x")) != form(layout(r"\cos x"))


def test_a_part_has_the_shapes_of_the_part() -> None:
    """So that it is found in the whole."""
    part, whole = shapes(layout(r"x^2+\sqrt{y}")), shapes(layout(r"\frac{x^2+\sqrt{y}}{n}"))
    assert part <= whole


LATEX = st.recursive(
    st.sampled_from([*"abcxyz123+-=", r"\alpha ", r"\mathbf{x}", r"\sum ", r"\log "]),
    lambda smaller: st.one_of(
        st.lists(smaller, min_size=1, max_size=4).map(" ".join),
        st.tuples(smaller, smaller).map(lambda two: rf"\frac{{{two[0]}}}{{{two[1]}}}"),
        st.tuples(smaller, smaller).map(lambda two: f"x_{{{two[0]}}}^{{{two[1]}}}"),
        st.tuples(smaller, smaller).map(lambda two: f"f({two[0]}, {two[1]})"),
    ),
    max_leaves=15,
)


@given(LATEX, st.lists(LATEX, min_size=1, max_size=6), st.booleans())
def test_many_are_compared_as_one_is(
    tmp_path_factory: pytest.TempPathFactory,
    query: str,
    others: list[str],
    inside: bool,  # noqa: FBT001
) -> None:
    """All at once or one by one: the same scores, and outlines come back as they went."""
    folder = tmp_path_factory.mktemp("outlines")
    asked, made = outline(layout(query)), [outline(layout(other)) for other in others]
    writer = OutlinesWriter(folder)
    for one in made:
        writer.add(one)
    writer.close()
    outlines = Outlines(folder)
    found = outlines.likeness(asked, np.arange(len(made)), inside=inside)
    expected = [likeness(asked, one, inside=inside).score for one in made]
    assert found == pytest.approx(expected)
    for kind, one in enumerate(made):
        back = outlines.outline(kind)
        assert [row.tags for row in back.rows] == [row.tags for row in one.rows]
        assert [row.hanging for row in back.rows] == [row.hanging for row in one.rows]
    alike = outlines.likeness(asked, np.arange(len(made)), renamed=1.0, share=0.5)
    ones = np.zeros(len(made), np.int64)
    against = [likeness(made[0], one, renamed=1.0, share=0.5).score for one in made]
    assert (outlines.most(ones, np.arange(len(made))) >= np.array(against) - 1e-6).all()
    halves = [likeness(asked, one, renamed=1.0, share=0.5).score for one in made]
    assert alike == pytest.approx(halves)
