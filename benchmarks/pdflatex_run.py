r"""Compile one paper with pdflatex, and collect what it prints: displays, numbers, words.

The steps are described in pdflatex.py. A document that needs a file which its archive lacks is
completed where that is cheap: a chapter without a class is set by a driver, a missing preamble is
replaced by common packages, and a missing package or picture by an empty file.
"""

import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from eqemb.readers.latex.files import Files
from eqemb.sources import Source

HOOK = Path(__file__).with_name("eqemb-judge.sty")
SECONDS = 90  # of CPU time for one run of pdflatex
MEMORY_BYTES = 4 << 30
MAX_ERRORS = 15
MAX_STUBS = 30
STUB = r"\DeclareOption*{}\ProcessOptions\relax"
#: For a chapter without a preamble. Commands that the authors' preamble defines remain undefined.
PACKAGES = (
    r"\usepackage{amsmath,amssymb,amsthm,mathtools,graphicx,xcolor,tikz-cd,float,caption,bm,bbm}"
    r"\usepackage{mathrsfs,booktabs,url}\usepackage[shortlabels]{enumitem}\usepackage[all]{xy}"
    r"\usepackage{hyperref,cleveref}"
    r"\long\def\uses#1{}\let\lean\uses\let\proves\uses\let\discussion\uses"  # Lean blueprints
)
#: Packages whose commands take arguments that are not printed.
STUBS = {
    "pmmeta.sty": "".join(
        rf"\def\pm{name}{{\@gobble}}"
        for name in "canonicalname created modified title privacy type comment related defines "
        "keywords parent".split()
    )
    + "".join(
        rf"\def\pm{name}{{\@gobbletwo}}"
        for name in "owner modifier record author classification synonym".split()
    )
    + r"\let\endmetadata\relax \def\PMlinkname#1#2{#1}\let\PMlinkid\PMlinkname"
    r"\let\PMlinkexternal\PMlinkname\let\PMlinktofile\PMlinkname"
    r"\let\PMlinkescapeword\@gobble\let\PMlinkescapephrase\@gobble\def\PMlinkescapetext#1{#1}",
}
#: TeX goes on without a missing file, so that one run names them all; slides are printed once;
#: pages are large, because pdftotext leaves out what is printed beyond their edges.
BEFORE = (
    r"\AddToHook{begindocument/end}{\pdfpagewidth60cm \pdfpageheight90cm }"
    r"\PassOptionsToClass{handout}{beamer}"
    r"\catcode64=11 \def\@missingfileerror#1#2{\typeout{^^J! LaTeX Error: File `#1.#2' not "
    r"found.^^J}}\catcode64=12 "
)

_RECORD = re.compile(r"(display|tag) (.*?):(\d+)(?: (.*))?")
_MISSING = re.compile(
    r"^! (?:LaTeX|Package \S+) Error: File [`'\"]([^'`\"]+)['\"] not found", re.MULTILINE
)
_MISSING_PLAIN = re.compile(r"^! I can't find file [`'\"]([^'`\"]+)['\"]", re.MULTILINE)
#: Errors after which TeX may have lost its place. The others drop a command and go on.
_ERROR = re.compile(
    r"^! (?!.*(?:not found|Undefined control sequence|Undefined color|Environment .* undefined"
    r"|Command .* already defined|Unknown graphics|no line here|Option clash|cannot find|Font"
    r"|missing .item|Package (?:enumitem|pgf|pgfkeys|tikz|minted|caption|glossaries)"
    r"|outside float|float option))",
    re.MULTILINE,
)
_CLASS = re.compile(r"^[^%\n]*\\document(?:class|style)", re.MULTILINE)
#: Commands in a printed tag that stand for a character; all others are formatting.
_CHARACTERS = {"ast": "*", "star": "⋆", "dagger": "†", "ddagger": "‡", "prime": "'",
               "spadesuit": "♠", "clubsuit": "♣", "heartsuit": "♡", "diamondsuit": "♢",
               "textasteriskcentered": "*", "S": "§", "P": "¶"}  # fmt: skip
_REFERENCE = re.compile(r"\\(?:T@)?ref\s*\*?\s*\{([^{}]*)\}")
_COMMAND = re.compile(r"\\([A-Za-z@]+)\s?|\\.")


@dataclass(slots=True)
class Mark:
    """A display or a printed tag, and where TeX was when it ended."""

    file: str
    line: int
    text: str = ""


@dataclass(slots=True)
class Judgement:
    """What pdflatex printed for one paper."""

    key: str
    outcome: str
    """"done", or why the paper is left out."""
    errors: int = 0
    stubs: list[str] = field(default_factory=list)
    stand_in: str = ""
    """"class" or "preamble", if the paper's own is missing and another was used."""
    displays: list[Mark] = field(default_factory=list)
    tags: list[Mark] = field(default_factory=list)
    labels: list[tuple[str, str]] = field(default_factory=list)
    """Labels that stand in displays, with the numbers that references print."""
    text: str = ""
    """The text of the PDF file, hyphenation joined."""


# ---------------------------------------------------------------- the judge


def judge(source: Source, cache: Path, *, only_cached: bool = False) -> Judgement | None:
    """What pdflatex prints, from the cache if possible; None if it would have to be run."""
    kept = cache / f"{source.collection or 'papers'}-{source.name.replace('/', '_')}.json"
    digest = hashlib.sha256(HOOK.read_bytes())
    for path in sorted(source.files):
        digest.update(path.encode() + b"\0" + source.files[path])
    key = digest.hexdigest()
    if kept.exists():
        data = json.loads(kept.read_text("utf-8"))
        if data["key"] == key:
            return _restored(data)
    if only_cached:
        return None
    judgement = typeset(source, cache / f"work-{os.getpid()}")
    judgement.key = key
    partial = kept.with_suffix(".partial")
    partial.write_text(json.dumps(asdict(judgement)), "utf-8")
    partial.replace(kept)
    return judgement


def _restored(data: dict[str, Any]) -> Judgement:
    for name in ("displays", "tags"):
        data[name] = [Mark(**mark) for mark in data[name]]
    data["labels"] = [(label, number) for label, number in data["labels"]]
    return Judgement(**data)


def typeset(source: Source, root: Path) -> Judgement:
    """Compile a paper in a folder, which is emptied before."""
    judgement = Judgement("", "done")
    if source.main is None:
        judgement.outcome = "no document"
        return judgement
    shutil.rmtree(root, ignore_errors=True)
    root = root / "a/b/c/d"  # files that are missing in ../.. can be replaced too
    for path, data in source.files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    main = root / source.main
    if not _has_class(source):
        main = _driver(main, judgement)
    log = _run_with_stubs(main, root, judgement)
    if judgement.outcome == "done":
        log = _run(main, root, draft=False)
        judgement.errors = len(re.findall(_ERROR, log))
        if "Fatal error occurred" in log or not main.with_suffix(".pdf").exists():
            judgement.outcome = "no PDF file"
        elif judgement.errors > (0 if judgement.stand_in == "preamble" else MAX_ERRORS):
            judgement.outcome = "many errors"
        elif any(PurePosixPath(name).suffix in ("", ".tex") for name in judgement.stubs):
            judgement.outcome = "inputs missing"  # eqemb may find them in another folder
        else:
            _read_answer(main, judgement)
    return judgement


def _has_class(source: Source) -> bool:
    """Whether the main file, or one that it may read its preamble from, names a class."""
    files = Files(source.files)
    return any(_CLASS.search(files.text(path)) for path in source.files if path.endswith(".tex"))


def _class_for(main: Path) -> str:
    text = main.read_text("utf-8", "replace")
    return "book" if re.search(r"\\chapter\b", text) else "article"


def _packages(main: Path) -> str:
    """Common packages, and environments that the preamble would define, as empty ones."""
    text = main.read_text("utf-8", "replace")
    used = sorted(set(re.findall(r"\\begin\{([A-Za-z*]+)\}", text)))
    empty = (
        rf"\expandafter\ifx\csname {name}\endcsname\relax\newenvironment{{{name}}}[1][]{{}}{{}}\fi "
        for name in used
    )
    return rf"{PACKAGES}\AtBeginDocument{{{''.join(empty)}}}"


def _driver(main: Path, judgement: Judgement) -> Path:
    """A document that inputs a chapter which has no class."""
    judgement.stand_in = "preamble"
    driver = main.with_name(main.stem + "-eqemb-driver.tex")
    driver.write_text(
        rf"\documentclass{{{_class_for(main)}}}{_packages(main)}\begin{{document}}"
        rf"\input{{{main.name}}}\end{{document}}"
    )
    return driver


def _run_with_stubs(main: Path, root: Path, judgement: Judgement) -> str:
    """Run pdflatex until no file is missing; missing ones are replaced."""
    seen: set[str] = set()
    for _ in range(MAX_STUBS):
        log = _run(main, root, draft=True)
        missing = [*_MISSING.findall(log), *_MISSING_PLAIN.findall(log)]
        new = [name for name in missing if name.strip(".") and name not in seen]
        if "time limit" in log[:20]:
            judgement.outcome = "time limit"
        if not new or judgement.outcome != "done":
            return log
        seen.update(new)
        for name in new:
            path = PurePosixPath(name)
            target = main.parent / (name if "." in path.name else name + ".tex")
            if root.parents[3] in Path(os.path.normpath(target)).parents:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(_stub(target, main, judgement, name))
    judgement.outcome = "files missing"
    return log


def _stub(target: Path, main: Path, judgement: Judgement, name: str) -> str:
    """What stands in for a missing file."""
    if target.suffix == ".cls":
        judgement.stand_in = "class"
        return STUB + rf"\LoadClass{{{_class_for(main)}}}"
    before = main.read_text("utf-8", "replace").partition(r"\begin{document}")[0]
    if target.suffix == ".tex" and re.search(rf"[{{/\[]{re.escape(target.stem)}[].}}]", before):
        judgement.stand_in = "preamble"
        subfile = "{subfiles}" in before
        return (rf"\documentclass{{{_class_for(main)}}}" if subfile else "") + _packages(main)
    judgement.stubs.append(name)
    if target.suffix == ".sty":
        return STUB + STUBS.get(target.name, "")
    return ""


def _run(main: Path, root: Path, *, draft: bool) -> str:
    """Run pdflatex once and return its log."""
    command = ["pdflatex", "-no-shell-escape", "-interaction=batchmode", f"-jobname={main.stem}"]
    command += ["-draftmode"] if draft else []
    paths = f".:{root}//:{HOOK.parent.resolve()}:"
    try:
        subprocess.run(
            [*command, rf"{BEFORE}\RequirePackage{{eqemb-judge}}\input{{{main.name}}}"],
            cwd=main.parent,
            env={**os.environ, "TEXINPUTS": paths, "max_print_line": "10000"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS * 4,
            check=False,
            preexec_fn=_limit,
        )
    except subprocess.TimeoutExpired:
        return "time limit"
    log = main.with_suffix(".log")
    return log.read_text("latin-1") if log.exists() else ""


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def _read_answer(main: Path, judgement: Judgement) -> None:
    """Parse the records, the labels and the words."""
    numbers: dict[str, list[str]] = defaultdict(list)
    for aux in sorted(main.parent.rglob("*.aux")):
        for label, number in _new_labels(aux.read_text("utf-8", "replace")):
            numbers[label].append(number)
    marked: dict[str, None] = {}
    records = main.with_suffix(".judge").read_text("utf-8", "replace")
    for line in records.splitlines():
        if line.startswith("label "):
            marked[line[6:].strip()] = None
        elif match := _RECORD.match(line):
            mark = Mark(match[2], int(match[3]), match[4] or "")
            if match[1] == "display":
                judgement.displays.append(mark)
            elif "EQ_" not in mark.text:  # boxes that empheq makes of its tags
                mark.text = printed(_REFERENCE.sub(lambda m: _first(numbers[m[1]]), mark.text))
                judgement.tags.append(mark)
    judgement.labels = [
        (label, printed(_REFERENCE.sub(lambda m: _first(numbers[m[1]]), number)))
        for label in marked
        for number in numbers[label]
    ]
    text = subprocess.run(
        ["pdftotext", "-enc", "UTF-8", main.with_suffix(".pdf"), "-"],
        capture_output=True, check=False,
    ).stdout.decode("utf-8", "replace")  # fmt: skip
    judgement.text = re.sub(r"(?<=\w)[-\u00ad\u2010]\n\s*(?=[^\W\d_])", "", text)


def _first(numbers: list[str]) -> str:
    return numbers[0] if numbers else "??"


def _new_labels(aux: str) -> Iterator[tuple[str, str]]:
    r"""The labels and numbers of an .aux file: \newlabel{NAME}{{NUMBER}...}."""
    for match in re.finditer(r"\\newlabel\{(.*?)\}\{\{", aux):
        depth, at = 1, match.end()
        while depth and at < len(aux):
            depth += {"{": 1, "}": -1}.get(aux[at], 0)
            at += 1
        if not match[1].endswith("@cref"):
            yield match[1], aux[match.end() : at - 1]


def printed(text: str) -> str:
    """A number as it looks in print, without parentheses, blanks and formatting."""
    text = re.sub(r"\\(?:text)?color\s*\{[^{}]*\}", "", text)
    text = _COMMAND.sub(lambda match: _CHARACTERS.get(match[1] or "", ""), text)
    text = re.sub(r"[{}$~^\s]", "", text)
    while len(text) > 1 and text[0] + text[-1] in ("()", "[]"):
        text = text[1:-1]
    return text
