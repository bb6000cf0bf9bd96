r"""Which dialect a Markdown document is written in, and what its front matter says.

The dialects agree on most of their syntax, and the reader takes all of it. Two things mean
different things in different dialects, so they are decided for each document:

- `$$x$$` inside a line is inline mathematics in kramdown (Jekyll), and a display elsewhere.
- Double backticks are inline mathematics in Documenter.jl, and code elsewhere.
"""

import re
from dataclasses import dataclass, field

from eqemb.readers.people import names_in

_YAML_TITLE = re.compile(r"title\s*:[ \t]*(.*)")
_TOML_TITLE = re.compile(r"title\s*=\s*(.*)")
_AUTHORS = re.compile(r"authors?\s*[:=][ \t]*(.*)")
_DATE_LINE = re.compile(r"date\s*[:=][ \t]*(.*)")
_LISTED_AUTHOR = re.compile(r"(\s*)-\s+(?:name\s*:\s*)?(?![\w-]+\s*:)(\S.*)")
_YAML_MACRO = re.compile(r"\s+['\"]?\\([A-Za-z]+)['\"]?\s*:\s*(\S.*)")
_BLOCK_SCALAR = re.compile(r"[|>][-+0-9]*\s*$")
_MACRO_PARAMETER = re.compile(r"#([1-9])")
_DOCUMENTER = re.compile(r"\]\(@(?:ref|id|cite)\b|^[ \t]*```@[a-z]", re.MULTILINE)
_SINGLE_DOLLARS = re.compile(r"(?<![\\$])\$(?![\s$])[^\n$]*(?<![\s\\])\$(?![\d$])")
_RECOGNISED = 2_000_000  # characters that are enough to recognise a dialect
#: Lines of a document, at most, within which its front matter ends.
_FRONT_MATTER_LINES = 2_000


@dataclass(slots=True)
class Dialect:
    """What differs between the dialects of Markdown."""

    is_kramdown: bool = False
    """Whether `$$x$$` inside a line is inline mathematics."""
    is_documenter: bool = False
    """Whether double backticks delimit inline mathematics."""


@dataclass(slots=True)
class FrontMatter:
    """The metadata before a document."""

    title: str = ""
    authors: list[str] = field(default_factory=list)
    date: str = ""
    layout: str = ""
    lines: int = 0
    """How many lines it takes."""
    definitions: list[str] = field(default_factory=list)
    """LaTeX that defines macros."""


def recognise(text: str, layout: str = "") -> Dialect:
    """The dialect of a document; `layout` is what its front matter gives to Jekyll."""
    text = text[:_RECOGNISED]
    within = sum(map(_is_within_line, text.split("\n"))) if "$$" in text else 0
    is_kramdown = bool(layout) or (within >= 3 and not _SINGLE_DOLLARS.search(text))
    return Dialect(is_kramdown, _DOCUMENTER.search(text) is not None)


def _is_within_line(line: str) -> bool:
    """Whether `$$x$$` stands after other text on its line."""
    parts = line.split("$$")
    return len(parts) > 2 and bool(parts[0].strip(" \t>*+-"))


def read_front_matter(lines: list[str]) -> FrontMatter:
    """The metadata at the start of a document: YAML, TOML, or pandoc's title block."""
    found = FrontMatter()
    first = lines[0].rstrip() if lines else ""
    if first.startswith("% ") and first[2:].strip():
        found.title = first[2:].strip()
        found.lines = next((i for i, line in enumerate(lines[:4]) if not line.startswith("%")), 1)
        if found.lines > 1:
            found.authors = lines[1][1:].strip().split(";")
        return found
    if first not in ("---", "+++"):
        return found
    ends = ("---", "...") if first == "---" else ("+++",)
    end = next(
        (i for i, line in enumerate(lines[1:_FRONT_MATTER_LINES], 1) if line.rstrip() in ends), 0
    )
    if not end or not _is_metadata(lines[1:end]):
        return found
    found.lines = end + 1
    _read_metadata(found, lines[1:end], _YAML_TITLE if first == "---" else _TOML_TITLE)
    return found


def _is_metadata(lines: list[str]) -> bool:
    """Whether there are keys between two rules, and not a paragraph."""
    first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    return not first or re.match(r"[\w\"'.-]+\s*[:=]|\[", first) is not None


def _read_metadata(found: FrontMatter, lines: list[str], title: re.Pattern[str]) -> None:
    is_math = False
    for number, line in enumerate(lines):
        if (match := title.match(line)) and not found.title:
            found.title = _scalar(match[1], lines[number + 1 :])
        elif (people := _AUTHORS.match(line)) and not found.authors:
            found.authors = _read_authors(people[1], lines[number + 1 :])
        elif date := _DATE_LINE.match(line):
            found.date = _unquoted(date[1])
        elif line.startswith("layout"):
            found.layout = line.partition(":")[2].strip()
        elif line[:1].strip():
            is_math = line.startswith("math:")
        elif is_math and (macro := _YAML_MACRO.match(line)):
            found.definitions.append(_definition(macro[1], _unquoted(macro[2])))
        if "\\newcommand" in line or "\\def" in line or "\\DeclareMathOperator" in line:
            found.definitions.append(line)


def _read_authors(value: str, following: list[str]) -> list[str]:
    """Authors on a line, or in the list on the lines after it, whose items may have a name."""
    value = value.strip()
    if value.startswith("["):
        return [_unquoted(item) for item in value.strip("[], ").split(",")]
    if value:
        return names_in(_unquoted(value))
    found: list[str] = []
    indent: str | None = None
    for line in following:
        if not line.startswith((" ", "\t", "-")):
            break
        item = _LISTED_AUTHOR.match(line)
        if item and indent in (None, item[1]):  # lists within an item are of something else
            indent = item[1]
            found.append(_unquoted(item[2]))
    return found


def _definition(name: str, body: str) -> str:
    count = max(map(int, _MACRO_PARAMETER.findall(body)), default=0)
    return f"\\newcommand{{\\{name}}}{f'[{count}]' * bool(count)}{{{body}}}"


def _scalar(value: str, following: list[str]) -> str:
    """A value on its line, or in the indented lines after it."""
    if value.strip() and not _BLOCK_SCALAR.match(value):
        return _unquoted(value)
    parts = []
    for line in following:
        if not line.startswith((" ", "\t")):
            break
        parts.append(line.strip())
    return _unquoted(" ".join(parts))


def _unquoted(value: str) -> str:
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        inner = value[1:-1]
        return inner.replace('\\"', '"').replace("\\\\", "\\") if value[0] == '"' else inner
    return value
