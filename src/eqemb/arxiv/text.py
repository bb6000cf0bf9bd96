"""Small helpers for text and XML."""

import re
import unicodedata
from xml.etree import ElementTree as ET

#: TeX's accents -> combining characters, and its letters.
_TEX_ACCENTS = {
    "'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303", "=": "\u0304",
    ".": "\u0307", "u": "\u0306", "v": "\u030c", "H": "\u030b", "c": "\u0327", "k": "\u0328",
    "r": "\u030a", "d": "\u0323", "b": "\u0331",
}  # fmt: skip
_TEX_LETTERS = {
    "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ",
    "aa": "å", "AA": "Å", "i": "i", "j": "j", "dh": "ð", "DH": "Ð", "th": "þ", "TH": "Þ",
}  # fmt: skip
_TEX_LETTER = re.compile(
    rf"\\({'|'.join(sorted(_TEX_LETTERS, key=len, reverse=True))})(?![A-Za-z])\s?"
)
_TEX_ACCENT = re.compile(r"\\(?:([uvHckrdb])(?=[\s{])|(['`^\"~=.]))\s*(?:\{\s*(\w)\s*\}|(\w))")


def format_duration(seconds: float) -> str:
    """A duration for people, in seconds, minutes or hours."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def one_line(text: str) -> str:
    """Text with every run of white space replaced by one space."""
    return " ".join(text.split())


def without_tex(text: str) -> str:
    r"""A name with TeX's accents as letters: "Poincar\'e" is "Poincaré"."""
    if "\\" not in text and "{" not in text:
        return text
    text = re.sub(r"\{\s*(\\[A-Za-z]+)\s*\}", r"\1 ", text)
    text = _TEX_LETTER.sub(lambda found: _TEX_LETTERS[found[1]], text)
    text = _TEX_ACCENT.sub(
        lambda found: (found[3] or found[4]) + _TEX_ACCENTS[found[1] or found[2]],
        text,
    )
    return unicodedata.normalize("NFC", one_line(re.sub(r"[{}]", "", text)))


def parse_xml(body: bytes) -> ET.Element | None:
    """Return the root of a document; None if it is not XML, or has an unknown encoding."""
    try:
        return ET.fromstring(body)  # noqa: S314 - expat limits the growth of entities
    except (ET.ParseError, LookupError, ValueError):
        return None
