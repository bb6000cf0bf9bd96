"""The command line: data on stdout, messages on stderr, one line and an exit code on failure."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eqemb.arxiv import selection
from eqemb.cli import demo
from eqemb.facade import build
from eqemb.facade.library import Library
from eqemb.library import ingest
from eqemb.library.database import RECORDS_FORMAT
from synthetic import (
    PDF,
    Run,
    assert_one_sentence,
    corpus,
    eqemb,
    paper,
    papers,
    read_inline,
    start,
    text,
)

BODY = r"Some words. \begin{equation}\label{eq:a} x = 1 \end{equation} By \eqref{eq:a} it is so."
ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
LATER = ["1601.00001", "1601.00002", "1601.00003"]
EQUATION_KEYS = [
    *("id", "number", "label", "latex", "expanded", "file", "line", "numbered", "section"),
    *("context", "references"),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of a few small papers."""
    folder = tmp_path_factory.mktemp("cli")
    corpus(folder / "papers", 30)
    section = rf"\section{{Method}} {BODY} \[ y = \alpha \] \input{{missing}}"
    papers(folder / "papers" / "own", first=section, other=BODY)
    with pytest.MonkeyPatch.context() as patch:
        read_inline(patch)
        Library.read([folder / "papers"], folder / "lib").close()
    return folder / "lib"


def unarxive(folder: Path, text: str = "Words.\n{{formula:x}}\nMore.") -> Path:
    """A file with one unarXive record."""
    record = {
        "paper_id": "2212.00001",
        "metadata": {"title": "T"},
        "abstract": None,
        "body_text": [{"section": "S", "text": text}],
        "ref_entries": {"x": {"latex": "x", "type": "formula"}},
    }
    folder.mkdir(exist_ok=True)
    (folder / "a.jsonl").write_text(json.dumps(record) + "\n", "utf-8")
    return folder


# -- JSON


def test_read_prints_one_object(run: Run, tmp_path: Path) -> None:
    """With exactly these keys, and nothing else on stdout."""
    papers(tmp_path / "papers", a=BODY, b=BODY)
    (tmp_path / "papers" / "c.tex").write_text("", "utf-8")
    done = run("read", tmp_path / "papers", "-o", tmp_path / "lib", "--json")
    assert done.code == 0
    found = json.loads(done.out)
    assert done.out.count("\n") == 1
    assert list(found) == [
        *("articles", "partial", "skipped", "left_out", "equations", "words", "seconds", "sha256")
    ]
    assert found["equations"] == {"numbered": 2, "unnumbered": 0, "lost": 0}
    assert (found["articles"], found["partial"], found["skipped"]) == (2, 0, 1)
    with Library.open(tmp_path / "lib") as opened:
        assert found["words"] == sum(len(article.words()) for article in opened.articles())
        assert found["sha256"] == opened.report["sha256"]
    assert isinstance(found["seconds"], float)


def test_root_names_the_papers(run: Run, tmp_path: Path) -> None:
    """With `--root`, or by the given folder; a path outside the root is refused."""
    papers(tmp_path / "papers" / "nlp", a=BODY)
    papers(tmp_path / "new", b=BODY)
    given = ("read", tmp_path / "papers" / "nlp", "-o", tmp_path / "lib", "--root")
    assert run(*given, tmp_path / "papers").code == 0
    assert run("show", tmp_path / "lib").out.startswith("nlp/a  (1 equation)")
    refused = run(*given, tmp_path / "new")
    assert refused.code == 2
    assert_one_sentence(refused)
    assert "outside the root" in refused.err
    assert run("add", tmp_path / "lib", tmp_path / "new").code == 2
    assert run("add", tmp_path / "lib", tmp_path / "new", "--root", tmp_path / "new").code == 0
    shown = run("show", tmp_path / "lib", "--json").out
    assert [one["article"] for one in json.loads(shown)["articles"]] == ["nlp/a", "b"]


def test_read_counts_unknown_numbering_only_if_there_is_any(run: Run, tmp_path: Path) -> None:
    """Only unarXive has it."""
    done = run("read", unarxive(tmp_path / "in"), "-o", tmp_path / "lib", "--json")
    assert json.loads(done.out)["equations"] == {
        "numbered": 0,
        "unnumbered": 0,
        "numbering_unknown": 1,
        "lost": 0,
    }


def test_show_prints_one_object(run: Run, library: Path) -> None:
    """An article with its equations, exactly these keys."""
    done = run("show", library, "own/first", "--json")
    found = json.loads(done.out)
    assert (done.code, done.out.count("\n")) == (0, 1)
    assert list(found) == ["article", "title", "equations"]
    assert (found["article"], found["title"]) == ("own/first", "On first")
    assert [list(equation) for equation in found["equations"]] == [EQUATION_KEYS] * 2
    first, second = found["equations"]
    assert (first["id"], first["number"], first["label"]) == ("own/first#1", "1", "eq:a")
    assert (first["numbered"], second["numbered"], second["number"]) == (True, False, None)
    assert (first["section"], first["file"], first["line"]) == ("Method", "first.tex", 5)
    assert isinstance(first["context"], str)
    assert "Some words." in first["context"]
    assert len(first["references"]) == 1


def test_show_prints_texts_as_printed(run: Run, tmp_path: Path) -> None:
    """Without the placeholders of dollar signs and references."""
    body = (
        r"\section{Costs of $x_1$ in \$} It costs \$5. "
        r"\begin{equation}\label{eq:b} z \end{equation} See Eq.~\eqref{eq:b} on $x_1$."
    )
    papers(tmp_path / "papers", a=body)
    run("read", tmp_path / "papers", "-o", tmp_path / "lib")
    (found,) = json.loads(run("show", tmp_path / "lib", "a", "--json").out)["equations"]
    assert found["section"] == "Costs of x₁ in $"
    assert found["context"] == "It costs $5. [equation] See Eq. (1) on $x_1$."
    assert found["references"] == ["[equation] See Eq. (1) on $x_1$."]


def test_info_prints_one_object(run: Run, library: Path) -> None:
    """The counts of the report."""
    found = json.loads(run("info", library, "--json").out)
    assert (found.pop("models"), found.pop("model"), found.pop("map")) == ({}, None, None)
    assert [step["step"] for step in found.pop("steps")] == ["read"]
    with Library.open(library) as opened:
        assert found.pop("root") == opened.manifest.root
        assert (found.pop("segments"), found.pop("removed")) == (1, 0)
        assert found.items() <= opened.report.items()
    assert {"articles", "skipped", "equations", "words", "collections", "sha256"} <= set(found)


def test_demo_prints_one_object_per_line(run: Run) -> None:
    """One for each question, as the commands print it."""
    described, *found = map(json.loads, run("demo", "--json").out.splitlines())
    assert len(described["words"]) == 5
    assert [len(answer["hits"]) for answer in found] == [5, 5]
    assert all(answer["asked"] and not answer["notes"] for answer in (described, *found))


def test_json_needs_no_unicode(library: Path) -> None:
    """It is the same JSON if stdout takes only ASCII."""
    arguments = ("show", library, "own/first", "--json")
    plain = eqemb(*arguments, environment={"PYTHONIOENCODING": "ascii"})
    assert plain.stdout.isascii()
    assert json.loads(plain.stdout) == json.loads(eqemb(*arguments).stdout)


# -- text


def test_the_summary_fits_a_screen(run: Run, tmp_path: Path) -> None:
    """Counts are on stdout; the path of the report and the next step on stderr."""
    corpus(tmp_path / "papers", 30)
    done = run("read", tmp_path / "papers", "-o", tmp_path / "lib")
    assert done.code == 0
    assert len(done.out.splitlines()) + len(done.err.splitlines()) <= 24
    assert re.search(r"^papers read +27  \d+ in part, 14 with doubts$", done.out, re.MULTILINE)
    assert re.search(r"^skipped +3  3 pdf only$", done.out, re.MULTILINE)
    assert str(tmp_path / "lib" / "report.html") in done.err


def test_the_summary_is_consistent(run: Run, tmp_path: Path) -> None:
    """A share below 100 % has a reason; singulars are right; zero is not mentioned."""
    folder = papers(tmp_path / "papers", a=BODY + r"\[\]", b=BODY)
    (folder / "notes.tex").write_text(r"Parts of it. \[x\]", "utf-8")
    done = run("read", folder, "-o", tmp_path / "lib")
    assert re.search(r"^papers read +2$", done.out, re.MULTILINE)
    assert re.search(
        r"^displays lost +0  \d\d\.\d\d % read, 1 empty or inside another$", done.out, re.MULTILINE
    )
    assert re.search(r"^  empty equation +1  in 1 paper$", done.out, re.MULTILINE)
    assert re.search(r"^  file not used +2  in 2 papers$", done.out, re.MULTILINE)


def test_info_lists_every_problem(run: Run, library: Path) -> None:
    """One per line: cause, paper, place and detail, separated by tabs."""
    done = run("info", library, "--problems")
    assert "missing input\town/first\tfirst.tex:5\tmissing" in done.out.splitlines()
    found = json.loads(run("info", library, "--problems", "--json").out)["problems"]
    assert len(found) == len(done.out.splitlines())
    assert {"cause", "article", "file", "line", "detail"} == set(found[0])


def test_info_lists_papers_that_were_left_out(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first ones by name; how many others there are is said."""
    papers(tmp_path / "papers", **dict.fromkeys(("1501.00001", *LATER), BODY))
    monkeypatch.setattr(selection, "MOST_LEFT_OUT", 2)
    run("read", tmp_path / "papers", "-o", tmp_path / "lib", "--year", "2015")
    done = run("info", tmp_path / "lib", "--problems")
    assert done.out.splitlines() == [
        f"left out: other year\t{one}.tex\t\t2016" for one in LATER[:2]
    ]
    assert "1 more paper was left out and cannot be listed" in done.err
    found = json.loads(run("info", tmp_path / "lib", "--problems", "--json").out)
    assert (len(found["problems"]), found["left_out_unlisted"]) == (2, 1)


def test_stdout_and_stderr_keep_their_order(tmp_path: Path) -> None:
    """Also with both in one pipe."""
    papers(tmp_path / "papers", a=BODY)
    command = ["-m", "eqemb", "read", str(tmp_path / "papers"), "-o", str(tmp_path / "lib")]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    both = subprocess.check_output(
        [sys.executable, *command], stderr=subprocess.STDOUT, text=True, env=buffered
    )
    assert both.index("papers read") < both.index("next: eqemb")


def test_show_prints_the_text_with_its_equations(run: Run, library: Path) -> None:
    """Each in its place, with number, file and label; missing inputs on stderr."""
    done = run("show", library, "own/first")
    assert done.code == 0
    title, name, *rest = done.out.splitlines()
    assert (title, name.split(" · ")[0]) == ("On first", "own/first")
    shown = "\n".join(rest)
    assert shown.index("Some words.") < shown.index("(1)") < shown.index("By ")
    assert "x = 1\n             first.tex:5  eq:a" in shown
    assert "#2       y = \\alpha" in shown
    assert done.err == "missing input: first.tex:5 missing\n"


def test_show_prints_references_and_dollar_signs_as_the_paper_does(
    run: Run, tmp_path: Path
) -> None:
    """Neither the fullwidth dollar nor the dollars around a number reach the terminal."""
    body = (
        r"\title{From \$5 to $k$} By \$6 and Eq.~\ref{a}, so \eqref{a}: \begin{equation}\label{a}x"
    )
    paper = f"\\documentclass{{article}}\\begin{{document}}{body}\\end{{equation}}\\end{{document}}"
    (tmp_path / "a.tex").write_text(paper)
    run("read", tmp_path / "a.tex", "-o", tmp_path / "lib", "--json")
    shown = run("show", tmp_path / "lib", "a").out
    assert shown.splitlines()[0] == "From $5 to k"
    assert "By $6 and Eq. (1), so (1):" in shown
    assert "\uff04" not in shown


def test_info_prints_the_collections(run: Run, library: Path) -> None:
    """One per line."""
    done = run("info", library)
    assert done.code == 0
    assert re.search(r"^own +2 +\d+ +3 +2$", done.out, re.MULTILINE)


def test_demo_can_be_saved(run: Run, tmp_path: Path) -> None:
    """It is a library like any other, and the last line opens the page."""
    shown = run("demo", "-o", tmp_path / "lib")
    assert shown.code == 0
    assert f"eqemb search {tmp_path / 'lib'} WORDS" in shown.out
    assert shown.out.splitlines()[-1].startswith(f"  $ eqemb serve {tmp_path / 'lib'} ")
    assert run("show", tmp_path / "lib", "ir/bm25").code == 0
    assert json.loads(run("info", tmp_path / "lib", "--json").out)["model"]["sha256"]


def test_demo_questions_are_registered() -> None:
    """They were written down before they were tried."""
    kept = Path(__file__).parents[2] / "benchmarks" / "demo_queries.toml"
    queries = tomllib.loads(kept.read_text("utf-8"))
    assert demo._DESCRIBED in queries["describe"]
    assert demo._SEARCHED in queries["words"]
    assert demo._LIKE in queries["similar"]


def test_control_characters_of_papers_reach_no_terminal(run: Run, tmp_path: Path) -> None:
    """A paper cannot set the window title."""
    hostile = "Words \x1b]0;owned\x07 and \x9b31m red."
    run("read", unarxive(tmp_path / "in", hostile), "-o", tmp_path / "lib", "--json")
    done = run("show", tmp_path / "lib", "2212.00001")
    assert done.code == 0
    assert not re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", done.out)


# -- terminals and pipes


def test_no_progress_without_a_terminal(tmp_path: Path) -> None:
    """No bar, no colour, no carriage return in a pipe: one line for each stage."""
    papers(tmp_path / "papers", a=BODY, b=BODY)
    done = eqemb("read", tmp_path / "papers", "-o", tmp_path / "lib", "--jobs", "1")
    assert done.returncode == 0
    assert not re.findall(r"[\x1b\r]", done.stdout + done.stderr)
    reading, size, following = done.stderr.splitlines()
    assert re.fullmatch(r"reading: 2 of 2 sources, 2 equations, 0 skipped, \d+\.\d s", reading)
    assert " MB of sources in " in size
    assert following.startswith("next: ")


def test_progress_on_a_terminal(tmp_path: Path) -> None:
    """It goes to stderr, whatever papers are called; stdout has only data."""
    pty = pytest.importorskip("pty")
    papers(tmp_path / "papers" / "a[", **{"{0}]": BODY, "b]": BODY, "c]": BODY})  # "a[/b]"
    ours, theirs = pty.openpty()
    command = [sys.executable, *["-m", "eqemb", "read", "papers", "-o", "lib", "--json"]]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=theirs,
        cwd=tmp_path,
        env=os.environ | {"TERM": "xterm"},
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 4096):
                shown += piece
        except OSError:  # the terminal is closed
            pass
        out = process.stdout.read() if process.stdout else b""
    os.close(ours)
    assert process.returncode == 0, shown
    assert json.loads(out)["articles"] == 3
    assert b"sources" in shown
    assert b"\x1b[" in shown
    assert b"Traceback" not in shown


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    """`eqemb show ... | head`."""
    long = papers(tmp_path / "papers", a=text(60_000, 1), b=BODY)
    Library.read([long], tmp_path / "lib", jobs=1).close()
    with start("-m", "eqemb", "show", tmp_path / "lib", "a") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "On a\n"
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_behind_stdout_fails(library: Path) -> None:
    """Lost output is a failure."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "eqemb", "info", library],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    said = "eqemb: cannot write the result to stdout: No space left on device; free space"
    assert done.stderr.splitlines()[-1].startswith(said)


@pytest.mark.skipif(os.name != "posix", reason="closes descriptors as a shell does")
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_are_no_error(library: Path, closed: str) -> None:
    """And messages do not end up in the data."""
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" -m eqemb info "$1" --json {closed}', sys.executable, library],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (done.stdout == "") is (">&-" in closed.split())


def test_text_needs_no_unicode(library: Path) -> None:
    """If stdout takes only ASCII, other characters are escaped."""
    done = eqemb("show", library, "own/first", environment={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "own/first \\xb7 own/first.tex" in done.stdout


# -- exit codes


@pytest.mark.parametrize(
    ("share", "code"), [("0.5", 0), ("0.66", 0), ("0.67", 3), ("1", 3), ("1.5", 2), ("x", 2)]
)
def test_strict_is_a_threshold(run: Run, tmp_path: Path, share: str, code: int) -> None:
    """Exit 3 if a smaller share of papers was read; the library is made all the same."""
    papers(tmp_path / "papers", a=BODY, b=BODY)
    (tmp_path / "papers" / "c.tex").write_text("", "utf-8")
    done = run("read", tmp_path / "papers", "-o", tmp_path / "lib", "--strict", share, "--json")
    assert done.code == code
    if code != 2:
        assert json.loads(done.out)["articles"] == 2
        assert run("info", tmp_path / "lib").code == 0
    if code == 3:
        assert_one_sentence(done)
        assert "eqemb: only 66.66 % of papers were read, --strict requires " in done.err


def test_strict_is_a_threshold_for_displays(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lost displays count."""
    papers(tmp_path / "papers", a=BODY, b=BODY)
    merge_summaries = ingest.merge_summaries  # type: ignore[attr-defined]

    def lossy(*arguments: Any) -> dict[str, Any]:
        report: dict[str, Any] = merge_summaries(*arguments)
        report["coverage"]["displays"] = 0.9799
        return report

    monkeypatch.setattr(ingest, "merge_summaries", lossy)
    done = run("read", tmp_path / "papers", "-o", tmp_path / "lib", "--strict", "0.98")
    assert done.code == 3
    assert done.err.splitlines()[-1] == (
        "eqemb: only 97.99 % of displays were read, --strict requires 98.00 %;"
        " report.html lists the causes"
    )


@pytest.mark.parametrize("content", [{}, {"a.pdf": PDF}, {"notes.py": b"# Notes"}])
def test_nothing_to_read_is_a_failure(run: Run, tmp_path: Path, content: dict[str, bytes]) -> None:
    """An empty folder, PDFs, or other files; the message names the cause or what to give."""
    (tmp_path / "papers").mkdir()
    for name, data in content.items():
        (tmp_path / "papers" / name).write_bytes(data)
    done = run("read", tmp_path / "papers", "-o", tmp_path / "lib", "--json")
    assert done.code == 1
    assert_one_sentence(done)
    assert ("it is a PDF" if "a.pdf" in content else "No documents found") in done.err
    assert done.out == ""


@pytest.mark.parametrize("command", ["read", "build"])
def test_no_library_is_made_of_nothing(run: Run, tmp_path: Path, command: str) -> None:
    """There is nothing to replace or open afterwards, and the folder can be reused."""
    (tmp_path / "papers").mkdir()
    lib = tmp_path / "lib"
    done = run(command, tmp_path / "papers", "-o", lib)
    assert (done.code, done.out) == (1, "")
    assert f"No library was made at {lib}" in done.err
    assert not lib.exists()
    assert f"no library at {lib}: create one" in run("info", lib).err
    papers(tmp_path / "papers", a=BODY)
    done = run(command, tmp_path / "papers", "-o", lib)
    assert done.code == 0
    assert "replaced" not in done.err


def test_a_missing_path_is_reported_before_a_replacement(
    run: Run, library: Path, tmp_path: Path
) -> None:
    """Only the missing path is reported."""
    for command in ("read", "build"):
        done = run(command, tmp_path / "nowhere", "-o", library)
        assert done.code == 2
        assert_one_sentence(done)


def make_file(folder: Path) -> None:
    """A file in place of a folder."""
    (folder / "lib").write_text("x", "utf-8")


def make_others(folder: Path) -> None:
    """A folder with other files."""
    papers(folder / "lib", thesis=BODY)


def make_newer(folder: Path) -> None:
    """A library of a newer version."""
    (folder / "lib").mkdir()
    state = {"format": RECORDS_FORMAT + 1, "generation": 1}
    (folder / "lib" / "library.json").write_text(json.dumps(state), "utf-8")


def make_unfinished(folder: Path) -> None:
    """A library whose reading was interrupted."""
    (folder / "lib" / "generations" / "1").mkdir(parents=True)


def make_nothing(_folder: Path) -> None:
    """No library."""


@pytest.mark.parametrize(
    ("make", "arguments", "code", "sentence"),
    [
        (make_nothing, "read nowhere -o lib", 2, "nothing to read at nowhere"),
        (make_file, "read papers -o lib", 2, "lib is a file: choose a folder"),
        (make_file, "read papers -o lib/deeper", 1, "cannot create the folder lib/deeper"),
        (make_others, "read papers -o lib", 2, "lib contains other files"),
        (make_others, "read papers -o papers", 2, "papers contains other files"),
        (make_newer, "read papers -o lib", 1, "made by a newer version"),
        (make_nothing, "info lib", 2, "no library at lib: create one with"),
        (make_file, "info lib", 2, "lib is a file, not a library folder"),
        (make_newer, "info lib", 1, "made by a newer version"),
        (
            make_unfinished,
            "info lib",
            2,
            "run its `eqemb build` again, with --resume",
        ),
        (make_nothing, "show lib a", 2, "no library at lib"),
        (make_others, "show lib thesis", 2, "no library at lib"),
        (make_others, "demo -o lib", 2, "lib contains other files"),
    ],
)
def test_usage_errors_are_one_line(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[Path], None],
    arguments: str,
    code: int,
    sentence: str,
) -> None:
    """With the reason, its exit code, and nothing on stdout."""
    papers(tmp_path / "papers", a=BODY, b=BODY)
    make(tmp_path)
    monkeypatch.chdir(tmp_path)
    done = run(*arguments.split())
    assert (done.code, done.out) == (code, "")
    assert_one_sentence(done)
    assert sentence in done.err


@pytest.mark.parametrize(
    "arguments",
    [
        *("read papers", "read -o lib", "read papers -o lib --jobs 0", "show", "raed papers"),
        *("read papers -o lib --jobs many", "info lib --yaml", "info", "demo --strict 1"),
    ],
)
def test_wrong_arguments_are_usage_errors(run: Run, arguments: str) -> None:
    """Exit 2, with a message on stderr."""
    done = run(*arguments.split())
    assert (done.code, done.out) == (2, "")
    assert_one_sentence(done)
    assert re.search(r"\(see `eqemb( read| show| info| demo)? --help`\)$", done.err)


def test_a_misspelt_article_gets_suggestions(run: Run, library: Path) -> None:
    """One sentence, and exit code 2."""
    done = run("show", library, "own/frist")
    assert (done.code, done.out) == (2, "")
    assert_one_sentence(done)
    assert "did you mean own/first" in done.err


def test_an_article_is_found_without_its_folder(run: Run, library: Path) -> None:
    """Where only one article ends like that."""
    assert run("show", library, "first") == run("show", library, "own/first")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no /proc here")
def test_a_folder_that_cannot_be_made_fails(run: Run, tmp_path: Path) -> None:
    """For example where nobody may write."""
    papers(tmp_path, a=BODY)
    done = run("read", tmp_path, "-o", "/proc/library")
    assert (done.code, done.out) == (1, "")
    assert_one_sentence(done)
    assert "cannot create the folder /proc/library" in done.err


@pytest.mark.skipif(ROOT, reason="root may write everywhere")
def test_a_read_only_folder_fails(run: Run, tmp_path: Path) -> None:
    """With and without a library in it."""
    papers(tmp_path / "papers", a=BODY)
    for _ in range(2):
        (tmp_path / "lib").mkdir(exist_ok=True)
        (tmp_path / "lib").chmod(0o555)
        done = run("read", tmp_path / "papers", "-o", tmp_path / "lib")
        (tmp_path / "lib").chmod(0o755)
        assert done.code == 1
        assert_one_sentence(done)
        run("read", tmp_path / "papers", "-o", tmp_path / "lib")


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (PermissionError(13, "Permission denied", "x"), 1, "eqemb: x: Permission denied; change"),
        (OSError(28, "No space left on device", "x"), 1, "eqemb: x: No space left on device; free"),
        (OSError("odd"), 1, "eqemb: odd"),
        (KeyboardInterrupt(), 130, "eqemb: interrupted"),
    ],
)
def test_system_errors_are_one_line(
    run: Run,
    library: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
    sentence: str,
) -> None:
    """With the file, if there is one."""

    def fail(_folder: Path) -> None:
        raise error

    monkeypatch.setattr(Library, "open", fail)
    done = run("info", library)
    assert (done.code, done.out) == (code, "")
    assert_one_sentence(done)
    assert done.err.startswith(sentence)


def test_damaged_records_are_one_line(run: Run, tmp_path: Path) -> None:
    """Wherever the damage shows."""
    corpus(tmp_path / "papers", 60)
    run("read", tmp_path / "papers", "-o", tmp_path / "lib", "--json")
    (path,) = tmp_path.glob("lib/segments/*/records.sqlite")
    data = path.read_bytes()
    codes = []
    for kept in range(0, len(data), len(data) // 12):
        path.write_bytes(data[:kept] + b"\xff" * (len(data) - kept))
        done = run("show", tmp_path / "lib", "set1/paper004")
        codes.append(done.code)
        if done.code:
            assert_one_sentence(done)
    assert codes[0] == codes[3] == 1
    assert set(codes) <= {0, 1}


# -- resuming


def test_resume_continues(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other papers are rejected."""
    papers(tmp_path / "papers", a=BODY, b=BODY)
    arguments = ("read", tmp_path / "papers", "-o", tmp_path / "lib", "--json")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(build, "update_near_pairs", interrupt)
        assert run(*arguments) == (
            *(130, "", "eqemb: interrupted; finished papers are kept, continue with --resume\n"),
        )
    (tmp_path / "others").mkdir()
    done = run("read", tmp_path / "others", "-o", tmp_path / "lib", "--resume")
    assert (done.code, done.out) == (2, "")
    assert_one_sentence(done)
    assert "start again without --resume" in done.err
    assert json.loads(run(*arguments, "--resume").out)["articles"] == 2


def test_a_new_reading_replaces_the_old(tmp_path: Path, run: Run) -> None:
    """Without a prompt, and only once it is complete."""
    folder = papers(tmp_path / "papers", a=BODY, b=BODY)
    for count in (2, 3):
        run("read", folder, "-o", tmp_path / "lib")
        assert json.loads(run("info", tmp_path / "lib", "--json").out)["articles"] == count
        (folder / "c.tex").write_text(paper(BODY), "utf-8")


# -- changes


def test_add_and_remove(run: Run, tmp_path: Path) -> None:
    """What was done is one line; what was not done is on stderr."""
    papers(tmp_path / "papers", a=BODY, b=BODY)
    assert run("build", tmp_path / "papers", "-o", tmp_path / "lib").code == 0
    papers(tmp_path / "papers", c=BODY)
    done = run("add", tmp_path / "lib", tmp_path / "papers")
    assert (done.code, done.out) == (
        0,
        f"1 article added to {tmp_path / 'lib'}, 0 sources skipped\n",
    )
    assert "2 already in the library (--replace reads them again): a, b" in done.err
    done = run("remove", tmp_path / "lib", "a", "--json")
    assert (done.code, json.loads(done.out)) == (0, {"articles": 1, "names": ["a"]})
    done = run("remove", tmp_path / "lib", "a")
    assert done.code == 2
    assert_one_sentence(done)


def test_a_build_ends_with_what_to_type_next(run: Run, tmp_path: Path) -> None:
    """And says that there was too little text to train on."""
    papers(tmp_path / "papers", a=BODY, b=BODY)
    done = run("build", tmp_path / "papers", "-o", tmp_path / "lib")
    assert done.code == 0
    assert re.search(r"^words in the model +none$", done.out, re.MULTILINE)
    assert "no model of its own, search uses words, structure and the base model: " in done.err
    assert f"next: eqemb search {tmp_path / 'lib'} WORDS\n" in done.err
    assert f"eqemb similar {tmp_path / 'lib'} 'a#1'\n" in done.err
    found = json.loads(run("build", tmp_path / "papers", "-o", tmp_path / "lib", "--json").out)
    assert found["model"]["sha256"] is None


def test_a_build_trains_on_the_given_device(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The device is recorded as a step; an unknown one is rejected before reading."""
    papers(tmp_path / "papers", a=BODY, b=BODY)
    done = run("build", tmp_path / "papers", "-o", tmp_path / "lib", "--device", "abacus")
    assert (done.code, "device must be" in done.err) == (2, True)
    assert_one_sentence(done)
    monkeypatch.setattr("eqemb.models.devices.find_spec", lambda _: None)
    done = run("build", tmp_path / "papers", "-o", tmp_path / "lib", "--device", "cuda")
    assert (done.code, "needs torch" in done.err) == (2, True)
    assert_one_sentence(done)
    assert not (tmp_path / "lib").exists()
    monkeypatch.setattr("eqemb.models.bernoulli.gpu_problem", lambda: "")
    assert run("build", tmp_path / "papers", "-o", tmp_path / "lib", "--device", "auto").code == 0
    with Library.open(tmp_path / "lib") as library:
        settings = library.steps[0]["model"]["settings"]
        assert settings == {"device": "cpu", "deterministic": True}


def test_a_build_computes_the_map(run: Run, tmp_path: Path) -> None:
    """Unless told not to, or there is no equation."""
    papers(tmp_path / "papers", a=BODY, b=BODY)
    papers(tmp_path / "prose", a=r"\documentclass{article}\begin{document}Words.\end{document}")
    for given, options, mapped in (
        ("papers", [], 1),
        ("papers", ["--no-map"], 0),
        ("prose", [], 0),
    ):
        assert run("build", tmp_path / given, "-o", tmp_path / "lib", *options).code == 0
        assert len([*(tmp_path / "lib").glob("generations/*/map/map.json")]) == mapped


def test_repro_says_what_differs(run: Run, tmp_path: Path) -> None:
    """With exit 3; changed papers are named."""
    papers(tmp_path / "papers", a=BODY, b=BODY)
    assert run("build", tmp_path / "papers", "-o", tmp_path / "lib").code == 0
    done = run("repro", tmp_path / "lib")
    assert done.code == 0
    assert "same     records\n" in done.out
    papers(tmp_path / "papers", a=BODY + " More.")
    done = run("repro", tmp_path / "lib")
    assert (done.code, "changed  a\n" in done.out) == (3, True)
    assert "differs  records\n" in done.out
    found = json.loads(run("repro", tmp_path / "lib", "--json").out)
    assert (found["agrees"], found["changed"]) == (False, ["a"])


def test_equations_are_exported(run: Run, library: Path, tmp_path: Path) -> None:
    """In the format of the file name."""
    done = run("export", library, "-o", tmp_path / "out.jsonl", "--json")
    found = json.loads(done.out)
    lines = (tmp_path / "out.jsonl").read_text("utf-8").splitlines()
    assert (done.code, found["rows"], found["without_vector"]) == (0, len(lines), 0)
    assert "own/first#1" in {json.loads(line)["name"] for line in lines}
    done = run("export", library, "-o", tmp_path / "out.txt")
    assert done.code == 2
    assert_one_sentence(done)


def test_info_prints_the_history(run: Run, tmp_path: Path) -> None:
    """What was built, added and removed, and which models are older."""
    papers(tmp_path / "papers", a=BODY, b=BODY)
    run("build", tmp_path / "papers", "-o", tmp_path / "lib")
    settings = ("--model", "words", "--dim", "2", "--iterations", "1", "--min-count", "1")
    assert run("train", tmp_path / "lib", *settings, "--top", "0", "--no-split").code == 0
    assert "older than" not in run("info", tmp_path / "lib").out
    papers(tmp_path / "papers" / "more", c=BODY, d=BODY)
    run("add", tmp_path / "lib", tmp_path / "papers" / "more")
    run("remove", tmp_path / "lib", "a")
    done = run("info", tmp_path / "lib")
    assert done.code == 0
    assert f"history  build {tmp_path / 'papers'}\n" in done.out
    assert f"history  add {tmp_path / 'papers' / 'more'}\nhistory  remove a\n" in done.out
    assert "model    none: " in done.out
    assert re.search(r"^trained  words: words, .*; older than the library$", done.out, re.MULTILINE)
    found = json.loads(run("info", tmp_path / "lib", "--json").out)
    assert found["models"]["words"]["current"] is False
