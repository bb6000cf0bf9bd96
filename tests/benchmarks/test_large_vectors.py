"""The benchmark of large vector indexes runs on a small library."""

import re
import sys
from pathlib import Path

import large_vectors
import numpy as np
import pytest
from synthetic_vectors import VectorMaker

from axes import make_library

pytest.importorskip("faiss", reason="needs faiss, the extra `ann`")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with a handmade model."""
    with make_library(tmp_path_factory.mktemp("vectors")) as made:
        return made.folder


def test_made_vectors_have_length_one_and_depend_on_the_seed(library: Path, tmp_path: Path) -> None:
    """The same seed gives the same vectors."""
    maker = VectorMaker(library)
    made = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        maker.write(tmp_path / f"{name}.npy", 500, seed)
        made.append(np.load(tmp_path / f"{name}.npy"))
    assert np.linalg.norm(made[0], axis=1) == pytest.approx(np.ones(500), abs=1e-5)
    assert made[0].tolist() == made[1].tolist() != made[2].tolist()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
def test_all_figures_are_printed(
    library: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Build, latency, memory and recall."""
    maker = VectorMaker(library)
    np.save(tmp_path / "words.npy", maker.words)
    large_vectors.compare_real(maker, tmp_path)
    maker.write(tmp_path / "vectors.npy", 2_000, 1)
    large_vectors.build(tmp_path)
    large_vectors.ask(tmp_path)
    shown = capsys.readouterr().out
    for line in ("made, recall@10 by lists", "build: encoding", "on disk", "nearest 1,000, two"):
        assert line in shown
    assert re.search(r"recall@10 +rows [.\d]+, words [.\d]+", shown)
    assert "FAISS HNSW32 ef 64" in shown
