"""Tangent-exact mode compared with Tangent, and each deliberate difference from it."""

import re
from collections import Counter
from pathlib import Path

import pytest

from eqemb.formula import layout
from eqemb.formula.layout import Ends
from eqemb.formula.tree import Unit

#: Deliberate differences of Tangent-exact mode from Tangent's output: tag of Tangent -> ours.
#: In LaTeXML 0.8.7 the d of an integral is an operator, in older ones (ARQMath) a letter.
DIFFERENCES = {"𝑑": "V!d"}
#: A formula on which LaTeXML and Tangent fail; ours follows Tangent's rules.
TANGENT_FAILS = {"{x_i}_j": "[M!1x1,b[V!j],w[V!x,b[V!i]]]"}


def worked_formulas(bench: Path) -> dict[str, dict[str, Counter[Unit]]]:
    """LaTeX -> setting -> units, from Tangent's own output."""
    found: dict[str, dict[str, Counter[Unit]]] = {}
    latex = ""
    for line in (bench / "slt" / "slt_examples_tangent_output.txt").read_text("utf8").splitlines():
        if line.startswith("LATEX "):
            latex = line[6:]
        elif line.startswith("  w="):
            setting, _, units = line.strip().partition(": ")
            tuples = [unit.split(", ")[:3] for unit in units[1:-1].split(") (")]
            found.setdefault(latex, {})[setting] = Counter(
                (DIFFERENCES.get(s, s), DIFFERENCES.get(t, t), path) for s, t, path in tuples
            )
    return found


@pytest.mark.parametrize(
    ("setting", "window", "ends"),
    [("w=1 eob=False", 1, "none"), ("w=1 eob=True", 1, "all"), ("w=2 eob=False", 2, "none")],
)
def test_the_worked_formulas_give_tangents_units(
    bench: Path, setting: str, window: int, ends: Ends
) -> None:
    """All of them, every unit."""
    formulas = worked_formulas(bench)
    assert len(formulas) >= 21
    for latex, expected in formulas.items():
        made = layout(latex, tangent_exact=True)
        assert Counter(made.units(window, ends)) == expected[setting], latex


def test_the_order_of_units_is_tangents(bench: Path) -> None:
    """Windows are sequences: EqEmb-U's unit windows depend on the order."""
    text = (bench / "slt" / "slt_examples_tangent_output.txt").read_text("utf8")
    line = next(x for x in text.splitlines() if x.startswith("  w=2") and "∑, V!i, nb" in x)
    expected = re.findall(r"\((\S+), (\S+), (\w+), \S+\)", line)
    assert layout(r"\sum_{i=1}^{n} x_i^2").units(2, "none") == expected


@pytest.mark.parametrize(("latex", "tree"), TANGENT_FAILS.items())
def test_where_tangent_fails_ours_follows_its_rules(latex: str, tree: str) -> None:
    """A base that already has the script is wrapped."""
    assert layout(latex, tangent_exact=True).to_slt() == tree


@pytest.mark.parametrize(
    ("latex", "ours", "tangent"),
    [
        (r"\|v\|_2", "[M!‖‖1x1,b[N!2],w[V!v]]", "[M!1x1,u[N!2],w[‖[V!v[‖]]]]"),
        (r"\|v\|", "[M!‖‖1x1,w[V!v]]", "[‖[V!v[‖]]]"),
        (r"\lfloor x \rfloor y", "[M!⌊⌋1x1[V!y],w[V!x]]", "[⌊[V!x[⌋[V!y]]]]"),
        (r"\langle a,b \rangle", "[M!⟨⟩1x2,w[V!a[&comma;],e[V!b]]]", "[⟨[V!a[&comma;[V!b[⟩]]]]]"),
        (r"\langle a,b \rangle^2 c", "[M!⟨⟩1x2[V!c],a[N!2],w[V!a[&comma;],e[V!b]]]",
         "[M!1x1[V!c],o[N!2],w[⟨[V!a[&comma;[V!b[⟩]]]]]]"),
        (r"p(x \mid y)", "[V!p[M!()1x1,w[V!x[|[V!y]]]]]", "[V!p[M!()1x1,w[V!x[∣[V!y]]]]]"),
        ("D(p||q)", "[V!D[M!()1x1,w[V!p[‖[V!q]]]]]", "[V!D[M!()1x1,w[V!p[|[|[V!q]]]]]]"),
        (r"\mathop{\rm argmax}_x f", "[V!argmax[V!f],u[V!x]]", "[argmax[V!f],u[V!x]]"),
        (r"\textbf{x}", "[V!𝐱]", "[T!𝐱]"),
        ("x = y.", "[V!x[=[V!y]]]", "[V!x[=[V!y[.]]]]"),
    ],
)  # fmt: skip
def test_each_deliberate_difference(latex: str, ours: str, tangent: str) -> None:
    """By default, trees are grouped and unified; Tangent-exact mode follows Tangent."""
    assert layout(latex).to_slt() == ours
    assert layout(latex, tangent_exact=True).to_slt() == tangent


def test_real_equations_agree_with_latexml_and_tangent(bench: Path) -> None:
    """At least 95 % of units, pooled; 99 % at the time of writing."""
    from agreement import with_tangent

    result = with_tangent(bench / "slt" / "tangent_real.jsonl.gz")
    assert result.count == 686
    assert result.dice >= 0.99


def test_a_binomial_is_a_division_to_tangent() -> None:
    """LaTeXML writes it as a fraction whose bar has no thickness."""
    made = layout(r"\binom nk", tangent_exact=True)
    assert made.to_slt() == "[M!()1x1,w[O!divide,o[V!n],u[V!k]]]"
