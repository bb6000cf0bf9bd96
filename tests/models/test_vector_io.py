"""Vectors as others read them, checked by the readers themselves, and files from elsewhere."""

import csv
import gzip
import os
import sys
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest

from eqemb.errors import UsageError
from eqemb.models import vector_io
from eqemb.models.embeddings import Embeddings
from eqemb.models.vector_io import read_word2vec
from eqemb.storage import array_file

KEYS = ["cosine", "a b", "a_b", "50%", "a%20b", "näher", "x\ty\nz", "\u2028", ""]
ROWS = np.random.default_rng(0).standard_normal((len(KEYS), 5)).astype(np.float32)
ROWS[1] = [1e-30, -1e30, 0, 1 / 3, 16777217]


def make() -> Embeddings:
    """Equations are keys of every kind."""
    arrays = {"alpha_equations": ROWS, "rho_equations": -ROWS}
    return Embeddings({"model": "eqemb"}, dict(arrays), {"equations": KEYS})


@pytest.mark.parametrize("name", ["v.txt", "v.txt.gz"])
def test_gensim_opens_word2vec(tmp_path: Path, name: str) -> None:
    """Every key once, spaces made safe and counted, every bit of the numbers."""
    gensim = pytest.importorskip("gensim.models")
    done = make().export(tmp_path / name, "equations", "rho")
    assert (done.rows, done.changed) == (9, 6)
    found = gensim.KeyedVectors.load_word2vec_format(str(tmp_path / name))
    assert [unquote(key) for key in found.index_to_key] == [*KEYS[:-1], "%"]
    assert found.vectors.tobytes() == (-ROWS).tobytes()


def test_what_we_write_we_read(tmp_path: Path) -> None:
    """Words and bits."""
    make().export(tmp_path / "v.gz", "equations")
    words, vectors = read_word2vec(tmp_path / "v.gz")
    assert words == [vector_io.word_safe(key) for key in KEYS]
    assert vectors.tobytes() == ROWS.tobytes()


def test_the_same_vectors_are_the_same_bytes(tmp_path: Path) -> None:
    """Compression keeps no name and no time."""
    for name in ("a.gz", "b.gz"):
        make().export(tmp_path / name, "equations")
        os.utime(tmp_path / name, (0, 0))
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_a_projector_gets_a_label_for_each_row(tmp_path: Path) -> None:
    """Two files of as many lines; a label is one line without tabs."""
    done = make().export(tmp_path / "p", "equations", form="tsv")
    assert done.changed == 3
    with (tmp_path / "p" / "vectors.tsv").open(newline="") as file:
        rows = [[float(cell) for cell in row] for row in csv.reader(file, delimiter="\t")]
    np.testing.assert_array_equal(np.array(rows, np.float32), ROWS)
    labels = (tmp_path / "p" / "metadata.tsv").read_text("utf-8").split("\n")[:-1]
    assert labels[:7] == [*KEYS[:6], "x y z"]
    assert labels[7:] == ["(empty)"] * 2


def test_parquet_is_a_table_of_keys_and_vectors(tmp_path: Path) -> None:
    """Keys as they are, what it is in the metadata; pandas opens it."""
    parquet = pytest.importorskip("pyarrow.parquet")
    make().export(tmp_path / "v.parquet", "equations", form="parquet")
    table = parquet.read_table(tmp_path / "v.parquet")
    assert table.column("key").to_pylist() == KEYS
    np.testing.assert_array_equal(np.array(table.column("vector").to_pylist(), np.float32), ROWS)
    assert table.schema.metadata[b"side"] == b"alpha"
    frame = pytest.importorskip("pandas").read_parquet(tmp_path / "v.parquet")
    assert frame["vector"][0].tolist() == ROWS[0].tolist()


def test_parquet_without_pyarrow_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"pip install 'eqemb\[export\]'"):
        make().export(tmp_path / "v.parquet", "equations", form="parquet")


def test_safetensors_has_the_keys_beside_the_array(tmp_path: Path) -> None:
    """Opened by the library of that name."""
    numpy = pytest.importorskip("safetensors.numpy")
    make().export(tmp_path / "v", "equations", form="safetensors")
    np.testing.assert_array_equal(numpy.load_file(tmp_path / "v")["vectors"], ROWS)
    found = array_file.read_metadata(tmp_path / "v")
    assert found["keys"] == KEYS
    assert (found["kind"], found["side"]) == ("equations", "alpha")


def test_a_header_that_safetensors_would_refuse_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And parquet offered."""
    monkeypatch.setattr(vector_io, "_HEADER", 1100)
    with pytest.raises(UsageError, match="parquet"):
        make().export(tmp_path / "v", "equations", form="safetensors")


@pytest.mark.parametrize("form", vector_io.FORMS)
def test_exports_replace_only_on_request(tmp_path: Path, form: str) -> None:
    """And leave no scraps."""
    if form == "parquet":
        pytest.importorskip("pyarrow")
    make().export(tmp_path / "v", "equations", form=form)
    with pytest.raises(UsageError, match="already exists"):
        make().export(tmp_path / "v", "equations", form=form)
    make().export(tmp_path / "v", "equations", form=form, replace=True)
    assert [path.name for path in tmp_path.iterdir()] == ["v"]


def test_a_folder_with_other_files_is_not_replaced(tmp_path: Path) -> None:
    """A pair of tables takes the place of such a pair, not of somebody's papers."""
    (tmp_path / "thesis.tex").write_text("dear")
    with pytest.raises(UsageError, match="other files"):
        make().export(tmp_path, "equations", form="tsv", replace=True)
    assert (tmp_path / "thesis.tex").read_text() == "dear"


def test_a_failing_export_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rename comes last."""
    make().export(tmp_path / "v", "equations")
    before = (tmp_path / "v").read_bytes()

    def fail(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(vector_io, "_lines", fail)
    with pytest.raises(RuntimeError):
        make().export(tmp_path / "v", "equations", replace=True)
    assert (tmp_path / "v").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["v"]


def test_unknown_forms_are_named(tmp_path: Path) -> None:
    """With those there are."""
    with pytest.raises(UsageError, match="word2vec, tsv"):
        make().export(tmp_path / "v", "equations", form="xml")


@pytest.mark.parametrize(
    "text",
    [
        "2 3\nking 1 2 3\nqueen 4 5 6\n",
        "king 1 2 3\nqueen 4 5 6\n",  # GloVe's have no header
        "2 3\nking 1 2 3 \nqueen 4 5 6 \n",  # word2vec ends lines with a space
        "king\t1\t2\t3\r\nqueen\t4\t5\t6",
        "3 3\nking 1 2 3\nking 7 8 9\nqueen 4 5 6\n",
    ],
)
def test_files_from_elsewhere(tmp_path: Path, text: str) -> None:
    """With and without a header, a last line end, compression; the first of two counts."""
    (tmp_path / "plain").write_bytes(text.encode())
    (tmp_path / "packed").write_bytes(gzip.compress(text.encode()))
    for name in ("plain", "packed"):
        words, vectors = read_word2vec(tmp_path / name)
        assert words == ["king", "queen"]
        assert vectors.tolist() == [[1, 2, 3], [4, 5, 6]]
        assert vectors.dtype == np.float32


def test_words_of_glove_may_have_spaces(tmp_path: Path) -> None:
    """Numbers are counted from the right."""
    (tmp_path / "v").write_text("king 1 2\n. . . 3 4\n7 5 6\n\xa0 8 9\n", "utf-8")
    assert read_word2vec(tmp_path / "v")[0] == ["king", ". . .", "7", "\xa0"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"", "has no vectors"),
        (b"0 3\n", "has no vectors"),
        (b"king 1 2\nqueen 1\n", "line 2 of .* is not a word and 2 numbers"),
        (b"king 1 2\n\nqueen 1 2\n", "line 2 of "),
        (b"king 1 2\nqueen 1 2 3\n", "line 2 of .* has more than 2 numbers"),
        (b"king 1 2\nqueen 1 x\n", "line 2 of .* does not have 2 numbers: .*'x'"),
        (b"2 2\nking 1 2\nqueen 1 nan\n", "line 3 of .* not finite"),
        (b"king 1 1e39\n", "line 1 of .* not finite"),
        (b"3 2\nking 1 2\nqueen 3 4\n", "has 2 vectors, but its first line says 3"),
        (b"2 2\n\xff\xfeking 1 2\n", "line 2 of .* binary form"),
        (b"king\n", "line 1 of .* is not a word"),
        (gzip.compress(b"king 1 2\nqueen 3 4\n" * 99, mtime=0)[:40], "cannot be read"),
    ],
)
def test_bad_files_are_named_with_the_line(tmp_path: Path, text: bytes, sentence: str) -> None:
    """What is wrong, and where."""
    (tmp_path / "v").write_bytes(text)
    with pytest.raises(UsageError, match=sentence) as seen:
        read_word2vec(tmp_path / "v")
    assert "\n" not in str(seen.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """No traceback."""
    with pytest.raises(UsageError, match="nowhere"):
        read_word2vec(tmp_path / "nowhere")
