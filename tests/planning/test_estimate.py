"""The arithmetic of a plan, on measurements made by hand."""

import json
import re
from dataclasses import replace

import pytest

from eqemb.errors import UsageError
from eqemb.index import approximate_build
from eqemb.planning import estimate
from eqemb.planning.estimate import make_plan
from eqemb.planning.measurements import Measurements
from eqemb.planning.plan import (
    LEAST_BANDWIDTH,
    MOST_PAPERS,
    MOST_PER_PAPER,
    Assumptions,
    LibraryPlan,
    Stage,
    to_json,
)
from plan_measurements_by_hand import measurements, size

MILLION = 1_000_000
#: How sources begin or what they name.
KNOWN_SOURCES = "measured|given: |assumed: |formula|a process|Heaps|without mapped"


def planned(papers: int = MILLION, made: Measurements | None = None, **given: float) -> LibraryPlan:
    """A plan, by default for a million papers."""
    return make_plan(Assumptions(papers, **given), made or measurements())  # type: ignore[arg-type]


def stage(plan: LibraryPlan, name: str) -> Stage:
    """A stage by name."""
    return next(one for one in plan.stages if one.name == name)


def test_counts_follow_the_largest_size() -> None:
    """Equations, words and bytes of a paper are those measured."""
    totals = planned().totals
    assert totals["equations"].value == 10 * MILLION
    assert totals["words"].value == 1000 * MILLION
    assert totals["source_bytes"].value == 20_000 * MILLION
    assert totals["types"].value == pytest.approx(10 * MILLION)
    assert totals["vocabulary"].value == pytest.approx(100 * 1000, rel=0.01)  # Heaps' law


def test_linear_stages() -> None:
    """A paper costs what it cost in the measurement."""
    plan = planned()
    assert stage(plan, "read").value("cpu_seconds") == pytest.approx(0.041 * MILLION)
    assert stage(plan, "index").value("cpu_seconds") == pytest.approx(5 * 0.02 * MILLION)
    assert stage(plan, "train").value("cpu_seconds") == pytest.approx(0.1 * MILLION)
    assert stage(plan, "index").value("disk_bytes") == pytest.approx(5 * 500 * MILLION)
    assert stage(plan, "vectors").value("disk_bytes") == pytest.approx(4000 * MILLION)


def test_near_duplicates_are_looked_for_in_merged_segments() -> None:
    """Pairs of segments of 32,000 papers, which cost 32 times those of 1,000 here."""
    one = stage(planned(3_200_000), "near-duplicates").value("cpu_seconds")
    assert one == pytest.approx(100 * 16 + 100 * 99 / 2 * 3.2)
    two = stage(planned(6_400_000), "near-duplicates").value("cpu_seconds")
    assert two / one == pytest.approx(4, rel=0.1)


def test_few_segments_are_not_merged() -> None:
    """A library of seven segments is left as it was read."""
    plan = planned(7_000)
    assert stage(plan, "merge segments").figures == {}
    near = stage(plan, "near-duplicates").value("cpu_seconds")
    assert near == pytest.approx(7 * 0.5 + 7 * 6 / 2 * 0.1)
    assert stage(planned(7_001), "merge segments").value("cpu_seconds") > 0
    assert stage(planned(7_001), "near-duplicates").value("cpu_seconds") == pytest.approx(3.5005)


def test_merging() -> None:
    """Records by papers, the index by equations; all segments are on disk twice for a while."""
    found = stage(planned(), "merge segments")
    assert found.value("cpu_seconds") == pytest.approx(0.002 * MILLION + 1.5e-4 * 10 * MILLION)
    assert found.value("temporary_bytes") == pytest.approx((1000 + 100 + 5 * 500) * MILLION)
    assert found.value("memory_bytes") == 2_000
    records, index = found.figures["cpu_seconds"].sources
    assert "measured 0.2 CPU s for 100 papers (a merge)" in records
    assert "measured 1.5 CPU s for 10,000 equations (a large merge)" in index


def test_approximate_indexes_of_contexts_and_of_distinct_equations() -> None:
    """Two indexes, of 10 and of 5 million rows; the exponent is 1.5, 30 bytes a row."""
    halves = tuple(replace(size(one), types=5 * one) for one in (500, 1_000, 2_000))
    found = stage(planned(made=measurements(sizes=halves)), "approximate index")
    assert found.value("cpu_seconds") == pytest.approx(160 * (2.5**1.5 + 1.25**1.5))
    assert found.value("disk_bytes") == pytest.approx(30 * 15 * MILLION)
    assert "(two indexes)" in found.figures["cpu_seconds"].sources[0]


def test_a_small_library_has_no_approximate_index() -> None:
    """Its vectors are all compared."""
    assert stage(planned(99_999), "approximate index").figures == {}
    assert stage(planned(100_000), "approximate index").figures


def test_what_an_approximate_index_needs_is_what_building_one_says() -> None:
    """The sample and the size of vectors are those of the code."""
    assert estimate._PER_LIST == approximate_build._PER_LIST


def test_gpu_seconds() -> None:
    """Those of words and of equations."""
    assert stage(planned(), "train").value("gpu_seconds") == pytest.approx(1000 + 100)


def test_memory() -> None:
    """Of processes: the largest worker, and a segment of 1,000 papers; of serving: a line."""
    plan = planned(cores=8)
    assert stage(plan, "read").value("memory_bytes") == 8 * 100_000_000
    assert stage(plan, "index").value("memory_bytes") == pytest.approx(8 * 150_000_000)
    assert stage(plan, "serve").value("memory_bytes") == pytest.approx(5e7 + 100 * 1e7)


def test_answers_that_score_all_equations() -> None:
    """A line; the slower kind counts."""
    assert stage(planned(10_000), "serve").value("answer_seconds") == pytest.approx(0.002 + 0.002)
    assert "ray" not in stage(planned(10_000), "serve").bound


@pytest.mark.parametrize(
    ("papers", "seconds", "said"),
    [
        (200_000, 0.02, "between measured sizes"),  # 14 ms for words, 20 for equations
        (400_000, 0.02, "between measured sizes"),
        (1_600_000, 0.04, "exponent 0.50, extrapolated by a factor of 4"),
    ],
)
def test_answers_of_large_libraries_score_candidates(
    papers: int, seconds: float, said: str
) -> None:
    """From 500,000 equations on; the figures are those of large libraries."""
    found = stage(planned(papers), "serve")
    assert found.value("answer_seconds") == pytest.approx(seconds)
    words, equation = found.figures["answer_seconds"].sources
    assert said in words
    assert "measured 20 ms at 1,000,000, 20 ms at 4,000,000 equations" in equation
    assert "from answers" in equation
    assert "(`eqemb serve --engine ray`) divide it" in found.bound


def test_answers_of_small_libraries_come_with_a_warning() -> None:
    """Fixed costs hide how answers grow."""
    warning = "fewer than 1,000 papers were measured: hardly a hint"
    small = stage(planned(10_000, measurements(100, 200)), "serve").figures["answer_seconds"]
    assert warning in small.sources
    assert warning not in stage(planned(10_000), "serve").figures["answer_seconds"].sources


def test_download() -> None:
    """By the bandwidth that was given."""
    found = stage(planned(bandwidth=100.0), "download")
    assert found.value("network_seconds") == pytest.approx(20e9 * 8 / 100e6)
    assert "35 days" in found.figures["network_seconds"].sources[0]  # a request each 3 s


def test_what_the_user_gives_replaces_what_was_measured() -> None:
    """And the plan says whose figure it is."""
    plan = planned(equations_per_paper=40.0)
    assert plan.totals["equations"].value == 40 * MILLION
    assert plan.totals["equations"].sources == ("given: 40 equations a paper",)
    assert plan.totals["words"].sources[0].startswith("measured: 1,000 words a paper in 2,000")
    assumed = to_json(plan)["assumptions"]
    assert assumed["equations_per_paper"] == {"value": 40.0, "from": "given"}
    assert assumed["words_per_paper"] == {"value": 1000.0, "from": "measured"}
    more = stage(plan, "index").value("cpu_seconds") - stage(planned(), "index").value(
        "cpu_seconds"
    )
    assert more == pytest.approx(3 * 3 * 0.02 * MILLION)  # three parts cost by equation


def test_hours_depend_on_where_a_stage_runs() -> None:
    """All cores of all machines, those of one machine, or one core."""
    plan = planned(cores=10)
    hours = {one.name: (one.hours(10, 1), one.hours(10, 4)) for one in plan.stages}
    assert hours["read"][0] == pytest.approx(4 * hours["read"][1])
    assert hours["train"][0] == hours["train"][1] == pytest.approx(0.1 * MILLION / 3600 / 10)
    assert hours["vectors"][0] == hours["vectors"][1] == pytest.approx(0.01 * MILLION / 3600)
    assert hours["serve"] == (0, 0)
    assert plan.hours(1) == pytest.approx(sum(one for one, _ in hours.values()))
    assert plan.hours(10**6) == pytest.approx(plan.serial_hours, rel=0.001)
    assert plan.slowest.name == max(hours, key=lambda name: hours[name][0])


def test_every_figure_has_a_source_that_says_how_far_it_reaches() -> None:
    """Whether measured, by formula, or the user's."""
    plan = planned()
    figures = [figure for one in plan.stages for figure in one.figures.values()]
    for figure in (*figures, *plan.totals.values()):
        assert figure.value > 0
        assert figure.sources
        for source in figure.sources:
            assert re.search(KNOWN_SOURCES, source), source
    (read, _) = stage(plan, "read").figures["cpu_seconds"].sources
    assert read == (
        "reading: measured 40 CPU s per 1,000 papers at 2,000 papers, exponent 1.00 by words;"
        " linear by papers, extrapolated by a factor of 500"
    )


def test_another_exponent_is_said() -> None:
    """A stage that is linear by design but was not in the measurement."""
    slow = replace(size(2_000), cpu_seconds=size(2_000).cpu_seconds | {"text": 160.0})
    made = measurements(sizes=(size(500), slow))
    sources = stage(planned(made=made), "index").figures["cpu_seconds"].sources
    text = next(source for source in sources if source.startswith("text"))
    assert "exponent 2.00 by words" in text
    assert "CPU h if that exponent continued)" in text


def test_stages_that_were_not_measured_use_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their lines say from which machine."""
    monkeypatch.setattr(Measurements, "shipped", classmethod(lambda _cls: measurements()))
    sizes = []
    for one in (size(10), size(50)):
        seconds = {name: value for name, value in one.cpu_seconds.items() if name != "train"}
        sizes.append(replace(one, cpu_seconds=seconds, peak_bytes={"read": 1, "index": 1}, ask={}))
    own = measurements(
        sizes=tuple(sizes), machine="mine", merging=(), approximate=(), answers=(), gpu={},
        is_shipped=False,
    )  # fmt: skip
    plan = planned(made=own)
    assert (
        "(of a machine, 2 cores, 2026-01-02)"
        in stage(plan, "train").figures["cpu_seconds"].sources[0]
    )
    assert "mine" not in str(stage(plan, "serve").figures)
    for name in ("merge segments", "approximate index"):
        assert "(of a machine" in stage(plan, name).figures["cpu_seconds"].sources[0]
    answer = stage(plan, "serve").figures["answer_seconds"]
    assert answer.value == pytest.approx(0.02 * 2.5**0.5)
    assert "(of a machine" in answer.sources[0]
    assert "(of" not in stage(plan, "read").figures["cpu_seconds"].sources[0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"papers": 0}, "papers must be an integer from 1"),
        ({"papers": 1, "cores": 0}, "cores must be"),
        ({"papers": 1, "machines": -1}, "machines must be"),
        ({"papers": 1, "bandwidth": 0.0}, "bandwidth must be"),
        ({"papers": 1, "bandwidth": 1e-320}, "bandwidth must be"),
        ({"papers": 10**20}, "papers must be"),
        ({"papers": 1, "machines": 10**9}, "machines must be"),
        ({"papers": 1, "equations_per_paper": 1e300}, "equations_per_paper must be"),
        ({"papers": 1, "equations_per_paper": -1.0}, "equations_per_paper must be"),
        ({"papers": 1, "words_per_paper": float("nan")}, "words_per_paper must be"),
    ],
)
def test_wrong_figures_are_refused(given: dict[str, float], message: str) -> None:
    """With the value and what is expected."""
    with pytest.raises(UsageError, match=message):
        Assumptions(**given)  # type: ignore[arg-type]


def test_json_has_all_stages() -> None:
    """In the order of the work, with sources; it is plain JSON."""
    found = json.loads(json.dumps(to_json(planned())))
    assert (found["format"], found["version"]) == ("eqemb plan", 1)
    assert [one["name"] for one in found["stages"]] == [
        "download", "read", "index", "merge segments", "near-duplicates", "train", "vectors",
        "approximate index", "serve",
    ]  # fmt: skip
    for one in found["stages"]:
        assert set(one) == {"name", "runs_on", "bound", "hours", "figures"}
        assert all(set(figure) == {"value", "sources"} for figure in one["figures"].values())
    assert found["bound_by"] == planned().slowest.name


def test_index_parts_are_those_of_the_index() -> None:
    """A part that is added to the index must be added to the plan."""
    from eqemb.index.build import INDEX_PARTS

    assert list(estimate.INDEX_DRIVERS) == list(INDEX_PARTS)


def test_the_largest_figures_that_are_accepted_give_numbers() -> None:
    """No power of them overflows."""
    most = {f"{name}_per_paper": MOST_PER_PAPER for name in ("equations", "words", "bytes")}
    made = make_plan(Assumptions(MOST_PAPERS, bandwidth=LEAST_BANDWIDTH, **most), measurements())  # type: ignore[arg-type]
    assert json.loads(json.dumps(to_json(made), allow_nan=False))["hours"] > 0
