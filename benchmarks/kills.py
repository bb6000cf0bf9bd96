"""Kill commands that change a library at random moments, and check what is left.

    python benchmarks/kills.py CORPORA WORK [--papers 60] [--kills 100] [--seed 0] [--model]

The library is made of papers of CORPORA in several steps: build, add, remove. Then commands start
from copies of it and are killed by SIGKILL: `first build` (into an empty folder), `build` (another
library in its place), `add`, `remove` and `compact`, if eqemb has it. A kill comes at a random
time, after a random change of the library's files, or just after library.json was replaced. A trial
is one to three kills, with and without `--resume`, and then the command runs to its end.

Checked after each kill: the library opens as the old or the new one (digest, and the answers to
queries, scores included); worker processes end; the folder is not larger than the old and the new
library together. Checked at the end: the library is that of an undisturbed run, and has as many
files; if not ("files left"), another change must remove the others. In every third round the old
library stays open, and must give the same answers all the time.

Prints the number of outcomes of each command, and keeps each trial in WORK/kills.jsonl. Exits with
1 if any check fails. Real files are synced and processes started, so that a kill takes seconds.
"""

import argparse
import contextlib
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from large_corpus import find_papers
from processes import count_changes, family, is_alive

from eqemb.errors import EqembError
from eqemb.facade.library import Library

NOTHING = "nothing"  # the state of a folder without a library
WORDS = ("precision recall", "gradient descent learning rate", "probability of a word")
EQUATION = r"p(x) = \frac{e^{x}}{\sum_j e^{x_j}}"
GRACE = 10.0  # seconds in which orphaned workers end
EQEMB = [sys.executable, "-m", "eqemb"]


def state_of(folder: Path) -> str:
    """Return a digest of a library's records and of its answers to queries."""
    try:
        with Library.open(folder) as library:
            return answers(library)
    except EqembError as error:
        return NOTHING if str(error).startswith("no library at") else f"damaged: {error}"


def answers(library: Library) -> str:
    """Return a digest of an open library's records and answers."""
    asked = [library.search(words) for words in WORDS]
    asked.append(library.similar(EQUATION))
    found = [[(hit.equation.id, hit.score) for hit in answer] for answer in asked]
    words = [(word.word, word.score) for word in library.describe(EQUATION)]
    text = json.dumps([library.report["sha256"], found, words])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def files_in(folder: Path) -> dict[str, tuple[int, int]]:
    """Return inode and size of each file; files may vanish meanwhile."""
    found = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                stat = os.stat(f"{parent}/{name}")  # noqa: PTH116 - fast: this is polled
            except OSError:
                continue
            found[f"{parent}/{name}"] = stat.st_ino, stat.st_size
    return found


def inode(path: Path) -> int:
    """Return the number of a file; 0 if there is none."""
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def size_of(folder: Path) -> int:
    """Return the bytes of all files."""
    return sum(size for _, size in files_in(folder).values())


# ---------------------------------------------------------------- commands


@dataclass
class Command:
    """A command that changes the library at a path, and its undisturbed result."""

    name: str
    arguments: list[str]  # "{}" stands for the library
    start: Path | None  # the library that it changes
    later: list[str]  # another change of the result
    seconds: float = 0.0
    changes: int = 0  # of the library's files, as seen by polling
    old: str = NOTHING
    new: str = ""
    files: int = 0
    files_later: int = 0
    bytes: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    def prepare(self, at: Path) -> None:
        """Put a copy of the old library in place."""
        shutil.rmtree(at, ignore_errors=True)
        if self.start is not None:
            shutil.copytree(self.start, at)

    def begin(self, at: Path, *options: str, later: bool = False) -> "subprocess.Popen[str]":
        """Start the command, or the later one."""
        arguments = self.later if later else self.arguments
        return subprocess.Popen(
            [*EQEMB, *(argument.replace("{}", str(at)) for argument in arguments), *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def learn(self, at: Path) -> None:
        """Run undisturbed: what it takes, and what the result is."""
        self.prepare(at)
        self.old = state_of(at)
        started = time.perf_counter()
        process = self.begin(at)
        self.changes = count_changes(process, lambda: files_in(at))
        self.seconds = time.perf_counter() - started
        if process.returncode:
            raise SystemExit(f"{self.name} failed: {process.communicate()[1]}")
        self.new, self.files, self.bytes = state_of(at), len(files_in(at)), size_of(at)
        self.files_later = self.change_later(at)
        if self.files_later < 0 or (self.new == self.old and self.name != "compact"):
            raise SystemExit(f"{self.name} does not change the library as it should")

    def change_later(self, at: Path) -> int:
        """Change the result, and return the number of files; -1 if this fails."""
        process = self.begin(at, later=True)
        process.communicate()
        return -1 if process.returncode else len(files_in(at))


def commands(work: Path, papers: list[Path], *, model: bool) -> list[Command]:
    """Make the old library, and return the commands."""
    for place, paper in enumerate(papers):
        group = "first" if 6 * place < 4 * len(papers) else f"more{place % 3}"
        folder = work / "papers" / group / paper.parent.name
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(paper, folder / paper.name)
    groups = ("first", "more0", "more1", "more2")
    first, *more = (str(work / "papers" / group) for group in groups)
    old, options = work / "old", ["--no-map"] + ([] if model else ["--no-model"])
    root = ["--root", str(work / "papers")]
    names = [f"{paper.parent.name}/{paper.name.removesuffix('.tar.gz')}" for paper in papers[:5]]
    for step in (
        ["build", first, "-o", str(old), *options, *root],
        ["add", str(old), more[0]],
        ["add", str(old), more[1]],
        ["remove", str(old), *names[:2]],
    ):
        subprocess.run([*EQEMB, *step], check=True, stdout=subprocess.DEVNULL)
    build = ["build", first, *more, "-o", "{}", *options, *root]
    later = ["remove", "{}", names[4]]
    found = [
        Command("first build", build, None, later),
        Command("build", build, old, later),
        Command("add", ["add", "{}", more[2]], old, later),
        Command("remove", ["remove", "{}", *names[2:4]], old, later),
    ]
    listed = subprocess.run([*EQEMB, "compact", "--help"], check=False, capture_output=True)
    if listed.returncode == 0:
        found.append(Command("compact", ["compact", "{}"], old, later))
    return found


# ---------------------------------------------------------------- kills


def wait_to_kill(
    process: "subprocess.Popen[str]", command: Command, at: Path, dice: random.Random
) -> str:
    """Wait for a random moment or the end of the process; return a description."""
    how = dice.choice(("time", "change", "switch"))
    if how == "time":
        seconds = dice.uniform(0.1, 1.0) * command.seconds
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        return f"after {seconds:.2f} s"
    look = (lambda: files_in(at)) if how == "change" else (lambda: inode(at / "library.json"))
    wanted = dice.randint(1, command.changes) if how == "change" else 1
    count = count_changes(process, look, wanted)
    pause = dice.choice((0.0, 0.001, 0.01))
    time.sleep(pause)
    return f"{pause * 1e3:g} ms after {f'change {count}' if how == 'change' else 'the switch'}"


def kill(process: "subprocess.Popen[str]") -> tuple[bool, bool]:
    """Kill a process; return whether it was running, and whether its workers ended."""
    children = family(process.pid)[1:]
    running = process.poll() is None
    process.kill()
    process.communicate()
    end = time.monotonic() + GRACE
    while (alive := list(filter(is_alive, children))) and time.monotonic() < end:
        time.sleep(0.02)
    return running, not alive


class Trial:
    """A few kills of one command, and its completion."""

    def __init__(self, command: Command, at: Path, dice: random.Random) -> None:
        self._command, self._at, self._dice = command, at, dice
        self.violations: list[str] = []
        self.story: list[str] = []
        self.kills = 0

    def run(self, most: int, *, reader: bool) -> None:
        """Kill the command up to `most` times, and then let it finish."""
        command = self._command
        command.prepare(self._at)
        opened = Library.open(self._at) if reader and command.start else None
        state = command.old
        while self.kills < most and (state == command.old or not self.kills):
            state = self._kill(resume=self.kills > 0 and self._dice.random() < 0.5)
            self._ask(opened)
        # what is gone cannot be removed again
        must_resume = command.name == "remove" and state == command.new
        self._complete(opened, resume=must_resume or self._dice.random() < 0.5)
        if opened:
            opened.close()
        if (files := len(files_in(self._at))) != command.files:
            command.counts["files left"] += opened is None  # what is open stays
            self.story.append(f"{files} files, not {command.files}")
            files = command.change_later(self._at)
            wanted = command.files_later
            self._check(files == wanted, f"{files} files after another change, not {wanted}")

    def _check(self, ok: bool, what: str) -> None:  # noqa: FBT001
        if not ok:
            self.violations.append(what)

    def _kill(self, *, resume: bool) -> str:
        """Kill the command once and return the state that it left."""
        command = self._command
        process = command.begin(self._at, *(["--resume"] if resume else []))
        moment = wait_to_kill(process, command, self._at, self._dice)
        running, ended = kill(process)
        self.kills += 1
        if not running:
            self._check(process.returncode == 0, f"exit status {process.returncode}")
        self._check(ended, f"workers were running {GRACE:.0f} s after the kill")
        state = state_of(self._at)
        known = {command.old: "old", command.new: "new"}
        self._check(state in known, f"neither the old nor the new library ({state})")
        old = 0 if command.start is None else size_of(command.start)
        size = size_of(self._at)
        self._check(size <= 1.1 * (old + command.bytes) + 1e6, f"{size:,} bytes are left")
        outcome = "finished" if not running else known.get(state, "damaged")
        command.counts[outcome] += 1
        self.story.append(f"killed {moment}, {'resumed, ' if resume else ''}left: {outcome}")
        return state

    def _ask(self, opened: Library | None) -> None:
        """Check the answers of a library that was opened before the first kill."""
        if opened is not None and answers(opened) != self._command.old:
            self.violations.append("the open library changed its answers")

    def _complete(self, opened: Library | None, *, resume: bool) -> None:
        """Run the command to its end and compare the library with that of an undisturbed run."""
        process = self._command.begin(self._at, *(["--resume"] if resume else []))
        while opened is not None and process.poll() is None:
            self._ask(opened)
        self._ask(opened)
        _, printed = process.communicate()
        how = "with --resume" if resume else "again"
        self._check(process.returncode == 0, f"{how}: {process.returncode}, {printed.strip()}")
        self._check(state_of(self._at) == self._command.new, f"{how}: another library results")
        self._command.counts[f"completed {how}"] += 1
        self.story.append(f"completed {how}")


# ---------------------------------------------------------------- the campaign


def campaign(every: list[Command], work: Path, kills: int, seed: int) -> bool:
    """Run trials until there were enough kills; return whether all checks passed."""
    dice, done, number, ok = random.Random(seed), 0, 0, True
    with (work / "kills.jsonl").open("w", encoding="utf-8") as log:
        while done < kills:
            command = every[number % len(every)]
            trial = Trial(command, work / "library", dice)
            trial.run(min(dice.randint(1, 3), kills - done), reader=number // len(every) % 3 == 2)
            done, number = done + trial.kills, number + 1
            command.counts["violations"] += len(trial.violations)
            row = {"command": command.name, "story": trial.story, "violations": trial.violations}
            print(json.dumps(row), file=log, flush=True)
            if trial.violations:
                ok = False
                print(json.dumps(row), file=sys.stderr)
                shutil.copytree(work / "library", work / f"violation-{number}", dirs_exist_ok=True)
    return ok


def main() -> None:
    """Learn what each command does, kill it, and print what happened."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("corpora", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--papers", type=int, default=60)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", action="store_true", help="build a library with a model")
    given = parser.parse_args()
    if given.work.exists() and any(given.work.iterdir()):
        parser.error(f"{given.work} is not empty: choose a new folder")
    every = commands(given.work, find_papers(given.corpora)[: given.papers], model=given.model)
    for command in every:
        command.learn(given.work / "library")
        print(f"{command.name}: {command.seconds:.1f} s, {command.changes} changes", flush=True)
    ok = campaign(every, given.work, given.kills, given.seed)
    columns = ("old", "new", "finished", "damaged", "completed again", "completed with --resume",
               "files left", "violations")  # fmt: skip
    print(f"\n| command | {' | '.join(columns)} |\n|---|{'---:|' * len(columns)}")
    for command in every:
        print(f"| {command.name} | {' | '.join(str(command.counts[c]) for c in columns)} |")
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
