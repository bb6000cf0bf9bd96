"""Nothing raises, and nothing takes long: mutated formulas, random text."""

import functools
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns import FULL
from eqemb.formula import Layout, layout, picture
from eqemb.formula.commands import ENVIRONMENTS, SYMBOLS
from eqemb.formula.parse import HANDLERS
from timing import assert_linear, assert_quick

PIECES = [
    *"{}^_&()[]|'$%~ \n,.;:=+-*/?!0123456789abcxyz", "\\\\", "\\\\[2pt]", "\\left", "\\right",
    "\\left(", "\\right)", "\\right.", "\\middle|", "||", "\\|", "{}", "^{", "_{", "\\",
    *SYMBOLS, *HANDLERS, *(rf"\begin{{{name}}}" for name in ENVIRONMENTS),
    *(rf"\end{{{name}}}" for name in ENVIRONMENTS), "\\text{", "\\text{a $b$", "é", "∑", "𝐱",
    "\ud800", "\0", "\\ar@{", "\\ar[r]^", "@",
]  # fmt: skip

#: How many mutants: all in `make check`, a sample in `make test`.
CAMPAIGN = 50_000 if FULL else 1_000
#: CPU seconds that no formula may take (outliers are timed again).
LIMIT = 0.05


def mutate(latex: str, rng: random.Random) -> str:
    """A formula with pieces cut, doubled, swapped or put in."""
    for _ in range(rng.randint(1, 8)):
        at, to = sorted(rng.randint(0, len(latex)) for _ in range(2))
        kind = rng.randrange(5)
        if kind == 0:
            latex = latex[:at] + latex[at + rng.randint(1, 4) :]
        elif kind == 1:
            latex = latex[:at] + rng.choice(PIECES) + latex[at:]
        elif kind == 2 and len(latex) < 2000:
            latex = latex[:to] + latex[at:to] + latex[to:]
        elif kind == 3:
            latex = latex[:at] + rng.choice(PIECES) + latex[at + 1 :]
        else:
            latex = latex[:at] + latex[to:] + latex[at:to]
    return latex


def everything(latex: str) -> None:
    """Call everything that a formula offers."""
    for exact in (False, True):
        made = layout(latex, tangent_exact=exact)
        made.units()
        made.to_slt()
    made = layout(latex)
    made.units(2, "all", "both", rename=True)
    made.canonical()
    made.to_mathml(mark=[0])
    made.to_text()
    picture(made)


def read_units(latex: str) -> None:
    """What training and the index need."""
    layout(latex).units()


def test_mutated_formulas_neither_raise_nor_take_long() -> None:
    """50,000 of them in `make check`."""
    from equations import load

    rng = random.Random(1)
    _, formulas = load()
    for number in range(CAMPAIGN):
        latex = mutate(rng.choice(formulas), rng)
        start = time.process_time()
        read_units(latex)
        if time.process_time() - start > LIMIT:
            assert_quick(functools.partial(read_units, latex), LIMIT, latex)
        if number % 10 == 0:
            everything(latex)


def test_a_mutated_formula_of_our_mathml_reads_back() -> None:
    """Our MathML is always well formed."""
    from equations import load

    rng = random.Random(2)
    _, formulas = load()
    for _ in range(300):
        latex = mutate(rng.choice(formulas), rng)
        made = Layout.from_mathml(layout(latex).to_mathml())
        causes = {problem.cause for problem in made.problems}
        assert "not well-formed XML" not in causes, latex


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_any_row_of_pieces_is_read(latex: str) -> None:
    """Commands without arguments, fences without partners."""
    everything(latex)


@given(st.text(max_size=60))
def test_any_text_is_read(text: str) -> None:
    """Even if it is not LaTeX at all, as LaTeX and as MathML."""
    everything(text)
    Layout.from_mathml(f"<math><mi>{text}</mi></math>")
    Layout.from_mathml(text)


@pytest.mark.parametrize(
    "start", [r"a\\[", r"a\\", r"\text", r"\begin", r"\text{a", r"\sqrt", r"\\[-", r"\\[1"]
)
def test_blanks_cost_linear_time(start: str) -> None:
    """A run of blanks can be split in one way only: 64 times the blanks, about 64 times the time.

    A cubic pattern fails at the first length, after seconds rather than minutes.
    """
    for blanks in (1_000, 4_000, 64_000):
        latex = start + " " * blanks + "x"
        assert_quick(functools.partial(read_units, latex), blanks * 20e-6)


def test_time_grows_with_length_and_no_faster() -> None:
    """Eight times the length does not take 64 times the time."""
    for piece in (
        r"\frac{a}{b}+",
        "(a|b)",
        "|x|",
        r"\left(x\right)",
        "x_i^2",
        r"\text{a ",
        "||x",
        "{}_a",
        "((((",
        "[0,",
    ):
        assert_linear(piece.__mul__, read_units, (500, 4_000))
