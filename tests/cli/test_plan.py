"""The command `plan`."""

import json
from pathlib import Path

import pytest

from plan_measurements_by_hand import measurements
from synthetic import Run


def test_a_plan_with_the_figures_of_the_package(run: Run) -> None:
    """The text names them."""
    done = run("plan", "--papers", 2_500_000)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Plan for 2,500,000 papers\n")
    assert "the package's own, measure yours with `eqemb plan --measure PAPERS`" in done.out


def test_a_plan_as_json(run: Run, tmp_path: Path) -> None:
    """With the user's measurements."""
    path = tmp_path / "m.json"
    measurements().save(path)
    done = run("plan", "--papers", 1000, "--cores", 4, "--measurements", path, "--json")
    found = json.loads(done.out)
    assert found["assumptions"]["cores"] == {"value": 4, "from": "given"}
    assert found["assumptions"]["machines"] == {"value": 1, "from": "assumed"}
    assert found["assumptions"]["words_per_paper"] == {"value": 1000, "from": "measured"}
    assert found["measurements"]["machine"] == "a machine, 2 cores"
    assert found["measurements"]["shipped"] is False


def test_cores_are_those_of_the_machine_that_was_measured(run: Run, tmp_path: Path) -> None:
    """Unless they are given; the figures of the package are of another machine."""
    path = tmp_path / "m.json"
    measurements().save(path)
    done = run("plan", "--papers", 1000, "--measurements", path)
    assert "Measured: 2 cores a machine (change with --cores)" in done.out
    assert "1 machine of 2 cores:" in done.out
    done = run("plan", "--papers", 1000)
    assert "Assumed: 1 machine, 16 cores a machine, 1,000 Mbit/s" in done.out


@pytest.mark.parametrize("papers", ["2,500,000", "2_500_000", " 2500000"])
def test_large_numbers_as_people_write_them(run: Run, papers: str) -> None:
    """With commas, as the plan prints them."""
    assert run("plan", "--papers", papers).out.startswith("Plan for 2,500,000 papers\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "say how many papers: --papers 2500000"),
        (("--papers", 0), "invalid value for '--papers'"),
        (("--papers", "many"), "invalid value for '--papers'"),
        (("--papers", "1e6"), "write a whole number, such as 1000000 or 1,000,000, not 1e6"),
        (("--papers", "2,50"), "write a whole number, such as 1000000 or 1,000,000, not 2,50"),
        (("--papers", "9" * 5000), "invalid value for '--papers'"),
        (("--papers", 5, "--cores", 0), "invalid value for '--cores'"),
        (("--papers", 5, "--equations-per-paper", -1), "equations_per_paper must be"),
        (("--papers", 5, "--bandwidth", 0), "bandwidth must be"),
        (("--papers", 5, "--sample", 20), "belong to --measure: add --measure PAPERS"),
        (("--papers", 5, "-o", "x.json"), "belong to --measure: add --measure PAPERS"),
        (("--measure", "x", "--measurements", "y"), "leave out --measurements"),
        (("--measure", "missing"), "missing"),
        (("--measure", "missing", "-o", "."), ". is a folder: name the file to write"),
        (("--papers", 5, "--measurements", "missing.json"), "missing.json does not exist"),
    ],
)
def test_mistakes(run: Run, arguments: tuple[object, ...], message: str) -> None:
    """One sentence, and an exit code for wrong usage."""
    done = run("plan", *arguments)
    assert done.code in (1, 2)
    assert done.out == ""
    assert message in done.err
    assert len(done.err.splitlines()) == 1
