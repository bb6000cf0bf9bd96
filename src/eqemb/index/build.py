"""Build the index of a library from its records and its model.

    equations.npy    for each equation, in order: article, ordinal, type, section, numbered
    sections.*       postings of stems: the section titles that have them
    index.json       the version of the index, and the hashes of the other files

The other files are written by `text`, `structure` and `vectors`. The index is a pure function of
records and model. Texts are processed in batches, so that memory grows with distinct words and
shapes (and by a few numbers for each equation). All files are read memory-mapped.
"""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from eqemb.article import read_tokens
from eqemb.errors import EqembError
from eqemb.index.postings import KeyedPostingsWriter
from eqemb.index.stemming import stem
from eqemb.index.structure import index_structure
from eqemb.index.text import index_text
from eqemb.index.vectors import index_vectors, remove_vectors
from eqemb.library.database import Records
from eqemb.models.embeddings import Embeddings
from eqemb.storage.array_file import file_hash
from eqemb.storage.atomic import sync_folder, write_json

#: Raised whenever the files of an index, or what they hold, change.
INDEX_VERSION = 4


def build_index(records: Records, folder: Path, model: Embeddings | None = None) -> None:
    """Index every equation of the records into `folder`; without a model, without vectors."""
    folder.mkdir(exist_ok=True)
    _index_equations(records, folder)
    index_text(records, folder)
    index_structure(records, folder)
    if model is not None:
        index_vectors(records, folder, model)
    _finish(folder)


def rebuild_vectors(records: Records, folder: Path, model: Embeddings | None) -> None:
    """Replace the vectors of an existing index by those of `model`; None removes them.

    `folder` is an index of the same records. Text and structure stay as they are. Files are
    replaced, never overwritten, so that `folder` may hold hard links to the files of an index that
    is still in use.
    """
    remove_vectors(folder)
    if model is not None:
        index_vectors(records, folder, model)
    (folder / "index.json").unlink(missing_ok=True)
    _finish(folder)


def _finish(folder: Path) -> None:
    """Write index.json, and make all files durable before the library switches to them."""
    write_version(folder)
    for path in folder.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
    sync_folder(folder)


def write_version(folder: Path) -> None:
    """Write index.json: the version of the index and the hashes of its files."""
    files = {path.name: file_hash(path) for path in sorted(folder.iterdir())}
    files.pop("index.json", None)
    header = {"format": "eqemb index", "version": INDEX_VERSION, "files": files}
    write_json(folder / "index.json", header)


def damaged_file(folder: Path) -> Path | None:
    """Return a file of an index that differs from what was written; None if all are intact.

    This reads every file. Call it when a query fails in an unexpected way.
    """
    try:
        files = json.loads((folder / "index.json").read_text("utf-8")).get("files", {})
    except (OSError, ValueError, AttributeError):
        return folder / "index.json"
    for name, wanted in files.items():
        path = folder / str(name)
        if not path.is_file() or file_hash(path) != wanted:
            return path
    return None


def index_version(folder: Path) -> Any:
    """Return the version of an index; 0 if there is none, or if it does not say."""
    try:
        return json.loads((folder / "index.json").read_text("utf-8"))["version"]
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def check_version(folder: Path, library: Path) -> None:
    """Refuse an index that another version of eqemb wrote."""
    number = index_version(folder)
    if number != INDEX_VERSION:
        raise EqembError(
            f"{library} has an index of version {number}, this version of eqemb reads "
            f"{INDEX_VERSION}: rebuild the library with `eqemb build`, or use the version of eqemb "
            "that built it"
        )


def _index_equations(records: Records, folder: Path) -> None:
    sections: dict[str, int] = {}
    table = np.fromiter(
        (
            value
            for article, ordinal, kind, section, numbered in records.equation_index()
            for value in (
                article,
                ordinal,
                kind,
                sections.setdefault(" ".join(section.split()), len(sections)),
                -1 if numbered is None else numbered,
            )
        ),
        np.int32,
    )
    np.save(folder / "equations.npy", table.reshape(-1, 5))
    titles = KeyedPostingsWriter(folder, "sections")
    for title, number in sections.items():
        titles.add(number, Counter(map(stem, read_tokens(title)[0])))
    titles.write()
