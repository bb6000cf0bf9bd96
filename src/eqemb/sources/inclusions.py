r"""Which TeX file of a folder includes which, by the names in `\input` and similar commands.

A name is looked up beside the main file, then in the folder of the file that has it, then in those
above. So what a file includes depends on the folder of the main file, its `home`. All questions
about many main files are answered in one walk over each home, not in one over each main file.
"""

import posixpath
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

_MACRO = re.compile(r"\\[A-Za-z@]+|#\d|[{}]")
_TEX_ENDS = (".tex", "", ".ltx")
#: Folders above a file in which names are looked up: a hostile path may have thousands.
_MOST_ABOVE = 30
_MOST_NAMESAKES, _MOST_ALIKE = 1_000, 20
#: Papers that share parts look at them once for each paper. All may look at so many files together,
#: and at so many more for each file of the folder; then each at so many.
_STEPS, _STEPS_PER_FILE, _STEPS_EACH = 500_000, 50, 300


def upward(path: str) -> list[str]:
    """The folders above a path, nearest first; the top is ''."""
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(len(parts) - 1, -1, -1)]


def has_macro(use: str) -> bool:
    """Whether a macro hides a part of a name."""
    return _MACRO.search(use) is not None


class _Use(NamedTuple):
    """A name that a file includes, and where it leads."""

    name: str
    nearby: tuple[str, ...]
    """For each of `_TEX_ENDS`, the file near the one that has it, or ''; if macros hide the folder,
    all files that may be meant."""
    is_hidden: bool


class Inclusions:
    """The files of a folder, and what they include."""

    def __init__(self) -> None:
        self.heads: Collection[str] = ()
        """Files in which a document begins; a name with a macro means none of them."""
        self._known: set[str] = set()
        self._by_name: dict[tuple[str | None, str], list[str]] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        self._uses: dict[str, list[_Use]] = {}
        self._left = _STEPS

    def add(self, path: str) -> None:
        """Add a file that may be included."""
        self._known.add(path)
        folder, name = posixpath.split(path)
        for group in (_group(folder), None):
            self._by_name.setdefault((group, name), []).append(path)
        self._uses.clear()
        self._left += _STEPS_PER_FILE

    def note(self, path: str, uses: tuple[str, ...]) -> None:
        """Note the names that a file includes."""
        self._names[path] = uses

    def reach(self, starts: Iterable[str], home: str) -> set[str]:
        """All files included, directly or not, by `starts`, if the main file is in `home`."""
        return self.reach_some(starts, home)[0]

    def reach_some(self, starts: Iterable[str], home: str) -> tuple[set[str], bool]:
        """As `reach`, and whether these are all, rather than those before a limit."""
        edges, is_whole = self._walk(starts, home)
        return set(edges), is_whole

    def _walk(self, starts: Iterable[str], home: str) -> tuple[dict[str, list[str]], bool]:
        """What each of the files that `starts` reach includes, and whether these are all."""
        edges: dict[str, list[str]] = {path: [] for path in starts}
        queue = list(edges)
        least = self._left - max(self._left, _STEPS_EACH * len(edges))
        while queue and self._left > least:
            path = queue.pop()
            edges[path] = list(islice(self._included(path, home), self._left - least))
            self._left -= 1 + len(edges[path])
            for other in edges[path]:
                if other not in edges:
                    edges[other] = []
                    queue.append(other)
        return edges, self._left > least

    def reach_all(self, mains: Iterable[str]) -> set[str]:
        """All files included by any of these main files, and they themselves."""
        groups = _by_folder(mains)
        return set().union(*(self.reach(starts, home) for home, starts in groups.items()))

    def tops(self, paths: list[str]) -> set[str]:
        """The paths that no other path includes; of a cycle, the first."""
        groups = _by_folder(paths)
        tops = set(paths).difference(
            *(self._by_others(starts, home) for home, starts in groups.items())
        )
        covered = self.reach_all(tops)
        for path in paths:
            if path not in covered:
                tops.add(path)
                covered |= self.reach([path], posixpath.dirname(path))
        return tops

    def _by_others(self, starts: list[str], home: str) -> set[str]:
        """The files that are included by another file than themselves, from `starts`."""
        edges, _ = self._walk(starts, home)
        rings = _rings(edges)
        entered = {
            rings[target]
            for path, targets in edges.items()
            for target in targets
            if rings[target] != rings[path]
        }
        begun = Counter(rings[path] for path in starts)
        is_start = set(starts).__contains__
        return {
            path
            for path, ring in rings.items()
            if ring in entered or begun[ring] > 1 or not is_start(path)
        }

    def _included(self, path: str, home: str) -> Iterator[str]:
        """The files that a file includes itself."""
        if path not in self._uses:
            folders = upward(path)[:_MOST_ABOVE]
            uses = (self._resolve(name, folders) for name in self._names.get(path, ()))
            self._uses[path] = list(filter(None, uses))
        for use in self._uses[path]:
            if use.is_hidden:
                yield from use.nearby
                continue
            beside = _join(home, use.name)
            for end, near in zip(_TEX_ENDS, use.nearby, strict=True):
                if target := beside + end if beside + end in self._known else near:
                    yield target
                    break

    def _resolve(self, name: str, folders: list[str]) -> _Use | None:
        """Where a name leads; None if it leads nowhere, wherever the main file is."""
        tail = _MACRO.split(name)[-1].lstrip("/ ")
        if not tail:
            return None
        if tail != name:
            alike = [path for end in _TEX_ENDS for path in self._alike(tail + end, folders[0])]
            return _Use(name, tuple(alike), is_hidden=True) if alike else None
        base = posixpath.basename(posixpath.normpath(name))
        if not any((None, base + end) in self._by_name for end in _TEX_ENDS):
            return None
        places = [_join(folder, name) for folder in folders]
        nearby = (
            next((place + end for place in places if place + end in self._known), "")
            for end in _TEX_ENDS
        )
        return _Use(name, tuple(nearby), is_hidden=False)

    def _alike(self, tail: str, folder: str) -> list[str]:
        """Parts whose path ends in `tail`, in the same top-level folder or else anywhere."""
        for group in (_group(folder), None):
            paths = self._by_name.get((group, posixpath.basename(tail)), ())[:_MOST_NAMESAKES]
            paths = [path for path in paths if f"/{path}".endswith(f"/{tail}")]
            if alike := [path for path in paths if path not in self.heads]:
                return alike[:_MOST_ALIKE]
        return []


def _join(folder: str, name: str) -> str:
    """The path of a name in a folder; folders are long and normal, names are short."""
    if folder and not name.startswith("/"):
        normal = posixpath.normpath(name)
        if normal != "." and not normal.startswith(".."):
            return f"{folder}/{normal}"
    return posixpath.normpath(posixpath.join(folder, name))


def _group(folder: str) -> str:
    """The top-level folder that a folder lies in."""
    return folder.split("/", 1)[0]


def _by_folder(paths: Iterable[str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for path in paths:
        groups.setdefault(posixpath.dirname(path), []).append(path)
    return groups


def _rings(edges: dict[str, list[str]]) -> dict[str, int]:
    """The strongly connected component of each node, by Tarjan's algorithm without recursion."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    rings: dict[str, int] = {}
    waiting: list[str] = []
    for first, included in edges.items():
        if first in number:
            continue
        number[first] = lowest[first] = len(number)
        waiting.append(first)
        stack = [(first, iter(included))]
        while stack:
            node, rest = stack[-1]
            target = next(rest, None)
            if target is None:
                stack.pop()
                if stack:
                    above = stack[-1][0]
                    lowest[above] = min(lowest[above], lowest[node])
                while lowest[node] == number[node] and node not in rings:
                    rings[waiting.pop()] = number[node]
            elif target not in number:
                number[target] = lowest[target] = len(number)
                waiting.append(target)
                stack.append((target, iter(edges[target])))
            elif target not in rings:
                lowest[node] = min(lowest[node], number[target])
    return rings
