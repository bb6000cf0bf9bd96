"""A library is built in stages, changed by generations, and can be made again to the byte."""

import random
from pathlib import Path
from typing import Any

import pytest

import eqemb as package
from eqemb import building, reading
from eqemb.building import build_library, steps
from eqemb.errors import UsageError
from eqemb.library import Library
from eqemb.reading import read_library
from synthetic import InlinePool, paper, papers, text

#: A model that is learned in a second.
SMALL = {"dim": 8, "iterations": 2, "batch": 256}
BODY = r"Some words. \begin{equation} x = 1 \end{equation} More words."


@pytest.fixture(autouse=True)
def _inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read in this process, and learn from little."""
    monkeypatch.setattr(reading, "_Pool", InlinePool)
    monkeypatch.setattr(building, "LEAST_WORDS", 100)


def topical(folder: Path, count: int, first: int = 0) -> Path:
    """Papers whose equations stand among words of their topic: there is something to learn."""
    for number in range(first, first + count):
        dice, topic = random.Random(number), number % 4
        words = text(12, f"topic {topic}").split()
        parts = []
        for _ in range(12):
            parts.append(" ".join(dice.choices(words, k=20)) + ".")
            formula = rf"{'xyzw'[topic]}_{dice.randint(1, 3)} = {'abcd'[topic]} + {topic}"
            parts.append(rf"\begin{{equation}} {formula} \end{{equation}}")
        path = folder / f"set{topic}/paper{number:03}.tex"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(paper("\n".join(parts), f"Paper {number}"), "utf-8")
    return folder


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with a model, which no test changes."""
    folder = tmp_path_factory.mktemp("building")
    topical(folder / "papers", 12)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_Pool", InlinePool)
        patch.setattr(building, "LEAST_WORDS", 100)
        build_library(folder / "papers", folder / "lib", model=SMALL).close()
    return folder / "lib"


def content(folder: Path) -> dict[str, Any]:
    """All of a library that must be the same however it came about."""
    with Library.open(folder) as library:
        index = {path.name: path.read_bytes() for path in (library.generation / "index").iterdir()}
        model = library.model.sha256 if library.model else None
        records = library.records
        types = list(records.rows("SELECT * FROM types ORDER BY id"))
        units = list(records.rows("SELECT * FROM units ORDER BY id"))
        equations = list(records.rows("SELECT * FROM equations ORDER BY article, ordinal"))
        sha256 = records.sha256()
    return {
        "sha256": sha256, "types": types, "units": units, "equations": equations,
        "index": index, "model": model,
    }  # fmt: skip


class Interrupt:
    """Ctrl-C at the n-th word of a stage."""

    def __init__(self, stage: str, count: int) -> None:
        self._stage, self._left = stage, count

    def __call__(self, stage: str, _state: str) -> None:
        """Hear of progress."""
        self._left -= stage == self._stage
        if self._left == 0:
            raise KeyboardInterrupt


# -- building


def test_a_library_is_built_with_a_model_of_its_own(learned: Path) -> None:
    """Records, model, index and report in one generation, and nothing that helped to make them."""
    with Library.open(learned) as library:
        assert library.model is not None
        assert library.model.config["model"] == "eqemb-h"
        about = library.report["model"]
        assert about["sha256"] == library.model.sha256
        assert about["validation"] > about["chance"]
        assert about["words"] == len(library.model.keys["words"])
        assert about["lacks"]["words"] == about["lacks"]["units"] == 0
        assert sorted(path.name for path in library.generation.iterdir()) == [
            *("index", "model", "records.sqlite", "report.html", "report.json", "run.json"),
            "settings.json",
        ]
        assert [step["step"] for step in steps(library)] == ["build"]


def test_the_face_builds_too(tmp_path: Path) -> None:
    """As `eqemb.Library.build`, of one path or of several."""
    folder = papers(tmp_path / "papers", a=BODY)
    with package.Library.build(str(folder), tmp_path / "lib", model=False) as library:
        assert library.records.names() == ["papers"]
        assert "model" not in library.report
        assert len(library.search("words")) == 1


def test_a_tiny_collection_is_built_without_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the report says why."""
    monkeypatch.undo()
    monkeypatch.setattr(reading, "_Pool", InlinePool)
    folder = papers(tmp_path / "papers", a=BODY, b=BODY)
    with build_library([folder], tmp_path / "lib") as library:
        assert library.model is None
        assert "too few to learn from" in library.report["model"]["why"]
        assert len(library.search("words")) > 0


def test_what_is_no_better_than_chance_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words and structure alone are searched then."""
    monkeypatch.setattr(building, "CHANCE", 0.0)  # no score is better
    folder = topical(tmp_path / "papers", 4)
    with build_library(folder, tmp_path / "lib", model=SMALL) as library:
        assert library.model is None
        assert "no better than chance" in library.report["model"]["why"]


@pytest.mark.parametrize(
    ("stage", "count"),
    [("reading", 5), ("learning", 1), ("learning", 4), ("indexing", 1)],
)
def test_an_interrupted_build_goes_on(
    learned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str, count: int
) -> None:
    """At any stage, and ends with the same bytes."""
    monkeypatch.setattr(reading, "_COMMIT_EVERY", 0.0)
    source, folder = learned.parent / "papers", tmp_path / "lib"
    with pytest.raises(KeyboardInterrupt):
        build_library(source, folder, model=SMALL, watch=Interrupt(stage, count))
    with pytest.raises(UsageError, match="--resume"):
        Library.open(folder)
    told: list[tuple[str, str]] = []
    build_library(
        source, folder, model=SMALL, resume=True, watch=lambda *state: told.append(state)
    ).close()
    read = [state for name, state in told if name == "reading"]
    assert len(read) == (7 if stage == "reading" else 0)
    assert content(folder) == content(learned)


def test_going_on_with_another_model_is_refused(learned: Path, tmp_path: Path) -> None:
    """What was begun is left as it was."""
    source, folder = learned.parent / "papers", tmp_path / "lib"
    with pytest.raises(KeyboardInterrupt):
        build_library(source, folder, model=SMALL, watch=Interrupt("learning", 2))
    with pytest.raises(UsageError, match="another version or model"):
        build_library(source, folder, model={**SMALL, "dim": 4}, resume=True)


def test_wrong_settings_are_said_before_anything_is_read(tmp_path: Path) -> None:
    """And make no folder."""
    folder = papers(tmp_path / "papers", a=BODY)
    with pytest.raises(UsageError, match="dim=0"):
        build_library(folder, tmp_path / "lib", model={"dim": 0})
    with pytest.raises(UsageError, match="no library at"):
        build_library(folder, tmp_path / "lib", base=tmp_path / "nowhere")
    with pytest.raises(UsageError, match="leave one of them out"):
        build_library(folder, tmp_path / "lib", model=False, base=tmp_path)
    assert not (tmp_path / "lib").exists()


# -- a base


def test_words_of_a_base_are_taken_as_they_are(learned: Path, tmp_path: Path) -> None:
    """And how many is said."""
    folder = topical(tmp_path / "papers", 8, first=20)
    for path in folder.rglob("*.tex"):
        body = path.read_text("utf-8").replace(r"\end{document}", r"novelty novelty \end{document}")
        path.write_text(body, "utf-8")
    with (
        build_library(folder, tmp_path / "lib", model={"iterations": 2}, base=learned) as library,
        Library.open(learned) as base,
    ):
        assert library.model is not None
        assert base.model is not None
        about = library.report["model"]["base"]
        assert about["sha256"] == base.model.sha256
        assert about["taken"] + about["missing"] == len(library.model.keys["words"])
        assert about["taken"] > 0
        word = next(iter(set(library.model.keys["words"]) & set(base.model.keys["words"])))
        assert (library.model.words[word] == base.model.words[word]).all()


def test_a_tiny_collection_takes_the_whole_model_of_its_base(
    learned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rather than none."""
    monkeypatch.setattr(building, "LEAST_WORDS", 1000)
    folder = papers(tmp_path / "papers", a=BODY, b=BODY)
    with (
        build_library(folder, tmp_path / "lib", base=learned) as library,
        Library.open(learned) as base,
    ):
        assert library.model is not None
        assert base.model is not None
        assert library.model.sha256 == base.model.sha256
        assert "the model of the base is taken" in library.report["model"]["why"]


def test_a_base_without_a_model_is_refused(tmp_path: Path) -> None:
    """In one sentence."""
    folder = papers(tmp_path / "papers", a=BODY)
    read_library([folder], tmp_path / "other").close()
    with pytest.raises(UsageError, match="has no model to take words from"):
        build_library(folder, tmp_path / "lib", base=tmp_path / "other")
