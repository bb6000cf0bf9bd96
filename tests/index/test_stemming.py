"""Stemming: forms of a word share a stem, different words do not."""

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
        ("newton newton's newton\u2019s newtons'", "newton"),
        ("generalization generalizations", "gener"),
        ("f-measures f-measure", "f-measur"),
        ("adjustable adjustment", "adjust"),
        ("agreed agreeing agrees agree", "agre"),
        ("controlling controlled", "control"),
        ("sky", "sky"),
        ("bm25", "bm25"),
    ],
)
def test_forms_of_a_word_share_a_stem(forms: str, root: str) -> None:
    """Plurals, tenses and derived forms; British endings like American ones."""
    assert {stem(word) for word in forms.split()} == {root}


@pytest.mark.parametrize(
    "words", ["supervise optimize", "noise nose", "precise price", "bias base", "loss los"]
)
def test_different_words_have_different_stems(words: str) -> None:
    """Stemming does not cut too much."""
    one, other = words.split()
    assert stem(one) != stem(other)


def test_case_does_not_matter() -> None:
    """Words of headings have the same stems."""
    assert stem("Similarities") == stem("similarity")


@pytest.mark.parametrize("word", ["of", "bm25", "naïve", "x", "don't"])
def test_other_words_are_their_own_stems(word: str) -> None:
    """Short words, and words with digits, accents or apostrophes."""
    assert stem(word) == word
