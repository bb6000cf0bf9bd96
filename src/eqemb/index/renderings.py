"""Formulas of papers, rendered once when a segment is indexed: MathML for pages, and Unicode text.

    renderings.keys, .rows, .starts    where the rendering of a formula begins, by the hash of its
                                       LaTeX and of the kind of rendering
    renderings.bin                     the renderings, each compressed with a common dictionary
    renderings.json                    the hash of the code that rendered them

A rendering is a pure function of LaTeX and of our code. If the code has changed since, or a segment
has no renderings, nothing is found here and the caller renders: the answer is the same, only
slower. So a segment without these files needs no new index.
"""

import json
import mmap
import re
import zlib
from array import array
from collections.abc import Iterator
from functools import cache, cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

import numpy as np

from eqemb import formula
from eqemb.formula import layout
from eqemb.formula.html import page_mathml
from eqemb.formula.shapes import key
from eqemb.index.postings import Keys, load_array
from eqemb.index.segments import IndexSegments
from eqemb.library.database import Records

#: Kinds of renderings: MathML of a display and of inline mathematics, and text.
DISPLAY_MATHML, INLINE_MATHML, UNICODE_TEXT = "display", "inline", "text"
#: Inline mathematics up to this many characters is rendered; longer one is shown as its source.
MAX_INLINE = 1_000
_INLINE_MATH = re.compile(r"\$[^$]*\$")
#: What most MathML contains; a formula alone is too short to compress well.
_DICTIONARY = (
    '<mo lspace="0.1667em" rspace="0.1667em" movablelimits="true"></mo><mo largeop="true">∑</mo>'
    '<mo largeop="true">∏</mo><mtable displaystyle="true"><mtr><mtd class="right line"><mtd '
    'class="left line"><mrow></mrow></mtd></mtr></mtable><munderover></munderover><munder></munder>'
    '<mover accent="true"></mover><mo stretchy="false">^</mo><mtext></mtext><mspace width="1em"/>'
    '<mspace width="0.1667em"/><mi mathvariant="normal">Σ</mi><msqrt></msqrt><mo>∈</mo><mo>·</mo>'
    '<mo lspace="0" rspace="0" movablelimits="true">max</mo><mi>exp</mi><mi>log</mi><mi>α</mi>'
    '<mi>θ</mi><mi>λ</mi><mo>…</mo><mo>≤</mo><mo stretchy="true" form="prefix">(</mo><mo stretchy='
    '"true" form="postfix">)</mo><mo stretchy="false" form="prefix">[</mo><mo stretchy="false" '
    'form="postfix">]</mo><mo stretchy="false" lspace="0" rspace="0" form="prefix">|</mo><mfrac>'
    "<mrow></mrow></mfrac><mn>0</mn><mn>2</mn><mn>1</mn><msubsup><mi>x</mi><mi>i</mi><mi>T</mi>"
    "</msubsup><msup><mi>x</mi><mn>2</mn></msup><msub><mi>x</mi><mi>i</mi></msub><mo>,</mo><mo>−"
    '</mo><mo>+</mo><mo>=</mo><mrow><mo stretchy="false" form="prefix">(</mo><mi>x</mi><mo '
    'stretchy="false" form="postfix">)</mo></mrow></math><math xmlns="http://www.w3.org/1998/Math/'
    'MathML"><mi><math xmlns="http://www.w3.org/1998/Math/MathML" display="block"><mi>'
).encode()


def render(kind: str, latex: str) -> str:
    """Return the rendering of a formula."""
    made = _layout(latex)
    return (
        made.to_text()
        if kind == UNICODE_TEXT
        else page_mathml(made.to_mathml(display=kind == DISPLAY_MATHML))
    )


#: A display is rendered twice in a row.
_layout = lru_cache(maxsize=1)(layout)


@cache
def rendering_code() -> str:
    """Return the hash of the code that renders formulas."""
    digest = sha256(_DICTIONARY)
    for path in sorted(Path(formula.__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


# ------------------------------------------------------------ writing


def index_renderings(records: Records, folder: Path) -> None:
    """Render every formula of the records of a segment."""
    keys, starts = array("Q"), array("Q", [0])
    known: set[int] = set()
    with (folder / "renderings.bin").open("wb") as file:
        for kind, latex in _formulas(records):
            _add(file, keys, starts, known, kind, latex)
    Keys.write(folder, "renderings", np.array(keys, np.uint64))
    np.save(folder / "renderings.starts.npy", np.array(starts, np.int64))
    write_rendering_code(folder)


def write_rendering_code(folder: Path) -> None:
    """Write which code rendered the formulas of a segment."""
    (folder / "renderings.json").write_text(json.dumps({"code": rendering_code()}), "utf-8")


def rendering_keys(records: Records) -> Iterator[int]:
    """Yield the keys of the renderings of a segment in order; one that occurs again, again."""
    return (_key(kind, latex) for kind, latex in _formulas(records))


def _key(kind: str, latex: str) -> int:
    return key(f"{kind} {latex}")


def _formulas(records: Records) -> Iterator[tuple[str, str]]:
    """Yield every formula of a segment, and how it is rendered."""
    for latex in records.expanded_latex():
        yield DISPLAY_MATHML, latex
        yield UNICODE_TEXT, latex
    for latex in _inline_formulas(records):
        yield INLINE_MATHML, latex


def _inline_formulas(records: Records) -> Iterator[str]:
    for _, _, text in records.article_texts():
        for found in _INLINE_MATH.findall(text):
            latex = found.strip("$")
            if len(latex) <= MAX_INLINE:
                yield latex


def _add(
    file: BinaryIO,
    keys: "array[int]",
    starts: "array[int]",
    known: set[int],
    kind: str,
    latex: str,
) -> None:
    """Append the rendering of a formula, unless it has been added before."""
    number = _key(kind, latex)
    if number in known:
        return
    known.add(number)
    made = zlib.compressobj(9, wbits=-15, zdict=_DICTIONARY)
    data = made.compress(render(kind, latex).encode("utf-8", "surrogatepass")) + made.flush()
    file.write(data)
    keys.append(number)
    starts.append(starts[-1] + len(data))


# ------------------------------------------------------------ reading


def has_renderings(folder: Path) -> bool:
    """Whether the index of a segment has rendered formulas, made by this code."""
    try:
        found = json.loads((folder / "renderings.json").read_text("utf-8"))
        return bool(found["code"] == rendering_code())
    except (OSError, ValueError, KeyError, TypeError):
        return False


class RenderingIndex:
    """The rendered formulas of a library."""

    def __init__(self, segments: IndexSegments) -> None:
        folders = (part.folder for part in segments if has_renderings(part.folder))
        self._parts = [_SegmentRenderings(folder) for folder in folders]

    def find(self, kind: str, latex: str) -> str | None:
        """Return the rendering of a formula; None if it is not stored."""
        number = _key(kind, latex)
        for part in self._parts:
            row = part.keys.find_key(number)
            if row >= 0:
                return part.read(row)
        return None


class _SegmentRenderings:
    """The rendered formulas of a segment."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def keys(self) -> Keys:
        """The row of each formula."""
        return Keys(self._folder, "renderings")

    @cached_property
    def _starts(self) -> "np.ndarray[tuple[int, ...], np.dtype[np.int64]]":
        return load_array(self._folder, "renderings.starts")

    @cached_property
    def _bytes(self) -> mmap.mmap:
        with (self._folder / "renderings.bin").open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def read(self, row: int) -> str:
        """Return a rendering."""
        start, stop = self._starts[row : row + 2].tolist()
        reader = zlib.decompressobj(wbits=-15, zdict=_DICTIONARY)
        return reader.decompress(self._bytes[start:stop]).decode("utf-8", "surrogatepass")
