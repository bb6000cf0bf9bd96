"""A plan as text."""

import pytest

from eqemb.planning.estimate import make_plan
from eqemb.planning.plan import Assumptions
from eqemb.planning.render import plan_text
from eqemb.planning.texts import count, gigabytes, number, span
from plan_measurements_by_hand import measurements


def test_a_plan_reads_from_assumptions_to_purchases() -> None:
    """One table, the sources, what bounds, what to buy."""
    defaults = frozenset({"cores", "bandwidth"})
    given = Assumptions(1_000_000, machines=2, defaults=defaults)
    text = plan_text(make_plan(given, measurements()))
    parts = ["Plan for 1,000,000 papers", "\nGiven: 2 machines\n",
             "\nAssumed: 16 cores a machine, 1,000 Mbit/s (change with --cores, --bandwidth)\n",
             "extrapolates by a factor of 500", "stage  ", "Where the figures are from",
             "What bounds it", "What to buy", "  1 machine of 16 cores: ",
             "  2 machines of 16 cores: ", "  20 machines of 16 cores: ",
             "always busy"]  # fmt: skip
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    table = text[text.index("stage  ") :].split("\n\n")[0].splitlines()
    assert [line.split("  ")[0] for line in table[1:]] == [
        "download", "read", "index", "merge segments", "near-duplicates", "train", "vectors",
        "approximate index", "serve", "all",
    ]  # fmt: skip
    assert max(map(len, table)) <= 100


def test_the_largest_measured_size_is_said() -> None:
    """Also where the plan is for fewer papers; and the disk that merging needs for a while."""
    said = "The largest size measured is 2,000 papers with 20,000 equations: this plan"
    assert f"{said} is within it" in plan_text(make_plan(Assumptions(1_000), measurements()))
    text = plan_text(make_plan(Assumptions(1_000_000), measurements()))
    assert f"{said} extrapolates by a factor of 500" in text
    assert "and 3.6 GB more while segments are merged" in text


def test_sources_are_printed_once_for_each_figure() -> None:
    """Nothing in the table is without one."""
    plan = make_plan(Assumptions(1_000_000), measurements())
    text = plan_text(plan)
    for stage in plan.stages:
        for figure in stage.figures.values():
            assert all(source in text for source in figure.sources)


@pytest.mark.parametrize(
    ("hours", "shown"),
    [(0, "1 s"), (0.01, "36 s"), (0.5, "30 min"), (5.25, "5.2 hours"), (30, "30 hours"),
     (60, "2.5 days"), (2400, "100 days")],
)  # fmt: skip
def test_durations(hours: float, shown: str) -> None:
    """In the unit that people would use."""
    assert span(hours) == shown


def test_sizes_and_counts() -> None:
    """With a few digits."""
    assert [gigabytes(value) for value in (5e8, 4.4e10, 2.34e12)] == ["0.5 GB", "44 GB", "2.34 TB"]
    counts = [count(value) for value in (2500, 1.234e6, 1.5e10)]
    assert counts == ["2,500", "1.23 million", "15 billion"]
    numbers = [number(value) for value in (0.123, 4.56, 78.9, 12345)]
    assert numbers == ["0.12", "4.6", "79", "12,300"]
