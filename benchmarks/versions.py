"""Compare the CPU seconds of two versions of the package, stage by stage, on the same papers.

    git worktree add --detach /tmp/before COMMIT
    python benchmarks/versions.py PAPERS WORK --before /tmp/before [--after .] [--papers 473]
        [--rounds 2] [--threads 1] [--no-train] [--output FILE.md]

PAPERS has a folder of packed papers for each collection, of which those of `large_corpus.py` are
read. Both versions build the same library in turn, each stage in processes of its own, as
`eqemb plan --measure` does. A figure is the least of all rounds, so that a first round that
compiles what training needs does not count. Seconds are those of user and system, in all processes.
For two threads, give `--threads 2` on a machine that does nothing else, and compare "wall", too.

Prints a table, and the files of the libraries that differ. Differences are expected in files that
hold a version or a time: `index.json` and `renderings.json` have hashes of code, `report.*`,
`run.json` and `history.json` have seconds, SQLite files their own counters, and `checksums.json`
and `library.json` the hashes of these; `sources.json` has times of files. Names of segments depend
on the code that renders formulas: segments are compared by their place, without the manifest that
names them. Exits with 1 if any other file differs.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from growth import table
from large_corpus import find_papers

from eqemb.storage.atomic import new_file

RUN = "--run-version"  # how this script starts itself
ROOT = Path(__file__).resolve().parents[1]
#: Files that hold hashes of code, seconds, counters of SQLite, or what depends on these.
VARYING = frozenset({
    "index.json", "renderings.json", "report.json", "report.html", "run.json", "history.json",
    "records.sqlite", "checksums.json", "library.json", "manifest.json", "sources.json",
})  # fmt: skip
Figures = dict[str, float]


def run_version(papers: Path, work: Path, threads: int, *, train: bool) -> dict[str, Any]:
    """Build a library with the version that is imported; return seconds and hashes of files."""
    from eqemb.planning.measure import measure_size

    shutil.rmtree(work, ignore_errors=True)
    start = time.perf_counter()
    found = measure_size(sorted(papers.glob("*/*.tar.gz")), papers, work, jobs=threads, train=train)
    seconds = dict(found.cpu_seconds)
    seconds["all"] = sum(seconds.values())
    seconds["wall"] = time.perf_counter() - start
    return {"seconds": seconds, "files": hashes(work / "library")}


def hashes(library: Path) -> dict[str, str]:
    """Return the hash of each file of a library; segments are numbered.

    Checkpoints, which hold seconds, are left out.
    """
    (manifest,) = library.glob("generations/*/manifest.json")
    segments = json.loads(manifest.read_text("utf-8"))["segments"]
    numbers = {part["name"]: str(number) for number, part in enumerate(segments)}
    found = {}
    for path in sorted(library.rglob("*")):
        if path.is_file() and path.suffix != ".checkpoint":
            parts = path.relative_to(library).parts
            name = "/".join(numbers.get(part, part) for part in parts)
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def measure_version(tree: Path, papers: Path, work: Path, given: argparse.Namespace) -> Any:
    """Run this script with the package of a source tree."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OPENBLAS_NUM_THREADS": "1"}
    train = "" if given.no_train else "train"
    command = [sys.executable, __file__, RUN, papers, work, given.threads, train]
    done = subprocess.run(
        list(map(str, command)), check=True, capture_output=True, text=True, env=environment
    )
    return json.loads(done.stdout.splitlines()[-1])


def copy_papers(corpora: Path, folder: Path, count: int | None) -> int:
    """Copy the papers that are read into `folder`, unless this was done; return their number."""
    chosen = find_papers(corpora)[:count]
    shutil.rmtree(folder, ignore_errors=True)
    for paper in chosen:
        (folder / paper.parent.name).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(paper, folder / paper.parent.name / paper.name)
    return len(chosen)


def stage_table(before: list[Figures], after: list[Figures]) -> str:
    """Return the least seconds of each stage before and after, and their ratio."""
    rows = []
    for stage in after[0]:
        old, new = (min(round_[stage] for round_ in side) for side in (before, after))
        rows.append((stage, f"{old:.2f}", f"{new:.2f}", f"{new / old:.2f}" if old else "-"))
    return table(("CPU seconds", "before", "after", "after / before"), rows)


def main() -> None:
    """Compare two versions."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("corpora", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--before", type=Path, required=True, help="a source tree")
    parser.add_argument("--after", type=Path, default=ROOT, help="a source tree")
    parser.add_argument("--papers", type=int, help="papers that are read; default: all")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--no-train", action="store_true")
    parser.add_argument("--output", type=Path, help="a Markdown file for the table")
    given = parser.parse_args()
    papers = given.work / "papers"
    count = copy_papers(given.corpora, papers, given.papers)
    sides: dict[str, list[Any]] = {"before": [], "after": []}
    for round_ in range(given.rounds):
        for name, tree in (("before", given.before), ("after", given.after)):
            print(f"{time.strftime('%H:%M:%S')} round {round_ + 1}: {name}", file=sys.stderr)
            made = measure_version(tree.resolve(), papers, given.work / name, given)
            sides[name].append(made)
    seconds = [[made["seconds"] for made in sides[name]] for name in ("before", "after")]
    old, new = (sides[name][-1]["files"] for name in ("before", "after"))
    differ = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    unexpected = [name for name in differ if Path(name).name not in VARYING]
    equal = len(old.keys() | new.keys()) - len(differ)
    shown = f"{count:,} papers, threads: {given.threads}, least of {given.rounds} rounds\n\n"
    shown += stage_table(*seconds)
    shown += f"\n{equal} files are equal, {len(differ)} differ; of these"
    shown += f" {len(unexpected)} hold neither a version nor a time.\n"
    print(shown, *unexpected, sep="\n")
    if given.output is not None:
        with new_file(given.output) as path:
            path.write_text(shown, "utf-8")
    if unexpected:
        raise SystemExit(1)


if __name__ == "__main__":
    if sys.argv[1:2] == [RUN]:
        work, threads, train = Path(sys.argv[3]), int(sys.argv[4]), sys.argv[5] == "train"
        print(json.dumps(run_version(Path(sys.argv[2]), work, threads, train=train)))
    else:
        main()
