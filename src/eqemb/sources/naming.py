"""Names of articles: by arXiv identifier or by path, each of its own, and lasting.

`names` says what a single path tells.
"""

from collections import Counter
from typing import Protocol

from eqemb.sources.forms import is_better_form
from eqemb.sources.names import arxiv_id, clean_name, place_of, strip_suffixes


class KnownArticles(Protocol):
    """The articles that a library has."""

    def has_article(self, name: str) -> bool:
        """Whether there is an article with this name."""

    def articles_from(self, origin: str) -> list[str]:
        """The names of the articles with an origin, in order."""

    def origin_of(self, name: str) -> str:
        """The origin of the article with this name, or ''."""


class NoArticles:
    """Of a library that is being built."""

    def has_article(self, name: str) -> bool:
        """No name is taken."""
        del name
        return False

    def articles_from(self, origin: str) -> list[str]:
        """No origin is known."""
        del origin
        return []

    def origin_of(self, name: str) -> str:
        """No name is known."""
        del name
        return ""


class Names:
    """Gives every article of a library a name of its own.

    An article is named by its arXiv identifier, or else by its path below the root, without
    suffixes. If another article has that name, the version is appended to the identifier; if that
    is taken too, or there is none, the name is the whole path, with suffixes. A better form of a
    document takes the name of the one that the library has.
    """

    def __init__(self, root: str, known: KnownArticles) -> None:
        """`root` is the name of the root's folder; `known` are the articles of the library."""
        self._root, self._known = root, known
        self._count: Counter[str] = Counter()
        self._earlier: dict[str, list[str]] = {}

    def claim(self, path: str, origin: str) -> str:
        """A unique name for the paper at a path; a known origin keeps its name."""
        if origin not in self._earlier:
            self._earlier[origin] = self._known.articles_from(origin)
        if earlier := self._earlier[origin]:
            return earlier.pop(0)
        choices = self._choices(path)
        name = next((name for name in choices if not self._is_taken(name, origin)), choices[-1])
        unique = name
        while self._is_taken(unique, origin):
            self._count[name] += 1
            unique = f"{name}~{max(self._count[name], 2)}"
        self._count[unique] = 1
        return unique

    def better_form(self, path: str, origin: str) -> str:
        """The origin of a better form of this document that the library has, or ''."""
        there = self._known.origin_of(self._choices(path)[0])
        return there if there and is_better_form(there, origin) else ""

    def _is_taken(self, name: str, origin: str) -> bool:
        if name in self._count:
            return True
        if not self._known.has_article(name):
            return False
        return not is_better_form(origin, self._known.origin_of(name))

    def _choices(self, path: str) -> list[str]:
        """The names that a path suggests, best first."""
        top = f"{self._root}/" if self._root else ""
        place = place_of(top + path)
        name, version = arxiv_id(place)
        below = place if place == self._root else place.removeprefix(top)
        plain = name or "/".join(map(strip_suffixes, (below or path).split("/")))
        choices = [plain, name + version] if version else [plain]
        return [clean_name(choice) for choice in (*choices, path)]
