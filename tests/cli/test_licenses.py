"""`eqemb licenses`."""

import json
from email.message import Message
from importlib.metadata import Distribution, PackageNotFoundError

import pytest

from eqemb.cli import licenses
from synthetic import Run


class Stated(Distribution):
    """A package with the given metadata."""

    def __init__(self, requires: list[str], **metadata: str) -> None:
        self._requires, self._message = requires, Message()
        self._message["Version"] = "1.0"
        for name, value in metadata.items():
            self._message[name.replace("_", "-")] = value

    @property
    def requires(self) -> list[str]:
        """What it needs."""
        return self._requires

    @property
    def metadata(self) -> Message:  # type: ignore[override]
        """What it states."""
        return self._message

    def read_text(self, filename: str) -> None:
        """No file is read."""

    def locate_file(self, path: object) -> None:  # type: ignore[override]
        """No file is read."""


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, Stated]:
    """The installed packages; tests add to them."""
    packages: dict[str, Stated] = {}

    def find(name: str) -> Stated:
        if name not in packages:
            raise PackageNotFoundError(name)
        return packages[name]

    monkeypatch.setattr(licenses, "distribution", find)
    return packages


def test_lists_what_is_installed(run: Run) -> None:
    """The base packages, and what they need in turn."""
    found = json.loads(run("licenses", "--json").out)["packages"]
    by_name = {package["name"]: package for package in found}
    assert by_name["eqemb"]["license"] == "MIT"
    assert by_name["numpy"]["license"].startswith("BSD-3-Clause")
    assert "eqemb" in by_name["numpy"]["needed_by"]
    assert "eqemb" not in by_name["markdown-it-py"]["needed_by"]  # only rich needs it
    table = run("licenses")
    assert len(table.out.splitlines()) == len(found)
    assert "SOURCES.tsv" in table.err


def test_names_the_extra_that_needs_a_package(installed: dict[str, Stated]) -> None:
    """Every extra of eqemb counts; extras of other packages do only if they are asked for."""
    installed["eqemb"] = Stated(["One_Two>=1", "three ; extra == 'gpu'", "absent"], License="MIT")
    installed["one-two"] = Stated(["four; extra == 'tests'"], License_Expression="ISC")
    installed["three"] = Stated([], Classifier="License :: OSI Approved :: MIT License")
    installed["four"] = Stated([])
    assert licenses.used_packages() == [
        ("eqemb", "1.0", "MIT", ()),
        ("one-two", "1.0", "ISC", ("eqemb",)),
        ("three", "1.0", "MIT License", ("eqemb[gpu]",)),
    ]


def test_follows_the_extras_that_requirements_name(installed: dict[str, Stated]) -> None:
    """At any depth, also for a package that was found before without them."""
    installed["eqemb"] = Stated(["one", "one[Big_Part, other]>=2; extra == 'gpu'"], License="MIT")
    installed["one"] = Stated(
        [
            "two",
            "three[deep]; extra == 'other'",
            'four; python_version > "3.10" and extra == "big-part"',
            "five; extra == 'tests'",
        ]
    )
    installed["three"] = Stated(["six; extra == 'deep'", "one[tests]; extra == 'never'"])
    installed |= {name: Stated([]) for name in ("two", "four", "five", "six")}
    needed_by = {package.name: package.needed_by for package in licenses.used_packages()}
    assert needed_by == {
        "eqemb": (),
        "one": ("eqemb", "eqemb[gpu]"),
        "two": ("one",),
        "three": ("one[other]",),
        "four": ("one[big-part]",),
        "six": ("three[deep]",),
    }


def test_says_which_packages_state_no_licence(installed: dict[str, Stated], run: Run) -> None:
    """A long field is the text of a licence, not its name."""
    installed["eqemb"] = Stated(["one"], License="MIT")
    installed["one"] = Stated([], License="Permission is hereby granted " * 9)
    done = run("licenses")
    assert "unknown" in done.out
    assert "state no licence in their metadata: one" in done.err
