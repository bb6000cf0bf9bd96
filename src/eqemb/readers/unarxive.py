"""Read unarXive records: papers already split into sections, with formulas kept separately.

The schema of 2022 has paragraphs (`body_text`), that of 2024 has one text for each section
(`sections`), made of the stripped paragraphs without anything between them. unarXive does not
record equation numbers: a formula alone on its line is a display whose `numbered` is None.
Citations, figures and tables are dropped, as for LaTeX sources.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from eqemb.article import Article
from eqemb.errors import SourceError
from eqemb.readers.draft import Draft, plain
from eqemb.readers.prose import BREAK
from eqemb.sources import Source

_UNRESOLVED = re.compile(r"\(\s*REF\s*\)|\bREF\b")  # a reference whose target is not known
_REFERENCE_MARK = re.compile(r"\{\{(\w+):([^{}]*)\}\}")
_DOLLARS = re.compile(r"(\$\$?)([^$]+)\1")
_LINE_END = re.compile(r"(?:[.,;]|[^\S\n])*+(?:\n|\Z)")
_BLANKS = r"[^\S\n]*"
#: Where paragraphs of a section meet: after a display, before a display, between two sentences.
_GLUED = (
    re.compile(
        rf"(?m)^({_BLANKS}\{{\{{formula:[^{{}}]*\}}\}}"
        r"(?:[^\S\n]?[.,;](?=[^\s\d.,;:)])|(?=[^\s.,;:)\]-])))"
    ),
    re.compile(rf"((?<=[.:;!?)}}]))(?=\{{\{{formula:[^{{}}]*\}}\}}{_BLANKS}+[.,;]?{_BLANKS}+\n)"),
    re.compile(r"((?<=[a-z)} ][.!?]))(?=[A-Z][a-z])"),
)
#: Characters of formulas that are read for a paper: so many, and more for each byte of its record.
_FREE, _REPEATED = 100_000, 4


class _Part(NamedTuple):
    """A paragraph, or in the schema of 2024 a section."""

    heading: str
    text: str


def read_unarxive(source: Source) -> Article:
    """Read one line of unarXive's JSONL, the only file of the source."""
    (line,) = source.files.values()
    try:
        record = json.loads(line)
        formulas = _Formulas(dict(record["ref_entries"]), len(line))
        title = _text(record["metadata"]["title"])
        abstract = record["abstract"] or {}
        if isinstance(abstract, str):  # as the schema of 2024 describes it
            abstract = {"section": "Abstract", "text": abstract}
        abstract = _part(abstract)
        parts = list(_parts(record))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SourceError("broken record", f"not an unarXive paper ({error!r})"[:200]) from None
    draft = Draft(source, f"{source.name}.json", size=len(line))
    draft.has_math = True  # a paper without formulas is a paper
    draft.title("".join(plain(text) + draft.inline_text(latex) for text, latex in _typed(title)))
    draft.authors(_authors(record["metadata"]))
    draft.heading(plain(abstract.heading))
    for text, latex in _typed(abstract.text):
        draft.text(text)
        draft.inline(latex)
    section = abstract.heading
    for number, part in enumerate(parts, 2):
        if part.heading != section:
            section = part.heading
            draft.heading(_heading(draft, section, formulas))
        for paragraph in part.text.split(BREAK):
            draft.end_paragraph()
            _read_paragraph(draft, paragraph, formulas, number)
    if formulas.left < 0:
        draft.problem("output budget", 0, "formulas that are referred to very often")
    article = draft.finish()
    for equation in article.equations:
        equation.numbered = None
    return article


def _parts(record: dict[str, Any]) -> Iterator[_Part]:
    """The text of either schema."""
    if "sections" not in record:
        for paragraph in record["body_text"]:
            yield _part(paragraph)
        return
    for heading, section in record["sections"].items():
        text = _part(section).text
        for place in _GLUED:
            text = place.sub(rf"\1{BREAK}", text)
        yield _Part(_text(heading), text)


def _part(value: dict[str, Any]) -> _Part:
    return _Part(_text(value.get("section")), _text(value.get("text")))


def _text(value: Any) -> str:
    return str(value or "")


def _typed(text: str) -> Iterator[tuple[str, str]]:
    """A title or an abstract, in which authors typed formulas: text, and the formula after it."""
    at = 0
    for formula in _DOLLARS.finditer(text):
        yield text[at : formula.start()], formula[2]
        at = formula.end()
    yield text[at:], ""


def _heading(draft: Draft, text: str, formulas: "_Formulas") -> str:
    """A section's title with its formulas."""
    at, pieces = 0, []
    for mark in _REFERENCE_MARK.finditer(text):
        pieces += [plain(text[at : mark.start()]), draft.inline_text(formulas.latex(mark[2]) or "")]
        at = mark.end()
    return "".join([*pieces, plain(text[at:])])


def _read_paragraph(draft: Draft, text: str, formulas: "_Formulas", number: int) -> None:
    """Add one paragraph; `number` stands for its line."""
    at = 0
    for mark in _REFERENCE_MARK.finditer(text):
        before = text[at : mark.start()]
        draft.text(_UNRESOLVED.sub(" ", before))
        if mark[1] == "formula":
            begins_line = not before.rpartition("\n")[2].strip() and ("\n" in before or at == 0)
            is_display = begins_line and _LINE_END.match(text, mark.end()) is not None
            latex = formulas.latex(mark[2])
            if latex is None:
                draft.article.displays_opened += is_display
                draft.article.displays_lost += is_display
                draft.problem("formula missing", 0, mark[2])
            elif is_display:
                draft.display(latex, line=number, environment="formula")
            else:
                draft.inline(latex)
        at = mark.end()
    draft.text(_UNRESOLVED.sub(" ", text[at:]))


class _Formulas:
    """The formulas of a paper; those that a text repeats very often are not read any more."""

    def __init__(self, entries: dict[str, Any], size: int) -> None:
        self._entries = entries
        self.left = _FREE + _REPEATED * size
        """Characters that may still be read."""

    def latex(self, name: str) -> str | None:
        """The LaTeX of an entry; None if there is none, or too much was read."""
        entry = self._entries.get(name)
        latex = entry.get("latex") if isinstance(entry, dict) else None
        if not isinstance(latex, str) or not latex.strip():
            return None
        self.left -= len(latex)
        return latex if self.left >= 0 else None


def _authors(metadata: Any) -> list[str]:
    """The authors as arXiv lists them: family name, given names, suffix."""
    listed = metadata.get("authors_parsed")
    is_list = isinstance(listed, list) and all(isinstance(each, list) for each in listed)
    entries = listed if is_list else []
    return [" ".join(map(str, [*each[1:2], *each[:1], *each[2:3]])) for each in entries]
