"""Open one paper: keep its TeX files in memory, and note what is missing.

`names` and `content` decide which files are TeX.
"""

import posixpath
from typing import BinaryIO

from eqemb.article import Problem
from eqemb.errors import SourceError
from eqemb.sources.archives import Member
from eqemb.sources.content import identify, is_text, open_content
from eqemb.sources.files import leads_outside, open_file
from eqemb.sources.found import (
    ABOVE,
    DEFAULTS,
    NO_DOCUMENT,
    OUTSIDE,
    SOURCE_CAUSES,
    UNSAFE,
    Found,
    Limits,
    Source,
)
from eqemb.sources.names import (
    is_hidden,
    is_paper,
    is_text_name,
    path_fault,
    safe_path,
    strip_suffixes,
)
from eqemb.sources.streams import COMPRESSED_BYTES, ByteStream, Meter, stream_from

_NAMED_MEMBERS = 3  # members of an archive in a message


def load(found: Found, limits: Limits = DEFAULTS) -> Source:
    """Open one paper; raise `SourceError` with the cause if that fails."""
    if found.cause:
        raise SourceError(found.cause, found.detail)
    source = Source(found.name, found.origin, found.collection, found.form)
    try:
        if found.kind == "folder":
            _load_folder(source, found, Meter(limits))
        elif found.form != "tex":
            _load_document(source, found, limits)
        else:
            with found.open() as file:
                _load_file(source, file, Meter(limits))
    except OSError as error:
        raise SourceError("unreadable", error.strerror or str(error)) from error
    return source


def _load_document(source: Source, found: Found, limits: Limits) -> None:
    """Fill a source with a document that is one file, or one record."""
    with found.open() as file:
        data = file.read(limits.file_bytes + 1)
    if len(data) > limits.file_bytes:
        raise SourceError("too large", f"more than {limits.file_bytes:,} bytes")
    is_record = found.form == "unarxive"  # a line of a file has no file name
    name = f"{found.name}.json" if is_record else found.origin.rpartition("!")[2]
    source.main = posixpath.basename(name)
    source.files[source.main] = data


def _load_file(source: Source, file: BinaryIO, meter: Meter) -> None:
    """Fill a source from one file: an archive, or a single text under its original name."""
    content = open_content(file, meter)
    if content.is_archive:
        for member in content.members():
            _take(source, member, meter)
    elif content.what == "tex":
        name = content.title or posixpath.basename(source.origin.rpartition("!")[2])
        source.main = name if is_paper(name) else f"{strip_suffixes(name)}.tex"
        _keep(source, source.main, content.stream, meter)
    else:
        raise SourceError(content.what, content.stream.fault)
    fault = content.stream.fault
    if fault and not any(problem.cause == "truncated archive" for problem in source.problems):
        source.problems.append(Problem("truncated archive", detail=fault))
    if not any(is_text_name(path) is None or is_paper(path) for path in source.files):
        raise _no_text(source)


def _load_folder(source: Source, found: Found, meter: Meter) -> None:
    """Fill a source from loose files; any but the main file may fail."""
    if len(found.files) > meter.limits.members:
        raise SourceError("too large", f"more than {meter.limits.members:,} files")
    home = posixpath.dirname(found.root) or "."
    source.main = posixpath.basename(found.root)
    for path in found.files:
        name = posixpath.relpath(path, home)
        if path != found.root and leads_outside(f"{found.path}/{path}", found.path):
            source.problems.append(Problem(OUTSIDE, name))  # the link has changed since `discover`
            continue
        try:
            # a link that is given by itself is followed
            top = found.path if found.top or path != found.root else ""
            with open_file(f"{found.path}/{path}", top) as file:
                _keep(source, name, stream_from(file), meter)
        except OSError as error:
            if path == found.root:
                raise
            source.problems.append(Problem("unreadable file", name, detail=str(error.strerror)))
    source.problems += [Problem(ABOVE, name) for name in found.above]
    if source.main not in source.files:
        raise _no_text(source)


def _no_text(source: Source) -> SourceError:
    """Why a source has no text: its most serious problem."""
    for cause in SOURCE_CAUSES:
        for problem in source.problems:
            if problem.cause == cause:
                return SourceError(SOURCE_CAUSES[cause], problem.detail or problem.file)
    refused = [
        f"{problem.file} ({problem.detail})"
        for problem in source.problems
        if problem.cause == UNSAFE and is_text_name(problem.file)
    ]
    if refused:
        more = (
            f" and {len(refused) - _NAMED_MEMBERS:,} more" if len(refused) > _NAMED_MEMBERS else ""
        )
        return SourceError(UNSAFE, f"not opened: {', '.join(refused[:_NAMED_MEMBERS])}{more}")
    return SourceError(NO_DOCUMENT, "none of its files is TeX, or a document of another format")


def _take(source: Source, member: Member, meter: Meter) -> None:
    """Keep an archive member if it is TeX; note what is refused."""
    path = safe_path(member.name)
    if path is None:
        fault = path_fault(member.name)
        source.problems.append(Problem(UNSAFE, member.name, detail=fault))
        return
    wanted = is_text_name(path)
    if not path or member.kind == "folder" or wanted is False or is_hidden(path):
        return
    if member.kind != "file":
        if wanted:  # judged by its name: a missing figure is not reported
            detail = f"a {member.kind}, not a file"
            source.problems.append(Problem(UNSAFE, path, detail=detail))
    elif member.trouble:
        source.problems.append(Problem(member.trouble, path))
    elif wanted or identify(member.stream.peek(COMPRESSED_BYTES)) == "tex":
        _keep(source, path, member.stream, meter)


def _keep(source: Source, path: str, stream: ByteStream, meter: Meter) -> None:
    """Keep one text, or note why not; no more than the limit is read."""
    if not is_text(stream.peek(COMPRESSED_BYTES)):
        source.problems.append(Problem("not text", path))
        return
    data = stream.read(meter.limits.file_bytes + 1)
    if len(data) > meter.limits.file_bytes:
        source.problems.append(Problem("file too large", path))
        return
    if stream.fault:
        source.problems.append(Problem("truncated archive", path, detail=stream.fault))
    if data or not stream.fault:
        meter.count("bytes kept", len(data))
        source.files[path] = data
