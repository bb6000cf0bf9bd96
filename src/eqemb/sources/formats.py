"""Suffixes of single-file formats other than LaTeX, such as `.org`.

LaTeX (many files, archives) and unarXive (records in JSON lines) are recognised by their content.
Any other format is one file, recognised by its suffix. `eqemb.readers.registry` registers the
suffixes of its readers, so this package does not depend on them.
"""

import posixpath
from collections.abc import Iterable

_FORMATS: dict[str, str] = {}


def register_suffixes(form: str, suffixes: Iterable[str]) -> None:
    """Treat files with these suffixes (lower case, with the dot) as documents of a format."""
    _FORMATS.update(dict.fromkeys(suffixes, form))


def registered_suffix(path: str) -> str:
    """The registered suffix at the end of a path, or ''; it may have two parts (`.do.txt`)."""
    stem, last = posixpath.splitext(path.lower())
    both = posixpath.splitext(stem)[1] + last
    return both if both in _FORMATS else last if last in _FORMATS else ""


def format_of(path: str) -> str:
    """The format registered for a file's suffix, or ''."""
    return _FORMATS.get(registered_suffix(path), "")


def supported_formats() -> str:
    """The suffixes of documents that can be read, for messages."""
    return ", ".join((".tex, .gz, .tar, .tar.gz, .zip", *_FORMATS)) + " and unarXive .jsonl"
