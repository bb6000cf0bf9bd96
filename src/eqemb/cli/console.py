"""The app, and how every command talks: data to stdout, talk to stderr, failures as sentences."""

import errno
import json
import os
import re
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, NoReturn, Self

import typer
from typer.core import TyperGroup

from eqemb import __version__
from eqemb.errors import EqembError, describe_os_error

_INTERRUPTED = 130
#: What remains of a command that was interrupted.
_KEPT = {
    "add": "; what was read is kept, go on with --resume",
    "build": "; what was read and learned is kept, go on with --resume",
    "fetch": "; what was fetched is kept, the same command goes on",
    "read": "; what was read is kept, go on with --resume",
    "remove": "; the library is as it was, go on with --resume",
    "compare": "; finished tasks (a collection, K and a reading) are kept, the same command"
    " begins with those that were under way",
    "train": "; finished iterations are kept (not gensim's), go on with --resume",
}


#: Arguments that cannot be understood; typer exports only a kind of it.
_Misuse: Any = typer.BadParameter.__base__


class _Commands(TyperGroup):
    """The commands; every failure of one is a sentence on stderr and an exit code."""

    def main(self, *args: Any, **more: Any) -> NoReturn:
        """Run the command line to its end."""
        try:
            code = super().main(*args, **more | {"standalone_mode": False}) or 0
            sys.stdout.flush()
        except _Misuse as error:
            _fail_misused(error)
        except OSError as error:  # --help
            _fail_refused(error)
        if code == _INTERRUPTED:  # before a command was found
            fail("interrupted", code)
        sys.exit(code)

    def invoke(self, ctx: Any) -> None:
        """Run a command."""
        try:
            with _saying():
                super().invoke(ctx)
            sys.stdout.flush()  # what cannot be written shows here, not when all is over
        except EqembError as error:
            fail(str(error), error.exit_code)
        except KeyboardInterrupt:
            fail("interrupted" + _KEPT.get(str(ctx.invoked_subcommand), ""), _INTERRUPTED)
        except OSError as error:
            _fail_refused(error)


@contextmanager
def _saying() -> Iterator[None]:
    """Warnings as sentences, like everything else that is said; each is said once."""
    said = set()

    def once(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in said:
            said.add(str(message))
            say(str(message))

    with warnings.catch_warnings():
        warnings.showwarning = once
        yield


def _fail_refused(error: OSError) -> NoReturn:
    """Say what the system refused; a reader that has gone (| head) is no failure."""
    _drop_output()
    if isinstance(error, BrokenPipeError):
        sys.exit(0)
    if error.filename is None and error.errno == errno.ENOSPC:  # else `name_path` says where
        error.filename = "what was found cannot be written to stdout"
    fail(describe_os_error(error), 1)


def _fail_misused(error: Any) -> NoReturn:
    """Say what is wrong with the arguments, and where to read how they are."""
    if type(error).__name__ == "NoArgsIsHelpError":  # its message is the help
        say(error.format_message())
        sys.exit(error.exit_code)
    said = " ".join(error.format_message().split()).rstrip(".")
    dash = ""
    if type(error).__name__ == "NoSuchOption" and not error.possibilities:
        dash = "; put -- before what begins with a dash and is none"
    path = error.ctx.command_path if error.ctx else "eqemb"
    fail(f"{said[0].lower()}{said[1:]}{dash} (`{path} --help` shows how)", error.exit_code)


def _drop_output() -> None:
    """What stdout could not take goes nowhere; Python would try again at the end, and complain."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


app = typer.Typer(
    cls=_Commands,
    help="Learn what equations mean from the text around them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
LibraryPath = Annotated[Path, typer.Argument(metavar="LIBRARY", help="A library folder.")]


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(f"eqemb {__version__}")
        raise typer.Exit


def columns() -> int:
    """How wide a line of an answer may be: as the terminal, within limits; 113 without one."""
    return max(60, min(113, shutil.get_terminal_size().columns)) if sys.stdout.isatty() else 113


def say(text: str) -> None:
    """A line for people, on stderr, after what was printed on stdout so far."""
    with suppress(OSError):  # nobody takes it: the end of the command tells
        sys.stdout.flush()
    print(harmless(text), file=sys.stderr)


def fail(sentence: str, code: int) -> NoReturn:
    """Say why, and leave."""
    say(f"eqemb: {sentence}")
    sys.exit(code)


def harmless(text: str) -> str:
    """Text of papers as a terminal may have it: no control characters."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", " ", text)


def print_json(value: Any) -> None:
    """One JSON object on stdout."""
    print(json.dumps(value, ensure_ascii=sys.stdout.encoding.lower() != "utf-8"))


@contextmanager
def busy(what: str) -> Iterator[None]:
    """A spinner on stderr while something is made, where somebody watches."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


class Talk:
    """A progress line on stderr, only where somebody watches."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

            self._bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.completed:,.0f} papers, {task.fields[rate]:.0f}/s,"),
                TextColumn(
                    "{task.fields[equations]:,} equations, {task.fields[skipped]:,} skipped"
                ),
                TimeElapsedColumn(),
                TextColumn("{task.fields[name]}", markup=False),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task(
                "", total=None, rate=0.0, equations=0, skipped=0, name=""
            )
        return self

    def progress(self, state: Any) -> None:
        """Show the state of a reading."""
        if self._bar is not None:
            from eqemb.search.results import cut

            elapsed = self._bar.tasks[0].elapsed or 1e-9
            self._bar.update(
                self._task,
                completed=state.done,
                rate=state.done / elapsed,
                equations=state.equations,
                skipped=state.skipped,
                name=cut(state.name, 40),
            )

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()


class Stages:
    """A line for each stage of a change on stderr, only where somebody watches."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

            self._bar = Progress(
                SpinnerColumn(finished_text="✓"),
                TextColumn("{task.description:10}"),
                TimeElapsedColumn(),
                TextColumn("{task.fields[state]}", markup=False),
                console=Console(stderr=True),
            )
            self._bar.start()
        return self

    def watch(self, stage: str, state: str) -> None:
        """Show how far a stage is; those before it are over."""
        if self._bar is None:
            return
        from eqemb.search.results import cut

        if stage not in self._tasks:
            self._end()
            self._tasks[stage] = self._bar.add_task(stage, total=1, state="")
        self._bar.update(self._tasks[stage], state=cut(harmless(state), 90))

    def _end(self) -> None:
        for task in self._tasks.values():
            self._bar.update(task, completed=1)

    def __exit__(self, error: object, *_: object) -> None:
        if self._bar is not None:
            if error is None:
                self._end()
            self._bar.stop()
