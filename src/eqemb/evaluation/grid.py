"""Grid search: train and score every model in every cell of the grid, resumable by task.

A task is a collection, a dimension and a reading. Within a task, each model selects its word window
and its equation window on validation words with the first seed; the selected cell is then trained
and scored with the other seeds. Tasks run in parallel, in processes with one thread each.

The result of a model is stored as `cells/TASK/IDENTITY.safetensors`: the values of each test word
and a summary. IDENTITY is a hash of everything that determines the result, so an interrupted search
resumes, a changed one runs only what changed, and existing files are never modified. The models of
a task share the word vectors of a seed, so all results of a task are written when its last seed is
done, and an interrupted task starts from the beginning.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.corpus.corpus import Corpus
from eqemb.corpus.split import TEST, VALIDATION, Split
from eqemb.corpus.vocabulary import Rules
from eqemb.errors import UsageError
from eqemb.evaluation.groups import Clusters
from eqemb.evaluation.heldout import (
    ROWS,
    SYSTEMS,
    Cell,
    ModelRow,
    Result,
    Trainer,
    Values,
    difference,
    tested_articles,
)
from eqemb.evaluation.metrics import mean_and_error
from eqemb.facade.library import Library
from eqemb.models import likelihood, workspace
from eqemb.models.base import Model
from eqemb.models.likelihood import LIKELIHOODS, chance
from eqemb.storage import array_file, atomic
from eqemb.storage.process_pool import spawned_pool

CELL_FORMAT = 4  # increment when the same settings give different results
POOL = "all collections"
_DIGITS = 5  # decimals in results.json


@dataclass(frozen=True)
class GridPlan:
    """Settings of a grid search."""

    collections: tuple[str, ...]
    dims: tuple[int, ...] = (25, 50, 75, 100)
    windows: tuple[int, ...] = (4, 8, 16)
    equation_windows: tuple[int, ...] = (8, 16)
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    readings: tuple[str, ...] = ("softmax",)
    rows: tuple[ModelRow, ...] = ROWS
    rules: Rules = field(default_factory=lambda: Rules("paper", 10, 25))
    numbering: str = "numbered"
    groups: Mapping[str, str] = field(default_factory=dict)
    """Article -> group, for intervals; the articles themselves if there are none."""

    def summary(self) -> dict[str, Any]:
        """Return the settings that all models share."""
        keys = ("dims", "windows", "equation_windows", "seeds", "readings", "numbering")
        return {key: getattr(self, key) for key in keys} | {"rules": self.rules.as_dict()}

    def cells(self, row: ModelRow, dim: int) -> list[Cell]:
        """Return the cells from which a model selects."""
        return row.cells(dim, self.windows, self.equation_windows)

    def settings(self, row: ModelRow, task: "Task") -> list[dict[str, Any]]:
        """Return the settings of a model, and of the word vectors it uses, in each of its cells."""
        system = SYSTEMS[row.system]
        systems = [system, SYSTEMS["words"]] if system.takes_words else [system]
        return [
            each.make(cell, task.reading).saved_settings()
            for cell in self.cells(row, task.dim)
            for each in systems
        ]

    def identity(self, row: ModelRow, task: "Task", split: Split) -> str:
        """Return the hash of everything that determines the result of a model."""
        described = {
            "format": CELL_FORMAT,
            "row": row._asdict(),
            "settings": self.settings(row, task),
            "seeds": self.seeds,
            "split": split.sha256,
        }
        return array_file.content_hash(described, {})


class Task(NamedTuple):
    """A unit of work: one collection, dimension and reading."""

    collection: str
    dim: int
    reading: str

    @property
    def name(self) -> str:
        """Name of the task's folder."""
        return f"{self.collection}-{self.dim}-{self.reading}"


def load_data(library: Library, plan: GridPlan, collection: str) -> tuple[Corpus, Split]:
    """Return the corpus of a collection and its split."""
    choice = workspace.CorpusChoice(collection, plan.rules, plan.numbering)
    corpus = workspace.corpus(library, choice)
    return corpus, workspace.split(library, collection, corpus)


def prepare_collection(folder: Path, plan: GridPlan, collection: str) -> int:
    """Build the data of a collection if needed; return the number of test words."""
    with Library.open(folder) as library:
        corpus, split = load_data(library, plan, collection)
    return int(split.of(TEST).sum()) if len(corpus.tokens) else 0


def tasks(plan: GridPlan) -> list[Task]:
    """Return all tasks, the slowest first."""
    return [
        Task(collection, dim, reading)
        for reading in plan.readings
        for dim in sorted(plan.dims, reverse=True)
        for collection in plan.collections
    ]


class Chosen(NamedTuple):
    """The cell that validation selected for a model, trained with the first seed."""

    result: Result
    tried: list[dict[str, float]]
    """Validation score, with temperature, of every pair of windows."""
    curve: list[float]
    """Validation score that controlled early stopping, by iteration."""
    seconds: float = 0.0
    """Time spent; shared word vectors are charged to the first model that uses them."""

    def summary(self) -> dict[str, Any]:
        """Return the metadata stored with the values."""
        kept = {"row": self.result.row, "tried": self.tried, "curve": self.curve}
        return self.result.summary() | kept | {"seconds": self.seconds}


def run_task(folder: Path, out: Path, plan: GridPlan, task: Task) -> None:
    """Select, train, score and store; models whose result exists are skipped."""
    with Library.open(folder) as library:
        corpus, split = load_data(library, plan, task.collection)
    places = {row.name: _cell_path(out, plan, task, row, split) for row in plan.rows}
    rows = [row for row in plan.rows if not places[row.name].exists()]
    if not rows:
        return
    trainer = Trainer(corpus, split, task.reading)
    chosen = select_windows(trainer, plan, task, rows)
    for seed in plan.seeds[1:]:
        for row in rows:
            one = chosen[row.name]
            started = perf_counter()
            one.result.add(seed, *trainer.scored(row, one.result.cell, seed))
            chosen[row.name] = one._replace(seconds=one.seconds + perf_counter() - started)
        trainer.clear()
    for name, one in chosen.items():
        CellResult(one.summary(), one.result.test).save(places[name])


def _cell_path(out: Path, plan: GridPlan, task: Task, row: ModelRow, split: Split) -> Path:
    return out / "cells" / task.name / f"{plan.identity(row, task, split)[:24]}.safetensors"


def select_windows(
    trainer: Trainer, plan: GridPlan, task: Task, rows: list[ModelRow]
) -> dict[str, Chosen]:
    """Return, for each model, the cell with the best validation score with temperature."""
    read, seed = LIKELIHOODS[task.reading], plan.seeds[0]
    best: dict[str, Chosen] = {}
    highest: dict[str, float] = {}
    spent = dict.fromkeys((row.name for row in rows), 0.0)
    grid = [(cell, row) for row in rows for cell in plan.cells(row, task.dim)]
    for window in sorted({cell.window for cell, _ in grid}):  # models of a window share words
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
                model = trainer.trained(row, cell, seed)
                best[row.name] = Chosen(result, tried, validation_curve(model))
        trainer.clear()
    return {row.name: best[row.name]._replace(seconds=spent[row.name]) for row in rows}


def validation_curve(model: Model) -> list[float]:
    """Return the validation score after each iteration up to early stopping."""
    seen = (entry["validation"].get(model.monitored) for entry in model.history_)
    best = model.embeddings_.config["best"][model.monitored]
    return [value for value in seen if value is not None][: best + model.patience]


class CellResult(NamedTuple):
    """Stored result of a model in the cell that validation selected."""

    summary: dict[str, Any]
    values: Values
    """Measure -> value of each test word."""

    @classmethod
    def load(cls, path: Path) -> "CellResult":
        """Read a result."""
        arrays = array_file.map_arrays(path)
        values = {name: array.astype(np.float64) for name, array in arrays.items()}
        return cls(array_file.read_metadata(path), values)

    def save(self, path: Path) -> None:
        """Write the result atomically."""
        arrays = {name: values.astype(np.float32) for name, values in self.values.items()}
        with atomic.new_file(path) as new:
            array_file.write_arrays(new, arrays, self.summary)


class TaskResults(NamedTuple):
    """Results of one task, by model."""

    task: Task
    rows: dict[str, CellResult]


def run(
    folder: Path,
    out: Path,
    plan: GridPlan,
    *,
    jobs: int = 2,
    progress: Callable[[int, int, str], object] = lambda *_: None,
) -> dict[str, Any]:
    """Run all tasks and return the summary that is written as results.json."""
    todo = tasks(plan)
    progress(0, len(todo), "")
    remedy = "or use fewer --jobs; finished tasks are kept, run the same command to continue"
    with spawned_pool(jobs, remedy) as pool:
        # done once per collection, because tagging words takes longer than training
        ready = [pool.submit(prepare_collection, folder, plan, name) for name in plan.collections]
        for collection, words in zip(plan.collections, ready, strict=True):
            if not words.result():
                raise UsageError(
                    f"cannot hold out words of collection {collection}: its equations have too few"
                    " vocabulary words around them; exclude it with --collection, or use"
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


def summary(folder: Path, out: Path, plan: GridPlan) -> dict[str, Any]:
    """Collect all results in one JSON object."""
    systems = {
        reading: {row.name: SYSTEMS[row.system].make(Cell(), reading).saved_settings()
                  for row in plan.rows}
        for reading in plan.readings
    }  # fmt: skip
    found: dict[str, Any] = {"plan": plan.summary() | {"systems": systems}}
    found |= {"collections": {}, "results": []}
    pairs: list[tuple[TaskResults, NDArray[np.int64]]] = []
    clusters, seconds = Clusters(plan.groups), dict.fromkeys(plan.readings, 0.0)
    for collection in plan.collections:
        with Library.open(folder) as library:
            corpus, split = load_data(library, plan, collection)
        articles = clusters.of(corpus.articles)[tested_articles(corpus, split)]
        found["collections"][collection] = _statistics(corpus, split)
        kinds = _kinds(corpus, split)
        lines, entries = chance(corpus, split), dict[tuple[int, str], dict[str, Any]]()
        for task in (task for task in tasks(plan) if task.collection == collection):
            kept = {
                row.name: CellResult.load(_cell_path(out, plan, task, row, split))
                for row in plan.rows
            }
            seconds[task.reading] += sum(one.summary["seconds"] for one in kept.values())
            pairs.append((TaskResults(task, kept), articles))
            for row in plan.rows:
                key = (task.dim, row.name)
                if key not in entries:
                    shared = {"split": split.sha256, "n": len(articles)}
                    shared["negatives"] = split.settings.negatives
                    seeds = {"seeds": kept[row.name].summary["seeds"]}
                    entries[key] = _entry(task, row) | seeds | shared | {"chance": lines}
                _add_reading(entries[key], task.reading, kept[row.name], articles, kinds)
        found["results"] += entries.values()
    found["clusters"] = {
        "by": clusters.kind,
        "n": len(np.unique(np.concatenate([homes for _, homes in pairs]))),
    }
    found["differences"] = list(_differences(plan, pairs))
    found["process_seconds"] = seconds
    rounded: dict[str, Any] = _rounded(found)
    return rounded


def _entry(task: Task, row: ModelRow) -> dict[str, Any]:
    return {
        "collection": task.collection,
        "dim": task.dim,
        "model": row.name,
        "control": row.is_control,
        "temperature": {},
    }


def _add_reading(
    entry: dict[str, Any],
    reading: str,
    kept: CellResult,
    articles: NDArray[np.int64],
    kinds: dict[str, NDArray[np.bool_]],
) -> None:
    """Add the results of one reading; the entry's own accuracy is that of the first reading."""
    made = kept.summary
    measures = dict(made["measures"])
    chosen = {name: made[name] for name in ("window", "equation_window", "tried", "curve")}
    entry[reading] = measures.pop("raw") | measures | chosen
    entry[reading] |= {
        kind: {"n": int(mask.sum())}
        | {name: mean_and_error(kept.values[name][mask], articles[mask]) for name in _COMPARED}
        for kind, mask in kinds.items()
        if mask.any()
    }
    entry.setdefault("accuracy", measures["accuracy"])
    entry["temperature"][reading] = made["temperature"]


_COMPARED = ("tempered", "accuracy")


def _kinds(corpus: Corpus, split: Split) -> dict[str, NDArray[np.bool_]]:
    """Return masks of test words near equations that occur once, and near repeated ones."""
    often = np.bincount(corpus.equation_types, minlength=len(corpus.forms))
    once = often[split.types[split.of(TEST)]] == 1
    return {"singletons": once, "repeated": ~once}


def _differences(
    plan: GridPlan, pairs: list[tuple[TaskResults, NDArray[np.int64]]]
) -> Iterator[dict[str, Any]]:
    """Compare every model with every row before it, pooled over all cells and by collection."""
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
    """Return the same object with floats rounded."""
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
