"""Acronyms that papers define, and what a search makes of them."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from eqemb.facade.library import Library
from eqemb.facade.update import add_papers, remove_articles
from eqemb.index.acronym_table import write_acronyms
from eqemb.index.acronyms import Phrase, defined_at, definitions, initials
from eqemb.index.postings import hash_texts
from eqemb.index.stemming import stem
from eqemb.index.text_segment import TextSegment
from synthetic import forget_checksums

#: Text before an equation, and the equation.
PAPERS = {
    "one": ("A generative adversarial network (GAN) minimises", r"V = \log D + \log (1 - G)"),
    "two": ("Every generative adversarial network (GAN) has", r"D = \frac{p}{p + q}"),
    "three": ("The loss of the GAN is", r"L = \max_D V(D, G)"),
    "four": ("The area under the curve (AUC) is", r"A = \int r(t) dt"),
    "five": ("One computes the area under the curve, AUC, by", r"B = \sum_i r_i"),
    "six": ("A long short-term memory (LSTM) keeps", r"c_t = f c_{t-1} + i g"),
    "seven": ("Each long short-term memory (LSTM) has", r"h_t = o \tanh c_t"),
    "eight": ("Only here is a very odd word (VOW) defined as", r"v = w + 1"),
    "nine": ("Other networks that are adversarial to a network have", r"N = m k"),
}


def write(folder: Path, name: str) -> Path:
    """Write a paper."""
    text, latex = PAPERS[name]
    body = rf"{text} \begin{{equation}} {latex} \end{{equation}} as one may see."
    path = folder / f"{name}.tex"
    path.write_text(rf"\documentclass{{article}}\begin{{document}}{body}\end{{document}}")
    return path


def build(folder: Path, names: list[str]) -> Library:
    """A library of some of the papers."""
    papers = folder / "papers"
    papers.mkdir()
    for name in names:
        write(papers, name)
    return Library.read([papers], folder / "library", jobs=1, index=True)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """A library of all the papers."""
    return build(tmp_path_factory.mktemp("acronyms"), list(PAPERS))


def test_initials() -> None:
    """A compound has one for each of its parts."""
    assert [initials(word) for word in ("network", "short-term", "")] == ["n", "st", ""]


@pytest.mark.parametrize(
    ("word", "phrases"),
    [
        ("gan", [("gener", "adversari", "network")]),
        ("gans", [("gener", "adversari", "network")]),
        ("auc", [("area", "under", "the", "curv")]),
        ("lstm", [("long", "short-term", "memori")]),
        ("vow", []),  # one paper is not enough
        ("loss", []),
        ("the", []),
        ("ga", []),
        ("unheardof", []),
    ],
)
def test_definitions(library: Library, word: str, phrases: list[tuple[str, ...]]) -> None:
    """Words before it have its letters as initials, in two articles or more."""
    assert definitions(library.engine.text.parts, word) == phrases


def test_a_phrase_finds_its_acronym(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the other way round; without acronyms, neither."""
    # a word near a tenth of a handful of equations is near one
    monkeypatch.setattr("eqemb.index.text_index.MAX_ACRONYM_SHARE", 1.0)
    assert "three" in {hit.article for hit in library.search("generative adversarial network")}
    found = library.search("long short-term memory")
    assert {hit.article for hit in found} == {"six", "seven"}
    terms = {term.word: len(term) for term in library.engine.text.terms(("generative",))}
    assert terms == {"generative": 2}  # a word alone has no acronym
    whole = ("generative", "adversarial", "network")
    terms = {term.word: len(term) for term in library.engine.text.terms(whole)}
    assert terms == {"generative": 3, "adversarial": 4, "network": 4}


def test_common_words_are_no_acronyms(library: Library) -> None:
    """A word near more than a tenth of the equations is left alone."""
    assert library.engine.text.count("gan") > 0.1 * len(PAPERS)
    assert not library.engine.text._definitions("gan")


def test_definitions_are_counted_over_segments(tmp_path: Path) -> None:
    """Two papers in two segments define a word together."""
    build(tmp_path, ["one", "four"]).close()
    add_papers(tmp_path / "library", [write(tmp_path / "papers", "two")], jobs=1)
    with Library.open(tmp_path / "library") as library:
        parts = library.engine.text.parts
        assert len(parts) == 2
        assert definitions(parts, "gan") == [("gener", "adversari", "network")]
        assert not definitions(parts[:1], "gan")


def test_a_table_has_what_the_text_says(tmp_path: Path) -> None:
    """Also after an article is removed; words that are no acronyms have no entry."""
    words = ["gan", "auc", "lstm", "vow", "loss", "network"]
    with build(tmp_path, list(PAPERS)) as library:
        parts = library.engine.text.parts
        wanted = {word: definitions(parts, word) for word in words}
        few = {word: list(_said(parts, word)) for word in words}
        for part in parts:
            write_acronyms(part.folder, part)
    with Library.open(forget_checksums(tmp_path / "library")) as library:
        parts = library.engine.text.parts
        assert all(part.acronym_counts(0) is not None for part in parts)
        assert {word: definitions(parts, word, 1) for word in words} == wanted
        assert {word: list(_said(parts, word)) for word in words} == few
        assert wanted["gan"]
        assert not wanted["loss"]
        name = next(name for name in library.records.names() if "seven" in name)
    remove_articles(tmp_path / "library", [name])
    with Library.open(tmp_path / "library") as library:
        assert definitions(library.engine.text.parts, "gan") == wanted["gan"]
        assert not definitions(library.engine.text.parts, "lstm")


def _said(parts: list[TextSegment], word: str) -> Iterator[Mapping[Phrase, int]]:
    """Yield what each segment says of a word, looked up in its table if it has one."""
    for part in parts:
        row = int(part.find_stems(hash_texts([stem(word)]))[0])
        known = part.acronym_counts(row) if row >= 0 else {}
        said = () if known is not None else defined_at(part, part.positions(row), stem(word))
        yield Counter(phrase for _, phrase in said) if known is None else known
