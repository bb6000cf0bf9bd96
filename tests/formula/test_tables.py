"""Tables, rows and diagrams."""

import pytest

from eqemb.formula import layout


@pytest.mark.parametrize(
    ("latex", "tree"),
    [
        (r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}", "[M!()2x2,w[V!a,e[V!b,e[V!c,e[V!d]]]]]"),
        (r"\begin{matrix} a & \\ & d \end{matrix}", "[M!2x2,w[V!a,e[W!,e[W!,e[V!d]]]]]"),
        (r"\begin{matrix} a \\ b \\ \end{matrix}", "[M!2x1,w[V!a,e[V!b]]]"),
        (r"\left[\begin{array}{cc} a & b\end{array}\right]", "[M!&lsqb;&rsqb;1x2,w[V!a,e[V!b]]]"),
        (r"\begin{array}[t]{l} [a] \end{array}", "[M!1x1,w[M!&lsqb;&rsqb;1x1,w[V!a]]]"),
        (
            r"\begin{cases} 0 & x<0 \\[2pt] 1 & \text{else} \end{cases}",
            "[{[M!2x2,w[N!0,e[V!x[<[N!0]],e[N!1,e[T!else]]]]]]",
        ),
        (r"\begin {matrix} a \end {matrix} b", "[M!1x1[V!b],w[V!a]]"),
        (r"\matrix{a & b \cr c & d \cr}", "[M!2x2,w[V!a,e[V!b,e[V!c,e[V!d]]]]]"),
        (r"\pmatrix{a \cr b}", "[M!()2x1,w[V!a,e[V!b]]]"),
        (r"\cases{a & b \cr c & d}", "[{[M!2x2,w[V!a,e[V!b,e[V!c,e[V!d]]]]]]"),
        (r"\begin{array}{cc} a \\ \multicolumn{2}{c}{b} \end{array}", "[M!2x1,w[V!a,e[V!b]]]"),
        (r"\begin{array}{c} a \\ \hdashline[2pt/2pt] b \end{array}", "[M!2x1,w[V!a,e[V!b]]]"),
        (
            r"\begin{bmatrix} \begin{matrix} a \end{matrix} \\ b \end{bmatrix}",
            "[M!&lsqb;&rsqb;2x1,w[M!1x1,w[V!a],e[V!b]]]",
        ),
        (r"\begin{rcases} a \end{rcases} b", "[M!1x1[}[V!b]],w[V!a]]"),
        (r"\begin{vmatrix} a & b \end{vmatrix}", "[M!||1x2,w[V!a,e[V!b]]]"),
        (r"\begin{cases}[a] & 1 \end{cases}", "[{[M!1x2,w[M!&lsqb;&rsqb;1x1,w[V!a],e[N!1]]]]"),
    ],
)
def test_tables_are_read_cell_by_cell(latex: str, tree: str) -> None:
    """Cells are linked by their first symbols; empty cells are kept."""
    assert layout(latex).to_slt() == tree


@pytest.mark.parametrize(
    "latex",
    [
        r"\begin{aligned} a &= b \\ &= c \end{aligned}",
        r"\begin{eqnarray} a &=& b \\ &=& c \end{eqnarray}",
        r"\begin{gathered} a = b \\ = c \end{gathered}",
        r"\begin{alignedat}{2} a &= b \\ &= c \end{alignedat}",
        r"\begin{IEEEeqnarray}{rCl} a &=& b \IEEEeqnarraynumspace\\ &=& c \end{IEEEeqnarray}",
        r"\begin{small} a = b = c \end{small}",
        r"\eqalign{a &= b \cr &= c \cr}",
        r"\displaylines{a = b \cr = c}",
        r"a = b \cr = c",
    ],
)
def test_rows_that_only_break_lines_join(latex: str) -> None:
    """All of these are the same equation."""
    assert layout(latex).to_slt() == "[V!a[=[V!b[=[V!c]]]]]"
    assert layout(latex).unknown == []


@pytest.mark.parametrize(
    ("latex", "tree"),
    [
        (r"\xymatrix{A \ar[r]^f \ar[d]_g & B \\ C}",
         "[M!2x2,w[V!A[→[↓,u[V!g]],o[V!f]],e[V!B,e[V!C]]]]"),
        (r"\xymatrix@C=2pc@R=1pc{A \ar@{-->}[dr] & B}", "[M!1x2,w[V!A[↘],e[V!B]]]"),
        (r"\xymatrix{A \ar@<1ex>^{h}[r] & B}", "[M!1x2,w[V!A[→,o[V!h]],e[V!B]]]"),
        (r"\xymatrix{A \ar@/_1pc/[ull]|-k}", "[M!1x1,w[V!A[↖,o[V!k]]]]"),
        (r"\xymatrix{A \ar@(u,l)[] x[1]}", "[M!1x1,w[V!A[→[V!x[M!&lsqb;&rsqb;1x1,w[N!1]]]]]]"),
        (r"\xymatrix{A \ar'[d][dd]}", "[M!1x1,w[V!A[↓]]]"),
        (r"\ar", "[→]"),
        (r"\xymatrix", "[E!missing]"),
    ],
)  # fmt: skip
def test_a_diagram_is_a_table_with_its_arrows_in_the_cells(latex: str, tree: str) -> None:
    """An arrow has its direction and labels; its style is not kept."""
    assert layout(latex).to_slt() == tree
    assert layout(latex).unknown == []
