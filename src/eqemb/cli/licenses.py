"""Command that lists the licences of eqemb and of what it uses: licenses."""

import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import NamedTuple

from eqemb.cli.app import app
from eqemb.cli.console import print_json, print_message
from eqemb.cli.options import Json

_NOT_STATED = "unknown"
#: Name and extras at the start of a requirement such as "ray[client]>=2.60; extra == 'ray'".
_REQUIRED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*+)\s*+(?:\[([^]]*+)\])?")
_EXTRA = re.compile(r"""\bextra *+== *+["']([^"']++)["']""")
_TROVE = "License :: "
_MAX_LICENCE_NAME = 80  # characters of a licence's name; what is longer is the text of the licence


class Package(NamedTuple):
    """An installed package that eqemb uses."""

    name: str
    version: str
    license: str
    needed_by: tuple[str, ...]


@app.command()
def licenses(as_json: Json = False) -> None:
    """List the licences of eqemb and of the installed packages it uses."""
    found = used_packages()
    if as_json:
        print_json({"packages": [package._asdict() for package in found]})
        return
    rows = [(*package[:3], ", ".join(package.needed_by)) for package in found]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(map(str.ljust, row, widths)).rstrip())
    print_message("the base model has sources of its own: see models/base_data/SOURCES.tsv")
    unknown = [package.name for package in found if package.license == _NOT_STATED]
    if unknown:
        print_message(f"state no licence in their metadata: {', '.join(unknown)}")


def used_packages() -> list[Package]:
    """Return eqemb and the packages it uses, directly or not, as far as they are installed.

    Extras that a requirement names, as in `ray[client]`, count as used.
    """
    found: dict[str, Distribution] = {}
    needed_by: dict[str, set[str]] = {}
    waiting = [("eqemb", "")]
    seen = set(waiting)
    while waiting:
        name, chosen = waiting.pop()
        try:
            package = found.get(name) or distribution(name)
        except PackageNotFoundError:
            continue  # of an extra that is not installed, or for another system
        found[name] = package
        for required in _requirements(package):
            for extra in required.of_extras:
                if extra != chosen and name != "eqemb":
                    continue  # an extra that nobody asked for; all those of eqemb are listed
                user = f"{name}[{extra}]" if extra else name
                needed_by.setdefault(required.name, set()).add(user)
            if name == "eqemb" or chosen in required.of_extras:
                asked = {(required.name, extra) for extra in ("", *required.extras)} - seen
                seen |= asked
                waiting += sorted(asked)
    return [
        Package(name, package.version, _license(package), tuple(sorted(needed_by.get(name, ()))))
        for name, package in sorted(found.items())
    ]


class _Requirement(NamedTuple):
    """A package that another one requires; names are normalised."""

    name: str
    extras: tuple[str, ...]
    """The extras of this package that are required."""
    of_extras: tuple[str, ...]
    """The extras that the requirement belongs to; ("",) if it holds without any."""


def _requirements(package: Distribution) -> list[_Requirement]:
    """Return what a package requires, by itself and with each of its extras."""
    found = []
    for text in package.requires or ():
        if match := _REQUIRED.match(text):
            extras = tuple(_normal(extra.strip()) for extra in (match[2] or "").split(","))
            of_extras = tuple(map(_normal, _EXTRA.findall(text))) or ("",)
            found.append(_Requirement(_normal(match[1]), tuple(filter(None, extras)), of_extras))
    return found


def _normal(name: str) -> str:
    """Return the name under which package indexes compare packages (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _license(package: Distribution) -> str:
    """Return the licence as a package states it: expression, field, or classifiers."""
    stated = package.metadata
    for name in ("License-Expression", "License"):
        field = "".join(stated.get_all(name) or ()).strip()
        if field and field != "UNKNOWN" and len(field) <= _MAX_LICENCE_NAME and "\n" not in field:
            return field
    listed = [
        line.rpartition(" :: ")[2]
        for line in stated.get_all("Classifier") or ()
        if line.startswith(_TROVE)
    ]
    return ", ".join(listed) or _NOT_STATED
