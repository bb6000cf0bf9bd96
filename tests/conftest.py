"""Where tests find data that is not part of the project."""

import os
from pathlib import Path

import pytest


def _folder(variable: str) -> Path:
    """The folder an environment variable names; tests that need it are skipped without it."""
    value = os.environ.get(variable)
    if not value:
        pytest.skip(f"{variable} is not set: the data is not part of the project")
    return Path(value)


@pytest.fixture
def bench() -> Path:
    """External benchmarks: Tangent's output, ARQMath."""
    return _folder("EQEMB_BENCH")


@pytest.fixture
def corpora() -> Path:
    """Real papers."""
    return _folder("EQEMB_CORPORA")
