"""Check that training gives the same bytes for any number of threads, again, and after kills.

    python benchmarks/same_bytes.py LIBRARY [--model eqemb-u] [--collection ml] [--kills 3]

Trains through the command line with 1, 2 and 4 threads and once more. Then it kills a run with
SIGKILL at random moments, resuming each time, and compares the sha256 of all models. Works on a
copy of the library; exits with 1 if any differ.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def command(library: Path, given: argparse.Namespace, name: str, threads: int) -> list[str]:
    """Start a training run."""
    return [
        sys.executable, "-m", "eqemb", "train", str(library), "--model", given.model,
        "--collection", given.collection, "--dim", str(given.dim), "--name", name,
        "--threads", str(threads), "--resume", "--json",
    ]  # fmt: skip


def trained(library: Path, given: argparse.Namespace, name: str, threads: int) -> tuple[str, float]:
    """Return the sha256 of an undisturbed run and its duration."""
    start = time.perf_counter()
    done = subprocess.run(
        command(library, given, name, threads), check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)["sha256"], time.perf_counter() - start


def main() -> None:
    """Train, kill and compare."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("--model", default="eqemb-u")
    parser.add_argument("--collection", default="all")
    parser.add_argument("--dim", type=int, default=50)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--seed", type=int, help="seed of the times of the kills")
    given = parser.parse_args()
    moments = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as scratch:
        library = Path(scratch) / "library"
        shutil.copytree(given.library, library, ignore=shutil.ignore_patterns("models"))
        found = {}
        for name, threads in (("one", 1), ("two", 2), ("four", 4), ("again", 1)):
            found[f"{name} ({threads} threads)"], seconds = trained(library, given, name, threads)
        for kill in range(given.kills):
            process = subprocess.Popen(
                command(library, given, "killed", 2), stdout=subprocess.DEVNULL
            )
            wait = moments.uniform(0.2, 1.0) * seconds
            try:
                process.wait(wait)
                print(f"kill {kill + 1}: finished before {wait:.1f} s")
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                print(f"kill {kill + 1}: after {wait:.1f} of about {seconds:.1f} s")
        found[f"after {given.kills} kills"], _ = trained(library, given, "killed", 2)
    for name, digest in found.items():
        print(f"{name:20} {digest}")
    if len(set(found.values())) > 1:
        sys.exit("the bytes differ")
    print("all the same")


if __name__ == "__main__":
    main()
