"""The list under an equation that says what its symbols mean, and `equation.symbols`."""

import copy
import pickle
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from eqemb.article import Article, Equation
from eqemb.errors import UsageError
from eqemb.facade.library import Library
from eqemb.library.database import Records
from eqemb.search.notation import EquationSymbols
from eqemb.search.where import MAX_WHERE, SymbolReader, told, where_lines
from eqemb.symbols import Definition, Meaning, Symbol
from symbol_papers import make_symbol_library
from synthetic import forget_checksums, read_inline


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """The papers that define their symbols."""
    with pytest.MonkeyPatch.context() as patch:
        read_inline(patch)
        with make_symbol_library(tmp_path_factory.mktemp("where")) as made:
            yield made


def meaning(latex: str, text: str = "", confidence: float = 1.0, *others: str) -> Meaning:
    """A symbol with a definition, and with others that say something else."""
    symbol = Symbol(latex, latex, latex, latex)
    made = [
        Definition(symbol, said, "", f"{said}.", 0, 1, 0, 0, -1, 0, "section", "verb", confidence)
        for said in (text, *others)
    ]
    return Meaning(symbol, made[0] if text else None, confidence, made[1:])


# ------------------------------------------------------------ the list


def test_a_list_has_a_line_for_each_symbol(library: Library) -> None:
    """Defined ones first; what was not found is said in one line."""
    assert where_lines(library.symbols("descent#1")) == [
        "where  η  learning rate (elsewhere: noise level of a measurement)",
        "       L  loss function",
        "       no definition found: wₜ₊₁, wₜ",
    ]


def test_the_nearest_definition_counts(library: Library) -> None:
    """The same letter means something else in another section."""
    lines = where_lines(library.symbols("descent#2"))
    assert "       η  noise level of a measurement (elsewhere: learning rate)" in lines


def test_without_definitions_there_is_no_list(library: Library) -> None:
    """A list of letters without a meaning says nothing."""
    assert where_lines(library.symbols("plain#1")) == []


def test_doubt_is_said() -> None:
    """A definition that is not sure is shown with "perhaps"."""
    assert told(meaning("x", "input", 0.6)) == "input"
    assert told(meaning("x", "input", 0.59)) == "perhaps input"
    assert told(meaning("x")) == "no definition found"


def test_other_definitions_are_few_and_short() -> None:
    """Two of them, each cut between words."""
    many = meaning("x", "input", 1.0, "word " * 20, "one", "two")
    assert told(many) == "input (elsewhere: word word word word word word word word…; one)"


def test_a_long_list_is_cut(library: Library) -> None:
    """It says how many symbols it leaves out, and fits the width."""
    every = [meaning(letter, f"letter {letter} " * 9) for letter in "abcdefghijklmnopq"]
    lines = where_lines(EquationSymbols(library["plain#1"], every), 60)
    assert len(lines) == MAX_WHERE + 1
    assert lines[-1] == f"       and {len(every) - MAX_WHERE} more"
    assert max(map(len, lines)) <= 60


# ------------------------------------------------------------ descriptions


def test_a_description_has_the_list(library: Library) -> None:
    """As text under the equation and its name, as JSON, and for notebooks."""
    found = library.describe("descent#2", 2)
    lines = found.to_text().split("\n")
    assert lines[0].startswith("y = x + η")
    assert lines[2] == "where  y  signal"
    symbols = {one["text"]: one for one in found.to_json()["symbols"]}
    assert symbols["x"]["definition"] == "clean input"
    assert symbols["x"]["type"] == r"\mathbb{R}^d"
    assert symbols["x"]["sure"] is True
    assert symbols["ϵ₁"]["definition"] is None
    assert symbols["ϵ₁"]["sure"] is False
    assert [one["definition"] for one in symbols["η"]["conflicts"]] == ["learning rate"]
    assert "noise level of a measurement" in found._repr_html_()


def test_sentences_say_where_the_equation_stands(library: Library) -> None:
    """They have no placeholder character."""
    symbols = {one["text"]: one for one in library.symbols("descent#2").to_json()["symbols"]}
    assert symbols["y"]["sentence"].startswith("The signal is [equation] where")
    assert "￼" not in library.symbols("descent#2").to_text()


def test_latex_has_no_list(library: Library) -> None:
    """Letters of an equation that is typed may mean anything."""
    found = library.describe(r"w_{t+1} = w_t - \eta \nabla L(w_t)", 2)
    assert found.symbols is None
    assert found.to_json()["symbols"] == []
    assert "where" not in found.to_text().split("\n\n")[0]


# ------------------------------------------------------------ equation.symbols


def test_every_equation_of_a_library_has_its_symbols(library: Library) -> None:
    """By name, in an article, in the list of all, and in hits."""
    hit = next(one for one in library.search("noise level") if one.equation.id == "descent#2")
    article = library.article("descent")
    listed = next(one for one in library if one.id == "descent#2")
    wanted = library.symbols("descent#2").to_json()
    for equation in (library["descent#2"], article.equations[1], listed, hit.equation):
        assert equation.symbols.to_json() == wanted
    assert len(wanted["symbols"]) == 4


def test_an_equation_of_elsewhere_says_that_it_has_none(library: Library) -> None:
    """In one sentence that says what to do."""
    equation = replace(library["descent#1"], expanded="x")
    with pytest.raises(UsageError, match="take it from a library"):
        _ = equation.symbols


def test_symbols_are_no_part_of_the_data(library: Library) -> None:
    """Equations with and without them are equal; copies and pickles leave them behind."""
    found = library["descent#1"]
    again = pickle.loads(pickle.dumps(found))  # noqa: S301 - our own
    assert again == found == copy.deepcopy(found)
    assert repr(again) == repr(found)
    assert not hasattr(again, "read_symbols")
    assert found.symbols.equation == again


def test_definitions_are_read_once_for_an_article(library: Library) -> None:
    """And only those of the last few articles are kept."""
    asked: list[str] = []

    def read(name: str) -> Article | None:
        asked.append(name)
        return library.records.article(name.partition("!")[0])

    reader = SymbolReader(read)
    first = library["descent#1"]
    assert reader.of(first).to_json() == reader.of(first).to_json()
    assert asked == ["descent"]
    for number in range(8):
        reader.glossary(f"plain!{number}")
    reader.of(first)
    assert asked.count("descent") == 2


def test_an_article_that_is_gone(library: Library) -> None:
    """An equation may outlive its article."""
    equation: Equation = replace(library["descent#1"], article="gone")
    with pytest.raises(UsageError, match="'gone' is not in the library any more"):
        SymbolReader(library.records.article).of(equation)


# ------------------------------------------------------------ what the index stores


def test_the_index_stores_what_the_article_says(library: Library) -> None:
    """Symbols and definitions are those that reading the article gives."""
    read = SymbolReader(library.records.article)
    stored = library.engine.hits.symbols
    assert stored is library.symbol_reader
    for article in library.articles():
        assert stored.glossary(article.name).definitions == read.glossary(article.name).definitions
        for equation in article.equations:
            assert stored.of(equation) == read.of(equation)


def test_no_article_is_read_for_stored_symbols(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request for one equation would otherwise read thousands of sentences."""
    monkeypatch.setattr(Records, "article", lambda *_: pytest.fail("an article was read"))
    assert len(library.symbols("descent#1")) == 4


def test_an_index_without_meanings(library: Library, tmp_path: Path) -> None:
    """An index of an earlier version gives the same answers."""
    copied = shutil.copytree(library.folder, tmp_path / "library")
    (found,) = forget_checksums(copied).rglob("meanings.txt")
    found.unlink()
    with Library.open(copied) as older:
        assert older.symbols("descent#1") == library.symbols("descent#1")
        assert older.glossary("descent").to_json() == library.glossary("descent").to_json()
