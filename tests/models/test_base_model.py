"""The base model: its files, and what its vectors tell."""

import csv

import numpy as np
import pytest

from eqemb.formula import Layout, layout
from eqemb.index.stemming import stem
from eqemb.models.base_model import DATA_FOLDER, BaseModel

PERMISSIVE = {"MIT", "BSD-3-Clause", "Apache-2.0", "CC0-1.0", "CC-BY-3.0", "CC-BY-4.0"}


@pytest.fixture(scope="module")
def model() -> BaseModel:
    """The model of the package."""
    return BaseModel()


def test_the_model_is_small() -> None:
    """At most 12 MB with all its files."""
    assert sum(path.stat().st_size for path in DATA_FOLDER.iterdir()) < 12e6


def test_every_source_has_a_permissive_licence() -> None:
    """No share-alike source, no restriction of use; each with its repository and commit."""
    with (DATA_FOLDER / "SOURCES.tsv").open(encoding="utf-8", newline="") as file:
        sources = list(csv.DictReader(file, delimiter="\t"))
    assert len(sources) == 64
    for source in sources:
        assert source["licence"] in PERMISSIVE, source
        assert source["repository"].startswith("https://")
        assert len(source["commit"]) == 40
        assert "weak" not in source["licence stated in"].lower()


def test_the_card_names_sources_and_teacher() -> None:
    """Whoever passes the model on can say where it is from."""
    card = (DATA_FOLDER / "README.md").read_text("utf-8")
    assert "SOURCES.tsv" in card
    assert "all-MiniLM-L6-v2" in card


def test_rows_are_sorted_by_their_keys() -> None:
    """They are found by bisection."""
    for kind in ("features", "stems"):
        keys, rows, scales = (
            np.load(DATA_FOLDER / f"{kind}{part}.npy") for part in (".keys", "", ".scales")
        )
        assert (np.diff(keys) > 0).all()
        assert len(keys) == len(rows) == len(scales)
        assert np.isfinite(scales).all()


def test_an_equation_has_a_vector_of_length_one(model: BaseModel) -> None:
    """The same for the same equation."""
    one, other = (model.equation_vector(layout(text)) for text in ("x^2+y^2", "x^{2} + y^2"))
    assert np.linalg.norm(one) == pytest.approx(1, abs=1e-6)
    assert one.dtype == np.float32
    assert one.tobytes() == other.tobytes()


def test_nothing_known_gives_zeros(model: BaseModel) -> None:
    """No symbol, no stem, or none that training met."""
    assert not model.equation_vector(Layout(None)).any()
    assert not model.stems_vector({}).any()
    assert not model.stems_vector({"qqzzxy": 1.0}).any()


def test_a_compound_is_its_parts(model: BaseModel) -> None:
    """The parts are stems of their own."""
    compound = model.stems_vector({stem("cross-entropy"): 1.0})
    parts = model.stems_vector({stem("cross"): 1.0, stem("entropy"): 1.0})
    assert compound.tobytes() == parts.tobytes()
    assert compound.any()


@pytest.mark.parametrize(
    ("words", "right", "wrong"),
    [
        ("entropy", r"H(X) = -\sum_x p(x) \log p(x)", r"\dot{x} = A x + B u"),
        ("state space system", r"\dot{x} = A x + B u", r"H(X) = -\sum_x p(x) \log p(x)"),
        ("fourier transform", r"X(\omega) = \int x(t) e^{-j \omega t} dt", r"P(A|B) = P(A)/P(B)"),
        ("conditional probability", r"P(A|B) = \frac{P(A, B)}{P(B)}", r"\nabla \cdot E = \rho"),
        ("schrodinger hamiltonian", r"i \hbar \partial_t \psi = H \psi", r"a^2 + b^2 = c^2"),
    ],
)
def test_words_are_near_the_equations_they_stand_for(
    model: BaseModel, words: str, right: str, wrong: str
) -> None:
    """Words and equations are in one space."""
    asked = model.stems_vector({stem(word): 1.0 for word in words.split()})
    good, bad = (float(model.equation_vector(layout(text)) @ asked) for text in (right, wrong))
    assert good > bad + 0.1


def test_an_equation_is_near_its_renaming(model: BaseModel) -> None:
    """Nearer than to another equation with the same letters."""
    asked = model.equation_vector(layout(r"y = \frac{1}{1 + e^{-x}}"))
    renamed = model.equation_vector(layout(r"\sigma(z) = \frac{1}{1 + e^{-z}}"))
    other = model.equation_vector(layout(r"y = x^2 + 1"))
    assert float(asked @ renamed) > float(asked @ other) + 0.05
