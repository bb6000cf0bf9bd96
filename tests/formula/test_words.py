"""The words of an equation."""

import pytest

from eqemb.formula import layout
from eqemb.formula.words import words_of


@pytest.mark.parametrize(
    ("latex", "words"),
    [
        (r"\text{softmax}(x)", ["softmax"]),
        (r"\mathrm{BLEU} = \operatorname{Attention}(Q)", ["BLEU", "Attention"]),
        (r"\mathit{loss} + \mathbf{head}_i + \textrm{gate}", ["loss", "head", "gate"]),
        (r"\underbrace{x}_{\text{data fidelity}}", ["data", "fidelity"]),
        (r"\mbox{tf-idf} + \text{Poincar\'e}", ["tf-idf", "Poincaré"]),
        (r"\text{is it gold? [no one]}", ["gold", "one"]),
    ],
)
def test_texts_and_names(latex: str, words: list[str]) -> None:
    """As they are shown, without commands."""
    assert words_of(layout(latex)) == words


@pytest.mark.parametrize(
    ("latex", "words"),
    [
        (r"{warmup\_steps}^{-1.5}", ["warmup", "steps"]),
        (r"loss_{CE} + lrate", ["loss", "lrate"]),
        (r"stepNum", ["step"]),
        (r"P(sentence)", ["sentence"]),
    ],
)
def test_letters_in_a_row(latex: str, words: list[str]) -> None:
    """A name without a command; a script, a sign or a capital letter ends it."""
    assert words_of(layout(latex)) == words


@pytest.mark.parametrize(
    "latex",
    [
        "",
        "x + y",
        "4ac",
        r"\alpha\beta\gamma",
        r"\log x + \max_i y",
        r"a_i b_j c_k",
        r"\mathrm{KL}",
        "xyz + QKV + aeio",
    ],
)
def test_symbols_are_not_words(latex: str) -> None:
    """Neither are names of functions, nor those of one or two letters."""
    assert words_of(layout(latex)) == []


def test_a_repeated_word_counts_twice() -> None:
    """As in running text."""
    assert words_of(layout(r"\text{loss} = \text{loss}")) == ["loss", "loss"]
