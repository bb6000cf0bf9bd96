r"""How document classes number equations: a table of facts.

Those in `_STANDARD` and most others were checked with pdflatex. Classes that TeX Live does not have
(sn-jnl, iopart, aa, elsart, mn2e, jhep, SIAM's and Springer's) follow their published papers.
A class that is not in the table numbers like `article`, or like `book` if the document has
chapters.
"""

import posixpath
from typing import Final, NamedTuple

from eqemb.readers.latex.commands import names

IN_SECTION: Final = r"\thesection.\arabic{equation}"
#: KOMA's classes print no chapter number in the front matter and the back matter.
_IN_CHAPTER_OF_MATTER: Final = r"\ifnum\c@mainmatter>0 \thechapter.\fi\arabic{equation}"
#: book and report print no chapter number before the first chapter.
_IN_CHAPTER_IF_ANY: Final = r"\ifnum\c@chapter>0 \thechapter.\fi\arabic{equation}"
_AFTER_SECTION: Final = r"\thesection\arabic{equation}"


class ClassStyle(NamedTuple):
    r"""The numbers of one class."""

    within: str = ""
    """The counter that restarts equations."""
    equation: str = r"\arabic{equation}"
    r"""\theequation."""
    chapters: bool = False
    section: str = "arabic"
    """How sections are numbered."""
    appendix: str = ""
    r"""\theequation after \appendix; '' if it stays."""
    appendix_overrides: bool = True
    r"""Whether that replaces a form that the author chose."""
    appendix_restarts: bool = False
    r"""Whether \appendix itself sets the equation counter to 0."""
    appendix_within: bool = True
    """Whether every section of the appendix restarts equations."""
    unnumbered_restarts: bool = False
    r"""Whether a chapter without a number that is not starred restarts equations."""


ARTICLE: Final = ClassStyle()
BOOK: Final = ClassStyle("chapter", _IN_CHAPTER_IF_ANY, chapters=True)
_KOMA_BOOK = BOOK._replace(equation=_IN_CHAPTER_OF_MATTER, unnumbered_restarts=True)
_PLAIN_BOOK = ClassStyle(chapters=True)
_IN_SECTIONS = ClassStyle("section", IN_SECTION)
_APPENDIX_DOT = ClassStyle(appendix=IN_SECTION, appendix_restarts=True)
_APPENDIX = ClassStyle(appendix=_AFTER_SECTION, appendix_restarts=True)
_REVTEX = ClassStyle(section="Roman", appendix=_AFTER_SECTION, appendix_overrides=False)

_TABLE: Final = (
    (ARTICLE, """
        article amsart amsproc scrartcl extarticle proc llncs acmart ieeeconf apa6 asmeconf paper
        achemso cas-sc cas-dc nature jmlr oup-authoring-template aomart smfart ijmart kluwer
        tufte-handout beamer beamerposter ecca worlddev regstud standalone minimal svjour svjour3
        exam quantumarticle scrarticle iagproc spie ascelike aiaa-tc elbioimp lni letter scrlttr2
        artikel1 artikel3 a0poster tikzposter ltxdoc amsldoc article_ sigplanconf sig-alternate
        acm_proc_article-sp ifacconf interact mdpi imsart birkjour tran-l wlscirep scirep
        """),
    (ARTICLE._replace(section="Roman"), "ieeetran ieeecolor ieeeaccess ieeetaes"),
    (BOOK, """
        book report memoir extbook extreport svmono svmult thesis mitthesis uwthesis cambridge7a
        krantz classicthesis mastersdoctoralthesis now_fnt gzt suftesi amsdtx boek rapport1
        rapport3 minimbook msu-thesis
        """),
    (_KOMA_BOOK, "scrreprt scrbook scrreport ucthesis hepthesis sapthesis"),
    (_PLAIN_BOOK, "amsbook smfbook tufte-book"),
    (_IN_SECTIONS, """
        siamltex siamltex1213 siamart siamart171218 siamart190516 siamart220329 siamart250211
        siamonline siamonline171218 siamonline190516 siamonline220329 ejpecp cc jhep jhep3
        """),
    (_REVTEX, "revtex4 revtex4-1 revtex4-2 revtex"),
    (_REVTEX._replace(section="arabic"), "apa7 jpsj2 jpsj3"),
    (_APPENDIX, "mnras mn2e emulateapj asmejour asme2ej sn-jnl"),
    (_APPENDIX._replace(appendix_within=False),
     "aastex aastex6 aastex61 aastex62 aastex63 aastex631 aastex7 aastex701"),
    (_APPENDIX_DOT, "elsarticle elsart elsart1p elsart3p elsart5p aa iopart"),
)  # fmt: skip
CLASSES: Final = {name: style for style, listed in _TABLE for name in names(listed)}


#: Classes of TeX distributions: a paper's copy of one is not read for its numbers. A class of
#: another name, such as thesis, may be the author's own.
_STANDARD: Final = names("""
    article report book amsart amsproc amsbook memoir scrartcl scrreprt scrbook extarticle extbook
    extreport ieeetran revtex4 revtex4-1 revtex4-2 elsarticle llncs mnras aastex62 aastex63
    aastex631 emulateapj apa7 asmejour acmart ejpecp jpsj2 tufte-book hepthesis smfart smfbook
    cas-sc cas-dc beamer
    """)


def is_standard_class(name: str) -> bool:
    """Whether the table is right about a class whatever file of that name a paper carries."""
    return posixpath.basename(name).lower() in _STANDARD


def class_style(document_class: str, *, chapters: bool) -> ClassStyle:
    """The style of the first known class of a document: its own, or one that it loads."""
    for name in document_class.split():
        # "styles/SVMult" is svmult, in whatever folder the paper keeps it
        style = CLASSES.get(posixpath.basename(name).lower())
        # an article has no chapters; a class of an unknown author may be a book's chapter
        if style is not None and (style.chapters or not chapters or is_standard_class(name)):
            return style
    return BOOK if chapters else ARTICLE


def is_known_class(document_class: str) -> bool:
    """Whether the table has a class of the document."""
    known = (posixpath.basename(name).lower() in CLASSES for name in document_class.split())
    return any(known)
