"""The map after a change of the library: points stay, new ones are placed, the cost is bounded."""

import json
from collections.abc import Iterable
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from axes import make_library, make_model
from eqemb.facade import equation_map, map_update, update
from eqemb.facade.equation_map import (
    EquationMap,
    MapSummary,
    map_of,
    map_place,
    map_summary,
    stored_map,
)
from eqemb.facade.library import Library
from eqemb.facade.map_labels import count_points, update_labels
from eqemb.facade.update import add_papers, compact_library, remove_articles
from eqemb.facade.use import use_model
from synthetic import Run, paper, read_inline

TOPICS = ("entropy", "gradient", "spectrum", "kernel")


def path_of(papers: Path, number: int) -> Path:
    """Return the path of a paper."""
    return papers / "ab"[number % 2] / f"p{number:02}.tex"


@pytest.fixture
def papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Papers a/p00, b/p01 to b/p39 of four topics, the names of which are around two equations.

    One is that of the paper, the other that of its topic.
    """
    read_inline(monkeypatch)
    monkeypatch.setattr(equation_map, "find_spec", lambda _: None)  # no UMAP
    for collection in "ab":
        (tmp_path / "papers" / collection).mkdir(parents=True)
    for number in range(40):
        topic = TOPICS[number % 4]
        text = (
            rf"The {topic} of a {topic} is \[ x_{{{number}}} = {number} y \] by {topic}."
            rf" Every {topic} has \[ {topic[0]} = z^2 \] and a {topic}."
        )
        path_of(tmp_path / "papers", number).write_text(paper(text))
    return tmp_path / "papers"


def read(papers: Path, numbers: Iterable[int]) -> Library:
    """Read some papers into a library, and give it a map."""
    given = [path_of(papers, number) for number in numbers]
    library = Library.read(given, papers.parent / "library", root=papers, jobs=1, index=True)
    map_of(library)
    return library


def add(papers: Path, numbers: Iterable[int], **more: Any) -> None:
    """Add papers."""
    given = [path_of(papers, number) for number in numbers]
    add_papers(papers.parent / "library", given, jobs=1, **more)


def stored(library: Path) -> EquationMap:
    """Open a library, check its map against its content, and return the map."""
    with Library.open(library) as opened:
        made = stored_map(opened)
        assert made is not None
        engine = opened.engine
        equations, _ = equation_map.points(engine)
        assert made.equation.tolist() == equations.tolist()
        assert made.key.tolist() == equation_map.type_keys(engine, equations).tolist()
        firsts = dict(made.articles)
        for row in made.equation.tolist():
            article, _, ordinal = engine.name(row).rpartition("#")
            assert firsts[article] + int(ordinal) - 1 == row
        groups = [made.collections[at] for at in made.collection.tolist()]
        articles = [engine.name(row).rpartition("#")[0] for row in made.equation.tolist()]
        assert groups == [opened.article(name).collection for name in articles]
    counts = count_points(made.labels, np.stack((made.x, made.y), axis=1))
    assert [label["points"] for label in made.labels] == counts
    return made


def by_key(made: EquationMap) -> dict[int, tuple[int, int, bool]]:
    """Return x, y and whether it was placed, for each point by its key."""
    rows = zip(made.x.tolist(), made.y.tolist(), made.placed.tolist(), strict=True)
    return dict(zip(made.key.tolist(), rows, strict=True))


def test_points_that_stay_keep_their_places(papers: Path) -> None:
    """After additions, removals and compactions; new ones count as placed, until they go."""
    with read(papers, range(24)) as library:
        place, first = library.folder, by_key(stored(library.folder))
    assert len(first) == 28
    assert not any(placed for *_, placed in first.values())
    add(papers, range(24, 30))
    added = by_key(stored(place))
    assert first.items() <= added.items()
    assert [placed for key, (*_, placed) in added.items() if key not in first] == [True] * 6
    remove_articles(place, ["b/p03", "b/p27"])
    removed = by_key(stored(place))
    assert removed.items() < added.items()
    assert len(removed) == len(added) - 2
    compact_library(place)
    assert by_key(stored(place)) == removed
    made = stored(place)
    assert made.layout == {"generation": 1, "points": 28}
    assert made.summary[1:3] == (32, 5)


def test_compaction_changes_no_byte_of_the_map(papers: Path) -> None:
    """Because equations keep their order."""
    read(papers, range(20)).close()
    add(papers, [30])
    place = papers.parent / "library"
    before = stored(place).to_json()
    compact_library(place)
    assert stored(place).to_json() == before


def test_a_new_type_is_placed_near_similar_ones(papers: Path) -> None:
    """That is, near equations with the same words."""
    with read(papers, range(32)) as library:
        place, first = library.folder, by_key(stored(library.folder))
    add(papers, range(32, 40))
    made = stored(place)
    with Library.open(place) as opened:
        names = [opened.engine.name(row) for row in made.equation.tolist()]
    topics = np.array([int(name[3:5]) % 4 for name in names])
    places = np.stack((made.x, made.y), axis=1).astype(float)
    for point in np.flatnonzero([key not in first for key in made.key.tolist()]):
        apart = np.hypot(*(places - places[point]).T)
        apart[made.placed] = np.inf
        assert topics[apart.argmin()] == topics[point]


def test_the_cost_is_in_proportion_to_the_new_types(
    papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is compared with a sample; the vectors of other points are not read."""
    read(papers, range(30)).close()
    compared, chosen = list[tuple[int, int]](), list[int]()
    distances, vectors = map_update.squared_distances, equation_map.vectors_of

    def count_distances(new: Any, known: Any) -> Any:
        compared.append((len(new), len(known)))
        return distances(new, known)

    def count_vectors(questions: Any, point_of: Any, some: Any) -> Any:
        chosen.append(len(some))
        return vectors(questions, point_of, some)

    monkeypatch.setattr(map_update, "SAMPLE", 7)
    monkeypatch.setattr(map_update, "squared_distances", count_distances)
    monkeypatch.setattr(map_update, "vectors_of", count_vectors)
    monkeypatch.setattr(equation_map, "compute", lambda *_: pytest.fail("a new layout"))
    add(papers, range(30, 33))
    remove_articles(papers.parent / "library", "a/p04")  # nothing is new
    assert (compared, chosen) == ([(3, 7)], [3 + 7])


def test_an_interrupted_update_leaves_the_old_map_or_the_new(
    papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Resuming gives the map of an addition that was not interrupted."""
    read(papers, range(20)).close()
    place = papers.parent / "library"
    before = stored(place).to_json()

    def stop(*_: object, **_named: object) -> None:
        raise KeyboardInterrupt

    for module, name in ((EquationMap, "to_json"), (update, "write_run")):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, stop)
            with pytest.raises(KeyboardInterrupt):
                add(papers, [30], resume=True)
        assert stored(place).to_json() == before
    add(papers, [30], resume=True)
    after = stored(place).to_json()
    read(papers, range(20)).close()
    map_of(Library.open(place), recompute=True)
    add(papers, [30])
    again = stored(place).to_json()
    assert json.loads(after) | {"layout": 0} == json.loads(again) | {"layout": 0}


def test_a_reader_keeps_the_map_of_its_generation(papers: Path) -> None:
    """While the library changes."""
    with read(papers, range(20)) as library:
        before = map_of(library).to_json()
        add(papers, [30])
        assert map_place(library.generation).read_bytes() == before
        assert len(stored(library.folder).x) == len(map_of(library).x) + 1


def test_many_placed_points_outdate_the_layout(papers: Path, run: Run) -> None:
    """Then `eqemb map` computes it again, and says so; otherwise it only reports them."""
    read(papers, range(20)).close()
    place = papers.parent / "library"
    add(papers, range(20, 22))
    before = stored(place)
    told = run("map", place)
    assert "2 were placed near similar ones since the layout of 24" in told.err
    assert "26 distinct equations, 2 of them placed since the layout" in run("info", place).out
    assert stored(place).to_json() == before.to_json()
    add(papers, range(22, 28))
    assert json.loads(run("info", place, "--json").out)["map"]["placed"] == 8
    told = run("map", place)
    assert "computed again: 8 of 32 points were placed approximately" in told.err
    assert stored(place).summary[1:4] == (32, 0, {"generation": 3, "points": 32})
    assert "computed again" not in run("map", place).err
    add(papers, [30])
    assert json.loads(run("map", place, "--rebuild", "--json").out)["placed"] == 0


def test_a_better_method_outdates_the_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    """A layout by UMAP is kept where UMAP is not installed."""
    monkeypatch.setattr(equation_map, "find_spec", lambda _: None)
    assert not any(MapSummary(how, 99, 0, {}, []).outdated for how in ("pca", "umap"))
    installed = ModuleSpec("umap", None, origin="umap/__init__.py")
    monkeypatch.setattr(equation_map, "find_spec", lambda _: installed)
    assert MapSummary("pca", 99, 0, {}, []).outdated == "the method was pca"
    assert not MapSummary("umap", 99, 19, {}, []).outdated
    assert not MapSummary("pca", 5, 1, {}, []).outdated


def test_a_map_without_points_of_its_layout_is_dropped(papers: Path) -> None:
    """There is nothing to place new types by."""
    read(papers, [0]).close()
    place = papers.parent / "library"
    (papers / "other.tex").write_text(paper(r"A norm \[ n = \sqrt{a} \] of a vector."))
    add_papers(place, [papers / "other.tex"], jobs=1)
    assert stored(place).placed.tolist() == [False, False, True]
    remove_articles(place, "a/p00")
    with Library.open(place) as library:
        assert map_summary(library.generation) is None
        assert len(map_of(library).x) == 1


def test_another_model_drops_the_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The layout was by the vectors of the old one; without another model, it is kept."""
    read_inline(monkeypatch)
    with make_library(tmp_path, model=False) as library:
        folder, model = library.folder, make_model(library)
    model.config["validation"] = 0.0
    model.save(tmp_path / "model")
    use_model(folder, tmp_path / "model")
    with Library.open(folder) as library:
        before = by_key(map_of(library))
    new = tmp_path / "papers" / "new.tex"
    new.write_text(paper(r"The cosine similarity \[ \cos(u, v) = u \cdot v \] of vectors."))
    add_papers(folder, [new], jobs=1)
    assert before.items() < by_key(stored(folder)).items()
    use_model(folder, tmp_path / "model")
    with Library.open(folder) as library:
        assert stored_map(library) is None


PLACE = st.tuples(st.integers(0, 40), st.integers(0, 40))


@given(
    st.lists(st.tuples(PLACE, st.integers(0, 2)), max_size=12),
    st.lists(st.tuples(PLACE, st.sampled_from(["stay", "go", "come"])), max_size=30),
)
def test_labels_count_the_points_nearest_to_them(
    labels: list[tuple[tuple[int, int], int]], points: list[tuple[tuple[int, int], str]]
) -> None:
    """After any points come and go, as if all were counted; those without points are left out."""

    def places(*fates: str) -> Any:
        return np.array([place for place, fate in points if fate in fates]).reshape(-1, 2)

    def counted(some: list[dict[str, int]], *fates: str) -> list[dict[str, int]]:
        counts = count_points(some, places(*fates))
        return [label | {"points": n} for label, n in zip(some, counts, strict=True) if n]

    made = [{"x": x, "y": y, "level": level} for (x, y), level in labels]
    old = counted(made, "stay", "go")
    found = update_labels(old, places("go"), places("come"))
    assert found == counted(old, "stay", "come")


@given(st.data())
def test_places_are_within_the_map_and_near_neighbours(data: st.DataObject) -> None:
    """A vector that is equal to a known one, of few, is within the places of its neighbours."""
    draw = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    known = draw.normal(size=(data.draw(st.integers(1, 30)), 4))
    spots = draw.integers(0, equation_map.SIDE, (len(known), 2)).astype(float)
    new = known[: data.draw(st.integers(1, len(known)))] + draw.normal(0, 1e-3, 4)
    keys = draw.integers(0, 2**64, len(new), np.uint64)
    made = map_update.place(new, keys, known, spots)
    assert np.array_equal(made, map_update.place(new, keys, known, spots))
    apart = map_update.squared_distances(new, known)
    assert np.allclose(apart, ((new[:, None] - known) ** 2).sum(axis=2))
    nearest = spots[np.argsort(apart, axis=1)[:, : map_update._NEAREST]]
    assert (made >= np.maximum(nearest.min(axis=1) - map_update._SPREAD - 1, 0)).all()
    assert (made <= nearest.max(axis=1) + map_update._SPREAD + 1).all()
