"""Normal form of a row: names, brackets, then clauses, relations and sums."""

from collections.abc import Callable, Iterator

from eqemb.formula.normal_items import (
    DIFFERENTIALS,
    RELATIONS,
    SEPARATORS,
    SHORT_NAMES,
    SOLIDUS,
    SPELLED_NAMES,
    SYMMETRIC,
    TIMES,
    TRANSPOSED,
    TURNED,
    Cell,
    NormalItem,
    brackets,
    is_name,
    is_sign,
    item,
    kept_runs,
    only,
    row_key,
    unwrapped,
    with_kid,
)
from eqemb.formula.normal_products import can_drop, product

_LONGEST_NAME = max(map(len, SPELLED_NAMES))
#: How names begin that are written letter by letter: hardly any letter needs a second look.
_BEGINNINGS = frozenset(
    name[:size] for name in SPELLED_NAMES | SHORT_NAMES for size in range(1, len(name) + 1)
)
_ARG = {("V!arg", "V!max"): "V!argmax", ("V!arg", "V!min"): "V!argmin"}


def normal_cell(items: Cell, edge: str) -> Cell:
    """The normal form of the items of a cell, whose own rows are in normal form."""
    if len(items) == 1 and not items[0].kids and len(items[0].tag) == 3:
        return items  # most indices
    return _normal_cell(items, edge if edge in ("a", "b") else "")


@kept_runs
def _normal_cell(items: Cell, edge: str) -> Cell:
    items = _round_brackets(_join_names(items))
    if edge == "b" and len(items) > 1 and all(map(_is_bare_capital, items)):
        return (item(_name("".join(one.tag[2:] for one in items))),)  # an abbreviation
    if edge == "b":
        items = _without_commas(items)
    if edge in ("a", "b") and all(map(_is_index, items)):
        return items  # w_{ij} is not w_{ji}
    found: list[NormalItem] = []
    for clause, separator in _split(items, _is_separator):
        found += _relation(clause)
        if separator is not None:
            found.append(separator)
    return tuple(found)


def _is_index(one: NormalItem) -> bool:
    return one.tag[:2] in ("V!", "N!") and not one.kids


def _is_bare_capital(one: NormalItem) -> bool:
    return len(one.tag) == 3 and one.tag[:2] == "V!" and "A" <= one.tag[2] <= "Z" and not one.kids


#: Edges on which brackets around everything say nothing.
_LOOSE = {"O!divide": "ou", "O!root": "w", "V!e": "a", "M!()1x1": "w"}


def normal_item(one: NormalItem) -> NormalItem:
    """The normal form of one item, whose rows are in normal form."""
    if not one.kids:
        return one
    above = only(one.kids.get("a"))
    if above is not None and above.tag in TRANSPOSED and not above.kids and _takes_transpose(one):
        return with_kid(one, "a", ((item("⊤"),),))
    if above is not None and _is_half(above):
        if brackets(one) and one.tag == "M!()1x1" and one.kids.keys() == {"w", "a"}:
            return item("O!root", {"w": (unwrapped(one.kids["w"][0]),)})
        if one.tag[:2] in ("V!", "N!") and one.kids.keys() == {"a"}:
            return item("O!root", {"w": ((item(one.tag),),)})
    for edge in _LOOSE.get(one.tag, ""):
        row = one.kids.get(edge)
        if row is not None and len(row) == 1 and (inner := unwrapped(row[0])) is not row[0]:
            one = with_kid(one, edge, (inner,))
    return one


def _takes_transpose(one: NormalItem) -> bool:
    return one.tag[:2] == "M!" or (one.tag[:2] == "V!" and one.tag.isascii())


def _is_half(one: NormalItem) -> bool:
    if one.tag != "O!divide" or one.kids.keys() != {"o", "u"}:
        return False
    parts = [only(one.kids[edge]) for edge in "ou"]
    return [part.text if part else "" for part in parts] == ["N!1", "N!2"]


# ------------------------------------------------------------ symbols


def _join_names(items: Cell) -> Cell:
    """Join names that are written letter by letter, `arg max`, and primes."""
    found: list[NormalItem] = []
    at = 0
    while at < len(items):
        one = items[at]
        last = found[-1] if found else None
        if last is not None and not last.kids and (joined := _ARG.get((last.tag, one.tag))):
            found[-1] = item(joined, one.kids)
        elif last is not None and not last.kids and _is_primes(last) and _is_primes(one):
            found[-1] = item(last.tag + one.tag, one.kids)
        elif stop := _spelled(items, at):
            name = "".join(part.tag[2:] for part in items[at:stop])
            found.append(item(_name(name), items[stop - 1].kids))
            at = stop - 1
        elif one.tag in DIFFERENTIALS:
            found += [item("V!d"), item(f"V!{one.tag[3]}", one.kids)]
        elif is_name(one.tag):
            found.append(item(_name(one.tag[2:]), one.kids))
        else:
            found.append(one)
        at += 1
    return tuple(found)


def _is_primes(one: NormalItem) -> bool:
    return one.tag[:1] == "′" and not one.tag.strip("′")


def _name(name: str) -> str:
    return f"V!{name.lower() if len(name) > 2 and name.isascii() else name}"


def _spelled(items: Cell, at: int) -> int:
    """The end of a name that is written letter by letter from a place; 0 if there is none."""
    letters = ""
    best = 0
    for stop in range(at, min(at + _LONGEST_NAME, len(items))):
        one = items[stop]
        if len(one.tag) != 3 or one.tag[:2] != "V!" or not one.tag[2].isascii():
            break
        letters += one.tag[2]
        if letters not in _BEGINNINGS:
            break
        is_applied = stop + 1 < len(items) and brackets(items[stop + 1])
        if letters in SPELLED_NAMES or (is_applied and letters in SHORT_NAMES):
            best = stop + 1
        if one.kids:
            break
    return best


def _round_brackets(items: Cell) -> Cell:
    """Make brackets round, unless another kind may mean something: a set, an interval."""
    if not any(one.tag[:2] == "M!" for one in items):
        return items
    found: list[NormalItem] = []
    for one in items:
        kind = brackets(one)
        if kind in ("", "()"):
            found.append(one)
            continue
        applied = bool(found) and found[-1].tag[:2] == "V!"
        columns = one.tag.rsplit("x", 1)[1]
        cells = one.kids.get("w", ())
        plain = columns == "1" and len(cells) == 1 and _only_groups(cells[0], kind)
        found.append(normal_item(item(f"M!()1x{columns}", one.kids)) if applied or plain else one)
    return tuple(found)


def _only_groups(cell: Cell, kind: str) -> bool:
    """Whether brackets around a cell say no more than round ones."""
    if any(one.tag in RELATIONS or _is_separator(one) for one in cell):
        return False
    return kind != "{}" or any(one.tag in ("+", "−") for one in cell)


def _without_commas(items: Cell) -> Cell:
    """Leave out commas between single indices."""
    parts = list(_split(items, lambda one: one.tag == "&comma;" and not one.kids))
    if len(parts) > 1 and all(len(part) == 1 for part, _ in parts):
        return tuple(part[0] for part, _ in parts)
    return items


# ------------------------------------------------------------ relations and sums


def _split(
    items: Cell, splits: Callable[[NormalItem], bool]
) -> Iterator[tuple[Cell, NormalItem | None]]:
    """The parts of a row, each with the sign that ends it."""
    start = 0
    for at, one in enumerate(items):
        if splits(one):
            yield items[start:at], one
            start = at + 1
    yield items[start:], None


def _is_separator(one: NormalItem) -> bool:
    return one.tag in SEPARATORS or one.tag[:2] == "T!"


def _is_relation(one: NormalItem) -> bool:
    return one.tag in RELATIONS


def _relation(items: Cell) -> Cell:
    parts = list(_split(items, _is_relation))
    sides = [_sum(part) for part, _ in parts]
    signs = [sign for _, sign in parts if sign is not None]
    if signs and all(sides) and not any(sign.kids for sign in signs):
        tags = {sign.tag for sign in signs}
        if tags <= TURNED.keys():
            sides.reverse()
            signs = [item(TURNED[sign.tag]) for sign in reversed(signs)]
        elif tags == {"="} or (len(signs) == 1 and tags <= SYMMETRIC):
            sides.sort(key=row_key)
    found = [*sides[0]]
    for sign, side in zip(signs, sides[1:], strict=True):
        found += [sign, *side]
    return tuple(found)


_FACTORS_OR_TERMS = TIMES | {"+", "−"}
_TIMES_OR_SOLIDUS = TIMES | SOLIDUS


def _is_between(items: Cell, at: int) -> bool:
    """Whether an item is a sign between two products."""
    one = items[at]
    if not is_sign(one):
        return bool(one.kids) and one.tag in _FACTORS_OR_TERMS
    if one.tag in _TIMES_OR_SOLIDUS:
        if not 0 < at < len(items) - 1:
            return True
        sign = "⋅" if one.tag in SOLIDUS else one.tag
        return not can_drop(items[at - 1], items[at + 1], sign)
    return True


def _sum(items: Cell) -> Cell:
    terms: list[tuple[NormalItem | None, Cell]] = []
    sign: NormalItem | None = None
    start = 0
    for at in range(len(items)):
        if _is_between(items, at):
            terms.append((sign, items[start:at]))
            sign, start = items[at], at + 1
    terms.append((sign, items[start:]))
    if len(terms) > 1 and not terms[0][1]:
        del terms[0]
    made = [(sign, product(term)) for sign, term in terms]
    if len(made) > 1 and _may_sort(made):
        made.sort(key=lambda term: (_is_minus(term[0]), row_key(term[1])))
    if made[0][0] is not None and made[0][0].tag == "+" and made[0][1] and not made[0][0].kids:
        made[0] = (None, made[0][1])
    found: list[NormalItem] = []
    for place, (sign, term) in enumerate(made):
        if sign is not None:
            found.append(sign)
        elif place:
            found.append(item("+"))
        found += term
    return tuple(found)


def _is_minus(sign: NormalItem | None) -> bool:
    return sign is not None and sign.tag == "−"


def _may_sort(terms: list[tuple[NormalItem | None, Cell]]) -> bool:
    """Whether terms are all added or subtracted, and none stands for others."""
    for sign, term in terms:
        if not term or any(one.tag == "V!…" for one in term):
            return False
        if sign is not None and (sign.kids or sign.tag not in ("+", "−")):
            return False
    return True
