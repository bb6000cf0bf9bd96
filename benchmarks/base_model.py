"""Train the base model that comes with eqemb, and measure what it adds to small libraries.

    python benchmarks/base_model.py collect LIBRARY FOLDER
    python benchmarks/base_model.py encode FOLDER --encoder minilm:encode
    python benchmarks/base_model.py train FOLDER [--device cuda] [-o base_data]
    python benchmarks/base_model.py evaluate PAPERS FOLDER [--sizes 5 20 100] [-o FILE]

LIBRARY is built from the open collections (a folder for each), of which `collect` takes those that
`base_data/SOURCES.tsv` lists: to train on others, edit that file. It writes bags of features and
stems, and the texts that a sentence encoder reads; `encode` writes the encoder's vectors, 128
numbers each. `train` needs PyTorch (`base_training`) and writes the arrays of the package.

`evaluate` builds libraries of a few papers (FOLDER/SIZE-SEED) with a model of their own and ranks
for the judged topics that have a good answer among these papers: without vectors, with the own
model, with the base model and with both; and, as a control, with random vectors of the same
features and lengths. An unjudged equation counts as wrong; the column "judged" leaves unjudged
equations out of the ranking. The judged papers are not in training.
"""

import argparse
import csv
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.article import read_tokens
from eqemb.evaluation import judged_topics, metrics
from eqemb.evaluation.rankers import WORD_QUERY
from eqemb.facade.library import Library
from eqemb.formula import layout
from eqemb.formula.features import equation_features
from eqemb.formula.layout import read_canonical
from eqemb.formula.shapes import key
from eqemb.index.base_vectors import BaseVectors
from eqemb.index.encoder import passages
from eqemb.index.encoder_models import load_encoder
from eqemb.index.stemming import stem
from eqemb.index.text import field_words
from eqemb.index.vector_index import VectorIndex
from eqemb.library.database import Records
from eqemb.models.base_model import DATA_FOLDER, BaseModel
from eqemb.search.combination import apply_weights, word_weights
from eqemb.search.engine import Search
from eqemb.search.query import WordQuery
from eqemb.search.typed_equation import EquationQuery
from eqemb.storage.atomic import write_atomically

Array = NDArray[Any]
Bag = dict[str, float]

JUDGED = Path(__file__).parent / "judged"
SOURCES = DATA_FOLDER / "SOURCES.tsv"
#: Words on each side of an equation that are its context, and what the words of fields weigh
#: beside 1 / sqrt(distance).
REACH = 64
FIELD_WEIGHTS = {"section": 1.0, "title": 0.15, "label": 3.0}
#: Features and stems of the model: the commonest, and at least in so many types or equations.
MAX_FEATURES, MIN_COUNT = 60_000, 3
TEACHER_DIM = 128
MAX_LATEX = 600
SEEDS = {5: 10, 20: 6, 100: 3}
TEXTS = ("latex", "passages", "headings", "words")


# ------------------------------------------------------------ training data


class Example(NamedTuple):
    """One equation of a source, with its text."""

    section: str
    """Article and section."""
    canonical: str
    latex: str
    passage: str
    heading: str
    context: Bag
    heading_words: Bag
    words: frozenset[str]
    """The words of the article."""


def examples(library: Library, sources: Iterable[str]) -> Iterator[Example]:
    """Yield the equations of some collections of a library, in order."""
    wanted = frozenset(sources)
    for part in library.records.parts:
        listed = zip(part.article_texts(), part.list_articles(), strict=True)
        kinds = {kind: canonical for kind, canonical, _ in part.types()}
        types: dict[int, list[int]] = defaultdict(list)
        for article, _, kind, _, _ in part.equation_index():
            types[article].append(kind)
        for (number, title, text), (name, collection, *_) in listed:
            if collection in wanted and number in types:
                forms = [kinds[kind] for kind in types[number]]
                yield from _article(part, number, (name, title, text), forms)


def _article(
    part: Records, number: int, article: tuple[str, str, str], forms: list[str]
) -> Iterator[Example]:
    name, title, text = article
    words, places = read_tokens(text)
    words = [word.lower() for word in words]
    every = frozenset(words)
    rows = list(part.equation_words(number))
    for ordinal, (form, at, row, passage) in enumerate(
        zip(forms, places, rows, passages([text]), strict=True), 1
    ):
        equation, _ = part.equation(number, ordinal)
        fields = field_words(title, row)
        before, after = words[max(0, at - REACH) : at], words[at : at + REACH]
        pairs = [(word, (len(before) - n) ** -0.5) for n, word in enumerate(before)]
        pairs += [(word, (n + 1) ** -0.5) for n, word in enumerate(after)]
        pairs += [(w, weight) for field, weight in FIELD_WEIGHTS.items() for w in fields[field]]
        heading = dict.fromkeys(fields["title"] + fields["section"])
        yield Example(
            f"{name}|{equation.section}",
            form,
            _squeeze(equation.expanded)[:MAX_LATEX],
            passage,
            _squeeze(f"{title}: {equation.section}"),
            _stems(pairs),
            _stems((word, 1.0) for word in heading),
            every,
        )


def _squeeze(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def _stems(pairs: Iterable[tuple[str, float]]) -> Bag:
    found: Bag = {}
    for word, weight in pairs:
        for part in stem(word).split("-"):
            if part:
                found[part] = found.get(part, 0.0) + weight
    return found


def collect(options: argparse.Namespace) -> None:
    """Write the training data: FOLDER/data.npz, texts.json and names.json."""
    with SOURCES.open(encoding="utf-8", newline="") as file:
        sources = [row["name"] for row in csv.DictReader(file, delimiter="\t")]
    with Library.open(options.library) as library:
        found = list(examples(library, sources))
    features = {
        form: equation_features(read_canonical(form))
        for form in sorted({each.canonical for each in found})
    }
    in_types = Counter(name for counts in features.values() for name in counts)
    in_texts = Counter(root for each in found for root in each.context)
    names = _common(in_types)[:MAX_FEATURES]
    stems = [root for root in _common(in_texts) if len(root) > 1]
    number = {name: row for row, name in enumerate(names)}
    row_of = {root: row for row, root in enumerate(stems)}
    words = Counter(word for _, every in {e.section.split("|")[0]: e.words for e in found}.items()
                    for word in every)  # fmt: skip
    vocabulary = sorted(word for word, n in words.items() if n > 1 and len(word) < 40)
    texts = {
        "latex": sorted({each.latex for each in found}),
        "passages": sorted({each.passage for each in found}),
        "headings": sorted({each.heading for each in found}),
        "words": vocabulary,
    }
    places = {kind: {text: at for at, text in enumerate(some)} for kind, some in texts.items()}
    _, sections = np.unique([each.section for each in found], return_inverse=True)
    bags = {
        "equations": [
            {name: 1 + np.log(n) for name, n in features[each.canonical].items()} for each in found
        ],
        "contexts": [each.context for each in found],
        "headings": [each.heading_words for each in found],
        "words": [_stems([(word, 1.0)]) for word in vocabulary],
    }
    arrays = {
        f"{kind}_{part}": array
        for kind, some in bags.items()
        for part, array in _csr(some, number if kind == "equations" else row_of).items()
    }
    arrays |= {
        "sections": sections,
        "feature_counts": np.array([in_types[name] for name in names]),
        "stem_counts": np.array([in_texts[root] for root in stems]),
        "of_latex": np.array([places["latex"][each.latex] for each in found]),
        "of_passages": np.array([places["passages"][each.passage] for each in found]),
        "of_headings": np.array([places["headings"][each.heading] for each in found]),
    }
    options.folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(options.folder / "data.npz", **arrays)  # type: ignore[arg-type]
    for name, value in (("texts", texts), ("names", {"features": names, "stems": stems})):
        write_atomically(options.folder / f"{name}.json", json.dumps(value, ensure_ascii=False))
    print(f"{len(found)} equations of {len(sources)} sources, {len(features)} types,"
          f" {len(names)} features, {len(stems)} stems")  # fmt: skip


def _common(counts: Counter[str]) -> list[str]:
    """Return what is common enough, the commonest first, ties by name."""
    return sorted((n for n, c in counts.items() if c >= MIN_COUNT), key=lambda n: (-counts[n], n))


def _csr(bags: list[Bag], rows: Mapping[str, int]) -> dict[str, Array]:
    """Return bags as pointers, ids and weights; what has no row is left out."""
    known = [{rows[name]: weight for name, weight in bag.items() if name in rows} for bag in bags]
    pointers = np.zeros(len(bags) + 1, np.int64)
    np.cumsum([len(bag) for bag in known], out=pointers[1:])
    ids = np.array([row for bag in known for row in bag], np.int32)
    weights = np.array([weight for bag in known for weight in bag.values()], np.float32)
    return {"pointers": pointers, "ids": ids, "weights": weights}


def encode(options: argparse.Namespace) -> None:
    """Write the sentence encoder's vectors of all texts, in their main directions."""
    read = load_encoder(options.encoder)
    texts = json.loads((options.folder / "texts.json").read_text("utf-8"))
    vectors = {}
    for kind in TEXTS:
        made = read(texts[kind]).astype(np.float64)
        vectors[kind] = made / np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1e-12)
        print(kind, made.shape, flush=True)
    every = sum(made.T @ made for made in vectors.values())
    basis = np.linalg.eigh(every)[1][:, ::-1][:, :TEACHER_DIM]
    for kind, made in vectors.items():
        np.save(options.folder / f"{kind}.npy", (made @ basis).astype(np.float16))


# ------------------------------------------------------------ training


def train(options: argparse.Namespace) -> None:
    """Train on FOLDER and write the arrays of the model."""
    from base_training import Training
    from base_training import train as learn

    found = np.load(options.folder / "data.npz")
    names = json.loads((options.folder / "names.json").read_text("utf-8"))
    data: dict[str, Any] = {
        kind: tuple(found[f"{kind}_{part}"] for part in ("pointers", "ids", "weights"))
        for kind in ("equations", "contexts", "headings", "words")
    }
    data |= {name: found[name] for name in ("sections", "feature_counts", "stem_counts")}
    teacher = {kind: np.load(options.folder / f"{kind}.npy").astype(np.float32) for kind in TEXTS}
    for kind, of in (("equations", "latex"), ("contexts", "passages"), ("headings", "headings")):
        data[f"teacher_{kind}"] = teacher[of][found[f"of_{of}"]]
    data["teacher_words"] = teacher["words"]
    data["stem_start"] = _stem_means(data["words"], teacher["words"], len(names["stems"]))
    made = learn(data, Training(), options.device)
    for kind, vectors in made.items():
        write_table(options.output, kind, names[kind], vectors)
    size = sum(path.stat().st_size for path in options.output.iterdir())
    print(f"{options.output}: {size / 1e6:.1f} MB")


def _stem_means(bags: tuple[Array, Array, Array], vectors: Array, count: int) -> Array:
    """Return for each stem the mean vector of the words that have it and no other."""
    pointers, ids, _ = bags
    alone = np.flatnonzero(np.diff(pointers) == 1)
    total, often = np.zeros((count, vectors.shape[1]), np.float32), np.zeros(count)
    np.add.at(total, ids[pointers[alone]], vectors[alone])
    np.add.at(often, ids[pointers[alone]], 1)
    found: Array = total / np.maximum(often, 1)[:, None]
    return found


def write_table(folder: Path, kind: str, names: list[str], vectors: Array) -> None:
    """Write vectors as 8-bit integers with a scale for each row, in the order of their keys."""
    largest = np.abs(vectors).max(axis=1)
    scales = (np.where(largest == 0, 1, largest) / 127).astype(np.float16)
    whole = np.rint(vectors / scales.astype(np.float32)[:, None]).clip(-127, 127).astype(np.int8)
    keys = np.array([key(name) for name in names], np.uint64)
    order = np.argsort(keys)
    folder.mkdir(parents=True, exist_ok=True)
    for part, array in ((".keys", keys), ("", whole), (".scales", scales)):
        np.save(folder / f"{kind}{part}.npy", array[order])


# ------------------------------------------------------------ evaluation


class RandomVectors(BaseVectors):
    """The control: random directions for the features and stems, with the lengths of the model."""

    def __init__(self, search: Search, folder: Path) -> None:
        super().__init__(search.segments)
        self.folder = folder
        if not folder.exists():
            folder.mkdir(parents=True)
            draw = np.random.default_rng(0)
            for kind in ("features", "stems"):
                keys, rows, scales = (
                    np.load(DATA_FOLDER / f"{kind}{part}.npy") for part in (".keys", "", ".scales")
                )
                lengths = np.linalg.norm(rows * scales.astype(np.float32)[:, None], axis=1)
                drawn = draw.standard_normal(rows.shape)
                drawn *= (lengths / np.linalg.norm(drawn, axis=1))[:, None]
                scales = (np.abs(drawn).max(axis=1) / 127 + 1e-7).astype(np.float16)
                np.save(folder / f"{kind}.keys.npy", keys)
                np.save(
                    folder / f"{kind}.npy",
                    np.rint(drawn / scales.astype(np.float32)[:, None]).clip(-127, 127)
                    .astype(np.int8),
                )  # fmt: skip
                np.save(folder / f"{kind}.scales.npy", scales)
        self.__dict__["_model"] = BaseModel(folder)
        self.__dict__["_types"] = self.compute(search)

    def compute(self, search: Search) -> VectorIndex:
        """Return the vectors of all types of a library."""
        made = [
            self._model.equation_vector(read_canonical(canonical))
            for part in search.records.parts
            for _, canonical, _ in part.types()
        ]
        return VectorIndex([np.array(made)])


SYSTEMS = ("none", "own", "base", "own and base", "random")
#: The parts that each system leaves out.
_WITHOUT = {"none": ("meaning", "base"), "own": ("base",), "base": ("meaning",)}


def rankings(
    search: Search, control: RandomVectors, topic: judged_topics.Topic
) -> dict[str, NDArray[np.float32]]:
    """Return the scores of every equation for a topic, by system."""
    is_words = topic.query.kind == WORD_QUERY
    if is_words:
        asked, weights = WordQuery(topic.query.words), word_weights(search.segments.live_count)
        parts = search.parts_for_words(asked, search.segments.live, weights)
        drawn = control.like_words(topic.query.words)
    else:
        equation, weights = EquationQuery(layout(topic.query.text), None), search.equation_weights
        parts = search.parts_for_equation(equation, search.segments.live, weights)
        drawn = control.like_equation(equation.layout)
    found = {}
    for name in SYSTEMS:
        some = {
            part: scores for part, scores in parts.items() if part not in _WITHOUT.get(name, ())
        }
        if name == "random":
            some = {part: scores for part, scores in parts.items() if part != "meaning"}
            if drawn is not None:
                found_by_words = parts.get("words", 1) > 0 if is_words else True
                some["base"] = np.where(found_by_words, drawn.take(search.types), np.float32(0))
        if is_words:
            weighted = search.weigh_words(asked, some, search.segments.live)
        else:
            weighted = apply_weights(some, weights)
        found[name] = np.asarray(sum(weighted.values(), np.zeros(len(search.types), np.float32)))
    return found


def judged(search: Search, control: RandomVectors) -> Iterator[tuple[str, str, bool, str, Any]]:
    """Yield kind, topic, whether it is for development, system and the two values of nDCG@10."""
    names = search.records.equation_names()
    grades = judged_topics.mean_grades(judged_topics.read_judgements(JUDGED / "qrels.tsv"))
    for topic in judged_topics.read_topics(JUDGED / "topics.toml"):
        own = {name: grades.get(topic.id, {}).get(name) for name in names}
        known = {name: grade for name, grade in own.items() if grade is not None}
        if not any(grade >= metrics.RELEVANT for grade in known.values()):
            continue
        for system, scores in rankings(search, control, topic).items():
            ranked: dict[int, str] = {}  # one equation of each type
            for at in np.argsort(-scores, kind="stable").tolist():
                if scores[at] > 0:
                    ranked.setdefault(int(search.types[at]), names[at])
            every = list(ranked.values())
            values = [
                metrics.ndcg(some, known, judged_topics.CUTOFF)
                for some in (every, [name for name in every if name in known])
            ]
            yield topic.query.kind, topic.id, topic.is_development, system, values


def evaluate(options: argparse.Namespace) -> None:
    """Build small libraries and print nDCG@10 of each system."""
    papers = sorted(str(path.relative_to(options.papers)) for path in options.papers.glob("*/*"))
    table: dict[tuple[str, int, bool, str], dict[str, list[Any]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for size in options.sizes:
        for seed in range(SEEDS.get(size, 1)):
            home = options.folder / f"{size}-{seed}"
            if not home.exists():
                chosen = random.Random(f"{size} {seed}").sample(papers, min(size, len(papers)))
                paths = [options.papers / name for name in chosen]
                Library.build(paths, home, root=options.papers, jobs=1).close()
            with Library.open(home) as library:
                control = RandomVectors(library.engine, options.folder / "random")
                for kind, topic, is_development, system, values in judged(library.engine, control):
                    table[kind, size, is_development, system][topic].append(values)
    head = "query | papers | half | topics | system | nDCG@10 | judged | over none | over random"
    lines = [f"| {head} |", "|---|---|---|---|---|---|---|---|---|"]
    for (kind, size, is_development, system), found in table.items():
        means, kept = (
            [float(np.mean([pair[column] for pair in found[topic]])) for topic in found]
            for column in (0, 1)
        )
        gains = []
        for other in ("none", "random"):
            rival = table[kind, size, is_development, other]
            start = [float(np.mean([pair[0] for pair in rival[topic]])) for topic in found]
            gain = metrics.gain(np.array(means), np.array(start))
            gains.append(f"{gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]")
        lines.append(
            f"| {kind} | {size} | {'development' if is_development else 'test'} | {len(found)}"
            f" | {system} | {np.mean(means):.3f} | {np.mean(kept):.3f} | {' | '.join(gains)} |"
        )
    text = "\n".join(lines) + "\n"
    print(text)
    if options.output:
        write_atomically(options.output, text)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    for call, given in ((collect, "library"), (encode, None), (train, None), (evaluate, "papers")):
        command = commands.add_parser(call.__name__, help=call.__doc__)
        if given:
            command.add_argument(given, type=Path)
        command.add_argument("folder", type=Path)
        command.set_defaults(call=call)
        if call is encode:
            command.add_argument("--encoder", required=True, help="MODULE:FUNCTION")
        if call is train:
            command.add_argument("--device", default="cpu")
            command.add_argument("-o", "--output", type=Path, default=DATA_FOLDER)
        if call is evaluate:
            command.add_argument("--sizes", type=int, nargs="+", default=list(SEEDS))
            command.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    options.call(options)


if __name__ == "__main__":
    main()
