"""Ask every door bad queries and print what each says: command line, Python and API.

    python benchmarks/bad_queries.py LIBRARY

The queries are in bad_queries.toml, each with how it should end. The table has, for every query,
the exit status and the last line of `eqemb search`, and the status and `match` of the API;
`Library.search` gives the same as the API. The script fails if a door shows a traceback, a status
from 500 on, a list of hits that are all weak, or another end than the file says.
"""

import argparse
import sys
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple

from fastapi.testclient import TestClient

from eqemb.cli import main as run_eqemb
from eqemb.errors import EqembError
from eqemb.facade.library import Library
from eqemb.server.app import make_app

QUERIES = Path(__file__).parent / "bad_queries.toml"
_WIDTH = 48


class BadQuery(NamedTuple):
    """A query, and how it should end."""

    text: str
    ends: str


class Said(NamedTuple):
    """What every door says to a query."""

    query: BadQuery
    exit_status: int
    terminal: str
    """The last line that the command prints to stderr."""
    python: str
    """"good", "weak" or "none" (`Answer.match`), or the error."""
    http_status: int
    api: str
    """`match` of the answer, or the error."""
    is_explained: bool
    """Whether the answer says how the query was read, or what is not known."""

    @property
    def problems(self) -> list[str]:
        """What is wrong with the answers."""
        found = []
        if "Traceback" in self.terminal or self.exit_status not in (0, 1, 2):
            found.append("the command fails")
        if self.http_status >= 500:
            found.append("the API fails")
        is_listed = self.exit_status == 0
        if is_listed and self.python in ("weak", "none"):
            found.append("weak hits are listed")
        if (self.exit_status == 2) != (self.http_status == 400):
            found.append("the doors disagree")
        ends = {"refused": self.exit_status == 2, "none": self.exit_status == 1}
        ends |= {"repaired": self.exit_status < 2 and self.is_explained, "any": True}
        if not ends[self.query.ends]:
            found.append(f"should be: {self.query.ends}")
        return found


def read_queries(path: Path = QUERIES) -> list[BadQuery]:
    """Read the queries of a file."""
    return [
        BadQuery(each.get("repeat", each["text"]) * each.get("times", 1), each["ends"])
        for each in tomllib.loads(path.read_text("utf-8"))["query"]
    ]


def run_command(*arguments: str) -> tuple[int, str]:
    """Run eqemb in this process; return its exit status and its messages."""
    out, messages = (TextIOWrapper(BytesIO(), "utf-8") for _ in range(2))
    with redirect_stdout(out), redirect_stderr(messages):
        try:
            sys.argv = ["eqemb", *arguments]
            run_eqemb()
            status = 0
        except SystemExit as end:
            status = int(end.code or 0)
    messages.seek(0)
    return status, messages.read()


def ask(folder: Path, queries: list[BadQuery]) -> Iterator[Said]:
    """Ask every door."""
    client = TestClient(
        make_app(folder), base_url="http://localhost", raise_server_exceptions=False
    )
    with Library.open(folder) as library, client:
        for query in queries:
            exit_status, messages = run_command("search", str(folder), "--", query.text)
            lines = messages.replace(str(folder), "LIBRARY").strip().splitlines()
            is_explained = False
            try:
                answer = library.search(query.text)
                python = str(answer.match)
                is_explained = bool(answer.notes or answer.reading or answer.unknown)
            except EqembError as error:
                python = str(error)
            reply = client.get("/v1/search", params={"q": query.text})
            body: dict[str, Any] = reply.json()
            api = str(body.get("match") or body.get("error") or body)
            yield Said(
                query,
                exit_status,
                lines[-1] if lines else "",
                python,
                reply.status_code,
                api,
                is_explained,
            )


def _cell(text: str) -> str:
    """Return a text as a cell of a Markdown table, shortened."""
    short = text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"
    return "`" + short.replace("|", "\\|").replace("`", "'").replace("\n", " ") + "`"


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", type=Path)
    options = parser.parse_args()
    print("| query | exit | `eqemb search` says | HTTP | API: `match`, or error |")
    print("|---|---|---|---|---|")
    wrong = []
    for said in ask(options.library, read_queries()):
        cells = [_cell(said.query.text), str(said.exit_status), _cell(said.terminal)]
        cells += [str(said.http_status), _cell(said.api)]
        print(f"| {' | '.join(cells)} |", flush=True)
        wrong += [f"{said.query.text!r}: {problem}" for problem in said.problems]
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()
