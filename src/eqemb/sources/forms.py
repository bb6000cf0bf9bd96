"""Two forms of one document, such as `notes.ipynb` and `notes.md`: which of them is read.

Files of one folder with one stem are forms of one document, and so are files named by one arXiv
identifier. Two files with the same suffix are not: versions of a paper are separate articles.
"""

import posixpath

from eqemb.sources.formats import format_of, format_suffix
from eqemb.sources.names import arxiv_id, is_archive, place_of, strip_suffixes

#: Best first. What an author writes comes before what is made of it: LaTeX has every number and
#: label; Markdown is knitted from `.rmd` and paired with notebooks; HTML has the output of programs
#: and the navigation of a site in it.
_WRITTEN = (
    ".tex", ".rst", ".rest", ".do.txt", ".rmd", ".qmd", ".md", ".markdown", ".mmd", ".ipynb",
    ".nxml", ".xml", ".xhtml", ".html", ".htm",
)  # fmt: skip
#: Best first, of a paper on arXiv. HTML and XML are made of its LaTeX, with numbers and labels;
#: Markdown is recognised in its PDF; unarXive has neither numbers nor labels.
_CONVERTED = (
    ".tex", ".html", ".htm", ".xhtml", ".nxml", ".xml", ".md", ".markdown", ".mmd",
)  # fmt: skip


def _suffix(origin: str) -> str:
    """The suffix by which an origin is ranked; anything packed is LaTeX, if it is a paper."""
    archive, _, member = origin.rpartition("!")
    if end := format_suffix(member):
        return end
    is_record = ".jsonl" in posixpath.basename(archive) or member.lower().endswith(".jsonl")
    return ".jsonl" if is_record else ".tex"


def _rank(origin: str, order: tuple[str, ...]) -> int:
    end = _suffix(origin)
    return order.index(end) if end in order else len(order) + (end == ".jsonl")


def form_of(origin: str) -> str:
    """The format of the document at an origin, as in `eqemb.readers.registry`."""
    if form := format_of(origin.rpartition("!")[2]):
        return form
    return "unarxive" if _suffix(origin) == ".jsonl" else "tex"


def identity(path: str) -> str:
    """What the forms of one document share: an arXiv identifier, or else folder and stem."""
    if any(name := arxiv_id(path.replace("!", "/"))):
        return f"arXiv:{name[0]}"
    if is_archive(path):
        return path
    *folders, last = path.split("/")
    # in `_sources`, Sphinx keeps what it made the pages of
    return "/".join((*(part for part in folders if part != "_sources"), strip_suffixes(last)))


def identities(path: str) -> set[str]:
    """The documents that a file may be a form of: its own, and that of an arXiv folder above it."""
    folder = arxiv_id(place_of(path.replace("!", "/")))[0]
    return {identity(path), *([f"arXiv:{folder}"] if folder else ())}


def claims(path: str) -> set[str]:
    """The documents that a file is the best form of, if no better one is there.

    LaTeX in a folder of arXiv is the paper; of several pages in it, each is a document.
    """
    return identities(path) if form_of(path) == "tex" else {identity(path)}


def order_of(path: str) -> int:
    """The place of a file among the forms of its document, best first."""
    return _rank(path, _CONVERTED if identity(path).startswith("arXiv:") else _WRITTEN)


def is_better_form(origin: str, other: str) -> bool:
    """Whether two origins are forms of one document, and the first is to be read."""
    return bool(
        origin
        and other
        and _suffix(origin) != _suffix(other)
        and not claims(origin).isdisjoint(identities(other))
        and order_of(origin) < order_of(other)
    )


def arxiv_keys(path: str) -> list[str]:
    """The arXiv papers that a file may be a form of."""
    return sorted(key for key in identities(path) if key.startswith("arXiv:"))
