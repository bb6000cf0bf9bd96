"""Rendered formulas in the index: the same as rendering them, and ignored when they are old."""

import json
import shutil
from pathlib import Path

import pytest

from axes import make_library
from eqemb.facade.library import Library
from eqemb.index import renderings
from eqemb.index.renderings import (
    DISPLAY_MATHML,
    INLINE_MATHML,
    MAX_INLINE,
    UNICODE_TEXT,
    RenderingIndex,
    render,
)
from eqemb.index.segments import open_index


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small library, which tests do not change."""
    with make_library(tmp_path_factory.mktemp("rendered"), model=False) as made:
        return made.folder


def stored(library: Library) -> RenderingIndex:
    """Return the rendered formulas of a library."""
    return RenderingIndex(open_index(library))


def test_every_equation_is_stored_as_it_is_rendered(folder: Path) -> None:
    """As MathML for pages, and as text."""
    with Library.open(folder) as library:
        found = stored(library)
        sources = library.records.expanded_latex()
        assert sources
        for latex in sources:
            for kind in (DISPLAY_MATHML, UNICODE_TEXT):
                assert found.find(kind, latex) == render(kind, latex)
        assert 'style="' not in str(found.find(DISPLAY_MATHML, sources[0]))


def test_inline_mathematics_of_the_text_is_stored(tmp_path: Path) -> None:
    """Except formulas that are too long to be shown; other formulas are not found."""
    long = "+".join("x" * 9 for _ in range(MAX_INLINE // 9))
    paper = rf"The vector $\mathbf{{u}}_1$ and ${long}$ give \[ u = 1 \] here."
    source = tmp_path / "a.tex"
    source.write_text(rf"\documentclass{{article}}\begin{{document}}{paper}\end{{document}}")
    with Library.read([source], tmp_path / "library", jobs=1, index=True) as library:
        found = stored(library)
        latex = r"\mathbf{u}_1"
        assert (
            found.find(INLINE_MATHML, latex)
            == render(INLINE_MATHML, latex)
            != render(DISPLAY_MATHML, latex)
        )
        assert found.find(INLINE_MATHML, long) is None
        assert found.find(DISPLAY_MATHML, latex) is None


def test_renderings_of_other_code_are_ignored(folder: Path, tmp_path: Path) -> None:
    """Also missing and damaged ones: then formulas are rendered when they are shown."""
    shutil.copytree(folder, tmp_path / "library")
    with Library.open(tmp_path / "library") as library:
        latex = library.records.expanded_latex()[0]
        (part,) = open_index(library)
        assert stored(library).find(DISPLAY_MATHML, latex) is not None
        head = part.folder / "renderings.json"
        for text in (json.dumps({"code": "other"}), "{", "[]"):
            head.write_text(text)
            assert stored(library).find(DISPLAY_MATHML, latex) is None
        head.unlink()
        assert stored(library).find(DISPLAY_MATHML, latex) is None


def test_the_hash_covers_the_code_that_renders(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of the compression makes old files unreadable, so it counts, too."""
    before = renderings.rendering_code()
    monkeypatch.setattr(renderings, "_DICTIONARY", b"another dictionary")
    renderings.rendering_code.cache_clear()
    assert renderings.rendering_code() != before
    monkeypatch.undo()
    renderings.rendering_code.cache_clear()
    assert renderings.rendering_code() == before
