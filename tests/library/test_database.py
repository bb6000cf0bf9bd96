"""What is written to the records is what comes back, and one digest speaks for all of it."""

import json
import os
import sqlite3
from contextlib import closing
from dataclasses import fields
from pathlib import Path

import pytest

from eqemb.article import Article, Equation, Problem
from eqemb.errors import EqembError
from eqemb.library.database import PARTIAL, Record, Records, from_article, open_records, skipped
from eqemb.sources import PROBLEMS
from synthetic import article, equation

HOSTILE = "\x00 \u2028 😀 </script> ' \" \\ é e\u0301 ﬁ \U000fffff"


def record(name: str = "a", *equations: Equation, **parts: object) -> Record:
    """The record of an article."""
    return from_article(article(name, *equations, **parts), words=3, sketch=b"")


def written(path: Path, *records: Record) -> Path:
    """A finished file of records."""
    with closing(Records(path, write=True)) as file:
        for one in records:
            file.add(one)
        file.finish()
    return path


def digest(tmp_path: Path, *records: Record, clusters: list[list[int]] | None = None) -> str:
    """The digest of a file of these records."""
    path = tmp_path / f"{len(list(tmp_path.iterdir()))}.sqlite"
    with closing(Records(path, write=True)) as file:
        for one in records:
            file.add(one)
        file.commit()
        file.set_clusters(clusters or [])
        return file.sha256()


def returned(path: Path, name: str) -> Article:
    """An article as the records give it back."""
    with closing(Records(path)) as file:
        found = file.article(name)
        assert found is not None
        return found


# -- there and back


def test_an_article_comes_back_as_it_was(tmp_path: Path) -> None:
    """Every field of an article, of its equations and of its problems is kept."""
    made = article(
        "set/a",
        equation(
            1,
            name="set/a",
            number="2.3a",
            labels=["eq:a", "eq:b"],
            environment="align",
            display=4,
            latex="a\n&= b",
            expanded="a & = b",
            file="parts/é.tex",
            line=7,
            end_line=9,
            section="One",
            context="Before [equation] after.",
            references=["See (1).", "And (2)."],
        ),
        equation(2, numbered=False, name="set/a"),
        equation(3, numbered=None, name="set/a", number=None),
        origin="x.tar!set/a.gz",
        collection="set",
        title="A title",
        main_file="main.tex",
        text="Words.\n\nMore $x$ words.",
        sections=["One", "Two"],
        problems=[Problem("missing input", "main.tex", 3, "b.tex"), Problem("file not used")],
        unknown_macros={"foo": 3, "bar": 1},
        displays_opened=5,
        displays_lost=2,
        source_bytes=1234,
    )
    assert not [field.name for field in fields(Article) if not getattr(made, field.name)]
    path = written(tmp_path / "r.sqlite", from_article(made, 3, b""))
    assert returned(path, "set/a") == made


def test_any_text_comes_back_as_it_was(tmp_path: Path) -> None:
    """Zero bytes, line separators, quotes and rare characters are text like any other."""
    made = article(
        HOSTILE,
        equation(name=HOSTILE, latex=HOSTILE, labels=[HOSTILE], references=[HOSTILE]),
        title=HOSTILE,
        text=HOSTILE,
        sections=[HOSTILE],
        problems=[Problem("missing input", HOSTILE, 1, HOSTILE)],
        unknown_macros={HOSTILE: 1},
    )
    path = written(tmp_path / "r.sqlite", from_article(made, 1, b""))
    assert returned(path, HOSTILE) == made


def test_half_a_character_is_replaced_wherever_it_stands(tmp_path: Path) -> None:
    """A lone surrogate, as foreign file names have, stops neither the digest nor the file."""
    half = "half \udce9"
    made = article(
        half,
        equation(name=half, file=half, context=half, labels=[half]),
        collection=half,
        origin=half,
        title=half,
        main_file=half,
        text=half,
        sections=[half],
        problems=[Problem(half, half, 1, half)],
        unknown_macros={half: 1},
    )
    path = written(
        tmp_path / "r.sqlite",
        from_article(made, 1, b""),
        skipped(half, half, half, "unreadable", half),
    )
    found = returned(path, "half ?")
    assert found.problems == [Problem("half ?", "half ?", 1, "half ?")]
    assert found.equations[0].labels == ["half ?"]
    with closing(Records(path)) as file:
        assert next(file.rows("SELECT detail FROM sources WHERE status = 'skipped'")) == ("half ?",)


def test_a_name_that_is_not_there_is_none(tmp_path: Path) -> None:
    """A skipped source is no article either."""
    path = written(tmp_path / "r.sqlite", skipped("b", "b.pdf", "", "pdf only", ""))
    with closing(Records(path)) as file:
        assert file.article("a") is None
        assert file.article("b") is None
        assert file.names() == []


def test_an_article_is_found_beside_a_skipped_source_of_its_name(tmp_path: Path) -> None:
    """A skipped source takes no name away from an article."""
    path = written(tmp_path / "r.sqlite", skipped("a", "a.pdf", "", "pdf only", ""), record("a"))
    assert returned(path, "a").origin == "a.tex"


def test_names_stand_in_the_order_of_writing(tmp_path: Path) -> None:
    """Not in that of the alphabet."""
    path = written(tmp_path / "r.sqlite", record("c"), record("a"), record("b"))
    with closing(Records(path)) as file:
        assert file.names() == ["c", "a", "b"]


# -- read whole or in part


@pytest.mark.parametrize("cause", sorted(PARTIAL | {"lost: unclosed"}))
def test_what_is_lost_makes_an_article_partial(cause: str) -> None:
    """Each of these causes says that something of the paper is not here."""
    assert record(problems=[Problem(cause)]).status == "partial"


def test_an_article_is_whole_in_spite_of_remarks() -> None:
    """A file that no one uses is worth a word, and no loss."""
    assert record(problems=[Problem("file not used", "b.tex")]).status == "read"


def test_what_an_archive_lacks_makes_an_article_partial() -> None:
    """Every problem that opening a paper can have is known here."""
    assert set(PROBLEMS) <= PARTIAL


# -- the digest


def test_digest_is_the_same_for_the_same_content(tmp_path: Path) -> None:
    """Seconds and sketches are no content."""
    slow = record("a", equation())
    slow.seconds, slow.article = 9.0, (*(slow.article or ())[:-1], b"sketch!!")
    assert digest(tmp_path, slow.seal()) == digest(tmp_path, record("a", equation()))


@pytest.mark.parametrize(
    "other",
    [
        record("b", equation(name="b")),
        record("a"),
        record("a", equation(latex="y")),
        record("a", equation(number="2")),
        record("a", equation(numbered=None, number="1")),
        record("a", equation(), text="Words."),
        record("a", equation(), title="T"),
        record("a", equation(), problems=[Problem("file not used")]),
        record("a", equation(), unknown_macros={"x": 1}),
        record("a", equation(), collection="c"),
        skipped("a", "a.tex", "", "empty", ""),
    ],
    ids=lambda other: other.digest.hex()[:6],
)
def test_digest_changes_with_any_content(tmp_path: Path, other: Record) -> None:
    """Each difference that a reader of the library could see is in the digest."""
    assert digest(tmp_path, other) != digest(tmp_path, record("a", equation()))


def test_digest_changes_with_the_order(tmp_path: Path) -> None:
    """The same records in another order are another library."""
    assert digest(tmp_path, record("a"), record("b")) != digest(tmp_path, record("b"), record("a"))


def test_digest_changes_with_the_clusters(tmp_path: Path) -> None:
    """Which documents are near-duplicates is content."""
    both = record("a"), record("b")
    assert digest(tmp_path, *both) != digest(tmp_path, *both, clusters=[[0, 1]])


def test_clusters_are_set_anew(tmp_path: Path) -> None:
    """Finding them once more, after a kill, leaves nothing of the first time."""
    path = tmp_path / "r.sqlite"
    with closing(Records(path, write=True)) as file:
        for name in "abc":
            file.add(record(name))
        file.commit()
        file.set_clusters([[0, 1, 2]])
        file.set_clusters([[1, 2]])
        assert list(file.rows("SELECT cluster FROM sources ORDER BY id")) == [(None,), (1,), (1,)]


# -- kills


def test_what_was_not_committed_is_forgotten(tmp_path: Path) -> None:
    """The file then holds whole records up to the last commit."""
    path = tmp_path / "r.sqlite"
    with closing(Records(path, write=True)) as file:
        file.add(record("a"))
        file.commit()
        file.add(record("b"))
    with closing(Records(path, write=True)) as file:
        assert file.names() == ["a"]


def test_writing_goes_on_where_it_ended(tmp_path: Path) -> None:
    """Two sittings give the digest of one."""
    path = tmp_path / "r.sqlite"
    for name in "ab":
        with closing(Records(path, write=True)) as file:
            file.add(record(name, equation(name=name)))
            file.finish()
    with closing(Records(path)) as file:
        found = file.sha256()
    both = [record(name, equation(name=name)) for name in "ab"]
    assert found == digest(tmp_path, *both)


def test_half_a_record_is_never_kept(tmp_path: Path) -> None:
    """A record that fails half-way leaves nothing, once the file is let go of."""
    path = tmp_path / "r.sqlite"
    broken = record("b", equation(name="b"))
    broken.problems = (("too", "short"),)
    with closing(Records(path, write=True)) as file:
        file.add(record("a"))
        file.commit()
        with pytest.raises(sqlite3.Error):
            file.add(broken)
    with closing(Records(path, write=True)) as file:
        assert next(file.rows("SELECT COUNT(*) FROM sources")) == (1,)
        assert next(file.rows("SELECT COUNT(*) FROM equations")) == (0,)


def test_a_finished_file_is_one_file(tmp_path: Path) -> None:
    """Nothing stands beside it, neither after writing nor after reading."""
    path = written(tmp_path / "r.sqlite", record("a"))
    returned(path, "a")
    assert [found.name for found in tmp_path.iterdir()] == ["r.sqlite"]


# -- opening


@pytest.mark.parametrize("name", ["a?b", "a#b", "100%41", "a b", "ü", os.fsdecode(b"\xe9")])
def test_any_folder_name_will_do(tmp_path: Path, name: str) -> None:
    """Characters that mean something in an address, and bytes that are no text."""
    (tmp_path / name).mkdir()
    path = written(tmp_path / name / "r.sqlite", record("a"))
    assert returned(path, "a").name == "a"


@pytest.mark.parametrize("content", [None, b"", b"no database", b"SQLite format 3\x00 and so on"])
def test_no_records_are_said_in_one_sentence(tmp_path: Path, content: bytes | None) -> None:
    """A missing, an empty and a foreign file alike."""
    path = tmp_path / "r.sqlite"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(EqembError, match=r"^cannot read .*r\.sqlite: .*; build the library anew$"):
        open_records(path)


def test_a_record_is_plain_data() -> None:
    """It goes through a pipe and into JSON as it is."""
    made = record("a", equation(labels=["x"]))
    assert json.loads(json.dumps(made.equations[0]))[3] == '["x"]'


def test_training_data_in_order(tmp_path: Path) -> None:
    """Texts, forms with the ids of their units, collections and near-duplicates."""
    one = article("one", equation(1), equation(2, numbered=False), text="first", collection="x")
    two = article("two", equation(1, numbered=None, name="two"), text="second", collection="y")
    forms = [("a", ("u", "v")), ("b", ("v",))]
    records = [
        from_article(one, 1, b"", forms),
        skipped("none", "none", "x", "empty", ""),
        from_article(two, 1, b"", [("a", ("u", "v"))]),
    ]
    with closing(Records(written(tmp_path / "r.sqlite", *records))) as file:
        assert file.collections() == {"x": 1, "y": 1}
        assert list(file.texts()) == [(0, "one", "x", "first"), (2, "two", "y", "second")]
        assert [name for _, name, *_ in file.texts("y")] == ["two"]
        assert file.unit_names() == ["u", "v"]
        assert list(file.article_types(0)) == [(1, True, "a", [0, 1]), (2, False, "b", [1])]
        assert list(file.article_types(2)) == [(1, None, "a", [0, 1])]
        assert list(file.cluster_members()) == []
    with closing(Records(tmp_path / "c.sqlite", write=True)) as file:
        for each in records:
            file.add(each)
        file.commit()
        file.set_clusters([[0, 2]])
        assert list(file.cluster_members()) == [("one", 1), ("two", 1)]
        assert list(file.cluster_members("y")) == [("two", 1)]
