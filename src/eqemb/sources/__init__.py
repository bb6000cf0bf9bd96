"""Where papers come from: finding them under the paths given, and opening one at a time.

    found      what is found and opened, its limits, the words for what went wrong
    formats    suffixes of other formats than LaTeX, registered by their readers
    names      what names say: of files, and of articles
    streams    bytes one after the other, decompressed within bounds
    archives   the members of a tar or a zip
    content    what a file is, by its first bytes
    folders    loose files: which are papers, and which are parts
    discovery  list the papers under the paths given
    loading    open one of them

`discover` lists the papers in a fixed order and looks only at the first bytes of each file;
`load` opens one of them in memory. What a file is, its content decides, not its name. Nothing
is written to disk, and every decompression is bounded while it happens.

Left to others: which file of an archive is the main one, decoding to text, and joining the
files (`latex`); reading unarXive's JSON (`unarxive`).
"""

from eqemb.sources.discovery import discover
from eqemb.sources.found import CAUSES, PROBLEMS, Found, Limits, Source
from eqemb.sources.loading import load

__all__ = ["CAUSES", "PROBLEMS", "Found", "Limits", "Source", "discover", "load"]
