"""Map positions of the expanded text back to files, lines and the text as written."""

from bisect import bisect_right

from eqemb.readers.latex.files import Files


class SourceMap:
    """Maps positions of the expanded text back to the source."""

    def __init__(
        self, files: Files, names: list[str], pieces: list[tuple[int, int, int, int]]
    ) -> None:
        self._files = files
        self._names = names
        self._pieces = pieces
        self._starts = [piece[0] for piece in pieces]

    def place(self, position: int, *, end: bool = False) -> tuple[str, int]:
        """The file and offset that an output position came from.

        Within a macro's expansion that is the macro call: its start, or with `end` its end.
        """
        index = bisect_right(self._starts, position - end) - 1
        if index < 0:
            return (self._names[0] if self._names else "", 0)
        out, file, start, stop = self._pieces[index]
        name = self._names[file]
        if stop < 0:
            return name, start + position - out
        return name, (stop if end else start)

    def line(self, position: int, *, end: bool = False) -> tuple[str, int]:
        """The file and line that an output position came from."""
        name, offset = self.place(position, end=end)
        return name, self._files.line(name, offset)

    def covered(self, length: int) -> dict[str, list[tuple[int, int]]]:
        """The parts of each file that the output, `length` characters, came from, sorted."""
        spans: dict[str, list[tuple[int, int]]] = {}
        ends = [*self._starts[1:], length]
        for (out, file, start, stop), end in zip(self._pieces, ends, strict=False):
            last = stop if stop >= 0 else start + end - out
            spans.setdefault(self._names[file], []).append((start, last))
        return {name: sorted(found) for name, found in spans.items()}

    def as_written(self, start: int, end: int) -> str | None:
        """The author's text of an output range; None unless it is one piece of one file."""
        first, a = self.place(start)
        last, b = self.place(end, end=True)
        if first != last or a >= b or b - a > 4 * (end - start) + 4000:
            return None
        return self._files.text(first)[a:b]
