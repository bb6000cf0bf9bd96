"""Records and files like arXiv's metadata snapshot, made by hand."""

import json
from pathlib import Path
from typing import Any

from fake_arxiv import FREE

NONEXCLUSIVE = "http://arxiv.org/licenses/nonexclusive-distrib/1.0/"


def record(name: str, **more: Any) -> dict[str, Any]:
    """A record of the snapshot."""
    return {
        "id": name,
        "submitter": "Ada Lovelace",
        "authors": "Ada Lovelace and Henri Poincar\\'e Jr",
        "title": "On Norms",
        "journal-ref": None,
        "doi": None,
        "categories": "cs.LG stat.ML",
        "license": FREE,
        "abstract": "We study norms.",
        "versions": [{"version": "v1", "created": "Sun, 1 Jan 2023 09:00:00 GMT"}],
        "update_date": "2023-01-03",
        "authors_parsed": [["Lovelace", "Ada", ""], ["Poincar\\'e", "Henri", "Jr"]],
    } | more


def snapshot(path: Path, *lines: dict[str, Any] | str) -> Path:
    """Write a metadata file; a line may be any text."""
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text("".join(f"{text}\n" for text in texts), "utf-8")
    return path
