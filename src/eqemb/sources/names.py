"""What file names tell: which files may be TeX or packed papers, and what an article is called.

Only names are considered here; `content` recognises files by their content.
"""

import posixpath
import re
from collections import Counter

from eqemb.sources.formats import format_of

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
        if suffix(name) in {*_PACKED, *_PAPER, *_OTHER_FORM} or format_of(name):
            name = posixpath.splitext(name)[0]
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
    """Whether a main file has a generic name, so that its folder names the paper."""
    return strip_suffixes(posixpath.basename(path)).lower() in _MAIN_NAMES


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


def plain_name(path: str) -> tuple[str, str]:
    """The name that a path suggests, and the version that may be appended to it."""
    name, version = arxiv_id(path)
    name = name or "/".join(map(strip_suffixes, path.split("/")))
    return _FORBIDDEN.sub("_", encodable(name)) or "_", version


class Names:
    """Gives every article of a run a unique name."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()

    def claim(self, path: str) -> str:
        """A unique name for a path: as suggested, else with its version, else with `~2`, `~3`."""
        name, version = plain_name(path)
        if name in self._count:
            name += version
        unique = name
        while unique in self._count:
            self._count[name] += 1
            unique = f"{name}~{self._count[name]}"
        self._count[unique] = 1
        return unique
