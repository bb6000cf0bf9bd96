"""The same papers give the same library, with any number of workers and after any kill."""

import csv
import errno
import json
import logging
import os
import random
import resource
import shutil
import signal
import sqlite3
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import eqemb as package
from campaigns import FULL
from crashes import DIED, STEPS
from eqemb.errors import EqembError, SourceError, UsageError
from eqemb.facade.library import Library
from eqemb.library import engines, ingest
from eqemb.library.database import Records
from eqemb.library.executor import WorkerLimits
from eqemb.library.ingest import read_articles
from eqemb.library.progress import Progress
from eqemb.sources import Found, Limits
from eqemb.storage.atomic import write_atomically
from synthetic import (
    HAS_PROC,
    PDF,
    corpus,
    eqemb,
    hostile,
    living,
    paper,
    papers,
    read_inline,
    start,
    wait_for,
)

COUNT = 240
BODY = r"Some words. \begin{equation} x = 1 \end{equation} More words."
#: Reads until it is killed: commits all the time, and says how far it is.
READ = """
import sys
from eqemb.facade import build
from eqemb.library import engines
engines._COMMIT_EVERY = 0.0
def tell(state):
    print(state.done, flush=True)
build.read_library([sys.argv[1]], sys.argv[2], jobs=2, resume=True, progress=tell)
"""


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few hundred small papers."""
    return corpus(tmp_path_factory.mktemp("many") / "papers", COUNT)


@pytest.fixture(scope="module")
def reference(many: Path) -> Iterator[Library]:
    """The library of these papers, read without interruption in one process."""
    with pytest.MonkeyPatch.context() as patch:
        read_inline(patch)
        library = Library.read([many], many.parent / "reference")
    with library:
        yield library


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read in this process."""
    read_inline(monkeypatch)


in_one_process = pytest.mark.usefixtures("inline")


def sha256(library: Library) -> str:
    """Close a library and return its digest."""
    with library:
        return str(library.report["sha256"])


def interrupt_at(number: int) -> Callable[[Progress], None]:
    """Return a callback that raises KeyboardInterrupt after a number of papers."""

    def tell(state: Progress) -> None:
        if state.done == number:
            raise KeyboardInterrupt

    return tell


# -- one path or several


@in_one_process
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("kind", [str, Path])
def test_front_doors_accept_one_path_or_several(
    tmp_path: Path, *, several: bool, kind: Callable[[Path], str | Path]
) -> None:
    """A string is one path, and not a sequence of letters."""
    folder = papers(tmp_path / "papers", a=BODY, b=BODY)
    given = [kind(folder / "a.tex"), kind(folder / "b.tex")] if several else kind(folder)
    assert [article.name for article in read_articles(given)] == ["a", "b"]
    for make in (Library.read, Library.build):
        with make(given, str(tmp_path / make.__name__), jobs=1, **NO_MODEL[make.__name__]) as made:
            assert made.records.names() == ["a", "b"]


NO_MODEL: dict[str, dict[str, Any]] = {"read": {}, "build": {"model": False}}


def test_articles_are_read_from_several_arguments(tmp_path: Path) -> None:
    """Each argument may be a path or a list of paths."""
    folder = papers(tmp_path / "papers", a=BODY, b=BODY, c=BODY)
    found = read_articles(folder / "a.tex", [folder / "b.tex", str(folder / "c.tex")])
    assert [article.name for article in found] == ["a", "b", "c"]


# -- any number of processes


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_any_number_of_processes_gives_the_same_bytes(
    many: Path, reference: Library, tmp_path: Path, jobs: int
) -> None:
    """Digest and report are identical."""
    with Library.read([many], tmp_path / "lib", jobs=jobs) as library:
        assert library.report["sha256"] == reference.report["sha256"]
        expected = (reference.generation / "report.json").read_bytes()
        assert (library.generation / "report.json").read_bytes() == expected
        assert (library.folder / "report.json").read_bytes() == expected


@in_one_process
def test_location_of_papers_does_not_matter(many: Path, reference: Library, tmp_path: Path) -> None:
    """The same papers in another folder, read on another day, give the same library."""
    shutil.copytree(many, tmp_path / "elsewhere")
    assert (
        sha256(Library.read([tmp_path / "elsewhere"], tmp_path / "lib"))
        == (reference.report["sha256"])
    )


def test_run_facts_are_in_run_json(many: Path, reference: Library) -> None:
    """Times, paths and machine are in run.json, which no digest covers."""
    run = json.loads((reference.generation / "run.json").read_text("utf-8"))
    assert run["paths"] == [str(many.resolve())]
    assert run["seconds"] > 0
    assert {"started", "resumed_after", "jobs", "python", "machine"} <= set(run)
    assert not set(run) & set(reference.report)


def test_articles_and_skipped_are_all_sources(reference: Library) -> None:
    """Every source that was found is counted."""
    report = reference.report
    assert report["articles"] + report["skipped"]["total"] == report["sources"] == COUNT
    assert report["skipped"]["causes"] == {"pdf only": COUNT // 9}


@in_one_process
def test_library_inside_the_folder_of_papers_is_ignored(tmp_path: Path) -> None:
    """Our own files are not papers."""
    papers(tmp_path, a=BODY, b=BODY)
    first = sha256(Library.read([tmp_path], tmp_path / "lib"))
    assert sha256(Library.read([tmp_path], tmp_path / "lib")) == first


@in_one_process
def test_progress_reports_every_source(many: Path, tmp_path: Path) -> None:
    """In order, up to the counts of the report."""
    told: list[Progress] = []
    with Library.read([many], tmp_path / "lib", progress=told.append) as library:
        report = library.report
    equations = report["equations"]["numbered"] + report["equations"]["unnumbered"]
    assert [state.done for state in told] == list(range(1, COUNT + 1))
    assert (told[-1].equations, told[-1].skipped) == (equations, report["skipped"]["total"])


@pytest.mark.parametrize("jobs", [0, -1])
def test_less_than_one_job_is_refused(tmp_path: Path, jobs: int) -> None:
    """Before anything is created."""
    papers(tmp_path / "papers", a=BODY)
    with pytest.raises(UsageError, match=f"jobs must be an integer of at least 1, not {jobs}"):
        Library.read([tmp_path / "papers"], tmp_path / "lib", jobs=jobs)
    assert not (tmp_path / "lib").exists()


def test_wrong_path_creates_no_library(tmp_path: Path) -> None:
    """The error comes before anything is created."""
    with pytest.raises(UsageError, match="nothing to read at"):
        Library.read([tmp_path / "nothing"], tmp_path / "lib")
    assert not (tmp_path / "lib").exists()


@in_one_process
def test_folders_of_any_name_are_read_and_written(tmp_path: Path) -> None:
    """Names may contain bytes that are not UTF-8, also for `resume`."""
    odd = tmp_path / os.fsdecode(b"caf\xe9 ?#%")
    papers(odd / "papers", a=BODY, b=BODY)
    with pytest.raises(KeyboardInterrupt):
        Library.read([odd / "papers"], odd / "lib", progress=interrupt_at(1))
    with Library.read([odd / "papers"], odd / "lib", resume=True) as library:
        assert library.report["articles"] == 2


# -- kills


def kill_somewhere(many: Path, folder: Path, dice: random.Random) -> bool:
    """Start or resume, kill the process group at a random moment; return if it was running."""
    more, mark = dice.randrange(COUNT // 2), uuid.uuid4().hex
    with start("-c", READ, many, folder, environment={"EQEMB_TEST_MARK": mark}) as process:
        assert process.stdout is not None
        done = map(int, process.stdout)
        at_end = any(number == COUNT for number in islice(done, more))
        # after the last paper, clusters, report and switch remain
        time.sleep(dice.random() * (0.15 if at_end else 0.005))
        os.killpg(process.pid, signal.SIGKILL)
    if HAS_PROC:
        assert wait_for(lambda: not living(mark), 5.0), "a worker outlived the kill"
    return process.returncode == -signal.SIGKILL


def test_kills_at_random_moments_change_nothing(
    many: Path, reference: Library, tmp_path: Path
) -> None:
    """Killed and resumed several times, an ingest ends with the same bytes."""
    folder = tmp_path / "lib"
    expected = reference.report["sha256"]
    for seed in range(40 if FULL else 3):
        was_at_work = kill_somewhere(many, folder, random.Random(seed))
        try:
            assert sha256(Library.open(folder)) == expected
            shutil.rmtree(folder)
        except UsageError:
            assert was_at_work
    with Library.read([many], folder, jobs=2, resume=True) as library:
        assert library.report["sha256"] == expected
        report = (library.generation / "report.json").read_bytes()
        assert report == (reference.generation / "report.json").read_bytes()


@pytest.fixture(scope="module")
def deaths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Run crashes.py and return its results."""
    folder = tmp_path_factory.mktemp("deaths")
    found = corpus(folder / "papers", 12)
    script = Path(__file__).parents[1] / "crashes.py"
    environment = {"OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    with start(script, found, folder, environment=environment) as process:
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    outcome: dict[str, dict[str, Any]] = json.loads(out)
    return outcome


@pytest.mark.parametrize("step", STEPS)
def test_kill_at_any_final_step_changes_nothing(
    deaths: dict[str, dict[str, Any]], step: str
) -> None:
    """The old library or the complete new one exists, and resuming gives the same bytes."""
    found, new = deaths[step], deaths["note the settings"]["after"]
    is_switched = step.startswith(("copy", "remove"))
    assert found["status"] == DIED
    assert found["old"] != new
    assert found["before"] == (new if is_switched else found["old"])
    assert (found["again"], found["after"]) == (0, new)
    assert (found["left"], found["generations"], found["segments"]) == ([], 1, 1)


@in_one_process
def test_old_library_stays_readable_until_the_switch(
    many: Path, reference: Library, tmp_path: Path
) -> None:
    """A reader sees the complete old library while a new one is made."""
    papers(tmp_path / "few", a=BODY)
    old = sha256(Library.read([tmp_path / "few"], tmp_path / "lib"))
    seen: set[str] = set()

    def look(state: Progress) -> None:
        if state.done % 50 == 0:
            seen.add(sha256(Library.open(tmp_path / "lib")))

    new = sha256(Library.read([many], tmp_path / "lib", progress=look))
    assert seen == {old}
    assert new == sha256(Library.open(tmp_path / "lib")) == reference.report["sha256"] != old


# -- resume


@in_one_process
def test_resume_reads_only_the_remaining_papers(
    many: Path, reference: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Committed papers are not read again."""
    monkeypatch.setattr(engines, "_COMMIT_EVERY", 0.0)
    with pytest.raises(KeyboardInterrupt):
        Library.read([many], tmp_path / "lib", progress=interrupt_at(100))
    told: list[Progress] = []
    with Library.read([many], tmp_path / "lib", resume=True, progress=told.append) as library:
        assert told[0].done == 101
        assert library.report["sha256"] == reference.report["sha256"]
        run = json.loads((library.generation / "run.json").read_text("utf-8"))
    assert run["resumed_after"] == 100


@in_one_process
def test_interrupted_record_is_read_again(
    many: Path, reference: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C between two rows of an article leaves no partial record."""
    add, calls = Records.add, 0

    def half(self: Records, record: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 50:
            self._db.execute("INSERT INTO problems VALUES (?, 'half', '', 0, '')", (calls,))
            raise KeyboardInterrupt
        add(self, record)

    monkeypatch.setattr(Records, "add", half)
    with pytest.raises(KeyboardInterrupt):
        Library.read([many], tmp_path / "lib")
    assert (
        sha256(Library.read([many], tmp_path / "lib", resume=True)) == (reference.report["sha256"])
    )


@in_one_process
def test_ingest_without_resume_starts_again(tmp_path: Path) -> None:
    """The files of the interrupted ingest are removed."""
    papers(tmp_path / "papers", a=BODY, b=BODY)
    with pytest.raises(KeyboardInterrupt):
        Library.read([tmp_path / "papers"], tmp_path / "lib", progress=interrupt_at(1))
    told: list[Progress] = []
    Library.read([tmp_path / "papers"], tmp_path / "lib", progress=told.append).close()
    assert [state.done for state in told] == [1, 2]


@in_one_process
def test_resume_without_an_interrupted_ingest_starts(tmp_path: Path) -> None:
    """One command can be repeated until it succeeds."""
    papers(tmp_path / "papers", a=BODY)
    with Library.read([tmp_path / "papers"], tmp_path / "lib", resume=True) as library:
        assert library.report["articles"] == 1


def change_first(folder: Path) -> None:
    """Add a paper before those that were read."""
    (folder / "a0.tex").write_text(paper(BODY), "utf-8")


def change_gone(folder: Path) -> None:
    """Remove a paper."""
    (folder / "a.tex").unlink()


def change_nothing(_folder: Path) -> None:
    """Keep the papers."""


@in_one_process
@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [
        (change_first, {}, r"cannot resume .*: the papers have changed .*\(a0\.tex is new\)"),
        (change_gone, {}, r"cannot resume .*: the papers have changed .*\(a\.tex is missing\)"),
        (change_nothing, {"limits": Limits(members=7)}, "had other papers, limits or model"),
        (change_nothing, {"paths": "others"}, "had other papers, limits or model"),
        (change_nothing, {"version": "9.9"}, "had other papers, limits or model"),
    ],
    ids=["one more", "one less", "limits", "paths", "version"],
)
def test_resume_with_other_papers_or_settings_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Path], None],
    options: dict[str, Any],
    sentence: str,
) -> None:
    """The interrupted ingest is left unchanged."""
    for folder in ("papers", "others"):
        papers(tmp_path / folder, a=BODY, b=BODY, c=BODY)
    monkeypatch.setattr(engines, "_COMMIT_EVERY", 0.0)
    with pytest.raises(KeyboardInterrupt):
        Library.read([tmp_path / "papers"], tmp_path / "lib", progress=interrupt_at(2))
    change(tmp_path / "papers")
    if "version" in options:
        monkeypatch.setattr(ingest, "__version__", options.pop("version"))
    source = tmp_path / options.pop("paths", "papers")
    with pytest.raises(UsageError, match=sentence) as caught:
        Library.read([source], tmp_path / "lib", resume=True, **options)
    assert str(caught.value).endswith("start again without --resume")
    assert "\n" not in str(caught.value)
    with closing(Records(tmp_path / "lib/generations/1/read/records.sqlite", write=True)) as kept:
        assert kept.count() == 2


@in_one_process
def test_resume_may_use_another_number_of_processes(tmp_path: Path) -> None:
    """The path may also be spelled in another way."""
    folder = papers(tmp_path / "papers", a=BODY, b=BODY)
    with pytest.raises(KeyboardInterrupt):
        Library.read([folder], tmp_path / "lib", jobs=1, progress=interrupt_at(1))
    again = [f"{folder}/../papers/"]
    Library.read(
        again, tmp_path / "lib", jobs=3, resume=True, worker_limits=WorkerLimits(9.0)
    ).close()


# -- errors


@in_one_process
def test_second_writer_is_refused(tmp_path: Path) -> None:
    """The first one is not disturbed."""
    pytest.importorskip("fcntl")
    folder = papers(tmp_path / "papers", a=BODY, b=BODY)

    def meet(_: Progress) -> None:
        with pytest.raises(EqembError, match="is being written by another eqemb process; wait"):
            Library.read([folder], tmp_path / "lib")

    with Library.read([folder], tmp_path / "lib", progress=meet) as library:
        assert library.report["articles"] == 2


@in_one_process
def test_ingest_without_articles_keeps_the_old_library(tmp_path: Path) -> None:
    """A wrong folder, given by mistake, does not destroy a library."""
    folder = papers(tmp_path / "papers", a=BODY)
    old = sha256(Library.read([folder], tmp_path / "lib"))
    (tmp_path / "pdfs").mkdir()
    (tmp_path / "pdfs" / "a.pdf").write_bytes(PDF)
    with pytest.raises(EqembError, match=r"^Found 1 file, but it is a PDF .* is unchanged\.$"):
        Library.read([tmp_path / "pdfs"], tmp_path / "lib")
    assert sha256(Library.open(tmp_path / "lib")) == old


@in_one_process
def test_full_disk_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Committed records are kept."""
    folder = papers(tmp_path / "papers", a=BODY, b=BODY)
    add = Records.add

    def full(self: Records, record: Any) -> None:
        if record.name == "b":
            raise sqlite3.OperationalError("database or disk is full")
        add(self, record)

    monkeypatch.setattr(Records, "add", full)
    monkeypatch.setattr(engines, "_COMMIT_EVERY", 0.0)
    with pytest.raises(EqembError, match=r"cannot write .*: database or disk is full; free space"):
        Library.read([folder], tmp_path / "lib")
    monkeypatch.setattr(Records, "add", add)
    told: list[Progress] = []
    Library.read([folder], tmp_path / "lib", resume=True, progress=told.append).close()
    assert [state.done for state in told] == [2]


@pytest.mark.parametrize("size", [20_000, 120_000])
def test_file_size_limit_is_reported(many: Path, tmp_path: Path, size: int) -> None:
    """At the first record, and in the middle of the papers."""
    code = (
        f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))\n"
        "from eqemb.cli import main; main()"
    )
    with start("-c", code, "read", many, "-o", tmp_path / "lib", "--jobs", "1") as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "")
    assert err.startswith("eqemb: cannot write ")
    assert len(err.splitlines()) == 1
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


@in_one_process
def test_unwritable_report_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library is not switched, and the ingest can be resumed."""
    folder = papers(tmp_path / "papers", a=BODY)
    write = write_atomically

    def full(path: Path, text: str) -> None:
        if path.name == "report.html":
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, text)

    monkeypatch.setattr(ingest, "write_atomically", full)
    with pytest.raises(OSError, match="No space left"):
        Library.read([folder], tmp_path / "lib")
    with pytest.raises(UsageError, match="not finished"):
        Library.open(tmp_path / "lib")
    monkeypatch.setattr(ingest, "write_atomically", write)
    Library.read([folder], tmp_path / "lib", resume=True).close()


@in_one_process
def test_damaged_records_of_an_interrupted_ingest_are_reported(tmp_path: Path) -> None:
    """Starting again helps."""
    folder = papers(tmp_path / "papers", a=BODY, b=BODY)
    with pytest.raises(KeyboardInterrupt):
        Library.read([folder], tmp_path / "lib", progress=interrupt_at(1))
    (tmp_path / "lib/generations/1/read/records.sqlite").write_bytes(b"no database" * 1000)
    with pytest.raises(EqembError, match="cannot write"):
        Library.read([folder], tmp_path / "lib", resume=True)
    Library.read([folder], tmp_path / "lib").close()


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_stops_at_once_and_can_be_resumed(tmp_path: Path, jobs: str) -> None:
    """Exit status 130, one line, and no process left, though a reader hangs in a paper."""
    bodies = dict.fromkeys([*(f"{number:02}" for number in range(20)), "99-hang"], BODY)
    folder, hangs, mark = papers(tmp_path / "papers", **bodies), tmp_path / "h", uuid.uuid4().hex
    arguments = ("read", folder, "-o", tmp_path / "lib", "--jobs", jobs)
    with start("-m", "eqemb", *arguments, environment=hostile(mark, hangs)) as process:
        assert wait_for(lambda: hangs.exists() and hangs.stat().st_size > 0)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)
    assert (process.returncode, out) == (130, "")
    assert err == "eqemb: interrupted; finished papers are kept, continue with --resume\n"
    assert not HAS_PROC or wait_for(lambda: not living(mark), 5.0)
    with pytest.raises(UsageError, match="not finished"):
        Library.open(tmp_path / "lib")
    done = eqemb(*arguments, "--resume")
    assert done.returncode == 0, done.stderr


# -- read_articles


def test_articles_are_read_one_after_the_other(tmp_path: Path) -> None:
    """In order, from several paths, without a library."""
    papers(tmp_path / "one", b=BODY, a=BODY)
    papers(tmp_path / "two", c=BODY, d=BODY)
    found = list(read_articles(tmp_path / "one", str(tmp_path / "two")))
    assert [article.name for article in found] == ["one/a", "one/b", "two/c", "two/d"]
    assert [equation.number for article in found for equation in article.equations] == ["1"] * 4


def test_articles_are_read_lazily(tmp_path: Path) -> None:
    """Nothing is read ahead; a wrong path raises an error at the first article."""
    papers(tmp_path, a=BODY, b=BODY)
    articles = read_articles(tmp_path)
    assert next(articles).name == "a"
    with pytest.raises(UsageError):
        next(read_articles(tmp_path / "nothing"))


def test_skipped_sources_are_passed_to_the_callback(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Without a callback, a warning is logged."""
    papers(tmp_path, a=BODY, c=BODY)
    (tmp_path / "b.tex").write_text("", "utf-8")
    skips: list[tuple[str, str]] = []

    def note(found: Found, error: SourceError) -> None:
        skips.append((found.origin, error.cause))

    assert len(list(read_articles(tmp_path, on_skip=note))) == 2
    assert skips == [("b.tex", "empty")]
    with caplog.at_level(logging.WARNING, "eqemb"):
        assert len(list(read_articles(tmp_path))) == 2
    assert "skipped b.tex: empty" in caplog.text


@in_one_process
def test_read_articles_is_a_public_name(tmp_path: Path) -> None:
    """As the README shows it."""
    papers(tmp_path / "papers", a=BODY, b=BODY)
    for article in package.read_articles(tmp_path / "papers"):
        assert article.equations[0].expanded == "x = 1"
    with package.Library.read([tmp_path / "papers"], tmp_path / "lib") as library:
        assert [found.name for found in library.articles()] == ["a", "b"]


# -- real papers

CORPORA = os.environ.get("EQEMB_CORPORA")
needs_corpora = pytest.mark.skipif(
    not CORPORA, reason="EQEMB_CORPORA names no folder of real papers"
)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """The library of the real papers."""
    folder = tmp_path_factory.mktemp("real") / "lib"
    with Library.read([str(CORPORA)], folder) as library:
        yield library


def manifest() -> list[dict[str, str]]:
    """What is known about each document."""
    with (Path(str(CORPORA)) / "MANIFEST.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


@needs_corpora
def test_every_real_paper_is_read(real: Library) -> None:
    """No paper is skipped, and no internal error occurs."""
    rows = real.records.rows("SELECT origin, cause, detail FROM sources WHERE status = 'skipped'")
    assert list(rows) == []
    assert real.report["articles"] == len(manifest())


@needs_corpora
def test_numbered_displays_of_real_papers_are_accounted_for(real: Library) -> None:
    """At least 99 % of the manifest's, in at least 98 % of the papers; the others are printed.

    Those of files that no document uses count as found: they are reported. Below the mark are
    papers whose macros swallow text that the manifest's simple reader saw.
    """
    rows = real.records.rows(
        "SELECT DISTINCT origin, environment, display FROM equations e"
        " JOIN sources s ON s.id = e.article"
    )
    displays = Counter(
        origin
        for origin, environment, _ in rows
        if environment not in ("$$", "\\[") and not environment.endswith("*")
    )
    for origin, lost in real.records.rows(
        "SELECT origin, lost FROM sources JOIN articles USING (id)"
    ):
        displays[origin] += lost
    for origin, detail in real.records.rows(
        "SELECT origin, p.detail FROM problems p JOIN sources s ON s.id = p.article"
        " WHERE p.cause = 'file not used'"
    ):
        displays[origin] += int(detail.split()[0])
    expected = {
        f"{row['collection']}/{row['file']}": int(row["numbered_displays"]) for row in manifest()
    }
    below = [
        (origin, displays[origin], number)
        for origin, number in expected.items()
        if displays[origin] < 0.99 * number
    ]
    print(*below, sep="\n")  # noqa: T201
    assert len(below) <= 0.02 * len(expected), below
