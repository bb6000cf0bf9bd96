"""The GPU back end: equal to the reference on torch's CPU device, and on a GPU where there is one.

Every step is tried by plain operations and, where Triton is installed, by its fused kernels: on a
GPU as they are, elsewhere in Triton's own interpreter.
"""

import gc
import os
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
HAVE_TRITON = pytest.importorskip("importlib.util").find_spec("triton") is not None
if HAVE_TRITON and not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are first imported

from kernels.test_kernels import (  # noqa: E402, I001
    RULE, V, K, assert_close, make_contexts, make_second, make_text, make_vectors,
)  # fmt: skip

from eqemb.models import bernoulli, devices  # noqa: E402
from eqemb.corpus.corpus import Corpus  # noqa: E402
from eqemb.errors import EqembError, UsageError  # noqa: E402
from eqemb.kernels import device_cache, draws, gpu, gpu_memory, reference, torch_steps  # noqa: E402
from eqemb.kernels.arrays import Offsets, TextArrays, Vectors  # noqa: E402
from eqemb.models import BernoulliEmbeddings, EqEmb, EqEmbH, EqEmbU  # noqa: E402
from eqemb.corpus.split import SplitSettings, Split  # noqa: E402
from planted import planted  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
fused = pytest.mark.skipif(not HAVE_TRITON, reason="Triton is not installed")
each = pytest.mark.parametrize(
    "made", [False, pytest.param(True, marks=fused)], ids=["torch", "triton"]
)


def kernels(made: Any, **settings: Any) -> gpu.Kernels:
    """The back end, by plain operations or fused."""
    torch.set_num_threads(1)
    return gpu.Kernels(DEVICE, fused=made, **settings)


def taught(back_end: Any, text: TextArrays, rule: Any = RULE, **more: Any) -> tuple[float, Vectors]:
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


def test_fixed_words_are_summed_once_and_others_every_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Words without sums never change; those with sums may have, between two calls."""
    calls, summed = [], torch_steps.windows

    def counted(*given: Any) -> Any:
        calls.append(given)
        return summed(*given)

    monkeypatch.setattr(torch_steps, "windows", counted)
    one, other, back_end = make_second(), make_second(), kernels(made=False)
    for change in (1.0, 2.0):
        for made in (one, other):
            made.words.alpha[:] *= change
        losses = [
            part.bags_update(*made, RULE) for part, made in ((reference, one), (back_end, other))
        ]
        assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert len(calls) == 2
    none = np.empty((0, K), np.float32)
    words = other.words._replace(rho_sum=none, alpha_sum=none)
    for _ in range(2):
        losses = [
            reference.bags_update(one.rows, words, one.text, one.near, RULE),
            back_end.bags_update(other.rows, words, other.text, other.near, RULE),
        ]
        assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert len(calls) == 3
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
    kept = len(back_end._cache)
    back_end.words_loss(make_vectors(), text, RULE)
    assert kept == len(back_end._cache) > 0
    del text
    assert not len(back_end._cache)
    assert not back_end._cache.used


def test_a_missing_gpu_is_one_sentence() -> None:
    """Asked for CUDA where torch sees none."""
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(UsageError, match="no GPU"):
        gpu.Kernels("cuda")


# Too little memory


def full(*_: Any, **__: Any) -> None:
    """The error of torch."""
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate ...")


def fill(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, most: int) -> None:
    """Memory runs out after a step on more than so many positions has done all its work."""
    step = getattr(owner, name)

    def limited(*given: Any, **named: Any) -> Any:
        done = step(*given, **named)
        size = given[2].size if name == "forward" else len(given[name == "spread"])
        if size > most:
            full()
        return done

    monkeypatch.setattr(owner, name, limited)


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> gpu.Kernels:
    """A back end that begins with parts of 32, and has memory for four."""
    monkeypatch.setattr(gpu_memory, "LEAST_PART", 4)
    fill(monkeypatch, torch_steps.PlainWordSteps, "forward", 8)
    fill(monkeypatch, torch_steps.Plan, "spread", 8)
    fill(monkeypatch, torch_steps, "score_contexts", 2)
    back_end = kernels(made=False)
    back_end.part = 32
    return back_end


def test_a_batch_that_does_not_fit_is_redone_in_smaller_parts(little: gpu.Kernels) -> None:
    """The same loss and vectors, whatever was summed before memory ran out."""
    text, rule = make_text([150, 10]), RULE._replace(batch=64)
    assert_same(taught(reference, text, rule), taught(little, text, rule))
    assert little.part == 8, "what fits is known from then on"


def test_parts_shrink_from_what_was_tried(
    little: gpu.Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch smaller than a part is halved itself, down to a least part."""
    little.part = 1 << 20
    text, rule = make_text([100]), RULE._replace(batch=16)
    assert_same(taught(reference, text, rule), taught(little, text, rule))
    assert little.part == 8
    little.part = 1 << 20
    monkeypatch.setattr(gpu_memory, "LEAST_PART", 16)
    with pytest.raises(EqembError, match="too little"):
        taught(little, text, rule)


@pytest.mark.parametrize("whole", [False, True])
def test_equations_that_do_not_fit_are_redone_in_smaller_parts(
    little: gpu.Kernels, whole: bool  # noqa: FBT001
) -> None:  # fmt: skip
    """Both conditionals of the second pass."""
    one, other, rule = make_second(), make_second(), RULE._replace(batch=16)
    losses = [
        part.bags_update(*made, rule, whole=whole)
        for part, made in ((reference, one), (little, other))
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert_close(one.rows, other.rows)
    (left, contexts), (right, _) = make_contexts(), make_contexts()
    little.part = 32
    losses = [part.contexts_update(rows, contexts, rule)
              for part, rows in ((reference, left), (little, right))]  # fmt: skip
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert_close(left, right)
    assert little.part // 4 == 2


def test_deterministic_refuses_smaller_parts(little: gpu.Kernels) -> None:
    """Other parts would be other bytes: how much memory is free must not show in them."""
    little.deterministic = True
    with pytest.raises(EqembError, match=r"parts of 32 positions: .* without deterministic"):
        taught(little, make_text([60]))


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (torch.OutOfMemoryError("CUDA out of memory."), EqembError, "smaller dim .*device='cpu'"),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED"), EqembError, "smaller dim"),
        (RuntimeError("Triton Error [CUDA]: out of memory"), EqembError, "smaller dim"),
        (RuntimeError("something else"), RuntimeError, "something else"),
    ],
)
def test_too_little_memory_is_said_in_a_sentence(
    error: Exception, kind: type[Exception], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a step and where vectors are held for several; other errors are left alone."""

    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(torch_steps.PlainWordSteps, "forward", fail)
    with pytest.raises(kind, match=said):
        taught(kernels(made=False), make_text([60]))
    monkeypatch.setattr(gpu.Kernels, "_send", fail)
    with pytest.raises(kind, match=said), kernels(made=False).holding(make_vectors()):
        pass


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """A planted corpus, shared by all tests."""
    return planted()


@pytest.fixture(scope="module")
def split(corpus: Corpus) -> Split:
    """Its split."""
    return Split.make(corpus, SplitSettings(negatives=10))


SMALL: dict[str, Any] = {"dim": 10, "batch": 1024, "iterations": 2, "negatives": 5,
                         "device": DEVICE.replace("cpu", "torch")}  # fmt: skip


@pytest.mark.parametrize("kind", [EqEmb, EqEmbU, EqEmbH])
def test_both_passes_keep_to_their_memory(
    kind: type[EqEmb], corpus: Corpus, split: Split, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same vectors with all of it, some of it and next to nothing kept on the device."""
    most = 0

    class Watched(device_cache.DeviceCache):
        def get_or_make(self, *given: Any, **named: Any) -> Any:
            nonlocal most
            made = super().get_or_make(*given, **named)
            most = max(most, self.used)
            return made

    monkeypatch.setattr(gpu_memory, "DeviceCache", Watched)
    found = kind(**SMALL).fit(corpus, split).embeddings_.arrays
    needed = most
    for memory in (needed // 3, 1):
        most = 0
        other = kind(**SMALL, memory=memory).fit(corpus, split).embeddings_.arrays
        assert most <= memory < needed
        assert memory == 1 or most > 0
        for name, array in found.items():
            np.testing.assert_allclose(array, other[name], rtol=1e-4, atol=1e-6)


def test_chunks_are_no_larger_than_they_need_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two are at work at a time, in pinned memory: a large share is no reason for large ones."""
    monkeypatch.setattr(gpu_memory, "_LONGEST_RESIDENT", 10)
    monkeypatch.setattr(gpu_memory, "STREAM_CHUNK", 40)
    chunks = list(kernels(made=False)._chunks(make_text([200]), (8, 100), 16))
    assert [span for _, span in chunks] == [(8, 40), (40, 72), (72, 100)]
    monkeypatch.setattr(gpu_memory, "STREAM_CHUNK", 1 << 26)
    ((chunk, span),) = kernels(made=False)._chunks(make_text([200]), (8, 100), 16)
    assert span == (8, 100)
    assert len(chunk.tokens) == 96 + 2 * torch_steps.MARGIN


def test_memory_that_cannot_be_pinned_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies are slower then, and the same."""
    zeros = torch.zeros

    def limited(*shape: Any, pin_memory: bool = False, **named: Any) -> Any:
        if pin_memory:
            raise RuntimeError("CUDA error: out of memory")
        return zeros(*shape, **named)

    monkeypatch.setattr(torch, "zeros", limited)
    assert gpu_memory._pinned(5, pin=True).tolist() == [0] * 5


def test_copies_end_before_their_buffers_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a step fails in the middle of a text."""
    ended = []
    monkeypatch.setattr(gpu_memory.TextStreamer, "_settle", lambda _: ended.append(1))
    monkeypatch.setattr(torch_steps.PlainWordSteps, "forward", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError) as kept:
        taught(kernels(made=False, memory=1), make_text([200]))
    assert ended == [1], kept


def test_nothing_outlives_the_back_end() -> None:
    """What it kept goes when it goes, and not when somebody collects garbage."""
    made, back_end = make_second(), kernels(made=False)
    words = Vectors(*made.words[:2], *(np.empty((0, K), np.float32),) * 2)
    gc.disable()
    try:
        back_end.words_update(make_vectors(), made.text, RULE)
        back_end.bags_update(made.rows, words, made.text, made.near, RULE)
        assert len(back_end._cache) > 2
        seen = weakref.ref(back_end), weakref.ref(back_end._cache)
        del back_end
        assert [ref() for ref in seen] == [None, None]
    finally:
        gc.enable()


def test_memory_that_torch_holds_for_later_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of what would be free with an empty cache is its share."""
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (100, 1000))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda _: 60)
    allocated = 20
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda _: allocated)
    made = device_cache.DeviceCache(torch.device("cuda"), None)
    assert (device_cache.free_memory(made.device), made.available()) == (140, 70)
    arrays = [np.zeros(1) for _ in range(3)]

    def make(size: int) -> Any:
        nonlocal allocated
        allocated += size  # what is made is not free while there is a look at what is left
        return torch.zeros(size, dtype=torch.int8)

    made.get_or_make(lambda: make(10), (arrays[0],))
    assert (made.used, made.available()) == (10, 60)
    made.get_or_make(lambda: make(61), (arrays[1],))
    assert (len(made), made.used) == (1, 10)
    allocated -= 61  # it was not kept
    made.get_or_make(lambda: make(60), (arrays[2],))
    assert (len(made), made.used, made.available()) == (2, 70, 0)


def test_sums_of_equations_beyond_the_exact_range_are_refused() -> None:
    """Also where they are a step on the way, and no gradient shows them."""
    made = make_second("sum")
    made.rows.vectors[:] = 9e5  # two of them are beyond 2**20
    made.words.rho[:] = 0
    with pytest.raises(EqembError, match="too large"):
        kernels(made=False, deterministic=True).bags_update(*made, RULE)


def test_products_are_in_full_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """TF32 is off during a step, and as before afterwards."""
    seen, matmul, forward = [], torch.backends.cuda.matmul, torch_steps.PlainWordSteps.forward

    def watched(*given: Any, **named: Any) -> Any:
        seen.append(gpu._precision())
        return forward(*given, **named)

    monkeypatch.setattr(torch_steps.PlainWordSteps, "forward", watched)
    matmul.allow_tf32 = True
    try:
        allowed = gpu._precision()
        taught(kernels(made=False), make_text([20]))
        assert set(seen) == {("fp32_precision", "ieee")}
        assert gpu._precision() == allowed == ("fp32_precision", "tf32")
    finally:
        matmul.allow_tf32 = False


# Devices that do not work


def test_a_small_step_decides_whether_a_device_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """The warning has the first line of the error of a compiler or driver."""
    tried = gpu._failure.__wrapped__
    assert tried("cpu", fused=False) == ""
    broken = SimpleNamespace(Shape=object, LARGEST_DIM=99, word_steps=lambda *_: 1 / 0)
    monkeypatch.setattr(gpu, "import_module", lambda _: broken)
    assert tried("cpu", fused=True) == "division by zero"
    monkeypatch.setattr(torch_steps.PlainWordSteps, "forward", full)
    with pytest.raises(EqembError, match="too little"):  # another time there may be enough
        tried("cpu", fused=False)


@pytest.mark.parametrize(("fused_why", "plain_why"), [("", ""), ("no cc", ""), ("no cc", "old")])
def test_the_next_best_is_taken_and_said(
    fused_why: str, plain_why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Triton, else plain torch with a warning, else a sentence."""
    why = {True: fused_why, False: plain_why}
    monkeypatch.setattr(gpu, "_failure", lambda _, fused: why[fused])
    monkeypatch.setattr(gpu, "find_spec", lambda _: object())
    place = torch.device("cuda")
    if plain_why:
        with pytest.raises(UsageError, match=r"cannot be used \(old\).*device='cpu'"):
            gpu._fusing(place)
    elif fused_why:
        with pytest.warns(RuntimeWarning, match=r"Triton cannot be used \(no cc\)"):
            assert gpu._fusing(place) == (False, "no cc")
    else:
        assert gpu._fusing(place) == (True, "")
    assert gpu._fusing(torch.device("cpu")) == (False, "")


def test_auto_falls_back_to_the_cpu_with_a_warning(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A GPU that cannot be used, and a torch that cannot be imported."""

    def broken(name: str) -> Any:
        raise OSError(f"libcudart.so: cannot open shared object file, for {name}")

    monkeypatch.setattr(devices, "_loads", lambda _: True)
    monkeypatch.setattr("eqemb.models.devices.importlib.import_module", broken)
    with pytest.raises(UsageError, match="torch cannot be imported"):
        BernoulliEmbeddings(device="cuda").estimate(corpus)
    why = devices.gpu_problem.__wrapped__()
    assert why == (
        "torch cannot be imported (libcudart.so: cannot open shared object file, for"
        " eqemb.kernels.gpu)"
    )
    monkeypatch.undo()
    monkeypatch.setattr(bernoulli, "gpu_problem", lambda: why)
    model = BernoulliEmbeddings(**SMALL | {"device": "auto"})
    assert model.estimate(corpus, probe=False).device == "cpu"
    with pytest.warns(RuntimeWarning, match=r"cannot be imported.*; training on the CPU"):
        made = model.fit(corpus).embeddings_
    assert made.run["device"] == "cpu"


def test_a_device_given_to_fit_is_one_of_the_settings(corpus: Corpus, split: Split) -> None:
    """It has an identity of its own, and the model keeps its own device."""
    model = BernoulliEmbeddings(**SMALL | {"device": "cpu"})
    made = model.fit(corpus, split, device="torch").embeddings_.config
    assert made["identity"] != model.identity(corpus, split, 0)
    there = BernoulliEmbeddings(**SMALL | {"device": "torch"})
    assert made["identity"] == there.identity(corpus, split, 0)
    assert model.device == "cpu"
    with pytest.raises(UsageError, match="must be 'auto'"):
        model.fit(corpus, split, device="gpu")


class Killed(Exception):  # noqa: N818
    """Simulates a kill."""


@pytest.mark.parametrize("kind", [EqEmb, EqEmbU])
def test_a_killed_run_goes_on_where_it_was_begun(
    kind: type[EqEmb], corpus: Corpus, split: Split, tmp_path: Path
) -> None:
    """A resumed run gives the same bytes; a checkpoint of another device is refused."""
    model, file = kind(**SMALL, deterministic=True), tmp_path / "checkpoint"
    expected = model.fit(corpus, split).embeddings_.sha256
    calls = iter(range(1, 100))

    def callback(*_: object) -> None:
        if next(calls) == 3:
            raise Killed

    with pytest.raises(Killed):
        model.fit(corpus, split, checkpoint=file, callback=callback)
    with pytest.raises(UsageError, match="another device"):
        model.fit(corpus, split, checkpoint=file, resume=True, device="cpu")
    done = model.fit(corpus, split, checkpoint=file, resume=True)
    assert done.embeddings_.sha256 == expected
