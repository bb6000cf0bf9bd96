"""Groups of articles, such as the repository or thesis that several come from.

Articles of one group are not independent, so errors and bootstraps are clustered by group where a
file of groups is given, and by article otherwise. Its lines are an article's name and its group,
separated by a tab; articles that are not listed are groups of their own.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eqemb.errors import UsageError


def read_groups(path: Path, articles: Iterable[str]) -> dict[str, str]:
    """Read article -> group; refuses a file that names none of the articles."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text: {error.reason}") from None
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        fields = line.split("\t")
        if not line.strip():
            continue
        if len(fields) != 2 or not all(field.strip() for field in fields):
            raise UsageError(
                f"{path}, line {number}: expected an article and its group, separated by a tab"
            )
        article, group = (field.strip() for field in fields)
        if found.setdefault(article, group) != group:
            raise UsageError(f"{path}, line {number}: {article} is already in another group")
    names = list(articles)
    if not found.keys() & set(names):
        raise UsageError(
            f"{path} names no article of this library: its articles are named"
            f" {', '.join(names[:2])}, ..."
        )
    return found


class Clusters:
    """Numbers of the groups of articles, the same in all corpora of a library."""

    def __init__(self, groups: Mapping[str, str] | None = None) -> None:
        self._groups = groups or {}
        self._numbers: dict[tuple[bool, str], int] = {}

    @property
    def kind(self) -> str:
        """What a cluster is: "group" or "article"."""
        return "group" if self._groups else "article"

    def of(self, articles: Iterable[str]) -> NDArray[np.int64]:
        """Return the number of each article's group."""
        keys = [
            (True, self._groups[name]) if name in self._groups else (False, name)
            for name in articles
        ]
        found = [self._numbers.setdefault(key, len(self._numbers)) for key in keys]
        return np.array(found, np.int64)
