"""An answer by meaning says which words the model has no vector for."""

from collections.abc import Iterator

import pytest

from axes import make_library
from eqemb.facade.library import Library
from eqemb.facade.parts import LocalParts, PartsLibrary
from synthetic import Run, assert_one_sentence, read_inline

#: The paper "harmonic" has the words "mean" and "measure" near its equation.
NOTES = {
    "measure": ["the model has no vector for 'measure' (did you mean measures?)"],
    "measure mean": ["the model has no vector for 'measure', 'mean'"],
    "measure recall": ["the model has no vector for 'measure' (did you mean measures?)"],
    "recall": [],
    "unheardof": [],
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A library with a model of a few words."""
    with pytest.MonkeyPatch.context() as patch:
        read_inline(patch)
        with make_library(tmp_path_factory.mktemp("notes")) as made:
            yield made


@pytest.mark.parametrize("words", list(NOTES))
def test_words_without_a_vector_are_named(library: Library, words: str) -> None:
    """Those that no equation has near it are listed as unknown instead."""
    found = library.search(words, by="meaning")
    assert found.notes == NOTES[words]
    assert bool(found.hits) == ("recall" in words)


def test_a_library_in_parts_has_the_same_notes(library: Library) -> None:
    """The front end knows the words of the model."""
    parts = LocalParts(library, 1)
    with PartsLibrary.open_with(library.folder, parts) as merged:
        for words in NOTES:
            wanted = library.search(words, by="meaning").notes
            assert merged.search(words, by="meaning").notes == wanted
    parts.close()


def test_the_command_says_why_nothing_was_found(run: Run, library: Library) -> None:
    """As `eqemb words` does."""
    done = run("search", library.folder, "measure", "--by", "meaning")
    assert done.code == 1
    assert_one_sentence(done)
    assert "no matches: the model has no vector for 'measure' (did you mean measures?);" in done.err
    assert "the model has no vector for 'measure'" in run("words", library.folder, "measure").err
