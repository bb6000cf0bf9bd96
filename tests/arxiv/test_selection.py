"""Papers are chosen by category, licence and year, and the others are counted by cause."""

import json
import logging
import re
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from eqemb import cli
from eqemb.arxiv.selection import Selection
from eqemb.arxiv.snapshot import Snapshot
from eqemb.errors import EqembError, UsageError
from eqemb.facade.library import Library
from eqemb.facade.sync import update_library
from eqemb.facade.update import add_papers
from eqemb.storage import line_index
from packing import PDF, gz, lines, put, tar
from snapshots import NONEXCLUSIVE, record, snapshot
from synthetic import paper, read_inline

TEX = paper(r"The norm is \begin{equation} x = y \end{equation} here.").encode()


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    read_inline(monkeypatch)


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    """Five papers in a month archive, one of them in PDF; one loose paper; one that is unknown."""
    month = {f"2301/2301.0000{n}.gz": gz(TEX.replace(b"x = y", b"x = %d" % n)) for n in (1, 2, 3)}
    month["2301/2301.00004.pdf"] = PDF
    files = {
        "arXiv_src_2301_001.tar": tar(month),
        "hep-th9901001.tex": TEX.replace(b"x = y", b"y^2"),
        "essay.tex": TEX.replace(b"x = y", b"z^2"),
    }
    return put(tmp_path / "papers", files)


@pytest.fixture
def metadata(tmp_path: Path) -> Path:
    """Metadata of these papers, among others and among damage."""
    old = [{"version": "v1", "created": "Fri, 1 Jan 1999 09:00:00 GMT"}]
    return snapshot(
        tmp_path / "arxiv-metadata-oai-snapshot.json",
        record("0704.0001", title="Not here"),
        "{ damaged",
        record("2301.00001"),
        record("2301.00002", license=NONEXCLUSIVE, categories="math.PR"),
        record("2301.00003", license=None, categories="cs.CL"),
        record("2301.00004", categories="math.PR"),
        record("hep-th/9901001", categories="hep-th cs.CL", versions=old),
    )


def chosen(papers: Path, place: Path, **wanted: Any) -> tuple[list[str], dict[str, int]]:
    """The names of papers that are read, and how many are left out by cause."""
    with Library.read([papers], place, jobs=1, selection=Selection(**wanted)) as made:
        return made.records.names(), made.report.get("left_out", {"causes": {}})["causes"]


def test_metadata_alone_leaves_nothing_out(papers: Path, metadata: Path, tmp_path: Path) -> None:
    """It gives authors, year and version to answers, and survives the file."""
    place, told = tmp_path / "lib", Selection(str(metadata))
    with Library.read([papers], place, jobs=1, index=True, selection=told) as made:
        hits = {hit.article: hit for hit in made.search("norm", k=20)}
        assert sorted(hits) == ["2301.00001", "2301.00002", "2301.00003", "essay", "hep-th/9901001"]
        assert hits["2301.00001"].to_json()["authors"] == ["Ada Lovelace", "Henri Poincaré Jr"]
        assert hits["hep-th/9901001"].to_json()["year"] == 1999
        assert "Lovelace" in hits["2301.00001"].to_json()["reference"]
        assert hits["essay"].to_json()["authors"] == []
        assert "left_out" not in made.report
    metadata.unlink()
    with Library.open(place) as opened:
        found = opened.records.paper("2301.00002")
        assert found is not None
        assert (found.licence, found.categories) == (NONEXCLUSIVE, ("math.PR",))


@pytest.mark.parametrize(
    ("wanted", "names", "left"),
    [
        ({"categories": ("cs.LG",)}, ["2301.00001"], {"no metadata": 1, "other category": 4}),
        (
            {"categories": ("cs.*", "hep-th")},
            ["hep-th/9901001", "2301.00001", "2301.00003"],
            {"no metadata": 1, "other category": 2},
        ),
        (
            {"licences": ("cc-by", "none")},
            ["hep-th/9901001", "2301.00001", "2301.00003"],
            {"no metadata": 1, "other licence": 1},
        ),
        ({"licences": ("nonexclusive",)}, ["2301.00002"], {"no metadata": 1, "other licence": 4}),
        ({"licences": (NONEXCLUSIVE,)}, ["2301.00002"], {"no metadata": 1, "other licence": 4}),
        ({"years": "-2000"}, ["hep-th/9901001"], {"no metadata": 1, "other year": 4}),
        (
            {"categories": ("cs",), "years": "2023", "licences": ("CC-BY-4.0",)},
            ["2301.00001"],
            {"no metadata": 1, "other category": 2, "other licence": 1, "other year": 1},
        ),
    ],
)
def test_filters(
    papers: Path,
    metadata: Path,
    tmp_path: Path,
    wanted: dict[str, Any],
    names: list[str],
    left: dict[str, int],
) -> None:
    """A paper must pass all filters; the PDF of a paper that does not is no skipped source."""
    found = chosen(papers, tmp_path / "lib", metadata=str(metadata), **wanted)
    assert (sorted(found[0]), found[1]) == (sorted(names), left)


def test_years_need_no_metadata(papers: Path, tmp_path: Path) -> None:
    """An arXiv identifier has the year."""
    names, left = chosen(papers, tmp_path / "lib", years="1999")
    assert (names, left) == (["hep-th/9901001"], {"no metadata": 1, "other year": 4})


def test_a_pdf_without_metadata_is_left_out_as_other_papers_are(tmp_path: Path) -> None:
    """And is no skipped source; without a filter, it is one."""
    papers = put(tmp_path / "papers", {"a/a.tex": TEX, "b/2301.00002.pdf": PDF, "b/c.pdf": PDF})
    beside = lines({"id": "2301.00001", "categories": ["cs.LG"], "file": "a.tex"})
    put(papers, {"a/metadata.jsonl": beside})
    wanted = Selection(categories=("cs.LG",))
    with Library.read([papers], tmp_path / "lib", jobs=1, selection=wanted) as made:
        assert made.report["left_out"]["causes"] == {"no metadata": 2}
        assert made.report["skipped"]["total"] == 0
    assert update_library(tmp_path / "lib", jobs=1).is_empty
    with Library.read([papers], tmp_path / "all", jobs=1) as made:
        assert made.report["skipped"]["causes"] == {"pdf only": 2}


def test_unarxive_records_and_downloads_describe_themselves(tmp_path: Path) -> None:
    """Their own metadata is used where no file is given."""
    own = {"body_text": [], "ref_entries": {}, "abstract": {"text": "Words."}}
    one, two = (
        {"paper_id": name, "metadata": record(name, categories=of), **own}
        for name, of in (("2301.00001", "cs.LG"), ("2301.00002", "math.PR"))
    )
    about = {"id": "1501.00001", "authors": ["Ada"], "categories": ["cs.LG"], "file": "a.gz"}
    files = {"u.jsonl": lines(one, two), "d/a.gz": gz(TEX), "d/metadata.jsonl": lines(about)}
    papers = put(tmp_path / "papers", files)
    names, left = chosen(papers, tmp_path / "lib", categories=("cs.LG",))
    assert sorted(names) == ["2301.00001", "d/a"]
    assert left == {"other category": 1}


def test_metadata_beside_a_tar_is_that_of_its_members(tmp_path: Path) -> None:
    """By their arXiv ids."""
    month = tar({f"2301/2301.0000{number}.gz": gz(TEX) for number in (1, 2)})
    about = [
        {"id": f"2301.0000{number}", "title": "T", "categories": [category]}
        for number, category in ((1, "cs.LG"), (2, "math.AG"))
    ]
    folder = put(tmp_path / "bulk", {"month.tar": month, "metadata.jsonl": lines(*about)})
    names, causes = chosen(folder, tmp_path / "library", categories=("cs",))
    assert (names, causes) == (["2301.00001"], {"other category": 1})


def test_nothing_chosen_is_one_sentence(papers: Path, tmp_path: Path) -> None:
    """It names the causes and the remedy; a damaged archive may have held chosen papers."""
    put(papers, {"more.zip": b"PK\3\4" + bytes(99)})
    with pytest.raises(
        EqembError, match=r"left out \(6 no metadata\); 1 other source cannot.*--metadata"
    ) as error:
        chosen(papers, tmp_path / "lib", categories=("cs.LG",))
    assert "No library was made" in str(error.value)


def test_additions_and_updates_choose_too(papers: Path, metadata: Path, tmp_path: Path) -> None:
    """An update chooses as the step did that read the folder; counts add up."""
    place = tmp_path / "lib"
    wanted = Selection(str(metadata), ("cs.LG",))
    chosen(papers, place, metadata=str(metadata), categories=("cs.LG",))
    put(papers, {"2301.00009.tex": TEX.replace(b"x = y", b"q")})
    done = update_library(place, jobs=1)
    assert (done.is_empty, done.left_out) == (True, {"no metadata": 1})
    assert update_library(place, jobs=1).left_out == {}
    snapshot(metadata, record("2301.00001"), record("2301.00009"), record("2301.00010"))
    assert update_library(place, jobs=1).added == ["2301.00009"]
    more = put(papers / "more", {"2301.00010.tex": TEX, "2301.00011.tex": TEX})
    change = add_papers(place, [more], selection=wanted, jobs=1)
    assert (change.names, change.left_out) == (["2301.00010"], {"no metadata": 1})
    with Library.open(place) as opened:
        assert opened.report["left_out"]["causes"] == {"no metadata": 3, "other category": 4}
        assert ["more/2301.00011.tex", "no metadata", ""] in opened.report["left_out"]["papers"]


def test_an_addition_without_chosen_papers_is_refused(
    papers: Path, metadata: Path, tmp_path: Path
) -> None:
    """The message counts these papers only."""
    place, wanted = tmp_path / "lib", Selection(str(metadata), ("cs.LG",))
    chosen(papers, place, metadata=str(metadata), categories=("cs.LG",))
    more = put(papers / "more", {"2301.00011.tex": TEX})
    with pytest.raises(EqembError, match=r"1 paper left out \(1 no metadata\)"):
        add_papers(place, [more], selection=wanted, jobs=1)


def test_a_resumed_reading_counts_everything(papers: Path, metadata: Path, tmp_path: Path) -> None:
    """Also if all was done before."""
    place, wanted = tmp_path / "lib", Selection(str(metadata), ("cs.LG",))
    first = Library.read([papers], place, jobs=1, selection=wanted)
    with closing(first):
        before = first.report
    with Library.read([papers], place, jobs=1, selection=wanted, resume=True) as again:
        assert again.report == before


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"licences": ("gpl",)}, "'gpl' is no licence of arXiv: use cc-by,"),
        ({"categories": ("c s",)}, "is not a category"),
        ({"years": "20"}, "invalid year '20'"),
    ],
)
def test_wrong_filters_are_refused(wanted: dict[str, Any], message: str) -> None:
    """When they are given."""
    with pytest.raises(UsageError, match=message):
        Selection(**wanted)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read the metadata .*No such file"),
        (b"", "has no line that describes a paper"),
        (b"[1, 2]\n{}\n", "has no line that describes a paper"),
        (gz(b"{}"), r"is compressed.*unpack it first \(gunzip\)"),
        (b"PK\3\4" + bytes(40), r"unpack it first \(unzip\)"),
    ],
)
def test_a_wrong_metadata_file_is_refused(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    """In one sentence."""
    path = tmp_path / "file.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=message):
        Snapshot(path)


def test_a_metadata_file_is_scanned_once(
    metadata: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The places of its lines are kept; damaged lines are said once."""
    with caplog.at_level(logging.WARNING, "eqemb"):
        assert len(Snapshot(metadata)) == 6
    assert "lines that describe no paper are ignored: 1, the first is line 2" in caplog.text
    monkeypatch.setattr(line_index.LineIndex, "scan", None)
    found = Snapshot(metadata).get("hep-th/9901001")
    assert found is not None
    assert found.date == "1999-01-01"
    assert Snapshot(metadata).get("2301.99999") is None


def test_the_last_line_about_a_paper_counts(tmp_path: Path) -> None:
    """As in a file to which news are appended."""
    path = snapshot(tmp_path / "m.jsonl", record("2301.00001"), record("2301.00001", title="New"))
    found = Snapshot(path).get("2301.00001")
    assert found is not None
    assert found.title == "New"


def test_the_command_line(
    papers: Path,
    metadata: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Read says what is left out, with --json too."""
    filters = ["--metadata", str(metadata), "--category", "cs.LG", "--license", "cc-by"]
    arguments = ["eqemb", "read", str(papers), "-o", str(tmp_path / "lib"), *filters]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit):
        cli.main()
    assert "left out  5  1 no metadata, 4 other category" in re.sub(
        " {2,}", "  ", capsys.readouterr().out
    )
    monkeypatch.setattr(sys, "argv", [*arguments, "--json"])
    with pytest.raises(SystemExit):
        cli.main()
    done = json.loads(capsys.readouterr().out)
    assert done["left_out"] == {"no metadata": 1, "other category": 4}
