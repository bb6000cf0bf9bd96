"""Records are read back as they were written, and one digest covers all of them."""

import gc
import json
import os
import sqlite3
from contextlib import closing
from dataclasses import fields
from pathlib import Path

import pytest

from eqemb.article import Article, Equation, NotationRow, Problem
from eqemb.errors import EqembError
from eqemb.library.database import LibraryRecords, Records, open_records
from eqemb.library.rows import PARTIAL, Record, from_article, skipped
from eqemb.sources import PROBLEMS
from synthetic import article, equation

HOSTILE = "\x00 \u2028 😀 </script> ' \" \\ é e\u0301 ﬁ \U000fffff"


def record(name: str = "a", *equations: Equation, **parts: object) -> Record:
    """Return the record of an article."""
    return from_article(article(name, *equations, **parts), words=3, sketch=b"")


def written(path: Path, *records: Record) -> Path:
    """Write a finished file of records."""
    with closing(Records(path, write=True)) as file:
        for one in records:
            file.add(one)
        file.finish()
    return path


def digest(tmp_path: Path, *records: Record) -> str:
    """Return the digest of a file of these records."""
    path = tmp_path / f"{len(list(tmp_path.iterdir()))}.sqlite"
    with closing(Records(path, write=True)) as file:
        for one in records:
            file.add(one)
        file.commit()
        return file.sha256()


def returned(path: Path, name: str) -> Article:
    """Read an article back."""
    with closing(Records(path)) as file:
        found = file.article(name)
        assert found is not None
        return found


def test_records_that_nobody_closed_are_closed_when_they_are_forgotten(tmp_path: Path) -> None:
    """As those of a thread that ends; Python 3.13 warns of a connection that is left open."""
    records = Records(written(tmp_path / "records.sqlite", record()))
    connection = records._db
    del records
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


# -- write and read


def test_article_is_read_back_unchanged(tmp_path: Path) -> None:
    """Every field of an article, its equations and its problems is stored."""
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
        notation=[NotationRow("x", "the $x$ of it", 1), NotationRow("y", "b", -1)],
        unknown_macros={"foo": 3, "bar": 1},
        displays_opened=5,
        displays_lost=2,
        source_bytes=1234,
        authors=["Ada Lovelace", "Kurt Gödel"],
        date="2015-01",
    )
    assert not [field.name for field in fields(Article) if not getattr(made, field.name)]
    path = written(tmp_path / "r.sqlite", from_article(made, 3, b""))
    assert returned(path, "set/a") == made


def test_any_text_is_read_back_unchanged(tmp_path: Path) -> None:
    """Text may contain NUL bytes, line separators, quotes and rare characters."""
    made = article(
        HOSTILE,
        equation(name=HOSTILE, latex=HOSTILE, labels=[HOSTILE], references=[HOSTILE]),
        title=HOSTILE,
        text=HOSTILE,
        sections=[HOSTILE],
        problems=[Problem("missing input", HOSTILE, 1, HOSTILE)],
        notation=[NotationRow(HOSTILE, HOSTILE, 0)],
        unknown_macros={HOSTILE: 1},
    )
    path = written(tmp_path / "r.sqlite", from_article(made, 1, b""))
    assert returned(path, HOSTILE) == made


def test_lone_surrogate_is_replaced_everywhere(tmp_path: Path) -> None:
    """A lone surrogate, as in foreign file names, breaks neither the digest nor the file."""
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
        notation=[NotationRow(half, half, 0)],
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


def test_unknown_name_gives_none(tmp_path: Path) -> None:
    """A skipped source is not an article either."""
    path = written(tmp_path / "r.sqlite", skipped("b", "b.pdf", "", "pdf only", ""))
    with closing(Records(path)) as file:
        assert file.article("a") is None
        assert file.article("b") is None
        assert file.names() == []


def test_article_is_found_despite_a_skipped_source_of_its_name(tmp_path: Path) -> None:
    """The name of a skipped source is not reserved."""
    path = written(tmp_path / "r.sqlite", skipped("a", "a.pdf", "", "pdf only", ""), record("a"))
    assert returned(path, "a").origin == "a.tex"


@pytest.mark.parametrize("first", ["article", "skipped"])
def test_every_method_by_name_returns_the_article(tmp_path: Path, first: str) -> None:
    """A skipped source that shares its name is never returned, whichever was written first."""
    sources = [
        record("a", equation(expanded="x"), equation(2, expanded="y"), text="Words."),
        skipped("a", "a.pdf", "", "pdf only", ""),
    ]
    if first == "skipped":
        sources.reverse()
    path = written(tmp_path / "r.sqlite", *sources)
    key = 0 if first == "article" else 1
    with closing(Records(path)) as file:
        assert file.key("a") == key
        assert file.names() == ["a"]
        assert list(file.contents()) == [("a", 2, "")]
        assert list(file.article_ids()) == [(key, "a", "")]
        assert [kind for _, _, kind, *_ in file.equation_index()] == [0, 1]
        assert file.first_equation(1) == "a#2"
        found = file.article("a")
        assert found is not None
        assert (found.text, len(found.equations)) == ("Words.", 2)
        assert file.equation(key, 2)[0].expanded == "y"


def test_names_are_in_the_order_of_writing(tmp_path: Path) -> None:
    """They are not sorted."""
    path = written(tmp_path / "r.sqlite", record("c"), record("a"), record("b"))
    with closing(Records(path)) as file:
        assert file.names() == ["c", "a", "b"]


# -- complete or partial


@pytest.mark.parametrize("cause", sorted(PARTIAL | {"lost: unclosed"}))
def test_loss_makes_an_article_partial(cause: str) -> None:
    """Each of these causes means that part of the paper is missing."""
    assert record(problems=[Problem(cause)]).status == "partial"


def test_remark_does_not_make_an_article_partial() -> None:
    """An unused file is reported, but nothing is missing."""
    assert record(problems=[Problem("file not used", "b.tex")]).status == "read"


def test_problems_of_an_archive_make_an_article_partial() -> None:
    """Every problem of opening a paper is in `PARTIAL`."""
    assert set(PROBLEMS) <= PARTIAL


# -- the digest


def test_digest_is_the_same_for_the_same_content(tmp_path: Path) -> None:
    """Seconds and sketches are not part of the digest."""
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
    """Every visible difference changes the digest."""
    assert digest(tmp_path, other) != digest(tmp_path, record("a", equation()))


def test_digest_changes_with_the_order(tmp_path: Path) -> None:
    """The same records in another order are another library."""
    assert digest(tmp_path, record("a"), record("b")) != digest(tmp_path, record("b"), record("a"))


def test_table_is_not_counted_for_each_new_equation_type(tmp_path: Path) -> None:
    """SQLite walks a table to count it, so that a count for each type takes quadratic time."""

    def counts(types: int) -> int:
        statements: list[str] = []
        equations = [equation(at, expanded=f"x_{{{at}}}") for at in range(1, types + 1)]
        with closing(Records(tmp_path / f"{types}.sqlite", write=True)) as file:
            file._db.set_trace_callback(statements.append)
            file.add(record("a", *equations))
        return sum("COUNT(" in statement for statement in statements)

    assert counts(20) == counts(10)


def test_equation_types_are_numbered_in_order_after_reopening(tmp_path: Path) -> None:
    """Writing continues with the next free number."""
    path = tmp_path / "r.sqlite"
    for name in "ab":
        with closing(Records(path, write=True)) as file:
            equations = [equation(at, name=name, expanded=f"{name}_{at}") for at in (1, 2)]
            file.add(record(name, *equations))
            file.finish()
    with closing(Records(path)) as file:
        assert [file.type_of(form) for form in ("a_1", "a_2", "b_1", "b_2")] == [0, 1, 2, 3]


# -- kills


def test_records_of_a_worker_are_one_file_while_they_are_written(tmp_path: Path) -> None:
    """A write-ahead log does not work on a network file system; the content is the same."""
    wanted = written(tmp_path / "a.sqlite", record("a", equation()))
    place = tmp_path / "worker"
    place.mkdir()
    with closing(Records(place / "b.sqlite", write=True, resumable=False)) as file:
        file.add(record("a", equation()))
        file.commit()
        file.add(record("b"))
        assert [path.name for path in place.iterdir()] == ["b.sqlite"]
    with closing(Records(place / "c.sqlite", write=True, resumable=False)) as file:
        file.add(record("a", equation()))
        file.finish()
    with closing(Records(wanted)) as one, closing(Records(place / "c.sqlite")) as other:
        assert one.sha256() == other.sha256()


def test_uncommitted_records_are_dropped(tmp_path: Path) -> None:
    """The file contains complete records up to the last commit."""
    path = tmp_path / "r.sqlite"
    with closing(Records(path, write=True)) as file:
        file.add(record("a"))
        file.commit()
        file.add(record("b"))
    with closing(Records(path, write=True)) as file:
        assert file.names() == ["a"]


def test_writing_continues_after_reopening(tmp_path: Path) -> None:
    """Two sessions give the same digest as one."""
    path = tmp_path / "r.sqlite"
    for name in "ab":
        with closing(Records(path, write=True)) as file:
            file.add(record(name, equation(name=name)))
            file.finish()
    with closing(Records(path)) as file:
        found = file.sha256()
    both = [record(name, equation(name=name)) for name in "ab"]
    assert found == digest(tmp_path, *both)


def test_partial_record_is_never_kept(tmp_path: Path) -> None:
    """A record that fails halfway leaves nothing after the file is closed."""
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


def test_finished_file_has_no_companions(tmp_path: Path) -> None:
    """No journal is left beside it, neither after writing nor after reading."""
    path = written(tmp_path / "r.sqlite", record("a"))
    returned(path, "a")
    assert [found.name for found in tmp_path.iterdir()] == ["r.sqlite"]


# -- opening


@pytest.mark.parametrize("name", ["a?b", "a#b", "100%41", "a b", "ü", os.fsdecode(b"\xe9")])
def test_any_folder_name_works(tmp_path: Path, name: str) -> None:
    """Names may contain URL characters, and bytes that are not UTF-8."""
    (tmp_path / name).mkdir()
    path = written(tmp_path / name / "r.sqlite", record("a"))
    assert returned(path, "a").name == "a"


@pytest.mark.parametrize("content", [None, b"", b"no database", b"SQLite format 3\x00 and so on"])
def test_unreadable_records_are_reported(tmp_path: Path, content: bytes | None) -> None:
    """The file is missing, empty or of another kind."""
    path = tmp_path / "r.sqlite"
    if content is not None:
        path.write_bytes(content)
    wanted = r"is damaged \(.*\): restore" if content is not None else r": .*; rebuild the library"
    with pytest.raises(EqembError, match=rf"r\.sqlite ?{wanted}"):
        open_records(path)


def test_record_is_plain_data() -> None:
    """It can be pickled and written as JSON."""
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
        assert list(file.unit_names()) == ["u", "v"]
        assert list(file.article_types(0)) == [(1, True, "a", [0, 1]), (2, False, "b", [1])]
        assert list(file.article_types(2)) == [(1, None, "a", [0, 1])]
    both = LibraryRecords(
        [Records(tmp_path / "r.sqlite"), Records(tmp_path / "r.sqlite", removed=[0])]
    )
    with closing(both):
        both.near_pairs = [("one", "two")]
        assert [key for key, *_ in both.texts()] == [0, 2, 5]
        assert list(both.article_types(5)) == [(1, None, "a", ["u", "v"])]
        assert both.collections() == {"x": 1, "y": 2}
        assert list(both.near_duplicates()) == [("one", 1), ("two", 1)]
        assert list(both.near_duplicates("y")) == [("two", 1)]


def test_older_records_have_no_tables_of_notation(tmp_path: Path) -> None:
    """Records of a version that kept no rows of notation are still read."""
    path = written(tmp_path / "r.sqlite", record("a", notation=[NotationRow("x", "y", 0)]))
    with closing(sqlite3.connect(path)) as database:
        database.execute("DROP TABLE notation")
    assert returned(path, "a").notation == []
    with closing(Records(path)) as file:
        assert [one.notation for one in file.sources()] == [()]


def test_notation_is_part_of_the_digest(tmp_path: Path) -> None:
    """Records without rows of notation keep their digest, and rows change it."""
    row = NotationRow("x", "y", 0)
    assert record("a").digest == record("a", notation=[]).digest
    assert record("a").digest != record("a", notation=[row]).digest
    path = written(tmp_path / "r.sqlite", record("a", notation=[row]))
    with closing(Records(path)) as file:
        assert [one.notation for one in file.sources()] == [(tuple(row),)]
