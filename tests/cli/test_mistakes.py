"""Mistakes that users make are reported in one line that says what to do.

Cases in `test_cli.py` and in the tests of other packages are not repeated here.
"""

import ctypes
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from campaigns import sample
from eqemb.cli.app import app
from eqemb.facade.library import Library
from eqemb.index.postings import create_array
from eqemb.storage.locks import locked
from synthetic import (
    PDF,
    Done,
    Run,
    assert_one_sentence,
    eqemb,
    forget_checksums,
    paper,
    read_inline,
    start,
    topical,
)

#: An example call of each command; L stands for the library. A new command has to be added here.
CALLS = {
    "search": "search L word",
    "similar": "similar L x=1",
    "query": "query L --plus word",
    "describe": "describe L x=1",
    "symbols": "symbols L set0/paper000#1",
    "notation": "notation L word",
    "words": "words L word",
    "why": "why L word x=1",
    "info": "info L",
    "show": "show L",
    "add": "add L papers",
    "update": "update L",
    "remove": "remove L set0/paper000",
    "compact": "compact L",
    "retrain": "retrain L",
    "export": "export L -o out.csv",
    "repro": "repro L",
    "evaluate": "evaluate L words",
    "compare": "compare L -o out --quick",
    "retrieval": "retrieval L",
    "split": "split L",
    "train": "train L",
    "use": "use L words",
    "serve": "serve L --port 0",
    "mcp": "mcp L --http 127.0.0.1:0",
    "map": "map L",
    "verify": "verify L",
}
WITHOUT_LIBRARY = {"build", "read", "fetch", "demo", "units", "plan", "licenses"}
POSIX = pytest.mark.skipif(os.name != "posix", reason="signals and rights of POSIX")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with papers and the library `lib` made from them; not to be changed."""
    folder = tmp_path_factory.mktemp("clumsy")
    topical(folder / "papers", 6)
    with pytest.MonkeyPatch.context() as patch:
        read_inline(patch)
        Library.build(folder / "papers", folder / "lib", model=False).close()
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the papers and the library, as the current folder."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def assert_fails(done: Done, code: int, *pieces: str) -> None:
    """One line with these pieces, this exit code, and nothing on stdout."""
    assert (done.code, done.out) == (code, ""), done
    assert_one_sentence(done)
    for piece in pieces:
        assert piece in done.err


def arguments_of(call: str, library: object = "lib") -> list[str]:
    """The arguments of a call."""
    return [str(library) if part == "L" else part for part in call.split()]


# -- paths


def test_every_command_is_tested() -> None:
    """A new command is added to `CALLS`."""
    names = {
        command.name or command.callback.__name__  # type: ignore[union-attr]
        for command in app.registered_commands
        if not command.hidden
    }
    assert names == CALLS.keys() | WITHOUT_LIBRARY


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_paths_that_are_not_a_library(run: Run, here: Path, call: str) -> None:
    """Nothing, a file, an empty folder, or the papers themselves."""
    if call.startswith(("serve", "mcp")):
        pytest.importorskip("fastapi")
    (here / "file").write_text("x", "utf-8")
    (here / "empty").mkdir()
    for place in ("nowhere", "file", "empty", "papers"):
        assert_fails(run(*arguments_of(call, place)), 2, place, "`eqemb build PAPERS")
    assert not (here / "nowhere").exists()


@pytest.mark.parametrize("command", ["build", "read"])
def test_folders_without_papers(run: Run, here: Path, command: str) -> None:
    """The message says what to give instead."""
    (here / "empty").mkdir()
    (here / "pdfs").mkdir()
    (here / "pdfs/a.pdf").write_bytes(PDF)
    (here / "programs").mkdir()
    for name in ("a.py", "b.py", "c.png", "Makefile"):
        (here / "programs" / name).write_text("x", "utf-8")
    (here / "notes.txt").write_text("hello", "utf-8")
    for place, piece in (
        ("empty", "No documents found: there are no files. Supported: .tex"),
        ("programs", "No documents found: there are 2 .py, 1 .png and 1 without suffix. Supported"),
        ("pdfs", "`eqemb fetch --from-pdfs"),
        ("notes.txt", "Supported: .tex"),
        ("nowhere", "there is no such file or folder"),
        ("", "the path is empty"),
    ):
        code = 1 if (here / place).exists() and place else 2
        assert_fails(run(command, place, "-o", f"new {place}"), code, piece)


@pytest.mark.parametrize("command", [["build", "papers"], ["read", "papers"], ["demo"]])
def test_a_library_at_a_url_is_refused(run: Run, here: Path, command: list[str]) -> None:
    """It would become a folder with the name of the scheme."""
    done = run(*command, "-o", "s3://bucket/library")
    assert_fails(done, 2, "a library cannot be at a URL (s3://bucket/library): give a folder")
    assert sorted(path.name for path in here.iterdir()) == ["lib", "papers"]


def test_papers_that_cannot_be_added(run: Run, here: Path) -> None:
    """The library is unchanged."""
    (here / "pdfs").mkdir()
    (here / "pdfs/a.pdf").write_bytes(PDF)
    assert_fails(run("add", "lib", "pdfs"), 2, "pdfs is outside the root", "--root")
    done = run("add", "lib", "pdfs", "--root", "pdfs")
    assert_fails(done, 1, "eqemb fetch --from-pdfs", "lib is unchanged")
    assert not (here / "lib/generations/2").exists()


# -- libraries that are damaged, newer or in use


@pytest.mark.parametrize(
    ("file", "content", "call", "piece"),
    [
        ("library.json", {"format": 99, "generation": 1}, "info L", "made by a newer version"),
        ("segments/*/index/index.json", {"version": 99}, "search L x", "index of version 99"),
        (
            *("models/m/config.json", {"format": "eqemb model", "version": 99, "settings": {}}),
            *("evaluate L m", "a model of version 99"),
        ),
    ],
)
def test_newer_versions_are_rejected(
    run: Run, here: Path, file: str, content: dict[str, Any], call: str, piece: str
) -> None:
    """With both versions, and the advice to use the version that made it."""
    path = next(forget_checksums(here / "lib").glob(file), here / "lib" / file)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), "utf-8")
    done = run(*arguments_of(call))
    assert_fails(done, done.code, piece, "or use")
    assert done.code in (1, 2)


def damaged(path: Path) -> Iterator[bytes | None]:
    """What may happen to a file: gone, empty, cut, or random bytes."""
    data = path.read_bytes()
    yield None
    yield b""
    yield data[: len(data) // 2]
    yield random.Random(1).randbytes(len(data))
    if path.suffix == ".json":
        yield b"null"
        yield b"{}"
    else:
        yield data[:-9] + b"\xff" * 9


#: Files that no question is answered without.
MUST_SAY = {
    *("library.json", "manifest.json", "records.sqlite", "report.json", "settings.json"),
    *("equations.npy", "index.json", "alignment.tags.json"),
}


def test_damaged_libraries(run: Run, here: Path) -> None:
    """Whichever file is damaged: an answer, or one line with a remedy."""
    said = set()
    files = sorted(path for path in (here / "lib").rglob("*") if path.is_file())
    named = [path for path in files if path.name in MUST_SAY]
    for file in [*named, *sample([path for path in files if path not in named], 8)]:
        whole = file.read_bytes()
        for data in damaged(file):
            if data is None:
                file.unlink()
            else:
                file.write_bytes(data)
            for call in ("similar L x_1=a+0", "info L"):
                done = run(*arguments_of(call))
                if done.code:
                    assert done.code in (1, 2), (file, done)
                    assert_one_sentence(done)
                    ways = ("anew", "again", "rebuild", "--resume")
                    assert any(way in done.err for way in ways), done
                    said.add(file.name)
        file.write_bytes(whole)
    assert said >= MUST_SAY


def test_a_damaged_interrupted_run_cannot_be_resumed(run: Run, here: Path) -> None:
    """It has to be started again."""
    (here / "lib/generations/2").mkdir()
    (here / "lib/generations/2/settings.json").write_text("{", "utf-8")
    done = run("add", "lib", "papers", "--root", "papers", "--replace", "--resume")
    assert_fails(done, 2, "again without --resume")


@pytest.mark.skipif(os.name != "posix", reason="there are no locks")
@pytest.mark.parametrize("name", ["add", "remove", "build", "read"])
def test_a_second_writer_is_rejected(run: Run, here: Path, name: str) -> None:
    """Queries still work."""
    call = CALLS.get(name, f"{name} papers -o L")
    with locked(here / "lib/.lock", "test"):
        done = run(*arguments_of(call))
        assert done.code == 1
        assert "lib is being written by another eqemb process; wait" in done.err.splitlines()[-1]
        assert run(*arguments_of("similar L x_1=a+0")).code == 0
        assert run("info", "lib").code == 0


# -- system errors


def without_privileges() -> None:
    """Make root, too, obey file permissions."""
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


@pytest.mark.skipif(sys.platform != "linux", reason="rights are dropped as on Linux")
def test_a_read_only_library_can_be_queried(here: Path) -> None:
    """Also if the home folder is read-only."""
    (here / "home").mkdir()
    for place in (*(here / "lib").rglob("*"), here / "lib", here / "home", here):
        place.chmod(0o555 if place.is_dir() else 0o444)
    try:
        for call, code, piece in (
            ("describe L x_1=a+0", 0, ""),
            ("similar L x_1=a+0", 0, ""),
            ("add L papers", 1, "lib: Permission denied; change its permissions"),
            ("export L -o out.csv", 1, "Permission denied; change its permissions"),
            ("read papers -o new", 1, "cannot create the folder new (Permission denied)"),
        ):
            done = subprocess.run(
                [sys.executable, "-m", "eqemb", *arguments_of(call)],
                capture_output=True,
                text=True,
                check=False,
                env=os.environ | {"HOME": str(here / "home")},
                preexec_fn=without_privileges,
            )
            assert done.returncode == code, (call, done)
            assert piece in done.stderr
            if code:
                assert_one_sentence(Done(code, done.stdout, done.stderr))
    finally:
        for place in (here, here / "lib", *(here / "lib").rglob("*")):
            place.chmod(0o755)


def test_a_full_disk_is_reported_with_the_path(
    run: Run, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left half-written."""

    def refuse(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refuse)
        done = run("export", "lib", "-o", "out.csv")
        assert_fails(done, 1, f"{here / 'out.csv'}: No space left on device; free space")
        assert not [path for path in here.iterdir() if "out.csv" in path.name]
        call = ("add", "lib", "papers", "--root", "papers", "--replace")
        assert_fails(run(*call), 1, "lib", "No space left on device; free space")
    assert run(*call, "--resume").code == 0


def test_disk_space_of_an_index_is_allocated_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a full disk, writing to a memory map would kill the process."""

    def refuse(_handle: int, first: int, size: int) -> None:
        assert first + size == (tmp_path / "a.npy").stat().st_size
        raise OSError(28, "No space left on device")

    assert create_array(tmp_path / "a.npy", "f4", (3, 5)).shape == (3, 5)
    monkeypatch.setattr(os, "posix_fallocate", refuse, raising=False)
    with pytest.raises(OSError, match="No space left"):
        create_array(tmp_path / "a.npy", "f4", (3, 5))


@POSIX
def test_records_that_exceed_a_file_size_limit(here: Path) -> None:
    """With more room, --resume continues."""
    import resource

    process = subprocess.run(
        [sys.executable, "-m", "eqemb", "read", "papers", "-o", "new", "--jobs", "1"],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)),
    )
    assert_fails(
        Done(process.returncode, process.stdout, process.stderr),
        *(1, "cannot write new", "free space", "continue with --resume"),
    )
    assert eqemb("read", "papers", "-o", "new", "--resume", cwd=here).returncode == 0


# -- interruptions


@POSIX
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_is_reported(sign: signal.Signals) -> None:
    """By Ctrl-C or by SIGTERM."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "eqemb", "units", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write("x\n")
        process.stdin.flush()
        assert process.stdout.readline() == "V!x\n"
        process.send_signal(sign)
        assert process.stderr.read() == "eqemb: interrupted\n"
    assert process.returncode == 130


@POSIX
def test_an_interruption_during_imports_is_silent() -> None:
    """There is no traceback."""
    code = (
        "import os, signal, sys\n"
        "class Finder:\n"
        "    def find_spec(name, *_):\n"
        "        if name == 'eqemb.cli': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder)\n"
        "from eqemb.__main__ import main\n"
        "main()\n"
    )
    with start("-c", code) as process:
        assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == -signal.SIGINT


# -- names, numbers and queries


@pytest.mark.parametrize(
    ("call", "piece"),
    [
        ("serach L x", "did you mean 'search'?"),
        ("info L --jsn", "--json"),
        ("info L extra", "extra"),
        ("info -lib", 'to pass a value that starts with "-", put "--" before it'),
        ("similar L -xy", 'to pass a value that starts with "-", put "--" before it'),
        ("search L x --by meanin", "choose one of all, words, meaning"),
        ("search L x --collection set9", "did you mean set"),
        ("search L x --article set0/paper00", "set0/paper000"),
        ("similar L set0/paper00#1", "set0/paper000"),
        ("similar L set0/paper000#99", "`eqemb show` lists its equations"),
        ("show L set0/papr000", "did you mean set0/paper000"),
        ("remove L set0/papr000", "did you mean set0/paper000"),
        ("train L --model eqemb-x", "did you mean eqemb-u?"),
        ("train L --collection set9", "did you mean set"),
        ("evaluate L words", "it has none; train one with `eqemb train`"),
        ("export L -o out.txt", "use one of .parquet, .csv, .jsonl"),
    ],
)
def test_misspelt_names_get_suggestions(run: Run, here: Path, call: str, piece: str) -> None:
    """Commands, options, models, collections, articles and equations."""
    done = run(*arguments_of(call))
    assert_fails(done, 2)
    assert piece.lower() in done.err.lower()
    assert sorted(path.name for path in here.iterdir()) == ["lib", "papers"]


@pytest.mark.parametrize(
    "call",
    [
        *("search L x -k 0", "search L x -k 1001", "search L x -k ten", "describe L x -k 61"),
        *("search L x --year 20x5", "search L x --year 2018-2015", "units x --window 100"),
        *("train L --dim 0", "train L --window 3", "train L --rate nan", "train L --seed -1"),
        *("train L --threads 0", "train L --min-count -1", "split L --negatives 0"),
        *("serve L --port 70000", "build papers -o new --jobs 0", "read papers -o new --strict 2"),
        *("compare L -o out --seeds 0", "fetch --ids papers -o out --max 0"),
    ],
)
def test_numbers_out_of_range_are_rejected(run: Run, here: Path, call: str) -> None:
    """Before anything is done."""
    assert_fails(run(*arguments_of(call)), 2)
    assert sorted(path.name for path in here.iterdir()) == ["lib", "papers"]


@pytest.mark.parametrize(
    ("arguments", "code", "piece"),
    [
        (["search", "lib", ""], 2, "give words, or LaTeX"),
        (["search", "lib", "$$"], 2, "give words, or LaTeX"),
        (["search", "lib", "-x"], 2, ""),
        (["similar", "lib", ""], 2, "give LaTeX"),
        (["similar", "lib", "{"], 2, "give LaTeX"),
        (["similar", "lib", r"\zeta{\zeta}}{"], 1, "(dropped }, closed {)"),
        (["similar", "lib", "?x"], 2, "a pattern needs at least one symbol"),
        (["describe", "lib", " "], 2, "give LaTeX"),
        (["describe", "lib", r"\frac{"], 1, "try another equation"),
        (["search", "lib", "x", "--has", "{"], 2, "give LaTeX"),
        (["query", "lib"], 2, "build it with `eqemb build`"),
        (["words", "lib", "x"], 2, "no model"),
        (["why", "lib", "", "x"], 2, "give LaTeX"),
        (["units", " "], 2, "give LaTeX"),
    ],
)
@pytest.mark.usefixtures("here")
def test_empty_queries_are_rejected(run: Run, arguments: list[str], code: int, piece: str) -> None:
    """Also LaTeX with unbalanced braces."""
    assert_fails(run(*arguments), code, piece)


@pytest.mark.usefixtures("here")
def test_unknown_words_are_named(run: Run) -> None:
    """One per line, then the result."""
    done = run("search", "lib", "the", "zzzz")
    assert done.code == 1
    assert done.err.splitlines()[:2] == [
        "not near any equation: the",
        "not near any equation: zzzz",
    ]
    assert "no matches" in done.err.splitlines()[2]


@pytest.mark.usefixtures("here")
def test_only_the_first_unknown_words_are_named(run: Run) -> None:
    """The others are counted."""
    done = run("search", "lib", *(f"zzz{letter}" for letter in "abcdefghijkl"))
    lines = done.err.splitlines()
    assert [line.startswith("not near any equation: zzz") for line in lines[:10]] == [True] * 10
    assert lines[10] == "... and 2 more words"
    assert len(lines) == 12


@pytest.mark.parametrize(
    ("package", "call", "piece"),
    [
        ("fastapi", "serve L", "eqemb[serve]"),
        ("matplotlib", "map L --png out.png", "eqemb[plot]"),
        ("pyarrow", "export L -o out.parquet", "eqemb[export]"),
        ("torch", "train L --device cuda", "eqemb[gpu]"),
        ("gensim", "train L --model cbow --min-count 1", "eqemb[baselines]"),
        ("HanTa", "split L --vocabulary paper", "eqemb[paper]"),
    ],
)
@pytest.mark.usefixtures("here")
def test_missing_packages_are_named(
    run: Run, monkeypatch: pytest.MonkeyPatch, package: str, call: str, piece: str
) -> None:
    """With the command that installs them."""
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "eqemb.server.run", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    assert_fails(run(*arguments_of(call)), 2, f"pip install '{piece}'")


# -- terminals, files and names


def test_windows_line_ends_change_nothing(run: Run, here: Path) -> None:
    """In papers and in lists."""
    for file in (here / "papers").rglob("*.tex"):
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    (here / "stop.txt").write_bytes(b"the\r\nof\r\n")
    assert run("read", "papers", "-o", "new").code == 0
    shown = [run("show", place, "set0/paper000").out for place in ("lib", "new")]
    assert shown[0] == shown[1]
    assert run("split", "lib", "--stop-words", "stop.txt", "--min-count", "1").code == 0


@pytest.mark.parametrize(
    "environment",
    [
        {"COLUMNS": "20"},
        {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii"},
    ],
)
def test_limited_terminals(here: Path, environment: dict[str, str]) -> None:
    """Narrow ones, and ones without Unicode."""
    for call in ("similar L x_1=a+0", "search L \u03b1", "units \\alpha"):
        done = eqemb(*arguments_of(call), environment=environment, cwd=here)
        assert done.returncode in (0, 1, 2)
        assert "Traceback" not in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="file systems that take any bytes")
@pytest.mark.parametrize("name", [b"a b", b"a\nb", b"\xff\xfe", b"-a", "é".encode()])
def test_unusual_file_names(run: Run, here: Path, name: bytes) -> None:
    """Spaces, newlines, bytes that are not text, dashes."""
    folder = here / os.fsdecode(name)
    folder.mkdir()
    for file in (os.fsdecode(name), "other"):
        (folder / f"{file}.tex").write_text(paper("Words."), "utf-8")
    given = ["--", os.fsdecode(name)]
    done = run("build", "-o", "new", "--no-model", *given)
    assert done.code == 0, done.err
    shown = run("show", "new")
    assert (shown.code, len(shown.out.splitlines())) == (0, 2)
    assert run("verify", "new").code == 0
    updated = run("update", "new", "--dry-run")
    assert updated.code == 0, updated.err
    assert "2 sources unchanged" in updated.out
    folder = here / os.fsdecode(name + b" library")
    assert run("read", "-o", f"./{folder.name}", *given).code == 0
    assert run("info", f"./{folder.name}").code == 0
