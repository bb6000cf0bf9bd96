"""What a sentence encoder adds to the search, on judged topics.

    python benchmarks/encoder_gain.py LIBRARY --encoder MODEL

Prints nDCG@10 on development topics that are equations for several weights of the encoder, from
which the product's weight was chosen, and nDCG@10 with and without the encoder, and of the encoder
alone, on topics that no setting was chosen on, with paired intervals and randomisation tests over
topics. Unjudged equations count as wrong; their share of the first ten results is shown. Writes
results/encoder.md. Needs no trained models besides the library's own.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from judged import QRELS, RESULTS, TOPICS

from eqemb.evaluation import judged_topics, metrics, tables
from eqemb.evaluation.encoder_rankers import LibraryEncoder
from eqemb.evaluation.judged_topics import JudgedTopics, Topic
from eqemb.evaluation.rankers import (
    EQUATION_QUERY,
    PARTS,
    SEARCH,
    WITH_ENCODER,
    WORD_QUERY,
    Ranker,
    SearchRanker,
    corpus_rows,
)
from eqemb.evaluation.tables import Table
from eqemb.facade.library import Library
from eqemb.models import workspace
from eqemb.search.combination import EQUATION_PARTS
from eqemb.storage.atomic import write_atomically

WEIGHTS = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
TITLES = {WORD_QUERY: "words", EQUATION_QUERY: "equations"}


def weight_table(table: JudgedTopics, library: Library, name: str) -> Table:
    """Development topics that are equations, by the weight of the encoder."""
    topics = [topic for topic in table.of_kind(EQUATION_QUERY) if topic.is_development]
    rows = []
    for weight in WEIGHTS:
        parts = EQUATION_PARTS | {"encoder": weight}
        ranker = SearchRanker(
            SEARCH, library.engine, table.corpus, {EQUATION_QUERY: parts}, library.encoder(name)
        )
        found = table.values(ranker, topics)
        mark = " (the product's)" if weight == EQUATION_PARTS["encoder"] else ""
        rows.append([f"{weight:g}{mark}", f"{found['ndcg'].mean():.3f}", _share(found["unjudged"])])
    caption = f"Weight of the encoder in `similar`, {len(topics)} development topics"
    return Table(caption, ["weight", "nDCG@10", "unjudged"], rows)


def gain_table(table: JudgedTopics, library: Library, name: str) -> Table:
    """Topics that no setting was chosen on, with and without the encoder."""
    rows = []
    for kind, title in TITLES.items():
        topics = [topic for topic in table.of_kind(kind) if not topic.is_development]
        rows += [
            [f"{title} ({len(topics)})", *row] for row in _compared(table, library, name, topics)
        ]
    head = ["topics", "ranker", "nDCG@10", "unjudged", "gain over the search", "95 % interval", "p"]
    return Table("Topics that no setting was chosen on, mean ± standard error", head, rows)


def _compared(
    table: JudgedTopics, library: Library, name: str, topics: list[Topic]
) -> Iterator[list[str]]:
    engine, corpus, encoder = library.engine, table.corpus, library.encoder(name)
    rows = corpus_rows(engine, corpus)
    rankers: list[Ranker] = [
        SearchRanker(SEARCH, engine, corpus, PARTS),
        SearchRanker(WITH_ENCODER, engine, corpus, PARTS, encoder),
        *(LibraryEncoder(encoder, rows, latex=latex) for latex in (False, True)),
    ]
    plain = None
    for ranker in rankers:
        if topics[0].query.kind not in ranker.answers:
            continue
        found = table.values(ranker, topics)
        figure = metrics.mean_and_error(found["ndcg"])
        row = [ranker.name, f"{figure['mean']:.3f} ± {figure['se']:.3f}", _share(found["unjudged"])]
        if plain is None:
            plain = found["ndcg"]
            yield [*row, "", "", ""]
            continue
        gain = metrics.gain(found["ndcg"], plain)
        yield [*row, f"{gain.mean:+.3f}", f"{gain.low:+.3f} to {gain.high:+.3f}", f"{gain.p:.3f}"]


def _share(values: np.ndarray) -> str:
    return f"{values.mean():.0%}"


def main() -> None:
    """Measure, print and store the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("--encoder", required=True, help="a model's folder, or MODULE:FUNCTION")
    options = parser.parse_args()
    grades = judged_topics.mean_grades(judged_topics.read_judgements(QRELS))
    with Library.open(options.library) as library:
        library.encoder(options.encoder, lambda done, count: print(f"encoding {done} of {count}"))
        corpus = workspace.corpus(library)
        table = JudgedTopics(corpus, judged_topics.read_topics(TOPICS), grades)
        made = [measure(table, library, options.encoder) for measure in (weight_table, gain_table)]
    text = "\n".join(map(tables.markdown, made))
    print(text)
    write_atomically(RESULTS.with_name("encoder.md"), text)


if __name__ == "__main__":
    main()
