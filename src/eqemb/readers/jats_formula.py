"""One formula of a JATS article: as LaTeX, as MathML, as text, or as a picture only."""

import re
from dataclasses import dataclass, field

from eqemb.formula import mathml_to_latex
from eqemb.readers.xml_events import XmlPlace

_TEX_DOCUMENT = re.compile(r"\\begin\s*\{document\}")
_DELIMITERS_OF_TEX = (("$$", "$$"), ("$", "$"), (r"\[", r"\]"), (r"\(", r"\)"))
_EQUATION_WORD = re.compile(r"^(?:eq(?:uation|n|\.)?\.?)\s*", re.IGNORECASE)
_TEX_SPECIAL = re.compile(r"[\\{}$&#%_^~]")
#: Elements of a formula that is written as text -> LaTeX that begins what they do.
_TEXT_COMMANDS = {"sub": "_{", "sup": "^{", "bold": r"\mathbf{"}


@dataclass(slots=True)
class JatsFormula:
    """A formula whose element is open; it receives the events inside."""

    element: str
    line: int
    id: str
    has_picture: bool = False
    _label: list[str] = field(default_factory=list)
    _tex: list[list[str]] = field(default_factory=list)
    _mathml: list[str] = field(default_factory=list)
    _text: list[str] = field(default_factory=list)
    _math_start: int = -1
    """Where the open `math` element begins in the source."""
    _open: str = ""
    """The open element whose characters are not text of the formula."""

    def start_inside(self, name: str, place: XmlPlace) -> None:
        """An element begins inside."""
        if self._math_start >= 0:
            return
        if name == "math":
            self._math_start = place.offset
        elif name in ("tex-math", "label"):
            self._open = name
            if name == "tex-math":
                self._tex.append([])
        elif name in ("graphic", "inline-graphic", "media"):
            self.has_picture = True
        elif name in _TEXT_COMMANDS:
            self._text.append(_TEXT_COMMANDS[name])

    def text_inside(self, text: str) -> None:
        """Characters inside; those of MathML are in its source."""
        if self._math_start >= 0:
            return
        if self._open == "tex-math":
            self._tex[-1].append(text)
        elif self._open == "label":
            self._label.append(text)
        else:
            self._text.append(_TEX_SPECIAL.sub(lambda found: "\\" + found[0], text))

    def end_inside(self, name: str, place: XmlPlace) -> bool:
        """An element ends; return whether it was that of the formula."""
        if name == "math" and self._math_start >= 0:
            self._mathml.append(place.source(self._math_start))
            self._math_start = -1
        elif self._math_start >= 0:
            return False
        elif name in _TEXT_COMMANDS:
            self._text.append("}")
        elif name in ("tex-math", "label"):
            self._open = ""
        return name == self.element

    def latex(self) -> str:
        """Its LaTeX, from the best form that can be read; '' if there is none."""
        written = (_without_document("".join(pieces)) for pieces in self._tex)
        found = r" \\ ".join(filter(None, written))
        if found:
            return found
        parts = []
        for source in self._mathml:
            try:
                parts.append(mathml_to_latex(source))
            except ValueError:
                continue
        return r" \\ ".join(parts) or " ".join("".join(self._text).split())

    def number(self) -> str | None:
        """The printed number."""
        return printed_number("".join(self._label))


def printed_number(label: str) -> str | None:
    """The number in a label, without parentheses and the word "Equation"."""
    return _EQUATION_WORD.sub("", label.strip()).strip(" ()[].:") or None


def _without_document(tex: str) -> str:
    """The formula of a `tex-math` element, which is often a LaTeX document of one formula."""
    begin = _TEX_DOCUMENT.search(tex)
    if begin:
        end = tex.find(r"\end{document}", begin.end())
        tex = tex[begin.end() : end if end >= 0 else len(tex)]
    elif "\\documentclass" in tex:
        return ""
    tex = tex.strip()
    for opener, closer in _DELIMITERS_OF_TEX:
        if tex.startswith(opener) and tex.endswith(closer) and len(tex) > len(opener + closer):
            return tex[len(opener) : -len(closer)].strip()
    return tex
