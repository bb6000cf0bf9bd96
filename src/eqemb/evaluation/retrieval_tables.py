"""Tables of the results of `retrieval.Evaluation`; no scores are computed here."""

from collections.abc import Iterator
from typing import Any

from eqemb.evaluation import metrics
from eqemb.evaluation.heldout import bootstrap_p
from eqemb.evaluation.tables import Table

Found = dict[str, Any]
#: Gains are shown only for rankers with at most this share of unjudged results.
MAX_UNJUDGED = 0.1
_TOPIC_KINDS = {"words": "topics in words", "equation": "topics that are equations"}
_TASK_TITLES = {
    "labels": "Words of a label -> equations of other articles with these words in their labels",
    "label_equations": "Equation -> equations of other articles with the words of its label",
    "references": "Sentence far from all equations -> the equation that it refers to",
    "own_context": "Held-out words of an equation -> the equation, training stream, test half",
}


def report(found: Found) -> list[Table]:
    """Return all tables of an evaluation."""
    made = []
    if "judged" in found:
        made.append(agreement(found["judged"]["agreement"]))
        for kind in (kind for kind in _TOPIC_KINDS if kind in found["judged"]):
            tables = _judged(found["judged"][kind], kind), _gains(found["judged"][kind], kind)
            made += [table for table in tables if table.rows]
    by = found["data"].get("clusters", "article")
    made += [
        _items(found[name], title, by) for name, title in _TASK_TITLES.items() if name in found
    ]
    return made


def notes(found: Found) -> Iterator[str]:
    """Yield sentences about the data and the settings behind the tables."""
    data = found["data"]
    yield (
        f"{data['articles']:,} articles ({data['left_out']} near-duplicates left out),"
        f" {data['equations']:,} equations of {data['types']:,} types; models with"
        f" K={data['dim']}, tuned settings, seed 0; corpus {data['corpus'][:12]}, split"
        f" {data['split'][:12]}."
    )
    if "judged" in found:
        judged = found["judged"]
        if "bm25f" in judged:
            chosen = judged["bm25f"]["chosen"]
            listed = ", ".join(f"{name} {value:g}" for name, value in chosen.items())
            tried = "; ".join(
                f"{name} {', '.join(f'{value:g}' for value in values)}"
                for name, values in judged["bm25f"]["grid"].items()
            )
            yield f"BM25F, chosen on development topics: {listed}; tried: {tried}."
        for kind, title in _TOPIC_KINDS.items():
            if kind not in judged:
                continue
            weights = judged[kind]["weights"]
            listed = ", ".join(f"{weight:g} {name}" for name, weight in weights.items())
            yield f"Combination chosen on development topics, for {title}: {listed}."
            if not _gains(judged[kind], kind).rows:
                yield (
                    f"There is no table of gains for {title}: for every ranker, more than"
                    f" {MAX_UNJUDGED:.0%} of the first ten results are unjudged."
                )


def _shown(value: dict[str, float | None]) -> str:
    error = "" if value["se"] is None else f" ± {value['se']:.3f}"
    return f"{value['mean']:.3f}{error}"


def _judged(found: Found, kind: str) -> Table:
    """Scores by half; rankers tuned on development topics have no figure for all topics."""
    counts = found["topics"]
    last = list(counts)[-1]
    shares = dict.fromkeys(("test", "test" if last == "all" else last))
    columns = [("ndcg", half) for half in counts] + [("precision", half) for half in shares]
    head = ["ranker"]
    head += [f"nDCG@10, {half} ({count})" for half, count in counts.items()]
    head += [f"P@10, {half}" for half in shares]
    head += ["MAP', test", *(f"unjudged, {half}" for half in shares)]
    rows = []
    means: dict[int, list[tuple[float, int]]] = {}
    for number, (name, halves) in enumerate(found["rankers"].items()):
        row = [name]
        for column, (measure, half) in enumerate(columns, 1):
            value = halves.get(half, {}).get(measure)
            row.append(_shown(value) if value else "-")
            if value and half != "development":
                means.setdefault(column, []).append((value["mean"], number))
        test = halves["test"]
        row += (
            [f"{test['map']['mean']:.3f}"]
            + [f"{halves[half]['unjudged']['mean']:.0%}" for half in shares]
            if "map" in test
            else [""] * (1 + len(shares))
        )
        rows.append(row)
    best = {(max(values)[1], column) for column, values in means.items()}
    return Table(
        f"Judged {_TOPIC_KINDS[kind]}: mean ± standard error over topics", head, rows, best
    )


def _gains(found: Found, kind: str) -> Table:
    """Gains of rankers with few unjudged results; for others they would depend on the pool.

    p-values are corrected for the comparisons that the table shows on the same topics.
    """
    shown = [entry for entry in found["gains"] if _unjudged(found, entry) <= MAX_UNJUDGED]
    adjusted = _corrected(shown, [entry["p"] for entry in shown])
    rows = [
        [
            entry["ranker"],
            entry["topics"],
            entry["against"],
            f"{entry['mean']:+.3f}",
            f"{entry['low']:+.3f} to {entry['high']:+.3f}",
            f"{entry['p']:.3f}",
            f"{p:.3f}",
            _verdict(entry, p),
        ]
        for entry, p in zip(shown, adjusted, strict=True)
    ]
    head = ["ranker", "topics", "against", "gain", "95 % interval", "p", "p, Holm", ""]
    title = (
        f"Gains in nDCG@10 over the best baseline on the same {_TOPIC_KINDS[kind]}, for rankers"
        f" with at most {MAX_UNJUDGED:.0%} unjudged results; verdicts by Holm's correction for all"
        " comparisons on the same topics"
    )
    return Table(title, head, rows, set())


def _corrected(entries: list[Found], p_values: list[float]) -> list[float]:
    """Adjust p-values by Holm's method, for the entries on the same topics together."""
    adjusted = [1.0] * len(entries)
    for topics in {entry.get("topics") for entry in entries}:
        own = [at for at, entry in enumerate(entries) if entry.get("topics") == topics]
        for at, p in zip(own, metrics.holm([p_values[at] for at in own]), strict=True):
            adjusted[at] = p
    return adjusted


def _verdict(entry: Found, p: float) -> str:
    """The verdict on a gain with a corrected p-value."""
    if entry["verdict"] == "too few":
        return "too few"
    return "tie" if p >= metrics.ALPHA else "better" if entry["mean"] > 0 else "worse"


def _unjudged(found: Found, entry: Found) -> float:
    """Return the share of unjudged results of a ranker, on the topics of a gain."""
    halves = found["rankers"][entry["ranker"]]
    half = halves.get(entry["topics"], halves["test"])
    share: float = half.get("unjudged", {"mean": 1.0})["mean"]
    return share


def agreement(found: Found) -> Table:
    """How much two graders agree."""
    low, high = found.get("kappa_interval") or (None, None)
    interval = "" if low is None else f" ({low:.3f} to {high:.3f}, 95 % over topics)"
    rows = [
        ["judgements", f"{found['n']:,} for {found['topics']} topics, each by two graders"],
        ["quadratically weighted kappa", f"{found['kappa']:.3f}{interval}"],
        ["same grade", f"{found['exact']:.1%}"],
        ["at most one grade apart", f"{found['within_one']:.1%}"],
        ["mean grades", " and ".join(f"{mean:.2f}" for mean in found["means"])],
        ["graded 2 or 3", " and ".join(f"{share:.1%}" for share in found["answers"])],
        *(
            [
                f"Kendall's tau of the rankings of rankers, {title}",
                f"{found[f'kendall_{kind}']:.3f}",
            ]
            for kind, title in _TOPIC_KINDS.items()
            if f"kendall_{kind}" in found
        ),
    ]
    return Table("Agreement of the graders", ["", ""], rows)


def _items(found: Found, title: str, by: str) -> Table:
    rankers = found["rankers"]
    parts = [
        name for name in ("mrr", "ten", "article", "within") if name in next(iter(rankers.values()))
    ]
    titles = {
        "mrr": "MRR",
        "ten": "in the first ten",
        "article": "MRR of the article",
        "within": "MRR within the article",
    }
    p_values = _corrected(found["gains"], [bootstrap_p(e["better"]) for e in found["gains"]])
    gains = {
        entry["ranker"]: f"{entry['mean']:+.3f}, {_verdict(entry, p)}"
        for entry, p in zip(found["gains"], p_values, strict=True)
    }
    rows = []
    for name, line in rankers.items():
        gain = gains.get(name, "the best baseline")
        shown = [_shown(line[part]) for part in parts]
        rows.append([name, *shown, f"{line['median_rank']:,.0f}", gain])
    best = set()
    for column, part in enumerate(parts, 1):
        known = [name for name in rankers if name not in ("chance", "article oracle")]
        first = max(known, key=lambda name: rankers[name][part]["mean"])
        best.add((list(rankers).index(first), column))
    caption = (
        f"{title} (n = {found['n']:,} from {found['articles']} articles, {found['displays']:,}"
        f" displays ranked; errors by {by}; verdicts by Holm's correction for all rows)"
    )
    head = ["ranker", *(titles[part] for part in parts), "median rank", "gain in MRR"]
    return Table(caption, head, rows, best)
