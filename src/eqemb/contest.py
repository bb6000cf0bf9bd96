"""The whole table: every row in every cell of the grid, one command, resumable task by task.

A task is a collection, a dimension and a reading. Within it each row chooses its window of words
and its window of equations on validation words, with one seed; the choice is then trained and
scored with all seeds. Tasks run side by side in processes of one thread. What a task finds is kept
as `cells/TASK.json` and `.safetensors` (values of each test word), so that a contest that was
interrupted goes on where it was.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb import scores, store, workshop
from eqemb.corpus import Corpus
from eqemb.evaluation import (
    READINGS,
    ROWS,
    SYSTEMS,
    Cell,
    Difference,
    Judge,
    Result,
    Row,
    Trainer,
    chance,
    difference,
    tested_articles,
)
from eqemb.library import Library
from eqemb.split import TEST, VALIDATION, Split
from eqemb.vocabulary import Rules

FORMAT = 1


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

    def described(self) -> dict[str, Any]:
        """Everything that decides a task's result, but for the data."""
        systems = {
            f"{row.system}, {reading}": SYSTEMS[row.system].make(Cell(), reading).get_params()
            for row in self.rows
            for reading in READINGS
        }
        keys = ("windows", "equation_windows", "seeds", "numbering")
        return {key: getattr(self, key) for key in keys} | {
            "format": FORMAT,
            "rows": self.rows,
            "systems": systems,
            "rules": self.rules.as_dict(),
        }


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


def tasks(plan: Plan) -> list[Task]:
    """The work, the longest first."""
    return [
        Task(collection, dim, reading)
        for reading in plan.readings
        for dim in sorted(plan.dims, reverse=True)
        for collection in plan.collections
    ]


def run_task(folder: Path, out: Path, plan: Plan, task: Task) -> None:
    """Choose, train, score and keep; nothing is done where it is there already."""
    with Library.open(folder) as library:
        corpus, split = prepared(library, plan, task.collection)
    identity = store.content_hash(plan.described() | {"split": split.sha256}, {})
    if is_done(out, task, identity):
        return
    trainer = Trainer(corpus, split, task.reading)
    chosen = dict(choices(trainer, plan, task))
    judges = {row.name: Judge(row.name, chosen[row.name], task.reading, split) for row in plan.rows}
    for seed in plan.seeds:
        for row in plan.rows:
            judges[row.name].add(seed, *trainer.scored(row, chosen[row.name], seed))
        trainer.forget()
    found = [*chance(corpus, split, task.reading), *(judge.result() for judge in judges.values())]
    keep(out, task, identity, found)


def choices(trainer: Trainer, plan: Plan, task: Task) -> Iterator[tuple[str, Cell]]:
    """For each row the cell whose validation score, with its temperature, is best."""
    read, best = READINGS[task.reading], dict[str, list[tuple[float, Cell]]]()
    for window in plan.windows:  # the outer loop: models of a window share its words
        for row in plan.rows:
            for around in plan.equation_windows if SYSTEMS[row.system].has_window else (0,):
                cell = Cell(task.dim, window, around)
                validation = trainer.scored(row, cell, plan.seeds[0])[0]
                factor = scores.fit_temperature(validation, read)
                found = float(read(validation.scaled(factor)).mean())
                best.setdefault(row.name, []).append((found, cell))
        trainer.forget()
    for name, tried in best.items():
        yield name, max(tried, key=lambda one: one[0])[1]


def keep(out: Path, task: Task, identity: str, results: Iterable[Result]) -> None:
    """Write what a task found: the arrays first, then the file that says they are whole."""
    results = list(results)
    arrays = {
        f"{index}.{name}": values.astype(np.float32)
        for index, result in enumerate(results)
        for name, values in result.test.items()
    }
    folder = out / "cells"
    with store.new_file(folder / f"{task.name}.safetensors") as new:
        store.write_arrays(new, arrays)
    made = {"identity": identity, "results": [result.summary() for result in results]}
    with store.new_file(folder / f"{task.name}.json") as new:
        store.write_json(new, made)


def is_done(out: Path, task: Task, identity: str) -> bool:
    """Whether a task's files are there, and made by the same plan."""
    try:
        made = json.loads((out / "cells" / f"{task.name}.json").read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return bool(made["identity"] == identity)


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
    with Library.open(folder) as library:
        for collection in plan.collections:
            prepared(library, plan, collection)  # once, not in every process
    progress(0, len(todo), "")
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
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


def summary(folder: Path, out: Path, plan: Plan) -> dict[str, Any]:
    """Everything that was found, in one object."""
    found: dict[str, Any] = {"plan": plan.described(), "collections": {}, "results": []}
    values: dict[tuple[str, str], list[tuple[NDArray[np.float64], NDArray[np.int64]]]] = {}
    first = 0
    for collection in plan.collections:
        with Library.open(folder) as library:
            corpus, split = prepared(library, plan, collection)
        articles = first + tested_articles(corpus, split)
        first += len(corpus.articles)
        found["collections"][collection] = _statistics(corpus, split)
        for task in (task for task in tasks(plan) if task.collection == collection):
            place = out / "cells" / task.name
            made = json.loads(Path(f"{place}.json").read_text("utf-8"))
            arrays = store.map_arrays(Path(f"{place}.safetensors"))
            for index, result in enumerate(made["results"]):
                found["results"].append({"collection": collection, "dim": task.dim} | result)
                for measure in ("tempered", "accuracy"):
                    key = (f"{task.reading} {measure}", result["model"])
                    kept = arrays[f"{index}.{measure}"].astype(np.float64)
                    values.setdefault(key, []).append((kept, articles))
    found["differences"] = _differences(plan, values)
    return found


def _differences(
    plan: Plan, values: dict[tuple[str, str], list[tuple[NDArray[np.float64], NDArray[np.int64]]]]
) -> list[dict[str, Any]]:
    """Every model against every control and against the models before it, pooled over cells."""
    made = []
    names = [row.name for row in plan.rows]
    models = [row.name for row in plan.rows if not row.is_control]
    for measure in dict.fromkeys(measure for measure, _ in values):
        for one in models:
            for other in names[: names.index(one)]:
                pairs = [
                    (mine, theirs, articles)
                    for (mine, articles), (theirs, _) in zip(
                        values[measure, one], values[measure, other], strict=True
                    )
                ]
                gain: Difference = difference(pairs)
                made.append(
                    {"measure": measure, "model": one, "against": other}
                    | gain._asdict()
                    | {"verdict": gain.verdict}
                )
    return made


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
