"""HTML that is put together, never pasted: text is escaped unless we made it ourselves."""

import re
from collections.abc import Iterable
from html import escape
from typing import Any

_VOID = frozenset(("br", "hr", "input", "link", "meta"))
_NOT_IN_HTML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")


class Html(str):
    """HTML of our own making."""

    __slots__ = ()


def text(value: object) -> Html:
    """Any text, as HTML."""
    return Html(escape(_NOT_IN_HTML.sub(" ", str(value))))


def join(*children: Any) -> Html:
    """Children one after the other: HTML as it is, other text escaped, None left out."""
    made = []
    for child in children:
        if child is None or child is False:
            continue
        if isinstance(child, Html):
            made.append(child)
        elif isinstance(child, Iterable) and not isinstance(child, str):
            made.append(join(*child))
        else:
            made.append(text(child))
    return Html("".join(made))


def h(tag: str, *children: Any, **attributes: Any) -> Html:
    """An element; `class_` is class, `aria_label` aria-label; None and False leave one out."""
    said = "".join(
        f" {name.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{text(value)}"')
        for name, value in attributes.items()
        if value is not None and value is not False
    )
    if tag in _VOID:
        return Html(f"<{tag}{said}>")
    return Html(f"<{tag}{said}>{join(*children)}</{tag}>")
