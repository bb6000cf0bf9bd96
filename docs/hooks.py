"""MkDocs hooks: formulas as MathML, links that leave `docs`, and a check for external resources.

MkDocs calls these functions while it builds. The pages are also readable as plain Markdown. A
formula (a block of `math`) becomes MathML, made by eqemb itself. CONTRIBUTING.md and the data files
in benchmarks/results become pages. A link to any other file outside `docs` becomes plain text. A
page that would load anything from another host is an error.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files, InclusionLevel

from eqemb import layout

ROOT = Path(__file__).parents[1]
#: Data files in benchmarks/results that pages link to -> title of their page on the site.
DATA = {
    "arqmath": "ARQMath-1",
    "base_model": "The base model on small libraries",
    "baselines": "Settings of CBOW and PV-DM",
    "baselines-wide": "Settings of CBOW and PV-DM, W=16",
    "by_collection": "Gains by collection",
    "cells": "All cells of the grid",
    "collections": "Collections",
    "comparisons": "Comparisons with the controls",
    "gpu": "Training on a GPU",
    "kinds": "Results by kind of equation",
    "ml_categories": "Classes of formulas",
    "pooled": "Pooled results",
    "retrieval": "Retrieval: all tables",
    "settings": "Settings",
    "settings-logistic": "Settings, logistic reading",
    "settings-wide": "Settings, W=16",
}
#: Files outside `docs` that become pages of the site.
PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    **{f"benchmarks/results/{name}.md": f"data/{name}.md" for name in DATA},
}
_MATH = re.compile(r"^```math\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"\$`([^`]+)`\$")
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#:\s]+)(#[^)]*)?\)")
#: Resources that a browser loads by itself; links that users follow do not count.
_LOADED = re.compile(
    r"""<(?:script|img|iframe|source|link)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//[^>]*>""",
    re.IGNORECASE,
)
_BLOCK = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)


def on_files(files: Files, config: Any) -> Files:
    """Pages that are kept elsewhere."""
    for name, page in PAGES.items():
        text = (ROOT / name).read_text("utf-8")
        title = DATA.get(Path(name).stem) if page.startswith("data/") else None
        if title is None:
            files.append(File.generated(config, page, content=text))
        else:  # reached by links, not by the navigation
            text = f"# {title}\n\n{text}"
            level = InclusionLevel.NOT_IN_NAV
            files.append(File.generated(config, page, content=text, inclusion=level))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Formulas as MathML, and links for the site."""
    source = next((name for name, made in PAGES.items() if made == page.file.src_uri), None)
    here = "" if source else posixpath.join("docs", posixpath.dirname(page.file.src_uri))
    parts = _BLOCK.split(with_formulas(markdown))  # text and blocks of code by turns
    parts[::2] = [with_links(text, here) for text in parts[::2]]
    return "".join(parts)


def with_formulas(markdown: str) -> str:
    """Blocks of `math`, and `$`...`$` in a line, as MathML."""
    shown = _MATH.sub(lambda found: layout(found[1]).to_mathml(), markdown)
    return _INLINE.sub(lambda found: layout(found[1]).to_mathml(display=False), shown)


def with_links(markdown: str, here: str) -> str:
    """Links of a page in folder `here`: those that leave `docs` lead nowhere on the site."""

    def changed(found: re.Match[str]) -> str:
        text, target, anchor = found.groups()
        place = posixpath.normpath(posixpath.join(here, target))
        place = posixpath.join("docs", PAGES[place]) if place in PAGES else place
        if not place.startswith("docs/"):
            return text
        return f"[{text}]({posixpath.relpath(place, here or 'docs')}{anchor or ''})"

    return _LINK.sub(changed, markdown)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Refuse a page that needs a network."""
    if found := _LOADED.search(output):
        raise PluginError(f"{page.file.src_uri} loads from elsewhere: {found[0]}")
    return output
