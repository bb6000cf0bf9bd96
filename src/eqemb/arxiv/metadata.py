"""`metadata.jsonl` in a folder of downloads: one line for each paper that was tried.

A line is written after the paper's file is in place, so that an interrupted run can continue.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from eqemb.arxiv.listing import ArxivPaper
from eqemb.errors import UsageError
from eqemb.sources.names import METADATA_FILE
from eqemb.storage.atomic import new_file
from eqemb.storage.regular_file import open_regular
from eqemb.storage.syncing import sync_handle

#: Besides any HTTP status: failures after which a paper is requested again, by the next run too.
_TEMPORARY = frozenset(("broken archive", "no paper", "no answer"))


def is_temporary(cause: str) -> bool:
    """Whether a paper that failed for this cause may be available another time."""
    return cause in _TEMPORARY or cause.startswith("HTTP ")


class MetadataFile:
    """The records of a folder; the last line of a paper counts, an incomplete line does not."""

    def __init__(self, folder: Path) -> None:
        if folder.is_file():
            raise UsageError(f"{folder} is a file: give a folder for the papers")
        self.folder = folder
        self.path = folder / METADATA_FILE
        self.records = {record["id"]: record for record in self._read()}

    def _read(self) -> Iterator[dict[str, Any]]:
        if not self.path.exists():
            return
        with open_regular(self.path) as file:
            lines = file.read().split(b"\n")
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line or b"null")
                if record:
                    yield {"id": record["id"], **record}
            except (ValueError, TypeError, KeyError):
                if not line.endswith(b"}"):  # a killed run wrote part of it
                    continue
                raise UsageError(
                    f"{self.path}:{number} is not a record of a paper: correct or delete the line"
                ) from None

    def has(self, paper: ArxivPaper) -> bool:
        """Whether this version is in the folder, or known to have no source."""
        record = self.records.get(paper.id)
        if record is None or not _is_same_version(record, paper):
            return False
        cause = record.get("cause")
        return self.has_file(paper.id) if cause is None else not is_temporary(str(cause))

    def has_file(self, name: str) -> bool:
        """Whether the source of a paper is in the folder."""
        file = self.records[name].get("file")
        return file is not None and Path(self.folder, file).is_file()

    def lacks_licence(self, name: str) -> bool:
        """Whether the paper has a file and its licence is not known yet."""
        record = self.records.get(name, {})
        return bool(record.get("file") and record.get("licence") is None)

    def append(self, record: dict[str, Any]) -> None:
        """Write a record to disk."""
        self.records[record["id"]] = record
        with self.path.open("a", encoding="utf-8") as file:
            file.write(_line(record))
            file.flush()
            sync_handle(file.fileno())

    def compact(self) -> None:
        """Rewrite the file with one line for each paper."""
        if self.records:
            with new_file(self.path) as new:
                new.write_text("".join(map(_line, self.records.values())), "utf-8")


def _is_same_version(record: dict[str, Any], paper: ArxivPaper) -> bool:
    """Whether a record is of the version that arXiv lists, by its number or else by its date."""
    if paper.version:
        return bool(record.get("version") == paper.version)
    if record.get("version"):  # listed before with its number
        return bool(record["version"] == "v1" and not paper.updated)
    return bool(record.get("updated", "") == paper.updated)


def paper_record(paper: ArxivPaper) -> dict[str, Any]:
    """What is recorded of a paper, without what is not known."""
    return {
        name: value
        for name, value in asdict(paper).items()
        if value or name not in ("licence", "updated")
    }


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"
