"""The training files of a library: corpora, splits and models.

    corpus/COLLECTION/KEY/   a collection as arrays; "all" is every article
    splits/COLLECTION/KEY/   words held out of it
    models/NAME/             a trained model; models/.NAME.checkpoint while it is being trained

KEY is a hash of everything that decides the content (records, rules, settings), so that a folder is
never out of date: other rules make another folder.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.parse import quote, unquote

import numpy as np

from eqemb.article import interleave
from eqemb.checks import check_choice, check_flag, did_you_mean
from eqemb.corpus import split as splits
from eqemb.corpus.corpus import CORPUS_VERSION, Corpus, EquationToken, TokenStream
from eqemb.corpus.split import Split
from eqemb.corpus.vocabulary import STOP_WORDS, Rules
from eqemb.errors import UsageError
from eqemb.library.database import ALL
from eqemb.library.generations import OpenLibrary
from eqemb.library.links import refuse_links
from eqemb.models import registry
from eqemb.models.base import Model, TrainingEstimate
from eqemb.models.checkpoint import Callback
from eqemb.models.embeddings import Embeddings
from eqemb.models.eqemb import EqEmb
from eqemb.models.likelihood import chance
from eqemb.storage import array_file, atomic
from eqemb.storage.locks import locked

_MODEL_NAME = re.compile(r"[^./\\\s][^/\\]*")


def collections(library: OpenLibrary) -> dict[str, int]:
    """Collections and how many articles each has; "all" comes last."""
    return library.records.collections() | {ALL: len(library.records.names())}


@dataclass(frozen=True)
class CorpusChoice:
    """Which corpus of a library to build: its collection and how words and equations are chosen."""

    collection: str = ALL
    rules: Rules = field(default_factory=Rules)
    numbering: str = "display"
    duplicates: bool = False
    """Whether near-duplicates of other documents of the collection are included."""

    def __post_init__(self) -> None:
        check_choice("numbering", self.numbering, ("display", "numbered"))
        check_flag("duplicates", self.duplicates)

    def described(self, library: OpenLibrary) -> dict[str, Any]:
        """Everything that decides the content of the corpus."""
        made = {"records": library.records.sha256(), "version": CORPUS_VERSION}
        return asdict(self) | made | {"stop_words": sorted(STOP_WORDS)}

    def key(self, library: OpenLibrary) -> str:
        """The name of the folder of the corpus."""
        return array_file.content_hash(self.described(library), {})[:12]


def corpus(library: OpenLibrary, choice: CorpusChoice | None = None) -> Corpus:
    """The corpus of a collection, built if it does not exist."""
    choice = choice or CorpusChoice()
    known = collections(library)
    if choice.collection not in known:
        choose = f"choose one of {', '.join(known)}"
        hint = did_you_mean(choice.collection, known, choose, count=1, cutoff=0.6)
        raise UsageError(f"no collection {choice.collection!r} in {library.folder}: {hint}")
    path = library.folder / "corpus" / quote(choice.collection, safe=" ") / choice.key(library)
    if not path.exists():
        refuse_links(library.home)
        left_out = frozenset() if choice.duplicates else _repeated(library, choice.collection)
        articles = _articles(library, choice.collection)
        made = Corpus.build(articles, choice.rules, numbering=choice.numbering, leave_out=left_out)
        _save_once(made, path)
    return Corpus.load(path)


def _save_once(made: Corpus | Split, path: Path) -> None:
    """Save in a folder named by its content; another process may have saved the same."""
    try:
        made.save(path)
    except (UsageError, OSError):
        if not path.exists():
            raise


def _articles(library: OpenLibrary, collection: str) -> Iterator[tuple[str, str, TokenStream]]:
    """Articles as `Corpus.build` takes them, one at a time."""
    records = library.records
    for key, name, group, text in records.texts(collection):
        formulas = [
            EquationToken(form, units, f"{name}#{ordinal}", numbered)
            for ordinal, numbered, form, units in records.article_types(key)
        ]
        yield name, group, interleave(text, formulas)


def _repeated(library: OpenLibrary, collection: str) -> frozenset[str]:
    """Articles of a collection that are near-duplicates of an earlier one."""
    seen: set[int] = set()
    again = set()
    for name, cluster in library.records.near_duplicates(collection):
        if cluster in seen:
            again.add(name)
        seen.add(cluster)
    return frozenset(again)


def split(
    library: OpenLibrary, collection: str, of: Corpus, settings: splits.SplitSettings | None = None
) -> Split:
    """The split of a corpus, made if it does not exist."""
    settings = settings or splits.SplitSettings()
    key = array_file.content_hash(asdict(settings) | {"corpus": of.sha256}, {})[:12]
    path = library.folder / "splits" / quote(collection, safe=" ") / key
    if not path.exists():
        refuse_links(library.home)
        _save_once(Split.make(of, settings), path)
    return Split.load(path)


def split_summary(of: Corpus, made: Split) -> dict[str, Any]:
    """The size of a split, and the scores of the baselines on its test words."""
    return {
        "corpus": of.sha256,
        "sha256": made.sha256,
        "seed": made.settings.seed,
        "types": len(np.unique(made.types)),
        "skipped": made.skipped,
        "validation": int(made.of(splits.VALIDATION).sum()),
        "test": int(made.of(splits.TEST).sum()),
        "negatives": made.settings.negatives,
        "left_out": of.left_out,
        "chance": chance(of, made) if made.of(splits.TEST).any() else {},
    }


@dataclass
class Training:
    """A model to be trained, and where it will be saved."""

    model: Model
    corpus: Corpus
    split: Split | None
    library: Path
    name: str
    seed: int = 0
    threads: int = 1
    collection: str = ALL

    def __post_init__(self) -> None:
        if not _MODEL_NAME.fullmatch(self.name):
            raise UsageError(
                f"{self.name!r} cannot be the name of a model: give a --name without slashes or"
                " leading dots"
            )

    @property
    def path(self) -> Path:
        """The folder of the model."""
        return self.library / "models" / self.name

    @property
    def checkpoint(self) -> Path:
        """The file from which an interrupted training is resumed."""
        return self.library / "models" / f".{self.name}.checkpoint"

    def check(self, *, resume: bool = False) -> Embeddings | None:
        """The finished model if `resume` finds it; a name that is taken is refused."""
        self.model.check(self.corpus)
        if not self.path.exists():
            if self.checkpoint.exists() and not resume:
                raise UsageError(
                    f"the training of {self.name!r} was interrupted: continue with --resume, give"
                    f" another --name, or remove {self.checkpoint}"
                )
            return None
        found = Embeddings.verified(self.path)
        if resume and found.config["identity"] == self.model.identity(
            self.corpus, self.split, self.seed
        ):
            atomic.remove_file(self.checkpoint)  # a run was killed after it had saved the model
            _remove_lock(self.checkpoint)
            return found
        raise UsageError(
            f"{self.library} already has a model {self.name!r}: give another --name, or remove"
            f" {self.path}"
        )

    def warnings(self) -> list[str]:
        """What to know about given word vectors before trusting a score."""
        model = self.model
        if not isinstance(model, EqEmb) or not isinstance(model.words, Embeddings):
            return []
        lacking = model.words_missing(self.corpus)
        words, occurrences = len(self.corpus.words), len(self.corpus.tokens)
        share = f"{lacking['occurrences']:,} of {occurrences:,} occurrences"
        found = [f"{lacking['words']:,} of {words:,} words have no given vector ({share})"]
        if self.split is not None and model.words.config.get("split") != self.split.sha256:
            found.append(
                "the given vectors may have been trained on words that are held out here: scores"
                " may be too good"
            )
        return found

    def remarks(self, made: Embeddings) -> list[str]:
        """What to know about a model that was trained."""
        score = made.config["validation"]
        if score is None or self.split is None or self.model.reading != "softmax":
            return []
        chance = -math.log(self.split.settings.negatives + 1)
        if score > chance:
            return []
        return [f"the validation score is no better than chance ({chance:.3f}): try a smaller rate"]

    def summary(self, made: Embeddings) -> dict[str, Any]:
        """A summary of a trained model, for `--json`."""
        first = [row for row in made.history if row["stage"] == made.history[0]["stage"]]
        seconds = sum(row["seconds"] for row in first)
        return {
            "model": made.config["model"],
            "sha256": made.sha256,
            "iterations": len(made.history),
            "validation": made.config["validation"],
            "words_per_second": sum(row["positions"] for row in first) / max(seconds, 1e-9),
            "seconds": made.run["seconds"],
            "device": made.run.get("device", "cpu"),
            "path": str(self.path),
        }

    def estimate(self, *, probe: bool = True) -> TrainingEstimate:
        """What training will need; `probe` times a small part of it."""
        return self.model.estimate(self.corpus, threads=self.threads, probe=probe)

    def run(self, callback: Callback | None = None, *, resume: bool = False) -> Embeddings:
        """Train and save the model; with `resume`, return one with the same settings."""
        refuse_links(self.library)
        if found := self.check(resume=resume):
            return found
        with reserve_name(self.checkpoint):
            return self._run(callback, resume=resume)

    def _run(self, callback: Callback | None, *, resume: bool) -> Embeddings:
        start = perf_counter()
        self.model.fit(
            self.corpus,
            self.split,
            seed=self.seed,
            threads=self.threads,
            callback=callback,
            checkpoint=self.checkpoint,
            resume=resume,
        )
        made = self.model.embeddings_
        made.run |= {"collection": self.collection, "seconds": perf_counter() - start}
        made.save(self.path)
        atomic.remove_file(self.checkpoint)
        return made


@contextmanager
def reserve_name(checkpoint: Path) -> Iterator[None]:
    """Reserve the name of a model while it is trained; a second training is refused."""
    checkpoint.parent.mkdir(exist_ok=True)
    name = checkpoint.name[1:].removesuffix(".checkpoint")
    with locked(checkpoint.with_suffix(".lock"), f"{name} is being trained"):
        try:
            yield
        finally:
            _remove_lock(checkpoint)


def _remove_lock(checkpoint: Path) -> None:
    with suppress(OSError):  # Windows refuses while it is locked, and removes it afterwards
        checkpoint.with_suffix(".lock").unlink()


def train_or_load(
    model: Model,
    of: Corpus,
    made: Split,
    place: Path,
    name: str,
    *,
    threads: int = 1,
    collection: str = ALL,
) -> Embeddings:
    """Train a model with seed 0, or load it: it is saved under its name and its identity."""
    key = f"{name}-{model.identity(of, made, 0)[:12]}"
    task = Training(model, of, made, place, key, threads=threads, collection=collection)
    return task.run(resume=True)


def find_model(library: OpenLibrary, name: str) -> Path:
    """The folder of a model; an unknown name is refused with similar ones.

    The hash in the name of a model saved by `train_or_load` can be left out if it is unambiguous.
    """
    known = library.models()
    if name not in known:
        kept = re.compile(re.escape(name) + "-[0-9a-f]{12}")
        near = [*filter(kept.fullmatch, known)]
        if len(near) == 1:
            return library.folder / "models" / near[0]
        have = ", ".join(known) or "none; train one with `eqemb train`"
        others = [] if near else known
        hint = did_you_mean(
            name, others, f"it has {have}", count=len(near) or 1, cutoff=0.6, first=near
        )
        raise UsageError(f"no model {name!r} in {library.folder}: {hint}")
    return library.folder / "models" / name


def restore_model(made: Embeddings) -> Model:
    """The model of saved embeddings, which can score again."""
    done = {"preset": "", "words": None}  # they are resolved in the other settings
    settings = {name: done.get(name, value) for name, value in made.config["settings"].items()}
    model = registry.find(made.config["model"]).kind(**settings)
    model.embeddings_ = made
    return model


def training_data(library: OpenLibrary, made: Embeddings) -> tuple[Corpus, Split]:
    """The corpus and the split that a model was trained with."""
    found: dict[str, Path] = {}
    for name in ("corpus", "split"):
        wanted = made.config[name]
        if wanted is None:
            raise UsageError(
                "this model was trained without a split: there are no held-out words to score"
            )
        for path, _ in _stored(library, name, wanted):
            found[name] = path
        if name not in found:
            raise UsageError(f"the {name} of this model no longer exists: train it again")
    return Corpus.load(found["corpus"]), Split.load(found["split"])


def _stored(library: OpenLibrary, name: str, wanted: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Folders of corpora or splits with a hash, and their descriptions."""
    kind = {"corpus": "corpus", "split": "splits"}[name]
    for path in sorted((library.folder / kind).glob(f"*/*/{name}.json")):
        described = json.loads(path.read_text("utf-8"))
        if described.get("sha256") == wanted:
            yield path.parent, described


def is_current(library: OpenLibrary, config: Mapping[str, Any]) -> bool:
    """Whether a model, by its config, was trained on the present records of the library.

    It is False only if that is certain: the corpus of the model exists, and its stop words are not
    a list of the user's own, of which only the hash is saved.
    """
    kept = list(_stored(library, "corpus", config["corpus"]))
    mine = any(isinstance(described["settings"]["stop_words"], dict) for _, described in kept)
    return (
        mine
        or not kept
        or any(
            path.name in _keys(library, unquote(path.parent.name), described["settings"])
            for path, described in kept
        )
    )


def _keys(library: OpenLibrary, collection: str, settings: Mapping[str, Any]) -> set[str]:
    """The keys of corpora with these settings; "auto" is saved as the number it resolved to."""
    rules = {name: value for name, value in settings.items() if name != "numbering"}
    return {
        CorpusChoice(
            collection,
            Rules(**(rules | {"min_count": least, "top": top})),
            settings["numbering"],
            duplicates=duplicates,
        ).key(library)
        for least, top, duplicates in product(
            (rules["min_count"], "auto"), (rules["top"], "auto"), (False, True)
        )
    }
