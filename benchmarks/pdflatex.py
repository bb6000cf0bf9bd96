r"""Compare what eqemb reads with what pdflatex prints: equation numbers, displays, words.

    python benchmarks/pdflatex.py PAPERS... --cache FOLDER [--half development] [--list] [--json]

Needs pdflatex (Debian: `texlive-latex-extra`, `-science`, `-publishers`, `-fonts-extra`,
`-pictures`, `-plain-generic`) and pdftotext (`poppler-utils`). Every paper is compiled twice,
without shell escape and within a time limit. A small package, `eqemb-judge.sty`, is loaded before
the document and records every printed tag, label and display when its page is shipped out.
Missing packages and pictures are replaced by empty files, a missing class by article or book, a
missing preamble by common packages: these papers are counted, and their words are not compared.
A paper that does not compile, has many errors, or whose inputs are missing is left out and counted.
Results are cached, so an interrupted run continues.

Papers are divided in two halves by a hash of their names. `--list` prints disagreements with file
and line, of the development half only: the other half is for figures. Compared are

- the number of every label that stands in a display,
- the sequence of printed numbers, also of those without a label,
- the count of displays,
- words of at least four letters, as multisets: words of the PDF file (hyphenation joined; tables,
  citations, bibliographies, page headers, links, authors, floats without captions and words in
  formulas left out) that eqemb lacks, and the reverse.
"""

import argparse
import hashlib
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path, PurePosixPath

from pdflatex_run import Judgement, Mark, judge, printed

from eqemb.article import Article
from eqemb.errors import SourceError
from eqemb.readers.latex import read_latex
from eqemb.readers.latex.commands import ROW_DISPLAYS
from eqemb.readers.latex.displays import group_end
from eqemb.readers.latex.files import Files
from eqemb.readers.latex.frames import strip_comments
from eqemb.sources import Source, discover, load

LITTLE = 0.2  # words printed for each that is not: less, and the paper is not what was compiled
MIN_PAPERS = 3  # a word is one that authors write as text if so many other papers have it
SEED = "eqemb"
_INLINE = re.compile(r"\$[^$]*\$")
_LINK = re.compile(r"\S*(?:https?:|www\.)\S*")
_FLOAT = re.compile(
    r"\\begin\{((?:figure|table|wrap|algorithm|tabular|longtable|titlepage)\w*\*?)\}.*?\\end\{\1\}",
    re.DOTALL,
)
_CAPTION = re.compile(r"\\caption\w*\*?(?:\[[^\]]*\])?\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}")
_AUTHORS = re.compile(
    r"\\(?:author|affil|affiliation|address|institute|institution|thanks|email|date|title\w*)"
    r"\*?\s*(?:\[[^\]]*\]\s*)?\{"
)
_WORD = re.compile(r"[^\W\d_]{4,}")
#: Words that LaTeX prints by itself.
_PRINTED = frozenset(
    "abstract acknowledgements acknowledgments algorithm algorithms appendix appendices assumption "
    "assumptions bibliography chapter chapters claim claims conclusion contents corollary "
    "definition definitions department email equation equations example examples exercise fact "
    "figure figures index input keywords lemma lemmas list listing output part problem problems "
    "proof proposition propositions question references remark require ensure return section "
    "sections solution table tables theorem theorems university".split()
)


@dataclass(slots=True)
class Comparison:
    """The figures of one paper."""

    paper: str
    labels: int = 0
    labels_right: int = 0
    numbers: int = 0
    numbers_right: int = 0
    numbers_extra: int = 0
    """Numbers of eqemb that pdflatex did not print."""
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
            named = re.compile(rf"[{{/]{re.escape(PurePosixPath(path).stem)}(?:\.tex)?\}}")
            others = (files.text(other) for other in source.files if other != path)
            if not any(map(named.search, others)):
                del source.files[path]
    return source


def words(text: str) -> Counter[str]:
    """The words of at least four letters that authors wrote, and how often each occurs."""
    text = text.replace("ﬁ", "fi").replace("ﬂ", "fl").replace("ﬀ", "ff").replace("ﬃ", "ffi")
    return Counter(word for word in map(str.lower, _WORD.findall(text)) if word not in _PRINTED)


# ---------------------------------------------------------------- the comparison


def compare(source: Source, judgement: Judgement) -> Comparison:
    """Read a paper with eqemb, and compare."""
    article = read_latex(source)
    result = Comparison(f"{source.collection}/{source.name}")
    _compare_numbers(article, judgement, result)
    _compare_labels(article, judgement, result)
    _compare_displays(article, judgement, result)
    if not judgement.stand_in:  # otherwise TeX prints the arguments of the commands it lacks
        _compare_words(article, judgement, result, source)
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
    all_right = result.numbers == result.numbers_right
    for label, numbers in theirs.items():
        # in a display without a number, a label names a section, which may be called like a tag
        if not tags.intersection(numbers) or (all_right and set(ours[label]) == {""}):
            continue
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
    differ = [code[1:] for code in matcher.get_opcodes() if code[0] != "equal"]
    # a float or a footnote is printed later than it is written
    moved = Counter(text for a, b, _, _ in differ for text in mine[a:b])
    moved &= Counter(text for *_, c, d in differ for text in theirs[c:d])
    empty = [
        mark for *_, c, d in differ for mark in judgement.tags[c:d] if _ends_rows(mark, article)
    ]
    wrong = sum(d - c for *_, c, d in differ) - moved.total() - len(empty)
    result.numbers_right = len(theirs) - max(0, wrong)
    result.numbers_extra = sum(b - a for a, b, _, _ in differ) - moved.total()
    for a, b, c, d in differ if wrong > 0 or result.numbers_extra else []:
        places = [f"{one.file}:{one.line}" for one in ours[a:b]]
        places += [f"TeX {mark.file}:{mark.line}" for mark in judgement.tags[c:d]]
        result.disagreements.append(
            f"numbers {mine[a:b][:4]} printed {theirs[c:d][:4]} at {', '.join(places[:1])}"
        )


def _ends_rows(mark: Mark, article: Article) -> bool:
    r"""Whether a number stands beside the empty row after a final \\, which is no equation."""
    name = PurePosixPath(mark.file).name
    return any(
        PurePosixPath(one.file).name == name and one.end_line <= mark.line <= one.end_line + 3
        for one in article.equations
        if one.environment in ROW_DISPLAYS
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


def _compare_words(
    article: Article, judgement: Judgement, result: Comparison, source: Source
) -> None:
    ours = words(_LINK.sub(" ", _INLINE.sub(" ", article.text)))
    theirs = words(_LINK.sub(" ", judgement.text))
    missing, spurious = theirs - ours, ours - theirs
    missing -= _formula_words(article) + _set_aside(source)
    result.words = sum(theirs.values())
    result.words_spurious = spurious.total()
    result.missing, result.vocabulary = missing, frozenset(ours)
    if spurious:
        result.disagreements.append(f"spurious {' '.join(list(spurious)[:20])}")


def _formula_words(article: Article) -> Counter[str]:
    r"""Words that formulas print: \\text{if}, \\tanh."""
    formulas = [one.expanded for one in article.equations] + _INLINE.findall(article.text)
    return words(" ".join(formulas))


def _set_aside(source: Source) -> Counter[str]:
    """Words that are not running text by design: authors, and what floats hold but captions."""
    total: Counter[str] = Counter()
    for path in source.files:
        if path.endswith((".tex", ".ltx", ".cls", ".sty")):
            text = strip_comments(Files(source.files).text(path))
            for match in _FLOAT.finditer(text):
                total += words(_CAPTION.sub(" ", match[0]))
            for match in _AUTHORS.finditer(text):
                total += words(text[match.end() : group_end(text, match.end(), len(text))])
    return total


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
    for kind in ("class", "preamble"):
        number = sum(one.outcome == "done" and one.stand_in == kind for one in judged)
        figures[f"compiled with another {kind}"] = number
    figures |= {f"left out, {name}": n for name, n in outcomes.items() if name != "done"}
    totals = {name: sum(getattr(one, name) for one in compared) for name in names}
    figures |= {name.replace("_", " "): total for name, total in totals.items()}
    figures["papers with all numbers right"] = sum(
        one.numbers_right == one.numbers
        and one.numbers_extra == 0
        and one.labels_right == one.labels
        for one in compared
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
        if judgement.outcome == "done":
            result = compare(source, judgement)
            if result.words < LITTLE * result.words_spurious:
                judgement.outcome = "hardly anything printed"
            else:
                compared.append(result)
        judged.append(judgement)
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
