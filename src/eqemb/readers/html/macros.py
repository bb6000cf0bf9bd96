r"""Macros that a page gives MathJax or KaTeX in a script: `macros: {RR: "\\mathbb{R}"}`."""

import json
import re
from collections.abc import Iterator

_MACROS_OBJECT = re.compile(r"[\"']?\bmacros[\"']?\s*[:=]\s*\{", re.IGNORECASE)
_JS_STRING = r"(?:\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)')"
_MACRO_ENTRY = re.compile(
    rf"[\s,]*+(?://[^\n]*+\s*+)*+(?:{_JS_STRING}|([A-Za-z]+))\s*:\s*"
    rf"(?:\[\s*{_JS_STRING}\s*+(?:,\s*+(\d))?[^\]\n]*+\]|{_JS_STRING})"
)
_MACRO_NAME = re.compile(r"\\?([A-Za-z]+)")
_JS_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)


def script_macros(script: str) -> Iterator[str]:
    r"""Yield the macros in a script as `\newcommand`."""
    at = 0
    for match in _MACROS_OBJECT.finditer(script):
        if match.start() < at:  # within a string
            continue
        at = match.end()
        while (entry := _MACRO_ENTRY.match(script, at)) is not None:
            at = entry.end()
            name = _MACRO_NAME.fullmatch(_unescape(entry[1] or entry[2] or entry[3] or ""))
            body = _unescape(next((entry[group] for group in (4, 5, 7, 8) if entry[group]), ""))
            count = entry[6] or max(re.findall(r"#(\d)", body), default="0")
            if name is not None and body.count("{") == body.count("}"):
                arguments = f"[{count}]" if count != "0" else ""
                yield f"\\newcommand{{\\{name[1]}}}{arguments}{{{body}}}"


def _unescape(text: str) -> str:
    r"""A string of JavaScript: `\\mathbb` is `\mathbb`."""

    def character(match: re.Match[str]) -> str:
        if len(match[1]) == 1:
            return {"n": " ", "t": " "}.get(match[1], match[1])
        return str(json.loads(f'"{match[0]}"')).encode("utf-16", "ignore").decode("utf-16")

    return _JS_ESCAPE.sub(character, text)
