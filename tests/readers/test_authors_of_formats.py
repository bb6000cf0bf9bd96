"""Authors and dates that documents of each format name."""

import json

import pytest

from eqemb.article import Article
from eqemb.readers.registry import read_source
from eqemb.sources import Source

NAMES = ["Emmy Noether", "Kurt Gödel"]
MARKDOWN = {
    "line": "author: Emmy Noether and Kurt Gödel\ndate: 2015-01-31",
    "inline list": "authors: ['Emmy Noether', \"Kurt Gödel\"]\ndate: '2015-01-31'",
    "list": "author:\n  - Emmy Noether\n  - Kurt Gödel\ndate: 2015-01-31",
    "list of mappings": (
        "author:\n- name: Emmy Noether\n  affiliations:\n    - name: Some University\n"
        "- name: Kurt Gödel\n  orcid: 0000\ndate: 2015-01-31"
    ),
}
HTML = """<html><head><title>On Norms</title>{meta}</head><body><h1>On Norms</h1>{body}
<p>The norm is</p><math display="block"><mi>x</mi><mo>=</mo><mi>y</mi></math></body></html>"""
JATS = """<article><front><article-meta><title-group><article-title>On Norms</article-title>
</title-group><contrib-group>{people}</contrib-group><aff><institution>A School</institution></aff>
<pub-date><day>3</day><year>2015</year></pub-date><pub-date><year>2016</year></pub-date>
</article-meta></front><body><p>The norm
<disp-formula><tex-math>x = y</tex-math></disp-formula></p></body></article>"""
PERSON = (
    "<contrib contrib-type='author'><name><surname>{}</surname><given-names>{}</given-names></name>"
    "<xref ref-type='aff'>1</xref></contrib>"
)


def read(text: str, name: str, format_: str) -> Article:
    """Read a document."""
    return read_source(Source("a", name, "", format_, {name: text.encode()}, name))


@pytest.mark.parametrize("front", MARKDOWN.values(), ids=MARKDOWN)
def test_front_matter_of_markdown(front: str) -> None:
    """YAML in its forms; lists within an author are of something else."""
    made = read(f"---\ntitle: On Norms\n{front}\n---\n$$x$$\n", "a.md", "markdown")
    assert (made.authors, made.date) == (NAMES, "2015-01-31")


def test_other_front_matter() -> None:
    """TOML, and the title block of pandoc."""
    toml = '+++\ntitle = "On Norms"\nauthors = ["Emmy Noether", "Kurt Gödel"]\n+++\n$$x$$\n'
    assert read(toml, "a.md", "markdown").authors == NAMES
    block = "% On Norms\n% Emmy Noether; Kurt Gödel\n% 2015\n\n$$x$$\n"
    assert read(block, "a.md", "markdown").authors == NAMES


@pytest.mark.parametrize(
    "front", ["author: the team", "author: ", "authors: [admin]", "author: {x"]
)
def test_doubtful_front_matter(front: str) -> None:
    """It is left out."""
    assert read(f"---\ntitle: On\n{front}\n---\n$$x$$\n", "a.md", "markdown").authors == []


def meta(name: str, *contents: str) -> str:
    """Meta elements of a page."""
    return "".join(f"<meta name='{name}' content='{each}'>" for each in contents)


def marked(*names: str) -> str:
    """Names as LaTeXML marks them."""
    return "".join(f"<span class='ltx_personname'>{each}</span>" for each in names)


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (meta("citation_author", "Noether, Emmy", "Kurt Gödel"), ""),
        (meta("DC.Creator", *NAMES), ""),
        (meta("author", "Emmy Noether and Kurt Gödel"), ""),
        ("", f"<div class='ltx_authors'>{marked(*NAMES)}</div>"),
    ],
)
def test_web_pages(head: str, body: str) -> None:
    """Meta elements, and LaTeXML's names."""
    date = meta("citation_publication_date", "2015/01/31")
    made = read(HTML.format(meta=head + date, body=body), "a.html", "html")
    assert (made.authors, made.date) == (NAMES, "2015-01-31")


def test_jats() -> None:
    """Contributors that are authors, and the year; a group among them makes the list doubtful."""
    people = PERSON.format("Noether", "Emmy") + PERSON.format("Gödel", "Kurt")
    made = read(JATS.format(people=people), "a.xml", "jats")
    assert (made.authors, made.date) == (NAMES, "2015")
    editor = PERSON.format("Hilbert", "David").replace("'author'", "'editor'")
    assert read(JATS.format(people=people + editor), "a.xml", "jats").authors == NAMES
    group = "<contrib contrib-type='author'><collab>The Norm Group</collab></contrib>"
    assert read(JATS.format(people=people + group), "a.xml", "jats").authors == []


@pytest.mark.parametrize("people", [[{"name": name} for name in NAMES], NAMES])
def test_notebooks(people: list[object]) -> None:
    """Their metadata lists authors."""
    cells = [{"cell_type": "markdown", "metadata": {}, "source": "$$x = y$$"}]
    made = {"nbformat": 4, "metadata": {"authors": people}, "cells": cells}
    assert read(json.dumps(made), "a.ipynb", "notebook").authors == NAMES
