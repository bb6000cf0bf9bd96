r"""Draw symbols of equations and write papers for readers who mark definitions.

Used by `symbol_labels.py`. A reader sees the text of a paper in reading order, every line with its
range of offsets in `Article.text`, displays as LaTeX. A display is one character of that text, so
`ShownLine` keeps the offset of every character that is shown. Nothing here looks for definitions.
"""

import random
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from eqemb.article import EQUATION_MARK, Article
from eqemb.formula import layout
from eqemb.symbols import Symbol, symbols_of
from eqemb.symbols.places import ArticleLine, ArticlePlaces

MIN_EQUATIONS = 5
#: A paper that shares more of its runs of eight words with another is a copy in part.
COPIED, RUN = 0.2, 8
#: Papers with more letters than this are cut.
MAX_SHOWN = 60_000
#: Roles of symbols that are asked: indices that are bound or only in scripts are not.
ASKED_ROLES = frozenset({"variable", "function"})
#: Paragraphs that are kept at the beginning of a paper, and on each side of a drawn equation.
_OPENING, _AROUND = 4, 2

_KEPT_SECTION = re.compile(
    r"\b(?:notations?|nomenclature|symbols|conventions|abstract|preliminaries)\b", re.IGNORECASE
)
_FORMULA = re.compile(r"\$[^$]*\$")
#: Commands that decorate a letter: the letter is what comes after them.
_DECORATIONS = frozenset(
    "hat bar tilde vec dot ddot check breve acute grave widehat widetilde overline underline mathbf"
    " mathbb mathcal mathrm mathit mathsf mathtt mathfrak mathscr boldsymbol bm text textbf textit"
    " textrm textsc texttt textsf operatorname bf rm it cal overrightarrow left right".split()
)
_COMMAND_OR_NAME = re.compile(r"\\([a-zA-Z]+)|([^\W\d_]+)")
_WRITTEN_LINE = re.compile(r"^\[(\d+)-(\d+)\] (.*)$", re.MULTILINE)
_SHOWN_DISPLAY = re.compile("⟦EQ [^⟦⟧]*⟧")
_COMMAND = re.compile(r"\\[a-zA-Z]+")


class DrawnSymbol(NamedTuple):
    """A symbol of an equation that readers are asked about."""

    article: str
    ordinal: int
    symbol: Symbol

    @property
    def equation(self) -> str:
        """The name of the equation."""
        return f"{self.article}#{self.ordinal}"


def draw_symbols(
    articles: Iterable[Article], *, seed: int, papers: int, each: int
) -> dict[str, list[DrawnSymbol]]:
    """Draw papers, as many of each collection as there are, and symbols of their equations.

    A paper gives `each` symbols, no two of one equation and no two the same; one that cannot, or
    that is a copy in part of one that was drawn, is passed over. Every draw depends on the seed and
    the articles alone.
    """
    order = random.Random(f"{seed} papers")
    waiting: dict[str, list[Article]] = defaultdict(list)
    for article in sorted(articles, key=lambda one: one.name):
        if len(article.equations) >= MIN_EQUATIONS:
            waiting[article.collection].append(article)
    for collection in sorted(waiting):
        order.shuffle(waiting[collection])
    drawn: dict[str, list[DrawnSymbol]] = {}
    seen: list[set[int]] = []
    while len(drawn) < papers and any(waiting.values()):
        for collection in sorted(waiting):
            while waiting[collection] and len(drawn) < papers:
                article = waiting[collection].pop()
                found = _symbols(article, each, seed)
                runs = _word_runs(article)
                copied = any(
                    len(runs & other) > COPIED * min(len(runs), len(other)) for other in seen
                )
                if len(found) == each and not copied:
                    drawn[article.name] = found
                    seen.append(runs)
                    break
    return dict(sorted(drawn.items()))


def _symbols(article: Article, count: int, seed: int) -> list[DrawnSymbol]:
    dice = random.Random(f"{seed} {article.name}")
    ordinals = list(range(1, len(article.equations) + 1))
    dice.shuffle(ordinals)
    found: dict[str, DrawnSymbol] = {}
    for ordinal in ordinals:
        named = symbols_of(layout(article.equations[ordinal - 1].expanded))
        asked = [one for one in named if one.role in ASKED_ROLES and one.key not in found]
        if asked:
            one = dice.choice(asked)
            found[one.key] = DrawnSymbol(article.name, ordinal, one)
        if len(found) == count:
            break
    return sorted(found.values(), key=lambda one: one.ordinal)


def _word_runs(article: Article) -> set[int]:
    words = article.words()
    return {
        zlib.crc32(" ".join(words[at : at + RUN]).encode()) for at in range(len(words) - RUN + 1)
    }


# ------------------------------------------------------------ what a reader sees


class ShownLine(NamedTuple):
    """A line as readers see it, and where each of its characters stands in the article's text."""

    line: ArticleLine
    text: str
    offsets: list[int]
    ordinals: list[int]
    """The equations in it."""

    @property
    def end(self) -> int:
        """Where the line ends in the article's text."""
        return self.line.start + len(self.line.text)

    def span(self, quote: str) -> list[tuple[int, int]]:
        """Every place of a quote, as offsets in the article's text; any space matches any."""
        pattern = r"\s+".join(map(re.escape, quote.split()))
        places = re.finditer(pattern, self.text) if pattern else ()
        return [(self.offsets[one.start()], self.offsets[one.end() - 1] + 1) for one in places]


def shown_lines(article: Article, places: ArticlePlaces | None = None) -> list[ShownLine]:
    """The lines of an article that are not empty, equations as LaTeX."""
    places = places or ArticlePlaces(article.text, article.sections)
    shown: list[ShownLine] = []
    ordinal = 0
    for line in places.lines:
        pieces: list[str] = []
        offsets: list[int] = []
        inside: list[int] = []
        for at, char in enumerate(line.text, line.start):
            piece = char
            if char == EQUATION_MARK:
                ordinal += 1
                inside.append(ordinal)
                piece = _display(article, ordinal)
            pieces.append(piece)
            offsets.extend([at] * len(piece))
        shown.append(ShownLine(line, "".join(pieces), offsets, inside))
    return shown


def _display(article: Article, ordinal: int) -> str:
    equation = article.equations[ordinal - 1]
    number = f" ({equation.number})" if equation.number else ""
    return f"⟦EQ {ordinal}{number}: {' '.join(equation.expanded.split())}⟧"


def find_quote(lines: Iterable[ShownLine], start: int, quote: str) -> tuple[int, int]:
    """Where a quote stands in the line that begins at an offset; ValueError says what is wrong."""
    line = next((one for one in lines if one.line.start == start), None)
    if line is None:
        raise ValueError(f"no line begins at {start}")
    found = line.span(quote)
    if not found:
        raise ValueError(f"the line at {start} does not have {quote!r}")
    if len(found) > 1:
        raise ValueError(f"the line at {start} has {quote!r} {len(found)} times: quote more words")
    return found[0]


def write_paper(article: Article, drawn: list[DrawnSymbol], limit: int = MAX_SHOWN) -> str:
    """The text of a paper for readers, cut if it is long."""
    places = ArticlePlaces(article.text, article.sections)
    lines = shown_lines(article, places)
    asked: dict[int, DrawnSymbol] = {one.ordinal: one for one in drawn}
    kept = None
    if sum(len(line.text) for line in lines) > limit:
        kept = _kept_paragraphs(article, lines, drawn, limit)
    parts = [f"PAPER {article.name}", f"TITLE {article.title}", f"ASKED: {len(drawn)} symbols"]
    for one in drawn:
        at = places.marks[one.ordinal - 1]
        parts.append(f"  {one.symbol.latex}   in {one.equation}, at offset {at}")
    if kept is not None:
        parts.append("This paper is long: [...] stands for paragraphs that are left out.")
    previous, cut = -1, False
    for line in lines:
        if kept is not None and line.line.paragraph not in kept:
            if not cut:
                parts += ["", "[...]"]
            cut, previous = True, line.line.paragraph
            continue
        if line.line.paragraph != previous:
            parts.append("")
        cut, previous = False, line.line.paragraph
        parts.extend(
            f">>>>> the next line has EQ {ordinal}, ASKED: {asked[ordinal].symbol.latex}"
            for ordinal in line.ordinals
            if ordinal in asked
        )
        parts.append(f"[{line.line.start}-{line.end}] {line.text}")
    return "\n".join(parts) + "\n"


def check_offsets(written: str, article: Article) -> None:
    """Raise AssertionError if a line that readers see is not the text at its offsets."""
    lines = {line.line.start: line for line in shown_lines(article)}
    for found in _WRITTEN_LINE.finditer(written):
        start, end, shown = int(found[1]), int(found[2]), found[3]
        line = lines[start]
        same = all(
            article.text[at] in {char, EQUATION_MARK}
            for at, char in zip(line.offsets, shown, strict=True)
        )
        whole = _SHOWN_DISPLAY.sub(EQUATION_MARK, shown) == article.text[start:end]
        if not (same and whole and line.text == shown):
            raise AssertionError(f"{article.name}: the line at {start} is not the text there")


# ------------------------------------------------------------ cutting long papers


def letters_of(latex: str) -> str:
    r"""The letter, command or name that a symbol is made of, to search a source for.

    >>> letters_of(r"\hat{\theta}_i"), letters_of(r"\mathbf{W}_{hh}")
    ('\\theta', 'W')
    """
    for found in _COMMAND_OR_NAME.finditer(latex):
        if found[1] is None:
            return found[2]
        if found[1] not in _DECORATIONS:
            return found[0]
    return latex


def has_letters(formula: str, letters: str) -> bool:
    r"""Whether the source of a formula has a letter, outside the names of other commands.

    A name may be that of a macro that was not expanded: `\gain` is the symbol `\mathrm{gain}`.
    """
    commands = _COMMAND.findall(formula)
    if letters.startswith("\\"):
        return letters in commands
    return "\\" + letters in commands or letters in _COMMAND.sub(" ", formula)


def _kept_paragraphs(
    article: Article, lines: list[ShownLine], drawn: list[DrawnSymbol], limit: int
) -> set[int]:
    """Paragraphs that a reader needs: of the letters, the notation, the opening, the equations.

    If that is still too long, those that have the letters only in displays are left out, and then
    those whose letters are farthest from the equations that ask for them.
    """
    size: dict[int, int] = defaultdict(int)
    for line in lines:
        size[line.line.paragraph] += len(line.text)
    order = list(size)
    kept = set(order[:_OPENING])
    home = {ordinal: line.line.paragraph for line in lines for ordinal in line.ordinals}
    centres = {one.ordinal: order.index(home[one.ordinal]) for one in drawn}
    for centre in centres.values():
        kept.update(order[max(0, centre - _AROUND) : centre + _AROUND + 1])
    for line in lines:
        section = article.sections[line.line.section] if line.line.section >= 0 else ""
        if _KEPT_SECTION.search(section):
            kept.add(line.line.paragraph)
    wanted = {one.ordinal: letters_of(one.symbol.latex) for one in drawn}
    distance: dict[int, int] = {}
    shown_only: set[int] = set()
    for line in lines:
        place = order.index(line.line.paragraph)
        for ordinal, letters in wanted.items():
            if _mentions(line.line.text, letters):
                away = abs(place - centres[ordinal])
                distance[place] = min(away, distance.get(place, away))
            elif has_letters(line.text, letters) and line.ordinals:
                shown_only.add(line.line.paragraph)
    near = {order[place] for place in distance}
    everything = kept | near | shown_only
    if sum(size[one] for one in everything) <= limit:
        return everything
    total = sum(size[one] for one in kept)
    for place in sorted(distance, key=lambda one: (distance[one], one)):
        paragraph = order[place]
        if paragraph not in kept and total + size[paragraph] <= limit:
            kept.add(paragraph)
            total += size[paragraph]
    return kept


def _mentions(text: str, letters: str) -> bool:
    """Whether a line has letters in an inline formula, or a name of several among its words."""
    if any(has_letters(formula, letters) for formula in _FORMULA.findall(text)):
        return True
    name = letters.removeprefix("\\")
    return (
        len(name) > 1 and re.search(rf"\b{re.escape(name)}\b", _FORMULA.sub(" ", text)) is not None
    )
