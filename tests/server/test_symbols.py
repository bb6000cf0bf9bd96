"""Symbols over HTTP and for agents: answers, limits on text, and marked formulas."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from eqemb.facade.library import Library
from eqemb.formula import layout
from eqemb.formula.html import page_mathml
from eqemb.server import schemas
from eqemb.server.queries import MissingError
from eqemb.server.service import Service
from server.clients import make_client
from symbol_papers import make_symbol_library


@pytest.fixture(scope="module")
def defined(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of papers that define their symbols."""
    with make_symbol_library(tmp_path_factory.mktemp("defined")) as made:
        return made.folder


@pytest.fixture(scope="module")
def client(defined: Path) -> Iterator[TestClient]:
    """A client of this library."""
    with make_client(defined) as made:
        yield made


@pytest.fixture(scope="module")
def service(defined: Path) -> Iterator[Service]:
    """The service of this library."""
    with Library.open(defined) as library:
        yield Service(library)


def asked(client: TestClient, url: str, schema: type[schemas.Schema]) -> Any:
    """The answer of the API, checked against its schema."""
    response = client.get(url)
    assert response.status_code == 200, response.text
    schema.model_validate(response.json())
    return response.json()


def by_text(symbols: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Symbols by their Unicode text."""
    return {one["text"]: one for one in symbols}


def numbers(mathml: str) -> dict[str, set[int]]:
    """The numbers of the marked elements of a formula, by their text."""
    found: dict[str, set[int]] = {}
    for number, text in re.findall(r'data-symbol="(\d+)"[^>]*>([^<]*)<', mathml):
        found.setdefault(text, set()).add(int(number))
    return found


# ------------------------------------------------------------ the API


def test_the_symbols_of_an_equation(client: TestClient, service: Service) -> None:
    """The same as in Python, with MathML."""
    found = asked(client, "/v1/symbols?equation=descent%231", schemas.SymbolsSchema)
    symbols = by_text(found["symbols"])
    assert found["equation"] == "descent#1"
    assert symbols["η"]["definition"] == "learning rate"
    assert symbols["η"]["conflicts"][0]["definition"] == "noise level of a measurement"
    assert symbols["wₜ"]["definition"] is None
    assert "<mi>η</mi>" in symbols["η"]["mathml"]
    told = service.library.symbols("descent#1").to_json()["symbols"]
    assert [one | {"mathml": ""} for one in told] == [
        one | {"mathml": ""} for one in found["symbols"]
    ]


def test_equation_and_description_have_them_too(client: TestClient) -> None:
    """One list, wherever an equation of the library is asked for."""
    found = asked(client, "/v1/symbols?equation=descent%231", schemas.SymbolsSchema)
    one = asked(client, "/v1/equations/descent%231", schemas.EquationDetailsSchema)
    told = asked(client, "/v1/describe?equation=descent%231", schemas.DescriptionSchema)
    typed = asked(client, "/v1/describe?equation=%24x%3Dy%24", schemas.DescriptionSchema)
    assert one["symbols"] == told["symbols"] == found["symbols"]
    assert typed["symbols"] == []


def test_marked_formulas_say_which_symbol(client: TestClient) -> None:
    """An element has the position of its symbol; what is not defined is not marked."""
    found = asked(client, "/v1/symbols?equation=descent%231", schemas.SymbolsSchema)
    marks = numbers(found["mathml"])
    texts = [one["text"] for one in found["symbols"]]
    assert marks == {"η": {texts.index("η")}, "L": {texts.index("L")}}
    latex = r"w_{t+1} = w_t - \eta \nabla L(w_t),"
    plain = page_mathml(layout(latex).to_mathml())
    assert re.sub(r' data-symbol="\d+"', "", found["mathml"]) == plain


def test_the_glossary_of_an_article(client: TestClient) -> None:
    """Symbols with places."""
    found = asked(client, "/v1/glossary?article=descent", schemas.GlossarySchema)
    assert [entry["text"] for entry in found["entries"]] == ["L", "x", "y", "η"]
    assert found["entries"][3]["meanings"][1]["equation"] == "descent#2"


def test_notation(client: TestClient) -> None:
    """By words and by symbol; examples name equations."""
    found = asked(client, "/v1/notation?q=learning+rate", schemas.NotationSchema)
    assert found["lines"][0]["text"] == "η"
    assert found["lines"][0]["articles"] == 2
    examples = {one["article"]: one["equation"] for one in found["lines"][0]["examples"]}
    assert examples["descent"] == "descent#1"
    found = asked(client, "/v1/notation?q=%24%5Ceta%24&count=1", schemas.NotationSchema)
    assert found["is_symbol"] is True
    assert [line["meaning"] for line in found["lines"]] == ["learning rate"]


@pytest.mark.parametrize(
    ("url", "status", "message"),
    [
        ("/v1/symbols?equation=nowhere%231", 404, "no article 'nowhere'"),
        ("/v1/symbols?equation=descent%2399", 404, "has no equation #99"),
        ("/v1/symbols?equation=x%3Dy", 404, "is not the name of an equation"),
        ("/v1/glossary?article=nowhere", 404, "no article 'nowhere'"),
        ("/v1/notation?q=%24a%2Bb%24", 400, "takes words or one symbol"),
        ("/v1/notation?q=+", 400, "the query is empty"),
        ("/v1/notation", 422, "q: field required"),
    ],
)
def test_mistakes_have_one_sentence(
    client: TestClient, url: str, status: int, message: str
) -> None:
    """And the status that says whose they are."""
    response = client.get(url)
    assert response.status_code == status
    assert message in response.json()["error"]


@pytest.mark.parametrize("snippets", ["short", "none"])
def test_no_more_text_than_allowed(defined: Path, snippets: str) -> None:
    """`short` shows phrases without sentences, `none` nothing."""
    with make_client(defined, snippets=snippets) as client:
        found = client.get("/v1/symbols?equation=descent%231").json()
        one = client.get("/v1/equations/descent%231").json()
        glossary = client.get("/v1/glossary?article=descent").json()
        notation = client.get("/v1/notation?q=learning+rate").json()
    said = str([found, one["symbols"], glossary, notation])
    assert "denotes the loss" not in said
    assert ("loss function" in said) is (snippets == "short")
    assert bool(found["symbols"]) is (snippets == "short")
    assert bool(notation["lines"]) is (snippets == "short")
    assert ("data-symbol" in found["mathml"]) is (snippets == "short")


# ------------------------------------------------------------ for pages


def test_the_formulas_of_a_paragraph(service: Service) -> None:
    """Every formula of the text, its symbols numbered over the whole paragraph."""
    found = service.symbols.where_paragraph("descent", 3)
    assert [numbers(one) for one in found["formulas"]] == [{"η": {0}}, {"η": {0}}, {"L": {1}}]
    told = ["".join(piece["text"] for piece in one["definition"]) for one in found["symbols"]]
    assert told == ["learning rate", "loss function"]


def test_a_symbol_means_what_its_section_says(service: Service) -> None:
    """The same letter, another paragraph."""
    (symbol, other) = service.symbols.where_paragraph("descent", 5)["symbols"]
    assert symbol["definition"] == [{"kind": "text", "text": "noise level of a measurement"}]
    assert symbol["others"] == [[{"kind": "text", "text": "learning rate"}]]
    assert other["type"].startswith("<math")


def test_a_paragraph_without_formulas(service: Service) -> None:
    """Has none, and one that does not exist says so."""
    assert service.symbols.where_paragraph("descent", 0)["formulas"] == []
    with pytest.raises(MissingError, match="has 7 paragraphs, not 99"):
        service.symbols.where_paragraph("descent", 99)


def test_the_where_list_of_an_equation(service: Service) -> None:
    """Numbers are those of the marks; symbols without a definition are listed apart."""
    found = service.symbols.where_named("descent#1")
    marks = numbers(found["formulas"][0])
    assert {one["number"] for one in found["symbols"]} == set().union(*marks.values())
    assert len(found["undefined"]) == 2
    sentence = "".join(piece["text"] for piece in found["symbols"][0]["sentence"])
    assert sentence.startswith("Gradient descent moves the weights by [equation]")
