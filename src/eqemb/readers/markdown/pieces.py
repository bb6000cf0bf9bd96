"""What was read of a text, kept in order until all of it is known."""

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from eqemb.readers.html.tree import decode_entities
from eqemb.readers.markdown.maths import unescape_entities

_SCHEME = re.compile(r"[a-z]{0,10}$")


class Sink(Protocol):
    """Takes what was read; a `Draft` is one."""

    def text(self, piece: str) -> None:
        """Take running text."""

    def inline(self, latex: str) -> None:
        """Take a formula within the text."""

    def reference(self, label: str) -> None:
        """Take a reference to an equation."""

    def break_sentence(self) -> None:
        """End a sentence."""

    def lost(self, cause: str, line: int, detail: str = "") -> None:
        """Count a display that could not be read."""


class Piece(NamedTuple):
    """A call of one of the sink's methods."""

    method: str
    arguments: tuple[Any, ...]
    options: dict[str, Any]


@dataclass(slots=True)
class Pieces:
    """The pieces of one text."""

    items: list[Piece | None] = field(default_factory=list)
    """None for a piece that was dropped."""
    notes: list[Piece | None] = field(default_factory=list)
    """Footnotes, which follow the text."""

    def add(self, method: str, *arguments: Any, **options: Any) -> None:
        """Add a call."""
        self.items.append(Piece(method, arguments, options))

    def text(self, text: str) -> None:
        """Add running text."""
        if text:
            text = decode_entities(text)
            if "{" in text or "}" in text:  # what commands of LaTeX leave
                text = text.replace("{", "").replace("}", "")
            self.add("text", text)

    def inline(self, latex: str) -> None:
        """Add a formula within the text."""
        self.add("inline", unescape_entities(latex))

    def drop(self, first: int, kept: str = "") -> None:
        """Drop an image, a citation or the mark of a footnote, but keep calls of one method.

        A display in it is lost.
        """
        content = [piece for piece in self.items[first:] if piece]
        del self.items[first:]
        for piece in content:
            if piece.method == "display":
                self.add("lost", "in a part that is left out", piece.options["line"])
            elif piece.method in (kept, "lost"):
                self.items.append(piece)

    def move_note(self, first: int) -> None:
        """Move the last pieces, which are a footnote, behind the text."""
        self.notes += [Piece("break_sentence", (), {}), *self.items[first:]]
        del self.items[first:]

    def cut_scheme(self) -> None:
        """Remove "https" from the end of the text, before the rest of an address."""
        if self.items and (last := self.items[-1]) and last.method == "text":
            self.items[-1] = last._replace(arguments=(_SCHEME.sub("", last.arguments[0]),))

    def give(self, sink: Sink) -> bool:
        """Give all pieces to a sink; return whether a display is last."""
        is_last = False
        for piece in [*self.items, *self.notes]:
            if piece is not None:
                getattr(sink, piece.method)(*piece.arguments, **piece.options)
                if piece.method != "text" or piece.arguments[0].strip():
                    is_last = piece.method == "display"
        return is_last


@dataclass(slots=True)
class Place:
    """Where in the file a text stands."""

    line: int
    is_cell: bool = False
    """Whether the number is that of a notebook's cell, which all lines of the text share."""

    def at(self, lines: int) -> int:
        """The number to report after so many further lines."""
        return self.line if self.is_cell else self.line + lines

    def detail(self, text: str) -> str:
        """What a problem says about its place."""
        return f"cell {self.line}: {text}" if self.is_cell else text
