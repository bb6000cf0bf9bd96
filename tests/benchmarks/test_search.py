"""The search benchmarks run on a small library."""

import sys
from collections.abc import Iterator
from pathlib import Path

import large_library
import numpy as np
import pytest
import variants
import weights

import search as timing
from axes import make_library
from eqemb.corpus.vocabulary import Rules
from eqemb.evaluation.rankers import word_query
from eqemb.facade.library import Library
from eqemb.index import text as wording
from eqemb.models.workspace import CorpusChoice
from eqemb.models.workspace import corpus as corpus_of

COSINE = r"\cos(u, v) = \frac{u \cdot v}{\|u\| \|v\|}"
ASKED = {"words": ["cosine", "harmonic mean"], "latex": [COSINE], "names": ["angles#1"]}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """Make a library with a handmade model."""
    with make_library(tmp_path_factory.mktemp("benchmarks")) as made:
        yield made


def test_tuning_uses_the_scores_of_the_index(library: Library) -> None:
    """Scores computed from counts of fields equal those of the index."""
    corpus = corpus_of(library, CorpusChoice(rules=Rules(min_count=1, top=0)))
    fields = weights.Fields(library, corpus)
    scores = fields.scorer({**wording.FIELDS, "k1": wording.BM25_K1, "b": wording.BM25_B})
    asked = library.engine.text
    place = library.engine.rows()
    rows = [place[name] for name in corpus.equation_names]
    for words in ("cosine similarity", "precision", "harmonic mean of precision"):
        expected = asked.score_terms(asked.terms(words.split()))
        assert scores(word_query(words)) == pytest.approx(expected[rows], abs=1e-6)


def test_tuning_changes_one_setting_at_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    """It stops when a round changes nothing; gains below LEAST are ignored."""

    def judge(settings: dict[str, float]) -> float:
        return -abs(settings["a"] - 2) - abs(settings["b"] - settings["a"]) + 1e-4 * settings["c"]

    values: dict[str, tuple[float, ...]] = dict.fromkeys("abc", (0.0, 1.0, 2.0, 3.0))
    found = weights.ascend({"a": 0.0, "b": 0.0, "c": 0.0}, values, judge)
    assert found == {"a": 0.0, "b": 0.0, "c": 0.0}  # a alone adds nothing
    found = weights.ascend({"a": 1.0, "b": 2.0, "c": 0.0}, values, judge)
    assert found == {"a": 2.0, "b": 2.0, "c": 0.0}
    assert "0.0000  a 2" in capsys.readouterr().out


def test_variants_are_found_again(
    library: Library, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a small library all variants, names and labels are found."""
    monkeypatch.setattr(sys, "argv", ["variants.py", str(library.folder), "-n", "3"])
    variants.main()
    said = capsys.readouterr().out
    lines = {line[:20].strip(): line[20:].split() for line in said.splitlines()}
    assert lines["renamed, structure"][:3] == ["3", "1.000", "1.000"]
    count, first, found = lines["renamed, all"][:3]  # words may put another one first
    assert (count, found) == ("3", "1.000")
    assert float(first) >= 0.667
    assert "name   5/5 = 1.000" in said
    assert "label  2/2 = 1.000" in said
    assert "LaTeX  5/5 = 1.000" in said


def test_a_large_library_can_be_searched(library: Library, tmp_path: Path) -> None:
    """Copies are other equations with the same words; all filters work on them."""
    large_library.make_large(library.folder, tmp_path, 15)
    with Library.open(tmp_path) as large:
        assert len(large.engine.types) == 15
        for name in ("", "-1", "-2"):
            found = large.search("cosine similarity", article=f"angles{name}")
            assert [hit.article for hit in found] == [f"angles{name}"]
        assert large.similar(COSINE, by="structure")[0].article.startswith("angles")
        assert large.engine.structure.find(COSINE).likeness[0] > 0.7
        for piece in (r"\cos", r"\frac", r"= \frac{}{}"):
            few, many = (
                {hit.equation.id for hit in asked.search("cosine", 15, by="words", has=piece)}
                for asked in (library, large)
            )
            assert few
            assert many >= few
            assert len(many) == 3 * len(few)
        phrase = large.search('"harmonic mean"', 15, by="words")
        assert {hit.article.partition("-")[0] for hit in phrase} <= {"harmonic", "again"}
        assert len({hit.article.partition("-")[2] for hit in phrase}) == 3
        assert large.search("cosine", section="nowhere").hits == []


def test_every_part_is_timed(library: Library) -> None:
    """There is a row of figures for each timed query."""
    rows = dict(timing.warm(library, ASKED))
    assert {"warm: search by words", "warm: search --has 'x_i'", "LaTeX, by structure alone"} <= {
        *rows
    }
    assert all(len(times) in (1, 2) and np.array(times).min() >= 0 for times in rows.values())
    bare = {
        f"cold: `{name}`": [(0.2, 0.1)]
        for name in ("python -c 'import numpy'", "eqemb search WORDS", "eqemb similar LATEX")
    }
    text = timing.table([(5, rows | bare)])
    assert "| cold `eqemb search WORDS` / import of NumPy | 1.0 (1.0) |" in text
    assert "one product, ten best" in timing.vectors(library.folder, 2)
