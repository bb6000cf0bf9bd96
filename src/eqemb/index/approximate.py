"""Approximate nearest vectors for large libraries: inverted lists of short codes, by FAISS.

    header.json       format, versions, parameters, segments that are covered, measured recall
    quantiser.faiss   the centroids of the lists and the codebooks of the codes
    lists.npy         for each list: its rows, the rows that it has room for, where it begins
    lists.bin         for each list the codes of its vectors, in blocks of 32, and their rows

Each vector is in the list of its nearest centroid, as a product-quantisation code of four bits for
each two dimensions (25 bytes for 100 dimensions). A query reads the codes of the nearest lists,
which are memory-mapped, and ranks a short list of the best by the vectors themselves, read by row
from the files of the segments. So cosines are exact, and only which rows get there is approximate.
How many lists are read is chosen when the index is built, on queries that are held out: their
recall is measured against an exact search, and stored.

Codes and their sizes were chosen on a million vectors like those of a library
(`benchmarks/large_vectors.py --codes`): at equal recall these codes take the least time; RaBitQ of
one bit needs a longer short list, and of several bits more bytes and time.

`approximate_build` writes the files. FAISS is imported where it is needed.
"""

import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.errors import EqembError
from eqemb.index.postings import load_array, top_k
from eqemb.index.vector_index import Floats, Mask, VectorIndex
from eqemb.storage.array_file import file_hash
from eqemb.storage.checksums import check_folder

#: Rows from which a library gets an approximate index. There an exact search takes 21.5 ms of CPU
#: time, and 2.0 ms for 100,000 rows (100 dimensions, `benchmarks/large_vectors.py`); on two cores
#: with much other work, 70 ms by the clock.
LEAST_ROWS = 1_000_000
#: Rows after the covered ones, searched exactly, from which the index is built again.
MOST_UNCOVERED = 200_000
#: Up to so many allowed rows are compared exactly.
FEW_ROWS = 20_000
ANN_FORMAT = "eqemb approximate index"
VERSION = 1

Rows = NDArray[np.int64]
Found = tuple[Rows, Floats]


class Coverage(NamedTuple):
    """A segment that an index covers."""

    segment: str
    rows: int


@dataclass(frozen=True)
class Header:
    """What is stored about an index."""

    faiss: str
    """The version of FAISS that wrote it."""
    dim: int
    lists: int
    probes: int
    """How many lists a query reads."""
    covered: list[Coverage]
    recall: dict[str, float]
    """The recall of the first ten, for each kind of held-out queries."""
    queries: dict[str, int]
    """The number of these queries."""
    files: dict[str, str]
    """The hashes of the files that are read as a whole, and the size of lists.bin."""
    format: str = ANN_FORMAT
    version: int = VERSION
    seed: int = 0

    @classmethod
    def load(cls, folder: Path) -> "Header":
        """Read the header of an index; raise ValueError if it is of another kind."""
        found = json.loads((folder / "header.json").read_text("utf-8"))
        if not isinstance(found, dict) or found.get("format") != ANN_FORMAT:
            raise ValueError("header.json is not that of an approximate index")
        if found.get("version") != VERSION:
            raise ValueError(f"its version is {found.get('version')}, not {VERSION}")
        try:
            covered = [Coverage(str(name), int(rows)) for name, rows in found.pop("covered")]
            return cls(covered=covered, **found)
        except (KeyError, TypeError) as error:
            raise ValueError(f"header.json is incomplete ({error})") from None

    @property
    def rows(self) -> int:
        """The number of rows that the index was built for."""
        return sum(part.rows for part in self.covered)

    @property
    def recalls(self) -> str:
        """The measured recall as text."""
        shares = (
            f"{share:.3f} of {self.queries[kind]} {kind}" for kind, share in self.recall.items()
        )
        return f"recall@10 {', '.join(shares)}"


def is_available() -> bool:
    """Whether FAISS is installed."""
    try:
        import faiss  # noqa: F401
    except ImportError:
        return False
    return True


# ------------------------------------------------------------ searching


class ApproximateIndex(VectorIndex):
    """Vectors whose nearest ones are found by an index on disk; all else is exact."""

    def __init__(
        self,
        parts: Sequence[NDArray[Any]],
        folder: Path,
        covered: int,
        live: Callable[[], Mask | None] = lambda: None,
    ) -> None:
        """Open the index in `folder` for the first `covered` rows; raise ValueError if damaged."""
        super().__init__(parts, live)
        self.header, self.covered = Header.load(folder), covered
        self._lists = _open_lists(folder, self.header)

    def nearest(
        self, vector: NDArray[Any], count: int, mask: Mask | None = None, *, probes: int = 0
    ) -> Found:
        """Return nearly the rows with the largest positive cosines, best first, and the cosines.

        Cosines are exact, ties come in the order of rows. Only rows that are in the library, and in
        the mask, are returned. Where the mask has few rows, the result is exact. `probes` is the
        number of lists that are read, by default as the header says.
        """
        count = min(count, len(self))
        allowed = self._allowed(mask)
        if allowed is not None and np.count_nonzero(allowed) <= FEW_ROWS:
            return self._best(np.flatnonzero(allowed), vector, count)
        chosen = self._live_filter if mask is None else self._filter(allowed)
        wanted = short_list(count)
        found = self._with_codes(vector, count, wanted, chosen, probes or self.header.probes)
        rows, cosines = self._best(found, vector, count)
        if self.covered == len(self):
            return rows, cosines
        more, their = self._exact_rest(vector, count, allowed)
        rows, cosines = np.concatenate([rows, more]), np.concatenate([cosines, their])
        order = np.lexsort((rows, -cosines))[:count]
        return rows[order], cosines[order]

    def candidates(self, vector: NDArray[Any], count: int, mask: Mask | None = None) -> Rows:
        """Return the rows with the nearest codes, in order: most of those that `nearest` returns.

        No vectors are read, each of which would be a page.
        """
        allowed = self._allowed(mask)
        is_few = allowed is not None and np.count_nonzero(allowed) <= FEW_ROWS
        if is_few or self.covered < len(self):
            return np.sort(self.nearest(vector, count, mask)[0])
        chosen = self._live_filter if mask is None else self._filter(allowed)
        return self._with_codes(vector, count, count, chosen, self.header.probes)

    def _with_codes(
        self,
        vector: NDArray[Any],
        count: int,
        wanted: int,
        chosen: "_Filter | None",
        probes: int,
    ) -> Rows:
        """Return the `wanted` rows with the nearest codes, in order.

        With a filter more lists are read, until there are at least `count` rows.
        """
        among = self.covered if chosen is None else chosen.rows
        if not among:
            return np.empty(0, np.int64)
        probes = math.ceil(probes * math.sqrt(self.header.rows / among))
        bits = None if chosen is None else chosen.bits
        while True:
            probes = min(probes, self.header.lists)
            found = self._lists.search(vector, wanted, probes, bits)
            found = found[(found >= 0) & (found < self.covered)]
            if len(found) >= min(count, among) or probes == self.header.lists:
                return np.sort(found)
            probes *= 4

    def _filter(self, allowed: Mask | None) -> "_Filter | None":
        """Return the filter of the index for a mask; None if all of its rows are allowed."""
        if allowed is None and self.covered == self.header.rows:
            return None
        inside = np.zeros(self.header.rows, bool)  # rows after the covered ones are others now
        inside[: self.covered] = True if allowed is None else allowed[: self.covered]
        return _Filter(int(np.count_nonzero(inside)), np.packbits(inside, bitorder="little"))

    @cached_property
    def _live_filter(self) -> "_Filter | None":
        return self._filter(self._live())

    def _best(self, rows: Rows, vector: NDArray[Any], count: int) -> Found:
        """Return the best of some rows, which are in order."""
        cosines = self.scores_of(rows, vector)
        best = top_k(cosines, count)
        return rows[best], cosines[best]

    def _exact_rest(self, vector: NDArray[Any], count: int, allowed: Mask | None) -> Found:
        """Return the best of the rows that the index does not cover."""
        cosines = self.dot(vector, self.covered)
        if allowed is not None:
            cosines[~allowed[self.covered :]] = 0
        best = top_k(cosines, count)
        return best + self.covered, cosines[best]


class _Filter(NamedTuple):
    """The rows of an index that may be returned."""

    rows: int
    bits: NDArray[np.uint8]


def short_list(count: int) -> int:
    """Return how many rows are compared by their vectors to find the best `count`."""
    return 800 + 4 * count


def open_vectors(
    parts: Sequence[NDArray[Any]],
    segments: Sequence[Coverage],
    folder: Path,
    live: Callable[[], Mask | None] = lambda: None,
) -> VectorIndex:
    """Open vectors with their approximate index, or exactly if there is none that can be used.

    `note` of the result says why a large library is searched exactly.
    """
    rows = sum(part.rows for part in segments)
    if rows < LEAST_ROWS:
        return VectorIndex(parts, live)
    try:
        covered = _usable_rows(folder, segments)
        return ApproximateIndex(parts, folder, covered, live)
    except ImportError:
        why, cure = "faiss is not installed", "install the extra `ann`"
    except OSError as error:  # without the path: answers show the note
        why, cure = error.strerror or "it cannot be read", "`eqemb compact` builds it"
    except (ValueError, RuntimeError) as error:
        why, cure = str(error), "`eqemb compact` builds it"
    note = f"vectors were compared one by one, without an approximate index: {why}; {cure}"
    return VectorIndex(parts, live, note)


def _usable_rows(folder: Path, segments: Sequence[Coverage]) -> int:
    """Return how many rows an index covers; raise ValueError if there are none."""
    if not (folder / "header.json").is_file():
        raise ValueError("there is none")
    covered = covered_rows(Header.load(folder), segments)
    if not covered:
        raise ValueError("it is of other segments")
    return covered


def covered_rows(header: Header, segments: Sequence[Coverage]) -> int:
    """Return how many of the first rows of a library an index covers.

    Segments after those may have been added or merged since it was built.
    """
    covered = 0
    for indexed, segment in zip(header.covered, segments, strict=False):
        if indexed != segment:
            break
        covered += segment.rows
    return covered


def needs_index(folder: Path, segments: Sequence[Coverage]) -> bool:
    """Whether an index in `folder` should be built: for a large library that it does not cover."""
    rows = sum(part.rows for part in segments)
    if rows < LEAST_ROWS or not is_available():
        return False
    try:
        _open_lists(folder, header := Header.load(folder))
    except (OSError, ValueError, RuntimeError):
        return True
    return rows - covered_rows(header, segments) > MOST_UNCOVERED


class _Lists:
    """The inverted lists of an index, opened with FAISS."""

    def __init__(self, index: Any, inverted: Any) -> None:
        self._index, self._inverted = index, inverted  # which the index points to

    def search(
        self, vector: NDArray[Any], wanted: int, probes: int, selector: NDArray[np.uint8] | None
    ) -> Rows:
        """Return the rows with the best codes, -1 where there are fewer."""
        import faiss

        query = np.zeros((1, self._index.d), np.float32)
        query[0, : len(vector)] = vector
        options: dict[str, Any] = {"nprobe": probes}
        if selector is not None:
            options["sel"] = faiss.IDSelectorBitmap(selector)
        threads = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)  # of this thread alone: a server answers in several
        try:
            _, rows = self._index.search(query, wanted, params=faiss.SearchParametersIVF(**options))
        finally:
            faiss.omp_set_num_threads(threads)
        found: Rows = rows[0]
        return found


def _open_lists(folder: Path, header: Header) -> _Lists:
    """Open the files of an index; raise ValueError where they are not those of the header."""
    import faiss

    try:
        check_folder(folder)
    except EqembError as error:  # without the path: answers show the note
        what = str(error).removeprefix(f"{folder}{os.sep}").partition(":")[0]
        raise ValueError(what) from None
    for name, wanted in header.files.items():
        path = folder / name
        if not path.is_file():
            raise ValueError(f"{name} is missing")
        has = str(path.stat().st_size) if name == "lists.bin" else file_hash(path)
        if has != wanted:
            raise ValueError(f"{name} is damaged")
    index = faiss.read_index(str(folder / "quantiser.faiss"))
    table = np.ascontiguousarray(load_array(folder, "lists"))
    inverted = faiss.OnDiskInvertedLists()
    inverted.nlist, inverted.code_size = len(table), index.code_size
    inverted.filename, inverted.totsize = str(folder / "lists.bin"), int(header.files["lists.bin"])
    inverted.read_only = True
    inverted.prefetch_nthread = 0  # threads for each query cost more than they save
    inverted.lists.resize(len(table))
    faiss.memcpy(inverted.lists.data(), faiss.swig_ptr(table), table.nbytes)
    inverted.do_mmap()
    index.replace_invlists(inverted, False)  # noqa: FBT003
    return _Lists(index, inverted)
