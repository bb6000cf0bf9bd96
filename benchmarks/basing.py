"""Measure how much text is needed for own word vectors to beat those of a `--base` collection.

    python benchmarks/basing.py PAPERS BASE -o FOLDER [--sizes 3 5 10 20] [--seed 0]

PAPERS and BASE are folders of papers on different subjects. BASE is trained once, as in
`eqemb build`. Samples of PAPERS, ordered by a hash of --seed and their names, are trained twice:
with their own words and with the words of BASE. The last sample contains all papers. FOLDER keeps
the libraries.

The figure is the mean softmax of the words that both held out for testing, with 20 negatives and
the standard error clustered by article; words that the base does not have are zeros. No setting is
chosen here. Prints the table of docs/library.md, for papers of information retrieval and of
language processing (`collections`); one or two papers have too few held-out words.
"""

import argparse
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from eqemb.corpus.corpus import Corpus
from eqemb.corpus.split import TEST, Split
from eqemb.evaluation import metrics
from eqemb.evaluation.heldout import tested_articles
from eqemb.facade.library import Library
from eqemb.library.database import ALL
from eqemb.library.generations import read_state
from eqemb.models import EqEmbH, likelihood, workspace
from eqemb.models.embeddings import Embeddings
from eqemb.sources import discover


def read(paths: Iterable[Path], folder: Path) -> tuple[Corpus, Split]:
    """Return a corpus and its split, as `eqemb build` makes them."""
    if read_state(folder) is None:
        Library.read(paths, folder, resume=True).close()
    with Library.open(folder) as library:
        corpus = workspace.corpus(library)
        return corpus, workspace.split(library, ALL, corpus)


def tested(model: EqEmbH, corpus: Corpus, split: Split, threads: int) -> str:
    """Train, and score the test words."""
    model.fit(corpus, split, threads=threads)
    values = likelihood.softmax(model.score(corpus, split, TEST))
    found = metrics.mean_and_error(values, tested_articles(corpus, split))
    error = "" if found["se"] is None else f" ± {found['se']:.3f}"
    return f"{found['mean']:.3f}{error}"


def drawn(folder: Path, seed: int) -> list[Path]:
    """Return the files or folders of the papers, ordered by a hash."""
    names = {Path(source.origin).parts[0] for source in discover([folder])}
    order = sorted(names, key=lambda name: sha256(f"{seed} {name}".encode()).digest())
    return [folder / name for name in order]


def table(papers: Path, base: Embeddings, folder: Path, given: Any) -> None:
    """Print a row for each size."""
    every = drawn(papers, given.seed)
    print("| papers | words | test words | own words | words of the base |")
    print("|---|---|---|---|---|")
    for size in [*(size for size in given.sizes if size < len(every)), len(every)]:
        corpus, split = read(every[:size], folder / f"{given.seed}-{size}")
        settings: dict[str, Any] = {"dim": given.dim}
        own = tested(EqEmbH(**settings), corpus, split, given.threads)
        based = EqEmbH(**settings, passes="two", words=base)
        other = tested(based, corpus, split, given.threads)
        n = np.count_nonzero(split.of(TEST))
        print(f"| {size} | {len(corpus.tokens):,} | {n:,} | {own} | {other} |", flush=True)


def main() -> None:
    """Read, train and compare."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("papers", type=Path)
    parser.add_argument("base", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="*", default=[3, 5, 10, 20])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    corpus, split = read([given.base], given.output / "base")
    model = EqEmbH(dim=given.dim).fit(corpus, split, threads=given.threads)
    zero = likelihood.softmax(likelihood.zero(1, split.settings.negatives)).item()
    print(
        f"Base: {len(corpus.articles):,} papers, {len(corpus.tokens):,} words;"
        f" zero vectors score {zero:.3f}.\n"
    )
    table(given.papers, model.embeddings_, given.output, given)


if __name__ == "__main__":
    main()
