"""The structure index: renamed equations, parts of equations, patterns, families."""

import math
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eqemb.errors import UsageError
from eqemb.formula import Layout, layout
from eqemb.formula.likeness import Outline, likeness, outline
from eqemb.formula.normal_form import normal_form
from eqemb.formula.shapes import form, shapes
from eqemb.formula.tree import Unit
from eqemb.index import families
from eqemb.index.alignment import AlignmentIndex, AlignmentWriter
from eqemb.index.segments import IndexSegments, SegmentSource
from eqemb.index.structure import (
    EQUAL_SCORE,
    OVERLAP,
    StructureIndex,
    StructureMatches,
)
from eqemb.index.structure_writer import index_structure
from eqemb.library.database import Records
from eqemb.library.rows import from_article
from few_articles import DEMO
from synthetic import article, equation

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


def written(folder: Path, articles: list[list[str]], removed: Sequence[int] = ()) -> SegmentSource:
    """Index a segment of articles with these equations."""
    folder.mkdir(exist_ok=True)
    records = Records(folder / "records.sqlite", write=True)
    for equations in articles:
        made = [layout(latex) for latex in equations]
        units = [tuple("\t".join(unit) for unit in one.units()) for one in made]
        forms = [(one.canonical(), found) for one, found in zip(made, units, strict=True)]
        rows = [equation(at, latex=x, expanded=x) for at, x in enumerate(equations, 1)]
        records.add(from_article(article("a", *rows), 0, b"", forms))
    records.finish()
    opened = Records(folder / "records.sqlite")
    table = [(*row[:3], 0, -1) for row in opened.equation_index()]
    np.save(folder / "equations.npy", np.array(table, np.int32).reshape(-1, 5))
    index_structure(opened, folder)
    opened = Records(folder / "records.sqlite", removed=removed)
    return SegmentSource(folder.name, folder, opened, removed)


def indexed(folder: Path, *parts: list[str]) -> StructureIndex:
    """Return an index with these equations as types, in one segment or several."""
    sources = [written(folder / str(at), [part]) for at, part in enumerate(parts)]
    return StructureIndex(IndexSegments(sources))


def families_of(made: StructureIndex) -> list[list[int]]:
    """Return the family of each type."""
    return [made.families.members(kind) for kind in range(len(made))]


@pytest.fixture(scope="module")
def structure(tmp_path_factory: pytest.TempPathFactory) -> StructureIndex:
    """A small library of formulas."""
    return indexed(tmp_path_factory.mktemp("library"), EQUATIONS)


def first(found: StructureMatches) -> str:
    """Return the best type."""
    return EQUATIONS[int(found.types[0])]


@pytest.mark.parametrize("latex", EQUATIONS[:-1])
def test_an_equation_finds_itself_first(structure: StructureIndex, latex: str) -> None:
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
def test_renamed_equations_are_found(structure: StructureIndex, query: str, equation: int) -> None:
    """Their letters share nothing with the query's."""
    assert first(structure.find(query)) == EQUATIONS[equation]


@pytest.mark.parametrize(
    ("part", "equation"),
    [(r"\|x\| \|y\|", 1), ("1 + e^{-x}", 2), ("y_i - w^T x_i", 5), (r"\nabla L(\theta_t)", 9)],
)
def test_parts_are_found_in_the_whole(structure: StructureIndex, part: str, equation: int) -> None:
    """Arguments of fractions and fences, terms, sides."""
    found = structure.find(part)
    assert first(found) == EQUATIONS[equation]
    assert found.scores[0] > 0.6


def test_only_allowed_types_are_found(structure: StructureIndex) -> None:
    """Filters apply before the ranking."""
    allowed = np.ones(len(structure), bool)
    allowed[0] = False
    assert 0 not in structure.find(EQUATIONS[0], allowed).types
    assert 0 not in structure.find(r"F = \frac{2 ?p ?r}{?s}", allowed).types
    assert len(structure.find(EQUATIONS[0], ~np.ones(len(structure), bool)).types) == 0


def overlap(query: Layout, other: Layout, library: Sequence[Layout]) -> float:
    """Return the weighted Dice coefficient of two equations as it is defined."""
    every = [Counter(made.units()) for made in library]
    one, two = Counter(query.units()), Counter(other.units())

    def weight(units: Counter[Unit]) -> float:
        sizes = {unit: sum(unit in some for some in every) for unit in units}
        rare = {unit: (len(every) - n + 0.5) / (n + 0.5) for unit, n in sizes.items()}
        return sum(n * math.log1p(rare[unit]) for unit, n in units.items())

    total = weight(one) + weight(two)
    return 2 * weight(one & two) / total if total else 0.0


def test_scores_are_means_of_likeness_and_overlap(structure: StructureIndex) -> None:
    """Each is the mean over two views, as written and in normal form; likeness is given alone."""
    query = layout(r"p(x|y) = \frac{p(x, y)}{p(y)}")
    found = structure.find(query, count=len(EQUATIONS))
    assert len(found.types) > 5
    made = [layout(latex) for latex in EQUATIONS]
    views = ((query, made), (normal_form(query), [normal_form(one) for one in made]))
    for kind, score, alike in zip(found.types, found.scores, found.likeness, strict=True):
        both = [structure.compare(asked, every[kind]).score for asked, every in views]
        assert alike == pytest.approx(sum(both) / 2)
        shared = sum(overlap(asked, every[kind], every) for asked, every in views) / 2
        assert score == pytest.approx((1 - OVERLAP) * alike + OVERLAP * shared, abs=1e-4)


def test_an_equation_is_found_however_it_is_written(tmp_path: Path) -> None:
    """What is equal in normal form comes right after what is equal as it stands."""
    others = [f"p_i = {number} + e^{{z_i}}" for number in range(2, 9)]
    equations = [*others, r"p_i = \frac{e^{z_i}}{\sum_j e^{z_j}}", r"p_i = \frac{z_i}{\sum_j z_j}"]
    made = indexed(tmp_path, equations)
    found = made.find(r"p_i = \exp(z_i) / \sum_j \exp(z_j)", count=3)
    assert found.types[0] == 7
    assert found.scores[0] == EQUAL_SCORE > found.scores[1]
    assert made.find(equations[7], count=1).scores[0] == pytest.approx(1)


def test_an_index_without_normal_forms_is_searched_as_written(tmp_path: Path) -> None:
    """As one that an older version wrote: equal equations are found, other writings are not."""
    equations = [r"\frac{a}{b + 1}", "x + y"]
    source = written(tmp_path / "0", [equations])
    for path in source.folder.glob("normal*"):
        path.unlink()
    older = StructureIndex(IndexSegments([source]))
    assert older.normal is None
    assert older.find(equations[0], count=1).types.tolist() == [0]
    assert len(older.rewritten(layout("a / (b + 1)"))) == 0


def test_names_are_never_renamed(tmp_path: Path) -> None:
    """A name of several letters stands for no other name and for no letter."""
    equations = [rf"{name}(a, b) = \log N" for name in (r"\mathrm{PMI}", "q", r"\mathrm{tf}")]
    made = indexed(tmp_path, equations)
    found = made.find(r"\mathrm{tf}(x, y) = \log N", count=3)
    assert found.types[0] == 2
    names = [made.compare(layout(r"\mathrm{tf}(x, y)"), layout(one)).names for one in equations]
    assert not any(name == "V!tf" for every in names for name in every)


def test_rare_letters_decide_among_renamings(tmp_path: Path) -> None:
    """The letters that the query has count more the fewer equations have them."""
    common = [f"x = y + {number}" for number in range(3, 30)]
    made = indexed(tmp_path, [*common, "x = y + a b", r"u = v + \eta \psi"])
    found = made.find(r"x = y + \eta \psi", count=2)
    assert found.types.tolist() == [28, 27]
    assert found.likeness[0] == pytest.approx(found.likeness[1])


def test_the_requested_number_is_returned(structure: StructureIndex) -> None:
    """Even if the library does not have all of its symbols."""
    found = structure.find(r"p(a|b) = \Xi", count=3)
    assert len(found.types) == len(found.scores) == 3


@pytest.mark.parametrize("query", ["", r"\quad"])
def test_an_empty_query_is_refused(structure: StructureIndex, query: str) -> None:
    """It contains no symbol."""
    with pytest.raises(UsageError, match="no symbol"):
        structure.find(query)


def test_patterns_are_matched(structure: StructureIndex) -> None:
    """Only matches are found; the same wildcard matches the same."""
    found = structure.find(r"p(?x|?y) = \frac{p(?y|?x) p(?x)}{p(?y)}")
    assert sorted(found.types) == [3, 4]
    assert found.note == ""
    assert sorted(structure.find(r"\frac{?x}{?y}").types) == [0, 1, 2, 3, 4]
    assert list(structure.find(r"\|?x\| \|?x\|").types) == []
    assert list(structure.find(r"\zeta(?x)^{77}").types) == []


def test_filters_apply_before_limits(tmp_path: Path) -> None:
    """A pattern without shapes matches nearly everything; allowed types are still found."""
    many = indexed(tmp_path, [f"x = {number}" for number in range(600)])
    allowed = np.zeros(len(many), bool)
    allowed[-1] = True
    found = many.find("?x = ?y", allowed)
    assert list(found.types) == [599]
    assert found.note == ""
    assert "500 of 600 equations" in many.find("?x = ?y", count=501).note


def test_a_piece_is_contained_in_one_place(tmp_path: Path) -> None:
    """With its symbols joined; scattered units are not enough."""
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
        assert np.flatnonzero(some.containing(layout(piece))).tolist() == expected, piece


def test_patterns_without_symbols_are_refused(structure: StructureIndex) -> None:
    """They would match everything."""
    with pytest.raises(UsageError, match="at least one symbol"):
        structure.find("?x ?y")


def test_a_note_says_what_was_skipped(tmp_path: Path) -> None:
    """Equations that a pattern matches in too many ways."""
    long = indexed(tmp_path, ["x" * 150 + "=y" + "+z" * n for n in range(3)])
    found = long.find(" ".join(f"?w{n}" for n in range(10)) + "=?w3?w2")
    assert list(found.types) == []
    assert "3 equations were skipped" in found.note


def test_an_empty_library_has_no_matches(tmp_path: Path) -> None:
    """And no families."""
    empty = indexed(tmp_path, [])
    assert len(empty.find("x+y").types) == len(empty.find("?x+y").types) == 0
    assert families_of(empty) == []


# ------------------------------------------------------------ families


def test_long_renamings_are_a_family(structure: StructureIndex) -> None:
    """Short equations are one family only if alphabets alone differ."""
    expected = [[kind] for kind in range(len(EQUATIONS))]
    expected[3] = expected[4] = [3, 4]
    expected[6] = expected[7] = [6, 7]
    assert families_of(structure) == expected


def test_alphabets_do_not_split_families(tmp_path: Path) -> None:
    """Even if x and bold x become one letter."""
    made = indexed(
        tmp_path,
        [
            r"y = a x + b \mathbf{x} + c",
            r"z = a x + b \mathbf{x} + d",  # a renaming of the first
            r"\mathbf{z} = a \mathbf{x} + b \mathbf{x} + d",  # but for alphabets the second
            r"y = a x + b x - c",
        ],
    )
    assert families_of(made) == [[0, 1], [0, 1, 2], [1, 2], [3]]


LONG = (
    r"L(\theta) = \frac{1}{N} \sum_{i=1}^{N} \log p(x_i | \theta)"
    r" + \lambda \| \theta \|^2 + \mu \sum_{j} \frac{|\theta_j|}{1 + |\theta_j|}"
)


def test_long_nearly_equal_equations_are_a_family(tmp_path: Path) -> None:
    """One symbol more makes no new family, another term does."""
    others = [
        LONG + "_1",
        LONG.replace("x_i", "z_k").replace("i=1", "k=1"),
        LONG + r" - \frac{a}{b + c} \exp(-d)",
        "x+y=1",
        "x-y=1",
    ]
    made = indexed(tmp_path, [LONG, *others])
    assert families_of(made) == [[0, 1, 2], [0, 1, 2], [0, 1, 2], [3], [4], [5]]


def test_families_do_not_drift(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every member is compared with the equation itself, and both agree on it."""
    chain = [LONG + "".join(f" + a_{{{n}}}" for n in range(more)) for more in range(6)]
    monkeypatch.setattr(families, "NEAR_LIKENESS", 0.93)
    found = families_of(indexed(tmp_path, chain))
    assert found[0][:2] == [0, 1]
    assert 5 not in found[0]
    assert all(kind in found[other] for kind, members in enumerate(found) for other in members)


def test_families_span_segments(tmp_path: Path) -> None:
    """With a type that several segments have, its renamings and what is nearly equal to it."""
    renamed = LONG.replace("x_i", "z_k").replace("i=1", "k=1")
    made = indexed(tmp_path, [LONG, "x+y=1"], [LONG + "_1", "x-y=1"], [], [renamed, LONG, "x+y=1"])
    near = [0, 2, 4, 5]
    assert families_of(made) == [near, [1, 6], near, [3], near, near, [1, 6]]


def test_removed_equations_are_in_no_family(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor do they count among those that are compared."""
    others = [f"{LONG}_{{{number}}}" for number in range(8)]
    monkeypatch.setattr(families, "MAX_COMPARED", 2)
    kept = StructureIndex(IndexSegments([written(tmp_path / "kept", [[LONG], others[:2]])]))
    articles = [[LONG], others[2:], others[:2]]
    made = StructureIndex(IndexSegments([written(tmp_path / "made", articles, [1])]))
    assert kept.families.members(0) == [0, 1, 2]
    assert made.families.members(0) == [0, 7, 8]
    # a type that one removed article has and another article too
    some = [written(tmp_path / str(at), [["a=b"], ["a=b"], ["c=d"]], gone) for at, gone in
            enumerate([(), (0,), (0, 1)])]  # fmt: skip
    both = StructureIndex(IndexSegments(some))
    assert both.families.members(0) == [0, 2]
    assert [len(found) for found in families_of(both)[:4]] == [2, 3, 2, 3]


def long_variants() -> Iterator[tuple[Layout, Layout]]:
    """Yield long equations of the demo, each with others of which one symbol differs."""
    dice = random.Random(0)
    display = re.compile(r"\\begin\{equation\*?\}(.*?)\\end\{equation", re.DOTALL)
    for path in sorted(DEMO.rglob("*.tex")):
        for latex in display.findall(path.read_text("utf-8")):
            made = layout(re.sub(r"\\label\{.*?\}", "", latex))
            if len(made.nodes()) < families.NEAR_FROM:
                continue
            places = [at.start() for at in re.finditer(r"(?<![\\\w{])[a-zA-Z](?!\w)", latex)]
            for at in dice.sample(places, min(4, len(places))):
                more = dice.choice(["q", "7", "q + ", latex[at] + "_q", latex[at] + "'"])
                yield made, layout(latex[:at] + more + latex[at + 1 :])


def test_nearly_equal_equations_share_a_band() -> None:
    """Nearly always: otherwise they would not be compared."""
    found = {True: 0, False: 0}
    for one, other in long_variants():
        alike = likeness(outline(one), outline(other), renamed=1.0, share=0.5).score
        if alike >= families.NEAR_LIKENESS and len(other.nodes()) >= families.NEAR_FROM:
            bands = [set(families.near_keys(made, shapes(made))) for made in (one, other)]
            found[bool(bands[0] & bands[1])] += 1
    assert found[True] + found[False] > 100
    assert found[True] >= 0.95 * (found[True] + found[False]), found


def test_short_equations_have_no_bands(structure: StructureIndex) -> None:
    """And unlike ones share none."""
    made = [layout(latex) for latex in (LONG, LONG[::-1].replace("}", "").replace("{", ""))]
    one, other = (set(families.near_keys(each, shapes(each))) for each in made)
    assert len(one) == families.BANDS
    assert not one & other
    assert families.near_keys(structure.layout(0), shapes(structure.layout(0))) == []


# ------------------------------------------------------------ selection


@given(
    values=st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=30),
    copies=st.lists(st.tuples(st.integers(0, 29), st.booleans()), max_size=80),
    count=st.integers(1, 40),
)
def test_the_best_types_are_those_of_a_full_sort(
    values: list[float], copies: list[tuple[int, bool]], count: int
) -> None:
    """Each key once, ties by key, however many copies of it are allowed."""
    of_key = {2**63 + 7 * at % 31: value for at, value in enumerate(values)}
    keys, names = list(of_key), list(of_key)
    estimate = list(of_key.values())
    for at, is_allowed in copies:
        keys.append(names[at % len(names)])
        estimate.append(of_key[keys[-1]] if is_allowed else 0.0)
    index = cast("StructureIndex", SimpleNamespace(segments=SimpleNamespace(
        type_keys=np.array(keys, np.uint64))))  # fmt: skip
    scores = np.array(estimate, np.float32)
    some = np.flatnonzero(scores > 0)
    found = some[StructureIndex._best(index, some, scores[some], count)]
    ranked = sorted((-value, number) for number, value in of_key.items() if value > 0)
    assert [keys[kind] for kind in found.tolist()] == [number for _, number in ranked[:count]]
    assert [estimate[kind] for kind in found.tolist()] == [-value for value, _ in ranked[:count]]


# ------------------------------------------------------------ what it is made of


def test_shapes_and_forms_ignore_letters() -> None:
    """For one-to-one renamings; another pattern of letters is another form."""
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


def outlines_of(folder: Path, outlines: Sequence[Outline]) -> SegmentSource:
    """Write outlines as the types of a segment."""
    writer = AlignmentWriter(folder)
    for one in outlines:
        writer.add(one)
    writer.close()
    np.save(folder / "equations.npy", np.zeros((0, 5), np.int32))
    np.save(folder / "types.ids.npy", np.arange(len(outlines), dtype=np.uint64))
    return SegmentSource("x", folder, cast("Records", SimpleNamespace(documents=0)))


@given(LATEX, st.lists(LATEX, min_size=1, max_size=6), st.booleans())
@example(  # rows of the same symbols, with and without others attached to them
    query="xy_{z_{yy}}z_{y_{z}}",
    others=["z_{y_{yy}x_{yz}}xzy_{y}", "x_{z_{yz}i_{xx}}y"],
    inside=True,
)
def test_bulk_likeness_equals_the_definition(
    tmp_path_factory: pytest.TempPathFactory,
    query: str,
    others: list[str],
    inside: bool,  # noqa: FBT001
) -> None:
    """All at once or one by one, from one segment or two: the same scores and outlines."""
    asked, made = outline(layout(query)), [outline(layout(other)) for other in others]
    sources = [
        outlines_of(tmp_path_factory.mktemp("outlines"), part) for part in (made[:2], made[2:])
    ]
    outlines = AlignmentIndex(IndexSegments(sources))
    found = outlines.likeness(asked, np.arange(len(made)), inside=inside)
    expected = [likeness(asked, one, inside=inside).score for one in made]
    assert found == pytest.approx(expected)
    for kind, one in enumerate(made):
        back = outlines.outline(kind)
        assert [row.tags for row in back.rows] == [row.tags for row in one.rows]
        assert [row.hanging for row in back.rows] == [row.hanging for row in one.rows]
    alike = outlines.likeness(asked, np.arange(len(made)), renamed=1.0, share=0.5)
    against = [likeness(made[0], one, renamed=1.0, share=0.5).score for one in made]
    assert (outlines.upper_bound(0, np.arange(len(made))) >= np.array(against) - 1e-6).all()
    halves = [likeness(asked, one, renamed=1.0, share=0.5).score for one in made]
    assert alike == pytest.approx(halves)
    source = outlines_of(tmp_path_factory.mktemp("outlines"), made)
    whole = AlignmentIndex(IndexSegments([source]))
    assert whole.likeness(asked, np.arange(len(made)), inside=inside).tolist() == found.tolist()
