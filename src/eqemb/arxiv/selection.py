"""Choose papers by what arXiv says about them: category, licence and year.

A paper that is not chosen is not read. It is counted by cause, and the first ones are listed.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from eqemb.arxiv.listing import category_filter, has_category
from eqemb.arxiv.lookup import PaperLookup
from eqemb.arxiv.papers import LICENCES, PaperMetadata, short_licence, unarxive_metadata
from eqemb.checks import year_range
from eqemb.errors import UsageError, quoted
from eqemb.sources import Found
from eqemb.sources.found import OTHER_FORMS
from eqemb.sources.looks import UNCHANGED
from eqemb.sources.names import arxiv_id, arxiv_year

#: Why papers are left out.
NO_METADATA, OTHER_CATEGORY = "no metadata", "other category"
OTHER_LICENCE, OTHER_YEAR = "other licence", "other year"
#: Papers that were left out and are listed.
MOST_LEFT_OUT = 200
#: Causes of skips that are those of a single paper.
_OF_ONE_PAPER = frozenset((*OTHER_FORMS, "withdrawn"))
_VERSION = re.compile(r"-\d\.\d\Z")


@dataclass(frozen=True, slots=True)
class Selection:
    """Which papers to read; the fields are checked, and written in one form."""

    metadata: str = ""
    """A file with a line of JSON for each paper; '' to use only those beside the papers."""
    categories: tuple[str, ...] = ()
    """Such as cs.LG; `cs.*`, or `cs`, is every category of an archive. One has to match."""
    licences: tuple[str, ...] = ()
    """Short names (`LICENCES`), with or without a version, or addresses. One has to match."""
    years: str = ""
    """2015, 2015-2018, 2015- or -2018: of the first version."""

    def __post_init__(self) -> None:
        if self.metadata:
            object.__setattr__(self, "metadata", str(Path(self.metadata).resolve()))
        object.__setattr__(self, "categories", tuple(category_filter(self.categories)))
        object.__setattr__(self, "licences", tuple(map(_checked_licence, self.licences)))
        if self.years:
            year_range(self.years)

    @property
    def has_filter(self) -> bool:
        """Whether some papers are left out."""
        return bool(self.categories or self.licences or self.years)

    def to_json(self) -> dict[str, Any]:
        """Return the fields that are set."""
        return {name: value for name, value in asdict(self).items() if value}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Selection":
        """Return the selection that a step of a library recorded."""
        lists = {name: tuple(stored.get(name, ())) for name in ("categories", "licences")}
        return cls(stored.get("metadata", ""), years=stored.get("years", ""), **lists)


def _checked_licence(name: str) -> str:
    if "/" in name:
        return short_licence(name).lower()
    short = name.lower().replace("_", "-").removeprefix("cc-by ")
    if _VERSION.sub("", short) not in LICENCES:
        raise UsageError(
            f"{quoted(name)} is no licence of arXiv: use {', '.join(LICENCES)}, or its address"
        )
    return short


class Selector:
    """One look at sources: yields those that are chosen, and counts the others."""

    def __init__(
        self,
        selection: Selection | None,
        root: Path,
        is_counted: Callable[[Found], bool] = lambda _found: True,
    ) -> None:
        """`root` is the folder that origins are relative to; an update counts only what is new."""
        self._is_counted = is_counted
        self.selection = selection or Selection()
        self._root = root
        self._lookup: PaperLookup | None = None
        self.causes: Counter[str] = Counter()
        """Papers that were left out, by cause."""
        self.papers: list[tuple[str, str, str]] = []
        """The first of them: origin, cause and detail."""

    def only(self, tasks: Iterator[Found]) -> Iterator[Found]:
        """Yield the sources that are chosen."""
        if self.selection.metadata or self.selection.has_filter:
            self._lookup = PaperLookup(self.selection.metadata)  # refuses a wrong file at once
        return filter(self._is_chosen, tasks) if self.selection.has_filter else tasks

    def _is_chosen(self, found: Found) -> bool:
        if found.kind == UNCHANGED:
            return True
        paper = self._paper(found)
        if paper is None and found.cause and found.cause not in _OF_ONE_PAPER:
            return True  # it is reported as it is, since it may have held chosen papers
        cause, detail = self._judge(paper)
        if cause and self._is_counted(found):
            self.causes[cause] += 1
            if len(self.papers) < MOST_LEFT_OUT:
                self.papers.append((found.origin, cause, detail))
        return not cause

    def _paper(self, found: Found) -> PaperMetadata | None:
        assert self._lookup is not None  # noqa: S101 - for mypy
        name = "" if found.cause else found.name
        paper = self._lookup.get(name, self._root, found.origin)
        if paper is None and found.form == "unarxive" and found.data is not None:
            paper = unarxive_metadata(found.data)
        known = arxiv_id(name or found.origin.replace("!", "/"))[0]
        chosen = self.selection
        if paper is None and known and not (chosen.categories or chosen.licences):
            return PaperMetadata(id=known)  # its identifier has the year
        return paper

    def _judge(self, paper: PaperMetadata | None) -> tuple[str, str]:
        """Return why a paper is left out and what it has instead; '' if it is chosen."""
        chosen = self.selection
        if paper is None:
            return NO_METADATA, ""
        if chosen.categories and not has_category(paper.categories, chosen.categories):
            return OTHER_CATEGORY, " ".join(paper.categories)
        licence = short_licence(paper.licence).lower()
        if chosen.licences and not {licence, _VERSION.sub("", licence)} & set(chosen.licences):
            return OTHER_LICENCE, licence
        year = paper.year or arxiv_year(paper.id)
        if chosen.years and year not in year_range(chosen.years):
            return OTHER_YEAR, str(year or "")
        return "", ""

    def to_json(self) -> dict[str, Any]:
        """Return what was left out."""
        return {"causes": dict(sorted(self.causes.items())), "papers": self.papers}
