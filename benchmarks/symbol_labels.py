r"""Measure definitions of symbols on papers in which two readers marked them.

    python benchmarks/symbol_labels.py sample LIBRARY -o FOLDER [--seed 0] [--papers 60]
                                       [--symbols 300]
    python benchmarks/symbol_labels.py check LIBRARY FORM.jsonl ... -o READER.jsonl
    python benchmarks/symbol_labels.py agree A.jsonl B.jsonl
    python benchmarks/symbol_labels.py join A.jsonl B.jsonl -o LABELS.tsv
    python benchmarks/symbol_labels.py score LIBRARY LABELS.tsv

`sample` draws papers, the same number of each collection, and symbols of their equations
(`symbol_sample.py`), and writes a text file for each paper and an empty form. It contains text of
papers, so do not publish it; it has nothing that the package found. A reader gives for each symbol
`defined` (yes, no or type-only), and `line` and `quote` of the phrase that defines it and is in
force at the equation; `also` has further phrases that say the same. `check` turns quotes into
offsets in the text of the article, and refuses a form that has a mistake. `join` keeps names and
offsets of two readers, and a checksum of each article's text: a label counts only for that text.

A symbol is *answered* if the package has a definition in words for it (a type alone is none). An
answer is *right* if the phrase shares a word that is no stop word, or a formula, with a marked
phrase; it is right *in words* also if it stands elsewhere and half of the words of both are the
same stems. Three rules join the readers:

  joined   defined: both say yes; symbols on which they differ are left out; right: by either
  strict   defined: both say yes, all others are not; right: by both
  lenient  defined: one says yes; right: by either

*defined*: share of the symbols; *found*: share of the defined ones that are answered; *right*:
share of these that are right; *recall*: right of the defined; *precision*: right of all answers.
Intervals are 95 % of 10,000 bootstrap samples of the papers.
"""

import argparse
import csv
import hashlib
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from symbol_sample import (
    DrawnSymbol,
    check_offsets,
    draw_symbols,
    find_quote,
    shown_lines,
    write_paper,
)

from eqemb import Library
from eqemb.article import Article, tokenize
from eqemb.corpus.vocabulary import STOP_WORDS
from eqemb.index.stemming import stem
from eqemb.symbols import Glossary, Meaning

ANSWERS = ("yes", "no", "type-only")
COLUMNS = ("equation", "symbol", "text", "a", "a_spans", "b", "b_spans")
RULES = ("joined", "strict", "lenient")
#: Lower ends of the bins of confidence.
BINS = (0.0, 0.3, 0.45, 0.6, 0.75, 0.9)
SAMPLES, SEED = 10_000, 1

Span = tuple[int, int]


class Mark(NamedTuple):
    """What one reader says about a symbol."""

    defined: str
    spans: tuple[Span, ...] = ()
    """The phrases that define it, the best first."""

    @property
    def is_yes(self) -> bool:
        """Whether the paper says in words what the symbol stands for."""
        return self.defined == "yes"


class Label(NamedTuple):
    """What both readers say about a symbol."""

    equation: str
    symbol: str
    text: str
    """Checksum of the article's text."""
    a: Mark
    b: Mark

    @property
    def article(self) -> str:
        """The name of the article."""
        return self.equation.rpartition("#")[0]


def checksum(text: str) -> str:
    """A short checksum of an article's text."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


# ------------------------------------------------------------ sample, check


def write_sample(library: Library, folder: Path, *, seed: int, papers: int, symbols: int) -> None:
    """Write a text file for each drawn paper, and an empty form."""
    if papers < 1 or symbols % papers:
        sys.exit(f"--symbols must be a multiple of --papers, not {symbols} for {papers}")
    drawn = draw_symbols(library.articles(), seed=seed, papers=papers, each=symbols // papers)
    if len(drawn) < papers:
        sys.exit(f"only {len(drawn)} papers of the library have enough symbols, not {papers}")
    folder.mkdir(parents=True, exist_ok=True)
    forms: list[str] = []
    for number, (name, asked) in enumerate(drawn.items(), 1):
        file = f"{number:02}.txt"
        article = library.article(name)
        text = write_paper(article, asked)
        check_offsets(text, article)
        (folder / file).write_text(text, encoding="utf-8")
        forms += [json.dumps(_empty(file, one), ensure_ascii=False) for one in asked]
        print(f"{file}  {len(text):6,} characters  {name}")
    (folder / "form.jsonl").write_text("\n".join(forms) + "\n", encoding="utf-8")
    print(f"{len(forms)} symbols in {folder / 'form.jsonl'}")


def _empty(file: str, one: DrawnSymbol) -> dict[str, Any]:
    return {
        "file": file, "paper": one.article, "equation": one.equation, "symbol": one.symbol.latex,
        "defined": "", "line": None, "quote": "", "also": [], "doubt": "",
    }  # fmt: skip


def check_entry(entry: dict[str, Any], article: Article) -> dict[str, Any]:
    """An entry of a form with offsets instead of quotes; ValueError says what is wrong."""
    if entry["defined"] not in ANSWERS:
        raise ValueError(f"`defined` is {entry['defined']!r}, not one of {', '.join(ANSWERS)}")
    spans: list[Span] = []
    if entry["defined"] != "no":
        if not entry.get("quote") or entry.get("line") is None:
            raise ValueError(f"`defined` is {entry['defined']}, but `line` or `quote` is empty")
        lines = shown_lines(article)
        places = (entry, *entry.get("also", ()))
        spans = [find_quote(lines, int(place["line"]), place["quote"]) for place in places]
    elif entry.get("quote"):
        raise ValueError("`defined` is no, but there is a quote")
    start, end = spans[0] if spans else (None, None)
    return {
        "paper": entry["paper"], "equation": entry["equation"], "symbol": entry["symbol"],
        "text": checksum(article.text), "defined": entry["defined"], "start": start, "end": end,
        "also": spans[1:], "doubt": entry.get("doubt", ""),
    }  # fmt: skip


def check_forms(library: Library, forms: Iterable[Path]) -> list[dict[str, Any]]:
    """The entries of forms with offsets; prints every mistake and ends if there is one."""
    checked: list[dict[str, Any]] = []
    mistakes: list[str] = []
    for path in forms:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if not line.strip():
                continue
            try:
                entry = json.loads(line)
                checked.append(check_entry(entry, library.article(entry["paper"])))
            except (ValueError, KeyError, TypeError) as error:
                mistakes.append(f"{path}:{number}: {error}")
    names = Counter((one["equation"], one["symbol"]) for one in checked)
    mistakes += [
        f"{name} {symbol} is answered twice" for (name, symbol), n in names.items() if n > 1
    ]
    if mistakes:
        sys.exit("\n".join(mistakes))
    return checked


# ------------------------------------------------------------ two readers


def read_marks(path: Path) -> dict[tuple[str, str], tuple[str, Mark]]:
    """A reader's answers by equation and symbol, with the checksum of the text."""
    found: dict[tuple[str, str], tuple[str, Mark]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if "text" not in entry:
            sys.exit(f"{path} has no offsets: run `check` first")
        spans = [] if entry["start"] is None else [(entry["start"], entry["end"])]
        spans += [(start, end) for start, end in entry["also"]]
        mark = Mark(entry["defined"], tuple(spans))
        found[entry["equation"], entry["symbol"]] = (entry["text"], mark)
    return found


def join(first: Path, second: Path) -> list[Label]:
    """The answers of two readers; both must have answered the same symbols of the same texts."""
    mine, its = read_marks(first), read_marks(second)
    if mine.keys() != its.keys():
        names = sorted(f"{name} {symbol}" for name, symbol in mine.keys() ^ its.keys())
        sys.exit(f"{len(names)} symbols have one answer only: {', '.join(names[:5])}")
    for name in mine:
        if mine[name][0] != its[name][0]:
            sys.exit(f"the readers had different texts of {name[0]}")
    return [Label(*name, mine[name][0], mine[name][1], its[name][1]) for name in sorted(mine)]


def write_labels(labels: Iterable[Label], path: Path) -> None:
    """Write names and offsets as a table."""
    rows = ["\t".join(COLUMNS)]
    for one in labels:
        marks = [part for mark in (one.a, one.b) for part in (mark.defined, _written(mark.spans))]
        rows.append("\t".join((one.equation, one.symbol, one.text, *marks)))
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def read_labels(path: Path) -> list[Label]:
    """The labels of a table."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    if not rows or tuple(rows[0]) != COLUMNS:
        sys.exit(f"{path} is not a table of labels: its columns should be {', '.join(COLUMNS)}")
    return [
        Label(
            row["equation"], row["symbol"], row["text"],
            Mark(row["a"], _read(row["a_spans"])), Mark(row["b"], _read(row["b_spans"])),
        )
        for row in rows
    ]  # fmt: skip


def _written(spans: Iterable[Span]) -> str:
    return " ".join(f"{start}-{end}" for start, end in spans)


def _read(text: str) -> tuple[Span, ...]:
    pairs = (part.partition("-") for part in text.split())
    return tuple((int(start), int(end)) for start, _, end in pairs)


def kappa(pairs: Sequence[tuple[Any, Any]]) -> float:
    """Cohen's kappa of two readers; 1 if both always say the same one thing."""
    total = len(pairs)
    agreed = sum(a == b for a, b in pairs) / total
    mine, its = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    chance = sum(mine[value] * its[value] for value in mine) / total**2
    return 1.0 if chance == 1 else (agreed - chance) / (1 - chance)


def dice(first: Span, second: Span) -> float:
    """Twice the shared characters of two spans over all of theirs."""
    shared = max(0, min(first[1], second[1]) - max(first[0], second[0]))
    return 2 * shared / (first[1] - first[0] + second[1] - second[0])


def agreement(labels: Sequence[Label]) -> dict[str, float]:
    """How far two readers agree."""
    both = [one for one in labels if one.a.is_yes and one.b.is_yes]
    best = [dice(one.a.spans[0], one.b.spans[0]) for one in both]
    touching = [any(dice(a, b) for a in one.a.spans for b in one.b.spans) for one in both]

    def mean(values: Sequence[float]) -> float:
        return float(np.mean(values)) if values else float("nan")

    return {
        "same answer, yes or not": mean([one.a.is_yes == one.b.is_yes for one in labels]),
        "kappa, yes or not": kappa([(one.a.is_yes, one.b.is_yes) for one in labels]),
        "kappa, three answers": kappa([(one.a.defined, one.b.defined) for one in labels]),
        "both yes": mean([one.a.is_yes and one.b.is_yes for one in labels]),
        "best phrases overlap": mean([value > 0 for value in best]),
        "any phrases overlap": mean(touching),
        "Dice of best phrases": mean(best),
        "best phrases are the same": mean([value == 1 for value in best]),
    }


def print_agreement(labels: Sequence[Label]) -> None:
    """Print how far two readers agree, with intervals."""
    table = with_intervals(labels, agreement)
    both = sum(one.a.is_yes and one.b.is_yes for one in labels)
    papers = len({one.article for one in labels})
    print(f"{len(labels)} symbols of {papers} papers; {both} are defined for both readers")
    for name in ANSWERS:
        a = sum(one.a.defined == name for one in labels)
        print(f"{name:10} A {a:4}  B {sum(one.b.defined == name for one in labels):4}")
    for name, (value, low, high) in table.items():
        print(f"{name:28} {value:6.3f}  [{low:.3f}, {high:.3f}]")


def with_intervals(
    items: Sequence[Any], measure: Callable[[Sequence[Any]], dict[str, float]]
) -> dict[str, tuple[float, float, float]]:
    """Every measure with its percentiles over bootstrap samples of the papers."""
    by_paper: dict[str, list[Any]] = defaultdict(list)
    for one in items:
        by_paper[one.article].append(one)
    papers = [by_paper[name] for name in sorted(by_paper)]
    rng = np.random.default_rng(SEED)
    tables = [
        measure([one for paper in drawn for one in papers[paper]])
        for drawn in rng.integers(len(papers), size=(SAMPLES, len(papers))).tolist()
    ]
    found: dict[str, tuple[float, float, float]] = {}
    for name, value in measure(items).items():
        values = np.array([table[name] for table in tables])
        values = values[~np.isnan(values)]
        low, high = np.percentile(values, [2.5, 97.5]) if len(values) else (value, value)
        found[name] = (value, float(low), float(high))
    return found


# ------------------------------------------------------------ score


class Scored(NamedTuple):
    """A labelled symbol and the package's answer."""

    label: Label
    confidence: float
    """0 if there is no answer."""
    right: tuple[bool, bool]
    """By the phrases of each reader."""
    in_words: tuple[bool, bool]

    @property
    def article(self) -> str:
        """The name of the article."""
        return self.label.article


def content(text: str, span: Span) -> dict[Span, str]:
    """The words of a span that are no stop words, as stems, and its formulas, by place."""
    return {
        (token.start + span[0], token.end + span[0]): (
            token.text if token.kind == "math" else stem(token.text.lower())
        )
        for token in tokenize(text[span[0] : span[1]])
        if token.kind != "word" or token.text.lower() not in STOP_WORDS
    }


def shares_content(text: str, first: Span, second: Span) -> bool:
    """Whether two spans share a word that is no stop word, or a formula."""
    if not dice(first, second):
        return False
    mine, its = content(text, first), content(text, second)
    return any(dice(one, other) for one in mine for other in its)


def says_the_same(text: str, first: Span, second: Span) -> bool:
    """Whether half of the words of two spans are the same stems."""
    mine, its = set(content(text, first).values()), set(content(text, second).values())
    return bool(mine & its) and 2 * len(mine & its) >= len(mine | its)


def scored(label: Label, text: str, meaning: Meaning | None) -> Scored:
    """Compare an answer with the phrases that readers marked."""
    definition = meaning.definition if meaning else None
    if meaning is None or definition is None or definition.kind == "type":
        return Scored(label, 0.0, (False, False), (False, False))
    span = (definition.start, definition.end)
    right, in_words = [], []
    for mark in (label.a, label.b):
        marked = mark.spans if mark.is_yes else ()
        right.append(any(shares_content(text, span, one) for one in marked))
        in_words.append(right[-1] or any(says_the_same(text, span, one) for one in marked))
    return Scored(label, meaning.confidence, (right[0], right[1]), (in_words[0], in_words[1]))


def ruled(one: Scored, rule: str) -> tuple[bool, bool, bool] | None:
    """Whether a symbol is defined, and its answer right and right in words; None if left out."""
    a, b = one.label.a.is_yes, one.label.b.is_yes
    if rule == "joined" and a != b:
        return None
    join_by = all if rule == "strict" else any
    defined = (a or b) if rule == "lenient" else (a and b)
    return defined, defined and join_by(one.right), defined and join_by(one.in_words)


def measures(items: Sequence[Scored], rule: str) -> dict[str, float]:
    """Every measure by one rule."""
    kept = [(one, found) for one in items if (found := ruled(one, rule)) is not None]
    defined = sum(found[0] for _, found in kept)
    answers = sum(one.confidence > 0 for one, _ in kept)
    hit = sum(found[0] and one.confidence > 0 for one, found in kept)
    right, in_words = sum(found[1] for _, found in kept), sum(found[2] for _, found in kept)

    def share(part: int, whole: int) -> float:
        return part / whole if whole else float("nan")

    return {
        "defined": share(defined, len(kept)),
        "found": share(hit, defined),
        "right": share(right, hit),
        "right in words": share(in_words, hit),
        "recall": share(right, defined),
        "precision": share(right, answers),
        "recall in words": share(in_words, defined),
        "precision in words": share(in_words, answers),
        "answers to undefined": share(answers - hit, len(kept) - defined),
    }


def score_labels(library: Library, labels: Sequence[Label]) -> list[Scored]:
    """Ask the package for every labelled symbol of texts that are those of the labels."""
    by_article: dict[str, list[Label]] = defaultdict(list)
    for one in labels:
        by_article[one.article].append(one)
    found: list[Scored] = []
    stale: list[str] = []
    unknown = 0
    for name in sorted(by_article):
        article = library.article(name)
        if checksum(article.text) != by_article[name][0].text:
            stale.append(name)
            continue
        glossary = Glossary(article)
        for one in by_article[name]:
            ordinal = int(one.equation.rpartition("#")[2])
            known = {meaning.symbol.latex: meaning for meaning in glossary.meanings(ordinal)}
            unknown += one.symbol not in known
            found.append(scored(one, article.text, known.get(one.symbol)))
    if stale:
        print(f"left out: {len(stale)} papers whose text is another one: {', '.join(stale)}")
    if unknown:
        print(f"{unknown} symbols are no symbols of their equations any more: not answered")
    return found


def print_scores(items: Sequence[Scored]) -> None:
    """Print every measure by each rule, and right answers by confidence."""
    for rule in RULES:
        kept = [found for one in items if (found := ruled(one, rule)) is not None]
        print(f"{rule}: {len(kept)} symbols, {sum(found[0] for found in kept)} defined")
        table = with_intervals(items, partial(measures, rule=rule))
        for name, (value, low, high) in table.items():
            print(f"  {name:22} {value:6.3f}  [{low:.3f}, {high:.3f}]")
    print("joined, by confidence of the answer:")
    for low, high in zip(BINS, (*BINS[1:], 1.01), strict=True):
        inside = [
            found
            for one in items
            if one.confidence > 0 and low <= one.confidence < high
            and (found := ruled(one, "joined")) is not None
        ]  # fmt: skip
        right, words = sum(found[1] for found in inside), sum(found[2] for found in inside)
        ends = f"{low:.2f} to {min(high, 1):.2f}"
        print(f"  {ends}  right {right:3}, in words {words:3}, of {len(inside)}")


def main(arguments: list[str] | None = None) -> None:
    """Run a subcommand."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    sample = commands.add_parser("sample", help="draw papers and symbols; write files for readers")
    sample.add_argument("library", type=Path)
    sample.add_argument("-o", "--output", type=Path, required=True)
    sample.add_argument("--seed", type=int, default=0)
    sample.add_argument("--papers", type=int, default=60)
    sample.add_argument("--symbols", type=int, default=300)
    check = commands.add_parser("check", help="turn the quotes of a reader's forms into offsets")
    check.add_argument("library", type=Path)
    check.add_argument("forms", type=Path, nargs="+")
    check.add_argument("-o", "--output", type=Path, required=True)
    agree = commands.add_parser("agree", help="agreement of two readers")
    agree.add_argument("readers", type=Path, nargs=2)
    joining = commands.add_parser("join", help="names and offsets of two readers as a table")
    joining.add_argument("readers", type=Path, nargs=2)
    joining.add_argument("-o", "--output", type=Path, required=True)
    score = commands.add_parser("score", help="measure the package's definitions")
    score.add_argument("library", type=Path)
    score.add_argument("labels", type=Path)
    given = parser.parse_args(arguments)
    if given.command == "agree":
        print_agreement(join(*given.readers))
    elif given.command == "join":
        write_labels(join(*given.readers), given.output)
    else:
        with Library.open(given.library) as library:
            if given.command == "sample":
                write_sample(library, given.output, seed=given.seed, papers=given.papers,
                             symbols=given.symbols)  # fmt: skip
            elif given.command == "check":
                entries = check_forms(library, given.forms)
                lines = [json.dumps(entry, ensure_ascii=False) for entry in entries]
                given.output.write_text("\n".join(lines) + "\n", encoding="utf-8")
                print(f"{len(lines)} symbols without mistakes")
            else:
                print_scores(score_labels(library, read_labels(given.labels)))


if __name__ == "__main__":
    main()
