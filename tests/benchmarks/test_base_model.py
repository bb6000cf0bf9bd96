"""The script that trains the base model, on a small library."""

import argparse
import json
from pathlib import Path

import base_model
import numpy as np
import pytest

from eqemb.facade.library import Library
from eqemb.formula import layout
from eqemb.index.stemming import stem
from eqemb.models.base_model import BaseModel
from synthetic import papers

SOURCE = "The area of a circle with its radius is \\[ A = \\pi r^2 \\] for all circles"


def test_collect_reads_the_listed_sources_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bags of features and stems, and the texts for the encoder."""
    papers(tmp_path / "papers" / "good", one=SOURCE, two=SOURCE, three=SOURCE)
    papers(tmp_path / "papers" / "other", four="The secret is \\[ Q = z \\] here")
    listed = tmp_path / "SOURCES.tsv"
    listed.write_text("name\tlicence\ngood\tMIT\n")
    monkeypatch.setattr(base_model, "SOURCES", listed)
    with Library.read([tmp_path / "papers"], tmp_path / "lib", jobs=1, index=True):
        pass
    monkeypatch.setattr(base_model, "MIN_COUNT", 1)
    base_model.collect(argparse.Namespace(library=tmp_path / "lib", folder=tmp_path / "data"))
    names = json.loads((tmp_path / "data" / "names.json").read_text())
    texts = json.loads((tmp_path / "data" / "texts.json").read_text())
    assert "s V!A" in names["features"]
    assert "s V!Q" not in names["features"]
    assert stem("radius") in names["stems"]
    assert "secret" not in names["stems"]
    assert texts["latex"] == ["A = \\pi r^2"]
    data = np.load(tmp_path / "data" / "data.npz")
    assert len(data["contexts_pointers"]) == 4  # three equations
    own = [names["stems"][row] for row in data["contexts_ids"][: data["contexts_pointers"][1]]]
    assert {stem("radius"), stem("area")} <= set(own)


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Up to the rounding to 8 bits."""
    rows = np.array([[3.0, 4.0], [0.0, 2.0]], np.float32)
    base_model.write_table(tmp_path, "stems", ["area", "radiu"], rows)
    base_model.write_table(tmp_path, "features", ["s V!x", "h V!x"], rows)
    model = BaseModel(tmp_path)
    assert model.stems_vector({"area": 1.0}) == pytest.approx([0.6, 0.8], abs=0.01)
    assert model.stems_vector({"area": 2.0, "radiu": 2.0}) == pytest.approx(
        np.array([6, 12]) / np.hypot(6, 12), abs=0.01
    )
    assert model.equation_vector(layout("x")) == pytest.approx(
        np.array([3, 6]) / np.hypot(3, 6), abs=0.01
    )
