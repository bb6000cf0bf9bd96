"""Read an unarXive record: a paper already cut into paragraphs, formulas standing apart.

unarXive keeps no mark of numbering: a formula alone on its line is a display whose `numbered` is
None. Citations, figures and tables are dropped from the text, as in LaTeX sources.
"""

import json
import re
from typing import Any

from eqemb.article import EQUATION_MARK, Article, Equation, Problem
from eqemb.errors import SourceError
from eqemb.latex.prose import sentences

_ENTRY = re.compile(r"\{\{(\w+):([^{}]*)\}\}")
_TIDY = re.compile(r" ?\([\s,;]*\)| ?\[[\s,;]*\]| (?=[.,;:?!](?:\s|$))")


def read_unarxive(name: str, origin: str, collection: str, line: bytes) -> Article:
    """The article that one line of unarXive's JSONL holds."""
    try:
        record = json.loads(line)
        paragraphs = [record["abstract"] or {}, *record["body_text"]]
        entries = dict(record["ref_entries"])
        title = " ".join(str(record["metadata"]["title"]).split())
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SourceError("broken record", f"not an unarXive paper ({error!r})"[:200]) from None
    article = Article(name, origin, collection, title=title, main_file=f"{name}.json")
    article.source_bytes = len(line)
    lines = [title] if title else []
    blocks = ["\n".join(lines)] if lines else []
    for index, paragraph in enumerate(paragraphs):
        if isinstance(paragraph, dict):
            blocks += _paragraph(article, paragraph, entries, index)
    article.text = "".join(block + "\n\n" for block in blocks if block)
    return article


def _paragraph(
    article: Article, paragraph: dict[str, Any], entries: dict[str, Any], index: int
) -> list[str]:
    """The blocks of one paragraph: its section's title where it is new, then its sentences."""
    blocks = []
    section = str(paragraph.get("section") or "")
    if section and (not article.sections or article.sections[-1] != section):
        article.sections.append(section)
        blocks.append(section)
    pending: list[Equation] = []

    def entry(match: re.Match[str]) -> str:
        if match[1] != "formula":
            return ""
        latex = _latex(entries, match[2])
        if latex is None:
            article.problems.append(Problem("formula missing", article.main_file, 0, match[2]))
            return ""
        if not _stands_alone(text, match):
            return f"${' '.join(latex.replace('$', ' ').split())}$"
        number = len(article.equations) + len(pending) + 1
        display = Equation(
            article.name, number, None, None, [], "formula", number, latex,
            " ".join(latex.split()), article.main_file, index + 1, index + 1, section,
        )  # fmt: skip
        pending.append(display)
        return f" {EQUATION_MARK}{'.' if latex.rstrip().endswith('.') else ''} "

    text = str(paragraph.get("text") or "").replace(EQUATION_MARK, " ")
    cleaned = _TIDY.sub("", " ".join(_ENTRY.sub(entry, text).split()))
    found = sentences(cleaned)
    _give_context(pending, found)
    article.equations += pending
    article.displays_opened += len(pending)
    return [*blocks, "\n".join(found)]


def _latex(entries: dict[str, Any], key: str) -> str | None:
    entry = entries.get(key)
    latex = entry.get("latex") if isinstance(entry, dict) else None
    return latex if isinstance(latex, str) and latex.strip() else None


def _stands_alone(text: str, match: re.Match[str]) -> bool:
    """Whether the formula is alone on its line."""
    before = text.rfind("\n", 0, match.start()) + 1
    after = text.find("\n", match.end())
    line = text[before : after if after >= 0 else len(text)]
    return line.strip().rstrip(".,;") == match[0]


def _give_context(equations: list[Equation], lines: list[str]) -> None:
    waiting = iter(equations)
    for index, line in enumerate(lines):
        for _ in range(line.count(EQUATION_MARK)):
            around = " ".join(lines[max(0, index - 1) : index + 2])
            next(waiting).context = around.replace(EQUATION_MARK, "[equation]")
