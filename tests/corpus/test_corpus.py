"""A corpus: ids, places of equations, units; saved, mapped, hashed."""

import re
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqemb.article import EQUATION_MARK, Article, Equation
from eqemb.corpus import vocabulary
from eqemb.corpus.corpus import Corpus, EquationToken, TokenStream
from eqemb.corpus.vocabulary import Rules
from eqemb.errors import EqembError, UsageError
from eqemb.formula import layout
from eqemb.storage import array_file, atomic

ALL = Rules(min_count=1, top=0, min_length=1, stop_words=False)
SUM = EquationToken("x+y", ["x", "+", "y"])
HALF = EquationToken("x/2", ["x", "/", "2"], numbered=False)
ARTICLES: list[tuple[str, str, TokenStream]] = [
    ("one", "nlp", ["Neural", "the", SUM, "models", "neural"]),
    ("empty", "nlp", [HALF]),
    ("two", "ir", [SUM, "Models", HALF, SUM]),
]


def test_words_are_flat_ids_with_pointers() -> None:
    """Lower-cased, numbered by frequency, one article after the other."""
    corpus = Corpus.build(ARTICLES, ALL)
    assert corpus.words == ["models", "neural", "the"]
    assert corpus.tokens.tolist() == [1, 2, 0, 1, 0]
    assert corpus.starts.tolist() == [0, 4, 4, 5]
    assert corpus.counts.tolist() == [2, 2, 1]


def test_the_repr_is_short() -> None:
    """It has sizes instead of every word."""
    shown = "<Corpus: 3 articles, 5 tokens of 3 words, 2 equation types>"
    assert repr(Corpus.build(ARTICLES, ALL)) == shown


def test_equations_stand_between_words() -> None:
    """An equation's place is the word it stands before, or the end of its article."""
    corpus = Corpus.build(ARTICLES, ALL)
    assert corpus.equation_positions.tolist() == [2, 4, 4, 5, 5]
    assert corpus.equation_types.tolist() == [0, 1, 0, 1, 0]
    assert corpus.equation_articles.tolist() == [0, 1, 2, 2, 2]
    assert corpus.equation_names == ["one#1", "empty#1", "two#1", "two#2", "two#3"]
    assert corpus.forms == ["x+y", "x/2"]


def test_removed_words_take_no_slot() -> None:
    """An equation moves up to the vocabulary words that are left around it."""
    corpus = Corpus.build(ARTICLES, Rules(min_count=2, top=0, min_length=1, stop_words=True))
    assert corpus.words == ["models", "neural"]
    assert corpus.tokens.tolist() == [1, 0, 1, 0]
    assert corpus.equation_positions.tolist() == [1, 3, 3, 4, 4]


def test_units_are_numbered_by_occurrences() -> None:
    """The units of a type, once; numbers by how often they occur in the text."""
    corpus = Corpus.build(ARTICLES, ALL)
    assert corpus.units == ["x", "+", "y", "/", "2"]
    assert corpus.unit_ids.tolist() == [0, 1, 2, 0, 3, 4]
    assert corpus.unit_starts.tolist() == [0, 3, 6]


def test_only_numbered_equations_on_request() -> None:
    """Names still count every display."""
    corpus = Corpus.build(ARTICLES, ALL, numbering="numbered")
    assert corpus.forms == ["x+y"]
    assert corpus.equation_names == ["one#1", "two#1", "two#3"]
    with pytest.raises(UsageError, match="numbering"):
        Corpus.build([], numbering="some")


def test_near_duplicates_are_left_out() -> None:
    """Named articles are not taken, and counted."""
    corpus = Corpus.build(ARTICLES, ALL, leave_out={"two"})
    assert corpus.articles == ["one", "empty"]
    assert corpus.left_out == 1


def test_a_saved_corpus_is_the_same(tmp_path: Path) -> None:
    """Lists, arrays, account and hash survive the disk; arrays are mapped."""
    corpus = Corpus.build(ARTICLES, ALL)
    corpus.save(tmp_path / "corpus")
    loaded = Corpus.load(tmp_path / "corpus")
    assert loaded.sha256 == corpus.sha256
    assert loaded.table == corpus.table
    assert loaded.words == corpus.words
    assert isinstance(loaded.tokens.base, np.memmap)
    for name, array in loaded.arrays.items():
        np.testing.assert_array_equal(array, corpus.arrays[name])
        assert array.dtype == corpus.arrays[name].dtype
        assert array.flags.aligned


def test_the_hash_covers_content() -> None:
    """Another word, another hash; the same articles, the same."""
    changed: list[tuple[str, str, TokenStream]] = [
        *ARTICLES[:2],
        ("two", "ir", [SUM, "Models", HALF, "new", SUM]),
    ]
    hashes = [Corpus.build(articles, ALL).sha256 for articles in (ARTICLES, ARTICLES, changed)]
    assert hashes[0] == hashes[1] != hashes[2]


def test_an_empty_corpus_is_a_corpus(tmp_path: Path) -> None:
    """No article, no word, and still a folder."""
    corpus = Corpus.build([])
    corpus.save(tmp_path / "corpus")
    assert Corpus.load(tmp_path / "corpus").sha256 == corpus.sha256


def test_safetensors_reads_what_we_write(tmp_path: Path) -> None:
    """Our files are safetensors files, whatever the mixture of types."""
    numpy = pytest.importorskip("safetensors.numpy")
    arrays: array_file.Arrays = {
        "odd": np.arange(3, dtype=np.int32),
        "wide": np.ones((2, 2)),
        "none": np.empty(0),
    }
    array_file.write_arrays(tmp_path / "a", arrays)
    for name, array in numpy.load_file(tmp_path / "a").items():
        np.testing.assert_array_equal(array, arrays[name])


def test_a_folder_is_not_overwritten_by_chance(tmp_path: Path) -> None:
    """Only on request, and then wholly; a failure leaves the old one and no scraps."""
    corpus = Corpus.build(ARTICLES, ALL)
    corpus.save(tmp_path / "corpus")
    with pytest.raises(UsageError, match="already exists"):
        corpus.save(tmp_path / "corpus")
    Corpus.build([]).save(tmp_path / "corpus", replace=True)
    assert not Corpus.load(tmp_path / "corpus").words
    with pytest.raises(RuntimeError), atomic.new_folder(tmp_path / "corpus", replace=True):
        raise RuntimeError
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


def test_other_formats_are_refused(tmp_path: Path) -> None:
    """A wrong version, a stranger's file and a cut file are named for what they are."""
    corpus = Corpus.build(ARTICLES, ALL)
    corpus.save(tmp_path / "corpus")
    described = tmp_path / "corpus" / "corpus.json"
    described.write_text(described.read_text().replace('"version": 1', '"version": 99'))
    with pytest.raises(UsageError, match="version 99"):
        Corpus.load(tmp_path / "corpus")
    described.write_text("{}")
    with pytest.raises(UsageError, match="is not a corpus"):
        Corpus.load(tmp_path / "corpus")
    with pytest.raises(UsageError, match="is not a corpus"):
        Corpus.load(tmp_path / "nowhere")
    arrays = tmp_path / "corpus" / "arrays.safetensors"
    arrays.write_bytes(arrays.read_bytes()[:-4])
    with pytest.raises(EqembError, match="has a damaged header"):
        array_file.map_arrays(arrays)


def test_the_paper_vocabulary_of_a_small_text() -> None:
    """NLTK's tokenizer and HanTa's tags: nouns and adjectives are left."""
    pytest.importorskip("HanTa")
    pytest.importorskip("nltk")
    text = re.findall(r"\w+", "We quickly compute the sparse matrix and the large matrix")
    rules = Rules("paper", min_count=1, top=0)
    corpus = Corpus.build([("a", "", [*text, SUM, *text])], rules)
    assert set(corpus.words) == {"sparse", "matrix", "large"}
    assert corpus.equation_positions.tolist() == [4]
    assert corpus.table[1].rule == "no noun or adjective"


@pytest.mark.parametrize("kind", ["plain", "paper"])
def test_memory_does_not_grow_with_the_text(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words wait on disk: twice the text costs no more than its list of articles."""
    monkeypatch.setattr(vocabulary, "paper_tokenizer", lambda: str.split)
    monkeypatch.setattr(vocabulary, "paper_tagger", lambda _: lambda words: ["NN"] * len(words))
    rules = Rules(kind, min_count=1, top=0)

    def peak(articles: int) -> int:
        text = (
            (f"a{number}", "", (f"Word{n % 50}" for n in range(2000))) for number in range(articles)
        )
        tracemalloc.start()
        try:
            corpus = Corpus.build(text, rules)
            assert len(corpus.tokens) == 2000 * articles
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(80) - peak(40) < 40_000, "of 80,000 words more"


def test_words_as_written_reach_the_tagger(monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, article by article, each in its own case."""
    seen: list[list[str]] = []

    def tag(words: list[str]) -> list[str]:
        seen.append(words)
        return ["NN"] * len(words)

    monkeypatch.setattr(vocabulary, "paper_tokenizer", lambda: str.split)
    monkeypatch.setattr(vocabulary, "paper_tagger", lambda _: tag)
    Corpus.build(ARTICLES, Rules("paper", min_count=1, top=0, min_length=1))
    assert seen == [["Neural", "the", "models", "neural"], ["Models"]]


def test_articles_as_read_make_the_corpus_of_a_library() -> None:
    """Articles, and what `Article.stream` yields, are taken as they are."""
    place: dict[str, Any] = {"display": 1, "file": "a.tex", "line": 1, "end_line": 1}
    source: dict[str, Any] = {"environment": "equation", "latex": "x+y", "expanded": "x+y"}
    equation = Equation("a", 1, numbered=True, number="1", labels=[], **place, **source)
    article = Article(
        "a", "a.tex", "nlp", text=f"neural {EQUATION_MARK} models", equations=[equation]
    )
    made = Corpus.build([article], ALL)
    assert made.forms == [layout("x+y").canonical()]
    assert made.units == sorted("\t".join(unit) for unit in layout("x+y").units())
    assert (made.equation_names, made.collections) == (["a#1"], ["nlp"])
    assert made.equation_positions.tolist() == [1]
    assert Corpus.build([("a", "nlp", article.stream())], ALL).sha256 == made.sha256
    assert made.encode([article]).equation_types.tolist() == [0]


@pytest.mark.parametrize(
    "wrong",
    [iter(["a", "stream"]), ["three", "words", "only"], ("a", "nlp"), ("a", None, []), "text", 3],
)
def test_streams_need_a_name_and_a_collection(wrong: Any) -> None:
    """The error says what is accepted."""
    accepted = r"^articles must be Article objects or tuples \(name, collection, stream\), not "
    with pytest.raises(UsageError, match=accepted):
        Corpus.build([wrong], ALL)
    with pytest.raises(UsageError, match=accepted):
        Corpus.build(ARTICLES, ALL).encode([wrong])
