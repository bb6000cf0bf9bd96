"""Documents of formats other than LaTeX, among the files of a folder or an archive.

`forms` compares two forms of one document; `discovery` opens what is chosen here.
"""

import itertools
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from eqemb.sources.archives import Member, tar_members
from eqemb.sources.content import (
    HEAD_BYTES,
    Content,
    check_document,
    has_document_head,
    identify,
)
from eqemb.sources.formats import format_of
from eqemb.sources.forms import claims, identities, identity, is_better_form, order_of
from eqemb.sources.found import BROKEN_LINK, NO_PAPER, OTHER_FORMS, Found, Limits
from eqemb.sources.inclusions import upward
from eqemb.sources.manifest import is_manifest
from eqemb.sources.names import (
    METADATA_FILE,
    arxiv_id,
    is_accompanying,
    is_archive,
    is_generated,
    is_hidden,
    is_never_paper,
    is_packed,
    is_paper,
    is_text_name,
    looks_like_paper,
    path_fault,
    safe_path,
    suffix,
)
from eqemb.sources.streams import CHUNK_BYTES, COMPRESSED_BYTES, ENGINES, ByteStream

_CARRIERS = frozenset((*ENGINES, "tar", "zip", *OTHER_FORMS))
_NOTE = re.compile(r"(?i)readme|licen[cs]e|copying|.*\.(?:md|rst|txt|html|json|csv|tsv|xml)$")


def is_document(path: str) -> bool:
    """Whether a file of a folder or archive may be a document, by its path."""
    return bool(format_of(path)) and not is_generated(path) and not is_manifest(path)


def left_out(
    documents: Collection[str], texts: Iterable[str] = (), packed: Iterable[str] = ()
) -> dict[str, str]:
    """Which documents are not read, given all of them, the TeX files and the packed papers.

    Returns:
        For each, the path of the better form that is read; '' if it accompanies others: a README or
        licence in the folder of another document, or above it.
    """
    if not documents:
        return {}
    texts = tuple(texts)
    own = [path for path in documents if not is_accompanying(path)]
    homes = {folder for path in (*own, *texts, *packed) for folder in upward(path)}
    left = {
        path: "" for path in documents if is_accompanying(path) and posixpath.dirname(path) in homes
    }
    best: dict[str, str] = {}
    kept = [*texts, *(path for path in documents if path not in left)]
    for path in sorted(kept, key=lambda path: (order_of(path), path)):
        others = [best[key] for key in sorted(identities(path)) if key in best]
        if better := next((one for one in others if is_better_form(one, path)), ""):
            left[path] = better
        else:
            best.update({key: path for key in claims(path) if key not in best})
    return left


class Listing(NamedTuple):
    """What to leave out of a container."""

    left: dict[str, str]
    """As `left_out` returns it."""
    stems: frozenset[str] = frozenset()
    """The documents that are read, by identity: a PDF of one of them is no paper of its own."""


def list_archive(content: Content, found: Found, limits: Limits) -> Listing | None:
    """What an archive holds, by its first bytes or else by all its names; None if it is a paper."""
    if content.what == "tar":
        ahead = ByteStream(iter([content.stream.peek(CHUNK_BYTES)]))
        paths = [path for path, _ in visible_files(tar_members(ahead))]
        if any(map(is_paper, paths)):
            return None
        if not any(map(format_of, paths)):
            is_eprint = any(arxiv_id(found.name))
            if any(map(is_text_name, paths)) or (is_eprint and not any(map(is_packed, paths))):
                return None
        if any(is_archive(path) and any(arxiv_id(path)) for path in paths):
            return Listing({path: "" for path in paths if is_accompanying(path)})
    return list_container(visible_files(content.members()), limits)


def list_container(members: Iterable[tuple[str, Member]], limits: Limits) -> Listing | None:
    """Decide whether an archive is a container of documents; None if it is one paper.

    It is one if it has no TeX, and either more packed papers than other files, or documents of
    other formats.
    """
    packed: list[str] = []
    documents: list[str] = []
    others = size = 0
    has_style = has_tex = False
    for path, member in itertools.islice(members, limits.members):
        if is_paper(path):
            return None
        kind = is_text_name(path)
        has_style = has_style or kind is True
        head = b"" if member.trouble else member.stream.peek(COMPRESSED_BYTES)
        has_tex = has_tex or (kind is None and has_document_head(head))
        if is_document(path) and check_document(path, head[:HEAD_BYTES]) is not None:
            documents.append(path)
        if is_packed(path):
            packed.append(path)
        others += not (looks_like_paper(path) or _NOTE.match(posixpath.basename(path)))
        size += member.size
        if len(packed) > 50 + others or size > limits.paper_bytes:
            break
    if (len(packed) > others and not has_style) or (documents and not has_tex):
        left = left_out(documents, packed=filter(is_archive, packed))
        return Listing(left, frozenset(identity(path) for path in documents if path not in left))
    return None


def visible_files(members: Iterable[Member]) -> Iterator[tuple[str, Member]]:
    """The regular, visible files of an archive, with their paths."""
    for member in members:
        path = safe_path(member.name)
        if member.kind == "file" and path and not is_hidden(path):
            yield path, member


def unsafe_detail(member: Member) -> str:
    """Why a member is not read: its path has a fault, or it is a link or a device."""
    path = safe_path(member.name)
    if path is None:
        return path_fault(member.name)
    is_other = member.kind in {"link", "device"} and not is_hidden(path) and looks_like_paper(path)
    return f"a {member.kind}, not a file" if is_other else ""


def is_child(path: str, member: Member, listing: Listing) -> bool:
    """Whether a file of a container may be a paper, or is to be reported."""
    if format_of(path):
        return is_document(path) and listing.left.get(path) != ""
    if looks_like_paper(path):
        return is_archive(path) or identity(path) not in listing.stems
    return identify(member.stream.peek(512)) in _CARRIERS


def is_refused(path: str, cause: str) -> bool:
    """Whether to report something in a folder that is not opened, as it may be a paper."""
    if posixpath.basename(path) == METADATA_FILE or is_manifest(path):
        return True
    if cause != BROKEN_LINK:
        return not is_never_paper(path)
    name = posixpath.basename(path)  # without a suffix, it may have been a folder of papers
    return looks_like_paper(path) or not suffix(name) or any(arxiv_id(name))


def is_worth(found: Found, path: str, *, is_beside: bool) -> bool:
    """Whether to report a source found in a folder.

    A file of unknown content counts as a paper only if its name says so. A PDF, or any file
    without TeX, is treated as a figure or output of the TeX in the same folder.
    """
    if not found.cause or is_archive(path) or is_paper(path):
        return True
    if found.cause in NO_PAPER:
        return looks_like_paper(path) and not is_beside
    return not (is_beside and found.cause in OTHER_FORMS)
