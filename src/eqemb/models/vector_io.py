"""Vectors in the formats of other programs: gensim, the Embedding Projector, data frames.

    word2vec      text: "N K", then a key and its numbers on each line; .gz is compressed
    tsv           a folder of vectors.tsv and metadata.tsv, for the Embedding Projector
    parquet       columns `key` and `vector` (extra `export`)
    safetensors   one array, `vectors`; the keys are in the metadata

Files are written atomically. Text files of word2vec, GloVe and fastText can be read.
"""

import gzip
import io
import json
import math
import re
import zlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from eqemb.errors import UsageError
from eqemb.storage import array_file, atomic

Floats = NDArray[np.float32]

_ROWS_AT_A_TIME = 4096  # written at a time
_HEADER = 100_000_000  # bytes: the largest header that safetensors reads
_PAIR = ("vectors.tsv", "metadata.tsv")


class Exported(NamedTuple):
    """The result of an export."""

    path: Path
    rows: int
    changed: int
    """Keys that the format cannot represent, and that `export` changed."""


class _VectorTable(NamedTuple):
    keys: Sequence[str]
    vectors: Floats
    about: dict[str, str]


def export(
    path: Path,
    keys: Sequence[str],
    vectors: Floats,
    form: str = "word2vec",
    *,
    about: dict[str, str] | None = None,
    replace: bool = False,
) -> Exported:
    """Write vectors in one of `FORMS`; `about` is stored if the format has room for it.

    Keys of word2vec have no spaces: spaces and % become %20 and %25, which `urllib.parse.unquote`
    reverts, and an empty key becomes %. Labels of the projector are one line: tabs and line ends
    become spaces. The result counts the keys that were changed.
    """
    if form not in FORMS:
        raise UsageError(f"form must be one of {', '.join(FORMS)}, not {form!r}")
    if path.exists() and not replace:
        raise UsageError(f"{path} already exists: give another path or remove it")
    table = _VectorTable(keys, np.asarray(vectors, np.float32), about or {})
    return Exported(path, len(keys), FORMS[form](path, table))


def _chunks(vectors: Floats) -> Iterator[tuple[int, Floats]]:
    for at in range(0, len(vectors), _ROWS_AT_A_TIME):
        yield at, vectors[at : at + _ROWS_AT_A_TIME]


def word_safe(key: str) -> str:
    """A key without spaces; `urllib.parse.unquote` reverts it."""
    return re.sub(r"[\s%]", lambda found: quote(found[0]), key) or "%"


def _label(key: str) -> str:
    return re.sub(r"\s", " ", key) if key.strip() else "(empty)"


def _changed(keys: Sequence[str], safe: Callable[[str], str]) -> int:
    return sum(safe(key) != key for key in keys)


def _lines(file: IO[bytes], table: _VectorTable, start: str, separator: str) -> None:
    """One line for each row; nine digits represent every float32 exactly."""
    line = start + separator.join(["%.9g"] * table.vectors.shape[1]) + "\n"
    for at, rows in _chunks(table.vectors):
        keys = table.keys[at : at + len(rows)]
        values = zip(keys, rows.tolist(), strict=True)
        if start:
            text = "".join(line % (word_safe(key), *row) for key, row in values)
        else:
            text = "".join(line % tuple(row) for _, row in values)
        file.write(text.encode())


@contextmanager
def _opened(path: Path, *, packed: bool) -> Iterator[Any]:
    with path.open("wb") as file:
        if packed:  # without name and time, so that the same vectors give the same bytes
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as inner:
                yield inner
        else:
            yield file


def _word2vec(path: Path, table: _VectorTable) -> int:
    with (
        atomic.new_file(path, follow_links=True) as made,
        _opened(made, packed=path.suffix == ".gz") as file,
    ):
        file.write(f"{len(table.keys)} {table.vectors.shape[1]}\n".encode())
        _lines(file, table, "%s ", " ")
    return _changed(table.keys, word_safe)


def _tsv(path: Path, table: _VectorTable) -> int:
    if path.is_dir() and {found.name for found in path.iterdir()} - set(_PAIR):
        raise UsageError(f"{path} has other files than {' and '.join(_PAIR)}: give a new folder")
    with atomic.new_folder(path, replace=True) as folder:
        with (folder / _PAIR[0]).open("wb") as file:
            _lines(file, table, "", "\t")
        text = "".join(f"{_label(key)}\n" for key in table.keys)
        (folder / _PAIR[1]).write_bytes(text.encode())
    return _changed(table.keys, _label)


def _parquet(path: Path, table: _VectorTable) -> int:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise UsageError("form 'parquet' needs pyarrow: pip install 'eqemb[export]'") from None
    size = table.vectors.shape[1]
    columns = [("key", pa.string()), ("vector", pa.list_(pa.float32(), size))]
    schema = pa.schema(columns, metadata=table.about)
    with (
        atomic.new_file(path, follow_links=True) as made,
        parquet.ParquetWriter(made, schema) as writer,
    ):
        for at, rows in _chunks(table.vectors):
            keys = pa.array(table.keys[at : at + len(rows)], pa.string())
            values = pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), size)
            writer.write_batch(pa.record_batch([keys, values], schema=schema))
    return 0


def _safetensors(path: Path, table: _VectorTable) -> int:
    metadata = table.about | {"keys": list(table.keys)}
    if len(json.dumps(json.dumps(metadata, ensure_ascii=False))) > _HEADER - 1000:
        raise UsageError(
            f"{len(table.keys):,} keys are too long for a safetensors header: export as parquet"
        )
    with atomic.new_file(path, follow_links=True) as made:
        array_file.write_arrays(made, {"vectors": np.ascontiguousarray(table.vectors)}, metadata)
    return 0


#: Format -> a function that writes it and returns how many keys it changed.
FORMS: dict[str, Callable[[Path, _VectorTable], int]] = {
    "word2vec": _word2vec,
    "tsv": _tsv,
    "parquet": _parquet,
    "safetensors": _safetensors,
}


def read_word2vec(path: Path) -> tuple[list[str], Floats]:
    """Words and vectors of a text file in the format of word2vec, GloVe or fastText, or its .gz.

    The first line may give the numbers of words and dimensions. If a word is repeated its first
    vector is used, as in gensim.
    """
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            lines: Any = gzip.GzipFile(fileobj=file) if packed else file
            return _parsed(_Lines(path, io.BufferedReader(lines) if packed else lines))
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None


class _Lines:
    """The lines of a file of vectors, and errors with the line number."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self.path, self.file, self.number = path, file, 0

    def __iter__(self) -> Iterator[bytes]:
        for line in self.file:
            self.number += 1
            yield line.rstrip(b" \t\r\n")

    def wrong(self, what: str) -> UsageError:
        return UsageError(f"line {self.number} of {self.path} {what}")


def _parsed(lines: _Lines) -> tuple[list[str], Floats]:
    told, size, separator = None, 0, b" "
    words: dict[str, int] = {}
    values = array("f")
    rows = 0
    for line in lines:
        if lines.number == 1:
            first = line.split()
            if len(first) == 2 and all(map(bytes.isdigit, first)):
                told, size = int(first[0]), int(first[1])
                continue
        if not size:
            size = len(line.split()) - 1
        if not rows:
            separator = b"\t" if b"\t" in line and b" " not in line else b" "
        word, numbers = _row(lines, line.rsplit(separator, size) if size > 0 else [], size)
        rows += 1
        if word not in words:
            words[word] = len(words)
            values.extend(numbers)
    if not rows:
        raise UsageError(f"{lines.path} has no vectors: give a text file of word vectors")
    if told is not None and told != rows:
        raise UsageError(f"{lines.path} has {rows:,} vectors, but its first line says {told:,}")
    return list(words), np.frombuffer(values, np.float32).reshape(-1, size)


def _row(lines: _Lines, parts: list[bytes], size: int) -> tuple[str, Sequence[float]]:
    """A word and its numbers; a word may contain spaces, as a few in GloVe do."""
    if len(parts) != size + 1 or not parts[0]:
        raise lines.wrong(f"is not a word and {max(size, 1)} numbers")
    try:
        word = parts[0].decode()
    except UnicodeDecodeError:
        raise lines.wrong(
            "is not UTF-8 text: is the file in the binary format of word2vec? Save it as text"
        ) from None
    try:
        numbers = array("f", map(float, parts[1:]))
    except ValueError as error:
        raise lines.wrong(f"does not have {size} numbers: {error}") from None
    if not math.isfinite(sum(numbers)):
        raise lines.wrong("has a number that is not finite")
    if _is_number(word.rpartition(" ")[2]) and " " in word:
        raise lines.wrong(f"has more than {size} numbers")
    return word, numbers


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
