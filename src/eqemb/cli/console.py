"""Print to the terminal: data to stdout, messages to stderr."""

import json
import re
import shutil
import sys
from contextlib import suppress
from typing import Any, NoReturn

#: Width of an answer when stdout is not a terminal, and the most it gets on one.
MAX_WIDTH = 113
MIN_WIDTH = 60


def output_width() -> int:
    """The width of a line of output: that of the terminal, within limits."""
    if not sys.stdout.isatty():
        return MAX_WIDTH
    return max(MIN_WIDTH, min(MAX_WIDTH, shutil.get_terminal_size().columns))


def print_message(text: str) -> None:
    """Print a line on stderr, after everything printed on stdout so far."""
    with suppress(OSError):  # a closed stdout is reported when the command ends
        sys.stdout.flush()
    print(without_controls(text), file=sys.stderr)


def fail(message: str, code: int) -> NoReturn:
    """Print an error and exit."""
    print_message(f"eqemb: {message}")
    sys.exit(code)


def without_controls(text: str) -> str:
    """Replace control characters, so that text from a paper cannot drive the terminal."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", " ", text)


def print_json(value: Any) -> None:
    """Print one JSON object on stdout."""
    print(json.dumps(value, ensure_ascii=sys.stdout.encoding.lower() != "utf-8"))


def print_export(text: str) -> None:
    """Print a file on stdout, with the line ends of this system."""
    print(without_controls(text.replace("\r\n", "\n")), end="")


def first_names(names: list[str], most: int) -> str:
    """The first few of a list of names, with an ellipsis if there are more."""
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")
