"""Count the files under paths by suffix, for a message that says what was found."""

import posixpath
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from eqemb.sources.files import is_folder
from eqemb.sources.folders import walk

_MOST_FILES = 100_000
_MOST_SUFFIXES = 6


def describe_files(paths: Iterable[str | Path]) -> str:
    """Say what is under these paths: "12 .png and 3 .py files", or "no files"."""
    counts: Counter[str] = Counter()
    for path in map(Path, paths):
        files = walk(str(path), _MOST_FILES).files if is_folder(path) else [path.name]
        counts.update(posixpath.splitext(file)[1].lower() for file in files)
    bare = counts.pop("", 0)
    shown = [f"{count:,} {end}" for end, count in counts.most_common(_MOST_SUFFIXES)]
    others = sum(counts.values()) - sum(count for _, count in counts.most_common(_MOST_SUFFIXES))
    shown += [f"{others:,} other"] if others else []
    shown += [f"{bare:,} without suffix"] if bare else []
    if not shown:
        return "no files"
    listed = " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))
    total = sum(counts.values()) + bare
    return listed + (f" file{'s' * (total != 1)}" if not bare else "")
