"""How far the reading of papers is."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from eqemb.arxiv.text import format_duration
from eqemb.library.lookahead import Lookahead
from eqemb.library.rows import ReadCounts


@dataclass(frozen=True, slots=True)
class Progress:
    """Passed to the progress callback after each source, or about twice a second on a cluster."""

    done: int
    equations: int
    skipped: int
    name: str
    found: int = 0
    """Number of sources found so far, including those that are done."""
    is_complete: bool = False
    """Whether all sources have been found."""
    seconds_left: float | None = None
    """An estimate, once all sources have been found."""

    @property
    def text(self) -> str:
        """How far the reading is: "27 of 30 sources, 412 equations, 1 skipped, 5 s left"."""
        more = "" if self.is_complete else "+"
        left = f", {format_duration(self.seconds_left)} left" if self.seconds_left else ""
        sources = "source" if self.found == 1 else "sources"
        counts = f"{self.equations:,} equations, {self.skipped:,} skipped"
        return f"{self.done:,} of {self.found:,}{more} {sources}, {counts}{left}"


class ProgressMeter:
    """Estimates the time that is left, and calls the progress callback."""

    def __init__(
        self,
        before: tuple[int, int, int],
        ahead: Lookahead,
        callback: Callable[[Progress], None] | None,
    ) -> None:
        """`before` are the numbers of documents, equations and skipped sources of earlier runs."""
        self._before, self._ahead, self._callback = ReadCounts(*before), ahead, callback
        self._started = time.monotonic()

    def show(self, counts: ReadCounts, name: str) -> None:
        """Report what was read in this run, and the source that was read last."""
        if self._callback is None:
            return
        found, is_complete = self._before.documents + self._ahead.found, self._ahead.is_complete
        total, left = self._before.plus(counts), None
        if is_complete and counts.documents:
            rate = (time.monotonic() - self._started) / counts.documents
            left = rate * (found - total.documents)
        self._callback(Progress(*total, name, found, is_complete, left))
