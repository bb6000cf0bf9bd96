"""Suffixes of formats other than LaTeX, such as `.md`.

LaTeX (many files, archives) and unarXive (records in JSON lines) are recognised by their content.
A document of any other format is one file, recognised by its suffix and confirmed by its content.
`eqemb.readers.registry` registers the suffixes of its readers, so this package does not depend on
them.
"""

import posixpath
from collections.abc import Iterable

_FORMATS: dict[str, str] = {}


def register_suffixes(form: str, suffixes: Iterable[str]) -> None:
    """Treat files with these suffixes (lower case, with the dot) as documents of a format."""
    _FORMATS.update(dict.fromkeys(suffixes, form))


def format_suffix(path: str) -> str:
    """The registered suffix of a file in lower case, or ''; it may have two parts (`.do.txt`)."""
    stem, end = posixpath.splitext(posixpath.basename(path)[-80:].lower())
    both = posixpath.splitext(stem)[1] + end
    return both if both in _FORMATS else end if end in _FORMATS else ""


def format_of(path: str) -> str:
    """The format registered for a file's suffix, or ''."""
    return _FORMATS.get(format_suffix(path), "")


def supported_formats() -> str:
    """The suffixes of documents that can be read, for messages."""
    return ", ".join((".tex, .gz, .tar, .tar.gz, .zip", *_FORMATS)) + " and unarXive .jsonl"
