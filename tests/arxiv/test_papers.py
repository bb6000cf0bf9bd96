"""Records of arXiv's snapshot, of our own files and of unarXive describe papers alike."""

import json
from typing import Any

import pytest

from eqemb.arxiv.papers import PaperMetadata, any_metadata, short_licence, unarxive_metadata
from eqemb.arxiv.text import without_tex
from snapshots import record


def test_a_record_of_the_snapshot() -> None:
    """Names are given first, the date is that of the first version."""
    paper = PaperMetadata.from_snapshot(
        record(
            "2301.00001",
            title="On\n  Norms",
            versions=[
                {"version": "v1", "created": "Sun, 1 Jan 2023 09:00:00 GMT"},
                {"version": "v2", "created": "Tue, 2 Jan 2024 09:00:00 GMT"},
            ],
            doi="10.1000/1",
            **{"journal-ref": "J. Norms 1\n(2023)"},
        )
    )
    assert paper is not None
    assert paper.authors == ("Ada Lovelace", "Henri Poincaré Jr")
    assert (paper.title, paper.date, paper.year) == ("On Norms", "2023-01-01", 2023)
    assert (paper.version, paper.categories) == ("v2", ("cs.LG", "stat.ML"))
    assert (paper.doi, paper.journal) == ("10.1000/1", "J. Norms 1 (2023)")


@pytest.mark.parametrize(
    "damage",
    [
        {"versions": "v1"},
        {"versions": [3, None]},
        {"versions": [{"created": "yesterday"}]},
        {"versions": [{"created": 3}]},
        {"authors_parsed": "Ada"},
        {"authors_parsed": [["Lovelace"], 3]},
        {"categories": ["cs.LG"]},
        {"license": 3, "title": None, "doi": []},
    ],
)
def test_fields_of_another_type_are_unknown(damage: dict[str, Any]) -> None:
    """The rest of the record counts."""
    paper = PaperMetadata.from_snapshot(record("2301.00001") | damage)
    assert paper is not None
    assert paper.id == "2301.00001"


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"3", b'{"id": 3}', b"[" * 100_000])
def test_other_lines_describe_no_paper(line: bytes) -> None:
    """No line raises."""
    assert any_metadata(line) is None
    assert unarxive_metadata(line) is None


def test_our_own_records_and_unarxive() -> None:
    """Both are read like the snapshot."""
    own = {"id": "1501.00001", "authors": ["Ada Lovelace"], "date": "2015-01-02", "licence": None}
    assert any_metadata(json.dumps(own).encode()) == PaperMetadata(
        id="1501.00001", authors=("Ada Lovelace",), date="2015-01-02"
    )
    inside = {"paper_id": "2301.00001", "metadata": record("2301.00001"), "body_text": []}
    assert unarxive_metadata(json.dumps(inside).encode()) == PaperMetadata.from_snapshot(
        record("2301.00001")
    )


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("http://creativecommons.org/licenses/by/4.0/", "cc-by-4.0"),
        ("https://creativecommons.org/licenses/by-nc-sa/3.0/", "cc-by-nc-sa-3.0"),
        ("http://creativecommons.org/publicdomain/zero/1.0/", "cc0"),
        ("http://creativecommons.org/licenses/publicdomain/", "public-domain"),
        ("http://arxiv.org/licenses/nonexclusive-distrib/1.0/", "nonexclusive"),
        ("", "none"),
        ("none stated", "none"),
        ("http://example.org/x", "http://example.org/x"),
    ],
)
def test_short_names_of_licences(address: str, name: str) -> None:
    """A version is part of the name."""
    assert short_licence(address) == name


@pytest.mark.parametrize(
    ("tex", "plain"),
    [
        (r"Poincar\'e", "Poincaré"),
        (r"G{\"o}del", "Gödel"),
        (r"Erd\H{o}s", "Erdős"),
        (r"\O ystein {\L}ukasz", "Øystein Łukasz"),
        (r"Fran\c{c}ois \v{C}ech", "François Čech"),
        (r"Mart{\'\i}n", "Martín"),
        ("Ada Lovelace", "Ada Lovelace"),
    ],
)
def test_accents_of_tex(tex: str, plain: str) -> None:
    """Names are shown as people write them."""
    assert without_tex(tex) == plain
