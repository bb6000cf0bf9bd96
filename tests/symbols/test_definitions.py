"""Definitions of symbols in made-up sentences."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eqemb.article import EQUATION_MARK
from eqemb.symbols import Definition, find_definitions
from symbol_texts import article, defined
from timing import assert_linear

E = EQUATION_MARK


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        # a verb
        ("where $x$ is the input vector.", {"x": "input vector"}),
        ("Here $r$ denotes the radius of the disc.", {"r": "radius of the disc"}),
        (r"Let $G = (V, E)$ be a connected graph.", {"G": "connected graph"}),
        ("where $w$ represents the weight of an edge, and $d$ is its length.",
         {"w": "weight of an edge", "d": "length"}),
        ("$h$ stands for the height of a tree.", {"h": "height of a tree"}),
        (r"where $\alpha$ is called the damping factor.", {r"\alpha": "damping factor"}),
        (r"where $\kappa$ controls the amount of smoothing.",
         {r"\kappa": "controls the amount of smoothing"}),
        ("where $u_j$'s are unit vectors.", {"u_j": "unit vectors"}),
        (r"the road lengths $r_j$'s ($j = 1, \dots, n$) differ.", {"r_j": "road lengths"}),
        ("where $u$ and $v$ are unit vectors.", {"u": "unit vectors", "v": "unit vectors"}),
        ("with $s$ the speed of a wave.", {"s": "speed of a wave"}),
        ("where $a$ is the age and $b$ the income.", {"a": "age", "b": "income"}),
        ("where $g$ scores the answers of a pupil.", {"g": "scores the answers of a pupil"}),
        (r"where $\lambda$ controls how much sugar is added.",
         {r"\lambda": "controls how much sugar is added"}),
        ("where $g$ satisfies the third condition.", {}),
        ("where $q$ gives the weight of a parcel.", {"q": "weight of a parcel"}),
        ("where $b$ serves as the starting point.", {"b": "starting point"}),
        ("where $p$ can be interpreted as the share of winners.", {"p": "share of winners"}),
        ("where $k$ is chosen to be the least even number.", {"k": "least even number"}),
        ("where $d$ is shorthand for the mean delay.", {"d": "mean delay"}),
        ("where $y$ is $1$ if the road is open.", {"y": "$1$ if the road is open"}),
        (r"where $0 < \gamma < 1$ is the discount factor.", {r"\gamma": "discount factor"}),
        ("Let $r$, $1 \\le i \\le n$ be a ring.", {"r": "ring"}),
        ("where $s$ (resp. $t$) is the upper (resp. lower) bound.",
         {"s": "upper (resp. lower) bound"}),
        ("The $z_i$'s are the weights of the parcels.", {"z_i": "weights of the parcels"}),
        ("where $W$ denotes all the words of a text.", {"W": "words of a text"}),
        ("Let $C$ be the $r$-cover of a disc.", {"C": "$r$-cover of a disc"}),
        ("The time between the stops $a$ and $b$ is called a break.", {"a": "stops", "b": "stops"}),
        # clauses that belong to a noun
        ("where $w$ are the weights to be learned.", {"w": "weights to be learned"}),
        ("where $y$ is an indicator of whether the road is open.",
         {"y": "indicator of whether the road is open"}),
        ("where $D$ is the number of towns for which we know the mayor.",
         {"D": "number of towns for which we know the mayor"}),
        ("where $L$ is a diagonal matrix whose entries are positive.",
         {"L": "diagonal matrix whose entries are positive"}),
        ("Let $n$ be the least number such that two trains meet.",
         {"n": "least number such that two trains meet"}),
        ("Let $X$ be a town such that two trains meet.", {"X": "town"}),
        # denoting
        ("We denote $S$ the set of all stations.", {"S": "set of all stations"}),
        ("We denote by $S$ the set of all stations.", {"S": "set of all stations"}),
        ("By $S$ we denote the set of all stations.", {"S": "set of all stations"}),
        ("We denote the number of trains by $n$.", {"n": "number of trains"}),
        ("We denote the first stop by $a$ and the last stop by $z$.",
         {"a": "first stop", "z": "last stop"}),
        ("The delay of a train is denoted by $d$.", {"d": "delay of a train"}),
        ("The mean delay, denoted $m$, grows.", {"m": "mean delay"}),
        ("We use $q$ to denote the flow through a pipe.", {"q": "flow through a pipe"}),
        ("We write $c$ for the cost of a ticket.", {"c": "cost of a ticket"}),
        ("Define $T$ as the total travel time.", {"T": "total travel time"}),
        ("We refer to $B$ as the budget.", {"B": "budget"}),
        # next to each other
        (r"We lower the learning rate $\eta$ later.", {r"\eta": "learning rate"}),
        (r"Take a matrix $A \in \mathbb{R}^{n \times d}$ first.", {"A": "matrix"}),
        ("The set of open shops $O$ shrinks.", {"O": "set of open shops"}),
        ("The level $P$ of the water tank is high.", {"P": "level of the water tank"}),
        ("The length of the rope $r$ matters.", {"r": "rope"}),
        ("The probability of label $j$ is small.", {"j": "label"}),
        ("The two points $p$ and $q$ differ.", {"p": "points", "q": "points"}),
        ("It needs a binary (sparse) vector $y$ there.", {"y": "binary (sparse) vector"}),
        (r"The noise level ($\sigma$) is low.", {r"\sigma": "noise level"}),
        ("The overall error of the meter ($e$) is low.", {"e": "overall error of the meter"}),
        ("We fix noise level $s$ first.", {"s": "noise level"}),
        ("It maps words to word vectors $v$ there.", {"v": "word vectors"}),
        ("This holds for towns which cover $X$ there.", {}),
        ("We first differentiate $E$ there.", {}),
        ("We often set $E$ there.", {}),
        ("It helps to use test functions $f$ there.", {"f": "test functions"}),
        ("Draw mean rate $r$ there.", {"r": "mean rate"}),
        ("Given $V$, the set of the best words, we stop.", {"V": "set of the best words"}),
        (r"It returns $z \in Z$, a mean of its inputs.", {"z": "mean of its inputs"}),
        ("It lowers the mean delay, $d$, there.", {"d": "mean delay"}),
        ("It lowers the mean delay, $d$.", {"d": "mean delay"}),
        ("It lowers the mean delay, $d < 3$.", {}),
        ("They fix $m$ (the mass of the ball) there.", {"m": "mass of the ball"}),
        ("There are scores for each of the $K$ cities.", {"K": "number of cities"}),
        ("$N$: the number of voters", {"N": "number of voters"}),
        ("$N$ := number of voters", {"N": "number of voters"}),
    ],
)  # fmt: skip
def test_patterns(sentence: str, expected: dict[str, str]) -> None:
    """Each way to define a symbol gives a clean noun phrase."""
    assert defined(sentence) == expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("where $a$, $b$ and $c$ are the length, the width and the height, respectively.",
         {"a": "length", "b": "width", "c": "height"}),
        (r"where $\mu$ and $\sigma$ denote the mean and variance of the prior, respectively.",
         {r"\mu": "mean of the prior", r"\sigma": "variance of the prior"}),
        ("where $a$ and $b$ respectively denote the start and the end.",
         {"a": "start", "b": "end"}),
        ("We define its gain and its loss as $g$ and $l$, respectively.",
         {"g": "gain", "l": "loss"}),
        ("where $a$ and $b$ are the distances to the top, left and right walls, respectively.",
         {"a": "distances to the top, left and right walls",
          "b": "distances to the top, left and right walls"}),
        ("Let $a$ and $b$ be two towns.", {"a": "towns", "b": "towns"}),
        ("where $a$ and $b$ are ages and incomes.", {"a": "ages", "b": "incomes"}),
        ("where $s$ and $t$ are the source and target words.",
         {"s": "source and target words", "t": "source and target words"}),
        ("where $a$ and $b$ are the priors over the age and income of a person.",
         {"a": "priors over the age and income of a person",
          "b": "priors over the age and income of a person"}),
        ("The state, action and reward at a step are denoted $s$, $a$ and $r$, respectively.",
         {"s": "state", "a": "action", "r": "reward at a step"}),
    ],
)  # fmt: skip
def test_coordination(sentence: str, expected: dict[str, str]) -> None:
    """Members of a list get their own phrases if there are as many, and the whole one if not."""
    assert defined(sentence) == expected


@pytest.mark.parametrize(
    "sentence",
    [
        "where $x$ is small.",
        "We set $x$ first.",
        "To train $f$ we wait.",
        "It follows from Theorem $3$ that this holds.",
        "As shown in Equation $x$ above.",
        "We increase $C$ slowly.",
        "the $n$-gram model",
        "This covers $X$.",
        "The images have $128 \\times 128$ pixels.",
        "where $x$ is not.",
        "$x$",
        "",
    ],
)
def test_no_definition(sentence: str) -> None:
    """Verbs, adjectives, references and words with formulas in them define nothing."""
    assert defined(sentence) == {}


@pytest.mark.parametrize(
    "sentence",
    [
        f"The expected cost of a trip is given by {E} where it ends.",
        f"We define the expected cost of a trip as {E}.",
        f"The expected cost of a trip is: {E}",
    ],
)
def test_an_equation_defines_its_left_side(sentence: str) -> None:
    """The phrase before an equation says what its left side is."""
    assert defined(sentence, r"J(u) = \sum_i c_i") == {"J": "expected cost of a trip"}
    assert defined(sentence, r"a + b = c") == {}


def one(text: str, *equations: str, sections: tuple[str, ...] = ()) -> Definition:
    """The only definition of a text."""
    (found,) = find_definitions(article(text, *equations, sections=sections))
    return found


def test_a_definition_knows_its_place() -> None:
    """Sentence, offsets, section, paragraph and the equation nearby."""
    text = f"Start\n\nWe begin.\n\nModel\n\nIt is {E} where $k$ is the rank of its core.\nNo more."
    found = one(text, "x + 1", sections=("Start", "Model"))
    assert found.sentence == f"It is {E} where $k$ is the rank of its core."
    assert text[found.start : found.end] == found.text == "rank of its core"
    assert text[found.position :].startswith("$k$")
    assert (found.section, found.equation) == (1, 1)
    assert found.paragraph == 3
    assert (found.scope, found.kind) == ("section", "verb")
    assert 0.8 <= found.confidence <= 1


def test_scopes() -> None:
    """Notation sections count everywhere, and letters of "each" only in their sentence."""
    notation = "Notation\n\nLet $x$ be a point."
    assert one(notation, sections=("Notation",)).scope == "article"
    assert one("Throughout, $x$ denotes a point.").scope == "article"
    assert one("For each point $x$ it holds.").scope == "sentence"
    assert one("Let $x$ be a point.").scope == "section"


def test_types_from_membership() -> None:
    """A membership adds a type to a phrase, and is a weak definition without one."""
    assert one(r"Let $x \in \mathbb{R}^d$ be a point.").type == r"\mathbb{R}^d"
    bare = one(r"It holds for $y \in Y$ too.")
    assert (bare.text, bare.kind) == ("element of $Y$", "type")
    assert bare.confidence < 0.5
    assert one(r"It holds for $f: X \to Y$ too.").text == r"function $X \to Y$"


def test_a_member_of_a_tuple_is_part_of_what_is_named() -> None:
    """The phrase means the tuple, so the letters are parts of it and less sure."""
    found = find_definitions(article("Take a triple $(h, r, t)$ of words."))
    assert {one.text for one in found} == {"part of triple of words $(h, r, t)$"}
    assert max(one.confidence for one in found) < 0.7


def test_so_many_words_are_surer_than_neighbourhood() -> None:
    """Confidence orders the patterns."""
    verb, apposition, count = (
        one(text).confidence
        for text in ("$x$ denotes the age.", "for the age $x$ here", "with $x$ ages there")
    )
    assert 1 >= verb > apposition > count > 0


PIECES = f"$x$ $y_i$ where is the set of a and , ( ) denoted by let be : respectively {E} . we $"


@settings(max_examples=300)
@given(st.lists(st.sampled_from([*PIECES.split(), "\n"]), max_size=40))
def test_any_text_is_read(pieces: list[str]) -> None:
    """Every definition stands in its sentence, near its symbol, and a second run finds the same."""
    made = article(" ".join(pieces), *["x = 1"] * pieces.count(E))
    found = find_definitions(made)
    assert found == find_definitions(made)
    lines = [line.strip() for line in made.text.split("\n")]
    for definition in found:
        assert definition.sentence in lines
        assert 0 <= definition.start < definition.end <= len(made.text)
        assert made.text[definition.position] in {"$", E}
        assert 0 < definition.confidence <= 1
        assert definition.text.strip() == definition.text != ""


@pytest.mark.parametrize(
    "piece",
    ["$x$ ", "$x$, ", "( ", "($x$ ", " ", "where $x$ is the set of ", "the set of ", "$", "let ",
     "a.", "a-", f"{E} ", ", ", ") $x$ ", "denoted by ", "linear ", "$a$ and $b$ are the c and d, ",
     "the $x$\n", "$x$\n\n", "$\\hat{"],
)  # fmt: skip
def test_time_is_linear(piece: str) -> None:
    """A text four times as long takes about four times as long, whatever it repeats."""
    assert_linear(
        lambda size: article("the " + piece * (size // len(piece)) + " $x$ is the input."),
        find_definitions,
        (4_000, 16_000),
    )
