"""An article's name depends on its path below the root, and on other papers only if they claim it.

Trees of files are drawn at random; several papers of a tree often claim one name.
"""

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import chdir, contextmanager
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from eqemb.sources import Found, discover
from packing import PAPER, PDF, RECORD, gz, lines, put, tar, zipped
from synthetic import KnownArticles

FOLDERS = ["a", "p", "x", "1706.03762"]
STEMS = ["a", "b#", "main", "paper", "1803.09123v1", "1803.09123v2", "hep-th9901001"]
#: Suffix -> content: papers, containers of papers, and sources that are skipped.
CONTENTS = {
    "": PAPER,
    ".tex": PAPER,
    ".gz": gz(PAPER),
    ".zip": zipped({"main.tex": PAPER}),
    ".tar": tar({"x/a.tar.gz": gz(tar({"b.tex": PAPER})), "1501.00001v2.gz": gz(PAPER)}),
    ".jsonl": lines(RECORD, {"paper_id": "a", "body_text": []}),
    ".pdf": PDF,
    ".tar.gz": b"",
}
#: Path -> suffix.
Tree = dict[str, str]


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Return the files of a folder."""
    folder = st.lists(st.sampled_from(FOLDERS), max_size=3)
    name = st.tuples(st.sampled_from(STEMS), st.sampled_from(sorted(CONTENTS)))
    files = draw(st.lists(st.tuples(folder, name), min_size=1, max_size=7))
    return {
        "/".join([*folders, stem + suffix]): suffix
        for folders, (stem, suffix) in files
        if stem + suffix not in FOLDERS
    }


@contextmanager
def written(tree: Tree) -> Iterator[Path]:
    """Write the files below a root."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch).resolve() / "root"
        root.mkdir()
        yield put(root, {path: CONTENTS[suffix] for path, suffix in tree.items()})


def articles(found: Iterable[Found]) -> dict[str, tuple[str, str]]:
    """Return name and collection of articles, by origin."""
    return {one.origin: (one.name, one.collection) for one in found if not one.cause}


def names(found: Iterable[Found]) -> dict[str, str]:
    """Return the names of articles, by origin."""
    return {origin: name for origin, (name, _) in articles(found).items()}


def alone(tree: Tree, root: Path) -> dict[str, str]:
    """Return the name that each article has if its file is the only one of the library."""
    return {
        origin: name
        for path in tree
        for origin, name in names(discover([root / path], root=root)).items()
    }


def undisputed(names_alone: Mapping[str, str]) -> dict[str, str]:
    """Return the names that only one article claims."""
    count = Counter(names_alone.values())
    return {origin: name for origin, name in names_alone.items() if count[name] == 1}


@given(trees())
def test_name_does_not_depend_on_siblings(tree: Tree) -> None:
    """Unless two papers claim one name."""
    with written(tree) as root:
        found = names(discover([root]))
        expected = undisputed(alone(tree, root))
    assert {origin: found[origin] for origin in expected} == expected


@given(trees())
def test_no_two_sources_share_a_name(tree: Tree) -> None:
    """Neither two articles, nor an article and a skipped source."""
    with written(tree) as root:
        found = list(discover([root]))
        again = list(discover([root]))
    named = Counter(one.name for one in found if not one.cause)
    assert set(named.values()) <= {1}
    assert not named.keys() & {one.name for one in found if one.cause}
    assert [one.name for one in found] == [one.name for one in again]


@given(trees(), st.sampled_from([1, -1]))
def test_name_does_not_depend_on_how_the_folder_is_given(tree: Tree, step: int) -> None:
    """Absolute or relative, as one folder or as all that is in it, with a root or without."""
    with written(tree) as root:
        expected = articles(discover([root]))
        inside = sorted(root.iterdir())[::step]
        assert articles(discover(inside, root=root)) == expected
        assert articles(discover([f"{root}/../root/"], root=root)) == expected
        if len(inside) > 1:
            assert articles(discover(inside)) == expected
        with chdir(root):
            assert articles(discover(["."])) == expected
            assert articles(discover([path.name for path in inside], root=".")) == expected


@given(trees(), st.integers(0, 7))
def test_added_papers_are_named_as_in_a_full_library(tree: Tree, first: int) -> None:
    """Names in the library stay; a new paper takes none of them."""
    with written(tree) as root:
        old, new = list(tree)[:first], list(tree)[first:]
        known = names(discover([root / path for path in old], root=root))
        library = KnownArticles((name, origin) for origin, name in known.items())
        more = names(discover([root / path for path in new], root=root, known=library))
        expected = undisputed(alone(tree, root))
        assert names(discover([root / path for path in old], root=root, known=library)) == known
    both = known | more
    assert len(set(both.values())) == len(known) + len(more)
    assert {origin: both[origin] for origin in expected} == expected


def test_records_keep_their_names_when_lines_move(tmp_path: Path) -> None:
    """A record of a JSONL file is known by its identifier, not by its line."""
    first, second, third = (RECORD | {"paper_id": f"2212.0000{n}"} for n in "123")
    put(tmp_path, {"p.jsonl": lines(first, second)})
    known = KnownArticles((one.name, one.origin) for one in discover([tmp_path]))
    put(tmp_path, {"p.jsonl": lines(third, first, second, first)})
    found = [(one.name, one.origin) for one in discover([tmp_path], known=known)]
    assert found == [
        ("2212.00003", "p.jsonl!2212.00003"),
        ("2212.00001", "p.jsonl!2212.00001"),
        ("2212.00002", "p.jsonl!2212.00002"),
        ("p.jsonl/2212.00001", "p.jsonl!2212.00001~2"),
    ]
