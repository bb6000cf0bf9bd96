"""A training run that can be interrupted: its arrays, its best arrays and its progress.

A run that is killed after any iteration and resumed ends with the same bytes.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from eqemb.errors import EqembError, UsageError
from eqemb.storage import array_file, atomic

Callback = Callable[[int, float, float, float | None], object]


@dataclass
class EarlyStopping:
    """Tracks the best iteration of some arrays, and stops when their score no longer improves.

    That is after `patience` iterations without a better score.
    """

    names: list[str]
    patience: int = 1
    best: float = -math.inf
    iteration: int = 0
    stopped: bool = False

    def see(self, score: float | None, iteration: int) -> bool:
        """Record a score; whether its arrays are the best so far."""
        if self.stopped:
            return False
        if score is None or score > self.best:
            self.best = -math.inf if score is None else score
            self.iteration = iteration
            return True
        self.stopped = iteration - self.iteration >= self.patience
        return False


@dataclass
class TrainingRun:
    """The state of a training run."""

    identity: str
    """The hash of settings, corpus, split and seed, which a checkpoint must match."""
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    best: dict[str, NDArray[Any]] = field(default_factory=dict)
    watches: dict[str, EarlyStopping] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)
    stage: str = ""
    iteration: int = 0
    file: Path | None = None

    @classmethod
    def start(cls, identity: str, file: Path | None, *, resume: bool) -> Self:
        """A new run, or the one of a checkpoint."""
        if not (resume and file and file.exists()):
            return cls(identity, file=file)
        state = array_file.read_metadata(file)
        if state.get("identity") != identity:
            raise UsageError(
                f"{file} is a checkpoint of other settings, of another device, or of a library that"
                " has changed since: pass the --device it was started on, train under another"
                " name, or remove it"
            )
        kept = {name: np.array(array) for name, array in array_file.map_arrays(file).items()}
        return cls(
            identity,
            {name[4:]: array for name, array in kept.items() if name.startswith("now.")},
            {name[5:]: array for name, array in kept.items() if name.startswith("best.")},
            {name: EarlyStopping(**state["watches"][name]) for name in state["watches"]},
            state["history"],
            state["stage"],
            state["iteration"],
            file,
        )

    def save(self) -> None:
        """Write the checkpoint atomically."""
        if self.file is None:
            return
        arrays = {f"now.{name}": array for name, array in self.arrays.items()}
        arrays |= {f"best.{name}": array for name, array in self.best.items()}
        state = {
            "identity": self.identity,
            "watches": {name: vars(watch) for name, watch in self.watches.items()},
            "history": self.history,
            "stage": self.stage,
            "iteration": self.iteration,
        }
        with atomic.new_file(self.file) as new:
            array_file.write_arrays(new, arrays, state)

    def _keep(self, names: Iterable[str]) -> None:
        """Copy arrays to the best ones: into those kept before, which takes a third of the time."""
        for name in names:
            if name in self.best:
                self.best[name][...] = self.arrays[name]
            else:
                self.best[name] = self.arrays[name].copy()

    def done(self, stage: str) -> bool:
        """Whether a stage is finished."""
        return f"done {stage}" in self.watches

    def enter(
        self, stage: str, arrays: Mapping[str, Any], watches: Mapping[str, EarlyStopping]
    ) -> None:
        """Start a stage with its arrays, unless the run was resumed within it."""
        if self.stage == stage:
            return
        self.stage, self.iteration = stage, 0
        self.arrays |= arrays
        self.watches |= watches

    def iterate(
        self,
        limit: int,
        step: Callable[[int], dict[str, float]],
        validators: Mapping[str, Callable[[], float | None]],
        callback: Callback | None,
        positions: int,
    ) -> None:
        """Step and validate until nothing improves, then restore the best arrays.

        A step, over `positions` words, returns the mean loss of each conditional; a validator
        returns a score or None. The callback gets the first of both.
        """
        watches = [self.watches[name] for name in validators]
        while self.iteration < limit and not all(watch.stopped for watch in watches):
            start = perf_counter()
            iteration = self.iteration + 1
            loss = step(iteration)
            if not all(map(math.isfinite, loss.values())):
                second = {"equations": "equation_rate", "units": "equation_rate"}
                named = second | {"joint": "rate or equation_rate"}
                setting = named.get(self.stage, "rate")
                if self.file is not None:
                    self.file.unlink(missing_ok=True)  # resuming would fail again
                raise EqembError(
                    f"the loss of {self.stage} is not finite after iteration {iteration}"
                    f" ({loss}): train with a smaller {setting}"
                )
            scores = {name: validate() for name, validate in validators.items()}
            for watch, score in zip(watches, scores.values(), strict=True):
                if watch.see(score, iteration):
                    self._keep(watch.names)
            self.iteration = iteration
            seconds = perf_counter() - start
            row = {"stage": self.stage, "iteration": iteration, "loss": loss}
            row["positions"] = positions
            row["best"] = {name: self.watches[name].iteration for name in validators}
            self.history.append(row | {"validation": scores, "seconds": round(seconds, 4)})
            self.save()
            if callback is not None:
                callback(iteration, seconds, next(iter(loss.values())), next(iter(scores.values())))
        for watch in watches:
            self.arrays |= {name: self.best.pop(name) for name in watch.names if name in self.best}
        self.watches[f"done {self.stage}"] = EarlyStopping([])
        for name in [name for name in self.arrays if name.endswith("_sum")]:
            del self.arrays[name]  # of no use to the next pass
        self.save()
