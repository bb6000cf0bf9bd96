"""Any bytes are read as a page or refused, and everything is accounted for."""

from hypothesis import example, given
from hypothesis import strategies as st

from eqemb.article import EQUATION_MARK
from eqemb.errors import SourceError
from eqemb.readers.draft import NOT_ACCOUNTED
from eqemb.readers.html import read_html
from eqemb.readers.html.delimiters import split_formulas
from eqemb.sources import Source

PARTS = r"""
<p> </p> <div> </div> <main> <table> <tr> <td> </table> <dl> <dd> </dl> <h1> </h1>
<h2>References</h2> <math> </math> <math\ display="block"\ alttext="a">
<annotation\ encoding="application/x-tex"> </annotation> <script\ type="math/tex;mode=display">
</script> <span\ class="katex-display"> <span\ class="katex"> </span>
<span\ class="mwe-math-element"> <mjx-container\ display="true"> </mjx-container>
<d-math\ block> </d-math> <table\ class="ltx_equation\ ltx_eqn_table"\ id="S1.E1">
<article\ class="ltx_document"> <tr\ class="ltx_eqn_row"> <span\ class="ltx_tag">
<span\ class="ltx_note"> <div\ class="math"\ id="e"> <a\ href="#e"> <a\ href="#S1.E1"> </a>
<img\ class="latex"\ alt="x"> <br> <!-- --> $ $$ \[ \] \( \) { } \begin{align} \end{align}
\tag{1} \label{e} \eqref{e} \newcommand{\a}{b} \\ & &lt; a b. (1) \$ % &#xFFFC; &#xF0000;
macros:{a:"b"} <pre> </pre> < > " ' x=1
"""

pieces = st.lists(st.sampled_from([
    part.replace("\x00", " ") for part in PARTS.replace("\\ ", "\x00").split()
]))  # fmt: skip


def check(data: bytes) -> None:
    """Read bytes as a page and compare the parts of the article."""
    try:
        article = read_html(Source("a", "a.html", "", "html", {"a.html": data}, "a.html"))
    except SourceError:
        return
    assert article.text.count(EQUATION_MARK) == len(article.equations)
    assert [equation.ordinal for equation in article.equations] == [
        number + 1 for number in range(len(article.equations))
    ]
    losses = [problem for problem in article.problems if problem.cause.startswith("lost: ")]
    is_counted = any(problem.cause == NOT_ACCOUNTED for problem in losses)
    assert len(losses) <= article.displays_lost <= article.displays_opened
    assert is_counted or article.displays_lost == len(losses)
    lines = data.count(b"\n") + data.count(b"\r") + 1
    for equation in article.equations:
        assert equation.expanded
        assert 1 <= equation.line <= equation.end_line <= lines


@given(st.binary())
@example(b"\xff\xfe$\x00$\x00a\x00$\x00$\x00")
@example(b"$$a$$&#" + b"9" * 5000 + b";")
def test_any_bytes(data: bytes) -> None:
    """Nothing but `SourceError` is raised."""
    check(data)


@given(pieces)
def test_any_markup(parts: list[str]) -> None:
    """Elements, delimiters and marks in any order."""
    check(" ".join(parts).encode())


@given(pieces, st.booleans())
def test_pieces_of_a_text_are_all_of_it(parts: list[str], has_dollars: bool) -> None:  # noqa: FBT001
    """No character is in two pieces or in none."""
    text = "".join(parts)
    at = 0
    for piece in split_formulas(text, has_dollars=has_dollars):
        assert piece.start == at < piece.end
        at = piece.end
    assert at == len(text)
