"""Documents of formats other than LaTeX, and two forms of one document."""

import itertools
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqemb.sources import Found, discover, form_of, is_better_form, load
from packing import PAPER, PART, PDF, RECORD, gz, lines, names, only, put, skipped, tar, zipped
from synthetic import KnownArticles

NOTE = b"# A note\n\n$$x = 1$$\n"
PAGE = b"<!DOCTYPE html>\n<html><body>\\[x = 1\\]</body></html>\n"
JATS = b'<?xml version="1.0"?>\n<!-- <x> -->\n<!DOCTYPE article>\n<article article-type="a"/>\n'
TEI_OF_GROBID = b'<?xml version="1.0" ?>\n<tei xml:space="preserve">\n</tei>\n'
TEI = b'<?xml version="1.0"?>\n<tei:TEI xmlns:tei="http://www.tei-c.org/ns/1.0"/>\n'


def origins(*paths: str | Path) -> list[str]:
    """The origins of the documents that are read."""
    return [found.origin for found in discover(paths) if not found.cause]


def other_forms(*paths: str | Path) -> dict[str, str]:
    """Origin -> detail of the documents that are read in another form."""
    return {one.origin: one.detail for one in discover(paths) if one.cause == "other form"}


# ---------------------------------------------------------------- which files are documents


def test_formats_may_be_mixed(tmp_path: Path) -> None:
    """Every format is found in one folder, with its form and its name."""
    put(tmp_path, {"a/one.md": NOTE, "a/two.Rmd": NOTE, "b/three.ipynb": b"{}", "four.tex": PAPER})
    put(tmp_path, {"five.html": PAGE, "six.nxml": JATS, "seven.rst": NOTE, "eight.do.txt": NOTE})
    found = {one.name: one.form for one in discover([tmp_path])}
    assert found == {
        "four": "tex",
        "a/one": "markdown",
        "a/two": "markdown",
        "b/three": "notebook",
        "eight": "doconce",
        "five": "html",
        "seven": "rst",
        "six": "jats",
    }
    assert only(tmp_path / "eight.do.txt").name == "eight"
    assert load(only(tmp_path / "a/one.md")).files == {"one.md": NOTE}


def test_xml_that_is_no_article_is_ignored(tmp_path: Path) -> None:
    """Settings and data are no documents; the root element decides, in any encoding."""
    put(tmp_path, {"pom.xml": b"<project><article/></project>", "a.xml": JATS, "b.xml": TEI})
    put(tmp_path, {"c.xml": b"<article xmlns='http://docbook.org/ns/docbook'/>", "d.xml": b""})
    put(tmp_path, {"e.xml": "<article/>".encode("utf-16")})
    put(tmp_path, {"f.xml": TEI_OF_GROBID})
    assert names(tmp_path) == ["a", "b", "e", "f"]
    assert skipped(tmp_path) == {}
    assert skipped(tmp_path / "pom.xml") == {"pom.xml": "no document"}


def test_content_confirms_the_suffix(tmp_path: Path) -> None:
    """A file that is something else is counted with its cause."""
    put(tmp_path, {"a.md": b" \n", "b.html": PDF, "c.md": b"\x00\x01" * 99, "d.md": NOTE})
    put(tmp_path, {"e.md": "# ä\n".encode("utf-16")})
    assert names(tmp_path) == ["d", "e"]
    causes = {"a.md": "empty", "b.html": "pdf only", "c.md": "no document"}
    assert skipped(tmp_path) == causes


@pytest.mark.parametrize("name", ["README.md", "license.md", "LICENSE-CODE.md", "CHANGES.rst"])
def test_files_that_accompany_documents_are_left_out(tmp_path: Path, name: str) -> None:
    """Beside or above documents, TeX and packed papers; elsewhere they are documents."""
    alone = put(
        tmp_path / "alone", {f"x/{name}": NOTE, "x/a.py": b"", "x/p.pdf": PDF, "a.md": NOTE}
    )
    assert len(names(alone)) == 2
    for place, data in {"a.md": NOTE, "b/c/d.tex": PAPER, "e.tar.gz": gz(PAPER)}.items():
        folder = put(tmp_path / place, {name: b"How to build $x$.\n", place: data})
        assert origins(folder) == [place]
        assert skipped(folder) == {}
        assert origins(folder / name) == [name]
        assert skipped(folder / name, folder / place) == {name: "accompanying file"}


def test_no_display_of_a_readme_is_lost_in_silence(tmp_path: Path) -> None:
    """Among notes it is one of them; beside TeX it is skipped with its cause."""
    notes = put(tmp_path / "notes", {"README.md": NOTE, "a.md": NOTE})
    assert origins(notes) == ["README.md", "a.md"]
    for place, data in {"a.tex": PAPER, "b.tar.gz": gz(PAPER)}.items():
        paper = put(tmp_path / place, {"README.md": NOTE, place: data})
        assert origins(paper) == [place]
        assert skipped(paper) == {"README.md": "accompanying file"}
    code = put(tmp_path / "code", {"README.md": b"Write `$$`, `\\[ \\]`.\n", "a.md": NOTE})
    assert origins(code) == ["a.md"]


def test_chapters_with_common_names_are_documents(tmp_path: Path) -> None:
    """Only in capitals are these names conventional."""
    put(tmp_path, {"history.md": NOTE, "support.md": NOTE, "reader.md": NOTE, "index.md": NOTE})
    assert len(origins(tmp_path)) == 4


def test_readme_and_index_are_named_by_their_folder(tmp_path: Path) -> None:
    """As pages of a site are, and notes that are kept in a README."""
    put(tmp_path, {"a/index.md": NOTE, "b/README.md": NOTE, "c/index.tex": PAPER})
    assert names(tmp_path) == ["c/index", "a", "b"]


def test_generated_and_installed_folders_are_left_out(tmp_path: Path) -> None:
    """Unless they are given: output of site generators, packages, checkpoints, settings."""
    folders = [
        ".obsidian",
        ".ipynb_checkpoints",
        "_build/html",
        "node_modules/a",
        "x/site-packages",
    ]
    folders += ["_site", "_includes", "page_files", "htmlcov"]
    put(tmp_path, {f"{folder}/a.html": PAGE for folder in folders})
    put(tmp_path, {"_posts/b.md": NOTE, "c_files/c.rst": NOTE})
    assert origins(tmp_path) == ["_posts/b.md", "c_files/c.rst"]
    assert names(tmp_path / "_build/html") == ["a"]


def test_pdf_of_a_document_is_not_counted(tmp_path: Path) -> None:
    """It is what the Markdown was made of; another PDF is a paper that is not read."""
    put(tmp_path, {"a.mmd": NOTE, "a.pdf": PDF, "b.pdf": PDF})
    assert skipped(tmp_path) == {"b.pdf": "pdf only"}


# ---------------------------------------------------------------- archives


@pytest.mark.parametrize("pack", [zipped, tar, lambda files: gz(tar(files))])
def test_archive_of_notes_is_a_container(tmp_path: Path, pack: type) -> None:
    """An Obsidian vault: images first, settings and templates left out, a style file in it."""
    files = {"v/a.png": b"\x89PNG" + b"\0" * 90_000, "v/.obsidian/app.json": b"{}", "v/a.md": NOTE}
    files |= {"v/b/c.md": NOTE, "v/b/c.html": PAGE, "v/README.md": NOTE, "v/preamble.sty": b"%"}
    files |= {"v/b/c.pdf": PDF, "v/_site/d.html": PAGE, "v/settings.xml": b"<settings/>"}
    put(tmp_path, {"notes.zip": pack(files)})
    assert names(tmp_path) == ["notes/v/a", "notes/v/b/c"]
    assert other_forms(tmp_path) == {"notes.zip!v/b/c.html": "of notes.zip!v/b/c.md"}
    assert set(skipped(tmp_path).values()) == {"other form"}


def test_archive_with_tex_is_one_paper(tmp_path: Path) -> None:
    """Whatever else is in it, and even if TeX comes last or has no suffix."""
    more = {"a.html": PAGE, "README.md": NOTE, "b.png": b"\x89PNG" + b"\0" * 90_000}
    put(tmp_path, {"2401.00001.tar.gz": gz(tar(more | {"z.tex": PAPER}))})
    put(tmp_path, {"b.zip": zipped(more | {"z.tex": PAPER}), "c.tar": tar(more | {"paper": PAPER})})
    assert {one.name: one.form for one in discover([tmp_path])} == dict.fromkeys(
        ["2401.00001", "b", "c"], "tex"
    )
    assert [list(load(one).files) for one in discover([tmp_path])] == [
        *(["z.tex"], ["z.tex"], ["paper"])
    ]


def test_package_of_a_journal_article(tmp_path: Path) -> None:
    """JATS, the PDF and the figures in one archive give one document."""
    files = {"PMC1/a.jpg": b"\xff\xd8", "PMC1/a.nxml": JATS, "PMC1/a.pdf": PDF}
    put(tmp_path, {"PMC1.tar.gz": gz(tar(files))})
    assert names(tmp_path) == ["PMC1/PMC1/a"]
    assert skipped(tmp_path) == {}


# ---------------------------------------------------------------- two forms of one document


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("paper.tex", "paper.html"),
        ("notes.md", "notes.ipynb"),
        ("chapter.qmd", "chapter.html"),
        ("chapter.Rmd", "chapter.md"),
        ("x.rst", "x.html"),
        ("x.do.txt", "x.ipynb"),
        ("p/main.tex", "p/main.html"),
        ("2401.00001.tar.gz", "2401.00001v2.html"),
        ("z/2401.00001.tar.gz", "a/2401.00001.html"),
        ("2401.00001/main.tex", "2401.00001/S1.html"),
        ("2401.00001.html", "2401.00001.md"),
        ("b/_sources/c/x.ipynb", "b/c/x.html"),
        ("a.nxml", "a.html"),
        ("2401.00001.html", "all.jsonl"),
        ("z/2401.00001.gz", "all.jsonl"),
    ],
)
def test_better_form_is_read(tmp_path: Path, better: str, worse: str) -> None:
    """The other is named in the report, in a folder and given in any order."""
    contents = {".tex": PAPER, ".gz": gz(PAPER), ".html": PAGE, ".nxml": JATS}
    contents[".jsonl"] = lines(RECORD | {"paper_id": "2401.00001"})
    put(tmp_path, {path: contents.get(Path(path).suffix, NOTE) for path in (better, worse)})
    worse = "all.jsonl!2401.00001" if worse == "all.jsonl" else worse
    files = [tmp_path / path.partition("!")[0] for path in (better, worse)]
    for paths in ([tmp_path], files, files[::-1]):
        found = list(discover(paths, root=tmp_path))
        assert [one.origin for one in found if not one.cause] == [better]
        assert [(one.origin, one.cause, one.detail) for one in found if one.cause] == [
            (worse, "other form", f"of {better}")
        ]
    assert is_better_form(better, worse)
    assert not is_better_form(worse, better)


def test_documents_that_only_look_alike_are_separate(tmp_path: Path) -> None:
    """Other folders, other versions, an archive of the same name, several pages of one folder."""
    put(tmp_path, {"a/x.md": NOTE, "b/x.html": PAGE, "y.zip": zipped({"z.md": NOTE}), "y.md": NOTE})
    put(tmp_path, {"2401.00001v1.html": PAGE, "2401.00001v2.html": PAGE})
    put(tmp_path, {"2402.00001/S1.html": PAGE, "2402.00001/S2.html": PAGE})
    assert other_forms(tmp_path) == {}
    assert len(origins(tmp_path)) == 8


def test_page_of_a_part_is_another_form(tmp_path: Path) -> None:
    """A book's chapters as LaTeX, and as pages of the same names."""
    put(tmp_path, {"book.tex": PAPER + b"\\input{ch1}", "ch1.tex": PART, "ch1.html": PAGE})
    assert origins(tmp_path) == ["book.tex"]
    assert other_forms(tmp_path) == {"ch1.html": "of ch1.tex"}


def test_fragment_of_tex_is_no_form(tmp_path: Path) -> None:
    """Without a head and without displays, in a paper's folder or alone; the note is read."""
    put(tmp_path, {"a.tex": PART, "a.md": NOTE, "b/b.tex": PART, "b/main.tex": PAPER})
    put(tmp_path, {"b/b.md": NOTE, "c.tex": PART + b"$$x$$", "c.md": NOTE})
    assert other_forms(tmp_path) == {"c.md": "of c.tex"}
    assert {"a.md", "b/b.md"} < set(origins(tmp_path))
    both = [tmp_path / "a.tex", tmp_path / "a.md"]
    assert [found.origin for found in discover(both) if not found.cause] == ["a.tex", "a.md"]
    library = KnownArticles([("a", "a.tex")])
    assert {one.name for one in discover(both, known=library)} == {"a", "a.md"}


def test_empty_form_does_not_count(tmp_path: Path) -> None:
    """The other one is read."""
    put(tmp_path, {"a.tex": b"", "a.html": PAGE, "b.md": b"", "b.html": PAGE})
    assert origins(tmp_path) == ["a.html", "b.html"]


def test_forms_of_a_library_are_known(tmp_path: Path) -> None:
    """A worse form is skipped, a better one takes the name, and the same origin keeps it."""
    put(tmp_path, {"2401.00001.html": PAGE, "a.md": NOTE})
    library = KnownArticles([("2401.00001", "x/2401.00001v1.tar.gz"), ("a", "a.ipynb")])
    found = {one.origin: one for one in discover([tmp_path], known=library)}
    assert found["2401.00001.html"].detail == "of x/2401.00001v1.tar.gz"
    assert (found["a.md"].cause, found["a.md"].name) == ("", "a")
    library = KnownArticles([("2401.00001", "2401.00001.html"), ("a", "a.md")])
    assert {one.name for one in discover([tmp_path], known=library)} == {"2401.00001", "a"}


def test_form_of_an_origin() -> None:
    """As the report counts it."""
    forms = {"a.md": "markdown", "a.zip!b/c.html": "html", "a.tar.gz": "tex", "0704.0001": "tex"}
    forms |= {"a.jsonl!2212.11867": "unarxive", "u.tar.xz!22/a.jsonl!1": "unarxive"}
    assert {origin: form_of(origin) for origin in forms} == forms


CONTENTS = {
    "": PAPER,
    ".tex": PAPER,
    ".gz": gz(PAPER),
    ".md": NOTE,
    ".ipynb": b"{}",
    ".html": PAGE,
    ".zip": zipped({"main.md": NOTE, "x.html": PAGE}),
    ".nxml": JATS,
    ".pdf": PDF,
    ".jsonl": lines(RECORD | {"paper_id": "2401.00001"}, RECORD),
}
STEMS = ["a", "main", "README", "2401.00001", "2401.00001v2"]


@st.composite
def trees(draw: st.DrawFn) -> dict[str, bytes]:
    """Return the files of a folder; often, several have one stem."""
    names_of_files = st.tuples(
        st.sampled_from(["", "p/", "p/q/", "2212.11867/"]),
        st.sampled_from(STEMS),
        st.sampled_from(sorted(CONTENTS)),
    )
    files = draw(st.lists(names_of_files, min_size=1, max_size=8))
    return {folder + stem + end: CONTENTS[end] for folder, stem, end in files}


def summary(found: list[Found]) -> list[tuple[str, ...]]:
    """What is known of sources, but for those that are skipped without being documents."""
    return sorted((one.origin, one.name, one.form) for one in found if not one.cause)


@given(trees())
def test_articles_do_not_depend_on_how_paths_are_given(tree: dict[str, bytes]) -> None:
    """In any order and grouping; every document is read once or named as another form."""
    with tempfile.TemporaryDirectory() as scratch:
        root = put(Path(scratch).resolve() / "root", tree)
        whole = list(discover([root]))
        tops = list(root.iterdir())
        for paths in itertools.islice(itertools.permutations(tops), 4):
            assert summary(list(discover(paths, root=root))) == summary(whole)
    names_read = [one.name for one in whole if not one.cause]
    assert len(set(names_read)) == len(names_read)
    read = {one.origin for one in whole if not one.cause}
    for one in whole:
        if one.cause == "other form":
            assert is_better_form(one.detail.removeprefix("of "), one.origin)
            assert one.detail.removeprefix("of ") in read
