"""MathML: written for browsers, and read from other converters."""

import re
from xml.etree.ElementTree import fromstring

import pytest

from eqemb.formula import Layout, layout

FORMULAS = [
    r"x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}",
    r"\int_0^\infty e^{-x^2} \, \mathrm{d}x = \frac{\sqrt{\pi}}{2}",
    r"\sum_{n=0}^{\infty} \frac{x^n}{n!} = e^x, \quad x \in \mathbb{R}",
    r"\binom{n}{k} = \frac{n!}{k!(n-k)!}",
    r"\|u+v\|_2 \le \|u\|_2 + \|v\|_2",
    r"|x| = \begin{cases} x & \text{if } x \ge 0 \\ -x & \text{otherwise} \end{cases}",
    r"\det\begin{pmatrix} a & b \\ c & d \end{pmatrix} = ad - bc",
    r"\hat\theta = \operatorname*{arg\,max}_\theta \sum_i \log p(x_i \mid \theta)",
    r"\overline{a+b} = \bar a + \bar b, \quad \underline{x} \le \vec{x} \cdot \dot y",
    r"\underbrace{1 + \cdots + 1}_{n \text{ times}} = n",
    r"f''(x) = \lim_{h\to0} \frac{f(x+h) - 2f(x) + f(x-h)}{h^2}",
    r"{}_2F_1(a,b;c;z)",
    r"\left\langle x, y \right\rangle^2 \le \left\|x\right\|^2 \left\|y\right\|^2",
    r"\mathcal{L}(\mathbf{w}, \boldsymbol{\theta}) := \mathrm{Precision} \cdot \mathsf{A}",
    r"a \xrightarrow[n\to\infty]{p} b",
    r"\sup_{x} f(x) = \max(0, 1], \quad \sqrt[3]{x}",
    r"\sum_{\substack{i<j \\ j<n}} a_{ij} \not= 0",
    r"\left\lfloor \frac{n}{2} \right\rfloor + \lceil x \rceil",
]


@pytest.mark.parametrize("latex", FORMULAS)
def test_our_mathml_is_well_formed_and_reads_back_as_the_same_equation(latex: str) -> None:
    """No part of the tree is lost in the output."""
    made = layout(latex)
    assert made.problems == []
    fromstring(made.to_mathml())  # noqa: S314 - our own
    assert Layout.from_mathml(made.to_mathml()).canonical() == made.canonical()


def test_display_and_inline() -> None:
    """A display is a block of its own."""
    assert 'display="block"' in layout("x").to_mathml()
    assert "display" not in layout("x").to_mathml(display=False)


def test_text_is_escaped() -> None:
    """What an author wrote cannot become markup."""
    shown = layout(r"a < b \text{ <script> & co}").to_mathml()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    fromstring(shown)  # noqa: S314 - our own


@pytest.mark.parametrize("latex", FORMULAS)
def test_any_symbol_can_be_marked(latex: str) -> None:
    """By its index in the order of units; its element has the mark."""
    made = layout(latex)
    for place, node in enumerate(made.nodes()):
        shown = made.to_mathml(mark=[place])
        visible = node.tag != "M!1x1"
        assert ("eqemb-mark" in shown) == visible, (node.tag, shown)
        fromstring(shown)  # noqa: S314 - our own


def test_the_mark_is_on_the_symbol_asked_for() -> None:
    """And on no other."""
    shown = layout("x + y").to_mathml(mark=[2])
    assert re.findall(r"<m\w+[^>]*eqemb-mark[^>]*>(.)<", shown) == ["y"]


def test_a_column_of_relations_stands_with_what_follows_it() -> None:
    """Three columns of an `eqnarray` become two, also in rows without a relation."""
    shown = layout(r"a &=& b \\ && + c").to_mathml()
    assert [row.count("<mtd") for row in shown.split("<mtr>")[1:]] == [2, 2]


def test_line_breaks_of_the_source_are_kept_for_people() -> None:
    """Aligned rows become a table; the tree has none."""
    made = layout(r"x &= a \\ &= b")
    assert made.to_mathml().count("<mtr>") == 2
    assert made.to_slt() == "[V!x[=[V!a[=[V!b]]]]]"


@pytest.mark.parametrize(
    ("latex", "part"),
    [
        (r"\mathrm{d}x", '<mi mathvariant="normal">d</mi><mi>x</mi>'),
        (r"\Gamma", '<mi mathvariant="normal">Γ</mi>'),
        (r"a\quad b", '<mi>a</mi><mspace width="1em"/><mi>b</mi>'),
        (r"\sin x", '<mi>sin</mi><mspace width="0.1667em"/><mi>x</mi>'),
        (r"\sin(x)", '<mi>sin</mi><mrow><mo stretchy="false" form="prefix">(</mo>'),
        (r"\left(x\right)", 'stretchy="true"'),
        (r"\Big(x\Big)", 'minsize="1.8em"'),
        (r"= -x", '<mo form="prefix">−</mo>'),
        (r"\sum_i^n", "<munderover>"),
        (r"\int_0^1", "<msubsup>"),
        (r"\int\limits_0^1", "<munderover>"),
        (r"\sum\nolimits_i^n", "<msubsup>"),
        (r"\frac{\sum\limits_i x}{2}", 'movablelimits="false"'),
        (r"\mathop{\rm Hom}\nolimits_A", "<msub>"),
        (r"\varphi", "<mi>φ</mi>"),
        (r"\bm{\varepsilon}", "<mi>𝜺</mi>"),
        (r"a &= b && c", '<mspace width="2em"/><mi>c</mi>'),
        (r"a &= b && c \\ d", '0.2em 2em"></mtd><mtd style="text-align:left'),
        (r"a = & b \\ = & c", '<mo>=</mo><mrow></mrow></mtd><mtd style="text-align:left'),
        (r"a &=& b \\ &=& c", "<mrow></mrow><mo>=</mo><mi>c</mi>"),
        (r"\nabla_x", "<msub>"),
        (r"\overset{a}{=}", "<mover>"),
        (r"\hat{x}", '<mover accent="true">'),
        (r"\overline{x}", 'class="eqemb-over"'),
        (r"\underbrace{x_i}_n", '<munder accentunder="true"><msub>'),
        (r"\binom{n}{k}", 'linethickness="0"'),
        (r"x.", '<mo lspace="0">.</mo>'),
        (r"\begin{array}{lr} a & b \end{array}", ";text-align:-webkit-right"),
        (r"\frac{a", "<mfrac>"),
        (r"}", "<merror>"),
    ],
)
def test_it_looks_as_tex_would_set_it(latex: str, part: str) -> None:
    """Upright letters, spaces, stretching fences, limits, signs."""
    assert part in layout(latex).to_mathml()


LATEXML = """<math xmlns="http://www.w3.org/1998/Math/MathML" alttext="p(x|y)=\\frac{1}{2}">
 <semantics><mrow><mrow><mi>p</mi><mo>&#x2062;</mo><mrow><mo stretchy="false">(</mo><mrow><mi>x</mi>
 <mo>|</mo><mi>y</mi></mrow><mo stretchy="false">)</mo></mrow></mrow><mo>=</mo>
 <mfrac><mn>1</mn><mn>2</mn></mfrac></mrow>
 <annotation-xml encoding="MathML-Content"><apply><eq/></apply></annotation-xml>
 <annotation encoding="application/x-tex">p(x|y)</annotation></semantics></math>"""

JATS = """<disp-formula><mml:math display="block"><mml:mstyle displaystyle="true">
 <mml:mi>p</mml:mi><mml:mfenced><mml:mrow><mml:mi>x</mml:mi><mml:mo>|</mml:mo><mml:mi>y</mml:mi>
 </mml:mrow></mml:mfenced><mml:mo>&equals;</mml:mo><mml:mfrac><mml:mn>1</mml:mn><mml:mn>2</mml:mn>
 </mml:mfrac></mml:mstyle></mml:math></disp-formula>"""


@pytest.mark.parametrize("source", [LATEXML, JATS])
def test_others_mathml_makes_our_tree(source: str) -> None:
    """Nested rows and annotations of LaTeXML; prefixes, entities and mfenced of JATS."""
    made = Layout.from_mathml(source)
    assert made.canonical() == layout(r"p(x|y)=\frac12").canonical()
    assert made.problems == []


@pytest.mark.parametrize(
    ("body", "latex"),
    [
        ("<mi>𝑥</mi>", "x"),
        ('<mi mathvariant="bold">x</mi>', r"\mathbf{x}"),
        ("<mi>𝐱</mi>", r"\mathbf{x}"),
        ("<mi>𝒜ℬ</mi>", r"\mathcal{AB}"),
        ("<mi>𝑙𝑜𝑠𝑠</mi>", r"\mathit{loss}"),
        ("<mi>sin</mi><mo>&ApplyFunction;</mo><mi>x</mi>", r"\sin x"),
        ("<mo>lim</mo>", r"\lim"),
        ("<mi>lim</mi>", r"\lim"),
        ("<mo>diag</mo>", r"\operatorname{diag}"),
        ("<mi>∇</mi>", r"\nabla"),
        ("<mo>…</mo>", r"\dots"),
        ("<mo>.</mo><mo>.</mo><mo>.</mo>", r"\dots"),
        ("<mo>-</mo>", "-"),
        ("<mo>∥</mo><mi>x</mi><mo>∥</mo>", r"\|x\|"),
        ("<mo>|</mo><mo>|</mo><mi>x</mi><mo>|</mo><mo>|</mo>", r"\|x\|"),
        ("<mi>x</mi><mo>∣</mo><mi>y</mi>", r"x \mid y"),
        ("<mo>:</mo><mo>=</mo>", ":="),
        ("<mi>.</mi><mn>5</mn>", ".5"),
        ("<mo>(</mo><mi>x</mi><msup><mo>)</mo><mn>2</mn></msup>", "(x)^2"),
        ("<msup><mi>f</mi><mo>″</mo></msup>", "f''"),
        ("<msup><mi>f</mi><mrow><mo>′</mo><mo>′</mo></mrow></msup>", "f''"),
        ("<msub><mrow></mrow><mn>2</mn></msub><mi>F</mi>", "{}_2F"),
        ("<mover><mi>x</mi><mo>ˆ</mo></mover>", r"\hat x"),
        ("<mover><mi>x</mi><mo>‾</mo></mover>", r"\bar x"),
        ("<munder><mi>x</mi><mo>&#x332;</mo></munder>", r"\underline x"),
        ("<msub><mi>max</mi><mi>x</mi></msub>", r"\max_x"),
        ("<munder><mrow><mi>arg max</mi></mrow><mi>x</mi></munder>", r"\operatorname*{arg\,max}_x"),
        ("<msubsup><mo>∑</mo><mi>i</mi><mi>n</mi></msubsup>", r"\sum_i^n"),
        ("<msqrt><mi>a</mi><mi>b</mi></msqrt>", r"\sqrt{ab}"),
        ("<mroot><mi>a</mi><mn>3</mn></mroot>", r"\sqrt[3]{a}"),
        ('<mfenced open="[" close=")"><mn>0</mn><mn>1</mn></mfenced>', "[0,1)"),
        ("<mtext>if&nbsp;so </mtext>", r"\text{if so }"),
        ("<mrow><mo>(</mo><mi>a</mi><mo>)</mo><mo>(</mo><mi>b</mi><mo>)</mo></mrow>", "(a)(b)"),
        ("<mphantom><mi>x</mi></mphantom><mi>y</mi><mspace width='1em'/>", "y"),
        (
            (
                "<mmultiscripts><mi>X</mi><mi>c</mi><mi>d</mi><mprescripts/><mi>a</mi><mi>b</mi>"
                "</mmultiscripts>"
            ),
            "{}_a^bX_c^d",
        ),
        (
            (
                "<mo>[</mo><mtable><mtr><mtd><mi>a</mi></mtd></mtr>"
                "<mtr><mtd><mi>b</mi></mtd></mtr></mtable><mo>]</mo>"
            ),
            r"\begin{bmatrix} a \\ b \end{bmatrix}",
        ),
        (
            (
                '<mtable displaystyle="true"><mtr><mtd><mi>a</mi></mtd>'
                "<mtd><mo>=</mo><mi>b</mi></mtd></mtr></mtable>"
            ),
            r"\begin{aligned} a &= b \end{aligned}",
        ),
    ],
)
def test_each_element_reads_as_its_latex(body: str, latex: str) -> None:
    """One formula gives one tree, whichever tool converted it."""
    made = Layout.from_mathml(f"<math>{body}</math>")
    assert made.to_slt() == layout(latex).to_slt()


MFENCED = '<mfenced open="%s" close="%s"><mi>x</mi></mfenced>'
CELLS = "<mtr><mtd><mi>a</mi></mtd><mtd></mtd></mtr><mtr><mtd><mi>b</mi></mtd><mtd></mtd></mtr>"


@pytest.mark.parametrize(
    ("body", "latex"),
    [
        ("<mn>0,1</mn><mn>1.</mn><mn>4.6.4</mn>", "0,1 1. 4.6 .4"),
        ("<mn>i</mn><mn>…</mn><mn>1 000</mn>", r"i \dots 1000"),
        ('<mn mathvariant="bold">1</mn>', r"\mathbf{1}"),
        ("<mo>&gt;&gt;</mo><mo>′′</mo><mo>'</mo><mo>~</mo>", r">> ″ \prime \sim"),
        ("<mi>Δt</mi><mi>h,max</mi><mi>p-value</mi>", r"\Delta t h,max \operatorname{p-value}"),
        (
            (
                '<mi mathvariant="normal">m</mi><mi mathvariant="normal">a</mi>'
                '<msub><mi mathvariant="normal">x</mi><mi>i</mi></msub>'
            ),
            r"\max_i",
        ),
        ('<mi mathvariant="normal">d</mi><mi>x</mi>', r"\mathrm{d}x"),
        ('<mstyle mathvariant="bold"><mi>x</mi><mn>1</mn></mstyle>', r"\mathbf{x}\mathbf{1}"),
        ('<mi class="ltx_font_mathcaligraphic" mathvariant="normal">F</mi>', r"\mathcal{F}"),
        ('<mo largeop="true">⊕</mo>', r"\bigoplus"),
        ("<mover><mi>x</mi><mo>~</mo></mover>", r"\tilde x"),
        (
            (
                "<msup><mi>R</mi><mi>i</mi></msup><mmultiscripts><mo>=</mo><mprescripts/><mi>j</mi>"
                "<none/></mmultiscripts><mn>0</mn>"
            ),
            "R^i{}_j=0",
        ),
        (
            "<msub><mrow><mi>f</mi><mo>|</mo></mrow><mrow><mi>x</mi></mrow></msub>",
            "f|_x",
        ),
        (
            f'<mrow><mo>{{</mo><mtable displaystyle="true">{CELLS}</mtable></mrow>',
            r"\begin{cases}a\\b\end{cases}",
        ),
        (f'<mtable displaystyle="true">{CELLS}</mtable>', "ab"),
        ("<mtable><mtr><mtd><mi>x</mi></mtd></mtr></mtable>", "x"),
        (MFENCED % ("&lt;", "&gt;"), r"\langle x \rangle"),
        (MFENCED % ("||", "||"), r"\|x\|"),
        (MFENCED % ("", "}"), r"\left. x \right\}"),
        ("<mtext>𝑐𝑙𝑜𝑠𝑒𝑑</mtext>", r"\text{closed}"),
        ("<munder><mrow></mrow><mi>a</mi></munder>", r"\underset{a}{}"),
    ],
)
def test_idioms_of_converters_read_as_latex(body: str, latex: str) -> None:
    """What one token is in LaTeX is one symbol, however MathML splits or joins it."""
    made = Layout.from_mathml(f"<math>{body}</math>")
    assert made.to_slt() == layout(latex).to_slt()
    assert layout(made.latex) == made


def test_mathml_keeps_what_people_see() -> None:
    """Spaces and variants of letters."""
    quad, thin = '<mspace width="1em"/>', '<mspace width="thinmathspace"/>'
    source = f"<math><mi>ε</mi>{quad}<mi>φ</mi>{thin}<mi>x</mi></math>"
    assert Layout.from_mathml(source).latex == r"\varepsilon\quad\varphi\,x"


@pytest.mark.parametrize(
    ("alttext", "latex"),
    [
        (r"\begin{array}[]{cc}a&b\end{array}", r"\begin{array}{cc}a&b\end{array}"),
        (r"a\lx@stackrel{{*}}{{\Rightarrow}}b", r"a\stackrel{*}{\Rightarrow}b"),
        (r"\big||", r"\big\|"),
    ],
)
def test_latexml_writes_some_commands_of_its_own(alttext: str, latex: str) -> None:
    """In its `alttext`."""
    assert layout(alttext).to_slt() == layout(latex).to_slt()


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("nothing here", "no math element"),
        ("<math><mi>x</math>", "not well-formed XML"),
        ("<math><foo><mi>x</mi></foo></math>", "unknown element"),
        ("<math><mfrac><mi>x</mi></mfrac></math>", "wrong number of children"),
        ("<math><merror><mtext>\\foo</mtext></merror></math>", "error in the source"),
        ("<math>" + "<mrow>" * 500 + "<mi>x</mi>" + "</mrow>" * 500 + "</math>", "nested too deep"),
    ],
)
def test_what_cannot_be_read_is_a_problem(source: str, cause: str) -> None:
    """It never raises."""
    assert cause in [problem.cause for problem in Layout.from_mathml(source).problems]


LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
BOMB = f'<!DOCTYPE math [<!ENTITY l0 "lol">{LAUGHS}]>'


@pytest.mark.parametrize(
    "source",
    [
        BOMB + "<math><mi>&l9;</mi></math>",
        "<math>" + BOMB + "<mi>&l9;</mi></math>",
        "<math><mi>&l9;</mi>" + LAUGHS.lower() + "</math>",
    ],
)
def test_declared_entities_are_not_expanded(source: str) -> None:
    """Entities that a document declares are neither expanded nor parsed."""
    made = Layout.from_mathml(source)
    assert len(made.to_slt()) < 10
    assert source.startswith("<!") or made.problems == [("a document type inside", "")]


def test_presentation_inside_an_annotation_wins() -> None:
    """If content MathML comes first."""
    source = (
        '<math><semantics><apply/><annotation-xml encoding="MathML-Presentation"><mi>x</mi>'
        "</annotation-xml></semantics></math>"
    )
    assert Layout.from_mathml(source).to_slt() == "[V!x]"


@pytest.mark.parametrize("latex", FORMULAS)
def test_symbols_can_be_numbered(latex: str) -> None:
    """Each letter has the number of its symbol; nothing else of the formula changes."""
    made = layout(latex)
    letters = {at: at % 3 for at, node in enumerate(made.nodes()) if node.tag[:2] == "V!"}
    shown = made.to_mathml(symbols=letters)
    fromstring(shown)  # noqa: S314 - our own
    assert shown.count("data-symbol=") == len(letters)
    assert re.sub(r' data-symbol="\d"', "", shown) == made.to_mathml()
    assert made.to_mathml(symbols={}) == made.to_mathml()


def test_a_numbered_symbol_can_be_marked_too() -> None:
    """Both attributes stand on its element."""
    shown = layout("x_i").to_mathml(mark=[0], symbols={0: 7, 1: 2})
    assert re.search(r'<mi class="eqemb-mark" [^>]* data-symbol="7">x</mi>', shown)
    assert '<mi data-symbol="2">i</mi>' in shown
