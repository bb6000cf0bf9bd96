r"""Compare what eqemb reads with what pdflatex prints: equation numbers, displays, words.

    python benchmarks/pdflatex.py PAPERS... --cache FOLDER [--half development] [--list] [--json]

Needs pdflatex (Debian: `texlive-latex-extra`, `-science`, `-publishers`, `-fonts-extra`,
`-pictures`, `-plain-generic`) and pdftotext (`poppler-utils`). Every paper is compiled twice,
without shell escape and within a time limit. A small package, `eqemb-judge.sty`, is loaded before
the document and records every printed tag, label and display when its page is shipped out.
Missing packages and pictures are replaced by empty files; a paper that does not compile, has many
errors, or whose class or inputs are missing is left out and counted. Results are cached, so an
interrupted run continues.

Papers are divided in two halves by a hash of their names. `--list` prints disagreements with file
and line, of the development half only: the other half is for figures. Compared are

- the number of every label that stands in a display,
- the sequence of printed numbers, also of those without a label,
- the count of displays,
- words of at least four letters, as multisets: words of the PDF file (hyphenation joined; tables,
  citations, bibliographies and page headers left out) that eqemb lacks, and the reverse.
"""

import argparse
import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from difflib import SequenceMatcher
from pathlib import Path, PurePosixPath
from typing import Any

from eqemb.article import Article
from eqemb.errors import SourceError
from eqemb.readers.latex import read_latex
from eqemb.readers.latex.files import Files
from eqemb.sources import Source, discover, load

HOOK = Path(__file__).with_name("eqemb-judge.sty")
SECONDS = 90  # of CPU time for one run of pdflatex
MEMORY_BYTES = 4 << 30
MAX_ERRORS = 15
MAX_STUBS = 30
MIN_PAPERS = 3  # a word is one that authors write as text if so many other papers have it
SEED = "eqemb"
STUB = r"\DeclareOption*{}\ProcessOptions\relax"

_RECORD = re.compile(r"(display|tag) (.*?):(\d+)(?: (.*))?")
_MISSING = re.compile(
    r"^! (?:LaTeX|Package \S+) Error: File [`'\"]([^'`\"]+)['\"] not found", re.MULTILINE
)
_MISSING_PLAIN = re.compile(r"^! I can't find file [`'\"]([^'`\"]+)['\"]", re.MULTILINE)
#: Errors after which TeX may have lost its place. The others drop a command and go on.
_ERROR = re.compile(
    r"^! (?!.*(?:not found|Undefined control sequence|Undefined color|Environment .* undefined"
    r"|Command .* already defined|Unknown graphics|no line here|Option clash|cannot find|Font))",
    re.MULTILINE,
)
_CLASS = re.compile(r"^[^%\n]*\\document(?:class|style)", re.MULTILINE)
#: Commands in a printed tag that stand for a character; all others are formatting.
_CHARACTERS = {"ast": "*", "star": "⋆", "dagger": "†", "ddagger": "‡", "prime": "'",
               "spadesuit": "♠", "clubsuit": "♣", "heartsuit": "♡", "diamondsuit": "♢",
               "textasteriskcentered": "*", "S": "§", "P": "¶"}  # fmt: skip
_REFERENCE = re.compile(r"\\(?:T@)?ref\s*\*?\s*\{([^{}]*)\}")
_COMMAND = re.compile(r"\\([A-Za-z@]+)\s?|\\.")
_WORD = re.compile(r"[^\W\d_]{4,}")
#: Words that LaTeX prints by itself.
_PRINTED = frozenset(
    "abstract acknowledgements acknowledgments algorithm appendix assumption bibliography chapter "
    "claim conclusion contents corollary definition department email example exercise fact figure "
    "index input keywords lemma list listing output part problem proof proposition question "
    "references remark require ensure return section solution table tables theorem university"
    "".split()
)


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
    displays: list[Mark] = field(default_factory=list)
    tags: list[Mark] = field(default_factory=list)
    labels: list[tuple[str, str]] = field(default_factory=list)
    """Labels that stand in displays, with the numbers that references print."""
    text: str = ""
    """The text of the PDF file, hyphenation joined."""


@dataclass(slots=True)
class Comparison:
    """The figures of one paper."""

    paper: str
    labels: int = 0
    labels_right: int = 0
    numbers: int = 0
    numbers_right: int = 0
    displays: int = 0
    displays_read: int = 0
    displays_extra: int = 0
    displays_silent: int = 0
    """Displays that eqemb did not read and did not report."""
    words: int = 0
    words_missing: int = 0
    words_spurious: int = 0
    missing: Counter[str] = field(default_factory=Counter)
    vocabulary: frozenset[str] = frozenset()
    disagreements: list[str] = field(default_factory=list)


# ---------------------------------------------------------------- papers


def papers(paths: Iterable[Path], half: str) -> Iterator[Source]:
    """The LaTeX documents under some paths that belong to one half, in an order of their own."""
    found = [one for one in discover(paths) if one.form == "tex" and not one.cause]
    found.sort(key=lambda one: _hash(one.name))
    for one in found:
        if half in ("both", half_of(one.name)):
            try:
                yield _one_document(load(one))
            except SourceError:
                continue


def half_of(name: str) -> str:
    """The half that a paper belongs to."""
    return "development" if int(_hash(name), 16) % 2 else "held-out"


def _hash(name: str) -> str:
    return hashlib.sha256(f"{SEED}:{name}".encode()).hexdigest()


def _one_document(source: Source) -> Source:
    """The source without documents beside the main one, which eqemb reads too."""
    files = Files(source.files)
    source.main = source.main or files.main()
    if source.main:
        for path in files.supplements(source.main, []):
            stem = PurePosixPath(path).stem
            if not any(stem in files.text(other) for other in source.files if other != path):
                del source.files[path]
    return source


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
    if source.main is None or not _has_class(source):
        judgement.outcome = "no document class"
        return judgement
    shutil.rmtree(root, ignore_errors=True)
    for path, data in source.files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    main = root / source.main
    log = _run_with_stubs(main, root, judgement)
    if judgement.outcome == "done":
        log = _run(main, root, draft=False)
        judgement.errors = len(re.findall(_ERROR, log))
        if "Fatal error occurred" in log or not main.with_suffix(".pdf").exists():
            judgement.outcome = "no PDF file"
        elif judgement.errors > MAX_ERRORS:
            judgement.outcome = "many errors"
        else:
            _read_answer(main, judgement)
    return judgement


def _has_class(source: Source) -> bool:
    """Whether the main file, or one that it may read its preamble from, names a class."""
    files = Files(source.files)
    return any(_CLASS.search(files.text(path)) for path in source.files if path.endswith(".tex"))


def _lacks_inputs(judgement: Judgement) -> bool:
    """Whether TeX did not find a file of text; eqemb may find it in another folder."""
    return any(PurePosixPath(name).suffix in ("", ".tex") for name in judgement.stubs)


def _run_with_stubs(main: Path, root: Path, judgement: Judgement) -> str:
    """Run pdflatex until no file is missing; missing ones are replaced by empty ones."""
    for _ in range(MAX_STUBS):
        log = _run(main, root, draft=True)
        missing = [*_MISSING.findall(log), *_MISSING_PLAIN.findall(log)]
        new = [name for name in missing if name not in judgement.stubs]
        if "time limit" in log[:20]:
            judgement.outcome = "time limit"
        if any(name.endswith(".cls") for name in new):
            judgement.outcome = "class missing"
        if not new or judgement.outcome != "done":
            return log
        for name in new:
            judgement.stubs.append(name)
            target = main.parent / (name if "." in PurePosixPath(name).name else name + ".tex")
            if root in target.resolve().parents:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(STUB if target.suffix == ".sty" else "")
    judgement.outcome = "files missing"
    return log


def _run(main: Path, root: Path, *, draft: bool) -> str:
    """Run pdflatex once and return its log."""
    command = ["pdflatex", "-no-shell-escape", "-interaction=batchmode", f"-jobname={main.stem}"]
    command += ["-draftmode"] if draft else []
    paths = f".:{root}//:{HOOK.parent.resolve()}:"
    try:
        subprocess.run(
            [*command, rf"\RequirePackage{{eqemb-judge}}\input{{{main.name}}}"],
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


def words(text: str) -> Counter[str]:
    """The words of at least four letters that authors wrote, and how often each occurs."""
    text = text.replace("ﬁ", "fi").replace("ﬂ", "fl").replace("ﬀ", "ff").replace("ﬃ", "ffi")
    return Counter(word for word in map(str.lower, _WORD.findall(text)) if word not in _PRINTED)


# ---------------------------------------------------------------- the comparison


def compare(source: Source, judgement: Judgement) -> Comparison:
    """Read a paper with eqemb, and compare."""
    article = read_latex(source)
    result = Comparison(f"{source.collection}/{source.name}")
    _compare_labels(article, judgement, result)
    _compare_numbers(article, judgement, result)
    _compare_displays(article, judgement, result)
    _compare_words(article, judgement, result)
    return result


def _compare_labels(article: Article, judgement: Judgement, result: Comparison) -> None:
    ours: dict[str, list[str]] = defaultdict(list)
    for equation in article.equations:
        for label in equation.labels:
            ours[label].append(printed(equation.number or ""))
    theirs: dict[str, list[str]] = defaultdict(list)
    for label, number in judgement.labels:
        theirs[label].append(number)
    tags = {mark.text for mark in judgement.tags}
    for label, numbers in theirs.items():
        if not tags.intersection(numbers):
            continue  # in a display without a number, a label names a section
        result.labels += 1
        if ours[label] == numbers or (ours[label] and set(ours[label]) == set(numbers)):
            result.labels_right += 1
        else:
            result.disagreements.append(f"label {label}: {ours[label]} printed {numbers}")


def _compare_numbers(article: Article, judgement: Judgement, result: Comparison) -> None:
    # \\eqno is a primitive, which cannot be recorded
    ours = [one for one in article.equations if one.number is not None and one.environment != "$$"]
    mine = [printed(equation.number or "") for equation in ours]
    theirs = [mark.text for mark in judgement.tags]
    result.numbers = len(theirs)
    matcher = SequenceMatcher(None, mine, theirs, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            result.numbers_right += b - a
            continue
        places = [f"{one.file}:{one.line}" for one in ours[a:b]]
        places += [f"TeX {mark.file}:{mark.line}" for mark in judgement.tags[c:d]]
        result.disagreements.append(
            f"numbers {mine[a:b][:4]} printed {theirs[c:d][:4]} at {', '.join(places[:1])}"
        )


def _compare_displays(article: Article, judgement: Judgement, result: Comparison) -> None:
    ours = len({equation.display for equation in article.equations})
    empty = sum(one.cause in ("empty equation", "drawing in a display") for one in article.problems)
    theirs = len(judgement.displays)
    result.displays = theirs
    result.displays_read = min(ours + empty, theirs)
    result.displays_extra = max(0, ours - theirs)
    result.displays_silent = max(0, theirs - ours - empty - article.displays_lost)
    if ours + empty < theirs or ours > theirs:
        spans = [(PurePosixPath(e.file).name, e.line, e.end_line) for e in article.equations]
        unread = [
            f"{mark.file}:{mark.line}"
            for mark in judgement.displays
            if not any(
                file == PurePosixPath(mark.file).name and first - 2 <= mark.line <= last + 3
                for file, first, last in spans
            )
        ]
        result.disagreements.append(
            f"displays {ours} printed {theirs}, lost {article.displays_lost}: {unread[:6]}"
        )


def _compare_words(article: Article, judgement: Judgement, result: Comparison) -> None:
    ours = words(re.sub(r"\$[^$]*\$", " ", article.text))
    theirs = words(judgement.text)
    missing, spurious = theirs - ours, ours - theirs
    result.words = sum(theirs.values())
    result.words_spurious = spurious.total()
    result.missing, result.vocabulary = missing, frozenset(ours)
    if spurious:
        result.disagreements.append(f"spurious {' '.join(list(spurious)[:20])}")


def count_missing(compared: list[Comparison]) -> None:
    """Count missing words, except parts of formulas: words that no other paper has as text."""
    papers_with = Counter(word for one in compared for word in one.vocabulary)
    for one in compared:
        missing = {
            word: count
            for word, count in one.missing.items()
            if papers_with[word] - (word in one.vocabulary) >= MIN_PAPERS
        }
        one.words_missing = sum(missing.values())
        if missing:
            common = sorted(missing, key=lambda word: (-missing[word], word))[:20]
            one.disagreements.append(f"missing {one.words_missing}: {' '.join(common)}")


def summary(judged: list[Judgement], compared: list[Comparison]) -> dict[str, float]:
    """The figures of all papers."""
    outcomes = Counter(one.outcome for one in judged)
    count_missing(compared)
    names = [name for name, kind in Comparison.__annotations__.items() if kind is int]
    figures: dict[str, float] = {"papers": len(judged), "papers compiled": outcomes["done"]}
    figures |= {f"left out, {name}": n for name, n in outcomes.items() if name != "done"}
    totals = {name: sum(getattr(one, name) for one in compared) for name in names}
    figures |= {name.replace("_", " "): total for name, total in totals.items()}
    figures["papers with all numbers right"] = sum(
        one.numbers_right == one.numbers and one.labels_right == one.labels for one in compared
    )
    for part, whole in (
        ("labels_right", "labels"), ("numbers_right", "numbers"), ("displays_read", "displays"),
        ("words_missing", "words"), ("words_spurious", "words"),
    ):  # fmt: skip
        share = 100 * totals[part] / max(1, totals[whole])
        figures[part.replace("_", " ") + " percent"] = round(share, 2)
    return figures


def main() -> None:
    """Compile papers, read them, and print the comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("papers", type=Path, nargs="+", help="folders or archives of papers")
    parser.add_argument("--cache", type=Path, required=True, help="folder for pdflatex's answers")
    parser.add_argument("--half", choices=("development", "held-out", "both"), default="both")
    parser.add_argument("--limit", type=int, help="number of papers")
    parser.add_argument("--cached", action="store_true", help="only papers already compiled")
    parser.add_argument("--list", action="store_true", help="list disagreements (development half)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    judged, compared = [], []
    for source in papers(options.papers, options.half):
        judgement = judge(source, options.cache.resolve(), only_cached=options.cached)
        if judgement is None:
            continue
        if judgement.outcome == "done" and _lacks_inputs(judgement):
            judgement.outcome = "inputs missing"
        judged.append(judgement)
        if judgement.outcome == "done":
            compared.append(compare(source, judgement))
        print(f"{len(judged)} {source.name}: {judgement.outcome}", file=sys.stderr)
        if options.limit and len(judged) >= options.limit:
            break
    figures = summary(judged, compared)
    if options.json:
        print(json.dumps(figures, indent=1))
    else:
        for name, figure in figures.items():
            print(f"{name:40} {figure:>10,}")
    for one in compared if options.list else []:
        if half_of(one.paper.partition("/")[2]) == "development":
            for text in one.disagreements:
                print(f"{one.paper}\t{text}")


if __name__ == "__main__":
    main()
