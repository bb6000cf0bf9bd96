"""The trained thing, apart from the trainer: vectors with names, kept as a folder.

    config.json          model, settings, corpus, split, seed, sha256
    arrays.safetensors   rho and alpha of words, equations and units, mapped into memory
    vocabulary.json      words, equations (canonical forms) and units
    history.json         loss and validation of every iteration
    README.md            a card for people
    run.json             times and threads: what the hash does not cover

Opens with NumPy alone.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from eqemb import exports, store
from eqemb.errors import EqembError, UsageError
from eqemb.exports import Exported

FORMAT = "model"
VERSION = 1
KINDS = ("words", "equations", "units")


class KeyedVectors:
    """Vectors by key, in the manner of gensim's: `kind` says whether they are rho or alpha."""

    def __init__(self, keys: Sequence[str], vectors: NDArray[np.float32], kind: str) -> None:
        self.index_to_key = list(keys)
        self.vectors = vectors
        self.kind = kind

    @cached_property
    def key_to_index(self) -> dict[str, int]:
        """The row of every key."""
        return {key: index for index, key in enumerate(self.index_to_key)}

    @property
    def vector_size(self) -> int:
        """K."""
        return int(self.vectors.shape[1])

    def __len__(self) -> int:
        return len(self.index_to_key)

    def __contains__(self, key: str) -> bool:
        return key in self.key_to_index

    def __getitem__(self, key: str) -> NDArray[np.float32]:
        row: NDArray[np.float32] = self.vectors[self._row(key)]
        return row

    def __repr__(self) -> str:
        return f"<KeyedVectors of {len(self):,} keys, {self.vector_size} numbers of {self.kind}>"

    def _row(self, key: str) -> int:
        row = self.key_to_index.get(key)
        if row is None:
            raise UsageError(f"no vector for {key!r}: it is not among the {len(self):,} keys")
        return row

    @cached_property
    def _unit(self) -> NDArray[np.float32]:
        norms = np.linalg.norm(self.vectors, axis=1, keepdims=True)
        unit: NDArray[np.float32] = self.vectors / np.maximum(norms, 1e-12)
        return unit

    def similarity(self, one: str, other: str) -> float:
        """The cosine of two keys' vectors."""
        return float(self._unit[self._row(one)] @ self._unit[self._row(other)])

    def most_similar(
        self, positive: str | Iterable[str], negative: str | Iterable[str] = (), topn: int = 10
    ) -> list[tuple[str, float]]:
        """Keys whose cosine with the sum of unit vectors is largest; those asked about left out."""
        plus = [self._row(key) for key in _several(positive)]
        minus = [self._row(key) for key in _several(negative)]
        if not plus and not minus:
            raise UsageError("most_similar needs at least one key")
        query = self._unit[plus].sum(axis=0) - self._unit[minus].sum(axis=0)
        cosine = self._unit @ (query / max(float(np.linalg.norm(query)), 1e-12))
        cosine[plus + minus] = -np.inf
        order = np.argsort(-cosine, kind="stable")[
            : max(0, min(topn, len(self) - len(plus + minus)))
        ]
        return [(self.index_to_key[row], float(cosine[row])) for row in order]


def _several(keys: str | Iterable[str]) -> list[str]:
    return [keys] if isinstance(keys, str) else list(keys)


@dataclass
class Embeddings:
    """What training leaves: arrays named rho_words, alpha_words, rho_equations, ..."""

    config: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    keys: dict[str, list[str]]
    """Of "words", "equations" and "units", as far as the model has them."""
    history: list[dict[str, Any]] = field(default_factory=list)
    run: dict[str, Any] = field(default_factory=dict)

    def view(self, kind: str, side: str = "alpha") -> KeyedVectors:
        """Vectors of words, equations or units; `side` is "rho" or "alpha"."""
        name = f"{side}_{kind}"
        if name not in self.arrays:
            have = ", ".join(sorted(self.arrays))
            raise UsageError(f"this model has no {name}: it has {have}")
        return KeyedVectors(self.keys[kind], self.arrays[name], side)

    @property
    def words(self) -> KeyedVectors:
        """Feature vectors (alpha) of words; rho by `view("words", "rho")`."""
        return self.view("words")

    @property
    def equations(self) -> KeyedVectors:
        """Feature vectors (alpha) of equation types."""
        return self.view("equations")

    @property
    def units(self) -> KeyedVectors:
        """Feature vectors (alpha) of units."""
        return self.view("units")

    @property
    def sha256(self) -> str:
        """Of settings, vocabulary and arrays; not of times, paths or threads."""
        return store.content_hash({"config": self.config, "keys": self.keys}, self.arrays)

    def export(
        self,
        path: Path,
        kind: str = "words",
        side: str = "alpha",
        form: str = "word2vec",
        *,
        replace: bool = False,
    ) -> Exported:
        """Write vectors for other programs: "word2vec", "tsv", "parquet" or "safetensors".

        Keys that a form cannot hold are changed, and counted, as `exports.export` says.
        """
        view = self.view(kind, side)
        about = {"model": str(self.config.get("model", "")), "kind": kind, "side": side}
        about["sha256"] = self.sha256
        return exports.export(
            path, view.index_to_key, view.vectors, form, about=about, replace=replace
        )

    def check(self) -> None:
        """Refuse vectors that are not numbers."""
        for name, array in self.arrays.items():
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise EqembError(f"{name} is no longer finite: train with a smaller rate")

    def save(self, path: Path, *, replace: bool = False) -> None:
        """Write the folder, whole or not at all."""
        self.check()
        with store.new_folder(path, replace=replace) as folder:
            store.write_arrays(folder / "arrays.safetensors", self.arrays)
            store.write_json(folder / "vocabulary.json", self.keys)
            store.write_json(folder / "history.json", self.history)
            store.write_json(folder / "run.json", self.run)
            (folder / "README.md").write_text(self.card(), encoding="utf-8")
            head = {"format": f"eqemb {FORMAT}", "version": VERSION, "sha256": self.sha256}
            store.write_json(folder / "config.json", head | self.config)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Open a folder; vectors stay on disk until they are used."""
        path = store.whole(path)
        config = store.read_json(path / "config.json", FORMAT, VERSION)
        for name in ("format", "version", "sha256"):
            config.pop(name)
        read = {
            name: json.loads((path / f"{name}.json").read_text("utf-8"))
            for name in ("vocabulary", "history", "run")
        }
        arrays = store.map_arrays(path / "arrays.safetensors")
        return cls(config, arrays, read["vocabulary"], read["history"], read["run"])

    def card(self) -> str:
        """What this model is, for people."""
        lines = [f"# {self.config.get('model', 'model')}", ""]
        lines += ["Equation embeddings made by eqemb, after Krstovski and Blei (2018).", ""]
        lines += [f"- {kind}: {len(keys):,}" for kind, keys in self.keys.items()]
        lines += [f"- {name}: {value}" for name, value in _flat(self.config)]
        lines += [f"- sha256: {self.sha256}", "", "| array | shape |", "|---|---|"]
        lines += [
            f"| {name} | {' x '.join(map(str, array.shape))} |"
            for name, array in sorted(self.arrays.items())
        ]
        return "\n".join([*lines, ""])


def load_words(path: Path) -> Embeddings:
    """Words to build on: a model's folder or, with alpha alone, a text file of vectors."""
    if store.whole(path).is_dir():
        found = Embeddings.load(path)
        found.view("words")
        return found
    if not path.exists():
        raise UsageError(f"no words at {path}: name a model's folder or a file of vectors")
    words, vectors = exports.read_word2vec(path)
    return Embeddings({"model": "word vectors"}, {"alpha_words": vectors}, {"words": words})


def sparkline(values: Sequence[float]) -> str:
    """A curve in one line of text."""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    return "".join("▁▂▃▄▅▆▇█"[int(7.999 * (value - low) / span)] for value in values)


def _flat(settings: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value)
        else:
            yield name, value
