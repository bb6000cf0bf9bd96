"""Every equation of a library is a row of its export, with the vector of its units."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from eqemb.errors import UsageError
from eqemb.facade import export, model
from eqemb.facade.export import COLUMNS, equation_rows, export_equations
from eqemb.facade.library import Library
from eqemb.formula import layout
from eqemb.models.fold_in import Units
from synthetic import papers, read_inline, topical

BODY = r"""\section{Method} We say, "so, so". \begin{equation}\label{eq:a} x = 1 \end{equation}
More words. \[ \oiint_Q \] End."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with a model, and an article with an equation of which no unit is known."""
    folder = tmp_path_factory.mktemp("listing")
    topical(folder / "papers", 8)
    papers(folder / "papers/own", first=BODY, other="Nothing.")
    with pytest.MonkeyPatch.context() as patch:
        read_inline(patch)
        patch.setattr(model, "LEAST_WORDS", 100)
        settings = {"dim": 8, "iterations": 1}
        Library.build(folder / "papers", folder / "lib", model=settings).close()
        Library.build(folder / "papers/own", folder / "bare", model=False).close()
    return folder


def test_rows_describe_the_equations(folder: Path) -> None:
    """In order, with the vectors of their units."""
    with Library.open(folder / "lib") as library:
        rows = list(equation_rows(library))
        assert [row["name"] for row in rows] == [
            equation.id for article in library.articles() for equation in article.equations
        ]
        assert library.model is not None
        units = Units(library.model)
        found = next(row for row in rows if row["label"] == "eq:a")
        expected = units.fold([layout("x = 1").units()]).alpha[0]
    assert list(found) == [*COLUMNS, "vector"]
    assert np.array_equal(np.float32(found["vector"]), expected)
    assert (found["article"], found["collection"]) == ("own/first", "own")
    assert (found["number"], found["section"], found["line"]) == ("1", "Method", 5)
    assert found["title"] == "On first"
    assert "so, so" in found["context"]


def test_texts_are_exported_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the placeholders of dollar signs and references."""
    read_inline(monkeypatch)
    body = (
        r"\section{Costs of $x_1$ in \$} It costs \$5. \[ y \] By Eq.~\ref{eq:b} the value $x_1$ "
        r"is low. \begin{equation}\label{eq:b} z \end{equation}"
    )
    papers(tmp_path / "papers", article=body)
    with Library.read([tmp_path / "papers"], tmp_path / "lib") as library:
        rows = list(equation_rows(library))
    assert {row["section"] for row in rows} == {"Costs of x₁ in $"}
    assert "It costs $5." in rows[0]["context"]
    assert "By Eq. (1) the value $x_1$ is low." in rows[1]["context"]


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_every_format_restores_the_rows(folder: Path, tmp_path: Path, suffix: str) -> None:
    """Texts and vectors are identical."""
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"out{suffix}"
    with Library.open(folder / "lib") as library:
        rows = list(equation_rows(library))
        done = export_equations(library, path)
    assert (done.path, done.rows) == (path, len(rows))
    assert done.without == sum(row["vector"] is None for row in rows)
    if suffix == ".jsonl":
        assert [json.loads(line) for line in path.read_text("utf-8").splitlines()] == rows
    elif suffix == ".parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        assert parquet.read_table(path).to_pylist() == rows
    else:
        with path.open(encoding="utf-8", newline="") as file:
            read = list(csv.DictReader(file))
        for row, cells in zip(rows, read, strict=True):
            shown = {name: "" if row[name] is None else str(row[name]) for name in COLUMNS}
            assert {name: cells[name] for name in COLUMNS} == shown
            vector = [cells[f"v{at}"] for at in range(8)]
            if row["vector"] is None:
                assert vector == [""] * 8
            else:
                assert np.array_equal(np.array(vector, np.float32), np.float32(row["vector"]))


def test_export_without_a_model_has_no_vectors(folder: Path, tmp_path: Path) -> None:
    """And no columns for them."""
    pytest.importorskip("pyarrow")
    with Library.open(folder / "bare") as library:
        for suffix in (".jsonl", ".csv", ".parquet"):
            assert export_equations(library, tmp_path / f"out{suffix}")[1:] == (2, 0)
    head = (tmp_path / "out.csv").read_text("utf-8").splitlines()[0]
    assert head == ",".join(COLUMNS)
    assert "vector" not in json.loads((tmp_path / "out.jsonl").read_text("utf-8").splitlines()[0])


def test_families_are_named_by_their_first_equation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Renamings are one family; a library without an index has no families."""
    read_inline(monkeypatch)
    body = r"""Words. \[ a = \sum_{i=1}^{n} b_i c_i \] More.
\[ x = \sum_{j=1}^{m} y_j z_j \] End. \[ q = 1 \]"""
    folder = papers(tmp_path / "papers", one=body)
    with Library.read(folder, tmp_path / "lib") as library:
        assert [row["family"] for row in equation_rows(library)] == [None, None, None]
    with Library.read(folder, tmp_path / "lib", index=True) as library:
        found = [row["family"] for row in equation_rows(library)]
    assert found == ["one#1", "one#1", "one#3"]


def test_export_is_atomic(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An old file is replaced only on request."""
    path = tmp_path / "out.csv"
    with Library.open(folder / "bare") as library:
        export_equations(library, path)
        old = path.read_bytes()
        with pytest.raises(UsageError, match="already exists"):
            export_equations(library, path)
        with pytest.raises(UsageError, match=r"use one of \.parquet, \.csv, \.jsonl"):
            export_equations(library, tmp_path / "out.xlsx")

        def broken(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(export, "equation_rows", broken)
        with pytest.raises(KeyboardInterrupt):
            export_equations(library, path, replace=True)
    assert path.read_bytes() == old
    assert [found.name for found in tmp_path.iterdir()] == ["out.csv"]
