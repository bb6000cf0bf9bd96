"""Retrieval: whether a ranker puts the right equations first.

Topics of people, with pools that are graded blind to the ranker, come first in order of trust. What
is chosen (settings, weights of a combination) is chosen on development topics, those with odd
numbers; topics with even numbers are for reporting.
"""

import math
import re
import tempfile
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eqemb.corpus.corpus import Corpus
from eqemb.corpus.split import Split, TrainingStream, training_stream
from eqemb.corpus.vocabulary import Rules
from eqemb.errors import UsageError
from eqemb.evaluation import metrics, tasks
from eqemb.evaluation.heldout import SYSTEMS, Cell
from eqemb.evaluation.metrics import Grades, Run
from eqemb.evaluation.rankers import (
    EQUATION,
    ITS_PARTS,
    PLAIN,
    PRODUCT,
    WORDS,
    ArticleRanker,
    Bm25,
    Combination,
    ContextMeans,
    ModelRanker,
    Query,
    Ranker,
    Scores,
    SentenceEncoder,
    SideBySide,
    UnitOverlap,
    in_words,
    like,
    product_rankers,
    z_scores,
)
from eqemb.facade.library import Library
from eqemb.index.encoder import Encode, passages
from eqemb.index.text import FIELDS, Wording, index_words
from eqemb.library.database import ALL
from eqemb.models import registry, workspace
from eqemb.models.embeddings import Embeddings
from eqemb.search.engine import Search

DEPTH = 10
DIM = 100
COMPARED = (*registry.BASELINES, *registry.OURS)
CONTROL = "document"
EQUAL = {
    WORDS: ("BM25", "context means", "sentence encoder", "EqEmb", "EqEmb-U", "EqEmb-H"),
    EQUATION: ("unit overlap", "sentence encoder", "EqEmb-U", "EqEmb-H (other)"),
}
#: Every word of the text, as the library's own search reads it.
EVERY_WORD = Rules("plain", 1, 0, min_length=1, abbreviations=0, stop_words=False)


class Topic(NamedTuple):
    """A question, and what its graders are told."""

    id: str
    query: Query
    want: str = ""
    grades: str = ""
    group: str = ""
    """Test topics that were made apart from the others are reported apart, and with them."""

    @property
    def is_development(self) -> bool:
        """Whether things may be chosen by it: its number is odd."""
        return int(re.sub(r"\D", "", self.id) or 0) % 2 == 1


def read_topics(path: Path) -> list[Topic]:
    """Topics from a file: `[[topic]]` tables with id, kind ("words" or "equation") and query."""
    try:
        listed = tomllib.loads(path.read_text("utf-8"))["topic"]
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError) as error:
        raise UsageError(f"{path} holds no topics, [[topic]]: {error}") from None
    if not isinstance(listed, list) or not listed:
        raise UsageError(f"{path} holds no topics: each begins with [[topic]]")
    ask: dict[str, Callable[[str], Query]] = {WORDS: in_words, EQUATION: like}
    found = []
    for entry in listed:
        given = (
            [entry.get(key) for key in ("id", "kind", "query")] if isinstance(entry, dict) else []
        )
        if not given or not all(isinstance(value, str) for value in given) or given[1] not in ask:
            raise UsageError(
                f"{path}: a topic needs id, kind (words or equation) and query, in quotes"
            )
        query = ask[entry["kind"]](entry["query"])
        rest = (str(entry.get(key, "")) for key in ("want", "grades", "group"))
        found.append(Topic(entry["id"], query, *rest))
    if len({topic.id for topic in found}) < len(found):
        raise UsageError(f"{path}: two topics have the same id")
    return found


# ------------------------------------------------------------ rankers of a library


class Shelf(NamedTuple):
    """A library made ready: the corpus models learn from, its split, and all its words."""

    corpus: Corpus
    split: Split
    everything: Corpus
    """The same equations among all words."""
    passages: list[str]
    """The text around each equation, for encoders."""
    formulas: list[str]
    """The LaTeX of each equation, macros expanded: as much as an encoder reads."""


def open_shelf(library: Library) -> Shelf:
    """The corpus "all" with the product's defaults."""
    corpus = workspace.corpus(library)
    split = workspace.split(library, ALL, corpus)
    everything = workspace.corpus(library, workspace.CorpusChoice(rules=EVERY_WORD))
    texts = dict(zip(library.questions.names(), passages(library.records), strict=True))
    query = "SELECT name, ordinal, expanded FROM equations e JOIN sources s ON s.id = e.article"
    latex = {f"{name}#{ordinal}": text[:400] for name, ordinal, text in library.records.rows(query)}
    names = corpus.equation_names
    return Shelf(corpus, split, everything, [texts[n] for n in names], [latex[n] for n in names])


def train(
    library: Library,
    shelf: Shelf,
    *,
    threads: int = 1,
    progress: Callable[[str], object] = lambda _: None,
) -> dict[str, Embeddings]:
    """The models that are ranked by, with tuned settings and seed 0; trained where not there.

    CBOW and PV-DM are left out where there is no gensim.
    """
    made: dict[str, Embeddings] = {}
    for name in ("words", *COMPARED, CONTROL):
        entry = registry.MODELS.get(name)
        if entry is not None and not entry.is_installed:
            needed = f"needs {entry.requires}: pip install 'eqemb[{entry.extra}]'"
            progress(f"{name} is left out, it {needed}")
            continue
        progress(f"model {name}")
        system = SYSTEMS[name]
        words = made["words"] if system.takes_words else None
        model = system.make(Cell(DIM), "softmax", words)
        place = library.folder
        made[name] = workspace.train_or_load(
            model, shelf.corpus, shelf.split, place, name, threads=threads
        )
    return made


def plain_rankers(shelf: Shelf, words: Embeddings, encode: Encode | None) -> list[Ranker]:
    """The rivals that know nothing of equation vectors, over all of the text."""
    overlap = UnitOverlap(shelf.corpus)
    stream = training_stream(shelf.corpus)
    found: list[Ranker] = [
        Bm25(shelf.everything.words, training_stream(shelf.everything)),
        ContextMeans(words, shelf.corpus, stream, overlap),
        overlap,
        SideBySide(shelf.corpus, overlap),
    ]
    if encode is not None:
        found.append(SentenceEncoder(encode, shelf.passages, shelf.formulas))
    return found


def plain_rankers_without(shelf: Shelf, words: Embeddings, encode: Encode | None) -> list[Ranker]:
    """The same over the training stream: nothing that is held out is in any document."""
    corpus, stream = shelf.corpus, training_stream(shelf.corpus, shelf.split)
    found: list[Ranker] = [
        Bm25(corpus.words, stream),
        ContextMeans(words, corpus, stream, UnitOverlap(corpus)),
    ]
    if encode is not None:
        found.append(SentenceEncoder(encode, stream_passages(corpus.words, stream), []))
    return found


def stream_passages(words: Sequence[str], stream: TrainingStream, half: int = 16) -> list[str]:
    """The vocabulary words of a stream around each equation, as a text."""
    home, found = stream.equation_articles, []
    for at, article in zip(stream.equation_positions.tolist(), home.tolist(), strict=True):
        low, high = stream.starts[article : article + 2].tolist()
        near = stream.tokens[max(low, at - half) : min(high, at + half)]
        found.append(" ".join(words[word] for word in near.tolist()))
    return found


def model_rankers(shelf: Shelf, models: dict[str, Embeddings]) -> list[Ranker]:
    """Each model by the paper's pairing and by the other, and the control."""
    overlap = UnitOverlap(shelf.corpus)
    found: list[Ranker] = [
        ModelRanker(name, models[name], shelf.corpus, overlap, other=other)
        for name in COMPARED
        if name in models
        for other in (False, True)
    ]
    return [
        *found,
        ArticleRanker("EqEmb-H + article", models["eqemb-h"], shelf.corpus, equations=True),
        ArticleRanker("article vector", models[CONTROL], shelf.corpus),
    ]


# ------------------------------------------------------------ rankings


def top(corpus: Corpus, scores: Scores, depth: int, besides: int | None = None) -> dict[str, float]:
    """The best equations by name, one of each type; ties go from Z to A."""
    least = np.partition(scores, -min(len(scores), 50 * depth))[-min(len(scores), 50 * depth)]
    best = np.flatnonzero(scores >= least).tolist()
    best.sort(key=lambda at: (scores[at], corpus.equation_names[at].encode()), reverse=True)
    found: dict[str, float] = {}
    seen: set[int] = set()
    for at in best:
        kind = int(corpus.equation_types[at])
        if kind not in seen and at != besides and len(found) < depth:
            seen.add(kind)
            found[corpus.equation_names[at]] = float(scores[at])
    return found


def run(corpus: Corpus, ranker: Ranker, topics: Iterable[Topic], depth: int = DEPTH) -> Run:
    """What a ranker answers to the topics that it can take."""
    return {
        topic.id: top(corpus, ranker.scores(topic.query), depth, topic.query.occurrence)
        for topic in topics
        if topic.query.kind in ranker.answers
    }


# ------------------------------------------------------------ grades


Judgements = dict[str, dict[str, tuple[float, ...]]]
"""Topic -> name -> the grade of each grader."""


def read_judgements(path: Path) -> Judgements:
    """Grades from a table with a head: topic, name, and a column for each grader."""
    found: Judgements = {}
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no text: {error.reason}") from None
    head, *lines = [line.split("\t") for line in text.splitlines()] or [[""]]
    if head[:2] != ["topic", "name"] or len(head) < 4:
        raise UsageError(f"{path}: its first line must be topic, name and two graders, with tabs")
    if not lines:
        raise UsageError(f"{path} has no grades")
    for number, fields in enumerate(lines, 2):
        if len(fields) != len(head) or not all(grade in _GRADES for grade in fields[2:]):
            raise UsageError(
                f"{path}, line {number}: give a topic, a name and a grade of 0 to 3 by each grader"
            )
        if fields[1] in found.setdefault(fields[0], {}):
            raise UsageError(f"{path}, line {number}: {fields[1]} is graded twice for {fields[0]}")
        found[fields[0]][fields[1]] = tuple(map(float, fields[2:]))
    return found


_GRADES = frozenset("0123")


def mean_grades(judgements: Judgements) -> Grades:
    """The mean of all graders: an equation is an answer from a mean of 2 on."""
    return {
        topic: {name: float(np.mean(grades)) for name, grades in names.items()}
        for topic, names in judgements.items()
    }


def grades_of(judgements: Judgements, grader: int) -> Grades:
    """The grades of one grader."""
    return {
        topic: {name: grades[grader] for name, grades in names.items()}
        for topic, names in judgements.items()
    }


def agreement(judgements: Judgements) -> dict[str, Any]:
    """How far the first two graders agree, blind to systems and to each other."""
    pairs = np.array([each for names in judgements.values() for each in names.values()])
    one, other = pairs[:, 0], pairs[:, 1]
    return {
        "n": len(pairs),
        "topics": len(judgements),
        "kappa": metrics.weighted_kappa(one, other),
        "exact": float((one == other).mean()),
        "within_one": float((np.abs(one - other) <= 1).mean()),
        "means": [float(one.mean()), float(other.mean())],
        "answers": [float((one >= 2).mean()), float((other >= 2).mean())],
        "both_answers": float(((one >= 2) & (other >= 2)).mean()),
    }


# ------------------------------------------------------------ scores


class Table:
    """What the equations of a corpus score for topics, by every ranker."""

    def __init__(self, corpus: Corpus, topics: Iterable[Topic], grades: Grades) -> None:
        self.corpus, self.grades = corpus, grades
        topics = list(topics)
        self.topics = [topic for topic in topics if topic.id in grades]
        if not self.topics:
            raise UsageError(
                f"no topic has grades: topics are named {', '.join(t.id for t in topics[:3])}...,"
                f" grades {', '.join(list(grades)[:3])}..."
            )
        self._place = {name: at for at, name in enumerate(corpus.equation_names)}
        for topic in self.topics:
            lost = [name for name in grades[topic.id] if name not in self._place]
            if lost:
                raise UsageError(
                    f"topic {topic.id}: {lost[0]} is judged and not in the library: score the"
                    " library that the pool was made from"
                )

    def of_kind(self, kind: str) -> list[Topic]:
        """The judged topics of a kind."""
        return [topic for topic in self.topics if topic.query.kind == kind]

    def has_halves(self, kind: str) -> bool:
        """Whether there are topics to choose by and topics to report."""
        return len({topic.is_development for topic in self.of_kind(kind)}) == 2

    def measured(self, topic: Topic, scores: Scores) -> dict[str, float]:
        """All measures of one ranking; what is not judged counts as 0."""
        grades = self.grades[topic.id]
        ranked = list(top(self.corpus, scores, DEPTH, topic.query.occurrence))
        judged = {name: float(scores[self._place[name]]) for name in grades}
        return {
            "ndcg": metrics.ndcg(ranked, grades, DEPTH),
            "precision": metrics.precision(ranked, grades, DEPTH),
            "map": metrics.average_precision(metrics.order(judged), grades),
            "unjudged": metrics.unjudged(ranked, grades, DEPTH),
        }

    def values(self, ranker: Ranker, topics: Iterable[Topic]) -> dict[str, NDArray[np.float64]]:
        """Measure -> one number for each topic."""
        found = [self.measured(topic, ranker.scores(topic.query)) for topic in topics]
        return {name: np.array([each[name] for each in found]) for name in found[0]}

    def chance(self, topics: list[Topic]) -> dict[str, NDArray[np.float64]]:
        """What equations in an order of chance are expected to score."""
        size = len(set(self.corpus.equation_types.tolist()))
        discount = sum(1 / math.log2(at + 2) for at in range(DEPTH))
        ndcg, precision = [], []
        for topic in topics:
            grades = sorted(self.grades[topic.id].values(), reverse=True)
            ideal = sum(grade / math.log2(at + 2) for at, grade in enumerate(grades[:DEPTH]))
            ndcg.append(sum(grades) / size * discount / ideal if ideal else 0.0)
            precision.append(sum(grade >= metrics.RELEVANT for grade in grades) / size)
        return {"ndcg": np.array(ndcg), "precision": np.array(precision)}


HALVES = ("development", "test", "all")


def judged(
    table: Table, kind: str, rankers: Iterable[Ranker], chosen: Collection[str] = ()
) -> dict[str, Any]:
    """Means and errors over topics of a kind, by half, and gains over the best plain rival.

    Of rankers that development topics have chosen, by name, nothing is said over all topics.
    """
    topics = table.of_kind(kind)
    development = np.array([topic.is_development for topic in topics])
    group = np.array([topic.group for topic in topics])
    test = ~development & (group == "")
    halves = dict(zip(HALVES, (development, test, development | test), strict=True))
    for name in sorted(set(group.tolist()) - {""}):
        halves[name] = ~development & (group == name)
        halves[f"test and {name}"] = test | halves[name]
    lines = {"chance": table.chance(topics)}
    lines |= {
        ranker.name: table.values(ranker, topics) for ranker in rankers if kind in ranker.answers
    }
    return {
        "topics": {half: int(part.sum()) for half, part in halves.items()},
        "rankers": {
            name: {
                half: {key: metrics.spread(values[part]) for key, values in line.items()}
                for half, part in halves.items()
                if half != "all" or name not in chosen
            }
            for name, line in lines.items()
        },
        "gains": [
            entry
            for half in list(halves)[1:]
            for entry in _gains(lines, halves[half], half)
            if half != "all" or entry["ranker"] not in chosen
        ],
        "per_topic": {
            name: dict(zip([topic.id for topic in topics], line["ndcg"].tolist(), strict=True))
            for name, line in lines.items()
        },
    }


def _gains(
    lines: dict[str, dict[str, NDArray[np.float64]]], chosen: NDArray[np.bool_], half: str
) -> Iterator[dict[str, Any]]:
    """Every ranker against the plain rival that is best on these very topics."""
    rivals = [name for name in PLAIN if name in lines]
    best = max(rivals, key=lambda name: float(lines[name]["ndcg"][chosen].mean()))
    pairs = [(name, best) for name in lines if name != best]
    # the product against its own parts, too
    pairs += [(PRODUCT, part) for part in ITS_PARTS if PRODUCT in lines and part in lines]
    for name, other in pairs:
        gain = metrics.gain(lines[name]["ndcg"][chosen], lines[other]["ndcg"][chosen])
        yield {"topics": half, "ranker": name, "against": other} | gain._asdict()


# ------------------------------------------------------------ choices, on development topics


def equal_weights(rankers: Iterable[Ranker], kind: str) -> Combination:
    """The sum of z-scores that nobody has chosen: it was named before anything was judged."""
    return Combination(
        {ranker: 1.0 for ranker in rankers if ranker.name in EQUAL[kind]}, "equal weights"
    )


def combine(
    table: Table, kind: str, candidates: Iterable[Ranker], *, least: float = 0.005
) -> tuple[Combination, dict[str, float]]:
    """The combination that development topics choose, and its weights.

    It begins with the best ranker alone. The ranker and the weight that add most to nDCG@10 join
    it, for as long as they add `least` or more.
    """
    topics = [topic for topic in table.of_kind(kind) if topic.is_development]
    found = {ranker: ranker for ranker in candidates if kind in ranker.answers}
    scores = {
        ranker: [z_scores(ranker.scores(topic.query)) for topic in topics] for ranker in found
    }

    def score(parts: list[Scores]) -> float:
        each = zip(topics, parts, strict=True)
        return float(np.mean([table.measured(topic, part)["ndcg"] for topic, part in each]))

    weights: dict[Ranker, float] = {}
    now, best = [np.zeros(len(table.corpus.equation_types)) for _ in topics], -1.0
    while len(weights) < len(found):
        tried = [
            (
                score([a + weight * b for a, b in zip(now, scores[ranker], strict=True)]),
                ranker,
                weight,
            )
            for ranker in found
            if ranker not in weights
            for weight in (WEIGHTS if weights else (1.0,))
        ]
        value, ranker, weight = max(tried, key=lambda each: each[0])
        if value < best + least:
            break
        best, weights[ranker] = value, weight
        now = [a + weight * b for a, b in zip(now, scores[ranker], strict=True)]
    named = {ranker.name: weight for ranker, weight in weights.items()}
    return Combination(weights, "combination"), named


WEIGHTS = (0.25, 0.5, 1.0, 2.0)
#: Rankers with something that development topics chose.
CHOSEN = ("combination", "eqemb search", "eqemb search + encoder", "its words")


# ------------------------------------------------------------ all of it


class Evaluation:
    """Every ranker of a library on judged topics, labels, references and own contexts.

    Models that the library does not have are trained.
    """

    def __init__(
        self,
        library: Library,
        encode: Encode | None = None,
        *,
        threads: int = 1,
        progress: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._library, self._encode, self._progress = library, encode, progress
        progress("corpora")
        self.shelf = open_shelf(library)
        self.models = train(library, self.shelf, threads=threads, progress=progress)
        self._learned = model_rankers(self.shelf, self.models)
        self._weights: dict[str, float] = {}

    def rankers(self, search: Search | None = None) -> list[Ranker]:
        """All of them, over all of the text; the product as it is or over other words."""
        plain = plain_rankers(self.shelf, self.models["words"], self._encode)
        encoder = next((each for each in plain if isinstance(each, SentenceEncoder)), None)
        search = search or self._library.questions
        return [*plain, *self._learned, *product_rankers(search, self.shelf.corpus, encoder)]

    def described(self) -> dict[str, Any]:
        """What is ranked, and what ranks."""
        corpus = self.shelf.corpus
        return {
            "articles": len(corpus.articles),
            "left_out": corpus.left_out,
            "equations": len(corpus.equation_types),
            "types": len(corpus.forms),
            "corpus": corpus.sha256,
            "split": self.shelf.split.sha256,
            "models": {name: model.sha256 for name, model in self.models.items()},
            "dim": int(self.models["words"].words.vector_size),
            "encoder": self._encode is not None,
        }

    def judged(self, topics: Iterable[Topic], judgements: Judgements) -> dict[str, Any]:
        """Judged topics; context means and a combination are chosen on development topics."""
        self._progress("judged topics")
        table = Table(self.shelf.corpus, topics, mean_grades(judgements))
        found: dict[str, Any] = {"agreement": agreement(judgements)}
        rankers = self.rankers()
        graders = [
            Table(self.shelf.corpus, table.topics, grades_of(judgements, each)) for each in (0, 1)
        ]
        for kind in (WORDS, EQUATION):
            if not table.has_halves(kind):
                self._progress(f"no table of topics of kind {kind}: it needs odd and even ids")
                continue
            combination, weights = combine(table, kind, rankers)
            every = [*rankers, equal_weights(rankers, kind), combination]
            found[kind] = judged(table, kind, every, CHOSEN) | {"weights": weights}
            orders = [
                [float(by.values(each, by.of_kind(kind))["ndcg"].mean()) for each in every
                 if kind in each.answers]
                for by in graders
            ]  # fmt: skip
            found["agreement"][f"kendall_{kind}"] = metrics.kendall(*orders)
        self._weights = found[WORDS]["weights"] if WORDS in found else {}
        return found

    def found(self) -> dict[str, Any]:
        """Labels, references and own contexts, with what judged topics chose, if they did."""
        displays = tasks.Displays.read(self._library, self.shelf.corpus)
        made = {}
        for name, without, items in (
            ("labels", "label", tasks.labels),
            ("references", "references", tasks.references),
        ):
            self._progress(name)
            every = items(self._library, self.shelf.corpus)
            asked = [item for item in every if not item.is_development]
            if not asked:
                continue
            # what would give answers away is left out of the product's words
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
                fields = [field for field in FIELDS if field != without]
                index_words(self._library.records, Path(place), fields)
                search = self._library.questions.reworded(Wording(Path(place)))
                rankers = self._combined(self.rankers(search))
                made[name] = tasks.measured(rankers, asked, displays)
            made[name]["development"] = len(every) - len(asked)
        self._progress("own contexts")
        words = self.models["words"]
        plain = plain_rankers_without(self.shelf, words, self._encode)
        asked = tasks.own_contexts(self.shelf.corpus, self.shelf.split, test=True)
        if asked:
            rankers = self._combined([*plain, *self._learned])
            made["own_context"] = tasks.measured(rankers, asked, displays)
        return made

    def _combined(self, rankers: list[Ranker]) -> list[Ranker]:
        """Rankers, and the combination of those that have a weight."""
        parts = {
            ranker: self._weights[ranker.name] for ranker in rankers if ranker.name in self._weights
        }
        return [*rankers, Combination(parts)] if parts else rankers
