"""One bad paper costs itself only: whatever its reader does, the others are read."""

import io
import os
import signal
import struct
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from eqemb.article import Article
from eqemb.errors import EqembError, SourceError
from eqemb.facade.library import Library
from eqemb.library import worker
from eqemb.library.executor import WorkerLimits
from eqemb.library.worker import make_record, read_found, receive, send
from eqemb.readers.registry import READERS, FormatReader
from eqemb.sources import Found, Limits, Source
from synthetic import HAS_PROC, HOSTILE, hostile, hostile_modules, living, papers, start, wait_for

BODY = r"Some words. \begin{equation} x = 1 \end{equation} More words."
#: Papers in order, each named by what its reader does (hostile/sitecustomize.py), and what must
#: come of it: cause and detail, or "" where it must be read.
FATES = {
    "01-honest": "",
    "02-mine": "",
    "03-slow": "",  # its process dies under it, and not through its fault
    "04-exit": "reader died: exit status 7",
    "05-honest": "",
    "06-kill": "reader died: killed, likely for memory",
    "07-crash": "reader died: crashed",
    "08-half": "reader died: exit status 0",
    "09-hang": "time limit: stopped after 3 s",
    "10-honest": "",
    "11-exhaust": "out of memory",
    "12-hoard": "",
    "13-needy": "",  # there is enough for it in a process that nobody has hoarded in
    "14-recurse": "internal error: RecursionError: maximum recursion depth exceeded",
    "15-fail": "internal error: ZeroDivisionError: " + ("of no use to anyone. " * 100)[:281],
    "16-talk": "",
    "17-honest": "",
}


@pytest.fixture(scope="module")
def survivors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A library of papers whose readers went mad, read by one process after the other."""
    folder = tmp_path_factory.mktemp("hostile")
    papers(folder / "papers", **dict.fromkeys(FATES, BODY))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(HOSTILE))
        stops = WorkerLimits(seconds=3.0, memory=1 << 30)
        with Library.read(
            [folder / "papers"], folder / "lib", jobs=1, worker_limits=stops
        ) as library:
            yield library


def found(name: str = "a", **fields: object) -> Found:
    """A paper as it is sent to a worker."""
    data = b"\\documentclass{article}\\begin{document}Words.\\end{document}"
    made = {"name": name, "origin": "a.tex", "collection": "", "kind": "data", "path": "a.tex"}
    return Found(**(made | {"data": data} | fields))  # type: ignore[arg-type]


# -- readers gone mad


@pytest.mark.parametrize("name", FATES)
def test_a_paper_pays_for_its_own_reader_only(survivors: Library, name: str) -> None:
    """It is skipped with the cause that is its own, or read in spite of its neighbours."""
    query = "SELECT status, cause, detail FROM sources WHERE name = ?"
    status, cause, detail = next(survivors.records.rows(query, name))
    assert f"{cause}: {detail}".removesuffix(": ")[:300] == FATES[name][:300]
    assert status == ("skipped" if FATES[name] else "read")


def test_papers_stay_in_their_order(survivors: Library) -> None:
    """However long each took."""
    rows = survivors.records.rows("SELECT name FROM sources ORDER BY id")
    assert [name for (name,) in rows] == list(FATES)


def test_the_report_counts_what_stopped_papers(survivors: Library) -> None:
    """By cause."""
    assert survivors.report["skipped"]["causes"] == {
        "reader died": 4,
        "internal error": 2,
        "out of memory": 1,
        "time limit": 1,
    }


def test_a_reader_that_cannot_start_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one sentence: it is not the papers' fault."""
    papers(tmp_path / "papers", a=BODY, b=BODY)
    for executable in ("/bin/false", str(tmp_path / "nothing")):
        monkeypatch.setattr(sys, "executable", executable)
        with pytest.raises(EqembError, match="cannot start a worker process"):
            Library.read([tmp_path / "papers"], tmp_path / "lib", jobs=2)


@pytest.mark.skipif(not HAS_PROC, reason="looks for processes in /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_worker_outlives_its_parent(tmp_path: Path, number: int) -> None:
    """Not even one that hangs in the middle of a paper."""
    papers(tmp_path / "papers", **{"1-hang": BODY, "2-hang": BODY})
    mark, hangs = uuid.uuid4().hex, tmp_path / "hangs"
    arguments = ("read", tmp_path / "papers", "-o", tmp_path / "lib", "--jobs", "2")
    with start("-m", "eqemb", *map(str, arguments), environment=hostile(mark, hangs)) as parent:
        assert wait_for(hangs.exists)
        assert len(living(mark)) == 3
        os.kill(parent.pid, number)
        parent.wait()
        assert wait_for(lambda: not living(mark), 5.0)


def test_nothing_in_the_folder_one_stands_in_is_run(tmp_path: Path) -> None:
    """Papers come with programs; those named like Python's own modules are not ours."""
    papers(tmp_path, a=BODY)
    hostile_modules(tmp_path)
    script = Path(sys.executable).with_name("eqemb")
    with start(script, "read", ".", "-o", "lib", cwd=tmp_path) as process:
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, out + err
    assert not (tmp_path / "executed").exists()


# -- one paper to one record


def test_a_paper_becomes_a_record() -> None:
    """With the seconds that it took."""
    record = make_record(found(), Limits())
    assert (record.status, record.name) == ("read", "a")
    assert record.seconds > 0


def test_a_source_that_is_no_article_becomes_a_record() -> None:
    """With the cause that was found before, or on opening."""
    assert make_record(found(cause="pdf only", detail="d"), Limits()).detail == "d"
    assert make_record(found(data=b""), Limits()).status == "skipped"


@pytest.mark.parametrize("error", [KeyError("x"), RecursionError(), UnicodeError("u")])
def test_a_defect_of_ours_is_a_cause(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """In reading one after the other, too: one bad paper never stops the run."""

    def fail(_source: Source) -> Article:
        raise error

    monkeypatch.setitem(READERS, "tex", FormatReader(fail))
    with pytest.raises(SourceError, match=f"internal error: {type(error).__name__}"):
        read_found(found(), Limits())


def test_a_defect_after_reading_is_a_cause_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is made of an article belongs to its paper."""
    monkeypatch.setattr(worker, "sketch", lambda words: words.no_such_thing)
    assert make_record(found(), Limits()).cause == "internal error"


# -- messages


def test_a_message_comes_back_as_it_was() -> None:
    """Of any length, one after the other."""
    stream = io.BytesIO()
    messages = [found(), "x" * 1_000_000, None]
    for message in messages:
        send(stream, message)
    stream.seek(0)
    assert [receive(stream) for _ in messages] == messages


@pytest.mark.parametrize("kept", [0, 3, 8, 20])
def test_half_a_message_is_the_end(kept: int) -> None:
    """Wherever the other side died: nothing, half a length, a length alone, half a content."""
    stream = io.BytesIO()
    send(stream, "a content of some length")
    with pytest.raises(EOFError):
        receive(io.BytesIO(stream.getvalue()[:kept]))


def test_a_length_is_eight_bytes() -> None:
    """Answers of more than four gigabytes are announced rightly, if ever there are any."""
    stream = io.BytesIO()
    send(stream, None)
    data = stream.getvalue()
    assert struct.unpack("<Q", data[:8])[0] == len(data) - 8
