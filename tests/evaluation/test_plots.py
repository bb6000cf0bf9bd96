"""Plots of a grid search: content, reproducibility, and errors.

The content is tested through `charts`; files are only checked to be images.
"""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from eqemb.errors import UsageError
from eqemb.evaluation import plots

MODELS = {"words only": True, "article vector": True, "b-emb": False, "EqEmb-U": False}


def spread(mean: float) -> dict[str, float]:
    """Make a mean with an error."""
    return {"mean": mean, "se": 0.01}


def entry(collection: str, dim: int, model: str, score: float) -> dict[str, Any]:
    """Make the results of a model in a cell."""
    parts = {"test": spread(score), "validation": spread(score + 0.001)}
    tried = [
        {"window": window, "equation_window": around, "validation": score - window - around / 100}
        for window in (4, 8)
        for around in (8, 16)
    ]
    line = {"softmax": -3.09, "accuracy": 0.5}
    return {
        "collection": collection,
        "dim": dim,
        "model": model,
        "control": MODELS.get(model, False),
        "n": 1200,
        "negatives": 20,
        "seeds": [0, 1],
        "softmax": parts | {"tempered": parts, "tried": tried, "curve": [-3.0, -2.5, score]},
        "accuracy": parts,
        "chance": {"zero": line, "unigram": line | {"softmax": -3.0}},
    }


def grid_results(
    dims: tuple[int, ...] = (25, 50), models: tuple[str, ...] = tuple(MODELS)
) -> dict[str, Any]:
    """Make results of two collections; later models are better."""
    return {
        "collections": {"nlp": {}, "ir": {}},
        "results": [
            entry(collection, dim, model, -2.4 + 0.1 * rank + dim / 1000)
            for collection in ("nlp", "ir")
            for dim in dims
            for rank, model in enumerate(models)
        ],
    }


def chart(results: dict[str, Any], name: str) -> plots.Chart:
    """Return one of the plots."""
    (found,) = [chart for chart in plots.charts(results) if chart.name == name]
    return found


def lines(panel: plots.Panel) -> dict[str, list[plots.Point]]:
    """Return the points of each model."""
    return dict(panel.lines)


def test_scores_by_dimension() -> None:
    """There is a panel for each collection, with test scores, errors and chance."""
    found = chart(grid_results(), "score_by_dim-softmax")
    assert [panel.name for panel in found.panels] == ["nlp", "ir"]
    points = lines(found.panels[0])["b-emb"]
    assert points == [pytest.approx((25, -2.175, 0.01)), pytest.approx((50, -2.15, 0.01))]
    assert found.panels[1].chance == {"zero vectors": -3.09, "unigram": -3.0}
    assert "n = 1,200" in found.title_of(found.panels[0])


def test_windows_are_shown_with_their_best_equation_window() -> None:
    """The plot shows validation scores, averaged over dimensions."""
    found = chart(grid_results(), "score_by_window-softmax")
    mean = (-2.375 - 2.35) / 2
    points = lines(found.panels[0])["words only"]
    assert [(x, round(y, 6)) for x, y, _ in points] == [
        (4, round(mean - 4 - 0.08, 6)),
        (8, round(mean - 8 - 0.08, 6)),
    ]


def test_training_is_shown_at_the_largest_dimension() -> None:
    """The plot shows every model by iteration, and the score of zero vectors."""
    found = chart(grid_results(), "training-softmax")
    points = lines(found.panels[0])["EqEmb-U"]
    assert [x for x, _, _ in points] == [1, 2, 3]
    assert [y for _, y, _ in points] == pytest.approx([-3.0, -2.5, -2.05])
    assert found.panels[0].chance["zero vectors"] == pytest.approx(-math.log(21))
    assert "-3.045" in found.title_of(found.panels[0])


def test_missing_results_are_not_plotted() -> None:
    """Without a reading, a choice of windows or a curve, there is no such plot."""
    results = grid_results()
    for found in results["results"]:
        del found["softmax"]["curve"], found["accuracy"]
        found["softmax"]["tried"] = found["softmax"]["tried"][:1]
    assert [chart.name for chart in plots.charts(results)] == ["score_by_dim-softmax"]
    for found in results["results"]:
        found["logistic"] = found.pop("softmax")
        found["chance"] = {"zero": {"logistic": -1.4}, "unigram": {"logistic": -1.3}}
    assert [chart.name for chart in plots.charts(results)] == ["score_by_dim-logistic"]


def test_training_in_the_logistic_reading_has_its_own_chance() -> None:
    """Early stopping uses another score there, and zero vectors have another value."""
    results = grid_results()
    for found in results["results"]:
        found["logistic"] = found.pop("softmax")
        found["chance"]["zero"]["logistic"] = found["chance"]["unigram"]["logistic"] = -1.386
    training = chart(results, "training-logistic")
    assert training.panels[0].chance == {"zero vectors": -1.386}
    assert training.up == "validation pseudo log-likelihood"


def test_controls_are_dashed_and_few_lines_have_colours() -> None:
    """The best models and the best control have colours; the others are grey."""
    many = tuple(f"model {index}" for index in range(9))
    looks = plots.looks(grid_results(models=(*MODELS, *many))["results"])
    assert {name for name, look in looks.items() if look.dashed} == {"words only", "article vector"}
    coloured = {name: look.colour for name, look in looks.items() if not look.is_grey}
    assert set(coloured) == {"article vector", *many[2:]}
    assert len(set(coloured.values())) == len(plots.PALETTE)
    assert {look.colour for look in looks.values() if look.is_grey} == {plots.GREY}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ([0.1, 0.5], [0.1, 0.5]),
        ([0.5, 0.5], [0.45, 0.55]),
        ([0.4, 0.5, 0.5], [0.3667, 0.4667, 0.5667]),
        ([1.0, 1.0], [0.9, 1.0]),
        ([-0.2, 0.0], [0.0, 0.1]),
    ],
    ids=["apart", "together", "pushed", "at the top", "at the bottom"],
)
def test_labels_do_not_overlap(wanted: list[float], expected: list[float]) -> None:
    """Each label is as close to its line as possible, and inside the panel."""
    assert plots.spaced(wanted, 0.1) == pytest.approx(expected, abs=1e-4)


def test_plots_are_reproducible(tmp_path: Path) -> None:
    """PNG and SVG files have the same bytes, even with other matplotlib settings."""
    matplotlib = pytest.importorskip("matplotlib", reason="the extra `plot` is not installed")
    results = json.loads(json.dumps(grid_results(dims=(50,))))
    first = plots.draw(results, tmp_path / "one")
    with matplotlib.rc_context({"font.size": 20, "savefig.transparent": True}):
        second = plots.draw(results, tmp_path / "two")
    names = ["score_by_dim-softmax", "score_by_window-softmax", "training-softmax"]
    assert [path.name for path in first] == [
        f"{name}{suffix}" for name in (*names, "accuracy_by_dim") for suffix in (".png", ".svg")
    ]
    for one, other in zip(first, second, strict=True):
        head = one.read_bytes()[:20]
        assert head.startswith((b"\x89PNG", b"<?xml"))
        assert one.read_bytes() == other.read_bytes()
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == sorted(
        path.name for path in first
    )


def test_missing_matplotlib_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to install, before anything is written."""
    monkeypatch.setattr(plots, "find_spec", lambda _: None)
    with pytest.raises(UsageError, match=r"pip install 'eqemb\[plot\]'"):
        plots.draw(grid_results(), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(UsageError, match="matplotlib"):
        plots.check(tmp_path / "curve.png")
