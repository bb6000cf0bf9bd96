"""The whole table: every row in every cell of the grid, one command, resumable task by task.

A task is a collection, a dimension and a reading. Within it each row chooses its window of words
and its window of equations on validation words, with the first seed; the choice is then trained and
scored with the others. Tasks run side by side in processes of one thread. What a task finds is kept
as `cells/TASK.json` and `.safetensors` (values of each test word), so that a contest that was
interrupted goes on where it was; of a task whose rows were changed only those are run again.
"""

import json
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

from eqemb import scores, store, workshop
from eqemb.bernoulli import Model
from eqemb.corpus import Corpus
from eqemb.evaluation import (
    READINGS,
    ROWS,
    SYSTEMS,
    Cell,
    Result,
    Row,
    Trainer,
    Values,
    chance,
    clustered,
    difference,
    tested_articles,
)
from eqemb.library import Library
from eqemb.split import TEST, VALIDATION, Split
from eqemb.vocabulary import Rules

FORMAT = 3
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

    def described(self, row: Row, reading: str) -> dict[str, Any]:
        """Everything that decides what is found of a row, but for the data."""
        system = SYSTEMS[row.system]
        keys = ("windows", "equation_windows", "seeds", "numbering")
        made = {key: getattr(self, key) for key in keys} | {
            "format": FORMAT,
            "row": row._asdict(),
            "system": system.make(Cell(), reading).get_params(),
            "rules": self.rules.as_dict(),
        }
        if system.takes_words:
            made["words"] = SYSTEMS["words"].make(Cell(), reading).get_params()
        return made


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
    choice = workshop.Choice(collection, plan.rules, plan.numbering)
    corpus = workshop.corpus(library, choice)
    return corpus, workshop.split(library, collection, corpus)


def prepare(folder: Path, plan: Plan, collection: str) -> None:
    """Make the data of a collection where it is not there."""
    with Library.open(folder) as library:
        prepared(library, plan, collection)


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


def run_task(folder: Path, out: Path, plan: Plan, task: Task) -> None:
    """Choose, train, score and keep; nothing is done where it is there already."""
    started = perf_counter()
    with Library.open(folder) as library:
        corpus, split = prepared(library, plan, task.collection)
    data = {"split": split.sha256}
    identities = {
        row.name: store.content_hash(plan.described(row, task.reading) | data, {})
        for row in plan.rows
    }
    done = Part.load(out, task, identities)
    rows = [row for row in plan.rows if row.name not in done.rows]
    if not rows:
        return
    trainer = Trainer(corpus, split, task.reading)
    chosen = choices(trainer, plan, task, rows)
    for seed in plan.seeds[1:]:
        for row in rows:
            result = chosen[row.name].result
            result.add(seed, *trainer.scored(row, result.cell, seed))
        trainer.forget()
    for name, (result, tried, seen) in chosen.items():
        summary = {"identity": identities[name], "tried": tried, "curve": seen}
        done.rows[name] = result.summary() | summary
        done.values[name] = result.test
    done._replace(seconds=done.seconds + perf_counter() - started).keep(out)


def choices(trainer: Trainer, plan: Plan, task: Task, rows: list[Row]) -> dict[str, Chosen]:
    """For each row the cell whose validation score, with its temperature, is best."""
    read, seed = READINGS[task.reading], plan.seeds[0]
    best: dict[str, Chosen] = {}
    highest: dict[str, float] = {}
    grid = [
        (cell, row)
        for row in rows
        for cell in row.cells(task.dim, plan.windows, plan.equation_windows)
    ]
    for window in sorted({cell.window for cell, _ in grid}):  # its models share its words
        for cell, row in grid:
            if cell.window != window:
                continue
            scored = trainer.scored(row, cell, seed)
            factor = scores.fit_temperature(scored[0], read)
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
    return best


def curve(model: Model) -> list[float]:
    """The validation score after each iteration that the model's score was watched in."""
    seen = (entry["validation"].get(model.judged) for entry in model.history_)
    best = model.embeddings_.config["best"][model.judged]
    return [value for value in seen if value is not None][: best + model.patience]


class Part(NamedTuple):
    """What one task found, by row."""

    task: Task
    seconds: float
    rows: dict[str, dict[str, Any]]
    values: dict[str, Values]
    """By measure, of each test word."""

    @classmethod
    def load(cls, out: Path, task: Task, identities: dict[str, str] | None = None) -> "Part":
        """What is there; with identities only the rows that have theirs."""
        place = out / "cells" / task.name
        try:
            made = json.loads(Path(f"{place}.json").read_text("utf-8"))
            arrays = store.map_arrays(Path(f"{place}.safetensors"))
            rows = made["rows"] if made["format"] == FORMAT else {}
        except (OSError, ValueError, KeyError):
            return cls(task, 0.0, {}, {})
        if identities is not None:
            rows = {
                name: row for name, row in rows.items() if identities.get(name) == row["identity"]
            }
        values: dict[str, Values] = {row: {} for row in rows}
        for key, array in arrays.items():
            row, _, measure = key.rpartition(": ")
            if row in values:
                values[row][measure] = array.astype(np.float64)
        return cls(task, made["seconds"], rows, values)

    def keep(self, out: Path) -> None:
        """Write: the arrays first, then the file that says they are whole."""
        arrays = {
            f"{row}: {measure}": values.astype(np.float32)
            for row, measures in self.values.items()
            for measure, values in measures.items()
        }
        place = out / "cells" / self.task.name
        with store.new_file(Path(f"{place}.safetensors")) as new:
            store.write_arrays(new, arrays)
        made = {"format": FORMAT, "seconds": self.seconds, "rows": self.rows}
        with store.new_file(Path(f"{place}.json")) as new:
            store.write_json(new, made)


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
        for first in [pool.submit(prepare, folder, plan, name) for name in plan.collections]:
            first.result()
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
        reading: {row.name: plan.described(row, reading)["system"] for row in plan.rows}
        for reading in plan.readings
    }
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
            part = Part.load(out, task)
            seconds[part.task.reading] += part.seconds
            pairs.append((part, first + articles))
            for row in plan.rows:
                key = (part.task.dim, row.name)
                if key not in entries:
                    shared = {"split": split.sha256, "n": len(articles)}
                    shared["negatives"] = split.settings.negatives
                    entries[key] = _entry(collection, part, row) | shared | {"chance": lines}
                _add(entries[key], part, row.name, articles, kinds)
        found["results"] += entries.values()
        first += len(corpus.articles)
    found["differences"] = list(_differences(plan, pairs))
    found["process_seconds"] = seconds
    rounded: dict[str, Any] = _rounded(found)
    return rounded


def _entry(collection: str, part: Part, row: Row) -> dict[str, Any]:
    return {
        "collection": collection,
        "dim": part.task.dim,
        "model": row.name,
        "control": row.is_control,
        "seeds": part.rows[row.name]["seeds"],
        "temperature": {},
    }


def _add(
    entry: dict[str, Any],
    part: Part,
    row: str,
    articles: NDArray[np.int64],
    kinds: dict[str, NDArray[np.bool_]],
) -> None:
    """What one reading found; the accuracy of the first reading is the entry's."""
    made, values, reading = part.rows[row], part.values[row], part.task.reading
    measures = dict(made["measures"])
    entry[reading] = (
        measures.pop("raw")
        | measures
        | {name: made[name] for name in ("window", "equation_window", "tried", "curve")}
    )
    entry[reading] |= {
        kind: {"n": int(mask.sum())}
        | {name: clustered(values[name][mask], articles[mask]) for name in _COMPARED}
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
    where = [("all", plan.collections), *((name, (name,)) for name in plan.collections)]
    for reading in plan.readings:
        for measure in _COMPARED:
            for pool, collections in where if len(plan.collections) > 1 else where[:1]:
                chosen = [
                    (part.values, articles)
                    for part, articles in pairs
                    if part.task.reading == reading and part.task.collection in collections
                ]
                for one in (row.name for row in plan.rows if not row.is_control):
                    for other in names[: names.index(one)]:
                        gain = difference(
                            (values[one][measure], values[other][measure], articles)
                            for values, articles in chosen
                        )
                        yield {
                            "reading": reading, "measure": measure, "collection": pool,
                            "model": one, "against": other,
                        } | gain._asdict() | {"verdict": gain.verdict}  # fmt: skip


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
