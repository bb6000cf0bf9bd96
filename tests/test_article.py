"""An article is words and equations in reading order, and every equation has a name."""

import pytest

from eqemb.article import (
    EQUATION_MARK,
    Article,
    Equation,
    equation_positions,
    interleave,
    read_tokens,
    tokenize,
)
from synthetic import article, equation


def words(text: str) -> list[str]:
    """Return the words of a text."""
    return Article("a", "a.tex", text=text).words()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The F-measure of Bayes' rule", ["The", "F-measure", "of", "Bayes", "rule"]),
        ("don't and don\u2019t", ["don't", "and", "don\u2019t"]),
        ("e.g. this, i.e. that.", ["e.g", "this", "i.e", "that"]),
        ("in 2018 a top10 list", ["in", "2018", "a", "top10", "list"]),
        ("snake_case_name", ["snake", "case", "name"]),
        ("Gauß, Erdős and Łoś", ["Gauß", "Erdős", "and", "Łoś"]),
        ("nai\u0308ve cafe\u0301s", ["nai\u0308ve", "cafe\u0301s"]),
        ("two-\u2011three -- four - five-", ["two", "three", "four", "five"]),
        ("", []),
        ("... !? --", []),
    ],
)
def test_words_are_letters_and_digits_with_inner_marks(text: str, expected: list[str]) -> None:
    """Hyphens, apostrophes and dots within a word are kept; other marks are dropped."""
    assert words(text) == expected


def test_inline_mathematics_gives_no_words() -> None:
    """Text between dollars is shown to people, but not counted as words."""
    assert words("where $x_i = \\alpha$ is small and $y$ large") == [
        *("where", "is", "small", "and", "large")
    ]


def test_placeholder_is_not_a_word() -> None:
    """The mark of an equation separates words."""
    assert words(f"before{EQUATION_MARK}after") == ["before", "after"]


def test_stream_is_words_and_equations_in_reading_order() -> None:
    """Each equation is in the place of its mark."""
    first, second = equation(1), equation(2)
    made = article("a", first, second, text=f"One $z$ {EQUATION_MARK} two.\n{EQUATION_MARK}\n\nOne")
    assert list(made.stream()) == ["One", first, "two", second, "One"]


def test_stream_without_equations_is_the_words() -> None:
    """The stream agrees with `words`."""
    made = article(text="A b-c.\nD $e$ f.")
    assert list(made.stream()) == made.words() == ["A", "b-c", "D", "f"]


def test_equation_is_named_by_article_and_ordinal() -> None:
    """`ARTICLE#n`, also if the article's name contains slashes."""
    assert equation(3, name="hep-th/9901001").id == "hep-th/9901001#3"


def test_first_label_is_the_label() -> None:
    """An equation without labels has None."""
    assert equation(labels=["eq:a", "eq:b"]).label == "eq:a"
    assert equation().label is None


def test_equations_do_not_share_their_references() -> None:
    """Every equation has a list of its own."""
    first, second = equation(1), equation(2)
    first.references.append("See the first.")
    assert isinstance(first, Equation)
    assert second.references == []


def test_tokens_have_kinds_and_positions() -> None:
    """Their texts are where they say they are; the rest is blanks and punctuation."""
    text = f"A norm, $|x|$ of\n{EQUATION_MARK} f-measures."
    found = list(tokenize(text))
    assert [(token.kind, token.text) for token in found] == [
        ("word", "A"),
        ("word", "norm"),
        ("math", "$|x|$"),
        ("word", "of"),
        ("equation", EQUATION_MARK),
        ("word", "f-measures"),
    ]
    assert all(text[token.start : token.end] == token.text for token in found)
    words, places = read_tokens(text)
    assert words == [token.text for token in found if token.kind == "word"]
    assert places == [3]
    assert equation_positions(text) == [text.index(EQUATION_MARK)]


def test_equations_are_interleaved_with_words() -> None:
    """One for each placeholder; another number of equations is refused."""
    text = f"One {EQUATION_MARK} two {EQUATION_MARK}"
    assert list(interleave(text, [1, 2])) == ["One", 1, "two", 2]
    with pytest.raises(ValueError, match="shorter"):
        list(interleave(text, [1]))
