"""Measure what the definitions of symbols add to search for words, on judged topics.

    python benchmarks/definitions_gain.py LIBRARY [--topics TOPICS.toml --grades QRELS.tsv]
        [--weights 0.1 0.2 0.3]

Prints nDCG@10 without definitions, and the paired difference with them at several weights, with a
bootstrap interval over topics. By default the topics are those of `judged`; those of
`judged/fresh` are pools of systems that used definitions. Unjudged answers count as wrong.
"""

import argparse
from pathlib import Path

from judged import QRELS, TOPICS

from eqemb.evaluation import judged_topics, metrics, retrieval
from eqemb.evaluation.judged_topics import JudgedTopics
from eqemb.evaluation.rankers import SEARCH, WORD_QUERY, search_rankers
from eqemb.facade.library import Library
from eqemb.search.combination import WORD_PARTS


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("--topics", type=Path, default=TOPICS)
    parser.add_argument("--grades", type=Path, default=QRELS)
    parser.add_argument("--weights", type=float, nargs="+", default=[0.1, 0.2, 0.3])
    options = parser.parse_args()
    topics = judged_topics.read_topics(options.topics)
    grades = judged_topics.mean_grades(judged_topics.read_judgements(options.grades))
    with Library.open(options.library) as library:
        data = retrieval.load_data(library)
        table = JudgedTopics(data.corpus, topics, grades)
        asked = table.of_kind(WORD_QUERY)
        rankers = search_rankers(library.engine, data.corpus)
        search = next(ranker for ranker in rankers if ranker.name == SEARCH)
        found = {}
        for weight in (0.0, *options.weights):
            WORD_PARTS["definitions"] = weight
            found[weight] = table.values(search, asked)
    without = found.pop(0.0)["ndcg"]
    print(f"{len(asked)} topics; without definitions {without.mean():.3f}\n")
    print("| weight | nDCG@10 | difference | unjudged |\n|---|---|---|---|")
    for weight, values in found.items():
        gain = metrics.gain(values["ndcg"], without)
        print(
            f"| {weight:g} | {values['ndcg'].mean():.3f} "
            f"| {gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}] "
            f"| {values['unjudged'].mean():.1%} |"
        )


if __name__ == "__main__":
    main()
