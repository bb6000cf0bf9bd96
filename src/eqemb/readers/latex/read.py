"""Read one LaTeX source into an `Article`: decode, expand, walk, place equations in the text."""

import re
from collections import Counter

from eqemb.article import EQUATION_MARK, Article, Equation, Problem
from eqemb.errors import SourceError
from eqemb.formula.running_text import plain_text
from eqemb.readers.latex.commands import KNOWN
from eqemb.readers.latex.displays import count_displays
from eqemb.readers.latex.expand import Expanded, expand
from eqemb.readers.latex.files import Files
from eqemb.readers.latex.found import FoundEquation, WalkResult
from eqemb.readers.latex.frames import strip_comments
from eqemb.readers.latex.prose import (
    EQUATION_BASE,
    EQUATION_MARKS,
    REFERENCE_BASE,
    REFERENCE_MARKS,
    sentences,
    tidy,
    unprotect,
)
from eqemb.readers.latex.structure import Walker
from eqemb.sources import Source

_CONTEXT_LENGTH = 4000  # characters of context on both sides of an equation
_NEIGHBOURS = re.compile(rf"{EQUATION_MARKS.pattern}(?:\s*{EQUATION_MARKS.pattern})*")
_ANY_COMMAND = re.compile(r"\\\\|\\([A-Za-z]+)")


def read_latex(source: Source) -> Article:
    """Read a LaTeX source into an article."""
    files = Files(source.files)
    main = source.main or files.main()
    if main is None:
        raise SourceError("no TeX file", f"{len(source.files)} files")
    article = Article(source.name, source.origin, source.collection, main_file=main)
    article.problems += source.problems
    used = _add_document(article, files, main)
    for path in files.supplements(main, used):
        used += _add_document(article, files, path)
    for path in files.unused(used):
        displays = count_displays(strip_comments(files.text(path)))
        if displays:
            held = f"{displays} display{'s' * (displays > 1)}"
            article.problems.append(Problem("file not used", path, 0, held))
    article.source_bytes = sum(len(source.files[path]) for path in dict.fromkeys(used))
    return article


def _add_document(article: Article, files: Files, main: str) -> list[str]:
    """Read one document into the article; return the files it used."""
    expanded = expand(files, main)
    found = Walker(expanded).run(expanded.body_start)
    article.title = article.title or plain_text(_without_marks(found.title))
    article.sections += [_without_marks(title) for title in found.sections]
    article.problems += [*expanded.problems, *found.problems]
    for name, count in _unknown(expanded).items():
        article.unknown_macros[name] = article.unknown_macros.get(name, 0) + count
    article.displays_opened += found.opened
    article.displays_lost += found.lost
    _place_equations(article, found, expanded)
    return expanded.files


def _unknown(expanded: Expanded) -> dict[str, int]:
    """Commands of the document that are defined nowhere, with their frequency."""
    counts = Counter(_ANY_COMMAND.findall(expanded.text, expanded.body_start))
    return {
        name: count
        for name, count in sorted(counts.items())
        if name
        and name not in KNOWN
        and name not in expanded.defined
        and not name.startswith("end")
    }


def _without_marks(text: str) -> str:
    text = REFERENCE_MARKS.sub("", EQUATION_MARKS.sub("", text))
    return " ".join(unprotect(text).split())


def _place_equations(article: Article, found: WalkResult, expanded: Expanded) -> None:
    """Put equations and references where the text has their marks."""
    earlier = max((equation.display for equation in article.equations), default=0)
    equations = [_equation(article.name, item, expanded) for item in found.equations]
    for equation in equations:
        equation.display += earlier
    targets = _targets(found, equations)
    shown = _shown_numbers(found, equations)
    lines: list[str] = []
    breaks: set[int] = set()
    for paragraph in [found.title, *found.paragraphs] if found.title else found.paragraphs:
        lines += sentences(paragraph)
        breaks.add(len(lines))
    numbers = [shown.get(label, "") for label in found.references]
    rendered = [_render(line, numbers) for line in lines]
    for index, line in enumerate(lines):
        labels = [
            found.references[ord(mark) - REFERENCE_BASE] for mark in REFERENCE_MARKS.findall(line)
        ]
        if marks := EQUATION_MARKS.findall(line):
            around = " ".join(lines[max(0, index - 1) : index + 2])
        at = 0
        for mark in marks:
            equation = equations[ord(mark) - EQUATION_BASE]
            equation.ordinal = len(article.equations) + 1
            at = around.index(mark, at)
            equation.context = _context(around, at, numbers)
            article.equations.append(equation)
            labels += found.equations[ord(mark) - EQUATION_BASE].refers
        if labels:
            sentence = _shown(rendered[index])
        for label in labels:
            for equation in targets.get(label, ()):
                if sentence not in equation.references:
                    equation.references.append(sentence)
    article.text += _joined(rendered, breaks)


def _context(around: str, at: int, numbers: list[str]) -> str:
    """The sentences around one equation: itself as [equation], its neighbours as […]."""
    half = _CONTEXT_LENGTH // 2
    sides = (around[max(0, at - half) : at], around[at + 1 : at + 1 + half])
    left, right = (_render(_NEIGHBOURS.sub("[…]", side), numbers) for side in sides)
    return f"{left}[equation]{right}"


def _shown(sentences: str) -> str:
    """Sentences for people, with equations as [equation]; very long ones are cut."""
    return sentences[:_CONTEXT_LENGTH].replace(EQUATION_MARK, "[equation]")


def _equation(name: str, found: FoundEquation, expanded: Expanded) -> Equation:
    # the lines of its first and last symbol, without surrounding blanks
    body = expanded.text[found.start : found.end]
    file, line = expanded.source.line(found.start + len(body) - len(body.lstrip()))
    _, end_line = expanded.source.line(found.start + len(body.rstrip()), end=True)
    written = expanded.source.as_written(found.start, found.end)
    return Equation(
        name,
        ordinal=0,
        numbered=found.numbered,
        number=found.number,
        labels=found.labels,
        environment=found.environment,
        display=found.display,
        latex=found.latex if written is None else written.strip(),
        expanded=found.latex,
        file=file,
        line=line,
        end_line=max(line, end_line),
        section=_without_marks(found.section),
    )


def _targets(found: WalkResult, equations: list[Equation]) -> dict[str, list[Equation]]:
    """Label -> the equations it names; the label of subequations names all of them."""
    targets: dict[str, list[Equation]] = {}
    wanted = {*found.references, *(label for item in found.equations for label in item.refers)}
    of_group: dict[int, list[str]] = {}
    for label, (group, _) in found.group_labels.items():
        if label in wanted:
            of_group.setdefault(group, []).append(label)
    for item, equation in zip(found.equations, equations, strict=True):
        for label in equation.labels + of_group.get(item.group, []):
            targets.setdefault(label, []).append(equation)
    return targets


def _shown_numbers(found: WalkResult, equations: list[Equation]) -> dict[str, str]:
    """Label -> what a reference to it prints, as mathematics so that it is not a word."""
    shown = {label: f"${number}$" for label, (_, number) in found.group_labels.items()}
    for equation in equations:
        for label in equation.labels:
            if equation.number is not None:
                shown[label] = f"${equation.number}$"
    return shown


def _render(line: str, numbers: list[str]) -> str:
    """A sentence with its references printed and its equations as placeholders."""
    line = EQUATION_MARKS.sub(EQUATION_MARK, line)
    if REFERENCE_MARKS.search(line):
        line = REFERENCE_MARKS.sub(lambda mark: numbers[ord(mark[0]) - REFERENCE_BASE], line)
        line = tidy(" ".join(line.split()))
    return unprotect(line)


def _joined(lines: list[str], breaks: set[int]) -> str:
    """One sentence per line, a blank line between paragraphs."""
    return "".join(
        line + ("\n\n" if index + 1 in breaks else "\n") for index, line in enumerate(lines)
    )
