"""Sentence encoders by name: a function MODULE:FUNCTION, or the folder of a saved model.

eqemb comes with no encoder and downloads none. A folder is one that sentence-transformers
(`modules.json`) or model2vec (`"model_type": "model2vec"` in `config.json`) has saved; the package
that reads it is imported when the encoder is first used. What is computed with an encoder is stored
by `encoder.EncoderIndex`.
"""

import hashlib
import json
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqemb.errors import UsageError

Encode = Callable[[list[str]], NDArray[np.float32]]

_EXPECTED = (
    "give MODULE:FUNCTION, or a folder that sentence-transformers (modules.json) or model2vec"
    " (config.json) has saved"
)


def load_encoder(name: str) -> Encode:
    """Return the encoder of a name; modules in the current folder count too."""
    if not isinstance(name, str):
        raise UsageError(f"encoder must be a string, not {name!r}: {_EXPECTED}")
    found = _load_folder(Path(name)) if _is_folder(name) else _load_function(name)

    def encode(texts: list[str]) -> NDArray[np.float32]:
        """Call the encoder and check its result: a row of finite numbers for each text."""
        try:
            vectors = np.asarray(found(texts), np.float32)
        except UsageError:
            raise
        except Exception as error:
            raise UsageError(f"the encoder {name!r} failed: {error!r}") from error
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise UsageError(
                f"the encoder {name!r} returned an array of shape {vectors.shape} for {len(texts)}"
                " texts: it must return a row of finite numbers for each"
            )
        return vectors

    return encode


def file_name(name: str) -> str:
    """Return the name under which vectors of an encoder are stored.

    That of a folder depends on its last part and on the names and sizes of its files, but not on
    where it is: a library may be copied to another computer together with its vectors.
    """
    if not _is_folder(name):
        return name.replace(":", ".")
    folder = Path(name).resolve()
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    listed = [(path.relative_to(folder).as_posix(), path.stat().st_size) for path in files]
    digest = hashlib.sha256(json.dumps(listed).encode()).hexdigest()[:8]
    plain = "".join(letter if letter.isalnum() else "_" for letter in folder.name)
    return f"{plain}-{digest}"


def _is_folder(name: str) -> bool:
    """Whether a name means a folder: there is one, or it cannot be MODULE:FUNCTION."""
    return ":" not in name or Path(name).is_dir()


def _load_function(name: str) -> Callable[[list[str]], Any]:
    module, _, function = name.partition(":")
    if "" not in sys.path:
        sys.path.append("")
    try:
        found = getattr(import_module(module), function)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise UsageError(f"no encoder {name!r}: {error}; {_EXPECTED}") from None
    except Exception as error:
        raise UsageError(f"importing the encoder {name!r} failed: {error!r}") from error
    if not callable(found):
        raise UsageError(f"the encoder {name!r} is not a function")
    made: Callable[[list[str]], Any] = found
    return made


def _load_folder(folder: Path) -> Callable[[list[str]], Any]:
    """Open the model of a folder.

    model2vec also writes `modules.json`, and its own package needs no torch, so it comes first.
    """
    if not folder.is_dir():
        raise UsageError(f"no encoder {str(folder)!r}: there is no such folder; {_EXPECTED}")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # of loading weights
    try:
        if _is_static(folder):
            from model2vec import StaticModel

            static = StaticModel.from_pretrained(folder)
            return lambda texts: static.encode(texts, show_progress_bar=False)
        if (folder / "modules.json").is_file():
            from sentence_transformers import SentenceTransformer

            model = SentenceTransformer(str(folder), local_files_only=True)
            return lambda texts: model.encode(texts, show_progress_bar=False)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the encoder {str(folder)!r} needs the package {error.name}, which is not installed:"
            " pip install 'eqemb[encoder]'"
        ) from None
    except Exception as error:
        raise UsageError(f"the encoder {str(folder)!r} cannot be opened: {error}") from error
    raise UsageError(f"no encoder {str(folder)!r}: the folder has no model; {_EXPECTED}")


def _is_static(folder: Path) -> bool:
    """Whether model2vec has saved a model; if it was made by hand, its config does not say so."""
    if _model_type(folder / "config.json") == "model2vec":
        return True
    try:
        return "StaticEmbedding" in (folder / "modules.json").read_text("utf-8")
    except (OSError, ValueError):
        return False


def _model_type(config: Path) -> str | None:
    """Return the kind of model that a `config.json` names."""
    try:
        read = json.loads(config.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return read.get("model_type") if isinstance(read, dict) else None
