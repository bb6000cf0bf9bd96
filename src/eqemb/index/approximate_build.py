"""Write an approximate index: train it on a sample, encode all vectors, measure its recall.

The same vectors give the same bytes with any number of threads: all that FAISS and BLAS compute is
computed in one thread for each block of rows, and blocks have a fixed size. Codes are written to a
file as they are computed, so that memory grows by 12 bytes for each row, and by the sample.
"""

import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from eqemb.index.approximate import ApproximateIndex, Coverage, Header, needs_index
from eqemb.index.postings import create_array
from eqemb.index.vector_index import Floats, VectorIndex
from eqemb.index.vectors import VectorSpace
from eqemb.storage.array_file import file_hash, open_npy
from eqemb.storage.atomic import new_folder, write_json
from eqemb.storage.checksums import seal

#: The number of lists that a query reads is the least that finds this share of the first ten, or
#: nearly what all lists find: short codes alone may lose more, and then more lists gain nothing.
TARGET_RECALL, NEARLY = 0.97, 0.005
_SEED = 20
_QUERIES = 200  # of each kind, to choose by, and as many others to measure with
_BLOCK = 16_384  # rows
_PER_LIST = 50  # vectors of the sample for each list
_ITERATIONS = 10
_BITS = 4  # of the code of two dimensions
_PER_CODE_BLOCK = 32  # codes are stored in blocks of so many, as FAISS's fast scan reads them
_ALIGNMENT = 64
_FIRST = 10  # recall is that of the first ten
_COSINE_TOLERANCE = 1e-6  # of cosines that were summed in another order

Queries = dict[str, tuple[Floats, NDArray[np.int64]]]
Report = Callable[[str], object]


def build_approximate(
    folder: Path,
    vectors: VectorIndex,
    covered: list[Coverage],
    queries: Floats | None = None,
    threads: int | None = None,
    report: Report = lambda _stage: None,
) -> Header:
    """Write the index of vectors into `folder`, atomically; return its header.

    `queries` are vectors that people may search with, such as those of words; recall is measured
    with them too.
    """
    with (
        new_folder(folder, replace=True) as place,
        threadpool_limits(1, user_api="blas"),
        ThreadPoolExecutor(threads or os.cpu_count() or 1, initializer=_one_thread) as pool,
    ):
        report("training")
        index = pool.submit(_train, vectors).result()
        report("encoding")
        lists = _encode(place, vectors, index, pool)
        report("writing lists")
        _write_lists(place, index, lists)
        header = _save(place, vectors, covered, index.nlist)
        report("measuring recall")
        header = _choose_probes(place, vectors, header, _held_out(vectors, queries), pool)
        write_json(place / "header.json", asdict(header))
        seal(place)
    return header


def update_approximate(
    space: VectorSpace, watch: Callable[[str, str], object] = lambda _stage, _state: None
) -> None:
    """Build the approximate indexes of a library that is large, where they do not cover it.

    Nothing is built where FAISS is not installed. `watch` is called with the stage, one for each
    index, and its state, which is in the end the size and the recall.
    """
    for name in approximate_needed(space):
        folder, parts = space.approximate_folder(name), space.parts(name)
        header = build_approximate(
            folder,
            VectorIndex([vectors for _, vectors in parts]),
            [segment for segment, _ in parts],
            space.word_vectors if name == "contexts" else None,
            report=partial(watch, f"nearest {name}"),
        )
        size = sum(path.stat().st_size for path in folder.iterdir())
        watch(f"nearest {name}", f"{header.rows:,} rows, {size / 1e6:,.0f} MB, {header.recalls}")


def approximate_needed(space: VectorSpace) -> list[str]:
    """Return which vectors of a library need an approximate index that they do not have."""
    names = ["contexts", "types"] if space.has_types else ["contexts"]
    return [
        name
        for name in names
        if needs_index(space.approximate_folder(name), [part for part, _ in space.parts(name)])
    ]


def _one_thread() -> None:
    import faiss

    faiss.omp_set_num_threads(1)  # of the calling thread


def list_count(rows: int) -> int:
    """Return the number of lists for so many rows, a power of two near 1.5 times its root."""
    return int(2 ** round(math.log2(1.5 * math.sqrt(max(rows, 1)))))


def _padded(vectors: NDArray[Any]) -> Floats:
    """Return vectors with an even number of dimensions, as codes are of two."""
    return np.pad(np.asarray(vectors, np.float32), [(0, 0), (0, vectors.shape[1] % 2)])


def _train(vectors: VectorIndex) -> Any:
    """Return an empty index, trained on a sample of the vectors."""
    import faiss

    count = list_count(len(vectors))
    random = np.random.default_rng(_SEED)
    size = min(len(vectors), max(_PER_LIST * count, _PER_LIST * 16))
    rows = np.sort(random.choice(len(vectors), size, replace=False))
    sample = _padded(vectors.rows(rows))
    dim = sample.shape[1]
    sample = np.resize(sample, (max(len(sample), 1 << _BITS), dim))  # as many as a codebook has
    means = faiss.Kmeans(
        dim,
        count,
        niter=_ITERATIONS,
        seed=_SEED,
        min_points_per_centroid=1,
        max_points_per_centroid=_PER_LIST,
    )
    means.train(sample)
    coarse = faiss.IndexFlatL2(dim)
    coarse.add(means.centroids)
    index = faiss.IndexIVFPQFastScan(coarse, dim, count, dim // 2, _BITS)
    index.by_residual = False  # one table of distances for each query instead of each list
    index.cp.seed = index.pq.cp.seed = _SEED
    index.pq.cp.min_points_per_centroid = 1
    index.train(sample)
    index.own_fields = True
    coarse.this.disown()
    return index


def _blocks(vectors: VectorIndex) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the first row and the vectors of each block, which do not depend on segments."""
    for start in range(0, len(vectors), _BLOCK):
        yield start, vectors.rows(np.arange(start, min(start + _BLOCK, len(vectors))))


def _in_order(
    pool: ThreadPoolExecutor, task: Callable[[int, NDArray[Any]], Any], vectors: VectorIndex
) -> Iterator[Any]:
    """Yield the results for all blocks in order; only a few blocks are in memory at once."""
    waiting: list[Any] = []
    for start, block in _blocks(vectors):
        waiting.append(pool.submit(task, start, block))
        if len(waiting) >= 4:
            yield waiting.pop(0).result()
    for each in waiting:
        yield each.result()


def _encode(
    place: Path, vectors: VectorIndex, index: Any, pool: ThreadPoolExecutor
) -> NDArray[np.int32]:
    """Write the code of each row into codes.npy; return the list of each row."""
    codes = create_array(place / "codes.npy", np.uint8, (len(vectors), index.code_size))
    lists = np.empty(len(vectors), np.int32)

    def encode(start: int, block: NDArray[Any]) -> None:
        some = _padded(block)
        part = slice(start, start + len(block))
        lists[part] = index.quantizer.search(some, 1)[1][:, 0]
        codes[part] = index.pq.compute_codes(some)

    for _ in _in_order(pool, encode, vectors):
        pass
    codes.flush()
    return lists


def _write_lists(place: Path, index: Any, lists: NDArray[np.int32]) -> None:
    """Write lists.bin and lists.npy from codes.npy, and remove it."""
    import faiss

    codes = open_npy(place / "codes.npy")
    order = np.argsort(lists, kind="stable")
    sizes = np.bincount(lists, minlength=index.nlist)
    room = -(-sizes // _PER_CODE_BLOCK) * _PER_CODE_BLOCK
    table = np.zeros((index.nlist, 3), np.uint64)
    packer = index.get_CodePacker()
    at = first = 0
    with (place / "lists.bin").open("wb") as out:
        for number, (size, space) in enumerate(zip(sizes.tolist(), room.tolist(), strict=True)):
            gap = -at % _ALIGNMENT
            at += gap
            table[number] = size, space, at
            rows = order[first : first + size]
            packed = _packed(packer, codes[rows], space)
            owners = np.zeros(space, np.int64)
            owners[:size] = rows
            out.write(bytes(gap) + packed.tobytes() + owners.tobytes())
            at += packed.nbytes + owners.nbytes
            first += size
    np.save(place / "lists.npy", table)
    del codes
    (place / "codes.npy").unlink()
    faiss.write_index(index, str(place / "quantiser.faiss"))


def _packed(packer: Any, codes: NDArray[np.uint8], space: int) -> NDArray[np.uint8]:
    """Return codes in the blocks that FAISS's fast scan reads, filled up with zeros."""
    import faiss

    blocks = space // _PER_CODE_BLOCK
    flat = np.zeros((blocks, _PER_CODE_BLOCK * codes.shape[1]), np.uint8)
    flat.ravel()[: codes.size] = codes.ravel()
    packed = np.zeros((blocks, packer.block_size), np.uint8)
    for block, own in zip(packed, flat, strict=True):
        packer.pack_all(faiss.swig_ptr(own), faiss.swig_ptr(block))
    return packed


def _save(place: Path, vectors: VectorIndex, covered: list[Coverage], lists: int) -> Header:
    """Write the header of an index that is not measured yet."""
    import faiss

    files = {name: file_hash(place / name) for name in ("lists.npy", "quantiser.faiss")}
    files["lists.bin"] = str((place / "lists.bin").stat().st_size)
    header = Header(
        faiss=faiss.__version__,
        dim=vectors.dim,
        lists=lists,
        probes=lists,
        covered=covered,
        recall={},
        queries={},
        files=files,
        seed=_SEED,
    )
    write_json(place / "header.json", asdict(header))
    return header


# ------------------------------------------------------------ recall


def _held_out(vectors: VectorIndex, queries: Floats | None) -> Queries:
    """Return queries of each kind, with the row that is left out of the answer to each.

    Rows were possibly encoded with what was trained on them, but what they are looked for with are
    the vectors of other rows; -1 where no row is left out.
    """
    random = np.random.default_rng(_SEED + 1)
    rows = random.permutation(len(vectors))[: 2 * _QUERIES]
    found: Queries = {"rows": (vectors.rows(rows), rows)}
    if queries is not None and len(queries):
        some = queries[random.permutation(len(queries))[: 2 * _QUERIES]]
        found["words"] = (np.asarray(some, np.float32), np.full(len(some), -1))
    return {
        kind: (asked[known], own[known])
        for kind, (asked, own) in found.items()
        if (known := asked.any(axis=1)).sum() > 1
    }


def _choose_probes(
    place: Path, vectors: VectorIndex, header: Header, queries: Queries, pool: ThreadPoolExecutor
) -> Header:
    """Return the header with the least number of lists that is enough, and the recall.

    The number is chosen with every other query, and the recall measured with the rest.
    """
    index = ApproximateIndex(vectors.parts, place, len(vectors))
    least = {kind: _exact_least(vectors, *asked, pool) for kind, asked in queries.items()}

    def recall(kind: str, probes: int, part: int) -> float:
        asked, own = (each[part::2] for each in queries[kind])
        some = zip(asked, own.tolist(), least[kind][part::2].tolist(), strict=True)
        tasks = [
            pool.submit(_recall, index, vector, row, bound, probes) for vector, row, bound in some
        ]
        return float(np.mean([task.result() for task in tasks]))

    enough = {k: min(TARGET_RECALL, recall(k, header.lists, 0) - NEARLY) for k in queries}
    probes = 1
    while probes < header.lists and any(recall(k, probes, 0) < enough[k] for k in queries):
        probes *= 2
    found = {kind: round(recall(kind, probes, 1), 4) for kind in queries}
    counts = {kind: len(asked[0][1::2]) for kind, asked in queries.items()}
    return Header(**{**vars(header), "probes": probes, "recall": found, "queries": counts})


def _exact_least(
    vectors: VectorIndex, asked: Floats, own: NDArray[np.int64], pool: ThreadPoolExecutor
) -> Floats:
    """Return the least cosine of the first ten rows for each query, by exact search."""
    import faiss

    def best(start: int, block: NDArray[Any]) -> Floats:
        count = min(_FIRST + 1, len(block))
        cosines, rows = faiss.knn(asked, block, count, metric=faiss.METRIC_INNER_PRODUCT)
        return np.where(rows + start == own[:, None], 0, np.maximum(cosines, 0)).T

    found = np.zeros((_FIRST, len(asked)), np.float32)
    for some in _in_order(pool, best, vectors):
        found = np.sort(np.concatenate([found, some]), axis=0)[-_FIRST:]
    least: Floats = found[0]
    return least


def _recall(index: ApproximateIndex, vector: Floats, own: int, least: float, probes: int) -> float:
    """Return which share of the first ten have a cosine as large as the exact first ten have.

    So equal vectors may stand for each other.
    """
    rows, cosines = index.nearest(vector, _FIRST + 1, probes=probes)
    cosines = cosines[rows != own][:_FIRST]
    if least <= 0:  # fewer than ten rows have a positive cosine
        return 1.0
    return float((cosines >= least - _COSINE_TOLERANCE).sum()) / _FIRST
