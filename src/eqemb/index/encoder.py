"""Sentence encoders: any function from texts to vectors, beside the library's own search.

    encoded/NAME-KEY.safetensors    what an encoder made of the text around each equation, kept

None comes with eqemb. A user names one as MODULE:FUNCTION, `encode(list of texts) -> array`. Behind
a name there may be another encoder tomorrow: beside the vectors stands what it made of a PROBE,
and where it makes something else of it now, everything is encoded anew.
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

from eqemb.article import EQUATION_MARK
from eqemb.errors import UsageError
from eqemb.index.vectors import lengthened
from eqemb.library.database import Records
from eqemb.storage import array_file, atomic

Encode = Callable[[list[str]], NDArray[np.float32]]
Floats = NDArray[np.float32]

#: Words before and after an equation that an encoder reads.
BEFORE, AFTER = 40, 24
_TOGETHER = 512  # texts that are encoded at a time
_MATHS = re.compile(r"\$[^$]*\$")
PROBE = "the quick gradient descends a lazy loss, and the norm of its vector vanishes"
_ALIKE = 1e-3  # what half precision, or another batch, may change in a number of a unit vector


def find_encoder(name: str) -> Encode:
    """The function from texts to vectors that MODULE:FUNCTION names; modules here count too."""
    module, _, function = name.partition(":")
    if "" not in sys.path:
        sys.path.append("")
    try:
        found = getattr(import_module(module), function)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise UsageError(f"no encoder {name!r}: {error}; say MODULE:FUNCTION") from None
    except Exception as error:
        raise UsageError(f"the module of the encoder {name!r} failed: {error!r}") from error
    if not callable(found):
        raise UsageError(f"the encoder {name!r} is no function")

    def encode(texts: list[str]) -> Floats:
        """Its vectors, checked: one of finite numbers for each text."""
        try:
            vectors = np.asarray(found(texts), np.float32)
        except Exception as error:
            raise UsageError(f"the encoder {name!r} failed: {error!r}") from error
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise UsageError(
                f"the encoder {name!r} made an array of shape {vectors.shape} from {len(texts)}"
                " texts: give a row of finite numbers for each"
            )
        return vectors

    return encode


def passages(records: Records, before: int = BEFORE, after: int = AFTER) -> Iterator[str]:
    """Words as written around each equation, in order; mathematics is left out."""
    for (text,) in records.rows("SELECT text FROM articles ORDER BY id"):
        spaced = _MATHS.sub(" ", text).replace(EQUATION_MARK, f" {EQUATION_MARK} ")
        words: list[str] = []
        places = []
        for piece in spaced.split():
            if piece == EQUATION_MARK:
                places.append(len(words))
            else:
                words.append(piece)
        for at in places:
            yield " ".join(words[max(0, at - before) : at + after])


class Encoding:
    """The text around every equation as an encoder sees it; encoded once and kept."""

    def __init__(
        self,
        records: Records,
        folder: Path,
        name: str,
        *,
        progress: Callable[[int, int], object] = lambda _done, _all: None,
    ) -> None:
        self._records, self._progress = records, progress
        self._encode = find_encoder(name)
        self._name = name.replace(":", ".")
        key = hashlib.sha256(f"{name}\0{records.sha256()}".encode()).hexdigest()[:12]
        self._path = folder / "encoded" / f"{self._name}-{key}.safetensors"

    @cached_property
    def _vectors(self) -> Floats:
        probe = lengthened(self._encode([PROBE]))[0]
        if (kept := self._kept(probe)) is not None:
            return kept
        texts = list(passages(self._records))
        vectors = np.empty((len(texts), len(probe)), np.float32)
        for at in range(0, len(texts), _TOGETHER):
            self._progress(at, len(texts))
            vectors[at : at + _TOGETHER] = self._encoded(texts[at : at + _TOGETHER], len(probe))
        with atomic.new_file(self._path) as new:
            array_file.write_arrays(new, {"vectors": vectors, "probe": probe})
        self._remove_others()
        return array_file.map_arrays(self._path)["vectors"]

    def _kept(self, probe: Floats) -> Floats | None:
        """What was encoded before, if by the same encoder."""
        if not self._path.exists():
            return None
        found = array_file.map_arrays(self._path)
        before = found["probe"]
        is_same = before.shape == probe.shape and np.allclose(before, probe, rtol=0, atol=_ALIKE)
        return found["vectors"] if is_same else None

    def _remove_others(self) -> None:
        """Those of the same name, of papers as they were before."""
        mine = re.compile(rf"{re.escape(self._name)}-[0-9a-f]{{12}}\.(npy|safetensors)")
        for path in self._path.parent.iterdir():
            if mine.fullmatch(path.name) and path.name != self._path.name:
                path.unlink(missing_ok=True)

    def _encoded(self, texts: list[str], size: int) -> Floats:
        made = lengthened(self._encode(texts))
        if made.shape[1] != size:
            raise UsageError(f"the encoder makes vectors of {size} and of {made.shape[1]} numbers")
        return made

    def scores(self, text: str) -> Floats:
        """Cosines of a query with the text around each equation; 0 where they are less."""
        query = self._encoded([text], self._vectors.shape[1])[0]
        found: Floats = np.maximum(self._vectors @ query, 0)
        return found
