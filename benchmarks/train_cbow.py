"""gensim's CBOW as the rival of the first pass: a text in a file, trained and timed.

`window` = W/2 each side, `shrink_windows=False`, `cbow_mean=0`, `sample=0`; fed from a file, which
is gensim's fastest way. Its reader takes lines until they hold more than 10,000 words and leaves
out, unsaid, what is over: of lines of 5,000 words a third is never trained. So lines are of 200
words here, which loses 2 %, and speed is by gensim's own count of words trained. Windows end with
the line; building the vocabulary is not counted.
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
    """Seconds by the clock, and of CPU in all threads."""
    return np.array([time.perf_counter(), time.process_time()])


def clocked(work: Callable[[], object]) -> Doubles:
    """Seconds that some work took, by the clock and of CPU."""
    start = now()
    work()
    return now() - start


class Cbow:
    """A text that gensim can read."""

    def __init__(self, tokens: Ids, file: Path) -> None:
        self.file, self.size = file, len(tokens)
        with file.open("w") as lines:
            for low in range(0, len(tokens), LINE):
                lines.write(" ".join(map(str, tokens[low : low + LINE].tolist())) + "\n")

    def model(self, rule: Rule, dim: int, threads: int, rate: float = 0.025) -> Any:
        """An untrained model that knows the text's words."""
        from gensim.models import Word2Vec

        made = Word2Vec(
            vector_size=dim, window=rule.window // 2, negative=rule.negatives, sg=0, cbow_mean=0,
            sample=0, min_count=1, shrink_windows=False, alpha=rate, workers=threads, seed=1,
        )  # fmt: skip
        made.build_vocab(corpus_file=str(self.file))
        return made

    def train(self, model: Any, epochs: int, callbacks: Any = ()) -> int:
        """Make some passes over the text, the rate falling in a line. How many words were read."""
        trained, _ = model.train(
            corpus_file=str(self.file), total_words=self.size, total_examples=-(-self.size // LINE),
            epochs=epochs, callbacks=callbacks,
        )  # fmt: skip
        return int(trained)

    def speed(self, rule: Rule, dim: int, threads: int, passes: int) -> Doubles:
        """Words per second, and per CPU second."""
        model, start = self.model(rule, dim, threads), now()
        return self.train(model, passes) / (now() - start)

    def epochs(
        self, model: Any, epochs: int, judge: Callable[[Floats, Floats], float], size: int
    ) -> Iterator[tuple[float, Doubles]]:
        """After every pass the score of (rho, alpha), and seconds spent in training so far."""
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
    """The matrices rho (syn1neg) and alpha (syn0) by our ids; zeros for words it never saw."""
    ids = np.array([int(word) for word in model.wv.index_to_key])
    rho, alpha = (np.zeros((size, model.vector_size), np.float32) for _ in range(2))
    rho[ids], alpha[ids] = model.syn1neg, model.wv.vectors
    return rho, alpha
