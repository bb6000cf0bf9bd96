"""Facts about collections are written from a manifest and compared with papers."""

import hashlib
import sys
import tarfile
from io import BytesIO
from pathlib import Path

import facts
import pytest

COLUMNS = ("collection", "title", *facts.KEPT)


def pack(path: Path, files: dict[str, str]) -> None:
    """Make an archive of a paper."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as packed:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            packed.addfile(member, BytesIO(text.encode()))


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    """Make a collection of two papers with its manifest; the second is a chapter of a book."""
    folder = tmp_path / "papers"
    pack(folder / "ir" / "b.tar.gz", {"paper.tex": "A paper."})
    pack(folder / "ir" / "a.tar.gz", {"main_one.tex": "Our own.", "chapters/one.tex": "One."})
    digests = {
        name: hashlib.sha256((folder / "ir" / name).read_bytes()).hexdigest()
        for name in ("a.tar.gz", "b.tar.gz")
    }
    rows = [
        ("ir", "T", "b.tar.gz", "paper.tex", "paper", "3", "", "o/n", "c0", "doc/paper.tex", "MIT"),
        ("ir", "U", "a.tar.gz", "main_one.tex", "chapter", "1", "c1", "o/m", "c1",
         "book/chapters/one.tex", ""),
    ]  # fmt: skip
    lines = ["\t".join(COLUMNS), *("\t".join((*row, digests[row[2]])) for row in rows)]
    (folder / "MANIFEST.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """Return the exit status of the script."""
    monkeypatch.setattr(sys, "argv", ["facts.py", *map(str, arguments)])
    try:
        facts.main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_facts_are_written_without_text(papers: Path) -> None:
    """There is a line for each paper, by name, with the hash of its source file."""
    made = facts.gathered(papers / "MANIFEST.tsv")
    assert [row["file"] for row in made["ir"]] == ["a.tar.gz", "b.tar.gz"]
    assert [row["cluster"] for row in made["ir"]] == ["c1", ""]
    wanted = [hashlib.sha256(text).hexdigest() for text in (b"One.", b"A paper.")]
    assert [row[facts.SOURCE_SHA256] for row in made["ir"]] == wanted
    assert not [row for row in made["ir"] if "title" in row]


def test_packed_papers_are_compared(
    papers: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Unchanged, missing and changed papers are counted; the exit status is 1 if any differ."""
    table = tmp_path / "facts"
    assert run(monkeypatch, papers / "MANIFEST.tsv", "--facts", table) == 0
    assert run(monkeypatch, "--check", papers, "--facts", table) == 0
    assert capsys.readouterr().out.splitlines()[-1].split() == ["ir", "2", "0", "0", "0"]
    (papers / "ir" / "a.tar.gz").unlink()
    (papers / "ir" / "b.tar.gz").write_bytes(b"other")
    assert run(monkeypatch, "--check", papers, "--facts", table) == 1
    out, err = capsys.readouterr()
    assert out.splitlines()[-1].split() == ["ir", "0", "1", "1", "0"]
    assert "missing" in err
    assert "changed" in err


def test_clones_are_compared_by_source_file(
    papers: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Files are OWNER/NAME/COMMIT/PATH; a paper without a known file is "unknown"."""
    table, clones = tmp_path / "facts", tmp_path / "clones"
    pack(papers / "ir" / "b.tar.gz", {"another.tex": "A paper."})
    run(monkeypatch, papers / "MANIFEST.tsv", "--facts", table)
    file = clones / "o" / "m" / "c1" / "book" / "chapters" / "one.tex"
    file.parent.mkdir(parents=True)
    file.write_text("One.", encoding="utf-8")
    assert run(monkeypatch, "--check", clones, "--clones", "--facts", table) == 0
    assert capsys.readouterr().out.splitlines()[-1].split() == ["ir", "1", "0", "0", "1"]
    file.write_text("Two.", encoding="utf-8")
    assert run(monkeypatch, "--check", clones, "--clones", "--facts", table) == 1


def test_committed_facts_are_complete() -> None:
    """Each paper of the collections has the hash of its archive and an origin."""
    rows = {path.stem: facts.read(path) for path in facts.FACTS.glob("*.tsv")}
    sizes = {name: len(found) for name, found in rows.items()}
    assert sizes == {"nlp": 104, "ir": 42, "ai": 51, "ml": 276, "other": 89}
    every = [row for found in rows.values() for row in found]
    assert {len(row["sha256"]) for row in every} == {64}
    assert not [row for row in every if row["source"].count("/") != 1]
    assert sum(len(row["commit"]) == 40 and bool(row["source_path"]) for row in every) == 560
    ids = (facts.FACTS / "arxiv_ml_ids.txt").read_text("utf-8").split()
    assert len(set(ids)) == len(ids) == 5924


@pytest.mark.parametrize(
    "given", [[], ["x.tsv", "--check", "y"], ["none.tsv"], ["--check", "none"]]
)
def test_wrong_arguments_are_rejected(given: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The exit status is 2, without a traceback."""
    assert run(monkeypatch, *given) == 2
