"""Markdown documents as sources."""

from eqemb.article import Article
from eqemb.readers.markdown import read_markdown
from eqemb.sources import Source

#: Front matter for Jekyll, which uses kramdown.
KRAMDOWN = "---\nlayout: post\ntitle: Notes\n---\n"


def read(text: str | bytes, name: str = "a.md") -> Article:
    """Read a document."""
    data = text if isinstance(text, bytes) else text.encode()
    return read_markdown(Source("a", name, "", "markdown", {name: data}, name))
