"""The map: positions of equations, labels of regions, storage, server and plot."""

import errno
import json
import os
import subprocess
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from axes import make_library
from eqemb.errors import EqembError, UsageError
from eqemb.facade import equation_map, map_labels
from eqemb.facade.equation_map import (
    SIDE,
    EquationMap,
    compute,
    main_axes,
    map_of,
    map_place,
    stored_map,
)
from eqemb.facade.library import Library
from synthetic import eqemb, hostile_modules, paper


@pytest.fixture
def library(tmp_path: Path) -> Library:
    """A library with a hand-made model: cosines on one axis, harmonic means on another."""
    return make_library(tmp_path)


def names(made: EquationMap) -> list[str]:
    """Return the equation name of each point, as the page finds it."""
    firsts = np.array([first for _, first in made.articles])
    rows = np.searchsorted(firsts, made.equation, side="right") - 1
    return [
        f"{made.articles[row][0]}#{place - firsts[row] + 1}"
        for row, place in zip(rows.tolist(), made.equation.tolist(), strict=True)
    ]


def test_points_are_types_and_have_names(library: Library) -> None:
    """Each has an equation of its type, and similar equations are close."""
    made = compute(library.engine)
    types = library.engine.types
    assert len(made.x) == len(set(types.tolist()))
    assert types[made.equation].tolist() == list(range(len(made.x)))
    assert made.key.tolist() == library.engine.segments.type_keys.tolist()
    assert names(made) == [library.engine.name(row) for row in made.equation.tolist()]
    at = dict(zip(names(made), zip(made.x.tolist(), made.y.tolist(), strict=True), strict=True))
    apart = np.hypot(*np.subtract(at["angles#1"], at["again#1"]))
    near = np.hypot(*np.subtract(at["angles#1"], at["documents#1"]))
    assert near < apart / 2
    assert max(made.x.max(), made.y.max()) == SIDE


def test_map_is_deterministic_and_stored(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is stored beside the index; an unreadable file is replaced."""
    first = map_of(library)
    data = map_place(library.generation).read_bytes()
    assert map_of(library, recompute=True).to_json() == first.to_json() == data
    with monkeypatch.context() as patch:
        patch.setattr(equation_map, "compute", lambda *_: pytest.fail("computed twice"))
        assert map_of(library).to_json() == data
    version = f'"format":{equation_map.MAP_FORMAT}'.encode()
    place = map_place(library.generation)
    types = (place.with_name("types.npy")).read_bytes()
    for path, broken in (
        (place, data[:50]),
        (place, b"{}"),
        (place, data.replace(version, b'"format":0')),
        (place.with_name("types.npy"), types[:-1]),
        (place.with_name("types.npy"), b""),
    ):
        path.write_bytes(broken)
        assert stored_map(library) is None
        assert map_of(library).to_json() == data
        assert place.with_name("types.npy").read_bytes() == types
    assert sorted(path.name for path in place.parent.iterdir()) == [
        *("checksums.json", "map.json", "types.npy")
    ]


def test_map_of_an_older_generation_is_not_stored(library: Library) -> None:
    """The library was changed meanwhile."""
    state = library.folder / "library.json"
    told = json.loads(state.read_text()) | {"generation": 2}
    state.write_text(json.dumps(told))
    with pytest.raises(EqembError, match="changed"):
        map_of(library)
    assert not map_place(library.generation).exists()


def test_map_without_a_model_uses_words(tmp_path: Path) -> None:
    """Equations near the same words are close."""
    with make_library(tmp_path, model=False) as bare:
        equations, point_of = equation_map.points(bare.engine)
        vectors = equation_map.vectors_of(bare.engine, point_of, np.arange(len(equations)))
        assert len(map_of(bare).x) == len(vectors) == 4
        some = equation_map.vectors_of(bare.engine, point_of, np.array([3, 1]))
        assert np.allclose(some, vectors[[3, 1]])
    harmonic, _, angles, documents = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert angles @ documents > angles @ harmonic + 0.1


def test_map_without_equations_is_an_error(tmp_path: Path) -> None:
    """The message says why."""
    (tmp_path / "a.tex").write_text(r"\documentclass{article}\begin{document}Words.\end{document}")
    with (
        Library.read([tmp_path / "a.tex"], tmp_path / "library", jobs=1, index=True) as empty,
        pytest.raises(UsageError, match="no equations"),
    ):
        map_of(empty)


def test_main_axes_are_principal_components() -> None:
    """In order, with a fixed sign, and zero beyond the dimension of the data."""
    draw = np.random.default_rng(1)
    hidden = draw.normal(size=(500, 2)) * (5, 2)
    turned, _ = np.linalg.qr(draw.normal(size=(6, 6)))
    found = main_axes(hidden @ turned[:2], 2)
    centred = hidden - hidden.mean(axis=0)
    for axis in range(2):
        assert abs(np.corrcoef(found[:, axis], centred[:, axis])[0, 1]) > 0.99
    assert np.allclose(main_axes(hidden @ -turned[:2], 2), found) or np.allclose(
        main_axes(hidden @ -turned[:2], 2), -found
    )
    assert main_axes(np.ones((4, 1)), 2).tolist() == [[0.0, 0.0]] * 4


def test_outliers_do_not_squeeze_other_points() -> None:
    """They are moved closer, and stay outside."""
    places = np.random.default_rng(0).uniform(size=(1000, 2))
    places[0] = (500.0, 0.5)
    scaled = equation_map._scaled(places).astype(float)
    assert scaled[0, 0] == scaled[:, 0].max()
    assert np.ptp(scaled[1:, 0]) > 0.7 * SIDE


def test_regions_follow_the_points() -> None:
    """Four clusters are four regions."""
    draw = np.random.default_rng(0)
    heaps = np.repeat(np.array([(0, 0), (0, 9), (9, 0), (9, 9)]), 50, axis=0)
    parts = list(map_labels._regions(heaps + draw.normal(0, 0.3, heaps.shape), 4))
    assert sorted(part.argmax() for part in parts) == [0, 50, 100, 150]
    assert all(part.sum() == 50 for part in parts)


def test_labels_distinguish_regions() -> None:
    """A word of every region labels none."""
    said = [
        {"mean": 0.5, "cosine": 0.4, "angle": 0.1},
        {"mean": 0.6, "recall": 0.4},
        {"mean": 0.7, "loss": 0.2, "weight": 0.1},
    ]
    found = [words[0] for words in map_labels._distinctive_stems(said)]
    assert found == ["cosine", "recall", "loss"]
    # there are no others
    assert list(map_labels._distinctive_stems([{"a": 0.3, "b": 0.7}])) == [["b", "a"]]


@pytest.mark.skipif(find_spec("umap") is not None, reason="umap-learn is installed")
def test_a_folder_that_umap_left_is_not_taken_for_umap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An uninstallation leaves the folders of compiled functions."""
    (tmp_path / "umap/__pycache__").mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path)
    assert equation_map.method(100) == "pca"


def test_umap_keeps_neighbours_and_is_deterministic() -> None:
    """If it is installed."""
    pytest.importorskip("umap", reason="umap-learn is not installed")
    draw = np.random.default_rng(0)
    heaps = np.repeat(np.eye(3, 20), 20, axis=0) + draw.normal(0, 0.02, (60, 20))
    places = equation_map._umap(heaps)
    assert np.array_equal(places, equation_map._umap(heaps))
    of = np.repeat(np.arange(3), 20)
    for point in range(60):
        others = np.linalg.norm(places - places[point], axis=1).argsort()[1:6]
        assert (of[others] == of[point]).all()


def test_command_computes_and_plots_the_map(library: Library, tmp_path: Path) -> None:
    """Once, with a picture on request."""
    pytest.importorskip("matplotlib")
    picture = tmp_path / "map.png"
    done = eqemb("map", library.folder, "--png", picture, "--json")
    assert done.returncode == 0, done.stderr
    made = stored_map(library)
    assert made is not None
    assert json.loads(done.stdout)["points"] == len(made.x)
    assert picture.read_bytes().startswith(b"\x89PNG")
    done = eqemb("map", library.folder, "--png", tmp_path / "map.doc")
    assert (done.returncode, ".png" in done.stderr) == (2, True)


# ------------------------------------------------------------ served


def test_map_is_served(library: Library) -> None:
    """Before and after it exists; then pages link to it, and queries highlight points."""
    client = pytest.importorskip("fastapi.testclient")
    from eqemb.server import schemas
    from eqemb.server.app import make_app

    app = make_app(library.folder)
    with client.TestClient(app, base_url="http://localhost") as asked:
        assert asked.get("/map").status_code == asked.get("/v1/map").status_code == 404
        before = asked.get("/")
        assert 'href="/map"' not in before.text
        made = map_of(library)
        assert asked.get("/v1/stats").json()["map"] is True
        after = asked.get("/", headers={"If-None-Match": before.headers["etag"]})
        assert 'href="/map"' in after.text
        answer = asked.get("/v1/map")
        schemas.MapSchema.model_validate(answer.json())
        assert answer.content == made.to_json()
        tag = {"If-None-Match": answer.headers["etag"]}
        assert asked.get("/v1/map", headers=tag).status_code == 304
        made._replace(labels=[]).save(library.generation)
        changed = asked.get("/v1/map", headers=tag)
        assert (changed.status_code, changed.json()["labels"]) == (200, [])
        assert map_of(library, recompute=True).to_json() == made.to_json()
        lit = asked.get("/v1/map/hits?q=cosine+similarity").json()
        schemas.MapHitsSchema.model_validate(lit)
        assert names(made)[lit["points"][0]] in ("angles#1", "documents#1")
        assert lit["scores"] == sorted(lit["scores"], reverse=True)
        assert lit["scores"][0] == 1
        formula = asked.get("/v1/map/hits", params={"q": r"$F = \frac{2PR}{P+R}$"}).json()
        assert names(made)[formula["points"][0]] in ("harmonic#1", "again#1")
        assert asked.get("/v1/map/hits?q=").status_code == 400
        page = asked.get("/map?q=cosine")
        assert 'data-query="cosine"' in page.text
        first = asked.get("/v1/search?q=cosine").json()["hits"][0]["id"]
        assert f'href="/equation?name={first.replace("#", "%23")}' in page.text
        refused = asked.get("/map", params={"q": "(" * 50})
        assert refused.status_code == 400
        assert "50 deep" in refused.text
        assert "<canvas" in refused.text


def test_server_computes_a_missing_map(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once; meanwhile its page says so."""
    testing = pytest.importorskip("fastapi.testclient")
    from eqemb.server import map_worker
    from eqemb.server.app import make_app

    monkeypatch.setattr(map_worker, "CHECK_INTERVAL", 0.05)
    niceness = list[int]()
    monkeypatch.setattr(os, "setpriority", lambda *given: niceness.append(given[2]))
    map_place(library.generation).parent.mkdir()
    map_place(library.generation).write_text('{"format": 0}')  # of another version
    app = make_app(library.folder, draws=True)
    with testing.TestClient(app, base_url="http://localhost") as asked:
        waiting = asked.get("/map")
        assert (waiting.status_code, waiting.headers["refresh"]) == (202, "5")
        assert "being created" in waiting.text
        assert asked.get("/v1/map").status_code == 404
        assert asked.get("/v1/stats").json()["map"] is False
        wait_until(lambda: stored_map(library) is not None)
        assert "<canvas" in asked.get("/map").text
        assert "refresh" not in asked.get("/map").headers
    assert niceness == [19]
    monkeypatch.setattr(
        subprocess, "Popen", lambda *_args, **_named: pytest.fail("there is a map already")
    )
    other = map_worker.MapWorker(library.folder)
    time.sleep(0.2)
    assert other._thread.is_alive()
    other.close()
    assert not other._thread.is_alive()


def test_server_serves_an_outdated_map_and_replaces_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page says how many points were placed, until the layout is computed again."""
    testing = pytest.importorskip("fastapi.testclient")
    from eqemb.facade.update import add_papers
    from eqemb.server import map_worker, schemas
    from eqemb.server.app import make_app

    monkeypatch.setattr(map_worker, "CHECK_INTERVAL", 0.05)
    with make_library(tmp_path, model=False) as library:
        place, points = library.folder, len(map_of(library).x)
    client = testing.TestClient(make_app(place), base_url="http://localhost")
    assert "placed near" not in client.get("/map").text
    for name, latex in (("norm", r"n = \sqrt{a}"), ("trace", r"t = \sum_i a_{ii}")):
        (tmp_path / "papers" / f"{name}.tex").write_text(paper(rf"The {name} is \[ {latex} \]."))
    add_papers(place, [tmp_path / "papers"], jobs=1)
    assert f"2 of {points + 2} equations are new" in client.get("/map").text
    served = client.get("/v1/map").json()
    schemas.MapSchema.model_validate(served)
    assert (served["placed"], served["layout"]) == (2, {"generation": 1, "points": points})
    with Library.open(place) as changed:
        made = stored_map(changed)
        assert made is not None
        lit = client.get("/v1/map/hits?q=trace").json()["points"]
        assert names(made)[lit[0]] == "trace#1"
        maker = map_worker.MapWorker(place)
        assert not maker.is_pending
        wait_until(lambda: client.get("/v1/map").json()["placed"] == 0)
        maker.close()
    assert client.get("/v1/map").json()["layout"] == {"generation": 2, "points": points + 2}
    assert "placed near" not in client.get("/map").text


def test_map_that_cannot_be_computed_is_tried_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The log says why, and the page that there is none; a changed library is tried again."""
    pytest.importorskip("fastapi")
    from eqemb.facade.update import add_papers
    from eqemb.server import map_worker

    (tmp_path / "a.tex").write_text(paper("Words."))
    place = tmp_path / "library"
    Library.read([tmp_path / "a.tex"], place, jobs=1, index=True).close()
    monkeypatch.setattr(map_worker, "CHECK_INTERVAL", 0.05)
    maker = map_worker.MapWorker(place)
    wait_until(lambda: not maker.is_pending)
    time.sleep(0.3)
    assert [record.message for record in caplog.records] == [
        "cannot create the map: eqemb: cannot compute a map: the library has no equations"
    ]
    state = (place / "library.json").read_text()
    (place / "library.json").write_text("{")  # the server continues to watch it
    time.sleep(0.2)
    (place / "library.json").write_text(state)
    (tmp_path / "b.tex").write_text(paper(r"An eigenvalue \[ Ax = \lambda x \] is real."))
    add_papers(place, [tmp_path / "b.tex"], jobs=1)
    with Library.open(place) as changed:
        wait_until(lambda: stored_map(changed) is not None)
    maker.close()


def test_map_process_ignores_modules_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server may be started in a folder of papers that contains a numpy.py."""
    pytest.importorskip("fastapi")
    from eqemb.server import map_worker

    (tmp_path / "a.tex").write_text(paper("Words."))
    Library.read([tmp_path / "a.tex"], tmp_path / "library", jobs=1, index=True).close()
    hostile_modules(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(map_worker, "CHECK_INTERVAL", 0.05)
    maker = map_worker.MapWorker(tmp_path / "library")
    wait_until(lambda: not maker.is_pending)
    maker.close()
    assert not (tmp_path / "executed").exists()


def test_map_process_that_cannot_start_is_tried_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The log says why; the server continues to watch the library."""
    pytest.importorskip("fastapi")
    from eqemb.server import map_worker

    (tmp_path / "a.tex").write_text(paper("Words."))
    Library.read([tmp_path / "a.tex"], tmp_path / "library", jobs=1, index=True).close()

    def fail(*_args: object, **_named: object) -> None:
        raise OSError(errno.ENOMEM, "no memory")

    monkeypatch.setattr(map_worker, "CHECK_INTERVAL", 0.05)
    monkeypatch.setattr(subprocess, "Popen", fail)
    maker = map_worker.MapWorker(tmp_path / "library")
    wait_until(lambda: not maker.is_pending)
    monkeypatch.setattr(map_worker, "read_state", fail)
    time.sleep(0.3)
    assert not maker.is_pending
    assert [record.message for record in caplog.records] == [
        f"cannot create the map: [Errno {errno.ENOMEM}] no memory"
    ]
    assert maker._thread.is_alive()
    maker.close()


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait for a condition, at most a minute."""
    for _ in range(600):
        if is_so():
            return
        time.sleep(0.1)
    pytest.fail("it did not happen")
