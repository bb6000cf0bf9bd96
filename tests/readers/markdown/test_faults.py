r"""Markdown with faults: what is not closed or stray, and that every display is accounted for."""

import pytest

from markdown_documents import KRAMDOWN, read
from timing import assert_linear


def account(text: str) -> tuple[list[str], int, int]:
    """The formulas of a document, the displays it opens, and those that are lost."""
    article = read(text)
    formulas = [equation.expanded for equation in article.equations]
    return formulas, article.displays_opened, article.displays_lost


def test_a_bracket_within_a_footnote_may_close_after_it() -> None:
    """It is no link then, and nothing is cut twice."""
    found = account("$$a=b$$\n\n<d-footnote>note [a b</d-footnote>](x)")
    assert found == (["a=b"], 1, 0)


def test_an_environment_closes_after_one_that_does_not() -> None:
    """Only the first one is lost."""
    text = r"\begin{cases} stray, \begin{cases} a\end{cases}"
    assert account(text) == ([r"\begin{cases} a\end{cases}"], 2, 1)


def test_a_formula_in_code_between_dollars_is_not_counted() -> None:
    """It is inline, as GitHub writes it."""
    assert account("Let $`x`$ and $`y`$ be.\n\n$$a=b$$\n") == (["a=b"], 1, 0)


def test_an_entity_of_very_many_digits_is_text() -> None:
    """Python refuses to convert so many."""
    entity = f"&#{'9' * 5_000};"
    assert account(f"$$a=b$$\n\nText {entity} more.\n\n<p>{entity}</p>\n") == (["a=b"], 1, 0)


@pytest.mark.parametrize("part", ["![a $$c=d$$ b](x.png)", "[@doe $$c=d$$]"])
def test_a_display_in_a_part_that_is_left_out_is_lost(part: str) -> None:
    """Images and citations are no text."""
    article = read(f"Text {part} more.\n\n$$a=b$$\n")
    assert [equation.expanded for equation in article.equations] == ["a=b"]
    assert (article.displays_opened, article.displays_lost) == (2, 1)
    assert [problem.cause for problem in article.problems] == ["lost: in a part that is left out"]


@pytest.mark.parametrize(
    ("text", "equations"),
    [
        ("Text $$a=b$$ uses <pre> here $$c=d$$ more.", ["a=b", "c=d"]),
        ("Text $$a=b$$ <!-- and $$c=d$$ more.\n\n$$e=f$$", ["a=b", "c=d", "e=f"]),
        ("Text <!-- x\n$$x$$\n--> more $$a=b$$.", ["a=b"]),
        ("<svg>$$x$$</svg> Text <!-- $$y$$ --> $$a=b$$.", ["a=b"]),
        ("<iframe>$$x$$</iframe> Text $$a=b$$.", ["a=b"]),
        ("Title $$x$$\n===========\n\nText $$a=b$$.", ["a=b"]),
        ("##Part $$x$$\n\nText $$a=b$$.", ["a=b"]),
    ],
)
def test_only_raw_parts_that_close_are_left_out(text: str, equations: list[str]) -> None:
    """The rest of a line stays; formulas in headings are inline."""
    assert account(text) == (equations, len(equations), 0)


def test_lines_after_a_comment_keep_their_numbers() -> None:
    """A comment of several lines does not end the paragraph."""
    article = read("Text <!-- x\ny\nz --> more\n$$a=b$$\n")
    assert [equation.line for equation in article.equations] == [4]
    assert article.text.startswith("Text more ")


@pytest.mark.parametrize(
    ("begin", "part", "end"),
    [
        ("", "<svg></svg>", ""),
        ("a", "<!-- b -->", ""),
        ("", "<pre", ""),
        ("", "<pre>", ""),
        ("# a", " ", "b"),
        ("##a", "#", "b"),
        ("a|b\n", " ", "x|"),
        ("!!! note", " ", "!"),
        ("", r"\begin{cases}", ""),
        ("<script ", "math/tex ", ""),
        ("", "a\n---\n", ""),
    ],
)
def test_time_grows_with_the_size(begin: str, part: str, end: str) -> None:
    """Four times the size takes far less than sixteen times the time."""
    assert_linear(lambda count: f"$$a=b$$\n\n{begin}{part * count}{end}\n", read, (10_000, 40_000))


def test_a_stray_dollar_sign_opens_no_display() -> None:
    """Words alone beside a blank line are no formula."""
    text = "The rating is $$ (cheap).\n\nThen $$c=d$$ and\n\nso $$e=f$$."
    assert account(text) == (["c=d", "e=f"], 3, 1)


def test_a_display_may_have_blank_lines() -> None:
    """With mathematics, or single letters, on both sides of them."""
    assert account("$$\na\n\n= b\n$$\n")[1:] == (1, 0)


X = "<mi>x</mi><mo>=</mo><mn>1</mn>"


@pytest.mark.parametrize(
    ("element", "is_display"),
    [
        (f'<math display="block">{X}</math>', True),
        (f"<math display=block>\n  {X}\n\n</math>", True),
        (f"<math>\n\n{X}\n</math>", False),
        ('<script type="math/tex; mode=display">x=1</script>', True),
        ('<script type="math/tex">x=1</script>', False),
    ],
)
@pytest.mark.parametrize("start", ["Here ", "Here\n\n", "- ", KRAMDOWN])
def test_formulas_in_elements(element: str, is_display: bool, start: str) -> None:  # noqa: FBT001
    """MathML and scripts for MathJax are read as other formulas, and lines keep their numbers."""
    text = f"{start}Write `<math>`: {element} holds.\n\n$$a=b$$\n"
    article = read(text)
    *elements, last = article.equations
    assert [found.expanded.replace(" ", "") for found in elements] == ["x=1"] * is_display
    assert (last.expanded, last.line) == ("a=b", text.count("\n"))
    assert is_display or "x=1" in article.text.replace(" ", "")
    assert (article.displays_opened, article.displays_lost) == (1 + is_display, 0)


def test_mathml_without_a_formula_is_lost() -> None:
    """The count knows of it."""
    assert account('<math display="block"></math>\n\n$$a=b$$\n') == (["a=b"], 2, 1)


def test_a_comment_in_a_cell_of_a_table() -> None:
    """Its last sign is no quotation mark."""
    article = read("| a | b |\n|---|---|\n| <!-- x --> $$c$$ | d |\n")
    assert article.text.split() == ["a", "b", "\ufffc", "d"]
