"""Served libraries for the tests of the server."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from axes import make_library
from eqemb.facade.library import Library
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
