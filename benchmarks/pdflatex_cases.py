"""Run pdflatex on the small documents of the reader's tests, and store what it prints.

    python benchmarks/pdflatex_cases.py

Reads `tests/readers/latex/printed/cases.toml` and the class matrix `classes.toml`, and writes
`answers.json` beside them: the printed numbers, the labels with their numbers, the count of
displays and the words. The tests compare eqemb with these answers and need no TeX. A case that
pdflatex rejects is an error.
"""

import json
import re
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pdflatex_run

from eqemb.sources import Source

FOLDER = Path(__file__).parents[1] / "tests/readers/latex/printed"
EQUATION = r"\begin{equation}x\end{equation}"


def matrix() -> dict[str, dict[str, Any]]:
    """The cases of the class matrix: each variant in each class."""
    table = tomllib.loads((FOLDER / "classes.toml").read_text("utf-8"))
    books = table["with_chapters"].split()
    return {
        f"{name}: {variant}": {
            "class": name,
            "body": body,
        }
        for name in table["plain"].split() + books
        for variant, body in table["variants"].items()
        if (variant != "chapters" or name in books)
    }


def document(case: dict[str, Any]) -> str:
    """The LaTeX source of one case."""
    packages = case.get("packages", "amsmath")
    options = f"[{case['options']}]" if "options" in case else ""
    lines = [
        rf"\documentclass{options}{{{case.get('class', 'article')}}}",
        rf"\usepackage{{{packages}}}" if packages else "",
        case.get("preamble", ""),
        r"\begin{document}",
        case["body"],
        r"\end{document}",
    ]
    return re.sub(r"(?<!\\)\bEQ\b", lambda _: EQUATION, "\n".join(lines)) + "\n"


def answer(source: str) -> dict[str, Any]:
    """What pdflatex prints for one document."""
    paper = Source("case", "", "", "tex", {"main.tex": source.encode()}, "main.tex")
    with tempfile.TemporaryDirectory() as folder:
        judged = pdflatex_run.typeset(paper, Path(folder).resolve() / "work")
    if judged.outcome != "done" or judged.errors:
        raise ValueError(f"{judged.outcome}, {judged.errors} errors")
    return {
        "numbers": [mark.text for mark in judged.tags],
        "labels": dict(judged.labels),
        "displays": len(judged.displays),
        "text": judged.text,
    }


def main() -> None:
    """Write the answers; with names as arguments, only those of some cases anew."""
    cases = tomllib.loads((FOLDER / "cases.toml").read_text("utf-8")) | matrix()
    kept = FOLDER / "answers.json"
    answers = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    result, failed = {}, 0
    for name, case in cases.items():
        source = document(case)
        old = answers.get(name)
        if old and old["source"] == source and name not in sys.argv[1:]:
            result[name] = old
            continue
        try:
            result[name] = {"source": source, **answer(source)}
        except ValueError as error:
            print(f"{name}: {error}", file=sys.stderr)
            failed += 1
            continue
        text = result[name].pop("text")
        if case.get("words"):
            result[name]["words"] = re.findall(r"[^\W\d_]+", text)
        if not case.get("displays", True):
            del result[name]["displays"]
        if case.get("eqno"):
            result[name]["numbers"] = re.findall(r"\(([\w.]+)\)", text)
        print(name, {k: v for k, v in result[name].items() if k != "source"})
    kept.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", "utf-8")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
