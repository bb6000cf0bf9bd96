"""How queries are read: words, phrases, formulas in every form, markup and slips."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqemb.errors import UsageError
from eqemb.formula import layout
from eqemb.search.query import MAX_FORMULAS, WordQuery, parse_query
from eqemb.search.query_markup import clean_markup
from eqemb.search.spelling import edit_distance
from eqemb.search.typed_equation import read_typed_equation


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("k-means", "k-means"),
        ("f-measure", "f-measure"),
        ("p-value", "p-value"),
        ("l1 regularization", "l1 regularization"),
        ("C++ templates", "c templates"),
        ("A* search", "a search"),
        ("A/B testing", "a b testing"),
        ("AUC = area under curve", "auc area under curve"),
        ("loss + penalty", "loss penalty"),
        ("precision = recall", "precision recall"),
        ("learning rate = 0.1", "learning rate 0.1"),
        ("learning_rate schedule", "learning rate schedule"),
        ("x and y", "x and y"),
        ("log likelihood", "log likelihood"),
        ("max margin", "max margin"),
        ("top-k accuracy", "top-k accuracy"),
        ("α-divergence", "α-divergence"),
        ("χ²-test", "χ²-test"),
        ("recall (balanced)", "recall balanced"),
        ("Bayes' rule", "bayes rule"),
        ("2017 survey", "2017 survey"),
        ("Kullback–Leibler", "kullback-leibler"),
        ("what is f?", "what is f"),
        ("cost $5", "cost 5"),
    ],
)
def test_words_stay_words(query: str, words: str) -> None:
    """Hyphens, plus signs, single letters and prices make no formula."""
    found = parse_query(query)
    assert " ".join(found.words) == words
    assert not found.formulas
    assert found.is_plain


@pytest.mark.parametrize(
    ("query", "latex"),
    [
        ("$x^2$", "x^{2}"),
        ("$$x^2$$", "x^{2}"),
        (r"\(x^2\)", "x^{2}"),
        (r"\[x^2\]", "x^{2}"),
        ("x^2", "x^{2}"),
        ("x²", "x^{2}"),
        ("x**2", "x^{2}"),
        ("x<sup>2</sup>", "x^{2}"),
        ("`x^2`", "x^{2}"),
        ("> x^2", "x^{2}"),
        ("Here is the equation:\n\n```latex\nx^{2}\n```", "x^{2}"),
        ("<math><msup><mi>x</mi><mn>2</mn></msup></math>", "x^{2}"),
        (r"\begin{align} a &= b \\ c &= d \end{align}", "a = b c = d"),
        (r"\frac{\partial L}{\partial w}", r"\frac{\partial L}{\partial w}"),
        ("∂L/∂w", r"\frac{\partial L}{\partial w}"),
        ("E=mc^2", "E=mc^2"),
        ("a + b = c", "a+b=c"),
        ("x\u00a0–\u00a0y", "x-y"),
        ("a &lt; b", "a<b"),
        ("softmax(x)", r"\mathrm{softmax}(x)"),
        ("O(n log n)", r"O(n \log n)"),
        ("precision = TP/(TP+FP)", r"\mathrm{precision} = \frac{TP}{TP+FP}"),
        ("alpha + beta", r"\alpha + \beta"),
        ("?x + ?y", "?x + ?y"),
        ("α β", r"\alpha \beta"),
        ("-2x", "-2x"),
    ],
)
def test_formulas_are_read_in_every_form(query: str, latex: str) -> None:
    """With and without delimiters, in LaTeX, Unicode, ASCII, MathML and Markdown."""
    found = parse_query(query)
    assert found.formula is not None
    assert layout(found.formula) == layout(latex)


@pytest.mark.parametrize(
    ("query", "line"),
    [
        (r"gradient of $\|w\|^2$", r"formula: \|w\|^2; words: gradient of"),
        (r"entropy -\sum p log p", r"formula: -\sum p \log  p; words: entropy"),
        ("entropy -p log p", r"formula: -p \log p; words: entropy"),
        ("k=5 nearest neighbours", "formula: k=5; words: nearest neighbours"),
        ("F-measure = 2PR/(P+R)", r"formula: \frac{2PR}{P+R}; words: f-measure"),
        ("**loss** is `x^2`", "formula: x^{2}; words: loss is"),
        ("“cross entropy” -hinge", "words: cross entropy; together: cross entropy; without: hinge"),
        ('loss -"hinge loss"', "words: loss; without: hinge loss"),
        ("$x$ and $y$", "formula: x; formula: y"),
    ],
)
def test_the_reading_is_one_line(query: str, line: str) -> None:
    """Words and formulas among each other."""
    assert parse_query(query).reading == line


def test_slips_are_repaired_and_said() -> None:
    """An unclosed dollar or brace, an unknown command."""
    found = parse_query(r"loss $\fraq{a}{b")
    assert found.formulas == (r"\frac{a}{b}",)
    assert found.repairs == ("closed $", r"\frac instead of \fraq", "closed {")
    assert found.notes[0].startswith(r"showing results for formula: \frac{a}{b}; words: loss (")
    assert parse_query(r"\foo{x} + 1").notes == [r"unknown command \foo: read as a name"]


def test_the_longest_of_very_many_formulas_are_searched() -> None:
    """Each costs a search; the others are counted, and equal ones count once."""
    pasted = "loss " + " ".join(
        rf"$x_{{{n}}}$ $\frac{{a}}{{{n}}}$ $x_{{{n}}}$" for n in range(10, 26)
    )
    found = parse_query(pasted)
    assert found.formulas == tuple(rf"\frac{{a}}{{{n}}}" for n in range(10, 26))
    assert found.left_out == found.to_json()["left_out"] == MAX_FORMULAS
    assert found.notes == [
        "only the 16 longest formulas of the query are searched for, 16 others are not"
    ]
    assert parse_query("$x$ $y$ " * 20).left_out == 0


def test_latex_as_it_stands_needs_no_reading() -> None:
    """It is kept to the letter."""
    latex = r"f(x) &= \begin{cases} x^2 & \text{if } x > 0 \\ 0 & \text{otherwise} \end{cases}"
    for query in (latex, f"${latex}$"):
        found = parse_query(query)
        assert found.formula == latex
        assert found.is_plain
    assert not parse_query("x²").is_plain


def test_markup_of_a_chat_is_removed() -> None:
    """Lists, headings, bold words, code; a minus at the start of a line stays."""
    assert clean_markup("# Loss\n* **mean** of\n1. *squares*").split() == [
        *("Loss", "mean", "of", "squares")
    ]
    assert "- b" in clean_markup("a\n- b")
    assert clean_markup("x^* + y^*") == "x^* + y^*"


@pytest.mark.parametrize("query", ["", "  ", "$ $", "$$", "...", "\\", "()", "$\\quad$"])
def test_a_query_without_symbols_is_no_equation(query: str) -> None:
    """One sentence says so."""
    with pytest.raises(UsageError, match=r"no symbol|the query is empty"):
        read_typed_equation(query)


def test_words_are_no_equation() -> None:
    """Nor are two formulas."""
    with pytest.raises(UsageError, match="reads as words"):
        read_typed_equation("cosine similarity")
    with pytest.raises(UsageError, match="2 formulas"):
        read_typed_equation("$x$ and $y$")
    assert read_typed_equation("the cosine $x$")[0] == layout("x")


SIGNS = "ab x1 $\\(){}[]^_=+-*/<>|&;:,.?!\"'`~#%\n²ᵢ∑√αŷ –“"


@given(st.one_of(st.text(SIGNS, max_size=80), st.text(max_size=80)))
def test_every_text_is_a_query(text: str) -> None:
    """Nothing raises, and the reading is one query again."""
    found = parse_query(text)
    assert isinstance(found, WordQuery)
    assert all(latex.strip() for latex in found.formulas)
    for latex in found.formulas:
        layout(latex)
    found.to_json()


@pytest.mark.parametrize(
    "sign", ["$", "\\(", "`", '"', "**", "a ", "<math", "&amp;", "x_", "{", "-a "]
)
def test_long_queries_take_linear_time(sign: str) -> None:
    """Delimiters without an end are no trap."""
    assert parse_query(sign * 5_000) is not None


@pytest.mark.parametrize(
    ("one", "two", "distance"),
    [("loss", "loss", 0), ("similarty", "similarity", 1), ("teh", "the", 1), ("abc", "xyz", 3)],
)
def test_edit_distances(one: str, two: str, distance: int) -> None:
    """Two letters that are swapped count once; a limit ends early."""
    assert edit_distance(one, two, 3) == distance
    assert edit_distance("a" * 9, "b", 2) == 3


def test_a_word_before_a_parenthesis_in_latex_is_a_name() -> None:
    """As in ASCII: nobody means the product of the letters."""
    found = parse_query(r"softmax(QK^T/\sqrt{d_k})V")
    assert found.formulas == (r"\mathrm{softmax}(QK^T/\sqrt{d_k})V",)
    assert found.repairs == (r"\mathrm{softmax} instead of softmax",)
    assert parse_query(r"$\frac{a}{b}(x)$").repairs == ()


def test_a_line_break_alone_is_no_formula() -> None:
    """An equation of several lines may start with one, and its names may be read as words."""
    found = parse_query(r"\\ P(Rome) = \frac{2}{4} \\ V = \lbrace Paris, Vienna \rbrace \\")
    assert found.formulas == (r"\frac{2}{4} \\ V = \lbrace", r"\rbrace \\")
    assert found.words == ("p", "rome", "paris", "vienna")
