"""Sentence encoders: any function from texts to vectors, as an additional ranking.

    encoded/NAME-KEY.safetensors    the encoder's vectors of the text around each equation

eqemb comes with no encoder. A user names one as MODULE:FUNCTION, `encode(list of texts) -> array`.
The encoder behind a name may change. Therefore its vector of `PROBE` is stored beside the vectors,
and everything is encoded again if the encoder returns another vector for it.
"""

import hashlib
import re
import sys
from collections.abc import Callable, Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eqemb.article import tokenize
from eqemb.errors import UsageError
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


def passages(records: Records, before: int = BEFORE, after: int = AFTER) -> Iterator[str]:
    """Yield the words as written around each equation, in order; inline mathematics is left out."""
    for _, _, text in records.article_texts():
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


class EncoderIndex:
    """The text around every equation as encoded by a sentence encoder; encoded once and stored."""

    def __init__(
        self,
        records: Records,
        folder: Path,
        name: str,
        *,
        progress: Callable[[int, int], object] = lambda _done, _all: None,
    ) -> None:
        self._records, self._progress = records, progress
        self._encode = load_encoder(name)
        self._name = name.replace(":", ".")
        key = hashlib.sha256(f"{name}\0{records.sha256()}".encode()).hexdigest()[:12]
        self._path = folder / "encoded" / f"{self._name}-{key}.safetensors"

    @cached_property
    def _vectors(self) -> VectorIndex:
        return VectorIndex(self._load())

    def _load(self) -> Floats:
        """Return the stored vectors; encode all texts if there are none of this encoder."""
        probe = normalise(self._encode([PROBE]))[0]
        if (stored := self._stored(probe)) is not None:
            return stored
        texts = list(passages(self._records))
        vectors = np.empty((len(texts), len(probe)), np.float32)
        for at in range(0, len(texts), _TEXTS_AT_ONCE):
            self._progress(at, len(texts))
            vectors[at : at + _TEXTS_AT_ONCE] = self._encode_checked(
                texts[at : at + _TEXTS_AT_ONCE], len(probe)
            )
        with atomic.new_file(self._path) as new:
            array_file.write_arrays(new, {"vectors": vectors, "probe": probe})
        self._remove_others()
        return array_file.map_arrays(self._path)["vectors"]

    def _stored(self, probe: Floats) -> Floats | None:
        """Return the stored vectors if the same encoder made them."""
        if not self._path.exists():
            return None
        found = array_file.map_arrays(self._path)
        before = found["probe"]
        is_same = before.shape == probe.shape and np.allclose(
            before, probe, rtol=0, atol=_TOLERANCE
        )
        return found["vectors"] if is_same else None

    def _remove_others(self) -> None:
        """Remove files of the same encoder for earlier states of the library."""
        mine = re.compile(rf"{re.escape(self._name)}-[0-9a-f]{{12}}\.(npy|safetensors)")
        for path in self._path.parent.iterdir():
            if mine.fullmatch(path.name) and path.name != self._path.name:
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
