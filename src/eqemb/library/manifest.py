"""What a library consists of: the segments that a generation lists, in manifest.json.

A library may be somebody else's, and what its manifest names is read and removed: names and numbers
are checked when it is read.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from eqemb.errors import EqembError
from eqemb.storage.atomic import to_json, write_atomically

_FOLDER_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z_.-]{0,100}")


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment as a library lists it."""

    name: str
    documents: int
    """The number of documents, including removed ones."""
    removed: tuple[int, ...] = ()
    """The numbers of the removed documents, ascending."""

    @property
    def live(self) -> int:
        """The number of documents that are not removed."""
        return self.documents - len(self.removed)

    @property
    def live_mask(self) -> NDArray[np.bool_] | None:
        """Which documents are not removed; None if none is."""
        if not self.removed:
            return None
        return ~document_mask(self.documents, self.removed)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a generation of a library consists of: manifest.json."""

    segments: tuple[Segment, ...]
    root: str
    """The folder that names of articles are relative to."""
    vectors: str = ""
    """The name of the folder of vectors; '' where the library has no model."""
    near: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Pairs of articles that are near-duplicates, by name."""

    @classmethod
    def load(cls, generation: Path) -> Self:
        """Read the manifest of a generation."""
        try:
            found = json.loads((generation / "manifest.json").read_text("utf-8"))
            segments = tuple(
                Segment(_folder_name(part["name"]), *_documents(part)) for part in found["segments"]
            )
            near = tuple((one, other) for one, other in found["near"])
            vectors = found["vectors"] and _folder_name(found["vectors"])
            return cls(segments, found["root"], vectors, near)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise EqembError(
                f"{generation.parents[1]} has no readable manifest ({error}): rebuild the library"
                " in another folder"
            ) from None

    def save(self, generation: Path) -> None:
        """Write the manifest of a generation."""
        write_atomically(generation / "manifest.json", to_json(asdict(self)))

    def with_segments(self, segments: Iterator[Segment] | tuple[Segment, ...]) -> "Manifest":
        """Return the manifest with other segments; those without documents are left out."""
        return replace(self, segments=tuple(part for part in segments if part.live))


def _folder_name(name: str) -> str:
    """Return the name of a folder of the library; an error if it may lead anywhere else."""
    if _FOLDER_NAME.fullmatch(name) is None:
        raise ValueError(f"{name!r} is no name of a folder in a library")
    return name


def _documents(part: Mapping[str, Any]) -> tuple[int, tuple[int, ...]]:
    """Return how many documents a segment has, and the numbers of those that were removed."""
    count, removed = part["documents"], tuple(part["removed"])
    if type(count) is not int or not all(
        type(number) is int and 0 <= number < count for number in removed
    ):
        raise ValueError(f"{count!r} documents, of which {removed!r} are removed")
    return count, removed


def segment_folder(home: Path, name: str) -> Path:
    """Return the folder of a segment of the library at `home`."""
    return home / "segments" / name


def document_mask(count: int, members: Iterable[int]) -> NDArray[np.bool_]:
    """Return which of so many documents are among the members."""
    mask = np.zeros(count, bool)
    mask[list(members)] = True
    return mask
