"""Large libraries: a selection of the equations is scored, with the answers of a full search."""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from eqemb.facade.build import build_library
from eqemb.facade.library import Library
from eqemb.facade.parts import LocalParts, PartsLibrary
from eqemb.index import structure
from eqemb.library import segments as library_segments
from eqemb.search import engine, selection
from eqemb.search.query import Filters
from eqemb.search.results import Answer

WORDS = (
    "gradient descent loss entropy cross-entropy kernel prior posterior variance sampling margin "
    "network layer attention softmax bayes regression optimal policy reward"
).split()
FORMULAS = (
    r"L = -\sum_i y_i \log p_i",
    r"p(a | b) = \frac{p(b | a) p(a)}{p(b)}",
    r"x_{t+1} = x_t - \eta \nabla f(x_t)",
    r"k(x, y) = \exp(-\|x - y\|^2)",
    r"V(s) = \max_a r(s, a) + \gamma V(s')",
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """Return a library of 60 papers in seven segments."""
    dice, folder = random.Random(5), tmp_path_factory.mktemp("papers")
    for number in range(60):
        said = [" ".join(dice.choices(WORDS, k=30)) for _ in range(7)]
        shown = [f" \\[ {dice.choice(FORMULAS)} + {dice.choice('abcdefgh')} \\] " for _ in range(6)]
        text = "".join(a + b for a, b in zip(said, [*shown, ""], strict=True))
        text += " zebra" if number % 9 == 0 else ""
        text += " where $p$ is the posterior of the network and $f$ denotes the loss function."
        (folder / f"{number}.tex").write_text(
            rf"\documentclass{{article}}\begin{{document}}{text}\end{{document}}"
        )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library_segments, "SEGMENT_DOCUMENTS", 9)
        build_library([folder], folder.with_name("library"), model=False, jobs=1)
    with Library.open(folder.with_name("library")) as found:
        assert len(found.engine.segments) == 7
        yield found


@pytest.fixture
def large(library: Library, monkeypatch: pytest.MonkeyPatch) -> Library:
    """Return the library, which counts as large."""
    monkeypatch.setattr(library.engine.segments, "is_large", True)
    return library


def shown(answer: Answer) -> list[tuple[str, Any]]:
    """Return the names of the hits, and their scores."""
    return [(hit.equation.id, pytest.approx(hit.score, abs=1e-5)) for hit in answer]


QUERIES = [
    "gradient descent",
    "cross entropy loss",
    "attention network layer",
    'policy "optimal policy"',
    "kernel prior -zebra",
    r"posterior $p(a | b)$",
    r"equations in which $f$ is the loss function",
]


@pytest.mark.parametrize("query", QUERIES)
def test_words_have_the_same_answers(
    library: Library, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all equations scored, and with candidates."""
    wanted = shown(library.engine.search_words(query))
    assert wanted
    monkeypatch.setattr(library.engine.segments, "is_large", True)
    found = library.engine.search_words(query)
    assert shown(found) == wanted
    assert found.matches is not None
    assert not found.matches.is_complete


@pytest.mark.parametrize("query", [*FORMULAS, "3.tex#2".replace(".tex", ""), r"\sum_i ?x", "p"])
def test_equations_have_the_same_answers(
    library: Library, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all equations scored, and with candidates."""
    wanted = shown(library.engine.search_similar(query))
    assert wanted
    monkeypatch.setattr(library.engine.segments, "is_large", True)
    assert shown(library.engine.search_similar(query)) == wanted


def test_filters_are_exact(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few candidates are taken, of those that pass the filters."""
    filters = Filters(has=(r"\gamma",))
    wanted = shown(library.engine.search_words("posterior sampling", 5, filters=filters))
    monkeypatch.setattr(library.engine.segments, "is_large", True)
    monkeypatch.setattr(selection, "WORD_CANDIDATES", 40)
    assert shown(library.engine.search_words("posterior sampling", 5, filters=filters)) == wanted


@pytest.fixture(scope="module")
def slopes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """Return a library of 90 papers, most of which have both words and the same equation."""
    folder = tmp_path_factory.mktemp("slopes")
    for number in range(90):
        said = "The gentle slope" if number % 3 else "The slope"
        said = said if number % 7 else "Roofs"
        shown = FORMULAS[0] if number % 4 else f"{FORMULAS[0]} + r_{{{number}}}"
        shown = shown if number % 5 else rf"\sqrt{{h_{{{number}}}}}"
        text = rf"{said} of {'long ' * (number % 7)} curves is \[ {shown} \] today."
        (folder / f"{number}.tex").write_text(
            rf"\documentclass{{article}}\begin{{document}}{text}\end{{document}}"
        )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library_segments, "SEGMENT_DOCUMENTS", 30)
        build_library([folder], folder.with_name("slopes-library"), model=False, jobs=1)
    with Library.open(folder.with_name("slopes-library")) as found:
        yield found


def take_few(patch: pytest.MonkeyPatch) -> None:
    """Take fewer candidates than there are equations of each kind, few with vectors."""
    for name in ("FEW_ALLOWED", "WORD_CANDIDATES", "DEFINED_CANDIDATES", "VOTING_CANDIDATES"):
        patch.setattr(selection, name, 20)
    patch.setattr(selection, "EQUATIONS_OF_TYPE", 1)
    for module in (selection, engine):
        patch.setattr(module, "MOST_READ", 3)


KINDS = [
    ("gentle slope", "all words"),
    ("gentle slope", "some words"),
    (f"slope ${FORMULAS[0]}$", "words and formula"),
    (f"slope ${FORMULAS[0]}$", "words only"),
    (f"slope ${FORMULAS[0]}$", "formula only"),
    (f"${FORMULAS[0]}$", "same equation"),
    (f"${FORMULAS[0]}$", "similar equation"),
]


@pytest.mark.parametrize(("query", "kind"), KINDS)
def test_candidates_are_of_the_kind_that_is_wanted(
    slopes: Library, query: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the best candidates are of another kind; in one process and in parts."""
    by = "all" if "$" in query else "words"  # so that no candidates vote
    asked: dict[str, Any] = {"k": 3, "by": by, "filters": Filters(kind=kind)}
    wanted = shown(slopes.engine.search_words(query, **asked))
    assert wanted
    take_few(monkeypatch)
    monkeypatch.setattr(slopes.engine.segments, "is_large", True)
    assert shown(slopes.engine.search_words(query, **asked)) == wanted
    parts = LocalParts(slopes, 2)
    for part in parts.parts:
        monkeypatch.setattr(part.part_engine.segments, "is_large", True)
    with PartsLibrary.open_with(slopes.folder, parts) as library:
        assert shown(library.engine.search_words(query, **asked)) == wanted
    parts.close()


def test_filters_find_every_equation_of_a_type(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that is not among the first of its type; in the filter, the others do not count."""
    types = library.engine.types
    common = int(np.bincount(types).argmax())
    rows = np.flatnonzero(types == common)
    assert len(rows) > 2
    last, _ = library.engine.equation(int(rows[-1]))
    filters = Filters(article=last.article)
    monkeypatch.setattr(selection, "EQUATIONS_OF_TYPE", 1)
    for by in ("all", "structure"):
        wanted = shown(library.engine.search_similar(last.latex, 5, by=by, filters=filters))
        with monkeypatch.context() as patch:
            patch.setattr(library.engine.segments, "is_large", True)
            found = library.engine.search_similar(last.latex, 5, by=by, filters=filters)
        assert shown(found) == wanted
        assert found.hits[0].equation.article == last.article


def test_where_few_equations_pass_all_are_scored(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those that are among the best neither by the words of a topic nor by structure."""
    filters = Filters(article="7")
    monkeypatch.setattr("eqemb.search.scoring.TOPIC_CANDIDATES", 0)
    wanted = shown(library.engine.search_similar(r"\theta_\gamma", 5, filters=filters))
    assert wanted
    monkeypatch.setattr(library.engine.segments, "is_large", True)
    assert shown(library.engine.search_similar(r"\theta_\gamma", 5, filters=filters)) == wanted


def test_types_that_every_segment_has_count_once(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their copies do not take the places of other types."""
    monkeypatch.setattr(structure, "MAX_ALIGNED", 1)
    find = library.engine.structure.find
    for _ in range(2):
        found = find(FORMULAS[0], count=10)
        assert len(set(library.engine.segments.type_keys[found.types].tolist())) == 10
        monkeypatch.setattr(library.engine.segments, "is_large", True)


def test_a_part_that_finds_no_candidates_scores_all(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a model, the meaning is that of the base model."""
    wanted = shown(library.engine.search_similar(FORMULAS[1], by="meaning"))
    assert len(wanted) > 1
    monkeypatch.setattr(library.engine.segments, "is_large", True)
    assert shown(library.engine.search_similar(FORMULAS[1], by="meaning")) == wanted


def test_only_candidates_are_scored(large: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what is asked about besides."""
    monkeypatch.setattr(selection, "WORD_CANDIDATES", 20)
    engine = large.engine
    question = engine.read_query("gradient descent")
    scope, parts, _ = engine.score_words(question, engine.segments.live, ("words",), also=[0])
    assert 20 <= len(scope) <= 21
    assert len(parts["words"]) == len(scope)
    assert scope.rows is not None
    assert 0 in scope.rows


def test_explanations_add_up(large: Library) -> None:
    """An equation that is no candidate is explained, too."""
    last = f"{large.records.names()[-1]}#1"
    for query in ("gradient descent", FORMULAS[0]):
        why = large.why(query, last)
        assert why.parts


@pytest.mark.parametrize("query", [*QUERIES[:2], r"posterior $p(a | b)$"])
def test_vectors_are_read_where_they_matter(
    library: Library, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few candidates have scores by vectors at first; where that is too few, all have."""
    wanted = shown(library.engine.search_words(query))
    similar = shown(library.engine.search_similar(FORMULAS[2]))
    monkeypatch.setattr(library.engine.segments, "is_large", True)
    for depth in (1, 5, 1000):
        monkeypatch.setattr(selection, "MOST_READ", depth)
        monkeypatch.setattr("eqemb.search.engine.MOST_READ", depth)
        assert shown(library.engine.search_words(query)) == wanted
        assert shown(library.engine.search_similar(FORMULAS[2])) == similar


def test_promising_candidates_include_the_best() -> None:
    """Whatever the missing part of each score is, within its limit; in each mask."""
    random = np.random.default_rng(3)
    for _ in range(50):
        sure = random.random(200).astype(np.float32)
        late, most = random.random(200).astype(np.float32), float(random.choice([0.01, 0.2]))
        mask = random.random(200) < 0.3
        found = set(selection.promising(sure, most, [None, mask], 10).tolist())
        total = sure + np.float32(most) * late
        assert found >= set(np.argsort(-total)[:10].tolist())
        assert found >= set(np.flatnonzero(mask)[np.argsort(-total[mask])[:10]].tolist())
        assert len(found) < 200


def test_an_answer_is_deep_enough() -> None:
    """If nothing that was not read by vectors could be better than the last hit."""
    scores, allowed = [np.array([5, 4, 3, 2, 1], np.float32)], np.ones(5, bool)
    unread = selection.Unread.of(np.arange(3), 5, {"meaning": 0.25, "base": 0.25})
    assert unread is not None
    assert selection.is_deep_enough(scores, allowed, [5, 3], 2, unread)
    assert not selection.is_deep_enough(scores, allowed, [5, 2], 2, unread)
    assert not selection.is_deep_enough(scores, allowed, [5, 3], 10, unread)  # families hid others
    assert selection.is_deep_enough(scores, allowed & (scores[0] > 2), [5, 3], 10, unread)


def test_negative_cosines_do_not_hide_better_answers() -> None:
    """What vectors lower is not taken for a bound of what they may raise."""
    sure = np.append(np.ones(100, np.float32), np.float32(0.5))
    read = selection.promising(sure, 0.4, [None], 100)
    total = sure - np.float32(0.2)
    total[100] = 0.5
    unread = selection.Unread.of(read, 101, {"meaning": 0.4, "base": 0.0})
    assert unread is not None
    assert not selection.is_deep_enough([total], np.ones(101, bool), [0.8] * 10, 10, unread)
