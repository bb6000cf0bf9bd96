"""Array files: those that are filled later are those that are written at once."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqemb.storage.array_file import create_arrays, map_arrays, release, write_arrays


def test_arrays_that_are_filled_give_the_same_file(tmp_path: Path) -> None:
    """Narrow and wide types, empty arrays, and several dimensions."""
    arrays: dict[str, NDArray[Any]] = {
        "small": np.arange(5, dtype=np.int32),
        "wide": np.arange(6, dtype=np.uint64).reshape(2, 3),
        "none": np.empty(0, np.float32),
    }
    write_arrays(tmp_path / "written", arrays)
    made = create_arrays(
        tmp_path / "filled", {name: (array.dtype, array.shape) for name, array in arrays.items()}
    )
    for name, array in arrays.items():
        made[name][:] = array
        release(made[name])
    assert (tmp_path / "filled").read_bytes() == (tmp_path / "written").read_bytes()


def test_released_pages_are_read_again(tmp_path: Path) -> None:
    """What was written, and what was mapped, is still there; other arrays are left alone."""
    write_arrays(tmp_path / "file", {"a": np.arange(9000, dtype=np.int64)})
    found = map_arrays(tmp_path / "file")["a"]
    release(found, found[3:], np.arange(3))
    assert found.tolist() == list(range(9000))
