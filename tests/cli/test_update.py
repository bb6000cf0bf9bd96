"""`eqemb update` prints a line for each kind of change."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from synthetic import PDF, Run, assert_one_sentence, forget_checksums, papers

BODY = r"Some words. \begin{equation} x = %s \end{equation} More words."


@pytest.fixture
def place(run: Run, tmp_path: Path) -> Path:
    """A library of three papers."""
    papers(tmp_path / "papers", a=BODY % "a", b=BODY % "b", c=BODY % "c")
    assert run("build", tmp_path / "papers", "-o", tmp_path / "lib", "--no-model").code == 0
    return tmp_path


def change(place: Path) -> None:
    """Add, change and remove a paper, break another, and add a file that is none."""
    top = papers(place / "papers", a=BODY % "new", d=BODY % "d")
    (top / "b.tex").unlink()
    (top / "c.tex").write_bytes(PDF)
    (top / "e.gz").write_bytes(b"none")


def test_each_kind_of_change_is_one_line(run: Run, place: Path) -> None:
    """With names; then there is nothing more to do."""
    change(place)
    done = run("update", place / "lib")
    assert done.code == 0
    *lines, last = done.out.splitlines()
    assert last.startswith("1 source skipped: e.gz: no ")
    assert lines == [
        "1 article added: d",
        "1 article replaced: a",
        "1 article removed: b",
        "1 article removed, because its file is not read any more: c: pdf only",
    ]
    stages = [line.partition(":")[0] for line in done.err.splitlines()]
    assert stages == ["looking", "reading", "indexing"]
    done = run("update", place / "lib")
    assert done.out == f"{place / 'lib'} is up to date: 4 sources unchanged\n"


def test_a_dry_run_says_what_would_be_done(run: Run, place: Path) -> None:
    """And leaves the library as it is."""
    change(place)
    done = run("update", place / "lib", "--dry-run")
    assert done.out.splitlines()[:3] == [
        "1 article would be added, if it can be read: d",
        "1 article would be replaced, if it can be read: a",
        "1 article would be removed: b",
    ]
    assert json.loads(run("update", place / "lib", "--dry-run", "--json").out)["added"] == ["d"]
    assert run("info", place / "lib").out.count("history") == 1


def test_only_ten_names_are_listed(run: Run, place: Path) -> None:
    """The count is that of all."""
    papers(place / "papers", **{f"n{number:02}": BODY % number for number in range(12)})
    line = run("update", place / "lib").out.splitlines()[0]
    assert line.startswith("12 articles added: n00, n01")
    assert line.endswith("n09, ...")


def test_a_library_without_a_record_says_that_it_was_read(run: Run, place: Path) -> None:
    """Once."""
    (forget_checksums(place / "lib") / "generations" / "1" / "sources.json").unlink()
    done = run("update", place / "lib")
    assert "3 sources read again, because" in done.err
    assert "read again" not in run("update", place / "lib").err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--poll", "3"], "add --watch"),
        (["--watch", "--dry-run"], "leave out --watch"),
        (["nowhere/at/all"], "there is no such file or folder"),
        (["--root", "nowhere"], "the root nowhere is not a folder"),
    ],
)
def test_wrong_options_are_refused(
    run: Run, place: Path, options: list[str], sentence: str
) -> None:
    """In one sentence."""
    done = run("update", place / "lib", *options)
    assert_one_sentence(done)
    assert (done.code, sentence in done.err) == (2, True)


@pytest.mark.parametrize("name", ["refs.bib", "My Library.rdf", "zotero.csv", "zotero.json"])
def test_a_list_of_references_leads_to_fetch(run: Run, place: Path, name: str) -> None:
    """Whether it is given to `build`, `add` or `update`."""
    path = place / name
    path.write_text('[{"id": "x"}]' if name.endswith("json") else "@article{x, eprint={1}}")
    for command in (["build", path, "-o", place / "new"], ["add", place / "lib", path]):
        done = run(*command)
        assert_one_sentence(done)
        assert f"`eqemb fetch --bib {path} -o PAPERS`" in done.err


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_watching_ends_with_a_signal(place: Path, ending: signal.Signals) -> None:
    """With exit code 0, and the library has what changed before."""
    command = [sys.executable, "-m", "eqemb", "update", str(place / "lib"), "--watch"]
    with subprocess.Popen(
        [*command, "--poll", "0.2", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert b"following the papers of" in process.stderr.readline()
        papers(place / "papers", d=BODY % "d")
        assert json.loads(process.stdout.readline())["added"] == ["d"]
        process.send_signal(ending)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out, err) == (0, b"", b"ended\n")
