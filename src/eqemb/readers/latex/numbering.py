"""LaTeX's counters: sections, theorems, equations, and how a number is printed."""

from collections import ChainMap
from collections.abc import Mapping
from itertools import pairwise

from eqemb.readers.latex.classes import IN_SECTION, class_style
from eqemb.readers.latex.printing import evaluate, printed

_LEVELS = {"part": -1, "chapter": 0, "section": 1, "subsection": 2, "subsubsection": 3,
           "paragraph": 4, "subparagraph": 5}  # fmt: skip
_HEADINGS = tuple(_LEVELS)[1:]
_LARGEST = 2**31 - 1  # as in TeX
_MOST_COUNTERS = 500  # TeX has 256
_SUBEQUATION = r"\theparentequation\alph{equation}"


class Numbering:
    """The state of a document's counters."""

    def __init__(self, document_class: str, *, chapters: bool = False) -> None:
        self._style = class_style(document_class, chapters=chapters)
        self._top = "chapter" if self._style.chapters else "section"
        self.counters: dict[str, int] = {"mainmatter": 1}
        self.children: dict[str, set[str]] = {"equation": {"IEEEsubequation"}}
        """The counters that a counter resets."""
        self.has_too_many = False
        """Whether counters were left out because there are too many."""
        self.shared: dict[str, str] = {}
        self.theorems: dict[str, str] = {}
        self.forms = {"theequation": self._style.equation, "thepart": r"\Roman{part}"}
        r"""Printed forms by command: \theequation, and copies that \let made of one."""
        self._kept: dict[str, dict[str, int]] = {}
        self.depth = 2 if self._style.chapters else 3
        self._groups: list[tuple[str, int, str]] = []
        """Open groups (subequations): number, and the counter value and form to restore."""
        self._appendices: list[tuple[str, int, str]] = []
        """Open appendices: their counter, and the value and form to restore."""
        self._section_forms()
        if self._style.within:
            self._add_parent("equation", self._style.within)
        self._base_forms = dict(self.forms)

    def _section_forms(self) -> None:
        top = self._top
        self.forms["the" + top] = rf"\{self._style.section}{{{top}}}"
        for upper, lower in pairwise(_HEADINGS):
            if lower != top and not (upper == "chapter" and top == "section"):
                self.forms["the" + lower] = rf"\the{upper}.\arabic{{{lower}}}"
                self._add_parent(lower, upper)

    # ------------------------------------------------------------ counters

    def step(self, name: str) -> None:
        """Increment a counter, and reset the counters within it."""
        name = self.shared.get(name, name)
        self._put(name, self.counters.get(name, 0) + 1)
        self._reset_below(name)

    def _reset_below(self, name: str) -> None:
        """Reset all counters within a counter, at any depth."""
        names, reset = [name], {name}
        for upper in names:
            for child in self.children.get(upper, ()):
                if child not in reset:
                    self.counters[child] = 0
                    reset.add(child)
                    names.append(child)

    def _put(self, name: str, value: int) -> None:
        """Give a counter a value, unless it is one too many."""
        if name in self.counters or len(self.counters) < _MOST_COUNTERS:
            self.counters[name] = value
        else:
            self.has_too_many = True

    def value(self, name: str) -> int:
        """The current value of a counter."""
        return self.counters.get(self.shared.get(name, name), 0)

    def set(self, name: str, expression: str, *, add: bool = False) -> None:
        r"""\setcounter and \addtocounter, with a sum of \value and numbers."""
        name = self.shared.get(name, name)
        if name == "secnumdepth":
            self.depth = evaluate(expression, self.value)
        else:
            base = self.counters.get(name, 0) if add else 0
            total = base + evaluate(expression, self.value)
            self._put(name, max(-_LARGEST, min(_LARGEST, total)))

    def new_counter(self, name: str, within: str) -> None:
        r"""\newcounter{name}[within]."""
        self.forms.setdefault("the" + name, rf"\arabic{{{name}}}")
        if within:
            self._add_parent(name, within)

    def _add_parent(self, child: str, parent: str) -> None:
        self._put(child, self.counters.get(child, 0))
        if child in self.counters:
            self.children.setdefault(parent, set()).add(child)

    def within(
        self, child: str, parent: str, *, printed: bool = True, style: str = "arabic"
    ) -> None:
        r"""\numberwithin and \counterwithin; \@addtoreset does not change what is printed."""
        self._add_parent(child, parent)
        if printed:
            self._set_base(child, rf"\the{parent}.\{style}{{{child}}}")

    def without(self, child: str, parent: str, *, printed: bool = True) -> None:
        r"""\counterwithout; \@removefromreset does not change what is printed."""
        self.children.get(parent, set()).discard(child)
        if printed:
            self._set_base(child, rf"\arabic{{{child}}}")

    def _set_base(self, counter: str, form: str) -> None:
        self.forms["the" + counter] = self._base_forms["the" + counter] = form

    def form(self, command: str, form: str | None) -> None:
        r"""\renewcommand{\the<name>}; None restores the form from before any of these."""
        if form is None:
            counter = command.removeprefix("the")
            form = self._base_forms.get(command, rf"\arabic{{{counter}}}")
        self.forms[command] = form

    def copy_form(self, command: str, other: str) -> None:
        r"""\let\command\other."""
        self.forms[command] = self.forms.get(other, rf"\arabic{{{other.removeprefix('the')}}}")

    def theorem(self, name: str, shared: str, within: str) -> None:
        r"""\newtheorem{name}[shared]{..}[within]."""
        shared = self.theorems.get(shared, shared)
        self.theorems[name] = shared or name
        if shared:
            self.forms["the" + name] = rf"\the{shared}"
        else:
            self.new_counter(name, within)
            if within:
                self.forms["the" + name] = rf"\the{within}.\arabic{{{name}}}"

    def share(self, alias: str, counter: str) -> None:
        r"""\let\c@alias\c@counter."""
        if alias != counter:
            self.shared[alias] = counter

    def heading(self, name: str) -> None:
        """Count a numbered heading."""
        numbered = self.counters["mainmatter"] and _LEVELS.get(name, 9) <= self.depth
        if numbered:
            self.step(name)
        elif self._style.unnumbered_restarts:
            self._reset_below(name)

    def matter(self, *, main: bool) -> None:
        r"""\mainmatter, or \frontmatter and \backmatter, where headings have no number."""
        self.counters["mainmatter"] = int(main)

    def unnumbered(self, name: str) -> None:
        r"""KOMA's \addchap and \addsec: headings without a number."""
        if self._style.unnumbered_restarts:
            self._reset_below(name)

    def keep(self, name: str) -> None:
        """Keep the values of all counters before a statement."""
        self._kept[name] = dict(self.counters)

    def restore(self, name: str) -> None:
        """The statement is printed again: its numbers are those of the first time."""
        kept, self._kept[name] = self._kept.get(name, self.counters), dict(self.counters)
        self.counters = dict(kept)

    # ------------------------------------------------------------ appendices

    def appendix(self, *, starred: bool = False) -> None:
        r"""\appendix: headings restart, as letters; some classes change equations too.

        revtex has \appendix* for a single appendix.
        """
        self._letters(self._top)
        style = self._style
        if not style.appendix:
            return
        if style.appendix_overrides or self.forms["theequation"] == style.equation:
            self.forms["theequation"] = IN_SECTION if starred else style.appendix
        if style.appendix_within:
            self._add_parent("equation", "section")
        if style.appendix_restarts:
            self.counters["equation"] = 0

    def open_appendices(self, *, below: bool) -> None:
        """The environments appendices, and with `below` subappendices, one level lower."""
        counter = _HEADINGS[_HEADINGS.index(self._top) + below]
        form = self.forms["the" + counter]
        self._appendices.append((counter, self.value(counter), form))
        self._letters(counter)

    def close_appendices(self) -> None:
        """Headings continue as before the appendices."""
        if self._appendices:
            counter, value, self.forms["the" + counter] = self._appendices.pop()
            self.counters[counter] = value

    def _letters(self, counter: str) -> None:
        # \setcounter: counters within it are reset by the next heading, not here
        self.counters[counter] = 0
        self.counters[_HEADINGS[_HEADINGS.index(counter) + 1]] = 0
        form = rf"\Alph{{{counter}}}"
        if counter != self._top:
            form = rf"\the{_HEADINGS[_HEADINGS.index(counter) - 1]}.{form}"
        self.forms["the" + counter] = form

    # ------------------------------------------------------------ printing

    def print(self, form: str) -> str:
        r"""What a piece of LaTeX with counters prints: a form, or the text of a \tag."""
        return printed(form, self._all_forms(), self.value)

    def printed(self, name: str) -> str:
        r"""What \the<name> prints, without blanks; nothing where a form refers to itself."""
        form = self.forms.get("the" + name, rf"\arabic{{{name}}}")
        number = printed(form, self._all_forms(), self.value, ("the" + name,))
        return number.replace(" ", "")

    def _all_forms(self) -> Mapping[str, str]:
        """The forms, with that of the open group."""
        if not self._groups:
            return self.forms
        return ChainMap({"theparentequation": self.group}, self.forms)

    def open_group(self, form: str = _SUBEQUATION) -> None:
        """Subequations begin: one number for the group; inside, counting restarts with letters."""
        self.step("equation")
        self._groups.append(
            (self.printed("equation"), self.value("equation"), self.forms["theequation"])
        )
        self.set("equation", "0")
        self.forms["theequation"] = form

    def close_group(self) -> None:
        """Subequations end."""
        if self._groups:
            _, value, self.forms["theequation"] = self._groups.pop()
            self.set("equation", str(value))

    @property
    def group(self) -> str:
        """The number of the open group, or ''."""
        return self._groups[-1][0] if self._groups else ""
