"""Ask a server whatever its own description allows, and what it does not: no answer may be a 5xx.

    python benchmarks/schemathesis_run.py LIBRARY [--examples 50] [--seed 1]

Starts `eqemb serve LIBRARY` and lets Schemathesis (pip install schemathesis) make requests out of
`/openapi.json`: values at and beyond every limit, parameters left out, other methods, and so many
drawn by lot for each address. Answers must have the form that is described, too. What it finds it
prints as a `curl` command; the exit status says whether there was anything.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from serving import free_port, served

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_schema_conformance"
)


def main() -> None:
    """Start both, and end as Schemathesis does."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("--examples", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    beside = Path(sys.executable).with_name("schemathesis")
    program = str(beside) if beside.exists() else shutil.which("schemathesis")
    if program is None:
        sys.exit("Schemathesis is not installed: pip install schemathesis")
    port = free_port()
    with tempfile.TemporaryDirectory() as folder, served(asked.library, port):
        done = subprocess.run(
            [program, "run", f"http://127.0.0.1:{port}/openapi.json", "--checks", CHECKS,
             "--max-examples", str(asked.examples), "--seed", str(asked.seed),
             "--phases", "examples,coverage,fuzzing", "--continue-on-failure",
             "--suppress-health-check", "filter_too_much"],
            check=False,
            cwd=folder,  # it keeps what it found where it stands
        )  # fmt: skip
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
