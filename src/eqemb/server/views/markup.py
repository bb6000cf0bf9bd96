"""Build HTML from elements; text is always escaped, except HTML made by this package."""

from collections.abc import Iterable
from html import escape
from typing import Any

from eqemb.formula.html import without_control_characters

_VOID_ELEMENTS = frozenset(("br", "hr", "input", "link", "meta"))


class Html(str):
    """Trusted HTML: it is not escaped again."""

    __slots__ = ()


def text(value: object) -> Html:
    """Any value as escaped text."""
    return Html(escape(without_control_characters(str(value))))


def join(*children: Any) -> Html:
    """The children in order: `Html` unchanged, other values escaped, None and False omitted."""
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
    """An element.

    `class_` is written as class and `aria_label` as aria-label. An attribute that is None or False
    is omitted, and one that is True has no value.
    """
    written = "".join(
        f" {name.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{text(value)}"')
        for name, value in attributes.items()
        if value is not None and value is not False
    )
    if tag in _VOID_ELEMENTS:
        return Html(f"<{tag}{written}>")
    return Html(f"<{tag}{written}>{join(*children)}</{tag}>")
