"""Every regular expression of the package, and inputs on which a careless one is slow.

`collect_patterns` finds the patterns: those that modules hold, and those in calls of `re` functions
within functions, whose variables are replaced by their names. `hostile_inputs` derives inputs from
a pattern: what stands before a repeated part, the part many times, and an end that does not match.
A search that starts anew at each character and reads far each time takes quadratic time on one.
"""

import ast
import builtins
import functools
import importlib
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice, product
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any, NamedTuple

import eqemb
from timing import MAX_EXPONENT, machine_slowness

SOURCE = Path(eqemb.__file__).parent
Pattern = re.Pattern[str] | re.Pattern[bytes]

#: Functions of `re` that take a pattern, with the position of their flags.
FLAGS_AT = {
    "compile": 1,
    "search": 2,
    "match": 2,
    "fullmatch": 2,
    "findall": 2,
    "finditer": 2,
    "split": 3,
    "sub": 4,
    "subn": 4,
}
#: Ways to use a pattern, each with a function that does it over a whole text.
USES: dict[str, Callable[[Any, Any], object]] = {
    "search": lambda pattern, text: pattern.search(text),
    "match": lambda pattern, text: pattern.match(text),
    "fullmatch": lambda pattern, text: pattern.fullmatch(text),
    "finditer": lambda pattern, text: sum(1 for _ in pattern.finditer(text)),
}
_METHOD_CALL = re.compile(r"\.(?:match|search|fullmatch|findall|finditer|subn?|split)\(")
#: Methods that search from where the last match ended.
_REPEATED = {"findall", "finditer", "split", "sub", "subn"}


class Call(NamedTuple):
    """A call of a function of `re` with a pattern."""

    module: str
    line: int
    method: str
    """The function, as "compile"."""
    pattern: str | bytes
    flags: int
    is_known: bool
    """Whether the pattern is written there; False if all of it is a variable."""
    target: str
    """The variable that holds it, or ""."""


class Collected(NamedTuple):
    """A pattern, where it stands and how it is used."""

    place: str
    pattern: Pattern
    uses: tuple[str, ...]
    """Keys of `USES`."""


# ---------------------------------------------------------------- finding patterns


def modules_with_patterns() -> list[ModuleType]:
    """Every module that imports `re`, but for those whose optional packages are not installed."""
    modules = []
    for path in sorted(SOURCE.rglob("*.py")):
        if "\nimport re\n" in path.read_text(encoding="utf-8"):
            try:
                modules.append(importlib.import_module(_module_name(path)))
            except ModuleNotFoundError as error:
                if (error.name or "").startswith("eqemb"):
                    raise
    return modules


def held_patterns(module: ModuleType) -> Iterator[tuple[str, Pattern]]:
    """Patterns in the variables of a module, also within containers, classes and closures."""
    seen: set[int] = set()
    for name, value in list(vars(module).items()):
        if not name.startswith("__"):
            yield from _within(name, value, module.__name__, seen)


def _within(name: str, value: object, module: str, seen: set[int]) -> Iterator[tuple[str, Pattern]]:
    """The patterns in a value, each with the name of the variable that holds it."""
    if isinstance(value, re.Pattern):
        yield name, value
        return
    if id(value) in seen:
        return
    seen.add(id(value))
    for inner, part in _parts(name, value, module):
        yield from _within(inner, part, module, seen)


def _parts(name: str, value: object, module: str) -> Iterable[tuple[str, object]]:
    """What a container, a class, a function or an object of the package holds, with names."""
    if isinstance(value, Mapping):
        return [(name, part) for part in (*value.keys(), *value.values())]
    if isinstance(value, list | tuple | set | frozenset):
        return [(name, part) for part in value]
    if getattr(value, "__module__", None) != module:
        return []
    if isinstance(value, type):
        return [(key, part) for key, part in vars(value).items() if not key.startswith("__")]
    held = [cell.cell_contents for cell in getattr(value, "__closure__", None) or ()]
    held += getattr(value, "__defaults__", None) or ()
    named = [(name, part) for part in held]
    return named + list(getattr(value, "__dict__", {}).items())


class _Names(dict[str, Any]):
    """The variables of a module; the name of one that is not there stands for it."""

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name):
            return getattr(builtins, name)
        return _Unknown(name)


class _Unknown(str):
    """The value of a local variable: its name, whatever is done with it."""

    __slots__ = ()

    def __getattr__(self, name: str) -> "_Unknown":
        return _Unknown(name)

    def __call__(self, *_arguments: object) -> "_Unknown":
        return self


def calls(module: ModuleType) -> Iterator[Call]:
    """Every call of a function of `re` with a pattern in the source of a module."""
    assert module.__file__ is not None
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    for node, parent in _with_parents(tree):
        if _is_re(node) and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            method = node.func.attr
            if method in FLAGS_AT:
                names = _Names(vars(module))
                flags = _flags(node, FLAGS_AT[method])
                pattern = _value(node.args[0], names)
                is_known = not isinstance(pattern, _Unknown)
                if isinstance(pattern, re.Pattern):
                    pattern = pattern.pattern
                yield Call(
                    module.__name__,
                    node.lineno,
                    parent.attr if isinstance(parent, ast.Attribute) else method,
                    pattern,
                    0 if flags is None else int(_value(flags, names)),
                    is_known,
                    _target(parent),
                )


def _target(parent: ast.AST) -> str:
    """The variable that is set, or ""."""
    target = parent.targets[0] if isinstance(parent, ast.Assign) else None
    return target.id if isinstance(target, ast.Name) else ""


def _is_re(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
    )


def _flags(node: ast.Call, position: int) -> ast.expr | None:
    named = [keyword.value for keyword in node.keywords if keyword.arg == "flags"]
    given = named or node.args[position : position + 1]
    return given[0] if given else None


def _value(node: ast.expr, names: _Names) -> Any:
    code = compile(ast.Expression(node), "<pattern>", "eval")
    return eval(code, names)  # noqa: S307  # source of the package itself


def methods_of_names() -> dict[tuple[str, str], set[str]]:
    """How patterns are used, by module and the name of their variable; "" is any module.

    A constant that is also handed on by its name may be used in any way.
    """
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if _METHOD_CALL.search(text):
            for node, parent in _with_parents(ast.parse(text)):
                name = _variable(node)
                if name is not None and isinstance(parent, ast.Attribute):
                    found[_scope(name, _module_name(path)), name].add(parent.attr)
                elif name is not None and name.isupper():
                    found[_scope(name, _module_name(path)), name].add("finditer")
    return found


def _scope(name: str, module: str) -> str:
    """The module in which a name is used; "" for a public constant, which others import."""
    return "" if name.isupper() and not name.startswith("_") else module


def _module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def _with_parents(tree: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    for parent in ast.walk(tree):
        for node in ast.iter_child_nodes(parent):
            yield node, parent


def _variable(node: ast.AST) -> str | None:
    """The variable that an expression reads, as `_WORD` or `displays.EDGE`."""
    if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
        return node.id if isinstance(node, ast.Name) else node.attr
    return None


def _uses(methods: set[str]) -> tuple[str, ...]:
    """The keys of `USES` for methods; all searches if it is not known."""
    known = methods & {"search", "match", "fullmatch"}
    if methods & _REPEATED or not known:
        known = (known - {"search"}) | {"finditer"}
    return tuple(sorted(known))


@functools.cache
def collect_patterns() -> list[Collected]:
    """Every pattern of the package once, in order of its place."""
    modules = modules_with_patterns()
    methods = methods_of_names()
    found: dict[tuple[str | bytes, int], tuple[str, Pattern, set[str]]] = {}

    def add(place: str, pattern: Pattern, used: set[str]) -> None:
        key = pattern.pattern, pattern.flags
        found.setdefault(key, (place, pattern, set()))[2].update(used)

    for module in modules:
        for name, pattern in held_patterns(module):
            used = methods[_scope(name, module.__name__), name]
            add(f"{module.__name__}.{name}", pattern, used)
    for module in modules:
        for call in calls(module):
            pattern = re.compile(call.pattern, call.flags)
            if call.method != "compile" or (pattern.pattern, pattern.flags) not in found:
                used = {call.method} - {"compile"} or methods[module.__name__, call.target]
                add(f"{module.__name__}:{call.line}", pattern, used)
    kept = (Collected(place, pattern, _uses(used)) for place, pattern, used in found.values())
    return sorted(kept, key=lambda one: one.place)


# ---------------------------------------------------------------- inputs


class Hostile(NamedTuple):
    """An input of any length: a start, a piece many times, an end."""

    start: str
    piece: str
    end: str
    close: str = ""
    """As often as the piece, after all of them."""

    def make(self, length: int) -> str:
        """About so many characters."""
        return self.times(max(1, length // len(self.piece + self.close)))

    def times(self, count: int) -> str:
        """With so many pieces."""
        return self.start + self.piece * count + self.close * count + self.end

    def __str__(self) -> str:
        return " + ".join(
            text
            for text in (
                repr(self.start) if self.start else "",
                f"{self.piece!r} * n",
                f"{self.close!r} * n" if self.close else "",
                repr(self.end) if self.end else "",
            )
            if text
        )


#: Characters that stand for a class in which they are.
_CANDIDATES = " a\n0\\{[(<$A_-\"'.,:;|=*+`~^!?/%@&#}])>\té\u2208\u0301\u2019x"
#: Longest run that is repeated often enough to count as unlimited.
_SHORT = 16
#: What is repeated, alone and in pairs, whatever the pattern is.
GENERIC = (*" \n\\{[(<$&0aA\"',.|:-=*`}])>#%_^/!@;", "\u00e9")
#: More inputs of one pattern look alike.
MOST_DERIVED = 1_000
#: What may follow a repeated part.
_ENDS = ("", "\x01", " x", "a}")


def hostile_inputs(pattern: Pattern, *, pairs: bool = True) -> list[Hostile]:
    """Inputs derived from a pattern, and then the generic ones."""
    text = pattern.pattern
    if isinstance(text, bytes):
        text = text.decode("latin-1")
    tree = parser.parse(text, pattern.flags & ~re.DEBUG)
    derived = list(dict.fromkeys(_derived(tree)))
    found = dict.fromkeys(derived[:: 1 + len(derived) // MOST_DERIVED])
    found |= dict.fromkeys(Hostile("", piece, end) for piece in GENERIC for end in ("", "\x01"))
    if pairs:
        found |= dict.fromkeys(Hostile("", a + b, "") for a, b in product(GENERIC, GENERIC))
    return [one for one in found if one.piece]


def _derived(tree: Any) -> Iterator[Hostile]:
    whole = [_sample(tree, variant) for variant in range(4)]
    for sample in dict.fromkeys(whole):
        yield Hostile("", sample, "")
        yield Hostile("", sample[:-1], "")
        yield Hostile("", sample[:-1], "\x01")
    for before, part, rest in _repeats(tree, "", ""):
        for piece in dict.fromkeys(part):
            for end in _ENDS:
                yield Hostile(before, piece, end)
            yield Hostile("", before + piece, "")
            yield Hostile("", piece + before, "")
            yield Hostile("", before + piece + rest[:-1], "")
            yield Hostile("", piece, rest[:-1] + "\x01")
            yield Hostile(before, piece + rest[:-1], "")
            yield Hostile(before + piece, before, "")
            if before and rest:
                yield Hostile(before * 200, piece, "")
                yield Hostile(before + piece, rest[:-1], "")
        yield Hostile("", before, "")
        yield Hostile("", before, "\x01")


_REPEATS = {codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT}


def _repeats(tree: Any, before: str, rest: str) -> Iterator[tuple[str, list[str], str]]:
    """Each part that may be repeated often: what is before it, forms of it, what is after it."""
    nodes = list(tree)
    for at, (code, argument) in enumerate(nodes):
        for variant in (0, 1):
            start = before + _sample(nodes[:at], variant)
            after = _sample(nodes[at + 1 :], variant) + rest
            if code in _REPEATS and argument[1] > _SHORT:
                yield start, _forms(argument[2]), after
            for inner in _children(code, argument):
                yield from _repeats(inner, start, after)


def _children(code: Any, argument: Any) -> list[Any]:
    if code in _REPEATS:
        return [argument[2]]
    if code is codes.SUBPATTERN:
        return [argument[3]]
    if code is codes.BRANCH:
        return list(argument[1])
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        return [argument[1]]
    return [argument] if code is codes.ATOMIC_GROUP else []


def _forms(tree: Any) -> list[str]:
    """Several texts that a part matches."""
    nodes = list(tree)
    if len(nodes) == 1 and nodes[0][0] in (codes.IN, codes.NOT_LITERAL, codes.ANY):
        return list(islice(_characters(*nodes[0]), 6))
    return [text for text in dict.fromkeys(_sample(tree, variant) for variant in range(6)) if text]


def _sample(tree: Any, variant: int) -> str:
    """A text that a part matches; even variants have as little as possible."""
    return "".join(_sample_one(code, argument, variant) for code, argument in tree)


def _sample_one(code: Any, argument: Any, variant: int) -> str:
    if code is codes.LITERAL:
        return chr(argument)
    if code in (codes.IN, codes.NOT_LITERAL, codes.ANY):
        options = list(islice(_characters(code, argument), 3))
        return options[variant // 2 % len(options)] if options else ""
    if code in _REPEATS:
        least, most, inner = argument
        return _sample(inner, variant) * int(min(most, max(least, variant % 2)))
    if code is codes.BRANCH:
        return _sample(argument[1][variant % len(argument[1])], variant)
    if code is codes.ASSERT and argument[0] > 0:
        return ""  # what follows matches it, or the text is a near miss
    return "".join(
        _sample(inner, variant)
        for inner in _children(code, argument)
        if code is not codes.ASSERT_NOT
    )


def _characters(code: Any, argument: Any) -> Iterator[str]:
    """Characters of a class: well-known ones, and those that it lists."""
    if code is codes.ANY:
        yield from _CANDIDATES
        return
    if code is codes.NOT_LITERAL:
        yield from (char for char in _CANDIDATES if ord(char) != argument)
        return
    listed = [
        chr(value if kind is codes.LITERAL else value[0])
        for kind, value in argument
        if kind in (codes.LITERAL, codes.RANGE)
    ]
    for char in dict.fromkeys([*_CANDIDATES, *listed]):
        if _is_in(char, argument):
            yield char


def _is_in(char: str, items: Any) -> bool:
    is_negated = items[0][0] is codes.NEGATE
    return is_negated != any(_is_item(char, kind, value) for kind, value in items)


_CATEGORIES: dict[Any, Callable[[str], bool]] = {
    codes.CATEGORY_DIGIT: str.isdecimal,
    codes.CATEGORY_SPACE: str.isspace,
    codes.CATEGORY_WORD: lambda char: char.isalnum() or char == "_",
}
_OPPOSITES = {
    codes.CATEGORY_NOT_DIGIT: codes.CATEGORY_DIGIT,
    codes.CATEGORY_NOT_SPACE: codes.CATEGORY_SPACE,
    codes.CATEGORY_NOT_WORD: codes.CATEGORY_WORD,
}


def _is_item(char: str, kind: Any, value: Any) -> bool:
    if kind is codes.LITERAL:
        return ord(char) == int(value)
    if kind is codes.RANGE:
        return bool(value[0] <= ord(char) <= value[1])
    if kind is codes.CATEGORY:
        if value in _OPPOSITES:
            return not _CATEGORIES[_OPPOSITES[value]](char)
        return _CATEGORIES[value](char)
    return False


# ---------------------------------------------------------------- times


def as_input(pattern: Pattern, text: str) -> str | bytes:
    """The text, as bytes if the pattern needs them."""
    return text.encode() if isinstance(pattern.pattern, bytes) else text


#: Characters of the inputs that are compared.
SMALL, LARGE = 500, 4_000
#: Before them, so many pieces must be quick: a pattern of exponential time would never end.
_COUNTS = (12, 24)
_QUICK = 0.006
#: A quadratic search takes longer on the longest input.
SUSPICIOUS = 0.0003
_FACTOR = (LARGE / SMALL) ** MAX_EXPONENT
_CONFIRMED = 4
#: For a pattern with a bounded part: CPU seconds for the longest input.
_BOUNDED = 0.008


def seconds(pattern: Pattern, use: str, text: str, tries: int = 1) -> float:
    """The least CPU seconds of using a pattern on a text."""
    given = as_input(pattern, text)
    return min(_once(pattern, use, given) for _ in range(tries))


def _once(pattern: Pattern, use: str, given: str | bytes) -> float:
    start = time.process_time()
    USES[use](pattern, given)
    return time.process_time() - start


def is_slow(pattern: Pattern, use: str, hostile: Hostile) -> bool:
    """Whether the time grows faster than the input; stops early on a steep growth."""
    small = 0.0
    for text in (*map(hostile.times, _COUNTS), hostile.make(SMALL)):
        small = seconds(pattern, use, text)
        if small > _QUICK and seconds(pattern, use, text, 3) > _QUICK * machine_slowness():
            return True
    text = hostile.make(LARGE)
    large = seconds(pattern, use, text)
    if large < SUSPICIOUS or large < _FACTOR * small:
        return False
    large = seconds(pattern, use, text, _CONFIRMED)
    small = seconds(pattern, use, hostile.make(SMALL), 2 * _CONFIRMED)
    if large < SUSPICIOUS or large < _FACTOR * small:
        return False
    if large > _BOUNDED * machine_slowness():
        return True
    # a bounded part: the time grows up to its bound, and not much
    longer = seconds(pattern, use, hostile.make(4 * LARGE), 2)
    return longer > 4**MAX_EXPONENT * large or longer > 4 * _BOUNDED * machine_slowness()
