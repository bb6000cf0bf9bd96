"""What names say: which files may be TeX, which are packed papers, what an article is called.

Only names are looked at; what a file really is, its content decides (`content`).
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
#: What `fetch` writes beside the papers it fetched: about papers, and none itself.
ACCOUNT = "metadata.jsonl"
#: Never opened, neither as a paper nor as a part of one: figures, data, programs, what TeX writes.
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
#: `ARTICLE#n`, `ARTICLE(2.3)` and `ARTICLE:label` name equations: these may not be in ARTICLE.
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


def bare(name: str) -> str:
    """A file name without the suffixes we know (`0704.0001` has none)."""
    for _ in range(8):  # a hostile name may have millions
        if suffix(name) in {*_PACKED, *_PAPER, *_OTHER_FORM} or format_of(name):
            name = posixpath.splitext(name)[0]
    return name


def is_paper(path: str) -> bool:
    """Whether the name is that of a text that may be a paper by itself."""
    return suffix(path) in _PAPER


def is_archive(path: str) -> bool:
    """Whether the name is that of a packed paper, as against a packed figure (`a.eps.gz`)."""
    return suffix(path) in _PACKED and suffix(posixpath.splitext(path)[0]) not in _FIGURE


def is_packed(path: str) -> bool:
    """Whether the name is that of a paper on its own, packed or as arXiv's PDF."""
    return is_archive(path) or bool(_PDF_ID.fullmatch(path))


def is_meant(path: str) -> bool:
    """Whether someone meant the file as a paper, so that not reading it is worth a word."""
    return is_archive(path) or suffix(path) in {*_PAPER, *_OTHER_FORM} or bool(format_of(path))


def is_wanted(path: str) -> bool | None:
    """Whether a file belongs to a paper's text, by its name; None: its content says."""
    if suffix(path) in _TEX_SUFFIXES or posixpath.basename(path).startswith("00README"):
        return True
    return False if suffix(path) in _NOT_TEX or format_of(path) else None


def is_never(path: str) -> bool:
    """Whether a file is no paper, whatever it holds."""
    if format_of(path):
        return False
    return suffix(path) in NEVER or posixpath.basename(path) == ACCOUNT


def is_hidden(path: str) -> bool:
    """Whether a file is what git, macOS and editors leave behind."""
    return any(part.startswith(".") or part == "__MACOSX" for part in path.split("/"))


def safe_path(name: str) -> str | None:
    """A member's path in plain form, '' for the top itself; None where it leads elsewhere."""
    name = name.replace("\\", "/")
    parts = [part for part in name.split("/") if part not in {"", "."}]
    if name.startswith("/") or ".." in parts or re.match("[A-Za-z]:", name):
        return None
    return "/".join(parts)


def decoded(raw: bytes) -> str:
    """A name as text, in the encoding that it must be in."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def shown(path: str) -> str:
    """A path as text that UTF-8 can carry."""
    return path.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def says_nothing(path: str) -> bool:
    """Whether a main file is called what main files are called: its folder names the paper."""
    return bare(posixpath.basename(path)).lower() in _MAIN_NAMES


def arxiv_id(path: str) -> tuple[str, str]:
    """The arXiv identifier that a path ends with, and its version; empty where there is none."""
    *folders, last = map(bare, path.split("/"))
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
    """The name that a path asks for, and the version that may be added to it."""
    name, version = arxiv_id(path)
    name = name or "/".join(map(bare, path.split("/")))
    return _FORBIDDEN.sub("_", shown(name)) or "_", version


class Names:
    """Gives every article of a run a name of its own."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()

    def claim(self, path: str) -> str:
        """The name for a path: as it asks, else with its version, else with `~2`, `~3`."""
        name, version = plain_name(path)
        if name in self._count:
            name += version
        unique = name
        while unique in self._count:
            self._count[name] += 1
            unique = f"{name}~{self._count[name]}"
        self._count[unique] = 1
        return unique
