"""The command line: parse, call one function of the library, print.

Exit codes: 0 success, 1 failure, 2 wrong usage, 3 a requested threshold was missed. Commands import
what they need when they run, so that `--help` starts fast.
"""

import os
import sys
from pathlib import Path

from eqemb.cli import (
    agents,
    ask,
    build,
    demo,
    evaluate,
    fetch,
    licenses,
    plan,
    serve,
    show,
    train,
    update,
    verify,
)
from eqemb.cli.app import app

__all__ = [
    "agents",
    "ask",
    "build",
    "demo",
    "evaluate",
    "fetch",
    "licenses",
    "main",
    "plan",
    "serve",
    "show",
    "train",
    "update",
    "verify",
]


def main() -> None:
    """Run the command line."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # the parent process closed it
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - open until exit
        else:
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="eqemb")
