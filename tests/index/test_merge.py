"""A merged index has the bytes of an index that is built from the merged records."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from campaigns import FULL
from eqemb.index.build import INDEXER, build_index, is_current, merge_index, write_version
from eqemb.index.merge import merge_indexes
from eqemb.index.merge_arrays import CannotMergeError
from eqemb.index.merge_parts import number_parts
from eqemb.index.postings import load_array
from eqemb.library import segments
from eqemb.library.database import Records
from eqemb.library.rows import Record, skipped
from eqemb.library.segments import SegmentIndex
from eqemb.library.worker import make_record
from eqemb.sources import Limits, discover
from synthetic import paper


@pytest.fixture(scope="module", autouse=True)
def _without_syncing() -> Iterator[None]:
    """Many small indexes are written: waiting for the disk would take most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


#: Sentences with definitions, inline mathematics, and words of one stem.
SENTENCES = (
    "where $P$ is the precision of a ranking and $R$ its recall",
    "let $x$ denote the vector of weights",
    "here $\\lambda$ is the regularization strength",
    "we call $N$ the number of documents",
    "angles and cosines of the angle",
    "the harmonic mean weighs harmonics",
    "",
)
FORMULAS = (
    r"F = \frac{2 P R}{P + R}",
    r"x = y",
    r"a = b",
    r"p(a, b) = 0.18",
    r"\cos(x, y) = \frac{x \cdot y}{\|x\| \|y\|}",
    r"L(\theta) = \frac{1}{N} \sum_{i=1}^{N} \log p(x_i | \theta) + \lambda \| \theta \|^2",
    r"L(\phi) = \frac{1}{M} \sum_{k=1}^{M} \log p(z_k | \phi) + \lambda \| \phi \|^2 + a",
    "",
)
LABELS = ("", "eq:crossEntropy", "eq:harmonicMeans", "eq:weirdLabel", "eq:otherWeird")
SECTIONS = ("Precision and recall", "Angles", "Weird gradients", "")


@st.composite
def bodies(draw: st.DrawFn) -> str:
    """Return the body of a paper; one without displays is an article without equations."""
    parts: list[str] = []
    for _ in range(draw(st.integers(0, 3))):
        if title := draw(st.sampled_from(SECTIONS)):
            parts.append(rf"\section{{{title}}}")
        parts.append(f"{draw(st.sampled_from(SENTENCES))}.")
        label = draw(st.sampled_from(LABELS).map(lambda name: name and rf"\label{{{name}}}"))
        formula = draw(st.sampled_from(FORMULAS))
        parts.append(rf"\begin{{equation}}{label} {formula} \end{{equation}}")
        parts.append(f"{draw(st.sampled_from(SENTENCES))}.")
    return "\n".join(parts)


def read(folder: Path, texts: Sequence[str | None]) -> list[Record]:
    """Return the records of papers with these bodies; None is a source that is no article."""
    folder.mkdir()
    for number, body in enumerate(texts):
        if body is not None:
            path = folder / f"{number:03}.tex"
            path.write_text(paper(body, f"On {LABELS[number % 5][3:]} angles"), "utf-8")
    found = iter(discover([folder], Limits(), root=folder))
    return [
        skipped(f"{number:03}", f"{number:03}.tex", "", "empty", "")
        if body is None
        else make_record(next(found), Limits())
        for number, body in enumerate(texts)
    ]


def write(place: Path, records: Sequence[Record]) -> Records:
    """Write records into a file, and open it."""
    place.mkdir()
    made = Records(place / "records.sqlite", write=True)
    for record in records:
        made.add(record)
    made.finish()
    return Records(place / "records.sqlite")


def build(place: Path, records: Sequence[Record], removed: Sequence[int] = ()) -> SegmentIndex:
    """Index a segment."""
    with closing(write(place, records)) as opened:
        build_index(opened, place / "index")
    return SegmentIndex(place / "index", len(records), tuple(removed))


def differing(one: Path, other: Path) -> list[str]:
    """Return the names of files that differ, or that only one folder has."""
    names = {path.name for folder in (one, other) for path in folder.iterdir()}
    return sorted(
        name
        for name in names
        if not (one / name).exists()
        or not (other / name).exists()
        or (one / name).read_bytes() != (other / name).read_bytes()
    )


def merge(
    folder: Path, records: Sequence[Record], sizes: Sequence[int], removed: set[int]
) -> list[str]:
    """Return which files of the merged index of segments of these sizes are not as built."""
    parts: list[SegmentIndex] = []
    start = 0
    for number, size in enumerate(sizes):
        own = records[start : start + size]
        gone = sorted(at - start for at in removed if start <= at < start + size)
        parts.append(build(folder / f"part{number}", own, gone))
        start += size
    left = [record for at, record in enumerate(records) if at not in removed]
    with closing(write(folder / "merged", left)) as opened:
        build_index(opened, folder / "built")
        merge_indexes(parts, opened, folder / "index")
        write_version(folder / "index")
    return differing(folder / "built", folder / "index")


@given(
    texts=st.lists(st.one_of(bodies(), bodies(), bodies(), st.none()), min_size=2, max_size=8),
    data=st.data(),
)
@settings(
    max_examples=300 if FULL else 10,
    suppress_health_check=[HealthCheck.too_slow],
    phases=(Phase.explicit, Phase.generate),
)
def test_merged_index_has_the_bytes_of_a_built_one(
    tmp_path_factory: pytest.TempPathFactory,
    texts: list[str | None],
    data: st.DataObject,
) -> None:
    """Whatever documents segments have, and whichever were removed."""
    folder = tmp_path_factory.mktemp("merge")
    records = read(folder / "papers", texts)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(texts) - 1), min_size=1, max_size=3)))
    sizes = [high - low for low, high in zip([0, *cuts], [*cuts, len(texts)], strict=True)]
    removed = data.draw(st.sets(st.integers(0, len(texts) - 1), max_size=len(texts) - 1))
    assert merge(folder, records, sizes, removed) == []


def test_order_of_first_occurrence_is_found_again(tmp_path: Path) -> None:
    """A removed paper had words, labels, types, shapes and definitions in another order."""
    first = (
        r"Let $y$ be the angle weight and $x$ the mean."
        r" \begin{equation}\label{eq:weirdLabel} b = a + x^2 + y \end{equation}"
    )
    second = (
        r"Let $x$ be the mean weight and $y$ the angle."
        r" \begin{equation}\label{eq:otherWeird} a + x^2 = b + y \end{equation}"
        r" \begin{equation}\label{eq:labelWeird} b = a + x^2 + y \end{equation}"
    )
    records = read(tmp_path / "papers", [first, second, first])
    assert merge(tmp_path, records, [2, 1], {0}) == []


def test_large_batches_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Postings that do not fit into a batch are merged in several."""
    for name in ("merge_arrays.batches", "overlap", "merge_text"):
        if name.endswith("batches"):
            monkeypatch.setattr("eqemb.index.merge_arrays.batches.__defaults__", (3,))
        else:
            monkeypatch.setattr(f"eqemb.index.{name}.BATCH", 3)
    monkeypatch.setattr("eqemb.index.merge_renderings._KEYS_AT_ONCE", 2)
    monkeypatch.setattr("eqemb.index.merge_structure._TYPES_AT_ONCE", 1)
    texts = [
        f"{sentence}. \\[ {formula} \\]" for sentence in SENTENCES[:3] for formula in FORMULAS[:6]
    ]
    records = read(tmp_path / "papers", texts)
    assert merge(tmp_path, records, [7, 1, 10], {2, 9, 11}) == []


def test_a_damaged_part_is_indexed_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A changed file is not copied; the warning says which it is."""
    records = read(tmp_path / "papers", [r"\[ x = y \]", r"\[ a = b + c \]"])
    parts = [build(tmp_path / f"part{n}", [record]) for n, record in enumerate(records)]
    path = parts[1].folder / "terms.weights.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    with closing(write(tmp_path / "merged", records)) as opened:
        build_index(opened, tmp_path / "built")
        merge_index(parts, opened, tmp_path / "index")
    assert differing(tmp_path / "built", tmp_path / "index") == []
    assert "terms.weights.npy is damaged: its papers are indexed again" in caplog.text


def test_many_papers_are_not_indexed_at_once_for_a_damaged_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller has to index them in pieces; nothing half-made is left."""
    records = read(tmp_path / "papers", [r"\[ x = y \]", r"\[ a = b + c \]"])
    parts = [build(tmp_path / f"part{n}", [record]) for n, record in enumerate(records)]
    (parts[1].folder / "terms.weights.npy").unlink()
    monkeypatch.setattr(segments, "SEGMENT_DOCUMENTS", 1)
    with (
        closing(write(tmp_path / "merged", records)) as opened,
        pytest.raises(CannotMergeError, match=r"terms\.weights\.npy is damaged"),
    ):
        merge_index(parts, opened, tmp_path / "index")
    assert not (tmp_path / "index").exists()


def test_parts_of_other_records_are_refused(tmp_path: Path) -> None:
    """They have fewer equations, or articles with other numbers of them."""
    records = read(tmp_path / "papers", [r"\[ x = y \]", r"\[ a \] \[ b \]", r"\[ c \]"])
    parts = [build(tmp_path / f"part{n}", [record]) for n, record in enumerate(records)]
    build(tmp_path / "all", records)
    merged = load_array(tmp_path / "all" / "index", "equations")
    assert len(number_parts(parts, merged)) == 3
    for wrong, why in (
        (parts[:2], "3 equations, not 4"),
        ([parts[1], parts[0]], "other equations"),
    ):
        with pytest.raises(CannotMergeError, match=why):
            number_parts(wrong, merged)


def test_only_an_index_of_this_version_is_merged(tmp_path: Path) -> None:
    """Nor one whose formulas other code rendered."""
    part = build(tmp_path / "part", read(tmp_path / "papers", [r"\[ x = y \]"]))
    assert INDEXER.can_merge(part.folder)
    header = json.loads((part.folder / "index.json").read_text("utf-8"))
    (part.folder / "index.json").write_text(json.dumps(header | {"version": 9}), "utf-8")
    assert not is_current(part.folder)
    (part.folder / "renderings.json").write_text('{"code": "other"}', "utf-8")
    write_version(part.folder)
    assert not is_current(part.folder)
