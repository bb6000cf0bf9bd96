"""The vectors of a sentence encoder for every equation: computed once, stored with the library.

    encoded/NAME-SEGMENT.safetensors          vectors of the text around each equation
    encoded/NAME-latex-SEGMENT.safetensors    vectors of its LaTeX

Words are compared with the text, equations with the LaTeX. Each kind is encoded when it is first
needed; when papers are added, only those of the new segment are. The encoder behind a name may
change. Therefore its vector of `PROBE` is stored beside the vectors, and everything is encoded
again if the encoder returns another vector for it.
"""

import os
import re
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import closing
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eqemb.article import tokenize
from eqemb.errors import UsageError
from eqemb.index.encoder_models import file_name, load_encoder
from eqemb.index.segments import IndexSegment, IndexSegments
from eqemb.index.vector_index import VectorIndex, normalise
from eqemb.library.database import Records
from eqemb.library.links import refuse_links
from eqemb.storage import array_file, atomic
from eqemb.storage.checksums import check_file, is_sealed, read_checksums, seal
from eqemb.storage.locks import lock_folder

Floats = NDArray[np.float32]

#: Words before and after an equation that an encoder reads, and characters of its LaTeX.
BEFORE, AFTER, MAX_LATEX = 40, 24, 400
_TEXTS_AT_ONCE = 512
PROBE = "the quick gradient descends a lazy loss, and the norm of its vector vanishes"
_TOLERANCE = 1e-3  # of a coordinate of a unit vector, for half precision or another batch size
#: What says nothing about an equation: its name, the size of fences, space and line breaks.
_DRESS = re.compile(
    r"\\(?:label|tag\*?|vspace\*?|hspace\*?|color)\s*\{[^{}]*\}"
    r"|\\(?:left|right|middle)(?![a-zA-Z])\s*\.?"
    r"|\\(?:nonumber|notag|displaystyle|textstyle|scriptstyle|limits|nolimits|quad|qquad"
    r"|[bB]igg?[lrm]?)(?![a-zA-Z])"
    r"|\\[,;:!> ]|\\\\(?:\s*+\[[^\[\]]*+\])?|(?<!\\)[&~]"
)


def formula_text(latex: str) -> str:
    """Return LaTeX as an encoder reads it: without labels, sizes and spacing, cut at a length."""
    return " ".join(_DRESS.sub(" ", latex).split())[:MAX_LATEX]


def passages(texts: Iterable[str], before: int = BEFORE, after: int = AFTER) -> Iterator[str]:
    """Yield the words as written around each equation of texts; inline mathematics is left out."""
    for text in texts:
        words: list[str] = []
        places: list[int] = []
        piece, last = "", 0
        for token in tokenize(text):
            if token.kind == "word":
                continue
            piece += text[last : token.start] + " "
            last = token.end
            if token.kind == "equation":
                words += piece.split()
                piece = ""
                places.append(len(words))
        words += (piece + text[last:]).split()
        for at in places:
            yield " ".join(words[max(0, at - before) : at + after])


def _segment_passages(segment: IndexSegment) -> list[str]:
    """Return the text around each equation of a segment, with those of removed articles."""
    with closing(Records(segment.records.path)) as records:
        return list(passages(text for _, _, text in records.article_texts()))


def _segment_formulas(segment: IndexSegment) -> list[str]:
    """Return the LaTeX of each equation of a segment, with those of removed articles."""
    with closing(Records(segment.records.path)) as records:
        return [formula_text(latex) for latex in records.expanded_latex()]


def _seal(folder: Path) -> None:
    """Write the checksums of encoded equations; another process may do so at the same time."""
    lock = lock_folder(folder, wait=True)
    try:
        seal(folder)
    finally:
        if lock is not None:
            os.close(lock)


class EncoderIndex:
    """Text and LaTeX of every equation as encoded by a sentence encoder."""

    def __init__(
        self,
        segments: IndexSegments,
        folder: Path,
        name: str,
        *,
        progress: Callable[[int, int], object] = lambda _done, _all: None,
    ) -> None:
        self._segments, self._progress = segments, progress
        self._encode = load_encoder(name)
        self._folder, self._name = folder / "encoded", file_name(name)

    @cached_property
    def _contexts(self) -> VectorIndex:
        return self._vectors(self._name, _segment_passages)

    @cached_property
    def _formulas(self) -> VectorIndex:
        return self._vectors(f"{self._name}-latex", _segment_formulas)

    @cached_property
    def _probe(self) -> Floats:
        found: Floats = normalise(self._encode([PROBE]))[0]
        return found

    def _vectors(self, name: str, read: Callable[[IndexSegment], list[str]]) -> VectorIndex:
        """Return the vectors of all segments; texts of segments without a file are encoded."""
        paths = [self._folder / f"{name}-{part.name}.safetensors" for part in self._segments]
        stored = [self._stored(path, self._probe) for path in paths]
        missing = sum(
            len(part) for part, found in zip(self._segments, stored, strict=True) if found is None
        )
        if missing:
            refuse_links(self._folder.parent)
        if missing and not is_sealed(self._folder):  # so that files without checksums are new ones
            atomic.make_folders(self._folder)
            _seal(self._folder)
        done = 0
        for at, part in enumerate(self._segments):
            if stored[at] is None:
                texts = read(part)
                self._write(paths[at], texts, (done, missing))
                done += len(texts)
                stored[at] = array_file.map_arrays(paths[at])["vectors"]
        if missing:
            self._remove_others(name, {path.name for path in paths})
        if missing or not self._are_listed(paths):
            _seal(self._folder)
        return VectorIndex([found for found in stored if found is not None])

    def _are_listed(self, paths: list[Path]) -> bool:
        """Whether files have checksums; otherwise, a process was killed after it wrote them.

        In libraries of older versions, no file has.
        """
        if not is_sealed(self._folder):
            return True
        known = read_checksums(self._folder).files
        return all(path.name in known for path in paths)

    def _write(self, path: Path, texts: list[str], state: tuple[int, int]) -> None:
        """Encode the texts of a segment; `state` is what was encoded before, and what will be."""
        different = list(dict.fromkeys(texts))  # rows of one display have the same text
        size = len(self._probe)
        vectors = np.empty((len(different), size), np.float32)
        for at in range(0, len(different), _TEXTS_AT_ONCE):
            self._progress(state[0] + at * len(texts) // len(different), state[1])
            vectors[at : at + _TEXTS_AT_ONCE] = self._encode_checked(
                different[at : at + _TEXTS_AT_ONCE], size
            )
        place = {text: at for at, text in enumerate(different)}
        rows = np.array([place[text] for text in texts], np.int64)
        with atomic.new_file(path) as new:
            array_file.write_arrays(new, {"vectors": vectors[rows], "probe": self._probe})

    @staticmethod
    def _stored(path: Path, probe: Floats) -> Floats | None:
        """Return the stored vectors of a segment if the same encoder made them."""
        if not path.exists():
            return None
        check_file(path, "remove it, and it is computed again")
        found = array_file.map_arrays(path)
        before = found["probe"]
        is_same = before.shape == probe.shape and np.allclose(
            before, probe, rtol=0, atol=_TOLERANCE
        )
        return found["vectors"] if is_same else None

    def _remove_others(self, name: str, kept: Container[str]) -> None:
        """Remove files of the same encoder for segments that the library no longer has."""
        mine = re.compile(rf"{re.escape(name)}-[0-9a-f]+\.(npy|safetensors)")
        for path in self._folder.iterdir():
            if mine.fullmatch(path.name) and path.name not in kept:
                path.unlink(missing_ok=True)

    def _encode_checked(self, texts: list[str], size: int) -> Floats:
        made = normalise(self._encode(texts))
        if made.shape[1] != size:
            raise UsageError(
                f"the encoder returned vectors of {size} and of {made.shape[1]} numbers:"
                " it must always return the same number"
            )
        return made

    def scores(self, text: str) -> Floats:
        """Return the cosine of a query with the text around each equation; negative ones as 0."""
        return self._contexts.scores(self._encode_checked([text], len(self._probe))[0])

    def formula_scores(self, latex: str) -> Floats:
        """Return the cosine of LaTeX with that of each equation; negative ones as 0."""
        query = self._encode_checked([formula_text(latex)], len(self._probe))[0]
        return self._formulas.scores(query)
