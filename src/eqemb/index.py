"""The index of a library: a pure function of its records and its model.

    equations.npy    for each equation, in order: article, ordinal, type, section, numbered
    sections.*       postings of stems: the titles of sections that have them
    the rest         words (`wording`), structure (`structure`) and vectors (`meaning`)

Everything is written slice by slice, so that memory stays bounded, and read memory-mapped.
"""

import os
from collections import Counter
from pathlib import Path

import numpy as np

from eqemb.article import read_tokens
from eqemb.embeddings import Embeddings
from eqemb.meaning import index_meaning
from eqemb.postings import KeyedGatherer
from eqemb.records import Records
from eqemb.stems import stem
from eqemb.structure import index_structure
from eqemb.wording import index_words


def build_index(records: Records, folder: Path, model: Embeddings | None = None) -> None:
    """Index every equation of the records into `folder`; without a model no vectors."""
    folder.mkdir(exist_ok=True)
    _index_equations(records, folder)
    index_words(records, folder)
    index_structure(records, folder)
    if model is not None:
        index_meaning(records, folder, model)
    for path in folder.iterdir():  # durable before the library is switched to it
        with path.open("rb") as file:
            os.fsync(file.fileno())


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
