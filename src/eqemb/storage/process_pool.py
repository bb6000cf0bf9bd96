"""Pools of processes that are started anew, end with their parent, and may die."""

import multiprocessing
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from eqemb.errors import EqembError
from eqemb.storage.process import safe_spawn


@contextmanager
def spawned_pool(
    processes: int, remedy: str, *, tasks_of_each: int | None = None
) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of new processes, which end with this one however it ends.

    If one of them dies, all work ends with an error, which says what to do by `remedy`.
    """
    spawn = multiprocessing.get_context("spawn")
    try:
        with (
            safe_spawn(),  # first: the constructor of the pool already starts a process
            ProcessPoolExecutor(
                processes, spawn, _end_with_parent, max_tasks_per_child=tasks_of_each
            ) as pool,
        ):
            yield pool
    except BrokenProcessPool:
        raise EqembError(
            "a worker process ended before its work was done (killed, or out of memory):"
            f" free memory, {remedy}"
        ) from None


def _end_with_parent() -> None:
    """Let a process of a pool exit soon after its parent ended for any reason."""
    threading.Thread(target=_wait_for_creator, daemon=True).start()


def _wait_for_creator() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
