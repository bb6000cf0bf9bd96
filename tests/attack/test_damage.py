"""Damage a library at random places: refused or without effect, and always found."""

import itertools
import json
import os
import random
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

import axes
from campaigns import FULL
from damages import CHANGED, DAMAGES, REFUSED, SAME, Outcome, answers, places, table, try_place
from eqemb.errors import DamageError
from eqemb.facade.library import Library
from eqemb.facade.verify import verify
from eqemb.storage import checksums
from eqemb.storage.atomic import to_json
from server.clients import make_client
from synthetic import Run, assert_one_sentence, read_inline, start, wait_for

#: Questions for a server, each asked in turn.
URLS = [
    *(f"/v1/search?q=cosine+similarity&size={size}" for size in range(1, 9)),
    *(f"/v1/similar?equation=angles%231&size={size}" for size in range(1, 5)),
    *(f"/v1/describe?equation=harmonic%231&count={count}" for count in range(1, 4)),
    *("/v1/articles/angles", "/v1/articles/documents", "/v1/symbols?equation=angles%231"),
    *("/?q=harmonic+mean", "/articles/again", "/v1/notation?q=cosine", "/v1/stats"),
]
#: Those that a library without a model answers.
MODEL_FREE = [url for url in URLS if "describe" not in url]
#: What pages and statistics say of a map.
_OF_MAP = re.compile(rb'<a [^>]*href="[./]*map[^>]*>Map</a>\s*|"map":(?:true|false)')
SEED = random.SystemRandom().randrange(1 << 32) if FULL else 0


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with everything that one can have: a model, a map, trained models, a corpus."""
    return axes.make_full_library(tmp_path_factory.mktemp("intact"))


@pytest.fixture
def library(intact: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(intact, tmp_path / "library"))


def attack(library: Path, count: int) -> list[Outcome]:
    """Damage a library at random places; return what that led to."""
    wanted = answers(library)
    found = [try_place(library, place, wanted) for place in places(library, count, SEED)]
    assert answers(library) == wanted  # it was repaired each time
    assert verify(library).is_intact
    sys.stdout.write(f"{table(found)}\n")
    return found


def test_damage_is_refused_or_without_effect(
    library: Path, record_property: Callable[[str, object], None]
) -> None:
    """A small library is read when it is opened: no answer changes; and verify finds everything."""
    found = attack(library, 500 if FULL else 12)
    record_property("cases", len(found))
    assert not [one for one in found if one.result not in (REFUSED, SAME)], SEED
    assert not [one for one in found if not one.is_found], SEED
    assert all("\n" not in one.sentence for one in found), SEED


def test_damage_of_a_large_library_is_one_sentence_if_it_is_noticed(
    library: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    """Only sizes and headers are checked then, and what fails later; verify finds everything."""
    monkeypatch.setattr(checksums, "READ_AT_OPENING", 0)
    found = attack(library, 500 if FULL else 8)
    record_property("cases", len(found))
    assert not [one for one in found if one.result not in (REFUSED, SAME, CHANGED)], SEED
    assert not [one for one in found if not one.is_found], SEED
    silent = sum(one.result == CHANGED for one in found)
    assert silent <= len(found) / 10, SEED


# -- under a server


@contextmanager
def serving(library: Path) -> Iterator[TestClient]:
    """A server with a worker process, which caches no responses."""
    with make_client(library, workers=1, seconds=60) as client:
        client.app.state.cache._max_bytes = 0  # type: ignore[attr-defined]
        assert wait_for(lambda: len(client.app.state.processes.pids) == 1)  # type: ignore[attr-defined]
        yield client


@pytest.fixture
def served(library: Path) -> Iterator[TestClient]:
    """Serve the library that a test may damage."""
    with serving(library) as client:
        yield client


@pytest.mark.skipif(os.name != "posix", reason="open files cannot be changed")
def test_damage_under_a_server_is_503_or_without_effect(
    library: Path, served: TestClient, record_property: Callable[[str, object], None]
) -> None:
    """Also where a mapped file is cut; the server answers again when the library is whole."""
    wanted = {url: served.get(url) for url in URLS}
    assert {answer.status_code for answer in wanted.values()} == {200}
    urls = itertools.cycle(URLS)
    chosen = list(places(library, 200 if FULL else 4, SEED))
    chosen.append(chosen[0]._replace(file="library.json", kind="deletion"))
    for place in chosen:
        path = library / place.file
        kept = {other: other.read_bytes() for other in path.parent.iterdir() if other.is_file()}
        DAMAGES[place.kind](path, random.Random(place.seed))
        for url in itertools.islice(urls, 3):
            check_answer(served, url, wanted[url].content, place)
        for other, data in kept.items():
            if not other.exists() or other.read_bytes() != data:
                other.write_bytes(data)
        url = next(urls)
        assert is_answered(served, url, wanted[url].content), place
    record_property("cases", len(chosen))


def test_checksums_of_a_model_that_are_whole_again_are_noticed(
    library: Path, served: TestClient
) -> None:
    """The model is opened when it is first used, after the library."""
    assert served.get("/v1/search?q=cosine").status_code == 200
    path = library / "generations/1/model/checksums.json"
    kept = path.read_bytes()
    path.write_bytes(kept[:-10] + b"?" * 10)
    assert served.get("/v1/stats").status_code == 503
    path.write_bytes(kept)
    assert wait_for(lambda: served.get("/v1/stats").status_code == 200)


def test_a_damaged_map_is_left_out_of_pages(library: Path, served: TestClient) -> None:
    """All else is answered as before, and the map is back when its file is."""
    url, path = "/?q=harmonic+mean", library / "generations/1/map/map.json"
    wanted, kept = served.get(url).content, path.read_bytes()
    path.write_bytes(kept[:-2] + b"??")
    assert wait_for(lambda: b">Map</a>" not in served.get(url).content)
    check_answer(served, url, wanted, path)
    path.write_bytes(kept)
    assert is_answered(served, url, wanted)


def is_answered(client: TestClient, url: str, wanted: bytes) -> bool:
    """Wait until a server gives an answer."""
    return wait_for(lambda: client.get(url).content == wanted)


def _without_map(content: bytes) -> bytes:
    """Leave out whether there is a map: a damaged one is not offered, and the log says why."""
    return _OF_MAP.sub(b"", content)


def check_answer(client: TestClient, url: str, wanted: bytes, place: object) -> None:
    """An answer is right, or 503 and one sentence."""
    answer = client.get(url)
    if answer.status_code == 200:
        assert _without_map(answer.content) == _without_map(wanted), (place, url)
        return
    assert answer.status_code == 503, (place, url, answer.text)
    assert answer.headers["retry-after"] == "1"
    if url.startswith("/v1/"):
        sentence = json.loads(answer.content)["error"]
        assert sentence, place
        assert "\n" not in sentence, place
        assert "/" not in sentence, place


@pytest.mark.skipif(os.name != "posix", reason="open files cannot be cut")
def test_files_that_are_cut_while_they_are_mapped_do_not_stop_the_server(
    library: Path, served: TestClient
) -> None:
    """All at once, as a copy over a library does; then they are written again."""
    wanted = {url: served.get(url).content for url in URLS}
    kept = {path: path.read_bytes() for path in library.glob("segments/*/index/*.*")}
    for path in kept:
        os.truncate(path, 0)
    for url in URLS:
        answer = served.get(url)
        assert answer.status_code in (200, 503)
        assert answer.status_code == 503 or answer.content == wanted[url]
    assert any(served.get(url).status_code == 503 for url in URLS)
    for path, data in kept.items():
        path.write_bytes(data)
    for url in URLS:
        assert is_answered(served, url, wanted[url])


def test_a_library_that_is_replaced_under_a_server_is_never_mixed(tmp_path: Path) -> None:
    """Another one is copied over it file by file: 503 until it is whole, then its answers."""
    old = read(tmp_path / "old", axes.PAPERS)
    others = {name: text.replace("cosine", "sine") for name, text in axes.PAPERS.items()}
    new = read(tmp_path / "new", others | {"more": r"A cosine similarity is \[ x = y + 7 \]"})
    after = server_answers(new)
    files = sorted(path for path in new.rglob("*") if path.is_file())
    with serving(old) as client:
        before = {url: client.get(url).content for url in MODEL_FREE}
        assert any(after[url] != before[url] for url in MODEL_FREE)
        for number, path in enumerate(files):
            place = old / path.relative_to(new)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
            if number % 16 == 0 or number > len(files) - 3:
                url = MODEL_FREE[number % len(MODEL_FREE)]
                answer = client.get(url)
                assert answer.status_code == 503 or answer.content in (before[url], after[url])
        assert {url: client.get(url).content for url in MODEL_FREE} == after


def read(folder: Path, papers: dict[str, str]) -> Path:
    """Read papers into a library without a model."""
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        read_inline(patch)
        patch.setattr(axes, "PAPERS", papers)
        with axes.make_library(folder, model=False) as made:
            return made.folder


def server_answers(library: Path) -> dict[str, bytes]:
    """Return what a server answers that has always had this library."""
    with make_client(library) as client:
        return {url: client.get(url).content for url in MODEL_FREE}


# -- by hand


@pytest.mark.parametrize("kind", list(DAMAGES))
def test_verify_names_the_file(run: Run, library: Path, kind: str) -> None:
    """With what is wrong with it; without damage, it says so."""
    done = run("verify", library)
    assert (done.code, done.out.startswith("no damage: ")) == (0, True)
    (path,) = library.glob("segments/*/index/terms.owners.npy")
    DAMAGES[kind](path, random.Random(3))
    done = run("verify", library)
    assert done.code == 1
    assert f"{path.relative_to(library).as_posix()}\t" in done.out
    assert "restore" in done.err
    found = json.loads(run("verify", library, "--json").out)
    assert path.relative_to(library).as_posix() in [one["file"] for one in found["damage"]]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes in folders")
@pytest.mark.parametrize("name", ["library.json", "models/mine/checksums.json", "link.npy"])
def test_verify_waits_for_no_pipe_or_device(library: Path, name: str) -> None:
    """Reading one might never end."""
    path = library / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if name.startswith("link"):
        path.symlink_to("/dev/zero")
    else:
        os.mkfifo(path)
    with start("-P", "-m", "eqemb", "verify", library) as process:
        try:
            out, _ = process.communicate(timeout=120)
        finally:
            process.kill()
    assert (process.returncode, out) == (1, f"{name}\tis not a regular file\n")


def test_files_that_do_not_belong_are_found(run: Run, library: Path) -> None:
    """In a folder with checksums; elsewhere they are mentioned."""
    (library / "notes.txt").write_text("mine", "utf-8")
    done = run("verify", library)
    assert (done.code, "not part of the library: notes.txt" in done.err) == (0, True)
    (next(library.glob("segments/*")) / "index" / "extra.npy").write_bytes(b"x")
    done = run("verify", library)
    assert (done.code, "index/extra.npy\tdoes not belong here" in done.out) == (1, True)


@pytest.mark.parametrize("place", ["generations", "segments", "vectors", "models"])
def test_files_among_folders_are_mentioned(run: Run, library: Path, place: str) -> None:
    """Nothing is read from them."""
    (library / place / "extra.txt").write_text("mine", "utf-8")
    done = run("verify", library)
    assert (done.code, f"not part of the library: {place}/extra.txt" in done.err) == (0, True)


@pytest.mark.parametrize("is_removed", [True, False])
def test_a_missing_generation_is_damage(run: Run, library: Path, *, is_removed: bool) -> None:
    """It was removed, or library.json names another one; nobody changes the library."""
    if is_removed:
        shutil.rmtree(library / "generations")
    else:
        path = library / "library.json"
        path.write_text(to_json(json.loads(path.read_text("utf-8")) | {"generation": 7}), "utf-8")
    done = run("verify", library)
    number = 1 if is_removed else 7
    missing = f"generations/{number}\tis missing, although library.json names it\n"
    assert (done.code, done.out) == (1, missing)
    assert_one_sentence(done)


def test_a_damaged_model_is_found_in_its_folder(run: Run, library: Path) -> None:
    """`eqemb verify MODEL`; loading it is refused, too."""
    model = library / "models" / "m"
    assert run("verify", model).code == 0
    assert run("verify", library).code == 0
    path = model / "history.json"
    path.write_text("[[]]", "utf-8")
    for place in (model, library):
        done = run("verify", place)
        assert (done.code, "history.json\thas 4 bytes instead of" in done.out) == (1, True)


def test_serve_can_verify_first(run: Run, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged library is not served, even if damage is not noticed when it is opened."""
    monkeypatch.setattr(checksums, "READ_AT_OPENING", 0)
    (path,) = library.glob("segments/*/index/terms.weights.npy")
    path.write_bytes(path.read_bytes()[:-1] + b"\x7f")
    Library.open(library).close()
    done = run("serve", library, "--verify", "--port", "0")
    assert (done.code, "terms.weights.npy\twas changed" in done.out) == (1, True)
    assert_one_sentence(done)


def test_a_library_that_changes_while_it_is_open_is_reported(library: Path) -> None:
    """Answers may be of two states."""
    (path,) = library.glob("segments/*/index/stems.keys.npy")
    with (
        pytest.raises(DamageError, match=r"stems\.keys\.npy was changed by another program"),
        Library.open(library) as opened,
    ):
        replace_while_asked(opened, path)


def replace_while_asked(library: Library, path: Path) -> None:
    """Ask a question, and replace a file."""
    library.search("cosine")
    shutil.copyfile(path, path.with_name("new"))
    path.with_name("new").replace(path)
