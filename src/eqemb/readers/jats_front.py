"""Authors and date in the front matter of a JATS article."""

from eqemb.readers.draft import Draft

_PARTS_OF_NAMES = frozenset({"surname", "given-names", "suffix", "string-name", "collab"})


class JatsFrontMatter:
    """Gets the events of front matter, and collects authors and the first date."""

    def __init__(self) -> None:
        self._authors: list[str] = []
        self._name: dict[str, str] | None = None
        """The parts of the author who is being read."""
        self._part = ""
        self._date: dict[str, str] = {}

    def start(self, name: str, attributes: dict[str, str], path: list[str]) -> None:
        """An element begins; `path` ends with it."""
        if name == "contrib" and attributes.get("contrib-type", "author") == "author":
            self._name = {}
        elif self._name is not None and name in _PARTS_OF_NAMES:
            self._part = name
        elif name in ("year", "month", "day") and path[-2:-1] == ["pub-date"]:
            self._part = name if name not in self._date else ""

    def text(self, text: str) -> None:
        """Characters of the current element."""
        if self._part in ("year", "month", "day"):
            self._date[self._part] = self._date.get(self._part, "") + text.strip()
        elif self._part and self._name is not None:
            self._name[self._part] = self._name.get(self._part, "") + text

    def end(self, name: str) -> None:
        """An element ends."""
        if name == self._part:
            self._part = ""
        elif name == "contrib" and self._name is not None:
            parts, self._name = self._name, None
            given = (parts.get(part, "") for part in ("given-names", "surname", "suffix"))
            whole = " ".join(filter(None, given)) or parts.get("string-name") or parts.get("collab")
            self._authors += [whole] if whole else []

    def give_to(self, draft: Draft) -> None:
        """Give the draft what was found."""
        draft.authors(self._authors, self._date.get("year", ""))
