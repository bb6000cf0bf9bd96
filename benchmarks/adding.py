"""Measure what adding papers to a library loses against rebuilding it.

    python benchmarks/adding.py PAPERS -o FOLDER [--by all meaning]

PAPERS has a folder for each collection. A fifth of the papers, chosen by a hash of their names and
--seed, is added to a library built from the others. It is compared with a library built from all
papers, which has the same records and another model. Both libraries are kept in FOLDER and built
only once.

*Likelihood*: words held out near equations of the added papers. The model of all papers held them
out; the other model never saw these papers, so it computes their equation vectors from units, and
unknown words are zeros. A new article has no vector, so article vectors are left out of both; the
score of the model of all papers with article vectors is printed too.

*Judged topics*: nDCG@10 of `Library.search` and `Library.similar` on both libraries, with the 95 %
interval of a bootstrap over topics, for the default ranking and for vectors alone, the only part
that depends on the model. No setting is chosen here, so all topics are used. Topics with a relevant
equation among the added papers are also shown separately.
"""

import argparse
import hashlib
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqemb.corpus.corpus import Corpus
from eqemb.corpus.split import TEST, Split, contexts
from eqemb.errors import UsageError
from eqemb.evaluation import judged_topics, metrics
from eqemb.evaluation.rankers import WORD_QUERY
from eqemb.facade.library import Library
from eqemb.facade.update import add_papers
from eqemb.library.database import ALL
from eqemb.library.generations import read_state
from eqemb.models import likelihood as scores
from eqemb.models import workspace
from eqemb.models.base import context_sum
from eqemb.models.embeddings import Embeddings
from eqemb.models.fold_in import Units
from eqemb.search.query import check_ranking
from eqemb.sources import discover

HERE = Path(__file__).parent / "judged"
TOPICS, QRELS = HERE / "topics.toml", HERE / "qrels.tsv"
CUTOFF = 10


def is_new(name: str, seed: int) -> bool:
    """Whether a paper is one of the fifth that is added."""
    return hashlib.sha256(f"{seed} {name}".encode()).digest()[0] % 5 == 0


def divide(papers: Path, seed: int) -> tuple[list[Path], list[Path]]:
    """Return the old papers and the new ones."""
    old: list[Path] = []
    new: list[Path] = []
    for path in sorted(papers.glob("*/*")):
        (new if is_new(path.relative_to(papers).as_posix(), seed) else old).append(path)
    return old, new


def make(papers: Path, folder: Path, seed: int, settings: dict[str, Any]) -> None:
    """Build FOLDER/added and FOLDER/whole if they do not exist."""
    old, new = divide(papers, seed)

    def build(paths: list[Path], name: str) -> None:
        start = time.perf_counter()
        Library.build(paths, folder / name, model=settings, root=papers, resume=True).close()
        which = "the old" if paths is old else "all"
        print(f"built from {which} papers in {time.perf_counter() - start:.0f} s", flush=True)

    if read_state(folder / "added") is None:
        build(old, "added")
    with Library.open(folder / "added") as library:
        is_added = [step["step"] for step in library.steps] == ["build", "add"]
    if not is_added:
        start = time.perf_counter()
        change = add_papers(folder / "added", new, resume=True)
        print(
            f"added {change.articles} papers in {time.perf_counter() - start:.0f} s;"
            f" not in the model: {change.lacks}",
            flush=True,
        )
    if read_state(folder / "whole") is None:
        build([*old, *new], "whole")


# ------------------------------------------------------------ likelihood


class Spoken:
    """Return a model for the vocabulary of a corpus; unknown words are zeros."""

    def __init__(self, model: Embeddings, corpus: Corpus) -> None:
        rows = model.words.key_to_index
        found = np.array([rows.get(word, -1) for word in corpus.words])
        self.known: NDArray[np.bool_] = found >= 0
        self.rho, self.alpha = (
            np.where(self.known[:, None], model.arrays[f"{side}_words"][found], np.float32(0))
            for side in ("rho", "alpha")
        )
        bags = np.split(corpus.unit_ids, corpus.unit_starts[1:-1])
        folded = Units(model).fold([[corpus.units[unit] for unit in bag] for bag in bags])
        self.equations = folded.alpha


def likelihood(added: Library, whole: Library, new: frozenset[str]) -> None:
    """Print the scores of held-out words near equations of added papers."""
    if added.model is None or whole.model is None:
        print("no likelihood: there are too few papers to train a model")
        return
    corpus = workspace.corpus(whole)
    split = workspace.split(whole, ALL, corpus)
    if whole.model.config["split"] != split.sha256:
        raise SystemExit("the model of all papers was trained with another split")
    article = corpus.equation_articles[split.occurrences]
    chosen = split.of(TEST) & np.array([name in new for name in corpus.articles])[article]
    parts = {"added": Spoken(added.model, corpus), "rebuilt": Spoken(whole.model, corpus)}
    around = contexts(corpus, split, 3)[chosen]
    weight = whole.model.config["settings"]["article_weight"]
    rows = dict(zip(corpus.articles, whole.model.arrays["alpha_articles"], strict=True))
    own = np.stack([weight * rows[corpus.articles[index]] for index in article[chosen]])
    print(
        f"\nsoftmax and accuracy of {chosen.sum():,} held-out words near equations of"
        f" {len(np.unique(article[chosen]))} added papers,\n20 negatives; zero vectors score -3.093"
        " and .5; errors clustered by article"
    )
    found: dict[str, scores.HeldOutScores] = {}
    for name, spoken in parts.items():
        words = context_sum(spoken.alpha, around)
        near = spoken.equations[split.types[chosen]]
        found[f"{name}, words alone"] = scored(spoken, split, chosen, words)
        found[f"{name}, with equations"] = scored(spoken, split, chosen, words + near)
    found["rebuilt, with articles"] = scored(spoken, split, chosen, words + near + own)
    for name, each in found.items():
        shown = metrics.mean_and_error(scores.softmax(each), article[chosen])
        print(
            f"{name:24}{shown['mean']:9.3f} ± {shown['se'] or 0:.3f}"
            f"{scores.accuracy(each).mean():9.4f}"
        )
    off = scores.softmax(found["added, with equations"]) - scores.softmax(
        found["rebuilt, with equations"]
    )
    lost = metrics.mean_and_error(off, article[chosen])
    print(f"{'adding loses':24}{lost['mean']:9.3f} ± {lost['se'] or 0:.3f}")
    known = parts["added"].known[split.words[chosen]]
    print(
        f"{(~known).sum():,} of these words are not in the model of the old papers; on the others"
        f" adding loses {off[known].mean():.3f}"
    )


def new_names(library: Library, papers: Path, seed: int) -> frozenset[str]:
    """Return the articles of the added papers."""
    found = {source.name for source in discover(divide(papers, seed)[1], root=papers)}
    return frozenset(found & set(library.records.names()))


def scored(
    spoken: Spoken, split: Split, chosen: NDArray[np.bool_], context: NDArray[np.float64]
) -> scores.HeldOutScores:
    """Score the chosen words in their contexts."""
    return scores.score(spoken.rho, split.words[chosen], split.negatives[chosen], context)


# ------------------------------------------------------------ judged topics


def answers(library: Library, topic: judged_topics.Topic, by: str) -> list[str]:
    """Return the names of the first hits; none where the model has no vector for the query."""
    ranking = check_ranking(by)
    ask = library.search if topic.query.kind == WORD_QUERY else library.similar
    try:
        return [hit.equation.id for hit in ask(topic.query.text, CUTOFF, by=ranking)]
    except UsageError:
        if ranking != "meaning":
            raise
        return []


def judged(added: Library, whole: Library, new: frozenset[str], ways: Iterable[str]) -> None:
    """Print the nDCG@10 of both libraries on the judged topics."""
    topics = judged_topics.read_topics(TOPICS)
    grades = judged_topics.mean_grades(judged_topics.read_judgements(QRELS))
    touched = {
        topic.id
        for topic in topics
        if any(g >= 2 and n.partition("#")[0] in new for n, g in grades[topic.id].items())
    }
    print(f"\nnDCG@{CUTOFF} on judged topics; unjudged equations count as grade 0")
    print(f"{'by':12}{'topics':36}{'n':>4}{'added':>8}{'rebuilt':>8}   added - rebuilt, 95 %")
    for by in ways:
        found = {
            topic: [
                metrics.ndcg(answers(library, topic, by), grades[topic.id], CUTOFF)
                for library in (added, whole)
            ]
            for topic in topics
        }
        for kind in ("words", "equation"):
            for what in ("", ", answers among the added"):
                rows = np.array([
                    pair
                    for topic, pair in found.items()
                    if topic.query.kind == kind and (not what or topic.id in touched)
                ])  # fmt: skip
                if len(rows):
                    one, other = rows.T
                    gain = metrics.gain(one, other)
                    print(
                        f"{by:12}{kind + what:36}{len(rows):4}{one.mean():8.3f}"
                        f"{other.mean():8.3f}   {gain.mean:+.3f} ({gain.low:+.3f}"
                        f" to {gain.high:+.3f}), p {gain.p:.2f}",
                        flush=True,
                    )


def main() -> None:
    """Build both libraries and compare them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("papers", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--by", nargs="*", default=["all", "meaning"], help="rankings of eqemb")
    given = parser.parse_args()
    make(given.papers, given.output, given.seed, {"dim": given.dim})
    with (
        Library.open(given.output / "added") as added,
        Library.open(given.output / "whole") as whole,
    ):
        if sorted(added.records.digests()) != sorted(whole.records.digests()):
            raise SystemExit("the two libraries have different records: this is a bug")
        new = new_names(added, given.papers, given.seed)
        likelihood(added, whole, new)
        judged(added, whole, new, given.by)


if __name__ == "__main__":
    main()
