r"""Do the labels of the map say something? Two tests on a library with an index.

    python benchmarks/map_labels.py LIBRARY            the table
    python benchmarks/map_labels.py LIBRARY --sheet 7  a sheet for fresh eyes
    python benchmarks/map_labels.py LIBRARY --sheet 7 --key

The table: labels are chosen from one half of the articles. A label is matched with the region in
which the equations of the *other* half have its words near them most often; it is right if that is
its own region. Chance is one in the number of regions.

The sheet: for each of some regions, equations of it, and the labels of these regions in random
order. Who reads it writes down which label belongs to which region; `--key` prints the answer.
Chance is one right match, whatever the number of regions.
"""

import argparse
import random
from pathlib import Path
from typing import Any

import numpy as np

from eqemb.facade.equation_map import compute, points, stored_map
from eqemb.facade.library import Library
from eqemb.facade.map_labels import label_regions
from eqemb.formula import layout

EQUATIONS, LONGEST = 8, 110  # equations of a region on the sheet, characters of one


def places_of(library: Library) -> tuple[Any, Any]:
    """Return the first equation and the place of each point."""
    made = stored_map(library) or compute(library.engine)
    return points(library.engine)[0], np.stack((made.x, made.y), axis=1).astype(np.float64)


def own_region(places: Any, labels: list[dict[str, Any]]) -> Any:
    """Return for each point the nearest label."""
    centres = np.array([(label["x"], label["y"]) for label in labels], np.float64)
    return ((places[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)


def table(library: Library) -> None:
    """Print how many labels are matched with their own region."""
    engine = library.engine
    equations, places = places_of(library)
    is_seen = engine.segments.articles[equations] % 2 == 0
    labels = label_regions(engine, places[is_seen], equations[is_seen])
    print("| level | labels | different ones | right | share | chance |\n|---|---|---|---|---|---|")
    for level in sorted({label["level"] for label in labels}):
        own = [label for label in labels if label["level"] == level]
        region = own_region(places[~is_seen], own)
        sizes = np.maximum(np.bincount(region, minlength=len(own)), 1)
        right = 0
        for at, label in enumerate(own):
            said = np.zeros(len(own))
            for word in label["words"]:
                has = engine.text.has_phrase(tuple(word.split()))[equations[~is_seen]]
                said += np.bincount(region[has], minlength=len(own)) / sizes
            right += int(said.argmax() == at)
        different = len({tuple(sorted(label["words"])) for label in own})
        print(
            f"| {level} | {len(own)} | {different} | {right} | {right / len(own):.2f}"
            f" | {1 / len(own):.3f} |"
        )


def sheet(library: Library, count: int, seed: int, *, is_key: bool) -> None:
    """Print regions and shuffled labels, or which label is whose."""
    engine = library.engine
    equations, places = places_of(library)
    labels = [each for each in label_regions(engine, places, equations) if each["level"] == 0]
    region = own_region(places, labels)
    draw = random.Random(seed)
    chosen = draw.sample(range(len(labels)), min(count, len(labels)))
    letters = draw.sample(range(len(chosen)), len(chosen))
    if is_key:
        for number, at in enumerate(chosen, 1):
            letter = chr(65 + letters.index(number - 1))
            print(f"{number}: {letter} {', '.join(labels[at]['words'])}")
        return
    for number, at in enumerate(chosen, 1):
        print(f"\nRegion {number}")
        for point in draw.sample(np.flatnonzero(region == at).tolist(), EQUATIONS):
            equation, _ = engine.equation(int(equations[point]))
            print(f"  {layout(equation.expanded).to_text()[:LONGEST]}")
    print("\nLabels")
    for letter, number in enumerate(letters):
        print(f"  {chr(65 + letter)}: {', '.join(labels[chosen[number]]['words'])}")


def main() -> None:
    """Run one of the tests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", type=Path)
    parser.add_argument("--sheet", type=int, default=0, metavar="REGIONS")
    parser.add_argument("--key", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with Library.open(options.library) as library:
        if options.sheet:
            sheet(library, options.sheet, options.seed, is_key=options.key)
        else:
            table(library)


if __name__ == "__main__":
    main()
