"""A library on disk: a folder whose library.json names the generation that is current.

    library.json          format and current generation; the only file that is ever switched
    generations/N/        records.sqlite, report.json, report.html, run.json of one reading, and
                          model/ and index/ where it was built
    report.json, .html    copies of the current report, for people

The generation after the current one is the reading under way, or one that was interrupted. It
is taken by writing library.json anew, by rename, so that after a kill at any moment the library
is the old one or the new one. Who has opened a library holds its generation: it answers on while
others change the library, and the old generation goes with a change after it was closed.
"""

import contextlib
import difflib
import json
import os
import sqlite3
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from eqemb.article import Article
from eqemb.errors import EqembError, UsageError
from eqemb.library.database import RECORDS_FORMAT, Records, open_records
from eqemb.storage.atomic import sync_folder, to_json, write_atomically
from eqemb.storage.locks import hold, remove_unheld

REBUILD = "build the library anew, into another folder"
#: All that a library's folder can hold before its first generation is taken; .lock comes first.
_BEFORE_SWITCH = frozenset((".lock", "generations", ".library.json.new"))


#: What reading a file whose bytes were lost or changed ends in.
_DAMAGE = (sqlite3.Error, json.JSONDecodeError, UnicodeDecodeError)


class OpenLibrary:
    """A finished library, opened for reading: its records and what was written about them."""

    def __init__(self, folder: Path, generation: Path, held: int | None = None) -> None:
        """`held` keeps the generation from being removed until the library is closed."""
        self._release = weakref.finalize(self, _close, held)
        self.folder = folder
        self.generation = generation
        self.records: Records = open_records(generation / "records.sqlite")

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Open the library in a folder."""
        folder = Path(folder)
        while (state := read_state(folder)) is not None:
            generation = folder / "generations" / str(state["generation"])
            held = hold(generation)
            if read_state(folder) == state:  # else it was changed before we held it
                return cls(folder, generation, held)
            _close(held)
        hint = (
            "its reading was not finished: run the same command with --resume"
            if (folder / "generations").is_dir()
            else "make one with `eqemb build PAPERS -o LIBRARY`"
        )
        raise UsageError(f"no library at {folder}: {hint}")

    @property
    def report(self) -> dict[str, Any]:
        """What was read and what was not."""
        return self._told("report", "articles")

    @property
    def steps(self) -> list[dict[str, Any]]:
        """What was done to make the library, in order; nothing where it is too old to say."""
        found: list[dict[str, Any]] = self._told("settings", "format").get("steps", [])
        return found

    def _told(self, name: str, key: str) -> dict[str, Any]:
        """A file of the generation, which always has this key."""
        try:
            found = json.loads((self.generation / f"{name}.json").read_text("utf-8"))
            if isinstance(found, dict) and key in found:
                return found
            why = "it is damaged"
        except (OSError, ValueError) as error:
            why = str(error)
        raise EqembError(f"{self.folder} has no readable {name} ({why}): {REBUILD}")

    def models(self) -> dict[str, dict[str, Any]]:
        """What each trained model says of itself, by name; one that cannot be read is left out."""
        found = {}
        for path in sorted((self.folder / "models").glob("[!.]*/config.json")):
            with contextlib.suppress(OSError, ValueError):
                config = json.loads(path.read_text("utf-8"))
                if isinstance(config, dict) and "settings" in config:
                    found[path.parent.name] = config
        return found

    def articles(self) -> Iterator[Article]:
        """Every article, in order."""
        for name in self.records.names():
            article = self.records.article(name)
            if article is not None:
                yield article

    def contents(self) -> Iterator[tuple[str, int, str]]:
        """Name, number of equations and title of every article, in order."""
        return self.records.contents()

    def article(self, name: str) -> Article:
        """One article by name; a name that is not there is answered with near ones."""
        found = self.records.article(name)
        if found is None:
            names = self.records.names()
            near = [n for n in names if n.rsplit("/", 1)[-1] == name] or (
                [n for n in names if name and f"/{name}" in f"/{n}"]
                + difflib.get_close_matches(name, names, n=3, cutoff=0.5)
            )
            near = list(dict.fromkeys(near))[:3]
            hint = f"did you mean {', '.join(near)}?" if near else "`eqemb show LIBRARY` lists them"
            raise UsageError(f"no article {name!r} in {self.folder}: {hint}")
        return found

    def close(self) -> None:
        """Let go of the files."""
        self.records.close()
        self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        self.close()
        if isinstance(error, Exception) and not self.generation.exists():  # there are no locks
            raise EqembError(f"{self.folder} was changed since it was opened: ask again") from None
        if isinstance(error, _DAMAGE):
            raise EqembError(f"{self.folder} is damaged ({error}): {REBUILD}") from None
        self._check_damage(error)

    def _check_damage(self, error: object) -> None:
        """Say which file is damaged, where that is what an error comes from."""


def _close(handle: int | None) -> None:
    if handle is not None:
        os.close(handle)


def read_state(folder: Path) -> dict[str, int] | None:
    """What library.json says, None where there is none."""
    try:
        state = json.loads((folder / "library.json").read_text("utf-8"))
        number = state["format"]
        if number == RECORDS_FORMAT:
            return {"format": number, "generation": int(state["generation"])}
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        raise UsageError(
            f"{folder} is a file, not a library folder: make one with"
            " `eqemb build PAPERS -o LIBRARY`, and name it"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise EqembError(f"{folder / 'library.json'} is not a library's: {REBUILD}") from None
    what = "a newer" if isinstance(number, int) and number > RECORDS_FORMAT else "another"
    raise EqembError(
        f"{folder} has library format {number}, this version of eqemb reads {RECORDS_FORMAT}: "
        f"it was made by {what} version; read the papers again or use that version"
    )


def make_folder(folder: Path) -> None:
    """Make the folder of a library; one that holds anything but a library is refused."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise UsageError(f"{folder} is a file: give a folder for the library") from None
    except OSError as error:
        raise EqembError(
            f"cannot make the folder {folder} ({error.strerror}): name another place"
        ) from None
    names = {path.name for path in folder.iterdir()}
    begun_by_us = names <= _BEFORE_SWITCH and (".lock" in names or not names)
    if read_state(folder) is None and not begun_by_us:
        raise UsageError(f"{folder} holds other files: give a new or empty folder for the library")


def next_generation(folder: Path) -> Path:
    """Where the generation after the current one is written, or is being written."""
    state = read_state(folder)
    return folder / "generations" / str(state["generation"] + 1 if state else 1)


def switch(folder: Path, generation: Path) -> None:
    """Take a finished generation as the current one; older ones that nobody holds go then."""
    sync_folder(generation)
    sync_folder(generation.parent)
    state = {"format": RECORDS_FORMAT, "generation": int(generation.name)}
    write_atomically(folder / "library.json", to_json(state))
    for name in ("report.json", "report.html"):
        write_atomically(folder / name, (generation / name).read_text("utf-8"))
    for old in generation.parent.iterdir():
        if old != generation:
            remove_unheld(old)
