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
import difflib
import hashlib
import math
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from eqemb import scores, store, workshop
from eqemb.corpus import Corpus
from eqemb.embeddings import Embeddings
from eqemb.errors import UsageError
from eqemb.evaluation import READINGS
from eqemb.index import build_index
from eqemb.library import Library, make_folder, own_model, read_state, switch
from eqemb.models import EqEmbH
from eqemb.reading import (
    Backstops,
    Progress,
    Reader,
    begin,
    being_written,
    check_articles,
    checked_jobs,
    find_clusters,
    is_done,
    read_library,
    reading_step,
    records_written,
    resolved,
    write_report,
    write_run,
)
from eqemb.records import Record, Records
from eqemb.sources import Found, Limits, discover
from eqemb.split import Settings, Split

#: What a watcher is told: the stage, and how far it is.
Watch = Callable[[str, str], object]
READING, LEARNING, INDEXING = "reading", "learning", "indexing"
#: Words of the vocabulary in the text below which nothing is learned: vectors would be noise. Above
#: it held-out words decide, since it depends on the papers: 5,357 words of three papers taught far
#: more than chance, 10,126 of three others nothing.
LEAST_WORDS = 5_000
_TOGETHER = 500  # records that are written in one go


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
) -> Library:
    """Read papers into the library at `folder`, learn from them, index them, and open it.

    `model` may be settings of `EqEmbH`, or False: then words and structure alone are searched.
    `base` is a library, or a model's folder, whose word vectors are taken as they are. `resume`
    goes on with what was interrupted, at any stage; what was finished is left as it is.
    """
    started, folder, given = time.time(), Path(folder), _several(paths)
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
            return Library.open(folder)
        generation = begin(folder, [step], resume=resume)
        with records_written(generation / "records.sqlite") as records:
            reader = Reader(limits, Backstops(), jobs, _papers(watch))
            done = reader.read(tasks, records, folder)
            find_clusters(records)
            nothing = not records.names()
        if nothing:
            check_articles(write_report(generation, limits), folder, generation)
        about = None
        if lesson is not None:
            about = lesson.learn(generation, jobs, watch or _silent)
        _finish(generation, limits, about, watch or _silent)
        write_run(generation, started, jobs, paths=resolved(step), resumed_after=done)
        _switch(folder, generation)
    return Library.open(folder)


def _several(paths: str | Path | Iterable[str | Path]) -> list[str | Path]:
    return [paths] if isinstance(paths, str | Path) else list(paths)


def _silent(_stage: str, _state: str) -> None:
    """Nobody watches."""


def _papers(watch: Watch | None) -> Callable[[Progress], None] | None:
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


def _finish(generation: Path, limits: Limits, about: dict[str, Any] | None, watch: Watch) -> None:
    """The index and the report of records and model: all but the switch."""
    watch(INDEXING, "")
    shutil.rmtree(generation / "index", ignore_errors=True)
    with contextlib.closing(Records(generation / "records.sqlite")) as records:
        build_index(records, generation / "index", own_model(generation))
    write_report(generation, limits, **({} if about is None else {"model": about}))


def _switch(folder: Path, generation: Path) -> None:
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
            words = _base(Path(base))
            made = cls(settings, words, str(Path(base).resolve()))
        else:
            made = cls(settings)
        device = made.model().settled()
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
        with Library(work, generation) as unfinished:
            corpus = workshop.corpus(unfinished)
            if len(corpus.tokens) < LEAST_WORDS or not corpus.units:
                why = f"{len(corpus.tokens):,} words are too few to learn from ({LEAST_WORDS:,})"
            else:
                held = workshop.split(unfinished, workshop.ALL, corpus)
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
        found |= {
            "sha256": made.sha256,
            "validation": made.config["validation"],
            "chance": chance(made),
            "words": len(made.keys["words"]),
            "units": len(made.keys["units"]),
            "lacks": lacking(made, corpus),
        }
        if self.base is not None:
            lacks = lacking(self.base, corpus)
            taken = {"taken": len(corpus.words) - lacks["words"], "missing": lacks["words"]}
            found["base"] = {"path": self.place, "sha256": self.base.sha256} | taken
        return found


def chance(made: Embeddings) -> float:
    """The validation score of a model that knows nothing, in the reading of this one."""
    nothing = scores.zero(1, Settings().negatives)
    return READINGS[made.config["settings"].get("reading", "softmax")](nothing).item()


def _base(path: Path) -> Embeddings:
    """The model of a library, or of a folder, that gives its words."""
    place = path
    if read_state(path) is not None:
        with Library.open(path) as library:
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
        known = set(model.keys[kind])
        new = np.array([key not in known for key in keys], bool) & (often > 0)
        found |= {
            kind: int(new.sum()),
            f"all_{kind}": int((often > 0).sum()),
            f"{kind}_occurrences": int(often[new].sum()),
            f"all_{kind}_occurrences": int(often.sum()),
        }
    return found


# ---------------------------------------------------------------- add and remove


@dataclass
class Change:
    """What adding or removing papers did."""

    articles: int = 0
    """Articles that came, or went."""
    skipped: int = 0
    """New sources that are no articles."""
    known: list[str] = field(default_factory=list)
    """Not read, since articles of these names are there."""
    replaced: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    """To be replaced, but what should replace them could not be read."""
    lacks: dict[str, int] | None = None
    """What the model does not have of the new papers, where there is a model."""
    finished: bool = False
    """It was done before: there was nothing to go on with."""


def add_papers(
    folder: str | Path,
    paths: str | Path | Iterable[str | Path],
    *,
    replace: bool = False,
    jobs: int | None = None,
    resume: bool = False,
    limits: Limits | None = None,
    watch: Watch | None = None,
) -> Change:
    """Read papers into a library that is there, after those it has; its model stays as it is.

    A paper whose name is there already is passed over or, with `replace`, takes the other's place.
    """
    started, folder, given = time.time(), Path(folder), _several(paths)
    limits, jobs, watch = limits or Limits(), checked_jobs(jobs), watch or _silent
    Library.open(folder).close()
    tasks, change = discover(given, limits), Change()
    with being_written(folder), Library.open(folder) as old:
        step = reading_step("add", given, limits) | {"replace": replace}
        if resume and replace and is_done(folder, [*old.steps[:-1], step]):
            return Change(finished=True)  # without `replace` all papers are known by now
        generation = begin(folder, [*old.steps, step], resume=resume)
        there = set() if replace else set(old.records.names())
        with records_written(generation / "read.sqlite") as records:
            reader = Reader(limits, Backstops(), jobs, _papers(watch))
            done = reader.read(_unknown(tasks, there, change.known), records, folder)
        with contextlib.closing(Records(generation / "read.sqlite")) as new:
            if not new.names():
                change.skipped = new.count()
                if not change.known:
                    check_articles(_why_nothing(new), folder, generation)
                shutil.rmtree(generation, ignore_errors=True)
                return change
            merged = _Merged(old.records, new, change)
            _take(old, generation, merged, limits, watch, change=change)
        write_run(generation, started, jobs, paths=resolved(step), resumed_after=done)
        old.close()  # who has it open holds it
        _switch(folder, generation)
    return change


def remove_articles(
    folder: str | Path,
    names: Iterable[str],
    *,
    resume: bool = False,
    watch: Watch | None = None,
) -> Change:
    """Take articles out of a library; its model stays as it is."""
    started, folder, wanted = time.time(), Path(folder), list(dict.fromkeys(names))
    Library.open(folder).close()
    with being_written(folder), Library.open(folder) as old:
        step = {"step": "remove", "articles": wanted}
        if resume and is_done(folder, [*old.steps[:-1], step]):
            return Change(finished=True)
        _check_names(old, wanted)
        generation = begin(folder, [*old.steps, step], resume=resume)
        gone, left = set(wanted), old.records.names()
        change = Change(len([name for name in left if name in gone]))
        kept = (record for record in old.records.sources() if record.name not in gone)
        limits = Limits(**old.report["limits"])
        _take(old, generation, kept, limits, watch or _silent)
        write_run(generation, started, 1)
        old.close()
        _switch(folder, generation)
    return change


def _unknown(tasks: Iterator[Found], there: set[str], known: list[str]) -> Iterator[Found]:
    """Sources that are not there yet; the names of others are noted."""
    for found in tasks:
        if found.name in there:
            known.append(found.name)
        else:
            yield found


def _check_names(library: Library, wanted: list[str]) -> None:
    """Refuse names that are not there, and to leave nothing."""
    query = "SELECT name FROM sources ORDER BY id"
    every = list(dict.fromkeys(name for (name,) in library.records.rows(query)))
    for name in wanted:
        if name not in every:
            within = [other for other in every if name in other][:3]
            near = within or difflib.get_close_matches(name, every, n=3, cutoff=0.5)
            hint = f"did you mean {', '.join(near)}?" if near else "`eqemb show LIBRARY` lists them"
            raise UsageError(f"no article {name!r} in {library.folder}: {hint}")
    if not set(library.records.names()) - set(wanted):
        raise UsageError(
            f"that would leave no article in {library.folder}: delete the folder instead"
        )


def _why_nothing(records: Records) -> dict[str, Any]:
    """Of records without articles, what a report says of them."""
    query = "SELECT cause, COUNT(*) FROM sources GROUP BY cause ORDER BY COUNT(*) DESC, cause"
    return {"articles": 0, "skipped": {"causes": dict(records.rows(query))}}


class _Merged:
    """Old records, then new ones; of two with one name the new one, if it could be read."""

    def __init__(self, old: Records, new: Records, change: Change) -> None:
        self._old, self._new, self._change = old, new, change
        self._there = set(old.names())
        self._read = set(new.names())
        self._seen = set(new.rows("SELECT name, origin FROM sources"))

    def __iter__(self) -> Iterator[Record]:
        for record in self._old.sources():
            if record.name in self._read and record.status != "skipped":
                self._change.replaced.append(record.name)
            elif record.status != "skipped" or (
                record.name not in self._read and (record.name, record.origin) not in self._seen
            ):
                yield record
        for record in self._new.sources():
            if record.status != "skipped":
                self._change.articles += 1
            elif record.name in self._there:
                self._change.kept.append(record.name)
                continue
            else:
                self._change.skipped += 1
            yield record


def _take(
    old: Library,
    generation: Path,
    records: Iterable[Record],
    limits: Limits,
    watch: Watch,
    change: Change | None = None,
) -> None:
    """Fill a generation with these records, the model of the old one, and an index of both."""
    path = generation / "records.sqlite"
    for scrap in generation.glob("records.sqlite*"):  # of a try that was interrupted
        scrap.unlink()
    names = []
    with records_written(path) as written:
        for count, record in enumerate(records, 1):
            written.add(record)
            names.append(record.name)
            if count % _TOGETHER == 0:
                written.commit()
                watch(INDEXING, f"{count:,} sources taken over")
        written.commit()
        find_clusters(written)
    about = old.report.get("model")
    model = own_model(old.generation)
    if model is not None and about is not None:
        with store.new_folder(generation / "model", replace=True) as place:
            for file in (old.generation / "model").iterdir():
                _link(file, place / file.name)
        with Library(generation / "training", generation) as unfinished:
            corpus = workshop.corpus(unfinished)
        about = about | {"lacks": lacking(model, corpus)}
        if change is not None:
            new = frozenset(names) - (frozenset(old.records.names()) - frozenset(change.replaced))
            change.lacks = lacking(model, corpus, new)
    _finish(generation, limits, about, watch)


def _link(file: Path, place: Path) -> None:
    """The same file in another folder: a model is written once, and never changed."""
    try:
        place.hardlink_to(file)
    except OSError:
        shutil.copyfile(file, place)


# ---------------------------------------------------------------- make it again


@dataclass
class Rebuilt:
    """Whether a library made again from its recorded steps is the same."""

    parts: dict[str, bool] = field(default_factory=dict)
    """Records, model and every file of the index: whether the bytes agree."""
    changed: list[str] = field(default_factory=list)
    """Papers that are read differently now."""
    vanished: list[str] = field(default_factory=list)
    appeared: list[str] = field(default_factory=list)

    @property
    def agrees(self) -> bool:
        """Whether everything is the same."""
        return all(self.parts.values()) and not (self.changed or self.vanished or self.appeared)


def rebuild(folder: str | Path, *, jobs: int | None = None, watch: Watch | None = None) -> Rebuilt:
    """Make a library again, in a temporary folder, by the steps that made it, and compare."""
    folder = Path(folder).resolve()
    with Library.open(folder) as library:
        done = library.steps
        if not done:
            raise UsageError(f"{folder} does not say how it was made: build it anew")
        found = Rebuilt(vanished=_gone(done))
        if found.vanished:
            return found
        with tempfile.TemporaryDirectory() as scratch:
            again = Path(scratch).resolve() / "library"
            for step in done:
                with contextlib.chdir(step.get("from", scratch)):
                    _repeat(step, again, jobs, watch)
            with Library.open(again) as other:
                _compare(library, other, found)
        for base in _bases(done):
            if _base(Path(base["path"])).sha256 != base["sha256"]:
                found.changed.append(base["path"])
    return found


def _gone(done: list[dict[str, Any]]) -> list[str]:
    """Places that the steps of a library need and that are no longer there."""
    places = [place for step in done if "paths" in step for place in resolved(step)]
    places += [step["from"] for step in done if "from" in step]
    places += [base["path"] for base in _bases(done)]
    return [place for place in dict.fromkeys(places) if not Path(place).exists()]


def _bases(done: list[dict[str, Any]]) -> list[dict[str, str]]:
    """The libraries whose words were taken."""
    lessons = [step["model"] for step in done if step.get("model")]
    return [lesson["base"] for lesson in lessons if lesson["base"]]


def _repeat(step: dict[str, Any], folder: Path, jobs: int | None, watch: Watch | None) -> None:
    """Do a step again."""
    if step["step"] == "remove":
        with Library.open(folder) as library:  # a paper may have vanished since
            there = {name for (name,) in library.records.rows("SELECT name FROM sources")}
        if wanted := [name for name in step["articles"] if name in there]:
            remove_articles(folder, wanted, watch=watch)
        return
    limits = Limits(**step["limits"])
    if step["step"] == "add":
        replace = step["replace"]
        options: dict[str, Any] = {"replace": replace, "jobs": jobs, "limits": limits}
        add_papers(folder, step["paths"], **options, watch=watch)
    elif step["step"] == "read":
        options = {"jobs": jobs, "limits": limits, "index": step.get("index", False)}
        read_library(step["paths"], folder, **options, progress=_papers(watch)).close()
    else:
        lesson = step["model"]
        base = lesson["base"]["path"] if lesson and lesson["base"] else None
        model = lesson["settings"] if lesson else False
        options = {"model": model, "base": base, "jobs": jobs, "limits": limits}
        build_library(step["paths"], folder, **options, watch=watch).close()


def _compare(library: Library, other: Library, found: Rebuilt) -> None:
    found.parts["records"] = library.records.sha256() == other.records.sha256()
    ours, theirs = _digests(library), _digests(other)
    found.changed = [name for name in ours if theirs.get(name, ours[name]) != ours[name]]
    found.vanished = [name for name in ours if name not in theirs]
    found.appeared = [name for name in theirs if name not in ours]
    one, two = (each.model.sha256 if each.model else "" for each in (library, other))
    if one or two:
        found.parts["model"] = one == two
    for file in sorted(_index_files(library) | _index_files(other)):
        paths = [each.generation / "index" / file for each in (library, other)]
        found.parts[f"index/{file}"] = _sha256(paths[0]) == _sha256(paths[1])


def _digests(library: Library) -> dict[str, list[bytes]]:
    """What was read, by name."""
    found: dict[str, list[bytes]] = {}
    for name, digest in library.records.rows("SELECT name, digest FROM sources ORDER BY id"):
        found.setdefault(name, []).append(digest)
    return found


def _index_files(library: Library) -> set[str]:
    place = library.generation / "index"
    return {path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()}


def _sha256(path: Path) -> str:
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
