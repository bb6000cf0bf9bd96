"""A cache of read-only data on a device, bounded by memory.

This is the only place that knows how much of a device's memory may be taken, and how much is.
"""

import weakref
from collections.abc import Callable
from typing import Any, TypeVar

import torch

#: What a cached value is made of, as its key.
KeyArrays = tuple[Any, ...]
Made = TypeVar("Made")


def free_memory(device: Any) -> int:
    """Free bytes of a GPU, including those that torch holds but does not use."""
    held = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(torch.cuda.mem_get_info(device)[0] + held)


class DeviceCache:
    """Values keyed by the arrays that they were made of; freed with the first of those arrays."""

    def __init__(self, device: Any, memory: int | None) -> None:
        """`memory` is the limit in bytes; None is half of what would be free without the cache."""
        self.device, self.memory, self.used = device, memory, 0
        self._cached: dict[KeyArrays, tuple[Any, int, list[Any]]] = {}

    def __len__(self) -> int:
        return len(self._cached)

    def available(self, made: int = 0) -> int:
        """Bytes that may still be taken, given that `made` bytes exist but are not cached yet."""
        if self.memory is not None:
            return max(0, self.memory - self.used)
        if self.device.type != "cuda":
            return 1 << 62
        return max(0, (free_memory(self.device) + made - self.used) // 2)

    def get(self, arrays: KeyArrays, *more: Any) -> Any:
        """The cached value of some arrays, or None."""
        cached = self._cached.get(_key(arrays, more))
        return cached[0] if cached else None

    def get_or_make(
        self, make: Callable[[], Made], arrays: KeyArrays, *more: Any, size: int | None = None
    ) -> Made:
        """The cached value of arrays, or a new one, which is cached if there is room.

        Its size is counted unless it is given; 0 is for values that must be on the device anyway.
        """
        key = _key(arrays, more)
        if key in self._cached:
            return self._cached[key][0]  # type: ignore[no-any-return]
        made = make()
        if size is None:
            parts: Any = [made] if isinstance(made, torch.Tensor) else made
            size = sum(part.nbytes for part in parts)
        if size <= self.available(size):
            mine = weakref.ref(self)  # a strong reference would keep the cache alive

            def forget(_: Any) -> None:
                if (cache := mine()) is not None:
                    cache._drop(key)  # noqa: SLF001

            self._cached[key] = made, size, [weakref.ref(array, forget) for array in arrays]
            self.used += size
        return made

    def clear(self) -> None:
        """Free everything: it can be made again."""
        self._cached.clear()
        self.used = 0

    def _drop(self, key: KeyArrays) -> None:
        self.used -= self._cached.pop(key, (None, 0))[1]


def _key(arrays: KeyArrays, more: KeyArrays) -> KeyArrays:
    return (*map(id, arrays), *more)
