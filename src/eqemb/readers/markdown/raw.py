"""Leave out what is not text in lines of Markdown: comments, scripts, drawings, preformatted text.

What is not closed is text. Each line is gone through once.
"""

import re
from dataclasses import dataclass, field
from functools import cache

#: A line that is left out. It does not end a paragraph, as a blank line does.
HIDDEN = "\x00"
_RAW = re.compile(
    r"<(script|style|pre|svg|math|d-code|textarea)\b[^<>]*>|<!--"
    r"|\{%-?\s*(highlight|comment)\b[^{}]*%\}",
    re.IGNORECASE,
)
_CODE_SPAN = re.compile(r"`+[^`\n]*`+")


@dataclass(slots=True)
class RawParts:
    """Cuts raw content out of the lines of a document."""

    lines: list[str]
    _never_closed: set[str] = field(default_factory=set)

    def cut(self, line: str, number: int) -> str:
        """A line without raw content; later lines of what begins in it are changed.

        Args:
            line: What was read of the line.
            number: Its index.
        """
        shown = _CODE_SPAN.sub(_blank, line)
        kept, at = [], 0
        while match := _RAW.search(shown, at):
            name = (match[1] or match[2] or "").lower()
            found = None
            if name not in self._never_closed:
                found = _closing(name, is_tag=bool(match[1])).search(line, match.end())
            if found is not None:
                kept.append(line[at : match.start()])
                at = found.end()
            elif self._hide(name, number, is_tag=bool(match[1])):
                return "".join([*kept, line[at : match.start()]])
            else:
                kept.append(line[at : match.end()])
                at = match.end()
        return "".join([*kept, line[at:]])

    def _hide(self, name: str, number: int, *, is_tag: bool) -> bool:
        """Hide the lines after one up to the end of raw content; whether it ends."""
        if name in self._never_closed:
            return False
        closing = _closing(name, is_tag=is_tag)
        for last in range(number + 1, len(self.lines)):
            if found := closing.search(self.lines[last]):
                rest = self.lines[last][found.end() :].strip()
                self.lines[number + 1 : last + 1] = [HIDDEN] * (last - number - 1) + [
                    rest or HIDDEN
                ]
                return True
        self._never_closed.add(name)
        return False


@cache
def _closing(name: str, *, is_tag: bool) -> re.Pattern[str]:
    if not name:
        return re.compile("-->")
    end = rf"</{name}\s*>" if is_tag else rf"\{{%-?\s*end{name}\b[^{{}}]*%\}}"
    return re.compile(end, re.IGNORECASE)


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])
