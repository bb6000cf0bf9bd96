"""What file names tell: which files may be documents, and which article a path names.

Only names are considered here; `content` recognises files by their content.
"""

import posixpath
import re
from functools import lru_cache

from eqemb.sources.formats import format_of, format_suffix

_PAPER = (".tex", ".ltx", ".latex")
_TEX_SUFFIXES = (*_PAPER, ".sty", ".cls", ".def", ".clo", ".bbl", ".tikz", ".inp")
_PACKED = (
    *(".gz", ".tgz", ".tar", ".zip", ".bz2", ".tbz", ".tbz2", ".xz", ".txz", ".zst", ".tzst"),
    ".jsonl",
)
_OTHER_FORM = (".pdf", ".ps", ".dvi", ".doc", ".docx", ".odt", ".rtf", ".epub")
_NEVER_TEXT = (
    ".eps .epsi .epsf .png .jpg .jpeg .gif .svg .svgz .tif .tiff .bmp .ico .webp .fig .pdf_tex"
    " .pstex .pstex_t .mp .mps .asy .gnuplot .plt .agr .opj .vsd .drawio .odg .psd .ai .xcf .bib"
    " .bst .bbx .cbx .fd .ist .tfm .pfb .afm .ttf .otf .pk .mf .enc .map .aux .log .toc .out .blg"
    " .lof .lot .idx .ind .ilg .fls .fdb_latexmk .synctex .nav .snm .vrb .xdv .brf .dat .csv .tsv"
    " .npy .npz .safetensors .mat .h5 .hdf5 .pkl .parquet .db .sqlite .xls .xlsx .ppt .pptx .ods"
    " .xml .xsl .html .htm .css .md .rst .yml .yaml .toml .ini .py .pyc .ipynb .r .m .nb .c .h .cc"
    " .cpp .hpp .java .class .jar .js .ts .rs .go .f .f90 .pl .sh .bat .rb .jl .sage .exe .dll .so"
    " .o .a .whl .mp3 .mp4 .avi .mov .mpg .wav .webm"
)
#: Written by `fetch` beside the papers: metadata about papers, not a paper.
METADATA_FILE = "metadata.jsonl"
#: Never opened as a paper or a part of one: figures, data, programs, output of TeX. A registered
#: format comes first, so that `.md` is opened if there is a reader.
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
#: Longer or deeper paths in archives are refused: looking at every folder above costs the product.
_MAX_PATH_LENGTH, _MAX_FOLDERS = 4_096, 100
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

_LEFT_BEHIND = frozenset(("__MACOSX", "__pycache__", "node_modules", "site-packages"))
_GENERATED = frozenset(
    "_book _build _freeze _includes _layouts _site _static _templates htmlcov".split()
)
#: A chapter may be called "History" or "Support", but hardly "HISTORY".
_ANY_CASE = re.compile(
    r"(?i)(?:readme|licen[cs]e|copying|changelog|contributing|code[-_ ]of[-_ ]conduct|genindex"
    r"|py-modindex)(?:[-_. ]|$)"
)
_UPPER_CASE = re.compile(
    r"(?:AUTHORS|CHANGES|CITATION|CONTRIBUTORS|GOVERNANCE|HISTORY|INSTALL|MAINTAINERS|NEWS|NOTICE"
    r"|ROADMAP|SECURITY|SUMMARY|SUPPORT|TODO)(?:[-_. ]|$)"
)

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
        end = format_suffix(name) or posixpath.splitext(name)[1]
        if not end or (end.lower() not in _STRIPPED and not format_of(name)):
            break
        name = name[: -len(end)]
    return name


def is_paper(path: str) -> bool:
    """Whether this is the name of a text that may be a paper by itself."""
    return suffix(path) in _PAPER


def is_archive(path: str) -> bool:
    """Whether this is the name of a packed paper, rather than of a packed figure (`a.eps.gz`)."""
    stem, end = posixpath.splitext(path)
    is_document = bool(format_of(stem))  # a packed one is reported, although it is not read
    return end.lower() in _PACKED and (is_document or suffix(stem) not in _FIGURE)


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
    """Whether a file was left behind by git, macOS or an editor, or installed by a package."""
    return any(part.startswith(".") or part in _LEFT_BEHIND for part in path.split("/"))


def is_generated(path: str) -> bool:
    """Whether a document is in a folder of templates, of generated pages, or of parts of a page."""
    *folders, last = path.split("/")
    is_page = suffix(last) in {".html", ".htm", ".xhtml"}
    return any(part in _GENERATED or (is_page and part.endswith("_files")) for part in folders)


def is_accompanying(path: str) -> bool:
    """Whether a document has the name of one that accompanies others, such as a README."""
    name = posixpath.basename(path)
    return bool(format_of(path)) and bool(_ANY_CASE.match(name) or _UPPER_CASE.match(name))


def safe_path(name: str) -> str | None:
    """A member's normalised path, '' for the top itself; None if it has a fault."""
    return None if path_fault(name) else "/".join(_path_parts(name))


def path_fault(name: str) -> str:
    """Why a member is not read, by its path; '' if it may be read."""
    if len(name) > _MAX_PATH_LENGTH:
        return f"its path has more than {_MAX_PATH_LENGTH:,} characters"
    parts = _path_parts(name)
    if len(parts) > _MAX_FOLDERS:
        return f"its path has more than {_MAX_FOLDERS} folders"
    is_absolute = name.startswith(("/", "\\")) or re.match("[A-Za-z]:", name)
    return "its path leaves the archive" if is_absolute or ".." in parts else ""


def _path_parts(name: str) -> list[str]:
    return [part for part in name.replace("\\", "/").split("/") if part not in {"", "."}]


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
    stem = strip_suffixes(posixpath.basename(path)).lower()
    if format_of(path):
        return stem in _MAIN_NAMES or stem in {"index", "readme"}
    return is_paper(path) and stem in _MAIN_NAMES


@lru_cache(maxsize=1 << 12)
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


def arxiv_year(name: str) -> int:
    """The year of an arXiv id; 0 for other names."""
    number = arxiv_id(name)[0].rpartition("/")[2]
    if not number:
        return 0
    return (1900 if number[:2] > "90" else 2000) + int(number[:2])


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
    return f"./{clean_name(origin)}"


def clean_name(name: str) -> str:
    """A name without the characters that separate an article from an equation of it."""
    return _FORBIDDEN.sub("_", encodable(name)) or "_"
