"""The benchmark of formats, on a few documents: figures, counts, samples and mutants."""

import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from format_counts import count_displays
from format_mutants import account, fault, mutant

from eqemb.article import Article, Equation, Problem
from eqemb.readers.draft import NOT_ACCOUNTED
from eqemb.sources import Source

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
RST = "Title\n=====\n\nNow\n\n.. math:: a = b\n   :label: x\n\nfrom :eq:`x`.\n\n.. math::\n\nEnd.\n"
TEX = "\\documentclass{article}\\begin{document}Words. \\[ a \\] $$ b $$\\end{document}"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A packed source and a folder."""
    folder = tmp_path / "open"
    (folder / "papers").mkdir(parents=True)
    (folder / "papers" / "one.tex").write_text(TEX, "utf-8")
    with tarfile.open(folder / "notes.tar.xz", "w:xz") as archive:
        for name in ("notes/a.rst", "notes/b.rst"):
            member = tarfile.TarInfo(name)
            member.size = len(RST)
            archive.addfile(member, io.BytesIO(RST.encode()))
    return folder


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the benchmark."""
    command = [sys.executable, str(BENCHMARKS / "formats.py"), *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, check=False, text=True, encoding="utf-8", timeout=300
    )


@pytest.mark.slow
def test_figures(sources: Path) -> None:
    """Each format has its documents, displays, losses and count."""
    done = run(sources, "--json")
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    rst = figures["rst"]
    assert (rst["documents"], rst["displays"], rst["lost"], rst["count"]) == (2, 2, 2, 4)
    assert (rst["share"], rst["problems"]) == (0.5, {"lost: empty equation": 2})
    assert (figures["tex"]["displays"], figures["tex"]["share"]) == (2, 1.0)
    assert rst["megabytes_per_second"] > 0


@pytest.mark.slow
def test_samples_and_mutants(sources: Path) -> None:
    """A sample shows the source; mutants are read without a fault."""
    done = run(sources, "--sample", "rst", "--count", 1)
    assert ".. math:: a = b" in done.stdout
    assert "number 1, labels ['x']" in done.stdout
    done = run(sources, "--mutate", 20, "--formats", "rst")
    assert done.stdout.startswith("rst: 20 mutants of 2 documents")


def test_no_folder_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence says what is missing."""
    monkeypatch.delenv("EQEMB_OPEN", raising=False)
    done = run("--formats", "rst")
    assert (done.returncode, "give a folder of sources" in done.stderr) == (2, True)


# -- the independent count


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("a.tex", "\\begin{align}a\\end{align} % \\[ b \\]\n\\[ c \\] $$d$$ a\\\\[2pt]b", 3),
        ("a.rst", ".. math:: a\n\n  * .. math::\n\n1. .. math:: b\n\n..math:: c", 3),
        ("a.do.txt", "$$a$$\n!bt\n\\[ b \\]\n\\begin{align}c\\end{align}\n!et\n", 2),
        ("a.md", "$$a$$ t $$b$$\n\n```math\nc\n```\n\n```python\n$$d$$\n```\n\\\\[ e_1 \\\\]", 4),
        ("a.md", "Money $a$$b$, a book \\[1\\], and \\[ c_1 \\]", 1),
        ("a.md", "````{prf:theorem}\n$$a$$\n```{math}\nb\n```\n````\n```{code}\n$$c$$\n```", 2),
        ("a.md", "---\nlayout: page\n---\nText $$a$$ text\n\n$$b$$\n", 1),
        ("a.ipynb", json.dumps({"cells": [
            {"cell_type": "markdown", "source": ["$$a$$\n", "$$b$$"]},
            {"cell_type": "code", "source": "$$c$$"},
        ]}), 2),
        ("a.ipynb", "no JSON", 0),
        ("a.html", '<math display="block">a</math><math>b</math> $$c$$', 1),
        ("a.html", '<p class="math notranslate">a</p><span class="math notranslate">b</span>', 1),
        ("a.html", "<p>$$a &lt; b$$</p><pre>$$c$$</pre>", 1),
        ("a.xml", "<disp-formula-group><disp-formula id='a'/></disp-formula-group>", 1),
        ("a.json", json.dumps("So\n{{formula:a}} .\n{{formula:b}} or {{formula:c}}\n"), 1),
        ("a.jsonl", "{}", None),
    ],
)  # fmt: skip
def test_rules(name: str, text: str, count: int | None) -> None:
    """Each rule counts delimiters outside code and comments."""
    assert count_displays(name, text) == count


# -- mutants


def test_a_mutant_follows_from_its_number() -> None:
    """So that a finding can be repeated; another number gives another mutant."""
    source = Source("a", "a.rst", "", "rst", {"a.rst": RST.encode()}, "a.rst")
    assert mutant(source, 7).files == mutant(source, 7).files
    assert len({mutant(source, number).files["a.rst"] for number in range(30)}) > 20


def test_mutants_of_json_often_stay_json() -> None:
    """Delimiters are inserted with their escapes."""
    source = Source("a", "a.ipynb", "", "ipynb", {"a.ipynb": json.dumps(["x " * 3000]).encode()})
    valid = 0
    for number in range(60):
        try:
            json.loads(mutant(source, number).files["a.ipynb"])
            valid += 1
        except ValueError:
            pass
    assert valid > 20


def test_faults_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception, equations that are not in the text, and displays that nobody accounts for."""
    source = Source("a", "a.rst", "", "rst", {"a.rst": b"no formula"}, "a.rst")
    assert fault(source) == ("", "")
    monkeypatch.setattr("format_mutants.read_source", lambda _: 1 / 0)
    assert fault(source)[0] == "raised"
    equation = Equation("a", 1, None, None, [], "$$", 1, "x", "x", "a.rst", 1, 1)
    assert account(Article("a", "a", text="no mark", equations=[equation]))[0] == "misplaced"
    article = Article("a", "a", text="￼", equations=[equation], displays_opened=1)
    assert account(article) == ("", "")
    article.displays_opened = 2
    assert account(article)[0] == "silent"
    article.displays_lost = 1
    article.problems.append(Problem(NOT_ACCOUNTED, "a.rst", 0, "1 displays"))
    assert account(article)[0] == "not accounted for"
    article.problems.clear()
    article.displays_opened = 0
    assert account(article)[0] == "surplus"
    equation.end_line = 0
    assert account(article)[0] == "misplaced"
