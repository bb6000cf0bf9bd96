"""JATS XML: text and formulas in reading order, untrusted XML, and every loss counted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqemb.article import EQUATION_MARK, Article
from eqemb.errors import SourceError
from eqemb.formula import layout
from eqemb.readers.jats import read_jats
from eqemb.readers.xml_events import XML_DEPTH
from eqemb.sources import Source
from timing import assert_quick

MATHML = (
    "<mml:math><mml:msup><mml:mi>x</mml:mi><mml:mn>2</mml:mn></mml:msup><mml:mo>=</mml:mo>"
    "<mml:mi>y</mml:mi></mml:math>"
)
TEX = (
    "<tex-math><![CDATA[\\documentclass[12pt]{minimal}\\usepackage{amsmath}\n"
    "\\begin{document}$$a < b \\quad & c$$\\end{document}]]></tex-math>"
)
FRONT = (
    "<front><journal-meta><journal-title>A Journal</journal-title></journal-meta><article-meta>"
    "<title-group><article-title>On <inline-formula>" + MATHML + "</inline-formula> and <italic>"
    "more</italic><xref ref-type='fn' rid='f'>*</xref></article-title></title-group>"
    "<contrib-group><contrib><name><surname>Author</surname></name></contrib></contrib-group>"
    "<abstract><title>Abstract</title><p>We look at things.</p></abstract>"
    "<abstract abstract-type='teaser'><p>Teaser</p></abstract>"
    "<kwd-group><kwd>keyword</kwd></kwd-group></article-meta></front>"
)


def article(body: str, front: str = FRONT, back: str = "") -> str:
    """A whole document."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE article PUBLIC "-//NLM//DTD JATS" '
        '"JATS.dtd">\n<article xmlns:mml="http://www.w3.org/1998/Math/MathML" '
        'xmlns:xlink="http://www.w3.org/1999/xlink">\n'
        f"{front}<body>{body}</body>{back}</article>"
    )


def read(text: str | bytes, name: str = "a.xml") -> Article:
    """Read a document."""
    data = text.encode() if isinstance(text, str) else text
    return read_jats(Source("a", name, "", "jats", {name: data}, name))


def formula(inside: str, label: str = "") -> str:
    """A display."""
    return f'<disp-formula id="e1">{label}{inside}</disp-formula>'


def accounted(made: Article) -> bool:
    """Every display is found or lost."""
    found = len({equation.display for equation in made.equations})
    return found + made.displays_lost == made.displays_opened


def test_text_between_citations_costs_linear_time() -> None:
    """Signs in many elements, after one citation."""
    cited = '<xref ref-type="bibr" rid="r">1</xref>' + ", <italic/>" * 50_000
    page = article(f"<p>Shown{cited}and more{formula(TEX)}</p>")
    assert_quick(lambda: read(page), 5)
    assert read(page).text.count(",") == 50_000


def test_an_article_has_title_abstract_sections_and_text() -> None:
    """Front and back matter are left out."""
    back = (
        "<back><ack><p>Thanks.</p></ack><app-group><app><title>Appendix</title><p>Proof.</p></app>"
        "</app-group><ref-list><ref><mixed-citation>Book</mixed-citation></ref></ref-list></back>"
    )
    body = (
        "<sec><label>1</label><title>Method</title><p>Text &amp; <bold>more</bold>.</p>"
        "<sec><title>Part <inline-formula>" + MATHML + "</inline-formula></title>"
        "<list><list-item><p>One</p></list-item><list-item><p>Two</p></list-item></list></sec></sec>"
    )
    made = read(article(body, back=back))
    assert made.title == "On x² = y and more"
    assert made.sections == ["Method", "Part $x^2 = y$", "Appendix"]
    assert made.text == (
        "On $x^2 = y$ and more\n\nWe look at things.\n\nMethod\n\nText & more.\n\n"
        "Part $x^2 = y$\n\nOne\n\nTwo\n\nAppendix\n\nProof.\n\n"
    )


@pytest.mark.parametrize(
    ("inside", "latex"),
    [
        (MATHML, "x^2=y"),
        (f"<alternatives><graphic xlink:href='f'/>{MATHML}</alternatives>", "x^2=y"),
        (TEX, r"a < b \quad & c"),
        (f"<alternatives>{TEX}{MATHML}</alternatives>", r"a < b \quad & c"),
        ("<tex-math>\\begin{document}$x$\\end{document}</tex-math>", "x"),
        ("<tex-math>\\[x\\]</tex-math>", "x"),
        (
            f"<alternatives><tex-math>\\documentclass{{a}}</tex-math>{MATHML}</alternatives>",
            "x^2=y",
        ),
        ("<italic>E</italic> = <italic>mc</italic><sup>2</sup><sub>0</sub>", "E=mc^2_0"),
        ("<bold>x</bold> + 50%", r"\mathbf{x}+50\%"),
        ("<math><mi>x</mi></math>", "x"),
        ("<mml:math><mml:mi>&nbsp;x&thinsp;</mml:mi><mml:mo>&le;</mml:mo></mml:math>", r"x\le"),
        (f"{MATHML}{MATHML}", r"x^2=y \\ x^2=y"),
    ],
)
def test_a_formula_may_be_tex_mathml_or_text(inside: str, latex: str) -> None:
    """LaTeX is preferred, without the document around it."""
    made = read(article(f"<p>So {formula(inside, '<label>(1)</label>')} holds.</p>"))
    (equation,) = made.equations
    assert layout(equation.latex) == layout(latex)
    assert (equation.number, equation.numbered, equation.labels) == ("1", True, ["e1"])
    assert equation.environment == "disp-formula"
    assert equation.context == "We look at things. So [equation] holds."
    assert accounted(made)


@pytest.mark.parametrize(
    ("label", "number"),
    [
        ("<label>(1)</label>", "1"),
        ("<label> [A.2] </label>", "A.2"),
        ("<label>Equation 3.</label>", "3"),
        ("<label>Eq. (4b)</label>", "4b"),
        ("<label/>", None),
        ("", None),
    ],
)
def test_the_printed_number_is_the_label(label: str, number: str | None) -> None:
    """Without parentheses; a formula with an id only has no number."""
    (equation,) = read(article(f"<p>{formula(MATHML, label)}</p>")).equations
    assert (equation.number, equation.numbered) == (number, number is not None)


def test_a_group_gives_its_label_to_its_last_formula() -> None:
    """Unless that has one."""
    group = (
        "<disp-formula-group id='g'><label>(7)</label>"
        f"<disp-formula>{MATHML}</disp-formula><disp-formula>{MATHML}</disp-formula>"
        "</disp-formula-group>"
    )
    made = read(article(f"<p>{group}</p>"))
    assert [equation.number for equation in made.equations] == [None, "7"]
    assert accounted(made)


def test_references_to_equations_are_kept_and_others_are_not() -> None:
    """With their words, but not their numbers; citations vanish with what separates them."""
    body = (
        f"<p>Let {formula(MATHML, '<label>(1)</label>')}.</p><p>By <xref ref-type='disp-formula' "
        "rid='e1'>Equation 1</xref> and <xref ref-type='fig' rid='f1'>Figure 3A</xref> (<xref "
        "ref-type='bibr' rid='b1'>1</xref>, <xref ref-type='bibr' rid='b2'>2</xref>) all "
        "hold<sup><xref ref-type='bibr' rid='b3'>3</xref>,<xref ref-type='bibr' rid='b4'>4</xref>"
        "</sup> <xref ref-type='bibr' rid='b1'>[1]</xref>–<xref ref-type='bibr' rid='b1'>[3]"
        "</xref>, see <xref ref-type='bibr' rid='b1'>Author (2001</xref>), at <ext-link "
        "ext-link-type='uri'>https://a.org</ext-link>.</p>"
    )
    made = read(article(body))
    sentence = "By Equation $1$ and Figure all hold, see, at."
    assert sentence in made.text
    assert made.equations[0].references == [sentence]


def test_captions_and_footnotes_follow_their_paragraph_and_tables_are_left_out() -> None:
    """As for LaTeX."""
    body = (
        "<p>Before<fig id='f1'><label>Figure 1</label><caption><title>The title.</title><p>A "
        f"caption {formula(MATHML)}.</p></caption><graphic/></fig> and after<fn><p>A note.</p>"
        "</fn>.</p><table-wrap><label>Table 1</label><caption><p>Numbers.</p></caption><table>"
        f"<tr><td>1</td><td>{formula(MATHML)}</td></tr></table></table-wrap><p>End "
        f"<inline-formula>{MATHML}</inline-formula>.</p>"
    )
    made = read(article(body, front="<front/>"))
    assert made.text == (
        "Before and after.\n\nThe title.\nA caption "
        + EQUATION_MARK
        + ".\n\nA note.\n\nNumbers.\n\n"
        "End $x^2 = y$.\n\n"
    )
    assert [problem.cause for problem in made.problems] == ["lost: in a part that is left out"]
    assert accounted(made)


def test_sub_and_superscripts_are_readable() -> None:
    """Unicode where it has them."""
    body = (
        "<p>CO<sub>2</sub>, 10<sup>−3</sup>, x<sub>i</sub>, 5<sup>th</sup>, <inline-formula>"
        f"{MATHML}</inline-formula></p>"
    )
    assert "CO₂, 10⁻³, x_i, 5th, $x^2 = y$" in read(article(body)).text


def test_a_formula_that_is_only_a_picture_is_lost() -> None:
    """The article is kept, with the loss; formulas within the text are counted once."""
    body = (
        "<p>So<disp-formula id='e9'><graphic xlink:href='e9.tif'/></disp-formula>and "
        "<inline-formula><inline-graphic xlink:href='i'/></inline-formula> hold.</p>"
    )
    made = read(article(body, front="<front/>"))
    assert made.text == "So and hold.\n\n"
    assert [(problem.cause, problem.detail) for problem in made.problems] == [
        ("lost: formula is a picture", "e9"),
        ("formula is a picture", "1 formulas within the text"),
    ]
    assert (made.displays_opened, made.displays_lost) == (1, 1)


def test_letters_and_replies_are_other_documents() -> None:
    """Their formulas do not count."""
    other = f"<sub-article><body><p>Reply {formula(MATHML)}</p></body></sub-article>"
    made = read(article(f"<p>{formula(MATHML)}</p>", back=other))
    assert len(made.equations) == 1
    assert "Reply" not in made.text
    assert accounted(made)


def test_of_a_set_of_articles_the_first_one_is_read() -> None:
    """One file is one article."""
    one = f"<article><body><p>One {formula(MATHML)}</p></body></article>"
    made = read(f"<pmc-articleset>{one}{one.replace('One', 'Two')}</pmc-articleset>")
    assert "One" in made.text
    assert "Two" not in made.text
    assert [problem.cause for problem in made.problems] == ["several articles in one file"]
    assert accounted(made)


@pytest.mark.parametrize(
    ("text", "cause", "detail"),
    [
        ("<TEI><text/></TEI>", "unsupported XML", "TEI, whose formulas are lines of raw text"),
        ("<html><body/></html>", "unsupported XML", "its root element is <html>"),
        ("<article><section/></article>", "unsupported XML", "no body and no abstract"),
        ("", "unsupported XML", "no element found"),
        ("no XML", "unsupported XML", "could not be parsed"),
        ("<article><body><p>Words.</p></body></article>", "no mathematics", ""),
        (
            '<!DOCTYPE article [<!ENTITY l "lol">]><article><body><p>&l;</p></body></article>',
            "unsafe XML",
            "declares entities",
        ),
        (
            '<!DOCTYPE article [<!ENTITY l SYSTEM "file:///etc/passwd">]><article/>',
            "unsafe XML",
            "declares entities",
        ),
    ],
)
def test_what_is_not_an_article_is_refused(text: str, cause: str, detail: str) -> None:
    """With one sentence."""
    with pytest.raises(SourceError) as caught:
        read(text)
    assert caught.value.cause == cause
    assert detail in str(caught.value)


def test_a_truncated_file_is_read_up_to_the_fault() -> None:
    """What follows is lost, and counted."""
    whole = article(f"<p>One {formula(MATHML)}</p><p>Two {formula(MATHML)} {formula(MATHML)}</p>")
    cut = whole[: whole.rindex("<disp-formula") + 40]
    made = read(cut)
    assert len(made.equations) == 2
    assert [problem.cause for problem in made.problems] == [
        "lost: after a fault in the XML",
        "broken XML",
    ]
    assert accounted(made)
    broken = read(whole.replace("<p>Two", "<p>Two < "))
    assert len(broken.equations) == 1
    assert broken.displays_lost == 2
    assert accounted(broken)


def test_deep_nesting_is_a_fault() -> None:
    """And no recursion."""
    deep = "<b>" * (XML_DEPTH + 1) + "</b>" * (XML_DEPTH + 1)
    made = read(article(f"<p>{formula(MATHML)}</p><p>{deep}</p>"))
    assert [problem.cause for problem in made.problems] == ["elements nested too deep"]


def test_entities_of_html_need_no_declaration() -> None:
    """Even if the document is declared to stand alone."""
    text = article(f"<p>a&nbsp;b&hellip; &unknown; {formula(MATHML)}</p>", front="<front/>")
    text = (
        text.replace('encoding="UTF-8"', 'standalone="yes"')
        .replace("<!DOCTYPE", "<!--")
        .replace('"JATS.dtd">', "-->")
    )
    assert read(text).text.startswith("a b… ")


@given(st.lists(st.sampled_from([
    "<article>", "</article>", "<body>", "</body>", "<p>", "</p>", "<disp-formula id='e'>", "<fn>",
    "</disp-formula>", "<inline-formula>", "</inline-formula>", MATHML, TEX, "<label>(1)</label>",
    "<graphic/>", "words. ", "&nbsp;", "&", "<", "<!--", "-->", "<sub>", "</sub>", "<table>",
    "</table>", "<xref ref-type='bibr' rid='a'>", "</xref>", "<caption>", "</caption>", "</fn>",
    "<disp-formula-group>", "</disp-formula-group>", "<sec><title>", "</title></sec>", "<math>",
    "<sub-article>", "</sub-article>", "<![CDATA[", "]]>", "\ufffc", "\0", "$",
]), max_size=30))  # fmt: skip
def test_any_elements_are_read_or_refused(pieces: list[str]) -> None:
    """Nothing but SourceError is raised, and the account holds."""
    try:
        made = read("<article><body>" + "".join(pieces))
    except SourceError:
        return
    assert len(made.equations) == made.text.count(EQUATION_MARK)
    assert accounted(made)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """In an article, or alone."""
    for text in (data, article("<p>%s</p>").encode().replace(b"%s", data)):
        try:
            read(text)
        except SourceError:
            continue


def test_one_link_to_two_equations() -> None:
    """A comma separates them, as in the text of the link."""
    links = "<xref ref-type='disp-formula' rid='e1 e2'>Equations 1, 2</xref>"
    displays = "".join(
        f"<disp-formula id='e{n}'><label>({n})</label>{MATHML}</disp-formula>" for n in (1, 2)
    )
    assert "Equations $1$, $2$ hold" in read(article(f"<p>{displays}</p><p>{links} hold.</p>")).text
