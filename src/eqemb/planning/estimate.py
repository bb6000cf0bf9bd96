"""Compute the plan: what each stage needs for a number of papers, and where each figure is from.

Stages that work segment by segment grow linearly by design, beyond a segment; the exponent that was
fitted is reported beside. Segments are merged, and near-duplicates are looked for in all merged
segments before, which is quadratic. The rest continues its fitted law. Nothing is added for
failures, and cores are taken to be always busy.
"""

import math
from dataclasses import replace
from typing import Any

from eqemb.arxiv.client import MIN_DELAY
from eqemb.errors import EqembError
from eqemb.index.approximate import LEAST_ROWS
from eqemb.index.approximate_build import list_count
from eqemb.index.segments import LARGE_FROM
from eqemb.library.report import counted
from eqemb.library.segments import LARGE_SEGMENT_DOCUMENTS, MERGED_AT_ONCE, SEGMENT_DOCUMENTS
from eqemb.models.base import PROGRAM_MEMORY
from eqemb.planning.figures import BY_PAPERS, FigureSources, add, figure
from eqemb.planning.growth_laws import PowerLaw, StraightLine, interpolate
from eqemb.planning.measurements import Measurements, Row, Size
from eqemb.planning.plan import (
    ALL_CORES,
    ASSUMED,
    DEFAULTED,
    GIVEN,
    MEASURED,
    NETWORK,
    ONE_CORE,
    ONE_MACHINE,
    SERVING,
    Assumptions,
    Figure,
    LibraryPlan,
    Stage,
)
from eqemb.planning.texts import count, gigabytes, number, span

#: Papers from which on times of answers say something about large libraries.
LEAST_FOR_ANSWERS = 1_000
_DIM, _DIM_BYTES = 100, 4  # of the library's own model
_TOKEN_BYTES = 4
#: Of building an approximate index (`index.approximate_build`): memory for each row, and vectors of
#: the sample for each list.
_ROW_BYTES, _PER_LIST = 12, 50
#: The names of the index parts of a segment, with what their cost depends on.
INDEX_DRIVERS = {
    "equations": "equations",
    "text": "words",
    "structure": "equations",
    "definitions": "words",
    "renderings": "equations",
}
#: Why a figure is taken to be linear.
BY_WORDS = "linear for the same iterations"
_HOUR = 3600


def make_plan(given: Assumptions, measured: Measurements) -> LibraryPlan:
    """Compute the plan; stages that were not measured use the figures of the package.

    Unless cores are given, a machine has as many as that of the user's own measurements.
    """
    largest = measured.largest
    names = ("equations", "words", "bytes")
    defaults = (largest.equations, largest.words, largest.source_bytes)
    filled: dict[str, Any] = {}
    origins = {"papers": GIVEN}
    for name, value in zip(names, defaults, strict=True):
        key = f"{name}_per_paper"
        own = getattr(given, key)
        filled[key] = value / largest.papers if own is None else own
        origins[key] = MEASURED if own is None else GIVEN
    origins |= {name: ASSUMED if name in given.defaults else GIVEN for name in DEFAULTED}
    if "cores" in given.defaults and not measured.is_shipped and measured.cores:
        filled["cores"], origins["cores"] = measured.cores, MEASURED
    return _Planner(replace(given, **filled), origins, measured).plan()


class _Planner(FigureSources):
    """Computes one stage after another."""

    def plan(self) -> LibraryPlan:
        stages = (
            self._download(),
            self._read(),
            self._index(),
            self._merge(),
            self._near_duplicates(),
            self._train(),
            self._vectors(),
            self._approximate(),
            self._serve(),
        )
        return LibraryPlan(self._given, self._origins, self._measured, self._totals, stages)

    # ------------------------------------------------------------ stages

    def _download(self) -> Stage:
        size = self._drivers["source_bytes"]
        seconds = size * 8 / (self._given.bandwidth * 1e6)
        polite = self._given.papers * MIN_DELAY
        figures = {
            "network_seconds": figure(
                seconds,
                f"{self._origins['bandwidth']}: {number(self._given.bandwidth)} Mbit/s, for bulk"
                f" archives; one by one, arXiv asks for {MIN_DELAY:g} s a request:"
                f" {span(polite / _HOUR)}",
            ),
            "disk_bytes": figure(size, *self._totals["source_bytes"].sources),
        }
        return Stage("download", NETWORK, "the network, or arXiv's limit on requests", figures)

    def _read(self) -> Stage:
        read = self._linear("cpu_seconds", "read", "words", "reading", BY_PAPERS)
        report = self._linear("cpu_seconds", "report", "papers", "report", BY_PAPERS)
        records = self._linear("bytes", "records", "words", "records", BY_PAPERS)
        figures = {
            "cpu_seconds": add(read, report),
            "disk_bytes": records,
            "memory_bytes": self._memory_of_processes("read", "reading", None),
        }
        return Stage("read", ALL_CORES, "cores: papers are independent", figures)

    @property
    def _segments(self) -> tuple[int, int]:
        """How many segments a build writes, and the papers of one: merged if they are many."""
        papers = self._given.papers
        written = math.ceil(papers / SEGMENT_DOCUMENTS)
        if written < MERGED_AT_ONCE:
            return written, min(papers, SEGMENT_DOCUMENTS)
        return math.ceil(papers / LARGE_SEGMENT_DOCUMENTS), min(papers, LARGE_SEGMENT_DOCUMENTS)

    def _merge(self) -> Stage:
        written = math.ceil(self._given.papers / SEGMENT_DOCUMENTS)
        if written < MERGED_AT_ONCE:
            bound = f"nothing to do: fewer than {MERGED_AT_ONCE} segments are not merged"
            return Stage("merge segments", ONE_CORE, bound)
        found, rows = self._table("merging")
        parts = []
        for name, driver in (("records", "papers"), ("index", "equations")):
            known = [row for row in rows if f"{name}_seconds" in row]
            counts = [row[driver] for row in known]
            law = PowerLaw.fit(counts, [row[f"{name}_seconds"] for row in known], exponent=1.0)
            wanted = self._drivers[driver]
            parts.append(figure(
                law.at(wanted),
                f"{name}: measured {law.value:.3g} CPU s for {count(law.largest)} {driver}"
                f" ({max(known, key=lambda row: row[driver])['source']}), exponent"
                f" {law.fitted:.2f}; each paper is copied once, {self._reach(wanted / law.largest)}"
                f"{self._from(found)}",
            ))  # fmt: skip
        segments, papers = self._segments
        largest = max(rows, key=lambda row: float(row["peak_bytes"]))
        memory = figure(
            largest["peak_bytes"],
            f"measured: {largest['peak_bytes'] / 1e6:,.0f} MB with mapped files for a segment of"
            f" {count(largest['equations'])} equations ({largest['source']}); segments have up to"
            f" {papers:,} papers",
        )
        copied = add(
            self._linear("bytes", "records", "words", "records", BY_PAPERS),
            self._linear("bytes", "sketches", "words", "sketches"),
            *self._index_bytes(),
        )
        twice = figure(
            copied.value,
            "formula, at most: records, sketches and index of all segments again, as in read,"
            " near-duplicates and index",
        )
        figures = {"cpu_seconds": add(*parts), "temporary_bytes": twice, "memory_bytes": memory}
        bound = (
            f"one core: {written:,} segments become {segments:,}; all of both are on disk until"
            " the end"
        )
        return Stage("merge segments", ONE_CORE, bound, figures)

    def _near_duplicates(self) -> Stage:
        found, rows = self._table("pairs")
        segments, papers = self._segments
        sizes = [row["papers"] for row in rows]
        pair = PowerLaw.fit(sizes, [row["pair_seconds"] for row in rows])
        own = PowerLaw.fit(sizes, [row["own_seconds"] for row in rows])
        seconds = segments * own.at(papers)
        seconds += segments * (segments - 1) / 2 * pair.at(papers)
        source = (
            f"measured: {pair.value:.3g} CPU s for a segment of {pair.largest:,.0f} papers in each"
            f" segment before it, exponent {pair.exponent:.2f} by the papers of a segment;"
            f" {counted(segments, 'segment')} of up to {papers:,} papers: exponent 2 beyond a few"
            f" segments; random hashes, {rows[-1]['hashes']:,.0f} a paper{self._from(found)}"
        )
        sketches = self._linear("bytes", "sketches", "words", "sketches")
        figures = {"cpu_seconds": figure(seconds, source), "disk_bytes": sketches}
        return Stage(
            "near-duplicates", ONE_CORE, "one core: each segment is compared with all before it",
            figures,
        )  # fmt: skip

    def _index(self) -> Stage:
        seconds = [
            self._linear("cpu_seconds", part, driver, part)
            for part, driver in INDEX_DRIVERS.items()
        ]
        figures = {
            "cpu_seconds": add(*seconds),
            "disk_bytes": add(*self._index_bytes()),
            "memory_bytes": self._memory_of_processes(
                "index", "a segment of a process", SEGMENT_DOCUMENTS
            ),
        }
        bound = "cores: each segment is indexed by a process, while others are read"
        return Stage("index", ALL_CORES, bound, figures)

    def _index_bytes(self) -> list[Figure]:
        return [self._linear("bytes", part, driver, part) for part, driver in INDEX_DRIVERS.items()]

    def _train(self) -> Stage:
        what = "EqEmb-H on the CPU, all iterations"
        cpu = self._linear("cpu_seconds", "train", "words", what, BY_WORDS)
        found, sizes = self._rows("peak_bytes", "train")
        words, vocabulary = self._drivers["words"], self._totals["vocabulary"].value
        memory = figure(
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
        return figure(
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
        """An index of contexts, with a row for each equation, and one of types."""
        drivers = self._drivers
        indexed = {"contexts": drivers["equations"], "distinct equations": drivers["types"]}
        indexed = {name: rows for name, rows in indexed.items() if rows >= LEAST_ROWS}
        if not indexed:
            bound = f"nothing to do: up to {LEAST_ROWS:,} equations, all vectors are compared"
            return Stage("approximate index", ONE_MACHINE, bound)
        found, rows = self._table("approximate")
        each = [row["rows"] / row["indexes"] for row in rows]
        law = PowerLaw.fit(each, [row["cpu_seconds"] / row["indexes"] for row in rows])
        size = PowerLaw.fit(each, [row["bytes"] / row["indexes"] for row in rows], exponent=1.0)
        largest, where = rows[-1], self._from(found)
        at = f"measured {largest['cpu_seconds']:.3g} CPU s for {count(largest['rows'])} rows in"
        at += f" {counted(round(largest['indexes']), 'index', 'indexes')} ({largest['source']})"
        seconds, disk = [], []
        for name, wanted in indexed.items():
            more = max(1.0, list_count(int(wanted)) / list_count(int(law.largest)))
            most = law.value * wanted / law.largest * more
            seconds.append(figure(
                law.at(wanted),
                f"{name}, {count(wanted)} rows: {at}, exponent {law.exponent:.2f};"
                f" {self._reach(wanted / law.largest)} (at most {number(most / _HOUR)} CPU h, if"
                f" all of it were comparing with lists){where}",
            ))  # fmt: skip
            disk.append(figure(
                size.at(wanted),
                f"{name}: measured {size.value / size.largest:.3g} bytes a row"
                f" ({largest['source']}){where}",
            ))  # fmt: skip
        return Stage(
            "approximate index",
            ONE_MACHINE,
            "threads of one machine; needs the extra `ann`, without it vectors are compared one by"
            " one",
            {"cpu_seconds": add(*seconds), "disk_bytes": add(*disk),
             "memory_bytes": self._approximate_memory(max(indexed.values()), largest)},
        )  # fmt: skip

    def _approximate_memory(self, wanted: float, largest: Row) -> Figure:
        sample = _PER_LIST * list_count(int(wanted)) * _DIM * _DIM_BYTES
        return figure(
            PROGRAM_MEMORY + _ROW_BYTES * wanted + sample,
            f"formula: {PROGRAM_MEMORY / 1e6:.0f} MB, {_ROW_BYTES} bytes a row of the larger index"
            f" and a sample of {_PER_LIST} vectors for each list, without mapped vectors; with them"
            f" measured {gigabytes(largest['peak_bytes'])} for {count(largest['rows'])} rows"
            f" ({largest['source']})",
        )

    def _serve(self) -> Stage:
        found, sizes = self._asked()
        equations = [size.equations for size in sizes]
        wanted = self._drivers["equations"]
        is_large = wanted >= LARGE_FROM
        parts = self._candidate_answers() if is_large else self._complete_answers(found, sizes)
        line = StraightLine.fit(equations, [size.ask["anonymous_bytes"] for size in sizes])
        memory = figure(
            line.at(wanted),
            f"without mapped files: {line.start / 1e6:,.0f} MB and {line.slope:.3g} bytes for each"
            f" equation, measured up to {count(line.largest)} equations;"
            f" {self._reach(wanted / line.largest)}{self._from(found)}",
        )
        slower = max(parts)
        answer = Figure(slower.value, add(*parts).sources)
        bound = f"CPU time of an answer: {number(1 / slower.value)} a second on a core"
        if is_large:
            bound += "; parts on several machines (`eqemb serve --engine ray`) divide it"
        figures = {"answer_seconds": answer, "memory_bytes": memory}
        return Stage("serve", SERVING, bound, figures)

    def _asked(self) -> tuple[Measurements, list[Size]]:
        """The sizes whose answers score all equations, of enough papers or of the package."""
        own = [self._measured] if self._measured.largest.papers >= LEAST_FOR_ANSWERS else []
        for found in (*own, self._shipped):
            sizes = [
                size
                for size in found.sizes
                if "words_seconds" in size.ask and size.equations < LARGE_FROM
            ]
            if sizes:
                return found, sizes
        raise EqembError("no measurement of answers: install eqemb again")

    def _complete_answers(self, found: Measurements, sizes: list[Size]) -> list[Figure]:
        """Answers that score every equation."""
        equations = [size.equations for size in sizes]
        wanted = self._drivers["equations"]
        parts = []
        for name in ("words", "equation"):
            line = StraightLine.fit(equations, [size.ask[f"{name}_seconds"] for size in sizes])
            parts.append(figure(
                line.at(wanted),
                f"{name}: measured {1e3 * line.start:.3g} ms and {1e9 * line.slope:.3g} ns for each"
                f" equation, up to {count(line.largest)} equations; all are scored,"
                f" {self._reach(wanted / line.largest)}{self._from(found)}",
            ))  # fmt: skip
        if found.largest.papers < LEAST_FOR_ANSWERS:
            warning = f"fewer than {LEAST_FOR_ANSWERS:,} papers were measured: hardly a hint"
            parts[0] = Figure(parts[0].value, (*parts[0].sources, warning))
        return parts

    def _candidate_answers(self) -> list[Figure]:
        """Answers of a large library, which score candidates."""
        found, rows = self._table("answers")
        sources = "; ".join(dict.fromkeys(row["source"] for row in rows))
        equations, wanted = [row["equations"] for row in rows], self._drivers["equations"]
        parts = []
        for name in ("words", "equation"):
            values = [row[f"{name}_seconds"] for row in rows]
            law = PowerLaw.fit(equations, values)
            is_within = wanted <= law.largest
            value = interpolate(equations, values, wanted) if is_within else law.at(wanted)
            shown = ", ".join(
                f"{1e3 * each:.3g} ms at {size:,}"
                for size, each in zip(equations, values, strict=True)
            )
            reach = (
                "between measured sizes"
                if is_within
                else f"exponent {law.exponent:.2f}, {self._reach(wanted / law.largest)}"
            )
            parts.append(figure(
                value,
                f"{name}: measured {shown} equations, candidates are scored; {reach};"
                f" from {sources}{self._from(found)}",
            ))  # fmt: skip
        return parts
