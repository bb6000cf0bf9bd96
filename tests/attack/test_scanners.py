"""Attack every scanner but that of LaTeX papers: no input may cost more than its size deserves."""

from collections.abc import Callable

import pytest

from campaigns import FULL, sample
from eqemb.article import Article
from eqemb.formula.layout import layout, mathml_to_latex
from scanner_attacks import SCANNERS, inputs, looks_slow, record_of_unarxive
from timing import assert_linear


@pytest.mark.parametrize("name", sample(sorted(SCANNERS), 8))
def test_time_grows_with_the_size_of_an_input(
    name: str, record_property: Callable[[str, object], None]
) -> None:
    """What a language opens, nests, repeats and nearly matches, thousands of times."""
    scanner = SCANNERS[name]
    cases = sample(inputs(name, derived=FULL), 20)
    record_property("cases", len(cases))
    for hostile in cases:
        if looks_slow(scanner, hostile):
            sizes = (scanner.count // 4, scanner.count)
            try:
                assert_linear(hostile.times, scanner.run, sizes)
            except AssertionError as error:
                raise AssertionError(f"{name}: {hostile}: {error}") from None


@pytest.mark.parametrize(
    "piece", ["<mtable><mtr><mtd>", "<mrow>", "<unknown>", "<mfenced>", "<msup>", "<mstyle>"]
)
def test_deep_elements_of_mathml_are_not_read(piece: str) -> None:
    """Elements of any name count as depth, so that reading ends with a problem."""
    closing = "".join(f"</{name}" for name in reversed(piece.split("<")[1:]))
    made = mathml_to_latex(f"<math><mi>x</mi>{piece * 1_000}{closing * 1_000}</math>")
    assert made.startswith("x")


def test_formulas_that_are_referred_to_often_are_cut_off() -> None:
    """A record of a few hundred kilobytes could stand for gigabytes of formulas."""
    text = "{{formula:f}} " * 10_000
    article = record_of_unarxive(text, latex="x + " * 10_000 + "y")
    assert isinstance(article, Article)
    assert "output budget" in {problem.cause for problem in article.problems}
    assert len(article.text) < 5_000_000  # all of it would be 400 million


def test_formulas_as_deep_as_their_length_are_read() -> None:
    """The parser of formulas stops at a depth, and says so."""
    for opening, closing in (("{", "}"), (r"\frac{", "}"), ("x^{", "}"), (r"\left(", r"\right)")):
        made = layout(opening * 5_000 + closing * 5_000)
        made.to_mathml()
