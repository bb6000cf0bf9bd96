"""Kill the training of a model by SIGKILL at random moments, and resume it to the same bytes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from eqemb.corpus.split import Split, SplitSettings
from eqemb.models import EqEmbU
from planted import planted

PROGRAM = """
import sys, time
from pathlib import Path
from planted import planted
from eqemb.models import EqEmbU
from eqemb.corpus.split import SplitSettings, Split

corpus = planted()
split = Split.make(corpus, SplitSettings(negatives=10))
model = EqEmbU(dim=10, batch=1024, iterations=15, patience=15)
file = Path(sys.argv[1])
print("ready", flush=True)
slow = lambda *_: time.sleep(float(sys.argv[2]))
model.fit(corpus, split, checkpoint=file, resume=True, callback=slow)
print(model.embeddings_.sha256)
"""


def start(file: Path, pause: float) -> subprocess.Popen[str]:
    """Start a training process, and wait until it has imported everything."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(file), str(pause)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
@pytest.mark.slow
def test_three_kills_end_with_the_same_bytes(tmp_path: Path) -> None:
    """The checkpoint is complete at any moment, and the result is that of one run."""
    corpus = planted()
    split = Split.make(corpus, SplitSettings(negatives=10))
    model = EqEmbU(dim=10, batch=1024, iterations=15, patience=15)
    expected = model.fit(corpus, split).embeddings_.sha256
    random = np.random.default_rng()
    file = tmp_path / "checkpoint"
    for _ in range(3):
        process = start(file, 0.05)
        time.sleep(random.uniform(0.3, 1.2))
        process.kill()
        process.communicate()
    process = start(file, 0.0)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert printed.strip() == expected
