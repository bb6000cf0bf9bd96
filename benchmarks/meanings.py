"""Measure whether the meanings of symbols help to find similar equations.

    python benchmarks/meanings.py LIBRARY [--weights 0.1 0.25 0.5 1]

A judged topic that is an equation has no article that defines its symbols. Therefore the queries
are equations of the library: for each such topic up to three that both graders gave the best grade,
of different articles. The grades of the topic say what is relevant; the query's own article is left
out. Prints nDCG@10 without meanings, and the paired difference with them at several weights, over
topics, for development and test topics apart. Unjudged answers count as wrong.
"""

import argparse
from pathlib import Path

import numpy as np
from judged import QRELS, TOPICS

from eqemb.evaluation import judged_topics, metrics
from eqemb.evaluation.rankers import EQUATION_QUERY
from eqemb.facade.library import Library
from eqemb.search.combination import EQUATION_PARTS, apply_weights
from eqemb.search.defined import meaning_weights

BEST_GRADE, QUERIES, DEPTH, RANKED = 3, 3, 10, 200


def article_of(name: str) -> str:
    """Return the article of an equation."""
    return name.rsplit("#", 1)[0]


def chosen(grades: dict[str, float]) -> list[str]:
    """Return the equations of a topic that are queries."""
    best = (name for name in sorted(grades) if grades[name] >= BEST_GRADE)
    by_article: dict[str, str] = {}
    for name in best:
        by_article.setdefault(article_of(name), name)
    return list(by_article.values())[:QUERIES]


def rankings(library: Library, name: str, weights: list[float]) -> list[list[str]]:
    """Return the best equations of other articles, for each weight of the meanings."""
    engine = library.engine
    query = engine.read_equation(name)
    query = query._replace(meanings=meaning_weights(library.symbols(name), engine.text))
    parts = engine.parts_for_equation(query, engine.segments.live.copy(), EQUATION_PARTS)
    found = []
    for weight in weights:
        used = {part: scores for part, scores in parts.items() if weight or part != "definitions"}
        weighted = apply_weights(used, engine.equation_weights | {"definitions": weight})
        order = np.argsort(-np.sum(list(weighted.values()), axis=0), kind="stable")[:RANKED]
        names = [engine.name(row) for row in order.tolist()]
        others = [other for other in names if article_of(other) != article_of(name)]
        found.append(others[:DEPTH])
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("--weights", type=float, nargs="+", default=[0.1, 0.25, 0.5, 1.0])
    options = parser.parse_args()
    weights = [0.0, *options.weights]
    judged = judged_topics.mean_grades(judged_topics.read_judgements(QRELS))
    topics = [t for t in judged_topics.read_topics(TOPICS) if t.query.kind == EQUATION_QUERY]
    values, development, asked = [], [], 0
    with Library.open(options.library) as library:
        known = library.engine.rows()
        for topic in topics:
            grades = {name: grade for name, grade in judged[topic.id].items() if name in known}
            names = chosen(grades)
            if not names:
                continue
            rows = []
            for name in names:
                own = article_of(name)
                others = {each: grade for each, grade in grades.items() if article_of(each) != own}
                made = rankings(library, name, weights)
                rows.append([metrics.ndcg(ranked, others, DEPTH) for ranked in made])
            asked += len(names)
            values.append(np.mean(rows, axis=0))
            development.append(topic.is_development)
    table, is_development = np.array(values), np.array(development)
    print(f"{len(table)} topics, {asked} queries; without meanings {table[:, 0].mean():.3f}\n")
    print("| weight | difference, development topics | test topics |\n|---|---|---|")
    for at, weight in enumerate(weights[1:], 1):
        cells = []
        for half in (is_development, ~is_development):
            gain = metrics.gain(table[half, at], table[half, 0])
            cells.append(f"{gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]")
        print(f"| {weight:g} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
