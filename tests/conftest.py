"""Where tests find data that is not part of the project; and the command line in this process."""

import os
import signal
import sys
from pathlib import Path

import pytest

from eqemb import cli
from synthetic import Done, Run, read_inline


def pytest_configure() -> None:
    """Tests send SIGINT, which whatever is started in the background would be deaf to."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


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
