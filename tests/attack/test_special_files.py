"""Pipes, sockets, devices and files of the kernel among papers are reported, and never opened."""

import os
import signal
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest

from eqemb.arxiv.ids import in_bibliography, in_list
from eqemb.arxiv.lookup import PaperLookup
from eqemb.arxiv.snapshot import Snapshot
from eqemb.errors import UsageError
from eqemb.facade.library import Library
from eqemb.sources import discover, load
from eqemb.sources.looks import Looks
from eqemb.sources.manifest import MANIFEST_NAME
from eqemb.sources.names import METADATA_FILE
from packing import PAPER, gz, put, skipped, tar
from synthetic import paper, read_inline

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no special files here")
PATIENCE = 120  # seconds, after which a test that waits for a pipe fails


@pytest.fixture(autouse=True)
def _limited() -> Iterator[None]:
    """End a test that waits for a pipe."""

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise TimeoutError("it waits for a special file")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(PATIENCE)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def make_socket(path: Path) -> None:
    """Bind a socket to a short path, as the length of one is limited."""
    here = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def make_device(path: Path) -> None:
    """Make a device that yields zeros without end; only root may."""
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 5))
    except OSError:
        pytest.skip("devices cannot be made here")


def make_linked_pipe(path: Path) -> None:
    """Make a link to a pipe in the same folder."""
    os.mkfifo(path.with_name(".pipe"))
    path.symlink_to(".pipe")


KINDS: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "socket": make_socket,
    "device": make_device,
    "link to a pipe": make_linked_pipe,
}
NAMES = ("b.tex", "b", "b.tar.gz", "b.zip", "b.md", "b.jsonl", "b.xml", "b.pdf", "sub.sty")


@pytest.mark.parametrize("kind", KINDS)
def test_special_file_in_a_folder_is_reported(
    kind: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Whatever its name says; the papers beside it are read."""
    for name in NAMES:
        folder = put(tmp_path / name, {"a.tex": PAPER})
        KINDS[kind](folder / name)
        for looks in (None, Looks()):
            found = {one.origin: one.cause for one in discover([folder], looks=looks)}
            assert found == {"a.tex": "", name: "special file"}
    record_property("cases", 2 * len(NAMES))


@pytest.mark.parametrize("kind", KINDS)
def test_special_file_that_is_given_is_refused(kind: str, tmp_path: Path) -> None:
    """With a sentence that says why."""
    KINDS[kind](tmp_path / "b.tex")
    with pytest.raises(UsageError, match=r"b\.tex: pipes, sockets, devices .* are not read"):
        discover([tmp_path / "b.tex"])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("given", ["a.tex", ""])
def test_special_file_that_a_paper_includes_is_missing(
    kind: str, given: str, tmp_path: Path
) -> None:
    """Of a folder, and of a file that is given by itself."""
    put(tmp_path, {"a.tex": PAPER.replace(b"Words", b"\\input{part}Words")})
    KINDS[kind](tmp_path / "part.tex")
    (found,) = (one for one in discover([tmp_path / given]) if not one.cause)
    assert list(load(found).files) == ["a.tex"]


def test_a_file_that_becomes_a_pipe_is_not_opened(tmp_path: Path) -> None:
    """Between the search for papers and reading them."""
    put(tmp_path, {"a.tex": PAPER + b"\\input{b}", "b.tex": b"Part.", "c.gz": gz(PAPER)})
    one, other = discover([tmp_path])
    for name in ("b.tex", "c.gz"):
        (tmp_path / name).unlink()
        os.mkfifo(tmp_path / name)
    assert [(p.cause, p.file) for p in load(one).problems] == [("unreadable file", "b.tex")]
    with pytest.raises(Exception, match="unreadable: not a regular file"):
        load(other)


def test_a_library_that_is_a_pipe_is_refused(tmp_path: Path) -> None:
    """Opening it does not wait, and the error names it."""
    os.mkfifo(tmp_path / "library.json")
    with pytest.raises(OSError, match=r"not a regular file.*library.json"):
        Library.open(tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_special_metadata_is_not_read(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither beside the papers nor as a file that is given."""
    read_inline(monkeypatch)
    papers = put(tmp_path / "papers", {"2301.00001.tex": paper("Words. $$a = b$$").encode()})
    KINDS[kind](papers / METADATA_FILE)
    with Library.read(papers, tmp_path / "lib", jobs=1) as library:
        assert library.report["skipped"]["causes"] == {"special file": 1}
    assert PaperLookup().get("2301.00001", papers, "2301.00001.tex") is None
    with pytest.raises(UsageError, match=r"cannot read the metadata .*not a regular file"):
        Snapshot(papers / METADATA_FILE)


@pytest.mark.parametrize("kind", KINDS)
def test_special_manifest_is_not_read(kind: str, tmp_path: Path) -> None:
    """Of arXiv's bulk archive, in the folder of the tars or above it."""
    month = tar({"2301/2301.00001.gz": gz(PAPER)})
    put(tmp_path, {"src/arXiv_src_2301_001.tar": month})
    KINDS[kind](tmp_path / MANIFEST_NAME)
    assert set(skipped(tmp_path).values()) <= {"special file", "broken manifest"}
    assert [one.name for one in discover([tmp_path]) if not one.cause] == ["2301.00001"]


@pytest.mark.parametrize("kind", KINDS)
def test_special_list_of_papers_is_refused(kind: str, tmp_path: Path) -> None:
    """A list of identifiers, and a bibliography."""
    KINDS[kind](tmp_path / "list")
    for read in (in_list, in_bibliography):
        with pytest.raises(UsageError, match=r"cannot read .*not a regular file"):
            read(tmp_path / "list")


@pytest.mark.skipif(not Path("/proc/self/mountinfo").exists(), reason="no /proc here")
@pytest.mark.parametrize("given", ["/proc", "/proc/self", "/proc/kmsg", "/proc/self/maps", "/sys"])
def test_files_of_the_kernel_are_refused(given: str) -> None:
    """They look like regular files, and some never end."""
    if not Path(given).exists():
        pytest.skip("not there")
    with pytest.raises(UsageError, match="files of the kernel are not read"):
        discover([given])


@pytest.mark.parametrize("name", ["b.tex", "b.tar", "b.md", "b.gz"])
def test_sparse_file_is_not_read(name: str, tmp_path: Path) -> None:
    """Hashing eight terabytes of nothing would take an hour."""
    start = tar({"x.tex": PAPER}) if name == "b.tar" else PAPER
    put(tmp_path, {"a.tex": PAPER, name: start})
    try:
        os.truncate(tmp_path / name, 1 << 43)
    except OSError:
        pytest.skip("the file system has no large sparse files")
    for looks in (None, Looks()):
        found = {one.origin: (one.cause, one.detail) for one in discover([tmp_path], looks=looks)}
        assert found.pop("a.tex") == ("", "")
        assert {cause for cause, _ in found.values()} == {"unreadable"}
