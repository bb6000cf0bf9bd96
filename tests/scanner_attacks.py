"""Every scanner of the package but that of LaTeX papers, and pieces that would cost it dearly.

A scanner reads a text of any length: a reader of documents, a parser of formulas or of queries, or
one that looks for something in text or in bytes. `SCANNERS` gives each with pieces of its language:
what it opens, nests, repeats or nearly matches. `inputs` repeats them, and pieces derived from
the patterns of its modules, as `latex_attacks.py` does for LaTeX.
"""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from eqemb.article import Article
from eqemb.arxiv import ids, listing
from eqemb.arxiv.papers import any_metadata, short_licence, unarxive_metadata
from eqemb.arxiv.text import parse_xml, without_tex
from eqemb.errors import EqembError, SourceError
from eqemb.formula import running_text
from eqemb.formula.layout import layout, mathml_to_latex
from eqemb.formula.pattern import read_pattern
from eqemb.formula.typed import read_typed
from eqemb.index.encoder import formula_text
from eqemb.index.stemming import stem
from eqemb.readers import people, prose
from eqemb.readers.registry import read_source
from eqemb.search.citations import bibtex_keys
from eqemb.search.names import looks_like_name
from eqemb.search.phrases import named_by, titled
from eqemb.search.query import parse_query
from eqemb.search.results import readable
from eqemb.sources import Source
from eqemb.sources.content import check_document, identify
from eqemb.sources.names import arxiv_id, clean_name, collection_of
from eqemb.storage.marks import is_own_export
from eqemb.symbols.definitions import find_definitions
from eqemb.symbols.glossary import Glossary
from eqemb.symbols.sentence import read_sentence
from eqemb.symbols.terms import read_term, read_whole
from pattern_attacks import Hostile, collect_patterns, hostile_inputs
from timing import MAX_EXPONENT, clear_caches

#: What is repeated for every scanner, and pairs of an opening and a closing that are nested.
COMMON = (
    " ", "\n", "\\", "a", "0", "{", "[", "(", "<", "$", "&", '"', "`", "*", "_", "x ", "$x$ ",
    "A. ", "\\[", "$$", "\\begin{", "\\begin{align}", "a\n\n",
)  # fmt: skip
NESTED = (("{", "}"), ("(", ")"), ("[", "]"), ("<a>", "</a>"), ("$", " $"))


@dataclass(frozen=True)
class Scanner:
    """How to run a scanner on a text, and what to repeat in it."""

    run: Callable[[str], object]
    pieces: tuple[str, ...] = ()
    nested: tuple[tuple[str, str], ...] = ()
    starts: tuple[str, ...] = ("",)
    """What may stand before pieces."""
    modules: str = ""
    """Patterns in modules that start so are its own."""
    count: int = 1_000
    """How often a piece is repeated in the shortest text."""


def document(form: str, name: str, wrap: str = "{}") -> Callable[[str], object]:
    """Read a document of a form, in which the text stands at `{}`."""

    def read(text: str) -> object:
        data = wrap.replace("{}", text).encode("utf-8", "replace")
        try:
            return read_source(Source("paper", name, "tests", form, {name: data}, name))
        except SourceError as error:
            return error

    return read


def _notebook(text: str) -> object:
    cell = {"cell_type": "markdown", "source": text}
    return document("notebook", "a.ipynb")(json.dumps({"cells": [cell]}))


def record_of_unarxive(text: str, latex: str = "") -> object:
    """Read a record of unarXive with a text everywhere, and one formula."""
    record: dict[str, Any] = {
        "paper_id": "1501.00001",
        "metadata": {"title": text, "authors": text},
        "abstract": {"section": "Abstract", "text": text},
        "body_text": [{"section": text[:100], "sec_number": "1", "text": text}],
        "ref_entries": {"f": {"type": "formula", "latex": latex or text}},
    }
    return document("unarxive", "a.jsonl")(json.dumps(record))


def file_of(suffix: str, read: Callable[[Path], object]) -> Callable[[str], object]:
    """Read a file that holds the text."""

    def run(text: str) -> object:
        with TemporaryDirectory() as folder:
            path = Path(folder) / f"file{suffix}"
            path.write_text(text, encoding="utf-8")
            try:
                return read(path)
            except EqembError as error:
                return error

    return run


def refused(read: Callable[[str], object]) -> Callable[[str], object]:
    """Read a text that may be refused with one sentence."""

    def run(text: str) -> object:
        try:
            return read(text)
        except (EqembError, ValueError) as error:
            return error

    return run


def _definitions(text: str) -> object:
    article = document("markdown", "a.md")(f"$$x$$\n\n{text}")
    return find_definitions(article) if isinstance(article, Article) else article


def _meanings(text: str) -> object:
    """What the symbols of all equations mean."""
    article = document("markdown", "a.md")(text)
    if not isinstance(article, Article):
        return article
    glossary = Glossary(article)
    return [glossary.meanings(equation.ordinal) for equation in article.equations]


def _answers(latex: str) -> object:
    """Everything that is made of a formula for an answer."""
    made = layout(latex)
    return made.to_text(), made.to_mathml(), made.units(), made.latex


_MATHML = (
    "<mrow>", "<mi>", "<mi>x</mi>", "<mo>(</mo>", "<msup><mi>x</mi>", "<mfrac>",
    "<mtable><mtr><mtd>", "<mtext>a $", "&alpha;", "&#", "<!--", "<![CDATA[", "<mi", "<mi a='",
    "<mspace width='1", "<mfenced>", "<math>", "</math>", "<mn>1</mn>", "<mo>&#x2211;</mo>",
    "<m:mi>", " a:b = ",
)  # fmt: skip
_HTML = (
    *_MATHML, "<p>", "<div class='a'>", "<!--", "<script>", "<script type='math/tex'>", "<span",
    "<a href='", "<a href='#x'>", "<table><tr><td>", "<li>", "<h1>", "<h2>a</h2>", "\\(", "\\(x",
    "\\[x\\]", "<p a", "</p>", "&amp;", "&lt", "<img alt='$x$'>",
    '<dd><span class="mwe-math-element', "<style>", "<pre>", "<title>",
    "<span class='katex-display'>", "<mjx-container display='true'>", "macros: {", '<p a="', "<?",
    "<!", "<math><semantics>", "<annotation encoding='application/x-tex'>", "<cite>",
    "<p id='a'>x</p>", "$x$, ",
)  # fmt: skip
_MARKDOWN = (
    "# a\n", "> ", "- ", "1. ", "```\n", "~~~", "```{math}\n", ":::", "::: a\n", "|a|", "|-|\n",
    "| a ", "[a](", "[a](b", "![", "[^a]", "[^a]: b\n", "<!--", "<div>", "<script>", "<math>",
    "$`", "`a", "``", "**a", "*a ", "_a ", "{{", "{% math %}", "{%", "{math}`", "{eq}`", "@eq:",
    "[@a", "(a)=\n", "(\\#eq:", "\\label{a}", "\\eqref{a}", "\\tag{1}", "$$x$$ {#eq:a}\n",
    "$$x$$\n", "$$\nx\n", "\\\\[", "\\\\(", "<p", "<a href=", "&alpha;", "=\n", "a\n=\n", "---\n",
    "    a\n", "\t", "!!! note\n", "a | b\n--|--\n", "+-", "\\newcommand{\\a}{", "\\def\\a{b}\n",
    "$x", "$x\n", "\\begin{a}", "\\end{align}", "[a]: b\n", ":a: ", "#| a: b\n", "http://a", "a@b",
    "- - ", "> > ", "-\n", "*", "<a", "<span>", "](", "[x]{", "{", "%", "%%\n", "$\n",
)  # fmt: skip
_RST = (
    ".. math::\n\n   x\n\n", ".. math::", ".. _a:\n", ".. |a| replace:: b\n", "|a| ", ":math:`x` ",
    ":math:`", ":ref:`a <", "`a <b", "``", "*a ", "**a ", "+-+\n", "+-", "| a |\n", "===  ===\n",
    "=\n", "a\n=\n", "- ", "#. ", "   ", ":a: b\n", "::\n", "[1]_ ", ".. [1] a\n",
    ".. include:: a\n", "\\ ", "a_ ", "  a\n", ".. a::\n   :label: b\n", "..\n", "   :label: a\n",
)  # fmt: skip
_DOCONCE = (
    "!bt\n", "!et\n", "!bt\n\\[x\\]\n!et\n", "!bc\n", "!ec\n", "===== ", "= a =\n", "# #if a\n",
    '# #include "', "% if a:\n", "FIGURE: [", "label{a}", "ref{", "idx{", "cite[", "cite{",
    '"a": "', '"', "__a", "  * a\n", "|-|\n", "| a |\n", "!bnotes\n", "TITLE: a\n",
    "AUTHOR: a\n", "mako ${", "# a\n",
)  # fmt: skip
_JATS = (
    *_MATHML, "<sec>", "<sec><title>a</title>", "<p>", "<disp-formula>",
    "<disp-formula id='a'><mml:math>", "<xref rid='a'>",
    "<xref ref-type='disp-formula' rid='a'>1</xref>", "<tex-math>", "<tex-math>\\begin{document}$",
    "<list><list-item>", "<!--", "<fn>", "<article>", "<sub-article>", "<label>(1)</label>",
    "<inline-formula>", "<contrib>", "<name>", "<title>", "&a;",
)  # fmt: skip
_FORMULA = (
    "\\frac", "\\frac{", "x^", "x_", "x^{", "^_", "\\left(", "\\right)", "\\sqrt[", "\\sqrt{",
    "\\text{", "\\text{$", "\\mathrm{", "\\\\[", "\\\\ ", "\\[", "\\label{", "\\label {",
    "\\begin{matrix}", "\\begin{array}{", "\\begin {", "\\end{matrix}", "\\over ", "\\color{",
    "\\textcolor[", "\\hspace ", "\\'", "\\'{", "&", "~", "'", "%", "%\n", "\\%", "\\tag{",
    "\\overset{a}", "\\underbrace{", "\\operatorname{", "\\operatorname*", "\\not", "\\big",
    "\\middle|", "|", "\\|", "||x", "M!", "\\mathbb ", "\\hat ", "\\prime", "\\substack{",
    "\\sum_", "\\sum\\limits_", "1.", "1,", "Σ_", "Σ", "√", "√(", "√{", "∫", "x²", "x₁", "²₁", "∂",
    "x\u0302", "é", "½", "⟨", "‖", "/", "a/", "x/y", "(x)/", "<=", "->", "^(", "_(", "sum_",
    "sqrt(", "alpha", "exp(", "Var(", "?x", "\\?", "\\alph", "\\fraq", "\\unknown", "$", "$$",
    "\\(", "!", "::=", "...", "\x00", "\U0001d434", "M", "\\dfrac12", "\\binom",
    "\\DeclareMathOperator{", "\\multicolumn{", "\\cline{", "\\hline", "\\newline ", "\\atop ",
    "\\mbox{\\(",
)  # fmt: skip
_QUERY = (
    *_FORMULA, '"', '"a', '-"', "-a ", "a-", "-", "'a", "a'", "```", "```a\n", "``", "`a", "**a",
    "*a", "__a", "> ", "# ", "1. ", "<b>", "<sub>", "<sub>a", "<math>", "<math><mi>", "<", "&lt;",
    "&#", "&a", "a+b ", "a=b ", "a = ", "(a) ", "f(x", "f(", "p(x|", "x_i ", "a_", "a.b", "a,b ",
    "O(n", "=", "= ", "\u00a0", "\u2013", "\u200b", "\u201c", "L2 ", "c++ ", "1/", "a/b ", "is ",
    "[equation] ", "[", "α", "αβ ", "a b ", "eq (", "arXiv:", "#", "a#1", "\u2061",
)  # fmt: skip
_WORDS = (
    "$x$ is ", "where $x$ is the a of ", "let $x$, ", "and ", "or ", "a, b, and ", "the ", "a of ",
    "the a of the ", "Eq. ", "e.g. ", "i.e. ", "A. B. ", ". ", "? ", "...", "a.", "A.", "(", "(a ",
    "(a) ", "[", "[,", "( ,", " ,", "\u2019", "'s ", "a-", "a-b-", "-", "a' ", "a/b ",
    "$x$ and $y$ ", "$x$, $y$, ", "$x$ denotes ", "by $x$ ", "respectively ", "$x=y$ ", "$x_i$ ",
    "the $i$-th ", "i", "a\u0301", "\u0301", "a;", "a: ", "[equation] ", "\ue000", "\U00100000",
    "\U000f0000", "\U0010fffd ", "number of ", "with ", "for all ", "(ABC) ", "Abc Def ",
    "called ", "known as ", "is called the ", "of ", "in ", "notation: ",
)  # fmt: skip
_NAMES = (
    "A. ", "A B, ", "A and B ", "and ", ", ", "; ", "van ", "de ", "-", "'", "(a) ", "(", "1",
    "a1", "*", "\u2020", "---", " -- ", "\u2014", "University of ", "a@b", "et al ", "others ",
    "\u738b", "\u738b ", "Ab Cd ", "Ab Cd, Ef; ", "$^1$", "e ", "y ", "Dr. ", "\n", "&", "\u0301",
    "A\u0301", ".",
)  # fmt: skip
_JSON = (
    "[",
    '{"a":',
    '"',
    '{"',
    "\\u",
    '["',
    "1",
    "-",
    "[1,",
    "null,",
    '{"cells": [',
    '{"id": "',
    '{"paper_id": "',
)
_NOTATION = (
    ("\\frac{", "}"), ("x^{", "}"), ("\\left(", "\\right)"), ("\\sqrt{", "}"), ("\\text{$", "$}"),
    ("((", "))"), ("|", "|"), ("√(", ")"), ("\\begin{matrix}", "\\end{matrix}"),
    ("\\begin{array}{c}", "\\end{array}"), ("x_{a^{", "}}"), ("\\hat{", "}"), ("f(", ")"),
    ("$\\text{", "}$"),
)  # fmt: skip
_TAGS = (
    ("<mrow>", "</mrow>"), ("<msup><mi>x</mi>", "</msup>"), ("<mfrac><mi>x</mi>", "</mfrac>"),
    ("<mtable><mtr><mtd>", "</mtd></mtr></mtable>"), ("<msqrt>", "</msqrt>"),
    ("<semantics>", "</semantics>"), ("<mfenced>", "</mfenced>"),
    ("<mover>", "<mo>^</mo></mover>"),
)  # fmt: skip
_BLOCKS = (
    ("<div>", "</div>"), ("<span>", "</span>"), ("<ul><li>", "</li></ul>"),
    ("<table><tr><td>", "</td></tr></table>"), ("<p>", "</p>"), ("<math>", "</math>"),
    ("<a href='#x'>", "</a>"), ("<pre>", "</pre>"), ("<svg>", "</svg>"),
)  # fmt: skip
_MARKUP = (
    ("> ", ""), ("- ", ""), ("*a ", "*"), ("[", "](b)"), ("![", "](b)"), ("[", "]"), ("**", "**"),
    ("{{", "}}"), ("`", "`"), ("(", ")"), (":::{a}\n", ":::\n"), ("<div>\n", "</div>\n"),
    ("$\\text{", "}$"), ("<details>\n\n", "\n</details>\n"),
)  # fmt: skip

_IN_MATH = "<p>x</p><math display='block'>{}</math>"
_IN_ARTICLE = (
    "<?xml version='1.0'?><article xmlns:mml='http://www.w3.org/1998/Math/MathML'><body>"
    "<sec><title>a</title><p>{}</p></sec></body></article>"
)

#: Name -> scanner.
SCANNERS: dict[str, Scanner] = {
    "Markdown": Scanner(
        document("markdown", "a.md"),
        _MARKDOWN,
        _MARKUP,
        ("", "- ", "> ", "$$\n", "a ", "---\n", "```{math}\n"),
        "eqemb.readers.markdown",
    ),
    "notebook": Scanner(_notebook, _MARKDOWN[::4], _MARKUP[::2], ("",), "eqemb.readers.tex_math"),
    "HTML": Scanner(
        document("html", "a.html", "<html><body>{}</body></html>"),
        _HTML,
        (*_BLOCKS, *_TAGS),
        ("", "<p>", "<p>\\(", "<script>", "<table>"),
        "eqemb.readers.html",
    ),
    "head of HTML": Scanner(
        document("html", "a.html", "<html><head>{}</head><body><p>$x$</p></body></html>"),
        _HTML[::2],
        _BLOCKS,
        ("", "<script>MathJax = {tex: {macros: {"),
    ),
    "MathML in HTML": Scanner(document("html", "a.html", _IN_MATH), _MATHML, _TAGS),
    "JATS": Scanner(
        document("jats", "a.xml", _IN_ARTICLE),
        _JATS,
        (
            ("<sec>", "</sec>"),
            ("<p>", "</p>"),
            ("<italic>", "</italic>"),
            ("<disp-formula>", "</disp-formula>"),
            *(("<mml:math>" + a, b + "</mml:math>") for a, b in _TAGS),
        ),
        ("",),
        "eqemb.readers.jats",
    ),
    "reStructuredText": Scanner(
        document("rst", "a.rst"),
        _RST,
        (("*", "*"), ("`", "`"), ("- ", "")),
        ("", ".. math::\n\n", "   ", ".. math::\n   :label: "),
        "eqemb.readers.rst",
    ),
    "DocOnce": Scanner(
        document("doconce", "a.do.txt"),
        _DOCONCE,
        (("# #if\n", "# #endif\n"), ("!bc\n", "!ec\n")),
        ("", "!bt\n"),
        "eqemb.readers.doconce",
    ),
    "unarXive": Scanner(
        record_of_unarxive,
        (
            "{{formula:a}}",
            "{{formula:f}}",
            "{{ref:",
            "{{",
            "REF ",
            "(REF) ",
            "$x$ ",
            "A. ",
            ". \n",
            "{{formula:f}} .\n",
            "(",
            "( ",
            ". ,",
        ),
        (),
        ("",),
        "eqemb.readers.unarxive",
    ),
    "JSON of notebooks": Scanner(
        document("notebook", "a.ipynb"), _JSON, (("[", "]"), ('{"cells":', "}"))
    ),
    "JSON of unarXive": Scanner(
        document("unarxive", "a.jsonl"), _JSON, (("[", "]"), ('{"a":', "}"))
    ),
    "LaTeX formula": Scanner(
        _answers,
        _FORMULA,
        _NOTATION,
        ("", "x^", "\\frac{a}", "\\text{", "\\begin{array}{"),
        "eqemb.formula",
        250,
    ),
    "typed formula": Scanner(
        read_typed, _FORMULA, _NOTATION, ("", "\\alpha ", "√"), "eqemb.formula"
    ),
    "layout of a typed formula": Scanner(
        lambda text: _answers(read_typed(text).latex),
        _FORMULA,
        _NOTATION,
        ("", "\\alpha "),
        "",
        250,
    ),
    "pattern": Scanner(refused(read_pattern), ("?x", "?x_", "\\?", "?"), (("?x{", "}"),)),
    "MathML": Scanner(
        refused(lambda text: mathml_to_latex(f"<math>{text}</math>")),
        _MATHML,
        _TAGS,
        ("", "<mi>", "<!DOCTYPE math>"),
        "eqemb.formula.read_mathml",
        250,
    ),
    "page of MathML": Scanner(
        refused(mathml_to_latex), _MATHML, (("<math>", "</math>"), *_TAGS), ("", "<math>")
    ),
    "query": Scanner(
        parse_query,
        _QUERY,
        (*_NOTATION, ('"', '"'), ("<sub>", "</sub>"), ("`", "`"), ("**", "**"), ("-(", ")")),
        ("", "\\[", "$", "a ", "x=", '"'),
        "eqemb.search.query",
    ),
    "name of an equation": Scanner(
        looks_like_name,
        ("a#", "#", "eq ", "(", "a(1", "1.", "arXiv:"),
        (),
        ("", "equation", "a#", "a:", "("),
        "eqemb.search.names",
        4_000,
    ),
    "sentences": Scanner(prose.sentences, _WORDS, (), ("",), "eqemb.readers.prose"),
    "tidy text": Scanner(
        lambda text: prose.tidy(prose.close_holes(prose.clean([text]))),
        _WORDS,
        (("(", ")"), ("( ", " )")),
        ("",),
        "eqemb.readers.prose",
    ),
    "symbols of a sentence": Scanner(
        read_sentence, _WORDS, (), ("", "where ", "Let $x$ be "), "eqemb.symbols.sentence"
    ),
    "definitions": Scanner(
        _definitions,
        _WORDS,
        (("($", "$)"), ("$x$ (", ")")),
        ("", "where $x$ is ", "Let ", "$$x$$ where "),
        "eqemb.symbols",
        250,
    ),
    "meanings": Scanner(
        _meanings,
        (
            "# A\n\nthe loss of $x$\n\n$$x$$\n\n",
            "- the mean $x$ of loss:\n\n$$x$$\n\n",
            "where $x$ is the a.\n\n$$x+1$$\n\n",
            "Let $x_i$ be the a of b. $$x_j$$ ",
        ),
        (),
        ("", "| $x$ | the loss |\n|---|---|\n"),
        "",
        100,
    ),
    "term": Scanner(
        lambda latex: (read_term(latex), read_whole(latex)),
        _FORMULA,
        _NOTATION,
        ("", "x", "f("),
        "eqemb.symbols.terms",
    ),
    "names of authors": Scanner(
        lambda line: (
            people.names_in(line),
            people.names_before_workplace(line),
            people.names_in(line, only_people=True),
        ),
        _NAMES,
        (("(", ")"),),
        ("", "A B, "),
        "eqemb.readers.people",
    ),
    "name of one author": Scanner(people.is_name, _NAMES, (), ("", "Ab "), "eqemb.readers.people"),
    "stemming": Scanner(
        lambda text: [stem(word) for word in text.split(" ")],
        ("ing", "ss", "ies ", "'s ", "isation", "y", "aeiou", "ational "),
        (),
        ("", "un"),
    ),
    "titles": Scanner(
        lambda text: list(titled(text, 1.0)), _WORDS, (), ("", "On the "), "eqemb.search.phrases"
    ),
    "names in a sentence": Scanner(
        lambda text: list(named_by(text)),
        _WORDS,
        (),
        ("", "is called the ", "the [equation] "),
        "eqemb.search.phrases",
    ),
    "sentence of an answer": Scanner(
        lambda text: (
            readable(text),
            running_text.plain_text(text),
            running_text.printed_text(text),
        ),
        (*_WORDS, "[…] ", "[…]", "($1$) ", "$1.1$ ", "Eq. $1$ "),
        (),
        ("",),
        "eqemb.formula.running_text",
    ),
    "text for an encoder": Scanner(
        formula_text,
        ("\\label{", "\\label {", "\\left", "\\left .", "\\color{a}", "\\ ", "{", "\\tag*"),
        (),
        ("",),
        "eqemb.index.encoder",
    ),
    "keys of BibTeX": Scanner(
        lambda text: bibtex_keys(text.split("\n")), ("a\n", "\u00e9\n", "a b\n", "a", "-", "\n")
    ),
    "BibTeX": Scanner(
        file_of(".bib", ids.in_bibliography),
        (
            "@",
            "@a",
            "@a{",
            "@a{b,",
            "@a{b,c={",
            "@a{b, c = {d}, ",
            'c="',
            "title={a}, ",
            "@ a {",
            "}",
            "}@a{b,",
            "title=",
            "a-",
            "eprint = {1501.00001}, ",
        ),
        (("@a{b,c={", "}}"), ("@a{b,c={{{", "}}}")),
        ("", "@a{b,", "@a{b, title = {"),
        "eqemb.arxiv.ids",
    ),
    "list of identifiers": Scanner(
        file_of(".txt", ids.in_list),
        (
            "arxiv",
            "arXiv:",
            "arXiv: ",
            "abs/",
            "1501.0000",
            "1501.00001\n",
            "math/",
            "a-",
            "a.",
            "#",
            "v1",
            "arxiv preprint ",
        ),
        (),
        ("", "arXiv"),
        "eqemb.arxiv.ids",
    ),
    "table of references": Scanner(
        file_of(".csv", ids.in_bibliography),
        ("a,", '"', '"a\n', ",\n", "title,"),
        (),
        ("", "title,url\n"),
    ),
    "JSON of references": Scanner(
        file_of(".json", ids.in_bibliography), _JSON, (("[", "]"), ('{"a":', "}")), ("", "[")
    ),
    "days and categories": Scanner(
        refused(lambda text: (listing.first_day(text), listing.category_names([text]))),
        ("2", "20-", "cs.", "a-"),
        (),
        ("", "2015-", "cs"),
        "eqemb.arxiv.listing",
    ),
    "metadata": Scanner(
        lambda text: (any_metadata(text.encode()), unarxive_metadata(text.encode())),
        _JSON,
        (("[", "]"), ('{"a":', "}")),
    ),
    "licences": Scanner(
        short_licence,
        ("creativecommons.org/licenses/", "a-", "-", "/"),
        (),
        ("", "creativecommons.org/licenses/"),
        "eqemb.arxiv.papers",
        4_000,
    ),
    "names with accents": Scanner(
        without_tex,
        ("\\'", "\\'{", "{\\", "{ ", "{\\a ", "\\v ", "\\o ", "{", "\\c{"),
        (("{", "}"), ("{\\'", "}")),
        ("", "\\'", "{\\a", "\\'{"),
        "eqemb.arxiv.text",
    ),
    "OAI-PMH": Scanner(
        lambda text: parse_xml(f"<OAI-PMH><ListRecords>{text}</ListRecords></OAI-PMH>".encode()),
        ("<record>", "<a/>", "&amp;", "<!--", "<a b='", "<![CDATA["),
        (("<record>", "</record>"),),
    ),
    "first bytes": Scanner(
        lambda text: (
            identify(text.encode()),
            [
                check_document(f"a{end}", text.encode())
                for end in (".md", ".html", ".xml", ".rst", ".ipynb", ".do.txt")
            ],
            is_own_export(text.encode()),
        ),
        (
            "\\documentclass",
            "\\documentstyle[",
            "%",
            "\\%",
            "\\begin",
            "<!--",
            "<!-- -->",
            "<a:",
            "`a`",
            "$",
            "{ ",
            '{"paper_id": ',
            "\\newcommand ",
            "1 1\n",
        ),
        (),
        ("", "\\documentclass", "{", '{"paper_id"', "%"),
        "eqemb.sources.content",
    ),
    "paths": Scanner(
        lambda text: (arxiv_id(text), clean_name(text), collection_of(text)),
        (
            "1501.",
            "1501.00001",
            "math",
            "math-",
            "a/",
            "../",
            ".tar",
            ".gz",
            "-",
            "v1",
            "#",
            "math/0",
        ),
        (),
        ("", "a/", "arXiv-"),
        "eqemb.sources.names",
        500,
    ),
}

#: Inputs from patterns for a scanner: a part of them, since many look alike.
_FROM_PATTERNS = 400


def inputs(name: str, *, derived: bool = True) -> list[Hostile]:
    """What to run a scanner on; `derived` also from the patterns of its modules."""
    scanner = SCANNERS[name]
    pieces = dict.fromkeys((*scanner.pieces, *COMMON))
    found = [Hostile(start, piece, "") for start, piece in product(scanner.starts, pieces)]
    found += [Hostile("", a, "", b) for a, b in dict.fromkeys((*scanner.nested, *NESTED))]
    found += [Hostile("", a + b, "") for a, b in pairwise(scanner.pieces)]
    if derived:
        found += _from_patterns(scanner.modules)
    return list(dict.fromkeys(found))


def _from_patterns(modules: str) -> Iterator[Hostile]:
    """A part of the inputs of each pattern of some modules."""
    own = [one for one in collect_patterns() if modules and one.place.startswith(modules)]
    for one in own:
        found = [each for each in hostile_inputs(one.pattern) if len(each.piece) > 1 or each.start]
        yield from found[:: max(1, len(found) * len(own) // _FROM_PATTERNS)]


#: CPU seconds below which times are not compared.
_SHORT = 0.025


def looks_slow(scanner: Scanner, hostile: Hostile) -> bool:
    """Whether one measurement suggests that the time grows faster than the input."""
    small, large = (
        seconds(scanner, hostile, count) for count in (scanner.count // 4, scanner.count)
    )
    return large > 4**MAX_EXPONENT * small + _SHORT


def seconds(scanner: Scanner, hostile: Hostile, count: int) -> float:
    """CPU seconds of one run."""
    text = hostile.times(count)
    clear_caches()
    start = time.process_time()
    scanner.run(text)
    return time.process_time() - start
