"""Measure what building an approximate index of vectors costs, for `plan_measurements.py`.

    python benchmarks/approximate_build.py [--sizes 50000 200000 800000] [--dim 100] > FILE.json

Vectors are normalised mixtures of random directions, as many as lists: FAISS clusters them as it
would clusters of equations. The index is IVF with RaBitQ codes and 4 * sqrt(n) lists, trained on 64
vectors for each list. Prints CPU seconds of training and adding, and bytes of the index.
"""

import argparse
import json
import time

import faiss
import numpy as np


def measure(count: int, dim: int) -> dict[str, float]:
    """Build one index."""
    dice = np.random.default_rng(1)
    lists = int(4 * count**0.5)
    centres = dice.standard_normal((lists, dim), np.float32)
    vectors = centres[dice.integers(0, lists, count)]
    vectors += 0.7 * dice.standard_normal((count, dim), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    index = faiss.index_factory(dim, f"IVF{lists},RaBitQ", faiss.METRIC_INNER_PRODUCT)
    index.cp.max_points_per_centroid = 64
    start = time.process_time()
    index.train(vectors[: 64 * lists])
    trained = time.process_time()
    index.add(vectors)
    added = time.process_time()
    return {
        "vectors": count,
        "dim": dim,
        "lists": lists,
        "train_seconds": round(trained - start, 3),
        "add_seconds": round(added - trained, 3),
        "bytes": len(faiss.serialize_index(index)),
    }


def main() -> None:
    """Measure each size."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[50_000, 200_000, 800_000])
    parser.add_argument("--dim", type=int, default=100)
    given = parser.parse_args()
    print(json.dumps([measure(size, given.dim) for size in given.sizes], indent=1))


if __name__ == "__main__":
    main()
