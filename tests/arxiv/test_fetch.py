"""Papers are fetched completely or not at all, once, and each attempt is recorded."""

import gzip
import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from eqemb import cli
from eqemb.arxiv import client, listing
from eqemb.arxiv import fetch as fetching
from eqemb.arxiv.fetch import FetchPlan, FetchResult, fetch, plan
from eqemb.arxiv.listing import category_names, search_query
from eqemb.errors import EqembError, UsageError
from eqemb.library.ingest import read_articles
from eqemb.sources import discover
from eqemb.storage.locks import locked
from fake_arxiv import FREE, Answer, Clock, FakeArxiv, feed, serving
from packing import POSTSCRIPT, gz, tar, zipped
from synthetic import PDF, paper

TEX = paper(r"Some words. \begin{equation} x = 1 \end{equation}").encode()
TAR = gz(tar({"main.tex": TEX, "figure.png": b"\x89PNG"}))
SINGLE = gz(TEX)
WITHDRAWN = gz(b"%auto-ignore\nThis paper has been withdrawn.\n")
CUT = TAR[:-20]
IN_2015 = search_query(["cs.CL"], "2015", "2015")


@pytest.fixture
def arxiv() -> Iterator[FakeArxiv]:
    """A server without papers."""
    with serving(Clock()) as server:
        yield server


def planned(arxiv: FakeArxiv, folder: Path, **asked: Any) -> FetchPlan:
    """The plan for a folder."""
    with closing(arxiv.clock.client()) as one:
        return plan(folder, one, arxiv.site, **asked or {"query": IN_2015})


def fetched(arxiv: FakeArxiv, folder: Path, **asked: Any) -> FetchResult:
    """Plan and fetch."""
    with closing(arxiv.clock.client()) as one:
        made = plan(folder, one, arxiv.site, **asked or {"query": IN_2015})
        return fetch(made, folder, one, arxiv.site)


def metadata(folder: Path) -> dict[str, dict[str, Any]]:
    """The records of `metadata.jsonl`; no paper has two."""
    lines = (folder / "metadata.jsonl").read_text("utf-8").splitlines()
    records = {record["id"]: record for record in map(json.loads, lines)}
    assert len(records) == len(lines)
    return records


def files(folder: Path) -> set[str]:
    """The files in a folder, except the lock."""
    return {path.name for path in folder.iterdir()} - {".lock"}


# -- which papers


def test_presets_are_the_categories_of_the_paper() -> None:
    """Presets are those of the EqEmb paper; other categories are accepted in any case."""
    assert category_names(["nlp", "ir", "ai"]) == ["cs.CL", "cs.IR", "cs.AI"]
    assert category_names(["ml", "cs.lg"]) == ["stat.ML", "stat.CO", "stat.ME", "cs.LG"]
    assert category_names(["CS.cl", "cond-mat.Stat-Mech", "hep-th"]) == [
        *("cs.CL", "cond-mat.stat-mech", "hep-th"),
    ]
    with pytest.raises(UsageError, match=r"'c s' is not a category: use nlp, ir, ai, ml or"):
        category_names(["c s"])


@pytest.mark.parametrize(
    ("since", "until", "dates"),
    [
        ("2015-01", "2016-12", "[201501010000 TO 201612312359]"),
        ("2015", None, "[201501010000 TO 209912312359]"),
        (None, "2016-02", "[199101010000 TO 201602292359]"),
        ("2015-03-04", "2015-03-04", "[201503040000 TO 201503042359]"),
    ],
)
def test_periods(since: str | None, until: str | None, dates: str) -> None:
    """From the first day to the last."""
    assert search_query(["cs.CL", "cs.IR"], since, until) == (
        f"(cat:cs.CL OR cat:cs.IR) AND submittedDate:{dates}"
    )


@pytest.mark.parametrize("text", ["2015-13", "15", "2015-02-30", "2015-1", "yesterday"])
def test_a_wrong_date_is_rejected(text: str) -> None:
    """So is a period that ends before it starts."""
    with pytest.raises(UsageError, match="is not a date: use 2015, 2015-01 or 2015-01-31"):
        search_query(["cs.CL"], text)
    with pytest.raises(UsageError, match="--from 2016 is after --to 2015"):
        search_query(["cs.CL"], "2016", "2015")


def test_primary_and_secondary_categories_match(arxiv: FakeArxiv, tmp_path: Path) -> None:
    """Papers of the period are listed, newest first, up to a number."""
    for month in range(1, 9):
        arxiv.add(f"15{month:02}.00001", TAR, date=f"2015-{month:02}-09")
    arxiv.add("1508.00002", TAR, date="2015-08-20", categories=("cs.AI", "cs.CL"))
    arxiv.add("1508.00003", TAR, categories=("cs.AI",))
    arxiv.add("1608.00003", TAR, date="2016-08-01")
    made = planned(arxiv, tmp_path, query=IN_2015, most=3)
    assert [p.id for p in made.papers] == ["1508.00002", "1508.00001", "1507.00001"]
    assert (made.matching, made.present, made.requests) == (9, 0, 6)
    assert made.seconds(3.0) == 24
    first = made.papers[0]
    assert (first.title, first.authors) == ("On Words & Numbers", ("A. Author", "B. Other"))
    assert (first.version, first.date) == ("v1", "2015-08-20")
    assert not files(tmp_path)


FEED = (
    b'<?xml version="1.0" encoding="utf-8"?><feed xmlns="http://www.w3.org/2005/Atom"'
    b' xmlns:t="http://a9.com/-/spec/opensearch/1.1/"></feed>'
)


def test_all_pages_are_read_and_empty_ones_requested_again(
    arxiv: FakeArxiv, tmp_path: Path
) -> None:
    """So are pages that are not a feed; a page shorter than requested loses nothing."""
    for number in range(250):
        arxiv.add(f"1501.{number:05}", TAR, date=f"2015-01-{number % 28 + 1:02}")
    empty = Answer(body=b'<feed xmlns="http://www.w3.org/2005/Atom"></feed>')
    long = FEED.replace(b"</feed>", b"<t:totalResults>%b</t:totalResults></feed>" % (b"9" * 5_000))
    for body in (b"<html>Try again", FEED.replace(b"utf-8", b"gbk"), long):
        arxiv.refuse("api", Answer(body=body))
    made = planned(arxiv, tmp_path, query=IN_2015, most=240)
    assert len({p.id for p in made.papers}) == 240
    starts = [target.split("start=")[1] for target in arxiv.requested("api")]
    assert starts == [f"{start}&max_results=100" for start in (0, 0, 0, 0, 100, 200)]
    arxiv.calls.clear()
    with closing(arxiv.clock.client()) as one:
        first = one.get(f"{arxiv.site.api}?search_query=cat:cs.CL&sortOrder=descending"
                        "&start=0&max_results=60")  # fmt: skip
        arxiv.refuse("api", Answer(body=first.body), empty, empty)
        made = plan(tmp_path, one, arxiv.site, query=IN_2015, most=300)
    assert (len(made.papers), made.unlisted) == (250, 0)


def test_papers_on_pages_that_stay_empty_are_counted(arxiv: FakeArxiv, tmp_path: Path) -> None:
    """Listed papers are fetched all the same; if no paper was listed, it is an error."""
    for number in range(150):
        arxiv.add(f"1501.{number:05}", TAR)
    full = arxiv.answer("/api/query?search_query=cat:cs.CL&sortOrder=a&start=0&max_results=100")
    none = Answer(body=feed([], 150))
    for empty in (none, Answer(body=feed([], 0))):
        arxiv.refuse("api", full, *[empty] * 8)
        made = planned(arxiv, tmp_path)
        assert (len(made.papers), made.matching, made.unlisted) == (100, 150, 50)
    arxiv.refuse("api", *[none] * 4)
    with pytest.raises(EqembError, match="arXiv sends empty pages"):
        planned(arxiv, tmp_path)


def test_a_long_list_is_restarted_where_pages_fail(
    arxiv: FakeArxiv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It restarts at the day that was reached."""
    monkeypatch.setattr(listing, "_MAX_START", 200)
    for number in range(480):
        arxiv.add(f"1501.{number:05}", TAR, date=f"2015-{number // 40 + 1:02}-15")
    made = planned(arxiv, tmp_path, query=IN_2015, most=470)
    assert len({paper.id for paper in made.papers}) == 470
    assert (made.matching, made.unlisted) == (480, 0)
    asked = [parse_qs(urlsplit(target).query) for target in arxiv.requested("api")]
    assert [int(page["start"][0]) for page in asked] == [0, 100] * 3
    ends = [page["search_query"][0].split()[-1] for page in asked]
    assert ends == [f"{day}2359]" for day in (20151231, 20150815, 20150415) for _ in range(2)]
    first = arxiv.answer(arxiv.requested("api")[0])
    arxiv.refuse("api", first, *[Answer(500)] * 6)
    made = planned(arxiv, tmp_path, query=IN_2015, most=150)
    assert (len(made.papers), made.unlisted) == (150, 0)
    arxiv.refuse("api", first, *[Answer(500)] * 12)
    made = planned(arxiv, tmp_path, query=IN_2015, most=150)
    assert (len(made.papers), made.unlisted) == (100, 50)
    arxiv.refuse("api", *[Answer(500)] * 6)
    with pytest.raises(EqembError, match=r"failed to answer 6 times \(HTTP 500\)"):
        planned(arxiv, tmp_path)


def test_errors_of_arxiv_are_passed_on(arxiv: FakeArxiv, tmp_path: Path) -> None:
    """An error in its feed, or an HTTP status without a feed."""
    said = (
        b'<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>Error</title>'
        b"<id>http://arxiv.org/api/errors#x</id><summary>start must be\n small</summary>"
        b"</entry></feed>"
    )
    arxiv.refuse("api", Answer(400, said), Answer(414, b"too long"))
    with pytest.raises(EqembError, match="arXiv rejected the query: start must be small"):
        planned(arxiv, tmp_path)
    with pytest.raises(EqembError, match="arXiv answered a query with HTTP 414"):
        planned(arxiv, tmp_path)


def test_identifiers_are_requested_by_the_hundred(arxiv: FakeArxiv, tmp_path: Path) -> None:
    """Those that arXiv does not know are returned."""
    names = [f"1501.{number:05}" for number in range(120)]
    for name in names[:-1]:
        arxiv.add(name, TAR)
    arxiv.add("cs/0501001", TAR, version="v3")
    made = planned(arxiv, tmp_path, ids=[*names, "cs/0501001v3"])
    asked = [parse_qs(urlsplit(target).query)["id_list"][0] for target in arxiv.requested("api")]
    assert [page.count(",") + 1 for page in asked] == [100, 21, 1]
    assert len(made.papers) == 120
    assert made.papers[-1].version == "v3"
    assert made.unknown == ["1501.00119"]


def test_missing_identifiers_are_requested_once_more(arxiv: FakeArxiv, tmp_path: Path) -> None:
    """They do not end the run."""
    arxiv.add("1501.00001", TAR)
    counted = Answer(body=feed([], 1))
    arxiv.refuse("api", counted)
    assert not planned(arxiv, tmp_path, ids=["1501.00001"]).unknown
    arxiv.refuse("api", counted, counted)
    assert planned(arxiv, tmp_path, ids=["1501.00001"]).unknown == ["1501.00001"]
    assert len(arxiv.calls) == 4


# -- sources and licences


def test_papers_are_saved_with_their_metadata(arxiv: FakeArxiv, tmp_path: Path) -> None:
    """Files are named so that the papers are read under their identifiers."""
    arxiv.add("1501.00001", TAR, version="v2")
    arxiv.add("cs/0501001", SINGLE, licence="", title="Old")
    arxiv.add("1501.00002", TEX)
    result = fetched(arxiv, tmp_path)
    assert (result.fetched, result.missed, result.left) == (3, {}, 0)
    assert files(tmp_path) == {"1501.00001.gz", "cs0501001.gz", "1501.00002.gz", "metadata.jsonl"}
    assert (tmp_path / "1501.00001.gz").read_bytes() == TAR
    assert gzip.decompress((tmp_path / "1501.00002.gz").read_bytes()) == TEX
    assert result.bytes == sum(p.stat().st_size for p in tmp_path.glob("*.gz"))
    assert metadata(tmp_path)["1501.00001"] == {
        "id": "1501.00001",
        "version": "v2",
        "title": "On Words & Numbers",
        "authors": ["A. Author", "B. Other"],
        "categories": ["cs.CL"],
        "date": "2015-06-01",
        "licence": FREE,
        "file": "1501.00001.gz",
        "sha256": hashlib.sha256(TAR).hexdigest(),
    }
    assert metadata(tmp_path)["cs/0501001"]["licence"] == "none stated"
    articles = {article.name: len(article.equations) for article in read_articles(tmp_path)}
    assert articles == {"1501.00001": 1, "1501.00002": 1, "cs/0501001": 1}
    assert not [found for found in discover([tmp_path]) if found.cause]


def test_all_requests_are_spaced(arxiv: FakeArxiv, tmp_path: Path) -> None:
    """From the first to the last, over one connection."""
    for number in range(3):
        arxiv.add(f"1501.0000{number}", TAR)
    fetched(arxiv, tmp_path)
    assert [call.kind for call in arxiv.calls] == ["api", *["src"] * 3, *["oai"] * 3]
    assert [call.time for call in arxiv.calls] == [1003 + 3 * number for number in range(7)]
    assert {call.connection for call in arxiv.calls} == {1}


PAGE = b"<!DOCTYPE html><html>The author has withdrawn this paper</html>"


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        (PDF, "pdf only"),
        (gz(PDF), "pdf only"),
        (WITHDRAWN, "withdrawn"),
        (Answer(200, PAGE), "withdrawn"),
        (Answer(404, PAGE), "withdrawn"),
        (Answer(404, b"<html>No such paper</html>"), "not found"),
        (Answer(410, b""), "not found"),
        (Answer(451, b""), "not found"),
        (gz(POSTSCRIPT), "postscript only"),
        (gz(b"<html>A paper</html>"), "html only"),
        (gz(b""), "empty"),
        (gz(tar({"withdrawn.tex": b"%auto-ignore\n", "00README.json": b"{}"})), "withdrawn"),
        (gz(tar({"a.pdf": PDF, "figure.png": b"\x89PNG"})), "pdf only"),
        (zipped({"a.pdf": PDF}), "pdf only"),
        (tar({"index.html": b"<html>A paper</html>"}), "html only"),
        (tar({"a.pdf": PDF, "a.ps": POSTSCRIPT}), "no TeX"),
    ],
)
def test_papers_without_a_source(
    arxiv: FakeArxiv, tmp_path: Path, source: bytes | Answer, cause: str
) -> None:
    """They are recorded with the cause, and not requested again."""
    arxiv.add("1501.00001", source if isinstance(source, bytes) else b"")
    if isinstance(source, Answer):
        arxiv.refuse("src", source)
    result = fetched(arxiv, tmp_path)
    assert (result.fetched, result.missed) == (0, {cause: 1})
    record = metadata(tmp_path)["1501.00001"]
    assert (record["cause"], record["file"]) == (cause, None)
    assert files(tmp_path) == {"metadata.jsonl"}
    assert fetched(arxiv, tmp_path).missed == {}
    assert len(arxiv.requested("src")) == 1


@pytest.mark.parametrize(
    ("broken", "cause"),
    [
        (CUT, "broken archive"),
        (SINGLE[:-4] + b"\0\0\0\0", "broken archive"),
        (b"", "no paper"),
        (b"<html>Please wait</html>", "no paper"),
        (b"Please wait", "no paper"),
    ],
)
def test_a_broken_download_is_repeated_once(
    arxiv: FakeArxiv, tmp_path: Path, broken: bytes, cause: str
) -> None:
    """If it stays broken it is recorded, and the next run tries again."""
    arxiv.add("1501.00001", TAR)
    arxiv.add("1501.00002", broken)
    arxiv.refuse("src", Answer(body=broken))
    result = fetched(arxiv, tmp_path)
    assert (result.fetched, result.missed) == (1, {cause: 1})
    assert len(arxiv.requested("src")) == 4
    arxiv.papers[1].source = SINGLE
    assert fetched(arxiv, tmp_path).fetched == 1
    assert "cause" not in metadata(tmp_path)["1501.00002"]


@pytest.mark.parametrize("status", [300, 400, 401, 408, 418])
def test_an_unrelated_http_status(arxiv: FakeArxiv, tmp_path: Path, status: int) -> None:
    """The paper is requested again by the next run."""
    arxiv.add("1501.00001", TAR)
    arxiv.refuse("src", *[Answer(status)] * 2)
    assert fetched(arxiv, tmp_path).missed == {f"HTTP {status}": 1}
    assert fetched(arxiv, tmp_path).fetched == 1


def test_an_ignored_file_is_no_withdrawal(arxiv: FakeArxiv, tmp_path: Path) -> None:
    """As long as another file is a paper."""
    arxiv.add("1501.00001", gz(tar({"a.tex": TEX, "b.tex": b"%auto-ignore\n"})))
    assert fetched(arxiv, tmp_path).fetched == 1


def test_a_paper_that_always_fails_does_not_stop_the_others(
    arxiv: FakeArxiv, tmp_path: Path
) -> None:
    """Nor do several that failed before: they come last, before the licences."""
    for number in range(4):
        arxiv.add(f"1501.0000{number}", TAR)
        arxiv.papers[-1].status = 500
    good = arxiv.add("1501.00004", TAR, date="2015-01-01")
    result = fetched(arxiv, tmp_path)
    assert "3 papers in a row failed (no answer)" in result.stopped
    assert (result.missed, result.left) == ({"no answer": 3}, 2)
    result = fetched(arxiv, tmp_path)
    assert (result.fetched, result.missed) == (1, {"no answer": 4})
    assert (result.left, result.unlicensed, result.stopped) == (0, 0, "")
    assert metadata(tmp_path)[good.id]["licence"] == FREE
    for entry in arxiv.papers:
        entry.status = 200
    assert fetched(arxiv, tmp_path).fetched == 4


def test_a_paper_that_is_too_large_is_not_fetched_again(
    arxiv: FakeArxiv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could not be read either."""
    arxiv.add("1501.00001", TAR + bytes(10_000))
    monkeypatch.setattr(client, "MAX_BYTES", 9_000)
    assert fetched(arxiv, tmp_path).missed == {"too large": 1}
    assert fetched(arxiv, tmp_path).missed == {}
    assert len(arxiv.requested("src")) == 1


def test_a_run_without_any_paper_stops(arxiv: FakeArxiv, tmp_path: Path) -> None:
    """For example if the server sends a CAPTCHA for every paper."""
    for number in range(20):
        arxiv.add(f"1501.000{number:02}", b"<html>Are you human?</html>")
    arxiv.papers[1].source = PDF
    result = fetched(arxiv, tmp_path)
    assert "3 papers in a row failed (no paper)" in result.stopped
    assert (result.missed, result.left) == ({"no paper": 4, "pdf only": 1}, 15)
    assert len(arxiv.requested("src")) == 9
    arxiv.calls.clear()
    assert fetched(arxiv, tmp_path).left == 16
    assert len(arxiv.requested("src")) == 6


def test_existing_papers_are_not_fetched_again(arxiv: FakeArxiv, tmp_path: Path) -> None:
    """Unless the file is gone, or arXiv has a new version."""
    entry = arxiv.add("1501.00001", TAR)
    fetched(arxiv, tmp_path)
    made = planned(arxiv, tmp_path)
    assert (made.papers, made.present, made.requests) == ([], 1, 0)
    (tmp_path / "1501.00001.gz").unlink()
    assert fetched(arxiv, tmp_path).fetched == 1
    entry.version, entry.source = "v2", SINGLE
    assert fetched(arxiv, tmp_path).fetched == 1
    assert metadata(tmp_path)["1501.00001"]["version"] == "v2"
    assert (tmp_path / "1501.00001.gz").read_bytes() == SINGLE


@pytest.mark.parametrize(
    ("source", "cause", "again"), [(WITHDRAWN, "withdrawn", 0), (PDF, "pdf only", 0),
                                   (CUT, "broken archive", 1)],
)  # fmt: skip
def test_a_new_version_without_a_source_keeps_the_old_one(
    arxiv: FakeArxiv, tmp_path: Path, source: bytes, cause: str, again: int
) -> None:
    """The old file stays, with its licence."""
    entry = arxiv.add("1501.00001", TAR)
    fetched(arxiv, tmp_path)
    before = metadata(tmp_path)["1501.00001"]
    entry.version, entry.source = "v2", source
    result = fetched(arxiv, tmp_path)
    assert (result.missed, result.held, result.unlicensed) == ({cause: 1}, 1, 0)
    assert metadata(tmp_path)["1501.00001"] == {**before, "version": "v2", "cause": cause}
    assert (tmp_path / "1501.00001.gz").read_bytes() == TAR
    made = planned(arxiv, tmp_path)
    assert (len(made.papers), made.present) == (again, 1 - again)
    entry.version, entry.source = "v3", SINGLE
    assert fetched(arxiv, tmp_path).fetched == 1
    assert "cause" not in metadata(tmp_path)["1501.00001"]


def test_an_interrupted_run_continues(arxiv: FakeArxiv, tmp_path: Path) -> None:
    """At any request; partial files and partial lines of metadata are ignored."""
    for number in range(3):
        arxiv.add(f"1501.0000{number}", TAR)
    expected = {"1501.00000.gz", "1501.00001.gz", "1501.00002.gz", "metadata.jsonl"}
    for last in range(1, 7):
        folder, calls = tmp_path / str(last), 0

        def sleep(seconds: float) -> None:
            nonlocal calls
            calls += 1
            arxiv.clock.sleep(seconds)
            if calls > last:  # noqa: B023 - called while the loop stands here
                raise KeyboardInterrupt

        one = client.Client(clock=lambda: arxiv.clock.now, sleep=sleep)
        with closing(one):
            made = plan(folder, one, arxiv.site, query=IN_2015)
            with pytest.raises(KeyboardInterrupt):
                fetch(made, folder, one, arxiv.site)
        with (folder / "metadata.jsonl").open("a") as file:
            file.write('{"id": "1501.0')
        arxiv.calls.clear()
        result = fetched(arxiv, folder)
        assert files(folder) == expected
        assert len(arxiv.calls) == 1 + 7 - last
        assert result.fetched == max(0, 4 - last)
        assert [record["licence"] for record in metadata(folder).values()] == [FREE] * 3


def test_a_failed_write_leaves_no_file(
    arxiv: FakeArxiv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next run fetches the paper."""
    arxiv.add("1501.00001", TAR)

    def fill(path: Path, data: bytes) -> int:
        with path.open("wb") as file:
            file.write(data[:10])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", fill)
        with pytest.raises(OSError, match="No space left"):
            fetched(arxiv, tmp_path)
    assert not files(tmp_path)
    assert fetched(arxiv, tmp_path).fetched == 1


def test_the_run_stops_when_arxiv_stops_answering(arxiv: FakeArxiv, tmp_path: Path) -> None:
    """The result says how many papers are left."""
    for number in range(3):
        arxiv.add(f"1501.0000{number}", TAR)
    arxiv.refuse("src", Answer(body=TAR), *[Answer(503)] * 6)
    result = fetched(arxiv, tmp_path)
    assert "failed to answer 6 times (HTTP 503)" in result.stopped
    assert (result.fetched, result.left, result.unlicensed) == (1, 2, 1)
    assert not arxiv.requested("oai")
    result = fetched(arxiv, tmp_path)
    assert (result.fetched, result.left, result.unlicensed, result.stopped) == (2, 0, 0, "")


def test_a_missing_licence_is_requested_by_the_next_run(arxiv: FakeArxiv, tmp_path: Path) -> None:
    """Whatever the server sent instead."""
    arxiv.add("1501.00001", TAR)
    error = b'<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><error code="x"/></OAI-PMH>'
    bodies = (error, b"<html>", b"<?xml version='1.0' encoding='none-such'?><OAI-PMH/>")
    for answer in (*(Answer(body=body) for body in bodies), Answer(404, b"<html/>")):
        arxiv.refuse("oai", answer)
        assert fetched(arxiv, tmp_path).unlicensed == 1
        assert metadata(tmp_path)["1501.00001"]["licence"] is None
    assert planned(arxiv, tmp_path).requests == 1
    assert fetched(arxiv, tmp_path).unlicensed == 0
    assert len(arxiv.requested("src")) == 1


def test_a_licence_that_always_fails_does_not_stop_the_others(
    arxiv: FakeArxiv, tmp_path: Path
) -> None:
    """Three failures in a row do."""
    for number in range(4):
        arxiv.add(f"1501.0000{number}", TAR)
    arxiv.refuse("oai", *[Answer(500)] * 12)
    result = fetched(arxiv, tmp_path)
    assert (result.fetched, result.unlicensed, result.stopped) == (4, 2, "")
    (tmp_path / "metadata.jsonl").unlink()
    arxiv.refuse("oai", *[Answer(500)] * 18)
    result = fetched(arxiv, tmp_path)
    assert (result.fetched, result.unlicensed) == (4, 4)
    assert "failed to answer 6 times (HTTP 500)" in result.stopped
    assert not arxiv.failures["oai"]


def test_a_bad_or_locked_folder_is_rejected(arxiv: FakeArxiv, tmp_path: Path) -> None:
    """Before the first request."""
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is a file: give a folder for the papers"):
        planned(arxiv, tmp_path / "file")
    (tmp_path / "metadata.jsonl").write_text('{"title": "no id"}\n', "utf-8")
    with pytest.raises(UsageError, match=r"metadata.jsonl:1 is not a record of a paper"):
        planned(arxiv, tmp_path)
    assert not arxiv.calls
    arxiv.add("1501.00001", TAR)
    (tmp_path / "papers").mkdir()
    with (
        locked(tmp_path / "papers/.lock", "held"),
        pytest.raises(EqembError, match="papers is being filled by another eqemb"),
    ):
        fetched(arxiv, tmp_path / "papers")


def test_one_run_per_user(
    arxiv: FakeArxiv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the folder: arXiv allows one connection."""
    arxiv.add("1501.00001", TAR)
    made = planned(arxiv, tmp_path)
    lock = Path(os.environ["XDG_CACHE_HOME"], "eqemb/fetch.lock")
    arxiv.calls.clear()
    with locked(lock, "held"), closing(arxiv.clock.client()) as one:
        for ask in (
            lambda: plan(tmp_path / "a", one, arxiv.site, query=IN_2015),
            lambda: fetch(made, tmp_path / "b", one, arxiv.site),
        ):
            with pytest.raises(EqembError, match="arXiv is being asked by another eqemb"):
                ask()
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(UsageError, match=r"cannot make a lock file .*: set XDG_CACHE_HOME to"):
        planned(arxiv, tmp_path)
    assert not arxiv.calls


# -- the command

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(
    arxiv: FakeArxiv, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """`eqemb fetch` with the server and its clock."""
    clock = arxiv.clock
    on_clock = partial(client.Client, clock=lambda: clock.now, sleep=clock.sleep)
    monkeypatch.setattr(client, "Client", on_clock)

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["eqemb", "fetch", *map(str, arguments), *arxiv.options])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0), *capsys.readouterr()

    return call


def test_dry_run_and_run(run: Run, arxiv: FakeArxiv, tmp_path: Path) -> None:
    """The command ends with what to type next."""
    papers = tmp_path / "papers"
    for number, source in enumerate((TAR, SINGLE, PDF, WITHDRAWN, TAR)):
        arxiv.add(f"1501.0000{number}", source, date=f"2015-01-0{number + 1}")
    asked = ("--category", "nlp", "--from", "2015-01", "--to", "2016-12", "--max", 4, "-o", papers)
    assert run(*asked, "--dry-run") == (
        0,
        (
            "4 papers to fetch, 0 already there\n8 requests (4 sources, 4 licences),\n"
            "about 32 s with 3 s between two requests\n"
        ),
        "5 papers match; --max takes the newest 4\n",
    )
    assert not papers.exists()
    code, out, err = run(*asked)
    assert code == 0
    assert [line.split()[:2] for line in out.splitlines()] == [
        *(["fetched", "2"], ["withdrawn", "1"], ["pdf", "only"]),
    ]
    assert err.splitlines()[1:] == [
        "8 requests, about 32 s; it is safe to press Ctrl-C",
        f"next: eqemb build {papers} -o library/",
    ]
    code, out, _ = run(*asked, "--json")
    assert json.loads(out) == {
        "matching": 5, "to_fetch": 0, "there": 2, "sourceless": 2, "calls": 0, "seconds": 0,
        "unknown": [], "unlisted": 0, "fetched": 0, "bytes": 0, "held": 2, "unlicensed": 0,
        "left": 0, "stopped": "", "missed": {},
    }  # fmt: skip


def test_the_document_and_the_help_name_the_same_options(run: Run) -> None:
    """Except options of every command."""
    written = (Path(__file__).parents[2] / "docs/fetching.md").read_text("utf-8")
    _, helped, _ = run("--help")
    options = set(re.findall(r"--[a-z-]+", helped)) - {"--help", "--json", "--output"}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", written)) == options


def test_the_python_of_the_document_runs(
    arxiv: FakeArxiv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against the local server."""
    written = (Path(__file__).parents[2] / "docs/fetching.md").read_text("utf-8")
    code = written.split("```python\n")[1].split("```")[0]
    arxiv.add("1501.00001", TAR, categories=("cs.IR",), date="2015-06-30")
    monkeypatch.setattr(client, "Client", arxiv.clock.client)
    monkeypatch.setattr(client, "Site", lambda: arxiv.site)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - our own document
    assert names["done"].fetched == 1


def test_a_run_without_a_source_fails(run: Run, arxiv: FakeArxiv, tmp_path: Path) -> None:
    """There is nothing to build from."""
    arxiv.add("1501.00001", PDF)
    asked = ("--category", "nlp", "-o", tmp_path)
    sentence = (
        f"eqemb: none of these papers has a LaTeX source: there is nothing to build in {tmp_path}\n"
    )
    code, out, err = run(*asked)
    assert (code, out.split()) == (1, [*"fetched 0 0.0 MB in".split(), str(tmp_path), "pdf",
                                       *"only 1 not fetched".split()])  # fmt: skip
    assert err.endswith(sentence)
    code, out, err = run(*asked)
    assert out.splitlines()[1].split() == ["no", "source", "1", "known", "from", "before"]
    assert (code, err) == (1, sentence)


def test_identifiers_come_from_every_kind_of_input(
    run: Run, arxiv: FakeArxiv, tmp_path: Path
) -> None:
    """Entries without an identifier are named."""
    for number in range(1, 5):
        arxiv.add(f"1501.0000{number}", TAR)
    (tmp_path / "ids.txt").write_text("1501.00001\nnonsense\n1501.00009\n", "utf-8")
    (tmp_path / "list.txt").write_text("1501.00002\n", "utf-8")
    (tmp_path / "refs.bib").write_text("@a{x, eprint={1501.00003}}\n@a{book, year=1}\n", "utf-8")
    (tmp_path / "pdfs").mkdir()
    (tmp_path / "pdfs/1501.00004v1.pdf").write_bytes(PDF)
    (tmp_path / "pdfs/mine.pdf").write_bytes(PDF)
    inputs = (
        "--ids",
        "ids.txt",
        "--manifest",
        "list.txt",
        "--bib",
        "refs.bib",
        "--from-pdfs",
        "pdfs",
    )
    places = [tmp_path / name if number % 2 else name for number, name in enumerate(inputs)]
    code, out, err = run(*places, "-o", tmp_path / "papers")
    assert code == 0
    assert out.startswith("fetched                    4  ")
    assert err.splitlines() == [
        f"{tmp_path}/ids.txt: entries without an arXiv identifier: 1 (line 2 (nonsense))",
        f"{tmp_path}/refs.bib: entries without an arXiv identifier: 1 (book)",
        f"{tmp_path}/pdfs: entries without an arXiv identifier: 1 (mine.pdf)",
        "not on arXiv: 1 (1501.00009)",
        "8 requests, about 32 s; it is safe to press Ctrl-C",
        f"next: eqemb build {tmp_path}/papers -o library/",
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        ([], 2, "no papers given: use --category nlp, --since 2026-11-01, or --ids, --bib,"),
        (["--from", "2015"], 2, "--from and --to can only be used with --category"),
        (["--category", "cs.XX"], 1, "nothing to fetch: arXiv has no paper of cs.XX at that time"),
        (
            ["--category", "nlp", "--delay", "1"],
            2,
            "delay must be at least 3 s, as arXiv asks, not 1 s",
        ),
        (["--category", "nlp", "--to", "May"], 2, "'May' is not a date"),
        (["--bib", "none.bib"], 2, "cannot read none.bib: No such file or directory"),
        (["--manifest", "benchmarks/collections/ir.tsv"], 2, "lists papers in Git repositories"),
    ],
)
def test_usage_errors_are_one_line(
    run: Run, tmp_path: Path, arguments: list[str], code: int, sentence: str
) -> None:
    """Nothing is written."""
    place = Path(__file__).parents[2]
    given = [str(place / name) if name.startswith("benchmarks") else name for name in arguments]
    ended, out, err = run(*given, "-o", tmp_path / "papers")
    assert (ended, out) == (code, "")
    assert err.startswith("eqemb: ")
    assert sentence in err
    assert err.count("\n") == 1
    assert not (tmp_path / "papers").exists()


def test_messages_after_a_stop_and_an_interruption(
    run: Run, arxiv: FakeArxiv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both say that the same command continues."""
    arxiv.add("1501.00001", TAR)
    arxiv.add("1501.00002", TAR)
    asked = ("--category", "nlp", "-o", tmp_path / "papers")
    arxiv.refuse("src", Answer(body=TAR), Answer(403))
    code, out, err = run(*asked)
    assert code == 1
    assert [line.split() for line in out.splitlines()[1:]] == [
        *(["not", "tried", "yet", "1"], ["licence", "unknown", "1"]),
    ]
    assert err.endswith("denies access (HTTP 403): run the same command later to continue\n")

    def interrupt(_: object) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(fetching, "_parse_licence", interrupt)
        assert run(*asked) == (
            130,
            "",
            (
                "3 requests, about 12 s; it is safe to press Ctrl-C\n"
                "eqemb: interrupted; downloaded papers are kept, run the same command to continue\n"
            ),
        )
    code, out, _ = run(*asked)
    assert out.splitlines()[1].split() == ["already", "there", "2"]
