"""Count how often a formula that is typed in another way has the same first answer.

    python benchmarks/typed_queries.py LIBRARY [-v]

`typed_queries.toml` has the formulas. Each is asked in LaTeX between dollars and in every other
way; the first answers are the same if they are one equation, or of one family. The layout is
compared, too: a way that is read as the same tree has the same answers by construction. `-v` lists
the ways that have another first answer.

Then every tenth equation of the library is printed on one line, as a terminal shows it, and read
again: the share of those with the same units, and the mean Dice coefficient of units.
"""

import argparse
import tomllib
from collections import Counter
from pathlib import Path

from eqemb import Library
from eqemb.formula import layout
from eqemb.formula.read_unicode import read_unicode
from eqemb.search.query import parse_query
from eqemb.search.results import Answer

FORMULAS = Path(__file__).with_name("typed_queries.toml")


def same_first(one: Answer, two: Answer) -> bool:
    """Whether two answers begin with the same equation, or with equations of one family."""
    if not one.hits or not two.hits:
        return not one.hits and not two.hits
    return two[0].equation.id in {one[0].equation.id, *one[0].family}


def paste_back(library: Library) -> tuple[int, float, int]:
    """Return how many printed equations have the same units, the sum of Dice, and their number."""
    same, dice, total = 0, 0.0, 0
    equations = (equation for article in library.articles() for equation in article.equations)
    for place, equation in enumerate(equations):
        made = layout(equation.expanded)
        if place % 10 or made.root is None:
            continue
        units = Counter(made.units())
        again = Counter(layout(read_unicode(made.to_text())).units())
        same += units == again
        dice += 2 * (units & again).total() / max(1, units.total() + again.total())
        total += 1
    return same, dice, total


def main() -> None:
    """Ask everything and print the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", type=Path)
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    formulas = tomllib.loads(FORMULAS.read_text("utf-8"))["formula"]
    first = tree = total = 0
    with Library.open(options.library) as library:
        for formula in formulas:
            expected = library.search(f"${formula['latex']}$", 1)
            for way in formula["ways"]:
                found, read = library.search(way, 1), parse_query(way)
                is_same = same_first(expected, found)
                first += is_same
                tree += read.formula is not None and layout(read.formula) == layout(
                    formula["latex"]
                )
                total += 1
                if options.verbose and not is_same:
                    answers = (
                        answer[0].text if answer.hits else "-" for answer in (expected, found)
                    )
                    print(f"{way}\n  {read.reading}\n  {'  |  '.join(answers)}")
        same, dice, printed = paste_back(library)
    print(f"{len(formulas)} formulas, {total} ways of typing them")
    print(f"same first answer  {first}/{total} = {first / total:.3f}")
    print(f"same layout        {tree}/{total} = {tree / total:.3f}")
    print(f"pasted back        {same}/{printed} = {same / max(1, printed):.3f} with the same units")
    print(f"mean Dice          {dice / max(1, printed):.3f}")


if __name__ == "__main__":
    main()
