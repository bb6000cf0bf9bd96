"""Compiled kernels: machine code on disk belongs to the sources of all kernels."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import eqemb


def test_a_change_in_one_file_recompiles_the_kernels_of_others(tmp_path: Path) -> None:
    """They may be inlined; numba itself looks at the file of a kernel alone."""
    package = Path(eqemb.__file__).parent
    copy = tmp_path / "src" / "eqemb"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__", "web", "*.npy"))
    (copy / "kernels" / "one.py").write_text(
        "from eqemb.kernels.compiling import kernel\n@kernel\ndef value():\n    return 1\n"
    )
    (copy / "kernels" / "two.py").write_text(
        "from eqemb.kernels.compiling import kernel\nfrom eqemb.kernels.one import value\n"
        "@kernel\ndef twice():\n    return 2 * value()\n"
    )

    def ask() -> str:
        program = "from eqemb.kernels.two import twice; print(twice(), *twice.stats.cache_hits)"
        environment = os.environ | {"PYTHONPATH": str(tmp_path / "src")}
        environment.pop("NUMBA_CACHE_DIR", None)
        done = subprocess.run(
            [sys.executable, "-P", "-c", program],
            env=environment, check=True, capture_output=True, text=True,
        )  # fmt: skip
        return done.stdout.strip()

    assert ask() == "2"
    assert ask().startswith("2 ")  # kept
    one = copy / "kernels" / "one.py"
    one.write_text(one.read_text().replace("return 1", "return 50"))
    assert ask() == "100"
