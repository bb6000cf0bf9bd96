r"""Fenced blocks: which contain mathematics, which text, and which code.

A fence is a line of backticks, tildes or colons with an info string. Directives of MyST, divisions
of pandoc and Quarto, and theorems of bookdown are fences whose body is text.
"""

import re
from typing import Literal, NamedTuple

FENCE = re.compile(r"(`{3,}|~{3,}|:{3,})[ \t]*([^\n]*)$")
_DIRECTIVE = re.compile(r"\{\s*([.=#]?[\w:+-]*)([^}]*)\}?[ \t]*(.*)")
_OPTION = re.compile(r"[ \t]*:([\w-]+):[ \t]*(.*)")
_YAML_OPTION = re.compile(r"[ \t]*([\w-]+)[ \t]*:[ \t]*(.*)")
_KNITR_NAME = re.compile(r"name\s*=\s*\"([^\"]*)\"")

Kind = Literal["math", "text", "code"]

#: Directives whose body is code, data or layout.
_CODE_DIRECTIVES = frozenset(
    "code code-cell code-block sourcecode literalinclude mermaid image csv-table bibliography "
    "toctree tableofcontents contents raw include eval-rst video iframe embed plot tikz graphviz "
    "index glue plotly parsed-literal highlight doctest testcode autofunction autoclass automodule "
    "autosummary currentmodule download latex tex verbatim output widget anywidget gif literate "
    "bokeh-plot altair-plot thebe-button thebe_button badges jupyter-execute footbibliography "
    "solution-end exercise-end gated".split()
)
#: Languages of executable chunks.
_LANGUAGES = frozenset(
    "r python python3 py julia jl stan bash sh zsh shell sql js javascript node css html ojs dot "
    "cat rcpp c cpp c++ fortran fortran95 perl ruby octave matlab sas scala go haskell lean lean4 "
    "rust awk sed asis comment webr pyodide pyodide-python webr-r jags bugs stata maxima sage "
    "json yaml toml xml text txt diff scheme lisp mathematica d2 plantuml console ipython "
    "ipython3 pycon rconsole powershell".split()
)
#: Directives whose argument is a path or a name, not a title.
_NO_TITLE = frozenset("figure div container list-table image margin math list grid only".split())


class Fence(NamedTuple):
    """An opening fence."""

    marker: str
    kind: Kind
    name: str = ""
    """The name of its directive, in lower case."""
    title: str = ""
    """The title of a theorem or an admonition."""


def read_fence(marker: str, info: str) -> Fence | None:
    """What an opening fence begins; None for a line that only looks like one."""
    info = info.strip()
    if marker[0] == "`" and (marker if info.startswith("{") else "`") in info:
        return None  # inline code; options of knitr may contain backticks
    if match := _DIRECTIVE.match(info):
        return _directive(marker, *match.groups())
    word = info.split()[0] if info else ""
    if marker[0] == ":":
        return Fence(marker, "text", word.lower(), "" if "{" in info else info[len(word) :].strip())
    if word == "math":
        return Fence(marker, "math", word)
    if word.startswith("ad-"):  # a callout of Obsidian's Admonition
        return Fence(marker, "text", word)
    return Fence(marker, "code", word)


def _directive(marker: str, name: str, rest: str, argument: str) -> Fence:
    name = name.lower()
    if name == "math":
        return Fence(marker, "math", name)
    if marker[0] == ":" and name[:1] in ("", ".", "#"):
        return Fence(marker, "text", name)
    if name[:1] in ("", ".", "=", "#") or name in _CODE_DIRECTIVES or name in _LANGUAGES:
        return Fence(marker, "code", name)
    if name.split(":")[0] in ("py", "glue", "c", "cpp", "js"):
        return Fence(marker, "code", name)
    if rest.strip():  # knitr: {theorem, label, name="..."} or {block, type="..."}; {r fig1, ...}
        title = _KNITR_NAME.search(rest)
        return Fence(marker, "text", name, title[1] if title else "")
    return Fence(marker, "text", name, "" if name in _NO_TITLE else argument.strip())


def closes(line: str, marker: str) -> bool:
    """Whether a stripped line closes a fence."""
    return line[:1] == marker[0] and len(line) >= len(marker) and not line.strip(marker[0])


def split_options(lines: list[str]) -> tuple[dict[str, str], int]:
    """The options at the start of a directive's body, and how many lines they take."""
    start = next((i for i, line in enumerate(lines) if line.strip()), 0)
    options: dict[str, str] = {}
    if lines and lines[start].strip() == "---":
        for number, line in enumerate(lines[start + 1 :], start + 1):
            if line.strip() == "---":
                return options, number + 1
            if FENCE.match(line.strip()) or "$$" in line:
                break  # a rule, and not options
            if match := _YAML_OPTION.match(line):
                options[match[1]] = match[2].strip().strip("\"'")
        return {}, 0
    for number, line in enumerate(lines[start:], start):
        match = _OPTION.match(line)
        if match is None:
            return options, number if options else 0
        options[match[1]] = match[2].strip()
    return options, len(lines)
