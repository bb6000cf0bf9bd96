"""The formats that these tests know, whichever readers are registered."""

from collections.abc import Iterator

import pytest

from eqemb.sources import formats

FORMATS = {
    **dict.fromkeys((".md", ".markdown", ".mmd", ".rmd", ".qmd"), "markdown"),
    ".ipynb": "notebook",
    **dict.fromkeys((".html", ".htm", ".xhtml"), "html"),
    **dict.fromkeys((".xml", ".nxml"), "jats"),
    **dict.fromkeys((".rst", ".rest"), "rst"),
    ".do.txt": "doconce",
}


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(formats, "_FORMATS", dict(FORMATS))
        yield
