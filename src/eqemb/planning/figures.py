"""Figures with their sources: laws through what was measured, and how far they reach beyond it."""

from eqemb.errors import EqembError
from eqemb.library.report import counted
from eqemb.planning.growth_laws import PowerLaw, StraightLine
from eqemb.planning.measurements import Measurements, Row, Size
from eqemb.planning.plan import GIVEN, Assumptions, Figure
from eqemb.planning.texts import count, gigabytes, number

#: Why a figure is taken to be linear.
BY_SEGMENTS, BY_PAPERS = "linear by segments", "linear by papers"
_HOUR = 3600
#: A fitted exponent means nothing at sizes that are larger than the largest one by this factor.
_REACH = 1_000


class FigureSources:
    """Computes figures for a library from the measurements that have them."""

    def __init__(self, given: Assumptions, origins: dict[str, str], measured: Measurements) -> None:
        self._given, self._origins, self._measured = given, origins, measured
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
            "equations": figure(equations, self._per_paper("equations", "equations")),
            "words": figure(words, self._per_paper("words", "words")),
            "source_bytes": figure(
                self._drivers["source_bytes"], self._per_paper("bytes", "source_bytes")
            ),
            "vocabulary": figure(
                heaps.at(words),
                f"Heaps' law: {count(heaps.value)} distinct words in {count(heaps.largest)} words,"
                f" exponent {heaps.exponent:.2f}; {self._reach(words / heaps.largest)}",
            ),
            "types": figure(
                self._drivers["types"],
                f"measured: {count(types.value)} distinct of {count(types.largest)} equations,"
                f" exponent {types.exponent:.2f}; {self._reach(equations / types.largest)}",
            ),
        }

    def _law(self, driver: str, name: str, exponent: float | None = None) -> PowerLaw:
        """The growth of a count with another one."""
        sizes = self._measured.sizes
        values = [getattr(size, name) for size in sizes]
        return PowerLaw.fit([getattr(size, driver) for size in sizes], values, exponent)

    def _per_paper(self, name: str, count_name: str) -> str:
        if self._origins[f"{name}_per_paper"] == GIVEN:
            return f"given: {getattr(self._given, f'{name}_per_paper'):,.0f} {name} a paper"
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

    def _table(self, name: str) -> tuple[Measurements, list[Row]]:
        """The rows of a table that only some measurements have."""
        shipped = self._shipped
        for found in (self._measured, *self._measured.others, shipped, *shipped.others):
            if rows := getattr(found, name):
                return found, list(rows)
        raise EqembError(f"no measurement of {name}: install eqemb again")

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
        return figure(law.at(wanted), source)

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
        processes = counted(cores, "process", "processes")
        source = (
            f"{what}: {each / 1e6:,.0f} MB a process ({how}), {processes} on a machine"
            f"{self._from(found)}"
        )
        return figure(each * cores, source)


def add(*figures: Figure) -> Figure:
    """The sum of figures, with all their sources."""
    sources = tuple(source for one in figures for source in one.sources)
    return Figure(sum(one.value for one in figures), sources)


def figure(value: float, *sources: str) -> Figure:
    """A figure with its sources."""
    return Figure(value, sources)
