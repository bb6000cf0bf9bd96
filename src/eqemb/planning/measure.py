"""Measure each stage of building and asking a library, on papers of the user.

A library is built stage by stage, each in a process of its own, so that CPU seconds and peak memory
are those of the stage: reading, near-duplicates, the report, the parts of the index by segment,
training, vectors, and answers. `benchmarks/growth.py` calls `measure_size` for large corpora.
"""

import importlib.util
import itertools
import os
import random
import shutil
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from eqemb.errors import UsageError
from eqemb.facade.build import index_vectors, read_library
from eqemb.facade.library import Library
from eqemb.facade.model import ModelPlan
from eqemb.index.build import INDEX_PARTS, finish_index
from eqemb.library.database import open_records
from eqemb.library.generations import OpenLibrary, seal_again
from eqemb.library.ingest import write_report
from eqemb.library.integrity import seal_alone
from eqemb.library.manifest import segment_folder
from eqemb.library.near_duplicates import Sketches, near_pairs, write_sketches
from eqemb.library.segments import SEGMENT_DOCUMENTS, update_near_pairs
from eqemb.planning.measurements import (
    Measurements,
    Size,
    describe_machine,
    describe_versions,
    today,
)
from eqemb.planning.texts import plural
from eqemb.planning.usage import child_peak_bytes, cpu_seconds, memory_now, peak_bytes
from eqemb.sources import Limits, discover
from eqemb.storage.process_pool import spawned_pool

Watch = Callable[[str], object]
Row = dict[str, Any]
T = TypeVar("T")

#: Papers of the default sample, and the sizes measured: shares of the sample.
SAMPLE_PAPERS = 100
SAMPLE_SHARES = (0.25, 0.5, 1.0)
_FEWEST_PAPERS = 8  # papers of a sample
_TIMED_QUERIES = 10  # of each kind
#: Papers of the segments in which near-duplicates are looked for: larger ones need gigabytes.
PAIR_PAPERS = (SEGMENT_DOCUMENTS, 4 * SEGMENT_DOCUMENTS)
_PAIRED = (0, 1, 2)  # earlier segments in which near-duplicates are looked for
_SAMPLE_SEED = 1
_MEASURE_LESS = "or measure a smaller --sample"


def measure(
    paths: Iterable[str | Path],
    *,
    sample: int = SAMPLE_PAPERS,
    jobs: int | None = None,
    train: bool = True,
    watch: Watch = lambda _text: None,
) -> Measurements:
    """Measure a sample of papers at three sizes; `watch` is told what is being measured."""
    papers, root = sample_papers(paths, sample)
    counts = sorted({max(2, round(share * len(papers))) for share in SAMPLE_SHARES})
    sizes = []
    with tempfile.TemporaryDirectory(prefix="eqemb-measure-") as work:
        if train and _can_train():
            watch("compiling what training needs (not counted)")
            measure_size(papers[: counts[0]], root, Path(work, "first"), jobs=jobs)
        for count in counts:
            chosen = papers[:count]
            folder = Path(work, str(count))
            sizes.append(measure_size(chosen, root, folder, jobs=jobs, train=train, watch=watch))
            shutil.rmtree(folder)
        watch("near-duplicates of whole segments")
        pairs = measure_pairs(Path(work), sizes[-1])
    command = f"eqemb plan --measure, {len(papers):,} papers"
    return Measurements(
        today(), describe_machine(), describe_versions(), command, tuple(sizes), pairs
    )


def sample_papers(paths: Iterable[str | Path], count: int) -> tuple[list[Path], Path]:
    """Choose papers at random, the same ones each time, and return the folder they are below."""
    given = [Path(path) for path in paths]
    files: Counter[Path] = Counter()
    for found in discover(given):
        place = Path(found.path)
        if found.kind == "folder":
            place = place / found.root
        if not found.cause:
            files[place] += 1
    papers = sorted(files)
    if len(papers) < _FEWEST_PAPERS:
        raise UsageError(
            f"{', '.join(map(str, given))}: {plural(len(papers), 'paper')} in files or folders of"
            f" their own, a measurement needs at least {_FEWEST_PAPERS}: give a folder of papers,"
            " and unpack archives of many"
        )
    chosen = random.Random(_SAMPLE_SEED).sample(papers, min(count, len(papers)))
    return chosen, Path(os.path.commonpath([path.parent for path in chosen]))


# ---------------------------------------------------------------- one size


def measure_size(
    papers: Sequence[Path],
    root: Path,
    folder: Path,
    *,
    jobs: int | None = None,
    train: bool = True,
    watch: Watch = lambda _text: None,
) -> Size:
    """Build a library of these papers at `folder`, stage by stage, and measure each stage.

    Segments are indexed by `jobs` processes at a time. Training needs numba or a GPU, and is left
    out without them.
    """
    jobs = jobs or os.cpu_count() or 1

    def say(stage: str) -> None:
        watch(f"{len(papers):,} papers: {stage}")

    folder.mkdir(parents=True)
    library = folder / "library"
    cpu: dict[str, float] = {}
    peaks: dict[str, int] = {}
    say("reading")
    row = in_process(_read, list(map(str, papers)), str(library), str(root), jobs)
    after = in_process(_after_reading, str(library))
    again = sum(after["cpu"].values())
    cpu = {"read": max(row["cpu"] - again, 0.0), **after["cpu"]}
    peaks["read"] = row["peak"]
    say("indexing")
    indexed = _index(library, jobs)
    cpu |= _sum(part["cpu"] for part in indexed)
    peaks["index"] = max(part["peak"] for part in indexed)
    sizes = Counter(_disk_bytes(library)) + Counter(_sum(part["bytes"] for part in indexed))
    if train and _can_train():
        say("training")
        trained = in_process(_train, str(library), jobs)
        seal_again(library)
        cpu |= trained["cpu"]
        peaks["train"] = trained["peak"]
        sizes["vectors"] = trained["bytes"]
    elif train:
        say("training is left out: numba is not installed")
    say("asking")
    asked = in_process(_ask, str(library))
    report = after["report"]
    return Size(
        papers=report["articles"],
        words=report["words"],
        equations=report["equations"],
        types=_distinct(library, "types"),
        vocabulary=_distinct(library, "words"),
        source_bytes=sum(map(_tree_bytes, papers)),
        cpu_seconds={name: round(value, 4) for name, value in cpu.items()},
        bytes=dict(sizes),
        peak_bytes=peaks,
        ask=asked,
    )


def _can_train() -> bool:
    return importlib.util.find_spec("numba") is not None


def in_process(work: Callable[..., T], *arguments: Any) -> T:
    """Call a function in a new process, which starts with little memory."""
    with spawned_pool(1, _MEASURE_LESS) as pool:
        return pool.submit(work, *arguments).result()


def _index(library: Path, jobs: int) -> list[Row]:
    """Index each segment, in a process of its own."""
    with OpenLibrary.open(library) as opened:
        names = [part.name for part in opened.manifest.segments]
    places = [str(segment_folder(library, name)) for name in names]
    with spawned_pool(jobs, _MEASURE_LESS, tasks_of_each=1) as pool:
        found = list(pool.map(_index_segment, places))
    seal_again(library)
    return found


# ---------------------------------------------------------------- in processes of their own


def _read(papers: list[str], library: str, root: str, jobs: int) -> Row:
    start = cpu_seconds()
    read_library(papers, library, root=root, jobs=jobs)
    return {"cpu": cpu_seconds() - start, "peak": max(child_peak_bytes(), peak_bytes())}


def _after_reading(library: str) -> Row:
    """Measure parts of reading again, to tell them apart."""
    with OpenLibrary.open(Path(library)) as opened:
        generation, segments = opened.generation, opened.manifest.segments
        start = cpu_seconds()
        update_near_pairs(opened.home, (), segments, 0, {})
        near = cpu_seconds() - start
    start = cpu_seconds()
    report = write_report(generation, Limits())
    equations = report["equations"]
    counts = {
        "articles": report["articles"],
        "words": report["words"],
        "equations": equations["numbered"] + equations["unnumbered"],
    }
    return {"cpu": {"near-duplicates": near, "report": cpu_seconds() - start}, "report": counts}


def _index_segment(segment: str) -> Row:
    place = Path(segment)
    folder = place / "index"
    folder.mkdir()
    row: Row = {"cpu": {}, "bytes": {}}
    before = 0
    records = open_records(place / "records.sqlite")
    try:
        for name, part in INDEX_PARTS.items():
            start = cpu_seconds()
            part(records, folder)
            row["cpu"][name] = cpu_seconds() - start
            now = _tree_bytes(folder)
            row["bytes"][name], before = now - before, now
    finally:
        records.close()
    finish_index(folder)
    seal_alone(place)
    return row | {"peak": peak_bytes()}


def _train(library: str, threads: int) -> Row:
    with OpenLibrary.open(Path(library)) as opened:
        generation, home = opened.generation, opened.home
    start = cpu_seconds()
    ModelPlan.checked(True, None).train(generation, threads, lambda _stage, _state: None)  # noqa: FBT003
    trained = cpu_seconds()
    index_vectors(generation, lambda _stage, _state: None)
    cpu = {"train": trained - start, "vectors": cpu_seconds() - trained}
    return {"cpu": cpu, "peak": peak_bytes(), "bytes": _tree_bytes(home / "vectors")}


def _ask(library: str) -> dict[str, float]:
    """Ask for the words around equations and for the equations, twice; the second time counts."""
    with Library.open(library) as opened:
        words, formulas = [], []
        for article in itertools.islice(opened.articles(), 4 * _TIMED_QUERIES):
            for equation in article.equations[:1]:
                plain = [word for word in equation.context.split() if word.isalpha()]
                words.append(" ".join(sorted(set(plain), key=len)[-3:]))
                formulas.append(equation.expanded)
        asked = {"words": words[:_TIMED_QUERIES], "equation": formulas[:_TIMED_QUERIES]}
        found: dict[str, float] = {}
        for _ in range(2):
            for name, queries in asked.items():
                method = opened.search if name == "words" else opened.similar
                times = [_timed(method, query) for query in queries if query]
                found[f"{name}_seconds"] = round(statistics.median(times), 6) if times else 0.0
        whole, anonymous = memory_now()
        return found | {"memory_bytes": whole, "anonymous_bytes": anonymous}


def _timed(method: Callable[[str], object], query: str) -> float:
    start = time.process_time()
    method(query)
    return time.process_time() - start


# ---------------------------------------------------------------- near-duplicates


def measure_pairs(
    work: Path, size: Size, papers: Sequence[int] = PAIR_PAPERS
) -> tuple[dict[str, float], ...]:
    """Time the search for near-duplicates of a segment in others as large, by their papers.

    The segments have random hashes, as many for a document as the papers that were measured: one
    run of words in four is sampled.
    """
    hashes = max(16, size.words // size.papers // 4)
    rows = []
    for count in papers:
        with tempfile.TemporaryDirectory(dir=work) as folder:
            rows.append(_time_pairs(Path(folder), count, hashes))
    return tuple(rows)


def _time_pairs(work: Path, papers: int, hashes: int) -> dict[str, float]:
    """Time segments of one size: a line through no, one and two earlier segments."""
    dice = np.random.default_rng(_SAMPLE_SEED)
    parts = []
    for number in range(max(_PAIRED) + 1):
        place = work / f"sketches-{number}"
        place.mkdir()
        drawn = (np.unique(dice.integers(0, 2**64, hashes, np.uint64)) for _ in range(papers))
        write_sketches(place, drawn)
        parts.append(Sketches(place))
    new, *earlier = parts
    seconds = {}
    for count in _PAIRED:
        tries = []
        for _ in range(2):
            start = time.process_time()
            near_pairs(new, earlier[:count])
            tries.append(time.process_time() - start)
        seconds[count] = min(tries)
    slope, own = np.polyfit(list(seconds), list(seconds.values()), 1)
    return {
        "papers": papers,
        "hashes": hashes,
        "own_seconds": round(max(float(own), 0.0), 6),
        "pair_seconds": round(max(float(slope), 0.0), 6),
    }


# ---------------------------------------------------------------- sums and sizes


def _sum(tables: Iterable[dict[str, Any]]) -> dict[str, Any]:
    total: dict[str, Any] = {}
    for table in tables:
        for name, value in table.items():
            total[name] = total.get(name, 0) + value
    return total


def _tree_bytes(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def _disk_bytes(library: Path) -> dict[str, int]:
    """Bytes of records and sketches of all segments."""
    folders = [*(library / "segments").iterdir()]
    records = sum((folder / "records.sqlite").stat().st_size for folder in folders)
    rest = sum(
        file.stat().st_size
        for folder in folders
        for file in folder.iterdir()
        if file.is_file() and file.name != "records.sqlite"
    )
    return {"records": records, "sketches": rest}


def _distinct(library: Path, name: str) -> int:
    """The number of distinct keys of all segments."""
    files = sorted((library / "segments").glob(f"*/index/{name}.keys.npy"))
    return len(np.unique(np.concatenate([np.load(file) for file in files])))
