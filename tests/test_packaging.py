"""The files that install and ship the project agree with each other."""

import json
import os
import re
import subprocess
import sys
import threading
import tomllib
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

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


def instructions(name: str) -> list[str]:
    """The instructions of a Containerfile; comments are left out and long lines joined."""
    lines = (ROOT / name).read_text("utf-8").splitlines(keepends=True)
    text = "".join(line for line in lines if not line.startswith("#"))
    return text.replace("\\\n", "").splitlines()


def test_container_is_built_of_what_is_copied_into_it() -> None:
    """With the pinned versions."""
    copied = set((ROOT / ".dockerignore").read_text("utf-8").split())
    run = next(line for line in instructions("Containerfile") if "pip install" in line)
    assert "-c /tmp/constraints.txt" in run
    assert {f"!{name}" for name in re.findall(r"/src/([\w.]+)", run)} <= copied
    hatch = {"src", "pyproject.toml", PROJECT["readme"], *PROJECT["license-files"]}
    assert {f"!{name}" for name in hatch} <= copied


@pytest.mark.parametrize(("status", "code"), [(200, 0), (503, 1)])
def test_container_is_healthy_while_its_server_answers(status: int, code: int) -> None:
    """The check is a command of Python, without a token and without a proxy."""
    asked: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    check = next(line for line in instructions("Containerfile") if line.startswith("HEALTHCHECK"))
    program, *arguments = json.loads(check.partition(" CMD ")[2])
    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        arguments = [one.replace(":8000/", f":{server.server_port}/") for one in arguments]
        done = subprocess.run(
            [sys.executable, *arguments],
            env=os.environ | {"http_proxy": "http://127.0.0.1:9"},
            stderr=subprocess.DEVNULL,
            check=False,
        )
        server.shutdown()
    assert (program, asked, done.returncode) == ("python", ["/v1/healthz"], code)
