"""The user's cache: files that can be computed or downloaded again."""

import os
from pathlib import Path


def user_cache() -> Path:
    """Return eqemb's folder in the user's cache, not made; `RuntimeError` without a home folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "eqemb")


def cache_folder(name: str) -> Path | None:
    """Return a folder in the user's cache, made if needed; None where that is impossible."""
    try:
        folder = user_cache() / name
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return folder if os.access(folder, os.W_OK) else None
