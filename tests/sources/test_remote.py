"""Papers at URLs are listed and read like those on disk."""

import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eqemb.errors import UsageError
from eqemb.facade.library import Library
from eqemb.facade.sync import update_library
from eqemb.facade.update import add_papers
from eqemb.sources import Found, discover, load, remote
from eqemb.sources.remote import is_remote, open_remote, trim_cache, url_of
from packing import PAPER, PART, PDF, RECORD, gz, lines, month, put, tar, zipped
from synthetic import paper, read_inline

fsspec = pytest.importorskip("fsspec", reason="the extra `remote` is not installed")

TEX = paper(r"The norm is \begin{equation} x = y \end{equation} here.").encode()
FILES = {
    "nlp/p/main.tex": PAPER.replace(b"Words", rb"\input{part}\input{../shared}"),
    "nlp/p/part.tex": PART,
    "nlp/shared.tex": PART,
    "nlp/1803.09123v2.tar.gz": gz(tar({"main.tex": PAPER})),
    "nlp/1803.09124.tar.gz": gz(tar({"x.tex": PAPER})),
    "bulk/arXiv_src_9901_001.tar": tar(month()),
    "notes/a.md": b"# A\n\n$$x = y$$\n",
    "notes/README.md": b"# About\n",
    "notes/.hidden.md": b"# Hidden\n\n$$x$$\n",
    "old/b.zip": zipped({"b.tex": PAPER}),
    "u.jsonl.gz": gz(lines(RECORD)),
    "scan.pdf": PDF,
    "broken.tar.gz": gz(tar({"main.tex": PAPER}))[:60],
}


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def store() -> Iterator[Any]:
    """An empty store in memory."""
    memory = fsspec.filesystem("memory")
    yield memory
    memory.store.clear()
    memory.pseudo_dirs[:] = [""]


def upload(store: Any, folder: str, files: dict[str, bytes]) -> str:
    """Write files into the store; the result is the URL of the folder."""
    for name, data in files.items():
        store.pipe_file(f"/{folder}/{name}", data)
    return f"memory://{folder}"


def told(found: Found) -> Found:
    """A source without the place where it is stored."""
    return replace(found, path="", top="")


def test_a_manifest_without_access_is_none(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores refuse access instead of saying that a file is missing: tars are read all the same."""
    url = upload(store, "bucket/src", {"month.tar": FILES["bulk/arXiv_src_9901_001.tar"]})
    info = type(store).info

    def refused(self: Any, path: str, **options: Any) -> Any:
        if path.endswith(".xml"):
            raise PermissionError("Forbidden")
        return info(self, path, **options)

    given = [f"{url}/month.tar"]
    expected = [one.name for one in discover(given, root="memory://bucket") if not one.cause]
    monkeypatch.setattr(type(store), "info", refused)
    found = list(discover(given, root="memory://bucket"))
    assert expected
    assert [one.name for one in found if not one.cause] == expected
    assert [(one.origin, one.detail) for one in found if one.cause == "broken manifest"] == [
        (f"memory://bucket/{folder}arXiv_src_manifest.xml", "Forbidden") for folder in ("src/", "")
    ]


def test_urls_are_paths() -> None:
    """In both forms; a drive of Windows is no URL."""
    assert is_remote("s3://bucket/a")
    assert is_remote(Path("s3://bucket/a"))
    assert not is_remote("C:/papers")
    assert not is_remote("a/b.tex")
    assert url_of(Path("s3://bucket/a/../b")) == "s3://bucket/b"
    assert url_of(Path("file:///tmp/x")) == "file:///tmp/x"
    with pytest.raises(UsageError, match=r"a/b is no URL: write it as s3://bucket/folder"):
        url_of("a/b")


@pytest.mark.parametrize("form", ["memory", "file"])
def test_a_remote_folder_reads_like_a_local_one(store: Any, tmp_path: Path, form: str) -> None:
    """Same names, same order, same causes, same bytes; sources can be sent to other processes."""
    local = put(tmp_path / "papers", FILES)
    url = upload(store, "papers", FILES) if form == "memory" else f"file://{local}"
    here, there = list(discover([local])), list(discover([url]))
    assert len(here) > 8
    assert list(map(told, there)) == list(map(told, here))
    for one, other in zip(here, there, strict=True):
        if not one.cause:
            assert load(pickle.loads(pickle.dumps(other))) == load(one)  # noqa: S301


@pytest.mark.parametrize("given", ["nlp/p/main.tex", "nlp/1803.09124.tar.gz", "notes/a.md"])
def test_single_files(store: Any, tmp_path: Path, given: str) -> None:
    """Files that a paper includes are found beside it."""
    local = put(tmp_path / "papers", FILES)
    url = upload(store, "papers", FILES)
    (here,), (there,) = discover([local / given]), discover([f"{url}/{given}"])
    assert load(there).files == load(here).files
    assert there.name == here.name


def test_a_library_of_a_store(store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its records are those of a local folder; update and add compare what the store says."""
    read_inline(monkeypatch)
    files = {"a.tex": TEX, "b.tar.gz": gz(tar({"b.tex": TEX.replace(b"x = y", b"q")}))}
    url, local = upload(store, "p", files), put(tmp_path / "p", files)
    with (
        Library.read([url], tmp_path / "one", jobs=1) as there,
        Library.read([local], tmp_path / "two", jobs=1) as here,
    ):
        assert there.report["sha256"] == here.report["sha256"]
    with monkeypatch.context() as patch:
        patch.setattr(remote, "open_remote", None)  # nothing is opened
        done = update_library(tmp_path / "one", jobs=1)
    assert (done.is_empty, done.unchanged) == (True, 2)
    store.pipe_file("/p/b.tar.gz", gz(tar({"b.tex": TEX.replace(b"x = y", b"r")})))
    store.pipe_file("/p/c.tex", TEX.replace(b"x = y", b"s"))
    store.rm_file("/p/a.tex")
    done = update_library(tmp_path / "one", jobs=1)
    assert (done.added, done.replaced, done.removed) == (["c"], ["b"], ["a"])
    store.pipe_file("/p/more/d.tex", TEX.replace(b"x = y", b"t"))
    assert add_papers(tmp_path / "one", [f"{url}/more"], jobs=1).names == ["more/d"]


def test_workers_open_urls_themselves(tmp_path: Path) -> None:
    """In processes of their own."""
    local = put(tmp_path / "p", {"a.tex": TEX, "b.gz": gz(TEX.replace(b"x = y", b"q"))})
    with Library.read([f"file://{local}"], tmp_path / "lib", jobs=2) as made:
        assert made.records.names() == ["a", "b"]


def test_what_is_missing_is_one_sentence(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder, no access, no package of the store, no fsspec."""
    with pytest.raises(UsageError, match=r"nothing to read at memory://none: there is no such"):
        discover(["memory://none"])
    with pytest.raises(UsageError, match=r"s3x://b/c cannot be opened .*install the package"):
        discover(["s3x://b/c"])

    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("no\ncredentials")

    upload(store, "p", {"a.tex": TEX})
    monkeypatch.setattr(type(store), "info", refuse)
    with pytest.raises(UsageError, match=r"memory://p: RuntimeError: no credentials\Z"):
        discover(["memory://p"])
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
    with pytest.raises(UsageError, match=r"fsspec, which is not installed: pip install 'eqemb\["):
        discover(["memory://p"])


def test_a_file_that_fails_is_skipped(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is reported like an unreadable file on disk."""
    url = upload(store, "p", {"a.gz": gz(TEX), "b.tex": TEX})

    def refuse(_store: object, path: str, *_: object, **__: object) -> None:
        raise RuntimeError(f"connection to {path} lost")

    monkeypatch.setattr(type(store), "get_file", refuse)
    causes = {found.origin: found.cause for found in discover([url])}
    assert causes == {"a.gz": "unreadable", "b.tex": "unreadable"}


def test_the_cache_is_bounded(store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was used least recently is removed; a large file is streamed, not stored."""
    url = upload(store, "p", {"a": b"a" * 100, "b": b"b" * 100, "large": b"c" * 1000})
    monkeypatch.setattr(remote, "_WHOLE_BYTES", 500)
    for name in ("a", "b", "large", "a"):
        with open_remote(f"{url}/{name}") as file:
            assert file.read(1) == (b"c" if name == "large" else name.encode())
    folder = tmp_path / "cache" / "eqemb" / "remote"
    assert sorted(path.stat().st_size for path in folder.iterdir()) == [100, 100]
    trim_cache(folder, 150)
    (kept,) = folder.iterdir()
    assert kept.read_bytes() == b"a" * 100


def test_a_store_without_versions_is_hashed(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then only content tells whether a file has changed."""
    read_inline(monkeypatch)
    url = upload(store, "p", {"a.tex": TEX})
    monkeypatch.setattr(remote, "_VERSION_FIELDS", ())
    Library.read([url], tmp_path / "lib", jobs=1).close()
    assert update_library(tmp_path / "lib", jobs=1).is_empty
    store.pipe_file("/p/a.tex", TEX.replace(b"x = y", b"x > y"))
    assert update_library(tmp_path / "lib", jobs=1).replaced == ["a"]
