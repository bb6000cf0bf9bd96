"""Synthetic papers and libraries for tests, made by a seeded generator."""

import contextlib
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from eqemb.article import Article, Equation
from eqemb.library import executor
from eqemb.library.executor import WorkerLimits
from eqemb.library.rows import Record
from eqemb.library.worker import make_record
from eqemb.sources import Found, Limits
from eqemb.storage.atomic import to_json

SYLLABLES = ["ba", "de", "fi", "go", "lu", "ma", "ne", "pi", "ro", "su", "ta", "ve", "wi", "zo"]
PDF = b"%PDF-1.5\n%\xd0\xd4\xc5\xd8\n1 0 obj\n"


def text(count: int, seed: int | str) -> str:
    """Return a number of nonsense words, the same for the same seed."""
    dice = random.Random(str(seed))
    words = ["".join(dice.choices(SYLLABLES, k=dice.randint(2, 4))) for _ in range(count)]
    return " ".join(words)


def paper(body: str, title: str = "A paper") -> str:
    """Return a LaTeX document."""
    return (
        f"\\documentclass{{article}}\n\\title{{{title}}}\n\\begin{{document}}\n\\maketitle\n"
        f"{body}\n\\end{{document}}\n"
    )


def small_paper(seed: int) -> str:
    """Return a paper with words, equations of every kind, and sometimes a missing input."""
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
    """Write a folder of small sources; one in nine is a PDF."""
    for number in range(count):
        path = folder / f"set{number % 3}/paper{number:03}.tex"
        if number % 9 == 8:  # in a separate folder: beside a paper it would be a figure
            path = folder / f"pdf/paper{number:03}.pdf"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(PDF if path.suffix == ".pdf" else small_paper(number).encode())
    return folder


def topical(folder: Path, count: int, first: int = 0) -> Path:
    """Write papers whose equations are among words of their topic, so that a model can learn."""
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
    """Write a folder of papers with these names and bodies."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, body in bodies.items():
        (folder / f"{name}.tex").write_text(paper(body, title=f"On {name}"), "utf-8")
    return folder


def article(name: str = "a", *equations: Equation, **fields: object) -> Article:
    """Return an article as a reader would make it."""
    made = Article(name, f"{name}.tex", equations=list(equations))
    for field, value in fields.items():
        setattr(made, field, value)
    return made


def equation(
    ordinal: int = 1, *, numbered: bool | None = True, name: str = "a", **fields: object
) -> Equation:
    """Return an equation as a reader would make it, in a display of its own."""
    number = str(ordinal) if numbered else None
    made = Equation(
        name, ordinal, numbered, number, [], "equation", ordinal, "x", "x", "a.tex", 1, 1
    )
    for field, value in fields.items():
        setattr(made, field, value)
    return made


def forget_checksums(library: Path) -> Path:
    """Make a library what an older version of eqemb wrote: with hashes of the index alone."""
    for path in [*library.rglob("index.json")]:
        paths = [file for file in sorted(path.parent.glob("*.*")) if file.is_file()]
        hashed = [file for file in paths if file.name not in ("index.json", "checksums.json")]
        files = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in hashed}
        header = json.loads(path.read_text("utf-8"))
        path.write_text(json.dumps(header | {"files": files}), "utf-8")
    for path in [*library.rglob("checksums.json")]:
        path.unlink()
    path = library / "library.json"
    state = json.loads(path.read_text("utf-8"))
    state.pop("checksums", None)
    path.write_text(to_json(state), "utf-8")
    return library


class KnownArticles:
    """A library that has articles with these names and origins."""

    def __init__(self, articles: Iterable[tuple[str, str]]) -> None:
        self._articles = list(articles)

    def has_article(self, name: str) -> bool:
        """Whether there is an article with this name."""
        return name in dict(self._articles)

    def origin_of(self, name: str) -> str:
        """The origin of the article with this name, or ''."""
        return dict(self._articles).get(name, "")

    def articles_from(self, origin: str) -> list[str]:
        """The names of the articles with an origin, in order."""
        return [name for name, found in self._articles if found == origin]


class InlineExecutor:
    """Reads papers in this process, for tests that do not need worker processes."""

    def __init__(
        self,
        limits: Limits,
        worker_limits: WorkerLimits,
        jobs: int,
        folders: tuple[str, ...] | None = None,
    ) -> None:
        del worker_limits, jobs, folders
        self._limits = limits

    def map(self, tasks: Iterator[Found]) -> Generator[Record, None, None]:
        """Yield one record for each task."""
        for found in tasks:
            yield make_record(found, self._limits)


def read_inline(patch: pytest.MonkeyPatch) -> None:
    """Let ingest read papers in this process."""
    patch.setattr(executor, "make_executor", InlineExecutor)


# -- commands


class Done(NamedTuple):
    """The result of a command."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


def assert_one_sentence(done: Done) -> None:
    """Check that an error is a single line without Python jargon, after lines of stages."""
    said = re.sub(r"^(?:(?:looking|reading|indexing): .*\d s\n)*", "", done.err)
    assert said.startswith("eqemb: ")
    assert said.count("\n") == 1
    assert "Traceback" not in done.err
    assert "Error(" not in done.err


# -- processes

HOSTILE = Path(__file__).parent / "hostile"
HAS_PROC = Path("/proc/self/environ").exists()


def hostile(mark: str, hangs: Path) -> dict[str, str]:
    """Return an environment with hostile readers: its mark, and the file for one that hangs."""
    path = os.pathsep.join(filter(None, [str(HOSTILE), os.environ.get("PYTHONPATH")]))
    return {"EQEMB_TEST_MARK": mark, "EQEMB_TEST_HANGS": str(hangs), "PYTHONPATH": path}


def hostile_modules(folder: Path) -> None:
    """Write modules, named like those of Python and NumPy, that create the file `executed`."""
    for name in ("pickle", "struct", "json", "numpy", "eqemb", "typer", "sitecustomize"):
        (folder / f"{name}.py").write_text(
            "import sys\nopen('executed', 'w').write(f'{__name__} {sys.argv}')", "utf-8"
        )


def start(
    *command: str | Path,
    environment: dict[str, str] | None = None,
    cwd: Path | None = None,
) -> subprocess.Popen[str]:
    """Start Python in a session of its own."""
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
    """Return the processes that have this mark in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
    return found


def wait_for(condition: Callable[[], bool], seconds: float = 30.0) -> bool:
    """Wait for a condition; return whether it became true in time."""
    end = time.monotonic() + seconds
    while not (came := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return came
