"""Nothing outside the given folder is read, through links or included files; each is reported."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from eqemb.arxiv.lookup import PaperLookup
from eqemb.errors import EqembError, SourceError
from eqemb.facade import update
from eqemb.facade.equation_map import map_of
from eqemb.facade.library import Library
from eqemb.facade.verify import verify
from eqemb.library import generations
from eqemb.models import workspace
from eqemb.sources import discover, load
from eqemb.sources.manifest import MANIFEST_NAME
from eqemb.sources.names import METADATA_FILE
from packing import PAPER, gz, put, tar
from synthetic import paper, read_inline

SECRET = b"\\documentclass{article}\\begin{document}SECRET $$s$$\\end{document}"


def _second(top: Path, name: str) -> str:
    (top / "in" / f".{name}.link").symlink_to(top / "out" / name)
    return f".{name}.link"


def _hidden(top: Path, name: str) -> str:
    (top / "in" / ".hidden").symlink_to(top / "out")
    return f".hidden/{name}"


#: How a link in the folder `in` leads to a file in the folder `out` beside it.
WAYS: dict[str, Callable[[Path, str], str]] = {
    "relative": lambda _, name: f"../out/{name}",
    "absolute": lambda top, name: str(top / "out" / name),
    "up and down": lambda _, name: f"../in/../out/{name}",
    "a link to a link": _second,
    "a link in a hidden folder": _hidden,
}


def everything(*given: Path) -> bytes:
    """The bytes of all papers."""
    papers = [load(found) for found in discover(given) if not found.cause]
    return b"".join(data for source in papers for data in source.files.values())


@pytest.mark.parametrize("way", WAYS)
def test_link_that_leaves_the_folder_is_reported(
    way: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """A paper, a packed one, a document, a part of a paper, a folder."""
    files = {"s.tex": SECRET, "s.gz": gz(SECRET), "s.md": b"SECRET $$s$$", "part.tex": b"SECRET"}
    for name, data in files.items():
        top = tmp_path / name
        put(top, {f"out/{name}": data, "in/a.tex": PAPER.replace(b"Words", b"\\input{part}Words")})
        (top / "in" / name).symlink_to(WAYS[way](top, name))
        found = {one.origin: one for one in discover([top / "in"])}
        assert {one.origin: one.cause for one in found.values()} == {
            "a.tex": "",
            name: "link outside folder",
        }
        assert found[name].detail == f"it leads to {(top / 'out' / name).resolve()}"
        assert b"SECRET" not in everything(top / "in")
        assert b"SECRET" not in everything(top / "in" / "a.tex")
    record_property("cases", 3 * len(files))


@pytest.mark.parametrize("way", ["relative", "absolute", "up and down"])
def test_linked_folder_is_not_walked(way: str, tmp_path: Path) -> None:
    """Neither with papers in it, nor with parts of one."""
    put(tmp_path, {"out/x/s.tex": SECRET, "in/a.tex": PAPER + b"\\input{x/s}"})
    (tmp_path / "in" / "x").symlink_to(WAYS[way](tmp_path, "x"))
    causes = {one.origin: one.cause for one in discover([tmp_path / "in"])}
    assert causes == {"a.tex": "", "x": "link outside folder"}
    assert b"SECRET" not in everything(tmp_path / "in")
    assert b"SECRET" not in everything(tmp_path / "in" / "a.tex")


def test_link_loops_end(tmp_path: Path) -> None:
    """Links to themselves, to each other, and to folders above them."""
    put(tmp_path, {"p/a.tex": PAPER})
    for name, target in {
        "self.tex": "self.tex",
        "one.tex": "two.tex",
        "two.tex": "one.tex",
        "up": "..",
        "here": ".",
        "p/deep": "../p",
        "gone.tex": "nowhere.tex",
    }.items():
        (tmp_path / name).symlink_to(target)
    causes = {one.origin: one.cause for one in discover([tmp_path])}
    assert causes.pop("p/a.tex") == ""
    assert causes == {
        **dict.fromkeys(("self.tex", "one.tex", "two.tex", "gone.tex"), "broken link"),
        "up": "link outside folder",
    }


def test_link_inside_the_folder_is_followed(tmp_path: Path) -> None:
    """Also if the given folder is a link itself."""
    put(tmp_path, {"real/a.tex": PAPER + b"\\input{b}", "real/parts/x.tex": b"Part."})
    (tmp_path / "real" / "b.tex").symlink_to("parts/x.tex")
    (tmp_path / "in").symlink_to("real")
    (found,) = discover([tmp_path / "in"])
    assert load(found).files["b.tex"] == b"Part."


@pytest.mark.parametrize("name", ["a.tex", "b.tex", "c.gz", "d.md"])
def test_file_that_becomes_a_link_is_not_read(name: str, tmp_path: Path) -> None:
    """Between the search for papers and reading them."""
    files = {"a.tex": PAPER + b"\\input{b}", "b.tex": b"Part.", "c.gz": gz(PAPER), "d.md": b"$$a$$"}
    put(tmp_path, {f"in/{path}": data for path, data in files.items()} | {"secret": SECRET})
    found = [one for one in discover([tmp_path / "in"]) if not one.cause]
    (tmp_path / "in" / name).unlink()
    (tmp_path / "in" / name).symlink_to(tmp_path / "secret")
    seen, details = b"", []
    for one in found:
        try:
            seen += b"".join(load(one).files.values())
        except SourceError as error:
            details.append(error.detail)
    assert b"SECRET" not in seen
    assert details == ["a link that leads out of the folder"] * (name != "b.tex")


ABOVE = [
    rb"\input{../secret}",
    rb"\input ../secret ",
    rb"\include{../secret}",
    rb"\subfile{../secret}",
    rb"\InputIfFileExists{../secret}{}{}",
    rb"\import{../}{secret}",
    rb"\subimport{..}{secret}",
    rb"\input{sub/../../secret}",
    rb"\usepackage{../secret}",
    rb"\input{ABSOLUTE/secret}",
]


@pytest.mark.parametrize("given", ["in/a.tex", "in"])
@pytest.mark.parametrize("command", ABOVE)
def test_included_file_above_is_not_read(given: str, command: bytes, tmp_path: Path) -> None:
    """Of a file that is given by itself, this is reported with its name."""
    command = command.replace(b"ABSOLUTE", os.fsencode(tmp_path))
    put(tmp_path, dict.fromkeys(("secret.tex", "secret.sty", "secret"), b"SECRET"))
    put(tmp_path, {"in/a.tex": PAPER.replace(b"Words", command + b"Words")})
    (found,) = discover([tmp_path / given])
    source = load(found)
    assert list(source.files) == ["a.tex"]
    if given == "in/a.tex":
        (problem,) = source.problems
        assert problem.cause == "input outside folder"
        assert "secret" in problem.file


def test_refusals_are_in_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted by cause, and with their names."""
    read_inline(monkeypatch)
    text = paper(r"Words. \input{../secret} $$a = b$$").encode()
    put(tmp_path, {"secret.tex": SECRET, "in/a.tex": text})
    with Library.read(tmp_path / "in" / "a.tex", tmp_path / "lib", jobs=1) as library:
        found = {problem["cause"]: problem for problem in library.report["problems"]}
    assert found["input outside folder"]["examples"][0]["file"] == "../secret"


@pytest.mark.parametrize("place", ["in", "."])
def test_metadata_outside_is_not_read(place: str, tmp_path: Path) -> None:
    """Neither through a link, nor in a folder above the root."""
    record = b'{"id": "2301.00001", "title": "SECRET", "authors": ["A"]}\n'
    put(tmp_path, {"in/2301.00001.tex": PAPER, "out.jsonl": record})
    (tmp_path / place / METADATA_FILE).symlink_to(tmp_path / "out.jsonl")
    assert PaperLookup().get("2301.00001", tmp_path / "in", "2301.00001.tex") is None


@pytest.mark.parametrize("place", ["in", "."])
def test_manifest_outside_is_not_read(place: str, tmp_path: Path) -> None:
    """It would say that the tar is damaged."""
    name = "arXiv_src_2301_001.tar"
    text = (
        f"<a><file><filename>{name}</filename><size>3</size><md5sum>{'0' * 32}</md5sum></file></a>"
    )
    put(tmp_path, {f"in/{name}": tar({"2301/2301.00001.gz": gz(PAPER)}), "m": text.encode()})
    (tmp_path / place / MANIFEST_NAME).symlink_to(tmp_path / "m")
    causes = [one.cause for one in discover([tmp_path / "in"])]
    assert causes == [""] + (["link outside folder"] if place == "in" else [])


def test_included_link_of_a_given_file_is_reported(tmp_path: Path) -> None:
    """It leads out of the folder of the file."""
    put(tmp_path, {"secret": b"SECRET", "in/a.tex": PAPER + b"\\input{part}"})
    (tmp_path / "in" / "part.tex").symlink_to(tmp_path / "secret")
    (found,) = discover([tmp_path / "in" / "a.tex"])
    problems = [(problem.cause, problem.file) for problem in load(found).problems]
    assert problems == [("input outside folder", "part")]


def test_included_file_in_a_linked_folder_is_reported(tmp_path: Path) -> None:
    """The folder lies outside that of the given file."""
    put(tmp_path, {"out/part.tex": b"SECRET", "in/a.tex": PAPER + b"\\input{sub/part}"})
    (tmp_path / "in" / "sub").symlink_to("../out")
    (found,) = discover([tmp_path / "in" / "a.tex"])
    problems = [(problem.cause, problem.file) for problem in load(found).problems]
    assert problems == [("input outside folder", "sub/part")]


def _absolute(library: Path, out: Path) -> None:
    _foreign_manifest(library, vectors=str(out))


def _upward(library: Path, _: Path) -> None:
    _foreign_manifest(library, vectors="../../out")


def _segment_upward(library: Path, _: Path) -> None:
    segment = {"name": "../../out/a", "documents": 1, "removed": []}
    _foreign_manifest(library, segments=[segment])


def _linked_vectors(library: Path, out: Path) -> None:
    (library / "vectors").mkdir(exist_ok=True)
    (library / "vectors" / "one").symlink_to(out)
    _foreign_manifest(library, vectors="one")


def _linked_segments(library: Path, out: Path) -> None:
    for segment in (library / "segments").iterdir():
        segment.rename(out / segment.name)
    (library / "segments").rmdir()
    (library / "segments").symlink_to(out)


def _linked_generations(library: Path, out: Path) -> None:
    for generation in (library / "generations").iterdir():
        generation.rename(out / generation.name)
    (library / "generations").rmdir()
    (library / "generations").symlink_to(out)
    (out / "0").mkdir()


def _foreign_manifest(library: Path, **changed: object) -> None:
    """Add a generation that no checksum covers."""
    (current,) = library.glob("generations/*/manifest.json")
    other = library / "generations" / "99"
    other.mkdir()
    content = json.loads(current.read_text()) | changed
    (other / "manifest.json").write_text(json.dumps(content))


@pytest.mark.parametrize(
    "lead_out",
    [_absolute, _upward, _segment_upward, _linked_vectors, _linked_segments, _linked_generations],
)
def test_library_of_a_stranger_removes_nothing_elsewhere(
    tmp_path: Path, lead_out: Callable[[Path, Path], None]
) -> None:
    """Whatever its manifests name, and wherever its folders lead."""
    put(tmp_path, {"in/a.tex": PAPER, "out/photos/a.jpg": b"photo", "out/b.txt": b"text"})
    Library.read(tmp_path / "in", tmp_path / "lib", jobs=1).close()
    lead_out(tmp_path / "lib", tmp_path / "out")
    before = set((tmp_path / "out").rglob("*"))
    generations.remove_leftovers(tmp_path / "lib")
    assert set((tmp_path / "out").rglob("*")) == before
    assert (tmp_path / "out/photos/a.jpg").read_bytes() == b"photo"


#: Places in a library that could be links, and whether they lead to a folder.
LINKED = {
    ".lock": False,
    "library.json": False,
    "report.html": False,
    "report.json": False,
    "generations": True,
    "generations/1": True,
    "generations/1/manifest.json": False,
    "generations/1/map": True,
    "generations/2": True,
    "generations/2/read": True,
    "generations/2/settings.json": False,
    "segments": True,
    "segments/.hidden": True,
    "vectors": True,
    "vectors/other": True,
    "models": True,
    "models/mine": True,
    "corpus": True,
    "splits/all": True,
    "encoded": True,
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of one paper, and another paper."""
    folder = tmp_path_factory.mktemp("linked")
    put(folder, {"in/a.tex": PAPER, "more/b.tex": PAPER})
    with pytest.MonkeyPatch.context() as patch:
        read_inline(patch)
        Library.read(folder / "in", folder / "lib", jobs=1).close()
    return folder / "lib"


def link(library: Path, place: str, out: Path) -> None:
    """Put a link into a library in place of something, which is moved to a folder outside."""
    path, target = library / place, out / "target"
    out.mkdir()
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        path.rename(target)
    elif LINKED[place]:
        put(target, {"read/precious": b"x", "training/precious": b"x"})
    else:
        target.write_text("precious")
    path.symlink_to(target)


def content(folder: Path) -> dict[str, bytes | None]:
    """Return the content of the files below a folder."""
    files = {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}
    return {str(path.relative_to(folder)): data for path, data in files.items()}


@pytest.mark.parametrize("place", LINKED)
def test_library_with_links_is_not_changed(
    tmp_path: Path, library: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is what they lead to, and `verify` names them."""
    read_inline(monkeypatch)
    own, out = tmp_path / "lib", tmp_path / "out"
    shutil.copytree(library, own)
    link(own, place, out)
    before = content(tmp_path)
    for resume in (False, True):
        with pytest.raises(EqembError, match=f"{place} is a link, and a library is not changed"):
            update.add_papers(own, [library.parent / "more"], jobs=1, resume=resume)
    assert content(tmp_path) == before
    found = verify(own)
    assert [(found.name(one.path), one.what) for one in found.damage] == [
        (place, "is a link, which does not belong in a library")
    ]


def test_library_behind_a_link_is_changed(
    tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Users may link to a whole library."""
    read_inline(monkeypatch)
    shutil.copytree(library, tmp_path / "lib")
    (tmp_path / "link").symlink_to(tmp_path / "lib")
    more = library.parent / "more"
    update.add_papers(tmp_path / "link", [more], root=more, jobs=1)
    with Library.open(tmp_path / "lib") as opened:
        assert len(list(opened.records.names())) == 2
    assert verify(tmp_path / "link").is_intact


@pytest.mark.parametrize(
    ("work", "place"), [(workspace.corpus, "corpus"), (map_of, "generations/1/map")]
)
def test_nothing_is_computed_through_links(
    tmp_path: Path, library: Path, work: Callable[[Library], object], place: str
) -> None:
    """Training and the map write without changing the library."""
    shutil.copytree(library, tmp_path / "lib")
    link(tmp_path / "lib", place, tmp_path / "out")
    before = content(tmp_path)
    with (
        Library.open(tmp_path / "lib") as opened,
        pytest.raises(EqembError, match=f"{place} is a link"),
    ):
        work(opened)
    assert content(tmp_path) == before
