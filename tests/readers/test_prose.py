"""Running text: sentences, characters, notes, and what is not text."""

import pytest

from eqemb.article import EQUATION_MARK
from eqemb.readers.prose import HOLE, close_holes, sentences
from latex_paper import read, text
from timing import assert_linear


@pytest.mark.parametrize(
    ("paragraph", "cut"),
    [
        ("One. Two. Three.", ["One.", "Two.", "Three."]),
        ("One! Two? Three", ["One!", "Two?", "Three"]),
        ("See Fig. 3 and Eq. (2). Then go.", ["See Fig. 3 and Eq. (2).", "Then go."]),
        ("By e.g. Bayes, i.e. him. Next.", ["By e.g. Bayes, i.e. him.", "Next."]),
        ("Smith et al. Show it.", ["Smith et al. Show it."]),
        ("J. Smith and D. E. Knuth agree.", ["J. Smith and D. E. Knuth agree."]),
        ("It ends (here.) Next.", ["It ends (here.)", "Next."]),
        ("It says “so.” Next.", ["It says “so.”", "Next."]),
        ("Version 2.0 is out. Next.", ["Version 2.0 is out.", "Next."]),
        ("We use approx. three. then more.", ["We use approx. three. then more."]),
        ("Is it $x$. We say.", ["Is it $x$.", "We say."]),
        ("", []),
    ],
)
def test_sentences(paragraph: str, cut: list[str]) -> None:
    """A full stop before a capital ends a sentence; abbreviations and initials do not."""
    assert sentences(paragraph) == cut


@pytest.mark.parametrize(
    ("latex", "said"),
    [
        (r"na\"ive caf\'e", "naïve café"),
        (r"na\"{\i}ve \'{e}", "naïve é"),
        (r"\v{C}ech, Erd\H{o}s, \c{c}a", "Čech, Erdős, ça"),
        (r"Stra\ss e, \O{}re, \L{}\'od\'z", "Straße, Øre, Łódź"),
        (r"G\"odel~and \AA ngstr\"om", "Gödel and Ångström"),
        (r"a--b---c", "a–b—c"),
        (r"``quoted'' and `so'", "“quoted” and `so'"),
        (r"50\% of A\&B, \#1, x\_y", "50% of A&B, #1, x_y"),
        (r"\textbf{bold} {\it it} \emph{em}", "bold it em"),
        (r"\textcolor{red}{red} \color{blue} blue", "red blue"),
        (r"\LaTeX{} and \TeX", "LaTeX and TeX"),
        (r"one\\two\\[2pt]three", "one two three"),
        (r"one\\ [-8pt] two\\* [2 \baselineskip]three", "one two three"),
        (r"one\\ [two] three\\[2pt][four]", "one [two] three [four]"),
        (r"one\,two\ three", "one two three"),
        (r"\vspace{1em}one\hspace*{2pt}two\vskip 3pt plus 1fil three", "onetwo three"),
        (r"\resizebox{2cm}{!}{one} \makebox[2cm][l]{two}", "one two"),
        (r"\unknowncommand{one} two", "one two"),
        (r"A so-called f-measure", "A so-called f-measure"),
        ("one\n\n\n\ntwo", "one\n\ntwo"),
        (r"one\par two", "one\n\ntwo"),
    ],
)
def test_characters_and_formatting(latex: str, said: str) -> None:
    """Accents and special characters become characters; formatting keeps its text."""
    assert text(latex) == said


@pytest.mark.parametrize(
    ("latex", "said"),
    [
        (r"If $x_{1}$ is", r"If $x_{1}$ is"),
        (r"If \(x\) is", "If $x$ is"),
        (r"If \begin{math}x\end{math} is", "If $x$ is"),
        (r"If \ensuremath{x} is", "If $x$ is"),
        (r"$\text{if $x$ is}$ so", r"$\text{if x is}$ so"),
        (r"costs 5\$ and 6\$ each", "costs 5＄ and 6＄ each"),
        (r"$\mathcal{X}~y$", r"$\mathcal{X} y$"),
    ],
)
def test_inline_mathematics_is_kept(latex: str, said: str) -> None:
    """Inline formulas are kept as $...$ with their braces, and are not words."""
    assert text(latex) == said


def test_references_in_an_open_bracket_cost_linear_time() -> None:
    """A bracket that is never closed is looked through once, not once for each reference."""
    assert_linear(lambda size: "(" + f"a {HOLE} " * size, close_holes, (5_000, 20_000))


def test_inline_mathematics_gives_no_words() -> None:
    """The stream skips it."""
    assert read(r"If $xyz$ is $\text{never}$ so").words() == ["If", "is", "so"]


@pytest.mark.parametrize(
    ("latex", "said"),
    [
        (r"as shown~\cite{a,b}.", "as shown."),
        (r"as \citep[see][p.~3]{a} shows", "as … shows"),
        (r"as \citet*{a} shows (\citealp{b})", "as … shows"),
        (r"in [\cite{a}, \cite{b}].", "in."),
        (r"in Section~\ref{sec:a}.", "in Section …."),
        (r"so (see Sections~\ref{a} and~\cref{b}) it", "so it"),
        (r"in Figure~\ref{a}, \ref{b} and~\ref{c} (see the proof of~\ref{d})",
         "in Figure … (see the proof of …)"),
        (r"by \hyperref[a]{Lemma A} it", "by Lemma A it"),
        (r"Adam \cite{a} is. \citet{b} show it. \cite{c} Doe et al. \cite{d} say so.",
         "Adam is.\n… show it.\nDoe et al. say so."),
        (r"by \citeApp{a}, \cite{b} and \cite{c}.", "by …."),
        (r"\begin{itemize}\item \citet{a} says so. \item No. \end{itemize}",
         "… says so.\nNo."),
        (r"One\begin{itemize}\item Two \cite{a} \item \citet{b} show it.\end{itemize}",
         "One\nTwo\n… show it."),
        (r"by (\ref{a}) and \eqref{b} it holds (\ref{c})", "by (…) and (…) it holds"),
        (r"Let $a. b$ be.", "Let $a. b$ be."),
        (r"at \url{http://a.b} it", "at it"),
        (r"one\label{a} two\index{two}", "one two"),
        (r"\nocite{*}\bibliographystyle{plain}one\bibliography{refs}", "one"),
        (r"one \includegraphics[width=2cm]{a} two", "one two"),
        (r"one \todo{fix} \todo[inline]{this} two", "one two"),
        (r"\captionsetup{font=small}one", "one"),
        (r"\setlength{\parindent}{0pt}one", "one"),
    ],
)  # fmt: skip
def test_what_is_not_text(latex: str, said: str) -> None:
    """Nothing stays of it, and no empty brackets; an ellipsis where a sentence needs it."""
    assert text(latex) == said


def test_footnotes_and_captions_follow_their_paragraph() -> None:
    """They are separate paragraphs."""
    figure = r"\begin{figure}\caption[Short]{Cap.}\end{figure}"
    body = f"One\\footnote{{Note $x$.}} two.\n{figure}\n\nThree."
    assert text(body) == "One two.\n\nNote $x$.\n\nCap.\n\nThree."


def test_headings_are_paragraphs() -> None:
    r"""Section titles are text; \paragraph is a sentence before its text."""
    body = r"\section{One Two}three \subsection[short]{Four}five \paragraph{Six.} seven"
    article = read(body)
    assert article.text.strip() == "One Two\n\nthree\n\nFour\n\nfive\n\nSix.\nseven"
    assert article.sections == ["One Two", "Four"]


def test_a_title_is_plain_text() -> None:
    """Its formulas are Unicode, and a dollar sign is one; in the text, `$` keeps its meaning."""
    article = read(r"\maketitle Words.", r"\title{From \$5 to \textdollar 6: $k_1$-modes, $1$-bit}")
    assert article.title == "From $5 to $6: k₁-modes, 1-bit"
    assert article.text.startswith("From ＄5 to ＄6: $k_1$-modes, $1$-bit\n")


def test_the_title_is_text() -> None:
    """It comes first, wherever it is defined; authors and dates are dropped."""
    article = read(r"\maketitle Words.", r"\title{On $x$\thanks{no}}\author{No One}\date{today}")
    assert article.title == "On x"
    assert article.words() == ["On", "Words"]


def test_the_abstract_and_theorems_are_text() -> None:
    """So is everything in environments that are not muted."""
    body = r"\begin{abstract}One.\end{abstract}\begin{theorem}[Bayes]Two.\end{theorem}"
    assert text(body, r"\newtheorem{theorem}{Theorem}") == "One.\n[Bayes]Two."


@pytest.mark.parametrize(
    "inside",
    [
        r"\begin{table}\begin{tabular}{ll}no & no\end{tabular}\end{table}",
        r"\begin{tabular*}{2cm}{l}no\end{tabular*}",
        r"\begin{algorithm}\begin{algorithmic}\State no\end{algorithmic}\end{algorithm}",
        r"\begin{figure}[t]no\end{figure}",
        r"\begin{wrapfigure}{r}{2cm}no\end{wrapfigure}",
        r"\begin{tikzpicture}\node{no};\end{tikzpicture}",
        r"\begin{thebibliography}{9}\bibitem{a} No One. No title.\end{thebibliography}",
        "\\iffalse no\\fi",
    ],
)
def test_muted_environments_give_no_words(inside: str) -> None:
    """Tables, algorithms, figures, drawings and the bibliography are not running text."""
    assert read(f"before {inside} after").words() == ["before", "after"]


def test_a_float_that_is_never_closed_ends_at_the_next_heading() -> None:
    r"""A missing \end{figure} does not mute the rest of the paper."""
    article = read("one \\begin{figure} no \n\n\\section{Two} three")
    assert article.words() == ["one", "Two", "three"]


def test_items_are_sentences() -> None:
    """Each item of a list starts a new sentence, whatever its case."""
    body = r"We have \begin{itemize}\item one thing, \item another.\end{itemize}"
    assert text(body) == "We have\none thing,\nanother."


def test_a_sentence_goes_on_through_a_display() -> None:
    """It ends with the display if that ends in a full stop."""
    body = r"Then \[a=b,\] where so. Or \[c=d.\] Next."
    said = [f"Then {EQUATION_MARK} where so.", f"Or {EQUATION_MARK}.", "Next."]
    assert text(body).split("\n") == said


def test_options_of_unknown_commands_are_no_words() -> None:
    """Brackets after an unknown command are its options."""
    assert read(r"An \fancy[style=big]{old} word.").words() == ["An", "old", "word"]


def test_authors_references_are_no_words() -> None:
    """An unknown command that ends in "ref" is a reference."""
    assert read(r"See \figref{fig:one} there.").words() == ["See", "there"]
