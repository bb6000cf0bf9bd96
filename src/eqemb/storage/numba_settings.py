"""Import numba without the settings that it reads from the current folder.

numba reads a `.numba_config.yaml` there if PyYAML is installed. A folder of downloaded papers may
have one that says where compiled functions are cached. These are pickles: numba would run their
code. Settings in environment variables still hold.
"""

import sys
from importlib import import_module
from types import ModuleType


def import_numba() -> None:
    """Import numba, unless this process has done so already."""
    if "numba" in sys.modules:
        return
    before = sys.modules.get("yaml")
    sys.modules["yaml"] = empty = ModuleType("yaml")
    vars(empty)["safe_load"] = lambda _file: None
    try:
        config = import_module("numba.core.config")
    finally:
        if before is None:
            del sys.modules["yaml"]
        else:
            sys.modules["yaml"] = before
    vars(config)["_config_fname"] = ""  # it is read again before each function is compiled
