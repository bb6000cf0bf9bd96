"""Displays in Markdown: every way to write one, what labels it, and what only looks like one."""

import pytest

from eqemb.article import Article
from markdown_documents import KRAMDOWN, read

EQUATION = r"E = m c^2"


def one(text: str, name: str = "a.md") -> tuple[str, int, int]:
    """The only equation of a document: its LaTeX and its lines."""
    article = read(text, name)
    (equation,) = article.equations
    assert article.displays_opened == 1
    assert article.displays_lost == 0
    return equation.expanded, equation.line, equation.end_line


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("Text\n\n$$\nE = m c^2\n$$\n\nmore.", (3, 5)),
        ("Text\n\n$$E = m c^2$$\n", (3, 3)),
        ("Text\n$$E =\nm c^2$$ more.", (2, 3)),
        ("Text $$E = m c^2$$ more.", (1, 1)),
        ("Text\n\\[\nE = m c^2\n\\]\n", (2, 4)),
        ("Text \\[ E = m c^2 \\] more.", (1, 1)),
        ("Text\n\n\\\\[ E = m c^2 \\\\]\n", (3, 3)),
        ("Text\n\n\\begin{equation}\nE = m c^2\n\\end{equation}\n", (3, 5)),
        ("Text\n$$\\begin{equation}\nE = m c^2\n\\end{equation}$$\n", (2, 4)),
        ("Text\n\n```math\nE = m c^2\n```\n", (3, 5)),
        ("Text\n\n~~~~ math\nE = m c^2\n~~~~\n", (3, 5)),
        ("Text\n\n```{math}\nE = m c^2\n```\n", (3, 5)),
        ("Text\n\n:::{math}\nE = m c^2\n:::\n", (3, 5)),
        ("Text\n\n{% math %}\nE = m c^2\n{% endmath %}\n", (3, 5)),
        ("- Text\n  $$\n  E = m c^2\n  $$\n- more", (2, 4)),
        ("1. $$E = m c^2$$\n2. more", (1, 1)),
        ("> Text\n> $$\n> E = m c^2\n> $$\n", (2, 4)),
        ("> [!theorem] Energy\n> $$E = m c^2$$\n", (2, 2)),
        ("Text\n\n    $$\n    E = m c^2\n    $$\n", (3, 5)),
        ("Text\n\n$$\nE =\n\nm c^2\n$$\n", (3, 7)),
        ("| a | b |\n|---|---|\n| x | $$E = m c^2$$ |\n", (3, 3)),
        ("<div>\n$$\nE = m c^2\n$$\n</div>\n", (2, 4)),
        ("\ufeffText\r\n$$\r\nE = m c^2\r\n$$\r\n", (2, 4)),
    ],
)
def test_every_way_to_write_a_display(text: str, lines: tuple[int, int]) -> None:
    """The formula and its lines are found."""
    assert one(text) == (EQUATION, *lines)


@pytest.mark.parametrize(
    "opening",
    [
        "````{prf:theorem} Energy\n:label: energy\n",
        "```{exercise}\n:label: energy\n:class: dropdown\n",
        "```{note}\n",
        "```{figure} picture.png\n---\nheight: 3cm\nname: energy\n---\n",
        "```{theorem, energy, name='Energy'}\n",
        "::: {.callout-note}\n",
        ":::{admonition} Energy\n",
        "```ad-note\n",
    ],
)
def test_the_body_of_a_prose_directive_is_text(opening: str) -> None:
    """Its words and displays are read, its options are not."""
    fence = opening[: len(opening) - len(opening.lstrip("`:"))]
    article = read(f"{opening}\nMass is energy:\n\n$$E = m c^2$$\n{fence}\n\nThe end.\n")
    assert [equation.expanded for equation in article.equations] == [EQUATION]
    assert "Mass is energy" in article.text
    assert "The end" in article.text
    assert not {"label", "dropdown", "height", "png", "prf"} & set(article.words())


def test_directives_nest() -> None:
    """A fence of more marks contains one of fewer, and of the same number, too."""
    inner = "```{math}\n:label: a\nx = 1\n```\n"
    article = read(f"````{{note}}\n```{{tip}}\nOne\n\n{inner}```\nTwo\n````\n\n$$y$$ (b)\n")
    assert [equation.labels for equation in article.equations] == [["a"], ["b"]]
    assert article.words() == ["One", "Two"]


@pytest.mark.parametrize(
    "code",
    [
        "```\n$$x$$\n```\n",
        "```python\n$$x$$\n```\n",
        "```{code-cell} ipython3\n:tags: [hide]\n$$x$$\n```\n",
        "```{r, echo=FALSE}\n$$x$$\n```\n",
        "```{r, fig.cap='Uses `f()`'}\n$$x$$\n```\n",
        "```{.python .input}\n$$x$$\n```\n",
        "```{=html}\n$$x$$\n```\n",
        "```@example\n$$x$$\n```\n",
        "Words\n\n    print('$$x$$')\n\nwords\n",
        "`$$x$$`\n",
        "<!-- $$x$$ -->\n",
        "<!--\n\n$$\nx\n$$\n-->\n",
        "<script>\n\n$$x$$\n</script>\n",
        "<pre>\n$$x$$\n\n</pre>\n",
        "{% highlight python %}\n\n$$x$$\n{% endhighlight %}\n",
        "% $$x$$\n",
        "\\$\\$x\\$\\$\n",
    ],
)
def test_code_and_comments_are_no_displays(code: str) -> None:
    """They are neither read nor counted as lost."""
    article = read(f"Let $a$ be.\n\n{code}\nThe end.\n")
    assert not article.equations
    assert article.words()[-2:] == ["The", "end"]
    assert not article.problems


@pytest.mark.parametrize(
    "brackets", [r"\[1\]", r"\[5, 6\]", r"\[arXiv:1806.01261\]", r"\[...\]", r"\[sic\]"]
)
def test_escaped_brackets_are_text(brackets: str) -> None:
    """In Markdown, a backslash before a bracket escapes it."""
    article = read(f"Let $a$ be as in {brackets} here.\n")
    assert not article.equations
    assert not article.problems


def test_inline_in_kramdown() -> None:
    """There, two dollars inside a line are inline mathematics."""
    article = read(KRAMDOWN + "For $$x$$ and $$y$$:\n\n$$\nx = y\n$$\n\nBut\n$$y = z$$\nis one.\n")
    assert [equation.expanded for equation in article.equations] == ["x = y", "y = z"]
    assert "For $x$ and $y$:" in article.text
    assert article.displays_opened == 2


def test_kramdown_without_front_matter() -> None:
    """It is recognised by two dollars inside of lines, and no single ones."""
    text = "For $$x$$ and\nthe $$y$$ or\nthen $$z$$ and:\n\n$$x = y$$\n"
    assert len(read(text).equations) == 1
    assert len(read(text + "\nwith $w$.\n").equations) == 4


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("$$x = 1$$ (energy)\n\nSee {eq}`energy`.", ["energy"]),
        ("$$\nx = 1\n$$ (eq:energy)\n\nSee {eq}`the law <eq:energy>`.", ["eq:energy"]),
        ("$$\nx = 1\n$$(energy-1)\n\nSee [](#energy-1).", ["energy-1"]),
        ("$$\nx = 1\n$$ (energy)\n\nSee [the law](#energy).", ["energy"]),
        ("(energy)=\n$$x = 1$$\n\nSee [](energy).", ["energy"]),
        ("```{math}\n:label: energy\nx = 1\n```\n\nSee {eq}`energy`.", ["energy"]),
        ("```{math}\n---\nlabel: energy\n---\nx = 1\n```\n\nSee {eq}`energy`.", ["energy"]),
        ("$$x = 1$$ {#eq-energy}\n\nSee @eq-energy.", ["eq-energy"]),
        ("$$\nx = 1\n$$ {#eq-energy .big}\n\nSee [-@eq-energy; @fig-x].", ["eq-energy"]),
        ("$$x = 1$$ {#eq:energy}\n\nSee [@eq:energy].", ["eq:energy"]),
        ("$$x = 1 (\\#eq:energy)$$\n\nSee \\@ref(eq:energy).", ["eq:energy"]),
        (
            "\\begin{equation}\nx = 1\n(\\#eq:energy)\n\\end{equation}\n\nSee \\@ref(eq:energy).",
            ["eq:energy"],
        ),
        ("$$x = 1$$\n:eqlabel:`eq_energy`\n\nSee :eqref:`eq_energy`.", ["eq_energy"]),
        ("$$ \\label{eq:energy}\nx = 1\n$$\n\nSee \\eqref{eq:energy}.", ["eq:energy"]),
        ("$$x = 1 \\label{eq:energy}$$\n\nSee $\\eqref{eq:energy}$.", ["eq:energy"]),
        ("$$x = 1$$\n^energy\n\nSee [[#^energy]].", ["energy"]),
    ],
)
def test_labels_and_references(text: str, labels: list[str]) -> None:
    """Every dialect's labels are found, and the sentence that refers to them."""
    (equation,) = read(text).equations
    assert equation.expanded == "x = 1"
    assert equation.labels == labels
    (sentence,) = equation.references
    assert sentence.startswith("See")
    assert "energy" not in sentence


def test_printed_numbers() -> None:
    r"""Numbers are those that are written: `\tag`, or in parentheses."""
    article = read(
        "$$x = 1 \\tag{2.3}$$\n\n\\[ y = 1 \\tag*{(4)} \\]\n\n"
        "$$z = 1$$ (5)\n\n$$w = 1 \\quad (6)$$\n"
    )
    assert [equation.number for equation in article.equations] == ["2.3", "4", "5", "6"]
    assert [equation.expanded for equation in article.equations][2:] == ["z = 1", "w = 1"]


def test_mathematics_is_no_markup() -> None:
    """Underscores, stars, brackets, quotation marks and list marks in a formula stay."""
    latex = "a_1 * b_2 [c](d)\n> 0 `e`\n- f\n+ \\{g\\} <h> &lt; 1"
    article = read(f"An *a_1* and $x_1 * y_2$ and **$z_*$**:\n$$\n{latex}\n$$\n")
    assert article.equations[0].expanded == " ".join(latex.replace("&lt;", "<").split())
    assert article.text.startswith("An a_1 and $x_1 * y_2$ and $z_*$:")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Let $a$ be.\n\n$$\nx = 1\n\n# Next\n\n$$y$$\n", 3),
        ("Let $a$ be.\n\n\\[\nx = 1\n\n# Next\n\n$$y$$\n", 3),
        ("Let $a$ be.\n\n\\begin{align}\nx = 1\n\n```python\n\\end{align}\n```\n\n$$y$$\n", 3),
        ("$$y$$\n\nHere is a stray $$ sign amid a line.\n\nThe following words are text.\n", 3),
        ("$$\nThis is a long line of text.\n\nIt is more of it.\n\n$$y$$\n", 1),
    ],
)
def test_a_display_that_is_not_closed_is_reported(text: str, line: int) -> None:
    """It ends at the next heading, fence or text; the rest of the document is read."""
    article = read(text)
    assert [equation.expanded for equation in article.equations] == ["y"]
    (problem,) = article.problems
    assert (problem.cause, problem.file, problem.line) == (
        "lost: display not closed", "a.md", line,
    )  # fmt: skip
    assert article.displays_lost == 1


def test_empty_displays_are_counted() -> None:
    """A display without content is lost; one that defines macros is none."""
    article = read("$$ $$\n\n$$\n\\newcommand{\\R}{\\mathbb{R}}\n$$\n\n$$x \\in \\R$$\n")
    assert [equation.expanded for equation in article.equations] == [r"x \in \mathbb{R}"]
    assert (article.displays_opened, article.displays_lost) == (2, 1)
    assert [problem.cause for problem in article.problems] == ["lost: empty equation"]


@pytest.mark.parametrize(
    "definition",
    [
        "\\newcommand{\\R}{\\mathbb{R}}\n",
        "$\\newcommand{\\R}{\\mathbb{R}}$\n",
        "$\\newcommand{\\norm}[1]{|#1|} \\def\\R{\\mathbb{R}}$\n",
        "---\nmath:\n  '\\R': '\\mathbb{R}'\n---\n",
        "---\nheader-includes:\n  - \\newcommand{\\R}{\\mathbb{R}}\n---\n",
    ],
)
def test_macros(definition: str) -> None:
    """Definitions hold for the whole document, wherever they may be written."""
    (equation,) = read(f"{definition}\n$$x \\in \\R$$\n").equations
    assert equation.expanded == r"x \in \mathbb{R}"


def test_rows_are_one_equation_without_tags() -> None:
    """An align is one equation; rows with tags or labels of their own are separate ones."""
    rows = read("\\begin{align}\na &= b \\\\\nc &= d\n\\end{align}\n").equations
    assert [(row.expanded, row.environment) for row in rows] == [("a &= b \\\\ c &= d", "align")]
    tagged = read("$$\\begin{align}\na &= b \\tag{1} \\\\\nc &= d \\tag{2}\n\\end{align}$$\n")
    assert [row.number for row in tagged.equations] == ["1", "2"]
    labelled = read("\\begin{align}\na &= b \\label{x} \\\\\nc &= d \\label{y}\n\\end{align}\n")
    assert [row.labels for row in labelled.equations] == [["x"], ["y"]]


def equations(article: Article) -> list[str]:
    """The LaTeX of all equations."""
    return [equation.expanded for equation in article.equations]


def test_mathpix() -> None:
    """Titles and sections are LaTeX there (unverified: made from the documented markup)."""
    article = read(
        "\\title{\nOn energy\n}\n\\author{\nA. Nobody\n}\n\n\\begin{abstract}\nWe weigh \\(m\\).\n"
        "\\end{abstract}\n\n\\section*{1 Mass}\n\\[\nE = m c^2 \\tag{1}\n\\]\n\n"
        "\\begin{tabular}{|l|}\n\\hline\nhidden \\\\\n\n\\hline\n\\end{tabular}\n\n"
        "![](https://cdn.example.org/1.jpg?height=3)\n",
        "a.mmd",
    )
    assert (article.title, article.sections) == ("On energy", ["1 Mass"])
    assert equations(article) == [EQUATION]
    assert article.equations[0].number == "1"
    assert article.words() == ["On", "energy", "We", "weigh", "1", "Mass"]


@pytest.mark.parametrize(
    "text",
    [
        "# On energy\n\n## 1. Mass\n\nLet \\(m\\) be:\n\\[E = m c^2 \\tag{1}\\]\n",  # Nougat
        "# On energy\n\n## **1** Mass\n\nLet $m$ be:\n\n$$E = m c^2 \\tag{1}$$\n",  # Marker
        "# On energy\n\n# 1 Mass\n\nLet $m$ be:\n\n$$\nE = m c^2 \\tag{1}\n$$\n",  # MinerU
        "## On energy\n\nLet m be:\n\n$$E = m c^2 \\quad (1)$$\n\n<!-- image -->\n",  # docling
    ],
)
def test_converters_of_pdf(text: str) -> None:
    """Output of other converters (unverified: made from the documented markup)."""
    article = read(text)
    assert article.title == "On energy"
    assert equations(article) == [EQUATION]
    assert article.equations[0].number == "1"


@pytest.mark.parametrize(
    "text",
    [
        "It costs $x and\n$$ a = b $$\nend.\n",
        "It costs $x or $$ a = b $$ so.\n",
        "- See {eq}`x and\n\n  $$\n  a = b\n  $$\n\n  and `code`.\n",
        "- See ``x and\n\n  $$\n  a = b\n  $$\n\n  and ``code``.\n",
    ],
)
def test_what_is_not_closed_does_not_hide_a_display(text: str) -> None:
    """A dollar or backtick too many ends with its paragraph, or before `$$`."""
    article = read(text)
    assert [equation.expanded for equation in article.equations] == ["a = b"]
    assert not article.problems


@pytest.mark.parametrize("text", ["$a$$b$", "$a$$b$$c$", "# Title $$x$$\n\n$a$", "$a$ \\[$b$"])
def test_formulas_that_are_no_displays_are_not_counted(text: str) -> None:
    """Neither inline formulas that touch each other, nor what stands in a heading."""
    article = read(text)
    assert (article.equations, article.displays_opened, article.problems) == ([], 0, [])


def test_the_count_reports_what_the_reading_does_not_know() -> None:
    """A display that is nested in another one counts as lost."""
    article = read("\\begin{equation}\\begin{align}a\\end{align}\\end{equation}\n")
    assert [problem.cause for problem in article.problems] == ["lost: not accounted for"]
    assert (article.displays_opened, article.displays_lost, len(article.equations)) == (2, 1, 1)
