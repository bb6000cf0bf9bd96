"""`watch_library` updates a library after changes, and survives what happens to its files."""

import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eqemb.errors import UsageError
from eqemb.facade import watching
from eqemb.facade.library import Library
from eqemb.facade.sync import Update, update_library
from eqemb.facade.watching import watch_library
from synthetic import papers, read_inline

BODY = r"Some words. \begin{equation} x = %s \end{equation} More words."


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library of two papers, whose files settle quickly."""
    read_inline(monkeypatch)
    monkeypatch.setattr(watching, "SETTLE", 0.05)
    monkeypatch.setattr(watching, "_RETRY", 0.05)
    top = papers(tmp_path / "papers", a=BODY % "a", b=BODY % "b")
    Library.build(top, tmp_path / "lib", model=False).close()
    return tmp_path


class Script:
    """Changes a folder after each look, and says what was reported; ends with Ctrl-C."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *steps: Callable[[], object]) -> None:
        self.updates: list[Update] = []
        self.complaints: list[str] = []
        monkeypatch.setattr(watching, "_events", lambda *_: self._run(steps))

    def _run(self, steps: tuple[Callable[[], object], ...]) -> Iterator[bool]:
        yield False
        for step in steps:
            step()
            time.sleep(0.1)
            yield True
        raise KeyboardInterrupt

    def watch(self, place: Path) -> None:
        """Run to the end."""
        with pytest.raises(KeyboardInterrupt):
            watch_library(
                place / "lib", report=self.updates.append, complain=self.complaints.append
            )


def test_every_change_is_an_update(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What changed before the start is in the first."""
    papers(place / "papers", c=BODY % "c")
    time.sleep(0.1)
    script = Script(
        monkeypatch,
        (place / "papers" / "a.tex").unlink,
        lambda: None,
        lambda: papers(place / "papers", b=BODY % "new", d=BODY % "d"),
    )
    script.watch(place)
    assert [(one.added, one.replaced, one.removed) for one in script.updates] == [
        (["c"], [], []),
        ([], [], ["a"]),
        (["d"], ["b"], []),
    ]
    assert script.complaints == []


def test_a_folder_may_disappear_and_come_back(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence, and the library stays as it is."""
    top, aside = place / "papers", place / "aside"
    script = Script(
        monkeypatch,
        lambda: top.rename(aside),
        lambda: None,
        lambda: aside.rename(top),
        lambda: papers(top, c=BODY % "c"),
    )
    script.watch(place)
    assert [one.added for one in script.updates] == [["c"]]
    assert len(script.complaints) == 1
    assert "is missing: connect its disk" in script.complaints[0]


def test_errors_of_the_system_do_not_end_it(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is said once, however they alternate."""
    update = update_library
    errors = [PermissionError(13, "denied", "papers"), OSError(5, "input/output error")] * 2

    def failing(*given: Any, **options: Any) -> Update:
        if errors and (place / "fail").exists():
            raise errors.pop()
        return update(*given, **options)

    monkeypatch.setattr(watching, "update_library", failing)
    steps = [(place / "fail").touch, *[lambda: None] * 3, lambda: papers(place / "papers", c=BODY)]
    script = Script(monkeypatch, *steps)
    script.watch(place)
    assert errors == []
    assert [text.partition(";")[0] for text in script.complaints] == [
        "input/output error",
        "papers: denied",
    ]
    assert [one.added for one in script.updates] == [["c"]]


def test_a_file_that_is_being_written_is_looked_at_again(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without another event, when it has settled."""
    monkeypatch.setattr(watching, "SETTLE", 0.5)

    def events(*_: object) -> Iterator[bool]:
        yield False
        papers(place / "papers", c=BODY % "c")
        yield True
        for _number in range(10):
            time.sleep(0.1)
            yield False
        raise KeyboardInterrupt

    monkeypatch.setattr(watching, "_events", events)
    told: list[Update] = []
    with pytest.raises(KeyboardInterrupt):
        watch_library(place / "lib", report=told.append, complain=pytest.fail)
    assert [one.added for one in told] == [["c"]]


def test_polling_needs_no_extra(place: Path) -> None:
    """It looks at the folder every so often."""

    def end(update: Update) -> None:
        assert update.added == ["c"]
        raise KeyboardInterrupt

    timer = threading.Timer(0.3, lambda: papers(place / "papers", c=BODY % "c"))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        watch_library(place / "lib", poll=0.1, report=end, complain=pytest.fail)
    timer.join()
    with pytest.raises(UsageError, match="poll must be a number above 0"):
        watch_library(place / "lib", poll=0, report=end, complain=pytest.fail)


def test_a_missing_extra_is_named(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what works without it."""
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    with pytest.raises(UsageError, match=r"pip install 'eqemb\[watch\]', or .* --poll 60"):
        watch_library(place / "lib", report=lambda _: None, complain=pytest.fail)


def test_a_replaced_folder_is_followed_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system tells only about the folder that it was asked to follow."""
    asked: list[tuple[Any, ...]] = []
    top = place / "papers"

    def watch(*paths: Any, **_: Any) -> Iterator[set[object]]:
        asked.append(paths)
        while True:
            yield set()

    monkeypatch.setitem(sys.modules, "watchfiles", types.SimpleNamespace(watch=watch))
    events = watching._events(place / "lib", [])
    assert [next(events), next(events), len(asked)] == [False, False, 1]
    top.rename(place / "aside")
    top.mkdir()
    assert [next(events), next(events), next(events)] == [True, False, False]
    assert asked == [(top,), (top,)]


def test_changes_of_hidden_files_and_of_the_library_do_not_count(tmp_path: Path) -> None:
    """The library may lie among the papers."""
    counts = watching._Visible(tmp_path / "papers" / "lib", [tmp_path / "papers"])
    top = str(tmp_path / "papers")
    assert counts(None, f"{top}/a.tex")
    assert counts(None, top)
    assert not counts(None, f"{top}/.a.tex.swp")
    assert not counts(None, f"{top}/.git/index")
    assert not counts(None, f"{top}/lib/library.json")
