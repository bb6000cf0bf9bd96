"""Read unarXive records: papers already split into paragraphs, with formulas kept separately.

unarXive does not record equation numbers: a formula alone on its line is a display whose
`numbered` is None. Citations, figures and tables are dropped, as for LaTeX sources.
"""

import json
import re
from typing import Any

from eqemb.article import DOLLAR, EQUATION_MARK, Article, Equation, Problem
from eqemb.errors import SourceError
from eqemb.formula.running_text import plain_text
from eqemb.readers.prose import sentences
from eqemb.sources import Source

_REFERENCE_MARK = re.compile(r"\{\{(\w+):([^{}]*)\}\}")
_TIDY = re.compile(r" ?\([\s,;]*\)| ?\[[\s,;]*\]| (?=[.,;:?!](?:\s|$))")
_DOLLARS = re.compile(rf"({DOLLAR}{DOLLAR}?)([^{DOLLAR}]+)\1")


def read_unarxive(source: Source) -> Article:
    """Read one line of unarXive's JSONL, the only file of the source."""
    (line,) = source.files.values()
    try:
        record = json.loads(line)
        abstract, entries = record["abstract"] or {}, dict(record["ref_entries"])
        title = " ".join(_marked(record["metadata"]["title"]).split())
        texts = [(_text(abstract.get("section")), _marked(abstract.get("text")))]
        texts += [(_text(p.get("section")), _text(p.get("text"))) for p in record["body_text"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SourceError("broken record", f"not an unarXive paper ({error!r})"[:200]) from None
    article = Article(
        source.name,
        source.origin,
        source.collection,
        title=plain_text(title),
        main_file=f"{source.name}.json",
        source_bytes=len(line),
    )
    blocks = [title]
    for number, (heading, text) in enumerate(texts, 1):
        section = _heading(heading, entries)
        if section and article.sections[-1:] != [section]:
            article.sections.append(section)
            blocks.append(section)
        blocks.append("\n".join(_sentences(article, text, entries, number)))
    article.text = "".join(block + "\n\n" for block in blocks if block)
    return article


def _text(value: Any) -> str:
    """A field as text, without our marks; a dollar in it is a currency sign."""
    return str(value or "").replace(EQUATION_MARK, " ").replace("$", DOLLAR)


def _marked(value: Any) -> str:
    """A title or an abstract, in which authors typed mathematics between dollars."""
    return _DOLLARS.sub(lambda found: _inline(found[2]), _text(value))


def _heading(text: str, entries: dict[str, Any]) -> str:
    """A section's title with its formulas."""
    return " ".join(
        _REFERENCE_MARK.sub(lambda at: _inline(_latex(entries, at[2]) or ""), text).split()
    )


def _sentences(article: Article, text: str, entries: dict[str, Any], paragraph: int) -> list[str]:
    """The sentences of one paragraph; its displays are added to the article."""
    displays: list[Equation] = []

    def entry(match: re.Match[str]) -> str:
        if match[1] != "formula":
            return ""
        latex = _latex(entries, match[2])
        is_display = _stands_alone(text, match)
        article.displays_opened += is_display
        if latex is None:
            article.displays_lost += is_display
            article.problems.append(Problem("formula missing", article.main_file, 0, match[2]))
            return ""
        if not is_display:
            return _inline(latex)
        number = len(article.equations) + len(displays) + 1
        displays.append(Equation(
            article.name, number, None, None, [], "formula", number, latex,
            " ".join(latex.split()), article.main_file, paragraph, paragraph,
            article.sections[-1] if article.sections else "",
        ))  # fmt: skip
        return f" {EQUATION_MARK}{'.' if latex.rstrip().endswith('.') else ''} "

    found = sentences(_TIDY.sub("", " ".join(_REFERENCE_MARK.sub(entry, text).split())))
    _give_context(displays, found)
    article.equations += displays
    return found


def _inline(latex: str) -> str:
    """A formula within a line, as in an article's text."""
    return f"${' '.join(latex.replace('$', ' ').split())}$" if latex else ""


def _latex(entries: dict[str, Any], key: str) -> str | None:
    entry = entries.get(key)
    latex = entry.get("latex") if isinstance(entry, dict) else None
    latex = latex.replace(EQUATION_MARK, " ") if isinstance(latex, str) else ""
    return latex if latex.strip() else None


def _stands_alone(text: str, match: re.Match[str]) -> bool:
    """Whether a formula is alone on its line."""
    before = text.rfind("\n", 0, match.start()) + 1
    after = text.find("\n", match.end())
    line = text[before : after if after >= 0 else len(text)]
    return line.strip().rstrip(".,; ") == match[0]


def _give_context(equations: list[Equation], lines: list[str]) -> None:
    waiting = iter(equations)
    for index, line in enumerate(lines):
        for _ in range(line.count(EQUATION_MARK)):
            around = " ".join(lines[max(0, index - 1) : index + 2])
            next(waiting).context = around.replace(EQUATION_MARK, "[equation]")
