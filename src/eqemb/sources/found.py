"""Data types of this package: papers found and opened, limits, and causes of failure."""

import io
from dataclasses import dataclass, field, fields
from typing import BinaryIO

from eqemb.article import Problem
from eqemb.checks import check_integer
from eqemb.sources.files import open_file

#: A paper in a format that is not read.
OTHER_FORMS = ("pdf only", "postscript only", "dvi only", "word processor file", "epub only")
#: Nothing in it is TeX or has another format that is read.
NO_DOCUMENT = "no document"
#: Not a paper, or an empty one. HTML is none where TeX is expected: servers answer with pages.
NO_PAPER = ("html only", NO_DOCUMENT, "empty")
#: Another form of the same document is read, and the detail names it.
OTHER_FORM = "other form"
#: A README or licence that is given by itself, together with documents that it belongs to.
ACCOMPANYING = "accompanying file"
#: A symbolic link that leads out of the given folder; it is not followed.
OUTSIDE = "link outside folder"
#: A pipe, a socket, a device, or a file of the kernel as below /proc; it is not opened.
SPECIAL = "special file"
#: A symbolic link without a target.
BROKEN_LINK = "broken link"
#: A TeX file that is given by itself asks for a file above its folder, which is not read.
ABOVE = "input outside folder"
#: The manifest of arXiv's bulk archive cannot be read, lists tars that are not there, or has
#: another checksum for a tar.
BROKEN_MANIFEST, TARS_MISSING = "broken manifest", "tars missing"
CHECKSUM_DIFFERS = "checksum differs"
#: A file that eqemb has written: a report, or exported equations, hits, tables or vectors.
OWN_EXPORT = "written by eqemb"
#: A member of an archive that is no file, or whose path leaves the archive or is too long.
UNSAFE = "unsafe member"
#: Why a source is not an article: values of `Found.cause` and of `SourceError.cause` from `load`.
CAUSES = (
    *OTHER_FORMS,
    *NO_PAPER,
    *("withdrawn", "unreadable", "broken archive", "broken record", "unsupported archive"),
    *(
        "encrypted",
        "archive bomb",
        "too large",
        OUTSIDE,
        SPECIAL,
        BROKEN_LINK,
        UNSAFE,
        OTHER_FORM,
        ACCOMPANYING,
        OWN_EXPORT,
    ),
    *(BROKEN_MANIFEST, TARS_MISSING, CHECKSUM_DIFFERS),
)
#: Problem of an essential file -> cause for skipping the whole source.
SOURCE_CAUSES = {
    "truncated archive": "broken archive",
    "encrypted member": "encrypted",
    "unsupported compression": "unsupported archive",
    "file too large": "too large",
}
#: What an article may lack: values of `Problem.cause` in `Source.problems`.
PROBLEMS = (*SOURCE_CAUSES, UNSAFE, "not text", "unreadable file", OUTSIDE, ABOVE)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for one paper, generous for any real one."""

    members: int = 20_000
    file_bytes: int = 32 << 20
    """Size of one text file, or of one line of JSON."""
    paper_bytes: int = 256 << 20
    """Decompressed size, including members that are skipped."""
    ratio: int = 200
    """Decompressed to compressed size, checked beyond 10 MB."""
    depth: int = 3
    """Nesting of archives."""

    def __post_init__(self) -> None:
        for limit in fields(self):
            check_integer(limit.name, getattr(self, limit.name))


DEFAULTS = Limits()


@dataclass(frozen=True, slots=True)
class Found:
    """One paper that was found and not opened yet; cheap to send to another process."""

    name: str
    """The article's name, unique in its library; of a skipped source, its path after `./`."""
    origin: str
    """The path below the root, and the archive member or line after `!`."""
    collection: str
    """The first folder below the root, or ''."""
    kind: str
    """'file': open `path`; 'folder': `root` and `files` below `path`; 'data': use `data`."""
    path: str
    root: str = ""
    files: tuple[str, ...] = ()
    data: bytes | None = field(default=None, repr=False)
    form: str = "tex"
    """The name of its format in `eqemb.readers.registry`."""
    cause: str = ""
    """Why it is skipped; '' if it is to be loaded."""
    detail: str = ""
    top: str = ""
    """The folder in which it was found, and which a link must not leave; '' if it was given by
    itself."""
    above: tuple[str, ...] = ()
    """Files outside its folder that it asks for; they are not read."""

    def open(self) -> BinaryIO:
        """Open its only file."""
        return open_file(self.path, self.top) if self.data is None else io.BytesIO(self.data)


@dataclass(slots=True)
class Source:
    """One opened paper: its files as bytes, by path."""

    name: str
    origin: str
    collection: str
    form: str
    files: dict[str, bytes] = field(default_factory=dict)
    """By POSIX path relative to the main file's folder, or to the archive's top."""
    main: str | None = None
    """The main file, if the source determines it."""
    problems: list[Problem] = field(default_factory=list)
