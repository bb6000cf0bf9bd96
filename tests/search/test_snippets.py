"""Snippets: text split into pieces, and cut around an equation or a word."""

import pytest

from eqemb.search.snippets import (
    Renderer,
    WordMatcher,
    around_equation,
    around_word,
    inline_math,
    pieces,
)


class Plain(Renderer):
    """Renders formulas as their source."""

    def mathml(self, latex: str, *, display: bool = False) -> str:  # noqa: ARG002
        """Return the source."""
        return f"<{latex}>"


def test_pieces_are_text_marks_math_and_the_equation() -> None:
    """Neighbouring text is one piece; a word is marked in all its forms."""
    found = pieces("The norms $|x|$ are [equation].", WordMatcher(["norm"]), Plain())
    assert found == [
        {"kind": "text", "text": "The "},
        {"kind": "mark", "text": "norms"},
        {"kind": "text", "text": " "},
        {"kind": "math", "text": "|x|", "mathml": "<|x|>"},
        {"kind": "text", "text": " are "},
        {"kind": "equation", "text": "[equation]"},
        {"kind": "text", "text": "."},
    ]


@pytest.mark.parametrize(
    ("text", "word", "marked"),
    [
        ("Norms normed NORM abnormal", "norm", ["Norms", "normed", "NORM"]),
        ("\N{KELVIN SIGN}elvin and kelvins", "kelvin", ["\N{KELVIN SIGN}elvin", "kelvins"]),
        ("Éclair and éclair", "éclair", ["Éclair", "éclair"]),
        ("a mean-field mean of $mean$ means", "mean", ["mean", "means"]),
    ],
)
def test_words_are_marked_in_either_case(text: str, word: str, marked: list[str]) -> None:
    """Also those whose first letter is not ASCII, but never a part of a compound or a formula."""
    found = pieces(text, WordMatcher([word]), Plain())
    assert [piece["text"] for piece in found if piece["kind"] == "mark"] == marked


def test_without_words_only_formulas_are_found() -> None:
    """Words are not looked at then."""
    found = pieces("an x of $y$ in [equation], $5", renderer=Plain())
    assert [piece["kind"] for piece in found] == ["text", "math", "text", "equation", "text"]


def test_a_long_formula_is_shown_as_its_source() -> None:
    """Rendering it could take long, and a sentence has no room for it."""
    source = f"${'x' * 1001}$"
    assert inline_math(source) == {"kind": "text", "text": source}


@pytest.mark.parametrize(
    ("reach", "expected"),
    [
        (None, "one two three [equation] four five six"),
        (0, ""),
        (1, "… three [equation] four …"),
        (3, "one two three [equation] four five six"),
    ],
)
def test_contexts_are_cut_around_the_equation(reach: int | None, expected: str) -> None:
    """On each side by words; None keeps everything."""
    assert around_equation("one two three [equation] four five six", reach) == expected


def test_a_context_without_its_equation_is_cut_at_its_end() -> None:
    """To as many words as both sides have together."""
    assert around_equation("one two three four five", 2) == "one two three four …"


@pytest.mark.parametrize(
    ("reach", "expected"),
    [(None, "a b c norms d e f."), (1, "… c norms d …"), (9, "a b c norms d e f.")],
)
def test_sentences_are_cut_around_a_word(reach: int | None, expected: str) -> None:
    """In any of its forms."""
    assert around_word("a b c norms d e f.", "norm", reach) == expected
