"""Evaluate retrieval: how well rankers put the relevant equations of a library first.

Judged topics are the most trusted evidence; labels, references and the context of each equation
(`tasks`) need no judgements.
"""

import contextlib
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from eqemb.corpus.corpus import Corpus
from eqemb.corpus.split import Split, TrainingStream, training_stream
from eqemb.corpus.vocabulary import Rules
from eqemb.evaluation import bm25f, judged_topics, metrics, tasks
from eqemb.evaluation.bm25f import Bm25F, FieldCounts
from eqemb.evaluation.encoder_rankers import LibraryEncoder, SentenceEncoder
from eqemb.evaluation.groups import Clusters
from eqemb.evaluation.heldout import SYSTEMS, Cell
from eqemb.evaluation.judged_topics import JudgedTopics, Judgements, Topic
from eqemb.evaluation.rankers import (
    EQUATION_QUERY,
    WORD_QUERY,
    ArticleRanker,
    Bm25,
    Combination,
    ContextMeans,
    ModelRanker,
    Ranker,
    RowAlignment,
    UnitOverlap,
    corpus_rows,
    search_rankers,
)
from eqemb.facade.library import Library
from eqemb.index.encoder import EncoderIndex
from eqemb.index.encoder_models import Encode, load_encoder
from eqemb.index.segments import IndexSegments
from eqemb.index.text import FIELDS, index_text
from eqemb.index.text_index import TextIndex
from eqemb.library.database import ALL, Records
from eqemb.models import registry, workspace
from eqemb.models.embeddings import Embeddings
from eqemb.search.engine import Search

DIM = 100
COMPARED = (*registry.BASELINES, *registry.OURS)
CONTROL = "document"
#: All words of the text, as the library's own search indexes them.
EVERY_WORD = Rules("plain", 1, 0, min_length=1, abbreviations=0, stop_words=False)


# ------------------------------------------------------------ rankers of a library


class RetrievalData(NamedTuple):
    """The training corpus of a library, its split, and its full text."""

    corpus: Corpus
    split: Split
    everything: Corpus
    """The same equations with all words of the text, not only the vocabulary."""


def load_data(library: Library) -> RetrievalData:
    """Load the corpus of all collections, built with the product's default settings."""
    corpus = workspace.corpus(library)
    split = workspace.split(library, ALL, corpus)
    everything = workspace.corpus(library, workspace.CorpusChoice(rules=EVERY_WORD))
    return RetrievalData(corpus, split, everything)


def train(
    library: Library,
    data: RetrievalData,
    *,
    threads: int = 1,
    progress: Callable[[str], object] = lambda _: None,
) -> dict[str, Embeddings]:
    """Load the models, with tuned settings and seed 0, and train those that are missing.

    CBOW and PV-DM are skipped if gensim is not installed.
    """
    made: dict[str, Embeddings] = {}
    for name in ("words", *COMPARED, CONTROL):
        entry = registry.MODELS.get(name)
        if entry is not None and not entry.is_installed:
            needed = f"it needs {entry.requires} (pip install 'eqemb[{entry.extra}]')"
            progress(f"skipping {name}: {needed}")
            continue
        progress(f"model {name}")
        system = SYSTEMS[name]
        words = made["words"] if system.takes_words else None
        model = system.make(Cell(DIM), "softmax", words)
        place = library.folder
        made[name] = workspace.train_or_load(
            model, data.corpus, data.split, place, name, threads=threads
        )
    return made


def baseline_rankers(data: RetrievalData, words: Embeddings) -> list[Ranker]:
    """Return the rankers without equation vectors, over the full text."""
    overlap = UnitOverlap(data.corpus)
    stream = training_stream(data.corpus)
    return [
        Bm25(data.everything.words, training_stream(data.everything)),
        ContextMeans(words, data.corpus, stream, overlap),
        overlap,
        RowAlignment(data.corpus, overlap),
    ]


def training_baselines(
    data: RetrievalData, words: Embeddings, encode: Encode | None
) -> list[Ranker]:
    """Return the baselines over the training stream, so that no document has held-out words."""
    corpus, stream = data.corpus, training_stream(data.corpus, data.split)
    found: list[Ranker] = [
        Bm25(corpus.words, stream),
        ContextMeans(words, corpus, stream, UnitOverlap(corpus)),
    ]
    if encode is not None:
        found.append(SentenceEncoder(encode, stream_passages(corpus.words, stream)))
    return found


def stream_passages(words: Sequence[str], stream: TrainingStream, half: int = 16) -> list[str]:
    """Return the vocabulary words around each equation of a stream, joined by spaces."""
    home, found = stream.equation_articles, []
    for at, article in zip(stream.equation_positions.tolist(), home.tolist(), strict=True):
        low, high = stream.starts[article : article + 2].tolist()
        near = stream.tokens[max(low, at - half) : min(high, at + half)]
        found.append(" ".join(words[word] for word in near.tolist()))
    return found


def model_rankers(data: RetrievalData, models: dict[str, Embeddings]) -> list[Ranker]:
    """Return two rankers per model, one per pairing of matrices, and the control."""
    overlap = UnitOverlap(data.corpus)
    found: list[Ranker] = [
        ModelRanker(name, models[name], data.corpus, overlap, other=other)
        for name in COMPARED
        if name in models
        for other in (False, True)
    ]
    return [
        *found,
        ArticleRanker("EqEmb-H + article", models["eqemb-h"], data.corpus, equations=True),
        ArticleRanker("article vector", models[CONTROL], data.corpus),
    ]


def index_fields(segments: IndexSegments, place: Path, fields: list[str]) -> TextIndex:
    """Index the text of every segment with some fields only."""
    folders = [place / segment.name for segment in segments]
    for segment, folder in zip(segments, folders, strict=True):
        folder.mkdir()
        with contextlib.closing(Records(segment.records.path)) as records:
            index_text(records, folder, fields)
    return TextIndex(segments, folders)


# ------------------------------------------------------------ the evaluation


class Evaluation:
    """Evaluates every ranker of a library on judged topics, labels, references and contexts.

    Models that are missing from the library are trained first.
    """

    def __init__(
        self,
        library: Library,
        encoder: str | None = None,
        *,
        threads: int = 1,
        groups: Mapping[str, str] | None = None,
        progress: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._library, self._progress = library, progress
        self._name = encoder
        self._encoder: EncoderIndex | None = None
        if encoder is not None:
            self._encoder = library.encoder(
                encoder, lambda done, total: progress(f"encoding {done:,} of {total:,}")
            )
        progress("corpora")
        self.data = load_data(library)
        self.models = train(library, self.data, threads=threads, progress=progress)
        self._learned = model_rankers(self.data, self.models)
        self._clusters = Clusters(groups)
        self._homes = self._clusters.of(self.data.corpus.articles)
        self._weights: dict[str, float] = {}
        self._bm25f = bm25f.START

    @cached_property
    def _counts(self) -> FieldCounts:
        return FieldCounts(self._library, self.data.corpus)

    def rankers(self, search: Search | None = None, without: str = "") -> list[Ranker]:
        """Return all rankers over the full text.

        `search` replaces the library's own search, and BM25F does without the field `without`.
        """
        corpus, search = self.data.corpus, search or self._library.engine
        plain = baseline_rankers(self.data, self.models["words"])
        plain.insert(1, Bm25F(self._counts, self._bm25f, without))
        if self._encoder is not None:
            rows = corpus_rows(search, corpus)
            plain += [LibraryEncoder(self._encoder, rows, latex=latex) for latex in (False, True)]
        return [*plain, *self._learned, *search_rankers(search, corpus, self._encoder)]

    def described(self) -> dict[str, Any]:
        """Describe the data and the models."""
        corpus = self.data.corpus
        return {
            "articles": len(corpus.articles),
            "clusters": self._clusters.kind,
            "left_out": corpus.left_out,
            "equations": len(corpus.equation_types),
            "types": len(corpus.forms),
            "corpus": corpus.sha256,
            "split": self.data.split.sha256,
            "models": {name: model.sha256 for name, model in self.models.items()},
            "dim": int(self.models["words"].words.vector_size),
            "encoder": None if self._name is None else Path(self._name).name,
        }

    def judged(self, topics: Iterable[Topic], judgements: Judgements) -> dict[str, Any]:
        """Evaluate judged topics; the combination is chosen on development topics."""
        self._progress("judged topics")
        table = JudgedTopics(self.data.corpus, topics, judged_topics.mean_grades(judgements))
        found: dict[str, Any] = {"agreement": judged_topics.agreement(judgements)}
        if table.has_halves(WORD_QUERY):
            self._bm25f = bm25f.tune(table, self._counts, self._progress)
            found["bm25f"] = {"chosen": self._bm25f, "grid": bm25f.BM25F_GRID}
        rankers = self.rankers()
        graders = [
            JudgedTopics(
                self.data.corpus, table.topics, judged_topics.grades_of(judgements, grader)
            )
            for grader in (0, 1)
        ]
        for kind in (WORD_QUERY, EQUATION_QUERY):
            if not table.has_halves(kind):
                self._progress(f"skipping topics of kind {kind}: they need odd and even ids")
                continue
            combination, weights = judged_topics.combine(table, kind, rankers)
            every = [*rankers, judged_topics.equal_weights(rankers, kind), combination]
            scores = judged_topics.judged_scores(table, kind, every, judged_topics.CHOSEN)
            found[kind] = scores | {"weights": weights}
            orders = [
                [float(by.values(each, by.of_kind(kind))["ndcg"].mean()) for each in every
                 if kind in each.answers]
                for by in graders
            ]  # fmt: skip
            found["agreement"][f"kendall_{kind}"] = metrics.kendall(*orders)
        self._weights = found[WORD_QUERY]["weights"] if WORD_QUERY in found else {}
        return found

    def found(self) -> dict[str, Any]:
        """Evaluate labels, references and contexts, with the combination of judged topics."""
        displays = tasks.Displays.read(self._library, self.data.corpus)
        made = {}
        for name, without, items in (
            ("labels", "label", tasks.labels),
            ("label_equations", "label", tasks.label_equations),
            ("references", "references", tasks.references),
        ):
            self._progress(name.replace("_", " "))
            every = items(self._library, self.data.corpus)
            asked = [item for item in every if not item.is_development]
            if not asked:
                continue
            # the field that contains the answer is left out of the search index
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
                fields = [field for field in FIELDS if field != without]
                search = self._library.engine.with_text(
                    index_fields(self._library.engine.segments, Path(place), fields)
                )
                rankers = self._combined(self.rankers(search, without))
                made[name] = tasks.measured(rankers, asked, displays, self._homes)
            made[name]["development"] = len(every) - len(asked)
        self._progress("own contexts")
        words = self.models["words"]
        encode = None if self._name is None else load_encoder(self._name)
        plain = training_baselines(self.data, words, encode)
        asked = tasks.own_contexts(self.data.corpus, self.data.split, test=True)
        if asked:
            rankers = self._combined([*plain, *self._learned])
            made["own_context"] = tasks.measured(rankers, asked, displays, self._homes)
        return made

    def _combined(self, rankers: list[Ranker]) -> list[Ranker]:
        """Return the rankers, and the combination of those with a weight."""
        parts = {
            ranker: self._weights[ranker.name] for ranker in rankers if ranker.name in self._weights
        }
        return [*rankers, Combination(parts)] if parts else rankers
