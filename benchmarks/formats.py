"""Read documents of every format: losses by cause, an independent count of displays, and speed.

    python benchmarks/formats.py FOLDER ... [--half even] [--list 10] [--json] [-o FILE.md]
    python benchmarks/formats.py FOLDER --sample rst --count 20 --seed 1
    python benchmarks/formats.py FOLDER --mutate 5000 [--formats rst md]

Each FOLDER (or EQEMB_OPEN) has sources, packed (.tar.xz and similar) or as folders. Each may have many
documents. Packed ones are unpacked into a temporary folder. `--half` takes the sources whose name
has a SHA-1 with an even or odd first digit: readers are written on one half and checked on the
other. "count" is the number of displays by the rules of `format_counts.py`, "share" the part of it
that we read, and "or named" the part that we read or report as lost, with a cause, such as pictures
of formulas; a surplus in one document does not make up for a loss in another. Speed is that of one
process in CPU time, median of five rounds in which the formats take turns; LaTeX is one of them.
`--sample` prints equations beside the lines of their source, to be compared by eye. `--mutate`
reads mutated documents (`format_mutants.py`).
"""

import argparse
import hashlib
import json
import os
import random
import re
import statistics
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from format_counts import count_displays
from format_mutants import campaign

from eqemb.article import Article, Equation
from eqemb.errors import SourceError
from eqemb.readers.draft import NOT_ACCOUNTED, decode
from eqemb.readers.registry import READERS, read_source
from eqemb.sources import Source, discover, load
from eqemb.sources.formats import format_of
from eqemb.storage.atomic import write_atomically

_SPEED_BYTES = 1_500_000  # of each format, for the measurement of speed
_INPUT = re.compile(r"\\(?:input|include|subfile|subimport|import)\*?\s*\{([^{}]*)\}")
_REMARK = re.compile(r"(?<!\\)%.*")
_MUTANT_BYTES = 60_000  # larger documents are mutated only if there are few others


@dataclass
class Row:
    """The figures of one format."""

    figures: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    worst: list[tuple[int, str]] = field(default_factory=list)
    """Displays that the count has and we have not, and the document."""
    speed: float = 0.0

    def as_json(self) -> dict[str, object]:
        """For programs."""
        return {
            **self.figures,
            "share": round(self.share, 5),
            "megabytes_per_second": round(self.speed, 3),
            "problems": dict(self.causes.most_common()),
            "skipped": dict(self.skipped.most_common()),
        }

    @property
    def share(self) -> float:
        """The share of the counted displays that we read."""
        return self.figures["counted and read"] / max(1, self.figures["count"])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    default = os.environ.get("EQEMB_OPEN")
    parser.add_argument("folders", nargs="*", type=Path, default=[default] if default else [])
    parser.add_argument("--half", choices=("even", "odd"))
    parser.add_argument("--formats", nargs="+", choices=sorted(READERS), default=sorted(READERS))
    parser.add_argument("--list", type=int, default=0, help="documents with the largest losses")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("-o", "--output", type=Path, help="a file for the tables")
    parser.add_argument("--sample", choices=sorted(READERS), help="print equations of a format")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mutate", type=int, metavar="N", help="read N mutants of each format")
    parser.add_argument("--seconds", type=float, default=5.0, help="limit for one mutant")
    options = parser.parse_args()
    if not options.folders:
        parser.error("give a folder of sources (or set EQEMB_OPEN)")
    with tempfile.TemporaryDirectory() as work:
        folders = [
            source
            for folder in options.folders
            for source in sources_of(Path(folder), Path(work), options.half)
        ]
        if not folders:
            parser.error(f"no source in {', '.join(map(str, options.folders))}")
        if options.sample:
            print_sample(folders, options.sample, options.count, options.seed)
        elif options.mutate:
            sys.exit(mutate(folders, options.formats, options.mutate, options.seconds))
        else:
            rows = measure(folders, options.formats)
            if options.json:
                print(json.dumps({form: row.as_json() for form, row in rows.items()}, indent=1))
            else:
                print(text := tables(rows))
                if options.output:
                    write_atomically(options.output, text)
                print_losses(rows, options.list)


def sources_of(folder: Path, work: Path, half: str | None) -> Iterator[Path]:
    """The folders of the sources below a folder; archives are unpacked."""
    for path in sorted(folder.iterdir()):
        name = path.name.split(".")[0]
        digit = int(hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()[0], 16)
        if half and (half == "odd") != bool(digit % 2):
            continue
        if path.is_dir():
            yield path
        elif path.name.endswith((".tar", ".tar.gz", ".tar.xz", ".tar.bz2", ".tgz")):
            with tarfile.open(path) as archive:
                archive.extractall(work / name, filter="data")
            yield work / name


def documents(folders: list[Path], skipped: dict[str, Row] | None = None) -> Iterator[Source]:
    """Open every document of the sources, as `eqemb read` finds them."""
    for folder in folders:
        hidden = [path for path in folder.rglob(".*") if path.is_dir()]  # hpl-fdm/doc/.src
        for found in discover([folder, *hidden]):
            form = format_of(found.origin) or found.form
            try:
                yield load(found)
            except SourceError as error:
                if skipped is not None and form in skipped:
                    skipped[form].skipped[error.cause] += 1


# ---------------------------------------------------------------- figures


def measure(folders: list[Path], forms: list[str]) -> dict[str, Row]:
    """Read everything once for the figures, and samples several times for speed."""
    rows = {form: Row() for form in forms}
    samples: dict[str, list[Source]] = {form: [] for form in forms}
    sizes: Counter[str] = Counter()
    for source in documents(folders, rows):
        if source.form not in rows:
            continue
        add(rows[source.form], source)
        size = sum(map(len, source.files.values()))
        if sizes[source.form] + size <= _SPEED_BYTES:
            sizes[source.form] += size
            samples[source.form].append(source)
    for form, speed in speeds(samples).items():
        rows[form].speed = speed
    return {form: row for form, row in rows.items() if row.figures["documents"]}


def print_losses(rows: dict[str, Row], most: int) -> None:
    """Print the documents of each format in which most is missing."""
    for form, row in rows.items():
        for _, what in sorted(row.worst, key=lambda item: -item[0])[:most]:
            print(f"{form}: {what}")


def add(row: Row, source: Source) -> None:
    """Add the figures of one document."""
    count = count_displays(source.main or next(iter(source.files)), _counted_text(source))
    try:
        article = read_source(source)
    except SourceError as error:
        row.skipped[error.cause] += 1
        if count:
            row.figures["count"] += count
            row.worst.append((count, f"{source.origin}: {count} counted, {error.cause}"))
        return
    displays = len({equation.display for equation in article.equations})
    unaccounted = sum(
        int(problem.detail.split()[0])
        for problem in article.problems
        if problem.cause == NOT_ACCOUNTED and problem.detail[:1].isdigit()
    )
    row.figures += Counter(
        documents=1,
        equations=len(article.equations),
        numbered=sum(equation.number is not None for equation in article.equations),
        words=len(article.words()),
        displays=displays,
        lost=article.displays_lost,
        unaccounted=unaccounted,
        bytes=article.source_bytes,
    )
    row.causes += Counter(problem.cause for problem in article.problems)
    if count is not None:
        row.figures["count"] += count
        row.figures["counted and read"] += min(count, displays)
        known = displays + article.displays_lost - unaccounted
        row.figures["counted and known"] += min(count, known)
        if displays < count:
            row.worst.append((count - displays, f"{source.origin}: {count}, {displays} read"))


def _counted_text(source: Source) -> str:
    """The main file with the files that it inputs, or all files if none is the main one."""
    texts = {path: decode(data) for path, data in source.files.items()}
    if not source.main:
        return "\n".join(
            text for path, text in texts.items() if path.endswith(".tex") or len(texts) == 1
        )
    used, added = {source.main: ""}, [source.main]
    while added:
        path = added.pop()
        used[path] = text = texts[path]
        for name in _INPUT.findall(_REMARK.sub("", text)):
            path = name.strip().removeprefix("./")
            candidates = (path, f"{path}.tex")
            added += [found for found in candidates if found in texts and found not in used]
    return "\n".join(used.values())


def speeds(samples: dict[str, list[Source]]) -> dict[str, float]:
    """Megabytes a second of each reader: median of five rounds, in which the readers take turns."""
    seconds: dict[str, list[float]] = {form: [] for form, sources in samples.items() if sources}
    sizes = dict.fromkeys(seconds, 0)
    for turn in range(5):
        for form, taken in seconds.items():
            started = time.process_time()
            for source in samples[form]:
                size = _read_size(source)
                sizes[form] += size if turn == 0 else 0
            taken.append(time.process_time() - started)
    return {
        form: sizes[form] / 1e6 / max(statistics.median(taken), 1e-9)
        for form, taken in seconds.items()
    }


def _read_size(source: Source) -> int:
    try:
        return read_source(source).source_bytes
    except SourceError:
        return 0


def tables(rows: dict[str, Row]) -> str:
    """A table of the figures and one of the causes, in Markdown."""
    names = ("documents", "equations", "displays", "lost", "count")
    lines = [
        "| format | " + " | ".join(names) + " | share | or named | MB/s |",
        "|---" + "|---:" * (len(names) + 3) + "|",
    ]
    for form, row in rows.items():
        cells = [f"{row.figures[name]:,}" for name in names]
        shares = ("–", "–")
        if count := row.figures["count"]:
            shares = (f"{row.share:.2%}", f"{row.figures['counted and known'] / count:.2%}")
        lines.append("| " + " | ".join([form, *cells, *shares, f"{row.speed:.1f}"]) + " |")
    lines += ["", "| format | losses, problems and skipped documents, by cause |", "|---|---|"]
    for form, row in rows.items():
        skipped = [(f"skipped: {cause}", n) for cause, n in row.skipped.most_common()]
        causes = [f"{cause} {n:,}" for cause, n in [*row.causes.most_common(), *skipped]]
        lines.append(f"| {form} | {', '.join(causes) or 'none'} |")
    return "\n".join(lines) + "\n"


# ---------------------------------------------------------------- by eye


def print_sample(folders: list[Path], form: str, count: int, seed: int) -> None:
    """Print random equations of a format beside the lines of their source."""
    found: list[tuple[Source, Article, int]] = []
    for source in documents(folders):
        if source.form != form:
            continue
        try:
            article = read_source(source)
        except SourceError:
            continue
        found += [(source, article, number) for number in range(len(article.equations))]
    for source, article, number in random.Random(seed).sample(found, min(count, len(found))):
        equation = article.equations[number]
        print(f"==== {source.origin}:{equation.line} {equation.id}")
        print(_written(source, equation)[:1500])
        print(f"---- number {equation.number}, labels {equation.labels}, in {equation.section!r}")
        print(equation.expanded)
        print(f"---- {equation.context[:400]}")
        for sentence in equation.references[:3]:
            print(f"     referred to: {sentence[:200]}")


def _written(source: Source, equation: Equation) -> str:
    """The lines of an equation in its source; of a notebook or a record, the part that has it."""
    text = decode(source.files.get(equation.file, b""))
    if source.form == "notebook":
        cells = json.loads(text).get("cells", [])
        return "".join(cells[equation.line - 1]["source"]) if cells else equation.latex
    return "\n".join(text.split("\n")[max(0, equation.line - 1) : equation.end_line])


# ---------------------------------------------------------------- mutants


def mutate(folders: list[Path], forms: list[str], count: int, seconds: float) -> int:
    """Read mutants of each format and print what is wrong; return an exit code."""
    pools: dict[str, list[Source]] = {form: [] for form in forms}
    for source in documents(folders):
        if source.form in pools and _main_size(source):
            pools[source.form].append(source)
    for form, pool in pools.items():
        small = [source for source in pool if _main_size(source) <= _MUTANT_BYTES]
        few = sorted(pool, key=_main_size)[:20] if len(small) < 20 else small
        pools[form] = random.Random(1).sample(few, min(300, len(few)))
    is_wrong = False
    with ThreadPoolExecutor(max(1, (os.cpu_count() or 2) // 2)) as threads:
        started = {
            form: threads.submit(campaign, pool, count, seconds)
            for form, pool in pools.items()
            if pool
        }
        for form, future in started.items():
            findings = future.result()
            kinds = Counter(finding.kind for finding in findings)
            listed = ", ".join(f"{kind} {n}" for kind, n in kinds.most_common()) or "nothing wrong"
            print(f"{form}: {count:,} mutants of {len(pools[form])} documents: {listed}")
            for kind in kinds:
                for finding in [f for f in findings if f.kind == kind][:3]:
                    origin = pools[form][finding.number % len(pools[form])].origin
                    print(f"    {kind}, mutant {finding.number} of {origin}: {finding.detail}")
            is_wrong |= bool(set(kinds) - {"not accounted for"})
    return int(is_wrong)


def _main_size(source: Source) -> int:
    return len(source.files[source.main or next(iter(source.files))])


if __name__ == "__main__":
    main()
