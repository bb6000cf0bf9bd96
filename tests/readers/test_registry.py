"""The registry of readers: with one entry, files of a format are found and read."""

from pathlib import Path
from typing import get_args

import pytest

from eqemb.article import Article
from eqemb.cli.options import Papers
from eqemb.library.ingest import read_articles
from eqemb.readers.registry import READERS, FormatReader, read_source
from eqemb.sources import Limits, Source, formats
from eqemb.sources.formats import supported_formats
from packing import PAPER, names, put, skipped, tar


def read_org(source: Source) -> Article:
    """A reader of a toy format, whose first line is the title."""
    (data,) = source.files.values()
    title, _, text = data.decode().partition("\n")
    return Article(source.name, source.origin, source.collection, title, source.main or "", text)


@pytest.fixture
def org(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the toy format, as an entry of the table would."""
    monkeypatch.setitem(READERS, "org", FormatReader(read_org, (".org",)))
    monkeypatch.setitem(formats._FORMATS, ".org", "org")


def test_every_source_form_has_a_reader() -> None:
    """The formats that `discover` returns are those of the table."""
    assert set(READERS) == {"tex", "unarxive", "jats"}
    assert read_source(Source("a", "a.tex", "", "tex", {"a.tex": PAPER})).words() == ["Words"]


@pytest.mark.usefixtures("org")
def test_a_format_needs_an_entry_and_nothing_else(tmp_path: Path) -> None:
    """Its files are papers in a folder, beside TeX, and given directly."""
    org = b"A title\nSome \\begin{words} \\section{x} that look like TeX.\n"
    put(tmp_path, {"nlp/one.org": org, "nlp/two.tex": PAPER, "three.ORG": org})
    put(tmp_path, {"month.tar": tar({"m/four.org": org, "m/five.org": org})})
    articles = {article.name: article for article in read_articles(tmp_path)}
    assert sorted(articles) == ["nlp/one", "nlp/two", "three"]
    assert (articles["nlp/one"].title, articles["nlp/one"].collection) == ("A title", "nlp")
    assert articles["nlp/one"].main_file == "one.org"
    (article,) = read_articles(tmp_path / "three.ORG")
    assert (article.name, article.title) == ("three", "A title")


@pytest.mark.usefixtures("org")
def test_limits_hold_for_every_format(tmp_path: Path) -> None:
    """A document over the size limit of a file is skipped with its cause."""
    put(tmp_path, {"a.org": b"x" * 1_000})
    causes: list[str] = []
    limits = Limits(file_bytes=999)
    assert not list(
        read_articles(tmp_path, limits=limits, on_skip=lambda _, error: causes.append(error.cause))
    )
    assert causes == ["too large"]


def test_files_of_no_format_are_not_papers(tmp_path: Path) -> None:
    """Without an entry, a suffix has no meaning."""
    put(tmp_path, {"one.org": b"A title\nwords\n"})
    assert names(tmp_path) == []
    assert skipped(tmp_path) == {}


def test_help_and_messages_name_every_suffix() -> None:
    """The help of PATHS lists suffixes by hand, since it loads no reader."""
    (argument,) = [one for one in get_args(Papers) if hasattr(one, "help")]
    for suffix in (".tex", *(one for reader in READERS.values() for one in reader.suffixes)):
        assert suffix in argument.help
        assert suffix in supported_formats()
