"""`eqemb --help`, `eqemb help` and `eqemb version`."""

import pytest

import eqemb
from eqemb.cli.app import COMMAND_GROUPS, app
from synthetic import Run


@pytest.fixture(autouse=True)
def narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")


def visible_commands() -> set[str]:
    """The names of the commands that `--help` lists."""
    return {
        command.name or command.callback.__name__  # type: ignore[union-attr]
        for command in app.registered_commands
        if not command.hidden
    }


def test_help_groups_the_commands(run: Run) -> None:
    """Every command is listed once, in the declared order."""
    lines = run("--help").out.splitlines()
    expected = []
    for group, names in COMMAND_GROUPS.items():
        expected += [f"{group}:", *(name for name in names if name in visible_commands())]
    start = lines.index("Ask:")
    words = [line.split()[0] for line in lines[start:] if line.strip()]
    assert words[: len(expected)] == expected
    grouped = [name for names in COMMAND_GROUPS.values() for name in names]
    assert visible_commands() <= set(grouped)
    assert len(grouped) == len(set(grouped))


def test_no_summary_is_shortened(run: Run) -> None:
    """Each fits on its line of an 80-column terminal."""
    lines = run("--help").out.splitlines()
    assert max(map(len, lines)) < 80
    assert not [line for line in lines if "..." in line and "Usage" not in line]
    listed = {line.split()[0]: line for line in lines if line.startswith("  ") and line.strip()}
    assert all(listed[name].endswith(".") for name in visible_commands())


def test_help_explains_a_command(run: Run) -> None:
    """`eqemb help COMMAND` prints the same as `eqemb COMMAND --help`."""
    assert run("help") == run("--help")
    for name in ("search", "train", "map"):
        assert run("help", name) == run(name, "--help")
    done = run("help", "serach")
    assert (done.code, done.out) == (2, "")
    assert "did you mean 'search'?" in done.err.lower()


def test_version(run: Run) -> None:
    """`eqemb version` and `eqemb --version` print the same line."""
    assert run("version") == run("--version") == (0, f"eqemb {eqemb.__version__}\n", "")
