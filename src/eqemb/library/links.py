"""Links in a library: none is ours, and a change through one would be made outside the library.

A library may come from somebody else, and its links may lead to any file or folder of the user.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from eqemb.errors import EqembError

#: The files and folders of a library.
LIBRARY_NAMES = frozenset((
    "library.json", "report.json", "report.html", "generations", "segments", "vectors", "models",
    "corpus", "splits", "encoded",
))  # fmt: skip
_LOCK = ".lock"


def find_links(library: Path) -> Iterator[Path]:
    """Yield the links among the files and folders of a library; it may be one itself."""
    for name in sorted({*LIBRARY_NAMES, _LOCK}):
        if (library / name).is_symlink():
            yield library / name
            continue
        for place, folders, files in os.walk(library / name):  # which follows no links
            folders.sort()
            for found in sorted((*folders, *files)):
                if (path := Path(place, found)).is_symlink():
                    yield path


def refuse_links(library: Path) -> None:
    """Raise an error if there is a link in a library that is about to be changed."""
    link = next(find_links(library), None)
    if link is not None:
        raise EqembError(
            f"{link} is a link, and a library is not changed through links: if you trust it, put"
            " the file or folder that it leads to in its place"
        )
