"""Tokens of sentences: kinds, words, formulas and where they stand."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqemb.article import EQUATION_MARK
from eqemb.symbols import lexicon
from eqemb.symbols.sentence import SentenceTokens, read_sentence

E = EQUATION_MARK


def texts(line: str) -> list[str]:
    """The text of every token."""
    tokens = read_sentence(line)
    return [line[slice(*tokens.span(at))] for at in range(len(tokens.kinds))]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("where $x$ is it.", ["where", "$x$", "is", "it", "."]),
        ("the $n$-gram and $k$th", ["the", "$n$-gram", "and", "$k$th"]),
        ("a  b\tc", ["a", "b", "c"]),
        ("of Li et al. (i.e. $x$)", ["of", "Li", "et al.", "(", "i.e.", "$x$", ")"]),
        (f"so {E} and$x$,", ["so", E, "and", "$x$", ","]),
        ("$a$ := b, well-known.", ["$a$", ":=", "b", ",", "well-known", "."]),
        ("costs 5 $ a day", ["costs", "5", "$", "a", "day"]),
        ("$x$ $", ["$x$", "$"]),
        ("", []),
    ],
)
def test_tokens(line: str, expected: list[str]) -> None:
    """Formulas keep their letters, and a dollar that closes nothing is a mark."""
    assert texts(line) == expected


def test_kinds_and_formulas() -> None:
    """Formulas and equations are listed; numbers and parts of words are not among them."""
    tokens = read_sentence(f"Let $x$ be the $n$-gram of $5$ in {E}")
    assert [tokens.kinds[at] for at in tokens.formulas] == [lexicon.FORMULA, lexicon.EQUATION]
    assert tokens.latex == {1: "x", 4: "n", 6: "5"}
    assert tokens.kinds[4] == lexicon.NOMINAL
    assert tokens.kinds[6] == lexicon.NUMBER
    assert tokens.lowers[:2] == ["let", ""]


def test_tokens_may_be_given_one_by_one() -> None:
    """Other tokenisers have their own places."""
    tokens = SentenceTokens()
    for at, (word, latex) in enumerate([("The", None), ("S", "x"), (".", None)]):
        tokens.add(word, latex, 10 * at, 10 * at + 5)
    assert [tokens.span(at) for at in range(3)] == [(0, 5), (10, 15), (20, 25)]
    assert tokens.formulas == [1]
    assert tokens.lowers == ["the", "", "."]


def test_an_offset_moves_every_token() -> None:
    """Places are those of the article."""
    line = "the age $a$ (in years) et al. of it"
    here, there = read_sentence(line), read_sentence(line, 100)
    for at in range(len(here.kinds)):
        assert there.span(at) == tuple(place + 100 for place in here.span(at))


WHOLE = re.compile(
    r"\$([^$]*)\$([-\u2010\u2011]?[^\W\d_][^\W_]*(?:[-'\u2019\u2010\u2011][^\W_]+)*)?"
    rf"|{E}|(?:i\.e\.|e\.g\.|w\.r\.t\.|i\.i\.d\.|resp\.|cf\.|a\.k\.a\.|et al\.)"
    r"|[^\W_]+(?:[-'\u2019\u2010\u2011.][^\W_]+)*|:=|\S"
)


@given(st.text(alphabet=f"abx .,-'$ \t:=(){E}e.g.1_", max_size=80) | st.text(max_size=40))
def test_chunks_give_the_tokens_of_one_expression(line: str) -> None:
    """Reading between spaces and dollars finds what one expression for all tokens finds."""
    tokens = read_sentence(line)
    spans = [tokens.span(at) for at in range(len(tokens.kinds))]
    assert spans == [match.span() for match in WHOLE.finditer(line)]
