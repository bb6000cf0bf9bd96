"""What is kept on a device: things made of arrays that are only read, as long as memory allows.

This is the one place that knows how much of a device's memory may be taken, and how much is.
"""

import weakref
from collections.abc import Callable
from typing import Any, TypeVar

import torch

Arrays = tuple[Any, ...]
Made = TypeVar("Made")


def free(device: Any) -> int:
    """Bytes that are free on a GPU; what torch has let go of, and holds for later, is."""
    held = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(torch.cuda.mem_get_info(device)[0] + held)


class Shelf:
    """Things by the arrays that they were made of; they go with the first of those."""

    def __init__(self, device: Any, memory: int | None) -> None:
        """`memory` is the bytes that may be taken; else half of what would be free without them."""
        self.device, self.memory, self.used = device, memory, 0
        self._kept: dict[Arrays, tuple[Any, int, list[Any]]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def left(self, made: int = 0) -> int:
        """Bytes that may still be taken; so many are made already, and not on the shelf."""
        if self.memory is not None:
            return max(0, self.memory - self.used)
        if self.device.type != "cuda":
            return 1 << 62
        return max(0, (free(self.device) + made - self.used) // 2)

    def get(self, arrays: Arrays, *more: Any) -> Any:
        """What is kept of some arrays, or None."""
        kept = self._kept.get(_key(arrays, more))
        return kept[0] if kept else None

    def once(
        self, make: Callable[[], Made], arrays: Arrays, *more: Any, size: int | None = None
    ) -> Made:
        """What is made of arrays, and of more: once where there is room for it, else each time.

        Its size is counted, unless it is given: 0 is for what has to be there in any case.
        """
        key = _key(arrays, more)
        if key in self._kept:
            return self._kept[key][0]  # type: ignore[no-any-return]
        made = make()
        if size is None:
            parts: Any = [made] if isinstance(made, torch.Tensor) else made
            size = sum(part.nbytes for part in parts)
        if size <= self.left(size):
            mine = weakref.ref(self)  # a shelf that held itself would outlive its kernels

            def forget(_: Any) -> None:
                if (shelf := mine()) is not None:
                    shelf._drop(key)  # noqa: SLF001

            self._kept[key] = made, size, [weakref.ref(array, forget) for array in arrays]
            self.used += size
        return made

    def clear(self) -> None:
        """Let go of everything: it can be made again."""
        self._kept.clear()
        self.used = 0

    def _drop(self, key: Arrays) -> None:
        self.used -= self._kept.pop(key, (None, 0))[1]


def _key(arrays: Arrays, more: Arrays) -> Arrays:
    return (*map(id, arrays), *more)
