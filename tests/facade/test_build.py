"""Libraries are built in stages, changed by generations, and can be rebuilt byte for byte."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import eqemb as package
from eqemb.errors import EqembError, UsageError
from eqemb.facade import build, model
from eqemb.facade.library import Library
from eqemb.facade.reproduce import rebuild
from eqemb.facade.update import Change, add_papers, remove_articles
from eqemb.library import engines
from eqemb.library.database import ALL
from eqemb.models import EqEmbH, workspace
from synthetic import PDF, corpus, papers, read_inline, text, topical

#: A model that is learned in a second.
SMALL: dict[str, Any] = {"dim": 8, "iterations": 2, "batch": 256}
BODY = r"Some words. \begin{equation} x = 1 \end{equation} More words."


@pytest.fixture(autouse=True)
def _inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read in this process, and train on little text."""
    read_inline(monkeypatch)
    monkeypatch.setattr(model, "LEAST_WORDS", 100)


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with a model, which no test changes."""
    folder = tmp_path_factory.mktemp("building")
    topical(folder / "papers", 12)
    with pytest.MonkeyPatch.context() as patch:
        read_inline(patch)
        patch.setattr(model, "LEAST_WORDS", 100)
        Library.build(folder / "papers", folder / "lib", model=SMALL).close()
    return folder / "lib"


def content(folder: Path) -> dict[str, Any]:
    """Return everything of a library that must not depend on how it was made."""
    with Library.open(folder) as library:
        names = library.records.equation_names()
        titles = library.records.titles()
        answers = [library.search(title, 5).to_json() for title in titles[:3] if title]
        answers += [library.similar(name, 5).to_json() for name in names[::7]]
        answers += [library.describe(name, 5).to_json() for name in names[::9]]
        changing = {"version", "limits", "model"}
        return {
            "sha256": library.records.sha256(),
            "latex": library.records.equation_latex(),
            "near": library.records.groups,
            "answers": answers,
            "model": library.model.sha256 if library.model else None,
            "report": {key: value for key, value in library.report.items() if key not in changing},
        }


class Interrupt:
    """A progress callback that raises KeyboardInterrupt at the n-th call of a stage."""

    def __init__(self, stage: str, count: int) -> None:
        self._stage, self._left = stage, count

    def __call__(self, stage: str, _state: str) -> None:
        """Count calls."""
        self._left -= stage == self._stage
        if self._left == 0:
            raise KeyboardInterrupt


def kill_at(end: str, remove: Callable[..., None]) -> Callable[..., None]:
    """Raise KeyboardInterrupt before a folder with this path suffix is removed."""

    def instead(path: Path, **options: Any) -> None:
        if Path(path).as_posix().endswith(end):
            raise KeyboardInterrupt
        remove(path, **options)

    return instead


# -- build


def test_library_is_built_with_its_own_model(learned: Path) -> None:
    """One generation has records, model, index and report, and no intermediate files."""
    with Library.open(learned) as library:
        assert library.model is not None
        assert library.model.config["model"] == "eqemb-h"
        about = library.report["model"]
        assert about["sha256"] == library.model.sha256
        assert about["validation"] > about["chance"] == pytest.approx(-3.0934, abs=1e-4)
        assert about["words"] == len(library.model.keys["words"])
        assert about["lacks"]["words"] == about["lacks"]["units"] == 0
        assert sorted(path.name for path in library.generation.iterdir()) == [
            *(
                "checksums.json",
                "manifest.json",
                "model",
                "report.html",
                "report.json",
                "run.json",
                "settings.json",
            ),
            "sources.json",
        ]
        assert [part.documents for part in library.manifest.segments] == [12]
        assert [step["step"] for step in library.steps] == ["build"]


def test_model_is_that_of_train(learned: Path, tmp_path: Path) -> None:
    """Byte for byte."""
    shutil.copytree(learned, tmp_path / "lib")
    with Library.open(tmp_path / "lib") as library:
        corpus_ = workspace.corpus(library)
        held = workspace.split(library, ALL, corpus_)
        task = workspace.Training(EqEmbH(**SMALL), corpus_, held, library.folder, "same")
        assert library.model is not None
        assert task.run().sha256 == library.model.sha256


def test_progress_ends_with_the_score_of_the_model(tmp_path: Path) -> None:
    """The last iteration is not the best one, whose vectors are kept."""
    states: list[str] = []
    topical(tmp_path / "papers", 12)

    def watch(stage: str, state: str) -> None:
        if stage == model.LEARNING:
            states.append(state)

    build.build_library([tmp_path / "papers"], tmp_path / "lib", model=SMALL, watch=watch)
    with Library.open(tmp_path / "lib") as library:
        score = library.report["model"]["validation"]
    assert re.fullmatch(f"[0-9]+ iterations, best validation {score:.3f}", states[-1])


def test_gpu_does_not_change_the_library(
    learned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default, a machine with a GPU trains on its CPU, with the same result."""
    monkeypatch.setattr("eqemb.models.bernoulli.gpu_problem", lambda: None)
    topical(tmp_path / "papers", 12)
    with (
        Library.open(learned) as library,
        Library.build(tmp_path / "papers", tmp_path / "lib", model=SMALL) as same,
    ):
        assert library.model is not None
        assert same.model is not None
        assert same.model.sha256 == library.model.sha256


def test_build_is_a_public_method(tmp_path: Path) -> None:
    """`eqemb.Library.build` takes one path or several."""
    folder = papers(tmp_path / "papers", a=BODY)
    with package.Library.build(str(folder), tmp_path / "lib", model=False) as library:
        assert library.records.names() == ["a"]
        assert "model" not in library.report
        assert len(library.search("words")) == 1


def test_tiny_collection_is_built_without_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report says why."""
    monkeypatch.undo()
    read_inline(monkeypatch)
    folder = papers(tmp_path / "papers", a=BODY, b=BODY)
    with Library.build([folder], tmp_path / "lib") as library:
        assert library.model is None
        why = library.report["model"]["why"]
        assert re.match("[0-9]+ words, without stop words, rare .* are too few to learn from", why)
        assert len(library.search("words")) > 0


def test_model_no_better_than_chance_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then only words and structure are searched."""
    monkeypatch.setattr(model, "chance", lambda _made: 0.0)  # no score is better
    folder = topical(tmp_path / "papers", 4)
    with Library.build(folder, tmp_path / "lib", model=SMALL) as library:
        assert library.model is None
        assert "no better than chance" in library.report["model"]["why"]


@pytest.mark.parametrize(
    ("stage", "count"),
    [("reading", 5), ("learning", 1), ("learning", 4), ("indexing", 1)],
)
def test_interrupted_build_can_be_resumed(
    learned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str, count: int
) -> None:
    """At any stage, with the same bytes at the end."""
    monkeypatch.setattr(engines, "_COMMIT_EVERY", 0.0)
    source, folder = learned.parent / "papers", tmp_path / "lib"
    with pytest.raises(KeyboardInterrupt):
        Library.build(source, folder, model=SMALL, watch=Interrupt(stage, count))
    with pytest.raises(UsageError, match="--resume"):
        Library.open(folder)
    told: list[tuple[str, str]] = []
    Library.build(
        source, folder, model=SMALL, resume=True, watch=lambda *state: told.append(state)
    ).close()
    read = [state for name, state in told if name == "reading"]
    assert len(read) == (7 if stage == "reading" else 0)
    assert content(folder) == content(learned)


@pytest.mark.parametrize("model", [False, SMALL])
def test_completed_build_is_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Any
) -> None:
    """If it was killed after the switch, resuming only removes leftovers."""
    source, folder = topical(tmp_path / "papers", 4), tmp_path / "lib"
    told: list[str] = []

    def build(*, resume: bool) -> None:
        told.clear()
        watch = lambda stage, _: told.append(stage)  # noqa: E731
        Library.build(source, folder, model=model, resume=resume, watch=watch).close()

    build(resume=False)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", kill_at("generations/1", shutil.rmtree))
        with pytest.raises(KeyboardInterrupt):
            build(resume=False)
    after = content(folder)
    build(resume=True)
    assert told == []
    assert content(folder) == after
    assert [path.name for path in (folder / "generations").iterdir()] == ["2"]
    topical(source, 1, first=4)
    build(resume=True)
    assert "reading" in told
    assert content(folder) != after


def test_completed_replacement_is_not_recorded_twice(tmp_path: Path) -> None:
    """Its papers are not read again either."""
    papers(tmp_path / "one", a=BODY, b=BODY)
    folder = built(tmp_path / "one", at=tmp_path / "lib")
    papers(tmp_path / "two", a=r"New. \[ y = 2 \]", c=BODY)
    add_papers(folder, tmp_path / "two", root=tmp_path / "two", replace=True)
    after = content(folder)
    change = add_papers(folder, tmp_path / "two", root=tmp_path / "two", replace=True, resume=True)
    assert change == Change(finished=True)
    assert content(folder) == after
    with Library.open(folder) as library:
        assert [step["step"] for step in library.steps] == ["build", "add"]
    assert add_papers(folder, tmp_path / "two", root=tmp_path / "two", replace=True).replaced == [
        "a",
        "c",
    ]


def test_resume_with_another_model_is_refused(learned: Path, tmp_path: Path) -> None:
    """The interrupted build is left unchanged."""
    source, folder = learned.parent / "papers", tmp_path / "lib"
    with pytest.raises(KeyboardInterrupt):
        Library.build(source, folder, model=SMALL, watch=Interrupt("learning", 2))
    with pytest.raises(UsageError, match="had other papers, limits or model"):
        Library.build(source, folder, model={**SMALL, "dim": 4}, resume=True)


def test_wrong_settings_are_refused_before_reading(tmp_path: Path) -> None:
    """No folder is created."""
    folder = papers(tmp_path / "papers", a=BODY)
    with pytest.raises(UsageError, match="dim must be an integer"):
        Library.build(folder, tmp_path / "lib", model={"dim": 0})
    with pytest.raises(UsageError, match="is neither a library nor a model folder"):
        Library.build(folder, tmp_path / "lib", base=tmp_path / "nowhere")
    with pytest.raises(UsageError, match="leave out base"):
        Library.build(folder, tmp_path / "lib", model=False, base=tmp_path)
    assert not (tmp_path / "lib").exists()


# -- a base


def test_word_vectors_of_a_base_are_used_unchanged(learned: Path, tmp_path: Path) -> None:
    """The report counts them."""
    folder = topical(tmp_path / "papers", 8, first=20)
    for path in folder.rglob("*.tex"):
        body = path.read_text("utf-8").replace(r"\end{document}", r"novelty novelty \end{document}")
        path.write_text(body, "utf-8")
    with (
        Library.build(folder, tmp_path / "lib", model={"iterations": 2}, base=learned) as library,
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


def test_tiny_collection_uses_the_model_of_its_base(
    learned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Instead of no model."""
    monkeypatch.setattr(model, "LEAST_WORDS", 1000)
    folder = papers(tmp_path / "papers", a=BODY, b=BODY)
    with (
        Library.build(folder, tmp_path / "lib", base=learned) as library,
        Library.open(learned) as base,
    ):
        assert library.model is not None
        assert base.model is not None
        assert library.model.sha256 == base.model.sha256
        assert "using the base model unchanged" in library.report["model"]["why"]


def test_base_without_a_model_is_refused(tmp_path: Path) -> None:
    """With a remedy."""
    folder = papers(tmp_path / "papers", a=BODY)
    Library.read([folder], tmp_path / "other").close()
    with pytest.raises(UsageError, match="has no model to take word vectors from"):
        Library.build(folder, tmp_path / "lib", base=tmp_path / "other")


# -- add


@pytest.fixture
def grown(tmp_path: Path) -> tuple[Path, Path]:
    """Return a folder of sources of every kind, and its second half by name."""
    corpus(tmp_path / "all", 27)
    files = sorted(path for path in (tmp_path / "all").rglob("*") if path.is_file())
    for path in files[14:]:
        new = tmp_path / "new" / path.relative_to(tmp_path / "all")
        new.parent.mkdir(parents=True, exist_ok=True)
        path.rename(new)
    return tmp_path / "all", tmp_path / "new"


def built(*sources: Path, at: Path, root: Path | None = None) -> Path:
    """Build a library without a model."""
    Library.build(sources, at, root=root, model=False).close()
    return at


def test_adding_equals_building_all(grown: tuple[Path, Path], tmp_path: Path) -> None:
    """Records, answers and report are identical, with skipped sources."""
    old, new = grown
    folder = built(old, at=tmp_path / "lib", root=tmp_path)
    change = add_papers(folder, new)
    whole = content(built(old, new, at=tmp_path / "whole"))
    assert content(folder) == whole
    with Library.open(folder) as library:
        report = library.report
        assert [step["step"] for step in library.steps] == ["build", "add"]
    assert (change.known, change.replaced, change.lacks) == ([], [], None)
    assert change.articles + change.skipped == 13
    assert report["sources"] == 27
    assert len(list((folder / "generations").iterdir())) == 1


def test_removing_added_papers_restores_the_library(
    grown: tuple[Path, Path], tmp_path: Path
) -> None:
    """Nothing of them is left in answers."""
    old, new = grown
    before = content(built(old, at=tmp_path / "before", root=tmp_path))
    folder = built(old, new, at=tmp_path / "lib")
    with Library.open(folder) as library, Library.open(tmp_path / "before") as other:
        query = "SELECT name FROM sources"
        rest = set(other.records.rows(query))
        gone = [name for (name,) in library.records.rows(query) if (name,) not in rest]
    change = remove_articles(folder, gone)
    assert content(folder) == before
    assert 0 < change.articles <= len(gone)


def test_near_duplicates_are_found_again(tmp_path: Path) -> None:
    """Among old and new papers, and not after one was removed."""
    long = text(200, 1) + BODY
    papers(tmp_path / "one", a=long, z=BODY)
    papers(tmp_path / "two", b=long)
    folder = built(tmp_path / "one", at=tmp_path / "lib")
    add_papers(folder, tmp_path / "two" / "b.tex", root=tmp_path / "two")
    with Library.open(folder) as library:
        assert library.report["clusters"] == [["a", "b"]]
    remove_articles(folder, ["a"])
    with Library.open(folder) as library:
        assert library.report["clusters"] == []


def test_known_names_are_not_read(tmp_path: Path) -> None:
    """They are reported; without new papers nothing changes."""
    papers(tmp_path / "one", a=BODY, b=BODY)
    folder = built(tmp_path / "one", at=tmp_path / "lib")
    before = content(folder)
    assert add_papers(folder, tmp_path / "one") == Change(known=["a", "b"])
    assert content(folder) == before
    assert [path.name for path in (folder / "generations").iterdir()] == ["1"]
    papers(tmp_path / "one", c=BODY)
    change = add_papers(folder, tmp_path / "one")
    assert (change.known, change.articles) == (["a", "b"], 1)


def test_known_papers_and_an_unreadable_one_change_nothing(tmp_path: Path) -> None:
    """The unreadable source is counted, as when it was first added."""
    papers(tmp_path / "one", a=BODY, b=BODY)
    (tmp_path / "one" / "c.tex").write_text("", "utf-8")
    folder = built(tmp_path / "one", at=tmp_path / "lib")
    before = content(folder)
    for resume in (False, True):
        change = add_papers(folder, tmp_path / "one", resume=resume)
        assert change == Change(known=["a", "b"], skipped=1)
        assert content(folder) == before
        assert [path.name for path in (folder / "generations").iterdir()] == ["1"]


def test_new_version_replaces_the_old(tmp_path: Path) -> None:
    """On request, and if it can be read; otherwise the old one is kept."""
    papers(tmp_path / "one", a=BODY, b=BODY, c=BODY)
    folder = built(tmp_path / "one", at=tmp_path / "lib")
    papers(tmp_path / "two", a=r"New. \[ y = 2 \]", d=BODY)
    (tmp_path / "two" / "c.tex").write_text("", "utf-8")
    change = add_papers(folder, tmp_path / "two", root=tmp_path / "two", replace=True)
    assert (change.articles, change.replaced, change.kept) == (2, ["a"], ["c"])
    with Library.open(folder) as library:
        assert library.records.names() == ["b", "c", "a", "d"]
        assert library.article("a").equations[0].latex == "y = 2"


def test_source_that_is_skipped_again_is_recorded_once(tmp_path: Path) -> None:
    """When it becomes readable, it becomes an article."""
    papers(tmp_path / "papers", a=BODY, c=BODY)
    (tmp_path / "papers" / "b.tex").write_text("", "utf-8")
    folder = built(tmp_path / "papers", at=tmp_path / "lib")
    papers(tmp_path / "papers", d=BODY)
    add_papers(folder, tmp_path / "papers")
    with Library.open(folder) as library:
        assert (library.report["articles"], library.report["skipped"]["total"]) == (3, 1)
    papers(tmp_path / "papers", b=BODY)
    add_papers(folder, tmp_path / "papers")
    with Library.open(folder) as library:
        assert (library.report["articles"], library.report["skipped"]["total"]) == (4, 0)


def test_model_stays_and_unknown_words_are_counted(learned: Path, tmp_path: Path) -> None:
    """Words and units of new papers that the model does not have."""
    folder = tmp_path / "lib"
    shutil.copytree(learned, folder)
    with Library.open(folder) as library:
        assert library.model is not None
        before = library.model.sha256
        known = library.model.keys["words"][:5]
    strange = "strangeness " * 3
    body = rf"{' '.join(known)} {strange} \begin{{equation}} q = \oint q \end{{equation}} {strange}"
    papers(tmp_path / "new", odd=body, other=body)
    new = [tmp_path / "new/odd.tex", tmp_path / "new/other.tex"]
    change = add_papers(folder, new, root=tmp_path / "new")
    assert change.lacks is not None
    assert change.lacks["words"] == 1
    assert change.lacks["words_occurrences"] == 12
    assert change.lacks["all_words_occurrences"] >= 12
    assert 0 < change.lacks["units"] <= change.lacks["all_units"]
    with Library.open(folder) as library:
        assert library.model is not None
        assert library.model.sha256 == before
        assert library.report["model"]["sha256"] == before
        lacks = library.report["model"]["lacks"]
        assert 1 <= lacks["words"] < lacks["all_words"]
        assert lacks["all_words_occurrences"] > change.lacks["all_words_occurrences"]
        assert not (library.generation / "training").exists()


@pytest.mark.parametrize(("stage", "count"), [("reading", 4), ("indexing", 1)])
def test_interrupted_add_can_be_resumed(
    grown: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stage: str,
    count: int,
) -> None:
    """Until then, the library is the old one."""
    monkeypatch.setattr(engines, "_COMMIT_EVERY", 0.0)
    old, new = grown
    folder = built(old, at=tmp_path / "lib", root=tmp_path)
    before = content(folder)
    with pytest.raises(KeyboardInterrupt):
        add_papers(folder, new, watch=Interrupt(stage, count))
    assert content(folder) == before
    told: list[str] = []
    add_papers(folder, new, resume=True, watch=lambda stage, _: told.append(stage))
    assert told.count("reading") == (9 if stage == "reading" else 0)
    assert content(folder) == content(built(old, new, at=tmp_path / "whole"))


@pytest.mark.parametrize("several", [False, True])
def test_changes_accept_one_path_or_name_or_several(tmp_path: Path, *, several: bool) -> None:
    """A string is one path or one name, and not a sequence of letters."""
    folder = built(papers(tmp_path / "papers", a=BODY), at=tmp_path / "lib")
    new = papers(tmp_path / "new", one=BODY, two=BODY)
    given = [str(new)] if several else str(new)
    assert add_papers(folder, given, root=new, jobs=1).articles == 2
    assert remove_articles(folder, ["one"] if several else "one").articles == 1


def test_wrong_paths_do_not_change_the_library(tmp_path: Path) -> None:
    """Neither do papers that cannot be read."""
    papers(tmp_path / "papers", a=BODY)
    with pytest.raises(UsageError, match="no library at"):
        add_papers(tmp_path / "lib", tmp_path / "papers")
    folder = built(tmp_path / "papers", at=tmp_path / "lib")
    before = content(folder)
    with pytest.raises(UsageError, match="nothing to read at"):
        add_papers(folder, tmp_path / "nowhere")
    (tmp_path / "pdfs").mkdir()
    (tmp_path / "pdfs" / "x.pdf").write_bytes(PDF)
    with pytest.raises(EqembError, match=r"^Found 1 file, but it is a PDF"):
        add_papers(folder, tmp_path / "pdfs", root=tmp_path)
    assert content(folder) == before
    assert [path.name for path in (folder / "generations").iterdir()] == ["1"]


# -- concurrent changes


@pytest.mark.skipif(os.name == "nt", reason="no locks here")
def test_open_library_stays_readable_during_a_change(learned: Path, tmp_path: Path) -> None:
    """The first change after it was closed removes its generation."""
    folder = tmp_path / "lib"
    shutil.copytree(learned, folder)
    topical(tmp_path / "more", 2, first=30)
    with Library.open(folder) as before:
        add_papers(folder, tmp_path / "more", root=tmp_path / "more")
        remove_articles(folder, ["set2/paper030"])
        assert len(before.records.names()) == before.report["articles"] == 12
        assert len(before.similar("x_1 = a + 0", by="meaning")) > 0
        assert before.describe("x_1 = a + 0").words
        with Library.open(folder) as after:
            assert len(after.records.names()) == 13
    names = {path.name for path in (folder / "generations").iterdir()}
    assert names == {"1", "3"}
    remove_articles(folder, ["set3/paper031"])
    assert [path.name for path in (folder / "generations").iterdir()] == ["4"]


def test_removed_generation_is_reported_as_a_change(learned: Path, tmp_path: Path) -> None:
    """Where folders cannot be locked."""
    shutil.copytree(learned, tmp_path / "lib")
    with (  # noqa: PT012 - the library is closed by the error
        pytest.raises(EqembError, match="was changed since it was opened"),
        Library.open(tmp_path / "lib") as library,
    ):
        assert len(library.similar("x_1 = a + 0", by="structure")) > 0
        shutil.rmtree(library.generation)
        library.similar("x_1 = a + 0", by="paper")


# -- remove


def test_unknown_name_is_refused(tmp_path: Path) -> None:
    """The error suggests similar names."""
    papers(tmp_path / "papers", cosine=BODY, entropy=BODY)
    folder = built(tmp_path / "papers", at=tmp_path / "lib")
    before = content(folder)
    with pytest.raises(UsageError, match=r"no article 'cosin' in .*: did you mean cosine\?"):
        remove_articles(folder, ["entropy", "cosin"])
    assert content(folder) == before
    assert [path.name for path in (folder / "generations").iterdir()] == ["1"]


def test_not_every_article_can_be_removed(tmp_path: Path) -> None:
    """An empty library is useless."""
    papers(tmp_path / "papers", a=BODY, b=BODY)
    folder = built(tmp_path / "papers", at=tmp_path / "lib")
    with pytest.raises(UsageError, match="would remove every article"):
        remove_articles(folder, ["a", "b"])


def test_completed_removal_is_not_repeated(tmp_path: Path) -> None:
    """If it was killed after the switch and is resumed."""
    papers(tmp_path / "papers", a=BODY, b=BODY, c=BODY)
    folder = built(tmp_path / "papers", at=tmp_path / "lib")
    assert remove_articles(folder, ["a", "a"]).articles == 1
    after = content(folder)
    assert remove_articles(folder, ["a"], resume=True) == Change(finished=True)
    assert content(folder) == after
    with pytest.raises(UsageError, match="no article 'a'"):
        remove_articles(folder, ["a"])


def test_completed_removal_by_a_bare_name_is_not_repeated(tmp_path: Path) -> None:
    """The name can no longer be completed, but the last step tells which article was meant."""
    for name in "abc":
        papers(tmp_path / "papers" / name, **{f"p{name}": BODY})
    folder = built(tmp_path / "papers", at=tmp_path / "lib")
    assert remove_articles(folder, ["pa"]).articles == 1
    assert remove_articles(folder, ["pa"], resume=True) == Change(finished=True)
    with pytest.raises(UsageError, match="no article 'b/pb/pb'"):
        remove_articles(folder, ["pb", "b/pb/pb"], resume=True)


def test_root_follows_papers_that_moved(tmp_path: Path) -> None:
    """The first addition names the new root; later ones need not."""
    papers(tmp_path / "papers" / "nlp", a=BODY)
    folder = built(tmp_path / "papers", at=tmp_path / "lib")
    (tmp_path / "papers").rename(tmp_path / "moved")
    papers(tmp_path / "moved" / "nlp", b=BODY, c=BODY)
    with pytest.raises(UsageError, match=r"no longer exists: .* \(--root\)"):
        add_papers(folder, tmp_path / "moved/nlp/b.tex")
    assert add_papers(folder, tmp_path / "moved/nlp/b.tex", root=tmp_path / "moved").articles == 1
    assert add_papers(folder, tmp_path / "moved/nlp/c.tex").articles == 1
    with Library.open(folder) as library:
        assert library.records.names() == ["nlp/a", "nlp/b", "nlp/c"]


# -- rebuild


def test_library_can_be_rebuilt(learned: Path, tmp_path: Path) -> None:
    """After build, add and remove, with a model, byte for byte."""
    source, folder = tmp_path / "papers", tmp_path / "lib"
    shutil.copytree(learned.parent / "papers", source)
    Library.build(source, folder, model=SMALL).close()
    topical(tmp_path / "more", 3, first=30)
    add_papers(folder, tmp_path / "more", root=tmp_path / "more")
    remove_articles(folder, ["set0/paper000"])
    found = rebuild(folder)
    assert found.agrees
    assert {"records", "model", "vectors/words.npy"} <= set(found.parts)
    assert sum(name.endswith("/equations.npy") for name in found.parts) == 4  # 2 segments
    assert len(list((folder / "generations").iterdir())) == 1


def test_changed_papers_are_named(tmp_path: Path) -> None:
    """So are papers that vanished or appeared."""
    papers(tmp_path / "papers", a=BODY, b=BODY, c=BODY)
    folder = built(tmp_path / "papers", at=tmp_path / "lib")
    papers(tmp_path / "papers", b=BODY + " More.", d=BODY)
    (tmp_path / "papers" / "a.tex").unlink()
    found = rebuild(folder)
    assert (found.changed, found.vanished, found.appeared) == (["b"], ["a"], ["d"])
    assert not found.agrees
    assert not found.parts["records"]
    shutil.rmtree(tmp_path / "papers")
    found = rebuild(folder)
    assert (found.vanished, found.agrees) == ([str(tmp_path / "papers")], False)


def test_relative_paths_are_resolved_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A paper's origin is the path as typed, so that a rebuild runs in the same folder."""
    papers(tmp_path / "papers", a=BODY, b=BODY)
    monkeypatch.chdir(tmp_path / "papers")
    built(Path("a.tex"), Path("b.tex"), at=Path("../lib"))
    monkeypatch.chdir(tmp_path)
    assert rebuild("lib").agrees
    assert Path.cwd() == tmp_path


def test_library_without_an_index_can_be_rebuilt(tmp_path: Path) -> None:
    """It has neither model nor index."""
    papers(tmp_path / "papers", a=BODY)
    Library.read([tmp_path / "papers"], tmp_path / "lib").close()
    assert rebuild(tmp_path / "lib").parts == {"records": True}


def test_changed_byte_of_the_index_is_found(tmp_path: Path) -> None:
    """The file is named."""
    papers(tmp_path / "papers", a=BODY)
    folder = built(tmp_path / "papers", at=tmp_path / "lib")
    (path,) = folder.glob("segments/*/index/equations.npy")
    path.write_bytes(path.read_bytes() + b"!")
    found = rebuild(folder)
    assert [name for name, same in found.parts.items() if not same] == [
        f"segments/{path.parents[1].name}/equations.npy"
    ]


def test_changed_base_is_named(learned: Path, tmp_path: Path) -> None:
    """Its word vectors are part of the result."""
    base = tmp_path / "base"
    shutil.copytree(learned, base)
    source = topical(tmp_path / "papers", 4, first=40)
    Library.build(source, tmp_path / "lib", model={"iterations": 1}, base=base).close()
    assert rebuild(tmp_path / "lib").agrees
    Library.build(source, base, model=SMALL).close()
    found = rebuild(tmp_path / "lib")
    assert found.changed == [str(base)]
    assert not found.agrees
