"""Conversion speed, LaTeX to units, in equations per second and core, next to other converters.

    python benchmarks/units.py [--papers FOLDER | --equations FILE.jsonl] [--latexml 100]

Without either option: the real equations under EQEMB_BENCH, or else textbook formulas. Times are
CPU time of one process, the best of three passes; LaTeXML converts its share in one document.
"""

import argparse
import platform
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from equations import add_options, load

from eqemb.formula import layout


def ours(latex: str) -> None:
    """Convert an equation as a library does."""
    layout(latex).units()


def ours_shown(latex: str) -> None:
    """Convert an equation as a page does."""
    layout(latex).to_mathml()


def rivals() -> dict[str, Callable[[str], object]]:
    """Return the installed converters."""
    found: dict[str, Callable[[str], object]] = {}
    try:
        from math_core import LatexToMathML

        math_core = LatexToMathML().convert_with_local_state
        found["math-core (MathML)"] = lambda latex: math_core(latex, displaystyle=True)
    except ImportError:
        pass
    try:
        from latex2mathml.converter import convert

        found["latex2mathml (MathML)"] = convert
    except ImportError:
        pass
    return found


def measure(
    convert: Callable[[str], object], equations: list[str], passes: int
) -> tuple[float, int]:
    """Return equations per second of CPU time, and the number of failures."""
    best, refused = float("inf"), 0
    for _ in range(passes):
        refused = 0
        start = time.process_time()
        for latex in equations:
            try:
                convert(latex)
            except Exception:  # noqa: BLE001 - a rival may raise anything
                refused += 1
        best = min(best, time.process_time() - start)
    return len(equations) / best, refused


def latexml(equations: list[str]) -> float:
    """Return equations per second of LaTeXML, with one document for all of them."""
    body = "\n\n".join(rf"\[\begin{{aligned}} {latex} \end{{aligned}}\]" for latex in equations)
    source = (
        r"\documentclass{article}\usepackage{amsmath,amssymb,bm}\begin{document}"
        f"\n{body}\n" + r"\end{document}"
    )
    with tempfile.TemporaryDirectory() as folder:
        tex, xml = Path(folder) / "a.tex", Path(folder) / "a.xml"
        tex.write_text(source, encoding="utf8")
        start = time.perf_counter()
        for command in (
            ["latexml", "--quiet", f"--dest={xml}", str(tex)],
            ["latexmlpost", "--quiet", "--pmml", f"--dest={folder}/a.html", str(xml)],
        ):
            subprocess.run(command, check=False, capture_output=True, cwd=folder)
        return len(equations) / (time.perf_counter() - start)


def main() -> None:
    """Measure and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser)
    parser.add_argument("--limit", type=int, default=5000)
    parser.add_argument("--latexml", type=int, default=100, help="number of formulas for LaTeXML")
    options = parser.parse_args()
    origin, equations = load(options.equations, options.papers)
    equations = equations[:: max(1, len(equations) // options.limit)]
    length = sum(map(len, equations)) / len(equations)
    print(f"{len(equations)} equations of {length:.0f} characters from {origin}")
    print(f"Python {platform.python_version()}, {platform.machine()}")
    rows = {"eqemb: LaTeX to units": ours, "eqemb: LaTeX to MathML": ours_shown, **rivals()}
    for name, convert in rows.items():
        passes = 1 if "latex2mathml" in name else 3
        rate, refused = measure(convert, equations, passes)
        print(f"{name:26} {rate:9,.0f} equations/s   {refused} refused")
    if options.latexml and shutil.which("latexml"):
        share = equations[: options.latexml]
        print(
            f"{'LaTeXML (MathML)':26} {latexml(share):9,.1f} equations/s   ({len(share)} formulas)"
        )


if __name__ == "__main__":
    main()
