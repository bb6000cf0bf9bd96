"""The index of a library: a pure function of its records and its model.

    equations.npy    for each equation, in order: article, ordinal, type, section, numbered
    sections.*       postings of stems: the titles of sections that have them
    the rest         words (`wording`), structure (`structure`) and vectors (`meaning`)
    index.json       its version, and the hashes of the other files

Texts are gone through slice by slice, so that memory grows with distinct words and shapes (and by
a few numbers for each equation), and everything is read memory-mapped.
"""

import hashlib
import json
import os
from collections import Counter
from pathlib import Path

import numpy as np

from eqemb.article import read_tokens
from eqemb.errors import EqembError
from eqemb.index.postings import KeyedGatherer
from eqemb.index.stemming import stem
from eqemb.index.structure import index_structure
from eqemb.index.text import index_words
from eqemb.index.vectors import index_meaning
from eqemb.library.database import Records
from eqemb.models.embeddings import Embeddings
from eqemb.storage.atomic import sync_folder, write_json

#: Raised whenever the files of an index, or what they hold, change.
VERSION = 2


def build_index(records: Records, folder: Path, model: Embeddings | None = None) -> None:
    """Index every equation of the records into `folder`; without a model no vectors."""
    folder.mkdir(exist_ok=True)
    _index_equations(records, folder)
    index_words(records, folder)
    index_structure(records, folder)
    if model is not None:
        index_meaning(records, folder, model)
    write_version(folder)
    for path in folder.iterdir():  # durable before the library is switched to it
        with path.open("rb") as file:
            os.fsync(file.fileno())
    sync_folder(folder)


def write_version(folder: Path) -> None:
    """Say by which version the files of an index are to be read, and their hashes."""
    files = {path.name: _sha256(path) for path in sorted(folder.iterdir())}
    files.pop("index.json", None)
    told = {"format": "eqemb index", "version": VERSION, "files": files}
    write_json(folder / "index.json", told)


def damaged_file(folder: Path) -> Path | None:
    """A file of an index that is not what was written; asked when a question fails oddly."""
    try:
        files = json.loads((folder / "index.json").read_text("utf-8")).get("files", {})
    except (OSError, ValueError, AttributeError):
        return folder / "index.json"
    for name, wanted in files.items():
        path = folder / str(name)
        if not path.is_file() or _sha256(path) != wanted:
            return path
    return None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_version(folder: Path, library: Path) -> None:
    """Refuse the index of a library that another version made."""
    try:
        number = json.loads((folder / "index.json").read_text("utf-8"))["version"]
    except (OSError, ValueError, KeyError, TypeError):
        number = 0  # the first ones did not say
    if number != VERSION:
        raise EqembError(
            f"{library} has an index of version {number}, this version of eqemb reads {VERSION}: "
            "make the library again with `eqemb build`, or use the version that made it"
        )


def _index_equations(records: Records, folder: Path) -> None:
    sections: dict[str, int] = {}
    query = (
        "SELECT article, ordinal, type, section, numbered FROM equations ORDER BY article, ordinal"
    )
    table = np.fromiter(
        (
            value
            for article, ordinal, kind, section, numbered in records.rows(query)
            for value in (
                article,
                ordinal,
                kind,
                sections.setdefault(" ".join((section or "").split()), len(sections)),
                -1 if numbered is None else numbered,
            )
        ),
        np.int32,
    )
    np.save(folder / "equations.npy", table.reshape(-1, 5))
    titles = KeyedGatherer(folder, "sections")
    for title, number in sections.items():
        titles.add(number, Counter(map(stem, read_tokens(title)[0])))
    titles.write()
