"""Grid search: models scored on one split, stored cells, and tables of the results."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from eqemb import cli
from eqemb.corpus.split import VALIDATION, Split, SplitSettings
from eqemb.corpus.vocabulary import Rules
from eqemb.errors import UsageError
from eqemb.evaluation import conclusions, grid, heldout, tables
from eqemb.evaluation.heldout import Cell, ModelRow, difference
from eqemb.facade.library import Library
from eqemb.models import BernoulliEmbeddings, EqEmb, EqEmbH, EqEmbU, likelihood
from few_articles import copy_articles
from planted import planted

ROWS = (
    ModelRow("words only, W", "words", 0, is_control=True),
    ModelRow("article vector", "article", is_control=True),
    ModelRow("EqEmb-U", "eqemb-u"),
)
OURS = {
    name: system
    for name, system in heldout.SYSTEMS.items()
    if issubclass(system.kind, BernoulliEmbeddings)
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a library of eight demo articles."""
    folder = tmp_path_factory.mktemp("contest")
    Library.read([copy_articles(folder / "papers")], folder / "lib").close()
    return folder / "lib"


def plan(**more: object) -> grid.GridPlan:
    """Return a grid search that takes seconds."""
    given = {"dims": (8,), "windows": (2, 4), "equation_windows": (8,), "seeds": (0, 1)}
    rest = {"rows": ROWS, "rules": Rules(), "numbering": "display"}
    return grid.GridPlan(("all",), **(given | rest | more))  # type: ignore[arg-type]


def test_equations_help_where_topics_are_planted() -> None:
    """On a planted corpus, an equation model significantly beats words alone."""
    corpus = planted()
    split = Split.make(corpus, SplitSettings(negatives=10))
    found = {
        result.row: result
        for result in heldout.compare(corpus, split, Cell(10, 2, 8), rows=ROWS, seeds=range(2))
    }
    articles = heldout.tested_articles(corpus, split)
    for measure in ("tempered", "accuracy"):
        mine, theirs = (found[row].test[measure] for row in ("EqEmb-U", "words only, W"))
        assert difference([(mine, theirs, articles)]).verdict == "better"
        assert difference([(theirs, mine, articles)]).verdict == "worse"
        assert difference([(mine, mine, articles)]).verdict == "tie"
    assert len(found["EqEmb-U"].test["raw"]) == len(articles)
    assert found["EqEmb-U"].summary()["measures"]["accuracy"]["test"]["se"] > 0


def test_results_do_not_depend_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """All compared, ranked and displayed models are trained on the CPU, even with a GPU."""
    plain = [system.make(Cell(), "softmax").saved_settings() for system in OURS.values()]
    monkeypatch.setattr("eqemb.models.bernoulli.gpu_problem", lambda: None)
    assert "device" in BernoulliEmbeddings().saved_settings()
    assert [system.make(Cell(), "softmax").saved_settings() for system in OURS.values()] == plain
    corpus = planted()
    split = Split.make(corpus, SplitSettings(negatives=10))
    trainer = heldout.Trainer(corpus, split, "softmax")
    made = trainer.trained(ROWS[0], Cell(10, 2, 8), 0).embeddings_
    assert made.run["device"] == "cpu"


def test_zero_vectors_score_as_the_formula_says() -> None:
    """The score of zero vectors does not depend on the corpus."""
    corpus = planted()
    split = Split.make(corpus, SplitSettings(negatives=10))
    found = likelihood.chance(corpus, split)
    assert found["zero"]["accuracy"] == 0.5
    for reading, expected in (("softmax", -2.493), ("logistic", -1.386)):
        assert found["zero"][reading] == pytest.approx(expected, abs=1e-3)
        assert abs(found["unigram"][reading] - expected) < 0.1


def test_the_bootstrap_samples_articles() -> None:
    """Words are clustered by article: a gain in one of five articles is not significant."""
    articles = np.repeat(np.arange(5), 1000)
    gain = np.where(articles == 0, 1.0, -0.01)
    found = difference([(gain, np.zeros(5000), articles)])
    assert found.mean == pytest.approx(0.192)
    assert found.verdict == "tie"
    alone = difference([(gain, np.zeros(5000), np.arange(5000))])
    assert alone.verdict == "better"


def test_few_articles_are_not_compared() -> None:
    """Four articles that agree would always be significant in a bootstrap."""
    gain, articles = np.full(400, 0.5), np.repeat(np.arange(4), 100)
    assert difference([(gain, np.zeros(400), articles)]).verdict == "too few"
    more = np.repeat(np.arange(5), 80)
    assert difference([(gain, np.zeros(400), more)]).verdict == "better"


def test_pooling_clusters_an_article_over_cells() -> None:
    """The same words in four cells do not count as four times as many words."""
    random = np.random.default_rng(0)
    gain, articles = random.normal(0.1, 1.0, 200), np.arange(200)
    pair = (gain, np.zeros(200), articles)
    one, four = difference([pair]), difference([pair] * 4)
    assert (one.low, one.high) == pytest.approx((four.low, four.high))


@pytest.mark.slow
def test_cells_are_stored_and_reused(library: Path, tmp_path: Path) -> None:
    """A second run trains nothing; a changed plan runs only what changed."""
    first = grid.run(library, tmp_path, plan(), jobs=1)
    kept = sorted((tmp_path / "cells" / "all-8-softmax").iterdir())
    times = [path.stat().st_mtime_ns for path in kept]
    assert len(kept) == len(ROWS)
    again = grid.run(library, tmp_path, plan(), jobs=1)
    assert json.dumps(first) == json.dumps(again)
    grid.run(library, tmp_path, plan(seeds=(3,)), jobs=1)
    more = ModelRow("b-emb", "b-emb")
    grid.run(library, tmp_path, plan(rows=(*ROWS, more)), jobs=1)
    assert [path.stat().st_mtime_ns for path in kept] == times
    assert len(list((tmp_path / "cells" / "all-8-softmax").iterdir())) == 2 * len(ROWS) + 1
    assert [entry["model"] for entry in first["results"]] == [row.name for row in ROWS]
    (mine,) = (entry for entry in first["results"] if entry["model"] == "EqEmb-U")
    chosen = max(mine["softmax"]["tried"], key=lambda one: one["validation"])
    assert len(mine["softmax"]["tried"]) == 2
    assert mine["softmax"]["window"] == chosen["window"]
    assert mine["seeds"] == [0, 1]
    assert set(mine["chance"]) == {"zero", "unigram"}
    kinds = [mine["softmax"].get(kind, {"n": 0})["n"] for kind in ("singletons", "repeated")]
    assert sum(kinds) == mine["n"]


def test_tables_have_every_row(library: Path, tmp_path: Path) -> None:
    """Tables are written as Markdown, LaTeX and HTML, with the best in bold."""
    results = grid.run(library, tmp_path, plan(seeds=(0,)), jobs=1)
    (table,) = tables.scores_of(results, "softmax", "tempered")
    assert [row[0] for row in table.rows][2:] == [row.name for row in ROWS]
    assert len(table.best) == 1
    for text, bold in (
        (tables.markdown(table), "**-"),
        (tables.latex(table), r"\textbf{-"),
        (tables.page("T", [table]), "<b>-"),
    ):
        assert bold in text
        assert not [row for row in ROWS if row.name not in text]
    gains = tables.gains(results, "softmax", "tempered")
    assert gains.head == ["model", "words only, W", "article vector"]
    assert [row[0] for row in gains.rows] == ["EqEmb-U"]
    (message,) = (
        line for line in tables.comparisons(results, "EqEmb-U", "softmax") if "accuracy" in line
    )
    assert all(row.name in message for row in ROWS if row.is_control)
    assert tables.statistics(results).rows[0][0] == "all"
    assert "too few" not in gains.caption
    for entry in results["differences"]:
        entry["verdict"] = "too few"
    gains = tables.gains(results, "softmax", "tempered")
    assert "? too few articles" in gains.caption
    assert all(text.endswith("?") for text in gains.rows[0][1:])
    assert all(
        "too few articles to compare with" in line
        for line in tables.comparisons(results, "EqEmb-U", "softmax")
    )


def test_a_trained_model_is_evaluated(
    library: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its validation score is the same as in training, and chance is reported."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["eqemb", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0), *capsys.readouterr()

    for model in ("words", "b-emb", "eqemb", "eqemb-u", "eqemb-h", "glove"):
        train = ("train", library, "--model", model, "--dim", "8", "--iterations", "3")
        assert run(*train, "--json")[0] == 0
        code, out, _ = run("evaluate", library, model, "--json")
        assert code == 0
        found = json.loads(out)
        assert found["chance"]["zero"]["logistic"] == pytest.approx(-2 * np.log(2))
        assert found["temperature"]["softmax"] > 0
        for name in ("softmax", "logistic", "accuracy"):
            assert set(found[name]) >= {"validation", "test"}
            assert found[name]["test"]["se"] > 0
    last = run("evaluate", library, "eqemb-h")[1].strip().splitlines()[-1]
    assert last.startswith("eqemb-h ")
    assert "chance" in last
    assert last.endswith(").")
    code, _, err = run("evaluate", library, "eqemb-v")
    assert code == 2
    assert "did you mean eqemb-u?" in err


def test_validation_score_is_that_of_early_stopping() -> None:
    """The score that stopped training is the same as in the evaluation."""
    corpus = planted()
    split = Split.make(corpus, SplitSettings(negatives=10))
    for kind in (BernoulliEmbeddings, EqEmb, EqEmbU, EqEmbH):
        model = kind(dim=8, iterations=3).fit(corpus, split)
        found = likelihood.predictive(model.score(corpus, split, VALIDATION)).mean()
        assert found == pytest.approx(model.embeddings_.config["validation"], rel=1e-5)


def test_the_command_writes_tables_and_plots(
    library: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Run one cell of the demo articles with every installed model."""
    pytest.importorskip("gensim")
    pytest.importorskip("matplotlib")
    out = tmp_path / "results"
    shape = ("--dim", 4, "--window", 4, "--equation-window", 8, "--seeds", 1, "--jobs", 1)
    rules = ("--vocabulary", "plain", "--numbering", "display", "--reading", "both")
    arguments = ["eqemb", "compare", library, "-o", out, *shape, *rules]
    monkeypatch.setattr(sys, "argv", [str(value) for value in arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert not ended.value.code
    shown, _ = capsys.readouterr()
    found = json.loads((out / "results.json").read_text("utf-8"))
    assert [entry["model"] for entry in found["results"]] == [row.name for row in heldout.ROWS]
    for entry in found["results"]:
        for reading in ("softmax", "logistic"):
            assert set(entry[reading]) >= {"test", "validation", "tempered", "accuracy", "tried"}
    names = {path.name for path in out.iterdir()}
    assert names >= {"results.json", "results.md", "results.tex", "results.html", "cells"}
    assert names >= {"score_by_dim-softmax.svg", "training-logistic.png"}
    assert "EqEmb-H" in shown
    assert shown.strip().splitlines()[-1] == conclusions.of_comparison(found)
    assert "±" not in shown.split("| EqEmb-H")[1].split("\n")[0]  # one seed has no error


def test_identity_covers_all_inputs_of_a_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It covers settings of every window, the word model, seeds and the split."""
    corpus = planted()
    split = Split.make(corpus, SplitSettings(negatives=10))
    task, row = grid.Task("all", 8, "logistic"), ModelRow("EqEmb-U", "eqemb-u")
    usual = plan().identity(row, task, split)
    assert plan().identity(row, task, split) == usual
    assert plan(seeds=(0,)).identity(row, task, split) != usual
    assert plan(windows=(4,)).identity(row, task, split) != usual
    assert plan().identity(row._replace(name="other"), task, split) != usual
    half = heldout.SYSTEMS["words"].tuned["logistic"]
    at_four = half | {"rate": 0.025}  # what "half" is at W=4, but not at W=2
    words = heldout.SYSTEMS["words"]._replace(tuned={"logistic": at_four})
    monkeypatch.setitem(heldout.SYSTEMS, "words", words)
    assert plan().identity(row, task, split) != usual


@pytest.mark.slow
def test_articles_of_collections_have_distinct_numbers(tmp_path: Path) -> None:
    """Pooled results differ from those of one collection, which are reported too."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        for number in range(6):
            words = " ".join(f"{name}{'abcdefgh'[(number + at) % 8]}" for at in range(60))
            body = rf"{words} \begin{{equation}} x_{number} = y \end{{equation}} {words}"
            text = rf"\documentclass{{article}}\begin{{document}}{body}\end{{document}}"
            (tmp_path / name / f"paper{number}.tex").write_text(text)
    Library.read([tmp_path / "one", tmp_path / "two"], tmp_path / "lib").close()
    given = {"dims": (4,), "windows": (4,), "equation_windows": (8,), "seeds": (0,), "rows": ROWS}
    rest = {"rules": Rules("plain", 1, 0), "numbering": "display"}
    two = grid.GridPlan(("one", "two"), **(given | rest))  # type: ignore[arg-type]
    found = grid.run(tmp_path / "lib", tmp_path / "out", two, jobs=1)
    pools = [entry["collection"] for entry in found["differences"]]
    assert set(pools) == {grid.POOL, "one", "two"}
    by = {
        entry["collection"]: entry["mean"]
        for entry in found["differences"]
        if entry["measure"] == "accuracy" and entry["against"] == "words only, W"
    }
    sizes = {name: facts["test"] for name, facts in found["collections"].items()}
    pooled = sum(by[name] * sizes[name] for name in sizes) / sum(sizes.values())
    assert by[grid.POOL] == pytest.approx(pooled, abs=1e-4)


def test_rows_are_chosen_by_name() -> None:
    """In the order of the tables; a misspelt name is refused with a similar one."""
    found = heldout.named_rows(["EQEMB-H", "document + one vector", "EqEmb-H"])
    assert [row.name for row in found] == ["document + one vector", "EqEmb-H"]
    with pytest.raises(UsageError, match=r"no row 'document vectr'.*document vector"):
        heldout.named_rows(["Document vectr"])


def test_a_bootstrap_share_has_a_p_value() -> None:
    """Two-sided, and never 0."""
    assert heldout.bootstrap_p(0.5) == 1.0
    assert heldout.bootstrap_p(0.99) == pytest.approx(0.02)
    assert heldout.bootstrap_p(0.01) == pytest.approx(0.02)
    assert heldout.bootstrap_p(1.0) == pytest.approx(2 / 2001)


def test_verdicts_are_corrected_for_the_rivals_of_a_model() -> None:
    """A comparison that is significant alone is a tie among several; others stay."""
    shared = {"reading": "softmax", "measure": "accuracy", "collection": grid.POOL, "model": "b"}
    figures = {"mean": 0.1, "low": 0.01, "high": 0.2, "verdict": "better"}

    def sign(*better: float) -> list[str]:
        entries = [
            shared | figures | {"against": str(at), "better": share}
            for at, share in enumerate(better)
        ]
        table = tables.gains({"differences": entries}, "softmax", "accuracy")
        return [cell[-1] for cell in table.rows[0][1:]]

    assert sign(0.98) == ["▲"]
    assert sign(0.98, 0.5, 0.5) == ["=", "=", "="]
    assert sign(0.98, 1.0) == ["▲", "▲"]
