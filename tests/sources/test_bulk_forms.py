"""Other bulk forms of arXiv: folders of HTML, and dumps of unarXive, plain or compressed."""

import bz2
import importlib
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eqemb.library.ingest import read_articles
from eqemb.sources import content, discover, load, streams
from packing import PAPER, gz, lines, names, put, skipped, tar, zipped

PAGE = (
    b"<!DOCTYPE html><html><head><title>On Norms</title></head><body><article>"
    b"<h1 class='ltx_title'>On Norms</h1><p>The norm is large.</p>"
    b"<table class='ltx_equation ltx_eqn_table' id='S1.E1'><tr><td><math alttext='x=y' "
    b"display='block'><mi>x</mi></math></td><td><span class='ltx_tag'>(1)</span></td></tr></table>"
    b"</article></body></html>"
)
OF_2022 = {
    "paper_id": "2212.11867",
    "metadata": {"title": "On Norms", "authors_parsed": [["Lovelace", "Ada", ""]]},
    "abstract": {"section": "Abstract", "text": "Short."},
    "body_text": [{"section": "One", "text": "The norm is\n{{formula:x}}\n"}],
    "ref_entries": {"x": {"latex": "x = y", "type": "formula"}},
}
OF_2024: dict[str, Any] = {
    **{key: value for key, value in OF_2022.items() if key != "body_text"},
    "paper_id": "hep-th/9901001",
    "abstract": "Short.",
    "sections": {"One": {"text": "The norm is\n{{formula:x}}\n"}},
}
DUMP = lines(OF_2022, OF_2024)


def zstd(data: bytes) -> bytes:
    """Compress with zstd."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        return bytes(module.compress(data))
    pytest.skip("nothing here reads zstd: it needs Python 3.14 or backports.zstd")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("2301.00001.html", "2301.00001"),
        ("2301.00001v2.html", "2301.00001"),
        ("2301/2301.00001.html", "2301.00001"),
        ("2301.00001/index.html", "2301.00001"),
        ("2301.00001v1/index.html", "2301.00001"),
        ("no-problem/2301/2301.00001/2301.00001.html", "2301.00001"),
        ("hep-th9901001.html", "hep-th/9901001"),
        ("hep-th/9901001.html", "hep-th/9901001"),
        ("hep-th/9901001/index.html", "hep-th/9901001"),
        ("hep-th9901001/index.html", "hep-th/9901001"),
    ],
)
def test_folders_of_html(tmp_path: Path, path: str, name: str) -> None:
    """A page is named by its arXiv id, in a folder or in an archive; figures are no papers."""
    figure = str(Path(path).with_name("x1.png"))
    put(tmp_path / "html", {path: PAGE, figure: b"\x89PNG"})
    assert names(tmp_path / "html") == [name]
    assert not skipped(tmp_path / "html")
    (article,) = read_articles(tmp_path / "html")
    assert [one.latex for one in article.equations] == ["x=y"]
    put(tmp_path, {"ar5iv.zip": zipped({path: PAGE, figure: b"\x89PNG"})})
    assert names(tmp_path / "ar5iv.zip") == [name]


def test_latex_is_preferred_to_html(tmp_path: Path) -> None:
    """Of one paper, one form is read, and the other is said."""
    files = {"src.tar": tar({"2301/2301.00001.gz": gz(PAPER)}), "h/2301.00001.html": PAGE}
    put(tmp_path, {**files, "u.jsonl": lines(OF_2022 | {"paper_id": "2301.00001"})})
    assert names(tmp_path) == ["2301.00001"]
    assert skipped(tmp_path) == {
        "h/2301.00001.html": "other form",
        "u.jsonl!2301.00001": "other form",
    }


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "u.jsonl": bytes,
    "u.jsonl.gz": gz,
    "u.jsonl.bz2": bz2.compress,
    "u.jsonl.xz": lzma.compress,
    "u.jsonl.zst": zstd,
    "u.tar": lambda data: tar({"u/22/a.jsonl": data}),
    "u.tar.xz": lambda data: lzma.compress(tar({"u/22/a.jsonl": data})),
    "u.tar.zst": lambda data: zstd(tar({"u/22/a.jsonl": data})),
    "u.tar.gz": lambda data: gz(tar({"u/22/a.jsonl.gz": gz(data)})),
    "u.zip": lambda data: zipped({"u/22/a.jsonl": data}),
}


@pytest.mark.parametrize("name", PACKED)
def test_dumps_of_unarxive(tmp_path: Path, name: str) -> None:
    """Both schemas, in every packing; papers are named by arXiv id."""
    put(tmp_path, {name: PACKED[name](DUMP)})
    one, two = read_articles(tmp_path)
    assert (one.name, two.name) == ("2212.11867", "hep-th/9901001")
    for article in (one, two):
        assert [equation.latex for equation in article.equations] == ["x = y"]
        assert article.authors == ["Ada Lovelace"]


def test_a_cut_dump_is_read_up_to_the_fault(tmp_path: Path) -> None:
    """In an archive as outside; the report says that it is damaged."""
    put(tmp_path / "a", {"u.jsonl.gz": gz(DUMP * 200)[:-9]})
    put(tmp_path / "b", {"u.tar": tar({"u/a.jsonl": DUMP * 200})[:30_000]})
    for folder in ("a", "b"):
        assert "2212.11867" in names(tmp_path / folder)
        assert "broken archive" in skipped(tmp_path / folder).values()


def test_broken_lines_are_counted(tmp_path: Path) -> None:
    """Those of an archive, too."""
    damaged = lines(OF_2022) + b"{ damaged\n\n" + lines(OF_2024)
    put(tmp_path, {"u.tar": tar({"u/a.jsonl": damaged})})
    assert names(tmp_path) == ["2212.11867", "hep-th/9901001"]
    assert skipped(tmp_path) == {"u.tar!u/a.jsonl!2": "broken record"}


def test_zstd_without_an_engine_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to do."""
    monkeypatch.delitem(streams.ENGINES, "zstd", raising=False)
    kept = [pair for pair in content._MAGIC if pair[1] != "zstd"]
    monkeypatch.setattr(content, "_MAGIC", tuple(kept))
    put(tmp_path, {"u.jsonl.zst": streams.ZSTD_MAGIC + bytes(40)})
    (found,) = discover([tmp_path])
    assert found.cause == "unsupported archive"
    assert found.detail == "zstd is read with Python 3.14 or later: unpack it (unzstd)"


def test_damaged_zstd_is_a_broken_archive(tmp_path: Path) -> None:
    """As with other compressions."""
    put(tmp_path, {"u.jsonl.zst": zstd(DUMP)[:30], "p.tex.zst": zstd(PAPER)})
    assert skipped(tmp_path) == {"u.jsonl.zst": "broken archive"}
    (found,) = (one for one in discover([tmp_path]) if not one.cause)
    assert list(load(found).files.values()) == [PAPER]
