"""What file names tell: which files may be TeX or packed papers, and what an article is called.

Only names are considered here; `content` recognises files by their content.
"""

import posixpath
import re
from collections import Counter
from typing import Protocol

from eqemb.sources.formats import format_of, registered_suffix

_PAPER = (".tex", ".ltx", ".latex")
_TEX_SUFFIXES = (*_PAPER, ".sty", ".cls", ".def", ".clo", ".bbl", ".tikz", ".inp")
_PACKED = (".gz", ".tgz", ".tar", ".zip", ".bz2", ".tbz", ".tbz2", ".xz", ".txz", ".jsonl")
_OTHER_FORM = (".pdf", ".ps", ".dvi", ".doc", ".docx", ".rtf")
_NEVER_TEXT = (
    ".eps .epsi .epsf .png .jpg .jpeg .gif .svg .svgz .tif .tiff .bmp .ico .webp .fig .pdf_tex"
    " .pstex .pstex_t .mp .mps .asy .gnuplot .plt .agr .opj .vsd .drawio .odg .psd .ai .xcf .bib"
    " .bst .bbx .cbx .fd .ist .tfm .pfb .afm .ttf .otf .pk .mf .enc .map .aux .log .toc .out .blg"
    " .lof .lot .idx .ind .ilg .fls .fdb_latexmk .synctex .nav .snm .vrb .xdv .brf .dat .csv .tsv"
    " .npy .npz .mat .h5 .hdf5 .pkl .parquet .db .sqlite .xls .xlsx .ppt .pptx .odt .ods .epub"
    " .xml .xsl .html .htm .css .md .rst .yml .yaml .toml .ini .py .pyc .ipynb .r .m .nb .c .h .cc"
    " .cpp .hpp .java .class .jar .js .ts .rs .go .f .f90 .pl .sh .bat .rb .jl .sage .exe .dll .so"
    " .o .a .whl .mp3 .mp4 .avi .mov .mpg .wav .webm"
)
#: Written by `fetch` beside the papers: metadata about papers, not a paper.
METADATA_FILE = "metadata.jsonl"
#: Never opened as a paper or a part of one: figures, data, programs, output of TeX.
NEVER = frozenset(_NEVER_TEXT.split())
_NOT_TEX = NEVER.union(_OTHER_FORM, _PACKED)
_STRIPPED = frozenset((*_PACKED, *_PAPER, *_OTHER_FORM))
_FIGURE = NEVER.union(_OTHER_FORM, [".txt"])

_ARCHIVES_TEXT = (
    "acc-phys adap-org alg-geom ao-sci astro-ph atom-ph bayes-an chao-dyn chem-ph cmp-lg comp-gas"
    " cond-mat cs dg-ga funct-an gr-qc hep-ex hep-lat hep-ph hep-th math math-ph mtrl-th nlin"
    " nucl-ex nucl-th patt-sol physics plasm-ph q-alg q-bio quant-ph solv-int supr-con"
)
_ARCHIVES = _ARCHIVES_TEXT.split()
_MONTH = r"(?:0[1-9]|1[0-2])"
_START = r"(?:(?<![0-9A-Za-z.])|(?<=arXiv)|(?<=arxiv))"
_NEW_ID = re.compile(rf"{_START}(\d\d{_MONTH}\.\d{{4,5}})(v\d+)?(?![0-9A-Za-z]|\.\d)")
_OLD_NUMBER = re.compile(rf"((?:9[1-9]|0[0-7]){_MONTH}\d{{3}})(v\d+)?")
_OLD_ID = re.compile(
    rf"{_START}({'|'.join(_ARCHIVES)})(?:\.[A-Z]{{2}})?[/_-]?{_OLD_NUMBER.pattern}(?![0-9A-Za-z])"
)
#: The whole name of a folder.
_ID_FOLDER = re.compile(
    rf"(?:ar[Xx]iv[-_]?)?(?:{_NEW_ID.pattern}|{_OLD_ID.pattern}|{_OLD_NUMBER.pattern})"
)
_MOST_FOLDERS = 30  # examined above a file: a hostile path may have millions
_PDF_ID = re.compile(rf"(?:.*/)?(?:{_NEW_ID.pattern}|{_OLD_ID.pattern})\.pdf")
#: `ARTICLE#n`, `ARTICLE(2.3)` and `ARTICLE:label` name equations, so names have none of these.
_FORBIDDEN = re.compile(r"[#():\x00-\x1f\x7f]")


_MAIN_NAMES = frozenset(
    [
        "main",
        "ms",
        "paper",
        "article",
        "manuscript",
        "root",
        "arxiv",
        "draft",
        "document",
        "master",
        "thesis",
        "report",
        "final",
    ]
)


def suffix(name: str) -> str:
    """The suffix in lower case with its dot, or ''."""
    return posixpath.splitext(name)[1].lower()


def strip_suffixes(name: str) -> str:
    """A file name without known suffixes (`0704.0001` has none)."""
    for _ in range(8):  # a hostile name may have millions
        stem, end = posixpath.splitext(name)
        if registered := registered_suffix(name):
            stem = name[: -len(registered)]
        elif end.lower() not in _STRIPPED:
            break
        name = stem
    return name


def is_paper(path: str) -> bool:
    """Whether this is the name of a text that may be a paper by itself."""
    return suffix(path) in _PAPER


def is_archive(path: str) -> bool:
    """Whether this is the name of a packed paper, rather than of a packed figure (`a.eps.gz`)."""
    return suffix(path) in _PACKED and suffix(posixpath.splitext(path)[0]) not in _FIGURE


def is_packed(path: str) -> bool:
    """Whether this is the name of a separate paper: packed, or a PDF from arXiv."""
    return is_archive(path) or bool(_PDF_ID.fullmatch(path))


def looks_like_paper(path: str) -> bool:
    """Whether the name suggests a paper, so that it is reported if it cannot be read."""
    return is_archive(path) or suffix(path) in {*_PAPER, *_OTHER_FORM} or bool(format_of(path))


def is_text_name(path: str) -> bool | None:
    """Whether the name is that of a paper's text; None if the content must decide."""
    if suffix(path) in _TEX_SUFFIXES or posixpath.basename(path).startswith("00README"):
        return True
    return False if suffix(path) in _NOT_TEX or format_of(path) else None


def is_never_paper(path: str) -> bool:
    """Whether a file cannot be a paper, whatever its content."""
    if format_of(path):
        return False
    return suffix(path) in NEVER or posixpath.basename(path) == METADATA_FILE


def is_hidden(path: str) -> bool:
    """Whether a file was left behind by git, macOS or an editor."""
    return any(part.startswith(".") or part == "__MACOSX" for part in path.split("/"))


def safe_path(name: str) -> str | None:
    """A member's normalised path, '' for the top itself; None if it leaves the archive."""
    name = name.replace("\\", "/")
    parts = [part for part in name.split("/") if part not in {"", "."}]
    if name.startswith("/") or ".." in parts or re.match("[A-Za-z]:", name):
        return None
    return "/".join(parts)


def decode_name(raw: bytes) -> str:
    """A file name as text: UTF-8, or else Latin-1."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def encodable(path: str) -> str:
    """A path as text that can be encoded as UTF-8."""
    return path.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def is_generic_name(path: str) -> bool:
    """Whether a loose document has a generic name, so that its folder names the paper."""
    is_document = is_paper(path) or bool(format_of(path))
    return is_document and strip_suffixes(posixpath.basename(path)).lower() in _MAIN_NAMES


def arxiv_id(path: str) -> tuple[str, str]:
    """The arXiv identifier at the end of a path, and its version; both '' if there is none."""
    *folders, last = map(strip_suffixes, path.split("/"))
    if match := _NEW_ID.search(last):
        return match[1], match[2] or ""
    if match := _OLD_ID.search(last):
        return f"{match[1]}/{match[2]}", match[3] or ""
    if match := _OLD_NUMBER.fullmatch(last):
        for folder in reversed(folders):
            if folder in _ARCHIVES:
                return f"{folder}/{match[1]}", match[2] or ""
    return "", ""


def place_of(path: str) -> str:
    """The part of a path that names an article; '' if that is the folder at its top.

    A folder named by an arXiv identifier names the papers in it, and the folder of a file with a
    generic name names the file.
    """
    if any(arxiv_id(path)):
        return path
    parts = path.split("/")
    for end in range(len(parts) - 1, max(0, len(parts) - 1 - _MOST_FOLDERS), -1):
        if _ID_FOLDER.fullmatch(strip_suffixes(parts[end - 1])):
            folder = "/".join(parts[:end])
            if any(arxiv_id(folder)):
                return folder
    return posixpath.dirname(path) if is_generic_name(path) else path


def collection_of(path: str) -> str:
    """The first folder of a file's path; '' for a paper directly at the top."""
    first, *rest = place_of(path).split("/")
    return encodable(first) if rest else ""


def skipped_name(origin: str) -> str:
    """The name of a source that is not an article: its path, as no article is named."""
    return f"./{_clean(origin)}"


def _clean(name: str) -> str:
    return _FORBIDDEN.sub("_", encodable(name)) or "_"


class KnownArticles(Protocol):
    """The articles that a library has."""

    def has_article(self, name: str) -> bool:
        """Whether there is an article with this name."""

    def articles_from(self, origin: str) -> list[str]:
        """The names of the articles with an origin, in order."""


class NoArticles:
    """Of a library that is being built."""

    def has_article(self, name: str) -> bool:
        """No name is taken."""
        del name
        return False

    def articles_from(self, origin: str) -> list[str]:
        """No origin is known."""
        del origin
        return []


class Names:
    """Gives every article of a library a name of its own.

    An article is named by its arXiv identifier, or else by its path below the root, without
    suffixes. If another article has that name, the version is appended to the identifier; if that
    is taken too, or there is none, the name is the whole path, with suffixes.
    """

    def __init__(self, root: str, known: KnownArticles) -> None:
        """`root` is the name of the root's folder; `known` are the articles of the library."""
        self._root, self._known = root, known
        self._count: Counter[str] = Counter()
        self._earlier: dict[str, list[str]] = {}

    def claim(self, path: str, origin: str) -> str:
        """A unique name for the paper at a path; a known origin keeps its name."""
        if origin not in self._earlier:
            self._earlier[origin] = self._known.articles_from(origin)
        if earlier := self._earlier[origin]:
            return earlier.pop(0)
        choices = self._choices(path)
        name = next((name for name in choices if not self._is_taken(name)), choices[-1])
        unique = name
        while self._is_taken(unique):
            self._count[name] += 1
            unique = f"{name}~{max(self._count[name], 2)}"
        self._count[unique] = 1
        return unique

    def _is_taken(self, name: str) -> bool:
        return name in self._count or self._known.has_article(name)

    def _choices(self, path: str) -> list[str]:
        """The names that a path suggests, best first."""
        top = f"{self._root}/" if self._root else ""
        place = place_of(top + path)
        name, version = arxiv_id(place)
        below = place if place == self._root else place.removeprefix(top)
        plain = name or "/".join(map(strip_suffixes, (below or path).split("/")))
        choices = [plain, name + version] if version else [plain]
        return [_clean(choice) for choice in (*choices, path)]
