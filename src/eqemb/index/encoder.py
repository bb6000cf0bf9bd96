"""Sentence encoders: any function from texts to vectors, as an additional ranking.

    encoded/NAME-SEGMENT.safetensors    the encoder's vectors of the text around each equation

eqemb comes with no encoder. A user names one as MODULE:FUNCTION, `encode(list of texts) -> array`.
The encoder behind a name may change. Therefore its vector of `PROBE` is stored beside the vectors,
and everything is encoded again if the encoder returns another vector for it.
"""

import re
import sys
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import closing
from functools import cached_property
from importlib import import_module
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eqemb.article import tokenize
from eqemb.errors import UsageError
from eqemb.index.segments import IndexSegment, IndexSegments
from eqemb.index.vector_index import VectorIndex, normalise
from eqemb.library.database import Records
from eqemb.storage import array_file, atomic

Encode = Callable[[list[str]], NDArray[np.float32]]
Floats = NDArray[np.float32]

#: Words before and after an equation that an encoder reads.
BEFORE, AFTER = 40, 24
_TEXTS_AT_ONCE = 512
PROBE = "the quick gradient descends a lazy loss, and the norm of its vector vanishes"
_TOLERANCE = 1e-3  # of a coordinate of a unit vector, for half precision or another batch size


def load_encoder(name: str) -> Encode:
    """Import the function MODULE:FUNCTION; modules in the current folder count too."""
    if not isinstance(name, str):
        raise UsageError(f"encoder must be a string MODULE:FUNCTION, not {name!r}")
    module, _, function = name.partition(":")
    if "" not in sys.path:
        sys.path.append("")
    try:
        found = getattr(import_module(module), function)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise UsageError(f"no encoder {name!r}: {error}; write MODULE:FUNCTION") from None
    except Exception as error:
        raise UsageError(f"importing the encoder {name!r} failed: {error!r}") from error
    if not callable(found):
        raise UsageError(f"the encoder {name!r} is not a function")

    def encode(texts: list[str]) -> Floats:
        """Call the encoder and check its result: a row of finite numbers for each text."""
        try:
            vectors = np.asarray(found(texts), np.float32)
        except Exception as error:
            raise UsageError(f"the encoder {name!r} failed: {error!r}") from error
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise UsageError(
                f"the encoder {name!r} returned an array of shape {vectors.shape} for {len(texts)}"
                " texts: it must return a row of finite numbers for each"
            )
        return vectors

    return encode


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


class EncoderIndex:
    """The text around every equation as encoded by a sentence encoder; encoded once and stored."""

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
        self._folder, self._name = folder / "encoded", name.replace(":", ".")

    @cached_property
    def _vectors(self) -> VectorIndex:
        probe = normalise(self._encode([PROBE]))[0]
        paths = [self._folder / f"{self._name}-{part.name}.safetensors" for part in self._segments]
        stored = [self._stored(path, probe) for path in paths]
        missing = sum(
            len(part) for part, found in zip(self._segments, stored, strict=True) if found is None
        )
        done = 0
        for at, part in enumerate(self._segments):
            if stored[at] is None:
                texts = _segment_passages(part)
                self._write(paths[at], texts, probe, (done, missing))
                done += len(texts)
                stored[at] = array_file.map_arrays(paths[at])["vectors"]
        if missing:
            self._remove_others({path.name for path in paths})
        return VectorIndex([found for found in stored if found is not None])

    def _write(self, path: Path, texts: list[str], probe: Floats, state: tuple[int, int]) -> None:
        """Encode the texts of a segment; `state` is what was encoded before, and what will be."""
        vectors = np.empty((len(texts), len(probe)), np.float32)
        for at in range(0, len(texts), _TEXTS_AT_ONCE):
            self._progress(state[0] + at, state[1])
            vectors[at : at + _TEXTS_AT_ONCE] = self._encode_checked(
                texts[at : at + _TEXTS_AT_ONCE], len(probe)
            )
        with atomic.new_file(path) as new:
            array_file.write_arrays(new, {"vectors": vectors, "probe": probe})

    @staticmethod
    def _stored(path: Path, probe: Floats) -> Floats | None:
        """Return the stored vectors of a segment if the same encoder made them."""
        if not path.exists():
            return None
        found = array_file.map_arrays(path)
        before = found["probe"]
        is_same = before.shape == probe.shape and np.allclose(
            before, probe, rtol=0, atol=_TOLERANCE
        )
        return found["vectors"] if is_same else None

    def _remove_others(self, kept: Container[str]) -> None:
        """Remove files of the same encoder for segments that the library no longer has."""
        mine = re.compile(rf"{re.escape(self._name)}-[0-9a-f]+\.(npy|safetensors)")
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
        query = self._encode_checked([text], self._vectors.dim)[0]
        return self._vectors.scores(query)
