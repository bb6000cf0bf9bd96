"""The structure of the package: layers, one owner for each thing, sizes, names, dependencies.

These tests read the source with `ast` and do not import it.
"""

import ast
import functools
import graphlib
import os
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import eqemb

#: The layers, lowest first. A module imports only from lower layers and from its own package;
#: packages of one layer do not import each other. Imports inside functions count. "eqemb" is the
#: package's `__init__`, which loads public names on first use.
LAYERS = [
    {"errors"},
    {"article"},
    {"checks"},
    {"storage"},
    {"sources", "formula", "kernels"},
    {"readers", "symbols", "arxiv", "corpus"},
    {"library"},
    {"models"},
    {"index"},
    {"search"},
    {"facade"},
    {"eqemb"},
    {"evaluation", "planning", "server", "sklearn"},
    {"cli"},
    {"__main__"},
]
LAYER_OF = {package: number for number, layer in enumerate(LAYERS) for package in layer}

#: These packages may import anything inside functions, so that `eqemb --help` starts fast.
LAZY = {"eqemb", "cli", "__main__"}
#: So may these modules: opening a library to search it must not load the code that builds one, and
#: the server runs without the packages of the MCP server.
LAZY_MODULES = {"eqemb.facade.library", "eqemb.server.app"}

#: Modules that load Numba, for large libraries alone: they are imported inside functions, so that a
#: search of a small one starts fast.
LOADS_NUMBA = {"eqemb.index.candidates"}

#: Packages that any module may import inside a function: they are slow to import or optional.
HEAVY = {
    "faiss",
    "fastapi",
    "filelock",
    "fsspec",
    "gensim",
    "HanTa",
    "matplotlib",
    "model2vec",
    "nltk",
    "numba",
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "ray",
    "rich",
    "scipy",
    "sentence_transformers",
    "torch",
    "umap",
    "uvicorn",
    "watchfiles",
}

#: Modules that need an extra: they may import its packages at the top of the file.
EXTRA_OF = {
    "eqemb.server.agents": "mcp",
    "eqemb.server.ray_parts": "ray",
    "eqemb.server": "serve",
    "eqemb.sklearn": "sklearn",
    "eqemb.kernels.device_cache": "gpu",
    "eqemb.kernels.gpu": "gpu",
    "eqemb.kernels.gpu_memory": "gpu",
    "eqemb.kernels.torch_steps": "gpu",
    "eqemb.kernels.triton_steps": "gpu",
}
#: Distributions whose import name is another one.
IMPORT_NAMES = {
    "faiss-cpu": "faiss",
    "umap-learn": "umap",
    "math-core": "math_core",
    "PyStemmer": "Stemmer",
    "scikit-learn": "sklearn",
    "sentence-transformers": "sentence_transformers",
}
#: Distributions that no file imports, and what uses them.
TOOLS = {
    "pytest-xdist": "make test runs pytest -n",
    "mypy": "make lint",
    "ruff": "make lint",
    "mkdocstrings": "a plugin that mkdocs.yml names",
    "Pygments": "the codehilite extension that mkdocs.yml names",
    "ipykernel": "nbclient starts it to run the notebooks",
    "httpx2": "starlette.testclient imports it",
}

#: Names that say nothing to a newcomer, as words of an identifier, as classes and as modules.
BANNED_WORDS = {"courier", "workshop", "standings", "wording", "outlines"}
BANNED_CLASSES = {"Desk", "Kept", "Visitor"}
BANNED_MODULES = {"meaning", *BANNED_WORDS}

LONGEST_MODULE, LONGEST_FUNCTION = 500, 80
SQL = re.compile(
    r"\b(SELECT\s+\S|INSERT\s+(OR\s+\w+\s+)?INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM"
    r"|CREATE\s+(TABLE|INDEX|TEMP)|DROP\s+TABLE|PRAGMA\s+\w)"
)


ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "eqemb"
COMMAND = Path(sys.executable).with_name("eqemb")


class Import(NamedTuple):
    """One imported module, and whether the import stands inside a function."""

    module: str
    lazy: bool
    line: int


def module_name(path: Path) -> str:
    """`src/eqemb/formula/tree.py` is `eqemb.formula.tree`; an `__init__.py` is its folder."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@functools.cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text("utf-8"))


def place(module: str) -> str:
    """The package or top-level module that one of our modules belongs to."""
    return "eqemb" if module == "eqemb" else module.split(".")[1]


def named_modules(node: ast.Import | ast.ImportFrom, inside: str) -> Iterator[str]:
    """The modules that an import statement names; `from eqemb import __version__` is none."""
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


@functools.cache
def imports(module: str) -> list[Import]:
    """Everything that one of our modules imports, anywhere in the file."""
    found: list[Import] = []

    def visit(node: ast.AST, *, lazy: bool) -> None:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.extend(Import(name, lazy, node.lineno) for name in named_modules(node, module))
        lazy = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            visit(child, lazy=lazy)

    visit(tree(MODULES[module]), lazy=False)
    return found


def named(module: str) -> list[Import]:
    """Modules of ours that a module names in a string, as for `import_module` or `python -m`."""
    return [
        Import(node.value, lazy=True, line=node.lineno)
        for node in ast.walk(tree(MODULES[module]))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value in MODULES
        and node.value != "eqemb"
    ]


def nodes(*kinds: type[ast.AST]) -> Iterator[tuple[str, ast.AST]]:
    """The nodes of these kinds in all our modules, each with its module."""
    for module, path in MODULES.items():
        for node in ast.walk(tree(path)):
            if isinstance(node, kinds):
                yield module, node


# ---------------------------------------------------------------- layers


def test_every_package_has_a_layer() -> None:
    """A new package takes its place in `LAYERS`, and `LAYERS` names only what exists."""
    assert {place(module) for module in MODULES} == set(LAYER_OF)
    assert sum(map(len, LAYERS)) == len(LAYER_OF)


def test_few_modules_at_the_top_level() -> None:
    """The list of folders is enough to find the place for a change."""
    assert len(list(PACKAGE.glob("*.py"))) <= 5


def test_the_drawing_shows_every_package() -> None:
    """The drawing in CONTRIBUTING.md has every package of `LAYERS`, highest first."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    drawing = text.split("```text\n")[1].split("```")[0]
    shown = [word for word in re.findall(r"^ {0,2}(\w+)", drawing, re.MULTILINE) if word != "eqemb"]
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert set(shown) == packages
    assert [LAYER_OF[name] for name in shown] == sorted(
        (LAYER_OF[name] for name in shown), reverse=True
    )


def test_imports_go_down() -> None:
    """A module imports only from lower layers and its own package, even inside functions."""
    assert not [
        f"{module}:{line} imports {name}"
        for module in MODULES
        for name, _, line in [*imports(module), *named(module)]
        if name.split(".")[0] == "eqemb"
        and place(name) != place(module)
        and LAYER_OF[place(name)] >= LAYER_OF[place(module)]
    ]


def test_no_import_cycle() -> None:
    """Modules do not import each other in a circle, not even within a package."""
    graph = {
        module: {name for name, _, _ in imports(module) if name in MODULES} for module in MODULES
    }
    tuple(graphlib.TopologicalSorter(graph).static_order())


def test_lazy_imports_are_of_heavy_packages() -> None:
    """Only the packages in `LAZY` import anything else inside functions."""
    assert not [
        f"{module}:{line} imports {name}"
        for module in MODULES
        if place(module) not in LAZY and module not in LAZY_MODULES
        for name, lazy, line in imports(module)
        if lazy and name.split(".")[0] not in HEAVY and name not in LOADS_NUMBA
    ]


# ---------------------------------------------------------------- one owner for each thing


def test_sql_stands_only_in_the_database_module() -> None:
    """Everybody else calls methods of `Records`."""
    found = [
        f"{module}:{node.lineno}"
        for module, node in nodes(ast.Constant)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and SQL.search(node.value)
    ]
    owner = "eqemb.library.database"
    assert any(place.startswith(owner) for place in found)  # the search finds SQL
    assert not [place for place in found if not place.startswith(owner)]


def test_one_module_finds_the_cache_of_the_user() -> None:
    """The others ask it for a folder."""
    assert {
        module
        for module, node in nodes(ast.Constant)
        if isinstance(node, ast.Constant) and node.value == "XDG_CACHE_HOME"
    } == {"eqemb.storage.cache"}


def test_no_two_classes_have_one_name() -> None:
    """A class name finds one class in the whole package."""
    places = defaultdict(list)
    for module, node in nodes(ast.ClassDef):
        assert isinstance(node, ast.ClassDef)
        places[node.name].append(module)
    assert not {name: modules for name, modules in places.items() if len(modules) > 1}


def constants(module: str) -> Iterator[tuple[str, str]]:
    """The names in capitals that a module assigns at its top level, with the code of the value."""
    for node in tree(MODULES[module]).body:
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value:
            targets, value = [node.target], node.value
        else:
            continue
        for target in targets:
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = list(zip(target.elts, value.elts, strict=True))
            for name, code in pairs:
                if isinstance(name, ast.Name) and re.fullmatch(r"_?[A-Z][A-Z0-9_]+", name.id):
                    yield name.id, ast.unparse(code)


def test_no_two_constants_of_one_name_differ() -> None:
    """A constant that two modules define under one name has one value."""
    values: dict[str, dict[str, str]] = defaultdict(dict)
    for module in MODULES:
        for name, value in constants(module):
            values[name][module] = value
    assert not {
        name: list(places) for name, places in values.items() if len(set(places.values())) > 1
    }


# ---------------------------------------------------------------- processes

#: Functions that start a process, and the functions of `storage.process` that each call must use:
#: in its arguments, or in a `with` statement around it.
STARTS_PROCESS = {
    "subprocess.Popen": {"python_command", "python_environment"},
    "asyncio.create_subprocess_exec": {"python_command", "python_environment"},
    "concurrent.futures.ProcessPoolExecutor": {"safe_spawn"},
    "ray.init": {"empty_current_folder"},
}
#: Functions that are not to be called at all, by the start of their names.
REFUSED_STARTS = (
    *("subprocess.run", "subprocess.call", "subprocess.check_", "subprocess.get"),
    *("os.exec", "os.spawn", "os.posix_spawn", "os.fork", "os.system", "os.popen", "pty."),
    *("asyncio.create_subprocess_shell", "multiprocessing.Process", "multiprocessing.Pool"),
)
#: Methods of any object that start processes, as those of a context of `multiprocessing`.
STARTING_METHODS = {"Process", "Pool", "Manager"}


def imported_names(module: str) -> dict[str, str]:
    """What each imported name of a module stands for."""
    found: dict[str, str] = {}
    for node in ast.walk(tree(MODULES[module])):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
        elif isinstance(node, ast.Import):
            found |= {one.asname: one.name for one in node.names if one.asname}
    return found


def dotted(node: ast.AST) -> str:
    """A name with its attributes, as `os.path.join`; '' before attributes of anything else."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def called_names(*parts: ast.AST) -> set[str]:
    """The plain names of the functions that are called in some parts of the code."""
    calls = [node for part in parts for node in ast.walk(part) if isinstance(node, ast.Call)]
    return {call.func.id for call in calls if isinstance(call.func, ast.Name)}


def process_starts(module: str) -> Iterator[tuple[str, int, set[str]]]:
    """Calls that start a process: the function, the line, and what is called in or around it."""
    names = imported_names(module)

    def visit(node: ast.AST, around: set[str]) -> Iterator[tuple[str, int, set[str]]]:
        if isinstance(node, ast.Call):
            first, _, rest = dotted(node.func).partition(".")
            name = f"{names.get(first, first)}.{rest}".removesuffix(".")
            is_start = name in STARTS_PROCESS or name.startswith(REFUSED_STARTS)
            if is_start or name.rpartition(".")[2] in STARTING_METHODS:
                inside = called_names(*node.args, *(one.value for one in node.keywords))
                yield name, node.lineno, around | inside
        if isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:  # a manager is entered before the next one is made
                yield from visit(item, around)
                around = around | called_names(item.context_expr)
            for statement in node.body:
                yield from visit(statement, around)
            return
        for child in ast.iter_child_nodes(node):
            yield from visit(child, around)

    return visit(tree(MODULES[module]), set())


def test_every_process_is_started_without_the_current_folder() -> None:
    """A folder of papers may contain a `numpy.py`, which a careless child would import."""
    found = [(module, *start) for module in MODULES for start in process_starts(module)]
    assert {name for _, name, _, _ in found} >= set(STARTS_PROCESS)  # the search finds them
    assert not [
        f"{module}:{line} {name}"
        for module, name, line, has in found
        if not (needed := STARTS_PROCESS.get(name)) or not needed <= has
    ]


# ---------------------------------------------------------------- sizes and names


def test_modules_are_short() -> None:
    """No module has more than 500 lines."""
    lengths = {name: len(path.read_text("utf-8").splitlines()) for name, path in MODULES.items()}
    assert not {name: lines for name, lines in lengths.items() if lines > LONGEST_MODULE}


def test_functions_are_short() -> None:
    """No function has more than 80 lines."""
    lengths = {}
    for module, node in nodes(ast.FunctionDef, ast.AsyncFunctionDef):
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        lengths[f"{module}.{node.name}"] = (node.end_lineno or 0) - node.lineno + 1
    assert not {name: lines for name, lines in lengths.items() if lines > LONGEST_FUNCTION}


def identifier(node: ast.AST) -> str:
    """The name that a node defines or uses."""
    return next(
        (
            value
            for field in ("name", "id", "attr", "arg")
            if isinstance(value := getattr(node, field, None), str)
        ),
        "",
    )


def test_names_are_those_of_the_field() -> None:
    """Names say what a thing is, in words that people know and can search for."""
    wrong = [name for name in MODULES if BANNED_MODULES & set(name.split("."))]
    for module, node in nodes(ast.AST):
        name = identifier(node)
        words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+", name)}
        if name in BANNED_CLASSES or words & BANNED_WORDS:
            wrong.append(f"{module}:{getattr(node, 'lineno', 0)} {name}")
    assert not wrong


@pytest.mark.parametrize("folder", ["src", "tests", "benchmarks", "docs"])
def test_every_file_says_its_purpose(folder: str) -> None:
    """The first thing in every file is a docstring."""
    files = sorted((ROOT / folder).rglob("*.py"))
    assert not [str(path) for path in files if not ast.get_docstring(tree(path))]


def test_all_is_the_truth() -> None:
    """What `__all__` lists exists and has a docstring; what is ours and public is listed."""
    listed = list(getattr(eqemb, "__all__", []))
    assert listed == sorted(set(listed))
    assert not [name for name in listed if not getattr(eqemb, name).__doc__]
    ours = {
        name
        for name, value in vars(eqemb).items()
        if not name.startswith("_") and getattr(value, "__module__", "").startswith("eqemb")
    }
    assert ours <= set(listed)


# ---------------------------------------------------------------- dependencies


def declared() -> dict[str, set[str]]:
    """The import names of what pyproject.toml declares: "" is the base, others are extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    groups = {"": project["dependencies"], **project["optional-dependencies"]}
    found = {}
    for group, requirements in groups.items():
        names = [re.split(r"[\[<>=!~; ]", one, maxsplit=1)[0] for one in requirements]
        found[group] = {import_name(name) for name in names if name != "eqemb" if name not in TOOLS}
    return found


def import_name(distribution: str) -> str:
    """What a distribution is imported as."""
    return IMPORT_NAMES.get(distribution, distribution)


def is_third_party(module: str) -> bool:
    """Whether a module comes neither with Python nor from this repository."""
    top = module.split(".", maxsplit=1)[0]
    return top != "eqemb" and top not in sys.stdlib_module_names


def imported_by_tests() -> set[str]:
    """What tests and the scripts and pages of the documentation import, by any means."""
    texts = [path.read_text("utf-8") for path in (ROOT / "tests").rglob("*.py")]
    texts += [path.read_text("utf-8") for path in (ROOT / "docs").rglob("*.py")]
    texts += [path.read_text("utf-8") for path in (ROOT / "docs").rglob("*.md")]
    pattern = r"^\s*(?:import|from) (\w+)|importorskip\(\s*[\"'](\w+)"
    found = re.findall(pattern, "\n".join(texts), re.MULTILINE)
    return {one or other for one, other in found}


def test_imports_are_declared() -> None:
    """What a module imports when it is loaded comes with it; the rest is in some extra."""
    groups = declared()
    anywhere = set().union(*(names for group, names in groups.items() if group != "dev"))
    wrong = []
    for module in MODULES:
        extra = next(
            (EXTRA_OF[name] for name in EXTRA_OF if f"{module}.".startswith(f"{name}.")), ""
        )
        for name, lazy, line in imports(module):
            known = anywhere if lazy else groups[""] | groups[extra]
            if is_third_party(name) and name.split(".")[0] not in known:
                wrong.append(f"{module}:{line} imports {name}")
    assert not wrong


@pytest.mark.parametrize("group", sorted(declared()))
def test_what_is_declared_is_imported(group: str) -> None:
    """A dependency that nothing imports is dropped."""
    used = {name.split(".")[0] for module in MODULES for name, _, _ in imports(module)}
    if group in {"dev", "docs"}:
        used |= imported_by_tests()
    assert not declared()[group] - used


def test_dependencies_are_explained() -> None:
    """docs/dependencies.md says what each declared package is for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    names = {re.split(r"[\[<>=!~; ]", one, maxsplit=1)[0] for names in lists for one in names}
    page = (ROOT / "docs" / "dependencies.md").read_text("utf-8")
    listed = set(re.findall(r"[\w-]+", page))
    assert not names - {"eqemb"} - listed


# ---------------------------------------------------------------- the command


def run_eqemb(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command as installed."""
    return subprocess.run(
        [COMMAND, *arguments], capture_output=True, encoding="utf-8", check=False, timeout=60
    )


def test_version() -> None:
    """`eqemb --version` prints the package's version to standard output."""
    done = run_eqemb("--version")
    assert done.returncode == 0, done.stderr
    assert eqemb.__version__ in done.stdout


def test_help_names_the_commands() -> None:
    """`eqemb --help` lists the commands."""
    done = run_eqemb("--help")
    assert done.returncode == 0, done.stderr
    assert not [name for name in ("read", "show", "info", "demo") if name not in done.stdout]


def test_help_imports_nothing_heavy() -> None:
    """`eqemb --help` loads no scientific package."""
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
def test_help_is_fast() -> None:
    """`eqemb --help` takes less than 0.3 seconds of processor time, on the best of five runs."""
    seconds = []
    for _ in range(5):
        start = os.times()
        run_eqemb("--help")
        end = os.times()
        children = end.children_user + end.children_system
        seconds.append(children - start.children_user - start.children_system)
    assert 0 < min(seconds) < 0.3


def test_unknown_command_is_a_usage_error() -> None:
    """A misspelt command exits with 2 and prints nothing to standard output."""
    done = run_eqemb("raed")
    assert done.returncode == 2
    assert not done.stdout
