"""Damage that is not noticed when a library is opened: one sentence, wherever it is noticed."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from axes import make_library
from eqemb.errors import DamageError
from eqemb.facade.library import Library
from eqemb.library.generations import OpenLibrary
from eqemb.storage import checksums
from server.clients import make_client
from synthetic import Run, assert_one_sentence, forget_checksums, read_inline

#: What is done to records, by the error that reading them would raise.
DAMAGES = {
    "JSONDecodeError": "UPDATE equations SET labels = 'x'",
    "TypeError": "UPDATE equations SET labels = NULL",
    "no list": "UPDATE equations SET labels = '{}'",
    "LookupError": "DELETE FROM equations",
    "StopIteration": "DELETE FROM sources",
    "OperationalError": "UPDATE equations SET latex = CAST(x'ff' AS TEXT)",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with a model."""
    with pytest.MonkeyPatch.context() as patch:
        read_inline(patch)
        with make_library(tmp_path_factory.mktemp("damage")) as library:
            return library.folder


@pytest.fixture
def library(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy that a test may damage, opened as if it were too large to be read then."""
    monkeypatch.setattr(checksums, "READ_AT_OPENING", 0)
    return Path(shutil.copytree(made, tmp_path / "library"))


@pytest.fixture
def records(library: Path) -> Path:
    """The records of the library."""
    (path,) = library.glob("segments/*/records.sqlite")
    return path


def change(records: Path, statement: str) -> None:
    """Change records; the size of their file stays the same."""
    with closing(sqlite3.connect(records)) as database, database:
        database.execute("PRAGMA ignore_check_constraints = 1")
        database.execute("PRAGMA writable_schema = 1")
        schema = "UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '        ')"
        database.execute(schema)
        database.execute("PRAGMA writable_schema = RESET")
        database.execute(statement)


def overwrite_pages(records: Path) -> None:
    """Overwrite all pages but the first and the last one, as a disk may."""
    data = records.read_bytes()
    records.write_bytes(data[:4096] + b"\xa5" * (len(data) - 8192) + data[-4096:])


def ask(library: Library) -> None:
    """Ask for what all kinds of damage are in."""
    library.search("harmonic mean")
    library.article("harmonic")


@pytest.mark.parametrize("kind", list(DAMAGES))
def test_damaged_records_are_one_sentence(records: Path, library: Path, kind: str) -> None:
    """In Python, also for who opens a library without a context."""
    change(records, DAMAGES[kind])
    with closing(Library.open(library)) as opened, pytest.raises(DamageError) as raised:
        ask(opened)
    assert "restore it from a copy" in str(raised.value)
    assert "`eqemb verify`" in str(raised.value)
    assert "records.sqlite" in str(raised.value)


@pytest.mark.parametrize(
    "read",
    [list, lambda opened: list(opened.contents()), lambda opened: list(opened.records.sources())],
)
def test_iterating_over_damaged_records_is_one_sentence(
    records: Path, library: Path, read: Callable[[OpenLibrary], object]
) -> None:
    """SQLite notices what is wrong while rows are read."""
    overwrite_pages(records)
    with pytest.raises(DamageError, match=r"records\.sqlite is damaged \(.*`eqemb verify`"):
        read(Library.open(library))


@pytest.mark.parametrize("command", [["search", "harmonic mean"], ["show", "harmonic"], ["info"]])
def test_commands_report_damaged_records(
    run: Run, records: Path, library: Path, command: list[str]
) -> None:
    """As one sentence that names the file and `eqemb verify`."""
    overwrite_pages(records)
    name, *words = command
    done = run(name, library, *words)
    assert done.code == 1
    assert_one_sentence(done)
    assert "records.sqlite" in done.err
    assert "`eqemb verify`" in done.err


@pytest.mark.parametrize("kind", list(DAMAGES))
def test_a_server_answers_503_for_damaged_records(records: Path, library: Path, kind: str) -> None:
    """Its log names the file."""
    change(records, DAMAGES[kind])
    with make_client(library) as client:
        found = client.get("/v1/search?q=harmonic+mean"), client.get("/v1/articles/harmonic")
        assert 503 in {answer.status_code for answer in found}
        assert {answer.status_code for answer in found} <= {200, 404, 503}


def test_lookups_of_an_older_library_are_damage(records: Path, library: Path) -> None:
    """It has no checksums, so that the records alone are named."""
    forget_checksums(library)
    change(records, DAMAGES["LookupError"])
    with pytest.raises(DamageError, match=r"is damaged .*has no equation .*`eqemb verify`"):
        Library.open(library).search("harmonic mean")


def test_an_error_of_ours_is_no_damage(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All files are read, but only once."""
    reads: list[OpenLibrary] = []
    read_files = OpenLibrary._read_files

    def read(opened: OpenLibrary) -> None:
        reads.append(opened)
        read_files(opened)

    def fail(*_: object, **__: object) -> None:
        raise LookupError

    monkeypatch.setattr(OpenLibrary, "_read_files", read)
    with closing(Library.open(library)) as opened:
        monkeypatch.setattr(opened.engine, "search_words", fail)
        for _ in range(3):
            with pytest.raises(LookupError):
                opened.search("mean")
    assert len(reads) == 1


def test_a_closed_library_is_no_damage(library: Path) -> None:
    """The mistake is the caller's."""
    opened = Library.open(library)
    opened.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        opened.article("harmonic")
