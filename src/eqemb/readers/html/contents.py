"""Which parts of a page are not its text: navigation, code, reference lists, buttons."""

import re

from eqemb.readers.html.tree import Element, Text, descendants


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Elements without running text. Code is left out of all formats.
_ELEMENTS_LEFT_OUT = _names(
    "head script style noscript template nav footer button select textarea form svg canvas iframe "
    "object audio video map pre code kbd samp xmp dialog title rp rt "
    "d-cite d-code d-bibliography d-front-matter d-byline d-citation-list d-contents "
    "dt-cite dt-code dt-byline dt-banner mjx-assistive-mml"
)
_ROLES_LEFT_OUT = _names(
    "navigation banner contentinfo search menu menubar toolbar dialog "
    "doc-bibliography doc-biblioref doc-noteref doc-backlink doc-toc doc-index"
)
_CLASSES_LEFT_OUT = _names(
    # LaTeXML, ar5iv, arXiv
    "ltx_page_header ltx_page_footer ltx_page_navbar ltx_page_logo ltx_pagination ltx_TOC "
    "ltx_toclist ltx_authors ltx_dates ltx_date ltx_role_affiliation ltx_contact ltx_cite "
    "ltx_bibliography ltx_bibitem ltx_ERROR ltx_listing ltx_lstlisting ltx_tabular ltx_algorithm "
    "ltx_float_algorithm ltx_tag ltx_note_mark ltx_note_type ltx_title_abstract ltx_title_proof "
    "ltx_rdf ltx_index ltx_picture ltx_classification ltx_keywords ltx_acknowledgements "
    "package-alerts arxiv-html-header html-header-logo ar5iv-footer sr-only "
    # Wikipedia
    "mw-editsection mw-jump-link navbox navbox-styles infobox vertical-navbox sidebar reflist "
    "references mw-references-wrap mw-cite-backlink toc toclimit-3 vector-toc catlinks "
    "printfooter metadata ambox hatnote sistersitebox shortdescription noprint mw-indicators "
    "vector-column-start vector-page-toolbar authority-control portalbox wikitable "
    # Sphinx, Jupyter Book, pandoc, Quarto, blogs
    "headerlink header-section-number section-number toctree-wrapper sphinxsidebar related "
    "sphinxsidebarwrapper footnote-reference citation-reference highlight cell_output "
    "sourceCode code-block bd-sidebar bd-header bd-footer bd-toc prev-next-area "
    "prev-next-bottom prev-next-footer "
    "header-article topbar tocsection navigation skip-link anchor-link anchorjs-link "
    "footnote-back footnote-ref reversefootnote footnote-backref footnotes-sep "
    "citation csl-bib-body bibliography csl-entry breadcrumb breadcrumbs site-header "
    "site-footer page-footer post-nav pagination cookie-banner share comments "
    "quarto-appendix-bibliography quarto-title-meta quarto-title-banner-meta "
    "MathJax_Preview MJX_Assistive_MathML katex-html dataframe visually-hidden screen-reader-text"
)
_IDS_LEFT_OUT = _names(
    "toc TOC table-of-contents toc-container sidebar quarto-margin-sidebar quarto-header refs "
    "references bibliography catlinks mw-navigation mw-head mw-panel footer siteSub contentSub "
    "jump-to-nav MathJax_Message disqus_thread comments nav navigation header-announce"
)
#: Headings of sections that hold only references.
_REFERENCE_HEADING = re.compile(
    r"(?:\d+\.?\s*)?(?:references|bibliography|works cited|literature cited|external links|"
    r"further reading|see also)[\s.:]*",
    re.IGNORECASE,
)
_TO_REFERENCES = re.compile(r"(?:bib|cite|ref-|fn|footnote)", re.IGNORECASE)
_PERMALINK = re.compile(r"[\s#¶§🔗\u200b]+")
#: Notes are read after the paragraph that they belong to.
NOTES = _names("ltx_note sidenote marginnote footnote-content")
NOTE_ELEMENTS = _names("d-footnote dt-fn")


def is_left_out(element: Element) -> bool:
    """Whether an element, with all that is in it, is no part of the page's text."""
    if element.name in _ELEMENTS_LEFT_OUT:
        return True
    attributes = element.attributes
    if not attributes:
        return False
    return (
        not element.classes.isdisjoint(_CLASSES_LEFT_OUT)
        or attributes.get("role") in _ROLES_LEFT_OUT
        or attributes.get("id") in _IDS_LEFT_OUT
        or (element.name == "a" and _is_mark(element))
        or (element.name == "sup" and "reference" in element.classes)
    )


def is_reference_heading(title: str) -> bool:
    """Whether a section with this title lists other works."""
    return _REFERENCE_HEADING.fullmatch(title.strip()) is not None


def _is_mark(link: Element) -> bool:
    """Whether a link leads to a list of references, or to the heading that it stands beside."""
    href = link.get("href")
    if not href.startswith("#"):
        return False
    inside = list(descendants(link, 6))
    text = "".join(node.data for node in inside if isinstance(node, Text))
    is_permalink = len(inside) < 6 and _PERMALINK.fullmatch(text)
    return bool(is_permalink or _TO_REFERENCES.match(href, 1))
