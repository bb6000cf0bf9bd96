"""GloVe: how pairs are counted, ordered and learned, and how a word is scored.

The contract that every model keeps (threads, kills, chance) is tested in `test_models.py`.
"""

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import glove as benchmark
import numpy as np
import pytest

from eqemb.corpus.corpus import Corpus
from eqemb.corpus.split import TEST, Split, SplitSettings, contexts, training_stream
from eqemb.errors import EqembError, UsageError
from eqemb.kernels import cpu, reference
from eqemb.kernels.arrays import GRID, Biased, Counts, PairRule, Pairs
from eqemb.models import features, likelihood, registry
from eqemb.models.embeddings import Embeddings
from eqemb.models.glove import GloVe, context_mean, initial
from models.test_models import purity
from planted import planted

each = pytest.mark.parametrize("back_end", [reference, cpu], ids=["reference", "cpu"])
RULE = PairRule(x_max=3.0, power=0.75, key=5)
V, K = 37, 7


def make_text(lengths: list[int], seed: int = 0) -> tuple[Any, Any]:
    """Random words, some far more frequent, in articles of the given lengths."""
    drawn = np.random.default_rng(seed).random(sum(lengths)) ** 3
    return (drawn * V).astype(np.int32), np.cumsum([0, *lengths])


def make_vectors(size: int = V, dim: int = K, dtype: Any = np.float32) -> Biased:
    """Random vectors and biases; squares that differ from 1."""
    random = np.random.default_rng(1)
    shapes = [(size, dim), (size, dim), (size,), (size,)]
    made = [random.normal(0, 0.5, shape).astype(dtype) for shape in shapes]
    return Biased(*made, *(random.uniform(1, 2, shape).astype(dtype) for shape in shapes))


@pytest.fixture
def pairs(monkeypatch: pytest.MonkeyPatch) -> Pairs:
    """Some hundred pairs in three chunks."""
    monkeypatch.setattr(reference, "PAIRS_PER_CHUNK", 200)
    counts = cpu.pairs_count(*make_text([150, 1, 120]), V, 8)
    assert len(counts.columns) > 500
    return cpu.pairs_order(counts, RULE)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """A planted corpus, shared by all tests."""
    return planted()


@pytest.fixture(scope="module")
def split(corpus: Corpus) -> Split:
    """Its split."""
    return Split.make(corpus, SplitSettings(negatives=10))


# Pairs are counted


def brute_force(tokens: Any, starts: Any, window: int) -> dict[tuple[int, int], float]:
    """Every two positions of an article, one by one."""
    found: dict[tuple[int, int], float] = defaultdict(float)
    for low, high in pairwise(starts):
        for here in range(low, high):
            for there in range(low, high):
                distance = abs(here - there)
                if 0 < distance <= window // 2:
                    found[int(tokens[here]), int(tokens[there])] += 1 / distance
    return found


def as_table(counts: Counts) -> dict[tuple[int, int], float]:
    """Pairs -> counts."""
    rows = np.repeat(np.arange(len(counts.starts) - 1), np.diff(counts.starts))
    keys = zip(rows.tolist(), counts.columns.tolist(), strict=True)
    return dict(zip(keys, counts.counts.tolist(), strict=True))


@each
@pytest.mark.parametrize("window", [2, 4, 10, 60, 100])
def test_pairs_are_those_of_a_brute_force_count(back_end: ModuleType, window: int) -> None:
    """Articles of every length, shorter than the window too."""
    text = make_text([1, 0, 2, 90, 3, 40, 0, 5])
    found = as_table(back_end.pairs_count(*text, V, window))
    expected = brute_force(*text, window)
    assert found.keys() == expected.keys()
    assert found == pytest.approx(expected, rel=1e-12)


@each
def test_windows_end_with_the_article(back_end: ModuleType) -> None:
    """Two words, two articles: no pair; in one article, a pair each way; beside itself, twice."""
    tokens = np.array([0, 1], np.int32)
    assert not len(back_end.pairs_count(tokens, np.array([0, 1, 2]), 2, 4).columns)
    assert as_table(back_end.pairs_count(tokens, np.array([0, 2]), 2, 4)) == {(0, 1): 1, (1, 0): 1}
    again = np.array([0, 1, 0], np.int32)
    found = as_table(back_end.pairs_count(again, np.array([0, 3]), 3, 4))
    assert found == {(0, 0): 1.0, (0, 1): 2.0, (1, 0): 2.0}
    assert (0, 0) not in as_table(back_end.pairs_count(again, np.array([0, 3]), 3, 2))


def test_counts_are_the_same_bytes_everywhere() -> None:
    """For any number of threads, and in the reference: sums of whole numbers know no order."""
    text = make_text([300, 7, 200])
    expected = reference.pairs_count(*text, V, 16)
    for threads in (1, 2, 4, 50):
        found = cpu.pairs_count(*text, V, 16, threads)
        for name in Counts._fields:
            assert getattr(found, name).tobytes() == getattr(expected, name).tobytes()


# Pairs are brought into order


def test_every_pair_is_learned_once(pairs: Pairs) -> None:
    """With its logarithm and its weight, which ends at 1."""
    counts = cpu.pairs_count(*make_text([150, 1, 120]), V, 8)
    x = as_table(counts)
    keys = list(zip(pairs.rows.tolist(), pairs.columns.tolist(), strict=True))
    assert len(keys) == len(x)
    assert set(keys) == x.keys()
    values = np.array([x[key] for key in keys])
    np.testing.assert_allclose(pairs.logs, np.log(values), rtol=1e-6)
    np.testing.assert_allclose(pairs.weights, np.minimum(1, values / 3) ** 0.75, rtol=1e-6)


def test_cells_side_by_side_share_no_row(pairs: Pairs) -> None:
    """What threads may learn at once touches no vector twice; cells hold about as many pairs."""
    cells = len(pairs.starts) - 1
    assert cells == 3 * GRID * GRID
    for base in range(0, cells, GRID):
        spans = [slice(pairs.starts[c], pairs.starts[c + 1]) for c in range(base, base + GRID)]
        for ids in (pairs.rows, pairs.columns):
            sets = [set(ids[span].tolist()) for span in spans]
            assert sum(map(len, sets)) == len(set().union(*sets))
    chunks = np.diff(pairs.starts[:: GRID * GRID])
    assert chunks.min() > 0.7 * chunks.max()


def test_strata_hold_about_as_many_pairs() -> None:
    """However uneven the words are."""
    text = make_text([20_000])
    tokens = (text[0].astype(np.int64) * 40 + np.arange(20_000) % 40).astype(np.int32)
    counts = cpu.pairs_count(tokens, text[1], 40 * V, 8)
    sizes = np.bincount(reference.strata(counts), np.diff(counts.starts), GRID)
    assert sizes.max() < 1.05 * sizes.min()


def test_the_order_is_a_function_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not of threads, and not of the back end."""
    monkeypatch.setattr(reference, "PAIRS_PER_CHUNK", 200)
    counts = cpu.pairs_count(*make_text([270]), V, 8)
    expected = reference.pairs_order(counts, RULE)
    for threads in (1, 2, 4):
        found = cpu.pairs_order(counts, RULE, threads)
        for name in ("rows", "columns", "starts"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
        np.testing.assert_allclose(found.logs, expected.logs, rtol=1e-6)
        np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-6)
    other = cpu.pairs_order(counts, RULE._replace(key=6))
    assert (other.rows != expected.rows).any()


# Pairs are learned


def test_gradients_by_finite_differences(pairs: Pairs) -> None:
    """Of vectors and biases, as moving each number a little says."""
    some = pairs._replace(rows=pairs.rows[:20])
    vectors = make_vectors(dtype=np.float64)
    gradient = [np.zeros(array.shape) for array in vectors[:4]]
    for at in range(20):
        row, column = some.rows[at], some.columns[at]
        _, by_rho, by_alpha, by_bias = reference.pair_gradient(vectors, some, at)
        for total, index, part in zip(
            gradient, (row, column) * 2, (by_rho, by_alpha, by_bias, by_bias), strict=True
        ):
            total[index] += part
    for matrix, expected in zip(vectors[:4], gradient, strict=True):
        for place in np.ndindex(*matrix.shape):
            before = matrix[place]
            values = []
            for moved in (1e-5, -1e-5):
                matrix[place] = before + moved
                values.append(20 * reference.pairs_loss(vectors, some))
            matrix[place] = before
            assert (values[0] - values[1]) / 2e-5 == pytest.approx(expected[place], abs=1e-6)


@each
def test_one_step_by_hand(back_end: ModuleType) -> None:
    """The squares count from the next step on, and hold the rate; a bias steps without it."""
    ids, floats = np.array([0, 1], np.int32), np.array([0.5, 0.25], np.float32)
    starts = np.array([0, *[1] * GRID * GRID])
    pairs = Pairs(ids[:1], ids[1:], floats[:1], floats[1:], starts)
    numbers = [[[2.0], [9]], [[9], [-1.0]], [0.5, 9], [9, 1.0], [[4.0], [9]], [[9], [1.0]],
               [1.0, 9], [9, 4.0]]  # fmt: skip
    vectors = Biased(*(np.array(n, np.float32) for n in numbers))
    d = 2 * -1 + 0.5 + 1 - 0.5
    g = 0.25 * d
    assert back_end.pairs_update(vectors, pairs, 0.1) == pytest.approx(0.5 * 0.25 * d**2)
    expected = [
        2 - 0.1 * g * -1 / 2, -1 - 0.1 * g * 2, 0.5 - g, 1 - g / 2,
        4 + (0.1 * g) ** 2, 1 + (0.1 * g * 2) ** 2, 1 + g**2, 4 + g**2,
    ]  # fmt: skip
    found = [array[side].item() for array, side in zip(vectors, (0, 1) * 4, strict=True)]
    assert found == pytest.approx(expected, rel=1e-6)
    assert all(array[1 - side] == 9 for array, side in zip(vectors, (0, 1) * 4, strict=True))


@pytest.mark.parametrize("dim", [1, K, 16, 33])
def test_two_passes_equal_the_reference(pairs: Pairs, dim: int) -> None:
    """Loss, vectors, biases and sums, for dimensions that do not fill vector registers."""
    one, other = make_vectors(dim=dim), make_vectors(dim=dim)
    for _ in range(2):
        loss = reference.pairs_update(one, pairs, 0.05)
        assert cpu.pairs_update(other, pairs, 0.05) == pytest.approx(loss, rel=1e-4)
    for left, right in zip(one, other, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("threads", [2, 3, 4, 40])
def test_threads_leave_the_same_bytes(pairs: Pairs, threads: int) -> None:
    """More threads than cells side by side, too; the loss is the same to the last bit."""
    one, other = make_vectors(), make_vectors()
    for _ in range(3):
        assert cpu.pairs_update(one, pairs, 0.05) == cpu.pairs_update(other, pairs, 0.05, threads)
    for left, right in zip(one, other, strict=True):
        assert left.tobytes() == right.tobytes()


@each
def test_loss_changes_nothing(back_end: ModuleType, pairs: Pairs) -> None:
    """And is the mean over all pairs as the vectors stand."""
    vectors = make_vectors()
    loss = back_end.pairs_loss(vectors, pairs)
    for left, right in zip(vectors, make_vectors(), strict=True):
        assert left.tobytes() == right.tobytes()
    score = np.einsum("pk,pk->p", vectors.rho[pairs.rows], vectors.alpha[pairs.columns])
    score += vectors.rho_bias[pairs.rows] + vectors.alpha_bias[pairs.columns]
    expected = (0.5 * pairs.weights * (score - pairs.logs) ** 2).mean()
    assert loss == pytest.approx(expected, rel=1e-5)


@each
def test_nothing_to_learn(back_end: ModuleType) -> None:
    """Articles of one word have no pairs, and change no vector."""
    counts = back_end.pairs_count(*make_text([1] * 9), V, 4)
    vectors = make_vectors()
    assert back_end.pairs_update(vectors, back_end.pairs_order(counts, RULE), 0.05) == 0.0
    assert vectors.rho.tobytes() == make_vectors().rho.tobytes()


def test_the_start_is_small_and_uniform() -> None:
    """Within 1 / 2K of zero, other for w and w~, and a function of the seed."""
    start = initial(3, 500, 20)
    for array in start[:4]:
        assert 0.0245 < np.abs(array).max() <= 0.025
        assert abs(float(array.mean())) < 0.002
    assert all((array == 1).all() for array in start[4:])
    assert (start.rho != start.alpha).any()
    assert initial(3, 500, 20).rho.tobytes() == start.rho.tobytes()
    assert initial(4, 500, 20).rho.tobytes() != start.rho.tobytes()


# The model


def test_topics_are_recovered(corpus: Corpus, split: Split) -> None:
    """Words and equations of a planted topic are neighbours, by both matrices."""
    found = GloVe(dim=10, equations="tokens").fit(corpus, split).embeddings_
    for kind in ("words", "equations"):
        for side in ("rho", "alpha"):
            assert purity(found.view(kind, side)) > 0.9


def test_equations_help_as_tokens(corpus: Corpus, split: Split) -> None:
    """With the equation in the context, held-out words score better than without."""
    model = GloVe(dim=10, equations="tokens").fit(corpus, split)
    line = likelihood.means(model.score(corpus, split, TEST))
    assert line.predictive > likelihood.means(model.score(corpus, split, TEST, words=3)).predictive
    ignored = GloVe(dim=10).fit(corpus, split)
    assert "alpha_equations" not in ignored.embeddings_.arrays
    assert line.predictive > likelihood.means(ignored.score(corpus, split, TEST)).predictive


@pytest.mark.parametrize("equations", ["ignored", "tokens"])
def test_a_word_is_scored_by_the_mean_of_its_context(
    corpus: Corpus, split: Split, equations: str
) -> None:
    """The mean of w . w~ over three words and, as a token, the equation; with b on request."""
    model = GloVe(dim=10, iterations=5, equations=equations).fit(corpus, split)
    arrays, part = model.embeddings_.arrays, split.of(TEST)
    near = contexts(corpus, split, 3)[part][0]
    context = [arrays["alpha_words"][word] for word in near[near >= 0]]
    if equations == "tokens":
        context.append(arrays["alpha_equations"][split.types[part][0]])
    word, other = split.words[part][0], split.negatives[part][0, 4]
    rho = arrays["rho_words"]
    plain = model.score(corpus, split, TEST)
    assert plain.word[0] == pytest.approx(np.mean([rho[word] @ row for row in context]), rel=1e-5)
    expected = np.mean([rho[other] @ row for row in context]) + arrays["rho_bias_words"][other]
    biased = model.score(corpus, split, TEST, bias=True)
    assert biased.negatives[0, 4] == pytest.approx(expected, rel=1e-5)
    model.bias = True
    np.testing.assert_array_equal(model.score(corpus, split, TEST).word, biased.word)


def test_the_mean_passes_over_missing_words() -> None:
    """At the edge of a text fewer words make the mean; none make zero."""
    alpha = np.array([[2.0], [4.0]], np.float32)
    ids = np.array([[0, 1], [1, -1], [-1, -1]], np.int32)
    np.testing.assert_array_equal(context_mean(alpha, ids), [[3.0], [4.0], [0.0]])


@pytest.mark.parametrize("bias", [False, True])
def test_validation_is_the_score_of_the_model(corpus: Corpus, split: Split, bias: bool) -> None:  # noqa: FBT001
    """What early stopping watches is what `score` gives, and the best iteration is kept."""
    model = GloVe(dim=30, rate=0.5, bias=bias, iterations=60, equations="tokens")
    model.fit(corpus, split)
    values = [row["validation"]["pairs"] for row in model.history_]
    best = int(np.argmax(values))
    assert len(values) == best + 1 + model.patience < 60
    assert model.embeddings_.config["best"] == {"pairs": best + 1}
    found = float(likelihood.predictive(model.score(corpus, split, 0)).mean())
    assert found == pytest.approx(values[best], abs=1e-6)


def test_held_out_positions_are_in_no_pair(corpus: Corpus, split: Split) -> None:
    """A word held out wherever it stands stays where it started, and leaves no pair behind."""
    held = np.flatnonzero(corpus.tokens == 3)
    rows = np.zeros(len(held), np.int64)
    cut = replace(
        split, positions=held, occurrences=rows, parts=np.full(len(held), TEST, np.uint8),
        words=corpus.tokens[held], types=corpus.equation_types[rows],
        negatives=corpus.tokens[rows][:, None],
    )  # fmt: skip
    arrays = GloVe(dim=10, iterations=2).fit(corpus, cut).embeddings_.arrays
    start = initial(0, len(corpus.words), 10)
    for name in ("rho", "alpha", "rho_bias", "alpha_bias"):
        same = (arrays[f"{name}_words"] == getattr(start, name)).reshape(len(corpus.words), -1)
        assert np.flatnonzero(same.all(axis=1)).tolist() == [3]
    stream = training_stream(corpus, cut)
    counts = cpu.pairs_count(stream.tokens, stream.starts, len(corpus.words), 4)
    assert 3 not in counts.columns
    assert len(stream.tokens) == len(corpus.tokens) - len(held), "and windows close up"


def test_equations_as_tokens_are_counted_where_they_stand(corpus: Corpus) -> None:
    """Between the two words around them."""
    stream = features.with_tokens(training_stream(corpus), 48, len(corpus.forms))
    counts = as_table(cpu.pairs_count(stream.tokens, stream.starts, 48 + len(corpus.forms), 2))
    place = int(corpus.equation_positions[0])
    token = 48 + int(corpus.equation_types[0])
    for word in corpus.tokens[place - 1 : place + 1].tolist():
        assert counts[token, word] >= 1


def test_a_model_is_saved_with_its_biases(corpus: Corpus, tmp_path: Path) -> None:
    """The folder holds both matrices and both biases, and the same hash."""
    made = GloVe(dim=5, iterations=2).fit(corpus).embeddings_
    made.save(tmp_path / "model")
    loaded = Embeddings.load(tmp_path / "model")
    assert loaded.sha256 == made.sha256
    names = {"rho_words", "alpha_words", "rho_bias_words", "alpha_bias_words"}
    assert set(loaded.arrays) == names
    assert loaded.arrays["rho_bias_words"].shape == (len(corpus.words),)


def test_what_training_will_need(corpus: Corpus) -> None:
    """Pairs are counted for it where it may take time, and bounded where not."""
    model = GloVe(dim=10, equations="tokens")
    guessed, probed = (model.estimate(corpus, probe=probe) for probe in (False, True))
    rows = len(corpus.words) + len(corpus.forms)
    assert guessed.parameters == probed.parameters == 2 * 11 * rows
    assert guessed.memory >= probed.memory
    assert guessed.seconds is None
    assert probed.seconds is not None
    assert 0 < probed.seconds < 60


def test_numbers_that_overflow_are_refused(corpus: Corpus) -> None:
    """A rate beyond reason ends with an error that names it."""
    with pytest.raises(EqembError, match="smaller rate"):
        GloVe(dim=10, rate=1e30).fit(corpus)


@pytest.mark.parametrize(
    "wrong", [{"dim": 0}, {"window": 3}, {"rate": 0}, {"x_max": 0}, {"power": -1}, {"equations": 1}]
)
def test_wrong_settings_are_refused(wrong: dict[str, Any]) -> None:
    """When they are given, and when they are changed."""
    with pytest.raises(UsageError):
        GloVe(**wrong)
    with pytest.raises(UsageError):
        GloVe().set_params(**wrong)


def test_parameters_as_in_scikit_learn() -> None:
    """The constructor accepts what get_params returns."""
    model = GloVe(dim=7).set_params(x_max=100.0)
    assert GloVe(**model.get_params()) == model


def test_glove_by_its_name_on_the_command_line() -> None:
    """Equations are tokens, as in the paper's table; what it does not have is refused."""
    assert registry.create("glove", {"dim": 7}) == GloVe(dim=7, equations="tokens")
    with pytest.raises(UsageError, match="no --negatives"):
        registry.create("glove", {"negatives": 5})


# The authors' program


def test_the_reference_run_is_reproduced(bench: Path) -> None:
    """The same pairs and counts; its cost within 1 % from the second iteration on."""
    expected = benchmark.Expected.read(bench / "glove" / "README.md")
    text = benchmark.read_text(bench / "glove" / "tokens.txt.gz")
    counts = benchmark.count(text, expected, threads=2)
    assert benchmark.differences(text, counts, expected) == []
    curve, _ = benchmark.learn(text, counts, expected, threads=2)
    np.testing.assert_allclose(curve[1:], expected.costs[1:], rtol=0.01)
    np.testing.assert_allclose(curve[0], expected.costs[0], rtol=0.02)
