"""The command line: parse, call one function of the library, print.

Exit codes: 0 done, 1 failed, 2 usage, 3 a threshold that was asked for was missed. Commands import
what they need, so that --help starts at once.
"""

import os
import sys
from pathlib import Path

from eqemb.cli import ask, build, demo, evaluate, fetch, serve, train, update
from eqemb.cli.console import app

__all__ = ["ask", "build", "demo", "evaluate", "fetch", "main", "serve", "train", "update"]


def main() -> None:
    """Run the command line."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started us
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - to the end
        else:
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="eqemb")
