"""Damage a library at random places, and tell what its answers are afterwards.

    python damages.py LIBRARY COUNT [SEED]

prints a table for a library of any size: how often damage was refused, changed nothing, or changed
an answer without a word; and whether `eqemb verify` found it. attack/test_damage.py does the same
with a small one.
"""

import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from eqemb.errors import EqembError
from eqemb.facade.library import Library
from eqemb.facade.verify import verify
from eqemb.storage import checksums

#: What is asked: words, formulas, and what they have in common.
QUERIES = ("cosine similarity of two vectors", "harmonic mean", r"$\frac{a}{b}$ mean", "recall")
FORMULAS = (r"F = \frac{2 P R}{P + R}", r"\frac{x \cdot y}{\|x\| \|y\|}")
REFUSED, SAME, CHANGED = "refused", "same answers", "changed answers"


class Place(NamedTuple):
    """A place of a library that is damaged."""

    file: str
    kind: str
    seed: int


def flip(path: Path, dice: random.Random) -> None:
    """Flip a bit."""
    data = bytearray(path.read_bytes())
    data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    path.write_bytes(data)


def overwrite(path: Path, dice: random.Random) -> None:
    """Overwrite a block: with zeros, as after a power cut, or with anything."""
    data = bytearray(path.read_bytes())
    size = min(len(data), dice.choice((4, 64, 512, 4096)))
    at = dice.randrange(len(data) - size + 1)
    block = bytes(size) if dice.random() < 0.5 else dice.randbytes(size)
    if data[at : at + size] == block:
        block = bytes([block[0] ^ 1]) + block[1:]
    data[at : at + size] = block
    path.write_bytes(data)


def cut(path: Path, dice: random.Random) -> None:
    """Truncate a file."""
    data = path.read_bytes()
    path.write_bytes(data[: dice.randrange(len(data))])


def lengthen(path: Path, dice: random.Random) -> None:
    """Append bytes."""
    with path.open("ab") as file:
        file.write(dice.randbytes(dice.choice((1, 8, 4096))))


def swap(path: Path, dice: random.Random) -> None:
    """Exchange a file with another one of its folder, of the same size if there is one."""
    others = [
        other
        for other in sorted(path.parent.iterdir())
        if other.is_file() and other.suffix == path.suffix and other.name != path.name
    ]
    others = [other for other in others if other.read_bytes() != path.read_bytes()]
    alike = [other for other in others if other.stat().st_size == path.stat().st_size]
    if not others:
        path.unlink()
        return
    other = dice.choice(alike or others)
    one, two = path.read_bytes(), other.read_bytes()
    path.write_bytes(two)
    other.write_bytes(one)


def delete(path: Path, _dice: random.Random) -> None:
    """Delete a file."""
    path.unlink()


DAMAGES: dict[str, Callable[[Path, random.Random], None]] = {
    "bit flip": flip,
    "block": overwrite,
    "truncation": cut,
    "longer": lengthen,
    "swap": swap,
    "deletion": delete,
}


def places(library: Path, count: int, seed: int) -> Iterator[Place]:
    """Yield random places: half of them in files by their size, half in files of any size."""
    dice = random.Random(seed)
    files = sorted(path for path in library.rglob("*") if path.is_file() and path.stat().st_size)
    names = [path.relative_to(library).as_posix() for path in files]
    sizes = [path.stat().st_size for path in files]
    for number in range(count):
        (name,) = dice.choices(names, sizes if number % 2 else None)
        yield Place(name, dice.choice([*DAMAGES, "bit flip", "block"]), dice.randrange(1 << 32))


def answers(folder: Path) -> str:
    """Return everything that a fixed set of questions is answered."""
    found: list[object] = []
    with Library.open(folder) as library:
        names = [name for name, _, _ in library.contents()]
        found += [names, *(library.search(query).to_json() for query in QUERIES)]
        for formula in FORMULAS:
            found += [library.similar(formula).to_json(), library.describe(formula).to_json()]
        for name in names[:3]:
            article = library.article(name)
            found.append([article.title, article.text])
            for equation in article.equations[:2]:
                found.append(repr(library.symbols(equation.id)))
                found.append(library.similar(equation.id).to_json())
    return json.dumps(found, default=str)


class Outcome(NamedTuple):
    """What a damage led to."""

    place: Place
    result: str
    """One of the three, or the type of an error that is not ours."""
    is_found: bool
    """Whether verify found it."""
    sentence: str = ""


def try_place(library: Path, place: Place, wanted: str) -> Outcome:
    """Damage a library, ask it, verify it, and repair it."""
    path = library / place.file
    kept = {other: other.read_bytes() for other in path.parent.iterdir() if other.is_file()}
    DAMAGES[place.kind](path, random.Random(place.seed))
    sentence = ""
    try:
        result = SAME if answers(library) == wanted else CHANGED
    except EqembError as error:
        result, sentence = REFUSED, str(error)
    except Exception as error:  # noqa: BLE001 - reported
        result, sentence = type(error).__name__, str(error)
    try:
        is_found = not verify(library).is_intact
    except EqembError:
        is_found = True
    for other, data in kept.items():
        if not other.exists() or other.read_bytes() != data:
            other.write_bytes(data)
    return Outcome(place, result, is_found, sentence)


def table(outcomes: list[Outcome]) -> str:
    """Return counts of the outcomes by kind of damage."""
    results = sorted({outcome.result for outcome in outcomes})
    rows = [f"| damage | places | {' | '.join(results)} | found by verify |"]
    rows.append("|---" * (len(results) + 3) + "|")
    for kind in [*DAMAGES, "all"]:
        some = [outcome for outcome in outcomes if kind in (outcome.place.kind, "all")]
        counts = Counter(outcome.result for outcome in some)
        cells = [str(counts[result]) for result in results]
        found = sum(outcome.is_found for outcome in some)
        rows.append(f"| {kind} | {len(some)} | {' | '.join(cells)} | {found} |")
    return "\n".join(rows)


def main() -> None:
    """Damage a copy of a library, opened as usual and as if it were too large to be read then."""
    library, count = Path(sys.argv[1]), int(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "library"
        shutil.copytree(library, copy)
        wanted = answers(copy)
        for most in (checksums.READ_AT_OPENING, 0):
            checksums.READ_AT_OPENING = most
            outcomes = [try_place(copy, place, wanted) for place in places(copy, count, seed)]
            silent = Counter(one.place.file for one in outcomes if one.result == CHANGED)
            others = [one for one in outcomes if one.result not in (REFUSED, SAME, CHANGED)]
            lines = [
                f"{count} places, seed {seed}, {most:,} bytes read at opening\n",
                table(outcomes),
                f"\nchanged answers by file: {dict(silent.most_common())}",
                f"not found: {[one.place for one in outcomes if not one.is_found]}",
                f"other errors: {others}\n\n",
            ]
            sys.stdout.write("\n".join(lines))


if __name__ == "__main__":
    main()
