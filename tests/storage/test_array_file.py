"""Array files: those that are filled later are those that are written at once."""

import errno
import gc
import mmap
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from eqemb.storage.array_file import create_arrays, map_arrays, open_npy, release, write_arrays


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


def test_an_array_that_cannot_be_mapped_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system says only that there is no memory."""
    path = tmp_path / "array.npy"
    np.save(path, np.arange(10))

    def refuse(*_given: object, **_named: object) -> None:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.setattr(mmap, "mmap", refuse)
    with pytest.raises(OSError, match=r"array\.npy"):
        open_npy(path)


def test_many_threads_open_arrays_at_once(tmp_path: Path) -> None:
    """Garbage collection while a file is opened lets another thread open one, too."""
    path = tmp_path / "array.npy"
    np.save(path, np.arange(10))
    failures: list[BaseException] = []

    def open_often() -> None:
        for _ in range(100):
            try:
                assert open_npy(path).sum() == 45
            except BaseException as error:  # noqa: BLE001 - SystemError before the fix
                failures.append(error)

    def yield_to_others(_phase: str, _info: object) -> None:
        time.sleep(0)

    threads = [threading.Thread(target=open_often) for _ in range(8)]
    before = gc.get_threshold()
    gc.callbacks.append(yield_to_others)
    gc.set_threshold(20)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.callbacks.remove(yield_to_others)
        gc.set_threshold(*before)
    assert not failures
