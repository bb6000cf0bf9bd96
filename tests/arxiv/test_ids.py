"""Identifiers are found in lists, bibliographies and PDFs; entries without one are named."""

import json
import zlib
from pathlib import Path

import pytest

from eqemb.arxiv.ids import canonical, in_bibliography, in_list, in_pdfs
from eqemb.errors import UsageError


@pytest.mark.parametrize(
    ("text", "identifier"),
    [
        ("1803.09123", "1803.09123"),
        (" 1803.09123v2 ", "1803.09123v2"),
        ("arXiv:0704.0001", "0704.0001"),
        ("arXiv: 1803.09123", "1803.09123"),
        ("https://arxiv.org/pdf/1803.09123v3.pdf", "1803.09123v3"),
        ("HTTP://ARXIV.ORG/ABS/CS/0501001", "cs/0501001"),
        ("10.48550/arXiv.1803.09123", "1803.09123"),
        ("arXiv preprint arXiv:1409.0473v7", "1409.0473v7"),
        ("CoRR, abs/1409.0473", "1409.0473"),
        ("math.GT/0309136", "math/0309136"),
        ("cond-mat/9805021v1", "cond-mat/9805021v1"),
        ("1813.09123", ""),  # no such month
        ("arXiv:1803.091234", ""),  # a digit too many
        ("nothing/0501001", ""),  # no such archive
        ("see 1803.09123", ""),  # a number in a sentence
        ("10.1145/1803.09123", ""),  # another's DOI
    ],
)
def test_every_spelling_of_an_identifier(text: str, identifier: str) -> None:
    """It becomes the spelling that arXiv uses."""
    assert canonical(text) == identifier


def test_a_list_has_one_identifier_per_line(tmp_path: Path) -> None:
    """Comments, other columns and repetitions are ignored; other lines are named."""
    path = tmp_path / "ids.txt"
    path.write_text(
        "# mine\n1803.09123  # the paper\n\ncs/0501001\tA title\n1803.09123\n"
        "1409.0473 Another title\nnonsense\n",
        "utf-8-sig",
    )
    assert in_list(path) == (["1803.09123", "cs/0501001", "1409.0473"], ["line 7 (nonsense)"])


def test_our_own_lists() -> None:
    """The list of arXiv papers is accepted; those of repositories are rejected with advice."""
    folder = Path(__file__).parents[2] / "benchmarks/collections"
    found, missed = in_list(folder / "arxiv_ml_ids.txt")
    assert (len(found), missed) == (5924, [])
    with pytest.raises(UsageError, match="clone each `source` at its `commit`"):
        in_list(folder / "nlp.tsv")


def test_a_missing_file(tmp_path: Path) -> None:
    """The error names it."""
    with pytest.raises(UsageError, match=r"cannot read .*no.txt: No such file"):
        in_list(tmp_path / "no.txt")


BIBTEX = r"""
@comment{not, an entry}
@string{corr = "CoRR"}
@article{eprint, title={Some {\'E}tude}, eprint={1803.09123}, archivePrefix = "arXiv"}
@misc{doi,
  abstract = {We extend arXiv:1111.1111 and {more {deeply}} nested.},
  doi = {10.48550/arXiv.1409.0473},
}
@misc{url, url = {https://arxiv.org/abs/cs/0501001v2}, year = 2005}
@article{dblp, journal = corr, volume = {abs/1206.5533}}
  @article{note, note = "arXiv preprint arXiv:1207.0580"}
@book{printed, title = {A Book}, abstract = {It cites arXiv:1111.2222.}}
@article{other, eprint = {2101.00001}, eprinttype = {pubmed}}
@article{twice, journal = {arXiv preprint arXiv:1803.09123}}
"""


def test_bibtex(tmp_path: Path) -> None:
    """An entry's own identifier counts, not those that its abstract mentions."""
    path = tmp_path / "refs.bib"
    path.write_text(BIBTEX, "utf-8")
    assert in_bibliography(path) == (
        ["1803.09123", "1409.0473", "cs/0501001v2", "1206.5533", "1207.0580"],
        ["printed", "other"],
    )


def test_entries_on_one_line(tmp_path: Path) -> None:
    """Each is a paper of its own."""
    path = tmp_path / "refs.bib"
    path.write_text(
        "@article{a, eprint={1803.09123}} @article{b, eprint={1409.0473}}@misc(c, eprint={x})"
        " @misc{d, eprint={1207.0580}}\n",
        "utf-8",
    )
    assert in_bibliography(path) == (["1803.09123", "1409.0473", "1207.0580"], ["c"])


@pytest.mark.parametrize(
    ("fields", "identifier"),
    [
        ("eprint={0309136}, primaryClass={math}", "math/0309136"),
        ("eprint={0309136v2}, primaryClass={math.GT}", "math/0309136v2"),
        ("eprint={9805021}, eprintclass={cond-mat.stat-mech}", "cond-mat/9805021"),
        ("eprint={1803.09123}, primaryClass={stat.ML}", "1803.09123"),
        ("eprint={0309136}, primaryClass={nothing}", ""),
        ("eprint={0309136}", ""),
    ],
)
def test_an_old_number_with_its_archive(tmp_path: Path, fields: str, identifier: str) -> None:
    """ArXiv's own BibTeX had such entries."""
    path = tmp_path / "refs.bib"
    path.write_text(f"@misc{{a, {fields}}}\n", "utf-8")
    assert in_bibliography(path) == (([identifier], []) if identifier else ([], ["a"]))


def test_zotero_csv(tmp_path: Path) -> None:
    """Identifiers in the URL, the DOI, the extra field or the archive location."""
    path = tmp_path / "zotero.csv"
    path.write_text(
        '"Key","Title","DOI","Url","Abstract Note","Extra","Archive Location"\n'
        '"A","One","","http://arxiv.org/abs/1803.09123","","",""\n'
        '"B","Two","","","","arXiv:1409.0473 [cs, stat]",""\n'
        '"C","Three","10.48550/arXiv.1207.0580","","","",""\n'
        '"D","Four","","","","","1206.5533"\n'
        '"E","Five","10.1145/1","","Better than\narXiv:1111.1111.","",""\n',
        "utf-8-sig",
    )
    found = ["1803.09123", "1409.0473", "1207.0580", "1206.5533"]
    assert in_bibliography(path) == (found, ["E"])


def test_zotero_json(tmp_path: Path) -> None:
    """A CSL list, and the object of Better BibTeX."""
    items = [
        {"id": "a", "URL": "http://arxiv.org/abs/1803.09123", "author": [{"family": "K"}]},
        {"id": "b", "note": "arXiv:1409.0473 [cs]", "issued": {"date-parts": [[2014]]}},
        {"id": "c", "title": "A Book", "abstractNote": "arXiv:1111.1111"},
    ]
    path = tmp_path / "items.json"
    path.write_text(json.dumps(items).replace("/", "\\/"), "utf-8")
    assert in_bibliography(path) == (["1803.09123", "1409.0473"], ["A Book"])
    path.write_text(json.dumps({"items": [{"archiveID": "arXiv:1207.0580"}]}), "utf-8")
    assert in_bibliography(path) == (["1207.0580"], [])
    path.write_text("[1, ", "utf-8")
    with pytest.raises(UsageError, match=r"items.json is not valid JSON"):
        in_bibliography(path)


def test_other_formats_give_the_lines_that_mention_papers(tmp_path: Path) -> None:
    """RIS, for example."""
    path = tmp_path / "refs.ris"
    path.write_text("TY  - JOUR\nUR  - http://arxiv.org/abs/1803.09123\nER  -\n", "utf-8")
    assert in_bibliography(path) == (["1803.09123"], [])


def pdf(*streams: bytes, packed: bool = True, more: bytes = b"") -> bytes:
    """A PDF with these streams."""
    parts = [b"%PDF-1.5\n"]
    for text in streams:
        data = zlib.compress(text) if packed else text
        kind = b" /Filter /FlateDecode" if packed else b""
        parts.append(
            b"4 0 obj\n<< /Length %d%s >>\nstream\n%s\nendstream\n" % (len(data), kind, data)
        )
    return b"".join(parts) + more


REFERENCE = b"BT [(arXiv preprint arXiv:1409.0473, 2014.)] TJ ET"
STAMP = b"BT 10 0 0 10 18 220 Tm (arXiv:1803.09123v1  [stat.ML]  24 Mar 2018) Tj ET"


@pytest.mark.parametrize(
    ("data", "identifier"),
    [
        (pdf(REFERENCE, STAMP), "1803.09123v1"),
        (pdf(STAMP, packed=False), "1803.09123v1"),
        (pdf(b"[(arXiv:1803.09)-12.5(123v2)-600([stat.ML])] TJ"), "1803.09123v2"),
        (pdf(b"[<" + b"arXiv:1803.09123v1 [cs.CL]".hex().encode() + b">] TJ"), "1803.09123v1"),
        (pdf(b"(arXiv:math.GT/0309136v2  9 Sep 2003) Tj"), "math/0309136v2"),
        (pdf(more=b"<< /arXivID (https://arxiv.org/abs/2501.00001v1) >>"), "2501.00001v1"),
        (pdf(REFERENCE), ""),
        (pdf(b"(arXiv:1409.0473v7. In Proceedings) Tj"), ""),
        (pdf(STAMP)[:90], ""),
        (pdf(STAMP).replace(b"/Length", b"/Subtype /Image /Length"), ""),
        (b"", ""),
    ],
)
def test_the_stamp_of_a_pdf(tmp_path: Path, data: bytes, identifier: str) -> None:
    """It is found in text that zlib can decompress; a reference to another paper is not a stamp."""
    (tmp_path / "some.pdf").write_bytes(data)
    expected = ([identifier], []) if identifier else ([], ["some.pdf"])
    assert in_pdfs(tmp_path) == expected


def test_the_name_of_a_pdf_comes_first(tmp_path: Path) -> None:
    """In the folder and below; other files and hidden ones are ignored."""
    for name in ("Author - 1409.0473v2.pdf", "cs/0501001.PDF", "notes.txt", ".trash/1.pdf"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(pdf(STAMP))
    assert in_pdfs(tmp_path) == (["1409.0473v2", "cs/0501001"], [])
    with pytest.raises(UsageError, match="is not a folder"):
        in_pdfs(tmp_path / "notes.txt")
