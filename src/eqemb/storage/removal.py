"""Remove folders that are not needed any more, as far as the system lets us."""

import contextlib
import os
import shutil
import time
from pathlib import Path

from eqemb.storage.syncing import sync_folder

#: Tries, and seconds between the first two: another process may hold a file for a moment, such as a
#: virus scanner on Windows.
_TRIES, _PAUSE = 4, 0.01


def remove_folder(folder: Path) -> None:
    """Remove a folder if it exists; what cannot be removed is left.

    Of a link, only the link is removed.
    """
    if folder.is_symlink():
        with contextlib.suppress(OSError):
            folder.unlink()
        return
    for number in range(_TRIES):
        if number:
            time.sleep(_PAUSE * number)
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return


def hide_and_remove(folder: Path) -> None:
    """Remove a folder that must not be left: it takes a hidden name first.

    Hidden files and folders do not count as parts of a library. The hidden name is durable before
    anything is removed: after a power loss, no folder has its name and lacks files.
    """
    if os.path.lexists(folder):
        hidden = folder.with_name(f".{folder.name}")
        remove_folder(hidden)
        folder.rename(hidden)
        sync_folder(folder.parent)
        remove_folder(hidden)
