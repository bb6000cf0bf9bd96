"""papers.jsonl of a generation: what arXiv says about the papers of a library.

It comes from the `metadata.jsonl` that `eqemb fetch` writes beside papers, or from a file that was
given for a whole collection (`--metadata`). It is read when papers are, so that citations have
authors and dates even after these files are gone. A library without such papers has no file.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

from eqemb.arxiv.lookup import PaperLookup
from eqemb.arxiv.papers import PaperMetadata
from eqemb.arxiv.selection import MOST_LEFT_OUT, Selection
from eqemb.errors import UsageError
from eqemb.storage.atomic import new_file, to_json, write_atomically
from eqemb.storage.line_index import LineIndex

#: The file of a generation that counts papers that were left out.
LEFT_OUT = "left_out.json"
_LINES_NAME, _PLACES_NAME = "papers.jsonl", "papers.safetensors"
_OLD_NAME = "papers.json"  # written before: one object with all papers


class PaperRecords:
    """The metadata of a generation's papers, read when it is first needed."""

    def __init__(self, generation: Path) -> None:
        self._generation = generation

    @cached_property
    def _index(self) -> LineIndex | None:
        path = self._generation / _LINES_NAME
        if not path.exists():
            return None
        kept = LineIndex.load(path, self._generation / _PLACES_NAME)
        return kept or LineIndex.scan(path, _name_of)

    @cached_property
    def _old(self) -> dict[str, Any]:
        try:
            papers = json.loads((self._generation / _OLD_NAME).read_text("utf-8"))["papers"]
        except (OSError, ValueError, KeyError, TypeError):
            return {}
        return papers if isinstance(papers, dict) else {}

    def get(self, article: str) -> PaperMetadata | None:
        """Return the metadata of an article, or None."""
        if self._index is None:
            return PaperMetadata.from_json(self._old.get(article))
        for line in self._index.lines(article):
            if _name_of(line) == article:
                return PaperMetadata.from_json(json.loads(line))
        return None


def _name_of(line: bytes) -> str:
    try:
        name = json.loads(line)["article"]
    except (ValueError, KeyError, TypeError):
        return ""
    return name if isinstance(name, str) else ""


def write_papers(
    generation: Path, root: Path, origins: Iterable[tuple[str, str]], before: Path | None
) -> None:
    """Write the file of a generation, if anything is known about its papers.

    `origins` are names of articles with their paths below the root. What the generation `before`
    says of a paper counts where no file does.
    """
    known = None if before is None else PaperRecords(before)
    given, earlier = _given_metadata(generation)
    first, last = PaperLookup(given), [PaperLookup(path) for path in earlier]

    def lines() -> Iterator[str]:
        for name, origin in origins:
            paper = first.get(name, root, origin) or (known and known.get(name))
            others = (lookup.get(name, root, origin) for lookup in last)
            if (paper := paper or next(filter(None, others), None)) is not None:
                yield _line(name, paper)

    found = lines()
    if (line := next(found, None)) is None:
        return
    path = generation / _LINES_NAME
    with (
        new_file(path) as made,
        made.open("w", encoding="utf-8", errors="backslashreplace") as file,
    ):
        file.write(line)
        file.writelines(found)
    LineIndex.scan(path, _name_of).save(generation / _PLACES_NAME)


def _line(name: str, paper: PaperMetadata) -> str:
    stored = {field: value for field, value in asdict(paper).items() if value}
    return json.dumps({"article": name, **stored}, ensure_ascii=False) + "\n"


def _given_metadata(generation: Path) -> tuple[str, list[str]]:
    """Return the metadata file of a generation's last step, and those of the steps before."""
    try:
        steps = json.loads((generation / "settings.json").read_text("utf-8"))["steps"]
        files = [recorded_selection(step).metadata for step in steps]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, UsageError):
        return "", []
    last = files[-1] if files and Path(files[-1]).is_file() else ""
    return last, [path for path in dict.fromkeys(reversed(files)) if _is_other(path, last)]


def _is_other(path: str, last: str) -> bool:
    return bool(path) and path != last and Path(path).is_file()


def recorded_selection(step: dict[str, Any]) -> Selection:
    """Return which papers a step of a library chose."""
    return Selection.from_json(step.get("selection", {}))


# ---------------------------------------------------------------- papers that were left out


def keep_left_out(generation: Path, before: Path | None, left: dict[str, Any] | None) -> None:
    """Write which papers were left out, added to those of the generation before.

    `left` has counts by cause and the first papers, `before` may be the same generation.
    """
    if generation == before and not (left or {}).get("causes"):
        return
    old = {} if before is None else left_out(before)
    causes, papers = dict(old.get("causes", {})), list(old.get("papers", []))
    for cause, count in (left or {}).get("causes", {}).items():
        causes[cause] = causes.get(cause, 0) + count
    papers += (left or {}).get("papers", [])
    if causes:
        found = {"causes": causes, "papers": papers[:MOST_LEFT_OUT]}
        write_atomically(generation / LEFT_OUT, to_json(found))


def left_out(generation: Path) -> dict[str, Any]:
    """Return which papers were left out of a generation: counts by cause, and the first ones."""
    try:
        found = json.loads((generation / LEFT_OUT).read_text("utf-8"))
        return {"causes": dict(found["causes"]), "papers": list(found["papers"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
