"""Find arXiv identifiers in lists, bibliographies and folders of PDFs.

Entries without an identifier are returned by name, so that they can be reported.
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
from eqemb.storage.regular_file import open_regular

_ID_NUMBER = r"(\d{4}\.\d{4,5}(?!\d)|[A-Za-z]+(?:-[A-Za-z]+)?(?:\.[A-Za-z]{2})?/\d{7}(?!\d))"
_ID = rf"{_ID_NUMBER}(v\d+)?"
_BARE = re.compile(_ID, re.IGNORECASE)
_MENTION = re.compile(
    r"(?:\barxiv(?:\s++preprint)?[\s:]++|arxiv\.org/(?:abs|pdf|src|e-print|html|format|ps)/|\babs/"
    rf"|10\.48550/arxiv\.)\s*+{_ID}",
    re.IGNORECASE,
)
#: arXiv's stamp on a first page: identifier and version, followed by the category or, in older
#: papers, the date. Newer PDFs also have a field with their identifier.
_STAMP = re.compile(
    rf"arXiv:{_ID_NUMBER}\s*(v\d+)\s*"
    r"(?:\[[a-z]|\d\d?\s*(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec))"
)
_OWN_FIELD = re.compile(rf"/arXivID\s*\((?:https?://arxiv\.org/abs/)?{_ID}\)")
_STREAM = re.compile(rb">>\s*stream\r?\n")
_NOT_TEXT = re.compile(rb"/Subtype\s*/Image|/Length1\b")
_KERNING = re.compile(r"\)\s*-?[\d.]+\s*\(")
_HEX = re.compile(r"<((?:[0-9A-Fa-f]{2}){6,})>")
_MAX_PDF_BYTES = 256 << 20
_MAX_STREAM_BYTES = 4 << 20  # decompressed; a first page has far less
_BIBTEX_ENTRY = re.compile(
    r"(?:^|(?<=[})]))[ \t]*+@\s*+(\w++)\s*+[{(]\s*+([^\s,]*+)\s*+,", re.MULTILINE
)
_FIELD = re.compile(
    r"(?<![\w-])([A-Za-z][\w-]*+)\s*+=\s*+"
    r'(?:\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+)\}|"([^"]*)"|([\w.]+))'
)
#: CSL JSON is a list of entries; Better BibTeX writes an object with settings first.
_JSON_REFERENCES = re.compile(rb'\s*(?:\[\s*\{|\{\s*"(?:config|items|collections)"\s*:)')
_ID_FIELDS = ("eprint", "arxivid", "arxiv", "archiveid", "archive id", "archive location")
_LINK_FIELDS = ("doi", "url")
_IGNORED_FIELDS = frozenset(
    ("abstract", "abstractnote", "abstract note", "annote", "annotation", "keywords", "notes")
)


class FoundIds(NamedTuple):
    """Identifiers in order, with versions where given; and the names of entries without one."""

    found: list[str]
    missed: list[str]


def canonical(text: str) -> str:
    """The identifier that a text is or mentions, as arXiv writes it; "" if there is none."""
    match = _BARE.fullmatch(text.strip()) or _MENTION.search(text)
    return _checked(match[1], match[2]) if match else ""


def _checked(found: str, version: str | None) -> str:
    """An identifier in its usual spelling; "" if its month or archive does not exist."""
    plain = re.sub(r"\.[a-z]{2}/", "/", found.lower())
    return "".join(arxiv_id(plain + (version or "").lower()))


def _collected(pairs: Iterable[tuple[str, str]]) -> FoundIds:
    """Collect pairs of an entry's name and its identifier or ""; each identifier once."""
    found: dict[str, None] = {}
    missed = []
    for name, identifier in pairs:
        if identifier:
            found[identifier] = None
        else:
            missed.append(name)
    return FoundIds(list(found), missed)


def _text(path: Path) -> str:
    try:
        with open_regular(path) as file:
            data = file.read()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


# -- lists


def in_list(path: Path) -> FoundIds:
    """One identifier or address of a paper per line; the rest of a line and `# ...` are ignored.

    Our own lists of Git repositories are rejected: their papers are not on arXiv.
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


def in_bibliography(path: Path) -> FoundIds:
    """The papers of a BibTeX file, or of Zotero's export as BibTeX, CSV or JSON.

    Each entry is one paper: identifiers in its abstract are not its own.
    """
    text = _text(path)
    if text.lstrip().startswith(("[", "{")):
        entries = _json_entries(path, text)
    elif _BIBTEX_ENTRY.search(text):
        entries = _bibtex_entries(text)
    else:
        entries = _table_entries(text)
    return _collected((_entry_name(entry), _entry_id(entry)) for entry in entries)


def is_bibliography(path: Path) -> bool:
    """Whether a file is a list of references, as reference managers export it, by name or start."""
    end = path.suffix.lower()
    if end in {".bib", ".ris", ".rdf", ".enw", ".csv"}:
        return path.is_file()
    if end != ".json" or not path.is_file():
        return False
    with open_regular(path) as file:
        start = file.read(4096)
    return bool(_JSON_REFERENCES.match(start))


def _json_entries(path: Path, text: str) -> Iterator[dict[str, str]]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not valid JSON: {error}") from None
    items = value.get("items", [value]) if isinstance(value, dict) else value
    for item in items if isinstance(items, list) else []:
        if isinstance(item, dict):
            yield {key.lower(): _flat(part) for key, part in item.items()}


def _flat(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _bibtex_entries(text: str) -> Iterator[dict[str, str]]:
    starts = list(_BIBTEX_ENTRY.finditer(text))
    ends = [start.start() for start in starts[1:]] + [len(text)]
    for start, end in zip(starts, ends, strict=True):
        if start[1].lower() not in {"comment", "string", "preamble"}:
            fields = _FIELD.finditer(text, start.end(), end)
            values = {field[1].lower(): field[2] or field[3] or field[4] or "" for field in fields}
            yield {**values, "key": start[2]}


def _table_entries(text: str) -> Iterator[dict[str, str]]:
    """The rows of CSV with a header; of other formats (RIS, text), lines that mention a paper."""
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
    """Look first in fields for the paper's own identifier, last in those that may name others."""
    kind = entry.get("archiveprefix") or entry.get("eprinttype") or "arxiv"
    own = [entry.get(key, "") for key in _ID_FIELDS] if kind.lower() == "arxiv" else []
    archive = (entry.get("primaryclass") or entry.get("eprintclass") or "").partition(".")[0]
    mentions = [entry.get(key, "") for key in _LINK_FIELDS]
    mentions += [
        value for key, value in entry.items() if key not in {*_ID_FIELDS, *_IGNORED_FIELDS}
    ]
    for text in own:
        if found := canonical(text) or canonical(f"{archive}/{text}"):
            return found
    for text in mentions:
        if (match := _MENTION.search(text)) and (found := _checked(match[1], match[2])):
            return found
    return ""


# -- PDFs


def in_pdfs(folder: Path) -> FoundIds:
    """The papers whose PDFs are in a folder or below, by file name or else by arXiv's stamp."""
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder: give a folder of PDFs")
    inside = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    pdfs = [name for name in sorted(inside) if name.lower().endswith(".pdf")]
    return _collected(
        (name, "".join(arxiv_id(name)) or _stamp(inside[name]))
        for name in pdfs
        if not is_hidden(name) and inside[name].is_file()
    )


def _stamp(path: Path) -> str:
    """The identifier that arXiv printed on a PDF's first page.

    A reference to another paper looks similar, but no category or date follows it.
    """
    try:
        with open_regular(path) as file:
            data = file.read(_MAX_PDF_BYTES)
    except OSError:
        return ""
    texts = itertools.chain([data.decode("latin-1")], map(_shown, _streams(data)))
    for text in texts:
        match = _STAMP.search(text) or _OWN_FIELD.search(text)
        if match and (found := _checked(match[1], match[2])):
            return found
    return ""


def _shown(text: str) -> str:
    """The text that a PDF stream prints: without kerning, with hexadecimal strings decoded."""
    text = _HEX.sub(lambda match: f"({bytes.fromhex(match[1]).decode('latin-1')})", text)
    return _KERNING.sub("", text)


def _streams(data: bytes) -> Iterator[str]:
    """The compressed text streams of a PDF that zlib alone can decompress."""
    for start in _STREAM.finditer(data):
        head = data[max(0, start.start() - 1000) : start.start()].rpartition(b" obj")[2]
        if b"FlateDecode" not in head or _NOT_TEXT.search(head):
            continue
        end = data.find(b"endstream", start.end())
        packed = data[start.end() : end if end > 0 else None]
        try:
            yield zlib.decompressobj().decompress(packed, _MAX_STREAM_BYTES).decode("latin-1")
        except zlib.error:
            continue
