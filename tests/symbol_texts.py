"""Articles for tests of definitions of symbols: a text, and equations for its marks."""

from eqemb.article import Article, Equation
from eqemb.symbols import find_definitions


def article(text: str, *equations: str, sections: tuple[str, ...] = ()) -> Article:
    """An article with a text and equations."""
    made = [
        Equation("a", number, None, None, [], "equation", number, latex, latex, "", 0, 0)
        for number, latex in enumerate(equations, 1)
    ]
    return Article("a", "a", text=text, sections=list(sections), equations=made)


def defined(text: str, *equations: str) -> dict[str, str]:
    """What a text says about symbols: LaTeX -> definition; without bare types."""
    found = find_definitions(article(text, *equations))
    return {one.symbol.latex: one.text for one in found if one.kind != "type"}
