"""How much text of papers is shown, and their formulas as MathML for pages; cached."""

from collections.abc import Callable

from eqemb.formula import layout
from eqemb.formula.html import classes_for_styles, without_control_characters
from eqemb.search.snippets import Renderer
from eqemb.server.cache import LRUCache

#: For each setting of `--snippets`, how many words a page shows on each side of an
#: equation. Hits in the API are cut only by `short` and `none`.
WORDS_SHOWN = {"full": 60, "short": 12, "none": 0}


def page_mathml(mathml: str) -> str:
    """MathML that our pages accept: no inline styles, no control characters."""
    return without_control_characters(classes_for_styles(mathml))


class PageRenderer(Renderer):
    """Renders formulas of papers for pages and caches the result.

    Formulas of queries are not cached: clients could fill the cache with them.
    """

    def __init__(self, max_bytes: int) -> None:
        self.cache: LRUCache[str] = LRUCache(max_bytes)

    def mathml(self, latex: str, *, display: bool = False) -> str:
        """A formula as MathML for a page."""
        return self._cached(
            f"{display:d} {latex}", lambda: page_mathml(layout(latex).to_mathml(display=display))
        )

    def text(self, latex: str) -> str:
        """A formula as one line of Unicode."""
        return self._cached(f"text {latex}", lambda: layout(latex).to_text())

    def _cached(self, key: str, render: Callable[[], str]) -> str:
        found = self.cache.get(key)
        if found is None:
            found = render()
            self.cache.put(key, found)
        return found


#: The renderer of the server, shared by all threads.
PAGE = PageRenderer(48_000_000)
