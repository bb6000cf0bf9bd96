"""Merge the indexes of neighbouring segments into that of one segment, without indexing again.

The index of a segment is a function of its records, and numbers everything by first occurrence. So
the index of the documents of several segments follows from theirs: every file has the bytes that
`build_index` writes for the merged records. The table of equations and the titles of sections are
read from the records again, which costs little.

Files are read and written in batches: memory grows with the distinct words, units and shapes, and
by a few numbers for each equation, not with the postings.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from eqemb.index.equations import index_equations
from eqemb.index.merge_definitions import merge_definitions
from eqemb.index.merge_parts import number_parts
from eqemb.index.merge_renderings import merge_renderings
from eqemb.index.merge_structure import merge_structure
from eqemb.index.merge_text import merge_text
from eqemb.library.database import Records
from eqemb.library.segments import SegmentIndex


def merge_indexes(parts: Sequence[SegmentIndex], records: Records, folder: Path) -> None:
    """Write the index of the documents of several segments, without the removed ones.

    All files but index.json are written.

    Args:
        parts: The indexes, in order; of this version, with formulas rendered by this code.
        records: The records of the merged segment: the documents that are left, in order.
        folder: Where the index is written.

    Raises:
        CannotMergeError: A part does not fit the records; index them with `build_index`.

    """
    folder.mkdir(exist_ok=True)
    index_equations(records, folder)
    merged = np.load(folder / "equations.npy")
    numbered = number_parts(parts, merged)
    merge_text(numbered, merged, records, folder)
    merge_structure(numbered, merged, records, folder)
    merge_definitions(numbered, folder)
    merge_renderings(numbered, records, folder)
