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
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

from eqemb.article import Article, Equation
from eqemb.describing import Describer, Description, Neighbours
from eqemb.embeddings import Embeddings
from eqemb.encoding import Encoding
from eqemb.errors import EqembError, UsageError
from eqemb.explaining import Why, explain
from eqemb.hits import Answer, Hit
from eqemb.index import check_version, damaged_file
from eqemb.question import Where
from eqemb.records import FORMAT, Records, open_records
from eqemb.search import Search, check_no_article, find, looks_like_name
from eqemb.store import hold, remove_unheld, sync_folder, writing

try:
    import fcntl
except ImportError:  # Windows: two writers of one library are not kept apart
    fcntl = None  # type: ignore[assignment]

_ANEW = "build the library anew, into another folder"
#: What reading a file whose bytes were lost or changed ends in.
_DAMAGE = (sqlite3.Error, json.JSONDecodeError, UnicodeDecodeError)

#: All that a library's folder can hold before its first generation is taken; .lock comes first.
_BEFORE_SWITCH = frozenset((".lock", "generations", ".library.json.new"))


def write_atomically(path: Path, text: str) -> None:
    """Write a file whole or not at all: another name, fsync, rename.

    The other name is always the same, so that kills leave no litter: hold the library's lock.
    """
    new = path.with_name(f".{path.name}.new")
    with writing(path):
        _replace(path, new, text)
        sync_folder(path.parent)


def _replace(path: Path, new: Path, text: str) -> None:
    try:
        # half a character of a foreign file name becomes an escape, which JSON reads back
        with new.open("w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def to_json(value: Any) -> str:
    """JSON as we write it to files: stable and readable."""
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


class Library:
    """A finished library, opened for reading."""

    build: ClassVar[Callable[..., "Library"]]
    """`eqemb.build_library`; `eqemb.Library` has it, since building comes after this module."""

    def __init__(self, folder: Path, generation: Path, held: int | None = None) -> None:
        """`held` keeps the generation from being removed until the library is closed."""
        self._release = weakref.finalize(self, _close, held)
        self.folder = folder
        self.generation = generation
        self.records: Records = open_records(generation / "records.sqlite")
        self._encodings: dict[str, Encoding] = {}

    @classmethod
    def open(cls, folder: str | Path) -> "Library":
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

    @cached_property
    def model(self) -> Embeddings | None:
        """The library's own model, None where it has none."""
        return own_model(self.generation)

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
        raise EqembError(f"{self.folder} has no readable {name} ({why}): {_ANEW}")

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
        query = (
            "SELECT name, (SELECT COUNT(*) FROM equations e WHERE e.article = s.id), title"
            " FROM sources s JOIN articles a ON a.id = s.id ORDER BY s.id"
        )
        return ((name, count, title) for name, count, title in self.records.rows(query))

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

    def search(
        self,
        words: str,
        k: int = 10,
        *,
        by: str = "all",
        encoder: str | None = None,
        **limits: Any,
    ) -> Answer:
        """Equations for words, "phrases", -words and $LaTeX$; `limits` as `question.Where` has.

        `encoder` names a sentence encoder, MODULE:FUNCTION, that has a say too.
        """
        if by == "encoder" and encoder is None:
            raise UsageError("a ranking by an encoder needs one: say MODULE:FUNCTION")
        encoding = None if encoder is None else self.encoding(encoder)
        where = self._where(limits)
        return self.questions.words(words, _count(k), by=by, where=where, encoding=encoding)

    def encoding(
        self, encoder: str, progress: Callable[[int, int], object] = lambda _done, _all: None
    ) -> Encoding:
        """The library as a sentence encoder sees it; encoded when first asked, and kept."""
        if encoder not in self._encodings:
            self._encodings[encoder] = Encoding(
                self.records, self.folder, encoder, progress=progress
            )
        return self._encodings[encoder]

    def similar(self, equation: str, k: int = 10, *, by: str = "all", **limits: Any) -> Answer:
        """Equations like one that is named (`ARTICLE#4`) or given as LaTeX."""
        self.equation(equation)
        return self.questions.like(equation, _count(k), by=by, where=self._where(limits))

    def describe(self, equation: str, k: int = 10, *, by: str = "all") -> Description:
        """The words that say best what an equation is about; it is named, or given as LaTeX."""
        self.equation(equation)
        return self._describer.describe(equation, _count(k), by=by)

    def words(self, word: str, k: int = 10) -> Neighbours:
        """The words nearest to a word, by the library's model."""
        return self._describer.neighbours(word, _count(k))

    def query(
        self,
        positive: str | Sequence[Any] = (),
        negative: str | Sequence[Any] = (),
        k: int = 10,
        **limits: Any,
    ) -> Answer:
        """Equations near a sum of words, equations (names, or LaTeX as $...$) and units (tuples).

        What is negative is taken off; `limits` as `question.Where` has.
        """
        plus, minus = ([side] if isinstance(side, str) else side for side in (positive, negative))
        for member in (*plus, *minus):
            if isinstance(member, str) and not member.startswith("$"):
                self._check_name(member)
        return self._describer.query(plus, minus, _count(k), self._where(limits))

    def why(self, query: str | Hit | Equation, other: str | Hit | Equation) -> Why:
        """Why an equation answers: `query` is words or an equation, `other` an equation.

        Equations are named, given as LaTeX, or taken from an answer.
        """
        asked, answer = _text(query), _text(other)
        self._check_name(asked)
        self.equation(answer)
        return explain(self.questions, asked, answer)

    @cached_property
    def _describer(self) -> Describer:
        return Describer(self.questions)

    def _where(self, limits: dict[str, Any]) -> Where:
        """What an answer is limited to; a misspelt article or collection is answered with near."""
        has = limits.pop("has", ())
        try:
            where = Where(**limits, has=(has,) if isinstance(has, str) else tuple(has))
        except TypeError as error:
            raise UsageError(f"cannot limit an answer so: {error}") from None
        if where.article is not None:
            self.article(where.article)
        if where.collection is not None:
            query = "SELECT DISTINCT collection FROM sources WHERE status != 'skipped'"
            known = sorted(str(name) for (name,) in self.records.rows(query))
            if where.collection not in known:
                near = difflib.get_close_matches(where.collection, known, n=3, cutoff=0.5)
                hint = f"did you mean {', '.join(near)}?" if near else "`eqemb info` counts them"
                raise UsageError(f"no collection {where.collection!r} in {self.folder}: {hint}")
        return where

    def equation(self, name: str) -> Equation | None:
        """The equation that is named; None where the text is no name but LaTeX."""
        self._check_name(name)
        found = find(self.records, name)
        if found is None:
            check_no_article(self.records, name)
        return found

    def _check_name(self, text: str) -> None:
        """A misspelt name is neither words nor a formula: it is answered with near ones."""
        article = looks_like_name(text)
        if article and self.records.key(article) is None:
            self.article(article)

    @cached_property
    def questions(self) -> Search:
        """The index, opened."""
        if not (self.generation / "index").is_dir():
            raise UsageError(f"{self.folder} has no index: make the library with `eqemb build`")
        check_version(self.generation / "index", self.folder)
        return Search(self.records, self.generation / "index", lambda: self.model)

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
            raise EqembError(f"{self.folder} is damaged ({error}): {_ANEW}") from None
        if isinstance(error, FileNotFoundError) or (
            isinstance(error, Exception) and not isinstance(error, EqembError | OSError)
        ):
            index = self.generation / "index"
            file = damaged_file(index) if index.is_dir() else None
            if file is not None:  # else the fault is ours, or the system's
                raise EqembError(f"{file} is damaged or gone: {_ANEW}") from None


def _close(handle: int | None) -> None:
    if handle is not None:
        os.close(handle)


def _count(k: Any) -> int:
    """How many are asked for."""
    if not isinstance(k, int) or k < 1:
        raise UsageError(f"an answer of {k!r} is none: k is a whole number from 1")
    return k


def _text(thing: str | Hit | Equation) -> str:
    """What a thing is asked for by."""
    if isinstance(thing, Hit):
        return thing.equation.id
    return thing.id if isinstance(thing, Equation) else thing


def own_model(generation: Path) -> Embeddings | None:
    """The model that was learned for a generation, None where it has none."""
    place = generation / "model"
    return Embeddings.load(place) if place.is_dir() else None


def read_state(folder: Path) -> dict[str, int] | None:
    """What library.json says, None where there is none."""
    try:
        state = json.loads((folder / "library.json").read_text("utf-8"))
        number = state["format"]
        if number == FORMAT:
            return {"format": number, "generation": int(state["generation"])}
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        raise UsageError(
            f"{folder} is a file, not a library folder: make one with"
            " `eqemb build PAPERS -o LIBRARY`, and name it"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise EqembError(f"{folder / 'library.json'} is not a library's: {_ANEW}") from None
    what = "a newer" if isinstance(number, int) and number > FORMAT else "another"
    raise EqembError(
        f"{folder} has library format {number}, this version of eqemb reads {FORMAT}: "
        f"it was made by {what} version; read the papers again or use that version"
    )


@contextlib.contextmanager
def locked(place: Path, what: str) -> Iterator[None]:
    """Hold a file's lock; a second one is told what is going on."""
    with place.open("w", encoding="utf-8") as file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise EqembError(f"{what} by another eqemb; wait for it") from None
        with writing(place.parent):
            yield


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
    state = {"format": FORMAT, "generation": int(generation.name)}
    write_atomically(folder / "library.json", to_json(state))
    for name in ("report.json", "report.html"):
        write_atomically(folder / name, (generation / name).read_text("utf-8"))
    for old in generation.parent.iterdir():
        if old != generation:
            remove_unheld(old)
