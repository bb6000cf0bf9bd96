"""The files that install and ship the project agree with each other."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def names(requirements: list[str]) -> set[str]:
    """The packages of a list of requirements, without eqemb itself."""
    found = {re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0].lower() for line in requirements}
    return found - {"eqemb"}


def test_constraints_name_every_package_with_a_hash() -> None:
    """Those of the base install, of development and of the documentation."""
    extras = PROJECT["optional-dependencies"]
    needed = list(PROJECT["dependencies"])
    for name in ("serve", "mcp", "sklearn", "dev", "docs"):
        needed += extras[name]
    text = (ROOT / "constraints.txt").read_text("utf-8")
    entries = re.split(r"\n(?=\S)", text)
    pinned = {entry.partition("==")[0] for entry in entries if "--hash=sha256:" in entry}
    assert names(needed) <= pinned


def test_workflow_tests_every_declared_python() -> None:
    """The classifiers and the matrix name the same versions."""
    declared = set(re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"])))
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8")
    assert declared == set(re.findall(r'"(3\.\d+)"', workflow))
    oldest = min(declared, key=lambda version: int(version.removeprefix("3.")))
    assert PROJECT["requires-python"] == f">={oldest}"
