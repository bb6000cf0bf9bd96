"""The contents of an article: its sections, and a list of its equations."""

from collections.abc import Iterator, Sequence

from eqemb.server.service import Json
from eqemb.server.views.hits import prose
from eqemb.server.views.layout import article_link
from eqemb.server.views.markup import Html, h

#: Sections without which a list of contents is of no use.
_FEWEST_SECTIONS = 2


def anchors(found: Json) -> Iterator[str]:
    """The ids of the headings on this page, in order."""
    return (_anchor(at) for at, section in _titled(found) if section["part"] == found["part"])


def _titled(found: Json) -> list[tuple[int, Json]]:
    listed = enumerate(found["contents"], 1)
    return [(at, section) for at, section in listed if section["title"]]


def _anchor(at: int) -> str:
    return f"s{at}"


def contents(found: Json) -> Html | None:
    """The sections and the equations of an article, closed until they are wanted."""
    titled = _titled(found)
    lists = [
        _folded("Contents", [_section(found, *each) for each in titled])
        if len(titled) >= _FEWEST_SECTIONS
        else None,
        _folded("Equations", [_group(found, each) for each in found["contents"]
                              if each["equations"]])
        if found["equations"] else None,
    ]  # fmt: skip
    return h("nav", lists, class_="options contents", aria_label="Contents") if any(lists) else None


def _folded(name: str, rows: Sequence[Html]) -> Html:
    return h("details", h("summary", name), h("ol", rows), class_="folded")


def _section(found: Json, at: int, section: Json) -> Html:
    """A section with the number of its equations."""
    count = len(section["equations"])
    part = section["part"] if found["parts"] > 1 else None
    url = f"{article_link(found['name'], part=part)}#{_anchor(at)}"
    label = f"{count} equation{'' if count == 1 else 's'}"
    return h(
        "li",
        h("a", prose(section["title"]), href=url),
        h("span", str(count), class_="count", title=label) if count else None,
    )


def _group(found: Json, section: Json) -> Html:
    """The equations of a section."""
    rows = [
        h("li", h("a", h("span", f"({each['number']})" if each["number"] else "", class_="number"),
                  h("span", each["text"], class_="line"),
                  href=article_link(found["name"], each["ordinal"])))
        for each in section["equations"]
    ]  # fmt: skip
    title = h("p", prose(section["title"])) if section["title"] else None
    return h("li", title, h("ol", rows))
