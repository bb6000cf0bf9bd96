"""Numbers, sizes and durations as a plan prints them."""

_HOURS_OF_A_DAY = 24


def number(value: float) -> str:
    """Two or three significant digits, with separators."""
    if value >= 100:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def count(value: float) -> str:
    """A number of things: 2,500, 1.2 million, 3.4 billion."""
    for size, name in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if value >= size:
            return f"{value / size:,.3g} {name}"
    return f"{value:,.0f}"


def plural(value: int, one: str, many: str = "") -> str:
    """A number with its noun: 1 machine, 2,000 machines."""
    return f"{value:,} {one if value == 1 else many or f'{one}s'}"


def gigabytes(value: float) -> str:
    """A number of bytes in GB or TB."""
    if value >= 1e12:
        return f"{value / 1e12:,.3g} TB"
    return f"{value / 1e9:,.2g} GB" if value < 1e10 else f"{value / 1e9:,.0f} GB"


def span(hours: float) -> str:
    """A duration in seconds, minutes, hours, days or years."""
    if hours * 3600 < 90:
        return f"{max(1, round(hours * 3600))} s"
    if hours < 1.5:
        return f"{round(hours * 60)} min"
    if hours < 2 * _HOURS_OF_A_DAY:
        return f"{hours:.2g} hours" if hours < 10 else f"{hours:.0f} hours"
    days = hours / _HOURS_OF_A_DAY
    return f"{days:.2g} days" if days < 10 else f"{days:,.0f} days"
