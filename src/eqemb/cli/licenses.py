"""Command that lists the licences of eqemb and of what it uses: licenses."""

import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import NamedTuple

from eqemb.cli.app import app
from eqemb.cli.console import print_json, print_message
from eqemb.cli.options import Json

_NOT_STATED = "unknown"
#: The name at the start of a requirement such as "torch>=2.5; extra == 'gpu'".
_REQUIRED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*+")
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
    """Return eqemb and the packages it uses, directly or not, as far as they are installed."""
    found: dict[str, Distribution] = {}
    needed_by: dict[str, set[str]] = {}
    waiting = ["eqemb"]
    while waiting:
        name = waiting.pop()
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue  # of an extra that is not installed, or for another system
        found[name] = package
        for required, extra in _requirements(package):
            if extra and name != "eqemb":
                continue  # extras of other packages: eqemb lists what it needs of them itself
            user = f"{name}[{extra}]" if extra else name
            needed_by.setdefault(required, set()).add(user)
            if required not in found:
                waiting.append(required)
    return [
        Package(name, package.version, _license(package), tuple(sorted(needed_by.get(name, ()))))
        for name, package in sorted(found.items())
    ]


def _requirements(package: Distribution) -> list[tuple[str, str]]:
    """Return the normalised name of each requirement, and the extra it belongs to or ""."""
    pairs = []
    for text in package.requires or ():
        if name := _REQUIRED.match(text):
            extra = _EXTRA.search(text)
            pairs.append((_normal(name[0]), extra[1] if extra else ""))
    return pairs


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
