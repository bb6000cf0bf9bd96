"""Parse untrusted XML as a stream of events, with nothing fetched and no entity expanded.

A document that declares entities is refused: they are how a small file becomes a large one, or
reads other files. Entities that it only uses (`&nbsp;`) are those of HTML. Nothing recurses, and
nesting is limited.
"""

import re
from html import unescape
from typing import NamedTuple, Protocol
from xml.parsers import expat

from eqemb.errors import SourceError

#: Maximum nesting of elements: real articles need about 40.
XML_DEPTH = 500

_XML_DECLARATION = re.compile(r"\s*<\?xml\b[^>]{0,500}\?>")


class XmlHandler(Protocol):
    """What receives the events; names are without their namespace prefix."""

    def start(self, name: str, attributes: dict[str, str], place: "XmlPlace") -> None:
        """An element begins."""

    def end(self, name: str, place: "XmlPlace") -> None:
        """An element ends."""

    def text(self, text: str) -> None:
        """Characters of an element."""


class XmlPlace:
    """Where the parser is."""

    def __init__(self, data: bytes, parser: "expat.XMLParserType") -> None:
        self._data = data
        self._parser = parser

    @property
    def line(self) -> int:
        """The line, from 1."""
        return self._parser.CurrentLineNumber

    @property
    def offset(self) -> int:
        """The position in the bytes of the document."""
        return self._parser.CurrentByteIndex

    def source(self, start: int) -> str:
        """The source of an element that began at `start`, and whose end tag is here."""
        end = self._data.find(b">", self.offset) + 1
        return self._data[start:end].decode("utf-8", "replace")


class XmlFault(NamedTuple):
    """Where and why parsing stopped before the end."""

    cause: str
    line: int
    offset: int
    detail: str


class StopParsing(Exception):  # noqa: N818 - not an error
    """Raised by a handler that needs no more events."""


def parse_xml(text: str, handler: XmlHandler) -> XmlFault | None:
    """Send the events of a document to a handler, up to its end or its first fault.

    Raises:
        SourceError: If the document declares entities.
    """
    declaration = _XML_DECLARATION.match(text)
    if declaration:  # the text is decoded, whatever the declaration says
        text = re.sub(r"[^\n]", " ", declaration[0]) + text[declaration.end() :]
    data = text.encode("utf-8", "replace")
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.UseForeignDTD()  # so that unknown entities are no faults
    place = XmlPlace(data, parser)
    depth = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > XML_DEPTH:
            raise _TooDeep
        handler.start(name.rpartition(":")[2], attributes, place)

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        handler.end(name.rpartition(":")[2], place)

    def skipped(name: str, is_parameter: bool) -> None:  # noqa: FBT001 - expat's signature
        if not is_parameter:
            shown = unescape(f"&{name};")
            handler.text(shown if shown != f"&{name};" else " ")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = handler.text
    parser.SkippedEntityHandler = skipped
    parser.EntityDeclHandler = _refuse
    try:
        parser.Parse(data, True)  # noqa: FBT003 - expat takes no keywords
    except StopParsing:
        return None
    except _TooDeep:
        return XmlFault("elements nested too deep", place.line, place.offset, f"over {XML_DEPTH}")
    except expat.ExpatError as error:
        return XmlFault("broken XML", place.line, parser.ErrorByteIndex, str(error))
    return None


class _TooDeep(Exception):  # noqa: N818 - not an error
    pass


def _refuse(*_: object) -> None:
    raise SourceError("unsafe XML", "it declares entities, which are not expanded")
