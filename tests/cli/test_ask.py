"""Commands that ask a library: what they print, their JSON, and how they fail."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from axes import make_library
from synthetic import Run

COSINE = r"\cos(u, v) = \frac{u \cdot v}{\|u\| \|v\|}"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with a handmade model."""
    with make_library(tmp_path_factory.mktemp("asking")) as made:
        return made.folder


def test_describe_prints_words_with_sentences(run: Run, library: Path) -> None:
    """The equation, then each word with a sentence."""
    done = run("describe", library, "angles#1", "-k", 2)
    assert done.code == 0
    assert done.out.startswith("cos(x, y) = ")
    assert "Whoever compares documents" in done.out
    assert " · angles" in done.out


@pytest.mark.parametrize("command", ["describe", "search", "similar"])
def test_answers_fit_a_terminal(
    run: Run, library: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """No line is wider, and file names and articles are not cut."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "62")
    done = run(command, library, "angles#1")
    assert max(map(len, done.out.splitlines())) <= 62
    ends = {"describe": " · angles", "search": "angles.tex:3", "similar": "documents.tex:2"}
    assert f"{ends[command]}\n" in done.out


def test_describe_as_json(run: Run, library: Path) -> None:
    """One object with these keys."""
    found = json.loads(run("describe", library, COSINE, "--json").out)
    assert {"words", "asked", "kin"} <= set(found)
    assert set(found["words"][0]) == {
        *("word", "score", "sentence", "sentence_text", "article"),
    }


def test_an_equation_without_matches_fails(run: Run, library: Path) -> None:
    """With one line and exit code 1."""
    done = run("describe", library, r"\aleph \boxtimes \beth_{\gimel} \wp")
    assert (done.code, done.out) == (1, "")
    assert "similar to this one" in done.err


def test_words_prints_neighbours(run: Run, library: Path) -> None:
    """One per line; similar spellings and exit code 2 for an unknown word."""
    assert len(run("words", library, "recall", "-k", 3).out.splitlines()) == 3
    found = json.loads(run("words", library, "recall", "--json").out)
    assert {near["word"] for near in found["words"][:4]} == {
        *("harmonic", "precision", "balanced", "retrieval")
    }
    done = run("words", library, "recal")
    assert done.code == 2
    assert "did you mean recall?" in done.err


def test_query_adds_and_subtracts(run: Run, library: Path) -> None:
    """Both options are repeatable."""
    done = run("query", library, "--plus", "cosine", "--plus", "angles#1", "--minus", "recall")
    assert "documents#1" in done.out
    done = run("query", library, "--plus", "cosin")
    assert done.code == 1
    assert "not in the model: cosin; did you mean cosine?" in done.err


def test_why_marks_in_brackets_without_a_terminal(run: Run, library: Path) -> None:
    """For words, the parts of the score are shown."""
    done = run("why", library, COSINE, "angles#1")
    assert "⟦cos(x, y) =⟧" in done.out
    assert "\x1b" not in done.out
    assert "letters: u → x, v → y" in done.out
    assert "words: cosine" in run("why", library, "cosine recall", "angles#1").out
    assert json.loads(run("why", library, COSINE, "angles#1", "--json").out)["letters"] == {
        "u": "x",
        "v": "y",
    }


def test_why_marks_in_colour_on_a_terminal(
    run: Run, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless NO_COLOR is set."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[1;33mcos(x, y) =\x1b[0m" in run("why", library, COSINE, "angles#1").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run("why", library, COSINE, "angles#1").out


def test_the_documentation_lists_the_json_keys(run: Run, library: Path) -> None:
    """Every key, in order, and no other."""
    text = (Path(__file__).parents[2] / "docs" / "asking.md").read_text("utf-8")
    answer, others = re.findall(r"```\n(\{.*?)```", text.partition("## For programs")[2], re.DOTALL)
    described, neighbours, why = re.split(r"\n(?=\{)", others)
    for block, command in {
        answer: ("search", "cosine"),
        described: ("describe", "angles#1"),
        neighbours: ("words", "recall"),
        why: ("why", "angles#1", "documents#1"),
    }.items():
        found = json.loads(run(command[0], library, *command[1:], "--json").out)
        assert re.findall(r'"(\w+)"', block) == _keys(found), command


def _keys(found: dict[str, Any]) -> list[str]:
    """The keys of an object in order, nested ones after their parent; free-form ones are not."""
    free = ("parts", "letters", "near", "asked", "other")
    keys = []
    for key, value in found.items():
        first = value[0] if isinstance(value, list) and value else value
        inside = isinstance(first, dict) and key not in free
        keys += [key, *(_keys(first) if inside else [])]
    return keys


@pytest.mark.parametrize(
    "call", [("search", "precision"), ("similar", COSINE), ("query", "--plus", "cosine")]
)
def test_all_collections_is_the_default(run: Run, library: Path, call: tuple[str, ...]) -> None:
    """As in `train` and `split`, "all" means every collection."""
    command, *given = call
    done = run(command, library, *given, "--collection", "all", "--json")
    assert done == run(command, library, *given, "--json")
    assert json.loads(done.out)["hits"]
    assert run(command, library, *given, "--collection", "elsewhere").code == 2


def test_options_are_not_excluded_words(run: Run, library: Path) -> None:
    """-k5 is a count; -elsewhere excludes a word."""
    asked = ("search", library, "precision", "--json")
    assert len(json.loads(run(*asked, "-k1").out)["hits"]) == 1
    every, without = (json.loads(run(*asked, *more).out)["hits"] for more in ((), ("-elsewhere",)))
    assert 0 < len(without) < len(every)


def test_the_published_ranking_reports_missing_vectors(run: Run, library: Path) -> None:
    """On stderr, besides the answer."""
    done = run("search", library, "cosine", "--by", "paper")
    assert done.code == 0
    assert "for lack of a vector in the model: 1" in done.err
    done = run("search", library, "cosine", "--by", "paper", "--article", "angles")
    assert (done.code, done.err) == (0, "")


@pytest.mark.parametrize("latex", [r"-\cos(x, y)", "-x_i", "-2x", "-(x + y)", "- x^2"])
def test_an_equation_may_start_with_a_minus(run: Run, library: Path, latex: str) -> None:
    """Options after it are still options."""
    assert len(json.loads(run("similar", library, latex, "-k1", "--json").out)["hits"]) <= 1
    why = json.loads(run("why", library, latex, "angles#1", "--json").out)
    assert why["query"]["query"] == latex
    assert "words" in json.loads(run("describe", library, latex, "--json").out)
    assert run("units", latex).out.startswith("−\n")


@pytest.mark.parametrize("option", ["--josn", "-josn", "-j", "-j5", "--josn=x^2"])
@pytest.mark.parametrize("command", ["similar", "describe"])
def test_a_misspelt_option_is_not_an_equation(
    run: Run, library: Path, command: str, option: str
) -> None:
    """Letters after a dash may be meant as an option, so they are rejected."""
    done = run(command, library, COSINE, option)
    assert (done.code, done.out) == (2, "")
    assert "no such option" in done.err
    assert run(command, library, option).code == 2


@pytest.mark.parametrize(
    ("style", "start"),
    [("csv", "rank,id,number,"), ("bibtex", "@misc{"), ("latex", "% "), ("json", '{"hits": ')],
)
@pytest.mark.parametrize("command", ["search", "similar"])
def test_answers_have_formats(
    run: Run, library: Path, command: str, style: str, start: str
) -> None:
    """Nothing else is printed."""
    done = run(command, library, "angles#1", "--format", style)
    assert done.code == 0
    assert done.out.startswith(start)
    assert "\r" not in done.out


def test_formats_are_checked(run: Run, library: Path) -> None:
    """An unknown one, and two at once."""
    assert "choose one of text, json, csv" in run("search", library, "x", "--format", "xml").err
    both = run("search", library, "cosine", "--json", "--format", "csv")
    assert both.code == 2
    assert "contradict" in both.err
    assert run("search", library, "cosine", "--format", "text").out == (
        run("search", library, "cosine").out
    )


@pytest.mark.parametrize("command", ["search", "similar", "describe", "notation"])
def test_queries_that_mean_nothing(run: Run, library: Path, command: str) -> None:
    r"""One text for an empty query; `\[` is shown as it was typed, a long query shortened."""
    assert "the query is empty: give " in run(command, library, " ").err
    long = run(command, library, "?" * 2_000 + r" \[")
    assert len(long.err) < 250
    if command != "search":
        assert r"'\['" in run(command, library, r"\[").err


def test_an_article_is_left_out(run: Run, library: Path) -> None:
    """And only one kind of match is listed."""
    found = run("search", library, "cosine", "--without", "documents").out
    assert "angles#1" in found
    assert "documents#1" not in found.split("angles#1")[0]
    done = run("search", library, "cosine unheardof", "--kind", "all words")
    assert "no matches" in done.err or "no good match" in done.err
