"""Print a plan: one table, the source of every figure, what bounds it, and what to buy."""

from collections.abc import Iterator

from eqemb.library.report import counted
from eqemb.planning.plan import ASSUMED, GIVEN, MEASURED, LibraryPlan, Stage
from eqemb.planning.texts import count, gigabytes, number, span

_HEADS = ("stage", "CPU hours", "GPU hours", "disk", "memory", "runs on", "time")
_FIGURE_NAMES = {
    "cpu_seconds": "CPU",
    "gpu_seconds": "GPU",
    "network_seconds": "network",
    "answer_seconds": "answer",
    "disk_bytes": "disk",
    "temporary_bytes": "disk for a while",
    "memory_bytes": "memory",
}
#: Machines that the last lines compare.
MACHINES = (1, 4, 20)


def plan_text(plan: LibraryPlan) -> str:
    """The whole plan as text."""
    return "\n".join(_lines(plan)) + "\n"


def _lines(plan: LibraryPlan) -> Iterator[str]:
    yield from _heading(plan)
    yield ""
    yield from _table(plan)
    yield ""
    yield "Where the figures are from"
    for stage in plan.stages:
        for name, figure in stage.figures.items():
            first, *more = figure.sources
            if more:
                yield f"  {stage.name}, {_FIGURE_NAMES[name]}:"
                yield from (f"    {source}" for source in figure.sources)
            else:
                yield f"  {stage.name}, {_FIGURE_NAMES[name]}: {first}"
    yield ""
    yield "What bounds it"
    yield from _bounds(plan)
    yield ""
    yield "What to buy"
    yield from _purchases(plan)
    yield ""
    yield (
        "Times assume that all cores are always busy, one stage after another, and are"
        " those of the machine that was measured; nothing is added for failures."
    )


def _heading(plan: LibraryPlan) -> Iterator[str]:
    given, measured = plan.assumptions, plan.measurements
    yield f"Plan for {given.papers:,} papers"
    yield from _conditions(plan)
    for name, figure in plan.totals.items():
        shown = gigabytes(figure.value) if name == "source_bytes" else count(figure.value)
        label = {"source_bytes": "papers on disk", "types": "distinct equations"}.get(name, name)
        yield f"  {label}: {shown} ({figure.sources[0]})"
    whose = "the package's own, measure yours with `eqemb plan --measure PAPERS`"
    yield (
        f"Measurements: {measured.where}, by {measured.command}"
        + (f" ({whose})" if measured.is_shipped else "")
    )
    largest = measured.largest
    factor = given.papers / largest.papers
    reach = f"extrapolates by a factor of {number(factor)}" if factor > 1 else "is within it"
    yield (
        f"The largest size measured is {largest.papers:,} papers with {largest.equations:,}"
        f" equations: this plan {reach}; where a stage was measured with more, its lines say so"
    )


def _conditions(plan: LibraryPlan) -> Iterator[str]:
    """The machines and the network, by where these figures are from."""
    given = plan.assumptions
    shown = {
        "machines": counted(given.machines, "machine"),
        "cores": f"{counted(given.cores, 'core')} a machine",
        "bandwidth": f"{number(given.bandwidth)} Mbit/s",
    }
    for origin in (GIVEN, MEASURED, ASSUMED):
        names = [name for name in shown if plan.origins[name] == origin]
        if names:
            how = ""
            if origin != GIVEN:
                how = f" (change with {', '.join(f'--{name}' for name in names)})"
            values = ", ".join(shown[name] for name in names)
            yield f"{origin.capitalize()}: {values}{how}"


def _table(plan: LibraryPlan) -> Iterator[str]:
    rows = [_row(stage, plan) for stage in plan.stages]
    given = plan.assumptions
    rows.append((
        "all",
        number(plan.total("cpu_seconds") / 3600),
        _hours(plan.total("gpu_seconds")),
        gigabytes(plan.total("disk_bytes")),
        "",
        "",
        span(plan.hours(given.machines)),
    ))  # fmt: skip
    widths = [max(len(row[at]) for row in (_HEADS, *rows)) for at in range(len(_HEADS))]
    for row in (_HEADS, *rows):
        cells = [
            text.ljust(width) if at == 0 else text.rjust(width)
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


def _row(stage: Stage, plan: LibraryPlan) -> tuple[str, ...]:
    given = plan.assumptions
    hours = stage.hours(given.cores, given.machines)
    answer = stage.value("answer_seconds")
    return (
        stage.name,
        _hours(stage.value("cpu_seconds")),
        _hours(stage.value("gpu_seconds")),
        gigabytes(stage.value("disk_bytes")) if "disk_bytes" in stage.figures else "",
        gigabytes(stage.value("memory_bytes")) if "memory_bytes" in stage.figures else "",
        stage.runs_on,
        f"{_seconds(answer)} each" if answer else span(hours),
    )


def _seconds(value: float) -> str:
    return f"{number(1000 * value)} ms" if value < 1 else f"{number(value)} s"


def _hours(seconds: float) -> str:
    return number(seconds / 3600) if seconds else ""


def _bounds(plan: LibraryPlan) -> Iterator[str]:
    given = plan.assumptions
    slowest = plan.slowest
    hours = slowest.hours(given.cores, given.machines)
    share = hours / max(plan.hours(given.machines), 1e-12)
    for stage in plan.stages:
        yield f"  {stage.name}: {stage.bound}"
    yield (
        f"  Time: {slowest.name}, {span(hours)} of {span(plan.hours(given.machines))} ({share:.0%})"
    )
    disk = max(plan.stages, key=lambda stage: stage.value("disk_bytes"))
    yield (
        f"  Disk: {disk.name}, {gigabytes(disk.value('disk_bytes'))} of"
        f" {gigabytes(plan.total('disk_bytes'))}"
    )
    memory = _most_memory(plan)
    yield f"  Memory of a machine: {memory.name}, {gigabytes(memory.value('memory_bytes'))}"


def _most_memory(plan: LibraryPlan) -> Stage:
    """The stage that needs the most memory on one machine."""
    return max(plan.stages, key=lambda stage: stage.value("memory_bytes"))


def _purchases(plan: LibraryPlan) -> Iterator[str]:
    given = plan.assumptions
    for machines in sorted({*MACHINES, given.machines}):
        cores = counted(given.cores, "core")
        yield f"  {counted(machines, 'machine')} of {cores}: {span(plan.hours(machines))}"
    yield (
        f"  {span(plan.serial_hours)} of it is not shortened by more machines (download, and"
        " stages on one machine or core)"
    )
    yield (
        f"  Disk for papers and library: {gigabytes(plan.total('disk_bytes'))}, and"
        f" {gigabytes(plan.total('temporary_bytes'))} more while segments are merged; twice as"
        " much while a library is replaced"
    )
    most = _most_memory(plan)
    memory = gigabytes(most.value("memory_bytes"))
    yield f"  Memory of one machine: {memory} ({most.name}), and what the system needs"
    gpu = plan.total("gpu_seconds")
    if gpu:
        cpu = next(stage for stage in plan.stages if stage.name == "train")
        yield (
            f"  A GPU trains in {span(gpu / 3600)}; {counted(given.cores, 'core')} in"
            f" {span(cpu.hours(given.cores, 1))}, if its threads scale"
        )
