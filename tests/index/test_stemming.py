"""Stems: the forms of a word are one, different words stay apart."""

import pytest

from eqemb.index.stemming import stem


@pytest.mark.parametrize(
    ("forms", "root"),
    [
        ("distance distances distanced", "distanc"),
        (
            "normalize normalizes normalized normalizing normalization normalise normalised",
            "normal",
        ),
        ("hop hopping hopped hops", "hop"),
        ("optimization optimize optimise optimisation optimised", "optim"),
        ("entropy entropies", "entropi"),
        ("generalization generalizations", "gener"),
        ("f-measures f-measure", "f-measur"),
        ("adjustable adjustment", "adjust"),
        ("agreed agreeing agrees agree", "agre"),
        ("controlling controlled", "control"),
        ("sky", "sky"),
        ("bm25", "bm25"),
    ],
)
def test_forms_of_a_word_have_one_stem(forms: str, root: str) -> None:
    """Plurals, tenses and derived forms; British endings as American ones."""
    assert {stem(word) for word in forms.split()} == {root}


@pytest.mark.parametrize(
    "words", ["supervise optimize", "noise nose", "precise price", "bias base", "loss los"]
)
def test_different_words_stay_apart(words: str) -> None:
    """A stem is not shorter than it must be."""
    one, other = words.split()
    assert stem(one) != stem(other)


def test_case_does_not_matter() -> None:
    """Words of headings are the same words."""
    assert stem("Similarities") == stem("similarity")
