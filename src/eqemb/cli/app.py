"""The typer app: the order of the commands, `help`, `version`, and how errors are reported.

Every failure is one line on stderr and an exit code. Commands register themselves with `app` when
their module is imported; `COMMAND_GROUPS` alone decides where `eqemb --help` lists them.
"""

import errno
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from eqemb import __version__
from eqemb.cli.console import fail, print_message
from eqemb.errors import EqembError, describe_os_error

#: The commands as `eqemb --help` lists them.
COMMAND_GROUPS = {
    "Ask": (
        "search",
        "similar",
        "describe",
        "symbols",
        "notation",
        "words",
        "query",
        "why",
        "show",
        "units",
        "serve",
        "mcp",
    ),
    "Build": ("demo", "build", "read", "fetch", "plan"),
    "Keep": (
        "info",
        "add",
        "update",
        "remove",
        "retrain",
        "compact",
        "export",
        "map",
        "repro",
        "verify",
        "licenses",
    ),
    "Research": ("train", "use", "split", "evaluate", "compare", "retrieval"),
}
_INTERRUPTED = 130
#: What to do after an interruption, by command.
_AFTER_INTERRUPTION = {
    "add": "; finished papers are kept, continue with --resume",
    "build": "; finished work is kept, continue with --resume",
    "fetch": "; downloaded papers are kept, run the same command to continue",
    "read": "; finished papers are kept, continue with --resume",
    "remove": "; the library is unchanged, continue with --resume",
    "compact": "; the library is unchanged, continue with --resume",
    "update": "; the library is unchanged, run the same command again",
    "retrain": "; the library is unchanged, continue with --resume",
    "compare": "; finished tasks (one collection, K and reading each) are kept, run the same"
    " command to continue",
    "train": "; finished iterations are kept (except by gensim), continue with --resume",
}

#: Wrong arguments. Typer exports only a subclass of this.
_ArgumentError: Any = typer.BadParameter.__base__


class _Commands(TyperGroup):
    """Lists commands by group, and turns every failure into one line and an exit code."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands, in the order of `COMMAND_GROUPS`."""
        order = [name for names in COMMAND_GROUPS.values() for name in names]
        known = super().list_commands(ctx)
        return sorted(known, key=lambda name: order.index(name) if name in order else len(order))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each group; no summary is shortened."""
        names = [name for name in self.list_commands(ctx) if not self.commands[name].hidden]
        width = max(map(len, names))
        for group, members in COMMAND_GROUPS.items():
            rows = [
                (name.ljust(width), (self.commands[name].help or "").partition("\n\n")[0])
                for name in members
                if name in names
            ]
            with formatter.section(group):
                formatter.write_dl(rows)

    def main(self, *args: Any, **more: Any) -> NoReturn:
        """Run the command line and exit."""
        try:
            code = super().main(*args, **more | {"standalone_mode": False}) or 0
            sys.stdout.flush()
        except _ArgumentError as error:
            _fail_arguments(error)
        except OSError as error:  # while printing --help
            _fail_system(error)
        if code == _INTERRUPTED:  # before a command was found
            fail("interrupted", code)
        sys.exit(code)

    def invoke(self, ctx: Any) -> None:
        """Run a command."""
        try:
            with _warnings_as_messages():
                super().invoke(ctx)
            sys.stdout.flush()  # report a failing write here, not at interpreter exit
        except EqembError as error:
            fail(str(error), error.exit_code)
        except KeyboardInterrupt:
            after = _AFTER_INTERRUPTION.get(str(ctx.invoked_subcommand), "")
            fail(f"interrupted{after}", _INTERRUPTED)
        except OSError as error:
            _fail_system(error)


@contextmanager
def _warnings_as_messages() -> Iterator[None]:
    """Print each Python warning once, as a message."""
    printed = set()

    def once(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in printed:
            printed.add(str(message))
            print_message(str(message))

    with warnings.catch_warnings():
        warnings.showwarning = once
        yield


def _fail_system(error: OSError) -> NoReturn:
    """Report what the system refused; a reader that closed the pipe (| head) is no failure."""
    _drop_output()
    if isinstance(error, BrokenPipeError):
        sys.exit(0)
    # writes to our own files name the file themselves
    if error.filename is None and error.errno == errno.ENOSPC:
        error.filename = "cannot write the result to stdout"
    fail(describe_os_error(error), 1)


def _fail_arguments(error: Any) -> NoReturn:
    """Report what is wrong with the arguments, and which help to read."""
    if type(error).__name__ == "NoArgsIsHelpError":  # its message is the help
        print_message(error.format_message())
        sys.exit(error.exit_code)
    message = " ".join(error.format_message().split()).rstrip(".")
    dash = ""
    if type(error).__name__ == "NoSuchOption" and not error.possibilities:
        dash = '; to pass a value that starts with "-", put "--" before it'
    path = error.ctx.command_path if error.ctx else "eqemb"
    fail(f"{message[0].lower()}{message[1:]}{dash} (see `{path} --help`)", error.exit_code)


def _drop_output() -> None:
    """Discard what stdout did not take, or Python tries again at exit and prints a traceback."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


app = typer.Typer(
    cls=_Commands,
    help="Learn what equations mean from the text around them.",
    epilog="`eqemb COMMAND --help` explains a command and its options.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        print_version()
        raise typer.Exit


@app.command("version", hidden=True)
def print_version() -> None:
    """Print the version."""
    print(f"eqemb {__version__}")


@app.command("help", hidden=True)
def print_help(
    ctx: typer.Context,
    command: Annotated[
        str | None, typer.Argument(metavar="COMMAND", help="The command to explain.")
    ] = None,
) -> None:
    """Print the help of eqemb, or of one command."""
    root: Any = ctx.parent
    if command is None:
        print(root.get_help())
        return
    name, found, _ = root.command.resolve_command(root, [command])
    print(typer.Context(found, info_name=name, parent=root).get_help())
