"""Commands of physics and siunitx, by what their manuals say they print."""

import pytest

from latex_paper import expanded, text

PHYSICS = r"\usepackage{physics}"


@pytest.mark.parametrize(
    ("formula", "printed"),
    [
        (r"\mel{a}{B}{c}", r"\langle a|B|c\rangle"),
        (r"\comm{A}{B}", "[A,B]"),
        (r"\anticomm{A}{B}", r"\{A,B\}"),
        (r"\ev{A}", r"\langle A\rangle"),
        (r"\ev{A}{x}", r"\langle x|A|x\rangle"),
        (r"\braket{a}{b}", r"\langle a|b\rangle"),
        (r"\pdv{f}{x}{y}", r"\frac{\partial^2 f}{\partial x\partial y}"),
        (r"\pdv[2]{f}{x}", r"\frac{\partial^{2} f}{\partial x^{2}}"),
        (r"\pdv{x}", r"\frac{\partial}{\partial x}"),
        (r"\mqty(a&b\\c&d)", r"\begin{pmatrix}a&b\\c&d\end{pmatrix}"),
        (r"\qty(x)", "(x)"),
        (r"\qty{x}", r"\left\{x\right\}"),
    ],
)
def test_physics(formula: str, printed: str) -> None:
    """Brackets, Dirac notation, derivatives and matrices."""
    assert expanded(formula, PHYSICS) == printed


def test_quantities_in_text() -> None:
    """Units are read as signs, and are commands only in a quantity."""
    siunitx = r"\usepackage{siunitx}"
    assert text(r"\SI{3}{\metre\per\second} fast", siunitx) == "3 m/s fast"
    assert text(r"\SIrange{1}{2}{\kilo\gram} heavy", siunitx) == "1 kg to 2 kg heavy"
    assert text(r"\qty{5}{\newton} strong", siunitx) == "5 N strong"
    own = siunitx + r"\newcommand\second{the second one}"
    assert text(r"\second, after \SI{1}{\second}", own) == "the second one, after 1 s"
