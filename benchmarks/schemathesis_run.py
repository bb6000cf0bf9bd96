"""Fuzz the API with Schemathesis: no response may be a 5xx or violate the OpenAPI description.

    python benchmarks/schemathesis_run.py LIBRARY [--examples 50] [--seed 1]

Starts `eqemb serve LIBRARY` and lets Schemathesis (pip install schemathesis) generate requests from
`/openapi.json`: values at and beyond every limit, missing parameters, other methods, and random
values for each endpoint. It prints failures as `curl` commands, and the exit status says whether
there were any.
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
    """Run the server and Schemathesis, and exit with its status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("--examples", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    beside = Path(sys.executable).with_name("schemathesis")
    program = str(beside) if beside.exists() else shutil.which("schemathesis")
    if program is None:
        sys.exit("Schemathesis is not installed: pip install schemathesis")
    port = free_port()
    with tempfile.TemporaryDirectory() as folder, served(options.library, port):
        done = subprocess.run(
            [program, "run", f"http://127.0.0.1:{port}/openapi.json", "--checks", CHECKS,
             "--max-examples", str(options.examples), "--seed", str(options.seed),
             "--phases", "examples,coverage,fuzzing", "--continue-on-failure",
             "--suppress-health-check", "filter_too_much"],
            check=False,
            cwd=folder,  # Schemathesis writes its reports to the current folder
        )  # fmt: skip
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
