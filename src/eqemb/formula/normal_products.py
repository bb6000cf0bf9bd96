"""Normal form of a product: signs of multiplication, quotients, derivatives, functions, order.

A product is a run of items without signs of addition. It is read as operands: a letter with the
brackets after it, a function with its argument, a differential. Quotients, however written, become
one fraction. Operands are sorted, unless they may be matrices.
"""

from typing import NamedTuple

from eqemb.formula.normal_items import (
    LIMIT_NAMES,
    POSTFIXES,
    PREFIXES,
    SOLIDUS,
    TIME_DERIVATIVES,
    TIMES,
    TRANSPOSED,
    WIDE_OPERATORS,
    Cell,
    NormalItem,
    brackets,
    group,
    is_function,
    is_group,
    is_name,
    is_sign,
    item,
    kept_runs,
    only,
    row_key,
    unwrapped,
    with_kid,
)
from eqemb.formula.tree import is_operator

# The order of operands. Brackets come first, so that no letter stands before them by sorting, and
# functions last, so that their arguments need no brackets.
_BRACKETS, _PLAIN, _LONE_D, _NAME, _FUNCTION, _BARE = range(6)


class Operand(NamedTuple):
    """A factor of a product."""

    items: Cell
    rank: int
    below: bool = False
    """Whether the product is divided by it."""


def _is_operand(one: NormalItem) -> bool:
    return not is_operator(one.tag) and one.tag[:2] != "T!"


def _is_wide(items: Cell, at: int) -> bool:
    """Whether the scope of an item is the rest of the product."""
    one = items[at]
    if one.tag in WIDE_OPERATORS:
        return True
    if one.tag not in LIMIT_NAMES:
        return False
    return bool(one.kids) or at + 1 == len(items) or not brackets(items[at + 1])


def can_drop(before: NormalItem, after: NormalItem, sign: str) -> bool:
    """Whether a sign of multiplication between two items says no more than nothing does."""
    ends = _is_operand(before) or before.tag in POSTFIXES
    starts = _is_operand(after) or after.tag in PREFIXES or after.tag in WIDE_OPERATORS
    if not (ends and starts):
        return False
    return sign == "⋅" or not (_is_plain_letter(before) and _is_plain_letter(after))


def _is_plain_letter(one: NormalItem) -> bool:
    return one.tag[:2] == "V!" and not is_name(one.tag)


# ------------------------------------------------------------ reading operands


def _end(items: Cell, at: int) -> int:
    """The end of the operand that starts at a place."""
    size, start = len(items), at
    while at < size and items[at].tag in PREFIXES:
        at += 1
    if at < size and _is_d(items[at]) and _is_letter_at(items, at + 1):
        at += 1
    if at < size and (at == start or _is_operand(items[at])):
        first = items[at]
        at += 1
        if first.tag[:2] == "V!":  # a sign before brackets says nothing after a letter
            signs = int(at < size and _is_plain_letter(first) and items[at].tag in TIMES)
            if at + signs < size and brackets(items[at + signs]):
                at += signs + 1
    while at < size and items[at].tag in POSTFIXES:
        at += 1
    return max(at, start + 1)


def _is_d(one: NormalItem) -> bool:
    """Whether an item is a sign of a derivative, perhaps of a higher order."""
    order = only(one.kids.get("a"))
    return one.tag == "V!d" and (not one.kids or (one.kids.keys() == {"a"} and order is not None))


def _is_letter_at(items: Cell, at: int) -> bool:
    return at < len(items) and _is_plain_letter(items[at])


def _stops(items: Cell, at: int) -> bool:
    """Whether the argument of a function ends before a place."""
    return at >= len(items) or is_function(items[at].tag) or items[at].tag in TIMES


def _operands(items: Cell) -> list[Operand]:
    """Read a product without wide operators."""
    found: list[Operand] = []
    at, below = 0, False
    while at < len(items):
        one = items[at]
        if not one.kids and one.tag in TIMES:
            at += 1
            continue
        if not one.kids and one.tag in SOLIDUS and found and at + 1 < len(items) and not below:
            below = True
            at += 1
            continue
        if is_function(one.tag):
            at, made = _function(items, at)
        else:
            stop = _end(items, at)
            made = _operand(
                tuple(part for part in items[at:stop] if part.kids or part.tag not in TIMES)
            )
            at = stop
        found.append(made._replace(below=below))
        below = False
    return found


def _function(items: Cell, at: int) -> tuple[int, Operand]:
    """Read a function with its argument: brackets, or all factors up to the next function."""
    name, at = items[at], at + 1
    if at < len(items) and brackets(items[at]):
        argument = items[at]
        if not is_group(argument):
            return at + 1, Operand((name, argument), _FUNCTION)
        inner, at = argument.kids["w"][0], at + 1
    else:
        stop = at
        while not _stops(items, stop):
            stop = _end(items, stop)
        inner, at = tuple(items[at:stop]), stop
        if not inner:
            return at, Operand((name,), _BARE)
        inner = unwrapped(product(inner))
    if name.tag == "V!exp" and not name.kids:
        return at, _operand((item("V!e", {"a": (unwrapped(inner),)}),))
    return at, Operand((name, group(inner)), _FUNCTION)


def _operand(items: Cell) -> Operand:
    first = items[0]
    if len(items) == 1:
        if brackets(first):
            return Operand(items, _BRACKETS)
        if _is_d(first) or first.tag in PREFIXES:
            return Operand(items, _LONE_D)
    derived = _by_partial(items) or _by_time(items)
    if derived is not None:
        items = (derived,)
    return Operand(items, _NAME if is_name(first.tag) else _PLAIN)


# ------------------------------------------------------------ derivatives


def _fraction(above: Cell, below: Cell) -> NormalItem:
    return item("O!divide", {"o": (above,), "u": (below,)})


def _power(
    sign: NormalItem, variable: NormalItem, order: Cell | None, edge: str
) -> tuple[NormalItem, Cell]:
    """The signs of a derivative of some order, above and below."""
    if order is None:
        return sign, (sign, variable)
    return with_kid(sign, edge, (order,)), (sign, with_kid(variable, "a", (order,)))


def _by_partial(items: Cell) -> NormalItem | None:
    r"""`\partial_t u` as a fraction; None for the rest, such as several letters below the sign."""
    sign, rest = items[0], items[1:]
    edges = {"u": "o", "b": "a"}
    edge = next((edge for edge in edges if edge in sign.kids), None)
    if sign.tag != "∂" or edge is None or not sign.kids.keys() <= {edge, edges[edge]}:
        return None
    variable, order = only(sign.kids[edge]), sign.kids.get(edges[edge])
    if variable is None or not _is_plain_letter(variable):
        return None
    if order is not None and (only(order) is None or "a" in variable.kids):
        return None
    top, below = _power(item("∂"), variable, order[0] if order else None, "o")
    return _fraction((top, *rest), below)


def _by_time(items: Cell) -> NormalItem | None:
    r"""`\dot x` as a derivative by t; None for the rest."""
    first = items[0]
    accent = only(first.kids.get("o"))
    if (
        accent is None
        or accent.tag not in TIME_DERIVATIVES
        or accent.kids
        or not _is_plain_letter(first)
    ):
        return None
    order = TIME_DERIVATIVES[accent.tag]
    top, below = _power(item("V!d"), item("V!t"), (item(f"N!{order}"),) if order > 1 else None, "a")
    return _fraction((top, with_kid(first, "o", None), *items[1:]), below)


def _is_derivative(one: NormalItem) -> bool:
    """Whether a fraction is a derivative: a sign d or ∂ above, and below with a letter."""
    heads = [one.kids[edge][0][:1] for edge in "ou" if one.kids[edge][0]]
    if len(heads) < 2 or any(head[0].tag not in ("V!d", "∂") for head in heads):
        return False
    return len(one.kids["u"][0]) > 1


# ------------------------------------------------------------ products


def product(items: Cell) -> Cell:
    """The normal form of a product."""
    return _product(items, "")


@kept_runs
def _product(items: Cell, _edge: str) -> Cell:
    starts = [at for at in range(len(items)) if _is_wide(items, at)]
    tail: Cell = ()
    stop = len(items)
    for start in reversed([-1, *starts]):  # from the last one, since their scopes are nested
        part = items[start + 1 : stop]
        tail = _merge(part, tail)
        if start >= 0:
            tail = (items[start], *tail)
        stop = start
    return tail


def _merge(part: Cell, tail: Cell) -> Cell:
    """Multiply the operands of a part; the tail starts with a wide operator."""
    if not part:
        return tail
    is_below = bool(tail) and part[-1].tag in SOLIDUS and not part[-1].kids
    if not part[-1].kids and (part[-1].tag in TIMES or part[-1].tag in SOLIDUS):
        if not tail or (is_below and len(part) == 1):
            return (*part, *tail)
        part = part[:-1]
    above: list[Operand] = []
    below: list[Operand] = []
    last: Cell = () if is_below else tail
    low: Cell = tail if is_below else ()
    operands = _absorb(_operands(part))
    for one in operands:
        mine, other = (below, above) if one.below else (above, below)
        fraction = one.items[0] if len(one.items) == 1 else None
        if fraction is None or not _is_quotient(fraction):
            mine.append(one)
            continue
        over, under = (fraction.kids[edge][0] for edge in "ou")
        if not last and not one.below and _ends_wide(over):
            last = over
        else:
            mine += _factors(over)
        other += _factors(under)
    top, base = (_sorted([one for one in side if not _is_one(one)]) for side in (above, below))
    over, under = (*top, *last), (*base, *low)
    if not under:
        return over or ((item("N!1"),) if operands else ())
    return (_fraction(unwrapped(over) or (item("N!1"),), unwrapped(under)),)


def _is_one(one: Operand) -> bool:
    return len(one.items) == 1 and one.items[0].tag == "N!1" and not one.items[0].kids


def _is_quotient(one: NormalItem) -> bool:
    if one.tag != "O!divide" or one.kids.keys() != {"o", "u"}:
        return False
    return all(len(one.kids[edge]) == 1 for edge in "ou") and not _is_derivative(one)


def _ends_wide(cell: Cell) -> bool:
    """Whether a cell is a product with a wide operator."""
    return is_product(cell) and any(_is_wide(cell, at) for at in range(len(cell)))


def is_product(cell: Cell) -> bool:
    """Whether a cell has no signs other than those of a product."""
    return not any(
        (is_sign(one) and one.tag not in SOLIDUS) or one.tag[:2] == "T!" or one.tag in TIMES
        for one in cell
    )


def _factors(cell: Cell) -> list[Operand]:
    """The factors of a row of a fraction; a sum is one, in brackets."""
    if is_product(cell) and not any(_is_wide(cell, at) for at in range(len(cell))):
        return _operands(cell)
    return [_operand((group(cell),))] if cell else []


def _absorb(operands: list[Operand]) -> list[Operand]:
    r"""Apply `\frac{d}{dx}` to the operand after it."""
    found: list[Operand] = []
    for one in operands:
        last = found[-1] if found else None
        if last is not None and not one.below and len(last.items) == 1:
            fraction = last.items[0]
            lone = fraction.tag == "O!divide" and fraction.kids.keys() == {"o", "u"}
            if lone and len(fraction.kids["o"][0]) == 1 and _is_derivative(fraction):
                applied = (*fraction.kids["o"][0], *one.items)
                found[-1] = last._replace(items=(_fraction(applied, fraction.kids["u"][0]),))
                continue
        found.append(one)
    return found


def _sorted(operands: list[Operand]) -> Cell:
    """Sort operands; what may be matrices stays in order."""
    if len(operands) < 2:
        return _written(operands[0], None) if operands else ()
    bare = [one for one in operands if one.rank == _BARE]
    rest = [one for one in operands if one.rank != _BARE]
    if _may_be_matrices(rest):
        scalars = [one for one in rest if _is_scalar(one)]
        rest = [one for one in rest if not _is_scalar(one)]
        ordered = sorted(scalars, key=lambda one: row_key(one.items)) + rest
    else:
        ordered = sorted(rest, key=lambda one: (one.rank, row_key(one.items)))
    found: list[NormalItem] = []
    for place, one in enumerate(ordered):
        following = ordered[place + 1] if place + 1 < len(ordered) else None
        found += _written(one, following)
    return (*found, *(part for one in bare for part in one.items))


def _written(one: Operand, following: Operand | None) -> Cell:
    """The items of an operand; a function that ends a product needs no brackets."""
    ends = following is None or following.rank == _FUNCTION
    if one.rank != _FUNCTION or not ends or not is_group(one.items[1]):
        return one.items
    inner = one.items[1].kids["w"][0]
    is_plain = is_product(inner) and not any(is_function(part.tag) for part in inner)
    if not inner or not is_plain or any(_is_wide(inner, at) for at in range(len(inner))):
        return one.items
    if brackets(inner[0]) or any(part.tag in SOLIDUS for part in inner):
        return one.items
    return (one.items[0], *inner)


def _may_be_matrices(operands: list[Operand]) -> bool:
    firsts = [one.items[0] for one in operands]
    if any(_is_transposed(first) for first in firsts):
        return True
    return sum(len(one.items) == 1 and _is_capital(one.items[0]) for one in operands) > 1


def _is_transposed(one: NormalItem) -> bool:
    above = only(one.kids.get("a"))
    return above is not None and above.tag in TRANSPOSED


def _is_capital(one: NormalItem) -> bool:
    return len(one.tag) == 3 and one.tag[:2] == "V!" and "A" <= one.tag[2] <= "Z"


def _is_scalar(one: Operand) -> bool:
    """Whether an operand is a number or a small Greek letter."""
    tag = one.items[0].tag
    return len(one.items) == 1 and (tag[:2] == "N!" or (tag[:2] == "V!" and "α" <= tag[2] <= "ω"))
