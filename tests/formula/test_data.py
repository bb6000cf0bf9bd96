"""Claims about units, checked on data that is not part of the project."""

import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from eqemb.formula import layout
from eqemb.formula.tree import walk

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def run(script: str, *arguments: str, bench: Path) -> str:
    """The output of a benchmark."""
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / script), *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "EQEMB_BENCH": str(bench)},
    )
    return done.stdout


@pytest.mark.parametrize(("ends", "expected"), [("all", 0.516), ("none", 0.526)])
def test_dice_ranks_arqmath_as_published(bench: Path, ends: str, expected: float) -> None:
    """MAP' in the pool setting, and the malformed strings counted."""
    out = run("arqmath.py", "--baseline", "dice", "--end-of-baseline", ends, bench=bench)
    assert "9347 formulas" in out
    assert "21 strings malformed" in out
    score = float(out.split("(a, pool)")[1].split("MAP'")[1].split()[0])
    assert score == pytest.approx(expected, abs=0.003)


def test_queries_read_from_latex_rank_as_well(bench: Path) -> None:
    """Our reader replaces LaTeXML and Tangent on the query side."""
    out = run("arqmath.py", "--queries", "latex", bench=bench)
    assert float(out.split("(a, pool)")[1].split("MAP'")[1].split()[0]) >= 0.513


def displays(corpora: Path, limit: int) -> list[str]:
    """Bodies of plain `equation` environments without the author's macros, found crudely."""
    import re

    found: list[str] = []
    for archive in sorted(corpora.glob("*/*.tar.gz")):
        with tarfile.open(archive) as opened:
            for member in opened.getmembers():
                if not member.name.endswith(".tex"):
                    continue
                file = opened.extractfile(member)
                text = io.TextIOWrapper(file or io.BytesIO(), "utf8", errors="replace").read()
                text = re.sub(r"(?<!\\)%.*", "", text)
                bodies = re.findall(r"\\begin\{equation\}(.*?)\\end\{equation\}", text, re.DOTALL)
                found += [b for b in bodies if "#" not in b and "\\begin{tikz" not in b]
        if len(found) >= limit:
            break
    return found[:limit]


def test_real_equations_are_read_cleanly(corpora: Path) -> None:
    """At least 99.5 % without an error node."""
    equations = displays(corpora, 3000)
    wrong = [e for e in equations if any(n.tag[:2] == "E!" for n in walk(layout(e).root))]
    assert len(wrong) <= 0.005 * len(equations)


def test_leaves_are_the_visible_tokens(corpora: Path) -> None:
    """An independent count of characters agrees between source and tree."""
    from leaves import leaves, visible

    equations = displays(corpora, 3000)
    wrong = [e for e in equations if leaves(layout(e)) != visible(e)]
    assert len(wrong) <= 0.02 * len(equations)


def test_math_core_makes_the_same_units(corpora: Path) -> None:
    """For at least 99 % of what it accepts, with fences grouped or dissolved."""
    pytest.importorskip("math_core")
    from agreement import with_math_core

    equations = displays(corpora, 3000)
    for dissolve in (False, True):
        result = with_math_core(equations, dissolve=dissolve)
        assert result.count > 500
        assert result.dice >= 0.99


def test_the_units_benchmark_runs_on_textbook_formulas() -> None:
    """So that it cannot rot."""
    env = {key: value for key, value in os.environ.items() if key != "EQEMB_BENCH"}
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "units.py"), "--limit", "20", "--latexml", "0"],
        capture_output=True, text=True, check=True, env=env,
    )  # fmt: skip
    assert "eqemb: LaTeX to units" in done.stdout


def test_json_of_units_is_what_the_command_line_promises() -> None:
    """Units are triples of strings."""
    made = layout(r"\frac{a}{b_1}")
    record = json.loads(
        json.dumps({"units": made.units(), "slt": made.to_slt(), "problems": made.problems})
    )
    assert record == {
        "units": [["O!divide", "V!a", "o"], ["O!divide", "V!b", "u"], ["V!b", "N!1", "b"]],
        "slt": "[O!divide,o[V!a],u[V!b,b[N!1]]]",
        "problems": [],
    }
