"""Settings are checked where they are written, with one sentence that says what to write."""

from typing import Any

import pytest

from eqemb.corpus.split import SplitSettings
from eqemb.corpus.vocabulary import Rules
from eqemb.errors import UsageError

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
