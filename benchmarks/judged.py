"""Judged topics: make pools for graders, and score rankers by the grades.

    python benchmarks/judged.py pool LIBRARY -o FOLDER --encoder MODEL
    python benchmarks/judged.py pool LIBRARY -o FOLDER --encoder MODEL --more
    python benchmarks/judged.py grades FOLDER GRADES_A GRADES_B [--more]
    python benchmarks/judged.py agreement QRELS [OTHER_QRELS]
    python benchmarks/judged.py score LIBRARY --encoder MODEL

`pool` writes FOLDER/TOPIC.jsonl: the first ten equations of every system (SYSTEMS) for a topic of
judged/topics.toml, shuffled, with the surrounding text and without the names of systems. Models
that are missing from LIBRARY are trained. Pools contain text of papers, so do not publish them.
With --more, the pool has the first ten equations of every other model in one of its pairings
(MORE), without those that are already in judged/qrels.tsv.
`grades` converts the output of two graders, GRADES/TOPIC.json with a grade from 0 to 3 for each
"n", to judged/qrels.tsv: names and grades, no text. With --more they are added to it. `agreement`
prints how much the two graders of a file agree or, given two files of independent graders, how much
these agree on the equations that both judge. `score` reads
only that file and writes results/retrieval.json and .md, which also cover labels, references and
own contexts; --runs FOLDER writes the results of every ranker as TREC run files.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from publish import retrieval_page

from eqemb.article import EQUATION_MARK, Article
from eqemb.evaluation import judged_topics, rankers, retrieval, retrieval_tables, tables
from eqemb.evaluation.groups import read_groups
from eqemb.evaluation.metrics import Run, write_run
from eqemb.evaluation.rankers import EQUATION_QUERY, WORD_QUERY
from eqemb.facade.library import Library
from eqemb.storage import atomic
from eqemb.storage.atomic import to_json, write_atomically

HERE = Path(__file__).parent / "judged"
TOPICS, QRELS = HERE / "topics.toml", HERE / "qrels.tsv"
RESULTS = HERE.parent / "results" / "retrieval"
#: Rankers whose first ten results are pooled, besides `judged_topics.equal_weights`.
SYSTEMS = {
    WORD_QUERY: (
        "BM25",
        "context means",
        "sentence encoder",
        "CBOW",
        "EqEmb",
        "EqEmb-U",
        "EqEmb-H",
    ),
    EQUATION_QUERY: (
        "unit overlap",
        "sentence encoder, LaTeX",
        "EqEmb (other pairing)",
        "EqEmb-U",
        "EqEmb-H (other pairing)",
    ),
}
#: Word queries use the paper's pairing, equation queries cosines, which were better.
MORE: dict[str, Callable[[Iterable[str]], list[str]]] = {
    WORD_QUERY: lambda names: [name for name in names if not name.endswith("(other pairing)")],
    EQUATION_QUERY: lambda names: [
        name
        for name in names
        if name.endswith("(other pairing)") or name in rankers.BASELINE_RANKERS
    ],
}
BEFORE, AFTER = 60, 40


def make_pool(options: argparse.Namespace) -> None:
    """Write the pool of every topic and print the sizes."""
    topics = judged_topics.read_topics(options.topics)
    with Library.open(options.library) as library:
        work = retrieval.Evaluation(library, options.encoder)
        known = {ranker.name: ranker for ranker in work.rankers()}
        judged = judged_topics.read_judgements(QRELS) if options.more else {}
        runs: dict[str, Run] = {}
        for kind, names in SYSTEMS.items():
            asked = [topic for topic in topics if topic.query.kind == kind]
            wanted = MORE[kind](known) if options.more else names
            systems = [known[name] for name in wanted if name in known]
            for each in (*systems, judged_topics.equal_weights(known.values(), kind)):
                runs[f"{each.name}, {kind}"] = judged_topics.run(work.data.corpus, each, asked)
        options.output.mkdir(parents=True, exist_ok=True)
        sizes = {}
        for topic in topics:
            found = {name for made in runs.values() for name in made.get(topic.id, ())}
            pooled = sorted(found - judged.get(topic.id, {}).keys())
            write_pool(library, options.output, topic.id, pooled)
            sizes[topic.id] = len(pooled)
    print("systems:", "; ".join(runs))
    print("lines:", ", ".join(f"{topic} {size}" for topic, size in sizes.items()))
    print("in all:", sum(sizes.values()))


def write_pool(library: Library, folder: Path, topic: str, pooled: list[str]) -> None:
    """Write the equations of a topic in an order that does not tell who found them."""
    random.Random(topic).shuffle(pooled)
    lines = [
        json.dumps({"n": n} | excerpt(library, name), ensure_ascii=False) + "\n"
        for n, name in enumerate(pooled, 1)
    ]
    with atomic.new_file(folder / f"{topic}.jsonl") as new:
        new.write_text("".join(lines), encoding="utf-8")


def excerpt(library: Library, name: str) -> dict[str, Any]:
    """Return what a grader sees of an equation."""
    owner, _, ordinal = name.rpartition("#")
    article: Article = library.article(owner)
    equation = article.equations[int(ordinal) - 1]
    parts = article.text.split(EQUATION_MARK)
    before, after = (
        " [equation] ".join(part).split() for part in (parts[: int(ordinal)], parts[int(ordinal) :])
    )
    return {
        "name": name,
        "latex": equation.expanded,
        "before": " ".join(before[-BEFORE:]),
        "after": " ".join(after[:AFTER]),
        "title": article.title,
        "section": equation.section,
    }


def join_grades(options: argparse.Namespace) -> None:
    """Write names and grades of all pooled equations; missing grades are an error."""
    lines = ["topic\tname\ta\tb\n"]
    if options.more:
        lines = options.output.read_text("utf-8").splitlines(keepends=True)
    known = {"\t".join(line.split("\t")[:2]) for line in lines}
    for path in sorted(options.pool.glob("*.jsonl")):
        given = [
            json.loads((folder / f"{path.stem}.json").read_text("utf-8"))
            for folder in (options.a, options.b)
        ]
        pool = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        for entry in sorted(pool, key=lambda entry: str(entry["name"])):
            found = [grades.get(str(entry["n"])) for grades in given]
            if not all(grade in (0, 1, 2, 3) for grade in found):
                sys.exit(f"{path.stem}, {entry['n']}: expected two grades from 0 to 3, not {found}")
            if f"{path.stem}\t{entry['name']}" in known:
                sys.exit(
                    f"{path.stem}, {entry['name']} is already graded and should not be in the pool"
                )
            lines.append("\t".join([path.stem, entry["name"], *map(str, found)]) + "\n")
    with atomic.new_file(options.output) as new:
        new.write_text("".join([lines[0], *sorted(lines[1:])]), encoding="utf-8")
    print(f"{len(lines) - 1} judgements in {options.output}")


def print_agreement(options: argparse.Namespace) -> None:
    """Print the agreement of two graders, of one file or of two."""
    graders = 1 if options.other else 2
    found = judged_topics.read_judgements(options.qrels, graders)
    if options.other:
        found = judged_topics.paired(found, judged_topics.read_judgements(options.other, 1))
    print(tables.markdown(retrieval_tables.agreement(judged_topics.agreement(found))))


def score(options: argparse.Namespace) -> None:
    """Run the whole evaluation and write it as JSON and as tables."""
    topics = judged_topics.read_topics(options.topics)
    judgements = judged_topics.read_judgements(options.qrels)
    start = time.perf_counter()
    with Library.open(options.library) as library:
        work = retrieval.Evaluation(
            library,
            options.encoder,
            groups=read_groups(options.groups, library.records.names()) if options.groups else None,
            progress=lambda text: print(text, flush=True),
        )
        found = {"data": work.described()}
        found |= {"judged": work.judged(topics, judgements)} | work.found()
        if options.runs:
            options.runs.mkdir(parents=True, exist_ok=True)
            for ranker in work.rankers():
                made = judged_topics.run(work.data.corpus, ranker, topics, 100)
                tag = ranker.name.replace(" ", "-")
                write_run(options.runs / f"{tag}.run", made, tag)
    write_atomically(options.output.with_suffix(".json"), to_json(found))
    write_atomically(options.output.with_suffix(".md"), retrieval_page(found))
    print(f"{time.perf_counter() - start:.0f} s; {options.output}.json, .md")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    pool = commands.add_parser("pool", help="write pools for graders")
    pool.add_argument("library", type=Path)
    pool.add_argument("-o", "--output", type=Path, required=True)
    pool.set_defaults(call=make_pool)
    grades = commands.add_parser("grades", help="collect the grades in one file")
    for name in ("pool", "a", "b"):
        grades.add_argument(name, type=Path)
    grades.add_argument("-o", "--output", type=Path, default=QRELS)
    grades.set_defaults(call=join_grades)
    agree = commands.add_parser("agreement", help="print how much two graders agree")
    agree.add_argument("qrels", type=Path)
    agree.add_argument("other", type=Path, nargs="?", help="the grades of another grader")
    agree.set_defaults(call=print_agreement)
    scores = commands.add_parser("score", help="score every ranker")
    scores.add_argument("library", type=Path)
    scores.add_argument("--qrels", type=Path, default=QRELS)
    scores.add_argument("-o", "--output", type=Path, default=RESULTS)
    scores.add_argument("--runs", type=Path)
    scores.add_argument("--groups", type=Path, help="lines of an article and its group")
    scores.set_defaults(call=score)
    for command in (pool, grades):
        command.add_argument("--more", action="store_true")
    for command in (pool, scores):
        command.add_argument("--topics", type=Path, default=TOPICS)
        command.add_argument("--encoder", help="a model's folder, or MODULE:FUNCTION")
    options = parser.parse_args()
    options.call(options)


if __name__ == "__main__":
    main()
