"""The registry of readers: which function reads which format.

To add a format, such as Org files:

1. Write `readers/org.py` with a function `read_org(source: Source) -> Article`. The file's bytes
   are in `source.files`. Raise `SourceError` with a cause if the file is not an article.
2. Add `"org": FormatReader(read_org, (".org",))` to `READERS`.

Files with that suffix are then found in folders and containers, named, opened within the limits
and read. Only the help of PATHS in `cli/options.py`, which loads no reader, names suffixes by
hand; a test compares it with this registry. LaTeX and unarXive have no suffixes here, since
`eqemb.sources` recognises them by their content.
"""

from collections.abc import Callable
from typing import NamedTuple

from eqemb.article import Article
from eqemb.readers.doconce import read_doconce
from eqemb.readers.html import read_html
from eqemb.readers.jats import read_jats
from eqemb.readers.latex import read_latex
from eqemb.readers.markdown import read_markdown
from eqemb.readers.notebook import read_notebook
from eqemb.readers.rst import read_rst
from eqemb.readers.unarxive import read_unarxive
from eqemb.sources import Source
from eqemb.sources.formats import register_suffixes


class FormatReader(NamedTuple):
    """How documents of one format become articles."""

    read: Callable[[Source], Article]
    suffixes: tuple[str, ...] = ()
    """Suffixes that mark files of the format, in lower case and with the dot."""


#: Format (`Source.form`) -> its reader.
READERS: dict[str, FormatReader] = {
    "tex": FormatReader(read_latex),
    "doconce": FormatReader(read_doconce, (".do.txt",)),
    "rst": FormatReader(read_rst, (".rst", ".rest")),
    "unarxive": FormatReader(read_unarxive),
    "markdown": FormatReader(read_markdown, (".md", ".markdown", ".mmd", ".rmd", ".qmd")),
    "notebook": FormatReader(read_notebook, (".ipynb",)),
    "html": FormatReader(read_html, (".html", ".htm", ".xhtml")),
    "jats": FormatReader(read_jats, (".xml", ".nxml")),
}

for _form, _reader in READERS.items():
    register_suffixes(_form, _reader.suffixes)


def read_source(source: Source) -> Article:
    """Read an opened document with the reader of its format."""
    return READERS[source.form].read(source)
