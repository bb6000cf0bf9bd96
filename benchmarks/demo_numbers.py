"""Write the equation numbers that LaTeX prints in the demo articles, for `test_demo.py`.

    python benchmarks/demo_numbers.py

Runs pdflatex on every article and writes the content of its .aux files to
`tests/demo_numbers.toml`.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "src/eqemb/demo"
TABLE = ROOT / "tests/demo_numbers.toml"
HEAD = """\
# Printed number and label of every numbered equation of the demo articles, as pdflatex wrote them
# into its .aux files (`benchmarks/demo_numbers.py`). Figures, tables and groups of sub-equations
# are left out.
"""
LABEL = re.compile(r"\\newlabel\{([^}]*)\}\{\{((?:[^{}]|\{[^}]*\})*)\}")
ELSEWHERE = ("fig:", "tab:")


def numbers(article: Path) -> Iterator[tuple[str, str]]:
    """Yield the printed number and the label of each equation."""
    folder, main = (article, "main.tex") if article.is_dir() else (article.parent, article.name)
    with TemporaryDirectory() as scratch:
        command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode"]
        done = subprocess.run(
            [*command, f"-output-directory={scratch}", main],
            cwd=folder,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            sys.exit(f"pdflatex refuses {article}:\n{done.stdout.decode(errors='replace')}")
        text = (Path(scratch) / main).with_suffix(".aux").read_text("utf-8")
    found = [
        (re.sub(r"\\\w+ *|[{}]", "", number), label)
        for label, number in LABEL.findall(text)
        if not label.endswith("@cref") and not label.startswith(ELSEWHERE)
    ]
    printed = {number for number, _ in found}
    yield from ((number, label) for number, label in found if f"{number}a" not in printed)


def main() -> None:
    """Write the file."""
    lines = [HEAD]
    for field in ("nlp", "ir", "ai", "ml"):
        for article in sorted((DEMO / field).iterdir()):
            lines.append(f"[{field}.{article.stem}]")
            for number, label in numbers(article):
                key = f'"{number}"' if "." in number else number
                lines.append(f'{key} = "{label}"')
            lines.append("")
    TABLE.write_text("\n".join(lines[:-1]) + "\n", "utf-8")


if __name__ == "__main__":
    main()
