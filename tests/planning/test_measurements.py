"""The file of measurements: written, read again, and refused where it is wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from eqemb.errors import EqembError, UsageError
from eqemb.library.segments import LARGE_SEGMENT_DOCUMENTS
from eqemb.planning.measurements import SOURCED, Measurements, default_file
from plan_measurements_by_hand import measurements


def test_a_file_reads_back(tmp_path: Path) -> None:
    """With those of other machines."""
    made = measurements(is_shipped=False, others=(measurements(10, 20, is_shipped=False),))
    made.save(tmp_path / "m.json")
    assert Measurements.load(tmp_path / "m.json") == made


def test_sizes_are_sorted(tmp_path: Path) -> None:
    """The largest is the last."""
    measurements(50, 10).save(tmp_path / "m.json")
    assert Measurements.load(tmp_path / "m.json").largest.papers == 50


def test_the_package_has_measurements() -> None:
    """They say where and when they were made, and have every stage."""
    found = Measurements.shipped()
    assert found.is_shipped
    assert found.made >= "2026"
    assert [row["papers"] for row in found.pairs][-1] == LARGE_SEGMENT_DOCUMENTS
    for name in SOURCED:
        assert len(getattr(found, name)) > 1
        assert all(row["source"] for row in getattr(found, name))
    sizes = [size for part in (found, *found.others) for size in part.sizes]
    stages = {stage for size in sizes for stage in size.cpu_seconds}
    assert stages >= {"read", "near-duplicates", "report", "text", "structure", "definitions",
                      "renderings", "train", "vectors"}  # fmt: skip


def change(path: Path, *keys: Any, value: Any) -> None:
    """Change one value of a file."""
    whole = part = json.loads(path.read_text("utf-8"))
    for key in keys[:-1]:
        part = part[key]
    part[keys[-1]] = value
    path.write_text(json.dumps(whole), "utf-8")


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (("format",), "else", "is not a file of measurements: write one with"),
        (("version",), 9, "has version 9 of measurements, this version of eqemb reads 1"),
        (("sizes",), [], r"damaged \(0 sizes, growth needs two"),
        (("sizes", 0, "papers"), -1, "papers must be a number of at least 1, not -1"),
        (("sizes", 0, "words"), "many", "words must be a number of at least 1, not 'many'"),
        (("sizes", 1, "cpu_seconds"), {}, "no CPU seconds of read at 1,000 papers"),
        (("sizes", 1, "bytes", "records"), None, "records must be a number of at least 0"),
        (("merging", 0), {"papers": 3}, r"damaged \('source'\)"),
        (("pairs", 0, "own_seconds"), -3, "own_seconds must be a number of at least 0, not -3"),
        (("sizes", 1), 3, "damaged"),
        (("others",), [3], "damaged"),
    ],
)
def test_wrong_files_are_refused(
    tmp_path: Path, keys: tuple[Any, ...], value: Any, message: str
) -> None:
    """With what is wrong and what to do."""
    path = tmp_path / "m.json"
    measurements().save(path)
    change(path, *keys, value=value)
    with pytest.raises(EqembError, match=message):
        Measurements.load(path)


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff\xfe", b"3"])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    """Whatever is in them."""
    (tmp_path / "m.json").write_bytes(content)
    with pytest.raises(EqembError, match="is not a file of measurements"):
        Measurements.load(tmp_path / "m.json")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    """With the command that writes it."""
    with pytest.raises(UsageError, match=r"does not exist: write it with `eqemb plan --measure"):
        Measurements.load(tmp_path / "m.json")


def test_the_default_file_is_in_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of the user."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_file() == tmp_path / "eqemb" / "measurements.json"
