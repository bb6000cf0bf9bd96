"""Count how often an equation is found when it is asked for in another way of writing it.

    python benchmarks/written_pairs.py [-v]

`written_pairs.toml` has pairs of equations that are one, and pairs that are not. A library is built
of the demo articles and of one that has the first way of each pair; then the second way is asked
for, once as equations are written and once with their normal forms, too. The same equation should
be the first answer, and a strong one. Of the pairs that are different, none may be called equal.
"""

import argparse
import shutil
import tempfile
import tomllib
from importlib.resources import as_file, files
from pathlib import Path

from eqemb import Library
from eqemb.formula import layout
from eqemb.search.match_kinds import WRITTEN_DIFFERENTLY
from eqemb.search.strength import STRENGTH_LEVELS

PAIRS = Path(__file__).with_name("written_pairs.toml")


def build(folder: Path, equations: list[str]) -> Library:
    """Build a library of the demo articles and of these equations."""
    page = "".join(f"Equation {n} of many.\n\n$$\n{one}\n$$\n\n" for n, one in enumerate(equations))
    (folder / "papers").mkdir()
    (folder / "papers" / "ways.md").write_text(f"# Ways of writing\n\n{page}", "utf-8")
    with as_file(files("eqemb") / "demo") as demo:
        shutil.copytree(demo, folder / "papers" / "demo")
    return Library.build(folder / "papers", folder / "library", model=False)


def main() -> None:
    """Ask for every pair and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-v", "--verbose", action="store_true", help="list what is not first")
    options = parser.parse_args()
    pairs = tomllib.loads(PAIRS.read_text("utf-8"))
    same, different = pairs["same"], pairs["different"]
    with (
        tempfile.TemporaryDirectory() as place,
        build(Path(place), [one for one, _ in [*same, *different]]) as library,
    ):
        view = library.engine.structure.normal
        for name, used in (("as written", None), ("and in normal form", view)):
            library.engine.structure.normal = used
            first = strong = 0
            for one, two in same:
                hit = next(iter(library.similar(f"${two}$", 1)), None)
                found = hit is not None and layout(hit.equation.expanded) == layout(one)
                first += found
                strong += bool(found and hit and (hit.strength or 0) >= STRENGTH_LEVELS["strong"])
                if options.verbose and not found:
                    print(f"{two}  found  {'nothing' if hit is None else hit.text}")
            equal = sum(
                layout(one) in {layout(hit.equation.expanded) for hit in answer}
                for one, two in different
                if (answer := library.similar(f"${two}$", 10, kind=WRITTEN_DIFFERENTLY))
            )
            print(f"{name:20} first {first}/{len(same)}, strong {strong}/{len(same)};", end=" ")
            print(f"different ones called equal {equal}/{len(different)}")


if __name__ == "__main__":
    main()
