"""A bad paper affects only itself: whatever its reader does, the other papers are read."""

import io
import os
import signal
import struct
import sys
import uuid
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from eqemb.article import Article
from eqemb.errors import EqembError, SourceError
from eqemb.facade.library import Library
from eqemb.library import worker
from eqemb.library.executor import WorkerLimits
from eqemb.library.rows import Record
from eqemb.library.worker import make_record, read_found
from eqemb.readers.registry import READERS, FormatReader
from eqemb.sources import Found, Limits, Source
from eqemb.storage.messages import receive, receive_values, send
from synthetic import HAS_PROC, HOSTILE, hostile, hostile_modules, living, papers, start, wait_for

BODY = r"Some words. \begin{equation} x = 1 \end{equation} More words."
#: Papers in order, each named by what its reader does (hostile/sitecustomize.py), and the expected
#: cause and detail, or "" if it must be read.
EXPECTED = {
    "01-honest": "",
    "02-mine": "",
    "03-slow": "",  # the paper before it kills its process
    "04-exit": "reader died: exit status 7",
    "05-honest": "",
    "06-kill": "reader died: killed, likely for memory",
    "07-crash": "reader died: crashed",
    "08-half": "reader died: exit status 0",
    "09-hang": "time limit: stopped by the clock after 3 s",
    "10-honest": "",
    "11-exhaust": "out of memory",
    "12-hoard": "",
    "13-needy": "",  # a new process has enough memory
    "14-recurse": "internal error: RecursionError: maximum recursion depth exceeded",
    "15-fail": "internal error: ZeroDivisionError: " + ("of no use to anyone. " * 100)[:281],
    "16-talk": "",
    "17-honest": "",
    "18-phone": "internal error: PermissionError: [Errno 13] not allowed here (socket.__new__)",
    "19-spy": "internal error: PermissionError: [Errno 13] not allowed here (os.listdir): '/'",
    "20-honest": "",
    "21-code": "reader died: it sent an invalid record (it refers to builtins.exec)",
    "22-text": "reader died: it sent an invalid record (it has other fields)",
    "23-row": "reader died: it sent an invalid record (equations has another type)",
    "24-noise": "reader died: it sent an invalid record (UnpicklingError: invalid load key, 'n'.)",
    "25-flood": "reader died: it sent an invalid record (it has 4,611,686,018,427,387,904 bytes)",
    "26-honest": "",
}


@pytest.fixture(scope="module")
def survivors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A library of papers that crash, hang or exhaust memory, read by one worker at a time."""
    folder = tmp_path_factory.mktemp("hostile")
    papers(folder / "papers", **dict.fromkeys(EXPECTED, BODY))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(HOSTILE))
        stops = WorkerLimits(seconds=3.0, memory=1 << 30)
        with Library.read(
            [folder / "papers"], folder / "lib", jobs=1, worker_limits=stops
        ) as library:
            yield library


def found(name: str = "a", **fields: object) -> Found:
    """Return a paper as it is sent to a worker."""
    data = b"\\documentclass{article}\\begin{document}Words.\\end{document}"
    made = {"name": name, "origin": "a.tex", "collection": "", "kind": "data", "path": "a.tex"}
    return Found(**(made | {"data": data} | fields))  # type: ignore[arg-type]


# -- hostile readers


@pytest.mark.parametrize("name", EXPECTED)
def test_bad_paper_affects_only_itself(survivors: Library, name: str) -> None:
    """A paper is skipped for its own cause, or read despite its neighbours."""
    query = "SELECT name, status, cause, detail FROM sources WHERE origin = ?"
    named, status, cause, detail = next(survivors.records.rows(query, f"{name}.tex"))
    assert f"{cause}: {detail}".removesuffix(": ")[:300] == EXPECTED[name][:300]
    assert status == ("skipped" if EXPECTED[name] else "read")
    assert named == (f"./{name}.tex" if EXPECTED[name] else name)


@pytest.mark.usefixtures("survivors")
def test_worker_runs_no_code_in_its_parent() -> None:
    """Paper 21 sends code."""
    assert "EQEMB_TEST_TRACE" not in os.environ


def test_records_are_in_the_order_of_papers(survivors: Library) -> None:
    """However long each paper took."""
    rows = survivors.records.rows("SELECT origin FROM sources ORDER BY id")
    assert [origin for (origin,) in rows] == [f"{name}.tex" for name in EXPECTED]


def test_report_counts_causes_of_failures(survivors: Library) -> None:
    """By cause."""
    assert survivors.report["skipped"]["causes"] == {
        "reader died": 9,
        "internal error": 4,
        "out of memory": 1,
        "time limit": 1,
    }


def test_worker_that_cannot_start_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error does not blame the papers."""
    papers(tmp_path / "papers", a=BODY, b=BODY)
    for executable in ("/bin/false", str(tmp_path / "nothing")):
        monkeypatch.setattr(sys, "executable", executable)
        with pytest.raises(EqembError, match="cannot start a worker process"):
            Library.read([tmp_path / "papers"], tmp_path / "lib", jobs=2)


@pytest.mark.skipif(not HAS_PROC, reason="looks for processes in /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_worker_outlives_its_parent(tmp_path: Path, number: int) -> None:
    """Not even a worker that hangs in the middle of a paper."""
    papers(tmp_path / "papers", **{"1-hang": BODY, "2-hang": BODY})
    mark, hangs = uuid.uuid4().hex, tmp_path / "hangs"
    arguments = ("read", tmp_path / "papers", "-o", tmp_path / "lib", "--jobs", "2")
    with start("-m", "eqemb", *map(str, arguments), environment=hostile(mark, hangs)) as parent:
        assert wait_for(lambda: hangs.exists() and hangs.stat().st_size > 0)
        assert len(living(mark)) == 3
        os.kill(parent.pid, number)
        parent.wait()
        assert wait_for(lambda: not living(mark), 5.0)


def test_modules_of_the_current_folder_are_not_run(tmp_path: Path) -> None:
    """A folder of papers may contain files named like modules of Python."""
    papers(tmp_path, a=BODY)
    hostile_modules(tmp_path)
    script = Path(sys.executable).with_name("eqemb")
    with start(script, "read", ".", "-o", "lib", cwd=tmp_path) as process:
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, out + err
    assert not (tmp_path / "executed").exists()


# -- one paper to one record


def test_paper_becomes_a_record() -> None:
    """The record has the seconds that it took."""
    record = make_record(found(), Limits())
    assert (record.status, record.name) == ("read", "a")
    assert record.seconds > 0


def test_source_that_is_not_an_article_becomes_a_record() -> None:
    """Its cause was found by discovery, or on opening."""
    assert make_record(found(cause="pdf only", detail="d"), Limits()).detail == "d"
    assert make_record(found(data=b""), Limits()).status == "skipped"


@pytest.mark.parametrize("error", [KeyError("x"), RecursionError(), UnicodeError("u")])
def test_internal_error_is_a_cause(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """A bug in the reader does not stop `read_articles` either."""

    def fail(_source: Source) -> Article:
        raise error

    monkeypatch.setitem(READERS, "tex", FormatReader(fail))
    with pytest.raises(SourceError, match=f"internal error: {type(error).__name__}"):
        read_found(found(), Limits())


def test_internal_error_after_reading_is_a_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in processing an article is attributed to its paper."""
    monkeypatch.setattr(worker, "sketch", lambda words: words.no_such_thing)
    assert make_record(found(), Limits()).cause == "internal error"


# -- messages


def test_messages_are_received_as_they_were_sent() -> None:
    """Of any length, one after the other."""
    stream = io.BytesIO()
    messages = [found(), "x" * 1_000_000, None]
    for message in messages:
        send(stream, message)
    stream.seek(0)
    assert [receive(stream) for _ in messages] == messages


@pytest.mark.parametrize("kept", [0, 3, 8, 20])
def test_truncated_message_raises_eof(kept: int) -> None:
    """The stream may end at any byte of a message."""
    stream = io.BytesIO()
    send(stream, "a content of some length")
    with pytest.raises(EOFError):
        receive(io.BytesIO(stream.getvalue()[:kept]))


def test_values_are_received_as_they_were_sent() -> None:
    """No class is needed for them."""
    values = ("text", b"bytes", 1, 2.5, None, True, ("a", ()), ["b"], {"c": 1}, frozenset((1, 2)))
    stream = io.BytesIO()
    send(stream, values)
    stream.seek(0)
    assert receive_values(stream, 1_000) == values


def test_record_is_received_as_it_was_made() -> None:
    """Every field."""
    record = make_record(found(), Limits())
    assert record.article is not None
    assert Record.from_values(record.to_values()) == record


@pytest.mark.parametrize("field", [field.name for field in fields(Record)])
def test_record_with_a_value_of_another_type_is_refused(field: str) -> None:
    """Whichever field it is."""
    record = make_record(found(), Limits())
    setattr(record, field, [1])
    with pytest.raises(ValueError, match=f"^{field} has another type"):
        Record.from_values(record.to_values())


def test_message_length_has_eight_bytes() -> None:
    """Messages may be longer than 4 GB."""
    stream = io.BytesIO()
    send(stream, None)
    data = stream.getvalue()
    assert struct.unpack("<Q", data[:8])[0] == len(data) - 8
