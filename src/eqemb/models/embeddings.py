"""Trained embeddings, separate from the trainer: named vectors, saved as a folder.

    config.json          model, settings, corpus, split, seed, sha256
    arrays.safetensors   rho and alpha of words, equations and units, mapped into memory
    vocabulary.json      words, equations (canonical forms) and units
    history.json         loss and validation of every iteration
    README.md            a model card
    run.json             times and threads, which the hash does not cover
    checksums.json       sizes and hashes of the files

Opens with NumPy alone.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from eqemb.errors import EqembError, UnknownKeyError, UsageError
from eqemb.models import vector_io
from eqemb.models.vector_io import Exported
from eqemb.storage import array_file, atomic
from eqemb.storage.checksums import check_folder, seal

MODEL_FORMAT = "model"
MODEL_VERSION = 1


Floats = NDArray[np.float32]
Key = str | int | np.integer[Any]
#: An item of a query of `most_similar`: a key or a vector, with a weight if it is a tuple.
Asked = Key | NDArray[Any] | tuple[Key | NDArray[Any], float]
Several = Key | NDArray[Any] | Iterable[Asked] | None


class KeyedVectors:
    """Vectors by key, with the interface of gensim's class of the same name.

    `kind` is "rho" or "alpha". An int is a row. Iterating yields the keys. `find_key` returns the
    key that another name stands for, or None.
    """

    def __init__(
        self,
        keys: Sequence[str],
        vectors: Floats,
        kind: str,
        find_key: Callable[[str], str | None] = lambda _name: None,
    ) -> None:
        self.index_to_key = list(keys)
        self.vectors = vectors
        self.kind = kind
        self._find_key = find_key

    @cached_property
    def key_to_index(self) -> dict[str, int]:
        """The row of every key."""
        return {key: index for index, key in enumerate(self.index_to_key)}

    @property
    def vector_size(self) -> int:
        """K, the dimension."""
        return int(self.vectors.shape[1])

    def __len__(self) -> int:
        return len(self.index_to_key)

    def __iter__(self) -> Iterator[str]:
        return iter(self.index_to_key)

    def __contains__(self, key: Key) -> bool:
        return self.get_index(key, -1) >= 0

    def __getitem__(self, keys: Key | Iterable[Key]) -> Floats:
        """The vector of a key, or the vectors of several keys as rows."""
        if isinstance(keys, str | int | np.integer):
            return self.get_vector(keys)
        return np.stack([self.get_vector(key) for key in keys])

    def __repr__(self) -> str:
        return f"KeyedVectors<{self.kind}, vector_size={self.vector_size}, {len(self)} keys>"

    def get_index(self, key: Key, default: int | None = None) -> int:
        """The row of a key."""
        row = self._row(key) if isinstance(key, str) else int(key)
        if row is not None and 0 <= row < len(self):
            return row
        if default is None:
            raise UnknownKeyError(f"no vector for {key!r}: it is not one of the {len(self):,} keys")
        return default

    def _row(self, key: str) -> int | None:
        row = self.key_to_index.get(key)
        if row is None and (found := self._find_key(key)) is not None:
            row = self.key_to_index.get(found)
        return row

    def get_vector(self, key: Key, norm: bool = False) -> Floats:  # noqa: FBT001, FBT002
        """The vector of a key, read-only; with `norm`, normalised to length one."""
        row = self.get_index(key)
        found: Floats = self.vectors[row] / self._norms[row] if norm else self.vectors[row]
        found = found.view()
        found.flags.writeable = False
        return found

    def get_normed_vectors(self) -> Floats:
        """All vectors, normalised to length one."""
        return self.vectors / self._norms[:, None]

    @cached_property
    def _norms(self) -> Floats:
        """The lengths of vectors; at least 1e-12, so that zeros are similar to nothing."""
        norms: Floats = np.maximum(np.linalg.norm(self.vectors, axis=1), np.float32(1e-12))
        return norms

    def similarity(self, w1: Key, w2: Key) -> float:
        """The cosine similarity of two keys."""
        return float(self.get_vector(w1, norm=True) @ self.get_vector(w2, norm=True))

    def distance(self, w1: Key, w2: Key) -> float:
        """One minus the cosine similarity."""
        return 1 - self.similarity(w1, w2)

    @overload
    def most_similar(
        self,
        positive: Several = ...,
        negative: Several = ...,
        topn: int = ...,
        restrict_vocab: int | None = ...,
    ) -> list[tuple[str, float]]: ...
    @overload
    def most_similar(
        self,
        positive: Several = ...,
        negative: Several = ...,
        *,
        topn: None,
        restrict_vocab: int | None = ...,
    ) -> Floats: ...
    def most_similar(
        self,
        positive: Several = None,
        negative: Several = None,
        topn: int | None = 10,
        restrict_vocab: int | None = None,
    ) -> list[tuple[str, float]] | Floats:
        """The keys most similar, by cosine, to the weighted mean of normalised keys and vectors.

        The keys of the query are left out. `topn=None` returns the cosines of all rows instead;
        `restrict_vocab` searches only so many first rows.
        """
        if topn is not None and topn < 1:
            return []
        query, asked = self._query(_several(positive), _several(negative))
        last = restrict_vocab or len(self)
        cosine: Floats = (self.vectors[:last] @ query) / self._norms[:last]
        if topn is None:
            return cosine
        order = np.argsort(-cosine, kind="stable")[: topn + len(asked)]
        found = [row for row in order.tolist() if row not in asked]
        return [(self.index_to_key[row], float(cosine[row])) for row in found[:topn]]

    def similar_by_key(
        self, key: Key, topn: int = 10, restrict_vocab: int | None = None
    ) -> list[tuple[str, float]]:
        """The keys most similar to a key."""
        return self.most_similar([key], topn=topn, restrict_vocab=restrict_vocab)

    similar_by_word = similar_by_key

    def similar_by_vector(
        self, vector: NDArray[Any], topn: int = 10, restrict_vocab: int | None = None
    ) -> list[tuple[str, float]]:
        """The keys most similar to a vector."""
        return self.most_similar([vector], topn=topn, restrict_vocab=restrict_vocab)

    def _query(self, positive: list[Asked], negative: list[Asked]) -> tuple[Floats, set[int]]:
        """The normalised mean of a query, and the rows that are part of it."""
        if not positive and not negative:
            raise UsageError("most_similar needs at least one key or vector")
        total, asked = np.zeros(self.vector_size, np.float32), set()
        for at, item in enumerate(positive + negative):
            sign = 1.0 if at < len(positive) else -1.0
            thing, weight = item if isinstance(item, tuple) else (item, sign)
            if isinstance(thing, np.ndarray):
                if thing.shape != total.shape:
                    raise UsageError(
                        f"a vector must have {self.vector_size} numbers, not shape {thing.shape}"
                    )
                total += np.float32(weight) * thing.astype(np.float32)
            else:
                asked.add(self.get_index(thing))
                total += np.float32(weight) * self.get_vector(thing, norm=True)
        return total / max(float(np.linalg.norm(total)), 1e-12), asked


def _several(asked: Several) -> list[Asked]:
    if asked is None:
        return []
    if isinstance(asked, str | int | np.integer):
        return [asked]
    return [asked] if isinstance(asked, np.ndarray) and asked.ndim == 1 else list(asked)


@dataclass(repr=False, eq=False)
class Embeddings:
    """The result of training: arrays named rho_words, alpha_words, rho_equations, ..."""

    config: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    keys: dict[str, list[str]]
    """Of "words", "equations" and "units", those that the model has."""
    history: list[dict[str, Any]] = field(default_factory=list)
    run: dict[str, Any] = field(default_factory=dict)
    equation_key: Callable[[str], str | None] = field(
        default=lambda _name: None, repr=False, compare=False
    )
    """Returns the key of an equation that is given by another name, such as ARTICLE#4; or None."""
    _views: dict[str, KeyedVectors] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def view(self, kind: str, side: str = "alpha") -> KeyedVectors:
        """The vectors of "words", "equations" or "units"; `side` is "rho" or "alpha"."""
        name = f"{side}_{kind}"
        if name not in self.arrays:
            have = ", ".join(sorted(self.arrays))
            raise UsageError(f"this model has no {name}: it has {have}")
        found = self._views.get(name)
        if found is None or found.vectors is not self.arrays[name]:
            names = [self.equation_key] if kind == "equations" else []
            found = KeyedVectors(self.keys[kind], self.arrays[name], side, *names)
            self._views[name] = found
        return found

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
        """The hash of settings, vocabulary and arrays; not of times, paths or threads."""
        return array_file.content_hash({"config": self.config, "keys": self.keys}, self.arrays)

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

        Keys that a format cannot represent are changed and counted: see `vector_io.export`.
        """
        view = self.view(kind, side)
        about = {"model": str(self.config.get("model", "")), "kind": kind, "side": side}
        about["sha256"] = self.sha256
        return vector_io.export(
            path, view.index_to_key, view.vectors, form, about=about, replace=replace
        )

    def check(self) -> None:
        """Refuse vectors that are not finite."""
        for name, array in self.arrays.items():
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise EqembError(f"{name} is not finite: train with a smaller rate")

    def save(self, path: Path | str, *, replace: bool = False) -> None:
        """Write the folder atomically."""
        self.check()
        with atomic.new_folder(Path(path), replace=replace) as folder:
            array_file.write_arrays(folder / "arrays.safetensors", self.arrays)
            atomic.write_json(folder / "vocabulary.json", self.keys)
            atomic.write_json(folder / "history.json", self.history)
            atomic.write_json(folder / "run.json", self.run)
            (folder / "README.md").write_text(self.card(), encoding="utf-8")
            head = {
                "format": f"eqemb {MODEL_FORMAT}",
                "version": MODEL_VERSION,
                "sha256": self.sha256,
            }
            atomic.write_json(folder / "config.json", head | self.config)
            seal(folder)

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Open a folder; vectors stay on disk until they are used (`verify` reads them all)."""
        path = atomic.find_folder(Path(path))
        config = atomic.read_json(path / "config.json", MODEL_FORMAT, MODEL_VERSION)
        check_folder(path, "restore it from a copy, or train the model again")
        for name in ("format", "version", "sha256"):
            config.pop(name)
        read = {
            name: atomic.load_json(path / f"{name}.json")
            for name in ("vocabulary", "history", "run")
        }
        arrays = array_file.map_arrays(path / "arrays.safetensors")
        made = cls(config, arrays, read["vocabulary"], read["history"], read["run"])
        for kind, keys in made.keys.items():
            for name in (f"rho_{kind}", f"alpha_{kind}"):
                if name in arrays and len(arrays[name]) != len(keys):
                    raise EqembError(f"{path} is damaged: {len(keys):,} {kind} for {name}")
        return made

    @classmethod
    def verified(cls, path: Path | str) -> Self:
        """Open a folder and check it against the hash that was saved with it."""
        made = cls.load(path)
        wanted = atomic.read_json(Path(path) / "config.json", MODEL_FORMAT, MODEL_VERSION)["sha256"]
        if made.sha256 != wanted:
            raise EqembError(f"{path} was changed after it was saved: train it again")
        return made

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(keys):,} {kind}" for kind, keys in self.keys.items())
        return f"<Embeddings of {self.config.get('model', 'model')}: {sizes}>"

    def card(self) -> str:
        """The model card; the same for the same training on any machine."""
        config, words = self.config, self.keys.get("words") or [""]
        counted = [f"{len(keys):,} {kind}" for kind, keys in self.keys.items()]
        sizes = " and ".join(filter(None, [", ".join(counted[:-1]), *counted[-1:]]))
        trained = {
            "collection": self.run.get("collection"),
            "corpus": config.get("corpus"),
            "held-out split": config.get("split"),
            "seed": config.get("seed"),
            "validation score (log-likelihood of held-out words)": _shown(config.get("validation")),
            "best iteration": _shown(config.get("best")),
            "words without a given vector": _shown(self.run.get("words_missing")),
            "sha256": self.sha256,
        }
        shapes = {name: " x ".join(map(str, self.arrays[name].shape)) for name in self.arrays}
        parts = [
            f"# {config.get('model', 'model')}",
            f"Vectors of {sizes}, learned by eqemb from the text around equations.",
            "After Krstovski and Blei, Equation Embeddings (2018).",
            "## Use",
            _EXAMPLE.format(word=json.dumps(words[0], ensure_ascii=False)),
            "## Trained on",
            _table("", "", trained.items()),
            "## Settings",
            _table("setting", "value", _flat(config.get("settings", {}))),
            "## Training",
            self._curve(),
            "## Arrays",
            _table("array", "shape", sorted(shapes.items())),
            "## Licence",
            _LICENCE,
        ]
        return "\n\n".join(filter(None, parts)) + "\n"

    def _curve(self) -> str:
        """Loss and validation of every iteration as a table."""
        if not self.history:
            return "No history was saved."
        lines = ["| pass | iteration | loss | validation |", "|---|---|---|---|"]
        for row in self.history:
            cells = row["stage"], row["iteration"], _shown(row["loss"]), _shown(row["validation"])
            lines.append(f"| {' | '.join(map(str, cells))} |")
        return "\n".join(lines)


_EXAMPLE = """\
```python
from pathlib import Path
from eqemb import Embeddings

model = Embeddings.load(Path("path/to/this/folder"))
model.words.most_similar({word})  # alpha, feature vectors
model.view("words", "rho")[{word}]  # rho, interaction vectors
model.export(Path("words.txt"))  # for gensim and others
```"""

_LICENCE = """\
The vectors are derived from the papers of the collection, which belong to their authors. eqemb's
licence covers the program, not the papers. Before you share these vectors, or the equations and
words in vocabulary.json, make sure that the licences of the papers allow it."""


def _shown(value: Any) -> str:
    """A value as the text of a table cell."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_shown(entry)}" for name, entry in value.items())
    return f"{value:.4f}" if isinstance(value, float) else "-" if value is None else str(value)


def _table(left: str, right: str, rows: Iterable[tuple[str, Any]]) -> str:
    """A table of two columns; unknown values are left out."""
    known = [(name, value) for name, value in rows if value not in (None, "", "-")]
    lines = [f"| {left} | {right} |", "|---|---|"]
    cells = [(name, str(value).replace("|", "\\|")) for name, value in known]
    return "\n".join([*lines, *(f"| {name} | {value} |" for name, value in cells)])


def load_words(path: Path) -> Embeddings:
    """Words to build on: a model's folder or, with alpha alone, a text file of vectors."""
    if atomic.find_folder(path).is_dir():
        found = Embeddings.load(path)
        found.view("words")
        return found
    if not path.exists():
        raise UsageError(f"no words at {path}: give a model's folder or a file of vectors")
    words, vectors = vector_io.read_word2vec(path)
    return Embeddings({"model": "word vectors"}, {"alpha_words": vectors}, {"words": words})


def sparkline(values: Sequence[float]) -> str:
    """A curve as one line of text."""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    return "".join("▁▂▃▄▅▆▇█"[int(7.999 * (value - low) / span)] for value in values)


def _flat(settings: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value)
        else:
            yield name, value


def own_model(generation: Path) -> Embeddings | None:
    """The model of a generation, None if it has none."""
    place = generation / "model"
    return Embeddings.load(place) if place.is_dir() else None
