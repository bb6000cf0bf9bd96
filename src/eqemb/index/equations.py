"""Index the equations of a segment, and the titles of their sections.

equations.npy    for each equation, in order: article, ordinal, type, section, numbered
sections.*       postings of stems: the section titles that have them
"""

from collections import Counter
from pathlib import Path

import numpy as np

from eqemb.article import read_tokens
from eqemb.index.postings import KeyedPostingsWriter
from eqemb.index.stemming import stem
from eqemb.library.database import Records


def index_equations(records: Records, folder: Path) -> None:
    """Write the table of equations, and the words of section titles."""
    sections: dict[str, int] = {}
    table = np.fromiter(
        (
            value
            for article, ordinal, kind, section, numbered in records.equation_index()
            for value in (
                article,
                ordinal,
                kind,
                sections.setdefault(" ".join(section.split()), len(sections)),
                -1 if numbered is None else numbered,
            )
        ),
        np.int32,
    )
    np.save(folder / "equations.npy", table.reshape(-1, 5))
    titles = KeyedPostingsWriter(folder, "sections")
    for title, number in sections.items():
        titles.add(number, Counter(map(stem, read_tokens(title)[0])))
    titles.write()
