"""Look up papers in a metadata file of any size, such as arXiv's snapshot of 5 GB.

The file is scanned once for the places of its lines, which are kept in the user's cache; afterwards
one line is read for each paper that is asked for.
"""

import hashlib
import logging
import re
from pathlib import Path

from eqemb.arxiv.papers import PaperMetadata, any_metadata
from eqemb.errors import UsageError
from eqemb.sources.content import identify
from eqemb.sources.names import arxiv_id
from eqemb.storage.cache import cache_folder
from eqemb.storage.line_index import LineIndex
from eqemb.storage.regular_file import open_regular

_log = logging.getLogger("eqemb")
_warned: set[Path] = set()
#: The snapshot begins each line so; anything else is parsed.
_SNAPSHOT_ID = re.compile(rb'\{\s*"id"\s*:\s*"([0-9A-Za-z./-]{7,40})"')
_COMPRESSED = {"gzip": "gunzip", "bzip2": "bunzip2", "xz": "unxz", "zip": "unzip", "zstd": "unzstd"}


class Snapshot:
    """The papers of a metadata file."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).resolve()
        self._index = self._open()

    def _open(self) -> LineIndex:
        try:
            with open_regular(self.path) as file:
                what = identify(file.read(1 << 16))
        except OSError as error:
            raise UsageError(
                f"cannot read the metadata {self.path} ({error.strerror}): give a file of JSON"
                " lines, such as arxiv-metadata-oai-snapshot.json"
            ) from None
        if what in _COMPRESSED:
            raise UsageError(
                f"{self.path} is compressed, and its lines cannot be looked up: unpack it first"
                f" ({_COMPRESSED[what]})"
            )
        name = hashlib.sha256(str(self.path).encode("utf-8", "surrogateescape")).hexdigest()[:16]
        folder = cache_folder("metadata")
        place = None if folder is None else folder / f"{name}.safetensors"
        index = None if place is None else LineIndex.load(self.path, place)
        if index is None:
            index = LineIndex.scan(self.path, _identifier)
            if place is not None and len(index):
                index.save(place)
        if not len(index):
            raise UsageError(
                f"{self.path} has no line that describes a paper: give a file of JSON lines, such"
                " as arxiv-metadata-oai-snapshot.json"
            )
        if index.bad.number and self.path not in _warned:
            _warned.add(self.path)
            _log.warning(
                "%s: lines that describe no paper are ignored: %d, the first is line %d",
                self.path,
                *index.bad,
            )
        return index

    def __len__(self) -> int:
        return len(self._index)

    def get(self, name: str) -> PaperMetadata | None:
        """Return the paper with an arXiv identifier, as the last line about it says."""
        for line in self._index.lines(name):
            paper = any_metadata(line)
            if paper is not None and arxiv_id(paper.id)[0] == name:
                return paper
        return None


def _identifier(line: bytes) -> str:
    """Return the arXiv identifier of a line; '' if it describes no paper."""
    if (found := _SNAPSHOT_ID.match(line)) and line.rstrip().endswith(b"}"):
        return arxiv_id(found[1].decode())[0]
    paper = any_metadata(line)
    return "" if paper is None else arxiv_id(paper.id)[0]
