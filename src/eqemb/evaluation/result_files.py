"""Write the results of a comparison to a folder: JSON, tables in three formats, and plots."""

from pathlib import Path
from typing import Any

from eqemb.evaluation import plots, tables
from eqemb.storage.atomic import to_json, write_atomically
from eqemb.storage.marks import MARKDOWN_MARK, TEX_MARK


def write_results(found: dict[str, Any], folder: Path) -> bool:
    """Write `results.json`, `.md`, `.tex`, `.html` and plots.

    Returns whether the plots were drawn: they need matplotlib.
    """
    write_atomically(folder / "results.json", to_json(found))
    pictures = []
    if plots.is_installed():
        pictures = [path.name for path in plots.draw(found, folder) if path.suffix == ".svg"]
    made, notes = tables.report(found), tables.notes(found)
    as_text = [notes.replace("\n", "\n\n") + "\n", *map(tables.markdown, made)]
    write_atomically(folder / "results.md", MARKDOWN_MARK + "\n".join(as_text))
    as_tex = ["% tables to include in a document: \\input{results}\n", *map(tables.latex, made)]
    write_atomically(folder / "results.tex", TEX_MARK + "\n".join(as_tex))
    as_page = tables.page("Comparison of models", made, notes, pictures)
    write_atomically(folder / "results.html", as_page)
    return plots.is_installed()
