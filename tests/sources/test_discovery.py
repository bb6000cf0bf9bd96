"""Papers are found in folders, containers and records, in a fixed order, or have a cause."""

import json
import lzma
import os
import tracemalloc
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from eqemb.errors import SourceError, UsageError
from eqemb.sources import Limits, discover, load
from eqemb.sources.streams import Meter
from packing import (
    PAPER,
    PART,
    PDF,
    POSTSCRIPT,
    RECORD,
    gz,
    lines,
    lock,
    month,
    names,
    only,
    put,
    skipped,
    tar,
    zipped,
)


def test_papers_come_in_the_order_of_their_paths(tmp_path: Path) -> None:
    """Sorted by the parts of the path, whatever the order on disk."""
    files = ["b/a.gz", "a-b/c.gz", "a/z.gz", "a/b/c.gz", "c.gz", "a.gz", "B.gz"]
    put(tmp_path, dict.fromkeys(files, gz(PAPER)))
    expected = ["B.gz", "a/b/c.gz", "a/z.gz", "a-b/c.gz", "a.gz", "b/a.gz", "c.gz"]
    assert [found.origin for found in discover([tmp_path])] == expected


def test_collection_is_the_first_folder(tmp_path: Path) -> None:
    """The first folder below the root; the folder of one paper is not a collection."""
    put(tmp_path, dict.fromkeys(["nlp/x/a.gz", "ir/b.gz", "c.gz"], gz(PAPER)))
    put(tmp_path, {"p/main.tex": PAPER, "nlp/q/main.tex": PAPER, "1706.03762/x.tex": PAPER})
    collections = {found.name: found.collection for found in discover([tmp_path])}
    below = {"nlp/x/a": "nlp", "ir/b": "ir", "nlp/q": "nlp"}
    assert collections == below | dict.fromkeys(["c", "p", "1706.03762"], "")
    assert only(tmp_path / "ir" / "b.gz").collection == ""
    (found,) = discover([tmp_path / "ir" / "b.gz"], root=tmp_path)
    assert found.collection == "ir"


def test_several_folders_are_collections(tmp_path: Path) -> None:
    """With several folders, the root is the folder that they share."""
    put(tmp_path, dict.fromkeys(["nlp/a.gz", "ir/b.gz", "ir/web/c.gz", "d.gz"], gz(PAPER)))
    given = [tmp_path / "nlp", tmp_path / "ir", tmp_path / "d.gz"]
    collections = {found.name: found.collection for found in discover(given)}
    assert collections == {"ir/b": "ir", "ir/web/c": "ir", "nlp/a": "nlp", "d": ""}


def test_what_was_meant_as_a_paper_is_counted(tmp_path: Path) -> None:
    """PDFs, failed downloads and empty files are reported with a cause; other files are not."""
    put(
        tmp_path,
        {
            "a.pdf": PDF,
            "b.ps": POSTSCRIPT,
            "c.tar.gz": b"<html>Rate exceeded</html>",
            "d.tex": b"",
            "e.gz": b"",
            "f.zip": b"no zip at all",
            "g.png": b"\x89PNG",
            "h.csv.gz": gz(b"1,2"),
            "i.tex": b"<html>not found</html>",
            "j.dat": b"1",
            "k": b"words",
            "l.docx": zipped({"[Content_Types].xml": b""}),
        },
    )
    with pytest.raises(SourceError, match="pdf only"):
        load(next(discover([tmp_path])))
    assert skipped(tmp_path) == {
        "a.pdf": "pdf only",
        "b.ps": "postscript only",
        "c.tar.gz": "html only",
        "d.tex": "empty",
        "e.gz": "empty",
        "f.zip": "no document",
        "i.tex": "html only",
        "l.docx": "word processor file",
    }


def test_pdf_beside_tex_is_not_counted(tmp_path: Path) -> None:
    """Beside or below TeX, a PDF is a figure or output; elsewhere it is a paper."""
    put(tmp_path, {"a/m.tex": PAPER, "a/m.pdf": PDF, "a/fig/f.pdf": PDF, "b/p.pdf": PDF})
    assert skipped(tmp_path) == {"b/p.pdf": "pdf only"}


def test_unreadable_files_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without permission is skipped with its cause, alone and in a folder."""
    put(tmp_path, {"a.gz": gz(PAPER), "b.tex": PAPER, "c.gz": gz(PAPER), "d.tex": PAPER})
    lock(monkeypatch, "a.gz", "b.tex")
    assert skipped(tmp_path) == {"a.gz": "unreadable", "b.tex": "unreadable"}
    assert names(tmp_path) == ["c", "d"]
    assert list(skipped(tmp_path / "b.tex").values()) == ["unreadable"]


def test_missing_path_is_named_before_anything_is_found(tmp_path: Path) -> None:
    """`discover` itself raises, not the first step of the loop."""
    put(tmp_path, {"a.gz": gz(PAPER)})
    with pytest.raises(UsageError, match=r"nothing to read at .*nowhere"):
        discover([tmp_path, tmp_path / "nowhere"])


def test_file_given_directly_is_always_reported(tmp_path: Path) -> None:
    """A file that the user names is never ignored silently."""
    put(tmp_path, {"a.png": b"\x89PNG\r\n", "b.tex": b"", "c.py": b"words", "d.tex": b"words"})
    given = [tmp_path / name for name in ("a.png", "b.tex", "c.py", "d.tex")]
    assert [found.cause for found in discover(given)] == ["no document", "empty", "no document", ""]


def test_what_is_given_twice_is_read_once(tmp_path: Path) -> None:
    """However the path is spelled, and also if a given folder contains it."""
    put(tmp_path, {"x/a.gz": gz(PAPER), "x/b.tex": PAPER, "x/c!d.zip": zipped({"e.tex": PAPER})})
    whole = ["x/a", "x/b", "x/c!d"]
    assert names(tmp_path, f"{tmp_path}/", tmp_path / "x" / "..") == whole
    assert names(tmp_path / "x" / "b.tex", tmp_path, tmp_path / "x") == whole
    assert names(*(tmp_path / "x" / name for name in ("c!d.zip", "a.gz", "")), tmp_path) == whole


def test_what_a_given_folder_does_not_list_can_be_given_too(tmp_path: Path) -> None:
    """Hidden folders, files that are not papers, and parts of papers."""
    put(tmp_path, {"p/main.tex": PAPER, "p/part.tex": PART, ".hid/b.tex": PAPER, "n.py": b"words"})
    given = [tmp_path / name for name in ("", "p/part.tex", ".hid", "n.py")]
    assert names(*given) == ["p", ".hid/b", "p/part"]
    assert skipped(*given) == {"n.py": "no document"}


def test_finding_reads_only_the_first_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a large archive, only the headers of the first members are decompressed."""
    put(tmp_path, {"a.tar.gz": gz(tar({"a.tex": PAPER, "b.eps": os.urandom(5_000_000)}))})
    spent = Counter[str]()
    monkeypatch.setattr(Meter, "count", lambda _, what, size=1: spent.update({what: size}))
    assert names(tmp_path) == ["a"]
    assert 0 < spent["bytes decompressed"] < 300_000


@pytest.mark.parametrize("pack", [tar, lambda files: gz(tar(files)), zipped])
def test_month_of_arxiv_gives_its_papers(
    tmp_path: Path, pack: Callable[[dict[str, bytes]], bytes]
) -> None:
    """Each member is a paper named by its identifier; PDFs are counted, not read."""
    put(tmp_path, {"src/arXiv_src_9901_001.tar": pack(month())})
    found = list(discover([tmp_path]))
    inside = "./src/arXiv_src_9901_001.tar!9901"
    assert [item.name for item in found] == [
        *("hep-th/9901001", "hep-th/9901002"),
        *(f"{inside}/cs9901003.pdf", f"{inside}/math9901004.gz"),
    ]
    assert [item.cause for item in found] == ["", "", "pdf only", "postscript only"]
    assert {item.collection for item in found} == {"src"}
    assert found[1].origin == "src/arXiv_src_9901_001.tar!9901/hep-th9901002.gz"
    assert set(load(found[1]).files) == {"main.tex", "a.tex"}


def test_month_that_starts_with_a_pdf_is_still_one(tmp_path: Path) -> None:
    """The first member alone does not decide."""
    pdfs = {f"0704/0704.{n:04}.pdf": PDF + os.urandom(70_000) for n in range(2)}
    papers = {"0704/0704.0009.gz": gz(PAPER)}
    put(tmp_path, {"a.tar": tar(pdfs | papers)})
    assert names(tmp_path) == ["0704.0009"]
    assert set(skipped(tmp_path).values()) == {"pdf only"}


def test_paper_that_holds_archives_is_one_paper(tmp_path: Path) -> None:
    """Packed figures do not make a container of a paper, even if they come first and are large."""
    figures = {"figures.tar.gz": gz(tar({"a.eps": os.urandom(90_000)})), "a.eps.gz": gz(POSTSCRIPT)}
    below = {f"1803.09123/{name}": data for name, data in figures.items()}
    put(
        tmp_path,
        {
            "p.tar.gz": gz(tar(figures | {"main.tex": PAPER})),
            "q.zip": zipped(figures | {"main.tex": PAPER}),
            "r.tar": tar(below | {"1803.09123/main.tex": PAPER}),
        },
    )
    assert [list(load(found).files) for found in discover([tmp_path])] == [
        *(["main.tex"], ["main.tex"], ["1803.09123/main.tex"])
    ]


def test_archive_of_one_archive_is_one_paper(tmp_path: Path) -> None:
    """A zip with a tar.gz in it is the inner paper; it has both names, as if there were more."""
    inner = gz(tar({"main.tex": PAPER}))
    put(tmp_path, {"thesis.zip": zipped({"upload/v3.tar.gz": inner, "upload/readme.md": b"x"})})
    found = only(tmp_path)
    assert found.name == "thesis/upload/v3"
    assert found.origin == "thesis.zip!upload/v3.tar.gz"
    assert list(load(found).files) == ["main.tex"]


def test_archive_of_papers_without_ids_names_them_by_path(tmp_path: Path) -> None:
    """Members are named by the container's name and their own path."""
    inner = gz(tar({"main.tex": PAPER}))
    members = {"README.md": b"x", "nlp/a.tar.gz": inner, "ml/b.zip": zipped({"b.tex": PAPER})}
    put(tmp_path, {"all.tar.gz": gz(tar(members))})
    assert names(tmp_path) == ["all/nlp/a", "all/ml/b"]
    assert names(tmp_path / "all.tar.gz") == ["all/nlp/a", "all/ml/b"]


def test_archives_nested_too_deep_are_a_bomb(tmp_path: Path) -> None:
    """Nesting of containers ends at the limit."""
    data = gz(tar({"a.tex": PAPER}))
    for level in range(5):
        data = zipped({f"{level}a.tar.gz": data})
    put(tmp_path, {"nest.zip": data})
    assert list(skipped(tmp_path).values()) == ["archive bomb"]


def test_truncated_container_gives_the_papers_before_the_cut(tmp_path: Path) -> None:
    """Papers before the damage are found; the damage is reported once."""
    members = {
        f"0704/0704.{n:04}.gz": gz(PAPER + os.urandom(20_000).hex().encode()) for n in range(9)
    }
    put(tmp_path, {"m.tar": tar(members)[:100_000]})
    found = list(discover([tmp_path]))
    assert [item.name for item in found[:4]] == [f"0704.{n:04}" for n in range(4)]
    assert found[-1].cause == "broken archive"
    assert found[-1].origin == "m.tar"


def test_container_of_encrypted_papers_is_reported(tmp_path: Path) -> None:
    """An encrypted member is a skipped paper with its cause."""
    data = bytearray(zipped({"a.tar.gz": gz(tar({"a.tex": PAPER})), "b.tex.gz": gz(PAPER)}))
    data[data.index(b"PK\1\2") + 8] |= 1
    put(tmp_path, {"m.zip": bytes(data)})
    assert skipped(tmp_path) == {"m.zip!a.tar.gz": "encrypted"}
    assert names(tmp_path) == ["m/b"]


def test_member_too_large_to_carry_is_skipped(tmp_path: Path) -> None:
    """A paper larger than the limit is not loaded into memory, and neither is a zip in gzip."""
    members = {"0704/0704.0001.gz": os.urandom(5000), "0704/0704.0002.gz": gz(PAPER)}
    put(tmp_path, {"m.tar": tar(members), "z.gz": gz(zipped({"a.tex": os.urandom(5000)}))})
    found = list(discover([tmp_path], Limits(paper_bytes=2000)))
    assert [item.cause for item in found] == ["too large", "", "too large"]


def test_containers_are_streamed(tmp_path: Path) -> None:
    """Papers of a month come one at a time, so memory does not grow with their number."""
    papers = {f"0704/0704.{n:04}.gz": gz(PAPER + os.urandom(200_000)) for n in range(60)}
    put(tmp_path, {"m.tar": tar(papers)})
    papers.clear()
    tracemalloc.start()
    assert sum(1 for _ in discover([tmp_path])) == 60
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_500_000


@pytest.mark.parametrize("pack", [bytes, gz], ids=["plain", "gzip"])
def test_jsonl_of_unarxive_gives_a_paper_a_line(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    """Records of unarXive are papers named by their identifier; `Found.data` holds their line."""
    old = {"body_text": [], "paper_id": "hep-th/9901001"}
    put(tmp_path, {"2212/part.jsonl": pack(lines(RECORD, old))})
    first, second = discover([tmp_path])
    assert [first.name, second.name] == ["2212.11867", "hep-th/9901001"]
    assert [first.form, first.collection] == ["unarxive", "2212"]
    assert first.origin == "2212/part.jsonl!2212.11867"
    source = load(first)
    assert source.main == "2212.11867.json"
    assert json.loads(source.files[source.main]) == RECORD
    assert load(second).main == "9901001.json"


def test_lines_that_are_no_records_are_counted(tmp_path: Path) -> None:
    """A damaged line is skipped with its number, and the lines after it are read."""
    data = lines(RECORD) + b'{"paper_id": "1", "body_text": [\n\n' + b"[1]\n" + lines(RECORD)
    put(tmp_path, {"a.jsonl": data})
    assert names(tmp_path) == ["2212.11867", "a.jsonl/2212.11867"]
    assert skipped(tmp_path) == {"a.jsonl!2": "broken record", "a.jsonl!4": "broken record"}


def test_line_over_the_limit_is_left_out(tmp_path: Path) -> None:
    """A line over the limit is skipped without being kept in memory."""
    long = {"paper_id": "1", "body_text": "x" * 3000}
    put(tmp_path, {"a.jsonl": lines(RECORD, long, RECORD)})
    found = list(discover([tmp_path], Limits(file_bytes=1000)))
    assert [item.cause for item in found] == ["", "too large", ""]


def test_truncated_jsonl_keeps_what_it_had(tmp_path: Path) -> None:
    """Complete lines of a truncated file are papers; the truncation is reported."""
    records = [RECORD | {"paper_id": str(i), "noise": os.urandom(500).hex()} for i in range(200)]
    put(tmp_path, {"a.jsonl.gz": gz(lines(*records))[:-50_000]})
    found = list(discover([tmp_path]))
    assert [item.name for item in found[:100]] == [f"a/{i}" for i in range(100)]
    assert [item.cause for item in found[-2:]] == ["broken record", "broken archive"]


def test_container_of_records_is_read(tmp_path: Path) -> None:
    """A tar of JSONL files, as unarXive is distributed."""
    put(
        tmp_path,
        {
            "u.tar.xz": lzma.compress(
                tar({"22/a.jsonl": lines(RECORD), "22/b.jsonl": lines(RECORD)})
            )
        },
    )
    assert names(tmp_path) == ["2212.11867", "u.tar.xz/22/b.jsonl/2212.11867"]
