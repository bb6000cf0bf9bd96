"""`update_library` brings a library in step with its files, at the cost of what has changed."""

import gzip
import io
import json
import os
import random
import shutil
import tarfile
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from eqemb.errors import UsageError
from eqemb.facade import sync
from eqemb.facade.library import Library
from eqemb.facade.reproduce import rebuild
from eqemb.facade.sync import Update, update_library
from eqemb.facade.update import add_papers, compact_library, remove_articles
from eqemb.library import ingest
from eqemb.library.generations import OpenLibrary, read_state
from eqemb.sources import folders
from eqemb.storage import checksums
from synthetic import PDF, forget_checksums, paper, papers, read_inline, small_paper, text

BODY = r"Some words. \begin{equation} x = %s \end{equation} More words."


@pytest.fixture(autouse=True)
def _inline(monkeypatch: pytest.MonkeyPatch) -> None:
    read_inline(monkeypatch)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A library of three papers: a, b, and c with a part and a package."""
    top = papers(tmp_path / "papers", a=BODY % "a", b=BODY % "b")
    (top / "c").mkdir()
    (top / "c" / "main.tex").write_text(
        paper(r"\usepackage{own}\input{part}\input{main.bbl} " + BODY % "c")
    )
    (top / "c" / "part.tex").write_text(BODY % r"p\own")
    (top / "c" / "own.sty").write_text(r"\newcommand{\own}{q}")
    Library.build(top, tmp_path / "lib", model=False).close()
    return tmp_path


def write(place: Path, name: str, body: str) -> Path:
    """Write a paper."""
    path = place / "papers" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(paper(body), "utf-8")
    return path


def records(folder: Path) -> list[tuple[str, bytes]]:
    """Return the names and digests of all sources, in order of names."""
    with Library.open(folder) as library:
        return sorted(library.records.digests())


def same_as_built(place: Path) -> bool:
    """Whether the library has the records of one that is built now."""
    Library.read(place / "papers", place / "again").close()
    return records(place / "lib") == records(place / "again")


def counts(update: Update) -> dict[str, Any]:
    """Return what has changed, without what is empty."""
    every = {key: value for key, value in vars(update).items() if value}
    every.pop("unchanged", None)
    return every


def test_new_changed_and_gone_papers_become_one_generation(place: Path) -> None:
    """There is one switch, to the records of a build."""
    write(place, "d.tex", BODY % "d")
    write(place, "a.tex", BODY % "new")
    (place / "papers" / "b.tex").unlink()
    done = update_library(place / "lib")
    assert counts(done) == {"added": ["d"], "replaced": ["a"], "removed": ["b"]}
    assert done.unchanged == 1
    state = read_state(place / "lib")
    assert state is not None
    assert (state["format"], state["generation"]) == (4, 2)
    assert same_as_built(place)
    with Library.open(place / "lib") as library:
        assert library.article("a").equations[0].latex == "x = new"


def test_nothing_is_read_or_written_if_nothing_changed(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that were only touched are hashed, not read."""
    before = {path: path.stat().st_mtime_ns for path in (place / "lib").rglob("*.json")}
    touched = time.time_ns() - 10**11
    for path in (place / "papers").rglob("*.*"):
        os.utime(path, ns=(touched, touched))
    monkeypatch.setattr(ingest.Ingest, "run", lambda *_: pytest.fail("papers were read"))
    done = update_library(place / "lib")
    assert counts(done) == {}
    assert done.unchanged == 3
    after = {path: path.stat().st_mtime_ns for path in (place / "lib").rglob("*.json")}
    assert [path.name for path in after if after[path] != before.get(path)] == ["sources.json"]


def test_known_files_are_not_opened(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file with the recorded size and time costs one system call."""
    old = time.time_ns() - 10**11
    for path in (place / "papers").rglob("*.*"):
        os.utime(path, ns=(old, old))
    update_library(place / "lib")
    monkeypatch.setattr(folders, "_read_text", lambda *_: pytest.fail("a text was read"))
    monkeypatch.setattr(checksums, "READ_AT_OPENING", 0)  # the library's own files
    monkeypatch.setattr("hashlib.file_digest", lambda *_: pytest.fail("a file was hashed"))
    assert counts(update_library(place / "lib")) == {}


@pytest.mark.parametrize("name", ["part.tex", "own.sty", "main.tex"])
def test_a_change_in_any_file_replaces_the_paper(place: Path, name: str) -> None:
    """The files that a paper includes are parts of it."""
    path = place / "papers" / "c" / name
    path.write_text(path.read_text().replace("own}{q}", "own}{r}").replace("words", "letters"))
    assert counts(update_library(place / "lib")) == {"replaced": ["c"]}
    assert same_as_built(place)


def test_a_new_bbl_replaces_the_paper(place: Path) -> None:
    """A file that appears beside a paper may be a part of it."""
    (place / "papers" / "c" / "main.bbl").write_text(r"\bibitem{x} A book about the cosine.")
    assert counts(update_library(place / "lib")) == {"replaced": ["c"]}
    assert same_as_built(place)


def test_a_change_without_effect_replaces_nothing(place: Path) -> None:
    """What is read decides, not the bytes of the file."""
    path = place / "papers" / "a.tex"
    path.write_text(path.read_text() + "% a comment\n")
    assert counts(update_library(place / "lib")) == {"replaced": ["a"]}  # it has more bytes
    path.write_text(path.read_text().replace("% a comment", "% a remark "))
    assert counts(update_library(place / "lib")) == {}
    assert same_as_built(place)


def test_a_rename_takes_the_name_that_a_build_gives(place: Path) -> None:
    """The name of a paper that is gone is free again."""
    (place / "papers" / "a.tex").rename(place / "papers" / "z.tex")
    (place / "papers" / "c" / "main.tex").rename(place / "papers" / "c" / "paper.tex")
    done = update_library(place / "lib")
    assert counts(done) == {"added": ["z"], "removed": ["a"], "replaced": ["c"]}
    assert same_as_built(place)


def test_a_paper_that_breaks_is_no_longer_an_article(place: Path) -> None:
    """As in a library that is built from it."""
    (place / "papers" / "a.tex").write_bytes(PDF)
    assert counts(update_library(place / "lib")) == {"unreadable": ["a: pdf only"]}
    assert same_as_built(place)
    assert counts(update_library(place / "lib")) == {}
    write(place, "a.tex", BODY % "again")
    assert counts(update_library(place / "lib")) == {"added": ["a"]}


def test_skipped_sources_come_and_go(tmp_path: Path) -> None:
    """Whether a file is a source may depend on other files."""
    top = papers(tmp_path / "papers" / "a", a=BODY % "a").parent
    Library.build(top, tmp_path / "lib", model=False).close()
    (top / "b").mkdir()
    (top / "b" / "x.pdf").write_bytes(PDF)
    assert counts(update_library(tmp_path / "lib")) == {"skipped": ["b/x.pdf: pdf only"]}
    papers(top / "b", b=BODY % "b")  # a PDF beside a paper is no source
    assert counts(update_library(tmp_path / "lib")) == {"added": ["b/b"], "forgotten": 1}
    assert same_as_built(tmp_path)
    (top / "b" / "b.tex").unlink()
    done = counts(update_library(tmp_path / "lib"))
    assert done == {"removed": ["b/b"], "skipped": ["b/x.pdf: pdf only"]}
    assert same_as_built(tmp_path)


def test_a_paper_that_cannot_be_opened_stays(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is tried again by the next update."""
    write(place, "a.tex", BODY % "new")
    monkeypatch.setattr(
        "eqemb.library.worker.load", lambda *_: (_ for _ in ()).throw(MemoryError())
    )
    assert counts(update_library(place / "lib")) == {"kept": ["a"]}
    monkeypatch.undo()
    read_inline(monkeypatch)
    assert counts(update_library(place / "lib")) == {"replaced": ["a"]}


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root reads every folder")
def test_a_folder_without_permission_keeps_its_papers(place: Path) -> None:
    """They are not gone."""
    (place / "papers" / "c").chmod(0)
    try:
        assert "c" not in update_library(place / "lib").removed
    finally:
        (place / "papers" / "c").chmod(0o755)


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege")
def test_a_link_that_is_not_followed_is_skipped_once(place: Path) -> None:
    """It is not being written, though nothing was looked at."""
    (place / "elsewhere.md").write_text("$$x$$")
    (place / "papers" / "z.md").symlink_to(place / "elsewhere.md")
    done = update_library(place / "lib")
    assert counts(done) == {"skipped": ["z.md: link outside folder"]}
    assert counts(update_library(place / "lib")) == {}


def tar(path: Path, **bodies: str) -> None:
    """Write a tar of packed papers, as arXiv's month tars."""
    with tarfile.open(path, "w") as archive:
        for name, body in bodies.items():
            data = gzip.compress(paper(body).encode(), mtime=0)
            entry = tarfile.TarInfo(f"1803/{name[1:].replace('_', '.')}.gz")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))


def test_members_of_an_archive_are_compared_one_by_one(place: Path) -> None:
    """Only members that differ are read."""
    month = place / "papers" / "month.tar"
    tar(month, _1803_00001=BODY % 1, _1803_00002=BODY % 2, _1803_00003=BODY % 3)
    assert len(update_library(place / "lib").added) == 3
    assert same_as_built(place)
    assert counts(update_library(place / "lib")) == {}
    tar(month, _1803_00001=BODY % 1, _1803_00002=BODY % 22, _1803_00004=BODY % 4)
    done = update_library(place / "lib")
    assert [len(done.added), len(done.replaced), len(done.removed)] == [1, 1, 1]
    assert same_as_built(place)


def test_papers_of_a_damaged_archive_stay(place: Path) -> None:
    """It may be a copy that has not ended; the rest of it is read when it is whole."""
    month, single = place / "papers" / "month.tar", place / "papers" / "single.zip"
    tar(month, _1803_00001=BODY % 1, _1803_00002=BODY % 2)
    with zipfile.ZipFile(single, "w") as packed:
        packed.writestr("main.tex", paper(BODY % "s"))
    (place / "papers" / "g.gz").write_bytes(gzip.compress(paper(BODY % "g").encode()))
    assert len(update_library(place / "lib").added) == 4
    tar(month, _1803_00001=BODY % 11, _1803_00002=BODY % 2, _1803_00003=BODY % 3)
    whole = {path: path.read_bytes() for path in (month, single, place / "papers" / "g.gz")}
    before = records(place / "lib")
    for path, data in whole.items():
        path.write_bytes(data[: len(data) * 2 // 3 if path != month else 2_200])
    for dry_run in (True, False):
        done = counts(update_library(place / "lib", dry_run=dry_run))
        assert set(done["damaged"]) >= {"1803.00001", "1803.00002", "single"}
        assert "removed" not in done
    assert done == {"damaged": ["1803.00001", "1803.00002", "g", "single"]}
    assert records(place / "lib") == before
    for path, data in whole.items():
        path.write_bytes(data)
    assert counts(update_library(place / "lib")) == {
        "added": ["1803.00003"],
        "replaced": ["1803.00001"],
    }
    assert same_as_built(place)


def test_an_archive_that_has_not_changed_is_not_opened(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its papers stay as they are."""
    tar(place / "papers" / "month.tar", _1803_00001=BODY % 1, _1803_00002=BODY % 2)
    update_library(place / "lib")
    monkeypatch.setattr(
        "eqemb.sources.discovery._Finder._in_content", lambda *_: pytest.fail("it was opened")
    )
    write(place, "a.tex", BODY % "new")
    assert counts(update_library(place / "lib")) == {"replaced": ["a"]}


def test_papers_in_unopened_archives_count_as_unchanged(place: Path) -> None:
    """Each of them, as if the archive had been opened."""
    tar(place / "papers" / "month.tar", _1803_00001=BODY % 1, _1803_00002=BODY % 2)
    update_library(place / "lib")
    before = update_library(place / "lib").unchanged
    with OpenLibrary.open(place / "lib") as library:
        assert before == library.report["sources"]
    write(place, "new.tex", BODY % 9)
    assert update_library(place / "lib").unchanged == before


def test_lines_of_records_are_compared_one_by_one(place: Path) -> None:
    """A line is known by its identifier, wherever it stands."""

    def line(number: int, words: str) -> str:
        about = {"paper_id": f"1803.0000{number}", "metadata": {"title": "T"}, "bib_entries": {}}
        body = [{"section": "S", "text": f"{words} and words.", "cite_spans": []}]
        more = {"abstract": {"text": words}, "body_text": body, "ref_entries": {}}
        return json.dumps(about | more) + "\n"

    lines = place / "papers" / "some.jsonl"
    lines.write_text(line(1, "one") + line(2, "two"))
    assert len(update_library(place / "lib").added) == 2
    lines.write_text(line(0, "zero") + line(2, "two") + line(1, "more"))
    done = update_library(place / "lib")
    assert [len(done.added), len(done.replaced), len(done.removed)] == [1, 1, 0]
    assert same_as_built(place)


def test_two_members_of_one_name_stay_two_articles(place: Path) -> None:
    """Whichever of them changes."""
    month = place / "papers" / "month.tar"
    for bodies in ((1, 2), (1, 3), (4, 3), (5, 6)):
        with tarfile.open(month, "w") as archive:
            for body in bodies:
                data = gzip.compress(paper(BODY % body).encode(), mtime=0)
                entry = tarfile.TarInfo("1803/1803.00001.gz")
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
        update_library(place / "lib")
        with Library.open(place / "lib") as library:
            found = [a.equations[0].latex for a in library.articles() if "1803" in a.name]
        assert sorted(found) == [f"x = {body}" for body in sorted(bodies)]


# ---------------------------------------------------------------- what must not happen


def test_a_missing_folder_is_refused(place: Path) -> None:
    """Its disk may not be connected."""
    (place / "papers").rename(place / "elsewhere")
    with pytest.raises(UsageError, match=r"the root of .*, .*papers, is missing: connect its disk"):
        update_library(place / "lib")
    (place / "papers").mkdir()
    with pytest.raises(UsageError, match=r"is missing or empty, so that 3 sources .*allow-empty"):
        update_library(place / "lib")
    with pytest.raises(UsageError, match="would remove every article"):
        update_library(place / "lib", allow_empty=True)
    assert len(records(place / "lib")) == 3


def test_a_missing_folder_can_be_allowed(place: Path) -> None:
    """With `allow_empty`, its articles are removed."""
    both = [place / "papers" / "c", place / "papers" / "a.tex"]
    Library.build(both, place / "lib", model=False).close()
    shutil.rmtree(both[0])
    with pytest.raises(UsageError, match=r"c is missing or empty, so that 1 source"):
        update_library(place / "lib")
    assert counts(update_library(place / "lib", allow_empty=True)) == {"removed": ["c"]}


@pytest.mark.parametrize("dry_run", [False, True])
def test_an_empty_mount_point_is_refused(place: Path, *, dry_run: bool) -> None:
    """Hidden files in it are no sources; what changed elsewhere waits."""
    both = [place / "papers" / "c", place / "papers" / "a.tex"]
    Library.build(both, place / "lib", model=False).close()
    shutil.rmtree(both[0])
    both[0].mkdir()
    (both[0] / ".keep").touch()
    write(place, "a.tex", BODY % "new")
    with pytest.raises(UsageError, match=r"c is missing or empty, so that 1 source"):
        update_library(place / "lib", dry_run=dry_run)
    assert len(records(place / "lib")) == 2
    assert len(list((place / "lib" / "generations").iterdir())) == 1
    done = update_library(place / "lib", allow_empty=True, dry_run=dry_run)
    assert (done.removed, done.replaced) == (["c"], ["a"])


def test_a_given_file_that_is_gone_is_removed(place: Path) -> None:
    """If its folder is still there."""
    both = [place / "papers" / "b.tex", place / "papers" / "a.tex"]
    Library.build(both, place / "lib", model=False).close()
    both[0].unlink()
    assert counts(update_library(place / "lib")) == {"removed": ["b"]}


def test_moved_papers_are_the_same_papers(place: Path) -> None:
    """Names are relative to the root, so that nothing is read."""
    (place / "papers").rename(place / "moved")
    done = update_library(place / "lib", root=place / "moved")
    assert counts(done) == {"root": str(place / "moved")}
    assert counts(update_library(place / "lib")) == {}
    (place / "papers").mkdir()  # the old root is not looked at any more
    (place / "moved" / "a.tex").unlink()
    assert counts(update_library(place / "lib")) == {"removed": ["a"]}


def test_paths_limit_what_is_looked_at(place: Path) -> None:
    """What lies elsewhere stays as it is."""
    write(place, "a.tex", BODY % "new")
    write(place, "d/e.tex", BODY % "e")
    (place / "papers" / "b.tex").unlink()
    done = update_library(place / "lib", place / "papers" / "d")
    assert counts(done) == {"added": ["d/e"]}
    done = update_library(place / "lib", [place / "papers" / "b.tex"])
    assert counts(done) == {"removed": ["b"]}
    assert counts(update_library(place / "lib")) == {"replaced": ["a"]}
    with pytest.raises(UsageError, match="no such file or folder"):
        update_library(place / "lib", place / "nowhere" / "x")


def test_a_dry_run_changes_nothing(place: Path) -> None:
    """It says what an update would do."""
    write(place, "d.tex", BODY % "d")
    write(place, "a.tex", BODY % "new")
    (place / "papers" / "b.tex").unlink()
    (place / "papers" / "empty.tex").write_text("")
    before = {path: path.read_bytes() for path in (place / "lib").rglob("*") if path.is_file()}
    done = update_library(place / "lib", dry_run=True)
    assert (done.added, done.replaced, done.removed) == (["d"], ["a"], ["b"])
    assert done.skipped == ["empty.tex: empty"]
    after = {path: path.read_bytes() for path in (place / "lib").rglob("*") if path.is_file()}
    assert before == after


def test_an_interrupted_update_leaves_the_old_library(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next update starts again."""
    write(place, "d.tex", BODY % "d")
    before = records(place / "lib")
    monkeypatch.setattr(
        sync, "finish_generation", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt):
        update_library(place / "lib")
    assert records(place / "lib") == before
    monkeypatch.undo()
    read_inline(monkeypatch)
    assert counts(update_library(place / "lib")) == {"added": ["d"]}
    assert same_as_built(place)


def test_a_paper_that_changes_while_it_is_read_is_left(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a file must not replace a whole paper."""
    write(place, "a.tex", BODY % "half")
    run = ingest.Ingest.run

    def write_on(*arguments: Any) -> list[int]:
        done = run(*arguments)
        write(place, "a.tex", BODY % "the whole")
        return done

    monkeypatch.setattr(ingest.Ingest, "run", write_on)
    assert counts(update_library(place / "lib")) == {"pending": ["a.tex"]}
    with Library.open(place / "lib") as library:
        assert library.article("a").equations[0].latex == "x = a"
    monkeypatch.setattr(ingest.Ingest, "run", run)
    assert counts(update_library(place / "lib")) == {"replaced": ["a"]}
    assert same_as_built(place)


def test_files_that_have_just_changed_are_left_to_settle(place: Path) -> None:
    """With `settle`, until they are some seconds old."""
    write(place, "a.tex", BODY % "new")
    write(place, "d.tex", BODY % "d")
    tar(place / "papers" / "month.tar", _1803_00001=BODY % 1, _1803_00002=BODY % 2)
    done = update_library(place / "lib", settle=60)
    assert counts(done).keys() == {"pending"}
    assert done.pending[:1] == ["a.tex"]
    assert done.pending[-1] == "month.tar!1803/1803.00002.gz"
    done = update_library(place / "lib")
    assert (len(done.added), done.replaced) == (3, ["a"])
    assert same_as_built(place)


# ---------------------------------------------------------------- with the other changes


def test_a_library_without_a_record_is_read_once(place: Path) -> None:
    """What gives the same record is not replaced."""
    (forget_checksums(place / "lib") / "generations/1/sources.json").unlink()
    write(place, "a.tex", BODY % "new")
    assert counts(update_library(place / "lib")) == {"replaced": ["a"], "compared": 3}
    assert counts(update_library(place / "lib")) == {}
    assert same_as_built(place)


def test_a_damaged_record_counts_as_none(place: Path) -> None:
    """It can be made again from the papers."""
    (place / "lib" / "generations" / "1" / "sources.json").write_text('{"format": 1, "files": 3}')
    assert counts(update_library(place / "lib")) == {"compared": 3}


def test_other_changes_keep_the_record(place: Path) -> None:
    """A removed article comes back as long as its file is there."""
    write(place, "d.tex", BODY % "d")
    add_papers(place / "lib", place / "papers")
    remove_articles(place / "lib", ["d"])
    compact_library(place / "lib")
    assert counts(update_library(place / "lib")) == {"added": ["d"]}  # its file is still there
    assert counts(update_library(place / "lib")) == {}


def test_what_add_did_not_read_is_still_noticed(place: Path) -> None:
    """`add` leaves changed papers of known names alone."""
    month = place / "papers" / "month.tar"
    tar(month, _1803_00001=BODY % 1, _1803_00002=BODY % 2)
    add_papers(place / "lib", place / "papers")
    tar(month, _1803_00001=BODY % 11, _1803_00002=BODY % 2, _1803_00003=BODY % 3)
    write(place, "a.tex", BODY % "new")
    assert len(add_papers(place / "lib", place / "papers").names) == 1
    done = update_library(place / "lib")
    assert (done.added, len(done.replaced), done.removed) == ([], 2, [])
    assert same_as_built(place)


def test_updates_are_one_step_that_can_be_repeated(place: Path) -> None:
    """However many there were."""
    for number in range(3):
        write(place, "a.tex", BODY % f"n_{number}")
        write(place, f"e{number}.tex", BODY % f"e_{number}")
        update_library(place / "lib")
    with Library.open(place / "lib") as library:
        assert [step["step"] for step in library.steps] == ["build", "update"]
    assert rebuild(place / "lib").agrees
    write(place, "a.tex", BODY % "other")
    assert rebuild(place / "lib").changed == ["a"]


def test_a_library_without_steps_asks_for_paths(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Versions before did not record them."""
    monkeypatch.setattr(OpenLibrary, "steps", [])
    with pytest.raises(UsageError, match="does not record which papers it was made of"):
        update_library(place / "lib")


def test_names_of_papers_with_other_roots_do_not_collide(place: Path) -> None:
    """Papers of several roots are updated together."""
    papers(place / "more", f=BODY % "f")
    add_papers(place / "lib", place / "more", root=place / "more")
    papers(place / "more", g=BODY % "g")
    papers(place / "papers", g=BODY % "other")
    done = update_library(place / "lib")
    assert done.added == ["g"]  # the same path below both roots: the same paper
    (place / "more" / "f.tex").unlink()
    assert update_library(place / "lib").removed == ["f"]


# ---------------------------------------------------------------- random operations


def change_something(top: Path, dice: random.Random, number: int) -> None:
    """Create, edit, rename, delete or touch a file."""
    files = sorted(path for path in top.rglob("*") if path.is_file())
    one, body = dice.choice(files), small_paper(dice.randrange(10**6))
    target = top / dice.choice([f"n{number}.tex", f"n{number}/main.tex", f"set/n{number}.tex"])
    target.parent.mkdir(parents=True, exist_ok=True)
    match dice.choice(["create", "create", "comment", "edit", "rename", "delete", "touch"]):
        case "create":
            target.write_text(body)
        case "comment":
            one.write_text(f"{one.read_text()}% {text(3, number)}\n")
        case "edit":
            one.write_text(body)
        case "rename":
            one.rename(target)
        case "delete" if len(files) > 3:
            one.unlink()
        case _:
            one.touch()


@pytest.mark.parametrize("seed", range(3))
def test_random_operations_give_the_library_of_a_build(place: Path, seed: int) -> None:
    """After every update, and compacted."""
    dice = random.Random(seed)
    for number in range(18):
        change_something(place / "papers", dice, number)
        if number % 3 == 2:
            update_library(place / "lib")
            assert same_as_built(place)
    compact_library(place / "lib")
    assert same_as_built(place)
