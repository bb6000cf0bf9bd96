"""Served libraries for the tests of the server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from fastapi.testclient import TestClient

from axes import make_library
from eqemb.facade.equation_map import map_of
from eqemb.facade.library import Library
from server.browsers import CHROMIUM, DEMO, Open, served
from server.clients import HOSTILE, make_client
from synthetic import read_inline


@pytest.fixture(scope="module", autouse=True)
def read_in_place() -> Iterator[None]:
    """Read papers in this process: worker processes do not matter here."""
    with pytest.MonkeyPatch.context() as patch:
        read_inline(patch)
        yield


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with a hand-made model; tests do not change it."""
    with pytest.MonkeyPatch.context() as patch:
        read_inline(patch)
        with make_library(tmp_path_factory.mktemp("served")) as made:
            return made.folder


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[TestClient]:
    """A client of this library."""
    with make_client(folder) as made:
        yield made


@pytest.fixture(scope="module")
def hostile_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client of a library with one hostile paper."""
    place = tmp_path_factory.mktemp("hostile")
    (place / "evil.tex").write_text(HOSTILE, "utf-8")
    Library.read([place / "evil.tex"], place / "library", jobs=1, index=True).close()
    with make_client(place / "library") as made:
        yield made


# ------------------------------------------------------------ in a browser


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server with the demo articles."""
    folder = tmp_path_factory.mktemp("page") / "library"
    with Library.read([DEMO], folder, jobs=1, index=True) as made:
        map_of(made)
    yield from served(folder)


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server with a library that has a model."""
    with make_library(tmp_path_factory.mktemp("learned")) as made:
        folder = made.folder
        map_of(made)
    yield from served(folder)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server with a hostile paper."""
    place = tmp_path_factory.mktemp("hostile")
    (place / "evil.tex").write_text(HOSTILE, "utf-8")
    Library.read([place / "evil.tex"], place / "library", jobs=1, index=True).close()
    yield from served(place / "library")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless chromium."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Open]:
    """Opens pages; afterwards, asserts that none had errors or sent requests to another host."""
    contexts, wrong, hosts = [], list[str](), set[str]()

    def opened(address: str, **settings: Any) -> Any:
        context = browser.new_context(**settings)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
        page.goto(address)
        hosts.add(urlsplit(address).netloc)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not wrong
    assert len(hosts) <= 1
