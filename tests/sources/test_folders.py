"""Among loose files, papers are those in which a document begins and that no other includes."""

import os
from pathlib import Path

import pytest

from eqemb.errors import UsageError
from eqemb.sources import discover, load
from packing import PAPER, PART, PDF, POSTSCRIPT, gz, names, only, problems, put, skipped


def test_folder_that_is_one_paper_has_its_name(tmp_path: Path) -> None:
    """A folder with one main file is one article; pictures and parts are not sources."""
    put(
        tmp_path / "thesis",
        {
            "main.tex": PAPER + b"\\input{ch/one}",
            "ch/one.tex": PART,
            "ch/two.tex": PART,
            "main.pdf": PDF,
            "fig/plot.pdf": PDF,
            "fig/old.eps.gz": gz(POSTSCRIPT),
            "my.sty": b"\\def\\x{}",
            "refs.bib": b"@a{}",
            "README.md": b"x",
            "Makefile": b"all:",
        },
    )
    found = only(tmp_path / "thesis")
    assert (found.name, found.root, found.collection) == ("thesis", "main.tex", "")
    source = load(found)
    assert source.main == "main.tex"
    assert set(source.files) == {"main.tex", "ch/one.tex", "ch/two.tex", "my.sty"}


def test_folder_named_dot_has_the_name_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`eqemb read .` in a paper's folder names a main file by the folder."""
    put(tmp_path / "mine", {"main.tex": PAPER})
    monkeypatch.chdir(tmp_path / "mine")
    found = only(".")
    assert (found.name, found.origin, found.collection) == ("mine", "main.tex", "")
    assert list(load(found).files) == ["main.tex"]


def test_two_main_files_in_one_folder_are_two_papers(tmp_path: Path) -> None:
    """Both include the parts, but not each other."""
    put(tmp_path, {"a.tex": PAPER, "b.tex": PAPER, "part.tex": PART, "x.sty": b""})
    first, second = discover([tmp_path])
    assert [first.name, second.name] == ["a", "b"]
    assert set(load(first).files) == {"a.tex", "part.tex", "x.sty"}
    assert set(load(second).files) == {"b.tex", "part.tex", "x.sty"}


def test_folder_of_paper_folders_has_one_paper_each(tmp_path: Path) -> None:
    """Unpacked papers side by side are named by path; their folders are not collections."""
    put(tmp_path, {"a/main.tex": PAPER, "a/s.tex": PART, "b/main.tex": PAPER, "nlp/c/d.tex": PAPER})
    found = list(discover([tmp_path]))
    assert [item.name for item in found] == ["a", "b", "nlp/c/d"]
    assert [item.collection for item in found] == ["", "", "nlp"]
    assert set(load(found[0]).files) == {"main.tex", "s.tex"}
    assert set(load(found[1]).files) == {"main.tex"}


def test_folder_named_by_an_arxiv_id_names_its_paper(tmp_path: Path) -> None:
    """An unpacked download keeps its identifier; of two papers in the folder, the main one."""
    put(
        tmp_path,
        {"1803.09123v2/src/x.tex": PAPER, "1706.03762/a.tex": PAPER, "1706.03762/ms.tex": PAPER},
    )
    assert names(tmp_path) == ["1706.03762/a.tex", "1706.03762", "1803.09123"]
    put(tmp_path, {"1706.03762/anc/main.tex": PAPER, "hep-th/9901001/x.tex": PAPER})
    put(tmp_path, {"about-1706.03762/x.tex": PAPER})
    assert names(tmp_path) == [
        *("1706.03762/a.tex", "1706.03762/anc/main.tex", "1706.03762", "1803.09123"),
        *("about-1706.03762/x", "hep-th/9901001"),
    ]
    assert names(tmp_path / "1803.09123v2") == ["1803.09123"]


@pytest.mark.parametrize(
    "use",
    [
        *(rb"\input{part}", rb"\input part ", rb"\include{part}", rb"\subfile{part.tex}"),
        *(rb"\import{./}{part}", rb'\input{"part.tex"}', rb"\InputIfFileExists{part}{}{}"),
    ],
)
def test_text_that_another_includes_is_no_paper(tmp_path: Path, use: bytes) -> None:
    r"""Even with its own `\documentclass`, an included file is a part."""
    put(tmp_path, {"x/main.tex": PAPER + use, "x/part.tex": PAPER, "y/z.tex": PAPER})
    assert names(tmp_path) == ["x", "y/z"]
    assert set(load(next(discover([tmp_path]))).files) == {"main.tex", "part.tex"}


def test_commented_commands_do_not_count(tmp_path: Path) -> None:
    r"""A `%` before `\documentclass` or `\input` disables it; an escaped one does not."""
    put(
        tmp_path,
        {
            "a.tex": PAPER + b"% \\input{b}\n",
            "b.tex": PAPER,
            "c.tex": b"% \\documentclass{article}\nwords",
            "d.tex": PAPER + b"5\\% \\input{e}\n",
            "e.tex": PAPER,
        },
    )
    assert names(tmp_path) == ["a", "b", "d"]


def test_pictures_of_the_class_standalone_are_no_papers(tmp_path: Path) -> None:
    """A tikz picture compiled by itself is a figure."""
    picture = b"\\documentclass[tikz]{standalone}\n\\draw;"
    put(tmp_path, {"main.tex": PAPER, "fig/a.tex": picture})
    assert names(tmp_path) == [tmp_path.name]


def test_texts_without_documentclass_are_papers_where_there_is_no_other(tmp_path: Path) -> None:
    """A folder without a main file, also above, gives the files that no other includes."""
    put(
        tmp_path,
        {
            "x/a.tex": PART + b"\\input{b}",
            "x/b.tex": PART,
            "x/supplement/main.tex": PAPER,
            "y/main.tex": PAPER,
            "y/n.tex": PART,
            "y/sections/m.tex": PART,
        },
    )
    found = list(discover([tmp_path]))
    assert [item.name for item in found] == ["x/a", "x/supplement", "y"]
    assert set(load(found[0]).files) == {"a.tex", "b.tex"}
    assert names(tmp_path / "x", tmp_path / "y") == ["x/a", "x/supplement", "y"]


def test_texts_that_include_each_other_give_one_paper(tmp_path: Path) -> None:
    """Of a cycle, the first is the paper."""
    put(tmp_path, {"a.tex": PAPER + b"\\input{b}", "b.tex": PAPER + b"\\input{a}", "c.tex": PAPER})
    assert names(tmp_path) == ["a", "c"]


def test_inputs_from_the_parent_folder_come_along(tmp_path: Path) -> None:
    """Shared macros beside the paper's folder, included by name, by macro or from the parent."""
    put(
        tmp_path,
        {
            "paper/main.tex": PAPER + b"\\input{../common/macros}\\usepackage{../sty/my}",
            "paper/sec/a.tex": b"\\input{\\shared/notation}",
            "common/macros.tex": b"\\input{common/deep}",
            "common/deep.tex": PART,
            "sty/my.sty": b"",
            "shared/notation.tex": PART,
            "other/main.tex": PAPER,
            "other/x.tex": PART,
        },
    )
    other, paper = discover([tmp_path])
    assert [other.name, paper.name] == ["other", "paper"]
    assert set(load(paper).files) == {
        *("main.tex", "sec/a.tex", "../common/macros.tex", "../common/deep.tex"),
        *("../sty/my.sty", "../shared/notation.tex"),
    }
    assert set(load(other).files) == {"main.tex", "x.tex"}


def test_inputs_never_leave_the_given_folder(tmp_path: Path) -> None:
    """Files outside the given folder are not opened."""
    put(
        tmp_path,
        {"secret.tex": PART, "in/main.tex": PAPER + b"\\input{../secret}\\input{/etc/passwd}"},
    )
    assert only(tmp_path / "in").files == ("main.tex",)


def test_paper_below_a_paper_is_separate(tmp_path: Path) -> None:
    """A supplement with its own main file and parts is a separate paper."""
    put(tmp_path, {"main.tex": PAPER, "a.tex": PART, "supp/supp.tex": PAPER, "supp/b.tex": PART})
    main, supplement = discover([tmp_path])
    assert set(load(main).files) == {"main.tex", "a.tex"}
    assert set(load(supplement).files) == {"supp.tex", "b.tex"}


def test_tex_file_given_by_itself_brings_what_it_includes(tmp_path: Path) -> None:
    """Parts are searched in its folder, and in the parent if it includes from there."""
    put(
        tmp_path,
        {
            "p/main.tex": PAPER + b"\\input{ch/a}",
            "p/ch/a.tex": PART,
            "p/other.tex": PAPER,
            "q/main.tex": PAPER + b"\\input{../common}",
            "common.tex": PART,
            ".hidden.tex": PAPER,
        },
    )
    third, first, second = discover(
        [tmp_path / name for name in ("p/main.tex", "q/main.tex", ".hidden.tex")]
    )
    assert (first.name, first.origin) == ("p", "p/main.tex")
    assert set(load(first).files) == {"main.tex", "ch/a.tex"}
    assert second.name == "q"
    assert set(load(second).files) == {"main.tex"}  # nothing above its folder
    assert load(third).main == ".hidden.tex"
    assert names(tmp_path / "p/ch/a.tex") == ["a"]


def test_plain_texts_without_suffix_are_papers_where_a_document_begins(tmp_path: Path) -> None:
    """Old papers have no suffix; notes and Makefiles have none either."""
    put(
        tmp_path,
        {"hep-th9901001": PAPER, "0704.0001": PAPER, "README": b"use \\input", "n.txt": PAPER},
    )
    assert names(tmp_path) == ["0704.0001", "hep-th/9901001"]


def test_empty_part_of_a_paper_is_not_counted(tmp_path: Path) -> None:
    """An empty file is a part in the folder of one paper; among papers it is reported."""
    put(tmp_path, {"a/m.tex": PAPER, "a/s.tex": b"", "b/m.tex": PAPER, "b/n.tex": PAPER})
    put(tmp_path, {"b/o.tex": b"\n"})
    assert skipped(tmp_path) == {"b/o.tex": "empty"}


def test_hidden_files_and_linked_folders_are_passed_over(tmp_path: Path) -> None:
    """Links to folders may form loops; links to files are followed, broken links are ignored."""
    put(
        tmp_path,
        {
            "a/p.gz": gz(PAPER),
            ".git/q.gz": gz(PAPER),
            "__MACOSX/r.gz": gz(PAPER),
            ".s.gz": gz(PAPER),
        },
    )
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "link.gz").symlink_to(tmp_path / "a" / "p.gz")
    (tmp_path / "self.gz").symlink_to("self.gz")
    (tmp_path / "gone.gz").symlink_to("nothing.gz")
    assert names(tmp_path) == ["a/p", "link"]


def test_broken_link_that_may_have_been_a_folder_is_reported(tmp_path: Path) -> None:
    """A link to a disk that is not mounted must not hide its papers."""
    put(tmp_path, {"a.tex": PAPER})
    for name in ("nlp", "1803.09123v2", "plot.png", "x.data"):
        (tmp_path / name).symlink_to("nowhere/papers")
    (tmp_path / "loop").symlink_to("loop")
    assert skipped(tmp_path) == dict.fromkeys(("1803.09123v2", "loop", "nlp"), "broken link")


def test_links_out_of_the_given_folder_are_not_read(tmp_path: Path) -> None:
    """A linked system file never becomes text; each such link is skipped with its cause."""
    put(tmp_path, {"secret.tex": PART, "secret.gz": gz(PAPER), "more/m.tex": PAPER})
    given = put(tmp_path / "given", {"p/main.tex": PAPER + b"\\input{note}", "q.gz": gz(PAPER)})
    (given / "p" / "note.tex").symlink_to(tmp_path / "secret.tex")
    (given / "p" / "up.sty").symlink_to("../../secret.tex")
    (given / "linked.gz").symlink_to(tmp_path / "secret.gz")
    (given / "linked.png").symlink_to(tmp_path / "secret.gz")
    (given / "more").symlink_to(tmp_path / "more")
    found = {item.origin: item for item in discover([given])}
    assert set(load(found["p/main.tex"]).files) == {"main.tex"}
    outside = {name: item for name, item in found.items() if item.cause == "link outside folder"}
    assert sorted(outside) == ["linked.gz", "more", "p/note.tex", "p/up.sty"]
    assert outside["more"].detail == f"it leads to {(tmp_path / 'more').resolve()}"
    assert names(given) == ["p", "q"]


def test_link_that_changes_after_discovery_is_not_read(tmp_path: Path) -> None:
    """A part may become a link out of the folder between listing and opening."""
    put(tmp_path, {"secret.tex": PART, "given/main.tex": PAPER, "given/part.tex": PART})
    found = only(tmp_path / "given")
    (tmp_path / "given" / "part.tex").unlink()
    (tmp_path / "given" / "part.tex").symlink_to(tmp_path / "secret.tex")
    source = load(found)
    assert set(source.files) == {"main.tex"}
    assert problems(source) == [("link outside folder", "part.tex")]


def test_links_within_the_given_folder_are_followed(tmp_path: Path) -> None:
    """Papers may share a part by a link, even if the given folder is itself a link."""
    put(tmp_path, {"real/p/main.tex": PAPER, "real/shared/macros.sty": b"\\def\\x{}"})
    (tmp_path / "real" / "p" / "macros.sty").symlink_to("../shared/macros.sty")
    (tmp_path / "given").symlink_to(tmp_path / "real")
    found = only(tmp_path / "given")
    assert set(load(found).files) == {"main.tex", "macros.sty"}


def test_given_file_may_be_a_link(tmp_path: Path) -> None:
    """A link that the user names is followed; parts are looked up beside the link."""
    put(tmp_path, {"else/paper.tex": PAPER + b"\\input{part}", "here/part.tex": PART})
    (tmp_path / "here" / "main.tex").symlink_to(tmp_path / "else" / "paper.tex")
    found = only(tmp_path / "here" / "main.tex")
    assert not found.cause
    assert set(load(found).files) == {"main.tex", "part.tex"}


def test_pipes_are_not_opened(tmp_path: Path) -> None:
    """Opening a named pipe in a folder would block forever."""
    os.mkfifo(tmp_path / "pipe.gz")
    assert skipped(tmp_path) == {"pipe.gz": "special file"}
    with pytest.raises(UsageError, match=r"pipe\.gz: pipes, .* are not read"):
        discover([tmp_path / "pipe.gz"])


def test_unreadable_folder_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that cannot be listed is reported; its neighbours are read."""
    put(tmp_path, {"a/p.gz": gz(PAPER), "b/q.gz": gz(PAPER)})
    scandir = os.scandir

    def refuse(path: str) -> object:
        if path.rstrip("/").endswith("/a"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert names(tmp_path) == ["b/q"]
    assert skipped(tmp_path) == {"a": "unreadable"}


def test_binary_file_beside_papers_belongs_to_those_that_include_it(tmp_path: Path) -> None:
    """The others are whole without it; one that no paper includes is reported for itself."""
    put(
        tmp_path,
        {
            "a.tex": PAPER,
            "b.tex": PAPER + b"\\input{deep}",
            "c.tex": PAPER,
            "part.tex": PART + b"\\input{deep}",
            "bin.tex": b"\0\1\2" * 99,
            "deep.sty": b"\0\1\2" * 99,
            "deep.tex": b"\0\1\2" * 99,
            "c.bbl": b"\0\1\2" * 99,
        },
    )
    found = {one.name: one for one in discover([tmp_path])}
    assert [one.origin for one in found.values() if one.cause] == ["bin.tex", "deep.tex"]
    lost = {name: problems(load(found[name])) for name in "abc"}
    assert lost == {"a": [], "b": [("not text", "deep.tex")], "c": [("not text", "c.bbl")]}
    assert all("part.tex" in load(found[name]).files for name in "abc")


def test_binary_file_in_the_folder_of_one_paper_is_its_part(tmp_path: Path) -> None:
    """Whether or not a name that a macro hides leads to it."""
    put(tmp_path / "p", {"main.tex": PAPER, "my.sty": b"\0\1\2" * 99})
    assert problems(load(only(tmp_path / "p"))) == [("not text", "my.sty")]
