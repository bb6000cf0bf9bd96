"""A small library of demo articles in several segments, for the tests of libraries in parts."""

from pathlib import Path

import pytest

from eqemb.facade.library import Library
from eqemb.library import segments
from server.browsers import DEMO
from synthetic import read_inline


def make_segmented(folder: Path, size: int = 8) -> Path:
    """Read the demo articles into segments of so many documents; return the library's folder."""
    with pytest.MonkeyPatch.context() as patch:
        read_inline(patch)
        patch.setattr(segments, "SEGMENT_DOCUMENTS", size)
        papers = [DEMO, DEMO.parent / "nlp"]
        Library.read(papers, folder / "library", root=DEMO.parent, jobs=1, index=True).close()
    return folder / "library"
