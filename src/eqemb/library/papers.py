"""papers.json of a generation: what `metadata.jsonl` says about the papers of a library.

`eqemb fetch` writes that file beside the papers. It is read when papers are, so that citations
have authors and dates even after the folder is gone. A library without such papers has no file.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from eqemb.sources.names import METADATA_FILE, arxiv_id
from eqemb.storage.atomic import write_atomically

_PAPERS_FORMAT, _PAPERS_NAME = 1, "papers.json"
_MOST_FOLDERS_ABOVE = 3  # of a paper's file that are searched for the file


@dataclass(frozen=True, slots=True)
class PaperMetadata:
    """A paper as arXiv lists it."""

    id: str = ""
    version: str = ""
    title: str = ""
    authors: tuple[str, ...] = ()
    date: str = ""
    """Of the first version, 2015-01-31."""

    @classmethod
    def from_json(cls, record: Any) -> "PaperMetadata | None":
        """Return a record of either file; None if it is not one."""
        if not isinstance(record, dict):
            return None
        texts = {name: record.get(name) or "" for name in ("id", "version", "title", "date")}
        authors = record.get("authors") or []
        if not isinstance(authors, list) or not all(
            isinstance(text, str) for text in (*texts.values(), *authors)
        ):
            return None
        return cls(authors=tuple(authors), **texts)


class PaperRecords:
    """The metadata of a generation's papers, read when it is first needed."""

    def __init__(self, generation: Path) -> None:
        self._place = generation / _PAPERS_NAME

    @cached_property
    def by_name(self) -> dict[str, PaperMetadata]:
        """The metadata by the name of the article; empty if there is no readable file."""
        try:
            stored = json.loads(self._place.read_text("utf-8"))
            papers = stored["papers"] if stored["format"] == _PAPERS_FORMAT else {}
            found = {name: PaperMetadata.from_json(record) for name, record in papers.items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}
        return {name: paper for name, paper in found.items() if paper is not None}

    def get(self, article: str) -> PaperMetadata | None:
        """Return the metadata of an article, or None."""
        return self.by_name.get(article)


def write_papers(
    generation: Path, root: Path, origins: Iterable[tuple[str, str]], before: Path | None
) -> None:
    """Write the file of a generation, if anything is known about its papers.

    `origins` are names of articles with their paths below the root. What the generation `before`
    says of a paper counts where no file does.
    """
    known = {} if before is None else PaperRecords(before).by_name
    folders = dict[Path, dict[str, PaperMetadata]]()
    found = dict[str, PaperMetadata]()
    for name, origin in origins:
        file = root / origin.partition("!")[0]
        paper = next(_look_up(file, folders), None) or known.get(name)
        if paper is not None:
            found[name] = paper
    if found:
        papers = {name: asdict(paper) for name, paper in found.items()}
        text = json.dumps({"format": _PAPERS_FORMAT, "papers": papers}, ensure_ascii=False)
        write_atomically(generation / _PAPERS_NAME, text)


def _look_up(file: Path, folders: dict[Path, dict[str, PaperMetadata]]) -> Iterator[PaperMetadata]:
    """Yield what the folders of a file say about it, the nearest first."""
    for folder in list(file.parents)[:_MOST_FOLDERS_ABOVE]:
        if folder not in folders:
            folders[folder] = _read_folder(folder / METADATA_FILE)
        here = folders[folder]
        for key in (file.name, arxiv_id(str(file))[0]):
            if key and key in here:
                yield here[key]


def _read_folder(path: Path) -> dict[str, PaperMetadata]:
    """Read the papers of a folder, by file and by id; lines that are no records are skipped."""
    found = dict[str, PaperMetadata]()
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return found
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        paper = PaperMetadata.from_json(record)
        if paper is not None:
            file = record.get("file")
            found |= {key: paper for key in (paper.id, file) if isinstance(key, str) and key}
    return found
