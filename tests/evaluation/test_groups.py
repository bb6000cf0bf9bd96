"""Groups of articles: reading them, and clusters that several corpora share."""

from pathlib import Path

import numpy as np
import pytest

from eqemb.errors import UsageError
from eqemb.evaluation.groups import Clusters, read_groups
from eqemb.evaluation.heldout import difference
from eqemb.evaluation.metrics import mean_and_error


def test_articles_without_a_group_are_groups_of_their_own(tmp_path: Path) -> None:
    """Also if their name is that of a group."""
    path = tmp_path / "groups.tsv"
    path.write_text("a\trepo\n\nb\trepo\nelsewhere\tother\n")
    clusters = Clusters(read_groups(path, ["a", "b", "repo"]))
    assert clusters.of(["a", "repo", "b", "c"]).tolist() == [0, 1, 0, 2]
    assert clusters.of(["b", "d"]).tolist() == [0, 3]
    assert clusters.kind == "group"
    assert Clusters().kind == "article"
    assert Clusters().of(["a", "b", "a"]).tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b\n", "line 1: expected an article and its group"),
        ("a\tx\na\ty\n", "line 2: a is already in another group"),
        ("a\t\n", "line 1: expected"),
        ("z\tx\n", "names no article of this library: its articles are named a, b, ..."),
    ],
)
def test_a_wrong_file_is_refused(text: str, message: str, tmp_path: Path) -> None:
    """The error says where."""
    (tmp_path / "groups.tsv").write_text(text)
    with pytest.raises(UsageError) as found:
        read_groups(tmp_path / "groups.tsv", ["a", "b", "c"])
    assert message in str(found.value)


def test_groups_widen_intervals() -> None:
    """Articles of one group that agree count once, so that the error grows."""
    random = np.random.default_rng(0)
    values = np.repeat(random.normal(size=10), 20)  # ten groups of twenty articles that agree
    zeros, each, grouped = np.zeros(200), np.arange(200), np.repeat(np.arange(10), 20)
    narrow, wide = (mean_and_error(values, clusters)["se"] or 0 for clusters in (each, grouped))
    assert wide == pytest.approx(narrow * 20**0.5, rel=0.1)
    by_article, by_group = (difference([(values, zeros, c)]) for c in (each, grouped))
    assert by_group.high - by_group.low > 3 * (by_article.high - by_article.low)
