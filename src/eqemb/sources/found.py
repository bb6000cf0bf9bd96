"""What is found and what is opened, the limits it keeps to, and the words for what went wrong.

How papers are found and opened is left to `discovery` and `loading`.
"""

import io
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import BinaryIO

from eqemb.article import Problem
from eqemb.errors import UsageError

#: A paper, but not in TeX.
OTHER_FORMS = ("pdf only", "postscript only", "dvi only", "word processor file")
#: Nothing that was meant as a paper, or nothing left of it.
NO_PAPER = ("html only", "no TeX", "empty")
#: A symbolic link in the given folder that leads out of it: it is not followed.
OUTSIDE = "link outside folder"
#: Why a source is no article: the causes of `Found.cause` and of the `SourceError`s of `load`.
CAUSES = (
    *OTHER_FORMS,
    *NO_PAPER,
    *("withdrawn", "unreadable", "broken archive", "broken record", "unsupported archive"),
    *("encrypted", "archive bomb", "too large", OUTSIDE),
)
#: What is wrong with a whole source, by what is wrong with the file that it depends on.
WHOLE = {
    "truncated archive": "broken archive",
    "encrypted member": "encrypted",
    "unsupported compression": "unsupported archive",
    "file too large": "too large",
}
#: What an article may lack: the causes of `Source.problems`.
PROBLEMS = (*WHOLE, "unsafe member", "not text", "unreadable file", OUTSIDE)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one paper may cost; generous for any real one."""

    members: int = 20_000
    file_bytes: int = 32 << 20
    """Of one text file, or one line of JSON."""
    paper_bytes: int = 256 << 20
    """Decompressed, with everything that has to be passed over."""
    ratio: int = 200
    """Decompressed to compressed, looked at once past 10 MB."""
    depth: int = 3
    """Archives in archives."""

    def __post_init__(self) -> None:
        for limit in fields(self):
            if (value := getattr(self, limit.name)) < 1:
                raise UsageError(f"limit {limit.name} is {value}: it has to be at least 1")


DEFAULTS = Limits()


@dataclass(frozen=True, slots=True)
class Found:
    """One paper as found, not opened yet; cheap to send to another process."""

    name: str
    """The article's identifier, unique among those of the run that are not skipped."""
    origin: str
    """For people: the path relative to what was given; the member of an archive after `!`."""
    collection: str
    """The first folder below the given one, or ''."""
    kind: str
    """'file': open `path`; 'folder': `root` and `files` below `path`; 'data': carried in `data`."""
    path: str
    root: str = ""
    files: tuple[str, ...] = ()
    data: bytes | None = field(default=None, repr=False)
    form: str = "tex"
    """The name of its format, as `eqemb.readers.registry` has it."""
    cause: str = ""
    """Why it is skipped; '' where it is to be loaded."""
    detail: str = ""

    def open(self) -> BinaryIO:
        """Its one file."""
        return Path(self.path).open("rb") if self.data is None else io.BytesIO(self.data)


@dataclass(slots=True)
class Source:
    """One paper opened: its TeX files by path, as bytes."""

    name: str
    origin: str
    collection: str
    form: str
    files: dict[str, bytes] = field(default_factory=dict)
    """By posix path relative to the main file's folder or the archive's top ('../a.tex' occurs)."""
    main: str | None = None
    """The main file, where the form fixes it."""
    problems: list[Problem] = field(default_factory=list)
