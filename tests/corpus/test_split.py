"""The split: what is held out, that nothing of it is left, contexts and frozen negatives."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqemb.corpus.corpus import Corpus, EquationToken, Ids, TokenStream
from eqemb.corpus.split import TEST, VALIDATION, Split, SplitSettings, contexts, training_stream
from eqemb.corpus.vocabulary import Rules
from eqemb.errors import UsageError

ALL = Rules(min_count=1, top=0, min_length=1, stop_words=False)
NAMES = [f"w{index:02}" for index in range(12)]


def corpus_of(*streams: TokenStream) -> Corpus:
    """A corpus that keeps every word."""
    return Corpus.build([(f"a{i}", "", stream) for i, stream in enumerate(streams)], ALL)


def around(form: str, times: int = 1) -> TokenStream:
    """An equation in the middle of all the words."""
    return [*NAMES * times, EquationToken(form), *NAMES * times]


def items() -> st.SearchStrategy[list[str | EquationToken]]:
    """Articles of a few words and equations, some of them repeated."""
    formulas = st.sampled_from([EquationToken(form, ["u"]) for form in "abcde"])
    return st.lists(
        st.one_of(st.sampled_from(NAMES), formulas, st.sampled_from(NAMES)), max_size=40
    )


corpora = st.lists(items(), min_size=1, max_size=5).map(lambda streams: corpus_of(*streams))


@given(corpora, st.integers(0, 3))
def test_each_position_is_held_out_once_and_near_its_equation(corpus: Corpus, seed: int) -> None:
    """No position twice; each within the window of the occurrence it was sampled with."""
    split = Split.make(corpus, SplitSettings(seed, negatives=3))
    assert len(set(split.positions.tolist())) == len(split.positions)
    place = corpus.equation_positions[split.occurrences]
    article = corpus.equation_articles[split.occurrences]
    assert np.all((split.positions >= place - 4) & (split.positions < place + 4))
    assert np.all(split.positions >= corpus.starts[article])
    assert np.all(split.positions < corpus.starts[article + 1])
    for type_ in set(split.types.tolist()):
        parts = split.parts[split.types == type_]
        assert sorted(parts) == [VALIDATION, VALIDATION, TEST, TEST]


@given(corpora)
def test_nothing_held_out_is_left_in_the_training_stream(corpus: Corpus) -> None:
    """The stream is the corpus without its held-out positions, and equations stay in place."""
    split = Split.make(corpus, SplitSettings(negatives=3))
    stream = training_stream(corpus, split)
    kept = np.setdiff1d(np.arange(len(corpus.tokens)), split.positions)
    np.testing.assert_array_equal(stream.tokens, corpus.tokens[kept])
    assert stream.starts[-1] == len(kept)
    for article in range(len(corpus.articles)):
        low, high = corpus.starts[article], corpus.starts[article + 1]
        inside = kept[(kept >= low) & (kept < high)]
        assert stream.starts[article + 1] - stream.starts[article] == len(inside)
    for old, new in zip(corpus.equation_positions, stream.equation_positions, strict=True):
        assert new == (kept < old).sum()


def test_a_long_stream_is_a_mapped_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same words and counts wherever slices meet, with little memory."""
    words = [name for times in range(1, 40) for name in NAMES[: 1 + times % 12]]
    corpus = corpus_of(words, around("x", 3), [*words, EquationToken("y"), *words])
    split = Split.make(corpus, SplitSettings(negatives=3, window=16))
    whole = training_stream(corpus, split)
    assert not mapped(whole.tokens)
    monkeypatch.setattr("eqemb.corpus.split._IN_MEMORY", 10)
    for size in (1, 2, 7, 64):
        monkeypatch.setattr("eqemb.corpus.split._TOKENS_AT_A_TIME", size)
        monkeypatch.setattr("eqemb.corpus.corpus._TOKENS_AT_A_TIME", size)
        stream = training_stream(corpus, split)
        assert mapped(stream.tokens)
        assert stream.tokens.dtype == whole.tokens.dtype
        for one, other in zip(whole, stream, strict=True):
            np.testing.assert_array_equal(one, other)
    assert stream.counts.sum() == len(stream.tokens)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_of_scratch_files_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It need not be the one that the library is on."""
    corpus = corpus_of(around("x", 3), around("y", 3))
    monkeypatch.setattr("eqemb.corpus.split._IN_MEMORY", 1)
    monkeypatch.setattr("tempfile.TemporaryFile", lambda: Path("/dev/full").open("wb", 0))  # noqa: SIM115
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(OSError, match="No space left") as failed:
        training_stream(corpus, Split.make(corpus, SplitSettings(negatives=3)))
    assert failed.value.filename == str(tmp_path)


def mapped(array: Ids) -> bool:
    """Whether an array is a part of a mapped file."""
    return isinstance(array.base, np.memmap)


@given(corpora, st.sampled_from([1, 3, 7]))
def test_contexts_are_the_nearest_words_left(corpus: Corpus, count: int) -> None:
    """A slow search over the article's remaining words finds the same contexts."""
    split = Split.make(corpus, SplitSettings(negatives=3))
    found = contexts(corpus, split, count)
    held = set(split.positions.tolist())
    for row, (position, occurrence) in enumerate(
        zip(split.positions.tolist(), split.occurrences.tolist(), strict=True)
    ):
        article = corpus.equation_articles[occurrence]
        left = [place for place in range(corpus.starts[article], corpus.starts[article + 1])
                if place not in held]  # fmt: skip
        middle = sum(place < position for place in left)
        equation = sum(place < corpus.equation_positions[occurrence] for place in left)

        def key(index: int, middle: int = middle, equation: int = equation) -> tuple[int, ...]:
            far = middle - index if index < middle else index - middle + 1
            off = equation - index if index < equation else index - equation + 1
            return far, off, index

        order = sorted(range(len(left)), key=key)[:count]
        expected = [int(corpus.tokens[left[index]]) for index in order]
        assert found[row].tolist() == expected + [-1] * (count - len(expected))


@given(corpora)
def test_negatives_are_never_the_word_itself(corpus: Corpus) -> None:
    """As many as asked for, all of them seen in the corpus."""
    split = Split.make(corpus, SplitSettings(negatives=5))
    if len(corpus.words) > 1:
        assert split.negatives.shape == (len(split.positions), 5)
        assert np.all(split.negatives != split.words[:, None])


def test_ties_go_to_the_word_nearer_the_equation() -> None:
    """[w1, w2, w3, e]: two neighbours, then the second neighbour towards the equation."""
    corpus = corpus_of([*NAMES[:6], EquationToken("e"), *NAMES[6:]])
    split = Split.make(corpus, SplitSettings(negatives=2))
    found = contexts(corpus, split, 3)
    stream = training_stream(corpus, split)
    for row in range(4):
        at = int((np.setdiff1d(np.arange(12), split.positions) < split.positions[row]).sum())
        third = at + 1 if at < stream.equation_positions[0] else at - 2
        assert found[row, 2] == stream.tokens[third]


def test_repeated_types_and_a_sample_of_singletons() -> None:
    """All types seen twice are evaluated, and as many singletons as asked for."""
    split = Split.make(corpus_of(*map(around, "abcdaa")), SplitSettings(singletons=2, negatives=2))
    types = set(split.types.tolist())
    assert 0 in types
    assert len(types) == 3


def test_types_without_four_free_words_are_counted() -> None:
    """Three words around an equation are too few."""
    split = Split.make(corpus_of([*NAMES[:3], EquationToken("a")], [*NAMES, EquationToken("b")]))
    assert split.skipped == 1
    assert set(split.types.tolist()) == {1}


def test_seeds_and_hashes(tmp_path: Path) -> None:
    """The same seed freezes the same split, another another; the disk keeps it."""
    corpus = corpus_of(*map(around, "abcd"))
    one, again, other = (Split.make(corpus, SplitSettings(seed)) for seed in (0, 0, 1))
    assert one.sha256 == again.sha256 != other.sha256
    one.save(tmp_path / "split")
    loaded = Split.load(tmp_path / "split")
    assert loaded.sha256 == one.sha256
    np.testing.assert_array_equal(loaded.negatives, one.negatives)


def test_a_changed_split_is_refused(tmp_path: Path) -> None:
    """Frozen means frozen."""
    corpus = corpus_of(*map(around, "abcd"))
    Split.make(corpus).save(tmp_path / "split")
    file = tmp_path / "split" / "split.json"
    file.write_text(file.read_text().replace('"seed": 0', '"seed": 5'))
    with pytest.raises(UsageError, match="was changed"):
        Split.load(tmp_path / "split")


def test_a_split_of_another_corpus_is_refused() -> None:
    """Positions mean nothing elsewhere."""
    one, other = (corpus_of(around(form)) for form in "ab")
    with pytest.raises(UsageError, match="belongs to corpus"):
        training_stream(other, Split.make(one))


@pytest.mark.parametrize("wrong", [{"window": 7}, {"negatives": 0}, {"singletons": -1}])
def test_wrong_settings_are_refused(wrong: dict[str, int]) -> None:
    """Settings are checked when they are given."""
    with pytest.raises(UsageError):
        SplitSettings(**wrong)


def test_without_a_split_the_stream_is_the_corpus() -> None:
    """Users who only train hold nothing out."""
    corpus = corpus_of([*NAMES, EquationToken("a")])
    np.testing.assert_array_equal(training_stream(corpus).tokens, corpus.tokens)
