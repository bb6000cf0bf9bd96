"""`layout(latex)` makes a `Layout`: the tree of an equation, its units and its output forms."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from eqemb.formula import tree, unicode
from eqemb.formula.commands import FUNCTIONS
from eqemb.formula.mathml import to_mathml
from eqemb.formula.parse import Parser
from eqemb.formula.read_mathml import read_mathml
from eqemb.formula.rows import chain, fences
from eqemb.formula.tangent import tangent_exact as as_tangent
from eqemb.formula.token_reader import FormulaProblem
from eqemb.formula.tree import Node, Unit
from eqemb.formula.write_latex import to_latex

Ends = Literal["needed", "all", "none"]
Mode = Literal["value", "type", "both"]

_PUNCTUATION = frozenset({"&comma;", ".", ";"})
#: Letters with a fixed meaning, which are not renamed.
CONSTANTS = FUNCTIONS | {"V!π", "V!∞", "V!ℏ"}


class Layout:
    """An equation as a symbol layout tree, made by `layout`, `from_slt` or `from_mathml`."""

    __slots__ = ("_canonical", "_nodes", "latex", "problems", "punctuation", "root", "unknown")

    def __init__(
        self,
        root: Node | None,
        latex: str = "",
        problems: Sequence[FormulaProblem] = (),
        unknown: Sequence[str] = (),
        punctuation: str = "",
    ) -> None:
        self.root = root
        self.latex = latex
        self.problems = list(problems)
        """What could not be read: cause and command."""
        self.unknown = list(unknown)
        """Unknown commands; each is a symbol of the tree, under its name."""
        self.punctuation = punctuation
        """Punctuation at the end of the sentence, which is not part of the equation."""
        # a search asks for these several times
        self._canonical: str | None = None
        self._nodes: tuple[Node, ...] | None = None

    @classmethod
    def from_slt(cls, text: str) -> "Layout":
        """Read Tangent's bracket string; raises ValueError if it is malformed."""
        return cls(tree.from_slt(text))

    @classmethod
    def from_mathml(cls, text: str, *, tangent_exact: bool = False) -> "Layout":
        """Read presentation MathML, such as that of LaTeXML, ar5iv and JATS articles.

        Its `latex` is written from the tree, and `layout` reads it as the same equation.
        """
        items, problems = read_mathml(text)
        made = _finish(items, "", problems, [], tangent_exact=tangent_exact)
        written = to_latex(made.root)
        made.latex = written + " " * written.endswith(".") + made.punctuation
        return made

    def nodes(self) -> list[Node]:
        """All nodes in the order of units; `to_mathml` and `to_text` refer to them by index."""
        if self._nodes is None:
            self._nodes = tuple(tree.walk(self.root))
        return list(self._nodes)

    def units(
        self,
        window: int = 1,
        end_of_baseline: Ends = "needed",
        mode: Mode = "value",
        *,
        rename: bool = False,
        alphabets: bool = True,
    ) -> list[Unit]:
        """The units: (symbol, symbol, path between them), in Tangent's order.

        `window` is the longest path (0 for any). `mode` "type" keeps only the kind of each symbol.
        `rename` numbers one-letter variables by appearance. Without `alphabets`, bold is plain.
        """
        ends = end_of_baseline == "all"
        if window == 1:
            units = tree.adjacent_units(self.root, ends=ends)
        else:
            units = tree.window_units(self.root, window, ends=ends)
        if not units and end_of_baseline == "needed" and self.root is not None:
            units = [(self.root.tag, "0!", "n")]
        if not alphabets:
            units = [(tree.plain_tag(s), tree.plain_tag(t), p) for s, t, p in units]
        if rename:
            names = self._names(alphabets=alphabets)
            units = [(names.get(s, s), names.get(t, t), p) for s, t, p in units]
        if mode == "value":
            return units
        types = [(tree.type_tag(s), tree.type_tag(t), p) for s, t, p in units]
        return types if mode == "type" else units + types

    def _names(self, *, alphabets: bool) -> dict[str, str]:
        tags = (node.tag for node in tree.walk(self.root))
        return tree.rename(tags if alphabets else map(tree.plain_tag, tags), CONSTANTS)

    def to_slt(self) -> str:
        """The tree as Tangent's bracket string."""
        return tree.to_slt(self.root)

    def canonical(self, rename: Callable[[str], str] = str) -> str:
        """The key by which equations are the same: the bracket string without final punctuation."""
        if self._canonical is None:
            self._canonical = self._made_canonical()
        if rename is str:
            return self._canonical
        return tree.rename_slt(self._canonical, rename)

    def _made_canonical(self) -> str:
        end: Node | None = None
        for node in tree.baseline(self.root):
            if node.tag not in _PUNCTUATION or node.kids:
                end = None
            elif end is None:
                end = node
        return tree.to_slt(self.root, end if end is not self.root else None)

    def to_mathml(
        self,
        *,
        display: bool = True,
        mark: Iterable[int] = (),
        symbols: Mapping[int, int] | None = None,
    ) -> str:
        """MathML for browsers; nodes whose index is in `mark` get the class `eqemb-mark`.

        Nodes whose index is in `symbols` get its value as the attribute `data-symbol`.
        """
        return to_mathml(self.root, self.punctuation, display=display, mark=mark, symbols=symbols)

    def to_text(self, mark: Iterable[int] = (), around: tuple[str, str] = ("⟦", "⟧")) -> str:
        """One line of Unicode for terminals; nodes whose index is in `mark` are put in `around`."""
        return unicode.to_text(self.root, mark, around) + self.punctuation

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Layout):
            return NotImplemented
        return self.canonical() == other.canonical()

    def __hash__(self) -> int:
        return hash(self.canonical())

    def __repr__(self) -> str:
        text, count = self.to_text(), len(self.nodes())
        shown = text if len(text) <= 60 else text[:59] + "…"
        problems = f", {len(self.problems)} problems" if self.problems else ""
        return f"<Layout {shown} ({count} symbols{problems})>"

    def _repr_html_(self) -> str:
        return self.to_mathml()

    def _repr_latex_(self) -> str | None:
        return f"$\\displaystyle {self.latex}$" if self.latex else None


#: Users paste formulas with dollars or brackets around them.
_WRAPPED = re.compile(r"\s*(?:\$\$([^$]+)\$\$|\$([^$]+)\$|\\\[(.+)\\\]|\\\((.+)\\\))\s*", re.DOTALL)


def layout(latex: str, *, tangent_exact: bool = False) -> Layout:
    r"""Make the layout tree of LaTeX mathematics, such as the body of a display; never raises.

    Top-level `&` and `\\` join rows. With `tangent_exact` the tree is exactly that of Tangent.
    """
    if wrapped := _WRAPPED.fullmatch(latex):
        latex = wrapped[1] or wrapped[2] or wrapped[3] or wrapped[4]
    parser = Parser(latex)
    items = parser.formula()
    return _finish(items, latex, parser.problems, parser.unknown, tangent_exact=tangent_exact)


def _finish(
    items: list[Node],
    latex: str,
    problems: list[FormulaProblem],
    unknown: list[str],
    *,
    tangent_exact: bool,
) -> Layout:
    items = fences(items)
    end = len(items)
    if not tangent_exact:
        while end > 1 and items[end - 1].tag in _PUNCTUATION and items[end - 1].kids is None:
            end -= 1
    tail = "".join("," if node.tag == "&comma;" else node.tag for node in items[end:])
    del items[end:]
    root = chain(items)
    if tangent_exact:
        as_tangent(root)
    return Layout(root, latex, problems, unknown, tail)


def mathml_to_latex(text: str) -> str:
    """Presentation MathML as LaTeX; raises ValueError if there is no formula in it."""
    made = Layout.from_mathml(text)
    if made.root is None:
        cause = made.problems[0].cause if made.problems else "an empty math element"
        raise ValueError(f"no formula in this MathML: {cause}")
    return made.latex


def picture(made: Layout) -> str:
    """The tree drawn as text, for `eqemb units`."""
    return unicode.picture(made.root)


def read_canonical(canonical: str) -> Layout:
    """Parse a canonical form; an equation without symbols gives an empty layout."""
    try:
        return Layout.from_slt(canonical)
    except ValueError:
        return Layout(None)
