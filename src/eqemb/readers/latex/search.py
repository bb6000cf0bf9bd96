"""Searches in one text whose total cost is linear, however many of them fail.

A hostile text opens thousands of things that never close. Each search for an end would read the
rest of the text again. So the last result for each token is kept, since it also answers searches
that start between the two, and characters that were read in vain are counted.
"""

import re
from typing import NamedTuple

from eqemb.readers.latex.displays import group_end

_PAIRED_TOKEN = re.compile(r"\\.|[{}\[\]]|%[^\n]*", re.DOTALL)
_PAIRED_TOKEN_IN_PLAIN = re.compile(r"\\.|[{}\[\]]", re.DOTALL)


class BracketPairs(NamedTuple):
    """Where the groups and the optional arguments of a text close, by where they open; or -1."""

    groups: dict[int, int]
    options: dict[int, int]


def match_pairs(text: str, *, comments: bool = True) -> BracketPairs:
    """Match all braces and brackets of a text, in one pass from its end.

    A bracket closes at the next one outside the groups after it, within the group around it.
    """
    pairs = BracketPairs({}, {})
    closings: list[int] = []
    bracket, brackets = -1, list[int]()
    token = _PAIRED_TOKEN if comments else _PAIRED_TOKEN_IN_PLAIN
    for match in reversed(list(token.finditer(text))):
        at, sign = match.start(), match[0]
        if sign == "]":
            bracket = at
        elif sign == "[":
            pairs.options[at] = bracket
        elif sign == "}":
            closings.append(at)
            brackets.append(bracket)
            bracket = -1
        elif sign == "{":
            pairs.groups[at] = closings.pop() if closings else -1
            bracket = brackets.pop() if brackets else -1
    return pairs


class TextSearch:
    """Finds tokens and patterns in one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._known: dict[str | re.Pattern[str], tuple[int, int, int]] = {}
        """Where the last search started; where its match starts and ends, or -1 and the limit."""
        self._pairs: BracketPairs | None = None

    def find(self, token: str, pos: int, end: int) -> int:
        """The next position of a token between two positions, or -1."""
        at = self._recall(token, pos, end)
        if at is None:
            first, before, last = self._known.get(token, (end, 0, end))
            is_further = before < 0 and first <= pos <= last  # none between the last two positions
            start = max(pos, last - len(token)) if is_further else pos
            at = self.text.find(token, start, end)
            self._known[token] = (pos, at, at + len(token) if at >= 0 else end)
        return at

    def search(self, pattern: re.Pattern[str], pos: int, end: int) -> int:
        """The start of the next match of a pattern between two positions, or -1."""
        at = self._recall(pattern, pos, end)
        if at is None:
            match = pattern.search(self.text, pos, end)
            at = match.start() if match else -1
            self._known[pattern] = (pos, at, match.end() if match else end)
        return at

    def group_end(self, pos: int, end: int) -> int:
        """Where the group at a position closes; `end` if it does not before that."""
        if self._pairs is not None and pos in self._pairs.groups:
            close = self._pairs.groups[pos]
            return close if 0 <= close < end else end
        close = group_end(self.text, pos + 1, end)
        if close == end and self._pairs is None:  # there may be thousands of these
            self._pairs = match_pairs(self.text, comments=False)
        return close

    def _recall(self, what: str | re.Pattern[str], pos: int, end: int) -> int | None:
        """What the last search says about this one; None if nothing."""
        first, at, last = self._known.get(what, (end + 1, -1, end))
        if first > pos:
            return None
        if at < 0:
            return -1 if end <= last else None
        if pos > at:
            return None
        return at if last <= end else -1


class Reach:
    """How far to look for an end; not far any more after too many characters read in vain."""

    def __init__(self, far: int, near: int, wasted: int) -> None:
        """Look `far`, and after `wasted` characters read in vain only `near`."""
        self.limit = far
        self._near = near
        self._left = wasted

    def fail(self, distance: int) -> bool:
        """Count characters read in vain; whether the reach has just become shorter."""
        was_far = self._left >= 0
        self._left -= min(distance, self.limit)
        if was_far and self._left < 0:
            self.limit = min(self.limit, self._near)
            return True
        return False

    def extend(self, characters: int) -> None:
        """Allow more characters to be read in vain, because the text has grown."""
        self._left += characters


class Overlap:
    """Counts characters that are read more than once, because ranges are within others."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._end = self._again = 0

    def allows(self, start: int, end: int) -> bool:
        """Count a range, which starts after those before it; whether it may be read."""
        self._again += max(0, min(end, self._end) - start)
        self._end = max(self._end, end)
        return self._again <= self._most
