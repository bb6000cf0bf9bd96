"""Names of authors: which entries are names, and how they are written."""

import pytest

from eqemb.readers.people import checked_names, is_name, names_in
from timing import assert_quick


@pytest.mark.parametrize(
    "name",
    [
        "Ada Lovelace", "Ludwig van Beethoven", "Jean d'Alembert", "J. R. R. Tolkien",
        "Hal Daumé III", "Jan-Willem van de Meent", "Brendan O'Connor", "Łukasz Kaiser", "He He",
        "李 明", "김철수", "June Huh", "Felicity Jones", "April Ng",
        "Seymour Papert", "Ann Streeter",
    ],
)  # fmt: skip
def test_names(name: str) -> None:
    """Of several languages."""
    assert is_name(name)


@pytest.mark.parametrize(
    "text",
    [
        "", "Ada", "ada lovelace", "University of London", "Department of Mathematics",
        "Google Brain", "Anonymous Authors", "First Author", "ada@lovelace.org", "Room 7",
        "Aeiau Zzzz", "The Very Long Name Of Some Larger Organisation", "New York City",
        "David S. Hippocampus", "Carnegie Mellon", "Johns Hopkins", "New York", "Hong Kong",
        "San Francisco CA", "MPI Saarbrücken", "Data Mining", "June 2015",
    ],
)  # fmt: skip
def test_other_texts(text: str) -> None:
    """Organisations, places, addresses, and what templates say."""
    assert not is_name(text)


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("Ada Lovelace and Emmy Noether", ["Ada Lovelace", "Emmy Noether"]),
        ("Ada Lovelace, Emmy Noether, and Kurt Gödel",
         ["Ada Lovelace", "Emmy Noether", "Kurt Gödel"]),
        ("Ada Lovelace*, Emmy Noether†‡", ["Ada Lovelace", "Emmy Noether"]),
        ("Ada Lovelace1; Emmy Noether2", ["Ada Lovelace", "Emmy Noether"]),
        ("Dr. Ada Lovelace, PhD", ["Ada Lovelace"]),
        ("by Ada Lovelace (London)", ["Ada Lovelace"]),
        ("Ada Lovelace et al.", []),
        ("Ada Lovelace, London", []),
        ("Noether, Emmy", []),
        ("Ada Lovelace, Willow Garage", []),
        ("Ada Lovelace*, Willow Garage", []),
        ("Ada Lovelace, PhD, Willow Garage", []),
        ("Ada Lovelace; Emmy Noether", ["Ada Lovelace", "Emmy Noether"]),
        ("Ada Lovelace, Emmy Noether, Kurt Gödel", ["Ada Lovelace", "Emmy Noether", "Kurt Gödel"]),
        ("Mary Ann E Lee Smith", ["Mary Ann E Lee Smith"]),
        ("Santiago Ramón y Cajal", ["Santiago Ramón y Cajal"]),
        ("Ada Lovelace e Emmy Noether", ["Ada Lovelace", "Emmy Noether"]),
    ],
)  # fmt: skip
def test_lines_of_names(line: str, names: list[str]) -> None:
    """All names or none: a list with something else may be incomplete."""
    assert names_in(line) == names


def test_entries_may_begin_with_the_family_name() -> None:
    """As metadata has them; a name that is there twice counts once."""
    entries = ["Noether, Emmy", "Gödel, Kurt", "Emmy Noether", "Davis, Jr."]
    assert checked_names(entries[:3]) == ["Emmy Noether", "Kurt Gödel"]
    assert checked_names(entries) == []


def test_a_line_with_people_only() -> None:
    """Two names with a comma between them are people where affiliations stand elsewhere."""
    assert names_in("Ada Lovelace, Emmy Noether", only_people=True) == [
        "Ada Lovelace",
        "Emmy Noether",
    ]


@pytest.mark.parametrize("part", [" ", " x", "*", "* x", "\u0301\u0323", "(", "1a", "et ", ", "])
def test_long_lines_are_read_in_linear_time(part: str) -> None:
    """Blanks, signs, accents and whatever else is repeated."""
    line = "Ada" + part * 60_000 + "x"
    assert_quick(lambda: (names_in(line), checked_names([line])), 1)
    assert names_in(line) == checked_names([line]) == []
