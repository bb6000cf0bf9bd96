"""Attack every regular expression of the package with inputs derived from it."""

import ast
import re
from collections.abc import Callable

import pytest

from campaigns import FULL, sample
from pattern_attacks import (
    SOURCE,
    Collected,
    calls,
    collect_patterns,
    hostile_inputs,
    is_slow,
    modules_with_patterns,
)

#: Packages and modules at the top of the package.
PARTS = sorted(path.stem for path in SOURCE.iterdir() if path.suffix in ("", ".py"))
#: Calls whose pattern a variable holds: other calls of the package make it.
VARIABLES = {("eqemb.index.text_segment", "pattern"), ("eqemb.readers.markdown.raw", "end")}


def test_every_pattern_is_collected() -> None:
    """Each call of a function of `re` has a pattern that can be read in the source."""
    collected = {(one.pattern.pattern, one.pattern.flags) for one in collect_patterns()}
    found = [call for module in modules_with_patterns() for call in calls(module)]
    assert len(found) > 500
    for call in found:
        pattern = re.compile(call.pattern, call.flags)
        assert (pattern.pattern, pattern.flags) in collected, call
    unknown = {(call.module, call.pattern) for call in found if not call.is_known}
    assert unknown == VARIABLES


def test_re_is_imported_in_one_way() -> None:
    """The collector looks for `import re` at the top of a module, and calls of `re.NAME`."""
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        names = {
            name.name
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for name in node.names
            if getattr(node, "module", None) == "re" or (name.name, name.asname) == ("re", None)
        }
        assert names <= {"re"}, path
        assert not names or "\nimport re\n" in text, path


@pytest.mark.parametrize(
    ("pattern", "use"),
    [
        (r"\s*x", "search"),
        (r"[.,]+\Z", "search"),
        (r"(?s)<!--.*?-->", "finditer"),
        (r"\([^)]*\)", "finditer"),
        (r"\w+(?=@)", "finditer"),
        (r"[0-9]*\.?[0-9]+x", "match"),
        (r"a\s*(?:b\s*)?\s*c", "match"),
        (r"(?:[^{}]|\{\})*\s*\}", "search"),
        (r"(?:a+)+b", "match"),
        (r"(?:ab|a|b)*!", "fullmatch"),
    ],
)
def test_careless_patterns_are_found(pattern: str, use: str) -> None:
    """Quadratic and exponential patterns, so that the campaign below can fail."""
    compiled = re.compile(pattern)
    assert any(is_slow(compiled, use, hostile) for hostile in hostile_inputs(compiled))


@pytest.mark.parametrize(
    ("pattern", "use"),
    [
        (r"(?<!\s)\s*+x", "search"),
        (r"(?<![.,])[.,]++\Z", "search"),
        (r"(?s)<!--.*?(?:-->|\Z)", "finditer"),
        (r"\([^()]*\)", "finditer"),
        (r"(?:[0-9]++(?:\.[0-9]++)?|\.[0-9]++)x", "match"),
    ],
)
def test_careful_patterns_pass(pattern: str, use: str) -> None:
    """The same, written so that no search reads far in vain."""
    compiled = re.compile(pattern)
    slow = [one for one in hostile_inputs(compiled, pairs=False) if is_slow(compiled, use, one)]
    assert not slow


@pytest.mark.parametrize("part", sample(PARTS, 4))
def test_patterns_take_linear_time(
    part: str, record_property: Callable[[str, object], None]
) -> None:
    """Repeated parts, near misses, and generic pieces alone and in pairs."""
    start = f"eqemb.{part}"
    patterns = [
        one for one in collect_patterns() if one.place.startswith((start + ".", start + ":"))
    ]
    slow = []
    count = 0
    for one in sample(patterns, 6):
        found, tried = slow_inputs(one)
        slow += found
        count += tried
    record_property("cases", max(1, count))
    assert not slow, "\n".join(slow)


def slow_inputs(one: Collected) -> tuple[list[str], int]:
    """A line for the first slow input of each use of a pattern, and the number of inputs."""
    lines = []
    inputs = sample(hostile_inputs(one.pattern, pairs=FULL), 40)
    for use in one.uses:
        slow = next((hostile for hostile in inputs if is_slow(one.pattern, use, hostile)), None)
        if slow is not None:
            lines.append(f"{one.place}: {use} of {one.pattern.pattern!r} on {slow}")
    return lines, len(inputs) * len(one.uses)
