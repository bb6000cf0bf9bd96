"""Validation of settings: one sentence with the value, what is expected, and the remedy.

Used by the constructors of limits, `Rules`, `SplitSettings` and every model, so that a wrong
setting is refused where it is written and not after hours of training.
"""

import difflib
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from eqemb.errors import UsageError, quoted

_YEARS = re.compile(r"(\d{4})?(?:(-)(\d{4})?)?")


def check_integer(
    name: str, value: Any, low: int = 1, high: int | None = None, *, auto: bool = False
) -> None:
    """Refuse anything but an int from `low` to `high`, or "auto" where that is allowed.

    A float is refused even if it is integral, and so is a numeric string.
    """
    if auto and isinstance(value, str) and value == "auto":
        return
    limits = f"of at least {low:,}" if high is None else f"from {low:,} to {high:,}"
    expected = f"an integer {limits}" + (" or 'auto'" if auto else "")
    if isinstance(value, bool) or not isinstance(value, int):
        raise UsageError(f"{name} must be {expected}, not {quoted(value)}{_integral(name, value)}")
    if value < low or (high is not None and value > high):
        raise UsageError(f"{name} must be {expected}, not {value:,}")


def _integral(name: str, value: Any) -> str:
    """The remedy for a value that means an integer but is not an int."""
    if isinstance(value, bool):
        return ""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return ""
    return f": write {name}={int(number)}" if number.is_integer() else ""


def check_even(name: str, value: Any, high: int) -> None:
    """Refuse anything but an even int from 2 to `high`: half before, half after."""
    check_integer(name, value, 2, high)
    if value % 2:
        raise UsageError(
            f"{name} must be even, half before and half after, not {value}: write"
            f" {name}={value + 1 if value < high else value - 1}"
        )


def check_number(
    name: str, value: Any, low: float = 0.0, high: float = math.inf, *, above: bool = False
) -> None:
    """Refuse anything but a finite number from `low` (excluded if `above`) to `high`."""
    limits = f"above {low:g}" if above else f"of at least {low:g}"
    if high < math.inf:
        limits = f"above {low:g}, up to {high:g}" if above else f"from {low:g} to {high:g}"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if (
        not is_number
        or not low <= value <= high
        or not math.isfinite(value)
        or (above and value == low)
    ):
        raise UsageError(f"{name} must be a number {limits}, not {quoted(value)}")


def check_choice(name: str, value: Any, choices: Sequence[str], more: str = "") -> None:
    """Refuse anything but one of some strings."""
    if not isinstance(value, str) or value not in choices:
        named = [repr(choice) for choice in choices if choice] + ([more] if more else [])
        listed = " or ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
        empty = ", or left out" if "" in choices else ""
        raise UsageError(f"{name} must be {listed}{empty}, not {quoted(value)}")


def check_flag(name: str, value: Any) -> None:
    """Refuse anything but True or False."""
    if not isinstance(value, bool):
        raise UsageError(f"{name} must be True or False, not {quoted(value)}")


def year_range(text: str | int | None) -> range:
    """Return the years of a filter: 2015, 2015-2018, 2015- or -2018."""
    found = _YEARS.fullmatch(str(text or "").strip())
    if found is None or not (found[1] or found[3]):
        raise UsageError(f"invalid year {quoted(text)}: write 2015, 2015-2018, 2015- or -2018")
    first = int(found[1] or 1)  # a paper without a date has year 0
    last = int(found[3]) if found[3] else (9999 if found[2] else first)
    if last < first:
        raise UsageError(f"invalid years {text}: write {last}-{first}")
    return range(first, last + 1)


def did_you_mean(
    name: str,
    known: Iterable[str],
    otherwise: str,
    *,
    count: int = 3,
    cutoff: float = 0.5,
    first: Iterable[str] = (),
) -> str:
    """Return the remedy for an unknown name: similar names, or `otherwise` if there are none.

    `first` are better candidates than those of similar spelling.
    """
    similar = difflib.get_close_matches(name, list(known), count, cutoff)
    near = list(dict.fromkeys([*first, *similar]))[:count]
    return f"did you mean {' or '.join(near)}?" if near else otherwise
