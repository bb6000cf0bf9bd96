"""How much text of papers is shown, and their formulas as MathML for pages; cached."""

from collections.abc import Callable

from eqemb.index.renderings import DISPLAY_MATHML, INLINE_MATHML, UNICODE_TEXT, render
from eqemb.search.snippets import Renderer
from eqemb.server.cache import LRUCache

#: For each setting of `--snippets`, how many words a page shows on each side of an
#: equation. Hits in the API are cut only by `short` and `none`.
WORDS_SHOWN = {"full": 60, "short": 12, "none": 0}
#: Rendered formulas that a process has read lately, of all libraries.
_CACHE: LRUCache[str] = LRUCache(16_000_000)


class TextRenderer(Renderer):
    """Renders formulas as text alone, for files without MathML."""

    def __init__(self, renderer: Renderer) -> None:
        """`renderer` makes the text."""
        self._renderer = renderer

    def mathml(self, latex: str, *, display: bool = False) -> str:  # noqa: ARG002
        """Nothing."""
        return ""

    def text(self, latex: str) -> str:
        """A formula as one line of Unicode."""
        return self._renderer.text(latex)


class PageRenderer(Renderer):
    """Renders formulas of papers for pages, unless the library has them rendered.

    Formulas of queries are not cached: clients could fill the cache with them.
    """

    def __init__(
        self,
        find: Callable[[str, str], str | None] = lambda _kind, _latex: None,
        cache: LRUCache[str] = _CACHE,
    ) -> None:
        """`find(kind, latex)` returns a stored rendering, or None."""
        self._find, self.cache = find, cache

    def mathml(self, latex: str, *, display: bool = False) -> str:
        """A formula as MathML for a page."""
        return self._rendered(DISPLAY_MATHML if display else INLINE_MATHML, latex)

    def text(self, latex: str) -> str:
        """A formula as one line of Unicode."""
        return self._rendered(UNICODE_TEXT, latex)

    def _rendered(self, kind: str, latex: str) -> str:
        key = f"{kind} {latex}"
        found = self.cache.get(key)
        if found is None:
            found = self._find(kind, latex)
            if found is None:
                found = render(kind, latex)
            self.cache.put(key, found)
        return found
