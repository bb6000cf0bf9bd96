"""Kill an ingest at every one of its final steps, and resume each.

    python crashes.py PAPERS FOLDER

Prints one JSON object: step -> result. `old` is the existing library, `before` the one found after
the kill, and `after` the one after `resume`, each by its digest. test_ingest.py checks the results.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eqemb.facade import build
from eqemb.facade.library import Library
from eqemb.library import executor, generations, ingest, segments
from eqemb.library.database import Records
from synthetic import InlineExecutor

DIED = 77
#: Every step after the last paper: the function, and which of its calls never happens.
STEPS: dict[str, tuple[Any, str, int]] = {
    "note the settings": (Path, "replace", 1),
    "commit the last records": (Records, "commit", 1),
    "digest": (Records, "sha256", 1),
    "finish the records": (Records, "finish", 1),
    "write the sketches": (segments, "write_sketches", 1),
    "write the summary": (Path, "replace", 2),
    "write the checksums of the segment": (Path, "replace", 3),
    "move the segment": (Path, "rename", 1),
    "list the segment": (Path, "replace", 4),
    "write the record of sources": (Path, "replace", 5),
    "find near-duplicates": (build, "update_near_pairs", 1),
    "write the manifest": (Path, "replace", 6),
    "make the report": (ingest, "merge_summaries", 1),
    "render the report": (ingest, "render_report", 1),
    "write report.json": (Path, "replace", 7),
    "write report.html": (Path, "replace", 8),
    "write run.json": (Path, "replace", 9),
    "switch": (build, "switch", 1),
    "write the checksums": (Path, "replace", 10),
    "switch library.json": (Path, "replace", 11),
    "copy report.json": (Path, "replace", 12),
    "copy report.html": (Path, "replace", 13),
    "remove the old": (generations, "remove_unheld", 1),
    "remove old segments": (generations, "_remove_others", 3),  # the first two: at the start
}


def fatal(function: Callable[..., Any], call: int) -> Callable[..., Any]:
    """Return the function with an n-th call that ends the process."""
    calls = 0

    def count(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call:
            os._exit(DIED)
        return function(*arguments, **options)

    return count


def in_child(work: Callable[[], object]) -> int:
    """Run `work` in a child process and return its exit status."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def digest(folder: Path) -> str:
    """Return the digest of the library at a folder."""
    with Library.open(folder) as library:
        return str(library.report["sha256"])


def die(papers: Path, folder: Path, step: str) -> dict[str, Any]:
    """Read into an existing library, die at a step, and resume."""
    owner, name, call = STEPS[step]

    def work() -> None:
        setattr(owner, name, fatal(getattr(owner, name), call))
        build.read_library([papers], folder, resume=True)

    found: dict[str, Any] = {"old": digest(folder), "status": in_child(work)}
    found["before"] = digest(folder)
    found["again"] = in_child(lambda: build.read_library([papers], folder, resume=True))
    found["after"] = digest(folder)
    found["left"] = [
        path.name
        for path in folder.rglob("*")
        if path.name.startswith((".library.json.", ".report.", ".run.", ".settings."))
    ]
    for kind in ("generations", "segments"):
        found[kind] = len(list((folder / kind).iterdir()))
    return found


def main() -> None:
    """Die at every step once."""
    papers, folder = map(Path, sys.argv[1:])
    executor.make_executor = InlineExecutor  # type: ignore[assignment]
    os.fsync = lambda fd: None  # noqa: ARG005 - only power cuts need it
    few = sorted(papers.rglob("*.tex"))[:2]
    build.read_library(few, folder / "old")
    found = {}
    for step in STEPS:
        library = folder / "library"
        shutil.rmtree(library, ignore_errors=True)
        shutil.copytree(folder / "old", library)
        found[step] = die(papers, library, step)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
