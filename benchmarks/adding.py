"""What adding papers loses against building the library anew.

    python benchmarks/adding.py PAPERS -o FOLDER [--by all meaning]

PAPERS has a folder for each collection. A fifth of the papers, chosen by a hash of their names and
--seed, is added to a library built from the others; the rival is a library built from all of them,
in the same order: the same records, another model. FOLDER keeps both libraries, and they are not
made twice.

*Likelihood*: words held out near equations of the added papers. The model of all papers held them
out, the other never saw those papers; it gives their equations the vectors of their units, words
that it does not have are zeros. A new article has no vector of its own, so that articles are left
out of both; what the model of all papers would score with them is printed too.

*Judged topics*: nDCG@10 of `Library.search` and `Library.similar` on both, with the 95 % interval
of a bootstrap over topics, by the ranking that people get and by meaning alone, which is all that
comes from the model. Nothing is chosen here, so that all topics count; those with an answer among
the added papers are shown apart.
"""

import argparse
import hashlib
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqemb.corpus.corpus import Corpus
from eqemb.corpus.split import TEST, Split, contexts
from eqemb.evaluation import metrics, retrieval
from eqemb.evaluation.rankers import WORDS
from eqemb.facade.library import Library
from eqemb.facade.update import add_papers
from eqemb.library.database import ALL
from eqemb.library.generations import read_state
from eqemb.models import likelihood as scores
from eqemb.models import workspace
from eqemb.models.base import context_sum
from eqemb.models.embeddings import Embeddings
from eqemb.models.fold_in import Units
from eqemb.sources import discover

HERE = Path(__file__).parent / "judged"
TOPICS, QRELS = HERE / "topics.toml", HERE / "qrels.tsv"
DEPTH = 10


def is_new(name: str, seed: int) -> bool:
    """One paper in five."""
    return hashlib.sha256(f"{seed} {name}".encode()).digest()[0] % 5 == 0


def divide(papers: Path, folder: Path, seed: int) -> None:
    """Papers into FOLDER/old and FOLDER/new."""
    for path in sorted(papers.glob("*/*")):
        name = path.relative_to(papers).as_posix()
        place = folder / ("new" if is_new(name, seed) else "old") / name
        place.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if path.is_dir() else shutil.copyfile)(path, place)


def make(papers: Path, folder: Path, seed: int, settings: dict[str, Any]) -> None:
    """FOLDER/added and FOLDER/whole, where they are not there yet."""
    if not (folder / "old").exists():
        divide(papers, folder, seed)
    old, new = folder / "old", folder / "new"
    if read_state(folder / "added") is None:
        start = time.perf_counter()
        Library.build(old, folder / "added", model=settings, resume=True).close()
        print(f"built from the old papers in {time.perf_counter() - start:.0f} s", flush=True)
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
        start = time.perf_counter()
        Library.build([old, new], folder / "whole", model=settings, resume=True).close()
        print(f"built from all papers in {time.perf_counter() - start:.0f} s", flush=True)


# ------------------------------------------------------------ likelihood


class Spoken:
    """A model in the words of a corpus: those that it does not have are zeros."""

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


def likelihood(added: Library, whole: Library) -> None:
    """Scores of held-out words near equations of added papers."""
    if added.model is None or whole.model is None:
        print("no likelihood: the papers are too few to learn from")
        return
    corpus = workspace.corpus(whole)
    split = workspace.split(whole, ALL, corpus)
    if whole.model.config["split"] != split.sha256:
        raise SystemExit("the model of all papers was trained with another split")
    new, article = new_names(added), corpus.equation_articles[split.occurrences]
    chosen = split.of(TEST) & np.array([name in new for name in corpus.articles])[article]
    parts = {"added": Spoken(added.model, corpus), "anew": Spoken(whole.model, corpus)}
    around = contexts(corpus, split, 3)[chosen]
    weight = whole.model.config["settings"]["article_weight"]
    rows = dict(zip(corpus.articles, whole.model.arrays["alpha_articles"], strict=True))
    own = np.stack([weight * rows[corpus.articles[index]] for index in article[chosen]])
    print(
        f"\nsoftmax and accuracy of {chosen.sum():,} held-out words near equations of"
        f" {len(np.unique(article[chosen]))} added papers,\n20 negatives; zero vectors make -3.093"
        " and .5; errors by articles"
    )
    found: dict[str, scores.HeldOutScores] = {}
    for name, spoken in parts.items():
        words = context_sum(spoken.alpha, around)
        near = spoken.equations[split.types[chosen]]
        found[f"{name}, words alone"] = scored(spoken, split, chosen, words)
        found[f"{name}, with equations"] = scored(spoken, split, chosen, words + near)
    found["anew, with articles"] = scored(spoken, split, chosen, words + near + own)
    for name, each in found.items():
        shown = metrics.spread(scores.softmax(each), article[chosen])
        print(
            f"{name:24}{shown['mean']:9.3f} ± {shown['se'] or 0:.3f}"
            f"{scores.accuracy(each).mean():9.4f}"
        )
    off = scores.softmax(found["added, with equations"]) - scores.softmax(
        found["anew, with equations"]
    )
    lost = metrics.spread(off, article[chosen])
    print(f"{'adding loses':24}{lost['mean']:9.3f} ± {lost['se'] or 0:.3f}")
    known = parts["added"].known[split.words[chosen]]
    print(
        f"{(~known).sum():,} of these words are not in the model of the old papers; on the others"
        f" adding loses {off[known].mean():.3f}"
    )


def new_names(library: Library) -> frozenset[str]:
    """The articles of its added papers."""
    found = {source.name for source in discover([library.folder.parent / "new"])}
    return frozenset(found & set(library.records.names()))


def scored(
    spoken: Spoken, split: Split, chosen: NDArray[np.bool_], context: NDArray[np.float64]
) -> scores.HeldOutScores:
    """The chosen words in their contexts."""
    return scores.score(spoken.rho, split.words[chosen], split.negatives[chosen], context)


# ------------------------------------------------------------ judged topics


def answers(library: Library, topic: retrieval.Topic, by: str) -> list[str]:
    """The names of the first hits."""
    ask = library.search if topic.query.kind == WORDS else library.similar
    return [hit.equation.id for hit in ask(topic.query.text, DEPTH, by=by)]


def judged(added: Library, whole: Library, ways: Iterable[str]) -> None:
    """nDCG@10 of both on the judged topics."""
    topics = retrieval.read_topics(TOPICS)
    grades = retrieval.mean_grades(retrieval.read_judgements(QRELS))
    new = new_names(added)
    touched = {
        topic.id
        for topic in topics
        if any(g >= 2 and n.partition("#")[0] in new for n, g in grades[topic.id].items())
    }
    print(f"\nnDCG@{DEPTH} on judged topics; unjudged equations count as no answer")
    print(f"{'by':12}{'topics':36}{'n':>4}{'added':>8}{'anew':>8}   added - anew, 95 %")
    for by in ways:
        found = {
            topic: [
                metrics.ndcg(answers(library, topic, by), grades[topic.id], DEPTH)
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
    """Make both libraries, and compare."""
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
        if added.records.sha256() != whole.records.sha256():
            raise SystemExit("the two libraries do not hold the same: a defect")
        likelihood(added, whole)
        judged(added, whole, given.by)


if __name__ == "__main__":
    main()
