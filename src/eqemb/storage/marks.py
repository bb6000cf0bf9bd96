"""Marks of the files that eqemb writes, so that an export among papers is not read as a paper."""

import re

TEX_MARK = "% Written by eqemb.\n"
HTML_MARK = '<meta name="generator" content="eqemb">'
MARKDOWN_MARK = "<!-- Written by eqemb. -->\n\n"
#: How far from its start a file is searched for a mark.
_HEAD_BYTES = 2048
_OWN_STARTS = re.compile(
    rb"% Written by eqemb\.\r?\n|<!-- Written by eqemb\. -->"
    # equations of `eqemb export`, metadata of a library, hits as JSON
    rb'|\{"name": "(?:[^"\\\n]|\\.){1,1000}", "article": "(?:[^"\\\n]|\\.){1,1000}", "title": '
    rb'|\{"article": "(?:[^"\\\n]|\\.){1,1000}", "id": |\[\n \{\n  "rank": 1,\n  "id": "'
)
#: Vectors in the text format of word2vec: their number and size, then a key and numbers.
_VECTORS = re.compile(rb"\d{1,12} \d{1,6}\r?\n\S{1,1000}(?: -?\d[-+.\de]{0,30}){2}")


def is_own_export(head: bytes) -> bool:
    """Whether a file was written by eqemb, by its first bytes."""
    if HTML_MARK.encode() in head[:_HEAD_BYTES]:
        return True
    return _OWN_STARTS.match(head) is not None or _VECTORS.match(head) is not None
