"""Compiling kernels with numba, and keeping the machine code on disk.

numba compiles a function again when its own file changes. Kernels are inlined into kernels of other
files, so that a change of one would go unnoticed in the others: what is kept is marked with a
digest of all files of this package.
"""

import hashlib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar, cast

from eqemb.storage.numba_settings import import_numba

import_numba()  # first, so that it does not read the settings of the current folder

from numba import njit  # noqa: E402

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile as written: sums in the order of the source, multiply-adds fused."""
    return _compiled(function, {"contract"})


def summing(function: F) -> F:
    """Compile with vectorised sums: the same bytes on the same type of CPU."""
    return _compiled(function, {"contract", "reassoc", "nsz"})


def exact(function: F) -> F:
    """Compile without any freedom in floating-point arithmetic."""
    return _compiled(function, set())


def _compiled(function: F, freedom: set[str]) -> F:
    # Python's check for division by zero would prevent vectorisation.
    made = njit(nogil=True, cache=True, error_model="numpy", fastmath=freedom)(function)
    # numba has no public way to change the stamp. With NUMBA_DISABLE_JIT there is none.
    kept = getattr(getattr(made, "_cache", None), "_cache_file", None)
    if kept is not None:
        kept._source_stamp = kept._source_stamp, sources_digest()  # noqa: SLF001
    return cast("F", made)


@cache
def sources_digest() -> str:
    """Return a digest of the source files of this package."""
    found = hashlib.sha256()
    for file in sorted(files(__package__).iterdir(), key=lambda file: file.name):
        if file.name.endswith(".py"):
            found.update(file.name.encode() + b"\0" + file.read_bytes())
    return found.hexdigest()
