"""The documentation is correct: generated parts are current, code runs, commands and links exist.

The Python blocks of a page run in order, and so do its command lines, in a folder with `papers/`,
`new-papers/`, and the libraries `library/` and `larger/` made of demo articles. ArXiv is a server
on this machine. Commands that take long or do not end are parsed but not run.
"""

import ast
import fnmatch
import gzip
import io
import re
import shlex
import shutil
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import generate
import pytest
import typer

import eqemb
from campaigns import sample
from eqemb import cli
from eqemb.arxiv import client
from eqemb.cli.app import app
from eqemb.facade import build, model
from eqemb.library.database import RECORDS_FORMAT, SCHEMA
from eqemb.sources import CAUSES
from fake_arxiv import Clock, Entry, serving
from few_articles import DEMO
from snapshots import record, snapshot
from synthetic import read_inline

with suppress(ImportError):
    # what it starts writes errors to the stderr of the moment of import: not to that of a test
    import mcp.client.stdio  # noqa: F401

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = {
    str(path.relative_to(ROOT)): path.read_text("utf-8")
    for path in [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
        *(ROOT / "benchmarks" / name for name in ("README.md", "collections/README.md")),
        *sorted(DOCS.rglob("*.md")),
    ]
}
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NEW_PAPER = r"""\documentclass{article}
\title{A New Paper}
\begin{document}
The distance of two documents is one less the cosine of their vectors,
\begin{equation} d(x, y) = 1 - \cos(x, y). \label{eq:distance} \end{equation}
\end{document}
"""


def blocks(page: str, language: str) -> list[str]:
    """The code blocks of a page in one language, in order."""
    found = (match for match in FENCE.finditer(PAGES[page]) if match[1] == language)
    return [match[2] for match in found]


def test_generated_parts_are_current() -> None:
    """`python docs/generate.py` would change nothing."""
    assert [path.name for path, _ in generate.stale()] == []


# ---------------------------------------------------------------- a folder to work in


def quick_build(*given: Any, **named: Any) -> None:
    """`build_library`, with a model that trains quickly."""
    BUILD(*given, **named | {"model": named.get("model") is not False and QUICK})


#: The papers: those that pages ask about, and some more.
ARTICLES = sample(sorted(str(path.relative_to(DEMO)) for path in DEMO.glob("*/*")), 10)
ASKED_FOR = ["nlp/lstm.tex", "nlp/transformer", "ir/cosine", "ir/f-measure.tex"]
ASKED_FOR += ["ir/query-likelihood.tex", "ml/adversarial-networks.tex"]
ARTICLES += [article for article in ASKED_FOR if article not in ARTICLES]
BUILD = build.build_library
QUICK = {"dim": 10, "iterations": 2}


def _add_bulk(folder: Path) -> None:
    """A month tar as in arXiv's bulk archive, and a metadata snapshot."""
    (folder / "bulk").mkdir()
    records = []
    with tarfile.open(folder / "bulk" / "arXiv_src_2301_001.tar", "w") as file:
        for number, path in enumerate(sorted((folder / "papers").rglob("*.tex"))):
            data = gzip.compress(path.read_bytes())
            member = tarfile.TarInfo(f"2301/2301.{number:05}.gz")
            member.size = len(data)
            file.addfile(member, io.BytesIO(data))
            of = "cs.LG" if number % 4 else "math.PR"
            records.append(record(f"2301.{number:05}", categories=of))
    snapshot(folder / "arxiv-metadata-oai-snapshot.json", *records)


@pytest.fixture(scope="module")
def workdir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the papers and libraries that the pages mention."""
    folder = tmp_path_factory.mktemp("workdir")
    for article in ARTICLES:
        target = folder / "papers" / article
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (DEMO / article).is_dir() else shutil.copy)(DEMO / article, target)
    (folder / "papers/nlp/transformer").rename(folder / "papers/nlp/1803.09123")
    (folder / "papers/ARTICLE").mkdir()  # a file `article.tex` is named after its folder
    (folder / "papers/nlp/lstm.tex").rename(folder / "papers/ARTICLE/main.tex")
    (folder / "new.tex").write_text(NEW_PAPER, "utf-8")
    with tarfile.open(folder / "more.tar.gz", "w:gz") as file:
        file.add(folder / "new.tex", "more/new.tex")
    _add_bulk(folder)
    for name in ("nlp", "ir", "ai", "ml"):
        (folder / name).symlink_to(folder / "papers" / name)
    with pytest.MonkeyPatch.context() as patch:
        read_inline(patch)
        patch.setattr(build, "build_library", quick_build)
        # the demo's articles are too few to learn from, and pages speak of models
        patch.setattr(model, "LEAST_WORDS", 0)
        patch.setattr(model, "chance", lambda _: -1e9)
        quick_build(folder / "papers", folder / "library")
        shutil.copytree(folder / "library", folder / "larger")
        (folder / "new.tex").rename(folder / "papers" / "new.tex")
        yield folder


@pytest.fixture
def arxiv(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A server in place of arXiv, with one paper, and a clock that does not wait."""
    with serving(Clock()) as server:
        source = gzip.compress(NEW_PAPER.encode())
        server.papers.append(Entry("1503.00001", source, ("cs.CL", "cs.IR"), "2015-03-01"))
        monkeypatch.setattr(client, "Site", lambda: server.site)
        monkeypatch.setattr(client, "Client", server.clock.client)
        yield


# ---------------------------------------------------------------- Python


@pytest.mark.usefixtures("arxiv")
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # pages do not close libraries
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")])
def test_python_runs(
    page: str, workdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Python blocks of a page run, in order."""
    monkeypatch.chdir(shutil.copytree(workdir, tmp_path / "workdir", symlinks=True))
    names: dict[str, object] = {"__name__": "page"}
    for code in blocks(page, "python"):
        exec(compile(code, page, "exec"), names)  # noqa: S102 - that is the test
    for value in names.values():
        if isinstance(value, eqemb.Library):
            value.close()


# ---------------------------------------------------------------- commands


def command_lines(page: str) -> list[list[str]]:
    """The command lines of a page up to a pipe, each as a list of words."""
    found = []
    for block in blocks(page, "console"):
        for line in re.findall(r"^\$ (.*)$", block, re.MULTILINE):
            words = shlex.split(re.sub(r"\s#\s.*", "", line))  # `NAME#4` is not a comment
            end = next((at for at, word in enumerate(words) if word in {"|", ">", "&&"}), None)
            found.append(words[:end])
    return found


def problem(words: list[str]) -> str:
    """What is wrong with a command line; "" if nothing."""
    program, *given = words
    if program == "eqemb":
        commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
        if given and given[0] not in commands:
            return f"no command {given[0]}"
        try:
            commands[given[0]].make_context(given[0], given[1:])
        except Exception as error:  # noqa: BLE001 - typer brings its own click, or the other one
            return str(getattr(error, "message", "") or error)
    elif program == "make":
        targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
        return "" if given[0] in targets else f"no target {given[0]}"
    elif program == "pip":
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
        asked = re.findall(r"\w+", given[1].partition("[")[2])
        return "" if set(asked) <= set(extras["optional-dependencies"]) else f"no extra {asked}"
    elif program == "python":
        return "" if (ROOT / given[0]).exists() else f"no script {given[0]}"
    return ""


def test_wrong_command_lines_are_found() -> None:
    """`problem` finds mistakes, so that the next test can fail."""
    wrong = ["eqemb raed p -o l", "eqemb search l", "eqemb search l w --nope", "make haste"]
    assert all(problem(shlex.split(line)) for line in wrong)
    assert not problem(shlex.split("eqemb search l w --has x"))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "console")])
def test_command_lines_can_be_run(page: str) -> None:
    """Commands, options and their values exist, and no required argument is missing."""
    wrong = [(words, said) for words in command_lines(page) if (said := problem(words))]
    assert not wrong


#: Commands that are not run here, and why.
LEFT_OUT = {
    "serve": "does not end",
    "mcp": "does not end",
    "demo": "is run by test_readme.py",
    "compare": "trains for minutes even with --quick",
    "retrieval": "takes minutes",
    "repro": "rebuilds a library; test_cli.py runs it",
    "--watch": "does not end",
    "--measure": "takes minutes; test_measure.py measures a few papers",
    "--measurements": "needs a file that --measure writes",
    "s3://bucket/arxiv/src": "there is no such store; test_remote.py has one",
    "--engine": "starts a cluster, or needs one; test_ray_cluster.py does",
    "--encoder": "needs a model of others; test_encoder_models.py makes one",
}


def commands_to_run(page: str) -> list[list[str]]:
    """The eqemb commands to run; the pages of benchmarks need real papers."""
    lines = [] if page.startswith("benchmarks/") else command_lines(page)
    return [words for words in lines if words[0] == "eqemb" and LEFT_OUT.keys().isdisjoint(words)]


@pytest.mark.usefixtures("arxiv")
@pytest.mark.parametrize("page", [page for page in PAGES if commands_to_run(page)])
def test_command_lines_succeed(
    page: str,
    workdir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The command lines of a page succeed, in order, and print something."""
    monkeypatch.chdir(shutil.copytree(workdir, tmp_path / "workdir", symlinks=True))
    for program, *given in commands_to_run(page):
        # a preset fixes the number of iterations
        once = ["--iterations", "1"] if given[0] == "train" and "--preset" not in given else []
        monkeypatch.setattr(sys, "argv", [program, *given, *once])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        if "pip install 'eqemb[" in said.err:  # needs an extra that is not installed
            continue
        assert not ended.value.code, f"{shlex.join(given)}: {said.err}"
        assert (said.out + said.err).strip(), f"{shlex.join(given)} prints nothing"


@pytest.mark.parametrize("page", PAGES)
def test_commands_in_the_text_exist(page: str) -> None:
    """`eqemb COMMAND --option` between backquotes names an existing command and options."""
    declared, wrong = generate.declared(), []
    for text in re.findall(r"`eqemb ([a-z][^`]*)`", FENCE.sub("", PAGES[page])):
        command, *rest = text.split()
        options = re.findall(r"(?<!\S)--?[a-z][a-z-]*", " ".join(rest))
        if command in ("help", "version"):  # not listed by --help
            continue
        if command not in declared:
            wrong.append(text)
            continue
        known = {"--help"}
        for key, kind, about, _ in generate.parameters(declared[command]):
            known.update(generate.option_names(key, about, generate.kind_of_value(kind)[0]))
        wrong += [f"{command} {option}" for option in options if option not in known]
    assert not wrong


# ---------------------------------------------------------------- links


def anchors(text: str) -> set[str]:
    """The anchors of the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()).strip() for heading in headings)
    return {re.sub(r" +", "-", heading) for heading in plain}


@pytest.mark.parametrize("page", PAGES)
def test_links_are_valid(page: str) -> None:
    """Linked files and headings exist; addresses on the web are not checked."""
    wrong = []
    for target in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", PAGES[page])):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (ROOT / page).parent / name if name else ROOT / page
        if not path.exists() or (anchor and anchor not in anchors(path.read_text("utf-8"))):
            wrong.append(target)
    assert not wrong


# ---------------------------------------------------------------- references


def test_command_reference_is_what_help_says() -> None:
    """The section of a command has exactly the options that `--help` shows."""
    page, wrong = PAGES["docs/reference/cli.md"], []
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        if command.hidden:
            continue
        section = page.split(f"\n## {name}\n")[1].split("\n## ")[0]
        columns = [line.split(" | ")[0] for line in section.splitlines() if line.startswith("| `")]
        shown = {option for column in columns for option in re.findall(r"`(--?[\w-]+)", column)}
        options = [one for one in command.params if one.param_type_name == "option"]
        told = [one for one in options if not one.hidden and one.name != "help"]
        if shown != {key for one in told for key in (*one.opts, *one.secondary_opts)}:
            wrong.append(name)
    assert not wrong


def test_python_reference_is_complete() -> None:
    """The page has every public name of the package."""
    page = PAGES["docs/reference/api.md"]
    shown = {name.rpartition(".")[2] for name in re.findall(r"^::: (\S+)", page, re.MULTILINE)}
    assert not set(eqemb.__all__) - shown


def test_records_are_described() -> None:
    """The page has the format, every table of the records, and every column."""
    page, wrong = PAGES["docs/reference/formats.md"], []
    assert f'"format": {RECORDS_FORMAT}' in page
    for table, columns in re.findall(r"CREATE TABLE (\w+) \((.*?)\)[^)]*?;", SCHEMA, re.DOTALL):
        found = re.search(rf"^\| `{table}` \|.*$", page, re.MULTILINE)
        described = set(re.findall(r"`(\w+)`", found[0])) if found else set()
        named = re.findall(r'(?:^|,)\s*"?([a-z_]+)"? (?:[A-Z])', columns)
        wrong += [f"{table}.{column}" for column in named if column not in described]
        assert named
    assert not wrong


def test_files_of_an_index_are_described(workdir: Path) -> None:
    """The page names every file of a library and of a model, or a pattern for it."""
    page = PAGES["docs/reference/formats.md"]
    patterns = re.findall(r"`(?:SEGMENT/)?([\w.*]+)`", page)
    patterns += re.findall(r"^ +([\w.]+) ", page, re.MULTILINE)
    parts = [workdir / "library" / part for part in ("generations", "segments", "vectors")]
    files = [path for part in parts for path in part.rglob("*") if path.is_file()]
    undescribed = [
        path.name
        for path in files
        if not any(fnmatch.fnmatch(path.name, pattern) for pattern in patterns)
    ]
    assert files
    assert not undescribed


def sentences() -> str:
    """All string constants in the source; the gaps of f-strings are left out."""
    found = []
    for path in (ROOT / "src" / "eqemb").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = (p.value if isinstance(p, ast.Constant) else "\0" for p in node.values)
                found.append("".join(map(str, parts)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return "\n".join(found)


def test_every_cause_of_a_skip_is_explained() -> None:
    """In the table of the page on reports."""
    rows = re.findall(r"^\| (`.*?`) \|", PAGES["docs/howto/report.md"], re.MULTILINE)
    assert set(CAUSES) <= set(re.findall("`(.*?)`", " ".join(rows)))


def test_quoted_messages_exist() -> None:
    """A message quoted on the troubleshooting page occurs in the source."""
    page, said = PAGES["docs/howto/troubleshooting.md"], sentences()
    quoted = re.findall(r"^\*\*[^`*\n]*`([^`]+)`", page, re.MULTILINE)
    pieces = [
        piece
        for text in quoted
        if " " in text and not text.startswith("--")
        for piece in re.split(r"[ ':]*\.\.\.[ ':]*", text)
        if len(piece) > 3
    ]
    assert len(pieces) > 10
    assert not [piece for piece in pieces if piece.replace("`", "") not in said.replace("`", "")]
