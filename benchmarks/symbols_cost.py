"""Measure what finding definitions of symbols costs, next to reading the same papers.

    python benchmarks/symbols_cost.py --corpora PAPERS [--papers 100] [--rounds 3] [--json]

PAPERS is a folder of LaTeX papers; every so many are taken, in the order of their names, so that
there are `--papers` of them. Seconds are CPU seconds of one process: reading a paper as a worker of
`eqemb build` does (its text, its equations and their units), then `find_definitions` on its text.
Each round does all papers from the start, with the cache of formulas emptied first; the ratio is
the median of the rounds. `digest` is a hash of every definition that was found: two versions of
the code with the same digest find the same.
"""

import argparse
import hashlib
import json
import os
import statistics
import time
from pathlib import Path

from eqemb.library.worker import make_record, read_found
from eqemb.sources import Found, Limits, discover
from eqemb.symbols import find_definitions
from eqemb.symbols.terms import read_term


def main(arguments: list[str] | None = None) -> None:
    """Measure and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpora", default=os.environ.get("EQEMB_CORPORA"))
    parser.add_argument("--papers", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    if not options.corpora:
        parser.error("give --corpora, a folder of papers (or set EQEMB_CORPORA)")
    found = sample(Path(options.corpora), options.papers)
    if not found:
        parser.error(f"there is no LaTeX paper in {options.corpora}")
    rounds = [measure(found) for _ in range(max(options.rounds, 1))]
    figures: dict[str, float | int | str] = {
        "papers": len(found),
        "definitions": int(rounds[0]["definitions"]),
        "reading_seconds": round(statistics.median(float(one["reading"]) for one in rounds), 2),
        "symbols_seconds": round(statistics.median(float(one["symbols"]) for one in rounds), 2),
        "ratio": round(statistics.median(float(one["ratio"]) for one in rounds), 3),
        "digest": str(rounds[0]["digest"]),
    }
    if options.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:20}{value}")


def sample(papers: Path, count: int) -> list[Found]:
    """Up to `count` LaTeX papers of a folder, spread evenly over their names."""
    found = [one for one in discover([papers]) if not one.cause and one.form == "tex"]
    found.sort(key=lambda one: one.origin)
    step = max(len(found) / count, 1.0)
    return [found[int(at * step)] for at in range(min(count, len(found)))]


def measure(found: list[Found]) -> dict[str, float | int | str]:
    """CPU seconds of reading and of finding definitions, and a hash of the definitions."""
    read_term.cache_clear()
    reading = symbols = 0.0
    count = 0
    digest = hashlib.sha256()
    for one in found:
        start = time.process_time()
        make_record(one, Limits())
        reading += time.process_time() - start
        article = read_found(one, Limits())
        start = time.process_time()
        definitions = find_definitions(article)
        symbols += time.process_time() - start
        count += len(definitions)
        digest.update(repr(definitions).encode())
    return {
        "reading": reading,
        "symbols": symbols,
        "ratio": symbols / reading,
        "definitions": count,
        "digest": digest.hexdigest()[:16],
    }


if __name__ == "__main__":
    main()
