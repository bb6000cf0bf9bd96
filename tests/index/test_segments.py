"""Answers do not depend on how a library is segmented, nor on documents that were removed."""

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from campaigns import FULL
from eqemb.errors import UsageError
from eqemb.facade.library import Library
from eqemb.facade.update import add_papers, compact_library, remove_articles
from eqemb.facade.use import use_model
from eqemb.library import segments
from eqemb.models.embeddings import Embeddings
from eqemb.search.explain import Why
from synthetic import paper, read_inline
from synthetic import text as nonsense


@pytest.fixture(scope="module", autouse=True)
def _without_syncing() -> Iterator[None]:
    """Many small libraries are written: waiting for the disk would take most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


#: Words with forms of one stem, compounds, and spellings that are near each other.
WORDS = (
    *("cosine", "cosines", "angle", "angles", "harmonic", "harmonics", "harmony", "mean", "means"),
    *("precision", "precise", "recall", "cross-entropy", "cross", "entropy", "gradient", "vector"),
)
#: Formulas that are renamings of each other, nearly equal, or contain each other.
LONG = r"L(\theta) = \frac{1}{N} \sum_{i=1}^{N} \log p(x_i | \theta) + \lambda \| \theta \|^2"
FORMULAS = (
    *("x = y", "a = b", r"\mathbf{x} = y", r"\cos(x, y)", r"F = \frac{2 P R}{P + R}"),
    *(r"G = \frac{2 A B}{A + B}", r"\frac{P}{P + R}", "x_i + y_i^2", "", LONG, LONG + "_2"),
    *(LONG.replace("x_i", "z_k").replace("i=1", "k=1"), LONG + " + a", LONG.replace("N", "M")),
)
#: Labels, some with words that the text does not have.
LABELS = ("", "crossEntropy", "harmonicMeans", *nonsense(8, "labels").split())
SECTIONS = ("Precision and recall", "Angles", "Our gradients", "")


@st.composite
def bodies(draw: st.DrawFn) -> str:
    """Return the body of a paper: words, and displays in sections."""
    parts: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        if title := draw(st.sampled_from(SECTIONS)):
            parts.append(rf"\section{{{title}}}")
        parts.append(" ".join(draw(st.lists(st.sampled_from(WORDS), max_size=12))))
        formula = draw(st.sampled_from(FORMULAS))
        label = draw(st.sampled_from(LABELS).map(lambda name: name and rf"\label{{eq:{name}}}"))
        star = "" if label else draw(st.sampled_from(["", "*"]))
        parts.append(rf"\begin{{equation{star}}}{label} {formula} \end{{equation{star}}}")
    return "\n".join([*parts, " ".join(draw(st.lists(st.sampled_from(WORDS), max_size=4)))])


PAPERS = st.lists(bodies(), min_size=3, max_size=7)


def write(folder: Path, texts: Sequence[str], kept: Sequence[bool]) -> list[Path]:
    """Write papers into two collections; those that will be removed are among the others."""
    places = []
    for number, (text, is_kept) in enumerate(zip(texts, kept, strict=True)):
        path = folder / f"set{number % 2}" / f"{'kept' if is_kept else 'gone'}{number}.tex"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(paper(text, f"On {WORDS[number]}"), "utf-8")
        places.append(path)
    return places


def read(paths: Sequence[Path], folder: Path, size: int) -> None:
    """Read papers into segments of `size` documents."""
    with pytest.MonkeyPatch.context() as patch:
        read_inline(patch)
        patch.setattr(segments, "SEGMENT_DOCUMENTS", size)
        papers = folder.with_name("papers")
        Library.read(paths, folder, root=papers, jobs=1, index=True).close()


def remove(folder: Path) -> None:
    """Remove the papers that are not kept."""
    with Library.open(folder) as library:
        gone = [name for name in library.records.names() if "gone" in name]
    if gone:
        remove_articles(folder, gone)


SEARCHES: tuple[dict[str, Any], ...] = (
    {"words": "cosine harmonic mean"},
    {"words": "cross entropy"},
    {"words": '"harmonic mean" -recall'},
    {"words": "harmonik presision cosin"},
    {"words": r"precision $\frac{P}{P + R}$"},
    {"words": r"angle $?x = ?y$"},
    {"words": "mean", "section": "precision"},
    {"words": "mean", "has": ["=", "x"]},
    {"words": "angles", "numbered": True},
    {"words": "vector", "collection": "set0"},
    {"words": "gradient", "by": "words"},
    {"words": r"$F = \frac{2 P R}{P + R}$", "by": "structure"},
)
SIMILAR: tuple[dict[str, Any], ...] = (
    *({"equation": formula} for formula in FORMULAS if formula),
    {"equation": r"\frac{?a}{?b}"},
    {"equation": "?x = ?y"},
    {"equation": "x"},
    {"equation": "x = y", "by": "structure", "k": 60},
    {"equation": "a = b", "section": "angle"},
    {"equation": LONG, "has": r"\lambda", "numbered": True},
)


def answers(library: Library) -> Iterator[tuple[str, Any]]:
    """Yield answers of every kind, by question."""
    for asked in SEARCHES:
        yield f"search {asked}", outcome(library.search, **asked)
    named = [{"equation": name} for name in library.records.equation_names()[:3]]
    for asked in (*SIMILAR, *named):
        yield f"similar {asked}", outcome(library.similar, **asked)
        yield f"describe {asked}", outcome(library.describe, asked["equation"])
        yield f"why {asked}", outcome(library.why, asked["equation"], "x = y")
    text, rows = library.engine.text, library.engine.rows()
    yield "around", {name: text.words_around(row, 5) for name, row in rows.items()}
    yield "topics", {name: text.topic([row], [1.0], 9) for name, row in rows.items()}
    yield "vocabulary", sorted(text.vocabulary())
    yield "shortest", [text.shortest_word(stem) for stem in ("cosin", "harmon", "entropi")]
    yield "spelt", {word: text.suggest_spellings(word[:-1] + "x") for word in (*WORDS, *LABELS)}


def outcome(ask: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Return an answer and its scores to the last bit, or the error that was raised instead."""
    try:
        answer = ask(*arguments, **options)
    except UsageError as error:
        return re.sub(r" in /.*:", "", str(error))
    each = [answer] if isinstance(answer, Why) else answer
    return answer.to_json(), [one.score for one in each]


def all_answers(folder: Path, model: Path | None = None) -> dict[str, str]:
    """Return the answers of a library as JSON; given a model, it becomes the library's own."""
    if model is not None:
        use_model(folder, model)
    with Library.open(folder) as library:
        found = dict(answers(library))
        if library.model is not None:
            found |= dict(vector_answers(library))
    return {asked: json.dumps(answer) for asked, answer in found.items()}


def vector_answers(library: Library) -> Iterator[tuple[str, Any]]:
    """Yield answers that need a model."""
    for words in ("cosine", "harmonic mean", "entropy gradient recall"):
        yield f"meaning {words}", outcome(library.search, words, by="meaning")
        yield f"paper {words}", outcome(library.search, words, by="paper")
        yield f"query {words}", outcome(library.query, words.split(), ["angle"])
    for formula in filter(None, FORMULAS):
        for by in ("meaning", "paper"):
            yield f"{by} {formula}", outcome(library.similar, formula, by=by)
        yield f"query {formula}", outcome(library.query, [f"${formula}$"])
    space = library.engine.vectors
    assert space is not None
    yield "means", [mean.tolist() for mean in space.means]


def differing(one: dict[str, str], other: dict[str, str]) -> list[tuple[str, str, str]]:
    """Return the questions with different answers, and both answers."""
    assert one.keys() == other.keys()
    return [(asked, one[asked], other[asked]) for asked in one if one[asked] != other[asked]]


def random_model(folder: Path, library: Path, seed: int) -> Path:
    """Save a model of some words, units and equations of a library."""
    dice = np.random.default_rng(seed)
    with Library.open(library) as opened:
        types = {
            canonical: units
            for key, *_ in opened.records.article_ids()
            for _, _, canonical, units in opened.records.article_types(key)
        }
    keys = {
        "words": [word for word in WORDS if "-" not in word],
        "units": sorted({unit for units in types.values() for unit in units})[::2],
        "equations": sorted(types)[:-1],
    }
    arrays = {
        f"{side}_{kind}": dice.standard_normal((len(names), 11)).astype(np.float32)
        for kind, names in keys.items()
        for side in ("alpha", "rho")
        if (side, kind) != ("rho", "units")
    }
    pooling = {"unit_pooling": "mean", "unit_weight": 1.0}
    config = {"model": "eqemb-h", "settings": pooling, "validation": -1.0}
    Embeddings(config, arrays, keys).save(folder)
    return folder


#: Every example builds several libraries, so that shrinking one would take minutes.
FEW = settings(
    max_examples=100 if FULL else 8,
    suppress_health_check=[HealthCheck.too_slow],
    phases=(Phase.explicit, Phase.generate),
)


@given(texts=PAPERS, size=st.integers(1, 3), data=st.data())
@FEW
def test_segments_do_not_affect_answers(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], size: int, data: st.DataObject
) -> None:
    """Whether papers came together or one by one, with others that were removed, or compacted."""
    folder = tmp_path_factory.mktemp("segments")
    kept = [True, *(data.draw(st.booleans()) for _ in texts[1:])]
    paths = write(folder / "papers", texts, kept)
    only = [path for path, is_kept in zip(paths, kept, strict=True) if is_kept]
    read(only, folder / "one", 1000)
    wanted = all_answers(folder / "one")
    read(only, folder / "small", size)
    assert not differing(wanted, all_answers(folder / "small"))
    read(paths, folder / "removed", size)
    remove(folder / "removed")
    assert not differing(wanted, all_answers(folder / "removed"))
    compact_library(folder / "removed")
    assert not differing(wanted, all_answers(folder / "removed"))


@given(texts=PAPERS, size=st.integers(1, 3), data=st.data())
@FEW
def test_segments_do_not_affect_vectors(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], size: int, data: st.DataObject
) -> None:
    """With the same model in every library; weights and means are those of papers that are left."""
    folder = tmp_path_factory.mktemp("vectors")
    kept = [True, *(data.draw(st.booleans()) for _ in texts[1:])]
    paths = write(folder / "papers", texts, kept)
    only = [path for path, is_kept in zip(paths, kept, strict=True) if is_kept]
    read(only, folder / "one", 1000)
    model = random_model(folder / "model", folder / "one", len(texts))
    wanted = all_answers(folder / "one", model)
    read(paths, folder / "removed", size)
    remove(folder / "removed")
    assert not differing(wanted, all_answers(folder / "removed", model))
    compact_library(folder / "removed")
    assert not differing(wanted, all_answers(folder / "removed"))


def test_added_papers_answer_like_those_that_were_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Papers that are added one by one, and one that replaces another: all as in a new library."""
    read_inline(monkeypatch)
    texts = [rf"{' '.join(WORDS[at:])} \[ {formula} \]" for at, formula in enumerate(FORMULAS)]
    paths = write(tmp_path / "papers", texts, [True] * len(texts))
    paths.sort()  # in the order in which one reading finds them
    late = paths[-1].read_text("utf-8")
    paths[-1].write_text(paper(r"vector \[ x = 7 \]"), "utf-8")
    read([*paths[:5], paths[-1]], tmp_path / "grown", 2)
    for path in paths[5:-1]:
        add_papers(tmp_path / "grown", path, jobs=1)
    paths[-1].write_text(late, "utf-8")
    add_papers(tmp_path / "grown", paths[-1], replace=True, jobs=1)
    read(paths, tmp_path / "one", 1000)
    with Library.open(tmp_path / "grown") as grown, Library.open(tmp_path / "one") as one:
        assert grown.records.names() == one.records.names()
        assert len(grown.manifest.segments) > 3
    assert not differing(all_answers(tmp_path / "one"), all_answers(tmp_path / "grown"))
