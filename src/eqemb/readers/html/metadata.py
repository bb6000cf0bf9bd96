"""Authors and date of a web page: its meta elements, and the names that LaTeXML marks."""

from eqemb.readers.draft import Draft
from eqemb.readers.html.tree import Element, Text, descendants
from eqemb.readers.people import names_in

#: Names of meta elements, the most reliable first.
_AUTHOR_ENTRIES = ("citation_author", "dc.creator")
_DATES = ("citation_publication_date", "citation_date", "dc.date", "article:published_time")


class PageMetadata:
    """What the elements of a page say about it."""

    def __init__(self) -> None:
        self._meta: dict[str, list[str]] = {}
        self._people: list[str] = []

    def see(self, element: Element) -> None:
        """Look at an element of the page."""
        if element.name == "meta":
            name = element.get("name") or element.get("property")
            self._meta.setdefault(name.lower(), []).append(element.get("content"))
        elif "ltx_personname" in element.classes:
            texts = (node.data for node in descendants(element) if isinstance(node, Text))
            self._people.append(" ".join(texts))

    def give_to(self, draft: Draft) -> None:
        """Give the draft what was found."""
        dates = (self._meta.get(name, [""])[0] for name in _DATES)
        draft.authors(self._authors(), next(filter(None, dates), ""))

    def _authors(self) -> list[str]:
        """The entries of authors, or names on lines that are not made for programs."""
        for name in _AUTHOR_ENTRIES:
            if name in self._meta:
                return self._meta[name]
        found = [names_in(line) for line in self._people or self._meta.get("author", [])]
        return [name for names in found for name in names] if all(found) else []
