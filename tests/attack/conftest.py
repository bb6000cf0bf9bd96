"""The table at the end of `make attack`: how many cases of each kind passed and failed.

The kind is the name of the file: test_damage.py attacks by "damage". A test is one case. A test
that tries many cases says how many: `record_property("cases", 500)`. One failure fails them all.
"""

from collections import Counter
from typing import Any

import pytest


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print a line for each kind of attack."""
    passed, failed, skipped = (
        _count(terminalreporter.stats, outcomes)
        for outcomes in (("passed",), ("failed", "error"), ("skipped",))
    )
    kinds = sorted({*passed, *failed, *skipped})
    if not kinds:
        return
    terminalreporter.section("attacks")
    terminalreporter.write_line(f"{'kind':<16}{'cases':>10}{'passed':>10}{'failed':>10}")
    for kind in kinds:
        cases = passed[kind] + failed[kind]
        line = f"{kind:<16}{cases:>10,}{passed[kind]:>10,}{failed[kind]:>10,}"
        note = f"  ({skipped[kind]:,} tests skipped)" if skipped[kind] else ""
        terminalreporter.write_line(line + note)


def _count(stats: dict[str, list[Any]], outcomes: tuple[str, ...]) -> "Counter[str]":
    """Count the cases with an outcome, by kind."""
    found: Counter[str] = Counter()
    for outcome in outcomes:
        for report in stats.get(outcome, []):
            kind = _kind(report)
            if kind is not None:
                found[kind] += dict(getattr(report, "user_properties", ())).get("cases", 1)
    return found


def _kind(report: pytest.TestReport) -> str | None:
    """Return the kind of an attack; None for a test that is none."""
    folder, _, rest = report.nodeid.rpartition("attack/test_")
    return rest.partition(".py")[0].replace("_", " ") if folder else None
