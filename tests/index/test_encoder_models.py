"""Encoders by name: functions, and folders that model2vec and sentence-transformers have saved."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from axes import make_library
from eqemb.errors import UsageError
from eqemb.facade.library import Library
from eqemb.index.encoder_models import file_name, load_encoder

WORDS = ["[UNK]", "harmonic", "mean", "angle", "cosine", "precision", "recall", "frac"]


def tokenizer() -> Any:
    """Return a tokenizer of whole words."""
    tokenizers = pytest.importorskip("tokenizers", reason="the extra `encoder` is not installed")
    made = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: at for at, word in enumerate(WORDS)}, "[UNK]")
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return made


@pytest.fixture
def static(tmp_path: Path) -> Path:
    """A model of model2vec: each word has a dimension of its own."""
    model2vec = pytest.importorskip("model2vec", reason="the extra `encoder` is not installed")
    folder = tmp_path / "a static model"
    model = model2vec.StaticModel(np.eye(len(WORDS), dtype=np.float32), tokenizer())
    model.save_pretrained(folder)
    return folder


@pytest.fixture
def transformer(tmp_path: Path) -> Path:
    """The same as a model of sentence-transformers."""
    package = pytest.importorskip(
        "sentence_transformers", reason="the extra `encoder` is not installed"
    )
    modules = pytest.importorskip("sentence_transformers.sentence_transformer.modules")
    weights = np.eye(len(WORDS), dtype=np.float32)
    module = modules.StaticEmbedding(tokenizer(), embedding_weights=weights)
    folder = tmp_path / "transformer"
    package.SentenceTransformer(modules=[module], device="cpu").save(str(folder))
    return folder


@pytest.mark.filterwarnings("ignore")  # of the packages themselves
@pytest.mark.parametrize("kind", ["static", "transformer"])
def test_a_saved_model_is_an_encoder(kind: str, request: pytest.FixtureRequest) -> None:
    """Texts with the same words have the same direction, others are orthogonal."""
    encode = load_encoder(str(request.getfixturevalue(kind)))
    one, same, other, none = encode(["harmonic mean", "mean harmonic", "angle", ""])
    assert one @ same / (one @ one) == pytest.approx(1.0)
    assert one @ other == pytest.approx(0.0)
    assert np.isfinite(none).all()


@pytest.mark.filterwarnings("ignore")
def test_a_folder_searches_a_library(static: Path, tmp_path: Path) -> None:
    """Its vectors are stored under the folder's name, wherever the folder is."""
    with make_library(tmp_path, model=False) as made:
        folder = made.folder
    with Library.open(folder) as library:
        first = library.search("harmonic mean", by="encoder", encoder=str(static))
        assert "harmonic" in first[0].equation.context
    (kept,) = (folder / "encoded").iterdir()
    assert kept.name.startswith("a_static_model-")
    written = kept.stat().st_mtime_ns
    moved = static.rename(tmp_path / "moved")
    assert file_name(str(moved)).split("-")[1] == kept.name.split("-")[1]
    (tmp_path / "elsewhere").mkdir()
    moved = moved.rename(tmp_path / "elsewhere" / static.name)
    with Library.open(folder) as library:
        again = library.search("harmonic mean", by="encoder", encoder=str(moved))
        assert [hit.equation.id for hit in again] == [hit.equation.id for hit in first]
    assert kept.stat().st_mtime_ns == written


@pytest.mark.parametrize(
    ("config", "package"),
    [
        ({"config.json": {"model_type": "model2vec"}}, "model2vec"),
        ({"modules.json": []}, "sentence_transformers"),
    ],
)
def test_a_package_that_is_not_installed_is_named(
    config: dict[str, Any], package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says what to install."""
    for name, content in config.items():
        (tmp_path / name).write_text(json.dumps(content))
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError, match=r"pip install 'eqemb\[encoder\]'") as found:
        load_encoder(str(tmp_path))
    assert str(found.value).count("\n") == 0
    assert package in str(found.value)


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    """One sentence names the folder and what is expected; so does one for no folder at all."""
    (tmp_path / "config.json").write_text("[1]")
    with pytest.raises(UsageError, match="the folder has no model; give MODULE:FUNCTION"):
        load_encoder(str(tmp_path))
    with pytest.raises(UsageError, match="there is no such folder; give MODULE:FUNCTION"):
        load_encoder(str(tmp_path / "nothing"))


@pytest.mark.filterwarnings("ignore")
def test_a_damaged_model_is_refused(static: Path) -> None:
    """The error names the folder."""
    (static / "model.safetensors").write_bytes(b"{}")
    with pytest.raises(UsageError, match=r"'.*a static model' cannot be opened: "):
        load_encoder(str(static))
