"""Command that says what a large library needs: plan."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from eqemb.cli.app import app
from eqemb.cli.console import print_json, print_message
from eqemb.cli.options import Jobs, Json, Option, path_argument, whole_number
from eqemb.errors import UsageError

if TYPE_CHECKING:
    from eqemb.planning.measurements import Measurements


_Papers = Annotated[
    int | None,
    Option(
        "--papers",
        parser=whole_number,
        metavar="N",
        help="Papers of the library, such as 2,500,000.",
    ),
]
_Equations = Annotated[
    float | None, Option("--equations-per-paper", metavar="N", help="Default: as measured.")
]
_Words = Annotated[
    float | None, Option("--words-per-paper", metavar="N", help="Default: as measured.")
]
_Size = Annotated[
    float | None,
    Option("--bytes-per-paper", metavar="N", help="Of its source; default: as measured."),
]
_Cores = Annotated[
    int | None,
    Option(
        "--cores",
        min=1,
        help="Cores of a machine; default: those of the machine that you measured, or 16.",
    ),
]
_Machines = Annotated[
    int | None, Option("--machines", min=1, help="Number of machines; default: 1.")
]
_Bandwidth = Annotated[
    float | None,
    Option("--bandwidth", metavar="MBIT", help="Of the download, in Mbit/s; default: 1000."),
]


@app.command()
def plan(
    papers: _Papers = None,
    equations: _Equations = None,
    words: _Words = None,
    size: _Size = None,
    cores: _Cores = None,
    machines: _Machines = None,
    bandwidth: _Bandwidth = None,
    measure: Annotated[
        list[Path] | None,
        Option(
            "--measure",
            metavar="PAPERS",
            parser=path_argument,
            help="Measure this machine on a sample of these papers (minutes); repeatable.",
        ),
    ] = None,
    sample: Annotated[
        int | None, Option("--sample", min=8, help="Papers that --measure reads; default 100.")
    ] = None,
    train: Annotated[bool, Option("--train/--no-train", help="Measure training, too.")] = True,
    jobs: Jobs = None,
    output: Annotated[
        Path | None,
        Option("-o", "--output", metavar="FILE", help="Where --measure writes what it measured."),
    ] = None,
    measurements: Annotated[
        Path | None,
        Option(
            "--measurements",
            metavar="FILE",
            help="Plan with these measurements; default: figures that come with eqemb.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what a library of many papers needs.

    Prints storage, memory, CPU and GPU hours of each stage, what bounds it, and the measurement
    that each figure is computed from. `--measure` makes measurements on this machine; with
    `--papers`, the plan is computed from them.
    """
    from eqemb.planning.estimate import make_plan
    from eqemb.planning.measurements import Measurements
    from eqemb.planning.plan import Assumptions, to_json
    from eqemb.planning.render import plan_text

    if measure and measurements:
        raise UsageError("--measure makes measurements: leave out --measurements")
    if not measure and (output or sample or not train):
        raise UsageError("-o, --sample and --no-train belong to --measure: add --measure PAPERS")
    if papers is None and not measure:
        raise UsageError("say how many papers: --papers 2500000")
    given = None
    if papers is not None:  # wrong figures are refused before anything is measured
        values = {"cores": cores, "machines": machines, "bandwidth": bandwidth}
        defaults = frozenset(name for name, value in values.items() if value is None)
        chosen: dict[str, Any] = {n: value for n, value in values.items() if value is not None}
        given = Assumptions(papers, equations, words, size, defaults=defaults, **chosen)
    if measure:
        found = _measure(measure, sample, jobs, output, train=train)
    else:
        found = Measurements.load(measurements) if measurements else Measurements.shipped()
    if given is None:
        return
    made = make_plan(given, found)
    if as_json:
        print_json(to_json(made))
    else:
        print(plan_text(made), end="")


def _measure(
    papers: list[Path], sample: int | None, jobs: int | None, output: Path | None, *, train: bool
) -> "Measurements":
    from eqemb.planning.measure import SAMPLE_PAPERS, measure
    from eqemb.planning.measurements import default_file

    path = output or default_file()
    if path.is_dir():  # before minutes of work
        raise UsageError(f"{path} is a folder: name the file to write, such as -o {path}/m.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    found = measure(
        papers, sample=sample or SAMPLE_PAPERS, jobs=jobs, train=train, watch=print_message
    )
    found.save(path)
    print_message(f"written: {path}")
    print_message(f"next: eqemb plan --papers N --measurements {path}")
    return found
