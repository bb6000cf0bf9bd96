"""What arXiv says about a paper, in each of the forms that it comes in.

`metadata.jsonl`, which `eqemb fetch` writes, has authors, categories and date ready for use. The
snapshot of arXiv, `arxiv-metadata-oai-snapshot.json`, has an object of its own in each line, and
records of unarXive have the same object inside.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parsedate
from typing import Any

from eqemb.arxiv.text import one_line, without_tex
from eqemb.sources.names import arxiv_id

_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_CREATIVE_COMMONS = re.compile(r"creativecommons\.org/licenses/([a-z-]+)(?:/(\d\.\d))?")
_PUBLIC_DOMAIN = re.compile(
    r"creativecommons\.org/(?:publicdomain/(zero|mark)|licenses/publicdomain)"
)
#: Licences of arXiv by short name; that of a version, such as cc-by-4.0, is one of them.
LICENCES = (
    *("cc-by", "cc-by-sa", "cc-by-nc-sa", "cc-by-nc-nd", "cc0", "public-domain"),
    *("nonexclusive", "none"),
)


@dataclass(frozen=True, slots=True)
class PaperMetadata:
    """A paper as arXiv lists it."""

    id: str = ""
    version: str = ""
    title: str = ""
    authors: tuple[str, ...] = ()
    date: str = ""
    """Of the first version, 2015-01-31."""
    categories: tuple[str, ...] = ()
    licence: str = ""
    """The address of the licence, '' if it is not known."""
    doi: str = ""
    journal: str = ""
    """Where it was published, as the authors say."""

    @classmethod
    def from_json(cls, record: Any) -> "PaperMetadata | None":
        """Return a record of our own files; None if it is not one."""
        if not isinstance(record, dict):
            return None
        names = ("id", "version", "title", "date", "licence", "doi", "journal")
        texts: dict[str, Any] = {name: record.get(name) or "" for name in names}
        lists: dict[str, Any] = {name: record.get(name) or [] for name in ("authors", "categories")}
        if not all(isinstance(text, str) for text in texts.values()):
            return None
        if not all(isinstance(each, list) and _are_texts(each) for each in lists.values()):
            return None
        texts |= {name: tuple(each) for name, each in lists.items()}
        return cls(**texts)

    @classmethod
    def from_snapshot(cls, record: Any) -> "PaperMetadata | None":
        """Return a record of arXiv's snapshot; None if it is not one.

        A field of another type than expected counts as unknown.
        """
        if not isinstance(record, dict) or not (name := _text(record.get("id"))):
            return None
        versions = record.get("versions")
        listed = versions if isinstance(versions, list) else []
        stages = [each for each in listed if isinstance(each, dict)]
        first = _text(stages[0].get("created")) if stages else ""
        return cls(
            id=arxiv_id(name)[0] or name,
            version=_text(stages[-1].get("version")) if stages else "",
            title=one_line(_text(record.get("title"))),
            authors=tuple(parsed_authors(record.get("authors_parsed"))),
            date=_day(first),
            categories=tuple(_text(record.get("categories")).split()),
            licence=_text(record.get("license")),
            doi=_text(record.get("doi")),
            journal=one_line(_text(record.get("journal-ref"))),
        )

    @property
    def year(self) -> int:
        """The year of the first version; 0 if it is not known."""
        day = _DAY.match(self.date)
        return int(day[1]) if day else 0


def any_metadata(line: bytes) -> PaperMetadata | None:
    """Return the paper that a line of either file describes; None if it describes none."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if isinstance(record, dict) and isinstance(record.get("authors"), list):
        return PaperMetadata.from_json(record)
    return PaperMetadata.from_snapshot(record)


def unarxive_metadata(line: bytes) -> PaperMetadata | None:
    """Return what a record of unarXive says of its paper."""
    try:
        record = json.loads(line)
        return PaperMetadata.from_snapshot({"id": record["paper_id"], **record["metadata"]})
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def parsed_authors(listed: Any) -> Iterator[str]:
    """Yield names from arXiv's lists of family name, given names and suffix."""
    if _is_list(listed) and all(map(_is_list, listed)):
        for each in listed:
            family, given, suffix = [*map(str, each[:3]), "", "", ""][:3]
            yield without_tex(one_line(f"{given} {family} {suffix}"))


def short_licence(address: str) -> str:
    """Return the short name of a licence with its version, such as cc-by-4.0; 'none' for none.

    The address itself is returned if it is of no licence that arXiv offers.
    """
    text = address.lower()
    if (found := _CREATIVE_COMMONS.search(text)) and found[1] != "publicdomain":
        return "-".join(filter(None, ("cc", found[1], found[2])))
    if found := _PUBLIC_DOMAIN.search(text):
        return "cc0" if found[1] == "zero" else "public-domain"
    if "arxiv.org/licenses/nonexclusive" in text:
        return "nonexclusive"
    return "none" if text in {"", "none stated"} else address


def _day(text: str) -> str:
    """Return the day of a date such as "Mon, 2 Apr 2007 19:18:42 GMT", as 2007-04-02."""
    if _DAY.match(text):
        return text[:10]
    found = parsedate(text)
    return f"{found[0]:04}-{found[1]:02}-{found[2]:02}" if found else ""


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _are_texts(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
