"""Find papers under the given paths and open them one at a time.

    found      the data types: papers found and opened, limits, causes of failure
    formats    suffixes of formats other than LaTeX, registered by their readers
    names      what file names indicate, and the names of articles
    roots      the folder below which articles are named
    looks      what was learned from files, for as long as they have not changed
    streams    byte streams, decompressed within limits
    archives   the members of a tar or zip archive
    content    recognise a file by its first bytes
    folders    loose files: which are papers, and which are parts of papers
    discovery  list the papers under the given paths
    loading    open one paper

`discover` lists the papers in a fixed order and reads only the first bytes of each file. `load`
opens one paper in memory. Files are recognised by their content, not by their name. Nothing is
written to disk, and decompression stops as soon as a limit is exceeded.

Choosing the main file, decoding text and joining files is up to `eqemb.readers.latex`.
"""

from eqemb.sources.discovery import discover
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
    "load",
    "resolve_root",
]
