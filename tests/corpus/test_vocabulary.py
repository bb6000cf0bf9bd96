"""The rules of the vocabulary, one at a time, on words made by hand."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from eqemb.corpus import vocabulary
from eqemb.corpus.vocabulary import Rules, choose
from eqemb.errors import UsageError

PLAIN = Rules(min_count=3, top=0)


def chosen(counts: dict[str, int], rules: Rules = PLAIN, **capitals: int) -> list[str]:
    """The words kept of a table of frequencies."""
    words = list(counts)
    written = np.array([capitals.get(word, 0) for word in words])
    kept = choose(words, np.array(list(counts.values())), written, rules).kept
    return [words[index] for index in kept]


def test_most_frequent_first_then_by_spelling() -> None:
    """The order of a vocabulary depends on counts and letters alone."""
    assert chosen({"zeta": 5, "alpha": 5, "omega": 9}) == ["omega", "alpha", "zeta"]


def test_stop_words_go() -> None:
    """Function words do not count, unless asked for."""
    assert chosen({"because": 9, "matrix": 4}) == ["matrix"]
    assert chosen({"because": 9}, Rules(min_count=3, top=0, stop_words=False)) == ["because"]


def test_the_most_frequent_go() -> None:
    """The most frequent of what is left are stop words too."""
    assert chosen({"because": 99, "model": 50, "matrix": 4}, Rules(min_count=3, top=1)) == [
        "matrix"
    ]


def test_rare_short_and_letterless_words_go() -> None:
    """Frequency, length, and at least one letter; hyphens count as length."""
    kept = chosen({"rare": 2, "map": 9, "2018": 9, "f-measure": 3, "tree": 3})
    assert kept == ["f-measure", "tree"]


def test_frequent_abbreviations_stay() -> None:
    """Three letters are enough where they mostly stand in capitals, the most frequent first."""
    counts = {"lda": 4, "svm": 2, "map": 9, "hmm": 1}
    assert chosen(counts, lda=4, svm=2, map=1, hmm=1) == ["lda", "svm", "hmm"]
    two = Rules(min_count=3, top=0, abbreviations=2)
    assert chosen(counts, two, lda=4, svm=2, map=1, hmm=1) == ["lda", "svm"]


@pytest.mark.parametrize(
    ("total", "least", "top"), [(100, 2, 5), (150_000, 5, 12), (300_000, 10, 25), (10**9, 10, 25)]
)
def test_thresholds_of_small_collections(total: int, least: int, top: int) -> None:
    """The paper's 10 and 25 from 300,000 words on, less below."""
    found = choose(["word"], np.array([total]), np.array([0]), Rules())
    assert (found.min_count, found.top) == (least, top)


def test_the_account_adds_up() -> None:
    """Every word is either kept or removed by exactly one rule."""
    counts = {"because": 9, "model": 50, "rare": 1, "map": 9, "42": 3, "tree": 3}
    rules = Rules(min_count=3, top=1)
    table = choose(list(counts), np.array(list(counts.values())), np.zeros(6, int), rules).table
    assert [row.rule for row in table] == [
        "no letter", "stop word", "1 most frequent", "shorter than 4", "fewer than 3 times", "kept",
    ]  # fmt: skip
    assert [row.words for row in table] == [1] * 6
    assert sum(row.occurrences for row in table) == sum(counts.values())


def test_tags_of_the_first_occurrences_decide() -> None:
    """A fifth of its first ten tags must be noun or adjective; who is not wanted passes."""
    labels = {
        0: iter(["NN"] * 2 + ["VB"] * 90),
        1: iter(["JJ"] + ["VB"] * 90),
        2: iter(["NN"] * 90),
    }
    asked: list[int] = []

    def tag(words: list[str]) -> list[str]:
        asked.append(len(words))
        return [next(labels[int(word)]) for word in words]

    ids = np.tile([0, 1, 2], 60)
    runs = [([str(word) for word in ids], ids)]
    mask = vocabulary.nouns_and_adjectives(runs, np.array([True, True, False]), tag, PLAIN)
    assert mask.tolist() == [True, False, True]
    assert sum(asked) == 40, "only the first chunk was in need of tags"


def test_paper_vocabulary_knows_nouns() -> None:
    """HanTa distinguishes nouns and adjectives from adverbs."""
    pytest.importorskip("HanTa")
    tag = vocabulary.paper_tagger()
    written = re.findall(r"\w+", "the sparse matrix is quickly computed by our new algorithm")
    ids = np.arange(len(written))
    mask = vocabulary.nouns_and_adjectives([(written, ids)], np.ones(len(ids), bool), tag, PLAIN)
    kept = {written[index] for index in np.flatnonzero(mask)}
    assert {"sparse", "matrix", "algorithm"} <= kept
    assert not {"quickly", "the", "by"} & kept


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "fancy"},
        {"min_count": "few"},
        {"top": -1},
        {"min_length": 0},
        {"tagger": "mine"},
        {"tag_share": 2},
        {"tag_occurrences": 0},
        {"phrase_threshold": 0},
        {"stop_words": "the"},
    ],
)
def test_wrong_rules_are_refused(wrong: dict[str, object]) -> None:
    """Settings are checked when they are given."""
    with pytest.raises(UsageError):
        Rules(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changed", "kept"),
    [({"tag_occurrences": 2}, True), ({"tag_share": 0.5}, False), ({"tag_share": 0.2}, True)],
)
def test_shares_of_tags_are_settings(changed: dict[str, float], kept: bool) -> None:  # noqa: FBT001
    """How many occurrences are tagged, and how many of them must be nouns."""
    labels = iter(["NN", "NN", *["VB"] * 8])
    runs = [(["word"] * 10, np.zeros(10, np.int64))]
    rules = Rules(**changed)  # type: ignore[arg-type]
    mask = vocabulary.nouns_and_adjectives(
        runs, np.array([True]), lambda words: [next(labels) for _ in words], rules
    )
    assert mask.tolist() == [kept]


def test_own_stop_words_replace_ours(tmp_path: Path) -> None:
    """From a file, in any case and order; the settings keep their hash."""
    file = tmp_path / "stop.txt"
    file.write_text("# mine\nMatrix tree\n\ngraph # and this\n")
    rules = Rules(min_count=3, top=0, stop_words=vocabulary.read_stop_words(file))
    assert chosen({"because": 9, "matrix": 4, "graph": 5}, rules) == ["because"]
    again = Rules(min_count=3, top=0, stop_words=("tree", "graph", "matrix"))
    assert rules.as_dict() == again.as_dict()
    assert rules.as_dict()["stop_words"]["words"] == 3
    assert rules.as_dict() != Rules(min_count=3, top=0, stop_words=("tree",)).as_dict()
    with pytest.raises(UsageError, match="cannot read stop words"):
        vocabulary.read_stop_words(tmp_path / "nowhere")


def tagger_data(folder: Path) -> None:
    """As little of NLTK's data as its tagger can work with: three words it knows for sure."""
    place = folder / "taggers" / "averaged_perceptron_tagger_eng"
    place.mkdir(parents=True)
    parts: dict[str, object] = {
        "weights": {},
        "tagdict": {"matrix": "NN", "sparse": "JJ", "quickly": "RB", "word": "NN"},
        "classes": ["NN", "JJ", "RB"],
    }
    for name, value in parts.items():
        file = place / f"averaged_perceptron_tagger_eng.{name}.json"
        file.write_text(json.dumps(value))


def test_the_tags_of_nltk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the user's data; where it is missing, one sentence says what to run."""
    nltk = pytest.importorskip("nltk")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    nltk.tag._get_tagger.cache_clear()
    with pytest.raises(UsageError, match=r"nltk.downloader averaged_perceptron_tagger_eng") as seen:
        vocabulary.paper_tagger("nltk")
    assert "\n" not in str(seen.value)
    tagger_data(tmp_path)
    tag = vocabulary.paper_tagger("nltk")
    assert tag(["quickly", "sparse", "matrix"]) == ["RB", "JJ", "NN"]
    nltk.tag._get_tagger.cache_clear()
