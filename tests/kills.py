"""Kill changes of a library at random moments, and resume each.

    python kills.py FOLDER CHANGE COUNT SEED

CHANGE is build, add, update, remove or compact. Prints one JSON object. `old` and `new` are the
library before the change and after an undisturbed one. `kills` has a row for each killed change:
whether it was still running, the library found after the kill, the library after resuming, and the
files left in it. Libraries are identified by a digest of records, model and index.
attack/test_kills.py checks them.
"""

import hashlib
import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from crashes import in_child
from eqemb.facade import build, model, sync, update
from eqemb.facade.library import Library
from eqemb.library import engines, executor
from eqemb.library.manifest import segment_folder
from synthetic import InlineExecutor, topical

SMALL = {"dim": 8, "iterations": 3, "batch": 256}


def digest(folder: Path) -> str:
    """Return a digest of everything that a library contains."""
    with Library.open(folder) as library:
        total = hashlib.sha256(library.records.sha256().encode())
        total.update(library.report["sha256"].encode())
        total.update(library.model.sha256.encode() if library.model else b"none")
        vectors = library.home / "vectors" / library.manifest.vectors
        listed = [segment_folder(library.home, part.name) for part in library.manifest.segments]
        listed += [vectors / part.name for part in library.manifest.segments]
        for place in listed:
            for path in [*sorted(place.rglob("*")), *sorted(vectors.glob("*.npy"))]:
                # records have times, and checksums are of these
                same = path.is_file() and path.name not in ("records.sqlite", "checksums.json")
                total.update(path.name.encode() + (path.read_bytes() if same else b""))
    return total.hexdigest()[:16]


def changes(folder: Path) -> dict[str, Callable[[Path], object]]:
    """Return the changes that can be made to the library at a path."""
    return {
        "build": lambda at: build.build_library(
            [folder / "one", folder / "two"], at, model=SMALL, jobs=1, resume=True
        ),
        "add": lambda at: update.add_papers(
            at, folder / "two", root=folder / "two", jobs=1, resume=True
        ),
        "update": lambda at: sync.update_library(at, jobs=1),
        "remove": lambda at: update.remove_articles(
            at, ["set1/paper001", "set2/paper002"], resume=True
        ),
        "compact": lambda at: update.compact_library(at, resume=True),
    }


def killed(work: Callable[[], object], seconds: float) -> bool:
    """Run `work` in a child process that is killed after some seconds; return if it was running."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def main() -> None:
    """Kill and resume changes until COUNT were killed, one of them while it was running."""
    folder, name, count, seed = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
    executor.make_executor = InlineExecutor  # type: ignore[assignment]
    engines._COMMIT_EVERY = 0.0
    model.LEAST_WORDS = 100
    os.fsync = lambda fd: None  # noqa: ARG005 - only power cuts need it
    topical(folder / "one", 8)
    topical(folder / "two", 4, first=8)
    change, old, at = changes(folder)[name], folder / "old", folder / "library"
    build.build_library(folder / "one", old, model=SMALL, jobs=1)
    if name == "compact":
        changes(folder)["add"](old)
    if name == "update":
        topical(folder / "one", 2, first=8)
        (folder / "one/set1/paper001.tex").unlink()
        edited = folder / "one/set2/paper002.tex"
        edited.write_text(edited.read_text("utf-8").replace("Paper", "Article"), "utf-8")
    seconds = []
    for _ in range(2):  # the first one compiles
        shutil.rmtree(at, ignore_errors=True)
        shutil.copytree(old, at)
        started = time.perf_counter()
        change(at)
        seconds.append(time.perf_counter() - started)
    found: dict[str, Any] = {"old": digest(old), "new": digest(at), "kills": []}
    rows, dice = found["kills"], random.Random(f"{name} {seed}")
    while len(rows) < count or (len(rows) < 5 * count and not any(row["running"] for row in rows)):
        shutil.rmtree(at)
        shutil.copytree(old, at)
        row: dict[str, Any] = {"running": killed(lambda: change(at), dice.random() * min(seconds))}
        row["before"] = digest(at)
        row["again"] = in_child(lambda: change(at))
        row["after"] = digest(at)
        row["left"] = sorted(path.name for path in (at / "generations").glob("*/*"))
        rows.append(row)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
