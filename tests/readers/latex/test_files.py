"""The files of a paper: decoding, the choice of the main file, and finding inputs."""

import pytest

from eqemb.errors import SourceError
from eqemb.readers.latex.files import Files, declared_codec, decode
from latex_paper import causes, document, numbers, read_files
from timing import assert_quick

PAPER = document("Words.")
PART = "A part.\n"


def files(**texts: str) -> Files:
    """Files by name; `__` stands for a slash, and the last `_` for the dot."""
    named = {name.replace("__", "/"): text.encode() for name, text in texts.items()}
    return Files({".".join(name.rsplit("_", 1)): data for name, data in named.items()})


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("naïve".encode(), "naïve"),
        ("naïve".encode("latin-1"), "naïve"),
        ("naïve".encode("utf-16"), "naïve"),
        (b"\xef\xbb\xbf" + "naïve".encode(), "naïve"),
        (b"\\usepackage[latin1]{inputenc} na\xefve", "\\usepackage[latin1]{inputenc} naïve"),
        (b"\\usepackage[latin2]{inputenc} \xb3", "\\usepackage[latin2]{inputenc} ł"),
        (b"\\usepackage[applemac]{inputenc} \x8e", "\\usepackage[applemac]{inputenc} é"),
        (b"\\inputencoding{cp1251} \xe6", "\\inputencoding{cp1251} ж"),
        (b"\\usepackage[utf8]{inputenc} na\xefve", "\\usepackage[utf8]{inputenc} naïve"),
        (b"one\r\ntwo\rthree\n", "one\ntwo\nthree\n"),
        (b"smart \x93quotes\x94", "smart “quotes”"),
        (b"\xff\xfe", ""),
        (b"", ""),
        (b"a\x00b", "a b"),
        ("a\ufffcb\U000f0001c\U00100001d".encode(), "a b c d"),
    ],
)
def test_decoding(data: bytes, text: str) -> None:
    """UTF-8 if valid, else as declared, else Windows-1252; characters used as marks are removed."""
    assert decode(data) == text


def test_the_codec_declared_in_one_file_holds_for_all() -> None:
    """Only the main file has a preamble."""
    found = Files({"main.tex": b"\\usepackage[latin2]{inputenc}", "part.tex": b"\xb3"})
    assert found.text("part.tex") == "ł"


def test_an_unknown_codec_is_none() -> None:
    """An unknown encoding counts as undeclared."""
    assert declared_codec(b"\\usepackage[klingon]{inputenc}") is None


@pytest.mark.parametrize(
    ("texts", "main"),
    [
        ({"a_tex": PART, "paper_tex": PAPER}, "paper.tex"),
        ({"a_tex": PAPER.replace("Words", "Longer words"), "sub__b_tex": PAPER}, "a.tex"),
        ({"a_tex": PAPER, "b_tex": PAPER, "b_bbl": "x"}, "b.tex"),
        ({"template_tex": PAPER * 3, "ours_tex": PAPER}, "ours.tex"),
        ({"a_tex": "% \\documentclass{article}\n", "b_tex": PAPER}, "b.tex"),
        ({"main_tex": document(r"\input{chap}"), "chap_tex": PAPER}, "main.tex"),
        ({"main_tex": r"\input{pre}\begin{document}x\end{document}",
          "pre_tex": "\\documentclass{article}\n"}, "main.tex"),
        ({"main_tex": PAPER.replace("begin{", "begin {"), "b_tex": PART * 99}, "main.tex"),
        ({"old_tex": "\\documentstyle{article}\\begin{document}x\\end{document}"}, "old.tex"),
        ({"small_tex": PART, "large_tex": PART * 9}, "large.tex"),
        ({"b_tex": PAPER, "a_tex": PAPER}, "b.tex"),
        ({"00README_XXX": "second.tex toplevelfile\n", "first_tex": PAPER * 2,
          "second_tex": PAPER}, "second.tex"),
        ({"00README_json": '{"sources": [{"filename": "two.tex", "usage": "toplevel"}]}',
          "one_tex": PAPER * 2, "two_tex": PAPER}, "two.tex"),
        ({"00README_yaml": "sources:\n- filename: one.tex\n  usage: include\n"
          "- filename: two.tex\n  usage: toplevel\n", "one_tex": PAPER, "two_tex": PAPER},
         "two.tex"),
    ],
)  # fmt: skip
def test_the_main_file(texts: dict[str, str], main: str) -> None:
    """Class, document environment, inputs, .bbl, name and size decide, in this order."""
    assert files(**texts).main() == main


def test_a_source_without_tex_is_refused() -> None:
    """A source of figures has nothing to read."""
    with pytest.raises(SourceError) as refused:
        read_files({"figure.pdf": b"%PDF-1.5"})
    assert refused.value.cause == "no TeX file"


def test_a_file_without_suffix_is_tex() -> None:
    """ArXiv's one-file papers have no extension."""
    assert Files({"9901001": PAPER.encode()}).main() == "9901001"


def test_the_main_file_may_be_named() -> None:
    """A main file named by the source takes precedence."""
    article = read_files({"a.tex": PAPER, "b.tex": document("Others.")}, main="b.tex")
    assert article.main_file == "b.tex"
    assert article.words() == ["Others"]


@pytest.mark.parametrize(
    ("name", "folder", "found"),
    [
        ("intro", "", "intro.tex"),
        ("intro.tex", "", "intro.tex"),
        ("./intro", "", "intro.tex"),
        ('"intro"', "", "intro.tex"),
        ("sections/method", "", "sections/method.tex"),
        ("method", "sections", "sections/method.tex"),
        ("../intro", "sections", "intro.tex"),
        ("method", "", "sections/method.tex"),
        ("paper/sections/method", "", "sections/method.tex"),
        ("other/method", "", None),
        ("twice", "", None),
        ("INTRO", "", "intro.tex"),
        ("missing", "", None),
        ("../../../etc/passwd", "", None),
    ],
)
def test_finding(name: str, folder: str, found: str | None) -> None:
    """Beside the main file, beside the including file, else the only file of that name."""
    names = ["intro.tex", "sections/method.tex", "a/twice.tex", "b/twice.tex"]
    assert Files(dict.fromkeys(names, b"")).find(name, ["", folder], ("", ".tex")) == found


def test_lines_are_counted_from_one() -> None:
    """An offset into the decoded text has a line, whatever the line endings."""
    found = Files({"a.tex": b"one\r\ntwo\rthree"})
    assert [found.line("a.tex", offset) for offset in (0, 3, 4, 8, 99)] == [1, 1, 2, 3, 3]


def test_supplements_are_read_behind_the_paper() -> None:
    """A second document named as supplement or appendix belongs to the paper."""
    article = read_files(
        {
            "main.tex": document(r"First. \begin{equation}a\end{equation}"),
            "supplement.tex": document(r"Second. \begin{equation}b\end{equation}"),
        }
    )
    assert article.words() == ["First", "Second"]
    assert numbers(article) == ["1", "1"]
    assert [equation.display for equation in article.equations] == [1, 2]
    assert [equation.ordinal for equation in article.equations] == [1, 2]


def test_files_that_nobody_uses_are_reported_where_they_hold_displays() -> None:
    """An old version beside the paper is not read, and that is reported."""
    article = read_files(
        {
            "main.tex": PAPER,
            "old.tex": r"\begin{equation}a\end{equation} \[b\] % \[c\]",
            "notes.tex": "Only words.",
        }
    )
    (problem,) = article.problems
    assert (problem.cause, problem.file, problem.detail) == (
        "file not used",
        "old.tex",
        "2 displays",
    )


def test_bytes_of_the_files_that_were_joined_are_counted() -> None:
    """Only files that were read count, each once."""
    source = {"main.tex": document(r"\input{a}\input{a}"), "a.tex": PART, "b.tex": PART}
    assert read_files(source).source_bytes == len(source["main.tex"]) + len(PART)


def test_a_chapter_without_a_document_is_read_and_reported() -> None:
    """A main file without a preamble is all text."""
    article = read_files({"chapter.tex": r"Words \begin{equation}a\end{equation}"})
    assert causes(article) == ["no document environment"]
    assert numbers(article) == ["1"]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("part.tex", r"\input" + " " * 16_000),
        ("part.tex", r"\import{" * 12_000),
        ("part.tex", r"\usepackage[" * 4_000),
        ("part.tex", r"\usepackage[utf8]{" + "inputenc" * 4_000),
        ("main.tex", r"\[x\footnote" + " " * 16_000),
        ("main.tex", r"\[x" + r"\cite[" * 4_000),
        ("main.tex", r"\NewDocumentCommand{\x}{" + " " * 16_000),
        ("main.tex", r"\newcount\x\advance\x" + " " * 16_000),
        ("00README", "\n" * 16_000),
        ("00README", "filename:" * 4_000),
    ],
)
def test_hostile_repetitions_cost_linear_time(file: str, text: str) -> None:
    """Thousands of blanks, or of openings that are never closed, do not take quadratic time.

    Quadratic patterns took up to half a minute.
    """
    hostile = document(text + "}") if file == "main.tex" else text + "}"
    files = {"main.tex": PAPER, "other.tex": PAPER, file: hostile}
    assert_quick(lambda: read_files(files), 1.5)


@pytest.mark.parametrize(
    ("name", "codec"), [("GBK", "gbk"), ("SJIS", "shift_jis"), ("Bg5", "big5"), ("KS", "euc_kr")]
)
def test_encodings_of_cjk_environments(name: str, codec: str) -> None:
    """The environment names the encoding of the file."""
    word = {"KS": "방정식", "SJIS": "表示能力", "GBK": "能量方程"}.get(name, "能量")
    source = rf"\begin{{document}}\begin{{CJK}}{{{name}}}{{song}}{word} \[x\]\end{{CJK}}"
    article = read_files({
        "main.tex": rf"\documentclass{{article}}{source}\end{{document}}".encode(codec)
    })  # fmt: skip
    assert article.words() == [word]
    assert len(article.equations) == 1
