"""Lines, paragraphs, sections and equations of an article's text."""

from eqemb.article import EQUATION_MARK
from eqemb.symbols.places import ArticlePlaces

E = EQUATION_MARK
TEXT = f"Abstract text.\n\nIntro\n\nOne {E}.\nTwo.\n\nIntro\n\nIntro to it.\nThree {E} and {E}."


def test_sections_are_found_in_order() -> None:
    """A title is a line of its own; two sections of one title are told apart."""
    places = ArticlePlaces(TEXT, ["Intro", "Intro"])
    sections = {line.text: line.section for line in places.lines}
    assert sections["Abstract text."] == -1
    assert sections["Two."] == 0
    assert sections["Intro to it."] == 1


def test_a_place_knows_its_line_paragraph_and_section() -> None:
    """Positions are looked up without reading the text again."""
    places = ArticlePlaces(TEXT, ["Intro", "Intro"])
    two = places.at(TEXT.index("Two."))
    assert places.lines[two.line].text == "Two."
    assert two.section == 0
    assert two.paragraph == places.at(places.marks[0]).paragraph
    assert ArticlePlaces("", []).at(0).section == -1


def test_the_nearest_equation_is_of_the_same_paragraph() -> None:
    """0 if the paragraph has none."""
    places = ArticlePlaces(TEXT, ["Intro", "Intro"])
    assert places.nearest_equation(TEXT.index("Two.")) == 1
    assert places.nearest_equation(TEXT.index("Three")) == 2
    assert places.nearest_equation(TEXT.index("and")) in {2, 3}
    assert places.nearest_equation(0) == 0


def test_a_title_that_is_not_listed_is_text() -> None:
    """Section titles come from the article, not from the look of a line."""
    assert [line.section for line in ArticlePlaces("Intro\n\nText", []).lines] == [-1, -1]
