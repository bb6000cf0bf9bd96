"""Papers and libraries for the tests: small, made by a seeded generator, nobody's."""

import contextlib
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

import pytest

from eqemb.article import Article, Equation
from eqemb.library import ingest
from eqemb.library.database import Record
from eqemb.library.ingest import Backstops
from eqemb.library.worker import make_record
from eqemb.sources import Found, Limits

SYLLABLES = ["ba", "de", "fi", "go", "lu", "ma", "ne", "pi", "ro", "su", "ta", "ve", "wi", "zo"]
PDF = b"%PDF-1.5\n%\xd0\xd4\xc5\xd8\n1 0 obj\n"


def text(count: int, seed: int | str) -> str:
    """So many words of no language, the same for the same seed."""
    dice = random.Random(str(seed))
    words = ["".join(dice.choices(SYLLABLES, k=dice.randint(2, 4))) for _ in range(count)]
    return " ".join(words)


def paper(body: str, title: str = "A paper") -> str:
    """A LaTeX document."""
    return (
        f"\\documentclass{{article}}\n\\title{{{title}}}\n\\begin{{document}}\n\\maketitle\n"
        f"{body}\n\\end{{document}}\n"
    )


def small_paper(seed: int) -> str:
    """A paper with words, a few equations of every kind, and now and then something lost."""
    dice = random.Random(seed)
    parts = [f"\\section{{{text(3, seed)}}}"]
    for part in range(dice.randint(1, 4)):
        parts.append(text(dice.randint(20, 60), f"{seed} {part}") + ".")
        parts.append(
            dice.choice([
                f"\\begin{{equation}}\\label{{e{part}}} x_{{{seed}}} = {part} \\end{{equation}}",
                f"\\begin{{align}} a &= {part} \\\\ b &= c \\nonumber \\end{{align}}",
                f"\\[ y = {seed} \\]",
                f"\\input{{missing{part}}}",
            ])
        )  # fmt: skip
    return paper("\n".join(parts), title=f"Paper {seed}: {text(4, seed)}")


def corpus(folder: Path, count: int) -> Path:
    """A folder of so many small sources, one in nine of them no paper but a PDF."""
    for number in range(count):
        path = folder / f"set{number % 3}/paper{number:03}.tex"
        if number % 9 == 8:  # in a folder of its own: beside a paper it would be a figure
            path = folder / f"pdf/paper{number:03}.pdf"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(PDF if path.suffix == ".pdf" else small_paper(number).encode())
    return folder


def topical(folder: Path, count: int, first: int = 0) -> Path:
    """Papers whose equations stand among words of their topic: there is something to learn."""
    for number in range(first, first + count):
        dice, topic = random.Random(number), number % 4
        words = text(12, f"topic {topic}").split()
        parts = []
        for _ in range(12):
            parts.append(" ".join(dice.choices(words, k=20)) + ".")
            formula = rf"{'xyzw'[topic]}_{dice.randint(1, 3)} = {'abcd'[topic]} + {topic}"
            parts.append(rf"\begin{{equation}} {formula} \end{{equation}}")
        path = folder / f"set{topic}/paper{number:03}.tex"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(paper("\n".join(parts), f"Paper {number}"), "utf-8")
    return folder


def papers(folder: Path, **bodies: str) -> Path:
    """A folder of papers with these names and bodies."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, body in bodies.items():
        (folder / f"{name}.tex").write_text(paper(body, title=f"On {name}"), "utf-8")
    return folder


def article(name: str = "a", *equations: Equation, **fields: object) -> Article:
    """An article as a reader would make it."""
    made = Article(name, f"{name}.tex", equations=list(equations))
    for field, value in fields.items():
        setattr(made, field, value)
    return made


def equation(
    ordinal: int = 1, *, numbered: bool | None = True, name: str = "a", **fields: object
) -> Equation:
    """An equation as a reader would make it; each is a display of its own."""
    number = str(ordinal) if numbered else None
    made = Equation(
        name, ordinal, numbered, number, [], "equation", ordinal, "x", "x", "a.tex", 1, 1
    )
    for field, value in fields.items():
        setattr(made, field, value)
    return made


class InlinePool:
    """Stands in for the pool of worker processes where these do not matter: reads in place."""

    def __init__(self, tasks: Iterator[Found], jobs: int, limits: Limits, stops: Backstops) -> None:
        del jobs, stops
        self._tasks, self._limits = tasks, limits

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __iter__(self) -> Iterator[Record]:
        for found in self._tasks:
            yield make_record(found, self._limits)


def read_inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read papers in this process instead of in worker processes."""
    monkeypatch.setattr(ingest, "_Pool", InlinePool)


# -- commands


class Done(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


def assert_one_sentence(done: Done) -> None:
    """A failure is told in one line, without Python's words."""
    assert done.err.startswith("eqemb: ")
    assert done.err.count("\n") == 1
    assert "Traceback" not in done.err
    assert "Error(" not in done.err


# -- processes

HOSTILE = Path(__file__).parent / "hostile"
HAS_PROC = Path("/proc/self/environ").exists()


def hostile(mark: str, hangs: Path) -> dict[str, str]:
    """An environment in which readers go mad, its mark, and the file they make when they hang."""
    path = os.pathsep.join(filter(None, [str(HOSTILE), os.environ.get("PYTHONPATH")]))
    return {"EQEMB_TEST_MARK": mark, "EQEMB_TEST_HANGS": str(hangs), "PYTHONPATH": path}


def start(
    *command: str | Path,
    environment: dict[str, str] | None = None,
    cwd: Path | None = None,
) -> subprocess.Popen[str]:
    """A Python of ours at work, in a session of its own; `limit` is called in it at first."""
    return subprocess.Popen(
        [sys.executable, *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=os.environ | {"COLUMNS": "100"} | (environment or {}),
        cwd=cwd,
        start_new_session=True,
    )


def eqemb(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    with start("-m", "eqemb", *arguments, **options) as process:
        out, err = process.communicate(timeout=120)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def living(mark: str) -> list[int]:
    """The processes that have this mark in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
    return found


def wait_for(condition: Callable[[], bool], seconds: float = 30.0) -> bool:
    """Whether it comes true in time."""
    end = time.monotonic() + seconds
    while not (came := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return came
