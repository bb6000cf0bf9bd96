"""Bad queries: no door shows a traceback, fails, or lists junk without saying so."""

import sys
from pathlib import Path

import pytest

from axes import make_library

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from bad_queries import ask, read_queries


def test_forty_bad_queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever they are, the doors agree; a small library may have no answer to repaired ones."""
    monkeypatch.delenv("EQEMB_LIBRARY", raising=False)
    make_library(tmp_path).close()
    queries = [
        query if query.ends in ("refused", "none") else query._replace(ends="any")
        for query in read_queries()
    ]
    assert len(queries) == 40
    said = list(ask(tmp_path / "library", queries))
    assert not {each.query.text: each.problems for each in said if each.problems}
    assert any(each.exit_status == 0 for each in said)
