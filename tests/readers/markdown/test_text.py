"""The text of Markdown documents: words without markup, sections, titles."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqemb.article import EQUATION_MARK, Article
from eqemb.errors import SourceError
from eqemb.readers.draft import NOT_ACCOUNTED
from eqemb.readers.markdown.maths import is_money
from markdown_documents import KRAMDOWN, read

FORMULA = "\n\n$$x$$\n"


def text_of(markdown: str) -> str:
    """The text before the formula that makes a text an article."""
    text = read(f"# Title\n\n{markdown}{FORMULA}").text
    return text.partition(EQUATION_MARK)[0].removeprefix("Title").strip()


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("*One* **two** ***three*** _four_", "One two three four"),
        ("__One__ ~~two~~ ==three==", "One two three"),
        ("snake_case and 3*4 and a * b", "snake_case and 3*4 and a * b"),
        ("A [link](https://a.org/b_c) and [another](<a b> 'title') end", "A link and another end"),
        ("A [link with $[0,1)$ in it](b.md#c) end", "A link with $[0,1)$ in it end"),
        ("A [link][1] and [one] end\n\n[1]: https://a.org", "A link and [one] end"),
        ("See <https://a.org/x_y> or https://a.org/x_y(z) now", "See or now"),
        ("[[Page]] and [[Page|shown]] and [[Page#Part]] end", "Page and shown and Page: Part end"),
        ("One ![picture](a.png){width=3} two ![[a.png]] three", "One two three"),
        ("One `code` two ``code ` here`` three", "One two three"),
        ("As shown [@smith2020, p. 3; @doe] and @doe2021 too", "As shown and too"),
        ("As shown {cite}`a,b` and {cite:p}`c` and :cite:`d` too", "As shown and and too"),
        ("A {ref}`part <x>` of {prf:ref}`y` and {term}`norm` end", "A part of and norm end"),
        ("A <b>bold</b> word<br/>and <code>code</code> &amp; more", "A bold word\nand & more"),
        ('A word<d-cite key="a"></d-cite> and {% cite b %} end', "A word and end"),
        ("One {.class #id} two {: .class} three", "One two three"),
        ("One %%hidden%% two <!-- hidden --> three", "One two three"),
        ("A \\textbf{bold} word \\cite{a} in \\ref{fig:x} end", "A bold word in … end"),
        ("It costs $5 or 6$ and \\$7", "It costs ＄5 or 6＄ and ＄7"),
        ("It costs $5 to $10 a day", "It costs ＄5 to ＄10 a day"),
        ("With $ x $ and $`y`$ end", "With $x$ and $y$ end"),
        ("With \\(z\\) and \\\\(w\\\\) end", "With $z$ and $w$ end"),
        ("With {math}`x_1` and $a$$b$ end", "With $x_1$ and $a$$b$ end"),
        ("- One\n- two\n    - three\n1) four\n- [x] five", "One\n\ntwo\n\nthree\n\nfour\n\nfive"),
        ("> One\n> two\n\n> [!note]- Title\n> three", "One two\n\nTitle\nthree"),
        ('!!! note "Title"\n    One $a$.\n\n    Two.', "Title\nOne $a$.\n\nTwo."),
        ("One[^1] two.\n\n[^1]: A note.", "One two.\n\nA note."),
        ("One^[A note.] two.", "One two.\nA note."),
        ("| A | B $|a|$ |\n|:--|--:|\n| one | two |\n\nend", "A\nB $|a|$\none\ntwo\n\nend"),
        ("|A | B|\n\none ** two ***** three", "A\nB\n\none two three"),
        ("A [link](https://a.org\n'its title') end", "A link end"),
        ("A | B\n--- | ---\none | two", "A\nB\none\ntwo"),
        ("One\n\n---\n\n***\n\ntwo\n+++\nthree", "One\n\ntwo\n\nthree"),
        ("One\n% hidden\n:label:`a`\n(target)=\n{: .class}\ntwo", "One\n\ntwo"),
        ("One\n:begin_tab:`a`\ntwo\n:end_tab:", "One\n\ntwo"),
        ("$n!$ and $0! = 1$ and $a, ... b$ end", "$n!$ and $0!= 1$ and $a, ...b$ end"),
    ],
)  # fmt: skip
def test_words_without_markup(markdown: str, text: str) -> None:
    """What people read stays, and nothing else."""
    assert text_of(markdown) == text


def test_double_backticks_in_documenter() -> None:
    """Documenter.jl, which its references reveal, has inline mathematics in them."""
    assert text_of("For ``x_1`` see [this](@ref).") == "For $x_1$ see this."
    assert text_of("For ``x_1`` see [this](a.md), after [Karcher](@cite).") != ""
    assert text_of("For ``code`` see [this](a.md).") == "For see this."


def test_a_display_does_not_end_its_paragraph() -> None:
    """Blank lines surround displays by habit; the sentence goes on."""
    article = read("It is\n\n$$x = 1,$$\n\nwhere $x$ is one.\n\n$$y$$\n\nNext.\n")
    mark = EQUATION_MARK
    assert article.text == f"It is {mark} where $x$ is one.\n{mark}\n\nNext.\n\n"
    assert article.equations[0].context == "It is [equation] where $x$ is one. […]"


def test_headings_are_sections() -> None:
    """ATX and setext headings, without their numbers, names and emphasis."""
    article = read(
        "# The *Title*\n\n$$a$$\n\n## 1. One {#sec-one}\n\n$$b$$\n\nTwo with $x$\n---\n\n"
        "$$c$$\n\n##Three##\n\n$$d$$\n"
    )
    assert article.title == "The Title"
    assert article.sections == ["One", "Two with $x$", "Three"]
    assert [one.section for one in article.equations] == ["", "One", "Two with $x$", "Three"]


@pytest.mark.parametrize(
    ("markdown", "title"),
    [
        (KRAMDOWN + "# Other", "Notes"),
        ("---\ntitle: \"A: 'b'\"\n---\n", "A: 'b'"),
        ("---\nauthor: x\ntitle: >\n  A long\n  title\n---\n", "A long title"),
        ("---\ntitle: On $x^2$\n...\n", "On x²"),
        ("+++\ntitle = 'Notes'\n+++\n", "Notes"),
        ("% Notes\n% Author\n\nText", "Notes"),
        ("---\njupytext:\n  text: x\n---\n# Notes", "Notes"),
        ("Text\n\n## Notes", "Notes"),
        ("Text with [[links]].\n\n## Part", "a"),
        ("# Part one\n\nText with [[links]].\n\n# Part two", "a"),
        ("Text", "a"),
        ("---\n\nA paragraph, not keys\n\n---\n\n# Notes", "Notes"),
    ],
)
def test_titles(markdown: str, title: str) -> None:
    """From front matter, the first heading, or the file's name."""
    article = read(markdown + FORMULA)
    assert article.title == title
    assert not {"layout", "jupytext", "author"} & set(article.words())


def test_the_title_is_not_repeated() -> None:
    """A first heading that repeats the title of the front matter adds nothing."""
    assert read(KRAMDOWN + "# Notes" + FORMULA).text.count("Notes") == 1


def test_a_document_without_mathematics_is_skipped() -> None:
    """A README in a folder of papers is no paper."""
    with pytest.raises(SourceError, match="no formula") as error:
        read("# Read me\n\nInstall it for $5.\n\n```sh\nmake $HOME $PATH\n```\n")
    assert error.value.cause == "no mathematics"


def test_an_open_fence_is_reported() -> None:
    """What follows it is code, as for every Markdown reader."""
    article = read("Let $x$ be.\n\n```python\nprint()\n\n$$y$$\n")
    assert [(one.cause, one.line) for one in article.problems] == [("fence not closed", 3)]
    assert not article.equations


@pytest.mark.parametrize(
    ("content", "after", "expected"),
    [
        ("x", " ", False),
        ("5 to ", "1", True),
        ("5-", "1", True),
        (" x ", ",", False),
        ("2x + y = \\text{the sum} ", " ", False),
        (" and a bill of ", "2", True),
        ("5), (", "6", True),
        ("f(x)", ".", False),
    ],
)
def test_money(content: str, after: str, *, expected: bool) -> None:
    """Two dollars are money where pandoc would say so, and no formula is between them."""
    assert is_money(content, after) is expected


MARKUP = st.sampled_from(
    ["$", "$$", "\\[", "\\]", "\\(", "\\)", "\\begin{align}", "\\end{align}", "\n", "\n\n",
     "```", "```math\n", "```{note}\n", ":::", "> ", "- ", "# ", "    ", "[", "](", "]", "{eq}`",
     "`", "<!--", "-->", "<b>", "|", "|--|\n", "x = 1", "word", "\\label{a}", "{#eq-a}", "@eq-a",
     "---\n", "\\newcommand{\\a}{\\a b}", "\\a", "%", "*", "_", "{%", "%}", "\\", "^[",
     "![", "<d-footnote>", "</d-footnote>", "<pre>", "</pre>", "<svg>", "</svg>", "</math>",
     "<math><mi>x</mi>", "<math display=block><mi>x</mi>", "\\begin{cases}", "\\end{cases}",
     "{% math %}", "{% endmath %}", "{% comment %}", "[@a", "===\n", "\ufffc", "\U000f0000"]
)  # fmt: skip


def check(article: Article) -> None:
    """Every equation has its place in the text and in the file, and every loss its cause."""
    assert article.text.count(EQUATION_MARK) == len(article.equations)
    for equation in article.equations:
        assert 1 <= equation.line <= equation.end_line
    lost = [problem for problem in article.problems if problem.cause.startswith("lost: ")]
    is_counted = any(problem.cause == NOT_ACCOUNTED for problem in lost)
    assert len(lost) <= article.displays_lost <= article.displays_opened
    assert is_counted or len(lost) == article.displays_lost


@given(st.lists(MARKUP, max_size=40).map("".join))
def test_any_markup_is_accounted_for(text: str) -> None:
    """Markup in any order raises nothing but `SourceError`."""
    try:
        article = read(text)
    except SourceError:
        return
    check(article)
    assert all(one.end_line <= text.count("\n") + 1 for one in article.equations)


@given(st.binary(max_size=200))
def test_any_bytes_are_read(data: bytes) -> None:
    """Bytes of any encoding raise nothing but `SourceError`."""
    with contextlib.suppress(SourceError):
        check(read(data + b"\n$$x$$\n"))


def test_references_with_two_backslashes() -> None:
    r"""R Markdown is often written with `\\eqref`."""
    article = read("$$a \\tag{3} \\label{x}$$\n\nThis follows from \\\\eqref{x}.\n")
    assert article.equations[0].references
    assert "eqref" not in article.text
