"""Fixtures that all tests share: folders of outside data, and the command line in this process."""

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from campaigns import FULL
from eqemb import cli
from synthetic import Done, Run, read_inline

# The same few examples in every `make test`; many, and other ones each time, in `make check`.
settings.register_profile("sample", max_examples=40, deadline=None, derandomize=True)
settings.register_profile(
    "full", max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("full" if FULL else "sample")


def pytest_configure() -> None:
    """Let SIGINT raise KeyboardInterrupt: shells start background jobs with it ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _folder(variable: str) -> Path:
    """The folder that an environment variable names; tests that need it are skipped without it."""
    value = os.environ.get(variable)
    if not value:
        pytest.skip(f"{variable} is not set: the data is not part of the project")
    return Path(value)


@pytest.fixture
def bench() -> Path:
    """Public benchmarks: the output of Tangent, ARQMath."""
    return _folder("EQEMB_BENCH")


@pytest.fixture
def corpora() -> Path:
    """Collections of real papers."""
    return _folder("EQEMB_CORPORA")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line in this process, reading in place."""
    read_inline(monkeypatch)

    def call(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["eqemb", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return Done(int(ended.value.code or 0), out, err)

    return call
