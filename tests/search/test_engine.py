"""The search engine: equations for words, similar equations, names and filters."""

import difflib
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eqemb.article import read_tokens
from eqemb.errors import UsageError
from eqemb.facade.library import Library
from eqemb.formula import Layout, layout
from eqemb.formula.likeness import likeness, outline
from eqemb.formula.shapes import key
from eqemb.index import structure
from eqemb.index.stemming import stem
from eqemb.index.text import BM25_B, BM25_K1, CONTEXT_REACH, FIELDS, FULL_CONTEXT
from eqemb.search.results import Answer

PAPERS = {
    "angles": r"""The cosine of the angle between two vectors is
\begin{equation}\label{eq:cos} \cos(x, y) = \frac{x \cdot y}{\|x\| \|y\|} \end{equation}
and measures similarity.""",
    "harmonic": r"""The harmonic mean of precision and recall is the balanced measure
\begin{equation} F = \frac{2 P R}{P + R} \tag{F} \end{equation} of retrieval.""",
    "again": r"""Elsewhere the same harmonic mean is written
\begin{equation} F = \frac{2PR}{P+R}. \end{equation} Precision is \[ P = \frac{a}{a + b} \]""",
    "silent": "There is no equation here, only precision and the cosine.",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Return an indexed library of four small papers."""
    folder = tmp_path_factory.mktemp("papers")
    for name, text in PAPERS.items():
        document = rf"\documentclass{{article}}\begin{{document}}{text}\end{{document}}"
        (folder / f"{name}.tex").write_text(document)
    return Library.read([folder], folder.with_name("library"), jobs=1, index=True)


def ids(answer: Answer) -> list[str]:
    """Return the names of the hits, in order."""
    return [hit.equation.id for hit in answer]


def test_words_find_the_equation_near_them(library: Library) -> None:
    """The equation whose context has the words comes first."""
    assert ids(library.search("cosine angle similarity"))[0] == "angles#1"


def test_words_inside_an_equation_find_it(tmp_path: Path) -> None:
    """A name that stands in mathematics alone is a word too."""
    body = r"The rate is \[ r = s \cdot {warmup\_steps}^{-1.5} \] or \[ r = \text{constant}. \]"
    (tmp_path / "a.tex").write_text(
        rf"\documentclass{{article}}\begin{{document}}{body}\end{{document}}"
    )
    with Library.read([tmp_path], tmp_path / "library", jobs=1, index=True) as library:
        assert ids(library.search("warmup"))[0] == "a#1"
        assert ids(library.search("constant"))[0] == "a#2"


def test_a_phrase_comes_before_its_words_apart(tmp_path: Path) -> None:
    """A conditional random field is not any field that is conditional and random."""
    texts = {
        "apart": r"It is conditional, on a random old field \[ a + b \]",
        "phrase": r"A conditional random field of ours is \[ c d \]",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.tex").write_text(
            rf"\documentclass{{article}}\begin{{document}}{text}\end{{document}}"
        )
    with Library.read([tmp_path], tmp_path / "library", jobs=1, index=True) as library:
        assert ids(library.search("conditional random field", by="words"))[0] == "phrase#1"
        assert ids(library.search("field random conditional", by="words"))[0] == "apart#1"
        why = library.why("conditional random field", "phrase#1")
        assert '"conditional random field"' in why.words


def test_a_word_on_a_short_page_counts_more(tmp_path: Path) -> None:
    """As in BM25: the same distance from the equation, but less other text around it."""
    near, more = r"The gradient is \[ g_{%s} \]", " and other words follow" * 40
    for name, text in (("short", near % 1), ("long", near % 2 + more)):
        (tmp_path / f"{name}.tex").write_text(
            rf"\documentclass{{article}}\begin{{document}}{text}\end{{document}}"
        )
    with Library.read([tmp_path], tmp_path / "library", jobs=1, index=True) as library:
        assert ids(library.search("gradient", by="words")) == ["short#1", "long#1"]


def test_the_case_of_words_does_not_matter(library: Library) -> None:
    """Upper and lower case give the same hits."""
    assert ids(library.search("COSINE Angle")) == ids(library.search("cosine angle"))


def test_compounds_are_found_in_every_spelling(tmp_path: Path) -> None:
    """With a hyphen, with a dash or as two words, in the query and in the text."""
    texts = {
        "hyphen": "The cross-entropy of two distributions is",
        "dash": "The cross--entropy of two distributions is",
        "words": "The cross entropy of two distributions is",
        "apart": "We cross a river and measure entropy as",
    }
    for name, text in texts.items():
        body = rf"{text} \begin{{equation}} {name[0]} = 1 \end{{equation}}"
        document = rf"\documentclass{{article}}\begin{{document}}{body}\end{{document}}"
        (tmp_path / f"{name}.tex").write_text(document)
    with Library.read([tmp_path], tmp_path / "library", jobs=1, index=True) as library:
        three = {"hyphen#1", "dash#1", "words#1"}
        for asked in ("cross-entropy", '"cross entropy"', '"cross-entropy"'):
            answer = library.search(asked)
            assert (set(ids(answer)), answer.unknown) == (three, []), asked
        for asked in ('"the cross entropy of"', '"the cross-entropy of two"'):
            assert set(ids(library.search(asked))) == three, asked
        assert library.search("river-cross").unknown == ["river-cross"]
        assert set(ids(library.search("cross entropy"))) == three | {"apart#1"}
        assert ids(library.search("entropy -cross-entropy")) == ["apart#1"]
        found = library.search("cross-entropy")
        scores = {hit.equation.id: hit.parts["words"] for hit in found}
        assert scores["dash#1"] == scores["words#1"]
        why = library.why("cross-entropy", "dash#1")
        assert list(why.words) == ["cross-entropy"]
        assert why.words["cross-entropy"] == pytest.approx(scores["dash#1"])


def test_consecutive_words_match_a_compound(tmp_path: Path) -> None:
    """In the order of the compound; alone they are unknown."""
    document = r"""\documentclass{article}\begin{document} The kullback-leibler divergence is
\begin{equation} d = 1 \end{equation}\end{document}"""
    (tmp_path / "a.tex").write_text(document)
    with Library.read([tmp_path], tmp_path / "library", jobs=1, index=True) as library:
        assert library.search("Kullback Leibler").unknown == []
        assert len(library.search("Kullback Leibler")) == 1
        assert library.search("Leibler Kullback").unknown == ["leibler", "kullback"]
        assert library.search("divergence leibler").unknown == ["leibler"]


def test_bare_names_mean_the_article_that_ends_like_that(tmp_path: Path) -> None:
    """In names of equations and in filters; a skipped source of the same path is no article."""
    papers = tmp_path / "papers"
    (papers / "a").mkdir(parents=True)
    (papers / "b").mkdir()
    (papers / "a" / "angles.gz").write_bytes(b"not an archive")
    for path in ("a/harmonic.tex", "b/angles.tex", "b/harmonic.tex"):
        body = PAPERS[Path(path).stem]
        document = rf"\documentclass{{article}}\begin{{document}}{body}\end{{document}}"
        (papers / path).write_text(document)
    with Library.read(papers, tmp_path / "library", jobs=1, index=True) as library:
        sources = list(library.records.rows("SELECT name FROM sources ORDER BY id"))
        assert sources == [("./a/angles.gz",), ("a/harmonic",), ("b/angles",), ("b/harmonic",)]
        for name in ("angles#1", "b/angles#1", "angles (1)"):
            found = library.equation(name)
            assert found is not None
            assert found.id == "b/angles#1"
            assert "b/angles#1" not in ids(library.similar(name))
        assert ids(library.search("angles#1"))[0] == "b/angles#1"
        assert ids(library.search("cosine", article="angles")) == ["b/angles#1"]
        assert "b/angles" in {said.article for said in library.describe("angles#1")}
        assert library.why("cosine", "angles#1").words["cosine"] > 0
        for call in (library.equation, library.similar, library.describe, library.search):
            with pytest.raises(UsageError, match=r"2 articles \(a/harmonic, b/harmonic\)"):
                call("harmonic#1")
        with pytest.raises(UsageError, match="write the longer name"):
            library.search("cosine", article="harmonic")


def test_unknown_words_are_named(library: Library) -> None:
    """The other words are still searched."""
    answer = library.search("cosine zebra zebra")
    assert answer.unknown == ["zebra"]
    assert ids(answer) == ["angles#1"]


def test_unknown_words_alone_find_nothing(library: Library) -> None:
    """The answer is empty."""
    answer = library.search("zebra")
    assert answer.hits == []


def test_equal_equations_are_one_hit(library: Library) -> None:
    """Spacing and final punctuation do not matter; occurrences are counted."""
    answer = library.search("harmonic mean")
    assert len([name for name in ids(answer) if name in ("harmonic#1", "again#1")]) == 1
    assert answer.hits[0].papers == 2


def test_scores_are_bm25_over_fields(library: Library) -> None:
    """The score of a word equals the formula written out: around, sentence, section, label, ..."""
    impacts = []
    for article in library.articles():
        words, places = read_tokens(article.text)
        for place, equation in zip(places, article.equations, strict=True):
            total = length = 0.0
            for at, word in enumerate(words):
                distance = place - at if at < place else at - place + 1
                if distance <= CONTEXT_REACH:
                    length += 1 / distance**0.5
                    total += (stem(word) == "precis") / distance**0.5
            fields = {
                "sentence": [equation.context.replace("[equation]", " ")],
                "section": [equation.section],
                "title": [article.title],
                "references": equation.references,
            }
            for name, texts in fields.items():
                found = [word for text in texts for word in read_tokens(text)[0]]
                total += FIELDS[name] * sum(stem(word) == "precis" for word in found)
            share = 1 - BM25_B + BM25_B * length / FULL_CONTEXT
            impacts.append(total / (total + BM25_K1 * share))
    assert library.search("precision", by="words").hits[0].score == pytest.approx(max(impacts))


def test_words_of_labels_count(library: Library) -> None:
    """The label eq:cos has a word that no text has; its prefix does not count."""
    assert ids(library.search("cos", by="words"))[0] == "angles#1"
    assert ids(library.search("eq", by="words")) == []


def test_forms_of_a_word_match_each_other(library: Library) -> None:
    """They share a stem."""
    assert ids(library.search("measuring angles")) == ids(library.search("measures angle"))


def test_phrases_and_excluded_words(library: Library) -> None:
    """A phrase matches in order; a word with a minus excludes equations."""
    assert ids(library.search('"mean of precision"')) == ["harmonic#1"]
    assert ids(library.search('"precision of mean"')) == []
    assert ids(library.search("precision -balanced")) == ["again#1", "again#2"]
    assert ids(library.search('precision -"mean of precision" -elsewhere')) == []


def test_phrases_match_the_text(tmp_path: Path) -> None:
    """Within reach of the equation and in its article; of any length, also at both ends."""
    dice = random.Random(0)
    for number in range(4):
        parts = [" ".join(dice.choices("abc de fgh".split(), k=dice.choice((1, 9, 150, 300))))
                 for _ in range(6)]  # fmt: skip
        body = r" \[ x = 1 \] ".join(parts)
        document = rf"\documentclass{{article}}\begin{{document}}{body}\end{{document}}"
        (tmp_path / f"{number}.tex").write_text(document)
    made = Library.read([tmp_path], tmp_path / "library", jobs=1, index=True)
    (text,) = made.engine.text.parts
    stems = text.stem_of[text.tokens].tolist()
    for length in (2, 3, 5, 7, 60, 256, 257, 300):
        for at in dice.sample(range(len(stems) - length), 12):
            phrase = tuple(stems[at : at + length])
            expected = []
            for low, place, high in text.places.tolist():
                near = stems[max(low, place - CONTEXT_REACH) : min(high, place + CONTEXT_REACH)]
                runs = range(len(near) - length + 1)
                expected.append(any(near[run : run + length] == list(phrase) for run in runs))
            wanted = np.flatnonzero(expected).tolist()
            found = text.match_phrase(phrase)
            assert found[0].tolist() == wanted
            some = np.arange(len(expected))[::2]  # a selection reads only the contexts of its own
            within = text.match_phrase_within(phrase, some)
            assert within[0].tolist() == [at for at in wanted if at % 2 == 0]
            assert within[1].tolist() == found[1][np.isin(found[0], some)].tolist()
    assert not len(text.match_phrase((0, 1) * 200)[0])


def test_a_formula_among_words(library: Library) -> None:
    """LaTeX between dollars is searched in equations."""
    assert ids(library.search(r"precision $\frac{a}{a+b}$"))[0] == "again#2"
    assert ids(library.search(r"$\cos$"))[0] == "angles#1"


def test_a_formula_that_is_repeated_is_compared_once(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long query of Greek letters would take many seconds; each still counts as often."""
    compared = []
    similar_types = library.engine.similar_types

    def count(shape: Layout, *given: Any) -> Any:
        compared.append(shape.latex)
        return similar_types(shape, *given)

    monkeypatch.setattr(library.engine, "similar_types", count)
    library.search("β precision " * 50 + "γ recall")
    assert len(compared) == 2


def test_wildcards_find_what_matches_and_nothing_else(library: Library) -> None:
    """?x matches anything, the same each time."""
    assert ids(library.similar(r"\frac{?a}{?a + ?b}")) == ["again#2"]
    assert ids(library.similar(r"\frac{?a}{?b + ?a}")) == []
    assert ids(library.search(r"precision $\frac{?a}{?a + ?b}$"))[0] == "again#2"


def test_a_note_says_what_was_not_searched(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a pattern among words, and for one alone."""
    monkeypatch.setattr(structure, "MAX_TRIED", 1)
    for found in (library.similar(r"\frac{?a}{?b}"), library.search(r"mean $\frac{?a}{?b}$")):
        assert found.notes == ["only 1 of 3 equations with these symbols were tried"]


def test_a_ranking_that_the_query_cannot_use_is_refused(library: Library) -> None:
    """By structure without LaTeX, by words without words."""
    with pytest.raises(UsageError, match="LaTeX"):
        library.search("precision", by="structure")
    with pytest.raises(UsageError, match="words"):
        library.search("$x$", by="words")
    for ask in (library.search, library.similar):
        with pytest.raises(UsageError, match="name a model's folder"):
            ask("x", by="encoder")
    assert ids(library.search(r"$\cos$", by="structure")) == ["angles#1"]


def test_scores_do_not_depend_on_filters(library: Library) -> None:
    """The query means the same in any part of the library."""
    query = r"F = \frac{2 A B}{A + B}"
    everywhere = {hit.equation.id: hit.score for hit in library.similar(query)}
    for article in ("again", "angles"):
        for hit in library.similar(query, article=article):
            assert hit.score == pytest.approx(everywhere[hit.equation.id])
            assert library.why(query, hit).score == pytest.approx(hit.score)


def test_a_long_answer_is_not_cut_off(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranking by structure alone returns all equations that share something."""
    query = r"F = \frac{2 P R}{P + R}"
    every = ids(library.similar(query, 10, by="structure"))
    assert len(every) > 2
    monkeypatch.setattr("eqemb.search.engine.MAX_TYPES", 2)
    assert ids(library.similar(query, 10, by="structure")) == every
    pattern = ids(library.similar(r"\frac{?a}{?b}", 10))
    assert len(pattern) == 3


def test_queries_that_cannot_be_answered_say_why(library: Library) -> None:
    """An empty query, filters that leave nothing, common words, broken LaTeX."""
    with pytest.raises(UsageError, match="the query is empty"):
        library.search("  ")
    with pytest.raises(UsageError, match="add words to search for"):
        library.search("-precision")
    assert "passes these filters" in library.search("precision", section="nowhere").notes[0]
    common = library.search("the of")
    assert "too common" in common.notes[0]
    assert not common.hits  # no list of junk
    broken = library.similar(r"\frac{a}{b")
    assert broken.notes == [r"showing results for formula: \frac{a}{b} (closed {)"]
    with pytest.raises(UsageError, match="2015-2018"):
        library.search("precision", year="2018-2015")


def test_similar_spellings_are_suggested(library: Library) -> None:
    """For unknown words that are not clearly one word of the library."""
    answer = library.search("harmnicc cosine")
    assert answer.unknown == ["harmnicc"]
    assert answer.near == {"harmnicc": ["harmonic"]}


def test_misspelt_words_are_repaired(library: Library) -> None:
    """If one word of the library is clearly meant; the answer says so."""
    answer = library.search("harmonicc cosine")
    assert answer.unknown == []
    assert answer.notes == [
        "showing results for words: harmonic cosine (harmonic instead of harmonicc)"
    ]
    assert ids(answer) == ids(library.search("harmonic cosine"))
    assert answer.to_json()["reading"]["repairs"] == ["harmonic instead of harmonicc"]
    assert library.search("harmonic cosine").to_json()["reading"] is None


def test_filters_are_respected(library: Library) -> None:
    """Hits pass every filter; invalid filters are refused."""
    assert ids(library.search("precision", article="again")) == ["again#1", "again#2"]
    assert ids(library.search("precision", article="again", numbered=True)) == ["again#1"]
    assert ids(library.search("precision", has=r"F")) != []
    assert all(hit.article != "angles" for hit in library.search("precision cosine", has="P"))
    assert ids(library.search("precision cosine", has=[r"\cos", "x"])) == ["angles#1"]
    assert ids(library.search("precision", section="nowhere")) == []
    with pytest.raises(UsageError, match="contains no word"):
        library.search("precision", section="...")
    with pytest.raises(UsageError, match="no paper"):
        library.search("precision", year="2015")
    for year in ("last", "20152018", "-"):
        with pytest.raises(UsageError, match="write 2015"):
            library.search("precision", year=year)
    with pytest.raises(UsageError, match=r"no collection 'nlq' .*: `eqemb info`"):
        library.search("precision", collection="nlq")
    with pytest.raises(UsageError, match="no article"):
        library.search("precision", article="agian")


def test_each_filter_passes_what_it_should(tmp_path: Path) -> None:
    """Collection, year, section and symbols, alone and together."""
    for name, section, formula in (
        ("nlp/1503.00001", "Word vectors", "a = b"),
        ("nlp/1803.00001", "Our model", r"\sum a"),
        ("ml/1803.00002", "The models of words", "a = c"),
    ):
        (tmp_path / "papers" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "papers" / f"{name}.tex").write_text(
            rf"\documentclass{{article}}\begin{{document}}\section{{{section}}} precision"
            rf" \[ {formula} \]\end{{document}}"
        )
    with Library.read([tmp_path / "papers"], tmp_path / "library", jobs=1, index=True) as library:
        names = library.records.names()
        assert len(names) == 3

        def articles(**limits: Any) -> set[int]:
            hits = library.search("precision", **limits)
            return {names.index(hit.article) for hit in hits}

        first, second, third = (
            next(at for at, name in enumerate(names) if name.endswith(end))
            for end in ("1503.00001", "1803.00001", "1803.00002")
        )
        assert articles(collection="nlp") == {first, second}
        assert articles(collection="all") == articles() > {first, second}
        assert articles(year=2018) == articles(year="2016-") == {second, third}
        assert articles(year="-2017") == {first}
        assert articles(section="word") == {first, third}
        assert articles(section="word model") == {third}
        assert articles(has="=") == {first, third}
        assert articles(has=["a = c"]) == {third}
        assert articles(collection="nlp", year="2018", section="models", has=r"\sum") == {second}
        assert articles(collection="nlp", year="2015-2017", has=r"\sum") == set()
        with pytest.raises(UsageError, match=r"no collection 'nlq' .*: did you mean nlp\?"):
            library.search("precision", collection="nlq")


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"article": 3}, "article must be a string, not 3"),
        ({"collection": 3}, "collection must be a string, not 3"),
        ({"section": 3}, "section must be a string, not 3"),
        ({"has": [3]}, "has must be LaTeX strings, not 3"),
        ({"has": 3}, "has must be LaTeX strings, not 3"),
        ({"year": 2015.0}, "year must be a year such as 2015, or 2015-2018, not 2015.0"),
        ({"numbered": "yes"}, "numbered must be True or False, not 'yes'"),
        ({"k": True}, "k must be a positive integer, not True"),
        ({"k": "3"}, "k must be a positive integer, not '3'"),
        ({"by": 3}, "no ranking by 3"),
    ],
)
def test_settings_of_the_wrong_type_are_refused(
    library: Library, filters: dict[str, Any], expected: str
) -> None:
    """Each with its name, the value and what was expected."""
    with pytest.raises(UsageError, match=re.escape(expected)):
        library.search("precision", **filters)


@pytest.mark.parametrize("method", ["search", "similar", "describe", "words"])
def test_a_query_must_be_text(library: Library, method: str) -> None:
    """A number is not searched for."""
    with pytest.raises(UsageError, match="a query must be a string, not 7"):
        getattr(library, method)(7)


@pytest.mark.parametrize("k", [0, -1, -6, 2.5])
def test_k_must_be_a_positive_integer(library: Library, k: int) -> None:
    """In every method."""
    for ask in (library.search, library.similar, library.describe, library.words, library.query):
        with pytest.raises(UsageError, match=f"k must be a positive integer, not {k}"):
            ask("angles#1", k=k)


def test_an_unknown_ranking_is_refused(library: Library) -> None:
    """The error lists the rankings."""
    with pytest.raises(UsageError, match="words, meaning, structure"):
        library.search("precision", by="magic")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no model"):
        library.search("precision", by="paper")


def test_a_name_finds_its_equation(library: Library) -> None:
    """Also where words are expected."""
    found = library.search("harmonic(F)")
    assert ids(found)[0] == "harmonic#1"
    assert found[0].family == ["again#1"]
    assert "again#1" not in ids(found)  # one hit stands for a family
    assert ids(library.similar("harmonic(F)"))[0] == "again#1"
    assert ids(library.search("harmonic(F)", 2)) == ids(found)[:2]
    assert ids(library.search("harmonic(F)", article="again")) == ["again#1", "again#2"]
    assert ids(library.search("angles:eq:cos"))[0] == "angles#1"
    assert ids(library.search("angles: the cosine"))[0] == "angles#1"  # words all the same


def test_latex_finds_the_equation_itself(library: Library) -> None:
    """An equation pasted as LaTeX is found with score 1, however it is spaced."""
    best = library.similar(r"F=\frac{2PR}{P+R}", by="structure").hits[0]
    assert best.score == pytest.approx(1.0)
    assert [best.equation.id, *best.family] == ["again#1", "harmonic#1"]


def test_the_score_of_structure_has_more_than_the_likeness(library: Library) -> None:
    """The rest is the overlap of units, which is 1 for an equal equation alone."""
    asked, other = r"F = \frac{2 P}{P + R}", r"F = \frac{2 P R}{P + R}"
    alike = likeness(outline(layout(asked)), outline(layout(other)), inside=True)
    score = library.similar(asked, by="structure").hits[0].score
    least = (1 - structure.OVERLAP) * alike.score
    assert least < score < least + structure.OVERLAP
    assert library.why(asked, other).likeness == pytest.approx(alike.score)
    assert library.similar(other, by="structure").hits[0].score == pytest.approx(1)


@pytest.mark.parametrize(
    "name", ["harmonic#1", "harmonic(F)", "harmonic (F)", "harmonic#1 (F)", " harmonic#1(F) "]
)
def test_equations_are_found_by_name(library: Library, name: str) -> None:
    """By ordinal, printed number or label; the equation itself is not a hit."""
    named = library.equation(name)
    assert named is not None
    assert named.id == "harmonic#1"
    found = ids(library.similar(name))
    assert found[0] == "again#1"  # the same equation elsewhere
    assert "harmonic#1" not in found


def test_labels_name_equations_too(library: Library) -> None:
    """A label may contain colons."""
    assert ids(library.similar("angles:eq:cos")) != []


def test_a_name_without_equation_is_refused(library: Library) -> None:
    """The article exists, the equation does not."""
    with pytest.raises(UsageError, match="harmonic has no equation #7"):
        library.similar("harmonic#7")


def test_an_empty_formula_is_refused(library: Library) -> None:
    """Blanks contain no symbol."""
    with pytest.raises(UsageError, match="no symbol"):
        library.similar(r"\quad")


def test_the_json_of_a_hit(library: Library) -> None:
    """Its keys, its place, and its context in pieces."""
    found = library.search("angle").hits[0].to_json(words=["angle"])
    assert list(found) == [
        *(
            "score",
            "strength",
            "level",
            "parts",
            "id",
            "ordinal",
            "number",
            "label",
            "labels",
            "latex",
            "clean_latex",
            "text",
            "mathml",
        ),
        *("article", "title", "section", "file", "line", "url"),
        *("authors", "year", "arxiv", "citation", "reference"),
        *("context", "context_text", "family", "papers"),
    ]
    assert (found["article"], found["number"], found["label"]) == ("angles", "1", "eq:cos")
    assert found["context_text"].startswith("The cosine of the angle between two vectors is")
    assert {"kind": "mark", "text": "angle"} in found["context"]
    assert {"kind": "equation", "text": "[equation]"} in found["context"]
    short = library.search("angle").hits[0].to_json(reach=1)
    assert short["context_text"] == "… is [equation] and …"


def test_a_library_without_index_is_refused(tmp_path: Path) -> None:
    """The error says what to do."""
    (tmp_path / "a.tex").write_text(r"\documentclass{article}\begin{document}a\end{document}")
    read = Library.read([tmp_path / "a.tex"], tmp_path / "library", jobs=1)
    with pytest.raises(UsageError, match="eqemb build"):
        read.search("a")


def test_a_library_without_equations_has_no_hits(tmp_path: Path) -> None:
    """Papers may have no display at all."""
    (tmp_path / "a.tex").write_text(r"\documentclass{article}\begin{document}word\end{document}")
    built = Library.read([tmp_path / "a.tex"], tmp_path / "library", jobs=1, index=True)
    assert built.search("word").unknown == ["word"]
    assert built.similar("x + y").hits == []


def test_a_misspelt_name_is_not_searched_as_a_formula(library: Library) -> None:
    """The error suggests a similar name."""
    with pytest.raises(UsageError, match="did you mean harmonic"):
        library.similar("harmonik#1")


def test_a_name_as_printed_is_a_name(library: Library) -> None:
    """With a blank before the number, and with the number after the name."""
    assert ids(library.search("angles#1 (1)"))[0] == "angles#1"
    assert ids(library.search("angles (1)", 1)) == ["angles#1"]
    for name in ("angles (9)", "angles#1 (9)"):
        with pytest.raises(UsageError, match=r"angles has no equation .*\(?9\)?: "):
            library.similar(name)
    with pytest.raises(UsageError, match="did you mean angles"):
        library.similar("angels (1)")


@pytest.mark.parametrize("text", ["angles", "angles#", "angles#1, in 2 papers", "angles#1."])
def test_an_article_without_equation_is_refused(library: Library, text: str) -> None:
    """It is not searched as LaTeX."""
    for ask in (library.similar, library.describe, lambda text: library.why("cosine", text)):
        with pytest.raises(
            UsageError, match="names the article angles but no equation: write angles#4"
        ):
            ask(text)


def test_words_and_latex_may_start_like_an_article(library: Library) -> None:
    """Only what has the form of a name is a name."""
    assert ids(library.search("angles (cosine)"))[0] == "angles#1"
    for latex in ("angles = x", "angles(x) = y^2", "$angles$", "a#", "x (1)"):
        assert library.equation(latex) is None
    assert library.why("recall (balanced)", "harmonic#1").words


def test_names_with_the_same_start_are_suggested_first(tmp_path: Path) -> None:
    """Before names with a similar spelling."""
    for name in ("tho2015", "cho2015-understanding-language"):
        place = tmp_path / "papers" / "nlp" / f"{name}.tex"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(rf"\documentclass{{article}}\begin{{document}}{name}\end{{document}}")
    made = Library.read([tmp_path / "papers"], tmp_path / "library", jobs=1, index=True)
    names = made.records.names()
    begins, alike = sorted(names, key=lambda name: "tho" in name)
    with pytest.raises(UsageError, match=f"did you mean {begins} or {alike}"):
        made.similar("cho2015#1")


def test_contents_list_the_articles(library: Library) -> None:
    """Names, numbers of equations and titles, in order."""
    assert [(name, count) for name, count, _ in library.contents()] == [
        ("again", 2), ("angles", 1), ("harmonic", 1), ("silent", 0),
    ]  # fmt: skip


def test_wildcards_match(library: Library) -> None:
    """Only matches are hits; the same wildcard matches the same."""
    assert ids(library.similar(r"P = \frac{?a}{?a + ?b}")) == ["again#2"]
    assert ids(library.similar(r"\|?x\| \|?y\|")) == ["angles#1"]
    assert ids(library.similar(r"\|?x\| \|?x\|")) == []
    with pytest.raises(UsageError, match="at least one symbol"):
        library.similar("?x")


def test_suggestions_are_those_of_difflib(library: Library) -> None:
    """Counting letters first saves time and loses no word."""
    text = library.engine.text
    for word in ("harmonicc", "precison", "recal", "vectrs", "xq", "The", "q"):
        known = [w for w, _, count in text.vocabulary() if count and w[0] == word[0].lower()]
        alike = [w for w in known if abs(len(w) - len(word)) < 3]
        near = difflib.get_close_matches(word.lower(), alike, 3, 0.75)
        assert text.suggest_spellings(word) == near
    assert text.suggest_spellings("harmonicc")


def test_a_topic_is_shared_by_articles(library: Library) -> None:
    """Each article counts by its best equation; a stem of one article alone is left out."""
    text = library.engine.text
    equations, trusts = [0, 1, 3], [0.5, 1.0, 0.25]  # two of one article, one of another
    topic = text.topic(equations, trusts, 50)
    homes = library.engine.articles[equations].tolist()
    assert homes[0] == homes[1] != homes[2]
    worth: dict[str, dict[int, float]] = {}
    for equation, trust, home in zip(equations, trusts, homes, strict=True):
        for _, root, _ in text.vocabulary():
            said = trust * text.stem_score(root, equation)
            known = worth.setdefault(root, {})
            if said:
                known[home] = max(known.get(home, 0), said)
    shared = {root: sum(of.values()) * text.idf(root) for root, of in worth.items() if len(of) > 1}
    assert topic
    assert set(topic) <= set(shared)
    total = sum(shared[root] for root in topic)
    assert topic == pytest.approx({root: shared[root] / total for root in topic})
    assert list(topic) == sorted(topic, key=lambda root: (-shared[root], key(root)))
    assert text.topic([], [], 5) == {}


def test_queries_load_nothing_heavy(library: Library) -> None:
    """A cold start loads NumPy only."""
    code = (
        "import sys\nfrom eqemb import Library\n"
        f"with Library.open({str(library.folder)!r}) as library:\n"
        "    assert library.search('precision cosine zebra').hits[0].text\n"
        r"    assert library.similar(r'F = \frac{2ab}{a+b}').hits[0].mathml"
        "\n"
        "    assert library.similar('angles#1', by='structure') is not None\n"
        "print(*{'numba', 'scipy', 'torch', 'pandas', 'rich'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert not done.stdout.split()


def test_words_and_formulas_are_answered_in_every_door(library: Library) -> None:
    """`similar` answers words, and `search` a formula; both say so."""
    found = library.similar("harmonic mean")
    assert ids(found) == ids(library.search("harmonic mean"))
    assert found.notes[0] == "not one equation alone: answered as a search for words"
    assert ids(library.search("F = 2PR/(P+R)")) == ids(library.similar(r"F = \frac{2PR}{P+R}"))
    reading = library.search("F = 2PR/(P+R)").reading
    assert reading is not None
    assert reading.reading == r"formula: F = \frac{2PR}{P+R}"
    with pytest.raises(UsageError, match="reads as words"):
        library.describe("harmonic mean")
    assert library.similar("qqqqq xyzzy").hits == []


def test_nothing_is_similar_to_unknown_symbols(library: Library) -> None:
    """No list of junk, but a note."""
    found = library.similar(r"\foobar")
    assert found.hits == []
    assert found.notes == [r"unknown command \foobar: read as a name"]
    with pytest.raises(UsageError):
        library.search("nothere#1")


@pytest.mark.parametrize("query", ["softmax(x)", "sigmoid(z)", "softmax(?a)"])
def test_a_function_of_a_letter_is_no_name_of_an_equation(library: Library, query: str) -> None:
    """But a tag without digits is, also with the end of an article's name."""
    assert library.search(query).reading is not None
    assert library.similar("harmonic(F)")[0].equation.id == "again#1"
