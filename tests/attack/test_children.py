"""Child processes run no code of the current folder, and readers have neither network nor files."""

import json
import socket
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

from campaigns import FULL
from eqemb.storage.process import python_environment
from packing import put
from synthetic import paper, start

#: Modules that the package, its dependencies or Python itself import in a child process.
MODULES = (
    *("json", "pickle", "struct", "random", "typing", "pathlib", "tempfile", "logging", "socket"),
    *("numpy", "typer", "click", "rich", "scipy", "numba", "Stemmer", "safetensors", "eqemb"),
    *("sitecustomize", "usercustomize", "multiprocessing", "concurrent", "asyncio", "ctypes"),
)
#: Commands, in order, that start children of every kind.
COMMANDS = (
    "read papers -o read --jobs 2",
    "build papers -o lib --jobs 2 --no-model",
    "add lib more --root more --jobs 2",
    "update lib --jobs 2",
    "search lib words",
    "info lib",
)


@pytest.fixture
def hostile_folder(tmp_path: Path) -> Path:
    """A folder of papers beside modules that leave a trace when they are run."""
    for name in MODULES:
        text = "import os\nos.close(os.open('executed-' + __name__, os.O_CREAT))\n"
        (tmp_path / f"{name}.py").write_text(text, "utf-8")
    body = r"Some words. \begin{equation} x = %d \end{equation} More words."
    put(tmp_path, {f"papers/{at}.tex": paper(body % at).encode() for at in range(3)})
    put(tmp_path, {"more/9.tex": paper(body % 9).encode()})
    return tmp_path


def test_commands_run_no_code_of_the_current_folder(hostile_folder: Path) -> None:
    """Neither themselves nor in the processes that they start."""
    for command in COMMANDS if FULL else COMMANDS[:1]:
        with start("-P", "-m", "eqemb", *command.split(), cwd=hostile_folder) as process:
            _, err = process.communicate(timeout=600)
        assert process.returncode == 0, err
    assert not [path.name for path in hostile_folder.glob("executed-*")]


#: What a process does with numba: import it as our modules do, and compile a function.
NUMBA = """
from eqemb.kernels import compiling
from numba.core import config
compiling.njit(lambda x: x)(1)
print(config.CACHE_DIR)
"""


def test_numba_reads_no_settings_of_the_current_folder(tmp_path: Path) -> None:
    """They could name a folder of compiled functions, which are pickles."""
    pytest.importorskip("numba")
    pytest.importorskip("yaml", reason="numba reads settings only with PyYAML")
    (tmp_path / ".numba_config.yaml").write_text("cache_dir: compiled\n", "utf-8")
    with start("-P", "-W", "error", "-c", NUMBA, cwd=tmp_path) as process:
        out, err = process.communicate(timeout=600)
    assert (process.returncode, err) == (0, "")
    assert out != "compiled\n"


#: The version of Landlock that refuses signals and abstract sockets.
SCOPES = 6
ATTEMPTS = r"""
import ctypes, json, os, signal, socket, sqlite3, subprocess, sys, threading
from pathlib import Path
from eqemb.storage import confinement
top, without = Path(sys.argv[1]), sys.argv[2].split()
for name in without:
    setattr(confinement, name, lambda *_: False)
active = confinement.confine([str(top / "in")])
c = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None
secret, own, new = (os.fsencode(top / name) for name in ("secret", "in/own", "in/new"))

def connect():
    handle = c.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
    address = b"\x02\0" + int(sys.argv[3]).to_bytes(2, "big") + bytes([127, 0, 0, 1]) + bytes(8)
    return c.connect(handle, address, 16) == 0

def connect_abstract():
    address = b"\1\0\0" + sys.argv[4].encode()
    return c.connect(c.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0), address, len(address)) == 0

def allow(work):
    return lambda: work() is None

version = c.syscall(444, None, ctypes.c_size_t(0), 1) if sys.platform == "linux" else 0
attempts = {
    "read own": lambda: (top / "in/own").read_bytes() == b"own",
    "read secret": lambda: (top / "secret").read_bytes(),
    "read through a link": lambda: (top / "in/link").read_bytes(),
    "read by descriptor": lambda: os.open("secret", os.O_RDONLY, dir_fd=os.open(top, os.O_RDONLY)),
    "list": lambda: os.listdir(top),
    "write": lambda: (top / "in/new").write_bytes(b"x"),
    "remove": lambda: (top / "in/own").unlink(),
    "rename": lambda: (top / "in/own").rename(top / "in/other"),
    "make a folder": lambda: (top / "in/folder").mkdir(),
    "socket": lambda: socket.socket(),
    "look up a name": lambda: socket.getaddrinfo("localhost", 80),
    "start a program": lambda: subprocess.run([sys.executable, "--version"]),
    "start a shell": lambda: os.system("true"),
    "fork": lambda: os.fork(),
    "send a signal": allow(lambda: os.kill(os.getppid(), 0)),
    "send a signal to a group": allow(lambda: os.killpg(os.getpgid(os.getppid()), 0)),
    "send a signal to a thread": allow(lambda: signal.pthread_kill(threading.get_ident(), 0)),
    "change times": allow(lambda: os.utime(top / "in/own")),
    "change attributes": allow(lambda: os.setxattr(top / "in/own", "user.a", b"x")),
    "read attributes": lambda: os.listxattr(top / "secret") is not None,
    "enter a folder": allow(lambda: os.chdir(top / "in")),
    "open a database": lambda: sqlite3.connect(top / "in/new"),
    "in C: read own": lambda: c.open(own, os.O_RDONLY) >= 0,
    "in C: read secret": lambda: c.open(secret, os.O_RDONLY) >= 0,
    "in C: write": lambda: c.creat(new, 0o600) >= 0,
    "in C: connect": connect,
    "in C: connect to an abstract socket": connect_abstract,
    "in C: send a signal": lambda: c.kill(os.getppid(), 0) == 0,
}
done = []
for name, attempt in attempts.items():
    try:
        if attempt():
            done.append(name)
    except (OSError, AttributeError, sqlite3.Error):
        pass
print(json.dumps({"active": active, "done": done, "version": version}))
"""


ABSTRACT = socket.AF_UNIX if sys.platform == "linux" else socket.AF_INET


def attempt(folder: Path, *without: str) -> dict[str, Any]:
    """Try what a reader must not do, in a confined process without some protections."""
    put(folder, {"in/own": b"own", "secret": b"secret"})
    (folder / "in" / "link").symlink_to(folder / "secret")
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(ABSTRACT) as local:
        port, name = str(server.getsockname()[1]), f"eqemb-{uuid.uuid4().hex}"
        if sys.platform == "linux":
            local.bind("\0" + name)
            local.listen()
        arguments = [str(folder), " ".join(without), port, name]
        command = [sys.executable, "-P", "-c", ATTEMPTS, *arguments]
        done = subprocess.run(
            command, env=python_environment(), capture_output=True, check=True, timeout=120
        )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_confined_process_reads_its_folders_only(tmp_path: Path) -> None:
    """In Python, and where the kernel helps, in any code."""
    found = attempt(tmp_path)
    allowed = {"read own", "in C: read own"}
    if "Landlock" not in found["active"]:
        allowed |= {"in C: read secret", "in C: write"}
    if "Landlock" not in found["active"] or found["version"] < SCOPES:
        allowed |= {"in C: send a signal"}
    if found["active"] == ["audit hook"]:
        allowed |= {"in C: connect", "in C: connect to an abstract socket"}
    assert set(found["done"]) <= allowed
    assert "read own" in found["done"]


@pytest.mark.parametrize("without", ["_leave_network", "_restrict_files"])
def test_each_protection_works_alone(without: str, tmp_path: Path) -> None:
    """What the system lacks leaves the rest in place."""
    found = attempt(tmp_path, without)
    assert found["active"][-1] == "audit hook"
    in_c = {name for name in found["done"] if name.startswith("in C")}
    assert set(found["done"]) - in_c == {"read own"}
    if "Landlock" in found["active"] and found["version"] >= SCOPES:
        assert not in_c & {"in C: send a signal", "in C: connect to an abstract socket"}


def test_the_audit_hook_is_enough_for_python(tmp_path: Path) -> None:
    """Where neither namespaces nor Landlock exist, as on Windows and macOS."""
    found = attempt(tmp_path, "_leave_network", "_restrict_files")
    assert found["active"] == ["audit hook"]
    assert {name for name in found["done"] if not name.startswith("in C")} == {"read own"}
