"""Progress on stderr: bars and spinners on a terminal; elsewhere, one line for each stage."""

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from eqemb.cli.console import print_message, without_controls


@contextmanager
def spinner(text: str) -> Iterator[None]:
    """Show a spinner while the block runs."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield


class _Progress:
    """A rich progress display that exists only on a terminal; `_bar` is None elsewhere."""

    def __init__(self) -> None:
        self._bar: Any = None

    def _columns(self, rich: Any) -> list[Any]:
        """The columns of the display."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich import progress
            from rich.console import Console

            self._bar = progress.Progress(
                *self._columns(progress), console=Console(stderr=True), transient=self._transient
            )
            self._bar.start()
            self._started()
        return self

    _transient = True

    def _started(self) -> None:
        """Add the first tasks."""

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()


class StageProgress(_Progress):
    """One line for each stage of a longer task; without a terminal, once it is finished."""

    _transient = False

    def __init__(self, *, lines: bool = True) -> None:
        """Without `lines`, nothing is printed if there is no terminal."""
        super().__init__()
        self._lines = lines
        self._tasks: dict[str, Any] = {}
        self._stage, self._state, self._began = "", "", 0.0

    def _columns(self, rich: Any) -> list[Any]:
        return [
            rich.SpinnerColumn(finished_text="✓"),
            rich.TextColumn("{task.description:10}"),
            rich.TimeElapsedColumn(),
            rich.TextColumn("{task.fields[state]}", markup=False),
        ]

    def update(self, stage: str, state: str) -> None:
        """Show how far a stage is; earlier stages are marked as finished."""
        if stage != self._stage:
            self._finish()
            self._stage, self._began = stage, time.monotonic()
        self._state = state
        if self._bar is not None:
            from eqemb.search.results import cut

            if stage not in self._tasks:
                self._tasks[stage] = self._bar.add_task(stage, total=1, state="")
            self._bar.update(self._tasks[stage], state=cut(without_controls(state), 90))

    def update_papers(self, state: Any) -> None:
        """Show how far reading is."""
        self.update("reading", f"{state.text} · {state.name}")

    def _finish(self) -> None:
        for task in self._tasks.values():
            self._bar.update(task, completed=1)
        if self._bar is None and self._lines and self._stage:
            state = self._state.partition(" · ")[0]
            seconds = time.monotonic() - self._began
            print_message(f"{self._stage}: {state}{', ' if state else ''}{seconds:.1f} s")

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            self._finish()
        super().__exit__(*error)


class TrainingProgress(_Progress):
    """One line for each iteration of training."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def _columns(self, rich: Any) -> list[Any]:
        return [
            rich.SpinnerColumn(),
            rich.TextColumn("{task.description}"),
            rich.TimeElapsedColumn(),
        ]

    def _started(self) -> None:
        self._bar.add_task("first iteration (compiling, once)", total=None)

    def update(
        self, row: dict[str, Any], iteration: int, seconds: float, loss: float, score: float | None
    ) -> None:
        """Print the result of an iteration."""
        if self._bar is None:
            return
        shown_loss = "" if math.isnan(loss) else f"  loss {loss:.4f}"
        validation = "" if score is None else f"  validation {score:.4f}"
        best = next(iter(row["best"].values()))
        if score is not None and best < iteration:  # other vectors may still improve
            validation += f" (best: {best})"
        rate = row["positions"] / max(seconds, 1e-9) / 1e6
        self._bar.console.print(
            f"{row['stage']:10}{iteration:3}/{self._limit}  {rate:6.2f} M words/s"
            f"{shown_loss}{validation}",
            highlight=False,
        )
        self._bar.update(self._bar.tasks[0].id, description=f"{row['stage']}, next iteration")
