"""Attack the reader of LaTeX: no source may cost more than its size deserves."""

from collections.abc import Callable
from functools import partial

import pytest

from campaigns import FULL, sample
from eqemb.article import Article
from eqemb.library.rows import DOUBTS, is_loss
from latex_attacks import BOMBS, GROWING, PLACES, commands, pieces
from latex_paper import document, read_files
from timing import assert_linear, assert_quick


@pytest.mark.parametrize("name", sample(sorted(GROWING), 16))
def test_time_grows_with_the_size_of_a_source(name: str) -> None:
    """Openings that never close, and whatever else could be searched for again and again."""
    count, make = GROWING[name]
    count *= 4 if FULL else 1
    assert_linear(make, read_files, (count, 2 * count, 4 * count))


@pytest.mark.parametrize("name", sample(sorted(BOMBS), 6))
def test_sources_that_expand_to_much_end_with_a_cause(name: str) -> None:
    """A budget of work stops them, and the report says which."""
    files, causes = BOMBS[name]
    found: list[Article] = []
    assert_quick(lambda: found.append(read_files(files)), 12)
    reported = {problem.cause for problem in found[-1].problems}
    assert reported & causes
    assert any(is_loss(cause) or cause in DOUBTS for cause in reported) or name == "chain of tags"


@pytest.mark.parametrize("command", sample(commands(), 1))
def test_repeated_commands_take_linear_time(
    command: str, record_property: Callable[[str, object], None]
) -> None:
    """Every command that the reader knows, with anything after it, thousands of times."""
    cases = sample(pieces(command), 5)
    record_property("cases", len(cases))
    for piece, place in cases:
        assert_linear(piece.__mul__, partial(_read_at, place), (250, 1_000))


def _read_at(place: str, text: str) -> Article:
    return read_files(PLACES[place](text))


def test_a_sentence_is_not_stored_with_each_of_very_many_equations() -> None:
    """From a limit on, the text around an equation is short; the report says how often."""
    article = read_files({"main.tex": document(r"\[x\] words " * 2_000)})
    contexts = [len(equation.context) for equation in article.equations]
    assert len(contexts) == 2_000
    assert sum(contexts) < 2_000_000
    assert contexts[0] > 1_000 > contexts[-1] > 100
    (problem,) = article.problems
    assert problem.cause == "context budget"
    assert problem.detail.endswith(" contexts shortened")
