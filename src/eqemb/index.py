"""The index of a library: which words stand around each equation, and which units are in it.

    equations.npy            for each equation, in order: article, ordinal, type
    words.txt, words.*.npy   the words, as they came, and their postings: equations and weights

What equations look like is indexed by `structure`. NumPy only.
"""

import os
from pathlib import Path

import numpy as np

from eqemb.article import read_tokens
from eqemb.postings import BATCH, Array, Gatherer
from eqemb.records import Records
from eqemb.structure import index_structure

#: Words on each side of an equation that are its context, weighted by 1 / sqrt(distance).
REACH = 128
#: BM25's saturation and length norm; the length of a context is the sum of its weights.
K1, B = 1.2, 0.75
_SLICE = 2_000  # equations whose contexts are gathered at a time


def build_index(records: Records, folder: Path) -> None:
    """Index every equation of the records into `folder`."""
    folder.mkdir(exist_ok=True)
    keys = _index_equations(records, folder)
    _index_words(records, folder, keys)
    index_structure(records, folder)
    for path in folder.iterdir():  # durable before the library is switched to it
        with path.open("rb") as file:
            os.fsync(file.fileno())


def _index_equations(records: Records, folder: Path) -> dict[int, int]:
    """Number the equations; for each article the number of its first."""
    query = "SELECT article, ordinal, type FROM equations ORDER BY article, ordinal"
    table = np.fromiter((value for row in records.rows(query) for value in row), np.int32).reshape(
        -1, 3
    )
    np.save(folder / "equations.npy", table)
    articles, first = np.unique(table[:, 0], return_index=True)
    return dict(zip(articles.tolist(), first.tolist(), strict=True))


def _index_words(records: Records, folder: Path, keys: dict[int, int]) -> None:
    """Postings of words over equations; each weight an impact, BM25 without its idf."""
    vocabulary: dict[str, int] = {}
    gatherer = Gatherer(folder, "words")
    lengths: list[Array] = [np.empty(0)]
    for key, text in records.rows("SELECT id, text FROM articles ORDER BY id"):
        if key in keys:
            words, places = read_tokens(text)
            ids = (vocabulary.setdefault(word.lower(), len(vocabulary)) for word in words)
            numbers = np.fromiter(ids, np.int64)
            for at in range(0, len(places), _SLICE):
                rows, owners, weights, length = contexts(numbers, places[at : at + _SLICE])
                gatherer.add(rows, owners + keys[key] + at, weights)
                lengths.append(length)
    (folder / "words.txt").write_text("\n".join(vocabulary), "utf-8")
    gatherer.write(len(vocabulary))
    _weigh(folder, np.concatenate(lengths))


def _weigh(folder: Path, lengths: Array) -> None:
    """Turn summed weights into BM25's impacts, in place."""
    if len(lengths) == 0:
        return
    norm = K1 * (1 - B + B * lengths / lengths.mean())
    owners = np.load(folder / "words.owners.npy", mmap_mode="r")
    weights = np.load(folder / "words.weights.npy", mmap_mode="r+")
    for at in range(0, len(weights), BATCH):
        part = weights[at : at + BATCH]
        part[:] = part * (K1 + 1) / (part + norm[owners[at : at + BATCH]])


def contexts(ids: Array, places: list[int]) -> tuple[Array, Array, Array, Array]:
    """Words around each equation of an article, with the sum of 1 / sqrt(distance) of each."""
    reach = np.arange(1, REACH + 1)
    offsets = np.r_[-reach, reach - 1]  # the word before is at place - 1, the one after at place
    weights = np.r_[1 / np.sqrt(reach), 1 / np.sqrt(reach)]
    at = np.array(places)[:, None] + offsets
    inside = (at >= 0) & (at < len(ids))
    owners = np.broadcast_to(np.arange(len(places))[:, None], at.shape)[inside]
    values = np.broadcast_to(weights, at.shape)[inside]
    codes = owners * (int(ids.max(initial=0)) + 1) + ids[at[inside]]
    pairs, where = np.unique(codes, return_inverse=True)
    total = np.bincount(where, values, minlength=len(pairs))
    base = int(ids.max(initial=0)) + 1
    length = np.bincount(owners, values, minlength=len(places))
    return pairs % base, pairs // base, total, length
