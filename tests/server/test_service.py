"""The service: validation of queries, parts of articles, and how much text is shown."""

import json
import sys
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from eqemb.article import EQUATION_MARK
from eqemb.errors import UsageError
from eqemb.facade.library import Library
from eqemb.search.snippets import WordMatcher, around_equation, around_word, pieces
from eqemb.server.app import make_app
from eqemb.server.article_text import window_of, windows
from eqemb.server.cache import LRUCache
from eqemb.server.queries import check_query, single_formula
from eqemb.server.service import Page, Service, encode_json
from eqemb.server.snippets import PageRenderer
from server.clients import ENDPOINTS, PAGES, make_client
from synthetic import paper

# ------------------------------------------------------------ queries


def test_queries_are_bounded() -> None:
    """In length and in depth."""
    assert check_query("{[(x)]}") == "{[(x)]}"
    for query in (" ", "x" * 2001, "(" * 41):
        with pytest.raises(UsageError):
            check_query(query)
    assert Page(3, 10).last == 30


@pytest.mark.parametrize(
    ("query", "latex"),
    [
        ("cosine similarity", None),
        ("loss + penalty", None),
        ("angles#1", None),
        ("$x$", "x"),
        (r"\frac{a}{b}", r"\frac{a}{b}"),
        ("a + b = c", "a + b = c"),
        ("$x$ -cosine", None),
        ("$a$ $b$", None),
    ],
)
def test_single_formulas_are_recognised(query: str, latex: str | None) -> None:
    """Words with a plus sign are not a formula."""
    assert single_formula(query) == latex


# ------------------------------------------------------------ text


def test_text_is_split_into_pieces() -> None:
    """Words, mathematics and the position of the equation."""
    made = pieces("The norm $x$ of [equation] is", WordMatcher(["norm"]))
    assert [piece["kind"] for piece in made] == [
        *("text", "mark", "text", "math", "text", "equation", "text")
    ]
    assert "".join(piece["text"] for piece in made) == "The norm x of [equation] is"


def test_text_is_shortened_around_an_equation_or_a_word() -> None:
    """Whole words, with an ellipsis for omitted text."""
    assert around_equation("a b c [equation] d e f", 2) == "… b c [equation] d e …"
    assert around_equation("a b [equation]", 0) == ""
    assert around_word("one two three four five six", "fours", 1) == "… three four five …"


WORDS_AND_MARKS = st.lists(
    st.sampled_from(["the", "Norm", "of", "x-y", EQUATION_MARK, "$a$", f"${EQUATION_MARK}$", "$",
                     "\n", "\n\n"]),
    max_size=40,
)  # fmt: skip


@given(WORDS_AND_MARKS, st.integers(0, 6))
def test_the_window_of_one_equation_is_that_among_all(words: list[str], size: int) -> None:
    """Read from a few paragraphs, or from the whole article."""
    text = " ".join(words)
    every = windows(text, size, lambda word: word != "of").words
    for ordinal in range(1, len(every) + 2):
        found = window_of(text, ordinal, size, lambda word: word != "of")
        assert found == (every.get(ordinal, []), len(every))


def test_long_articles_are_split_into_parts(tmp_path: Path) -> None:
    """Every equation is in one part, and its part is found."""
    body = "\n\n".join(rf"Here is number {n}. \[ x_{{{n}}} = {n} \]" for n in range(90))
    (tmp_path / "long.tex").write_text(
        rf"\documentclass{{article}}\begin{{document}}{body}\end{{document}}"
    )
    with Library.read([tmp_path / "long.tex"], tmp_path / "library", jobs=1, index=True) as made:
        service = Service(made)
        first = service.article("long")
        parts = [service.article("long", number) for number in range(1, first["parts"] + 1)]
        ordinals = [
            b["equation"]["ordinal"] for p in parts for b in p["blocks"] if b["kind"] == "equation"
        ]
        assert first["parts"] > 1
        assert ordinals == list(range(1, 91))
        assert service.article("long", equation=90)["part"] == first["parts"]


def test_lone_surrogates_are_encoded() -> None:
    """An answer is valid JSON whatever a paper contains."""
    assert json.loads(encode_json({"a": "é\ud800"})) == {"a": "é\ud800"}


# ------------------------------------------------------------ how much text is shown


def test_short_snippets_show_few_words(folder: Path) -> None:
    """Twelve words on each side of an equation, and no other text."""
    with make_client(folder, snippets="short") as short:
        hit = short.get("/v1/search?q=cosine").json()["hits"][0]
        text = " ".join(p["text"] for p in hit["context"] if p["kind"] in ("text", "mark"))
        assert 0 < len(text.split()) <= 26
        found = short.get("/v1/articles/angles").json()
        assert [block["kind"] for block in found["blocks"]] == ["paragraph", "equation"]
        assert sum(len(p["text"].split()) for p in found["blocks"][0]["pieces"]) <= 28


def test_short_snippets_hide_distant_text(tmp_path: Path) -> None:
    """No URL shows text more than twelve words away from an equation."""
    far = "and so on " * 10
    (tmp_path / "long.tex").write_text(
        paper(
            rf"Secrets of entropy stand here. {far} The entropy of a source is"
            rf"\begin{{equation}}\label{{h}} H = -p \log p \end{{equation}} which is finite. {far}"
            r"Whoever compares entropy by \eqref{h} hides something."
        )
    )
    Library.read([tmp_path / "long.tex"], tmp_path / "library", jobs=1, index=True).close()
    urls = [
        "/v1/search?q=entropy",
        "/v1/similar?equation=long%231",
        "/v1/describe?equation=long%231",
        "/v1/why?query=entropy&equation=long%231",
        "/v1/equations/long%231",
        "/v1/articles/long",
        "/equation?name=long%231",
        "/articles/long?equation=1",
        "/?q=entropy",
        "/report",
    ]

    def revealing(snippets: str) -> list[str]:
        with make_client(tmp_path / "library", snippets=snippets) as client:
            texts = {url: client.get(url).text for url in urls}
        return [url for url, text in texts.items() if "Secrets of" in text or "hides some" in text]

    assert set(urls[2:8:2]) <= set(revealing("full"))
    assert revealing("short") == []


def test_snippets_can_be_turned_off(folder: Path) -> None:
    """Only equations, titles and section titles are shown."""
    with make_client(folder, snippets="none") as none:
        for url in (*ENDPOINTS, *PAGES):
            assert "measures their" not in none.get(url).text, url
        hit = none.get("/v1/search?q=cosine").json()["hits"][0]
        assert (hit["context"], hit["context_text"]) == ([], "")
        assert none.get("/v1/describe?equation=angles%231").json()["words"][0]["sentence"] == []
        assert none.get("/v1/equations/angles%231").json()["references"] == []


def test_an_unknown_snippets_setting_is_rejected(folder: Path) -> None:
    """The message lists the settings."""
    with pytest.raises(UsageError, match="full, short, none"):
        make_app(folder, snippets="some")


# ------------------------------------------------------------ caches


def test_the_cache_evicts_the_least_recently_used() -> None:
    """Its limit counts bytes."""
    cache = LRUCache[bytes](16_000)
    for key in "abc":
        cache.put(key, b"x" * 900)
    cache.put("large", b"x" * 1000)
    assert cache.get("large") is None
    assert cache.get("a") == b"x" * 900
    for number in range(15):
        cache.put(str(number), b"y" * 900)
    assert cache.get("b") is None
    assert cache.get("c") is None
    assert cache.get("a") is not None


def test_the_cache_counts_bytes_of_wide_characters() -> None:
    """A character beyond the basic plane takes four bytes."""
    small = LRUCache[str](16_000)
    for number in range(100):
        small.put(str(number), "𝐪" * 100)
    assert small._size <= 16_000
    assert len(small._entries) < 40


def test_formulas_of_queries_are_not_cached(client: TestClient) -> None:
    """A short query can become long MathML."""
    latex = r"\mathbf{q}" + "|x" * 900
    renderer = PageRenderer()
    assert sys.getsizeof(renderer.mathml(latex)) > 250_000
    before = renderer.cache._size
    for number in range(2):
        assert client.get(f"/v1/render?q=${latex}{number}$").status_code == 200
        assert client.get(f"/v1/search?q=${latex}{number}$").status_code == 200
    assert renderer.cache._size - before < 100_000
