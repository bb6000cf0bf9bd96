"""The public names work at run time and for type checkers, and misspelt ones for neither.

`make lint` checks this file as well: mypy reports an `ignore` comment that nothing needs, so a
misspelt name that type checkers accept is an error here.
"""

import pytest

import eqemb


def test_public_names_have_their_types() -> None:
    """`eqemb.models` needs no import of its own."""
    library: type[eqemb.Library] = eqemb.Library
    model: eqemb.models.BernoulliEmbeddings = eqemb.models.EqEmb(dim=50)
    assert library.__name__ == "Library"
    assert model.dim == 50


def test_misspelt_names_are_refused() -> None:
    """At run time by an AttributeError, and by type checkers."""
    with pytest.raises(AttributeError, match="module 'eqemb' has no attribute 'Libary'"):
        _ = eqemb.Libary  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"module 'eqemb\.models' has no attribute 'EqEmbX'"):
        _ = eqemb.models.EqEmbX  # type: ignore[attr-defined]
