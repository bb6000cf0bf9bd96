"""The README shows what the demo prints, and names only commands that exist."""

import os
import re
import subprocess
import sys
from pathlib import Path

import generate
from rich.cells import cell_len

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def test_commands_exist() -> None:
    """Each `eqemb WORD` in a console block is a command."""
    blocks = re.findall(r"^```console\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    words = set(re.findall(r"^\$ eqemb (\w+)", "\n".join(blocks), re.MULTILINE))
    assert words
    assert not words - set(generate.declared())


def test_it_is_short() -> None:
    """A newcomer reads it in a few minutes."""
    assert len(README.splitlines()) <= 190


def test_the_demo_prints_what_it_shows(tmp_path: Path) -> None:
    """The block between the demo marks is the output of `make demo`, line by line.

    Make finds a finished environment, whose `eqemb` is the one under test.
    """
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "eqemb").symlink_to(Path(sys.executable).with_name("eqemb"))
    for name in ("pyproject.toml", ".venv/base"):
        (tmp_path / name).touch()
    done = subprocess.run(
        ["make", "-s", "-f", ROOT / "Makefile", "demo"],  # noqa: S607 - make is a tool of ours
        capture_output=True,
        encoding="utf-8",
        check=False,
        cwd=tmp_path,
        env={**os.environ, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "100"},
        timeout=300,  # the kernels may have to be compiled first
    )
    assert done.returncode == 0, done.stderr
    printed = [line.rstrip() for line in done.stdout.splitlines()]
    assert max(map(cell_len, printed)) <= 100
    assert "\x1b" not in done.stdout
    block = README.split("<!-- demo -->")[1].split("<!-- /demo -->")[0]
    assert ["```text", *printed, "```"] == block.strip().splitlines()
    assert (tmp_path / "library" / "library.json").exists()
