"""The whole table: every row in every cell of the grid, one command, resumable task by task.

A task is a collection, a dimension and a reading. Within it each row chooses its window of words
and its window of equations on validation words, with the first seed; the choice is then trained and
scored with the others. Tasks run side by side in processes of one thread. What is found of a row is
kept as `cells/TASK/IDENTITY.safetensors`, the values of each test word and a summary, under a hash
of everything that decided it: a contest that was interrupted goes on, one that was changed runs
what changed, and neither touches what is there. Rows of a task share the words of a seed, so all
end with its last seed and are kept then: a task that was interrupted begins anew.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from threading import Thread
from time import perf_counter, sleep
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.corpus.corpus import Corpus
from eqemb.corpus.split import TEST, VALIDATION, Split
from eqemb.corpus.vocabulary import Rules
from eqemb.errors import UsageError
from eqemb.evaluation.heldout import (
    ROWS,
    SYSTEMS,
    Cell,
    Result,
    Row,
    Trainer,
    Values,
    difference,
    tested_articles,
)
from eqemb.evaluation.metrics import spread
from eqemb.facade.library import Library
from eqemb.models import likelihood, workspace
from eqemb.models.base import Model
from eqemb.models.likelihood import LIKELIHOODS, chance
from eqemb.storage import array_file, atomic

FORMAT = 4  # raised when the same settings begin to find something else
POOL = "all collections"
_DIGITS = 5  # of a figure, in results.json


@dataclass(frozen=True)
class Plan:
    """What is compared."""

    collections: tuple[str, ...]
    dims: tuple[int, ...] = (25, 50, 75, 100)
    windows: tuple[int, ...] = (4, 8, 16)
    equation_windows: tuple[int, ...] = (8, 16)
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    readings: tuple[str, ...] = ("softmax",)
    rows: tuple[Row, ...] = ROWS
    rules: Rules = field(default_factory=lambda: Rules("paper", 10, 25))
    numbering: str = "numbered"

    def summary(self) -> dict[str, Any]:
        """What is the same for all rows."""
        keys = ("dims", "windows", "equation_windows", "seeds", "readings", "numbering")
        return {key: getattr(self, key) for key in keys} | {"rules": self.rules.as_dict()}

    def cells(self, row: Row, dim: int) -> list[Cell]:
        """The cells that a row chooses from."""
        return row.cells(dim, self.windows, self.equation_windows)

    def settings(self, row: Row, task: "Task") -> list[dict[str, Any]]:
        """The settings of a row in each of its cells, those of words that it builds on too."""
        system = SYSTEMS[row.system]
        systems = [system, SYSTEMS["words"]] if system.takes_words else [system]
        return [
            each.make(cell, task.reading).saved_settings()
            for cell in self.cells(row, task.dim)
            for each in systems
        ]

    def identity(self, row: Row, task: "Task", split: Split) -> str:
        """The hash of everything that decides what is found of a row."""
        described = {
            "format": FORMAT,
            "row": row._asdict(),
            "settings": self.settings(row, task),
            "seeds": self.seeds,
            "split": split.sha256,
        }
        return array_file.content_hash(described, {})


class Task(NamedTuple):
    """One part of the work."""

    collection: str
    dim: int
    reading: str

    @property
    def name(self) -> str:
        """The stem of its files."""
        return f"{self.collection}-{self.dim}-{self.reading}"


def prepared(library: Library, plan: Plan, collection: str) -> tuple[Corpus, Split]:
    """The data of a collection."""
    choice = workspace.CorpusChoice(collection, plan.rules, plan.numbering)
    corpus = workspace.corpus(library, choice)
    return corpus, workspace.split(library, collection, corpus)


def prepare(folder: Path, plan: Plan, collection: str) -> int:
    """Make the data of a collection where it is not there; how many words test it."""
    with Library.open(folder) as library:
        corpus, split = prepared(library, plan, collection)
    return int(split.of(TEST).sum()) if len(corpus.tokens) else 0


def tasks(plan: Plan) -> list[Task]:
    """The work, the longest first."""
    return [
        Task(collection, dim, reading)
        for reading in plan.readings
        for dim in sorted(plan.dims, reverse=True)
        for collection in plan.collections
    ]


class Chosen(NamedTuple):
    """What validation chose for a row, trained with the first seed."""

    result: Result
    tried: list[dict[str, float]]
    """The validation score, with its temperature, of every pair of windows."""
    curve: list[float]
    """The validation score that training watched, by iteration."""
    seconds: float = 0.0
    """What it took; words that rows share are the first one's."""

    def summary(self) -> dict[str, Any]:
        """What is kept beside the values of words."""
        kept = {"row": self.result.row, "tried": self.tried, "curve": self.curve}
        return self.result.summary() | kept | {"seconds": self.seconds}


def run_task(folder: Path, out: Path, plan: Plan, task: Task) -> None:
    """Choose, train, score and keep; nothing is done where it is there already."""
    with Library.open(folder) as library:
        corpus, split = prepared(library, plan, task.collection)
    places = {row.name: _place(out, plan, task, row, split) for row in plan.rows}
    rows = [row for row in plan.rows if not places[row.name].exists()]
    if not rows:
        return
    trainer = Trainer(corpus, split, task.reading)
    chosen = choices(trainer, plan, task, rows)
    for seed in plan.seeds[1:]:
        for row in rows:
            one = chosen[row.name]
            started = perf_counter()
            one.result.add(seed, *trainer.scored(row, one.result.cell, seed))
            chosen[row.name] = one._replace(seconds=one.seconds + perf_counter() - started)
        trainer.forget()
    for name, one in chosen.items():
        Kept(one.summary(), one.result.test).save(places[name])


def _place(out: Path, plan: Plan, task: Task, row: Row, split: Split) -> Path:
    return out / "cells" / task.name / f"{plan.identity(row, task, split)[:24]}.safetensors"


def choices(trainer: Trainer, plan: Plan, task: Task, rows: list[Row]) -> dict[str, Chosen]:
    """For each row the cell whose validation score, with its temperature, is best."""
    read, seed = LIKELIHOODS[task.reading], plan.seeds[0]
    best: dict[str, Chosen] = {}
    highest: dict[str, float] = {}
    spent = dict.fromkeys((row.name for row in rows), 0.0)
    grid = [(cell, row) for row in rows for cell in plan.cells(row, task.dim)]
    for window in sorted({cell.window for cell, _ in grid}):  # its models share its words
        for cell, row in grid:
            if cell.window != window:
                continue
            started = perf_counter()
            scored = trainer.scored(row, cell, seed)
            spent[row.name] += perf_counter() - started
            factor = likelihood.fit_temperature(scored[0], read)
            found = float(read(scored[0].scaled(factor)).mean())
            before = best.get(row.name)
            tried = before.tried if before else []
            tried.append({
                "window": cell.window,
                "equation_window": cell.equation_window,
                "validation": found,
            })  # fmt: skip
            if before is None or found > highest[row.name]:
                result = Result(row.name, cell, task.reading)
                result.add(seed, *scored)
                highest[row.name] = found
                best[row.name] = Chosen(result, tried, curve(trainer.trained(row, cell, seed)))
        trainer.forget()
    return {row.name: best[row.name]._replace(seconds=spent[row.name]) for row in rows}


def curve(model: Model) -> list[float]:
    """The validation score after each iteration that the model's score was watched in."""
    seen = (entry["validation"].get(model.monitored) for entry in model.history_)
    best = model.embeddings_.config["best"][model.monitored]
    return [value for value in seen if value is not None][: best + model.patience]


class Kept(NamedTuple):
    """What was found of a row, as it is on disk."""

    summary: dict[str, Any]
    values: Values
    """By measure, of each test word."""

    @classmethod
    def load(cls, path: Path) -> "Kept":
        """What was saved."""
        arrays = array_file.map_arrays(path)
        values = {name: array.astype(np.float64) for name, array in arrays.items()}
        return cls(array_file.read_metadata(path), values)

    def save(self, path: Path) -> None:
        """Write it, whole or not at all."""
        arrays = {name: values.astype(np.float32) for name, values in self.values.items()}
        with atomic.new_file(path) as new:
            array_file.write_arrays(new, arrays, self.summary)


class Part(NamedTuple):
    """What one task found, by row."""

    task: Task
    rows: dict[str, Kept]


def run(
    folder: Path,
    out: Path,
    plan: Plan,
    *,
    jobs: int = 2,
    progress: Callable[[int, int, str], object] = lambda *_: None,
) -> dict[str, Any]:
    """All tasks; the summary that is written as results.json."""
    todo = tasks(plan)
    progress(0, len(todo), "")
    spawn, parent = get_context("spawn"), (os.getpid(),)
    with ProcessPoolExecutor(jobs, spawn, initializer=_end_with, initargs=parent) as pool:
        # once for all tasks of a collection: tagging words takes longer than training
        ready = [pool.submit(prepare, folder, plan, name) for name in plan.collections]
        for collection, words in zip(plan.collections, ready, strict=True):
            if not words.result():
                raise UsageError(
                    f"nothing can be held out of {collection}: its equations have too few words"
                    " of the vocabulary around them; leave it out by --collection, or take"
                    " --vocabulary plain --numbering display"
                )
        waiting: dict[Future[None], Task] = {
            pool.submit(run_task, folder, out, plan, task): task for task in todo
        }
        done = 0
        try:
            while waiting:
                finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in finished:
                    task = waiting.pop(future)
                    future.result()
                    done += 1
                    progress(done, len(todo), task.name)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return summary(folder, out, plan)


def _end_with(parent: int) -> None:
    """Let a process end soon after the one that it works for, however that ends."""

    def watch() -> None:
        while os.getppid() == parent:
            sleep(1.0)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def summary(folder: Path, out: Path, plan: Plan) -> dict[str, Any]:
    """Everything that was found, in one object."""
    systems = {
        reading: {row.name: SYSTEMS[row.system].make(Cell(), reading).saved_settings()
                  for row in plan.rows}
        for reading in plan.readings
    }  # fmt: skip
    found: dict[str, Any] = {"plan": plan.summary() | {"systems": systems}}
    found |= {"collections": {}, "results": []}
    pairs: list[tuple[Part, NDArray[np.int64]]] = []
    first, seconds = 0, dict.fromkeys(plan.readings, 0.0)
    for collection in plan.collections:
        with Library.open(folder) as library:
            corpus, split = prepared(library, plan, collection)
        articles = tested_articles(corpus, split)
        found["collections"][collection] = _statistics(corpus, split)
        kinds = _kinds(corpus, split)
        lines, entries = chance(corpus, split), dict[tuple[int, str], dict[str, Any]]()
        for task in (task for task in tasks(plan) if task.collection == collection):
            kept = {row.name: Kept.load(_place(out, plan, task, row, split)) for row in plan.rows}
            seconds[task.reading] += sum(one.summary["seconds"] for one in kept.values())
            pairs.append((Part(task, kept), first + articles))
            for row in plan.rows:
                key = (task.dim, row.name)
                if key not in entries:
                    shared = {"split": split.sha256, "n": len(articles)}
                    shared["negatives"] = split.settings.negatives
                    seeds = {"seeds": kept[row.name].summary["seeds"]}
                    entries[key] = _entry(task, row) | seeds | shared | {"chance": lines}
                _add(entries[key], task.reading, kept[row.name], articles, kinds)
        found["results"] += entries.values()
        first += len(corpus.articles)
    found["differences"] = list(_differences(plan, pairs))
    found["process_seconds"] = seconds
    rounded: dict[str, Any] = _rounded(found)
    return rounded


def _entry(task: Task, row: Row) -> dict[str, Any]:
    return {
        "collection": task.collection,
        "dim": task.dim,
        "model": row.name,
        "control": row.is_control,
        "temperature": {},
    }


def _add(
    entry: dict[str, Any],
    reading: str,
    kept: Kept,
    articles: NDArray[np.int64],
    kinds: dict[str, NDArray[np.bool_]],
) -> None:
    """What one reading found; the accuracy of the first reading is the entry's."""
    made = kept.summary
    measures = dict(made["measures"])
    chosen = {name: made[name] for name in ("window", "equation_window", "tried", "curve")}
    entry[reading] = measures.pop("raw") | measures | chosen
    entry[reading] |= {
        kind: {"n": int(mask.sum())}
        | {name: spread(kept.values[name][mask], articles[mask]) for name in _COMPARED}
        for kind, mask in kinds.items()
        if mask.any()
    }
    entry.setdefault("accuracy", measures["accuracy"])
    entry["temperature"][reading] = made["temperature"]


_COMPARED = ("tempered", "accuracy")


def _kinds(corpus: Corpus, split: Split) -> dict[str, NDArray[np.bool_]]:
    """Test words beside equations that occur once, and beside others."""
    often = np.bincount(corpus.equation_types, minlength=len(corpus.forms))
    once = often[split.types[split.of(TEST)]] == 1
    return {"singletons": once, "repeated": ~once}


def _differences(
    plan: Plan, pairs: list[tuple[Part, NDArray[np.int64]]]
) -> Iterator[dict[str, Any]]:
    """Every model against every row before it, pooled over cells: all, and each collection's."""
    names = [row.name for row in plan.rows]
    where = [(POOL, plan.collections), *((name, (name,)) for name in plan.collections)]
    for reading in plan.readings:
        for measure in _COMPARED:
            for pool, collections in where if len(plan.collections) > 1 else where[:1]:
                chosen = [
                    (part.rows, articles)
                    for part, articles in pairs
                    if part.task.reading == reading and part.task.collection in collections
                ]
                for one in (row.name for row in plan.rows if not row.is_control):
                    for other in names[: names.index(one)]:
                        gain = difference(
                            (rows[one].values[measure], rows[other].values[measure], articles)
                            for rows, articles in chosen
                        )
                        yield {
                            "reading": reading, "measure": measure, "collection": pool,
                            "model": one, "against": other,
                        } | gain._asdict()  # fmt: skip


def _rounded(found: Any) -> Any:
    """The same, with figures of a length that is worth keeping."""
    if isinstance(found, float):
        return round(found, _DIGITS)
    if isinstance(found, dict):
        return {key: _rounded(value) for key, value in found.items()}
    if isinstance(found, list | tuple):
        return [_rounded(value) for value in found]
    return found


def _statistics(corpus: Corpus, split: Split) -> dict[str, Any]:
    often = np.bincount(corpus.equation_types, minlength=len(corpus.forms))
    return {
        "articles": len(corpus.articles),
        "left_out": corpus.left_out,
        "words": len(corpus.tokens),
        "vocabulary": len(corpus.words),
        "equations": len(corpus.equation_types),
        "types": len(corpus.forms),
        "singletons": int((often == 1).sum()),
        "units": len(corpus.units),
        "corpus": corpus.sha256,
        "split": split.sha256,
        "skipped": split.skipped,
        "validation": int(split.of(VALIDATION).sum()),
        "test": int(split.of(TEST).sum()),
        "negatives": split.settings.negatives,
    }
