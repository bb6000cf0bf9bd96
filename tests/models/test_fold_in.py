"""Folding in: vectors of new equations, with everything that was learned left as it is."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from eqemb.corpus.corpus import Corpus, EquationToken
from eqemb.corpus.split import Split, SplitSettings
from eqemb.errors import UsageError
from eqemb.formula.tree import unit_type
from eqemb.models import BernoulliEmbeddings, EqEmb, EqEmbH, EqEmbU
from eqemb.models.fold_in import among_words, bare
from planted import ALL, TOPICS, form, planted, topic_of, word

SMALL: dict[str, Any] = {"dim": 10, "batch": 1024, "iterations": 8, "negatives": 5}
NEAR: dict[str, Any] = {"equation_window": 8, "equation_rate": 0.1}


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """What was there in training."""
    return planted()


@pytest.fixture(scope="module")
def split(corpus: Corpus) -> Split:
    """What was held out then."""
    return Split.make(corpus, SplitSettings(negatives=10))


def articles() -> Iterator[tuple[str, str, Iterator[str | EquationToken]]]:
    """One new article of each topic, with an old equation, a new one and a word never met."""

    def stream(topic: int) -> Iterator[str | EquationToken]:
        for index in range(12):
            yield word(topic, index)
        yield EquationToken(form(topic, 0), [f"t{topic}u0"])
        yield "never-met"
        for _ in range(3):
            yield EquationToken(f"t{topic}new", [f"t{topic}u1", f"t{topic}u2"])
            for index in range(12):
                yield word(topic, index)

    for topic in range(TOPICS):
        yield f"new{topic}", "", stream(topic)


def nearest_topics(vectors: Any, known: Any, keys: list[str]) -> list[int]:
    """The topic of the nearest known vector, directions centred."""
    centre = known.mean(axis=0)
    unit = [
        x / np.linalg.norm(x, axis=1, keepdims=True) for x in (vectors - centre, known - centre)
    ]
    return [topic_of(keys[int(row)]) for row in (unit[0] @ unit[1].T).argmax(axis=1)]


def test_new_articles_in_old_words(corpus: Corpus) -> None:
    """Words, types and units keep their numbers; what was never met is dropped or comes after."""
    new = corpus.encode(articles())
    assert new.words == corpus.words
    assert new.forms[: len(corpus.forms)] == corpus.forms
    assert new.forms[len(corpus.forms) :] == [f"t{topic}new" for topic in range(TOPICS)]
    assert new.units == corpus.units
    assert len(new.tokens) == TOPICS * 48
    assert new.words[new.tokens[0]] == word(0, 0)
    assert new.forms[new.equation_types[0]] == form(0, 0)
    assert new.equation_positions[:2].tolist() == [12, 12]


def test_an_equation_among_words(corpus: Corpus, split: Split) -> None:
    """Its vectors are near those of its topic, the same each time, and nothing else moves."""
    model = EqEmb(**SMALL, **NEAR).fit(corpus, split).embeddings_
    before = model.sha256
    new = corpus.encode(articles())
    found = among_words(model, corpus, new, split=split)
    assert found.forms == [f"t{topic}new" for topic in range(TOPICS)]
    for side, made in (("alpha", found.alpha), ("rho", found.rho)):
        known = np.array(model.arrays[f"{side}_equations"])
        assert nearest_topics(made, known, corpus.forms) == list(range(TOPICS))
    again = among_words(model, corpus, new, split=split, threads=2)
    assert np.array_equal(found.alpha, again.alpha)
    assert np.array_equal(found.rho, again.rho)
    assert model.sha256 == before


def test_a_bare_equation_is_the_mean_of_its_units(corpus: Corpus, split: Split) -> None:
    """An equation that was there gets the vectors it has."""
    model = EqEmbU(**SMALL, **NEAR).fit(corpus, split).embeddings_
    starts, ids = corpus.unit_starts, corpus.unit_ids
    units = [[corpus.units[u] for u in ids[starts[t] : starts[t + 1]]] for t in range(3)]
    found = bare(model, units)
    np.testing.assert_allclose(found.alpha, model.arrays["alpha_equations"][:3], rtol=1e-6)
    np.testing.assert_allclose(found.rho, model.arrays["rho_equations"][:3], rtol=1e-6)
    assert found.known == sum(map(len, units))
    text = among_words(model, corpus, corpus.encode(articles()), split=split)
    alpha = np.array(model.arrays["alpha_equations"])
    assert nearest_topics(text.alpha, alpha, corpus.forms) == list(range(TOPICS))


def test_a_bare_equation_of_units_and_types(corpus: Corpus, split: Split) -> None:
    """EqEmb-H without a part of its own: units' mean and types' mean, as in training."""
    model = EqEmbH(**SMALL, **NEAR, own_weight=0.0).fit(corpus, split).embeddings_
    starts, ids = corpus.unit_starts, corpus.unit_ids
    units = [[corpus.units[u] for u in ids[starts[t] : starts[t + 1]]] for t in range(3)]
    found = bare(model, units)
    np.testing.assert_allclose(found.alpha, model.arrays["alpha_equations"][:3], rtol=1e-5)


def test_a_unit_never_met_backs_off_to_its_type() -> None:
    """A new variable is the mean of variables; a type never met is counted and left out."""
    units = ["V!x\t=\tn", "V!y\t=\tn", "=\tN!2\tn"]
    formula = [EquationToken(f"e{i}", [unit]) for i, unit in enumerate(units)] * 4

    def stream() -> Iterator[str | EquationToken]:
        for index, equation in enumerate(formula):
            yield from (word(index % 2, i) for i in range(4))
            yield equation

    made = Corpus.build([("a", "", stream())], ALL)
    model = EqEmbU(**SMALL, **NEAR).fit(made).embeddings_
    assert unit_type("V!z\tN!3\ta") == "V!\tN!\ta"
    found = bare(model, [["V!z\t=\tn"], ["V!x\t=\tn", "∑\t∏\tn"], ["∑\t∏\tn"]])
    rows = [model.view("units").key_to_index[unit] for unit in units[:2]]
    np.testing.assert_allclose(
        found.alpha[0], model.arrays["alpha_units"][rows].mean(axis=0), rtol=1e-5
    )
    assert (found.known, found.backed_off, found.unknown) == (1, 1, 2)
    assert not found.alpha[2].any()


def test_models_without_equations_are_refused(corpus: Corpus) -> None:
    """In a sentence."""
    model = BernoulliEmbeddings(**SMALL).fit(corpus).embeddings_
    with pytest.raises(UsageError, match="no units"):
        bare(model, [["a"]])
    with pytest.raises(UsageError, match="cannot fold in equations"):
        among_words(model, corpus, corpus.encode(articles()))
