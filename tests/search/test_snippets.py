"""Snippets: text split into pieces, and cut around an equation or a word."""

import pytest

from eqemb.search.snippets import (
    Renderer,
    around_equation,
    around_word,
    inline_math,
    pieces,
    word_matcher,
)


class Plain(Renderer):
    """Renders formulas as their source."""

    def mathml(self, latex: str, *, display: bool = False) -> str:  # noqa: ARG002
        """Return the source."""
        return f"<{latex}>"


def test_pieces_are_text_marks_math_and_the_equation() -> None:
    """Neighbouring text is one piece; a word is marked in all its forms."""
    found = pieces("The norms $|x|$ are [equation].", word_matcher(["norm"]), Plain())
    assert found == [
        {"kind": "text", "text": "The "},
        {"kind": "mark", "text": "norms"},
        {"kind": "text", "text": " "},
        {"kind": "math", "text": "|x|", "mathml": "<|x|>"},
        {"kind": "text", "text": " are "},
        {"kind": "equation", "text": "[equation]"},
        {"kind": "text", "text": "."},
    ]


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
