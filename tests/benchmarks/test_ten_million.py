"""An index of copies answers as the library that it was made of, at a small size."""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import ten_million
import tiled_copies
from tiled_copies import mixed, suffix
from tiled_records import open_tiled
from tiling import is_shared, make_tiled

from axes import make_library
from eqemb.facade.library import Library
from eqemb.formula.shapes import key
from eqemb.index.postings import Keys, load_array
from eqemb.search.engine import Search
from eqemb.search.results import Answer

COSINE = r"\cos(u, v) = \frac{u \cdot v}{\|u\| \|v\|}"
PARTS, COPIES = 2, 3


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """Make a library with a handmade model."""
    with make_library(tmp_path_factory.mktemp("base")) as made:
        yield made


@pytest.fixture(scope="module")
def folder(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an index of six copies."""
    made = tmp_path_factory.mktemp("tiled") / "index"
    make_tiled(library.folder, made, PARTS, COPIES)
    return made


@pytest.fixture(scope="module")
def search(folder: Path) -> Search:
    """Open the index of six copies."""
    return Search(*open_tiled(folder))


@pytest.fixture(scope="module")
def plain(library: Library, tmp_path_factory: pytest.TempPathFactory) -> Search:
    """Open an index of six copies in which no row is rare: here nearly all would be."""
    made = tmp_path_factory.mktemp("plain") / "index"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiled_copies, "RARE", 0)
        make_tiled(library.folder, made, PARTS, COPIES)
    return Search(*open_tiled(made))


@pytest.mark.parametrize("query", ["cosine similarity", "harmonic mean", "precision"])
def test_one_copy_answers_as_the_library(library: Library, tmp_path: Path, query: str) -> None:
    """One copy gives the same hits; impacts are rounded to 16 bits."""
    make_tiled(library.folder, tmp_path / "one", 1, 1)
    one = Search(*open_tiled(tmp_path / "one"))
    for found, wanted in (
        (one.search_words(query), library.engine.search_words(query)),
        (one.search_similar(COSINE), library.engine.search_similar(COSINE)),
    ):
        assert [hit.equation.id for hit in found] == [hit.equation.id for hit in wanted]
        assert [hit.score for hit in found] == pytest.approx(
            [hit.score for hit in wanted], abs=2e-3
        )


def test_every_copy_is_found(library: Library, plain: Search) -> None:
    """A word finds the equations that have it in every copy, under names of their own."""
    few = {hit.equation.id for hit in library.engine.search_words("cosine", 50, by="words")}
    many = {hit.equation.id for hit in plain.search_words("cosine", 500, by="words")}
    assert len(many) == PARTS * COPIES * len(few)
    assert many >= few
    names = {plain.records.name(int(article)) for article in set(plain.articles.tolist())}
    assert len(names) == PARTS * COPIES * len(library.records.names())
    for name in names:
        assert plain.records.name(plain.records.key(name) or 0) == name


def test_equations_are_found_by_structure_in_all_parts(plain: Search) -> None:
    """The original comes first, then copies with other letters."""
    hits = plain.search_similar(COSINE, 3, by="structure").hits
    assert hits[0].article == "angles"
    assert all(hit.article.startswith("angles") for hit in hits)
    assert len({hit.article for hit in hits}) == 3


def test_types_of_copies_have_units_of_the_part(search: Search) -> None:
    """The units that records name for a type are those whose postings have it."""
    for segment in search.segments:
        keys = Keys(segment.folder, "units").by_row()
        pointers, owners = (
            load_array(segment.folder, f"units.{p}") for p in ("pointers", "owners")
        )
        for kind, blob in segment.records.type_units(range(len(segment.type_keys))).items():
            rows = set(np.frombuffer(blob, np.int32).tolist())
            assert all(kind in owners[pointers[row] : pointers[row + 1]] for row in rows)
            made = search.structure.layout(kind + segment.first_type)
            common = {key("\t".join(unit)) for unit in made.units()} & set(
                keys[list(rows)].tolist()
            )
            if kind < len(segment.type_keys) // COPIES:  # the first copy has no other names
                assert len(common) == len(rows)


def test_postings_ascend_and_profiles_have_the_same_impacts(search: Search) -> None:
    """Postings and profiles of stems are the same triples."""
    part = search.text.parts[1]
    found: dict[tuple[int, int], float] = {}
    for row in range(len(part.stem_keys)):
        owners, impacts = part.postings(row)
        assert (np.diff(owners) > 0).all()
        found |= {(row, owner): impact for owner, impact in zip(owners, impacts, strict=True)}
    for equation in range(len(part.segment)):
        for row, impact in zip(*part.forward.of(equation), strict=True):
            assert found.pop((row, equation)) == impact
    assert not found


def test_rare_words_have_names_of_their_own_in_some_parts(search: Search) -> None:
    """The vocabulary grows with the number of parts; text and stems stay consistent."""
    first, second = (set(part.stems) for part in search.text.parts)
    assert first - second
    assert second - first
    part = search.text.parts[1]
    for row in range(len(part.stem_keys)):
        words = part.stem_of[part.tokens[part.positions(row)]]
        assert (words == row).all()


def test_vectors_have_length_one(search: Search) -> None:
    """Vectors of copies differ from the original and are normalised."""
    vectors = search.vectors
    assert vectors is not None
    for part in vectors.contexts.parts:
        norms = np.linalg.norm(part, axis=1)
        assert ((abs(norms - 1) < 1e-3) | (norms == 0)).all()


def test_parts_share_files_that_are_the_same(folder: Path) -> None:
    """Text is stored once, impacts are stored for each part."""
    one, two = ({p.name: p.stat().st_ino for p in (folder / "parts" / n).iterdir()} for n in "01")
    assert one.keys() == two.keys()
    assert {name for name in one if one[name] == two[name]} == set(filter(is_shared, one))
    assert is_shared("terms.profiles.rows.npy")
    assert not is_shared("terms.profiles.weights.npy")


def test_keys_and_names_of_variants() -> None:
    """The variant 0 has the original key and name."""
    keys = np.array([5, 7], np.uint64)
    zero, one, two = (mixed(keys, np.full(2, number)).tolist() for number in range(3))
    assert zero == [5, 7]
    assert len({*zero, *one, *two}) == 6
    assert [suffix(number) for number in (0, 1, 26, 27, 53)] == ["", "a", "z", "aa", "ba"]


def test_letters_of_formulas_are_renamed() -> None:
    """Commands, words and constants stay; equal letters stay equal."""
    random = np.random.default_rng(0)
    made = ten_million.rename_letters(r"\frac{x}{y} + \text{x} = x e^{ab}", random)
    assert made.startswith(r"\frac{")
    assert r"\text{x}" in made
    assert made.endswith("e^{ab}")
    letter = made[6]
    assert letter != "x"
    assert f"= {letter} e" in made


def test_the_report_has_latency_memory_and_bytes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The measurement runs in processes of its own and prints its figures."""
    monkeypatch.setattr(ten_million, "WARM_UP", 1)
    monkeypatch.setattr(
        ten_million,
        "draw_queries",
        lambda *_: {"search": ["cosine"] * 30, "similar": [COSINE] * 30},
    )
    out = folder.parent / "report.json"
    arguments = ["measure", str(folder), "--cores", "1", "--agreement", "0", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["ten_million.py", *arguments])
    ten_million.main()
    said = capsys.readouterr().out
    assert "search: ms p50" in said
    assert "memory warm: anonymous" in said
    report = json.loads(out.read_text("utf-8"))
    assert report["saved"] > 0
    assert len(report["runs"]["one core"]["similar"]["clock"]) == 10


def test_agreement_compares_two_searches(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that finds the half of what the exhaustive one finds agrees by a half."""

    def ask(search: Search, _kind: str, query: str) -> Answer:
        found = search.search_words(query, by="words")
        hits = found.hits[: len(found.hits) // 2] if search.segments.is_large else found.hits
        return replace(found, hits=hits)

    monkeypatch.setattr(ten_million, "ask", ask)
    found = ten_million.compare(folder, {"search": ["cosine", "cosine"]}, 2)["search"]
    assert found["agreement of the first ten"] == 0.5
    assert found["the same ten in the same order"] == 0
    assert 0.5 <= found["sum of their scores"] < 1
