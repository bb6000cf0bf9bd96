"""The house itself: what may import what, what starts fast, and documents that tell the truth.

Reading the source, not running it, decides about imports; the command is run as users run it.
What the demo articles must yield stands in `test_demo.py`.
"""

import ast
import graphlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from rich.cells import cell_len

import eqemb

#: The layers, lowest first. A module imports only from lower layers and from its own package;
#: packages of one layer do not import each other. Imports inside functions count. "eqemb" is the
#: package's `__init__`, which loads public names on first use.
LAYERS = [
    {"errors", "article"},
    {"storage"},
    {"sources", "formula", "kernels"},
    {"readers", "arxiv", "corpus"},
    {"library"},
    {"models"},
    {"index"},
    {"search"},
    {"facade"},
    {"eqemb"},
    {"evaluation", "server"},
    {"cli"},
    {"__main__"},
]
LAYER_OF = {package: number for number, layer in enumerate(LAYERS) for package in layer}

#: These may import anything inside functions, to start at once.
LAZY = {"eqemb", "cli", "__main__"}
#: This one too: who opens a library to ask it does not load what builds one.
LAZY_MODULES = {"eqemb.facade.library"}

#: Packages that any module may import inside a function.
HEAVY = {
    "faiss",
    "fastapi",
    "filelock",
    "gensim",
    "HanTa",
    "matplotlib",
    "nltk",
    "numba",
    "numpy",
    "pandas",
    "pyarrow",
    "rich",
    "safetensors",
    "scipy",
    "torch",
    "umap",
    "uvicorn",
}

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "eqemb"
README = ROOT / "README.md"
COMMAND = Path(sys.executable).with_name("eqemb")


class Import(NamedTuple):
    """One imported module, and whether the import waits inside a function."""

    module: str
    lazy: bool
    line: int


def module_name(path: Path) -> str:
    """`src/eqemb/latex/tokens.py` is `eqemb.readers.latex.tokens`, an `__init__.py` its folder."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def place(module: str) -> str:
    """The package or top-level module that a module of ours belongs to."""
    return "eqemb" if module == "eqemb" else module.split(".")[1]


def named_modules(node: ast.Import | ast.ImportFrom, inside: str) -> Iterator[str]:
    """The modules an import statement names; `__version__` and its like are no dependency."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    base = node.module or ""
    if node.level:
        here = inside.split(".")
        depth = len(here) - node.level + (MODULES[inside].name == "__init__.py")
        base = ".".join(here[:depth] + ([base] if base else []))
    for alias in node.names:
        if f"{base}.{alias.name}" in MODULES:
            yield f"{base}.{alias.name}"
        elif not (base == "eqemb" and alias.name.startswith("__")):
            yield base


def imports(module: str) -> list[Import]:
    """Everything a module of ours imports, wherever in the file."""
    found: list[Import] = []

    def visit(node: ast.AST, *, lazy: bool) -> None:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.extend(Import(name, lazy, node.lineno) for name in named_modules(node, module))
        lazy = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            visit(child, lazy=lazy)

    visit(ast.parse(MODULES[module].read_text("utf-8")), lazy=False)
    return found


def run_eqemb(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command as installed."""
    return run(COMMAND, *arguments)


def run(
    *command: str | Path, cwd: Path | None = None, timeout: int = 60
) -> subprocess.CompletedProcess[str]:
    """Run a program without colours and at a fixed width."""
    environment = {**os.environ, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "100"}
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        cwd=cwd,
        env=environment,
        timeout=timeout,
    )


def test_every_package_has_a_layer() -> None:
    """A new package takes its place in `LAYERS`, and a layer names only what exists."""
    assert {place(module) for module in MODULES} == set(LAYER_OF)
    assert sum(map(len, LAYERS)) == len(LAYER_OF)


def test_few_modules_at_the_top_level() -> None:
    """A newcomer finds the room for a change from the list of packages."""
    assert len(list(PACKAGE.glob("*.py"))) <= 5


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_down(module: str) -> None:
    """A module imports only from lower layers and its own package, lazily or not."""
    here = place(module)
    wrong = [
        f"line {line}: {name}"
        for name, _, line in imports(module)
        if name.split(".")[0] == "eqemb"
        and place(name) != here
        and LAYER_OF[place(name)] >= LAYER_OF[here]
    ]
    assert not wrong


def test_no_import_ring() -> None:
    """Not even within a package do modules import each other in a circle, lazily or not."""
    graph = {
        module: {name for name, _, _ in imports(module) if name in MODULES} for module in MODULES
    }
    tuple(graphlib.TopologicalSorter(graph).static_order())


@pytest.mark.parametrize("module", MODULES)
def test_lazy_imports_are_of_heavy_packages(module: str) -> None:
    """Only `cli` and the package's face hide other imports in functions."""
    wrong = [
        f"line {line}: {name}"
        for name, lazy, line in imports(module)
        if lazy
        and place(module) not in LAZY
        and module not in LAZY_MODULES
        and name.split(".")[0] not in HEAVY
    ]
    assert not wrong


@pytest.mark.parametrize(
    "path",
    [path for folder in ("src", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_every_file_says_its_purpose(path: Path) -> None:
    """The first thing in every file is a docstring."""
    assert ast.get_docstring(ast.parse(path.read_text("utf-8")))


def test_all_is_the_truth() -> None:
    """What `__all__` lists exists and is explained; what is ours and public is listed."""
    listed = list(getattr(eqemb, "__all__", []))
    assert listed == sorted(set(listed))
    assert not [name for name in listed if not getattr(eqemb, name).__doc__]
    ours = {
        name
        for name, value in vars(eqemb).items()
        if not name.startswith("_") and getattr(value, "__module__", "").startswith("eqemb")
    }
    assert ours <= set(listed)


def test_version() -> None:
    """`eqemb --version` prints the package's version to standard output."""
    done = run_eqemb("--version")
    assert done.returncode == 0, done.stderr
    assert eqemb.__version__ in done.stdout


def test_help_names_the_commands() -> None:
    """`eqemb --help` lists what there is to do."""
    done = run_eqemb("--help")
    assert done.returncode == 0, done.stderr
    assert not [name for name in ("read", "show", "info", "demo") if name not in done.stdout]


def test_help_imports_nothing_heavy() -> None:
    """Asking for help costs no scientific package."""
    code = (
        "import sys; from eqemb.cli import main; sys.argv = ['eqemb', '--help']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*sorted({'numba', 'numpy', 'scipy', 'torch'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert "Usage" in done.stdout
    assert not done.stderr.split()


@pytest.mark.slow
def test_help_starts_at_once() -> None:
    """`eqemb --help` takes less than 0.3 seconds, on the best of five runs."""
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        run_eqemb("--help")
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.3


def test_unknown_command_is_a_usage_error() -> None:
    """A wrong word exits with 2 and leaves standard output empty."""
    done = run_eqemb("raed")
    assert done.returncode == 2
    assert not done.stdout


def test_readme_names_only_commands_that_exist() -> None:
    """Each `eqemb WORD` in a code block of the README answers `--help`."""
    blocks = re.findall(
        r"^```console\n(.*?)^```", README.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    words = set(re.findall(r"^\$ eqemb (\w+)", "\n".join(blocks), re.MULTILINE))
    assert words
    assert not {word for word in words if run_eqemb(word, "--help").returncode}


def test_readme_shows_what_the_demo_prints(tmp_path: Path) -> None:
    """What stands between the README's demo marks is what `make demo` prints, and nothing else.

    Make finds a ready environment whose `eqemb` is the one that is tested.
    """
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "eqemb").symlink_to(COMMAND)
    for name in ("pyproject.toml", ".venv/ready"):
        (tmp_path / name).touch()
    makefile = ROOT / "Makefile"
    # loops may have to be compiled first
    done = run("make", "-s", "-f", makefile, "demo", cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr
    printed = [line.rstrip() for line in done.stdout.splitlines()]
    assert max(map(cell_len, printed)) <= 100
    assert "\x1b" not in done.stdout
    block = README.read_text("utf-8").split("<!-- demo -->")[1].split("<!-- /demo -->")[0]
    assert ["```text", *printed, "```"] == block.strip().splitlines()
    assert (tmp_path / "library" / "library.json").exists()
