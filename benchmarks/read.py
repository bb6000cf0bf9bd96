"""Measure reading speed, next to pandoc and pylatexenc on the same papers in the same run.

    python benchmarks/read.py --corpora PAPERS [--rivals 30] [--times 10] [--json]

PAPERS is a folder of papers (.tar.gz and similar). Other programs are skipped, with a message, if
they are not installed. "MB" are megabytes of the .tex, .sty and .cls files that were joined into
documents; for the other programs, of the main file, which is all they get. Memory is PSS, summed
over all processes of the run (`processes.py`).
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from processes import run_measured

from eqemb.readers.latex import read_latex
from eqemb.readers.latex.files import Files
from eqemb.sources import Source, discover, load


def main() -> None:
    """Measure and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", default=os.environ.get("EQEMB_CORPORA"))
    parser.add_argument(
        "--rivals", type=int, default=30, help="number of papers for other programs"
    )
    parser.add_argument("--times", type=int, default=10, help="how often the papers are repeated")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not options.corpora:
        parser.error("give --corpora, a folder of papers (or set EQEMB_CORPORA)")
    papers = Path(options.corpora)
    figures: dict[str, float | int] = {}
    figures |= one_core(papers)
    figures |= beside_rivals(papers, options.rivals)
    figures |= whole_run(papers, options.times)
    if options.json:
        print(json.dumps({name: round(value, 3) for name, value in figures.items()}))
    else:
        for name, value in figures.items():
            print(f"{name:44}{value:14,.2f}")


def sources(papers: Path) -> Iterator[Source]:
    """Open every LaTeX source below a folder."""
    for found in discover([papers]):
        if not found.cause and found.form == "tex":
            yield load(found)


def one_core(papers: Path) -> dict[str, float | int]:
    """Return the CPU seconds of opening and reading everything in one process."""
    started = time.process_time()
    documents = size = 0
    for source in sources(papers):
        size += read_latex(source).source_bytes
        documents += 1
    seconds = time.process_time() - started
    return {
        "documents": documents,
        "megabytes": size / 1e6,
        "one_core_megabytes_per_second": size / 1e6 / seconds,
        "one_core_papers_per_second": documents / seconds,
    }


# ---------------------------------------------------------------- rivals


def beside_rivals(papers: Path, count: int) -> dict[str, float | int]:
    """Return CPU seconds per MB of main files, for all programs, on a sample of papers."""
    every = list(sources(papers))
    sample = every[:: max(1, len(every) // count)][:count]
    mains = [(s, main) for s in sample if (main := s.main or Files(s.files).main())]
    size = sum(len(s.files[main]) for s, main in mains) / 1e6
    readers: dict[str, Callable[[bytes], object]] = {"eqemb": _eqemb}
    if shutil.which("pandoc"):
        readers["pandoc"] = _pandoc
    try:
        import pylatexenc  # noqa: F401

        readers["pylatexenc"] = _pylatexenc
    except ImportError:
        pass
    for name in sorted({"pandoc", "pylatexenc"} - set(readers)):
        print(f"skipping {name}: not installed", file=sys.stderr)
    figures: dict[str, float | int] = {"rivals_papers": len(mains)}
    for name, reader in readers.items():
        seconds, failed = _time(reader, [s.files[main] for s, main in mains])
        figures[f"{name}_main_file_megabytes_per_second"] = size / seconds
        figures[f"{name}_failed_papers"] = failed
    return figures


def _time(reader: Callable[[bytes], object], files: list[bytes]) -> tuple[float, int]:
    started, failed = os.times(), 0
    for data in files:
        try:
            reader(data)
        except Exception:  # noqa: BLE001 - a rival's failure is a figure
            failed += 1
    ended = os.times()
    return sum(ended[:4]) - sum(started[:4]), failed


def _eqemb(data: bytes) -> object:
    return read_latex(Source("x", "x", "", "tex", {"main.tex": data}))


def _pandoc(data: bytes) -> object:
    command = ["pandoc", "-f", "latex", "-t", "json"]
    return subprocess.run(command, input=data, capture_output=True, check=True, timeout=60)


def _pylatexenc(data: bytes) -> object:
    from pylatexenc.latex2text import LatexNodes2Text

    return LatexNodes2Text().latex_to_text(data.decode("utf-8", "replace"))


# ---------------------------------------------------------------- the whole run


def whole_run(papers: Path, times: int) -> dict[str, float | int]:
    """Run `eqemb read` with one and two processes, and measure memory as the corpus grows."""
    figures: dict[str, float | int] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for jobs in (1, 2):
            seconds, peak = _run(papers, folder / f"library{jobs}", jobs)
            figures[f"jobs_{jobs}_seconds"] = seconds
            figures[f"jobs_{jobs}_peak_pss_megabytes"] = peak
        figures["two_processes_speedup"] = figures["jobs_1_seconds"] / figures["jobs_2_seconds"]
        for copy in range(times if times > 1 else 0):
            shutil.copytree(papers, folder / "papers" / str(copy))
        if times > 1:
            seconds, peak = _run(folder / "papers", folder / "library", 2)
            figures[f"times_{times}_seconds"] = seconds
            figures[f"times_{times}_peak_pss_megabytes"] = peak
    return figures


def _run(papers: Path, library: Path, jobs: int) -> tuple[float, float]:
    command = [sys.executable, "-m", "eqemb", "read", str(papers), "-o", str(library)]
    used = run_measured([*command, "--jobs", str(jobs), "--json"])
    return used.seconds, used.peak_megabytes


if __name__ == "__main__":
    main()
