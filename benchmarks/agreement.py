"""Compare our layout trees with those of other converters and with the LaTeX source.

    python benchmarks/agreement.py [--papers FOLDER | --equations FILE.jsonl] [--show 5]
    python benchmarks/agreement.py --pages FOLDER [--show 5]

FOLDER holds papers, or is a library made by `eqemb read`; its numbered equations are used. Prints
the number of equations without `E!` and with unknown commands, whether the leaves of the tree are
the visible characters of the source, the units shared with math-core's MathML (also with fences
removed), and, if EQEMB_BENCH has them, the units shared with LaTeXML + Tangent. With `--pages`, it
prints the units that trees of MathML share with trees of the LaTeX beside it (`alttext`), as
LaTeXML writes both into web pages, below FOLDER: all formulas, also without the normalisation that
other converters need, and displays alone.
"""

import argparse
import gzip
import html
import json
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from equations import add_options, load
from leaves import leaves, visible

from eqemb.formula import Layout, layout
from eqemb.formula.tree import Node, Unit, plain_tag, walk

Units = Counter[Unit]


class Agreement:
    """Pooled Dice coefficient of multisets of units, and the differences."""

    def __init__(self) -> None:
        self.ours = self.theirs = self.shared = self.count = self.equal = 0
        self.missing: Units = Counter()
        self.extra: Units = Counter()
        self.examples: list[str] = []

    def add(self, latex: str, ours: Units, theirs: Units) -> None:
        """Add one equation."""
        self.count += 1
        self.equal += ours == theirs
        self.ours += ours.total()
        self.theirs += theirs.total()
        self.shared += (ours & theirs).total()
        self.missing += theirs - ours
        self.extra += ours - theirs
        if ours != theirs:
            self.examples.append(latex)

    @property
    def dice(self) -> float:
        """Return twice the shared units over all units."""
        return 2 * self.shared / max(1, self.ours + self.theirs)


# Normalisation before comparing with another converter

_SAME = {"-": "−", "∥": "‖", "∣": "|", "𝑑": "V!d", "d": "V!d", "∗": "*", "ε": "V!ϵ"}


def normal_tag(tag: str) -> str:
    """Remove invisible differences between converters from a tag."""
    tag = _SAME.get(tag, tag)
    if tag[:2] == "M!":
        return tag.replace("∥", "‖")
    if tag[:2] in ("V!", "N!"):
        return plain_tag(tag)
    if tag[:2] == "T!":
        return re.sub(r"\s+", " ", unicodedata.normalize("NFKC", tag))
    if len(tag) == 1 and "\U0001d400" <= tag <= "\U0001d7ff":
        return "V!" + unicodedata.normalize("NFKC", tag)
    return "V!" + tag if tag in ("argmin", "argmax") else tag


def normal(units: Iterable[Iterable[str]]) -> Units:
    """Return the units with tags normalised by `normal_tag`."""
    return Counter((normal_tag(s), normal_tag(t), path) for s, t, path in units)


def with_tangent(path: Path) -> Agreement:
    """Compare trees in Tangent's format with LaTeXML + Tangent."""
    result = Agreement()
    with gzip.open(path, "rt", encoding="utf8") as file:
        for line in file:
            record = json.loads(line)
            made = layout(record["latex"], tangent_exact=True)
            result.add(record["latex"], normal(made.units(1, "none")), normal(record["window1"]))
    return result


# math-core


def with_math_core(equations: list[str], *, dissolve: bool = False) -> Agreement:
    """Compare trees with math-core's MathML, on the equations that math-core accepts."""
    from math_core import LatexError, LatexToMathML

    convert = LatexToMathML().convert_with_local_state
    result = Agreement()
    for latex in equations:
        aligned = "&" in latex or "\\\\" in latex
        source = rf"\begin{{aligned}}{latex}\end{{aligned}}" if aligned else latex
        if _depth(source) > 500:  # math-core crashes on deep nesting
            continue
        try:
            theirs = Layout.from_mathml(convert(source, displaystyle=True))
        except LatexError:
            continue
        ours = layout(latex)
        units = _flat if dissolve else _units
        result.add(latex, normal(units(ours)), normal(units(theirs)))
    return result


def _depth(latex: str) -> int:
    level = deepest = 0
    for char in latex:
        level += (char == "{") - (char == "}")
        deepest = max(deepest, level)
    return deepest


def _units(made: Layout) -> list[Unit]:
    return made.units(1, "none")


_FENCED = re.compile(r"M!(&\w+;|\D)(&\w+;|\D)1x\d+\Z")


def _flat(made: Layout) -> list[Unit]:
    """Return the units with every fenced group expanded on its baseline."""
    for node in list(walk(made.root)):
        found = _FENCED.match(node.tag)
        if found:
            _dissolve(node, found[1], found[2])
    return made.units(1, "none")


def _dissolve(node: Node, opener: str, closer: str) -> None:
    end = Node(closer)
    kids = node.kids or {}
    head = last = kids.pop("w", None)
    while last is not None:
        following = last.kids.pop("e", None) if last.kids else None
        while last.n is not None:
            last = last.n
        last.n = following or end
        last = following
    end.kids = {edge: kids.pop(edge) for edge in "ab" if edge in kids} or None
    node.tag, node.kids, end.n, node.n = opener, kids or None, node.n, head or end


# Pages with MathML and LaTeX

_MATH = re.compile(r"<math\b([^<>]*)\balttext=\"([^\"]*)\"([^<>]*)>.*?</math>", re.DOTALL)


def with_pages(folder: Path) -> dict[str, Agreement]:
    """Compare trees of MathML with trees of its `alttext`."""
    results = {name: Agreement() for name in ("formulas", "formulas, as they are", "displays")}
    for path in sorted(folder.rglob("*.html")):
        for match in _MATH.finditer(path.read_text("utf-8", errors="replace")):
            latex = html.unescape(match[2])
            ours = _units(layout(latex))
            try:
                theirs = _units(Layout.from_mathml(match[0]))
            except ValueError:
                theirs = []
            results["formulas, as they are"].add(latex, Counter(ours), Counter(theirs))
            results["formulas"].add(latex, normal(ours), normal(theirs))
            if 'display="block"' in match[1] + match[3]:
                results["displays"].add(latex, normal(ours), normal(theirs))
    return results


# Comparison with the source

_CITED = re.compile(r"\\(?:eq|c|C|auto|page|v)?ref\b|\\cite|\\footnote|\\includegraphics")


def with_source(made: list[Layout], show: int) -> None:
    """Print how many equations were parsed, and whether their leaves match the source."""
    count = len(made)
    unknown = Counter(command for item in made for command in set(item.unknown))
    wrong = [item for item in made if leaves(item) != visible(item.latex)]
    shares = {
        "no E!": sum(not any(node.tag[:2] == "E!" for node in walk(item.root)) for item in made),
        "no problem": sum(not item.problems for item in made),
        "an unknown command": sum(bool(item.unknown) for item in made),
        "a reference or note dropped": sum(bool(_CITED.search(item.latex)) for item in made),
        "leaves = visible tokens": count - len(wrong),
    }
    for name, number in shares.items():
        print(f"{name:28} {number / count:8.3%}  {number}")
    print("   unknown:", *(f"{name} {times}" for name, times in unknown.most_common(show)))
    for item in wrong[:show]:
        ours, source = leaves(item), visible(item.latex)
        print("  ", item.latex[:150], dict(ours - source), dict(source - ours))


def main() -> None:
    """Run the comparisons and print them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser)
    parser.add_argument("--show", type=int, default=0, help="examples of each disagreement")
    parser.add_argument("--pages", type=Path, help="web pages of LaTeXML")
    options = parser.parse_args()
    if options.pages:
        report(with_pages(options.pages), options.show)
        return
    origin, equations = load(options.equations, options.papers)
    print(f"{len(equations)} equations from {origin}")
    with_source([layout(latex) for latex in equations], options.show)
    results = {
        "math-core": with_math_core(equations),
        "math-core, fences dissolved": with_math_core(equations, dissolve=True),
    }
    if "EQEMB_BENCH" in os.environ:
        path = Path(os.environ["EQEMB_BENCH"]) / "slt" / "tangent_real.jsonl.gz"
        results["LaTeXML + Tangent"] = with_tangent(path)
    report(results, options.show)


def report(results: dict[str, Agreement], show: int) -> None:
    """Print the shares, and the most frequent differences."""
    for name, result in results.items():
        print(f"{name:28} {result.dice:8.3%} of units on {result.count}, {result.equal} equal")
        if show:
            print("   only theirs:", result.missing.most_common(show))
            print("   only ours:  ", result.extra.most_common(show))
            print("   examples:   ", result.examples[:show])


if __name__ == "__main__":
    main()
