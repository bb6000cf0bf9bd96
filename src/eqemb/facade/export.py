"""Every equation of a library as a row, with its vector: for data frames and other stores.

    .jsonl     an object in each line, `vector` a list
    .csv       a column for each number of the vector: v0, v1, ...
    .parquet   `vector` a list of so many numbers (the extra `export`)

The vector is what the library's model makes of the equation's units, so that equations that came
after training have one too; there is none where no unit is known. `Embeddings.export` writes the
vectors of a model, for words, units and equation types, by their keys alone.
"""

import csv
import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eqemb.errors import UsageError
from eqemb.facade.library import Library
from eqemb.models.fold_in import Units
from eqemb.storage import atomic

COLUMNS = (
    "name", "article", "title", "collection", "number", "label", "latex", "expanded", "section",
    "context", "file", "line", "family",
)  # fmt: skip
_TOGETHER = 1000  # rows that are written in one go

Row = dict[str, Any]


class Listed(NamedTuple):
    """What was written."""

    path: Path
    rows: int
    without: int
    """Rows without a vector, where the library has a model."""


def equation_rows(library: Library) -> Iterator[Row]:
    """The equations of a library, in order: `COLUMNS` and, where it has a model, `vector`.

    A family of like equations is named by its first one, where the index knows families.
    """
    records = library.records
    known = library.generation / "index" / "families.npy"  # type -> the least type of its family
    families = np.load(known, mmap_mode="r") if known.exists() else None
    names = [unit for (unit,) in records.rows("SELECT unit FROM units ORDER BY id")]
    model = library.model
    units = Units(model) if model is not None and "alpha_units" in model.arrays else None

    @cache
    def first(type_: int) -> str:
        query = (
            "SELECT name, ordinal FROM equations e JOIN sources s ON s.id = e.article"
            " WHERE type = ? ORDER BY e.article, ordinal LIMIT 1"
        )
        name, ordinal = next(records.rows(query, type_))
        return f"{name}#{ordinal}"

    for article in library.articles():
        query = (
            "SELECT type, units FROM equations e JOIN sources s ON s.id = e.article"
            " JOIN types t ON t.id = e.type WHERE s.name = ? ORDER BY ordinal"
        )
        types = list(records.rows(query, article.name))
        bags = [[names[unit] for unit in np.frombuffer(ids, np.int32)] for _, ids in types]
        vectors = units.fold(bags).alpha if units is not None and bags else None
        for at, equation in enumerate(article.equations):
            row = {
                "name": equation.id,
                "article": article.name,
                "title": article.title,
                "collection": article.collection,
                "number": equation.number,
                "label": equation.label or None,
                "latex": equation.latex,
                "expanded": equation.expanded,
                "section": equation.section,
                "context": equation.context,
                "file": equation.file,
                "line": equation.line,
                "family": None if families is None else first(int(families[types[at][0]])),
            }
            if vectors is not None:
                row["vector"] = vectors[at].tolist() if vectors[at].any() else None
            yield row


def export_equations(library: Library, path: str | Path, *, replace: bool = False) -> Listed:
    """Write all equations to a file, whole or not at all; its suffix says how."""
    path = Path(path)
    write = _FORMS.get(path.suffix)
    if write is None:
        raise UsageError(f"{path} names no form: end it in {', '.join(_FORMS)}")
    if path.exists() and not replace:
        raise UsageError(f"{path} exists already; name another place or remove it")
    model = library.model
    has_units = model is not None and "alpha_units" in model.arrays
    size = model.view("units").vector_size if model is not None and has_units else 0
    count = without = 0

    def counted() -> Iterator[Row]:
        nonlocal count, without
        for row in equation_rows(library):
            count, without = count + 1, without + (bool(size) and row["vector"] is None)
            yield row

    with atomic.new_file(path) as made:
        write(made, counted(), size)
    return Listed(path, count, without)


def _jsonl(path: Path, rows: Iterator[Row], size: int) -> None:
    del size
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _csv(path: Path, rows: Iterator[Row], size: int) -> None:
    """Nine digits give every number back."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*COLUMNS, *(f"v{at}" for at in range(size))])
        for row in rows:
            vector = row.get("vector") or [None] * size
            numbers = ["" if value is None else f"{value:.9g}" for value in vector]
            writer.writerow([*(row[name] for name in COLUMNS), *numbers])


def _parquet(path: Path, rows: Iterator[Row], size: int) -> None:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise UsageError(".parquet needs pyarrow: pip install 'eqemb[export]'") from None
    kinds = {"line": pa.int32()}
    columns = [(name, kinds.get(name, pa.string())) for name in COLUMNS]
    if size:
        columns.append(("vector", pa.list_(pa.float32(), size)))
    schema = pa.schema(columns)
    with parquet.ParquetWriter(path, schema) as writer:
        batch: list[Row] = []
        for row in rows:
            batch.append(row)
            if len(batch) == _TOGETHER:
                writer.write_batch(pa.RecordBatch.from_pylist(batch, schema))
                batch = []
        writer.write_batch(pa.RecordBatch.from_pylist(batch, schema))


_FORMS: dict[str, Callable[[Path, Iterator[Row], int], None]] = {
    ".parquet": _parquet,
    ".csv": _csv,
    ".jsonl": _jsonl,
}
