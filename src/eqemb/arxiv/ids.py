"""arXiv identifiers in what people have: lists, bibliographies and folders of PDFs.

Whatever has no identifier is handed back by name, so that it can be said. Asking arXiv for the
papers is left to `fetching`.
"""

import csv
import io
import itertools
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from eqemb.errors import UsageError
from eqemb.sources.names import arxiv_id, is_hidden

_NUMBER = r"(\d{4}\.\d{4,5}(?!\d)|[A-Za-z]+(?:-[A-Za-z]+)?(?:\.[A-Za-z]{2})?/\d{7}(?!\d))"
_ID = rf"{_NUMBER}(v\d+)?"
_BARE = re.compile(_ID, re.IGNORECASE)
_MENTION = re.compile(
    r"(?:\barxiv(?:\s+preprint)?[\s:]+|arxiv\.org/(?:abs|pdf|src|e-print|html|format|ps)/|\babs/"
    rf"|10\.48550/arxiv\.)\s*{_ID}",
    re.IGNORECASE,
)
#: arXiv's stamp on a first page: a version, then the category (older ones: the date) at once; and
#: what newer PDFs say of themselves.
_STAMP = re.compile(
    rf"arXiv:{_NUMBER}\s*(v\d+)\s*"
    r"(?:\[[a-z]|\d\d?\s*(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec))"
)
_SELF = re.compile(rf"/arXivID\s*\((?:https?://arxiv\.org/abs/)?{_ID}\)")
_STREAM = re.compile(rb">>\s*stream\r?\n")
_NOT_TEXT = re.compile(rb"/Subtype\s*/Image|/Length1\b")
_KERNING = re.compile(r"\)\s*-?[\d.]+\s*\(")
_HEX = re.compile(r"<((?:[0-9A-Fa-f]{2}){6,})>")
_MOST_TEXT = 4 << 20  # of one stream; a first page has far less
_ENTRY = re.compile(r"(?:^|(?<=[})]))[ \t]*@\s*(\w+)\s*[{(]\s*([^\s,]*)\s*,", re.MULTILINE)
_FIELD = re.compile(
    r"([A-Za-z][\w-]*)\s*=\s*"
    r'(?:\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}|"([^"]*)"|([\w.]+))'
)
_OWN = ("eprint", "arxivid", "arxiv", "archiveid", "archive id", "archive location")
_TRUSTED = ("doi", "url")
_ABOUT_OTHERS = frozenset(
    ("abstract", "abstractnote", "abstract note", "annote", "annotation", "keywords", "notes")
)


class Ids(NamedTuple):
    """Identifiers with the versions that were given, in order; and what had none, in words."""

    found: list[str]
    missed: list[str]


def canonical(text: str) -> str:
    """The identifier that a text is or names, as arXiv writes it; '' where there is none."""
    match = _BARE.fullmatch(text.strip()) or _MENTION.search(text)
    return _checked(match[1], match[2]) if match else ""


def _checked(found: str, version: str | None) -> str:
    """An identifier in its plain spelling, if there is such a month or archive."""
    plain = re.sub(r"\.[a-z]{2}/", "/", found.lower())
    return "".join(arxiv_id(plain + (version or "").lower()))


def _collected(pairs: Iterable[tuple[str, str]]) -> Ids:
    """Pairs of a name for people and an identifier or ''; each identifier once."""
    found: dict[str, None] = {}
    missed = []
    for name, identifier in pairs:
        if identifier:
            found[identifier] = None
        else:
            missed.append(name)
    return Ids(list(found), missed)


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


# -- lists


def in_list(path: Path) -> Ids:
    """One identifier (or address of a paper) a line; what follows it, and `# ...`, is passed over.

    Our own lists of repositories name no papers of arXiv's.
    """
    lines = _text(path).splitlines()
    if lines and {"source", "commit"} <= set(lines[0].split("\t")):
        raise UsageError(
            f"{path} lists papers in Git repositories, not on arXiv: clone each `source` at its"
            " `commit`, as benchmarks/collections/README.md says"
        )
    return _collected(
        (f"line {number} ({text[:40]})", canonical(text) or canonical(re.split(r"[\s,;]", text)[0]))
        for number, line in enumerate(lines, 1)
        if (text := line.partition("#")[0].strip())
    )


# -- bibliographies


def in_bibliography(path: Path) -> Ids:
    """The papers of a BibTeX file, or of Zotero's export as BibTeX, CSV or JSON.

    Each entry is one paper: its own identifier is taken, not those that its abstract names.
    """
    text = _text(path)
    if text.lstrip().startswith(("[", "{")):
        entries = _json_entries(path, text)
    elif _ENTRY.search(text):
        entries = _bibtex_entries(text)
    else:
        entries = _table_entries(text)
    return _collected((_entry_name(entry), _entry_id(entry)) for entry in entries)


def _json_entries(path: Path, text: str) -> Iterator[dict[str, str]]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no JSON: {error}") from None
    items = value.get("items", [value]) if isinstance(value, dict) else value
    for item in items if isinstance(items, list) else []:
        if isinstance(item, dict):
            yield {key.lower(): _flat(part) for key, part in item.items()}


def _flat(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _bibtex_entries(text: str) -> Iterator[dict[str, str]]:
    starts = list(_ENTRY.finditer(text))
    ends = [start.start() for start in starts[1:]] + [len(text)]
    for start, end in zip(starts, ends, strict=True):
        if start[1].lower() not in {"comment", "string", "preamble"}:
            fields = _FIELD.finditer(text, start.end(), end)
            values = {field[1].lower(): field[2] or field[3] or field[4] or "" for field in fields}
            yield {**values, "key": start[2]}


def _table_entries(text: str) -> Iterator[dict[str, str]]:
    """CSV with a head; of anything else (RIS, plain text), the lines that name a paper."""
    head = next(csv.reader(io.StringIO(text)), [])
    if {"title", "url", "doi"} & {name.lower() for name in head}:
        for row in csv.DictReader(io.StringIO(text)):
            yield {key.lower(): value for key, value in row.items() if key and value}
    else:
        yield from ({"line": line} for line in text.splitlines() if canonical(line))


def _entry_name(entry: Mapping[str, str]) -> str:
    keys = ("key", "citation-key", "citationkey", "title", "id")
    return next((entry[key] for key in keys if entry.get(key)), "an entry without a title")[:60]


def _entry_id(entry: Mapping[str, str]) -> str:
    """Fields that hold the paper's own identifier first, those that may name another last."""
    kind = entry.get("archiveprefix") or entry.get("eprinttype") or "arxiv"
    own = [entry.get(key, "") for key in _OWN] if kind.lower() == "arxiv" else []
    archive = (entry.get("primaryclass") or entry.get("eprintclass") or "").partition(".")[0]
    mentions = [entry.get(key, "") for key in _TRUSTED]
    mentions += [value for key, value in entry.items() if key not in {*_OWN, *_ABOUT_OTHERS}]
    for text in own:
        if found := canonical(text) or canonical(f"{archive}/{text}"):
            return found
    for text in mentions:
        if (match := _MENTION.search(text)) and (found := _checked(match[1], match[2])):
            return found
    return ""


# -- PDFs


def in_pdfs(folder: Path) -> Ids:
    """The papers whose PDFs lie in a folder or below: by file name, else by arXiv's stamp."""
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder: give one that holds PDFs")
    inside = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    pdfs = [name for name in sorted(inside) if name.lower().endswith(".pdf")]
    return _collected(
        (name, "".join(arxiv_id(name)) or _stamp(inside[name]))
        for name in pdfs
        if not is_hidden(name) and inside[name].is_file()
    )


def _stamp(path: Path) -> str:
    """The identifier that arXiv printed on a PDF's first page.

    A reference to another paper looks much the same, but has no category or date behind it.
    """
    try:
        data = path.read_bytes()
    except OSError:
        return ""
    texts = itertools.chain([data.decode("latin-1")], map(_shown, _streams(data)))
    for text in texts:
        match = _STAMP.search(text) or _SELF.search(text)
        if match and (found := _checked(match[1], match[2])):
            return found
    return ""


def _shown(text: str) -> str:
    """What a stream of a PDF prints: no kerning between letters, hexadecimal as letters."""
    text = _HEX.sub(lambda match: f"({bytes.fromhex(match[1]).decode('latin-1')})", text)
    return _KERNING.sub("", text)


def _streams(data: bytes) -> Iterator[str]:
    """The compressed texts in a PDF, as far as zlib alone can open them."""
    for start in _STREAM.finditer(data):
        head = data[max(0, start.start() - 1000) : start.start()].rpartition(b" obj")[2]
        if b"FlateDecode" not in head or _NOT_TEXT.search(head):
            continue
        end = data.find(b"endstream", start.end())
        packed = data[start.end() : end if end > 0 else None]
        try:
            yield zlib.decompressobj().decompress(packed, _MOST_TEXT).decode("latin-1")
        except zlib.error:
            continue
