"""Print the demo library's answers to queries that were written before it was searched.

    python benchmarks/demo.py LIBRARY [QUERIES.TOML]

LIBRARY is made by `eqemb demo -o LIBRARY`. The queries are those of `demo_queries.toml`, or of a
file with the same format. The first five answers of each are printed, to be judged by eye.
"""

import sys
import tomllib
from pathlib import Path

from eqemb import Library

QUERIES = Path(__file__).with_name("demo_queries.toml")
COUNT = 5


def main() -> None:
    """Run all queries."""
    given = Path(sys.argv[2]) if len(sys.argv) > 2 else QUERIES
    queries = tomllib.loads(given.read_text("utf-8"))
    with Library.open(sys.argv[1]) as library:
        for kind in ("words", "similar"):
            ask = library.search if kind == "words" else library.similar
            for text in queries[kind]:
                print(f"\n{kind}: {text}")
                for hit in ask(text, COUNT):
                    print(f"  {hit.score:.3f}  {hit.equation.id:30} {hit.text}")
        for text in queries["describe"]:
            print(f"\ndescribe: {text}")
            for line in library.describe(text, COUNT):
                print(f"  {line.score:.3f}  {line.word:20} {line.article}: {line.sentence}")


if __name__ == "__main__":
    main()
