"""Cut the power while a library is changed: what was not synced may be missing, in any combination.

A file that was written has its content on the disk after `fsync` of the file; before, it may have
the content of its last sync, none, zeros, or the first half. A folder has its entries after `fsync`
of the folder; before, each entry that was made, renamed or removed since may be the old one or the
new one. This is less than what common file systems promise. SQLite syncs its own files, by calls
that are not seen: what it has written is taken as it is, except in some of the random cases.
"""

import hashlib
import random
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faults import Result, files_later, run_again
from library_changes import Change, copy_library, state
from system_calls import Watcher, watched

#: A folder, by its entries, or the content of a file.
Tree = dict[str, Any] | bytes
_Entries = dict[int, dict[str, int]]
#: What a file may have, given what was synced and what was written.
_CONTENTS: dict[str, Callable[[bytes, bytes], bytes]] = {
    "synced": lambda synced, _: synced,
    "zeros": lambda _, written: bytes(len(written)),
    "half": lambda _, written: written[: len(written) // 2],
    "all": lambda _, written: written,
}
_RANDOM_CASES = 2


class _Choice:
    """Decides which entries are new, and what files have."""

    def __init__(self, content: str, *, is_new: bool) -> None:
        self.name, self._is_new = f"{content}, {'new' if is_new else 'old'} names", is_new
        self._content = _CONTENTS[content]

    def entry(self, old: int | None, new: int | None) -> int | None:
        """Return the number of an entry: that which was synced, or that which was made."""
        return new if self._is_new else old

    def content(self, name: str, synced: bytes, written: bytes) -> bytes:
        """Return the content of a file."""
        return written if ".sqlite" in name else self._content(synced, written)


class _RandomChoice(_Choice):
    """Decides for each entry and each file apart."""

    def __init__(self, seed: int) -> None:
        self.name, self._dice, self._is_trusted = "random", random.Random(seed), seed % 2 == 0

    def entry(self, old: int | None, new: int | None) -> int | None:
        return self._dice.choice((old, new))

    def content(self, name: str, synced: bytes, written: bytes) -> bytes:
        if ".sqlite" in name and self._is_trusted:
            return written
        return self._dice.choice(list(_CONTENTS.values()))(synced, written)


@dataclass
class Cut:
    """What is known of the disk at the moment of a cut; folders and files have numbers."""

    call: int
    synced_entries: _Entries
    synced_data: dict[int, bytes]
    entries: _Entries
    data: dict[int, bytes]

    def trees(self) -> Iterator[tuple[str, Tree]]:
        """Yield what the disk may hold, by the name of the case."""
        choices = [_Choice("synced", is_new=False)]
        choices += [_Choice(content, is_new=True) for content in _CONTENTS]
        first = self.call * _RANDOM_CASES
        choices += [_RandomChoice(seed) for seed in range(first, first + _RANDOM_CASES)]
        for choice in choices:
            yield choice.name, self._tree(0, "", choice)

    def _tree(self, number: int, name: str, choice: _Choice) -> Tree:
        if number not in self.entries and number not in self.synced_entries:
            synced = self.synced_data.get(number, b"")
            written = self.data.get(number, synced)
            return written if written == synced else choice.content(name, synced, written)
        old, new = self.synced_entries.get(number, {}), self.entries.get(number, {})
        made: dict[str, Any] = {}
        for entry in sorted({*old, *new}):
            both = old.get(entry), new.get(entry)
            found = both[0] if both[0] == both[1] else choice.entry(*both)
            if found is not None:
                made[entry] = self._tree(found, entry, choice)
        return made


class _Disk(Watcher):
    """Notes what is synced, which is all at first, and the state of the disk before some calls."""

    def __init__(self, folder: Path, at: Collection[int]) -> None:
        self._folder, self._at = folder, at
        self._numbers = {folder.stat().st_ino: 0}
        self._made = 0
        self._entries: _Entries = {}
        self._data: dict[int, bytes] = {}
        self.calls = 0
        self.cuts: list[Cut] = []
        for path in [folder, *folder.rglob("*")]:
            self.synced(path)

    def _number(self, path: Path) -> int:
        inode = path.lstat().st_ino
        if inode not in self._numbers:
            self._made += 1
            self._numbers[inode] = self._made
        return self._numbers[inode]

    def _listed(self, folder: Path) -> dict[str, int]:
        return {path.name: self._number(path) for path in folder.iterdir()}

    def created(self, path: Path) -> None:
        self._numbers.pop(path.lstat().st_ino, None)  # the number of a file that was removed
        number = self._number(path)
        if path.is_dir():
            self._entries[number] = {}

    def synced(self, path: Path) -> None:
        if path.is_dir():
            self._entries[self._number(path)] = self._listed(path)
        else:
            self._data[self._number(path)] = path.read_bytes()

    def before(self, kind: str, path: Path) -> None:
        self.calls += 1
        if self.calls in self._at:
            self.cut()
        if kind in {"remove", "rename"}:
            self._forget(path)

    def _forget(self, path: Path) -> None:
        """Forget the number of what is removed or replaced: another file may get its inode."""
        with suppress(FileNotFoundError):
            found = path.lstat()
            if found.st_nlink == 1 or path.is_dir():
                self._numbers.pop(found.st_ino, None)

    def cut(self) -> None:
        """Note the state of the disk."""
        entries, data = {}, {}
        for path in [self._folder, *self._folder.rglob("*")]:
            if path.is_dir():
                entries[self._number(path)] = self._listed(path)
            else:
                data[self._number(path)] = path.read_bytes()
        synced = {number: dict(names) for number, names in self._entries.items()}
        self.cuts.append(Cut(self.calls, synced, dict(self._data), entries, data))


def cut_power(change: Change, library: Path, at: Collection[int]) -> Result:
    """Make a change once, and look at what each cut of power may leave of the library."""
    copy_library(change, library)
    old, place = state(library), library.parent
    disk = _Disk(place, at)
    with watched(place, disk):
        change.run(library, False)  # noqa: FBT003
    disk.cut()
    new, wanted, result = state(library), files_later(library), Result()
    seen: Counter[str] = Counter()
    for cut in disk.cuts:
        for name, tree in cut.trees():
            key = hashlib.sha256(repr(tree).encode()).hexdigest()
            seen[key] += 1
            if seen[key] > 1:
                continue
            shutil.rmtree(place)
            _write(tree, place)
            found = state(library)
            result.failed[name] += 1
            kept = {old: "old", new: "new"}.get(found, "other")
            result.outcomes[kept] += 1
            problems = [f"the library is neither old nor new: {found[:300]}"] * (kept == "other")
            if cut is disk.cuts[-1] and kept != "new":
                problems.append("the change was finished, and is lost")
            resume = kept == "new" or len(seen) % 2 == 0
            problems += run_again(change, library, new, wanted, resume=resume)
            result.problems += [f"before call {cut.call}, {name}: {text}" for text in problems]
    return result


def _write(tree: Tree, place: Path) -> None:
    """Write a folder or a file where nothing is."""
    if isinstance(tree, bytes):
        place.write_bytes(tree)
        return
    place.mkdir(parents=True)
    for name, entry in tree.items():
        _write(entry, place / name)
