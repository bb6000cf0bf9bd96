r"""Read Markdown and its dialects.

    dialect  front matter; what differs between dialects
    fences   which fenced blocks contain mathematics, text or code
    maths    what opens and closes mathematics
    pieces   what was read of a text, in order
    embedded formulas in elements of HTML
    raw      comments and other parts that are not text
    spans    the text of one block
    blocks   the lines of a document
    count    an independent count of displays

The dialects are those of GitHub, MyST, Quarto, R Markdown and bookdown, Obsidian, kramdown
(Jekyll), Documenter.jl, d2lbook, and what converters make of PDFs (Mathpix, Nougat, Marker).
"""

import posixpath
import re

from eqemb.article import Article
from eqemb.readers.draft import Draft, decode, plain
from eqemb.readers.markdown.blocks import Blocks
from eqemb.readers.markdown.count import count_displays
from eqemb.readers.markdown.dialect import read_front_matter, recognise
from eqemb.readers.markdown.embedded import with_latex
from eqemb.sources import Source

_TOP_HEADING = re.compile(r"^# ", re.MULTILINE)


def read_markdown(source: Source) -> Article:
    """Read a Markdown document."""
    draft = Draft(source)
    text = decode(source.files[draft.article.main_file])
    lines = with_latex(text).split("\n")
    front = read_front_matter(lines)
    dialect = recognise(text, front.layout)
    blocks = Blocks(draft, dialect, lines, first=front.lines)
    for latex in front.definitions:
        draft.math.define(latex)
    draft.authors(front.authors, front.date)
    name = plain(posixpath.splitext(posixpath.basename(draft.article.main_file))[0])
    is_note = "[[" in text  # the notes of a vault are named by their files
    if front.title:
        blocks.title(front.title)
    elif is_note and len(_TOP_HEADING.findall(text)) > 1:
        draft.title(name)
    blocks.read()
    if is_note and not draft.article.title:
        draft.title(name)
    body = "\n".join(text.split("\n")[front.lines :])
    return draft.finish(count_displays(body, is_kramdown=dialect.is_kramdown))
