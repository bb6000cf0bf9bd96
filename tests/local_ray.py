"""Whether Ray itself can start a cluster on this machine, for tests that need one.

The check runs in a process of its own and uses nothing of eqemb, so that it cannot hide a defect of
ours: if it succeeds, everything that fails later is a failure.
"""

import functools
import subprocess
import sys

import pytest

#: Seconds that may pass on a machine with much to do.
PATIENCE = 240.0
#: Bytes of the object store of a cluster for tests: Ray takes no less than 75 MB.
OBJECT_STORE = 80 << 20
_START = f"""
import ray
ray.init(address="local", num_cpus=1, include_dashboard=False, object_store_memory={OBJECT_STORE})
assert ray.get(ray.remote(lambda: 7).remote(), timeout={PATIENCE}) == 7
ray.shutdown()
"""


@functools.cache
def _why_not() -> str:
    """Return why Ray does not start here; '' if it does."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", _START],
            capture_output=True, text=True, timeout=2 * PATIENCE, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"no answer within {2 * PATIENCE:g} s"
    if done.returncode == 0:
        return ""
    return (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]


def require_local_ray() -> None:
    """Skip a test if Ray itself cannot start a cluster on this machine."""
    if why := _why_not():
        pytest.skip(f"Ray does not start on this machine: {why}")
