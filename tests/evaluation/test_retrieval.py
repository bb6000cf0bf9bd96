"""Retrieval: topics, pools and graded scores, on corpora with known answers."""

import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import judged
import numpy as np
import pytest

from eqemb import cli
from eqemb.corpus.corpus import Corpus
from eqemb.errors import UsageError
from eqemb.evaluation import judged_topics, metrics, retrieval_tables, tables
from eqemb.evaluation.judged_topics import JudgedTopics, Topic
from eqemb.evaluation.rankers import EQUATION_QUERY, WORD_QUERY, Query, Ranker, word_query
from eqemb.facade.library import Library
from eqemb.index.encoder_models import load_encoder
from few_articles import copy_articles
from planted import planted, topic_of, word

TOPICS = """
[[topic]]
id = "W01"
kind = "words"
query = "cosine of two vectors"
want = "the cosine"
[[topic]]
id = "E02"
kind = "equation"
query = 'a = b + c'
"""


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """Make a corpus of topics with their own words, equations and units."""
    return planted(articles=20, length=60)


def test_topics_are_read(tmp_path: Path) -> None:
    """Words and equations are parsed; topics with odd numbers are for development."""
    (tmp_path / "topics.toml").write_text(TOPICS)
    one, other = judged_topics.read_topics(tmp_path / "topics.toml")
    assert one.query.words == ("cosine", "of", "two", "vectors")
    assert (one.id, one.want, one.is_development) == ("W01", "the cosine", True)
    assert other.query.kind == EQUATION_QUERY
    assert other.query.units
    assert not other.is_development


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "has no .*topic.* tables"),
        ("[[topic", "has no .*topic.* tables"),
        ("[[topic]]\nid = 'a'\nkind = 'word'\nquery = 'x'", "needs id, kind"),
        ("[[topic]]\nid = 'a'\nkind = 'words'", "needs id, kind"),
        ("topic = 3", "each must start with"),
        ("topic = [1]", "in quotes"),
        ("[[topic]]\nid = 1\nkind = 'words'\nquery = 'a'", "in quotes"),
        (TOPICS + TOPICS, "same id"),
    ],
)
def test_malformed_topics_are_reported(tmp_path: Path, text: str, message: str) -> None:
    """The error says what is wrong and names the file."""
    (tmp_path / "topics.toml").write_text(text)
    with pytest.raises(UsageError, match=message):
        judged_topics.read_topics(tmp_path / "topics.toml")


def test_our_own_topics_are_complete() -> None:
    """Half of the first thirty of a kind are for development, none of the later ones."""
    found = judged_topics.read_topics(Path(__file__).parents[2] / "benchmarks/judged/topics.toml")
    for kind in (WORD_QUERY, EQUATION_QUERY):
        mine = [topic for topic in found if topic.query.kind == kind]
        assert [topic.group for topic in mine] == [""] * 30 + ["later"] * 30
        assert sum(topic.is_development for topic in mine[:30]) == 15
        assert not any(topic.is_development for topic in mine[30:])
        assert all(topic.want and topic.grades for topic in mine)


def test_the_top_has_one_of_each_type(corpus: Corpus) -> None:
    """The best occurrence represents its type; ties are from Z to A; the query is left out."""
    scores = np.zeros(len(corpus.equation_types))
    same = np.flatnonzero(corpus.equation_types == corpus.equation_types[5])
    assert len(same) > 1
    scores[same] = 2.0
    scores[same[0]] = 3.0
    found = judged_topics.top(corpus, scores, 4)
    names = [corpus.equation_names[at] for at in same]
    assert next(iter(found)) == names[0]
    assert not set(found) & set(names[1:])
    assert list(found)[1:] == sorted(list(found)[1:], reverse=True)
    without = judged_topics.top(corpus, scores, 4, besides=int(same[0]))
    assert next(iter(without)) == max(names[1:])


class Oracle:
    """Scores the equations of a topic above all others."""

    answers = frozenset({WORD_QUERY})

    def __init__(self, corpus: Corpus, topic: int, name: str = "oracle") -> None:
        kinds = np.array([topic_of(form) for form in corpus.forms])[corpus.equation_types]
        self.name, self._scores = name, (kinds == topic) * 1.0

    def scores(self, query: Query) -> Any:
        """Return the same scores for all queries."""
        del query
        return self._scores


def test_a_run_has_only_supported_topics(corpus: Corpus) -> None:
    """Topics of other kinds are left out."""
    topics = [Topic("W1", word_query(word(0, 0))), Topic("E1", Query(EQUATION_QUERY, "x"))]
    found = judged_topics.run(corpus, Oracle(corpus, 0), topics, 5)
    assert list(found) == ["W1"]
    assert len(found["W1"]) == 5


# ------------------------------------------------------------ grades


def test_judgements_are_read_and_averaged(tmp_path: Path) -> None:
    """There is a column for each grader; the grade is the mean."""
    path = tmp_path / "qrels.tsv"
    path.write_text("topic\tname\ta\tb\nW01\tx#1\t3\t2\nW01\tx#2\t0\t1\nE02\tx#1\t2\t2\n")
    found = judged_topics.read_judgements(path)
    assert found["W01"] == {"x#1": (3.0, 2.0), "x#2": (0.0, 1.0)}
    assert judged_topics.mean_grades(found) == {
        "W01": {"x#1": 2.5, "x#2": 0.5},
        "E02": {"x#1": 2.0},
    }
    assert judged_topics.grades_of(found, 1)["W01"] == {"x#1": 2.0, "x#2": 1.0}
    agreed = judged_topics.agreement(found)
    assert (agreed["n"], agreed["topics"]) == (3, 2)
    assert agreed["exact"] == pytest.approx(1 / 3)
    assert agreed["within_one"] == 1.0
    assert agreed["answers"] == pytest.approx([2 / 3, 2 / 3])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "first line"),
        ("topic\tname\ta\nW01\tx#1\t3\n", "two graders"),
        ("topic\tname\ta\tb\nW01\tx#1\t3\t9\n", "0 to 3"),
        ("topic\tname\ta\tb\nW01\tx#1\t3\tnan\n", "0 to 3"),
        ("topic\tname\ta\tb\nW01\tx#1\t3\t3\nW01\tx#1\t3\t2\n", "graded twice"),
        ("W01 0 x 3\nW01 0 y 3\n", "first line"),
        ("topic\tname\ta\tb\nW01\tx#1\t3\n", "line 2"),
        ("topic\tname\ta\tb\nW01\tx#1\t3\thigh\n", "line 2"),
        ("topic\tname\ta\tb\n", "no grades"),
    ],
)
def test_malformed_judgements_are_reported(tmp_path: Path, text: str, message: str) -> None:
    """The error says what is wrong and names the file."""
    (tmp_path / "qrels.tsv").write_text(text)
    with pytest.raises(UsageError, match=message):
        judged_topics.read_judgements(tmp_path / "qrels.tsv")


def asked(count: int) -> list[Topic]:
    """Make topics in words."""
    return [Topic(f"W{at}", word_query(word(0, 0))) for at in range(1, count + 1)]


def graded(corpus: Corpus, topics: list[Topic], answer: int) -> dict[str, dict[str, float]]:
    """Grade the equations of one topic as relevant, and some others as not relevant."""
    kinds = [topic_of(corpus.forms[type_]) for type_ in corpus.equation_types]
    chosen = {
        name: 3.0 * (kind == answer)
        for name, kind in zip(corpus.equation_names, kinds, strict=True)
    }
    return {topic.id: dict(chosen) for topic in topics}


def test_scores_of_known_rankings(corpus: Corpus) -> None:
    """Relevant results first score 1, last score 0; unjudged results are counted."""
    topics = asked(4)
    table = JudgedTopics(corpus, topics, graded(corpus, topics, 1))
    right, wrong = Oracle(corpus, 1), Oracle(corpus, 2)
    found = table.measured(topics[0], right.scores(topics[0].query))
    places = sum(topic_of(form) == 1 for form in corpus.forms)  # one of each type
    assert found["precision"] == pytest.approx(min(10, places) / 10)
    assert found["map"] == pytest.approx(1.0)
    assert found["unjudged"] == 0.0
    assert table.measured(topics[0], wrong.scores(topics[0].query))["precision"] < 0.3
    few = {topic.id: dict(list(table.grades[topic.id].items())[:3]) for topic in topics}
    assert JudgedTopics(corpus, topics, few).measured(topics[0], right.scores(topics[0].query))[
        "unjudged"
    ] == pytest.approx(1.0, abs=0.3)


def test_chance_is_the_mean_of_many_orders(corpus: Corpus) -> None:
    """Shuffle one judged occurrence of each type."""
    topics = asked(1)
    first = np.unique(corpus.equation_types, return_index=True)[1]
    grades = {topics[0].id: {corpus.equation_names[at]: float(at % 4) for at in first}}
    table = JudgedTopics(corpus, topics, grades)
    expected = {name: float(values[0]) for name, values in table.chance(topics).items()}
    random = np.random.default_rng(0)
    dealt = []
    for _ in range(3000):
        scores = np.zeros(len(corpus.equation_types))
        scores[first] = 1 + random.random(len(first))  # the judged one represents its type
        found = table.measured(topics[0], scores)
        dealt.append((found["ndcg"], found["precision"]))
    assert [expected["ndcg"], expected["precision"]] == pytest.approx(np.mean(dealt, 0), abs=0.01)


def test_a_judged_name_missing_from_the_library_is_an_error(corpus: Corpus) -> None:
    """Scores on another library would be too low without notice."""
    with pytest.raises(UsageError, match=r"strange#1 is judged"):
        JudgedTopics(corpus, asked(1), {"W1": {"strange#1": 3.0}})


class Fickle(Oracle):
    """A ranker that is right on the topics of one half only."""

    def __init__(self, corpus: Corpus, name: str, *, development: bool) -> None:
        super().__init__(corpus, 1, name)
        self._wrong, self._development = Oracle(corpus, 2)._scores, development

    def scores(self, query: Query) -> Any:
        """Return scores by the number in the query."""
        odd = int(query.text.split()[-1]) % 2 == 1
        return self._scores if odd == self._development else self._wrong


def test_settings_are_chosen_on_development_topics_only(corpus: Corpus) -> None:
    """A ranker that is right only on test topics is not chosen."""
    topics = [Topic(f"W{at}", word_query(f"{word(0, 0)} {at}")) for at in range(1, 9)]
    table = JudgedTopics(corpus, topics, graded(corpus, topics, 1))
    good, late = (Fickle(corpus, name, development=name == "good") for name in ("good", "late"))
    combination, weights = judged_topics.combine(table, WORD_QUERY, [late, good])
    assert weights == {"good": 1.0}
    rankers: list[Ranker] = [good, late, combination, Oracle(corpus, 2, "BM25")]
    found = judged_topics.judged_scores(table, WORD_QUERY, rankers, ["combination"])
    halves = found["rankers"]["combination"]
    assert set(halves) == {"development", "test"}
    judged_on = {entry["topics"] for entry in found["gains"] if entry["ranker"] == "combination"}
    assert judged_on == {"test"}
    assert found["topics"] == {"development": 4, "test": 4, "all": 8}
    assert halves["development"]["ndcg"]["mean"] > 0.7
    assert halves["test"]["ndcg"]["mean"] < 0.3
    assert {entry["topics"] for entry in found["gains"]} == {"test", "all"}


def test_a_combination_adds_rankers_that_help(corpus: Corpus) -> None:
    """Two rankers that each know half of the answers are combined; noise is not added."""
    topics = asked(4)
    table = JudgedTopics(corpus, topics, graded(corpus, topics, 1))
    kinds = np.array([topic_of(form) for form in corpus.forms])[corpus.equation_types]
    even = corpus.equation_types % 2 == 0
    halves = [Oracle(corpus, 0, name) for name in ("even", "odd", "noise")]
    for each, own in zip(halves, (even, ~even), strict=False):
        each._scores = 4.0 * ((kinds == 1) & own) + (kinds == 2)
    halves[2]._scores = np.random.default_rng(0).random(len(kinds))
    _, weights = judged_topics.combine(table, WORD_QUERY, halves)
    assert set(weights) == {"even", "odd"}


# ------------------------------------------------------------ all of it, on the demo articles


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a library of eight demo articles."""
    folder = tmp_path_factory.mktemp("retrieval")
    Library.read([copy_articles(folder / "papers")], folder / "lib", index=True).close()
    return folder / "lib"


def letters(texts: list[str]) -> Any:
    """Encode texts by letter counts."""
    return np.array([[text.count(chr(97 + at)) for at in range(26)] for text in texts], float)


def grade(pool: Path, grades: Path, shift: int) -> None:
    """Write the grades of a grader who counts letters."""
    grades.mkdir()
    for path in pool.glob("*.jsonl"):
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        found = {str(line["n"]): (len(line["latex"]) + shift * line["n"]) % 4 for line in lines}
        (grades / f"{path.stem}.json").write_text(json.dumps(found))


@pytest.mark.slow
def test_from_pools_to_tables(
    library: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Pools hide the systems, grades are collected without text, and all rankers are scored."""

    def call(*arguments: object) -> str:
        monkeypatch.setattr(sys, "argv", ["judged.py", *map(str, arguments)])
        judged.main()
        return str(capsys.readouterr().out)

    pool, qrels = tmp_path / "pool", tmp_path / "qrels.tsv"
    encoder = ("--encoder", f"{__name__}:letters")
    message = call("pool", library, "-o", pool, *encoder)
    assert "sentence encoder, words" in message
    (first, *_) = (pool / "W09.jsonl").read_text("utf-8").splitlines()
    assert list(json.loads(first)) == ["n", "name", "latex", "before", "after", "title", "section"]
    for folder, shift in (("a", 0), ("b", 1)):
        grade(pool, tmp_path / folder, shift)
    call("grades", pool, tmp_path / "a", tmp_path / "b", "-o", qrels)
    names = {line.split("\t")[1] for line in qrels.read_text("utf-8").splitlines()[1:]}
    assert json.loads(first)["name"] in names

    call("score", library, "--qrels", qrels, "-o", tmp_path / "scores", "--runs", tmp_path / "runs")
    found = json.loads((tmp_path / "scores.json").read_text("utf-8"))
    assert found["judged"]["agreement"]["n"] == len(qrels.read_text("utf-8").splitlines()) - 1
    assert found["judged"]["words"]["topics"] == {
        "development": 15,
        "test": 15,
        "all": 30,
        "later": 30,
        "test and later": 45,
    }
    rankers = found["judged"]["words"]["rankers"]
    assert {"chance", "BM25", "EqEmb-H", "article vector", "combination"} <= set(rankers)
    assert "article vector" not in found["judged"]["equation"]["rankers"]
    assert 0 < rankers["BM25"]["test"]["ndcg"]["mean"] <= 1
    assert rankers["BM25"]["all"]["unjudged"]["mean"] == 0
    assert rankers["equal weights"]["all"]["unjudged"]["mean"] < 1
    assert found["own_context"]["rankers"]["BM25"]["mrr"]["mean"] > 0
    made = (tmp_path / "scores.md").read_text("utf-8")
    for part in ("kappa", "Judged topics in words", "| combination", "Held-out words", "chose"):
        assert part in made
    answers = metrics.read_run(tmp_path / "runs/BM25.run")
    numbers = [*range(1, 31), *range(32, 91, 2)]
    assert set(answers) == {f"W{number:02}" for number in numbers}
    assert max(map(len, answers.values())) > 10


def test_the_command_compares_without_judgements(
    library: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Labels, references and held-out words need no grades; nothing is tuned on them."""
    monkeypatch.setattr(sys, "argv", ["eqemb", "retrieval", str(library)])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert not left.value.code
    printed = capsys.readouterr()
    assert "8 articles" in printed.out
    assert "Held-out words" in printed.out
    assert "| article oracle |" in printed.out
    assert "combination" not in printed.out
    last = printed.out.strip().splitlines()[-1]
    assert re.match(r"For .*held-out words \(n = [\d,]+\), .*\.$", last)
    assert "own contexts" in printed.err
    assert f"models are in {library / 'models'}" in printed.err


def test_a_missing_grade_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing grade is not silently 0."""
    for name in ("pool", "a", "b"):
        (tmp_path / name).mkdir()
    (tmp_path / "pool/W01.jsonl").write_text('{"n": 1, "name": "x#1"}\n{"n": 2, "name": "x#2"}\n')
    (tmp_path / "a/W01.json").write_text('{"1": 3, "2": 0}')
    (tmp_path / "b/W01.json").write_text('{"1": 3}')
    arguments = ["grades", *(str(tmp_path / name) for name in ("pool", "a", "b", "qrels.tsv"))]
    arguments.insert(-1, "-o")
    monkeypatch.setattr(sys, "argv", ["judged.py", *arguments])
    with pytest.raises(SystemExit, match="W01, 2"):
        judged.main()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--topics", "x.toml"], "--topics and --qrels must be given together"),
        (["--encoder", "no_such_module:encode"], "no encoder"),
        (["--encoder", "json:no_such_function"], "no encoder"),
        (["--encoder", "json"], "no encoder"),
    ],
)
def test_bad_options_are_reported(
    library: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    """The error comes before any training."""
    monkeypatch.setattr(sys, "argv", ["eqemb", "retrieval", str(library), *arguments])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 2
    assert message in capsys.readouterr().err


def test_independent_graders_are_paired(tmp_path: Path) -> None:
    """Files of one grader each agree by the equations that both judge; kappa has an interval."""
    one, other = tmp_path / "one.tsv", tmp_path / "other.tsv"
    head = "topic\tname\tg\n"
    pairs = [(n, m) for n in range(6) for m in range(8)]
    one.write_text(head + "".join(f"W{n}\tp#{m}\t{(n + m) % 4}\n" for n, m in pairs))
    more = [f"W{n}\tp#{m}\t{(n + m + (m == 1)) % 4}\n" for n, m in [*pairs, (5, 8)]]
    other.write_text(f"{head}W9\tp#1\t3\n{''.join(more)}")
    with pytest.raises(UsageError, match="topic, name and two graders"):
        judged_topics.read_judgements(one)
    first, second = (judged_topics.read_judgements(path, 1) for path in (one, other))
    found = judged_topics.agreement(judged_topics.paired(first, second))
    assert (found["n"], found["topics"], found["exact"]) == (48, 6, pytest.approx(7 / 8))
    low, high = found["kappa_interval"]
    assert low <= found["kappa"] <= high < 1
    assert judged_topics.agreement(judged_topics.paired(first, first))["kappa"] == 1.0
    with pytest.raises(UsageError, match="no equation in common"):
        judged_topics.paired(first, {"W0": {"elsewhere#1": (1.0,)}})


def test_grades_of_other_topics_are_rejected(corpus: Corpus) -> None:
    """The error lists both sets of names; topics of one half have no table."""
    topics = [Topic("W1", word_query("a")), Topic("W3", word_query("b"))]
    with pytest.raises(UsageError, match="no topic has grades"):
        judged_topics.JudgedTopics(corpus, topics, {"X1": {}})
    table = judged_topics.JudgedTopics(corpus, topics, {"W1": {}, "W3": {}})
    assert not table.has_halves(WORD_QUERY)


@pytest.mark.parametrize(
    "encode",
    [
        lambda _: np.zeros(3),
        lambda texts: np.zeros((len(texts) - 1, 4)),
        lambda _: None,
        lambda texts: np.full((len(texts), 4), np.nan),
        lambda _: 1 / 0,
    ],
)
def test_a_broken_encoder_is_reported(encode: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the encoder, whatever it returns or raises."""
    module = ModuleType("stub_encoder")
    vars(module)["encode"] = encode
    monkeypatch.setitem(sys.modules, "stub_encoder", module)
    made = load_encoder("stub_encoder:encode")
    with pytest.raises(UsageError, match="stub_encoder:encode"):
        made(["a", "b"])


def test_an_encoder_that_cannot_be_imported_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the encoder, whatever its module does."""
    (tmp_path / "broken_encoder.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match="'broken_encoder:encode' failed: ZeroDivisionError"):
        load_encoder("broken_encoder:encode")
    with pytest.raises(UsageError, match="give MODULE:FUNCTION, or a folder"):
        load_encoder(".x:y")


def test_an_encoder_must_be_a_function() -> None:
    """Anything that cannot be called is rejected at once."""
    with pytest.raises(UsageError, match="is not a function"):
        load_encoder("eqemb.evaluation.judged_topics:CUTOFF")


def test_tables_of_the_stored_results() -> None:
    """They match the stored Markdown; an empty table of gains is replaced by a sentence."""
    kept = Path(__file__).parents[2] / "benchmarks/results/retrieval.json"
    found = json.loads(kept.read_text("utf-8"))
    text = [*retrieval_tables.notes(found), *map(tables.markdown, retrieval_tables.report(found))]
    assert "\n".join(text).split() == kept.with_suffix(".md").read_text("utf-8").split()
    for line in found["judged"]["words"]["rankers"].values():
        for half in line.values():
            half["unjudged"] = {"mean": 0.2, "se": None}
    captions = [table.caption for table in retrieval_tables.report(found)]
    assert sum(caption.startswith("Gains in nDCG@10") for caption in captions) == 1
    assert sum(
        "no table of gains for topics in words" in note for note in retrieval_tables.notes(found)
    )
