"""Small text helpers."""


def format_duration(seconds: float) -> str:
    """A duration for people, in seconds, minutes or hours."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def one_line(text: str) -> str:
    """Text with every run of white space replaced by one space."""
    return " ".join(text.split())
