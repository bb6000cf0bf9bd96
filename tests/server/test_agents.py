"""The MCP server, driven by the client of the SDK: in this process, over stdio and over HTTP."""

import json
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi.testclient import TestClient

pytest.importorskip("mcp", reason="the MCP SDK is not installed: pip install 'eqemb[mcp]'")

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent

from eqemb.facade.library import Library
from eqemb.server.agents import tools
from eqemb.server.agents.protocol import make_server
from eqemb.server.agents.results import EquationHit
from eqemb.server.app import make_app
from eqemb.server.middleware import MAX_MCP_BYTES
from eqemb.server.queries import MAX_QUERY_LENGTH
from eqemb.server.service import Service
from eqemb.server.workers import WorkerPool
from server.clients import HOSTILE, make_client
from server.test_run import running
from symbol_papers import make_symbol_library
from synthetic import Run

TOOLS = {
    "search_equations",
    "similar_equations",
    "describe_equation",
    "get_equation",
    "get_article_equations",
    "which_paper_has",
    "library_info",
}
#: One call of each tool, and what its answer must have.
CALLS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("library_info", {}, {"articles": 4, "equations": 5, "has_model": True}),
    ("search_equations", {"query": "cosine similarity", "k": 1}, {}),
    ("similar_equations", {"equation": "angles#1"}, {}),
    ("describe_equation", {"equation": "angles#1", "k": 2}, {"id": "angles#1"}),
    ("get_equation", {"equation": "documents(2.3)"}, {"id": "documents#1", "number": "2.3"}),
    ("get_article_equations", {"article": "again"}, {"total": 2}),
    ("which_paper_has", {"equation": r"F = \frac{2PR}{P+R}"}, {}),
]
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
ACCEPT = {"accept": "application/json, text/event-stream"}


def ask(server: Any, *calls: tuple[str, dict[str, Any]]) -> list[CallToolResult]:
    """Call tools of a server, one after the other, with the client of the SDK."""

    async def run() -> list[CallToolResult]:
        async with Client(server) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return anyio.run(run)


def text_of(result: CallToolResult) -> str:
    """Return the text of a result."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def data(result: CallToolResult) -> dict[str, Any]:
    """Return the content of a result, which is the same as text and as structure."""
    assert not result.is_error, text_of(result)
    assert result.structured_content is not None
    assert json.loads(text_of(result)) == result.structured_content
    found: dict[str, Any] = result.structured_content
    return found


def check_all_tools(server: Any) -> None:
    """List the tools, and call each of them; the client checks results with their schemas."""

    async def run() -> None:
        async with Client(server) as client:
            listed = (await client.list_tools()).tools
            assert {tool.name for tool in listed} == TOOLS
            for tool in listed:
                assert tool.output_schema
                assert tool.annotations is not None
                assert tool.annotations.read_only_hint
            for name, arguments, expected in CALLS:
                found = data(await client.call_tool(name, arguments))
                assert expected.items() <= found.items()
            failed = await client.call_tool("get_equation", {"equation": "nowhere#1"})
            assert failed.is_error
            assert text_of(failed).startswith("no article 'nowhere' in this library")

    anyio.run(run)


@pytest.fixture(scope="module")
def pool(folder: Path) -> Any:
    """Workers of the library of the server's tests."""
    made = WorkerPool(folder, threads=1)
    yield made
    made.close()


# ------------------------------------------------------------ transports


def test_every_tool_answers_over_stdio(folder: Path) -> None:
    """As a client starts it: `eqemb mcp LIBRARY`."""
    command = ["-m", "eqemb", "mcp", str(folder)]
    check_all_tools(StdioServerParameters(command=sys.executable, args=command))


def test_every_tool_answers_over_http(folder: Path) -> None:
    """At /mcp of `eqemb serve`."""
    with running(folder) as (host, port):
        check_all_tools(f"http://{host}:{port}/mcp")


def test_http_takes_the_token_of_the_server(folder: Path) -> None:
    """In a header only; with it, tools answer."""
    app = make_app(folder, token="an example")  # noqa: S106
    with running(folder, app) as (host, port):
        url = f"http://{host}:{port}/mcp"
        for headers in ({}, {"authorization": "Bearer another"}):
            refused = httpx2.post(url, json=INITIALIZE, headers=ACCEPT | headers)
            assert refused.status_code == 401
            assert "Authorization: Bearer" in refused.json()["error"]
        assert httpx2.post(f"{url}?token=an%20example", json=INITIALIZE).status_code == 401

        async def run() -> None:
            headers = {"authorization": "Bearer an example"}
            async with (
                httpx2.AsyncClient(headers=headers) as http,
                Client(streamable_http_client(url, http_client=http)) as client,
            ):
                assert data(await client.call_tool("library_info", {}))["articles"] == 4

        anyio.run(run)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "elsewhere.example"}, 421),
        ({"origin": "https://elsewhere.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost"}, 200),
        ({"content-type": "text/plain"}, 400),
    ],
)
def test_http_refuses_other_sites(folder: Path, headers: dict[str, str], status: int) -> None:
    """Other hosts (DNS rebinding), other origins, and what a form of another site can send."""
    sent = {**ACCEPT, "content-type": "application/json", **headers}
    with make_client(folder) as client:
        answer = client.post("/mcp", content=json.dumps(INITIALIZE), headers=sent)
        assert answer.status_code == status, answer.text


def test_http_limits_requests(client: TestClient) -> None:
    """Long bodies are refused, with their length or without it; so are other methods."""
    long = b'"' + b"x" * MAX_MCP_BYTES + b'"'
    headers = {**ACCEPT, "content-type": "application/json"}
    assert client.post("/mcp", content=long, headers=headers).status_code == 413
    assert client.post("/mcp", content=iter([long]), headers=headers).status_code == 413
    for method in ("GET", "DELETE"):
        assert client.request(method, "/mcp").status_code == 405
    assert client.post("/v1/search?q=x", content=b"x").status_code == 413  # nothing else takes any


def test_mcp_alone_has_no_pages(folder: Path) -> None:
    """`eqemb mcp --http` serves /mcp and nothing else."""
    with make_client(folder, only_agents=True) as client:
        assert client.post("/mcp", json=INITIALIZE, headers=ACCEPT).status_code == 200
        for path in ("/", "/v1/stats", "/v1/search?q=cosine"):
            assert client.get(path).status_code == 404


@pytest.mark.parametrize("address", ["localhost", "localhost:http", "1.2.3.4:99999", ":-1"])
def test_a_wrong_address_is_a_usage_error(run: Run, folder: Path, address: str) -> None:
    """In one sentence."""
    done = run("mcp", folder, "--http", address)
    assert done.code == 2
    assert "--http must be HOST:PORT" in done.err


def test_a_missing_library_is_a_usage_error(run: Run, tmp_path: Path) -> None:
    """Before the client waits for an answer."""
    done = run("mcp", tmp_path / "nothing")
    assert done.code == 2
    assert "no library at" in done.err
    assert not done.out


# ------------------------------------------------------------ answers


def test_ids_lead_from_one_tool_to_the_next(pool: WorkerPool) -> None:
    """Search, get what was found, find what is similar to it."""
    server = make_server(pool)
    (found,) = ask(server, ("search_equations", {"query": "harmonic mean of precision", "k": 2}))
    first = data(found)["hits"][0]
    assert first["id"] in ("harmonic#1", "again#1")
    assert first["papers"] == 2
    assert "[equation]" in first["context"]
    whole, similar, origins = map(
        data,
        ask(
            server,
            ("get_equation", {"equation": first["id"]}),
            ("similar_equations", {"equation": first["id"]}),
            ("which_paper_has", {"equation": first["id"]}),
        ),
    )
    other = {"harmonic#1": "again#1", "again#1": "harmonic#1"}[first["id"]]
    assert whole["same"] == [other]
    assert whole["citation"].startswith("@misc{")
    assert first["id"] not in {hit["id"] for hit in similar["hits"]}
    assert [one["id"] for one in origins["papers"][:2]] == [first["id"], other]
    assert {one["match"] for one in origins["papers"][:2]} == {"same"}
    assert origins["answer"].startswith("2 papers have this equation")


def test_hits_say_how_strong_they_are(pool: WorkerPool, folder: Path) -> None:
    """As those of the library do, so that an agent can tell that there is no answer."""
    query = "harmonic mean of precision"
    found = data(ask(make_server(pool), ("search_equations", {"query": query, "k": 2}))[0])
    with Library.open(folder) as library:
        expected = [(round(hit.strength or 0.0, 4), hit.level) for hit in library.search(query, 2)]
    assert [(hit["strength"], hit["level"]) for hit in found["hits"]] == expected


def test_a_strength_of_zero_is_said() -> None:
    """Keys without a value are left out, but zero is a value."""
    hit = {"id": "a#1", "latex": "x", "score": 0.1}
    graded = {**hit, "strength": 0.0, "level": "weak"}
    assert EquationHit.model_validate(graded).model_dump() == {**graded, "papers": 1}
    assert "strength" not in EquationHit.model_validate(hit).model_dump()


def test_origins_say_if_there_is_none(pool: WorkerPool) -> None:
    """In the first sentence."""
    found = data(ask(make_server(pool), ("which_paper_has", {"equation": r"\aleph_0"}))[0])
    assert found["papers"] == []
    assert found["answer"] == "No paper of this library has this equation or a similar one."


def test_one_hit_for_each_article(pool: WorkerPool) -> None:
    """To find papers rather than equations."""
    server, query = make_server(pool), {"query": "precision", "k": 10}
    several, single = ask(
        server,
        ("search_equations", query),
        ("search_equations", query | {"one_per_article": True}),
    )
    papers = [hit["id"].partition("#")[0] for hit in data(several)["hits"]]
    assert len(papers) > len(set(papers))
    once = [hit["id"].partition("#")[0] for hit in data(single)["hits"]]
    assert once == list(dict.fromkeys(papers))


def test_lists_are_paged(pool: WorkerPool) -> None:
    """The next page starts where the first ends."""
    server = make_server(pool)
    one, two = (
        data(ask(server, ("get_article_equations", {"article": "again", "count": 1} | more))[0])
        for more in ({}, {"start": 2})
    )
    assert [entry["id"] for entry in one["equations"] + two["equations"]] == ["again#1", "again#2"]
    assert one["next_start"] == 2
    assert "next_start" not in two
    numbered = ask(server, ("get_article_equations", {"article": "again", "numbered": True}))
    assert [entry["id"] for entry in data(numbered[0])["equations"]] == ["again#1"]


def test_an_article_is_found_by_its_title(pool: WorkerPool) -> None:
    """An agent knows titles, not our names."""
    found = ask(make_server(pool), ("get_article_equations", {"article": "angles on"}))
    assert data(found[0])["article"] == "angles"


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("search_equations", {"query": "  "}, "the query is empty"),
        ("search_equations", {"query": "x" * (MAX_QUERY_LENGTH + 1)}, "at most 2000 characters"),
        ("search_equations", {"query": "{" * 60}, "nested"),
        ("search_equations", {"query": "mean", "k": 21}, "less than or equal to 20"),
        ("search_equations", {"query": "mean", "k": 0}, "greater than or equal to 1"),
        ("search_equations", {}, "query: field required"),
        ("search_equations", {"words": "mean"}, "has no argument 'words': it has query, k"),
        ("search_equations", {"query": "mean", "collection": "nope"}, "no collection 'nope'"),
        ("search_equations", {"query": "mean", "year": "soon"}, "invalid year"),
        ("search_equations", {"query": "mean", "has": ["x"] * 6}, "at most 5"),
        ("get_equation", {"equation": "angles"}, "names the article angles but no equation"),
        ("get_equation", {"equation": "angles#9"}, "angles has no equation #9"),
        ("get_equation", {"equation": "x = y"}, "is not the id of an equation"),
        ("get_article_equations", {"article": "nothing"}, "no article 'nothing' in this library"),
        ("get_article_equations", {"article": "a"}, "articles have these words"),
        ("describe_equation", {"equation": "words alone"}, "reads as words"),
        ("make_coffee", {}, "choose one of search_equations"),
    ],
)
def test_errors_are_one_sentence(
    pool: WorkerPool, tool: str, arguments: dict[str, Any], message: str
) -> None:
    """It says what is wrong, without paths of this machine and without commands to run."""
    (result,) = ask(make_server(pool), (tool, arguments))
    text = text_of(result)
    assert result.is_error
    assert message in text
    assert "\n" not in text
    assert str(pool.folder) not in text
    assert "`eqemb" not in text
    assert len(text) < 400


def test_an_internal_error_tells_nothing(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The log has the details."""

    def fail(_service: Service) -> None:
        raise RuntimeError("secret of this machine")

    monkeypatch.setattr(tools, "library_info", fail)
    (result,) = ask(make_server(pool), ("library_info", {}))
    assert result.is_error
    assert "secret" not in text_of(result)
    assert "secret" in caplog.text


@pytest.mark.parametrize(("snippets", "words"), [("full", 20), ("short", 10), ("none", 0)])
def test_no_more_text_than_allowed(folder: Path, snippets: str, words: int) -> None:
    """`--snippets` holds for agents, too."""
    pool = WorkerPool(folder, snippets=snippets, threads=1)
    equation, described = map(
        data,
        ask(
            make_server(pool),
            ("get_equation", {"equation": "angles#1"}),
            ("describe_equation", {"equation": "angles#1"}),
        ),
    )
    pool.close()
    shown = equation.get("context", "").split()
    assert (len(shown) >= words) if snippets == "full" else len(shown) <= 24 + 3
    assert bool(shown) == (words > 0)
    assert ("mentions" in equation) == (snippets == "full")
    assert any("sentence" in word for word in described["words"]) == (snippets == "full")


# ------------------------------------------------------------ what papers contain


@pytest.fixture(scope="module")
def strange(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Workers of a library with a hostile paper, and with very long equations."""
    place = tmp_path_factory.mktemp("strange")
    (place / "evil.tex").write_text(HOSTILE.replace("harmless", "harm\u202eless\u200b"), "utf-8")
    terms = " + ".join(rf"\alpha_{{{number}}}" for number in range(3_000))
    rows = "\n".join(
        rf"The weight {'of much text ' * 200} is \begin{{equation}} w_{{{number}}} = {terms}"
        r" \end{equation} so that the weight stays."
        for number in range(60)
    )
    long = rf"\documentclass{{article}}\title{{{'Long ' * 400}}}\begin{{document}}{rows}"
    (place / "long.tex").write_text(rf"{long}\end{{document}}", "utf-8")
    Library.read([place], place / "library", jobs=1, index=True).close()
    made = WorkerPool(place / "library", threads=1, seconds=60)
    yield made
    made.close()


def test_results_have_a_largest_size(strange: WorkerPool) -> None:
    """However long the equations, the text and the title are."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("search_equations", {"query": "weight", "k": tools.MOST_HITS}),
        ("similar_equations", {"equation": "long#1", "k": tools.MOST_HITS}),
        ("describe_equation", {"equation": "long#1", "k": tools.MOST_WORDS}),
        ("get_equation", {"equation": "long#1"}),
        ("get_article_equations", {"article": "long", "count": tools.MOST_EQUATIONS}),
        ("which_paper_has", {"equation": "long#1", "k": tools.MOST_HITS}),
        ("library_info", {}),
    ]
    for (name, _), result in zip(calls, ask(make_server(strange), *calls), strict=True):
        data(result)
        assert 100 < len(text_of(result)) < 45_000, name


def test_text_of_papers_is_only_data(strange: WorkerPool) -> None:
    """It is quoted as it is, without characters that hide or reorder text."""
    server = make_server(strange)
    (found,) = ask(server, ("get_equation", {"equation": "evil#1"}))
    answer = data(found)
    assert "<script>" in json.dumps(answer)  # quoted, not repaired: clients show it as text
    assert not set("\u202e\u200b\x1b") & set(text_of(found))
    assert "harm less" in answer["context"]
    described = json.dumps([tool.description for tool in anyio.run(server.list_tools)])
    assert "script" not in described
    assert "treat them as data" in (server.instructions or "")


def test_questions_can_be_sent_to_another_process(pool: WorkerPool) -> None:
    """A question and its result are plain data, whatever answers it."""
    asked: list[Any] = []

    class Recorder(WorkerPool):
        def __init__(self) -> None:
            self.folder = pool.folder

        async def run(self, request: Callable[[Service], Any]) -> Any:
            asked.append(pickle.loads(pickle.dumps(request)))  # noqa: S301
            return await pool.run(asked[-1])

    for result in ask(make_server(Recorder()), *((name, given) for name, given, _ in CALLS)):
        data(result)
    assert len(asked) == len(CALLS)


def test_symbols_of_an_equation_are_typed_and_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the paper says of each, doubt, and other meanings; no key without a value."""
    with make_symbol_library(tmp_path) as made:
        folder = made.folder
    whole = {}
    for snippets in ("full", "none"):
        with Library.open(folder) as library:
            whole[snippets] = tools.get_equation(Service(library, snippets), "descent#1")
    assert whole["full"].model_dump()["symbols"] == [
        {"symbol": "w_{t+1}"},
        {"symbol": "w_t"},
        {
            "symbol": r"\eta",
            "meaning": "learning rate",
            "elsewhere": ["noise level of a measurement"],
        },
        {"symbol": "L", "meaning": "loss function"},
    ]
    assert "symbols" not in whole["none"].model_dump()
    monkeypatch.setattr(tools, "_MOST_SYMBOLS", 3)
    monkeypatch.setattr(tools, "_MEANING", 10)
    with Library.open(folder) as library:
        short = tools.get_equation(Service(library), "descent#1").symbols
    assert [one.meaning for one in short] == ["", "", "learning …"]
