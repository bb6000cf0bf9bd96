"""Find papers under the given paths and open them one at a time.

    found      the data types: papers found and opened, limits, causes of failure
    formats    suffixes of formats other than LaTeX, registered by their readers
    names      what file names indicate
    forms      two forms of one document: which is read
    naming     the names of articles
    roots      the folder below which articles are named
    looks      what was learned from files, for as long as they have not changed
    remote     files at URLs, through fsspec
    files      files and folders by path, on disk or at a URL
    manifest   the manifest of arXiv's bulk archive
    streams    byte streams, decompressed within limits
    archives   the members of a tar or zip archive
    content    recognise a file by its first bytes
    inclusions which file includes which
    folders    loose TeX: which files are papers, and which are parts of papers
    records    records of unarXive, one per line
    documents  other formats: which files are documents, and which accompany them
    discovery  list the papers under the given paths
    loading    open one paper
    fetching   copy a remote paper to a folder on disk
    inventory  what is under paths that hold no paper

`discover` lists the papers in a fixed order and reads only the first bytes of each file. `load`
opens one paper in memory. LaTeX, archives and unarXive are recognised by their content, not by
their name; other formats by their suffix, confirmed by their content. Nothing is written to disk,
and decompression stops as soon as a limit is exceeded.

Choosing the main file, decoding text and joining files is up to `eqemb.readers.latex`.
"""

from eqemb.sources.discovery import discover
from eqemb.sources.forms import form_of, is_better_form
from eqemb.sources.found import CAUSES, PROBLEMS, Found, Limits, Source
from eqemb.sources.loading import load
from eqemb.sources.roots import common_root, resolve_root

__all__ = [
    "CAUSES",
    "PROBLEMS",
    "Found",
    "Limits",
    "Source",
    "common_root",
    "discover",
    "form_of",
    "is_better_form",
    "load",
    "resolve_root",
]
