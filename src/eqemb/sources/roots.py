"""The root of a library: articles are named by their paths below this folder.

A path counts where it is stored, with symbolic links in its folders resolved, so that it has one
name however it is given. If that place is outside the root, the path counts as it is written: a
link in the root may lead to another disk. A file that is a link keeps its own name.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from eqemb.errors import UsageError
from eqemb.sources.files import absolute_path, is_folder, real_path
from eqemb.sources.names import is_hidden


def common_root(paths: Iterable[str | Path]) -> Path:
    """The folder below which papers are named, if the user names no other.

    It is the only given folder, the folder of the only given file, or else the deepest folder that
    contains all paths, as they are written or as they are stored.
    """
    given = [Path(path) for path in paths]
    if not given:
        raise UsageError("no papers were given: give files or folders")
    homes = {path if is_folder(path) else path.parent for path in given}
    shared = []
    for folders in ({*map(_as_written, homes)}, {real_path(home) for home in homes}):
        with suppress(ValueError):  # several drives
            shared.append(Path(real_path(os.path.commonpath(folders))))
    root = max(shared, key=lambda folder: len(folder.parts), default=None)
    if root is None or (root == root.parent and len(homes) > 1):
        raise UsageError(
            f"{given[0]} and the other paths share no folder: move the papers into one, or give a"
            " root that contains them (--root)"
        )
    return root


def resolve_root(root: str | Path) -> Path:
    """The absolute path of a root, checked."""
    if not is_folder(root):
        raise UsageError(f"the root {root} is not a folder: give the folder that holds the papers")
    return Path(real_path(root))


def path_below(path: Path, root: Path) -> str:
    """The POSIX path of an existing file or folder below a resolved root; '' for the root."""
    home, last = (path, []) if is_folder(path) else (path.parent, [path.name])
    stored = Path(real_path(home), *last)
    if stored.is_relative_to(root):
        return _posix(stored.relative_to(root))
    written = Path(_as_written(home), *last)
    for folder in written.parents:
        if Path(real_path(folder)) == root:
            return _posix(written.relative_to(folder))
    raise UsageError(
        f"{path} is outside the root {root}: move it into that folder, or give a root that contains"
        " it (--root)"
    )


def split_given(given: dict[str, Path]) -> tuple[dict[str, Path], dict[str, Path]]:
    """The given folders that no other of them contains, and the given files."""
    folders = {place: path for place, path in given.items() if is_folder(path)}
    stored = {real_path(path) for path in folders.values()}

    def is_listed(path: Path) -> bool:
        parts = Path(real_path(path)).parts
        return any(
            str(Path(*parts[:end])) in stored and not is_hidden("/".join(parts[end:]))
            for end in range(1, len(parts))
        )

    tops = {place: path for place, path in folders.items() if not is_listed(path)}
    return tops, {place: path for place, path in given.items() if place not in folders}


def _as_written(path: Path) -> str:
    """An absolute path in which links are kept, unless `..` follows them."""
    return real_path(path) if ".." in path.parts else absolute_path(path)


def _posix(path: Path) -> str:
    text = path.as_posix()
    return "" if text == "." else text
