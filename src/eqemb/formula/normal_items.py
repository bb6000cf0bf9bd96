"""Symbols of a normal form, with the keys that they are sorted by, and the tables of its rules.

A `NormalItem` is a symbol with everything attached to it. It never changes, so that its size and
its keys are computed once, from those of its parts: nothing here recurses. The same small parts
occur in very many equations, and every equation is read at least twice: so `item` returns the item
that it made before for the same symbol and rows, and what the rules make of short runs of items is
kept. Items are compared as objects: an item that was forgotten is made, and looked at, again.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, wraps
from hashlib import blake2b
from typing import Any, TypeVar

from eqemb.formula.commands import BIG, FUNCTIONS, LIMITS
from eqemb.formula.likeness import is_letter
from eqemb.formula.tree import is_operator

Cell = tuple["NormalItem", ...]
Row = tuple[Cell, ...]
"""What is attached on an edge: one cell, or the elements of a fence or a matrix."""

#: Symbols that are written in several ways: tag -> the tag that stands for all.
ALIASES = {
    ":=": "=", "≜": "=", "≝": "=", "⩽": "≤", "≦": "≤", "⩾": "≥", "≧": "≥",
    "V!⋯": "V!…", "⋯": "V!…", "…": "V!…", "∗": "*", "·": "⋅", "∙": "⋅", "V!Pr": "V!P", "V!ℙ": "V!P",
}  # fmt: skip
#: Relations whose sides may be exchanged; those that are turned round, and into what.
SYMMETRIC = frozenset("=≈≠≡≃≅")
TURNED = {">": "<", "≥": "≤", "≫": "≪"}
RELATIONS = SYMMETRIC | frozenset("<>≤≥≪≫∼∝∈∉⊂⊆⊃⊇≺≻⪯⪰→←↦↔⇐∣")
#: Signs between clauses: never moved, and nothing is moved across them.
SEPARATORS = frozenset({"&comma;", ";", ":", "|", "⇒", "⇔", "⟹", "⟺", "∀", "∃"})
#: Signs of a product, which juxtaposition says as well; only the first one between any letters.
TIMES = frozenset("⋅×*")
SOLIDUS = frozenset("/÷")
#: Operators that apply to what follows them, and those that stand after what they apply to.
PREFIXES = frozenset("∂∇")
POSTFIXES = frozenset("!")
#: Operators whose scope is the rest of a product.
WIDE_OPERATORS = BIG | frozenset(tag for tag in LIMITS if is_operator(tag))
#: Names that take limits: wide, unless brackets follow.
LIMIT_NAMES = frozenset(tag for tag in LIMITS if not is_operator(tag)) | {"V!argmax", "V!argmin"}
#: Superscripts that say transposed.
TRANSPOSED = frozenset({"⊤", "⊺", "V!T", "V!𝖳", "V!𝐓", "V!⊤", "V!𝑇"})
#: Words of running text in a formula, which are no names.
TEXT_WORDS = frozenset(
    "and as at by else for if in is of on or otherwise otherwise. over such that then to when where"
    " with s.t. st.".split()
)
#: Names that are also written in italics, letter by letter.
SPELLED_NAMES = frozenset(
    "argmax argmin arcsin arccos arctan attention bias BLEU cos cosh cosine cov det diag dist exp"
    " FFN GELU GRU idf LayerNorm LSTM log logit loss max min MLP MSE NDCG PMI precision rank recall"
    " ReLU relu ROUGE score sigmoid sign sim sin sinh softmax softplus std tan tanh"
    " trace var".split()
)
#: Names of two letters that are, if brackets follow.
SHORT_NAMES = frozenset({"tf", "KL", "df"})
#: Roman words that are differentials.
DIFFERENTIALS = frozenset(f"V!d{letter}" for letter in "rstuvwxyz")
#: Pairs of brackets that only group.
BRACKETS = frozenset({"()", "&lsqb;&rsqb;", "{}"})
#: Accents that are derivatives by time, and of which order.
TIME_DERIVATIVES = {"˙": 1, "¨": 2}

#: Runs of at most so many items are kept, and so many items and runs: 30 MB at most.
_MAX_RUN, _MAX_KEPT = 8, 1 << 14

_NO_SIGNS = WIDE_OPERATORS | PREFIXES | POSTFIXES
_ROW_FENCE = re.compile(r"M!(\D+)1x(\d+)")
_MAX_KEY = 160


class NormalItem:
    """A symbol with what is attached to it."""

    __slots__ = ("kids", "shape", "size", "tag", "text")

    def __init__(self, tag: str, kids: Mapping[str, Row]) -> None:
        self.tag, self.kids = tag, kids
        size, shape, text = 1, ["V!#" if is_letter(tag) else tag], [tag]
        for edge in sorted(kids):
            shape.append(f",{edge}")
            text.append(f",{edge}")
            for cell in kids[edge]:
                shape.append("[")
                text.append("[")
                for one in cell:
                    size += one.size
                    shape.append(one.shape)
                    text.append(one.text)
        self.size: int = size
        """The number of symbols."""
        self.shape: str = _short(" ".join(shape))
        """A text that is the same for items that differ in the names of letters only."""
        self.text: str = _short(" ".join(text))
        """A text that is the same for equal items, and for hardly any others."""

    def key(self) -> tuple[int, str, str]:
        """What items are sorted by: renaming letters hardly changes the order."""
        return self.size, self.shape, self.text


_K = TypeVar("_K")
_V = TypeVar("_V")
_items: dict[tuple[Any, ...], NormalItem] = {}


def item(tag: str, kids: Mapping[str, Row] | None = None) -> NormalItem:
    """Make an item, or return the same one that was made before."""
    parts = (tag, *kids.items()) if kids else (tag,)
    return _items.get(parts) or _keep(_items, parts, NormalItem(tag, kids or {}))


def _keep(kept: dict[_K, _V], key: _K, value: _V) -> _V:
    if len(kept) >= _MAX_KEPT:
        kept.clear()
    kept[key] = value
    return value


def kept_runs(rule: Callable[[Cell, str], Cell]) -> Callable[[Cell, str], Cell]:
    """Keep what a rule makes of short runs of items; its second argument is part of the run."""
    kept: dict[tuple[Cell, str], Cell] = {}

    @wraps(rule)
    def call(items: Cell, edge: str) -> Cell:
        if len(items) > _MAX_RUN:
            return rule(items, edge)
        found = kept.get((items, edge))
        return _keep(kept, (items, edge), rule(items, edge)) if found is None else found

    return call


def _short(text: str) -> str:
    """Shorten a long text to its beginning and a hash."""
    if len(text) <= _MAX_KEY:
        return text
    return text[:40] + blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest()


def row_key(items: Cell) -> tuple[int, str, str]:
    """What runs of items are sorted by."""
    if len(items) == 1:
        return items[0].key()
    return (
        sum([one.size for one in items]),
        " ".join([one.shape for one in items]),
        " ".join([one.text for one in items]),
    )


def row_text(row: Row) -> str:
    """A text that is the same for equal rows only."""
    return "[".join(" ".join(one.text for one in cell) for cell in row)


def with_kid(one: NormalItem, edge: str, row: Row | None) -> NormalItem:
    """An item with another row on an edge; None for no row."""
    kids = {name: kid for name, kid in one.kids.items() if name != edge}
    if row is not None:
        kids[edge] = row
    return item(one.tag, kids)


def only(row: Row | None) -> NormalItem | None:
    """The only item of a row; None if it has more or less."""
    return row[0][0] if row is not None and len(row) == 1 and len(row[0]) == 1 else None


def brackets(one: NormalItem) -> str:
    """The brackets of a fence that may group; empty for the rest."""
    if one.tag[:2] != "M!":
        return ""
    found = _ROW_FENCE.fullmatch(one.tag)
    return found[1] if found and found[1] in BRACKETS else ""


def is_group(one: NormalItem) -> bool:
    """Whether an item is round brackets around one cell, without scripts."""
    return one.tag == "M!()1x1" and one.kids.keys() == {"w"} and len(one.kids["w"]) == 1


def group(cell: Iterable[NormalItem]) -> NormalItem:
    """Round brackets around items."""
    return item("M!()1x1", {"w": (tuple(cell),)})


def unwrapped(cell: Cell) -> Cell:
    """A cell without brackets around all of it."""
    while len(cell) == 1 and is_group(cell[0]):
        cell = cell[0].kids["w"][0]
    return cell


@lru_cache(maxsize=1 << 12)
def is_name(tag: str) -> bool:
    """Whether a tag is a name of several letters."""
    return tag[:2] == "V!" and len(tag) > 3 and tag[2:].replace("-", "").isalpha()


def is_function(tag: str) -> bool:
    """Whether a tag is a function that is written without brackets, too."""
    return tag in FUNCTIONS and tag not in LIMIT_NAMES


def is_sign(one: NormalItem) -> bool:
    """Whether an item is an operator between others, with nothing attached to it."""
    return not one.kids and is_operator(one.tag) and one.tag not in _NO_SIGNS
