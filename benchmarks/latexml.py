"""Compare the numbers and labels that eqemb reads with those of LaTeXML.

LaTeXML is a reference for development, never a dependency (Debian: `latexml`, and for the packages
that papers load `texlive-latex-extra`, `-science`, `-pictures`, `-publishers`). The papers are a
fixed sample: those with at least 3 numbered displays and less than 150 kB of `.tex`, one of each
cluster of near-duplicates, none that uses `showonlyrefs` or `autonum` (LaTeXML numbers every
equation there), in an order that depends only on the seed and keeps the collections in
proportion. LaTeXML is run on them in that order, one at a time, until enough are read: a paper
is read when LaTeXML ends in time without a fatal error, with at most 10 errors, and finds a
numbered equation. Its output is cached.

    python benchmarks/latexml.py --corpora FOLDER --cache FOLDER [--json] [--judge-only]

`--corpora` holds `MANIFEST.tsv` and one folder of archives for each collection. The table goes
to stdout, messages to stderr. The comparison covers:

- a label that stands on an equation, and the number printed there, in both (a label that is
  repeated is compared occurrence by occurrence; labels of `subequations` themselves, and those
  without a number on either side, name no numbered equation and are only counted);
- the count of numbered equations of each paper.

LaTeXML 0.8.7 is run with three known defects fixed (see EMPTIED and REPAIRS). One remains: where
it joins several numbered rows of an `eqnarray` into one equation, all numbers but one are gone.
Such rows are known by the ids of their formulas and counted as `folded`; a count that differs by
just these is marked so, and a second percentage takes them as numbered. Where a paper's class is
neither in the archive nor known to LaTeXML, it is unknown whether an equation is 3 or 1.3:
these papers are included, and another percentage excludes them.
"""

import argparse
import csv
import hashlib
import json
import re
import resource
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from pathlib import Path, PurePosixPath
from typing import Any

MIN_DISPLAYS = 3
MAX_TEX_BYTES = 150_000
MAX_ERRORS = 10
CPU_LIMIT_SECONDS = 180  # CPU time, so that a busy machine reads the same papers
WALL_LIMIT_SECONDS = 1_800
MEMORY_LIMIT_BYTES = 6 << 30

# Formulas are not parsed (numbers do not depend on it); local .sty and .cls are read as TeX.
LATEXML = [
    "latexml",
    "--nocomments",
    "--quiet",
    "--noparse",
    "--preload=[localrawstyles,localrawclasses]latexml.sty",
    "--preload=eqemb-repairs.sty",
]

# LaTeXML 0.8.7 hangs when loading expl3: these bindings
# are replaced by empty ones. What needs them (`\NewDocumentCommand`) becomes an error.
EMPTIED = ["expl3.pool", "expl3.ltx", "expl3.sty", "xparse.sty", "lipsum.sty"]
EMPTY = "package LaTeXML::Package::Pool;\nuse LaTeXML::Package;\n1;\n"

# Two known numbering bugs are fixed: every row of an array, matrix or \substack within
# an align or eqnarray steps the equation counter, and a numbered row of an
# eqnarray loses its number when an unnumbered one continues it.
REPAIRS = r"""package LaTeXML::Package::Pool;
use strict;
use warnings;
no warnings 'redefine';
use LaTeXML::Package;

my $bindings = \&alignmentBindings;
*alignmentBindings = sub {
  DefMacroI('\@row@before', undef, undef);
  DefMacroI('\@row@after',  undef, undef);
  return $bindings->(@_); };

my $join = \&equationgroupJoinRows;
*equationgroupJoinRows = sub {
  my ($document, $group, @rows) = @_;
  my @tags = map { $document->findnode('ltx:tags', $_) || () } @rows;
  $rows[-1]->appendChild($tags[-1])
    if @tags && !$document->findnode('ltx:tags', $rows[-1]);
  return $join->(@_); };
1;
"""

#: Settings that determine the output besides the paper: if they change, the cache is not used.
SETUP = [*LATEXML, *EMPTIED, hashlib.sha256(REPAIRS.encode()).hexdigest()]

_NAMESPACE = "{http://dlmf.nist.gov/LaTeXML}"
_XML_ID = "{http://www.w3.org/XML/1998/namespace}id"
_ONLY_REFERENCED = re.compile(rb"(?m)^[^%\n]*(?:showonlyrefs|\bautonum\b)")
_CLASS_MISSING = re.compile(r"missing files?\[[^]]*\.cls\b")
_QED = "\N{END OF PROOF}"  # `\qedhere` makes a tag of it
_NUMBERED_ID = re.compile(r"(.*\bE\d+(?:\.\d+)?)\.m\d+$")


@dataclass(frozen=True, slots=True)
class Paper:
    """One archive of the manifest."""

    collection: str
    name: str
    path: Path
    main: str


@dataclass(slots=True)
class Row:
    """One reader's output for an equation, or for a group with a number or labels."""

    number: str | None
    labels: list[str]
    kind: str
    """"equation", or "group" (`subequations`, or one equation that LaTeXML split in rows)."""
    environment: str = ""
    folded: int = 0
    """Numbered rows that LaTeXML joined into this one and whose number it dropped."""


@dataclass(slots=True)
class Judgement:
    """LaTeXML's output for one paper."""

    setup: list[str]
    sha256: str
    seconds: float
    outcome: str
    """"done", "fatal", "time limit" or "no output"."""
    errors: int = 0
    warnings: int = 0
    status: str = ""
    rows: list[Row] = field(default_factory=list)

    @property
    def read(self) -> bool:
        """Whether the paper counts as one that LaTeXML can read."""
        return (
            self.outcome == "done"
            and self.errors <= MAX_ERRORS
            and any(row.number for row in self.rows)
        )

    @property
    def class_known(self) -> bool:
        """Whether it found the document class; otherwise it numbers like `article` or `book`."""
        return not _CLASS_MISSING.search(self.status)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A label whose number differs, or a paper (no label) whose count of numbers does."""

    paper: str
    label: str | None
    eqemb: str | None
    latexml: str | None
    cause: str


@dataclass(slots=True)
class Comparison:
    """One paper, both readers."""

    paper: str
    skipped: bool
    """Whether eqemb skipped the paper."""
    class_known: bool
    labels: int
    agreeing: int
    group_labels: int
    unnumbered_labels: int
    eqemb_numbered: int
    latexml_numbered: int
    latexml_folded: int
    disagreements: list[Disagreement]


# --- the sample ---


def sample(corpora: Path, seed: int) -> list[Paper]:
    """Return all candidate papers, in order."""
    with (corpora / "MANIFEST.tsv").open(encoding="utf-8", newline="") as lines:
        manifest = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    manifest.sort(key=lambda line: _shuffle_key(seed, line))
    collections: dict[str, list[Paper]] = defaultdict(list)
    clusters: set[str] = set()
    for line in manifest:
        if int(line["numbered_displays"]) < MIN_DISPLAYS or line["cluster"] in clusters:
            continue
        path = corpora / line["collection"] / line["file"]
        if not _suits(path):
            continue
        if line["cluster"]:
            clusters.add(line["cluster"])
        name = line["file"].removesuffix(".tar.gz")
        collections[line["collection"]].append(Paper(line["collection"], name, path, line["main"]))
    return _interleave(collections.values())


def _shuffle_key(seed: int, line: dict[str, str]) -> str:
    """Return a sort key that depends only on the seed and the paper's name."""
    name = f"{seed}:{line['collection']}/{line['file']}"
    return hashlib.sha256(name.encode()).hexdigest()


def _suits(path: Path) -> bool:
    """Whether a paper is small enough and numbered by rules that LaTeXML supports."""
    size = 0
    with tarfile.open(path) as archive:
        for member in archive:
            stream = archive.extractfile(member)
            if stream is None:
                continue
            if member.name.lower().endswith(".tex"):
                size += member.size
            if size >= MAX_TEX_BYTES or _ONLY_REFERENCED.search(stream.read()):
                return False
    return True


def _interleave(collections: Iterable[list[Paper]]) -> list[Paper]:
    """Merge lists such that every prefix has the collections in proportion."""
    placed = [
        ((place + 0.5) / len(papers), paper.collection, paper)
        for papers in collections
        for place, paper in enumerate(papers)
    ]
    return [paper for _, _, paper in sorted(placed, key=lambda item: item[:2])]


# --- the judge ---


def judge(paper: Paper, cache: Path) -> Judgement:
    """Return LaTeXML's output, from the cache if possible."""
    kept = cache / "latexml" / f"{paper.collection}-{paper.name}.json"
    sha256 = hashlib.sha256(paper.path.read_bytes()).hexdigest()
    if kept.exists():
        found = _judgement(json.loads(kept.read_text(encoding="utf-8")))
        if (found.sha256, found.setup) == (sha256, SETUP):
            return found
    kept.parent.mkdir(parents=True, exist_ok=True)
    judgement = _ask(paper, cache / "work" / f"{paper.collection}-{paper.name}", sha256)
    partial = kept.with_suffix(".partial")
    partial.write_text(json.dumps(asdict(judgement), indent=1), encoding="utf-8")
    partial.replace(kept)
    return judgement


def _judgement(kept: dict[str, Any]) -> Judgement:
    rows = [Row(**row) for row in kept.pop("rows")]
    return Judgement(**kept, rows=rows)


def _ask(paper: Paper, folder: Path, sha256: str) -> Judgement:
    """Unpack one paper and run LaTeXML on it."""
    _unpack(paper.path, folder)
    output, log = folder / "judge.xml", folder / "judge.log"
    paths = [f"--path={_bindings(folder.parent)}", f"--path={folder}"]
    command = [*LATEXML, f"--destination={output}", f"--log={log}", *paths, paper.main]
    start = time.perf_counter()
    try:
        ended = subprocess.run(
            command,
            cwd=folder,
            timeout=WALL_LIMIT_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=_limit,
        )
        outcome = "time limit" if ended.returncode == -signal.SIGXCPU else "done"
    except subprocess.TimeoutExpired:
        outcome = "time limit"
    seconds = round(time.perf_counter() - start, 2)
    judgement = Judgement(SETUP, sha256, seconds, outcome)
    _read_answer(judgement, output, log)
    return judgement


def _unpack(archive: Path, folder: Path) -> None:
    """Unpack the TeX files, without LaTeXML bindings: they are Perl and would be executed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tarfile.open(archive) as members:
        wanted = [
            member
            for member in members
            if member.isfile() and PurePosixPath(member.name).suffix not in {".ltxml", ".latexml"}
        ]
        members.extractall(folder, members=wanted, filter="data")


def _bindings(work: Path) -> Path:
    """Make a folder of bindings that take precedence over LaTeXML's own."""
    folder = work / "bindings"
    folder.mkdir(exist_ok=True)
    for name in EMPTIED:
        (folder / f"{name}.ltxml").write_text(EMPTY, encoding="utf-8")
    (folder / "eqemb-repairs.sty.ltxml").write_text(REPAIRS, encoding="utf-8")
    return folder


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT_SECONDS, CPU_LIMIT_SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES))


def _read_answer(judgement: Judgement, output: Path, log: Path) -> None:
    """Parse status and equations from LaTeXML's output."""
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    judgement.errors = len(re.findall(r"(?m)^Error:", text))
    judgement.warnings = len(re.findall(r"(?m)^Warning:", text))
    status = re.search(r"(?m)^Conversion complete.*|^Conversion .*", text)
    judgement.status = status[0] if status else ""
    if re.search(r"(?m)^Fatal:", text):
        judgement.outcome = "fatal"
    if not output.exists():
        judgement.outcome = judgement.outcome if judgement.outcome != "done" else "no output"
        return
    try:
        judgement.rows = list(equations(ET.parse(output).getroot()))  # noqa: S314
    except ET.ParseError:
        judgement.outcome = "no output"


def equations(root: ET.Element, environment: str = "") -> Iterator[Row]:
    """Return the equations of LaTeXML's document, in order."""
    for node in root:
        if node.tag == f"{_NAMESPACE}equation":
            yield _row(node, "equation", environment)
        elif node.tag == f"{_NAMESPACE}equationgroup":
            row = _row(node, "group", _environment(node))
            if row.number or row.labels:
                yield row
            if row.number is None or row.environment:
                yield from equations(node, row.environment)
        else:
            yield from equations(node, environment)


def _environment(node: ET.Element) -> str:
    found = re.search(r"ltx_eqn_(\w+)", node.get("class", ""))
    return found[1] if found else ""


def _row(node: ET.Element, kind: str, environment: str) -> Row:
    number = None
    for tag in node.findall(f"{_NAMESPACE}tags/{_NAMESPACE}tag"):
        if tag.get("role") == "refnum":
            number = _text(tag).replace(_QED, "") or None
    labels = [label.removeprefix("LABEL:") for label in node.get("labels", "").split()]
    folded = _folded(node, number) if kind == "equation" else 0
    return Row(number, labels, kind, environment, folded)


def _text(node: ET.Element) -> str:
    """Return the text of a tag, with formulas as TeX."""
    if node.tag == f"{_NAMESPACE}Math":
        return f"${node.get('tex', '')}$"
    parts = [node.text or ""]
    for child in node:
        parts += [_text(child), child.tail or ""]
    return " ".join("".join(parts).split())


def _folded(node: ET.Element, number: str | None) -> int:
    """Return the number of numbered rows that were joined into this one and lost their number."""
    rows = {
        match[1]
        for formula in node.iter(f"{_NAMESPACE}Math")
        if (match := _NUMBERED_ID.match(formula.get(_XML_ID, "")))
    }
    return max(0, len(rows) - (number is not None))


# --- the comparison ---


def ours(paper: Paper) -> list[Row] | None:
    """Read the same paper with eqemb; return None if it is skipped."""
    import eqemb

    articles = list(eqemb.read_articles(paper.path))
    if not articles:
        return None
    return [
        Row(equation.number, equation.labels, "equation", equation.environment)
        for article in articles
        for equation in article.equations
        if equation.numbered or equation.labels
    ]


def compare(name: str, found: list[Row] | None, judgement: Judgement) -> Comparison:
    """Compare labels and counts of one paper."""
    mine, theirs = found or [], judgement.rows
    groups = {
        _plain_label(label)
        for row in theirs
        if row.kind == "group" and row.number is None
        for label in row.labels
    }
    left, right = _by_label(mine, groups), _by_label(theirs, groups)
    folded = sum(row.folded for row in theirs)
    labels = agreeing = unnumbered = 0
    disagreements = []
    for label in dict.fromkeys([*left, *right]):
        for here, there in zip_longest(left.get(label, []), right.get(label, [])):
            if not here and not there:
                unnumbered += 1
                continue
            labels += 1
            if here and there and _plain_number(here) == _plain_number(there):
                agreeing += 1
            else:
                cause = _cause(label, left, right)
                if cause == "number differs" and not judgement.class_known:
                    cause = "class unknown to LaTeXML"
                disagreements.append(Disagreement(name, label, here, there, cause))
    ours_count, theirs_count = _numbered(mine), _numbered(theirs)
    if ours_count != theirs_count:
        cause = "folded by LaTeXML" if ours_count == theirs_count + folded else "count differs"
        count = Disagreement(name, None, str(ours_count), str(theirs_count), cause)
        disagreements.append(count)
    return Comparison(
        paper=name,
        skipped=found is None,
        class_known=judgement.class_known,
        labels=labels,
        agreeing=agreeing,
        group_labels=len(groups),
        unnumbered_labels=unnumbered,
        eqemb_numbered=ours_count,
        latexml_numbered=theirs_count,
        latexml_folded=folded,
        disagreements=disagreements,
    )


def _numbered(rows: list[Row]) -> int:
    return sum(row.number is not None for row in rows)


def _by_label(rows: list[Row], groups: set[str]) -> dict[str, list[str | None]]:
    found: dict[str, list[str | None]] = defaultdict(list)
    for row in rows:
        for label in map(_plain_label, row.labels):
            if label not in groups:
                found[label].append(row.number)
    return found


def _plain_label(label: str) -> str:
    """Normalise a label as LaTeXML does: white space becomes one underscore."""
    return "_".join(label.split())


def _plain_number(number: str) -> str:
    """Remove markup: spaces, braces, and the dollar signs of a formula in a tag."""
    return re.sub(r"[\s{}$~]", "", number)


def _cause(
    label: str, left: dict[str, list[str | None]], right: dict[str, list[str | None]]
) -> str:
    if label not in right:
        return "label only in eqemb"
    if label not in left:
        return "label only in LaTeXML"
    if len(left[label]) != len(right[label]):
        return "label repeated in one of them"
    if None in left[label]:
        return "numbered only by LaTeXML"
    return "numbered only by eqemb" if None in right[label] else "number differs"


# --- the run ---


def judged(
    corpora: Path, cache: Path, seed: int, papers: int, tries: int
) -> Iterator[tuple[Paper, Judgement]]:
    """Yield papers in order with LaTeXML's output, until enough were read."""
    read = 0
    for place, paper in enumerate(sample(corpora, seed)[:tries], start=1):
        judgement = judge(paper, cache)
        read += judgement.read
        print(
            f"{place:3} {'read' if judgement.read else 'left':4} {judgement.outcome:10} "
            f"{judgement.errors:4} errors {judgement.seconds:6.1f} s  "
            f"{paper.collection}/{paper.name}",
            file=sys.stderr,
            flush=True,
        )
        yield paper, judgement
        if read == papers:
            return


def summary(asked: list[tuple[Paper, Judgement]], compared: list[Comparison]) -> dict[str, Any]:
    """Return all figures, with units in their names."""
    labels = sum(comparison.labels for comparison in compared)
    agreeing = sum(comparison.agreeing for comparison in compared)
    known = [comparison for comparison in compared if comparison.class_known]
    equal = sum(one.eqemb_numbered == one.latexml_numbered for one in compared)
    corrected = sum(
        one.eqemb_numbered in (one.latexml_numbered, one.latexml_numbered + one.latexml_folded)
        for one in compared
    )
    return {
        "papers_tried_count": len(asked),
        "papers_fatal_count": sum(judgement.outcome != "done" for _, judgement in asked),
        "papers_left_for_errors_count": sum(
            judgement.outcome == "done" and not judgement.read for _, judgement in asked
        ),
        "papers_compared_count": len(compared),
        "papers_skipped_by_eqemb_count": sum(one.skipped for one in compared),
        "papers_of_a_class_unknown_to_latexml_count": len(compared) - len(known),
        "latexml_seconds": round(sum(judgement.seconds for _, judgement in asked), 1),
        "labelled_equations_count": labels,
        "labels_agreeing_count": agreeing,
        "label_agreement_percent": _percent(agreeing, labels),
        "label_agreement_where_latexml_knows_the_class_percent": _percent(
            sum(one.agreeing for one in known), sum(one.labels for one in known)
        ),
        "group_labels_not_compared_count": sum(one.group_labels for one in compared),
        "unnumbered_labels_not_compared_count": sum(one.unnumbered_labels for one in compared),
        "eqemb_numbered_equations_count": sum(one.eqemb_numbered for one in compared),
        "latexml_numbered_equations_count": sum(one.latexml_numbered for one in compared),
        "latexml_folded_rows_count": sum(one.latexml_folded for one in compared),
        "papers_with_equal_count_count": equal,
        "equal_count_percent": _percent(equal, len(compared)),
        "equal_count_with_folded_rows_percent": _percent(corrected, len(compared)),
    }


def _percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 2) if whole else 0.0


def main() -> None:
    """Run LaTeXML, read the same papers with eqemb, and print the comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpora", type=Path, required=True, help="folder with MANIFEST.tsv")
    parser.add_argument("--cache", type=Path, required=True, help="folder for LaTeXML's answers")
    parser.add_argument("--papers", type=int, default=60, help="papers that LaTeXML must read")
    parser.add_argument("--tries", type=int, default=110, help="maximum number of papers to try")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--judge-only", action="store_true", help="fill the cache without comparing"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked_for = parser.parse_args()
    asked = list(
        judged(
            asked_for.corpora,
            asked_for.cache.resolve(),
            asked_for.seed,
            asked_for.papers,
            asked_for.tries,
        )
    )
    compared = [
        compare(f"{paper.collection}/{paper.name}", ours(paper), judgement)
        for paper, judgement in asked
        if judgement.read and not asked_for.judge_only
    ]
    figures = summary(asked, compared)
    disagreements = [found for one in compared for found in one.disagreements]
    if asked_for.json:
        print(json.dumps({**figures, "disagreements": [asdict(one) for one in disagreements]}))
        return
    for name, figure in figures.items():
        print(f"{name.replace('_', ' '):54} {figure:>9,}")
    for one in disagreements:
        print(
            f"{one.paper}\t{one.label or '(numbered equations)'}\t"
            f"eqemb {one.eqemb}\tLaTeXML {one.latexml}\t{one.cause}"
        )


if __name__ == "__main__":
    main()
