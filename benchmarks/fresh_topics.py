"""Fresh topics: pool the answers of the search and of its rivals, and score them by blind grades.

    python benchmarks/fresh_topics.py pool LIBRARY TOPICS.toml -o FOLDER --encoder MODEL
        [--judged QRELS.tsv]
    python benchmarks/fresh_topics.py score LIBRARY TOPICS.toml QRELS.tsv --encoder MODEL

Unlike `judged.py`, it needs no trained research models: the rivals are BM25, the overlap (Dice) of
units, and a sentence encoder that reads the text around an equation or its LaTeX. The topics are
written by someone who saw papers but no answers, after the ranking was frozen. `pool` writes
FOLDER/TOPIC.jsonl with the first ten equations of every system, shuffled, without the names of
systems; it contains text of papers, so do not publish it. The grades of two graders are joined by
`judged.py grades FOLDER A B -o QRELS.tsv`. When the ranking has changed, `--judged` leaves out what
was graded before, and `judged.py grades --more` adds the new grades. `score` prints nDCG@10 and
precision of every system, the paired differences of the whole search to each with a bootstrap
interval over topics and a p-value that is corrected for the number of rivals (Holm), the agreement
of the graders, and the difference that this number of topics could have shown. Unjudged answers
count as wrong.
"""

import argparse
from pathlib import Path

import numpy as np
from judged import write_pool

from eqemb.corpus.split import training_stream
from eqemb.evaluation import judged_topics, metrics, retrieval
from eqemb.evaluation.encoder_rankers import LibraryEncoder
from eqemb.evaluation.judged_topics import JudgedTopics
from eqemb.evaluation.rankers import (
    EQUATION_QUERY,
    SEARCH,
    WITH_ENCODER,
    WORD_QUERY,
    Bm25,
    Ranker,
    UnitOverlap,
    search_rankers,
)
from eqemb.facade.library import Library

#: The factor of the standard error that a test at 5 % finds with a power of 80 %.
DETECTABLE = 2.8


def rankers(library: Library, data: retrieval.RetrievalData, encoder: str | None) -> list[Ranker]:
    """Return the search and its parts, and the rivals."""
    vectors = None if encoder is None else library.encoder(encoder)
    found: list[Ranker] = [
        *search_rankers(library.engine, data.corpus, vectors),
        Bm25(data.everything.words, training_stream(data.everything)),
        UnitOverlap(data.corpus),
    ]
    if vectors is not None:
        rows = library.engine.rows()
        own = np.array([rows[name] for name in data.corpus.equation_names], np.int64)
        found += [LibraryEncoder(vectors, own, latex=latex) for latex in (False, True)]
    return found


def make_pool(options: argparse.Namespace) -> None:
    """Write the pool of every topic, and print the sizes."""
    topics = judged_topics.read_topics(options.topics)
    known = judged_topics.read_judgements(options.judged) if options.judged else {}
    with Library.open(options.library) as library:
        data = retrieval.load_data(library)
        systems = rankers(library, data, options.encoder)
        runs = [judged_topics.run(data.corpus, system, topics) for system in systems]
        options.output.mkdir(parents=True, exist_ok=True)
        sizes = {}
        for topic in topics:
            found = {name for made in runs for name in made.get(topic.id, ())}
            pooled = sorted(found - known.get(topic.id, {}).keys())
            sizes[topic.id] = len(pooled)
            if pooled:
                write_pool(library, options.output, topic.id, pooled)
    print("systems:", "; ".join(system.name for system in systems))
    print(f"{len(sizes)} topics, {sum(sizes.values())} equations to grade")


def score(options: argparse.Namespace) -> None:
    """Print a table for each kind of topic."""
    topics = judged_topics.read_topics(options.topics)
    judgements = judged_topics.read_judgements(options.qrels)
    agreed = judged_topics.agreement(judgements)
    print(
        f"{agreed['n']} judgements, weighted kappa of the graders {agreed['kappa']:.2f},"
        f" equal {agreed['exact']:.0%}, within one grade {agreed['within_one']:.0%}\n"
    )
    with Library.open(options.library) as library:
        data = retrieval.load_data(library)
        table = JudgedTopics(data.corpus, topics, judged_topics.mean_grades(judgements))
        systems = rankers(library, data, options.encoder)
        for kind in (WORD_QUERY, EQUATION_QUERY):
            if asked := table.of_kind(kind):
                lines = {
                    system.name: table.values(system, asked)
                    for system in systems
                    if kind in system.answers
                }
                print_table(kind, lines, table.chance(asked), len(asked))


def print_table(
    kind: str,
    lines: dict[str, dict[str, np.ndarray]],
    chance: dict[str, np.ndarray],
    count: int,
) -> None:
    """Print the measures of every system, and the differences of the search to them."""
    own = lines[SEARCH]["ndcg"]
    # with the encoder it is our own search, so it is no rival
    others = [name for name in lines if name not in (SEARCH, WITH_ENCODER)]
    gains = {name: metrics.gain(own, lines[name]["ndcg"]) for name in others}
    corrected = dict(zip(others, metrics.holm([gains[name].p for name in others]), strict=True))
    print(f"### {kind}: {count} topics\n")
    print("| system | nDCG@10 | P@10 | unjudged | the search is ahead by | p (Holm) |")
    print("|---|---|---|---|---|---|")
    for name, line in sorted(lines.items(), key=lambda item: -float(item[1]["ndcg"].mean())):
        error = float(line["ndcg"].std(ddof=1) / np.sqrt(count))
        cells = [
            f"{line['ndcg'].mean():.3f} ± {error:.3f}",
            f"{line['precision'].mean():.3f}",
            f"{line['unjudged'].mean():.1%}",
        ]
        if name in gains:
            gain = gains[name]
            cells += [
                f"{gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]",
                f"{corrected[name]:.4f}",
            ]
        else:
            cells += ["", ""]
        print(f"| {name} | {' | '.join(cells)} |")
    print(f"| chance | {chance['ndcg'].mean():.3f} | {chance['precision'].mean():.3f} | | | |")
    spread = max(float((own - lines[name]["ndcg"]).std(ddof=1)) for name in others)
    least = DETECTABLE * spread / np.sqrt(count)
    print(f"\nSmallest difference found with a power of 80 %: {least:.3f}.\n")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    pool = commands.add_parser("pool", help="write pools for graders")
    scores = commands.add_parser("score", help="score every system")
    for command in (pool, scores):
        command.add_argument("library", type=Path)
        command.add_argument("topics", type=Path)
        command.add_argument("--encoder", help="a model's folder, or MODULE:FUNCTION")
    pool.add_argument("-o", "--output", type=Path, required=True)
    pool.add_argument("--judged", type=Path, help="grades of equations that are left out")
    pool.set_defaults(call=make_pool)
    scores.add_argument("qrels", type=Path)
    scores.set_defaults(call=score)
    options = parser.parse_args()
    options.call(options)


if __name__ == "__main__":
    main()
