"""Splitting and training from the command line, on the articles that come with eqemb."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import eqemb
from campaigns import FULL
from eqemb.cli import train as learning
from eqemb.cli.progress import TrainingProgress
from eqemb.corpus.vocabulary import Rules
from eqemb.errors import EqembError, UsageError
from eqemb.facade.library import Library
from eqemb.models import registry, workspace
from few_articles import DEMO, FEW, copy_articles
from synthetic import Run, papers

SMALL = ("--dim", "8", "--iterations", "3", "--threads", "1")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight demo articles in two collections."""
    folder = tmp_path_factory.mktemp("learning")
    copy_articles(folder / "papers" / "one", FEW[:5])
    copy_articles(folder / "papers" / "two", FEW[5:])
    Library.read([folder / "papers"], folder / "lib").close()
    return folder / "lib"


def test_all_is_every_collection_in_every_command(run: Run, tmp_path: Path, library: Path) -> None:
    """`--collection all` is no limit, as it is for training."""
    Library.read([library.parent / "papers"], tmp_path / "l", index=True).close()
    with Library.open(tmp_path / "l") as opened:
        every = opened.search("probability", collection="all")
        assert every.to_json() == opened.search("probability").to_json()
        assert every.hits
        assert {hit.article.split("/")[0] for hit in opened.search("probability", 50)} == {
            "one",
            "two",
        }
    done = run("search", tmp_path / "l", "probability", "--collection", "all")
    assert done.code == 0, done.err


def test_collections_are_the_folders(library: Path) -> None:
    """And all of them."""
    with Library.open(library) as opened:
        found = workspace.collections(opened)
        assert list(found) == ["one", "two", "all"]
        assert found["all"] == found["one"] + found["two"]
        one, every = (
            workspace.corpus(opened, workspace.CorpusChoice(name)) for name in ("one", "all")
        )
    assert set(one.articles) < set(every.articles)
    assert set(one.collections) == {"one"}


def test_a_corpus_is_what_was_read(library: Path) -> None:
    """Equations stand between the words they stand between, with their names and units."""
    rules = Rules(min_count=1, top=0, min_length=1, stop_words=False)
    with Library.open(library) as opened:
        corpus = workspace.corpus(opened, workspace.CorpusChoice(rules=rules))
        again = workspace.corpus(opened, workspace.CorpusChoice(rules=rules))
        articles = {article.name: article for article in opened.articles()}
    assert corpus.sha256 == again.sha256
    for index, name in enumerate(corpus.articles):
        stream: list[str] = []
        places = {}
        for item in articles[name].stream():
            if isinstance(item, str):
                if any(map(str.isalpha, item)):
                    stream.append(item.lower())
            else:
                places[item.id] = len(stream)
        low, high = corpus.starts[index : index + 2]
        assert [corpus.words[word] for word in corpus.tokens[low:high]] == stream
        for at in range(*corpus.equation_starts[index : index + 2]):
            assert corpus.equation_positions[at] - low == places[corpus.equation_names[at]]
    assert corpus.units
    assert np.all(np.diff(corpus.unit_starts) > 0)


def test_numbered_only(library: Path) -> None:
    """The paper's corpus has fewer equations than the product's."""
    with Library.open(library) as opened:
        every = workspace.corpus(opened)
        few = workspace.corpus(opened, workspace.CorpusChoice(numbering="numbered"))
        report = opened.report["equations"]
    assert len(few.equation_types) == report["numbered"]
    assert len(every.equation_types) == report["numbered"] + report["unnumbered"]


def test_near_duplicates_are_left_out(tmp_path: Path) -> None:
    """The first of a group stays; all stay where that is asked for."""
    source = (DEMO / "ir" / "cosine" / "main.tex").read_text("utf-8")
    for name in ("a", "b", "c"):
        (tmp_path / "papers" / name).mkdir(parents=True)
        (tmp_path / "papers" / name / "main.tex").write_text(source, "utf-8")
    with Library.read([tmp_path / "papers"], tmp_path / "lib") as opened:
        few = workspace.corpus(opened)
        every = workspace.corpus(opened, workspace.CorpusChoice(duplicates=True))
    assert (few.articles, few.left_out) == (["a"], 2)
    assert (every.articles, every.left_out) == (["a", "b", "c"], 0)


def test_split_prints_rules_chance_and_hash(run: Run, library: Path) -> None:
    """For people and for programs, the same split each time."""
    shown = run("split", library, "--collection", "one", "--seed", "0")
    assert shown.code == 0, shown.err
    found = json.loads(run("split", library, "--collection", "one", "--json").out)
    assert found["sha256"] in shown.out
    assert "fewer than 2 times" in shown.out
    assert found["chance"]["zero"]["logistic"] == pytest.approx(-2 * np.log(2))
    assert found["chance"]["zero"]["softmax"] == pytest.approx(-3.0933, abs=1e-3)
    assert found["test"] == found["validation"] == 2 * found["types"]
    other = json.loads(run("split", library, "--collection", "one", "--seed", "1", "--json").out)
    assert other["sha256"] != found["sha256"]


needs_gensim = pytest.mark.skipif(
    find_spec("gensim") is None, reason="gensim is not installed: pip install 'eqemb[baselines]'"
)


@pytest.mark.parametrize(
    "model",
    [
        "words", "b-emb", "eqemb", "eqemb-u", "glove",
        *(pytest.param(name, marks=needs_gensim) for name in ("cbow", "pv-dm")),
    ],
)  # fmt: skip
def test_train(run: Run, library: Path, model: str) -> None:
    """Each model is trained, kept, and opens again."""
    done = run("train", library, "--model", model, *SMALL, "--name", f"t-{model}", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert set(found) == {
        "model", "sha256", "iterations", "validation", "words_per_second", "seconds", "device",
        "path",
    }  # fmt: skip
    kept = eqemb.Embeddings.load(Path(found["path"]))
    assert kept.sha256 == found["sha256"]
    assert kept.config["validation"] == found["validation"] < 0
    assert kept.words.vector_size == 8
    assert not list((library / "models").glob(".*"))


def test_info_names_the_models(run: Run, library: Path) -> None:
    """With what they are and how well they predict."""
    assert run("train", library, "--model", "words", *SMALL, "--name", "listed").code == 0
    assert "listed: words, dimension 8, validation -" in run("info", library).out
    assert json.loads(run("info", library, "--json").out)["models"]["listed"]["seed"] == 0


def test_threads_do_not_show(run: Run, library: Path) -> None:
    """One, two and four threads make one model."""
    digests = set()
    for threads in ("1", "2", "4"):
        name = f"threads-{threads}"
        done = run("train", library, *SMALL[:-1], threads, "--name", name, "--json")
        digests.add(json.loads(done.out)["sha256"])
    assert len(digests) == 1


def test_talk_of_training(run: Run, library: Path, tmp_path: Path) -> None:
    """What it needs beforehand, the curve afterwards; a picture where asked for."""
    pytest.importorskip("matplotlib", reason="the extra `plot` is not installed")
    picture = tmp_path / "curve.png"
    done = run("train", library, *SMALL, "--name", "talk", "--plot", picture)
    assert done.code == 0, done.err
    assert not [word for word in ("device", "parameters", "memory", "time") if word not in done.err]
    assert "words/s" in done.out
    assert "█" in done.out
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_score_that_is_said_is_the_one_kept(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vectors that go on for the sake of others may score better later: these are not kept."""
    history: list[dict[str, Any]] = [
        {
            "stage": "units", "iteration": at, "loss": {"b_w": 1.0}, "positions": 10,
            "best": {"alpha_u": 1}, "validation": {"alpha_u": score}, "seconds": 1.0,
        }
        for at, score in enumerate((-2.5, -2.75, -2.125), 1)
    ]  # fmt: skip
    made = eqemb.Embeddings({"model": "eqemb-u", "best": {"alpha_u": 1}}, {}, {}, history)
    summary = {"words_per_second": 1.0, "seconds": 1.0, "device": "cpu", "sha256": "", "path": ""}
    learning._print_trained(summary, made)
    assert "-2.500 (best: iteration 1)\n" in capsys.readouterr().out
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with TrainingProgress(5) as progress:
        for row in history:
            progress.update(row, row["iteration"], 1.0, 1.0, row["validation"]["alpha_u"])
    lines = [line for line in capsys.readouterr().err.splitlines() if "validation -" in line]
    assert ["(best: 1)" in line for line in lines] == [False, True, True]


@needs_gensim
def test_talk_of_training_without_a_loss(run: Run, library: Path, tmp_path: Path) -> None:
    """A model of gensim's is shown by its validation score alone."""
    pytest.importorskip("matplotlib", reason="the extra `plot` is not installed")
    picture = tmp_path / "curve.svg"
    done = run("train", library, "--model", "cbow", *SMALL, "--name", "no-loss", "--plot", picture)
    assert done.code == 0, done.err
    assert "validation" in done.out
    assert picture.exists()


@pytest.mark.parametrize(("said", "code"), [("0.5", 0), ("0", 2), ("-1", 2), ("nan", 2)])
def test_memory_is_given_in_gigabytes(
    run: Run, library: Path, said: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As bytes it is a setting of the model; none is refused."""
    seen, make = [], registry.create

    def watched(name: str, settings: dict[str, Any]) -> Any:
        seen.append(settings["memory"])
        return make(name, settings)

    monkeypatch.setattr(registry, "create", watched)
    done = run("train", library, "--memory", said, "--device", "cpu", "--dry-run")
    assert done.code == code, done.err
    assert seen == ([500_000_000] if code == 0 else [])
    assert code == 0 or "gigabytes" in done.err


@pytest.mark.filterwarnings("default")
def test_warnings_are_sentences(
    run: Run, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A GPU that cannot be used is no reason to show source code, nor to say it twice."""
    monkeypatch.setattr(
        "eqemb.models.bernoulli.gpu_problem", lambda: "the GPU cannot be used (too old)"
    )
    said = "the GPU cannot be used (too old); training on the CPU"
    papers(tmp_path / "papers", a=r"Some words. \[ x = 1 \]")
    for command in (
        ("train", library, *SMALL, "--name", "warned"),  # its estimate warns, and its training
        ("build", tmp_path / "papers", "-o", tmp_path / "lib", "--device", "auto"),
    ):
        done = run(*command)
        assert [line for line in done.err.splitlines() if "GPU" in line] == [said]


def test_dry_run_trains_nothing(run: Run, library: Path) -> None:
    """It says what it would need and stops."""
    done = run("train", library, "--name", "dry", "--dry-run")
    assert done.code == 0
    assert "memory" in done.out
    assert not (library / "models" / "dry").exists()
    assert "device      cpu\n" in run("train", library, "--device", "cpu", "--dry-run").out
    found = json.loads(run("train", library, "--name", "dry", "--dry-run", "--json").out)
    assert found["memory"] > 0
    assert found["parameters"] == 2 * 100 * _rows(library)
    assert run("train", library, "--model", "words", *SMALL, "--name", "dry").code == 0
    again = run("train", library, "--name", "dry", "--dry-run", "--json")
    assert json.loads(again.out) | {"seconds": 0} == found | {"seconds": 0}


def _rows(library: Path) -> int:
    with Library.open(library) as opened:
        corpus = workspace.corpus(opened)
    return len(corpus.words) + len(corpus.units)


def test_a_name_is_taken_once(run: Run, library: Path) -> None:
    """A second model of the name is refused, the same one is found again with --resume."""
    first = run("train", library, "--model", "words", *SMALL, "--name", "taken", "--json")
    again = run("train", library, "--model", "words", *SMALL, "--name", "taken", "--json")
    assert again.code == 2
    assert "give another --name" in again.err
    resumed = ("train", library, "--model", "words", *SMALL, "--name", "taken", "--json")
    found = run(*resumed, "--resume")
    assert json.loads(found.out)["sha256"] == json.loads(first.out)["sha256"]
    other = run(*resumed, "--resume", "--seed", "1")
    assert other.code == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--model", "eqembu"], "did you mean eqemb-u"),
        (["--model", "words", "--unit-pooling", "sum"], "words has no --unit-pooling"),
        (["--collection", "onee"], "did you mean one"),
        (["--window", "3"], "must be even"),
        (["--rate", "-1"], "above 0"),
        (["--vocabulary", "papers"], "must be 'plain' or 'paper'"),
        (["--numbering", "all"], "must be 'display' or 'numbered'"),
        (["--min-count", "many"], "integer of at least 0 or 'auto'"),
        (["--name", "../x"], "cannot be the name of a model"),
        (["--min-count", "100000"], "no words"),
        (["--negatives", "1000000"], "from 1 to 1,000"),
        (["--control", "none"], "must be 'shuffled', or left out"),
        (["--rate", "1e30", "--iterations", "2"], "smaller rate"),
        (["--plot", "curve.bmp"], "curve"),
    ],
)
def test_misuse_is_one_sentence(
    run: Run, library: Path, arguments: list[str], sentence: str
) -> None:
    """With the way out, no traceback, and no model left behind."""
    done = run("train", library, "--name", "wrong", *arguments)
    assert done.code in (1, 2)
    assert sentence in done.err
    assert done.err.strip().splitlines()[-1].startswith("eqemb: ")
    assert "Traceback" not in done.err
    assert not (library / "models" / "wrong").exists()


def test_given_words_of_another_model(run: Run, library: Path) -> None:
    """A larger library's words can stand in for the first pass."""
    base = ("train", library, *SMALL, "--name")
    assert run(*base, "base", "--model", "words").code == 0
    path = library / "models" / "base"
    done = run(*base, "small", "--collection", "one", "--words", path, "--json")
    assert done.code == 0, done.err
    said = run(*base, "said", "--collection", "one", "--words", path)
    assert "have no given vector" in said.err
    assert "may have been trained on words that are held out here" in said.err
    made = eqemb.Embeddings.load(Path(json.loads(done.out)["path"]))
    other = eqemb.Embeddings.load(path)
    shared = next(word for word in made.words.index_to_key if word in other.words)
    assert np.array_equal(made.words[shared], other.words[shared])


def test_an_interrupted_training_is_not_thrown_away(run: Run, library: Path) -> None:
    """Without --resume it is refused; a model below chance is remarked upon."""
    place = library / "models" / ".begun.checkpoint"
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(b"hours of work")
    done = run("train", library, *SMALL, "--name", "begun")
    assert done.code == 2
    assert "continue with --resume" in done.err
    assert place.read_bytes() == b"hours of work"
    place.unlink()
    bad = run("train", library, "--model", "words", *SMALL, "--rate", "1e4", "--name", "bad")
    assert "no better than chance (-3.045)" in bad.err


def test_a_damaged_corpus_is_reported(run: Run, library: Path) -> None:
    """Not a crash, and it is built again once it is removed."""
    assert run("split", library, "--collection", "two", "--min-count", "3").code == 0
    (folder,) = [
        path
        for path in (library / "corpus" / "two").iterdir()
        if json.loads((path / "corpus.json").read_text("utf-8"))["settings"]["min_count"] == 3
    ]
    (folder / "words.txt").write_text("", "utf-8")
    done = run("split", library, "--collection", "two", "--min-count", "3")
    assert done.code == 1
    assert "is damaged: remove it" in done.err
    shutil.rmtree(folder)
    assert run("split", library, "--collection", "two", "--min-count", "3").code == 0


def test_one_training_of_a_name_at_a_time(library: Path) -> None:
    """The second training is refused."""
    checkpoint = library / "models" / ".busy.checkpoint"
    with (
        workspace.reserve_name(checkpoint),
        pytest.raises(EqembError, match="busy is being trained by another eqemb"),
        workspace.reserve_name(checkpoint),
    ):
        pass
    assert not checkpoint.with_suffix(".lock").exists()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_kills_end_with_the_same_bytes(library: Path) -> None:
    """Through the command line, interrupted at any moment."""
    random = np.random.default_rng()

    def command(name: str) -> list[str]:
        more = ["--dim", "20", "--iterations", "20", "--threads", "2"]
        start = [sys.executable, "-m", "eqemb", "train", str(library), *more]
        return [*start, "--name", name, "--resume", "--json"]

    started = time.perf_counter()
    expected = subprocess.run(command("whole"), check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - started
    environment: dict[str, Any] = dict(os.environ)
    for _ in range(3 if FULL else 1):
        process = subprocess.Popen(command("killed"), stdout=subprocess.PIPE, env=environment)
        time.sleep(random.uniform(0.3, 1.0) * seconds)
        process.kill()
        process.communicate()
    done = subprocess.run(command("killed"), check=True, capture_output=True, text=True)
    assert json.loads(done.stdout)["sha256"] == json.loads(expected.stdout)["sha256"]


def test_the_library_stays_readable_after_training(library: Path) -> None:
    """Corpora, splits and models do not stand in the way of reading again."""
    with Library.open(library) as opened:
        workspace.corpus(opened)
        with pytest.raises(UsageError, match="no collection"):
            workspace.corpus(opened, workspace.CorpusChoice("three"))
        assert opened.report["articles"] == 8


def test_a_model_that_was_kept_with_its_hash_needs_none(library: Path, tmp_path: Path) -> None:
    """Its name is enough where it is the only one; of several all are named."""
    shutil.copytree(library, tmp_path / "lib", ignore=shutil.ignore_patterns("models"))
    one, other = (f"eqemb-{digit * 12}" for digit in "01")
    with Library.open(tmp_path / "lib") as opened:

        def keep(name: str) -> None:
            (opened.folder / "models" / name).mkdir(parents=True)
            (opened.folder / "models" / name / "config.json").write_text(
                '{"settings": {}}', "utf-8"
            )

        keep(one)
        keep("eqemb-u-" + "2" * 12)
        assert workspace.find_model(opened, "eqemb").name == one
        with pytest.raises(UsageError, match="no model 'eqem'"):
            workspace.find_model(opened, "eqem")
        keep(other)
        with pytest.raises(UsageError, match=rf"did you mean {one} or {other}\?"):
            workspace.find_model(opened, "eqemb")


def test_a_model_older_than_the_library_is_said_to_be(run: Run, tmp_path: Path) -> None:
    """Evaluated on what it was trained on, and with a word about it; near-duplicates or not."""
    demo = [DEMO / article for article in FEW if article.endswith(".tex")]
    Library.read(demo, tmp_path / "lib").close()
    train = ("train", tmp_path / "lib", "--model", "words", *SMALL, "--json")
    assert run(*train, "--name", "one").code == 0
    assert run(*train, "--name", "two", "--duplicates", "--numbering", "numbered").code == 0
    for name in ("one", "two"):
        done = run("evaluate", tmp_path / "lib", name, "--json")
        assert json.loads(done.out)["current"]
        assert "older" not in done.err
    Library.read(demo[1:], tmp_path / "lib").close()
    for name in ("one", "two"):
        done = run("evaluate", tmp_path / "lib", name, "--json")
        assert not json.loads(done.out)["current"]
        assert f"{name} is older than the library" in done.err
