"""What is new on arXiv is listed through OAI-PMH, completely and politely."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from eqemb import cli
from eqemb.arxiv import client
from eqemb.arxiv import harvest as harvesting
from eqemb.arxiv.client import UnavailableError
from eqemb.arxiv.fetch import FetchResult, News, fetch, plan
from eqemb.arxiv.harvest import Harvest, harvest
from eqemb.errors import EqembError, UsageError
from fake_arxiv import FREE, Answer, Clock, FakeArxiv, oai, serving
from packing import gz
from synthetic import paper
from timing import assert_linear

SOURCE = gz(paper(r"Some words. \begin{equation} x = 1 \end{equation}").encode())


@pytest.fixture
def arxiv() -> Iterator[FakeArxiv]:
    """A server with five papers of November, and an older one."""
    with serving(Clock()) as server:
        for day in range(1, 6):
            of = ("cs.LG",) if day % 2 else ("math.PR", "cs.CL")
            server.add(f"2611.0000{day}", SOURCE, date=f"2026-11-0{day}", categories=of)
        server.add("2501.00001", SOURCE, date="2025-01-02")
        yield server


def listed(arxiv: FakeArxiv, folder: Path, since: str = "2026-11-01", *sets: str) -> Harvest:
    """What is new."""
    with closing(arxiv.clock.client()) as one:
        return harvest(folder, one, arxiv.site, since, sets)


def fetched(arxiv: FakeArxiv, folder: Path, since: str = "2026-11-01", **news: Any) -> FetchResult:
    """Plan and fetch what is new."""
    with closing(arxiv.clock.client()) as one:
        made = plan(folder, one, arxiv.site, news=News(since, **news))
        return fetch(made, folder, one, arxiv.site)


def test_every_page_is_listed_at_the_polite_rate(arxiv: FakeArxiv, tmp_path: Path) -> None:
    """A token leads to the next page; a request follows another after three seconds."""
    found = listed(arxiv, tmp_path)
    assert list(found.papers) == [f"2611.0000{day}" for day in range(1, 6)]
    first = found.papers["2611.00002"]
    assert first.authors == ("A. Author", "B. Gödel Jr")
    assert (first.title, first.date, first.licence) == ("On Words & Numbers", "2026-11-02", FREE)
    assert first.categories == ("math.PR", "cs.CL")
    targets = [call.target for call in arxiv.calls]
    assert len(targets) == 3
    assert "metadataPrefix=arXiv&from=2026-11-01" in targets[0]
    assert "resumptionToken=" in targets[2]
    assert "metadataPrefix" not in targets[2]
    times = [call.time for call in arxiv.calls]
    assert all(later - earlier >= 3 for earlier, later in pairwise(times))


def test_sets_are_asked_for_one_by_one(arxiv: FakeArxiv, tmp_path: Path) -> None:
    """A paper of two sets is listed once."""
    found = listed(arxiv, tmp_path, "2026-11", "math", "cs")
    assert sorted(found.papers) == [f"2611.0000{day}" for day in range(1, 6)]
    assert [call.target.count("set=") for call in arxiv.calls] == [1, 1, 0, 0]


def test_a_busy_server_is_waited_for(arxiv: FakeArxiv, tmp_path: Path) -> None:
    """As long as it asks for; a page that is damaged is requested again."""
    busy = Answer(503, headers=(("Retry-After", "40"),))
    arxiv.refuse("oai", busy, Answer(body=b"<html>Sorry"), Answer(body=b"<OAI-PMH/>"))
    started = arxiv.clock.now
    assert len(listed(arxiv, tmp_path).papers) == 5
    assert arxiv.clock.now - started > 40
    assert len(arxiv.calls) == 6


def test_a_listing_that_was_interrupted_continues(arxiv: FakeArxiv, tmp_path: Path) -> None:
    """With the token of the last page that came."""
    long = Answer(503, headers=(("Retry-After", "9000"),))
    found = listed(arxiv, tmp_path / "whole")
    arxiv.calls.clear()

    answers = arxiv.answer
    calls = 0

    def fail_second(target: str) -> Answer:
        nonlocal calls
        calls += 1
        return long if calls == 2 else answers(target)

    arxiv.answer = fail_second  # type: ignore[method-assign]
    with pytest.raises(UnavailableError, match="arXiv asks for a pause"):
        listed(arxiv, tmp_path / "parts")
    notes = tmp_path / "parts" / ".harvest.jsonl"
    notes.write_text(notes.read_text() + '{"cut')  # as by a kill
    arxiv.calls.clear()
    again = listed(arxiv, tmp_path / "parts")
    assert again.papers == found.papers
    assert all("resumptionToken" in call.target for call in arxiv.calls)
    assert len(arxiv.calls) == 2
    listed(arxiv, tmp_path / "parts")
    assert len(arxiv.calls) == 2  # it is complete


def test_an_expired_token_starts_the_listing_again(arxiv: FakeArxiv, tmp_path: Path) -> None:
    """Once; a server that never accepts its token is given up."""
    arxiv.expired.add("|2026-11-01|2")
    with pytest.raises(UnavailableError, match="arXiv does not accept its own token"):
        listed(arxiv, tmp_path)
    arxiv.expired.clear()
    assert len(listed(arxiv, tmp_path).papers) == 5


ASKED = '{"since": "2026-11-01", "sets": []}\n'
PAGE = '{"day": "", "set": "", "token": "", "papers": [], "deleted": [[]], "damaged": 0}\n'


@pytest.mark.parametrize("damage", ["", "{", "[]\n", f'{ASKED}{{"papers": 3}}\n', ASKED + PAGE])
def test_damaged_notes_are_dropped(arxiv: FakeArxiv, tmp_path: Path, damage: str) -> None:
    """The listing starts again."""
    (tmp_path / ".harvest.jsonl").write_text(damage)
    assert len(listed(arxiv, tmp_path).papers) == 5


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("authors", None),  # None stands for a field that is missing
        ("version", None),
        ("title", 3),
        ("authors", ["A", 3]),
        ("categories", "cs.LG"),
        ("unknown", "x"),
    ],
)
def test_notes_of_incomplete_records_are_dropped(
    arxiv: FakeArxiv, tmp_path: Path, field: str, value: object
) -> None:
    """The listing starts again, instead of failing on every run."""
    listed(arxiv, tmp_path)
    asked = len(arxiv.calls)
    notes = tmp_path / ".harvest.jsonl"
    first, page, *others = notes.read_text("utf-8").splitlines()
    changed = json.loads(page)
    changed["papers"][0].pop(field, None)
    if value is not None:
        changed["papers"][0][field] = value
    notes.write_text("\n".join([first, json.dumps(changed), *others]) + "\n", "utf-8")
    assert len(listed(arxiv, tmp_path).papers) == 5
    assert len(arxiv.calls) == 2 * asked


def test_a_listing_that_starts_again_counts_once(arxiv: FakeArxiv, tmp_path: Path) -> None:
    """Records of the pages before a token expired are not counted twice; other sets stay."""
    token = "<resumptionToken>old</resumptionToken>"
    first = oai(f"<ListRecords><record/>{token}</ListRecords>")
    last = oai("<ListRecords><record/><record/></ListRecords>")
    expired = oai('<error code="badResumptionToken"/>')
    other = oai("<ListRecords><record/></ListRecords>")
    arxiv.refuse("oai", other, first, expired, first, last)
    assert listed(arxiv, tmp_path, "2026-11-01", "math", "cs").damaged == 4


def test_deleted_records_take_linear_time(tmp_path: Path) -> None:
    """Many pages may name them."""

    def page(count: int) -> dict[str, Any]:
        names = [f"2611.{number:05}" for number in range(count)]
        return {"day": "", "papers": [], "deleted": names, "damaged": 0}

    def add_twice(page: dict[str, Any]) -> None:
        found = Harvest(tmp_path, "2026-11-01", ())
        found.add(page)
        found.add(page)
        assert len(found.deleted) == len(page["deleted"])

    assert_linear(page, add_twice, (2_000, 8_000))


def test_a_token_that_repeats_ends_the_listing(arxiv: FakeArxiv, tmp_path: Path) -> None:
    """Instead of an endless loop."""
    page = "<ListRecords><resumptionToken>same</resumptionToken></ListRecords>"
    arxiv.refuse("oai", *[oai(page)] * 3)
    with pytest.raises(UnavailableError, match="the same page again and again"):
        listed(arxiv, tmp_path)


def test_records_that_are_deleted_or_damaged_are_counted(arxiv: FakeArxiv, tmp_path: Path) -> None:
    """They are no papers."""
    arxiv.papers[0].is_deleted = True
    broken = "<record><header/></record><record/>"
    empty = "<record><metadata><arXiv><id>x</id></arXiv></metadata></record>"
    arxiv.refuse("oai", oai(f"<ListRecords>{broken}{empty}</ListRecords>"))
    assert listed(arxiv, tmp_path / "one").damaged == 3
    found = listed(arxiv, tmp_path / "two")
    assert (list(found.deleted), len(found.papers)) == (["2611.00001"], 4)


def test_nothing_new_and_errors(arxiv: FakeArxiv, tmp_path: Path) -> None:
    """The first is no error."""
    assert not listed(arxiv, tmp_path, "2027").papers
    arxiv.refuse("oai", oai('<error code="badArgument">no such\n set</error>'))
    with pytest.raises(EqembError, match="arXiv rejected the request: no such set"):
        listed(arxiv, tmp_path / "other", "2026", "cs")
    arxiv.refuse("oai", *[Answer(body=b"no XML")] * 3)
    with pytest.raises(UnavailableError, match="pages that are not OAI-PMH"):
        listed(arxiv, tmp_path / "other", "2026", "cs")
    encodings = [b"<?xml version='1.0' encoding='%b'?><OAI-PMH/>" % name for name in (b"x", b"gbk")]
    arxiv.refuse("oai", *map(Answer, [200] * 3, [*encodings, b"no XML"]))
    with pytest.raises(UnavailableError, match="pages that are not OAI-PMH"):
        listed(arxiv, tmp_path / "other", "2026", "cs")
    with pytest.raises(UsageError, match="'c s' is not a set of arXiv"):
        listed(arxiv, tmp_path, "2026", "c s")
    with pytest.raises(UsageError, match="is not a date"):
        listed(arxiv, tmp_path, "yesterday")


def test_a_listing_has_a_bound(
    arxiv: FakeArxiv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond it, the bulk archive is the way."""
    monkeypatch.setattr(harvesting, "_MOST_PAPERS", 3)
    with pytest.raises(UsageError, match="more than 3 papers are new since 2026-11-01: take"):
        listed(arxiv, tmp_path)


def test_new_papers_are_fetched_with_their_licences(arxiv: FakeArxiv, tmp_path: Path) -> None:
    """No request for a licence is needed; a paper that changes is fetched again."""
    assert fetched(arxiv, tmp_path, sets=("cs",), categories=("cs.LG",)).fetched == 3
    assert not [call for call in arxiv.calls if "GetRecord" in call.target]
    lines = (tmp_path / "metadata.jsonl").read_text("utf-8").splitlines()
    records = {record["id"]: record for record in map(json.loads, lines)}
    assert sorted(records) == ["2611.00001", "2611.00003", "2611.00005"]
    assert records["2611.00001"]["licence"] == FREE
    assert records["2611.00001"]["file"] == "2611.00001.gz"
    assert not (tmp_path / ".harvest.jsonl").exists()
    again = fetched(arxiv, tmp_path, sets=("cs",), categories=("cs.LG",))
    assert (again.fetched, again.held) == (0, 3)
    arxiv.papers[0].changed = arxiv.papers[0].updated = "2026-11-19"
    assert fetched(arxiv, tmp_path, "last", sets=("cs",), categories=("cs.LG",)).fetched == 1
    assert arxiv.calls[-2].target.endswith("from=2026-11-18&set=cs")
    with pytest.raises(UsageError, match="does not record when arXiv was last asked"):
        fetched(arxiv, tmp_path, "last", sets=("math",))


def test_the_last_run_is_that_of_the_same_categories(arxiv: FakeArxiv, tmp_path: Path) -> None:
    """A run for other categories did not take the papers of these."""
    assert fetched(arxiv, tmp_path, categories=("cs.LG", "stat.ML")).fetched == 3
    for other in ((), ("math.PR",)):
        with pytest.raises(UsageError, match="last asked for these sets and categories"):
            fetched(arxiv, tmp_path, "last", categories=other)
    assert fetched(arxiv, tmp_path, categories=("math.PR",)).fetched == 2
    arxiv.papers[0].changed = arxiv.papers[0].updated = "2026-11-19"
    assert fetched(arxiv, tmp_path, "last", categories=("stat.ML", "cs.LG")).fetched == 1


def test_a_category_may_be_an_archive(arxiv: FakeArxiv, tmp_path: Path) -> None:
    """It stands for all its categories, but not for archives whose names begin alike."""
    arxiv.add("2611.00009", SOURCE, date="2026-11-09", categories=("math-ph",))
    assert fetched(arxiv, tmp_path, categories=("math",)).fetched == 2


def test_papers_of_other_listings_are_not_fetched_again(arxiv: FakeArxiv, tmp_path: Path) -> None:
    """A first version stays, if there is no later one."""
    with closing(arxiv.clock.client()) as one:
        made = plan(tmp_path, one, arxiv.site, ids=["2611.00001", "2611.00002"])
        assert fetch(made, tmp_path, one, arxiv.site).fetched == 2
    arxiv.papers[1].updated = "2026-11-04"
    done = fetched(arxiv, tmp_path)
    assert (done.fetched, done.held) == (4, 5)


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


def test_the_command(run: Run, arxiv: FakeArxiv, tmp_path: Path) -> None:
    """It says what is new, what was deleted and what to type next; nothing new is no failure."""
    arxiv.papers[0].is_deleted = True
    asked = ("--since", "2026-11-01", "--set", "cs", "-o", tmp_path)
    code, out, err = run(*asked, "--dry-run")
    assert (code, out.splitlines()[0]) == (0, "4 papers to fetch, 0 already there")
    code, out, err = run(*asked)
    assert code == 0
    assert "fetched                    4" in out
    assert "new or changed since 2026-11-01: 4 papers" in err
    assert "deleted at arXiv, their files are kept: 1 (2611.00001)" in err
    assert f"next: eqemb add LIBRARY {tmp_path}" in err
    code, out, err = run("--since", "2026-11-01", "--category", "math.*", "-o", tmp_path / "maths")
    assert (code, err.count("new or changed since 2026-11-01: 2 papers")) == (0, 1)
    assert run("--since", "2027", "--set", "cs", "-o", tmp_path / "new")[0] == 0
    assert json.loads(run(*asked, "--json")[1])["deleted"] == ["2611.00001"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--set", "cs"], "--set can only be used with --since"),
        (["--since", "2026", "--from", "2025"], "--from and --to are days of submission"),
        (["--since", "last"], "does not record when arXiv was last asked"),
    ],
)
def test_wrong_options(run: Run, tmp_path: Path, options: list[str], message: str) -> None:
    """One sentence."""
    code, _, err = run(*options, "-o", tmp_path)
    assert code == 2
    assert message in err
