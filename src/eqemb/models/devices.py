"""Which device trains: whether there is a GPU that works, and its kernels."""

import ctypes
import functools
import importlib
from importlib.util import find_spec
from typing import Any

from eqemb.errors import EqembError, UsageError


@functools.cache
def gpu_problem() -> str | None:
    """Why no GPU trains here: "" if there is none, None if there is one that works.

    It is decided by running a small training step. Without a driver torch is not even imported.
    """
    if not any(map(_loads, ("libcuda.so.1", "nvcuda.dll"))) or find_spec("torch") is None:
        return ""
    try:
        kernels = gpu_kernels()
        if not importlib.import_module("torch").cuda.is_available():
            return ""
        kernels("cuda")
    except EqembError as error:  # without its remedy: the caller has one of its own
        return str(error).partition(": train with")[0]
    return None


def _loads(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def gpu_kernels() -> Any:
    """The GPU back end; a torch that is missing or broken is refused in one sentence."""
    if find_spec("torch") is None:
        raise UsageError("device='cuda' needs torch: pip install 'eqemb[gpu]'")
    try:
        return importlib.import_module("eqemb.kernels.gpu").Kernels
    except (ImportError, OSError, RuntimeError) as error:  # from a library that torch loads
        reason = (str(error).splitlines() or [""])[0]
        raise UsageError(f"torch cannot be imported ({reason}): train with device='cpu'") from None
