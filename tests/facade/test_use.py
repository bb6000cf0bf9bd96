"""A trained model of any kind can be made the library's own."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from eqemb.errors import EqembError, UsageError
from eqemb.facade import model as model_module
from eqemb.facade import update, use
from eqemb.facade.export import export_equations
from eqemb.facade.library import Library
from eqemb.facade.reproduce import rebuild
from eqemb.facade.update import add_papers, compact_library, remove_articles
from eqemb.facade.use import use_model
from eqemb.index import build as index_build
from eqemb.index.build import build_index
from eqemb.library.database import ALL
from eqemb.library.segments import Indexer
from eqemb.models import registry, workspace
from synthetic import Run, forget_checksums, papers, read_inline, topical

SMALL: dict[str, Any] = {"dim": 8, "iterations": 2}
BODY = r"\begin{equation} q = 1 \end{equation}"
KINDS = ("words", "b-emb", "glove", "eqemb", "eqemb-u", "eqemb-h")


@pytest.fixture(autouse=True)
def _inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read in this process, and learn from little."""
    read_inline(monkeypatch)
    monkeypatch.setattr(model_module, "LEAST_WORDS", 100)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with a model of every kind, which no test changes."""
    folder = tmp_path_factory.mktemp("use")
    topical(folder / "papers", 12)
    with pytest.MonkeyPatch.context() as patch:
        read_inline(patch)
        patch.setattr(model_module, "LEAST_WORDS", 100)
        Library.build(folder / "papers", folder / "lib", model=SMALL | {"batch": 256}).close()
    with Library.open(folder / "lib") as library:
        corpus = workspace.corpus(library)
        held = workspace.split(library, ALL, corpus)
        for name in KINDS:
            model = registry.create(name, SMALL)
            workspace.Training(model, corpus, held, library.folder, name).run()
    return folder / "lib"


@pytest.fixture
def library(trained: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    shutil.copytree(trained, tmp_path / "lib")
    return tmp_path / "lib"


@pytest.mark.parametrize("name", KINDS)
def test_every_question_is_answered_by_the_chosen_model(library: Path, name: str) -> None:
    """Whatever vectors the model has: words alone, equations too, or units."""
    with Library.open(library) as before:
        records, equation = before.records.sha256(), before.records.equation_names()[0]
        assert before.model is not None
        word = before.model.keys["words"][0]
        other = before.search(word, by="meaning").to_json()
    about = use_model(library, name)
    with Library.open(library) as opened:
        assert opened.model is not None
        assert opened.model.config["model"] == name
        assert opened.report["model"] == about
        assert about["chosen"] == f"models/{name}"
        assert about["sha256"] == opened.model.sha256
        assert opened.records.sha256() == records
        assert [step["step"] for step in opened.steps] == ["build", "use"]
        assert opened.search(word).hits
        assert opened.search(word, by="meaning").hits
        assert opened.search(word, by="meaning").to_json() != other
        assert opened.similar(equation).hits
        assert opened.similar("x = y + 1").hits
        assert opened.describe(equation).to_json()
        assert opened.words(word)
        assert opened.why(word, equation) is not None
        if "alpha_equations" in opened.model.arrays:
            opened.search(word, by="paper")  # of so small a model all cosines may be negative
            assert opened.similar(equation, by="paper").hits
        export_equations(opened, library.parent / "rows.jsonl")


def files(library: Library) -> dict[str, bytes]:
    """Return the files of the index and of the vectors of a library."""
    folders = library.home / "segments", library.home / "vectors" / library.manifest.vectors
    return {
        f"{folder.parent.name}/{path.relative_to(folder)}": path.read_bytes()
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_index_is_that_of_a_library_built_with_the_model(library: Path) -> None:
    """EqEmb-H trained apart and then used gives the files that building gives."""
    with Library.open(library) as opened:
        assert opened.model is not None
        opened.model.save(library / "models" / "own")
        before = files(opened)
    use_model(library, "own")
    with Library.open(library) as opened:
        after = files(opened)
    assert before == after


def test_text_and_structure_are_not_indexed_again(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only an index of another version is computed as a whole."""

    def fail(*_: object) -> None:
        raise AssertionError("indexed again")

    monkeypatch.setattr(use, "INDEXER", Indexer("-1", fail))
    use_model(library, "eqemb-u")
    monkeypatch.setattr(index_build, "INDEX_VERSION", -1)
    with pytest.raises(AssertionError, match="indexed again"):
        use_model(library, "eqemb-h")


def test_an_index_of_another_version_is_computed_by_compact(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Searching and adding are refused, and say so."""
    with Library.open(library) as opened:
        equation = opened.records.equation_names()[0]
        before = opened.similar(equation).to_json()
    for path in forget_checksums(library).glob("segments/*/index/index.json"):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 1}))
    with Library.open(library) as opened, pytest.raises(EqembError, match="`eqemb compact`"):
        opened.similar(equation)
    with pytest.raises(EqembError, match="`eqemb compact`"):
        add_papers(library, library.parent, root=library.parent)
    # the name of a segment follows from the version of its index
    monkeypatch.setattr(update, "INDEXER", Indexer(str(index_build.INDEX_VERSION + 1), build_index))
    compact_library(library)
    with Library.open(library) as opened:
        assert opened.similar(equation).to_json() == before


def test_papers_come_and_go_with_the_chosen_model(library: Path) -> None:
    """Later changes keep it, with or without units."""
    for number, name in enumerate(("words", "eqemb-u"), 90):
        use_model(library, name)
        more = topical(library.parent / name, 1, first=number)
        change = add_papers(library, more, root=more)
        assert change.lacks is not None
        assert ("units" in change.lacks) == (name == "eqemb-u")
        with Library.open(library) as opened:
            added = opened.records.names()[-1]
        remove_articles(library, [added])
        with Library.open(library) as opened:
            assert opened.model is not None
            assert opened.model.config["model"] == name


def test_it_can_be_repeated(library: Path) -> None:
    """The step names the model; one that is gone or changed is reported."""
    use_model(library, "eqemb-u")
    assert rebuild(library).agrees
    shutil.rmtree(library / "models" / "eqemb-u")
    assert rebuild(library).vanished == [str(library / "models" / "eqemb-u")]
    shutil.copytree(library / "models" / "eqemb-h", library / "models" / "eqemb-u")
    found = rebuild(library)
    assert found.changed == [str(library / "models" / "eqemb-u")]
    assert not found.parts["model"]


def test_a_library_that_was_only_read_gets_an_index(library: Path, tmp_path: Path) -> None:
    """A model of another library can be used by its path."""
    Library.read(topical(tmp_path / "papers", 2), tmp_path / "bare").close()
    use_model(tmp_path / "bare", library / "models" / "eqemb-u")
    with Library.open(tmp_path / "bare") as opened:
        assert opened.search("paper").to_json()
        assert opened.steps[-1]["model"] == str(library / "models" / "eqemb-u")


def test_a_wrong_or_damaged_model_changes_nothing(library: Path) -> None:
    """The library stays as it was, and the sentence says what to do."""
    with pytest.raises(UsageError, match="did you mean eqemb-u"):
        use_model(library, "eqembu")
    with pytest.raises(UsageError, match="no model at"):
        use_model(library, library / "nowhere")
    config = library / "models" / "eqemb" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"sha256": "0"}))
    with pytest.raises(EqembError, match=r"config\.json has [0-9]+ bytes instead of"):
        use_model(library, "eqemb")
    with Library.open(library) as opened:
        assert len(opened.steps) == 1


def test_an_interrupted_change_is_resumed(library: Path) -> None:
    """Ctrl-C while indexing leaves the old library; the same command goes on."""

    def stop(_stage: str, _state: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        use_model(library, "eqemb-u", watch=stop)
    with Library.open(library) as opened:
        assert len(opened.steps) == 1
    about = use_model(library, "eqemb-u", resume=True)
    assert use_model(library, "eqemb-u", resume=True) == about
    with Library.open(library) as opened:
        assert [step["step"] for step in opened.steps] == ["build", "use"]


def test_the_command(run: Run, library: Path) -> None:
    """`eqemb use` prints what the library has now, and `eqemb info` repeats it."""
    done = run("use", library, "words")
    assert done.code == 0, done.err
    assert "now uses words: vectors of" in done.out
    more = topical(library.parent / "more", 1, first=90)
    papers(more / "set9", odd=f"{'strangeness ' * 9} {BODY} {'strangeness ' * 9}")
    added = run("add", library, more, "--root", more)
    assert added.code == 0, added.err
    assert "occurrences of words in the new papers are not in the model" in added.err
    assert "units" not in added.err
    assert "units, 100" not in run("info", library).out
    assert "no equation vectors: similar compares structure and words only" in done.err
    for name in ("b-emb", "glove", "eqemb"):
        done = run("use", library, name)
        assert "given as LaTeX that are not in the library have no vector" in done.err
        assert "words only" not in done.err
    assert "no vector" not in run("use", library, "eqemb-h").err
    told = json.loads(run("use", library, "eqemb-u", "--json").out)
    assert told["units"] > 0
    shown = run("info", library)
    assert "chosen with `eqemb use`: models/eqemb-u" in shown.out
    assert "use models/words" in shown.out
    assert run("use", library, "nothing").code == 2
