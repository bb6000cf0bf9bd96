"""The models on a planted corpus: what they recover, the same bytes, stopping and resuming."""

import copy
import inspect
import subprocess
import sys
from dataclasses import fields, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from campaigns import FULL
from eqemb.corpus.corpus import Corpus
from eqemb.corpus.split import TEST, Split, SplitSettings
from eqemb.errors import EqembError, UsageError
from eqemb.models import BernoulliEmbeddings, EqEmb, EqEmbH, EqEmbU, likelihood, vector_io
from eqemb.models.base import Model
from eqemb.models.baselines import Cbow, Gensim, ParagraphVectors
from eqemb.models.bernoulli import PAPER
from eqemb.models.embeddings import Embeddings, KeyedVectors
from eqemb.models.glove import GloVe
from planted import TOPICS, planted, topic_of, word

SMALL: dict[str, Any] = {"dim": 10, "batch": 1024, "iterations": 8, "negatives": 5}
NEAR: dict[str, Any] = {"equation_window": 8, "equation_rate": 0.03}
MODELS: list[Model] = [
    BernoulliEmbeddings(**SMALL),
    BernoulliEmbeddings(**SMALL, equations="tokens"),
    EqEmb(**SMALL, **NEAR),
    EqEmbU(**SMALL, **NEAR),
    EqEmbH(**SMALL, **NEAR),
    EqEmb(**SMALL, **NEAR, passes="joint"),
    GloVe(dim=10, iterations=15, equations="tokens"),
]
IDS = ["b-emb", "tokens", "eqemb", "eqemb-u", "eqemb-h", "joint", "glove"]
OURS = [pytest.param(model, id=name) for model, name in zip(MODELS, IDS, strict=True)]


def baseline(kind: type[Gensim], **settings: Any) -> Any:
    """A gensim model, skipped if gensim is not installed."""
    if find_spec("gensim") is None:
        why = "gensim is not installed: pip install 'eqemb[baselines]'"
        return pytest.param(None, id=kind.name, marks=pytest.mark.skip(reason=why))
    return pytest.param(kind(dim=10, iterations=15, rate=0.1, **settings), id=kind.name)


BASELINES = [baseline(Cbow), baseline(ParagraphVectors, equation_window=8)]
each = pytest.mark.parametrize("model", [*OURS, *BASELINES])
each_of_ours = pytest.mark.parametrize("model", OURS)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """A planted corpus, shared by all tests."""
    return planted()


@pytest.fixture(scope="module")
def split(corpus: Corpus) -> Split:
    """Its split."""
    return Split.make(corpus, SplitSettings(negatives=10))


def purity(vectors: KeyedVectors) -> float:
    """The share of five nearest neighbours that are of the same topic, directions centred."""
    rows = vectors.vectors - vectors.vectors.mean(axis=0)
    centred = KeyedVectors(vectors.index_to_key, rows, vectors.kind)
    same = [
        topic_of(other) == topic_of(key)
        for key in vectors.index_to_key
        for other, _ in centred.most_similar(key, topn=5)
    ]
    return float(np.mean(same))


@each
def test_held_out_words_leave_no_trace(model: Any, corpus: Corpus, split: Split) -> None:
    """Changing the held-out words does not change a byte of the model."""
    tokens = corpus.tokens.copy()
    tokens[split.positions] = (tokens[split.positions] + 7) % len(corpus.words)
    other = replace(corpus, tokens=tokens)
    moved = replace(split, corpus=other.sha256)
    one, two = (
        shortened(model, 3).fit(*given, seed=1).embeddings_.arrays
        for given in ((corpus, split), (other, moved))
    )
    assert set(one) == set(two)
    assert all(np.array_equal(one[name], two[name]) for name in one)


def shortened(model: Any, iterations: int) -> Any:
    """The same model, untrained; with fewer iterations in everyday tests."""
    fewer = {} if FULL else {"iterations": iterations}
    return type(model)(**model.get_params() | fewer)


def test_words_of_a_topic_are_neighbours(corpus: Corpus, split: Split) -> None:
    """b-emb recovers the planted topics of words."""
    model = BernoulliEmbeddings(**SMALL).fit(corpus, split)
    assert purity(model.embeddings_.words) > 0.9
    assert purity(model.embeddings_.view("words", "rho")) > 0.9


def test_equations_as_tokens_are_neighbours(corpus: Corpus, split: Split) -> None:
    """The paper's baseline recovers topics of equations that repeat."""
    model = BernoulliEmbeddings(**SMALL, equations="tokens").fit(corpus, split)
    assert purity(model.embeddings_.equations) > 0.8


def test_equations_of_a_topic_are_neighbours(corpus: Corpus, split: Split) -> None:
    """EqEmb recovers topics by both of its vectors."""
    model = EqEmb(**SMALL, **NEAR).fit(corpus, split)
    assert purity(model.embeddings_.equations) > 0.8
    assert purity(model.embeddings_.view("equations", "rho")) > 0.9


def test_units_and_their_equations_are_neighbours(corpus: Corpus, split: Split) -> None:
    """EqEmb-U recovers topics of units, and of equations as their means."""
    model = EqEmbU(**SMALL, **NEAR).fit(corpus, split)
    assert purity(model.embeddings_.units) > 0.8
    assert purity(model.embeddings_.equations) > 0.9


def test_an_equation_points_to_its_words(corpus: Corpus, split: Split) -> None:
    """The paper's pairing: cosine of rho_e and alpha_w ranks the topic's own words first."""
    found = EqEmb(**SMALL, **NEAR).fit(corpus, split).embeddings_
    rho, alpha = found.arrays["rho_equations"], found.arrays["alpha_words"]
    score = rho @ (alpha - alpha.mean(axis=0)).T
    best = [topic_of(found.keys["words"][row]) for row in score.argmax(axis=1)]
    assert np.mean([topic == topic_of(form) for topic, form in
                    zip(best, found.keys["equations"], strict=True)]) > 0.9  # fmt: skip


@each
def test_every_model_beats_chance(model: Model, corpus: Corpus, split: Split) -> None:
    """Held-out words are predicted better than by zeros."""
    line = likelihood.means(model.fit(corpus, split).score(corpus, split, TEST))
    assert line.predictive > likelihood.means(likelihood.zero(1, 10)).predictive + 0.1
    assert line.accuracy > 0.6


def test_equations_help_where_they_say_more_than_words(corpus: Corpus, split: Split) -> None:
    """With the equation in the context, held-out words score better than without."""
    model = EqEmb(**SMALL, **NEAR).fit(corpus, split)
    with_equation = likelihood.means(model.score(corpus, split, TEST)).predictive
    assert with_equation > likelihood.means(model.score(corpus, split, TEST, words=3)).predictive


@each
def test_threads_and_reruns_leave_the_same_bytes(
    model: Model, corpus: Corpus, split: Split
) -> None:
    """The hash of the model for 1, 2 and 4 threads, and for another seed."""
    model = shortened(model, 3)
    hashes = [model.fit(corpus, split, threads=n).embeddings_.sha256 for n in (1, 2, 4)]
    assert len(set(hashes)) == 1
    assert model.fit(corpus, split, seed=1).embeddings_.sha256 != hashes[0]


@each_of_ours
def test_the_reference_trains_the_same_model(model: Model, corpus: Corpus, split: Split) -> None:
    """The NumPy definition, over whole passes, ends nearly where numba does."""
    model = type(model)(**model.get_params() | {"iterations": 2})
    fast = model.fit(corpus, split).embeddings_.arrays
    slow = model.fit(corpus, split, device="reference").embeddings_.arrays
    for name, array in fast.items():
        np.testing.assert_allclose(array, slow[name], atol=2e-4)


class Killed(Exception):  # noqa: N818
    """Simulates a kill."""


@each
def test_a_killed_run_goes_on_to_the_same_bytes(
    model: Model, corpus: Corpus, split: Split, tmp_path: Path
) -> None:
    """Killed after a third and after two thirds of the iterations, resumed twice."""
    model = shortened(model, 6)
    whole = model.fit(corpus, split)
    expected, rows = whole.embeddings_.sha256, len(whole.history_)
    file = tmp_path / "checkpoint"
    for after in (rows // 3, rows // 3):
        calls = iter(range(1, 100))

        def callback(*_: object, calls: Any = calls, after: int = after) -> None:
            if next(calls) == after:
                raise Killed

        with pytest.raises(Killed):
            model.fit(corpus, split, checkpoint=file, resume=True, callback=callback)
    done = model.fit(corpus, split, checkpoint=file, resume=True, threads=2)
    assert done.embeddings_.sha256 == expected
    assert len(done.history_) == rows
    again = model.fit(corpus, split, checkpoint=file, resume=True)
    assert again.embeddings_.sha256 == expected, "a finished run is not trained again"


def test_a_checkpoint_of_other_settings_is_refused(
    corpus: Corpus, split: Split, tmp_path: Path
) -> None:
    """Another rate is another run."""
    file = tmp_path / "checkpoint"
    BernoulliEmbeddings(**SMALL).fit(corpus, split, checkpoint=file)
    with pytest.raises(UsageError, match="other settings"):
        BernoulliEmbeddings(**SMALL, rate=0.2).fit(corpus, split, checkpoint=file, resume=True)


def test_training_stops_when_validation_does(corpus: Corpus, split: Split) -> None:
    """The best iteration is kept, not the last."""
    changed = SMALL | {"dim": 30, "rate": 1.0, "patience": 1}
    model = BernoulliEmbeddings(**changed | {"iterations": 30}).fit(corpus, split)
    values = [row["validation"]["words"] for row in model.history_]
    assert len(values) < 30
    best = int(np.argmax(values)) + 1
    assert model.embeddings_.config["best"]["words"] == best == len(values) - 1
    capped = BernoulliEmbeddings(**changed | {"iterations": best})
    kept = capped.fit(corpus, split).embeddings_.arrays["rho_words"]
    assert kept.tobytes() == model.embeddings_.arrays["rho_words"].tobytes()


@pytest.mark.parametrize("kind", [EqEmb, EqEmbU, EqEmbH])
def test_the_history_knows_what_is_kept(kind: type[EqEmb], corpus: Corpus, split: Split) -> None:
    """Of every watch the best iteration so far; in the end the one whose score is the model's."""
    model = kind(**SMALL | {"iterations": 8}).fit(corpus, split)
    config, rows = model.embeddings_.config, {row["stage"]: row for row in model.history_}
    assert {name: at for row in rows.values() for name, at in row["best"].items()} == config["best"]
    own = [row for row in model.history_ if model.monitored in row["validation"]]
    assert (
        own[config["best"][model.monitored] - 1]["validation"][model.monitored]
        == config["validation"]
    )


def test_without_a_split_all_iterations_are_made(corpus: Corpus) -> None:
    """And the last is kept."""
    seen: list[tuple[Any, ...]] = []
    EqEmbU(**SMALL | {"iterations": 3}).fit(corpus, callback=lambda *row: seen.append(row))
    assert [row[0] for row in seen] == [1, 2, 3, 1, 2, 3]
    assert all(row[3] is None for row in seen)


def test_words_are_fixed_in_the_second_pass(corpus: Corpus, split: Split) -> None:
    """EqEmb's words are b-emb's, to the byte."""
    words = BernoulliEmbeddings(**SMALL).fit(corpus, split).embeddings_.arrays
    for model in (EqEmb(**SMALL), EqEmbU(**SMALL)):
        arrays = model.fit(corpus, split).embeddings_.arrays
        assert arrays["alpha_words"].tobytes() == words["alpha_words"].tobytes()


def test_given_words_stand_in_for_the_first_pass(corpus: Corpus, split: Split) -> None:
    """Words of another model are taken by name."""
    words = BernoulliEmbeddings(**SMALL).fit(corpus, split).embeddings_
    model = EqEmb(**SMALL, words=words).fit(corpus, split)
    assert {row["stage"] for row in model.history_} == {"equations"}
    plain = EqEmb(**SMALL).fit(corpus, split).embeddings_
    assert model.embeddings_.arrays["alpha_equations"].tobytes() == (
        plain.arrays["alpha_equations"].tobytes()
    )
    with pytest.raises(UsageError, match="dimensions"):
        EqEmb(**SMALL | {"dim": 5}, words=words).fit(corpus, split)


def test_the_words_of_a_saved_model_are_taken_by_its_path(
    corpus: Corpus, split: Split, tmp_path: Path
) -> None:
    """A folder gives what its embeddings give."""
    words = BernoulliEmbeddings(**SMALL).fit(corpus, split).embeddings_
    words.save(tmp_path / "words")
    by_path = EqEmbU(**SMALL, words=tmp_path / "words")
    assert by_path.fit(corpus, split).embeddings_.sha256 == (
        EqEmbU(**SMALL, words=words).fit(corpus, split).embeddings_.sha256
    )
    assert by_path.embeddings_.run["words_missing"] == {"words": 0, "occurrences": 0}


@pytest.fixture(scope="module")
def vectors_of_others(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text file that knows the topic of every word but one, and a word of its own."""
    random = np.random.default_rng(7)
    centres = random.standard_normal((TOPICS, 10))
    words = [w for w in corpus.words if w != word(0, 0)] + ["elsewhere"]
    rows = np.array([
        centres[topic_of(w) if w != "elsewhere" else 0] + 0.1 * random.standard_normal(10)
        for w in words
    ])  # fmt: skip
    path = tmp_path_factory.mktemp("others") / "vectors.txt.gz"
    vector_io.export(path, words, 0.3 * rows.astype(np.float32))
    return path


@pytest.mark.parametrize("kind", [EqEmb, EqEmbU])
def test_vectors_of_others_are_alpha_and_rho_is_learned(
    kind: type[EqEmb], corpus: Corpus, split: Split, vectors_of_others: Path
) -> None:
    """Every given vector is kept to the byte, a missing one is zero, and rho finds the topics."""
    model = kind(**SMALL, **NEAR, words=str(vectors_of_others)).fit(corpus, split)
    made = model.embeddings_
    words, rows = vector_io.read_word2vec(vectors_of_others)
    for name in corpus.words[:20]:
        expected = rows[words.index(name)] if name in words else np.zeros(10, np.float32)
        assert made.words[name].tobytes() == expected.tobytes()
    assert purity(made.view("words", "rho")) > 0.9
    assert purity(made.equations) > 0.8
    assert model.history_[0]["stage"] == "words"
    line = likelihood.means(model.score(corpus, split, TEST))
    assert line.predictive > likelihood.means(likelihood.zero(1, 10)).predictive + 0.1
    lost = int(corpus.counts[corpus.words.index(word(0, 0))])
    assert made.run["words_missing"] == {"words": 1, "occurrences": lost}
    assert not made.words[word(0, 0)].any()
    assert made.view("words", "rho")[word(0, 0)].any()


def test_training_on_given_vectors_is_the_same_everywhere(
    corpus: Corpus, split: Split, vectors_of_others: Path, tmp_path: Path
) -> None:
    """For any threads, by the reference, and after a kill in the pass that learns rho."""
    model = EqEmb(**SMALL, words=vectors_of_others)
    expected = model.fit(corpus, split).embeddings_
    assert model.fit(corpus, split, threads=2).embeddings_.sha256 == expected.sha256
    slow = EqEmb(**SMALL | {"iterations": 2}, words=vectors_of_others)
    fast = slow.fit(corpus, split).embeddings_.arrays
    for name, array in slow.fit(corpus, split, device="reference").embeddings_.arrays.items():
        np.testing.assert_allclose(fast[name], array, atol=2e-4)
    calls = iter(range(1, 100))

    def callback(*_: object) -> None:
        if next(calls) == 2:
            raise Killed

    file = tmp_path / "checkpoint"
    with pytest.raises(Killed):
        model.fit(corpus, split, checkpoint=file, callback=callback)
    model.fit(corpus, split, checkpoint=file, resume=True)
    assert model.embeddings_.sha256 == expected.sha256


def test_other_given_vectors_are_another_run(
    corpus: Corpus, split: Split, vectors_of_others: Path, tmp_path: Path
) -> None:
    """A checkpoint does not go on with vectors that have changed; their path does not matter."""
    file, changed, moved = (tmp_path / name for name in ("checkpoint", "changed", "moved.gz"))
    words, rows = vector_io.read_word2vec(vectors_of_others)
    vector_io.export(changed, words, rows + np.float32(1e-3))
    moved.write_bytes(vectors_of_others.read_bytes())
    EqEmb(**SMALL, words=vectors_of_others).fit(corpus, split, checkpoint=file)
    EqEmb(**SMALL, words=moved).fit(corpus, split, checkpoint=file, resume=True)
    with pytest.raises(UsageError, match="other settings"):
        EqEmb(**SMALL, words=changed).fit(corpus, split, checkpoint=file, resume=True)


def test_words_that_are_not_there_are_refused_at_once(
    vectors_of_others: Path, tmp_path: Path
) -> None:
    """A path to nothing, and vectors of another size, before any training."""
    with pytest.raises(UsageError, match="no words at"):
        EqEmb(words=tmp_path / "nowhere")
    with pytest.raises(UsageError, match="pass dim=10"):
        EqEmbU(dim=100, words=vectors_of_others)


@pytest.mark.parametrize(("control", "rows"), [("one", 1), ("article", 120)])
def test_controls_of_eqemb(control: str, rows: int, corpus: Corpus, split: Split) -> None:
    """One vector for all equations, or one for each article, by the same code."""
    model = EqEmb(**SMALL, control=control).fit(corpus, split)
    assert model.embeddings_.arrays[f"alpha_{control}"].shape == (rows, 10)
    assert np.isfinite(likelihood.means(model.score(corpus, split, TEST))).all()


def test_controls_of_eqemb_h(corpus: Corpus, split: Split) -> None:
    """They keep the article; one vector says nothing about topics, shuffled units less."""
    right, shuffled, one = (
        EqEmbH(**SMALL, **NEAR, control=control).fit(corpus, split)
        for control in ("", "shuffled", "one")
    )
    assert purity(shuffled.embeddings_.equations) < purity(right.embeddings_.equations)
    arrays = one.embeddings_.arrays
    assert arrays["alpha_one"].shape == (1, 10)
    assert "alpha_units" not in arrays
    assert len(arrays["alpha_articles"]) == len(corpus.articles)
    np.testing.assert_array_equal(
        arrays["alpha_equations"], np.repeat(arrays["alpha_one"], len(corpus.forms), axis=0)
    )
    for model in (shuffled, one):
        assert np.isfinite(likelihood.means(model.score(corpus, split, TEST))).all()
    alone = EqEmbH(**SMALL, **NEAR, control="one", article_weight=0.0).fit(corpus, split)
    assert "alpha_articles" not in alone.embeddings_.arrays


def test_eqemb_u_can_be_trained_jointly(corpus: Corpus, split: Split) -> None:
    """Then words are learned with units in their contexts."""
    apart, joint = (
        EqEmbU(**SMALL, **NEAR, passes=passes).fit(corpus, split).embeddings_
        for passes in ("two", "joint")
    )
    assert purity(joint.equations) > 0.9
    assert not np.array_equal(apart.arrays["alpha_words"], joint.arrays["alpha_words"])


@pytest.mark.parametrize("unit_alpha", ["words", "joint", "apart"])
def test_what_teaches_the_units(unit_alpha: str, corpus: Corpus, split: Split) -> None:
    """Words alone, words and units together, or apart: all recover the topics, differently."""
    model = EqEmbU(**SMALL, **NEAR, unit_alpha=unit_alpha).fit(corpus, split)
    assert purity(model.embeddings_.equations) > 0.9
    assert purity(model.embeddings_.view("units", "rho")) > 0.5


def test_shuffled_units_know_less(corpus: Corpus, split: Split) -> None:
    """Units permuted over equations lose the topic."""
    right, wrong = (
        EqEmbU(**SMALL, **NEAR, control=control).fit(corpus, split) for control in ("", "shuffled")
    )
    assert purity(wrong.embeddings_.equations) < purity(right.embeddings_.equations)


def test_equations_are_the_mean_of_their_units(corpus: Corpus, split: Split) -> None:
    """alpha_e and rho_e are means, whatever the pooling in training."""
    for pooling in ("sum", "root"):
        arrays = EqEmbU(**SMALL, unit_pooling=pooling).fit(corpus, split).embeddings_.arrays
        for side in ("alpha", "rho"):
            units = corpus.unit_ids[corpus.unit_starts[2] : corpus.unit_starts[3]]
            mean = arrays[f"{side}_units"][units].mean(axis=0)
            np.testing.assert_allclose(arrays[f"{side}_equations"][2], mean, rtol=1e-5, atol=1e-7)


def test_numbers_that_overflow_are_refused(corpus: Corpus) -> None:
    """A rate beyond reason ends with an error that names it."""
    with pytest.raises(EqembError, match="smaller rate"):
        BernoulliEmbeddings(**SMALL, rate=1e30).fit(corpus)


def test_the_paper_preset_sets_the_values_of_the_paper() -> None:
    """Blocks of one position, summed zeros and units."""
    model = EqEmbU(preset="paper", dim=50)
    assert (model.block, model.negative_weight, model.unit_pooling, model.dim) == (
        1,
        1.0,
        "sum",
        50,
    )
    assert {name: getattr(model, name) for name in PAPER} == PAPER
    assert BernoulliEmbeddings(preset="paper").negative_weight == 1.0


@pytest.mark.parametrize("kind", [BernoulliEmbeddings, EqEmb, EqEmbU, EqEmbH])
def test_the_signature_shows_the_settings(kind: type[Model]) -> None:
    """Editors and `help` list the settings of each class with their defaults."""
    shown = inspect.signature(kind).parameters
    assert set(shown) == {entry.name for entry in fields(kind)}
    assert (shown["dim"].default, shown["window"].default) == (100, kind().window)


def test_an_explicit_argument_wins_over_the_preset() -> None:
    """Even one that equals the default; copies and later changes keep it."""
    model = EqEmbU(preset="paper", unit_pooling="mean", negatives=3)
    assert (model.unit_pooling, model.negatives, model.batch) == ("mean", 3, 5000)
    assert EqEmbU(**model.get_params()) == model
    assert copy.deepcopy(model) == model
    changed = EqEmbU(unit_pooling="mean").set_params(preset="paper")
    assert (changed.unit_pooling, changed.batch) == ("mean", 5000)
    assert changed.set_params(dim=7).unit_pooling == "mean"


@pytest.mark.parametrize(
    "wrong",
    [
        {"dim": 0}, {"window": 3}, {"equation_window": 0}, {"unit_window": 5}, {"rate": 0.0},
        {"zero_weight": "some"}, {"unit_pooling": "max"}, {"unit_alpha": "all"}, {"control": "two"},
        {"preset": "mine"}, {"equations": "tokens"}, {"equation_rate": -1.0},
    ],
)  # fmt: skip
def test_wrong_settings_are_refused(wrong: dict[str, Any]) -> None:
    """Settings are checked on construction and in set_params."""
    with pytest.raises(UsageError):
        EqEmbU(**wrong)
    with pytest.raises(UsageError):
        EqEmbU().set_params(**wrong)


@pytest.mark.parametrize("model", [BernoulliEmbeddings, EqEmb, EqEmbU, EqEmbH, GloVe, Cbow])
@pytest.mark.parametrize("value", [float("nan"), 4.0, "16", None, True, np.float32(2)])
def test_integers_are_integers(model: type[Model], value: Any) -> None:
    """A float, a string or nothing is refused in one sentence, not by a bare TypeError."""
    for name in ("dim", "window", "iterations", "negatives", "equation_window", "unit_window"):
        if hasattr(model, name):
            with pytest.raises(UsageError, match=f"^{name} must be an integer"):
                model(**{name: value})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "0.1", None, True])
def test_numbers_are_finite_numbers(value: Any) -> None:
    """So are rates and weights."""
    wrong: list[tuple[type[Model], str]] = [
        (EqEmbH, "rate"), (EqEmbH, "equation_rate"), (EqEmbU, "rho_rate"), (EqEmbH, "init"),
        (EqEmbH, "unit_weight"), (GloVe, "x_max"), (GloVe, "power"), (GloVe, "rate"),
        (EqEmb, "zero_weight"),
    ]  # fmt: skip
    for model, name in wrong:
        with pytest.raises(UsageError, match=f"^{name} must be "):
            model(**{name: value})


def test_seed_and_threads_are_checked(corpus: Corpus) -> None:
    """Before training begins."""
    with pytest.raises(UsageError, match="seed must be an integer"):
        BernoulliEmbeddings().fit(corpus, seed=1.5)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="threads must be an integer"):
        BernoulliEmbeddings().fit(corpus, threads=0)


def test_parameters_as_in_scikit_learn() -> None:
    """The constructor accepts what get_params returns."""
    model = EqEmbU(dim=7).set_params(window=8)
    assert EqEmbU(**model.get_params()) == model
    assert model.get_params()["window"] == 8


def test_an_empty_corpus_is_refused() -> None:
    """The error says what to do."""
    with pytest.raises(UsageError, match="no words"):
        BernoulliEmbeddings().fit(Corpus.build([]))
    with pytest.raises(UsageError, match="not been trained"):
        BernoulliEmbeddings()._fitted()


def test_a_saved_model_opens_without_numba(corpus: Corpus, split: Split, tmp_path: Path) -> None:
    """The folder holds everything, and opens with NumPy alone."""
    made = EqEmbU(**SMALL).fit(corpus, split).embeddings_
    made.save(tmp_path / "model")
    loaded = Embeddings.load(tmp_path / "model")
    assert loaded.sha256 == made.sha256
    assert loaded.history == made.history
    assert "eqemb-u" in (tmp_path / "model" / "README.md").read_text()
    code = (
        "import sys; from pathlib import Path; from eqemb.models.embeddings import Embeddings\n"
        f"m = Embeddings.load(Path({str(tmp_path / 'model')!r}))\n"
        f"print(m.words.most_similar({word(0, 0)!r}, topn=1)[0][0])\n"
        "print(*{'numba', 'scipy', 'torch'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, heavy = done.stdout.split("\n")[:2]
    assert topic_of(first) in range(TOPICS)
    assert not heavy


# Devices


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("kind", [BernoulliEmbeddings, EqEmb, EqEmbU, EqEmbH])
def test_torch_trains_the_same_model(
    kind: type[Any], deterministic: bool, corpus: Corpus, split: Split  # noqa: FBT001
) -> None:  # fmt: skip
    """The GPU's back end, on torch's CPU device, ends nearly where numba does."""
    pytest.importorskip("torch")
    model = kind(**SMALL | {"iterations": 2, "deterministic": deterministic})
    fast = model.fit(corpus, split, device="cpu").embeddings_.arrays
    other = model.fit(corpus, split, device="torch").embeddings_.arrays
    for name, array in fast.items():
        np.testing.assert_allclose(array, other[name], atol=5e-4)


def test_a_device_shows_where_it_changes_the_result(corpus: Corpus, split: Split) -> None:
    """Settings of devices do not change the identity of a CPU's model; a GPU's differs."""
    plain = EqEmb(**SMALL, device="cpu")
    known = {plain.identity(corpus, split, 0)}
    known.add(EqEmb(**SMALL, device="cpu", deterministic=True).identity(corpus, split, 0))
    known.add(EqEmb(**SMALL, device="reference", memory=5).identity(corpus, split, 0))
    assert len(known) == 1
    assert not {"device", "deterministic", "memory"} & set(plain.saved_settings())
    known.add(EqEmb(**SMALL, device="cuda").identity(corpus, split, 0))
    known.add(EqEmb(**SMALL, device="cuda", deterministic=True).identity(corpus, split, 0))
    assert len(known) == 3


def test_batches_follow_the_text_and_the_device() -> None:
    """A GPU takes larger ones, where a text is large enough for many steps all the same."""
    sizes = [10_000, 1_000_000, 100_000_000]
    found = {
        device: [BernoulliEmbeddings(device=device).rule(0, 0.1, size).batch for size in sizes]
        for device in ("cpu", "cuda")
    }
    assert found["cpu"][:2] == found["cuda"][:2]
    assert (found["cpu"][2], found["cuda"][2]) == (16_384, 262_144)


@pytest.mark.parametrize(
    ("settings", "said"), [({"device": "gpu"}, "'cuda'"), ({"memory": 0}, "at least 1")]
)
def test_wrong_devices_are_refused(settings: dict[str, Any], said: str) -> None:
    """The error lists the values that are allowed."""
    with pytest.raises(UsageError, match=said):
        BernoulliEmbeddings(**settings)


def test_a_gpu_needs_torch(monkeypatch: pytest.MonkeyPatch, corpus: Corpus, split: Split) -> None:
    """Asked for one where torch is not installed."""
    monkeypatch.setattr("eqemb.models.devices.find_spec", lambda _: None)
    with pytest.raises(UsageError, match=r"eqemb\[gpu\]"):
        BernoulliEmbeddings(**SMALL, device="cuda").fit(corpus, split)


def test_a_gpu_needs_no_numba() -> None:
    """Models and the GPU's back end import without it."""
    code = (
        "import sys\nfor name in ('numba', 'llvmlite'): sys.modules[name] = None\n"
        "import eqemb.models, eqemb.evaluation\n"
        "try: import torch\nexcept ImportError: sys.exit()\n"
        "import eqemb.kernels.gpu"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_processors_without_numba_are_refused() -> None:
    """As on a GPU machine whose GPU does not work."""
    code = (
        "import sys; sys.modules['numba'] = None\n"
        "from eqemb.models import BernoulliEmbeddings\n"
        "BernoulliEmbeddings(device='cpu')._kernels()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.endswith("UsageError: training on a CPU needs numba: pip install numba\n")
