"""Names of equations (ARTICLE#4, ARTICLE(2.3) and ARTICLE:eq:loss) and of collections."""

import re
from pathlib import Path

from eqemb.article import Equation
from eqemb.checks import did_you_mean
from eqemb.errors import UsageError, quoted
from eqemb.library.article_names import resolve_article
from eqemb.library.database import LibraryRecords
from eqemb.search.query import has_math_sign

#: An article's name has none of the marks #, (, ) and :. Answers print ARTICLE (2.3) and
#: ARTICLE#4 (2.3), which are names too.
_EQUATION_NAME = re.compile(
    r"(?P<article>[^#():\s]++(?:\s++[^#():\s]++)*+)(?P<blank>\s*+)"
    r"(?:#(?P<ordinal>\d{1,9})(?:\s*\((?P<beside>[^()]+)\))?|\((?P<number>[^()]+)\)|:(?P<label>.+))"
)
#: Characters that occur in formulas but not in names.
_FORMULA_CHARACTER = re.compile(r"[\\^_{}=+<>|&$,\s]")


def looks_like_name(query: str) -> str:
    """Return the article that a query names, perhaps misspelt; '' if it reads as a formula.

    Names of the library may also look like formulas or words: see `find_equation`.
    """
    match = _EQUATION_NAME.fullmatch(query.strip())
    if match is None:
        return ""
    article, number = match["article"], match["number"] or ""
    if match["ordinal"] is None and (
        _FORMULA_CHARACTER.search(article + number + (match["label"] or ""))
        or len(article) < 3
        # recall (balanced) is words, softmax(x) is a formula
        or (number and not re.search(r"\d", number))
    ):
        return ""
    return article


def find_equation(records: LibraryRecords, name: str) -> Equation | None:
    """Return the equation of a name; None if the text is LaTeX and no name.

    The last parts of an article's name are enough where they are unique.
    """
    name = name.strip()
    match = _EQUATION_NAME.fullmatch(name)
    if match is None:
        return None
    article = records.key(match["article"])
    if article is None and (looks_like_name(name) or _may_be_tagged(match)):
        try:
            whole = resolve_article(records, match["article"])
        except UsageError:
            if looks_like_name(name):
                raise
            return None
        article = None if whole is None else records.key(whole)
    if article is None:
        return None
    number = match["number"] or match["beside"]
    if match["ordinal"] is not None and number is None:
        found = records.find_equation(article, int(match["ordinal"]))
        if found is not None:
            return found[0]
    for ordinal, printed, labels in records.equation_labels(article):
        if (
            (match["ordinal"] is None or ordinal == int(match["ordinal"]))
            and (number is None or printed == number)
            and (match["label"] is None or match["label"] in labels)
        ):
            return records.equation(article, ordinal)[0]
    rest = name[len(match["article"]) :].strip()
    raise UsageError(f"{match['article']} has no equation {rest}: `eqemb show` lists its equations")


def _may_be_tagged(match: re.Match[str]) -> bool:
    """Whether a text may name an equation by a tag without digits: `cosine(F)`."""
    number, article = match["number"] or "", match["article"]
    return bool(number) and not match["blank"] and not _FORMULA_CHARACTER.search(article + number)


def check_not_article(records: LibraryRecords, text: str) -> None:
    """Refuse text that names an article but no equation: it is not meant as LaTeX."""
    head = re.match(r"[^#():,]*[^#():,\s]", text.strip())
    if head is None or len(head[0]) < 3 or records.key(head[0]) is None:
        return
    rest = text.strip()[len(head[0]) :]
    if not has_math_sign(rest):
        raise UsageError(
            f"{quoted(text.strip())} names the article {head[0]} but no equation: write {head[0]}#4"
            " for its fourth equation, or put LaTeX between dollars"
        )


def check_collection(records: LibraryRecords, folder: Path, name: str) -> None:
    """Refuse a collection that the library does not have; suggest similar names."""
    known = records.collection_names()
    if name not in known:
        hint = did_you_mean(name, known, "`eqemb info` lists them")
        raise UsageError(f"no collection {quoted(name)} in {folder}: {hint}")
