"""A plan: what it is for, its stages with their figures and sources, and its JSON."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from eqemb.checks import check_integer, check_number
from eqemb.planning.measurements import Measurements

ALL_CORES, ONE_MACHINE, ONE_CORE = "all cores", "one machine", "one core"
NETWORK, SERVING = "network", "while serving"
_HOUR = 3600
#: Larger figures are mistakes, and their powers are no numbers.
MOST_PAPERS, MOST_PER_PAPER, MOST_MACHINES = 10**12, 1e12, 10**6
#: In Mbit/s: that of a modem is 0.01.
LEAST_BANDWIDTH = 0.001


class Figure(NamedTuple):
    """A figure of the plan, and what it is computed from."""

    value: float
    sources: tuple[str, ...]


#: Figures with defaults that are no measurements.
DEFAULTED = ("cores", "machines", "bandwidth")
GIVEN, MEASURED, ASSUMED = "given", "measured", "assumed"


@dataclass(frozen=True)
class Assumptions:
    """What the plan is for. What is None is taken from the measurements."""

    papers: int
    equations_per_paper: float | None = None
    words_per_paper: float | None = None
    bytes_per_paper: float | None = None
    cores: int = 16
    machines: int = 1
    bandwidth: float = 1000.0
    """Megabits a second."""
    defaults: frozenset[str] = frozenset()
    """Which of `DEFAULTED` nobody gave."""

    def __post_init__(self) -> None:
        check_integer("papers", self.papers, high=MOST_PAPERS)
        check_integer("cores", self.cores, high=MOST_MACHINES)
        check_integer("machines", self.machines, high=MOST_MACHINES)
        check_number("bandwidth", self.bandwidth, LEAST_BANDWIDTH)
        for name in ("equations_per_paper", "words_per_paper", "bytes_per_paper"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), high=MOST_PER_PAPER, above=True)


@dataclass(frozen=True)
class Stage:
    """One stage of the work."""

    name: str
    runs_on: str
    """All cores, the cores of one machine, one core, the network, or while serving."""
    bound: str
    """What limits it."""
    figures: dict[str, Figure] = field(default_factory=dict)
    """CPU and GPU seconds, seconds of the network, bytes on disk, bytes of memory."""

    def value(self, name: str) -> float:
        """A figure; 0 if the stage has none."""
        found = self.figures.get(name)
        return found.value if found else 0.0

    def hours(self, cores: int, machines: int) -> float:
        """Hours with this many machines of so many cores."""
        if self.runs_on == NETWORK:
            return self.value("network_seconds") / _HOUR
        busy = {ALL_CORES: cores * machines, ONE_MACHINE: cores, ONE_CORE: 1}.get(self.runs_on)
        return self.value("cpu_seconds") / _HOUR / busy if busy else 0.0


@dataclass(frozen=True)
class LibraryPlan:
    """All stages."""

    assumptions: Assumptions
    origins: dict[str, str]
    """Whether each figure of the assumptions is given, measured or assumed."""
    measurements: Measurements
    totals: dict[str, Figure]
    """Equations, words, distinct words and equations, bytes of the papers."""
    stages: tuple[Stage, ...]

    def hours(self, machines: int) -> float:
        """Hours of all stages with this many machines, one stage after another."""
        return sum(stage.hours(self.assumptions.cores, machines) for stage in self.stages)

    @property
    def slowest(self) -> Stage:
        """The stage that takes longest as planned."""
        given = self.assumptions
        return max(self.stages, key=lambda stage: stage.hours(given.cores, given.machines))

    @property
    def serial_hours(self) -> float:
        """Hours that more machines do not shorten."""
        given = self.assumptions
        return sum(
            stage.hours(given.cores, 1) for stage in self.stages if stage.runs_on != ALL_CORES
        )

    def total(self, name: str) -> float:
        """The sum of a figure over all stages."""
        return sum(stage.value(name) for stage in self.stages)


def to_json(plan: LibraryPlan) -> dict[str, Any]:
    """The plan as one JSON object."""
    given = plan.assumptions
    return {
        "format": "eqemb plan",
        "version": 1,
        "assumptions": {
            name: {"value": getattr(given, name), "from": origin}
            for name, origin in plan.origins.items()
        },
        "measurements": {
            "made": plan.measurements.made,
            "machine": plan.measurements.machine,
            "command": plan.measurements.command,
            "largest_papers": plan.measurements.largest.papers,
            "shipped": plan.measurements.is_shipped,
        },
        "totals": {name: figure._asdict() for name, figure in plan.totals.items()},
        "stages": [
            {
                "name": stage.name,
                "runs_on": stage.runs_on,
                "bound": stage.bound,
                "hours": stage.hours(given.cores, given.machines),
                "figures": {name: figure._asdict() for name, figure in stage.figures.items()},
            }
            for stage in plan.stages
        ],
        "bound_by": plan.slowest.name,
        "hours": plan.hours(given.machines),
        "serial_hours": plan.serial_hours,
    }
