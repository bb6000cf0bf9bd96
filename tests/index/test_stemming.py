"""Stemming: forms of a word share a stem, different words do not."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqemb.index import stemming
from eqemb.index.stemming import stem, stem_start


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


def test_threads_do_not_share_the_stemmer(monkeypatch: pytest.MonkeyPatch) -> None:
    """It keeps the word that it works on, so that only one thread may use it at a time."""
    inside: list[str] = []
    most = 0

    class Stemmer:
        def stemWord(self, word: str) -> str:  # noqa: N802
            nonlocal most
            inside.append(word)
            most = max(most, len(inside))
            time.sleep(0.01)
            inside.remove(word)
            return word

    monkeypatch.setattr(stemming, "_porter", Stemmer())
    words = [f"threaded{letter}" for letter in "abcdefgh"]
    try:
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(stem, words)) == words
    finally:
        stem.cache_clear()  # it has stems of the stand-in
    assert most == 1


ENDINGS = (
    "", "s", "es", "ies", "ed", "eed", "ing", "y", "ational", "ization", "isation", "ised", "ator",
    "ness", "fully", "ically", "logi", "ement", "e", "ll", "'s",
)  # fmt: skip


@given(
    st.lists(
        st.tuples(st.text("abcdefilnorstuyz25", max_size=6), *[st.sampled_from(ENDINGS)] * 2),
        min_size=1,
        max_size=2,
    )
)
def test_words_start_as_their_stems_do(parts: list[tuple[str, str, str]]) -> None:
    """A line without the start of a stem has no word with it; the first letter never changes."""
    word = "-".join(map("".join, parts))
    assert word.startswith(stem_start(stem(word)))
    assert stem(word)[:1] in ("", word[:1])


def test_the_start_of_a_stem_tells_something() -> None:
    """Enough letters to pass over most lines."""
    assert stem_start(stem("gradients")) == "gradi"
    assert stem_start(stem("\u03b1-divergence")) == ""
