"""Settings are checked where they are written, with one sentence that says what to write."""

from typing import Any

import pytest

from eqemb.corpus.split import SplitSettings
from eqemb.corpus.vocabulary import Rules
from eqemb.errors import UsageError
from eqemb.facade.model import ModelPlan
from eqemb.index.encoder_models import load_encoder
from eqemb.library.executor import WorkerLimits
from eqemb.library.ingest import worker_count
from eqemb.sources import Limits

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("window", 4.0, "window must be an integer from 2 to 1,000, not 4.0: write window=4"),
        ("window", "8", "window must be an integer from 2 to 1,000, not '8': write window=8"),
        ("window", 7, "window must be even, half before and half after, not 7: write window=8"),
        ("negatives", True, "negatives must be an integer of at least 1, not True"),
        ("negatives", 0, "negatives must be an integer of at least 1, not 0"),
        ("negatives", NAN, "negatives must be an integer of at least 1, not nan"),
        ("seed", None, "seed must be an integer of at least 0, not None"),
        ("singletons", INF, "singletons must be an integer of at least 0, not inf"),
    ],
)
def test_settings_of_a_split(name: str, value: Any, message: str) -> None:
    """The sentence has the value, what is expected and, where there is one, the remedy."""
    with pytest.raises(UsageError) as found:
        SplitSettings(**{name: value})
    assert str(found.value) == message


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("kind", "all", "kind must be 'plain' or 'paper', not 'all'"),
        ("min_count", "5", "min_count must be an integer of at least 0 or 'auto', not '5'"),
        ("top", 2.5, "top must be an integer of at least 0 or 'auto', not 2.5"),
        ("tag_share", NAN, "tag_share must be a number from 0 to 1, not nan"),
        ("tag_share", "0.2", "tag_share must be a number from 0 to 1, not '0.2'"),
        ("phrase_threshold", INF, "phrase_threshold must be a number above 0, not inf"),
        ("phrases", 1, "phrases must be True or False, not 1"),
        ("stop_words", 5, "stop_words must be True, False or a collection of words, not 5"),
        ("stop_words", "the", "read_stop_words"),
    ],
)
def test_rules_of_a_vocabulary(name: str, value: Any, message: str) -> None:
    """Every setting is checked, whatever its type."""
    with pytest.raises(UsageError) as found:
        Rules(**{name: value})
    assert message in str(found.value)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("members", NAN, "members must be an integer of at least 1, not nan"),
        ("members", 4.0, "members must be an integer of at least 1, not 4.0: write members=4"),
        ("depth", "16", "depth must be an integer of at least 1, not '16': write depth=16"),
        ("ratio", None, "ratio must be an integer of at least 1, not None"),
    ],
)
def test_limits_of_a_paper(name: str, value: Any, message: str) -> None:
    """A limit that is not a number would never stop anything."""
    with pytest.raises(UsageError) as found:
        Limits(**{name: value})
    assert str(found.value) == message


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("seconds", NAN, "seconds must be a number above 0, not nan"),
        ("seconds", "16", "seconds must be a number above 0, not '16'"),
        ("seconds", -1, "seconds must be a number above 0, not -1"),
        ("memory", None, "memory must be an integer of at least 1, not None"),
        ("memory", -1, "memory must be an integer of at least 1, not -1"),
    ],
)
def test_limits_of_a_worker(name: str, value: Any, message: str) -> None:
    """A wrong limit is refused before a worker process starts."""
    with pytest.raises(UsageError) as found:
        WorkerLimits(**{name: value})
    assert str(found.value) == message


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("2", "jobs must be an integer of at least 1, not '2': write jobs=2"),
        (2.0, "jobs must be an integer of at least 1, not 2.0: write jobs=2"),
        (NAN, "jobs must be an integer of at least 1, not nan"),
    ],
)
def test_number_of_jobs(value: Any, message: str) -> None:
    """None means one job per processor; anything else is an integer."""
    assert worker_count(None) >= 1
    with pytest.raises(UsageError) as found:
        worker_count(value)
    assert str(found.value) == message


@pytest.mark.parametrize("value", [3, "x", None, [("dim", 50)]])
def test_model_of_a_library(value: Any) -> None:
    """The settings of the model are a dictionary."""
    expected = "model must be True, False or a dictionary of settings of EqEmbH, not "
    with pytest.raises(UsageError) as found:
        ModelPlan.checked(value, None)
    assert str(found.value) == f"{expected}{value!r}"


@pytest.mark.parametrize("name", ["foo", 1])
def test_unknown_setting_of_the_model(name: Any) -> None:
    """A setting that EqEmbH does not have is refused by its name."""
    with pytest.raises(UsageError, match=f"only settings of EqEmbH, not {name!r}: see help"):
        ModelPlan.checked({name: 1}, None)


@pytest.mark.parametrize("value", [3, None, ["module:function"]])
def test_name_of_an_encoder(value: Any) -> None:
    """An encoder is given by its name, not as a function."""
    with pytest.raises(UsageError) as found:
        load_encoder(value)
    assert str(found.value).startswith(f"encoder must be a string, not {value!r}: give MODULE:")
