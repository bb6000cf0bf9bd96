"""How far our trees agree with others' and with the source itself.

    python benchmarks/agreement.py [--equations FILE.jsonl] [--show 5]

Prints: equations without `E!`, with unknown commands; whether the tree's leaves are the visible
characters of the source; units shared with math-core's MathML (also with fences dissolved); and,
where EQEMB_BENCH has them, with LaTeXML + Tangent on its real equations.
"""

import argparse
import gzip
import json
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from equations import load

from eqemb.formula import Layout, commands, layout
from eqemb.formula.tokens import tokens
from eqemb.formula.tree import Node, Unit, plain_tag, walk

Units = Counter[Unit]


class Agreement:
    """Pooled Dice over multisets of units, and what differed."""

    def __init__(self) -> None:
        self.ours = self.theirs = self.shared = self.count = self.equal = 0
        self.missing: Units = Counter()
        self.extra: Units = Counter()
        self.examples: list[str] = []

    def add(self, latex: str, ours: Units, theirs: Units) -> None:
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
        return 2 * self.shared / max(1, self.ours + self.theirs)


# Normalisation before comparing with another converter (SLT.md)

_SAME = {"-": "−", "∥": "‖", "∣": "|", "𝑑": "V!d", "d": "V!d", "∗": "*", "ε": "V!ϵ"}


def normal_tag(tag: str) -> str:
    """A tag without what converters do differently and no reader can see."""
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
    return Counter((normal_tag(s), normal_tag(t), path) for s, t, path in units)


def with_tangent(path: Path) -> Agreement:
    """Tangent-exact trees against LaTeXML + Tangent."""
    result = Agreement()
    with gzip.open(path, "rt", encoding="utf8") as file:
        for line in file:
            record = json.loads(line)
            made = layout(record["latex"], tangent_exact=True)
            result.add(record["latex"], normal(made.units(1, "none")), normal(record["window1"]))
    return result


# math-core


def with_math_core(equations: list[str], *, dissolve: bool = False) -> Agreement:
    """Trees against those of math-core's MathML, on the equations that it accepts."""
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
    """Units with every fenced group spelled out on its baseline."""
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


# The source itself

_SILENT = {
    *commands.SPACES, *commands.FONTS, *commands.SWITCHES, *commands.STACKS, *commands.SIZES,
    *commands.TRANSPARENT, *commands.ROW_STACKS, *commands.TEXT, "{", "}", "^", "_", "&", "\\sqrt", "\\left",
    "\\right", "\\middle", "\\mathop", "\\operatorname", "\\operatornamewithlimits",
}  # fmt: skip


_CITED = re.compile(r"\\(?:eq|c|C|auto|page|v)?ref\b|\\cite|\\footnote|\\includegraphics")


def visible(latex: str) -> Counter[str]:
    """The characters that a reader of the source would see, by the tables alone."""
    seen: Counter[str] = Counter()
    source = tokens(latex)
    at = 0
    while at < len(source):
        token = source[at]
        at += 1
        if token in ("\\left", "\\right", "\\middle") or token in commands.SIZES:
            if at < len(source):
                char = commands.DELIMITERS.get(source[at])
                seen.update(
                    _letters(
                        char if char is not None else commands.SYMBOLS.get(source[at], source[at])
                    )
                )
            at += 1
        elif token in _WITH_ARGUMENTS or token[:6] == "\\begin":
            at = _skip(source, at, token)
        elif token in _STARRED and source[at : at + 1] == ["*"]:
            at += 1
        seen.update(_shown(token))
    return seen


def _skip_length(source: list[str], at: int) -> int:
    r"""Past `-3pt` or `-\thickmuskip`."""
    while source[at : at + 1] and source[at] in ("-", "+"):
        at += 1
    return at + (1 if source[at : at + 1] and source[at][0] == "\\" else 3)


_WITH_ARGUMENTS = {**commands.DROPPED, **commands.TRANSPARENT}
_STARRED = ("\\operatorname", "\\hspace", "\\vspace", "\\tag", "\\gls")


def _skip(source: list[str], at: int, token: str) -> int:
    """Past the arguments of a command that shows nothing."""
    if token in commands.LENGTHS and source[at : at + 1] != ["{"]:
        return _skip_length(source, at)
    name = token[token.find("{") + 1 : -1]
    shape = commands.ENVIRONMENTS.get(name, ("", "", 0, ""))
    count = _WITH_ARGUMENTS.get(token, shape[2])
    if count and source[at : at + 1] == ["*"]:
        at += 1
    optional = count or token in commands.TRANSPARENT or name
    if optional and source[at : at + 1] == ["["]:
        at = source.index("]", at) + 1 if "]" in source[at:] else at
    for _ in range(count):
        level = 0
        while at < len(source):
            level += (source[at] == "{") - (source[at] == "}")
            at += 1
            if level == 0:
                break
    return at


def _shown(token: str) -> str:
    if token in _SILENT or token in commands.DROPPED or token[:2] == "\\\\" or token[:4] == "\\end":
        return ""
    if token == "\\not":
        return "\u0338"
    if token in commands.ARROWS:
        return commands.ARROWS[token]
    for table in (commands.ACCENTS, commands.FRACTIONS, commands.INFIX, commands.PAIRED):
        if token in table:
            shape = table[token]
            return _letters(
                "".join(part for part in shape if isinstance(part, str) and part not in "ou")
            )
    if token[:6] == "\\begin":
        opener, closer, *_ = commands.ENVIRONMENTS.get(token[7:-1], ("", "", 0, ""))
        return opener + closer
    text = re.match(r"\\\w+\s*\{(.*)\}\Z", token, re.DOTALL)
    if text:
        return "".join(leaves(layout(token)).elements())
    tag = commands.SYMBOLS.get(token) or commands.DELIMITERS.get(token, "")
    tag = tag or {"||": "‖"}.get(token, token.lstrip("\\"))
    return _letters(tag.replace("'", "′"))


def _letters(tag: str) -> str:
    """The bare characters of a tag, alphabets folded."""
    tag = re.sub(r"^[VNTEM]!|(?<=.)[VNT]!|1x\d+\Z|\d+x\d+\Z|O!\w+|W!", "", tag)
    tag = commands.unescape(tag).replace("‖", "||").replace("-", "−").replace("≔", ":=")
    return "".join(unicodedata.normalize("NFKD", tag).split())


def leaves(made: Layout) -> Counter[str]:
    """The characters of the tree."""
    seen: Counter[str] = Counter(made.punctuation)
    for node in walk(made.root):
        tag = node.tag
        if tag[:2] == "M!":
            tag = re.sub(r"\d+x\d+\Z", "", tag[2:])
        elif tag[:2] in ("O!", "W!"):
            tag = ""
        seen.update(_letters(tag))
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--equations", help="JSON lines with `expanded` or `latex`")
    parser.add_argument("--show", type=int, default=0, help="examples of each disagreement")
    options = parser.parse_args()
    origin, equations = load(options.equations)
    made = [layout(latex) for latex in equations]
    count = len(made)
    print(f"{count} equations from {origin}")
    clean = sum(not any(n.tag[:2] == "E!" for n in walk(item.root)) for item in made)
    unknown = sum(bool(item.unknown) for item in made)
    dropped = sum(bool(_CITED.search(latex)) for latex in equations)
    wrong = [item.latex for item in made if leaves(item) != visible(item.latex)]
    print(f"no E!                      {clean / count:8.3%}")
    print(f"an unknown command         {unknown / count:8.3%}")
    print(f"a reference or note dropped {dropped / count:7.3%}")
    print(f"leaves = visible tokens    {1 - len(wrong) / count:8.3%}")
    for latex in wrong[: options.show]:
        item = layout(latex)
        print(
            "  ",
            latex[:150],
            dict(leaves(item) - visible(latex)),
            dict(visible(latex) - leaves(item)),
        )
    results = {
        "math-core": with_math_core(equations),
        "math-core, fences dissolved": with_math_core(equations, dissolve=True),
    }
    if "EQEMB_BENCH" in os.environ:
        path = Path(os.environ["EQEMB_BENCH"]) / "slt" / "tangent_real.jsonl.gz"
        results["LaTeXML + Tangent"] = with_tangent(path)
    for name, result in results.items():
        print(
            f"{name:28} {result.dice:8.3%} of units on {result.count}, {result.equal} wholly equal"
        )
        print("   only theirs:", result.missing.most_common(options.show))
        print("   only ours:  ", result.extra.most_common(options.show))


if __name__ == "__main__":
    main()
