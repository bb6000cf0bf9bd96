"""Kill changes of a library at random moments: the old or the new library is left."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from campaigns import FULL
from synthetic import start as start_python


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("change", ["build", "add", "update", "remove", "compact"])
def test_killed_change_leaves_the_old_or_the_new_library(
    change: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Resuming gives the new one, and leaves no other files."""
    script = Path(__file__).parents[1] / "kills.py"
    count, seed = (40, os.urandom(4).hex()) if FULL else (2, "0")
    environment = {"OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    with start_python(
        script, tmp_path, change, str(count), seed, environment=environment
    ) as process:
        out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    found = json.loads(out)
    record_property("cases", len(found["kills"]))
    assert found["old"] != found["new"]
    for kill in found["kills"]:
        assert kill["before"] in {found["old"], found["new"]}, seed
        assert (kill["again"], kill["after"]) == (0, found["new"]), seed
        assert kill["left"] == [
            *(
                "checksums.json",
                "manifest.json",
                "model",
                "report.html",
                "report.json",
                "run.json",
                "settings.json",
            ),
            "sources.json",
            # of segments with removed documents
            *(["summaries"] if change in {"remove", "update"} else []),
        ], seed
    assert any(kill["running"] for kill in found["kills"]), "all were killed too late"
