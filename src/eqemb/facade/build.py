"""Make a library and change it: read, learn and index; add papers, remove some, make it again.

Every change is a new generation, taken by writing library.json anew: after a kill at any moment
the library is the old one or the new one, and `resume` goes on.

    settings.json   the steps that made the library, this change the last of them
    records.sqlite  what was read; `read.sqlite` holds new papers until they are among the old ones
    model/          the library's own model: EqEmb-H with its defaults, learned from all papers
    training/       corpus, split and checkpoint, while the model is being learned
    index/          a function of records and model

`add` and `remove` leave the model as it is: new records, the same model, a new index.
"""

import contextlib
import math
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eqemb.corpus.corpus import Corpus
from eqemb.corpus.split import Split, SplitSettings
from eqemb.errors import UsageError
from eqemb.index.build import build_index
from eqemb.library.database import ALL, Records
from eqemb.library.generations import OpenLibrary, make_folder, read_state, switch
from eqemb.library.ingest import (
    Backstops,
    Progress,
    Reader,
    begin,
    being_written,
    check_articles,
    checked_jobs,
    find_clusters,
    is_done,
    reading_step,
    records_written,
    resolved,
    write_report,
    write_run,
)
from eqemb.models import likelihood, workspace
from eqemb.models.embeddings import Embeddings, own_model
from eqemb.models.eqemb_h import EqEmbH
from eqemb.models.likelihood import LIKELIHOODS
from eqemb.sources import Limits, discover

#: What a watcher is told: the stage, and how far it is.
Watch = Callable[[str, str], object]
READING, LEARNING, INDEXING = "reading", "learning", "indexing"
#: Words of the vocabulary in the text below which nothing is learned: vectors would be noise. Above
#: it held-out words decide, since it depends on the papers: 5,357 words of three papers taught far
#: more than chance, 10,126 of three others nothing.
LEAST_WORDS = 5_000
TOGETHER = 500  # records that are written in one go


def read_library(
    paths: str | Path | Iterable[str | Path],
    folder: str | Path,
    *,
    jobs: int | None = None,
    resume: bool = False,
    limits: Limits | None = None,
    backstops: Backstops | None = None,
    progress: Callable[[Progress], None] | None = None,
    index: bool = False,
) -> None:
    """Read papers into the library at `folder` and open it; with `index`, for questions.

    `resume` goes on with a reading of the same papers that was interrupted.
    """
    started, folder, given = time.time(), Path(folder), several(paths)
    limits, jobs = limits or Limits(), checked_jobs(jobs)
    tasks = discover(given, limits)
    make_folder(folder)
    with being_written(folder):
        step = reading_step("read", given, limits) | {"index": index}
        if resume and is_done(folder, [step], discover(given, limits)):
            return
        generation = begin(folder, [step], resume=resume)
        with records_written(generation / "records.sqlite") as records:
            reader = Reader(limits, backstops or Backstops(), jobs, progress)
            done = reader.read(tasks, records, folder)
            find_clusters(records)
        check_articles(write_report(generation, limits), folder, generation)
        if index:
            with contextlib.closing(Records(generation / "records.sqlite")) as records:
                build_index(records, generation / "index")
        write_run(generation, started, jobs, paths=resolved(step), resumed_after=done)
        switch(folder, generation)


def build_library(
    paths: str | Path | Iterable[str | Path],
    folder: str | Path,
    *,
    model: bool | Mapping[str, Any] = True,
    base: str | Path | None = None,
    jobs: int | None = None,
    resume: bool = False,
    limits: Limits | None = None,
    watch: Watch | None = None,
) -> None:
    """Read papers into the library at `folder`, learn from them, index them, and open it.

    `model` may be settings of `EqEmbH`, or False: then words and structure alone are searched.
    `base` is a library, or a model's folder, whose word vectors are taken as they are. `resume`
    goes on with what was interrupted, at any stage; what was finished is left as it is.
    """
    started, folder, given = time.time(), Path(folder), several(paths)
    limits, jobs = limits or Limits(), checked_jobs(jobs)
    if base is not None and model is False:
        raise UsageError("a base gives word vectors to a model: leave one of them out")
    lesson = None if model is False else _Lesson.made(model, base)
    tasks = discover(given, limits)
    make_folder(folder)
    with being_written(folder):
        step = reading_step("build", given, limits)
        step["model"] = lesson.described() if lesson else None
        if resume and is_done(folder, [step], discover(given, limits)):
            return
        generation = begin(folder, [step], resume=resume)
        with records_written(generation / "records.sqlite") as records:
            reader = Reader(limits, Backstops(), jobs, report_papers(watch))
            done = reader.read(tasks, records, folder)
            find_clusters(records)
            nothing = not records.names()
        if nothing:
            check_articles(write_report(generation, limits), folder, generation)
        about = None
        if lesson is not None:
            about = lesson.learn(generation, jobs, watch or silent)
        finish(generation, limits, about, watch or silent)
        write_run(generation, started, jobs, paths=resolved(step), resumed_after=done)
        switch_generation(folder, generation)


def several(paths: str | Path | Iterable[str | Path]) -> list[str | Path]:
    """Several paths, where one may be given too."""
    return [paths] if isinstance(paths, str | Path) else list(paths)


def silent(_stage: str, _state: str) -> None:
    """Nobody watches."""


def report_papers(watch: Watch | None) -> Callable[[Progress], None] | None:
    """A watcher of every stage as one of reading."""
    if watch is None:
        return None

    def tell(state: Progress) -> None:
        watch(
            READING,
            f"{state.done:,} papers, {state.equations:,} equations, {state.skipped:,} skipped"
            f" · {state.name}",
        )

    return tell


def finish(generation: Path, limits: Limits, about: dict[str, Any] | None, watch: Watch) -> None:
    """The index and the report of records and model: all but the switch."""
    watch(INDEXING, "")
    shutil.rmtree(generation / "index", ignore_errors=True)
    with contextlib.closing(Records(generation / "records.sqlite")) as records:
        build_index(records, generation / "index", own_model(generation))
    write_report(generation, limits, **({} if about is None else {"model": about}))


def switch_generation(folder: Path, generation: Path) -> None:
    """Take the generation; what helped to make it goes, as late as can be."""
    (generation / "read.sqlite").unlink(missing_ok=True)
    shutil.rmtree(generation / "training", ignore_errors=True)
    switch(folder, generation)


# ---------------------------------------------------------------- the model


@dataclass(frozen=True)
class _Lesson:
    """What the library's own model is to be."""

    settings: Mapping[str, Any]
    base: Embeddings | None = None
    place: str = ""
    """Where the base was found."""

    @classmethod
    def made(cls, model: bool | Mapping[str, Any], base: str | Path | None) -> "_Lesson":  # noqa: FBT001
        """Checked before anything is read."""
        settings = {} if isinstance(model, bool) else dict(model)
        if base is not None:
            words = base_model(Path(base))
            made = cls(settings, words, str(Path(base).resolve()))
        else:
            made = cls(settings)
        device = made.model().check_device()
        if settings.get("device") == "auto":  # who makes it again has to learn where we did
            settings["device"] = device
        return made

    def model(self) -> EqEmbH:
        """Ready to be trained; given words stay as they are, so that equations come second.

        On processors, unless it was said: a library is the same bytes on every machine.
        """
        settings = {"device": "cpu", **self.settings}
        if self.base is None:
            return EqEmbH(**settings)
        given = {"dim": self.base.words.vector_size, "passes": "two", "words": self.base}
        return EqEmbH(**{**settings, **given})

    def described(self) -> dict[str, Any]:
        """As a step of a library's making has it."""
        base = None if self.base is None else {"path": self.place, "sha256": self.base.sha256}
        return {"settings": dict(self.settings), "base": base}

    def learn(self, generation: Path, threads: int, watch: Watch) -> dict[str, Any]:
        """Learn the generation's model, or go on with it; what there is to say of it."""
        place, work = generation / "model", generation / "training"
        made, why = None, ""
        watch(LEARNING, "words are counted")
        with OpenLibrary(work, generation) as unfinished:
            corpus = workspace.corpus(unfinished)
            if len(corpus.tokens) < LEAST_WORDS or not corpus.units:
                why = f"{len(corpus.tokens):,} words are too few to learn from ({LEAST_WORDS:,})"
            else:
                held = workspace.split(unfinished, ALL, corpus)
                made = self._trained(corpus, held, work, threads, watch)
        if made is not None and (made.config["validation"] or -math.inf) <= chance(made):
            made, why = None, "what was learned is no better than chance on held-out words"
        if made is None and self.base is not None:
            made, why = self.base, f"{why}: the model of the base is taken as it is"
        if made is not None:
            made.save(place, replace=True)
        return self._about(made, corpus, why)

    def _trained(
        self, corpus: Corpus, held: Split, work: Path, threads: int, watch: Watch
    ) -> Embeddings:
        model = self.model()
        # named by all that decides the outcome: papers that came meanwhile make another
        checkpoint = work / f"{model.identity(corpus, held, 0)[:12]}.checkpoint"

        def tell(iteration: int, _seconds: float, _loss: float, score: float | None) -> None:
            stage = model.history_[-1]["stage"]
            said = "" if score is None else f", validation {score:.3f}"
            watch(LEARNING, f"{stage}, iteration {iteration} of up to {model.iterations}{said}")

        watch(LEARNING, "first iteration (loops are compiled once)")
        model.fit(corpus, held, threads=threads, callback=tell, checkpoint=checkpoint, resume=True)
        return model.embeddings_

    def _about(self, made: Embeddings | None, corpus: Corpus, why: str) -> dict[str, Any]:
        """The model as the report has it."""
        found: dict[str, Any] = {"why": why} if why else {}
        if made is None:
            return found | {"sha256": None}
        found |= describe_model(made, corpus)
        if self.base is not None:
            lacks = lacking(self.base, corpus)
            taken = {"taken": len(corpus.words) - lacks["words"], "missing": lacks["words"]}
            found["base"] = {"path": self.place, "sha256": self.base.sha256} | taken
        return found


def describe_model(made: Embeddings, corpus: Corpus) -> dict[str, Any]:
    """What the report says about a library's model; `corpus` is that of the library."""
    return {
        "sha256": made.sha256,
        "validation": made.config["validation"],
        "chance": chance(made),
        "words": len(made.keys["words"]),
        "units": len(made.keys.get("units", ())),
        "lacks": lacking(made, corpus),
    }


def chance(made: Embeddings) -> float:
    """The validation score of a model that knows nothing, in the reading of this one."""
    nothing = likelihood.zero(1, SplitSettings().negatives)
    return LIKELIHOODS[made.config["settings"].get("reading", "softmax")](nothing).item()


def base_model(path: Path) -> Embeddings:
    """The model of a library, or of a folder, that gives its words."""
    place = path
    if read_state(path) is not None:
        with OpenLibrary.open(path) as library:
            place = library.generation / "model"
        if not place.is_dir():
            raise UsageError(f"{path} has no model to take words from: build it without --no-model")
    elif not (path / "config.json").is_file():
        raise UsageError(f"no library at {path} to take words from: name one, or a model's folder")
    found = Embeddings.verified(place)
    for kind in ("words", "units"):
        found.view(kind)
    return found


def lacking(
    model: Embeddings, corpus: Corpus, articles: frozenset[str] | None = None
) -> dict[str, int]:
    """Words and units of a corpus, or of some of its articles, that a model does not have.

    Words are those that training anew would learn; each is counted once and as often as it occurs.
    """
    taken = np.array([articles is None or name in articles for name in corpus.articles], bool)
    counts = np.bincount(
        corpus.tokens[np.repeat(taken, np.diff(corpus.starts))], minlength=len(corpus.words)
    )
    types = np.unique(corpus.equation_types[taken[corpus.equation_articles]])
    bags = np.zeros(len(corpus.forms), bool)
    bags[types] = True
    units = np.bincount(
        corpus.unit_ids[np.repeat(bags, np.diff(corpus.unit_starts))],
        minlength=len(corpus.units),
    )
    found: dict[str, int] = {}
    for kind, keys, often in (("words", corpus.words, counts), ("units", corpus.units, units)):
        known = set(model.keys.get(kind, ()))
        new = np.array([key not in known for key in keys], bool) & (often > 0)
        found |= {
            kind: int(new.sum()),
            f"all_{kind}": int((often > 0).sum()),
            f"{kind}_occurrences": int(often[new].sum()),
            f"all_{kind}_occurrences": int(often.sum()),
        }
    return found
