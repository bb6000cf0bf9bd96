"""Export every equation of a library as a row, with its vector.

    .jsonl     one object per line; `vector` is a list
    .csv       one column for each component of the vector: v0, v1, ...
    .parquet   `vector` is a list of fixed size (needs the extra `export`)

The library's model computes the vector from the equation's units, so that equations added after
training have one, too. It is missing if no unit is known. To export the vectors of words, units and
equation types of a model, use `Embeddings.export`.
"""

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from eqemb.article import Equation
from eqemb.errors import UsageError
from eqemb.facade.library import Library
from eqemb.formula.running_text import plain_text, printed_text
from eqemb.index.segments import has_index
from eqemb.models.fold_in import Units
from eqemb.storage import atomic

COLUMNS = (
    "name", "article", "title", "collection", "number", "label", "latex", "expanded", "section",
    "context", "file", "line", "family",
)  # fmt: skip
_BATCH_ROWS = 1000  # rows written at a time

Row = dict[str, Any]


class ExportResult(NamedTuple):
    """The result of an export."""

    path: Path
    rows: int
    without: int
    """Number of rows without a vector; 0 if the library has no model."""


def equation_rows(library: Library) -> Iterator[Row]:
    """Yield the equations of a library, in order: `COLUMNS` and, if it has a model, `vector`.

    `family` is the name of the first equation of a family of similar equations; None if the index
    has no families.
    """
    records = library.records
    families = _Families(library) if has_index(library) else None
    model = library.model
    units = Units(model) if model is not None and "alpha_units" in model.arrays else None
    for article in library.articles():
        key = records.key(article.name)
        bags = [] if key is None else [bag for *_, bag in records.article_types(key)]
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
                "section": plain_text(equation.section),
                "context": printed_text(equation.context),
                "file": equation.file,
                "line": equation.line,
                "family": None if families is None else families.first(equation),
            }
            if vectors is not None:
                row["vector"] = vectors[at].tolist() if vectors[at].any() else None
            yield row


class _Families:
    """The first equation of the family of each equation."""

    def __init__(self, library: Library) -> None:
        self._engine = library.engine
        self._firsts: dict[int, str] = {}

    def first(self, equation: Equation) -> str:
        """Return the name of the first equation of one family with an equation."""
        kind = int(self._engine.types[self._engine.row(equation)])
        if kind not in self._firsts:
            members = self._engine.structure.families.members(kind)
            rows = self._engine.segments.equations_of(members)
            self._firsts[kind] = self._engine.name(int(rows[0]))
        return self._firsts[kind]


def export_equations(library: Library, path: str | Path, *, replace: bool = False) -> ExportResult:
    """Write all equations to a file, atomically.

    Args:
        library: An open library.
        path: The file; its suffix chooses the format: .parquet, .csv or .jsonl.
        replace: Replace an existing file.

    Returns:
        The path and the number of rows.
    """
    path = Path(path)
    write = _EXPORT_WRITERS.get(path.suffix)
    if write is None:
        raise UsageError(f"{path} has no known suffix: use one of {', '.join(_EXPORT_WRITERS)}")
    if path.exists() and not replace:
        raise UsageError(f"{path} already exists; choose another path or remove it")
    model = library.model
    has_units = model is not None and "alpha_units" in model.arrays
    size = model.view("units").vector_size if model is not None and has_units else 0
    count = without = 0

    def counted() -> Iterator[Row]:
        nonlocal count, without
        for row in equation_rows(library):
            count, without = count + 1, without + (bool(size) and row["vector"] is None)
            yield row

    with atomic.new_file(path, follow_links=True) as made:
        write(made, counted(), size)
    return ExportResult(path, count, without)


def _jsonl(path: Path, rows: Iterator[Row], size: int) -> None:
    del size
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _csv(path: Path, rows: Iterator[Row], size: int) -> None:
    """Write numbers with nine digits, which restore every float32."""
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
            if len(batch) == _BATCH_ROWS:
                writer.write_batch(pa.RecordBatch.from_pylist(batch, schema))
                batch = []
        writer.write_batch(pa.RecordBatch.from_pylist(batch, schema))


_EXPORT_WRITERS: dict[str, Callable[[Path, Iterator[Row], int], None]] = {
    ".parquet": _parquet,
    ".csv": _csv,
    ".jsonl": _jsonl,
}
