"""The picture of growth, and the measurements of the package, are those of the results."""

import json

import growth_plot
import plan_measurements

from eqemb.planning.measurements import Measurements, Size


def test_the_picture_is_current() -> None:
    """`python benchmarks/growth_plot.py` would write the same bytes."""
    found = json.loads(growth_plot.STAGES.read_text("utf-8"))
    assert growth_plot.PICTURE.read_text("utf-8") == growth_plot.picture(found)


def test_the_package_has_the_sizes_of_the_results() -> None:
    """Both files were written together."""
    found = json.loads(growth_plot.STAGES.read_text("utf-8"))
    shipped = Measurements.shipped()
    assert tuple(Size(**row) for row in found["sizes"]) == shipped.sizes
    assert (found["machine"], found["made"]) == (shipped.machine, shipped.made)


def test_figures_of_the_gpu_are_those_of_the_report() -> None:
    """Computed from results/gpu.json."""
    assert Measurements.shipped().gpu == plan_measurements.gpu_figures()


def test_figures_of_large_libraries_are_those_of_the_results() -> None:
    """Copied from results/large_figures.json."""
    shipped = Measurements.shipped()
    for name, rows in plan_measurements.large_figures().items():
        assert getattr(shipped, name) == rows


def test_the_documentation_names_the_largest_size() -> None:
    """What was measured for the package; change docs/scale.md with the measurements."""
    text = (growth_plot.PICTURE.parents[1] / "scale.md").read_text("utf-8")
    largest = Measurements.shipped().largest
    said = f"end at {largest.papers:,} papers with {largest.equations:,} equations"
    assert said in " ".join(text.split())


def test_every_stage_is_drawn_and_named() -> None:
    """A line with a point for each size, and the stage's name."""
    sizes = [
        {"papers": papers, "cpu_seconds": {"read": papers / 100, "text": papers / 300, "none": 0}}
        for papers in (100, 1000, 2000)
    ]
    drawn = growth_plot.picture({"machine": "m", "made": "2026", "sizes": sizes})
    assert drawn.count("<circle") == 6
    assert all(f">{name}</text>" in drawn for name in ("read", "text", "100", "1,000", "2,000"))
    assert "none" not in drawn.replace('fill="none"', "")
