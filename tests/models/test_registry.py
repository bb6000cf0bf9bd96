"""The registry of models: one entry makes a model known everywhere."""

import subprocess
import sys

import pytest

import eqemb.models
from eqemb.errors import UsageError
from eqemb.evaluation import heldout, qualitative, retrieval
from eqemb.models import registry


def test_entries_have_their_class_and_accept_their_settings() -> None:
    """Every class is public, and takes the settings that its entry implies."""
    for name, entry in registry.MODELS.items():
        assert entry.class_name in eqemb.models.__all__
        assert getattr(eqemb.models, entry.class_name) is entry.kind
        if entry.is_installed:
            made = registry.create(name, {"dim": 7})
            assert made.get_params() == {**made.get_params(), **entry.settings, "dim": 7}
            assert made.registry_name == name


def test_public_classes_are_those_of_the_registry() -> None:
    """No model is public without an entry."""
    assert set(eqemb.models.__all__) == {e.class_name for e in registry.MODELS.values()}


def test_tables_are_made_of_the_registry() -> None:
    """Each model with equations has a column or a row in every table of the evaluation."""
    names = {*registry.OURS, *registry.BASELINES}
    assert names == {e.name for e in registry.MODELS.values() if e.has_equations}
    assert set(qualitative.MODEL_COLUMNS) == set(retrieval.COMPARED) == names
    assert set(registry.MODELS) <= set(heldout.SYSTEMS)
    assert {row.name for row in heldout.ROWS} >= set(map(registry.titled, names))


def test_unknown_names_are_refused_with_a_similar_one() -> None:
    """A typing error is answered with the nearest name, anything else with the list."""
    with pytest.raises(UsageError, match="did you mean eqemb-u"):
        registry.find("eqembu")
    with pytest.raises(UsageError, match="choose one of words"):
        registry.create("transformer", {})
    assert registry.titled("transformer") == "transformer"
    assert registry.sides("transformer") == ("alpha", "rho")
    assert registry.sides("eqemb-u") == ("rho", "alpha")


def test_the_registry_is_cheap_to_import() -> None:
    """`eqemb --help` names the models without importing NumPy."""
    code = "import sys, eqemb.models.registry as r; r.listed(); assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
