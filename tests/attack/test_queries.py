"""Whole queries, up to the longest that are allowed: each is answered, or refused, in no time."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from axes import make_library
from campaigns import FULL, sample
from eqemb.errors import EqembError, UsageError
from eqemb.facade.library import Library
from eqemb.server.exports import export_equations, export_results
from eqemb.server.queries import MAX_QUERY_LENGTH, check_query
from eqemb.server.service import Page, Service
from eqemb.server.views.panels import show_panel
from few_articles import DEMO
from query_attacks import QUERIES, WORDS
from synthetic import read_inline
from timing import assert_linear, assert_quick

#: CPU seconds that the answer to a query may take.
LIMIT = 0.5
EQUATION = "angles#1"
Question = Callable[[Service, str], object]
#: Everything that can be asked with a query.
QUESTIONS: dict[str, Question] = {
    "search": lambda service, query: service.search(query, Page(), for_page=True),
    "search by words": lambda service, query: service.search(query, Page(), by="words"),
    "search by meaning": lambda service, query: service.search(query, Page(), by="meaning"),
    "search by structure": lambda service, query: service.search(query, Page(), by="structure"),
    "search by paper": lambda service, query: service.search(query, Page(), by="paper"),
    "similar": lambda service, query: service.similar(query, Page(), for_page=True),
    "describe": lambda service, query: service.describe(query),
    "symbols": lambda service, query: service.symbols.equation(query),
    "notation": lambda service, query: service.symbols.notation(query, 20, for_page=True),
    "words": lambda service, query: service.words(query),
    "suggest": lambda service, query: service.suggest(query[:100]),
    "render": lambda service, query: service.render(query),
    "why": lambda service, query: service.why(query, EQUATION),
    "why of both": lambda service, query: service.why(query, query),
    "map hits": lambda service, query: service.library.search(query, 60),
    "export": lambda service, query: export_results(service, "bib", query),
    "equation": lambda service, query: service.equation(query),
    "article": lambda service, query: service.article(query),
    "articles": lambda service, query: service.articles(Page(), words=query[:200]),
    "has": lambda service, query: service.search("cosine", Page(), has=[query[:200]] * 5),
    "section": lambda service, query: service.search("cosine", Page(), section=query[:200]),
    "panel": lambda service, query: show_panel(service, "similar", query, None),
}
#: Both formulas of a comparison grow: its time grows with the product, up to the limit of symbols.
QUADRATIC = "why of both"
#: A file of all answers takes the longer, the more there are: a long query may have more.
GROWING = QUESTIONS | {
    "export": lambda service, query: export_results(service, "bib", query, count=1)
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A library of a few equations; in a full run, that of the demo."""
    with pytest.MonkeyPatch.context() as patch:
        read_inline(patch)
        place = tmp_path_factory.mktemp("queries")
        made = (
            Library.read([DEMO], place / "library", jobs=1, index=True)
            if FULL
            else make_library(place)
        )
        with made:
            yield Service(made)


@pytest.fixture(scope="module")
def queries(service: Service) -> dict[str, Callable[[int], str]]:
    """All queries by name; those of words have the words of the library."""
    known = [word for word, _, _ in service.library.engine.text.vocabulary()]
    words = [word for word in known if word.isalpha() and len(word) > 3][:400]
    return QUERIES | {name: make(words) for name, make in WORDS.items()}


def ask(question: Question, service: Service, query: str) -> bool:
    """Ask; return whether there is an answer: a query may be refused with a sentence."""
    try:
        question(service, query)
    except EqembError as error:
        assert str(error)  # noqa: PT017
        return False
    return True


@pytest.mark.parametrize("name", sample(sorted(QUESTIONS), 4))
def test_a_long_query_is_answered_quickly(
    service: Service, queries: Any, name: str, record_property: Any
) -> None:
    """At the limit of length, by every question; nothing but our own errors comes out."""
    chosen = sample(sorted(queries), 6)
    record_property("cases", len(chosen))
    ask(QUESTIONS[name], service, "cosine $x$")  # loads what is loaded once
    for attack in chosen:
        query = queries[attack](MAX_QUERY_LENGTH)[:MAX_QUERY_LENGTH]
        assert_quick(partial(ask, QUESTIONS[name], service, query), LIMIT, f"{name}: {attack}")


@pytest.mark.parametrize("name", sample(sorted({*QUESTIONS} - {QUADRATIC}), 1))
def test_time_grows_with_the_length(
    service: Service, queries: Any, name: str, record_property: Any
) -> None:
    """A query four times as long takes less than eight times as long.

    Queries that are refused when short (nothing matches), but answered when long, are left out.
    """
    chosen = sample(sorted(queries), 2)
    record_property("cases", len(chosen))
    sizes = (MAX_QUERY_LENGTH // 4, MAX_QUERY_LENGTH)
    for attack in chosen:
        short, long = (ask(GROWING[name], service, queries[attack](size)) for size in sizes)
        if short or not long:
            assert_linear(queries[attack], partial(ask, GROWING[name], service), sizes)


@pytest.mark.parametrize("size", [MAX_QUERY_LENGTH + 1, 32_000])
def test_longer_queries_are_refused(queries: Any, size: int, record_property: Any) -> None:
    """Before anything reads them, in one sentence."""
    chosen = sample(sorted(queries), 10)
    long = [made for name in chosen if len(made := queries[name](size + 500)) > size]
    record_property("cases", len(long))
    assert len(long) > len(chosen) // 2
    for query in long:
        with pytest.raises(UsageError, match="at most 2,000 are allowed"):
            check_query(query)


def test_queries_are_as_long_as_they_say(queries: Any) -> None:
    """An attack that shrinks attacks nothing."""
    for name, make in queries.items():
        assert len(make(MAX_QUERY_LENGTH)) > MAX_QUERY_LENGTH * 0.8, name


def test_the_limit_would_notice(service: Service) -> None:
    """A question that repeats its work for each character is too slow."""
    with pytest.raises(AssertionError, match="CPU seconds"):
        assert_quick(lambda: [service.render(f"x^{n}") for n in range(500)], LIMIT / 50)


def test_many_filters_are_refused(service: Service) -> None:
    """A URL has room for thousands."""
    names = [f"angles#{number}" for number in range(2_000)]
    with pytest.raises(UsageError, match="at most 200"):
        export_equations(service, "csv", names)


def test_the_paths_of_a_name_are_not_read(service: Service, tmp_path: Path) -> None:
    """A name is looked up in the library, never on the disk."""
    (tmp_path / "secret.tex").write_text("secret")
    for name in (str(tmp_path / "secret"), f"../../{tmp_path}/secret#1", "/etc/passwd"):
        with pytest.raises(EqembError):
            service.equation(name)
