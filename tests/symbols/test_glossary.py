"""What the symbols of an equation mean: the best definition, and the conflicts."""

import pytest

from eqemb.article import EQUATION_MARK, Article, Equation
from eqemb.symbols import Glossary, Meaning, equation_meanings, find_definitions, probability
from eqemb.symbols.glossary import likeness
from eqemb.symbols.model import Symbol
from eqemb.symbols.terms import read_term

E = EQUATION_MARK


def glossary(text: str, *equations: str, sections: tuple[str, ...] = ()) -> Glossary:
    """The glossary of an article with these equations."""
    made = [
        Equation("a", number, None, None, [], "equation", number, latex, latex, "", 0, 0)
        for number, latex in enumerate(equations, 1)
    ]
    return Glossary(Article("a", "a", text=text, sections=list(sections), equations=made))


def meaning(found: list[Meaning], latex: str) -> Meaning:
    """The meaning of one of the symbols."""
    (one,) = [one for one in found if one.symbol.latex == latex]
    return one


def text_of(found: list[Meaning], latex: str) -> str | None:
    """The words of a symbol's definition."""
    definition = meaning(found, latex).definition
    return definition.text if definition else None


def test_before_and_after_the_equation() -> None:
    """Definitions on both sides of an equation are found; a symbol may have none."""
    text = f"Let $w$ be the width.\nThen {E} where $h$ is the height."
    found = glossary(text, "A = w h").meanings(1)
    assert [one.symbol.latex for one in found] == ["A", "w", "h"]
    assert [text_of(found, latex) for latex in "Awh"] == [None, "width", "height"]
    assert meaning(found, "A").confidence == 0
    assert 0.5 < meaning(found, "w").confidence < meaning(found, "h").confidence <= 1


def test_the_nearest_definition_counts_and_conflicts_are_shown() -> None:
    """A letter may mean other things in other sections."""
    text = (
        f"One\n\nLet $k$ be the number of clusters.\nSo {E}.\n\n"
        f"Two\n\nLet $k$ be a wave number.\nSo {E}."
    )
    made = glossary(text, "k + 1", "k + 2", sections=("One", "Two"))
    first, second = meaning(made.meanings(1), "k"), meaning(made.meanings(2), "k")
    assert first.definition is not None
    assert second.definition is not None
    assert first.definition.text == "number of clusters"
    assert second.definition.text == "wave number"
    assert [one.text for one in first.conflicts] == ["wave number"]
    assert [one.text for one in second.conflicts] == ["number of clusters"]


def test_the_same_words_are_no_conflict() -> None:
    """A definition that is repeated or varied says the same."""
    text = f"Let $x$ be an input vector.\nThe input $x$ and the vector $x$ are read.\nSo {E}."
    assert meaning(glossary(text, "x = 1").meanings(1), "x").conflicts == []


def test_notation_counts_everywhere() -> None:
    """Far away, a definition of the notation section beats a passing one."""
    other = "Other\n\nNear the river $x$ it rains."
    text = f"Notation\n\nLet $x$ be a road.\n\n{other}\n\nLast\n\nSo {E}."
    made = glossary(text, "x = 1", sections=("Notation", "Other", "Last"))
    assert text_of(made.meanings(1), "x") == "road"


def test_a_letter_of_each_counts_in_its_sentence() -> None:
    """What is said of each road x says little about x elsewhere."""
    here = glossary(f"For each road $x$ we have {E}.", "x = 1").meanings(1)
    text = f"For each road $x$ it rains.\n\nMuch later it dries.\n\nSo {E}."
    there = glossary(text, "x = 1").meanings(1)
    assert meaning(here, "x").confidence > 1.5 * meaning(there, "x").confidence > 0


def test_a_letter_that_is_only_an_index_needs_a_near_or_sure_definition() -> None:
    """In `d_k`, `k` may be a part of the name, so doubtful words of another section are not it."""
    far = "One\n\nWe vary kernel size $k$ often.\n\nTwo\n\n"
    index = glossary(f"{far}So {E}.", "d_k", sections=("One", "Two")).meanings(1)
    assert text_of(index, "k") is None
    variable = glossary(f"{far}So {E}.", "k + 1", sections=("One", "Two")).meanings(1)
    assert text_of(variable, "k") == "kernel size"
    near = glossary(f"We vary kernel size $k$ often. So {E}.", "d_k").meanings(1)
    assert text_of(near, "k") == "kernel size"
    sure = "One\n\nThroughout, $k$ denotes the kernel size.\n\nTwo\n\n"
    told = glossary(f"{sure}So {E}.", "d_k", sections=("One", "Two")).meanings(1)
    assert text_of(told, "k") == "kernel size"


@pytest.mark.parametrize(
    ("symbol", "other", "score"),
    [
        ("x", "x", 1.0), ("x_i", "x_i", 1.0), ("x_i", "x_j", 0.95), ("x_i", "x", 0.8),
        ("x", "x_i", 0.65), ("x_i", "x_1", 0.55), ("x_1", "x_i", 0.95), (r"\mathbf{x}", "x", 0.4),
        ("W_{hh}", "W", 0.8), ("W_{hh}", "W_{xh}", 0.0), ("W", "W_{hh}", 0.0),
        (r"\hat{x}", "x", 0.8), ("x", r"\hat{x}", 0.0), ("x", "y", 0.0), ("x", "X", 0.0),
        (r"\mathbf{x}", r"\boldsymbol{x}", 1.0),
    ],
)  # fmt: skip
def test_related_symbols(symbol: str, other: str, score: float) -> None:
    """A definition of `x` serves `x_i`; that of `W_{xh}` does not serve `W_{hh}`."""
    (mine,), (its,) = read_term(symbol).symbols, read_term(other).symbols
    assert likeness(mine, its) == pytest.approx(score)


def test_an_exact_definition_beats_a_related_one() -> None:
    """The symbol's own definition comes first even if it is further away."""
    text = f"Let $x_i$ be a house.\nLet $x$ be a street.\nSo {E}."
    found = glossary(text, "x_i + x").meanings(1)
    assert text_of(found, "x_i") == "house"
    assert text_of(found, "x") == "street"
    fallback = glossary(f"Let $x$ be a street.\nSo {E}.", "x_i").meanings(1)
    assert text_of(fallback, "x_i") == "street"


def test_one_call_and_stored_definitions_give_the_same() -> None:
    """`equation_meanings` is a short form, and definitions may come from storage."""
    made = glossary(f"Let $w$ be the width.\nThen {E}.", "A = w")
    stored = find_definitions(made.article)
    assert equation_meanings(made.article, 1) == made.meanings(1)
    assert Glossary(made.article, stored).meanings(1) == made.meanings(1)


def test_a_confidence_is_a_probability_of_the_score() -> None:
    """It grows with the score, and orders meanings as scores do."""
    text = f"We vary the width $w$.\nThen {E} where $h$ is the height."
    found = glossary(text, "A = w h").meanings(1)
    for one in found[1:]:
        assert one.confidence == probability(one.score)
    shares = [probability(score / 10) for score in range(11)]
    assert shares == sorted(set(shares))
    assert 0 < shares[0] < shares[-1] < 1
    assert found[0].score == 0


def test_of_very_many_definitions_the_likely_ones_are_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The nearest ones, those of the very symbol, and those for the whole article."""
    lines = [f"Let $x_{{{letter}}}$ be the {letter}-house." for letter in "abcdefghij"]
    near = [
        f"Let $x$ be the street of {word}.\nSo {E}.\n\nIt is\n\nlong." for word in ("elms", "limes")
    ]
    text = "\n\n".join([*lines, *near, *reversed(lines)])
    made = glossary(text, "x + x_a", "x + x_j")
    looked_at: list[Symbol] = []

    def counted(one: Symbol, other: Symbol) -> float:
        looked_at.append(one)
        return likeness(one, other)

    monkeypatch.setattr("eqemb.symbols.glossary.LOOKED_AT", 2)
    monkeypatch.setattr("eqemb.symbols.glossary.likeness", counted)
    for ordinal, street, letter in ((1, "elms", "a"), (2, "limes", "j")):
        found = made.meanings(ordinal)
        assert text_of(found, "x") == f"street of {street}"
        assert text_of(found, f"x_{letter}") == f"{letter}-house"
    assert len(looked_at) <= 4 * 3 * 2 * 2
