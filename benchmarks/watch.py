"""Compare a library that followed random changes of a folder with one that is built at the end.

    python benchmarks/watch.py WORK [--operations 200] [--seed 1]

A folder of papers is made of the demo articles and built into a library without a model. While
`eqemb update --watch` follows it, files are created, edited, renamed, deleted and touched at
random: papers in one file, papers with parts, and packed papers; some are written in pieces, with
pauses between them. When the library is in step with the folder, the command is ended by SIGTERM.

Then the library must have the records of one that is built from the folder, in another order. For
the same order, papers are built once more in the order of the library: this one must have the same
digest of records, near-duplicates and answers to all judged topics, before and after compacting
(`segmentations.py`). Exits with 1 if anything differs. Needs the extra `watch`.
"""

import argparse
import contextlib
import gzip
import json
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from segmentations import answers

import eqemb
from eqemb.facade import build
from eqemb.facade.library import Library
from eqemb.facade.sync import update_library
from eqemb.facade.update import compact_library
from eqemb.sources import Found, discover

DEMO = Path(eqemb.__file__).parent / "demo"
OPERATIONS = ("create", "create", "edit", "edit", "rename", "delete", "touch")
_LONGEST_WAIT = 120  # seconds until the library is in step


class Folder:
    """A folder of papers that are made of paragraphs of the demo articles."""

    def __init__(self, top: Path, dice: random.Random) -> None:
        self.top, self._dice = top, dice
        texts = [path.read_text("utf-8") for path in sorted(DEMO.rglob("*.tex"))]
        bodies = [re.sub(r"(?s).*\\maketitle|\\end\{document\}.*", "", text) for text in texts]
        parts = [part.strip() for body in bodies for part in re.split(r"\n\s*\n", body)]
        self._paragraphs = [part for part in dict.fromkeys(parts) if len(part) > 80]
        self._number = 0

    def _unused(self) -> list[str]:
        """Return the paragraphs that no paper has: equal equations would depend on the order."""
        data = (path.read_bytes() for path in self.files())
        text = b"".join(gzip.decompress(one) if one[:2] == b"\x1f\x8b" else one for one in data)
        return [part for part in self._paragraphs if part.encode() not in text]

    def paper(self) -> str:
        """Return a paper of some paragraphs."""
        title = f"Paper {self._dice.randrange(10**6)}"
        body = "\n\n".join(self._dice.sample(self._unused(), self._dice.randint(2, 4)))
        return (
            f"\\documentclass{{article}}\n\\title{{{title}}}\n\\begin{{document}}\n\\maketitle\n"
            f"{body}\n\\end{{document}}\n"
        )

    def _new_path(self, suffix: str = ".tex") -> Path:
        self._number += 1
        name, group = f"p{self._number}", self._dice.choice(["", "a/", "b/", "b/c/"])
        path = self.top / f"{group}{name}{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def files(self) -> list[Path]:
        """Return all files, in order."""
        return sorted(path for path in self.top.rglob("*") if path.is_file())

    def create(self) -> None:
        """Write a paper: in one file, with a part, or packed."""
        kind = self._dice.choice(["file", "file", "parts", "packed"])
        if kind == "file":
            self._write(self._new_path(), self.paper())
        elif kind == "packed":
            self._new_path(".gz").write_bytes(gzip.compress(self.paper().encode()))
        else:
            folder = self._new_path("")
            folder.mkdir()
            whole = self.paper().replace("\\end{document}", "\\input{part}\\end{document}")
            self._write(folder / "main.tex", whole)
            (folder / "part.tex").write_text(self._dice.choice(self._unused()), "utf-8")

    def _write(self, path: Path, text: str) -> None:
        """Write a file, sometimes in pieces with pauses."""
        if self._dice.random() < 0.8:
            path.write_text(text, "utf-8")
            return
        with path.open("w", encoding="utf-8") as file:
            for start in range(0, len(text), len(text) // 3 + 1):
                file.write(text[start : start + len(text) // 3 + 1])
                file.flush()
                time.sleep(0.4)

    def edit(self) -> None:
        """Change a file."""
        path = self._dice.choice(self.files())
        if path.suffix == ".gz":
            path.write_bytes(gzip.compress(self.paper().encode()))
        elif path.name == "part.tex":
            self._write(path, self._dice.choice(self._unused()))
        elif self._dice.random() < 0.2:
            path.write_text("", "utf-8")
        else:
            self._write(path, self.paper())

    def rename(self) -> None:
        """Move a file, or the folder of a paper."""
        path = self._dice.choice(self.files())
        if path.name in {"main.tex", "part.tex"}:
            path.parent.rename(self._new_path(""))
        else:
            path.rename(self._new_path(path.suffix))

    def delete(self) -> None:
        """Remove a file, or the folder of a paper."""
        path = self._dice.choice(self.files())
        if path.name == "main.tex":
            shutil.rmtree(path.parent)
        else:
            path.unlink()

    def touch(self) -> None:
        """Change the time of a file."""
        self._dice.choice(self.files()).touch()


def wait_until_in_step(library: Path) -> float:
    """Wait until the library has every change; return the seconds."""
    started = time.monotonic()
    while time.monotonic() - started < _LONGEST_WAIT:
        left = update_library(library, dry_run=True)
        if left.is_empty and not left.compared:
            return time.monotonic() - started
        time.sleep(0.5)
    raise SystemExit(f"the library is not in step after {_LONGEST_WAIT} s")


@contextlib.contextmanager
def same_order(library: Path) -> Iterator[None]:
    """Find papers in the order of a library."""
    with Library.open(library) as opened:
        order = [origin for _, origin in opened.records.origins()]
    place = {origin: number for number, origin in enumerate(order)}

    def find(*given: Any, **more: Any) -> Iterable[Found]:
        found = list(discover(*given, **more))
        return iter(sorted(found, key=lambda one: place.get(one.origin, len(place))))

    build.discover, usual = find, build.discover  # type: ignore[assignment]
    try:
        yield
    finally:
        build.discover = usual


def as_json(folder: Path) -> dict[str, str]:
    """Return all answers of a library."""
    return {key: json.dumps(value, sort_keys=True) for key, value in answers(folder)}


def digests(folder: Path) -> list[tuple[str, bytes]]:
    """Return the digests of all sources, in order of names."""
    with Library.open(folder) as library:
        return sorted(library.records.digests())


def follow(folder: Folder, library: Path, operations: int, dice: random.Random) -> int:
    """Change the folder under a running `--watch`; return the number of updates."""
    command = [sys.executable, "-m", "eqemb", "update", str(library), "--watch", "--json"]
    done: Counter[str] = Counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for _ in range(operations):
            name = dice.choice(OPERATIONS)
            if name == "delete" and len(folder.files()) < 10:
                name = "create"
            getattr(folder, name)()
            done[name] += 1
            time.sleep(dice.choice([0, 0, 0.02, 0.2, 1.5]))
        seconds = wait_until_in_step(library)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=60)
    if process.returncode:
        raise SystemExit(f"eqemb update --watch ended with {process.returncode}")
    updates = [json.loads(line) for line in out.splitlines()]
    kinds = ("added", "replaced", "removed", "unreadable", "skipped")
    total = ", ".join(f"{sum(len(one[kind]) for one in updates)} {kind}" for kind in kinds)
    print(", ".join(f"{count} {name}" for name, count in sorted(done.items())))
    print(f"{len(updates)} updates: {total}; in step {seconds:.1f} s after the last change")
    return len(updates)


def main() -> int:
    """Follow a folder, and compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("work", type=Path)
    parser.add_argument("--operations", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    work, dice = asked.work, random.Random(asked.seed)
    library, folder = work / "watched", Folder(work / "papers", dice)
    shutil.rmtree(folder.top, ignore_errors=True)
    for _ in range(30):
        folder.create()
    Library.build(folder.top, library, model=False).close()
    follow(folder, library, asked.operations, dice)

    Library.build(folder.top, work / "built", model=False).close()
    failed = int(digests(library) != digests(work / "built"))
    print(f"records: {len(digests(library))} sources, {'differ' if failed else 'the same'}")
    with same_order(library):
        Library.build(folder.top, work / "ordered", model=False).close()
    wanted = as_json(work / "ordered")
    for state in ("as it is", "compacted"):
        if state == "compacted":
            compact_library(library)
        found = as_json(library)
        differing = [key for key in wanted if wanted[key] != found.get(key)]
        failed += len(differing)
        print(f"{state}: {len(found)} answers, {len(differing)} differ {differing[:3]}")
    other = as_json(work / "built")
    moved = sum(wanted[key] != other[key] for key in wanted)
    print(f"in the order of paths: {moved} of {len(other)} answers are others")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
