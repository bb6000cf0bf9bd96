"""The GPU back end: equal to the reference on torch's CPU device, and on a GPU where there is one.

Every step is tried by plain operations and, where Triton is installed, by its fused kernels: on a
GPU as they are, elsewhere in Triton's own interpreter.
"""

import os
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
HAVE_TRITON = pytest.importorskip("importlib.util").find_spec("triton") is not None
if HAVE_TRITON and not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are first imported

from test_kernels import (  # noqa: E402, I001
    RULE, V, K, assert_close, make_contexts, make_second, make_text, make_vectors,
)  # fmt: skip

from eqemb.errors import EqembError, UsageError  # noqa: E402
from eqemb.kernels import draws, gpu, reference, torch_steps  # noqa: E402
from eqemb.kernels.arrays import Offsets, Text, Vectors  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
fused = pytest.mark.skipif(not HAVE_TRITON, reason="Triton is not installed")
each = pytest.mark.parametrize(
    "made", [False, pytest.param(True, marks=fused)], ids=["torch", "triton"]
)


def kernels(made: Any, **settings: Any) -> gpu.Kernels:
    """The back end, by plain operations or fused."""
    torch.set_num_threads(1)
    return gpu.Kernels(DEVICE, fused=made, **settings)


def taught(back_end: Any, text: Text, rule: Any = RULE, **more: Any) -> tuple[float, Vectors]:
    """The loss and the vectors after one pass."""
    vectors = make_vectors(len(text.noise.alias), more.pop("dim", K))
    return back_end.words_update(vectors, text, rule, **more), vectors


def assert_same(one: tuple[float, Any], other: tuple[float, Any]) -> None:
    """Equal losses and equal vectors."""
    assert one[0] == pytest.approx(other[0], rel=1e-5)
    assert_close(one[1], other[1])


def test_torch_draws_what_numpy_draws() -> None:
    """The same key, block and slot give the same row, by signed arithmetic."""
    noise = draws.noise_table(np.array([5, 0, 1, 90, 3, 3, 17]))
    for seed in (2**63 + 5, 3, 11):
        key = draws.key(seed, 2, 7)
        there = torch.from_numpy(noise.threshold.view(np.int64)), torch.from_numpy(noise.alias)
        drawn = torch_steps.zeros(gpu._signed(key), 123, 1000, 9, *there)
        expected = draws.zeros(key, np.arange(123, 1123), 9, noise)
        np.testing.assert_array_equal(drawn.numpy(), expected)


@each
@pytest.mark.parametrize(("window", "block"), [(2, 8), (4, 1), (6, 64), (8, 8), (16, 64)])
def test_ten_steps_of_words_equal_the_reference(made: bool, window: int, block: int) -> None:  # noqa: FBT001
    """Loss, vectors and Adagrad sums, with articles of every length."""
    text = make_text([1, 0, 1, 50, 3, 80, 0, 24, 2])
    rule = RULE._replace(window=window, block=block, batch=64 if block == 64 else 16)
    assert_same(taught(reference, text, rule), taught(kernels(made), text, rule))


@each
def test_many_words_and_dimensions(made: bool) -> None:  # noqa: FBT001
    """More words than a batch touches: rows that it does not touch stay as they are."""
    text = make_text([70, 60], size=500)
    rule = RULE._replace(negatives=3)
    assert_same(taught(reference, text, rule, dim=33), taught(kernels(made), text, rule, dim=33))


@each
def test_parts_of_a_batch_add_up(made: bool) -> None:  # noqa: FBT001
    """A batch that is worked on in several parts is one batch."""
    text, back_end = make_text([140, 10]), kernels(made)
    back_end.part = 16
    rule = RULE._replace(batch=128)
    assert_same(taught(reference, text, rule), taught(back_end, text, rule))


@each
def test_a_text_larger_than_its_share_comes_in_chunks(made: bool) -> None:  # noqa: FBT001
    """Chunk by chunk the same vectors, also where articles and windows cross chunks."""
    text, rule = make_text([20, 3, 90, 24, 60]), RULE._replace(window=8, batch=16)
    streamed = kernels(made, memory=1)
    assert len(list(streamed._chunks(text, (0, len(text.tokens)), rule.batch))) > 10
    whole, parts = taught(kernels(made), text, rule), taught(streamed, text, rule)
    assert whole[0] == pytest.approx(parts[0], rel=1e-12)
    for left, right in zip(whole[1], parts[1], strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-7)


@each
def test_exact_sums_know_no_order(made: bool) -> None:  # noqa: FBT001
    """The same bytes however a batch is cut in parts of whole articles, and near the reference."""
    text = make_text([32] * 4)
    rule, found = RULE._replace(batch=64), []
    for part in (32, 64):
        back_end = kernels(made, deterministic=True)
        back_end.part = part
        found.append(taught(back_end, text, rule))
    assert_same(taught(reference, text, rule), found[0])
    for left, right in zip(found[0][1], found[1][1], strict=True):
        assert left.tobytes() == right.tobytes()


@each
def test_sums_beyond_the_exact_range_are_refused(made: bool) -> None:  # noqa: FBT001
    """Gradients of millions do not wrap around in silence."""
    text, vectors = make_text([60]), make_vectors()
    vectors.alpha[:] *= 1e6
    vectors.rho[:] = 0
    with pytest.raises(EqembError, match="too large"):
        kernels(made, deterministic=True).words_update(vectors, text, RULE)


@each
def test_equations_in_the_contexts_of_words(made: bool) -> None:  # noqa: FBT001
    """Offsets are part of every score, in each part of a batch."""
    text = make_text([90, 3, 200])
    random = np.random.default_rng(4)
    places = np.sort(random.choice(len(text.tokens), 90, replace=False))
    sums = random.normal(size=(90, K)).astype(np.float32)
    text = text._replace(offsets=Offsets(places, sums))
    back_end = kernels(made)
    back_end.part = 32
    assert_same(taught(reference, text), taught(back_end, text))


@each
def test_alpha_can_be_held_fixed(made: bool) -> None:  # noqa: FBT001
    """Then rho steps as the reference's, and alpha and its sums stay."""
    text, rule = make_text([160]), RULE._replace(learn_alpha=False)
    loss, vectors = taught(kernels(made), text, rule)
    assert_same(taught(reference, text, rule), (loss, vectors))
    np.testing.assert_array_equal(vectors.alpha, make_vectors().alpha)


@each
def test_an_empty_context_moves_nothing(made: bool) -> None:  # noqa: FBT001
    """Articles of one word: not even rounding moves a vector."""
    text = make_text([1] * 30)
    _, vectors = taught(kernels(made), text, RULE._replace(negatives=0))
    for now, before in zip(vectors, make_vectors(V), strict=True):
        np.testing.assert_array_equal(now, before)


exactly = pytest.mark.parametrize("exact", [False, True], ids=["floats", "exact"])


@exactly
@pytest.mark.parametrize("pooling", ["sum", "mean", "root"])
@pytest.mark.parametrize("whole", [False, True])
def test_steps_of_bags_equal_the_reference(pooling: str, whole: bool, exact: bool) -> None:  # noqa: FBT001
    """The second pass, by minibatches in parts and as one step of the whole."""
    one, other = make_second(pooling), make_second(pooling)
    rule, back_end = RULE._replace(batch=16), kernels(made=False, deterministic=exact)
    back_end.part = 8
    for _ in range(4):
        losses = [part.bags_update(*made, rule, whole=whole)
                  for part, made in ((reference, one), (back_end, other))]  # fmt: skip
        assert losses[0] == pytest.approx(losses[1], rel=1e-5)
        assert_close(one.rows, other.rows)
    loss = back_end.bags_loss(*other, rule)
    assert loss == pytest.approx(reference.bags_loss(*one, rule), rel=1e-5)
    assert_close(one.rows, other.rows)


def test_fixed_words_are_summed_once_and_others_every_time() -> None:
    """Words without sums never change; those with sums may have, between two calls."""
    one, other, back_end = make_second(), make_second(), kernels(made=False)
    for change in (1.0, 2.0):
        for made in (one, other):
            made.words.alpha[:] *= change
        losses = [
            part.bags_update(*made, RULE) for part, made in ((reference, one), (back_end, other))
        ]
        assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    none = np.empty((0, K), np.float32)
    words = other.words._replace(rho_sum=none, alpha_sum=none)
    for _ in range(2):
        losses = [
            reference.bags_update(one.rows, words, one.text, one.near, RULE),
            back_end.bags_update(other.rows, words, other.text, other.near, RULE),
        ]
        assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert_close(one.rows, other.rows)


@exactly
def test_ten_steps_of_contexts_equal_the_reference(exact: bool) -> None:  # noqa: FBT001
    """Every rho of an equation, occurrences in parts."""
    (one, contexts), (other, _) = make_contexts(), make_contexts()
    back_end = kernels(made=False, deterministic=exact)
    back_end.part = 8
    for _ in range(10):
        losses = [
            reference.contexts_update(one, contexts, RULE),
            back_end.contexts_update(other, contexts, RULE),
        ]
        assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert_close(one, other)
    loss = back_end.contexts_loss(other, contexts, RULE)
    assert loss == pytest.approx(reference.contexts_loss(one, contexts, RULE), rel=1e-5)


def test_no_equation_near_a_word() -> None:
    """No near position, no step."""
    made, empty = make_second(), np.empty(0, np.int64)
    near = made.near._replace(positions=empty, starts=np.zeros(1, np.int64))
    assert kernels(made=False).bags_update(made.rows, made.words, made.text, near, RULE) == 0.0
    assert_close(made.rows, make_second().rows)


def test_vectors_stay_on_the_device_while_they_are_held() -> None:
    """Held tuples share arrays as the given ones do, and are brought back at the end."""
    text, vectors, back_end = make_text([100]), make_vectors(), kernels(made=False)
    pair = vectors._replace(rho_sum=vectors.alpha_sum)
    with back_end.holding(vectors, pair) as (one, other):
        assert one.alpha is other.alpha
        assert other.rho_sum is one.alpha_sum
        back_end.words_update(one, text, RULE)
    assert_close(taught(reference, text)[1], vectors)


def test_a_read_array_is_sent_once_and_let_go() -> None:
    """What is kept on the device goes with the array that it was made of."""
    back_end, text = kernels(made=False), make_text([100])
    back_end.words_loss(make_vectors(), text, RULE)
    kept = len(back_end._shelf)
    back_end.words_loss(make_vectors(), text, RULE)
    assert kept == len(back_end._shelf) > 0
    del text
    assert not len(back_end._shelf)
    assert not back_end._shelf.used


def test_no_gpu_is_said_in_a_sentence() -> None:
    """Asked for CUDA where torch sees none."""
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(UsageError, match="no GPU"):
        gpu.Kernels("cuda")


def test_too_little_memory_is_said_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """What torch answers with pages of statistics is one sentence with a way out."""

    def full(*_: Any, **__: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate ...")

    monkeypatch.setattr(torch_steps.Words, "forward", full)
    with pytest.raises(EqembError, match=r"too little for these vectors.*device='cpu'"):
        taught(kernels(made=False), make_text([60]))
