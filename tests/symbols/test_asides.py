"""Definitions beside the main clause."""

import pytest

from eqemb.symbols import find_definitions
from symbol_texts import article, defined
from timing import assert_linear


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        # a relative clause
        ("We lower $h$, which is the height of the dam, each day.", {"h": "height of the dam"}),
        ("We plot $q$, which denotes the flow of water.", {"q": "flow of water"}),
        # that is
        ("We estimate $m$, i.e. the mass of the ship.", {"m": "mass of the ship"}),
        ("It depends on $w$, namely the width of the river.", {"w": "width of the river"}),
        # an aside
        ("It grows with $k$, the number of bridges.", {"k": "number of bridges"}),
        ("where $u(x)$, the height of the tide, is known.", {"u": "height of the tide"}),
        # as
        ("We start with $b$ as the base of the tower.", {"b": "base of the tower"}),
        # a quantity
        (r"It uses a learning rate of $\eta$ there.", {r"\eta": "learning rate"}),
        (r"We train with weight decay of $\lambda$.", {r"\lambda": "weight decay"}),
        # what we denote
        ("The mean delay of trains, which we denote $d$, grows.", {"d": "mean delay of trains"}),
        ("The mean delay of trains, which we write as $d$, grows.", {"d": "mean delay of trains"}),
        ("We refer to the set of open shops as $O$.", {"O": "set of open shops"}),
        # uses and clauses
        (r"where $\lambda$ is used to balance the two terms.",
         {r"\lambda": "used to balance the two terms"}),
        ("where $y$ indicates whether the road is open.",
         {"y": "indicates whether the road is open"}),
        # two names of one head
        ("It compares the source and target towns $a$ and $b$.",
         {"a": "source and target towns", "b": "source and target towns"}),
        ("They fix $s$ (the slope of a road, i.e. the rise over the run).",
         {"s": "slope of a road, i.e. the rise over the run"}),
    ],
)  # fmt: skip
def test_asides(sentence: str, expected: dict[str, str]) -> None:
    """Each way to say in passing what a symbol is."""
    assert defined(sentence) == expected


@pytest.mark.parametrize(
    "sentence",
    [
        "It gives $x = 1$, which is a surprise.",
        "For $x$, the town is small.",
        "If it rains on $x$, the town, the river and the road are wet.",
        "This covers the bank of $b$ which is a river.",
        "We find $x$, which is a contradiction.",
        "The size of $B$ shrinks.",
        "It holds for $x$, i.e. the towns are near.",
        "where $x$ is used to.",
    ],
)
def test_what_is_no_aside(sentence: str) -> None:
    """Introductions, judgements and remarks about something else define nothing."""
    assert defined(sentence) == {}


def test_an_aside_is_less_sure_than_a_clause() -> None:
    """The same words beside the clause count for less than in a clause of their own."""
    texts = (
        "where $h$ is the height.",
        "We see $h$, which is the height.",
        "We see $h$, the height.",
    )
    clause, relative, aside = (find_definitions(article(text))[0].confidence for text in texts)
    assert clause > relative > aside >= 0.3


@pytest.mark.parametrize(
    "piece",
    ["$x$, which is the ", "$x$, the ", "$x$, i.e. ", "rate of $x$ ", "with $x$ as the ",
     "which we denote $x$ ", "the a and b c $x$ ", "($x$, i.e. "],
)  # fmt: skip
def test_time_is_linear(piece: str) -> None:
    """Four times the text takes about four times as long."""
    assert_linear(
        lambda size: article(piece * (size // len(piece))), find_definitions, (4_000, 16_000)
    )
