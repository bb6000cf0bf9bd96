"""Walk through a page in reading order and collect its text, headings and formulas."""

import re
from bisect import bisect_left
from typing import NamedTuple

from eqemb.article import Article
from eqemb.readers.draft import Draft, decode, plain
from eqemb.readers.html.contents import (
    NOTE_ELEMENTS,
    NOTES,
    is_left_out,
    is_reference_heading,
)
from eqemb.readers.html.count import count_displays
from eqemb.readers.html.delimiters import TextPiece, split_formulas
from eqemb.readers.html.equations import Display, displays_in, is_display
from eqemb.readers.html.formulas import MATHJAX_2, NO_TEX, Formula, recognise
from eqemb.readers.html.macros import script_macros
from eqemb.readers.html.metadata import PageMetadata
from eqemb.readers.html.tree import (
    BLOCK_ELEMENTS,
    HEADING_ELEMENTS,
    Element,
    Text,
    descendants,
    parse,
)
from eqemb.sources import Source

_FRAGMENT = re.compile(r"(?<=[\s\"'])href\s*=\s*[\"']?[^\"'\s<>#]*#([^\"'\s<>]+)")
_EQUATION_ID = re.compile(r"\.E\d+$")
_MATHJAX_TARGET = re.compile(r"mjx-eqn[-:](.+)")
_HAS_TEX = re.compile(r"mathjax|katex|\$\$|\\\(|\\\[", re.IGNORECASE)
_WEB_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>\"]+")
_SITE_NAME = re.compile(r" (?:[|·–—]|[-—] Wikipedia\b).*", re.DOTALL)
#: Titles of LaTeXML that begin a section; others belong to theorems and proofs.
_SECTION_TITLE = re.compile(
    r"ltx_title_(?:document|part|chapter|(?:sub)*section|(?:sub)?paragraph|appendix|bibliography"
    r"|index|acknowledgements)"
)
#: "2.1 Method", "3. Results", "A.1 Proofs"; other formats do not put numbers into the text either.
_HEADING_NUMBER = re.compile(r"^\s*(?:\d+\.|(?:\d+|[A-Z])(?:\.\d+)+\.?)\s+(?=\S)")
#: These end a sentence, not a paragraph.
_SENTENCE_ELEMENTS = frozenset("li td th tr dt dd thead tbody tfoot".split())
_INLINE_ELEMENTS = frozenset("span b i em strong a small big font sup sub u".split())
_NUMBERED_TABLE = frozenset("table tbody tr td".split())
_AROUND_FORMULA = " \t\n\u00a0.,;:"
_SHOWN_NUMBER = re.compile(r"\(\s*([^()\s]{1,12})\s*\)")
#: The name that a note gets when its turn comes.
_NOTE_NAME = ":note"
_NONE, _SENTENCE, _PARAGRAPH = range(3)


class _Leave(NamedTuple):
    """The end of an element in the order of reading."""

    element: Element


def read_html(source: Source) -> Article:
    """Read one web page, the only file of the source."""
    draft = Draft(source)
    text = decode(source.files[draft.article.main_file])
    page = _Page(text, draft)
    page.read()
    opened = count_displays(text)
    page.account_for_rest(opened)
    return draft.finish(opened)


class _Page:
    """One reading of a page."""

    def __init__(self, source: str, draft: Draft) -> None:
        self.source = source
        self.draft = draft
        name = draft.article.main_file.lower()
        is_xml = name.endswith(".xhtml") or source.lstrip()[:5] == "<?xml"
        self.root = parse(source, is_xml=is_xml)
        self.line_ends = [match.start() for match in re.finditer("\n", source)]
        self.has_dollars = _HAS_TEX.search(source) is not None
        self.is_latexml = "ltx_page_main" in source or "ltx_document" in source
        self.has_scripts = "math/tex" in source
        self.linked = set(_FRAGMENT.findall(source))
        self.equation_ids: set[str] = set()
        self.title = ""
        self.about = PageMetadata()
        self.mains: list[Element] = []
        self.run: list[Text] = []
        self.notes: list[Element] = []
        self.stack: list[Element | Text | _Leave] = []
        self.break_before = _NONE
        self.is_after_display = False
        self.left_out_level = 0
        self.left_out: list[Element | Text] = []
        self.has_title = False
        self.is_in_dollars = False
        self.inline_losses: list[tuple[str, int]] = []

    def read(self) -> None:
        self.survey()
        self.stack = list(reversed(self.mains or [self.root]))
        while self.stack:
            node = self.stack.pop()
            if isinstance(node, Text):
                self.run.append(node)
            elif isinstance(node, _Leave):
                self.leave(node.element)
            elif node.name in ("br", "wbr"):
                self.run.append(Text(" " * (node.name == "br"), node.start))
            else:
                self.flush()
                self.enter(node)
            if not self.stack and self.notes:
                self.stack += reversed(self.notes)
                self.notes = []
        self.flush()
        self.draft.title(plain(_SITE_NAME.sub("", " ".join(self.title.split()))))
        self.about.give_to(self.draft)
        if self.inline_losses:
            cause, line = self.inline_losses[0]
            self.draft.problem(
                "inline formula not read", line, f"{len(self.inline_losses)}: {cause}"
            )

    def account_for_rest(self, opened: int) -> None:
        """Count displays in parts that were left out as lost, as far as the count has them."""
        missing = self.draft.missing(opened)
        mains = set(self.mains)
        stack = self.left_out[::-1]
        if mains:
            stack.append(self.root)
        while stack and missing > 0:
            node = stack.pop()
            if isinstance(node, Text):
                found = sum(piece.kind == "display" for piece in self.split(node.data))
            elif node in mains:
                continue
            elif self.is_latexml and is_display(node):
                found = 1
            elif (formula := recognise(node, self.source)) is not None:
                found = int(formula.is_display)
            else:
                stack += reversed(node.children)
                continue
            for _ in range(min(found, missing)):
                self.draft.lost("in a part that is left out", self.line(node.start))
            missing -= found

    def survey(self) -> None:
        """Find what is needed before reading: macros, the main part, equations with links."""
        formula_end = 0  # nothing is looked for inside a formula
        for node in descendants(self.root):
            if isinstance(node, Text):
                continue
            self.about.see(node)
            if node.name == "title" and not self.title and node.children:
                self.title = "".join(
                    child.data for child in node.children if isinstance(child, Text)
                )
            elif node.name == "script":
                for child in node.children:
                    for macro in script_macros(child.data) if isinstance(child, Text) else ():
                        self.draft.math.define(macro)
            elif (node.name == "main" or node.get("role") == "main") and (
                not self.mains or node.start >= self.mains[-1].end
            ):
                self.mains.append(node)
            if node.start >= formula_end and node.get("id") in self.linked:
                formula_end = self.note_display(node)

    def note_display(self, element: Element) -> int:
        """Keep the id of an element that holds one display, and nothing else but its number.

        Returns the end of the element if it is itself a formula, or 0.
        """
        if self.is_latexml:
            has_display = is_display(element) or _EQUATION_ID.search(element.get("id")) is not None
            formula = None
        elif (formula := recognise(element, self.source)) is not None:
            has_display = formula.is_display
        else:
            lone = self.lone_formulas(element)
            has_display = len(lone) == 1 and lone[0][1].is_display
        if has_display:
            self.equation_ids.add(element.get("id"))
        return element.end if formula is not None else 0

    # -- elements

    def enter(self, element: Element) -> None:
        """Read an element, or put its children on the stack."""
        name, classes = element.name, element.classes
        if name in HEADING_ELEMENTS and self.is_heading(element):
            self.heading(element)
        elif self.left_out_level:
            is_formula = is_display(element) or recognise(element, self.source) is not None
            self.left_out += [element] * is_formula
            self.stack += [] if is_formula else reversed(element.children)
        elif self.has_scripts and not classes.isdisjoint(MATHJAX_2):
            return
        elif self.is_latexml and is_display(element):
            self.equations(element)
        elif (formula := recognise(element, self.source)) is not None:
            self.formula(element, formula)
        elif is_left_out(element) or self.is_site_header(element):
            self.left_out.append(element)
        elif not classes.isdisjoint(NOTES) or name in NOTE_ELEMENTS:
            self.notes.append(_as_block(element))
        elif name == "a" and self.link(element):
            return
        elif self.is_display_line(element) and (lone := self.lone_formulas(element)):
            self.display_line(lone)
        else:
            self.boundary(element)
            self.stack.append(_Leave(element))
            self.stack += reversed(element.children)

    def leave(self, element: Element) -> None:
        self.flush()
        self.boundary(element)
        is_paragraph = element.name in BLOCK_ELEMENTS and not (
            self.is_latexml and element.name == "p"
        )
        if is_paragraph and self.notes:  # LaTeXML ends `p` at displays
            self.stack += reversed(self.notes)
            self.notes = []

    def boundary(self, element: Element) -> None:
        if element.name in BLOCK_ELEMENTS:
            self.is_in_dollars = False
        if element.name in _SENTENCE_ELEMENTS:
            self.break_before = max(self.break_before, _SENTENCE)
            self.is_after_display = False
        elif element.name in BLOCK_ELEMENTS:
            self.break_before = _PARAGRAPH
        elif element.name == _NOTE_NAME:
            self.draft.end_paragraph()

    def is_heading(self, element: Element) -> bool:
        if is_left_out(element):
            return False
        titles = [name for name in element.classes if name.startswith("ltx_title_")]
        return not titles or any(map(_SECTION_TITLE.fullmatch, titles))

    def heading(self, element: Element) -> None:
        """A title, or the begin of a section; lists of references are left out."""
        level = int(element.name[1])
        line = _HEADING_NUMBER.sub("", self.line_text(element), count=1)
        if self.left_out_level and level > self.left_out_level:
            return
        self.left_out_level = level if is_reference_heading(line) else 0
        if self.left_out_level:
            return
        self.break_before, self.is_after_display = _NONE, False
        if level == 1 and not self.has_title and line.strip():
            self.has_title = True
            self.draft.end_paragraph()
            self.draft.title(line)
        else:
            self.draft.heading(line)

    def line_text(self, element: Element) -> str:
        """The text of a heading, with its formulas."""
        pieces: list[str] = []
        stack: list[Element | Text] = element.children[::-1]
        while stack:
            node = stack.pop()
            if isinstance(node, Text):
                for piece in self.split(node.data):
                    is_text = piece.kind in ("text", "unclosed")
                    pieces.append(
                        plain(piece.text) if is_text else self.draft.inline_text(piece.text)
                    )
            elif (formula := recognise(node, self.source)) is not None:
                pieces.append(self.draft.inline_text(formula.tex))
            elif not is_left_out(node) and node.classes.isdisjoint(NOTES):
                stack += reversed(node.children)
                pieces.append(" " * (node.name == "br"))
        return "".join(pieces)

    def is_site_header(self, element: Element) -> bool:
        """Whether a `header` is that of the site, with its navigation, not that of the text."""
        return element.name == "header" and any(
            isinstance(node, Element) and node.name == "nav" for node in descendants(element, 40)
        )

    def link(self, element: Element) -> bool:
        """Read a link to an equation as a reference; whether the link is done."""
        _, has_fragment, target = element.get("href").partition("#")
        if not has_fragment:
            return False
        if target in self.equation_ids:
            self.reference(target)
        elif match := _MATHJAX_TARGET.match(target):
            self.reference(match[1])
        else:
            return "ltx_ref" in element.classes
        return True

    # -- formulas

    def formula(self, element: Element, formula: Formula) -> None:
        line = self.line(element.start)
        if formula.lost:
            self.draft.has_math = True
            if formula.is_display:
                self.draft.lost(formula.lost, line)
            else:
                self.inline_losses.append((formula.lost, line))
                self.text(" ")
        elif formula.is_display:
            self.display(formula.tex, element, number=formula.number, environment=formula.opening)
        else:
            self.inline(formula.tex)

    def display(
        self, tex: str, element: Element, *, number: str = "", environment: str = "$$"
    ) -> None:
        lines = self.line(element.start), self.line(max(element.end - 1, element.start))
        self.draft.display(
            tex, line=lines[0], end_line=lines[1], environment=environment,
            labels=self.labels(element), number=number or None,
        )  # fmt: skip
        self.break_before, self.is_after_display = _NONE, True

    def labels(self, element: Element) -> tuple[str, ...]:
        """The ids by which links name a display: its own, or of what holds nothing else."""
        found: list[str] = []
        node: Element | None = element
        for _ in range(5):
            if node is None:
                break
            if node.get("id") in self.equation_ids:
                found.append(node.get("id"))
            node = node.parent
        return tuple(found)

    def equations(self, element: Element) -> None:
        """A display of LaTeXML; without any formula, it is lost."""
        has_formula = False
        for part in displays_in(element, self.source):
            if isinstance(part, Display):
                has_formula = True
                self.equation_rows(part, element)
            else:
                self.text(part)
        if not has_formula and "ltx_eqn_table" in element.classes:
            self.draft.lost(NO_TEX, self.line(element.start))

    def equation_rows(self, display: Display, element: Element) -> None:
        line = self.line(display.rows[0].start)
        lost = next((row.lost for row in display.rows if row.lost), "")
        if lost:
            self.draft.has_math = True
            self.draft.lost(lost, line, display.environment)
            return
        latex, written = display.latex(self.linked.__contains__)
        self.draft.display(
            latex, line=line, end_line=self.line(element.end - 1),
            environment=display.environment, written=written,
        )  # fmt: skip
        self.break_before, self.is_after_display = _NONE, True

    def is_display_line(self, element: Element) -> bool:
        """Whether an element is set off as displays are: indented, or centred."""
        if element.name in ("dd", "center"):
            return True
        if element.name == "table":
            return element.get("role") == "presentation"
        is_centred = element.get("align") == "center" or "text-align:center" in element.get("style")
        return is_centred and element.name in ("p", "div")

    def lone_formulas(self, element: Element) -> list[tuple[Element, Formula, str]]:
        """The formulas of an element without words, and the punctuation and number after each."""
        found: list[tuple[Element, Formula, str]] = []
        stack: list[Element | Text] = element.children[::-1]
        for _ in range(60):
            if not stack:
                return found if all(map(_is_alone, found)) else []
            node = stack.pop()
            if isinstance(node, Text):
                if found:
                    found[-1] = (*found[-1][:2], found[-1][2] + node.data)
                elif node.data.strip():
                    return []
            elif (formula := recognise(node, self.source)) is not None:
                found.append((node, formula, ""))
            elif node.name in _INLINE_ELEMENTS or node.name in _NUMBERED_TABLE or node.name == "br":
                stack += reversed(node.children)
            elif not is_left_out(node):
                return []
        return []

    def display_line(self, lone: list[tuple[Element, Formula, str]]) -> None:
        for node, formula, after in lone:
            number = _SHOWN_NUMBER.search(after)
            printed = number[1] if number else ""
            self.formula(node, formula._replace(is_display=True, number=printed))
            if "." in _SHOWN_NUMBER.sub("", after):
                self.draft.text(". ")
        self.break_before = _PARAGRAPH

    # -- running text

    def flush(self) -> None:
        """Read the text that was collected since the last tag."""
        if not self.run:
            return
        text = "".join(piece.data for piece in self.run)
        position = self.run[0].start
        start = self.line(position)
        self.run.clear()
        if self.left_out_level:
            self.left_out.append(Text(text, position))
            return
        if self.is_in_dollars:
            text = self.after_broken(text)
        line, at = start, 0
        for piece in self.split(text):
            if piece.kind == "text":
                self.text(piece.text)
                continue
            line, at = line + text.count("\n", at, piece.start), piece.start
            if piece.kind == "inline":
                self.inline(piece.text)
            elif piece.kind == "reference":
                self.reference(piece.text)
            elif piece.kind == "unclosed":
                self.unclosed(piece.opening, line)
            else:
                self.text_display(piece, line)

    def unclosed(self, opening: str, line: int) -> None:
        self.is_in_dollars = opening == "$$"
        self.draft.lost("formula not closed", line, opening)

    def after_broken(self, text: str) -> str:
        """A text without the end of a formula that has tags inside: `$$a<em>b</em>c$$`."""
        end = text.find("$$")
        if end < 0:
            return text
        self.is_in_dollars = False
        return "\n" * text.count("\n", 0, end) + text[end + 2 :]

    def split(self, text: str) -> "list[TextPiece]":
        """The pieces of a text; on pages of LaTeXML all formulas are elements."""
        if self.is_latexml or ("$" not in text and "\\" not in text):
            return [TextPiece("text", text, 0, len(text))]
        return list(split_formulas(text, has_dollars=self.has_dollars))

    def text_display(self, piece: TextPiece, line: int) -> None:
        self.draft.display(
            piece.text, line=line, end_line=line + piece.text.count("\n"),
            environment=piece.opening,
        )  # fmt: skip
        self.break_before, self.is_after_display = _NONE, True

    def text(self, text: str) -> None:
        if text.isspace() or not text:
            if self.break_before == _NONE:
                self.draft.text(text)
            return
        self.begin(text.lstrip()[0])
        self.draft.text(_WEB_ADDRESS.sub(" ", text) if "://" in text or "www." in text else text)

    def inline(self, tex: str) -> None:
        self.begin("$")
        self.draft.inline(tex)

    def reference(self, label: str) -> None:
        self.begin("(")
        self.draft.reference(label)

    def begin(self, first: str) -> None:
        """End the sentence or paragraph before a text, unless the text continues it."""
        continues = self.is_after_display and (first.islower() or first in ",;:.")
        if self.break_before == _PARAGRAPH and not continues:
            self.draft.end_paragraph()
        elif self.break_before == _SENTENCE and not continues:
            self.draft.break_sentence()
        self.break_before, self.is_after_display = _NONE, False

    def line(self, position: int) -> int:
        return bisect_left(self.line_ends, position) + 1


def _as_block(note: Element) -> Element:
    """A note as a paragraph of its own."""
    return Element(_NOTE_NAME, {}, note.start, note.end, note.parent, note.children)


def _is_alone(found: tuple[Element, Formula, str]) -> bool:
    return not _SHOWN_NUMBER.sub("", found[2], count=1).strip(_AROUND_FORMULA)
