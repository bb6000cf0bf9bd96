"""Read one LaTeX source into an `Article`: decode, expand, walk, place equations in the text."""

import re
from collections import Counter
from collections.abc import Collection

from eqemb.article import Article, Equation, NotationRow, Problem
from eqemb.errors import SourceError
from eqemb.formula.running_text import plain_text
from eqemb.readers.latex.authors import find_authors
from eqemb.readers.latex.budget import INPUT_BUDGET, Budget, Work
from eqemb.readers.latex.commands import KNOWN
from eqemb.readers.latex.displays import count_displays
from eqemb.readers.latex.expand import Expanded, counted_displays, expand
from eqemb.readers.latex.files import Files
from eqemb.readers.latex.found import FoundEquation, WalkResult
from eqemb.readers.latex.frames import strip_comments
from eqemb.readers.latex.structure import Walker
from eqemb.readers.placing import place_equations, without_marks
from eqemb.sources import Source

_ANY_COMMAND = re.compile(r"\\\\|\\([A-Za-z]+)")


def read_latex(source: Source) -> Article:
    """Read a LaTeX source into an article."""
    files = Files(source.files)
    main = source.main or files.main()
    if main is None:
        raise SourceError("no TeX file", f"{len(source.files)} files")
    article = Article(source.name, source.origin, source.collection, main_file=main)
    article.problems += source.problems
    work = Work(Budget())
    first = _add_document(article, files, main, work)
    others = files.supplements(main, set(first.files))
    documents = [first, *(_add_document(article, files, path, work) for path in others)]
    used = {path: None for document in documents for path in document.files}
    is_over = any(document.exhausted == INPUT_BUDGET for document in documents)
    _report_unused(article, files, used, is_over=is_over)
    article.source_bytes = sum(len(source.files[path]) for path in used)
    return article


def _report_unused(article: Article, files: Files, used: Collection[str], *, is_over: bool) -> None:
    """Report files with displays that were not read: over budget they are lost."""
    for path in files.unused(used):
        displays = count_displays(strip_comments(files.text(path)))
        if displays:
            cause = f"lost: {INPUT_BUDGET}" if is_over else "file not used"
            article.problems.append(Problem(cause, path, 0, counted_displays(displays)))
            if is_over:
                article.displays_opened += displays
                article.displays_lost += displays


def _add_document(article: Article, files: Files, main: str, work: Work) -> Expanded:
    """Read one document into the article; return what it expanded to."""
    expanded = expand(files, main, work)
    found = Walker(expanded).run(expanded.body_start)
    article.title = article.title or plain_text(without_marks(found.title))
    article.authors = article.authors or find_authors(expanded.text)
    article.notation += [
        NotationRow(row.symbol, without_marks(row.meaning), row.section + len(article.sections))
        for row in found.notation
    ]
    article.sections += [without_marks(title) for title in found.sections]
    article.problems += [*expanded.problems, *found.problems]
    for name, count in _unknown(expanded).items():
        article.unknown_macros[name] = article.unknown_macros.get(name, 0) + count
    article.displays_opened += found.opened + expanded.lost
    article.displays_lost += found.lost + expanded.lost
    _place_equations(article, found, expanded)
    return expanded


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


def _place_equations(article: Article, found: WalkResult, expanded: Expanded) -> None:
    """Put equations and references where the text has their marks."""
    earlier = max((equation.display for equation in article.equations), default=0)
    equations = [_equation(article.name, item, expanded) for item in found.equations]
    for equation in equations:
        equation.display += earlier
    place_equations(
        article,
        [found.title, *found.paragraphs] if found.title else found.paragraphs,
        equations,
        found.references,
        refers=[item.refers for item in found.equations],
        targets=_targets(found, equations),
        printed=_printed_numbers(found, equations),
    )


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
        section=without_marks(found.section),
    )


def _targets(found: WalkResult, equations: list[Equation]) -> dict[str, list[Equation]]:
    """Label -> the equations it names; the label of subequations names all of them."""
    targets: dict[str, list[Equation]] = {}
    wanted = {*found.references, *(label for item in found.equations for label in item.refers)}
    of_group: dict[int, list[str]] = {}
    for label, (group, _) in found.group_labels.items():
        if label in wanted:
            of_group.setdefault(group, []).append(label)
    groups: dict[int, list[Equation]] = {}
    for item, equation in zip(found.equations, equations, strict=True):
        groups.setdefault(item.group, []).append(equation)
        for label in equation.labels:
            targets.setdefault(label, []).append(equation)
    for group, labels in of_group.items():
        for label in labels:  # many labels of a group share one list
            named, others = groups.get(group, []), targets.get(label)
            targets[label] = [*others, *named] if others else named
    return targets


def _printed_numbers(found: WalkResult, equations: list[Equation]) -> dict[str, str]:
    """Label -> the number that a reference to it prints."""
    printed = {label: number for label, (_, number) in found.group_labels.items()}
    for equation in equations:
        if equation.number is not None:
            printed |= dict.fromkeys(equation.labels, equation.number)
    return printed
