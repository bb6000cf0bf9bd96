"""Read web pages: LaTeXML and ar5iv, MathJax, KaTeX, Wikipedia, Distill and plain MathML.

`tree` parses the page, `formulas` recognises the ways in which formulas are written, `equations`
reads LaTeXML's numbered displays, `delimiters` finds TeX in running text, `contents` says what is
left out, `page` walks the tree in reading order, and `count` counts the displays by another rule.
"""

from eqemb.readers.html.page import read_html

__all__ = ["read_html"]
