"""Retrieval: topics, pools and scores by grades, on corpora with known answers."""

import json
import sys
from pathlib import Path
from typing import Any

import judged
import numpy as np
import pytest

from eqemb import cli
from eqemb.corpus.corpus import Corpus
from eqemb.errors import UsageError
from eqemb.evaluation import metrics, retrieval, retrieval_tables, tables
from eqemb.evaluation.rankers import EQUATION, WORDS, Query, Ranker, in_words
from eqemb.evaluation.retrieval import Table, Topic
from eqemb.facade.library import Library
from eqemb.index.encoder import find_encoder
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
    """Topics, each with its words, equations and units."""
    return planted(articles=20, length=60)


def test_topics_are_read(tmp_path: Path) -> None:
    """Words as words, equations as their units; odd numbers are for development."""
    (tmp_path / "topics.toml").write_text(TOPICS)
    one, other = retrieval.read_topics(tmp_path / "topics.toml")
    assert one.query.words == ("cosine", "of", "two", "vectors")
    assert (one.id, one.want, one.is_development) == ("W01", "the cosine", True)
    assert other.query.kind == EQUATION
    assert other.query.units
    assert not other.is_development


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "no topics"),
        ("[[topic", "no topics"),
        ("[[topic]]\nid = 'a'\nkind = 'word'\nquery = 'x'", "needs id, kind"),
        ("[[topic]]\nid = 'a'\nkind = 'words'", "needs id, kind"),
        ("topic = 3", "each begins with"),
        ("topic = [1]", "in quotes"),
        ("[[topic]]\nid = 1\nkind = 'words'\nquery = 'a'", "in quotes"),
        (TOPICS + TOPICS, "same id"),
    ],
)
def test_bad_topics_get_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    """What is wrong is said, with the file."""
    (tmp_path / "topics.toml").write_text(text)
    with pytest.raises(UsageError, match=said):
        retrieval.read_topics(tmp_path / "topics.toml")


def test_our_own_topics_are_whole() -> None:
    """Of the first thirty of a kind half are for development, of the later ones none."""
    found = retrieval.read_topics(Path(__file__).parents[2] / "benchmarks/judged/topics.toml")
    for kind in (WORDS, EQUATION):
        mine = [topic for topic in found if topic.query.kind == kind]
        assert [topic.group for topic in mine] == [""] * 30 + ["later"] * 30
        assert sum(topic.is_development for topic in mine[:30]) == 15
        assert not any(topic.is_development for topic in mine[30:])
        assert all(topic.want and topic.grades for topic in mine)


def test_the_top_has_one_of_each_type(corpus: Corpus) -> None:
    """The best occurrence stands for its type; ties go from Z to A; the query is left out."""
    scores = np.zeros(len(corpus.equation_types))
    same = np.flatnonzero(corpus.equation_types == corpus.equation_types[5])
    assert len(same) > 1
    scores[same] = 2.0
    scores[same[0]] = 3.0
    found = retrieval.top(corpus, scores, 4)
    names = [corpus.equation_names[at] for at in same]
    assert next(iter(found)) == names[0]
    assert not set(found) & set(names[1:])
    assert list(found)[1:] == sorted(list(found)[1:], reverse=True)
    without = retrieval.top(corpus, scores, 4, besides=int(same[0]))
    assert next(iter(without)) == max(names[1:])


class Oracle:
    """Scores the equations of a topic above all others."""

    answers = frozenset({WORDS})

    def __init__(self, corpus: Corpus, topic: int, name: str = "oracle") -> None:
        kinds = np.array([topic_of(form) for form in corpus.forms])[corpus.equation_types]
        self.name, self._scores = name, (kinds == topic) * 1.0

    def scores(self, query: Query) -> Any:
        """The same for all that is asked."""
        del query
        return self._scores


def test_a_run_holds_what_a_ranker_can_answer(corpus: Corpus) -> None:
    """Other kinds of topics are not in it."""
    topics = [Topic("W1", in_words(word(0, 0))), Topic("E1", Query(EQUATION, "x"))]
    found = retrieval.run(corpus, Oracle(corpus, 0), topics, 5)
    assert list(found) == ["W1"]
    assert len(found["W1"]) == 5


# ------------------------------------------------------------ grades


def test_judgements_are_read_and_meant(tmp_path: Path) -> None:
    """A column for each grader; the grade is their mean."""
    path = tmp_path / "qrels.tsv"
    path.write_text("topic\tname\ta\tb\nW01\tx#1\t3\t2\nW01\tx#2\t0\t1\nE02\tx#1\t2\t2\n")
    found = retrieval.read_judgements(path)
    assert found["W01"] == {"x#1": (3.0, 2.0), "x#2": (0.0, 1.0)}
    assert retrieval.mean_grades(found) == {"W01": {"x#1": 2.5, "x#2": 0.5}, "E02": {"x#1": 2.0}}
    assert retrieval.grades_of(found, 1)["W01"] == {"x#1": 2.0, "x#2": 1.0}
    agreed = retrieval.agreement(found)
    assert (agreed["n"], agreed["topics"]) == (3, 2)
    assert agreed["exact"] == pytest.approx(1 / 3)
    assert agreed["within_one"] == 1.0
    assert agreed["answers"] == pytest.approx([2 / 3, 2 / 3])


@pytest.mark.parametrize(
    ("text", "said"),
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
def test_bad_judgements_get_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    """What is wrong is said, with the file."""
    (tmp_path / "qrels.tsv").write_text(text)
    with pytest.raises(UsageError, match=said):
        retrieval.read_judgements(tmp_path / "qrels.tsv")


def asked(count: int) -> list[Topic]:
    """Topics in words."""
    return [Topic(f"W{at}", in_words(word(0, 0))) for at in range(1, count + 1)]


def graded(corpus: Corpus, topics: list[Topic], answer: int) -> dict[str, dict[str, float]]:
    """Equations of one kind are answers, some others are judged and are none."""
    kinds = [topic_of(corpus.forms[type_]) for type_ in corpus.equation_types]
    chosen = {
        name: 3.0 * (kind == answer)
        for name, kind in zip(corpus.equation_names, kinds, strict=True)
    }
    return {topic.id: dict(chosen) for topic in topics}


def test_scores_of_a_ranking_that_is_known(corpus: Corpus) -> None:
    """All answers first is perfect; all answers last is nothing; the unjudged are counted."""
    topics = asked(4)
    table = Table(corpus, topics, graded(corpus, topics, 1))
    right, wrong = Oracle(corpus, 1), Oracle(corpus, 2)
    found = table.measured(topics[0], right.scores(topics[0].query))
    places = sum(topic_of(form) == 1 for form in corpus.forms)  # one of each type counts
    assert found["precision"] == pytest.approx(min(10, places) / 10)
    assert found["map"] == pytest.approx(1.0)
    assert found["unjudged"] == 0.0
    assert table.measured(topics[0], wrong.scores(topics[0].query))["precision"] < 0.3
    few = {topic.id: dict(list(table.grades[topic.id].items())[:3]) for topic in topics}
    assert Table(corpus, topics, few).measured(topics[0], right.scores(topics[0].query))[
        "unjudged"
    ] == pytest.approx(1.0, abs=0.3)


def test_chance_is_the_mean_of_many_orders(corpus: Corpus) -> None:
    """One occurrence of each type judged, dealt out at random."""
    topics = asked(1)
    first = np.unique(corpus.equation_types, return_index=True)[1]
    grades = {topics[0].id: {corpus.equation_names[at]: float(at % 4) for at in first}}
    table = Table(corpus, topics, grades)
    expected = {name: float(values[0]) for name, values in table.chance(topics).items()}
    random = np.random.default_rng(0)
    dealt = []
    for _ in range(3000):
        scores = np.zeros(len(corpus.equation_types))
        scores[first] = 1 + random.random(len(first))  # the judged one stands for its type
        found = table.measured(topics[0], scores)
        dealt.append((found["ndcg"], found["precision"]))
    assert [expected["ndcg"], expected["precision"]] == pytest.approx(np.mean(dealt, 0), abs=0.01)


def test_a_judged_name_that_is_not_there_is_an_error(corpus: Corpus) -> None:
    """Scores over another library would be too low, and nobody would know."""
    with pytest.raises(UsageError, match=r"strange#1 is judged"):
        Table(corpus, asked(1), {"W1": {"strange#1": 3.0}})


class Fickle(Oracle):
    """Right on topics of one half, wrong on the others."""

    def __init__(self, corpus: Corpus, name: str, *, development: bool) -> None:
        super().__init__(corpus, 1, name)
        self._wrong, self._development = Oracle(corpus, 2)._scores, development

    def scores(self, query: Query) -> Any:
        """By the number that stands in the query."""
        odd = int(query.text.split()[-1]) % 2 == 1
        return self._scores if odd == self._development else self._wrong


def test_only_development_topics_choose(corpus: Corpus) -> None:
    """A ranker that is right on test topics alone is not chosen, and what is chosen fails there."""
    topics = [Topic(f"W{at}", in_words(f"{word(0, 0)} {at}")) for at in range(1, 9)]
    table = Table(corpus, topics, graded(corpus, topics, 1))
    good, late = (Fickle(corpus, name, development=name == "good") for name in ("good", "late"))
    combination, weights = retrieval.combine(table, WORDS, [late, good])
    assert weights == {"good": 1.0}
    rankers: list[Ranker] = [good, late, combination, Oracle(corpus, 2, "BM25")]
    found = retrieval.judged(table, WORDS, rankers, ["combination"])
    halves = found["rankers"]["combination"]
    assert set(halves) == {"development", "test"}
    judged_on = {entry["topics"] for entry in found["gains"] if entry["ranker"] == "combination"}
    assert judged_on == {"test"}
    assert found["topics"] == {"development": 4, "test": 4, "all": 8}
    assert halves["development"]["ndcg"]["mean"] > 0.7
    assert halves["test"]["ndcg"]["mean"] < 0.3
    assert {entry["topics"] for entry in found["gains"]} == {"test", "all"}


def test_a_combination_takes_what_helps(corpus: Corpus) -> None:
    """Two rankers that know half of the answers each are better together; noise stays out."""
    topics = asked(4)
    table = Table(corpus, topics, graded(corpus, topics, 1))
    kinds = np.array([topic_of(form) for form in corpus.forms])[corpus.equation_types]
    even = corpus.equation_types % 2 == 0
    halves = [Oracle(corpus, 0, name) for name in ("even", "odd", "noise")]
    for each, own in zip(halves, (even, ~even), strict=False):
        each._scores = 4.0 * ((kinds == 1) & own) + (kinds == 2)
    halves[2]._scores = np.random.default_rng(0).random(len(kinds))
    _, weights = retrieval.combine(table, WORDS, halves)
    assert set(weights) == {"even", "odd"}


# ------------------------------------------------------------ all of it, on the demo articles


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight demo articles."""
    folder = tmp_path_factory.mktemp("retrieval")
    Library.read([copy_articles(folder / "papers")], folder / "lib", index=True).close()
    return folder / "lib"


def letters(texts: list[str]) -> Any:
    """An encoder: how often each letter stands in a text."""
    return np.array([[text.count(chr(97 + at)) for at in range(26)] for text in texts], float)


def grade(pool: Path, grades: Path, shift: int) -> None:
    """What a grader who counts letters would write."""
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
    """Pools say nothing of systems, grades become names and numbers, and everything is scored."""

    def call(*arguments: object) -> str:
        monkeypatch.setattr(sys, "argv", ["judged.py", *map(str, arguments)])
        judged.main()
        return str(capsys.readouterr().out)

    pool, qrels = tmp_path / "pool", tmp_path / "qrels.tsv"
    encoder = ("--encoder", f"{__name__}:letters")
    said = call("pool", library, "-o", pool, *encoder)
    assert "sentence encoder, words" in said
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
    """Labels, references and held-out words need no grades; nothing is chosen by them."""
    monkeypatch.setattr(sys, "argv", ["eqemb", "retrieval", str(library)])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert not left.value.code
    printed = capsys.readouterr()
    assert "8 articles" in printed.out
    assert "Held-out words" in printed.out
    assert "| article oracle |" in printed.out
    assert "combination" not in printed.out
    assert "own contexts" in printed.err
    assert f"the models are kept in {library / 'models'}" in printed.err


def test_a_grade_that_is_missing_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is taken for 0 in silence."""
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
    ("arguments", "said"),
    [
        (["--topics", "x.toml"], "both --topics and --qrels"),
        (["--encoder", "no_such_module:encode"], "no encoder"),
        (["--encoder", "json:no_such_function"], "no encoder"),
        (["--encoder", "json"], "no encoder"),
    ],
)
def test_bad_options_get_one_sentence(
    library: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    """Before anything is trained."""
    monkeypatch.setattr(sys, "argv", ["eqemb", "retrieval", str(library), *arguments])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 2
    assert said in capsys.readouterr().err


def test_grades_of_other_topics_are_refused(corpus: Corpus) -> None:
    """Names that do not meet are said, and topics of one half have no table."""
    topics = [Topic("W1", in_words("a")), Topic("W3", in_words("b"))]
    with pytest.raises(UsageError, match="no topic has grades"):
        retrieval.Table(corpus, topics, {"X1": {}})
    table = retrieval.Table(corpus, topics, {"W1": {}, "W3": {}})
    assert not table.has_halves(WORDS)


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
def test_an_encoder_that_is_none_gets_one_sentence(
    encode: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it returns or raises."""
    monkeypatch.setattr(retrieval, "encode_for_test", encode, raising=False)
    made = find_encoder("eqemb.evaluation.retrieval:encode_for_test")
    with pytest.raises(UsageError, match="encode_for_test"):
        made(["a", "b"])


def test_an_encoder_that_cannot_be_imported_gets_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever its module does, and whatever is typed."""
    (tmp_path / "broken_encoder.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match="'broken_encoder:encode' failed: ZeroDivisionError"):
        find_encoder("broken_encoder:encode")
    with pytest.raises(UsageError, match="say MODULE:FUNCTION"):
        find_encoder(".x:y")


def test_an_encoder_is_a_function() -> None:
    """Lists of numbers count as arrays; what cannot be called is refused at once."""
    with pytest.raises(UsageError, match="is no function"):
        find_encoder("eqemb.evaluation.retrieval:DEPTH")


def test_tables_of_the_kept_figures() -> None:
    """They are those of the document; a table of gains with nothing in it is a sentence."""
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
