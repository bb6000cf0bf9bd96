"""A barrier at which threads within compiled loops wait for each other.

Handing each phase of a batch to a pool of threads costs about 100 microseconds, as long as the
phase itself where batches are small. Threads that stay in a compiled loop and wait here are through
in about one. They spin for a moment, then let other threads of the system run.
"""

import ctypes
import os
from typing import Any

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from eqemb.kernels.compiling import kernel
from eqemb.storage.numba_settings import import_numba

import_numba()

from numba import types  # noqa: E402
from numba.extending import intrinsic  # noqa: E402

Meeting = NDArray[np.int64]

_ARRIVED, _PASSED, _ABORTED = 0, 8, 16  # each in a cache line of its own
_SPINS = 2_000  # some ten microseconds
_YIELD = "eqemb_yield"


def _yield_address() -> int:
    """The address of the system's function that lets other threads run."""
    if os.name == "nt":
        function = ctypes.WinDLL("kernel32").SwitchToThread  # type: ignore[attr-defined,unused-ignore]
    else:
        function = ctypes.CDLL(None).sched_yield
    return ctypes.cast(function, ctypes.c_void_p).value or 0


llvmlite.binding.add_symbol(_YIELD, _yield_address())
_let_others_run = types.ExternalFunction(_YIELD, types.int32())


def meeting() -> Meeting:
    """The state of a barrier."""
    return np.zeros(24, np.int64)


def abort(state: Meeting) -> None:
    """End all waiting at a barrier, now and later."""
    state[_ABORTED] = 1


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The place of an element of a contiguous array, given with the first two arguments."""
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    return builder.gep(data, [arguments[1]])


@intrinsic
def _add(typing: Any, array: Any, index: Any) -> Any:
    """Add one to an element; return what it was."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _pointer(context, builder, signature, arguments)
        return builder.atomic_rmw("add", place, ir.IntType(64)(1), "acq_rel")

    del typing
    return types.int64(array, index), generate


@intrinsic
def _load(typing: Any, array: Any, index: Any) -> Any:
    """An element, and everything that was written before it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _pointer(context, builder, signature, arguments)
        return builder.load_atomic(place, "acquire", 8)

    del typing
    return types.int64(array, index), generate


@kernel
def meet(state: Meeting, members: int) -> bool:
    """Wait until all members are here. False if one of them aborted, and will never be."""
    if members == 1:
        return True
    turn = _load(state, _PASSED)  # type: ignore[call-arg, var-annotated]
    if _add(state, _ARRIVED) == members * (turn + 1) - 1:
        _add(state, _PASSED)
        return True
    spins = 0
    while _load(state, _PASSED) == turn:
        if _load(state, _ABORTED):
            return False
        spins += 1
        if spins > _SPINS:
            _let_others_run()
    return True
