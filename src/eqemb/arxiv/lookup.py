"""What is known about the paper in a file: from a metadata file, or from one beside the papers."""

import json
from collections.abc import Iterator
from pathlib import Path

from eqemb.arxiv.papers import PaperMetadata
from eqemb.arxiv.snapshot import Snapshot
from eqemb.sources.files import leads_outside, open_file
from eqemb.sources.names import METADATA_FILE, arxiv_id

_MOST_FOLDERS_ABOVE = 3  # of a paper's file that are searched for the file


class PaperLookup:
    """Looks up papers; what was read from folders is kept."""

    def __init__(self, metadata: str | Path | None = None) -> None:
        """`metadata` is a file with lines for many papers, such as arXiv's snapshot."""
        self._snapshot = Snapshot(metadata) if metadata else None
        self._folders: dict[Path, dict[str, PaperMetadata]] = {}

    def get(self, name: str, root: Path, origin: str) -> PaperMetadata | None:
        """Return what is known of an article, by its name or by where it is below the root."""
        paths = (name, origin.replace("!", "/"))
        ids = [known for known in (arxiv_id(path)[0] for path in paths) if known]
        if self._snapshot is not None:
            for known in ids:
                if (paper := self._snapshot.get(known)) is not None:
                    return paper
        file, is_member, _ = origin.partition("!")
        return next(self._beside(root, file, ids if is_member else []), None)

    def _beside(self, root: Path, below: str, members: list[str]) -> Iterator[PaperMetadata]:
        """Yield what the folders of a file say about it or its member, the nearest first.

        Nothing outside the root is read.
        """
        file = root / below
        for folder in list(file.parents)[:_MOST_FOLDERS_ABOVE]:
            if folder not in self._folders:
                path = folder / METADATA_FILE
                self._folders[folder] = {} if leads_outside(path, root) else _read_folder(path)
            here = self._folders[folder]
            for key in (*members, file.name, arxiv_id(str(file))[0]):
                if key and key in here:
                    yield here[key]


def _read_folder(path: Path) -> dict[str, PaperMetadata]:
    """Read the papers of a folder, by file and by id; lines that are no records are skipped."""
    found = dict[str, PaperMetadata]()
    try:
        with open_file(str(path)) as file:
            lines = file.read().splitlines()
    except OSError:
        return found
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        paper = PaperMetadata.from_json(record)
        if paper is not None:
            file_name = record.get("file")
            found |= {key: paper for key in (paper.id, file_name) if isinstance(key, str) and key}
    return found
