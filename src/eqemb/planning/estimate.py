"""Compute the plan: what each stage needs for a number of papers, and where each figure is from.

Stages that work segment by segment grow linearly by design, beyond a segment; the exponent that was
fitted is reported beside. Near-duplicates are looked for in all segments before, which is
quadratic. The rest continues its fitted law. Nothing is added for failures, and cores are taken to
be always busy.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from eqemb.arxiv.client import MIN_DELAY
from eqemb.checks import check_integer, check_number
from eqemb.errors import EqembError
from eqemb.library.segments import SEGMENT_DOCUMENTS
from eqemb.models.base import PROGRAM_MEMORY
from eqemb.planning.growth_laws import PowerLaw, StraightLine
from eqemb.planning.measurements import Measurements, Size
from eqemb.planning.texts import count, gigabytes, number, span

#: Papers from which on times of answers say something about large libraries.
LEAST_FOR_ANSWERS = 1_000
_DIM, _DIM_BYTES = 100, 4  # of the library's own model
_TOKEN_BYTES = 4
#: The names of the index parts of a segment, with what their cost depends on.
INDEX_DRIVERS = {
    "equations": "equations",
    "text": "words",
    "structure": "equations",
    "definitions": "words",
    "renderings": "equations",
}
ALL_CORES, ONE_MACHINE, ONE_CORE = "all cores", "one machine", "one core"
NETWORK, SERVING = "network", "while serving"
#: Why a figure is taken to be linear.
BY_SEGMENTS, BY_PAPERS = "linear by segments", "linear by papers"
BY_WORDS = "linear for the same iterations"
_HOUR = 3600
#: A fitted exponent means nothing at sizes that are larger than the largest one by this factor.
_REACH = 1_000


class Figure(NamedTuple):
    """A figure of the plan, and what it is computed from."""

    value: float
    sources: tuple[str, ...]


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

    def __post_init__(self) -> None:
        check_integer("papers", self.papers)
        check_integer("cores", self.cores)
        check_integer("machines", self.machines)
        check_number("bandwidth", self.bandwidth, above=True)
        for name in ("equations_per_paper", "words_per_paper", "bytes_per_paper"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), above=True)


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
    from_user: frozenset[str]
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


def make_plan(given: Assumptions, measured: Measurements) -> LibraryPlan:
    """Compute the plan; stages that were not measured use the figures of the package."""
    largest = measured.largest
    names = ("equations", "words", "bytes")
    defaults = (largest.equations, largest.words, largest.source_bytes)
    filled: dict[str, Any] = {}
    from_user = {"papers", "cores", "machines", "bandwidth"}
    for name, value in zip(names, defaults, strict=True):
        key = f"{name}_per_paper"
        own = getattr(given, key)
        filled[key] = value / largest.papers if own is None else own
        if own is not None:
            from_user.add(key)
    complete = replace(given, **filled)
    return _Planner(complete, frozenset(from_user), measured).plan()


class _Planner:
    """Computes one stage after another."""

    def __init__(
        self, given: Assumptions, from_user: frozenset[str], measured: Measurements
    ) -> None:
        self._given, self._from_user, self._measured = given, from_user, measured
        self._shipped = measured if measured.is_shipped else Measurements.shipped()
        papers = given.papers
        heaps = self._law("words", "vocabulary")
        types = self._law("equations", "types")
        words = papers * (given.words_per_paper or 0)
        equations = papers * (given.equations_per_paper or 0)
        self._drivers: dict[str, float] = {
            "papers": papers,
            "words": words,
            "equations": equations,
            "source_bytes": papers * (given.bytes_per_paper or 0),
            "types": min(types.at(equations), equations),
        }
        self._totals = {
            "equations": _figure(equations, self._per_paper("equations", "equations")),
            "words": _figure(words, self._per_paper("words", "words")),
            "source_bytes": _figure(
                self._drivers["source_bytes"], self._per_paper("bytes", "source_bytes")
            ),
            "vocabulary": _figure(
                heaps.at(words),
                f"Heaps' law: {count(heaps.value)} distinct words in {count(heaps.largest)} words,"
                f" exponent {heaps.exponent:.2f}; {self._reach(words / heaps.largest)}",
            ),
            "types": _figure(
                self._drivers["types"],
                f"measured: {count(types.value)} distinct of {count(types.largest)} equations,"
                f" exponent {types.exponent:.2f}; {self._reach(equations / types.largest)}",
            ),
        }

    def plan(self) -> LibraryPlan:
        stages = (
            self._download(),
            self._read(),
            self._near_duplicates(),
            self._index(),
            self._train(),
            self._vectors(),
            self._approximate(),
            self._serve(),
        )
        return LibraryPlan(self._given, self._from_user, self._measured, self._totals, stages)

    # ------------------------------------------------------------ figures

    def _law(self, driver: str, name: str, exponent: float | None = None) -> PowerLaw:
        """The growth of a count with another one."""
        sizes = self._measured.sizes
        values = [getattr(size, name) for size in sizes]
        return PowerLaw.fit([getattr(size, driver) for size in sizes], values, exponent)

    def _per_paper(self, name: str, count_name: str) -> str:
        if f"{name}_per_paper" in self._from_user:
            return f"your figure: {getattr(self._given, f'{name}_per_paper'):,.0f} {name} a paper"
        size = self._measured.largest
        each = getattr(size, count_name) / size.papers
        what = ""
        if name == "bytes" and self._measured.is_shipped:
            what = ", packed LaTeX without figures: give --bytes-per-paper for others"
        return f"measured: {each:,.0f} {name} a paper in {count(size.papers)} papers{what}"

    def _reach(self, factor: float) -> str:
        """How far a law is used beyond what was measured."""
        return "within it" if factor <= 1 else f"extrapolated by a factor of {number(factor)}"

    def _rows(self, table: str, stage: str) -> tuple[Measurements, list[Size]]:
        """The sizes that have a stage, of the user's measurements or else of the package's."""
        shipped = self._shipped
        for found in (self._measured, *self._measured.others, shipped, *shipped.others):
            sizes = [size for size in found.sizes if stage in getattr(size, table)]
            if len(sizes) > 1:
                return found, sizes
        raise EqembError(
            f"no measurement of {stage}: measure again with `eqemb plan --measure PAPERS`"
        )

    def _from(self, found: Measurements) -> str:
        return "" if found is self._measured else f" (of {found.where})"

    def _linear(
        self, table: str, stage: str, driver: str, what: str, why: str = BY_SEGMENTS
    ) -> Figure:
        """A figure of a stage that is linear by design, which `why` explains."""
        found, sizes = self._rows(table, stage)
        values = [getattr(size, table)[stage] for size in sizes]
        counts = [getattr(size, driver) for size in sizes]
        law = PowerLaw.fit(counts, values, exponent=1.0)
        size, wanted = sizes[-1], self._drivers[driver]
        each = 1000 * values[-1] / size.papers
        unit = f"{each / 1e6:,.3g} MB" if table == "bytes" else f"{each:,.3g} CPU s"
        source = (
            f"{what}: measured {unit} per 1,000 papers at {count(size.papers)} papers, exponent"
            f" {law.fitted:.2f} by {driver}; {why}, {self._reach(wanted / counts[-1])}"
            f"{self._if_fitted(law, wanted, table)}{self._from(found)}"
        )
        return _figure(law.at(wanted), source)

    def _if_fitted(self, law: PowerLaw, wanted: float, table: str) -> str:
        """What the fitted exponent would mean, where it matters and reaches so far."""
        ratio = law.if_fitted(wanted) / law.at(wanted) if law.value else 1.0
        if 0.8 <= ratio <= 1.25 or wanted > _REACH * law.largest:
            return ""
        value = law.if_fitted(wanted)
        shown = gigabytes(value) if table == "bytes" else f"{number(value / _HOUR)} CPU h"
        return f" ({shown} if that exponent continued)"

    def _memory_of_processes(self, stage: str, what: str, papers: int | None) -> Figure:
        """Memory of the worker processes of a machine: the largest one, times its cores."""
        found, sizes = self._rows("peak_bytes", stage)
        values = [size.peak_bytes[stage] for size in sizes]
        if papers is None:
            each, how = float(max(values)), "the largest measured"
        else:
            line = StraightLine.fit([min(size.papers, papers) for size in sizes], values)
            each, how = line.at(papers), f"a line through {len(sizes)} sizes, at {papers:,} papers"
        cores = self._given.cores
        source = (
            f"{what}: {each / 1e6:,.0f} MB a process ({how}), {cores} processes on a machine"
            f"{self._from(found)}"
        )
        return _figure(each * cores, source)

    # ------------------------------------------------------------ stages

    def _download(self) -> Stage:
        size = self._drivers["source_bytes"]
        seconds = size * 8 / (self._given.bandwidth * 1e6)
        polite = self._given.papers * MIN_DELAY
        figures = {
            "network_seconds": _figure(
                seconds,
                f"your figure: {number(self._given.bandwidth)} Mbit/s, for bulk archives; one by"
                f" one, arXiv asks for {MIN_DELAY:g} s a request: {span(polite / _HOUR)}",
            ),
            "disk_bytes": _figure(size, *self._totals["source_bytes"].sources),
        }
        return Stage("download", NETWORK, "the network, or arXiv's limit on requests", figures)

    def _read(self) -> Stage:
        read = self._linear("cpu_seconds", "read", "words", "reading", BY_PAPERS)
        report = self._linear("cpu_seconds", "report", "papers", "report", BY_PAPERS)
        records = self._linear("bytes", "records", "words", "records", BY_PAPERS)
        figures = {
            "cpu_seconds": _add(read, report),
            "disk_bytes": records,
            "memory_bytes": self._memory_of_processes("read", "reading", None),
        }
        return Stage("read", ALL_CORES, "cores: papers are independent", figures)

    def _near_duplicates(self) -> Stage:
        found = self._measured if self._measured.pairs else self._shipped
        pairs = found.pairs
        segments = math.ceil(self._given.papers / SEGMENT_DOCUMENTS)
        seconds = segments * pairs["own_seconds"]
        seconds += segments * (segments - 1) / 2 * pairs["pair_seconds"]
        source = (
            f"measured: {pairs['pair_seconds']:.3g} CPU s for a segment of {pairs['papers']:,.0f}"
            f" papers in each segment before it, {segments:,} segments: exponent 2 beyond a few"
            f" segments; random hashes, {pairs['hashes']:,.0f} a paper{self._from(found)}"
        )
        sketches = self._linear("bytes", "sketches", "words", "sketches")
        figures = {"cpu_seconds": _figure(seconds, source), "disk_bytes": sketches}
        return Stage(
            "near-duplicates", ONE_CORE, "one core: each segment is compared with all before it",
            figures,
        )  # fmt: skip

    def _index(self) -> Stage:
        seconds = [
            self._linear("cpu_seconds", part, driver, part)
            for part, driver in INDEX_DRIVERS.items()
        ]
        sizes = [
            self._linear("bytes", part, driver, part) for part, driver in INDEX_DRIVERS.items()
        ]
        figures = {
            "cpu_seconds": _add(*seconds),
            "disk_bytes": _add(*sizes),
            "memory_bytes": self._memory_of_processes(
                "index", "a segment of a process", SEGMENT_DOCUMENTS
            ),
        }
        bound = "cores, where segments are dealt out to processes; one core otherwise"
        return Stage("index", ALL_CORES, bound, figures)

    def _train(self) -> Stage:
        what = "EqEmb-H on the CPU, all iterations"
        cpu = self._linear("cpu_seconds", "train", "words", what, BY_WORDS)
        found, sizes = self._rows("peak_bytes", "train")
        words, vocabulary = self._drivers["words"], self._totals["vocabulary"].value
        memory = _figure(
            PROGRAM_MEMORY + 2 * _TOKEN_BYTES * words + 6 * _DIM_BYTES * _DIM * vocabulary,
            f"formula, at most: {PROGRAM_MEMORY / 1e6:.0f} MB, {2 * _TOKEN_BYTES} bytes a word and"
            f" six matrices of {_DIM} numbers a distinct word; measured"
            f" {sizes[-1].peak_bytes['train'] / 1e6:,.0f} MB at {count(sizes[-1].papers)} papers"
            f"{self._from(found)}",
        )
        figures = {"cpu_seconds": cpu, "memory_bytes": memory}
        if self._shipped.gpu:
            figures["gpu_seconds"] = self._gpu()
        bound = "memory and threads of one machine; a GPU streams the text instead"
        return Stage("train", ONE_MACHINE, bound, figures)

    def _gpu(self) -> Figure:
        gpu, words = self._shipped.gpu, self._drivers["words"]
        seconds = words * gpu["seconds_a_word"]
        seconds += self._drivers["equations"] * gpu["seconds_an_equation"]
        return _figure(
            seconds,
            f"measured on {gpu['name']} ({gpu['source']}): {1e9 * gpu['seconds_a_word']:.3g} s for"
            f" a billion words and {1e6 * gpu['seconds_an_equation']:.3g} s for a million"
            f" equations, {gpu['iterations']} iterations of each pass, with the host's work;"
            f" {self._reach(words / gpu['words'])}",
        )

    def _vectors(self) -> Stage:
        figures = {
            "cpu_seconds": self._linear("cpu_seconds", "vectors", "types", "vectors"),
            "disk_bytes": self._linear("bytes", "vectors", "types", "vectors"),
        }
        return Stage("vectors", ONE_CORE, "one core, segment by segment", figures)

    def _approximate(self) -> Stage:
        found = next(part for part in (self._shipped, *self._shipped.others) if part.approximate)
        rows = found.approximate
        vectors = [row["vectors"] for row in rows]
        wanted = self._drivers["types"]
        parts = []
        for name in ("train", "add"):
            law = PowerLaw.fit(vectors, [row[f"{name}_seconds"] for row in rows])
            parts.append(_figure(
                law.at(wanted),
                f"{name}: measured {law.value:.3g} CPU s for {count(law.largest)} vectors, exponent"
                f" {law.exponent:.2f}; {self._reach(wanted / law.largest)}",
            ))  # fmt: skip
        law = PowerLaw.fit(vectors, [row["bytes"] for row in rows], exponent=1.0)
        each = law.value / law.largest
        where = self._from(found)
        size = _figure(
            law.at(wanted), f"measured: {each:.0f} bytes a vector of {rows[-1]['dim']:.0f}{where}"
        )
        memory = _figure(
            law.at(wanted) + 64 * 4 * wanted**0.5 * rows[-1]["dim"] * _DIM_BYTES,
            "the codes, and a training sample of 64 vectors for each of 4 √n lists",
        )
        figures = {"cpu_seconds": _add(*parts), "disk_bytes": size, "memory_bytes": memory}
        return Stage(
            "approximate index", ALL_CORES, "cores: each vector is compared with √n lists", figures
        )

    def _serve(self) -> Stage:
        found = self._measured
        if found.largest.papers < LEAST_FOR_ANSWERS:
            found = self._shipped
        sizes = [size for size in found.sizes if "words_seconds" in size.ask]
        equations = [size.equations for size in sizes]
        wanted = self._drivers["equations"]
        parts = []
        for name in ("words", "equation"):
            line = StraightLine.fit(equations, [size.ask[f"{name}_seconds"] for size in sizes])
            parts.append(_figure(
                line.at(wanted),
                f"{name}: measured {1e3 * line.start:.3g} ms and {1e9 * line.slope:.3g} ns for each"
                f" equation, up to {count(line.largest)} equations; exhaustive,"
                f" {self._reach(wanted / line.largest)}",
            ))  # fmt: skip
        line = StraightLine.fit(equations, [size.ask["anonymous_bytes"] for size in sizes])
        memory = _figure(
            line.at(wanted),
            f"without mapped files: {line.start / 1e6:,.0f} MB and {line.slope:.3g} bytes for each"
            f" equation; {self._reach(wanted / line.largest)}{self._from(found)}",
        )
        if found.largest.papers < LEAST_FOR_ANSWERS:
            warning = f"fewer than {LEAST_FOR_ANSWERS:,} papers were measured: hardly a hint"
            parts = [Figure(part.value, (*part.sources, warning)) for part in parts[:1]] + parts[1:]
        slower = max(parts)
        answer = Figure(slower.value, _add(*parts).sources)
        bound = f"CPU time of an answer: {number(1 / slower.value)} a second on a core"
        figures = {"answer_seconds": answer, "memory_bytes": memory}
        return Stage("serve", SERVING, bound, figures)


def _add(*figures: Figure) -> Figure:
    """The sum of figures, with all their sources."""
    sources = tuple(source for one in figures for source in one.sources)
    return Figure(sum(one.value for one in figures), sources)


def _figure(value: float, *sources: str) -> Figure:
    return Figure(value, sources)


def to_json(plan: LibraryPlan) -> dict[str, Any]:
    """The plan as one JSON object."""
    given = plan.assumptions
    return {
        "format": "eqemb plan",
        "version": 1,
        "assumptions": {
            name: {"value": value, "from": "you" if name in plan.from_user else "measured"}
            for name, value in vars(given).items()
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
