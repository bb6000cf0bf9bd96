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
    assert found["assumptions"]["cores"] == {"value": 4, "from": "you"}
    assert found["measurements"]["machine"] == "a machine, 2 cores"
    assert found["measurements"]["shipped"] is False


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "say how many papers: --papers 2500000"),
        (("--papers", 0), "invalid value for '--papers'"),
        (("--papers", "many"), "invalid value for '--papers'"),
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
