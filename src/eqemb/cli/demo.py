"""The command demo: build a library from the bundled articles and ask three questions.

The output depends only on the articles; the README quotes it.
"""

import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

from eqemb.cli.app import app
from eqemb.cli.console import output_width, print_json
from eqemb.cli.options import Json, Option, library_to_write
from eqemb.cli.progress import StageProgress

#: The questions, three of the ten in `benchmarks/demo_queries.toml`. Those were written before any
#: of them was tried, but half of them had poor answers at first, and articles were edited for them.
_DESCRIBED = r"c_t = f_t \odot c_{t-1} + i_t \odot \tilde{c}_t"
_SEARCHED = "cosine similarity of two vectors"
_LIKE = r"p_i = \frac{e^{x_i}}{\sum_{j} e^{x_j}}"
_COUNT = 5
#: Short articles on many topics repeat few words: wide windows learn most from them.
_MODEL = {"window": 32, "equation_window": 32}
_MAX_TABLE_WIDTH, _GAP = 100, 3


@app.command()
def demo(
    output: Annotated[
        Path | None,
        Option(
            "-o",
            "--output",
            parser=library_to_write,
            metavar="LIBRARY",
            help="Keep the library in this folder.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Build a small library from bundled articles and query it."""
    from eqemb.facade.library import Library

    papers = Path(__file__).parents[1] / "demo"
    with tempfile.TemporaryDirectory() as scratch:
        folder = output or Path(scratch) / "library"
        with StageProgress() as progress:
            library = Library.build([papers], folder, model=_MODEL, watch=progress.update)
        with library:
            report = library.report
            described = library.describe(_DESCRIBED, _COUNT)
            found = library.search(_SEARCHED, _COUNT)
            alike = library.similar(_LIKE, _COUNT)
    if as_json:
        for asked, answer in ((_DESCRIBED, described), (_SEARCHED, found), (_LIKE, alike)):
            print_json({"asked": asked, **answer.to_json()})
        return
    equations = report["equations"]
    name = "library" if output is None else str(output)
    print(
        f"{report['articles']} articles on NLP, IR, AI and ML, {report['words']:,} words,"
        f" {equations['numbered'] + equations['unnumbered']} equations"
    )
    _print_question("Words that describe an equation", f"eqemb describe {name} '{_DESCRIBED}'")
    if described.phrase is not None:
        print(f"  about: {described.phrase.text}")
    _print_rows(("", "word", "sentence", "article"), map(_word_row, described.shown()))
    _print_question("Equations for words", f"eqemb search {name} {_SEARCHED}")
    _print_rows(("", "equation", "article"), map(_hit_row, found))
    _print_question("Equations like an equation", f"eqemb similar {name} '{_LIKE}'")
    _print_rows(("", "equation", "article"), map(_hit_row, alike))
    _print_next(name, kept=output is not None)


def _print_next(name: str, *, kept: bool) -> None:
    """Print commands to try; the last one opens the page."""
    steps = [
        *([] if kept else [(f"eqemb demo -o {name}", "keep this library")]),
        (f"eqemb search {name} WORDS", "ask your own question"),
        (f"eqemb why {name} 'cosine similarity' ml/contrastive-learning#1", "explain a match"),
        ("eqemb build PAPERS -o mine", "use your own papers"),
        (f"eqemb serve {name}", "open it in a browser"),
    ]
    width = max(len(command) for command, _ in steps)
    print("\nWhat to type next")
    for command, purpose in steps:
        print(f"  $ {command:{width}}   {purpose}")


def _print_question(title: str, command: str) -> None:
    print(f"\n{title}\n  $ {command}")


def _print_rows(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    """Print a table; the last column but one is shortened to fit."""
    from rich.box import SIMPLE_HEAD
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    console.width = min(output_width(), _MAX_TABLE_WIDTH)
    shown = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="dim")
    cells = [tuple(map(Text, row)) for row in rows]
    widths = [max(cell_len(cell.plain) for cell in column) for column in zip(*cells, strict=True)]
    widths[-2] = 0
    widths[-2] = min(console.width - sum(widths) - _GAP * (len(head) - 1), _MAX_TABLE_WIDTH)
    for name, width in zip(head, widths, strict=True):
        style = {"word": "bold", "article": "dim"}.get(name, "")
        shown.add_column(name, style=style, max_width=width, no_wrap=True, overflow="ellipsis")
    for row in cells:
        shown.add_row(*row)
    console.print(shown)


def _hit_row(hit: Any) -> tuple[str, str, str]:
    number = f" ({hit.equation.number})" if hit.equation.number is not None else ""
    return hit.mark, hit.text.rstrip(" .,;"), f"{hit.article}{number}"


def _word_row(said: Any) -> tuple[str, str, str, str]:
    from eqemb.search.results import excerpt, readable

    text = re.sub(r" ?\[(?:equation|…)\]", " …", readable(said.sentence or ""))
    return f"{said.score:.2f}", said.word, excerpt(said.word, text, 66), said.article or ""
