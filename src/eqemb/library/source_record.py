"""sources.json of a generation: from which files, of which content, its sources were read.

It tells `update` what has changed. A library without it, or a source that is not in it, can still
be updated: the source is read again and compared with its record.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eqemb.sources import Found
from eqemb.sources.looks import UNCHANGED, Looks, digest
from eqemb.storage.array_file import canonical_json
from eqemb.storage.atomic import link_file, write_atomically

#: The name of the file.
SOURCES = "sources.json"
_FORMAT = 1
_STORED_KEYS = {"format", "sources", "files"}


def _to_text(stored: Mapping[str, Any]) -> str:
    """Return the text of the file, which ends with a hash of the rest."""
    digest = hashlib.sha256(canonical_json(stored)).hexdigest()
    return json.dumps({**stored, "sha256": digest}, separators=(",", ":"))


def is_intact(generation: Path) -> bool:
    """Whether the file of a generation has its hash; those of older versions have none."""
    try:
        return _parse((generation / SOURCES).read_text("utf-8")) is not None
    except (OSError, ValueError):
        return False


def _parse(text: str) -> dict[str, Any] | None:
    """Return what a file stores; None if it is damaged."""
    try:
        stored: dict[str, Any] = json.loads(text)
        is_older = stored.pop("sha256", None) is None
        is_whole = stored.keys() == _STORED_KEYS and (is_older or text == _to_text(stored))
    except (ValueError, AttributeError):
        return None
    return stored if is_whole else None


@dataclass
class SourceRecord:
    """The files of a library's sources, and a digest of what was read of each source."""

    looks: Looks = field(default_factory=Looks)
    digests: dict[str, str] = field(default_factory=dict)
    """By origin; '' if it is not known what was read."""
    _noted: list[str] = field(default_factory=list)

    @classmethod
    def load(cls, generation: Path) -> "SourceRecord":
        """Read the file of a generation; it is empty if there is none of this format.

        Raise an `OSError` if it cannot be read at the moment: every source would be read again.
        """
        try:
            stored = _parse((generation / SOURCES).read_text("utf-8"))
            if stored is not None and stored["format"] == _FORMAT:
                looks = Looks.from_json(stored["files"])
                return cls(looks, dict(stored["sources"]))
        except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
            pass
        return cls()

    def text(self) -> str:
        """Return the content of the file."""
        return _to_text({"format": _FORMAT, "sources": self.digests, "files": self.looks.to_json()})

    def save(self, generation: Path) -> None:
        """Write the file of a generation, unless it is there already."""
        path, text = generation / SOURCES, self.text()
        if not path.exists() or path.read_text("utf-8") != text:
            write_atomically(path, text)

    def note(self, tasks: Iterator[Found]) -> Iterator[Found]:
        """Yield sources that are about to be read, and note their digests."""
        for found in tasks:
            if found.kind != UNCHANGED:
                self._noted.append(found.origin)
                self.digests[found.origin] = digest(found, self.looks)
                yield found

    def forget(self, places: Iterable[int] = ()) -> None:
        """Forget the digests of the noted sources that were read before an interruption.

        So are those of sources that share an origin, as two members of one archive may. `places`
        are numbers in the order in which sources were noted.
        """
        often = Counter(self._noted)
        twice = [origin for origin, count in often.items() if count > 1]
        before = [self._noted[place] for place in places]
        self.digests |= dict.fromkeys([*before, *twice], "")


def keep_source_record(before: Path, generation: Path) -> None:
    """Keep the file of the generation before, if it has one."""
    if (before / SOURCES).exists() and not (generation / SOURCES).exists():
        link_file(before / SOURCES, generation / SOURCES)
