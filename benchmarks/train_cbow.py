"""Gensim's CBOW, the comparison for the first pass: a text in a file, trained and timed.

`window` = W/2 on each side, `shrink_windows=False`, `cbow_mean=0`, `sample=0`. The text is read
from a file, gensim's fastest input. Its reader joins lines until they exceed 10,000 words and
silently drops the rest: of lines of 5,000 words a third is never trained. Lines have 200 words
here, which loses 2 %, and speed is computed from gensim's own count of trained words. Windows end
with the line; building the vocabulary is not included.
"""

import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqemb.kernels.arrays import Floats, Ids, Rule

LINE = 200
HAVE_GENSIM = find_spec("gensim") is not None
Doubles = NDArray[np.float64]


def now() -> Doubles:
    """Wall-clock seconds, and CPU seconds of all threads."""
    return np.array([time.perf_counter(), time.process_time()])


def clocked(work: Callable[[], object]) -> Doubles:
    """Measure wall-clock and CPU seconds of the context."""
    start = now()
    work()
    return now() - start


class Cbow:
    """A text in a file that gensim can read."""

    def __init__(self, tokens: Ids, file: Path) -> None:
        self.file, self.size = file, len(tokens)
        with file.open("w") as lines:
            for low in range(0, len(tokens), LINE):
                lines.write(" ".join(map(str, tokens[low : low + LINE].tolist())) + "\n")

    def model(self, rule: Rule, dim: int, threads: int, rate: float = 0.025) -> Any:
        """Return an untrained model with the text's vocabulary."""
        from gensim.models import Word2Vec

        made = Word2Vec(
            vector_size=dim, window=rule.window // 2, negative=rule.negatives, sg=0, cbow_mean=0,
            sample=0, min_count=1, shrink_windows=False, alpha=rate, workers=threads, seed=1,
        )  # fmt: skip
        made.build_vocab(corpus_file=str(self.file))
        return made

    def train(self, model: Any, epochs: int, callbacks: Any = ()) -> int:
        """Make passes over the text with a linearly falling rate; return the words trained."""
        trained, _ = model.train(
            corpus_file=str(self.file), total_words=self.size, total_examples=-(-self.size // LINE),
            epochs=epochs, callbacks=callbacks,
        )  # fmt: skip
        return int(trained)

    def speed(self, rule: Rule, dim: int, threads: int, passes: int) -> Doubles:
        """Return words per second, and per CPU second."""
        model, start = self.model(rule, dim, threads), now()
        return self.train(model, passes) / (now() - start)

    def epochs(
        self, model: Any, epochs: int, judge: Callable[[Floats, Floats], float], size: int
    ) -> Iterator[tuple[float, Doubles]]:
        """Yield the score of (rho, alpha) and the training time after every pass."""
        from gensim.models.callbacks import CallbackAny2Vec

        found: list[tuple[float, Doubles]] = []
        spent, start = np.zeros(2), np.zeros(2)

        def begin(*_: object) -> None:
            start[:] = now()

        def end(*_: object) -> None:
            spent[:] += now() - start
            found.append((judge(*vectors(model, size)), spent.copy()))

        watching = {"on_epoch_begin": begin, "on_epoch_end": end}
        self.train(model, epochs, [type("Watching", (CallbackAny2Vec,), watching)()])
        yield from found


def vectors(model: Any, size: int) -> tuple[Floats, Floats]:
    """Return rho (syn1neg) and alpha (syn0) by our ids; unknown words are zeros."""
    ids = np.array([int(word) for word in model.wv.index_to_key])
    rho, alpha = (np.zeros((size, model.vector_size), np.float32) for _ in range(2))
    rho[ids], alpha[ids] = model.syn1neg, model.wv.vectors
    return rho, alpha
