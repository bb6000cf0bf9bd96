"""CBOW and PV-DM: what gensim is given to read, and how a word is scored with what it learns.

The contract that every model keeps (threads, kills, chance) is tested in `test_models.py`.
"""

import math
import os
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqemb.corpus.corpus import Corpus, EquationToken
from eqemb.corpus.split import TEST, VALIDATION, Split, SplitSettings, contexts, training_stream
from eqemb.errors import UsageError
from eqemb.evaluation import heldout
from eqemb.models import baselines, likelihood, registry
from eqemb.models.baselines import (
    LONGEST_TEXT,
    Cbow,
    Gensim,
    ParagraphVectors,
    Tags,
    Texts,
    paragraphs,
)
from eqemb.models.embeddings import Embeddings
from models.test_models import purity
from planted import ALL, form, planted

needs_gensim = pytest.mark.skipif(
    find_spec("gensim") is None, reason="gensim is not installed: pip install 'eqemb[baselines]'"
)
SMALL: dict[str, Any] = {"dim": 10, "iterations": 15, "rate": 0.1, "negatives": 5}
kinds = pytest.mark.parametrize("kind", [Cbow, ParagraphVectors], ids=["cbow", "pv-dm"])


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """A planted corpus, shared by all tests."""
    return planted()


@pytest.fixture(scope="module")
def split(corpus: Corpus) -> Split:
    """Its split."""
    return Split.make(corpus, SplitSettings(negatives=10))


def make_corpus(*articles: str) -> Corpus:
    """Articles as they are read: words in small letters, equations in capitals."""
    streams = [
        (
            f"a{index}",
            "",
            [EquationToken(item, []) if item.isupper() else item for item in text.split()],
        )
        for index, text in enumerate(articles)
    ]
    return Corpus.build(streams, ALL)


def read(corpus: Corpus, window: int) -> list[tuple[str, str]]:
    """Paragraphs in words, each with its equations or '-'."""
    stream = training_stream(corpus)
    texts = Texts(stream.tokens, *paragraphs(stream, len(corpus.forms), window))
    return [
        (
            " ".join(corpus.words[int(word)] for word in words),
            " ".join(corpus.forms[tag] if tag < len(corpus.forms) else "-" for tag in tags),
        )
        for words, tags in texts
    ]


# Texts


def test_long_texts_are_cut_where_gensim_would_stop() -> None:
    """At 10,000 words exactly; nothing is lost, and no text runs into the next."""
    tokens = np.arange(2 * LONGEST_TEXT + 8, dtype=np.int32)
    found = list(Texts(tokens, np.array([0, 3, 3, 2 * LONGEST_TEXT + 4, len(tokens)])))
    assert [len(text) for text in found] == [3, LONGEST_TEXT, LONGEST_TEXT, 1, 4]
    assert [int(word) for text in found for word in text] == tokens.tolist()
    exact = Texts(tokens[:LONGEST_TEXT], np.array([0, LONGEST_TEXT]))
    assert [len(text) for text in exact] == [LONGEST_TEXT]


def test_pieces_of_a_paragraph_share_its_tag() -> None:
    """A cut makes no new paragraph."""
    tokens = np.zeros(LONGEST_TEXT + 5, np.int32)
    tags = Tags(np.array([0, 2, 3]), np.array([7, 9, 1]))
    found = Texts(tokens, np.array([0, LONGEST_TEXT + 2, LONGEST_TEXT + 5]), tags)
    assert [paragraph.tags for paragraph in found] == [[7, 9], [7, 9], [1]]


@needs_gensim
@kinds
def test_gensim_reads_every_word(kind: type[Gensim], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of articles whose lengths fit no batch, and of one that is too long for it."""
    text = " ".join(["one two three A four"] * 3000)
    corpus = make_corpus(text, text[: len(text) // 3], "five six seven A")
    model = kind(dim=4, iterations=2)
    texts = model._texts(corpus, training_stream(corpus))
    made = model._made(0)
    made.build_vocab(texts)
    batches, do = [], made._do_train_job

    def counted(*job: Any) -> Any:
        batches.append(do(*job))
        return batches[-1]

    monkeypatch.setattr(made, "_do_train_job", counted)
    made.train(texts, total_examples=len(texts), epochs=2)
    trained, given = np.sum(batches, axis=0)
    assert given == 2 * len(texts.tokens)
    assert trained == given + (2 * len(texts) if kind is ParagraphVectors else 0), "tags count"


@needs_gensim
def test_equations_are_words_of_the_stream() -> None:
    """Or are left out."""
    corpus = make_corpus("one two A three", "B four")
    words = [*corpus.words, *corpus.forms]
    for equations, expected in (
        ("tokens", ["one two A three", "B four"]),
        ("ignored", ["one two three", "four"]),
    ):
        texts = Cbow(equations=equations)._texts(corpus, training_stream(corpus))
        assert [" ".join(words[int(token)] for token in text) for text in texts] == expected


def test_paragraphs_are_equations_with_their_words() -> None:
    """Within half the window on each side; the text between is paragraphs of its own."""
    corpus = make_corpus("one two three four A five six seven eight nine B ten", "one B two")
    assert read(corpus, 4) == [
        ("one two", "-"), ("three four five six", "A"), ("seven", "-"), ("eight nine ten", "B"),
        ("one two", "B"),
    ]  # fmt: skip


def test_a_word_belongs_to_its_nearest_equation() -> None:
    """To the earlier of two that are equally near."""
    corpus = make_corpus("one A two three four B five C six seven")
    assert read(corpus, 8) == [
        ("one two three", "A"), ("four five", "B"), ("six seven", "C"),
    ]  # fmt: skip


def test_equations_in_one_place_share_a_paragraph() -> None:
    """A type that stands there twice counts once; the next article begins another place."""
    corpus = make_corpus("one B A B two three C", "A four")
    assert read(corpus, 4) == [("one two", "B A"), ("three", "C"), ("four", "A")]
    assert read(make_corpus("A B", "A one"), 4) == [("one", "A")]


def test_paragraphs_by_their_definition(corpus: Corpus, split: Split) -> None:
    """Word by word on a corpus whose windows overlap."""
    stream, half = training_stream(corpus, split), 6
    edges, (starts, tags) = paragraphs(stream, len(corpus.forms), 2 * half)
    owners = []
    for article in range(len(corpus.articles)):
        first, last = stream.equation_starts[article : article + 2]
        for position in range(*stream.starts[article : article + 2]):
            near = [(half + 1, -1)]
            for occurrence in range(first, last):
                place = int(stream.equation_positions[occurrence])
                distance = place - position if position < place else position - place + 1
                near.append((distance, occurrence))
            owners.append(min(near)[1])
    assert (np.diff(starts) == 1).all(), "no two equations stand in one place"
    types = np.array([stream.equation_types[o] if o >= 0 else -1 for o in owners])
    mine = np.repeat(np.where(tags < len(corpus.forms), tags, -1), np.diff(edges))
    np.testing.assert_array_equal(mine, types)
    inside = np.setdiff1d(edges, stream.starts)
    assert all(owners[edge] != owners[edge - 1] for edge in inside)
    others = tags[tags >= len(corpus.forms)]
    assert others.tolist() == list(range(len(corpus.forms), len(corpus.forms) + len(others)))


# What is learned


@needs_gensim
def test_vectors_are_those_of_gensim(corpus: Corpus) -> None:
    """To the byte, word by word, as if it had been called by hand."""
    from gensim.models import Word2Vec

    model = Cbow(**SMALL, window=8).fit(corpus, seed=3)
    texts = []
    for article, start in enumerate(corpus.starts[:-1]):
        text = [corpus.words[token] for token in corpus.tokens[start : corpus.starts[article + 1]]]
        places = slice(*corpus.equation_starts[article : article + 2])
        pairs = zip(corpus.equation_positions[places], corpus.equation_types[places], strict=True)
        for before, (place, type_) in enumerate(pairs):
            text.insert(int(place - start) + before, corpus.forms[type_])
        texts.append(text)
    plain = Word2Vec(
        texts, vector_size=10, window=4, epochs=15, alpha=0.1, negative=5, min_count=1, sample=0,
        shrink_windows=False, seed=3, workers=1,
    )  # fmt: skip
    for kind in ("words", "equations"):
        for side, array in (("alpha", plain.wv.vectors), ("rho", plain.syn1neg)):
            ours = model.embeddings_.view(kind, side)
            for key in ours.index_to_key:
                assert ours[key].tobytes() == array[plain.wv.key_to_index[key]].tobytes()


@needs_gensim
@kinds
def test_topics_are_recovered(kind: type[Gensim], corpus: Corpus, split: Split) -> None:
    """Equations of a topic are neighbours; so are words, where no paragraph explains them away."""
    found = kind(**SMALL).fit(corpus, split).embeddings_
    assert purity(found.equations) > 0.9
    if kind is Cbow:
        assert purity(found.words) > 0.9


@needs_gensim
@kinds
def test_words_that_are_held_out_wherever_they_stand(
    kind: type[Gensim], corpus: Corpus, split: Split
) -> None:
    """They are in no text and have zeros for vectors; the others have none."""
    held = np.flatnonzero(corpus.tokens == 3)
    rows = np.zeros(len(held), np.int64)
    cut = replace(
        split, positions=held, occurrences=rows, parts=np.full(len(held), TEST, np.uint8),
        words=corpus.tokens[held], types=corpus.equation_types[rows],
        negatives=corpus.tokens[rows][:, None],
    )  # fmt: skip
    model = kind(**SMALL | {"iterations": 2}).fit(corpus, cut)
    assert 3 not in model._texts(corpus, training_stream(corpus, cut)).tokens
    for side in ("rho", "alpha"):
        zeros = (model.embeddings_.arrays[f"{side}_words"] == 0).all(axis=1)
        assert np.flatnonzero(zeros).tolist() == [3]
    assert np.isfinite(likelihood.means(model.score(corpus, cut, TEST))).all()


@needs_gensim
def test_only_paragraphs_of_equations_are_kept() -> None:
    """One for each type, in our order; zeros where there is no word."""
    corpus = make_corpus("one two three A four five six", "seven eight A nine", "B")
    model = ParagraphVectors(dim=4, iterations=2, equation_window=2).fit(corpus)
    found = model.embeddings_
    assert found.keys["equations"] == ["A", "B"]
    assert set(found.arrays) == {"rho_words", "alpha_words", "alpha_equations"}
    assert found.arrays["alpha_equations"].any(axis=1).tolist() == [True, False]


@needs_gensim
def test_equations_can_be_left_out(corpus: Corpus, split: Split) -> None:
    """CBOW of the words alone has no vectors of equations, and scores without them."""
    model = Cbow(**SMALL, equations="ignored").fit(corpus, split)
    assert set(model.embeddings_.arrays) == {"rho_words", "alpha_words"}
    plain = model.score(corpus, split, TEST)
    np.testing.assert_array_equal(plain.word, model.score(corpus, split, TEST, words=3).word)


# Scores


@needs_gensim
@kinds
@pytest.mark.parametrize("mean", [True, False])
@pytest.mark.parametrize("words", [None, 4])
def test_a_score_by_hand(
    kind: type[Gensim], mean: Any, words: int | None, corpus: Corpus, split: Split
) -> None:
    """The rho of the word . the mean or sum of its words' and its equation's alpha."""
    model = kind(**SMALL | {"iterations": 3}, mean=mean).fit(corpus, split)
    arrays, test = model.embeddings_.arrays, np.flatnonzero(split.of(TEST))
    found = model.score(corpus, split, TEST, words=words)
    around = contexts(corpus, split, 3 if words is None else words)
    for row, held in enumerate(test[:20]):
        context = [arrays["alpha_words"][word] for word in around[held] if word >= 0]
        if words is None:
            context.append(arrays["alpha_equations"][split.types[held]])
        vector = np.sum(context, axis=0) / (len(context) if mean else 1)
        own = arrays["rho_words"][split.words[held]] @ vector
        others = arrays["rho_words"][split.negatives[held]] @ vector
        assert found.word[row] == pytest.approx(own, abs=1e-5)
        np.testing.assert_allclose(found.negatives[row], others, atol=1e-5)


@needs_gensim
@kinds
def test_the_equation_helps(kind: type[Gensim], corpus: Corpus, split: Split) -> None:
    """Held-out words score better with it than with as many words more."""
    model = kind(**SMALL).fit(corpus, split)
    with_equation = likelihood.means(model.score(corpus, split, TEST)).accuracy
    assert with_equation > likelihood.means(model.score(corpus, split, TEST, words=4)).accuracy


@needs_gensim
@kinds
def test_every_iteration_is_made(kind: type[Gensim], corpus: Corpus, split: Split) -> None:
    """The rate falls over all of them: the last is kept, however it scores, and judged."""
    seen: list[Any] = []
    model = kind(**SMALL | {"rate": 0.5}, reading="logistic")
    model.fit(corpus, split, callback=lambda *row: seen.append(row))
    values = [row["validation"]["words"] for row in model.history_]
    assert [row[0] for row in seen] == list(range(1, 16))
    assert [row["iteration"] for row in model.history_] == list(range(1, 16))
    assert [row[3] for row in seen] == values
    assert all(math.isnan(row[2]) for row in seen), "gensim keeps no loss"
    assert max(values) > values[-1] == model.embeddings_.config["validation"]
    assert model.embeddings_.config["best"] == {"words": 15}
    found = float(likelihood.logistic(model.score(corpus, split, VALIDATION)).mean())
    assert found == pytest.approx(values[-1])


@needs_gensim
@kinds
def test_training_without_a_split(kind: type[Gensim], corpus: Corpus) -> None:
    """Nothing is judged."""
    model = kind(**SMALL | {"iterations": 2}).fit(corpus)
    assert [row["validation"]["words"] for row in model.history_] == [None, None]
    assert model.embeddings_.config["validation"] is None


@needs_gensim
def test_another_process_leaves_the_same_bytes() -> None:
    """The result does not depend on Python's hashes of strings."""
    code = (
        "from planted import planted; from eqemb.models.baselines import Cbow, ParagraphVectors\n"
        "for kind in (Cbow, ParagraphVectors):\n"
        "    print(kind(dim=5, iterations=2).fit(planted()).embeddings_.sha256)"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": _path()},
        )
        for seed in ("1", "2")
    ]  # fmt: skip
    assert found[0].stdout == found[1].stdout
    assert not found[0].stderr, "gensim's warnings are no one's business"


def _path() -> str:
    return os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])


@needs_gensim
@kinds
def test_a_model_is_saved(kind: type[Gensim], corpus: Corpus, tmp_path: Path) -> None:
    """And opens with the same hash, without gensim."""
    made = kind(**SMALL | {"iterations": 2}).fit(corpus).embeddings_
    made.save(tmp_path / "model")
    loaded = Embeddings.load(tmp_path / "model")
    assert loaded.sha256 == made.sha256
    assert form(0, 0) in loaded.equations


# Settings


@needs_gensim
@kinds
def test_what_training_will_need(kind: type[Gensim], corpus: Corpus) -> None:
    """Vectors are counted, and an iteration is timed where it may take time."""
    model = kind(**SMALL)
    guessed, probed = (model.estimate(corpus, probe=probe) for probe in (False, True))
    assert guessed[:3] == probed[:3]
    words, types = len(corpus.words), len(corpus.forms)
    texts = model._texts(corpus, training_stream(corpus))
    between = int((texts.tags.ids >= types).sum())
    rows = 2 * (words + types) if kind is Cbow else 2 * words + types + between
    assert guessed.parameters == 10 * rows
    assert guessed.words == len(texts.tokens)
    assert guessed.seconds is None
    assert probed.seconds is not None
    assert 0 < probed.seconds < 60


def test_a_little_of_a_long_text_is_timed() -> None:
    """Whole texts, a little more than is asked for."""
    texts = Texts(np.arange(20, dtype=np.int32), np.array([0, 4, 8, 20]))
    assert [len(text) for text in texts.first(5)] == [4, 4]
    assert [len(text) for text in texts.first(8)] == [4, 4]
    assert [len(text) for text in texts.first(100)] == [4, 4, 12]


@needs_gensim
@kinds
@pytest.mark.parametrize(
    "wrong", [{"dim": 0}, {"window": 3}, {"rate": 0}, {"negatives": 0}, {"reading": "both"}]
)
def test_wrong_settings_are_refused(kind: type[Gensim], wrong: dict[str, Any]) -> None:
    """When they are given, and when they are changed."""
    with pytest.raises(UsageError):
        kind(**wrong)
    with pytest.raises(UsageError):
        kind().set_params(**wrong)


@needs_gensim
def test_parameters_as_in_scikit_learn() -> None:
    """What get_params gives, the constructor takes; what has no effect is no setting."""
    for model in (Cbow(dim=7), ParagraphVectors(dim=7)):
        changed = model.set_params(mean=False)
        assert type(model)(**changed.get_params()) == model
        assert "patience" not in changed.get_params()
    assert "equations" not in ParagraphVectors().get_params()
    with pytest.raises(TypeError):
        Cbow(patience=3)


@needs_gensim
def test_baselines_by_their_names_on_the_command_line() -> None:
    """What they do not have is refused."""
    assert registry.create("cbow", {"dim": 7}) == Cbow(dim=7, equations="tokens")
    made = registry.create("pv-dm", {"equation_window": 8, "negatives": 5})
    assert made == ParagraphVectors(equation_window=8, negatives=5)
    with pytest.raises(UsageError, match="no --equation-window"):
        registry.create("cbow", {"equation_window": 8})


@needs_gensim
def test_baselines_in_the_contest() -> None:
    """Each with what validation chose for the reading."""
    cell = heldout.Cell(10, 8, 6)
    made = heldout.SYSTEMS["cbow"].make(cell, "softmax")
    assert made == Cbow(dim=10, window=8, mean=False)
    assert heldout.SYSTEMS["cbow"].make(cell, "logistic").negatives == 1
    made = heldout.SYSTEMS["pv-dm"].make(cell, "logistic")
    assert made == ParagraphVectors(
        dim=10,
        window=8,
        equation_window=6,
        rate=0.025,
        iterations=40,
        negatives=1,
        reading="logistic",
    )
    assert heldout.installed_rows() == heldout.ROWS


def test_a_contest_without_gensim(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rows are left out, GloVe, which is ours, stays."""
    monkeypatch.setattr(registry, "find_spec", lambda _: None)
    left = {row.name for row in heldout.installed_rows()}
    assert {row.name for row in heldout.ROWS} - left == {"CBOW", "PV-DM"}
    assert "GloVe" in left


@needs_gensim
def test_paragraphs_need_equations() -> None:
    """And CBOW does without."""
    corpus = make_corpus("one two three", "two three four")
    with pytest.raises(UsageError, match="no equations"):
        ParagraphVectors().fit(corpus)
    assert Cbow(dim=3, iterations=1).fit(corpus).embeddings_.arrays["alpha_equations"].size == 0


def test_without_gensim_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is read or trained."""
    monkeypatch.setattr(baselines, "find_spec", lambda _: None)
    for kind in (Cbow, ParagraphVectors):
        with pytest.raises(UsageError, match=r"needs gensim: pip install 'eqemb\[baselines\]'"):
            kind()
