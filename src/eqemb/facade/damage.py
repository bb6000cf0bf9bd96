"""Questions to a library, whose errors name the damaged file that caused them."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from eqemb.library.generations import OpenLibrary

P = ParamSpec("P")
T = TypeVar("T")
Lib = TypeVar("Lib", bound=OpenLibrary)


def names_damage(
    question: Callable[Concatenate[Lib, P], T],
) -> Callable[Concatenate[Lib, P], T]:
    """Let a method of a library name a damaged file, where it would fail with another error."""

    @wraps(question)
    def ask(library: Lib, /, *args: P.args, **named: P.kwargs) -> T:
        try:
            return question(library, *args, **named)
        except Exception as error:
            library.check_damage(error)
            raise

    return ask
