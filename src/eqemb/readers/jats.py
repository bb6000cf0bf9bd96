r"""Read JATS XML, the format of PubMed Central, eLife, PLOS and SciELO.

A formula may be there as LaTeX (`tex-math`, often a whole LaTeX document), as MathML, as text with
sub- and superscripts, or only as a picture, which is lost. LaTeX is preferred to MathML, and
MathML is written as LaTeX.

One file is one article: of a set of articles, the first one is read. The text is that of the
abstract, the body and the appendices; captions and footnotes follow the paragraph that contains
them, and tables are left out, as for LaTeX.
"""

import re
from collections.abc import Callable

from eqemb.article import Article
from eqemb.errors import SourceError
from eqemb.readers.draft import Draft, decode, plain
from eqemb.readers.jats_formula import JatsFormula, printed_number
from eqemb.readers.jats_front import JatsFrontMatter
from eqemb.readers.xml_events import StopParsing, XmlFault, XmlPlace, parse_xml
from eqemb.sources import Source

#: Elements around articles; any other root element is another format.
_SETS = frozenset({"pmc-articleset", "OAI-PMH", "record", "collection", "articles", "metadata"})
#: Parts of an article that are read.
_READ_PARTS = frozenset({"body", "abstract", "app", "floats-group"})
#: Elements within them that are left out.
_LEFT_OUT = frozenset(
    "table array graphic inline-graphic media supplementary-material inline-supplementary-material"
    " code preformat chem-struct chem-struct-wrap object-id label alt-text long-desc attrib"
    " permissions ref-list ack fn-group glossary bio notes sec-meta address table-wrap-foot"
    " contrib-group author-notes email uri back sub-article response".split()
)
#: Text that belongs after the paragraph around it.
_AFTERWARDS = frozenset({"caption", "fn"})
#: References that are left out with their text; others keep words such as "Figure".
_CITATIONS = frozenset({"bibr", "aff", "fn", "corresp", "table-fn", "author-notes", "contrib"})
#: Elements that end a sentence.
_BREAKS = frozenset({"list", "list-item", "def-item", "term", "def", "disp-quote", "verse-line"})

#: What separates citations, and goes with them.
_BETWEEN_CITATIONS = " \n\t\u00a0,;–—-"

_REFERENCE_WORD = re.compile(r"\W*([^\W\d_]{2,}\.?)(?=\W|$)")
_ADDRESS = re.compile(r"\s*(?:https?:|www\.|doi:|ftp:)", re.IGNORECASE)
_DISPLAY_TAG = re.compile(r"<(?:\w+:)?disp-formula[\s>/]")
_JATS_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_ARTICLE_TAG = re.compile(r"<(?:\w+:)?article[\s>]")
_OTHER_DOCUMENTS = re.compile(r"<(?:\w+:)?(?:sub-article|response)[\s>]|</(?:\w+:)?article\s*>")
_SCRIPTS = {
    "sub": str.maketrans("0123456789+−-=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎"),
    "sup": str.maketrans("0123456789+−-=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ"),
}
_ORDINALS = frozenset({"st", "nd", "rd", "th"})


def read_jats(source: Source) -> Article:
    """Read the article of one file."""
    main = source.main or next(iter(source.files))
    text = decode(source.files[main])
    reader = _JatsReader(Draft(source, main))
    fault = parse_xml(text, reader)
    if reader.root is None:
        detail = fault.detail if fault else "no element"
        raise SourceError("unsupported XML", f"it could not be parsed: {detail}")
    if fault and not reader.has_parts:
        raise SourceError("broken XML", f"line {fault.line}, before any text: {fault.detail}")
    if not reader.has_parts:
        raise SourceError("unsupported XML", "its article has no body and no abstract: not JATS")
    reader.close(fault)
    own = _own_text(text)
    if fault:
        _lose_rest(reader.draft, text, fault)
    if len(_ARTICLE_TAG.findall(text)) > 1 and reader.root != "article":
        reader.draft.problem("several articles in one file", 1, "only the first one is read")
    return reader.draft.finish(opened=len(_DISPLAY_TAG.findall(own)))


def _own_text(text: str) -> str:
    """The source of the first article, without comments, letters and replies."""
    start = _ARTICLE_TAG.search(text)
    text = _JATS_COMMENT.sub("", text[start.start() :] if start else text)
    end = _OTHER_DOCUMENTS.search(text)
    return text[: end.start()] if end else text


def _lose_rest(draft: Draft, text: str, fault: XmlFault) -> None:
    """Count the displays after a fault, up to which the file was read."""
    rest = text.encode("utf-8", "replace")[fault.offset :].decode("utf-8", "replace")
    draft.problem(fault.cause, fault.line, f"read up to here: {fault.detail}")
    end = _OTHER_DOCUMENTS.search(rest)
    for _ in _DISPLAY_TAG.finditer(rest[: end.start()] if end else rest):
        draft.has_math = True
        draft.lost("after a fault in the XML", fault.line)


class _JatsReader:
    """Receives the elements of a document and adds them to a draft."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.root: str | None = None
        self.has_parts = False
        self._path: list[str] = []
        self._parts = 0
        self._skipped_from = 0
        """The depth of the outermost element that is left out, or 0."""
        self._is_other = False
        """Whether that element is another document, whose displays do not count."""
        self._title: list[str] | None = None
        self._front = JatsFrontMatter()
        self._link: list[str] | None = None
        self._link_ids: list[str] = []
        self._link_type = ""
        self._script: list[tuple[str, list[str]]] = []
        self._held: list[str] | None = None
        """What stands between a citation and what follows, perhaps another one."""
        self._unclosed = False
        """Whether a bracket that closes belongs to a citation: "Author (2001" with ")" after."""
        self._formula: JatsFormula | None = None
        self._group: list[JatsFormula] | None = None
        self._group_label: list[str] = []
        self._in_group_label = False
        self._afterwards = 0
        self._waiting: list[tuple[Callable[..., None], tuple[object, ...]]] = []
        self._paragraphs = 0
        self._pictures = 0

    # -- events

    def start(self, name: str, attributes: dict[str, str], place: XmlPlace) -> None:
        """An element begins."""
        if self.root is None:
            self.root = name
            if name != "article" and name not in _SETS:
                raise _unsupported(name)
        self._path.append(name)
        if self._skipped_from:
            if name == "disp-formula" and not self._is_other:
                self._emit(self.draft.lost, "in a part that is left out", place.line)
        elif self._formula is not None:
            self._formula.start_inside(name, place)
        elif name in ("disp-formula", "inline-formula", "math", "tex-math"):
            self._start_formula(name, attributes, place)
        elif not self._parts and not self._begins_part(name, attributes):
            self._start_outside(name)
            self._front.start(name, attributes, self._path)
        else:
            self._start_text(name, attributes)

    def end(self, name: str, place: XmlPlace) -> None:
        """An element ends."""
        depth = len(self._path)
        self._path.pop()
        if self._skipped_from:
            if depth == self._skipped_from:
                self._skipped_from, self._is_other = 0, False
        elif self._formula is not None:
            formula = self._formula
            if formula.end_inside(name, place):
                self._formula = None
                self._end_formula(formula)
        elif self._parts or self._title is not None:
            self._end_text(name)
        else:
            self._front.end(name)
        if name == "article":
            raise StopParsing

    def text(self, text: str) -> None:
        """Characters of an element."""
        if self._skipped_from:
            return
        if self._formula is not None:
            self._formula.text_inside(text)
        elif self._in_group_label:
            self._group_label.append(text)
        else:
            self._add(text)
            if not self._parts:
                self._front.text(text)

    def close(self, fault: XmlFault | None) -> None:
        """The document has ended, or could not be parsed further."""
        if fault and self._formula is not None and self._formula.element == "disp-formula":
            self.draft.lost("after a fault in the XML", self._formula.line)
        self._afterwards = 0
        self._flush()
        self.draft.end_paragraph()
        self._front.give_to(self.draft)
        if self._pictures:
            detail = f"{self._pictures} formulas within the text"
            self.draft.problem("formula is a picture", 0, detail)

    # -- text

    def _begins_part(self, name: str, attributes: dict[str, str]) -> bool:
        if name not in _READ_PARTS or attributes.get("abstract-type"):
            return False
        self.has_parts = True
        return True

    def _start_outside(self, name: str) -> None:
        """Front and back matter: only the title counts."""
        if name == "article-title" and self._path[-2:-1] == ["title-group"]:
            self._title = []
        elif name in ("sub-article", "response"):
            self._skip(is_other=True)
        elif self._title is not None and name in _LEFT_OUT | {"xref", "fn"}:
            self._skip()

    def _start_text(self, name: str, attributes: dict[str, str]) -> None:
        if name in _READ_PARTS:
            self._parts += 1
            self._emit(self.draft.end_paragraph)
        elif name in _LEFT_OUT and self._group is not None and name == "label":
            self._in_group_label = True
        elif name in _LEFT_OUT or (name == "title" and self._path[-2] == "abstract"):
            self._skip(is_other=name in ("sub-article", "response"))
        elif name == "xref":
            self._link, self._link_type = [], attributes.get("ref-type", "")
            self._link_ids = attributes.get("rid", "").split()
        elif name == "ext-link":
            self._link, self._link_type = [], "address"
        elif name in _AFTERWARDS:
            self._afterwards += 1
        elif (
            name == "title" and self._path[-2:-1] in (["sec"], ["app"]) and not self._in_abstract()
        ):
            self._emit(self.draft.end_paragraph)
            self._title = []
        elif name in _SCRIPTS:
            self._script.append((name, []))
        elif name == "disp-formula-group":
            self._group, self._group_label = [], []
        elif name == "p":
            self._emit(self.draft.break_sentence if self._paragraphs else self.draft.end_paragraph)
            self._paragraphs += not self._afterwards
        elif name in _BREAKS:
            self._emit(self.draft.break_sentence)

    def _end_text(self, name: str) -> None:
        if self._title is not None and name in ("article-title", "title"):
            self._end_title(name)
        elif name in ("xref", "ext-link") and self._link is not None:
            self._end_link()
        elif name in _SCRIPTS and self._script:
            self._end_script()
        elif name in _READ_PARTS:
            self._parts -= 1
            self._paragraphs = 0
            self._emit(self.draft.end_paragraph)
            self._flush()
        elif name == "disp-formula-group" and self._group is not None:
            self._end_group(self._group)
        elif name == "label":
            self._in_group_label = False
        elif name in _AFTERWARDS:
            self._emit(self.draft.end_paragraph)
            self._afterwards -= 1
            self._flush()
        elif name == "p" and not self._afterwards:
            self._paragraphs -= 1
            self._emit(self.draft.break_sentence if self._paragraphs else self.draft.end_paragraph)
            self._flush()
        elif name in _BREAKS or name in ("title", "p"):
            self._emit(self.draft.break_sentence)
        elif name in ("break", "td"):
            self._add(" ")

    def _in_abstract(self) -> bool:
        return "abstract" in self._path

    def _skip(self, *, is_other: bool = False) -> None:
        self._skipped_from, self._is_other = len(self._path), is_other

    def _add(self, text: str) -> None:
        """Add characters to what is open: a link, a script, a title, or the text."""
        if self._unclosed and text.lstrip()[:1] == ")":
            text = text.lstrip()[1:]
        self._unclosed = False
        if text.strip() == "DOI:":
            return
        if self._held is not None:
            self._held.append(text)
            if not text.strip(_BETWEEN_CITATIONS):
                return
            text, self._held = "".join(self._held), None
        if self._link is not None:
            self._link.append(text)
        elif self._script:
            self._script[-1][1].append(text)
        elif self._title is not None:
            self._title.append(plain(text))
        elif self._parts:
            self._emit(self.draft.text, text)

    def _emit(self, action: Callable[..., None], *arguments: object) -> None:
        """Do something with the draft, now or after the paragraph."""
        if self._held is not None:
            held, self._held = self._held, None
            self._emit(self.draft.text, "".join(held))
        if self._afterwards:
            self._waiting.append((action, arguments))
        else:
            action(*arguments)

    def _flush(self) -> None:
        """Add the captions and footnotes that waited for the end of their paragraph."""
        if self._afterwards or self._paragraphs or not self._waiting:
            return
        self.draft.end_paragraph()
        for action, arguments in self._waiting:
            action(*arguments)
        self._waiting.clear()
        self.draft.end_paragraph()

    def _end_title(self, name: str) -> None:
        title, self._title = "".join(self._title or []), None
        self._emit(self.draft.title if name == "article-title" else self.draft.heading, title)

    def _end_link(self) -> None:
        text, self._link = "".join(self._link or []), None
        self._held = None if self._held is None else [" "]
        kind, ids = self._link_type, self._link_ids
        if kind == "disp-formula" and ids:
            if word := _REFERENCE_WORD.match(text):
                self._add(word[1] + " ")
            for place, label in enumerate(ids):
                if place:
                    self._add(", ")
                self._emit(self.draft.reference, label)
        elif kind == "address":
            self._add("" if _ADDRESS.match(text) else text)
        elif kind in _CITATIONS:
            self._held = [" "]
            self._unclosed = text.count("(") > text.count(")")
        elif word := _REFERENCE_WORD.match(text):
            self._add(word[1])

    def _end_script(self) -> None:
        name, pieces = self._script.pop()
        text = "".join(pieces).strip()
        if not text.strip(_BETWEEN_CITATIONS):
            return
        small = text.translate(_SCRIPTS[name])
        if text in _ORDINALS:
            self._add(text)
        elif any(char in text for char in small):
            self._add(("_" if name == "sub" else "^") + text)
        else:
            self._add(small)

    # -- formulas

    def _start_formula(self, name: str, attributes: dict[str, str], place: XmlPlace) -> None:
        self._formula = JatsFormula(name, place.line, attributes.get("id", ""))
        if name in ("math", "tex-math"):  # without an element of JATS around it
            self._formula.start_inside(name, place)

    def _end_formula(self, formula: JatsFormula) -> None:
        is_read = self._parts or self._title is not None
        if formula.element == "disp-formula":
            if not is_read:
                self.draft.lost("in a part that is left out", formula.line)
            elif self._group is not None:
                self._group.append(formula)
            else:
                self._display(formula, formula.number(), (formula.id,))
        elif is_read and (latex := formula.latex()):
            if self._link is not None:
                return
            if self._title is not None:
                self._title.append(self.draft.inline_text(latex))
            else:
                self._emit(self.draft.inline, latex)
        elif is_read and formula.has_picture:
            self._pictures += 1
            self.draft.has_math = True

    def _end_group(self, formulas: list[JatsFormula]) -> None:
        """Add the formulas of a group; its label is that of the last one without any."""
        label = printed_number("".join(self._group_label))
        self._group = None
        for place, formula in enumerate(formulas):
            number = formula.number()
            if number is None and place == len(formulas) - 1:
                number = label
            self._display(formula, number, (formula.id,))

    def _display(self, formula: JatsFormula, number: str | None, labels: tuple[str, ...]) -> None:
        latex = formula.latex()
        if latex:
            self._emit(
                _add_display, self.draft, latex, formula.line, tuple(filter(None, labels)), number
            )
            return
        self.draft.has_math = True
        self._add(" ")
        cause = "formula is a picture" if formula.has_picture else "formula not understood"
        self._emit(self.draft.lost, cause, formula.line, formula.id)


def _add_display(
    draft: Draft, latex: str, line: int, labels: tuple[str, ...], number: str | None
) -> None:
    draft.display(
        latex,
        line=line,
        environment="disp-formula",
        labels=labels,
        number=number,
        numbered=number is not None,
    )


def _unsupported(root: str) -> SourceError:
    if root.lower() in ("tei", "teicorpus"):
        detail = "TEI, whose formulas are lines of raw text, not mathematics"
    else:
        detail = f"its root element is <{root[:100]}>, and of XML only JATS articles can be read"
    return SourceError("unsupported XML", detail)
