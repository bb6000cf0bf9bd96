"""Month tars of arXiv's bulk archive are checked against its manifest, and read once."""

import errno
import hashlib
import os
import tracemalloc
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from eqemb.facade.library import Library
from eqemb.facade.sync import update_library
from eqemb.sources import Found, discover, manifest
from eqemb.sources.looks import Looks
from eqemb.sources.manifest import MANIFEST_NAME, ManifestEntry, read_manifest
from packing import PAPER, PART, PDF, entry, gz, lines, names, put, skipped, tar, tar_of
from synthetic import paper, read_inline

TAR = "arXiv_src_2301_001.tar"
MONTH = tar({
    "2301/2301.00001.gz": gz(PAPER),
    "2301/2301.00002.gz": gz(tar({"ms.tex": PAPER, "a.tex": PART})),
    "2301/2301.00003.pdf": PDF,
})  # fmt: skip


def entry_of(name: str, data: bytes, **changes: Any) -> str:
    """An entry of a manifest."""
    fields = {
        "content_md5sum": "0" * 32,
        "filename": f"src/{name}",
        "first_item": "2301.00001",
        "last_item": "2301.00003",
        "md5sum": hashlib.md5(data, usedforsecurity=False).hexdigest(),
        "num_items": 3,
        "seq_num": 1,
        "size": len(data),
        "timestamp": "2023-02-01 00:00:00",
        "yymm": "2301",
    } | changes
    inside = "".join(f"<{tag}>{value}</{tag}>" for tag, value in fields.items() if value != "")
    return f"<file>{inside}</file>"


def manifest_of(*entries: str) -> bytes:
    """A manifest."""
    return f"<?xml version='1.0'?><arXivSRC>{''.join(entries)}</arXivSRC>".encode()


def bulk(folder: Path, **changes: Any) -> Path:
    """A folder with a tar and a manifest."""
    files = {TAR: MONTH, MANIFEST_NAME: manifest_of(entry_of(TAR, MONTH, **changes))}
    return put(folder / "bulk", files)


def details(*paths: Path) -> dict[str, str]:
    """Cause -> detail of skipped sources."""
    return {found.cause: found.detail for found in discover(paths) if found.cause}


def test_a_month_as_arxiv_gives_it(tmp_path: Path) -> None:
    """Papers are named by their ids; one in PDF is said."""
    folder = bulk(tmp_path)
    assert names(folder) == ["2301.00001", "2301.00002"]
    assert skipped(folder) == {f"{TAR}!2301/2301.00003.pdf": "pdf only"}
    assert names(folder / TAR) == names(folder)
    assert names(folder / TAR, folder / MANIFEST_NAME) == names(folder)
    assert skipped(folder / TAR, folder / MANIFEST_NAME) == skipped(folder)


def test_tars_may_be_in_a_folder_below(tmp_path: Path) -> None:
    """As in the archive, whose manifest names src/."""
    damaged = manifest_of(entry_of(TAR, MONTH, size=7))
    put(tmp_path, {MANIFEST_NAME: damaged, f"src/{TAR}": MONTH})
    assert skipped(tmp_path) == {f"src/{TAR}": "broken archive"}


@pytest.mark.parametrize("given", [f"src/{TAR}", TAR])
def test_a_tar_may_be_given_by_a_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    """The manifest is beside it, or in the folder above if that is in the root."""
    damaged = manifest_of(entry_of(TAR, MONTH, size=7))
    put(tmp_path, {MANIFEST_NAME: damaged, f"src/{TAR}": MONTH})
    monkeypatch.chdir(tmp_path if "/" in given else tmp_path / "src")
    causes = [one.cause for one in discover([Path(given)], root=tmp_path)]
    assert causes == ["broken archive"]
    assert list(details(Path(given))) == ["pdf only"]  # nothing above the given folder is read
    put(tmp_path, {MANIFEST_NAME: b"", f"src/{MANIFEST_NAME}": damaged})
    assert list(details(Path(given))) == ["broken archive"]


def refuse_manifests(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let nobody see whether there is a manifest; the result lists the paths that were tried."""
    tried = []

    def refused(path: str) -> bool:
        tried.append(path)
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(manifest, "exists", refused)
    return tried


@pytest.mark.parametrize("looks", [None, Looks()])
def test_a_manifest_that_is_out_of_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: Looks | None
) -> None:
    """Tars are read without a check; each manifest is reported once."""
    other = TAR.replace("001", "002")
    folder = put(tmp_path / "bulk", {TAR: MONTH, other: tar({"2301/2301.00009.gz": gz(PAPER)})})
    tried = refuse_manifests(monkeypatch)
    places = [f"{place}/{MANIFEST_NAME}" for place in (folder, tmp_path)]
    for given in ([folder], [folder / TAR, folder / other]):
        found = list(discover(given, looks=looks, root=tmp_path))
        wrong = [one for one in found if one.cause == "broken manifest"]
        assert [(one.origin, one.detail) for one in wrong] == [
            (place, "Permission denied") for place in places
        ]
        assert "unreadable" not in {one.cause for one in found}
    assert tried == places * 2
    monkeypatch.undo()
    assert names(folder / TAR) == ["2301.00001", "2301.00002"]


def test_a_broken_manifest_beside_a_given_tar_is_said(tmp_path: Path) -> None:
    """Though the manifest is not given; one in a given folder is reported once."""
    folder = put(bulk(tmp_path), {MANIFEST_NAME: b"<arXivSRC><file>"})
    for given, origin in ((folder / TAR, f"{folder}/{MANIFEST_NAME}"), (folder, MANIFEST_NAME)):
        wrong = [one for one in discover([given]) if one.cause == "broken manifest"]
        assert [one.origin for one in wrong] == [origin]
        assert names(given) == ["2301.00001", "2301.00002"]


def test_a_bucket_has_no_folder_above(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is above it would be another bucket."""
    tried = refuse_manifests(monkeypatch)
    manifests = manifest.Manifests("s3:/bucket")
    assert manifests.entry(f"s3:/bucket/{TAR}") is None
    assert manifests.entry(f"s3:/bucket/src/{TAR}") is None
    assert tried == [f"s3:/bucket/{MANIFEST_NAME}", f"s3:/bucket/src/{MANIFEST_NAME}"]


def test_a_tar_of_another_size_is_skipped(tmp_path: Path) -> None:
    """It was not downloaded completely."""
    folder = bulk(tmp_path, size=len(MONTH) + 512)
    assert not names(folder)
    assert details(folder)["broken archive"] == (
        f"it has {len(MONTH):,} bytes, the manifest says {len(MONTH) + 512:,}: download it again"
    )


def test_a_tar_of_another_checksum_is_read_with_a_doubt(tmp_path: Path) -> None:
    """The papers are there, and the report says that they may be damaged."""
    folder = bulk(tmp_path, md5sum="ab" * 16)
    assert names(folder) == ["2301.00001", "2301.00002"]
    assert "the manifest says abab" in details(folder)["checksum differs"]
    assert "its papers (3 found) may be damaged" in details(folder)["checksum differs"]


def test_the_number_of_papers_is_checked(tmp_path: Path) -> None:
    """If the manifest says it."""
    folder = bulk(tmp_path, num_items=4)
    assert details(folder)["checksum differs"] == "it holds 3 papers, the manifest says 4"
    assert "checksum differs" not in details(bulk(tmp_path / "other", num_items=""))
    assert "checksum differs" not in details(bulk(tmp_path / "long", num_items="9" * 5_000))


def test_missing_tars_are_counted_once(tmp_path: Path) -> None:
    """Not with a source for each: all of arXiv has thousands."""
    folder = bulk(tmp_path)
    others = [entry_of(f"arXiv_src_2302_{n:03}.tar", b"x") for n in range(1, 6)]
    put(folder, {MANIFEST_NAME: manifest_of(entry_of(TAR, MONTH), *others)})
    assert skipped(folder)[MANIFEST_NAME] == "tars missing"
    assert details(folder)["tars missing"] == (
        "5 of 6 tars: arXiv_src_2302_001.tar, arXiv_src_2302_002.tar, arXiv_src_2302_003.tar, ..."
    )


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        (b"", "not valid XML (no element found: line 1, column 0)"),
        (b"<arXivSRC><file>", "not valid XML"),
        (b"<html/>", "it lists no tar"),
        (manifest_of(entry_of(TAR, MONTH, md5sum="xyz")), "1 entry has no name, size or"),
        (manifest_of(entry_of(TAR, MONTH, size="many")), "1 entry has no name, size or"),
        (manifest_of(entry_of("", MONTH, filename="")), "1 entry has no name, size or"),
        (
            manifest_of(entry_of(TAR, MONTH, size="9" * 5_000)),
            "1 entry has no name, size or",
        ),
        (b"\x00\xff" * 50, "not valid XML"),
        (b"<?xml version='1.0' encoding='none-such'?><arXivSRC/>", "not valid XML"),
        (b"<?xml version='1.0' encoding='gbk'?><arXivSRC/>", "not valid XML"),
    ],
)
def test_a_broken_manifest_is_said(tmp_path: Path, text: bytes, detail: str) -> None:
    """The tars are read without a check."""
    folder = put(bulk(tmp_path), {MANIFEST_NAME: text})
    assert names(folder) == ["2301.00001", "2301.00002"]
    assert details(folder)["broken manifest"].startswith(detail)


def test_entries_before_a_fault_count(tmp_path: Path) -> None:
    """Of a manifest that is cut off."""
    text = manifest_of(entry_of(TAR, MONTH), "<file>")
    found = read_manifest(str(put(tmp_path, {"m.xml": text}) / "m.xml"))
    md5 = hashlib.md5(MONTH, usedforsecurity=False).hexdigest()
    assert found.entries == {TAR: ManifestEntry(len(MONTH), md5, 3)}
    assert "not valid XML" in found.fault


def test_a_manifest_without_bound_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its size is limited."""
    monkeypatch.setattr(manifest, "_MOST_BYTES", 100)
    assert read_manifest(str(bulk(tmp_path) / MANIFEST_NAME)).fault == "it has more than 100 bytes"


def test_a_tar_is_read_once_and_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Apart from its first bytes; digest and checksum do not read it again."""
    filler = [entry(f"2301/2301.1{n:04}.pdf", data=PDF + os.urandom(40_000)) for n in range(50)]
    data = tar_of([*filler, entry("2301/2301.20000.gz", data=gz(PAPER))])
    text = manifest_of(entry_of(TAR, data, num_items=51))
    folder = put(tmp_path / "bulk", {TAR: data, MANIFEST_NAME: text})
    taken = 0
    opened = Found.open

    def counted(found: Found) -> Any:
        file = opened(found)
        read = file.read

        class Counting:
            def read(self, size: int) -> bytes:
                nonlocal taken
                piece = read(size)
                taken += len(piece)
                return piece

            seek = staticmethod(file.seek)

        return closing_with(Counting(), file)

    monkeypatch.setattr(Found, "open", counted)
    looks = Looks()
    found = list(discover([folder], looks=looks))
    assert [one.name for one in found if not one.cause] == ["2301.20000"]
    assert len(data) <= taken < len(data) + 200_000
    assert looks.hashed == 0


def closing_with(wrapped: Any, file: Any) -> Any:
    """A context manager that yields `wrapped` and closes the file."""

    class Manager:
        def __enter__(self) -> Any:
            return wrapped

        def __exit__(self, *_: object) -> None:
            file.close()

    return Manager()


def test_memory_does_not_grow_with_the_tar(tmp_path: Path) -> None:
    """Members that are not papers, and records of unarXive, are not held in memory."""
    pdfs = {f"2301/2301.0{n:04}.pdf": PDF + bytes(2_000_000) for n in range(10)}
    text = [{"text": "word " * 100_000}]
    record = {"paper_id": "2301.90000", "metadata": {}, "body_text": text}
    records = lines(*(record | {"paper_id": f"2301.9{n:04}"} for n in range(20)))
    put(tmp_path, {TAR: tar(pdfs | {"2301/a.jsonl": records})})
    put(tmp_path, {MANIFEST_NAME: manifest_of(entry_of(TAR, (tmp_path / TAR).read_bytes()))})
    del pdfs, records
    tracemalloc.start()
    try:
        found = sum(not one.cause for one in discover([tmp_path]))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found == 20
    assert peak < 6_000_000


def test_updates_do_not_open_a_tar_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new tar is added, and one that is downloaded again is read."""
    read_inline(monkeypatch)
    tex = paper(r"The norm is \begin{equation} x = y \end{equation} here.").encode()
    one = tar({"2301/2301.00001.gz": gz(tex)})
    two = tar({"2301/2301.00002.gz": gz(tex.replace(b"x = y", b"q"))})
    both = [entry_of(TAR, one, num_items=1)]
    both += [entry_of("arXiv_src_2301_002.tar", two, num_items=1)]
    folder = put(tmp_path / "bulk", {TAR: one[:-9], MANIFEST_NAME: manifest_of(*both)})
    put(folder, {"essay.tex": tex.replace(b"x = y", b"z")})
    with closing(Library.read([folder], tmp_path / "lib", jobs=1)) as made:
        assert made.records.names() == ["essay"]
        assert made.report["skipped"]["causes"] == {"broken archive": 1, "tars missing": 1}
        assert list(made.report["formats"]) == ["tex"]  # the manifest is no document in JATS
    wrong = one.replace(gz(tex), gz(tex.replace(b"x = y", b"x > y")))
    assert len(wrong) == len(one)
    put(folder, {TAR: wrong, "arXiv_src_2301_002.tar": two})
    done = update_library(tmp_path / "lib", jobs=1)
    assert done.added == ["2301.00001", "2301.00002"]
    assert done.skipped == [f"{TAR}: checksum differs"]
    put(folder, {TAR: one})
    for path in folder.iterdir():
        os.utime(path, (1_700_000_000, 1_700_000_000))  # what was changed just now is read again
    done = update_library(tmp_path / "lib", jobs=1)
    assert (done.replaced, done.forgotten) == (["2301.00001"], 1)
    opened: list[str] = []
    monkeypatch.setattr(Found, "open", lambda found: opened.append(found.origin))
    done = update_library(tmp_path / "lib", jobs=1)
    assert (done.is_empty, opened) == (True, [])
