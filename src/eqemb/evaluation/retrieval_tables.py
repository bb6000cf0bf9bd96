"""Tables of what `retrieval.Evaluation` found, for people; nothing here computes a score."""

from collections.abc import Iterator
from typing import Any

from eqemb.evaluation.tables import Table

Found = dict[str, Any]
#: The largest share of answers that nobody judged with which a ranker's gain is printed.
JUDGED = 0.1
_KINDS = {"words": "topics in words", "equation": "topics that are equations"}
_ITEMS = {
    "labels": "Words of a label -> equations of other articles whose labels have them",
    "references": "A sentence far from all equations -> the equation that it refers to",
    "own_context": "Held-out words of an equation -> the equation, training stream, test half",
}


def report(found: Found) -> list[Table]:
    """All tables of an evaluation."""
    made = []
    if "judged" in found:
        made.append(_agreement(found["judged"]["agreement"]))
        for kind in (kind for kind in _KINDS if kind in found["judged"]):
            tables = _judged(found["judged"][kind], kind), _gains(found["judged"][kind], kind)
            made += [table for table in tables if table.rows]
    made += [_items(found[name], title) for name, title in _ITEMS.items() if name in found]
    return made


def notes(found: Found) -> Iterator[str]:
    """What the tables rest on, a sentence each."""
    data = found["data"]
    yield (
        f"{data['articles']:,} articles ({data['left_out']} near-duplicates left out),"
        f" {data['equations']:,} equations of {data['types']:,} types; models with"
        f" K={data['dim']}, tuned settings, seed 0; corpus {data['corpus'][:12]}, split"
        f" {data['split'][:12]}."
    )
    if "judged" in found:
        judged = found["judged"]
        for kind, title in _KINDS.items():
            if kind not in judged:
                continue
            weights = judged[kind]["weights"]
            listed = ", ".join(f"{weight:g} {name}" for name, weight in weights.items())
            yield f"Development topics chose for the combination, {title}: {listed}."
            if not _gains(judged[kind], kind).rows:
                yield (
                    f"There is no table of gains for {title}: of every ranker more than"
                    f" {JUDGED:.0%} of the first ten answers were not judged."
                )


def _shown(value: dict[str, float | None]) -> str:
    error = "" if value["se"] is None else f" ± {value['se']:.3f}"
    return f"{value['mean']:.3f}{error}"


def _judged(found: Found, kind: str) -> Table:
    """Rankers by half; what development topics have chosen has nothing under all topics."""
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
    return Table(f"Judged {_KINDS[kind]}: mean ± standard error over topics", head, rows, best)


def _gains(found: Found, kind: str) -> Table:
    """Those whose answers were judged, nearly all: for others a gain would be the pool's."""
    rows = [
        [
            entry["ranker"],
            entry["topics"],
            entry["against"],
            f"{entry['mean']:+.3f}",
            f"{entry['low']:+.3f} to {entry['high']:+.3f}",
            f"{entry['p']:.3f}",
            entry["verdict"],
        ]
        for entry in found["gains"]
        if _unjudged(found, entry) <= JUDGED
    ]
    head = ["ranker", "topics", "against", "gain", "95 % of draws", "p", ""]
    title = (
        f"Gains in nDCG@10 over the best plain rival on the same {_KINDS[kind]}, of rankers with no"
        f" more than {JUDGED:.0%} unjudged"
    )
    return Table(title, head, rows, set())


def _unjudged(found: Found, entry: Found) -> float:
    """The share of a ranker's answers that nobody judged, on the topics of a gain."""
    halves = found["rankers"][entry["ranker"]]
    half = halves.get(entry["topics"], halves["test"])
    share: float = half.get("unjudged", {"mean": 1.0})["mean"]
    return share


def _agreement(found: Found) -> Table:
    rows = [
        ["judgements", f"{found['n']:,} of {found['topics']} topics, each by two graders"],
        ["quadratically weighted kappa", f"{found['kappa']:.3f}"],
        ["same grade", f"{found['exact']:.1%}"],
        ["at most one grade apart", f"{found['within_one']:.1%}"],
        ["mean grades", " and ".join(f"{mean:.2f}" for mean in found["means"])],
        ["graded 2 or 3", " and ".join(f"{share:.1%}" for share in found["answers"])],
        *(
            [f"Kendall's tau of the orders of rankers, {title}", f"{found[f'kendall_{kind}']:.3f}"]
            for kind, title in _KINDS.items()
            if f"kendall_{kind}" in found
        ),
    ]
    return Table("Agreement of the graders", ["", ""], rows, set())


def _items(found: Found, title: str) -> Table:
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
    verdicts = {entry["ranker"]: entry for entry in found["gains"]}
    rows = []
    for name, line in rankers.items():
        entry = verdicts.get(name)
        gain = f"{entry['mean']:+.3f}, {entry['verdict']}" if entry else "the best plain rival"
        shown = [_shown(line[part]) for part in parts]
        rows.append([name, *shown, f"{line['median_rank']:,.0f}", gain])
    best = set()
    for column, part in enumerate(parts, 1):
        known = [name for name in rankers if name not in ("chance", "article oracle")]
        first = max(known, key=lambda name: rankers[name][part]["mean"])
        best.add((list(rankers).index(first), column))
    caption = (
        f"{title} (n = {found['n']:,} from {found['articles']} articles, {found['displays']:,}"
        " displays ranked; errors by article)"
    )
    head = ["ranker", *(titles[part] for part in parts), "median rank", "gain in MRR"]
    return Table(caption, head, rows, best)
