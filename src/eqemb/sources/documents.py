"""Documents of formats other than LaTeX, among the files of a folder or an archive.

`forms` compares two forms of one document; `discovery` opens what is chosen here.
"""

import itertools
import posixpath
import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from eqemb.sources.archives import Member
from eqemb.sources.content import HEAD_BYTES, check_document, has_document_head
from eqemb.sources.folders import upward
from eqemb.sources.formats import format_of
from eqemb.sources.forms import claims, identities, identity, is_better_form, order_of
from eqemb.sources.found import Limits
from eqemb.sources.names import (
    is_accompanying,
    is_archive,
    is_generated,
    is_packed,
    is_paper,
    is_text_name,
    looks_like_paper,
)
from eqemb.sources.streams import COMPRESSED_BYTES

_NOTE = re.compile(r"(?i)readme|licen[cs]e|copying|.*\.(?:md|rst|txt|html|json|csv|tsv|xml)$")


def is_document(path: str) -> bool:
    """Whether a file of a folder or archive may be a document, by its path."""
    return bool(format_of(path)) and not is_generated(path)


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
