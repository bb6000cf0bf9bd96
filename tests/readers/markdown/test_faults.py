r"""Markdown with faults: what is not closed or stray, and that every display is accounted for."""

import pytest

from markdown_documents import read


def account(text: str) -> tuple[list[str], int, int]:
    """The formulas of a document, the displays it opens, and those that are lost."""
    article = read(text)
    formulas = [equation.expanded for equation in article.equations]
    return formulas, article.displays_opened, article.displays_lost


def test_a_bracket_within_a_footnote_may_close_after_it() -> None:
    found = account("$$a=b$$\n\n<d-footnote>note [a b</d-footnote>](x)")
    assert found == (["a=b"], 1, 0)


def test_an_environment_closes_after_one_that_does_not() -> None:
    text = r"\begin{cases} stray, \begin{cases} a\end{cases}"
    assert account(text) == ([r"\begin{cases} a\end{cases}"], 2, 1)


def test_a_formula_in_code_between_dollars_is_not_counted() -> None:
    assert account("Let $`x`$ and $`y`$ be.\n\n$$a=b$$\n") == (["a=b"], 1, 0)


@pytest.mark.parametrize("part", ["![a $$c=d$$ b](x.png)", "[@doe $$c=d$$]"])
def test_a_display_in_a_part_that_is_left_out_is_lost(part: str) -> None:
    article = read(f"Text {part} more.\n\n$$a=b$$\n")
    assert [equation.expanded for equation in article.equations] == ["a=b"]
    assert (article.displays_opened, article.displays_lost) == (2, 1)
    assert [problem.cause for problem in article.problems] == ["lost: in a part that is left out"]
