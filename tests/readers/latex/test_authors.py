"""Authors of LaTeX documents, as classes write them."""

import pytest

from eqemb.readers.latex.authors import find_authors
from timing import assert_quick

ADA, EMMY, KURT = "Ada Lovelace", "Emmy Noether", "Kurt Gödel"


@pytest.mark.parametrize(
    ("latex", "names"),
    [
        # article
        (r"\author{Ada Lovelace}", [ADA]),
        (r"\author{Ada Lovelace\thanks{Supported by {a} grant.} \and Emmy Noether}", [ADA, EMMY]),
        (r"\author{Ada Lovelace, Emmy Noether and Kurt G\"odel\\ A School}", [ADA, EMMY, KURT]),
        (r"\author{{\bf Ada~Lovelace}$^{1,2}$ \quad \textbf{Emmy Noether}$^\dagger$}", [ADA, EMMY]),
        (r"\author{Ada Lovelace$^1$,\\ Emmy Noether$^2$\\ $^1$University of London}", [ADA, EMMY]),
        (r"\author{Ada Lovelace$^1$\\ Emmy Noether$^2$\\ $^1$Imperial Centre}", [ADA, EMMY]),
        (r"\author{$^1$Ada Lovelace, and $^{2}$Emmy Noether}", [ADA, EMMY]),
        ("\\author{%\n Ada Lovelace % the first\n \\& Emmy Noether}", [ADA, EMMY]),
        (r"\author{\begin{tabular}{cc}Ada Lovelace & Emmy Noether\end{tabular}}", [ADA, EMMY]),
        (r"\author{\begin{tabular}{c@{\quad}p{3cm}}Ada Lovelace&Emmy Noether\\X&Y\end{tabular}}",
         [ADA, EMMY]),
        (r"\author{\begin{tabular*}{5cm}[t]{@{\fill}cc}Ada Lovelace & Emmy Noether\end{tabular*}}",
         [ADA, EMMY]),
        # a name and where its bearer works
        (r"\author[Lovelace]{Ada Lovelace --- University of London}", [ADA]),
        (r"\author{Ada Lovelace, University of London}", [ADA]),
        (r"\author{Ada Lovelace and Emmy Noether, A School, London}", [ADA, EMMY]),
        (r"\author{Ada Lovelace, London Lab \\ Emmy Noether, Institute of Algebra}", [ADA, EMMY]),
        (r"\author{Ada Lovelace \quad Emmy Noether}", [ADA, EMMY]),
        (r"\author{Ada Lovelace$^1$, Emmy Noether$^2$\\ Willow Garage}", [ADA, EMMY]),
        (r"\author{Ada Lovelace\\ Carnegie Mellon}", [ADA]),
        # NeurIPS and ACL
        (r"\author{Ada Lovelace \\ London \\ \texttt{a} \And Emmy Noether \\ There}", [ADA, EMMY]),
        (r"\author{Ada Lovelace \\ London \AND Kurt G\"{o}del \\ Princeton}", [ADA, KURT]),
        # elsarticle, authblk, ACM, llncs, ICML, JMLR
        (r"\author[1]{Ada Lovelace\corref{c}}\ead{a@b}\author[2]{Emmy Noether}", [ADA, EMMY]),
        (r"\author{Ada Lovelace}\affiliation{\institution{X}}\author{Emmy Noether}", [ADA, EMMY]),
        (r"\author{Ada Lovelace\inst{1}\orcidID{0} \and Emmy Noether\inst{2}}", [ADA, EMMY]),
        (r"\icmlauthor{Ada Lovelace}{x,y}\icmlauthor{Emmy Noether}{y}", [ADA, EMMY]),
        (r"\aistatsauthor{Ada Lovelace \And Emmy Noether}\aistatsaddress{X \And Y}", [ADA, EMMY]),
        (r"\author{\name Ada Lovelace \email a@b \\ \addr London \AND \name Emmy Noether \email}",
         [ADA, EMMY]),
        # IEEE
        (r"\author{\IEEEauthorblockN{Ada Lovelace, Emmy Noether}\IEEEauthorblockA{A \and B}}",
         [ADA, EMMY]),
        (r"\author{Ada Lovelace,~\IEEEmembership{Member,~IEEE,} and Emmy Noether}", [ADA, EMMY]),
        # letters with accents
        (r"\author{Primo\v{z} \v{S}kraba \and I\~{n}igo Ram\'\i rez \and {\L}ukasz K}",
         ["Primož Škraba", "Iñigo Ramírez", "Łukasz K"]),
    ],
)  # fmt: skip
def test_authors_of_a_class(latex: str, names: list[str]) -> None:
    """Names without affiliations, notes and formatting."""
    assert find_authors(latex + r"\begin{document}") == names


@pytest.mark.parametrize(
    "latex",
    [
        "",
        r"\author{}",
        r"\author{Anonymous Authors}",
        r"\author{First Author \\ Affiliation \And Second Author}",
        r"\author{Department of Mathematics \\ Ada Lovelace}",
        r"\author{Ada Lovelace, University of London, Emmy Noether}",
        r"\author{Ada Lovelace, University of London and Emmy Noether, A School}",
        r"\author{Ada Lovelace, University of London \\ Emmy Noether}",
        r"\author{Ada Lovelace --- Paris Observatory}",
        r"\author{Ada Lovelace, The Royal Group}",
        r"\author{\begin{tabular}{cc}Ada Ab & Bo Be \\ Kurt Ka & Max Mo\end{tabular}}",
        r"\author{\begin{tabular}{cc}Ada Ab & Bo Be \\ X Lab \\ Kurt Ka & Max Mo\end{tabular}}",
        r"\author{Ada Lovelace \and The Royal Group}",
        r"\author{Ada Lovelace \\ London} \And Emmy Noether}",
        r"\author{Ada Lovelace, Willow Garage}",
        r"\author{Ada Lovelace,\\ Willow Garage}",
        r"\author{Ada Lovelace\\ Emmy Noether\\ Kurt Hahn\\ University of X}",
        r"\author{Ada Lovelace\thanks{X}\\ Emmy Noether\\ University of X}",
        r"\author{Ada Lovelace",
        r"\author",
        r"\authorrunning{Ada Lovelace}",
    ],
)
def test_doubtful_authors_are_left_out(latex: str) -> None:
    """All of them: a list that lacks somebody would be wrong."""
    assert find_authors(latex) == []


@pytest.mark.parametrize(
    "latex",
    [
        rf"\author{{Ada{' ' * 39_000}x}}",
        r"\author{Ada" + r"\(" * 19_000 + "}",
        r"\author{Ada" + r"\IEEEauthorblockN{" * 2_000 + "}" * 2_001,
        rf"\author{{Ada Lovelace{' ' * 30_000}}}" * 30,
    ],
    ids=["blanks", "formulas", "blocks", "many commands"],
)
def test_long_arguments_are_read_in_linear_time(latex: str) -> None:
    """Whatever is repeated in them."""
    assert_quick(lambda: find_authors(latex), 1)
    assert find_authors(latex) == []
