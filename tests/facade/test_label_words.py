"""The words of map labels: words of titles that many equations and articles of a region have."""

from collections.abc import Iterator

import numpy as np
import pytest

from eqemb.facade import map_labels
from eqemb.facade.label_words import LabelWords
from eqemb.facade.library import Library
from synthetic import papers, read_inline


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """Six papers on kernels and six on regret; one author says "zebra" in every sentence."""
    place = tmp_path_factory.mktemp("labels")
    bodies = {}
    for number in range(12):
        word = "kernel" if number < 6 else "regret"
        habit = "zebra" if number == 0 else "consider"
        bodies[f"paper{number}"] = rf"\section{{The {word} bandit}}" + " ".join(
            rf"We {habit} the {word} bandit and {habit} it \[ x_{{{number}}} + {at} \]."
            for at in range(8)
        )
    with pytest.MonkeyPatch.context() as patch:
        read_inline(patch)
        folder = papers(place / "papers", **bodies)
        with Library.read([folder], place / "library", jobs=1, index=True) as made:
            yield made


def test_weights_are_shares_of_points_and_articles(library: Library) -> None:
    """A word of one author alone has none; a word that all have weighs 1."""
    engine = library.engine
    equations = np.arange(engine.segments.equation_count)
    words = LabelWords(engine, equations)
    names = [engine.equation(at)[0].article for at in equations.tolist()]
    region_of = np.array([int(name[5:]) // 6 for name in names])
    first, second = words.weights(region_of)
    assert words.spelling["kernel"] == "kernel"
    assert first["kernel"] == pytest.approx(1)
    assert "kernel" not in second
    assert second["regret"] == pytest.approx(1)
    assert "zebra" not in first | second


def test_words_that_stand_together_in_titles_are_pairs(library: Library) -> None:
    """They are looked for together in the text; words that only begin a title are no part."""
    engine = library.engine
    words = LabelWords(engine, np.arange(engine.segments.equation_count))
    pairs = {key: word for key, word in words.spelling.items() if " " in key}
    assert pairs == {"kernel bandit": "kernel bandit", "regret bandit": "regret bandit"}
    (weights,) = words.weights(np.zeros(engine.segments.equation_count, np.int64))
    assert weights["kernel bandit"] == pytest.approx(0.5)


def test_a_pair_is_preferred_and_not_repeated() -> None:
    """A label does not say "language model, model"."""
    said = [{"languag model": 0.5, "model": 0.6, "token": 0.1}, {"regret": 0.5}]
    assert map_labels._distinctive_stems(said)[0] == ["languag model", "token"]


def test_a_word_labels_the_region_that_it_suits_best() -> None:
    """No word twice, and a first word for every region before a second for any."""
    said = [{"bound": 0.9, "norm": 0.1}, {"bound": 0.3, "regret": 0.3}, {"loss": 0.2}]
    found = map_labels._distinctive_stems(said)
    used = [word for words in found for word in words]
    assert len(used) == len(set(used))
    assert [words[0] for words in found] == ["bound", "regret", "loss"]


def test_many_regions_may_share_a_word() -> None:
    """A few of them: words are fewer than regions there."""
    said = [{"bound": 0.5 + at / 1000, "other": 0.01} for at in range(120)]
    found = map_labels._distinctive_stems([*said, {"lone": 1.0}])
    assert sum("bound" in words for words in found) == 3
